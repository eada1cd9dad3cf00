// Builds programs for the tests of the passes and runs the oracle on them before and after.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_PASS_BUILD_H
#define TLC_TESTS_PASS_BUILD_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/numeric.h"
#include "emu/emu.h"
#include "passes/internal.h"

typedef struct {
  Arena *a;
  Sources *sources;
  Diags *diags;
  Program *p;
  Kernel *k;
  PassCtx c;
  EmuArg arg[8];
  int64_t size[4];
} Bench;

static Bench T;

static inline Expr *I(int64_t v) { return ex_index(T.a, v); }
static inline Expr *V(Var *v) { return ex_var(T.a, v); }
static inline Expr *tx(void) { return V(T.k->thread); }
static inline Expr *add(Expr *x, Expr *y) { return ex_add(T.a, x, y); }
static inline Expr *sub(Expr *x, Expr *y) { return ex_sub(T.a, x, y); }
static inline Expr *mul(Expr *x, int64_t y) { return ex_mul(T.a, x, I(y)); }
static inline Expr *quo(Expr *x, int64_t y) { return ex_floordiv(T.a, x, I(y)); }
static inline Expr *rem(Expr *x, int64_t y) { return ex_floormod(T.a, x, I(y)); }
static inline Expr *bin(BinOp op, Expr *x, Expr *y) { return ex_bin(T.a, op, x, y); }
static inline Expr *lt(Expr *x, Expr *y) { return ex_lt(T.a, x, y); }
static inline Stmt *block(void) { return st_block(T.a, NO_SPAN); }
static inline void put(Stmt *b, Stmt *s) { st_add(T.a, b, s); }

static inline void bench_begin(Level level, int threads, int gx, int gy) {
  T = (Bench){.a = arena_new()};
  T.sources = src_new(T.a);
  T.diags = diag_new(T.a, T.sources, (DiagOptions){0});
  T.p = NEW(T.a, Program);
  T.p->symbol = "f";
  T.p->file = "f.tl";
  T.p->bindings = "";
  Kernel *k = T.k = NEW(T.a, Kernel);
  int grid[] = {gx, gy, 1};
  static const char *const names[] = {"bx", "by", "bz"};
  k->name = "f_k0";
  for (int i = 0; i < 3; i++) {
    k->grid[i] = I(grid[i]);
    k->block[i] = var_new(T.a, names[i], DT_INDEX, VAR_BLOCK, NO_SPAN);
    k->block[i]->axis = i;
  }
  k->threads = threads;
  k->thread = var_new(T.a, "tx", DT_INDEX, VAR_THREAD, NO_SPAN);
  k->level = level;
  k->body = block();
  vec_push(T.a, &T.p->kernels, k);
  T.c = (PassCtx){
      .arena = T.a, .diags = T.diags, .target = target_find("sm_80"), .plan = plan_new(T.a)};
}

static inline Buffer *buffer(const char *name, DType t, Scope s, int n, Expr *d0, Expr *d1) {
  Buffer *b = buf_new(T.a, name, t, s, (Expr *[]){d0, d1}, n, NO_SPAN);
  if (s != SC_GLOBAL) vec_push(T.a, &T.k->buffers, b);
  return b;
}

static inline Buffer *flat(const char *name, DType t, Scope s, int64_t n) {
  return buffer(name, t, s, 1, I(n), NULL);
}

// A tensor of at most `room` elements; its memory is T.arg[i].data, zeroed.
static inline Buffer *param(const char *name, DType t, int n, Expr *d0, Expr *d1, int64_t room) {
  Param q = {.kind = PARAM_TENSOR, .name = name, .buf = buffer(name, t, SC_GLOBAL, n, d0, d1)};
  EmuArg *arg = &T.arg[T.p->params.len];
  arg->bytes = (size_t)(room * dt_bits(t) + 7) / 8;
  arg->data = arena_alloc(T.a, arg->bytes + 1);
  vec_push(T.a, &T.p->params, q);
  return q.buf;
}

