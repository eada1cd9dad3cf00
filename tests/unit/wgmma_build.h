// Builds small wgmma programs: C += A * B of one block, a warpgroup for each 64 rows, operands
// stored by plain stores. For the emulator's tests, the micro programs and nvcc.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_WGMMA_BUILD_H
#define TLC_TESTS_WGMMA_BUILD_H

#include "ir/layout.h"

// What to leave out or to do wrongly.
typedef enum {
  FAULT_NONE,
  FAULT_NO_FENCE,
  FAULT_NO_COMMIT,
  FAULT_NO_WAIT,
  FAULT_PENDING,        // waits for all but the last group
  FAULT_NO_SYNC,        // between the stores and the wgmma
  FAULT_NO_PROXY,       // fence.proxy.async
  FAULT_OVERWRITE,      // A in shared memory before the wait
  FAULT_OVERWRITE_SOON, // after the wait, but before a barrier
  FAULT_OVERWRITE_LAST, // what the last of several groups reads, after a wait for the others
  FAULT_EXTRA,          // a warp commits once more
  FAULT_TOUCH,          // an accumulator between fence and wgmma
  FAULT_TOUCH_A,        // an A register while it is read
  FAULT_SHAPE,          // another shape into the same accumulators at once
  FAULT_PINNED,         // a fence that names accumulators in flight
  FAULT_SOME_WARPS,     // one warp does without the last step
  FAULT_SOME_LANES,
  FAULT_WARP_SCALE, // scale_d differs between warps
  FAULT_LANE_SCALE, // between lanes
  FAULT_WARP_DESC,  // the descriptor differs between warps
  FAULT_LANE_DESC,
  FAULT_REGION,    // the region is too small for what the descriptor reads
  FAULT_BEYOND,    // the descriptor leads out of the tile
  FAULT_UNALIGNED, // the tile starts inside the swizzle pattern
  FAULT_RESERVED,  // a descriptor bit that must be 0
} WgmmaFault;

typedef struct {
  DType a, b, d;
  int m, n, k;
  bool rs, trans_a, trans_b, neg_a, neg_b;
  bool keep; // add to C
  WgmmaFault fault;
} WgmmaForm;

// The program under construction.
typedef struct {
  Arena *a;
  Kernel *k;
  const WgmmaForm *f;
  Expr *tx;
  Buffer *A, *B, *C; // parameters, row-major as stored: M x K (K x M), N x K (K x N), M x N
  Buffer *As, *Bs, *ra, *acc; // shared, registers
  Buffer *da, *db;            // low words of descriptors
  Layout *la, *lb;
  WgmmaTile ta, tb;
} WgmmaGemm;

static inline Expr *wg_i(WgmmaGemm *g, int64_t v) { return ex_index(g->a, v); }
static inline Expr *wg_mul(WgmmaGemm *g, Expr *x, int64_t v) { return ex_mul(g->a, x, wg_i(g, v)); }
static inline Expr *wg_quo(WgmmaGemm *g, Expr *x, int64_t v) {
  return ex_floordiv(g->a, x, wg_i(g, v));
}
static inline Expr *wg_rem(WgmmaGemm *g, Expr *x, int64_t v) {
  return ex_floormod(g->a, x, wg_i(g, v));
}
static inline Expr *wg_load(WgmmaGemm *g, Buffer *b, Expr *i) {
  return ex_load(g->a, b, (Expr *[]){i}, 1);
}
static inline Stmt *wg_store(WgmmaGemm *g, Buffer *b, Expr *i, Expr *v) {
  return st_store(g->a, b, (Expr *[]){i}, 1, v, NO_SPAN);
}
static inline void wg_put(WgmmaGemm *g, Stmt *s) { st_add(g->a, g->k->body, s); }
static inline Region *wg_span(WgmmaGemm *g, Buffer *b, int64_t at, int64_t n) {
  return region_flat(g->a, b, wg_i(g, at), (int)n);
}

static inline Buffer *wg_buffer(WgmmaGemm *g, const char *name, DType t, Scope scope, int64_t n) {
  Buffer *b = buf_new(g->a, name, t, scope, (Expr *[]){wg_i(g, n)}, 1, NO_SPAN);
  vec_push(g->a, &g->k->buffers, b);
  return b;
}

