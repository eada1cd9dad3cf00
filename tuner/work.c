// What one block of a kernel does: a walk over its statements, each weighted by how often it is
// executed and by what the units of a multiprocessor have to do for it.
// SPDX-License-Identifier: MIT
#include "tuner/work.h"

#include <stdlib.h>
#include <string.h>

enum { WARP = 32, LOOP_SAMPLES = 64 };

MwPhase *mw_phase(MwWalk *w) { return &w->out->phases.data[w->phase]; }

// A multiprocessor starts four instructions of a warp in a clock.
void mw_issue(MwWalk *w, double n) { mw_phase(w)->issue += n * w->times * w->warps / 4; }

void mv_sizes(MvEnv *e, const Program *p, const TnBindings *sizes) {
  for (int i = 0; i < p->sizes.len; i++) {
    int64_t v = TN_GUESSED_SIZE;
    for (int k = 0; sizes && k < sizes->len; k++) {
      if (!strcmp(sizes->data[k].name, p->sizes.data[i]->name))
        v = strtoll(sizes->data[k].value, NULL, 10);
    }
    mv_set(e, p->sizes.data[i], (MvRange){v, v}, (MvRange){v, v});
  }
  for (int i = 0; i < p->params.len; i++) {
    if (p->params.data[i].kind == PARAM_SCALAR)
      mv_set(e, p->params.data[i].var, (MvRange){1, 1}, (MvRange){1, 1});
  }
}

/* ------------------------------------------------------------------ who does it */

static void count_active(MwWalk *w) {
  w->threads = 0;
  w->warps = 0;
  w->first = -1;
  int n = kernel_threads(w->kernel);
  for (int i = 0; i < n && i < MW_MAX_THREADS; i += WARP) {
    int here = 0;
    for (int k = i; k < i + WARP && k < n; k++) {
      if (w->active[k] && w->first < 0) w->first = k;
      here += w->active[k];
    }
    w->threads += here;
    w->warps += here > 0;
  }
  w->all = (MvRange){w->first < 0 ? 0 : w->first, n - 1};
  mv_set(&w->env, w->kernel->thread, w->all, w->all);
}

typedef struct {
  bool active[MW_MAX_THREADS];
} Saved;

static void restore(MwWalk *w, const Saved *s) {
  memcpy(w->active, s->active, sizeof w->active);
  count_active(w);
}

// Leaves those active for which the condition is `want`. What nobody knows is taken to hold.
static void narrow(MwWalk *w, const Expr *cond, bool want) {
  w->env.guessed = false;
  int t = mv_truth(&w->env, cond);
  bool guess = w->env.guessed;
  if (!guess && t == (int)want) return;
  for (int i = 0; i < MW_MAX_THREADS; i++) {
    if (!w->active[i]) continue;
    if (t < 0 && !guess) {
      mv_set(&w->env, w->kernel->thread, (MvRange){i, i}, (MvRange){i, i});
      w->active[i] = (mv_truth(&w->env, cond) == 1) == want;
    } else {
      w->active[i] = guess && want;
    }
  }
  count_active(w);
}

/* ------------------------------------------------------------------ statements */

static void walk(MwWalk *w, Stmt *s);

// An iteration's part of a loop that is not unrolled has a phase of its own.
static int new_phase(MwWalk *w, const Stmt *loop, double trips) {
  MwPhase p = {.loop = loop, .producer = w->producer, .trips = trips, .ahead = -1};
  vec_push(w->env.arena, &w->out->phases, p);
  return w->out->phases.len - 1;
}

static void walk_for(MwWalk *w, Stmt *s) {
  double n = 1, times = w->times;
  int phase = w->phase, mark = w->env.cells.len;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    mv_set(&w->env, w->kernel->thread, (MvRange){w->first, w->first},
           (MvRange){w->first, w->first});
    int64_t lo = mv_point(&w->env, s->u.loop.min[i]), e = mv_point(&w->env, s->u.loop.extent[i]);
    if (e > LOOP_ENDLESS / 2) e = 1; // only its condition ends it
    n *= e > 0 ? (double)e : 0;
    bool unrolled = s->u.loop.loop == LOOP_UNROLL || s->u.loop.loop == LOOP_VECTORIZED;
    int64_t at = unrolled ? lo : lo + (e - 1) / 2;
    vec_push(w->env.arena, &w->env.cells, (MvCell){.var = s->u.loop.var[i]});
    mv_set(&w->env, s->u.loop.var[i], (MvRange){at, at}, (MvRange){lo, lo + e - 1});
  }
  count_active(w);
  w->times *= n;
  if (n > 0) {
    if (s->u.loop.loop != LOOP_UNROLL && s->u.loop.loop != LOOP_VECTORIZED) {
      w->phase = new_phase(w, s, w->times);
      mw_issue(w, 2);
    }
    walk(w, s->u.loop.body);
  }
  w->times = times;
  w->phase = phase;
  mv_pop(&w->env, mark);
}

// Does it hold for all threads alike?
static bool by_iteration(MwWalk *w, const Expr *cond) {
  w->env.guessed = false;
  return mv_truth(&w->env, cond) >= 0 && !w->env.guessed;
}

