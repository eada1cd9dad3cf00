// Overlap of two products and what is between them (plan_overlap.c has the conditions):
//   for k { S = Q K[k]; P, O = f(S, O); O += P V[k] }
// becomes
//   S = Q K[0]; P, O = f(S, O)
//   for k from 1 { issue S = Q K[k]; issue O += P V[k - 1]; wait for S; f up to its use of O or P;
//                  wait for O; the rest of f }
//   O += P V[last]
// so that f runs while the tensor cores do O. Channels of the last product's tiles are taken and
// given back an iteration late: their turns count on their own.
// Where several warpgroups issue in turns, a named barrier of each orders them: a warpgroup waits
// at its own until the one before has issued, and the last one lets the first one begin.
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"

typedef struct {
  PassCtx *c;
  Arena *a;
  const Kernel *kernel;
  Stmt *loop;
  const Stmt *body; // as written
  const PlanLoop *plan;
  const OverlapTurn *turn;
  bool late; // the iteration at hand issues the product of the one before
} Overlap;

static Stmt *gemm_at(const Overlap *o, int i) { return o->body->u.block.data[i]; }

static void add_all(const Overlap *o, Stmt *out, const Stmt *block) {
  for (int i = 0; i < block->u.block.len; i++) st_add(o->a, out, block->u.block.data[i]);
}

// Channels whose last (or first) use is statement i.
static void at_channels(const Overlap *o, int i, bool give, Stmt *out) {
  for (int c = 0; c < o->plan->channels; c++) {
    const PlanChannel *ch = &o->plan->channel[c];
    if ((give ? ch->last : ch->first) == i)
      add_all(o, out, give ? o->turn[c].give : o->turn[c].wait);
  }
}

static bool is_late(const Overlap *o, int channel) {
  return o->plan->channel[channel].first == o->plan->overlap.last;
}

static void take(const Overlap *o, bool late, Stmt *out) {
  for (int c = 0; c < o->plan->channels; c++)
    if (is_late(o, c) == late) add_all(o, out, o->turn[c].take);
}

static Region *registers(const Overlap *o, const Region *r) {
  return r->buf->scope == SC_FRAGMENT ? region_whole(o->a, r->buf) : NULL;
}

static void wait_for(const Overlap *o, Region *d, Region *a, int pending, Span span, Stmt *out) {
  st_add(o->a, out, st_op(o->a, OP_WGMMA_WAIT, span, d, (int64_t)pending, a));
}

// The last product of iteration k.
static void issue_last(const Overlap *o, Expr *k, Stmt *out) {
  Stmt *gemm = gemm_at(o, o->plan->overlap.last);
  Stmt *x = arena_copy(o->a, gemm, sizeof *gemm);
  walk_own(o->a, x);
  Subst s = {.arena = o->a};
  subst_add(&s, o->loop->u.loop.var[0], k);
  subst_stmt(&s, x);
  plan_clone(o->c->plan, gemm, x);
  take(o, true, out);
  at_channels(o, o->plan->overlap.last, false, out);
  st_add(o->a, out, x);
}

// Its end: nobody touches its registers, or gives its tiles back, before.
static void land(const Overlap *o, Stmt *out) {
  const Stmt *gemm = gemm_at(o, o->plan->overlap.last);
  Region *a = registers(o, gemm->u.op.arg[0].region), *d = registers(o, gemm->u.op.arg[2].region);
  wait_for(o, d, a, 0, gemm->span, out);
  at_channels(o, o->plan->overlap.last, true, out);
}

/* turns */

static Expr *group(const Overlap *o) {
  return ex_floordiv(o->a, ex_var(o->a, o->kernel->thread), ex_index(o->a, WARPGROUP));
}

// The barrier of warpgroup g: it waits there, and the one before it only arrives.
static Stmt *barrier(const Overlap *o, OpCode op, Expr *g) {
  Expr *id = ex_add(o->a, g, ex_index(o->a, NAMED_BARRIERS - o->plan->overlap.turns));
  return st_op(o->a, op, o->loop->span, ex_cast(o->a, DT_I32, id), (int64_t)2 * WARPGROUP);
}

static Stmt *arrive_if(const Overlap *o, Expr *cond, Expr *g) {
  Stmt *some = st_block(o->a, o->loop->span);
  st_add(o->a, some, barrier(o, OP_BAR_ARRIVE, g));
  return st_if(o->a, cond, some, NULL, o->loop->span);
}

static Expr *is_last_group(const Overlap *o) {
  return ex_bin(o->a, BIN_EQ, group(o), ex_index(o->a, o->plan->overlap.turns - 1));
}

static void begin_turn(const Overlap *o, Stmt *out) {
  if (o->late && o->plan->overlap.turns) st_add(o->a, out, barrier(o, OP_BAR_SYNC, group(o)));
}

// The next one's turn; after the last iteration there is none for the first warpgroup.
static void end_turn(const Overlap *o, Stmt *out) {
  Arena *a = o->a;
  int n = o->plan->overlap.turns;
  if (!o->late || !n) return;
  Expr *next = ex_floormod(a, ex_add(a, group(o), ex_index(a, 1)), ex_index(a, n));
  Expr *end = ex_add(a, o->loop->u.loop.min[0], o->loop->u.loop.extent[0]);
  Expr *more = ex_lt(a, ex_add(a, ex_var(a, o->loop->u.loop.var[0]), ex_index(a, 1)), end);
  Expr *inner = ex_un(a, UN_NOT, is_last_group(o));
  st_add(a, out, arrive_if(o, ex_bin(a, BIN_OR, more, inner), next));
}

/* iterations */

