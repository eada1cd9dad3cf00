// Runs: several consecutive elements that one access moves (T.ldg64, T.sts128, ...). A run in
// registers is an array of the thread's own; as another type it is a view of that array.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"
#include "eval/runs.h"

#include <stdlib.h>
#include <string.h>

static Buffer *array(Ev *ev, DType t, int64_t n, Buffer *base, Span at) {
  Expr *extent = ex_index(ev->arena, n);
  Buffer *b = buf_new(ev->arena, "run", t, SC_LOCAL, &extent, 1, at);
  b->base = base;
  vec_push(ev->arena, &ev->trace->kernel->buffers, b);
  return b;
}

// A run of these bits as elements of type t.
static Buffer *run_as(Ev *ev, Buffer *b, DType t, Span at) {
  Buffer *root = b->base ? b->base : b;
  if (b->dtype == t) return b;
  if (root->dtype == t) return root;
  return array(ev, t, buf_elems(root) * dt_bits(root->dtype) / dt_bits(t), root, at);
}

// All of an array of the thread's own?
static Buffer *run_of(Val v) {
  if (v.kind == V_BUFFER && v.buf->scope == SC_LOCAL) return v.buf;
  if (v.kind == V_REGION && v.region->buf->scope == SC_LOCAL && region_is_whole(v.region))
    return v.region->buf;
  return NULL;
}

// The dimension that a run of elements is in.
static int run_dim(const Region *r) {
  int d = r->n - 1;
  for (int i = 0; i < r->n; i++)
    if (!ex_is(r->extent[i], 1)) d = i;
  return d;
}

static Expr *element(Ev *ev, const Region *r, Expr *i) {
  Expr **idx = arena_copy(ev->arena, r->min, sizeof *idx * (size_t)r->n);
  int d = run_dim(r);
  idx[d] = ex_add(ev->arena, idx[d], i);
  return ex_load(ev->arena, r->buf, idx, r->n);
}

// The elements of a region whose extent is in one dimension at most; -1: there is no such number.
static int64_t run_length(const Region *r) {
  int64_t n = 1, e;
  for (int d = 0; d < r->n; d++) {
    if (!ex_const(r->extent[d], &e) || e < 1 || (e > 1 && n > 1)) return -1;
    n *= e;
  }
  return n;
}

// to[i] = from[i], or zero where `pred` does not hold (NULL: it does).
static Stmt *move(Ev *ev, const Region *to, const Region *from, int64_t n, Expr *pred, Span at) {
  Arena *a = ev->arena;
  Var *v = var_new(a, "v", DT_INDEX, VAR_LOOP, at);
  Expr *i = n > 1 ? ex_var(a, v) : ex_index(a, 0);
  Expr *x = element(ev, from, i), *y = element(ev, to, i);
  if (pred) x = ex_select(a, pred, x, ex_cast(a, x->type, ex_index(a, 0)));
  Stmt *body = st_block(a, at);
  st_add(a, body, st_store(a, to->buf, y->u.load.idx, to->n, ex_cast(a, to->buf->dtype, x), at));
  if (n == 1) return body;
  return st_for(a, LOOP_VECTORIZED, v, ex_index(a, 0), ex_index(a, n), body, at);
}

bool ev_store_run(Ev *ev, Region *to, Val v, Span at) {
  Region whole, *from = v.kind == V_REGION ? v.region : NULL;
  if (v.kind == V_BUFFER) from = memcpy(&whole, region_whole(ev->arena, v.buf), sizeof whole);
  if (!from || from->buf->scope != SC_LOCAL) return false;
  int64_t n = run_length(to);
  if (n < 1 || n != run_length(from)) return false;
  if (!ev_emits(ev)) ev_outside(ev, "a store", at);
  ev_emit(ev, move(ev, to, from, n, NULL, at));
  return true;
}

static Region *from_start(Ev *ev, const Region *r, int64_t n) {
  Expr **extent = NEWN(ev->arena, Expr *, r->n);
  for (int d = 0; d < r->n; d++) extent[d] = ex_index(ev->arena, d == r->n - 1 ? n : 1);
  return region_new(ev->arena, r->buf, r->min, extent);
}

void ev_copy_run(Ev *ev, Region *to, Region *from, int64_t n, Expr *pred, Span at) {
  ev_emit(ev, move(ev, from_start(ev, to, n), from_start(ev, from, n), n, pred, at));
}

/* ------------------------------------------------------------------ loads and stores by bits */

// The memory side of the access that a word such as ldg64 names.
static Region *memory_side(Ev *ev, Call *c, int bits) {
  Side s;
  Scope scope = c->fn->name[2] == 'g' ? SC_GLOBAL : SC_SHARED;
  if (!side_of(ev, c->arg[0], c->at[0], &s) || s.buf->scope != scope)
    ev_fail(ev, DIAG_RUN_OPERAND, c->at[0], c->fn->name,
            scope == SC_GLOBAL ? "a tensor" : "a shared tile", v_kind(ev, c->arg[0]));
  int64_t each = dt_bits(s.buf->dtype), n = bits / each;
  if (!s.extent) {
    s.extent = NEWN(ev->arena, Expr *, s.n);
    for (int d = 0; d < s.n; d++) s.extent[d] = ex_index(ev->arena, d == s.n - 1 && n ? n : 1);
  }
  Region *r = side_region(ev, &s, c->at[0]);
  int64_t have = run_dim(r) == r->n - 1 ? run_length(r) : -1;
  if (have * each != bits)
    ev_fail(ev, DIAG_RUN_BITS, c->at[0], c->fn->name, bits,
            have < 0 ? "of another shape" : arena_printf(ev->arena, "of %lld", (long long)have),
            dt_name(s.buf->dtype));
  return r;
}

