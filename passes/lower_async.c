// Asynchronous copies: cp.async of 16, 8 or 4 bytes with zero fill at the edges, or plain moves
// where it cannot carry the copy.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

static Layout *mapping(Lower *l, const Stmt *loop, int *width) {
  int64_t shape[LOOP_MAX_DIMS];
  for (int i = 0; i < loop->u.loop.nvars; i++)
    if (!ex_const(loop->u.loop.extent[i], &shape[i]) || shape[i] < 1) return NULL;
  while (*width > 1 && shape[loop->u.loop.nvars - 1] % *width) *width /= 2;
  return layout_coalesced(l->arena, shape, loop->u.loop.nvars, 1, l->threads, *width);
}

// Splits a guard into what decides for the whole vector and, for a bound that may fall inside it,
// the number of elements before the bound.
static Expr *valid_elements(Lower *l, Expr *guard, int width) {
  Arena *a = l->arena;
  Expr *whole = NULL, *count = ex_index(a, width);
  while (guard) {
    Expr *one = guard;
    guard = NULL;
    if (one->kind == EX_BINARY && one->u.bin.op == BIN_AND) {
      guard = one->u.bin.a;
      one = one->u.bin.b;
    }
    if (!l->lane || !ex_uses(one, l->lane)) {
      whole = ex_and(a, one, whole);
      continue;
    }
    if (one->u.bin.op != BIN_LT) return NULL;
    Expr *first = ex_subst(a, one->u.bin.a, l->lane, ex_index(a, 0));
    Expr *left = ex_sub(a, one->u.bin.b, first);
    count = ex_bin(a, BIN_MIN, ex_bin(a, BIN_MAX, left, ex_index(a, 0)), count);
  }
  if (whole) count = ex_select(a, whole, count, ex_index(a, 0));
  return lower_simplify(l, count);
}

// Does the offset grow by one from lane to lane, beginning at a multiple of the width?
static bool one_vector(Lower *l, const Buffer *b, Expr *offset, Expr *first, int width) {
  if (!l->lane) return true;
  if (b->scope == SC_GLOBAL && b->align % (width * dt_bytes(b->dtype))) return false;
  Expr *step = lower_simplify(l, ex_sub(l->arena, offset, first));
  return step->kind == EX_VAR && step->u.var == l->lane &&
         facts_divisor(l->facts, first) % width == 0;
}

// When the elements exist and the gather wants them: addresses are computed all the same, so that
// nothing in those may rest on it.
static Expr *wanted(Lower *l, const GatherLoop *g, Expr **si) {
  Expr *cond = g->cond ? lower_simplify(l, lower_expr(l, g->cond)) : NULL;
  cond = width_drop_lane(l->arena, l->facts, cond, l->lane, l->width);
  int mark = facts_mark(l->facts);
  if (cond) facts_push_cond(l->facts, cond);
  Expr *guard = lower_guard(l, g->src, si);
  facts_pop(l->facts, mark);
  return ex_and(l->arena, cond, guard);
}

bool lower_issue(Lower *l, const GatherLoop *g, Stmt *out) {
  Arena *a = l->arena;
  int width = l->width;
  Stmt *store = g->store;
  Expr *load = g->load;
  Buffer *src = g->src, *dst = g->dst;
  Expr *si[LOOP_MAX_DIMS * 2], *di[LOOP_MAX_DIMS * 2];
  for (int i = 0; i < load->u.load.n; i++)
    si[i] = lower_simplify(l, lower_expr(l, load->u.load.idx[i]));
  for (int i = 0; i < store->u.store.n; i++)
    di[i] = lower_simplify(l, lower_expr(l, store->u.store.idx[i]));
  Expr *valid = valid_elements(l, wanted(l, g, si), width);
  if (!valid) return false;
  Expr *from = lower_offset(l, src, si), *to = lower_offset(l, dst, di), *so = from, *off = to;
  if (l->lane) {
    so = lower_simplify(l, ex_subst(a, from, l->lane, ex_index(a, 0)));
    off = lower_simplify(l, ex_subst(a, to, l->lane, ex_index(a, 0)));
  }
  if (!one_vector(l, src, from, so, width) || !one_vector(l, dst, to, off, width)) return false;
  st_add(a, out,
         st_op(a, OP_CP_ASYNC, store->span, region_flat(a, src, so, width),
               region_flat(a, dst, off, width), valid));
  return true;
}

// As cp.async of `width` elements, or as plain loads and stores.
static bool try_width(Lower *l, LoopWidth *w, int width, bool async, Stmt *out) {
  w->width = width;
  w->loop->u.loop.layout = mapping(l, w->loop, &w->width);
  if (!async) return lower_parallel(l, w->loop, out), true;
  return w->loop->u.loop.layout && lower_parallel_async(l, w->loop, out);
}

// Of a copy, or of a gather as a loop.
void lower_async_copy(Lower *l, Stmt *s, Stmt *out) {
  const LoopWidth *w = lower_width(l, s);
  GatherLoop g;
  if (!gather_parts(w->loop, &g)) die("an async copy that is no gather");
  const Buffer *src = lower_form(l, g.src), *dst = lower_form(l, g.dst);
  bool able = src->scope == SC_GLOBAL && dst->scope == SC_SHARED && src->dtype == dst->dtype &&
              plan_zero_safe(src) && dt_bits(src->dtype) >= 8;
  int width = w->width, bytes = dt_bits(src->dtype) / 8;
  vec_push(l->arena, &l->widths, ((LoopWidth){w->loop, w->loop, width}));
  LoopWidth *mine = &l->widths.data[l->widths.len - 1];
  for (int v = width; able && v >= 1 && v * bytes >= 4; v /= 2)
    if (try_width(l, mine, v, true, out)) return;
  try_width(l, mine, width, false, out);
}
