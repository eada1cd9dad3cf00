// Checks of levels, and of what one thread does.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

/* levels: ops and loops where they belong */

void check_levels(Verify *v, Stmt *s) {
  Level level = v->kernel->level;
  if (s->kind == ST_OP) {
    const OpInfo *info = op_info(s->u.op.op);
    if (!(info->level & level))
      verify_fail(v, "%s at %s level", info->name, level == LEVEL_TILE ? "tile" : "thread");
  }
  if (s->kind != ST_FOR || level != LEVEL_THREAD) return;
  if (s->u.loop.loop == LOOP_PARALLEL || s->u.loop.loop == LOOP_PIPELINED ||
      s->u.loop.loop == LOOP_WHILE)
    verify_fail(v, "a %s loop at thread level", loop_words[s->u.loop.loop]);
}

static bool constant_extents(Verify *v, const Buffer *b) {
  for (int i = 0; i < b->ndim; i++) {
    int64_t n;
    if (ex_const(b->shape[i], &n) && n >= 1) continue;
    verify_fail(v, "extent %d of %s is no positive constant", i, b->name);
    return false;
  }
  return true;
}

void check_tiles(Verify *v) {
  for (int i = 0; i < v->kernel->buffers.len; i++) {
    const Buffer *b = v->kernel->buffers.data[i];
    if (b->scope == SC_GLOBAL || !constant_extents(v, b) || !b->base) continue;
    if (buf_elems(b) * dt_bits(b->dtype) > buf_elems(b->base) * dt_bits(b->base->dtype))
      verify_fail(v, "%s is larger than %s, whose storage it names", b->name, b->base->name);
  }
}

/* flat: one-dimensional buffers, no fragments */

void check_flat(Verify *v) {
  const Program *p = v->program;
  for (int i = 0; i < v->kernel->buffers.len; i++) {
    const Buffer *b = v->kernel->buffers.data[i];
    if (b->scope == SC_MAP) continue; // looked at by `maps`
    if (b->scope == SC_FRAGMENT) verify_fail(v, "%s is a fragment", b->name);
    if (b->base) verify_fail(v, "%s is a view", b->name);
    if (b->ndim != 1) verify_fail(v, "%s has %d dimensions", b->name, b->ndim);
    constant_extents(v, b);
  }
  for (int i = 0; i < p->params.len; i++) {
    const Buffer *b = p->params.data[i].buf;
    if (p->params.data[i].kind == PARAM_TENSOR && b->ndim != 1)
      verify_fail(v, "%s has %d dimensions", b->name, b->ndim);
  }
  for (int i = 0; i < p->workspaces.len; i++) {
    const Buffer *b = p->workspaces.data[i];
    if (b->ndim != 1) verify_fail(v, "%s has %d dimensions", b->name, b->ndim);
  }
}

/* operands: scopes, sizes and types of what a thread-level op takes */

static Region *operand(Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].region;
}

static int64_t attribute(Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].i;
}

static int64_t extent(Verify *v, const Region *r) {
  int64_t n;
  if (ex_const(r->extent[0], &n) && n >= 1) return n;
  verify_fail(v, "the extent of %s is no positive constant", r->buf->name);
  return 0;
}

static int64_t bits(Verify *v, const Region *r) { return extent(v, r) * dt_bits(r->buf->dtype); }

static void want_scope(Verify *v, const Region *r, Scope scope, const char *what) {
  if (r->buf->scope != scope)
    verify_fail(v, "%s %s is %s, not %s", what, r->buf->name, scope_words[r->buf->scope],
                scope_words[scope]);
}

static void same_kind(Verify *v, const Region *src, const Region *dst) {
  if (src->buf->dtype != dst->buf->dtype)
    verify_fail(v, "from %s to %s", dt_name(src->buf->dtype), dt_name(dst->buf->dtype));
  if (extent(v, src) != extent(v, dst)) verify_fail(v, "the extents differ");
}

static void operands_vmov(Verify *v, Stmt *s) {
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  if ((src->buf->scope == SC_LOCAL) + (dst->buf->scope == SC_LOCAL) < 1)
    verify_fail(v, "neither side is local");
  same_kind(v, src, dst);
  int64_t n = bits(v, src);
  if (n < 8 || n > 128 || (n & (n - 1))) verify_fail(v, "an access of %lld bits", (long long)n);
}

static void operands_cp_async(Verify *v, Stmt *s) {
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  want_scope(v, src, SC_GLOBAL, "the source");
  want_scope(v, dst, SC_SHARED, "the destination");
  same_kind(v, src, dst);
  int64_t n = bits(v, src);
  if (n != 32 && n != 64 && n != 128)
    verify_fail(v, "%lld bits: only 4, 8 or 16 bytes can be copied", (long long)n);
}

