// Canonical forms: sums normalised, what the facts decide decided.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

static Expr *simplify(Facts *f, Expr *x);

static bool integer(DType t) { return dt_is_int(t) && t != DT_U64; }

// The only value x can have, where there is one.
static Expr *only_value(Facts *f, Expr *x) {
  int64_t lo, hi;
  if (!integer(x->type)) return NULL;
  bool simplifying = f->simplifying;
  f->simplifying = false;
  expr_bounds(f, x, &lo, &hi);
  f->simplifying = simplifying;
  if (lo != hi || lo == NO_LO || lo == NO_HI || has_load(x)) return NULL;
  return ex_int(f->arena, x->type, lo);
}

static Expr *simplify_under(Facts *f, Expr *cond, bool holds, Expr *x) {
  int mark = facts_mark(f);
  facts_push_cond(f, holds ? cond : ex_un(f->arena, UN_NOT, cond));
  x = simplify(f, x);
  facts_pop(f, mark);
  return x;
}

static Expr *simplify_select(Facts *f, Expr *x) {
  Expr *cond = simplify(f, x->u.sel.cond);
  int64_t c;
  if (ex_const(cond, &c)) return simplify(f, c ? x->u.sel.yes : x->u.sel.no);
  Expr *yes = simplify_under(f, cond, true, x->u.sel.yes);
  Expr *no = simplify_under(f, cond, false, x->u.sel.no);
  if (cond == x->u.sel.cond && yes == x->u.sel.yes && no == x->u.sel.no) return x;
  return ex_select(f->arena, cond, yes, no);
}

// x & (2^n - 1) of an x within the mask.
static Expr *drop_mask(Facts *f, Expr *x) {
  int64_t mask, lo, hi;
  if (x->kind != EX_BINARY || x->u.bin.op != BIN_BITAND || !integer(x->type)) return x;
  if (!ex_const(x->u.bin.b, &mask) || mask < 0 || (mask & (mask + 1))) return x;
  expr_bounds(f, x->u.bin.a, &lo, &hi);
  return lo >= 0 && hi <= mask ? x->u.bin.a : x;
}

static Expr *simplify_logical(Facts *f, Expr *x) {
  bool both = x->u.bin.op == BIN_AND;
  Expr *p = simplify(f, x->u.bin.a);
  int64_t c;
  if (ex_const(p, &c) && (c != 0) != both) return p;
  Expr *q = simplify_under(f, p, both, x->u.bin.b); // b is evaluated only when a leaves it open
  if (p == x->u.bin.a && q == x->u.bin.b) return x;
  return ex_bin(f->arena, x->u.bin.op, p, q);
}

// The parts simplified, the node rebuilt when any changed.
static Expr *rebuild(Facts *f, Expr *x) {
  Arena *a = f->arena;
  switch (x->kind) {
  case EX_LOAD: {
    Expr **idx = NEWN(a, Expr *, x->u.load.n);
    bool same = true;
    for (int i = 0; i < x->u.load.n; i++) {
      idx[i] = simplify(f, x->u.load.idx[i]);
      same &= idx[i] == x->u.load.idx[i];
    }
    return same ? x : ex_load(a, x->u.load.buf, idx, x->u.load.n);
  }
  case EX_UNARY: {
    Expr *p = simplify(f, x->u.un.a);
    return p == x->u.un.a ? x : ex_un(a, x->u.un.op, p);
  }
  case EX_BINARY: {
    if (x->u.bin.op == BIN_AND || x->u.bin.op == BIN_OR) return simplify_logical(f, x);
    Expr *p = simplify(f, x->u.bin.a), *q = simplify(f, x->u.bin.b);
    return p == x->u.bin.a && q == x->u.bin.b ? x : ex_bin(a, x->u.bin.op, p, q);
  }
  case EX_CAST: {
    Expr *p = simplify(f, x->u.cast);
    return p == x->u.cast ? x : ex_cast(a, x->type, p);
  }
  case EX_BITCAST: {
    Expr *p = simplify(f, x->u.cast);
    return p == x->u.cast ? x : ex_bitcast(a, x->type, p);
  }
  case EX_SELECT: return simplify_select(f, x);
  case EX_MATH: {
    Expr *arg[3];
    bool same = true;
    for (int i = 0; i < x->u.math.n; i++) {
      arg[i] = simplify(f, x->u.math.arg[i]);
      same &= arg[i] == x->u.math.arg[i];
    }
    return same ? x : ex_math(a, x->u.math.fn, arg, x->u.math.n);
  }
  default: return x;
  }
}

Expr *facts_simplify_leaf(Facts *f, Expr *x) {
  Expr *value = only_value(f, x);
  return value ? value : drop_mask(f, rebuild(f, x));
}

/* comparisons */

// neg <= pos, or neg < pos, with both sides sums of positive terms.
static Expr *ordered(Facts *f, const Aff *d) { // d >= 0
  Aff pos = aff_const(0), neg = aff_const(0);
  for (int i = 0; i < d->n; i++) {
    Aff one = aff_atom(d->t[i].atom);
    int64_t c = d->t[i].coeff;
    if (!aff_add(c > 0 ? &pos : &neg, &one, c > 0 ? c : -c)) return NULL;
  }
  if (d->c == INT64_MAX) return NULL;
  bool strict = neg.n != 0 && d->c != 0; // a + 1 <= b reads better as a < b
  int64_t c = strict ? d->c + 1 : d->c;
  if (c > 0) pos.c = c;
  else neg.c = -c;
  return ex_bin(f->arena, strict ? BIN_LT : BIN_LE, aff_expr(f, &neg), aff_expr(f, &pos));
}

