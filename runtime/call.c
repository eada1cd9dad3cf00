// A kernel bound to arguments in device memory, with guard bands around each tensor.
// SPDX-License-Identifier: MIT
#include "private.h"

#include <string.h>

// Both bands hold one pattern. The band behind starts at the tensor's last byte + 1, so that a
// store one element too far is seen.
enum { GUARD = 4096, GUARD_BYTE = 0xa5, POISON_BYTE = 0xff };

typedef struct {
  char *base;       // device; the tensor itself is at base + GUARD
  const void *host; // what to upload; NULL: starts as POISON_BYTE, as a workspace does
  size_t bytes;
  bool borrowed; // another call's
} Tensor;

struct RtCall {
  Arena *arena; // holds the call itself
  RtGpu *gpu;
  RtKernel *kernel;
  int n;
  Tensor *tensors; // one an argument; base NULL for scalars
  RtValue *values;
};

static RtStatus allocate(RtCall *c, int i, Buf *err) {
  Tensor *t = &c->tensors[i];
  void *p;
  RtStatus s = rt_gpu_alloc(c->gpu, t->bytes + 2 * GUARD, &p, err);
  if (s != RT_OK) return s;
  t->base = p;
  c->values[i].p = t->base + GUARD;
  s = rt_gpu_memset(c->gpu, t->base, GUARD_BYTE, GUARD, err);
  if (s == RT_OK) s = rt_gpu_memset(c->gpu, t->base + GUARD + t->bytes, GUARD_BYTE, GUARD, err);
  return s;
}

// Scalars and tensors; a workspace's size is asked of the kernel, once the sizes are known.
static RtStatus bind(RtCall *c, const RtArg *args, Buf *err) {
  const RtParam *params;
  bool has_workspace;
  int n = rt_kernel_params(c->kernel, &params, &has_workspace);
  if (n != c->n) {
    buf_printf(err, "the kernel takes %d arguments, not %d", n, c->n);
    return RT_FAILED;
  }
  for (int i = 0; i < n; i++)
    if (!params[i].pointer) c->values[i] = args[i].scalar;
  for (int i = 0; i < n; i++) {
    if (!params[i].pointer) continue;
    bool workspace = has_workspace && i == n - 1;
    c->tensors[i].host = workspace ? NULL : args[i].host;
    c->tensors[i].bytes =
        workspace ? (size_t)rt_kernel_workspace(c->kernel, c->values) : args[i].bytes;
    RtStatus s = allocate(c, i, err);
    if (s != RT_OK) return s;
  }
  return RT_OK;
}

RtStatus rt_call_new(RtGpu *g, RtKernel *k, const RtArg *args, int n, RtCall **out, Buf *err) {
  Arena *a = arena_new();
  RtCall *c = NEW(a, RtCall);
  *c = (RtCall){a, g, k, n, NEWN(a, Tensor, n), NEWN(a, RtValue, n)};
  *out = NULL;
  RtStatus s = bind(c, args, err);
  if (s == RT_OK) s = rt_kernel_check(k, c->values, err);
  if (s == RT_OK) s = rt_call_upload(c, err);
  if (s == RT_OK) *out = c;
  else rt_call_free(c);
  return s;
}

// Both kernels are to take the same, a workspace apart.
static bool same_params(RtKernel *a, RtKernel *b) {
  const RtParam *p, *q;
  bool wp, wq;
  int n = rt_kernel_params(a, &p, &wp) - wp, m = rt_kernel_params(b, &q, &wq) - wq;
  if (n != m) return false;
  for (int i = 0; i < n; i++)
    if (p[i].type != q[i].type || p[i].pointer != q[i].pointer) return false;
  return true;
}