static inline Var *size_var(const char *name, int64_t value) {
  Var *v = var_new(T.a, name, DT_INDEX, VAR_SIZE, NO_SPAN);
  T.size[T.p->sizes.len] = value;
  vec_push(T.a, &T.p->sizes, v);
  return v;
}

static inline Region *box(Buffer *b, Expr *m0, Expr *m1, int64_t e0, int64_t e1) {
  return region_new(T.a, b, (Expr *[]){m0, m1}, (Expr *[]){I(e0), I(e1)});
}

static inline Region *whole(Buffer *b) { return region_whole(T.a, b); }
static inline Stmt *copy(Region *src, Region *dst) {
  return st_op(T.a, OP_COPY, NO_SPAN, src, dst, (int64_t)0);
}
static inline Stmt *fill(Buffer *b, double v) {
  return st_op(T.a, OP_FILL, NO_SPAN, whole(b), ex_float(T.a, DT_F32, v));
}
static inline Stmt *gemm(Region *a, Region *b, Buffer *c, int ta, int tb, GemmPolicy policy) {
  return st_op(T.a, OP_GEMM, NO_SPAN, a, b, whole(c), (int64_t)ta, (int64_t)tb, (int64_t)policy,
               ex_bool(T.a, false));
}
static inline Var *loop_var(const char *name) {
  return var_new(T.a, name, DT_INDEX, VAR_LOOP, NO_SPAN);
}
static inline Stmt *loop(LoopKind kind, Var *v, Expr *min, Expr *n, Stmt *body) {
  return st_for(T.a, kind, v, min, n, body, NO_SPAN);
}
static inline Stmt *pipelined(Var *v, Expr *min, Expr *n, int stages, Stmt *body) {
  Stmt *s = loop(LOOP_PIPELINED, v, min, n, body);
  s->u.loop.num_stages = stages;
  return s;
}

static inline void tile_passes(void) {
  pass_check(T.p, &T.c);
  pass_simplify(T.p, &T.c);
  pass_plan(T.p, &T.c);
  pass_raster(T.p, &T.c);
  pass_pipeline(T.p, &T.c);
  if (diag_errors(T.diags)) diag_flush(T.diags, stderr);
  ck_assert_int_eq(diag_errors(T.diags), 0);
  Buf why = {0};
  bool ok = ir_verify(T.p, &why);
  if (!ok) ir_print(T.p, &why);
  ck_assert_msg(ok, "%s", buf_str(&why));
  buf_free(&why);
}

// Runs the oracle; the bytes of the last argument, copied.
static inline void *oracle_out(Program *p) {
  EmuArg *out = &T.arg[p->params.len - 1];
  memset(out->data, 0, out->bytes);
  bool ok = oracle_run(p, &(EmuCall){.sizes = T.size, .args = T.arg}, T.diags);
  if (!ok) {
    diag_flush(T.diags, stderr);
    Buf text = {0};
    ir_print(p, &text);
    ck_abort_msg("oracle: %s", buf_str(&text));
  }
  return arena_copy(T.a, out->data, out->bytes);
}

// The tile passes keep the meaning of the program.
static inline void expect_same(void) {
  Program *before = ir_clone(T.a, T.p);
  void *want = oracle_out(before);
  tile_passes();
  void *got = oracle_out(T.p);
  if (memcmp(want, got, T.arg[T.p->params.len - 1].bytes)) {
    Buf text = {0};
    ir_print(T.p, &text);
    ck_abort_msg("outputs differ after the tile passes:\n%s", buf_str(&text));
  }
}

typedef struct {
  OpCode op;
  int n;
} Count;

static inline void count_stmt(void *ctx, Stmt *s) {
  Count *c = ctx;
  c->n += s->kind == ST_OP && s->u.op.op == c->op;
}

static inline int count(Stmt *s, OpCode op) {
  Count c = {op, 0};
  st_walk(s, count_stmt, &c);
  return c.n;
}

#endif
