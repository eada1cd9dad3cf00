// Layouts of shared tiles: swizzled or padded where warps would otherwise meet in the same banks.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

typedef enum { TILE_PLAIN, TILE_CHUNKS, TILE_SPREAD, TILE_CELLS, TILE_DENSE } TileKind;

typedef struct {
  PassCtx *c;
  Kernel *kernel;
  TileKind *kind; // by position in kernel->buffers
  bool mma_loop;  // the loop being scanned spreads rows over the lanes of a warp
} Tiles;

static void want(Tiles *t, const Buffer *b, TileKind kind) {
  for (int i = 0; i < t->kernel->buffers.len; i++)
    if (t->kernel->buffers.data[i] == b && t->kind[i] < kind) t->kind[i] = kind;
}

// ldmatrix reads 16-byte chunks of rows; where it cannot transpose (cells other than 16 bits or
// pairs of 8, K not along the rows) single elements are read.
static void scan_gemm(Tiles *t, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  const PlanGemm *plan = plan_gemm(t->c->plan, s);
  const Region *a = arg[0].region, *b = arg[1].region;
  if (plan->wgmma) { // descriptors know the dense forms alone
    want(t, a->buf, TILE_DENSE);
    want(t, b->buf, TILE_DENSE);
    return;
  }
  bool a_rows = !arg[op_arg(OP_GEMM, "transa")].i, b_rows = arg[op_arg(OP_GEMM, "transb")].i;
  want(t, a->buf,
       a_rows || plan->pair_m || dt_bits(a->buf->dtype) == 16 ? TILE_CHUNKS : TILE_CELLS);
  want(t, b->buf,
       b_rows || plan->pair_n || dt_bits(b->buf->dtype) == 16 ? TILE_CHUNKS : TILE_CELLS);
}

static void scan_access(void *ctx, const Access *acc) {
  Tiles *t = ctx;
  if (t->mma_loop && acc->region.buf->scope == SC_SHARED) want(t, acc->region.buf, TILE_SPREAD);
}

static void scan_body(void *ctx, Stmt *s) {
  Tiles *t = ctx;
  st_accesses(t->c->arena, s, scan_access, t);
}

static void scan_stmt(void *ctx, Stmt *s) {
  Tiles *t = ctx;
  if (s->kind == ST_OP && s->u.op.op == OP_GEMM) scan_gemm(t, s);
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PARALLEL || !s->u.loop.layout) return;
  const Layout *l = s->u.loop.layout;
  if (l->ndims < 2) return;
  Layout *plain =
      layout_coalesced(t->c->arena, l->shape, l->ndims, 1, l->threads, (int)layout_vector(l));
  t->mma_loop = !layout_equal(l, plain);
  if (t->mma_loop) st_walk(s->u.loop.body, scan_body, t);
}

static int64_t pitch_at(int64_t row_bytes, int64_t mod, int64_t r1, int64_t r2) {
  int64_t p = (row_bytes + 15) / 16 * 16;
  while (p % mod != r1 && p % mod != r2) p += 16;
  return p * 8;
}

static Layout *choose(Arena *a, const Buffer *b, TileKind kind) {
  int64_t shape[16];
  int bits = dt_bits(b->dtype), n = b->ndim;
  if (n > 16) die("shared tile of %d dimensions", n);
  for (int d = 0; d < n; d++)
    if (!ex_const(b->shape[d], &shape[d])) die("shared tile of run-time shape");
  if (kind == TILE_PLAIN || n < 2) return layout_linear(a, shape, n, bits);
  int64_t row = shape[n - 1] * bits / 8;
  if (kind == TILE_DENSE) return plan_tma_layout(a, b);
  // Rows r of a warp's access, each two or four 32-byte pieces apart: pieces of 4 rows meet no
  // bank.
  if (bits == 32 && kind != TILE_CHUNKS)
    return layout_rows(a, shape, n, bits, pitch_at(row, 128, 32, 96));
  if (kind == TILE_CELLS) return layout_rows(a, shape, n, bits, pitch_at(row, 32, 16, 16));
  // Panels narrower than 128 bytes side by side start at the same bank: such rows are padded to an
  // odd number of 16-byte chunks instead.
  if (row % 128 && row != 64 && row != 32)
    return layout_rows(a, shape, n, bits, pitch_at(row, 32, 16, 16));
  return layout_swizzled_nd(a, shape, n, bits);
}

void layout_shared_tiles(PassCtx *c, Kernel *k) {
  Tiles t = {c, k, NEWN(c->arena, TileKind, k->buffers.len + 1), false};
  st_walk(k->body, scan_stmt, &t);
  for (int i = 0; i < k->buffers.len; i++) {
    Buffer *b = k->buffers.data[i];
    if (b->scope != SC_SHARED) continue;
    if (!b->layout || views_named(k, b))
      b->layout = choose(c->arena, b, views_named(k, b) ? TILE_PLAIN : t.kind[i]);
    if (b->layout->ndims < b->ndim) { // a ring made of an annotated tile
      int64_t lead[16];
      int n = b->ndim - b->layout->ndims;
      for (int d = 0; d < n; d++) ex_const(b->shape[d], &lead[d]);
      b->layout = layout_lead(c->arena, b->layout, lead, n);
    }
    b->align = layout_align(b->layout);
  }
}

Buffer *layout_temp(Arena *a, Kernel *k, const Buffer *like, const char *suffix, Scope scope) {
  const char *name = arena_printf(a, "%s_%s", like->name, suffix);
  Buffer *b = buf_new(a, name, like->dtype, scope, like->shape, like->ndim, like->span);
  vec_push(a, &k->buffers, b);
  return b;
}
