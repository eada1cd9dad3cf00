// Vector clocks of a cluster's threads, and what asynchronous operations have completed.
// SPDX-License-Identifier: MIT
#include "emu/clocks.h"

#include <string.h>

#define EACH_LANE(i, mask)                                                                         \
  for (uint32_t left_ = (mask), i; left_ && (i = (uint32_t)__builtin_ctz(left_), 1);               \
       left_ &= left_ - 1)

uint32_t *hb_clock(const Emu *e, int thread) {
  return e->hb->clock + (size_t)thread * (size_t)e->hb->width;
}

int hb_thread(const Emu *e, int lane) { return e->w->index * LANES + lane; }

uint32_t hb_now(const Emu *e) { return e->hb->now[e->w->index]; }

uint32_t *hb_new_clock(Emu *e) { return NEWN(e->c.arena, uint32_t, e->hb->width); }

static void hb_join(const Emu *e, uint32_t *into, const uint32_t *from) {
  int n = e->hb->width;
  for (int i = 0; i < n; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

void hb_tick(Emu *e) { e->hb->now[e->w->index]++; }

// A thread's clock, its own time brought up to now.
static int first_step(const Emu *e) { return 3 * e->hb->nthreads + e->hb->nbars; }

static uint32_t *current(Emu *e, int thread) {
  uint32_t *c = hb_clock(e, thread);
  int w = thread / LANES;
  bool ahead = e->warps[w].waited & ~(UINT32_C(1) << thread % LANES);
  c[thread] = e->hb->now[w];
  c[first_step(e) + w] = ahead ? e->hb->met[w] : e->hb->now[w];
  return c;
}

static void meet(Emu *e, int warp) {
  e->hb->met[warp] = e->hb->now[warp];
  e->warps[warp].waited = 0;
}

void hb_together(Emu *e) {
  if (e->hb) meet(e, e->w->index);
}

uint32_t hb_step(const Emu *e, const uint32_t *clock, int warp) {
  return clock[first_step(e) + warp];
}

static void release_from(Emu *e, uint32_t mask, uint32_t *into, int first) {
  EACH_LANE(i, mask) {
    const uint32_t *c = current(e, hb_thread(e, (int)i));
    for (int k = first; k < e->hb->width; k++) into[k] = into[k] > c[k] ? into[k] : c[k];
  }
  hb_tick(e);
}

void hb_release_steps(Emu *e, uint32_t mask, uint32_t *into) {
  release_from(e, mask, into, first_step(e));
}

void hb_release_done(Emu *e, uint32_t mask, uint32_t *into) {
  release_from(e, mask, into, 3 * e->hb->nthreads);
}

void hb_release(Emu *e, uint32_t mask, uint32_t *into) {
  EACH_LANE(i, mask) hb_join(e, into, current(e, hb_thread(e, (int)i)));
  hb_tick(e);
}

void hb_acquire(Emu *e, uint32_t mask, const uint32_t *from) {
  EACH_LANE(i, mask) hb_join(e, hb_clock(e, hb_thread(e, (int)i)), from);
}

static void barrier_of(Emu *e, int first, const uint32_t *masks, int nwarps) {
  uint32_t *all = e->hb->join;
  memset(all, 0, sizeof *all * (size_t)e->hb->width);
  for (int w = 0; w < nwarps; w++)
    EACH_LANE(i, masks[w]) hb_join(e, all, current(e, (first + w) * LANES + (int)i));
  for (int w = 0; w < nwarps; w++) {
    EACH_LANE(i, masks[w])
    memcpy(hb_clock(e, (first + w) * LANES + (int)i), all, sizeof *all * (size_t)e->hb->width);
    e->hb->now[first + w]++;
  }
}

void hb_barrier(Emu *e, int first_warp, int nwarps) {
  uint32_t masks[MAX_THREADS / LANES];
  for (int w = 0; w < nwarps; w++) {
    masks[w] = e->warps[first_warp + w].full;
    meet(e, first_warp + w);
  }
  barrier_of(e, first_warp, masks, nwarps);
}

void hb_warp_barrier(Emu *e, uint32_t mask) {
  if (mask == e->w->full) meet(e, e->w->index);
  barrier_of(e, e->w->index, &mask, 1);
}

void hb_fence(Emu *e, uint32_t mask, int space) {
  int n = e->hb->nthreads;
  EACH_LANE(i, mask) {
    int thread = hb_thread(e, (int)i);
    uint32_t *c = hb_clock(e, thread);
    if (space != FENCE_GLOBAL) c[n + thread] = hb_now(e);
    if (space != FENCE_SHARED) c[2 * n + thread] = hb_now(e);
  }
  hb_tick(e);
}

// A lane's own accesses count by what the others have seen of them.
void hb_meet(Emu *e) {
  Hb *h = e->hb;
  uint32_t *m = h->meet;
  int first = hb_thread(e, 0);
  memcpy(m, hb_clock(e, first), sizeof *m * (size_t)h->width);
  m[first] = UINT32_MAX;
  for (int l = 1; l < LANES; l++) {
    const uint32_t *c = hb_clock(e, first + l);
    uint32_t own = m[first + l];
    for (int i = 0; i < h->width; i++) m[i] = m[i] < c[i] ? m[i] : c[i];
    m[first + l] = own;
  }
}

bool hb_ordered(const Emu *e, int thread, uint32_t time, int before) {
  return thread == before || hb_clock(e, before)[thread] >= time;
}

/* asynchronous operations */

uint32_t hb_op(Emu *e, AsyncOp op) {
  Hb *h = e->hb;
  if (h->ops.len == 0) vec_push(e->c.arena, &h->ops, (AsyncOp){0});
  vec_push(e->c.arena, &h->ops, op);
  return (uint32_t)h->ops.len - 1;
}

static void push(Emu *e, ProgressList *l, Progress p) {
  vec_reserve(e->c.arena, (void **)&l->data, &l->cap, l->len + 1, sizeof *l->data);
  l->data[l->len++] = p;
}

void hb_progress(Emu *e, DoneKind kind, int thread, uint32_t upto) {
  ProgressList *l = &e->hb->done[kind][thread];
  if (l->len && l->data[l->len - 1].upto >= upto) return;
  push(e, l, (Progress){upto, e->hb->now[thread / LANES], -1});
}

void hb_progress_bar(Emu *e, int thread, uint32_t upto, int bar, uint32_t phases) {
  push(e, &e->hb->done[DONE_CP_BAR][thread], (Progress){upto, phases, bar});
}

// The first entry that covers `number`.
static int covering(const ProgressList *l, uint32_t number) {
  int lo = 0, hi = l->len;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (l->data[mid].upto >= number) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

bool hb_done_at(const Emu *e, DoneKind kind, int thread, uint32_t number, uint32_t *time) {
  const ProgressList *l = &e->hb->done[kind][thread];
  int i = covering(l, number);
  if (i == l->len) return false;
  *time = l->data[i].time;
  return true;
}

static bool by_wait(const Emu *e, DoneKind kind, const AsyncOp *op, int by) {
  uint32_t time;
  return hb_done_at(e, kind, op->thread, op->number, &time) && hb_ordered(e, op->thread, time, by);
}

// Each lane of the warp waited, and the warp ran on before `by`: what is complete needs no release.
static bool by_warp(const Emu *e, const AsyncOp *op, int by) {
  uint32_t time;
  int warp = op->thread / LANES;
  if (!hb_done_at(e, DONE_WGMMA, op->thread, op->number, &time)) return false;
  return by / LANES == warp || hb_step(e, hb_clock(e, by), warp) >= time;
}

static bool saw_phase(const Emu *e, int bar, uint32_t phases, int by) {
  return hb_clock(e, by)[3 * e->hb->nthreads + bar] >= phases;
}

static bool by_barrier(const Emu *e, const AsyncOp *op, int by) {
  const ProgressList *l = &e->hb->done[DONE_CP_BAR][op->thread];
  for (int i = covering(l, op->number); i < l->len; i++)
    if (saw_phase(e, l->data[i].bar, l->data[i].time, by)) return true;
  return false;
}

bool hb_op_done(const Emu *e, uint32_t handle, int by, bool shared) {
  const AsyncOp *op = &e->hb->ops.data[handle];
  switch (op->kind) {
  case ASYNC_LOAD: return saw_phase(e, op->bar, op->number + 1, by);
  case ASYNC_BULK: return by_wait(e, shared ? DONE_BULK_READ : DONE_BULK, op, by);
  case ASYNC_CP: return by_wait(e, DONE_CP, op, by) || by_barrier(e, op, by);
  case ASYNC_WGMMA: return by_warp(e, op, by);
  default: die("asynchronous operation of kind %d", (int)op->kind);
  }
}

void hb_cp_commit(Emu *e, uint32_t mask) {
  EACH_LANE(i, mask) {
    int thread = hb_thread(e, (int)i);
    push(e, &e->hb->groups[thread], (Progress){.upto = e->hb->issued[DONE_CP][thread]++});
  }
}

void hb_cp_wait(Emu *e, uint32_t mask, int64_t pending) {
  EACH_LANE(i, mask) {
    int thread = hb_thread(e, (int)i);
    const ProgressList *groups = &e->hb->groups[thread];
    if (groups->len > pending)
      hb_progress(e, DONE_CP, thread, groups->data[groups->len - 1 - pending].upto);
  }
}

void hb_remote(Emu *e, const Block *in, int lane) {
  size_t at = (size_t)in->rank * (size_t)e->hb->nthreads + (size_t)hb_thread(e, lane);
  if (in->rank == e->w->block) return;
  e->hb->remote[at] = hb_now(e);
  e->hb->remote_at[at] = (uint16_t)(e->at - e->k->code);
}

/* beginning */

void hb_begin_kernel(Emu *e) {
  Arena *a = e->c.arena;
  Hb *h = e->hb;
  uint32_t run = h->run;
  *h = (Hb){.run = run, .kernel_run = run + 1};
  h->nthreads = e->nwarps * LANES;
  h->nbars = e->nblocks * e->k->nbars;
  h->width = 3 * h->nthreads + h->nbars + e->nwarps;
  h->clock = NEWN(a, uint32_t, (size_t)h->nthreads * (size_t)h->width);
  h->now = NEWN(a, uint32_t, e->nwarps);
  h->met = NEWN(a, uint32_t, e->nwarps);
  h->join = hb_new_clock(e);
  h->meet = hb_new_clock(e);
  for (int k = 0; k < DONE_KINDS; k++) {
    h->issued[k] = NEWN(a, uint32_t, h->nthreads);
    h->done[k] = NEWN(a, ProgressList, h->nthreads);
  }
  h->groups = NEWN(a, ProgressList, h->nthreads);
  h->bulk_last = NEWN(a, uint32_t, h->nthreads);
  h->bulk_at = NEWN(a, uint16_t, h->nthreads);
  h->remote = NEWN(a, uint32_t, h->nthreads * e->nblocks);
  h->remote_at = NEWN(a, uint16_t, h->nthreads * e->nblocks);
}

void hb_begin_cluster(Emu *e) {
  Hb *h = e->hb;
  size_t n = (size_t)h->nthreads;
  h->run++;
  memset(h->clock, 0, sizeof *h->clock * n * (size_t)h->width);
  for (int i = 0; i < e->nwarps; i++) h->now[i] = h->met[i] = 1;
  h->ops.len = h->seen.len = 0;
  h->seen_free = 0;
  memset(h->bulk_last, 0, sizeof *h->bulk_last * n);
  memset(h->remote, 0, sizeof *h->remote * n * (size_t)e->nblocks);
  for (size_t t = 0; t < n; t++) h->groups[t].len = 0;
  for (int k = 0; k < DONE_KINDS; k++) {
    for (size_t t = 0; t < n; t++) h->issued[k][t] = 1, h->done[k][t].len = 0;
  }
}
