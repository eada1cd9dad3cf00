// Programmatic dependent launch: a kernel may start while the one before it on its stream ends, and
// waits for that before the first statement that could touch a tensor. What goes before is only
// what sets up barriers of the block.
//
// A kernel with a producer may go further: where what the producer reads has nothing to do with the
// program's kernel before it, its loads begin beside that one, as soon as all of that one's blocks
// have waited for what is before both, and it waits only before what meets that one.
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

static void wait_first(Kernel *k, PassCtx *c, bool trigger) {
  Arena *a = c->arena;
  Stmt *body = st_block(a, k->body->span);
  int i = 0;
  for (; i < k->body->u.block.len && sets_up(k->body->u.block.data[i]); i++)
    st_add(a, body, k->body->u.block.data[i]);
  st_add(a, body, st_op(a, OP_GRID_WAIT, k->body->span));
  if (trigger) st_add(a, body, st_op(a, OP_GRID_TRIGGER, k->body->span));
  for (; i < k->body->u.block.len; i++) st_add(a, body, k->body->u.block.data[i]);
  k->body = body;
}

/* ------------------------------------------------------------------ beside the kernel before */

// Its statements wait where they first meet the traffic of the kernel before; *waited: all threads
// that get past s have. What takes slots of channels is gone into, so that it goes ahead.
static Stmt *wait_late(Arena *a, const Traffic *t, Stmt *s, bool *waited) {
  if (*waited || !traffic_meets_any(t, s)) return s;
  if (s->kind == ST_BLOCK) {
    Stmt *block = st_block(a, s->span);
    for (int i = 0; i < s->u.block.len; i++)
      st_add(a, block, wait_late(a, t, s->u.block.data[i], waited));
    return block;
  }
  bool inside = st_has_op(s, OP_MBAR_WAIT) && !traffic_meets(t, s);
  if (inside && s->kind == ST_IF) {
    bool yes = false, no = false;
    s->u.branch.yes = wait_late(a, t, s->u.branch.yes, &yes);
    if (s->u.branch.no) s->u.branch.no = wait_late(a, t, s->u.branch.no, &no);
    *waited = yes && no;
    return s;
  }
  if (inside && s->kind == ST_FOR) {
    bool turn = false; // there may be none
    s->u.loop.body = wait_late(a, t, s->u.loop.body, &turn);
    return s;
  }
  Stmt *both = st_block(a, s->span);
  st_add(a, both, st_op(a, OP_GRID_WAIT, s->span));
  st_add(a, both, s);
  *waited = true;
  return both;
}

typedef struct {
  Arena *arena;
  const Traffic *t;
  bool found;
} Plain;

// A plain load of what that kernel writes: the text's compiler could move it ahead of a wait that
// is not the kernel's first statement, as it may take tensors that a kernel only reads for
// constant.
static void plain_load(void *ctx, const Access *x) {
  Plain *p = ctx;
  if (x->mode == ACC_READ && x->region.buf->scope == SC_GLOBAL)
    p->found |= traffic_writes(p->t, x->region.buf);
}

static void plain_loads(void *ctx, Stmt *s) {
  st_accesses(((Plain *)ctx)->arena, s, plain_load, ctx);
}

// Would its producer's loads go ahead of a late wait?
static bool gains(Arena *a, const Traffic *t, Kernel *k) {
  Plain plain = {a, t, false};
  st_walk(k->body, plain_loads, &plain);
  if (plain.found) return false;
  for (int i = 0; i < k->body->u.block.len; i++) {
    Stmt *s = k->body->u.block.data[i];
    if (s->kind == ST_IF && s->u.branch.roles)
      return !traffic_meets_any(t, s->u.branch.no) && st_has_op(s->u.branch.no, OP_TMA_LOAD);
    if (traffic_meets_any(t, s)) return false;
  }
  return false;
}

void pdl_kernels(Program *p, PassCtx *c) {
  Arena *a = c->arena;
  bool trigger = false; // for the kernel behind
  for (int i = p->kernels.len - 1; i >= 0; i--) {
    Kernel *k = p->kernels.data[i];
    bool asked = trigger, waited = false;
    trigger = false;
    if (!c->target->bulk || !pass_flag(c, k, "pdl", 1)) continue;
    const Traffic *t = i > 0 ? traffic_new(a, p->kernels.data[i - 1]) : NULL;
    if (!t || !gains(a, t, k)) {
      wait_first(k, c, asked);
      continue;
    }
    trigger = true;
    Stmt *body = st_block(a, k->body->span);
    st_add(a, body, wait_late(a, t, k->body, &waited));
    st_add(a, body, st_op(a, OP_GRID_WAIT, k->body->span));
    k->body = body;
    diag_remark(c->diags, k->span, "tidy",
                "its producer starts beside the kernel before it, which the consumers wait for");
  }
}
