// mbarriers: arrivals, transaction counts, waits by parity, and what may go wrong with them.
// SPDX-License-Identifier: MIT
#include "emu/mbarrier.h"

#include <string.h>

enum { TX_LIMIT = (1 << 20) - 1 };

MBar *mbar_of(Emu *e, const Block *in, const ERegion *r, int64_t at, int lane) {
  int64_t places[LANES];
  places[lane] = at;
  if (!mem_in_range(e, r->buf, places, 1, UINT32_C(1) << lane)) return NULL;
  MBar *bar = &in->bars[r->buf->bar_base + at];
  bar->buf = r->buf;
  bar->at = at;
  return bar;
}

#define NAME(bar) (bar)->buf->buf->name, (long long)(bar)->at

static int thread_of(const Emu *e, int lane) { return e->w->number * LANES + lane; }

static bool ordered(const Emu *e, const MBar *bar, uint32_t time, int lane) {
  return time && hb_ordered(e, bar->by, time, hb_thread(e, lane));
}

bool mbar_ready(Emu *e, MBar *bar, int lane, bool async, bool remote) {
  if (!bar->live || (e->hb && !ordered(e, bar, bar->since, lane))) {
    EMU_FAIL(&e->m, e->at, DIAG_EMU_MBAR_INIT, e->at->span, NAME(bar), thread_of(e, lane));
    return bar->live;
  }
  if (!e->hb || !(async || remote)) return true;
  bool init = ordered(e, bar, bar->fenced, lane);
  bool proxy = !remote && ordered(e, bar, bar->proxied, lane);
  if (!init && !proxy)
    EMU_FAIL(&e->m, e->at, DIAG_EMU_MBAR_FENCE, e->at->span, NAME(bar),
             remote ? "another block" : "an asynchronous copy");
  return true;
}

void mbar_fenced(Emu *e, uint32_t mask, bool init) {
  if (!e->hb) return;
  for (int b = 0; b < e->nblocks; b++) {
    for (int i = 0; i < e->k->nbars; i++) {
      MBar *bar = &e->blocks[b].bars[i];
      if (!bar->live || bar->by / LANES != e->w->index || !(mask >> bar->by % LANES & 1)) continue;
      uint32_t *at = init ? &bar->fenced : &bar->proxied;
      if (!*at) *at = hb_now(e);
    }
  }
}

/* phases */

// Once phase m + 1 is complete, a thread that still is to wait for phase m would wait for m + 2.
static void check_waiters(Emu *e, const MBar *bar) {
  for (int w = 0; w < e->nwarps; w++) {
    if (!bar->waited_time[w] || bar->waited[w] != bar->phase) continue;
    uint32_t seen = hb_step(e, bar->clock, w);
    if (seen >= bar->waited_time[w]) continue;
    const char *why =
        arena_printf(e->m.arena, "it may complete before warp %d has waited for the phase before",
                     e->warps[w].number);
    EMU_FAIL(&e->m, e->at, DIAG_EMU_MBAR_ALIAS, e->at->span, bar->phase, NAME(bar), why);
  }
}

static void next_phase(Emu *e, MBar *bar) {
  int index = bar->index;
  if (e->hb) {
    check_waiters(e, bar);
    uint32_t *clock = bar->clock;
    clock[3 * e->hb->nthreads + index] = bar->phase + 1;
    bar->clock = bar->done;
    bar->done = clock;
    memset(bar->clock, 0, sizeof *clock * (size_t)e->hb->width);
  }
  bar->phase++;
  bar->pending = bar->count;
  for (int i = 0; i < e->nwarps; i++) {
    Warp *w = &e->warps[i];
    if (w->state == WARP_AT_MBAR && w->waits_bar == index) w->state = WARP_READY;
  }
}

