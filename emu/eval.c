// Evaluation of compiled expressions for 32 lanes at a time, or once where all lanes agree.
// SPDX-License-Identifier: MIT
#include "emu/machine.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool emu_first(Machine *m, const void *key, int kind) {
  m->failed = true;
  bool fresh;
  int *bits = slotmap_at(m->seen, (const char *)key + kind / 32, &fresh); // keys are wider
  kind &= 31;
  if (*bits >> kind & 1 || m->reports >= m->max_reports) return false;
  *bits |= (int)(1u << kind);
  m->reports++;
  return true;
}

static void broadcast(int n, Val v, Val *out) {
  for (int i = 0; i < n; i++) out[i] = v;
}

static void broadcast_err(int n, double e, double *err) {
  if (!err) return;
  for (int i = 0; i < n; i++) err[i] = e;
}

/* operators; lanes outside the mask hold garbage, which integer code must survive */

#define EACH(expr)                                                                                 \
  for (int i = 0; i < n; i++) out[i] = (expr);                                                     \
  return
#define EACH_I(expr)                                                                               \
  for (int i = 0; i < n; i++) out[i].i = (expr);                                                   \
  return
#define EACH_F(expr)                                                                               \
  for (int i = 0; i < n; i++) out[i].f = (expr);                                                   \
  return
#define UA ((uint64_t)a[i].i)
#define UB ((uint64_t)b[i].i)

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool odd_f64(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u & 1;
}

// a * b + c with a * b exact: rounded to odd, so that a second rounding to a narrower type is
// right.
static double fma_odd(double a, double b, double c) {
  double p = a * b, s = p + c;
  if (!isfinite(s)) return s;
  double bb = s - p, rest = (p - (s - bb)) + (c - bb);
  if (rest == 0 || odd_f64(s)) return s;
  return nextafter(s, rest > 0 ? INFINITY : -INFINITY);
}

static void float_binary(const Node *x, int n, const Val *a, const Val *b, Val *out) {
  switch ((BinOp)x->op) {
  case BIN_ADD: EACH_F(a[i].f + b[i].f);
  case BIN_SUB: EACH_F(a[i].f - b[i].f);
  case BIN_MUL: EACH_F(a[i].f * b[i].f);
  case BIN_DIV: EACH_F(a[i].f / b[i].f);
  case BIN_MIN: EACH_F(fmin(a[i].f, b[i].f));
  case BIN_MAX: EACH_F(fmax(a[i].f, b[i].f));
  case BIN_LT: EACH_I(a[i].f < b[i].f);
  case BIN_LE: EACH_I(a[i].f <= b[i].f);
  case BIN_EQ: EACH_I(a[i].f == b[i].f);
  case BIN_NE: EACH_I(a[i].f != b[i].f);
  default: die("operator %d on floats", x->op);
  }
}

static void check_divisors(Machine *m, const Node *x, uint32_t mask, int n, Val *b) {
  for (int i = 0; i < n; i++) {
    if (b[i].i) continue;
    if (mask >> i & 1) EMU_FAIL(m, x, DIAG_EMU_DIV_ZERO, x->span);
    b[i].i = 1;
  }
}

static void int_divide(Machine *m, const Node *x, uint32_t mask, int n, const Val *a, Val *b,
                       Val *out) {
  check_divisors(m, x, mask, n, b);
  bool mod = x->op == BIN_FLOORMOD;
  if (x->from == DT_U64) {
    EACH_I((int64_t)(mod ? UA % UB : UA / UB));
  }
  for (int i = 0; i < n; i++) {
    if (b[i].i == -1) out[i].i = mod ? 0 : (int64_t)(0 - UA);
    else if (mod) out[i].i = floor_mod(a[i].i, b[i].i);
    else out[i].i = floor_div(a[i].i, b[i].i);
  }
}