static inline Buffer *wg_tile(WgmmaGemm *g, const char *name, DType t, const Layout *l) {
  int64_t bytes = layout_bytes(l), at = (g->k->smem_bytes + 1023) / 1024 * 1024;
  if (g->f->fault == FAULT_UNALIGNED && !at) at = 256;
  Buffer *b = wg_buffer(g, name, t, SC_SHARED, bytes * 8 / l->bits);
  b->offset = at;
  g->k->smem_bytes = at + bytes;
  return b;
}

// All threads copy a row-major tensor to a tile, element by element.
static inline void wg_copy(WgmmaGemm *g, Buffer *from, Buffer *to, Layout *l) {
  Arena *a = g->a;
  int64_t rows = l->shape[0], cols = l->shape[1], threads = g->k->threads;
  Var *i = var_new(a, "i", DT_INDEX, VAR_LOOP, NO_SPAN);
  Expr *e = ex_add(a, wg_mul(g, ex_var(a, i), threads), g->tx);
  Expr *coord[] = {wg_quo(g, e, cols), wg_rem(g, e, cols)};
  Stmt *one = st_block(a, NO_SPAN);
  st_add(a, one, wg_store(g, to, layout_where(a, NULL, l, coord), wg_load(g, from, e)));
  Stmt *body = st_block(a, NO_SPAN);
  st_add(a, body, st_if(a, ex_lt(a, e, wg_i(g, rows * cols)), one, NULL, NO_SPAN));
  Expr *n = wg_i(g, (rows * cols + threads - 1) / threads);
  wg_put(g, st_for(a, LOOP_SERIAL, i, wg_i(g, 0), n, body, NO_SPAN));
}

// Registers of A from its tensor, by PTX's table.
static inline void wg_load_a(WgmmaGemm *g) {
  Arena *a = g->a;
  int bits = dt_bits(g->f->a), e = 32 / bits, atom = 256 / bits;
  Expr *row = ex_add(a, wg_mul(g, wg_quo(g, g->tx, 32), 16), wg_quo(g, wg_rem(g, g->tx, 32), 4));
  Expr *q = wg_rem(g, g->tx, 4);
  for (int step = 0; step < g->f->k / atom; step++) {
    for (int i = 0; i < 4 * e; i++) {
      int r = i / e;
      Expr *m = ex_add(a, row, wg_i(g, 8 * (r & 1)));
      Expr *k = ex_add(a, wg_mul(g, q, e), wg_i(g, step * atom + i % e + 4 * e * (r >> 1)));
      Expr *at = ex_add(a, wg_mul(g, m, g->f->k), k);
      wg_put(g, wg_store(g, g->ra, wg_i(g, step * 4 * e + i), wg_load(g, g->A, at)));
    }
  }
}

// Accumulators from or to C.
static inline void wg_move_c(WgmmaGemm *g, bool load) {
  Arena *a = g->a;
  Expr *row = ex_add(a, wg_mul(g, wg_quo(g, g->tx, 32), 16), wg_quo(g, wg_rem(g, g->tx, 32), 4));
  Expr *q = wg_rem(g, g->tx, 4);
  for (int i = 0; i < g->f->n / 2; i++) {
    Expr *m = ex_add(a, row, wg_i(g, i % 4 / 2 * 8));
    Expr *n = ex_add(a, wg_mul(g, q, 2), wg_i(g, i / 4 * 8 + i % 2));
    Expr *at = ex_add(a, wg_mul(g, m, g->f->n), n), *r = wg_i(g, i);
    wg_put(g, load ? wg_store(g, g->acc, r, wg_load(g, g->C, at))
                   : wg_store(g, g->C, at, wg_load(g, g->acc, r)));
  }
}

static inline Expr *wg_word(WgmmaGemm *g, Buffer *d, int64_t start) {
  Expr *x = wg_load(g, d, wg_i(g, 0));
  return ex_add(g->a, x, ex_int(g->a, DT_U32, start >> 4));
}

