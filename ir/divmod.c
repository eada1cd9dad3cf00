// Floor division and modulo of sums by a constant, and what numbers divide a sum.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

enum { QUICK = 1 }; // search depth of the bounds that decide a rewrite

// Splits x: *high gets the terms whose coefficient g divides, divided by g; *low the others, with
// the constant's remainder.
static bool split(const Aff *x, int64_t g, Aff *high, Aff *low) {
  *high = aff_const(floor_div64(x->c, g));
  *low = aff_const(x->c - high->c * g);
  for (int i = 0; i < x->n; i++) {
    Aff one = aff_atom(x->t[i].atom);
    int64_t c = x->t[i].coeff;
    bool divides = c % g == 0;
    if (!aff_add(divides ? high : low, &one, divides ? c / g : c)) return false;
  }
  return true;
}

// Are all values of x within one [k * d, (k + 1) * d)?
static bool one_bucket(Facts *f, const Aff *x, int64_t d, int64_t *k) {
  int64_t lo = aff_lower(f, x, NO_HI, QUICK);
  if (lo == NO_LO) return false;
  int64_t hi = aff_upper(f, x, QUICK);
  if (hi == NO_HI || floor_div64(lo, d) != floor_div64(hi, d)) return false;
  *k = floor_div64(lo, d);
  return true;
}

// A divisor g of d, 1 < g < d, such that x = g * high + low with 0 <= low < g: then
// x // d = high // (d / g) and x % d = g * (high % (d / g)) + low. The largest found, or 1.
static int64_t granule(Facts *f, const Aff *x, int64_t d, Aff *high, Aff *low) {
  int64_t best = 1;
  Aff h, l;
  for (int i = 0; i < x->n; i++) {
    int64_t g = gcd64(x->t[i].coeff, d), k;
    if (g <= best || g == d || !split(x, g, &h, &l)) continue;
    if (!one_bucket(f, &l, g, &k) || k != 0) continue;
    best = g;
    aff_copy(high, &h);
    aff_copy(low, &l);
  }
  return best;
}

// x // d with x = (y // e) + rest is (y + rest * e) // (d * e): one division for two.
static bool merge_nested(Facts *f, const Aff *x, int64_t d, Aff *inner, int64_t *divisor) {
  for (int i = 0; i < x->n; i++) {
    const Atom *a = atom_at(f, x->t[i].atom);
    if (a->kind != AT_FDIV || x->t[i].coeff != 1) continue;
    Aff one = aff_atom(x->t[i].atom), r;
    if (__builtin_mul_overflow(d, a->d, divisor) || *divisor > INT64_MAX / 4) return false;
    if (!aff_sub(&r, x, &one) || !aff_scale(&r, a->d) || !aff_add(&r, a->inner, 1)) return false;
    aff_copy(inner, &r);
    return true;
  }
  return false;
}

// Splits x into known multiples of d and the rest; false when either is empty.
static bool known_multiples(Facts *f, const Aff *x, int64_t d, Aff *multiple, Aff *rest) {
  *multiple = aff_const(0);
  *rest = aff_const(x->c);
  for (int i = 0; i < x->n; i++) {
    Aff one = aff_atom(x->t[i].atom), term = aff_const(0);
    if (!aff_add(&term, &one, x->t[i].coeff)) return false;
    int64_t by = aff_divisor(f, &term, 2);
    if (!aff_add(by % d == 0 ? multiple : rest, &term, 1)) return false;
  }
  return multiple->n != 0 && (rest->n != 0 || rest->c != 0);
}

static int div_atom(Facts *f, AtomKind kind, const Aff *x, int64_t d) {
  return atom_intern(f, &(Atom){.kind = kind, .inner = (Aff *)(uintptr_t)x, .d = d});
}

bool aff_floordiv(Facts *f, Aff *out, const Aff *x, int64_t d) {
  Aff high, low, h, l;
  int64_t k;
  if (!split(x, d, &high, &low)) return false;
  if (low.n == 0 || one_bucket(f, &low, d, &k)) {
    Aff add = aff_const(low.n ? k : 0);
    if (!aff_add(&high, &add, 1)) return false;
    aff_copy(out, &high);
    return true;
  }
  Aff rest;
  int64_t g, divisor;
  if (known_multiples(f, &low, d, &h, &l)) {
    Aff part;
    if (!aff_floordiv(f, &rest, &h, d) || !aff_floordiv(f, &part, &l, d) ||
        !aff_add(&rest, &part, 1))
      return false;
  } else if ((g = granule(f, &low, d, &h, &l)) > 1) {
    if (!aff_floordiv(f, &rest, &h, d / g)) return false;
  } else if (merge_nested(f, &low, d, &h, &divisor)) {
    if (!aff_floordiv(f, &rest, &h, divisor)) return false;
  } else {
    rest = aff_atom(div_atom(f, AT_FDIV, &low, d));
  }
  if (!aff_add(&high, &rest, 1)) return false;
  aff_copy(out, &high);
  return true;
}

