// Statements, buffers and regions: constructors, walks and rewriting.
// SPDX-License-Identifier: MIT
#include "ir/ir.h"

static Stmt *node(Arena *a, StmtKind kind, Span span) {
  Stmt *s = NEW(a, Stmt);
  s->kind = kind;
  s->span = span;
  return s;
}

static Expr **copy_list(Arena *a, Expr **list, int n) {
  return n ? arena_copy(a, list, sizeof *list * (size_t)n) : NULL;
}

static Expr **index_list(Arena *a, Expr **list, int n) {
  Expr **out = NEWN(a, Expr *, n);
  for (int i = 0; i < n; i++) out[i] = ex_cast(a, DT_INDEX, list[i]);
  return out;
}

Stmt *st_block(Arena *a, Span span) { return node(a, ST_BLOCK, span); }

void st_add(Arena *a, Stmt *block, Stmt *s) {
  if (!s) return;
  if (s->kind != ST_BLOCK) {
    vec_push(a, &block->u.block, s);
    return;
  }
  for (int i = 0; i < s->u.block.len; i++) st_add(a, block, s->u.block.data[i]);
}

Stmt *st_for_n(Arena *a, LoopKind kind, int nvars, Var **v, Expr **min, Expr **extent, Stmt *body,
               Span span) {
  Stmt *s = node(a, ST_FOR, span);
  s->u.loop.loop = kind;
  s->u.loop.nvars = nvars;
  s->u.loop.var = arena_copy(a, v, sizeof *v * (size_t)nvars);
  s->u.loop.min = index_list(a, min, nvars);
  s->u.loop.extent = index_list(a, extent, nvars);
  s->u.loop.body = body ? body : st_block(a, span);
  return s;
}

Stmt *st_for(Arena *a, LoopKind kind, Var *v, Expr *min, Expr *extent, Stmt *body, Span span) {
  return st_for_n(a, kind, 1, &v, &min, &extent, body, span);
}

Stmt *st_while(Arena *a, Expr *cond, Stmt *body, Span span) {
  Stmt *s = node(a, ST_FOR, span);
  s->u.loop.loop = LOOP_WHILE;
  s->u.loop.cond = ex_cast(a, DT_BOOL, cond);
  s->u.loop.body = body ? body : st_block(a, span);
  return s;
}

Stmt *st_if(Arena *a, Expr *cond, Stmt *yes, Stmt *no, Span span) {
  Stmt *s = node(a, ST_IF, span);
  s->u.branch.cond = ex_cast(a, DT_BOOL, cond);
  s->u.branch.yes = yes ? yes : st_block(a, span);
  s->u.branch.no = no;
  return s;
}

Stmt *st_roles(Arena *a, Expr *cond, Stmt *consumers, Stmt *producers, Span span) {
  Stmt *s = st_if(a, cond, consumers, producers, span);
  s->u.branch.roles = true;
  return s;
}

Stmt *st_let(Arena *a, Var *v, Expr *value, Span span) {
  Stmt *s = node(a, ST_LET, span);
  s->u.let.var = v;
  s->u.let.value = ex_cast(a, v->type, value);
  return s;
}

Stmt *st_store(Arena *a, Buffer *b, Expr **idx, int n, Expr *value, Span span) {
  Stmt *s = node(a, ST_STORE, span);
  s->u.store.buf = b;
  s->u.store.n = n;
  s->u.store.idx = index_list(a, idx, n);
  s->u.store.value = ex_cast(a, b->dtype, value);
  return s;
}

Stmt *st_op(Arena *a, OpCode op, Span span, ...) {
  Stmt *s = node(a, ST_OP, span);
  const OpInfo *info = op_info(op);
  s->u.op.op = op;
  va_list ap;
  va_start(ap, span);
  for (int i = 0; i < info->nargs; i++) {
    Arg *arg = &s->u.op.arg[i];
    // Attributes are small: reading 32 bits forgives a caller that passes an int.
    if (info->arg[i].kind == ARG_INT) arg->i = (int32_t)va_arg(ap, int64_t);
    else if (info->arg[i].kind == ARG_EXPR) arg->expr = va_arg(ap, Expr *);
    else if (info->arg[i].kind == ARG_TEXT) arg->text = va_arg(ap, const char *);
    else arg->region = va_arg(ap, Region *);
  }
  va_end(ap);
  return s;
}

