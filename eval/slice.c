// Subscripts: of sequences and dicts, and of buffers, where they name elements or regions.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include <string.h>

enum { MAX_RANK = 8 };

static int64_t int_of(Ev *ev, Val v, Span at) {
  ev_need(ev, v);
  int64_t c;
  if (v_is_int(v)) return v_as_int(v);
  if (v.kind == V_EXPR && ex_const(v.expr, &c)) return c;
  if (v.kind == V_EXPR)
    ev_fail(ev, DIAG_RT_CONTEXT, at, "an index into a compile-time sequence",
            "loop over the sequence itself");
  if (v.kind == V_OPAQUE) ev_opaque(ev, at, v.opaque->what);
  ev_blame(ev, v);
  ev_fail(ev, DIAG_NOT_INTEGER, at, v_brief(ev, v), v_kind(ev, v));
}

// Python's clamped bounds: the positions lo, lo + step, ... `n` of them.
static int64_t slice_bounds(Ev *ev, const AstExpr *s, int64_t len, int64_t *lo, int64_t *step) {
  *step = s->slice.step ? int_of(ev, ev_expr(ev, s->slice.step), s->span) : 1;
  if (*step == 0) ev_fail(ev, DIAG_SLICE_STEP, s->span, 0LL);
  bool up = *step > 0;
  int64_t low = up ? 0 : -1, high = up ? len : len - 1;
  int64_t bound[2] = {up ? 0 : len - 1, up ? len : -1};
  const AstExpr *given[2] = {s->slice.lo, s->slice.hi};
  for (int i = 0; i < 2; i++) {
    if (!given[i]) continue;
    int64_t b = int_of(ev, ev_expr(ev, given[i]), given[i]->span);
    if (b < 0) b += len;
    bound[i] = b < low ? low : b > high ? high : b;
  }
  *lo = bound[0];
  int64_t span = up ? bound[1] - bound[0] : bound[0] - bound[1], by = up ? *step : -*step;
  return span <= 0 ? 0 : (span - 1) / by + 1;
}

static Val slice_seq(Ev *ev, Val v, const AstExpr *s) {
  int64_t lo, step, n = slice_bounds(ev, s, v.kind == V_STR ? v.str->len : v.seq->len, &lo, &step);
  ev_charge(ev, n / 4);
  if (v.kind == V_STR) {
    SB b = {0};
    for (int64_t i = 0; i < n; i++) sb_putn(ev, &b, v.str->data + lo + i * step, 1);
    return sb_val(ev, &b);
  }
  Val r = v_seq(ev, v.kind, (int)n);
  for (int64_t i = 0; i < n; i++) v_push(ev, r.seq, v.seq->data[lo + i * step]);
  return r;
}

Val ev_getitem(Ev *ev, Val v, Val index, Span at) {
  if (ev_unknown(v)) return v;
  if (ev_unknown(index)) return index;
  switch (v.kind) {
  case V_TUPLE:
  case V_LIST:
  case V_STR: {
    int64_t len = v.kind == V_STR ? v.str->len : v.seq->len, i = int_of(ev, index, at);
    int64_t at_i = i < 0 ? i + len : i;
    if (at_i < 0 || at_i >= len)
      ev_fail(ev, DIAG_INDEX, at, (long long)i, v_kind(ev, v), (long long)len);
    return v.kind == V_STR ? v_strn(ev, v.str->data + at_i, 1) : v.seq->data[at_i];
  }
  case V_DICT: {
    const Val *r = dict_get(ev, v.dict, index, at);
    if (!r) ev_no_key(ev, v.dict, index, at);
    return *r;
  }
  case V_CLASS:
  case V_OBJECT: return obj_item(ev, v, index, at);
  case V_RANGE:
    return ev_getitem(ev, (Val){.kind = V_LIST, .seq = ev_items(ev, v, at)}, index, at);
  case V_EXPR:
    if (v.expr->kind == EX_LOAD && v.expr->u.load.buf->scope == SC_LOCAL &&
        v_equal(ev, index, v_int(0)) && v.expr->u.load.n == 1)
      return v;
    ev_fail(ev, DIAG_NO_INDEX, at, v_kind(ev, v));
  case V_BUILTIN:
    if (v.builtin->fn && !strcmp(v.builtin->module, "T")) {
      if (index.kind == V_TUPLE)
        return ev_call_args(ev, v, at, index.seq->len, index.seq->data);
      return ev_call_args(ev, v, at, 1, &index);
    }
    return v_opaque(ev, "%s[...]", v.builtin->name);
  case V_FUNC:
  case V_EXC:
  case V_METHOD: return v_opaque(ev, "%s[...]", v_brief(ev, v));
  default: ev_fail(ev, DIAG_NO_INDEX, at, v_kind(ev, v));
  }
}

void ev_undeclared(Ev *ev, Val v, Span at) {
  Trace *t = ev->trace;
  if (v.kind != V_MISSING || !t || !t->eager || v.missing->n != 1) return;
  const char *name = v.missing->names[0];
  if (!map_has(t->declared, name)) ev_fail(ev, DIAG_UNDECLARED, at, name, name);
}

