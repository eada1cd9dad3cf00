// Integer expressions as sums over atoms, with divisions, minima and selections normalised.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

void type_range(DType t, int64_t *lo, int64_t *hi) {
  int bits = dt_bits(t);
  *lo = NO_LO;
  *hi = NO_HI;
  if (t == DT_BOOL) {
    *lo = 0;
    *hi = 1;
  } else if (dt_is_int(t) && t != DT_INDEX && bits < 64) {
    bool sign = dt_is_signed(t);
    *hi = ((int64_t)1 << (sign ? bits - 1 : bits)) - 1;
    *lo = sign ? -*hi - 1 : 0;
  }
}

static void see_load(void *ctx, Expr *x) { *(bool *)ctx |= x->kind == EX_LOAD; }

bool has_load(Expr *x) {
  bool found = false;
  ex_walk(x, see_load, &found);
  return found;
}

// Does the sum stay within the range of type t, so that fixed-width arithmetic does not wrap?
static bool fits(Facts *f, const Aff *x, DType t) {
  int64_t lo, hi;
  if (t == DT_INDEX) return true;
  if (dt_bits(t) >= 64) { // no bound proves more than that 64 bits hold it
    return aff_lower(f, x, NO_HI, 0) != NO_LO && aff_upper(f, x, 0) != NO_HI;
  }
  type_range(t, &lo, &hi);
  return aff_lower(f, x, lo, 1) >= lo && aff_upper(f, x, 1) <= hi;
}

static bool integer(DType t) { return dt_is_int(t) && t != DT_U64; }

static bool same_node(const Expr *x, const Expr *y) {
  return x->kind == y->kind && (x->kind != EX_BINARY || x->u.bin.op == y->u.bin.op);
}

static bool opaque(Facts *f, Expr *x, Aff *out) {
  if (f->simplifying) {
    Expr *r = facts_simplify_leaf(f, x);
    f->sunk += f->nest >= 60;
    if (!same_node(r, x) && integer(r->type) && f->nest < 60) { // what is left may be a sum
      f->nest++;
      bool known = to_aff(f, r, out);
      f->nest--;
      return known;
    }
    x = r;
  }
  if (x->kind == EX_INT) {
    if (x->u.i == INT64_MIN) return false;
    *out = aff_const(x->u.i);
    return true;
  }
  *out = aff_atom(atom_expr(f, x));
  return true;
}

static bool divide(Facts *f, BinOp op, const Aff *x, int64_t d, Aff *out) {
  Aff n;
  aff_copy(&n, x);
  if (d == 0 || d == INT64_MIN) return false;
  if (d < 0 && !aff_scale(&n, -1)) return false;
  int64_t m = d < 0 ? -d : d;
  if (op == BIN_FLOORDIV) return aff_floordiv(f, out, &n, m);
  return aff_floormod(f, out, &n, m) && (d > 0 || aff_scale(out, -1)); // x % -m is -(-x % m)
}

// In one order, so that min(a, b) and min(b, a) meet.
static bool aff_before(const Aff *x, const Aff *y) {
  if (x->n != y->n) return x->n > y->n; // the constant last
  for (int i = 0; i < x->n; i++) {
    if (x->t[i].atom != y->t[i].atom) return x->t[i].atom < y->t[i].atom;
    if (x->t[i].coeff != y->t[i].coeff) return x->t[i].coeff < y->t[i].coeff;
  }
  return x->c < y->c;
}

static bool choose(Facts *f, BinOp op, const Aff *x, const Aff *y, Aff *out) {
  Aff d;
  if (!aff_sub(&d, x, y)) return false;
  bool above = aff_lower(f, &d, 0, 1) >= 0, below = aff_upper(f, &d, 1) <= 0;
  if (above || below) {
    aff_copy(out, above == (op == BIN_MAX) ? x : y);
    return true;
  }
  // A common part comes out: min(k + a, k + b) is k + min(a, b) for constants a and b's constant.
  Aff p, q, shift = aff_const(x->c < y->c ? x->c : y->c);
  aff_copy(&p, x);
  aff_copy(&q, y);
  if (!aff_add(&p, &shift, -1) || !aff_add(&q, &shift, -1)) return false;
  if (!x->n || !y->n) { // a bound that is a constant stays one
    aff_copy(&p, x);
    aff_copy(&q, y);
    shift = aff_const(0);
  }
  bool swap = !aff_before(&p, &q);
  Atom a = {.kind = op == BIN_MIN ? AT_MIN : AT_MAX, .inner = swap ? &q : &p,
            .inner2 = swap ? &p : &q};
  Aff r = aff_atom(atom_intern(f, &a));
  if (!aff_add(&r, &shift, 1)) return false;
  aff_copy(out, &r);
  return true;
}

