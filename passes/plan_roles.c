// Warp specialisation: which loops get their tiles from a producer. A producer runs the kernel's
// control flow again, without what the consumers compute: every loop, condition and address around
// the copies must be the same for all threads, and known without the consumers' results.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "passes/plan_internal.h"

enum { TEAMS = 2 };

typedef struct {
  PassCtx *c;
  Facts *facts;
  Program *program;
  Kernel *kernel;
  Uniform *uniform;
  VEC(const Var *) opaque; // lets that only the consumers can evaluate
  int loops;               // with channels
  bool starved;            // a producer would leave a product too few registers
  const Stmt *once;        // the loop that stands for the kernel's body, while that is looked at
} Roles;

static bool consumers_own(const Roles *r, const Buffer *b) {
  if (b->scope != SC_GLOBAL) return true;
  return walk_touches(r->c->arena, r->kernel->body, b, true);
}

typedef struct {
  const Roles *r;
  bool no;
} Query;

static void query_node(void *ctx, Expr *x) {
  Query *q = ctx;
  if (x->kind == EX_LOAD && consumers_own(q->r, x->u.load.buf)) q->no = true;
  if (x->kind != EX_VAR) return;
  if (x->u.var->kind == VAR_THREAD) q->no = true;
  for (int i = 0; i < q->r->opaque.len; i++)
    if (q->r->opaque.data[i] == x->u.var) q->no = true;
}

static bool repeatable(const Roles *r, Expr *x) {
  Query q = {r, false};
  ex_walk(x, query_node, &q);
  return !q.no;
}

static void note_let(void *ctx, Stmt *s) {
  Roles *r = ctx;
  if (s->kind == ST_LET && !repeatable(r, s->u.let.value))
    vec_push(r->c->arena, &r->opaque, s->u.let.var);
}

static const char *copy_why(Roles *r, Stmt *loop, int at) {
  Expr *cond;
  Stmt *s = (*plan_loop_body(loop, &cond))->u.block.data[at];
  const char *why = plan_tma_why(r->c, r->facts, r->kernel, s);
  if (!why) why = plan_in_order_why(r->c, r->kernel, loop, at);
  if (why) return why;
  const Region *src = s->u.op.arg[0].region;
  if (walk_touches(r->c->arena, r->kernel->body, src->buf, true))
    return arena_printf(r->c->arena, "the kernel writes %s", src->buf->name);
  for (int d = 0; d < src->n; d++)
    if (!repeatable(r, src->min[d])) return "its address is computed by the consumers";
  if (cond && !repeatable(r, cond)) return "its condition is computed by the consumers";
  const Buffer *tile = s->u.op.arg[1].region->buf;
  if (r->once || !walk_touches_beside(r->c->arena, r->kernel->body, loop, tile)) return NULL;
  return arena_printf(r->c->arena, "%s is used outside the loop", tile->name);
}

// The position in the loop's body of the first or the last other statement that uses the tile.
static int use_of(Roles *r, const Stmt *body, int copy, bool last) {
  const Buffer *b = body->u.block.data[copy]->u.op.arg[1].region->buf;
  int at = -1;
  for (int i = 0; i < body->u.block.len && (last || at < 0); i++)
    if (i != copy && walk_touches(r->c->arena, body->u.block.data[i], b, false)) at = i;
  return at;
}

// Copies whose tiles are first used by the same statement arrive together.
static void plan_channels(Roles *r, Stmt *loop, PlanLoop *plan) {
  Expr *cond;
  Stmt *body = *plan_loop_body(loop, &cond);
  for (int i = 0; i < body->u.block.len; i++) {
    Stmt *s = body->u.block.data[i];
    if (s->kind != ST_OP || s->u.op.op != OP_COPY) continue;
    PlanCopy *copy = plan_copy(r->c->plan, s);
    const char *why = copy_why(r, loop, i);
    int first = why ? -1 : use_of(r, body, i, false), last = why ? -1 : use_of(r, body, i, true);
    if (first < 0) {
      if (why && !r->once && s->u.op.arg[0].region->buf->scope == SC_GLOBAL)
        diag_remark(r->c->diags, s->span, "copy", "not by TMA: %s", why);
      continue;
    }
    int ch = 0;
    while (ch < plan->channels && plan->channel[ch].first != first) ch++;
    if (ch == PLAN_CHANNELS) continue;
    if (ch == plan->channels) plan->channel[plan->channels++] = (PlanChannel){first, last, false};
    if (last > plan->channel[ch].last) plan->channel[ch].last = last;
    copy->channel = ch + 1;
  }
}

