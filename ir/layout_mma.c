// Layouts of the operands of mma.sync.m16n8 (PTX ISA, "Matrix Fragments for mma.m16n8k*") over a
// grid of warps. Lane = 4 * g + q: g is a row of A and C (a column of B), q counts 32-bit cells
// along the other index.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

Layout *layout_two_dims(Arena *a, int64_t d0, int64_t d1, int bits, int threads) {
  Layout *l = NEW(a, Layout);
  *l = (Layout){.ndims = 2, .bits = bits, .threads = threads, .ngroups = 2};
  l->shape = NEWN(a, int64_t, 2);
  l->shape[0] = d0;
  l->shape[1] = d1;
  l->group = NEWN(a, DigitGroup, 2);
  return l;
}

void layout_set_dim(Arena *a, Layout *l, int dim, const Digit *d, int n) {
  DigitGroup *g = &l->group[dim];
  *g = (DigitGroup){.first = dim, .n = 1};
  g->digit = NEWN(a, Digit, n);
  for (int i = 0; i < n; i++)
    if (d[i].extent != 1) g->digit[g->ndigits++] = d[i];
}

static void set_replica(Arena *a, Layout *l, int extent, int stride) {
  l->nreplicas = extent > 1;
  l->replica = NEW(a, Replica);
  *l->replica = (Replica){extent, stride};
}

Layout *layout_mma_c(Arena *a, int m, int n, int bits, int wm, int wn, bool pair_m, bool pair_n) {
  if (m % (16 * wm) || n % (8 * wn) || (pair_n && n % (16 * wn)))
    die("mma accumulator of %d x %d over %d x %d warps", m, n, wm, wn);
  int tm = m / 16 / wm, tn = n / 8 / wn;
  Layout *l = layout_two_dims(a, m, n, bits, 32 * wm * wn);
  Digit g = {8, OWN_THREAD, 4}, upper = {2, OWN_REG, 2 * bits};
  Digit row[] = {pair_m ? upper : g,
                 pair_m ? g : upper,
                 {tm, OWN_REG, (int64_t)tn * 4 * bits},
                 {wm, OWN_THREAD, 32}};
  int pair = pair_n ? 2 : 1; // tiles whose columns alternate
  Digit col[] = {{pair, OWN_REG, 4 * bits},
                 {2, OWN_REG, bits},
                 {4, OWN_THREAD, 1},
                 {tn / pair, OWN_REG, (int64_t)pair * 4 * bits},
                 {wn, OWN_THREAD, 32 * (int64_t)wm}};
  layout_set_dim(a, l, 0, row, 4);
  layout_set_dim(a, l, 1, col, 5);
  return l;
}

Layout *layout_mma_a(Arena *a, int m, int k, int bits, bool trans, int wm, int wn) {
  if (m % (16 * wm)) die("mma operand of %d rows over %d warps", m, wm);
  int atom = 256 / bits, tm = m / 16 / wm, tk = (k + atom - 1) / atom;
  Layout *l = layout_two_dims(a, trans ? k : m, trans ? m : k, bits, 32 * wm * wn);
  Digit row[] = {
      {8, OWN_THREAD, 4}, {2, OWN_REG, 32}, {tm, OWN_REG, (int64_t)tk * 128}, {wm, OWN_THREAD, 32}};
  Digit col[] = {
      {32 / bits, OWN_REG, bits}, {4, OWN_THREAD, 1}, {2, OWN_REG, 64}, {tk, OWN_REG, 128}};
  layout_set_dim(a, l, trans, row, 4);
  layout_set_dim(a, l, !trans, col, 4);
  set_replica(a, l, wn, 32 * wm);
  return l;
}

Layout *layout_mma_b(Arena *a, int n, int k, int bits, bool trans, int wm, int wn) {
  if (n % (8 * wn)) die("mma operand of %d columns over %d warps", n, wn);
  int atom = 256 / bits, tn = n / 8 / wn, tk = (k + atom - 1) / atom;
  Layout *l = layout_two_dims(a, trans ? n : k, trans ? k : n, bits, 32 * wm * wn);
  Digit col[] = {
      {8, OWN_THREAD, 4}, {tn, OWN_REG, (int64_t)tk * 64}, {wn, OWN_THREAD, 32 * (int64_t)wm}};
  Digit row[] = {
      {32 / bits, OWN_REG, bits}, {4, OWN_THREAD, 1}, {2, OWN_REG, 32}, {tk, OWN_REG, 64}};
  layout_set_dim(a, l, !trans, col, 3);
  layout_set_dim(a, l, trans, row, 4);
  set_replica(a, l, wm, 32);
  return l;
}
