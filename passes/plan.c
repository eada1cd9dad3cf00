// plan: decides the instruction class, access widths, shared layouts and stages of everything;
// changes no statement. Later passes look their decisions up by statement or buffer.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"
#include "passes/crew.h"

// Keyed by address through base's map: order of insertion, never of addresses, is what shows.
struct Plan {
  Arena *arena;
  Map *map;
};

typedef struct {
  char text[24];
} Key;

static Key key_of(const void *p) {
  Key k;
  snprintf(k.text, sizeof k.text, "%p", p);
  return k;
}

Plan *plan_new(Arena *a) {
  Plan *p = NEW(a, Plan);
  p->arena = a;
  p->map = map_new(a);
  return p;
}

static void *get(const Plan *p, const void *key) {
  return p ? map_get(p->map, key_of(key).text) : NULL;
}

// Statements of several kinds have plans, each kind of its own type; gathers are parallel loops.
static bool is_parallel(const Stmt *s) {
  return s->kind == ST_FOR && s->u.loop.loop == LOOP_PARALLEL;
}

PlanCopy *plan_copy(const Plan *p, const Stmt *s) {
  return st_is_op(s, OP_COPY) || is_parallel(s) ? get(p, s) : NULL;
}

bool plan_stores(const Plan *p, const Stmt *s) {
  const PlanCopy *copy = st_is_op(s, OP_COPY) || st_is_op(s, OP_ATOMIC_TILE) ? get(p, s) : NULL;
  return copy && copy->store;
}

bool plan_async(const Plan *p, const Stmt *s) {
  const PlanCopy *copy = plan_copy(p, s);
  return copy && copy->async;
}

PlanGemm *plan_gemm(const Plan *p, const Stmt *s) {
  return st_is_op(s, OP_GEMM) ? get(p, s) : NULL;
}

PlanBuffer *plan_buffer(const Plan *p, const Buffer *b) { return get(p, b); }

PlanLoop *plan_loop(const Plan *p, const Stmt *s) {
  return s->kind == ST_FOR && !is_parallel(s) ? get(p, s) : NULL;
}

PlanRoles *plan_of_roles(const Plan *p, const Kernel *k) { return get(p, k); }
void plan_set(Plan *p, const void *key, void *value) { map_set(p->map, key_of(key).text, value); }

void plan_clone(Plan *p, const Stmt *from, const Stmt *to) {
  void *v = get(p, from);
  if (v) plan_set(p, to, v);
}

typedef struct {
  Program *program;
  Kernel *kernel;
  PassCtx *c;
  Facts *facts;
  VEC(Stmt *) gemms;
  Crews *crews;
} Planner;

static void plan_tile(Planner *p, const Region *r, bool operand) {
  if (r->buf->scope != SC_SHARED || r->n < 2) return;
  PlanBuffer *b = plan_buffer(p->c->plan, r->buf);
  if (!b) plan_set(p->c->plan, r->buf, b = NEW(p->c->arena, PlanBuffer));
  b->gemm_operand = b->gemm_operand || operand;
  int64_t cols;
  if (!ex_const(r->buf->shape[r->buf->ndim - 1], &cols)) return;
  int64_t bytes = cols * dt_bits(r->buf->dtype) / 8;
  b->swizzle = bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : bytes % 32 == 0 ? 32 : 0;
}

static DType multiplied(DType t) { return t == DT_F32 ? DT_TF32 : t; }

// Is the operand, stored along its dimension other than K, read as pairs of bytes?
static bool pairs(const Region *r, bool along, int K) {
  return along && r->buf->scope == SC_SHARED && dt_bits(r->buf->dtype) == 8 && K >= 32;
}

// Gemms into one accumulator must place its elements alike.
static void agree_on_pairs(Planner *p, const Stmt *s, PlanGemm *g) {
  for (int i = 0; i < p->gemms.len; i++) {
    PlanGemm *h = plan_gemm(p->c->plan, p->gemms.data[i]);
    if (p->gemms.data[i]->u.op.arg[2].region->buf != s->u.op.arg[2].region->buf) continue;
    g->pair_m = h->pair_m = g->pair_m && h->pair_m;
    g->pair_n = h->pair_n = g->pair_n && h->pair_n;
  }
}

