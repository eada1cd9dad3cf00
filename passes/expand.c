// Tile ops as other tile ops and parallel loops, before layouts are chosen.
// SPDX-License-Identifier: MIT
#include "passes/expand.h"

int nest_walked(const Region *r, int keep, int *dim) {
  int n = 0;
  for (int d = 0; d < r->n; d++)
    if (d == keep || !ex_is(r->extent[d], 1)) {
      if (n == MAX_DIMS) die("a tile of more than %d dimensions", MAX_DIMS);
      dim[n++] = d;
    }
  return n;
}

void nest_vars(Nest *x, int n) {
  static const char *const names[] = {"i", "j", "k", "l", "m", "n", "p", "q"};
  x->n = n;
  for (int i = 0; i < n; i++) x->var[i] = var_new(x->arena, names[i], DT_INDEX, VAR_LOOP, x->span);
}

Expr **nest_indices(Arena *a, const Region *r, const int *dim, int n, Var **v) {
  Expr **idx = NEWN(a, Expr *, r->n + 1);
  for (int d = 0; d < r->n; d++) idx[d] = r->min[d];
  for (int i = 0; i < n; i++) idx[dim[i]] = ex_add(a, r->min[dim[i]], ex_var(a, v[i]));
  return idx;
}

Stmt *nest_loop(Nest *x, LoopKind kind, Expr **extent, Stmt *body) {
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

Buffer *nest_temp(Nest *x, const char *name, const char *suffix, DType t, Scope scope, Expr **shape,
                  int n) {
  Expr *one = ex_index(x->arena, 1);
  Buffer *b = buf_new(x->arena, arena_printf(x->arena, "%s_%s", name, suffix), t, scope,
                      n ? shape : &one, n ? n : 1, x->span);
  vec_push(x->arena, &x->kernel->buffers, b);
  return b;
}

Region *nest_element(Arena *a, Buffer *b, Expr **idx) {
  Expr **one = NEWN(a, Expr *, b->ndim + 1);
  for (int i = 0; i < b->ndim; i++) one[i] = ex_index(a, 1);
  return region_new(a, b, idx, one);
}

Stmt *nest_copy(Arena *a, Region *src, Region *dst, Span span) {
  return st_op(a, OP_COPY, span, src, dst, (int64_t)0);
}

Stmt *nest_fill(Arena *a, Region *dst, Expr *value, Span span) {
  return st_op(a, OP_FILL, span, dst, value);
}

typedef struct {
  Arena *arena;
  Kernel *kernel;
} Expand;

static Stmt *expand_one(void *ctx, Stmt *s) {
  const Expand *x = ctx;
  if (s->kind != ST_OP) return s;
  switch (s->u.op.op) {
  case OP_REDUCE: return expand_reduce(x->arena, x->kernel, s);
  case OP_SCAN: return expand_scan(x->arena, x->kernel, s);
  case OP_TEST: return expand_test(x->arena, x->kernel, s);
  case OP_DP4A: return expand_dp4a(x->arena, s);
  default: return s;
  }
}

static Stmt *expand_columns(void *ctx, Stmt *s) {
  const Expand *x = ctx;
  return s->kind == ST_OP && s->u.op.op == OP_IM2COL ? expand_im2col(x->arena, x->kernel, s) : s;
}

void expand_gathers(Arena *a, Kernel *k) {
  Expand x = {a, k};
  k->body = walk_block(a, st_rewrite(a, k->body, expand_columns, &x));
}

void expand_tiles(Arena *a, Kernel *k) {
  Expand x = {a, k};
  expand_reducers(a, k);
  k->body = walk_block(a, st_rewrite(a, k->body, expand_one, &x));
}
