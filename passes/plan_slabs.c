// Tiles that only take a fragment on its way to a tensor: by TMA they can go out in slabs of the
// swizzle's width, of which two at once take the shared memory that a ring needs more.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

enum { SLAB_BYTES = 128, PATTERN_ROWS = 8 };

typedef struct {
  PassCtx *c;
  Kernel *kernel;
} Slabs;

static bool starts_at_zero(const Region *r) {
  for (int d = 0; d < r->n; d++)
    if (!ex_is(r->min[d], 0)) return false;
  return true;
}

typedef struct {
  Arena *arena;
  const Buffer *buf;
  int n;
} Uses;

static void count_use(void *ctx, Stmt *s) {
  Uses *u = ctx;
  bool holds = s->kind == ST_BLOCK || s->kind == ST_FOR || s->kind == ST_IF;
  if (!holds) u->n += walk_touches(u->arena, s, u->buf, false);
}

typedef struct {
  const Plan *plan;
  const Buffer *acc;
  bool some, apart; // some gemm adds to it; one leaves threads without a part of some column
} Columns;

static void look_gemm(void *ctx, Stmt *s) {
  Columns *c = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM || s->u.op.arg[2].region->buf != c->acc) return;
  const PlanGemm *g = plan_gemm(c->plan, s);
  c->some = true;
  c->apart = c->apart || !g->wgmma || g->warps_n > 1 || g->loaded == WGMMA_B_LOADED;
}

// Does each thread hold a part of every column of the fragment?
static bool by_rows(const Slabs *x, const Buffer *frag) {
  Columns c = {.plan = x->c->plan, .acc = frag};
  st_walk(x->kernel->body, look_gemm, &c);
  return c.some && !c.apart;
}

// Do these two, and nothing else, use the tile between them?
static bool stages(const Slabs *x, Stmt *in, Stmt *out) {
  if (in->kind != ST_OP || in->u.op.op != OP_COPY || !plan_stores(x->c->plan, out)) return false;
  const Region *frag = in->u.op.arg[0].region, *dst = in->u.op.arg[1].region;
  const Region *src = out->u.op.arg[out->u.op.op == OP_ATOMIC_TILE].region;
  const Buffer *tile = dst->buf;
  if (frag->buf->scope != SC_FRAGMENT || tile->scope != SC_SHARED || src->buf != tile) return false;
  if (frag->n != 2 || tile->ndim != 2 || tile->layout || tile->base) return false;
  if (!region_is_whole(dst) || !region_is_whole(src) || !starts_at_zero(frag)) return false;
  if (!by_rows(x, frag->buf)) return false;
  if (views_named(x->kernel, tile)) return false;
  Uses u = {x->c->arena, tile, 0};
  st_walk(x->kernel->body, count_use, &u);
  return u.n == 2;
}

static void find(void *ctx, Stmt *s) {
  Slabs *x = ctx;
  for (int i = 0; s->kind == ST_BLOCK && i + 1 < s->u.block.len; i++) {
    Stmt *in = s->u.block.data[i], *out = s->u.block.data[i + 1];
    int64_t rows, cols;
    if (!stages(x, in, out)) continue;
    const Buffer *tile = in->u.op.arg[1].region->buf;
    if (!ex_const(tile->shape[0], &rows) || !ex_const(tile->shape[1], &cols)) continue;
    int64_t bytes = cols * dt_bits(tile->dtype) / 8, slabs = bytes / SLAB_BYTES;
    if (bytes % SLAB_BYTES || slabs <= SLAB_SLOTS || rows % PATTERN_ROWS) continue;
    plan_copy(x->c->plan, in)->slabs = (int)slabs;
  }
}

void plan_slabs(PassCtx *c, Kernel *k) {
  Slabs x = {c, k};
  if (pass_flag(c, k, "slabs", 1)) st_walk(k->body, find, &x);
}
