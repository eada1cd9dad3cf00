// Checks of wgmma: operands by the PTX tables, and that whole warpgroups reach it.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "ir/verify.h"

static Arg *arg(Stmt *s, const char *name) { return &s->u.op.arg[op_arg(s->u.op.op, name)]; }

static int64_t count(Verify *v, const Region *r) {
  int64_t n;
  if (ex_const(r->extent[0], &n) && n >= 1) return n;
  verify_fail(v, "the extent of %s is no positive constant", r->buf->name);
  return 0;
}

static void want_scope(Verify *v, const Region *r, Scope scope, const char *what) {
  if (r->buf->scope != scope)
    verify_fail(v, "%s %s is %s, not %s", what, r->buf->name, scope_words[r->buf->scope],
                scope_words[scope]);
}

static void want_type(Verify *v, const Expr *x, DType t, const char *what) {
  if (x && x->type != t) verify_fail(v, "%s is %s, not %s", what, dt_name(x->type), dt_name(t));
}

/* operands */

static bool floats(DType t) { return dt_is_float(t); }

// PTX: wgmma.mma_async, operand and accumulator types.
static bool multiply(DType a, DType b, DType d) {
  bool same = a == b || (dt_bits(a) == 8 && dt_bits(b) == 8 && floats(a) == floats(b));
  if (!same) return false;
  switch (a) {
  case DT_F16: return d == DT_F32 || d == DT_F16;
  case DT_E4M3:
  case DT_E5M2: return d == DT_F32 || d == DT_F16;
  case DT_BF16:
  case DT_F32:
  case DT_TF32: return d == DT_F32;
  case DT_I8:
  case DT_U8: return d == DT_I32;
  default: return false;
  }
}

// The descriptor of a shared operand; none for registers.
static void descriptor(Verify *v, const Region *r, const Expr *lo, const Expr *hi, bool trans,
                       const char *what) {
  int64_t bits;
  bool memory = r->buf->scope == SC_SHARED;
  if (memory != (lo != NULL) || memory != (hi != NULL))
    verify_fail(v, "%s is %s and has %s descriptor", what, scope_words[r->buf->scope],
                lo || hi ? "a" : "no");
  want_type(v, lo, DT_U32, "a descriptor's low word");
  want_type(v, hi, DT_U32, "a descriptor's high word");
  if (hi && !ex_const(hi, &bits)) verify_fail(v, "a descriptor's high word is no constant");
  if (trans && (!memory || dt_bits(r->buf->dtype) != 16))
    verify_fail(v, "%s, %s of %s, cannot be transposed", what, scope_words[r->buf->scope],
                dt_name(r->buf->dtype));
}

static void operands_wgmma(Verify *v, Stmt *s) {
  const Region *a = arg(s, "a")->region, *b = arg(s, "b")->region, *d = arg(s, "d")->region;
  DType ta = a->buf->dtype, tb = b->buf->dtype, td = d->buf->dtype;
  int64_t n = arg(s, "n")->i;
  if (a->buf->scope != SC_LOCAL) want_scope(v, a, SC_SHARED, "operand a");
  want_scope(v, b, SC_SHARED, "operand b");
  want_scope(v, d, SC_LOCAL, "operand d");
  if (!multiply(ta, tb, td) || !layout_wgmma_n((int)n, td == DT_I32)) {
    verify_fail(v, "no wgmma m64n%lld of %s and %s into %s", (long long)n, dt_name(ta), dt_name(tb),
                dt_name(td));
    return;
  }
  if (count(v, d) != n / 2)
    verify_fail(v, "%lld accumulators a thread, not %lld", (long long)count(v, d),
                (long long)n / 2);
  if (a->buf->scope == SC_LOCAL && count(v, a) != 128 / dt_bits(ta))
    verify_fail(v, "%lld elements of a in registers, not %d", (long long)count(v, a),
                128 / dt_bits(ta));
  descriptor(v, a, arg(s, "a_lo")->expr, arg(s, "a_hi")->expr, arg(s, "trans_a")->i, "a");
  descriptor(v, b, arg(s, "b_lo")->expr, arg(s, "b_hi")->expr, arg(s, "trans_b")->i, "b");
  want_type(v, arg(s, "scale_d")->expr, DT_BOOL, "scale_d");
  static const char *const flags[] = {"neg_a", "neg_b", "trans_a", "trans_b"};
  for (size_t i = 0; i < LEN(flags); i++) {
    int64_t x = arg(s, flags[i])->i;
    if (x < 0 || x > 1) verify_fail(v, "%s is %lld, not 0 or 1", flags[i], (long long)x);
    if (x && td == DT_I32) verify_fail(v, "%s of integers", flags[i]);
  }
}

