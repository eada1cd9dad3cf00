// Equality, cover proof, projection, permutation, vector width and bank conflicts of layouts.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"

#include <stdlib.h>
#include <string.h>

static int64_t group_elems(const Layout *l, const DigitGroup *g) {
  int64_t p = 1;
  for (int i = g->first; i < g->first + g->n; i++) p *= l->shape[i];
  return p;
}

// Counts coord up, last dimension fastest; false after the last.
static bool next_coord(const Layout *l, int64_t *coord) {
  for (int i = l->ndims - 1; i >= 0; i--) {
    if (++coord[i] < l->shape[i]) return true;
    coord[i] = 0;
  }
  return false;
}

/* ------------------------------------------------------------------ equality */

static bool same_digits(const Layout *x, const Layout *y) {
  if (x->ngroups != y->ngroups || x->swizzle != y->swizzle) return false;
  for (int i = 0; i < x->ngroups; i++) {
    const DigitGroup *g = &x->group[i], *h = &y->group[i];
    if (g->first != h->first || g->n != h->n || g->ndigits != h->ndigits) return false;
    for (int j = 0; j < g->ndigits; j++) {
      const Digit *d = &g->digit[j], *e = &h->digit[j];
      if (d->extent != e->extent || d->owner != e->owner || d->stride != e->stride) return false;
    }
  }
  return true;
}

// Which threads hold copies of thread 0's element, as a set over `threads` flags.
static uint8_t *copy_set(const Layout *l) {
  uint8_t *set = calloc((size_t)l->threads + 1, 1);
  if (!set) fatal("out of memory:");
  set[0] = 1;
  for (int r = 0; r < l->nreplicas; r++) {
    const Replica *p = &l->replica[r];
    for (int t = l->threads - 1; t >= 0; t--)
      for (int64_t i = 1; set[t] && i < p->extent; i++)
        if (t + i * p->stride < l->threads) set[t + i * p->stride] = 1;
  }
  return set;
}

bool layout_equal(const Layout *x, const Layout *y) {
  if (x == y) return true;
  if (x->ndims != y->ndims || x->bits != y->bits || x->threads != y->threads) return false;
  for (int i = 0; i < x->ndims; i++)
    if (x->shape[i] != y->shape[i]) return false;
  uint8_t *s = copy_set(x), *t = copy_set(y);
  bool same = !memcmp(s, t, (size_t)x->threads + 1);
  free(s);
  free(t);
  if (!same || same_digits(x, y)) return same;
  int64_t coord[16] = {0};
  do {
    int64_t tx, ty, wx, wy;
    layout_at(x, coord, &tx, &wx);
    layout_at(y, coord, &ty, &wy);
    if (tx != ty || wx != wy) return false;
  } while (next_coord(x, coord));
  return true;
}

/* ------------------------------------------------------------------ cover */

// Digits whose strides, sorted, each exceed everything below cannot collide. *top: the largest
// place.
static bool chain(Digit *d, int n, int64_t unit, int64_t *top) {
  int64_t used = unit; // places below this are taken
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && d[j].stride < d[j - 1].stride; j--) {
      Digit t = d[j];
      d[j] = d[j - 1];
      d[j - 1] = t;
    }
  for (int i = 0; i < n; i++) {
    if (d[i].stride < used) return false;
    used += (d[i].extent - 1) * d[i].stride;
  }
  *top = used - unit;
  return true;
}

static bool covers_by_count(const Layout *l) {
  int64_t threads = l->threads ? l->threads : 1;
  int64_t places = l->threads ? layout_regs(l) : layout_bytes(l) * 8 / l->bits;
  uint8_t *seen = calloc((size_t)(threads * places), 1), *copies = copy_set(l);
  if (!seen) fatal("out of memory:");
  int64_t coord[16] = {0};
  bool ok = true;
  do {
    int64_t t, w;
    layout_at(l, coord, &t, &w);
    w /= l->bits;
    for (int c = 0; c < threads && ok; c++) {
      if (!copies[c]) continue;
      ok = t + c < threads && w < places && !seen[(t + c) * places + w];
      if (ok) seen[(t + c) * places + w] = 1;
    }
  } while (ok && next_coord(l, coord));
  free(seen);
  free(copies);
  return ok;
}

