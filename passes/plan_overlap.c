// Loops of two products, S = Q K and O = O' + P V: when may the last one run beside what follows
// the first one of the next iteration? It reads and writes what it would have, later: nothing from
// the head of the body to the first product may touch that, and what touches it further on waits.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

typedef struct {
  PassCtx *c;
  Kernel *kernel;
  Stmt *loop, *body;
  PlanLoop *plan;
  PlanOverlap found;
} Overlap;

static void count_gemm(void *ctx, Stmt *s) {
  if (s->kind == ST_OP && (s->u.op.op == OP_GEMM || s->u.op.op == OP_GEMM_SP)) ++*(int *)ctx;
}

static bool by_producer(const Overlap *o, const Stmt *s) {
  return s->kind == ST_OP && s->u.op.op == OP_COPY && plan_copy(o->c->plan, s)->channel;
}

static Stmt *at(const Overlap *o, int i) { return o->body->u.block.data[i]; }

static const Region *operand(const Stmt *gemm, int i) { return gemm->u.op.arg[i].region; }

// A gemm by wgmma into all of a fragment that has no other name.
static bool whole(const Overlap *o, const Stmt *gemm) {
  const Region *c = operand(gemm, 2);
  if (!plan_gemm(o->c->plan, gemm)->wgmma || !region_is_whole(c)) return false;
  return !c->buf->layout && !views_named(o->kernel, c->buf);
}

static bool find_gemms(Overlap *o) {
  int all = 0, n = 0, at_of[2] = {0, 0};
  st_walk(o->body, count_gemm, &all);
  for (int i = 0; i < o->body->u.block.len; i++) {
    if (at(o, i)->kind != ST_OP || at(o, i)->u.op.op != OP_GEMM) continue;
    if (n < 2) at_of[n] = i;
    n++;
  }
  o->found.first = at_of[0];
  o->found.last = at_of[1];
  return n == 2 && all == 2;
}

// Is a shared operand of the product at `use` its own, from a channel, or written nowhere in the
// loop?
static bool steady(const Overlap *o, const Region *r, int use) {
  if (r->buf->scope != SC_SHARED) return true;
  for (int i = 0; i < o->body->u.block.len; i++) {
    Stmt *s = at(o, i);
    if (!walk_touches(o->c->arena, s, r->buf, true)) continue;
    if (!by_producer(o, s)) return false;
    const PlanChannel *ch = &o->plan->channel[plan_copy(o->c->plan, s)->channel - 1];
    if (ch->first != use || ch->last != use) return false;
  }
  return true;
}

// Does statement i touch what the last product adds to, or change what it multiplies?
static bool disturbs(const Overlap *o, int i) {
  Stmt *gemm = at(o, o->found.last), *s = at(o, i);
  Arena *a = o->c->arena;
  if (by_producer(o, s)) return false;
  return walk_touches(a, s, operand(gemm, 2)->buf, false) ||
         walk_touches(a, s, operand(gemm, 0)->buf, true) ||
         walk_touches(a, s, operand(gemm, 1)->buf, true) ||
         (s->kind == ST_LET && st_uses(gemm, s->u.let.var));
}

static int64_t registers(const Overlap *o, const Region *r) {
  if (r->buf->scope != SC_FRAGMENT) return 0;
  return buf_elems(r->buf) * dt_bits(r->buf->dtype) / 32 / o->kernel->threads;
}

static const char *overlap_why(Overlap *o) {
  Expr *cond;
  o->body = *plan_loop_body(o->loop, &cond);
  if (!find_gemms(o)) return "";
  const Stmt *first = at(o, o->found.first), *last = at(o, o->found.last);
  if (!whole(o, first) || !whole(o, last)) return "";
  if (cond || o->loop->u.loop.cond) return "an iteration may be left out";
  for (int i = o->found.last + 1; i < o->body->u.block.len; i++)
    if (!by_producer(o, at(o, i))) return "something follows the last product";
  for (int i = 0; i < 2; i++)
    if (!steady(o, operand(first, i), o->found.first) ||
        !steady(o, operand(last, i), o->found.last))
      return "a tile of theirs has other uses in the loop";
  for (int i = 0; i <= o->found.first; i++)
    if (disturbs(o, i)) return "the first product depends on the last one";
  o->found.land = o->found.first + 1;
  while (o->found.land < o->found.last && !disturbs(o, o->found.land)) o->found.land++;
  if (o->found.land == o->found.first + 1) return "nothing could run beside the last product";
  int64_t regs = registers(o, operand(first, 2)) + registers(o, operand(last, 2)) +
                 registers(o, operand(first, 0)) + registers(o, operand(last, 0));
  if (regs + PLAN_OTHER_REGS > plan_consumer_regs(o->c->target, o->kernel->threads))
    return "there are too few registers for both";
  return NULL;
}

void plan_overlap(PassCtx *c, Facts *f, Kernel *k, Stmt *loop, PlanLoop *plan) {
  if (!pass_flag(c, k, "overlap", 1)) return;
  Overlap o = {.c = c, .kernel = k, .loop = loop, .plan = plan};
  const char *why = overlap_why(&o);
  if (why && *why) diag_remark(c->diags, loop->span, "gemm", "products in order: %s", why);
  if (why) return;
  int groups = k->threads / WARPGROUP;
  o.found.turns = groups > 1 && pass_flag(c, k, "take-turns", 1) ? groups : 0;
  o.found.enters = facts_prove(f, ex_lt(c->arena, ex_index(c->arena, 0), loop->u.loop.extent[0]));
  plan->overlap = o.found;
  plan_gemm(c->plan, at(&o, o.found.first))->open = true;
  plan_gemm(c->plan, at(&o, o.found.last))->open = true;
  diag_remark(c->diags, at(&o, o.found.last)->span, "gemm",
              "runs beside the next iteration, from its first product on");
  if (o.found.turns)
    diag_remark(c->diags, loop->span, "gemm", "%d warpgroups take turns at issuing products",
                groups);
}
