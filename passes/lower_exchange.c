// What threads do with one another's values, and what they say: shuffles, votes, reductions over
// threads, atomics with results, prints and assertions.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

// An operand of the thread's own registers (or memory, one element) at thread level.
static Region *own(Lower *l, const Region *r, int count) {
  Expr *idx[LOOP_MAX_DIMS * 2];
  if (r->n > (int)LEN(idx)) die("a region of %d dimensions", r->n);
  for (int i = 0; i < r->n; i++) idx[i] = lower_simplify(l, lower_expr(l, r->min[i]));
  return region_flat(l->arena, r->buf, lower_offset(l, r->buf, idx), count);
}

void lower_shuffle(Lower *l, Stmt *s, Stmt *out) {
  const Arg *arg = s->u.op.arg;
  st_add(l->arena, out,
         st_op(l->arena, OP_SHUFFLE, s->span, lower_expr(l, arg[0].expr), own(l, arg[1].region, 1),
               lower_expr(l, arg[2].expr), arg[3].i, arg[4].i));
}

// The condition gets a register: what it reads is read before the vote, which may be a barrier.
void lower_vote(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const Arg *arg = s->u.op.arg;
  Expr *one = ex_index(a, 1), *zero = ex_index(a, 0);
  Buffer *cond = buf_new(a, "holds", DT_BOOL, SC_LOCAL, &one, 1, s->span);
  vec_push(a, &l->kernel->buffers, cond);
  st_add(a, out, st_store(a, cond, &zero, 1, lower_expr(l, arg[0].expr), s->span));
  st_add(a, out,
         st_op(a, s->u.op.op, s->span, ex_load(a, cond, &zero, 1), own(l, arg[1].region, 1),
               arg[2].i));
}

void lower_print(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const Arg *arg = s->u.op.arg;
  Expr *value = arg[1].expr ? lower_expr(l, arg[1].expr) : NULL;
  bool once = !l->loop && !l->control && (!value || uniform_expr(l->uniform, arg[1].expr));
  Stmt *p = st_op(a, OP_PRINT, s->span, arg[0].text, value, NULL);
  Expr *zero = ex_index(a, 0), *first = once ? ex_bin(a, BIN_EQ, l->thread, zero) : l->first_copy;
  st_add(a, out, lower_if(l, first, p, s->span));
}

void lower_assert(Lower *l, Stmt *s, Stmt *out) {
  const Arg *arg = s->u.op.arg;
  st_add(l->arena, out,
         st_op(l->arena, OP_ASSERT, s->span, lower_expr(l, arg[0].expr), arg[1].text));
}

// Each thread calls; in a loop over elements only one of those that hold copies, unless it gives
// them something or works on their own arrays.
void lower_extern(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  Stmt *x = arena_copy(a, s, sizeof *s);
  Arg *arg = x->u.op.arg;
  Arg *result = &arg[op_arg(OP_EXTERN, "result")];
  bool shared = false;
  for (int i = op_arg(OP_EXTERN, "p0"); i <= op_arg(OP_EXTERN, "p3"); i++) {
    if (!arg[i].region) continue;
    shared |= lower_form(l, arg[i].region->buf)->scope != SC_LOCAL;
    arg[i].region = own(l, arg[i].region, 1);
  }
  for (int i = op_arg(OP_EXTERN, "e0"); i <= op_arg(OP_EXTERN, "e3"); i++)
    if (arg[i].expr) arg[i].expr = lower_expr(l, arg[i].expr);
  if (result->region) result->region = own(l, result->region, 1);
  Expr *first = l->loop && shared && !result->region ? l->first_copy : NULL;
  st_add(a, out, lower_if(l, first, x, s->span));
}

void lower_atomic_load(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const Arg *arg = s->u.op.arg;
  Region *src = arg[0].region, *dst = own(l, arg[1].region, 1);
  Expr *idx[LOOP_MAX_DIMS * 2];
  for (int i = 0; i < src->n; i++) idx[i] = lower_simplify(l, lower_expr(l, src->min[i]));
  Expr *guard = lower_guard(l, src->buf, idx);
  Region *from = region_flat(a, src->buf, lower_offset(l, src->buf, idx), 1);
  if (guard)
    st_add(
        a, out,
        st_store(a, dst->buf, dst->min, 1, ex_cast(a, dst->buf->dtype, ex_index(a, 0)), s->span));
  Stmt *load = st_op(a, OP_ATOMIC_LOAD, s->span, from, dst, arg[2].i);
  st_add(a, out, lower_if(l, guard, load, s->span));
}

// Element by element; the vector pass makes one update of neighbours where the target has it.
void lower_atomic_vec(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const Arg *arg = s->u.op.arg;
  Region *dst = arg[0].region, *src = arg[1].region, *prev = arg[4].region;
  int64_t n;
  if (!ex_const(dst->extent[dst->n - 1], &n)) die("a vector atomic of run-time width");
  bool plain = !prev && !arg[3].i;
  Var *v = var_new(a, "v", DT_INDEX, VAR_LOOP, s->span);
  Region *to = walk_region(a, dst), *old = prev ? walk_region(a, prev) : NULL;
  Expr **from = arena_copy(a, src->min, sizeof *from * (size_t)src->n);
  to->min[to->n - 1] = ex_add(a, to->min[to->n - 1], ex_var(a, v));
  to->extent[to->n - 1] = ex_index(a, 1);
  from[src->n - 1] = ex_add(a, from[src->n - 1], ex_var(a, v));
  if (old) {
    old->min[old->n - 1] = ex_add(a, old->min[old->n - 1], ex_var(a, v));
    old->extent[old->n - 1] = ex_index(a, 1);
  }
  Stmt *one = st_atomic(a, s->span, to, ex_load(a, src->buf, from, src->n), arg[2].i);
  one->u.op.arg[3].i = arg[3].i;
  one->u.op.arg[4].region = old;
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, v, ex_index(a, 0), ex_index(a, n));
  Stmt *body = st_block(a, s->span);
  lower_atomic(l, one, body);
  facts_pop(l->facts, mark);
  st_add(a, out,
         st_for(a, plain ? LOOP_VECTORIZED : LOOP_UNROLL, v, ex_index(a, 0), ex_index(a, n), body,
                s->span));
}
