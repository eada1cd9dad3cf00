// One GPU through the CUDA driver: context, stream, memory, waiting.
// SPDX-License-Identifier: MIT
#include "cuda.h"
#include "private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct RtGpu {
  Arena *arena; // holds the RtGpu itself
  Driver driver;
  int device;
  Handle context, stream;
  bool lost; // after a hang: nothing may wait for the device again
  double limit;
  double busy, last; // last: when it was
  void *scratch; // pinned
  size_t scratch_bytes;
  VEC(Handle) events;
  RtGpuInfo info;
};

const RtGpuInfo *rt_gpu_info(const RtGpu *g) { return &g->info; }
void *rt_gpu_stream(const RtGpu *g) { return g->stream; }
void rt_gpu_limit(RtGpu *g, double seconds) { g->limit = seconds; }
double rt_gpu_busy(const RtGpu *g) { return g->busy; }
void gpu_was_busy(RtGpu *g, double seconds) {
  g->busy += seconds;
  g->last = clock_seconds();
}
double gpu_idle(const RtGpu *g) { return clock_seconds() - g->last; }
const Driver *gpu_driver(const RtGpu *g) { return &g->driver; }
void gpu_enter(const RtGpu *g) { g->driver.enter(g->context); }

RtStatus gpu_result(const RtGpu *g, int result, const char *what, Buf *err) {
  if (result == CU_SUCCESS) return RT_OK;
  const char *name = NULL, *text = NULL;
  g->driver.error_name(result, &name);
  g->driver.error_text(result, &text);
  buf_printf(err, "%s: %s (%s)", what, name ? name : "unknown CUDA error", text ? text : "no text");
  return RT_FAILED;
}

/* Opening */

static RtStatus load_driver(RtGpu *g, Buf *err) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    buf_puts(err, "no GPU: libcuda.so.1, which comes with NVIDIA's driver, is not on this machine");
    return RT_MISSING;
  }
  const struct {
    const char *name;
    size_t at;
  } functions[] = {
#define CU(field, name, params) {name, offsetof(Driver, field)},
      CUDA_DRIVER_FUNCTIONS(CU)
#undef CU
  };
  for (size_t i = 0; i < LEN(functions); i++) {
    void *f = dlsym(library, functions[i].name);
    if (!f) {
      buf_printf(err, "NVIDIA's driver is too old: libcuda.so.1 lacks %s", functions[i].name);
      return RT_MISSING;
    }
    memcpy((char *)&g->driver + functions[i].at, &f, sizeof f);
  }
  return RT_OK;
}

static RtStatus pick_device(RtGpu *g, int ordinal, Buf *err) {
  int count = 0, result = g->driver.init(0);
  if (result == CU_SUCCESS) result = g->driver.count(&count);
  if (result != CU_SUCCESS && result != CU_NO_DEVICE) {
    gpu_result(g, result, "no GPU: the driver does not start", err);
    return RT_MISSING;
  }
  if (ordinal >= 0 && ordinal < count)
    return gpu_result(g, g->driver.device(&g->device, ordinal), "cuDeviceGet", err);
  if (count == 0) buf_puts(err, "no GPU: the driver sees none");
  else buf_printf(err, "no GPU %d: the driver sees %d, counted from 0", ordinal, count);
  return RT_MISSING;
}

static int64_t attribute(const RtGpu *g, int which) {
  int value = 0;
  g->driver.attribute(&value, which, g->device);
  return value;
}

static void describe(RtGpu *g) {
  RtGpuInfo *d = &g->info;
  int major = (int)attribute(g, ATTR_MAJOR), minor = (int)attribute(g, ATTR_MINOR);
  size_t memory = 0;
  g->driver.name(d->name, sizeof d->name, g->device);
  g->driver.memory(&memory, g->device);
  g->driver.version(&d->driver);
  d->memory = (int64_t)memory;
  d->sm = 10 * major + minor;
  // From 9.0 on, the features of one architecture alone are behind the suffix.
  snprintf(d->arch, sizeof d->arch, "sm_%d%s", d->sm, major >= 9 ? "a" : "");
  d->sms = (int)attribute(g, ATTR_MULTIPROCESSORS);
  d->l2 = attribute(g, ATTR_L2_BYTES);
  d->smem_block = attribute(g, ATTR_SMEM_BLOCK_OPTIN);
  d->smem_sm = attribute(g, ATTR_SMEM_SM);
  d->regs_sm = (int)attribute(g, ATTR_REGS_SM);
  d->threads_sm = (int)attribute(g, ATTR_THREADS_SM);
  d->warp = (int)attribute(g, ATTR_WARP_SIZE);
}

RtStatus rt_gpu_start(RtGpu *g, Buf *err) {
  RtStatus s = gpu_result(g, g->driver.context(&g->context, g->device), "opening the GPU", err);
  if (s != RT_OK) return s;
  gpu_enter(g);
  int result = g->driver.stream_new(&g->stream, CU_STREAM_NON_BLOCKING_FLAG);
  return gpu_result(g, result, "making a stream", err);
}

RtStatus rt_gpu_find(int ordinal, RtGpu **out, Buf *err) {
  Arena *a = arena_new();
  RtGpu *g = NEW(a, RtGpu);
  g->arena = a;
  *out = NULL;
  RtStatus status = load_driver(g, err);
  if (status == RT_OK) status = pick_device(g, ordinal, err);
  if (status == RT_OK) {
    describe(g);
    *out = g;
  } else {
    rt_gpu_close(g);
  }
  return status;
}

