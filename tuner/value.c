// Values of integer expressions by interval arithmetic, lets looked through.
// SPDX-License-Identifier: MIT
#include "tuner/model.h"

#define FAR (INT64_C(1) << 50)

static int64_t clip(int64_t x) { return x < -FAR ? -FAR : x > FAR ? FAR : x; }
static MvRange range(int64_t lo, int64_t hi) { return (MvRange){clip(lo), clip(hi)}; }
static MvRange unknown(void) { return range(-FAR, FAR); }
static bool is_point(MvRange r) { return r.lo == r.hi; }

void mv_set(MvEnv *e, const Var *v, MvRange point, MvRange sweep) {
  e->time++;
  for (int i = e->cells.len - 1; i >= 0; i--) {
    MvCell *c = &e->cells.data[i];
    if (c->var != v) continue;
    *c = (MvCell){.var = v, .point = point, .sweep = sweep};
    return;
  }
  vec_push(e->arena, &e->cells, (MvCell){.var = v, .point = point, .sweep = sweep});
}

void mv_let(MvEnv *e, const Var *v, Expr *value) {
  e->time++;
  vec_push(e->arena, &e->cells, (MvCell){.var = v, .let = value, .fresh = -1});
}

void mv_pop(MvEnv *e, int mark) { e->cells.len = mark; }

static MvRange var_value(MvEnv *e, const Var *v) {
  for (int i = e->cells.len - 1; i >= 0; i--) {
    MvCell *c = &e->cells.data[i];
    if (c->var != v) continue;
    if (!c->let) return e->sweep ? c->sweep : c->point;
    int64_t key = e->time * 2 + e->sweep;
    if (c->fresh == key) {
      e->guessed |= c->guess;
      return c->memo;
    }
    bool before = e->guessed;
    e->guessed = false;
    MvRange r = mv_eval(e, c->let);
    c->memo = r;
    c->fresh = key;
    c->guess = e->guessed;
    e->guessed |= before;
    return r;
  }
  e->guessed = true;
  return range(0, 0);
}

static int64_t floordiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) == (b < 0) ? FAR : -FAR;
  return clip(r);
}

