// pack: stores. One thread owns a byte: where neighbours of a row are stored in different
// iterations, one iteration is made to store both.
// SPDX-License-Identifier: MIT
#include "passes/pack.h"

#include <limits.h>

static bool stepped(Pack *p, const Stmt *s);

static Expr *high(Arena *a, Expr *nibble) {
  return ex_bin(a, BIN_SHL, nibble, ex_int(a, DT_U8, 4));
}

static Expr **byte_index(Pack *p, const Stmt *s) {
  int n = s->u.store.n;
  Expr **idx = arena_copy(p->arena, s->u.store.idx, sizeof *idx * (size_t)n);
  idx[n - 1] = pack_half(p, idx[n - 1]);
  return idx;
}

/* ------------------------------------------------------------------ one element */

// Is the byte at a store's index no other thread's? Steps of two were made where they can be.
static const char *shared_by(Pack *p, Stmt *s) {
  Scope scope = s->u.store.buf->scope;
  bool once = uniform_expr(p->uniform, s->u.store.value);
  for (int i = 0; i < s->u.store.n; i++) once = once && uniform_expr(p->uniform, s->u.store.idx[i]);
  if (scope == SC_LOCAL) return NULL;
  if (stepped(p, s) && (scope != SC_GLOBAL || p->parallel || !once)) return NULL;
  if (p->parallel)
    return "T.Parallel must step along the last dimension, from an even index, an even number";
  if (scope == SC_FRAGMENT) return NULL;
  if (!once) return "each thread stores one; store whole tiles, or in T.Parallel";
  if (scope == SC_GLOBAL) return "another block may store the other; store both in one loop";
  return NULL;
}

// The other half of the byte stays.
static Stmt *merge(Pack *p, Stmt *s) {
  Arena *a = p->arena;
  int n = s->u.store.n;
  Expr **idx = byte_index(p, s);
  Expr *odd = facts_simplify(p->facts, ex_floormod(a, s->u.store.idx[n - 1], ex_index(a, 2)));
  Expr *by = ex_cast(a, DT_U8, ex_mul(a, odd, ex_index(a, 4)));
  Buffer *b = pack_bytes(p, s->u.store.buf);
  Expr *kept = ex_bin(a, BIN_SHR, ex_int(a, DT_U8, 0xf0), by);
  kept = ex_bin(a, BIN_BITAND, ex_load(a, b, idx, n), kept);
  Expr *value = ex_bin(a, BIN_SHL, pack_nibble(a, s->u.store.buf->dtype, s->u.store.value), by);
  return st_store(a, b, idx, n, ex_bin(a, BIN_BITOR, kept, value), s->span);
}

Stmt *pack_store(Pack *p, Stmt *s) {
  const char *why = shared_by(p, s);
  if (!why) return merge(p, s);
  diag_report(p->c->diags, DIAG_PACK_STORE, s->span, s->u.store.buf->name,
              dt_name(s->u.store.buf->dtype), why);
  return s;
}

/* ------------------------------------------------------------------ two elements a step */

// Are the elements that a store writes in two steps of v, the first an even one, one byte?
static bool neighbours(Pack *p, const Stmt *s, const Var *v, int64_t slope) {
  int last = s->u.store.n - 1;
  if (dt_bits(s->u.store.buf->dtype) >= 8) return false;
  for (int i = 0; i < last; i++)
    if (ex_uses(s->u.store.idx[i], v)) return false;
  Expr *at = s->u.store.idx[last];
  int64_t lo, hi;
  facts_bounds(p->facts, ex_var(p->arena, (Var *)v), &lo, &hi); // of one step nothing would be left
  Affine x = ex_affine(p->arena, lo == hi ? at : facts_simplify(p->facts, at));
  bool found = false;
  for (int i = 0; i < x.n; i++) {
    if (x.term[i]->kind == EX_VAR && x.term[i]->u.var == v) {
      found = x.coeff[i] == slope;
      x.coeff[i] = 0;
    } else if (ex_uses(x.term[i], v)) {
      return false;
    }
  }
  if (slope == 2) x.constant -= x.constant & 1; // either half
  return found && pack_even(p, ex_from_affine(p->arena, &x));
}

static bool stepped(Pack *p, const Stmt *s) {
  for (int i = 0; i < p->stepped.len; i++)
    if (neighbours(p, s, p->stepped.data[i], 2)) return true;
  return false;
}

typedef struct {
  Pack *p;
  const Var *v;
  bool found;
} Search;

static void see(void *ctx, Stmt *s) {
  Search *x = ctx;
  if (s->kind == ST_STORE && !x->found) x->found = neighbours(x->p, s, x->v, 1);
}

