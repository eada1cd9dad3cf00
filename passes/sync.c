// sync: block barriers (and waits for asynchronous copies) where two threads may touch the same
// bytes with no barrier between, and nowhere else. A barrier is put before the second access of the
// first conflict that the walk meets, as far out as the two accesses' common block; the walk then
// goes on from there. In loops, those that later ones made superfluous are taken out again.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

// Is path entry i a branch that the threads enter who meet at a barrier inside?
static bool by_crew(const Sync *s, const Pending *p, int i, int at) {
  const Entered *e = i + 1 < at ? sync_entered(s, p->path[i + 1]) : NULL;
  return e && !e->crew.some;
}

// First path entry that only some threads enter (or that they repeat unequally), of those that a
// barrier at path entry `at` must have a number for or not be in; -1: none.
static int divergent(const Sync *s, const Pending *p, int at) {
  for (int i = 0; i < p->npath - 1; i++) {
    const Stmt *x = p->path[i];
    if (x->kind == ST_IF && !x->u.branch.roles && !uniform_expr(s->uniform, x->u.branch.cond) &&
        !by_crew(s, p, i, at))
      return i;
    if (x->kind != ST_FOR) continue;
    if (!uniform_expr(s->uniform, x->u.loop.min[0]) ||
        !uniform_expr(s->uniform, x->u.loop.extent[0]) || !uniform_expr(s->uniform, x->u.loop.cond))
      return i;
  }
  return -1;
}

static void resume(Sync *s, Stmt *block, int index) {
  s->resume_block = block;
  s->resume_index = index;
}

static void put_wait(Sync *s, Stmt *parent, Stmt *x) {
  Span span = s->to->span;
  if (s->from->bulk) {
    Expr *first = ex_bin(s->a, BIN_EQ, ex_var(s->a, s->kernel->thread), ex_index(s->a, 0));
    Stmt *wait = st_block(s->a, span);
    int64_t younger = s->from->commits ? s->from->commits - 1 : 0;
    st_add(s->a, wait, st_op(s->a, OP_BULK_WAIT, span, younger, (int64_t)1));
    sync_insert(s->a, parent, x, st_if(s->a, first, wait, NULL, span));
    return;
  }
  if (!s->from->commits) sync_insert(s->a, parent, x, st_op(s->a, OP_ASYNC_COMMIT, span));
  sync_insert(s->a, parent, x, st_op(s->a, OP_ASYNC_WAIT, span, (int64_t)0));
  if (s->fences) sync_insert(s->a, parent, x, st_op(s->a, OP_FENCE_PROXY, span, (int64_t)1));
}

static void put_barrier(Sync *s, Stmt *parent, Stmt *x, int at) {
  // Right after a wait rather than late: a barrier there serves what the iteration issues next,
  // too.
  if (s->from->waited && s->from->path[at - 1] == parent) {
    x = sync_next(parent, s->from->path[at]);
    while (x && x->kind == ST_OP && x->u.op.op == OP_FENCE_PROXY) x = sync_next(parent, x);
  }
  Stmt *b = st_op(s->a, OP_SYNC, s->to->span);
  sync_insert(s->a, parent, x, b);
  vec_push(s->a, &s->placed, b);
  resume(s, parent, sync_index(parent, b));
}

bool sync_separate(Sync *s) {
  const Pending *to = s->to;
  if (s->steps++ > s->max_steps) die("sync: barriers do not separate %s", to->buf->name);
  int at = sync_common(s->from, to), d = divergent(s, to, at), n = to->npath;
  if (at == n || (d >= 0 && d < at)) { // the tree changes
    int child = at == n ? n - 1 : d;
    resume(s, to->path[child - 1], sync_index(to->path[child - 1], to->path[child]));
    if (at == n) sync_split_leaf(s);
    else if (!sync_split(s, d)) return false;
    s->uniform = uniform_new(s->a, s->kernel);
    return true;
  }
  if (to->path[at - 1]->kind != ST_BLOCK) at++; // a condition or bound against what is under it
  // A wait for TMA stores goes as far in as it can: it is over sooner, the later it begins.
  while (s->from->bulk && at + 2 < n && at != d && to->path[at]->kind == ST_IF) at += 2;
  Stmt *parent = to->path[at - 1], *x = to->path[at];
  if (parent->kind != ST_BLOCK) die("sync: no block to put a barrier into");
  resume(s, parent, sync_index(parent, x));
  if (s->kind == CONFLICT_WAIT) put_wait(s, parent, x);
  else put_barrier(s, parent, x, at);
  return true;
}

static void blocks(void *ctx, Stmt *s) {
  Arena *a = ctx;
  if (s->kind == ST_FOR) s->u.loop.body = walk_block(a, s->u.loop.body);
  if (s->kind != ST_IF) return;
  s->u.branch.yes = walk_block(a, s->u.branch.yes);
  if (s->u.branch.no) s->u.branch.no = walk_block(a, s->u.branch.no);
}

typedef struct {
  Span kernel; // where barriers stand that no word of the program is
  int statements, barriers, own;
} Size;

static void count(void *ctx, Stmt *s) {
  Size *n = ctx;
  n->statements++;
  bool barrier = s->kind == ST_OP && s->u.op.op == OP_SYNC;
  n->barriers += barrier;
  n->own += barrier && (s->span.file != n->kernel.file || s->span.lo != n->kernel.lo);
}

// lower_proxy.c puts fences behind the waits that there are by then.
static void note_fence(void *ctx, Stmt *s) {
  for (int i = 1; s->kind == ST_BLOCK && i < s->u.block.len; i++)
    if (st_is_op(s->u.block.data[i - 1], OP_ASYNC_WAIT) &&
        st_is_op(s->u.block.data[i], OP_FENCE_PROXY))
      *(bool *)ctx = true;
}

static void remark(Sync *s, const Size *size) {
  int placed = size->barriers;
  for (int i = 0; i < s->placed.len; i++) placed += s->placed.data[i] != NULL;
  if (placed)
    diag_remark(s->c->diags, s->kernel->span, "sync", "%d barrier%s, %d of them the program's",
                placed, placed == 1 ? "" : "s", size->own);
  for (int i = 0; i < s->placed.len; i++)
    if (s->placed.data[i])
      diag_remark(s->c->diags, s->placed.data[i]->span, "sync", "a barrier before this");
}

static void sync_kernel(Program *program, Kernel *k, PassCtx *c) {
  Arena *a = c->arena;
  Var *other = var_new(a, "other", k->thread->type, VAR_THREAD, NO_SPAN);
  Sync s = {.c = c, .a = a, .program = program, .kernel = k, .other = other};
  s.crew = crew_all(k);
  s.lets.arena = s.exact.arena = s.twins.arena = a;
  Size size = {.kernel = k->span};
  k->body = walk_block(a, k->body);
  st_walk(k->body, blocks, a);
  st_walk(k->body, count, &size);
  st_walk(k->body, note_fence, &s.fences);
  s.waits = st_has_op(k->body, OP_MBAR_WAIT);
  s.max_steps = 100 + 10 * size.statements;
  if (sync_run(&s)) remark(&s, &size);
  k->body = sync_name_barriers(&s);
}

void pass_sync(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) sync_kernel(p, p->kernels.data[i], c);
}
