// sync: block barriers (and waits for asynchronous copies) where two threads may touch the same
// bytes with no barrier between, and nowhere else. Barriers are put one by one before the first
// conflict that the walk finds, as far out as the two accesses' common block; then each that the
// others make superfluous is taken out again.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

typedef struct {
  Sync *s;
  VEC(Stmt *) placed; // barriers; NULL where one was taken out
  int own;            // barriers that the program itself asked for
} Placer;

// First path entry that only some threads enter (or that they repeat unequally); -1: none.
static int divergent(const Sync *s, const Pending *p) {
  for (int i = 0; i < p->npath - 1; i++) {
    const Stmt *x = p->path[i];
    if (x->kind == ST_IF && !uniform_expr(s->uniform, x->u.branch.cond)) return i;
    if (x->kind == ST_FOR && (!uniform_expr(s->uniform, x->u.loop.min[0]) ||
                              !uniform_expr(s->uniform, x->u.loop.extent[0])))
      return i;
  }
  return -1;
}

// Separates the two accesses of the conflict found, or makes the tree such that the next walk can.
static bool separate(Placer *p) {
  Sync *s = p->s;
  const Pending *to = s->to;
  int at = sync_common(s->from, to), d = divergent(s, to);
  if (at == to->npath) {
    sync_split_leaf(s);
    return true;
  }
  if (d >= 0 && d < at) return sync_split(s, d);
  if (to->path[at - 1]->kind != ST_BLOCK) at++; // a condition or bound against what is under it
  Stmt *parent = to->path[at - 1], *x = to->path[at];
  if (parent->kind != ST_BLOCK) die("sync: no block to put a barrier into");
  if (s->kind == CONFLICT_WAIT) {
    if (!s->from->commits) sync_insert(s->a, parent, x, st_op(s->a, OP_ASYNC_COMMIT, to->span));
    sync_insert(s->a, parent, x, st_op(s->a, OP_ASYNC_WAIT, to->span, (int64_t)0));
    return true;
  }
  // Right after a wait rather than late: a barrier there serves what the iteration issues next,
  // too.
  if (s->from->waited && s->from->path[at - 1] == parent) x = sync_next(parent, s->from->path[at]);
  Stmt *b = st_op(s->a, OP_SYNC, to->span);
  sync_insert(s->a, parent, x, b);
  vec_push(s->a, &p->placed, b);
  return true;
}

typedef struct {
  const Stmt *child;
  Stmt *parent;
  const Stmt *next;
} Find;

static void find_parent(void *ctx, Stmt *x) {
  Find *f = ctx;
  for (int i = 0; x->kind == ST_BLOCK && i < x->u.block.len; i++) {
    if (x->u.block.data[i] != f->child) continue;
    f->parent = x;
    f->next = i + 1 < x->u.block.len ? x->u.block.data[i + 1] : NULL;
  }
}

// Barriers that later ones made superfluous go.
static void prune(Placer *p) {
  for (int i = 0; i < p->placed.len; i++) {
    Find f = {.child = p->placed.data[i]};
    st_walk(p->s->kernel->body, find_parent, &f);
    sync_remove(f.parent, f.child);
    if (!sync_find(p->s)) p->placed.data[i] = NULL;
    else sync_insert(p->s->a, f.parent, f.next, p->placed.data[i]);
  }
}

static void blocks(void *ctx, Stmt *s) {
  Arena *a = ctx;
  if (s->kind == ST_FOR) s->u.loop.body = walk_block(a, s->u.loop.body);
  if (s->kind != ST_IF) return;
  s->u.branch.yes = walk_block(a, s->u.branch.yes);
  if (s->u.branch.no) s->u.branch.no = walk_block(a, s->u.branch.no);
}

static void count_own(void *ctx, Stmt *s) {
  if (s->kind == ST_OP && s->u.op.op == OP_SYNC) ((Placer *)ctx)->own++;
}

static void count_stmt(void *ctx, Stmt *s) { ++*(int *)ctx; }

static void remark(Placer *p) {
  int placed = 0;
  for (int i = 0; i < p->placed.len; i++) placed += p->placed.data[i] != NULL;
  if (placed || p->own)
    diag_remark(p->s->c->diags, p->s->kernel->span, "sync", "%d barriers, %d of them the program's",
                placed + p->own, p->own);
  for (int i = 0; i < p->placed.len; i++)
    if (p->placed.data[i])
      diag_remark(p->s->c->diags, p->placed.data[i]->span, "sync", "a barrier before this");
}

static void sync_kernel(Program *program, Kernel *k, PassCtx *c) {
  Arena *a = c->arena;
  Var *other = var_new(a, "other", k->thread->type, VAR_THREAD, NO_SPAN);
  Sync s = {.c = c,
            .a = a,
            .program = program,
            .kernel = k,
            .other = other,
            .lets = {.arena = a},
            .exact = {.arena = a},
            .twins = {.arena = a}};
  Placer p = {.s = &s};
  k->body = walk_block(a, k->body);
  st_walk(k->body, blocks, a);
  st_walk(k->body, count_own, &p);
  int size = 0;
  st_walk(k->body, count_stmt, &size);
  for (int step = 0; sync_find(&s); step++) {
    if (step > 100 + 10 * size) die("sync: barriers do not separate %s", s.to->buf->name);
    if (!separate(&p)) return;
  }
  prune(&p);
  remark(&p);
}

void pass_sync(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) sync_kernel(p, p->kernels.data[i], c);
}