// floor(e / d) against a constant needs no division: d' >= 0 with d' a sum in e.
static bool undivide(Facts *f, Aff *d) {
  if (d->n != 1 || (d->t[0].coeff != 1 && d->t[0].coeff != -1)) return false;
  const Atom *a = atom_at(f, d->t[0].atom);
  if (a->kind != AT_FDIV || d->c == INT64_MAX) return false;
  Aff r;
  int64_t k;
  // e // k >= -c where e >= -c * k; e // k <= c where e < (c + 1) * k
  bool above = d->t[0].coeff == 1;
  aff_copy(&r, a->inner);
  if (__builtin_mul_overflow(above ? d->c : d->c + 1, a->d, &k)) return false;
  Aff add = aff_const(above ? k : k - 1);
  if (!aff_add(&add, &r, above ? 1 : -1)) return false;
  aff_copy(d, &add);
  return true;
}

static void reduce(Aff *d) { // d >= 0 without the common divisor of its coefficients
  int64_t g = aff_gcd(d);
  if (g <= 1) return;
  for (int i = 0; i < d->n; i++) d->t[i].coeff /= g;
  d->c = floor_div64(d->c, g);
}

static Expr *equality(Facts *f, BinOp op, Aff *d) { // d == 0 or d != 0
  int64_t g = aff_gcd(d);
  if (g && d->c % g) return ex_bool(f->arena, op == BIN_NE);
  if (d->n && d->t[0].coeff < 0 && !aff_scale(d, -1)) return NULL; // one form of a == b and b == a
  Aff pos = aff_const(0), neg = aff_const(0);
  for (int i = 0; i < d->n; i++) {
    Aff one = aff_atom(d->t[i].atom);
    int64_t c = d->t[i].coeff / (g ? g : 1);
    if (!aff_add(c > 0 ? &pos : &neg, &one, c > 0 ? c : -c)) return NULL;
  }
  int64_t c = d->c / (g ? g : 1);
  if (c > 0) pos.c = c;
  else neg.c = -c;
  if (c > 0 && !neg.n) return NULL; // a + 3 == 0: leave it as written
  return ex_bin(f->arena, op, aff_expr(f, &pos), aff_expr(f, &neg));
}

static Expr *simplify_compare(Facts *f, Expr *x) {
  if (facts_prove(f, x)) return ex_bool(f->arena, true);
  if (disprove(f, x)) return ex_bool(f->arena, false);
  BinOp op = x->u.bin.op;
  Aff a, b, d, one = aff_const(-1);
  if (x->u.bin.a->type != DT_INDEX || has_load(x) || !to_aff(f, x->u.bin.a, &a) ||
      !to_aff(f, x->u.bin.b, &b) || !aff_sub(&d, &b, &a))
    return rebuild(f, x);
  aff_recombine(f, &d);
  Expr *r = NULL;
  if (op == BIN_EQ || op == BIN_NE) {
    r = equality(f, op, &d);
  } else if (op == BIN_LE || aff_add(&d, &one, 1)) {
    reduce(&d);
    while (undivide(f, &d)) reduce(&d);
    r = ordered(f, &d);
  }
  return r ? r : rebuild(f, x);
}

/* the whole */

static Expr *simplify_sum(Facts *f, Expr *x) {
  Aff a;
  if (!to_aff(f, x, &a)) return rebuild(f, x);
  if (a.n == 1 && a.c == 0 && a.t[0].coeff == 1) {
    const Atom *atom = atom_at(f, a.t[0].atom);
    if (atom->kind == AT_OTHER && atom->expr->type != DT_INDEX)
      return ex_cast(f->arena, DT_INDEX, atom->expr);
  }
  return aff_expr(f, &a);
}

static Expr *simplify_node(Facts *f, Expr *x) {
  if (x->type == DT_BOOL) {
    if (x->kind == EX_BINARY && bin_is_compare(x->u.bin.op)) return simplify_compare(f, x);
    if (x->kind == EX_VAR || x->kind == EX_UNARY) {
      if (facts_prove(f, x)) return ex_bool(f->arena, true);
      if (disprove(f, x)) return ex_bool(f->arena, false);
    }
    return rebuild(f, x);
  }
  Expr *value = only_value(f, x);
  if (value) return value;
  if (x->type == DT_INDEX && x->kind != EX_VAR && x->kind != EX_LOAD) return simplify_sum(f, x);
  return drop_mask(f, rebuild(f, x));
}

static Expr *simplify(Facts *f, Expr *x) {
  if (x->kind == EX_INT || x->kind == EX_FLOAT || f->nest > 60) {
    f->sunk += f->nest > 60;
    return x;
  }
  f->nest++;
  Expr *r = simplify_node(f, x);
  f->nest--;
  if (r == x || ex_equal(r, x)) return x; // with its span
  if (!r->span.file && x->span.file && r->kind != EX_INT && r->kind != EX_VAR) ex_at(r, x->span);
  return r;
}

Expr *facts_simplify(Facts *f, Expr *x) {
  bool simplifying = f->simplifying;
  f->simplifying = true;
  Expr *r = simplify(f, x);
  f->simplifying = simplifying;
  return r;
}
