// Tiles that a kernel reads or adds to, and that nothing writes before: their values are arbitrary.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

typedef struct {
  const Buffer *buf;
  bool written; // by something that does not read it too, and may come before a read
  bool later;   // or else behind the first read
  Span read;    // the first read
  bool adds;    // that read is an accumulation's
  int loop;     // the outermost one around that read
} Tile;

typedef struct {
  Check *k;
  VEC(Tile) tiles;
  const Stmt *s; // visited
  int loops;     // outermost ones so far
  bool looping;  // in the last of them
} Scan;

static Tile *tile_of(Scan *s, const Buffer *b) {
  while (b->base) b = b->base;
  for (int i = 0; i < s->tiles.len; i++)
    if (s->tiles.data[i].buf == b) return &s->tiles.data[i];
  return NULL;
}

// A gemm that clears C first, or may: it counts as what writes C. So does a foreign function.
static bool clears(const Stmt *s) {
  if (s->kind == ST_OP && s->u.op.op == OP_EXTERN) return true;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return false;
  const Expr *clear = s->u.op.arg[op_arg(OP_GEMM, "clear")].expr;
  int64_t no;
  return clear && !(ex_const(clear, &no) && !no);
}

typedef struct {
  const Buffer *buf;
  AccessMode mode;
  bool found;
} Question;

static void find_access(void *ctx, const Access *a) {
  Question *q = ctx;
  q->found |= a->mode == q->mode && a->region.buf == q->buf;
}

static void note_read(void *ctx, const Access *a) {
  Scan *s = ctx;
  Tile *t = tile_of(s, a->region.buf);
  if (!t || a->mode == ACC_WRITE || clears(s->s)) return;
  if (t->read.file) return;
  Question q = {a->region.buf, ACC_WRITE, false};
  st_accesses(s->k->c->arena, (Stmt *)s->s, find_access, &q);
  t->read = s->s->span;
  t->adds = q.found;
  t->loop = s->looping ? s->loops : 0;
}

// May what comes later in the text come before the first read? Other threads' writes may, and
// those of the loop's iteration before.
static bool in_time(const Scan *s, const Tile *t) {
  return !t->read.file || t->buf->scope == SC_SHARED || (s->looping && s->loops == t->loop);
}

static void note_write(void *ctx, const Access *a) {
  Scan *s = ctx;
  Tile *t = tile_of(s, a->region.buf);
  if (!t || a->mode != ACC_WRITE) return;
  Question q = {a->region.buf, ACC_READ, false};
  st_accesses(s->k->c->arena, (Stmt *)s->s, find_access, &q);
  if (q.found && !clears(s->s)) return;
  *(in_time(s, t) ? &t->written : &t->later) = true;
}

static void visit(void *ctx, Stmt *stmt) {
  Scan *s = ctx;
  s->s = stmt;
  st_accesses(s->k->c->arena, stmt, note_write, s);
  st_accesses(s->k->c->arena, stmt, note_read, s);
}

static void scan(Scan *s, Stmt *x) {
  if (!x) return;
  if (x->kind == ST_BLOCK) {
    for (int i = 0; i < x->u.block.len; i++) scan(s, x->u.block.data[i]);
  } else if (x->kind == ST_IF) {
    visit(s, x);
    scan(s, x->u.branch.yes);
    scan(s, x->u.branch.no);
  } else {
    s->looping = x->kind == ST_FOR;
    s->loops += s->looping;
    st_walk(x, visit, s);
    s->looping = false;
  }
}

void check_unwritten(Check *k) {
  Scan s = {.k = k};
  for (int i = 0; i < k->kernel->buffers.len; i++) {
    const Buffer *b = k->kernel->buffers.data[i];
    bool tile = b->scope == SC_SHARED || b->scope == SC_FRAGMENT || b->scope == SC_LOCAL;
    if (tile && !b->base) vec_push(k->c->arena, &s.tiles, (Tile){.buf = b});
  }
  scan(&s, k->kernel->body);
  for (int i = 0; i < s.tiles.len; i++) {
    const Tile *t = &s.tiles.data[i];
    if (t->written || !t->read.file) continue;
    diag_report(k->c->diags, DIAG_UNWRITTEN, t->read, t->buf->name,
                t->adds ? "added to here" : "read here",
                t->adds    ? " first; T.clear it before"
                : t->later ? " before"
                           : "");
    note_buffer(k->c, k->program, t->buf);
  }
}