// The loop runs in order for the consumers: what else it copies waits for its turn.
static void keep_others_in_order(Roles *r, Stmt *loop, PlanLoop *plan) {
  Expr *cond;
  const Stmt *body = *plan_loop_body(loop, &cond);
  for (int i = 0; i < body->u.block.len; i++) {
    Stmt *s = body->u.block.data[i];
    if (s->kind == ST_OP && s->u.op.op == OP_COPY) plan_copy(r->c->plan, s)->async = false;
  }
  plan->copies = 0;
  plan->depth = plan->stages;
  r->loops++;
}

// A gather that runs ahead does so by the consumers' cp.async, and the other tiles with it.
static bool gathers(const Roles *r, Stmt *loop) {
  Expr *cond;
  const StmtVec *body = &(*plan_loop_body(loop, &cond))->u.block;
  for (int i = 0; i < body->len; i++)
    if (body->data[i]->kind == ST_FOR && plan_async(r->c->plan, body->data[i])) return true;
  return false;
}

// What keeps a producer from repeating the loop's control; NULL: nothing.
static const char *control_why(const Roles *r, const Stmt *loop) {
  if (loop->u.loop.cond) return "a loop ends on what the consumers compute";
  bool bounds = loop->u.loop.nvars == 1 && repeatable(r, loop->u.loop.min[0]) &&
                repeatable(r, loop->u.loop.extent[0]);
  return bounds ? NULL : "the consumers compute a loop's bounds";
}

// Loops with copies for the producer; `why` says why it cannot follow the path to them.
static void find_loops(Roles *r, Stmt *s, const char *why) {
  if (!s) return;
  if (s->kind == ST_BLOCK)
    for (int i = 0; i < s->u.block.len; i++) find_loops(r, s->u.block.data[i], why);
  if (s->kind == ST_IF) {
    if (!why && !repeatable(r, s->u.branch.cond)) why = "the consumers compute a condition around";
    find_loops(r, s->u.branch.yes, why);
    find_loops(r, s->u.branch.no, why);
  }
  if (s->kind != ST_FOR || s->u.loop.loop == LOOP_PARALLEL) return;
  if (!why) why = control_why(r, s);
  PlanLoop *plan = plan_loop(r->c->plan, s);
  bool tiles = s->u.loop.loop == LOOP_PIPELINED && plan && plan->stages > 0;
  if (tiles && why) diag_remark(r->c->diags, s->span, "roles", "no producer: %s", why);
  if (tiles && !why && !gathers(r, s)) plan_channels(r, s, plan);
  if (plan && plan->channels) keep_others_in_order(r, s, plan);
  else find_loops(r, s->u.loop.body, why);
}

/* products that overlap those of the iteration before */

enum { SHORT_LOOP = 4 };

typedef struct {
  const Buffer *acc;
  int gemms;
} Adders;

static void count_adders(void *ctx, Stmt *s) {
  Adders *x = ctx;
  if (s->kind == ST_OP && s->u.op.op == OP_GEMM && s->u.op.arg[2].region->buf == x->acc) x->gemms++;
}

// The one gemm that the loop does with what its one channel holds; NULL: it does more.
static Stmt *only_gemm(Roles *r, Stmt *loop, const PlanLoop *plan) {
  Expr *cond;
  const Stmt *body = *plan_loop_body(loop, &cond);
  if (cond || plan->channels != 1 || plan->channel[0].first != plan->channel[0].last) return NULL;
  Stmt *gemm = body->u.block.data[plan->channel[0].first];
  if (gemm->kind != ST_OP || gemm->u.op.op != OP_GEMM) return NULL;
  for (int i = 0; i < body->u.block.len; i++) {
    Stmt *s = body->u.block.data[i];
    bool copy = s->kind == ST_OP && s->u.op.op == OP_COPY && plan_copy(r->c->plan, s)->channel;
    if (s != gemm && !copy && s->kind != ST_LET) return NULL;
  }
  const Region *a = gemm->u.op.arg[0].region, *c = gemm->u.op.arg[2].region;
  Adders x = {c->buf, 0};
  st_walk(r->kernel->body, count_adders, &x);
  bool whole = region_is_whole(c) && !c->buf->layout && !views_named(r->kernel, c->buf);
  bool plain = whole && x.gemms == 1 && a->buf->scope == SC_SHARED;
  return plain && plan_gemm(r->c->plan, gemm)->wgmma ? gemm : NULL;
}

typedef struct {
  const Plan *plan;
  bool *found;
} Stores;

static void find_narrow_store(void *ctx, Stmt *s) {
  const Stores *x = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_COPY || !plan_stores(x->plan, s)) return;
  if (dt_bits(s->u.op.arg[0].region->buf->dtype) == 16) *x->found = true;
}

