// Checks of what only sm_90a has: mbarriers, bulk and tensor copies, clusters, how blocks start.
// The limits are those of the PTX ISA and of cuTensorMapEncodeTiled.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

#include <string.h>

static Region *operand(Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].region;
}

static int64_t attribute(Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].i;
}

static void within(Verify *v, const char *what, int64_t i, int64_t lo, int64_t hi) {
  if (i < lo || i > hi)
    verify_fail(v, "%s is %lld, not within %lld..%lld", what, (long long)i, (long long)lo,
                (long long)hi);
}

static void whole_number(Verify *v, Stmt *s, const char *name) {
  Expr *x = s->u.op.arg[op_arg(s->u.op.op, name)].expr;
  if (x && !dt_is_int(x->type)) verify_fail(v, "%s is %s, no integer", name, dt_name(x->type));
}

static int64_t extent(Verify *v, const Region *r) {
  int64_t n;
  if (r->n == 1 && ex_const(r->extent[0], &n) && n >= 1) return n;
  verify_fail(v, "%s: no run of constant length", r->buf->name);
  return 0;
}

static bool in_scope(Verify *v, const Region *r, Scope scope) {
  if (r->buf->scope == scope) return true;
  verify_fail(v, "%s is %s, not %s", r->buf->name, scope_words[r->buf->scope], scope_words[scope]);
  return false;
}

/* mbarriers */

static bool barrier_operand(Verify *v, const Region *r) {
  if (!in_scope(v, r, SC_SHARED)) return false;
  if (r->buf->dtype != DT_U64) verify_fail(v, "%s is no mbarrier, of uint64", r->buf->name);
  return extent(v, r) == 1;
}

static bool uses_barrier(OpCode op) {
  const OpInfo *info = op_info(op);
  for (int i = 0; i < info->nargs; i++)
    if (!strcmp(info->arg[i].name, "bar")) return true;
  return false;
}

static void operands_barrier(Verify *v, Stmt *s) {
  barrier_operand(v, operand(s, "bar"));
  switch (s->u.op.op) {
  case OP_MBAR_INIT: within(v, "count", attribute(s, "count"), 1, (1 << 20) - 1); break;
  case OP_MBAR_ARRIVE_TX:
  case OP_MBAR_EXPECT_TX: whole_number(v, s, "bytes"); break;
  case OP_MBAR_ARRIVE_REMOTE: whole_number(v, s, "rank"); break;
  case OP_MBAR_WAIT: whole_number(v, s, "parity"); break;
  default: break;
  }
}

/* copies */

static void reducible(Verify *v, Stmt *s, DType t) {
  int64_t fn = attribute(s, "fn");
  if (!op_reduces((AtomicFn)fn, t))
    verify_fail(v, "no reduction number %lld of %s", (long long)fn, dt_name(t));
}

// A box of a map against a dense run of shared memory.
static void operands_box(Verify *v, Stmt *s, const Region *box, const Region *tile) {
  if (!in_scope(v, box, SC_MAP) || !in_scope(v, tile, SC_SHARED) || !box->buf->map) return;
  const TensorMap *m = box->buf->map;
  int64_t n;
  if (box->buf->ndim > MAP_RANK) return;
  for (int i = 0; i < box->n; i++) {
    if (!ex_const(box->extent[i], &n) || n != m->box[i])
      verify_fail(v, "extent %d is not that of the box, %d", i, m->box[i]);
  }
  if (dt_bits(tile->buf->dtype) != dt_bits(box->buf->dtype))
    verify_fail(v, "between %s and %s", dt_name(tile->buf->dtype), dt_name(box->buf->dtype));
  if (extent(v, tile) != map_elems(m, box->n))
    verify_fail(v, "%lld elements of %s for a box of %lld", (long long)extent(v, tile),
                tile->buf->name, (long long)map_elems(m, box->n));
}

