// Bounds of sums: intervals of the atoms, then elimination of terms by what is known about them.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

enum { BUDGET = 600, MAX_NEST = 24 };

/* intervals with unbounded ends */

static int64_t low_of_sum(Facts *f, const Aff *x) {
  int64_t sum = x->c;
  for (int i = 0; i < x->n; i++) {
    int64_t lo, hi, p;
    atom_bounds(f, x->t[i].atom, &lo, &hi);
    int64_t end = x->t[i].coeff > 0 ? lo : hi;
    if (end == NO_LO || end == NO_HI) return NO_LO;
    if (__builtin_mul_overflow(end, x->t[i].coeff, &p) || __builtin_add_overflow(sum, p, &sum))
      return NO_LO;
  }
  return sum == NO_HI ? NO_LO : sum;
}

typedef struct {
  int64_t lo, hi;
} Range;

static const Range everything = {NO_LO, NO_HI};

static bool closed(Range r) { return r.lo != NO_LO && r.hi != NO_HI && r.lo <= r.hi; }

static Range times(Range x, Range y) {
  if (!closed(x) || !closed(y)) {
    bool signs = x.lo >= 0 && y.lo >= 0; // NO_LO is negative
    return signs ? (Range){0, NO_HI} : everything;
  }
  Range r = {NO_HI, NO_LO};
  int64_t a[2] = {x.lo, x.hi}, b[2] = {y.lo, y.hi}, p;
  for (int i = 0; i < 4; i++) {
    if (__builtin_mul_overflow(a[i / 2], b[i % 2], &p)) return everything;
    if (p < r.lo) r.lo = p;
    if (p > r.hi) r.hi = p;
  }
  return r;
}

static int64_t py_div(int64_t a, int64_t b) {
  return b > 0 ? floor_div64(a, b) : floor_div64(-a, -b);
}

static Range quotient(Range x, Range y) {
  if (y.lo <= 0 && y.hi >= 0) return everything;
  if (!closed(x) || !closed(y)) return x.lo >= 0 && y.lo > 0 ? (Range){0, x.hi} : everything;
  Range r = {NO_HI, NO_LO};
  int64_t a[2] = {x.lo, x.hi}, b[2] = {y.lo, y.hi};
  for (int i = 0; i < 4; i++) {
    int64_t q = py_div(a[i / 2], b[i % 2]);
    if (q < r.lo) r.lo = q;
    if (q > r.hi) r.hi = q;
  }
  return r;
}

static Range remainder_of(Range x, Range y) {
  if (y.lo > 0) {
    Range r = {0, y.hi == NO_HI ? NO_HI : y.hi - 1};
    if (x.lo >= 0 && x.hi < r.hi) r.hi = x.hi;
    return r;
  }
  return y.hi < 0 ? (Range){y.lo == NO_LO ? NO_LO : y.lo + 1, 0} : everything;
}

static int64_t all_ones(int64_t v) { // the least 2^n - 1 that is >= v >= 0
  int64_t m = 0;
  while (m < v) m = m * 2 + 1;
  return m;
}

static Range bit_range(BinOp op, Range x, Range y) {
  if (op == BIN_BITAND) {
    if (x.lo < 0 && y.lo < 0) return everything;
    int64_t hi = x.lo < 0 ? y.hi : y.lo < 0 || x.hi < y.hi ? x.hi : y.hi;
    return (Range){0, hi};
  }
  if (x.lo < 0 || y.lo < 0) return everything;
  int64_t hi = x.hi > y.hi ? x.hi : y.hi;
  int64_t lo = op == BIN_BITOR ? (x.lo > y.lo ? x.lo : y.lo) : 0;
  return (Range){lo, hi == NO_HI ? NO_HI : all_ones(hi)};
}

static Range shift_range(BinOp op, Range x, Range y) {
  if (!closed(x) || !closed(y) || y.lo < 0 || y.hi > 62) {
    return x.lo >= 0 ? (Range){0, op == BIN_SHR ? x.hi : NO_HI} : everything;
  }
  if (op == BIN_SHL) return times(x, (Range){(int64_t)1 << y.lo, (int64_t)1 << y.hi});
  return (Range){x.lo >> (x.lo < 0 ? y.lo : y.hi), x.hi >> (x.hi < 0 ? y.hi : y.lo)};
}

