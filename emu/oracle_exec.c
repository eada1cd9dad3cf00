// Tile-level statements: scalar ones in lockstep over the block's threads, or once where no thread
// differs; parallel loops 32 iterations at a time.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/oracle.h"

void oracle_group(Oracle *o, const Frame *f, int g) {
  o->group = g;
  o->m.lane = f->lane + (size_t)g * (size_t)o->c.nlane;
  o->m.lane_err = f->err ? f->err + (size_t)g * (size_t)o->c.nlane : NULL;
}

// Makes the first active lane the one that scalar evaluations take; -1 when none is active.
static int pick_first(Oracle *o, const Frame *f) {
  for (int g = 0; g < f->ngroups; g++) {
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    return o->m.pick = __builtin_ctz(f->mask[g]);
  }
  return -1;
}

enum { MAX_ROUNDS = 1 << 20 }; // of a while loop, before it is taken as endless

static bool done(const Oracle *o) { return o->m.reports >= o->m.max_reports; }

/* element access */

uint32_t oracle_locate(Oracle *o, const Mem *m, Node **idx, const void *key, Span span,
                       uint32_t mask, int n, int64_t *at) {
  Val v[LANES];
  uint32_t inside = mask;
  int64_t thread = m->buf->scope == SC_LOCAL ? o->group * LANES + (n == 1 ? o->m.pick : 0) : 0;
  for (int i = 0; i < n; i++)
    at[i] = m->buf->scope == SC_LOCAL ? (thread + i) * m->elems : 0;
  for (int d = 0; d < m->nd; d++) {
    emu_eval(&o->m, idx[d], mask, n, v, NULL);
    for (int i = 0; i < n; i++) {
      if (!(mask >> i & 1)) continue;
      if (v[i].i >= 0 && v[i].i < m->shape[d]) {
        at[i] += v[i].i * m->stride[d];
        continue;
      }
      inside &= ~(UINT32_C(1) << i);
      if (m->buf->scope != SC_GLOBAL)
        EMU_FAIL(&o->m, key, DIAG_EMU_BOUNDS, span, m->buf->name, (long long)v[i].i, d,
                 (long long)m->shape[d]);
    }
  }
  return inside;
}

void oracle_load(Machine *machine, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  Oracle *o = (Oracle *)machine;
  const Mem *m = &o->mem[x->slot];
  int64_t at[LANES];
  uint32_t inside = oracle_locate(o, m, x->idx, x, x->span, mask, n, at);
  Val safe = {0};
  if (m->safe && (mask & ~inside))
    safe = emu_cast(m->type, m->safe->type, emu_eval1(machine, m->safe));
  for (int i = 0; i < n; i++) {
    out[i] = safe;
    if (err) err[i] = 0;
    if (!(inside >> i & 1)) continue;
    if (m->watch) watch_read(o, m, at[i], i, n, x);
    mem_get(m, at[i], 1, 1, &out[i], err ? &err[i] : NULL);
  }
}

static void exec_let(Oracle *o, const OStmt *s, const Frame *f) {
  int slot = s->slot[0] >> 1;
  if (!(s->slot[0] & SLOT_LANE)) {
    if (pick_first(o, f) < 0) return;
    emu_eval(&o->m, s->value, 1, 1, &o->m.uni[slot], o->track ? &o->m.uni_err[slot] : NULL);
    return;
  }
  for (int g = 0; g < f->ngroups; g++) {
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    Val v[LANES];
    double e[LANES];
    emu_eval(&o->m, s->value, f->mask[g], LANES, v, o->track ? e : NULL);
    memcpy(o->m.lane[slot], v, sizeof v);
    if (o->track) memcpy(o->m.lane_err[slot], e, sizeof e);
  }
}

static bool once(const OStmt *s) {
  bool uniform = s->value->uniform && s->mem->buf->scope != SC_LOCAL;
  for (int d = 0; d < s->mem->nd; d++) uniform &= s->idx[d]->uniform;
  return uniform;
}

