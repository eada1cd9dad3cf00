// Reductions, scans and gathers of the oracle: whole regions as dense arrays.
// SPDX-License-Identifier: MIT
#include <math.h>

#include "emu/oracle.h"

enum { MAX_RANK = 8 };

// A region's values in row-major order, deviations beside them.
typedef struct {
  Mem *mem;
  int n;
  int64_t min[MAX_RANK], extent[MAX_RANK], total, base;
  Val *v;
  double *err;
} Dense;

static Dense dense_of(Oracle *o, const OStmt *s, const ORegion *r) {
  Dense d = {.mem = r->mem, .n = r->n, .total = 1};
  if (r->mem->buf->scope == SC_LOCAL) d.base = (o->group * LANES + o->m.pick) * r->mem->elems;
  for (int i = 0; i < r->n; i++) {
    d.min[i] = emu_eval_int(&o->m, r->min[i]);
    d.extent[i] = emu_eval_int(&o->m, r->extent[i]);
    d.total *= d.extent[i] > 0 ? d.extent[i] : 0;
    bool out = d.min[i] < 0 || d.min[i] + d.extent[i] > r->mem->shape[i];
    if (out && d.total && r->mem->buf->scope != SC_GLOBAL)
      EMU_FAIL(&o->m, s, DIAG_EMU_BOUNDS, s->span, r->mem->buf->name,
               (long long)(d.min[i] < 0 ? d.min[i] : d.min[i] + d.extent[i] - 1), i,
               (long long)r->mem->shape[i]);
  }
  d.v = NEWN(o->m.arena, Val, d.total + 1);
  d.err = NEWN(o->m.arena, double, d.total + 1);
  return d;
}

// Offset of element i; false where it lies outside the buffer.
static bool place(const Dense *d, int64_t i, int64_t *at) {
  bool inside = true;
  *at = d->base;
  for (int k = d->n - 1; k >= 0; k--) {
    int64_t x = d->min[k] + i % d->extent[k];
    i /= d->extent[k];
    inside &= x >= 0 && x < d->mem->shape[k];
    *at += x * d->mem->stride[k];
  }
  return inside;
}

static void dense_read(Oracle *o, Dense *d) {
  const Mem *m = d->mem;
  Val safe = dt_is_float(m->type) ? emu_float(0) : emu_int(0);
  if (m->safe) safe = emu_cast(m->type, m->safe->type, emu_eval1(&o->m, m->safe));
  for (int64_t i = 0; i < d->total; i++) {
    int64_t at;
    d->v[i] = safe;
    if (place(d, i, &at)) mem_get(m, at, 1, 1, &d->v[i], o->track ? &d->err[i] : NULL);
  }
}

static void dense_write(Oracle *o, const Dense *d) {
  for (int64_t i = 0; i < d->total; i++) {
    int64_t at;
    if (place(d, i, &at)) mem_put(d->mem, at, 1, 1, &d->v[i], o->track ? &d->err[i] : NULL);
  }
}

/* combining two values */

Val reduce_start(ReduceKind kind, DType t) {
  bool flt = dt_is_float(t), edge = kind == RED_MAX || kind == RED_MIN;
  if (flt) return emu_float(!edge ? 0 : emu_round(t, kind == RED_MAX ? -INFINITY : INFINITY));
  if (kind == RED_BITAND) return emu_int(emu_wrap(t, -1));
  if (!edge) return emu_int(0);
  if (t == DT_BOOL) return emu_int(kind == RED_MIN);
  int bits = dt_bits(t);
  uint64_t top = ~UINT64_C(0) >> (64 - bits + dt_is_signed(t));
  if (kind == RED_MIN) return emu_int((int64_t)top);
  return emu_int(dt_is_signed(t) ? (int64_t)~top : 0);
}

static Val float_step(ReduceKind kind, DType t, bool nan, double a, double x) {
  if (kind == RED_ABSSUM || kind == RED_ABSMAX) x = fabs(x);
  if (kind == RED_SUM || kind == RED_ABSSUM) return emu_float(emu_round(t, a + x));
  if (nan && (isnan(a) || isnan(x))) return emu_float(NAN);
  return emu_float(kind == RED_MIN ? fmin(a, x) : fmax(a, x));
}

