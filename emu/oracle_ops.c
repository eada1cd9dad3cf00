// Collective tile ops of the oracle: copy, fill, tile atomics; gemm is in oracle_gemm.c.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/oracle.h"

enum { RUN = 64 }; // elements moved at a time

static int64_t local_part(const Oracle *o, const Mem *m) {
  return m->buf->scope == SC_LOCAL ? (o->group * LANES + o->m.pick) * m->elems : 0;
}

static void out_of_bounds(Oracle *o, const OStmt *s, const Mem *m, int dim, int64_t index) {
  if (m->buf->scope != SC_GLOBAL)
    EMU_FAIL(&o->m, s, DIAG_EMU_BOUNDS, s->span, m->buf->name, (long long)index, dim,
             (long long)m->shape[dim]);
}

// One dimension: iterations whose index lies in the buffer.
static void clip(Oracle *o, const OStmt *s, const Mem *m, int dim, int64_t min, int64_t extent,
                 int64_t *lo, int64_t *hi) {
  *lo = min < 0 ? -min : 0;
  *hi = m->shape[dim] - min < extent ? m->shape[dim] - min : extent;
  if (*lo > 0) out_of_bounds(o, s, m, dim, min);
  else if (*hi < extent) out_of_bounds(o, s, m, dim, min + extent - 1);
}

Box oracle_box(Oracle *o, const OStmt *s, const ORegion *r) {
  Box b = {.mem = r->mem, .inside = true, .total = 1, .base = local_part(o, r->mem)};
  int64_t *room = NEWN(o->m.arena, int64_t, r->n * 4 + 1);
  b.extent = room;
  b.stride = room + r->n;
  b.lo = room + r->n * 2;
  b.hi = room + r->n * 3;
  for (int d = 0; d < r->n; d++) {
    int64_t min = emu_eval_int(&o->m, r->min[d]), extent = emu_eval_int(&o->m, r->extent[d]);
    int64_t lo, hi;
    b.total *= extent > 0 ? extent : 0;
    if (extent <= 0) continue;
    clip(o, s, r->mem, d, min, extent, &lo, &hi);
    b.base += min * r->mem->stride[d];
    if (extent == 1) {
      b.inside &= lo < hi;
      continue;
    }
    b.extent[b.nd] = extent;
    b.stride[b.nd] = r->mem->stride[d];
    b.lo[b.nd] = lo;
    b.hi[b.nd++] = hi;
  }
  return b;
}

// Offset of the row at outer indices `at` (all dimensions but the last); whether it is in bounds.
static bool row_of(const Box *b, const int64_t *at, int64_t *offset) {
  bool inside = b->inside;
  *offset = b->base;
  for (int d = 0; d < b->nd - 1; d++) {
    *offset += at[d] * b->stride[d];
    inside &= at[d] >= b->lo[d] && at[d] < b->hi[d];
  }
  return inside;
}

typedef struct {
  Val safe, v[RUN];
  double err[RUN];
} Run;

// n values of a row from iteration j on; out of bounds ones are the safe value.
static void read_row(const Oracle *o, const Box *b, bool inside, int64_t offset, int64_t j, int n,
                     Run *run) {
  int64_t stride = b->nd ? b->stride[b->nd - 1] : 0;
  int64_t lo = b->nd ? b->lo[b->nd - 1] : 0, hi = b->nd ? b->hi[b->nd - 1] : 1;
  int64_t first = lo > j ? lo : j, last = hi < j + n ? hi : j + n;
  if (!inside || first >= last) first = last = j + n;
  for (int64_t i = j; i < first; i++) run->v[i - j] = run->safe, run->err[i - j] = 0;
  if (last > first)
    mem_get(b->mem, offset + first * stride, stride, (int)(last - first), &run->v[first - j],
            o->track ? &run->err[first - j] : NULL);
  for (int64_t i = last; i < j + n; i++) run->v[i - j] = run->safe, run->err[i - j] = 0;
}

static void cast_run(const Oracle *o, DType to, DType from, int n, Run *run) {
  if (to == from) return;
  for (int i = 0; i < n; i++) run->v[i] = emu_cast(to, from, run->v[i]);
  for (int i = 0; o->track && i < n; i++)
    run->err[i] = bound_cast(to, from, run->v[i], run->err[i]);
}

static void write_row(const Oracle *o, const Box *b, bool inside, int64_t offset, int64_t j, int n,
                      const Run *run, int atomic_fn) {
  int64_t stride = b->nd ? b->stride[b->nd - 1] : 0;
  int64_t lo = b->nd ? b->lo[b->nd - 1] : 0, hi = b->nd ? b->hi[b->nd - 1] : 1;
  int64_t first = lo > j ? lo : j, last = hi < j + n ? hi : j + n;
  if (!inside || first >= last) return;
  if (atomic_fn < 0) {
    mem_put(b->mem, offset + first * stride, stride, (int)(last - first), &run->v[first - j],
            o->track ? &run->err[first - j] : NULL);
    return;
  }
  for (int64_t i = first; i < last; i++)
    mem_atomic(b->mem, offset + i * stride, (AtomicFn)atomic_fn, run->v[i - j],
               o->track ? run->err[i - j] : 0);
}

