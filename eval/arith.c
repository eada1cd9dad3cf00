// Python's operators on compile-time values; run-time operands go to device.c.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <math.h>
#include <string.h>

enum { MAX_ITEMS = 1000000 };

static const char *type_word(Ev *ev, Val v) {
  const char *k = v_kind(ev, v);
  return !strncmp(k, "a ", 2) ? k + 2 : !strncmp(k, "an ", 3) ? k + 3 : k;
}

NORETURN static void bad_operands(Ev *ev, const char *op, Val a, Val b, Span at) {
  ev_fail(ev, DIAG_OPERANDS, at, op, type_word(ev, a), type_word(ev, b));
}

NORETURN static void overflow(Ev *ev, const char *op, int64_t a, int64_t b, Span at) {
  ev_fail(ev, DIAG_OVERFLOW, at,
          arena_printf(ev->arena, "%lld %s %lld", (long long)a, op, (long long)b));
}

int64_t ev_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static double float_mod(double a, double b) {
  double r = fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? copysign(0, b) : r;
}

static Val int_pow(Ev *ev, int64_t base, int64_t exponent, Span at) {
  int64_t r = 1, b = base;
  bool over = false;
  for (int64_t e = exponent; e; e >>= 1) {
    if (e & 1) over |= __builtin_mul_overflow(r, b, &r);
    if (e > 1 && __builtin_mul_overflow(b, b, &b)) over = true;
    if (over) overflow(ev, "**", base, exponent, at);
  }
  return v_int(r);
}

Val ev_pow(Ev *ev, Val a, Val b, Span at) {
  if (v_is_int(a) && v_is_int(b) && v_as_int(b) >= 0)
    return int_pow(ev, v_as_int(a), v_as_int(b), at);
  double x = v_as_float(a), y = v_as_float(b);
  if (x == 0 && y < 0) ev_fail(ev, DIAG_ZERO_DIVISION, at, "0 to a negative power");
  if (x < 0 && y != floor(y))
    ev_fail(ev, DIAG_MATH_DOMAIN, at, "'**'", v_brief(ev, a),
            "a negative number to a fractional power is complex");
  double r = pow(x, y);
  if (isinf(r) && !isinf(x) && !isinf(y)) overflow(ev, "**", (int64_t)x, (int64_t)y, at);
  return v_float(r);
}

static Val int_shift(Ev *ev, AstBinaryOp op, int64_t a, int64_t b, Span at) {
  if (b < 0)
    ev_fail(ev, DIAG_MATH_DOMAIN, at, "a shift", v_brief(ev, v_int(a)),
            "the count must be at least 0");
  if (op == AST_OP_SHR) return v_int(b > 63 ? (a < 0 ? -1 : 0) : a >> b);
  if (a == 0) return v_int(0);
  int64_t r = b > 62 ? 0 : (int64_t)((uint64_t)a << b);
  if (b > 62 || r >> b != a) overflow(ev, "<<", a, b, at);
  return v_int(r);
}

NORETURN static void zero_division(Ev *ev, Val a, AstBinaryOp op, Span at) {
  ev_fail(ev, DIAG_ZERO_DIVISION, at,
          arena_printf(ev->arena, "%s %s 0", v_brief(ev, a), ast_binary_text(op)));
}

static Val int_binary(Ev *ev, AstBinaryOp op, int64_t a, int64_t b, Span at) {
  int64_t r = 0;
  bool over = false;
  switch (op) {
  case AST_OP_ADD: over = __builtin_add_overflow(a, b, &r); break;
  case AST_OP_SUB: over = __builtin_sub_overflow(a, b, &r); break;
  case AST_OP_MUL: over = __builtin_mul_overflow(a, b, &r); break;
  case AST_OP_FLOORDIV:
  case AST_OP_MOD:
    if (b == 0) zero_division(ev, v_int(a), op, at);
    if (b == -1) {
      if (op == AST_OP_MOD) return v_int(0);
      over = __builtin_sub_overflow((int64_t)0, a, &r);
      break;
    }
    r = ev_floordiv(a, b);
    if (op == AST_OP_MOD) r = a - r * b;
    break;
  case AST_OP_DIV:
    if (b == 0) zero_division(ev, v_int(a), op, at);
    return v_float((double)a / (double)b);
  case AST_OP_BITAND: return v_int(a & b);
  case AST_OP_BITOR: return v_int(a | b);
  case AST_OP_BITXOR: return v_int(a ^ b);
  case AST_OP_SHL:
  case AST_OP_SHR: return int_shift(ev, op, a, b, at);
  default: return (Val){.kind = V_UNSET};
  }
  if (over) overflow(ev, ast_binary_text(op), a, b, at);
  return v_int(r);
}

