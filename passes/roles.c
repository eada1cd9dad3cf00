// roles: the kernel is split between consumers, its own threads, and a producer, one thread of a
// warpgroup behind them. Between them are channels: rings of tiles with two mbarriers a slot.
//   producer   wait(empty[slot]); arm full[slot] with the bytes to come; TMA copies; next slot
//   consumers  wait(full[slot]) before the first use; each warp arrives at empty[slot] after the
//              last; next slot
// Both keep (slot, phase) across all loops around, the producer's phase one turn behind: on its
// first round the slots are empty.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "passes/pipeline.h"

typedef struct {
  Buffer *slot, *phase; // int32, one for each thread
  Var *at;              // the slot during an iteration
} Turn;

typedef struct {
  Stmt *loop;
  int index; // of PlanLoop.channel
  int depth;
  int64_t bytes;
  bool multiplied;      // channel_multiplied
  Buffer *full, *empty; // mbarriers, one a slot
  Turn consumer, producer;
} Channel;

// Who takes the turns of a tile: the producer; consumers whose tile is another team's, or not
// there.
typedef enum { FILLS, SKIPS, DRAINS } Slice;

typedef struct {
  PassCtx *c;
  Arena *a;
  const Program *program;
  Kernel *kernel;
  Cluster own; // block in its cluster
  int cluster;
  Stmt *once;  // the loop of one iteration that stands for the body; NULL: it has no channels
  Slice slice; // at hand
  VEC(Channel *) channels;
} Roles;

static Expr *num(Roles *r, int64_t v) { return ex_index(r->a, v); }

static Buffer *declare(Roles *r, const char *name, DType t, Scope scope, int n, Span span) {
  Expr *shape = num(r, n);
  Buffer *b = buf_new(r->a, name, t, scope, &shape, 1, span);
  vec_push(r->a, &r->kernel->buffers, b);
  return b;
}

static Expr *value(Roles *r, Buffer *b) { return ex_load(r->a, b, (Expr *[]){num(r, 0)}, 1); }

static Stmt *set(Roles *r, Buffer *b, Expr *x, Span span) {
  return st_store(r->a, b, (Expr *[]){num(r, 0)}, 1, x, span);
}

static Expr *slot(Roles *r, const Turn *t) { return ex_var(r->a, t->at); }

// The slot of the iteration that begins, and what is known of it.
static void take_slot(Roles *r, const Turn *t, int depth, Stmt *out, Span span) {
  Expr *at = ex_var(r->a, t->at), *zero = num(r, 0);
  Expr *low = ex_bin(r->a, BIN_LE, zero, at), *high = ex_lt(r->a, at, num(r, depth));
  Expr *now = depth == 1 ? zero : ex_cast(r->a, DT_INDEX, value(r, t->slot));
  st_add(r->a, out, st_let(r->a, t->at, now, span));
  st_add(r->a, out, st_known(r->a, ex_and(r->a, low, high), span));
}

static Region *barrier(Roles *r, Buffer *bars, Expr *at) {
  Expr *one = num(r, 1);
  return region_new(r->a, bars, &at, &one);
}

static int channel_of(const Roles *r, const Stmt *s) {
  if (s->kind != ST_OP || s->u.op.op != OP_COPY) return 0;
  return plan_copy(r->c->plan, s)->channel;
}

/* ------------------------------------------------------------------ channels */

static Turn new_turn(Roles *r, const char *of, const char *who, Span span) {
  return (Turn){declare(r, arena_printf(r->a, "%s_slot%s", of, who), DT_I32, SC_LOCAL, 1, span),
                declare(r, arena_printf(r->a, "%s_phase%s", of, who), DT_I32, SC_LOCAL, 1, span),
                var_new(r->a, "slot", DT_INDEX, VAR_LET, span)};
}

