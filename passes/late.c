// late: in a persistent kernel the tile that a block has finished waits in registers, as the type
// that it is stored in, and goes out part by part beside the next tile's products.
//   for round { lets; for k { issue; wait }; E0; E1; ... }
// where each E ends with a TMA store, becomes
//   for round { lets; issue 0; if round != 0 { E0' }; wait; issue 1; if round != 0 { E1' }; wait;
//               ...; for the other k { issue; wait }; keep the tile; keep what lets E uses }
//   E0'; E1'; ...
// E' stores what was kept. Consumers meet at E's barriers in the same order as before. The first
// iterations are peeled: with the conditions in the loop it took 1 % longer on an H200.
// SPDX-License-Identifier: MIT
#include "passes/late.h"

enum {
  SPARE = 36, // registers of a thread for what is neither accumulator nor kept
  SPREAD = 4, // iterations from a part to the next, where stores start at no line's edge
};

typedef struct {
  Late *l;
  Stmt *keep;     // what replaces E at the end of the loop over tiles
  StmtVec parts;  // blocks: E'
  VEC(Var *) var; // that E uses, with the registers that keep them
  VEC(Buffer *) cell;
  VEC(Expr *) known; // about them
} Parts;

static Expr *num(const Parts *p, int64_t v) { return ex_index(p->l->a, v); }

static Buffer *kept_buffer(Parts *p, const char *name, DType type, int64_t elems) {
  Arena *a = p->l->a;
  Expr *shape[] = {num(p, elems)};
  Buffer *b =
      buf_new(a, arena_printf(a, "%s_late", name), type, SC_LOCAL, shape, 1, p->l->tiles->span);
  vec_push(a, &p->l->k->buffers, b);
  return b;
}

/* the tile */

typedef struct {
  Arena *a;
  const Buffer *from;
  Buffer *to;
  Expr *by;
} Rename;

static void rename_store(void *ctx, Stmt *s) {
  Rename *r = ctx;
  if (s->kind != ST_STORE || s->u.store.buf != r->from) return;
  Expr *at = ex_add(r->a, s->u.store.idx[0], r->by);
  s->u.store.buf = r->to;
  s->u.store.idx = arena_copy(r->a, &at, sizeof at);
}

// A copy of the nest that only fills `to`, one run's elements behind the other's, or only stores
// it.
static Stmt *half(Parts *p, const Stmt *s, Buffer *to, bool fills) {
  Arena *a = p->l->a;
  Stmt *x = walk_clone(a, s, NULL);
  LateNest nest;
  Expr *run = num(p, 0);
  for (Stmt *at = x; at->kind == ST_FOR; at = at->u.loop.body->u.block.data[0]) {
    run = ex_add(a, ex_mul(a, run, at->u.loop.extent[0]), ex_var(a, at->u.loop.var[0]));
    if (at->u.loop.body->u.block.len > 1) break;
  }
  if (!late_nest(p->l, x, &nest)) die("late: a nest's copy is none");
  Rename r = {a, nest.scratch, to, ex_mul(a, run, num(p, buf_elems(nest.scratch)))};
  StmtVec *all = &nest.fills->u.block;
  Stmt *last = all->data[all->len - 1];
  if (fills) {
    all->len--;
    st_walk(x, rename_store, &r);
  } else {
    Region *src = walk_region(a, last->u.op.arg[0].region);
    src->buf = to;
    src->min[0] = ex_add(a, src->min[0], r.by);
    last->u.op.arg[0].region = src;
    all->data[0] = last;
    all->len = 1;
  }
  return x;
}

static void split(Parts *p) {
  Late *l = p->l;
  Stmt *part = st_block(l->a, l->tiles->span);
  for (int i = l->from; i < l->body->len; i++) {
    Stmt *s = l->body->data[i];
    LateNest nest;
    if (s->kind == ST_FOR && late_nest(l, s, &nest)) {
      int64_t elems = nest.count * buf_elems(nest.scratch);
      Buffer *to = kept_buffer(p, nest.scratch->name, nest.scratch->dtype, elems);
      st_add(l->a, p->keep, half(p, s, to, true));
      s = half(p, s, to, false);
    }
    vec_push(l->a, &part->u.block, s);
    if (!st_has_op(s, OP_TMA_STORE) || i + 1 == l->body->len) continue;
    vec_push(l->a, &p->parts, part);
    part = st_block(l->a, l->tiles->span);
  }
  if (part->u.block.len) vec_push(l->a, &p->parts, part);
}

