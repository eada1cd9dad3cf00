// Integer expressions as tapes: flat lists of operations, run over the threads and the values of
// the private variables, each operation where the last variable that it depends on changes.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

static int add(Tape *p, TapeOp op) {
  if (p->ops.len >= TAPE_MAX) return -1;
  vec_push(p->arena, &p->ops, op);
  vec_push(p->arena, &p->run[op.level], p->ops.len - 1);
  return p->ops.len - 1;
}

static int known(const Tape *p, const Expr *x) {
  for (int i = 0; i < p->ops.len; i++)
    if (p->ops.data[i].expr == x) return i;
  return -1;
}

static int compile_var(Tape *p, Expr *x) {
  for (int i = 0; i < p->nvars; i++)
    if (p->var[i] == x->u.var) return add(p, (TapeOp){x, {i, -1, -1}, i});
  return -1;
}

int tape_compile(Tape *p, Expr *x) {
  int at = known(p, x), n = 0;
  if (at >= 0) return at;
  Expr *arg[3] = {NULL, NULL, NULL};
  switch (x->kind) {
  case EX_INT: return add(p, (TapeOp){x, {-1, -1, -1}, 0});
  case EX_VAR: return compile_var(p, x);
  case EX_UNARY: arg[n++] = x->u.un.a; break;
  case EX_BINARY:
    arg[n++] = x->u.bin.a;
    arg[n++] = x->u.bin.b;
    break;
  case EX_CAST:
    if (dt_is_float(x->type) || dt_is_float(x->u.cast->type)) return -1;
    arg[n++] = x->u.cast;
    break;
  case EX_SELECT:
    arg[n++] = x->u.sel.cond;
    arg[n++] = x->u.sel.yes;
    arg[n++] = x->u.sel.no;
    break;
  default: return -1;
  }
  TapeOp op = {x, {-1, -1, -1}, 0};
  for (int i = 0; i < n; i++) {
    if (dt_is_float(arg[i]->type) || (op.arg[i] = tape_compile(p, arg[i])) < 0) return -1;
    int level = p->ops.data[op.arg[i]].level;
    op.level = level > op.level ? level : op.level;
  }
  return add(p, op);
}

static bool fits(DType t, int64_t v) {
  if (t == DT_INDEX) return true;
  if (t == DT_BOOL) return v == 0 || v == 1;
  int bits = dt_bits(t);
  if (bits >= 64) return true;
  return dt_is_signed(t) ? v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1)
                         : v >= 0 && v < (int64_t)1 << bits;
}

static bool divide(BinOp op, int64_t p, int64_t q, int64_t *out) {
  if (!q) return false;
  int64_t m = p % q;
  bool adjust = m != 0 && (m < 0) != (q < 0);
  *out = op == BIN_FLOORDIV ? p / q - adjust : adjust ? m + q : m;
  return true;
}

static bool shift(BinOp op, int64_t p, int64_t q, int64_t *out) {
  if (q < 0 || q > 40) return false;
  *out = op == BIN_SHL ? p * ((int64_t)1 << q) : p >> q;
  return true;
}

static bool binary(BinOp op, int64_t p, int64_t q, int64_t *out) {
  switch (op) {
  case BIN_ADD: return !__builtin_add_overflow(p, q, out);
  case BIN_SUB: return !__builtin_sub_overflow(p, q, out);
  case BIN_MUL: return !__builtin_mul_overflow(p, q, out);
  case BIN_FLOORDIV:
  case BIN_FLOORMOD: return divide(op, p, q, out);
  case BIN_MIN: *out = p < q ? p : q; return true;
  case BIN_MAX: *out = p > q ? p : q; return true;
  case BIN_LT: *out = p < q; return true;
  case BIN_LE: *out = p <= q; return true;
  case BIN_EQ: *out = p == q; return true;
  case BIN_NE: *out = p != q; return true;
  case BIN_AND: *out = p && q; return true;
  case BIN_OR: *out = p || q; return true;
  case BIN_BITAND: *out = p & q; return true;
  case BIN_BITOR: *out = p | q; return true;
  case BIN_BITXOR: *out = p ^ q; return true;
  case BIN_SHL:
  case BIN_SHR: return shift(op, p, q, out);
  default: return false;
  }
}

// Short circuits: a part that is not evaluated may be undefined.
static bool short_circuit(const Tape *p, const TapeOp *op, int64_t *out) {
  const Expr *x = op->expr;
  if (x->kind != EX_BINARY || !p->ok[op->arg[0]]) return false;
  bool left = p->value[op->arg[0]] != 0;
  if (x->u.bin.op == BIN_AND && !left) return *out = 0, true;
  if (x->u.bin.op == BIN_OR && left) return *out = 1, true;
  return false;
}

static bool step(const Tape *p, const TapeOp *op, int64_t *out) {
  const Expr *x = op->expr;
  if (x->kind == EX_INT) return *out = x->u.i, true;
  if (x->kind == EX_VAR) return *out = p->in[op->arg[0]], true;
  if (short_circuit(p, op, out)) return true;
  if (!p->ok[op->arg[0]]) return false;
  int64_t a = p->value[op->arg[0]];
  if (x->kind == EX_SELECT) {
    int taken = op->arg[a ? 1 : 2];
    *out = p->value[taken];
    return p->ok[taken];
  }
  if (x->kind == EX_CAST) *out = x->type == DT_BOOL ? a != 0 : a;
  else if (x->kind == EX_UNARY) *out = x->u.un.op == UN_NEG ? -a : x->u.un.op == UN_NOT ? !a : ~a;
  else if (!p->ok[op->arg[1]] || !binary(x->u.bin.op, a, p->value[op->arg[1]], out)) return false;
  return fits(x->type, *out); // a wrap is not followed
}

void tape_run(Tape *p, int level) {
  for (int n = 0; n < p->run[level].len; n++) {
    int i = p->run[level].data[n];
    p->ok[i] = step(p, &p->ops.data[i], &p->value[i]);
  }
}
