// The slot that a warpgroup multiplies is the same in all its lanes, and comes from lane 0: so
// ptxas knows it, and keeps the descriptors that are made of it in uniform registers. It would else
// move each to them before each product, four instructions for a wgmma. In loops that do nothing
// else: a softmax between products waits for the lane longer than that.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

typedef struct {
  Arena *arena;
  int products; // of the kernel
  const Var *slot;
  bool found;
} Use;

static void use_slot(void *ctx, Stmt *s) {
  Use *u = ctx;
  if (!st_is_op(s, OP_WGMMA)) return;
  const Expr *a = s->u.op.arg[op_arg(OP_WGMMA, "a_lo")].expr;
  const Expr *b = s->u.op.arg[op_arg(OP_WGMMA, "b_lo")].expr;
  if ((a && ex_uses(a, u->slot)) || ex_uses(b, u->slot)) u->found = true;
}

// The counter that a let reads; NULL: none.
static Expr *counter(const Stmt *s) {
  if (s->kind != ST_LET) return NULL;
  Expr *x = s->u.let.value;
  if (x->kind == EX_CAST) x = x->u.cast;
  bool local = x->kind == EX_LOAD && x->u.load.buf->scope == SC_LOCAL;
  return local && x->type == DT_I32 ? x : NULL;
}

// Does the block issue all n products of the kernel, and nothing that takes long?
static bool only_multiplies(Stmt *block, int n) {
  int here = 0;
  for (int i = 0; i < block->u.block.len; i++) {
    if (block->u.block.data[i]->kind == ST_FOR) return false;
    here += st_is_op(block->u.block.data[i], OP_WGMMA);
  }
  return here == n;
}

static void broadcast(void *ctx, Stmt *s) {
  Use *u = ctx;
  Arena *a = u->arena;
  if (s->kind != ST_BLOCK || !only_multiplies(s, u->products)) return;
  StmtVec out = {0};
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *x = s->u.block.data[i];
    Expr *from = counter(x), *lane = ex_int(a, DT_I32, 0);
    Use here = {.arena = a, .slot = from ? x->u.let.var : NULL};
    for (int j = i + 1; from && j < s->u.block.len; j++)
      st_walk(s->u.block.data[j], use_slot, &here);
    if (here.found) {
      Region *to = region_flat(a, from->u.load.buf, from->u.load.idx[0], 1);
      vec_push(a, &out,
               st_op(a, OP_SHUFFLE, x->span, from, to, lane, (int64_t)SHUFFLE_INDEX, (int64_t)32));
    }
    vec_push(a, &out, x);
  }
  s->u.block = out;
}

void slots_kernel(Kernel *k, PassCtx *c) {
  Use u = {.arena = c->arena};
  if (!c->target->bulk) return;
  u.products = st_count_op(k->body, OP_WGMMA);
  if (u.products) st_walk(k->body, broadcast, &u);
}
