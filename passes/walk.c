// Small tools over trees that several passes use: substitution tables, cloning, access queries.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

#include <string.h>

void subst_add(Subst *s, Var *from, Expr *to) {
  vec_push(s->arena, &s->from, from);
  vec_push(s->arena, &s->to, to);
}

// The latest binding wins.
static Expr *subst_lookup(void *ctx, Var *v) {
  const Subst *s = ctx;
  for (int i = s->from.len - 1; i >= 0; i--)
    if (s->from.data[i] == v) return s->to.data[i];
  return NULL;
}

Expr *subst_expr(const Subst *s, Expr *x) {
  return x && s->from.len ? ex_replace(s->arena, x, subst_lookup, (void *)s) : x;
}

void subst_stmt(const Subst *s, Stmt *x) {
  if (s->from.len) st_replace(s->arena, x, subst_lookup, (void *)s);
}

Region *walk_region(Arena *a, const Region *r) { // by its own rank: the buffer's may be changing
  Region *n = NEW(a, Region);
  size_t bytes = sizeof *r->min * (size_t)r->n;
  *n = (Region){r->buf, r->n, arena_copy(a, r->min, bytes), arena_copy(a, r->extent, bytes)};
  return n;
}

void walk_own(Arena *a, Stmt *s) {
  if (s->kind != ST_OP) return;
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    if (!arg_is_region(kind) || !s->u.op.arg[i].region) continue;
    s->u.op.arg[i].region = walk_region(a, s->u.op.arg[i].region);
  }
}

static Var *fresh(Subst *s, Var *v) {
  Var *n = var_new(s->arena, v->name, v->type, v->kind, v->span);
  n->axis = v->axis;
  subst_add(s, v, ex_var(s->arena, n));
  return n;
}

static Stmt *clone(Subst *s, const Stmt *x, Plan *plan);

static void clone_loop(Subst *s, const Stmt *x, Stmt *y, Plan *plan) {
  int n = x->u.loop.nvars;
  y->u.loop.var = NEWN(s->arena, Var *, n);
  y->u.loop.min = NEWN(s->arena, Expr *, n);
  y->u.loop.extent = NEWN(s->arena, Expr *, n);
  for (int i = 0; i < n; i++) {
    y->u.loop.min[i] = subst_expr(s, x->u.loop.min[i]);
    y->u.loop.extent[i] = subst_expr(s, x->u.loop.extent[i]);
  }
  if (x->u.loop.cond) y->u.loop.cond = subst_expr(s, x->u.loop.cond);
  for (int i = 0; i < n; i++) y->u.loop.var[i] = fresh(s, x->u.loop.var[i]);
  y->u.loop.body = clone(s, x->u.loop.body, plan);
}

static Region *clone_region(const Subst *s, const Region *r) {
  if (!r) return NULL;
  Region *n = walk_region(s->arena, r);
  for (int i = 0; i < n->n; i++) {
    n->min[i] = subst_expr(s, n->min[i]);
    n->extent[i] = subst_expr(s, n->extent[i]);
  }
  return n;
}

static void clone_op(Subst *s, const Stmt *x, Stmt *y) {
  const OpInfo *info = op_info(x->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    if (info->arg[i].kind == ARG_INT || info->arg[i].kind == ARG_TEXT) continue;
    if (info->arg[i].kind == ARG_EXPR) y->u.op.arg[i].expr = subst_expr(s, x->u.op.arg[i].expr);
    else y->u.op.arg[i].region = clone_region(s, x->u.op.arg[i].region);
  }
}

static Stmt *clone(Subst *s, const Stmt *x, Plan *plan) {
  if (!x) return NULL;
  Stmt *y = arena_copy(s->arena, x, sizeof *x);
  switch (x->kind) {
  case ST_BLOCK:
    memset(&y->u.block, 0, sizeof y->u.block);
    for (int i = 0; i < x->u.block.len; i++)
      vec_push(s->arena, &y->u.block, clone(s, x->u.block.data[i], plan));
    break;
  case ST_FOR: clone_loop(s, x, y, plan); break;
  case ST_IF:
    y->u.branch.cond = subst_expr(s, x->u.branch.cond);
    y->u.branch.yes = clone(s, x->u.branch.yes, plan);
    y->u.branch.no = clone(s, x->u.branch.no, plan);
    break;
  case ST_LET:
    y->u.let.value = subst_expr(s, x->u.let.value);
    y->u.let.var = fresh(s, x->u.let.var);
    break;
  case ST_STORE:
    y->u.store.idx = arena_copy(s->arena, x->u.store.idx, sizeof(Expr *) * (size_t)x->u.store.n);
    for (int i = 0; i < x->u.store.n; i++) y->u.store.idx[i] = subst_expr(s, x->u.store.idx[i]);
    y->u.store.value = subst_expr(s, x->u.store.value);
    break;
  case ST_OP: clone_op(s, x, y); break;
  case ST_ASSUME: y->u.assume = subst_expr(s, x->u.assume); break;
  }
  if (plan) plan_clone(plan, x, y);
  return y;
}