typedef struct {
  int64_t at[LANES];
  Val v[LANES];
  double err[LANES];
  uint32_t inside;
} Pending;

static void evaluate_store(Oracle *o, const OStmt *s, uint32_t mask, int n, Pending *p) {
  p->inside = oracle_locate(o, s->mem, s->idx, s, s->span, mask, n, p->at);
  emu_eval(&o->m, s->value, mask, n, p->v, o->track ? p->err : NULL);
  for (int i = 0; i < n; i++) {
    if (!(mask >> i & 1)) continue;
    p->v[i] = emu_cast(s->mem->type, s->value->type, p->v[i]);
    if (o->track) p->err[i] = bound_cast(s->mem->type, s->value->type, p->v[i], p->err[i]);
  }
}

static void commit_store(Oracle *o, const OStmt *s, int n, const Pending *p) {
  for (int i = 0; i < n; i++) {
    if (!(p->inside >> i & 1)) continue;
    if (s->mem->watch) watch_write(o, s, p->at[i], i, n, p->v[i]);
    mem_put(s->mem, p->at[i], 1, 1, &p->v[i], o->track ? &p->err[i] : NULL);
  }
}

// All threads read before any writes: a leaf statement is one step of the block.
static void exec_store(Oracle *o, const OStmt *s, const Frame *f) {
  static _Thread_local Pending pending[MAX_GROUPS];
  if (once(s)) {
    if (pick_first(o, f) < 0) return;
    evaluate_store(o, s, 1, 1, pending);
    commit_store(o, s, 1, pending);
    return;
  }
  for (int g = 0; g < f->ngroups; g++) {
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    evaluate_store(o, s, f->mask[g], LANES, &pending[g]);
  }
  for (int g = 0; g < f->ngroups; g++)
    if (f->mask[g]) commit_store(o, s, LANES, &pending[g]);
}

/* control */

static void exec_if(Oracle *o, const OStmt *s, const Frame *f) {
  uint32_t yes[MAX_GROUPS], no[MAX_GROUPS], any_yes = 0, any_no = 0;
  for (int g = 0; g < f->ngroups; g++) {
    oracle_group(o, f, g);
    yes[g] = emu_eval_mask(&o->m, s->cond, f->mask[g]);
    no[g] = f->mask[g] & ~yes[g];
    any_yes |= yes[g];
    any_no |= no[g];
  }
  Frame sub = *f;
  sub.mask = yes;
  if (any_yes) oracle_exec(o, s->body, &sub);
  sub.mask = no;
  if (any_no && s->other) oracle_exec(o, s->other, &sub);
}

static void exec_assume(Oracle *o, const OStmt *s, const Frame *f) {
  for (int g = 0; g < f->ngroups; g++) {
    oracle_group(o, f, g);
    if (emu_eval_mask(&o->m, s->cond, f->mask[g]) != f->mask[g])
      EMU_FAIL(&o->m, s, DIAG_EMU_ASSUME, s->span);
  }
}

static void enter_loop(Oracle *o, OLoop *l) {
  *l = (OLoop){.outer = o->loop};
  o->loop = l;
}

// Once round the loop, for the threads that have not left it; false when none is there.
static bool iterate(Oracle *o, const OStmt *body, const Frame *f) {
  OLoop *l = o->loop;
  memset(l->skipped, 0, sizeof l->skipped);
  oracle_exec(o, body, f);
  for (int g = 0; g < f->ngroups; g++)
    if (f->mask[g] & ~l->left[g]) return true;
  return false;
}

// The innermost loop is left, or this iteration of it, by the threads that get here.
static void exec_jump(Oracle *o, const OStmt *s, const Frame *f) {
  if (!o->loop) return; // the verifier's to refuse
  o->loop->jumped = true;
  for (int g = 0; g < f->ngroups; g++) {
    if (s->op == OP_BREAK) o->loop->left[g] |= f->mask[g];
    o->loop->skipped[g] |= f->mask[g];
  }
}