static void int_shift(Machine *m, const Node *x, uint32_t mask, int n, const Val *a, Val *b,
                      Val *out) {
  int bits = dt_bits(x->from);
  for (int i = 0; i < n; i++) {
    if (UB < (uint64_t)bits) continue;
    if (mask >> i & 1)
      EMU_FAIL(m, x, DIAG_EMU_SHIFT, x->span, (long long)b[i].i, bits - 1);
    b[i].i = 0;
  }
  if (x->op == BIN_SHL) {
    EACH_I((int64_t)(UA << b[i].i));
  }
  if (x->from == DT_U64) {
    EACH_I((int64_t)(UA >> b[i].i));
  }
  EACH_I(a[i].i >> b[i].i);
}

static void unsigned_compare(const Node *x, int n, const Val *a, const Val *b, Val *out) {
  switch ((BinOp)x->op) {
  case BIN_MIN: EACH_I((int64_t)(UA < UB ? UA : UB));
  case BIN_MAX: EACH_I((int64_t)(UA > UB ? UA : UB));
  case BIN_LT: EACH_I(UA < UB);
  default: EACH_I(UA <= UB);
  }
}

static void int_binary(Machine *m, const Node *x, uint32_t mask, int n, const Val *a, Val *b,
                       Val *out) {
  bool big = x->from == DT_U64;
  switch ((BinOp)x->op) {
  case BIN_ADD: EACH_I((int64_t)(UA + UB));
  case BIN_SUB: EACH_I((int64_t)(UA - UB));
  case BIN_MUL: EACH_I((int64_t)(UA * UB));
  case BIN_FLOORDIV:
  case BIN_FLOORMOD: int_divide(m, x, mask, n, a, b, out); return;
  case BIN_SHL:
  case BIN_SHR: int_shift(m, x, mask, n, a, b, out); return;
  case BIN_BITAND: EACH_I(a[i].i & b[i].i);
  case BIN_BITOR: EACH_I(a[i].i | b[i].i);
  case BIN_BITXOR: EACH_I(a[i].i ^ b[i].i);
  case BIN_EQ: EACH_I(a[i].i == b[i].i);
  case BIN_NE: EACH_I(a[i].i != b[i].i);
  default: break;
  }
  if (big) {
    unsigned_compare(x, n, a, b, out);
    return;
  }
  switch ((BinOp)x->op) {
  case BIN_MIN: EACH_I(a[i].i < b[i].i ? a[i].i : b[i].i);
  case BIN_MAX: EACH_I(a[i].i > b[i].i ? a[i].i : b[i].i);
  case BIN_LT: EACH_I(a[i].i < b[i].i);
  case BIN_LE: EACH_I(a[i].i <= b[i].i);
  default: die("operator %d on integers", x->op);
  }
}

static void finish(DType t, int n, Val *out) {
  if (t == DT_F32) {
    for (int i = 0; i < n; i++) out[i].f = (double)(float)out[i].f;
  } else if (t == DT_I32) {
    for (int i = 0; i < n; i++) out[i].i = (int32_t)out[i].i;
  } else if (t == DT_BOOL || t == DT_INDEX || t == DT_I64 || t == DT_U64 || t == DT_F64) {
    return;
  } else if (dt_is_float(t)) {
    for (int i = 0; i < n; i++) out[i].f = emu_round(t, out[i].f);
  } else {
    for (int i = 0; i < n; i++) out[i].i = emu_wrap(t, out[i].i);
  }
}

static uint32_t truth(uint32_t mask, int n, const Val *v) {
  uint32_t yes = 0;
  for (int i = 0; i < n; i++) yes |= (uint32_t)(v[i].i != 0) << i;
  return yes & mask;
}

// b is evaluated only in the lanes that a leaves open.
static void eval_logical(Machine *m, const Node *x, uint32_t mask, int n, Val *out) {
  Val b[LANES];
  emu_eval(m, x->a, mask, n, out, NULL);
  uint32_t yes = truth(mask, n, out), open = x->op == BIN_AND ? yes : mask & ~yes;
  if (!open) return;
  emu_eval(m, x->b, open, n, b, NULL);
  for (int i = 0; i < n; i++)
    if (open >> i & 1) out[i] = b[i];
}

