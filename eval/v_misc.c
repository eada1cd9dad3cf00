// Convolution's gather, dot products of four, printing and checking on the device, bits.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"
#include "eval/runs.h"

#include <string.h>

static const char *buf_name(const Buffer *b) { return b->name ? b->name : "the buffer"; }

/* ------------------------------------------------------------------ im2col */

static int64_t at_least(Ev *ev, Call *c, int i, int64_t least, const char *what) {
  int64_t v = arg_int(ev, c, i, least);
  if (v < least || v > 4096)
    ev_fail(ev, DIAG_IM2COL_RANGE, c->at[i], what, (long long)v, (long long)least);
  return v;
}

// (img, col, nhw_step, c_step, kernel, stride, dilation, pad): LANGUAGE.md 6.14.
Val t_im2col(Ev *ev, Call *c) {
  need_kernel(ev, c);
  need_tile_place(ev, c);
  Side img, col;
  if (!side_of(ev, c->arg[0], c->at[0], &img) || !img.whole || img.buf->scope != SC_GLOBAL ||
      img.n != 4)
    ev_fail(ev, DIAG_IM2COL_IMAGE, c->at[0], v_kind(ev, c->arg[0]));
  if (!side_of(ev, c->arg[1], c->at[1], &col) || !col.extent || col.n < 2 ||
      col.buf->scope == SC_GLOBAL)
    ev_fail(ev, DIAG_TILE_OPERAND, c->at[1], c->fn->name, "destination", v_kind(ev, c->arg[1]));
  Arena *a = ev->arena;
  Expr *row = ex_mul(a, dev_index(ev, c->arg[2], c->at[2]), col.extent[col.n - 2]);
  Expr *first = ex_mul(a, dev_index(ev, c->arg[3], c->at[3]), col.extent[col.n - 1]);
  int64_t kernel = at_least(ev, c, 4, 1, "kernel"), stride = at_least(ev, c, 5, 1, "stride");
  int64_t dilation = at_least(ev, c, 6, 1, "dilation"), pad = at_least(ev, c, 7, 0, "pad");
  ev_emit(ev, st_op(a, OP_IM2COL, c->span, side_region(ev, &img, c->at[0]),
                    side_region(ev, &col, c->at[1]), row, first, kernel, stride, dilation, pad));
  return v_none();
}

/* ------------------------------------------------------------------ dp4a */

static Region *run_of(Ev *ev, Call *c, int i, int n, const char *what) {
  Side s;
  if (!side_of(ev, c->arg[i], c->at[i], &s))
    ev_fail(ev, DIAG_TILE_OPERAND, c->at[i], c->fn->name, what, v_kind(ev, c->arg[i]));
  DType t = s.buf->dtype;
  bool fits = n == 1 ? t == DT_I32 : t == DT_I8;
  if (!fits) ev_fail(ev, DIAG_DP4A, c->at[i], what, buf_name(s.buf), dt_name(t));
  Expr **extent = NEWN(ev->arena, Expr *, s.n);
  for (int d = 0; d < s.n; d++) extent[d] = ex_index(ev->arena, d == s.n - 1 ? n : 1);
  s.extent = extent;
  return side_region(ev, &s, c->at[i]);
}

Val t_dp4a(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Region *a = run_of(ev, c, 0, 4, "A"), *b = run_of(ev, c, 1, 4, "B");
  Region *d = run_of(ev, c, 2, 1, "C");
  ev_emit(ev, st_op(ev->arena, OP_DP4A, c->span, a, b, d));
  return v_none();
}

/* ------------------------------------------------------------------ what threads say */

