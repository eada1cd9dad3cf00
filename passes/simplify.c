// simplify: constant conditions, empty loops, unused lets and buffers go; index expressions become
// canonical. Works at both levels: tidy asks for it again.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

typedef struct {
  Arena *a;
  Facts *f;
  Kernel *kernel;
} Simplify;

static Expr *index_node(void *ctx, Expr *x) {
  Simplify *s = ctx;
  if (x->kind != EX_LOAD) return x;
  Expr *y = NULL;
  for (int i = 0; i < x->u.load.n; i++) {
    Expr *idx = facts_simplify(s->f, x->u.load.idx[i]);
    if (idx == x->u.load.idx[i]) continue;
    if (!y) {
      y = arena_copy(s->a, x, sizeof *x);
      y->u.load.idx = arena_copy(s->a, x->u.load.idx, sizeof(Expr *) * (size_t)x->u.load.n);
    }
    y->u.load.idx[i] = idx;
  }
  return y ? y : x;
}

static void simplify_slot(void *ctx, Expr **slot) {
  Simplify *s = ctx;
  Expr *x = *slot;
  if (walk_has_load(x)) x = walk_expr(s->a, x, index_node, s);
  if (x->type == DT_INDEX || x->type == DT_BOOL) x = facts_simplify(s->f, x);
  *slot = x;
}

static Stmt *visit(Simplify *s, Stmt *x);

static Stmt *nonempty(Stmt *x) { return x && x->kind == ST_BLOCK && !x->u.block.len ? NULL : x; }

static Stmt *visit_if(Simplify *s, Stmt *x) {
  Expr *cond = x->u.branch.cond, *other = ex_un(s->a, UN_NOT, cond);
  if (facts_prove(s->f, cond)) return visit(s, x->u.branch.yes);
  if (facts_prove(s->f, other)) return visit(s, x->u.branch.no); // nor has check judged the other
  int mark = facts_mark(s->f);
  facts_push_cond(s->f, cond);
  Stmt *yes = nonempty(visit(s, x->u.branch.yes));
  facts_pop(s->f, mark);
  facts_push_cond(s->f, other);
  Stmt *no = x->u.branch.no ? nonempty(visit(s, x->u.branch.no)) : NULL;
  facts_pop(s->f, mark);
  if (!yes && !no) return NULL;
  x->u.branch.cond = yes ? cond : other;
  x->u.branch.yes = yes ? yes : no;
  x->u.branch.no = yes ? no : NULL;
  return x;
}

static Stmt *visit_for(Simplify *s, Stmt *x) {
  int mark = facts_mark(s->f);
  for (int i = 0; i < x->u.loop.nvars; i++) {
    int64_t lo, hi;
    facts_bounds(s->f, x->u.loop.extent[i], &lo, &hi);
    if (hi <= 0) return NULL;
  }
  for (int i = 0; i < x->u.loop.nvars; i++)
    facts_push_loop(s->f, x->u.loop.var[i], x->u.loop.min[i], x->u.loop.extent[i]);
  Stmt *body = nonempty(visit(s, x->u.loop.body));
  facts_pop(s->f, mark);
  if (body) x->u.loop.body = walk_block(s->a, body);
  return body ? x : NULL;
}

static Stmt *visit(Simplify *s, Stmt *x) {
  if (!x) return NULL;
  int mark = facts_mark(s->f);
  walk_own(s->a, x);
  if (x->kind != ST_ASSUME) st_exprs(x, simplify_slot, s);
  switch (x->kind) {
  case ST_BLOCK: {
    StmtVec old = x->u.block;
    x->u.block = (StmtVec){0};
    for (int i = 0; i < old.len; i++) st_add(s->a, x, visit(s, old.data[i]));
    facts_pop(s->f, mark);
    return x;
  }
  case ST_FOR: return visit_for(s, x);
  case ST_IF: return visit_if(s, x);
  case ST_LET: facts_push_let(s->f, x->u.let.var, x->u.let.value); return x;
  case ST_ASSUME: facts_push_cond(s->f, x->u.assume); return x;
  default: return x;
  }
}

/* what nothing uses */

typedef struct {
  Arena *a;
  Map *used; // variables and buffers by address, views as what they are views of
} Used;

static const char *key(Used *u, const void *p) { return arena_printf(u->a, "%p", p); }

