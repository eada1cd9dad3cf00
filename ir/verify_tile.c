// Checks of tile-level ops: their shapes, scopes and choices, and where they may stand.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

static Region *region(const Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].region;
}

static int64_t number(const Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].i;
}

static void in_range(Verify *v, const Stmt *s, const char *name, int64_t lo, int64_t hi) {
  int64_t i = number(s, name);
  if (i < lo || i > hi)
    verify_fail(v, "%s is %lld, not one of %lld..%lld", name, (long long)i, (long long)lo,
                (long long)hi);
}

// Constant extents other than 1 in order, without dimension `but`; -1 where one is not constant.
static int wide(const Region *r, int64_t but, int64_t *out) {
  int n = 0;
  for (int i = 0; i < r->n; i++) {
    int64_t e;
    if (!ex_const(r->extent[i], &e)) return -1;
    if (i != but && e != 1) out[n++] = e;
  }
  return n;
}

static void same_shape(Verify *v, const Region *a, int64_t but, const Region *b) {
  int64_t x[64], y[64];
  if (a->n > 64 || b->n > 64) return;
  int n = wide(a, but, x), m = wide(b, -1, y);
  bool same = n == m;
  for (int i = 0; same && i < n; i++) same = x[i] == y[i];
  if (n >= 0 && m >= 0 && !same)
    verify_fail(v, "%s and %s differ in their extents", a->buf->name, b->buf->name);
}

static void bits_of_ints(Verify *v, const Stmt *s, DType t) {
  if (number(s, "kind") >= RED_BITAND && dt_is_float(t))
    verify_fail(v, "a bit operation on %s", dt_name(t));
}

static void check_reduce(Verify *v, const Stmt *s) {
  const Region *src = region(s, "src"), *dst = region(s, "dst");
  in_range(v, s, "kind", 0, RED_BITXOR);
  in_range(v, s, "dim", 0, src->n - 1);
  bits_of_ints(v, s, dst->buf->dtype);
  bits_of_ints(v, s, src->buf->dtype);
  if (src->buf->scope == SC_GLOBAL || dst->buf->scope == SC_GLOBAL)
    verify_fail(v, "a reduction of a tensor");
  same_shape(v, src, number(s, "dim"), dst);
}

static void check_scan(Verify *v, const Stmt *s) {
  const Region *src = region(s, "src"), *dst = region(s, "dst");
  if (number(s, "kind") != RED_SUM && number(s, "kind") != RED_MAX)
    verify_fail(v, "a scan of kind %lld", (long long)number(s, "kind"));
  in_range(v, s, "dim", 0, src->n - 1);
  same_shape(v, src, -1, dst);
}

// A result is each thread's own.
static void own_result(Verify *v, const Region *r) {
  if (r && r->buf->scope != SC_LOCAL)
    verify_fail(v, "the result goes into %s, which no thread has for itself", r->buf->name);
}

static void one_element(Verify *v, const Region *r) {
  for (int i = 0; i < r->n; i++)
    if (!ex_is(r->extent[i], 1)) verify_fail(v, "%s is not one element", r->buf->name);
}

static void check_reducer(Verify *v, const Stmt *s, const Region *r) {
  in_range(v, s, "kind", 0, RED_BITXOR);
  bits_of_ints(v, s, r->buf->dtype);
  if (r->buf->scope != SC_FRAGMENT) verify_fail(v, "reducer %s is no fragment", r->buf->name);
}

static void check_atomics(Verify *v, const Stmt *s) {
  const Region *dst = region(s, "dst");
  if (dst->buf->scope == SC_LOCAL || dst->buf->scope == SC_FRAGMENT)
    verify_fail(v, "an atomic on %s, which other threads cannot reach", dst->buf->name);
  if (number(s, "fn") >= ATOMIC_AND && number(s, "fn") <= ATOMIC_XOR &&
      dt_is_float(dst->buf->dtype))
    verify_fail(v, "a bit operation on %s", dt_name(dst->buf->dtype));
  if (s->u.op.op == OP_ATOMIC) one_element(v, dst);
  own_result(v, region(s, "prev"));
}

static void check_im2col(Verify *v, const Stmt *s) {
  if (region(s, "src")->n != 4) verify_fail(v, "the image has %d dimensions", region(s, "src")->n);
  if (region(s, "dst")->n < 2) verify_fail(v, "the columns have one dimension");
  in_range(v, s, "kernel", 1, 4096);
  in_range(v, s, "stride", 1, 4096);
  in_range(v, s, "dilation", 1, 4096);
  in_range(v, s, "pad", 0, 4096);
}

static void check_exchange(Verify *v, const Stmt *s) {
  if (v->parallel) verify_fail(v, "an exchange between threads in a parallel loop");
  if (s->u.op.op == OP_SYNC_WARP) return;
  own_result(v, region(s, "dst"));
  if (s->u.op.op == OP_SHUFFLE) {
    int64_t width = number(s, "width");
    in_range(v, s, "mode", 0, SHUFFLE_DOWN);
    if (width < 1 || width > 32 || (width & (width - 1)))
      verify_fail(v, "segments of %lld lanes", (long long)width);
  } else if (s->u.op.op == OP_ALLREDUCE) {
    int64_t stride = number(s, "stride"), extent = number(s, "extent");
    in_range(v, s, "kind", 0, RED_BITXOR);
    if (stride < 1 || extent < 1 || stride > 1024 || extent > 1024 ||
        v->kernel->threads % (stride * extent))
      verify_fail(v, "%d threads are no sets of %lld by %lld", v->kernel->threads,
                  (long long)extent, (long long)stride);
  } else if (s->u.op.op != OP_MATCH) {
    in_range(v, s, "kind", 0, VOTE_COUNT);
    if (s->u.op.op == OP_BLOCK_VOTE && number(s, "kind") == VOTE_BALLOT)
      verify_fail(v, "a ballot over the block");
  }
}

static void check_elements(Verify *v, const Stmt *s) {
  switch (s->u.op.op) {
  case OP_TEST:
  case OP_ATOMIC_LOAD: own_result(v, region(s, "dst")); break;
  case OP_DP4A: one_element(v, region(s, "c")); break;
  default: break;
  }
}

void check_tile_ops(Verify *v, Stmt *s) {
  if (s->kind != ST_OP) return;
  switch (s->u.op.op) {
  case OP_REDUCE: check_reduce(v, s); break;
  case OP_SCAN: check_scan(v, s); break;
  case OP_REDUCER_UPDATE: check_reducer(v, s, region(s, "dst")); break;
  case OP_REDUCER_FINALIZE: check_reducer(v, s, region(s, "src")); break;
  case OP_IM2COL: check_im2col(v, s); break;
  case OP_ATOMIC:
  case OP_ATOMIC_VEC: check_atomics(v, s); break;
  case OP_SHUFFLE:
  case OP_VOTE:
  case OP_BLOCK_VOTE:
  case OP_ALLREDUCE:
  case OP_MATCH:
  case OP_SYNC_WARP: check_exchange(v, s); break;
  case OP_BREAK:
  case OP_CONTINUE:
    if (!v->loops) verify_fail(v, "a jump outside any loop that it could leave");
    break;
  default: check_elements(v, s); break;
  }
}
