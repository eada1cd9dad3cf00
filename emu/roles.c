// What warps with different roles share: named barriers, the cluster's barrier, registers.
// SPDX-License-Identifier: MIT
#include "emu/clocks.h"

#include <string.h>

static bool whole(Emu *e, const Instr *in) {
  if (e->w->mask == e->w->full) {
    hb_together(e);
    return true;
  }
  EMU_FAIL(&e->m, in, DIAG_EMU_COLLECTIVE, in->span, op_info(in->op)->name, e->w->number,
           __builtin_popcount(e->w->mask));
  return false;
}

/* named barriers: bar.sync and bar.arrive with a number and a count */

static void misuse(Emu *e, const Instr *in, int64_t id, const char *why) {
  EMU_FAIL(&e->m, in, DIAG_EMU_NAMED, in->span, (long long)id, why);
}

// All are here: those that wait go on, having seen what every one released.
static void open_barrier(Emu *e, Block *block, Named *n, int id) {
  Warp *self = e->w;
  for (int i = 0; i < e->k->nwarps; i++) {
    Warp *w = &e->warps[block->first_warp + i];
    if (!(n->warps >> i & 1)) continue;
    e->w = w;
    if (e->hb && (w == self || w->state == WARP_AT_NAMED) && w->named == id)
      hb_acquire(e, w->full, n->clock);
    if (w->state == WARP_AT_NAMED && w->named == id) w->state = WARP_READY;
  }
  e->w = self;
  n->threads = n->arrived = 0;
  n->warps = 0;
  if (e->hb) memset(n->clock, 0, sizeof *n->clock * (size_t)e->hb->width);
}

void warp_named(Emu *e, const Instr *in) {
  Warp *w = e->w;
  Block *block = emu_block(e);
  int threads = (int)in->i[0];
  int64_t id = emu_eval_int(&e->m, in->e[0]);
  if (!whole(e, in)) return;
  if (id < 1 || id >= NAMED_BARRIERS) {
    misuse(e, in, id, "barriers have the numbers 1 to 15");
    return;
  }
  Named *n = &block->named[id];
  if (n->threads && n->threads != threads)
    misuse(e, in, id,
           arena_printf(e->m.arena, "%d threads are expected here, but %d elsewhere", threads,
                        n->threads));
  if (n->warps >> w->number & 1)
    misuse(e, in, id, arena_printf(e->m.arena, "warp %d arrives twice in one phase", w->number));
  if (!n->threads) n->first = in;
  n->threads = threads;
  n->arrived += LANES;
  n->warps |= UINT64_C(1) << w->number;
  if (e->hb) hb_release(e, w->full, n->clock);
  w->named = in->op == OP_BAR_SYNC ? (int)id : -1;
  if (n->arrived >= n->threads) open_barrier(e, block, n, (int)id);
  else if (in->op == OP_BAR_SYNC) w->state = WARP_AT_NAMED;
}

/* the cluster's barrier */

static void cluster_fault(Emu *e, const Instr *in, const char *why) {
  EMU_FAIL(&e->m, in, DIAG_EMU_CLUSTER, in->span, e->w->number, why);
}

static void cluster_complete(Emu *e) {
  ClusterBarrier *c = &e->cluster;
  int needed = 0;
  for (int i = 0; i < e->nwarps; i++)
    needed += e->warps[i].state != WARP_DONE || e->warps[i].cluster_arrived;
  if (!c->arrived || c->arrived < needed) return;
  if (e->hb) {
    uint32_t *clock = c->clock;
    c->clock = c->done;
    c->done = clock;
    memset(c->clock, 0, sizeof *clock * (size_t)e->hb->width);
  }
  c->phase++;
  c->arrived = 0;
  for (int i = 0; i < e->nwarps; i++) {
    if (e->warps[i].state == WARP_DONE) e->warps[i].cluster_arrived = false;
    if (e->warps[i].state == WARP_AT_CLUSTER) e->warps[i].state = WARP_READY;
  }
}

void cluster_warp_done(Emu *e) { cluster_complete(e); }

void warp_cluster_arrive(Emu *e, const Instr *in) {
  Warp *w = e->w;
  if (!whole(e, in)) return;
  if (w->apart)
    cluster_fault(e, in, "arrives while a lane may still wait alone: no sync_warp came since");
  if (w->cluster_arrived) {
    cluster_fault(e, in, "arrives at the cluster's barrier twice without waiting for it");
    return;
  }
  w->cluster_arrived = true;
  w->cluster_phase = e->cluster.phase;
  e->cluster.arrived++;
  if (e->hb) hb_release(e, w->full, e->cluster.clock);
  cluster_complete(e);
}

void warp_cluster_wait(Emu *e, const Instr *in) {
  Warp *w = e->w;
  if (!whole(e, in)) return;
  if (!w->cluster_arrived) {
    cluster_fault(e, in, "waits at the cluster's barrier without having arrived");
    return;
  }
  if (e->cluster.phase == w->cluster_phase) {
    w->state = WARP_AT_CLUSTER;
    w->pc--;
    return;
  }
  w->cluster_arrived = false;
  if (e->hb) hb_acquire(e, w->full, e->cluster.done);
}

