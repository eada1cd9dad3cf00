// Tile copies, fills and atomics as parallel loops over the elements of their regions.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

bool tile_is_loop(const Stmt *s) {
  if (s->kind != ST_OP) return false;
  switch (s->u.op.op) {
  case OP_COPY: return !s->u.op.arg[op_arg(OP_COPY, "async")].i;
  case OP_FILL:
  case OP_ATOMIC_TILE: return true;
  default: return false;
  }
}

static const char *const names[] = {"i", "j", "k", "l", "m", "n", "p", "q"};

// The dimensions that a region walks (extent not 1), in order.
static int walked(const Region *r, int *dim) {
  int n = 0;
  for (int d = 0; d < r->n; d++)
    if (!ex_is(r->extent[d], 1)) {
      if (n == LOOP_MAX_DIMS) die("a tile of more than %d dimensions", LOOP_MAX_DIMS);
      dim[n++] = d;
    }
  return n;
}

static Expr **indices(Arena *a, const Region *r, const int *dim, int n, Var **var) {
  Expr **idx = NEWN(a, Expr *, r->n ? r->n : 1);
  for (int d = 0; d < r->n; d++) idx[d] = r->min[d];
  for (int i = 0; i < n; i++) idx[dim[i]] = ex_add(a, r->min[dim[i]], ex_var(a, var[i]));
  return idx;
}

static Region *element(Arena *a, Buffer *b, Expr **idx) {
  Expr **one = NEWN(a, Expr *, b->ndim ? b->ndim : 1);
  for (int i = 0; i < b->ndim; i++) one[i] = ex_index(a, 1);
  return region_new(a, b, idx, one);
}

static Stmt *nest(Arena *a, bool per_thread, int n, Var **var, Expr **min, Expr **extent,
                  Stmt *body, Span span) {
  Stmt *block = st_block(a, span);
  st_add(a, block, body);
  if (!per_thread) return st_for_n(a, LOOP_PARALLEL, n, var, min, extent, block, span);
  for (int i = n - 1; i >= 0; i--) {
    Stmt *loop = st_for(a, LOOP_UNROLL, var[i], min[i], extent[i], block, span);
    block = st_block(a, span);
    st_add(a, block, loop);
  }
  return block;
}

// The loop over `over`; src may be NULL (a fill, or a scalar atomic value).
static Stmt *build(Arena *a, Stmt *op, Region *dst, Region *src, Expr *value, Region *over,
                   bool per_thread, Span span) {
  int ddim[LOOP_MAX_DIMS], sdim[LOOP_MAX_DIMS], odim[LOOP_MAX_DIMS];
  int n = walked(over, odim), nd = walked(dst, ddim), ns = src ? walked(src, sdim) : nd;
  if (nd != ns) die("tile op over regions of %d and %d dimensions", nd, ns);
  if (!n && !per_thread) { // one element: a loop of one iteration, which has a layout like others
    n = nd = ns = 1;
    odim[0] = over->n - 1;
    ddim[0] = dst->n - 1;
    if (src) sdim[0] = src->n - 1;
  }
  Var *var[LOOP_MAX_DIMS];
  Expr *min[LOOP_MAX_DIMS], *extent[LOOP_MAX_DIMS];
  for (int i = 0; i < n; i++) {
    var[i] = var_new(a, names[i], DT_INDEX, VAR_LOOP, span);
    min[i] = ex_index(a, 0);
    extent[i] = over->extent[odim[i]];
  }
  Expr **di = indices(a, dst, ddim, nd, var);
  if (src) value = ex_load(a, src->buf, indices(a, src, sdim, ns, var), src->n);
  Stmt *body;
  if (op && op->u.op.op == OP_ATOMIC_TILE)
    body = st_atomic(a, span, element(a, dst->buf, di), value, op->u.op.arg[2].i);
  else body = st_store(a, dst->buf, di, dst->n, value, span);
  return nest(a, per_thread, n, var, min, extent, body, span);
}

// Of two regions of equal extents the one whose extents are constants.
static Region *constant_side(Region *x, Region *y) {
  for (int d = 0; d < x->n; d++) {
    int64_t v;
    if (!ex_const(x->extent[d], &v)) return y;
  }
  return x;
}

Stmt *tile_copy_loop(Arena *a, Region *src, Region *dst, Span span) {
  return build(a, NULL, dst, src, NULL, constant_side(dst, src), false, span);
}

Stmt *tile_to_loop(Arena *a, Stmt *s, bool per_thread) {
  Arg *arg = s->u.op.arg;
  if (s->u.op.op == OP_FILL)
    return build(a, s, arg[0].region, NULL, arg[1].expr, arg[0].region,
                 per_thread || arg[0].region->buf->scope == SC_LOCAL, s->span);
  Region *dst = arg[s->u.op.op == OP_COPY].region, *src = arg[s->u.op.op != OP_COPY].region;
  per_thread = per_thread || dst->buf->scope == SC_LOCAL || src->buf->scope == SC_LOCAL;
  return build(a, s, dst, src, NULL, constant_side(dst, src), per_thread, s->span);
}
