"""A test file: kernels defined inside a test, a symbolic size, a plain factory given to tilelang.compile, AutoTuner."""
# SPDX-License-Identifier: MIT
import torch

import tilelang
import tilelang.language as T
import tilelang.testing
from tilelang.autotuner import AutoTuner


def scale_rows(n, factor=3):
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, n), T.float32), B: T.Tensor((m, n), T.float32)):
        with T.Kernel(m, threads=128) as bx:
            for j in T.Parallel(n):
                B[bx, j] = A[bx, j] * factor

    return main


@tilelang.testing.requires_cuda
def test_plain_factory():
    kernel = tilelang.compile(scale_rows(64), out_idx=[1])
    for m in (1, 5, 33):
        a = torch.randn(m, 64, device="cuda")
        torch.testing.assert_close(kernel(a), a * 3)


def test_nested_kernel():
    block, dtype = 128, T.float32

    @tilelang.jit(out_idx=-1)
    def shifted(n, by):
        @T.prim_func
        def body(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                for i in T.Parallel(block):
                    B[bx * block + i] = A[bx * block + i] + by

        return body

    a = torch.randn(300, device="cuda")
    torch.testing.assert_close(shifted(300, 2.5)(a), a + 2.5)


def test_autotuner():
    def kernel(block=None):
        return copy_of(200, block)

    tuner = AutoTuner.from_kernel(kernel=kernel, configs=[{"block": 64}]).set_compile_args(out_idx=[-1])
    result = tuner.run(warmup=1, rep=1)
    assert result.config == {"block": 64}


def copy_of(n, block):
    @T.prim_func
    def body(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, block), threads=64) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i]

    return body


@tilelang.testing.requires_cuda_compute_version_ge(99)
def test_for_no_gpu_there_is():
    raise AssertionError("must be skipped")


if __name__ == "__main__":
    tilelang.testing.main()
