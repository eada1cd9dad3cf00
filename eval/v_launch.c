// T.Kernel and what is asked of a launch.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

enum { HINTS_AT = 3 }; // T.Kernel's first operand that is a hint

static void see_load(void *ctx, Expr *x) { *(bool *)ctx |= x->kind == EX_LOAD; }

static Expr *grid_extent(Ev *ev, Call *c, int i) {
  Expr *x = dev_index(ev, c->rest->data[i], c->pos_at.data[i]);
  bool load = false;
  ex_walk(x, see_load, &load);
  if (load) ev_fail(ev, DIAG_GRID_LOAD, c->pos_at.data[i], i);
  int64_t n, limit = ev->target->max_grid[i];
  if (ex_const(x, &n) && (n < 0 || n > limit))
    ev_fail(ev, DIAG_GRID_RANGE, c->pos_at.data[i], (long long)n, i, (long long)limit);
  return x;
}

static void grid_threads(Ev *ev, Call *c, Grid *g) {
  Val *dims = NULL, v = arg_given(c, 0) ? c->arg[0] : v_int(128);
  shape_of(ev, v, c->at[0], &g->ndims, &dims);
  if (g->ndims > 3) ev_fail(ev, DIAG_THREADS_AXES, c->at[0], v_brief(ev, v), g->ndims);
  int64_t total = 1;
  int most = ev->target->max_threads;
  for (int i = 0; i < g->ndims; i++) {
    int64_t n = 0;
    ev_need(ev, dims[i]);
    if (v_is_int(dims[i])) n = v_as_int(dims[i]);
    else if (dims[i].kind != V_EXPR || !ex_const(dims[i].expr, &n))
      ev_fail(ev, DIAG_THREADS_RT, c->at[0], v_brief(ev, dims[i]));
    bool over = __builtin_mul_overflow(total, n, &total);
    if (over || n < 1) total = n < 1 ? n : INT64_MAX;
    g->dims[i] = (int)n;
    if (n < 1 || n > most) break;
  }
  if (total < 1 || total > most)
    ev_fail(ev, DIAG_EV_THREADS, c->at[0], v_brief(ev, v), (long long)total, most);
  g->threads = (int)total;
}

// The operands behind T.Kernel's own are called as the flags of passes/flags.def, with _ for -.
static void grid_hints(Ev *ev, Call *c, Grid *g) {
  const char *word;
  for (int i = HINTS_AT; (word = arg_name(ev, c, i)); i++) {
    if (!arg_given(c, i)) continue;
    char *name = arena_str(ev->arena, word);
    for (char *p = name; *p; p++)
      if (*p == '_') *p = '-';
    Hint h = {name, arg_int(ev, c, i, 0)};
    Buf why = {0};
    if (ev->options->hint_takes) ev->options->hint_takes(name, h.value, &why);
    const char *text = arena_str(ev->arena, buf_str(&why));
    buf_free(&why);
    if (*text) ev_fail(ev, DIAG_HINT_RANGE, c->at[i], text);
    vec_push(ev->arena, &g->hints, h);
  }
}

Val t_kernel(Ev *ev, Call *c) {
  if (!ev->trace) ev_fail(ev, DIAG_NO_PRIM, c->span);
  if (ev->trace->kernel) ev_fail(ev, DIAG_NESTED_KERNEL, c->span);
  Grid *g = NEW(ev->arena, Grid);
  g->n = c->rest->len;
  g->span = c->span;
  if (g->n > 3) ev_fail(ev, DIAG_GRID_AXES, c->span, g->n);
  for (int i = 0; i < 3; i++)
    g->extent[i] = i < g->n ? grid_extent(ev, c, i) : ex_index(ev->arena, 1);
  grid_threads(ev, c, g);
  ev_add_source(ev, arg_str(ev, c, 1, ""));
  if (arg_bool(ev, c, 2, false)) ev_fail(ev, DIAG_UNSUPPORTED, c->at[2], "T.Kernel(is_cpu=True)");
  grid_hints(ev, c, g);
  return (Val){.kind = V_GRID, .grid = g};
}

static void bind_blocks(Ev *ev, Kernel *k, const Grid *g, const AstExpr *target, Span at) {
  static const char *const names[] = {"bx", "by", "bz"};
  const char *given[3] = {names[0], names[1], names[2]};
  bool tuple = target && (target->kind == AST_TUPLE || target->kind == AST_LIST);
  int n = !target ? 0 : tuple ? target->items.len : 1;
  if (target && n != (g->n ? g->n : 1)) ev_fail(ev, DIAG_BLOCK_VARS, target->span, g->n, n);
  for (int i = 0; i < n; i++) {
    const AstExpr *e = tuple ? target->items.data[i] : target;
    if (e->kind != AST_NAME) ev_fail(ev, DIAG_LOOP_TARGET, e->span);
    given[i] = e->name;
  }
  for (int i = 0; i < 3; i++) {
    Span span = i < n ? (tuple ? target->items.data[i]->span : target->span) : at;
    k->block[i] = var_new(ev->arena, given[i], DT_INDEX, VAR_BLOCK, span);
    k->block[i]->axis = i;
    if (i < n) env_set(ev, given[i], v_expr(ex_at(ex_var(ev->arena, k->block[i]), span), 1), span);
  }
}