// Statements in order, without the threads that have jumped on.
static void exec_block(Oracle *o, const OStmt *s, const Frame *f) {
  uint32_t mask[MAX_GROUPS];
  Frame sub = *f;
  for (int i = 0; i < s->n; i++) {
    if (o->loop && o->loop->jumped) {
      uint32_t any = 0;
      for (int g = 0; g < f->ngroups; g++)
        any |= mask[g] = f->mask[g] & ~(o->loop->skipped[g] | o->loop->left[g]);
      if (!any) return;
      sub.mask = mask;
    }
    oracle_exec(o, s->child[i], &sub);
  }
}

static void exec_uniform_for(Oracle *o, const OStmt *s, const Frame *f) {
  if (pick_first(o, f) < 0) return;
  int slot = s->slot[0] >> 1;
  int64_t min = emu_eval_int(&o->m, s->min[0]), extent = emu_eval_int(&o->m, s->extent[0]);
  OLoop loop;
  enter_loop(o, &loop);
  for (int64_t i = 0; i < extent && !done(o); i++) {
    o->m.uni[slot].i = min + i;
    if (o->track) o->m.uni_err[slot] = 0;
    if (!iterate(o, s->body, f)) break;
  }
  o->loop = loop.outer;
}

static void exec_while(Oracle *o, const OStmt *s, const Frame *f) {
  OLoop loop;
  uint32_t mask[MAX_GROUPS];
  Frame sub = *f;
  memcpy(mask, f->mask, sizeof *mask * (size_t)f->ngroups);
  sub.mask = mask;
  enter_loop(o, &loop);
  for (int64_t rounds = 0; !done(o); rounds++) {
    uint32_t any = 0;
    for (int g = 0; g < f->ngroups; g++) {
      oracle_group(o, f, g);
      mask[g] = emu_eval_mask(&o->m, s->cond, mask[g] & ~loop.left[g]);
      any |= mask[g];
    }
    if (!any) break;
    if (rounds == MAX_ROUNDS) {
      EMU_FAIL(&o->m, s, DIAG_EMU_ENDLESS, s->span, MAX_ROUNDS);
      break;
    }
    (void)iterate(o, s->body, &sub);
  }
  o->loop = loop.outer;
}

// Variable k of a loop (nested ones for k+1...) with bounds of each lane's own.
static void exec_lane_for(Oracle *o, const OStmt *s, const Frame *f, int k) {
  if (k == s->n) {
    oracle_exec(o, s->body, f);
    return;
  }
  int slot = s->slot[k] >> 1;
  Val min[MAX_GROUPS][LANES], extent[MAX_GROUPS][LANES];
  for (int g = 0; g < f->ngroups; g++) {
    oracle_group(o, f, g);
    if (!f->mask[g]) continue;
    emu_eval(&o->m, s->min[k], f->mask[g], LANES, min[g], NULL);
    emu_eval(&o->m, s->extent[k], f->mask[g], LANES, extent[g], NULL);
  }
  uint32_t mask[MAX_GROUPS];
  Frame sub = *f;
  OLoop loop;
  sub.mask = mask;
  enter_loop(o, &loop);
  int64_t inner = o->inner;
  for (int64_t it = 0; !done(o); it++) {
    uint32_t any = 0;
    for (int g = 0; g < f->ngroups; g++) {
      oracle_group(o, f, g);
      mask[g] = 0;
      for (int i = 0; i < LANES; i++) {
        if (!((f->mask[g] & ~loop.left[g]) >> i & 1) || it >= extent[g][i].i) continue;
        mask[g] |= UINT32_C(1) << i;
        o->m.lane[slot][i].i = min[g][i].i + it;
        if (o->track) o->m.lane_err[slot][i] = 0;
      }
      any |= mask[g];
    }
    if (!any) break;
    memset(loop.skipped, 0, sizeof loop.skipped);
    if (s->loop == LOOP_PARALLEL) o->inner = watch_inner(o, it);
    exec_lane_for(o, s, &sub, k + 1);
    o->inner = inner;
  }
  o->loop = loop.outer;
}