Stmt *walk_clone(Arena *a, const Stmt *s, Plan *plan) {
  Subst sub = {.arena = a};
  return clone(&sub, s, plan);
}

Stmt *walk_block(Arena *a, Stmt *s) {
  if (s->kind == ST_BLOCK) return s;
  Stmt *b = st_block(a, s->span);
  st_add(a, b, s);
  return b;
}

static void note_load(void *ctx, Expr *x) {
  if (x->kind == EX_LOAD) *(bool *)ctx = true;
}

bool walk_has_load(const Expr *x) {
  bool found = false;
  ex_walk((Expr *)x, note_load, &found);
  return found;
}

typedef struct {
  Arena *arena;
  const Buffer *buf;
  bool reads_only, writes_only, found;
} Touch;

static void touch_access(void *ctx, const Access *acc) {
  Touch *t = ctx;
  bool other = acc->mode == ACC_READ ? t->writes_only : t->reads_only;
  if (buf_root(acc->region.buf) == buf_root(t->buf) && !other) t->found = true;
}

static void touch_stmt(void *ctx, Stmt *s) {
  Touch *t = ctx;
  if (!t->found) st_accesses(t->arena, s, touch_access, t);
}

bool walk_touches(Arena *a, Stmt *s, const Buffer *b, bool writes_only) {
  Touch t = {.arena = a, .buf = b, .writes_only = writes_only};
  st_walk(s, touch_stmt, &t);
  return t.found;
}

static void find_roles(void *ctx, Stmt *s) {
  if (s->kind == ST_IF && s->u.branch.roles) *(Stmt **)ctx = s;
}

Stmt *walk_roles(const Kernel *k) {
  Stmt *s = NULL;
  st_walk(k->body, find_roles, &s);
  return s;
}

bool walk_touches_beside(Arena *a, Stmt *s, const Stmt *skip, const Buffer *b) {
  if (!s || s == skip) return false;
  Touch t = {.arena = a, .buf = b};
  touch_stmt(&t, s);
  bool found = t.found;
  if (s->kind == ST_BLOCK)
    for (int i = 0; i < s->u.block.len && !found; i++)
      found = walk_touches_beside(a, s->u.block.data[i], skip, b);
  if (s->kind == ST_FOR) found = found || walk_touches_beside(a, s->u.loop.body, skip, b);
  if (s->kind != ST_IF) return found;
  return found || walk_touches_beside(a, s->u.branch.yes, skip, b) ||
         walk_touches_beside(a, s->u.branch.no, skip, b);
}

bool walk_reads(Arena *a, Stmt *s, const Buffer *b) {
  Touch t = {.arena = a, .buf = b, .reads_only = true};
  st_walk(s, touch_stmt, &t);
  return t.found;
}

static void walk_facts_if(Arena *a, Facts *f, Stmt *s, void (*on)(void *ctx, Stmt *s), void *ctx) {
  int mark = facts_mark(f);
  facts_push_cond(f, s->u.branch.cond);
  walk_facts(a, f, s->u.branch.yes, on, ctx);
  facts_pop(f, mark);
  if (!s->u.branch.no) return;
  facts_push_cond(f, ex_un(a, UN_NOT, s->u.branch.cond));
  walk_facts(a, f, s->u.branch.no, on, ctx);
  facts_pop(f, mark);
}

void walk_facts(Arena *a, Facts *f, Stmt *s, void (*on)(void *ctx, Stmt *s), void *ctx) {
  on(ctx, s);
  int mark = facts_mark(f);
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) walk_facts(a, f, s->u.block.data[i], on, ctx);
    facts_pop(f, mark);
    break;
  case ST_FOR:
    for (int i = 0; i < s->u.loop.nvars; i++)
      facts_push_loop(f, s->u.loop.var[i], s->u.loop.min[i], s->u.loop.extent[i]);
    walk_facts(a, f, s->u.loop.body, on, ctx);
    facts_pop(f, mark);
    break;
  case ST_IF: walk_facts_if(a, f, s, on, ctx); break;
  case ST_LET: facts_push_let(f, s->u.let.var, s->u.let.value); break; // to the end of the block
  case ST_ASSUME: facts_push_cond(f, s->u.assume); break;
  default: break;
  }
}