static inline Stmt *wg_step(WgmmaGemm *g, int step, int n) {
  const WgmmaForm *f = g->f;
  Arena *a = g->a;
  int e = 128 / dt_bits(f->a), k = step * 256 / dt_bits(f->a);
  int64_t sa = f->rs ? 0 : layout_wgmma_start(&g->ta, 0, k, 64);
  int64_t sb = layout_wgmma_start(&g->tb, 0, k, n);
  if (sa < 0 || sb < 0) die("no descriptor for step %d", step);
  if (f->fault == FAULT_BEYOND) sb += 1024;
  Expr *scale = ex_bool(a, f->keep || step), *lo = wg_word(g, g->db, sb);
  Expr *warp = wg_quo(g, g->tx, 32), *lane = wg_rem(g, g->tx, 32);
  uint32_t hi = layout_wgmma_hi(&g->tb) | (f->fault == FAULT_RESERVED ? 1u << 20 : 0);
  if (f->fault == FAULT_WARP_SCALE) scale = ex_lt(a, warp, wg_i(g, 2));
  if (f->fault == FAULT_LANE_SCALE) scale = ex_lt(a, lane, wg_i(g, 2));
  Expr *bit = f->fault == FAULT_WARP_DESC ? wg_quo(g, warp, 2) : wg_quo(g, lane, 16);
  if (f->fault == FAULT_WARP_DESC || f->fault == FAULT_LANE_DESC)
    lo = ex_add(a, lo, ex_cast(a, DT_U32, wg_mul(g, bit, 2)));
  int64_t all = buf_elems(g->Bs) / (f->fault == FAULT_REGION ? 2 : 1);
  return st_op(
      a, OP_WGMMA, NO_SPAN,
      f->rs ? wg_span(g, g->ra, step * e, e) : wg_span(g, g->As, 0, buf_elems(g->As)),
      wg_span(g, g->Bs, 0, all), wg_span(g, g->acc, 0, n / 2), f->rs ? NULL : wg_word(g, g->da, sa),
      f->rs ? NULL : ex_int(a, DT_U32, layout_wgmma_hi(&g->ta)), lo, ex_int(a, DT_U32, hi), scale,
      (int64_t)n, (int64_t)f->neg_a, (int64_t)f->neg_b, (int64_t)f->trans_a, (int64_t)f->trans_b);
}

static inline void wg_describe(WgmmaGemm *g, Buffer *tile, Region *at, const WgmmaTile *t,
                               Buffer *dst) {
  wg_put(g, st_op(g->a, OP_WGMMA_DESC, NO_SPAN, at, wg_span(g, dst, 0, 1), t->lbo));
}

// The rows of A's tile that this thread's warpgroup has: 64 each.
static inline Region *wg_rows(WgmmaGemm *g) {
  int64_t group = layout_wgmma_start(&g->ta, 64, 0, 64);
  if (g->f->m == 64) return wg_span(g, g->As, 0, 1);
  Expr *at = wg_mul(g, wg_quo(g, g->tx, 128), group * 8 / dt_bits(g->f->a));
  return region_flat(g->a, g->As, at, 1);
}

static inline void wg_declare(WgmmaGemm *g) {
  const WgmmaForm *f = g->f;
  int ba = dt_bits(f->a), bb = dt_bits(f->b);
  g->tx = ex_var(g->a, g->k->thread);
  g->la = layout_swizzled(g->a, f->trans_a ? f->k : f->m, f->trans_a ? f->m : f->k, ba);
  g->lb = layout_swizzled(g->a, f->trans_b ? f->k : f->n, f->trans_b ? f->n : f->k, bb);
  if ((!f->rs && !layout_wgmma_tile(g->la, f->trans_a, &g->ta)) ||
      !layout_wgmma_tile(g->lb, f->trans_b, &g->tb))
    die("no descriptors of %d x %d x %d", f->m, f->n, f->k);
  g->Bs = wg_tile(g, "B_s", f->b, g->lb);
  g->db = wg_buffer(g, "b_desc", DT_U32, SC_LOCAL, 1);
  if (f->rs) g->ra = wg_buffer(g, "A_r", f->a, SC_LOCAL, f->k / 2);
  if (!f->rs) g->As = wg_tile(g, "A_s", f->a, g->la);
  if (!f->rs) g->da = wg_buffer(g, "a_desc", DT_U32, SC_LOCAL, 1);
  g->acc = wg_buffer(g, "acc", f->d, SC_LOCAL, f->n / 2);
}

// Plain stores, before wgmma reads them.
static inline void wg_proxy_fence(WgmmaGemm *g) {
  if (g->f->fault == FAULT_NO_PROXY) return;
  wg_put(g, st_op(g->a, OP_FENCE_PROXY, NO_SPAN, (int64_t)1));
}

static inline void wg_prologue(WgmmaGemm *g) {
  const WgmmaForm *f = g->f;
  wg_copy(g, g->B, g->Bs, g->lb);
  if (f->rs) wg_load_a(g);
  else wg_copy(g, g->A, g->As, g->la);
  if (f->keep) wg_move_c(g, true);
  wg_proxy_fence(g);
  if (f->fault != FAULT_NO_SYNC) wg_put(g, st_op(g->a, OP_SYNC, NO_SPAN));
  if (!f->rs) wg_describe(g, g->As, wg_rows(g), &g->ta, g->da);
  wg_describe(g, g->Bs, wg_span(g, g->Bs, 0, 1), &g->tb, g->db);
}

