// The oracle's matrix product: exact products summed in double, rounded to C's type once an op.
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "base/numeric.h"
#include "emu/oracle.h"

enum { NB = 4, MB = 4 };  // columns and rows of one register block
enum { WGMMA_BITS = 13 }; // of fraction in a sum of products of 8-bit floats

// Operands packed for the kernel: a[m][k], rows padded to MB; b[n / NB][k][NB], columns padded.
typedef struct {
  int m, n, k, mp, np;
  double *a, *b;
  bool short_sums; // of 8-bit floats by wgmma
} Packed;

// c[mp][np] += a b
static void multiply(const Packed *p, double *restrict c) {
  for (int m = 0; m < p->mp; m += MB) {
    for (int n = 0; n < p->np; n += NB) {
      double acc[MB][NB] = {{0}};
      const double *b = p->b + (size_t)n * (size_t)p->k, *a = p->a + (size_t)m * (size_t)p->k;
      for (int k = 0; k < p->k; k++, b += NB)
        for (int i = 0; i < MB; i++)
          for (int j = 0; j < NB; j++) acc[i][j] += a[i * p->k + k] * b[j];
      for (int i = 0; i < MB; i++)
        for (int j = 0; j < NB; j++) c[(m + i) * p->np + n + j] += acc[i][j];
    }
  }
}

typedef struct {
  const Box *box;
  int64_t rows, cols, row_stride, col_stride;
} Matrix;

// The last two dimensions of a region, whatever their extents (1 included).
static Matrix matrix_of(Oracle *o, const ORegion *r, const Box *b, bool transpose) {
  Matrix x = {.box = b};
  x.rows = emu_eval_int(&o->m, r->extent[r->n - 2]);
  x.cols = emu_eval_int(&o->m, r->extent[r->n - 1]);
  x.row_stride = r->mem->stride[r->n - 2];
  x.col_stride = r->mem->stride[r->n - 1];
  if (transpose) return (Matrix){b, x.cols, x.rows, x.col_stride, x.row_stride};
  return x;
}

static double operand(DType t, Val v) {
  if (t == DT_F32 || t == DT_TF32) return (double)num_tf32_trunc((float)v.f);
  return dt_is_float(t) ? v.f : (double)v.i;
}

// Values (or deviations) of a matrix into [rows][cols] order by the given placement.
typedef enum { TAKE_VALUE, TAKE_MAGNITUDE, TAKE_ERR, TAKE_BOTH } Take;

static Val value_at(const Mem *m, int64_t at) {
  return m->v ? m->v[at] : emu_read(m->type, m->raw, at);
}

static double take(const Mem *m, int64_t at, Take what) {
  double x = operand(m->type, value_at(m, at)), e = m->err ? (double)m->err[at] : 0;
  switch (what) {
  case TAKE_VALUE: return x;
  case TAKE_MAGNITUDE: return fabs(x);
  case TAKE_ERR: return e;
  case TAKE_BOTH: return fabs(x) + e;
  }
  return 0;
}

static void pack_a(const Packed *p, const Matrix *x, Take what) {
  for (int i = 0; i < p->m; i++)
    for (int k = 0; k < p->k; k++)
      p->a[i * p->k + k] =
          take(x->box->mem, x->box->base + i * x->row_stride + k * x->col_stride, what);
}

static void pack_b(const Packed *p, const Matrix *x, Take what) {
  for (int j = 0; j < p->n; j++)
    for (int k = 0; k < p->k; k++)
      p->b[(j / NB * p->k + k) * NB + j % NB] =
          take(x->box->mem, x->box->base + k * x->row_stride + j * x->col_stride, what);
}

static bool any_deviation(const Packed *p, const Matrix *a, const Matrix *b) {
  pack_a(p, a, TAKE_ERR);
  pack_b(p, b, TAKE_ERR);
  for (int i = 0; i < p->m * p->k; i++)
    if (p->a[i] > 0) return true;
  for (int i = 0; i < p->np * p->k; i++)
    if (p->b[i] > 0) return true;
  return false;
}