int plan_gemm_regs(const PlanGemm *g) { return g->sums + g->held + PLAN_OTHER_REGS; }

static void check_starved(const Planner *p, const Stmt *s, const PlanGemm *g) {
  const Target *t = p->c->target;
  int threads = p->kernel->threads, has = target_thread_regs(t, threads);
  if (plan_gemm_regs(g) > has)
    diag_report(p->c->diags, DIAG_STARVED, s->span, plan_gemm_regs(g), threads, has, t->name);
}

static void plan_one_gemm(Planner *p, Stmt *s) {
  const Arg *arg = s->u.op.arg;
  const Region *a = arg[0].region, *b = arg[1].region, *c = arg[2].region;
  PlanGemm *g = NEW(p->c->arena, PlanGemm);
  int64_t M, N, K;
  Crew crew = crews_at(p->crews, s);
  plan_gemm_dims(s, &M, &N, &K);
  g->M = (int)M;
  g->N = (int)N;
  g->K = (int)K;
  g->ab = multiplied(a->buf->dtype);
  g->b = multiplied(b->buf->dtype);
  g->c = c->buf->dtype;
  GemmPolicy policy = (GemmPolicy)arg[op_arg(OP_GEMM, "policy")].i;
  if (!plan_mma(p->c->target, a->buf->dtype, b->buf->dtype, g->c, &g->m, &g->n, &g->k) ||
      !plan_partition(policy, g->M, g->N, (crew.hi - crew.lo) / 32, &g->warps_m, &g->warps_n))
    die("a gemm that check should have refused");
  g->pair_m = pairs(a, arg[op_arg(OP_GEMM, "transa")].i, g->K);
  g->pair_n = pairs(b, !arg[op_arg(OP_GEMM, "transb")].i, g->K) && g->N / g->warps_n % 16 == 0;
  const char *why = "only some threads run it";
  if (crew_is_all(p->kernel, crew)) why = plan_wgmma(p->c, p->kernel, s, g);
  agree_on_pairs(p, s, g);
  plan_set(p->c->plan, s, g);
  vec_push(p->c->arena, &p->gemms, s);
  plan_tile(p, a, true);
  plan_tile(p, b, true);
  if (g->wgmma) {
    check_starved(p, s, g);
    if (g->loaded)
      diag_remark(p->c->diags, s->span, "gemm", "threads load %s%s",
                  plan_loaded(p->c->plan, s)->name,
                  g->loaded == WGMMA_B_LOADED ? ", and the product is that of the transposes" : "");
    diag_remark(p->c->diags, s->span, "gemm",
                "%dx%dx%d: wgmma m64n%dk%d %s -> %s on %d x %d warpgroups, each %d x %d", g->M,
                g->N, g->K, g->n, g->k, dt_name(g->ab), dt_name(g->c), g->warps_m, g->warps_n,
                g->M / g->warps_m, g->N / g->warps_n);
    return;
  }
  diag_remark(p->c->diags, s->span, "gemm",
              "%dx%dx%d: mma.sync m%dn%dk%d %s -> %s on %d x %d warps, each %d x %d", g->M, g->N,
              g->K, g->m, g->n, g->k, dt_name(g->ab), dt_name(g->c), g->warps_m, g->warps_n,
              g->M / g->warps_m, g->N / g->warps_n);
  if (why && p->c->target->bulk) diag_remark(p->c->diags, s->span, "gemm", "not by wgmma: %s", why);
}

// A copy or an atomic_tile from a shared tile to a tensor.
static void plan_store(Planner *p, const Stmt *s, PlanCopy *plan) {
  const char *word = s->u.op.op == OP_COPY ? "copy" : "atomic";
  if (!p->c->target->bulk) return;
  const char *why = plan_tma_store_why(p->c, p->facts, p->kernel, s);
  if (!crew_is_all(p->kernel, crews_at(p->crews, s))) // the block's first thread waits
    why = "only some threads run it";
  if (!pass_flag(p->c, p->kernel, "tma-store", 1)) why = "-fno-tma-store";
  plan->store = !why;
  if (why) diag_remark(p->c->diags, s->span, word, "not stored by TMA: %s", why);
  else if (s->u.op.op == OP_ATOMIC_TILE)
    diag_remark(p->c->diags, s->span, word, "by TMA, whole tiles at once");
}

