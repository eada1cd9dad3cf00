// Run-time loops: T.serial, T.Pipelined, T.Parallel and their kin.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"
#include "eval/rt_loop.h"

#include <string.h>

enum { MAX_STAGES = 64, MAX_PARALLEL = 8 };

// (stop), (start, stop) or (start, stop, step) as one loop.
static Loop *one_loop(Ev *ev, Call *c, LoopKind kind, int step_arg) {
  need_kernel(ev, c);
  Arena *a = ev->arena;
  bool both = arg_given(c, 1);
  Expr *lo = both ? dev_index(ev, c->arg[0], c->at[0]) : ex_at(ex_index(a, 0), c->span);
  Expr *hi = dev_index(ev, c->arg[both], c->at[both]);
  Loop *l = NEW(a, Loop);
  l->kind = kind;
  l->n = 1;
  l->step = step_arg >= 0 ? arg_int(ev, c, step_arg, 1) : 1;
  if (l->step == 0 || l->step == INT64_MIN)
    ev_fail(ev, DIAG_ZERO_DIVISION, c->at[step_arg], "a loop step of 0");
  Expr *n = l->step > 0 ? dev_diff(ev, hi, lo) : dev_diff(ev, lo, hi);
  int64_t by = l->step > 0 ? l->step : -l->step;
  if (by != 1) n = ex_floordiv(a, ex_add(a, n, ex_index(a, by - 1)), ex_index(a, by));
  n = ex_at(n, c->at[both]);
  l->min = arena_copy(a, &lo, sizeof lo);
  l->extent = arena_copy(a, &n, sizeof n);
  return l;
}

static Val loop_value(Loop *l) { return (Val){.kind = V_LOOP, .loop = l}; }

Val t_serial(Ev *ev, Call *c) { return loop_value(one_loop(ev, c, LOOP_SERIAL, 2)); }
Val t_vectorized(Ev *ev, Call *c) { return loop_value(one_loop(ev, c, LOOP_VECTORIZED, -1)); }

Val t_unroll(Ev *ev, Call *c) {
  Loop *l = one_loop(ev, c, LOOP_UNROLL, 2);
  int64_t factor = arg_int(ev, c, 4, 0);
  if (factor < 0 || factor > 1024) ev_fail(ev, DIAG_UNROLL, c->at[4], (long long)factor);
  l->unroll = (int)factor;
  return loop_value(l);
}

Val t_pipelined(Ev *ev, Call *c) {
  Loop *l = one_loop(ev, c, LOOP_PIPELINED, -1);
  int64_t stages = arg_int(ev, c, 2, 0);
  if (stages < 0 || stages > MAX_STAGES)
    ev_fail(ev, DIAG_STAGES, c->at[2], (long long)stages, MAX_STAGES);
  l->num_stages = (int)stages;
  if (arg_given(c, 3) || arg_given(c, 4))
    diag_remark(ev->diags, c->span, "pipeline",
                "order and stage are not used: tlc plans the overlap itself");
  return loop_value(l);
}

// Loops of several variables: 0 up to each operand.
static void loop_extents(Ev *ev, Call *c, Loop *l) {
  l->min = NEWN(ev->arena, Expr *, l->n);
  l->extent = NEWN(ev->arena, Expr *, l->n);
  for (int i = 0; i < l->n; i++) {
    l->min[i] = ex_at(ex_index(ev->arena, 0), c->span);
    l->extent[i] = dev_index(ev, c->rest->data[i], c->pos_at.data[i]);
  }
}

Val t_parallel(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Loop *l = NEW(ev->arena, Loop);
  l->kind = LOOP_PARALLEL;
  l->n = c->rest->len;
  l->step = 1;
  if (l->n < 1 || l->n > MAX_PARALLEL) ev_fail(ev, DIAG_PARALLEL, c->span, l->n, MAX_PARALLEL);
  if (arg_given(c, 1)) {
    const IndexMap *m = c->arg[1].kind == V_MAP ? c->arg[1].map : NULL;
    if (!m || !m->fragment || m->n - (m->replicate > 1) != l->n)
      ev_fail(ev, DIAG_LAYOUT_MAP, c->at[1], "the loop", "T.Fragment", l->n);
    l->map = m;
  }
  loop_extents(ev, c, l);
  return loop_value(l);
}

