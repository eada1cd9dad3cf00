// Jumps as conditions: `while`, `break` and `continue` become counted loops that go on while a flag
// holds, and conditions around what a jump leaves out. Every later pass sees only those.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

typedef struct {
  Arena *arena;
  Kernel *kernel;
} Jumps;

// Flags of the loop around, made where a jump asks for them; each thread has its own.
typedef struct {
  Buffer *left, *skipped; // break was met, continue was met in this iteration
} Flags;

static Buffer *flag(Jumps *j, const char *name, Span span) {
  Expr *one = ex_index(j->arena, 1);
  Buffer *b = buf_new(j->arena, name, DT_BOOL, SC_LOCAL, &one, 1, span);
  vec_push(j->arena, &j->kernel->buffers, b);
  return b;
}

static Stmt *set(Jumps *j, Buffer *b, Expr *value, Span span) {
  Expr *zero = ex_index(j->arena, 0);
  return st_store(j->arena, b, &zero, 1, value, span);
}

static Expr *get(Jumps *j, Buffer *b) {
  Expr *zero = ex_index(j->arena, 0);
  return ex_load(j->arena, b, &zero, 1);
}

static Stmt *expand(Jumps *j, Stmt *s, Flags *f, unsigned *jumps);

enum { LEAVES = 1, SKIPS = 2 };

// What follows a statement that may jump runs only where it has not.
static Stmt *expand_block(Jumps *j, Stmt *s, Flags *f, unsigned *jumps) {
  Stmt *out = st_block(j->arena, s->span), *at = out;
  for (int i = 0; i < s->u.block.len; i++) {
    unsigned may = 0;
    Stmt *x = expand(j, s->u.block.data[i], f, &may);
    st_add(j->arena, at, x);
    *jumps |= may;
    if (!may || i == s->u.block.len - 1) continue;
    Expr *on = NULL;
    if (may & LEAVES) on = ex_and(j->arena, on, ex_un(j->arena, UN_NOT, get(j, f->left)));
    if (may & SKIPS) on = ex_and(j->arena, on, ex_un(j->arena, UN_NOT, get(j, f->skipped)));
    Stmt *rest = st_block(j->arena, s->span);
    st_add(j->arena, at, st_if(j->arena, on, rest, NULL, x ? x->span : s->span));
    at = rest;
  }
  s->u.block = out->u.block;
  return s;
}

typedef struct {
  bool found;
} Memory;

static void memory_node(void *ctx, Expr *x) {
  Memory *m = ctx;
  if (x->kind == EX_LOAD && x->u.load.buf->scope != SC_LOCAL) m->found = true;
}

// The condition of a while loop. What reads memory is evaluated by statements, before the loop and
// at the end of its body, so that barriers find a place.
static Expr *condition(Jumps *j, Stmt *s, Stmt *before, Stmt *body) {
  Memory m = {false};
  Expr *cond = s->u.loop.cond;
  ex_walk(cond, memory_node, &m);
  if (!m.found) return cond;
  Buffer *go = flag(j, "go", s->span);
  st_add(j->arena, before, set(j, go, cond, s->span));
  st_add(j->arena, body, set(j, go, cond, s->span));
  return get(j, go);
}

static Stmt *expand_loop(Jumps *j, Stmt *s) {
  Arena *a = j->arena;
  Flags f = {NULL, NULL};
  unsigned jumps = 0;
  Stmt *inner = walk_block(a, expand(j, walk_block(a, s->u.loop.body), &f, &jumps));
  bool is_while = s->u.loop.loop == LOOP_WHILE;
  if (!is_while && !jumps) {
    s->u.loop.body = inner;
    return s;
  }
  Stmt *out = st_block(a, s->span), *body = st_block(a, s->span);
  if (f.left) st_add(a, out, set(j, f.left, ex_bool(a, false), s->span));
  if (f.skipped) st_add(a, body, set(j, f.skipped, ex_bool(a, false), s->span));
  // A block of its own: what its lets name ends before the condition is evaluated again.
  vec_push(a, &body->u.block, inner);
  Expr *go = f.left ? ex_un(a, UN_NOT, get(j, f.left)) : NULL;
  if (is_while) go = ex_and(a, go, condition(j, s, out, body));
  Stmt *loop = s;
  if (is_while) {
    Var *v = var_new(a, "round", DT_INDEX, VAR_LOOP, s->span);
    loop = st_for(a, LOOP_SERIAL, v, ex_index(a, 0), ex_index(a, LOOP_ENDLESS), body, s->span);
  }
  loop->u.loop.body = body;
  loop->u.loop.cond = go;
  st_add(a, out, loop);
  return out;
}

static Stmt *jump(Jumps *j, const Stmt *s, Flags *f, unsigned *jumps) {
  bool leaves = s->u.op.op == OP_BREAK;
  Buffer **b = leaves ? &f->left : &f->skipped;
  if (!*b) *b = flag(j, leaves ? "left" : "skipped", s->span);
  *jumps |= leaves ? LEAVES : SKIPS;
  return set(j, *b, ex_bool(j->arena, true), s->span);
}

static Stmt *expand(Jumps *j, Stmt *s, Flags *f, unsigned *jumps) {
  switch (s->kind) {
  case ST_BLOCK: return expand_block(j, s, f, jumps);
  case ST_FOR: return expand_loop(j, s);
  case ST_IF:
    s->u.branch.yes = expand(j, s->u.branch.yes, f, jumps);
    if (s->u.branch.no) s->u.branch.no = expand(j, s->u.branch.no, f, jumps);
    return s;
  case ST_OP:
    if (s->u.op.op == OP_BREAK || s->u.op.op == OP_CONTINUE) return jump(j, s, f, jumps);
    return s;
  default: return s;
  }
}

void jumps_expand(Arena *a, Kernel *k) {
  Jumps j = {a, k};
  Flags none = {NULL, NULL};
  unsigned jumps = 0;
  k->body = walk_block(a, expand(&j, k->body, &none, &jumps));
}