static void use(Used *u, const void *p) { map_set(u->used, key(u, p), u); }
static void use_buffer(Used *u, const Buffer *b) { use(u, buf_root(b)); }
static bool buffer_used(Used *u, const Buffer *b) { return map_has(u->used, key(u, buf_root(b))); }

static void use_node(void *ctx, Expr *x) {
  Used *u = ctx;
  if (x->kind == EX_VAR && x->u.var->kind == VAR_LET) use(u, x->u.var);
  if (x->kind == EX_LOAD) use_buffer(u, x->u.load.buf);
}

static void use_slot(void *ctx, Expr **slot) { ex_walk(*slot, use_node, ctx); }

// Does it nothing but write its destination?
static bool only_moves(const Stmt *s) {
  OpCode op = s->u.op.op;
  if (op == OP_COPY) return !s->u.op.arg[op_arg(OP_COPY, "async")].i;
  return op == OP_VMOV || op == OP_FILL || op == OP_WGMMA_DESC;
}

// Buffers that a statement needs: everything but the target of a plain store (or a move into
// registers), which is dead where nothing reads it.
static void use_regions(Used *u, const Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    if (!arg_is_region(kind) || !s->u.op.arg[i].region) continue;
    const Buffer *b = s->u.op.arg[i].region->buf;
    if (kind == ARG_WRITE && b->scope == SC_LOCAL && only_moves(s)) continue;
    use_buffer(u, b);
  }
}

static bool dead(Used *u, const Stmt *s) {
  if (s->kind == ST_LET) return !map_has(u->used, key(u, s->u.let.var));
  if (s->kind == ST_STORE && s->u.store.buf->scope == SC_LOCAL)
    return !buffer_used(u, s->u.store.buf);
  if (s->kind == ST_OP && only_moves(s)) {
    const Region *dst = s->u.op.arg[op_arg(s->u.op.op, "dst")].region;
    return dst->buf->scope == SC_LOCAL && !buffer_used(u, dst->buf);
  }
  return false;
}

static void use_stmt(Used *u, Stmt *s) {
  if (dead(u, s)) return; // kept alive by a later round where it is used
  st_exprs(s, use_slot, u);
  if (s->kind == ST_STORE && s->u.store.buf->scope != SC_LOCAL) use_buffer(u, s->u.store.buf);
  if (s->kind == ST_OP) use_regions(u, s);
}

// From the end, so that a chain of lets takes one round.
static void use_backwards(Used *u, Stmt *s) {
  if (!s) return;
  if (s->kind == ST_BLOCK)
    for (int i = s->u.block.len; i-- > 0;) use_backwards(u, s->u.block.data[i]);
  if (s->kind == ST_FOR) use_backwards(u, s->u.loop.body);
  if (s->kind == ST_IF) use_backwards(u, s->u.branch.no), use_backwards(u, s->u.branch.yes);
  use_stmt(u, s);
}

static Stmt *drop(void *ctx, Stmt *s) {
  if (dead(ctx, s)) return NULL;
  if (s->kind == ST_IF && !nonempty(s->u.branch.yes) && !nonempty(s->u.branch.no)) return NULL;
  if (s->kind == ST_FOR && !nonempty(s->u.loop.body)) return NULL;
  if (s->kind == ST_IF && s->u.branch.no && !nonempty(s->u.branch.no)) s->u.branch.no = NULL;
  return s;
}

static void drop_unused(Arena *a, Kernel *k) {
  Used u = {a, map_new(a)};
  for (int before = -1; before != map_len(u.used);) { // uses reach lets, whose values reach others
    before = map_len(u.used);
    use_backwards(&u, k->body);
  }
  k->body = walk_block(a, st_rewrite(a, k->body, drop, &u));
  int n = 0;
  for (int i = 0; i < k->buffers.len; i++)
    if (buffer_used(&u, k->buffers.data[i])) k->buffers.data[n++] = k->buffers.data[i];
  k->buffers.len = n;
}

void simplify_kernel(Program *p, Kernel *k, PassCtx *c) {
  Simplify s = {c->arena, facts_new(c->arena, p, k), k};
  k->body = walk_block(c->arena, visit(&s, k->body));
  drop_unused(c->arena, k);
}

void pass_simplify(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *k = p->kernels.data[i];
    simplify_kernel(p, k, c);
    if (masks_split(c, p, k)) simplify_kernel(p, k, c);
  }
}
