// What this room uses of the CUDA driver API and of cublasLt, declared here so that neither CUDA's
// headers nor -lcuda are needed to build tlc. The values are part of those ABIs, 12.4 to 13;
// tests/unit/test_cuda_abi.c compares them with the headers where they are installed.
// SPDX-License-Identifier: MIT
#ifndef TLC_RUNTIME_CUDA_H
#define TLC_RUNTIME_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* libcuda */

typedef unsigned long long DevicePtr; // CUdeviceptr
typedef void *Handle;                 // CUcontext, CUstream, CUevent, CUmodule, CUfunction, ...

enum {
  CU_SUCCESS = 0,
  CU_NO_DEVICE = 100,
  CU_NOT_READY = 600,
  CU_STREAM_NON_BLOCKING_FLAG = 1,
  CU_CAPTURE_THREAD_LOCAL = 1,
};

// CUdevice_attribute
enum {
  ATTR_WARP_SIZE = 10,
  ATTR_MULTIPROCESSORS = 16,
  ATTR_L2_BYTES = 38,
  ATTR_THREADS_SM = 39,
  ATTR_MAJOR = 75,
  ATTR_MINOR = 76,
  ATTR_SMEM_SM = 81,
  ATTR_REGS_SM = 82,
  ATTR_SMEM_BLOCK_OPTIN = 97,
};

