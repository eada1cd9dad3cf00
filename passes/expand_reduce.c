// Reductions of tiles as fills, parallel loops that update partial results, and finalizations of
// these.
// SPDX-License-Identifier: MIT
#include "passes/expand.h"

#include <string.h>

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
  r->n = nest_walked(r->src, (int)arg[3].i, r->sdim);
  if (nest_walked(r->dst, -1, r->ddim) != r->n - 1) die("reduce: the shapes differ");
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
  Expr **idx = nest_indices(a, r->src, r->sdim, r->n, r->x.var);
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
  st_add(a, body, result(r, nest_indices(a, r->dst, r->ddim, r->n - 1, r->outer), old));
  Nest outer = r->x;
  memcpy(outer.var, r->outer, sizeof outer.var);
  outer.n = r->n - 1;
  return nest_loop(&outer, LOOP_UNROLL, r->oextent, body);
}

// The source as a whole fragment: itself, or a copy made in `out`.
static void source_fragment(Reduce *r, Stmt *out) {
  Arena *a = r->x.arena;
  Buffer *b = r->src->buf;
  if (b->scope == SC_FRAGMENT) return;
  Buffer *f = nest_temp(&r->x, b->name, "regs", b->dtype, SC_FRAGMENT, r->extent, r->n);
  Region *whole = region_whole(a, f);
  st_add(a, out, nest_copy(a, r->src, whole, r->x.span));
  r->src = whole;
  for (int i = 0; i < r->n; i++) r->sdim[i] = i;
}

static Stmt *reduce_tile(Reduce *r) {
  Arena *a = r->x.arena;
  Span span = r->x.span;
  Stmt *out = st_block(a, span);
  source_fragment(r, out);
  int m = r->n - 1;
  Expr *none[1] = {ex_index(a, 0)}, *pidx[MAX_DIMS];
  bool whole = m == 0; // one result: a loop of one iteration, which has a layout like others
  if (whole) {
    m = 1;
    r->oextent[0] = ex_index(a, 1);
    r->outer[0] = var_new(a, "i", DT_INDEX, VAR_LOOP, span);
    r->ddim[0] = r->dst->n - 1;
  }
  Buffer *part =
      nest_temp(&r->x, r->dst->buf->name, "part", r->dst->buf->dtype, SC_FRAGMENT, r->oextent, m);
  for (int i = 0; i < m; i++) pidx[i] = ex_var(a, r->outer[i]);
  ReduceKind base = reduce_base(r->kind);
  Region *all = region_whole(a, part);
  st_add(a, out, nest_fill(a, all, reduce_neutral(a, r->kind, part->dtype), span));
  Stmt *update = st_op(a, OP_REDUCER_UPDATE, span, nest_element(a, part, whole ? none : pidx),
                       source(r), (int64_t)r->kind, (int64_t)r->nan);
  st_add(a, out, nest_loop(&r->x, LOOP_PARALLEL, r->extent, update));
  st_add(a, out, st_op(a, OP_REDUCER_FINALIZE, span, all, all, (int64_t)base, (int64_t)r->nan));
  Expr **didx = nest_indices(a, r->dst, r->ddim, m, r->outer);
  Nest outer = r->x;
  memcpy(outer.var, r->outer, sizeof outer.var);
  outer.n = m;
  st_add(a, out,
         nest_loop(&outer, LOOP_PARALLEL, r->oextent, result(r, didx, ex_load(a, part, pidx, m))));
  return out;
}

Stmt *expand_reduce(Arena *a, Kernel *k, const Stmt *s) {
  Reduce r;
  reduce_open(&r, a, k, s);
  bool own = r.src->buf->scope == SC_LOCAL && r.dst->buf->scope == SC_LOCAL;
  return own ? reduce_local(&r) : reduce_tile(&r);
}
