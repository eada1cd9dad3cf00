// Between blocks nothing is ordered: a tensor that blocks along one grid axis share must not be
// both set and updated atomically in one kernel (a split-K kernel that zeroes C in its first
// block).
// SPDX-License-Identifier: MIT
#include "passes/check.h"

typedef struct {
  const Buffer *buf;
  bool atomic;
  uint32_t axes; // grid axes that its place depends on
  Span span;
} Touch;

typedef struct {
  Check *k;
  Subst lets;
  VEC(Touch) touches;
} Walk;

static uint32_t axes_of(const Walk *w, Expr *x) {
  uint32_t axes = 0;
  x = subst_expr(&w->lets, x);
  for (int i = 0; i < 3; i++)
    if (ex_uses(x, w->k->kernel->block[i])) axes |= 1u << i;
  return axes;
}

static void note_access(void *ctx, const Access *acc) {
  Walk *w = ctx;
  if (acc->region.buf->scope != SC_GLOBAL || acc->mode == ACC_READ) return;
  Touch t = {acc->region.buf, acc->mode == ACC_ATOMIC, 0, acc->span};
  for (int i = 0; i < acc->region.n; i++) t.axes |= axes_of(w, acc->region.min[i]);
  vec_push(w->k->c->arena, &w->touches, t);
}

static void note_stmt(void *ctx, Stmt *s) {
  Walk *w = ctx;
  if (s->kind == ST_LET && !walk_has_load(s->u.let.value))
    subst_add(&w->lets, s->u.let.var, subst_expr(&w->lets, s->u.let.value));
  st_accesses(w->k->c->arena, s, note_access, w);
}

static bool several_blocks(const Check *k, int axis) {
  int64_t lo, hi;
  facts_bounds(k->facts, k->kernel->grid[axis], &lo, &hi);
  return hi > 1;
}

void check_blocks(Check *k) {
  static const char axis_names[] = "xyz";
  Walk w = {.k = k, .lets = {.arena = k->c->arena}};
  st_walk(k->kernel->body, note_stmt, &w);
  for (int i = 0; i < w.touches.len; i++) {
    const Touch *set = &w.touches.data[i];
    for (int j = 0; j < w.touches.len && !set->atomic; j++) {
      const Touch *update = &w.touches.data[j];
      if (!update->atomic || update->buf != set->buf) continue;
      uint32_t shared = ~(set->axes | update->axes);
      int axis = 0;
      while (axis < 3 && !(shared >> axis & 1 && several_blocks(k, axis))) axis++;
      if (axis == 3) continue;
      diag_report(k->c->diags, DIAG_SET_AND_UPDATE, set->span, set->buf->name, axis_names[axis],
                  set->buf->name);
      diag_note(k->c->diags, update->span, "the atomic update is here");
      break;
    }
  }
}
