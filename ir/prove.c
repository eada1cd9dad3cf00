// Proving conditions from the facts.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

enum { DEPTH = 4 };

// x >= 0
static bool prove_ge(Facts *f, const Aff *x) {
  int64_t lo = aff_lower(f, x, 0, DEPTH);
  return lo != NO_LO && lo >= 0;
}

/* x != 0 */

static bool modulus_of(Facts *f, const Aff *x, int64_t m, Aff *rest);

// x modulo m: multiples of m drop, inner modulos of a multiple of m open. False on overflow.
static bool modulus_step(Facts *f, const Aff *x, int64_t m, Aff *rest, bool *changed) {
  *rest = aff_const(x->c - floor_div64(x->c, m) * m);
  for (int i = 0; i < x->n; i++) {
    const Atom *a = atom_at(f, x->t[i].atom);
    int64_t c = x->t[i].coeff % m, p;
    Aff one = aff_atom(x->t[i].atom);
    if (!c) continue;
    if (a->kind == AT_MOD && !__builtin_mul_overflow(c, a->d, &p) && p % m == 0) {
      if (!aff_add(rest, a->inner, c)) return false;
      *changed = true;
      continue;
    }
    int64_t d = aff_divisor(f, &one, 2);
    if (d == 0 || (!__builtin_mul_overflow(c, d, &p) && p % m == 0)) continue;
    if (!aff_add(rest, &one, c)) return false;
  }
  return true;
}

static bool modulus_of(Facts *f, const Aff *x, int64_t m, Aff *rest) {
  Aff now;
  aff_copy(&now, x);
  for (int round = 0; round < 8; round++) {
    bool changed = false;
    if (!modulus_step(f, &now, m, rest, &changed)) return false;
    aff_copy(&now, rest);
    if (!changed) break;
  }
  int64_t k = floor_div64(rest->c, m) * m;
  rest->c -= k;
  return true;
}

// Never a multiple of m, so never 0?
static bool never_multiple(Facts *f, const Aff *x, int64_t m, int depth) {
  Aff rest;
  if (m <= 1 || !modulus_of(f, x, m, &rest)) return false;
  int64_t g = gcd64(aff_gcd(&rest), m);
  if (rest.n == 0) g = m;
  if (rest.c % g) return true;
  int64_t lo = aff_lower(f, &rest, NO_HI, 1), hi = aff_upper(f, &rest, 1);
  if (lo != NO_LO && hi != NO_HI && floor_div64(hi, m) == floor_div64(lo - 1, m)) return true;
  for (int i = 0; i < rest.n && depth > 0; i++) {
    for (const Mention *u = atom_at(f, rest.t[i].atom)->facts; u; u = u->older) {
      const FactEntry *e = &f->stack.data[u->fact];
      int64_t c = aff_coeff(e->aff, rest.t[i].atom);
      Aff next;
      if (e->kind != FACT_EQ || (c != 1 && c != -1)) continue;
      aff_copy(&next, &rest);
      if (aff_add(&next, e->aff, -c * rest.t[i].coeff) && never_multiple(f, &next, m, depth - 1))
        return true;
    }
  }
  return false;
}

static void primitive(Aff *x) { // without the common divisor of everything
  int64_t g = gcd64(aff_gcd(x), x->c);
  if (g <= 1) return;
  for (int i = 0; i < x->n; i++) x->t[i].coeff /= g;
  x->c /= g;
}

static bool excluded(Facts *f, const Aff *given) { // by a pushed !=
  Aff x, minus, q;
  aff_copy(&x, given);
  primitive(&x);
  aff_copy(&minus, &x);
  if (!aff_scale(&minus, -1)) return false;
  for (int i = f->stack.len; i-- > 0;) {
    const FactEntry *e = &f->stack.data[i];
    if (e->kind != FACT_NE) continue;
    aff_copy(&q, e->aff);
    if (!aff_expand(f, &q)) continue;
    primitive(&q);
    if (aff_equal(&q, &x) || aff_equal(&q, &minus)) return true;
  }
  return false;
}

static bool never_zero(Facts *f, const Aff *given) {
  Aff x, minus, one = aff_const(-1);
  aff_copy(&x, given);
  if (!aff_expand(f, &x)) return false;
  if (!x.n) return x.c != 0;
  aff_copy(&minus, &x);
  if (excluded(f, &x)) return true;
  int64_t g = 0;
  for (int i = 0; i < x.n; i++) {
    Aff t = aff_atom(x.t[i].atom);
    int64_t k, d = aff_divisor(f, &t, 2);
    if (__builtin_mul_overflow(d, x.t[i].coeff, &k) || k == INT64_MIN) k = x.t[i].coeff;
    g = gcd64(g, k);
    const Atom *a = atom_at(f, x.t[i].atom);
    if (a->kind == AT_MOD && never_multiple(f, &x, a->d, 2)) return true;
    int64_t c = x.t[i].coeff < 0 ? -x.t[i].coeff : x.t[i].coeff;
    if (never_multiple(f, &x, c, 1)) return true; // 8 * a against 8 * b + r, 0 < r < 8
  }
  if (g == 0 ? x.c != 0 : x.c % g != 0) return true;
  if (never_multiple(f, &x, g, 2)) return true;
  if (aff_add(&x, &one, 1) && prove_ge(f, &x)) return true; // x >= 1
  return aff_scale(&minus, -1) && aff_add(&minus, &one, 1) && prove_ge(f, &minus);
}

