// Generated .cu files as loaded libraries, called through code that the C++ compiler made for them.
// SPDX-License-Identifier: MIT
#include "private.h"

#include <dlfcn.h>
#include <string.h>

_Static_assert(sizeof(RtValue) == 8, "the appended caller reads arguments in steps of 8 bytes");

// As the appended caller defines them.
typedef int LaunchFn(const RtValue *args, void *stream);
typedef int CheckFn(const RtValue *args, char *message, size_t size);
typedef long long WorkspaceFn(const RtValue *args);
typedef const char *ErrorFn(int error);
typedef void NumbersFn(const int64_t *numbers);
typedef void ReadyFn(void);

struct RtKernel {
  Arena *arena; // holds the kernel itself
  char *symbol;
  void *library;
  RtParam *params;
  int n;
  bool has_workspace;
  LaunchFn *launch;
  CheckFn *check;
  WorkspaceFn *workspace;
  ErrorFn *error_name, *error_text;
};

static const char *const c_types[RT_TYPE_COUNT] = {
    [RT_BOOL] = "bool",    [RT_I4] = "int8_t",    [RT_U4] = "uint8_t",   [RT_I8] = "int8_t",
    [RT_U8] = "uint8_t",   [RT_I16] = "int16_t",  [RT_U16] = "uint16_t", [RT_I32] = "int32_t",
    [RT_U32] = "uint32_t", [RT_I64] = "int64_t",  [RT_U64] = "uint64_t", [RT_E4M3] = "uint8_t",
    [RT_E2M1] = "uint8_t", [RT_E5M2] = "uint8_t", [RT_F16] = "uint16_t", [RT_BF16] = "uint16_t",
    [RT_TF32] = "float",   [RT_F32] = "float",    [RT_F64] = "double",
};

// Arguments lo..hi-1 of the launcher, each followed by a comma and a space.
static void put_args(Buf *out, const RtSource *s, int lo, int hi) {
  for (int i = lo; i < hi; i++)
    buf_printf(out, "*(%s *)(a + %d), ",
               s->params[i].pointer ? "void *" : c_types[s->params[i].type], 8 * i);
}

static bool has_kernel(const RtSource *s, int i) {
  char name[256];
  int n = snprintf(name, sizeof name, " %s_k%d(", s->symbol, i);
  return n < (int)sizeof name && memmem(s->build.text, s->build.len, name, (size_t)n);
}

static void put_caller(Buf *out, const RtSource *s) {
  int before_workspace = s->n - s->has_workspace;
  const char *symbol = s->symbol;
  buf_printf(out,
             "\n// The caller that tlc --run and --bench append.\n"
             "#include <stddef.h>\n#include <stdint.h>\n#include <cuda_runtime_api.h>\n"
             "extern \"C\" int tlc_rt_launch(char *a, void *stream) {\n  return (int)%s(",
             symbol);
  put_args(out, s, 0, s->n);
  buf_puts(out, "(cudaStream_t)stream);\n}\n");
  if (s->has_check) {
    buf_printf(out,
               "extern \"C\" int tlc_rt_check(char *a, char *text, size_t n) {\n"
               "  return (int)%s_check(",
               symbol);
    put_args(out, s, 0, s->n);
    buf_puts(out, "text, n);\n}\n");
  }
  if (s->has_workspace) {
    buf_printf(out,
               "extern \"C\" long long tlc_rt_workspace(char *a) {\n"
               "  return (long long)%s_workspace(",
               symbol);
    put_args(out, s, before_workspace - s->sizes, before_workspace);
    if (s->sizes) out->len -= 2; // the last comma and space
    buf_puts(out, ");\n}\n");
  }
  buf_puts(out, "extern \"C\" void tlc_rt_ready() {\n  cudaFuncAttributes has;\n");
  for (int i = 0; has_kernel(s, i); i++)
    buf_printf(out, "  (void)cudaFuncGetAttributes(&has, (const void *)%s_k%d);\n", symbol, i);
  buf_puts(out, "  (void)has;\n  (void)cudaGetLastError();\n}\n"
                "extern \"C\" const char *tlc_rt_error_name(int e) {\n"
                "  return cudaGetErrorName((cudaError_t)e);\n}\n"
                "extern \"C\" const char *tlc_rt_error_text(int e) {\n"
                "  return cudaGetErrorString((cudaError_t)e);\n}\n");
}

