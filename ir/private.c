// Fragments of which a program uses single elements only, outside of tile operations and parallel
// loops: nothing spreads them over the threads, so each thread has all of them for itself, as it
// has of T.alloc_local.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

enum { PRIVATE_MOST = 1024 }; // elements of a thread's own array

typedef struct {
  Arena *arena;
  PtrMap *spread; // buffers that something spreads
} Uses;

static void spread(Uses *u, const Buffer *b) { ptrmap_set(u->spread, b, u); }

static void touched(void *ctx, const Access *x) { spread(ctx, x->region.buf); }

static void inside(void *ctx, Stmt *s) { st_accesses(((Uses *)ctx)->arena, s, touched, ctx); }

static void statement(void *ctx, Stmt *s) {
  if (s->kind == ST_FOR && s->u.loop.loop == LOOP_PARALLEL) st_walk(s, inside, ctx);
  if (s->kind != ST_OP) return;
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++)
    if (arg_is_region(info->arg[i].kind) && s->u.op.arg[i].region)
      spread(ctx, s->u.op.arg[i].region->buf);
}

static bool small(const Buffer *b) {
  int64_t n, all = 1;
  for (int d = 0; d < b->ndim; d++) {
    if (!ex_const(b->shape[d], &n) || n > PRIVATE_MOST) return false;
    all *= n;
    if (all > PRIVATE_MOST) return false;
  }
  return true;
}

void ir_private(Arena *a, Kernel *k) {
  Uses u = {a, ptrmap_new(a)};
  st_walk(k->body, statement, &u);
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    if (b->base) spread(&u, b->base);
  }
  for (int i = 0; i < k->buffers.len; i++) {
    Buffer *b = k->buffers.data[i];
    bool own = b->scope == SC_FRAGMENT && !b->base && !b->layout && !b->places;
    if (own && !ptrmap_get(u.spread, b) && small(b)) b->scope = SC_LOCAL;
  }
}