static bool same_extents(Oracle *o, const OStmt *s, const Box *a, const Box *b) {
  for (int d = 0; d < a->nd || d < b->nd; d++) {
    int64_t ea = d < a->nd ? a->extent[d] : 1, eb = d < b->nd ? b->extent[d] : 1;
    if (ea == eb) continue;
    EMU_FAIL(&o->m, s, DIAG_EMU_SHAPES, s->span, (long long)ea, (long long)eb);
    return false;
  }
  return true;
}

// Moves every element of src (or the one value `fill`) into dst, row by row.
static void move_box(Oracle *o, const Box *dst, const Box *src, Run *run, int atomic_fn) {
  int nd = dst->nd;
  int64_t width = nd ? dst->extent[nd - 1] : 1, rows = dst->total / width;
  int64_t *at = NEWN(o->m.arena, int64_t, nd + 1);
  for (int64_t r = 0; r < rows; r++) {
    int64_t to, from = 0;
    bool to_inside = row_of(dst, at, &to), from_inside = src && row_of(src, at, &from);
    for (int64_t j = 0; j < width; j += RUN) {
      int n = width - j < RUN ? (int)(width - j) : RUN;
      if (src) {
        read_row(o, src, from_inside, from, j, n, run);
        cast_run(o, dst->mem->type, src->mem->type, n, run);
      }
      write_row(o, dst, to_inside, to, j, n, run, atomic_fn);
    }
    for (int d = nd - 2; d >= 0 && ++at[d] == dst->extent[d]; d--) at[d] = 0;
  }
}

static void transfer(Oracle *o, const OStmt *s, const ORegion *dst, const ORegion *src, int fn) {
  Run run;
  Box to = oracle_box(o, s, dst), from = oracle_box(o, s, src);
  if (!to.total && !from.total) return;
  if (!to.total || !from.total || !same_extents(o, s, &to, &from)) {
    if (to.total != from.total)
      EMU_FAIL(&o->m, s, DIAG_EMU_SHAPES, s->span, (long long)from.total, (long long)to.total);
    return;
  }
  const Mem *m = from.mem;
  run.safe = dt_is_float(m->type) ? emu_float(0) : emu_int(0);
  if (m->safe) run.safe = emu_cast(m->type, m->safe->type, emu_eval1(&o->m, m->safe));
  move_box(o, &to, &from, &run, fn);
}

static void fill(Oracle *o, const OStmt *s) {
  Run run;
  Box to = oracle_box(o, s, s->arg[0].r);
  double e = 0;
  Val v;
  emu_eval(&o->m, s->arg[1].e, 1, 1, &v, o->track ? &e : NULL);
  v = emu_cast(to.mem->type, s->arg[1].e->type, v);
  e = bound_cast(to.mem->type, s->arg[1].e->type, v, e);
  for (int i = 0; i < RUN; i++) run.v[i] = v, run.err[i] = e;
  if (to.total) move_box(o, &to, NULL, &run, -1);
}

static void run_once(Oracle *o, const OStmt *s) {
  Arena *keep = o->m.arena;
  o->m.arena = arena_new();
  switch (s->op) {
  case OP_COPY: transfer(o, s, s->arg[1].r, s->arg[0].r, -1); break;
  case OP_FILL: fill(o, s); break;
  case OP_GEMM: oracle_gemm(o, s); break;
  case OP_GEMM_SP: oracle_gemm_sp(o, s); break;

  case OP_ATOMIC_TILE: transfer(o, s, s->arg[0].r, s->arg[1].r, (int)s->arg[2].i); break;
  case OP_REDUCE: oracle_reduce(o, s); break;
  case OP_SCAN: oracle_scan(o, s); break;
  case OP_REDUCER_FINALIZE: oracle_finalize(o, s); break;
  case OP_TEST: oracle_test(o, s); break;
  case OP_IM2COL: oracle_im2col(o, s); break;
  case OP_DP4A: oracle_dp4a(o, s); break;
  case OP_SYNC_SOME:
  case OP_SYNC_WARP:
  case OP_SYNC:         // lockstep: every statement is a barrier
  case OP_ASYNC_COMMIT: // and every copy completes at once
  case OP_ASYNC_WAIT: break;
  default: die("the oracle has no '%s'", op_info(s->op)->name);
  }
  arena_free(o->m.arena);
  o->m.arena = keep;
}

static bool touches_local(const OStmt *s) {
  const OpInfo *info = op_info(s->op);
  for (int i = 0; i < info->nargs; i++) {
    if (arg_is_region(info->arg[i].kind) && s->arg[i].r && s->arg[i].r->mem->buf->scope == SC_LOCAL)
      return true;
  }
  return false;
}

void oracle_tile_op(Oracle *o, const OStmt *s, const Frame *f) {
  bool each = touches_local(s);
  for (int g = 0; g < f->ngroups; g++) {
    for (uint32_t left = f->mask[g]; left; left &= left - 1) {
      oracle_group(o, f, g);
      o->m.pick = __builtin_ctz(left);
      run_once(o, s);
      if (!each) return;
    }
  }
}