static MvRange corners(MvRange a, MvRange b, int64_t (*f)(int64_t, int64_t)) {
  int64_t v[4] = {f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  int64_t lo = v[0], hi = v[0];
  for (int i = 1; i < 4; i++) {
    if (v[i] < lo) lo = v[i];
    if (v[i] > hi) hi = v[i];
  }
  return range(lo, hi);
}

static MvRange modulo(MvRange a, MvRange b) {
  if (!is_point(b) || b.lo <= 0) return unknown();
  int64_t m = b.lo;
  if (floordiv(a.lo, m) == floordiv(a.hi, m))
    return range(a.lo - m * floordiv(a.lo, m), a.hi - m * floordiv(a.hi, m));
  return range(0, m - 1);
}

static MvRange bits(BinOp op, MvRange a, MvRange b) {
  if (is_point(a) && is_point(b)) {
    int64_t x = a.lo, y = b.lo, r = 0;
    int shift = (int)(y < 0 ? 0 : y > 62 ? 62 : y);
    switch (op) {
    case BIN_BITAND: r = x & y; break;
    case BIN_BITOR: r = x | y; break;
    case BIN_BITXOR: r = x ^ y; break;
    case BIN_SHL: r = mul(x, INT64_C(1) << shift); break;
    default: r = x >> shift; break;
    }
    return range(r, r);
  }
  if (a.lo < 0 || b.lo < 0) return unknown();
  int64_t top = a.hi > b.hi ? a.hi : b.hi, mask = 1;
  while (mask <= top && mask < FAR) mask *= 2;
  if (op == BIN_BITAND) return range(0, a.hi < b.hi ? a.hi : b.hi);
  if (op == BIN_BITOR || op == BIN_BITXOR) return range(0, mask - 1);
  return op == BIN_SHR ? range(0, a.hi) : unknown();
}

static MvRange truth(int t) { return t < 0 ? range(0, 1) : range(t, t); }

static int compare(BinOp op, MvRange a, MvRange b) {
  switch (op) {
  case BIN_LT: return a.hi < b.lo ? 1 : a.lo >= b.hi ? 0 : -1;
  case BIN_LE: return a.hi <= b.lo ? 1 : a.lo > b.hi ? 0 : -1;
  case BIN_EQ:
    return is_point(a) && is_point(b) ? a.lo == b.lo : a.hi < b.lo || b.hi < a.lo ? 0 : -1;
  default: return is_point(a) && is_point(b) ? a.lo != b.lo : a.hi < b.lo || b.hi < a.lo ? 1 : -1;
  }
}

static MvRange both(BinOp op, MvRange a, MvRange b) {
  if (op == BIN_AND) return range(a.lo && b.lo, a.hi && b.hi);
  return range(a.lo || b.lo, a.hi || b.hi);
}

static MvRange binary(MvEnv *e, const Expr *x) {
  if (dt_is_float(x->u.bin.a->type)) {
    e->guessed = true;
    return range(0, 1);
  }
  MvRange a = mv_eval(e, x->u.bin.a), b = mv_eval(e, x->u.bin.b);
  switch (x->u.bin.op) {
  case BIN_ADD: return range(a.lo + b.lo, a.hi + b.hi);
  case BIN_SUB: return range(a.lo - b.hi, a.hi - b.lo);
  case BIN_MUL: return corners(a, b, mul);
  case BIN_FLOORDIV:
    if (b.lo <= 0) return unknown();
    return corners(a, b, floordiv);
  case BIN_FLOORMOD: return modulo(a, b);
  case BIN_MIN: return range(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
  case BIN_MAX: return range(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
  case BIN_LT:
  case BIN_LE:
  case BIN_EQ:
  case BIN_NE: return truth(compare(x->u.bin.op, a, b));
  case BIN_AND:
  case BIN_OR: return both(x->u.bin.op, a, b);
  case BIN_DIV: return unknown();
  default: return bits(x->u.bin.op, a, b);
  }
}

static MvRange select(MvEnv *e, const Expr *x) {
  int t = mv_truth(e, x->u.sel.cond);
  if (t == 1) return mv_eval(e, x->u.sel.yes);
  if (t == 0) return mv_eval(e, x->u.sel.no);
  MvRange a = mv_eval(e, x->u.sel.yes), b = mv_eval(e, x->u.sel.no);
  return range(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

MvRange mv_eval(MvEnv *e, const Expr *x) {
  switch (x->kind) {
  case EX_INT: return range(x->u.i, x->u.i);
  case EX_VAR: return var_value(e, x->u.var);
  case EX_UNARY: {
    MvRange a = mv_eval(e, x->u.un.a);
    if (x->u.un.op == UN_NEG) return range(-a.hi, -a.lo);
    if (x->u.un.op == UN_NOT) return range(!a.hi, !a.lo);
    return range(~a.hi, ~a.lo);
  }
  case EX_BINARY: return binary(e, x);
  case EX_CAST:
    if (!dt_is_float(x->u.cast->type)) return mv_eval(e, x->u.cast);
    break;
  case EX_SELECT: return select(e, x);
  default: break;
  }
  e->guessed = true; // what memory holds, and what is computed from floats
  return range(0, 0);
}

int64_t mv_point(MvEnv *e, const Expr *x) {
  MvRange r = mv_eval(e, x);
  return r.lo + (r.hi - r.lo) / 2;
}

int mv_truth(MvEnv *e, const Expr *cond) {
  MvRange r = mv_eval(e, cond);
  return r.lo > 0 || r.hi < 0 ? 1 : r.lo == 0 && r.hi == 0 ? 0 : -1;
}