static void open_channel(Roles *r, Stmt *loop, const PlanLoop *plan, int index) {
  Channel *ch = NEW(r->a, Channel);
  *ch = (Channel){.loop = loop, .index = index, .depth = plan->depth};
  const char *name = NULL; // of the first tile
  Expr *cond;
  const Stmt *body = *plan_loop_body(loop, &cond);
  for (int i = 0; i < body->u.block.len; i++) {
    Stmt *s = body->u.block.data[i];
    if (channel_of(r, s) != index + 1) continue;
    Buffer *tile = s->u.op.arg[1].region->buf;
    if (!name) name = tile->name;
    ch->bytes += buf_bytes(tile);
    tile->layout = plan_tma_layout(r->a, tile);
  }
  ch->multiplied = channel_multiplied(r->c, body, index + 1);
  Span span = loop->span;
  ch->full = declare(r, arena_printf(r->a, "%s_full", name), DT_U64, SC_SHARED, ch->depth, span);
  ch->empty = declare(r, arena_printf(r->a, "%s_empty", name), DT_U64, SC_SHARED, ch->depth, span);
  ch->consumer = new_turn(r, name, "", span);
  ch->producer = new_turn(r, name, "_next", span);
  vec_push(r->a, &r->channels, ch);
  int asked = loop->kind == ST_FOR ? loop->u.loop.num_stages : 0;
  const char *more = arena_printf(r->a, " where num_stages asks for %d", asked);
  diag_remark(r->c->diags, span, "roles", "%s: a channel of %d slots%s, %lld bytes each, by TMA",
              name, ch->depth, asked && asked != ch->depth ? more : "", (long long)ch->bytes);
}

static void find_channels(void *ctx, Stmt *s) {
  Roles *r = ctx;
  PlanLoop *plan = plan_loop(r->c->plan, s);
  for (int i = 0; plan && i < plan->channels; i++) open_channel(r, s, plan, i);
}

static Channel *channel(const Roles *r, const Stmt *loop, int index) {
  for (int i = 0; i < r->channels.len; i++)
    if (r->channels.data[i]->loop == loop && r->channels.data[i]->index == index)
      return r->channels.data[i];
  die("roles: a loop without its channel");
}

static void add_rings(Roles *r) {
  RingVec rings = {0};
  for (int i = 0; i < r->channels.len; i++) {
    const Channel *ch = r->channels.data[i];
    Expr *cond;
    const Stmt *body = *plan_loop_body(ch->loop, &cond);
    for (int k = 0; k < body->u.block.len; k++) {
      if (channel_of(r, body->u.block.data[k]) != ch->index + 1) continue;
      Ring ring = {body->u.block.data[k]->u.op.arg[1].region->buf, ch->loop, ch->depth,
                   slot(r, &ch->consumer)};
      vec_push(r->a, &rings, ring);
    }
  }
  rings_apply(r->c, r->kernel, &rings);
}

// slot = next slot, 0 after the last; phase changes with each round.
static void advance(Roles *r, const Channel *ch, const Turn *t, Stmt *out) {
  Arena *a = r->a;
  Span span = ch->loop->span;
  Expr *last = ex_bin(a, BIN_EQ, slot(r, t), num(r, ch->depth - 1));
  Expr *next = ex_select(a, last, num(r, 0), ex_add(a, slot(r, t), num(r, 1)));
  Expr *wraps = ex_cast(a, DT_I32, ex_select(a, last, num(r, 1), num(r, 0)));
  if (ch->depth > 1) st_add(a, out, set(r, t->slot, ex_cast(a, DT_I32, next), span));
  st_add(a, out, set(r, t->phase, ex_bin(a, BIN_BITXOR, value(r, t->phase), wraps), span));
}

// Blocks whose producers write to a slot.
static int fillers(const Roles *r, const Channel *ch) {
  return plan_loop(r->c->plan, ch->loop)->channel[ch->index].shared ? r->cluster : 1;
}

/* ------------------------------------------------------------------ the producer */

static Stmt *produce(Roles *r, Stmt *s);

// This block's part of a tile, for all blocks of the cluster.
static Expr *take_part(Roles *r, int parts, Region *src, Region *dst) {
  int from, to;
  if (!parts) return NULL;
  if (!cluster_rows(src, dst, &from, &to)) die("roles: a tile without parts");
  Expr *rows = ex_floordiv(r->a, dst->extent[to], num(r, parts));
  Expr *first = ex_mul(r->a, ex_var(r->a, r->own.rank), rows);
  src->min[from] = ex_add(r->a, src->min[from], first);
  dst->min[to] = ex_add(r->a, dst->min[to], first);
  src->extent[from] = dst->extent[to] = rows;
  return ex_int(r->a, DT_I32, (1 << parts) - 1);
}