static void operands_desc(Verify *v, Stmt *s) {
  const Region *tile = arg(s, "tile")->region, *dst = arg(s, "dst")->region;
  int64_t lbo = arg(s, "lbo")->i;
  want_scope(v, tile, SC_SHARED, "the tile");
  want_scope(v, dst, SC_LOCAL, "the descriptor");
  if (dst->buf->dtype != DT_U32 || count(v, dst) != 1)
    verify_fail(v, "a descriptor's low word is one uint32, not %lld of %s",
                (long long)count(v, dst), dt_name(dst->buf->dtype));
  if (lbo < 0 || lbo % 16 || lbo >> 4 > 0x3fff)
    verify_fail(v, "lbo of %lld bytes: not a multiple of 16 below 2^18", (long long)lbo);
}

void verify_wgmma_operands(Verify *v, Stmt *s) {
  switch (s->u.op.op) {
  case OP_WGMMA: operands_wgmma(v, s); break;
  case OP_WGMMA_DESC: operands_desc(v, s); break;
  case OP_WGMMA_WAIT:
  case OP_WGMMA_FENCE:
    if (s->u.op.op == OP_WGMMA_WAIT && (arg(s, "pending")->i < 0 || arg(s, "pending")->i > 7))
      verify_fail(v, "a wait for all but %lld groups: 0 to 7", (long long)arg(s, "pending")->i);
    if (arg(s, "d")->region) want_scope(v, arg(s, "d")->region, SC_LOCAL, "operand d");
    if (arg(s, "a")->region) want_scope(v, arg(s, "a")->region, SC_LOCAL, "operand a");
    break;
  default: break;
  }
}

/* warpgroups: 128 consecutive threads, from a multiple of 128, reach it together */

// x as the thread's number plus *c?
static bool thread_plus(Verify *v, Expr *x, int64_t *c) {
  Affine f = ex_affine(v->arena, x);
  *c = f.constant;
  return f.n == 1 && f.coeff[0] == 1 && f.term[0]->kind == EX_VAR &&
         f.term[0]->u.var == v->kernel->thread;
}

// thread // 128, thread < 256: the same for the threads of a warpgroup.
static bool by_warpgroup(Verify *v, Expr *x) {
  int64_t c, k;
  Expr *a = x->u.bin.a, *b = x->u.bin.b;
  BinOp op = x->u.bin.op;
  if (op == BIN_FLOORDIV)
    return ex_const(b, &k) && k > 0 && k % WARPGROUP == 0 && thread_plus(v, a, &c) &&
           c % WARPGROUP == 0;
  bool less = op == BIN_LT;
  if (!less && op != BIN_LE) return false;
  if (ex_const(b, &k) && thread_plus(v, a, &c)) return (k - c + !less) % WARPGROUP == 0;
  if (ex_const(a, &k) && thread_plus(v, b, &c)) return (k - c + less) % WARPGROUP == 0;
  return false;
}

static bool any_splits(Verify *v, Expr *const *x, int n) {
  for (int i = 0; i < n; i++)
    if (x[i] && verify_splits(v, x[i])) return true;
  return false;
}

bool verify_splits(Verify *v, Expr *x) {
  switch (x->kind) {
  case EX_VAR: return ptrmap_get(v->splitting, x->u.var) != NULL;
  case EX_LOAD: return any_splits(v, x->u.load.idx, x->u.load.n);
  case EX_UNARY: return verify_splits(v, x->u.un.a);
  case EX_CAST: return verify_splits(v, x->u.cast);
  case EX_SELECT: return any_splits(v, (Expr *[]){x->u.sel.cond, x->u.sel.yes, x->u.sel.no}, 3);
  case EX_MATH: return any_splits(v, x->u.math.arg, x->u.math.n);
  case EX_BINARY:
    return !by_warpgroup(v, x) && any_splits(v, (Expr *[]){x->u.bin.a, x->u.bin.b}, 2);
  default: return false;
  }
}

void check_warpgroups(Verify *v, Stmt *s) {
  if (s->kind != ST_OP || op_info(s->u.op.op)->sync != SYNC_WARPGROUP) return;
  if (v->split) verify_fail(v, "a part of a warpgroup may reach it without the rest");
  if (v->kernel->threads % WARPGROUP)
    verify_fail(v, "%d threads are no whole warpgroups", v->kernel->threads);
}