// The variable of a loop to take two steps at once; -1: none.
static int choose(Pack *p, Stmt *s) {
  if (s->u.loop.cond || s->u.loop.loop == LOOP_PIPELINED) return -1;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    if (!pack_even(p, s->u.loop.min[i]) || !pack_even(p, s->u.loop.extent[i])) continue;
    Search x = {p, s->u.loop.var[i], false};
    walk_facts(p->arena, p->facts, s->u.loop.body, see, &x);
    if (x.found) return i;
  }
  return -1;
}

typedef struct {
  Pack *p;
  const Stmt *loop, *body; // body: as it was
  Var *v, *half;
  VEC(Var *) low; // by statement of the body: what it stores in the low half
} Step;

static Stmt *body_of(Step *x, int q) {
  Arena *a = x->p->arena;
  Stmt *body = walk_block(a, walk_clone(a, x->body, NULL));
  Subst sub = {.arena = a};
  Expr *twice = ex_mul(a, ex_var(a, x->half), ex_index(a, 2));
  subst_add(&sub, x->v, ex_add(a, twice, ex_index(a, q)));
  subst_stmt(&sub, body);
  return body;
}

// May the first of two stores wait for the second?
static bool joins(Step *x, Stmt *s) {
  if (s->kind != ST_STORE || !neighbours(x->p, s, x->half, 2)) return false;
  LoopKind kind = x->loop->u.loop.loop;
  if (kind == LOOP_PARALLEL || kind == LOOP_VECTORIZED) return true;
  bool alone = x->body->kind != ST_BLOCK || x->body->u.block.len == 1;
  return alone && !walk_reads(x->p->arena, s, s->u.store.buf);
}

static void joined(Step *x, Stmt *s, int at, Stmt *out) {
  Pack *p = x->p;
  Arena *a = p->arena;
  Expr *nibble = pack_nibble(a, s->u.store.buf->dtype, pack_expr(p, s->u.store.value));
  if (at >= x->low.len) {
    Var *v = var_new(a, "low", DT_U8, VAR_LET, s->span);
    vec_push(a, &x->low, v);
    st_add(a, out, st_let(a, v, nibble, s->span));
    return;
  }
  for (int i = 0; i < s->u.store.n; i++) s->u.store.idx[i] = pack_expr(p, s->u.store.idx[i]);
  Expr *byte = ex_bin(a, BIN_BITOR, ex_var(a, x->low.data[at]), high(a, nibble));
  Expr **idx = byte_index(p, s);
  Buffer *b = pack_bytes(p, s->u.store.buf);
  st_add(a, out, st_store(a, b, idx, s->u.store.n, byte, s->span));
}

// A let right before its only use is written there: plain loops stay one store.
static Stmt *inlined(Arena *a, Stmt *body) {
  if (body->u.block.len != 2 || body->u.block.data[0]->kind != ST_LET) return body;
  Stmt *let = body->u.block.data[0], *store = body->u.block.data[1];
  Subst sub = {.arena = a};
  subst_add(&sub, let->u.let.var, let->u.let.value);
  subst_stmt(&sub, store);
  return walk_block(a, store);
}

bool pack_loop(Pack *p, Stmt *s) {
  Arena *a = p->arena;
  int d = choose(p, s);
  if (d < 0) return false;
  Stmt *out = st_block(a, s->span);
  Var *v = s->u.loop.var[d];
  Step x = {p, s, s->u.loop.body, v, var_new(a, v->name, v->type, VAR_LOOP, v->span), {0}};
  s->u.loop.var[d] = x.half;
  s->u.loop.min[d] = pack_half(p, s->u.loop.min[d]);
  s->u.loop.extent[d] = pack_half(p, s->u.loop.extent[d]);
  int mark = facts_mark(p->facts);
  facts_push_loop(p->facts, x.half, s->u.loop.min[d], s->u.loop.extent[d]);
  vec_push(a, &p->stepped, x.half);
  int errors = diag_errors(p->c->diags);
  for (int q = 0; q < 2 && diag_errors(p->c->diags) == errors; q++) {
    Stmt *body = s->u.loop.body = body_of(&x, q);
    uniform_add(p->uniform, s);
    for (int i = 0, at = 0; i < body->u.block.len; i++) {
      Stmt *one = body->u.block.data[i];
      if (joins(&x, one)) {
        joined(&x, one, q ? at : INT_MAX, out);
        at++;
        continue;
      }
      one = pack_stmt(p, one);
      st_add(a, out, one);
      if (one->kind == ST_LET) facts_push_let(p->facts, one->u.let.var, one->u.let.value);
    }
  }
  p->stepped.len--;
  facts_pop(p->facts, mark);
  s->u.loop.body = inlined(a, out);
  s->u.loop.layout = NULL;
  s->u.loop.places = NULL;
  return true;
}
