// What accesses and expressions cost the units of a multiprocessor.
// SPDX-License-Identifier: MIT
#include "tuner/work.h"

// Byte addresses of the lanes of the first active warp; returns how many lanes.
static int addresses(MwWalk *w, const Expr *index, int bits, int64_t *out) {
  int n = 0, warp = w->first < 0 ? 0 : w->first / MW_LANES * MW_LANES;
  for (int i = warp; i < warp + MW_LANES && i < MW_MAX_THREADS; i++) {
    if (!w->active[i]) continue;
    mv_set(&w->env, w->kernel->thread, (MvRange){i, i}, (MvRange){i, i});
    out[n++] = mv_point(&w->env, index) * bits / 8;
  }
  mv_set(&w->env, w->kernel->thread, w->all, w->all);
  return n;
}

void mw_access(MwWalk *w, const Buffer *b, const Expr *index, int64_t n, bool write) {
  int64_t address[MW_LANES];
  MwPhase *p = mw_phase(w);
  int bits = dt_bits(b->dtype), bytes = (int)((n * bits + 7) / 8);
  if (bytes < 1 || bytes > 64 || w->first < 0) return;
  int lanes = addresses(w, index, bits, address);
  mw_issue(w, 1);
  if (b->scope == SC_SHARED) {
    p->smem += w->times * w->warps * mw_wavefronts(address, lanes, bytes);
    p->smem_bytes += w->times * (double)w->threads * bytes;
  } else if (b->scope == SC_GLOBAL) {
    double moved = w->times * w->warps * 32.0 * mw_sectors(address, lanes, bytes);
    if (write) p->store += moved;
    else p->load += moved;
    if (!write) p->round_trips = p->trips;
  }
}

static bool is_special(MathFn f) {
  switch (f) {
  case MATH_EXP:
  case MATH_EXP2:
  case MATH_LOG:
  case MATH_LOG2:
  case MATH_SQRT:
  case MATH_RSQRT:
  case MATH_SIN:
  case MATH_COS:
  case MATH_TANH:
  case MATH_ERF:
  case MATH_SIGMOID:
  case MATH_POW: return true;
  default: return false;
  }
}

static void node(void *ctx, Expr *x) {
  MwWalk *w = ctx;
  switch (x->kind) {
  case EX_LOAD:
    if (x->u.load.buf->scope == SC_SHARED || x->u.load.buf->scope == SC_GLOBAL)
      mw_access(w, x->u.load.buf, x->u.load.idx[0], 1, false);
    break;
  case EX_UNARY:
  case EX_BINARY:
  case EX_CAST:
  case EX_SELECT:
    // Index arithmetic is mostly shared between statements and hoisted.
    mw_issue(w, x->type == DT_INDEX ? 0.1 : dt_bits(x->type) == 64 ? 4 : 1);
    break;
  case EX_MATH:
    mw_issue(w, 2);
    // 16 lanes a clock
    if (is_special(x->u.math.fn)) mw_phase(w)->special += 2 * w->times * w->warps;
    break;
  default: break;
  }
}

void mw_expr(MwWalk *w, Expr *x) { ex_walk(x, node, w); }
