// Clusters: blocks whose tiles neighbour along one axis of the grid share what does not change
// along it. Each loads its part of such a tile into the shared memory of all (multicast). A slot is
// then free when the consumers of all blocks have released it, and what decides how often a slot is
// taken must be the same for all. Where the blocks of an axis do not divide, the last cluster has
// some without a tile, which load their parts all the same.
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"
#include "passes/plan_internal.h"

enum { PATTERN_ROWS = 8 }; // a part starts where the swizzle's pattern does

typedef struct {
  PassCtx *c;
  Facts *facts;
  Kernel *kernel;
  Subst lets; // every let of the kernel, by what it is of block indices and loop variables
  int blocks, axis;
  bool ragged;     // the axis may not divide
  Var *rank;       // the block's number in its cluster, while an axis is looked at
  Expr *at;        // the index along the axis in terms of it
  const char *why; // why an axis is no good; NULL: it is
} Search;

static void note_let(void *ctx, Stmt *s) {
  Search *x = ctx;
  if (s->kind == ST_LET) subst_add(&x->lets, s->u.let.var, subst_expr(&x->lets, s->u.let.value));
}

// Is it the same for all blocks of a cluster along the axis?
static bool shared(Search *x, Expr *e) {
  Subst s = {.arena = x->c->arena};
  subst_add(&s, x->kernel->block[x->axis], x->at);
  Expr *value = facts_simplify(x->facts, subst_expr(&s, subst_expr(&x->lets, e)));
  return !ex_uses(value, x->rank);
}

static int walked_before_last(const Region *r) {
  int seen = 0;
  for (int d = r->n - 1; d >= 0; d--)
    if (!ex_is(r->extent[d], 1) && ++seen == 2) return d;
  return -1;
}

bool cluster_rows(const Region *src, const Region *dst, int *src_dim, int *dst_dim) {
  *dst_dim = dst->n - 2;
  *src_dim = walked_before_last(src);
  return dst->n >= 2 && *src_dim >= 0 && !ex_is(dst->extent[*dst_dim], 1);
}

static bool in_channel(const PassCtx *c, const Stmt *s, int channel) {
  if (s->kind != ST_OP || s->u.op.op != OP_COPY) return false;
  return plan_copy(c->plan, s)->channel == channel;
}

typedef struct {
  const Buffer *tile;
  bool found;
} Loads;

static void note_load(void *ctx, Expr *x) {
  Loads *l = ctx;
  if (x->kind == EX_LOAD && buf_root(x->u.load.buf) == buf_root(l->tile)) l->found = true;
}

static void note_loads(void *ctx, Expr **slot) { ex_walk(*slot, note_load, ctx); }

// Does a bound, an index or a condition of the statement itself read the tile?
static bool loads(Stmt *s, const Buffer *tile) {
  Loads l = {tile, false};
  st_exprs(s, note_loads, &l);
  return l.found;
}

// Does a statement do with the tile nothing but multiply it by wgmma, at least once?
static bool multiplies(PassCtx *c, Stmt *s, const Buffer *tile) {
  int64_t trips = 0;
  if (loads(s, tile)) return false;
  if (s->kind == ST_OP)
    return s->u.op.op == OP_GEMM && plan_gemm(c->plan, s)->wgmma && plan_loaded(c->plan, s) != tile;
  const PlanLoop *plan = plan_loop(c->plan, s);
  if (!plan || s->u.loop.body->kind != ST_BLOCK) return false;
  if (!plan->overlap.enters && (!ex_const(s->u.loop.extent[0], &trips) || trips < 1)) return false;
  const StmtVec *all = &s->u.loop.body->u.block;
  for (int i = 0; i < all->len; i++)
    if (walk_touches(c->arena, all->data[i], tile, false) && !multiplies(c, all->data[i], tile))
      return false;
  return true;
}

bool channel_multiplied(PassCtx *c, const Stmt *body, int channel) {
  const StmtVec *all = &body->u.block;
  for (int t = 0; t < all->len; t++) {
    if (!in_channel(c, all->data[t], channel)) continue;
    const Buffer *tile = all->data[t]->u.op.arg[1].region->buf;
    for (int i = 0; i < all->len; i++) {
      Stmt *s = all->data[i];
      if (i == t || !walk_touches(c->arena, s, tile, false)) continue;
      if (!multiplies(c, s, tile)) return false;
    }
  }
  return true;
}

// Bytes that a block need not load itself; 0: it loads all of the tile.
static int64_t saved(Search *x, const Stmt *body, int copy) {
  Stmt *s = body->u.block.data[copy];
  const Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  int from, to;
  int64_t rows;
  if (!cluster_rows(src, dst, &from, &to) || !ex_const(dst->extent[to], &rows)) return 0;
  if (rows % (x->blocks * PATTERN_ROWS)) return 0;
  if (!channel_multiplied(x->c, body, plan_copy(x->c->plan, s)->channel)) return 0;
  for (int d = 0; d < src->n; d++)
    if (!shared(x, src->min[d])) return 0;
  int64_t bytes = buf_bytes(dst->buf);
  return bytes - bytes / x->blocks;
}