bool layout_covers(const Layout *l) {
  Digit t[80], w[80];
  int nt = 0, nw = 0;
  for (int i = 0; i < l->ngroups; i++) {
    const DigitGroup *g = &l->group[i];
    int64_t weight = 1;
    for (int j = 0; j < g->ndigits; j++) {
      weight *= g->digit[j].extent;
      if (nt >= 64 || nw >= 64) return covers_by_count(l);
      if (g->digit[j].owner == OWN_THREAD) t[nt++] = g->digit[j];
      else w[nw++] = g->digit[j];
      if (l->threads ? g->digit[j].owner == OWN_OFFSET : g->digit[j].owner != OWN_OFFSET)
        return false;
    }
    if (weight < group_elems(l, g)) return false;
  }
  for (int i = 0; i < l->nreplicas && i < 8; i++)
    t[nt++] = (Digit){l->replica[i].extent, OWN_THREAD, l->replica[i].stride};
  int64_t top_t, top_w;
  if (chain(t, nt, 1, &top_t) && chain(w, nw, l->bits, &top_w))
    if (!l->threads || top_t < l->threads) return true;
  return covers_by_count(l);
}

/* ------------------------------------------------------------------ projection */

// Makes `dim` a group of its own when its digits end at its borders; false when they do not.
static bool isolate(Arena *a, Layout *l, int dim) {
  int gi = 0;
  while (l->group[gi].first + l->group[gi].n <= dim) gi++;
  DigitGroup *g = &l->group[gi];
  if (g->n == 1) return true;
  DigitGroup part[3]; // above dim, dim, below dim
  int low = g->first + g->n - 1 - dim, high = dim - g->first;
  int64_t need[3] = {1, l->shape[dim], 1};
  for (int i = 0; i < high; i++) need[0] *= l->shape[g->first + i];
  if (need[0] == 1) high = 0; // nothing above it: the top digit is this dimension's
  for (int i = 0; i < low; i++) need[2] *= l->shape[dim + 1 + i];
  int at = 0;
  Digit *d = NEWN(a, Digit, g->ndigits + 1);
  for (int i = 0; i < g->ndigits; i++) d[i] = g->digit[i];
  for (int p = 2; p >= 0; p--) {
    part[p] = (DigitGroup){.digit = NEWN(a, Digit, g->ndigits + 1)};
    int64_t left = need[p];
    bool top = p == 0 || (p == 1 && !high);
    while (at < g->ndigits && (left > 1 || top)) {
      Digit *to = &part[p].digit[part[p].ndigits++];
      if (top) {
        *to = d[at++];
      } else if (left % d[at].extent == 0) {
        left /= d[at].extent;
        *to = d[at++];
      } else if (d[at].extent % left == 0) {
        *to = (Digit){left, d[at].owner, d[at].stride};
        d[at].extent /= left;
        d[at].stride *= left;
        left = 1;
      } else {
        return false;
      }
    }
  }
  part[0].first = g->first, part[0].n = dim - g->first;
  part[1].first = dim, part[1].n = 1;
  part[2].first = dim + 1, part[2].n = low;
  DigitGroup *all = NEWN(a, DigitGroup, l->ngroups + 2);
  int n = 0;
  for (int i = 0; i < l->ngroups; i++) {
    if (i != gi) all[n++] = l->group[i];
    for (int p = 0; i == gi && p < 3; p++)
      if (part[p].n) all[n++] = part[p];
  }
  l->group = all;
  l->ngroups = n;
  return true;
}

// Registers renumbered without holes, in the same order.
static void compact_regs(Layout *l) {
  Digit *all[80];
  int n = 0;
  for (int i = 0; i < l->ngroups; i++)
    for (int j = 0; j < l->group[i].ndigits; j++)
      if (l->group[i].digit[j].owner == OWN_REG) all[n++] = &l->group[i].digit[j];
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && all[j]->stride < all[j - 1]->stride; j--) {
      Digit *t = all[j];
      all[j] = all[j - 1];
      all[j - 1] = t;
    }
  int64_t stride = l->bits;
  for (int i = 0; i < n; i++) {
    all[i]->stride = stride;
    stride *= all[i]->extent;
  }
}