// Nested modulo: a term c * (e % m) with d dividing c * m is c * e, modulo d.
static bool drop_inner_mods(Facts *f, const Aff *x, int64_t d, Aff *out) {
  aff_copy(out, x);
  for (int i = 0; i < x->n; i++) {
    const Atom *a = atom_at(f, x->t[i].atom);
    int64_t c = x->t[i].coeff, period;
    if (a->kind != AT_MOD || __builtin_mul_overflow(c, a->d, &period) || period % d) continue;
    Aff one = aff_atom(x->t[i].atom);
    const Aff *inner = a->inner;
    if (!aff_add(out, &one, -c) || !aff_add(out, inner, c)) return false;
  }
  return true;
}

bool aff_floormod(Facts *f, Aff *out, const Aff *x, int64_t d) {
  Aff high, low, h, l;
  int64_t k;
  if (!split(x, d, &high, &low)) return false;
  if (one_bucket(f, &low, d, &k)) { // before inner mods go: their ranges decide
    Aff back = aff_const(k);
    if (!aff_add(&low, &back, -d)) return false;
    aff_copy(out, &low);
    return true;
  }
  Aff plain;
  if (!drop_inner_mods(f, &low, d, &plain) || !split(&plain, d, &high, &low)) return false;
  if (low.n == 0) {
    *out = aff_const(low.c);
    return true;
  }
  if (known_multiples(f, &low, d, &h, &l)) return aff_floormod(f, out, &l, d);
  int64_t g = granule(f, &low, d, &h, &l);
  if (g > 1) { // g * (h % (d / g)) + l
    if (!aff_floormod(f, &high, &h, d / g) || !aff_scale(&high, g)) return false;
    if (!aff_add(&high, &l, 1)) return false;
    aff_copy(out, &high);
    return true;
  }
  int64_t by = aff_divisor(f, &low, 2);
  if (by % d == 0) *out = aff_const(0);
  else *out = aff_atom(div_atom(f, AT_MOD, &low, d));
  return true;
}

// One step: the modulo term i together with its quotient, or a quotient whose remainder is known.
static bool combine_term(Facts *f, Aff *x, int i) {
  Term t = x->t[i];
  const Atom *a = atom_at(f, t.atom);
  AtomKind kind = a->kind;
  int64_t d = a->d, k;
  const Aff *inner = a->inner;
  Aff one = aff_atom(t.atom), part, r;
  aff_copy(&r, x);
  if (kind == AT_MOD) { // c * (e % d) + c * d * (e // d)
    if (__builtin_mul_overflow(t.coeff, d, &k) || !atom_partner(f, t.atom, &part)) return false;
    if (part.n != 1 || part.t[0].coeff != 1 || part.c || aff_coeff(x, part.t[0].atom) != k)
      return false;
    if (!aff_add(&r, &part, -k)) return false;
    k = t.coeff;
    part = aff_const(0);
  } else { // c * d * (e // d) where e % d is a constant
    if (t.coeff % d || !atom_partner(f, t.atom, &part) || part.n) return false;
    k = t.coeff / d;
  }
  if (!aff_add(&r, &one, -t.coeff) || !aff_add(&r, inner, k) || !aff_add(&r, &part, -k))
    return false;
  aff_copy(x, &r);
  return true;
}

// c * (x % a) + c * a * ((x // a) % b) is c * (x % (a * b)).
static bool combine_digits(Facts *f, Aff *x, int i) {
  Term t = x->t[i];
  const Atom *low = atom_at(f, t.atom);
  int64_t k;
  Aff quotient;
  if (low->kind != AT_MOD || __builtin_mul_overflow(t.coeff, low->d, &k)) return false;
  if (!atom_partner(f, t.atom, &quotient)) return false;
  for (int j = 0; j < x->n; j++) {
    const Atom *high = atom_at(f, x->t[j].atom);
    if (high->kind != AT_MOD || x->t[j].coeff != k || !aff_equal(high->inner, &quotient)) continue;
    int64_t d;
    Aff whole, one = aff_atom(t.atom), two = aff_atom(x->t[j].atom), r;
    if (__builtin_mul_overflow(low->d, high->d, &d) || !aff_floormod(f, &whole, low->inner, d))
      return false;
    aff_copy(&r, x);
    if (!aff_add(&r, &one, -t.coeff) || !aff_add(&r, &two, -k) || !aff_add(&r, &whole, t.coeff))
      return false;
    aff_copy(x, &r);
    return true;
  }
  return false;
}

bool aff_recombine(Facts *f, Aff *x) {
  bool changed = false;
  for (int i = 0, rounds = 0; i < x->n && rounds < 16; i++) {
    AtomKind kind = atom_at(f, x->t[i].atom)->kind;
    if (kind != AT_FDIV && kind != AT_MOD) continue;
    if (!combine_term(f, x, i) && !combine_digits(f, x, i)) continue;
    changed = true;
    rounds++;
    i = -1;
  }
  return changed;
}

