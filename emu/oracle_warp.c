// What threads do with one another's values: atomics, shuffles, votes, reductions over threads;
// and what each thread says (print, assert).
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "emu/oracle.h"

// A value of each thread of the block, and where it goes.
typedef struct {
  Val v[MAX_GROUPS][LANES];
  double err[MAX_GROUPS][LANES];
} Values;

static _Thread_local Values values, results; // large, and no statement is inside another

static void evaluate(Oracle *o, const Node *x, const Frame *f, Values *out) {
  memset(out->err, 0, sizeof out->err);
  for (int g = 0; g < f->ngroups; g++) {
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    emu_eval(&o->m, x, f->mask[g], LANES, out->v[g], o->track ? out->err[g] : NULL);
  }
}

// Each thread's result, of type `from`, into its own element of r.
static void give(Oracle *o, const OStmt *s, const ORegion *r, const Frame *f, DType from,
                 const Values *in) {
  for (int g = 0; g < f->ngroups; g++) {
    int64_t at[LANES];
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    uint32_t inside = oracle_locate(o, r->mem, r->min, s, s->span, f->mask[g], LANES, at);
    for (int i = 0; i < LANES; i++) {
      if (!(inside >> i & 1)) continue;
      Val v = emu_cast(r->mem->type, from, in->v[g][i]);
      double e = bound_cast(r->mem->type, from, v, in->err[g][i]);
      mem_put(r->mem, at[i], 1, 1, &v, &e);
    }
  }
}

/* atomics */

static void update_element(Mem *m, const OStmt *s, int64_t at, Val v, double err) {
  if (s->op != OP_REDUCER_UPDATE) {
    mem_atomic(m, at, (AtomicFn)s->arg[2].i, v, err);
    return;
  }
  Val old;
  double e = 0, mag;
  mem_get(m, at, 1, 1, &old, m->err ? &e : NULL);
  mag = dt_is_float(m->type) ? fabs(old.f) : 0;
  e = reduce_err((ReduceKind)s->arg[2].i, m->type, e, v, err, &mag);
  old = reduce_step((ReduceKind)s->arg[2].i, m->type, false, old, v);
  mem_put(m, at, 1, 1, &old, m->err ? &e : NULL);
}

// What lane `lane` of group g finds in an element; 0 where it has none.
static void take(const Oracle *o, const ORegion *r, int g, int lane, bool inside, int64_t at) {
  results.v[g][lane] = (Val){0};
  results.err[g][lane] = 0;
  if (inside)
    mem_get(r->mem, at, 1, 1, &results.v[g][lane], o->track ? &results.err[g][lane] : NULL);
}

// Every active lane updates the element, one after the other.
static void exec_atomic(Oracle *o, const OStmt *s, const Frame *f) {
  const ORegion *r = s->arg[0].r, *prev = s->op == OP_ATOMIC ? s->arg[4].r : NULL;
  const Node *value = s->arg[1].e;
  evaluate(o, value, f, &values);
  for (int g = 0; g < f->ngroups; g++) {
    int64_t at[LANES];
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    uint32_t inside = oracle_locate(o, r->mem, r->min, s, s->span, f->mask[g], LANES, at);
    for (int i = 0; i < LANES; i++) {
      take(o, r, g, i, inside >> i & 1, at[i]);
      if (!(inside >> i & 1)) continue;
      Val v = emu_cast(r->mem->type, value->type, values.v[g][i]);
      update_element(r->mem, s, at[i], v,
                     bound_cast(r->mem->type, value->type, v, values.err[g][i]));
    }
  }
  if (prev) give(o, s, prev, f, r->mem->type, &results);
}

static void exec_atomic_load(Oracle *o, const OStmt *s, const Frame *f) {
  const ORegion *r = s->arg[0].r;
  for (int g = 0; g < f->ngroups; g++) {
    int64_t at[LANES];
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    uint32_t inside = oracle_locate(o, r->mem, r->min, s, s->span, f->mask[g], LANES, at);
    for (int i = 0; i < LANES; i++) take(o, r, g, i, inside >> i & 1, at[i]);
  }
  give(o, s, s->arg[1].r, f, r->mem->type, &results);
}

// The n elements of a lane's run in r: where they lie, and which of them inside the tensor.
typedef struct {
  int64_t at, step;
  uint32_t inside;
} LaneRun;