static void eval_binary(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  if (x->op == BIN_AND || x->op == BIN_OR) {
    eval_logical(m, x, mask, n, out);
    broadcast_err(n, 0, err);
    return;
  }
  Val a[LANES], b[LANES];
  double ea[LANES], eb[LANES];
  emu_eval(m, x->a, mask, n, a, err ? ea : NULL);
  emu_eval(m, x->b, mask, n, b, err ? eb : NULL);
  if (dt_is_float(x->from)) float_binary(x, n, a, b, out);
  else int_binary(m, x, mask, n, a, b, out);
  finish(x->type, n, out);
  if (err)
    for (int i = 0; i < n; i++) err[i] = bound_binary(x, out[i], a[i], b[i], ea[i], eb[i]);
}

static void eval_unary(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  Val a[LANES];
  emu_eval(m, x->a, mask, n, a, err);
  for (int i = 0; i < n; i++) {
    switch ((UnOp)x->op) {
    case UN_NEG:
      if (dt_is_float(x->from)) out[i].f = -a[i].f;
      else out[i].i = (int64_t)(0 - UA);
      break;
    case UN_NOT: out[i].i = !a[i].i; break;
    case UN_BITNOT: out[i].i = x->from == DT_BOOL ? !a[i].i : ~a[i].i; break;
    default: die("unknown unary operator %d", x->op);
    }
  }
  finish(x->type, n, out);
}

static double float_math(MathFn fn, const double *v) {
  double a = v[0];
  switch (fn) {
  case MATH_EXP: return exp(a);
  case MATH_EXP2: return exp2(a);
  case MATH_EXP2_FLUSH: return exp2(a) < FLT_MIN ? 0 : exp2(a);
  case MATH_LOG: return log(a);
  case MATH_LOG2: return log2(a);
  case MATH_SQRT: return sqrt(a);
  case MATH_RSQRT: return 1 / sqrt(a);
  case MATH_SIN: return sin(a);
  case MATH_COS: return cos(a);
  case MATH_TANH: return tanh(a);
  case MATH_ERF: return erf(a);
  case MATH_SIGMOID: return 1 / (1 + exp(-a));
  case MATH_ABS: return fabs(a);
  case MATH_FLOOR: return floor(a);
  case MATH_CEIL: return ceil(a);
  case MATH_ROUND: return nearbyint(a);
  case MATH_POW: return pow(a, v[1]);
  default: die("math function %d on floats", (int)fn);
  }
}

static Val math_one(const Node *x, Val a, Val b, Val c) {
  MathFn fn = (MathFn)x->op;
  bool flt = dt_is_float(x->from);
  if (fn == MATH_ISNAN) return emu_int(flt && isnan(a.f));
  if (fn == MATH_ISINF) return emu_int(flt && isinf(a.f));
  if (fn == MATH_FMA && x->from == DT_F64) return emu_float(fma(a.f, b.f, c.f));
  if (fn == MATH_FMA && flt) return emu_float(fma_odd(a.f, b.f, c.f));
  if (flt) return emu_float(float_math(fn, (double[]){a.f, b.f}));
  uint64_t ua = (uint64_t)a.i;
  if (fn == MATH_FMA) return emu_int((int64_t)(ua * (uint64_t)b.i + (uint64_t)c.i));
  if (fn == MATH_ABS && x->from != DT_U64 && a.i < 0) return emu_int((int64_t)(0 - ua));
  return a; // floor, ceil, round of an integer
}

static void eval_math(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  Val v[3][LANES] = {{{0}}};
  double e[3][LANES] = {{0}};
  const Node *arg[3] = {x->a, x->b, x->c};
  for (int k = 0; k < x->n; k++) emu_eval(m, arg[k], mask, n, v[k], err ? e[k] : NULL);
  for (int i = 0; i < n; i++)
    if (mask >> i & 1) out[i] = math_one(x, v[0][i], v[1][i], v[2][i]);
    else out[i].i = 0;
  finish(x->type, n, out);
  for (int i = 0; err && i < n; i++)
    err[i] = bound_math(x, out[i], (Val[]){v[0][i], v[1][i], v[2][i]},
                        (double[]){e[0][i], e[1][i], e[2][i]});
}