/* divisors */

static int64_t pow2_part(int64_t d) { return d ? d & -d : 0; }

// Of two numbers that both divide something: their least common multiple, where it fits.
static int64_t both_divide(int64_t a, int64_t b) {
  int64_t r;
  if (a == 0 || b == 0) return 0;
  return __builtin_mul_overflow(a / gcd64(a, b), b, &r) ? (a > b ? a : b) : r;
}

int64_t expr_divisor(Facts *f, Expr *x, int depth) {
  Aff p, q;
  if (x->kind != EX_BINARY || depth <= 0) return 1;
  BinOp op = x->u.bin.op;
  bool either = op == BIN_BITAND;
  if (!either && op != BIN_BITOR && op != BIN_BITXOR) return 1;
  if (f->dividing) return 1; // conversions ask for divisors again: one level is enough
  f->dividing = true;
  bool known = to_aff(f, x->u.bin.a, &p) && to_aff(f, x->u.bin.b, &q);
  f->dividing = false;
  if (!known) return 1;
  int64_t a = pow2_part(aff_divisor(f, &p, depth - 1)),
          b = pow2_part(aff_divisor(f, &q, depth - 1));
  if (!a || !b) return a ? (either ? 0 : a) : either ? 0 : b; // one side is the constant 0
  return either ? (a > b ? a : b) : (a < b ? a : b);
}

static int64_t product_divisor(Facts *f, const Atom *a, int depth) {
  int64_t d = 1;
  for (int i = 0; i < a->nfactors; i++) {
    Aff one = aff_atom(a->factor[i]);
    int64_t k = aff_divisor(f, &one, depth);
    if (__builtin_mul_overflow(d, k, &d)) return k;
  }
  return d;
}

static int64_t atom_divisor(Facts *f, int number, int depth) {
  const Atom *a = atom_at(f, number);
  int64_t lo, hi, d;
  if (a->kind == AT_VAR && a->let) return aff_divisor(f, a->let, depth - 1);
  atom_bounds(f, number, &lo, &hi);
  if (lo == hi && lo != NO_LO && lo != NO_HI) return lo < 0 ? -lo : lo;
  switch (a->kind) {
  case AT_FDIV:
    d = aff_divisor(f, a->inner, depth - 1);
    return d % a->d == 0 ? d / a->d : 1;
  case AT_MOD: return gcd64(aff_divisor(f, a->inner, depth - 1), a->d);
  case AT_MIN: case AT_MAX: case AT_SELECT:
    return gcd64(aff_divisor(f, a->inner, depth - 1), aff_divisor(f, a->inner2, depth - 1));
  case AT_PROD: return product_divisor(f, a, depth - 1);
  case AT_OTHER: return expr_divisor(f, a->expr, depth);
  default: return 1;
  }
}

// The greatest common divisor of the terms, each with what divides its atom.
static int64_t sum_divisor(Facts *f, const Aff *x, int depth) {
  int64_t g = x->c < 0 ? -x->c : x->c;
  for (int i = 0; i < x->n && g != 1; i++) {
    int64_t k, d = atom_divisor(f, x->t[i].atom, depth);
    if (__builtin_mul_overflow(d, x->t[i].coeff, &k) || k == INT64_MIN) k = x->t[i].coeff;
    g = gcd64(g, k);
  }
  return g;
}

// What a pushed congruence (aff % d == 0) or equality adds by taking the place of term i of x.
static int64_t fact_divisor(Facts *f, const Aff *x, int i, const FactEntry *e, int depth) {
  int64_t c = aff_coeff(e->aff, x->t[i].atom), k;
  Aff rest;
  if (x->t[i].coeff % c) return 1;
  aff_copy(&rest, x);
  if (!aff_add(&rest, e->aff, -(x->t[i].coeff / c))) return 1;
  int64_t d = sum_divisor(f, &rest, depth - 1);
  if (e->kind == FACT_EQ) return d;
  // x = rest + (coeff / c) * aff, and (coeff / c) * d divides the second
  return gcd64(d, __builtin_mul_overflow(x->t[i].coeff / c, e->d, &k) ? e->d : k);
}

int64_t aff_divisor(Facts *f, const Aff *x, int depth) {
  if (depth <= 0) return x->n ? 1 : x->c < 0 ? -x->c : x->c;
  int64_t best = sum_divisor(f, x, depth);
  for (int i = 0; i < x->n; i++) {
    for (const Mention *m = atom_at(f, x->t[i].atom)->facts; m && best; m = m->older) {
      FactEntry e = f->stack.data[m->fact]; // which may move meanwhile
      if (e.kind == FACT_CONG || e.kind == FACT_EQ)
        best = both_divide(best, fact_divisor(f, x, i, &e, depth));
    }
  }
  return best;
}
