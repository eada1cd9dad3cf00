// The program's reducers (T.alloc_reducer): beside each stands a hidden one with the partial
// results since it was last written or finalized, so that the reducer itself is a fragment like
// others.
// SPDX-License-Identifier: MIT
#include "passes/expand.h"

typedef struct {
  Buffer *buf, *part;
  ReduceKind kind;
} Reducer;

typedef struct {
  Arena *arena;
  Kernel *kernel;
  VEC(Reducer) all;
} Reducers;

static Reducer *find(Reducers *r, const Buffer *b) {
  for (int i = 0; i < r->all.len; i++)
    if (r->all.data[i].buf == b) return &r->all.data[i];
  return NULL;
}

static void collect(void *ctx, Stmt *s) {
  Reducers *r = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_REDUCER_UPDATE) return;
  Buffer *b = s->u.op.arg[0].region->buf;
  if (find(r, b)) return;
  Nest x = {.arena = r->arena, .kernel = r->kernel, .span = b->span};
  Buffer *part = nest_temp(&x, b->name, "part", b->dtype, SC_FRAGMENT, b->shape, b->ndim);
  vec_push(r->arena, &r->all, ((Reducer){b, part, (ReduceKind)s->u.op.arg[2].i}));
}

static Stmt *forget(Reducers *r, const Reducer *x, Region *like, Span span) {
  Region *part = region_new(r->arena, x->part, like->min, like->extent);
  return nest_fill(r->arena, part, reduce_neutral(r->arena, x->kind, x->part->dtype), span);
}

// The reducer takes in the partial results, which start anew.
static Stmt *finalize(Reducers *r, const Reducer *x, Stmt *s) {
  Arena *a = r->arena;
  Nest n = {.arena = a, .kernel = r->kernel, .span = s->span};
  Region *all = region_whole(a, x->part), *whole = region_whole(a, x->buf);
  Expr *idx[MAX_DIMS];
  nest_vars(&n, x->buf->ndim);
  for (int d = 0; d < n.n; d++) idx[d] = ex_var(a, n.var[d]);
  ReduceKind base = reduce_base(x->kind);
  Expr *old = ex_load(a, x->buf, idx, n.n), *part = ex_load(a, x->part, idx, n.n);
  Stmt *take = st_store(a, x->buf, idx, n.n, reduce_combine(a, base, false, old, part), s->span);
  Stmt *out = st_block(a, s->span);
  st_add(a, out, st_op(a, OP_REDUCER_FINALIZE, s->span, all, all, (int64_t)base, (int64_t)0));
  st_add(a, out, nest_loop(&n, LOOP_PARALLEL, x->buf->shape, take));
  st_add(a, out, forget(r, x, whole, s->span));
  Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  if (dst->buf != x->buf) st_add(a, out, nest_copy(a, src, dst, s->span));
  return out;
}

static Stmt *rewrite(void *ctx, Stmt *s) {
  Reducers *r = ctx;
  if (s->kind != ST_OP) return s;
  OpCode op = s->u.op.op;
  Arg *arg = s->u.op.arg;
  bool writes = op == OP_FILL || op == OP_COPY;
  Reducer *x = op == OP_REDUCER_UPDATE || op == OP_REDUCER_FINALIZE || op == OP_FILL
                   ? find(r, arg[0].region->buf)
               : op == OP_COPY ? find(r, arg[1].region->buf)
                               : NULL;
  if (!x) return s;
  if (op == OP_REDUCER_FINALIZE) return finalize(r, x, s);
  if (op == OP_REDUCER_UPDATE)
    arg[0].region = region_new(r->arena, x->part, arg[0].region->min, arg[0].region->extent);
  if (!writes) return s;
  Stmt *out = st_block(r->arena, s->span);
  st_add(r->arena, out, s);
  st_add(r->arena, out, forget(r, x, arg[op == OP_COPY].region, s->span));
  return out;
}

void expand_reducers(Arena *a, Kernel *k) {
  Reducers r = {.arena = a, .kernel = k};
  st_walk(k->body, collect, &r);
  if (r.all.len) k->body = walk_block(a, st_rewrite(a, k->body, rewrite, &r));
}
