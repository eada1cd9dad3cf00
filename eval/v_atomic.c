// Atomics: of elements, of two or four elements, of tiles; ordered loads and stores.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

enum { AT_ORDER = 2, AT_PREV = 3 }; // operands of T.atomic_add and its kin

static const char *buf_name(const Buffer *b) { return b->name ? b->name : "the buffer"; }

static bool has_atomics(DType t) {
  return t == DT_F16 || t == DT_BF16 || t == DT_F32 || t == DT_F64 || t == DT_I32 || t == DT_U32 ||
         t == DT_I64 || t == DT_U64;
}

// Orders by number; `legal`: one bit each.
static int64_t order_of(Ev *ev, Call *c, int i, MemoryOrder otherwise, unsigned legal) {
  static const char *const names[] = {"relaxed", "consume", "acquire",
                                      "release", "acq_rel", "seq_cst"};
  if (!arg_given(c, i)) return otherwise;
  int64_t order = -1;
  if (c->arg[i].kind != V_STR) order = arg_int(ev, c, i, otherwise);
  for (int k = 0; c->arg[i].kind == V_STR && k < (int)LEN(names); k++)
    if (!strcmp(names[k], c->arg[i].str->data)) order = k;
  if (order >= 0 && order < (int)LEN(names) && legal >> order & 1) return order;
  SB list = {0};
  for (int k = 0; k < (int)LEN(names); k++)
    if (legal >> k & 1) sb_printf(ev, &list, "%s\"%s\"", list.len ? ", " : "", names[k]);
  ev_fail(ev, DIAG_MEMORY_ORDER, c->at[i], c->fn->name, v_brief(ev, c->arg[i]), list.data);
}

typedef struct {
  AtomicFn fn;
  int64_t order;
  Region *prev;
} Atomic;

static void one_atomic(Ev *ev, const Side *dst, Expr **min, Expr *value, const Atomic *how,
                       Stmt *into, Span at) {
  Side el = *dst;
  el.min = min;
  el.extent = NULL;
  value = ex_at(ex_cast(ev->arena, dst->buf->dtype, value), at);
  st_add(ev->arena, into,
         st_op(ev->arena, OP_ATOMIC, at, side_region(ev, &el, at), value, (int64_t)how->fn,
               how->order, how->prev));
}

// The same value into every element of a region: once, by the block, also where it is one element.
static void spread_atomic(Ev *ev, Side *dst, Expr *value, const Atomic *how, Span at) {
  Arena *a = ev->arena;
  Var *var[8];
  Expr *min[8], *extent[8], **at_el = arena_copy(a, dst->min, sizeof *dst->min * (size_t)dst->n);
  int n = 0;
  for (int i = 0; i < dst->n; i++) {
    bool one = !n && i == dst->n - 1;
    if (ex_is(dst->extent[i], 1) && !one) continue;
    var[n] = var_new(a, arena_printf(a, "i%d", n), DT_INDEX, VAR_LOOP, at);
    min[n] = ex_index(a, 0);
    extent[n] = dst->extent[i];
    at_el[i] = ex_at(ex_add(a, dst->min[i], ex_var(a, var[n])), at);
    n++;
  }
  Stmt *body = st_block(a, at);
  one_atomic(ev, dst, at_el, value, how, body, at);
  ev_emit(ev, st_for_n(a, LOOP_PARALLEL, n, var, min, extent, body, at));
}

static Side destination(Ev *ev, Call *c, AtomicFn fn) {
  Side dst;
  if (!side_of(ev, c->arg[0], c->at[0], &dst))
    ev_fail(ev, DIAG_COPY_OPERAND, c->at[0], "destination", v_kind(ev, c->arg[0]));
  if (dst.buf->scope != SC_GLOBAL && dst.buf->scope != SC_SHARED)
    ev_fail(ev, DIAG_ATOMIC_SCOPE, c->at[0], buf_name(dst.buf));
  bool bits = fn == ATOMIC_AND || fn == ATOMIC_OR || fn == ATOMIC_XOR;
  if (!has_atomics(dst.buf->dtype) || (bits && dt_is_float(dst.buf->dtype)))
    ev_fail(ev, DIAG_EV_ATOMIC_TYPE, c->at[0], c->fn->name, dt_name(dst.buf->dtype));
  return dst;
}

// All tiles at once: their order does not show in what they hold in the end.
static void tile_atomic(Ev *ev, Call *c, Side *dst, const Atomic *how) {
  Side src;
  need_tile_place(ev, c);
  if (!side_of(ev, c->arg[1], c->at[1], &src)) {
    region_check(ev, side_region(ev, dst, c->span), c->span);
    spread_atomic(ev, dst, dev_expr(ev, c->arg[1], c->at[1]), how, c->span);
    return;
  }
  Region *rs, *rd;
  copy_legalize(ev, &src, dst, c->span, &rs, &rd);
  ev_emit(ev, st_op(ev->arena, OP_ATOMIC_TILE, c->span, rd, rs, (int64_t)how->fn));
}

