// Loops over parts of fragments, put so that the part is a constant: an iteration bound by a
// condition becomes the loop's extent, and a serial loop that counts through the parts is unrolled.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

enum { MAX_PARTS = 8 };

/* ------------------------------------------------------------------ bounds by a condition */

// Is x `v < c` of one of the loop's variables, which start at zero? Then the loop ends there.
static bool bound_by(Arena *a, Stmt *loop, const Expr *x) {
  int64_t end, extent, min;
  if (x->kind != EX_BINARY || x->u.bin.op != BIN_LT || !ex_const(x->u.bin.b, &end)) return false;
  for (int v = 0; v < loop->u.loop.nvars; v++) {
    if (x->u.bin.a->kind != EX_VAR || x->u.bin.a->u.var != loop->u.loop.var[v]) continue;
    if (!ex_const(loop->u.loop.min[v], &min) || min) return false;
    if (!ex_const(loop->u.loop.extent[v], &extent) || end < 1) return false;
    if (end < extent) loop->u.loop.extent[v] = ex_index(a, end);
    return true;
  }
  return false;
}

// What is left of a condition after its bounds of the loop's variables; NULL: nothing.
static Expr *without_bounds(Arena *a, Stmt *loop, Expr *x) {
  if (bound_by(a, loop, x)) return NULL;
  if (x->kind != EX_BINARY || x->u.bin.op != BIN_AND) return x;
  Expr *p = without_bounds(a, loop, x->u.bin.a), *q = without_bounds(a, loop, x->u.bin.b);
  if (p == x->u.bin.a && q == x->u.bin.b) return x;
  return p && q ? ex_and(a, p, q) : p ? p : q;
}

static void bound(void *ctx, Stmt *s) {
  Arena *a = ctx;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PARALLEL || s->u.loop.layout) return;
  Stmt *body = st_only(s->u.loop.body);
  if (body->kind != ST_IF || body->u.branch.no) return;
  Expr *left = without_bounds(a, s, body->u.branch.cond);
  if (left) body->u.branch.cond = left;
  else s->u.loop.body = walk_block(a, body->u.branch.yes);
}

/* ------------------------------------------------------------------ counted parts */

typedef struct {
  Arena *arena;
  Plan *plan;
  const Var *counter; // of the serial loop
  bool found;         // a loop that accesses a part which the counter picks
} Parts;

// Is the difference of an index and a loop variable a constant and multiples of the counter? 2 when
// the counter is in it, 1 when not, 0 when it is something else.
static int offset_kind(const Parts *p, Expr *index, Var *var) {
  Affine rest = ex_affine(p->arena, ex_sub(p->arena, index, ex_var(p->arena, var)));
  if (!rest.n) return 1;
  const Expr *atom = rest.n == 1 ? rest.term[0] : NULL;
  return atom && atom->kind == EX_VAR && atom->u.var == p->counter ? 2 : 0;
}

// Does a use reach a part that the counter picks, with every thread's elements its own?
static bool picks(const Parts *p, const FragUse *u, const Stmt *s) {
  int64_t shape[LOOP_MAX_DIMS];
  bool counted = false;
  if (u->write || !u->buf->layout || u->buf->ndim != s->u.loop.nvars) return false;
  for (int d = 0; d < u->buf->ndim; d++) {
    int kind = offset_kind(p, u->idx[d], s->u.loop.var[d]);
    if (!kind || !ex_const(s->u.loop.extent[d], &shape[d])) return false;
    if (shape[d] < 1 || shape[d] > u->buf->layout->shape[d]) return false;
    counted = counted || kind == 2;
  }
  return counted && layout_part(p->arena, u->buf->layout, shape);
}

static void see_loop(void *ctx, Stmt *s) {
  Parts *p = ctx;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PARALLEL) return;
  FragUses uses = frag_uses(p->arena, s);
  for (int i = 0; i < uses.len; i++) p->found = p->found || picks(p, &uses.data[i], s);
}

static Stmt *unroll(void *ctx, Stmt *s) {
  Parts *p = ctx;
  int64_t min, n;
  if (s->kind != ST_FOR || s->u.loop.loop == LOOP_PARALLEL || s->u.loop.loop == LOOP_PIPELINED ||
      s->u.loop.nvars != 1 || s->u.loop.cond || !ex_const(s->u.loop.min[0], &min) ||
      !ex_const(s->u.loop.extent[0], &n) || n > MAX_PARTS)
    return s;
  p->counter = s->u.loop.var[0];
  p->found = false;
  st_walk(s->u.loop.body, see_loop, p);
  if (!p->found) return s;
  Stmt *out = st_block(p->arena, s->span);
  for (int64_t i = 0; i < n; i++) {
    Subst sub = {.arena = p->arena};
    Stmt *body = walk_clone(p->arena, s->u.loop.body, p->plan);
    subst_add(&sub, s->u.loop.var[0], ex_index(p->arena, min + i));
    subst_stmt(&sub, body);
    st_add(p->arena, out, body);
  }
  return out;
}

void layout_parts(PassCtx *c, Kernel *k) {
  Parts p = {.arena = c->arena, .plan = c->plan};
  st_walk(k->body, bound, c->arena);
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, unroll, &p));
}