/* where it goes */

static bool used(const Parts *p, const Var *v) {
  for (int i = 0; i < p->parts.len; i++)
    if (st_uses(p->parts.data[i], v)) return true;
  return false;
}

typedef struct {
  Parts *p;
  Facts *f;
  bool ok;
} Keeping;

// Facts hold what is known behind the let of v.
static void keep_var(Keeping *x, Var *v) {
  Parts *p = x->p;
  Arena *a = p->l->a;
  if (!used(p, v)) return;
  int64_t lo, hi;
  facts_bounds(x->f, ex_var(a, v), &lo, &hi);
  x->ok = x->ok && lo >= INT32_MIN && hi <= INT32_MAX && v->type == DT_INDEX;
  Buffer *cell = kept_buffer(p, v->name, DT_I32, 1);
  Expr *zero = num(p, 0), *value = ex_cast(a, DT_I32, ex_var(a, v));
  st_add(a, p->keep, st_store(a, cell, &zero, 1, value, p->keep->span));
  Expr *low = ex_bin(a, BIN_LE, num(p, lo), ex_var(a, v));
  Expr *high = ex_bin(a, BIN_LE, ex_var(a, v), num(p, hi));
  vec_push(a, &p->var, v);
  vec_push(a, &p->cell, cell);
  vec_push(a, &p->known, ex_and(a, low, high));
}

static void keep_at(void *ctx, Stmt *s) {
  Keeping *x = ctx;
  Late *l = x->p->l;
  if (s != l->body->data[l->products]) return;
  keep_var(x, l->tiles->u.loop.var[0]);
  for (int i = 0; i < l->from; i++) {
    Stmt *let = l->body->data[i];
    if (let->kind == ST_LET) keep_var(x, let->u.let.var);
  }
}

// Parts [from, to) with the variables of the tile before.
static Stmt *placed(const Parts *p, int64_t from, int64_t to) {
  Arena *a = p->l->a;
  Span span = p->l->tiles->span;
  Stmt *out = st_block(a, span);
  Subst s = {.arena = a};
  Expr *zero = num(p, 0);
  for (int i = 0; i < p->var.len; i++) {
    Var *v = var_new(a, p->var.data[i]->name, DT_INDEX, VAR_LET, span);
    Expr *value = ex_cast(a, DT_INDEX, ex_load(a, p->cell.data[i], &zero, 1));
    st_add(a, out, st_let(a, v, value, span));
    Expr *known = ex_subst(a, p->known.data[i], p->var.data[i], ex_var(a, v));
    st_add(a, out, st_known(a, known, span));
    subst_add(&s, p->var.data[i], ex_var(a, v));
  }
  for (int64_t i = from; i < to; i++) {
    Stmt *part = walk_clone(a, p->parts.data[i], NULL);
    subst_stmt(&s, part);
    st_add(a, out, part);
  }
  return out;
}

// A wait for all but `issued` groups or more: for none.
static bool waits_for_none(const Stmt *s, int64_t issued) {
  return st_is_op(s, OP_WGMMA_WAIT) && !s->u.op.arg[0].region && s->u.op.arg[1].i >= issued;
}

// The loop's iterations [from, to), which have none.
static Stmt *plain(const Parts *p, Stmt *loop, int64_t from, int64_t to) {
  Stmt *x = walk_clone(p->l->a, loop, NULL);
  x->u.loop.min[0] = num(p, from);
  x->u.loop.extent[0] = num(p, to - from);
  return x;
}