static inline void wg_when(WgmmaGemm *g, Expr *cond, Stmt *s) {
  Stmt *body = st_block(g->a, NO_SPAN);
  st_add(g->a, body, s);
  wg_put(g, st_if(g->a, cond, body, NULL, NO_SPAN));
}

static inline void wg_last_step(WgmmaGemm *g, Stmt *s) {
  Expr *lane = wg_rem(g, g->tx, 32), *warp = wg_quo(g, g->tx, 32);
  if (g->f->fault == FAULT_SOME_WARPS) wg_when(g, ex_lt(g->a, warp, wg_i(g, 3)), s);
  else if (g->f->fault == FAULT_SOME_LANES) wg_when(g, ex_lt(g->a, lane, wg_i(g, 9)), s);
  else wg_put(g, s);
}

// Registers of every thread; shared memory by thread 0.
static inline void wg_zero(WgmmaGemm *g, Buffer *b, int at) {
  Stmt *s = wg_store(g, b, wg_i(g, at), ex_cast(g->a, b->dtype, wg_i(g, 0)));
  if (b->scope == SC_LOCAL) wg_put(g, s);
  else wg_when(g, ex_lt(g->a, g->tx, wg_i(g, 1)), s);
}

static inline void wg_mainloop(WgmmaGemm *g) {
  const WgmmaForm *f = g->f;
  Arena *a = g->a;
  int steps = f->k * dt_bits(f->a) / 256;
  Region *acc = wg_span(g, g->acc, 0, f->n / 2),
         *ra = f->rs ? wg_span(g, g->ra, 0, f->k / 2) : NULL;
  if (f->fault != FAULT_NO_FENCE)
    wg_put(g, st_op(a, OP_WGMMA_FENCE, NO_SPAN, f->keep ? acc : NULL, ra));
  if (f->fault == FAULT_TOUCH) wg_zero(g, g->acc, 0);
  for (int i = 0; i < steps; i++) {
    Stmt *s = wg_step(g, i, f->n);
    if (i == steps - 1) wg_last_step(g, s);
    else wg_put(g, s);
    if (f->fault == FAULT_OVERWRITE_LAST && i < steps - 1)
      wg_put(g, st_op(a, OP_WGMMA_COMMIT, NO_SPAN));
  }
  if (f->fault == FAULT_SHAPE) wg_put(g, wg_step(g, 0, f->n / 2));
  if (f->fault != FAULT_NO_COMMIT) wg_put(g, st_op(a, OP_WGMMA_COMMIT, NO_SPAN));
  if (f->fault == FAULT_TOUCH_A) wg_zero(g, g->ra, 0);
  if (f->fault == FAULT_OVERWRITE) wg_zero(g, g->Bs, 0);
  if (f->fault == FAULT_OVERWRITE_LAST) { // row 0, which only this warp reads; not permuted
    wg_put(g, st_op(a, OP_WGMMA_WAIT, NO_SPAN, NULL, (int64_t)1, NULL));
    wg_zero(g, g->As, f->k - 1);
  }
  if (f->fault == FAULT_PINNED) wg_put(g, st_op(a, OP_WGMMA_FENCE, NO_SPAN, acc, NULL));
  if (f->fault != FAULT_NO_WAIT)
    wg_put(g, st_op(a, OP_WGMMA_WAIT, NO_SPAN, f->fault == FAULT_PENDING ? NULL : acc,
                    (int64_t)(f->fault == FAULT_PENDING), NULL));
  if (f->fault == FAULT_EXTRA)
    wg_when(g, ex_lt(a, g->tx, wg_i(g, 32)), st_op(a, OP_WGMMA_COMMIT, NO_SPAN));
  if (f->fault == FAULT_OVERWRITE_SOON) wg_zero(g, g->Bs, 0);
}

// Appends the program's body; A, B, C are flat tensors; the kernel has 2 * m threads.
static inline void wgmma_gemm(Arena *a, Kernel *k, const WgmmaForm *f, Buffer *A, Buffer *B,
                              Buffer *C) {
  WgmmaGemm g = {.a = a, .k = k, .f = f, .A = A, .B = B, .C = C};
  wg_declare(&g);
  wg_prologue(&g);
  wg_mainloop(&g);
  wg_move_c(&g, false);
}

#endif