static void fill(Roles *r, const Channel *ch, const Stmt *body, Stmt *out) {
  Arena *a = r->a;
  Expr *at = slot(r, &ch->producer), *phase = value(r, ch->producer.phase);
  Expr *parity = ex_bin(a, BIN_BITXOR, phase, ex_int(a, DT_I32, 1));
  Span span = ch->loop->span;
  take_slot(r, &ch->producer, ch->depth, out, span);
  st_add(a, out, st_op(a, OP_MBAR_WAIT, span, barrier(r, ch->empty, at), parity));
  st_add(a, out,
         st_op(a, OP_MBAR_ARRIVE_TX, span, barrier(r, ch->full, at), ex_int(a, DT_I32, ch->bytes)));
  for (int i = 0; i < body->u.block.len; i++) {
    Stmt *s = body->u.block.data[i];
    if (channel_of(r, s) != ch->index + 1) continue;
    Region *src = walk_region(a, s->u.op.arg[0].region);
    Region *dst = walk_region(a, s->u.op.arg[1].region);
    dst->min[0] = at;
    Expr *blocks = take_part(r, plan_copy(r->c->plan, s)->parts, src, dst);
    st_add(a, out, st_op(a, OP_TILE_LOAD, s->span, src, dst, barrier(r, ch->full, at), blocks));
  }
  advance(r, ch, &ch->producer, out);
}

// n iterations of the consumer's turn at once.
static void advance_by(Roles *r, const Channel *ch, Expr *n, Stmt *out) {
  Arena *a = r->a;
  const Turn *t = &ch->consumer;
  Span span = ch->loop->span;
  Var *v = var_new(a, "end", DT_INDEX, VAR_LET, span);
  Expr *depth = num(r, ch->depth), *end = ex_var(a, v);
  take_slot(r, t, ch->depth, out, span);
  st_add(a, out, st_let(a, v, ex_add(a, slot(r, t), n), span));
  Expr *turns = ex_floormod(a, ex_floordiv(a, end, depth), num(r, 2));
  Expr *at = ex_cast(a, DT_I32, ex_floormod(a, end, depth));
  if (ch->depth > 1) st_add(a, out, set(r, t->slot, at, span));
  st_add(
      a, out,
      set(r, t->phase, ex_bin(a, BIN_BITXOR, value(r, t->phase), ex_cast(a, DT_I32, turns)), span));
}

static void add_lets(Roles *r, const Stmt *body, Stmt *out) {
  for (int i = 0; i < body->u.block.len; i++)
    if (body->u.block.data[i]->kind == ST_LET) st_add(r->a, out, body->u.block.data[i]);
}

static Stmt *await(Roles *r, const Channel *ch, Span span) {
  const Turn *t = &ch->consumer;
  return st_op(r->a, OP_MBAR_WAIT, span, barrier(r, ch->full, slot(r, t)), value(r, t->phase));
}

static void let_go(Roles *r, const Channel *ch, Expr *at, Stmt *out);

// A block without a tile lets go what comes: others load to it, and wait for it.
static void drain(Roles *r, const Channel *ch, Stmt *out) {
  take_slot(r, &ch->consumer, ch->depth, out, ch->loop->span);
  st_add(r->a, out, await(r, ch, ch->loop->span));
  st_add(r->a, out, st_op(r->a, OP_SYNC_WARP, ch->loop->span)); // until all lanes have seen it
  let_go(r, ch, slot(r, &ch->consumer), out);
  advance(r, ch, &ch->consumer, out);
}

static void produce_turn(Roles *r, const Channel *ch, const Stmt *body, Stmt *out) {
  if (r->slice == DRAINS) drain(r, ch, out);
  else fill(r, ch, body, out);
}

