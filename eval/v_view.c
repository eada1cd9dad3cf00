// Other names for the storage of a buffer: T.reshape, T.view, T.Tensor(shape, dtype, buf.data).
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

static const char *buf_name(const Buffer *b) { return b->name ? b->name : "the buffer"; }

static Expr *elements(Ev *ev, const Buffer *b) {
  Expr *n = ex_index(ev->arena, 1);
  for (int i = 0; i < b->ndim; i++) n = ex_mul(ev->arena, n, b->shape[i]);
  return n;
}

// The sizes in bits, as far as they are known: less, equal, more; or 2 where nothing is.
static int compare_bits(Ev *ev, const Buffer *a, const Buffer *b) {
  Arena *ar = ev->arena;
  Expr *x = ex_mul(ar, elements(ev, a), ex_index(ar, dt_bits(a->dtype)));
  Expr *y = ex_mul(ar, elements(ev, b), ex_index(ar, dt_bits(b->dtype)));
  if (ex_equal(x, y)) return 0;
  int64_t c;
  Affine d = ex_affine(ar, ex_sub(ar, x, y));
  if (ex_const(ex_from_affine(ar, &d), &c)) return c < 0 ? -1 : c > 0;
  return 2;
}

static Buffer *view_new(Ev *ev, Buffer *of, DType t, int n, const Val *shape, Span at) {
  Expr *extent[8];
  for (int i = 0; i < n; i++) extent[i] = dev_index(ev, shape[i], at);
  Buffer *b = buf_new(ev->arena, "", t, of->scope, extent, n, at);
  b->name = NULL;
  b->base = of->base ? of->base : of;
  if (of->strides) ev_fail(ev, DIAG_VIEW_STRIDED, at, buf_name(of));
  return b;
}

static Val add_view(Ev *ev, Buffer *b, Buffer *of, bool whole, Span at) {
  int size = compare_bits(ev, b, of);
  if (size == 1 || (size == -1 && whole)) {
    const char *now = ir_expr_str(ev->arena, elements(ev, b)),
               *was = ir_expr_str(ev->arena, elements(ev, of));
    ev_fail(ev, DIAG_VIEW_SIZE, at, now, dt_name(b->dtype), buf_name(of), was, dt_name(of->dtype));
  }
  vec_push(ev->arena, &ev->trace->kernel->buffers, b);
  return v_buffer(b);
}

static Buffer *viewed(Ev *ev, Call *c, int i) {
  need_kernel(ev, c);
  if (c->arg[i].kind != V_BUFFER)
    ev_fail(ev, DIAG_ARGUMENT, c->at[i], arena_printf(ev->arena, "T.%s", c->fn->name),
            "the first operand", "a buffer", v_kind(ev, c->arg[i]));
  return c->arg[i].buf;
}

static Val as_shape(Ev *ev, Call *c, Buffer *of, int shape_arg, DType t) {
  Val dims[8], *shape = dims;
  int n = of->ndim;
  if (arg_given(c, shape_arg)) {
    shape_of(ev, c->arg[shape_arg], c->at[shape_arg], &n, &shape);
  } else {
    for (int i = 0; i < n; i++) dims[i] = v_expr(of->shape[i], 8);
  }
  return add_view(ev, view_new(ev, of, t, n, shape, c->span), of, true, c->span);
}

Val t_reshape(Ev *ev, Call *c) {
  Buffer *of = viewed(ev, c, 0);
  return as_shape(ev, c, of, 1, of->dtype);
}

Val t_view(Ev *ev, Call *c) {
  Buffer *of = viewed(ev, c, 0);
  return as_shape(ev, c, of, 1, arg_dtype(ev, c, 2, of->dtype));
}

// T.Tensor(shape, dtype, buf.data): the storage of buf from its start on.
Val view_tensor(Ev *ev, Call *c, DType t) {
  Buffer *of = viewed(ev, c, 2);
  int n;
  Val *shape;
  shape_of(ev, c->arg[0], c->at[0], &n, &shape);
  return add_view(ev, view_new(ev, of, t, n, shape, c->span), of, false, c->span);
}
