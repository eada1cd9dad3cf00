// Builds thread-level programs for the emulator's tests.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_EMU_BUILD_H
#define TLC_TESTS_EMU_BUILD_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/numeric.h"
#include "emu/emu.h"
#include "suite.h"

typedef struct {
  Arena *a;
  Sources *sources;
  Diags *diags;
  Program *p;
  Kernel *k;
  EmuArg arg[8];
  EmuReport report;
} Bench;

static Bench T;

static inline void bench_end(void) {
  arena_free(T.a);
  T.a = NULL;
}

static inline void bench_begin(int threads, int blocks) {
  bench_end();
  T = (Bench){.a = arena_new()};
  T.sources = src_new(T.a);
  T.diags = diag_new(T.a, T.sources, (DiagOptions){0});
  T.p = NEW(T.a, Program);
  Kernel *k = T.k = NEW(T.a, Kernel);
  k->name = "k0";
  for (int i = 0; i < 3; i++) {
    k->grid[i] = ex_index(T.a, i ? 1 : blocks);
    k->block[i] = var_new(T.a, "b", DT_INDEX, VAR_BLOCK, NO_SPAN);
    k->block[i]->axis = i;
  }
  k->threads = threads;
  k->thread = var_new(T.a, "tx", DT_INDEX, VAR_THREAD, NO_SPAN);
  k->level = LEVEL_THREAD;
  k->body = st_block(T.a, NO_SPAN);
  vec_push(T.a, &T.p->kernels, k);
}

static inline Expr *I(int64_t v) { return ex_index(T.a, v); }
static inline Expr *V(Var *v) { return ex_var(T.a, v); }
static inline Expr *F(double v) { return ex_float(T.a, DT_F32, v); }
static inline Expr *tx(void) { return V(T.k->thread); }
static inline Expr *add(Expr *x, Expr *y) { return ex_add(T.a, x, y); }
static inline Expr *mul(Expr *x, int64_t y) { return ex_mul(T.a, x, I(y)); }
static inline Expr *quo(Expr *x, int64_t y) { return ex_floordiv(T.a, x, I(y)); }
static inline Expr *rem(Expr *x, int64_t y) { return ex_floormod(T.a, x, I(y)); }
static inline Expr *bin(BinOp op, Expr *x, Expr *y) { return ex_bin(T.a, op, x, y); }
static inline Expr *lt(Expr *x, Expr *y) { return ex_lt(T.a, x, y); }
static inline Expr *at(Buffer *b, Expr *i) { return ex_load(T.a, b, (Expr *[]){i}, 1); }
static inline Region *span_of(Buffer *b, Expr *i, int n) { return region_flat(T.a, b, i, n); }

static inline Stmt *block(void) { return st_block(T.a, NO_SPAN); }
static inline void put(Stmt *b, Stmt *s) { st_add(T.a, b, s); }
static inline Stmt *store(Buffer *b, Expr *i, Expr *v) {
  return st_store(T.a, b, (Expr *[]){i}, 1, v, NO_SPAN);
}
static inline Stmt *when(Expr *c, Stmt *yes, Stmt *no) { return st_if(T.a, c, yes, no, NO_SPAN); }
static inline Stmt *sync_threads(void) { return st_op(T.a, OP_SYNC, NO_SPAN); }
static inline Stmt *commit(void) { return st_op(T.a, OP_ASYNC_COMMIT, NO_SPAN); }
static inline Stmt *wait_for(int n) { return st_op(T.a, OP_ASYNC_WAIT, NO_SPAN, (int64_t)n); }
static inline Stmt *vmov(Region *src, Region *dst) {
  return st_op(T.a, OP_VMOV, NO_SPAN, src, dst);
}
static inline Stmt *cp_async(Region *src, Region *dst, Expr *valid) {
  return st_op(T.a, OP_CP_ASYNC, NO_SPAN, src, dst, valid);
}
static inline Stmt *loop(Var *v, Expr *n, Stmt *body) {
  return st_for(T.a, LOOP_SERIAL, v, I(0), n, body, NO_SPAN);
}
static inline Var *loop_var(const char *name) {
  return var_new(T.a, name, DT_INDEX, VAR_LOOP, NO_SPAN);
}

