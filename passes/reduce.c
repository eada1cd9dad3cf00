// Reductions and scans of tiles as fills, parallel loops that update partial results, and
// finalizations of these; and what combines two values.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ combining */

ReduceKind reduce_base(ReduceKind kind) {
  return kind == RED_ABSSUM ? RED_SUM : kind == RED_ABSMAX ? RED_MAX : kind;
}

static Expr *extreme(Arena *a, DType t, bool largest) {
  if (dt_is_float(t)) return ex_cast(a, t, ex_float(a, DT_F64, largest ? HUGE_VAL : -HUGE_VAL));
  if (t == DT_BOOL) return ex_bool(a, largest);
  int bits = dt_bits(t);
  uint64_t top = ~UINT64_C(0) >> (64 - bits + dt_is_signed(t));
  if (largest) return ex_int(a, t, (int64_t)top);
  return ex_int(a, t, dt_is_signed(t) ? (int64_t)~top : 0);
}

Expr *reduce_neutral(Arena *a, ReduceKind kind, DType t) {
  switch (kind) {
  case RED_MAX: return extreme(a, t, false);
  case RED_MIN: return extreme(a, t, true);
  case RED_BITAND: return ex_cast(a, t, ex_int(a, DT_I64, -1));
  default: return ex_cast(a, t, ex_int(a, DT_I64, 0));
  }
}

static Expr *either_nan(Arena *a, Expr *x, Expr *y) {
  Expr *p = ex_math(a, MATH_ISNAN, &x, 1), *q = ex_math(a, MATH_ISNAN, &y, 1);
  return ex_bin(a, BIN_OR, p, q);
}

Expr *reduce_combine(Arena *a, ReduceKind kind, bool nan, Expr *acc, Expr *x) {
  static const BinOp ops[] = {
      [RED_SUM] = BIN_ADD,     [RED_ABSSUM] = BIN_ADD,    [RED_MAX] = BIN_MAX,
      [RED_MIN] = BIN_MIN,     [RED_ABSMAX] = BIN_MAX,    [RED_BITAND] = BIN_BITAND,
      [RED_BITOR] = BIN_BITOR, [RED_BITXOR] = BIN_BITXOR,
  };
  if (reduce_base(kind) != kind && (dt_is_float(x->type) || dt_is_signed(x->type)))
    x = ex_math(a, MATH_ABS, &x, 1);
  Expr *y = ex_bin(a, ops[kind], acc, x);
  bool spreads = ops[kind] == BIN_ADD || !dt_is_float(x->type); // a NaN, by itself
  return nan && !spreads ? ex_select(a, either_nan(a, acc, x), ex_add(a, acc, x), y) : y;
}

/* ------------------------------------------------------------------ tiles */

enum { MAX_DIMS = LOOP_MAX_DIMS };

// The dimensions of a region that its loop walks: extents other than 1, and `keep`.
static int walked(const Region *r, int keep, int *dim) {
  int n = 0;
  for (int d = 0; d < r->n; d++)
    if (d == keep || !ex_is(r->extent[d], 1)) {
      if (n == MAX_DIMS) die("a tile of more than %d dimensions", MAX_DIMS);
      dim[n++] = d;
    }
  return n;
}

typedef struct {
  Arena *arena;
  Kernel *kernel;
  Span span;
  Var *var[MAX_DIMS]; // one for each walked dimension
  int n;
} Nest;

static void nest_vars(Nest *x, int n) {
  static const char *const names[] = {"i", "j", "k", "l", "m", "n", "p", "q"};
  x->n = n;
  for (int i = 0; i < n; i++) x->var[i] = var_new(x->arena, names[i], DT_INDEX, VAR_LOOP, x->span);
}

// Indices of the region with variable v[i] in dimension dim[i].
static Expr **indices(Arena *a, const Region *r, const int *dim, int n, Var **v) {
  Expr **idx = NEWN(a, Expr *, r->n + 1);
  for (int d = 0; d < r->n; d++) idx[d] = r->min[d];
  for (int i = 0; i < n; i++) idx[dim[i]] = ex_add(a, r->min[dim[i]], ex_var(a, v[i]));
  return idx;
}

