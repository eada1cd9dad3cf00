// Element-wise comparison of a result with what was expected.
// SPDX-License-Identifier: MIT
#include "runtime.h"

#include <math.h>
#include <string.h>

// 64-bit integers differ exactly: as doubles, neighbours past 2^53 would be equal.
static bool same_bits(RtType t, const void *got, const void *want, int64_t i) {
  size_t size = (size_t)rt_type_bits(t) / 8;
  return size &&
         !memcmp((const char *)got + (size_t)i * size, (const char *)want + (size_t)i * size, size);
}

static bool is_wide_integer(RtType t) { return t == RT_I64 || t == RT_U64; }

typedef struct {
  double got, want, off, allowed;
} Pair;

// Loads a pair and decides. NaN and infinities have no distance: they are equal or not.
static bool pair_is_wrong(RtType t, int64_t i, const void *got, const void *want,
                          const RtTolerance *tol, Pair *p) {
  p->got = rt_get(t, got, i);
  p->want = rt_get(t, want, i);
  p->allowed = tol->bound ? (double)tol->bound[i] : tol->atol + tol->rtol * fabs(p->want);
  p->off = fabs(p->got - p->want);
  if (isnan(p->got) || isnan(p->want)) return !(isnan(p->got) && isnan(p->want));
  if (isinf(p->got) || isinf(p->want)) return p->got != p->want;
  if (is_wide_integer(t) && p->off == 0 && !(p->allowed >= 1)) return !same_bits(t, got, want, i);
  return !(p->off <= p->allowed);
}

// How many elements from i on are the same, bit by bit, eight bytes at a time.
static int64_t same_ahead(RtType t, int64_t i, int64_t count, const void *got, const void *want) {
  int64_t size = rt_type_bits(t) / 8, at = i;
  for (; size && at + 8 / size <= count; at += 8 / size) {
    uint64_t a, b;
    memcpy(&a, (const char *)got + at * size, sizeof a);
    memcpy(&b, (const char *)want + at * size, sizeof b);
    if (a != b) break;
  }
  return at - i;
}

RtDiff rt_compare(RtType type, int64_t count, const void *got, const void *want,
                  const RtTolerance *tolerance) {
  static const RtTolerance exact = {0};
  const RtTolerance *tol = tolerance ? tolerance : &exact;
  RtDiff d = {.first = -1};
  for (int64_t i = 0; i < count; i++) {
    if (tol->mask && !tol->mask[i]) continue;
    int64_t same = tol->mask ? 0 : same_ahead(type, i, count, got, want);
    d.checked += same;
    i += same;
    if (i == count) break;
    d.checked++;
    if (same_bits(type, got, want, i)) continue;
    Pair p;
    bool wrong = pair_is_wrong(type, i, got, want, tol, &p);
    if (isfinite(p.off)) {
      if (p.off > d.max_abs) d.max_abs = p.off;
      if (p.want != 0 && p.off / fabs(p.want) > d.max_rel) d.max_rel = p.off / fabs(p.want);
    }
    if (!wrong) continue;
    if (d.wrong++) continue;
    d.first = i;
    d.got = p.got;
    d.want = p.want;
    d.allowed = p.allowed;
  }
  return d;
}

static void index_text(Buf *out, int64_t linear, const RtArray *shape) {
  int64_t index[RT_MAX_RANK];
  for (int d = shape->rank - 1; d >= 0; d--) {
    int64_t extent = shape->shape[d] ? shape->shape[d] : 1;
    index[d] = linear % extent;
    linear /= extent;
  }
  buf_putc(out, '[');
  for (int d = 0; d < shape->rank; d++)
    buf_printf(out, "%s%lld", d ? ", " : "", (long long)index[d]);
  buf_putc(out, ']');
}

void rt_diff_text(Buf *out, const RtDiff *d, const RtArray *shape) {
  if (d->wrong == 0) {
    buf_printf(out, "all %lld elements match", (long long)d->checked);
  } else {
    buf_printf(out, "%lld of %lld elements differ; first at ", (long long)d->wrong,
               (long long)d->checked);
    index_text(out, d->first, shape);
    buf_printf(out, ": got %.9g, want %.9g, allowed %.3g", d->got, d->want, d->allowed);
  }
  if (d->max_abs > 0)
    buf_printf(out, "; largest error %.3g absolute, %.3g relative", d->max_abs, d->max_rel);
}