static inline Buffer *buffer(const char *name, DType t, Scope s, int64_t n) {
  Buffer *b = buf_new(T.a, name, t, s, (Expr *[]){I(n)}, 1, NO_SPAN);
  if (s != SC_GLOBAL) vec_push(T.a, &T.k->buffers, b);
  return b;
}

// A tensor parameter of n elements, zeroed; its memory is T.arg[i].data.
static inline Buffer *param(const char *name, DType t, int64_t n) {
  Param q = {.kind = PARAM_TENSOR, .name = name};
  q.buf = buffer(name, t, SC_GLOBAL, n);
  EmuArg *arg = &T.arg[T.p->params.len];
  arg->bytes = (size_t)(n * dt_bits(t) + 7) / 8;
  arg->data = arena_alloc(T.a, arg->bytes + 1);
  vec_push(T.a, &T.p->params, q);
  return q.buf;
}

static inline bool bench_run(uint64_t seed) {
  EmuOptions o = {.seed = seed};
  return emu_run(T.p, &(EmuCall){.args = T.arg}, NULL, &o, &T.report, T.diags);
}

// The program must run clean under several schedules.
static inline void expect_clean(void) {
  for (uint64_t seed = 0; seed < 3; seed++) {
    bool ok = bench_run(seed);
    if (!ok) diag_flush(T.diags, stderr);
    ck_assert(ok);
  }
}

// It must be reported, under whatever schedule, as `id` (among others).
static inline void expect_report(DiagId id) {
  for (uint64_t seed = 0; seed < 3; seed++) {
    T.diags = diag_new(T.a, T.sources, (DiagOptions){0});
    ck_assert(!bench_run(seed));
    bool found = false;
    for (int i = 0; diag_id(T.diags, i) >= 0; i++) found |= diag_id(T.diags, i) == (int)id;
    if (!found) diag_flush(T.diags, stderr);
    ck_assert_msg(found, "%s not reported", diag_code(id));
  }
}

static inline int run_suite(const char *name, const TTest *const *tests, size_t n) {
  Suite *s = suite_create(name);
  TCase *t = tcase_create("all");
  tcase_set_timeout(t, 120);
  tcase_add_checked_fixture(t, NULL, bench_end);
  for (size_t i = 0; i < n; i++) tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  return suite_run(s);
}

/* elements of operands */

static uint32_t random_state = 12345;
static inline uint32_t random32(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
}

static inline double get(DType t, const void *p, int i) {
  switch (t) {
  case DT_F16: return (double)num_f16_to_f32(((const uint16_t *)p)[i]);
  case DT_BF16: return (double)num_bf16_to_f32(((const uint16_t *)p)[i]);
  case DT_E4M3: return (double)num_e4m3_to_f32(((const uint8_t *)p)[i]);
  case DT_E5M2: return (double)num_e5m2_to_f32(((const uint8_t *)p)[i]);
  case DT_I8: return ((const int8_t *)p)[i];
  case DT_U8: return ((const uint8_t *)p)[i];
  case DT_I32: return ((const int32_t *)p)[i];
  default: return (double)((const float *)p)[i];
  }
}

// A random finite element of moderate size, so that sums stay clear of overflow.
static inline void set_random(DType t, void *p, int i) {
  double x = ((double)random32() / 0x1p32 - 0.5) * 4;
  switch (t) {
  case DT_F16: ((uint16_t *)p)[i] = num_f16_from_f64(x); break;
  case DT_BF16: ((uint16_t *)p)[i] = num_bf16_from_f64(x); break;
  case DT_E4M3: ((uint8_t *)p)[i] = num_e4m3_from_f64(x, true); break;
  case DT_E5M2: ((uint8_t *)p)[i] = num_e5m2_from_f64(x, true); break;
  case DT_I8:
  case DT_U8: ((uint8_t *)p)[i] = (uint8_t)random32(); break;
  case DT_I32: ((int32_t *)p)[i] = (int32_t)random32() >> 4; break;
  default: ((float *)p)[i] = (float)x;
  }
}

#endif