static Layout *clone(Arena *a, const Layout *l) {
  Layout *r = arena_copy(a, l, sizeof *l);
  r->shape = NEWN(a, int64_t, l->ndims + 1);
  memcpy(r->shape, l->shape, sizeof(int64_t) * (size_t)l->ndims);
  r->group = NEWN(a, DigitGroup, l->ngroups + 1);
  for (int i = 0; i < l->ngroups; i++) {
    r->group[i] = l->group[i];
    r->group[i].digit = NEWN(a, Digit, l->group[i].ndigits + 1);
    for (int j = 0; j < l->group[i].ndigits; j++) r->group[i].digit[j] = l->group[i].digit[j];
  }
  return r;
}

static void drop_dim(Layout *r, int dim) {
  for (int i = 0; i < r->ngroups; i++)
    if (r->group[i].first > dim) r->group[i].first--;
  r->ndims--;
  for (int i = dim; i < r->ndims; i++) r->shape[i] = r->shape[i + 1];
}

// A dimension of extent 1 fused with others, whose index it does not change.
static bool drop_unit(Layout *r, int dim) {
  if (r->shape[dim] != 1) return false;
  for (int i = 0; i < r->ngroups; i++) {
    DigitGroup *g = &r->group[i];
    if (g->n < 2 || dim < g->first || dim >= g->first + g->n) continue;
    g->n--;
    drop_dim(r, dim);
    return true;
  }
  return false;
}

Layout *layout_drop(Arena *a, const Layout *l, int dim) {
  Layout *r = clone(a, l);
  if (drop_unit(r, dim)) return r;
  if (!isolate(a, r, dim)) return NULL;
  int gi = 0;
  while (r->group[gi].first != dim || r->group[gi].n != 1) gi++;
  DigitGroup gone = r->group[gi];
  r->replica = NEWN(a, Replica, l->nreplicas + gone.ndigits + 1);
  for (int i = 0; i < l->nreplicas; i++) r->replica[i] = l->replica[i];
  for (int j = 0; j < gone.ndigits; j++)
    if (gone.digit[j].owner == OWN_THREAD)
      r->replica[r->nreplicas++] = (Replica){gone.digit[j].extent, gone.digit[j].stride};
  r->ngroups--;
  for (int i = gi; i < r->ngroups; i++) r->group[i] = r->group[i + 1];
  drop_dim(r, dim);
  if (l->threads) compact_regs(r);
  return r;
}

Layout *layout_permute(Arena *a, const Layout *l, const int *order) {
  Layout *r = clone(a, l);
  bool same = true;
  for (int i = 0; i < l->ndims; i++) same = same && order[i] == i;
  if (same) return r;
  for (int i = 0; i < l->ndims; i++)
    if (!isolate(a, r, i)) return NULL;
  Layout *p = clone(a, r);
  for (int i = 0; i < l->ndims; i++) {
    p->shape[i] = l->shape[order[i]];
    p->group[i] = r->group[order[i]];
    p->group[i].first = i;
  }
  return p;
}

/* ------------------------------------------------------------------ parts */

// Cuts a group to its first `n` indices: what goes are registers, never threads.
static bool cut(Arena *a, DigitGroup *g, int64_t n) {
  Digit *digit = NEWN(a, Digit, g->ndigits ? g->ndigits : 1);
  int kept = 0;
  for (int i = 0; i < g->ndigits; i++) {
    Digit d = g->digit[i];
    bool whole = n % d.extent == 0;
    if (!whole && (d.owner != OWN_REG || d.extent % n)) return false;
    if (!whole) d.extent = n;
    n /= d.extent;
    if (d.extent > 1) digit[kept++] = d;
  }
  g->digit = digit;
  g->ndigits = kept;
  return n == 1;
}

