// A plain evaluator of integer expressions for the tests of ir/, written from exprs.def and sharing
// no code with ir/: Python's floor division, wrap-around of fixed widths, undefined where C would
// be.
// SPDX-License-Identifier: MIT
#ifndef TLC_TEST_IR_EVAL_H
#define TLC_TEST_IR_EVAL_H

#include "ir/ir.h"

typedef struct {
  int n;
  Var *var[16];
  int64_t value[16];
} Env;

static int64_t eval_wrap(DType t, __int128 v, bool *ok) {
  switch (t) {
  case DT_BOOL: return v != 0;
  case DT_I8: return (int8_t)v;
  case DT_U8: return (uint8_t)v;
  case DT_I16: return (int16_t)v;
  case DT_I32: return (int32_t)v;
  case DT_U32: return (uint32_t)v;
  default:
    if (v != (int64_t)v) *ok = false;
    return (int64_t)v;
  }
}

static int64_t eval_width(DType t) {
  return t == DT_I8 || t == DT_U8 ? 8 : t == DT_I16 ? 16 : t == DT_I32 || t == DT_U32 ? 32 : 64;
}

static int64_t eval_int(const Env *env, const Expr *x, bool *ok);

static int64_t eval_bin(BinOp op, DType t, int64_t a, int64_t b, bool *ok) {
  __int128 q;
  switch (op) {
  case BIN_ADD: return eval_wrap(t, (__int128)a + b, ok);
  case BIN_SUB: return eval_wrap(t, (__int128)a - b, ok);
  case BIN_MUL: return eval_wrap(t, (__int128)a * b, ok);
  case BIN_FLOORDIV:
  case BIN_FLOORMOD:
    if (b == 0) return *ok = false, 0;
    q = (__int128)a / b;
    if (q * b != a && (a < 0) != (b < 0)) q--;
    return eval_wrap(t, op == BIN_FLOORDIV ? q : a - q * b, ok);
  case BIN_MIN: return a < b ? a : b;
  case BIN_MAX: return a < b ? b : a;
  case BIN_LT: return a < b;
  case BIN_LE: return a <= b;
  case BIN_EQ: return a == b;
  case BIN_NE: return a != b;
  case BIN_BITAND: return a & b;
  case BIN_BITOR: return a | b;
  case BIN_BITXOR: return a ^ b;
  case BIN_SHL:
  case BIN_SHR:
    if (b < 0 || b >= eval_width(t)) return *ok = false, 0;
    if (op == BIN_SHR) return a >> b;
    if (b > 60) return *ok = false, 0;
    return eval_wrap(t, (__int128)a * ((int64_t)1 << b), ok);
  default: return *ok = false, 0;
  }
}

static int64_t eval_binary(const Env *env, const Expr *x, bool *ok) {
  int64_t a = eval_int(env, x->u.bin.a, ok);
  if (x->u.bin.op == BIN_AND && *ok && !a) return 0;
  if (x->u.bin.op == BIN_OR && *ok && a) return 1;
  int64_t b = eval_int(env, x->u.bin.b, ok);
  if (!*ok) return 0;
  if (x->u.bin.op == BIN_AND || x->u.bin.op == BIN_OR) return b != 0;
  return eval_bin(x->u.bin.op, x->u.bin.a->type, a, b, ok);
}

static int64_t eval_int(const Env *env, const Expr *x, bool *ok) {
  if (!*ok) return 0;
  int64_t a;
  switch (x->kind) {
  case EX_INT: return x->u.i;
  case EX_VAR:
    for (int i = 0; i < env->n; i++) {
      if (env->var[i] == x->u.var) return env->value[i];
    }
    return *ok = false, 0;
  case EX_UNARY:
    a = eval_int(env, x->u.un.a, ok);
    if (x->u.un.op == UN_NOT) return !a;
    if (x->u.un.op == UN_NEG) return eval_wrap(x->type, -(__int128)a, ok);
    return eval_wrap(x->type, x->type == DT_BOOL ? !a : ~(__int128)a, ok);
  case EX_BINARY: return eval_binary(env, x, ok);
  case EX_CAST:
    if (dt_is_float(x->u.cast->type)) return *ok = false, 0;
    return eval_wrap(x->type, eval_int(env, x->u.cast, ok), ok);
  case EX_SELECT:
    a = eval_int(env, x->u.sel.cond, ok);
    return eval_int(env, a ? x->u.sel.yes : x->u.sel.no, ok);
  case EX_MATH:
    if (x->u.math.fn != MATH_ABS) return *ok = false, 0;
    a = eval_int(env, x->u.math.arg[0], ok);
    return eval_wrap(x->type, a < 0 ? -(__int128)a : a, ok);
  default: return *ok = false, 0;
  }
}

#endif
