// Constants and conversions as C++ text.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ constants */

static void integer(Cg *c, const Expr *x, int prec) {
  long long v = (long long)x->u.i;
  switch (x->type) {
  case DT_BOOL: cg_text(c, v ? "true" : "false"); return;
  case DT_U32: cg_text(c, "%lluu", (unsigned long long)(uint32_t)v); return;
  case DT_U64: cg_text(c, "%lluull", (unsigned long long)v); return;
  default: break;
  }
  bool paren = v < 0 && prec > P_UNARY;
  if (v == INT64_MIN) cg_text(c, "(-9223372036854775807LL - 1)");
  else if (v == INT32_MIN) cg_text(c, "(-2147483647 - 1)");
  else cg_text(c, "%s%lld%s%s", paren ? "(" : "", v, cg_fits32(v, v) ? "" : "LL", paren ? ")" : "");
}

// The shortest decimal that reads back as the same float or double, with a point or an exponent.
static const char *decimal(Arena *a, double v, bool single) {
  const char *s = NULL;
  for (int digits = single ? 6 : 15; digits <= (single ? 9 : 17); digits++) {
    s = arena_printf(a, "%.*g", digits, v);
    if (single ? strtof(s, NULL) == (float)v : strtod(s, NULL) == v) break;
  }
  for (const char *d = s; *d; d++) {
    if (*d == '.' || *d == 'e') return s;
  }
  return arena_printf(a, "%s.0", s);
}

static void float_value(Cg *c, double v, bool single, int prec) {
  bool negative = signbit(v);
  if (isnan(v)) {
    cg_text(c,
            single ? "__uint_as_float(0x7fffffffu)" : "__longlong_as_double(0x7fffffffffffffffLL)");
  } else if (isinf(v)) {
    if (single) cg_text(c, "__uint_as_float(0x%s800000u)", negative ? "ff" : "7f");
    else cg_text(c, "%s__longlong_as_double(0x7ff0000000000000LL)", negative ? "-" : "");
  } else {
    bool paren = negative && prec > P_UNARY;
    cg_text(c, "%s%s%s%s", paren ? "(" : "", decimal(c->arena, v, single), single ? "f" : "",
            paren ? ")" : "");
  }
}

void cg_constant(Cg *c, const Expr *x, int prec) {
  if (x->kind == EX_INT) {
    integer(c, x, prec);
  } else if (x->type == DT_F64) {
    float_value(c, x->u.f, false, prec);
  } else if (x->type == DT_F32 || x->type == DT_TF32) {
    float_value(c, x->u.f, true, prec);
  } else {
    needs_add(c->needs, "%s_from_f32", cg_short(x->type));
    cg_text(c, "tlc_%s(", cg_short(x->type));
    float_value(c, x->u.f, true, P_TERNARY);
    cg_text(c, ")");
  }
}

/* ------------------------------------------------------------------ conversions */

static bool single(DType t) {
  return t == DT_F32 || t == DT_TF32;
}

static void wrapped(Cg *c, const char *before, Expr *x) {
  cg_text(c, "%s(", before);
  cg_expr(c, x, P_TERNARY);
  cg_text(c, ")");
}

static void helper(Cg *c, const char *to, const char *from, Expr *x) {
  needs_add(c->needs, "%s_from_%s", to, from);
  wrapped(c, arena_printf(c->arena, "tlc_%s", to), x);
}

// Integers and bools have the C types int and wider, or convert to them by themselves.
static const char *integer_kind(Cg *c, Expr *x) {
  if (x->type == DT_INDEX) return cg_bits(c, x) == 32 ? "i32" : "i64";
  if (x->type == DT_U32 || x->type == DT_U64 || x->type == DT_I64) return cg_short(x->type);
  return "i32";
}

static void through(Cg *c, Expr *x, DType middle, DType to, int prec) {
  cg_cast(c, ex_cast(c->arena, middle, x), to, prec);
}

static void integer_to_float(Cg *c, Expr *x, DType to, int prec) {
  if (to == DT_F32) wrapped(c, "float", x);
  else if (to == DT_F64) wrapped(c, "double", x);
  else if (to == DT_F16 || to == DT_BF16) {
    if (x->type == DT_BOOL) through(c, x, DT_I32, to, prec);
    else helper(c, cg_short(to), integer_kind(c, x), x);
  } else through(c, x, DT_F32, to, prec); // fp8 and tf32 saturate or round the float once
}

static void float_to_float(Cg *c, Expr *x, DType to, int prec) {
  DType from = x->type;
  if (to == DT_TF32) {
    if (from == DT_F64) return through(c, x, DT_F32, to, prec);
    if (from != DT_F32) return cg_cast(c, x, DT_F32, prec); // narrower floats are tf32 values
    needs_add(c->needs, "tf32_from_f32");
    wrapped(c, "tlc_tf32", x);
  } else if (single(from) && to == DT_F32) {
    cg_expr(c, x, prec);
  } else if (single(from) || to == DT_F32 || (from == DT_F64 && to != DT_F32)) {
    helper(c, cg_short(to), cg_short(from), x);
  } else {
    through(c, x, DT_F32, to, prec); // exact widening first
  }
}