static Stmt *iteration(const Overlap *o) {
  Arena *a = o->a;
  const PlanOverlap *plan = &o->plan->overlap;
  Stmt *out = st_block(a, o->body->span);
  Expr *before = ex_sub(a, ex_var(a, o->loop->u.loop.var[0]), ex_index(a, 1));
  take(o, false, out);
  for (int i = 0; i <= plan->last; i++) {
    Stmt *s = gemm_at(o, i);
    if (i == plan->land && o->late) land(o, out);
    if (i == plan->last) break;
    bool copy = s->kind == ST_OP && s->u.op.op == OP_COPY && plan_copy(o->c->plan, s)->channel;
    at_channels(o, i, false, out);
    if (i == plan->first) begin_turn(o, out);
    if (!copy) st_add(a, out, s);
    if (i == plan->first) {
      if (o->late) issue_last(o, before, out);
      end_turn(o, out);
      wait_for(o, registers(o, s->u.op.arg[2].region), NULL, o->late, s->span, out);
    }
    at_channels(o, i, true, out);
  }
  return out;
}

// Iteration `min`, which nothing goes before.
static Stmt *first_iteration(Overlap *o) {
  o->late = false;
  Stmt *x = walk_clone(o->a, iteration(o), o->c->plan);
  Subst s = {.arena = o->a};
  subst_add(&s, o->loop->u.loop.var[0], o->loop->u.loop.min[0]);
  subst_stmt(&s, x);
  return x;
}

static Stmt *last_product(const Overlap *o, Expr *k) {
  Stmt *out = st_block(o->a, o->body->span);
  issue_last(o, k, out);
  land(o, out);
  return walk_clone(o->a, out, o->c->plan);
}

Stmt *overlap_loop(PassCtx *c, const Kernel *k, Stmt *loop, const OverlapTurn *turn) {
  Arena *a = c->arena;
  Overlap o = {.c = c, .a = a, .kernel = k, .loop = loop, .turn = turn};
  o.plan = plan_loop(c->plan, loop);
  o.body = loop->u.loop.body;
  Expr *zero = ex_index(a, 0), *one = ex_index(a, 1), *n = loop->u.loop.extent[0];
  Expr *end = ex_sub(a, ex_add(a, loop->u.loop.min[0], n), one);
  Stmt *some = st_block(a, loop->span);
  st_add(a, some, first_iteration(&o));
  if (o.plan->overlap.turns)
    st_add(a, some, arrive_if(&o, ex_and(a, is_last_group(&o), ex_lt(a, one, n)), zero));
  Stmt *tail = last_product(&o, end);
  o.late = true;
  loop->u.loop.min[0] = ex_add(a, loop->u.loop.min[0], one);
  loop->u.loop.extent[0] = ex_sub(a, n, one);
  loop->u.loop.body = iteration(&o);
  loop->u.loop.loop = LOOP_SERIAL;
  loop->u.loop.num_stages = 0;
  st_add(a, some, loop);
  st_add(a, some, tail);
  return o.plan->overlap.enters ? some : st_if(a, ex_lt(a, zero, n), some, NULL, loop->span);
}

static bool is_wait(const Stmt *s) { return s->kind == ST_OP && s->u.op.op == OP_WGMMA_WAIT; }

static void note_other(void *ctx, Stmt *s) {
  bool arrives = s->kind == ST_OP && s->u.op.op == OP_MBAR_ARRIVE;
  if (!arrives && s->kind != ST_BLOCK && s->kind != ST_IF) *(bool *)ctx = true;
}

// Plain work, or what gives the slot of another channel back.
static bool is_plain(Stmt *s) {
  bool other = false;
  if (s->kind == ST_FOR) return s->u.loop.loop == LOOP_PARALLEL;
  if (s->kind == ST_IF) st_walk(s, note_other, &other);
  if (s->kind == ST_IF) return !other;
  if (s->kind != ST_OP) return s->kind == ST_STORE || s->kind == ST_LET;
  OpCode op = s->u.op.op;
  return op == OP_COPY || op == OP_FILL || op == OP_SYNC_WARP;
}

// May it run while the last product does?
static bool beside(Arena *a, Stmt *s, const Stmt *gemm) {
  bool apart = is_plain(s);
  for (int i = 0; apart && i < 3; i++)
    apart = !walk_touches(a, s, gemm->u.op.arg[i].region->buf, false);
  return apart;
}

// Are the tiles of the last product all in a channel of its own? Then no other slot that is given
// back is one of its.
static bool has_own(const PlanLoop *plan, const Stmt *gemm) {
  bool own = false;
  for (int c = 0; c < plan->channels; c++) own |= plan->channel[c].first == plan->overlap.last;
  return own && gemm->u.op.arg[0].region->buf->scope == SC_FRAGMENT;
}

void overlap_sink(PassCtx *c, const PlanLoop *plan, const Stmt *gemm, Stmt *block, int at) {
  Arena *a = c->arena;
  Stmt *all = block->u.block.data[at];
  int to = at + 1, from = 0;
  while (to < block->u.block.len && beside(a, block->u.block.data[to], gemm)) to++;
  if (all->kind != ST_BLOCK || to == at + 1 || !has_own(plan, gemm)) return;
  for (int i = 0; i < all->u.block.len; i++)
    if (all->u.block.data[i]->kind == ST_FOR) from = i;
  while (!is_wait(all->u.block.data[from])) from++;
  Stmt *last = block->u.block.data[to - 1], *both = st_block(a, last->span);
  vec_push(a, &both->u.block, last);
  for (int i = from; i < all->u.block.len; i++) vec_push(a, &both->u.block, all->u.block.data[i]);
  all->u.block.len = from;
  block->u.block.data[to - 1] = both;
}
