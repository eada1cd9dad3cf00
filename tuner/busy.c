// Is another process at work on the GPU? Asked of NVIDIA's management library, where it is.
// SPDX-License-Identifier: MIT
#include "tuner/runner.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PROCESSES = 64 };

typedef struct {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
} NvmlProcess; // nvmlProcessInfo_v2_t

typedef struct {
  int (*init)(void);
  int (*device)(unsigned index, void **device);
  int (*processes)(void *device, unsigned *count, NvmlProcess *infos);
} Nvml;

static bool find(void *library, const char *name, void *function) {
  void *p = dlsym(library, name);
  memcpy(function, &p, sizeof p); // POSIX: a function's address has these bits
  return p != NULL;
}

bool tn_gpu_busy(Buf *out) {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *device;
  Nvml f;
  NvmlProcess list[MOST_PROCESSES];
  unsigned n = MOST_PROCESSES, others = 0;
  if (!library || !find(library, "nvmlInit_v2", &f.init) ||
      !find(library, "nvmlDeviceGetHandleByIndex_v2", &f.device) ||
      !find(library, "nvmlDeviceGetComputeRunningProcesses_v2", &f.processes))
    return false;
  if (f.init() || f.device(0, &device) || f.processes(device, &n, list)) return false;
  for (unsigned i = 0; i < n && i < MOST_PROCESSES; i++) {
    if (list[i].pid == (unsigned)getpid()) continue;
    buf_printf(out, "%s%u", others++ ? ", " : "processes ", list[i].pid);
  }
  return others > 0;
}
