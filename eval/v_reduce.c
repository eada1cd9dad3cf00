// Reductions and scans of tiles, reducers, tests of tiles.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

static const char *buf_name(const Buffer *b) { return b->name ? b->name : "the buffer"; }

static const struct {
  const char *name;
  ReduceKind kind;
} kinds[] = {{"sum", RED_SUM},     {"abssum", RED_ABSSUM}, {"max", RED_MAX},
             {"min", RED_MIN},     {"absmax", RED_ABSMAX}, {"bitand", RED_BITAND},
             {"bitor", RED_BITOR}, {"bitxor", RED_BITXOR}};

static ReduceKind kind_named(const char *name) {
  for (size_t i = 0; i < LEN(kinds); i++)
    if (!strcmp(kinds[i].name, name)) return kinds[i].kind;
  die("no reduction %s", name);
}

// A tile, or a part of one, that a collective op works on.
static Region *tile(Ev *ev, Call *c, int i, const char *what) {
  Side s;
  if (!side_of(ev, c->arg[i], c->at[i], &s) || !s.extent)
    ev_fail(ev, DIAG_TILE_OPERAND, c->at[i], c->fn->name, what, v_kind(ev, c->arg[i]));
  if (s.buf->scope == SC_GLOBAL)
    ev_fail(ev, DIAG_TILE_GLOBAL, c->at[i], c->fn->name, buf_name(s.buf));
  return side_region(ev, &s, c->at[i]);
}

static int dimension(Ev *ev, Call *c, int i, int otherwise, const Region *r) {
  int64_t dim = arg_int(ev, c, i, otherwise), at = dim < 0 ? dim + r->n : dim;
  if (at < 0 || at >= r->n)
    ev_fail(ev, DIAG_REDUCE_DIM, c->at[i], c->fn->name, (long long)dim, buf_name(r->buf), r->n);
  return (int)at;
}

static void need_ints_for_bits(Ev *ev, Call *c, ReduceKind kind, DType t, Span at) {
  bool bits = kind == RED_BITAND || kind == RED_BITOR || kind == RED_BITXOR;
  if (bits && dt_is_float(t)) ev_fail(ev, DIAG_REDUCE_BITS, at, c->fn->name, dt_name(t));
}

// Extents other than 1, in order, without dimension `but` (-1: none).
static int wide(const Region *r, int but, Expr **out) {
  int n = 0;
  for (int i = 0; i < r->n; i++)
    if (i != but && !ex_is(r->extent[i], 1)) out[n++] = r->extent[i];
  return n;
}

static bool same_wide(Ev *ev, const Region *a, int but, const Region *b) {
  Expr *x[8], *y[8];
  int n = wide(a, but, x), m = wide(b, -1, y);
  for (int i = 0; n == m && i < n; i++)
    if (!ex_equal(x[i], y[i]) && !ex_is(dev_diff(ev, x[i], y[i]), 0)) return false;
  return n == m;
}

static const char *shape_text(Ev *ev, const Region *r) {
  SB b = {0};
  for (int i = 0; i < r->n; i++)
    sb_printf(ev, &b, "%s%s", i ? " x " : "", ir_expr_str(ev->arena, r->extent[i]));
  return b.data;
}

// (src, dst, dim, ...): the words name what they combine. clear and nan: operand numbers, or -1.
static Val reduce(Ev *ev, Call *c, int clear, int nan) {
  need_kernel(ev, c);
  ReduceKind kind = kind_named(strchr(c->fn->name, '_') + 1);
  Region *src = tile(ev, c, 0, "source"), *dst = tile(ev, c, 1, "destination");
  bool own = src->buf->scope == SC_LOCAL || dst->buf->scope == SC_LOCAL;
  if (!own) need_tile_place(ev, c);
  int dim = dimension(ev, c, 2, -1, src);
  need_ints_for_bits(ev, c, kind, dst->buf->dtype, c->at[1]);
  need_ints_for_bits(ev, c, kind, src->buf->dtype, c->at[0]);
  if (!same_wide(ev, src, dim, dst))
    ev_fail(ev, DIAG_REDUCE_SHAPE, c->span, c->fn->name, buf_name(src->buf), shape_text(ev, src),
            dim, buf_name(dst->buf), shape_text(ev, dst));
  Val v = clear >= 0 && arg_given(c, clear) ? c->arg[clear] : v_bool(true);
  if (!dev_ok(v)) (void)arg_bool(ev, c, clear, true);
  Expr *clr =
      ev_is_rt(v) ? ev_cond(ev, v, c->at[clear]) : ex_bool(ev->arena, ev_truth(ev, v, c->span));
  bool propagate = nan >= 0 && arg_bool(ev, c, nan, false);
  ev_emit(ev, st_op(ev->arena, OP_REDUCE, c->span, src, dst, (int64_t)kind, (int64_t)dim, clr,
                    (int64_t)propagate));
  return v_none();
}

