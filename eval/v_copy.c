// T.copy, T.clear and T.fill: which elements are meant (LANGUAGE.md 6.3), and the ops.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

bool side_of(Ev *ev, Val v, Span at, Side *out) {
  *out = (Side){0};
  if (v.kind == V_BUFFER) {
    Region *r = region_whole(ev->arena, v.buf);
    *out = (Side){v.buf, v.buf->ndim, r->min, r->extent, true};
  } else if (v.kind == V_REGION) {
    *out = (Side){v.region->buf, v.region->n, v.region->min, v.region->extent, false};
  } else if (v.kind == V_EXPR && v.expr->kind == EX_LOAD) {
    *out = (Side){v.expr->u.load.buf, v.expr->u.load.n, v.expr->u.load.idx, NULL, false};
  } else {
    return false;
  }
  return true;
}

static const char *extents_text(Ev *ev, int n, Expr **extent) {
  SB b = {0};
  for (int i = 0; i < n; i++)
    sb_printf(ev, &b, "%s%s", i ? " x " : "", ir_expr_str(ev->arena, extent[i]));
  return b.len ? b.data : "";
}

static const char *buf_name(const Buffer *b) { return b->name ? b->name : "the buffer"; }

void region_check(Ev *ev, const Region *r, Span at) {
  if (r->buf->scope == SC_GLOBAL) return;
  for (int i = 0; i < r->n; i++) {
    int64_t lo, n, size;
    if (!ex_const(r->min[i], &lo) || !ex_const(r->extent[i], &n) ||
        !ex_const(r->buf->shape[i], &size))
      continue;
    if (lo < 0 || lo + n > size)
      ev_fail(ev, DIAG_REGION_BOUNDS, at, (long long)lo, (long long)(lo + n), i, buf_name(r->buf),
              (long long)size);
  }
}

Region *side_region(Ev *ev, Side *s, Span at) {
  Expr **extent = s->extent;
  if (!extent) {
    extent = NEWN(ev->arena, Expr *, s->n);
    for (int i = 0; i < s->n; i++) extent[i] = ex_index(ev->arena, 1);
  }
  Region *r = region_new(ev->arena, s->buf, s->min, extent);
  region_check(ev, r, at);
  return r;
}

/* ------------------------------------------------------------------ extents */

typedef struct {
  int n;
  Expr *e[8];
} Extents;

static Extents own_extents(Ev *ev, const Side *s, const Side *other) {
  Extents x = {s->extent ? s->n : other->n, {0}};
  for (int i = 0; i < x.n; i++) x.e[i] = s->extent ? s->extent[i] : ex_index(ev->arena, 1);
  return x;
}

static int wide_dims(const Extents *x) {
  int n = 0;
  for (int i = 0; i < x->n; i++) n += !ex_is(x->e[i], 1);
  return n;
}

// Right-aligned: a 1 takes the other's extent, of two others the larger counts.
static void align(Ev *ev, Extents *a, Extents *b) {
  if (wide_dims(a) == wide_dims(b)) return;
  for (int i = 1; i <= a->n && i <= b->n; i++) {
    Expr **x = &a->e[a->n - i], **y = &b->e[b->n - i];
    if (ex_equal(*x, *y)) continue;
    if (ex_is(*x, 1)) *x = *y;
    else if (ex_is(*y, 1)) *y = *x;
    else *x = *y = ex_bin(ev->arena, BIN_MAX, *x, *y);
  }
}

// The final extents of one side: an address grows along its trailing dimensions, a slice never.
static void settle(Ev *ev, Side *s, const Extents *x, Span at) {
  Expr **extent = NEWN(ev->arena, Expr *, s->n);
  for (int i = 0; i < s->n; i++) {
    int k = x->n - s->n + i;
    Expr *e = k >= 0 ? x->e[k] : ex_index(ev->arena, 1);
    int64_t own, legal;
    if (s->extent) {
      bool smaller = ex_const(s->extent[i], &own) && ex_const(e, &legal) && legal < own;
      e = smaller && !s->whole ? e : s->extent[i];
    }
    extent[i] = e;
  }
  for (int k = 0; !s->extent && k < x->n - s->n; k++) {
    if (!ex_is(x->e[k], 1)) {
      Extents all = *x;
      ev_fail(ev, DIAG_COPY_RANK, at, buf_name(s->buf), s->n, extents_text(ev, all.n, all.e));
    }
  }
  s->extent = extent;
}

static int level(const Buffer *b) {
  return b->scope == SC_GLOBAL ? 0 : b->scope == SC_SHARED ? 1 : 2;
}

NORETURN static void mismatch(Ev *ev, Side *src, Side *dst, Span at) {
  ev_fail(ev, DIAG_COPY_SHAPE, at, buf_name(src->buf), extents_text(ev, src->n, src->extent),
          buf_name(dst->buf), extents_text(ev, dst->n, dst->extent));
}

// Dimensions of extent > 1 meet in order. The source decides where it is the inner memory: then a
// longer slice of the destination is only begun.
static void match_dims(Ev *ev, Side *src, Side *dst, Span at) {
  int j = 0;
  for (int i = 0; i < src->n; i++) {
    if (ex_is(src->extent[i], 1)) continue;
    while (j < dst->n && ex_is(dst->extent[j], 1)) j++;
    if (j == dst->n) mismatch(ev, src, dst, at);
    int64_t a, b;
    Expr *x = src->extent[i], *y = dst->extent[j];
    if (!ex_equal(x, y) && !ex_is(dev_diff(ev, x, y), 0)) {
      bool shorter = ex_const(x, &a) && ex_const(y, &b) && a < b;
      if (!shorter || dst->whole || level(src->buf) < level(dst->buf)) mismatch(ev, src, dst, at);
      dst->extent[j] = x;
    }
    j++;
  }
  while (j < dst->n && ex_is(dst->extent[j], 1)) j++;
  if (j < dst->n) mismatch(ev, src, dst, at);
}

