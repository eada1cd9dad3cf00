// Run-time values: operators, literals beside them, and binding them in the kernel.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <math.h>

enum {
  MAX_SIZE = 4096, // nodes of one expression
  INLINE_SIZE = 16 // integer arithmetic up to this size is repeated where it is used
};

bool dev_ok(Val v) { return v_is_num(v) || v.kind == V_EXPR; }

static uint32_t size_of(Val v) { return v.kind == V_EXPR ? v.size : v.kind == V_NONE ? 0 : 1; }

Val dev_wrap(Ev *ev, Expr *x, Span at, Val a, Val b, Val c) {
  uint64_t size = 1 + (uint64_t)size_of(a) + size_of(b) + size_of(c);
  if (size > MAX_SIZE) ev_fail(ev, DIAG_EXPR_SIZE, at, MAX_SIZE);
  if (x->kind == EX_INT || x->kind == EX_FLOAT || x->kind == EX_VAR) size = 1;
  return v_expr(ex_at(x, at), (uint32_t)size);
}

// A literal has type int32 (int64 where it must) or float32.
Expr *dev_expr(Ev *ev, Val v, Span at) {
  switch (v.kind) {
  case V_EXPR: return v.expr;
  case V_BOOL: return ex_at(ex_bool(ev->arena, v.b), at);
  case V_INT:
    return ex_at(ex_int(ev->arena, v.i == (int32_t)v.i ? DT_I32 : DT_I64, v.i), at);
  case V_FLOAT: return ex_at(ex_float(ev->arena, DT_F32, v.f), at);
  default: break;
  }
  ev_need(ev, v);
  if (v.kind == V_OPAQUE) ev_opaque(ev, at, v.opaque->what);
  ev_fail(ev, DIAG_NOT_VALUE, at, v_kind(ev, v),
          v.kind == V_BUFFER ? ": copy it with T.copy, or index its elements" : "");
}

// Fits an integer literal the type it meets?
static bool takes(DType t, int64_t i) {
  if (t == DT_INDEX || t == DT_I64) return true;
  if (t == DT_U32) return i >= 0 && i <= UINT32_MAX;
  return t == DT_U64 && i >= 0;
}

Expr *dev_like(Ev *ev, Val v, DType t, Span at) {
  if (v.kind == V_INT && takes(t, v.i)) return ex_at(ex_int(ev->arena, t, v.i), at);
  if (v.kind == V_FLOAT && t == DT_F64) return ex_at(ex_float(ev->arena, t, v.f), at);
  if (v_is_int(v) && dt_is_float(t)) return ex_at(ex_float(ev->arena, t, (double)v_as_int(v)), at);
  return dev_expr(ev, v, at);
}

void dev_pair(Ev *ev, Val a, Val b, Expr **x, Expr **y, Span at) {
  *x = a.kind == V_EXPR ? a.expr : dev_like(ev, a, b.kind == V_EXPR ? b.expr->type : DT_I32, at);
  *y = b.kind == V_EXPR ? b.expr : dev_like(ev, b, (*x)->type, at);
}

Expr *dev_index(Ev *ev, Val v, Span at) {
  ev_need(ev, v);
  if (v_is_int(v)) return ex_at(ex_index(ev->arena, v_as_int(v)), at);
  if (v.kind == V_EXPR && (dt_is_int(v.expr->type) || v.expr->type == DT_BOOL))
    return ex_at(ex_cast(ev->arena, DT_INDEX, v.expr), at);
  if (v.kind == V_OPAQUE) ev_opaque(ev, at, v.opaque->what);
  ev_blame(ev, v);
  ev_fail(ev, DIAG_NOT_INTEGER, at, v_brief(ev, v), v_kind(ev, v));
}

static bool both_ints(const Expr *x, const Expr *y) {
  return !dt_is_float(x->type) && !dt_is_float(y->type);
}

static void check_divisor(Ev *ev, const Expr *y, const char *op, Span at) {
  int64_t c;
  if (ex_const(y, &c) && c == 0)
    ev_fail(ev, DIAG_ZERO_DIVISION, at, arena_printf(ev->arena, "%s 0", op));
}

static void check_shift(Ev *ev, const Expr *x, const Expr *y, Span at) {
  int64_t c;
  int bits = dt_bits(x->type == DT_BOOL ? DT_I32 : x->type);
  if (ex_const(y, &c) && (c < 0 || c >= bits))
    ev_fail(ev, DIAG_SHIFT, at, (long long)c, bits, bits - 1);
}

static BinOp int_only(Ev *ev, AstBinaryOp op, const Expr *x, const Expr *y, Span at) {
  if (!both_ints(x, y))
    ev_fail(ev, DIAG_FLOAT_INT_OP, at, ast_binary_text(op),
            dt_name(dt_is_float(x->type) ? x->type : y->type));
  switch (op) {
  case AST_OP_FLOORDIV:
  case AST_OP_MOD:
    check_divisor(ev, y, ast_binary_text(op), at);
    return op == AST_OP_MOD ? BIN_FLOORMOD : BIN_FLOORDIV;
  case AST_OP_SHL:
  case AST_OP_SHR:
    check_shift(ev, x, y, at);
    return op == AST_OP_SHL ? BIN_SHL : BIN_SHR;
  case AST_OP_BITAND: return BIN_BITAND;
  case AST_OP_BITOR: return BIN_BITOR;
  default: return BIN_BITXOR;
  }
}

