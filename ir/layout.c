// Constructors of layouts: shared tiles (swizzled, padded, linear) and coalesced fragments.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"

enum { MAX_DIGITS = 24 };

static Layout *layout_new(Arena *a, const int64_t *shape, int ndims, int bits, int threads) {
  Layout *l = NEW(a, Layout);
  l->ndims = ndims;
  l->shape = NEWN(a, int64_t, ndims ? ndims : 1);
  for (int i = 0; i < ndims; i++) {
    if (shape[i] < 1) die("layout of an empty tile");
    l->shape[i] = shape[i];
  }
  l->bits = bits;
  l->threads = threads;
  l->group = NEWN(a, DigitGroup, ndims ? ndims : 1);
  return l;
}

static int64_t elems(const int64_t *shape, int n) {
  int64_t p = 1;
  for (int i = 0; i < n; i++) p *= shape[i];
  return p;
}

static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/* A group of one dimension each, appended in order. */

static void set_group(Arena *a, DigitGroup *g, int first, int n, const Digit *d, int nd) {
  *g = (DigitGroup){.first = first, .n = n};
  g->digit = NEWN(a, Digit, nd ? nd : 1);
  for (int i = 0; i < nd; i++)
    if (d[i].extent != 1) g->digit[g->ndigits++] = d[i];
}

static void add_group(Arena *a, Layout *l, int first, int n, const Digit *d, int nd) {
  set_group(a, &l->group[l->ngroups++], first, n, d, nd);
}

/* ------------------------------------------------------------------ shared tiles */

Layout *layout_rows(Arena *a, const int64_t *shape, int ndims, int elem_bits, int64_t pitch_bits) {
  Layout *l = layout_new(a, shape, ndims, elem_bits, 0);
  int64_t *stride = NEWN(a, int64_t, ndims ? ndims : 1);
  for (int i = ndims - 1; i >= 0; i--) {
    if (i == ndims - 1) stride[i] = elem_bits;
    else if (i == ndims - 2) stride[i] = pitch_bits;
    else stride[i] = stride[i + 1] * shape[i + 1];
  }
  for (int i = 0; i < ndims; i++)
    add_group(a, l, i, 1, &(Digit){shape[i], OWN_OFFSET, stride[i]}, 1);
  return l;
}

Layout *layout_linear(Arena *a, const int64_t *shape, int ndims, int elem_bits) {
  return layout_rows(a, shape, ndims, elem_bits, ndims ? shape[ndims - 1] * elem_bits : 0);
}

// The smallest odd number of 16-byte chunks that holds a row: eight rows then start in eight
// different groups of four banks.
static int64_t odd_pitch(int64_t row_bits) {
  int64_t chunks = ceil_div(row_bits, 128);
  return (chunks | 1) * 128;
}

Layout *layout_swizzled_nd(Arena *a, const int64_t *shape, int ndims, int elem_bits) {
  if (ndims < 2) return layout_linear(a, shape, ndims, elem_bits);
  int64_t rows = shape[ndims - 2], cols = shape[ndims - 1], row = cols * elem_bits;
  int b = row % 1024 == 0 ? 3 : row % 512 == 0 ? 2 : row % 256 == 0 ? 1 : 0;
  if (!b) return layout_rows(a, shape, ndims, elem_bits, odd_pitch(row));
  Layout *l = layout_new(a, shape, ndims, elem_bits, 0);
  int64_t width = (int64_t)128 << b; // bits of a pattern row
  // A panel and a leading index start where the pattern repeats, so that the XOR depends on the row
  // alone.
  int64_t panel = ceil_div(rows, 8) * 8 * width, tile = panel * (row / width);
  int64_t stride[16];
  if (ndims > 16) die("layout of %d dimensions", ndims);
  for (int i = ndims - 3; i >= 0; i--) {
    stride[i] = tile;
    tile *= shape[i];
  }
  for (int i = 0; i < ndims - 2; i++)
    add_group(a, l, i, 1, &(Digit){shape[i], OWN_OFFSET, stride[i]}, 1);
  add_group(a, l, ndims - 2, 1, &(Digit){rows, OWN_OFFSET, width}, 1);
  Digit col[2] = {{width / elem_bits, OWN_OFFSET, elem_bits}, {row / width, OWN_OFFSET, panel}};
  add_group(a, l, ndims - 1, 1, col, 2);
  l->swizzle = b;
  return l;
}

