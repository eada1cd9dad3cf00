// Tensors as types, sizes, and the block's own memory.
// SPDX-License-Identifier: MIT
#include "eval/entry.h"
#include "eval/handlers.h"
#include "eval/internal.h"

#include <math.h>
#include <string.h>

enum { MAX_TILE_ELEMS = 1 << 30 };

static void no_unknown(Ev *ev, Call *c) {
  for (int i = 0; i < CALL_MAX; i++) ev_need(ev, c->arg[i]);
}

static Val tensor_type(Ev *ev, Call *c, int n, Val *shape, Val *strides, DType dtype) {
  TensorType *t = NEW(ev->arena, TensorType);
  *t = (TensorType){n, arena_copy(ev->arena, shape, sizeof *shape * (size_t)n), NULL, dtype};
  if (strides) t->strides = arena_copy(ev->arena, strides, sizeof *strides * (size_t)n);
  for (int i = 0; i < n; i++) {
    Expr *x = dev_index(ev, shape[i], c->at[0]);
    int64_t k;
    if (!ex_const(x, &k) || (k >= 0 && k <= INT64_MAX / 16)) continue;
    ev_blame(ev, shape[i]);
    ev_fail(ev, DIAG_TENSOR_SIZE, c->at[0], (long long)k, i);
  }
  return (Val){.kind = V_TENSOR, .tensor = t};
}

// T.Tensor((M, N), dtype); also T.Tensor[[M, N], dtype].
Val t_tensor(Ev *ev, Call *c) {
  no_unknown(ev, c);
  int n;
  Val *shape;
  shape_of(ev, c->arg[0], c->at[0], &n, &shape);
  DType t = arg_dtype(ev, c, 1, DT_F32);
  if (arg_given(c, 2)) return view_tensor(ev, c, t);
  if (arg_given(c, 3) && strcmp(arg_str(ev, c, 3, ""), "global"))
    ev_fail(ev, DIAG_UNSUPPORTED, c->at[3], "T.Tensor(scope=)");
  return tensor_type(ev, c, n, shape, NULL, t);
}

Val t_strided(Ev *ev, Call *c) {
  no_unknown(ev, c);
  int n, m;
  Val *shape, *strides;
  shape_of(ev, c->arg[0], c->at[0], &n, &shape);
  shape_of(ev, c->arg[1], c->at[1], &m, &strides);
  if (n != m) ev_fail(ev, DIAG_STRIDES, c->at[1], m, n);
  for (int i = 0; i < n; i++) (void)dev_index(ev, strides[i], c->at[1]);
  return tensor_type(ev, c, n, shape, strides, arg_dtype(ev, c, 2, DT_F32));
}

// (ptr, shape, dtype=, strides=)
static Val point(Ev *ev, Call *c, int strides) {
  no_unknown(ev, c);
  int n, m;
  Val *shape, *step = NULL;
  shape_of(ev, c->arg[1], c->at[1], &n, &shape);
  if (arg_given(c, strides)) {
    shape_of(ev, c->arg[strides], c->at[strides], &m, &step);
    if (n != m) ev_fail(ev, DIAG_STRIDES, c->at[strides], m, n);
  }
  return ev_point(ev, c, tensor_type(ev, c, n, shape, step, arg_dtype(ev, c, 2, DT_F32)).tensor);
}

Val t_make_tensor(Ev *ev, Call *c) { return point(ev, c, 3); }

// (param, shape, dtype=, ..., strides=, elem_offset=, ...)
Val t_match_buffer(Ev *ev, Call *c) {
  if (c->rest->len) ev_fail(ev, DIAG_ARG_MANY, c->pos_at.data[3], "T.match_buffer", 3, c->pos.len);
  arg_refuse(ev, c, 5, "T.match_buffer(elem_offset=)");
  return point(ev, c, 4);
}

// "M, N" or "M N": f of each name; one value or a tuple.
static Val each_name(Ev *ev, Call *c, Val (*f)(Ev *, const char *, Span)) {
  const char *s = arg_str(ev, c, 0, "");
  Val out = v_seq(ev, V_TUPLE, 0);
  while (*(s += strspn(s, " ,"))) {
    size_t n = strcspn(s, " ,");
    v_push(ev, out.seq, f(ev, arena_strn(ev->arena, s, n), c->at[0]));
    s += n;
  }
  if (!out.seq->len) ev_fail(ev, DIAG_NO_NAMES, c->at[0], c->fn->name);
  return out.seq->len == 1 ? out.seq->data[0] : out;
}

static Val size_value(Ev *ev, const char *name, Span at) {
  return v_expr(ex_at(ex_var(ev->arena, trace_size(ev, name, at)), at), 1);
}