// Will stores run beside the next tile's products (late.c), which then need no hiding of their own?
// What the pass needs beside this is known only there.
static bool stores_late(const Roles *r) {
  bool found = false;
  Stores x = {r->c->plan, &found};
  st_walk(r->kernel->body, find_narrow_store, &x);
  return found && pass_flag(r->c, r->kernel, "late-stores", 1) &&
         pass_flag(r->c, r->kernel, "persistent", 1);
}

static void plan_ahead(void *ctx, Stmt *s) {
  Roles *r = ctx;
  PlanLoop *plan = plan_loop(r->c->plan, s);
  if (!plan || !plan->channels) return;
  Stmt *gemm = only_gemm(r, s, plan);
  int64_t trips;
  bool few = ex_const(s->u.loop.extent[0], &trips) && trips <= SHORT_LOOP && !stores_late(r);
  if (!gemm) return;
  bool wanted = few || r->kernel->threads <= 128 || plan_loaded(r->c->plan, gemm); // loads hide
  if (!pass_flag(r->c, r->kernel, "wgmma-ahead", wanted)) return;
  plan->ahead = gemm;
  plan_gemm(r->c->plan, gemm)->flies = true;
}

// A slot is released when the next one's products are issued: of one slot there is no next.
static void drop_ahead(void *ctx, Stmt *s) {
  Roles *r = ctx;
  PlanLoop *plan = plan_loop(r->c->plan, s);
  if (!plan || !plan->ahead || plan->depth > 1) return;
  plan_gemm(r->c->plan, plan->ahead)->flies = false;
  plan->ahead = NULL;
}

/* depths: as many stages as shared memory holds */

enum { DEPTH_MOST = 8, BARRIERS = 1024 }; // bytes of barriers

typedef struct {
  Roles *r;
  int64_t stage, other; // bytes: of a stage of all channels; of the tiles beside them
  PlanLoop *loop;
  int ring; // slots of the ring that add_ring counts
} Depth;

static int64_t tile_bytes(Arena *a, const Buffer *b) {
  int64_t align = 1024, bytes = layout_bytes(plan_tma_layout(a, b));
  return (bytes + align - 1) / align * align;
}

// A tile that goes out in slabs: only some are there at once.
static void add_slabs(Depth *d, const Stmt *s) {
  int slabs = plan_copy(d->r->c->plan, s)->slabs;
  if (!slabs) return;
  int64_t bytes = tile_bytes(d->r->c->arena, s->u.op.arg[1].region->buf);
  d->other -= bytes / slabs * (slabs - SLAB_SLOTS);
}

// The ring of another loop: its first slot is among the other tiles already.
static void add_ring(void *ctx, Stmt *s) {
  Depth *d = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_COPY || !plan_copy(d->r->c->plan, s)->async) return;
  d->other += (d->ring - 1) * tile_bytes(d->r->c->arena, s->u.op.arg[1].region->buf);
}

static void add_stage(void *ctx, Stmt *s) {
  Depth *d = ctx;
  PlanLoop *plan = plan_loop(d->r->c->plan, s);
  if (plan && plan->channels) d->loop = plan;
  else if (plan && plan->stages > 1) {
    d->ring = plan->stages;
    st_walk(s->u.loop.body, add_ring, d);
  }
  if (s->kind != ST_OP || s->u.op.op != OP_COPY) return;
  add_slabs(d, s);
  if (!plan_copy(d->r->c->plan, s)->channel) return;
  int64_t bytes = tile_bytes(d->r->c->arena, s->u.op.arg[1].region->buf);
  d->stage += bytes;
  d->other -= bytes;
}

static Depth measure(Roles *r) {
  Depth d = {.r = r};
  for (int i = 0; i < r->kernel->buffers.len; i++) {
    const Buffer *b = r->kernel->buffers.data[i];
    if (b->scope == SC_SHARED && !b->base) d.other += tile_bytes(r->c->arena, b);
  }
  st_walk(r->kernel->body, add_stage, &d);
  return d;
}

// False: they do not fit beside the other tiles of so many teams.
static bool fill_depths(Roles *r, int teams) {
  Depth d = measure(r);
  if (r->loops != 1) return teams == 1;
  int64_t fits = (r->c->target->max_smem_block - d.other * teams - BARRIERS) / d.stage;
  if (fits > DEPTH_MOST) fits = DEPTH_MOST;
  if (teams > 1 && fits < 2) return false;
  if (!pass_flag(r->c, r->kernel, "stages", 0) && fits > d.loop->depth) d.loop->depth = (int)fits;
  return fits >= d.loop->depth;
}

