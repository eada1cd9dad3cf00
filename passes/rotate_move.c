// What statements touch, and whether they may change places: registers by ranges, rings of shared
// tiles by their slots.
// SPDX-License-Identifier: MIT
#include "passes/rotate.h"

/* accesses */

typedef struct {
  Moves *m;
  Touches *out;
} Gather;

static Range range_of(Moves *m, Expr *x, int64_t count) {
  Range r;
  facts_bounds(m->f, x, &r.lo, &r.hi);
  if (r.hi < INT64_MAX - count) r.hi += count - 1;
  return r;
}

static void gather_access(void *ctx, const Access *acc) {
  Gather *g = ctx;
  Moves *m = g->m;
  Touch t = {.mode = acc->mode, .buf = acc->region.buf};
  int64_t count;
  if (acc->region.n != 1 || !ex_const(acc->region.extent[0], &count))
    die("rotate: an access of %s is not one flat run", t.buf->name);
  Expr *x = subst_expr(&m->lets, acc->region.min[0]);
  t.all = range_of(m, x, count);
  Affine sum = ex_affine(m->a, x);
  int slots = 0, at = 0;
  for (int i = 0; i < sum.n; i++) {
    if (!ex_uses(sum.term[i], m->k)) continue;
    slots++;
    at = i;
  }
  if (slots == 1 && sum.coeff[at] > 0) {
    t.slot = sum.term[at];
    t.pitch = sum.coeff[at];
    sum.n--;
    sum.term[at] = sum.term[sum.n];
    sum.coeff[at] = sum.coeff[sum.n];
    t.rest = range_of(m, ex_from_affine(m->a, &sum), count);
  }
  vec_push(m->a, g->out, t);
}

static void gather_stmt(void *ctx, Stmt *s) {
  Gather *g = ctx;
  st_accesses(g->m->a, s, gather_access, g);
}

void rotate_touches(Moves *m, Stmt *s, Touches *out) {
  Gather g = {m, out};
  int mark = facts_mark(m->f);
  walk_facts(m->a, m->f, s, gather_stmt, &g);
  facts_pop(m->f, mark);
}

/* order */

static bool bounded(Range x) { return x.lo > INT64_MIN / 4 && x.hi < INT64_MAX / 4; }

static bool apart(const Touch *x, const Touch *y) {
  if (x->mode == ACC_READ && y->mode == ACC_READ) return true;
  return x->buf != y->buf || x->all.hi < y->all.lo || y->all.hi < x->all.lo;
}

// Different slots are at least `pitch` elements apart: the rests must differ by less.
static bool slots_apart(Moves *m, const Touch *x, const Touch *y) {
  if (!x->slot || !y->slot || x->pitch != y->pitch || !bounded(x->rest) || !bounded(y->rest))
    return false;
  return x->rest.hi - y->rest.lo < x->pitch && y->rest.hi - x->rest.lo < x->pitch &&
         facts_distinct(m->f, x->slot, y->slot);
}

bool rotate_apart(const Touches *x, const Touches *y) {
  for (int i = 0; i < x->len; i++)
    for (int j = 0; j < y->len; j++)
      if (!apart(&x->data[i], &y->data[j])) return false;
  return true;
}

// Where all threads enter a branch or none, its condition says something about the other statement.
static void push_guard(Moves *m, const Stmt *s) {
  if (s->kind == ST_IF && !s->u.branch.no && !walk_has_load(s->u.branch.cond) &&
      uniform_expr(m->uniform, s->u.branch.cond))
    facts_push_cond(m->f, s->u.branch.cond);
}

bool rotate_commute(Moves *m, Stmt *x, Stmt *y) {
  int mark = facts_mark(m->f);
  push_guard(m, x);
  push_guard(m, y);
  Touches p = {0}, q = {0};
  rotate_touches(m, x, &p);
  rotate_touches(m, y, &q);
  bool ok = true;
  for (int i = 0; i < p.len && ok; i++)
    for (int j = 0; j < q.len && ok; j++)
      ok = apart(&p.data[i], &q.data[j]) || slots_apart(m, &p.data[i], &q.data[j]);
  facts_pop(m->f, mark);
  return ok;
}

/* kinds of statements */