static void to_bool(Cg *c, Expr *x, int prec) {
  if (x->type == DT_E2M1) x = ex_cast(c->arena, DT_F32, x);
  Expr *zero = dt_is_float(x->type) ? ex_float(c->arena, x->type, 0) : ex_int(c->arena, x->type, 0);
  cg_expr(c, ex_bin(c->arena, BIN_NE, x, zero), prec);
}

static void float_to_integer(Cg *c, Expr *x, DType to, int prec) {
  if (single(x->type) || x->type == DT_F64) helper(c, cg_short(to), cg_short(x->type), x);
  else through(c, x, DT_F32, to, prec);
}

static void integer_to_integer(Cg *c, Expr *x, DType to, int prec) {
  DType from = x->type;
  int bits = from == DT_INDEX ? cg_bits(c, x) : 0;
  bool as_is = (to == DT_I32 && bits == 32) || (to == DT_I64 && bits == 64 && x->kind != EX_INT) ||
               (to == DT_INDEX && (from == DT_I32 || from == DT_I64));
  if (as_is) cg_expr(c, x, prec);
  else if (to == DT_INDEX)
    wrapped(c, dt_is_int(from) && dt_bits(from) >= 32 ? "int64_t" : "int", x);
  else wrapped(c, cg_type(to), x);
}

/* ------------------------------------------------------------------ 4-bit types */

static void named(Cg *c, const char *helper, const char *function, Expr *x) {
  needs_add(c->needs, "%s", helper);
  wrapped(c, arena_printf(c->arena, "tlc_%s", function), x);
}

static void to_nibble(Cg *c, Expr *x, DType to) {
  DType from = x->type;
  Expr *near = x;
  if (to == DT_E2M1) {
    if (from != DT_F32 && from != DT_F64) x = ex_cast(c->arena, DT_F32, x); // exactly, or far out
    helper(c, "e2m1", cg_short(x->type), x);
  } else if (dt_is_float(from)) {
    near = ex_cast(c->arena, to == DT_I4 ? DT_I8 : DT_U8, x);
    named(c, to == DT_I4 ? "i4_sat" : "u4_sat", to == DT_I4 ? "i4_sat" : "u4_sat", near);
  } else {
    if (from == DT_INDEX) near = ex_cast(c->arena, DT_I32, x);
    named(c, cg_short(to), cg_short(to), near);
  }
}

static void from_nibble(Cg *c, Expr *x, DType to, int prec) {
  DType from = x->type;
  const char *t = cg_short(to), *f = cg_short(from);
  bool direct = to == DT_F16 || to == DT_BF16 || (to == DT_F32 && from == DT_E2M1);
  if (direct) {
    named(c, arena_printf(c->arena, "%s_from_%s", t, f), arena_printf(c->arena, "%s_%s", t, f), x);
  } else if (from == DT_E2M1) {
    through(c, x, DT_F32, to, prec);
  } else if (dt_is_float(to)) {
    integer_to_float(c, x, to, prec);
  } else {
    integer_to_integer(c, x, to, prec);
  }
}

void cg_bitcast(Cg *c, Expr *x, int prec) {
  Expr *of = x->u.cast;
  if (dt_bits(x->type) >= 8) {
    needs_add(c->needs, "bits");
    wrapped(c, arena_printf(c->arena, "tlc_bits<%s, %s>", cg_type(x->type), cg_type(of->type)), of);
  } else if (x->type == DT_I4) {
    named(c, "i4", "i4", of);
  } else if (of->type == DT_I4) {
    named(c, "u4", "u4", of);
  } else {
    cg_expr(c, of, prec);
  }
}

void cg_cast(Cg *c, Expr *x, DType to, int prec) {
  DType from = x->type;
  if (from == to) cg_expr(c, x, prec);
  else if (dt_bits(to) < 8) to_nibble(c, x, to);
  else if (dt_bits(from) < 8 && to != DT_BOOL) from_nibble(c, x, to, prec);
  else if (!c->k) wrapped(c, arena_printf(c->arena, "static_cast<%s>", cg_type(to)), x);
  else if (to == DT_BOOL) to_bool(c, x, prec);
  else if (dt_is_float(to))
    dt_is_float(from) ? float_to_float(c, x, to, prec) : integer_to_float(c, x, to, prec);
  else if (dt_is_float(from)) float_to_integer(c, x, to, prec);
  else integer_to_integer(c, x, to, prec);
}

void cg_value(Cg *c, Expr *x, DType t, int prec) {
  if (x->type == t) cg_expr(c, x, prec);
  else cg_cast(c, x, t, prec);
}
