// Sums that a loop carries: what all threads add up in an iteration need not be combined there
// where it is only added to a sum, which may be scaled before. For row i and some factor e,
//   for k { part = 0; part += ...; finalize(part); t[i] = part[i]; s[i] = s[i] * e[i] + t[i] }
// becomes
//   own = 0; own += s; for k { part = 0; part += ...; own[i] = own[i] * e[i] + part[i] }
//   finalize(own); s[i] = own[i]
// which is the same sum in another order: the threads' copies of `own` are partial sums, scaled
// alike. Runs when layouts are known, for every copy must meet the copy of the same thread.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"
#include "passes/sync.h"

typedef struct {
  PassCtx *c;
  Kernel *kernel;
  Arena *a;
} Sums;

typedef struct {
  Stmt *outer, *loop, *body;   // the loop, a child of `outer`
  int at, finalize, take, add; // positions: of it, in its body
  Buffer *part, *t, *s;
} Carried;

// A parallel loop that stores to b, at its variables in order, once an iteration; else NULL.
static Stmt *only_store(Stmt *loop) {
  if (loop->kind != ST_FOR || loop->u.loop.loop != LOOP_PARALLEL || !loop->u.loop.layout)
    return NULL;
  Stmt *s = st_only(loop->u.loop.body);
  if (s->kind != ST_STORE || s->u.store.n != loop->u.loop.nvars) return NULL;
  for (int i = 0; i < s->u.store.n; i++)
    if (s->u.store.idx[i]->kind != EX_VAR || s->u.store.idx[i]->u.var != loop->u.loop.var[i])
      return NULL;
  return s;
}

static bool loads(const Expr *x, const Buffer *b, const Stmt *store) {
  if (x->kind != EX_LOAD || x->u.load.buf != b || x->u.load.n != store->u.store.n) return false;
  for (int i = 0; i < x->u.load.n; i++)
    if (!ex_equal(x->u.load.idx[i], store->u.store.idx[i])) return false;
  return true;
}

static bool is(const Expr *x, BinOp op) { return x->kind == EX_BINARY && x->u.bin.op == op; }

typedef struct {
  const Carried *x;
  int s, t; // loads
} Loads;

static void count_load(void *ctx, Expr *e) {
  Loads *n = ctx;
  if (e->kind != EX_LOAD) return;
  n->s += buf_root(e->u.load.buf) == buf_root(n->x->s);
  n->t += buf_root(e->u.load.buf) == buf_root(n->x->t);
}

// s[i] = s[i] * e + t[i], or without the factor, in any order.
static bool adds(const Carried *x, const Stmt *store) {
  const Expr *v = store->u.store.value;
  Loads n = {.x = x};
  if (!is(v, BIN_ADD)) return false;
  ex_walk((Expr *)v, count_load, &n);
  const Expr *old = v->u.bin.a, *more = v->u.bin.b;
  if (loads(old, x->t, store)) {
    old = v->u.bin.b;
    more = v->u.bin.a;
  }
  if (!loads(more, x->t, store) || n.s != 1 || n.t != 1) return false;
  if (is(old, BIN_MUL)) old = loads(old->u.bin.a, x->s, store) ? old->u.bin.a : old->u.bin.b;
  return loads(old, x->s, store);
}

static bool touches(const Sums *m, const Stmt *s, const Buffer *b) {
  return walk_touches(m->a, (Stmt *)s, b, false);
}

// Is b touched by no child of the loop's body beside these?
static bool only_at(const Sums *m, const Carried *x, const Buffer *b, int p, int q) {
  for (int i = 0; i < x->body->u.block.len; i++)
    if (i != p && i != q && touches(m, x->body->u.block.data[i], b)) return false;
  return true;
}

// Nobody reads t but where it has just been stored: in front of the loop, of a peeled iteration.
static bool is_temporary(const Sums *m, const Carried *x) {
  const StmtVec *all = &x->outer->u.block;
  bool before = false;
  for (int i = 0; i < all->len; i++) {
    if (i == x->at || !touches(m, all->data[i], x->t)) continue;
    const Stmt *store = before ? NULL : only_store(all->data[i]);
    if (i > x->at || (!before && (!store || store->u.store.buf != x->t))) return false;
    before = true;
  }
  return !walk_touches_beside(m->a, m->kernel->body, x->outer, x->t);
}

// The partial results begin anew in each iteration, and end there.
static bool is_fresh(const Sums *m, const Carried *x) {
  if (walk_touches_beside(m->a, m->kernel->body, x->loop, x->part)) return false;
  int first = 0;
  while (!touches(m, x->body->u.block.data[first], x->part)) first++;
  const Stmt *store = only_store(x->body->u.block.data[first]);
  if (!store || store->u.store.buf != x->part || walk_has_load(store->u.store.value)) return false;
  for (int i = x->take + 1; i < x->body->u.block.len; i++)
    if (touches(m, x->body->u.block.data[i], x->part)) return false;
  return true;
}

static bool alike(const Sums *m, const Carried *x) {
  Layout *own = layout_with_bits(m->a, x->part->layout, 1);
  const Stmt *take = x->body->u.block.data[x->take], *add = x->body->u.block.data[x->add];
  DType t = x->part->dtype;
  return dt_is_float(t) && x->t->dtype == t && x->s->dtype == t && x->s->scope == SC_FRAGMENT &&
         x->t->scope == SC_FRAGMENT && layout_equal(x->s->layout, x->part->layout) &&
         layout_equal(take->u.loop.layout, own) && layout_equal(add->u.loop.layout, own) &&
         !views_named(m->kernel, x->s) && !views_named(m->kernel, x->t);
}

