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


@tilelang.jit
def opaque(fn, n=64):
    @T.prim_func
    def main(A: T.Tensor((n,), T.float32)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(n):
                A[i] = fn(A[i])

    return main


for call in (bad, lambda: opaque(lambda x: x + 1)):
    try:
        call()
    except RuntimeError as e:
        print("refused:", next(line for line in str(e).splitlines() if "error:" in line or "-p" in line))