typedef struct {
  Search *x;
  bool mark; // the copies, rather than count
  int64_t bytes;
} Count;

static void count_loop(void *ctx, Stmt *loop) {
  Count *n = ctx;
  Search *x = n->x;
  PlanLoop *plan = plan_loop(x->c->plan, loop);
  if (!plan || !plan->channels) return;
  Expr *cond;
  const Stmt *body = *plan_loop_body(loop, &cond);
  for (int i = 0; i < body->u.block.len; i++) {
    Stmt *s = body->u.block.data[i];
    PlanCopy *copy = s->kind == ST_OP && s->u.op.op == OP_COPY ? plan_copy(x->c->plan, s) : NULL;
    int64_t bytes = copy && copy->channel ? saved(x, body, i) : 0;
    n->bytes += bytes;
    if (!n->mark || !bytes) continue;
    copy->parts = x->blocks;
    plan->channel[copy->channel - 1].shared = true;
    diag_remark(x->c->diags, s->span, "roles", "each of %d blocks loads a part of %s for all",
                x->blocks, s->u.op.arg[1].region->buf->name);
  }
}

// Conditions and loops around channels: what they depend on must be the same for all blocks. Are
// there channels in s?
static bool check_path(Search *x, Stmt *s) {
  if (!s) return false;
  bool found = false;
  if (s->kind == ST_BLOCK)
    for (int i = 0; i < s->u.block.len; i++) found |= check_path(x, s->u.block.data[i]);
  if (s->kind == ST_IF) {
    found = check_path(x, s->u.branch.yes);
    found |= check_path(x, s->u.branch.no);
    if (found && !shared(x, s->u.branch.cond)) x->why = "a condition differs along it";
  }
  if (s->kind != ST_FOR) return found;
  PlanLoop *plan = plan_loop(x->c->plan, s);
  found = check_path(x, s->u.loop.body);
  if (plan && plan->channels) {
    Expr *cond;
    found = true;
    plan_loop_body(s, &cond);
    if (cond && !shared(x, cond)) x->why = "a condition differs along it";
  }
  bool same = shared(x, s->u.loop.min[0]) && shared(x, s->u.loop.extent[0]);
  if (found && !same) x->why = "the bounds of a loop differ along it";
  return found;
}

static Expr *groups_of(Arena *a, Expr *extent, int blocks) {
  Expr *up = ex_add(a, extent, ex_index(a, blocks - 1));
  return ex_floordiv(a, up, ex_index(a, blocks));
}

// Of what an iteration saves along the axis, what blocks without a tile leave: they cost more than
// loads. Half where the extent is not known.
static int64_t worth(const Search *x, int64_t bytes) {
  int64_t n, all, left;
  if (!x->ragged) return bytes;
  if (!ex_const(x->kernel->grid[x->axis], &n)) return bytes / 2;
  all = (n + x->blocks - 1) / x->blocks * x->blocks;
  left = bytes - bytes * 8 * (all - n) / all;
  return left > bytes / 64 ? left : (bytes + 63) / 64;
}

// What an iteration saves along the axis; 0 with `why`.
static int64_t look(Search *x, int axis, bool mark) {
  Arena *a = x->c->arena;
  Kernel *k = x->kernel;
  int64_t extent, divisor = k->block[axis] ? facts_divisor(x->facts, k->grid[axis]) : 1;
  x->axis = axis;
  x->why = NULL;
  x->ragged = divisor % x->blocks != 0;
  if (!k->block[axis] || (ex_const(k->grid[axis], &extent) && extent < x->blocks)) {
    x->why = "it has too few blocks";
    return 0;
  }
  Var *group = var_new(a, "group", DT_INDEX, VAR_LOOP, k->span);
  x->rank = var_new(a, "rank", DT_INDEX, VAR_LOOP, k->span);
  Expr *n = ex_index(a, x->blocks), *zero = ex_index(a, 0);
  x->at = ex_add(a, ex_mul(a, ex_var(a, group), n), ex_var(a, x->rank));
  int facts = facts_mark(x->facts);
  facts_push_loop(x->facts, group, zero, groups_of(a, k->grid[axis], x->blocks));
  facts_push_loop(x->facts, x->rank, zero, n);
  check_path(x, k->body);
  Count count = {x, mark, 0};
  if (!x->why) st_walk(k->body, count_loop, &count);
  if (!x->why && !count.bytes) x->why = "no tile for wgmma stays the same along it";
  facts_pop(x->facts, facts);
  return worth(x, count.bytes);
}