static Val float_binary(Ev *ev, AstBinaryOp op, double a, double b, Span at) {
  switch (op) {
  case AST_OP_ADD: return v_float(a + b);
  case AST_OP_SUB: return v_float(a - b);
  case AST_OP_MUL: return v_float(a * b);
  case AST_OP_DIV:
    if (b == 0) zero_division(ev, v_float(a), op, at);
    return v_float(a / b);
  case AST_OP_FLOORDIV:
    if (b == 0) zero_division(ev, v_float(a), op, at);
    return v_float(floor(a / b));
  case AST_OP_MOD:
    if (b == 0) zero_division(ev, v_float(a), op, at);
    return v_float(float_mod(a, b));
  default: return (Val){.kind = V_UNSET};
  }
}

static Val num_binary(Ev *ev, AstBinaryOp op, Val a, Val b, Span at) {
  if (op == AST_OP_POW) return ev_pow(ev, a, b, at);
  bool bools = a.kind == V_BOOL && b.kind == V_BOOL;
  if (bools && op == AST_OP_BITAND) return v_bool(a.b && b.b);
  if (bools && op == AST_OP_BITOR) return v_bool(a.b || b.b);
  if (bools && op == AST_OP_BITXOR) return v_bool(a.b != b.b);
  if (v_is_int(a) && v_is_int(b)) return int_binary(ev, op, v_as_int(a), v_as_int(b), at);
  return float_binary(ev, op, v_as_float(a), v_as_float(b), at);
}

static void check_len(Ev *ev, int64_t len, Span at) {
  if (len > MAX_ITEMS) ev_fail(ev, DIAG_TOO_LONG, at, (long long)len, MAX_ITEMS);
  ev_charge(ev, len / 4);
}

static Val repeat(Ev *ev, Val v, int64_t n, Span at) {
  if (n < 0) n = 0;
  int64_t len = v.kind == V_STR ? v.str->len : v.seq->len;
  if (len && n > MAX_ITEMS) check_len(ev, n, at);
  check_len(ev, len * n, at);
  if (v.kind == V_STR) {
    SB b = {0};
    for (int64_t i = 0; i < n && len; i++) sb_putn(ev, &b, v.str->data, v.str->len);
    return sb_val(ev, &b);
  }
  Val r = v_seq(ev, v.kind, (int)(len * n));
  for (int64_t i = 0; i < n && len; i++) {
    for (int j = 0; j < len; j++) v_push(ev, r.seq, v.seq->data[j]);
  }
  return r;
}

static Val concat(Ev *ev, Val a, Val b, Span at) {
  if (a.kind == V_STR) {
    check_len(ev, (int64_t)a.str->len + b.str->len, at);
    SB s = {0};
    sb_putn(ev, &s, a.str->data, a.str->len);
    sb_putn(ev, &s, b.str->data, b.str->len);
    return sb_val(ev, &s);
  }
  check_len(ev, (int64_t)a.seq->len + b.seq->len, at);
  Val r = v_seq(ev, a.kind, a.seq->len + b.seq->len);
  for (int i = 0; i < a.seq->len; i++) v_push(ev, r.seq, a.seq->data[i]);
  for (int i = 0; i < b.seq->len; i++) v_push(ev, r.seq, b.seq->data[i]);
  return r;
}

// Set algebra, and d | e of dicts.
static Val merge(Ev *ev, AstBinaryOp op, Val a, Val b, Span at) {
  Val r = v_dict(ev, a.kind);
  for (int i = 0; i < a.dict->entries.len; i++) {
    const DictEntry *e = &a.dict->entries.data[i];
    if (e->dead) continue;
    bool in_b = dict_get(ev, b.dict, e->key, at) != NULL;
    if (op == AST_OP_BITOR || (op == AST_OP_BITAND ? in_b : !in_b))
      dict_set(ev, r.dict, e->key, e->value, at);
  }
  for (int i = 0; i < b.dict->entries.len; i++) {
    const DictEntry *e = &b.dict->entries.data[i];
    if (e->dead || op == AST_OP_SUB || op == AST_OP_BITAND) continue;
    if (op == AST_OP_BITOR || !dict_get(ev, a.dict, e->key, at))
      dict_set(ev, r.dict, e->key, e->value, at);
  }
  return r;
}

