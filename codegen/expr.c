// Expressions as C++ text. Infix where C++ means what the IR means, helpers (tlc_add, ...) where it
// does not: floats (one rounding an operation, whatever nvcc's flags) and integers that may wrap.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

typedef enum { C_BOOL, C_INDEX, C_SIGNED, C_UNSIGNED, C_NARROW, C_FLOAT, C_F64, C_FP8 } Class;

static Class class_of(DType t) {
  switch (t) {
  case DT_BOOL: return C_BOOL;
  case DT_INDEX: return C_INDEX;
  case DT_I32:
  case DT_I64: return C_SIGNED;
  case DT_U32:
  case DT_U64: return C_UNSIGNED;
  case DT_I4:
  case DT_U4:
  case DT_E2M1:
  case DT_I8:
  case DT_U8:
  case DT_I16:
  case DT_U16: return C_NARROW;
  case DT_E4M3:
  case DT_E5M2: return C_FP8;
  case DT_F64: return C_F64;
  case DT_F16:
  case DT_BF16:
  case DT_TF32:
  case DT_F32: return C_FLOAT;
  default: die("no C type for values of %s", dt_name(t));
  }
}

const char *cg_short(DType t) {
  switch (t) {
  case DT_I4: return "i4";
  case DT_U4: return "u4";
  case DT_E2M1: return "e2m1";
  case DT_I8: return "i8";
  case DT_U8: return "u8";
  case DT_I16: return "i16";
  case DT_U16: return "u16";
  case DT_I32: return "i32";
  case DT_U32: return "u32";
  case DT_INDEX:
  case DT_I64: return "i64";
  case DT_U64: return "u64";
  case DT_E4M3: return "e4m3";
  case DT_E5M2: return "e5m2";
  case DT_F16: return "f16";
  case DT_BF16: return "bf16";
  case DT_TF32:
  case DT_F32: return "f32";
  case DT_F64: return "f64";
  default: die("no helpers for %s", dt_name(t));
  }
}

const char *cg_type(DType t) {
  return t == DT_INDEX ? "int64_t" : dt_cuda(t);
}

static void open_paren(Cg *c, int own, int prec) {
  if (own < prec) cg_text(c, "(");
}

static void close_paren(Cg *c, int own, int prec) {
  if (own < prec) cg_text(c, ")");
}

// A call of the helper tlc_NAME over arguments of the same type as the section suffix says.
static void call(Cg *c, const char *name, const char *suffix, Expr **args, int n, int bits) {
  needs_add(c->needs, "%s_%s", name, suffix);
  cg_text(c, "tlc_%s(", name);
  for (int i = 0; i < n; i++) {
    if (i) cg_text(c, ", ");
    cg_exact(c, args[i], bits);
  }
  cg_text(c, ")");
}

void cg_exact(Cg *c, Expr *x, int bits) {
  bool index = x->type == DT_INDEX, integer = dt_is_int(x->type);
  bool literal = x->kind == EX_INT || x->kind == EX_SELECT; // their C type may be int
  bool widen = index && bits == 64 && (cg_bits(c, x) == 32 || literal);
  bool retype = integer && !index && literal && x->type != DT_I32 && x->type != DT_U32;
  if (widen || retype) cg_text(c, "%s(", widen ? "int64_t" : cg_type(x->type));
  cg_expr(c, x, P_TERNARY);
  if (widen || retype) cg_text(c, ")");
}

/* ------------------------------------------------------------------ binary operators */

typedef struct {
  const char *name; // helper
  const char *text; // infix
  int prec;
} Operator;

static const Operator operators[BIN_COUNT] = {
    [BIN_ADD] = {"add", "+", P_SUM},
    [BIN_SUB] = {"sub", "-", P_SUM},
    [BIN_MUL] = {"mul", "*", P_PRODUCT},
    [BIN_DIV] = {"div", "/", P_PRODUCT},
    [BIN_FLOORDIV] = {"floordiv", "/", P_PRODUCT},
    [BIN_FLOORMOD] = {"floormod", "%", P_PRODUCT},
    [BIN_MIN] = {"min", "", P_POSTFIX},
    [BIN_MAX] = {"max", "", P_POSTFIX},
    [BIN_LT] = {"lt", "<", P_LESS},
    [BIN_LE] = {"le", "<=", P_LESS},
    [BIN_EQ] = {"eq", "==", P_EQUAL},
    [BIN_NE] = {"ne", "!=", P_EQUAL},
    [BIN_AND] = {"and", "&&", P_AND},
    [BIN_OR] = {"or", "||", P_OR},
    [BIN_BITAND] = {"bitand", "&", P_BITAND},
    [BIN_BITOR] = {"bitor", "|", P_BITOR},
    [BIN_BITXOR] = {"bitxor", "^", P_BITXOR},
    [BIN_SHL] = {"shl", "<<", P_SHIFT},
    [BIN_SHR] = {"shr", ">>", P_SHIFT},
};

