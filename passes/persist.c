// Persistent kernels: as many blocks as run at once walk over the tiles that were blocks before, so
// that the next tile's loads overlap the end of this one.
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"

Tiles persist_open(Arena *a, Kernel *k) {
  Tiles t = {.total = ex_mul(a, ex_mul(a, k->grid[0], k->grid[1]), k->grid[2])};
  for (int i = 0; i < 3; i++) {
    t.block[i] = k->block[i];
    t.grid[i] = k->grid[i];
    k->block[i] = NULL;
    k->grid[i] = ex_index(a, 1);
  }
  k->grid[0] = t.total;
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
    st_add(a, out, st_assume(a, ex_and(a, low, high), out->span));
    subst_add(s, t->block[i], ex_var(a, v));
  }
}

Stmt *persist_tiles(Arena *a, const Kernel *k, const Tiles *t, Stmt *body) {
  Span span = k->span;
  Expr *worker = ex_var(a, k->block[0]), *workers = ex_var(a, k->workers);
  Var *round = var_new(a, "round", DT_INDEX, VAR_LOOP, span);
  Var *tile = var_new(a, "tile", DT_INDEX, VAR_LET, span);
  Stmt *in = st_block(a, span);
  Expr *at = ex_add(a, worker, ex_mul(a, ex_var(a, round), workers));
  st_add(a, in, st_let(a, tile, at, span));
  st_add(a, in, st_assume(a, ex_lt(a, ex_var(a, tile), t->total), span));
  Subst s = {.arena = a};
  name_blocks(a, t, ex_var(a, tile), &s, in);
  subst_stmt(&s, body);
  st_add(a, in, body);
  Expr *left = ex_sub(a, ex_add(a, ex_sub(a, t->total, worker), workers), ex_index(a, 1));
  return st_for(a, LOOP_SERIAL, round, ex_index(a, 0), ex_floordiv(a, left, workers), in, span);
}