Val ev_index(Ev *ev, Val v, const AstExpr *index, Span at) {
  if (ev_unknown(v)) {
    ev_undeclared(ev, v, at);
    return v;
  }
  if (v.kind == V_BUFFER || v.kind == V_REGION) {
    Region *region = NULL;
    Expr **idx = NULL;
    if (buf_index(ev, v, index, &region, &idx, at)) {
      Expr *load = ex_at(ex_load(ev->arena, v.buf, idx, v.buf->ndim), at);
      return dev_wrap(ev, load, at, v_none(), v_none(), v_none());
    }
    return (Val){.kind = V_REGION, .region = region};
  }
  if (v.kind == V_DTYPE) v = v_str(ev, dt_name(v.dtype)); // in TileLang a dtype is a str, too
  if (index->kind == AST_SLICE) {
    if (v.kind == V_RANGE) v = (Val){.kind = V_LIST, .seq = ev_items(ev, v, at)};
    if (v.kind == V_STR || v_is_seq(v)) return slice_seq(ev, v, index);
    ev_fail(ev, DIAG_NO_INDEX, at, v_kind(ev, v));
  }
  return ev_getitem(ev, v, ev_expr(ev, index), at);
}

/* ------------------------------------------------------------------ buffers */

typedef struct {
  Ev *ev;
  Buffer *buf;
  Span at;
  int n;
  Expr *lo[MAX_RANK], *extent[MAX_RANK]; // extent NULL: one element
} Sub;

static void too_many(Sub *s, int given) {
  ev_fail(s->ev, DIAG_RANK, s->at, s->buf->name ? s->buf->name : "the buffer", given, s->buf->ndim);
}

// A negative constant counts from the end.
static Expr *from_end(Sub *s, Expr *x) {
  int64_t c;
  if (!ex_const(x, &c) || c >= 0) return x;
  return ex_add(s->ev->arena, s->buf->shape[s->n], x);
}

static void add_full(Sub *s) {
  s->lo[s->n] = ex_index(s->ev->arena, 0);
  s->extent[s->n] = s->buf->shape[s->n];
  s->n++;
}

static void add_index(Sub *s, Val v, Span at) {
  if (s->n >= s->buf->ndim) too_many(s, s->n + 1);
  Expr *x = dev_index(s->ev, v, at), *given = x;
  x = from_end(s, x);
  int64_t c, extent;
  if (ex_const(x, &c)) {
    bool below = c < 0;
    bool above = ex_const(s->buf->shape[s->n], &extent) && c >= extent;
    if (above && s->buf->scope == SC_GLOBAL) {
      diag_report(s->ev->diags, DIAG_GLOBAL_BOUNDS, at, (long long)c, s->n,
                  s->buf->name ? s->buf->name : "buffer",
                  ir_expr_str(s->ev->arena, s->buf->shape[s->n]));
      above = false;
    }
    if (below || above) {
      ex_const(given, &c);
      const char *size = ir_expr_str(s->ev->arena, s->buf->shape[s->n]);
      ev_fail(s->ev, DIAG_OUT_OF_BOUNDS, at, (long long)c, s->n,
              s->buf->name ? s->buf->name : "buffer", size, size);
    }
  }
  s->lo[s->n] = x;
  s->extent[s->n++] = NULL;
}

static void add_slice(Sub *s, const AstExpr *e) {
  Ev *ev = s->ev;
  if (s->n >= s->buf->ndim) too_many(s, s->n + 1);
  if (e->slice.step) {
    int64_t step = int_of(ev, ev_expr(ev, e->slice.step), e->span);
    if (step != 1) ev_fail(ev, DIAG_SLICE_STEP, e->span, (long long)step);
  }
  Expr *shape = s->buf->shape[s->n];
  Expr *lo = e->slice.lo ? from_end(s, dev_index(ev, ev_expr(ev, e->slice.lo), e->slice.lo->span))
                         : ex_index(ev->arena, 0);
  Expr *hi = e->slice.hi ? from_end(s, dev_index(ev, ev_expr(ev, e->slice.hi), e->slice.hi->span))
                         : shape;
  Expr *extent = dev_diff(ev, hi, lo);
  int64_t c;
  if (ex_const(extent, &c) && c <= 0)
    ev_fail(ev, DIAG_EMPTY_SLICE, e->span, ir_expr_str(ev->arena, lo), ir_expr_str(ev->arena, hi));
  s->lo[s->n] = lo;
  s->extent[s->n++] = extent;
}

static void add_value(Sub *s, Val v, Span at, int after) {
  if (v_is_seq(v)) {
    for (int i = 0; i < v.seq->len; i++) add_index(s, v.seq->data[i], at);
  } else if (v.kind == V_ELLIPSIS) {
    while (s->n < s->buf->ndim - after) add_full(s);
  } else {
    add_index(s, v, at);
  }
}

bool buf_index(Ev *ev, Val v, const AstExpr *index, Region **region, Expr ***idx, Span at) {
  if (v.kind == V_REGION) ev_fail(ev, DIAG_NO_INDEX, at, v_kind(ev, v));
  Sub s = {.ev = ev, .buf = v.buf, .at = at};
  AstExprs one = {(AstExpr *[]){(AstExpr *)index}, 1};
  const AstExprs *items = index->kind == AST_TUPLE ? &index->items : &one;
  for (int i = 0; i < items->len; i++) {
    const AstExpr *e = items->data[i];
    if (e->kind == AST_SLICE) add_slice(&s, e);
    else if (e->kind == AST_STARRED)
      add_value(&s, ev_expr(ev, e->operand), e->span, items->len - i - 1);
    else add_value(&s, ev_expr(ev, e), e->span, items->len - i - 1);
  }
  bool slice = false;
  while (s.n < s.buf->ndim) add_full(&s);
  for (int i = 0; i < s.n; i++) slice |= s.extent[i] != NULL;
  if (!slice) {
    *idx = arena_copy(ev->arena, s.lo, sizeof *s.lo * (size_t)s.n);
    return true;
  }
  for (int i = 0; i < s.n; i++) {
    if (!s.extent[i]) s.extent[i] = ex_index(ev->arena, 1);
  }
  *region = region_new(ev->arena, s.buf, s.lo, s.extent);
  return false;
}
