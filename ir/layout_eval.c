// Evaluation of layouts and of their inverses, on integers and as expressions.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"

enum { MAX_DIGITS = 64 };

/* ------------------------------------------------------------------ sizes */

static int64_t top_place(const Layout *l, DigitOwner owner) {
  int64_t top = 0;
  for (int i = 0; i < l->ngroups; i++)
    for (int j = 0; j < l->group[i].ndigits; j++) {
      const Digit *d = &l->group[i].digit[j];
      if (d->owner == owner) top += (d->extent - 1) * d->stride;
    }
  return top;
}

int64_t layout_regs(const Layout *l) { return top_place(l, OWN_REG) / l->bits + 1; }

int64_t layout_bytes(const Layout *l) {
  int64_t bits = top_place(l, OWN_OFFSET) + l->bits, align = (int64_t)layout_align(l) * 8;
  if (!l->swizzle) return (bits + 7) / 8;
  return (bits + align - 1) / align * align / 8; // the XOR permutes within a whole pattern
}

int layout_align(const Layout *l) { return l->swizzle ? 128 << l->swizzle : 16; }

/* ------------------------------------------------------------------ integers */

static int64_t fuse(const Layout *l, const DigitGroup *g, const int64_t *coord) {
  int64_t f = 0;
  for (int i = g->first; i < g->first + g->n; i++) f = f * l->shape[i] + coord[i];
  return f;
}

static int64_t swizzled(const Layout *l, int64_t bit) {
  if (!l->swizzle) return bit;
  int64_t byte = bit / 8, mask = (1 << l->swizzle) - 1;
  return (byte ^ (((byte >> 7) & mask) << 4)) * 8 + bit % 8;
}

void layout_at(const Layout *l, const int64_t *coord, int64_t *thread, int64_t *where) {
  int64_t t = 0, w = 0;
  for (int i = 0; i < l->ngroups; i++) {
    const DigitGroup *g = &l->group[i];
    int64_t f = fuse(l, g, coord);
    for (int j = 0; j < g->ndigits; j++) {
      const Digit *d = &g->digit[j];
      bool top = j == g->ndigits - 1;
      int64_t v = top ? f : f % d->extent;
      f = top ? 0 : f / d->extent;
      if (d->owner == OWN_THREAD)
        t += v * d->stride;
      else
        w += v * d->stride;
    }
  }
  *thread = t;
  *where = swizzled(l, w);
}

/* The places of threads (or registers) sorted by stride: digits of the groups, then replicas. */

typedef struct {
  int group, digit; // group -1: replica number `digit`
  int64_t extent, stride;
} Place;

static int places(const Layout *l, DigitOwner owner, Place *out) {
  int n = 0;
  for (int i = 0; i < l->ngroups; i++)
    for (int j = 0; j < l->group[i].ndigits; j++) {
      const Digit *d = &l->group[i].digit[j];
      if (d->owner != owner) continue;
      if (n >= MAX_DIGITS) die("layout of too many digits");
      out[n++] = (Place){i, j, d->extent, d->stride};
    }
  for (int i = 0; owner == OWN_THREAD && i < l->nreplicas; i++)
    out[n++] = (Place){-1, i, l->replica[i].extent, l->replica[i].stride};
  for (int i = 1; i < n; i++) // insertion sort: a handful of digits
    for (int j = i; j > 0 && out[j].stride < out[j - 1].stride; j--) {
      Place t = out[j];
      out[j] = out[j - 1];
      out[j - 1] = t;
    }
  return n;
}

// Digit values of a thread or register number; false when it is in a gap or past the end.
static bool split_int(const Place *p, int n, int64_t x, int64_t *value) {
  for (int i = n - 1; i >= 0; i--) {
    value[i] = x / p[i].stride;
    x -= value[i] * p[i].stride;
    if (value[i] >= p[i].extent) return false;
  }
  return x == 0;
}

