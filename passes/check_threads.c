// Loops over elements whose iterations would depend on the thread that does them, which is for tlc
// to choose: thread numbers in them, and what threads hold in arrays of their own. And fragments
// that hold one value for the block, of which threads would write several.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

typedef struct {
  Check *k;
  const Uniform *numbers;
  VEC(const Var *) vars;    // bound in the loop
  VEC(const Buffer *) sets; // arrays of the thread's own that the loop writes
  const Stmt *s;            // visited
  bool reported;
} Loop;

static bool has_var(const Loop *l, const Var *v) {
  for (int i = 0; i < l->vars.len; i++)
    if (l->vars.data[i] == v) return true;
  return false;
}

static bool has_set(const Loop *l, const Buffer *b) {
  for (int i = 0; i < l->sets.len; i++)
    if (l->sets.data[i] == b) return true;
  return false;
}

static void note_write(void *ctx, const Access *a) {
  Loop *l = ctx;
  if (a->mode != ACC_READ) vec_push(l->k->c->arena, &l->sets, buf_root(a->region.buf));
}

static void note_bound(void *ctx, Stmt *s) {
  Loop *l = ctx;
  Arena *a = l->k->c->arena;
  if (s->kind == ST_LET) vec_push(a, &l->vars, s->u.let.var);
  for (int i = 0; s->kind == ST_FOR && i < s->u.loop.nvars; i++)
    vec_push(a, &l->vars, s->u.loop.var[i]);
  st_accesses(a, s, note_write, l);
}

static void report(Loop *l, const char *what, const Buffer *b) {
  Check *k = l->k;
  if (l->reported) return;
  l->reported = true;
  diag_report(k->c->diags, DIAG_THREAD_IN_LOOP, l->s->span, what);
  if (b) note_buffer(k->c, k->program, b);
}

static void read_buffer(Loop *l, const Buffer *b) {
  if (b->scope == SC_LOCAL && !has_set(l, buf_root(b)) && !uniform_buffer(l->numbers, b))
    report(l, b->name, b);
}

static void read_node(void *ctx, Expr *x) {
  Loop *l = ctx;
  if (x->kind == EX_LOAD) read_buffer(l, x->u.load.buf);
  if (x->kind != EX_VAR || has_var(l, x->u.var) || uniform_expr(l->numbers, x)) return;
  bool thread = x->u.var->kind == VAR_THREAD;
  report(l, thread ? "a thread's number" : x->u.var->name, NULL);
}

static void read_slot(void *ctx, Expr **slot) { ex_walk(*slot, read_node, ctx); }

static void read_access(void *ctx, const Access *a) {
  if (a->mode == ACC_READ) read_buffer(ctx, a->region.buf);
}

static void read_stmt(void *ctx, Stmt *s) {
  Loop *l = ctx;
  l->s = s;
  st_exprs(s, read_slot, l);
  st_accesses(l->k->c->arena, s, read_access, l);
}

static const Uniform *numbers(Check *k) {
  if (!k->numbers) k->numbers = uniform_numbers(k->c->arena, k->kernel);
  return k->numbers;
}

void check_threads(Check *k, Stmt *loop) {
  if (k->kernel->threads == 1) return;
  Loop l = {.k = k, .numbers = numbers(k)};
  st_walk(loop, note_bound, &l);
  st_walk(loop->u.loop.body, read_stmt, &l);
}

void check_fragment_store(Check *k, const Stmt *s) {
  const Buffer *b = s->u.store.buf;
  if (b->scope != SC_FRAGMENT || k->kernel->threads == 1) return;
  const Uniform *u = numbers(k);
  uint32_t digits = uniform_digits(u, s->u.store.value);
  for (int i = 0; i < s->u.store.n; i++) digits &= ~uniform_digits(u, s->u.store.idx[i]);
  Expr *thread = ex_var(k->c->arena, k->kernel->thread);
  if (!digits || uniform_pinned(u, k->facts, thread, digits)) return;
  diag_report(k->c->diags, DIAG_FRAGMENT_EACH, s->span, b->name);
  note_buffer(k->c, k->program, b);
}
