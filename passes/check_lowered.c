// What the language has and no pass lowers yet: one error for each statement or buffer, by the name
// the program uses. `--run --device=oracle` runs all of it.
// SPDX-License-Identifier: MIT
#include "passes/check.h"
#include "passes/lower.h"

typedef struct {
  Check *k;
  Span span;
  bool found;
} Search;

static void refuse(Search *s, Span at, const char *what) {
  diag_report(s->k->c->diags, DIAG_NOT_LOWERED, at, what, s->k->c->target->name);
  s->found = true;
}

static void see_stmt(void *ctx, Stmt *x) {
  Search *s = ctx;
  s->span = x->span;
  if (x->kind == ST_FOR && x->u.loop.places)
    diag_remark(s->k->c->diags, x->span, "layout", "loop_layout is a function: not followed");
  if (x->kind == ST_OP && x->u.op.op == OP_GEMM_SP) refuse(s, x->span, "T.gemm_sp");
}

// The pack pass makes bytes of pairs of 4-bit elements.
static int stored_bits(const Buffer *b) { return dt_bits(b->dtype) < 8 ? 8 : dt_bits(b->dtype); }

static void see_buffer(Search *s, const Buffer *b) {
  Arena *a = s->k->c->arena;
  if (b->base && b->scope == SC_FRAGMENT && stored_bits(b) != stored_bits(b->base))
    refuse(s, b->span,
           arena_printf(a, "%s, another name for the storage of %s,", b->name, b->base->name));
  else if (b->places && b->scope != SC_GLOBAL)
    diag_remark(s->k->c->diags, b->span, "layout", "%s: its function is not followed", b->name);
  else if (b->places && !places_fill(a, b))
    refuse(s, b->span, arena_printf(a, "a layout of %s from a function", b->name));
}

bool check_lowered(Check *k) {
  Search s = {.k = k};
  const Target *t = k->c->target;
  const Stmt *lacks = target_lacks(t, k->program);
  if (lacks && k->kernel == k->program->kernels.data[0]) {
    diag_report(k->c->diags, DIAG_TARGET_OP, lacks->span, op_info(lacks->u.op.op)->name, t->name);
    s.found = true;
  }
  for (int i = 0; i < k->program->params.len; i++)
    if (k->program->params.data[i].buf && k->kernel == k->program->kernels.data[0])
      see_buffer(&s, k->program->params.data[i].buf);
  for (int i = 0; i < k->kernel->buffers.len; i++) see_buffer(&s, k->kernel->buffers.data[i]);
  st_walk(k->kernel->body, see_stmt, &s);
  return !s.found;
}