// The lets of an iteration, then its channels in the order of their first copies, and loops inside.
// What the consumers take an iteration late comes last: a ring of one slot is full until then.
static Stmt *produce_body(Roles *r, Stmt *loop) {
  Expr *cond;
  Stmt *body = *plan_loop_body(loop, &cond), *out = st_block(r->a, body->span);
  const PlanLoop *plan = plan_loop(r->c->plan, loop);
  bool done[PLAN_CHANNELS] = {false}, late[PLAN_CHANNELS] = {false};
  for (int i = 0; i < plan->channels; i++)
    late[i] = plan->overlap.last && plan->channel[i].first == plan->overlap.last;
  add_lets(r, body, out);
  for (int i = 0; i < body->u.block.len; i++) {
    int ch = channel_of(r, body->u.block.data[i]);
    bool let = body->u.block.data[i]->kind == ST_LET;
    Stmt *inner = ch || let ? NULL : produce(r, body->u.block.data[i]);
    if (inner) st_add(r->a, out, inner);
    if (!ch || done[ch - 1]) continue;
    done[ch - 1] = true;
    if (!late[ch - 1]) produce_turn(r, channel(r, loop, ch - 1), body, out);
  }
  for (int i = 0; i < plan->channels; i++)
    if (late[i]) produce_turn(r, channel(r, loop, i), body, out);
  if (!cond) return out;
  Stmt *all = st_block(r->a, body->span);
  add_lets(r, loop->u.loop.body, all);
  st_add(r->a, all, st_if(r->a, cond, out, NULL, body->span));
  return all;
}

// The turns of a loop that another team takes: at once, where each iteration has one.
static Stmt *skip_loop(Roles *r, Stmt *loop, const PlanLoop *plan) {
  Arena *a = r->a;
  Expr *cond, *n = ex_bin(a, BIN_MAX, loop->u.loop.extent[0], num(r, 0));
  plan_loop_body(loop, &cond);
  Stmt *out = st_block(a, loop->span), *each = st_block(a, loop->span);
  for (int i = 0; i < plan->channels; i++) {
    const Channel *ch = channel(r, loop, i);
    advance_by(r, ch, cond ? num(r, 1) : n, out);
  }
  if (!cond) return out;
  add_lets(r, loop->u.loop.body, each);
  st_add(a, each, st_if(a, cond, out, NULL, loop->span));
  return st_for(a, LOOP_SERIAL, loop->u.loop.var[0], loop->u.loop.min[0], loop->u.loop.extent[0],
                each, loop->span);
}

static Stmt *produce_loop(Roles *r, Stmt *s) {
  PlanLoop *plan = plan_loop(r->c->plan, s);
  bool own = plan && plan->channels;
  if (own && r->slice == SKIPS) return skip_loop(r, s, plan);
  Stmt *body = own ? produce_body(r, s) : produce(r, s->u.loop.body);
  if (!body || s == r->once) return body;
  return st_for(r->a, LOOP_SERIAL, s->u.loop.var[0], s->u.loop.min[0], s->u.loop.extent[0],
                walk_block(r->a, body), s->span);
}

// What of a statement the slice at hand does; NULL: nothing. Shares lets and variables with the
// original: the caller clones.
static Stmt *produce(Roles *r, Stmt *s) {
  if (!s) return NULL;
  if (s == r->own.present) return produce(r, s->u.branch.yes);
  if (s->kind == ST_FOR && s->u.loop.nvars == 1) return produce_loop(r, s);
  if (s->kind == ST_IF) {
    Stmt *yes = produce(r, s->u.branch.yes), *no = produce(r, s->u.branch.no);
    if (!yes && !no) return NULL;
    return st_if(r->a, s->u.branch.cond, yes ? walk_block(r->a, yes) : st_block(r->a, s->span),
                 no ? walk_block(r->a, no) : NULL, s->span);
  }
  if (s->kind != ST_BLOCK) return NULL;
  Stmt *out = st_block(r->a, s->span);
  bool any = false;
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *x = s->u.block.data[i], *y = x->kind == ST_LET ? x : produce(r, x);
    any = any || (y && x->kind != ST_LET);
    if (y) st_add(r->a, out, y);
  }
  return any ? out : NULL;
}

typedef struct {
  Roles *r;
  Stmt *root;
  VEC(const Stmt *) unused;
} Unused;

static void find_unused(void *ctx, Stmt *s) {
  Unused *d = ctx;
  if (s->kind == ST_LET && !st_uses(d->root, s->u.let.var)) vec_push(d->r->a, &d->unused, s);
}

static Stmt *drop_let(void *ctx, Stmt *s) {
  const Unused *d = ctx;
  for (int i = 0; i < d->unused.len; i++)
    if (d->unused.data[i] == s) return NULL;
  return s;
}

// Lets that only the consumers need may read what the producer cannot see.
static Stmt *without_unused_lets(Roles *r, Stmt *s) {
  for (;;) {
    Unused d = {.r = r, .root = s};
    st_walk(s, find_unused, &d);
    if (!d.unused.len) return s;
    s = walk_block(r->a, st_rewrite(r->a, s, drop_let, &d));
  }
}

