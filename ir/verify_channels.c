// Checks of a producer's channels at tile level, between the roles pass and lowering. A channel is
// a ring of tiles with two mbarriers a slot, known by what the producers' branch does:
//   producer   wait(empty[slot]); arrive_tx(full[slot]); loads of all its tiles' slots
//   consumers  wait(full[slot]); uses of the tiles' slots; each warp arrives at empty[slot]
// Both take as many turns (verify_turns.c), and as many arrive in a phase as its barrier counts.
// A block that waits for a slot lets it go, once, and nothing touches the tile outside of that. One
// exception: an iteration may keep its slot until the next one has its own, which then lets it
// go on the condition that it is not the first; what the last one kept follows the loop.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

enum { CHANNELS = 64, TILES = 8 };

typedef struct {
  const Buffer *full, *empty, *tile[TILES];
  int tiles;
  bool waited, freed; // by the consumers, somewhere
} Channel;

typedef struct {
  Verify *v;
  int n;
  Channel channel[CHANNELS];
  bool single; // one thread executes the producer's statement at hand
} Channels;

// What the consumers hold at a point of a block.
typedef struct {
  const Expr *slot[CHANNELS]; // NULL: none
  bool own[CHANNELS];         // taken in this block
  bool kept[CHANNELS];        // by the iteration before, or by the loop that has ended
} Held;

static const Region *operand(const Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].region;
}

static bool is_arrival(const Stmt *s) {
  return st_is_op(s, OP_MBAR_ARRIVE) || st_is_op(s, OP_MBAR_ARRIVE_REMOTE);
}

static int by_full(const Channels *c, const Buffer *b) {
  for (int i = 0; i < c->n; i++)
    if (c->channel[i].full == b) return i;
  return -1;
}

static int by_empty(const Channels *c, const Buffer *b) {
  for (int i = 0; i < c->n; i++)
    if (c->channel[i].empty == b) return i;
  return -1;
}

static int by_tile(const Channels *c, const Buffer *b) {
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < c->channel[i].tiles; k++)
      if (c->channel[i].tile[k] == b) return i;
  return -1;
}

/* the producer */

typedef struct {
  const Stmt *wait, *arm; // of the slot that is being filled
  int64_t bytes;          // loaded so far
  int tiles;
} Fill;

static void add_tile(Channels *c, Channel *ch, const Buffer *tile) {
  int at = by_tile(c, tile);
  if (at >= 0 && &c->channel[at] != ch)
    verify_fail(c->v, "%s is a tile of %s and of %s", tile->name, ch->full->name,
                c->channel[at].full->name);
  if (at < 0 && ch->tiles < TILES) ch->tile[ch->tiles++] = tile;
}

static void end_fill(Channels *c, Fill *f) {
  int64_t bytes;
  if (!f->arm) return;
  c->v->stmt = f->arm;
  Expr *said = f->arm->u.op.arg[op_arg(OP_MBAR_ARRIVE_TX, "bytes")].expr;
  if (ex_const(said, &bytes) && bytes != f->bytes)
    verify_fail(c->v, "%lld bytes are expected, and %lld come", (long long)bytes,
                (long long)f->bytes);
  *f = (Fill){0};
}

static void arm(Channels *c, Fill *f, const Stmt *s) {
  const Stmt *wait = f->wait;
  end_fill(c, f);
  c->v->stmt = s;
  const Region *full = operand(s, "bar"), *empty = wait ? operand(wait, "bar") : NULL;
  f->arm = s;
  if (!c->single) verify_fail(c->v, "several threads fill a slot of %s", full->buf->name);
  if (!empty || !ex_equal(empty->min[0], full->min[0])) {
    verify_fail(c->v, "a slot of %s is filled without a wait for its consumers", full->buf->name);
    return;
  }
  int at = by_full(c, full->buf);
  if (at >= 0 && c->channel[at].empty != empty->buf)
    verify_fail(c->v, "%s is filled behind %s and %s", full->buf->name, empty->buf->name,
                c->channel[at].empty->name);
  if (at < 0 && c->n < CHANNELS)
    c->channel[c->n++] = (Channel){.full = full->buf, .empty = empty->buf};
}

