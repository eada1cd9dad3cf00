"""A lazy factory with out_idx, a main and a check, as programs for TileLang are written."""
# SPDX-License-Identifier: MIT
import argparse

import torch

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1], pass_configs={tilelang.PassConfigKey.TL_DISABLE_TMA_LOWER: True})
def matmul(M, N, K, block_M, block_N, block_K, num_stages=2, dtype=T.float16, accum_dtype=T.float32,
           policy=T.GemmWarpPolicy.Square):
    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, policy=policy)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return gemm


def main(m, n, k):
    kernel = matmul(m, n, k, 64, block_N=64, block_K=32)
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = kernel(a, b)
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-2)

    def reference(x, y):
        return x @ y

    profiler = kernel.get_profiler(tensor_supply_type=tilelang.TensorSupplyType.Normal)
    profiler.assert_allclose(reference, rtol=1e-2, atol=5e-2)
    assert profiler.do_bench(warmup=1) > 0
    print("check passed", kernel.get_kernel_source()[:0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--m", type=int, default=100)
    parser.add_argument("--n", type=int, default=72)
    parser.add_argument("--k", type=int, default=64)
    args = parser.parse_args()
    main(args.m, args.n, args.k)
