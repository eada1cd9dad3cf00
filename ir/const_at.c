// What an integer expression is where some variables have known values. Threads are asked about one
// by one, so that this is done without building the expressions in between.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

typedef struct {
  Var *const *var;
  const int64_t *at;
  int n;
} Values;

static bool value(const Values *v, const Expr *x, int64_t *out);

static bool variable(const Values *v, const Var *var, int64_t *out) {
  for (int i = 0; i < v->n; i++) {
    if (v->var[i] != var || var->type != DT_INDEX) continue;
    *out = v->at[i];
    return true;
  }
  return false;
}

static bool unary(const Values *v, const Expr *x, int64_t *out) {
  int64_t p;
  if (!value(v, x->u.un.a, &p)) return false;
  if (x->u.un.op == UN_NOT || (x->u.un.op == UN_BITNOT && x->type == DT_BOOL)) *out = !p;
  else if (x->u.un.op == UN_BITNOT) *out = fold_wrap(x->type, ~p);
  else if (x->type == DT_INDEX && p == INT64_MIN) return false;
  else *out = fold_wrap(x->type, (int64_t)-(uint64_t)p);
  return true;
}

static bool binary(const Values *v, const Expr *x, int64_t *out) {
  int64_t p, q;
  DType t = x->u.bin.a->type;
  if (dt_is_float(t) || !value(v, x->u.bin.a, &p) || !value(v, x->u.bin.b, &q)) return false;
  if (!bin_is_compare(x->u.bin.op)) return fold_int(x->u.bin.op, t, p, q, out);
  Expr a = {.kind = EX_INT, .type = t, .u.i = p}, b = {.kind = EX_INT, .type = t, .u.i = q};
  bool holds;
  if (!fold_compare(x->u.bin.op, t, &a, &b, &holds)) return false;
  *out = holds;
  return true;
}

// False where it is not known at once: then the constructors have to fold it.
static bool value(const Values *v, const Expr *x, int64_t *out) {
  int64_t c;
  switch (x->kind) {
  case EX_INT: *out = x->u.i; return true;
  case EX_VAR: return variable(v, x->u.var, out);
  case EX_UNARY: return !dt_is_float(x->type) && unary(v, x, out);
  case EX_BINARY: return binary(v, x, out);
  case EX_CAST:
    if (dt_is_float(x->type) || dt_is_float(x->u.cast->type) || !value(v, x->u.cast, &c))
      return false;
    *out = fold_wrap(x->type, c);
    return true;
  case EX_SELECT:
    return value(v, x->u.sel.cond, &c) && value(v, c ? x->u.sel.yes : x->u.sel.no, out);
  default: return false;
  }
}

bool ex_const_at(Arena *a, Expr *x, Var *const *var, const int64_t *at, int n, int64_t *out) {
  Values v = {var, at, n};
  if (value(&v, x, out)) return true;
  for (int i = 0; i < n; i++) x = ex_subst(a, x, var[i], ex_index(a, at[i]));
  return ex_const(x, out);
}
