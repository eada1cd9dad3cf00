// pipeline: Pipelined loops become serial loops over rings of shared tiles, with async copies,
// commits and waits (CUTLASS multistage). With S >= 2 stages and n iterations k = 0 .. n-1:
//   prologue   for s in 0 .. S-2: if s < n { copies of iteration s }; commit
//   body k     wait(S-2); if k + S-1 < n { copies of iteration k + S-1 }; commit; the rest of k
// Where all of an iteration is under one condition (plan_loop_body), so are its copies.
// Groups are committed every iteration, empty ones included, so that the wait count is a constant.
// Barriers come later, from the sync pass.
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"

typedef struct {
  PassCtx *c;
  Arena *a;
  Kernel *kernel;
} Pipe;

// To be issued by the loop at hand: those that an inner loop's prologue issues are marked already.
static bool is_async(const Pipe *p, const Stmt *s) {
  if (!plan_async(p->c->plan, s)) return false;
  return s->kind == ST_FOR ? !s->u.loop.async : !s->u.op.arg[op_arg(OP_COPY, "async")].i;
}

static void make_async(Stmt *s) {
  if (s->kind == ST_FOR) s->u.loop.async = true;
  else s->u.op.arg[op_arg(OP_COPY, "async")].i = 1;
}

static Stmt *commit(Pipe *p, Span span) { return st_op(p->a, OP_ASYNC_COMMIT, span); }
static Stmt *wait(Pipe *p, int pending, Span span) {
  return st_op(p->a, OP_ASYNC_WAIT, span, (int64_t)pending);
}

// One stage: each run of neighbouring copies is awaited where it stands.
static void one_stage(Pipe *p, Stmt *loop) {
  Expr *cond;
  Stmt **at = plan_loop_body(loop, &cond), *old = *at, *body = st_block(p->a, old->span);
  bool open = false;
  for (int i = 0; i < old->u.block.len; i++) {
    Stmt *s = old->u.block.data[i];
    bool async = is_async(p, s);
    if (open && !async) {
      st_add(p->a, body, commit(p, s->span));
      st_add(p->a, body, wait(p, 0, s->span));
    }
    if (async) make_async(s);
    open = async;
    st_add(p->a, body, s);
  }
  if (open) {
    st_add(p->a, body, commit(p, loop->span));
    st_add(p->a, body, wait(p, 0, loop->span));
  }
  *at = body;
}

static void add_copies(Pipe *p, const Stmt *body, Stmt *take) {
  for (int i = body->u.block.len - 1; i >= 0; i--) { // back to front: users before lets
    Stmt *s = body->u.block.data[i];
    if (is_async(p, s) || (s->kind == ST_LET && st_uses(take, s->u.let.var)))
      vec_push(p->a, &take->u.block, s);
  }
}

static void reverse(Stmt *block) {
  for (int i = 0, j = block->u.block.len - 1; i < j; i++, j--) {
    Stmt *t = block->u.block.data[i];
    block->u.block.data[i] = block->u.block.data[j];
    block->u.block.data[j] = t;
  }
}

// The async copies of one iteration, and before them the lets that their addresses need.
static Stmt *copies_of(Pipe *p, Stmt *loop) {
  Expr *cond;
  Stmt *body = *plan_loop_body(loop, &cond), *take = st_block(p->a, body->span);
  add_copies(p, body, take);
  reverse(take);
  if (!cond) return take;
  Stmt *all = st_block(p->a, body->span);
  st_add(p->a, all, st_if(p->a, cond, take, NULL, body->span));
  add_copies(p, loop->u.loop.body, all);
  reverse(all);
  return all;
}

static void mark_async(void *ctx, Stmt *s) {
  if (is_async(ctx, s)) make_async(s);
}

// Takes the copies out of their place.
static void drop_copies(Pipe *p, Stmt *loop) {
  Expr *cond;
  Stmt **at = plan_loop_body(loop, &cond), *old = *at, *left = st_block(p->a, old->span);
  for (int i = 0; i < old->u.block.len; i++)
    if (!is_async(p, old->u.block.data[i])) st_add(p->a, left, old->u.block.data[i]);
  *at = left;
}

