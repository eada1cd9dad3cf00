// Tiles by TMA: a tensor map for each (tensor, box), and one tensor copy for every box of the tile:
// a panel of the swizzle's width by at most 256 rows, for each leading index.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

typedef struct {
  Lower *l;
  Span span;
  const Region *in, *on;       // of the tensor and of the tile
  const Buffer *tensor, *tile; // as at tile level
  Buffer *map;
  OpCode op;         // of each box
  Region *bar;       // of a load
  int64_t last;      // operand of each box: of a store its hint, of a reduction its function
  Expr *blocks;      // that a load writes to, as a mask; NULL: its own
  int dim[MAP_RANK]; // of the tensor, for each of the tile's last dimensions; -1: it walks none
  int lead;          // leading dimensions of the tile, over which copies repeat
  int64_t rows, cols, box_rows, box_cols;
  int row_dim; // of the tensor; -1: the tile has one row
} Boxes;

static Expr *num(const Boxes *t, int64_t v) { return ex_index(t->l->arena, v); }

static bool same_map(const Buffer *x, const TensorMap *m) {
  if (x->scope != SC_MAP || x->map->of != m->of || x->map->swizzle != m->swizzle) return false;
  for (int i = 0; i < MAP_RANK; i++)
    if (x->map->box[i] != m->box[i]) return false;
  return true;
}

// Bytes of a tensor that L2 fetches together.
static int promotion(const Lower *l) {
  int64_t n = pass_flag(l->c, l->kernel, "l2-fetch", 256);
  return n == 0 || n == 64 || n == 128 ? (int)n : 256;
}

// The kernel's map of the tensor with this box; made when it is new.
static Buffer *map_of(Boxes *t) {
  Lower *l = t->l;
  Arena *a = l->arena;
  const Buffer *b = t->tensor;
  const Layout *lay = t->tile->layout;
  TensorMap *m = NEW(a, TensorMap);
  *m = (TensorMap){
      .of = t->in->buf, .swizzle = lay->swizzle ? 16 << lay->swizzle : 0, .l2 = promotion(l)};
  for (int i = 0; i < MAP_RANK; i++) m->box[i] = m->step[i] = 1;
  m->box[b->ndim - 1] = (int)t->box_cols;
  if (t->row_dim >= 0) m->box[t->row_dim] = (int)t->box_rows;
  for (int i = 0; i < l->kernel->buffers.len; i++)
    if (same_map(l->kernel->buffers.data[i], m)) return l->kernel->buffers.data[i];
  const char *name = arena_printf(a, "%s_map", b->name);
  Buffer *map = buf_new(a, name, b->dtype, SC_MAP, b->shape, b->ndim, b->span);
  map->strides = b->strides;
  map->map = m;
  vec_push(a, &l->kernel->buffers, map);
  return map;
}

// Pairs the dimensions that both sides walk, innermost first.
static void pair_dims(Boxes *t) {
  int walked[MAP_RANK], n = 0;
  for (int d = 0; d < t->in->n; d++)
    if (!ex_is(t->in->extent[d], 1)) walked[n++] = d;
  for (int i = 0; i < MAP_RANK; i++) {
    int d = t->on->n - 1 - i;
    bool walks = d >= 0 && !ex_is(t->on->extent[d], 1) && n > 0;
    t->dim[MAP_RANK - 1 - i] = walks ? walked[--n] : -1;
  }
}

static void geometry(Boxes *t) {
  const Buffer *tile = t->tile;
  LayoutMatrix m;
  pair_dims(t);
  t->lead = tile->ndim > 2 ? tile->ndim - 2 : 0;
  t->rows = 1;
  ex_const(t->on->extent[tile->ndim - 1], &t->cols);
  if (tile->ndim > 1) ex_const(t->on->extent[tile->ndim - 2], &t->rows); // a ring's: 1
  t->row_dim = tile->ndim > 1 ? t->dim[MAP_RANK - 2] : -1;
  t->box_cols = t->cols;
  if (tile->layout->swizzle) {
    if (!layout_matrix(tile->layout, &m)) die("TMA of a tile without rows");
    t->box_cols = m.width;
  }
  t->box_rows = t->row_dim < 0 ? 1 : plan_tma_rows(t->rows);
}

static int tensor_dim(const Boxes *t, int d) {
  int i = d - (t->on->n - MAP_RANK);
  return i >= 0 ? t->dim[i] : -1;
}

// Of a store: what the kernel writes and does not read leaves the L2 cache first where it would
// drive out what blocks share.
static int64_t store_hint(Lower *l, Buffer *of) {
  const Buffer *tensor = lower_form(l, of);
  double bytes = dt_bits(tensor->dtype) / 8.0;
  int64_t n;
  const Param *p = NULL;
  for (int i = 0; i < l->program->params.len; i++)
    if (l->program->params.data[i].buf == of) p = &l->program->params.data[i];
  if (!p || p->role != ROLE_OUT) return 0;
  for (int d = 0; d < tensor->ndim; d++)
    bytes *= ex_const(tensor->shape[d], &n) ? (double)n : 0;
  bool fills = 2 * bytes > (double)l->c->target->l2;
  return pass_flag(l->c, l->kernel, "stream-stores", fills) != 0;
}

