// cublasLt as a contender: the best of its first heuristics on row-major operands.
// SPDX-License-Identifier: MIT
#include "cuda.h"
#include "private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { HEURISTICS = 8, WORKSPACE = 64 << 20, SEARCH_ROUNDS = 3 };

typedef struct {
#define LT(field, name, params) int(*field) params;
  CUBLASLT_FUNCTIONS(LT)
#undef LT
  const char *(*status_name)(int status);
} Library;

struct RtBlas {
  Arena *arena; // holds the RtBlas itself
  RtGpu *gpu;
  RtGemm gemm;
  Library lib;
  Handle lt, desc, preference, a, b, c; // a, b: in the library's order
  uint64_t one, zero;                   // alpha and beta, of the scale type
  void *workspace;
  BlasHeuristic found[HEURISTICS];
  int best;
};

/* Finding the library */

static void *open_library(Arena *a) {
  const char *own = getenv("TLC_CUBLASLT"), *home = getenv("CUDA_HOME");
  if (own && *own) return dlopen(own, RTLD_NOW | RTLD_LOCAL);
  const char *const folders[] = {"", home && *home ? arena_printf(a, "%s/lib64/", home) : "",
                                 "/usr/local/cuda/lib64/"};
  const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  for (size_t i = 0; i < LEN(folders) * LEN(names); i++) {
    const char *path = arena_printf(a, "%s%s", folders[i / LEN(names)], names[i % LEN(names)]);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
  }
  return NULL;
}

static RtStatus load(RtBlas *b, Buf *err) {
  void *library = open_library(b->arena); // stays loaded, as libcuda does
  if (!library) {
    buf_puts(err, "libcublasLt.so not found: looked at $TLC_CUBLASLT, the loader's folders, "
                  "$CUDA_HOME/lib64 and /usr/local/cuda/lib64");
    return RT_MISSING;
  }
  const struct {
    const char *name;
    size_t at;
  } functions[] = {
#define LT(field, name, params) {name, offsetof(Library, field)},
      CUBLASLT_FUNCTIONS(LT)
#undef LT
          {"cublasLtGetStatusName", offsetof(Library, status_name)},
  };
  for (size_t i = 0; i < LEN(functions); i++) {
    void *f = dlsym(library, functions[i].name);
    if (!f) {
      buf_printf(err, "libcublasLt.so is too old: it lacks %s", functions[i].name);
      return RT_MISSING;
    }
    memcpy((char *)&b->lib + functions[i].at, &f, sizeof f);
  }
  return RT_OK;
}

static RtStatus result(const RtBlas *b, int status, const char *what, Buf *err) {
  if (status == 0) return RT_OK;
  buf_printf(err, "%s: %s", what, b->lib.status_name(status));
  return RT_FAILED;
}

/* Describing the product */

static int cuda_type(RtType t) {
  switch (t) {
  case RT_F16: return CUDA_F16;
  case RT_BF16: return CUDA_BF16;
  case RT_TF32:
  case RT_F32: return CUDA_F32;
  case RT_F64: return CUDA_F64;
  case RT_I8: return CUDA_I8;
  case RT_I32: return CUDA_I32;
  case RT_E4M3: return CUDA_E4M3;
  case RT_E5M2: return CUDA_E5M2;
  default: return -1;
  }
}

static int compute_type(RtType in) {
  if (in == RT_I8) return COMPUTE_I32;
  if (in == RT_F64) return COMPUTE_F64;
  return in == RT_TF32 ? COMPUTE_F32_TF32 : COMPUTE_F32;
}

static int scale_type(RtBlas *b) {
  double d = 1;
  float f = 1;
  b->zero = b->one = 0;
  if (b->gemm.in == RT_I8) {
    b->one = 1;
    return CUDA_I32;
  }
  if (b->gemm.in == RT_F64) {
    memcpy(&b->one, &d, sizeof d);
    return CUDA_F64;
  }
  memcpy(&b->one, &f, sizeof f);
  return CUDA_F32;
}

static RtStatus set_transpose(RtBlas *b, int attribute, bool transposed, Buf *err) {
  int32_t op = transposed ? OP_T : OP_N;
  return result(b, b->lib.desc_set(b->desc, attribute, &op, sizeof op), "cublasLt", err);
}

