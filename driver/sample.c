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

static bool writes_exclusively(const Program *p) {
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_TENSOR && p->params.data[i].role == ROLE_INOUT)
      return false;
  return p->kernels.len == 1;
}

enum { ORACLE_RATE = 200000000 };

int sample_choose(const RunData *d, uint64_t seed, double limit, Arena *a, int64_t **blocks) {
  const Program *p = d->program;
  double seconds = 0;
  Cost cost = {d, 0}; // of one block of the last kernel, which is the only one to be sampled
  *blocks = NULL;
  for (int i = 0; i < p->kernels.len; i++) {
    cost.macs = 0;
    add_cost(&cost, p->kernels.data[i]->body, 1);
    seconds += cost.macs * (double)sample_grid(d, p->kernels.data[i]) / ORACLE_RATE;
  }
  int64_t all = sample_grid(d, p->kernels.data[0]);
  if (seconds <= limit) return 0;
  if (!writes_exclusively(p)) {
    if (seconds > 2 * limit) fprintf(stderr, "tlc: the oracle takes about %.0f s\n", seconds);
    return 0;
  }
  double want = limit * ORACLE_RATE / (cost.macs > 1 ? cost.macs : 1);
  int n = want < 4 ? 4 : want > 4096 ? 4096 : (int)want;
  if (n > all) n = (int)all;
  *blocks = NEWN(a, int64_t, n);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    (*blocks)[i] = (int64_t)((state >> 17) % (uint64_t)all);
  }
  (*blocks)[0] = 0;
  (*blocks)[n - 1] = all - 1; // the ragged corner
  return n;
}
