// Asynchronous copies: cp.async of 16, 8 or 4 bytes with zero fill at the edges, or plain moves
// where it cannot carry the copy.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

static bool zero_safe(const Buffer *b) {
  if (!b->safe) return true;
  if (b->safe->kind == EX_FLOAT) return b->safe->u.f == 0 && !__builtin_signbit(b->safe->u.f);
  return ex_is(b->safe, 0);
}

static Layout *mapping(Lower *l, const Stmt *loop, int *width) {
  int64_t shape[LOOP_MAX_DIMS];
  for (int i = 0; i < loop->u.loop.nvars; i++)
    if (!ex_const(loop->u.loop.extent[i], &shape[i]) || shape[i] < 1) return NULL;
  while (*width > 1 && shape[loop->u.loop.nvars - 1] % *width) *width /= 2;
  return layout_coalesced(l->arena, shape, loop->u.loop.nvars, 1, l->kernel->threads, *width);
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

static Stmt *only_store(Stmt *s) {
  while (s->kind == ST_BLOCK && s->u.block.len == 1) s = s->u.block.data[0];
  return s->kind == ST_STORE && s->u.store.value->kind == EX_LOAD ? s : NULL;
}

// Body of a copy loop: one store dst[...] = src[...].
bool lower_issue(Lower *l, Stmt *body, Stmt *out) {
  Arena *a = l->arena;
  int width = l->width;
  Stmt *store = only_store(body);
  if (!store) return false;
  Expr *load = store->u.store.value;
  Buffer *src = load->u.load.buf, *dst = store->u.store.buf;
  Expr *si[LOOP_MAX_DIMS * 2], *di[LOOP_MAX_DIMS * 2];
  for (int i = 0; i < load->u.load.n; i++)
    si[i] = lower_simplify(l, lower_expr(l, load->u.load.idx[i]));
  for (int i = 0; i < store->u.store.n; i++)
    di[i] = lower_simplify(l, lower_expr(l, store->u.store.idx[i]));
  Expr *valid = valid_elements(l, lower_guard(l, src, si), width);
  if (!valid) return false;
  Expr *so = lower_offset(l, src, si), *off = lower_offset(l, dst, di);
  if (l->lane) {
    so = lower_simplify(l, ex_subst(a, so, l->lane, ex_index(a, 0)));
    off = lower_simplify(l, ex_subst(a, off, l->lane, ex_index(a, 0)));
  }
  st_add(a, out,
         st_op(a, OP_CP_ASYNC, store->span, region_flat(a, src, so, width),
               region_flat(a, dst, off, width), valid));
  return true;
}

void lower_async_copy(Lower *l, Stmt *s, Stmt *out) {
  LoopWidth *w = lower_width(l, s);
  Stmt *loop = w->loop;
  const Buffer *src = lower_form(l, s->u.op.arg[0].region->buf);
  const Buffer *dst = lower_form(l, s->u.op.arg[1].region->buf);
  bool able = src->scope == SC_GLOBAL && dst->scope == SC_SHARED && src->dtype == dst->dtype &&
              zero_safe(src) && dt_bits(src->dtype) >= 8;
  int width = w->width, bytes = dt_bits(src->dtype) / 8;
  loop->u.loop.layout = mapping(l, loop, &width);
  LoopWidth mine = {loop, loop, width};
  vec_push(l->arena, &l->widths, mine);
  able = able && loop->u.loop.layout && width * bytes >= 4;
  if (able && lower_parallel_async(l, loop, out)) return;
  lower_parallel(l, loop, out); // plain loads and stores
}