/* tiles outside of loops */

// The statements of the block that each channel's first and last use are.
static void note_uses(PlanOnce *once, const Stmt *body) {
  for (int i = 0; i < once->plan.channels; i++) {
    once->first[i] = body->u.block.data[once->plan.channel[i].first];
    once->last[i] = body->u.block.data[once->plan.channel[i].last];
  }
}

// Slots of such tiles: of two the next block's is filled while this one's is used.
static int once_depth(Roles *r, Depth *d, int64_t bytes, bool persistent) {
  int64_t left = r->c->target->max_smem_block - BARRIERS - d->other - d->stage * d->loop->depth;
  if (left < 0) return 0;
  if (!persistent) return 1;
  int64_t fewer = left < bytes ? (bytes - left + d->stage - 1) / d->stage : 0;
  int least = d->loop->stages > 2 ? d->loop->stages : 2;
  if (fewer && pass_flag(r->c, r->kernel, "stages", 0)) return 1;
  if (d->loop->depth - fewer < least && fewer) return 1;
  d->loop->depth -= (int)fewer;
  return 2;
}

// The block that the conditions around the whole of the kernel's body lead to; a producer can
// repeat them, for its loop is in there.
static Stmt *inmost(Stmt *body) {
  for (;;) {
    Expr *cond;
    Stmt loop = {.kind = ST_FOR, .u.loop.body = body};
    Stmt *in = *plan_loop_body(&loop, &cond);
    if (!cond) return body;
    body = in;
  }
}

static void plan_once(Roles *r, PlanRoles *roles) {
  Arena *a = r->c->arena;
  Kernel *k = r->kernel;
  Stmt *body = inmost(k->body);
  if (roles->teams > 1 || r->loops != 1 || !pass_flag(r->c, k, "prefetch", 1)) return;
  Depth d = measure(r);
  Var *v = var_new(a, "once", DT_INDEX, VAR_LOOP, k->span);
  Stmt *loop = st_for(a, LOOP_PIPELINED, v, ex_index(a, 0), ex_index(a, 1), body, k->span);
  r->once = loop;
  plan_channels(r, loop, &roles->once.plan);
  int64_t bytes = 0;
  for (int i = 0; i < body->u.block.len; i++) {
    const Stmt *s = body->u.block.data[i];
    if (s->kind == ST_OP && s->u.op.op == OP_COPY && plan_copy(r->c->plan, s)->channel)
      bytes += tile_bytes(a, s->u.op.arg[1].region->buf);
  }
  int depth = once_depth(r, &d, bytes, thrift_persistent(r->c, r->program, k));
  for (int i = 0; !depth && i < body->u.block.len; i++) {
    const Stmt *s = body->u.block.data[i];
    if (s->kind == ST_OP && s->u.op.op == OP_COPY) plan_copy(r->c->plan, s)->channel = 0;
  }
  if (!depth) roles->once.plan.channels = 0;
  roles->once.plan.depth = depth;
  roles->once.block = body == k->body ? NULL : body;
  note_uses(&roles->once, body);
}

// Barriers over all threads of a block, other than the plain one, or over some of them; mbarriers
// count on the threads that the program has.
static void note_barrier(void *ctx, Stmt *s) {
  if (s->kind != ST_OP || s->u.op.op == OP_SYNC) return;
  OpCode op = s->u.op.op;
  bool named =
      op == OP_BAR_SYNC || op == OP_BAR_ARRIVE || (op >= OP_MBAR_INIT && op <= OP_MBAR_WAIT);
  if (named || op_info(op)->sync == SYNC_BLOCK) *(Stmt **)ctx = s;
}

// The registers that a block with a producer warpgroup starts with, as many for each thread in
// eights; consumers get what the producer leaves.
static int producer_regs(int threads) {
  int groups = threads / 128;
  return groups <= 2 ? 40 : groups == 3 ? 32 : 24;
}

int plan_consumer_regs(const Target *t, int threads) {
  int most = t->regs_per_sm / 128, regs = most * 128 / threads;
  if (threads + 128 <= t->max_threads) {
    most = t->regs_per_sm / (threads + 128) / 8 * 8 * (threads + 128) / 128;
    regs = (most - producer_regs(threads)) * 128 / threads;
  }
  regs = regs / 8 * 8;
  return regs > 240 ? 240 : regs;
}

/* teams: consumers that take turns at tiles */

typedef struct {
  Roles *r;
  bool no, ahead; // no wgmma, or copies of the consumers' own; a loop only multiplies
  int sums, held; // registers of all accumulators, of the largest operand in some
  VEC(const Buffer *) seen;
} Pair;

