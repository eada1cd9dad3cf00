// Selection, rounding division, mathematics, bits and casts on numbers of either time.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <math.h>
#include <string.h>

Val t_select(Ev *ev, Call *c) {
  Val cond = c->arg[0];
  if (!dev_ok(cond)) (void)arg_bool(ev, c, 0, false);
  if (!ev_is_rt(cond)) return c->arg[ev_truth(ev, cond, c->at[0]) ? 1 : 2];
  Expr *x, *y;
  for (int i = 1; i <= 2; i++) (void)dev_expr(ev, c->arg[i], c->at[i]);
  dev_pair(ev, c->arg[1], c->arg[2], &x, &y, c->span);
  Expr *r = ex_select(ev->arena, ev_cond(ev, cond, c->at[0]), x, y);
  return dev_wrap(ev, r, c->span, cond, c->arg[1], c->arg[2]);
}

static void need_ints(Ev *ev, Call *c) {
  for (int i = 0; i < 2; i++) {
    Val v = c->arg[i];
    bool ok = v_is_int(v) || (v.kind == V_EXPR && !dt_is_float(v.expr->type));
    if (!ok) ev_blame(ev, v);
    if (!ok) ev_fail(ev, DIAG_NOT_INTEGER, c->at[i], v_brief(ev, v), v_kind(ev, v));
  }
}

// ceil(a / b) = -(-a // b) on Python's integers; (a + b - 1) // b at run time, where b > 0.
Val t_ceildiv(Ev *ev, Call *c) {
  need_ints(ev, c);
  Val a = c->arg[0], b = c->arg[1];
  if (v_is_int(a) && v_is_int(b)) {
    Val q = ev_binary(ev, AST_OP_FLOORDIV, ev_unary(ev, AST_OP_NEG, a, c->span), b, c->span);
    return ev_unary(ev, AST_OP_NEG, q, c->span);
  }
  Val up = ev_binary(ev, AST_OP_SUB, ev_binary(ev, AST_OP_ADD, a, b, c->span), v_int(1), c->span);
  return ev_binary(ev, AST_OP_FLOORDIV, up, b, c->span);
}

Val t_floordiv(Ev *ev, Call *c) {
  return ev_binary(ev, AST_OP_FLOORDIV, c->arg[0], c->arg[1], c->span);
}

Val t_floormod(Ev *ev, Call *c) { return ev_binary(ev, AST_OP_MOD, c->arg[0], c->arg[1], c->span); }

static Val extreme(Ev *ev, Val a, Val b, Call *c, bool max) {
  if (v_is_num(a) && v_is_num(b)) {
    bool less = ev_truth(ev, ev_compare(ev, AST_OP_LT, a, b, c->span), c->span);
    return less == max ? b : a;
  }
  Expr *x, *y;
  (void)dev_expr(ev, a, c->at[0]);
  (void)dev_expr(ev, b, c->at[1]);
  dev_pair(ev, a, b, &x, &y, c->span);
  return dev_wrap(ev, ex_bin(ev->arena, max ? BIN_MAX : BIN_MIN, x, y), c->span, a, b, v_none());
}

Val t_min(Ev *ev, Call *c) { return extreme(ev, c->arg[0], c->arg[1], c, false); }
Val t_max(Ev *ev, Call *c) { return extreme(ev, c->arg[0], c->arg[1], c, true); }

Val t_clamp(Ev *ev, Call *c) {
  return extreme(ev, extreme(ev, c->arg[0], c->arg[1], c, true), c->arg[2], c, false);
}

/* ------------------------------------------------------------------ functions */

static bool math_find(const char *name, MathFn *out) {
  static const char *const names[] = {
#define MATH(e, name, arity, meaning) name,
#include "ir/exprs.def"
  };
  if (!strcmp(name, "power")) name = "pow";
  for (int i = 0; i < MATH_COUNT; i++) {
    if (!strcmp(names[i], name)) return *out = (MathFn)i, true;
  }
  return false;
}

