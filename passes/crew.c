// Which threads get past a condition: conjuncts that are one value for all of them decide nothing,
// others are computed for every thread.
// SPDX-License-Identifier: MIT
#include "passes/crew.h"

enum { WARP = 32 };

Crew crew_all(const Kernel *k) { return (Crew){0, k->threads, false}; }

bool crew_is_all(const Kernel *k, Crew t) { return t.lo == 0 && t.hi == k->threads; }

bool crew_within(Crew x, Crew y) { return y.lo <= x.lo && x.hi <= y.hi; }

typedef struct {
  Arena *arena;
  const Kernel *kernel;
  const Uniform *uniform;
  Crew around;
  bool *in; // by thread
} Passing;

static bool passes(const Passing *p, Expr *cond, int thread, bool *out) {
  int64_t at = thread, v;
  if (!ex_const_at(p->arena, cond, &p->kernel->thread, &at, 1, &v)) return false;
  *out = v != 0;
  return true;
}

static bool narrow(Passing *p, Expr *cond) {
  if (cond->kind == EX_BINARY && cond->u.bin.op == BIN_AND)
    return narrow(p, cond->u.bin.a) && narrow(p, cond->u.bin.b);
  if (uniform_expr(p->uniform, cond)) return true;
  for (int t = p->around.lo; t < p->around.hi; t++) {
    bool in;
    if (!passes(p, cond, t, &in)) return false;
    p->in[t] = p->in[t] && in;
  }
  return true;
}

Crew crew_under(Arena *a, const Kernel *k, const Uniform *u, Expr *cond, Crew around) {
  Crew some = {around.lo, around.hi, true};
  if (around.some || uniform_expr(u, cond)) return around;
  Passing p = {a, k, u, around, NEWN(a, bool, around.hi)};
  for (int t = around.lo; t < around.hi; t++) p.in[t] = true;
  if (!ex_uses(cond, k->thread) || !narrow(&p, cond)) return some;
  int lo = around.lo, hi = around.hi;
  while (lo < hi && !p.in[lo]) lo++;
  while (hi > lo && !p.in[hi - 1]) hi--;
  for (int t = lo; t < hi; t++)
    if (!p.in[t]) return some;
  return lo == hi || lo % WARP || hi % WARP ? some : (Crew){lo, hi, false};
}

bool crew_op(const Stmt *s) {
  OpCode op = s->u.op.op;
  if (op == OP_GEMM || op == OP_ATOMIC_TILE || op == OP_SYNC) return true;
  if (op == OP_REDUCER_FINALIZE || op == OP_IM2COL) return true;
  if (op == OP_FILL) return s->u.op.arg[0].region->buf->scope != SC_LOCAL;
  if (op == OP_TEST) return s->u.op.arg[0].region->buf->scope == SC_FRAGMENT;
  if (op != OP_COPY && op != OP_REDUCE && op != OP_SCAN) return false;
  return s->u.op.arg[0].region->buf->scope != SC_LOCAL &&
         s->u.op.arg[1].region->buf->scope != SC_LOCAL;
}

/* who does what */

typedef struct {
  const void *what; // Stmt or Buffer
  Crew crew;
  const Stmt *strange; // where another one uses a fragment
} Doing;

struct Crews {
  Arena *arena;
  Kernel *kernel;
  const Uniform *uniform;
  VEC(Doing) doing; // of parts of the block
  VEC(Doing) fragments;
  bool any;
};

static void note_fragment(Crews *t, const Buffer *b, Crew crew, const Stmt *at) {
  b = buf_root(b);
  for (int i = 0; i < t->fragments.len; i++) {
    Doing *d = &t->fragments.data[i];
    if (d->what != b) continue;
    bool other = d->crew.lo != crew.lo || d->crew.hi != crew.hi;
    if (other && !d->strange) d->strange = at;
    return;
  }
  vec_push(t->arena, &t->fragments, ((Doing){b, crew, NULL}));
}

typedef struct {
  Crews *crews;
  Crew crew;
  const Stmt *at;
} Note;

static void note_access(void *ctx, const Access *acc) {
  Note *n = ctx;
  if (acc->region.buf->scope == SC_FRAGMENT)
    note_fragment(n->crews, acc->region.buf, n->crew, n->at);
}

static void see(Crews *t, Stmt *s, Crew crew) {
  if (!s) return;
  if (s->kind == ST_BLOCK) {
    for (int i = 0; i < s->u.block.len; i++) see(t, s->u.block.data[i], crew);
    return;
  }
  Note n = {t, crew, s};
  st_accesses(t->arena, s, note_access, &n);
  if (s->kind == ST_IF) {
    Arena *a = t->arena;
    Expr *cond = s->u.branch.cond;
    Crew yes = crew, no = crew;
    if (!s->u.branch.roles) {
      yes = crew_under(a, t->kernel, t->uniform, cond, crew);
      no = crew_under(a, t->kernel, t->uniform, ex_un(a, UN_NOT, cond), crew);
    }
    see(t, s->u.branch.yes, yes);
    see(t, s->u.branch.no, no);
  }
  bool whole = crew_is_all(t->kernel, crew);
  bool loop = s->kind == ST_FOR, parallel = loop && s->u.loop.loop == LOOP_PARALLEL;
  t->any = t->any || (!whole && (parallel || (s->kind == ST_OP && crew_op(s))));
  if (!whole && (loop || s->kind == ST_OP)) vec_push(t->arena, &t->doing, ((Doing){s, crew, NULL}));
  if (s->kind == ST_FOR) see(t, s->u.loop.body, crew);
}

Crews *crews_new(Arena *a, Kernel *k) {
  Crews *t = NEW(a, Crews);
  t->arena = a;
  t->kernel = k;
  t->uniform = uniform_new(a, k);
  see(t, k->body, crew_all(k));
  return t;
}

Crew crews_at(const Crews *t, const Stmt *s) {
  for (int i = 0; i < t->doing.len; i++)
    if (t->doing.data[i].what == s) return t->doing.data[i].crew;
  return crew_all(t->kernel);
}

Crew crews_of(const Crews *t, const Buffer *b) {
  for (int i = 0; i < t->fragments.len; i++)
    if (t->fragments.data[i].what == buf_root(b)) return t->fragments.data[i].crew;
  return crew_all(t->kernel);
}

const Stmt *crews_strange(const Crews *t, const Buffer *b) {
  for (int i = 0; i < t->fragments.len; i++)
    if (t->fragments.data[i].what == buf_root(b)) return t->fragments.data[i].strange;
  return NULL;
}

bool crews_any(const Crews *t) { return t->any; }
