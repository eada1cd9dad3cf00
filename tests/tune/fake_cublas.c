// A libcublasLt.so without a GPU, for tests of --tune's own runner: products that touch their
// operands, no more. $FAKE_CUBLAS gets a line for each: which algorithm, with which operands.
// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *Handle;
#define EXPORT __attribute__((visibility("default"))) int

typedef struct {
  uint64_t algo[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
} Heuristic;

static int make(Handle *h) { return *h = malloc(1), 0; }

EXPORT cublasLtCreate(Handle *h) { return make(h); }
EXPORT cublasLtDestroy(Handle h) { return free(h), 0; }
EXPORT cublasLtMatmulDescCreate(Handle *d, int compute, int scale) { return make(d); }
EXPORT cublasLtMatmulDescSetAttribute(Handle d, int which, const void *v, size_t n) { return 0; }
EXPORT cublasLtMatmulDescDestroy(Handle d) { return free(d), 0; }
EXPORT cublasLtMatrixLayoutCreate(Handle *l, int t, uint64_t r, uint64_t c, int64_t ld) {
  return make(l);
}
EXPORT cublasLtMatrixLayoutDestroy(Handle l) { return free(l), 0; }
EXPORT cublasLtMatmulPreferenceCreate(Handle *p) { return make(p); }
EXPORT cublasLtMatmulPreferenceSetAttribute(Handle p, int which, const void *v, size_t n) {
  return 0;
}
EXPORT cublasLtMatmulPreferenceDestroy(Handle p) { return free(p), 0; }

EXPORT cublasLtMatmulAlgoGetHeuristic(Handle lt, Handle desc, Handle a, Handle b, Handle c,
                                      Handle d, Handle p, int wanted, Heuristic *out, int *found) {
  memset(out, 0, (size_t)wanted * sizeof *out);
  for (int i = 0; i < 3; i++) out[i].algo[0] = (uint64_t)i;
  return *found = 3, 0;
}

// The second is the fastest. Operands are read, and the output is written, at their first bytes.
EXPORT cublasLtMatmul(Handle lt, Handle desc, const void *alpha, const void *a, Handle la,
                      const void *b, Handle lb, const void *beta, const void *c, Handle lc, void *d,
                      Handle ld, const uint64_t *algo, void *workspace, size_t bytes, Handle s) {
  const char *path = getenv("FAKE_CUBLAS");
  FILE *f = path ? fopen(path, "a") : NULL;
  *(volatile char *)d = (char)(*(const volatile char *)a + *(const volatile char *)b);
  if (algo[0] != 1) usleep(5000);
  if (f) fprintf(f, "%d %p %p\n", (int)algo[0], (void *)a, (void *)b);
  return f ? fclose(f) : 0;
}

__attribute__((visibility("default"))) const char *cublasLtGetStatusName(int status) {
  return "made up";
}
