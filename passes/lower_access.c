// Loads, stores and atomics: flat offsets, guards and predicates.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

/* ------------------------------------------------------------------ offsets and guards */

Expr *lower_offset(Lower *l, const Buffer *b, Expr **idx) {
  const Buffer *t = lower_form(l, b);
  if (t->scope == SC_SHARED && t->layout) return layout_where(l->arena, l->facts, t->layout, idx);
  if (t->scope == SC_GLOBAL && t->places) return places_offset(l, t, idx);
  Expr *off = ex_index(l->arena, 0);
  for (int d = 0; d < t->ndim; d++)
    off = ex_add(l->arena, off, ex_mul(l->arena, idx[d], width_stride(l->arena, t, d)));
  return lower_simplify(l, off);
}

Expr *lower_guard(Lower *l, const Buffer *b, Expr **idx) {
  const Buffer *t = lower_form(l, b);
  Expr *cond = NULL;
  for (int d = 0; t->scope == SC_GLOBAL && d < t->ndim; d++) {
    Expr *low = ex_bin(l->arena, BIN_LE, ex_index(l->arena, 0), idx[d]);
    Expr *high = ex_lt(l->arena, idx[d], t->shape[d]);
    if (!facts_prove(l->facts, low)) cond = ex_and(l->arena, cond, low);
    if (!facts_prove(l->facts, high)) cond = ex_and(l->arena, cond, high);
  }
  return width_drop_lane(l->arena, l->facts, cond, l->lane, l->width);
}

Expr *lower_register(Lower *l, Buffer *b, Expr **idx, bool write, Span span) {
  const Buffer *t = lower_form(l, b);
  if (!l->loop) {
    diag_report(l->c->diags, DIAG_FRAGMENT_SCALAR, span, b->name);
    return ex_index(l->arena, 0);
  }
  FragUse u = {.buf = (Buffer *)t, .write = write, .plain = true, .idx = idx};
  uint32_t seen = 0;
  for (int d = 0; d < t->ndim; d++) {
    u.dim[d] = -1;
    for (int v = 0; v < l->loop->u.loop.nvars; v++)
      if (idx[d]->kind == EX_VAR && idx[d]->u.var == l->loop->u.loop.var[v]) u.dim[d] = v;
    if (u.dim[d] < 0) u.plain = u.plain && ex_is(idx[d], 0) && ex_is(t->shape[d], 1);
    else if (seen >> u.dim[d] & 1) u.plain = false;
    else seen |= 1u << u.dim[d];
  }
  int64_t coeff[LOOP_MAX_DIGITS], base;
  if (!frag_fit(l->arena, &u, t->layout, l->loop, coeff, &base))
    die("fragment %s does not fit its loop", b->name);
  Digit reg[LOOP_MAX_DIGITS];
  int n = layout_reg_digits(l->loop->u.loop.layout, reg, LOOP_MAX_DIGITS);
  Expr *r = ex_index(l->arena, base);
  for (int i = n - 1; i >= 0; i--)
    r = ex_add(l->arena, r, ex_mul(l->arena, l->digit[i], ex_index(l->arena, coeff[i])));
  return lower_simplify(l, r);
}

static Expr **lower_indices(Lower *l, Expr **idx, int n) {
  Expr **out = NEWN(l->arena, Expr *, n ? n : 1);
  for (int i = 0; i < n; i++) out[i] = lower_simplify(l, lower_expr(l, idx[i]));
  return out;
}

static Expr *safe_value(Lower *l, const Buffer *b) {
  if (b->safe) return ex_cast(l->arena, b->dtype, b->safe);
  return dt_is_float(b->dtype) ? ex_float(l->arena, b->dtype, 0) : ex_int(l->arena, b->dtype, 0);
}

/* ------------------------------------------------------------------ accesses */

Expr *lower_load(Lower *l, Expr *x) {
  Buffer *b = x->u.load.buf;
  const Buffer *t = lower_form(l, b);
  if (t->scope == SC_FRAGMENT) {
    Expr *r = lower_register(l, b, x->u.load.idx, false, x->span);
    return ex_load(l->arena, b, &r, 1);
  }
  Expr **idx = lower_indices(l, x->u.load.idx, x->u.load.n);
  Expr *guard = lower_guard(l, b, idx);
  int mark = facts_mark(l->facts);
  if (guard) facts_push_cond(l->facts, guard);
  Expr *off = lower_offset(l, b, idx);
  facts_pop(l->facts, mark);
  Expr *v = ex_load(l->arena, b, &off, 1);
  return guard ? ex_select(l->arena, guard, v, safe_value(l, t)) : v;
}