void plan_cluster(PassCtx *c, Facts *f, Kernel *k) {
  PlanRoles *roles = plan_of_roles(c->plan, k);
  int64_t blocks = pass_flag(c, k, "cluster", 1), best = 0;
  const char *why[3];
  if (blocks < 2) return;
  if (!roles) {
    diag_remark(c->diags, k->span, "roles", "no clusters: no producer fills tiles");
    return;
  }
  if (blocks > c->target->max_cluster || (blocks & (blocks - 1))) {
    diag_remark(c->diags, k->span, "roles", "no clusters: of %lld blocks; they have 2, 4 or 8",
                (long long)blocks);
    return;
  }
  Search x = {.c = c, .facts = f, .kernel = k, .lets = {.arena = c->arena}, .blocks = (int)blocks};
  st_walk(k->body, note_let, &x);
  int axis = -1;
  for (int i = 0; i < 3; i++) {
    int64_t bytes = look(&x, i, false);
    why[i] = x.why;
    if (bytes > best) axis = i, best = bytes;
  }
  if (axis < 0) {
    diag_remark(c->diags, k->span, "roles", "no clusters: axis x: %s; y: %s; z: %s", why[0], why[1],
                why[2]);
    return;
  }
  look(&x, axis, true);
  roles->cluster = (int)blocks;
  roles->axis = axis;
  roles->ragged = x.ragged;
  diag_remark(c->diags, k->span, "roles", "clusters of %d blocks along axis %c%s", roles->cluster,
              "xyz"[axis], x.ragged ? ", the last perhaps with fewer tiles" : "");
}

/* the grid of clusters */

Cluster cluster_open(PassCtx *c, Kernel *k, const PlanRoles *roles) {
  Arena *a = c->arena;
  int axis = roles->axis;
  Expr *n = ex_index(a, roles->cluster), *extent = k->grid[axis];
  Var *old = k->block[axis], *rank = var_new(a, "rank", DT_INDEX, VAR_LET, k->span);
  Var *group = var_new(a, arena_printf(a, "%s_group", old->name), DT_INDEX, VAR_BLOCK, old->span);
  Var *at = var_new(a, old->name, DT_INDEX, VAR_LET, old->span);
  group->axis = axis;
  k->block[axis] = group;
  k->grid[axis] = groups_of(a, extent, roles->cluster);
  Subst s = {.arena = a};
  subst_add(&s, old, ex_var(a, at));
  subst_stmt(&s, k->body);
  Stmt *out = st_block(a, k->span);
  Cluster cluster = {.rank = rank};
  Expr *value = ex_add(a, ex_mul(a, ex_var(a, group), n), ex_var(a, rank));
  if (roles->ragged) {
    Var *place = var_new(a, arena_printf(a, "%s_place", old->name), DT_INDEX, VAR_LET, old->span);
    st_add(a, out, st_let(a, place, value, k->span));
    value = ex_bin(a, BIN_MIN, ex_var(a, place), ex_sub(a, extent, ex_index(a, 1)));
    Expr *there = ex_lt(a, ex_var(a, place), extent);
    k->body = cluster.present = st_if(a, there, walk_block(a, k->body), NULL, k->span);
  }
  st_add(a, out, st_let(a, at, value, k->span));
  Expr *low = ex_bin(a, BIN_LE, ex_index(a, 0), ex_var(a, at));
  st_add(a, out, st_known(a, ex_and(a, low, ex_lt(a, ex_var(a, at), extent)), k->span));
  st_add(a, out, k->body);
  k->body = out;
  raster_kernel(k, c); // walks over clusters
  return cluster;
}

void cluster_close(Arena *a, Kernel *k, int blocks, Var *rank) {
  Stmt *out = st_block(a, k->span);
  Expr *n = ex_index(a, blocks);
  k->cluster[0] = blocks;
  if (k->workers) { // they walk over blocks already
    st_add(a, out, st_let(a, rank, ex_floormod(a, ex_var(a, k->block[0]), n), k->span));
  } else {
    Var *old = k->block[0], *cta = var_new(a, "cta", DT_INDEX, VAR_BLOCK, k->span);
    Var *cluster = var_new(a, old ? old->name : "cluster", DT_INDEX, VAR_LET, k->span);
    st_add(a, out, st_let(a, rank, ex_floormod(a, ex_var(a, cta), n), k->span));
    st_add(a, out, st_let(a, cluster, ex_floordiv(a, ex_var(a, cta), n), k->span));
    st_add(a, out, st_known(a, ex_lt(a, ex_var(a, cluster), k->grid[0]), k->span));
    Subst s = {.arena = a};
    if (old) subst_add(&s, old, ex_var(a, cluster));
    subst_stmt(&s, k->body);
    k->block[0] = cta;
    k->grid[0] = ex_mul(a, k->grid[0], n);
  }
  st_add(a, out, k->body);
  k->body = out;
}