static void eval_cast(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  emu_eval(m, x->a, mask, n, out, err);
  for (int i = 0; i < n; i++)
    if (mask >> i & 1) out[i] = emu_cast(x->type, x->from, out[i]);
  for (int i = 0; err && i < n; i++) err[i] = bound_cast(x->type, x->from, out[i], err[i]);
}

// Bits have no deviation that arithmetic could carry: they are taken as exact.
static void eval_bits(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  emu_eval(m, x->a, mask, n, out, NULL);
  for (int i = 0; i < n; i++)
    if (mask >> i & 1) out[i] = emu_bits(x->type, x->from, out[i]);
  broadcast_err(n, 0, err);
}

static void eval_select(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  Val no[LANES];
  double eno[LANES];
  emu_eval(m, x->a, mask, n, out, NULL);
  uint32_t yes = truth(mask, n, out), rest = mask & ~yes;
  if (!rest || !yes) {
    emu_eval(m, rest ? x->c : x->b, mask, n, out, err);
    return;
  }
  emu_eval(m, x->b, yes, n, out, err);
  emu_eval(m, x->c, rest, n, no, err ? eno : NULL);
  for (int i = 0; i < n; i++) {
    if (yes >> i & 1) continue;
    out[i] = no[i];
    if (err) err[i] = eno[i];
  }
}

static void eval_var(Machine *m, const Node *x, int n, Val *out, double *err) {
  int s = x->slot >> 1;
  if (!(x->slot & SLOT_LANE)) {
    broadcast(n, m->uni[s], out);
    broadcast_err(n, m->uni_err ? m->uni_err[s] : 0, err);
  } else if (n == 1) {
    out[0] = m->lane[s][m->pick];
    if (err) err[0] = m->lane_err ? m->lane_err[s][m->pick] : 0;
  } else {
    memcpy(out, m->lane[s], sizeof m->lane[s]);
    if (err && m->lane_err) memcpy(err, m->lane_err[s], sizeof m->lane_err[s]);
    else broadcast_err(n, 0, err);
  }
}

void emu_eval(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  if (n > 1 && x->uniform && x->kind != EX_VAR && x->kind != EX_INT) {
    Val v;
    double e = 0;
    int pick = m->pick;
    m->pick = __builtin_ctz(mask | UINT32_C(1) << 31);
    emu_eval(m, x, 1, 1, &v, err ? &e : NULL);
    m->pick = pick;
    broadcast(n, v, out);
    broadcast_err(n, e, err);
    return;
  }
  switch ((ExprKind)x->kind) {
  case EX_INT:
  case EX_FLOAT:
    broadcast(n, x->k, out);
    broadcast_err(n, 0, err);
    return;
  case EX_VAR: eval_var(m, x, n, out, err); return;
  case EX_LOAD: m->load(m, x, mask, n, out, err); return;
  case EX_UNARY: eval_unary(m, x, mask, n, out, err); return;
  case EX_BINARY: eval_binary(m, x, mask, n, out, err); return;
  case EX_CAST: eval_cast(m, x, mask, n, out, err); return;
  case EX_BITCAST: eval_bits(m, x, mask, n, out, err); return;
  case EX_SELECT: eval_select(m, x, mask, n, out, err); return;
  case EX_MATH: eval_math(m, x, mask, n, out, err); return;
  }
}

Val emu_eval1(Machine *m, const Node *x) {
  Val v;
  emu_eval(m, x, 1, 1, &v, NULL);
  return v;
}

int64_t emu_eval_int(Machine *m, const Node *x) {
  return x->kind == EX_INT ? x->k.i : emu_eval1(m, x).i;
}

uint32_t emu_eval_mask(Machine *m, const Node *cond, uint32_t mask) {
  Val v[LANES];
  if (!mask) return 0;
  if (cond->uniform) {
    m->pick = __builtin_ctz(mask);
    return emu_eval1(m, cond).i ? mask : 0;
  }
  emu_eval(m, cond, mask, LANES, v, NULL);
  return truth(mask, LANES, v);
}