Val t_dynamic(Ev *ev, Call *c) { return each_name(ev, c, size_value); }

Val t_const(Ev *ev, Call *c) {
  if (!ev->trace || !ev->trace->eager) ev_fail(ev, DIAG_CONST_LAZY, c->span);
  return each_name(ev, c, ev_const);
}

// A buffer that the first assignment will name.
static Buffer *nameless(Ev *ev, DType t, Scope scope, Expr **shape, int n, Span at) {
  Buffer *b = buf_new(ev->arena, "", t, scope, shape, n, at);
  b->name = NULL;
  return b;
}

static Expr **tensor_shape(Ev *ev, int n, const Val *shape, Span at) {
  Expr **out = NEWN(ev->arena, Expr *, n);
  for (int i = 0; i < n; i++) out[i] = dev_index(ev, shape[i], at);
  return out;
}

// T.empty((M, N), dtype) or T.empty(M, N, dtype=dtype): the operands as shape and dtype.
static Val empty_shape(Ev *ev, Call *c) {
  const Seq *all = c->rest;
  if (!all->len) ev_fail(ev, DIAG_ARG_MISSING, c->span, "T.empty", "shape");
  if (!v_is_seq(all->data[0]) && (all->len == 1 || dev_ok(all->data[1])))
    return (Val){.kind = V_TUPLE, .seq = c->rest};
  if (all->len > 3) ev_fail(ev, DIAG_ARG_MANY, c->pos_at.data[3], "T.empty", 3, all->len);
  if (all->len > 1 && arg_given(c, 0)) ev_fail(ev, DIAG_ARG_TWICE, c->at[0], "T.empty", "dtype");
  if (all->len > 1) {
    c->arg[0] = all->data[1];
    c->at[0] = c->pos_at.data[1];
  }
  return all->data[0];
}

Val t_empty(Ev *ev, Call *c) {
  if (!ev->trace || !ev->trace->eager || ev->trace->kernel) ev_fail(ev, DIAG_EMPTY_PLACE, c->span);
  int n;
  Val *shape;
  Val sizes = empty_shape(ev, c);
  Span at = c->pos.len ? c->pos_at.data[0] : c->span;
  shape_of(ev, sizes, at, &n, &shape);
  Expr **extents = tensor_shape(ev, n, shape, at);
  for (int i = 0; i < n; i++) {
    int64_t k;
    if (ex_const(extents[i], &k) && k < 0) ev_fail(ev, DIAG_TENSOR_SIZE, at, (long long)k, i);
  }
  Buffer *b = nameless(ev, arg_dtype(ev, c, 0, DT_F32), SC_GLOBAL, extents, n, c->span);
  vec_push(ev->arena, &ev->trace->empties, b);
  return v_buffer(b);
}

static void see_unsized(void *ctx, Expr *x) {
  *(bool *)ctx |= x->kind == EX_LOAD || (x->kind == EX_VAR && x->u.var->kind != VAR_SIZE);
}

// Its bytes are asked for by sizes alone, before there are arguments.
static void workspace_extent(Ev *ev, Expr *x, int i, Span at) {
  int64_t k;
  bool unsized = false;
  ex_walk(x, see_unsized, &unsized);
  const Expr *shown = x->kind == EX_CAST ? x->u.cast : x;
  if (unsized) ev_fail(ev, DIAG_WORKSPACE_SHAPE, at, ir_expr_str(ev->arena, shown), i);
  if (ex_const(x, &k) && (k < 0 || k > INT64_MAX / 16))
    ev_fail(ev, DIAG_TENSOR_SIZE, at, (long long)k, i);
}

Val t_alloc_global(Ev *ev, Call *c) {
  if (!ev->trace) ev_fail(ev, DIAG_NO_PRIM, c->span);
  if (ev->trace->kernel) ev_fail(ev, DIAG_WORKSPACE_PLACE, c->span);
  int n;
  Val *shape;
  shape_of(ev, c->arg[0], c->at[0], &n, &shape);
  Expr **extents = tensor_shape(ev, n, shape, c->at[0]);
  for (int i = 0; i < n; i++) workspace_extent(ev, extents[i], i, c->at[0]);
  DType t = arg_dtype(ev, c, 1, DT_F32);
  if (dt_bits(t) < 8)
    ev_fail(ev, DIAG_UNSUPPORTED, c->at[1], arena_printf(ev->arena, "the dtype %s", dt_name(t)));
  const char *scope = arg_str(ev, c, 2, "global");
  if (strcmp(scope, "global")) ev_fail(ev, DIAG_SCOPE, c->at[2], c->fn->name, scope, "global");
  Buffer *b = nameless(ev, t, SC_GLOBAL, extents, n, c->span);
  vec_push(ev->arena, &ev->trace->program->workspaces, b);
  return v_buffer(b);
}