// The copies for loop value `at`, under `guard` unless that is known true; nothing when known
// false.
static Stmt *issue(Pipe *p, Stmt *loop, const Stmt *copies, Expr *at, Expr *guard) {
  int64_t known;
  bool decided = ex_const(guard, &known);
  if (decided && !known) return NULL;
  Stmt *x = walk_clone(p->a, copies, p->c->plan);
  Subst sub = {.arena = p->a};
  subst_add(&sub, loop->u.loop.var[0], at);
  subst_stmt(&sub, x);
  st_walk(x, mark_async, p);
  return decided ? x : st_if(p->a, guard, x, NULL, loop->span);
}

static void multi_stage(Pipe *p, Stmt *loop, int stages, Stmt *out) {
  Arena *a = p->a;
  Expr *min = loop->u.loop.min[0], *n = loop->u.loop.extent[0], *k = ex_var(a, loop->u.loop.var[0]);
  Stmt *copies = copies_of(p, loop);
  for (int s = 0; s < stages - 1; s++) {
    Expr *at = ex_add(a, min, ex_index(a, s));
    st_add(a, out, issue(p, loop, copies, at, ex_lt(a, ex_index(a, s), n)));
    st_add(a, out, commit(p, loop->span));
  }
  drop_copies(p, loop);
  Stmt *old = loop->u.loop.body, *body = st_block(a, old->span);
  Expr *ahead = ex_add(a, k, ex_index(a, stages - 1));
  st_add(a, body, wait(p, stages - 2, loop->span));
  st_add(a, body, issue(p, loop, copies, ahead, ex_lt(a, ahead, ex_add(a, min, n))));
  st_add(a, body, commit(p, loop->span));
  for (int i = 0; i < old->u.block.len; i++) st_add(a, body, old->u.block.data[i]);
  loop->u.loop.body = body;
}

static Stmt *expand(void *ctx, Stmt *s) {
  Pipe *p = ctx;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PIPELINED) return s;
  PlanLoop *plan = plan_loop(p->c->plan, s);
  s->u.loop.loop = LOOP_SERIAL;
  s->u.loop.num_stages = 0;
  if (!plan || !plan->copies) return s;
  if (plan->stages < 2) {
    one_stage(p, s);
    return s;
  }
  Stmt *out = st_block(p->a, s->span);
  multi_stage(p, s, plan->stages, out);
  st_add(p->a, out, s);
  return out;
}

// Bounds that are not constants get a name: they are used in several places, and evaluated once.
static Stmt *name_bounds(void *ctx, Stmt *s) {
  Pipe *p = ctx;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PIPELINED) return s;
  PlanLoop *plan = plan_loop(p->c->plan, s);
  if (!plan || !plan->copies || plan->stages < 2) return s;
  Stmt *out = st_block(p->a, s->span);
  struct {
    Expr **slot;
    const char *suffix;
  } bound[] = {{&s->u.loop.min[0], "first"}, {&s->u.loop.extent[0], "count"}};
  for (size_t i = 0; i < LEN(bound); i++) {
    Expr *x = *bound[i].slot;
    int64_t known;
    if (ex_const(x, &known) || x->kind == EX_VAR) continue;
    const char *name = arena_printf(p->a, "%s_%s", s->u.loop.var[0]->name, bound[i].suffix);
    Var *v = var_new(p->a, name, DT_INDEX, VAR_LET, s->span);
    st_add(p->a, out, st_let(p->a, v, x, s->span));
    *bound[i].slot = ex_var(p->a, v);
  }
  st_add(p->a, out, s);
  return out;
}

void pass_pipeline(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Pipe pipe = {c, c->arena, p->kernels.data[i]};
    Kernel *k = pipe.kernel;
    k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, name_bounds, &pipe));
    pipeline_rings(c, k);
    k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, expand, &pipe));
  }
}
