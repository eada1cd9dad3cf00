// Deep copies of programs, with fresh variables and buffers.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

typedef struct {
  Arena *arena;
  PtrMap *map; // old Var or Buffer -> new one
} Clone;

static Expr *clone_expr(Clone *c, const Expr *x);

static Var *clone_var(Clone *c, Var *v) {
  if (!v) return NULL;
  Var *n = ptrmap_get(c->map, v);
  if (n) return n;
  n = var_new(c->arena, v->name, v->type, v->kind, v->span);
  n->axis = v->axis;
  ptrmap_set(c->map, v, n);
  return n;
}

static Expr **clone_list(Clone *c, Expr **list, int n) {
  if (!list) return NULL;
  Expr **out = NEWN(c->arena, Expr *, n);
  for (int i = 0; i < n; i++) out[i] = clone_expr(c, list[i]);
  return out;
}

static const IndexMap *clone_places(Clone *c, const IndexMap *m) {
  if (!m) return NULL;
  IndexMap *n = arena_copy(c->arena, m, sizeof *m);
  n->var = NEWN(c->arena, Var *, m->n);
  for (int i = 0; i < m->n; i++) n->var[i] = clone_var(c, m->var[i]);
  n->to = clone_list(c, m->to, m->m);
  return n;
}

static Buffer *clone_buffer(Clone *c, Buffer *b) {
  if (!b) return NULL;
  Buffer *n = ptrmap_get(c->map, b);
  if (n) return n;
  n = arena_copy(c->arena, b, sizeof *b);
  ptrmap_set(c->map, b, n);
  n->base = clone_buffer(c, b->base);
  n->places = clone_places(c, b->places);
  n->name = arena_str(c->arena, b->name);
  n->shape = clone_list(c, b->shape, b->ndim);
  n->strides = clone_list(c, b->strides, b->ndim);
  n->safe = clone_expr(c, b->safe);
  if (b->map) {
    n->map = arena_copy(c->arena, b->map, sizeof *b->map);
    n->map->of = clone_buffer(c, b->map->of);
  }
  return n; // layouts are immutable values: shared
}

// Node by node, without constructors: a copy is exactly what was there.
static Expr *clone_expr(Clone *c, const Expr *x) {
  if (!x) return NULL;
  Expr *n = arena_copy(c->arena, x, sizeof *x);
  switch (x->kind) {
  case EX_VAR: n->u.var = clone_var(c, x->u.var); break;
  case EX_LOAD:
    n->u.load.buf = clone_buffer(c, x->u.load.buf);
    n->u.load.idx = clone_list(c, x->u.load.idx, x->u.load.n);
    break;
  case EX_UNARY: n->u.un.a = clone_expr(c, x->u.un.a); break;
  case EX_BINARY:
    n->u.bin.a = clone_expr(c, x->u.bin.a);
    n->u.bin.b = clone_expr(c, x->u.bin.b);
    break;
  case EX_CAST:
  case EX_BITCAST: n->u.cast = clone_expr(c, x->u.cast); break;
  case EX_SELECT:
    n->u.sel.cond = clone_expr(c, x->u.sel.cond);
    n->u.sel.yes = clone_expr(c, x->u.sel.yes);
    n->u.sel.no = clone_expr(c, x->u.sel.no);
    break;
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++) n->u.math.arg[i] = clone_expr(c, x->u.math.arg[i]);
    break;
  default: break;
  }
  return n;
}

static Region *clone_region(Clone *c, const Region *r) {
  if (!r) return NULL;
  Region *n = NEW(c->arena, Region);
  *n = (Region){clone_buffer(c, r->buf), r->n, clone_list(c, r->min, r->n),
                clone_list(c, r->extent, r->n)};
  return n;
}

static const char *clone_str(Clone *c, const char *s) { return s ? arena_str(c->arena, s) : NULL; }

static void clone_op(Clone *c, Stmt *n) {
  const OpInfo *info = op_info(n->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    Arg *arg = &n->u.op.arg[i];
    ArgKind kind = info->arg[i].kind;
    if (kind == ARG_EXPR) arg->expr = clone_expr(c, arg->expr);
    else if (kind == ARG_TEXT) arg->text = clone_str(c, arg->text);
    else if (arg_is_region(kind)) arg->region = clone_region(c, arg->region);
  }
}

static Stmt *clone_stmt(Clone *c, const Stmt *s);

static void clone_loop(Clone *c, Stmt *n) {
  int nvars = n->u.loop.nvars;
  n->u.loop.min = clone_list(c, n->u.loop.min, nvars);
  n->u.loop.extent = clone_list(c, n->u.loop.extent, nvars);
  n->u.loop.var = arena_copy(c->arena, n->u.loop.var, sizeof *n->u.loop.var * (size_t)nvars);
  for (int i = 0; i < nvars; i++) n->u.loop.var[i] = clone_var(c, n->u.loop.var[i]);
  n->u.loop.cond = clone_expr(c, n->u.loop.cond);
  n->u.loop.places = clone_places(c, n->u.loop.places);
  n->u.loop.body = clone_stmt(c, n->u.loop.body);
}