// Function pointers come from dlsym as object pointers: POSIX says that copying the bits works.
static bool find_symbol(RtKernel *k, const char *name, void *function, Buf *err) {
  void *p = dlsym(k->library, name);
  memcpy(function, &p, sizeof p);
  if (!p) buf_printf(err, "the compiled %s lacks the function %s", k->symbol, name);
  return p != NULL;
}

static RtStatus open_library(RtKernel *k, const RtSource *s, const char *path, Buf *err) {
  k->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!k->library) {
    const char *why = dlerror();
    buf_printf(err, "cannot load %s: %s", path, why ? why : "no reason given");
    return RT_FAILED;
  }
  bool ok = find_symbol(k, "tlc_rt_launch", &k->launch, err) &&
            (!s->has_check || find_symbol(k, "tlc_rt_check", &k->check, err)) &&
            (!s->has_workspace || find_symbol(k, "tlc_rt_workspace", &k->workspace, err)) &&
            find_symbol(k, "tlc_rt_error_name", &k->error_name, err) &&
            find_symbol(k, "tlc_rt_error_text", &k->error_text, err);
  return ok ? RT_OK : RT_FAILED;
}

void rt_kernel_text(const RtSource *source, Buf *out) {
  buf_add(out, source->build.text, source->build.len);
  put_caller(out, source);
}

RtStatus rt_kernel_open(const RtSource *source, const char *path, RtKernel **out, Buf *err) {
  Arena *a = arena_new();
  RtKernel *k = NEW(a, RtKernel);
  k->arena = a;
  k->symbol = arena_str(a, source->symbol);
  k->n = source->n;
  k->params = arena_copy(a, source->params, (size_t)source->n * sizeof *k->params);
  k->has_workspace = source->has_workspace;
  RtStatus status = open_library(k, source, path, err);
  *out = status == RT_OK ? k : NULL;
  if (!*out) rt_kernel_free(k);
  return status;
}

void rt_kernel_ready(RtKernel *k) {
  ReadyFn *ready;
  Buf none = {0};
  if (find_symbol(k, "tlc_rt_ready", &ready, &none)) ready();
  buf_free(&none);
}

RtStatus rt_kernel_take_numbers(RtKernel *k, const int64_t *numbers, Buf *err) {
  NumbersFn *take;
  if (!find_symbol(k, "tlc_take_numbers", &take, err)) return RT_FAILED;
  take(numbers);
  return RT_OK;
}

RtStatus rt_kernel_build(Arena *a, const RtSource *source, const char **path, Buf *err) {
  Buf text = {0};
  rt_kernel_text(source, &text);
  RtBuild build = source->build;
  build.text = text.data;
  build.len = text.len;
  build.kind = RT_SHARED;
  RtStatus status = rt_build(a, &build, path, NULL, err);
  buf_free(&text);
  return status;
}

RtStatus rt_kernel_load(const RtSource *source, RtKernel **out, Buf *err) {
  Arena *a = arena_new();
  const char *path;
  *out = NULL;
  RtStatus status = rt_kernel_build(a, source, &path, err);
  if (status == RT_OK) status = rt_kernel_open(source, path, out, err);
  arena_free(a);
  return status;
}

void rt_kernel_free(RtKernel *k) {
  if (!k) return;
  if (k->library) dlclose(k->library);
  arena_free(k->arena);
}

RtStatus rt_kernel_launch(RtKernel *k, const RtValue *args, void *stream, Buf *err) {
  int error = k->launch(args, stream);
  if (error == 0) return RT_OK;
  buf_printf(err, "%s returned %s (%s)", k->symbol, k->error_name(error), k->error_text(error));
  return RT_FAILED;
}

RtStatus rt_kernel_check(RtKernel *k, const RtValue *args, Buf *err) {
  char text[1024] = "";
  int error = k->check ? k->check(args, text, sizeof text) : 0;
  if (error == 0) return RT_OK;
  text[sizeof text - 1] = 0;
  buf_printf(err, "%s: %s", k->symbol, *text ? text : k->error_name(error));
  return RT_FAILED;
}

int64_t rt_kernel_workspace(RtKernel *k, const RtValue *args) {
  return k->workspace ? k->workspace(args) : 0;
}

int rt_kernel_params(const RtKernel *k, const RtParam **params, bool *has_workspace) {
  *params = k->params;
  *has_workspace = k->has_workspace;
  return k->n;
}