Val t_reduce_sum(Ev *ev, Call *c) { return reduce(ev, c, 3, -1); }
Val t_reduce_max(Ev *ev, Call *c) { return reduce(ev, c, 3, 5); }
Val t_reduce_abssum(Ev *ev, Call *c) { return reduce(ev, c, -1, -1); }

Val t_scan(Ev *ev, Call *c) {
  need_kernel(ev, c);
  ReduceKind kind = !strcmp(c->fn->name, "cumsum") ? RED_SUM : RED_MAX;
  if (!arg_given(c, 1)) c->arg[1] = c->arg[0], c->at[1] = c->at[0];
  Region *src = tile(ev, c, 0, "source"), *dst = tile(ev, c, 1, "destination");
  if (src->buf->scope != SC_LOCAL && dst->buf->scope != SC_LOCAL) need_tile_place(ev, c);
  int dim = dimension(ev, c, 2, 0, src);
  bool same = src->n == dst->n;
  for (int i = 0; same && i < src->n; i++)
    same = ex_equal(src->extent[i], dst->extent[i]) ||
           ex_is(dev_diff(ev, src->extent[i], dst->extent[i]), 0);
  if (!same)
    ev_fail(ev, DIAG_COPY_SHAPE, c->span, buf_name(src->buf), shape_text(ev, src),
            buf_name(dst->buf), shape_text(ev, dst));
  ev_emit(ev, st_op(ev->arena, OP_SCAN, c->span, src, dst, (int64_t)kind, (int64_t)dim,
                    (int64_t)arg_bool(ev, c, 3, false)));
  return v_none();
}

Val t_test(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Side s;
  if (!side_of(ev, c->arg[0], c->at[0], &s))
    ev_fail(ev, DIAG_TILE_OPERAND, c->at[0], c->fn->name, "operand", v_kind(ev, c->arg[0]));
  Region *to, *src = side_region(ev, &s, c->at[0]);
  Val r = ev_result(ev, c->fn->name, DT_BOOL, 1, c->span, &to);
  int64_t all = !strcmp(c->fn->name, "all_of");
  ev_emit(ev, st_op(ev->arena, OP_TEST, c->span, src, to, all));
  return r;
}

/* ------------------------------------------------------------------ reducers */

static ReducerInfo *reducer_of(Ev *ev, const Buffer *b) {
  for (int i = 0; i < ev->trace->reducers.len; i++)
    if (ev->trace->reducers.data[i].buf == b) return &ev->trace->reducers.data[i];
  return NULL;
}

Val t_alloc_reducer(Ev *ev, Call *c) {
  static const char *const ops[] = {"sum", "max", "min", "bitand", "bitor", "bitxor"};
  const char *op = arg_str(ev, c, 2, "sum"), *rep = arg_str(ev, c, 3, "none");
  bool known = false;
  for (size_t i = 0; i < LEN(ops); i++) known |= !strcmp(op, ops[i]);
  if (!known || (strcmp(rep, "all") && strcmp(rep, "none")))
    ev_fail(ev, DIAG_ARGUMENT, c->at[known ? 3 : 2], "T.alloc_reducer",
            known ? "replication" : "op",
            known ? "\"all\" or \"none\""
                  : "\"sum\", \"max\", \"min\", \"bitand\", \"bitor\" or \"bitxor\"",
            known ? rep : op);
  ReduceKind kind = kind_named(op);
  DType t = arg_dtype(ev, c, 1, DT_F32);
  need_ints_for_bits(ev, c, kind, t, c->at[1]);
  Buffer *b = ev_alloc(ev, c, SC_FRAGMENT, t, c->arg[0], c->at[0]);
  vec_push(ev->arena, &ev->trace->reducers, (ReducerInfo){b, kind});
  return v_buffer(b);
}

static ReducerInfo *need_reducer(Ev *ev, Call *c, const Buffer *b) {
  ReducerInfo *r = reducer_of(ev, b);
  if (!r) ev_fail(ev, DIAG_REDUCER, c->at[0], c->fn->name, buf_name(b));
  return r;
}

