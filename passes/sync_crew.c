// Crews: branches that a run of whole warps enters. A barrier inside is theirs: it has a number,
// and orders what they did, for them.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

enum { LAST_BARRIER = NAMED_BARRIERS - 1 };

const Entered *sync_entered(const Sync *s, const Stmt *block) {
  for (int i = 0; i < s->entered.len; i++)
    if (s->entered.data[i].block == block) return &s->entered.data[i];
  return NULL;
}

Crew sync_enter(Sync *s, const Stmt *block, Expr *cond) {
  const Entered *before = sync_entered(s, block);
  if (before) return before->crew;
  Crew crew = crew_under(s->a, s->kernel, s->uniform, cond, s->crew);
  crew.some = crew.some || s->kernel->team; // teams number their barriers
  vec_push(s->a, &s->entered, ((Entered){block, crew}));
  return crew;
}

static bool empty(Crew t) { return t.lo == t.hi; }

void sync_crew_barrier(Sync *s) {
  for (int i = 0; i < s->state.len; i++) {
    Pending *p = s->state.data[i];
    bool flying = p->async && !p->waited;
    if (flying || !crew_within(p->crew, s->crew)) continue;
    if (!empty(p->seen) && crew_within(s->crew, p->seen)) continue;
    s->state.data[i] = p = arena_copy(s->a, p, sizeof *p);
    p->seen = s->crew;
  }
}

typedef struct {
  Sync *s;
  VEC(Crew) crews; // by number, from `first` on
  int first;
} Names;

static int number(Names *n, Crew crew) {
  for (int i = 0; i < n->crews.len; i++)
    if (n->crews.data[i].lo == crew.lo && n->crews.data[i].hi == crew.hi) return n->first + i;
  vec_push(n->s->a, &n->crews, crew);
  return n->first + n->crews.len - 1;
}

static Stmt *name(Names *n, Stmt *x, Crew crew, bool consumers) {
  if (!x) return NULL;
  Sync *s = n->s;
  const Entered *e = sync_entered(s, x);
  if (e) crew = e->crew;
  if (x->kind == ST_BLOCK)
    for (int i = 0; i < x->u.block.len; i++)
      x->u.block.data[i] = name(n, x->u.block.data[i], crew, consumers);
  if (x->kind == ST_FOR) x->u.loop.body = name(n, x->u.loop.body, crew, consumers);
  if (x->kind == ST_IF) {
    x->u.branch.yes = name(n, x->u.branch.yes, crew, consumers || x->u.branch.roles);
    x->u.branch.no = name(n, x->u.branch.no, crew, consumers);
  }
  bool all = crew_is_all(s->kernel, crew);
  if (x->kind != ST_OP || x->u.op.op != OP_SYNC || (all && !consumers)) return x;
  int id = all ? TEAMS_BARRIERS : number(n, crew);
  return st_op(s->a, OP_BAR_SYNC, x->span, ex_int(s->a, DT_I32, id), (int64_t)(crew.hi - crew.lo));
}

Stmt *sync_name_barriers(Sync *s) {
  Names n = {.s = s, .first = TEAMS_BARRIERS + 1};
  Stmt *body = name(&n, s->kernel->body, crew_all(s->kernel), false);
  if (n.first + n.crews.len - 1 > LAST_BARRIER)
    diag_report(s->c->diags, DIAG_NAMED_BARRIERS, s->kernel->span, n.crews.len,
                LAST_BARRIER - TEAMS_BARRIERS);
  return body;
}