static LaneRun run_of(Oracle *o, const OStmt *s, const ORegion *r, int lane, int n) {
  const Mem *m = r->mem;
  LaneRun run = {0, m->stride[r->n - 1], (UINT32_C(1) << n) - 1};
  if (m->buf->scope == SC_LOCAL) run.at = (int64_t)(o->group * LANES + lane) * m->elems;
  o->m.pick = lane;
  for (int d = 0; d < r->n; d++) {
    int64_t x = emu_eval_int(&o->m, r->min[d]);
    run.at += x * m->stride[d];
    for (int i = 0; i < n; i++) {
      int64_t xi = d == r->n - 1 ? x + i : x;
      if (xi >= 0 && xi < m->shape[d]) continue;
      run.inside &= ~(UINT32_C(1) << i);
      if (m->buf->scope != SC_GLOBAL)
        EMU_FAIL(&o->m, s, DIAG_EMU_BOUNDS, s->span, m->buf->name, (long long)xi, d,
                 (long long)m->shape[d]);
    }
  }
  return run;
}

static void vector_lane(Oracle *o, const OStmt *s, int lane, int n) {
  const ORegion *dst = s->arg[0].r, *src = s->arg[1].r, *prev = s->arg[4].r;
  LaneRun to = run_of(o, s, dst, lane, n), from = run_of(o, s, src, lane, n), was = {0};
  if (prev) was = run_of(o, s, prev, lane, n);
  Val safe = dt_is_float(src->mem->type) ? emu_float(0) : emu_int(0);
  if (src->mem->safe)
    safe = emu_cast(src->mem->type, src->mem->safe->type, emu_eval1(&o->m, src->mem->safe));
  for (int i = 0; i < n; i++) {
    Val v = safe, old = {0};
    double e = 0, eold = 0;
    int64_t at = to.at + i * to.step;
    bool inside = to.inside >> i & 1;
    if (from.inside >> i & 1)
      mem_get(src->mem, from.at + i * from.step, 1, 1, &v, o->track ? &e : NULL);
    if (inside) mem_get(dst->mem, at, 1, 1, &old, o->track ? &eold : NULL);
    v = emu_cast(dst->mem->type, src->mem->type, v);
    if (inside)
      mem_atomic(dst->mem, at, (AtomicFn)s->arg[2].i, v,
                 bound_cast(dst->mem->type, src->mem->type, v, e));
    if (was.inside >> i & 1)
      mem_put(prev->mem, was.at + i * was.step, 1, 1, &old, o->track ? &eold : NULL);
  }
}

static void exec_atomic_vec(Oracle *o, const OStmt *s, const Frame *f) {
  const ORegion *dst = s->arg[0].r;
  int n = (int)emu_eval_int(&o->m, dst->extent[dst->n - 1]);
  for (int g = 0; g < f->ngroups; g++) {
    oracle_group(o, f, g);
    for (uint32_t left = f->mask[g]; left; left &= left - 1)
      vector_lane(o, s, __builtin_ctz(left), n);
  }
}

/* exchanges */

// Which lane of the warp lane i takes its value from.
static int source_lane(const OStmt *s, int i, int64_t by) {
  int width = (int)s->arg[4].i, from = i, first = i / width * width;
  switch ((ShuffleMode)s->arg[3].i) {
  case SHUFFLE_INDEX: from = first + (int)(by & (width - 1)); break;
  case SHUFFLE_XOR: from = i ^ (int)by; break;
  case SHUFFLE_UP: from = i - (int)by; break;
  case SHUFFLE_DOWN: from = i + (int)by; break;
  }
  return from < first || from >= first + width ? i : from;
}

static void exec_shuffle(Oracle *o, const OStmt *s, const Frame *f) {
  evaluate(o, s->arg[0].e, f, &values);
  for (int g = 0; g < f->ngroups; g++) {
    Val by[LANES];
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    emu_eval(&o->m, s->arg[2].e, f->mask[g], LANES, by, NULL);
    for (int i = 0; i < LANES; i++) {
      if (!(f->mask[g] >> i & 1)) continue;
      int from = source_lane(s, i, by[i].i);
      if (!(f->mask[g] >> from & 1)) {
        EMU_FAIL(&o->m, s, DIAG_EMU_INACTIVE, s->span, g * LANES + i, g * LANES + from);
        from = i;
      }
      results.v[g][i] = values.v[g][from];
      results.err[g][i] = values.err[g][from];
    }
  }
  give(o, s, s->arg[1].r, f, s->arg[0].e->type, &results);
}

static int64_t vote(VoteKind kind, uint32_t yes, uint32_t of) {
  switch (kind) {
  case VOTE_ANY: return yes != 0;
  case VOTE_ALL: return yes == of;
  case VOTE_BALLOT: return yes;
  case VOTE_COUNT: return __builtin_popcount(yes);
  }
  die("unknown vote %d", (int)kind);
}

