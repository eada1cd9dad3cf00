// Each warpgroup of consumers stores its own rows of a tile: no barrier of all of them, so that one
// multiplies while another stores.
// SPDX-License-Identifier: MIT
#include "passes/late.h"

enum { PATTERN_ROWS = 8 };

typedef struct {
  Late *l;
  int groups;
  int64_t base;       // number of the first warpgroup's barrier
  VEC(Stmt *) puts;   // stmatrix that the next stores take
  VEC(Stmt *) loops;  // around the statement at hand
  VEC(Buffer *) maps; // that the stores go through
  bool no;
  Var *group, *member; // a thread's warpgroup, and its number there
} Groups;

static Expr *group(const Groups *g) { return ex_var(g->l->a, g->group); }

/* whose rows */

enum { MAX_LOOPS = 8 };

// The thread, then the variables of loops, and their values.
typedef struct {
  Var *var[1 + MAX_LOOPS];
  int64_t at[1 + MAX_LOOPS];
} Point;

// Does x, of all iterations of the loops from i on, lie in [lo, hi) for this thread?
static bool lies(const Groups *g, Expr *x, const StmtVec *loops, int i, Point *p, int64_t lo,
                 int64_t hi) {
  int64_t n, at;
  if (i == loops->len)
    return ex_const_at(g->l->a, x, p->var, p->at, 1 + i, &at) && lo <= at && at + 8 <= hi;
  const Stmt *loop = loops->data[i];
  if (i == MAX_LOOPS || !ex_is(loop->u.loop.min[0], 0) || !ex_const(loop->u.loop.extent[0], &n))
    return false;
  p->var[1 + i] = loop->u.loop.var[0];
  for (p->at[1 + i] = 0; p->at[1 + i] < n; p->at[1 + i]++)
    if (!lies(g, x, loops, i + 1, p, lo, hi)) return false;
  return true;
}

typedef struct {
  Groups *g;
  Stmt *put;
  int64_t from, each; // elements of the tile: the first group's first, and how many a group has
} Rows;

// Does every warpgroup write its own part of the tile only?
static bool own_rows(const Rows *r, const StmtVec *loops) {
  Groups *g = r->g;
  const Region *dst = r->put->u.op.arg[op_arg(OP_STMATRIX, "dst")].region;
  for (int t = 0; t < g->l->k->threads; t++) {
    Point p = {{g->l->k->thread}, {t}};
    int64_t lo = r->from + t / WARPGROUP * r->each;
    if (!lies(g, dst->min[0], loops, 0, &p, lo, lo + r->each)) return false;
  }
  return true;
}

static void note_put(Groups *g, Stmt *s, const Region *src, int64_t from, int64_t each) {
  StmtVec loops = {0};
  while (s->kind == ST_FOR) {
    vec_push(g->l->a, &loops, s);
    s = s->u.loop.body;
    s = s->u.block.data[s->u.block.len - 1];
  }
  Rows r = {g, s, from, each};
  const Region *dst = s->u.op.arg[op_arg(OP_STMATRIX, "dst")].region;
  if (dst->buf != src->buf || !own_rows(&r, &loops)) g->no = true;
}

static void look_store(void *ctx, Stmt *s) {
  Groups *g = ctx;
  if (!st_is_op(s, OP_TMA_STORE)) return;
  const Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  const TensorMap *m = dst->buf->map;
  int64_t from, count;
  for (int d = 1; d + 1 < dst->n; d++) g->no = g->no || m->box[d] != 1;
  if (m->box[0] % (PATTERN_ROWS * g->groups) || m->step[0] != 1 || !ex_const(src->min[0], &from) ||
      !ex_const(src->extent[0], &count)) {
    g->no = true;
    return;
  }
  for (int i = 0; i < g->puts.len && !g->no; i++)
    note_put(g, g->puts.data[i], src, from, count / g->groups);
  vec_push(g->l->a, &g->maps, dst->buf);
}

/* what else there is */

static bool by_first(const Groups *g, const Stmt *s) {
  Arena *a = g->l->a;
  Expr *first = ex_bin(a, BIN_EQ, ex_var(a, g->l->k->thread), ex_index(a, 0));
  return ex_equal(s->u.branch.cond, first);
}

static void look_condition(void *ctx, Stmt *s) {
  Groups *g = ctx;
  if (s->kind != ST_IF) return;
  if (ex_uses(s->u.branch.cond, g->l->k->thread) && (s->u.branch.no || !by_first(g, s)))
    g->no = true;
}

static void number_barriers(void *ctx, Stmt *s) {
  Groups *g = ctx;
  int64_t id;
  if (!st_is_op(s, OP_BAR_SYNC) && !st_is_op(s, OP_BAR_ARRIVE)) return;
  Expr *x = s->u.op.arg[0].expr;
  if (x->kind == EX_CAST) x = x->u.cast;
  if (!ex_const(x, &id)) g->no = true;
  else if (id >= g->base) g->base = id + 1;
}

typedef struct {
  const Groups *g;
  int uses; // of maps, by what is no prefetch
} Uses;