Val t_print(Ev *ev, Call *c) {
  need_kernel(ev, c);
  const char *text = arg_str(ev, c, 1, NULL);
  Expr *x = NULL;
  Region *r = NULL;
  Side s;
  if (c->arg[0].kind == V_STR) {
    text =
        text ? arena_printf(ev->arena, "%s: %s", text, c->arg[0].str->data) : c->arg[0].str->data;
  } else if (c->arg[0].kind == V_BUFFER || c->arg[0].kind == V_REGION) {
    (void)side_of(ev, c->arg[0], c->at[0], &s);
    r = side_region(ev, &s, c->at[0]);
  } else if (arg_given(c, 0)) {
    x = dev_expr(ev, c->arg[0], c->at[0]);
  }
  ev_emit(ev, st_op(ev->arena, OP_PRINT, c->span, text, x, r));
  return v_none();
}

Val t_device_assert(Ev *ev, Call *c) {
  need_kernel(ev, c);
  if (!dev_ok(c->arg[0])) (void)arg_bool(ev, c, 0, false);
  Expr *cond = ev_cond(ev, c->arg[0], c->at[0]);
  const char *text = arg_str(ev, c, 1, "");
  ev_emit(ev, st_op(ev->arena, OP_ASSERT, c->span, cond, *text ? text : NULL));
  return v_none();
}

// An operand for its effect: statements it stands for are in the kernel already.
Val t_evaluate(Ev *ev, Call *c) {
  need_kernel(ev, c);
  return v_none();
}

/* ------------------------------------------------------------------ bits and indices */

// (value, dtype), either first.
Val t_reinterpret(Ev *ev, Call *c) {
  Val run;
  if (ev_reinterpret_run(ev, c->arg[0], c->arg[1], c->span, &run)) return run;
  int v = dev_ok(c->arg[1]) && !dev_ok(c->arg[0]);
  if (c->arg[!v].kind == V_STR && !strcmp(c->arg[!v].str->data, "handle")) return v_none();
  DType t = arg_dtype(ev, c, !v, DT_F32);
  Expr *x = dev_like(ev, c->arg[v], t, c->at[v]);
  if (x->type == DT_INDEX) x = ex_cast(ev->arena, DT_I32, x);
  if (x->kind == EX_INT && dt_bits(x->type) != dt_bits(t) && !dt_is_float(t))
    x = ex_cast(ev->arena, t, x);
  if (dt_bits(x->type) != dt_bits(t))
    ev_fail(ev, DIAG_BITS, c->span, dt_name(x->type), dt_bits(x->type), dt_name(t), dt_bits(t));
  return dev_wrap(ev, ex_bitcast(ev->arena, t, x), c->span, c->arg[v], v_none(), v_none());
}

Val t_fast_rcp(Ev *ev, Call *c) {
  return ev_binary(ev, AST_OP_DIV, v_float(1), c->arg[0], c->span);
}

Val t_align_up(Ev *ev, Call *c) {
  return ev_binary(ev, AST_OP_MUL, t_ceildiv(ev, c), c->arg[1], c->span);
}

Val t_coordinates(Ev *ev, Call *c) {
  int n;
  Val *shape, rest = c->arg[0], at[8];
  shape_of(ev, c->arg[1], c->at[1], &n, &shape);
  for (int i = n - 1; i >= 0; i--) {
    at[i] = ev_binary(ev, AST_OP_MOD, rest, shape[i], c->span);
    rest = ev_binary(ev, AST_OP_FLOORDIV, rest, shape[i], c->span);
  }
  Val out = v_seq(ev, V_LIST, n);
  for (int i = 0; i < n; i++) v_push(ev, out.seq, at[i]);
  return out;
}

// T.__ldg(A[i]) or T.__ldg(A, i): a load; which cache it goes through is tlc's to choose.
Val t_ldg(Ev *ev, Call *c) {
  if (c->arg[0].kind != V_BUFFER) return c->arg[0];
  if (c->arg[0].buf->ndim != 1)
    ev_fail(ev, DIAG_RANK, c->at[0], buf_name(c->arg[0].buf), c->arg[0].buf->ndim, 1);
  Expr *i = arg_given(c, 1) ? dev_index(ev, c->arg[1], c->at[1]) : ex_index(ev->arena, 0);
  return dev_wrap(ev, ex_load(ev->arena, c->arg[0].buf, &i, 1), c->span, v_none(), v_none(),
                  v_none());
}