static bool merges(AstBinaryOp op, Val a, Val b) {
  if (a.kind == V_DICT && b.kind == V_DICT) return op == AST_OP_BITOR;
  return a.kind == V_SET && b.kind == V_SET &&
         (op == AST_OP_BITOR || op == AST_OP_BITAND || op == AST_OP_SUB || op == AST_OP_BITXOR);
}

static bool repeatable(Val v) { return v.kind == V_STR || v_is_seq(v); }

Val ev_binary(Ev *ev, AstBinaryOp op, Val a, Val b, Span at) {
  if (a.kind == V_MISSING || b.kind == V_MISSING) return v_missing_join(ev, a, b);
  if (v_is_num(a) && v_is_num(b)) {
    Val r = num_binary(ev, op, a, b, at);
    if (r.kind != V_UNSET) return r;
    bad_operands(ev, ast_binary_text(op), a, b, at);
  }
  if (a.kind == V_STR && op == AST_OP_MOD) return ev_percent(ev, a.str, b, at);
  if (ev_unknown(a)) return a;
  if (ev_unknown(b)) return b;
  if (op == AST_OP_ADD && a.kind == b.kind && repeatable(a)) return concat(ev, a, b, at);
  if (op == AST_OP_MUL && repeatable(a) && v_is_int(b)) return repeat(ev, a, v_as_int(b), at);
  if (op == AST_OP_MUL && repeatable(b) && v_is_int(a)) return repeat(ev, b, v_as_int(a), at);
  if (merges(op, a, b)) return merge(ev, op, a, b, at);
  if (a.kind == V_BUFFER || b.kind == V_BUFFER || a.kind == V_REGION || b.kind == V_REGION) {
    Val t = a.kind == V_BUFFER || a.kind == V_REGION ? a : b;
    if (op == AST_OP_MATMUL) ev_fail(ev, DIAG_MATMUL, at);
    ev_fail(ev, DIAG_TILE_VALUE, at, v_kind(ev, t), ast_binary_text(op));
  }
  if ((a.kind == V_EXPR || b.kind == V_EXPR) && dev_ok(a) && dev_ok(b))
    return dev_binary(ev, op, a, b, at);
  bad_operands(ev, ast_binary_text(op), a, b, at);
}

Val ev_unary(Ev *ev, AstUnaryOp op, Val v, Span at) {
  if (op == AST_OP_NOT) {
    if (ev_unknown(v)) return v;
    if (ev_is_rt(v))
      return dev_wrap(ev, ex_un(ev->arena, UN_NOT, ev_cond(ev, v, at)), at, v, v_none(), v_none());
    return v_bool(!ev_truth(ev, v, at));
  }
  if (ev_unknown(v)) return v;
  if (v.kind == V_FLOAT && op != AST_OP_INVERT) return v_float(op == AST_OP_NEG ? -v.f : v.f);
  if (v_is_int(v)) {
    int64_t i = v_as_int(v);
    if (op == AST_OP_INVERT) return v_int(~i);
    if (op == AST_OP_NEG && i == INT64_MIN) overflow(ev, "-", 0, i, at);
    return v_int(op == AST_OP_NEG ? -i : i);
  }
  if (v.kind == V_EXPR) {
    if (op == AST_OP_POS) return v;
    Expr *x = v.expr;
    if (op == AST_OP_INVERT && dt_is_float(x->type))
      ev_fail(ev, DIAG_OPERAND, at, "~", type_word(ev, v), "an integer");
    x = ex_un(ev->arena, op == AST_OP_NEG ? UN_NEG : UN_BITNOT, x);
    return dev_wrap(ev, x, at, v, v_none(), v_none());
  }
  if (v.kind == V_BUFFER || v.kind == V_REGION)
    ev_fail(ev, DIAG_TILE_VALUE, at, v_kind(ev, v), ast_unary_text(op));
  ev_fail(ev, DIAG_OPERAND, at, ast_unary_text(op), type_word(ev, v), "a number");
}

static int seq_order(Ev *ev, Val a, Val b, Span at);

// -1, 0, 1; 2 when unordered (a NaN).
static int order(Ev *ev, Val a, Val b, Span at) {
  if (v_is_int(a) && v_is_int(b)) return (v_as_int(a) > v_as_int(b)) - (v_as_int(a) < v_as_int(b));
  if (v_is_num(a) && v_is_num(b)) {
    double x = v_as_float(a), y = v_as_float(b);
    return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
  }
  if (a.kind == V_STR && b.kind == V_STR) {
    int c = strcmp(a.str->data, b.str->data);
    return (c > 0) - (c < 0);
  }
  if (v_is_seq(a) && a.kind == b.kind) return seq_order(ev, a, b, at);
  bad_operands(ev, "<", a, b, at);
}