/* registers: setmaxnreg moves them between the warps of a block */

// What a thread starts with: the most that ptxas may give it under the launch bounds.
static int entry_regs(const EKernel *k) {
  int blocks = k->kernel->min_blocks > 0 ? k->kernel->min_blocks : 1;
  int regs = 65536 / blocks / k->threads / 8 * 8;
  return regs > 256 ? 256 : regs;
}

void warp_setmaxnreg(Emu *e, const Instr *in) {
  Warp *w = e->w;
  Block *block = emu_block(e);
  int regs = (int)in->i[0], more = regs - w->max_regs;
  bool inc = in->i[1];
  if (!whole(e, in)) return;
  if (inc ? more < 0 : more > 0) {
    EMU_FAIL(&e->m, in, DIAG_EMU_REGS, in->span,
             arena_printf(e->m.arena, "warp %d has %d registers a thread, and cannot %s to %d",
                          w->number, w->max_regs, inc ? "increase" : "decrease", regs));
    return;
  }
  if ((int64_t)more * LANES > block->free_regs) {
    w->state = WARP_AT_REGS;
    w->pc--;
    return;
  }
  block->free_regs -= (int64_t)more * LANES;
  w->max_regs = regs;
  w->reg_changes++;
  for (int i = 0; more < 0 && i < e->k->nwarps; i++) {
    Warp *other = &e->warps[block->first_warp + i];
    if (other->state == WARP_AT_REGS) other->state = WARP_READY;
  }
}

// The warps of a warpgroup change together.
static void check_warpgroups(Emu *e, const Block *b) {
  for (int i = 0; i < e->k->nwarps; i++) {
    const Warp *w = &e->warps[b->first_warp + i], *first = &e->warps[b->first_warp + i / 4 * 4];
    if (w->max_regs == first->max_regs && w->reg_changes == first->reg_changes) continue;
    EMU_FAIL(
        &e->m, e->k, DIAG_EMU_REGS, e->k->kernel->span,
        arena_printf(e->m.arena,
                     "warp %d ends with %d registers a thread after %d changes, warp %d of its "
                     "warpgroup with %d after %d",
                     first->number, first->max_regs, first->reg_changes, w->number, w->max_regs,
                     w->reg_changes));
  }
}

/* results */

void warp_result(Emu *e, const Instr *in) {
  const ERegion *dst = &in->r[0];
  uint32_t mask = e->w->mask;
  uint8_t *to = mem_registers(e, dst, 1);
  if (!to || (in->op == OP_ELECT && !whole(e, in))) return;
  for (int i = 0; i < LANES; i++) {
    if (!(mask >> i & 1)) continue;
    Val v = emu_int(in->op == OP_ELECT ? i == __builtin_ctz(mask) : e->w->block);
    emu_write(dst->buf->stored, to, i, v);
  }
}

/* beginning and end */

void roles_begin_kernel(Emu *e) {
  for (int b = 0; e->hb && b < e->nblocks; b++)
    for (int i = 0; i < NAMED_BARRIERS; i++) e->blocks[b].named[i].clock = hb_new_clock(e);
  e->cluster = (ClusterBarrier){0};
  if (!e->hb) return;
  e->cluster.clock = hb_new_clock(e);
  e->cluster.done = hb_new_clock(e);
}

void roles_begin_block(Emu *e, Block *b) {
  size_t bytes = e->hb ? sizeof(uint32_t) * (size_t)e->hb->width : 0;
  for (int i = 0; i < NAMED_BARRIERS; i++) {
    Named *n = &b->named[i];
    n->threads = n->arrived = 0;
    n->warps = 0;
    if (bytes) memset(n->clock, 0, bytes);
  }
  b->free_regs = 0;
  e->cluster.arrived = 0;
  if (bytes) memset(e->cluster.clock, 0, bytes);
  for (int i = 0; i < e->k->nwarps; i++) {
    Warp *w = &e->warps[b->first_warp + i];
    w->max_regs = entry_regs(e->k);
    w->reg_changes = 0;
    w->cluster_arrived = w->apart = false;
    w->waited = 0;
    w->named = -1;
  }
}

static void check_named(Emu *e, const Block *b) {
  for (int i = 1; i < NAMED_BARRIERS; i++) {
    const Named *n = &b->named[i];
    if (!n->threads) continue;
    EMU_FAIL(&e->m, n->first, DIAG_EMU_NAMED, n->first->span, (long long)i,
             arena_printf(e->m.arena, "the block ends with %d of %d threads here", n->arrived,
                          n->threads));
  }
}

void roles_end_block(Emu *e, const Block *b) {
  check_named(e, b);
  check_warpgroups(e, b);
}
