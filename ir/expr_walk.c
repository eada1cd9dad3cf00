// Expressions: questions, walks and substitution.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

#include <string.h>

Expr *ex_at(Expr *x, Span span) {
  if (x && !x->span.file) x->span = span;
  return x;
}

bool ex_const(const Expr *x, int64_t *value) {
  if (x->kind != EX_INT) return false;
  *value = x->u.i;
  return true;
}

bool ex_is(const Expr *x, int64_t value) { return x->kind == EX_INT && x->u.i == value; }

static bool equal_lists(Expr *const *x, Expr *const *y, int n) {
  for (int i = 0; i < n; i++) {
    if (!ex_equal(x[i], y[i])) return false;
  }
  return true;
}

bool ex_equal(const Expr *x, const Expr *y) {
  if (x == y) return true;
  if (x->kind != y->kind || x->type != y->type) return false;
  switch (x->kind) {
  case EX_INT: return x->u.i == y->u.i;
  case EX_FLOAT: return !memcmp(&x->u.f, &y->u.f, sizeof x->u.f);
  case EX_VAR: return x->u.var == y->u.var;
  case EX_LOAD:
    return x->u.load.buf == y->u.load.buf && x->u.load.n == y->u.load.n &&
           equal_lists(x->u.load.idx, y->u.load.idx, x->u.load.n);
  case EX_UNARY: return x->u.un.op == y->u.un.op && ex_equal(x->u.un.a, y->u.un.a);
  case EX_BINARY:
    return x->u.bin.op == y->u.bin.op && ex_equal(x->u.bin.a, y->u.bin.a) &&
           ex_equal(x->u.bin.b, y->u.bin.b);
  case EX_CAST:
  case EX_BITCAST: return ex_equal(x->u.cast, y->u.cast);
  case EX_SELECT:
    return ex_equal(x->u.sel.cond, y->u.sel.cond) && ex_equal(x->u.sel.yes, y->u.sel.yes) &&
           ex_equal(x->u.sel.no, y->u.sel.no);
  case EX_MATH:
    return x->u.math.fn == y->u.math.fn && equal_lists(x->u.math.arg, y->u.math.arg, x->u.math.n);
  }
  return false;
}

uint64_t hash_mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15u ^ (h >> 29); }

static void hash_node(void *ctx, Expr *x) {
  uint64_t *h = ctx;
  *h = hash_mix(*h, (uint64_t)x->kind * 64 + (uint64_t)x->type);
  if (x->kind == EX_INT) *h = hash_mix(*h, (uint64_t)x->u.i);
  if (x->kind == EX_VAR) *h = hash_mix(*h, (uint64_t)(uintptr_t)x->u.var);
  if (x->kind == EX_LOAD) *h = hash_mix(*h, (uint64_t)(uintptr_t)x->u.load.buf);
  if (x->kind == EX_BINARY) *h = hash_mix(*h, (uint64_t)x->u.bin.op);
}

uint64_t ex_hash(uint64_t h, Expr *x) {
  ex_walk(x, hash_node, &h);
  return h;
}

typedef Expr *(*Mapper)(void *ctx, Var *v);

// Maps n expressions into a new list; the old list when none changed.
static Expr **replace_list(Arena *a, Expr **list, int n, Mapper map, void *ctx) {
  Expr **out = NULL;
  for (int i = 0; i < n; i++) {
    Expr *r = ex_replace(a, list[i], map, ctx);
    if (r == list[i]) continue;
    if (!out) out = arena_copy(a, list, sizeof *list * (size_t)n);
    out[i] = r;
  }
  return out ? out : list;
}