// spread[m][n]: sum of |a b|; carried[m][n]: what the operands' deviations can make of it.
static void deviations(const Packed *p, const Matrix *a, const Matrix *b, double *spread,
                       double *carried) {
  if (any_deviation(p, a, b)) {
    pack_b(p, b, TAKE_BOTH);
    multiply(p, carried); // ea (|b| + eb)
    pack_a(p, a, TAKE_MAGNITUDE);
    pack_b(p, b, TAKE_ERR);
    multiply(p, carried); // |a| eb
  }
  pack_a(p, a, TAKE_MAGNITUDE);
  pack_b(p, b, TAKE_MAGNITUDE);
  multiply(p, spread);
}

static Val accumulate(DType t, bool clear, Val old, double sum) {
  if (dt_is_float(t)) return emu_float(emu_round(t, clear ? sum : old.f + sum));
  return emu_int(emu_wrap(t, (clear ? 0 : old.i) + (int64_t)sum));
}

// Each of the k additions of one device instruction chain rounds (or truncates) a partial sum that
// lies within |c| + sum |a b|: one ulp at that magnitude each. wgmma of 8-bit floats adds 32
// products at a time to a sum of which it keeps 13 bits of fraction (DeepSeek-V3 Technical Report,
// arXiv 2412.19437, section 3.5.2).
static double gemm_err(const Packed *p, DType t, double c, double ec, double spread,
                       double carried) {
  if (!dt_is_float(t)) return 0;
  double most = fabs(c) + ec + spread + carried, own = emu_eps(t) * (p->k + 1) * most;
  if (p->short_sums) own += ldexp((p->k + 31) / 32 + 1, -WGMMA_BITS) * most;
  return ec + carried + own;
}

static void store_result(const Packed *p, const Matrix *c, bool clear, const double *sum,
                         const double *spread, const double *carried) {
  Mem *m = c->box->mem;
  for (int i = 0; i < p->m; i++) {
    for (int j = 0; j < p->n; j++) {
      int64_t at = c->box->base + i * c->row_stride + j * c->col_stride;
      int from = i * p->np + j;
      Val old = value_at(m, at), v = accumulate(m->type, clear, old, sum[from]);
      double ec = m->err && !clear ? (double)m->err[at] : 0;
      if (m->v) m->v[at] = v;
      else emu_write(m->type, m->raw, at, v);
      if (!m->err) continue;
      double e = gemm_err(p, m->type, clear ? 0 : old.f, ec, spread[from], carried[from]);
      m->err[at] = (float)(e * (1 + 0x1p-20));
    }
  }
}

static bool fits(const Box *b) {
  bool inside = b->inside;
  for (int d = 0; d < b->nd; d++) inside &= b->lo[d] == 0 && b->hi[d] == b->extent[d];
  return inside;
}

// c (+)= a b, of matrices that agree.
static void product(Oracle *o, const OStmt *s, const Matrix *a, const Matrix *b, const Matrix *c,
                    bool clear) {
  if (a->rows != c->rows || b->cols != c->cols || a->cols != b->rows) {
    EMU_FAIL(&o->m, s, DIAG_EMU_SHAPES, s->span, (long long)a->cols, (long long)b->rows);
    return;
  }
  Arena *tmp = o->m.arena;
  Packed p = {.m = (int)c->rows, .n = (int)c->cols, .k = (int)a->cols};
  DType t = a->box->mem->type;
  p.short_sums = o->wgmma && dt_is_float(t) && dt_bits(t) == 8;
  p.mp = (p.m + MB - 1) / MB * MB;
  p.np = (p.n + NB - 1) / NB * NB;
  p.a = NEWN(tmp, double, (size_t)p.mp *(size_t)p.k + 1);
  p.b = NEWN(tmp, double, (size_t)p.np *(size_t)p.k + 1);
  double *sum = NEWN(tmp, double, (size_t)p.mp *(size_t)p.np), *spread = NULL, *carried = NULL;
  pack_a(&p, a, TAKE_VALUE);
  pack_b(&p, b, TAKE_VALUE);
  multiply(&p, sum);
  if (o->track && dt_is_float(c->box->mem->type)) {
    spread = NEWN(tmp, double, (size_t)p.mp *(size_t)p.np);
    carried = NEWN(tmp, double, (size_t)p.mp *(size_t)p.np);
    deviations(&p, a, b, spread, carried);
  }
  store_result(&p, c, clear, sum, spread, carried);
}

