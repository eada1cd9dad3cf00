// Operands of wgmma (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of
// wgmma.mma_async): accumulators and A over warpgroups, shared tiles as matrix descriptors.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

// Bits of K a step; a core matrix is 8 rows of 16 bytes.
enum { STEP_BITS = 256, ROWS = 8, CHUNK = 16, MAX_N = 256, LEADS = 16 };

/* ------------------------------------------------------------------ registers */

// Rows of an operand in registers over warpgroups `first` threads apart: each thread's in a block
// of 64 are `half` bits apart, blocks `block` bits. loaded: bits of its elements where it is.
static void set_rows(Arena *a, Layout *l, int dim, int loaded, int64_t half, int blocks,
                     int64_t block, int groups, int64_t first) {
  Digit plain[] = {{8, OWN_THREAD, 4},
                   {2, OWN_REG, half},
                   {4, OWN_THREAD, 32},
                   {blocks, OWN_REG, block},
                   {groups, OWN_THREAD, first}};
  Digit pairs[] = {{2, OWN_REG, half},       {2, OWN_THREAD, 4},         {2, OWN_THREAD, 16},
                   {2, OWN_THREAD, 32},      {2, OWN_THREAD, 8},         {2, OWN_THREAD, 64},
                   {blocks, OWN_REG, block}, {groups, OWN_THREAD, first}};
  Digit bytes[] = {{2, OWN_REG, half},
                   {8, OWN_THREAD, 4},
                   {4, OWN_THREAD, 32},
                   {blocks, OWN_REG, block},
                   {groups, OWN_THREAD, first}};
  if (loaded == 8) layout_set_dim(a, l, dim, bytes, LEN(bytes));
  else if (loaded) layout_set_dim(a, l, dim, pairs, LEN(pairs));
  else layout_set_dim(a, l, dim, plain, LEN(plain));
}

Layout *layout_wgmma_c(Arena *a, int m, int n, int bits, int wm, int wn, WgmmaLoaded loaded,
                       int loaded_bits) {
  bool turned = loaded == WGMMA_B_LOADED;
  int rows = turned ? n : m, wr = turned ? wn : wm, cols = turned ? m : n, wc = turned ? wm : wn;
  if (rows % (64 * wr) || cols % (8 * wc))
    die("wgmma accumulator of %d x %d over %d x %d warpgroups", m, n, wm, wn);
  int tr = rows / 64 / wr, tc = cols / 8 / wc;
  Layout *l = layout_two_dims(a, m, n, bits, 128 * wm * wn);
  int64_t half = 2 * (int64_t)bits, next_m = 128, next_n = 128 * (int64_t)wm; // warpgroups
  Digit col[] = {{2, OWN_REG, bits},
                 {4, OWN_THREAD, 1},
                 {tc, OWN_REG, 4 * (int64_t)bits},
                 {wc, OWN_THREAD, turned ? next_m : next_n}};
  set_rows(a, l, turned, loaded ? loaded_bits : 0, half, tr, (int64_t)tc * 4 * bits, wr,
           turned ? next_n : next_m);
  layout_set_dim(a, l, !turned, col, LEN(col));
  return l;
}

Layout *layout_wgmma_a(Arena *a, int m, int k, int bits, bool trans, int wm, int wn) {
  if (m % (64 * wm)) die("wgmma operand of %d rows over %d warpgroups", m, wm);
  int atom = STEP_BITS / bits, tm = m / 64 / wm, tk = (k + atom - 1) / atom;
  Layout *l = layout_two_dims(a, trans ? k : m, trans ? m : k, bits, 128 * wm * wn);
  Digit col[] = {
      {32 / bits, OWN_REG, bits}, {4, OWN_THREAD, 1}, {2, OWN_REG, 64}, {tk, OWN_REG, 128}};
  set_rows(a, l, trans, 0, 32, tm, (int64_t)tk * 128, wm, 128);
  layout_set_dim(a, l, !trans, col, 4);
  l->nreplicas = wn > 1;
  l->replica = NEW(a, Replica);
  *l->replica = (Replica){wn, 128 * (int64_t)wm};
  return l;
}

Layout *layout_wgmma_loaded(Arena *a, int m, int k, int groups) {
  if (m % (64 * groups) || k % 8) die("wgmma loads %d x %d for %d warpgroups", k, m, groups);
  Layout *l = layout_two_dims(a, k, m, 32, 128 * groups);
  Digit along[] = {{4, OWN_THREAD, 1}, {2, OWN_REG, 64}, {k / 8, OWN_REG, 128}};
  layout_set_dim(a, l, 0, along, LEN(along));
  set_rows(a, l, 1, 32, 32, m / 64 / groups, (int64_t)(k / 8) * 128, groups, 128);
  return l;
}

typedef int64_t Coord[2];

typedef struct {
  const Layout *tile;
  Coord start;         // of the operand in the tile
  Coord *thread, *reg; // what either adds
} Loads;

static Loads loads_of(Arena *a, const Layout *tile, const Layout *frag, int64_t k, int64_t mn) {
  int regs = (int)layout_regs(frag);
  Loads x = {tile, {k, mn}, NEWN(a, Coord, frag->threads), NEWN(a, Coord, regs)};
  for (int t = 0; t < frag->threads; t++) layout_coord(frag, t, 0, x.thread[t]);
  for (int r = 0; r < regs; r++) layout_coord(frag, 0, r, x.reg[r]);
  return x;
}

// Bit of the shared tile where what `thread` holds in register `reg` lies.
static int64_t lies_at(const Loads *x, int thread, int reg) {
  int64_t at[LEADS] = {0}, t, where, *c = at + x->tile->ndims - 2;
  for (int d = 0; d < 2; d++) c[d] = x->start[d] + x->thread[thread][d] + x->reg[reg][d];
  layout_at(x->tile, at, &t, &where);
  return where;
}

bool layout_wgmma_loads(Arena *a, const Layout *tile, int64_t k, int64_t mn, int K, int M,
                        int groups, WgmmaLoads *loads) {
  int blocks = M / 64 / groups, steps = K / 8;
  if (tile->bits != 32 || tile->ndims < 2 || tile->ndims > LEADS) return false;
  if (k < 0 || mn < 0 || k + K > tile->shape[tile->ndims - 2] ||
      mn + M > tile->shape[tile->ndims - 1])
    return false;
  Loads x = loads_of(a, tile, layout_wgmma_loaded(a, M, K, groups), k, mn);
  int64_t first = lies_at(&x, 0, 0);
  *loads = (WgmmaLoads){
      groups > 1 ? lies_at(&x, 128, 0) - first : 0,
      blocks > 1 ? lies_at(&x, 0, steps * 4) - first : 0,
      steps > 1 ? lies_at(&x, 0, 4) - first : 0,
  };
  for (int t = 0; t < 128 * groups; t++) {
    int64_t low = lies_at(&x, t % 128, 0), high = lies_at(&x, t % 128, 2);
    for (int r = 0; r < blocks * steps * 4; r += 2) {
      int64_t want = (r % 4 ? high : low) + t / 128 * loads->group + r / 4 / steps * loads->block +
                     r / 4 % steps * loads->step;
      int64_t at = lies_at(&x, t, r);
      if (at != want || at % 64 || lies_at(&x, t, r + 1) != at + 32) return false;
    }
  }
  loads->group /= 32, loads->block /= 32, loads->step /= 32;
  return true;
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