static Val atomic(Ev *ev, Call *c, AtomicFn fn) {
  need_kernel(ev, c);
  Side dst = destination(ev, c, fn), src;
  Atomic how = {fn, order_of(ev, c, AT_ORDER, ORDER_RELAXED, 0x3f), NULL};
  bool prev = arg_bool(ev, c, AT_PREV, false);
  bool storage = side_of(ev, c->arg[1], c->at[1], &src);
  bool element = !dst.extent && (!storage || !src.extent);
  if (prev && !element) ev_fail(ev, DIAG_ATOMIC_PREV, c->at[AT_PREV], c->fn->name);
  if (!element) {
    tile_atomic(ev, c, &dst, &how);
    return v_none();
  }
  Expr *value = dev_expr(ev, c->arg[1], c->at[1]);
  Val r = v_none();
  if (prev) r = ev_result(ev, "prev", dst.buf->dtype, 1, c->span, &how.prev);
  one_atomic(ev, &dst, dst.min, value, &how, ev->trace->block, c->span);
  return r;
}

Val t_atomic_add(Ev *ev, Call *c) {
  if (arg_bool(ev, c, 4, false))
    diag_remark(ev->diags, c->at[4], "atomic", "use_tma or not, tiles go by TMA where they can");
  return atomic(ev, c, ATOMIC_ADD);
}
Val t_atomic_max(Ev *ev, Call *c) { return atomic(ev, c, ATOMIC_MAX); }
Val t_atomic_min(Ev *ev, Call *c) { return atomic(ev, c, ATOMIC_MIN); }
Val t_atomic_and(Ev *ev, Call *c) { return atomic(ev, c, ATOMIC_AND); }
Val t_atomic_or(Ev *ev, Call *c) { return atomic(ev, c, ATOMIC_OR); }
Val t_atomic_xor(Ev *ev, Call *c) { return atomic(ev, c, ATOMIC_XOR); }

/* ------------------------------------------------------------------ two and four elements */

// n consecutive elements from an element's address, or a slice of n of them.
static Region *run(Ev *ev, Call *c, int i, int n) {
  Side s;
  if (!side_of(ev, c->arg[i], c->at[i], &s))
    ev_fail(ev, DIAG_COPY_OPERAND, c->at[i], i ? "source" : "destination", v_kind(ev, c->arg[i]));
  Expr **extent = NEWN(ev->arena, Expr *, s.n);
  for (int d = 0; d < s.n; d++) {
    extent[d] = ex_index(ev->arena, d == s.n - 1 ? n : 1);
    if (s.extent && !ex_equal(s.extent[d], extent[d]))
      ev_fail(ev, DIAG_ATOMIC_RUN, c->at[i], c->fn->name, n, buf_name(s.buf));
  }
  s.extent = extent;
  return side_region(ev, &s, c->at[i]);
}

static Val vector(Ev *ev, Call *c, int n) {
  need_kernel(ev, c);
  (void)destination(ev, c, ATOMIC_ADD);
  Region *dst = run(ev, c, 0, n), *src = run(ev, c, 1, n), *prev = NULL;
  Val r = v_none();
  if (arg_bool(ev, c, 2, false)) {
    (void)ev_result(ev, "prev", dst->buf->dtype, n, c->span, &prev);
    r = v_buffer(prev->buf);
  }
  ev_emit(ev, st_op(ev->arena, OP_ATOMIC_VEC, c->span, dst, src, (int64_t)ATOMIC_ADD,
                    (int64_t)ORDER_RELAXED, prev));
  return r;
}

Val t_atomic_addx2(Ev *ev, Call *c) { return vector(ev, c, 2); }
Val t_atomic_addx4(Ev *ev, Call *c) { return vector(ev, c, 4); }

/* ------------------------------------------------------------------ loads and stores */

// A buffer of one element stands for it.
static Side one_element(Ev *ev, Call *c) {
  Side s = destination(ev, c, ATOMIC_SET);
  for (int i = 0; s.extent && i < s.n; i++)
    if (!ex_is(s.extent[i], 1))
      ev_fail(ev, DIAG_ATOMIC_ELEMENT, c->at[0], c->fn->name, buf_name(s.buf));
  s.extent = NULL;
  return s;
}

Val t_atomic_load(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Side s = one_element(ev, c);
  unsigned legal =
      1u << ORDER_RELAXED | 1u << ORDER_CONSUME | 1u << ORDER_ACQUIRE | 1u << ORDER_SEQ_CST;
  int64_t order = order_of(ev, c, 1, ORDER_SEQ_CST, legal);
  Region *to;
  Val r = ev_result(ev, "loaded", s.buf->dtype, 1, c->span, &to);
  ev_emit(ev, st_op(ev->arena, OP_ATOMIC_LOAD, c->span, side_region(ev, &s, c->span), to, order));
  return r;
}

Val t_atomic_store(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Side s = one_element(ev, c);
  unsigned legal = 1u << ORDER_RELAXED | 1u << ORDER_RELEASE | 1u << ORDER_SEQ_CST;
  Atomic how = {ATOMIC_SET, order_of(ev, c, AT_ORDER, ORDER_SEQ_CST, legal), NULL};
  one_atomic(ev, &s, s.min, dev_expr(ev, c->arg[1], c->at[1]), &how, ev->trace->block, c->span);
  return v_none();
}