Layout *layout_swizzled(Arena *a, int rows, int cols, int elem_bits) {
  return layout_swizzled_nd(a, (int64_t[]){rows, cols}, 2, elem_bits);
}

/* ------------------------------------------------------------------ fragments and loops */

// Cuts the digits of the row-major flat index (least significant first) at the borders between
// dimensions; what cannot be cut stays one group with everything more significant.
static void split_groups(Arena *a, Layout *l, Digit *d, int nd) {
  DigitGroup *out = NEWN(a, DigitGroup, l->ndims);
  int n = 0, at = 0;
  for (int dim = l->ndims - 1; dim >= 0; dim--) {
    Digit mine[MAX_DIGITS];
    int k = 0;
    int64_t left = l->shape[dim];
    bool cut = dim > 0;
    while (cut && left > 1) {
      if (at >= nd) die("layout: digits do not cover the tile");
      if (left % d[at].extent == 0) {
        left /= d[at].extent;
        mine[k++] = d[at++];
      } else if (d[at].extent % left == 0) {
        mine[k++] = (Digit){left, d[at].owner, d[at].stride};
        d[at].extent /= left;
        d[at].stride *= left;
        left = 1;
      } else {
        cut = false;
      }
    }
    if (!cut)
      while (at < nd) mine[k++] = d[at++];
    int first = cut ? dim : 0;
    DigitGroup *g = &out[n++];
    *g = (DigitGroup){.first = first, .n = dim - first + 1};
    g->digit = NEWN(a, Digit, k ? k : 1);
    for (int i = 0; i < k; i++)
      if (mine[i].extent != 1) g->digit[g->ndigits++] = mine[i];
    if (!cut) break;
  }
  for (int i = n - 1; i >= 0; i--) l->group[l->ngroups++] = out[i];
}

Layout *layout_coalesced(Arena *a, const int64_t *shape, int ndims, int elem_bits, int threads,
                         int vec) {
  Layout *l = layout_new(a, shape, ndims, elem_bits, threads);
  int64_t runs = ceil_div(elems(shape, ndims), vec);
  int64_t spread = runs < threads ? runs : threads;
  Digit d[3] = {{vec, OWN_REG, elem_bits},
                {spread, OWN_THREAD, 1},
                {ceil_div(runs, spread), OWN_REG, (int64_t)vec * elem_bits}};
  if (ndims) split_groups(a, l, d, 3);
  return l;
}

static int64_t low_bit(int64_t x) { return x & -x; }

static int64_t power_below(int64_t x) { // the largest power of two that is not larger
  while (x & (x - 1)) x &= x - 1;
  return x;
}

static int64_t power_above(int64_t x) { return x & (x - 1) ? power_below(x) * 2 : x; }

// The largest divisor of n that is at most `most`.
static int64_t divisor_below(int64_t n, int64_t most) {
  int64_t d = n < most ? n : most;
  while (n % d) d--;
  return d;
}

Layout *layout_separate(Arena *a, const int64_t *shape, int ndims, int elem_bits, int threads,
                        int vec) {
  Layout *l = layout_new(a, shape, ndims, elem_bits, threads);
  bool odd = low_bit(threads) < 16; // too few neighbours: rather leave some threads idle
  int64_t row = odd ? power_below(threads) : low_bit(threads), used = odd ? row : threads;
  int64_t runs = ceil_div(shape[ndims - 1], vec), outer = elems(shape, ndims - 1);
  int64_t across = power_above(runs) < row ? power_above(runs) : row;
  while (across > 32 && used / across < outer) across /= 2;
  int64_t left = used / across, stride = across, reg = (int64_t)vec * elem_bits;
  l->ngroups = ndims;
  for (int i = ndims - 1; i >= 0; i--) {
    bool last = i == ndims - 1;
    int64_t t = last ? across : divisor_below(left, shape[i]);
    int64_t each = ceil_div(last ? runs : shape[i], t);
    const Digit d[3] = {{last ? vec : 1, OWN_REG, elem_bits},
                        {t, OWN_THREAD, last ? 1 : stride},
                        {each, OWN_REG, reg}};
    set_group(a, &l->group[i], i, 1, d, 3);
    if (!last) stride *= t, left /= t;
    reg *= each;
  }
  return l;
}