Val t_grid(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Loop *l = NEW(ev->arena, Loop);
  *l = (Loop){.kind = LOOP_SERIAL, .n = c->rest->len, .step = 1};
  if (l->n < 1 || l->n > MAX_PARALLEL)
    ev_fail(ev, DIAG_LOOP_EXTENTS, c->span, "grid", l->n, MAX_PARALLEL);
  loop_extents(ev, c, l);
  return loop_value(l);
}

// Tiles of a domain dealt out in waves: block `index` of `wave_size` takes every wave_size-th one.
// Groups of the last dimension come first (LANGUAGE.md 6.13).
Val t_persistent(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Arena *a = ev->arena;
  Val *domain;
  Decode *d = NEW(a, Decode);
  shape_of(ev, c->arg[0], c->at[0], &d->n, &domain);
  for (int i = 0; i < d->n; i++) d->domain[i] = dev_index(ev, domain[i], c->at[0]);
  d->wave_size = dev_index(ev, c->arg[1], c->at[1]);
  d->index = dev_index(ev, c->arg[2], c->at[2]);
  Expr *one = ex_index(a, 1), *last = d->domain[d->n - 1];
  Expr *group = arg_given(c, 3) ? dev_index(ev, c->arg[3], c->at[3]) : ex_index(a, 8);
  d->group = ex_bin(a, BIN_MAX, one, ex_bin(a, BIN_MIN, group, last));
  Expr *groups = ex_floordiv(a, ex_sub(a, ex_add(a, last, d->group), one), d->group);
  Expr *total = ex_mul(a, groups, d->group);
  for (int i = 0; i < d->n - 1; i++) total = ex_mul(a, total, d->domain[i]);
  Loop *l = NEW(a, Loop);
  *l = (Loop){.kind = LOOP_SERIAL, .n = 1, .step = 1, .decode = d};
  Expr *left = ex_sub(a, ex_add(a, ex_sub(a, total, d->index), d->wave_size), one);
  Expr *min = ex_index(a, 0), *extent = ex_at(ex_floordiv(a, left, d->wave_size), c->span);
  l->min = arena_copy(a, &min, sizeof min);
  l->extent = arena_copy(a, &extent, sizeof extent);
  return loop_value(l);
}

Val t_loop_break(Ev *ev, Call *c) {
  need_kernel(ev, c);
  rt_jump(ev, FLOW_BREAK, c->span);
  return v_none();
}

// An axis of the block by its name; all of its threads, or an error.
Val t_thread_binding(Ev *ev, Call *c) {
  need_kernel(ev, c);
  static const char *const names[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
  bool both = arg_given(c, 1) && c->arg[1].kind != V_STR;
  const char *name = arg_str(ev, c, both || arg_given(c, 2) ? 2 : 1, "threadIdx.x");
  int64_t lo = both ? arg_int(ev, c, 0, 0) : 0, n = arg_int(ev, c, both, 1) - lo;
  int dim = 0;
  while (dim < 3 && strcmp(names[dim], name)) dim++;
  if (dim == 3)
    ev_fail(ev, DIAG_UNSUPPORTED, c->span, arena_printf(ev->arena, "T.thread_binding of %s", name));
  Trace *t = ev->trace;
  int have = dim < t->ndims ? t->dims[dim] : 1;
  if (lo || n != have) ev_fail(ev, DIAG_THREAD_AXIS, c->span, (long long)n, name, have);
  return thread_axis(ev, dim, c->span);
}

Val t_parallel_range(Ev *ev, Call *c) { return loop_value(one_loop(ev, c, LOOP_PARALLEL, -1)); }
