// gemm on mma.sync: each warp owns a block of C in registers; k-steps of both operands are loaded
// one ahead of the multiplications that use them, where registers suffice.
// SPDX-License-Identifier: MIT
#include "passes/gemm.h"

enum { OTHERS = 30 }; // registers of a thread beside accumulators and operands

static Expr *num(Gemm *g, int64_t v) { return ex_index(g->l->arena, v); }

static Stmt *block(Gemm *g) { return st_block(g->l->arena, g->s->span); }

static Stmt *unrolled(Gemm *g, Var *v, int64_t n, Stmt *body) {
  return st_for(g->l->arena, LOOP_UNROLL, v, num(g, 0), num(g, n), body, g->s->span);
}

// Leading indices of the region are of extent 1; the last two are the matrix.
static void operand_init(Gemm *g, GemmOperand *o, int arg, bool is_b, Expr *lane, Expr *warp) {
  Arena *a = g->l->arena;
  const PlanGemm *p = g->plan;
  Region *r = g->s->u.op.arg[arg].region;
  bool trans = g->s->u.op.arg[op_arg(OP_GEMM, is_b ? "transb" : "transa")].i != 0;
  const Buffer *form = lower_form(g->l, r->buf);
  *o = (GemmOperand){.l = g->l,
                     .span = g->s->span,
                     .is_b = is_b,
                     .buf = r->buf,
                     .form = form,
                     .region = r,
                     .K = p->K,
                     .lane = lane,
                     .bits = dt_bits(r->buf->dtype)};
  o->kmajor = is_b ? trans : !trans;
  o->pair = is_b ? p->pair_n : p->pair_m;
  o->tiles = is_b ? g->tiles_n : g->tiles_m;
  o->per = (is_b ? 64 : 128) / o->bits;
  int outer = r->n - (o->kmajor ? 2 : 1), inner = r->n - (o->kmajor ? 1 : 2);
  int per_warp = is_b ? p->N / p->warps_n : p->M / p->warps_m;
  o->outer = ex_add(a, lower_expr(g->l, r->min[outer]), ex_mul(a, warp, num(g, per_warp)));
  o->k0 = lower_expr(g->l, r->min[inner]);
  o->in_regs = form->scope == SC_FRAGMENT;
}

// Of the registers of operands, the one that a k-step is in.
static Expr *half_of(Gemm *g, Expr *step) {
  return g->single ? num(g, 0) : ex_floormod(g->l->arena, step, num(g, 2));
}

static void gemm_multiply(Gemm *g, Expr *step, Stmt *out) {
  Arena *a = g->l->arena;
  Expr *half = half_of(g, step);
  const PlanGemm *p = g->plan;
  Var *tm = lower_loop_var(g->l, "tm"), *tn = lower_loop_var(g->l, "tn");
  Expr *m = ex_var(a, tm), *n = ex_var(a, tn);
  Expr *reg = ex_mul(a, ex_add(a, ex_mul(a, m, num(g, g->tiles_n)), n), num(g, 4));
  Stmt *inner = block(g), *outer = block(g);
  st_add(a, inner,
         st_op(a, OP_MMA, g->s->span, gemm_operand_tile(&g->a, m, step, half),
               gemm_operand_tile(&g->b, n, step, half), region_flat(a, g->c, reg, 4), (int64_t)p->m,
               (int64_t)p->n, (int64_t)p->k));
  st_add(a, outer, unrolled(g, tn, g->tiles_n, inner));
  st_add(a, out, unrolled(g, tm, g->tiles_m, outer));
}

// into half step % 2
static void gemm_load_step(Gemm *g, Expr *step, bool tail, Stmt *out) {
  Expr *half = half_of(g, step);
  gemm_operand_load(&g->a, step, half, tail, out);
  gemm_operand_load(&g->b, step, half, tail, out);
}

// c = 0 where `clear` says so.
static void gemm_clear(Gemm *g, Stmt *out) {
  Arena *a = g->l->arena;
  Expr *clear = g->s->u.op.arg[op_arg(OP_GEMM, "clear")].expr;
  if (!clear) return;
  clear = lower_simplify(g->l, lower_expr(g->l, clear));
  if (ex_is(clear, 0)) return;
  Var *i = lower_loop_var(g->l, "i");
  Expr *idx = ex_var(a, i), *zero = ex_cast(a, g->c->dtype, ex_index(a, 0));
  Stmt *body = block(g);
  st_add(a, body, st_store(a, g->c, &idx, 1, zero, g->s->span));
  Stmt *loop = unrolled(g, i, (int64_t)g->tiles_m * g->tiles_n * 4, body);
  st_add(a, out, ex_is(clear, 1) ? loop : lower_if(g->l, clear, loop, g->s->span));
}

