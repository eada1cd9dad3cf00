// Sums over interned atoms: exact arithmetic, interning, and the way back to expressions.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

#include <string.h>

int64_t floor_div64(int64_t a, int64_t b) { return a / b - (a % b < 0); }

int64_t gcd64(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t r = x % y;
    x = y;
    y = r;
  }
  return x > INT64_MAX ? 1 : (int64_t)x; // 2^63 alone: 1 divides too
}

// *out = x + y * scale; out is neither of them, and undefined where it fails.
static bool sum(Aff *out, const Aff *x, const Aff *y, int64_t scale) {
  int64_t p;
  if (__builtin_mul_overflow(y->c, scale, &p) || __builtin_add_overflow(x->c, p, &out->c))
    return false;
  if (out->c == INT64_MIN) return false;
  int n = 0;
  for (int i = 0, j = 0; i < x->n || j < y->n;) {
    bool left = j == y->n || (i < x->n && x->t[i].atom <= y->t[j].atom);
    bool right = i == x->n || (j < y->n && y->t[j].atom <= x->t[i].atom);
    Term t = {left ? x->t[i].atom : y->t[j].atom, left ? x->t[i].coeff : 0};
    if (right) {
      if (__builtin_mul_overflow(y->t[j].coeff, scale, &p)) return false;
      if (__builtin_add_overflow(t.coeff, p, &t.coeff)) return false;
    }
    i += left;
    j += right;
    if (t.coeff == INT64_MIN) return false; // keeps negation safe
    if (!t.coeff) continue;
    if (n == AFF_MAX) return false;
    out->t[n++] = t;
  }
  out->n = n;
  return true;
}

bool aff_add(Aff *x, const Aff *y, int64_t scale) {
  Aff r;
  if (!sum(&r, x, y, scale)) return false;
  aff_copy(x, &r);
  return true;
}

bool aff_scale(Aff *x, int64_t k) {
  if (k == 1) return true;
  Aff r, zero = aff_const(0);
  if (!sum(&r, &zero, x, k)) return false;
  aff_copy(x, &r);
  return true;
}

bool aff_sub(Aff *out, const Aff *x, const Aff *y) {
  Aff r;
  if (!sum(&r, x, y, -1)) return false;
  aff_copy(out, &r);
  return true;
}

bool aff_equal(const Aff *x, const Aff *y) {
  if (x->n != y->n || x->c != y->c) return false;
  for (int i = 0; i < x->n; i++) {
    if (x->t[i].atom != y->t[i].atom || x->t[i].coeff != y->t[i].coeff) return false;
  }
  return true;
}

int64_t aff_coeff(const Aff *x, int atom) {
  for (int i = 0; i < x->n; i++) {
    if (x->t[i].atom == atom) return x->t[i].coeff;
  }
  return 0;
}

int64_t aff_gcd(const Aff *x) {
  int64_t g = 0;
  for (int i = 0; i < x->n; i++) g = gcd64(g, x->t[i].coeff);
  return g;
}

Aff *aff_keep(Facts *f, const Aff *x) {
  Aff *r = arena_alloc(f->arena, offsetof(Aff, t) + sizeof *x->t * (size_t)x->n);
  aff_copy(r, x);
  return r;
}

/* interning */

static uint64_t hash_aff(uint64_t h, const Aff *x) {
  if (!x) return h;
  h = hash_mix(h, (uint64_t)x->c);
  for (int i = 0; i < x->n; i++)
    h = hash_mix(hash_mix(h, (uint64_t)x->t[i].atom), (uint64_t)x->t[i].coeff);
  return h;
}

static uint64_t hash_atom(const Atom *a) {
  uint64_t h = (uint64_t)a->kind + 1;
  if (a->kind == AT_VAR) return hash_mix(h, (uint64_t)(uintptr_t)a->expr->u.var);
  if (a->kind == AT_OTHER) h = ex_hash(h, a->expr);
  if (a->cond) h = ex_hash(h, a->cond);
  h = hash_mix(hash_aff(hash_aff(h, a->inner), a->inner2), (uint64_t)a->d);
  for (int i = 0; i < a->nfactors; i++) h = hash_mix(h, (uint64_t)a->factor[i]);
  return h;
}

static bool same_aff(const Aff *x, const Aff *y) { return !x || !y ? x == y : aff_equal(x, y); }