static Stmt *nest_loop(Nest *x, LoopKind kind, Expr **extent, Stmt *body) {
  Expr *min[MAX_DIMS];
  for (int i = 0; i < x->n; i++) min[i] = ex_index(x->arena, 0);
  body = walk_block(x->arena, body);
  if (kind == LOOP_PARALLEL)
    return st_for_n(x->arena, kind, x->n, x->var, min, extent, body, x->span);
  for (int i = x->n - 1; i >= 0; i--)
    body =
        walk_block(x->arena, st_for(x->arena, kind, x->var[i], min[i], extent[i], body, x->span));
  return body;
}

static Buffer *temp(Nest *x, const char *name, const char *suffix, DType t, Expr **shape, int n) {
  Buffer *b = buf_new(x->arena, arena_printf(x->arena, "%s_%s", name, suffix), t, SC_FRAGMENT,
                      shape, n, x->span);
  vec_push(x->arena, &x->kernel->buffers, b);
  return b;
}

// The region as a whole fragment of its walked dimensions: itself, or a copy made in `out`.
static Region *as_fragment(Nest *x, Region *r, const int *dim, int n, Stmt *out) {
  if (r->buf->scope == SC_FRAGMENT) return r;
  Expr *shape[MAX_DIMS], *one = ex_index(x->arena, 1);
  for (int i = 0; i < n; i++) shape[i] = r->extent[dim[i]];
  Buffer *f = temp(x, r->buf->name, "part", r->buf->dtype, n ? shape : &one, n ? n : 1);
  Region *whole = region_whole(x->arena, f);
  st_add(x->arena, out, st_op(x->arena, OP_COPY, x->span, r, whole, (int64_t)0));
  return whole;
}

static Region *element(Arena *a, Buffer *b, Expr **idx) {
  Expr **one = NEWN(a, Expr *, b->ndim + 1);
  for (int i = 0; i < b->ndim; i++) one[i] = ex_index(a, 1);
  return region_new(a, b, idx, one);
}

// A reduction: src over variables 0 .. n-1, of which `at` is the one that goes; dst over the
// others.
typedef struct {
  Nest x;
  Region *src, *dst;
  int sdim[MAX_DIMS], ddim[MAX_DIMS], n, at;
  Var *outer[MAX_DIMS];
  Expr *extent[MAX_DIMS], *oextent[MAX_DIMS];
  ReduceKind kind;
  Expr *clear;
  bool nan;
} Reduce;

static void reduce_open(Reduce *r, Arena *a, Kernel *k, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  *r = (Reduce){.x = {.arena = a, .kernel = k, .span = s->span},
                .src = arg[0].region,
                .dst = arg[1].region,
                .kind = (ReduceKind)arg[2].i,
                .clear = arg[4].expr,
                .nan = arg[5].i};
  r->n = walked(r->src, (int)arg[3].i, r->sdim);
  if (walked(r->dst, -1, r->ddim) != r->n - 1) die("reduce: the shapes differ");
  nest_vars(&r->x, r->n);
  int m = 0;
  for (int i = 0; i < r->n; i++) {
    r->extent[i] = r->src->extent[r->sdim[i]];
    if (r->sdim[i] == arg[3].i) {
      r->at = i;
      continue;
    }
    r->oextent[m] = r->extent[i];
    r->outer[m++] = r->x.var[i];
  }
}

// dst[...] = the partial result, or it and what is there.
static Stmt *result(Reduce *r, Expr **idx, Expr *part) {
  Arena *a = r->x.arena;
  Expr *value = part;
  if (!ex_is(r->clear, 1)) {
    Expr *old = ex_load(a, r->dst->buf, idx, r->dst->n);
    Expr *both = reduce_combine(a, reduce_base(r->kind), r->nan, old, part);
    value = ex_is(r->clear, 0) ? both : ex_select(a, r->clear, part, both);
  }
  return st_store(a, r->dst->buf, idx, r->dst->n, value, r->x.span);
}