static void load(Channels *c, Fill *f, const Stmt *s) {
  const Region *bar = operand(s, "bar"), *dst = operand(s, "dst");
  const Region *armed = f->arm ? operand(f->arm, "bar") : NULL;
  c->v->stmt = s;
  int at = by_full(c, bar->buf);
  bool same = armed && armed->buf == bar->buf && ex_equal(armed->min[0], bar->min[0]);
  if (!same || at < 0) {
    verify_fail(c->v, "a load for a phase of %s that expects no bytes", bar->buf->name);
    return;
  }
  if (!ex_equal(dst->min[0], bar->min[0]))
    verify_fail(c->v, "a load to another slot than that of %s", bar->buf->name);
  add_tile(c, &c->channel[at], dst->buf);
  int64_t n = dt_bits(dst->buf->dtype), extent;
  for (int i = 0; i < dst->n; i++) n *= ex_const(dst->extent[i], &extent) ? extent : 0;
  bool parts = s->u.op.arg[op_arg(OP_TILE_LOAD, "blocks")].expr;
  f->bytes += n / 8 * (parts ? kernel_cluster(c->v->kernel) : 1);
}

// Is x this constant for thread tx?
static bool is_at(const Verify *v, Expr *x, int64_t tx, int64_t what) {
  int64_t value;
  return ex_const_at(v->arena, x, &v->kernel->thread, &tx, 1, &value) && value == what;
}

// Does the condition let one thread of the block through?
static bool picks_thread(const Verify *v, Expr *cond) {
  int n = 0;
  for (int64_t tx = 0; tx < kernel_threads(v->kernel); tx++) n += is_at(v, cond, tx, 1);
  return n == 1;
}

static void produce(Channels *c, const Stmt *s) {
  if (s->kind == ST_FOR) produce(c, s->u.loop.body);
  if (s->kind == ST_IF) {
    bool before = c->single;
    if (ex_uses(s->u.branch.cond, c->v->kernel->thread) && picks_thread(c->v, s->u.branch.cond))
      c->single = true;
    produce(c, s->u.branch.yes);
    c->single = before;
    if (s->u.branch.no) produce(c, s->u.branch.no);
  }
  if (s->kind != ST_BLOCK) return;
  Fill f = {0};
  for (int i = 0; i < s->u.block.len; i++) {
    const Stmt *x = s->u.block.data[i];
    if (st_is_op(x, OP_MBAR_WAIT)) {
      end_fill(c, &f);
      f.wait = x;
    } else if (st_is_op(x, OP_MBAR_ARRIVE_TX)) arm(c, &f, x);
    else if (st_is_op(x, OP_TILE_LOAD)) load(c, &f, x);
    else produce(c, x);
  }
  end_fill(c, &f);
}

/* arrivals */

typedef struct {
  const Buffer *bar;
  int64_t count; // -1: nobody makes the barrier
} Made;

static void note_init(void *ctx, Stmt *s) {
  Made *m = ctx;
  if (st_is_op(s, OP_MBAR_INIT) && operand(s, "bar")->buf == m->bar)
    m->count = s->u.op.arg[op_arg(OP_MBAR_INIT, "count")].i;
}

static int64_t count_of(const Verify *v, const Buffer *bar) {
  Made m = {bar, -1};
  st_walk(v->kernel->body, note_init, &m);
  return m.count;
}

// Does thread tx arrive, and at block `to` where there are several?
static bool arrives(const Verify *v, const Stmt *s, int64_t tx, int64_t to) {
  const Stmt *op = st_only(s->u.branch.yes);
  if (!is_at(v, s->u.branch.cond, tx, 1)) return false;
  if (!st_is_op(op, OP_MBAR_ARRIVE_REMOTE)) return true;
  Expr *rank = op->u.op.arg[op_arg(OP_MBAR_ARRIVE_REMOTE, "rank")].expr;
  return is_at(v, rank, tx, to);
}

