// Random well-formed programs for the tests of ir/.
// SPDX-License-Identifier: MIT
#ifndef TLC_TEST_IR_RANDOM_H
#define TLC_TEST_IR_RANDOM_H

#include "ir/layout.h"

static Arena *ra; // where everything goes
static uint64_t rseed;

static uint32_t rnd(uint32_t n) {
  rseed = rseed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(rseed >> 33) % n;
}

typedef struct {
  VEC(Var *) vars;
  VEC(Buffer *) bufs;
  Level level;
} World;

static World rw;

static const DType some_types[] = {DT_INDEX, DT_BOOL, DT_I8, DT_U8, DT_I32, DT_U32, DT_I64, DT_U64,
                                   DT_F16,   DT_BF16, DT_F32, DT_F64, DT_E4M3, DT_TF32};

static const char *some_name(void) {
  static const char *const names[] = {"i", "j", "k", "x", "by", "A", "A_s", "min", "for", "float16",
                                      "i_1", "_", "size", "copy", "body", "\xc3\xa9t\xc3\xa9"};
  return names[rnd(LEN(names))];
}

static Expr *rand_expr(int depth, DType t);

static Expr *rand_const(DType t) {
  static const int64_t ints[] = {0, 1, -1, 5, 127, 128, 255, 65536, INT64_MAX, INT64_MIN, -42};
  static const double floats[] = {0.0,  -0.0,  1.0,       0.1,        -3.25,
                                  1e30, 1e-30, 1.0 / 0.0, -1.0 / 0.0, 448};
  if (dt_is_float(t)) return ex_float(ra, t, floats[rnd(LEN(floats))]);
  return ex_int(ra, t, ints[rnd(LEN(ints))]);
}

static int indexing; // loads do not nest without end

static Expr **rand_indices(const Buffer *b) {
  Expr **idx = NEWN(ra, Expr *, b->ndim);
  indexing++;
  for (int i = 0; i < b->ndim; i++) idx[i] = rand_expr(1, DT_INDEX);
  indexing--;
  return idx;
}

static Expr *rand_leaf(DType t) {
  if (rnd(3) == 0) return rand_const(t);
  if (!indexing && rnd(2) && rw.bufs.len) {
    Buffer *b = rw.bufs.data[rnd((uint32_t)rw.bufs.len)];
    return ex_cast(ra, t, ex_load(ra, b, rand_indices(b), b->ndim));
  }
  if (!rw.vars.len) return rand_const(t);
  return ex_cast(ra, t, ex_var(ra, rw.vars.data[rnd((uint32_t)rw.vars.len)]));
}

static Expr *rand_bool(int depth) {
  DType t = some_types[rnd(LEN(some_types))];
  if (rnd(4) == 0) return ex_un(ra, UN_NOT, rand_expr(depth - 1, DT_BOOL));
  if (rnd(3) == 0)
    return ex_bin(ra, rnd(2) ? BIN_AND : BIN_OR, rand_expr(depth - 1, DT_BOOL),
                  rand_expr(depth - 1, DT_BOOL));
  return ex_bin(ra, (BinOp)(BIN_LT + (int)rnd(4)), rand_expr(depth - 1, t),
                rand_expr(depth - 1, t));
}

static Expr *rand_number(int depth, DType t) {
  static const BinOp ints[] = {BIN_ADD, BIN_SUB,    BIN_MUL,   BIN_FLOORDIV, BIN_FLOORMOD, BIN_MIN,
                               BIN_MAX, BIN_BITAND, BIN_BITOR, BIN_BITXOR,   BIN_SHL,      BIN_SHR};
  static const BinOp floats[] = {BIN_ADD, BIN_SUB, BIN_MUL, BIN_DIV, BIN_MIN, BIN_MAX};
  Expr *arg[3];
  switch (rnd(8)) {
  case 0:
    return ex_select(ra, rand_expr(depth - 1, DT_BOOL), rand_expr(depth - 1, t),
                     rand_expr(depth - 1, t));
  case 1: return ex_un(ra, dt_is_float(t) || rnd(2) ? UN_NEG : UN_BITNOT, rand_expr(depth - 1, t));
  case 2: return ex_cast(ra, t, rand_expr(depth - 1, some_types[rnd(LEN(some_types))]));
  case 3:
    if (!dt_is_float(t)) break;
    for (int i = 0; i < 3; i++) arg[i] = rand_expr(depth - 1, t);
    return rnd(2) ? ex_math(ra, MATH_FMA, arg, 3)
                  : ex_math(ra, (MathFn)(MATH_EXP + (int)rnd(MATH_POW - MATH_EXP)), arg, 1);
  default: break;
  }
  BinOp op = dt_is_float(t) ? floats[rnd(LEN(floats))] : ints[rnd(LEN(ints))];
  return ex_bin(ra, op, rand_expr(depth - 1, t), rand_expr(depth - 1, t));
}