static void exec_vote(Oracle *o, const OStmt *s, const Frame *f) {
  bool block = s->op == OP_BLOCK_VOTE;
  VoteKind kind = (VoteKind)s->arg[2].i;
  int64_t all = kind == VOTE_ALL, result[MAX_GROUPS];
  for (int g = 0; g < f->ngroups; g++) {
    oracle_group(o, f, g);
    uint32_t yes = emu_eval_mask(&o->m, s->arg[0].e, f->mask[g]);
    result[g] = vote(kind, yes, f->mask[g]);
    if (!f->mask[g]) continue;
    if (kind == VOTE_ALL) all = all && result[g];
    else if (kind == VOTE_ANY) all = all || result[g];
    else all += result[g];
  }
  memset(results.err, 0, sizeof results.err);
  for (int g = 0; g < f->ngroups; g++)
    for (int i = 0; i < LANES; i++) results.v[g][i].i = block ? all : result[g];
  give(o, s, s->arg[1].r, f, kind == VOTE_BALLOT ? DT_U32 : DT_I32, &results);
}

static void reduce_set(Oracle *o, const OStmt *s, const Frame *f, int first, int stride,
                       int extent) {
  ReduceKind kind = (ReduceKind)s->arg[2].i;
  DType t = s->arg[0].e->type;
  Val acc = reduce_start(kind, t);
  double err = 0, mag = 0;
  for (int k = 0; k < extent; k++) {
    int th = first + k * stride, g = th / LANES, i = th % LANES;
    if (g >= f->ngroups || !(f->mask[g] >> i & 1)) {
      EMU_FAIL(&o->m, s, DIAG_EMU_INACTIVE, s->span, first, th);
      continue;
    }
    acc = reduce_step(kind, t, false, acc, values.v[g][i]);
    if (o->track) err = reduce_err(kind, t, err, values.v[g][i], values.err[g][i], &mag);
  }
  for (int k = 0; k < extent; k++) {
    int th = first + k * stride;
    if (th / LANES >= f->ngroups) continue;
    results.v[th / LANES][th % LANES] = acc;
    results.err[th / LANES][th % LANES] = err;
  }
}

static void exec_allreduce(Oracle *o, const OStmt *s, const Frame *f) {
  int stride = (int)s->arg[3].i, extent = (int)s->arg[4].i;
  evaluate(o, s->arg[0].e, f, &values);
  for (int first = 0; first < o->threads; first++) {
    bool here = f->mask[first / LANES] >> first % LANES & 1;
    if (here && first / stride % extent == 0) reduce_set(o, s, f, first, stride, extent);
  }
  give(o, s, s->arg[1].r, f, s->arg[0].e->type, &results);
}

static void exec_match(Oracle *o, const OStmt *s, const Frame *f) {
  evaluate(o, s->arg[0].e, f, &values);
  memset(results.err, 0, sizeof results.err);
  for (int g = 0; g < f->ngroups; g++)
    for (int i = 0; i < LANES; i++)
      if (f->mask[g] >> i & 1)
        results.v[g][i] =
            emu_int(match_lanes(values.v[g], s->arg[0].e->type, f->mask[g], i, s->arg[2].i != 0));
  give(o, s, s->arg[1].r, f, DT_U32, &results);
}

static void exec_find_bit(Oracle *o, const OStmt *s, const Frame *f) {
  evaluate(o, s->arg[0].e, f, &values);
  memset(results.err, 0, sizeof results.err);
  for (int g = 0; g < f->ngroups; g++) {
    Val base[LANES], count[LANES];
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    emu_eval(&o->m, s->arg[2].e, f->mask[g], LANES, base, NULL);
    emu_eval(&o->m, s->arg[3].e, f->mask[g], LANES, count, NULL);
    for (int i = 0; i < LANES; i++)
      if (f->mask[g] >> i & 1)
        results.v[g][i] = emu_int(find_bit((uint64_t)values.v[g][i].i, base[i].i, count[i].i));
  }
  give(o, s, s->arg[1].r, f, DT_I32, &results);
}

static void exec_philox(Oracle *o, const OStmt *s, const Frame *f) {
  static _Thread_local uint32_t out[MAX_GROUPS][LANES][4];
  for (int g = 0; g < f->ngroups; g++) {
    Val from[3][LANES];
    if (!f->mask[g]) continue;
    oracle_group(o, f, g);
    for (int k = 0; k < 3; k++) emu_eval(&o->m, s->arg[4 + k].e, f->mask[g], LANES, from[k], NULL);
    for (int i = 0; i < LANES; i++)
      if (f->mask[g] >> i & 1)
        philox((uint64_t)from[0][i].i, (uint64_t)from[1][i].i, (uint64_t)from[2][i].i, out[g][i]);
  }
  memset(results.err, 0, sizeof results.err);
  for (int k = 0; k < 4; k++) {
    for (int g = 0; g < f->ngroups; g++)
      for (int i = 0; i < LANES; i++) results.v[g][i].i = out[g][i][k];
    give(o, s, s->arg[k].r, f, DT_U32, &results);
  }
}