// It takes a pointer for a product:
// clang-format off
// Every function used: CU(field, exported name, parameters). All return a CUresult.
#define CUDA_DRIVER_FUNCTIONS(CU)                                                                  \
  CU(init, "cuInit", (unsigned flags))                                                             \
  CU(version, "cuDriverGetVersion", (int *version))                                                \
  CU(count, "cuDeviceGetCount", (int *count))                                                      \
  CU(device, "cuDeviceGet", (int *device, int ordinal))                                            \
  CU(name, "cuDeviceGetName", (char *name, int size, int device))                                  \
  CU(memory, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                                   \
  CU(attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                   \
  CU(context, "cuDevicePrimaryCtxRetain", (Handle *context, int device))                           \
  CU(release, "cuDevicePrimaryCtxRelease_v2", (int device))                                        \
  CU(enter, "cuCtxSetCurrent", (Handle context))                                                   \
  CU(alloc, "cuMemAlloc_v2", (DevicePtr *p, size_t bytes))                                         \
  CU(free, "cuMemFree_v2", (DevicePtr p))                                                          \
  CU(pin, "cuMemHostRegister_v2", (void *host, size_t bytes, unsigned flags))                      \
  CU(unpin, "cuMemHostUnregister", (void *host))                                                   \
  CU(upload, "cuMemcpyHtoDAsync_v2", (DevicePtr to, const void *from, size_t n, Handle stream))    \
  CU(download, "cuMemcpyDtoHAsync_v2", (void *to, DevicePtr from, size_t n, Handle stream))        \
  CU(copy, "cuMemcpyDtoDAsync_v2", (DevicePtr to, DevicePtr from, size_t n, Handle stream))        \
  CU(set, "cuMemsetD8Async", (DevicePtr to, unsigned char byte, size_t bytes, Handle stream))      \
  CU(stream_new, "cuStreamCreate", (Handle *stream, unsigned flags))                               \
  CU(stream_free, "cuStreamDestroy_v2", (Handle stream))                                           \
  CU(stream_wait, "cuStreamSynchronize", (Handle stream))                                          \
  CU(stream_query, "cuStreamQuery", (Handle stream))                                               \
  CU(capture, "cuStreamBeginCapture_v2", (Handle stream, int mode))                                \
  CU(capture_end, "cuStreamEndCapture", (Handle stream, Handle *graph))                            \
  CU(graph_build, "cuGraphInstantiateWithFlags", (Handle *exec, Handle graph, unsigned long long)) \
  CU(graph_launch, "cuGraphLaunch", (Handle exec, Handle stream))                                  \
  CU(graph_free, "cuGraphDestroy", (Handle graph))                                                 \
  CU(exec_free, "cuGraphExecDestroy", (Handle exec))                                               \
  CU(module_load, "cuModuleLoadData", (Handle *module, const void *image))                         \
  CU(module_free, "cuModuleUnload", (Handle module))                                               \
  CU(function, "cuModuleGetFunction", (Handle *function, Handle module, const char *name))         \
  CU(launch, "cuLaunchKernel",                                                                     \
     (Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
      unsigned block_y, unsigned block_z, unsigned shared, Handle stream, void **args,             \
      void **extra))                                                                               \
  CU(event_new, "cuEventCreate", (Handle *event, unsigned flags))                                  \
  CU(event_free, "cuEventDestroy_v2", (Handle event))                                              \
  CU(event_record, "cuEventRecord", (Handle event, Handle stream))                                 \
  CU(event_elapsed, "cuEventElapsedTime", (float *ms, Handle from, Handle to))                     \
  CU(error_name, "cuGetErrorName", (int error, const char **name))                                 \
  CU(error_text, "cuGetErrorString", (int error, const char **text))
// clang-format on

struct Driver {
#define CU(field, name, params) int(*field) params;
  CUDA_DRIVER_FUNCTIONS(CU)
#undef CU
};

/* libcublasLt */

// cudaDataType_t
enum {
  CUDA_F32 = 0,
  CUDA_F64 = 1,
  CUDA_F16 = 2,
  CUDA_I8 = 3,
  CUDA_I32 = 10,
  CUDA_BF16 = 14,
  CUDA_E4M3 = 28,
  CUDA_E5M2 = 29,
};

// cublasComputeType_t
enum { COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_I32 = 72, COMPUTE_F32_TF32 = 77 };

// cublasLtMatmulDescAttributes_t, cublasOperation_t, cublasLtMatmulPreferenceAttributes_t
enum {
  DESC_TRANSA = 3,
  DESC_TRANSB = 4,
  DESC_FAST_ACCUM = 25,
  OP_N = 0,
  OP_T = 1,
  PREFERENCE_WORKSPACE = 1,
};

typedef struct {
  uint64_t algo[8]; // cublasLtMatmulAlgo_t, opaque
  size_t workspace;
  int status; // 0: usable
  float waves;
  int reserved[4];
} BlasHeuristic; // cublasLtMatmulHeuristicResult_t

// It takes a pointer for a product:
// clang-format off
// Every function used: LT(field, exported name, parameters). All return a cublasStatus_t.
#define CUBLASLT_FUNCTIONS(LT)                                                                     \
  LT(create, "cublasLtCreate", (Handle *lt))                                                       \
  LT(destroy, "cublasLtDestroy", (Handle lt))                                                      \
  LT(desc_new, "cublasLtMatmulDescCreate", (Handle *desc, int compute, int scale_type))            \
  LT(desc_set, "cublasLtMatmulDescSetAttribute",                                                   \
     (Handle desc, int attribute, const void *value, size_t size))                                 \
  LT(desc_free, "cublasLtMatmulDescDestroy", (Handle desc))                                        \
  LT(layout_new, "cublasLtMatrixLayoutCreate",                                                     \
     (Handle *layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                 \
  LT(layout_free, "cublasLtMatrixLayoutDestroy", (Handle layout))                                  \
  LT(preference_new, "cublasLtMatmulPreferenceCreate", (Handle *preference))                       \
  LT(preference_set, "cublasLtMatmulPreferenceSetAttribute",                                       \
     (Handle preference, int attribute, const void *value, size_t size))                           \
  LT(preference_free, "cublasLtMatmulPreferenceDestroy", (Handle preference))                      \
  LT(heuristics, "cublasLtMatmulAlgoGetHeuristic",                                                 \
     (Handle lt, Handle desc, Handle a, Handle b, Handle c, Handle d, Handle preference,           \
      int wanted, BlasHeuristic *results, int *found))                                             \
  LT(matmul, "cublasLtMatmul",                                                                     \
     (Handle lt, Handle desc, const void *alpha, const void *a, Handle a_layout, const void *b,    \
      Handle b_layout, const void *beta, const void *c, Handle c_layout, void *d, Handle d_layout, \
      const uint64_t *algo, void *workspace, size_t workspace_bytes, Handle stream))
// clang-format on

#endif