// Operators whose mixtures readers (and -Wparentheses) want spelled out.
static int operand_prec(int own) {
  return own == P_OR || own == P_AND         ? P_BITOR
         : own >= P_BITOR && own <= P_BITAND ? P_UNARY
         : own == P_SHIFT                    ? P_PRODUCT
                                             : own;
}

static bool same_op(const Expr *x, BinOp op) {
  return x->kind == EX_BINARY && x->u.bin.op == op;
}

static void infix(Cg *c, Expr *x, int prec) {
  BinOp op = x->u.bin.op;
  Expr *a = x->u.bin.a, *b = x->u.bin.b;
  const char *text = operators[op].text;
  int own = operators[op].prec, inner = operand_prec(own);
  bool widen = x->type == DT_INDEX && cg_bits(c, x) == 64 && c->k && cg_bits(c, a) == 32 &&
               cg_bits(c, b) == 32;
  open_paren(c, own, prec);
  if (widen) {
    cg_text(c, "int64_t(");
    cg_expr(c, a, P_TERNARY);
    cg_text(c, ")");
  } else {
    cg_expr(c, a, same_op(a, op) ? own : inner);
  }
  bool minus = op == BIN_ADD && b->kind == EX_INT && b->u.i < 0 && b->u.i > INT32_MIN;
  if (minus) {
    cg_text(c, " - %lld", -(long long)b->u.i);
  } else {
    cg_text(c, " %s ", text);
    cg_expr(c, b, inner > own ? inner : own + 1);
  }
  close_paren(c, own, prec);
}

// The infix form of a narrow type computes in int: back to the type.
static void infix_narrow(Cg *c, Expr *x) {
  cg_text(c, "%s(", cg_type(x->type));
  infix(c, x, P_TERNARY);
  cg_text(c, ")");
}

static bool power_of_two(Expr *x, int *log) {
  int64_t v;
  if (!ex_const(x, &v) || v <= 0 || (v & (v - 1))) return false;
  *log = __builtin_ctzll((uint64_t)v);
  return true;
}

static bool not_negative(Cg *c, Expr *x) {
  int64_t lo, hi;
  cg_range(c, x, &lo, &hi);
  return lo >= 0;
}

// Rounding down: a shift or mask by a power of two; plain / and % where no operand is negative.
static void divide(Cg *c, Expr *x, int prec) {
  Expr *a = x->u.bin.a, *b = x->u.bin.b, *args[] = {a, b};
  bool div = x->u.bin.op == BIN_FLOORDIV, index = x->type == DT_INDEX;
  int log;
  if (class_of(x->type) == C_NARROW && !dt_is_signed(x->type)) {
    infix_narrow(c, x);
  } else if (class_of(x->type) == C_UNSIGNED ||
             (!c->k && not_negative(c, a) && not_negative(c, b))) {
    infix(c, x, prec);
  } else if (class_of(x->type) != C_NARROW && power_of_two(b, &log) && log < 31) {
    int own = div ? P_SHIFT : P_BITAND;
    open_paren(c, own, prec);
    cg_expr(c, a, operand_prec(own));
    cg_text(c, div ? " >> %d" : " & %d", div ? log : (1 << log) - 1);
    close_paren(c, own, prec);
  } else if (class_of(x->type) != C_NARROW && not_negative(c, a) && not_negative(c, b)) {
    infix(c, x, prec);
  } else {
    needs_add(c->needs, "%s", operators[x->u.bin.op].name);
    cg_text(c, "tlc_%s(", operators[x->u.bin.op].name);
    for (int i = 0; i < 2; i++) {
      cg_exact(c, args[i], index ? cg_bits(c, x) : 0);
      cg_text(c, i ? ")" : ", ");
    }
  }
}