static void check_registers(Pair *p, const Buffer *sum, const PlanGemm *g) {
  if (g->held > p->held) p->held = g->held;
  for (int i = 0; i < p->seen.len; i++)
    if (p->seen.data[i] == sum) return;
  vec_push(p->r->c->arena, &p->seen, sum);
  p->sums += g->sums;
}

static void check_pair(void *ctx, Stmt *s) {
  Pair *p = ctx;
  const Kernel *k = p->r->kernel;
  const Plan *plan = p->r->c->plan;
  const PlanLoop *loop = plan_loop(plan, s);
  p->ahead = p->ahead || (loop && loop->ahead);
  p->no = p->no || (loop && loop->copies); // all threads close the same groups of cp.async
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return;
  const PlanGemm *g = plan_gemm(plan, s);
  if (!plan_wgmma_fits(p->r->c->target, g, k->threads * TEAMS)) p->no = true;
  check_registers(p, s->u.op.arg[op_arg(OP_GEMM, "c")].region->buf, g);
}

// One, or two where both fit: their registers, their tiles beside the ring that they share.
static int plan_teams(Roles *r) {
  Kernel *k = r->kernel;
  Pair p = {.r = r};
  st_walk(k->body, check_pair, &p);
  bool wanted = pass_flag(r->c, r->kernel, "ping-pong", p.ahead && k->threads <= 128);
  if (!wanted || p.no || r->loops != 1) return 1;
  int threads = k->threads * TEAMS;
  if (threads + 128 > r->c->target->max_threads) return 1;
  if (p.sums + p.held + PLAN_OTHER_REGS > plan_consumer_regs(r->c->target, threads)) return 1;
  if (!thrift_persistent(r->c, r->program, k)) return 1;
  return fill_depths(r, TEAMS) ? TEAMS : 1;
}

// Does a product by wgmma have registers enough only where no producer has some too? ptxas
// serialises those that have not.
static void find_starved(void *ctx, Stmt *s) {
  Roles *r = ctx;
  const Target *t = r->c->target;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM || !plan_gemm(r->c->plan, s)->wgmma) return;
  const PlanGemm *g = plan_gemm(r->c->plan, s);
  int threads = r->kernel->threads, alone = target_thread_regs(t, threads);
  int needs = plan_gemm_regs(g), beside = plan_consumer_regs(t, threads);
  if (r->starved || needs > alone || needs <= beside) return;
  diag_remark(
      r->c->diags, s->span, "roles",
      "no producer: this takes about %d registers of a thread, which has %d, and %d beside one",
      needs, alone, beside);
  r->starved = true;
}

static void find_overlap(void *ctx, Stmt *s) {
  Roles *r = ctx;
  PlanLoop *plan = plan_loop(r->c->plan, s);
  if (plan && plan->channels && !plan->ahead) plan_overlap(r->c, r->facts, r->kernel, s, plan);
}

void plan_roles(PassCtx *c, Facts *f, Program *p, Kernel *k) {
  if (!c->target->bulk || !thrift_producer(c, p, k)) return;
  Roles r = {.c = c, .facts = f, .program = p, .kernel = k};
  st_walk(k->body, note_let, &r);
  if (k->threads % 128 || k->threads + 128 > c->target->max_threads) {
    diag_remark(c->diags, k->span, "roles",
                "no producer: %d threads are no whole warpgroups that "
                "leave room for one more",
                k->threads);
    return;
  }
  Stmt *own = NULL;
  st_walk(k->body, note_barrier, &own);
  if (own) {
    diag_remark(c->diags, own->span, "roles", "no producer: %s is a barrier of the program's own",
                op_info(own->u.op.op)->name);
    return;
  }
  if (!pass_flag(c, k, "warp-specialize", 0)) st_walk(k->body, find_starved, &r);
  if (r.starved) return;
  find_loops(&r, k->body, NULL);
  if (!r.loops) return;
  plan_slabs(c, k);
  st_walk(k->body, plan_ahead, &r);
  PlanRoles *roles = NEW(c->arena, PlanRoles);
  roles->teams = plan_teams(&r);
  if (roles->teams == 1) fill_depths(&r, 1);
  plan_once(&r, roles);
  st_walk(k->body, drop_ahead, &r);
  if (roles->teams == 1) walk_facts(c->arena, f, k->body, find_overlap, &r);
  roles->producer_regs = producer_regs(k->threads * roles->teams);
  roles->consumer_regs = plan_consumer_regs(c->target, k->threads * roles->teams);
  plan_set(c->plan, k, roles);
}
