// Propagation of deviations: how far a device may be from the oracle's value after one operation,
// given how far its operands may be. An operation on exact operands is exact where IEEE rounding
// fixes it (no deviation); the mathematical functions of a device are not.
// SPDX-License-Identifier: MIT
#include "emu/machine.h"

#include <float.h>
#include <math.h>

// Two values that differ may round to neighbours: one more ulp of the result.
static double rounded(DType t, Val r, double e) {
  if (e == 0 || !dt_is_float(t)) return 0;
  return isfinite(r.f) ? e + emu_ulp(t, r.f) : 0;
}

double bound_cast(DType to, DType from, Val r, double ea) {
  if (ea == 0 || !dt_is_float(to)) return 0;
  bool wider = dt_is_float(from) && emu_eps(to) <= emu_eps(from);
  return wider ? ea : rounded(to, r, ea);
}

static double divide_bound(Val r, Val b, double ea, double eb) {
  double room = fabs(b.f) - eb;
  if (room <= 0) return INFINITY; // the divisor may be zero: nothing is known
  return (ea + fabs(r.f) * eb) / room;
}

double bound_binary(const Node *x, Val r, Val a, Val b, double ea, double eb) {
  if ((ea == 0 && eb == 0) || !dt_is_float(x->type)) return 0;
  switch ((BinOp)x->op) {
  case BIN_ADD:
  case BIN_SUB: return rounded(x->type, r, ea + eb);
  case BIN_MUL: return rounded(x->type, r, fabs(a.f) * eb + fabs(b.f) * ea + ea * eb);
  case BIN_DIV: return rounded(x->type, r, divide_bound(r, b, ea, eb));
  default: return fmax(ea, eb); // min and max are 1-Lipschitz in the larger deviation
  }
}

// |f(a + e) - f(a)| for |e| <= ea, by the slope's bound over the interval.
static double math_slope(const Node *x, Val r, const Val *v, const double *e) {
  double a = v[0].f, ea = e[0];
  switch ((MathFn)x->op) {
  case MATH_EXP: return fabs(r.f) * expm1(ea);
  case MATH_EXP2:
  case MATH_EXP2_FLUSH: return fabs(r.f) * expm1(ea * 0.6931471805599453);
  case MATH_LOG: return a > ea ? -log1p(-ea / a) : INFINITY;
  case MATH_LOG2: return a > ea ? -log1p(-ea / a) * 1.4426950408889634 : INFINITY;
  case MATH_SQRT: return a > ea ? sqrt(a) - sqrt(a - ea) : sqrt(fmax(a, 0) + ea);
  case MATH_RSQRT: return a > ea ? 1 / sqrt(a - ea) - 1 / sqrt(a) : INFINITY;
  case MATH_ERF: return ea * 1.1283791670955126;
  case MATH_SIGMOID: return ea * 0.25;
  case MATH_FLOOR:
  case MATH_CEIL:
  case MATH_ROUND: return ea > 0 ? ea + 1 : 0;
  case MATH_FMA: return fabs(v[0].f) * e[1] + fabs(v[1].f) * e[0] + e[0] * e[1] + e[2];
  case MATH_POW: {
    if (e[0] == 0 && e[1] == 0) return 0;
    if (a <= ea) return INFINITY;
    double power = fabs(v[1].f) * -log1p(-ea / a) + e[1] * (fabs(log(a)) + ea / (a - ea));
    return fabs(r.f) * expm1(power);
  }
  default: return ea; // sin, cos, tanh, abs: slope at most 1
  }
}

// Ulps of float32 by which a device's own function may differ from the rounded value (CUDA C++
// Programming Guide, "Mathematical Functions", full-range versions); narrow types compute in float.
static double math_ulps(MathFn fn) {
  switch (fn) {
  case MATH_EXP:
  case MATH_EXP2:
  case MATH_EXP2_FLUSH:
  case MATH_LOG2:
  case MATH_LOG:
  case MATH_RSQRT:
  case MATH_SIN:
  case MATH_COS:
  case MATH_TANH:
  case MATH_ERF: return 2;
  case MATH_SIGMOID: return 4;
  case MATH_POW: return 8;
  default: return 0;
  }
}

double bound_math(const Node *x, Val r, const Val *arg, const double *err) {
  if (!dt_is_float(x->type)) return 0;
  MathFn fn = (MathFn)x->op;
  bool exact_in = err[0] == 0 && err[1] == 0 && err[2] == 0;
  double own = math_ulps(fn) * emu_ulp(x->type, r.f);
  if (fn == MATH_EXP2_FLUSH && r.f < 2 * FLT_MIN) own += 2 * FLT_MIN; // flushed by one, not both
  if (exact_in || !isfinite(r.f)) return own;
  double e = math_slope(x, r, arg, err);
  return fn == MATH_ABS ? e : rounded(x->type, r, e + own);
}
