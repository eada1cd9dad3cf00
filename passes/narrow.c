// Tiles whose columns overlap the next one's (columns.c) compute and store only their own: there
// are two copies of the products, one for the last column of tiles.
// SPDX-License-Identifier: MIT
#include "passes/late.h"

typedef struct {
  Late *l;
  int64_t step;
  Var *x;            // the tile's column
  Expr *last;        // is it the last one?
  const Region *dst; // of the store at hand
  int64_t off;       // the first column of its box in the tile
  bool no;
} Narrow;

static void note_var(void *ctx, Expr *x) {
  Narrow *n = ctx;
  if (x->kind != EX_VAR) return;
  if (n->x && n->x != x->u.var) n->no = true;
  n->x = x->u.var;
}

// Box columns start at x * step + off.
static bool decode(Narrow *n, const Region *dst) {
  Arena *a = n->l->a;
  int64_t next;
  Expr *at = dst->min[dst->n - 1];
  ex_walk(at, note_var, n);
  if (n->no || !n->x || dst->n != 2) return false;
  return ex_const(ex_subst(a, at, n->x, ex_index(a, 0)), &n->off) &&
         ex_const(ex_subst(a, at, n->x, ex_index(a, 1)), &next) && next == n->off + n->step;
}

static void look_store(void *ctx, Stmt *s) {
  Narrow *n = ctx;
  if (st_is_op(s, OP_TMA_STORE) && !decode(n, s->u.op.arg[1].region)) n->no = true;
}

static void look_product(void *ctx, Stmt *s) {
  Narrow *n = ctx;
  if (!st_is_op(s, OP_WGMMA)) return;
  if (s->u.op.arg[op_arg(OP_WGMMA, "n")].i <= n->step) n->no = true;
  if (dt_bits(s->u.op.arg[op_arg(OP_WGMMA, "b")].region->buf->dtype) != 16) n->no = true;
}

// A map of the tensor as tiles of `step` columns: what a box has beyond them is dropped.
static Buffer *clipped(const Narrow *n, const Buffer *map) {
  Arena *a = n->l->a;
  Expr *row = map->strides ? map->strides[0] : map->shape[1];
  Expr *count = ex_floordiv(a, map->shape[1], ex_index(a, n->step));
  Expr *shape[] = {map->shape[0], count, ex_index(a, n->step)};
  Expr *strides[] = {row, ex_index(a, n->step), ex_index(a, 1)};
  Buffer *b =
      buf_new(a, arena_printf(a, "%s_own", map->name), map->dtype, SC_MAP, shape, 3, map->span);
  b->strides = arena_copy(a, strides, sizeof strides);
  b->map = arena_copy(a, map->map, sizeof *map->map);
  b->map->box[2] = map->map->box[1];
  b->map->step[2] = map->map->step[1];
  b->map->box[1] = b->map->step[1] = 1;
  vec_push(a, &n->l->k->buffers, b);
  return b;
}

static Stmt *clip_store(void *ctx, Stmt *s) {
  Narrow *n = ctx;
  Arena *a = n->l->a;
  if (!st_is_op(s, OP_TMA_STORE)) return s;
  Region *dst = s->u.op.arg[1].region;
  decode(n, dst);
  if (n->off + dst->buf->map->box[1] <= n->step) return s;
  Expr *min[] = {dst->min[0], ex_var(a, n->x), ex_index(a, n->off)};
  Expr *extent[] = {dst->extent[0], ex_index(a, 1), dst->extent[1]};
  Stmt *own = arena_copy(a, s, sizeof *s), *yes = st_block(a, s->span), *no = st_block(a, s->span);
  own->u.op.arg[1].region = region_new(a, clipped(n, dst->buf), min, extent);
  st_add(a, yes, s);
  st_add(a, no, own);
  return st_if(a, n->last, yes, no, s->span);
}

void narrow_stores(Late *l) {
  Narrow n = {.l = l, .step = l->k->narrow};
  if (!n.step) return;
  for (int i = l->from; i < l->body->len; i++) st_walk(l->body->data[i], look_store, &n);
  st_walk(l->body->data[l->products], look_product, &n);
  if (n.no || !n.x) return;
  Expr *end = ex_index(l->a, l->k->columns - 1);
  n.last = l->last = ex_bin(l->a, BIN_EQ, ex_var(l->a, n.x), end);
  for (int i = l->from; i < l->body->len; i++)
    l->body->data[i] = st_rewrite(l->a, l->body->data[i], clip_store, &n);
}

static void shrink(void *ctx, Stmt *s) {
  const Narrow *n = ctx;
  if (!st_is_op(s, OP_WGMMA)) return;
  walk_own(n->l->a, s);
  s->u.op.arg[op_arg(OP_WGMMA, "n")].i = n->step;
  s->u.op.arg[op_arg(OP_WGMMA, "d")].region->extent[0] = ex_index(n->l->a, n->step / 2);
}

Stmt *narrow_products(Late *l, Stmt *products) {
  Narrow n = {.l = l, .step = l->k->narrow};
  if (!l->last) return products;
  Stmt *own = walk_clone(l->a, products, NULL);
  st_walk(own, shrink, &n);
  return st_if(l->a, l->last, products, own, products->span);
}