// The arrivals that `if ... { arrive }` makes at each block that fills the slot; -1: not of each
// warp one.
static int64_t arrivals(const Verify *v, const Stmt *s) {
  bool remote = st_is_op(st_only(s->u.branch.yes), OP_MBAR_ARRIVE_REMOTE);
  int blocks = remote ? kernel_cluster(v->kernel) : 1;
  for (int64_t warp = 0; warp < v->kernel->threads / 32; warp++)
    for (int to = 0; to < blocks; to++) {
      int n = 0;
      for (int64_t lane = 0; lane < 32; lane++) n += arrives(v, s, 32 * warp + lane, to);
      if (n != 1) return -1;
    }
  return (int64_t)(v->kernel->threads / 32) * blocks;
}

static void arrive(const Channels *c, const Stmt *s, int at) {
  const Buffer *empty = c->channel[at].empty;
  int64_t count = count_of(c->v, empty), n = arrivals(c->v, s);
  if (n < 0) verify_fail(c->v, "not each warp lets %s go, once", empty->name);
  else if (n != count)
    verify_fail(c->v, "%lld arrivals end a phase of %s, and %lld come", (long long)count,
                empty->name, (long long)n);
}

/* the consumers */

typedef struct {
  Channels *c;
  const Held *h;
} Uses;

static void use(void *ctx, const Access *a) {
  const Uses *u = ctx;
  int at = by_tile(u->c, a->region.buf);
  if (at < 0) return;
  if (!u->h->slot[at])
    verify_fail(u->c->v, "%s is used outside of wait and arrival", a->region.buf->name);
  else if (!ex_equal(a->region.min[0], u->h->slot[at]))
    verify_fail(u->c->v, "another slot of %s is used than what was waited for",
                a->region.buf->name);
}

static void take(Channels *c, const Stmt *s, Held *h) {
  const Region *bar = operand(s, "bar");
  int at = by_full(c, bar->buf);
  if (at < 0) {
    verify_fail(c->v, "a wait for %s, which nobody fills", bar->buf->name);
    return;
  }
  if (h->slot[at] && !h->kept[at])
    verify_fail(c->v, "a second wait for %s before the first slot is let go", bar->buf->name);
  h->slot[at] = bar->min[0];
  h->own[at] = true;
  h->kept[at] = false;
  c->channel[at].waited = true;
}

// The channel whose slot each warp lets go; -1: s is something else.
static int freed(const Channels *c, const Stmt *s) {
  if (s->kind != ST_IF || s->u.branch.no) return -1;
  const Stmt *x = st_only(s->u.branch.yes);
  return is_arrival(x) ? by_empty(c, operand(x, "bar")->buf) : -1;
}

static void give(Channels *c, const Stmt *s, int at, Held *h) {
  Channel *ch = &c->channel[at];
  arrive(c, s, at);
  const Expr *slot = operand(st_only(s->u.branch.yes), "bar")->min[0];
  ch->freed = true;
  if (h->kept[at]) h->kept[at] = false;
  else if (!h->own[at]) verify_fail(c->v, "%s is let go where nobody took it", ch->empty->name);
  else if (!ex_equal(slot, h->slot[at]))
    verify_fail(c->v, "another slot of %s is let go", ch->empty->name);
  h->slot[at] = NULL;
  h->own[at] = false;
}

static void consume(Channels *c, Stmt *s, Held *h, const Stmt *loop);

