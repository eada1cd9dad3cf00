// columns: tiles along the grid's first axis move closer together, so that there are more of them
// than the block size asks for, as many as divide evenly among multiprocessors. Where a tile's
// columns depend on nothing but a tensor's, any tile may compute them: all tiles keep their size,
// and of each but the last one only the columns up to the next are its own. narrow.c spares the
// rest.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

enum { STEP = 8 }; // elements: 16 bytes of 16-bit ones, TMA's alignment

typedef struct {
  PassCtx *c;
  Arena *a;
  Kernel *k;
  Var *x;              // the grid's first axis
  int64_t tile, total; // columns of a tile and of the tensors; 0: not known yet
  int *dim;            // of each buffer of the kernel: dimension along the columns; -1: none
  bool changed, no;
} Columns;

static int *dim_of(const Columns *t, const Buffer *b) {
  for (int i = 0; i < t->k->buffers.len; i++)
    if (t->k->buffers.data[i] == b) return &t->dim[i];
  return NULL;
}

// The dimension of a tensor's box that starts at x times a tile's columns; -1: none.
static int tensor_dim(Columns *t, const Region *r) {
  int found = -1;
  for (int d = 0; d < r->n; d++) {
    int64_t n, all;
    t->no = t->no || ex_uses(r->extent[d], t->x);
    if (!ex_uses(r->min[d], t->x)) continue;
    bool known = ex_const(r->extent[d], &n) && ex_const(r->buf->shape[d], &all);
    if (!known || found >= 0 || (t->tile && (n != t->tile || all != t->total))) {
      t->no = true;
      return -1;
    }
    t->tile = n;
    t->total = all;
    found = d;
    Expr *at = ex_mul(t->a, ex_var(t->a, t->x), ex_index(t->a, n));
    t->no = t->no || !ex_equal(r->min[d], at);
  }
  return found;
}

static int column_dim(Columns *t, const Region *r) {
  if (r->buf->scope == SC_GLOBAL) return tensor_dim(t, r);
  const int *dim = dim_of(t, r->buf);
  return dim ? *dim : -1;
}

// Dimension d of the region runs along the columns, all of a tile's.
static void set_dim(Columns *t, const Region *r, int d) {
  int *dim = r->buf->scope == SC_GLOBAL ? NULL : dim_of(t, r->buf);
  bool whole = ex_is(r->min[d], 0) && ex_is(r->extent[d], t->tile) &&
               ex_equal(r->extent[d], r->buf->shape[d]);
  if (!dim || !whole || r->buf->base || (*dim >= 0 && *dim != d)) {
    t->no = true;
    return;
  }
  t->changed = t->changed || *dim < 0;
  *dim = d;
}

// The dimension of `to` that a copy pairs with d of `from`; -1: none.
static int partner(const Region *from, int d, const Region *to) {
  int place = 0;
  if (ex_is(from->extent[d], 1)) return -1;
  for (int i = 0; i < d; i++) place += !ex_is(from->extent[i], 1);
  for (int i = 0; i < to->n; i++)
    if (!ex_is(to->extent[i], 1) && place-- == 0) return i;
  return -1;
}

static void join(Columns *t, const Region *from, const Region *to) {
  int d = column_dim(t, from), have = column_dim(t, to), other = d < 0 ? -1 : partner(from, d, to);
  if (d < 0 || t->no) return;
  if (other < 0) t->no = true;
  else if (have != other) set_dim(t, to, other);
}

static void copy(Columns *t, const Stmt *s) {
  const Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  join(t, src, dst);
  join(t, dst, src);
  // Tensors get each tile's own columns only.
  if (dst->buf->scope == SC_GLOBAL && tensor_dim(t, dst) < 0) t->no = true;
}

static void gemm(Columns *t, const Stmt *s) {
  const Region *a = s->u.op.arg[0].region, *b = s->u.op.arg[1].region, *c = s->u.op.arg[2].region;
  int n = b->n - (s->u.op.arg[op_arg(OP_GEMM, "transb")].i ? 2 : 1), last = c->n - 1;
  int db = column_dim(t, b), dc = column_dim(t, c);
  if (column_dim(t, a) >= 0 || (db >= 0 && db != n) || (dc >= 0 && dc != last)) t->no = true;
  else if (db >= 0 && dc < 0) set_dim(t, c, last);
  else if (dc >= 0 && db < 0) set_dim(t, b, n);
}

static void use_access(void *ctx, const Access *x) {
  Columns *t = ctx;
  const int *dim = dim_of(t, x->region.buf);
  if ((dim && *dim >= 0) || (x->region.buf->scope == SC_GLOBAL && x->mode != ACC_READ))
    t->no = true;
}

static void use_slot(void *ctx, Expr **slot) {
  Columns *t = ctx;
  if (*slot && ex_uses(*slot, t->x)) t->no = true;
}

static void look(void *ctx, Stmt *s) {
  Columns *t = ctx;
  bool op = s->kind == ST_OP;
  if (op && s->u.op.op == OP_COPY) copy(t, s);
  else st_exprs(s, use_slot, t);
  if (op && s->u.op.op == OP_GEMM) gemm(t, s);
  else if (op && s->u.op.op == OP_FILL) t->no = t->no || !region_is_whole(s->u.op.arg[0].region);
  else if (!op || s->u.op.op != OP_COPY) st_accesses(t->a, s, use_access, t);
}

static void move(void *ctx, Stmt *s) {
  Columns *t = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_COPY) return;
  walk_own(t->a, s);
  for (int i = 0; i < 2; i++) {
    Region *r = s->u.op.arg[i].region;
    for (int d = 0; d < r->n; d++)
      if (ex_uses(r->min[d], t->x))
        r->min[d] = ex_mul(t->a, ex_var(t->a, t->x), ex_index(t->a, t->k->narrow));
  }
}

static void columns_kernel(const Program *p, Kernel *k, PassCtx *c) {
  Columns t = {.c = c, .a = c->arena, .k = k, .x = k->block[0]};
  int64_t n = pass_flag(c, k, "columns", 0), have;
  if (n <= 0 || !thrift_columns(c, p, k) || !c->target->bulk || !t.x ||
      !ex_const(k->grid[0], &have))
    return;
  t.dim = NEWN(t.a, int, k->buffers.len + 1);
  for (int i = 0; i < k->buffers.len; i++) t.dim[i] = -1;
  do {
    t.changed = false;
    st_walk(k->body, look, &t);
  } while (t.changed && !t.no);
  int64_t step = n > 1 ? (t.total - t.tile) / (n - 1) : 0;
  bool even = n > have && step * (n - 1) == t.total - t.tile && step % STEP == 0 && step > 0;
  if (t.no || !t.tile || t.total != have * t.tile || !even) {
    diag_remark(c->diags, k->span, "columns", "%s",
                even ? "a tile's columns depend on its place" : "no such number of columns");
    return;
  }
  k->narrow = step;
  k->columns = n;
  k->grid[0] = ex_index(t.a, n);
  st_walk(k->body, move, &t);
  diag_remark(c->diags, k->span, "columns", "%lld tiles of %lld columns, the last one of %lld",
              (long long)n, (long long)step, (long long)t.tile);
}

void pass_columns(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) columns_kernel(p, p->kernels.data[i], c);
}
