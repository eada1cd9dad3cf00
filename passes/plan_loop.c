// Plans of Pipelined loops: which copies may run ahead of their iteration. Dependences are
// computed: a copy that fails a test stays in order, and a remark says which test.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

typedef struct {
  PassCtx *c;
  const Kernel *kernel;
  Stmt *loop, *body; // body: the block of plan_loop_body
  Expr *cond;        // of it
  int at;            // position of the copy among the body's statements
  const char *why;
} Test;

Stmt **plan_loop_body(Stmt *loop, Expr **cond) {
  Stmt **body = &loop->u.loop.body, *last = NULL;
  *cond = NULL;
  if ((*body)->kind != ST_BLOCK) return body;
  for (int i = 0; i < (*body)->u.block.len; i++) {
    if (last) return body;
    Stmt *s = (*body)->u.block.data[i];
    if (s->kind != ST_LET) last = s;
  }
  bool one = last && last->kind == ST_IF && !last->u.branch.no;
  if (!one || last->u.branch.yes->kind != ST_BLOCK) return body;
  *cond = last->u.branch.cond;
  return &last->u.branch.yes;
}

static bool loop_writes(Test *t, const Buffer *b) {
  return walk_touches(t->c->arena, t->loop->u.loop.body, b, true);
}

static void early_expr(Test *t, Expr *x);

// A let of the body moves with the copy: its value must be computable early as well.
static void early_var(Test *t, const Var *v) {
  const Stmt *blocks[] = {t->loop->u.loop.body, t->body};
  for (int b = 0; b < (t->cond ? 2 : 1); b++)
    for (int i = 0; i < (blocks[b] == t->body ? t->at : blocks[b]->u.block.len); i++) {
      const Stmt *s = blocks[b]->u.block.data[i];
      if (s->kind == ST_LET && s->u.let.var == v) early_expr(t, s->u.let.value);
    }
}

static void early_node(void *ctx, Expr *x) {
  Test *t = ctx;
  if (x->kind == EX_VAR) early_var(t, x->u.var);
  if (x->kind == EX_LOAD && loop_writes(t, x->u.load.buf))
    t->why =
        arena_printf(t->c->arena, "its address or condition depends on %s, which the loop writes",
                     x->u.load.buf->name);
}

static void early_expr(Test *t, Expr *x) { ex_walk(x, early_node, t); }

// Copies under a condition: an iteration that is left out must not be missed.
static const char *why_not_skipped(Test *t, const Buffer *tile) {
  if (!t->cond) return NULL;
  const Stmt *body = t->loop->u.loop.body;
  for (int i = 0; i < body->u.block.len - 1; i++)
    if (walk_touches(t->c->arena, body->u.block.data[i], tile, false))
      return arena_printf(t->c->arena, "%s is used before it in the iteration", tile->name);
  if (walk_touches_beside(t->c->arena, t->kernel->body, t->loop, tile))
    return arena_printf(t->c->arena, "it has a condition, and %s is used outside the loop",
                        tile->name);
  early_expr(t, t->cond);
  return t->why;
}

static const char *why_in_order(Test *t, const Stmt *copy) {
  Arena *a = t->c->arena;
  GatherLoop g;
  bool loop = gather_parts(copy, &g);
  const Buffer *src = loop ? g.src : copy->u.op.arg[0].region->buf;
  const Buffer *dst = loop ? g.dst : copy->u.op.arg[1].region->buf;
  if (views_named(t->kernel, dst)) return arena_printf(a, "%s has another name", dst->name);
  if (!loop && !region_is_whole(copy->u.op.arg[1].region))
    return arena_printf(a, "it fills only a part of %s", dst->name);
  for (int i = 0; i < t->body->u.block.len; i++) {
    Stmt *s = t->body->u.block.data[i];
    if (i < t->at && walk_touches(a, s, dst, false))
      return arena_printf(a, "%s is used before it in the iteration", dst->name);
    if (i != t->at && walk_touches(a, s, dst, true))
      return arena_printf(a, "%s has another writer in the loop", dst->name);
  }
  if (loop_writes(t, src)) return arena_printf(a, "the loop writes its source %s", src->name);
  if (loop) early_expr(t, g.store->u.store.value);
  else
    for (int d = 0; d < src->ndim; d++) early_expr(t, copy->u.op.arg[0].region->min[d]);
  return t->why ? t->why : why_not_skipped(t, dst);
}

const char *plan_in_order_why(PassCtx *c, Kernel *k, Stmt *loop, int at) {
  Test t = {.c = c, .kernel = k, .loop = loop, .at = at};
  t.body = *plan_loop_body(loop, &t.cond);
  return why_in_order(&t, t.body->u.block.data[at]);
}

static int depth_asked(PassCtx *c, const Kernel *k, Facts *f, const Stmt *loop) {
  int64_t stages = pass_flag(c, k, "stages", loop->u.loop.num_stages), trips;
  if (loop->u.loop.num_stages == 0 || loop->u.loop.cond) stages = 0;
  Expr *extent = facts_simplify(f, loop->u.loop.extent[0]);
  if (ex_const(extent, &trips) && trips < stages) stages = trips < 1 ? 1 : trips;
  return (int)stages;
}

static void plan_direct_copy(Test *t, Stmt *s, PlanLoop *plan) {
  PlanCopy *copy = plan_copy(t->c->plan, s);
  if (!copy->async_able) return;
  // In one stage the copy stays where it is: no iteration runs ahead of another.
  const char *why = plan->stages < 2 ? NULL : why_in_order(t, s);
  copy->async = !why;
  copy->why = why;
  plan->copies += copy->async;
}

void plan_loop_remarks(PassCtx *c, const Stmt *loop, const PlanLoop *plan) {
  int asked = loop->u.loop.num_stages;
  if (asked == 0 || plan->channels) return;
  if (loop->u.loop.cond) {
    diag_remark(c->diags, loop->span, "pipeline", "in order: a break may end the loop");
    return;
  }
  if (!plan->copies)
    diag_remark(c->diags, loop->span, "pipeline", "in order: no copy can run ahead");
  else if (plan->stages < asked)
    diag_remark(c->diags, loop->span, "pipeline",
                "%d of %d stages: the loop has %d iterations; %d async copies", plan->stages, asked,
                plan->stages, plan->copies);
  else
    diag_remark(c->diags, loop->span, "pipeline", "%d stages, %d async copies an iteration",
                plan->stages, plan->copies);
}

void plan_one_loop(PassCtx *c, const Kernel *k, Facts *f, Stmt *loop) {
  PlanLoop *plan = NEW(c->arena, PlanLoop);
  plan->stages = depth_asked(c, k, f, loop);
  plan_set(c->plan, loop, plan);
  loop->u.loop.body = walk_block(c->arena, loop->u.loop.body);
  Expr *cond;
  Stmt *body = *plan_loop_body(loop, &cond);
  for (int i = 0; plan->stages > 0 && i < body->u.block.len; i++) {
    Stmt *s = body->u.block.data[i];
    PlanCopy *copy = plan_copy(c->plan, s);
    if (!copy) continue;
    Test t = {.c = c, .kernel = k, .loop = loop, .body = body, .cond = cond, .at = i};
    plan_direct_copy(&t, s, plan);
    bool loads = s->kind == ST_FOR || s->u.op.arg[0].region->buf->scope == SC_GLOBAL;
    if (!copy->async && copy->why && loads)
      diag_remark(c->diags, s->span, "pipeline", "this copy runs in order: %s", copy->why);
  }
}