static void one_box(Boxes *t, const int64_t *lead, int64_t col, int64_t row, Stmt *out) {
  Lower *l = t->l;
  Arena *a = l->arena;
  int n = t->in->n, dn = t->on->n;
  Expr *at[LOOP_MAX_DIMS * 2], *idx[LOOP_MAX_DIMS * 2], *box[MAP_RANK];
  for (int d = 0; d < n; d++) {
    at[d] = lower_expr(l, t->in->min[d]);
    box[d] = num(t, t->map->map->box[d]);
  }
  for (int d = 0; d < dn; d++) {
    int64_t more = d == dn - 1 ? col : d == dn - 2 ? row : lead[d];
    int dim = tensor_dim(t, d);
    idx[d] = ex_add(a, lower_expr(l, t->on->min[d]), num(t, more));
    if (dim >= 0) at[dim] = ex_add(a, at[dim], num(t, more));
  }
  for (int d = 0; d < n; d++) at[d] = lower_simplify(l, at[d]);
  Expr *where = lower_simplify(l, lower_offset(l, t->on->buf, idx));
  Region *tensor = region_new(a, t->map, at, box);
  Region *tile = region_flat(a, t->on->buf, where, (int)(t->box_rows * t->box_cols));
  st_add(a, out,
         t->op == OP_TMA_LOAD
             ? st_op(a, OP_TMA_LOAD, t->span, tensor, tile, t->bar, t->blocks, (int64_t)0)
             : st_op(a, t->op, t->span, tile, tensor, t->last));
}

// Every combination of the leading indices that the copy walks, one after the other.
static void each_lead(Boxes *t, int d, int64_t *lead, Stmt *out) {
  int64_t n = 1;
  if (d < t->lead) {
    ex_const(t->on->extent[d], &n);
    for (lead[d] = 0; lead[d] < n; lead[d]++) each_lead(t, d + 1, lead, out);
    return;
  }
  for (int64_t c = 0; c < t->cols; c += t->box_cols)
    for (int64_t r = 0; r < t->rows; r += t->box_rows) one_box(t, lead, c, r, out);
}

static void boxes(Boxes *t, Stmt *out) {
  int64_t lead[LOOP_MAX_DIMS * 2];
  t->tensor = lower_form(t->l, t->in->buf);
  t->tile = lower_form(t->l, t->on->buf);
  geometry(t);
  t->map = map_of(t);
  each_lead(t, 0, lead, out);
}

void lower_tile_load(Lower *l, Stmt *s, Stmt *out) {
  Boxes t = {.l = l, .span = s->span, .in = s->u.op.arg[0].region, .on = s->u.op.arg[1].region};
  t.op = OP_TMA_LOAD;
  const Region *bar = s->u.op.arg[2].region;
  t.blocks = s->u.op.arg[3].expr;
  Expr *at = lower_expr(l, bar->min[0]);
  t.bar = region_flat(l->arena, bar->buf, lower_offset(l, bar->buf, &at), 1);
  boxes(&t, out);
}

// By thread 0, which waits for its last store where the tile is written next (the sync pass) and at
// the end (lower_proxy.c).
void lower_tile_store(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  bool store = s->u.op.op == OP_TILE_STORE;
  Boxes t = {.l = l, .span = s->span, .on = s->u.op.arg[0].region, .in = s->u.op.arg[1].region};
  t.op = store ? OP_TMA_STORE : OP_TMA_REDUCE;
  t.last = store ? store_hint(l, t.in->buf) : s->u.op.arg[2].i;
  Stmt *body = st_block(a, s->span);
  boxes(&t, body);
  st_add(a, body, st_op(a, OP_BULK_COMMIT, s->span));
  bool now = s->u.op.arg[op_arg(s->u.op.op, "now")].i;
  int64_t read = !store; // additions to one place need no order
  if (now) st_add(a, body, st_op(a, OP_BULK_WAIT, s->span, (int64_t)0, read));
  Expr *first = ex_bin(a, BIN_EQ, l->thread, ex_index(a, 0));
  st_add(a, out, st_if(a, first, body, NULL, s->span));
}

Stmt *lower_fetch_maps(Lower *l, Stmt *body) {
  Arena *a = l->arena;
  Stmt *all = st_block(a, body->span), *some = st_block(a, body->span);
  for (int i = 0; i < l->kernel->buffers.len; i++) {
    Buffer *b = l->kernel->buffers.data[i];
    if (b->scope != SC_MAP) continue;
    Expr *at[MAP_RANK], *box[MAP_RANK];
    for (int d = 0; d < b->ndim; d++) {
      at[d] = ex_index(a, 0);
      box[d] = ex_index(a, b->map->box[d]);
    }
    st_add(a, some, st_op(a, OP_TMA_PREFETCH, body->span, region_new(a, b, at, box)));
  }
  if (!some->u.block.len) return body;
  Expr *first = ex_bin(a, BIN_EQ, ex_var(a, l->kernel->thread), ex_index(a, 0));
  st_add(a, all, st_if(a, first, some, NULL, body->span));
  st_add(a, all, body);
  return all;
}