bool layout_coord(const Layout *l, int64_t thread, int64_t reg, int64_t *coord) {
  Place t[MAX_DIGITS + 8], r[MAX_DIGITS];
  int64_t tv[MAX_DIGITS + 8], rv[MAX_DIGITS];
  int nt = places(l, OWN_THREAD, t), nr = places(l, OWN_REG, r);
  if (!split_int(t, nt, thread, tv) || !split_int(r, nr, reg * l->bits, rv)) return false;
  for (int i = 0; i < l->ngroups; i++) {
    const DigitGroup *g = &l->group[i];
    int64_t f = 0, weight = 1, total = 1;
    for (int j = 0; j < g->ndigits; j++) {
      int64_t v = 0;
      for (int k = 0; k < nt; k++)
        if (t[k].group == i && t[k].digit == j) v = tv[k];
      for (int k = 0; k < nr; k++)
        if (r[k].group == i && r[k].digit == j) v = rv[k];
      f += v * weight;
      weight *= g->digit[j].extent;
    }
    for (int k = g->first; k < g->first + g->n; k++) total *= l->shape[k];
    if (f >= total) return false;
    for (int k = g->first + g->n - 1; k >= g->first; k--) {
      coord[k] = f % l->shape[k];
      f /= l->shape[k];
    }
  }
  return true;
}

/* ------------------------------------------------------------------ expressions */

static Expr *simple(Facts *f, Expr *x) { return f ? facts_simplify(f, x) : x; }

static Expr *idx(Arena *a, int64_t v) { return ex_index(a, v); }

static Expr *times(Arena *a, Expr *x, int64_t by) { return ex_mul(a, x, idx(a, by)); }

static Expr *div_by(Arena *a, Expr *x, int64_t by) {
  return by == 1 ? x : ex_floordiv(a, x, idx(a, by));
}

static Expr *mod_by(Arena *a, Expr *x, int64_t by) {
  return by == 1 ? idx(a, 0) : ex_floormod(a, x, idx(a, by));
}

static Expr *fuse_expr(Arena *a, const Layout *l, const DigitGroup *g, Expr **coord) {
  Expr *f = coord[g->first];
  for (int i = g->first + 1; i < g->first + g->n; i++)
    f = ex_add(a, times(a, f, l->shape[i]), coord[i]);
  return f;
}

// The sum of value * stride / unit over the digits of the wanted kind (thread, or not).
static Expr *place_expr(Arena *a, Facts *facts, const Layout *l, Expr **coord, bool thread,
                        int64_t unit) {
  Expr *sum = idx(a, 0);
  for (int i = 0; i < l->ngroups; i++) {
    const DigitGroup *g = &l->group[i];
    Expr *f = simple(facts, fuse_expr(a, l, g, coord));
    for (int j = 0; j < g->ndigits; j++) {
      const Digit *d = &g->digit[j];
      bool top = j == g->ndigits - 1;
      Expr *v = top ? f : mod_by(a, f, d->extent);
      f = top ? f : simple(facts, div_by(a, f, d->extent));
      if ((d->owner == OWN_THREAD) == thread)
        sum = ex_add(a, sum, times(a, simple(facts, v), d->stride / unit));
    }
  }
  return sum;
}

Expr *layout_thread(Arena *a, Facts *f, const Layout *l, Expr **coord) {
  return simple(f, place_expr(a, f, l, coord, true, 1));
}

