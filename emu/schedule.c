// The blocks of a kernel, cluster after cluster, their warps interleaved by a seeded schedule.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/sm90.h"

static uint64_t next_random(Emu *e) { // xorshift64*
  e->random ^= e->random >> 12;
  e->random ^= e->random << 25;
  e->random ^= e->random >> 27;
  return e->random * UINT64_C(2685821657736338717);
}

Block *emu_block(const Emu *e) { return &e->blocks[e->w->block]; }

const char *emu_lane_list(Emu *e, const Warp *w, uint32_t lanes) {
  Buf b = {0};
  for (int i = 0; i < LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    int last = i;
    while (last + 1 < LANES && lanes >> (last + 1) & 1) last++;
    int first = w->number * LANES + i;
    buf_printf(&b, last > i ? "%s%d-%d" : "%s%d", b.len ? ", " : "", first, first + last - i);
    i = last;
  }
  const char *text = arena_str(e->m.arena, buf_str(&b));
  buf_free(&b);
  return text;
}

// Shared buffers stand for those of this block from here on.
static void enter_block(Emu *e, const Block *b) {
  e->shared = b->shared;
  e->block = b->number;
  for (int i = 0; i < e->k->shared.len; i++) {
    EBuf *s = e->k->shared.data[i];
    s->raw = b->smem + s->base;
  }
}

void warp_enter(Emu *e, Warp *w) {
  if (e->nblocks > 1 && (!e->w || e->w->block != w->block)) enter_block(e, &e->blocks[w->block]);
  e->w = w;
  e->m.uni = w->uni;
  e->m.lane = w->lane;
}

/* barriers of a block, and deadlock */

// All warps of the block wait: a new epoch begins.
static void release_barrier(Emu *e, Block *b) {
  Warp *first = &e->warps[b->first_warp];
  for (int i = 0; i < e->k->nwarps; i++) {
    Warp *w = &first[i];
    if (w->pc != first->pc && e->checks) {
      const Instr *at = &e->k->code[first->pc - 1];
      if (emu_first(&e->m, at, (int)DIAG_EMU_BARRIERS - EMU_FIRST_DIAG)) {
        diag_report(e->m.diags, DIAG_EMU_BARRIERS, at->span, 0, i);
        diag_note(e->m.diags, e->k->code[w->pc - 1].span, "the other barrier is here");
      }
    }
    w->state = WARP_READY;
    memcpy(w->settled, w->complete, sizeof w->settled);
  }
  block_voted(e, b);
  if (e->hb) hb_barrier(e, b->first_warp, e->k->nwarps);
  e->epoch++;
  e->report->barriers++;
}

static bool release_barriers(Emu *e) {
  bool any = false;
  for (int b = 0; b < e->nblocks; b++) {
    bool all = true;
    for (int i = 0; all && i < e->k->nwarps; i++)
      all = e->warps[e->blocks[b].first_warp + i].state == WARP_AT_BARRIER;
    if (all) release_barrier(e, &e->blocks[b]);
    any |= all;
  }
  return any;
}

static const char *waits_for(Emu *e, const Warp *w) {
  Arena *a = e->m.arena;
  switch (w->state) {
  case WARP_AT_MBAR: return mbar_waits_for(e, w);
  case WARP_AT_CLUSTER: return "the other threads of the cluster";
  case WARP_AT_REGS:
    return arena_printf(a, "registers, of which the block has %lld free",
                        (long long)e->blocks[w->block].free_regs);
  case WARP_AT_NAMED: {
    const Named *n = &e->blocks[w->block].named[w->named];
    return arena_printf(a, "barrier %d, at which %d of %d threads have arrived", w->named,
                        n->arrived, n->threads);
  }
  default: return "the other threads of its block";
  }
}

static const Instr *stands_at(const Emu *e, const Warp *w) {
  bool retries = w->state >= WARP_AT_MBAR;
  return &e->k->code[retries ? w->pc : w->pc - 1];
}

