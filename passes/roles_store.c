// Shared tiles that go to tensors by TMA: whole, or cut into slabs on their way from a fragment.
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"

typedef struct {
  PassCtx *c;
  Arena *a;
  Stmt *body; // the kernel's
} Stores;

static Expr *num(Stores *r, int64_t v) { return ex_index(r->a, v); }

// n rows (dim 0) or columns (1) of the region's matrix.
static Region *part(Stores *r, const Region *of, int dim, int64_t from, int64_t n) {
  Region *x = walk_region(r->a, of);
  int d = x->n - 2 + dim;
  x->min[d] = ex_add(r->a, x->min[d], num(r, from));
  x->extent[d] = num(r, n);
  return x;
}

typedef struct {
  const Plan *plan;
  const Buffer *tile;
  bool found;
} Filled;

static void note_filled(void *ctx, Stmt *s) {
  Filled *x = ctx;
  if (st_is_op(s, OP_COPY) && s->u.op.arg[1].region->buf == x->tile)
    x->found |= plan_copy(x->plan, s)->channel > 0;
}

// Does a producer fill the tile?
static bool in_channel(Stores *r, const Buffer *tile) {
  Filled x = {r->c->plan, tile, false};
  st_walk(r->body, note_filled, &x);
  return x.found;
}

// `s` from the tile to the tensor, by TMA. In a loop a copy is complete before the next, which may
// be to the same place; and a slot has been read when it is let go.
static Stmt *stored(Stores *r, const Stmt *s, Region *tile, Region *tensor, bool looped) {
  int64_t filled = in_channel(r, tile->buf);
  return s->u.op.op == OP_COPY
             ? st_op(r->a, OP_TILE_STORE, s->span, tile, tensor, filled | looped)
             : st_op(r->a, OP_TILE_REDUCE, s->span, tile, tensor, s->u.op.arg[2].i, filled);
}

// fragment -> tile -> tensor, slab by slab. The tile becomes a ring of them.
static Stmt *store_slabs(Stores *r, Stmt *in, Stmt *out, bool looped) {
  Arena *a = r->a;
  Stmt *both = st_block(a, in->span);
  Region *frag = in->u.op.arg[0].region;
  Region *tensor = out->u.op.arg[out->u.op.op == OP_COPY].region;
  Buffer *tile = in->u.op.arg[1].region->buf;
  int slabs = plan_copy(r->c->plan, in)->slabs, dim = plan_copy(r->c->plan, in)->slab_dim;
  int64_t each = tile->shape[dim]->u.i / slabs;
  Expr *shape[] = {num(r, SLAB_SLOTS), tile->shape[0], tile->shape[1]};
  shape[1 + dim] = num(r, each);
  tile->ndim = 3;
  tile->shape = arena_copy(a, shape, sizeof shape);
  tile->layout = plan_tma_layout(a, tile);
  for (int i = 0; i < slabs; i++) {
    Expr *min[] = {num(r, i % SLAB_SLOTS), num(r, 0), num(r, 0)};
    Expr *extent[] = {num(r, 1), shape[1], shape[2]};
    Region *slab = region_new(a, tile, min, extent);
    Region *from = part(r, frag, dim, i * each, each), *to = part(r, tensor, dim, i * each, each);
    Stmt *copy = st_op(a, OP_COPY, in->span, from, slab, (int64_t)0);
    plan_clone(r->c->plan, in, copy);
    st_add(a, both, copy);
    st_add(a, both, stored(r, out, slab, to, looped));
  }
  diag_remark(r->c->diags, in->span, "roles", "%s: %d slabs of %lld %s, %d at once",
              tile->name, slabs, (long long)each, dim ? "columns" : "rows", SLAB_SLOTS);
  return both;
}

static Stmt *store_tiles(Stores *r, Stmt *s, bool looped);

// In place: a channel knows its first and last use by their positions.
static void store_block(Stores *r, Stmt *s, bool looped) {
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *x = s->u.block.data[i];
    bool copy = x->kind == ST_OP && x->u.op.op == OP_COPY;
    if (!copy || !plan_copy(r->c->plan, x)->slabs) {
      s->u.block.data[i] = store_tiles(r, x, looped);
      continue;
    }
    s->u.block.data[i] = store_slabs(r, x, s->u.block.data[i + 1], looped);
    s->u.block.data[++i] = st_block(r->a, x->span);
  }
}

static Stmt *store_tiles(Stores *r, Stmt *s, bool looped) {
  if (!s) return NULL;
  if (s->kind == ST_BLOCK) store_block(r, s, looped);
  if (s->kind == ST_FOR) s->u.loop.body = store_tiles(r, s->u.loop.body, true);
  if (s->kind == ST_IF) {
    s->u.branch.yes = store_tiles(r, s->u.branch.yes, looped);
    s->u.branch.no = store_tiles(r, s->u.branch.no, looped);
  }
  if (!plan_stores(r->c->plan, s)) return s;
  bool copy = s->u.op.op == OP_COPY;
  Region *tile = s->u.op.arg[!copy].region, *tensor = s->u.op.arg[copy].region;
  tile->buf->layout = plan_tma_layout(r->a, tile->buf);
  return stored(r, s, tile, tensor, looped);
}

Stmt *roles_store(PassCtx *c, Stmt *body) {
  Stores r = {c, c->arena, body};
  return store_tiles(&r, body, false);
}
