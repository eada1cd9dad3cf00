// Expression constructors: they insert casts, fold constants and apply cheap identities.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

#include <math.h>
#include <string.h>

static Expr *node(Arena *a, ExprKind kind, DType type) {
  Expr *x = NEW(a, Expr);
  x->kind = kind;
  x->type = type;
  return x;
}

Expr *ex_int(Arena *a, DType t, int64_t value) {
  if (dt_is_float(t)) die("ex_int of type %s", dt_name(t));
  Expr *x = node(a, EX_INT, t);
  x->u.i = fold_wrap(t, value);
  return x;
}

Expr *ex_index(Arena *a, int64_t value) { return ex_int(a, DT_INDEX, value); }
Expr *ex_bool(Arena *a, bool value) { return ex_int(a, DT_BOOL, value); }

Expr *ex_float(Arena *a, DType t, double value) {
  if (!dt_is_float(t)) die("ex_float of type %s", dt_name(t));
  Expr *x = node(a, EX_FLOAT, t);
  x->u.f = fold_round(t, value);
  return x;
}

Expr *ex_var(Arena *a, Var *v) {
  Expr *x = node(a, EX_VAR, v->type);
  x->u.var = v;
  return x;
}

Expr *ex_load(Arena *a, Buffer *b, Expr **idx, int n) {
  Expr *x = node(a, EX_LOAD, b->dtype);
  x->u.load.buf = b;
  x->u.load.n = n;
  x->u.load.idx = NEWN(a, Expr *, n);
  for (int i = 0; i < n; i++) x->u.load.idx[i] = ex_cast(a, DT_INDEX, idx[i]);
  return x;
}

static Expr *fold_not(Arena *a, Expr *x) {
  int64_t v;
  if (ex_const(x, &v)) return ex_bool(a, !v);
  if (x->kind == EX_UNARY && x->u.un.op == UN_NOT) return x->u.un.a;
  if (x->kind != EX_BINARY || !bin_is_compare(x->u.bin.op)) return NULL;
  Expr *l = x->u.bin.a, *r = x->u.bin.b;
  switch (x->u.bin.op) {
  case BIN_EQ: return ex_bin(a, BIN_NE, l, r);
  case BIN_NE: return ex_bin(a, BIN_EQ, l, r);
  case BIN_LT: return dt_is_float(l->type) ? NULL : ex_bin(a, BIN_LE, r, l); // NaN: not the same
  default: return dt_is_float(l->type) ? NULL : ex_bin(a, BIN_LT, r, l);
  }
}

Expr *ex_un(Arena *a, UnOp op, Expr *x) {
  if (op == UN_NOT) {
    x = ex_cast(a, DT_BOOL, x);
    Expr *folded = fold_not(a, x);
    if (folded) return folded;
  } else {
    if (x->type == DT_BOOL && op == UN_NEG) x = ex_cast(a, DT_I32, x);
    if (x->kind == EX_FLOAT && op == UN_NEG) return ex_float(a, x->type, -x->u.f);
    if (x->kind == EX_INT && op == UN_BITNOT)
      return ex_int(a, x->type, x->type == DT_BOOL ? !x->u.i : ~x->u.i);
    if (x->kind == EX_INT && !(x->type == DT_INDEX && x->u.i == INT64_MIN))
      return ex_int(a, x->type, (int64_t)-(uint64_t)x->u.i);
    if (x->kind == EX_UNARY && x->u.un.op == op) return x->u.un.a;
  }
  Expr *r = node(a, EX_UNARY, x->type);
  r->u.un.op = op;
  r->u.un.a = x;
  return r;
}

bool bin_is_compare(BinOp op) {
  return op == BIN_LT || op == BIN_LE || op == BIN_EQ || op == BIN_NE;
}

static bool commutes(BinOp op) {
  switch (op) {
  case BIN_ADD: case BIN_MUL: case BIN_MIN: case BIN_MAX: case BIN_EQ: case BIN_NE: case BIN_AND:
  case BIN_OR: case BIN_BITAND: case BIN_BITOR: case BIN_BITXOR: return true;
  default: return false;
  }
}

static DType operand_type(BinOp op, DType x, DType y) {
  if (op == BIN_AND || op == BIN_OR) return DT_BOOL;
  DType t = dt_promote(x, y);
  bool logical = bin_is_compare(op) || op == BIN_MIN || op == BIN_MAX || op == BIN_BITAND ||
                 op == BIN_BITOR || op == BIN_BITXOR;
  return t == DT_BOOL && !logical ? DT_I32 : t; // bools count as integers in arithmetic
}

static bool same_value(const Expr *x, const Expr *y) {
  return x == y || (x->kind == EX_VAR && y->kind == EX_VAR && x->u.var == y->u.var);
}