static bool same_atom(const Atom *x, const Atom *y) {
  if (x->kind != y->kind || x->d != y->d || x->nfactors != y->nfactors) return false;
  if (x->kind == AT_VAR) return x->expr->u.var == y->expr->u.var;
  if (x->kind == AT_OTHER) return ex_equal(x->expr, y->expr);
  if (x->cond && !ex_equal(x->cond, y->cond)) return false;
  return same_aff(x->inner, y->inner) && same_aff(x->inner2, y->inner2) &&
         !memcmp(x->factor, y->factor, sizeof x->factor);
}

static void default_range(Atom *a) {
  a->vlo = NO_LO;
  a->vhi = NO_HI;
  if (a->kind != AT_VAR) return;
  const Var *v = a->expr->u.var;
  type_range(v->type, &a->vlo, &a->vhi);
  if (v->kind == VAR_SIZE) a->vhi = INT32_MAX; // the launcher refuses larger ones
  if (v->kind == VAR_SIZE || v->kind == VAR_BLOCK || v->kind == VAR_THREAD) a->vlo = 0;
}

int atom_intern(Facts *f, const Atom *key) {
  uint64_t hash = hash_atom(key);
  int *head = &f->bucket[hash % BUCKETS];
  for (int i = *head; i; i = f->atoms.data[i - 1]->next) {
    const Atom *old = f->atoms.data[i - 1];
    if (old->hash == hash && same_atom(old, key)) return i - 1;
  }
  Atom *a = arena_copy(f->arena, key, sizeof *key);
  if (a->inner) a->inner = aff_keep(f, a->inner);
  if (a->inner2) a->inner2 = aff_keep(f, a->inner2);
  default_range(a);
  a->hash = hash;
  a->next = *head;
  vec_push(f->arena, &f->atoms, a);
  *head = f->atoms.len;
  return f->atoms.len - 1;
}

int atom_expr(Facts *f, Expr *x) {
  return atom_intern(f, &(Atom){.kind = x->kind == EX_VAR ? AT_VAR : AT_OTHER, .expr = x});
}

/* products */

static int factors_of(Facts *f, int atom, int *out) {
  const Atom *a = atom_at(f, atom);
  if (a->kind != AT_PROD) return out[0] = atom, 1;
  memcpy(out, a->factor, sizeof *out * (size_t)a->nfactors);
  return a->nfactors;
}

// The atom of a product of two atoms; -1 when it has too many factors.
static int product(Facts *f, int x, int y) {
  int list[2 * PROD_MAX], n = factors_of(f, x, list);
  n += factors_of(f, y, list + n);
  if (n > PROD_MAX) return -1;
  for (int i = 1; i < n; i++) { // insertion sort
    for (int j = i; j > 0 && list[j - 1] > list[j]; j--) {
      int t = list[j];
      list[j] = list[j - 1];
      list[j - 1] = t;
    }
  }
  Atom a = {.kind = AT_PROD, .nfactors = n};
  memcpy(a.factor, list, sizeof *list * (size_t)n);
  return atom_intern(f, &a);
}

bool aff_mul(Facts *f, Aff *out, const Aff *x, const Aff *y) {
  Aff r = aff_const(0);
  if (!aff_add(&r, x, y->c)) return false;
  for (int j = 0; j < y->n; j++) {
    Aff one = aff_atom(y->t[j].atom);
    int64_t k;
    if (__builtin_mul_overflow(x->c, y->t[j].coeff, &k) || !aff_add(&r, &one, k)) return false;
    for (int i = 0; i < x->n; i++) {
      int p = product(f, x->t[i].atom, y->t[j].atom);
      if (p < 0 || __builtin_mul_overflow(x->t[i].coeff, y->t[j].coeff, &k)) return false;
      one = aff_atom(p);
      if (!aff_add(&r, &one, k)) return false;
    }
  }
  aff_copy(out, &r);
  return true;
}

/* back to expressions */

static Expr *product_expr(Facts *f, const Atom *a) {
  Expr *r = NULL;
  for (int i = 0; i < a->nfactors; i++) {
    Aff one = aff_atom(a->factor[i]);
    Expr *x = aff_expr(f, &one);
    r = r ? ex_mul(f->arena, r, x) : x;
  }
  return r;
}

static Expr *atom_to_expr(Facts *f, int number) {
  const Atom *a = atom_at(f, number);
  Arena *m = f->arena;
  switch (a->kind) {
  case AT_FDIV: return ex_floordiv(m, aff_expr(f, a->inner), ex_index(m, a->d));
  case AT_MOD: return ex_floormod(m, aff_expr(f, a->inner), ex_index(m, a->d));
  case AT_MIN: return ex_bin(m, BIN_MIN, aff_expr(f, a->inner), aff_expr(f, a->inner2));
  case AT_MAX: return ex_bin(m, BIN_MAX, aff_expr(f, a->inner), aff_expr(f, a->inner2));
  case AT_SELECT: return ex_select(m, a->cond, aff_expr(f, a->inner), aff_expr(f, a->inner2));
  case AT_PROD: return product_expr(f, a);
  default: return ex_cast(m, DT_INDEX, a->expr);
  }
}

