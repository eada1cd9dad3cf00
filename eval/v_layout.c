// Layouts that the program gives as functions of indices: kept in the IR as written.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

enum { MAX_DIMS = 8 };

typedef struct {
  Ev *ev;
  Val fn;
  Span at;
  int n;
  Val *arg, result;
} Apply;

static void apply(Ev *ev, void *arg) {
  Apply *a = arg;
  a->result = ev_call_args(ev, a->fn, a->at, a->n, a->arg);
}

// The function's own statements are none of the kernel's.
static Val of_indices(Ev *ev, Val fn, Span at, int n, Val *arg) {
  Apply a = {ev, fn, at, n, arg, v_none()};
  Kernel *kernel = ev->trace ? ev->trace->kernel : NULL;
  if (ev->trace) ev->trace->kernel = NULL;
  bool ok = ev_protect(ev, apply, &a);
  if (ev->trace) ev->trace->kernel = kernel;
  if (!ok) ev_unwind(ev);
  return a.result;
}

static void add_places(Ev *ev, IndexMap *m, Val v, Span at) {
  Val one = v_seq(ev, V_TUPLE, 1);
  if (!v_is_seq(v)) {
    v_push(ev, one.seq, v);
    v = one;
  }
  Expr **to = NEWN(ev->arena, Expr *, m->m + v.seq->len);
  for (int i = 0; i < m->m; i++) to[i] = m->to[i];
  for (int i = 0; i < v.seq->len; i++) {
    if (v_is_seq(v.seq->data[i])) ev_fail(ev, DIAG_LAYOUT_FN, at, v_brief(ev, v));
    to[m->m++] = dev_index(ev, v.seq->data[i], at);
  }
  m->to = to;
}

static IndexMap *map_new_vars(Ev *ev, int n, Span at, Val *arg) {
  static const char *const names[] = {"i", "j", "k", "l", "i4", "i5", "i6", "i7", "rep"};
  IndexMap *m = NEW(ev->arena, IndexMap);
  *m = (IndexMap){.n = n, .replicate = 1, .var = NEWN(ev->arena, Var *, n)};
  for (int i = 0; i < n; i++) {
    m->var[i] = var_new(ev->arena, names[i], DT_INDEX, VAR_LOOP, at);
    arg[i] = v_expr(ex_at(ex_var(ev->arena, m->var[i]), at), 1);
  }
  return m;
}

const IndexMap *map_of_function(Ev *ev, Val fn, int n, Span at) {
  Val arg[MAX_DIMS];
  IndexMap *m = map_new_vars(ev, n, at, arg);
  add_places(ev, m, of_indices(ev, fn, at, n, arg), at);
  return m;
}

Val t_layout(Ev *ev, Call *c) {
  int n;
  Val *shape;
  shape_of(ev, c->arg[0], c->at[0], &n, &shape);
  return (Val){.kind = V_MAP, .map = map_of_function(ev, c->arg[1], n, c->at[1])};
}

// (shape, forward_fn, forward_thread_fn, replicate, forward_index_fn): thread, then register.
Val t_fragment(Ev *ev, Call *c) {
  int n;
  Val *shape, arg[MAX_DIMS + 1];
  shape_of(ev, c->arg[0], c->at[0], &n, &shape);
  int64_t replicate = arg_int(ev, c, 3, 1);
  if (replicate < 1 || replicate > 1024)
    ev_fail(ev, DIAG_LAYOUT_REPLICATE, c->at[3], (long long)replicate);
  int nargs = n + (replicate > 1);
  IndexMap *m = map_new_vars(ev, nargs, c->span, arg);
  m->fragment = true;
  m->replicate = (int)replicate;
  if (nargs > n) m->var[n]->name = "rep";
  bool both = arg_given(c, 1);
  if (!both && !arg_given(c, 2)) ev_fail(ev, DIAG_LAYOUT_NO_FN, c->span);
  Val v = of_indices(ev, c->arg[both ? 1 : 2], c->span, nargs, arg);
  if (both && v_is_seq(v) && v.seq->len == 2) {
    add_places(ev, m, v.seq->data[0], c->span);
    add_places(ev, m, v.seq->data[1], c->span);
  } else {
    if (both || v_is_seq(v)) ev_fail(ev, DIAG_LAYOUT_FN, c->span, v_brief(ev, v));
    add_places(ev, m, v, c->span);
  }
  if (!both && arg_given(c, 4))
    add_places(ev, m, of_indices(ev, c->arg[4], c->span, n, arg), c->span);
  return (Val){.kind = V_MAP, .map = m};
}