static bool has_map(const Groups *g, const Buffer *b) {
  for (int i = 0; i < g->maps.len; i++)
    if (g->maps.data[i] == b) return true;
  return false;
}

static void count_uses(void *ctx, Stmt *s) {
  Uses *u = ctx;
  if (s->kind != ST_OP || st_is_op(s, OP_TMA_PREFETCH)) return;
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    const Region *r = arg_is_region(info->arg[i].kind) ? s->u.op.arg[i].region : NULL;
    u->uses += r && has_map(u->g, r->buf);
  }
}

static bool may(Groups *g) {
  Late *l = g->l;
  bool stored = false;
  for (int i = l->from; i < l->body->len && !g->no; i++) {
    Stmt *s = l->body->data[i];
    st_walk(s, look_condition, g);
    if (st_has_op(s, OP_STMATRIX)) {
      if (stored) g->puts.len = 0;
      stored = false;
      vec_push(l->a, &g->puts, s);
    }
    int stores = g->maps.len;
    st_walk(s, look_store, g);
    stored = stored || g->maps.len > stores;
  }
  st_walk(l->k->body, number_barriers, g);
  Uses u = {g, 0};
  st_walk(l->k->body, count_uses, &u);
  return !g->no && g->maps.len && u.uses == g->maps.len && g->base + g->groups <= NAMED_BARRIERS;
}

/* rewriting */

static Expr *first_of_group(const Groups *g) {
  Arena *a = g->l->a;
  return ex_bin(a, BIN_EQ, ex_var(a, g->member), ex_index(a, 0));
}

// Named once, at the head of the consumers' program: where the expressions stand in the loop
// instead, ptxas takes its warps for diverged and keeps descriptors in vector registers.
static void name_groups(Groups *g) {
  Late *l = g->l;
  Arena *a = l->a;
  Span span = l->tiles->span;
  Expr *thread = ex_var(a, l->k->thread), *size = ex_index(a, WARPGROUP);
  Stmt *out = st_block(a, span);
  g->group = var_new(a, "group", DT_INDEX, VAR_LET, span);
  g->member = var_new(a, "member", DT_INDEX, VAR_LET, span);
  st_add(a, out, st_let(a, g->group, ex_floordiv(a, thread, size), span));
  st_add(a, out, st_let(a, g->member, ex_floormod(a, thread, size), span));
  for (int i = 0; i < l->around->u.block.len; i++) st_add(a, out, l->around->u.block.data[i]);
  l->at = out->u.block.len - l->around->u.block.len + l->at;
  l->around->u.block = out->u.block;
}

static void narrow(void *ctx, Stmt *s) {
  Groups *g = ctx;
  Arena *a = g->l->a;
  if (s->kind == ST_IF && by_first(g, s)) s->u.branch.cond = first_of_group(g);
  if (s->kind != ST_OP) return;
  walk_own(a, s);
  if (st_is_op(s, OP_BAR_SYNC)) {
    Expr *id = ex_add(a, ex_index(a, g->base), group(g));
    s->u.op.arg[0].expr = ex_cast(a, DT_I32, id);
    s->u.op.arg[1].i = WARPGROUP;
  }
  if (!st_is_op(s, OP_TMA_STORE)) return;
  Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  Expr *n = ex_index(a, g->groups);
  src->extent[0] = ex_floordiv(a, src->extent[0], n);
  src->min[0] = ex_add(a, src->min[0], ex_mul(a, group(g), src->extent[0]));
  dst->extent[0] = ex_floordiv(a, dst->extent[0], n);
  dst->min[0] = ex_add(a, dst->min[0], ex_mul(a, group(g), dst->extent[0]));
}

static void narrow_prefetch(void *ctx, Stmt *s) {
  Groups *g = ctx;
  if (!st_is_op(s, OP_TMA_PREFETCH) || !has_map(g, s->u.op.arg[0].region->buf)) return;
  walk_own(g->l->a, s);
  Region *r = s->u.op.arg[0].region;
  r->extent[0] = ex_floordiv(g->l->a, r->extent[0], ex_index(g->l->a, g->groups));
}

static void narrow_wait(void *ctx, Stmt *s) {
  Groups *g = ctx;
  if (s->kind == ST_IF && st_has_op(s, OP_BULK_WAIT)) s->u.branch.cond = first_of_group(g);
}

void late_groups(Late *l) {
  Groups g = {.l = l, .groups = l->k->threads / WARPGROUP, .base = 1};
  if (g.groups < 2 || l->k->threads % WARPGROUP || !may(&g)) return;
  name_groups(&g);
  for (int i = l->from; i < l->body->len; i++) st_walk(l->body->data[i], narrow, &g);
  for (int i = l->at + 1; i < l->around->u.block.len; i++)
    st_walk(l->around->u.block.data[i], narrow_wait, &g);
  st_walk(l->k->body, narrow_prefetch, &g);
  for (int i = 0; i < g.maps.len; i++) {
    bool again = false;
    for (int j = 0; j < i; j++) again = again || g.maps.data[j] == g.maps.data[i];
    if (!again) g.maps.data[i]->map->box[0] /= g.groups;
  }
}