static Stmt *clone_stmt(Clone *c, const Stmt *s) {
  if (!s) return NULL;
  Stmt *n = arena_copy(c->arena, s, sizeof *s);
  switch (s->kind) {
  case ST_BLOCK:
    n->u.block = (StmtVec){0};
    for (int i = 0; i < s->u.block.len; i++)
      vec_push(c->arena, &n->u.block, clone_stmt(c, s->u.block.data[i]));
    break;
  case ST_FOR: clone_loop(c, n); break;
  case ST_IF:
    n->u.branch.cond = clone_expr(c, s->u.branch.cond);
    n->u.branch.yes = clone_stmt(c, s->u.branch.yes);
    n->u.branch.no = clone_stmt(c, s->u.branch.no);
    break;
  case ST_LET:
    n->u.let.var = clone_var(c, s->u.let.var);
    n->u.let.value = clone_expr(c, s->u.let.value);
    break;
  case ST_STORE:
    n->u.store.buf = clone_buffer(c, s->u.store.buf);
    n->u.store.idx = clone_list(c, s->u.store.idx, s->u.store.n);
    n->u.store.value = clone_expr(c, s->u.store.value);
    break;
  case ST_OP: clone_op(c, n); break;
  case ST_ASSUME: n->u.assume = clone_expr(c, s->u.assume); break;
  }
  return n;
}

static Kernel *clone_kernel(Clone *c, const Kernel *k) {
  Kernel *n = arena_copy(c->arena, k, sizeof *k);
  n->name = arena_str(c->arena, k->name);
  for (int i = 0; i < 3; i++) {
    n->grid[i] = clone_expr(c, k->grid[i]);
    n->block[i] = clone_var(c, k->block[i]);
  }
  n->workers = clone_var(c, k->workers);
  n->thread = clone_var(c, k->thread);
  n->team = clone_var(c, k->team);
  n->hints.data = NULL;
  n->hints.len = n->hints.cap = 0;
  for (int i = 0; i < k->hints.len; i++) {
    Hint h = {arena_str(c->arena, k->hints.data[i].name), k->hints.data[i].value};
    vec_push(c->arena, &n->hints, h);
  }
  n->buffers.data = NULL;
  n->buffers.len = n->buffers.cap = 0;
  for (int i = 0; i < k->buffers.len; i++)
    vec_push(c->arena, &n->buffers, clone_buffer(c, k->buffers.data[i]));
  n->body = clone_stmt(c, k->body);
  return n;
}

Kernel *ir_clone_kernel(Arena *a, const Program *p, const Kernel *k) {
  Clone c = {a, ptrmap_new(a)};
  for (int i = 0; i < p->sizes.len; i++) ptrmap_set(c.map, p->sizes.data[i], p->sizes.data[i]);
  for (int i = 0; i < p->params.len; i++) {
    Param *q = &p->params.data[i];
    if (q->buf) ptrmap_set(c.map, q->buf, q->buf);
    if (q->var) ptrmap_set(c.map, q->var, q->var);
  }
  for (int i = 0; i < p->workspaces.len; i++)
    ptrmap_set(c.map, p->workspaces.data[i], p->workspaces.data[i]);
  return clone_kernel(&c, k);
}

Program *ir_clone(Arena *a, const Program *p) {
  Clone c = {a, ptrmap_new(a)};
  Program *n = NEW(a, Program);
  n->symbol = clone_str(&c, p->symbol);
  n->file = clone_str(&c, p->file);
  n->bindings = clone_str(&c, p->bindings);
  for (int i = 0; i < p->bound.len; i++) {
    const Bound *b = &p->bound.data[i];
    vec_push(a, &n->bound, (Bound){clone_str(&c, b->name), clone_str(&c, b->value), b->given});
  }
  for (int i = 0; i < p->sizes.len; i++) vec_push(a, &n->sizes, clone_var(&c, p->sizes.data[i]));
  for (int i = 0; i < p->params.len; i++) {
    Param param = p->params.data[i];
    param.name = clone_str(&c, param.name);
    param.buf = clone_buffer(&c, param.buf);
    param.var = clone_var(&c, param.var);
    vec_push(a, &n->params, param);
  }
  for (int i = 0; i < p->sources.len; i++)
    vec_push(a, &n->sources, clone_str(&c, p->sources.data[i]));
  for (int i = 0; i < p->workspaces.len; i++)
    vec_push(a, &n->workspaces, clone_buffer(&c, p->workspaces.data[i]));
  for (int i = 0; i < p->kernels.len; i++)
    vec_push(a, &n->kernels, clone_kernel(&c, p->kernels.data[i]));
  for (int i = 0; i < p->facts.len; i++) {
    Fact fact = p->facts.data[i];
    fact.cond = clone_expr(&c, fact.cond);
    fact.why = clone_str(&c, fact.why);
    vec_push(a, &n->facts, fact);
  }
  return n;
}
