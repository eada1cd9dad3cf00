// Which blocks of a grid the oracle computes, where all of them would take too long.
// SPDX-License-Identifier: MIT
#include <math.h>

#include "driver/data.h"

int64_t sample_grid(const RunData *d, const Kernel *k) {
  int64_t n = 1;
  for (int i = 0; i < 3; i++) n *= data_index(d, k->grid[i]);
  return n;
}

// Multiply-adds of one block: gemm extents times the trip counts around them. Bounds that depend on
// more than sizes count once.
typedef struct {
  const RunData *data;
  double macs;
} Cost;

static bool only_sizes(const Expr *x) {
  switch (x->kind) {
  case EX_INT: return true;
  case EX_VAR: return x->u.var->kind == VAR_SIZE || x->u.var->kind == VAR_SCALAR;
  case EX_CAST: return only_sizes(x->u.cast);
  case EX_BINARY: return only_sizes(x->u.bin.a) && only_sizes(x->u.bin.b);
  default: return false;
  }
}

static double region_size(const Cost *c, const Region *r) {
  double n = 1;
  for (int i = 0; i < r->n; i++)
    if (only_sizes(r->extent[i])) n *= (double)data_index(c->data, r->extent[i]);
  return n;
}

static void add_cost(Cost *c, const Stmt *s, double times) {
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) add_cost(c, s->u.block.data[i], times);
    break;
  case ST_FOR:
    for (int i = 0; i < s->u.loop.nvars; i++)
      if (only_sizes(s->u.loop.extent[i]))
        times *= (double)data_index(c->data, s->u.loop.extent[i]);
    add_cost(c, s->u.loop.body, times);
    break;
  case ST_IF:
    add_cost(c, s->u.branch.yes, times);
    if (s->u.branch.no) add_cost(c, s->u.branch.no, times);
    break;
  case ST_OP:
    if (s->u.op.op == OP_GEMM) {
      double a = region_size(c, s->u.op.arg[0].region), b = region_size(c, s->u.op.arg[1].region);
      c->macs += times * sqrt(a * b * region_size(c, s->u.op.arg[2].region));
    } else if (s->u.op.op == OP_COPY) {
      c->macs += times * 4 * region_size(c, s->u.op.arg[1].region);
    }
    break;
  case ST_STORE: c->macs += 10 * times; break;
  default: break;
  }
}

/* Which blocks write elements of their own */

typedef struct {
  Arena *arena;
  const Kernel *kernel;
  const Buffer *buf;
  bool other; // it is not all that happens to buf that one atomic_tile adds to tiles side by side
  int tiles;
  unsigned axes; // of the grid: blocks that differ there add to different tiles
} Sums;

static int axis_of(const Kernel *k, const Expr *x) {
  for (int i = 0; i < 3; i++)
    if (x->kind == EX_VAR && k->block[i] == x->u.var) return i;
  return -1;
}

static void note_tile(Sums *s, const Region *r) {
  s->other |= s->tiles++ > 0;
  for (int d = 0; d < r->n; d++) {
    Affine x = ex_affine(s->arena, r->min[d]);
    int axis = x.n == 1 ? axis_of(s->kernel, x.term[0]) : -1;
    int64_t extent = -1;
    bool beside = axis >= 0 && !x.constant && ex_const(r->extent[d], &extent);
    if (beside && x.coeff[0] == extent) s->axes |= 1u << axis;
    else s->other |= x.n > 0;
  }
}

static void note_access(void *ctx, const Access *access) {
  Sums *s = ctx;
  s->other |= access->region.buf == s->buf;
}

static void note_sums(void *ctx, Stmt *x) {
  Sums *s = ctx;
  bool tile = x->kind == ST_OP && x->u.op.op == OP_ATOMIC_TILE;
  if (tile && x->u.op.arg[0].region->buf == s->buf && x->u.op.arg[1].region->buf != s->buf)
    note_tile(s, x->u.op.arg[0].region);
  else st_accesses(s->arena, x, note_access, s);
}

// The axes of the grid such that blocks which differ in one of them write different elements; false
// where none are known. Outputs that are only written are each block's own.
static bool own_axes(const Program *p, Arena *a, unsigned *axes) {
  const Kernel *k = p->kernels.data[0];
  *axes = 7;
  if (p->kernels.len != 1) return false;
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (q->kind != PARAM_TENSOR || q->role != ROLE_INOUT) continue;
    Sums s = {.arena = a, .kernel = k, .buf = q->buf};
    st_walk(k->body, note_sums, &s);
    if (s.other || (*axes != 7 && s.axes != *axes)) return false;
    *axes = s.axes;
  }
  return true;
}

// All blocks whose coordinates along `axes` are those of this number.
static void add_group(Sample *s, const int64_t *grid, unsigned axes, int64_t number) {
  int64_t lo[3], hi[3];
  for (int i = 0; i < 3; i++) {
    bool own = axes >> i & 1;
    lo[i] = own ? number % grid[i] : 0;
    hi[i] = own ? lo[i] + 1 : grid[i];
    if (own) number /= grid[i];
  }
  for (int64_t z = lo[2]; z < hi[2]; z++)
    for (int64_t y = lo[1]; y < hi[1]; y++)
      for (int64_t x = lo[0]; x < hi[0]; x++) s->block[s->n++] = x + grid[0] * (y + grid[1] * z);
}

enum { ORACLE_RATE = 200000000 };

Sample sample_choose(const RunData *d, uint64_t seed, double limit, Arena *a) {
  const Program *p = d->program;
  double seconds = 0;
  Cost cost = {d, 0}; // of one block of the last kernel, which is the only one to be sampled
  for (int i = 0; i < p->kernels.len; i++) {
    cost.macs = 0;
    add_cost(&cost, p->kernels.data[i]->body, 1);
    seconds += cost.macs * (double)sample_grid(d, p->kernels.data[i]) / ORACLE_RATE;
  }
  if (seconds <= limit) return (Sample){0};
  unsigned axes;
  if (!own_axes(p, a, &axes)) {
    if (seconds > 2 * limit) fprintf(stderr, "tlc: the oracle takes about %.0f s\n", seconds);
    return (Sample){0};
  }
  int64_t grid[3], groups = 1, together = 1;
  for (int i = 0; i < 3; i++) {
    grid[i] = data_index(d, p->kernels.data[0]->grid[i]);
    *(axes >> i & 1 ? &groups : &together) *= grid[i];
  }
  double macs = cost.macs * (double)together, want = limit * ORACLE_RATE / (macs > 1 ? macs : 1);
  int n = want < 2 ? 2 : want > 4096 ? 4096 : (int)want;
  bool all = n >= groups;
  if (all) n = (int)groups;
  Sample s = {.block = NEWN(a, int64_t, n * together), .together = (int)together};
  int64_t *group = NEWN(a, int64_t, n);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    group[i] = all || !i ? i : (int64_t)((state >> 17) % (uint64_t)groups);
    if (i == 1) group[i] = groups - 1; // the ragged corner
    bool again = false;
    for (int k = 0; k < i; k++) again |= group[k] == group[i];
    if (!again) add_group(&s, grid, axes, group[i]);
  }
  return s;
}
