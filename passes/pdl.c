// Programmatic dependent launch: a kernel may start while the one before it on its stream ends, and
// waits for that before the first statement that could touch a tensor. What goes before is only
// what sets up barriers of the block.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

// Does it touch nothing but barriers and registers?
static bool sets_up(const Stmt *s) {
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++)
      if (!sets_up(s->u.block.data[i])) return false;
    return true;
  case ST_IF:
    return !walk_has_load(s->u.branch.cond) && sets_up(s->u.branch.yes) &&
           (!s->u.branch.no || sets_up(s->u.branch.no));
  case ST_FOR:
    return s->u.loop.nvars == 1 && !s->u.loop.cond && !walk_has_load(s->u.loop.extent[0]) &&
           sets_up(s->u.loop.body);
  case ST_LET: return !walk_has_load(s->u.let.value);
  case ST_ASSUME: return true;
  case ST_OP:
    switch (s->u.op.op) {
    case OP_MBAR_INIT:
    case OP_FENCE_MBAR_INIT:
    case OP_TMA_PREFETCH:
    case OP_CLUSTER_ARRIVE:
    case OP_CLUSTER_WAIT:
    case OP_CLUSTER_RANK:
    case OP_SYNC: return true;
    default: return false;
    }
  default: return false;
  }
}

void pdl_kernel(Kernel *k, PassCtx *c) {
  if (!c->target->bulk || !pass_flag(c, k, "pdl", 1)) return;
  Arena *a = c->arena;
  Stmt *body = st_block(a, k->body->span);
  int i = 0;
  for (; i < k->body->u.block.len && sets_up(k->body->u.block.data[i]); i++)
    st_add(a, body, k->body->u.block.data[i]);
  st_add(a, body, st_op(a, OP_GRID_WAIT, k->body->span));
  for (; i < k->body->u.block.len; i++) st_add(a, body, k->body->u.block.data[i]);
  k->body = body;
}