Layout *layout_part(Arena *a, const Layout *l, const int64_t *shape) {
  Layout *r = clone(a, l);
  for (int d = 0; d < l->ndims; d++) {
    if (shape[d] == l->shape[d]) continue;
    if (shape[d] < 1 || l->shape[d] % shape[d] || !isolate(a, r, d)) return NULL;
    for (int i = 0; i < r->ngroups; i++)
      if (r->group[i].first == d && !cut(a, &r->group[i], shape[d])) return NULL;
    r->shape[d] = shape[d];
  }
  compact_regs(r);
  return r;
}

/* ------------------------------------------------------------------ vectors and banks */

Layout *layout_runs(Arena *a, const Layout *l) {
  Digit reg[64];
  DigitGroup *last = l->ngroups ? &l->group[l->ngroups - 1] : NULL;
  const Digit *run = last && last->n == 1 && last->ndigits ? &last->digit[0] : NULL;
  if (!run || run->owner != OWN_REG || run->extent < 2) return arena_copy(a, l, sizeof *l);
  for (int j = 0; j < last->ndigits; j++)
    if (last->digit[j].owner == OWN_REG && last->digit[j].stride == l->bits)
      return arena_copy(a, l, sizeof *l);
  int n = layout_reg_digits(l, reg, LEN(reg));
  Layout *r = arena_copy(a, l, sizeof *l);
  r->group = NEWN(a, DigitGroup, l->ngroups);
  for (int i = 0; i < l->ngroups; i++) {
    DigitGroup *g = &r->group[i];
    *g = l->group[i];
    g->digit = NEWN(a, Digit, g->ndigits + 1);
    for (int j = 0; j < g->ndigits; j++) {
      const Digit *d = &l->group[i].digit[j];
      g->digit[j] = *d;
      if (d->owner != OWN_REG) continue;
      g->digit[j].stride = d == run ? l->bits : l->bits * run->extent;
      for (int k = 0; d != run && k < n && reg[k].stride < d->stride; k++)
        if (reg[k].stride != run->stride) g->digit[j].stride *= reg[k].extent;
    }
  }
  return r;
}

int64_t layout_vector(const Layout *l) {
  if (!l->ndims) return 1;
  const DigitGroup *g = &l->group[l->ngroups - 1];
  int64_t last = l->shape[l->ndims - 1], v = 1, next = l->bits;
  int used = 0;
  while (used < g->ndigits && g->digit[used].owner != OWN_THREAD && g->digit[used].stride == next) {
    v *= g->digit[used].extent;
    next *= g->digit[used++].extent;
  }
  if (l->swizzle && v > 128 / l->bits) v = 128 / l->bits;
  for (int64_t try = v; try > 1; try--) {
    bool ok = last % try == 0 && v % try == 0;
    for (int i = 0; ok && i < l->ngroups; i++)
      for (int j = 0; ok && j < l->group[i].ndigits; j++)
        if (&l->group[i] != g || j >= used)
          ok = l->group[i].digit[j].owner == OWN_THREAD ||
               l->group[i].digit[j].stride % (try * l->bits) == 0;
    if (ok) return try;
  }
  return 1;
}

int layout_conflicts(const int64_t *off, int lanes, int bytes) {
  int per = bytes <= 4 ? 32 : 128 / bytes, extra = 0;
  for (int from = 0; from < lanes; from += per) {
    int64_t word[128];
    int n = 0, worst = 0;
    for (int i = from; i < lanes && i < from + per; i++)
      for (int64_t w = off[i] / 4; off[i] >= 0 && w <= (off[i] + bytes - 1) / 4; w++) {
        bool seen = false;
        for (int j = 0; j < n && !seen; j++) seen = word[j] == w;
        if (!seen && n < 128) word[n++] = w;
      }
    for (int b = 0; b < 32; b++) {
      int count = 0;
      for (int j = 0; j < n; j++) count += word[j] % 32 == b;
      if (count > worst) worst = count;
    }
    if (worst > 1) extra += worst - 1;
  }
  return extra;
}
