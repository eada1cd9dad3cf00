// Which copies TMA can carry: boxes of a tensor into a dense tile of shared memory. What it needs
// of a tensor (PTX ISA, "Tensors"; cuTensorMapEncodeTiled): at most five dimensions, the innermost
// contiguous, the base and every other stride multiples of 16 bytes.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "passes/plan_internal.h"

enum { BOX_MOST = 256 }; // elements of a box along one dimension

static const char *tensor_why(PassCtx *c, Facts *f, const Buffer *b) {
  Arena *a = c->arena;
  int bytes = dt_bits(b->dtype) / 8;
  if (b->base) return arena_printf(a, "%s is a view", b->name);
  if (b->ndim > MAP_RANK)
    return arena_printf(a, "%s has %d dimensions, more than %d", b->name, b->ndim, MAP_RANK);
  if (b->align % 16)
    return arena_printf(a, "%s is declared aligned to %d bytes", b->name, b->align);
  if (!ex_is(facts_simplify(f, plan_stride(a, b, b->ndim - 1)), 1))
    return arena_printf(a, "the innermost extent of %s is not contiguous", b->name);
  for (int d = 0; d < b->ndim - 1; d++) {
    Expr *stride = ex_mul(a, plan_stride(a, b, d), ex_index(a, bytes));
    if (facts_divisor(f, stride) % 16)
      return arena_printf(a,
                          "not proved: the stride of dimension %d of %s, %s bytes, is a multiple "
                          "of 16",
                          d, b->name, ir_expr_str(a, stride));
  }
  return NULL;
}

// The dimensions that a region walks; false when there are more than a map has.
static int walked(const Region *r, int *dim) {
  int n = 0;
  for (int d = 0; d < r->n; d++)
    if (!ex_is(r->extent[d], 1)) {
      if (n == MAP_RANK) return -1;
      dim[n++] = d;
    }
  return n;
}

int64_t plan_tma_rows(int64_t rows) {
  int64_t n = rows < BOX_MOST ? rows : BOX_MOST;
  while (n > 1 && (rows % n || (n < rows && n % 8))) n--;
  return n;
}

// Bytes from one slot or leading index of a dense tile to the next, where there are several.
static int64_t dense_step(const Region *tile, bool ring) {
  int64_t bits = dt_bits(tile->buf->dtype), lead = 1;
  for (int d = 0; d < tile->n; d++) {
    int64_t extent = 1;
    ex_const(tile->extent[d], &extent);
    if (d < tile->n - 2) lead *= extent;
    else bits *= extent;
  }
  return lead > 1 || ring ? bits / 8 : 0;
}

static const char *tile_why(PassCtx *c, const Kernel *k, const Region *src, const Region *dst,
                            bool ring) {
  Arena *a = c->arena;
  int sd[MAP_RANK], dd[MAP_RANK], n = walked(src, sd), m = walked(dst, dd);
  int64_t cols, bits = dt_bits(dst->buf->dtype);
  if (n < 1 || n != m || sd[n - 1] != src->n - 1 || dd[m - 1] != dst->n - 1)
    return arena_printf(a, "the rows of %s are not the innermost extent of %s", dst->buf->name,
                        src->buf->name);
  if (dst->n > MAP_RANK)
    return arena_printf(a, "%s has %d dimensions, more than %d", dst->buf->name, dst->n, MAP_RANK);
  if (!region_is_whole(dst)) return arena_printf(a, "it fills only a part of %s", dst->buf->name);
  for (int d = 0; d < dst->n; d++)
    if (!ex_const(dst->extent[d], &cols)) return "its extents are not constants";
  if (cols * bits % 128)
    return arena_printf(a, "a row of %s, %lld bytes, is no multiple of 16", dst->buf->name,
                        (long long)(cols * bits / 8));
  if (views_named(k, dst->buf)) return arena_printf(a, "%s has a view", dst->buf->name);
  Layout *dense = plan_tma_layout(a, dst->buf);
  if (dst->buf->layout && !layout_equal(dst->buf->layout, dense))
    return arena_printf(a, "the layout of %s is annotated", dst->buf->name);
  int64_t rows = dst->n > 1 ? dense->shape[dst->n - 2] : 1;
  if (rows > BOX_MOST && plan_tma_rows(rows) % 8) // boxes would start where TMA may not
    return arena_printf(a, "no multiple of 8 up to %d divides the %lld rows of %s", BOX_MOST,
                        (long long)rows, dst->buf->name);
  if (dense->swizzle) return NULL;
  if (cols > BOX_MOST)
    return arena_printf(a, "a row of %s has more than %d elements", dst->buf->name, BOX_MOST);
  int64_t step = dense_step(dst, ring);
  if (step % 128)
    return arena_printf(a, "%lld bytes, the rows of %s together, are no multiple of 128",
                        (long long)step, dst->buf->name);
  return NULL;
}