static void operands_tma(Verify *v, Stmt *s) {
  if (s->u.op.op == OP_TMA_PREFETCH) {
    in_scope(v, operand(s, "map"), SC_MAP);
    return;
  }
  bool load = s->u.op.op == OP_TMA_LOAD;
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  operands_box(v, s, load ? src : dst, load ? dst : src);
  if (load) barrier_operand(v, operand(s, "bar"));
  if (load) whole_number(v, s, "blocks");
  if (s->u.op.op == OP_TMA_REDUCE) reducible(v, s, dst->buf->dtype);
  else within(v, "hint", attribute(s, "hint"), 0, 2);
}

static void operands_bulk(Verify *v, Stmt *s) {
  bool load = s->u.op.op == OP_BULK_LOAD;
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  if (!in_scope(v, src, load ? SC_GLOBAL : SC_SHARED)) return;
  if (!in_scope(v, dst, load ? SC_SHARED : SC_GLOBAL)) return;
  int64_t n = extent(v, src), bits = n * dt_bits(src->buf->dtype);
  if (src->buf->dtype != dst->buf->dtype || n != extent(v, dst))
    verify_fail(v, "the sides differ in type or extent");
  if (bits % 128) verify_fail(v, "%lld bits are no multiple of 16 bytes", (long long)bits);
  if (load) barrier_operand(v, operand(s, "bar"));
  if (load) whole_number(v, s, "blocks");
  if (s->u.op.op == OP_BULK_REDUCE) reducible(v, s, dst->buf->dtype);
}

static void operands_stmatrix(Verify *v, Stmt *s) {
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  int64_t num = attribute(s, "num");
  if (!in_scope(v, src, SC_LOCAL) || !in_scope(v, dst, SC_SHARED)) return;
  if (num != 1 && num != 2 && num != 4) verify_fail(v, "%lld matrices", (long long)num);
  if (extent(v, dst) * dt_bits(dst->buf->dtype) != 128) verify_fail(v, "a row is not 16 bytes");
  if (extent(v, src) * dt_bits(src->buf->dtype) != 32 * num)
    verify_fail(v, "not the bits of %lld registers", (long long)num);
}

/* warps and their roles */

static void operands_named(Verify *v, Stmt *s) {
  int64_t threads = attribute(s, "threads"), id;
  whole_number(v, s, "id");
  if (threads < 32 || threads > 1024 || threads % 32)
    verify_fail(v, "%lld threads at a barrier of whole warps", (long long)threads);
  if (ex_const(s->u.op.arg[op_arg(s->u.op.op, "id")].expr, &id)) within(v, "id", id, 1, 15);
}

static void operands_setmaxnreg(Verify *v, Stmt *s) {
  int64_t regs = attribute(s, "regs");
  within(v, "regs", regs, 24, 256);
  within(v, "inc", attribute(s, "inc"), 0, 1);
  if (regs % 8) verify_fail(v, "%lld registers are no multiple of 8", (long long)regs);
  if (kernel_threads(v->kernel) % 128)
    verify_fail(v, "%d threads are no whole warpgroups", kernel_threads(v->kernel));
  if (!v->kernel->min_blocks) // ptxas would not know with how many registers the kernel starts
    verify_fail(v, "setmaxnreg, but launch names no blocks");
}

static void operands_result(Verify *v, Stmt *s, DType t) {
  Region *dst = operand(s, "dst");
  in_scope(v, dst, SC_LOCAL);
  if (dst->buf->dtype != t || extent(v, dst) != 1)
    verify_fail(v, "the result is one %s", dt_name(t));
}

