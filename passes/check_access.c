// Checks of accesses: constant indices and regions that leave a tile, copies whose sides differ.
// Global tensors are guarded instead (LANGUAGE.md 6.3); run-time indices are the emulator's to
// check.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

#include <string.h>

static bool outside(Check *k, Expr *x, int64_t limit) {
  int64_t lo, hi;
  facts_bounds(k->facts, x, &lo, &hi);
  return lo <= hi && (lo >= limit || hi < 0); // lo > hi: never run
}

static bool is_whole(const Check *k, const Expr *x) {
  for (int i = k->whole_from; x->kind == EX_VAR && i < k->whole.len; i++)
    if (k->whole.data[i] == x->u.var) return true;
  return false;
}

// Adds coeff * [lo, hi] to the range at `sum`; false where it overflows.
static bool add_range(int64_t coeff, int64_t lo, int64_t hi, int64_t sum[2]) {
  int64_t a, b;
  if (__builtin_mul_overflow(coeff, coeff > 0 ? lo : hi, &a)) return false;
  if (__builtin_mul_overflow(coeff, coeff > 0 ? hi : lo, &b)) return false;
  return !__builtin_add_overflow(sum[0], a, &sum[0]) && !__builtin_add_overflow(sum[1], b, &sum[1]);
}

// Does x leave 0..limit-1 in some iteration that surely comes? Then *at is a value outside that it
// takes: bounds of a sum of variables are met where each takes every value of its range.
static bool strays(Check *k, Expr *x, int64_t limit, int64_t *at) {
  Affine f = ex_affine(k->c->arena, x);
  int64_t sum[2] = {f.constant, f.constant}, lo, hi;
  for (int i = 0; i < f.n; i++) {
    if (!is_whole(k, f.term[i])) return false;
    facts_bounds(k->facts, f.term[i], &lo, &hi);
    if (lo > hi || !add_range(f.coeff[i], lo, hi, sum)) return false;
  }
  *at = sum[0] < 0 ? sum[0] : sum[1];
  return sum[0] < 0 || sum[1] >= limit;
}

static void check_index(Check *k, const Buffer *b, Expr **idx, int n, Span span) {
  int64_t extent, at;
  if (b->scope == SC_GLOBAL) return;
  for (int d = 0; d < n; d++) {
    if (!ex_const(b->shape[d], &extent)) continue;
    bool some = strays(k, idx[d], extent, &at);
    if (!some && !outside(k, idx[d], extent)) continue;
    Span own = idx[d]->span; // that of a variable is where it is declared
    bool inside = own.file == span.file && own.lo >= span.lo && own.hi <= span.hi;
    bool reaches = some && idx[d]->kind != EX_INT;
    diag_report(k->c->diags, DIAG_INDEX_RANGE, inside ? own : span,
                ir_expr_str(k->c->arena, idx[d]), d, b->name, (long long)extent - 1,
                reaches ? arena_printf(k->c->arena, ": it reaches %lld", (long long)at) : "");
    note_buffer(k->c, k->program, b);
  }
}

typedef struct {
  Check *k;
  Span span;
} Visit;

static void check_load(void *ctx, Expr *x) {
  Visit *v = ctx;
  if (x->kind == EX_LOAD)
    check_index(v->k, x->u.load.buf, x->u.load.idx, x->u.load.n, x->span.file ? x->span : v->span);
}

static void find_choice(void *ctx, Expr *x) {
  bool logical = x->kind == EX_BINARY && (x->u.bin.op == BIN_AND || x->u.bin.op == BIN_OR);
  if (x->kind == EX_SELECT || logical) *(bool *)ctx = true;
}

// Beside a choice a load may not come in every iteration.
static void check_slot(void *ctx, Expr **slot) {
  Check *k = ((Visit *)ctx)->k;
  int from = k->whole_from;
  bool choice = false;
  ex_walk(*slot, find_choice, &choice);
  if (choice) k->whole_from = k->whole.len;
  ex_walk(*slot, check_load, ctx);
  k->whole_from = from;
}

void check_exprs(Check *k, Stmt *s) {
  Visit v = {k, s->span};
  st_exprs(s, check_slot, &v);
}

void check_store(Check *k, const Stmt *s) {
  check_index(k, s->u.store.buf, s->u.store.idx, s->u.store.n, s->span);
}