// x as high + low with high a multiple of `unit` and 0 <= low < unit by proof; false when unknown.
static bool cut_low(Arena *a, Facts *f, Expr *x, int64_t unit, Expr **high, Expr **low) {
  Affine s = ex_affine(a, x);
  Affine hi = {.constant = s.constant - ((s.constant % unit) + unit) % unit}, lo = {0};
  lo.constant = s.constant - hi.constant;
  hi.term = NEWN(a, Expr *, s.n + 1);
  hi.coeff = NEWN(a, int64_t, s.n + 1);
  lo.term = NEWN(a, Expr *, s.n + 1);
  lo.coeff = NEWN(a, int64_t, s.n + 1);
  for (int i = 0; i < s.n; i++) {
    Affine *to =
        s.coeff[i] % unit == 0 || (f && (s.coeff[i] * facts_divisor(f, s.term[i])) % unit == 0)
            ? &hi
            : &lo;
    to->term[to->n] = s.term[i];
    to->coeff[to->n++] = s.coeff[i];
  }
  *high = ex_from_affine(a, &hi);
  *low = ex_from_affine(a, &lo);
  int64_t from = 0, to = 0;
  if (f)
    facts_bounds(f, *low, &from, &to);
  else if (!ex_const(*low, &from))
    return false;
  else
    to = from;
  return from >= 0 && to < unit;
}

bool layout_matrix(const Layout *l, LayoutMatrix *m) {
  if (l->threads || l->ndims < 2 || l->ngroups != l->ndims) return false;
  const DigitGroup *r = &l->group[l->ndims - 2], *c = &l->group[l->ndims - 1];
  if (r->ndigits > 1 || c->ndigits > 2) return false;
  for (int i = 0; i < l->ndims - 2; i++)
    if (l->group[i].ndigits > 1) return false;
  int64_t cols = l->shape[l->ndims - 1];
  if (c->ndigits && c->digit[0].stride != l->bits) return false;
  *m = (LayoutMatrix){.swizzle = l->swizzle, .width = cols, .panel = 0};
  m->pitch = r->ndigits ? r->digit[0].stride / l->bits : cols;
  if (c->ndigits == 2) {
    m->width = c->digit[0].extent;
    m->panel = c->digit[1].stride / l->bits;
  }
  if (!l->swizzle) return true;
  int64_t width = (int64_t)128 << l->swizzle, whole = 8 * width / l->bits;
  m->chunk = 128 / l->bits;
  m->repeat = 8 >> l->swizzle;
  if (m->width * l->bits != width || m->pitch != m->width || m->panel % whole) return false;
  for (int i = 0; i < l->ndims - 2; i++)
    if (l->group[i].ndigits && l->group[i].digit[0].stride / l->bits % whole) return false;
  return true;
}

// Element offset of a row-keyed swizzle: row * pitch + panel + (column ^ key(row)), the XOR
// touching only the chunk number so that elements of a chunk stay consecutive.
static Expr *matrix_where(Arena *a, Facts *f, const Layout *l, const LayoutMatrix *m,
                          Expr **coord) {
  int n = l->ndims;
  Expr *row = coord[n - 2], *col = coord[n - 1], *sum = idx(a, 0);
  for (int i = 0; i < n - 2; i++)
    if (l->group[i].ndigits)
      sum = ex_add(a, sum, times(a, coord[i], l->group[i].digit[0].stride / l->bits));
  sum = ex_add(a, sum, times(a, row, m->pitch));
  if (m->panel) {
    sum = ex_add(a, sum, times(a, simple(f, div_by(a, col, m->width)), m->panel));
    col = simple(f, mod_by(a, col, m->width));
  }
  Expr *key = times(a, simple(f, mod_by(a, div_by(a, row, m->repeat), 1 << m->swizzle)), m->chunk);
  Expr *high, *low;
  if (!cut_low(a, f, col, m->chunk, &high, &low)) {
    high = col;
    low = idx(a, 0);
  }
  return simple(f, ex_add(a, ex_add(a, sum, ex_bin(a, BIN_BITXOR, high, key)), low));
}

Expr *layout_where(Arena *a, Facts *f, const Layout *l, Expr **coord) {
  LayoutMatrix m;
  if (l->swizzle && layout_matrix(l, &m)) return matrix_where(a, f, l, &m, coord);
  Expr *e = simple(f, place_expr(a, f, l, coord, false, l->bits));
  if (!l->swizzle) return e;
  Expr *key = mod_by(a, div_by(a, e, 1024 / l->bits), 1 << l->swizzle);
  return ex_bin(a, BIN_BITXOR, e, times(a, key, 128 / l->bits));
}

