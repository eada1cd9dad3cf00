// runtime/cuda.h against CUDA's own headers, at compile time, where they are installed.
// SPDX-License-Identifier: MIT
#include "runtime/cuda.h"

#include <stdio.h>

#if defined(__has_include) && __has_include(<cuda.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cuda.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(CU_SUCCESS, CUDA_SUCCESS);
SAME(CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(CU_STREAM_NON_BLOCKING_FLAG, CU_STREAM_NON_BLOCKING);
SAME(CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(ATTR_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(ATTR_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(ATTR_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(ATTR_THREADS_SM, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(ATTR_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(ATTR_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(ATTR_SMEM_SM, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(ATTR_REGS_SM, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(ATTR_SMEM_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CUDA_F32, CUDA_R_32F);
SAME(CUDA_F64, CUDA_R_64F);
SAME(CUDA_F16, CUDA_R_16F);
SAME(CUDA_I8, CUDA_R_8I);
SAME(CUDA_I32, CUDA_R_32I);
SAME(CUDA_BF16, CUDA_R_16BF);
SAME(CUDA_E4M3, CUDA_R_8F_E4M3);
SAME(CUDA_E5M2, CUDA_R_8F_E5M2);
SAME(COMPUTE_F32, CUBLAS_COMPUTE_32F);
SAME(COMPUTE_F64, CUBLAS_COMPUTE_64F);
SAME(COMPUTE_I32, CUBLAS_COMPUTE_32I);
SAME(COMPUTE_F32_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(DESC_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
SAME(OP_N, CUBLAS_OP_N);
SAME(OP_T, CUBLAS_OP_T);
SAME(PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(sizeof(BlasHeuristic), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(BlasHeuristic, algo), offsetof(cublasLtMatmulHeuristicResult_t, algo));
SAME(offsetof(BlasHeuristic, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(BlasHeuristic, status), offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME(sizeof(DevicePtr), sizeof(CUdeviceptr));
SAME(sizeof(int), sizeof(CUdevice));
SAME(sizeof(int), sizeof(CUresult));
static const char outcome[] = "cuda_abi: cuda.h and cublasLt.h agree with runtime/cuda.h\n";
#else
static const char outcome[] = "SKIPPED test_cuda_abi: CUDA's headers are not in the include path\n";
#endif

int main(void) {
  fputs(outcome, stdout);
  return 0;
}
