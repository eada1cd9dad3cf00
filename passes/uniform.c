// Which expressions have one value for all threads of a block: a fixpoint over what the thread
// index, per-thread arrays and control that depends on them can reach.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

struct Uniform {
  Arena *arena;
  const Program *program;
  Kernel *kernel;
  VEC(const Var *) vars;    // varying loop and let variables
  VEC(const Buffer *) bufs; // varying local and fragment buffers; global buffers the kernel writes
  int varying_depth;        // > 0 while walking under thread-dependent control
  bool changed;
};

static bool has_var(const Uniform *u, const Var *v) {
  for (int i = 0; i < u->vars.len; i++)
    if (u->vars.data[i] == v) return true;
  return false;
}

static bool has_buf(const Uniform *u, const Buffer *b) {
  b = buf_root(b);
  for (int i = 0; i < u->bufs.len; i++)
    if (u->bufs.data[i] == b) return true;
  return false;
}

static void mark_var(Uniform *u, const Var *v) {
  if (has_var(u, v)) return;
  vec_push(u->arena, &u->vars, v);
  u->changed = true;
}

static void mark_buf(Uniform *u, const Buffer *b) {
  if (has_buf(u, b)) return;
  vec_push(u->arena, &u->bufs, buf_root(b));
  u->changed = true;
}

typedef struct {
  const Uniform *u;
  bool varying;
} Query;

static void query_node(void *ctx, Expr *x) {
  Query *q = ctx;
  if (x->kind == EX_VAR && (x->u.var->kind == VAR_THREAD || has_var(q->u, x->u.var)))
    q->varying = true;
  if (x->kind == EX_LOAD && has_buf(q->u, x->u.load.buf)) q->varying = true;
}

bool uniform_expr(const Uniform *u, const Expr *x) {
  Query q = {u, false};
  if (x) ex_walk((Expr *)x, query_node, &q);
  return !q.varying;
}

static bool region_uniform(const Uniform *u, const Region *r) {
  if (has_buf(u, r->buf)) return false;
  for (int i = 0; i < r->n; i++)
    if (!uniform_expr(u, r->min[i]) || !uniform_expr(u, r->extent[i])) return false;
  return true;
}

static void visit(Uniform *u, Stmt *s);

static void visit_loop(Uniform *u, Stmt *s) {
  bool varying = s->u.loop.loop == LOOP_PARALLEL;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    varying = varying || !uniform_expr(u, s->u.loop.min[i]);
    varying = varying || !uniform_expr(u, s->u.loop.extent[i]);
  }
  if (s->u.loop.cond) varying = varying || !uniform_expr(u, s->u.loop.cond);
  if (varying)
    for (int i = 0; i < s->u.loop.nvars; i++) mark_var(u, s->u.loop.var[i]);
  u->varying_depth += varying;
  visit(u, s->u.loop.body);
  u->varying_depth -= varying;
}

// An op's written registers vary unless the op moves a uniform value or asks the whole block.
static void visit_op(Uniform *u, Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  OpCode op = s->u.op.op;
  bool same = op == OP_FILL || op == OP_COPY || op == OP_VMOV || op == OP_BLOCK_VOTE;
  bool varying = u->varying_depth > 0 || !same;
  if (s->u.op.op == OP_FILL) varying = varying || !uniform_expr(u, s->u.op.arg[1].expr);
  if (s->u.op.op == OP_VMOV)
    varying = u->varying_depth > 0 || !region_uniform(u, s->u.op.arg[0].region) ||
              !region_uniform(u, s->u.op.arg[1].region);
  if (s->u.op.op == OP_COPY) varying = varying || !region_uniform(u, s->u.op.arg[0].region);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    if (kind == ARG_READ || kind >= ARG_PLACE || !s->u.op.arg[i].region) continue;
    Buffer *b = s->u.op.arg[i].region->buf;
    if (b->scope == SC_GLOBAL || (b->scope == SC_LOCAL && varying)) mark_buf(u, b);
  }
}

static void visit_store(Uniform *u, Stmt *s) {
  Buffer *b = s->u.store.buf;
  bool varying = u->varying_depth > 0 || !uniform_expr(u, s->u.store.value);
  for (int i = 0; i < s->u.store.n; i++) varying = varying || !uniform_expr(u, s->u.store.idx[i]);
  if (b->scope == SC_GLOBAL || (b->scope == SC_LOCAL && varying)) mark_buf(u, b);
}

static void visit(Uniform *u, Stmt *s) {
  if (!s) return;
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) visit(u, s->u.block.data[i]);
    break;
  case ST_FOR: visit_loop(u, s); break;
  case ST_IF: {
    bool varying = !s->u.branch.roles && !uniform_expr(u, s->u.branch.cond);
    u->varying_depth += varying;
    visit(u, s->u.branch.yes);
    visit(u, s->u.branch.no);
    u->varying_depth -= varying;
    break;
  }
  case ST_LET:
    if (!uniform_expr(u, s->u.let.value)) mark_var(u, s->u.let.var);
    break;
  case ST_STORE: visit_store(u, s); break;
  case ST_OP: visit_op(u, s); break;
  case ST_ASSUME: break;
  }
}

Uniform *uniform_new(Arena *a, const Program *p, Kernel *k) {
  Uniform *u = NEW(a, Uniform);
  u->arena = a;
  u->program = p;
  u->kernel = k;
  do {
    u->changed = false;
    visit(u, k->body);
  } while (u->changed);
  return u;
}