Val reduce_step(ReduceKind kind, DType t, bool nan, Val acc, Val v) {
  if (dt_is_float(t)) return float_step(kind, t, nan, acc.f, v.f);
  bool negative = t != DT_U64 && v.i < 0;
  if ((kind == RED_ABSSUM || kind == RED_ABSMAX) && negative)
    v.i = emu_wrap(t, (int64_t)(0 - (uint64_t)v.i));
  switch (kind) {
  case RED_SUM:
  case RED_ABSSUM: return emu_int(emu_wrap(t, (int64_t)((uint64_t)acc.i + (uint64_t)v.i)));
  case RED_MAX:
  case RED_ABSMAX: return emu_atomic(t, ATOMIC_MAX, acc, v);
  case RED_MIN: return emu_atomic(t, ATOMIC_MIN, acc, v);
  case RED_BITAND: return emu_int(acc.i & v.i);
  case RED_BITOR: return emu_int(acc.i | v.i);
  case RED_BITXOR: return emu_int(acc.i ^ v.i);
  }
  die("unknown reduction %d", (int)kind);
}

// A device adds in any order: every partial sum lies within the sum of magnitudes, and each
// addition rounds by half an ulp of it, here and there.
double reduce_err(ReduceKind kind, DType t, double err, Val v, double ev, double *mag) {
  if (!dt_is_float(t)) return 0;
  if (kind != RED_SUM && kind != RED_ABSSUM) return fmax(err, ev);
  *mag += fabs(v.f) + ev;
  return err + ev + emu_eps(t) * *mag;
}

/* ops */

static Val cast_value(const Oracle *o, DType to, DType from, Val v, double *err) {
  v = emu_cast(to, from, v);
  if (o->track) *err = bound_cast(to, from, v, *err);
  return v;
}

// n values from `at` on, `step` apart, into *acc.
static void fold(const Oracle *o, const Dense *src, DType t, const OStmt *s, int64_t at,
                 int64_t step, int64_t n, Val *acc, double *err) {
  ReduceKind kind = (ReduceKind)s->arg[2].i;
  double mag = dt_is_float(t) ? fabs(acc->f) : 0;
  for (int64_t k = 0; k < n; k++) {
    double e = src->err[at + k * step];
    Val v = cast_value(o, t, src->mem->type, src->v[at + k * step], &e);
    *acc = reduce_step(kind, t, s->arg[5].i, *acc, v);
    if (o->track) *err = reduce_err(kind, t, *err, v, e, &mag);
  }
}

// Lines of a dense array along one dimension: `outer` * `inner` of `n` elements.
typedef struct {
  int64_t outer, n, inner;
} Lines;

static Lines lines_of(const Dense *d, int64_t dim) {
  Lines l = {1, d->extent[dim], 1};
  for (int i = 0; i < d->n; i++) {
    if (i < dim) l.outer *= d->extent[i];
    if (i > dim) l.inner *= d->extent[i];
  }
  return l;
}

void oracle_reduce(Oracle *o, const OStmt *s) {
  Dense src = dense_of(o, s, s->arg[0].r), dst = dense_of(o, s, s->arg[1].r);
  Lines l = lines_of(&src, s->arg[3].i);
  DType t = dst.mem->type;
  bool clear = emu_eval_int(&o->m, s->arg[4].e) != 0;
  if (l.outer * l.inner != dst.total) {
    EMU_FAIL(&o->m, s, DIAG_EMU_SHAPES, s->span, (long long)(l.outer * l.inner),
             (long long)dst.total);
    return;
  }
  dense_read(o, &src);
  if (!clear) dense_read(o, &dst);
  for (int64_t i = 0; i < l.outer; i++) {
    for (int64_t j = 0; j < l.inner; j++) {
      int64_t to = i * l.inner + j;
      if (clear) dst.v[to] = reduce_start((ReduceKind)s->arg[2].i, t), dst.err[to] = 0;
      fold(o, &src, t, s, i * l.n * l.inner + j, l.inner, l.n, &dst.v[to], &dst.err[to]);
    }
  }
  dense_write(o, &dst);
}

static void scan_line(const Oracle *o, const Dense *src, Dense *dst, const OStmt *s, int64_t at,
                      int64_t step, int64_t n) {
  ReduceKind kind = (ReduceKind)s->arg[2].i;
  DType t = dst->mem->type;
  bool back = s->arg[4].i;
  Val acc = reduce_start(kind, t);
  double err = 0, mag = 0;
  for (int64_t k = 0; k < n; k++) {
    int64_t i = at + (back ? n - 1 - k : k) * step;
    double e = src->err[i];
    Val v = cast_value(o, t, src->mem->type, src->v[i], &e);
    acc = k ? reduce_step(kind, t, false, acc, v) : v;
    if (o->track) err = reduce_err(kind, t, err, v, e, &mag);
    dst->v[i] = acc;
    dst->err[i] = err;
  }
}

