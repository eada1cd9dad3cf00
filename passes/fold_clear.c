// Accumulators of wgmma that a statement sets to zero before the loop that adds to them: the first
// product overwrites them instead, and no thread has to write its registers.
//   clear C; for k { ...; C += A B }   becomes   for k { ...; C = (k is the first ? 0 : C) + A B }
// Where the loop may have no iterations, C is cleared in that case. And
//   if c { clear C } else { ... }; C += A B   becomes   if not c { ... }; C = (c ? 0 : C) + A B
// SPDX-License-Identifier: MIT
#include "passes/pipeline.h"

typedef struct {
  PassCtx *c;
  Facts *facts;
  VEC(const Stmt *) enters; // loops that have an iteration, always
} Fold;

static bool enters(const Fold *f, const Stmt *loop) {
  for (int i = 0; i < f->enters.len; i++)
    if (f->enters.data[i] == loop) return true;
  return false;
}

static void note_loop(void *ctx, Stmt *s) {
  Fold *f = ctx;
  if (s->kind != ST_FOR || s->u.loop.nvars != 1) return;
  Expr *some = ex_lt(f->c->arena, ex_index(f->c->arena, 0), s->u.loop.extent[0]);
  if (facts_prove(f->facts, some)) vec_push(f->c->arena, &f->enters, s);
}

// What a statement clears as a whole; NULL: it is no such statement.
static Buffer *cleared(const Stmt *s) {
  if (s->kind != ST_OP || s->u.op.op != OP_FILL) return NULL;
  const Region *dst = s->u.op.arg[0].region;
  const Expr *v = s->u.op.arg[1].expr;
  bool zero = v->kind == EX_FLOAT ? v->u.f == 0 : ex_is((Expr *)v, 0);
  return zero && dst->buf->scope == SC_FRAGMENT && region_is_whole(dst) ? dst->buf : NULL;
}

// The child of the block, from `from` on, that touches b first.
static Stmt *next_use(Fold *f, const Stmt *block, int from, const Buffer *b) {
  for (int i = from; i < block->u.block.len; i++)
    if (walk_touches(f->c->arena, block->u.block.data[i], b, false)) return block->u.block.data[i];
  return NULL;
}

// A gemm that adds to all of b, by wgmma.
static bool adds(Fold *f, const Stmt *s, const Buffer *b) {
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM || !plan_gemm(f->c->plan, s)->wgmma) return false;
  Expr *clear = s->u.op.arg[op_arg(OP_GEMM, "clear")].expr;
  const Region *c = s->u.op.arg[2].region, *a = s->u.op.arg[0].region;
  return (!clear || ex_is(clear, 0)) && c->buf == b && region_is_whole(c) && a->buf != b;
}

static void set_clear(Stmt *gemm, Expr *when) {
  gemm->u.op.arg[op_arg(OP_GEMM, "clear")].expr = when;
}

typedef struct {
  Arena *a;
  Stmt *s;
  bool changes;
} Read;

static void note_read(void *ctx, Expr *x) {
  Read *r = ctx;
  if (x->kind == EX_LOAD && walk_touches(r->a, r->s, x->u.load.buf, true)) r->changes = true;
}

// Does s write to memory that x reads?
static bool changes(Fold *f, Stmt *s, Expr *x) {
  Read r = {f->c->arena, s, false};
  ex_walk(x, note_read, &r);
  return r.changes;
}

// What x, of the block's statement `use`, is at statement `at` before it, where the lets between
// are not bound yet. NULL: a statement between changes it.
static Expr *value_at(Fold *f, const Stmt *block, int at, const Stmt *use, Expr *x) {
  const StmtVec *all = &block->u.block;
  int end = at + 1;
  while (all->data[end] != use) end++;
  for (int i = end - 1; i > at; i--) {
    const Stmt *s = all->data[i];
    if (s->kind == ST_LET) x = ex_subst(f->c->arena, x, s->u.let.var, s->u.let.value);
  }
  for (int i = at + 1; i < end; i++)
    if (changes(f, all->data[i], x)) return NULL;
  return x;
}

// What is left of statement `at` of the block, which clears b: NULL where it stays as it is.
static Stmt *folded(Fold *f, Stmt *block, int at, Buffer *b) {
  Arena *a = f->c->arena;
  Stmt *fill = block->u.block.data[at], *use = next_use(f, block, at + 1, b);
  if (!use) return NULL;
  if (adds(f, use, b)) {
    set_clear(use, ex_bool(a, true));
    return st_block(a, fill->span);
  }
  bool loop = use->kind == ST_FOR && use->u.loop.nvars == 1 && !use->u.loop.cond &&
              use->u.loop.loop != LOOP_PARALLEL && use->u.loop.body->kind == ST_BLOCK;
  Stmt *gemm = loop ? next_use(f, use->u.loop.body, 0, b) : NULL;
  if (!gemm || !adds(f, gemm, b) || changes(f, use->u.loop.body, use->u.loop.min[0])) return NULL;
  Expr *extent = value_at(f, block, at, use, use->u.loop.extent[0]);
  if (!extent && !enters(f, use)) return NULL;
  set_clear(gemm, ex_bin(a, BIN_EQ, ex_var(a, use->u.loop.var[0]), use->u.loop.min[0]));
  diag_remark(f->c->diags, fill->span, "gemm", "the first product overwrites %s", b->name);
  if (enters(f, use)) return st_block(a, fill->span);
  Expr *none = ex_bin(a, BIN_LE, extent, ex_index(a, 0));
  return st_if(a, none, walk_block(a, fill), NULL, fill->span);
}

// What is left of `if c { clear b } else { ... }` where the gemm that adds to b is next.
static Stmt *folded_if(Fold *f, Stmt *block, int at) {
  Stmt *s = block->u.block.data[at];
  if (s->kind != ST_IF || !s->u.branch.no || walk_has_load(s->u.branch.cond)) return NULL;
  Buffer *b = cleared(st_only(s->u.branch.yes));
  Stmt *use = b ? next_use(f, block, at + 1, b) : NULL;
  if (!use || !adds(f, use, b)) return NULL;
  set_clear(use, s->u.branch.cond);
  Expr *other = ex_un(f->c->arena, UN_NOT, s->u.branch.cond);
  return st_if(f->c->arena, other, s->u.branch.no, NULL, s->span);
}

static Stmt *fold(void *ctx, Stmt *s) {
  Fold *f = ctx;
  if (s->kind != ST_BLOCK) return s;
  for (int i = 0; i < s->u.block.len; i++) {
    Buffer *b = cleared(s->u.block.data[i]);
    Stmt *rest = b ? folded(f, s, i, b) : folded_if(f, s, i);
    if (rest) s->u.block.data[i] = rest;
  }
  return s;
}

void fold_clears(PassCtx *c, const Program *p, Kernel *k) {
  if (!c->target->bulk) return;
  Fold f = {.c = c, .facts = facts_new(c->arena, p, k)};
  walk_facts(c->arena, f.facts, k->body, note_loop, &f);
  k->body = st_rewrite(c->arena, k->body, fold, &f);
}