// Iteration `at`, the i-th of the n that have parts beside them.
static Stmt *iteration(const Parts *p, Stmt *loop, int64_t at, int64_t i, int64_t n) {
  Late *l = p->l;
  Arena *a = l->a;
  Stmt *out = st_block(a, loop->span), *body = walk_clone(a, loop->u.loop.body, NULL);
  Subst s = {.arena = a};
  subst_add(&s, loop->u.loop.var[0], num(p, at));
  subst_stmt(&s, body);
  Expr *later = ex_bin(a, BIN_NE, ex_var(a, l->tiles->u.loop.var[0]), num(p, 0));
  Stmt *parts = placed(p, i * p->parts.len / n, (i + 1) * p->parts.len / n);
  for (int j = 0; j < body->u.block.len; j++) {
    if (j == l->hook) st_add(a, out, st_if(a, later, parts, NULL, loop->span));
    if (j == l->hook && waits_for_none(body->u.block.data[j], at + 1)) continue;
    vec_push(a, &out->u.block, body->u.block.data[j]);
  }
  return out;
}

static void rewrite(Parts *p) {
  Late *l = p->l;
  Arena *a = l->a;
  Span span = l->tiles->span;
  Stmt *loop = l->body->data[l->products], *out = st_block(a, span);
  Stmt *products = st_block(a, span), *all = st_block(a, span);
  int64_t n = l->trips < p->parts.len ? l->trips : p->parts.len;
  int64_t each = pass_flag(l->c, l->k, "late-every", l->last ? SPREAD : 1);
  if (each < 1 || each > l->trips / n) each = each < 1 ? 1 : l->trips / n;
  for (int i = 0; i < l->products; i++) st_add(a, out, l->body->data[i]);
  for (int64_t i = 0; i < n; i++) {
    st_add(a, products, iteration(p, loop, i * each, i, n));
    if (each > 1) st_add(a, products, plain(p, loop, i * each + 1, (i + 1) * each));
  }
  loop->u.loop.min[0] = num(p, n * each);
  loop->u.loop.extent[0] = num(p, l->trips - n * each);
  for (int i = l->products; i < l->from; i++) st_add(a, products, l->body->data[i]);
  st_add(a, out, narrow_products(l, products));
  st_add(a, out, p->keep);
  *l->body = out->u.block;
  Expr *some = ex_lt(a, num(p, 0), l->tiles->u.loop.extent[0]);
  for (int i = 0; i < l->around->u.block.len; i++) {
    st_add(a, all, l->around->u.block.data[i]);
    if (i == l->at) st_add(a, all, st_if(a, some, placed(p, 0, p->parts.len), NULL, span));
  }
  l->around->u.block = all->u.block;
}

static void find_regs(void *ctx, Stmt *s) {
  if (st_is_op(s, OP_SETMAXNREG) && s->u.op.arg[1].i) *(int64_t *)ctx = s->u.op.arg[0].i;
}

static bool fits(const Late *l) {
  int64_t regs = l->c->target->regs_per_sm / kernel_threads(l->k);
  st_walk(l->around, find_regs, &regs);
  return l->accumulators + l->kept + l->others + SPARE <= regs;
}

// Were a tile's stores put beside the next tile's products?
static bool late_kernel(const Program *program, Late *l) {
  PassCtx *c = l->c;
  Kernel *k = l->k;
  int64_t flag = pass_flag(c, k, "late-stores", -1);
  if (!flag || k->team || !late_find(l) || (flag < 0 && !fits(l))) return false;
  narrow_stores(l);
  if (k->narrow && !l->last) return false;
  late_groups(l);
  Parts p = {.l = l, .keep = st_block(c->arena, l->tiles->span)};
  int buffers = k->buffers.len;
  split(&p);
  Keeping x = {&p, facts_new(c->arena, program, k), true};
  walk_facts(c->arena, x.f, k->body, keep_at, &x);
  if (!x.ok) {
    k->buffers.len = buffers;
    return false;
  }
  Span at = l->body->data[l->products]->span;
  rewrite(&p);
  diag_remark(c->diags, at, "late",
              "a tile's stores, %d, run beside the next tile's products, from %lld registers",
              p.parts.len, (long long)l->kept);
  return true;
}

void pass_late(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Late l = {.c = c, .a = c->arena, .k = p->kernels.data[i]};
    if (!late_kernel(p, &l) && l.k->narrow) thrift_no_columns(c, p, l.k);
  }
}