void verify_sm90_operands(Verify *v, Stmt *s) {
  switch (s->u.op.op) {
  case OP_MBAR_INIT:
  case OP_MBAR_ARRIVE:
  case OP_MBAR_ARRIVE_TX:
  case OP_MBAR_EXPECT_TX:
  case OP_MBAR_ARRIVE_REMOTE:
  case OP_MBAR_ARRIVE_COPIES:
  case OP_MBAR_WAIT: operands_barrier(v, s); break;
  case OP_TMA_LOAD:
  case OP_TMA_STORE:
  case OP_TMA_REDUCE:
  case OP_TMA_PREFETCH: operands_tma(v, s); break;
  case OP_BULK_LOAD:
  case OP_BULK_STORE:
  case OP_BULK_REDUCE: operands_bulk(v, s); break;
  case OP_BULK_WAIT:
    within(v, "pending", attribute(s, "pending"), 0, INT32_MAX);
    within(v, "read", attribute(s, "read"), 0, 1);
    break;
  case OP_FENCE_PROXY: within(v, "space", attribute(s, "space"), 0, 2); break;
  case OP_BAR_SYNC:
  case OP_BAR_ARRIVE: operands_named(v, s); break;
  case OP_SETMAXNREG: operands_setmaxnreg(v, s); break;
  case OP_CLUSTER_RANK: operands_result(v, s, DT_I32); break;
  case OP_ELECT: operands_result(v, s, DT_BOOL); break;
  case OP_STMATRIX: operands_stmatrix(v, s); break;
  default: break;
  }
}

/* launch */

void check_launch(Verify *v) {
  const Kernel *k = v->kernel;
  bool plain = !k->launch_threads && !k->min_blocks && kernel_cluster(k) == 1;
  if (plain) return;
  if (k->launch_threads) within(v, "launch", k->launch_threads, k->threads, 1024);
  within(v, "blocks", k->min_blocks, 0, 32);
  within(v, "the number of blocks in a cluster", kernel_cluster(k), 1, 8);
  for (int i = 0; i < 3; i++) {
    int64_t grid;
    if (k->cluster[i] < 0) verify_fail(v, "cluster extent %d", k->cluster[i]);
    if (k->cluster[i] > 1 && ex_const(k->grid[i], &grid) && grid % k->cluster[i])
      verify_fail(v, "a grid of %lld in clusters of %d", (long long)grid, k->cluster[i]);
  }
}

/* maps */

static void host_node(void *ctx, Expr *x) {
  Verify *v = ctx;
  bool host = x->kind != EX_VAR || x->u.var->kind == VAR_SIZE || x->u.var->kind == VAR_SCALAR;
  if (!host || x->kind == EX_LOAD) verify_fail(v, "a map's shape uses more than sizes and scalars");
}

static void check_map(Verify *v, const Buffer *b) {
  const TensorMap *m = b->map;
  const char *n = b->name;
  if (b->ndim < 1 || b->ndim > MAP_RANK) {
    verify_fail(v, "map %s of rank %d", n, b->ndim);
    return;
  }
  if (!m->of || m->of->scope != SC_GLOBAL || m->of->base || !ptrmap_get(v->known, m->of)) {
    verify_fail(v, "map %s is of no tensor", n);
    return;
  }
  int bits = dt_bits(b->dtype), inner = b->ndim - 1;
  int64_t one;
  if (bits < 8 || dt_bits(m->of->dtype) != bits)
    verify_fail(v, "map %s of %s over %s", n, dt_name(b->dtype), dt_name(m->of->dtype));
  if (m->of->align < 16) verify_fail(v, "map %s of a tensor aligned to %d", n, m->of->align);
  for (int i = 0; i < b->ndim; i++) {
    within(v, "a box's extent", m->box[i], 1, 256);
    within(v, "a box's step", m->step[i], 1, 8);
    ex_walk(b->shape[i], host_node, v);
    if (b->strides) ex_walk(b->strides[i], host_node, v);
  }
  if (m->step[inner] != 1) verify_fail(v, "map %s: the innermost step is not 1", n); // ignored
  if (b->strides && (!ex_const(b->strides[inner], &one) || one != 1))
    verify_fail(v, "map %s: the innermost stride is not 1", n);
  if (m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128)
    verify_fail(v, "map %s: swizzle %d", n, m->swizzle);
  if (m->l2 != 0 && m->l2 != 64 && m->l2 != 128 && m->l2 != 256)
    verify_fail(v, "map %s: l2 %d", n, m->l2);
  if (m->nan && !dt_is_float(b->dtype)) verify_fail(v, "map %s: NaN in %s", n, dt_name(b->dtype));
  int64_t row = (m->box[inner] + m->step[inner] - 1) / m->step[inner] * (int64_t)bits / 8;
  if (row % 16) verify_fail(v, "map %s: rows of %lld bytes, not 16", n, (long long)row);
  if (m->swizzle && row != m->swizzle) // how narrower rows lie is documented nowhere
    verify_fail(v, "map %s: rows of %lld bytes in swizzle %d", n, (long long)row, m->swizzle);
}