static Expr *rand_expr(int depth, DType t) {
  if (depth <= 0) return rand_leaf(t);
  return t == DT_BOOL ? rand_bool(depth) : rand_number(depth, t);
}

static Region *rand_region(void) {
  Buffer *b = rw.bufs.data[rnd((uint32_t)rw.bufs.len)];
  Expr **min = rand_indices(b), **extent = NEWN(ra, Expr *, b->ndim);
  for (int i = 0; i < b->ndim; i++) extent[i] = rnd(2) ? ex_index(ra, 1) : rand_expr(1, DT_INDEX);
  return region_new(ra, b, min, extent);
}

static Stmt *rand_op(void) {
  Stmt *s = NEW(ra, Stmt);
  s->kind = ST_OP;
  do s->u.op.op = (OpCode)rnd(OP_COUNT);
  while (!(op_info(s->u.op.op)->level & rw.level));
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    Arg *arg = &s->u.op.arg[i];
    if (info->arg[i].kind == ARG_INT) arg->i = (int64_t)rnd(5) - 1;
    else if (info->arg[i].kind != ARG_EXPR) arg->region = rand_region();
    else arg->expr = rand_expr(1, s->u.op.op == OP_GEMM ? DT_BOOL : DT_INDEX);
  }
  return s;
}

static Stmt *rand_stmt(int depth);

static Stmt *rand_block(int depth) {
  Stmt *b = st_block(ra, NO_SPAN);
  int vars = rw.vars.len;
  for (int n = (int)rnd(4); n > 0; n--) vec_push(ra, &b->u.block, rand_stmt(depth));
  rw.vars.len = vars;
  return b;
}

static Stmt *rand_loop(int depth) {
  LoopKind kind = (LoopKind)rnd(5);
  int n = kind == LOOP_PARALLEL ? 1 + (int)rnd(3) : 1, vars = rw.vars.len;
  Var *v[3];
  Expr *min[3], *extent[3];
  for (int i = 0; i < n; i++) {
    v[i] = var_new(ra, some_name(), DT_INDEX, VAR_LOOP, NO_SPAN);
    min[i] = rand_expr(1, DT_INDEX);
    extent[i] = rand_expr(1, DT_INDEX);
  }
  for (int i = 0; i < n; i++) vec_push(ra, &rw.vars, v[i]);
  Stmt *s = st_for_n(ra, kind, n, v, min, extent, rand_block(depth - 1), NO_SPAN);
  if (kind == LOOP_PIPELINED) s->u.loop.num_stages = (int)rnd(4);
  if (kind == LOOP_UNROLL) s->u.loop.unroll = (int)rnd(3);
  if (kind == LOOP_PARALLEL && rnd(2)) {
    int64_t shape[3] = {8, 4, 2};
    s->u.loop.layout = layout_coalesced(ra, shape, n, 1, 32, 1);
  }
  rw.vars.len = vars;
  return s;
}

static Stmt *rand_stmt(int depth) {
  Buffer *b = rw.bufs.data[rnd((uint32_t)rw.bufs.len)];
  switch (rnd(depth > 0 ? 8 : 4)) {
  case 0: return st_store(ra, b, rand_indices(b), b->ndim, rand_expr(3, b->dtype), NO_SPAN);
  case 1: {
    DType t = some_types[rnd(LEN(some_types))];
    Expr *value = rand_expr(2, t);
    Var *v = var_new(ra, some_name(), t, VAR_LET, NO_SPAN);
    vec_push(ra, &rw.vars, v);
    return st_let(ra, v, value, NO_SPAN);
  }
  case 2: return st_assume(ra, rand_expr(2, DT_BOOL), NO_SPAN);
  case 3: return rand_op();
  case 4:
    return st_if(ra, rand_expr(2, DT_BOOL), rand_block(depth - 1),
                 rnd(2) ? rand_block(depth - 1) : NULL, NO_SPAN);
  default: return rand_loop(depth);
  }
}