static void operands_ldmatrix(Verify *v, Stmt *s) {
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  int64_t num = attribute(s, "num");
  want_scope(v, src, SC_SHARED, "the source");
  want_scope(v, dst, SC_LOCAL, "the destination");
  if (num != 1 && num != 2 && num != 4) verify_fail(v, "%lld matrices", (long long)num);
  if (bits(v, src) != 128)
    verify_fail(v, "a row of %lld bits, not 16 bytes", (long long)bits(v, src));
  if (bits(v, dst) != 32 * num)
    verify_fail(v, "%lld bits for %lld registers", (long long)bits(v, dst), (long long)num);
}

static void operands_byte_perm(Verify *v, Stmt *s) {
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  want_scope(v, src, SC_LOCAL, "the source");
  want_scope(v, dst, SC_LOCAL, "the destination");
  if (bits(v, src) != 64 || bits(v, dst) != 32)
    verify_fail(v, "%lld bits picked from %lld, not 32 from 64", (long long)bits(v, dst),
                (long long)bits(v, src));
}

static void operands_unpack(Verify *v, Stmt *s) {
  Region *src = operand(s, "src"), *dst = operand(s, "dst");
  int64_t kind = attribute(s, "kind");
  want_scope(v, src, SC_LOCAL, "the source");
  want_scope(v, dst, SC_LOCAL, "the destination");
  if (src->buf->dtype != DT_U8 || (dst->buf->dtype != DT_F16 && dst->buf->dtype != DT_BF16))
    verify_fail(v, "%s unpacked from %s", dt_name(dst->buf->dtype), dt_name(src->buf->dtype));
  if (bits(v, src) != 32 || bits(v, dst) != 128)
    verify_fail(v, "%lld bits unpacked from %lld, not 128 from 32", (long long)bits(v, dst),
                (long long)bits(v, src));
  if (kind < 0 || kind > 2) verify_fail(v, "elements of kind %lld", (long long)kind);
}

// May differ: signs of integers of one width, and the two fp8 formats.
static bool multiply(DType a, DType b) {
  if (a == b) return true;
  return dt_bits(a) == dt_bits(b) && dt_bits(a) <= 8 && dt_is_float(a) == dt_is_float(b);
}

static void operands_mma(Verify *v, Stmt *s) {
  // PTX: mma.sync shapes with their operand types, "Matrix multiply-accumulate operation using
  // mma".
  static const struct {
    DType ab, d;
    int m, n, k;
  } legal[] = {
      {DT_F16, DT_F32, 16, 8, 16},  {DT_F16, DT_F16, 16, 8, 16},  {DT_F16, DT_F32, 16, 8, 8},
      {DT_F16, DT_F16, 16, 8, 8},   {DT_BF16, DT_F32, 16, 8, 16}, {DT_BF16, DT_F32, 16, 8, 8},
      {DT_TF32, DT_F32, 16, 8, 8},  {DT_TF32, DT_F32, 16, 8, 4},  {DT_F32, DT_F32, 16, 8, 8},
      {DT_F32, DT_F32, 16, 8, 4},   {DT_I8, DT_I32, 16, 8, 32},   {DT_U8, DT_I32, 16, 8, 32},
      {DT_I8, DT_I32, 16, 8, 16},   {DT_U8, DT_I32, 16, 8, 16},   {DT_I4, DT_I32, 16, 8, 64},
      {DT_U4, DT_I32, 16, 8, 64},   {DT_I4, DT_I32, 16, 8, 32},   {DT_U4, DT_I32, 16, 8, 32},
      {DT_E4M3, DT_F32, 16, 8, 32}, {DT_E5M2, DT_F32, 16, 8, 32}, {DT_E4M3, DT_F16, 16, 8, 32},
      {DT_E5M2, DT_F16, 16, 8, 32}, {DT_F64, DT_F64, 8, 8, 4},
  };
  Region *a = operand(s, "a"), *b = operand(s, "b"), *d = operand(s, "d");
  int64_t m = attribute(s, "m"), n = attribute(s, "n"), k = attribute(s, "k");
  want_scope(v, a, SC_LOCAL, "operand a");
  want_scope(v, b, SC_LOCAL, "operand b");
  want_scope(v, d, SC_LOCAL, "operand d");
  bool known = false;
  for (size_t i = 0; i < LEN(legal); i++) {
    known |= legal[i].ab == a->buf->dtype && legal[i].d == d->buf->dtype && legal[i].m == m &&
             legal[i].n == n && legal[i].k == k;
  }
  if (!known || !multiply(a->buf->dtype, b->buf->dtype)) {
    verify_fail(v, "no m%lldn%lldk%lld of %s and %s into %s", (long long)m, (long long)n,
                (long long)k, dt_name(a->buf->dtype), dt_name(b->buf->dtype),
                dt_name(d->buf->dtype));
    return;
  }
  if (extent(v, a) != m * k / 32 || extent(v, b) != k * n / 32 || extent(v, d) != m * n / 32)
    verify_fail(v, "a, b, d of %lld, %lld, %lld elements a thread, not %lld, %lld, %lld",
                (long long)extent(v, a), (long long)extent(v, b), (long long)extent(v, d),
                (long long)(m * k / 32), (long long)(k * n / 32), (long long)(m * n / 32));
}