// x op c for a constant c on the right; NULL when nothing applies.
static Expr *int_identity(Arena *a, BinOp op, Expr *x, int64_t c) {
  DType t = x->type;
  switch (op) {
  case BIN_ADD: case BIN_SUB: case BIN_BITOR: case BIN_BITXOR: case BIN_SHL: case BIN_SHR:
    return c == 0 ? x : NULL;
  case BIN_MUL: return c == 1 ? x : c == 0 ? ex_int(a, t, 0) : NULL;
  case BIN_BITAND: return c == 0 ? ex_int(a, t, 0) : NULL;
  case BIN_FLOORDIV: return c == 1 ? x : NULL;
  case BIN_FLOORMOD: return c == 1 ? ex_int(a, t, 0) : NULL;
  case BIN_AND: return c ? x : ex_bool(a, false);
  case BIN_OR: return c ? ex_bool(a, true) : x;
  default: return NULL;
  }
}

static Expr *same_identity(Arena *a, BinOp op, Expr *x) {
  switch (op) {
  case BIN_SUB: case BIN_BITXOR: return ex_int(a, x->type, 0);
  case BIN_MIN: case BIN_MAX: case BIN_BITAND: case BIN_BITOR: case BIN_AND: case BIN_OR: return x;
  case BIN_LT: case BIN_NE: return ex_bool(a, false);
  case BIN_LE: case BIN_EQ: return ex_bool(a, true);
  default: return NULL;
  }
}

// (x + c1) + c2 and (x * c1) * c2 on exact integers, where the constant still fits.
static Expr *chain_identity(Arena *a, BinOp op, Expr *x, int64_t c) {
  int64_t c1, r;
  if (x->kind != EX_BINARY || !ex_const(x->u.bin.b, &c1)) return NULL;
  BinOp inner = x->u.bin.op;
  Expr *base = x->u.bin.a;
  if (op == BIN_MUL && inner == BIN_MUL) {
    if (__builtin_mul_overflow(c, c1, &r)) return NULL;
    return ex_bin(a, BIN_MUL, base, ex_index(a, r));
  }
  if ((op != BIN_ADD && op != BIN_SUB) || (inner != BIN_ADD && inner != BIN_SUB)) return NULL;
  if (c == INT64_MIN || c1 == INT64_MIN) return NULL;
  if (__builtin_add_overflow(op == BIN_ADD ? c : -c, inner == BIN_ADD ? c1 : -c1, &r) ||
      r == INT64_MIN)
    return NULL;
  return r < 0 ? ex_bin(a, BIN_SUB, base, ex_index(a, -r))
               : ex_bin(a, BIN_ADD, base, ex_index(a, r));
}

static Expr *float_identity(BinOp op, Expr *x, Expr *y) {
  if (y->kind != EX_FLOAT) return NULL;
  bool one = y->u.f == 1, zero = y->u.f == 0 && !signbit(y->u.f);
  if (op == BIN_MUL || op == BIN_DIV) return one ? x : NULL;
  return op == BIN_SUB && zero ? x : NULL; // x + 0 would change -0
}

static Expr *fold_constants(Arena *a, BinOp op, DType t, Expr *x, Expr *y) {
  if (x->kind == EX_INT && y->kind == EX_INT) {
    int64_t r;
    return fold_int(op, t, x->u.i, y->u.i, &r) ? ex_int(a, t, r) : NULL;
  }
  double r;
  if (x->kind == EX_FLOAT && y->kind == EX_FLOAT && fold_float(op, t, x->u.f, y->u.f, &r))
    return ex_float(a, t, r);
  return NULL;
}

static Expr *fold_bin(Arena *a, BinOp op, DType t, Expr *x, Expr *y) {
  bool cmp;
  if (bin_is_compare(op) && fold_compare(op, t, x, y, &cmp)) return ex_bool(a, cmp);
  Expr *r = fold_constants(a, op, t, x, y);
  if (r) return r;
  if (dt_is_float(t)) return float_identity(op, x, y);
  int64_t c;
  if (ex_const(y, &c)) {
    r = int_identity(a, op, x, c);
    if (!r && t == DT_INDEX) r = chain_identity(a, op, x, c);
    if (!r && t == DT_INDEX && op == BIN_ADD && c < 0 && c != INT64_MIN)
      r = ex_bin(a, BIN_SUB, x, ex_index(a, -c));
    return r;
  }
  return same_value(x, y) ? same_identity(a, op, x) : NULL;
}

Expr *ex_bin(Arena *a, BinOp op, Expr *x, Expr *y) {
  DType t = operand_type(op, x->type, y->type);
  x = ex_cast(a, t, x);
  y = ex_cast(a, t, y);
  if (commutes(op) && !dt_is_float(t) && x->kind == EX_INT && y->kind != EX_INT) {
    Expr *swap = x;
    x = y;
    y = swap;
  }
  Expr *folded = fold_bin(a, op, t, x, y);
  if (folded) return folded;
  Expr *r = node(a, EX_BINARY, bin_is_compare(op) ? DT_BOOL : t);
  r->u.bin.op = op;
  r->u.bin.a = x;
  r->u.bin.b = y;
  return r;
}