RtStatus rt_call_like(const RtCall *of, RtKernel *k, RtCall **out, Buf *err) {
  Arena *a = arena_new();
  RtCall *c = NEW(a, RtCall);
  const RtParam *params;
  bool has_workspace;
  int n = rt_kernel_params(k, &params, &has_workspace), shared = n - has_workspace;
  *c = (RtCall){a, of->gpu, k, n, NEWN(a, Tensor, n), NEWN(a, RtValue, n)};
  *out = NULL;
  RtStatus s = RT_OK;
  if (!same_params(of->kernel, k)) {
    buf_puts(err, "the kernels take different arguments");
    s = RT_FAILED;
  }
  for (int i = 0; i < shared && s == RT_OK; i++) {
    c->tensors[i] = of->tensors[i];
    c->tensors[i].borrowed = true;
    c->values[i] = of->values[i];
  }
  if (has_workspace && s == RT_OK) {
    c->tensors[n - 1].bytes = (size_t)rt_kernel_workspace(k, c->values);
    s = allocate(c, n - 1, err);
    if (s == RT_OK) s = rt_call_reset(c, n - 1, err);
  }
  if (s == RT_OK) s = rt_kernel_check(k, c->values, err);
  if (s == RT_OK) *out = c;
  else rt_call_free(c);
  return s;
}

void rt_call_free(RtCall *c) {
  if (!c) return;
  for (int i = 0; i < c->n; i++)
    if (!c->tensors[i].borrowed) rt_gpu_free(c->gpu, c->tensors[i].base);
  arena_free(c->arena);
}

RtStatus rt_call_reset(RtCall *c, int i, Buf *err) {
  const Tensor *t = &c->tensors[i];
  if (!t->base) return RT_OK;            // a scalar
  RtStatus s = rt_gpu_sync(c->gpu, err); // under the time limit, which copies do not have
  if (s != RT_OK) return s;
  if (t->host) return rt_gpu_upload(c->gpu, t->base + GUARD, t->host, t->bytes, err);
  return rt_gpu_memset(c->gpu, t->base + GUARD, POISON_BYTE, t->bytes, err);
}

RtStatus rt_call_upload(RtCall *c, Buf *err) {
  RtStatus s = RT_OK;
  for (int i = 0; i < c->n && s == RT_OK; i++) s = rt_call_reset(c, i, err);
  return s;
}

RtStatus rt_call_launch(void *call, void *stream, Buf *err) {
  RtCall *c = call;
  gpu_enter(c->gpu);
  return rt_kernel_launch(c->kernel, c->values, stream, err);
}

RtStatus rt_call_fetch(RtCall *c, int i, void *host, Buf *err) {
  const Tensor *t = &c->tensors[i];
  RtStatus s = rt_gpu_sync(c->gpu, err);
  return s == RT_OK ? rt_gpu_download(c->gpu, host, t->base + GUARD, t->bytes, err) : s;
}

static RtStatus check_band(const uint8_t *band, int i, bool behind, Buf *err) {
  for (int k = 0; k < GUARD; k++) {
    int byte = behind ? k : GUARD - 1 - k; // nearest to the tensor first
    if (band[byte] == GUARD_BYTE) continue;
    buf_printf(err, "the kernel wrote outside argument %d: byte %d %s", i, k + 1,
               behind ? "past its end" : "before its start");
    return RT_FAILED;
  }
  return RT_OK;
}

RtStatus rt_call_guards(RtCall *c, Buf *err) {
  uint8_t *bands = gpu_scratch(c->gpu, (size_t)(2 * c->n + 1) * GUARD);
  RtStatus s = rt_gpu_sync(c->gpu, err);
  for (int i = 0; i < 2 * c->n && s == RT_OK; i++) {
    const Tensor *t = &c->tensors[i / 2];
    const char *at = i % 2 ? t->base + GUARD + t->bytes : t->base;
    if (t->base) s = gpu_download_later(c->gpu, bands + (size_t)i * GUARD, at, GUARD, err);
  }
  if (s == RT_OK) s = rt_gpu_sync(c->gpu, err);
  for (int i = 0; i < 2 * c->n && s == RT_OK; i++)
    if (c->tensors[i / 2].base) s = check_band(bands + (size_t)i * GUARD, i / 2, i % 2, err);
  return s;
}

void *rt_call_device(const RtCall *c, int i) { return c->values[i].p; }
