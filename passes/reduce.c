// What combines two values in a reduction.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

#include <math.h>

/* ------------------------------------------------------------------ combining */

ReduceKind reduce_base(ReduceKind kind) {
  return kind == RED_ABSSUM ? RED_SUM : kind == RED_ABSMAX ? RED_MAX : kind;
}

static Expr *extreme(Arena *a, DType t, bool largest) {
  if (dt_is_float(t)) return ex_cast(a, t, ex_float(a, DT_F64, largest ? HUGE_VAL : -HUGE_VAL));
  if (t == DT_BOOL) return ex_bool(a, largest);
  int bits = dt_bits(t);
  uint64_t top = ~UINT64_C(0) >> (64 - bits + dt_is_signed(t));
  if (largest) return ex_int(a, t, (int64_t)top);
  return ex_int(a, t, dt_is_signed(t) ? (int64_t)~top : 0);
}

Expr *reduce_neutral(Arena *a, ReduceKind kind, DType t) {
  switch (kind) {
  case RED_MAX: return extreme(a, t, false);
  case RED_MIN: return extreme(a, t, true);
  case RED_BITAND: return ex_cast(a, t, ex_int(a, DT_I64, -1));
  default: return ex_cast(a, t, ex_int(a, DT_I64, 0));
  }
}

static Expr *either_nan(Arena *a, Expr *x, Expr *y) {
  Expr *p = ex_math(a, MATH_ISNAN, &x, 1), *q = ex_math(a, MATH_ISNAN, &y, 1);
  return ex_bin(a, BIN_OR, p, q);
}

Expr *reduce_combine(Arena *a, ReduceKind kind, bool nan, Expr *acc, Expr *x) {
  static const BinOp ops[] = {
      [RED_SUM] = BIN_ADD,     [RED_ABSSUM] = BIN_ADD,    [RED_MAX] = BIN_MAX,
      [RED_MIN] = BIN_MIN,     [RED_ABSMAX] = BIN_MAX,    [RED_BITAND] = BIN_BITAND,
      [RED_BITOR] = BIN_BITOR, [RED_BITXOR] = BIN_BITXOR,
  };
  if (reduce_base(kind) != kind && (dt_is_float(x->type) || dt_is_signed(x->type)))
    x = ex_math(a, MATH_ABS, &x, 1);
  Expr *y = ex_bin(a, ops[kind], acc, x);
  bool spreads = ops[kind] == BIN_ADD || !dt_is_float(x->type); // a NaN, by itself
  return nan && !spreads ? ex_select(a, either_nan(a, acc, x), ex_add(a, acc, x), y) : y;
}