// Every warp that is left waits: for what, each at its place once.
static void report_stuck(Emu *e) {
  const Warp *first = NULL;
  int notes = 0;
  for (int i = 0; i < e->nwarps; i++) {
    const Warp *w = &e->warps[i];
    const Instr *at = stands_at(e, w);
    const char *who = e->nblocks == 1 ? arena_printf(e->m.arena, "warp %d", w->number)
                                      : arena_printf(e->m.arena, "warp %d of block %lld", w->number,
                                                     (long long)e->blocks[w->block].number);
    if (w->state == WARP_DONE) continue;
    if (!first) {
      first = w;
      if (!emu_first(&e->m, at, (int)DIAG_EMU_STUCK - EMU_FIRST_DIAG)) return;
      diag_report(e->m.diags, DIAG_EMU_STUCK, at->span, who, waits_for(e, w));
    } else if (notes++ < 8) {
      diag_note(e->m.diags, at->span, "%s waits for %s", who, waits_for(e, w));
    }
  }
}

static void report_deadlock(Emu *e) {
  const Warp *stuck = NULL, *gone = NULL;
  if (e->clocked) {
    report_stuck(e);
    return;
  }
  for (int i = 0; i < e->nwarps; i++) {
    if (e->warps[i].state == WARP_AT_BARRIER && !stuck) stuck = &e->warps[i];
    if (e->warps[i].state == WARP_DONE && !gone) gone = &e->warps[i];
  }
  const Instr *at = &e->k->code[stuck->pc - 1];
  const char *why =
      arena_printf(e->m.arena, "warp %d (threads %d-%d) ended without reaching it", gone->number,
                   gone->number * LANES, gone->number * LANES + 31 - __builtin_clz(gone->full));
  EMU_FAIL(&e->m, at, DIAG_EMU_DEADLOCK, at->span, stuck->number, why);
}

static bool stopped(Emu *e) {
  if (e->m.reports >= e->m.max_reports) return true;
  uint64_t limit = e->options->max_steps;
  if (!limit || e->report->steps < limit) return false;
  EMU_FAIL(&e->m, e->k, DIAG_EMU_STEPS, e->at ? e->at->span : e->k->kernel->span,
           (unsigned long long)limit);
  return true;
}

// Runs warps, each for a random while, until all end. False when they cannot go on.
static bool schedule(Emu *e) {
  for (;;) {
    int ready = 0, done = 0;
    for (int i = 0; i < e->nwarps; i++) {
      ready += e->warps[i].state == WARP_READY;
      done += e->warps[i].state == WARP_DONE;
    }
    if (done == e->nwarps) return true;
    if (!ready && !release_barriers(e)) {
      report_deadlock(e);
      return false;
    }
    if (!ready) continue;
    uint64_t random = next_random(e) >> 16;
    int pick = (int)(random % (uint64_t)ready), i = 0;
    while (e->warps[i].state != WARP_READY || pick-- > 0) i++;
    warp_enter(e, &e->warps[i]);
    warp_run(e, 1 + (int)(random >> 16 & 63));
    if (e->clocked && e->w->state == WARP_DONE) cluster_warp_done(e);
    if (stopped(e)) return false;
  }
}

/* one cluster: one block, for most kernels */

static void fill_poison(uint8_t *p, int64_t n) {
  memset(p, 0xff, (size_t)n); // NaN in every float type, -1 in integers
}

static void begin_block(Emu *e, Block *b, const Val *scalars, const int64_t *at) {
  const EKernel *k = e->k;
  b->votes = b->voters = 0;
  fill_poison(b->smem, k->smem_bytes);
  for (int i = 0; i < k->nwarps; i++) {
    Warp *w = &e->warps[b->first_warp + i];
    int left = k->threads - i * LANES;
    w->full = w->mask = left >= LANES ? ALL_LANES : (UINT32_C(1) << left) - 1;
    w->pc = w->depth = 0;
    w->state = WARP_READY;
    memset(w->committed, 0, sizeof w->committed);
    memset(w->complete, 0, sizeof w->complete);
    memset(w->settled, 0, sizeof w->settled);
    memcpy(w->uni, scalars, sizeof(Val) * (size_t)e->c.nuniform);
    for (int a = 0; a < 3; a++)
      if (k->block_slot[a] >= 0) w->uni[k->block_slot[a] >> 1].i = at[a];
    for (int l = 0; k->thread_slot >= 0 && l < LANES; l++)
      w->lane[k->thread_slot >> 1][l].i = i * LANES + l;
    fill_poison(w->regs, k->reg_bytes);
  }
  mbar_begin_block(e, b);
  roles_begin_block(e, b);
}