static Stmt *slice_of(Roles *r, Slice slice, Stmt *s) {
  r->slice = slice;
  Stmt *out = walk_block(r->a, produce(r, s));
  return walk_clone(r->a, without_unused_lets(r, out), r->c->plan);
}

/* ------------------------------------------------------------------ the consumers */

// Each warp arrives at empty[at], of all blocks that fill the slot.
static void let_go(Roles *r, const Channel *ch, Expr *at, Stmt *out) {
  Arena *a = r->a;
  Span span = ch->loop->span;
  Expr *lane = ex_floormod(a, ex_var(a, r->kernel->thread), num(r, 32));
  Stmt *arrive = st_block(a, span);
  Region *bar = barrier(r, ch->empty, at);
  int blocks = fillers(r, ch);
  st_add(a, arrive,
         blocks == 1
             ? st_op(a, OP_MBAR_ARRIVE, span, bar)
             : st_op(a, OP_MBAR_ARRIVE_REMOTE, span, bar, ex_cast(a, DT_I32, lane), (int64_t)1));
  Expr *some = blocks == 1 ? ex_bin(a, BIN_EQ, lane, num(r, 0)) : ex_lt(a, lane, num(r, blocks));
  st_add(a, out, st_if(a, some, arrive, NULL, span));
}

// Once all lanes have read.
static void release(Roles *r, const Channel *ch, Expr *at, Stmt *out) {
  if (!ch->multiplied) st_add(r->a, out, st_op(r->a, OP_SYNC_WARP, ch->loop->span));
  let_go(r, ch, at, out);
}

// The slot before `at`.
static Expr *before(Roles *r, const Channel *ch, Expr *at) {
  Expr *first = ex_bin(r->a, BIN_EQ, at, num(r, 0));
  return ex_select(r->a, first, num(r, ch->depth - 1), ex_sub(r->a, at, num(r, 1)));
}

// Behind a gemm whose products fly: those of the iteration before are complete.
static void release_before(Roles *r, const Channel *ch, Stmt *out) {
  Arena *a = r->a;
  Stmt *loop = ch->loop, *some = st_block(a, loop->span);
  Expr *k = ex_var(a, loop->u.loop.var[0]);
  release(r, ch, before(r, ch, slot(r, &ch->consumer)), some);
  st_add(a, out, st_if(a, ex_bin(a, BIN_NE, k, loop->u.loop.min[0]), some, NULL, loop->span));
}

// The loop whose last products still fly, with what goes before and after it.
static Stmt *landed(Roles *r, Stmt *loop, const PlanLoop *plan) {
  Arena *a = r->a;
  const Channel *ch = channel(r, loop, 0);
  Span span = plan->ahead->span;
  Stmt *out = st_block(a, loop->span), *some = st_block(a, loop->span);
  Region *acc = plan->ahead->u.op.arg[2].region;
  st_add(a, out, st_op(a, OP_WGMMA_FENCE, span, walk_region(a, acc), NULL));
  st_add(a, out, loop);
  st_add(a, out, st_op(a, OP_WGMMA_WAIT, span, walk_region(a, acc), (int64_t)0, NULL));
  Turn end = ch->consumer; // its slot is one past the last one taken
  end.at = var_new(a, "end", DT_INDEX, VAR_LET, span);
  take_slot(r, &end, ch->depth, some, span);
  release(r, ch, before(r, ch, slot(r, &end)), some);
  Expr *any = ex_lt(a, num(r, 0), loop->u.loop.extent[0]);
  st_add(a, out, ex_is(any, 1) ? some : st_if(a, any, some, NULL, loop->span));
  return out;
}

static void consume_loop(Roles *r, Stmt *loop, const PlanLoop *plan) {
  Expr *cond;
  Stmt **at = plan_loop_body(loop, &cond), *old = *at, *body = st_block(r->a, old->span);
  for (int c = 0; c < plan->channels; c++) {
    const Channel *ch = channel(r, loop, c);
    take_slot(r, &ch->consumer, ch->depth, body, loop->span);
  }
  for (int i = 0; i < old->u.block.len; i++) {
    Stmt *s = old->u.block.data[i];
    for (int c = 0; c < plan->channels; c++) {
      const Channel *ch = channel(r, loop, c);
      if (plan->channel[c].first == i) st_add(r->a, body, await(r, ch, s->span));
    }
    if (!channel_of(r, s)) st_add(r->a, body, s);
    for (int c = 0; c < plan->channels; c++) {
      const Channel *ch = channel(r, loop, c);
      if (plan->channel[c].last != i) continue;
      if (plan->ahead) release_before(r, ch, body);
      else release(r, ch, slot(r, &ch->consumer), body);
      advance(r, ch, &ch->consumer, body);
    }
  }
  *at = body;
  loop->u.loop.loop = LOOP_SERIAL;
  loop->u.loop.num_stages = 0;
}