static bool leaves(const Region *src, const Region *dst) {
  return src->buf->scope == SC_SHARED && dst->buf->scope == SC_GLOBAL;
}

static void plan_atomic(Planner *p, const Stmt *s) {
  PlanCopy *plan = NEW(p->c->arena, PlanCopy);
  if (leaves(s->u.op.arg[1].region, s->u.op.arg[0].region)) plan_store(p, s, plan);
  plan_set(p->c->plan, s, plan);
}

static void plan_stmt(void *ctx, Stmt *s) {
  Planner *p = ctx;
  PlanCopy *gather = gather_plan(p->c->arena, p->facts, s);
  if (gather) plan_set(p->c->plan, s, gather);
  if (s->kind != ST_OP) return;
  if (s->u.op.op == OP_GEMM) plan_one_gemm(p, s);
  if (s->u.op.op == OP_ATOMIC_TILE) plan_atomic(p, s);
  if (s->u.op.op != OP_COPY) return;
  plan_one_copy(p->c->plan, p->c->arena, p->facts, s);
  const Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  if (leaves(src, dst)) plan_store(p, s, plan_copy(p->c->plan, s));
  if (src->buf->scope == SC_FRAGMENT) plan_tile(p, dst, false);
  if (dst->buf->scope == SC_FRAGMENT) plan_tile(p, src, false);
}

static void plan_loops(void *ctx, Stmt *s) {
  Planner *p = ctx;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PIPELINED) return;
  // Groups of copies are closed by all threads.
  if (!crew_is_all(p->kernel, crews_at(p->crews, s)))
    diag_remark(p->c->diags, s->span, "pipeline", "in order: only some threads run the loop");
  else plan_one_loop(p->c, p->kernel, p->facts, s);
}

static void remark_moves(void *ctx, Stmt *s) {
  Planner *p = ctx;
  if (s->kind == ST_OP && s->u.op.op == OP_COPY)
    plan_copy_remarks(p->c, p->facts, s, plan_copy(p->c->plan, s));
  const PlanLoop *loop = plan_loop(p->c->plan, s);
  if (loop) plan_loop_remarks(p->c, s, loop);
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PARALLEL) return;
  const PlanCopy *gather = plan_copy(p->c->plan, s);
  if (gather && gather->async)
    diag_remark(p->c->diags, s->span, "copy", "%d-byte cp.async", gather->vec_bytes);
}

static void remark_tiles(Planner *p) {
  for (int i = 0; i < p->kernel->buffers.len; i++) {
    const Buffer *buf = p->kernel->buffers.data[i];
    const PlanBuffer *b = plan_buffer(p->c->plan, buf);
    if (buf->layout) diag_remark(p->c->diags, buf->span, "layout", "%s: as annotated", buf->name);
    else if (b && b->swizzle)
      diag_remark(p->c->diags, buf->span, "swizzle", "%s: XOR over rows of %d bytes", buf->name,
                  b->swizzle);
    else if (b && b->gemm_operand)
      diag_remark(p->c->diags, buf->span, "swizzle",
                  "%s: none, its rows are not a multiple of 32 bytes", buf->name);
  }
}

void pass_plan(Program *p, PassCtx *c) {
  if (!c->plan) c->plan = plan_new(c->arena);
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *k = p->kernels.data[i];
    Planner pl = {.program = p, .kernel = k, .c = c, .facts = facts_new(c->arena, p, k)};
    pl.crews = crews_new(c->arena, k);
    walk_facts(c->arena, pl.facts, k->body, plan_stmt, &pl);
    walk_facts(c->arena, pl.facts, k->body, plan_loops, &pl);
    if (!crews_any(pl.crews)) plan_roles(c, pl.facts, p, k);
    else diag_remark(c->diags, k->span, "roles", "no producer: some threads work apart");
    plan_cluster(c, pl.facts, k);
    walk_facts(c->arena, pl.facts, k->body, remark_moves, &pl);
    remark_tiles(&pl);
  }
}