Layout *layout_replicated(Arena *a, const int64_t *shape, int ndims, int elem_bits, int threads) {
  Layout *l = layout_new(a, shape, ndims, elem_bits, threads);
  int64_t stride = elem_bits;
  for (int i = ndims - 1; i >= 0; i--) {
    Digit *d = NEW(a, Digit);
    *d = (Digit){shape[i], OWN_REG, stride};
    l->group[i] = (DigitGroup){i, 1, shape[i] > 1, d};
    stride *= shape[i];
  }
  l->ngroups = ndims;
  l->nreplicas = threads > 1;
  l->replica = NEW(a, Replica);
  *l->replica = (Replica){threads, 1};
  return l;
}

static Layout *layout_copy(Arena *a, const Layout *l) {
  Layout *r = arena_copy(a, l, sizeof *l);
  r->shape = arena_copy(a, l->shape, sizeof(int64_t) * (size_t)(l->ndims ? l->ndims : 1));
  r->group = NEWN(a, DigitGroup, l->ngroups ? l->ngroups : 1);
  for (int i = 0; i < l->ngroups; i++) {
    r->group[i] = l->group[i];
    size_t n = (size_t)(l->group[i].ndigits ? l->group[i].ndigits : 1);
    r->group[i].digit = NEWN(a, Digit, n);
    for (int j = 0; j < l->group[i].ndigits; j++) r->group[i].digit[j] = l->group[i].digit[j];
  }
  return r;
}

Layout *layout_lead(Arena *a, const Layout *l, const int64_t *shape, int n) {
  int64_t all[16];
  if (n + l->ndims > 16) die("layout of %d dimensions", n + l->ndims);
  for (int i = 0; i < n; i++) all[i] = shape[i];
  for (int i = 0; i < l->ndims; i++) all[n + i] = l->shape[i];
  Layout *r = layout_new(a, all, n + l->ndims, l->bits, l->threads);
  const Layout *old = layout_copy(a, l);
  int64_t align = (int64_t)layout_align(l) * 8;
  int64_t stride = l->threads ? 0 : ceil_div(layout_bytes(l) * 8, align) * align;
  int64_t strides[16];
  for (int i = n - 1; i >= 0; i--) {
    if (l->threads && shape[i] != 1) die("layout: leading dimension of a fragment");
    strides[i] = stride;
    stride *= shape[i];
  }
  for (int i = 0; i < n; i++) add_group(a, r, i, 1, &(Digit){shape[i], OWN_OFFSET, strides[i]}, 1);
  for (int i = 0; i < old->ngroups; i++) {
    DigitGroup *g = &r->group[r->ngroups++];
    *g = old->group[i];
    g->first += n;
  }
  r->nreplicas = l->nreplicas;
  r->replica = l->replica;
  r->swizzle = l->swizzle;
  return r;
}

Layout *layout_reshape(Arena *a, const Layout *l, const int64_t *shape, int ndims) {
  Digit d[MAX_DIGITS];
  int n = 0;
  for (int i = l->ngroups - 1; i >= 0; i--) {
    const DigitGroup *g = &l->group[i];
    int64_t weight = 1;
    for (int j = 0; j < g->ndigits; j++) {
      if (n == MAX_DIGITS) return NULL;
      weight *= g->digit[j].extent;
      d[n++] = g->digit[j];
    }
    if (i && weight != elems(l->shape + g->first, g->n)) return NULL;
  }
  Layout *r = layout_new(a, shape, ndims, l->bits, l->threads);
  if (ndims) split_groups(a, r, d, n);
  r->nreplicas = l->nreplicas;
  r->replica = l->replica;
  return r;
}

Layout *layout_with_bits(Arena *a, const Layout *l, int bits) {
  if (!l->threads) die("layout: width of a shared layout");
  Layout *r = layout_copy(a, l);
  for (int i = 0; i < r->ngroups; i++)
    for (int j = 0; j < r->group[i].ndigits; j++) {
      Digit *d = &r->group[i].digit[j];
      if (d->owner == OWN_REG) d->stride = d->stride / l->bits * bits;
    }
  r->bits = bits;
  return r;
}
