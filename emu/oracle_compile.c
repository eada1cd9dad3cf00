// Tile-level statements with their expressions compiled.
// SPDX-License-Identifier: MIT
#include "emu/oracle.h"

static Node **compile_all(Oracle *o, Expr **x, int n) {
  Node **out = NEWN(o->c.arena, Node *, n ? n : 1);
  for (int i = 0; i < n; i++) out[i] = emu_compile(&o->c, x[i]);
  return out;
}

static ORegion *compile_region(Oracle *o, const Region *r) {
  if (!r) return NULL;
  ORegion *out = NEW(o->c.arena, ORegion);
  out->mem = &o->mem[emu_buffer(&o->c, r->buf)];
  out->n = r->n;
  out->min = compile_all(o, r->min, r->n);
  out->extent = compile_all(o, r->extent, r->n);
  return out;
}

static void compile_for(Oracle *o, OStmt *d, const Stmt *s) {
  d->loop = s->u.loop.loop;
  d->n = s->u.loop.nvars;
  d->cond = s->u.loop.cond ? emu_compile(&o->c, s->u.loop.cond) : NULL;
  d->min = compile_all(o, s->u.loop.min, d->n);
  d->extent = compile_all(o, s->u.loop.extent, d->n);
  d->slot = NEWN(o->c.arena, int, d->n + 1);
  for (int i = 0; i < d->n; i++) {
    bool uniform = d->min[i]->uniform && d->extent[i]->uniform && d->loop != LOOP_PARALLEL;
    d->slot[i] = emu_bind(&o->c, s->u.loop.var[i], uniform);
  }
  bool outermost = d->loop == LOOP_PARALLEL && !o->nest;
  o->nest |= outermost;
  d->body = oracle_compile(o, s->u.loop.body);
  if (!outermost) return;
  o->nest = false;
  if (o->threads > 1) oracle_compile_watch(o, d, s);
}

static void compile_op(Oracle *o, OStmt *d, const Stmt *s) {
  d->op = s->u.op.op;
  const OpInfo *info = op_info(d->op);
  if (!(info->level & LEVEL_TILE)) die("the oracle met '%s', an op of thread level", info->name);
  for (int i = 0; i < info->nargs; i++) {
    const Arg *a = &s->u.op.arg[i];
    switch (info->arg[i].kind) {
    case ARG_EXPR: d->arg[i].e = a->expr ? emu_compile(&o->c, a->expr) : NULL; break;
    case ARG_INT: d->arg[i].i = a->i; break;
    case ARG_TEXT: d->arg[i].s = a->text; break;
    default: d->arg[i].r = compile_region(o, a->region);
    }
  }
}

OStmt *oracle_compile(Oracle *o, const Stmt *s) {
  if (!s) return NULL;
  OStmt *d = NEW(o->c.arena, OStmt);
  d->kind = s->kind;
  d->span = s->span;
  switch (s->kind) {
  case ST_BLOCK:
    d->n = s->u.block.len;
    d->child = NEWN(o->c.arena, OStmt *, d->n ? d->n : 1);
    for (int i = 0; i < d->n; i++) d->child[i] = oracle_compile(o, s->u.block.data[i]);
    break;
  case ST_FOR: compile_for(o, d, s); break;
  case ST_IF:
    d->cond = emu_compile(&o->c, s->u.branch.cond);
    d->body = oracle_compile(o, s->u.branch.yes);
    d->other = oracle_compile(o, s->u.branch.no);
    break;
  case ST_LET:
    d->value = emu_compile(&o->c, s->u.let.value);
    d->slot = NEW(o->c.arena, int);
    d->slot[0] = emu_bind(&o->c, s->u.let.var, d->value->uniform);
    break;
  case ST_STORE:
    d->mem = &o->mem[emu_buffer(&o->c, s->u.store.buf)];
    d->n = s->u.store.n;
    d->idx = compile_all(o, s->u.store.idx, d->n);
    d->value = emu_compile(&o->c, s->u.store.value);
    break;
  case ST_OP: compile_op(o, d, s); break;
  case ST_ASSUME: d->cond = emu_compile(&o->c, s->u.assume); break;
  }
  return d;
}