void oracle_gemm(Oracle *o, const OStmt *s) {
  const ORegion *ra = s->arg[0].r, *rb = s->arg[1].r, *rc = s->arg[2].r;
  Box ba = oracle_box(o, s, ra), bb = oracle_box(o, s, rb), bc = oracle_box(o, s, rc);
  if (!bc.total || !fits(&ba) || !fits(&bb) || !fits(&bc)) return; // reported by oracle_box
  Matrix a = matrix_of(o, ra, &ba, s->arg[3].i), b = matrix_of(o, rb, &bb, s->arg[4].i);
  Matrix c = matrix_of(o, rc, &bc, false);
  product(o, s, &a, &b, &c, s->arg[6].e && emu_eval_int(&o->m, s->arg[6].e));
}

static int64_t place_of(const Matrix *x, int64_t i, int64_t j) {
  return x->box->base + i * x->row_stride + j * x->col_stride;
}

// Where in its group a kept element belongs: group g of row i, its first or second.
static int64_t kept_at(const Matrix *e, int64_t i, int64_t g, bool wide, int which) {
  const Mem *m = e->box->mem;
  int per = dt_bits(m->type) / 4;
  int64_t word = value_at(m, place_of(e, i, g / per)).i;
  int nibble = (int)((uint64_t)word >> (g % per * 4)) & 15;
  if (wide) return nibble == 14;
  return which ? nibble >> 2 : nibble & 3;
}

void oracle_gemm_sp(Oracle *o, const OStmt *s) {
  Box ba = oracle_box(o, s, s->arg[0].r), be = oracle_box(o, s, s->arg[1].r);
  Box bb = oracle_box(o, s, s->arg[2].r), bc = oracle_box(o, s, s->arg[3].r);
  if (!bc.total || !fits(&ba) || !fits(&be) || !fits(&bb) || !fits(&bc)) return;
  Matrix a = matrix_of(o, s->arg[0].r, &ba, s->arg[4].i);
  Matrix e = matrix_of(o, s->arg[1].r, &be, s->arg[5].i);
  Matrix b = matrix_of(o, s->arg[2].r, &bb, s->arg[6].i);
  Matrix c = matrix_of(o, s->arg[3].r, &bc, false);
  bool wide = dt_bits(ba.mem->type) == 32;
  int kept = wide ? 1 : 2, group = 2 * kept;
  Mem dense = {.type = ba.mem->type};
  Box whole = {.mem = &dense};
  size_t n = (size_t)(a.rows * a.cols) * 2 + 1;
  dense.v = NEWN(o->m.arena, Val, n);
  if (ba.mem->err) dense.err = NEWN(o->m.arena, float, n);
  for (int64_t i = 0; i < a.rows; i++) {
    for (int64_t k = 0; k < a.cols; k++) {
      int64_t from = place_of(&a, i, k), to = i * a.cols * 2 + k / kept * group;
      to += kept_at(&e, i, k / kept, wide, (int)(k % kept));
      dense.v[to] = value_at(ba.mem, from);
      if (dense.err) dense.err[to] = ba.mem->err[from];
    }
  }
  Matrix full = {&whole, a.rows, a.cols * 2, a.cols * 2, 1};
  product(o, s, &full, &b, &c, s->arg[8].e && emu_eval_int(&o->m, s->arg[8].e));
}