/* what threads say */

static void print_value(DType t, Val v) {
  if (dt_is_float(t)) printf(" %.9g", v.f);
  else if (t == DT_U64) printf(" %llu", (unsigned long long)v.i);
  else printf(" %lld", (long long)v.i);
}

static void print_region(Oracle *o, const OStmt *s, const ORegion *r) {
  Box b = oracle_box(o, s, r);
  int64_t width = b.nd ? b.extent[b.nd - 1] : 1;
  for (int64_t i = 0; i < b.total; i++) {
    int64_t at = b.base, rest = i;
    for (int d = b.nd - 1; d >= 0; d--) {
      at += rest % b.extent[d] * b.stride[d];
      rest /= b.extent[d];
    }
    Val v;
    mem_get(b.mem, at, 1, 1, &v, NULL);
    if (i && i % width == 0) printf("\n ");
    print_value(b.mem->type, v);
  }
}

static void exec_print(Oracle *o, const OStmt *s, const Frame *f) {
  for (int g = 0; g < f->ngroups; g++) {
    oracle_group(o, f, g);
    for (uint32_t left = f->mask[g]; left; left &= left - 1) {
      o->m.pick = __builtin_ctz(left);
      if (s->arg[0].s) printf("%s:", s->arg[0].s);
      if (s->arg[1].e) print_value(s->arg[1].e->type, emu_eval1(&o->m, s->arg[1].e));
      if (s->arg[2].r) print_region(o, s, s->arg[2].r);
      printf("\n");
      bool once = s->arg[2].r ? s->arg[2].r->mem->buf->scope != SC_LOCAL
                              : !s->arg[1].e || s->arg[1].e->uniform;
      if (once) return;
    }
  }
}

static void exec_assert(Oracle *o, const OStmt *s, const Frame *f) {
  for (int g = 0; g < f->ngroups; g++) {
    oracle_group(o, f, g);
    uint32_t bad = f->mask[g] & ~emu_eval_mask(&o->m, s->arg[0].e, f->mask[g]);
    if (!bad) continue;
    const char *text = s->arg[1].s;
    EMU_FAIL(&o->m, s, DIAG_EMU_ASSERT, s->span, g * LANES + __builtin_ctz(bad),
             (long long)o->block, text ? ": " : "", text ? text : "");
    return;
  }
}

static int threads_of(const Frame *f) {
  int n = 0;
  for (int g = 0; g < f->ngroups; g++) n += __builtin_popcount(f->mask[g]);
  return n;
}

bool oracle_exchange(Oracle *o, const OStmt *s, const Frame *f) {
  bool between = s->op == OP_SHUFFLE || s->op == OP_VOTE || s->op == OP_MATCH ||
                 s->op == OP_BLOCK_VOTE || s->op == OP_ALLREDUCE;
  if (between && f->parallel) die("'%s' in a parallel loop", op_info(s->op)->name);
  switch (s->op) {
  case OP_ATOMIC:
  case OP_REDUCER_UPDATE: exec_atomic(o, s, f); return true;
  case OP_ATOMIC_LOAD: exec_atomic_load(o, s, f); return true;
  case OP_ATOMIC_VEC: exec_atomic_vec(o, s, f); return true;
  case OP_SHUFFLE: exec_shuffle(o, s, f); return true;
  case OP_VOTE:
  case OP_BLOCK_VOTE: exec_vote(o, s, f); return true;
  case OP_ALLREDUCE: exec_allreduce(o, s, f); return true;
  case OP_MBAR_INIT:
  case OP_FENCE_MBAR_INIT:
  case OP_MBAR_ARRIVE: return true; // whoever waits does so after all of it
  case OP_MBAR_WAIT:
    if (threads_of(f) < o->threads) EMU_FAIL(&o->m, s, DIAG_EMU_BY_HAND, s->span);
    return true;
  case OP_MATCH: exec_match(o, s, f); return true;
  case OP_FIND_BIT: exec_find_bit(o, s, f); return true;
  case OP_PHILOX: exec_philox(o, s, f); return true;
  case OP_EXTERN: EMU_FAIL(&o->m, s, DIAG_EMU_EXTERN, s->span, s->arg[0].s); return true;
  case OP_PRINT: exec_print(o, s, f); return true;
  case OP_ASSERT: exec_assert(o, s, f); return true;
  default: return false;
  }
}
