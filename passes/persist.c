// Persistent kernels: as many blocks as run at once walk over the tiles that were blocks before, so
// that the next tile's loads overlap the end of this one.
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"

Tiles persist_open(Arena *a, Kernel *k, int each) {
  Tiles t = {.total = ex_mul(a, ex_mul(a, k->grid[0], k->grid[1]), k->grid[2])};
  t.each = ex_index(a, each);
  for (int i = 0; i < 3; i++) {
    t.block[i] = k->block[i];
    t.grid[i] = k->grid[i];
    k->block[i] = NULL;
    k->grid[i] = ex_index(a, 1);
  }
  k->grid[0] = ex_mul(a, t.total, t.each);
  k->block[0] = var_new(a, "worker", DT_INDEX, VAR_BLOCK, k->span);
  k->workers = var_new(a, "workers", DT_INDEX, VAR_WORKERS, k->span);
  return t;
}

// The former block indices of tile `rest` become lets; what is known of them, assumptions.
static void name_blocks(Arena *a, const Tiles *t, Expr *rest, Subst *s, Stmt *out) {
  Expr *zero = ex_index(a, 0), *one = ex_index(a, 1);
  for (int i = 0; i < 3; i++) {
    Expr *above = ex_mul(a, i < 1 ? t->grid[1] : one, i < 2 ? t->grid[2] : one);
    Expr *value = ex_is(above, 1) ? rest : ex_floormod(a, rest, t->grid[i]);
    rest = ex_floordiv(a, rest, t->grid[i]);
    if (!t->block[i]) continue;
    Var *v = var_new(a, t->block[i]->name, DT_INDEX, VAR_LET, t->block[i]->span);
    st_add(a, out, st_let(a, v, value, out->span));
    Expr *low = ex_bin(a, BIN_LE, zero, ex_var(a, v)), *high = ex_lt(a, ex_var(a, v), t->grid[i]);
    st_add(a, out, st_known(a, ex_and(a, low, high), out->span));
    subst_add(s, t->block[i], ex_var(a, v));
  }
}

static void note_wait(void *ctx, Stmt *s) {
  if (s->kind == ST_OP && s->u.op.op == OP_MBAR_WAIT) *(bool *)ctx = true;
}

static bool waits(Stmt *s) {
  bool found = false;
  st_walk(s, note_wait, &found);
  return found;
}

static Stmt *team_barrier(Arena *a, const Kernel *k, OpCode op, Expr *team, Expr *when, Span span) {
  Expr *id = ex_add(a, team, ex_index(a, TEAMS_BARRIERS + k->teams));
  Stmt *block = st_block(a, span);
  int64_t threads = (int64_t)k->threads * k->teams;
  st_add(a, block, st_op(a, op, span, ex_cast(a, DT_I32, id), threads));
  return st_if(a, when, block, NULL, span);
}

// A team begins to take slots when the one whose tile comes before has taken all that it needs:
// until then a slot's barrier may be in an earlier phase, whose parity would be taken for this one.
static void order_teams(Arena *a, const Kernel *k, Var *round, Expr *more, Stmt *body) {
  Stmt *out = st_block(a, body->span);
  Expr *team = ex_var(a, k->team), *one = ex_index(a, 1), *zero = ex_index(a, 0);
  Expr *next = ex_floormod(a, ex_add(a, team, one), ex_index(a, k->teams));
  Expr *later = ex_bin(a, BIN_NE, ex_var(a, round), zero);
  int first = -1, last = -1;
  for (int i = 0; i < body->u.block.len; i++) {
    if (!waits(body->u.block.data[i])) continue;
    if (first < 0) first = i;
    last = i;
  }
  const Stmt *only = first >= 0 && first == last ? body->u.block.data[first] : NULL;
  if (only && only->kind == ST_IF && waits(only->u.branch.yes) && waits(only->u.branch.no)) {
    order_teams(a, k, round, more, only->u.branch.yes);
    order_teams(a, k, round, more, only->u.branch.no);
    return;
  }
  for (int i = 0; i < body->u.block.len; i++) {
    if (i == first) st_add(a, out, team_barrier(a, k, OP_BAR_SYNC, team, later, body->span));
    st_add(a, out, body->u.block.data[i]);
    if (i == last) st_add(a, out, team_barrier(a, k, OP_BAR_ARRIVE, next, more, body->span));
  }
  body->u.block = out->u.block;
}

bool persist_walks(const Kernel *k, const Stmt *loop) {
  return k->workers && ex_uses(loop->u.loop.extent[0], k->workers);
}

Stmt *persist_tiles(Arena *a, const Kernel *k, const Tiles *t, Stmt *body, Stmt *skip) {
  Span span = k->span;
  Expr *worker = ex_var(a, k->block[0]), *workers = ex_var(a, k->workers);
  Var *round = var_new(a, "round", DT_INDEX, VAR_LOOP, span);
  Var *tile = var_new(a, "tile", DT_INDEX, VAR_LET, span), *place = tile;
  Stmt *in = st_block(a, span);
  Expr *at = ex_add(a, worker, ex_mul(a, ex_var(a, round), workers));
  Expr *total = ex_mul(a, t->total, t->each);
  if (!ex_is(t->each, 1)) place = var_new(a, "place", DT_INDEX, VAR_LET, span);
  st_add(a, in, st_let(a, place, at, span));
  st_add(a, in, st_known(a, ex_lt(a, ex_var(a, place), total), span));
  if (place != tile)
    st_add(a, in, st_let(a, tile, ex_floordiv(a, ex_var(a, place), t->each), span));
  if (skip) {
    order_teams(a, k, round, ex_lt(a, ex_add(a, ex_var(a, place), workers), total), body);
    Expr *turn = ex_floormod(a, ex_var(a, round), ex_index(a, k->teams));
    Expr *ours = ex_bin(a, BIN_EQ, turn, ex_var(a, k->team));
    body = st_if(a, ours, walk_block(a, body), walk_block(a, skip), span);
  }
  Subst s = {.arena = a};
  name_blocks(a, t, ex_var(a, tile), &s, in);
  subst_stmt(&s, body);
  st_add(a, in, body);
  Expr *left = ex_sub(a, ex_add(a, ex_sub(a, total, worker), workers), ex_index(a, 1));
  return st_for(a, LOOP_SERIAL, round, ex_index(a, 0), ex_floordiv(a, left, workers), in, span);
}
