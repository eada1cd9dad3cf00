// Rings: the slot of each access to a shared tile that a pipelined loop keeps several versions of.
// Inside the loop iteration k (counted from 0) uses slot k % S. A tile that is also used elsewhere
// counts from the end, (n-1-k) % S: whatever n is, the last iteration's version is then in slot 0,
// where every access outside the loop looks, and a loop of no iterations leaves slot 0 alone.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "passes/pipeline.h"

typedef struct {
  PassCtx *c;
  Arena *a;
  RingVec rings;
  RingVec current; // rings of the loops around the statement at hand, innermost last
} Rings;

static const Ring *ring_at(const Rings *r, const Buffer *b) {
  for (int i = r->current.len - 1; i >= 0; i--)
    if (r->current.data[i].buf == b) return &r->current.data[i];
  return NULL;
}

static bool has_ring(const Rings *r, const Buffer *b) {
  for (int i = 0; i < r->rings.len; i++)
    if (r->rings.data[i].buf == b) return true;
  return false;
}

static void collect(void *ctx, Stmt *s) {
  Rings *r = ctx;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PIPELINED) return;
  PlanLoop *plan = plan_loop(r->c->plan, s);
  if (!plan || !plan->copies || plan->stages < 2) return;
  Expr *cond;
  StmtVec *body = &(*plan_loop_body(s, &cond))->u.block;
  for (int i = 0; i < body->len; i++) {
    Stmt *x = body->data[i];
    if (!plan_async(r->c->plan, x)) continue;
    GatherLoop g;
    Buffer *tile = gather_parts(x, &g) ? g.dst : x->u.op.arg[op_arg(OP_COPY, "dst")].region->buf;
    Ring ring = {tile, s, plan->stages, NULL};
    vec_push(r->a, &r->rings, ring);
  }
}

static Expr *slot_of(Rings *r, const Ring *ring, Kernel *k) {
  const Stmt *loop = ring->loop;
  Expr *iter = ex_sub(r->a, ex_var(r->a, loop->u.loop.var[0]), loop->u.loop.min[0]);
  if (walk_touches_beside(r->a, k->body, loop, ring->buf)) {
    Expr *last = ex_sub(r->a, loop->u.loop.extent[0], ex_index(r->a, 1));
    iter = ex_sub(r->a, last, iter);
  }
  return ex_floormod(r->a, iter, ex_index(r->a, ring->stages));
}

// The old index list behind the slot (or behind `lead`).
static Expr **with_lead(Rings *r, Expr *lead, Expr **old, int n) {
  Expr **idx = NEWN(r->a, Expr *, n + 1);
  idx[0] = lead;
  for (int i = 0; i < n; i++) idx[i + 1] = old[i];
  return idx;
}

static Expr *slot_for(Rings *r, const Buffer *b) {
  const Ring *ring = ring_at(r, b);
  return ring ? ring->slot : ex_index(r->a, 0);
}

static Expr *index_load(void *ctx, Expr *x) {
  Rings *r = ctx;
  if (x->kind != EX_LOAD || !has_ring(r, x->u.load.buf)) return x;
  Expr *y = arena_copy(r->a, x, sizeof *x);
  y->u.load.idx = with_lead(r, slot_for(r, x->u.load.buf), x->u.load.idx, x->u.load.n);
  y->u.load.n++;
  return y;
}

static void index_slot(void *ctx, Expr **slot) {
  Rings *r = ctx;
  *slot = walk_expr(r->a, *slot, index_load, r);
}

static void index_op(Rings *r, Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    Region *old = s->u.op.arg[i].region;
    if (!arg_is_region(info->arg[i].kind) || !old) continue;
    Region *n = arena_copy(r->a, old, sizeof *old); // regions may be shared between statements
    bool ring = has_ring(r, old->buf);
    n->min = with_lead(r, slot_for(r, old->buf), old->min, old->n);
    n->extent = with_lead(r, ex_index(r->a, 1), old->extent, old->n);
    n->min += !ring;
    n->extent += !ring;
    n->n += ring;
    s->u.op.arg[i].region = n;
    bool lines = i == 0 && (s->u.op.op == OP_REDUCE || s->u.op.op == OP_SCAN);
    if (lines) s->u.op.arg[op_arg(s->u.op.op, "dim")].i += ring; // a dimension of the source
  }
}

static void index_stmt(Rings *r, Stmt *s) {
  if (!s) return;
  if (s->kind == ST_OP) index_op(r, s);
  st_exprs(s, index_slot, r);
  if (s->kind == ST_STORE && has_ring(r, s->u.store.buf)) {
    s->u.store.idx = with_lead(r, slot_for(r, s->u.store.buf), s->u.store.idx, s->u.store.n);
    s->u.store.n++;
  }
  int depth = r->current.len;
  for (int i = 0; s->kind == ST_FOR && i < r->rings.len; i++)
    if (r->rings.data[i].loop == s) vec_push(r->a, &r->current, r->rings.data[i]);
  if (s->kind == ST_BLOCK)
    for (int i = 0; i < s->u.block.len; i++) index_stmt(r, s->u.block.data[i]);
  if (s->kind == ST_FOR) index_stmt(r, s->u.loop.body);
  if (s->kind == ST_IF) {
    index_stmt(r, s->u.branch.yes);
    index_stmt(r, s->u.branch.no);
  }
  r->current.len = depth;
}

static void grow(Rings *r, Buffer *b) {
  int stages = 0;
  for (int i = 0; i < r->rings.len; i++)
    if (r->rings.data[i].buf == b && r->rings.data[i].stages > stages)
      stages = r->rings.data[i].stages;
  b->shape = with_lead(r, ex_index(r->a, stages), b->shape, b->ndim);
  b->ndim++;
  PlanBuffer *plan = plan_buffer(r->c->plan, b);
  if (!plan) plan_set(r->c->plan, b, plan = NEW(r->a, PlanBuffer));
  plan->ring = stages;
  if (!b->layout) return;
  int64_t lead = stages;
  b->layout = layout_lead(r->a, b->layout, &lead, 1);
}

void pipeline_rings(PassCtx *c, Kernel *k) {
  Rings r = {.c = c, .a = c->arena};
  st_walk(k->body, collect, &r);
  for (int i = 0; i < r.rings.len; i++) r.rings.data[i].slot = slot_of(&r, &r.rings.data[i], k);
  rings_apply(c, k, &r.rings);
}

void rings_apply(PassCtx *c, Kernel *k, const RingVec *rings) {
  Rings r = {.c = c, .a = c->arena, .rings = *rings};
  if (!r.rings.len) return;
  index_stmt(&r, k->body);
  for (int i = 0; i < r.rings.len; i++) {
    bool seen = false;
    for (int j = 0; j < i; j++) seen = seen || r.rings.data[j].buf == r.rings.data[i].buf;
    if (!seen) grow(&r, r.rings.data[i].buf);
  }
}