static int seq_order(Ev *ev, Val a, Val b, Span at) {
  ev_step(ev, at);
  for (int i = 0; i < a.seq->len && i < b.seq->len; i++) {
    if (!v_equal(ev, a.seq->data[i], b.seq->data[i]))
      return order(ev, a.seq->data[i], b.seq->data[i], at);
  }
  return (a.seq->len > b.seq->len) - (a.seq->len < b.seq->len);
}

static bool contains(Ev *ev, Val box, Val v, Span at) {
  switch (box.kind) {
  case V_TUPLE:
  case V_LIST:
    for (int i = 0; i < box.seq->len; i++) {
      if (v_equal(ev, box.seq->data[i], v)) return true;
    }
    return false;
  case V_DICT:
  case V_SET: return dict_get(ev, box.dict, v, at) != NULL;
  case V_DTYPE: return contains(ev, v_str(ev, dt_name(box.dtype)), v, at);
  case V_STR:
    if (v.kind != V_STR) bad_operands(ev, "in", v, box, at);
    return memmem(box.str->data, (size_t)box.str->len, v.str->data, (size_t)v.str->len) != NULL;
  case V_RANGE: return contains(ev, (Val){.kind = V_LIST, .seq = ev_items(ev, box, at)}, v, at);
  default: ev_fail(ev, DIAG_NOT_ITERABLE, at, v_brief(ev, box), v_kind(ev, box));
  }
}

// Comparisons that have an answer whatever the operands are; false when this is none.
static bool identity(AstCompareOp op, Val a, Val b, bool *out) {
  if (op == AST_OP_IS || op == AST_OP_IS_NOT) {
    bool none = (a.kind == V_MISSING && a.missing->none && b.kind == V_NONE) ||
                (b.kind == V_MISSING && b.missing->none && a.kind == V_NONE);
    if (!none && (ev_unknown(a) || ev_unknown(b))) return false;
    *out = (none || v_same(a, b)) == (op == AST_OP_IS);
    return true;
  }
  if (op != AST_OP_EQ && op != AST_OP_NE) return false;
  bool a_none = a.kind == V_NONE || (a.kind == V_MISSING && a.missing->none);
  bool b_none = b.kind == V_NONE || (b.kind == V_MISSING && b.missing->none);
  if (!(a_none && !ev_unknown(b)) && !(b_none && !ev_unknown(a)) && !(a_none && b_none))
    return false;
  *out = (a_none && b_none) == (op == AST_OP_EQ);
  return true;
}

Val ev_compare(Ev *ev, AstCompareOp op, Val a, Val b, Span at) {
  bool r;
  if (identity(op, a, b, &r)) return v_bool(r);
  if (a.kind == V_MISSING || b.kind == V_MISSING) return v_missing_join(ev, a, b);
  Val inner;
  if (ev_unknown(a)) return a;
  if (ev_unknown(b)) return b;
  if (op == AST_OP_IN || op == AST_OP_NOT_IN) {
    if (v_find(ev, b, V_MISSING, &inner) || v_find(ev, b, V_OPAQUE, &inner)) {
      bool found = v_is_seq(b) && contains(ev, b, a, at);
      if (!found) return inner;
    }
    if (ev_is_rt(a) || (v_is_seq(b) && v_find(ev, b, V_EXPR, &inner)))
      ev_fail(ev, DIAG_RT_CONTEXT, at, "`in`", "compare with == and combine with or");
    return v_bool(contains(ev, b, a, at) == (op == AST_OP_IN));
  }
  if ((a.kind == V_EXPR || b.kind == V_EXPR) && dev_ok(a) && dev_ok(b))
    return dev_compare(ev, op, a, b, at);
  if (op == AST_OP_EQ || op == AST_OP_NE) return v_bool(v_equal(ev, a, b) == (op == AST_OP_EQ));
  if (!(v_is_num(a) && v_is_num(b)) && !(a.kind == b.kind && repeatable(a)))
    bad_operands(ev, ast_compare_text(op), a, b, at);
  int c = order(ev, a, b, at);
  if (c == 2) return v_bool(false);
  return v_bool(op == AST_OP_LT   ? c < 0
                : op == AST_OP_LE ? c <= 0
                : op == AST_OP_GT ? c > 0
                                  : c >= 0);
}
