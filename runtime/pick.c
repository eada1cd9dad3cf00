// Chosen elements of a tensor on the GPU: a kernel gathers them, so that the others stay there.
// SPDX-License-Identifier: MIT
#include "cuda.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256 };

// to[i] = from[at[i]] for i < n, one thread each; PTX, so that it needs no nvcc. The format takes
// an element's bytes, the type of a register for it, twice the bytes' logarithm, twice its type.
static const char gather_ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                 ".visible .entry gather%d(.param .u64 to, .param .u64 from,\n"
                                 "    .param .u64 at, .param .u64 n) {\n"
                                 "  .reg .pred %%p;\n"
                                 "  .reg .u32 %%c, %%d, %%t;\n"
                                 "  .reg .u64 %%to, %%from, %%at, %%n, %%i, %%x;\n"
                                 "  .reg .%s %%v;\n"
                                 "  mov.u32 %%c, %%ctaid.x;\n"
                                 "  mov.u32 %%d, %%ntid.x;\n"
                                 "  mov.u32 %%t, %%tid.x;\n"
                                 "  cvt.u64.u32 %%x, %%t;\n"
                                 "  mad.wide.u32 %%i, %%c, %%d, %%x;\n"
                                 "  ld.param.u64 %%n, [n];\n"
                                 "  setp.ge.u64 %%p, %%i, %%n;\n"
                                 "  @%%p ret;\n"
                                 "  ld.param.u64 %%to, [to];\n"
                                 "  ld.param.u64 %%from, [from];\n"
                                 "  ld.param.u64 %%at, [at];\n"
                                 "  shl.b64 %%x, %%i, 3;\n"
                                 "  add.u64 %%at, %%at, %%x;\n"
                                 "  ld.global.u64 %%x, [%%at];\n"
                                 "  shl.b64 %%x, %%x, %d;\n"
                                 "  add.u64 %%from, %%from, %%x;\n"
                                 "  shl.b64 %%x, %%i, %d;\n"
                                 "  add.u64 %%to, %%to, %%x;\n"
                                 "  ld.global.%s %%v, [%%from];\n"
                                 "  st.global.%s [%%to], %%v;\n"
                                 "  ret;\n}\n";

struct RtPick {
  RtGpu *gpu;
  Handle module, kernel;
  int64_t n;
  size_t bytes;  // of an element
  void *at, *to; // device
  void *host;
  bool pinned;
};

static RtStatus load(RtPick *p, Buf *err) {
  static const char *const types[] = {"u8", "u16", "u32", "u64"};
  const Driver *cu = gpu_driver(p->gpu);
  Buf text = {0};
  int log = p->bytes == 1 ? 0 : p->bytes == 2 ? 1 : p->bytes == 4 ? 2 : 3;
  const char *type = types[log], *held = log ? type : "u16"; // there is no register of 8 bits
  char name[16];
  buf_printf(&text, gather_ptx, (int)p->bytes, held, log, log, type, type);
  snprintf(name, sizeof name, "gather%d", (int)p->bytes);
  int result = cu->module_load(&p->module, buf_str(&text));
  if (result == CU_SUCCESS) result = cu->function(&p->kernel, p->module, name);
  buf_free(&text);
  return gpu_result(p->gpu, result, "loading the kernel that gathers elements", err);
}

static RtStatus gather(RtPick *p, const void *from, int64_t n, Buf *err) {
  DevicePtr to = (DevicePtr)(uintptr_t)p->to, of = (DevicePtr)(uintptr_t)from,
            at = (DevicePtr)(uintptr_t)p->at;
  uint64_t count = (uint64_t)n;
  void *args[] = {&to, &of, &at, &count};
  unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
  // What is not gathered is not what an earlier kernel left there.
  RtStatus s = rt_gpu_memset(p->gpu, p->to, 0xff, (size_t)n * p->bytes, err);
  if (s != RT_OK) return s;
  int result = gpu_driver(p->gpu)->launch(p->kernel, blocks, 1, 1, THREADS, 1, 1, 0,
                                          rt_gpu_stream(p->gpu), args, NULL);
  s = gpu_result(p->gpu, result, "gathering elements", err);
  return s == RT_OK ? rt_gpu_download(p->gpu, p->host, p->to, (size_t)n * p->bytes, err) : s;
}

// Does it gather? From its own indices, whose bytes are known.
static RtStatus probe(RtPick *p, const int64_t *at, Buf *err) {
  int64_t n = p->n < 1024 ? p->n : 1024, own[1024] = {0};
  RtStatus s;
  for (int64_t i = 0; i < n; i++) own[i] = (i * 37 + 11) % (n * 8 / (int64_t)p->bytes);
  s = rt_gpu_upload(p->gpu, p->at, own, (size_t)n * 8, err);
  if (s == RT_OK) s = gather(p, p->at, n, err);
  for (int64_t i = 0; i < n && s == RT_OK; i++) {
    const char *want = (const char *)own + (size_t)own[i] * p->bytes;
    if (!memcmp((const char *)p->host + (size_t)i * p->bytes, want, p->bytes)) continue;
    buf_puts(err, "the kernel that gathers elements does not");
    s = RT_FAILED;
  }
  return s == RT_OK ? rt_gpu_upload(p->gpu, p->at, at, (size_t)p->n * 8, err) : s;
}

RtStatus rt_pick_new(RtGpu *g, const int64_t *at, int64_t n, size_t bytes, RtPick **out, Buf *err) {
  RtPick *p = calloc(1, sizeof *p);
  if (!p) fatal("out of memory");
  *p = (RtPick){.gpu = g, .n = n, .bytes = bytes, .host = malloc((size_t)n * bytes + 16)};
  if (!p->host) fatal("out of memory");
  gpu_enter(g);
  p->pinned = rt_gpu_pin(g, p->host, (size_t)n * bytes);
  RtStatus s = load(p, err);
  if (s == RT_OK) s = rt_gpu_alloc(g, (size_t)n * 8, &p->at, err);
  if (s == RT_OK) s = rt_gpu_alloc(g, (size_t)n * bytes, &p->to, err);
  if (s == RT_OK) s = probe(p, at, err);
  *out = s == RT_OK ? p : NULL;
  if (!*out) rt_pick_free(p);
  return s;
}

RtStatus rt_pick_fetch(RtPick *p, const void *device, const void **values, Buf *err) {
  RtStatus s = rt_gpu_sync(p->gpu, err); // under the time limit, which copies do not have
  *values = p->host;
  return s == RT_OK ? gather(p, device, p->n, err) : s;
}

void rt_pick_free(RtPick *p) {
  if (!p) return;
  gpu_enter(p->gpu);
  rt_gpu_free(p->gpu, p->at);
  rt_gpu_free(p->gpu, p->to);
  if (p->module) gpu_driver(p->gpu)->module_free(p->module);
  if (p->pinned) rt_gpu_unpin(p->gpu, p->host);
  free(p->host);
  free(p);
}