void check_maps(Verify *v) {
  for (int i = 0; i < v->kernel->buffers.len; i++) {
    const Buffer *b = v->kernel->buffers.data[i];
    if (b->scope == SC_MAP && v->kernel->level != LEVEL_THREAD)
      verify_fail(v, "map %s at tile level", b->name);
    else if (b->scope == SC_MAP) check_map(v, b);
  }
}

/* barriers and maps: nothing else looks into them, or lies on them */

typedef struct {
  Verify *v;
  PtrMap *barriers;
} Barriers;

static void find_barrier(void *ctx, Stmt *s) {
  Barriers *b = ctx;
  if (s->kind != ST_OP || !uses_barrier(s->u.op.op)) return;
  const Buffer *bar = operand(s, "bar")->buf;
  ptrmap_set(b->barriers, bar, (void *)(uintptr_t)bar);
}

static void barrier_load(void *ctx, Expr *x) {
  Barriers *b = ctx;
  if (x->kind == EX_LOAD && ptrmap_get(b->barriers, x->u.load.buf))
    verify_fail(b->v, "mbarrier %s is read like data", x->u.load.buf->name);
  if (x->kind == EX_LOAD && x->u.load.buf->scope == SC_MAP)
    verify_fail(b->v, "map %s is read like data", x->u.load.buf->name);
}

static void barrier_slot(void *ctx, Expr **slot) { ex_walk(*slot, barrier_load, ctx); }

static void barrier_use(void *ctx, Stmt *s) {
  Barriers *b = ctx;
  b->v->stmt = s;
  st_exprs(s, barrier_slot, b);
  if (s->kind == ST_STORE && ptrmap_get(b->barriers, s->u.store.buf))
    verify_fail(b->v, "mbarrier %s is written like data", s->u.store.buf->name);
  if (s->kind == ST_STORE && s->u.store.buf->scope == SC_MAP)
    verify_fail(b->v, "map %s is written like data", s->u.store.buf->name);
  if (s->kind != ST_OP) return;
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    if (kind >= ARG_EXPR || !s->u.op.arg[i].region) continue;
    const Buffer *buf = s->u.op.arg[i].region->buf;
    bool is_bar = uses_barrier(s->u.op.op) && i == op_arg(s->u.op.op, "bar");
    if (!is_bar && ptrmap_get(b->barriers, buf))
      verify_fail(b->v, "mbarrier %s is used like data", buf->name);
    if (buf->scope == SC_MAP && (s->u.op.op < OP_TMA_LOAD || s->u.op.op > OP_TMA_PREFETCH))
      verify_fail(b->v, "map %s is used like data", buf->name);
  }
}

static int64_t end_of(const Buffer *b) { return b->offset + buf_bytes(b); }

void check_barriers(Verify *v) {
  const Kernel *k = v->kernel;
  Barriers b = {v, ptrmap_new(v->arena)};
  st_walk(k->body, find_barrier, &b);
  st_walk(k->body, barrier_use, &b);
  v->stmt = NULL;
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *x = k->buffers.data[i];
    if (!ptrmap_get(b.barriers, x) || x->offset < 0) continue;
    for (int j = 0; j < k->buffers.len; j++) {
      const Buffer *y = k->buffers.data[j];
      if (j == i || y->scope != SC_SHARED || y->offset < 0) continue;
      if (x->offset < end_of(y) && y->offset < end_of(x))
        verify_fail(v, "mbarrier %s lies on %s", x->name, y->name);
    }
  }
}
