// Operands of wgmma (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of
// wgmma.mma_async): accumulators and A over warpgroups, shared tiles as matrix descriptors.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

// Bits of K a step; a core matrix is 8 rows of 16 bytes.
enum { STEP_BITS = 256, ROWS = 8, CHUNK = 16, MAX_N = 256 };

/* ------------------------------------------------------------------ registers */

Layout *layout_wgmma_c(Arena *a, int m, int n, int bits, int wm, int wn) {
  if (m % (64 * wm) || n % (8 * wn))
    die("wgmma accumulator of %d x %d over %d x %d warpgroups", m, n, wm, wn);
  int tm = m / 64 / wm, tn = n / 8 / wn;
  Layout *l = layout_two_dims(a, m, n, bits, 128 * wm * wn);
  Digit row[] = {{8, OWN_THREAD, 4},
                 {2, OWN_REG, 2 * (int64_t)bits},
                 {4, OWN_THREAD, 32},
                 {tm, OWN_REG, (int64_t)tn * 4 * bits},
                 {wm, OWN_THREAD, 128}};
  Digit col[] = {{2, OWN_REG, bits},
                 {4, OWN_THREAD, 1},
                 {tn, OWN_REG, 4 * (int64_t)bits},
                 {wn, OWN_THREAD, 128 * (int64_t)wm}};
  layout_set_dim(a, l, 0, row, 5);
  layout_set_dim(a, l, 1, col, 4);
  return l;
}

Layout *layout_wgmma_a(Arena *a, int m, int k, int bits, bool trans, int wm, int wn) {
  if (m % (64 * wm)) die("wgmma operand of %d rows over %d warpgroups", m, wm);
  int atom = STEP_BITS / bits, tm = m / 64 / wm, tk = (k + atom - 1) / atom;
  Layout *l = layout_two_dims(a, trans ? k : m, trans ? m : k, bits, 128 * wm * wn);
  Digit row[] = {{8, OWN_THREAD, 4},
                 {2, OWN_REG, 32},
                 {4, OWN_THREAD, 32},
                 {tm, OWN_REG, (int64_t)tk * 128},
                 {wm, OWN_THREAD, 128}};
  Digit col[] = {
      {32 / bits, OWN_REG, bits}, {4, OWN_THREAD, 1}, {2, OWN_REG, 64}, {tk, OWN_REG, 128}};
  layout_set_dim(a, l, trans, row, 5);
  layout_set_dim(a, l, !trans, col, 4);
  l->nreplicas = wn > 1;
  l->replica = NEW(a, Replica);
  *l->replica = (Replica){wn, 128 * (int64_t)wm};
  return l;
}

/* ------------------------------------------------------------------ shared tiles */

// Rows along M or N: a row holds `width` elements of K a panel.
static bool k_major(const LayoutMatrix *m, const Layout *l, WgmmaTile *t) {
  int64_t row = m->width * l->bits / 8, rows = l->shape[l->ndims - 2];
  t->mn = (WgmmaAxis){rows, rows, 0, row, ROWS};
  t->k = (WgmmaAxis){l->shape[l->ndims - 1], m->width, m->panel * l->bits / 8, l->bits / 8,
                     STEP_BITS / l->bits};
  t->sbo = ROWS * row;
  if (l->swizzle) {
    t->lbo = CHUNK; // has no meaning
    return true;
  }
  t->lbo = t->k.panel;
  return row == CHUNK && m->panel > 0;
}

// Rows along K: a row holds `width` elements of M or N a panel.
static bool along_mn(const LayoutMatrix *m, const Layout *l, WgmmaTile *t) {
  int64_t row = m->width * l->bits / 8, rows = l->shape[l->ndims - 2],
          panel = m->panel * l->bits / 8;
  if (l->bits != 16) return false;
  t->mn = (WgmmaAxis){l->shape[l->ndims - 1], m->width, panel, l->bits / 8, ROWS};
  t->k = (WgmmaAxis){rows, rows, 0, row, STEP_BITS / l->bits};
  t->lbo = l->swizzle ? panel : ROWS * row;
  t->sbo = l->swizzle ? ROWS * row : panel;
  if (l->swizzle && !panel) t->lbo = CHUNK; // has no meaning
  return l->swizzle || row == CHUNK;
}

bool layout_wgmma_tile(const Layout *l, bool mn_major, WgmmaTile *t) {
  LayoutMatrix m;
  bool known = l->bits == 8 || l->bits == 16 || l->bits == 32;
  if (!known || !layout_matrix(l, &m) || m.pitch != m.width) return false;
  *t = (WgmmaTile){.mn_major = mn_major, .swizzle = l->swizzle, .bits = l->bits};
  t->align = layout_align(l);
  return mn_major ? along_mn(&m, l, t) : k_major(&m, l, t);
}

static int64_t axis_at(const WgmmaAxis *x, int64_t i) {
  return i / x->width * x->panel + i % x->width * x->pitch;
}

int64_t layout_wgmma_start(const WgmmaTile *t, int64_t mn, int64_t k, int extent) {
  if (mn < 0 || k < 0 || mn % t->mn.step || k % t->k.step) return -1;
  if (mn + extent > t->mn.extent || k + t->k.step > t->k.extent) return -1;
  // Several panels are LBO apart only from the first column of one.
  if (t->mn_major && mn % t->mn.width + extent > t->mn.width && mn % t->mn.width) return -1;
  return axis_at(&t->mn, mn) + axis_at(&t->k, k);
}

uint32_t layout_wgmma_hi(const WgmmaTile *t) {
  static const uint32_t mode[] = {0, 3, 2, 1}; // by the bits of the XOR
  return mode[t->swizzle] << 30 | (uint32_t)(t->sbo >> 4 & 0x3fff);
}

uint32_t layout_wgmma_lo(const WgmmaTile *t, int64_t byte) {
  return (uint32_t)(t->lbo >> 4 & 0x3fff) << 16 | (uint32_t)(byte >> 4 & 0x3fff);
}

bool layout_wgmma_n(int n, bool integer) {
  if (n < 8 || n > MAX_N || n % 8) return false;
  return !integer || n % 16 == 0 || n == 8 || n == 24;
}
