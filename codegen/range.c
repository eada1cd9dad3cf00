// What values index and integer expressions can have where the writer stands, and how wide they are
// in the text: 32 bits where every intermediate result provably fits, else 64.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

typedef struct {
  int64_t lo, hi;
} Range;

static const Range everything = {INT64_MIN, INT64_MAX};

bool cg_fits32(int64_t lo, int64_t hi) {
  return lo >= INT32_MIN && hi <= INT32_MAX;
}

static Range type_range(DType t) {
  if (t == DT_BOOL) return (Range){0, 1};
  if (t == DT_INDEX || !dt_is_int(t) || dt_bits(t) == 64)
    return t == DT_U64 ? (Range){0, INT64_MAX} : everything;
  int bits = dt_bits(t);
  if (!dt_is_signed(t)) return (Range){0, (INT64_C(1) << bits) - 1};
  return (Range){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1};
}

// Saturating: a bound at the end of int64 stands for "unbounded".
static int64_t add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static int64_t mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : r;
}

static int64_t neg(int64_t a) {
  return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a;
}

static int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static bool bounded(Range r) {
  return r.lo != INT64_MIN && r.hi != INT64_MAX;
}

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

// What never runs (a block of an empty grid) has no values: then any range is right that is one.
static Range some(Range r) {
  return (Range){r.lo, max(r.lo, r.hi)};
}

static Range join(Range a, Range b) {
  return (Range){min(a.lo, b.lo), max(a.hi, b.hi)};
}

static Range product(Range a, Range b) {
  int64_t p = mul(a.lo, b.lo), q = mul(a.lo, b.hi), r = mul(a.hi, b.lo), s = mul(a.hi, b.hi);
  return (Range){min(min(p, q), min(r, s)), max(max(p, q), max(r, s))};
}

// All ones up to the top bit of x >= 0.
static int64_t fill_bits(int64_t x) {
  for (int s = 1; s < 64; s *= 2) x |= x >> s;
  return x;
}

static Range bitwise(BinOp op, Range a, Range b) {
  bool pos_a = a.lo >= 0, pos_b = b.lo >= 0;
  if (op == BIN_BITAND) {
    if (pos_a && pos_b) return (Range){0, min(a.hi, b.hi)};
    if (pos_a) return (Range){0, a.hi};
    if (pos_b) return (Range){0, b.hi};
  } else if (pos_a && pos_b) {
    return (Range){0, fill_bits(a.hi | b.hi)};
  }
  return cg_fits32(a.lo, a.hi) && cg_fits32(b.lo, b.hi) ? (Range){INT32_MIN, INT32_MAX}
                                                        : everything;
}

static Range divide(Range a, Range b) {
  if (b.lo <= 0 || !bounded(a)) {
    if (b.lo > 0 && a.lo >= 0) return (Range){0, a.hi == INT64_MAX ? INT64_MAX : a.hi / b.lo};
    return everything;
  }
  Range r = {min(floor_div(a.lo, b.lo), floor_div(a.lo, b.hi)),
             max(floor_div(a.hi, b.lo), floor_div(a.hi, b.hi))};
  return r;
}

static Range modulo(Range a, Range b) {
  if (b.lo <= 0) return everything;
  Range r = {0, b.hi == INT64_MAX ? INT64_MAX : b.hi - 1};
  if (a.lo >= 0) r.hi = min(r.hi, a.hi);
  return r;
}

static Range shift(BinOp op, Range a, Range b) {
  if (b.lo < 0 || b.hi > 62 || !bounded(a)) return everything;
  if (op == BIN_SHR)
    return (Range){min(a.lo >> b.lo, a.lo >> b.hi), max(a.hi >> b.lo, a.hi >> b.hi)};
  return product(a, (Range){INT64_C(1) << b.lo, INT64_C(1) << b.hi});
}

static Range range(Cg *c, Expr *x);

