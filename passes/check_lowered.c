// What the language has and no pass lowers yet: one error for each statement or buffer, by the name
// the program uses. `--run --device=oracle` runs all of it.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

static const char *vote_name(const Stmt *s) {
  static const char *const warp[] = {"T.any_sync", "T.all_sync", "T.ballot_sync", "T.ballot_sync"};
  static const char *const block[] = {"T.syncthreads_or", "T.syncthreads_and", "",
                                      "T.syncthreads_count"};
  return (s->u.op.op == OP_VOTE ? warp : block)[s->u.op.arg[2].i & 3];
}

static const char *atomic_feature(Arena *a, const Stmt *s) {
  static const char *const names[] = {"add", "max", "min", "and", "or", "xor", "store"};
  AtomicFn fn = (AtomicFn)s->u.op.arg[2].i;
  const char *name = arena_printf(a, "T.atomic_%s", names[fn]);
  if (fn > ATOMIC_MIN) return name;
  if (s->u.op.arg[4].region) return arena_printf(a, "%s(return_prev=True)", name);
  return s->u.op.arg[3].i ? arena_printf(a, "%s with a memory order", name) : NULL;
}

// The name of the construct, where no pass lowers it; else NULL.
static const char *op_feature(Arena *a, const Stmt *s) {
  switch (s->u.op.op) {
  case OP_ATOMIC: return atomic_feature(a, s);
  case OP_ATOMIC_TILE: return s->u.op.arg[2].i > ATOMIC_MIN ? "a bitwise T.atomic of a tile" : NULL;
  case OP_ATOMIC_VEC: return "a T.atomic_add of several elements";
  case OP_ATOMIC_LOAD: return "T.atomic_load";
  case OP_SHUFFLE: return "a warp shuffle";
  case OP_VOTE:
  case OP_BLOCK_VOTE: return vote_name(s);
  case OP_ALLREDUCE: return "a reduction over threads";
  case OP_SYNC_WARP: return "T.sync_warp";
  case OP_PRINT: return "T.print";
  case OP_ASSERT: return "T.device_assert";
  default: return NULL;
  }
}

typedef struct {
  Check *k;
  Span span;
  bool found;
} Search;

static void refuse(Search *s, Span at, const char *what) {
  diag_report(s->k->c->diags, DIAG_NOT_LOWERED, at, what, s->k->c->target->name);
  s->found = true;
}

static void see_node(void *ctx, Expr *x) {
  Search *s = ctx;
  Span at = x->span.file ? x->span : s->span;
  if (x->kind == EX_BITCAST) refuse(s, at, "T.reinterpret");
  else if (!*dt_cuda(x->type) && x->kind != EX_LOAD)
    refuse(s, at, arena_printf(s->k->c->arena, "a value of type %s", dt_name(x->type)));
}

static void see_slot(void *ctx, Expr **slot) { ex_walk(*slot, see_node, ctx); }

static void see_stmt(void *ctx, Stmt *x) {
  Search *s = ctx;
  s->span = x->span;
  if (x->kind == ST_FOR && x->u.loop.places) refuse(s, x->span, "a loop_layout from a function");
  const char *what = x->kind == ST_OP ? op_feature(s->k->c->arena, x) : NULL;
  if (what) refuse(s, x->span, what);
  st_exprs(x, see_slot, s);
}

static void see_buffer(Search *s, const Buffer *b) {
  Arena *a = s->k->c->arena;
  if (b->base)
    refuse(s, b->span,
           arena_printf(a, "%s, another name for the storage of %s,", b->name, b->base->name));
  else if (b->places)
    refuse(s, b->span, arena_printf(a, "a layout of %s from a function", b->name));
  else if (!*dt_cuda(b->dtype))
    refuse(s, b->span, arena_printf(a, "%s of type %s", b->name, dt_name(b->dtype)));
}

bool check_lowered(Check *k) {
  Search s = {.k = k};
  for (int i = 0; i < k->program->params.len; i++)
    if (k->program->params.data[i].buf && k->kernel == k->program->kernels.data[0])
      see_buffer(&s, k->program->params.data[i].buf);
  for (int i = 0; i < k->kernel->buffers.len; i++) see_buffer(&s, k->kernel->buffers.data[i]);
  st_walk(k->kernel->body, see_stmt, &s);
  return !s.found;
}
