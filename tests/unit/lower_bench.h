// Layout, lower and vector: tile programs run by the oracle, their lowered form by the emulator
// with its checks. Integer-valued inputs, so that results are exact.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_LOWER_BENCH_H
#define TLC_TESTS_LOWER_BENCH_H

#include "pass_build.h"

static EmuReport report;

static inline void set(Buffer *b, void *data, int64_t i, double v) {
  switch (b->dtype) {
  case DT_F32: ((float *)data)[i] = (float)v; break;
  case DT_F16: ((uint16_t *)data)[i] = num_f16_from_f32((float)v); break;
  case DT_BF16: ((uint16_t *)data)[i] = num_bf16_from_f32((float)v); break;
  case DT_I8: ((int8_t *)data)[i] = (int8_t)v; break;
  case DT_U8: ((uint8_t *)data)[i] = (uint8_t)(v < 0 ? -v : v); break;
  default: ((int32_t *)data)[i] = (int32_t)v; break;
  }
}

static inline void random_args(void) {
  uint64_t s = 88172645463325252u;
  for (int p = 0; p < T.p->params.len; p++) {
    Buffer *b = T.p->params.data[p].buf;
    int64_t n = (int64_t)T.arg[p].bytes * 8 / dt_bits(b->dtype);
    for (int64_t i = 0; i < n; i++) {
      s ^= s << 13, s ^= s >> 7, s ^= s << 17;
      set(b, T.arg[p].data, i, (double)(int)(s % 7) - 3);
    }
  }
}

static inline void show(const Program *p) {
  if (!getenv("SHOW")) return;
  Buf text = {0};
  ir_print(p, &text);
  fputs(buf_str(&text), stderr);
  buf_free(&text);
}

static inline void all_passes(Program *p) {
  static void (*const run[])(Program *, PassCtx *) = {
      pass_check, pass_simplify, pass_plan, pass_raster, pass_pipeline, pass_layout,
      pass_lower, pass_vector,   pass_smem, pass_sync,   pass_tidy};
  for (size_t i = 0; i < LEN(run); i++) {
    if (getenv("BEFORE") && (int)i == atoi(getenv("BEFORE"))) show(p);
    run[i](p, &T.c);
    if (diag_errors(T.diags)) diag_flush(T.diags, stderr);
    ck_assert_int_eq(diag_errors(T.diags), 0);
    Buf why = {0};
    bool ok = ir_verify(p, &why);
    if (!ok) ir_print(p, &why);
    ck_assert_msg(ok, "after pass %zu: %s", i, buf_str(&why));
    buf_free(&why);
  }
}

static inline void bench_end(void) {
  arena_free(T.a);
  T.a = NULL;
}

// A new TILE-level program in place of the last one.
static inline void lower_begin(int threads, int gx, int gy) {
  bench_end();
  bench_begin(LEVEL_TILE, threads, gx, gy);
}

// Every argument after the emulator's run equals the oracle's.
static inline void expect_lowered(void) {
  random_args();
  void *first[8], *want[8];
  int n = T.p->params.len;
  for (int i = 0; i < n; i++) first[i] = arena_copy(T.a, T.arg[i].data, T.arg[i].bytes);
  Program *before = ir_clone(T.a, T.p);
  bool ok = oracle_run(before, &(EmuCall){.sizes = T.size, .args = T.arg}, T.diags);
  if (!ok) diag_flush(T.diags, stderr);
  ck_assert(ok);
  for (int i = 0; i < n; i++) {
    want[i] = arena_copy(T.a, T.arg[i].data, T.arg[i].bytes);
    memcpy(T.arg[i].data, first[i], T.arg[i].bytes);
  }
  all_passes(T.p);
  show(T.p);
  report = (EmuReport){0};
  ok = emu_run(T.p, &(EmuCall){.sizes = T.size, .args = T.arg}, T.c.target,
               &(EmuOptions){.seed = 1}, &report, T.diags);
  if (!ok) diag_flush(T.diags, stderr);
  ck_assert(ok);
  for (int i = 0; i < n; i++)
    for (size_t at = 0; at < T.arg[i].bytes; at++)
      if (((uint8_t *)want[i])[at] != ((uint8_t *)T.arg[i].data)[at])
        ck_abort_msg("argument %s differs from byte %zu of %zu on", T.p->params.data[i].name, at,
                     T.arg[i].bytes);
}

/* ------------------------------------------------------------------ gemm */

