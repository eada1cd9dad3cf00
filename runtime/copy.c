// A copy within device memory as a contender: what a kernel that only moved as many bytes could
// reach on this GPU.
// SPDX-License-Identifier: MIT
#include "cuda.h"
#include "private.h"

struct RtCopy {
  Arena *arena; // holds the copy itself
  RtGpu *gpu;
  void *from, *to;
  size_t bytes;
};

static size_t half(const RtArg *a) { return a->param.pointer && a->host ? a->bytes / 2 : 0; }

RtStatus rt_copy_new(RtGpu *g, const RtArg *args, int n, RtCopy **out, Buf *err) {
  Arena *a = arena_new();
  RtCopy *c = NEW(a, RtCopy);
  *c = (RtCopy){.arena = a, .gpu = g};
  *out = NULL;
  for (int i = 0; i < n; i++) c->bytes += half(&args[i]);
  RtStatus s = rt_gpu_alloc(g, c->bytes, &c->from, err);
  if (s == RT_OK) s = rt_gpu_alloc(g, c->bytes, &c->to, err);
  char *at = c->from;
  for (int i = 0; i < n && s == RT_OK; i++) {
    if (half(&args[i])) s = rt_gpu_upload(g, at, args[i].host, half(&args[i]), err);
    at += half(&args[i]);
  }
  if (s == RT_OK) *out = c;
  else rt_copy_free(c);
  return s;
}

void rt_copy_free(RtCopy *c) {
  if (!c) return;
  rt_gpu_free(c->gpu, c->from);
  rt_gpu_free(c->gpu, c->to);
  arena_free(c->arena);
}

RtStatus rt_copy_launch(void *copy, void *stream, Buf *err) {
  const RtCopy *c = copy;
  gpu_enter(c->gpu);
  int result = gpu_driver(c->gpu)->copy((DevicePtr)(uintptr_t)c->to, (DevicePtr)(uintptr_t)c->from,
                                        c->bytes, stream);
  return gpu_result(c->gpu, result, "copying on the GPU", err);
}
