// Tiles that the producer fills outside of loops: the block with their copies becomes the body of a
// loop of one iteration, whose channels they are.
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"

static int position(const Stmt *block, const Stmt *s) {
  for (int i = 0; i < block->u.block.len; i++)
    if (block->u.block.data[i] == s) return i;
  die("roles: a channel's use has gone");
}

void once_locate(const Kernel *k, PlanRoles *plan) {
  PlanOnce *once = &plan->once;
  if (!once->block) once->block = k->body;
  for (int i = 0; i < once->plan.channels; i++) {
    once->plan.channel[i].first = position(once->block, once->first[i]);
    once->plan.channel[i].last = position(once->block, once->last[i]);
  }
}

Stmt *once_open(PassCtx *c, const Kernel *k, PlanRoles *plan) {
  Arena *a = c->arena;
  Stmt *block = plan->once.block, *body = st_block(a, block->span);
  if (!plan->once.plan.channels) return NULL;
  Var *v = var_new(a, "once", DT_INDEX, VAR_LOOP, block->span);
  body->u.block = block->u.block;
  Stmt *loop = st_for(a, LOOP_PIPELINED, v, ex_index(a, 0), ex_index(a, 1), body, k->span);
  block->u.block = (StmtVec){0};
  st_add(a, block, loop);
  plan_set(c->plan, loop, &plan->once.plan);
  return loop;
}
