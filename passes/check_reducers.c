// Reducers that are read between an update and T.finalize_reducer: each thread then holds a part.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

enum { MAX_REDUCERS = 64 };

typedef struct {
  Check *k;
  VEC(const Buffer *) all;
  Span update[MAX_REDUCERS]; // the last one seen
  uint64_t open;             // updated since they were last finalized or filled, on some way here
  uint64_t told;
} Scan;

static uint64_t bit_of(const Scan *c, const Buffer *b) {
  for (int i = 0; i < c->all.len && i < MAX_REDUCERS; i++)
    if (c->all.data[i] == buf_root(b)) return (uint64_t)1 << i;
  return 0;
}

static void collect(void *ctx, Stmt *s) {
  Scan *c = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_REDUCER_UPDATE) return;
  const Buffer *b = buf_root(s->u.op.arg[0].region->buf);
  if (!bit_of(c, b)) vec_push(c->k->c->arena, &c->all, b);
}

typedef struct {
  Scan *c;
  const Stmt *s;
} Reader;

static void read_access(void *ctx, const Access *a) {
  const Reader *r = ctx;
  Scan *c = r->c;
  uint64_t bit = bit_of(c, a->region.buf);
  if (a->mode != ACC_READ || !(bit & c->open & ~c->told)) return;
  c->told |= bit;
  const char *name = a->region.buf->name;
  diag_report(c->k->c->diags, DIAG_REDUCER_OPEN, r->s->span, name, name);
  diag_note(c->k->c->diags, c->update[__builtin_ctzll(bit)], "%s is updated here", name);
}

static void visit_op(Scan *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  switch (s->u.op.op) {
  case OP_REDUCER_UPDATE: {
    uint64_t bit = bit_of(c, arg[0].region->buf);
    if (bit) c->update[__builtin_ctzll(bit)] = s->span;
    c->open |= bit;
    return;
  }
  case OP_REDUCER_FINALIZE:
  case OP_FILL: c->open &= ~bit_of(c, arg[0].region->buf); return;
  case OP_COPY: c->open &= ~bit_of(c, arg[1].region->buf); return;
  default: return;
  }
}

static void visit(Scan *c, Stmt *s) {
  if (!s) return;
  Reader r = {c, s};
  uint64_t before = c->open;
  bool finalize = s->kind == ST_OP && s->u.op.op == OP_REDUCER_FINALIZE;
  if (!finalize) st_accesses(c->k->c->arena, s, read_access, &r);
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) visit(c, s->u.block.data[i]);
    return;
  case ST_FOR: // a second time for what an iteration leaves to the next
    visit(c, s->u.loop.body);
    c->open |= before;
    if (c->open != before) visit(c, s->u.loop.body);
    c->open |= before;
    return;
  case ST_IF: {
    visit(c, s->u.branch.yes);
    uint64_t yes = c->open;
    c->open = before;
    visit(c, s->u.branch.no);
    c->open |= yes;
    return;
  }
  case ST_OP: visit_op(c, s); return;
  default: return;
  }
}

void check_reducers(Check *k) {
  Scan c = {.k = k};
  st_walk(k->kernel->body, collect, &c);
  if (c.all.len) visit(&c, k->kernel->body);
}