// Blocks of a cluster are numbered x fastest.
static bool run_cluster(Emu *e, const Val *scalars, const int64_t *grid, const int64_t *first) {
  const int *c = e->k->cluster;
  e->block_base = ++e->epoch;
  if (e->hb) hb_begin_cluster(e);
  for (int r = 0; r < e->nblocks; r++) {
    const int64_t at[3] = {first[0] + r % c[0], first[1] + r / c[0] % c[1],
                           first[2] + r / c[0] / c[1]};
    e->blocks[r].number = (at[2] * grid[1] + at[1]) * grid[0] + at[0];
    begin_block(e, &e->blocks[r], scalars, at);
  }
  e->w = NULL;
  enter_block(e, &e->blocks[0]);
  if (!schedule(e)) return false;
  for (int r = 0; r < e->nblocks; r++) sm90_end_block(e, &e->blocks[r]);
  return true;
}

/* one kernel */

static void new_shadow(Emu *e, Shadow *s) {
  Arena *a = e->c.arena;
  s->n = e->k->smem_bytes / e->k->cell_bytes + 1;
  if (e->hb) s->hcell = NEWN(a, HCell, s->n);
  if (!e->checks || e->hb) return;
  s->cell = NEWN(a, Cell, s->n);
  s->group = NEWN(a, uint32_t, s->n);
}

static void begin_kernel(Emu *e, const EKernel *k) {
  Arena *a = e->c.arena;
  e->k = k;
  e->nblocks = k->nblocks;
  e->nwarps = k->nwarps * e->nblocks;
  e->warps = NEWN(a, Warp, e->nwarps + 1);
  for (int i = 0; i < e->nwarps; i++) {
    Warp *w = &e->warps[i];
    w->index = i;
    w->block = i / k->nwarps;
    w->number = i % k->nwarps;
    w->frame = NEWN(a, WarpFrame, MAX_DEPTH);
    w->uni = NEWN(a, Val, e->c.nuniform + 1);
    w->lane = NEWN(a, LaneVals, e->c.nlane + 1);
    w->regs = arena_alloc(a, (size_t)k->reg_bytes + 64);
  }
  e->blocks = NEWN(a, Block, e->nblocks);
  if (e->hb) hb_begin_kernel(e);
  for (int i = 0; i < e->nblocks; i++) {
    Block *b = &e->blocks[i];
    b->rank = i;
    b->first_warp = i * k->nwarps;
    b->smem = arena_alloc(a, (size_t)k->smem_bytes + 64);
    new_shadow(e, &b->shared);
    mbar_begin_kernel(e, b);
  }
  roles_begin_kernel(e);
  tma_begin_kernel(e);
  e->kernel_base = e->epoch + 1;
}

void emu_run_kernel(Emu *e, const EKernel *k) {
  int64_t grid[3], clusters[3], total = 1;
  Val *scalars = e->m.uni;
  for (int i = 0; i < 3; i++) {
    grid[i] = emu_eval_int(&e->m, k->grid[i]);
    if (i == 0 && k->workers_slot >= 0) {
      int64_t most = (e->options->sms ? e->options->sms : EMU_SMS) / k->cluster[0] * k->cluster[0];
      if (grid[0] > most) grid[0] = most < k->cluster[0] ? k->cluster[0] : most;
      e->m.uni[k->workers_slot >> 1].i = grid[0];
    }
    clusters[i] = grid[i] / k->cluster[i];
    if (grid[i] > 0 && grid[i] % k->cluster[i])
      EMU_FAIL(&e->m, k, DIAG_EMU_GRID, k->kernel->span, (long long)grid[i], k->cluster[i]);
    total *= clusters[i] > 0 ? clusters[i] : 0;
  }
  if (total == 0) return;
  begin_kernel(e, k);
  for (int64_t i = 0; i < total; i++) {
    const int64_t first[3] = {i % clusters[0] * k->cluster[0],
                              i / clusters[0] % clusters[1] * k->cluster[1],
                              i / clusters[0] / clusters[1] * k->cluster[2]};
    if (!run_cluster(e, scalars, grid, first) &&
        (e->m.reports >= e->m.max_reports || e->options->max_steps))
      break;
  }
  e->m.uni = scalars;
}