// Could the operation leave the type's range, from what the operands can be?
static bool wraps(Cg *c, Expr *x) {
  int64_t lo[2], hi[2], r;
  cg_range(c, x->u.bin.a, &lo[0], &hi[0]);
  cg_range(c, x->u.bin.b, &lo[1], &hi[1]);
  for (int i = 0; i < 4; i++) {
    int64_t a = i & 1 ? hi[0] : lo[0], b = i & 2 ? hi[1] : lo[1];
    bool over = x->u.bin.op == BIN_ADD   ? __builtin_add_overflow(a, b, &r)
                : x->u.bin.op == BIN_SUB ? __builtin_sub_overflow(a, b, &r)
                : x->u.bin.op == BIN_MUL ? __builtin_mul_overflow(a, b, &r)
                                         : true;
    if (over || (x->type == DT_I32 && !cg_fits32(r, r))) return true;
  }
  return false;
}

static void arithmetic(Cg *c, Expr *x, int prec) {
  Expr *args[] = {x->u.bin.a, x->u.bin.b};
  const char *name = operators[x->u.bin.op].name;
  switch (class_of(x->type)) {
  case C_FLOAT:
  case C_F64: call(c, name, cg_short(x->type), args, 2, 0); break;
  case C_NARROW: call(c, name, "int", args, 2, 0); break;
  case C_SIGNED:
    if (wraps(c, x)) call(c, name, "int", args, 2, 0);
    else infix(c, x, prec);
    break;
  default: infix(c, x, prec); break;
  }
}

static void extremum(Cg *c, Expr *x) {
  Expr *args[] = {x->u.bin.a, x->u.bin.b};
  Class k = class_of(x->type);
  int bits = 0;
  if (k == C_INDEX) {
    int a = cg_bits(c, args[0]), b = cg_bits(c, args[1]);
    bits = a > b ? a : b;
  }
  call(c, operators[x->u.bin.op].name, k == C_FLOAT || k == C_F64 ? cg_short(x->type) : "int", args,
       2, bits);
}

static void compare(Cg *c, Expr *x, int prec) {
  Expr *args[] = {x->u.bin.a, x->u.bin.b};
  if (class_of(args[0]->type) == C_FLOAT)
    call(c, operators[x->u.bin.op].name, cg_short(args[0]->type), args, 2, 0);
  else infix(c, x, prec);
}

static bool is_arithmetic(BinOp op) {
  return op == BIN_ADD || op == BIN_SUB || op == BIN_MUL || op == BIN_DIV || op == BIN_SHL;
}

static bool is_compare(BinOp op) {
  return op == BIN_LT || op == BIN_LE || op == BIN_EQ || op == BIN_NE;
}

static void binary(Cg *c, Expr *x, int prec) {
  BinOp op = x->u.bin.op;
  Class k = class_of(x->u.bin.a->type);
  if (!c->k && dt_is_float(x->u.bin.a->type) && op != BIN_MIN && op != BIN_MAX) {
    infix(c, x, prec);     // the launcher's own arithmetic
  } else if (k == C_FP8) { // through float, rounded back once
    Expr *a = ex_cast(c->arena, DT_F32, x->u.bin.a), *b = ex_cast(c->arena, DT_F32, x->u.bin.b);
    cg_value(c, ex_bin(c->arena, op, a, b), x->type, prec);
  } else if (op == BIN_FLOORDIV || op == BIN_FLOORMOD) {
    divide(c, x, prec);
  } else if (op == BIN_MIN || op == BIN_MAX) {
    extremum(c, x);
  } else if (is_compare(op)) {
    compare(c, x, prec);
  } else if (is_arithmetic(op)) {
    arithmetic(c, x, prec);
  } else if (k == C_NARROW || (k == C_BOOL && op != BIN_AND && op != BIN_OR)) {
    infix_narrow(c, x);
  } else {
    infix(c, x, prec);
  }
}

/* ------------------------------------------------------------------ the rest */

static void prefix(Cg *c, const char *op, Expr *a, int prec) {
  open_paren(c, P_UNARY, prec);
  cg_text(c, "%s", op);
  cg_expr(c, a, P_POSTFIX);
  close_paren(c, P_UNARY, prec);
}