static Expr *source(Reduce *r) {
  Arena *a = r->x.arena;
  Expr **idx = indices(a, r->src, r->sdim, r->n, r->x.var);
  return ex_cast(a, r->dst->buf->dtype, ex_load(a, r->src->buf, idx, r->src->n));
}

// Each thread's own arrays: loops of that thread.
static Stmt *reduce_local(Reduce *r) {
  Arena *a = r->x.arena;
  Span span = r->x.span;
  DType t = r->dst->buf->dtype;
  Expr *one = ex_index(a, 1), *zero = ex_index(a, 0);
  const char *name = arena_printf(a, "%s_acc", r->dst->buf->name);
  Buffer *acc = buf_new(a, name, t, SC_LOCAL, &one, 1, span);
  vec_push(a, &r->x.kernel->buffers, acc);
  Expr *old = ex_load(a, acc, &zero, 1);
  Stmt *step = st_store(a, acc, &zero, 1, reduce_combine(a, r->kind, r->nan, old, source(r)), span);
  Stmt *body = st_block(a, span);
  st_add(a, body, st_store(a, acc, &zero, 1, reduce_neutral(a, r->kind, t), span));
  st_add(
      a, body,
      st_for(a, LOOP_UNROLL, r->x.var[r->at], zero, r->extent[r->at], walk_block(a, step), span));
  st_add(a, body, result(r, indices(a, r->dst, r->ddim, r->n - 1, r->outer), old));
  Nest outer = r->x;
  memcpy(outer.var, r->outer, sizeof outer.var);
  outer.n = r->n - 1;
  return nest_loop(&outer, LOOP_UNROLL, r->oextent, body);
}

static Stmt *reduce_tile(Reduce *r) {
  Arena *a = r->x.arena;
  Span span = r->x.span;
  Stmt *out = st_block(a, span);
  Region *src = as_fragment(&r->x, r->src, r->sdim, r->n, out);
  for (int i = 0; src != r->src && i < r->n; i++) r->sdim[i] = i;
  r->src = src;
  int m = r->n - 1;
  Expr *none[1] = {ex_index(a, 0)}, *pidx[MAX_DIMS];
  bool whole = m == 0; // one result: a loop of one iteration, which has a layout like others
  if (whole) {
    m = 1;
    r->oextent[0] = ex_index(a, 1);
    r->outer[0] = var_new(a, "i", DT_INDEX, VAR_LOOP, span);
    r->ddim[0] = r->dst->n - 1;
  }
  Buffer *part = temp(&r->x, r->dst->buf->name, "part", r->dst->buf->dtype, r->oextent, m);
  for (int i = 0; i < m; i++) pidx[i] = ex_var(a, r->outer[i]);
  ReduceKind base = reduce_base(r->kind);
  Region *all = region_whole(a, part);
  st_add(a, out, st_op(a, OP_FILL, span, all, reduce_neutral(a, r->kind, part->dtype)));
  Stmt *update = st_op(a, OP_REDUCER_UPDATE, span, element(a, part, whole ? none : pidx), source(r),
                       (int64_t)r->kind, (int64_t)r->nan);
  st_add(a, out, nest_loop(&r->x, LOOP_PARALLEL, r->extent, update));
  st_add(a, out, st_op(a, OP_REDUCER_FINALIZE, span, all, all, (int64_t)base, (int64_t)r->nan));
  Expr **didx = indices(a, r->dst, r->ddim, m, r->outer);
  Nest outer = r->x;
  memcpy(outer.var, r->outer, sizeof outer.var);
  outer.n = m;
  st_add(a, out,
         nest_loop(&outer, LOOP_PARALLEL, r->oextent, result(r, didx, ex_load(a, part, pidx, m))));
  return out;
}

bool reduce_is(const Stmt *s) { return s->kind == ST_OP && s->u.op.op == OP_REDUCE; }

Stmt *reduce_expand(Arena *a, Kernel *k, const Stmt *s) {
  Reduce r;
  reduce_open(&r, a, k, s);
  bool own = r.src->buf->scope == SC_LOCAL && r.dst->buf->scope == SC_LOCAL;
  return own ? reduce_local(&r) : reduce_tile(&r);
}