static bool shift_left(const Aff *x, int64_t k, Aff *out) {
  aff_copy(out, x);
  return k >= 0 && k < 62 && aff_scale(out, (int64_t)1 << k);
}

// Bit operations with a constant that are arithmetic in disguise.
static bool bits_as_arith(Facts *f, BinOp op, Expr *x, int64_t k, Aff *out) {
  Aff a;
  if (op == BIN_SHR) {
    if (k < 0 || k >= 62 || !to_aff(f, x, &a)) return false;
    return aff_floordiv(f, out, &a, (int64_t)1 << k);
  }
  if (k <= 0 || k > INT64_MAX / 4 || (k & (k + 1)) || !to_aff(f, x, &a)) return false;
  return aff_floormod(f, out, &a, k + 1); // x & (2^n - 1), in two's complement for any sign
}

static bool binary(Facts *f, Expr *x, Aff *out) {
  BinOp op = x->u.bin.op;
  Aff a, b;
  int64_t k;
  bool bits = op == BIN_SHR || op == BIN_BITAND;
  if (bits)
    return !f->simplifying && ex_const(x->u.bin.b, &k) && bits_as_arith(f, op, x->u.bin.a, k, out);
  if (op != BIN_ADD && op != BIN_SUB && op != BIN_MUL && op != BIN_FLOORDIV && op != BIN_FLOORMOD &&
      op != BIN_MIN && op != BIN_MAX && op != BIN_SHL)
    return false;
  if (!to_aff(f, x->u.bin.a, &a) || !to_aff(f, x->u.bin.b, &b)) return false;
  switch (op) {
  case BIN_ADD:
  case BIN_SUB:
    aff_copy(out, &a);
    if (!aff_add(out, &b, op == BIN_ADD ? 1 : -1)) return false;
    break;
  case BIN_MUL:
    if (!aff_mul(f, out, &a, &b)) return false;
    break;
  case BIN_MIN: case BIN_MAX: return choose(f, op, &a, &b, out);
  default:
    if (b.n) return false;
    if (op == BIN_SHL) {
      if (!shift_left(&a, b.c, out)) return false;
    } else if (!divide(f, op, &a, b.c, out)) {
      return false;
    }
  }
  aff_recombine(f, out);
  return true;
}

static bool select_aff(Facts *f, Expr *x, Aff *out) {
  Expr *cond = x->u.sel.cond;
  bool yes = facts_prove(f, cond), no = !yes && disprove(f, cond);
  if (yes || no) return to_aff(f, yes ? x->u.sel.yes : x->u.sel.no, out);
  if (f->simplifying) return false; // its parts are simplified as expressions, under the condition
  Aff a, b;
  if (!to_aff(f, x->u.sel.yes, &a) || !to_aff(f, x->u.sel.no, &b)) return false;
  Atom key = {.kind = AT_SELECT, .cond = cond, .inner = &a, .inner2 = &b};
  *out = aff_atom(atom_intern(f, &key));
  return true;
}

static bool convert(Facts *f, Expr *x, Aff *out) {
  Aff a;
  switch (x->kind) {
  case EX_INT:
    *out = aff_const(x->u.i);
    return x->u.i != INT64_MIN;
  case EX_VAR: {
    int atom = atom_expr(f, x);
    const Aff *let = atom_at(f, atom)->let;
    if (let && !f->simplifying) aff_copy(out, let);
    else *out = aff_atom(atom);
    return true;
  }
  case EX_UNARY:
    if (x->u.un.op == UN_NOT || (x->u.un.op == UN_BITNOT && !dt_is_signed(x->type))) return false;
    if (f->simplifying && x->u.un.op == UN_BITNOT) return false;
    if (!to_aff(f, x->u.un.a, &a) || !aff_scale(&a, -1)) return false;
    *out = aff_const(x->u.un.op == UN_BITNOT ? -1 : 0); // ~a is -a - 1
    return aff_add(out, &a, 1);
  case EX_BINARY: return binary(f, x, out);
  case EX_CAST: return integer(x->u.cast->type) && to_aff(f, x->u.cast, out);
  case EX_SELECT: return select_aff(f, x, out);
  default: return false;
  }
}

bool to_aff(Facts *f, Expr *x, Aff *out) {
  if (!integer(x->type)) return false;
  if (f->nest >= 64) {
    f->sunk++;
    return opaque(f, x, out);
  }
  f->nest++;
  Aff r;
  bool known =
      convert(f, x, &r) && (x->kind == EX_VAR || x->kind == EX_INT || fits(f, &r, x->type));
  f->nest--;
  if (!known) return opaque(f, x, out);
  aff_copy(out, &r);
  return true;
}