// Small integer powers are products; others go through pow.
static Val dev_pow(Ev *ev, Val a, Val b, Span at) {
  if (v_is_int(b) && v_as_int(b) >= 1 && v_as_int(b) <= 4) {
    Val r = a;
    for (int64_t i = 1; i < v_as_int(b); i++) r = dev_binary(ev, AST_OP_MUL, r, a, at);
    return r;
  }
  Expr *x[2];
  dev_pair(ev, a, b, &x[0], &x[1], at);
  if (both_ints(x[0], x[1])) ev_fail(ev, DIAG_INT_POW, at);
  return dev_wrap(ev, ex_math(ev->arena, MATH_POW, x, 2), at, a, b, v_none());
}

// A type without arithmetic of its own computes in float32.
static Expr *computable(Ev *ev, Expr *x) {
  if (dt_is_float(x->type) && (dt_bits(x->type) <= 8 || x->type == DT_TF32))
    return ex_cast(ev->arena, DT_F32, x);
  return x;
}

Val dev_binary(Ev *ev, AstBinaryOp op, Val a, Val b, Span at) {
  if (op == AST_OP_POW) return dev_pow(ev, a, b, at);
  if (op == AST_OP_MATMUL) ev_fail(ev, DIAG_MATMUL, at);
  Expr *x, *y;
  dev_pair(ev, a, b, &x, &y, at);
  x = computable(ev, x);
  y = computable(ev, y);
  BinOp bin;
  switch (op) {
  case AST_OP_ADD: bin = BIN_ADD; break;
  case AST_OP_SUB: bin = BIN_SUB; break;
  case AST_OP_MUL: bin = BIN_MUL; break;
  case AST_OP_DIV:
    if (both_ints(x, y)) ev_fail(ev, DIAG_INT_DIV, at);
    bin = BIN_DIV;
    break;
  default: bin = int_only(ev, op, x, y, at); break;
  }
  return dev_wrap(ev, ex_bin(ev->arena, bin, x, y), at, a, b, v_none());
}

Val dev_compare(Ev *ev, AstCompareOp op, Val a, Val b, Span at) {
  Expr *x, *y;
  dev_pair(ev, a, b, &x, &y, at);
  x = computable(ev, x);
  y = computable(ev, y);
  bool swap = op == AST_OP_GT || op == AST_OP_GE;
  BinOp bin = op == AST_OP_EQ   ? BIN_EQ
              : op == AST_OP_NE ? BIN_NE
              : op == AST_OP_LT || op == AST_OP_GT ? BIN_LT
                                                   : BIN_LE;
  Expr *r = swap ? ex_bin(ev->arena, bin, y, x) : ex_bin(ev->arena, bin, x, y);
  return dev_wrap(ev, r, at, a, b, v_none());
}

// x of a fixed-width type as an index, its sums and products computed as if they did not wrap.
static Expr *unwrapped(Ev *ev, Expr *x) {
  if (x->kind == EX_CAST && dt_is_int(x->type) && dt_is_int(x->u.cast->type)) {
    DType to = x->type, from = x->u.cast->type;
    bool keeps = dt_is_signed(to) ? dt_bits(to) >= dt_bits(from) : !dt_is_signed(from);
    bool exact = from == DT_INDEX && dt_bits(to) >= 32; // what an index becomes beside an int32
    if (to == DT_INDEX || exact || (keeps && dt_bits(to) >= dt_bits(from)))
      return unwrapped(ev, x->u.cast);
  }
  if (x->kind == EX_BINARY && dt_is_int(x->type)) {
    BinOp op = x->u.bin.op;
    if (op == BIN_ADD || op == BIN_SUB || op == BIN_MUL)
      return ex_bin(ev->arena, op, unwrapped(ev, x->u.bin.a), unwrapped(ev, x->u.bin.b));
  }
  return ex_cast(ev->arena, DT_INDEX, x);
}

Expr *dev_diff(Ev *ev, Expr *hi, Expr *lo) {
  Expr *d = ex_sub(ev->arena, hi, lo);
  if (d->kind == EX_INT) return d;
  Affine f = ex_affine(ev->arena, d);
  bool cancels = f.n < ex_affine(ev->arena, hi).n + ex_affine(ev->arena, lo).n;
  // start:start + n has n elements, whatever the type of start.
  if (f.n) {
    Affine g = ex_affine(ev->arena, ex_sub(ev->arena, unwrapped(ev, hi), unwrapped(ev, lo)));
    if (!g.n) return ex_from_affine(ev->arena, &g);
  }
  return cancels ? ex_from_affine(ev->arena, &f) : d; // else as written reads better
}

static void see_load(void *ctx, Expr *x) {
  if (x->kind == EX_LOAD) *(bool *)ctx = true;
}

bool dev_has_load(Expr *x) {
  bool found = false;
  ex_walk(x, see_load, &found);
  return found;
}

Val dev_let(Ev *ev, const char *name, Val v, Span at) {
  if (v.kind != V_EXPR || !ev_emits(ev)) return v;
  Expr *x = v.expr;
  if (x->kind == EX_INT || x->kind == EX_FLOAT || x->kind == EX_VAR) return v;
  if ((dt_is_int(x->type) || x->type == DT_BOOL) && v.size <= INLINE_SIZE && !dev_has_load(x))
    return v;
  Var *var = var_new(ev->arena, name, x->type, VAR_LET, at);
  ev_emit(ev, st_let(ev->arena, var, x, at));
  return v_expr(ex_at(ex_var(ev->arena, var), at), 1);
}