static void try_complete(Emu *e, MBar *bar) {
  if (bar->tx > TX_LIMIT || bar->tx < -TX_LIMIT || (bar->pending == 0 && bar->tx < 0))
    EMU_FAIL(&e->m, e->at, DIAG_EMU_MBAR_TX, e->at->span, bar->phase, NAME(bar),
             (long long)bar->tx);
  if (bar->pending == 0 && bar->tx == 0) next_phase(e, bar);
}

void mbar_complete_tx(Emu *e, MBar *bar, int64_t bytes) {
  bar->tx -= bytes;
  if (bar->phase + 1 > bar->loads) {
    bar->loads = bar->phase + 1;
    bar->loads_at = (int)(e->at - e->k->code);
  }
  try_complete(e, bar);
}

// Copies of the lane that arrive, and wgmma that are done, show themselves and nothing else that
// the lane did.
static void arrive(Emu *e, MBar *bar, int lane, bool copies, bool wgmma) {
  if (bar->pending == 0) {
    EMU_FAIL(&e->m, e->at, DIAG_EMU_MBAR_COUNT, e->at->span, thread_of(e, lane), bar->phase,
             NAME(bar), bar->count);
    return;
  }
  if (e->hb && copies) hb_release_steps(e, UINT32_C(1) << lane, bar->clock);
  else if (e->hb && wgmma) hb_release_done(e, UINT32_C(1) << lane, bar->clock);
  else if (e->hb) hb_release(e, UINT32_C(1) << lane, bar->clock);
  bar->pending--;
  try_complete(e, bar);
}

/* ops */

static void init(Emu *e, const Instr *in, MBar *bar, int lane) {
  MBar old = *bar;
  *bar = (MBar){.live = true, .index = old.index, .buf = old.buf, .at = old.at};
  bar->count = bar->pending = (int)in->i[0];
  if (!e->hb) return;
  bar->clock = old.clock;
  bar->done = old.done;
  bar->waited = old.waited;
  bar->waited_time = old.waited_time;
  bar->by = hb_thread(e, lane);
  bar->since = hb_now(e);
}

// Is the phase of this parity complete? Then the lane has seen it.
static bool wait(Emu *e, MBar *bar, uint32_t parity, int lane) {
  if ((bar->phase & 1) == parity) return false;
  if (!e->hb) return true;
  int w = e->w->index, index = bar->index;
  uint32_t seen = hb_clock(e, hb_thread(e, lane))[3 * e->hb->nthreads + index];
  if (seen + 1 < bar->phase) {
    const char *why = arena_printf(
        e->m.arena, "thread %d waits for its parity, but has not seen that phase %u is complete",
        thread_of(e, lane), bar->phase - 2);
    EMU_FAIL(&e->m, e->at, DIAG_EMU_MBAR_ALIAS, e->at->span, bar->phase - 1, NAME(bar), why);
  }
  if (bar->phase) hb_acquire(e, UINT32_C(1) << lane, bar->done);
  if (lane == __builtin_ctz(e->w->mask)) hb_tick(e);
  e->w->waited |= UINT32_C(1) << lane;
  bar->waited[w] = bar->phase;
  bar->waited_time[w] = hb_now(e);
  return true;
}

// The warp goes on once every lane may; until then the instruction is tried again.
static void wait_lanes(Emu *e, const Instr *in, const int64_t *at, const int64_t *parity) {
  Warp *w = e->w;
  w->apart |= w->mask != w->full;
  for (int i = 0; i < LANES; i++) {
    if (!(w->mask >> i & 1)) continue;
    MBar *bar = mbar_of(e, emu_block(e), &in->r[0], at[i], i);
    if (!bar || !mbar_ready(e, bar, i, false, false)) continue;
    if (wait(e, bar, (uint32_t)(parity[i] & 1), i)) continue;
    w->state = WARP_AT_MBAR;
    w->waits_bar = bar->index;
    w->waits_parity = (uint32_t)(parity[i] & 1);
    w->pc--;
    return;
  }
}

