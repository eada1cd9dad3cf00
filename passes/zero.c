// --zero on targets whose kernels start beside one another: a kernel of its own that sets a tensor
// to zero, ahead of the program's, instead of a memset that all would wait for.
// SPDX-License-Identifier: MIT
#include "passes/passes.h"

#include <string.h>

enum { THREADS = 256, TILE = 16 * THREADS, WIDE = 256 }; // elements of a block; of its rows at most

static Expr *tiles_of(Arena *a, Expr *extent, int64_t tile) {
  return ex_floordiv(a, ex_add(a, extent, ex_index(a, tile - 1)), ex_index(a, tile));
}

// A block's columns: a power of two, no more than the rows have use for.
static int64_t columns(const Buffer *b) {
  int64_t n, most = b->ndim == 1 ? TILE : WIDE, wide = 1;
  if (!ex_const(b->shape[b->ndim - 1], &n)) return most;
  while (wide < n && wide < most) wide *= 2;
  return wide;
}

// One block after another along the first axis of the grid, the last dimension's tiles next to each
// other.
static Stmt *fill(Arena *a, Kernel *k, Buffer *b) {
  Expr **min = NEWN(a, Expr *, b->ndim), **extent = NEWN(a, Expr *, b->ndim);
  Expr *left = ex_var(a, k->block[0]), *blocks = ex_index(a, 1);
  int64_t wide = columns(b);
  for (int d = b->ndim - 1; d >= 0; d--) {
    int64_t tile = d == b->ndim - 1 ? wide : d == b->ndim - 2 ? TILE / wide : 1;
    Expr *n = tiles_of(a, b->shape[d], tile);
    min[d] = ex_mul(a, d ? ex_floormod(a, left, n) : left, ex_index(a, tile));
    extent[d] = ex_index(a, tile);
    left = ex_floordiv(a, left, n);
    blocks = ex_mul(a, blocks, n);
  }
  k->grid[0] = blocks;
  Expr *zero = ex_cast(a, b->dtype, ex_int(a, DT_I32, 0));
  return st_op(a, OP_FILL, k->span, region_new(a, b, min, extent), zero);
}

static Kernel *zero_kernel(Arena *a, const Program *p, const Param *of) {
  static const char *const axis[] = {"bx", "by", "bz"};
  Span at = p->kernels.data[0]->span;
  Kernel *k = NEW(a, Kernel);
  k->name = arena_printf(a, "%s_zero_%s", p->symbol, of->name);
  for (int i = 0; i < 3; i++) {
    k->grid[i] = ex_index(a, 1);
    k->block[i] = var_new(a, axis[i], DT_INDEX, VAR_BLOCK, at);
    k->block[i]->axis = i;
  }
  k->threads = THREADS;
  k->thread = var_new(a, "tx", DT_INDEX, VAR_THREAD, at);
  k->level = LEVEL_TILE;
  k->span = at;
  k->body = st_block(a, at);
  st_add(a, k->body, fill(a, k, of->buf));
  return k;
}

void passes_zero(Arena *a, Program *p, const char *const *names) {
  for (; *names; names++) {
    for (int i = 0; i < p->params.len; i++) {
      const Param *of = &p->params.data[i];
      if (of->kind != PARAM_TENSOR || strcmp(of->name, *names) != 0) continue;
      Kernel *k = zero_kernel(a, p, of);
      vec_push(a, &p->kernels, k);
      for (int j = p->kernels.len - 1; j > 0; j--) p->kernels.data[j] = p->kernels.data[j - 1];
      p->kernels.data[0] = k;
    }
  }
}