// Does type `to` hold every value of `from` (so that casting there and back is the identity)?
static bool holds(DType to, DType from) {
  if (dt_is_float(from)) {
    if (dt_bits(from) < 16) return false; // a cast back saturates infinities
    return to == DT_F64 || (to == DT_F32 && (from == DT_F16 || from == DT_BF16 || from == DT_TF32));
  }
  if (dt_is_float(to) || from == DT_BOOL || to == DT_BOOL || from == DT_INDEX) return false;
  if (to == DT_INDEX) return from != DT_U64;
  if (dt_is_signed(from)) return dt_is_signed(to) && dt_bits(to) >= dt_bits(from);
  return dt_bits(to) > dt_bits(from) || (dt_bits(to) == dt_bits(from) && !dt_is_signed(to));
}

Expr *ex_cast(Arena *a, DType t, Expr *x) {
  if (x->type == t) return x;
  if (x->kind == EX_INT)
    return dt_is_float(t) ? ex_float(a, t, fold_to_float(t, x->type, x->u.i))
                          : ex_int(a, t, x->u.i);
  if (x->kind == EX_FLOAT)
    return dt_is_float(t) ? ex_float(a, t, x->u.f) : ex_int(a, t, fold_to_int(t, x->u.f));
  if (x->kind == EX_CAST && x->u.cast->type == t && holds(x->type, t)) return x->u.cast;
  Expr *r = node(a, EX_CAST, t);
  r->u.cast = x;
  return r;
}

Expr *ex_bitcast(Arena *a, DType t, Expr *x) {
  if (dt_bits(t) != dt_bits(x->type)) die("bits of %s as %s", dt_name(x->type), dt_name(t));
  if (x->type == t) return x;
  if (x->kind == EX_BITCAST) return ex_bitcast(a, t, x->u.cast);
  Expr *r = node(a, EX_BITCAST, t);
  r->u.cast = x;
  return r;
}

Expr *ex_select(Arena *a, Expr *cond, Expr *yes, Expr *no) {
  cond = ex_cast(a, DT_BOOL, cond);
  DType t = dt_promote(yes->type, no->type);
  yes = ex_cast(a, t, yes);
  no = ex_cast(a, t, no);
  int64_t c;
  if (ex_const(cond, &c)) return c ? yes : no;
  if (ex_equal(yes, no)) return yes;
  Expr *r = node(a, EX_SELECT, t);
  r->u.sel.cond = cond;
  r->u.sel.yes = yes;
  r->u.sel.no = no;
  return r;
}

static const int math_arity[] = {
#define MATH(e, name, arity, meaning) arity,
#include "ir/exprs.def"
};

// Only what is exact on every machine is folded.
static Expr *fold_math(Arena *a, MathFn fn, DType t, Expr *x) {
  if (x->kind == EX_INT && fn == MATH_ABS)
    return dt_is_signed(t) && x->u.i < 0 ? ex_un(a, UN_NEG, x) : x;
  if (x->kind != EX_FLOAT || isnan(x->u.f)) return NULL;
  switch (fn) {
  case MATH_ABS: return ex_float(a, t, fabs(x->u.f));
  case MATH_FLOOR: return ex_float(a, t, floor(x->u.f));
  case MATH_CEIL: return ex_float(a, t, ceil(x->u.f));
  case MATH_ROUND: return ex_float(a, t, rint(x->u.f));
  case MATH_ISINF: return ex_bool(a, isinf(x->u.f));
  case MATH_ISNAN: return ex_bool(a, false);
  default: return NULL;
  }
}

Expr *ex_math(Arena *a, MathFn fn, Expr **args, int n) {
  if (n != math_arity[fn]) die("ex_math: function %d takes %d operands", (int)fn, math_arity[fn]);
  DType t = args[0]->type;
  for (int i = 1; i < n; i++) t = dt_promote(t, args[i]->type);
  Expr *folded = n == 1 ? fold_math(a, fn, t, args[0]) : NULL;
  if (folded) return folded;
  Expr *r = node(a, EX_MATH, fn == MATH_ISNAN || fn == MATH_ISINF ? DT_BOOL : t);
  r->u.math.fn = fn;
  r->u.math.n = n;
  for (int i = 0; i < n; i++) r->u.math.arg[i] = ex_cast(a, t, args[i]);
  return r;
}

Expr *ex_add(Arena *a, Expr *x, Expr *y) { return ex_bin(a, BIN_ADD, x, y); }
Expr *ex_sub(Arena *a, Expr *x, Expr *y) { return ex_bin(a, BIN_SUB, x, y); }
Expr *ex_mul(Arena *a, Expr *x, Expr *y) { return ex_bin(a, BIN_MUL, x, y); }
Expr *ex_floordiv(Arena *a, Expr *x, Expr *y) { return ex_bin(a, BIN_FLOORDIV, x, y); }
Expr *ex_floormod(Arena *a, Expr *x, Expr *y) { return ex_bin(a, BIN_FLOORMOD, x, y); }
Expr *ex_lt(Arena *a, Expr *x, Expr *y) { return ex_bin(a, BIN_LT, x, y); }

Expr *ex_and(Arena *a, Expr *x, Expr *y) {
  if (!x) return y;
  if (!y) return x;
  return ex_bin(a, BIN_AND, x, y);
}