void check_region(Check *k, const Region *r, Span span) {
  Arena *a = k->c->arena;
  int64_t size, extent, lo, hi;
  if (r->buf->scope == SC_GLOBAL) return;
  for (int d = 0; d < r->n; d++) {
    if (!ex_const(r->buf->shape[d], &size)) continue;
    Expr *end = ex_add(a, r->min[d], r->extent[d]);
    facts_bounds(k->facts, end, &lo, &hi);
    bool over = lo > size || strays(k, end, size + 1, &lo);
    facts_bounds(k->facts, r->min[d], &lo, &hi);
    bool under = hi < 0 || strays(k, r->min[d], size + 1, &lo);
    bool empty = ex_const(r->extent[d], &extent) && extent < 0;
    if (!over && !under && !empty) continue;
    diag_report(k->c->diags, DIAG_REGION_RANGE, span, ir_expr_str(a, r->min[d]),
                ir_expr_str(a, end), d, r->buf->name, (long long)size);
    note_buffer(k->c, k->program, r->buf);
  }
}

static const char *extents_text(Arena *a, const Region *r) {
  const char *text = NULL;
  for (int d = 0; d < r->n; d++) {
    const char *e = ir_expr_str(a, r->extent[d]);
    text = text ? arena_printf(a, "%s x %s", text, e) : e;
  }
  return text ? text : "one element";
}

static int next_wide(const Region *r, int d) {
  while (d < r->n && ex_is(r->extent[d], 1)) d++;
  return d;
}

static bool same_extents(Check *k, const Region *x, const Region *y) {
  int i = next_wide(x, 0), j = next_wide(y, 0);
  for (; i < x->n && j < y->n; i = next_wide(x, i + 1), j = next_wide(y, j + 1)) {
    int64_t p, q;
    if (ex_const(x->extent[i], &p) && ex_const(y->extent[j], &q)) {
      if (p != q) return false;
    } else if (!facts_prove(k->facts, ex_bin(k->c->arena, BIN_EQ, x->extent[i], y->extent[j]))) {
      return false;
    }
  }
  return i >= x->n && j >= y->n;
}

static bool apart(Check *k, const Region *x, const Region *y) {
  Arena *a = k->c->arena;
  for (int d = 0; d < x->n; d++) {
    Expr *before = ex_bin(a, BIN_LE, ex_add(a, x->min[d], x->extent[d]), y->min[d]);
    Expr *after = ex_bin(a, BIN_LE, ex_add(a, y->min[d], y->extent[d]), x->min[d]);
    if (facts_prove(k->facts, before) || facts_prove(k->facts, after)) return true;
  }
  return false;
}

static bool same_box(const Region *x, const Region *y) {
  for (int d = 0; d < x->n; d++)
    if (!ex_equal(x->min[d], y->min[d]) || !ex_equal(x->extent[d], y->extent[d])) return false;
  return true;
}

void check_copy(Check *k, const Stmt *s) {
  OpCode op = s->u.op.op;
  const Region *src = s->u.op.arg[op_arg(op, "src")].region,
               *dst = s->u.op.arg[op_arg(op, "dst")].region;
  Arena *a = k->c->arena;
  if (!same_extents(k, src, dst))
    diag_report(k->c->diags, DIAG_COPY_EXTENTS, s->span, op == OP_COPY ? "copy" : "atomic",
                src->buf->name, extents_text(a, src), dst->buf->name, extents_text(a, dst));
  if (src->buf == dst->buf && !same_box(src, dst) && !apart(k, src, dst))
    diag_report(k->c->diags, DIAG_COPY_OVERLAP, s->span, src->buf->name);
}

static bool atomic_type(DType t) {
  if (dt_is_float(t)) return t == DT_F32 || t == DT_F64 || t == DT_F16 || t == DT_BF16;
  return t == DT_I32 || t == DT_U32 || t == DT_I64 || t == DT_U64;
}

void check_atomic(Check *k, const Stmt *s) {
  OpCode op = s->u.op.op;
  AtomicFn fn = (AtomicFn)s->u.op.arg[op_arg(op, "fn")].i;
  DType t = s->u.op.arg[op_arg(op, "dst")].region->buf->dtype;
  if (atomic_type(t)) return;
  diag_report(k->c->diags, DIAG_ATOMIC_TYPE, s->span,
              fn == ATOMIC_ADD   ? "add"
              : fn == ATOMIC_MAX ? "max"
                                 : "min",
              dt_name(t), "int32, uint32, int64, uint64, float16, bfloat16, float32 and float64");
}
