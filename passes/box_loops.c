// Parallel loops that take a shared tile to a box of a tensor, element by element, or in a
// pipelined loop the box to the tile, are the copy or the atomic of tiles that TMA can carry:
//   for i, j: C[x + i, y + j] = S[i, j]   becomes   copy C[x +: m, y +: n] <- S[0 +: m, 0 +: n]
// Others stay loops.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

typedef struct {
  PassCtx *c;
  Kernel *kernel;
  Facts *facts;
  VEC(const Stmt *) pipelined; // blocks in loops of which a producer may fill the tiles
} Boxes;

// The box that the loop walks with these indices: each of its variables is part of one index, with
// a factor of 1, in the loop's order. NULL: it walks none.
static Region *box_of(Arena *a, const Stmt *loop, Buffer *b, Expr *const *idx, int n) {
  Expr **min = NEWN(a, Expr *, n), **extent = NEWN(a, Expr *, n);
  int next = 0; // variable of the loop
  for (int d = 0; d < n; d++) {
    const Var *v = next < loop->u.loop.nvars ? loop->u.loop.var[next] : NULL;
    min[d] = idx[d];
    extent[d] = ex_index(a, 1);
    if (v && ex_uses(idx[d], v)) {
      Affine x = ex_affine(a, idx[d]);
      for (int i = 0; i < x.n; i++)
        if (x.term[i]->kind == EX_VAR && x.term[i]->u.var == v && x.coeff[i] == 1) x.coeff[i] = 0;
      min[d] = ex_from_affine(a, &x);
      extent[d] = loop->u.loop.extent[next++];
    }
    for (int i = 0; i < loop->u.loop.nvars; i++)
      if (ex_uses(min[d], loop->u.loop.var[i])) return NULL;
  }
  return next == loop->u.loop.nvars ? region_new(a, b, min, extent) : NULL;
}

// What the loop does as one op; NULL: it is no such loop.
static Stmt *tile_op(Arena *a, const Stmt *loop) {
  int64_t n;
  if (loop->kind != ST_FOR || loop->u.loop.loop != LOOP_PARALLEL) return NULL;
  if (loop->u.loop.layout || loop->u.loop.cond) return NULL;
  for (int i = 0; i < loop->u.loop.nvars; i++)
    if (!ex_is(loop->u.loop.min[i], 0) || !ex_const(loop->u.loop.extent[i], &n)) return NULL;
  const Stmt *s = st_only(loop->u.loop.body);
  bool store = s->kind == ST_STORE;
  if (!store && (s->kind != ST_OP || s->u.op.op != OP_ATOMIC)) return NULL;
  const Arg *arg = s->u.op.arg;
  if (!store && (arg[3].i || arg[4].region)) return NULL;
  const Expr *value = store ? s->u.store.value : arg[1].expr;
  if (value->kind != EX_LOAD) return NULL;
  Buffer *to = store ? s->u.store.buf : arg[0].region->buf;
  Region *src = box_of(a, loop, value->u.load.buf, value->u.load.idx, value->u.load.n);
  Region *dst = store ? box_of(a, loop, to, s->u.store.idx, s->u.store.n)
                      : box_of(a, loop, to, arg[0].region->min, arg[0].region->n);
  if (!src || !dst) return NULL;
  return store ? st_op(a, OP_COPY, s->span, src, dst, (int64_t)0)
               : st_op(a, OP_ATOMIC_TILE, s->span, dst, src, arg[2].i);
}

static void note_block(void *ctx, Stmt *s) {
  Boxes *x = ctx;
  if (s->kind == ST_BLOCK) vec_push(x->c->arena, &x->pipelined, s);
}

static void note_loop(void *ctx, Stmt *s) {
  if (s->kind == ST_FOR && s->u.loop.loop == LOOP_PIPELINED && s->u.loop.num_stages > 0)
    st_walk(s->u.loop.body, note_block, ctx);
}

static bool is_pipelined(const Boxes *x, const Stmt *block) {
  for (int i = 0; i < x->pipelined.len; i++)
    if (x->pipelined.data[i] == block) return true;
  return false;
}

// Can TMA do it, which stands in the block already?
static bool by_tma(const Boxes *x, const Stmt *block, const Stmt *op) {
  bool copy = op->u.op.op == OP_COPY;
  Scope from = op->u.op.arg[!copy].region->buf->scope, to = op->u.op.arg[copy].region->buf->scope;
  if (from == SC_SHARED && to == SC_GLOBAL)
    return pass_flag(x->c, x->kernel, "tma-store", 1) &&
           !plan_tma_store_why(x->c, x->facts, x->kernel, op);
  return copy && from == SC_GLOBAL && to == SC_SHARED && is_pipelined(x, block) &&
         !plan_tma_why(x->c, x->facts, x->kernel, op);
}

static void visit(void *ctx, Stmt *block) {
  Boxes *x = ctx;
  for (int i = 0; block->kind == ST_BLOCK && i < block->u.block.len; i++) {
    Stmt *loop = block->u.block.data[i], *op = tile_op(x->c->arena, loop);
    if (!op) continue;
    block->u.block.data[i] = op;
    if (!by_tma(x, block, op)) block->u.block.data[i] = loop;
  }
}

void box_loops(PassCtx *c, const Program *p, Kernel *k) {
  if (!c->target->bulk) return;
  Boxes x = {c, k, facts_new(c->arena, p, k), {0}};
  st_walk(k->body, note_loop, &x);
  walk_facts(c->arena, x.facts, k->body, visit, &x);
}