static void operands_atomic(Verify *v, Stmt *s) {
  Region *dst = operand(s, "dst");
  if (dst->buf->scope == SC_LOCAL) verify_fail(v, "atomic on %s, which is local", dst->buf->name);
  if (s->u.op.op == OP_ATOMIC) {
    Region *prev = operand(s, "prev");
    if (prev) want_scope(v, prev, SC_LOCAL, "the old value");
    if (extent(v, dst) != 1) verify_fail(v, "atomic on %lld elements", (long long)extent(v, dst));
    return;
  }
  want_scope(v, operand(s, "src"), SC_LOCAL, "the source");
  want_scope(v, dst, SC_GLOBAL, "the destination");
  same_kind(v, operand(s, "src"), dst);
}

void check_operands(Verify *v, Stmt *s) {
  if (s->kind != ST_OP) return;
  switch (s->u.op.op) {
  case OP_VMOV: operands_vmov(v, s); break;
  case OP_CP_ASYNC: operands_cp_async(v, s); break;
  case OP_LDMATRIX: operands_ldmatrix(v, s); break;
  case OP_BYTE_PERM: operands_byte_perm(v, s); break;
  case OP_UNPACK: operands_unpack(v, s); break;
  case OP_MMA: operands_mma(v, s); break;
  case OP_ATOMIC:
  case OP_VATOMIC: operands_atomic(v, s); break;
  case OP_ASYNC_WAIT:
    if (attribute(s, "pending") < 0) verify_fail(v, "a wait for less than nothing");
    break;
  default:
    verify_sm90_operands(v, s);
    verify_wgmma_operands(v, s);
  }
}

/* commits: every thread closes the same groups */

void check_commits(Verify *v, Stmt *s) {
  if (s->kind == ST_OP && op_info(s->u.op.op)->sync == SYNC_COMMIT && v->divergent)
    verify_fail(v, "a commit that only some threads reach");
}

/* registers: matrix operands have constant places once loops are unrolled */

void check_fragments(Verify *v, Stmt *s) {
  if (s->kind != ST_OP) return;
  switch (s->u.op.op) {
  case OP_MMA: case OP_LDMATRIX: case OP_STMATRIX: case OP_BYTE_PERM: case OP_WGMMA:
  case OP_WGMMA_FENCE: case OP_WGMMA_WAIT: case OP_WGMMA_DESC: case OP_WGMMA_KEEP: break;
  default: return;
  }
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    const Region *r = s->u.op.arg[i].region;
    if (!arg_is_region(kind) || !r || r->buf->scope != SC_LOCAL) continue;
    int64_t min, size, n;
    if (!verify_steady(v, r->min[0]))
      verify_fail(v, "registers of %s by a run-time index", r->buf->name);
    if (ex_const(r->min[0], &min) && ex_const(r->extent[0], &n) &&
        ex_const(r->buf->shape[0], &size) && (min < 0 || min + n > size))
      verify_fail(v, "%lld registers from %lld of %s, which has %lld", (long long)n, (long long)min,
                  r->buf->name, (long long)size);
  }
}

/* shared: what has an offset lies within the block's bytes */

void check_shared_memory(Verify *v) {
  const Kernel *k = v->kernel;
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    int64_t n;
    if (b->scope != SC_SHARED || b->offset < 0 || !ex_const(b->shape[0], &n)) continue;
    int64_t bytes = (n * dt_bits(b->dtype) + 7) / 8;
    if (n > INT32_MAX || b->offset > k->smem_bytes - bytes)
      verify_fail(v, "%s ends at byte %lld of %lld", b->name, (long long)(b->offset + bytes),
                  (long long)k->smem_bytes);
    if (dt_bits(b->dtype) >= 8 && b->offset % dt_bytes(b->dtype))
      verify_fail(v, "%s starts at byte %lld, not a multiple of its element", b->name,
                  (long long)b->offset);
  }
}
