// Operands of 8- or 32-bit elements that lie along M or N, for wgmma: no descriptor describes them,
// so threads load their elements into the instruction's registers: pairs of 32 bits as
// layout_wgmma_loaded places them, bytes by ldmatrix and byte_perm as for mma.sync (gemm_bytes.c).
// SPDX-License-Identifier: MIT
#include "passes/gemm_loads.h"
#include "passes/gemm.h"

enum { STEP_BITS = 256, ROWS = 64, PER = 4, PAIR = 2 }; // of K; of rows; of a thread's registers
enum { LANES = 32, TILE = 16, TILES = ROWS / TILE };   // of a warp; rows of a warp in a block

struct GemmLoads {
  Lower *l;
  Span span;
  Buffer *tile, *regs;
  WgmmaLoads at;
  // This thread's first load in the tile's first version: in either half of a step of 32-bit
  // elements, in each block of 8-bit ones.
  Expr **first;
  Expr *lead;                   // where the version begins
  int blocks, steps, per, each; // per: steps of a group; each: elements of a block and step
  GemmOperand bytes;            // 8-bit elements
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

int wgmma_loaded_regs(int rows, int K, int bits) {
  int steps = K * bits / STEP_BITS, all = steps_of_half(steps, 0) + steps_of_half(steps, 1);
  return rows / ROWS * all * PER;
}

int gemm_loads_groups(const GemmLoads *x) { return (x->steps + x->per - 1) / x->per; }

int gemm_loads_step(const GemmLoads *x, int group) {
  return group * x->per < x->steps ? group * x->per : x->steps;
}

// The first element of a group.
static int64_t half_at(const GemmLoads *x, int group) {
  return group % 2 ? (int64_t)x->blocks * x->per * x->each : 0;
}

Region *gemm_loads_half(GemmLoads *x, int group) {
  int n = x->blocks * steps_of_half(x->steps, group % 2) * x->each;
  return region_flat(x->l->arena, x->regs, num(x, half_at(x, group)), n);
}

static int64_t element_at(const GemmLoads *x, int block, int step) {
  int group = step / x->per, per = steps_of_half(x->steps, group % 2);
  return half_at(x, group) + ((int64_t)block * per + step % x->per) * x->each;
}

Region *gemm_loads_at(GemmLoads *x, int block, int step) {
  return region_flat(x->l->arena, x->regs, num(x, element_at(x, block, step)), x->each);
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
static void bind_pairs(GemmLoads *x, const Region *r, Expr *share) {
  Lower *l = x->l;
  Arena *a = l->arena;
  const Layout *block = layout_wgmma_loaded(a, ROWS, STEP_BITS / 32, 1);
  Expr *thread = ex_floormod(a, l->thread, num(x, WARPGROUP));
  x->first = NEWN(a, Expr *, 2);
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

static void open_pairs(GemmLoads *x, const PlanGemm *g, const Region *r, Expr *share, int rows,
                       int groups) {
  int64_t at[2];
  for (int d = 0; d < 2; d++)
    if (!ex_const(r->min[r->n - 2 + d], &at[d])) die("wgmma: a moving region");
  const Layout *tile = lower_form(x->l, r->buf)->layout;
  if (!layout_wgmma_loads(x->l->arena, tile, at[0], at[1], g->K, rows, groups, &x->at))
    die("wgmma: a tile that no pairs fill");
  bind_pairs(x, r, share);
}

// As rows of A, whichever operand it is. A block further is no constant more: it is in another
// place of the swizzle's pattern. A step further is, as 32 rows of the tile are whole patterns.
static void open_bytes(GemmLoads *x, const PlanGemm *g, Region *r, Expr *share) {
  Lower *l = x->l;
  Arena *a = l->arena;
  GemmOperand *o = &x->bytes;
  Expr *lane = ex_floormod(a, l->thread, num(x, LANES));
  Expr *warp = ex_floormod(a, ex_floordiv(a, l->thread, num(x, LANES)), num(x, TILES));
  *o = (GemmOperand){.l = l,
                     .span = x->span,
                     .buf = r->buf,
                     .form = lower_form(l, r->buf),
                     .region = r,
                     .K = g->K,
                     .bits = 8,
                     .pair = true,
                     .tiles = x->blocks * x->per,
                     .frag = x->regs,
                     .lead = num(x, 0)};
  o->lane = lower_let(l, l->prologue, "lane", lower_simplify(l, lane));
  o->outer = ex_add(a, r->min[r->n - 1], ex_mul(a, share, num(x, (int64_t)x->blocks * ROWS)));
  o->outer = lower_simplify(l, ex_add(a, o->outer, ex_mul(a, warp, num(x, TILE))));
  o->k0 = r->min[r->n - 2];
  gemm_operand_place(o, l->prologue);
  if (!o->matrix) die("wgmma: a tile of no cells");
  x->at.step = STEP_BITS / 8 * o->rows.pitch;
  x->first = NEWN(a, Expr *, x->blocks);
  for (int i = 0; i < x->blocks; i++) {
    Expr *at = lower_simplify(l, gemm_operand_cell(o, num(x, i * TILES), num(x, 0)));
    x->first[i] = lower_let(l, l->prologue, arena_printf(a, "%s_at", x->tile->name), at);
  }
}

GemmLoads *gemm_loads_open(Lower *l, Stmt *s, const PlanGemm *g, Expr *share, Stmt *out) {
  Arena *a = l->arena;
  bool is_b = g->loaded == WGMMA_B_LOADED;
  Region *r = s->u.op.arg[is_b].region;
  int rows = is_b ? g->N : g->M, groups = is_b ? g->warps_n : g->warps_m;
  int bits = dt_bits(r->buf->dtype);
  GemmLoads *x = NEW(a, GemmLoads);
  *x = (GemmLoads){.l = l, .span = s->span, .tile = r->buf, .each = PER * 32 / bits};
  x->blocks = rows / groups / ROWS;
  x->steps = g->K / g->k;
  x->per = steps_of_group(x->steps);
  Expr *n = num(x, wgmma_loaded_regs(rows / groups, g->K, bits) * 32 / bits);
  x->regs =
      buf_new(a, arena_printf(a, "%s_frag", r->buf->name), r->buf->dtype, SC_LOCAL, &n, 1, s->span);
  vec_push(a, &l->kernel->buffers, x->regs);
  if (bits == 8) open_bytes(x, g, r, share);
  else open_pairs(x, g, r, share, rows, groups);
  Expr *lead = lower_simplify(l, place(x, r, num(x, 0), num(x, 0), true));
  x->lead = lead->kind == EX_INT ? lead : lower_let(l, out, is_b ? "b_base" : "a_base", lead);
  return x;
}

static void load_pairs(GemmLoads *x, int block, int step, Stmt *out) {
  Arena *a = x->l->arena;
  for (int half = 0; half < 2; half++) {
    int64_t by = step * x->at.step + block * x->at.block;
    Expr *from = ex_add(a, ex_add(a, x->lead, x->first[half]), num(x, by));
    Expr *to = num(x, element_at(x, block, step) + half * PAIR);
    st_add(a, out,
           st_op(a, OP_VMOV, x->span, region_flat(a, x->tile, from, PAIR),
                 region_flat(a, x->regs, to, PAIR)));
  }
}

static void load_bytes(GemmLoads *x, int block, int step, Stmt *out) {
  Arena *a = x->l->arena;
  Expr *raw = num(x, ((int64_t)(step % x->per) * x->blocks + block) * x->each);
  Expr *from = ex_add(a, x->lead, x->first[block]);
  from = ex_add(a, from, num(x, step * x->at.step));
  st_add(a, out, gemm_bytes_raw(&x->bytes, from, raw));
  for (int h = 0; h < 2; h++)
    for (int odd = 0; odd < 2; odd++) {
      Expr *to = num(x, element_at(x, block, step) + 4 * (2 * h + odd));
      st_add(a, out, gemm_bytes_pick(&x->bytes, raw, h, odd, to));
    }
}

void gemm_loads_group(GemmLoads *x, int group, Stmt *out) {
  for (int step = gemm_loads_step(x, group); step < gemm_loads_step(x, group + 1); step++)
    for (int block = 0; block < x->blocks; block++)
      if (x->bytes.raw) load_bytes(x, block, step, out);
      else load_pairs(x, block, step, out);
}