// A factor that at least two terms share, so that (a + b) * n is not written a * n + b * n; or -1.
static int common_factor(Facts *f, const Aff *x) {
  for (int i = 0; i < x->n; i++) {
    const Atom *a = atom_at(f, x->t[i].atom);
    if (a->kind != AT_PROD) continue;
    for (int k = a->nfactors; k-- > 0;) {
      for (int j = 0; j < x->n; j++) {
        int list[PROD_MAX], n = factors_of(f, x->t[j].atom, list);
        if (j == i) continue;
        for (int l = 0; l < n; l++) {
          if (list[l] == a->factor[k]) return a->factor[k];
        }
      }
    }
  }
  return -1;
}

// Splits x into with * factor + without.
static bool split_factor(Facts *f, const Aff *x, int factor, Aff *with, Aff *without) {
  *with = aff_const(0);
  *without = aff_const(x->c);
  for (int i = 0; i < x->n; i++) {
    int list[PROD_MAX], n = factors_of(f, x->t[i].atom, list), at = n;
    for (int k = n; k-- > 0;) {
      if (list[k] == factor) at = k;
    }
    Aff one = aff_atom(x->t[i].atom);
    if (at < n) {
      Atom rest = {.kind = AT_PROD, .nfactors = n - 1};
      for (int k = 0, m = 0; k < n; k++) {
        if (k != at) rest.factor[m++] = list[k];
      }
      one = n == 1   ? aff_const(1)
            : n == 2 ? aff_atom(rest.factor[0])
                     : aff_atom(atom_intern(f, &rest));
    }
    if (!aff_add(at < n ? with : without, &one, x->t[i].coeff)) return false;
  }
  return true;
}

// Products first, then by falling stride: row * 64 + column.
static void order_terms(Facts *f, const Aff *x, Term *out) {
  for (int i = 0; i < x->n; i++) {
    Term t = x->t[i];
    int64_t size = atom_at(f, t.atom)->kind == AT_PROD ? INT64_MAX
                   : t.coeff < 0                       ? -t.coeff
                                                       : t.coeff;
    int j = i;
    for (; j > 0; j--) {
      int64_t c = out[j - 1].coeff < 0 ? -out[j - 1].coeff : out[j - 1].coeff;
      if (atom_at(f, out[j - 1].atom)->kind == AT_PROD || c >= size) break;
      out[j] = out[j - 1];
    }
    out[j] = t;
  }
}

static Expr *add_terms(Facts *f, Expr *r, const Aff *x, bool positive) {
  Arena *m = f->arena;
  Term term[AFF_MAX];
  order_terms(f, x, term);
  for (int i = 0; i < x->n; i++) {
    int64_t c = term[i].coeff;
    if ((c > 0) != positive) continue;
    Expr *t = atom_to_expr(f, term[i].atom);
    if (!r && c < 0) r = c == -1 ? ex_un(m, UN_NEG, t) : ex_mul(m, t, ex_index(m, c));
    else {
      t = ex_mul(m, t, ex_index(m, c < 0 ? -c : c));
      r = !r ? t : c < 0 ? ex_sub(m, r, t) : ex_add(m, r, t);
    }
  }
  return r;
}

Expr *aff_expr(Facts *f, const Aff *x) {
  Aff with, without;
  int factor = common_factor(f, x);
  if (factor >= 0 && split_factor(f, x, factor, &with, &without)) {
    Expr *product = ex_mul(f->arena, aff_expr(f, &with), atom_to_expr(f, factor));
    if (!without.n && !without.c) return product;
    return ex_add(f->arena, product, aff_expr(f, &without));
  }
  Expr *r = add_terms(f, NULL, x, true);
  bool used = !r && x->n && x->c > 0; // 7 - a, not -a + 7
  if (used) r = ex_index(f->arena, x->c);
  r = add_terms(f, r, x, false);
  if (!r) return ex_index(f->arena, x->c);
  if (used || !x->c) return r;
  return x->c < 0 ? ex_sub(f->arena, r, ex_index(f->arena, -x->c))
                  : ex_add(f->arena, r, ex_index(f->arena, x->c));
}
