// Tiles that the async proxy reads (wgmma by descriptor, TMA stores) and plain code writes: a fence
// after every plain write, before the barrier that makes it visible; and at the end thread 0's wait
// until the last TMA store has read its tile. Waits before the next write are the sync pass's.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

static void add(Lower *l, const Buffer *b) {
  for (int i = 0; i < l->fenced.len; i++)
    if (l->fenced.data[i] == b) return;
  vec_push(l->arena, &l->fenced, b);
}

static void scan(void *ctx, Stmt *s) {
  Lower *l = ctx;
  if (s->kind != ST_OP) return;
  if (s->u.op.op == OP_TILE_STORE || s->u.op.op == OP_TILE_REDUCE) {
    l->stores = true;
    add(l, s->u.op.arg[0].region->buf);
  }
  if (s->u.op.op != OP_GEMM || !plan_gemm(l->c->plan, s)->wgmma) return;
  WgmmaLoaded loaded = plan_gemm(l->c->plan, s)->loaded;
  for (int i = 0; i < 2; i++) {
    const Buffer *b = s->u.op.arg[i].region->buf;
    if (b->scope == SC_SHARED && loaded != (i ? WGMMA_B_LOADED : WGMMA_A_LOADED)) add(l, b);
  }
}

static bool writes(Lower *l, Stmt *s) {
  for (int i = 0; i < l->fenced.len; i++)
    if (walk_touches(l->arena, s, l->fenced.data[i], true)) return true;
  return false;
}

// Does it write asynchronously? What cp.async wrote is there after its wait.
static bool flies(const Stmt *s) {
  if (s->kind == ST_FOR) return s->u.loop.async;
  return s->kind == ST_OP && s->u.op.op == OP_COPY && s->u.op.arg[op_arg(OP_COPY, "async")].i;
}

static void scan_async(void *ctx, Stmt *s) {
  Lower *l = ctx;
  l->fenced_async |= flies(s) && writes(l, s);
}

void lower_proxy_scan(Lower *l, Stmt *body) {
  st_walk(body, scan, l);
  st_walk(body, scan_async, l);
}

// A statement at whose end plain writes are done: a leaf, or a parallel loop as a whole.
static bool plain(const Stmt *s) {
  if (s->kind == ST_FOR) return s->u.loop.loop == LOOP_PARALLEL;
  if (s->kind == ST_OP) return s->u.op.op != OP_TILE_LOAD;
  return s->kind == ST_STORE;
}

void lower_proxy_end(Lower *l, Span span, Stmt *out) {
  if (!l->stores) return;
  Arena *a = l->arena;
  Expr *first = ex_bin(a, BIN_EQ, l->thread, ex_index(a, 0));
  Stmt *wait = st_block(a, span);
  st_add(a, wait, st_op(a, OP_BULK_WAIT, span, (int64_t)0, (int64_t)1));
  st_add(a, out, st_if(a, first, wait, NULL, span));
}

void lower_proxy_after(Lower *l, Stmt *s, Stmt *out, int from) {
  if (l->loop || !l->fenced.len) return;
  bool wait = s->kind == ST_OP && s->u.op.op == OP_ASYNC_WAIT, copied = false;
  for (int i = from; i < out->u.block.len && flies(s); i++) // by plain moves where none of these is
    copied |= st_has_op(out->u.block.data[i], OP_CP_ASYNC);
  if (wait ? !l->fenced_async : copied || !plain(s) || !writes(l, s)) return;
  st_add(l->arena, out, st_op(l->arena, OP_FENCE_PROXY, s->span, (int64_t)1));
}