static Expr *predicate(Ev *ev, Call *c, int i) {
  return arg_given(c, i) ? ev_cond(ev, c->arg[i], c->at[i]) : NULL;
}

static int bits_of(const Call *c) { return atoi(c->fn->name + 3); }

Val t_load_bits(Ev *ev, Call *c) {
  need_kernel(ev, c);
  int bits = bits_of(c);
  Region *from = memory_side(ev, c, bits);
  int64_t n = run_length(from);
  Buffer *run = array(ev, from->buf->dtype, n, NULL, c->span);
  ev_emit(ev, move(ev, region_whole(ev->arena, run), from, n, predicate(ev, c, 1), c->span));
  Buffer *words = run_as(ev, run, DT_U32, c->span);
  if (bits > 32) return (Val){.kind = V_REGION, .region = region_whole(ev->arena, words)};
  Expr *zero = ex_index(ev->arena, 0);
  return v_expr(ex_at(ex_load(ev->arena, words, &zero, 1), c->span), 2);
}

// What a store gets, as a run: a run of these bits, or a number of them.
static Buffer *value_run(Ev *ev, Call *c, int bits) {
  Buffer *run = run_of(c->arg[1]);
  if (!run) {
    Expr *x = dev_ok(c->arg[1]) ? dev_expr(ev, c->arg[1], c->at[1]) : NULL;
    if (x && x->type == DT_INDEX) x = ex_cast(ev->arena, DT_I32, x);
    if (!x || dt_bits(x->type) != bits)
      ev_fail(ev, DIAG_RUN_VALUE, c->at[1], c->fn->name, bits,
              x ? dt_name(x->type) : v_kind(ev, c->arg[1]));
    Expr *zero = ex_index(ev->arena, 0);
    run = array(ev, x->type, 1, NULL, c->at[1]);
    ev_emit(ev, st_store(ev->arena, run, &zero, 1, x, c->at[1]));
  }
  if (buf_elems(run) * dt_bits(run->dtype) != bits)
    ev_fail(ev, DIAG_RUN_VALUE, c->at[1], c->fn->name, bits,
            arena_printf(ev->arena, "%lld of %s", (long long)buf_elems(run), dt_name(run->dtype)));
  return run;
}

Val t_store_bits(Ev *ev, Call *c) {
  need_kernel(ev, c);
  int bits = bits_of(c);
  Arena *a = ev->arena;
  Region *to = memory_side(ev, c, bits);
  Buffer *run = run_as(ev, value_run(ev, c, bits), to->buf->dtype, c->span);
  Expr *pred = predicate(ev, c, 2);
  Stmt *s = move(ev, to, region_whole(a, run), run_length(to), NULL, c->span);
  if (pred) {
    Stmt *yes = st_block(a, c->span);
    st_add(a, yes, s);
    s = st_if(a, pred, yes, NULL, c->span);
  }
  ev_emit(ev, s);
  return v_none();
}

// T.reinterpret(run, "float16x8")
bool ev_reinterpret_run(Ev *ev, Val v, Val type, Span at, Val *out) {
  Buffer *run = run_of(v);
  DType t;
  int n;
  if (!run || type.kind != V_STR || !dt_vector(type.str->data, &t, &n)) return false;
  int64_t bits = buf_elems(run) * dt_bits(run->dtype);
  if (bits != (int64_t)n * dt_bits(t))
    ev_fail(ev, DIAG_BITS, at, dt_name(run->dtype), (int)bits, type.str->data, n * dt_bits(t));
  *out = (Val){.kind = V_REGION, .region = region_whole(ev->arena, run_as(ev, run, t, at))};
  return true;
}

// T.Broadcast(value, lanes): a run of one value.
Val t_broadcast(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Expr *x = dev_expr(ev, c->arg[0], c->at[0]);
  int64_t n = arg_int(ev, c, 1, 1);
  if (x->type == DT_INDEX) x = ex_cast(ev->arena, DT_I32, x);
  if (n < 1 || n > 128)
    ev_fail(ev, DIAG_ARGUMENT, c->at[1], "T.Broadcast", "lanes", "an int from 1 to 128",
            v_brief(ev, c->arg[1]));
  Buffer *one = array(ev, x->type, 1, NULL, c->span), *run = array(ev, x->type, n, NULL, c->span);
  Expr *zero = ex_index(ev->arena, 0);
  ev_emit(ev, st_store(ev->arena, one, &zero, 1, x, c->span));
  Region *all = region_whole(ev->arena, run);
  ev_emit(ev, st_op(ev->arena, OP_FILL, c->span, all, ex_load(ev->arena, one, &zero, 1)));
  return (Val){.kind = V_REGION, .region = all};
}
