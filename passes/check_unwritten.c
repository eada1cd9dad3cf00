// Tiles that a kernel reads or adds to, and that nothing in it writes: their values are arbitrary.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

typedef struct {
  const Buffer *buf;
  bool written;   // by something that does not read it too
  Span read;      // the first read
  bool adds;      // that read is an accumulation's
} Tile;

typedef struct {
  Check *k;
  VEC(Tile) tiles;
  bool reads_it; // the statement visited reads what it writes
  const Stmt *s;
} Scan;

static Tile *tile_of(Scan *s, const Buffer *b) {
  while (b->base) b = b->base;
  for (int i = 0; i < s->tiles.len; i++)
    if (s->tiles.data[i].buf == b) return &s->tiles.data[i];
  return NULL;
}

// A gemm that clears C first, or may: it counts as what writes C.
static bool clears(const Stmt *s) {
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return false;
  const Expr *clear = s->u.op.arg[op_arg(OP_GEMM, "clear")].expr;
  int64_t no;
  return clear && !(ex_const(clear, &no) && !no);
}

static void note_read(void *ctx, const Access *a) {
  Scan *s = ctx;
  Tile *t = tile_of(s, a->region.buf);
  if (!t || a->mode == ACC_WRITE || clears(s->s)) return;
  if (!t->read.file) t->read = s->s->span, t->adds = s->s->kind == ST_OP;
}

typedef struct {
  const Buffer *buf;
  bool reads;
} Question;

static void find_read(void *ctx, const Access *a) {
  Question *q = ctx;
  q->reads |= a->mode != ACC_WRITE && a->region.buf == q->buf;
}

static void note_write(void *ctx, const Access *a) {
  Scan *s = ctx;
  Tile *t = tile_of(s, a->region.buf);
  if (!t || a->mode != ACC_WRITE) return;
  Question q = {a->region.buf, false};
  st_accesses(s->k->c->arena, (Stmt *)s->s, find_read, &q);
  t->written |= !q.reads || clears(s->s);
}

static void visit(void *ctx, Stmt *stmt) {
  Scan *s = ctx;
  s->s = stmt;
  st_accesses(s->k->c->arena, stmt, note_write, s);
  st_accesses(s->k->c->arena, stmt, note_read, s);
}

void check_unwritten(Check *k) {
  Scan s = {.k = k};
  for (int i = 0; i < k->kernel->buffers.len; i++) {
    const Buffer *b = k->kernel->buffers.data[i];
    bool tile = b->scope == SC_SHARED || b->scope == SC_FRAGMENT || b->scope == SC_LOCAL;
    if (tile && !b->base) vec_push(k->c->arena, &s.tiles, (Tile){.buf = b});
  }
  st_walk(k->kernel->body, visit, &s);
  for (int i = 0; i < s.tiles.len; i++) {
    const Tile *t = &s.tiles.data[i];
    if (t->written || !t->read.file) continue;
    diag_report(k->c->diags, DIAG_UNWRITTEN, t->read, t->buf->name,
                t->adds ? "added to here" : "read here",
                t->adds ? " first; T.clear it before" : "");
    note_buffer(k->c, k->program, t->buf);
  }
}
