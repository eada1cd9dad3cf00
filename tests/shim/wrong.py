"""A kernel that tlc refuses: its diagnostic reaches the program as an exception."""
# SPDX-License-Identifier: MIT
import tilelang
import tilelang.language as T


@tilelang.jit
def bad(n=64):
    @T.prim_func
    def main(A: T.Tensor((n,), T.float32)):
        with T.Kernel(1, threads=64):
            for i in T.Paralel(n):
                A[i] = 0

    return main


try:
    bad()
except RuntimeError as e:
    print("refused:", next(line for line in str(e).splitlines() if "error:" in line))
