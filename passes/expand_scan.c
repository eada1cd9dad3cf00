// Scans: of each thread's own arrays as loops; of tiles in shared memory, where lower finds them.
// SPDX-License-Identifier: MIT
#include "passes/expand.h"

typedef struct {
  Nest x;
  Region *src, *dst;
  int sdim[MAX_DIMS], ddim[MAX_DIMS], n, at;
  Expr *extent[MAX_DIMS];
  ReduceKind kind;
  bool reverse;
} Scan;

// acc = src; dst = acc, along the scanned dimension innermost.
static Stmt *scan_local(Scan *s) {
  Arena *a = s->x.arena;
  Span span = s->x.span;
  DType t = s->dst->buf->dtype;
  Expr *zero = ex_index(a, 0), *v = ex_var(a, s->x.var[s->at]);
  Buffer *acc = nest_temp(&s->x, s->dst->buf->name, "acc", t, SC_LOCAL, NULL, 0);
  Expr *last = ex_sub(a, s->extent[s->at], ex_index(a, 1));
  Expr *pos = s->reverse ? ex_sub(a, last, v) : v;
  Expr **si = nest_indices(a, s->src, s->sdim, s->n, s->x.var);
  Expr **di = nest_indices(a, s->dst, s->ddim, s->n, s->x.var);
  si[s->sdim[s->at]] = ex_add(a, s->src->min[s->sdim[s->at]], pos);
  di[s->ddim[s->at]] = ex_add(a, s->dst->min[s->ddim[s->at]], pos);
  Expr *value = ex_cast(a, t, ex_load(a, s->src->buf, si, s->src->n));
  Expr *old = ex_load(a, acc, &zero, 1);
  Expr *first = ex_bin(a, BIN_EQ, v, zero);
  Expr *sum = ex_select(a, first, value, reduce_combine(a, s->kind, false, old, value));
  Stmt *body = st_block(a, span);
  st_add(a, body, st_store(a, acc, &zero, 1, sum, span));
  st_add(a, body, st_store(a, s->dst->buf, di, s->dst->n, old, span));
  Stmt *inner = st_for(a, LOOP_UNROLL, s->x.var[s->at], zero, s->extent[s->at], body, span);
  Nest outer = s->x;
  Expr *extent[MAX_DIMS];
  outer.n = 0;
  for (int i = 0; i < s->n; i++) {
    if (i == s->at) continue;
    extent[outer.n] = s->extent[i];
    outer.var[outer.n++] = s->x.var[i];
  }
  return nest_loop(&outer, LOOP_UNROLL, extent, inner);
}

Stmt *expand_scan(Arena *a, Kernel *k, Stmt *s) {
  const Arg *arg = s->u.op.arg;
  Scan sc = {.x = {.arena = a, .kernel = k, .span = s->span},
             .src = arg[0].region,
             .dst = arg[1].region,
             .kind = (ReduceKind)arg[2].i,
             .reverse = arg[4].i};
  int dim = (int)arg[3].i;
  sc.n = nest_walked(sc.src, dim, sc.sdim);
  // Counted from the last: a ring's leading dimension may stand on one side only.
  if (nest_walked(sc.dst, dim + sc.dst->n - sc.src->n, sc.ddim) != sc.n)
    die("scan: the shapes differ");
  nest_vars(&sc.x, sc.n);
  for (int i = 0; i < sc.n; i++) {
    sc.extent[i] = sc.src->extent[sc.sdim[i]];
    if (sc.sdim[i] == dim) sc.at = i;
  }
  Scope from = sc.src->buf->scope, to = sc.dst->buf->scope;
  if (from == SC_LOCAL && to == SC_LOCAL) return scan_local(&sc);
  if (from == SC_SHARED && to == SC_SHARED) return s;
  // Fragments go through a shared tile: the destination where it is one, else a new one.
  Region *tile = sc.dst;
  int at = dim + sc.dst->n - sc.src->n;
  if (to != SC_SHARED) {
    tile = region_whole(a, nest_temp(&sc.x, sc.dst->buf->name, "scan", sc.dst->buf->dtype,
                                     SC_SHARED, sc.extent, sc.n));
    at = sc.at;
  }
  Stmt *out = st_block(a, s->span);
  bool direct = from == SC_SHARED && tile->n == sc.src->n && at == dim;
  if (!direct) st_add(a, out, nest_copy(a, sc.src, tile, s->span));
  st_add(a, out,
         st_op(a, OP_SCAN, s->span, direct ? sc.src : tile, tile, (int64_t)sc.kind, (int64_t)at,
               (int64_t)sc.reverse));
  if (tile != sc.dst) st_add(a, out, nest_copy(a, tile, sc.dst, s->span));
  return out;
}
