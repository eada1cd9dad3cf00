// Gathers: parallel loops that fill a shared tile from a tensor, zero where a condition fails. What
// they do is a copy with addresses of its own, so that cp.async can carry it as well.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

static bool is_zero(const Expr *x) {
  if (x->kind == EX_FLOAT) return x->u.f == 0 && !__builtin_signbit(x->u.f);
  return ex_is(x, 0);
}

// x, or what is behind a conversion of it to a type that holds all of t: going back changes
// nothing.
static Expr *as_before(Expr *x, DType t) {
  if (x->kind != EX_CAST || x->u.cast->type != t || dt_bits(x->type) <= dt_bits(t)) return x;
  bool ints = dt_is_int(t) && dt_is_int(x->type), floats = dt_is_float(t) && dt_is_float(x->type);
  return ints || floats ? x->u.cast : x;
}

bool gather_parts(const Stmt *loop, GatherLoop *g) {
  if (loop->kind != ST_FOR || loop->u.loop.loop != LOOP_PARALLEL) return false;
  Stmt *s = st_only(loop->u.loop.body);
  if (s->kind != ST_STORE) return false;
  Expr *value = s->u.store.value, *cond = NULL;
  if (value->kind == EX_CAST && value->u.cast->kind == EX_SELECT) value = value->u.cast;
  if (value->kind == EX_SELECT && is_zero(value->u.sel.no)) {
    cond = value->u.sel.cond;
    value = as_before(value->u.sel.yes, s->u.store.buf->dtype);
  }
  if (value->kind != EX_LOAD) return false;
  *g = (GatherLoop){s, value, cond, value->u.load.buf, s->u.store.buf};
  return true;
}

// Does iteration (i, j, ...) fill element (i, j, ...), all of them?
static bool fills_tile(const Stmt *loop, const GatherLoop *g) {
  int64_t n;
  if (g->dst->scope != SC_SHARED || loop->u.loop.nvars != g->dst->ndim) return false;
  for (int d = 0; d < g->dst->ndim; d++) {
    const Expr *x = g->store->u.store.idx[d];
    if (x->kind != EX_VAR || x->u.var != loop->u.loop.var[d]) return false;
    if (!ex_is(loop->u.loop.min[d], 0) || !ex_const(loop->u.loop.extent[d], &n)) return false;
    if (!ex_is(g->dst->shape[d], n)) return false;
  }
  return true;
}

static void note_fragment(void *ctx, Expr *x) {
  if (x->kind == EX_LOAD && x->u.load.buf->scope == SC_FRAGMENT) *(bool *)ctx = true;
}

// Elements of the tensor, from a multiple of themselves on, that `last` walks one by one.
static int run_of(Arena *a, Facts *f, const GatherLoop *g, Var *last, int64_t extent) {
  int bytes = dt_bytes(g->src->dtype), mark = facts_mark(f);
  Expr *off = ex_index(a, 0);
  for (int d = 0; d < g->src->ndim; d++)
    off = ex_add(a, off, ex_mul(a, g->load->u.load.idx[d], width_stride(a, g->src, d)));
  int w = 16 / bytes;
  for (; w > 1; w /= 2) {
    if (extent % w || g->src->align % (w * bytes)) continue;
    Var *lane = var_new(a, "lane", DT_INDEX, VAR_LOOP, NO_SPAN);
    Var *run = var_new(a, "run", DT_INDEX, VAR_LOOP, NO_SPAN);
    facts_push_loop(f, lane, ex_index(a, 0), ex_index(a, w));
    facts_push_loop(f, run, ex_index(a, 0), ex_index(a, extent / w));
    Expr *start = ex_mul(a, ex_var(a, run), ex_index(a, w));
    Expr *first = facts_simplify(f, ex_subst(a, off, last, start));
    Expr *at = ex_subst(a, off, last, ex_add(a, start, ex_var(a, lane)));
    Expr *step = facts_simplify(f, ex_sub(a, facts_simplify(f, at), first));
    bool good = step->kind == EX_VAR && step->u.var == lane && facts_divisor(f, first) % w == 0;
    facts_pop(f, mark);
    if (good) break;
  }
  return w;
}

PlanCopy *gather_plan(Arena *a, Facts *f, const Stmt *loop) {
  GatherLoop g;
  bool fragment = false;
  if (!gather_parts(loop, &g) || g.src->scope != SC_GLOBAL || !fills_tile(loop, &g)) return NULL;
  int n = loop->u.loop.nvars;
  PlanCopy *c = NEW(a, PlanCopy);
  int bits = dt_bits(g.src->dtype);
  ex_walk(g.store->u.store.value, note_fragment, &fragment);
  int64_t last;
  if (!ex_const(loop->u.loop.extent[n - 1], &last) || bits < 8) return NULL;
  int mark = facts_mark(f);
  for (int i = 0; i < n; i++)
    facts_push_loop(f, loop->u.loop.var[i], loop->u.loop.min[i], loop->u.loop.extent[i]);
  c->vec_bytes = run_of(a, f, &g, loop->u.loop.var[n - 1], last) * bits / 8;
  facts_pop(f, mark);
  if (fragment) c->why = "its address depends on a fragment";
  else if (g.src->dtype != g.dst->dtype) c->why = "it converts the element type";
  else if (!plan_zero_safe(g.src))
    c->why = "out-of-bounds elements read as a value other than zero";
  else if (g.src->places) c->why = "a function says where its elements are";
  else if (c->vec_bytes < 4) c->why = "accesses of at least 4 bytes are not proved aligned";
  c->async_able = !c->why;
  return c;
}