// Literals become float32; run-time integers are refused rather than cast behind the user's back.
static Expr *math_operand(Ev *ev, Call *c, int i, MathFn fn) {
  Val v = c->arg[i];
  if (v_is_int(v) && fn != MATH_ABS) return ex_float(ev->arena, DT_F32, (double)v_as_int(v));
  Expr *x = dev_expr(ev, v, c->at[i]);
  bool constant = x->kind == EX_INT;
  if (!dt_is_float(x->type) && fn != MATH_ABS && constant) x = ex_cast(ev->arena, DT_F32, x);
  if (!dt_is_float(x->type) && fn != MATH_ABS)
    ev_fail(ev, DIAG_MATH_INT, c->at[i], c->fn->name, v_kind(ev, v), c->fn->name);
  bool own = !dt_is_float(x->type) || (dt_bits(x->type) > 8 && x->type != DT_TF32);
  return own ? x : ex_cast(ev->arena, DT_F32, x);
}

static bool is_product(const Expr *x) { return x->kind == EX_BINARY && x->u.bin.op == BIN_MUL; }

// a * b + c, a * b - c, c + a * b and c - a * b, rounded once: what an exponent loses to rounding
// the result loses as many times over as the exponent is large.
static Expr *fused(Arena *a, Expr *x) {
  bool sum = x->kind == EX_BINARY && (x->u.bin.op == BIN_ADD || x->u.bin.op == BIN_SUB);
  if (!sum || (x->type != DT_F32 && x->type != DT_F64)) return x;
  Expr *p = x->u.bin.a, *q = x->u.bin.b;
  bool left = is_product(p), minus = x->u.bin.op == BIN_SUB;
  if (!left && !is_product(q)) return x;
  const Expr *product = left ? p : q;
  Expr *arg[] = {product->u.bin.a, product->u.bin.b, left ? q : p};
  if (minus) arg[left ? 2 : 0] = ex_un(a, UN_NEG, arg[left ? 2 : 0]);
  return ex_math(a, MATH_FMA, arg, 3);
}

Val t_math(Ev *ev, Call *c) {
  MathFn fn;
  if (!math_find(c->fn->name, &fn)) die("no math function %s", c->fn->name);
  Expr *x[3];
  int n = fn == MATH_POW ? 2 : fn == MATH_FMA ? 3 : 1;
  for (int i = 0; i < n; i++) x[i] = math_operand(ev, c, i, fn);
  if (fn == MATH_EXP || fn == MATH_EXP2) x[0] = fused(ev->arena, x[0]);
  if (fn == MATH_EXP2 && ev->fast_math && x[0]->type != DT_F64) fn = MATH_EXP2_FLUSH;
  Val none = v_none();
  return dev_wrap(ev, ex_math(ev->arena, fn, x, n), c->span, c->arg[0], n > 1 ? c->arg[1] : none,
                  n > 2 ? c->arg[2] : none);
}

Val t_isfinite(Ev *ev, Call *c) {
  Arena *a = ev->arena;
  Expr *x = math_operand(ev, c, 0, MATH_ISINF);
  Expr *bad = ex_bin(a, BIN_OR, ex_math(a, MATH_ISINF, &x, 1), ex_math(a, MATH_ISNAN, &x, 1));
  return dev_wrap(ev, ex_un(a, UN_NOT, bad), c->span, c->arg[0], c->arg[0], v_none());
}

Val t_bits(Ev *ev, Call *c) {
  static const struct {
    const char *name;
    AstBinaryOp op;
  } ops[] = {{"shift_left", AST_OP_SHL},
             {"shift_right", AST_OP_SHR},
             {"bitwise_and", AST_OP_BITAND},
             {"bitwise_or", AST_OP_BITOR},
             {"bitwise_xor", AST_OP_BITXOR}};
  for (size_t i = 0; i < LEN(ops); i++) {
    if (!strcmp(ops[i].name, c->fn->name))
      return ev_binary(ev, ops[i].op, c->arg[0], c->arg[1], c->span);
  }
  die("no bit operation %s", c->fn->name);
}

