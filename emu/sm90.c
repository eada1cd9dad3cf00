// The ops of sm_90a: who runs which, and what must hold when a block ends.
// SPDX-License-Identifier: MIT
#include "emu/sm90.h"

void warp_sm90(Emu *e, const Instr *in) {
  switch (in->op) {
  case OP_MBAR_INIT:
  case OP_MBAR_ARRIVE:
  case OP_MBAR_ARRIVE_TX:
  case OP_MBAR_EXPECT_TX:
  case OP_MBAR_ARRIVE_REMOTE:
  case OP_MBAR_ARRIVE_COPIES:
  case OP_MBAR_WAIT: warp_mbar(e, in); break;
  case OP_TMA_LOAD:
  case OP_TMA_STORE:
  case OP_TMA_REDUCE: warp_tma(e, in); break;
  case OP_TMA_PREFETCH:
  case OP_WGMMA_KEEP:
  case OP_GRID_WAIT:
  case OP_GRID_TRIGGER: break; // kernels run one after the other
  case OP_BULK_LOAD:
  case OP_BULK_STORE:
  case OP_BULK_REDUCE: warp_bulk(e, in); break;
  case OP_BULK_COMMIT: warp_bulk_commit(e); break;
  case OP_BULK_WAIT: warp_bulk_wait(e, in); break;
  case OP_BAR_SYNC:
  case OP_BAR_ARRIVE: warp_named(e, in); break;
  case OP_CLUSTER_ARRIVE: warp_cluster_arrive(e, in); break;
  case OP_CLUSTER_WAIT: warp_cluster_wait(e, in); break;
  case OP_SETMAXNREG: warp_setmaxnreg(e, in); break;
  case OP_ELECT:
  case OP_CLUSTER_RANK: warp_result(e, in); break;
  case OP_FENCE_MBAR_INIT:
    mbar_fenced(e, e->w->mask, true);
    if (e->hb) hb_tick(e);
    break;
  case OP_FENCE_PROXY:
    if (in->i[0] != FENCE_GLOBAL) mbar_fenced(e, e->w->mask, false);
    if (e->hb) hb_fence(e, e->w->mask, (int)in->i[0]);
    break;
  case OP_SYNC_WARP:
    if (e->w->mask == e->w->full) e->w->apart = false;
    if (e->hb) hb_warp_barrier(e, e->w->mask);
    break;
  default: die("the emulator has no '%s'", op_info(in->op)->name);
  }
}

// Ops whose order block barriers do not tell.
static bool orders(OpCode op) {
  return op == OP_SYNC_WARP || (op >= OP_MBAR_INIT && op <= OP_SETMAXNREG) || // ORDER_SM90
         (op >= OP_WGMMA && op <= OP_WGMMA_WAIT);
}

static void look(void *ctx, Stmt *s) {
  if (s->kind == ST_OP) *(bool *)ctx |= orders(s->u.op.op);
}

bool sm90_clocked(const Kernel *k) {
  bool found = kernel_cluster(k) > 1;
  st_walk(k->body, look, &found);
  return found;
}

/* the end of a cluster: what is still on its way? */

static const Instr *place(const Emu *e, int at) { return &e->k->code[at]; }

// A copy into the block's memory that none of its threads has waited for.
static void check_loads(Emu *e, const Block *b) {
  for (int i = 0; i < e->k->nbars; i++) {
    const MBar *bar = &b->bars[i];
    bool seen = !bar->live || !bar->loads;
    int index = 3 * e->hb->nthreads + bar->index;
    for (int t = 0; !seen && t < e->k->nwarps * LANES; t++)
      seen = hb_clock(e, b->first_warp * LANES + t)[index] >= bar->loads;
    if (seen) continue;
    const Instr *at = place(e, bar->loads_at);
    EMU_FAIL(&e->m, at, DIAG_EMU_EXIT, at->span, (long long)b->number,
             "a copy issued here may still write its shared memory");
  }
}

// A bulk copy that still reads the block's memory.
static void check_stores(Emu *e, const Block *b) {
  for (int i = 0; i < e->k->nwarps * LANES; i++) {
    int thread = b->first_warp * LANES + i;
    uint32_t last = e->hb->bulk_last[thread], time;
    if (!last || hb_done_at(e, DONE_BULK_READ, thread, last, &time)) continue;
    const Instr *at = place(e, e->hb->bulk_at[thread]);
    EMU_FAIL(&e->m, at, DIAG_EMU_EXIT, at->span, (long long)b->number,
             "a copy issued here may still read its shared memory");
  }
}

// Threads of other blocks that touch the block's memory, and of which it knows nothing since.
static void check_remote(Emu *e, const Block *b) {
  const uint32_t *last = e->hb->remote + (size_t)b->rank * (size_t)e->hb->nthreads;
  for (int t = 0; t < e->hb->nthreads; t++) {
    bool seen = !last[t];
    for (int i = 0; !seen && i < e->k->nwarps * LANES; i++)
      seen = hb_clock(e, b->first_warp * LANES + i)[t] >= last[t];
    if (seen) continue;
    const Instr *at = place(e, (e->hb->remote_at + (last - e->hb->remote))[t]);
    EMU_FAIL(&e->m, at, DIAG_EMU_EXIT, at->span, (long long)b->number,
             "another block of its cluster may still touch its shared memory from here");
  }
}

void sm90_end_block(Emu *e, const Block *b) {
  roles_end_block(e, b);
  if (!e->hb) return;
  check_loads(e, b);
  check_stores(e, b);
  check_remote(e, b);
}
