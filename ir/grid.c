// What a kernel may do before the one ahead of it on the stream has ended.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

struct Traffic {
  Arena *arena;
  PtrMap *read, *written; // tensors and workspaces: themselves
};

static bool is_memory(const Buffer *root) { return root->scope == SC_GLOBAL; }

static void note(void *ctx, const Access *x) {
  Traffic *t = ctx;
  const Buffer *root = buf_root(x->region.buf);
  if (!is_memory(root)) return;
  if (x->mode != ACC_WRITE) ptrmap_set(t->read, root, (void *)root);
  if (x->mode != ACC_READ) ptrmap_set(t->written, root, (void *)root);
}

static void note_stmt(void *ctx, Stmt *s) { st_accesses(((Traffic *)ctx)->arena, s, note, ctx); }

Traffic *traffic_new(Arena *a, const Kernel *k) {
  Traffic *t = NEW(a, Traffic);
  *t = (Traffic){a, ptrmap_new(a), ptrmap_new(a)};
  st_walk(k->body, note_stmt, t);
  return t;
}

bool traffic_writes(const Traffic *t, const Buffer *b) {
  return ptrmap_get(t->written, buf_root(b)) != NULL;
}

typedef struct {
  const Traffic *t;
  bool found;
} Meeting;

static void meet(void *ctx, const Access *x) {
  Meeting *m = ctx;
  const Buffer *root = buf_root(x->region.buf);
  if (!is_memory(root)) return;
  m->found |= ptrmap_get(m->t->written, root) != NULL;
  m->found |= x->mode != ACC_READ && ptrmap_get(m->t->read, root);
}

static void meet_stmt(void *ctx, Stmt *s) {
  // A map says where its tensor lies, not what is in it.
  if (st_is_op(s, OP_TMA_PREFETCH)) return;
  st_accesses(((Meeting *)ctx)->t->arena, s, meet, ctx);
}

bool traffic_meets(const Traffic *t, Stmt *s) {
  Meeting m = {t, false};
  meet_stmt(&m, s);
  return m.found;
}

bool traffic_meets_any(const Traffic *t, Stmt *s) {
  Meeting m = {t, false};
  st_walk(s, meet_stmt, &m);
  return m.found;
}

bool kernel_waits_late(const Kernel *k) {
  const Stmt *body = k->body;
  return body->kind == ST_BLOCK && body->u.block.len &&
         st_is_op(body->u.block.data[body->u.block.len - 1], OP_GRID_WAIT);
}