int layout_reg_digits(const Layout *l, Digit *out, int max) {
  Place r[MAX_DIGITS];
  int n = places(l, OWN_REG, r);
  if (n > max) die("layout of %d register digits", n);
  for (int i = 0; i < n; i++) out[i] = (Digit){r[i].extent, OWN_REG, r[i].stride};
  return n;
}

// Values of the thread digits, and the condition that the thread is not idle.
static void split_thread(Arena *a, Facts *f, const Layout *l, const Place *p, int n, Expr *thread,
                         Expr **value, Expr **valid) {
  int64_t above = l->threads; // threads are below this
  Expr *rest = thread;
  for (int i = n - 1; i >= 0; i--) {
    value[i] = simple(f, div_by(a, rest, p[i].stride));
    if (p[i].stride * p[i].extent < above)
      *valid = ex_and(a, *valid, ex_lt(a, value[i], idx(a, p[i].extent)));
    rest = simple(f, mod_by(a, rest, p[i].stride));
    above = p[i].stride;
  }
  if (above > 1) *valid = ex_and(a, *valid, ex_bin(a, BIN_EQ, rest, idx(a, 0)));
}

// Dimensions of one group from its digits.
static void group_inverse(Arena *a, Facts *facts, const Layout *l, int gi, Expr **digit,
                          Expr **coord, Expr **valid) {
  const DigitGroup *g = &l->group[gi];
  Expr *f = idx(a, 0);
  int64_t weight = 1, total = 1;
  for (int j = 0; j < g->ndigits; j++) {
    f = ex_add(a, f, times(a, digit[j], weight));
    weight *= g->digit[j].extent;
  }
  f = simple(facts, f);
  for (int k = g->first; k < g->first + g->n; k++) total *= l->shape[k];
  if (weight > total) *valid = ex_and(a, *valid, ex_lt(a, f, idx(a, total)));
  for (int k = g->first + g->n - 1; k > g->first; k--) {
    coord[k] = simple(facts, mod_by(a, f, l->shape[k]));
    f = simple(facts, div_by(a, f, l->shape[k]));
  }
  coord[g->first] = f;
}

void layout_inverse(Arena *a, Facts *f, const Layout *l, Expr *thread, Expr **digit, Expr **coord,
                    Expr **valid) {
  Place t[MAX_DIGITS + 8], r[MAX_DIGITS];
  Expr *tv[MAX_DIGITS + 8], *mine[MAX_DIGITS];
  int nt = places(l, OWN_THREAD, t), nr = places(l, OWN_REG, r);
  *valid = NULL;
  split_thread(a, f, l, t, nt, thread, tv, valid);
  for (int i = 0; i < l->ngroups; i++) {
    for (int k = 0; k < nt; k++)
      if (t[k].group == i) mine[t[k].digit] = tv[k];
    for (int k = 0; k < nr; k++)
      if (r[k].group == i) mine[r[k].digit] = digit[k];
    group_inverse(a, f, l, i, mine, coord, valid);
  }
  if (*valid && f) *valid = facts_simplify(f, *valid);
  if (*valid && ex_is(*valid, 1)) *valid = NULL;
}

Expr *layout_first_copy(Arena *a, const Layout *l, Expr *thread) {
  Place t[MAX_DIGITS + 8];
  Expr *tv[MAX_DIGITS + 8], *cond = NULL, *ignored = NULL;
  int nt = places(l, OWN_THREAD, t);
  split_thread(a, NULL, l, t, nt, thread, tv, &ignored);
  for (int k = 0; k < nt; k++)
    if (t[k].group < 0 && t[k].extent > 1)
      cond = ex_and(a, cond, ex_bin(a, BIN_EQ, tv[k], idx(a, 0)));
  return cond;
}