static bool difference(Facts *f, Expr *x, Expr *y, Aff *out) {
  Aff a, b;
  return to_aff(f, x, &a) && to_aff(f, y, &b) && aff_sub(out, &a, &b);
}

bool facts_distinct(Facts *f, Expr *x, Expr *y) {
  Aff d;
  bool simplifying = f->simplifying;
  f->simplifying = false;
  bool distinct = difference(f, x, y, &d) && never_zero(f, &d);
  f->simplifying = simplifying;
  return distinct;
}

/* conditions */

static bool prove(Facts *f, Expr *c, bool holds);

static bool known_raw(Facts *f, Expr *c, bool holds) {
  for (int i = f->stack.len; i-- > 0;) {
    const FactEntry e = f->stack.data[i];
    if (e.kind == FACT_RAW) {
      bool negated = e.raw->kind == EX_UNARY && e.raw->u.un.op == UN_NOT;
      if (ex_equal(negated ? e.raw->u.un.a : e.raw, c) && negated != holds) return true;
    }
    if (e.kind == FACT_LET && c->kind == EX_VAR && e.expr->u.var == c->u.var)
      return prove(f, e.raw, holds);
  }
  return false;
}

static bool prove_compare(Facts *f, BinOp op, Expr *x, Expr *y, bool holds) {
  Aff d, one = aff_const(-1);
  if (!difference(f, y, x, &d)) return false;
  if ((op == BIN_EQ || op == BIN_NE) && (op == BIN_EQ) != holds) return never_zero(f, &d);
  if (op == BIN_EQ || op == BIN_NE) {
    if (!prove_ge(f, &d)) return false;
    return aff_scale(&d, -1) && prove_ge(f, &d);
  }
  if (!holds && !aff_scale(&d, -1)) return false; // x < y fails where x - y >= 0
  if ((op == BIN_LT) == holds && !aff_add(&d, &one, 1)) return false;
  return prove_ge(f, &d);
}

// Is (x and y) so? Or, with `holds` false of their negations, (x or y)?
static bool prove_both(Facts *f, Expr *x, Expr *y, bool holds) {
  if (!prove(f, x, holds)) return false;
  return prove(f, y, holds);
}

static bool prove_either(Facts *f, Expr *x, Expr *y, bool holds) {
  if (prove(f, x, holds) || prove(f, y, holds)) return true;
  f->sunk += f->nest > 16;
  if (f->nest > 16) return false;
  int mark = facts_mark(f); // y is needed only where x fails
  f->nest++;
  facts_push_cond(f, holds ? ex_un(f->arena, UN_NOT, x) : x);
  bool proved = prove(f, y, holds);
  f->nest--;
  facts_pop(f, mark);
  return proved;
}

static bool prove_select(Facts *f, Expr *c, bool holds) {
  if (prove(f, c->u.sel.cond, true)) return prove(f, c->u.sel.yes, holds);
  if (prove(f, c->u.sel.cond, false)) return prove(f, c->u.sel.no, holds);
  int mark = facts_mark(f);
  facts_push_cond(f, c->u.sel.cond);
  bool yes = prove(f, c->u.sel.yes, holds);
  facts_pop(f, mark);
  if (!yes) return false;
  facts_push_cond(f, ex_un(f->arena, UN_NOT, c->u.sel.cond));
  bool no = prove(f, c->u.sel.no, holds);
  facts_pop(f, mark);
  return no;
}

static bool prove_binary(Facts *f, Expr *c, bool holds) {
  BinOp op = c->u.bin.op;
  Expr *x = c->u.bin.a, *y = c->u.bin.b;
  if (bin_is_compare(op) && x->type != DT_BOOL) return prove_compare(f, op, x, y, holds);
  bool both = op == BIN_AND || op == BIN_BITAND || op == BIN_MIN;
  bool either = op == BIN_OR || op == BIN_BITOR || op == BIN_MAX;
  if (!both && !either) return false;
  return both == holds ? prove_both(f, x, y, holds) : prove_either(f, x, y, holds);
}

// Does c (or, without `holds`, its negation) hold wherever the facts do?
static bool prove(Facts *f, Expr *c, bool holds) {
  if (c->type != DT_BOOL) return false;
  if (c->kind == EX_INT) return (c->u.i != 0) == holds;
  if (known_raw(f, c, holds)) return true;
  switch (c->kind) {
  case EX_UNARY: return c->u.un.op == UN_NOT && prove(f, c->u.un.a, !holds);
  case EX_BINARY: return prove_binary(f, c, holds);
  case EX_SELECT: return prove_select(f, c, holds);
  case EX_CAST: {
    Expr *zero;
    if (!dt_is_int(c->u.cast->type)) return false;
    zero = ex_int(f->arena, c->u.cast->type, 0);
    return prove_compare(f, BIN_NE, c->u.cast, zero, holds);
  }
  default: return false;
  }
}

static bool prove_plain(Facts *f, Expr *cond, bool holds) {
  bool simplifying = f->simplifying;
  f->simplifying = false;
  bool proved = prove(f, cond, holds);
  f->simplifying = simplifying;
  return proved;
}

bool facts_prove(Facts *f, Expr *cond) { return !cond || prove_plain(f, cond, true); }
bool disprove(Facts *f, Expr *cond) { return prove_plain(f, cond, false); }
