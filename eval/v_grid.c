// T.sync_grid: what follows it becomes a kernel of its own, which starts when all blocks of the
// one before have ended. Only what lies in global memory goes from one to the next.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

Val t_sync_grid(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Trace *t = ev->trace;
  if (t->block != t->kernel->body) ev_fail(ev, DIAG_GRID_SYNC_PLACE, c->span);
  vec_push(ev->arena, &t->cuts, (GridCut){t->kernel->body->u.block.len, c->span});
  return v_none();
}

/* ------------------------------------------------------------------ what crosses a cut */

typedef struct {
  Ev *ev;
  const Buffer *buf;
  int n; // accesses
} Count;

static void count_access(void *ctx, const Access *a) {
  Count *c = ctx;
  c->n += buf_root(a->region.buf) == c->buf;
}

static void count_stmt(void *ctx, Stmt *s) {
  st_accesses(((Count *)ctx)->ev->arena, s, count_access, ctx);
}

static int accesses(Ev *ev, const Buffer *b, Stmt *s) {
  Count c = {ev, b, 0};
  st_walk(s, count_stmt, &c);
  return c.n;
}

static int accesses_from(Ev *ev, const Buffer *b, const Stmt *block, int from) {
  int n = 0;
  for (int i = from; i < block->u.block.len; i++) n += accesses(ev, b, block->u.block.data[i]);
  return n;
}

// for i, j in T.Parallel over all of b: b[i, j] = ... of something else
static bool loop_fills(Ev *ev, const Buffer *b, const Stmt *s) {
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PARALLEL || s->u.loop.nvars != b->ndim)
    return false;
  const Stmt *body = st_only(s->u.loop.body);
  if (body->kind != ST_STORE || body->u.store.buf != b) return false;
  for (int d = 0; d < b->ndim; d++) {
    const Expr *x = body->u.store.idx[d];
    if (x->kind != EX_VAR || x->u.var != s->u.loop.var[d] || !ex_is(s->u.loop.min[d], 0) ||
        !ex_equal(s->u.loop.extent[d], b->shape[d]))
      return false;
  }
  return accesses(ev, b, (Stmt *)s) == 1;
}

// Does s write all of b, whatever was in it?
static bool overwrites(Ev *ev, const Buffer *b, const Stmt *s) {
  if (loop_fills(ev, b, s)) return true;
  if (accesses(ev, b, (Stmt *)s) != 1) return false;
  if (s->kind == ST_STORE) return s->u.store.buf == b && buf_elems(b) == 1;
  if (s->kind != ST_OP) return false;
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    const Region *r = info->arg[i].kind == ARG_WRITE ? s->u.op.arg[i].region : NULL;
    if (r && r->buf == b && region_is_whole(r)) return true;
  }
  return false;
}

// Is every access of b in these statements after one that overwrites it, in the same block?
static bool starts_over(Ev *ev, const Buffer *b, const Stmt *block, int from) {
  for (int i = from; i < block->u.block.len; i++) {
    Stmt *s = block->u.block.data[i];
    int here = accesses(ev, b, s);
    if (!here || overwrites(ev, b, s)) {
      if (here) return true;
      continue;
    }
    if (accesses_from(ev, b, block, i + 1)) return false; // the rest would read what this may not
    while (s->kind == ST_FOR && !loop_fills(ev, b, s)) s = s->u.loop.body;
    if (s->kind == ST_BLOCK) return starts_over(ev, b, s, 0);
    if (s->kind == ST_IF) {
      Stmt *yes = s->u.branch.yes, *no = s->u.branch.no;
      bool in_yes = !yes || !accesses(ev, b, yes) || starts_over(ev, b, yes, 0);
      bool in_no = !no || !accesses(ev, b, no) || starts_over(ev, b, no, 0);
      return in_yes && in_no &&
             accesses(ev, b, s) ==
                 (yes ? accesses(ev, b, yes) : 0) + (no ? accesses(ev, b, no) : 0);
    }
    return false;
  }
  return true;
}

static bool used_after(const Stmt *body, int from, const Var *v) {
  for (int i = from; i < body->u.block.len; i++)
    if (st_uses(body->u.block.data[i], v)) return true;
  return false;
}

/* ------------------------------------------------------------------ kernels of the parts */

static void refuse(Ev *ev, Span at, const char *name) {
  ev_fail(ev, DIAG_GRID_SYNC_STATE, at, name ? name : "a tile");
}

static void check_cut(Ev *ev, const Kernel *k, int from, Span at) {
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    if (b->scope == SC_GLOBAL || b->base) continue;
    int all = accesses(ev, b, k->body), after = accesses_from(ev, b, k->body, from);
    if (after && all > after && !starts_over(ev, b, k->body, from)) refuse(ev, at, b->name);
  }
  for (int i = 0; i < from; i++) {
    const Stmt *s = k->body->u.block.data[i];
    if (s->kind != ST_LET || !used_after(k->body, from, s->u.let.var)) continue;
    if (dev_has_load(s->u.let.value)) refuse(ev, at, s->u.let.var->name);
  }
}

// Statements [from, to) of k's body, behind what is bound and assumed before them.
static void keep_part(Ev *ev, Kernel *k, int from, int to) {
  Stmt *body = st_block(ev->arena, k->body->span);
  for (int i = 0; i < to; i++) {
    Stmt *s = k->body->u.block.data[i];
    bool pure = (s->kind == ST_LET && !dev_has_load(s->u.let.value)) ||
                (s->kind == ST_ASSUME && !dev_has_load(s->u.assume));
    if (i >= from || pure) st_add(ev->arena, body, s);
  }
  k->body = body;
}

void ev_split_grid(Ev *ev) {
  Trace *t = ev->trace;
  Kernel *k = t->kernel;
  int n = t->cuts.len, len = k->body->u.block.len;
  if (!n || diag_errors(ev->diags)) return;
  for (int i = 0; i < n; i++) check_cut(ev, k, t->cuts.data[i].at, t->cuts.data[i].span);
  for (int i = 0; i < n; i++) {
    Kernel *part = ir_clone_kernel(ev->arena, t->program, k);
    part->name = arena_printf(ev->arena, "%s_k%d", t->symbol, t->program->kernels.len);
    keep_part(ev, part, t->cuts.data[i].at, i + 1 < n ? t->cuts.data[i + 1].at : len);
    vec_push(ev->arena, &t->program->kernels, part);
  }
  keep_part(ev, k, 0, t->cuts.data[0].at);
}