static Range binary(Cg *c, Expr *x) {
  Range a = range(c, x->u.bin.a), b = range(c, x->u.bin.b);
  switch (x->u.bin.op) {
  case BIN_ADD: return (Range){add(a.lo, b.lo), add(a.hi, b.hi)};
  case BIN_SUB: return (Range){add(a.lo, neg(b.hi)), add(a.hi, neg(b.lo))};
  case BIN_MUL: return product(a, b);
  case BIN_FLOORDIV: return divide(a, b);
  case BIN_FLOORMOD: return modulo(a, b);
  case BIN_MIN: return (Range){min(a.lo, b.lo), min(a.hi, b.hi)};
  case BIN_MAX: return (Range){max(a.lo, b.lo), max(a.hi, b.hi)};
  case BIN_BITAND:
  case BIN_BITOR:
  case BIN_BITXOR: return bitwise(x->u.bin.op, a, b);
  case BIN_SHL:
  case BIN_SHR: return shift(x->u.bin.op, a, b);
  default: return (Range){0, 1};
  }
}

static Range of_var(Cg *c, Expr *x) {
  if (!c->k && x->u.var->kind == VAR_SIZE) return (Range){0, INT32_MAX};
  if (!c->facts) return type_range(x->type);
  Range r = everything;
  facts_bounds(c->facts, x, &r.lo, &r.hi);
  return some(r);
}

// The range as the operands alone give it.
static Range structural(Cg *c, Expr *x) {
  switch (x->kind) {
  case EX_INT: return (Range){x->u.i, x->u.i};
  case EX_VAR: return of_var(c, x);
  case EX_BINARY: return binary(c, x);
  case EX_SELECT: return join(range(c, x->u.sel.yes), range(c, x->u.sel.no));
  case EX_CAST:
    return dt_is_int(x->u.cast->type) || x->u.cast->type == DT_BOOL ? range(c, x->u.cast)
                                                                    : everything;
  case EX_UNARY:
    if (x->u.un.op == UN_NEG) {
      Range a = range(c, x->u.un.a);
      return (Range){neg(a.hi), neg(a.lo)};
    }
    return everything;
  default: return everything;
  }
}

static bool inside(Range a, Range b) {
  return a.lo >= b.lo && a.hi <= b.hi;
}

static Range range(Cg *c, Expr *x) {
  Range type = type_range(x->type), r = structural(c, x);
  if (x->type != DT_INDEX) return inside(r, type) ? r : type; // else it may wrap
  if (!cg_fits32(r.lo, r.hi) && c->facts && x->kind == EX_BINARY) {
    Range f = everything;
    facts_bounds(c->facts, x, &f.lo, &f.hi);
    r = (Range){max(r.lo, f.lo), min(r.hi, f.hi)};
  }
  return some(r);
}

void cg_range(Cg *c, Expr *x, int64_t *lo, int64_t *hi) {
  Range r = range(c, x);
  *lo = r.lo;
  *hi = r.hi;
}

static int cast_bits(Cg *c, Expr *from) {
  if (from->type == DT_INDEX) return cg_bits(c, from);
  if (!dt_is_int(from->type)) return from->type == DT_BOOL ? 32 : 64;
  return dt_bits(from->type) < 32 || from->type == DT_I32 ? 32 : 64;
}

static int binary_bits(Cg *c, Expr *x) {
  int bits = max(cg_bits(c, x->u.bin.a), cg_bits(c, x->u.bin.b));
  if (bits == 64) return 64;
  Range r = range(c, x);
  return cg_fits32(r.lo, r.hi) ? 32 : 64;
}

int cg_bits(Cg *c, Expr *x) {
  if (!c->k) return 64;
  switch (x->kind) {
  case EX_INT: return cg_fits32(x->u.i, x->u.i) ? 32 : 64;
  case EX_VAR: {
    int bits = names_of(c->names, x->u.var)->bits;
    return bits ? bits : 64;
  }
  case EX_BINARY: return binary_bits(c, x);
  case EX_SELECT: return max(cg_bits(c, x->u.sel.yes), cg_bits(c, x->u.sel.no));
  case EX_CAST: return cast_bits(c, x->u.cast);
  case EX_UNARY: {
    Range r = range(c, x);
    return cg_bits(c, x->u.un.a) == 32 && cg_fits32(r.lo, r.hi) ? 32 : 64;
  }
  case EX_MATH: return cg_bits(c, x->u.math.arg[0]);
  default: return 64;
  }
}