void oracle_scan(Oracle *o, const OStmt *s) {
  Dense src = dense_of(o, s, s->arg[0].r), dst = dense_of(o, s, s->arg[1].r);
  Lines l = lines_of(&src, s->arg[3].i);
  if (src.total != dst.total) {
    EMU_FAIL(&o->m, s, DIAG_EMU_SHAPES, s->span, (long long)src.total, (long long)dst.total);
    return;
  }
  dense_read(o, &src);
  for (int64_t i = 0; i < l.outer; i++)
    for (int64_t j = 0; j < l.inner; j++)
      scan_line(o, &src, &dst, s, i * l.n * l.inner + j, l.inner, l.n);
  dense_write(o, &dst);
}

// There is one copy of a reducer here: what updates left in it is the result.
void oracle_finalize(Oracle *o, const OStmt *s) {
  Dense src = dense_of(o, s, s->arg[0].r), dst = dense_of(o, s, s->arg[1].r);
  dense_read(o, &src);
  for (int64_t i = 0; i < src.total && i < dst.total; i++) {
    dst.err[i] = src.err[i];
    dst.v[i] = cast_value(o, dst.mem->type, src.mem->type, src.v[i], &dst.err[i]);
  }
  dense_write(o, &dst);
}

void oracle_test(Oracle *o, const OStmt *s) {
  Dense src = dense_of(o, s, s->arg[0].r), dst = dense_of(o, s, s->arg[1].r);
  bool all = s->arg[2].i, found = all;
  dense_read(o, &src);
  for (int64_t i = 0; i < src.total; i++) {
    bool set = emu_cast(DT_BOOL, src.mem->type, src.v[i]).i != 0;
    found = all ? found && set : found || set;
  }
  for (int64_t i = 0; i < dst.total; i++)
    dst.v[i] = emu_cast(dst.mem->type, DT_BOOL, emu_int(found));
  dense_write(o, &dst);
}

void oracle_im2col(Oracle *o, const OStmt *s) {
  Dense img = dense_of(o, s, s->arg[0].r), col = dense_of(o, s, s->arg[1].r);
  int64_t row0 = emu_eval_int(&o->m, s->arg[2].e), col0 = emu_eval_int(&o->m, s->arg[3].e);
  int64_t ks = s->arg[4].i, stride = s->arg[5].i, dil = s->arg[6].i, pad = s->arg[7].i;
  int64_t n = img.extent[0], h = img.extent[1], w = img.extent[2], c = img.extent[3];
  int64_t oh = (h + 2 * pad - (ks - 1) * dil - 1) / stride + 1;
  int64_t ow = (w + 2 * pad - (ks - 1) * dil - 1) / stride + 1, width = col.extent[col.n - 1];
  dense_read(o, &img);
  for (int64_t e = 0; e < col.total && oh > 0 && ow > 0; e++) {
    int64_t m = row0 + e / width, k = col0 + e % width;
    int64_t b = m / (oh * ow), y = m % (oh * ow) / ow * stride + k / (ks * c) * dil - pad;
    int64_t x = m % ow * stride + k / c % ks * dil - pad;
    bool inside = b < n && y >= 0 && y < h && x >= 0 && x < w;
    int64_t from = ((b * h + y) * w + x) * c + k % c;
    col.v[e] = dt_is_float(col.mem->type) ? emu_float(0) : emu_int(0);
    col.err[e] = inside ? img.err[from] : 0;
    if (inside) col.v[e] = cast_value(o, col.mem->type, img.mem->type, img.v[from], &col.err[e]);
  }
  dense_write(o, &col);
}

void oracle_dp4a(Oracle *o, const OStmt *s) {
  Dense a = dense_of(o, s, s->arg[0].r), b = dense_of(o, s, s->arg[1].r);
  Dense c = dense_of(o, s, s->arg[2].r);
  dense_read(o, &a);
  dense_read(o, &b);
  dense_read(o, &c);
  for (int64_t i = 0; i < 4 && i < a.total && i < b.total; i++)
    c.v[0].i = emu_wrap(c.mem->type, c.v[0].i + a.v[i].i * b.v[i].i);
  dense_write(o, &c);
}