typedef struct {
  Arena *a;
  bool only, some;      // nothing but loads so far; one at least
  const Buffer *target; // of the store at hand
  bool shared, own;     // it reads shared memory; it reads its target
} Loads;

static void loads_access(void *ctx, const Access *acc) {
  Loads *l = ctx;
  Scope scope = acc->region.buf->scope;
  if (scope == SC_GLOBAL || (scope == SC_SHARED && acc->mode != ACC_READ)) l->only = false;
  if (scope == SC_SHARED) l->shared = true;
  if (acc->mode == ACC_READ && acc->region.buf == l->target) l->own = true;
}

static void loads_stmt(void *ctx, Stmt *s) {
  Loads *l = ctx;
  bool store = s->kind == ST_STORE;
  bool move = s->kind == ST_OP &&
              (s->u.op.op == OP_LDMATRIX || s->u.op.op == OP_VMOV || s->u.op.op == OP_BYTE_PERM);
  if (s->kind == ST_OP && !move) l->only = false;
  l->target = store ? s->u.store.buf : NULL;
  l->shared = l->own = false;
  st_accesses(l->a, s, loads_access, l);
  if (store && (!l->shared || l->own)) l->only = false; // it computes
  l->some = l->some || l->shared;
}

bool rotate_loads(Moves *m, Stmt *s) {
  Loads l = {.a = m->a, .only = true};
  st_walk(s, loads_stmt, &l);
  return l.only && l.some;
}

typedef struct {
  OpCode op;
  bool found;
} Has;

static void has_stmt(void *ctx, Stmt *s) {
  Has *h = ctx;
  if (s->kind == ST_OP && s->u.op.op == h->op) h->found = true;
}

bool rotate_has(Stmt *s, OpCode op) {
  Has h = {op, false};
  st_walk(s, has_stmt, &h);
  return h.found;
}

static void special_stmt(void *ctx, Stmt *s) {
  if (s->kind != ST_OP) return;
  if (op_info(s->u.op.op)->sync > SYNC_WARP || s->u.op.op == OP_CP_ASYNC) *(bool *)ctx = true;
}

bool rotate_special(Stmt *s) {
  bool found = false;
  st_walk(s, special_stmt, &found);
  return found;
}

/* iterations taken out of an unrolled loop */

static bool range(const Stmt *s, int64_t *min, int64_t *extent) {
  return s->kind == ST_FOR && s->u.loop.loop == LOOP_UNROLL && !s->u.loop.cond &&
         !s->u.loop.unroll && ex_const(s->u.loop.min[0], min) &&
         ex_const(s->u.loop.extent[0], extent);
}

bool rotate_peelable(const Stmt *s) {
  int64_t min, extent;
  return range(s, &min, &extent) && extent > 1;
}

static Stmt *decided(void *ctx, Stmt *s) {
  int64_t known;
  if (s->kind != ST_IF || !ex_const(s->u.branch.cond, &known)) return s;
  return known ? s->u.branch.yes : s->u.branch.no;
}

static Stmt *iteration(Arena *a, const Stmt *loop, int64_t i) {
  Stmt *s = walk_block(a, walk_clone(a, loop->u.loop.body, NULL));
  Subst by = {.arena = a};
  subst_add(&by, loop->u.loop.var[0], ex_index(a, i));
  subst_stmt(&by, s);
  return walk_block(a, st_rewrite(a, s, decided, NULL));
}

Stmt *rotate_first(Arena *a, const Stmt *loop) {
  int64_t min = 0, extent;
  range(loop, &min, &extent);
  return iteration(a, loop, min);
}

Stmt *rotate_last(Arena *a, const Stmt *loop) {
  int64_t min = 0, extent = 0;
  range(loop, &min, &extent);
  return iteration(a, loop, min + extent - 1);
}

Stmt *rotate_rest(Arena *a, const Stmt *loop, int first, int last) {
  int64_t min = 0, extent = 0;
  range(loop, &min, &extent);
  min += first;
  extent -= first + last;
  if (extent <= 0) return st_block(a, loop->span);
  if (extent == 1) return iteration(a, loop, min);
  Stmt *body = walk_clone(a, loop->u.loop.body, NULL);
  return st_for(a, LOOP_UNROLL, loop->u.loop.var[0], ex_index(a, min), ex_index(a, extent), body,
                loop->span);
}