void copy_legalize(Ev *ev, Side *src, Side *dst, Span at, Region **rs, Region **rd) {
  if (src->whole && dst->whole) {
    bool equal = src->n == dst->n;
    for (int i = 0; equal && i < src->n; i++)
      equal = ex_equal(src->extent[i], dst->extent[i]) ||
              ex_is(dev_diff(ev, src->extent[i], dst->extent[i]), 0);
    if (!equal) mismatch(ev, src, dst, at);
  }
  Extents a = own_extents(ev, src, dst), b = own_extents(ev, dst, src);
  align(ev, &a, &b);
  settle(ev, src, &a, at);
  settle(ev, dst, &b, at);
  match_dims(ev, src, dst, at);
  *rs = side_region(ev, src, at);
  *rd = side_region(ev, dst, at);
}

/* ------------------------------------------------------------------ handlers */

void need_tile_place(Ev *ev, Call *c) {
  for (RtBlock *r = ev->trace->rt; r; r = r->outer) {
    if (r->elements) ev_fail(ev, DIAG_TILE_IN_LOOP, c->span, c->fn->name);
  }
}

static void store_to(Ev *ev, Side *s, Val v, Span at) { ev_store(ev, s->buf, s->min, v, at); }

Val t_copy(Ev *ev, Call *c) {
  need_kernel(ev, c);
  if (arg_given(c, 7))
    diag_remark(ev->diags, c->at[7], "copy", "loop_layout is not used: tlc plans copies itself");
  Side src, dst;
  if (!side_of(ev, c->arg[1], c->at[1], &dst))
    ev_fail(ev, DIAG_COPY_OPERAND, c->at[1], "destination", v_kind(ev, c->arg[1]));
  bool storage = side_of(ev, c->arg[0], c->at[0], &src);
  if (!storage && !(dev_ok(c->arg[0]) && !dst.extent))
    ev_fail(ev, DIAG_COPY_OPERAND, c->at[0], "source", v_kind(ev, c->arg[0]));
  if (!storage || (!src.extent && !dst.extent)) {
    store_to(ev, &dst, c->arg[0], c->span);
    return v_none();
  }
  need_tile_place(ev, c);
  Region *rs, *rd;
  copy_legalize(ev, &src, &dst, c->span, &rs, &rd);
  ev_emit(ev, st_op(ev->arena, OP_COPY, c->span, rs, rd, (int64_t)0));
  return v_none();
}

static Val fill(Ev *ev, Call *c, Val value, Span at) {
  need_kernel(ev, c);
  Side dst;
  if (!side_of(ev, c->arg[0], c->at[0], &dst))
    ev_fail(ev, DIAG_COPY_OPERAND, c->at[0], "operand", v_kind(ev, c->arg[0]));
  if (!dst.extent) {
    store_to(ev, &dst, value, c->span);
    return v_none();
  }
  need_tile_place(ev, c);
  Region *r = side_region(ev, &dst, c->span);
  Expr *x = ex_cast(ev->arena, dst.buf->dtype, dev_expr(ev, value, at));
  ev_emit(ev, st_op(ev->arena, OP_FILL, c->span, r, ex_at(x, at)));
  return v_none();
}

Val t_clear(Ev *ev, Call *c) { return fill(ev, c, v_int(0), c->span); }
Val t_fill(Ev *ev, Call *c) { return fill(ev, c, c->arg[1], c->at[1]); }

// dst[..., j, i] = src[..., i, j]: a loop over the elements of the two last dimensions.
Val t_transpose(Ev *ev, Call *c) {
  need_kernel(ev, c);
  need_tile_place(ev, c);
  Side s[2];
  for (int i = 0; i < 2; i++) {
    if (!side_of(ev, c->arg[i], c->at[i], &s[i]) || !s[i].extent || s[i].n < 2)
      ev_fail(ev, DIAG_TILE_OPERAND, c->at[i], c->fn->name, i ? "destination" : "source",
              v_kind(ev, c->arg[i]));
    (void)side_region(ev, &s[i], c->at[i]);
  }
  Arena *a = ev->arena;
  int n = s[0].n, m = s[1].n;
  Expr **x = s[0].extent + n - 2, **y = s[1].extent + m - 2;
  if (!ex_equal(x[0], y[1]) || !ex_equal(x[1], y[0])) mismatch(ev, &s[0], &s[1], c->span);
  Var *var[2];
  Expr *zero[2], **from = arena_copy(a, s[0].min, sizeof *from * (size_t)n);
  Expr **to = arena_copy(a, s[1].min, sizeof *to * (size_t)m);
  for (int i = 0; i < 2; i++) {
    var[i] = var_new(a, i ? "j" : "i", DT_INDEX, VAR_LOOP, c->span);
    zero[i] = ex_index(a, 0);
    from[n - 2 + i] = ex_add(a, from[n - 2 + i], ex_var(a, var[i]));
    to[m - 1 - i] = ex_add(a, to[m - 1 - i], ex_var(a, var[i]));
  }
  Stmt *body = st_block(a, c->span);
  st_add(a, body, st_store(a, s[1].buf, to, m, ex_load(a, s[0].buf, from, n), c->span));
  ev_emit(ev, st_for_n(a, LOOP_PARALLEL, 2, var, zero, x, body, c->span));
  return v_none();
}