typedef struct {
  int M, N, K, bm, bn, bk, stages, threads;
  DType ab, c;
  int ta, tb;
  GemmPolicy policy;
  bool stage_c; // through shared memory
  int dynamic;  // M is a run-time size
} Gemm;

static inline int up(int x, int y) { return (x + y - 1) / y; }

static inline void gemm_program(const Gemm *g) {
  lower_begin(g->threads, up(g->N, g->bn), up(g->M, g->bm));
  Expr *M = g->dynamic ? V(size_var("M", g->M)) : I(g->M), *K = I(g->K), *N = I(g->N);
  Buffer *A =
      g->ta ? param("A", g->ab, 2, K, M, g->M * g->K) : param("A", g->ab, 2, M, K, g->M * g->K);
  Buffer *B =
      g->tb ? param("B", g->ab, 2, N, K, g->N * g->K) : param("B", g->ab, 2, K, N, g->N * g->K);
  DType out = g->c == DT_F32 && g->ab != DT_F32 ? g->ab : g->c;
  Buffer *C = param("C", out, 2, M, N, g->M * g->N);
  Buffer *As =
      buffer("A_shared", g->ab, SC_SHARED, 2, I(g->ta ? g->bk : g->bm), I(g->ta ? g->bm : g->bk));
  Buffer *Bs =
      buffer("B_shared", g->ab, SC_SHARED, 2, I(g->tb ? g->bn : g->bk), I(g->tb ? g->bk : g->bn));
  Buffer *acc = buffer("C_local", g->c, SC_FRAGMENT, 2, I(g->bm), I(g->bn));
  Stmt *b = T.k->body, *body = block();
  Var *k = loop_var("k");
  Expr *m0 = mul(V(T.k->block[1]), g->bm), *n0 = mul(V(T.k->block[0]), g->bn),
       *k0 = mul(V(k), g->bk);
  put(b, fill(acc, 0));
  put(body, copy(g->ta ? box(A, k0, m0, g->bk, g->bm) : box(A, m0, k0, g->bm, g->bk), whole(As)));
  put(body, copy(g->tb ? box(B, n0, k0, g->bn, g->bk) : box(B, k0, n0, g->bk, g->bn), whole(Bs)));
  put(body, st_op(T.a, OP_GEMM, NO_SPAN, whole(As), whole(Bs), whole(acc), (int64_t)g->ta,
                  (int64_t)g->tb, (int64_t)g->policy, ex_bool(T.a, false)));
  put(b, pipelined(k, I(0), I(up(g->K, g->bk)), g->stages, body));
  if (g->stage_c) {
    Buffer *Cs = buffer("C_shared", out, SC_SHARED, 2, I(g->bm), I(g->bn));
    put(b, copy(whole(acc), whole(Cs)));
    put(b, copy(whole(Cs), box(C, m0, n0, g->bm, g->bn)));
  } else {
    put(b, copy(whole(acc), box(C, m0, n0, g->bm, g->bn)));
  }
}

static const Gemm plain = {128,    128,    96, 128, 128,           32,    3, 128,
                           DT_F16, DT_F32, 0,  0,   POLICY_SQUARE, false, 0};

/* ------------------------------------------------------------------ copies and parallel loops */

static inline Stmt *parallel(int n, Var **v, Expr **extent, Stmt *body) {
  Expr *min[3] = {I(0), I(0), I(0)};
  return st_for_n(T.a, LOOP_PARALLEL, n, v, min, extent, body, NO_SPAN);
}

static inline Expr *at1(Buffer *b, Expr *i) { return ex_load(T.a, b, (Expr *[]){i}, 1); }
static inline Expr *at2(Buffer *b, Expr *i, Expr *j) {
  return ex_load(T.a, b, (Expr *[]){i, j}, 2);
}
static inline Stmt *to1(Buffer *b, Expr *i, Expr *v) {
  return st_store(T.a, b, (Expr *[]){i}, 1, v, NO_SPAN);
}
static inline Stmt *to2(Buffer *b, Expr *i, Expr *j, Expr *v) {
  return st_store(T.a, b, (Expr *[]){i, j}, 2, v, NO_SPAN);
}

static const int some_threads[] = {33, 48, 96, 128, 384};
static const int some_widths[] = {1, 7, 63, 80, 192, 229, 1024};

static inline Buffer *accumulator(void) {
  for (int i = 0; i < T.k->buffers.len; i++)
    if (T.k->buffers.data[i]->scope == SC_FRAGMENT) return T.k->buffers.data[i];
  return NULL;
}

#endif