Val t_bitnot(Ev *ev, Call *c) { return ev_unary(ev, AST_OP_INVERT, c->arg[0], c->span); }

/* ------------------------------------------------------------------ types */

// T.cast(value, dtype) and T.Cast(dtype, value); either order is understood.
Val t_cast(Ev *ev, Call *c) {
  const char *round = arg_str(ev, c, 2, "");
  if (*round && strcmp(round, "rn"))
    ev_fail(ev, DIAG_UNSUPPORTED, c->at[2],
            arena_printf(ev->arena, "T.cast with round=\"%s\"", round));
  if (!arg_bool(ev, c, 3, true)) ev_fail(ev, DIAG_UNSUPPORTED, c->at[3], "T.cast with sat=False");
  arg_refuse(ev, c, 4, "T.cast with rbits");
  int v = !strcmp(c->fn->name, "Cast");
  if (dev_ok(c->arg[!v]) && !dev_ok(c->arg[v])) v = !v;
  DType t = arg_dtype(ev, c, !v, DT_F32);
  Expr *x = dev_like(ev, c->arg[v], t, c->at[v]);
  return dev_wrap(ev, ex_cast(ev->arena, t, x), c->span, c->arg[v], v_none(), v_none());
}

Val tl_dtype(Ev *ev, Call *c) { return v_dtype(arg_dtype(ev, c, 0, DT_F32)); }

static bool has_infinity(DType t) { return dt_is_float(t) && t != DT_E4M3 && t != DT_E2M1; }

Val t_infinity(Ev *ev, Call *c) {
  DType t = arg_dtype(ev, c, 0, DT_F32);
  if (!has_infinity(t)) ev_fail(ev, DIAG_INFINITY, c->at[0], dt_name(t), dt_name(t));
  Expr *x = ex_float(ev->arena, t == DT_E5M2 ? DT_F32 : t, INFINITY);
  return v_expr(ex_at(x, c->span), 1);
}

static double float_max(DType t) {
  switch (t) {
  case DT_F16: return 65504;
  case DT_BF16: return ldexp(255, 120);
  case DT_E4M3: return 448;
  case DT_E2M1: return 6;
  case DT_E5M2: return 57344;
  case DT_TF32: return ldexp(2047, 117);
  case DT_F32: return ldexp(16777215, 104);
  default: return ldexp(9007199254740991.0, 971);
  }
}

Expr *type_edge(Ev *ev, DType t, bool max, bool infinite) {
  if (dt_is_float(t)) {
    double most = infinite && has_infinity(t) && t != DT_E5M2 ? INFINITY : float_max(t);
    return ex_float(ev->arena, t, max ? most : -most);
  }
  if (t == DT_BOOL) return ex_bool(ev->arena, max);
  uint64_t top = ~(uint64_t)0 >> (64 - dt_bits(t) + dt_is_signed(t));
  return ex_int(ev->arena, t, (int64_t)(max ? top : dt_is_signed(t) ? ~top : 0));
}

Val t_limit(Ev *ev, Call *c) {
  DType t = arg_dtype(ev, c, 0, DT_F32);
  Expr *x = type_edge(ev, t, !strcmp(c->fn->name, "max_value"), false);
  return v_expr(ex_at(x, c->span), 1);
}

Val tl_pow2(Ev *ev, Call *c) {
  int64_t n = arg_int(ev, c, 0, 1), p = 1;
  if (n > (int64_t)1 << 62)
    ev_fail(ev, DIAG_OVERFLOW, c->span,
            arena_printf(ev->arena, "next_power_of_2(%lld)", (long long)n));
  while (p < n) p *= 2;
  return v_int(p);
}
