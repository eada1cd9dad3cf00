// Tiles that the async proxy reads (wgmma by descriptor, TMA stores) and plain code writes: a fence
// after every plain write, before the barrier that makes it visible; and before every plain write
// thread 0's wait until the last TMA store has read the tile.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

static void add(Lower *l, BufferVec *set, const Buffer *b) {
  for (int i = 0; i < set->len; i++)
    if (set->data[i] == b) return;
  vec_push(l->arena, set, b);
}

static void scan(void *ctx, Stmt *s) {
  Lower *l = ctx;
  if (s->kind != ST_OP) return;
  if (s->u.op.op == OP_TILE_STORE) {
    add(l, &l->stored, s->u.op.arg[0].region->buf);
    add(l, &l->fenced, s->u.op.arg[0].region->buf);
  }
  if (s->u.op.op != OP_GEMM || !plan_gemm(l->c->plan, s)->wgmma) return;
  for (int i = 0; i < 2; i++)
    if (s->u.op.arg[i].region->buf->scope == SC_SHARED)
      add(l, &l->fenced, s->u.op.arg[i].region->buf);
}

void lower_proxy_scan(Lower *l, Stmt *body) { st_walk(body, scan, l); }

static bool writes(Lower *l, Stmt *s, const BufferVec *set) {
  for (int i = 0; i < set->len; i++)
    if (walk_touches(l->arena, s, set->data[i], true)) return true;
  return false;
}

// A statement at whose end plain writes are done: a leaf, or a parallel loop as a whole.
static bool plain(const Stmt *s) {
  if (s->kind == ST_FOR) return s->u.loop.loop == LOOP_PARALLEL;
  if (s->kind == ST_OP) return s->u.op.op != OP_TILE_LOAD && s->u.op.op != OP_TILE_STORE;
  return s->kind == ST_STORE;
}

static void wait_for_stores(Lower *l, Span span, Stmt *out) {
  Arena *a = l->arena;
  Expr *first = ex_bin(a, BIN_EQ, l->thread, ex_index(a, 0));
  Stmt *wait = st_block(a, span);
  st_add(a, wait, st_op(a, OP_BULK_WAIT, span, (int64_t)0, (int64_t)1));
  st_add(a, out, st_if(a, first, wait, NULL, span));
}

void lower_proxy_before(Lower *l, Stmt *s, Stmt *out) {
  if (l->loop || !l->stored.len || !plain(s) || !writes(l, s, &l->stored)) return;
  wait_for_stores(l, s->span, out);
}

void lower_proxy_end(Lower *l, Span span, Stmt *out) {
  if (l->stored.len) wait_for_stores(l, span, out);
}

void lower_proxy_after(Lower *l, Stmt *s, Stmt *out) {
  if (l->loop || !l->fenced.len) return;
  bool op = s->kind == ST_OP, wait = op && s->u.op.op == OP_ASYNC_WAIT;
  // What cp.async wrote is there after its wait.
  if (op && s->u.op.op == OP_COPY && s->u.op.arg[op_arg(OP_COPY, "async")].i) return;
  if (!wait && (!plain(s) || !writes(l, s, &l->fenced))) return;
  st_add(l->arena, out, st_op(l->arena, OP_FENCE_PROXY, s->span, (int64_t)1));
}