// Each step loads what it multiplies, and none begins before the last one's end.
static void single_steps(Gemm *g, int steps, Stmt *out) {
  Var *v = lower_loop_var(g->l, "ks");
  Expr *step = ex_var(g->l->arena, v);
  Stmt *body = block(g), *loop;
  int mark = facts_mark(g->l->facts);
  facts_push_loop(g->l->facts, v, num(g, 0), num(g, steps));
  gemm_load_step(g, step, false, body);
  gemm_multiply(g, step, body);
  facts_pop(g->l->facts, mark);
  st_add(g->l->arena, out, loop = unrolled(g, v, steps, body));
  loop->u.loop.unroll = 1;
}

// Full steps: step 0 is loaded first, then each step loads its successor before it multiplies.
static void full_steps(Gemm *g, int steps, Stmt *out) {
  Arena *a = g->l->arena;
  gemm_load_step(g, num(g, 0), false, out);
  if (steps == 1) {
    gemm_multiply(g, num(g, 0), out);
    return;
  }
  Var *v = lower_loop_var(g->l, "ks");
  Expr *step = ex_var(a, v), *next = ex_add(a, step, num(g, 1));
  Stmt *body = block(g), *ahead = block(g);
  int mark = facts_mark(g->l->facts);
  facts_push_loop(g->l->facts, v, num(g, 0), num(g, steps));
  gemm_load_step(g, next, false, ahead);
  if (ahead->u.block.len)
    st_add(a, body, st_if(a, ex_lt(a, next, num(g, steps)), ahead, NULL, g->s->span));
  gemm_multiply(g, step, body);
  facts_pop(g->l->facts, mark);
  st_add(a, out, unrolled(g, v, steps, body));
}

// 8-bit floats that are multiplied as 16-bit ones take twice their registers: those of B in a
// k-step and those of a tile of A at once, beside what is loaded. Do two k-steps fit?
static bool is_single(Gemm *g) {
  const PlanGemm *p = g->plan;
  const Target *t = g->l->c->target;
  const PlanRoles *roles = plan_of_roles(g->l->c->plan, g->l->kernel);
  int most = roles ? roles->consumer_regs : t->max_regs_per_thread;
  if (!t->fp8_widens || dt_bits(p->ab) != 8 || !dt_is_float(p->ab) || g->steps < 2) return false;
  int sums = g->tiles_m * g->tiles_n * 4, a = g->tiles_m * 4, b = g->tiles_n * 2;
  int regs = sums + 2 * (a + b) + 2 * (4 + b) + OTHERS;
  if (regs <= most) return false;
  diag_remark(g->l->c->diags, g->s->span, "gemm",
              "k-steps one by one: with two in registers a thread takes about %d, and has %d", regs,
              most);
  return true;
}

// sets up both operands
static void gemm_open(Gemm *g, Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const PlanGemm *p = plan_gemm(l->c->plan, s);
  *g = (Gemm){.l = l, .s = s, .plan = p, .c = s->u.op.arg[2].region->buf};
  g->tiles_m = p->M / p->warps_m / p->m;
  g->tiles_n = p->N / p->warps_n / p->n;
  g->steps = p->K / p->k;
  g->tail = p->K % p->k != 0;
  Expr *lane = lower_let(l, out, "lane", ex_floormod(a, l->thread, num(g, 32)));
  Expr *warp = ex_floordiv(a, l->thread, num(g, 32));
  Expr *wm = ex_floormod(a, warp, num(g, p->warps_m));
  Expr *wn = ex_floordiv(a, warp, num(g, p->warps_m));
  operand_init(g, &g->a, 0, false, lane, lower_simplify(l, wm));
  operand_init(g, &g->b, 1, true, lane, lower_simplify(l, wn));
  g->single = !g->a.in_regs && !g->b.in_regs && is_single(g);
  g->a.halves = g->b.halves = g->single ? 1 : 2;
  gemm_operand_start(&g->a, out);
  gemm_operand_start(&g->b, out);
}

static void gemm_leads(Gemm *g, Stmt *out) {
  gemm_operand_lead(&g->a, out);
  gemm_operand_lead(&g->b, out);
}

void gemm_lower(Lower *l, Stmt *s, Stmt *out) {
  Gemm g;
  Stmt *body = st_block(l->arena, s->span);
  gemm_open(&g, l, s, body);
  gemm_leads(&g, body);
  gemm_clear(&g, body);
  if (g.single) single_steps(&g, g.steps, body);
  else if (g.steps) full_steps(&g, g.steps, body);
  if (g.tail) {
    gemm_load_step(&g, num(&g, g.steps), true, body);
    gemm_multiply(&g, num(&g, g.steps), body);
  }
  st_add(l->arena, out, body);
}
