// Matrices of symbolic row length: an index row * N + column with 0 <= column < N names its element
// by row and column, whatever N is. Guards say that the column stays within the row.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

typedef struct {
  Expr *pitch; // N
  Parts row, column;
} Rows;

static bool is_bin(const Expr *x, BinOp op) { return x->kind == EX_BINARY && x->u.bin.op == op; }

static bool constant(const Expr *x) { return x->kind == EX_INT; }

static bool uniform(Sync *s, const Pending *acc, Expr *x) {
  Parts p;
  return sync_parts(s, acc, x, &p) && constant(p.rest);
}

// row * N, where N is uniform and no constant.
static bool product(Sync *s, const Pending *acc, Expr *x, Expr **row, Expr **pitch) {
  if (!is_bin(x, BIN_MUL)) return false;
  Expr *p = x->u.bin.a, *q = x->u.bin.b;
  bool swap = uniform(s, acc, p) && !constant(p) && !uniform(s, acc, q);
  *row = swap ? q : p;
  *pitch = swap ? p : q;
  return !constant(*pitch) && uniform(s, acc, *pitch);
}

static bool rows_of(Sync *s, const Pending *acc, Rows *out) {
  Expr *x = subst_expr(&s->exact, acc->at.index), *row;
  if (!is_bin(x, BIN_ADD)) return false;
  Expr *column = x->u.bin.b;
  if (!product(s, acc, x->u.bin.a, &row, &out->pitch)) {
    column = x->u.bin.a;
    if (!product(s, acc, x->u.bin.b, &row, &out->pitch)) return false;
  }
  if (!sync_parts(s, acc, row, &out->row) || !sync_parts(s, acc, column, &out->column))
    return false;
  if (out->row.slot || out->column.slot) return false;
  Expr *end = ex_add(s->a, column, ex_index(s->a, acc->count));
  return facts_prove(s->facts, ex_bin(s->a, BIN_LE, ex_index(s->a, 0), column)) &&
         facts_prove(s->facts, ex_bin(s->a, BIN_LE, end, out->pitch));
}

static bool distance(Sync *s, const Parts *x, const Parts *y, int64_t *out) {
  return ex_const(facts_simplify(s->facts, ex_sub(s->a, y->base, x->base)), out);
}

static int64_t max64(int64_t x, int64_t y) { return x > y ? x : y; }

// The pitch is replaced by a number that keeps every row apart from the next.
bool sync_rows_apart(Sync *s, const Pending *a, const Pending *b, bool any) {
  Rows x, y;
  int n = s->kernel->threads;
  int64_t down, right, width = dt_bits(a->buf->dtype);
  if (a->buf != b->buf || !rows_of(s, a, &x) || !rows_of(s, b, &y)) return false;
  if (!ex_equal(x.pitch, y.pitch)) return false;
  if (!distance(s, &x.row, &y.row, &down) || !distance(s, &x.column, &y.column, &right))
    return false;
  const Shape *p = sync_shape(s, a, x.column.rest, s->other, n);
  const Shape *q = sync_shape(s, b, y.column.rest, s->kernel->thread, n);
  if (!p->exact || !q->exact) return false;
  int64_t lo = max64(-p->lo, -(q->lo + right * width)), hi = max64(p->hi, q->hi + right * width);
  int64_t pitch = (lo + hi) / width + 1;
  if (pitch <= 0 || pitch > 1 << 20) return false;
  Expr *by = ex_index(s->a, pitch);
  Expr *fx = ex_add(s->a, ex_mul(s->a, x.row.rest, by), x.column.rest);
  Expr *fy = ex_add(s->a, ex_mul(s->a, y.row.rest, by), y.column.rest);
  p = sync_shape(s, a, fx, s->other, n);
  q = sync_shape(s, b, fy, s->kernel->thread, n);
  if (!p->exact || !q->exact) return false;
  return !sync_overlap(s, p, q, (down * pitch + right) * width, any);
}

/* guards inside expressions */

typedef struct {
  Sync *s;
  Expr **idx;
  Exprs path, found;
  int times;
} Guards;

static void search(Guards *g, Expr *x);

static void search_under(Guards *g, Expr *cond, Expr *x) {
  vec_push(g->s->a, &g->path, cond);
  search(g, x);
  g->path.len--;
}

static void search_list(Guards *g, Expr **list, int n) {
  for (int i = 0; i < n; i++) search(g, list[i]);
}

static void search(Guards *g, Expr *x) {
  Arena *a = g->s->a;
  switch (x->kind) {
  case EX_LOAD:
    if (x->u.load.idx == g->idx && !g->times++)
      for (int i = 0; i < g->path.len; i++) vec_push(a, &g->found, g->path.data[i]);
    search_list(g, x->u.load.idx, x->u.load.n);
    break;
  case EX_UNARY: search(g, x->u.un.a); break;
  case EX_BINARY:
    search(g, x->u.bin.a);
    if (x->u.bin.op == BIN_AND) search_under(g, x->u.bin.a, x->u.bin.b);
    else if (x->u.bin.op == BIN_OR) search_under(g, ex_un(a, UN_NOT, x->u.bin.a), x->u.bin.b);
    else search(g, x->u.bin.b);
    break;
  case EX_CAST:
  case EX_BITCAST: search(g, x->u.cast); break;
  case EX_SELECT:
    search(g, x->u.sel.cond);
    search_under(g, x->u.sel.cond, x->u.sel.yes);
    search_under(g, ex_un(a, UN_NOT, x->u.sel.cond), x->u.sel.no);
    break;
  case EX_MATH: search_list(g, x->u.math.arg, x->u.math.n); break;
  default: break;
  }
}

static void search_slot(void *ctx, Expr **slot) { search(ctx, *slot); }

void sync_load_guards(Sync *s, Stmt *x, Expr **idx, Exprs *conds) {
  Guards g = {.s = s, .idx = idx};
  st_exprs(x, search_slot, &g);
  if (g.times != 1) return; // expressions are shared: one of several places says nothing of all
  for (int i = 0; i < g.found.len; i++)
    vec_push(s->a, conds, subst_expr(&s->lets, g.found.data[i]));
}
