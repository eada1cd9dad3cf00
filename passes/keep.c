// Operands of wgmma in registers that a loop does not write: after the loop, an op that reads them.
// ptxas of CUDA 13.0 takes registers that only wgmma reads, and that the loop does not write, for
// free after their last use in the loop's text, although the next iteration reads them again.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

typedef struct {
  const Buffer *b;
  int n;
} Reads;

static void note_read(void *ctx, Stmt *s) {
  Reads *r = ctx;
  r->n += st_is_op(s, OP_WGMMA) && s->u.op.arg[0].region->buf == r->b;
}

static int reads(Stmt *s, const Buffer *b) {
  Reads r = {.b = b};
  if (s) st_walk(s, note_read, &r);
  return r.n;
}

typedef struct {
  Arena *arena;
  const Buffer *b; // whose elements are counted
  int reads;       // by wgmma, in the loop
  bool *written;
  Subst at; // unrolled loops' variables
} Writes;

static void note_run(Writes *w, const Buffer *b, Expr *min, int64_t n) {
  int64_t at, most = buf_elems(w->b);
  if (b != w->b || !ex_const(subst_expr(&w->at, min), &at)) return;
  for (int64_t i = at; i < at + n && i < most; i++) w->written[i] = true;
}

// Operands that an op updates hold what was there before.
static void note_op(Writes *w, const Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    const Region *r = arg_is_region(info->arg[i].kind) ? s->u.op.arg[i].region : NULL;
    int64_t n;
    if (r && info->arg[i].kind == ARG_WRITE && r->n == 1 && ex_const(r->extent[0], &n))
      note_run(w, r->buf, r->min[0], n);
  }
}

// Notes what every run of s writes in which wgmma reads the operand.
static void note_writes(Writes *w, Stmt *s) {
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) note_writes(w, s->u.block.data[i]);
    break;
  case ST_FOR: {
    int64_t min, n;
    if (s->u.loop.nvars != 1 || s->u.loop.cond) break;
    if (!ex_const(s->u.loop.min[0], &min) || !ex_const(s->u.loop.extent[0], &n)) break;
    if (s->u.loop.loop == LOOP_SERIAL) n = n < 1 ? n : 1; // its registers do not depend on it
    for (int64_t i = min; i < min + n; i++) {
      subst_add(&w->at, s->u.loop.var[0], ex_index(w->arena, i));
      note_writes(w, s->u.loop.body);
      w->at.from.len--, w->at.to.len--;
    }
    break;
  }
  case ST_IF:
    if (reads(s->u.branch.yes, w->b) == w->reads) note_writes(w, s->u.branch.yes);
    if (reads(s->u.branch.no, w->b) == w->reads) note_writes(w, s->u.branch.no);
    break;
  case ST_STORE:
    if (s->u.store.n == 1) note_run(w, s->u.store.buf, s->u.store.idx[0], 1);
    break;
  case ST_OP: note_op(w, s); break;
  default: break;
  }
}

// Does an iteration write all of b, or leave it unread?
static bool writes_all(Arena *a, Stmt *body, const Buffer *b) {
  int64_t n = buf_elems(b);
  Writes w = {.arena = a, .b = b, .reads = reads(body, b), .at = {.arena = a}};
  w.written = NEWN(a, bool, n);
  note_writes(&w, body);
  for (int64_t i = 0; i < n; i++)
    if (!w.written[i]) return false;
  return true;
}

typedef struct {
  Arena *arena;
  VEC(Buffer *) operands;
} Keep;

static void note_operand(void *ctx, Stmt *s) {
  Keep *k = ctx;
  if (!st_is_op(s, OP_WGMMA)) return;
  Buffer *b = s->u.op.arg[0].region->buf;
  for (int i = 0; i < k->operands.len; i++)
    if (k->operands.data[i] == b) return;
  if (b->scope == SC_LOCAL) vec_push(k->arena, &k->operands, b);
}

static Stmt *kept(void *ctx, Stmt *s) {
  Arena *a = *(Arena **)ctx;
  if (s->kind != ST_FOR || s->u.loop.loop == LOOP_VECTORIZED) return s;
  if (s->u.loop.loop == LOOP_UNROLL && !s->u.loop.unroll) return s;
  Keep k = {.arena = a};
  st_walk(s->u.loop.body, note_operand, &k);
  Stmt *both = st_block(a, s->span);
  st_add(a, both, s);
  for (int i = 0; i < k.operands.len; i++) {
    Buffer *b = k.operands.data[i];
    if (writes_all(a, s->u.loop.body, b)) continue;
    st_add(a, both, st_op(a, OP_WGMMA_KEEP, s->span, region_whole(a, b)));
  }
  return both->u.block.len > 1 ? both : s;
}

void keep_operands(PassCtx *c, Kernel *k) {
  if (c->target->bulk) k->body = st_rewrite(c->arena, k->body, kept, &c->arena);
}
