"""Eager kernels: sizes from the tensors, results by T.empty, an output passed in, compiled ahead of the call, tuned."""
# SPDX-License-Identifier: MIT
import torch

import tilelang
import tilelang.language as T
from tilelang.autotuner import autotune


@tilelang.jit
def add_scaled(A, B, scale: float, block_M: int = 32, block_N: int = 64):
    M, N = T.const("M, N")
    dtype = T.float32
    A: T.Tensor[[M, N], dtype]
    B: T.Tensor((M, N), dtype)
    C = T.empty((M, N), dtype)
    D = T.empty((M,), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        for i, j in T.Parallel(block_M, block_N):
            C[by * block_M + i, bx * block_N + j] = A[by * block_M + i, bx * block_N + j] \
                + scale * B[by * block_M + i, bx * block_N + j]
        for i in T.Parallel(block_M):
            if bx == 0:
                D[by * block_M + i] = A[by * block_M + i, 0]
    return C, D


@autotune(configs=[{"block": 128}, {"block": 256}])
@tilelang.jit
def double(X, Y, block: int = None):
    N = T.const("N")
    X: T.Tensor[[N], T.int32]
    Y: T.Tensor[[N], T.int32]
    with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
        for i in T.Parallel(block):
            Y[bx * block + i] = X[bx * block + i] * 2


def main():
    a = torch.randn(70, 130, device="cuda")
    b = torch.randn((70, 130), device="cuda", dtype=torch.float32)
    c, d = add_scaled(a, b, 0.5)
    torch.testing.assert_close(c, a + 0.5 * b, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(d, a[:, 0])
    kernel = add_scaled.compile(M=70, N=130, scale=2.0, block_M=16)
    torch.testing.assert_close(kernel(a, b)[0], a + 2 * b, rtol=1e-5, atol=1e-5)
    x = torch.arange(1000, device="cuda", dtype=torch.int32)
    y = torch.zeros_like(x)
    double(x, y)
    assert torch.equal(y, x * 2)
    double(x, y, block=512)
    print("check passed")


if __name__ == "__main__":
    main()