static OverlapTurn turn_of(Roles *r, const Channel *ch) {
  Arena *a = r->a;
  Span span = ch->loop->span;
  OverlapTurn t = {st_block(a, span), st_block(a, span), st_block(a, span)};
  take_slot(r, &ch->consumer, ch->depth, t.take, span);
  st_add(a, t.wait, await(r, ch, span));
  release(r, ch, slot(r, &ch->consumer), t.give);
  advance(r, ch, &ch->consumer, t.give);
  return t;
}

static Stmt *same(void *ctx, Stmt *s) {
  (void)ctx;
  return s;
}

static Stmt *consume(Roles *r, Stmt *s);

static Stmt *consume_own(Roles *r, Stmt *loop, const PlanLoop *plan) {
  if (loop == r->once) {
    consume_loop(r, loop, plan);
    return consume(r, loop->u.loop.body);
  }
  if (plan->overlap.last) {
    OverlapTurn turn[PLAN_CHANNELS];
    for (int i = 0; i < plan->channels; i++) turn[i] = turn_of(r, channel(r, loop, i));
    return overlap_loop(r->c, r->kernel, loop, turn);
  }
  consume_loop(r, loop, plan);
  return plan->ahead ? landed(r, loop, plan) : loop;
}

static void consume_block(Roles *r, Stmt *s) {
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *x = s->u.block.data[i];
    const PlanLoop *plan = plan_loop(r->c->plan, x);
    const Stmt *last =
        plan && plan->overlap.last ? x->u.loop.body->u.block.data[plan->overlap.last] : NULL;
    s->u.block.data[i] = consume(r, x);
    if (last) overlap_sink(r->c, plan, last, s, i);
  }
}

// In place: what stands for a statement stays at its position, by which a channel knows it.
static Stmt *consume(Roles *r, Stmt *s) {
  if (!s) return NULL;
  if (s->kind == ST_BLOCK) consume_block(r, s);
  if (s->kind == ST_IF) {
    s->u.branch.yes = consume(r, s->u.branch.yes);
    s->u.branch.no = consume(r, s->u.branch.no);
  }
  if (s->kind != ST_FOR) return s;
  const PlanLoop *plan = plan_loop(r->c->plan, s);
  if (plan && plan->channels) return consume_own(r, s, plan);
  s->u.loop.body = consume(r, s->u.loop.body);
  return s;
}

/* ------------------------------------------------------------------ the kernel */

static void start(Roles *r, const Turn *t, int depth, Stmt *out, Span span) {
  if (depth > 1) st_add(r->a, out, set(r, t->slot, ex_int(r->a, DT_I32, 0), span));
  st_add(r->a, out, set(r, t->phase, ex_int(r->a, DT_I32, 0), span));
}

static void sync_cluster(Roles *r, Stmt *out) {
  st_add(r->a, out, st_op(r->a, OP_CLUSTER_ARRIVE, r->kernel->span));
  st_add(r->a, out, st_op(r->a, OP_CLUSTER_WAIT, r->kernel->span));
}

// Thread 0 makes the barriers; nobody passes before it has.
static void init_barriers(Roles *r, Stmt *out) {
  Arena *a = r->a;
  Kernel *k = r->kernel;
  Stmt *init = st_block(a, k->span);
  for (int i = 0; i < r->channels.len; i++) {
    const Channel *ch = r->channels.data[i];
    Var *v = var_new(a, "s", DT_INDEX, VAR_LOOP, k->span);
    Stmt *each = st_block(a, k->span);
    st_add(a, each,
           st_op(a, OP_MBAR_INIT, k->span, barrier(r, ch->full, ex_var(a, v)), (int64_t)1));
    st_add(a, each,
           st_op(a, OP_MBAR_INIT, k->span, barrier(r, ch->empty, ex_var(a, v)),
                 (int64_t)k->threads / 32 * fillers(r, ch)));
    st_add(a, init, st_for(a, LOOP_UNROLL, v, num(r, 0), num(r, ch->depth), each, k->span));
  }
  st_add(a, init, st_op(a, OP_FENCE_MBAR_INIT, k->span));
  Expr *first = ex_bin(a, BIN_EQ, ex_var(a, k->thread), num(r, 0));
  st_add(a, out, st_if(a, first, init, NULL, k->span));
  if (r->own.rank) sync_cluster(r, out);
  else st_add(a, out, st_op(a, OP_SYNC, k->span));
}

