// Updates of a reducer by a loop whose threads do not hold the elements that they update: the loop
// gets a reducer of its own, whose result then updates the first one.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

typedef struct {
  Arena *arena;
  Buffer *from, *to;
  ReduceKind kind;
  bool nan;
} Own;

static void redirect(void *ctx, Stmt *s) {
  Own *o = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_REDUCER_UPDATE) return;
  Region *r = s->u.op.arg[0].region;
  if (r->buf != o->from) return;
  o->kind = (ReduceKind)s->u.op.arg[2].i;
  o->nan = s->u.op.arg[3].i;
  s->u.op.arg[0].region = region_new(o->arena, o->to, r->min, r->extent);
}

// A loop over all elements of `part`, mapped as it is.
static Stmt *over(Arena *a, Buffer *part, Expr **idx, Span span) {
  static const char *const names[LOOP_MAX_DIMS] = {"i", "j", "k", "l", "m", "n", "p", "q"};
  Var *var[LOOP_MAX_DIMS];
  Expr *min[LOOP_MAX_DIMS];
  for (int d = 0; d < part->ndim; d++) {
    var[d] = var_new(a, names[d], DT_INDEX, VAR_LOOP, span);
    min[d] = ex_index(a, 0);
    idx[d] = ex_var(a, var[d]);
  }
  Stmt *s = st_for_n(a, LOOP_PARALLEL, part->ndim, var, min, part->shape, st_block(a, span), span);
  s->u.loop.layout = layout_with_bits(a, part->layout, 1);
  return s;
}

Stmt *layout_own_reducer(PassCtx *c, Kernel *k, Stmt *loop, const FragUse *u, Stmt **last) {
  Arena *a = c->arena;
  Buffer *part = u->buf, *own = layout_temp(a, k, part, "own", SC_FRAGMENT);
  Span span = loop->span;
  Expr *idx[LOOP_MAX_DIMS];
  own->layout = loop->u.loop.layout ? frag_from_loop(a, u, loop->u.loop.layout) : NULL;
  if (!own->layout) {
    diag_report(c->diags, DIAG_NOT_LOWERED, span,
                arena_printf(a, "an update of reducer %s at these indices", part->name),
                c->target->name);
    return NULL;
  }
  diag_remark(c->diags, span, "layout", "%s is updated through a reducer of this loop", part->name);
  Own o = {.arena = a, .from = part, .to = own};
  st_walk(loop, redirect, &o);
  Stmt *out = st_block(a, span), *start = over(a, own, idx, span);
  st_add(a, start->u.loop.body,
         st_store(a, own, idx, own->ndim, reduce_neutral(a, o.kind, own->dtype), span));
  Region *all = region_whole(a, own);
  st_add(a, out, start);
  st_add(a, out, loop);
  st_add(
      a, out,
      st_op(a, OP_REDUCER_FINALIZE, span, all, all, (int64_t)reduce_base(o.kind), (int64_t)o.nan));
  Stmt *take = *last = over(a, part, idx, span);
  Expr **one = NEWN(a, Expr *, part->ndim);
  Expr **at = arena_copy(a, idx, sizeof *at * (size_t)part->ndim);
  for (int d = 0; d < part->ndim; d++) one[d] = ex_index(a, 1);
  st_add(a, take->u.loop.body,
         st_op(a, OP_REDUCER_UPDATE, span, region_new(a, part, at, one),
               ex_load(a, own, at, own->ndim), (int64_t)reduce_base(o.kind), (int64_t)o.nan));
  st_add(a, out, take);
  return out;
}