Stmt *st_atomic(Arena *a, Span span, Region *dst, Expr *value, int64_t fn) {
  Stmt *s = node(a, ST_OP, span);
  s->u.op.op = OP_ATOMIC;
  s->u.op.arg[0].region = dst;
  s->u.op.arg[1].expr = value;
  s->u.op.arg[2].i = fn;
  return s;
}

Stmt *st_assume(Arena *a, Expr *cond, Span span) {
  Stmt *s = node(a, ST_ASSUME, span);
  s->u.assume = ex_cast(a, DT_BOOL, cond);
  return s;
}

Stmt *st_known(Arena *a, Expr *cond, Span span) {
  Stmt *s = st_assume(a, cond, span);
  s->known = true;
  return s;
}

Var *var_new(Arena *a, const char *name, DType type, VarKind kind, Span span) {
  Var *v = NEW(a, Var);
  *v = (Var){.name = arena_str(a, name), .type = type, .kind = kind, .span = span};
  return v;
}

Buffer *buf_new(Arena *a, const char *name, DType type, Scope scope, Expr **shape, int n,
                Span span) {
  Buffer *b = NEW(a, Buffer);
  *b = (Buffer){.name = arena_str(a, name), .dtype = type, .scope = scope, .ndim = n,
                .shape = index_list(a, shape, n), .span = span, .align = 16, .offset = -1};
  return b;
}

Region *region_new(Arena *a, Buffer *b, Expr **min, Expr **extent) {
  Region *r = NEW(a, Region);
  *r = (Region){b, b->ndim, index_list(a, min, b->ndim), index_list(a, extent, b->ndim)};
  return r;
}

Region *region_whole(Arena *a, Buffer *b) {
  Region *r = NEW(a, Region);
  *r = (Region){b, b->ndim, NEWN(a, Expr *, b->ndim), copy_list(a, b->shape, b->ndim)};
  for (int i = 0; i < b->ndim; i++) r->min[i] = ex_index(a, 0);
  return r;
}

bool region_is_whole(const Region *r) {
  for (int d = 0; d < r->n; d++)
    if (!ex_is(r->min[d], 0) || !ex_equal(r->extent[d], r->buf->shape[d])) return false;
  return true;
}

Region *region_flat(Arena *a, Buffer *b, Expr *offset, int count) {
  if (b->ndim != 1) die("region_flat of %s, which has %d dimensions", b->name, b->ndim);
  Expr *extent = ex_index(a, count);
  return region_new(a, b, &offset, &extent);
}

const Buffer *buf_root(const Buffer *b) {
  if (b->map) b = b->map->of;
  return b->base ? b->base : b;
}

int64_t buf_elems(const Buffer *b) {
  int64_t n = 1, v;
  for (int i = 0; i < b->ndim; i++) {
    if (!ex_const(b->shape[i], &v)) die("buf_elems of %s, whose shape is symbolic", b->name);
    if (__builtin_mul_overflow(n, v, &n)) die("buf_elems of %s overflows", b->name);
  }
  return n;
}

int64_t buf_bytes(const Buffer *b) { return (buf_elems(b) * dt_bits(b->dtype) + 7) / 8; }

void st_walk(Stmt *s, void (*f)(void *ctx, Stmt *s), void *ctx) {
  if (!s) return;
  f(ctx, s);
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) st_walk(s->u.block.data[i], f, ctx);
    break;
  case ST_FOR: st_walk(s->u.loop.body, f, ctx); break;
  case ST_IF:
    st_walk(s->u.branch.yes, f, ctx);
    st_walk(s->u.branch.no, f, ctx);
    break;
  default: break;
  }
}

bool st_is_op(const Stmt *s, OpCode op) { return s->kind == ST_OP && s->u.op.op == op; }

typedef struct {
  OpCode op;
  int n;
} CountOp;

static void count_op(void *ctx, Stmt *s) {
  CountOp *c = ctx;
  c->n += st_is_op(s, c->op);
}

int st_count_op(Stmt *s, OpCode op) {
  CountOp c = {op, 0};
  st_walk(s, count_op, &c);
  return c.n;
}

bool st_has_op(Stmt *s, OpCode op) { return st_count_op(s, op) > 0; }