static void split(Roles *r, const PlanRoles *plan) {
  Arena *a = r->a;
  Kernel *k = r->kernel;
  Span span = k->span;
  Expr *thread = ex_var(a, k->thread), *threads = num(r, k->threads);
  int consumers_all = k->threads * plan->teams;
  Stmt *producer = st_block(a, span), *elected = st_block(a, span), *consumers = st_block(a, span);
  Stmt *slice = slice_of(r, FILLS, k->body), *skip = NULL;
  if (r->own.present)
    r->own.present->u.branch.no = slice_of(r, DRAINS, r->own.present->u.branch.yes);
  if (plan->teams > 1) {
    skip = slice_of(r, SKIPS, k->body);
    k->teams = plan->teams;
    k->team = var_new(a, "team", DT_INDEX, VAR_TEAM, span);
    diag_remark(r->c->diags, span, "roles", "%d teams of %d threads take turns at tiles", k->teams,
                k->threads);
  }
  k->body = walk_block(a, st_rewrite(a, consume(r, k->body), same, NULL));
  for (int i = 0; i < r->channels.len; i++) {
    const Channel *ch = r->channels.data[i];
    start(r, &ch->producer, ch->depth, elected, span);
    start(r, &ch->consumer, ch->depth, consumers, span);
  }
  if (thrift_persistent(r->c, r->program, k)) {
    Tiles tiles = persist_open(r->a, k, r->own.rank ? r->cluster : 1);
    slice = persist_tiles(r->a, k, &tiles, slice, NULL);
    k->body = persist_tiles(r->a, k, &tiles, k->body, skip);
    diag_remark(r->c->diags, span, "roles", "persistent: each block walks over several tiles");
  }
  st_add(a, elected, slice);
  // What all threads start with may be as much as the consumers can get.
  bool moves = plan->consumer_regs > r->c->target->regs_per_sm / (consumers_all + 128) / 8 * 8;
  if (moves) {
    st_add(a, producer, st_op(a, OP_SETMAXNREG, span, (int64_t)plan->producer_regs, (int64_t)0));
    st_add(a, consumers, st_op(a, OP_SETMAXNREG, span, (int64_t)plan->consumer_regs, (int64_t)1));
  }
  st_add(a, producer,
         st_if(a, ex_bin(a, BIN_EQ, thread, num(r, consumers_all)), elected, NULL, span));
  st_add(a, consumers, k->body);
  Stmt *body = st_block(a, span);
  init_barriers(r, body);
  st_add(a, body, st_roles(a, ex_lt(a, thread, threads), consumers, producer, span));
  k->body = body;
  if (r->own.rank) {
    // No block ends while others load to its tiles or arrive at its barriers.
    st_add(a, body, st_op(a, OP_SYNC_WARP, span));
    sync_cluster(r, body);
    cluster_close(a, k, r->cluster, r->own.rank);
  }
  k->launch_threads = consumers_all + 128;
  k->min_blocks = 1;
}

/* ------------------------------------------------------------------ the pass */

void pass_roles(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Roles r = {.c = c, .a = c->arena, .program = p, .kernel = p->kernels.data[i]};
    PlanRoles *plan = plan_of_roles(c->plan, r.kernel);
    if (plan) once_locate(r.kernel, plan);
    fold_clears(c, p, r.kernel);
    r.kernel->body = roles_store(c, r.kernel->body);
    if (!plan) continue;
    r.once = once_open(c, r.kernel, plan);
    r.cluster = plan->cluster;
    if (r.cluster) r.own = cluster_open(c, r.kernel, plan);
    st_walk(r.kernel->body, find_channels, &r);
    add_rings(&r);
    split(&r, plan);
  }
}