Buffer *ev_alloc(Ev *ev, Call *c, Scope scope, DType t, Val shape, Span at) {
  need_kernel(ev, c);
  int n;
  Val *dims;
  shape_of(ev, shape, at, &n, &dims);
  Expr **extents = tensor_shape(ev, n, dims, at);
  int64_t total = 1;
  for (int i = 0; i < n; i++) {
    int64_t k;
    ev_blame(ev, dims[i]);
    if (!ex_const(extents[i], &k))
      ev_fail(ev, DIAG_TILE_RT, at, ir_expr_str(ev->arena, extents[i]));
    if (k < 1 || k > MAX_TILE_ELEMS || (total *= k) > MAX_TILE_ELEMS)
      ev_fail(ev, DIAG_EV_TILE_SIZE, at, v_brief(ev, shape), MAX_TILE_ELEMS);
  }
  ev_blame(ev, (Val){.kind = V_UNSET});
  Buffer *b = nameless(ev, t, scope, extents, n, c->span);
  vec_push(ev->arena, &ev->trace->kernel->buffers, b);
  return b;
}

Val ev_result(Ev *ev, const char *name, DType t, int n, Span at, Region **out) {
  Expr *extent = ex_index(ev->arena, n), *zero = ex_index(ev->arena, 0);
  Buffer *b = buf_new(ev->arena, name, t, SC_LOCAL, &extent, 1, at);
  vec_push(ev->arena, &ev->trace->kernel->buffers, b);
  *out = region_whole(ev->arena, b);
  return v_expr(ex_at(ex_load(ev->arena, b, &zero, 1), at), 2);
}

static Val alloc_tile(Ev *ev, Call *c, Scope scope, const char *a, const char *b) {
  const char *s = arg_str(ev, c, 2, a);
  if (scope == SC_FRAGMENT && !strcmp(s, "local")) scope = SC_LOCAL; // an array of each thread
  else if (strcmp(s, a) && strcmp(s, b)) ev_fail(ev, DIAG_SCOPE, c->at[2], c->fn->name, s, a);
  return v_buffer(ev_alloc(ev, c, scope, arg_dtype(ev, c, 1, DT_F32), c->arg[0], c->at[0]));
}

Val t_alloc_shared(Ev *ev, Call *c) { return alloc_tile(ev, c, SC_SHARED, "shared.dyn", "shared"); }
Val t_alloc_fragment(Ev *ev, Call *c) {
  bool own = !strcmp(arg_str(ev, c, 2, ""), "local"); // an array of each thread after all
  return alloc_tile(ev, c, own ? SC_LOCAL : SC_FRAGMENT, own ? "local" : "local.fragment", "local");
}
Val t_alloc_local(Ev *ev, Call *c) { return alloc_tile(ev, c, SC_LOCAL, "local", "local"); }

Val t_alloc_var(Ev *ev, Call *c) {
  Buffer *b = ev_alloc(ev, c, SC_LOCAL, arg_dtype(ev, c, 0, DT_F32), v_int(1), c->span);
  if (arg_given(c, 1)) {
    if (c->arg[1].kind == V_STR)
      ev_fail(ev, DIAG_SCOPE, c->at[1], c->fn->name, c->arg[1].str->data, "local.var");
    Expr *zero = ex_index(ev->arena, 0);
    if (c->arg[1].kind == V_FLOAT && dt_is_float(b->dtype) && isfinite(c->arg[1].f) &&
        fabs(c->arg[1].f) > type_edge(ev, b->dtype, true, false)->u.f)
      ev_fail(ev, DIAG_ARGUMENT, c->at[1], "T.alloc_var", "init",
              arena_printf(ev->arena, "a number that %s holds", dt_name(b->dtype)),
              v_brief(ev, c->arg[1]));
    ev_store(ev, b, &zero, c->arg[1], c->at[1]);
  }
  return (Val){.kind = V_VAR, .buf = b};
}

// A buffer in a named memory.
Val t_alloc_buffer(Ev *ev, Call *c) {
  const char *scope = arg_str(ev, c, 2, "global");
  static const struct {
    const char *name;
    Val (*alloc)(Ev *, Call *);
  } scopes[] = {{"global", t_alloc_global},
                {"shared", t_alloc_shared},
                {"shared.dyn", t_alloc_shared},
                {"local.fragment", t_alloc_fragment},
                {"local", t_alloc_local}};
  for (size_t i = 0; i < LEN(scopes); i++)
    if (!strcmp(scopes[i].name, scope)) return scopes[i].alloc(ev, c);
  ev_fail(ev, DIAG_SCOPE, c->at[2], c->fn->name, scope, "shared.dyn");
}