static Expr *replace_children(Arena *a, Expr *x, Mapper map, void *ctx) {
  switch (x->kind) {
  case EX_LOAD: {
    Expr **idx = replace_list(a, x->u.load.idx, x->u.load.n, map, ctx);
    return idx == x->u.load.idx ? x : ex_load(a, x->u.load.buf, idx, x->u.load.n);
  }
  case EX_UNARY: {
    Expr *p = ex_replace(a, x->u.un.a, map, ctx);
    return p == x->u.un.a ? x : ex_un(a, x->u.un.op, p);
  }
  case EX_BINARY: {
    Expr *p = ex_replace(a, x->u.bin.a, map, ctx), *q = ex_replace(a, x->u.bin.b, map, ctx);
    return p == x->u.bin.a && q == x->u.bin.b ? x : ex_bin(a, x->u.bin.op, p, q);
  }
  case EX_CAST: {
    Expr *p = ex_replace(a, x->u.cast, map, ctx);
    return p == x->u.cast ? x : ex_cast(a, x->type, p);
  }
  case EX_BITCAST: {
    Expr *p = ex_replace(a, x->u.cast, map, ctx);
    return p == x->u.cast ? x : ex_bitcast(a, x->type, p);
  }
  case EX_SELECT: {
    Expr *c = ex_replace(a, x->u.sel.cond, map, ctx), *p = ex_replace(a, x->u.sel.yes, map, ctx);
    Expr *q = ex_replace(a, x->u.sel.no, map, ctx);
    if (c == x->u.sel.cond && p == x->u.sel.yes && q == x->u.sel.no) return x;
    return ex_select(a, c, p, q);
  }
  case EX_MATH: {
    Expr **arg = replace_list(a, x->u.math.arg, x->u.math.n, map, ctx);
    return arg == x->u.math.arg ? x : ex_math(a, x->u.math.fn, arg, x->u.math.n);
  }
  default: return x;
  }
}

Expr *ex_replace(Arena *a, Expr *x, Mapper map, void *ctx) {
  if (!x) return NULL;
  if (x->kind == EX_VAR) {
    Expr *by = map(ctx, x->u.var);
    return by ? by : x;
  }
  Expr *r = replace_children(a, x, map, ctx);
  return r == x || x->span.file == 0 ? r : ex_at(r, x->span);
}

typedef struct {
  const Var *var;
  Expr *by;
} Subst;

static Expr *subst_one(void *ctx, Var *v) {
  Subst *s = ctx;
  return v == s->var ? s->by : NULL;
}

Expr *ex_subst(Arena *a, Expr *x, Var *v, Expr *by) {
  Subst s = {v, by};
  return ex_replace(a, x, subst_one, &s);
}

bool ex_uses(const Expr *x, const Var *v) {
  switch (x->kind) {
  case EX_VAR: return x->u.var == v;
  case EX_LOAD:
    for (int i = 0; i < x->u.load.n; i++) {
      if (ex_uses(x->u.load.idx[i], v)) return true;
    }
    return false;
  case EX_UNARY: return ex_uses(x->u.un.a, v);
  case EX_BINARY: return ex_uses(x->u.bin.a, v) || ex_uses(x->u.bin.b, v);
  case EX_CAST:
  case EX_BITCAST: return ex_uses(x->u.cast, v);
  case EX_SELECT:
    return ex_uses(x->u.sel.cond, v) || ex_uses(x->u.sel.yes, v) || ex_uses(x->u.sel.no, v);
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++) {
      if (ex_uses(x->u.math.arg[i], v)) return true;
    }
    return false;
  default: return false;
  }
}

void ex_walk(Expr *x, void (*f)(void *ctx, Expr *x), void *ctx) {
  if (!x) return;
  f(ctx, x);
  switch (x->kind) {
  case EX_LOAD:
    for (int i = 0; i < x->u.load.n; i++) ex_walk(x->u.load.idx[i], f, ctx);
    break;
  case EX_UNARY: ex_walk(x->u.un.a, f, ctx); break;
  case EX_BINARY:
    ex_walk(x->u.bin.a, f, ctx);
    ex_walk(x->u.bin.b, f, ctx);
    break;
  case EX_CAST:
  case EX_BITCAST: ex_walk(x->u.cast, f, ctx); break;
  case EX_SELECT:
    ex_walk(x->u.sel.cond, f, ctx);
    ex_walk(x->u.sel.yes, f, ctx);
    ex_walk(x->u.sel.no, f, ctx);
    break;
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++) ex_walk(x->u.math.arg[i], f, ctx);
    break;
  default: break;
  }
}
