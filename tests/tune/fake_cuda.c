// A libcuda.so.1 without a GPU, for tests of --tune's own runner: device memory is memory, and
// everything has happened when a call returns. Kernels are the emitted text, built by host_nvcc.sh.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long Ptr;
typedef void *Handle;
#define EXPORT __attribute__((visibility("default"))) int

EXPORT cuInit(unsigned flags) { return 0; }
EXPORT cuDriverGetVersion(int *v) { return *v = 13000, 0; }
EXPORT cuDeviceGetCount(int *n) { return *n = 1, 0; }
EXPORT cuDeviceGet(int *d, int ordinal) { return *d = ordinal, 0; }
EXPORT cuDeviceGetName(char *name, int n, int d) { return strncpy(name, "CPU", (size_t)n), 0; }
EXPORT cuDeviceTotalMem_v2(size_t *n, int d) { return *n = (size_t)1 << 33, 0; }
EXPORT cuDeviceGetAttribute(int *v, int which, int d) { // compute capability 8.0, an L2 of 1 MiB
  *v = which == 75 ? 8 : which == 76 ? 0 : which == 38 ? 1 << 20 : 64;
  return 0;
}
EXPORT cuDevicePrimaryCtxRetain(Handle *c, int d) { return *c = (Handle)1, 0; }
EXPORT cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
EXPORT cuCtxSetCurrent(Handle c) { return 0; }

// Each allocation lies between pages of its own, so that a wild store does not hit another.
EXPORT cuMemAlloc_v2(Ptr *p, size_t n) {
  char *memory = aligned_alloc(4096, (n + 3 * 4096) & ~(size_t)4095);
  return *p = (Ptr)(size_t)memory, memory ? 0 : 2;
}
EXPORT cuMemFree_v2(Ptr p) { return free((void *)(size_t)p), 0; }
EXPORT cuMemHostRegister_v2(void *p, size_t n, unsigned flags) { return 0; }
EXPORT cuMemHostUnregister(void *p) { return 0; }
EXPORT cuMemcpyHtoDAsync_v2(Ptr to, const void *from, size_t n, Handle s) {
  return memcpy((void *)(size_t)to, from, n), 0;
}
EXPORT cuMemcpyDtoHAsync_v2(void *to, Ptr from, size_t n, Handle s) {
  return memcpy(to, (void *)(size_t)from, n), 0;
}
EXPORT cuMemcpyDtoDAsync_v2(Ptr to, Ptr from, size_t n, Handle s) {
  return memcpy((void *)(size_t)to, (void *)(size_t)from, n), 0;
}
EXPORT cuMemsetD8Async(Ptr to, unsigned char byte, size_t n, Handle s) {
  return memset((void *)(size_t)to, byte, n), 0;
}
EXPORT cuStreamCreate(Handle *s, unsigned flags) { return *s = (Handle)2, 0; }
EXPORT cuStreamDestroy_v2(Handle s) { return 0; }
EXPORT cuStreamSynchronize(Handle s) { return 0; }
EXPORT cuStreamQuery(Handle s) { return 0; }
EXPORT cuStreamBeginCapture_v2(Handle s, int mode) { return 0; }
EXPORT cuStreamEndCapture(Handle s, Handle *graph) { return *graph = (Handle)3, 0; }
EXPORT cuGraphInstantiateWithFlags(Handle *e, Handle g, unsigned long long f) { return *e = g, 0; }
EXPORT cuGraphLaunch(Handle e, Handle s) { return 0; }
EXPORT cuGraphDestroy(Handle g) { return 0; }
EXPORT cuGraphExecDestroy(Handle e) { return 0; }

// The only kernel that is loaded so: runtime/pick.c's gather1, gather2, gather4 and gather8. Its
// handle is the bytes of an element.
EXPORT cuModuleLoadData(Handle *m, const void *text) { return *m = (Handle)4, 0; }
EXPORT cuModuleUnload(Handle m) { return 0; }
EXPORT cuModuleGetFunction(Handle *f, Handle m, const char *name) {
  return *f = (Handle)(size_t)(name[6] - '0'), strncmp(name, "gather", 6) ? 500 : 0;
}
EXPORT cuLaunchKernel(Handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, Handle s, void **args, void **extra) {
  Ptr to = *(Ptr *)args[0], from = *(Ptr *)args[1], at = *(Ptr *)args[2], n = *(Ptr *)args[3];
  size_t bytes = (size_t)f;
  for (size_t i = 0; i < n && i < (size_t)gx * bx; i++)
    memcpy((char *)(size_t)to + i * bytes,
           (char *)(size_t)from + ((const long long *)(size_t)at)[i] * (long long)bytes, bytes);
  return 0;
}

EXPORT cuEventCreate(Handle *e, unsigned flags) {
  return *e = calloc(1, sizeof(struct timespec)), *e ? 0 : 2;
}
EXPORT cuEventDestroy_v2(Handle e) { return free(e), 0; }
EXPORT cuEventRecord(Handle e, Handle s) { return clock_gettime(CLOCK_MONOTONIC, e), 0; }
EXPORT cuEventElapsedTime(float *ms, Handle from, Handle to) {
  const struct timespec *a = from, *b = to;
  *ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
  return 0;
}
EXPORT cuGetErrorName(int e, const char **name) { return *name = "CUDA_ERROR_FAKE", 0; }
EXPORT cuGetErrorString(int e, const char **text) { return *text = "made up", 0; }
