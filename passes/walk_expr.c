// Rebuilding expressions bottom-up.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

static Expr **map_list(Arena *a, Expr **list, int n, ExprMap f, void *ctx) {
  Expr **out = NULL;
  for (int i = 0; i < n; i++) {
    Expr *r = walk_expr(a, list[i], f, ctx);
    if (r == list[i]) continue;
    if (!out) out = arena_copy(a, list, sizeof *list * (size_t)n);
    out[i] = r;
  }
  return out ? out : list;
}

static Expr *map_children(Arena *a, Expr *x, ExprMap f, void *ctx) {
  switch (x->kind) {
  case EX_LOAD: {
    Expr **idx = map_list(a, x->u.load.idx, x->u.load.n, f, ctx);
    if (idx == x->u.load.idx) return x;
    Expr *y = arena_copy(a, x, sizeof *x); // the buffer's rank may be changing
    y->u.load.idx = idx;
    return y;
  }
  case EX_UNARY: {
    Expr *p = walk_expr(a, x->u.un.a, f, ctx);
    return p == x->u.un.a ? x : ex_un(a, x->u.un.op, p);
  }
  case EX_BINARY: {
    Expr *p = walk_expr(a, x->u.bin.a, f, ctx), *q = walk_expr(a, x->u.bin.b, f, ctx);
    return p == x->u.bin.a && q == x->u.bin.b ? x : ex_bin(a, x->u.bin.op, p, q);
  }
  case EX_CAST: {
    Expr *p = walk_expr(a, x->u.cast, f, ctx);
    return p == x->u.cast ? x : ex_cast(a, x->type, p);
  }
  case EX_BITCAST: {
    Expr *p = walk_expr(a, x->u.cast, f, ctx);
    return p == x->u.cast ? x : ex_bitcast(a, x->type, p);
  }
  case EX_SELECT: {
    Expr *c = walk_expr(a, x->u.sel.cond, f, ctx);
    Expr *p = walk_expr(a, x->u.sel.yes, f, ctx), *q = walk_expr(a, x->u.sel.no, f, ctx);
    bool same = c == x->u.sel.cond && p == x->u.sel.yes && q == x->u.sel.no;
    return same ? x : ex_select(a, c, p, q);
  }
  case EX_MATH: {
    Expr **arg = map_list(a, x->u.math.arg, x->u.math.n, f, ctx);
    return arg == x->u.math.arg ? x : ex_math(a, x->u.math.fn, arg, x->u.math.n);
  }
  default: return x;
  }
}

Expr *walk_expr(Arena *a, Expr *x, ExprMap f, void *ctx) {
  return x ? f(ctx, map_children(a, x, f, ctx)) : NULL;
}