RtStatus rt_gpu_open(int ordinal, RtGpu **out, Buf *err) {
  RtStatus status = rt_gpu_find(ordinal, out, err);
  if (status == RT_OK) status = rt_gpu_start(*out, err);
  if (status == RT_OK) return status;
  rt_gpu_close(*out);
  *out = NULL;
  return status;
}

void rt_gpu_close(RtGpu *g) {
  if (!g) return;
  if (g->context && !g->lost) {
    gpu_enter(g);
    if (g->scratch) rt_gpu_unpin(g, g->scratch);
    for (int i = 0; i < g->events.len; i++) g->driver.event_free(g->events.data[i]);
    if (g->stream) g->driver.stream_free(g->stream);
    g->driver.release(g->device);
  }
  free(g->scratch);
  arena_free(g->arena); // libcuda stays loaded: it has threads, and kernels' libraries use it
}

/* Memory */

RtStatus rt_gpu_alloc(RtGpu *g, size_t bytes, void **out, Buf *err) {
  DevicePtr p = 0;
  gpu_enter(g);
  int result = g->driver.alloc(&p, bytes ? bytes : 1);
  *out = (void *)(uintptr_t)p;
  if (result == CU_SUCCESS) return RT_OK;
  char what[64];
  snprintf(what, sizeof what, "allocating %zu bytes on the GPU", bytes);
  return gpu_result(g, result, what, err);
}

void rt_gpu_free(RtGpu *g, void *device) {
  if (!device || g->lost) return;
  gpu_enter(g);
  g->driver.free((DevicePtr)(uintptr_t)device);
}

bool rt_gpu_pin(RtGpu *g, void *host, size_t bytes) {
  gpu_enter(g);
  return bytes && g->driver.pin(host, bytes, 0) == CU_SUCCESS;
}

void rt_gpu_unpin(RtGpu *g, void *host) {
  if (g->lost) return;
  gpu_enter(g);
  g->driver.unpin(host);
}

// Copies are in the stream's order, and done when the call returns: the stream does not wait for,
// nor is waited for by, the default stream that the plain copies use.
static RtStatus copied(RtGpu *g, int result, const char *what, Buf *err) {
  if (result == CU_SUCCESS) result = g->driver.stream_wait(g->stream);
  return gpu_result(g, result, what, err);
}

RtStatus rt_gpu_upload(RtGpu *g, void *device, const void *host, size_t bytes, Buf *err) {
  if (bytes == 0) return RT_OK;
  gpu_enter(g);
  int result = g->driver.upload((DevicePtr)(uintptr_t)device, host, bytes, g->stream);
  return copied(g, result, "copying to the GPU", err);
}

RtStatus rt_gpu_download(RtGpu *g, void *host, const void *device, size_t bytes, Buf *err) {
  if (bytes == 0) return RT_OK;
  gpu_enter(g);
  int result = g->driver.download(host, (DevicePtr)(uintptr_t)device, bytes, g->stream);
  return copied(g, result, "copying from the GPU", err);
}

RtStatus gpu_download_later(RtGpu *g, void *host, const void *device, size_t bytes, Buf *err) {
  int result = g->driver.download(host, (DevicePtr)(uintptr_t)device, bytes, g->stream);
  return gpu_result(g, result, "copying from the GPU", err);
}

void *gpu_scratch(RtGpu *g, size_t bytes) {
  if (g->scratch_bytes >= bytes) return g->scratch;
  if (g->scratch) rt_gpu_unpin(g, g->scratch);
  free(g->scratch);
  g->scratch = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
  if (!g->scratch) fatal("out of memory");
  g->scratch_bytes = bytes;
  (void)rt_gpu_pin(g, g->scratch, bytes); // else copies are slower, no more
  return g->scratch;
}

RtStatus gpu_events(RtGpu *g, int n, const Handle **out, Buf *err) {
  int result = CU_SUCCESS;
  while (g->events.len < n && result == CU_SUCCESS) {
    Handle e;
    result = g->driver.event_new(&e, 0);
    if (result == CU_SUCCESS) vec_push(g->arena, &g->events, e);
  }
  *out = g->events.data;
  return gpu_result(g, result, "making an event", err);
}

RtStatus rt_gpu_memset(RtGpu *g, void *device, int byte, size_t bytes, Buf *err) {
  if (bytes == 0) return RT_OK;
  gpu_enter(g);
  int result = g->driver.set((DevicePtr)(uintptr_t)device, (unsigned char)byte, bytes, g->stream);
  return gpu_result(g, result, "filling GPU memory", err);
}

/* Waiting */

// What is short is waited for awake: a process that sleeps comes back late.
#define AWAKE_S 2e-3

static int wait_until(const RtGpu *g, double from, double limit) {
  for (;;) {
    int result = g->driver.stream_query(g->stream);
    double waited = clock_seconds() - from;
    if (result != CU_NOT_READY || waited > limit) return result;
    if (waited > AWAKE_S) usleep(50);
  }
}

RtStatus rt_gpu_sync(RtGpu *g, Buf *err) {
  gpu_enter(g);
  int result =
      g->limit > 0 ? wait_until(g, clock_seconds(), g->limit) : g->driver.stream_wait(g->stream);
  if (result != CU_NOT_READY) return gpu_result(g, result, "running on the GPU", err);
  g->lost = true;
  buf_printf(err, "the GPU did not finish within %g s: the kernel hangs, or takes longer",
             g->limit);
  return RT_FAILED;
}