static Buffer *rand_buffer(Scope scope) {
  Expr *shape[3];
  int64_t extent[3];
  int n = 1 + (int)rnd(3);
  for (int i = 0; i < n; i++) {
    extent[i] = 1 << rnd(6);
    shape[i] = scope == SC_GLOBAL && rw.vars.len && rnd(2)
                   ? ex_var(ra, rw.vars.data[rnd((uint32_t)rw.vars.len)])
                   : ex_index(ra, extent[i]);
  }
  DType types[] = {DT_F16, DT_F32, DT_I8, DT_INDEX, DT_E4M3, DT_BOOL};
  Buffer *b =
      buf_new(ra, some_name(), types[rnd(scope == SC_GLOBAL ? 3 : 6)], scope, shape, n, NO_SPAN);
  if (scope == SC_GLOBAL && rnd(3) == 0) b->align = 8 << rnd(3);
  if (scope == SC_GLOBAL && rnd(3) == 0) b->safe = rand_const(b->dtype);
  if (scope == SC_GLOBAL && rnd(4) == 0) {
    b->strides = NEWN(ra, Expr *, n);
    for (int i = 0; i < n; i++) b->strides[i] = ex_index(ra, rnd(100));
  }
  if (scope == SC_SHARED && rnd(2)) b->offset = 16 * (int64_t)rnd(100);
  if (scope == SC_SHARED && n >= 2 && rnd(2) && dt_bits(b->dtype) >= 8)
    b->layout = layout_linear(ra, extent, n, dt_bits(b->dtype));
  return b;
}

static Kernel *rand_kernel(int number) {
  int vars = rw.vars.len, bufs = rw.bufs.len;
  Kernel *k = NEW(ra, Kernel);
  k->name = arena_printf(ra, "prog_k%d", number);
  k->level = rnd(2) ? LEVEL_TILE : LEVEL_THREAD;
  rw.level = k->level;
  k->threads = 32 * (1 + (int)rnd(8));
  for (int i = 0; i < 3; i++) k->grid[i] = rand_expr(i, DT_INDEX);
  for (int i = 0; i < 3; i++) {
    k->block[i] = var_new(ra, some_name(), DT_INDEX, VAR_BLOCK, NO_SPAN);
    k->block[i]->axis = i;
    vec_push(ra, &rw.vars, k->block[i]);
  }
  k->thread = var_new(ra, "tx", DT_INDEX, VAR_THREAD, NO_SPAN);
  vec_push(ra, &rw.vars, k->thread);
  if (rnd(3) == 0) k->raster_panel = 1 + (int)rnd(10), k->raster_column = rnd(2);
  if (rnd(3) == 0) k->smem_bytes = 1024 * (1 + (int64_t)rnd(64));
  for (int n = (int)rnd(4); n > 0; n--) {
    vec_push(ra, &k->buffers, rand_buffer((Scope)(SC_SHARED + (int)rnd(3))));
    vec_push(ra, &rw.bufs, k->buffers.data[k->buffers.len - 1]);
  }
  k->body = rand_block(4);
  rw.vars.len = vars;
  rw.bufs.len = bufs;
  return k;
}

static Program *rand_program(Arena *a, uint64_t seed) {
  ra = a;
  rseed = seed * 0x9e3779b97f4a7c15u + 99;
  rw = (World){0};
  Program *p = NEW(a, Program);
  p->symbol = "prog";
  if (rnd(2)) p->file = "dir \"x\"\\y.tl";
  if (rnd(2)) p->bindings = "M=128, N=64";
  for (int n = (int)rnd(3); n > 0; n--) {
    vec_push(a, &p->sizes, var_new(a, some_name(), DT_INDEX, VAR_SIZE, NO_SPAN));
    vec_push(a, &rw.vars, p->sizes.data[p->sizes.len - 1]);
  }
  for (int n = 1 + (int)rnd(3); n > 0; n--) {
    Param q = {.kind = rnd(3) ? PARAM_TENSOR : PARAM_SCALAR, .role = (ParamRole)rnd(3)};
    if (n == 1) q.kind = PARAM_TENSOR;
    if (q.kind == PARAM_TENSOR) {
      q.buf = rand_buffer(SC_GLOBAL);
      q.name = q.buf->name;
      vec_push(a, &rw.bufs, q.buf);
    } else {
      q.role = ROLE_IN;
      q.var = var_new(a, some_name(), some_types[rnd(LEN(some_types))], VAR_SCALAR, NO_SPAN);
      q.name = q.var->name;
      vec_push(a, &rw.vars, q.var);
    }
    vec_push(a, &p->params, q);
  }
  for (int n = (int)rnd(3); n > 0; n--) {
    Fact f = {.cond = rand_expr(2, DT_BOOL), .why = rnd(2) ? "copy of A\nneeds it" : NULL};
    vec_push(a, &p->facts, f);
  }
  for (int i = 0, n = 1 + (int)rnd(2); i < n; i++) vec_push(a, &p->kernels, rand_kernel(i));
  return p;
}

#endif