static void unary(Cg *c, Expr *x, int prec) {
  Expr *a = x->u.un.a;
  Class k = class_of(x->type);
  if (x->u.un.op == UN_NOT) {
    prefix(c, "!", a, prec);
  } else if (x->u.un.op == UN_BITNOT) {
    if (k != C_NARROW) return prefix(c, "~", a, prec);
    cg_text(c, "%s(", cg_type(x->type));
    prefix(c, "~", a, P_TERNARY);
    cg_text(c, ")");
  } else if (k == C_FP8) {
    cg_value(c, ex_un(c->arena, UN_NEG, ex_cast(c->arena, DT_F32, a)), x->type, prec);
  } else if (k == C_FLOAT || k == C_F64) {
    call(c, "neg", cg_short(x->type), &a, 1, 0);
  } else if (k == C_INDEX) {
    bool widen = c->k && cg_bits(c, x) == 64 && cg_bits(c, a) == 32;
    open_paren(c, P_UNARY, prec);
    cg_text(c, widen ? "-int64_t(" : "-");
    cg_expr(c, a, widen ? P_TERNARY : P_POSTFIX);
    cg_text(c, widen ? ")" : "");
    close_paren(c, P_UNARY, prec);
  } else {
    call(c, "neg", "int", &a, 1, 0);
  }
}

static const char *const math_name[MATH_COUNT] = {
#define MATH(e, name, arity, meaning) name,
#include "ir/exprs.def"
};

// Functions that a 16-bit float has of its own; the others go through float and round once.
static bool has_half_form(MathFn fn) {
  return fn == MATH_FMA || fn == MATH_ABS;
}

static void math(Cg *c, Expr *x, int prec) {
  MathFn fn = x->u.math.fn;
  DType t = x->u.math.arg[0]->type;
  Class k = class_of(t);
  bool half = t == DT_F16 || t == DT_BF16;
  if (k == C_FP8 || (half && !has_half_form(fn))) {
    Expr *args[3];
    for (int i = 0; i < x->u.math.n; i++) args[i] = ex_cast(c->arena, DT_F32, x->u.math.arg[i]);
    cg_value(c, ex_math(c->arena, fn, args, x->u.math.n), x->type, prec);
  } else if (k == C_FLOAT || k == C_F64) {
    call(c, math_name[fn], cg_short(t), x->u.math.arg, x->u.math.n, 0);
  } else if (fn == MATH_ABS && (dt_is_signed(t) || k == C_INDEX)) {
    call(c, "abs", "int", x->u.math.arg, 1, k == C_INDEX ? cg_bits(c, x) : 0);
  } else if (fn == MATH_ABS || fn == MATH_FLOOR || fn == MATH_CEIL || fn == MATH_ROUND) {
    cg_expr(c, x->u.math.arg[0], prec); // integers are their own floor
  } else {
    die("%s of %s", math_name[fn], dt_name(t));
  }
}

static void load(Cg *c, Expr *x) {
  const Name *name = names_of(c->names, x->u.load.buf);
  if (!name->text) die("buffer %s is not declared", x->u.load.buf->name);
  cg_text(c, "%s", name->text);
  if (name->scalar) return;
  if (x->u.load.n != 1)
    die("%s has %d dimensions at THREAD level", x->u.load.buf->name, x->u.load.n);
  cg_text(c, "[");
  cg_expr(c, x->u.load.idx[0], P_TERNARY);
  cg_text(c, "]");
}

static void select(Cg *c, Expr *x, int prec) {
  open_paren(c, P_TERNARY, prec);
  cg_expr(c, x->u.sel.cond, P_OR);
  cg_text(c, " ? ");
  cg_expr(c, x->u.sel.yes, P_TERNARY + 1);
  cg_text(c, " : ");
  cg_expr(c, x->u.sel.no, P_TERNARY);
  close_paren(c, P_TERNARY, prec);
}

void cg_expr(Cg *c, Expr *x, int prec) {
  switch (x->kind) {
  case EX_INT:
  case EX_FLOAT: cg_constant(c, x, prec); break;
  case EX_VAR: {
    const char *name = names_of(c->names, x->u.var)->text;
    if (!name) die("variable %s is not in scope", x->u.var->name);
    cg_text(c, "%s", name);
    break;
  }
  case EX_LOAD: load(c, x); break;
  case EX_UNARY: unary(c, x, prec); break;
  case EX_BINARY: binary(c, x, prec); break;
  case EX_CAST: cg_cast(c, x->u.cast, x->type, prec); break;
  case EX_BITCAST: cg_bitcast(c, x, prec); break;
  case EX_SELECT: select(c, x, prec); break;
  case EX_MATH: math(c, x, prec); break;
  }
}

const char *cg_expr_text(Cg *c, Expr *x) {
  Buf text = {0}, *out = c->out;
  c->out = &text;
  cg_expr(c, x, P_TERNARY);
  c->out = out;
  const char *s = arena_str(c->arena, buf_str(&text));
  buf_free(&text);
  return s;
}