static void one(Emu *e, const Instr *in, int64_t at, int64_t operand, int lane) {
  const Block *block = emu_block(e);
  bool remote = in->op == OP_MBAR_ARRIVE_REMOTE;
  if (remote && (operand < 0 || operand >= e->nblocks)) {
    EMU_FAIL(&e->m, in, DIAG_EMU_RANK, in->span, thread_of(e, lane), (long long)operand,
             e->nblocks);
    return;
  }
  if (remote) block = &e->blocks[operand];
  MBar *bar = mbar_of(e, block, &in->r[0], at, lane);
  if (!bar) return;
  if (in->op == OP_MBAR_INIT) {
    init(e, in, bar, lane);
    return;
  }
  remote = block != emu_block(e);
  if (!mbar_ready(e, bar, lane, false, remote)) return;
  if (e->hb && remote) hb_remote(e, block, lane);
  if (in->op == OP_MBAR_ARRIVE_TX || in->op == OP_MBAR_EXPECT_TX) {
    bar->tx += operand;
    if (in->op == OP_MBAR_EXPECT_TX) try_complete(e, bar);
  }
  if (in->op == OP_MBAR_ARRIVE_COPIES && e->hb) {
    int thread = hb_thread(e, lane);
    uint32_t number = e->hb->issued[DONE_CP][thread]++;
    hb_progress_bar(e, thread, number, bar->index, bar->phase + 1);
  }
  bool copies = in->op == OP_MBAR_ARRIVE_COPIES;
  bool wgmma = in->op == OP_MBAR_ARRIVE_REMOTE && in->i[0];
  if (in->op != OP_MBAR_EXPECT_TX) arrive(e, bar, lane, copies, wgmma);
}

void warp_mbar(Emu *e, const Instr *in) {
  uint32_t mask = e->w->mask;
  int64_t at[LANES], operand[LANES] = {0};
  mem_lanes(e, in->r[0].min, mask, at);
  if (in->e[0]) mem_lanes(e, in->e[0], mask, operand);
  if (in->op == OP_MBAR_WAIT) {
    wait_lanes(e, in, at, operand);
    return;
  }
  if (mask == e->w->full) hb_together(e); // each lane tells of itself
  for (int i = 0; i < LANES; i++)
    if (mask >> i & 1) one(e, in, at[i], operand[i], i);
}

const char *mbar_waits_for(Emu *e, const Warp *w) {
  const MBar *bar = &e->blocks[w->waits_bar / e->k->nbars].bars[w->waits_bar % e->k->nbars];
  return arena_printf(
      e->m.arena,
      "phase %u (parity %u) of mbarrier '%s'[%lld]: %d of %d arrivals and %lld bytes "
      "are missing",
      bar->phase, w->waits_parity, NAME(bar), bar->pending, bar->count, (long long)bar->tx);
}

/* beginning */

void mbar_begin_kernel(Emu *e, Block *b) {
  b->bars = NEWN(e->c.arena, MBar, e->k->nbars + 1);
  for (int i = 0; i < e->k->nbars; i++) b->bars[i].index = b->rank * e->k->nbars + i;
  for (int i = 0; e->hb && i < e->k->nbars; i++) {
    b->bars[i].clock = hb_new_clock(e);
    b->bars[i].done = hb_new_clock(e);
    b->bars[i].waited = NEWN(e->c.arena, uint32_t, e->nwarps);
    b->bars[i].waited_time = NEWN(e->c.arena, uint32_t, e->nwarps);
  }
}

void mbar_begin_block(Emu *e, Block *b) {
  for (int i = 0; i < e->k->nbars; i++) {
    MBar *bar = &b->bars[i];
    bar->live = false;
    bar->loads = bar->since = bar->fenced = bar->proxied = bar->phase = 0;
    if (!e->hb) continue;
    memset(bar->clock, 0, sizeof *bar->clock * (size_t)e->hb->width);
    memset(bar->done, 0, sizeof *bar->done * (size_t)e->hb->width);
    memset(bar->waited_time, 0, sizeof *bar->waited_time * (size_t)e->nwarps);
  }
}