// Lets lane l take the l-th of the next iterations (row-major); returns how many there were. Lanes
// are threads: a block of fewer than 32 has no others, whose local arrays would be read.
static int next_iterations(Oracle *o, const OStmt *s, const int64_t *min, const int64_t *extent,
                           int64_t *at, int64_t left) {
  int most = o->threads < LANES ? o->threads : LANES, n = left < most ? (int)left : most;
  for (int l = 0; l < n; l++) {
    for (int k = 0; k < s->n; k++) {
      o->m.lane[s->slot[k] >> 1][l].i = min[k] + at[k];
      if (o->track) o->m.lane_err[s->slot[k] >> 1][l] = 0;
    }
    for (int k = s->n - 1; k >= 0 && ++at[k] == extent[k]; k--) at[k] = 0;
  }
  return n;
}

static void exec_parallel(Oracle *o, const OStmt *s, const Frame *f) {
  if (pick_first(o, f) < 0) return;
  Arena *tmp = arena_new();
  int64_t *min = NEWN(tmp, int64_t, s->n), *extent = NEWN(tmp, int64_t, s->n);
  int64_t *at = NEWN(tmp, int64_t, s->n), total = 1;
  for (int k = 0; k < s->n; k++) {
    min[k] = emu_eval_int(&o->m, s->min[k]);
    extent[k] = emu_eval_int(&o->m, s->extent[k]);
    total *= extent[k] > 0 ? extent[k] : 0;
  }
  uint32_t mask;
  Frame sub = {.ngroups = 1, .parallel = true, .mask = &mask};
  sub.lane = NEWN(tmp, LaneVals, o->c.nlane);
  memcpy(sub.lane, f->lane, sizeof(LaneVals) * (size_t)o->c.nlane);
  if (o->track) sub.err = NEWN(tmp, LaneErrs, o->c.nlane);
  OLoop *outer = o->loop;
  o->loop = NULL;
  watch_begin(o, s, total);
  while (total > 0 && !done(o)) {
    oracle_group(o, &sub, 0);
    int n = next_iterations(o, s, min, extent, at, total);
    mask = n == LANES ? ALL_LANES : (UINT32_C(1) << n) - 1;
    oracle_exec(o, s->body, &sub);
    total -= n;
    o->iteration += n;
  }
  watch_end(s);
  o->loop = outer;
  arena_free(tmp);
}

static void exec_for(Oracle *o, const OStmt *s, const Frame *f) {
  if (s->loop == LOOP_WHILE) exec_while(o, s, f);
  else if (s->loop == LOOP_PARALLEL && !f->parallel) exec_parallel(o, s, f);
  else if (s->n == 1 && !(s->slot[0] & SLOT_LANE)) exec_uniform_for(o, s, f);
  else exec_lane_for(o, s, f, 0);
}

void oracle_exec(Oracle *o, const OStmt *s, const Frame *f) {
  if (done(o)) return;
  switch (s->kind) {
  case ST_BLOCK: exec_block(o, s, f); return;
  case ST_FOR: exec_for(o, s, f); return;
  case ST_IF: exec_if(o, s, f); return;
  case ST_LET: exec_let(o, s, f); return;
  case ST_STORE: exec_store(o, s, f); return;
  case ST_ASSUME: exec_assume(o, s, f); return;
  case ST_OP:
    if (s->op == OP_BREAK || s->op == OP_CONTINUE) exec_jump(o, s, f);
    else if (!oracle_exchange(o, s, f)) oracle_tile_op(o, s, f);
    return;
  }
}
