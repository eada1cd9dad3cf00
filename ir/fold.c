// Arithmetic on constants, exactly as the expression table means it.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

#include "base/numeric.h"

#include <math.h>

int64_t fold_wrap(DType t, int64_t v) {
  if (t == DT_BOOL) return v != 0;
  int bits = dt_bits(t);
  if (bits >= 64) return v;
  uint64_t mask = ((uint64_t)1 << bits) - 1, u = (uint64_t)v & mask;
  if (dt_is_signed(t) && u >> (bits - 1)) u |= ~mask;
  return (int64_t)u;
}

double fold_round(DType t, double v) {
  switch (t) {
  case DT_F16: return num_f16_to_f32(num_f16_from_f64(v));
  case DT_BF16: return num_bf16_to_f32(num_bf16_from_f64(v));
  case DT_E4M3: return num_e4m3_to_f32(num_e4m3_from_f64(v, true));
  case DT_E2M1: return num_e2m1_to_f32(num_e2m1_from_f64(v));
  case DT_E5M2: return num_e5m2_to_f32(num_e5m2_from_f64(v, true));
  case DT_TF32: return num_tf32_from_f32((float)v);
  case DT_F32: return (float)v;
  default: return v;
  }
}

static int64_t floor_div(int64_t x, int64_t y) {
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static int64_t floor_mod(int64_t x, int64_t y) {
  int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static bool fold_division(BinOp op, DType t, int64_t x, int64_t y, int64_t *out) {
  if (y == 0) return false;
  if (t == DT_U64) {
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    *out = (int64_t)(op == BIN_FLOORDIV ? a / b : a % b);
    return true;
  }
  if (y == -1) {
    if (op == BIN_FLOORMOD) return *out = 0, true;
    if (x == INT64_MIN && t == DT_INDEX) return false;
    *out = fold_wrap(t, (int64_t)-(uint64_t)x);
    return true;
  }
  *out = fold_wrap(t, op == BIN_FLOORDIV ? floor_div(x, y) : floor_mod(x, y));
  return true;
}

static bool fold_shift(BinOp op, DType t, int64_t x, int64_t y, int64_t *out) {
  if (y < 0 || y >= dt_bits(t)) return false;
  if (op == BIN_SHL) {
    int64_t r = (int64_t)((uint64_t)x << y);
    if (t == DT_INDEX && r >> y != x) return false;
    *out = fold_wrap(t, r);
  } else {
    *out = dt_is_signed(t) ? x >> y : (int64_t)((uint64_t)x >> y);
  }
  return true;
}

static bool less(DType t, int64_t x, int64_t y) {
  return t == DT_U64 ? (uint64_t)x < (uint64_t)y : x < y;
}

bool fold_int(BinOp op, DType t, int64_t x, int64_t y, int64_t *out) {
  bool over = false;
  int64_t r = 0;
  switch (op) {
  case BIN_ADD: over = __builtin_add_overflow(x, y, &r); break;
  case BIN_SUB: over = __builtin_sub_overflow(x, y, &r); break;
  case BIN_MUL: over = __builtin_mul_overflow(x, y, &r); break;
  case BIN_FLOORDIV:
  case BIN_FLOORMOD: return fold_division(op, t, x, y, out);
  case BIN_MIN: r = less(t, y, x) ? y : x; break;
  case BIN_MAX: r = less(t, x, y) ? y : x; break;
  case BIN_AND: r = x && y; break;
  case BIN_OR: r = x || y; break;
  case BIN_BITAND: r = x & y; break;
  case BIN_BITOR: r = x | y; break;
  case BIN_BITXOR: r = x ^ y; break;
  case BIN_SHL:
  case BIN_SHR: return fold_shift(op, t, x, y, out);
  default: return false;
  }
  if (over && t == DT_INDEX) return false; // exact integers never wrap
  *out = fold_wrap(t, r); // the builtins leave the low 64 bits in r
  return true;
}

bool fold_float(BinOp op, DType t, double x, double y, double *out) {
  double r;
  if (t == DT_TF32 || dt_bits(t) <= 8) return false; // no arithmetic of their own
  switch (op) {
  case BIN_ADD: r = x + y; break;
  case BIN_SUB: r = x - y; break;
  case BIN_MUL: r = x * y; break;
  case BIN_DIV: r = x / y; break;
  case BIN_MIN: r = fmin(x, y); break;
  case BIN_MAX: r = fmax(x, y); break;
  default: return false;
  }
  if (isnan(r)) return false;
  *out = fold_round(t, r); // 53 bits are more than twice 24 + 2: rounding twice is rounding once
  return true;
}

bool fold_compare(BinOp op, DType t, const Expr *x, const Expr *y, bool *out) {
  bool lt, eq;
  if (x->kind == EX_INT && y->kind == EX_INT) {
    lt = less(t, x->u.i, y->u.i);
    eq = x->u.i == y->u.i;
  } else if (x->kind == EX_FLOAT && y->kind == EX_FLOAT) {
    lt = x->u.f < y->u.f;
    eq = x->u.f == y->u.f;
  } else {
    return false;
  }
  *out = op == BIN_LT ? lt : op == BIN_LE ? lt || eq : op == BIN_EQ ? eq : !eq;
  return true;
}

int64_t fold_to_int(DType to, double v) {
  if (to == DT_BOOL) return v != 0; // a NaN is not zero
  if (isnan(v)) return 0;
  v = trunc(v);
  int bits = dt_bits(to);
  bool sign = dt_is_signed(to);
  double hi = ldexp(1, sign ? bits - 1 : bits), lo = sign ? -hi : 0;
  if (v >= hi) return sign ? (int64_t)(((uint64_t)1 << (bits - 1)) - 1)
                           : (int64_t)(bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1);
  if (v <= lo) return sign ? (int64_t)(~(uint64_t)0 << (bits - 1)) : 0;
  return to == DT_U64 ? (int64_t)(uint64_t)v : (int64_t)v;
}

double fold_to_float(DType to, DType from, int64_t v) {
  bool negative = from != DT_U64 && v < 0;
  uint64_t mag = negative ? -(uint64_t)v : (uint64_t)v;
  if (to == DT_F64) return negative ? -(double)mag : (double)mag;
  // Round to odd at 53 bits first, so that the narrower rounding is the only one that counts.
  int drop = 0;
  while (mag >> drop >= (uint64_t)1 << 53) drop++;
  uint64_t kept = mag >> drop;
  if (kept << drop != mag) kept |= 1;
  double d = ldexp((double)kept, drop);
  return fold_round(to, negative ? -d : d);
}