// `if not the first iteration { let go what the one before kept }`: the channel, or -1.
static int keeps(const Channels *c, const Stmt *s, const Stmt *loop) {
  if (!loop || s->kind != ST_IF || s->u.branch.no || s->u.branch.yes->kind != ST_BLOCK) return -1;
  const Expr *cond = s->u.branch.cond;
  bool later = cond->kind == EX_BINARY && cond->u.bin.op == BIN_NE &&
               cond->u.bin.a->kind == EX_VAR && cond->u.bin.a->u.var == loop->u.loop.var[0] &&
               ex_equal(cond->u.bin.b, loop->u.loop.min[0]);
  int at = -1;
  for (int i = 0; later && at < 0 && i < s->u.branch.yes->u.block.len; i++) {
    at = freed(c, s->u.branch.yes->u.block.data[i]);
    if (at >= 0) arrive(c, s->u.branch.yes->u.block.data[i], at);
  }
  return at;
}

static void consume_block(Channels *c, Stmt *s, Held *h, const Stmt *loop) {
  Held in = *h, now = *h;
  for (int i = 0; i < CHANNELS; i++) now.own[i] = false;
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *x = s->u.block.data[i];
    c->v->stmt = x;
    int at = freed(c, x), kept = keeps(c, x, loop);
    if (kept >= 0 && now.own[kept]) {
      c->channel[kept].freed = true;
      now.own[kept] = false; // the slot at hand stays until the next iteration, or the loop's end
      h->kept[kept] = true;
    } else if (st_is_op(x, OP_MBAR_WAIT)) take(c, x, &now);
    else if (at >= 0) give(c, x, at, &now);
    else consume(c, x, &now, NULL);
  }
  c->v->stmt = s;
  for (int i = 0; i < c->n; i++) {
    if (now.own[i]) verify_fail(c->v, "a slot of %s is kept", c->channel[i].full->name);
    if (now.kept[i] && !in.kept[i])
      verify_fail(c->v, "the last slot of %s is kept", c->channel[i].full->name);
    if (in.kept[i] && !now.kept[i]) h->kept[i] = false;
    if (in.slot[i] && !now.slot[i])
      verify_fail(c->v, "%s is let go on a condition", c->channel[i].full->name);
  }
}

// What s does with what is held: only kept slots change.
static void consume(Channels *c, Stmt *s, Held *h, const Stmt *loop) {
  c->v->stmt = s;
  if (is_arrival(s) && by_empty(c, operand(s, "bar")->buf) >= 0)
    verify_fail(c->v, "%s is let go by each thread", operand(s, "bar")->buf->name);
  if (s->kind == ST_BLOCK) {
    consume_block(c, s, h, loop);
    return;
  }
  Uses u = {c, h};
  st_accesses(c->v->arena, s, use, &u);
  if (s->kind == ST_FOR) consume(c, s->u.loop.body, h, s);
  if (s->kind != ST_IF) return;
  Held other = *h;
  consume(c, s->u.branch.yes, h, NULL);
  if (s->u.branch.no) consume(c, s->u.branch.no, &other, NULL);
}

static void find_roles(void *ctx, Stmt *s) {
  if (s->kind == ST_IF && s->u.branch.roles && s->u.branch.no) *(Stmt **)ctx = s;
}

void check_channels(Verify *v) {
  Stmt *roles = NULL;
  st_walk(v->kernel->body, find_roles, &roles);
  if (!roles) return;
  Channels c = {.v = v};
  Held h = {0};
  produce(&c, roles->u.branch.no);
  consume(&c, roles->u.branch.yes, &h, NULL);
  for (int i = 0; i < c.n; i++) {
    const Channel *ch = &c.channel[i];
    int64_t count = count_of(v, ch->full);
    v->stmt = NULL;
    if (count != 1)
      verify_fail(v, "%lld arrivals end a phase of %s, and the producer's comes", (long long)count,
                  ch->full->name);
    if (!ch->waited) verify_fail(v, "the consumers never wait for %s", ch->full->name);
    if (!ch->freed) verify_fail(v, "the consumers never arrive at %s", ch->empty->name);
    if (ch->waited && ch->freed) verify_turns(v, roles, ch->full, ch->empty);
  }
}
