// teams: the program of one team of consumers becomes that of all teams, which differ in their
// threads, their shared tiles and the numbers of their barriers.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

typedef struct {
  Arena *arena;
  Kernel *kernel;
  Subst vars; // the team and the thread's number in it
  Expr *team;
} Teams;

bool teams_own(Arena *a, const Kernel *k, const Buffer *b) {
  Stmt *roles = k->team ? walk_roles(k) : NULL;
  return roles && b->scope == SC_SHARED && walk_touches(a, roles->u.branch.yes, b, false) &&
         !walk_touches(a, roles->u.branch.no, b, false);
}

int64_t teams_pitch(const Buffer *b) {
  int64_t bytes = buf_bytes(b), align = bytes >= 1024 ? 1024 : 128;
  if (b->align > align) align = b->align;
  return (bytes + align - 1) / align * align;
}

typedef struct {
  const Teams *t;
  Buffer *buf;
  Expr *by; // elements
} Shift;

static Expr *shift_load(void *ctx, Expr *x) {
  const Shift *s = ctx;
  if (x->kind != EX_LOAD || x->u.load.buf != s->buf) return x;
  Expr *at = ex_add(s->t->arena, x->u.load.idx[0], s->by);
  return ex_at(ex_load(s->t->arena, s->buf, &at, 1), x->span);
}

static void shift_expr(void *ctx, Expr **slot) {
  Shift *s = ctx;
  if (*slot) *slot = walk_expr(s->t->arena, *slot, shift_load, s);
}

static void shift_stmt(void *ctx, Stmt *s) {
  Shift *x = ctx;
  Arena *a = x->t->arena;
  st_exprs(s, shift_expr, x);
  if (s->kind == ST_STORE && s->u.store.buf == x->buf) {
    Expr *at = ex_add(a, s->u.store.idx[0], x->by);
    s->u.store.idx = arena_copy(a, &at, sizeof(Expr *));
  }
  if (s->kind != ST_OP) return;
  const OpInfo *info = op_info(s->u.op.op);
  walk_own(a, s);
  for (int i = 0; i < info->nargs; i++) {
    Region *r = arg_is_region(info->arg[i].kind) ? s->u.op.arg[i].region : NULL;
    if (r && r->buf == x->buf) r->min[0] = ex_add(a, r->min[0], x->by);
  }
}

static void number_barrier(void *ctx, Stmt *s) {
  const Teams *t = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_BAR_SYNC) return;
  Expr **id = &s->u.op.arg[0].expr;
  if (!ex_uses(*id, t->kernel->team)) // else it is between teams
    *id = ex_bin(t->arena, BIN_ADD, *id, ex_cast(t->arena, DT_I32, t->team));
}

static void own_tiles(Teams *t, Stmt *body) {
  Kernel *k = t->kernel;
  for (int i = 0; i < k->buffers.len; i++) {
    Buffer *b = k->buffers.data[i];
    if (!teams_own(t->arena, k, b)) continue;
    int64_t pitch = teams_pitch(b) * 8 / dt_bits(b->dtype);
    Shift s = {t, b, ex_mul(t->arena, t->team, ex_index(t->arena, pitch))};
    st_walk(body, shift_stmt, &s);
    b->shape = NEW(t->arena, Expr *);
    b->shape[0] = ex_index(t->arena, pitch * k->teams);
  }
}

static void teams_kernel(Kernel *k, PassCtx *c) {
  Arena *a = c->arena;
  Stmt *roles = k->team ? walk_roles(k) : NULL;
  if (!roles) return;
  Span span = roles->span;
  Teams t = {.arena = a, .kernel = k, .vars = {.arena = a}};
  Expr *thread = ex_var(a, k->thread), *size = ex_index(a, k->threads);
  Var *team = var_new(a, "team", DT_INDEX, VAR_LET, span);
  Var *member = var_new(a, "member", DT_INDEX, VAR_LET, span);
  t.team = ex_var(a, team);
  Stmt *body = roles->u.branch.yes, *out = st_block(a, span);
  own_tiles(&t, body);
  st_walk(body, number_barrier, &t);
  subst_add(&t.vars, k->team, t.team);
  subst_add(&t.vars, k->thread, ex_var(a, member));
  subst_stmt(&t.vars, body);
  st_add(a, out, st_let(a, team, ex_floordiv(a, thread, size), span));
  st_add(a, out, st_let(a, member, ex_floormod(a, thread, size), span));
  st_add(a, out, body);
  roles->u.branch.yes = out;
  k->threads *= k->teams;
  roles->u.branch.cond = ex_lt(a, thread, ex_index(a, k->threads));
  k->team = NULL;
}

void pass_teams(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) teams_kernel(p->kernels.data[i], c);
}