void kernel_enter(Ev *ev, const Grid *g, const AstExpr *target, Span at) {
  Trace *t = ev->trace;
  if (!t || t->kernel) ev_fail(ev, DIAG_NESTED_KERNEL, at);
  Kernel *k = NEW(ev->arena, Kernel);
  k->name = arena_printf(ev->arena, "%s_k%d", t->symbol, t->program->kernels.len);
  for (int i = 0; i < 3; i++) k->grid[i] = g->extent[i];
  k->threads = g->threads;
  for (int i = 0; i < g->hints.len; i++) vec_push(ev->arena, &k->hints, g->hints.data[i]);
  k->thread = var_new(ev->arena, "tx", DT_INDEX, VAR_THREAD, at);
  k->body = st_block(ev->arena, at);
  k->level = LEVEL_TILE;
  k->span = at;
  bind_blocks(ev, k, g, target, at);
  t->ndims = g->ndims;
  memcpy(t->dims, g->dims, sizeof t->dims);
  t->kernel = k;
  t->random = NULL;
  t->cuts.len = 0;
  t->barriers.len = 0;
  t->block = k->body;
  vec_push(ev->arena, &t->program->kernels, k);
}

// A name for what was never assigned to one.
void kernel_leave(Ev *ev) {
  Kernel *k = ev->trace->kernel;
  for (int i = 0; k && i < k->buffers.len; i++) {
    if (!k->buffers.data[i]->name) k->buffers.data[i]->name = arena_printf(ev->arena, "tile_%d", i);
  }
  if (k) ev_split_grid(ev);
  ev->trace->kernel = NULL;
  ev->trace->block = NULL;
}

Val t_use_swizzle(Ev *ev, Call *c) {
  need_kernel(ev, c);
  int64_t panel = arg_int(ev, c, 0, 10);
  const char *order = arg_str(ev, c, 1, "row");
  if (panel < 1 || panel > 65535) ev_fail(ev, DIAG_PANEL, c->at[0], (long long)panel);
  if (strcmp(order, "row") && strcmp(order, "column") && strcmp(order, "col"))
    ev_fail(ev, DIAG_ORDER, c->at[1], order);
  if (!arg_bool(ev, c, 2, true)) return v_none();
  if (ev->trace->kernel->raster_panel) ev_fail(ev, DIAG_TWO_SWIZZLES, c->span);
  if (ev->trace->rt)
    ev_fail(ev, DIAG_RT_CONTEXT, c->span, "T.use_swizzle", "call it at the top of the kernel");
  ev->trace->kernel->raster_panel = (int)panel;
  ev->trace->kernel->raster_column = strcmp(order, "row") != 0;
  return v_none();
}

Val thread_axis(Ev *ev, int dim, Span at) {
  Trace *t = ev->trace;
  Arena *a = ev->arena;
  if (!t->ndims) return (Val){.kind = V_ERROR}; // T.Kernel's operands were wrong
  if (dim >= t->ndims) return v_int(0);
  Expr *x = ex_var(a, t->kernel->thread);
  int below = 1;
  for (int i = 0; i < dim; i++) below *= t->dims[i];
  x = ex_floordiv(a, x, ex_index(a, below));
  if (dim + 1 < t->ndims) x = ex_floormod(a, x, ex_index(a, t->dims[dim]));
  return v_expr(ex_at(x, at), 5);
}

static int axis(Ev *ev, Call *c) {
  int64_t dim = arg_int(ev, c, 0, 0);
  if (dim < 0 || dim > 2) ev_fail(ev, DIAG_AXIS, c->at[0], (long long)dim);
  return (int)dim;
}

Val t_thread(Ev *ev, Call *c) {
  need_kernel(ev, c);
  return thread_axis(ev, axis(ev, c), c->span);
}

Val t_threads(Ev *ev, Call *c) {
  need_kernel(ev, c);
  if (!ev->trace->ndims) return (Val){.kind = V_ERROR};
  Val t = v_seq(ev, V_TUPLE, 3);
  for (int i = 0; i < ev->trace->ndims; i++) v_push(ev, t.seq, thread_axis(ev, i, c->span));
  return t;
}

static Val block_axis(Ev *ev, int dim, Span at) {
  return v_expr(ex_at(ex_var(ev->arena, ev->trace->kernel->block[dim]), at), 1);
}

Val t_block(Ev *ev, Call *c) {
  need_kernel(ev, c);
  return block_axis(ev, axis(ev, c), c->span);
}

Val t_blocks(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Val t = v_seq(ev, V_TUPLE, 3);
  for (int i = 0; i < 3; i++) v_push(ev, t.seq, block_axis(ev, i, c->span));
  return t;
}

Val t_sync(Ev *ev, Call *c) {
  need_kernel(ev, c);
  if (arg_given(c, 0)) {
    int threads = ev->trace->kernel->threads;
    int64_t id = arg_int(ev, c, 0, 0), count = arg_int(ev, c, 1, threads);
    if (id < 0 || id > 15 || count < 32 || count % 32 || count > threads)
      ev_fail(ev, DIAG_NAMED_BARRIER, c->span, (long long)count, (long long)id, threads);
    ev_emit(ev, st_op(ev->arena, OP_SYNC_SOME, c->span, id, count));
    return v_none();
  }
  ev_emit(ev, st_op(ev->arena, OP_SYNC, c->span));
  return v_none();
}