static void list_exprs(Expr **list, int n, void (*f)(void *ctx, Expr **slot), void *ctx) {
  for (int i = 0; i < n; i++) f(ctx, &list[i]);
}

static void op_exprs(Stmt *s, void (*f)(void *ctx, Expr **slot), void *ctx) {
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    Arg *arg = &s->u.op.arg[i];
    if (info->arg[i].kind == ARG_EXPR) {
      if (arg->expr) f(ctx, &arg->expr);
    } else if (arg_is_region(info->arg[i].kind) && arg->region) {
      list_exprs(arg->region->min, arg->region->n, f, ctx);
      list_exprs(arg->region->extent, arg->region->n, f, ctx);
    }
  }
}

void st_exprs(Stmt *s, void (*f)(void *ctx, Expr **slot), void *ctx) {
  switch (s->kind) {
  case ST_BLOCK: break;
  case ST_FOR:
    list_exprs(s->u.loop.min, s->u.loop.nvars, f, ctx);
    list_exprs(s->u.loop.extent, s->u.loop.nvars, f, ctx);
    if (s->u.loop.cond) f(ctx, &s->u.loop.cond);
    break;
  case ST_IF: f(ctx, &s->u.branch.cond); break;
  case ST_LET: f(ctx, &s->u.let.value); break;
  case ST_STORE:
    list_exprs(s->u.store.idx, s->u.store.n, f, ctx);
    f(ctx, &s->u.store.value);
    break;
  case ST_OP: op_exprs(s, f, ctx); break;
  case ST_ASSUME: f(ctx, &s->u.assume); break;
  }
}

typedef struct {
  const Var *var;
  bool found;
} VarUse;

static void note_use(void *ctx, Expr **slot) {
  VarUse *u = ctx;
  u->found = u->found || (*slot && ex_uses(*slot, u->var));
}

Stmt *st_only(const Stmt *s) {
  while (s->kind == ST_BLOCK && s->u.block.len == 1) s = s->u.block.data[0];
  return (Stmt *)s;
}

static void note_uses(void *ctx, Stmt *s) { st_exprs(s, note_use, ctx); }

bool st_uses(Stmt *s, const Var *v) {
  VarUse u = {v, false};
  st_walk(s, note_uses, &u);
  return u.found;
}

Stmt *st_rewrite(Arena *a, Stmt *s, Stmt *(*f)(void *ctx, Stmt *s), void *ctx) {
  if (!s) return NULL;
  switch (s->kind) {
  case ST_BLOCK: {
    StmtVec old = s->u.block;
    s->u.block = (StmtVec){0};
    for (int i = 0; i < old.len; i++) st_add(a, s, st_rewrite(a, old.data[i], f, ctx));
    break;
  }
  case ST_FOR: {
    Stmt *body = st_rewrite(a, s->u.loop.body, f, ctx);
    s->u.loop.body = body ? body : st_block(a, s->span);
    break;
  }
  case ST_IF: {
    Stmt *yes = st_rewrite(a, s->u.branch.yes, f, ctx);
    s->u.branch.yes = yes ? yes : st_block(a, s->span);
    s->u.branch.no = st_rewrite(a, s->u.branch.no, f, ctx);
    break;
  }
  default: break;
  }
  return f(ctx, s);
}

typedef struct {
  Arena *arena;
  Expr *(*map)(void *ctx, Var *v);
  void *ctx;
} Replace;

static void replace_slot(void *ctx, Expr **slot) {
  Replace *r = ctx;
  *slot = ex_replace(r->arena, *slot, r->map, r->ctx);
}

// Regions may be shared between statements: each statement gets its own before it changes.
static void own_regions(Arena *a, Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind k = info->arg[i].kind;
    Region *r = s->u.op.arg[i].region;
    if (!arg_is_region(k) || !r) continue;
    s->u.op.arg[i].region = region_new(a, r->buf, r->min, r->extent);
  }
}

static void replace_stmt(void *ctx, Stmt *s) {
  Replace *r = ctx;
  if (s->kind == ST_OP) own_regions(r->arena, s);
  st_exprs(s, replace_slot, r);
}

void st_replace(Arena *a, Stmt *s, Expr *(*map)(void *ctx, Var *v), void *ctx) {
  Replace r = {a, map, ctx};
  st_walk(s, replace_stmt, &r);
}