/* intervals of expressions that are no sums */

// Low bits that are zero on both sides stay zero: 8 * a ^ 8 * b stays a multiple of 8.
static Range bitwise(Facts *f, Expr *x, Range a, Range b) {
  Range r = bit_range(x->u.bin.op, a, b);
  int64_t d = r.lo >= 0 && r.hi != NO_HI ? expr_divisor(f, x, 4) : 1;
  if (d > 1) r.hi -= r.hi % d;
  return r;
}

static Range binary_range(Facts *f, Expr *x) {
  Range a, b;
  expr_bounds(f, x->u.bin.a, &a.lo, &a.hi);
  expr_bounds(f, x->u.bin.b, &b.lo, &b.hi);
  if (a.lo > a.hi || b.lo > b.hi) return everything; // dead code: anything holds
  switch (x->u.bin.op) {
  case BIN_MUL: return times(a, b);
  case BIN_FLOORDIV: return quotient(a, b);
  case BIN_FLOORMOD: return remainder_of(a, b);
  case BIN_BITAND: case BIN_BITOR: case BIN_BITXOR: return bitwise(f, x, a, b);
  case BIN_SHL: case BIN_SHR: return shift_range(x->u.bin.op, a, b);
  default: return everything;
  }
}

static Range hull(Facts *f, Expr *x, Expr *y) {
  Range a, b;
  expr_bounds(f, x, &a.lo, &a.hi);
  expr_bounds(f, y, &b.lo, &b.hi);
  return (Range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static Range shape_range(Facts *f, Expr *x) {
  Range r = everything;
  switch (x->kind) {
  case EX_BINARY: return binary_range(f, x);
  case EX_SELECT: return hull(f, x->u.sel.yes, x->u.sel.no);
  case EX_CAST:
    if (!dt_is_float(x->u.cast->type)) expr_bounds(f, x->u.cast, &r.lo, &r.hi);
    return r;
  case EX_MATH:
    if (x->u.math.fn != MATH_ABS) return r;
    expr_bounds(f, x->u.math.arg[0], &r.lo, &r.hi);
    if (!closed(r)) return (Range){x->type == DT_INDEX ? 0 : NO_LO, NO_HI};
    if (r.lo >= 0) return r;
    return (Range){r.hi <= 0 ? -r.hi : 0, -r.lo > r.hi ? -r.lo : r.hi};
  default: return r;
  }
}

static Range other_range(Facts *f, int number) {
  Expr *x = atom_at(f, number)->expr;
  Range type, r;
  type_range(x->type, &type.lo, &type.hi);
  bool simplifying = f->simplifying;
  f->simplifying = false; // bit operations as arithmetic, lets by value
  Aff a;
  bool sum = to_aff(f, x, &a) && !(a.n == 1 && a.t[0].atom == number);
  if (sum) r = (Range){aff_lower(f, &a, NO_HI, 1), aff_upper(f, &a, 1)};
  else r = shape_range(f, x);
  f->simplifying = simplifying;
  if (x->type == DT_INDEX) return r;
  if (dt_bits(x->type) >= 64) return closed(r) ? r : everything;
  return r.lo >= type.lo && r.hi <= type.hi ? r : type; // outside: it may have wrapped
}

/* intervals of atoms */

static Range derived_range(Facts *f, int number) {
  const Atom *a = atom_at(f, number);
  if (a->kind == AT_OTHER) return other_range(f, number);
  Range x = {0}, y = {0}, r;
  if (a->kind == AT_PROD) {
    r = (Range){1, 1};
    for (int i = 0; i < a->nfactors; i++) {
      atom_bounds(f, a->factor[i], &x.lo, &x.hi);
      r = times(r, x);
    }
    return r;
  }
  x = (Range){aff_lower(f, a->inner, NO_HI, 1), aff_upper(f, a->inner, 1)};
  if (a->inner2) y = (Range){aff_lower(f, a->inner2, NO_HI, 1), aff_upper(f, a->inner2, 1)};
  switch (a->kind) {
  case AT_FDIV:
    return (Range){x.lo == NO_LO ? NO_LO : floor_div64(x.lo, a->d),
                   x.hi == NO_HI ? NO_HI : floor_div64(x.hi, a->d)};
  case AT_MOD: return (Range){0, x.lo >= 0 && x.hi < a->d - 1 ? x.hi : a->d - 1};
  case AT_MIN: return (Range){x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
  case AT_MAX: return (Range){x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
  default: return (Range){x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
  }
}

// Pushed conditions on the atom alone.
static void narrow(Facts *f, int number, Range *r) {
  for (const Mention *m = atom_at(f, number)->facts; m; m = m->older) {
    const FactEntry *e = &f->stack.data[m->fact];
    if ((e->kind != FACT_GE && e->kind != FACT_EQ) || e->aff->n != 1) continue;
    int64_t k = e->aff->t[0].coeff, c = e->aff->c; // k * atom + c >= 0
    if (k > 0 || e->kind == FACT_EQ) {
      int64_t lo = k > 0 ? -floor_div64(c, k) : -floor_div64(-c, -k);
      if (r->lo == NO_LO || lo > r->lo) r->lo = lo;
    }
    if (k < 0 || e->kind == FACT_EQ) {
      int64_t hi = k < 0 ? floor_div64(c, -k) : floor_div64(-c, k);
      if (r->hi == NO_HI || hi < r->hi) r->hi = hi;
    }
  }
}

void atom_bounds(Facts *f, int number, int64_t *lo, int64_t *hi) {
  Atom *a = atom_at(f, number);
  if (a->version != f->version) f->missed++;
  if (a->version != f->version && !a->busy) {
    Range r;
    if (a->kind == AT_VAR) {
      r = (Range){a->vlo, a->vhi};
    } else {
      a->busy = true;
      a->lo = NO_LO; // for whoever asks meanwhile
      a->hi = NO_HI;
      if (a->kind == AT_MOD) a->lo = 0, a->hi = a->d - 1;
      r = derived_range(f, number);
      a->busy = false;
    }
    narrow(f, number, &r);
    a->lo = r.lo;
    a->hi = r.hi;
    a->version = f->version;
  }
  *lo = a->lo;
  *hi = a->hi;
}

void expr_bounds(Facts *f, Expr *x, int64_t *lo, int64_t *hi) {
  Aff a;
  type_range(x->type, lo, hi);
  if (x->type == DT_U64) {
    *lo = 0;
    *hi = x->kind == EX_INT && x->u.i >= 0 ? x->u.i : NO_HI;
  }
  if (!to_aff(f, x, &a)) return;
  int64_t l = aff_lower(f, &a, NO_HI, 1), h = aff_upper(f, &a, 1);
  if (*lo == NO_LO || l > *lo) *lo = l;
  if (*hi == NO_HI || h < *hi) *hi = h;
}

/* elimination */

bool aff_expand(Facts *f, Aff *x) {
  for (int i = 0, rounds = 0; i < x->n; i++) {
    const Atom *a = atom_at(f, x->t[i].atom);
    if (a->kind != AT_VAR || !a->let) continue;
    Aff one = aff_atom(x->t[i].atom);
    int64_t c = x->t[i].coeff;
    if (++rounds > 100 || !aff_add(x, &one, -c) || !aff_add(x, a->let, c)) return false;
    i = -1;
  }
  return true;
}

typedef struct {
  Facts *f;
  const Aff *x;
  int64_t goal;
  int depth;
  int64_t best;
} Search;

static int64_t search(Facts *f, const Aff *x, int64_t goal, int depth);

static void found(Search *s, int64_t lo) {
  if (lo != NO_LO && (s->best == NO_LO || lo > s->best)) s->best = lo;
}

static bool enough(const Search *s) {
  s->f->starved += s->f->steps <= 0;
  return (s->best != NO_LO && s->best >= s->goal) || s->f->steps <= 0;
}

// With c >= 0 (or c == 0), x >= x - lambda * c: chosen so that term i of x goes away.
static void eliminate(Search *s, int i, FactKind kind, const Aff *c) {
  int64_t a = s->x->t[i].coeff, b = aff_coeff(c, s->x->t[i].atom);
  if (!b || (kind == FACT_GE && (a > 0) != (b > 0))) return;
  int64_t g = gcd64(a, b), scale = (b < 0 ? -b : b) / g, lambda = b < 0 ? -(a / g) : a / g;
  int64_t goal = s->goal;
  if (goal != NO_HI && __builtin_mul_overflow(goal - 1, scale, &goal)) return;
  if (s->goal != NO_HI) goal++;
  Aff rest;
  aff_copy(&rest, s->x);
  if (!aff_scale(&rest, scale) || !aff_add(&rest, c, -lambda)) return;
  int64_t lo = search(s->f, &rest, goal, s->depth - 1);
  if (lo != NO_LO && lo < NO_HI - scale) found(s, -floor_div64(-lo, scale));
}

static void eliminate_by_facts(Search *s, int i) {
  const Mention *m = atom_at(s->f, s->x->t[i].atom)->facts;
  for (; m && !enough(s); m = m->older) {
    FactKind of = s->f->stack.data[m->fact].kind;
    if (of == FACT_GE || of == FACT_EQ) eliminate(s, i, of, s->f->stack.data[m->fact].aff);
  }
  FactKind kind;
  Aff c;
  for (int k = 0; !enough(s) && atom_fact(s->f, s->x->t[i].atom, k, &kind, &c); k++) {
    if (c.n) eliminate(s, i, kind, &c);
  }
}

// The product's factors but the k-th.
static bool other_factors(Facts *f, const Atom *a, int k, Aff *rest) {
  *rest = aff_const(1);
  for (int j = 0; j < a->nfactors; j++) {
    Aff one = aff_atom(a->factor[j]), next;
    if (j == k) continue;
    if (!aff_mul(f, &next, rest, &one)) return false;
    aff_copy(rest, &next);
  }
  return true;
}

// The mentioned fact times the rest of the product.
static const Aff *multiple(Facts *f, Mention *m, int product, const Aff *rest) {
  for (const Multiple *x = m->multiples; x; x = x->next)
    if (x->product == product) return x->aff;
  Multiple *x = NEW(f->arena, Multiple);
  Aff c;
  bool fits = aff_mul(f, &c, f->stack.data[m->fact].aff, rest);
  *x = (Multiple){product, fits ? aff_keep(f, &c) : NULL, m->multiples};
  m->multiples = x;
  return x->aff;
}

// A product p * rest: conditions on p times the factor rest >= 0.
static void eliminate_product(Search *s, int i, const Atom *a) {
  for (int k = 0; k < a->nfactors; k++) {
    Aff rest;
    if (!other_factors(s->f, a, k, &rest)) return;
    if (low_of_sum(s->f, &rest) < 0) continue; // NO_LO too
    for (Mention *m = atom_at(s->f, a->factor[k])->facts; m && !enough(s); m = m->older) {
      FactKind of = s->f->stack.data[m->fact].kind;
      if (of != FACT_GE && of != FACT_EQ) continue;
      const Aff *c = multiple(s->f, m, s->x->t[i].atom, &rest);
      if (c) eliminate(s, i, of, c);
    }
  }
}

static int64_t with_case(Search *s, int i, Expr *cond, bool holds, const Aff *by) {
  Aff rest, one = aff_atom(s->x->t[i].atom);
  aff_copy(&rest, s->x);
  if (!aff_add(&rest, &one, -s->x->t[i].coeff) || !aff_add(&rest, by, s->x->t[i].coeff))
    return NO_LO;
  int mark = facts_mark(s->f);
  if (cond) facts_push_cond(s->f, holds ? cond : ex_un(s->f->arena, UN_NOT, cond));
  int64_t lo = search(s->f, &rest, s->goal, s->depth - 1);
  facts_pop(s->f, mark);
  return lo;
}

// A minimum, maximum or selection is one of its two parts.
static void split_cases(Search *s, int i, const Atom *a) {
  int64_t x = with_case(s, i, a->cond, true, a->inner);
  if (x == NO_LO || (s->best != NO_LO && x <= s->best)) return;
  int64_t y = with_case(s, i, a->cond, false, a->inner2);
  if (y != NO_LO) found(s, x < y ? x : y);
}

// The least number >= lo that x can be: x is its constant plus a multiple of the coefficients' gcd.
static int64_t lift(const Aff *x, int64_t lo) {
  int64_t g = aff_gcd(x), up;
  if (lo == NO_LO || g <= 1) return lo;
  if (__builtin_sub_overflow(x->c, lo, &up)) return lo;
  up -= floor_div64(up, g) * g; // (c - lo) mod g
  return lo > NO_HI - 1 - up ? lo : lo + up;
}

static int64_t search(Facts *f, const Aff *x, int64_t goal, int depth) {
  f->steps--;
  Search s = {f, x, goal, depth, low_of_sum(f, x)};
  s.best = lift(x, s.best);
  if (depth <= 0 || !x->n) return s.best;
  for (int i = 0; i < x->n && !enough(&s); i++) {
    const Atom *a = atom_at(f, x->t[i].atom);
    eliminate_by_facts(&s, i);
    if (enough(&s)) break;
    if (a->kind == AT_PROD) eliminate_product(&s, i, a);
    if (a->kind == AT_MIN || a->kind == AT_MAX || a->kind == AT_SELECT) split_cases(&s, i, a);
  }
  return lift(x, s.best);
}

int64_t aff_lower(Facts *f, const Aff *x, int64_t goal, int depth) {
  Aff q;
  aff_copy(&q, x);
  if (!aff_expand(f, &q)) return NO_LO;
  if (f->searching) {
    f->sunk += f->nest > MAX_NEST;
    f->starved += f->steps <= 0;
    if (f->nest > MAX_NEST || f->steps <= 0) return lift(&q, low_of_sum(f, &q));
    f->nest++;
    int64_t lo = search(f, &q, goal, depth > 1 ? 1 : depth);
    f->nest--;
    return lo;
  }
  f->searching = true;
  int64_t best = NO_LO;
  for (int d = 0; d <= depth; d++) { // cheap answers first
    f->steps = d <= 1 ? BUDGET / 4 : BUDGET;
    int64_t lo = search(f, &q, goal, d);
    if (lo != NO_LO && (best == NO_LO || lo > best)) best = lo;
    if (best != NO_LO && best >= goal) break;
  }
  f->searching = false;
  return best;
}

int64_t aff_upper(Facts *f, const Aff *x, int depth) {
  Aff q;
  aff_copy(&q, x);
  if (!aff_scale(&q, -1)) return NO_HI;
  int64_t lo = aff_lower(f, &q, NO_HI, depth);
  return lo == NO_LO || lo == NO_HI ? NO_HI : -lo;
}

bool atom_fact(Facts *f, int number, int i, FactKind *kind, Aff *out) {
  const Atom *a = atom_at(f, number);
  Aff t = aff_atom(number), other;
  *kind = a->kind == AT_FDIV || a->kind == AT_MOD || a->kind == AT_OTHER ? FACT_EQ : FACT_GE;
  switch (a->kind) {
  case AT_FDIV: // inner == d * t + inner % d
    if (i || !atom_partner(f, number, &other)) return false;
    aff_copy(out, a->inner);
    return aff_add(out, &t, -a->d) && aff_add(out, &other, -1);
  case AT_MOD:
    if (i || !atom_partner(f, number, &other)) return false;
    aff_copy(out, a->inner);
    return aff_add(out, &t, -1) && aff_add(out, &other, -a->d);
  case AT_MIN:
    return i < 2 && aff_sub(out, i ? a->inner2 : a->inner, &t);
  case AT_MAX:
    return i < 2 && aff_sub(out, &t, i ? a->inner2 : a->inner);
  case AT_OTHER:
    f->sunk += f->nest > MAX_NEST;
    if (i || f->nest > MAX_NEST) return false;
    return atom_partner(f, number, &other) && aff_sub(out, &t, &other);
  default: return false;
  }
}