Layout *plan_tma_layout(Arena *a, const Buffer *b) {
  int64_t shape[16];
  int n = b->ndim, bits = dt_bits(b->dtype);
  if (n > 16) die("a tile of %d dimensions", n);
  for (int d = 0; d < n; d++)
    if (!ex_const(b->shape[d], &shape[d])) die("a tile of run-time shape");
  if (n < 2 || shape[n - 2] < 2 || shape[n - 1] * bits % 256)
    return layout_linear(a, shape, n, bits);
  return layout_swizzled_nd(a, shape, n, bits);
}

typedef struct {
  Arena *arena;
  const Buffer *buf;
  const Stmt *self;
  bool found;
} Other;

static void other_writer(void *ctx, Stmt *s) {
  Other *o = ctx;
  bool leaf = s->kind == ST_STORE || s->kind == ST_OP;
  if (leaf && s != o->self && walk_touches(o->arena, s, o->buf, true)) o->found = true;
}

static void pipelined_writer(void *ctx, Stmt *s) {
  Other *o = ctx;
  bool loop = s->kind == ST_FOR && s->u.loop.loop == LOOP_PIPELINED;
  if (loop && walk_touches(o->arena, s, o->buf, true)) o->found = true;
}

// Illegal instructions on an H200: a box whose innermost start is no multiple of 16 bytes, and a
// store of one that starts below 0, which a load may.
static const char *start_why(PassCtx *c, Facts *f, const Region *r, bool load) {
  Arena *a = c->arena;
  for (int d = 0; d < r->n && !load; d++)
    if (!facts_prove(f, ex_bin(a, BIN_LE, ex_index(a, 0), r->min[d])))
      return arena_printf(a, "not proved: 0 <= %s", ir_expr_str(a, r->min[d]));
  Expr *first = r->min[r->n - 1];
  if (facts_divisor(f, ex_mul(a, first, ex_index(a, dt_bytes(r->buf->dtype)))) % 16)
    return arena_printf(a, "not proved: %s elements of %d bytes are a multiple of 16 bytes",
                        ir_expr_str(a, first), dt_bytes(r->buf->dtype));
  return NULL;
}

// Why other accesses of the tensor keep TMA from storing to it: they are not ordered with its own.
static const char *others_why(PassCtx *c, Kernel *k, const Stmt *s, const Buffer *b) {
  Arena *a = c->arena;
  if (s->u.op.op == OP_ATOMIC_TILE)
    return walk_touches_beside(a, k->body, s, b)
               ? arena_printf(a, "the kernel touches %s elsewhere", b->name)
               : NULL;
  if (walk_reads(a, k->body, b)) return arena_printf(a, "the kernel reads %s", b->name);
  Other other = {a, b, s, false};
  st_walk(k->body, other_writer, &other);
  return other.found ? arena_printf(a, "%s has another writer", b->name) : NULL;
}

const char *plan_tma_store_why(PassCtx *c, Facts *f, Kernel *k, const Stmt *s) {
  bool reduces = s->u.op.op == OP_ATOMIC_TILE;
  const Region *src = s->u.op.arg[reduces].region, *dst = s->u.op.arg[!reduces].region;
  Arena *a = c->arena;
  if (src->buf->dtype != dst->buf->dtype) return "it converts the element type";
  if (dt_bits(src->buf->dtype) < 8) return "its elements are narrower than a byte";
  if (reduces && !op_reduces((AtomicFn)s->u.op.arg[2].i, dst->buf->dtype))
    return arena_printf(a, "TMA does not combine %s so", dt_name(dst->buf->dtype));
  const char *why = others_why(c, k, s, dst->buf);
  if (!why) why = start_why(c, f, dst, false);
  if (!why) why = tensor_why(c, f, dst->buf);
  if (why) return why;
  Other ring = {a, src->buf, NULL, false}; // a loop may get slots of the tile
  st_walk(k->body, pipelined_writer, &ring);
  return tile_why(c, k, dst, src, ring.found);
}

const char *plan_tma_why(PassCtx *c, Facts *f, const Kernel *k, const Stmt *copy) {
  const Region *src = copy->u.op.arg[0].region, *dst = copy->u.op.arg[1].region;
  if (!c->target->bulk) return arena_printf(c->arena, "%s has no TMA", c->target->name);
  const char *why = plan_bytes_why(src, dst);
  if (why) return why;
  if (dt_bits(src->buf->dtype) < 8) return "its elements are narrower than a byte";
  why = start_why(c, f, src, true);
  if (!why) why = tensor_why(c, f, src->buf);
  return why ? why : tile_why(c, k, src, dst, true);
}