static bool find_at(const Sums *m, Carried *x, int i) {
  const StmtVec *all = &x->body->u.block;
  const Stmt *f = all->data[i];
  if (f->kind != ST_OP || f->u.op.op != OP_REDUCER_FINALIZE || i + 1 >= all->len) return false;
  const Stmt *take = only_store(all->data[i + 1]);
  x->part = f->u.op.arg[0].region->buf;
  if (f->u.op.arg[2].i != RED_SUM || f->u.op.arg[1].region->buf != x->part || !take) return false;
  if (!loads(take->u.store.value, x->part, take) || !x->part->layout) return false;
  x->finalize = i;
  x->take = i + 1;
  x->t = take->u.store.buf;
  for (x->add = i + 2; x->add < all->len; x->add++)
    if (touches(m, all->data[x->add], x->t)) break;
  const Stmt *add = x->add < all->len ? only_store(all->data[x->add]) : NULL;
  if (!add) return false;
  x->s = add->u.store.buf;
  return x->s != x->t && adds(x, add) && only_at(m, x, x->t, x->take, x->add) &&
         only_at(m, x, x->s, x->add, -1) && alike(m, x) && is_temporary(m, x) && is_fresh(m, x);
}

/* the change */

typedef struct {
  Arena *a;
  Buffer *from, *to;
} Rename;

static Expr *rename_load(void *ctx, Expr *e) {
  const Rename *r = ctx;
  if (e->kind != EX_LOAD || e->u.load.buf != r->from) return e;
  return ex_at(ex_load(r->a, r->to, e->u.load.idx, e->u.load.n), e->span);
}

static void rename_in(Arena *a, Stmt *store, Buffer *from, Buffer *to) {
  Rename r = {a, from, to};
  store->u.store.value = walk_expr(a, store->u.store.value, rename_load, &r);
  if (store->u.store.buf == from) store->u.store.buf = to;
}

// For all elements, by the threads that hold them: a[i] = value, or a[i] = b[i], or b[i] is added
// to one of the copies of a[i].
static Stmt *each(const Sums *m, const Carried *x, Buffer *to, Buffer *from, bool update) {
  Arena *a = m->a;
  Span span = x->loop->span;
  Stmt *add = x->body->u.block.data[x->add], *loop = walk_clone(a, add, NULL);
  Stmt *store = st_only(loop->u.loop.body);
  Expr **idx = store->u.store.idx, **one = NEWN(a, Expr *, store->u.store.n);
  for (int i = 0; i < store->u.store.n; i++) one[i] = ex_index(a, 1);
  Expr *value = from ? ex_load(a, from, idx, store->u.store.n) : ex_float(a, to->dtype, 0);
  loop->u.loop.body = st_block(a, span);
  st_add(a, loop->u.loop.body,
         update ? st_op(a, OP_REDUCER_UPDATE, span, region_new(a, to, idx, one), value,
                        (int64_t)RED_SUM, (int64_t)0)
                : st_store(a, to, idx, store->u.store.n, value, span));
  return loop;
}

// The child behind the loop that uses s first, or NULL: what goes before may run before s is known.
static const Stmt *needed_by(const Sums *m, const Carried *x) {
  const StmtVec *all = &x->outer->u.block;
  for (int i = x->at + 1; i < all->len; i++)
    if (touches(m, all->data[i], x->s)) return all->data[i];
  return NULL;
}

static void carry(const Sums *m, Carried *x) {
  Arena *a = m->a;
  Span span = x->loop->span;
  Buffer *own = layout_temp(a, m->kernel, x->s, "carried", SC_FRAGMENT);
  own->layout = x->part->layout;
  Stmt *out = st_block(a, span), *store = only_store(x->body->u.block.data[x->add]);
  st_add(a, out, each(m, x, own, NULL, false));
  st_add(a, out, each(m, x, own, x->s, true));
  st_add(a, out, x->loop);
  Region *all = region_whole(a, own);
  const Stmt *user = needed_by(m, x);
  sync_insert(a, x->outer, user,
              st_op(a, OP_REDUCER_FINALIZE, span, all, all, (int64_t)RED_SUM, (int64_t)0));
  sync_insert(a, x->outer, user, each(m, x, x->s, own, false));
  rename_in(a, store, x->s, own);
  rename_in(a, store, x->t, x->part);
  x->body->u.block.data[x->finalize] = st_block(a, span);
  x->body->u.block.data[x->take] = st_block(a, span);
  x->outer->u.block.data[x->at] = out;
  diag_remark(m->c->diags, x->body->u.block.data[x->add]->span, "reduce",
              "%s is combined between threads after the loop", x->s->name);
}

static Stmt *visit(void *ctx, Stmt *s) {
  const Sums *m = ctx;
  if (s->kind != ST_BLOCK) return s;
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *loop = s->u.block.data[i];
    if (loop->kind != ST_FOR || loop->u.loop.loop == LOOP_PARALLEL || loop->u.loop.cond) continue;
    if (loop->u.loop.loop == LOOP_WHILE || loop->u.loop.body->kind != ST_BLOCK) continue;
    Carried x = {.outer = s, .loop = loop, .body = loop->u.loop.body, .at = i};
    for (int f = 0; f < x.body->u.block.len; f++) {
      if (!find_at(m, &x, f)) continue;
      carry(m, &x);
      break;
    }
  }
  return s;
}

void layout_carry_sums(PassCtx *c, Kernel *k) {
  if (!pass_flag(c, k, "carry-sums", 1)) return;
  Sums m = {c, k, c->arena};
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, visit, &m));
}
