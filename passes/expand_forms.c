// Tests of tiles, gathers for convolutions and dot products of four bytes, as loops and stores.
// SPDX-License-Identifier: MIT
#include "passes/expand.h"

// dst = has no element changed what `all` says of none? Each thread looks at every element.
static void test_alone(Nest *x, Expr **extent, const Region *dst, bool all, Expr *found,
                       Stmt *out) {
  Arena *a = x->arena;
  Stmt *mark = st_store(a, dst->buf, dst->min, dst->n, ex_bool(a, !all), x->span);
  st_add(a, out, st_store(a, dst->buf, dst->min, dst->n, ex_bool(a, all), x->span));
  st_add(a, out,
         nest_loop(x, LOOP_SERIAL, extent, st_if(a, found, walk_block(a, mark), NULL, x->span)));
}

// Each looks at its own elements of a fragment, and through a shared tile at what all have found.
static void test_together(Nest *x, Expr **extent, const Region *dst, bool all, Expr *found,
                          Stmt *out) {
  Arena *a = x->arena;
  Expr *zero = ex_index(a, 0);
  Buffer *part = nest_temp(x, dst->buf->name, "part", DT_I32, SC_FRAGMENT, NULL, 0);
  Buffer *flag = nest_temp(x, dst->buf->name, "flag", DT_I32, SC_SHARED, NULL, 0);
  Region *whole = region_whole(a, part);
  st_add(a, out, nest_fill(a, whole, ex_int(a, DT_I32, 0), x->span));
  Stmt *update = st_op(a, OP_REDUCER_UPDATE, x->span, nest_element(a, part, &zero),
                       ex_cast(a, DT_I32, found), (int64_t)RED_MAX, (int64_t)0);
  st_add(a, out, nest_loop(x, LOOP_PARALLEL, extent, update));
  st_add(a, out,
         st_op(a, OP_REDUCER_FINALIZE, x->span, whole, whole, (int64_t)RED_MAX, (int64_t)0));
  st_add(a, out, nest_copy(a, whole, region_whole(a, flag), x->span));
  Expr *some = ex_cast(a, DT_BOOL, ex_load(a, flag, &zero, 1));
  st_add(a, out,
         st_store(a, dst->buf, dst->min, dst->n, all ? ex_un(a, UN_NOT, some) : some, x->span));
}

Stmt *expand_test(Arena *a, Kernel *k, const Stmt *s) {
  Region *src = s->u.op.arg[0].region;
  bool all = s->u.op.arg[2].i;
  Nest x = {.arena = a, .kernel = k, .span = s->span};
  bool together = src->buf->scope == SC_FRAGMENT;
  int dim[MAX_DIMS], n = nest_walked(src, together ? src->n - 1 : -1, dim);
  Expr *extent[MAX_DIMS];
  nest_vars(&x, n);
  for (int i = 0; i < n; i++) extent[i] = src->extent[dim[i]];
  Expr *value = ex_load(a, src->buf, nest_indices(a, src, dim, n, x.var), src->n);
  Expr *found = ex_cast(a, DT_BOOL, value);
  if (all) found = ex_un(a, UN_NOT, found);
  Stmt *out = st_block(a, s->span);
  (together ? test_together : test_alone)(&x, extent, s->u.op.arg[1].region, all, found, out);
  return out;
}

static Expr *num(Arena *a, int64_t v) { return ex_index(a, v); }

static Expr *inside(Arena *a, Expr *x, Expr *extent) {
  return ex_and(a, ex_bin(a, BIN_LE, num(a, 0), x), ex_lt(a, x, extent));
}

// Pixel coordinate: out * stride + tap * dilation - pad.
static Expr *pixel(Arena *a, Expr *at, Expr *tap, const Arg *arg) {
  Expr *y = ex_mul(a, at, num(a, arg[5].i));
  return ex_sub(a, ex_add(a, y, ex_mul(a, tap, num(a, arg[6].i))), num(a, arg[7].i));
}

// Positions of the window along an axis: (size + 2 pad - (kernel - 1) dilation - 1) / stride + 1.
static Expr *positions(Arena *a, Expr *size, const Arg *arg) {
  int64_t reach = (arg[4].i - 1) * arg[6].i + 1 - 2 * arg[7].i;
  Expr *span = ex_floordiv(a, ex_sub(a, size, num(a, reach)), num(a, arg[5].i));
  return ex_add(a, span, num(a, 1));
}

Stmt *expand_im2col(Arena *a, Kernel *k, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  Buffer *img = arg[0].region->buf;
  Region *dst = arg[1].region;
  Nest x = {.arena = a, .kernel = k, .span = s->span};
  int dim[MAX_DIMS] = {0, 1};
  nest_vars(&x, 2);
  Expr *m = ex_add(a, arg[2].expr, ex_var(a, x.var[0]));
  Expr *col = ex_add(a, arg[3].expr, ex_var(a, x.var[1])), *channels = img->shape[3];
  Expr *oh = positions(a, img->shape[1], arg), *ow = positions(a, img->shape[2], arg);
  Expr *area = ex_mul(a, oh, ow), *row = ex_mul(a, num(a, arg[4].i), channels);
  Expr *y = pixel(a, ex_floordiv(a, ex_floormod(a, m, area), ow), ex_floordiv(a, col, row), arg);
  Expr *tap = ex_floormod(a, ex_floordiv(a, col, channels), num(a, arg[4].i));
  Expr *idx[4] = {ex_floordiv(a, m, area), y, pixel(a, ex_floormod(a, m, ow), tap, arg),
                  ex_floormod(a, col, channels)};
  Expr *cond = NULL;
  for (int d = 0; d < 3; d++) cond = ex_and(a, cond, inside(a, idx[d], img->shape[d]));
  Expr *zero = ex_cast(a, img->dtype, num(a, 0));
  Expr *value = ex_select(a, cond, ex_load(a, img, idx, 4), zero);
  Expr **di = nest_indices(a, dst, dim, 2, x.var);
  return nest_loop(&x, LOOP_PARALLEL, dst->extent, st_store(a, dst->buf, di, 2, value, s->span));
}

Stmt *expand_dp4a(Arena *a, const Stmt *s) {
  Region *r[3];
  for (int i = 0; i < 3; i++) r[i] = s->u.op.arg[i].region;
  Expr *sum = ex_load(a, r[2]->buf, r[2]->min, r[2]->n);
  for (int i = 0; i < 4; i++) {
    Expr *v[2];
    for (int k = 0; k < 2; k++) {
      Expr **idx = arena_copy(a, r[k]->min, sizeof *idx * (size_t)r[k]->n);
      idx[r[k]->n - 1] = ex_add(a, idx[r[k]->n - 1], num(a, i));
      v[k] = ex_cast(a, DT_I32, ex_load(a, r[k]->buf, idx, r[k]->n));
    }
    sum = ex_add(a, sum, ex_mul(a, v[0], v[1]));
  }
  return st_store(a, r[2]->buf, r[2]->min, r[2]->n, sum, s->span);
}