// In which part of the innermost loop's iterations the condition holds; negative where it depends
// on no loop.
static double share(MwWalk *w, const Expr *cond) {
  MvCell *loop = NULL;
  for (int i = w->env.cells.len - 1; i >= 0 && !loop; i--) {
    MvCell *c = &w->env.cells.data[i];
    if (!c->let && c->var != w->kernel->thread && c->sweep.lo < c->sweep.hi) loop = c;
  }
  w->env.sweep = true;
  bool varies = loop && mv_truth(&w->env, cond) < 0;
  w->env.sweep = false;
  if (!varies || !by_iteration(w, cond)) return -1;
  MvRange point = loop->point, sweep = loop->sweep;
  const Var *v = loop->var;
  int64_t n = sweep.hi - sweep.lo + 1, samples = n < LOOP_SAMPLES ? n : LOOP_SAMPLES, holds = 0;
  for (int64_t i = 0; i < samples; i++) {
    int64_t at = sweep.lo + (2 * i + 1) * n / (2 * samples);
    mv_set(&w->env, v, (MvRange){at, at}, sweep);
    holds += mv_truth(&w->env, cond) == 1;
  }
  mv_set(&w->env, v, point, sweep);
  return (double)holds / (double)samples;
}

static void walk_part(MwWalk *w, const Stmt *s, double part) {
  double times = w->times;
  mw_issue(w, 1);
  w->times = times * part;
  if (part > 0) walk(w, s->u.branch.yes);
  w->times = times * (1 - part);
  if (part < 1 && s->u.branch.no) walk(w, s->u.branch.no);
  w->times = times;
}

static void walk_if(MwWalk *w, Stmt *s) {
  double part = s->u.branch.roles ? -1 : share(w, s->u.branch.cond);
  if (part >= 0) {
    walk_part(w, s, part);
    return;
  }
  Saved saved;
  memcpy(saved.active, w->active, sizeof saved.active);
  bool was = w->producer;
  if (!s->u.branch.roles) mw_issue(w, 1);
  narrow(w, s->u.branch.cond, true);
  if (s->u.branch.roles) {
    w->out->threads = w->threads;
    w->out->warps = (int)w->warps;
  }
  if (w->threads) walk(w, s->u.branch.yes);
  restore(w, &saved);
  narrow(w, s->u.branch.cond, false);
  int phase = w->phase;
  if (s->u.branch.roles) {
    w->producer = true;
    w->phase = new_phase(w, NULL, 1);
  }
  if (w->threads && s->u.branch.no) walk(w, s->u.branch.no);
  w->phase = phase;
  w->producer = was;
  restore(w, &saved);
}

static void walk_store(MwWalk *w, Stmt *s) {
  const Buffer *b = s->u.store.buf;
  mw_expr(w, s->u.store.value);
  if (b->scope == SC_SHARED || b->scope == SC_GLOBAL) mw_access(w, b, s->u.store.idx[0], 1, true);
  else if (s->u.store.value->kind == EX_LOAD || s->u.store.value->kind == EX_FLOAT)
    mw_issue(w, 1); // a move
}

static void walk(MwWalk *w, Stmt *s) {
  switch (s->kind) {
  case ST_BLOCK: {
    int mark = w->env.cells.len;
    for (int i = 0; i < s->u.block.len; i++) walk(w, s->u.block.data[i]);
    mv_pop(&w->env, mark);
    break;
  }
  case ST_FOR: walk_for(w, s); break;
  case ST_IF: walk_if(w, s); break;
  case ST_LET:
    if (s->u.let.var->type != DT_INDEX) mw_expr(w, s->u.let.value);
    else mw_issue(w, 1);
    mv_let(&w->env, s->u.let.var, s->u.let.value);
    break;
  case ST_STORE: walk_store(w, s); break;
  case ST_OP: mw_op(w, s); break;
  case ST_ASSUME: break;
  }
}

// What each thread keeps: its arrays; addresses and counters beside them.
static int registers(const Kernel *k) {
  int64_t bits = 0;
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    if (b->scope == SC_LOCAL && !b->base) bits += buf_elems(b) * dt_bits(b->dtype);
  }
  return (int)(bits / 32) + 24;
}

void mw_block(Arena *a, const Kernel *k, const MwWhere *where, MwBlock *out) {
  MwWalk *w = NEW(a, MwWalk);
  *out = (MwBlock){0};
  w->env.arena = a;
  w->kernel = k;
  w->figures = where->figures;
  w->out = out;
  w->times = 1;
  mv_sizes(&w->env, where->program, where->sizes);
  for (int i = 0; i < 3; i++) {
    MvRange at = {where->block[i], where->block[i]};
    if (k->block[i]) mv_set(&w->env, k->block[i], at, at);
  }
  if (k->workers) {
    MvRange n = {where->workers, where->workers};
    mv_set(&w->env, k->workers, n, n);
  }
  for (int i = 0; i < kernel_threads(k) && i < MW_MAX_THREADS; i++) w->active[i] = true;
  w->phase = new_phase(w, NULL, 1);
  count_active(w);
  out->threads = w->threads;
  out->warps = (int)w->warps;
  out->registers = registers(k);
  walk(w, k->body);
}