static Expr *neutral(Ev *ev, ReduceKind kind, DType t) {
  if (kind != RED_MAX && kind != RED_MIN)
    return ex_cast(ev->arena, t, ex_int(ev->arena, DT_I64, kind == RED_BITAND ? -1 : 0));
  return type_edge(ev, t, kind == RED_MIN, true);
}

Val t_reducer_init(Ev *ev, Call *c) {
  need_kernel(ev, c);
  need_tile_place(ev, c);
  Region *r = tile(ev, c, 0, "reducer");
  ReducerInfo *info = need_reducer(ev, c, r->buf);
  DType t = r->buf->dtype;
  Expr *x = arg_given(c, 1) ? dev_like(ev, c->arg[1], t, c->at[1]) : neutral(ev, info->kind, t);
  ev_emit(ev, st_op(ev->arena, OP_FILL, c->span, r, ex_cast(ev->arena, t, x)));
  return v_none();
}

static void update(Ev *ev, const ReducerInfo *r, Expr **idx, Expr *value, Span at) {
  Side el = {.buf = (Buffer *)r->buf, .n = r->buf->ndim, .min = idx};
  value = ex_at(ex_cast(ev->arena, r->buf->dtype, value), at);
  ev_emit(ev, st_op(ev->arena, OP_REDUCER_UPDATE, at, side_region(ev, &el, at), value,
                    (int64_t)r->kind, (int64_t)0));
}

Val t_reducer_update(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Val v = c->arg[0];
  if (v.kind != V_EXPR || v.expr->kind != EX_LOAD)
    ev_fail(ev, DIAG_COPY_OPERAND, c->at[0], "first operand", v_kind(ev, v));
  Buffer *b = v.expr->u.load.buf;
  update(ev, need_reducer(ev, c, b), v.expr->u.load.idx,
         dev_like(ev, c->arg[1], b->dtype, c->at[1]), c->span);
  return v_none();
}

// In place, or into an independent destination.
Val t_finalize_reducer(Ev *ev, Call *c) {
  need_kernel(ev, c);
  need_tile_place(ev, c);
  Region *src = tile(ev, c, 0, "reducer");
  ReducerInfo *info = need_reducer(ev, c, src->buf);
  Region *dst = arg_given(c, 1) ? tile(ev, c, 1, "destination") : src;
  if (!same_wide(ev, src, -1, dst))
    ev_fail(ev, DIAG_COPY_SHAPE, c->span, buf_name(src->buf), shape_text(ev, src),
            buf_name(dst->buf), shape_text(ev, dst));
  ev_emit(ev, st_op(ev->arena, OP_REDUCER_FINALIZE, c->span, src, dst, (int64_t)info->kind,
                    (int64_t)0));
  return v_none();
}

static bool is_element(const Expr *x, const Buffer *b, Expr **idx) {
  if (x->kind == EX_CAST) x = x->u.cast;
  if (x->kind != EX_LOAD || x->u.load.buf != b) return false;
  for (int i = 0; i < b->ndim; i++)
    if (!ex_equal(x->u.load.idx[i], idx[i])) return false;
  return true;
}

static BinOp combining(ReduceKind kind) {
  switch (kind) {
  case RED_MAX: return BIN_MAX;
  case RED_MIN: return BIN_MIN;
  case RED_BITAND: return BIN_BITAND;
  case RED_BITOR: return BIN_BITOR;
  case RED_BITXOR: return BIN_BITXOR;
  default: return BIN_ADD;
  }
}

bool ev_reducer_store(Ev *ev, Buffer *b, Expr **idx, Expr *value, Span at) {
  const ReducerInfo *r = ev->trace->reducers.len ? reducer_of(ev, b) : NULL;
  bool elements = false;
  for (RtBlock *k = ev->trace->rt; k; k = k->outer) elements |= k->elements;
  if (!r || !elements) return false;
  Expr *i[8];
  for (int d = 0; d < b->ndim; d++) i[d] = ex_cast(ev->arena, DT_INDEX, idx[d]);
  const Expr *x = value->kind == EX_CAST ? value->u.cast : value;
  bool fits = x->kind == EX_BINARY && x->u.bin.op == combining(r->kind);
  bool left = fits && is_element(x->u.bin.a, b, i);
  if (!left && !(fits && is_element(x->u.bin.b, b, i)))
    ev_fail(ev, DIAG_REDUCER_STORE, at, buf_name(b), buf_name(b), buf_name(b));
  update(ev, r, idx, left ? x->u.bin.b : x->u.bin.a, at);
  return true;
}
