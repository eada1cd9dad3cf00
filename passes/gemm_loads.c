// Operands of 32-bit elements that lie along M or N, for wgmma: no descriptor describes them, so
// threads load their elements into the instruction's registers, as layout_wgmma_loaded places them.
// SPDX-License-Identifier: MIT
#include "passes/gemm_loads.h"

enum { STEP = 8, ROWS = 64, PER = 4, PAIR = 2 }; // elements of K, of rows, of a thread

struct GemmLoads {
  Lower *l;
  Span span;
  Buffer *tile, *regs;
  WgmmaLoads at;
  Expr *first[2]; // this thread's first pair in either half of a step, in the tile's first version
  Expr *lead;     // where the version begins
  int blocks, steps, per; // per: steps of a group
};

static Expr *num(const GemmLoads *x, int64_t v) { return ex_index(x->l->arena, v); }

/* groups: two halves of the registers take turns, so an even number where there is more than one */

static int steps_of_group(int steps) {
  int per = steps > 2 ? 2 : 1;
  while (per < steps && (steps + per - 1) / per % 2) per++;
  return per;
}

static int steps_of_half(int steps, int half) {
  int per = steps_of_group(steps);
  return half && steps - per < per ? steps - per : per;
}

int wgmma_loaded_regs(int rows, int K) {
  int steps = K / STEP, all = steps_of_half(steps, 0) + steps_of_half(steps, 1);
  return rows / ROWS * all * PER;
}

int gemm_loads_groups(const GemmLoads *x) { return (x->steps + x->per - 1) / x->per; }

int gemm_loads_step(const GemmLoads *x, int group) {
  return group * x->per < x->steps ? group * x->per : x->steps;
}

// The first register of a group.
static int64_t half_at(const GemmLoads *x, int group) {
  return group % 2 ? (int64_t)x->blocks * x->per * PER : 0;
}

Region *gemm_loads_half(GemmLoads *x, int group) {
  int n = x->blocks * steps_of_half(x->steps, group % 2) * PER;
  return region_flat(x->l->arena, x->regs, num(x, half_at(x, group)), n);
}

static int64_t register_at(const GemmLoads *x, int block, int step) {
  int group = step / x->per, per = steps_of_half(x->steps, group % 2);
  return half_at(x, group) + ((int64_t)block * per + step % x->per) * PER;
}

Region *gemm_loads_at(GemmLoads *x, int block, int step) {
  return region_flat(x->l->arena, x->regs, num(x, register_at(x, block, step)), PER);
}

/* places in the tile */

static Expr *place(GemmLoads *x, const Region *r, Expr *k, Expr *mn, bool lead) {
  Expr *idx[LOOP_MAX_DIMS * 2];
  for (int i = 0; i < r->n - 2; i++) idx[i] = lead ? lower_expr(x->l, r->min[i]) : num(x, 0);
  idx[r->n - 2] = k;
  idx[r->n - 1] = mn;
  return lower_offset(x->l, x->tile, idx);
}

// In either half of a step: the layout's second register digit.
static void bind_first(GemmLoads *x, const Region *r, Expr *share) {
  Lower *l = x->l;
  Arena *a = l->arena;
  const Layout *block = layout_wgmma_loaded(a, ROWS, STEP, 1);
  Expr *thread = ex_floormod(a, l->thread, num(x, WARPGROUP));
  for (int half = 0; half < 2; half++) {
    Expr *digit[LOOP_MAX_DIGITS], *coord[2], *valid;
    for (int i = 0; i < LOOP_MAX_DIGITS; i++) digit[i] = num(x, i == 1 ? half : 0);
    layout_inverse(a, l->facts, block, thread, digit, coord, &valid);
    Expr *k = ex_add(a, r->min[r->n - 2], coord[0]), *mn = ex_add(a, r->min[r->n - 1], coord[1]);
    Expr *at = place(x, r, lower_simplify(l, k), lower_simplify(l, mn), false);
    at = ex_add(a, at, ex_mul(a, share, num(x, x->at.group)));
    const char *name = arena_printf(a, "%s_%s", x->tile->name, half ? "high" : "low");
    x->first[half] = lower_let(l, l->prologue, name, lower_simplify(l, at));
  }
}

GemmLoads *gemm_loads_open(Lower *l, Stmt *s, const PlanGemm *g, Expr *share, Stmt *out) {
  Arena *a = l->arena;
  bool is_b = g->loaded == WGMMA_B_LOADED;
  const Region *r = s->u.op.arg[is_b].region;
  int rows = is_b ? g->N : g->M, groups = is_b ? g->warps_n : g->warps_m;
  GemmLoads *x = NEW(a, GemmLoads);
  *x = (GemmLoads){.l = l, .span = s->span, .tile = r->buf};
  x->blocks = rows / groups / ROWS;
  x->steps = g->K / STEP;
  x->per = steps_of_group(x->steps);
  int64_t at[2];
  for (int d = 0; d < 2; d++)
    if (!ex_const(r->min[r->n - 2 + d], &at[d])) die("wgmma: a moving region");
  const Layout *tile = lower_form(l, r->buf)->layout;
  if (!layout_wgmma_loads(a, tile, at[0], at[1], g->K, rows, groups, &x->at))
    die("wgmma: a tile that no pairs fill");
  Expr *n = num(x, wgmma_loaded_regs(rows / groups, g->K));
  x->regs =
      buf_new(a, arena_printf(a, "%s_frag", r->buf->name), r->buf->dtype, SC_LOCAL, &n, 1, s->span);
  vec_push(a, &l->kernel->buffers, x->regs);
  bind_first(x, r, share);
  Expr *lead = lower_simplify(l, place(x, r, num(x, 0), num(x, 0), true));
  x->lead = lead->kind == EX_INT ? lead : lower_let(l, out, is_b ? "b_base" : "a_base", lead);
  return x;
}

void gemm_loads_group(GemmLoads *x, int group, Stmt *out) {
  Arena *a = x->l->arena;
  for (int step = gemm_loads_step(x, group); step < gemm_loads_step(x, group + 1); step++)
    for (int block = 0; block < x->blocks; block++)
      for (int half = 0; half < 2; half++) {
        int64_t by = step * x->at.step + block * x->at.block;
        Expr *from = ex_add(a, ex_add(a, x->lead, x->first[half]), num(x, by));
        Expr *to = num(x, register_at(x, block, step) + half * PAIR);
        st_add(a, out,
               st_op(a, OP_VMOV, x->span, region_flat(a, x->tile, from, PAIR),
                     region_flat(a, x->regs, to, PAIR)));
      }
}
