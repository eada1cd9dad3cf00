// Roles of tensor parameters, computed from the accesses.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

typedef struct {
  Arena *arena;
  const Buffer *buf;
  bool read, written;
} Use;

static void see(void *ctx, const Access *access) {
  Use *u = ctx;
  if (buf_root(access->region.buf) != u->buf) return;
  u->read |= access->mode != ACC_WRITE;
  u->written |= access->mode != ACC_READ;
}

static void see_stmt(void *ctx, Stmt *s) { st_accesses(((Use *)ctx)->arena, s, see, ctx); }

void ir_roles(Program *p) {
  Arena *scratch = arena_new();
  for (int i = 0; i < p->params.len; i++) {
    Param *param = &p->params.data[i];
    param->role = ROLE_IN;
    if (param->kind != PARAM_TENSOR) continue;
    Use u = {scratch, param->buf, false, false};
    for (int k = 0; k < p->kernels.len; k++) st_walk(p->kernels.data[k]->body, see_stmt, &u);
    param->role = !u.written ? ROLE_IN : u.read ? ROLE_INOUT : ROLE_OUT;
  }
  arena_free(scratch);
}

bool ir_written_first(const Program *p, const Buffer *b) {
  Arena *scratch = arena_new();
  Use u = {scratch, b, false, false};
  for (int k = 0; k < p->kernels.len && !u.read && !u.written; k++)
    st_walk(p->kernels.data[k]->body, see_stmt, &u);
  arena_free(scratch);
  return u.written && !u.read;
}
