// Tiles that only take a fragment on its way to a tensor: by TMA they can go out in slabs, of which
// two at once take the shared memory that a ring needs more: of the swizzle's width, or, where
// warps share the columns, of some rows.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

enum { SLAB_BYTES = 128, PATTERN_ROWS = 8, ROWS_BYTES = 1 << 14 };

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
  bool some;     // some gemm adds to it
  bool apart[2]; // one leaves threads without a part of some row; of some column
} Parts;

static void look_gemm(void *ctx, Stmt *s) {
  Parts *c = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM || s->u.op.arg[2].region->buf != c->acc) return;
  const PlanGemm *g = plan_gemm(c->plan, s);
  c->some = true;
  bool turned = g->loaded == WGMMA_B_LOADED;
  c->apart[0] = c->apart[0] || !g->wgmma || g->warps_m > 1 || !turned;
  c->apart[1] = c->apart[1] || !g->wgmma || g->warps_n > 1 || turned;
}

// The dimension of which each thread holds a part of every index; -1: there is none.
static int shared_out(const Slabs *x, const Buffer *frag) {
  Parts c = {.plan = x->c->plan, .acc = frag};
  st_walk(x->kernel->body, look_gemm, &c);
  return !c.some ? -1 : !c.apart[1] ? 1 : !c.apart[0] ? 0 : -1;
}

// Do these two, and nothing else, use the tile between them? *dim: as shared_out has it.
static bool stages(const Slabs *x, Stmt *in, Stmt *out, int *dim) {
  if (in->kind != ST_OP || in->u.op.op != OP_COPY || !plan_stores(x->c->plan, out)) return false;
  const Region *frag = in->u.op.arg[0].region, *dst = in->u.op.arg[1].region;
  const Region *src = out->u.op.arg[out->u.op.op == OP_ATOMIC_TILE].region;
  const Buffer *tile = dst->buf;
  if (frag->buf->scope != SC_FRAGMENT || tile->scope != SC_SHARED || src->buf != tile) return false;
  if (frag->n != 2 || tile->ndim != 2 || tile->layout || tile->base) return false;
  if (!region_is_whole(dst) || !region_is_whole(src) || !starts_at_zero(frag)) return false;
  *dim = shared_out(x, frag->buf);
  if (*dim < 0) return false;
  if (views_named(x->kernel, tile)) return false;
  Uses u = {x->c->arena, tile, 0};
  st_walk(x->kernel->body, count_use, &u);
  return u.n == 2;
}

// How many slabs of rows; 0: they are not whole.
static int64_t of_rows(int64_t rows, int64_t row_bytes) {
  int64_t each = ROWS_BYTES / row_bytes / PATTERN_ROWS * PATTERN_ROWS;
  while (each > 0 && rows % each) each -= PATTERN_ROWS;
  return each > 0 ? rows / each : 0;
}

static void find(void *ctx, Stmt *s) {
  Slabs *x = ctx;
  for (int i = 0; s->kind == ST_BLOCK && i + 1 < s->u.block.len; i++) {
    Stmt *in = s->u.block.data[i], *out = s->u.block.data[i + 1];
    int64_t rows, cols;
    int dim;
    if (!stages(x, in, out, &dim)) continue;
    const Buffer *tile = in->u.op.arg[1].region->buf;
    if (!ex_const(tile->shape[0], &rows) || !ex_const(tile->shape[1], &cols)) continue;
    int64_t bytes = cols * dt_bits(tile->dtype) / 8, slabs = bytes / SLAB_BYTES;
    if (bytes % SLAB_BYTES || rows % PATTERN_ROWS) continue;
    if (dim == 0) slabs = of_rows(rows, bytes);
    if (slabs <= SLAB_SLOTS) continue;
    PlanCopy *plan = plan_copy(x->c->plan, in);
    plan->slabs = (int)slabs;
    plan->slab_dim = dim;
  }
}

void plan_slabs(PassCtx *c, Kernel *k) {
  Slabs x = {c, k};
  if (pass_flag(c, k, "slabs", 1)) st_walk(k->body, find, &x);
}
