// grid_wait and grid_trigger: what a kernel touches before those ahead of it have ended, and what
// it promises to the next one.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

/* A kernel that waits for all before it: once, by all threads, before anything touches a tensor */

typedef struct {
  Verify *v;
  bool tensor;
} Ahead;

static void touch(void *ctx, const Access *x) {
  Scope scope = x->region.buf->scope;
  ((Ahead *)ctx)->tensor |= scope == SC_GLOBAL || scope == SC_MAP;
}

static void ahead(void *ctx, Stmt *s) {
  Ahead *h = ctx;
  if (!st_is_op(s, OP_TMA_PREFETCH)) st_accesses(h->v->arena, s, touch, h);
}

static void waits_first(Verify *v) {
  StmtVec body = v->kernel->body->u.block;
  Ahead before = {.v = v};
  int i = 0;
  for (; !st_has_op(body.data[i], OP_GRID_WAIT); i++) {
    v->stmt = body.data[i];
    st_walk(body.data[i], ahead, &before);
  }
  v->stmt = body.data[i];
  if (before.tensor) verify_fail(v, "a tensor is touched before grid_wait");
  if (v->stmt->kind != ST_OP)
    verify_fail(v, "grid_wait is no statement of its own of %s", v->kernel->name);
  while (++i < body.len)
    if (st_has_op(body.data[i], OP_GRID_WAIT))
      verify_fail(v, "grid_wait stands more than once in %s", v->kernel->name);
}

/* One that starts beside the kernel before it */

// Has every thread that gets past s waited? Fails where one that has not meets that traffic.
static bool waited(Verify *v, const Traffic *t, Stmt *s, bool before) {
  bool yes, no;
  v->stmt = s;
  if (!before && traffic_meets(t, s))
    verify_fail(v, "what the kernel before %s has to do with is touched before grid_wait",
                v->kernel->name);
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) before = waited(v, t, s->u.block.data[i], before);
    return before;
  case ST_IF:
    yes = waited(v, t, s->u.branch.yes, before);
    no = s->u.branch.no ? waited(v, t, s->u.branch.no, before) : before;
    return yes && no;
  case ST_FOR: waited(v, t, s->u.loop.body, before); return before;
  case ST_OP: return before || s->u.op.op == OP_GRID_WAIT;
  default: return before;
  }
}

// All blocks have waited when they let the next kernel start, which relies on it.
static void check_trigger(Verify *v) {
  StmtVec body = v->kernel->body->u.block;
  bool wait = false;
  for (int i = 0; i < body.len; i++) {
    v->stmt = body.data[i];
    wait |= st_is_op(v->stmt, OP_GRID_WAIT);
    if (!wait && st_has_op(body.data[i], OP_GRID_TRIGGER))
      verify_fail(v, "grid_trigger stands before grid_wait");
  }
}

static const Kernel *before(const Verify *v) {
  for (int i = 1; i < v->program->kernels.len; i++)
    if (v->program->kernels.data[i] == v->kernel) return v->program->kernels.data[i - 1];
  return NULL;
}

void check_grid_wait(Verify *v) {
  const Kernel *other = before(v);
  check_trigger(v);
  if (!st_has_op(v->kernel->body, OP_GRID_WAIT)) return;
  if (other && kernel_waits_late(v->kernel))
    waited(v, traffic_new(v->arena, other), v->kernel->body, false);
  else waits_first(v);
}
