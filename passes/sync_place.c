// Where a barrier goes, and where none does: statements in and out of blocks, and what two paths
// share.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

int sync_common(const Pending *from, const Pending *to) {
  int n = 0;
  while (n < from->depth && n < from->npath && n < to->npath && from->path[n] == to->path[n]) n++;
  return n;
}

int sync_index(const Stmt *parent, const Stmt *x) {
  for (int i = 0; i < parent->u.block.len; i++)
    if (parent->u.block.data[i] == x) return i;
  die("sync: a statement is not in its block");
}

void sync_insert(Arena *a, Stmt *parent, const Stmt *x, Stmt *s) {
  int at = x ? sync_index(parent, x) : parent->u.block.len;
  vec_push(a, &parent->u.block, s);
  for (int i = parent->u.block.len - 1; i > at; i--)
    parent->u.block.data[i] = parent->u.block.data[i - 1];
  parent->u.block.data[at] = s;
}

Stmt *sync_next(const Stmt *parent, const Stmt *x) {
  int at = sync_index(parent, x) + 1;
  return at < parent->u.block.len ? parent->u.block.data[at] : NULL;
}

void sync_remove(Stmt *parent, const Stmt *s) {
  int at = sync_index(parent, s);
  for (int i = at; i + 1 < parent->u.block.len; i++)
    parent->u.block.data[i] = parent->u.block.data[i + 1];
  parent->u.block.len--;
}

typedef struct {
  const Stmt *child;
  Stmt *parent;
} Find;

static void find_parent(void *ctx, Stmt *x) {
  Find *f = ctx;
  for (int i = 0; x->kind == ST_BLOCK && i < x->u.block.len; i++)
    if (x->u.block.data[i] == f->child) f->parent = x;
}

Stmt *sync_parent(Stmt *root, const Stmt *x) {
  Find f = {x, NULL};
  st_walk(root, find_parent, &f);
  return f.parent;
}

// Is p in a branch of some threads that wait at an mbarrier there?
static bool waits_alone(Sync *s, const Pending *p) {
  for (int i = 0; i < p->npath; i++) {
    Stmt *x = p->path[i];
    bool branch = x->kind == ST_IF && !x->u.branch.roles;
    if (branch && !uniform_expr(s->uniform, x->u.branch.cond) && st_has_op(x, OP_MBAR_WAIT))
      return true;
  }
  return false;
}

bool sync_by_hand(Sync *s, const Pending *a, const Pending *b) {
  if (!s->waits || !waits_alone(s, a) || !waits_alone(s, b)) return false;
  Subst by = {.arena = s->a};
  subst_add(&by, s->other, ex_var(s->a, s->kernel->thread));
  for (int i = 0; i < a->at.conds.len; i++) {
    Expr *cond = subst_expr(&by, a->at.conds.data[i]);
    if (facts_prove(s->facts, ex_un(s->a, UN_NOT, cond))) return true;
  }
  return false;
}