// Digits of a thread's number on which a store's element and value depend.
static uint32_t store_digits(Lower *l, const Stmt *s) {
  uint32_t digits = uniform_digits(l->uniform, s->u.store.value);
  for (int i = 0; i < s->u.store.n; i++) digits |= uniform_digits(l->uniform, s->u.store.idx[i]);
  return digits;
}

// Threads that agree on a plain store's element and value would write it one over the other: whose
// store it is. Under conditions of the thread a shared tile is left to them all, for nobody could
// wait for the one. NULL: every thread has its own.
static Expr *store_owner(Lower *l, const Stmt *s) {
  if (l->loop) return l->first_copy;
  if (l->control && lower_form(l, s->u.store.buf)->scope == SC_SHARED) return NULL;
  Expr *thread = ex_var(l->arena, l->kernel->thread);
  return uniform_first(l->uniform, thread, l->control | store_digits(l, s));
}

// Whoever gets here stores the same, and several may: as one atomic value, so that they don't race.
static bool anyones(Lower *l, const Stmt *s) {
  if (l->loop || !l->control || dt_bits(s->u.store.buf->dtype) < 8) return false;
  bool all = lower_form(l, s->u.store.buf)->scope == SC_SHARED; // as store_owner leaves it
  uint32_t others = (all ? uniform_all(l->uniform) : l->control) & ~store_digits(l, s);
  Expr *thread = ex_var(l->arena, l->kernel->thread);
  return others && !uniform_pinned(l->uniform, l->facts, thread, others);
}

void lower_store(Lower *l, Stmt *s, Stmt *out) {
  Buffer *b = s->u.store.buf;
  const Buffer *t = lower_form(l, b);
  Expr *off, *cond = NULL;
  if (t->scope == SC_FRAGMENT) {
    off = lower_register(l, b, s->u.store.idx, true, s->span);
    Expr *v = lower_expr(l, s->u.store.value);
    st_add(l->arena, out, st_store(l->arena, b, &off, 1, v, s->span));
    return;
  }
  bool block_wide = t->scope == SC_GLOBAL || t->scope == SC_SHARED;
  if (block_wide) cond = store_owner(l, s);
  bool atomic = block_wide && anyones(l, s);
  Expr **idx = lower_indices(l, s->u.store.idx, s->u.store.n);
  cond = ex_and(l->arena, lower_guard(l, b, idx), cond);
  int mark = facts_mark(l->facts);
  if (cond) facts_push_cond(l->facts, cond);
  off = lower_offset(l, b, idx);
  Expr *v = lower_expr(l, s->u.store.value);
  facts_pop(l->facts, mark);
  Stmt *store = st_store(l->arena, b, &off, 1, v, s->span);
  if (atomic) store = st_atomic(l->arena, s->span, region_flat(l->arena, b, off, 1), v, ATOMIC_SET);
  st_add(l->arena, out, lower_if(l, cond, store, s->span));
}

// Where the old value goes; zero where the update is skipped.
static Region *atomic_result(Lower *l, const Stmt *s, bool skips, Stmt *out) {
  Region *prev = s->u.op.arg[4].region;
  Expr **idx = lower_indices(l, prev->min, prev->n);
  Expr *off = lower_offset(l, prev->buf, idx), *zero = ex_index(l->arena, 0);
  if (skips)
    st_add(
        l->arena, out,
        st_store(l->arena, prev->buf, &off, 1, ex_cast(l->arena, prev->buf->dtype, zero), s->span));
  return region_flat(l->arena, prev->buf, off, 1);
}

void lower_atomic(Lower *l, Stmt *s, Stmt *out) {
  Region *r = s->u.op.arg[0].region;
  Buffer *b = r->buf;
  if (lower_form(l, b)->scope == SC_FRAGMENT) {
    diag_report(l->c->diags, DIAG_FRAGMENT_ATOMIC, s->span, b->name);
    return;
  }
  Expr **idx = lower_indices(l, r->min, r->n);
  Expr *cond = ex_and(l->arena, lower_guard(l, b, idx), l->loop ? l->first_copy : NULL);
  int mark = facts_mark(l->facts);
  if (cond) facts_push_cond(l->facts, cond);
  Expr *off = lower_offset(l, b, idx), *v = lower_expr(l, s->u.op.arg[1].expr);
  facts_pop(l->facts, mark);
  Stmt *op = st_atomic(l->arena, s->span, region_flat(l->arena, b, off, 1), v, s->u.op.arg[2].i);
  op->u.op.arg[3].i = s->u.op.arg[3].i;
  if (s->u.op.arg[4].region) op->u.op.arg[4].region = atomic_result(l, s, cond != NULL, out);
  st_add(l->arena, out, lower_if(l, cond, op, s->span));
}