// A row-major matrix is its transpose in column-major order, which the library defaults to. So it
// computes C' = op(B)' op(A)': its first operand is our B, its second our A, and the flags stay.
static RtStatus describe(RtBlas *b, Buf *err) {
  const RtGemm *g = &b->gemm;
  int in = cuda_type(g->in), out = cuda_type(g->out);
  if (in < 0 || out < 0) {
    buf_printf(err, "cuBLAS has no product of %s into %s", rt_type_name(g->in),
               rt_type_name(g->out));
    return RT_MISSING;
  }
  uint64_t m = (uint64_t)g->m, n = (uint64_t)g->n, k = (uint64_t)g->k;
  const Library *l = &b->lib;
  size_t workspace = WORKSPACE;
  int status = l->desc_new(&b->desc, compute_type(g->in), scale_type(b));
  if (!status)
    status =
        l->layout_new(&b->a, in, g->trans_b ? k : n, g->trans_b ? n : k, g->trans_b ? g->k : g->n);
  if (!status)
    status =
        l->layout_new(&b->b, in, g->trans_a ? m : k, g->trans_a ? k : m, g->trans_a ? g->m : g->k);
  if (!status) status = l->layout_new(&b->c, out, n, m, g->n);
  if (!status) status = l->preference_new(&b->preference);
  if (!status)
    status = l->preference_set(b->preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
  RtStatus s = result(b, status, "describing the product to cublasLt", err);
  if (s == RT_OK) s = set_transpose(b, DESC_TRANSA, g->trans_b, err);
  if (s == RT_OK) s = set_transpose(b, DESC_TRANSB, g->trans_a, err);
  int8_t fast = 1; // sums of 8-bit floats stay in the tensor cores, as in tlc's kernels
  if (s == RT_OK && rt_type_is_float(g->in) && rt_type_bits(g->in) == 8)
    s = result(b, l->desc_set(b->desc, DESC_FAST_ACCUM, &fast, sizeof fast), "cublasLt", err);
  return s;
}

/* Running */

static RtStatus multiply(RtBlas *b, int which, void *stream, Buf *err) {
  const RtGemm *g = &b->gemm;
  gpu_enter(b->gpu);
  int status = b->lib.matmul(b->lt, b->desc, &b->one, g->b, b->a, g->a, b->b, &b->zero, g->c, b->c,
                             g->c, b->c, b->found[which].algo, b->workspace, WORKSPACE, stream);
  return result(b, status, "cublasLtMatmul", err);
}

RtStatus rt_blas_launch(void *blas, void *stream, Buf *err) {
  RtBlas *b = blas;
  return multiply(b, b->best, stream, err);
}

typedef struct {
  RtBlas *blas;
  int which;
} Candidate;

static RtStatus launch_candidate(void *ctx, void *stream, Buf *err) {
  const Candidate *c = ctx;
  return multiply(c->blas, c->which, stream, err);
}

static RtStatus choose(RtBlas *b, double idle_s, Buf *err) {
  int found = 0;
  int status = b->lib.heuristics(b->lt, b->desc, b->a, b->b, b->c, b->c, b->preference, HEURISTICS,
                                 b->found, &found);
  Candidate candidates[HEURISTICS];
  RtContender list[HEURISTICS];
  RtTiming times[HEURISTICS];
  int n = 0;
  for (int i = 0; i < found && status == 0; i++) {
    if (b->found[i].status) continue;
    candidates[n] = (Candidate){b, i};
    list[n] = (RtContender){"cublasLt", launch_candidate, &candidates[n]};
    n++;
  }
  if (n == 0) {
    buf_printf(err, "cuBLAS has no algorithm for %s into %s with A%s B%s: %s",
               rt_type_name(b->gemm.in), rt_type_name(b->gemm.out), b->gemm.trans_a ? "'" : "",
               b->gemm.trans_b ? "'" : "", b->lib.status_name(status));
    return RT_MISSING;
  }
  b->best = candidates[0].which;
  RtBenchOptions quick = {
      .rounds = SEARCH_ROUNDS, .idle_s = idle_s, .burst_ms = 5, .brief = idle_s < 0};
  RtStatus s = n > 1 ? rt_bench(b->gpu, list, n, &quick, times, err) : RT_OK;
  int best = 0;
  for (int i = 1; i < n && s == RT_OK; i++)
    if (times[i].us < times[best].us) best = i;
  b->best = candidates[best].which;
  return s;
}

RtStatus rt_blas_new(RtGpu *g, const RtGemm *gemm, double idle_s, RtBlas **out, Buf *err) {
  Arena *a = arena_new();
  RtBlas *b = NEW(a, RtBlas);
  b->arena = a;
  b->gpu = g;
  b->gemm = *gemm;
  *out = NULL;
  gpu_enter(g);
  RtStatus s = load(b, err);
  if (s == RT_OK) s = result(b, b->lib.create(&b->lt), "cublasLtCreate", err);
  if (s == RT_OK) s = describe(b, err);
  if (s == RT_OK) s = rt_gpu_alloc(g, WORKSPACE, &b->workspace, err);
  if (s == RT_OK) s = choose(b, idle_s, err);
  if (s == RT_OK) *out = b;
  else rt_blas_free(b);
  return s;
}

void rt_blas_operands(RtBlas *b, const void *a, const void *operand_b) {
  b->gemm.a = a;
  b->gemm.b = operand_b;
}

void rt_blas_free(RtBlas *b) {
  if (!b) return;
  gpu_enter(b->gpu);
  rt_gpu_free(b->gpu, b->workspace);
  if (b->preference) b->lib.preference_free(b->preference);
  if (b->a) b->lib.layout_free(b->a);
  if (b->b) b->lib.layout_free(b->b);
  if (b->c) b->lib.layout_free(b->c);
  if (b->desc) b->lib.desc_free(b->desc);
  if (b->lt) b->lib.destroy(b->lt);
  arena_free(b->arena);
}
