// One warp: control flow under lane masks, lets, and the dispatch of ops.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/clocks.h"
#include "emu/wgmma.h"

static void set_let(Emu *e, const Instr *in) {
  int slot = in->slot >> 1;
  if (in->slot & SLOT_LANE) {
    LaneVals v;
    emu_eval(&e->m, in->a, e->w->mask, LANES, v, NULL);
    memcpy(e->m.lane[slot], v, sizeof v);
  } else {
    e->m.pick = __builtin_ctz(e->w->mask);
    e->m.uni[slot] = emu_eval1(&e->m, in->a);
  }
}

static WarpFrame *push(Warp *w) {
  WarpFrame *f = &w->frame[w->depth++];
  f->saved = w->mask;
  return f;
}

static void begin_if(Emu *e, const Instr *in) {
  Warp *w = e->w;
  uint32_t yes = emu_eval_mask(&e->m, in->a, w->mask);
  WarpFrame *f = push(w);
  f->other = w->mask & ~yes;
  if (yes) w->mask = yes;
  else w->pc = in->target;
}

static void begin_else(Warp *w, const Instr *in) {
  WarpFrame *f = &w->frame[w->depth - 1];
  if (f->other) w->mask = f->other;
  else w->pc = in->target;
}

// Sets the loop variable of each lane whose iterations last; false when none does.
static bool lane_iteration(Warp *w, WarpFrame *f, int slot) {
  uint32_t mask = 0;
  for (int i = 0; i < LANES; i++) {
    if (!(f->other >> i & 1) || f->it >= f->extent[i].i) continue;
    mask |= UINT32_C(1) << i;
    w->lane[slot][i].i = f->min[i].i + f->it;
  }
  if (mask) w->mask = mask;
  return mask != 0;
}

// The next iteration of the lanes that go on (f->other) and whose condition holds; false when there
// are none.
static bool iteration(Emu *e, const Instr *in, WarpFrame *f) {
  Warp *w = e->w;
  int slot = in->slot >> 1;
  if (in->slot & SLOT_LANE) {
    if (!lane_iteration(w, f, slot)) return false;
  } else {
    w->uni[slot].i = f->min[0].i + f->it;
    if (f->it >= f->n) return false;
    w->mask = f->other;
  }
  if (!in->e[0]) return true;
  uint32_t on = emu_eval_mask(&e->m, in->e[0], w->mask);
  f->other = on;
  if (on) w->mask = on;
  return on != 0;
}

static void begin_for(Emu *e, const Instr *in) {
  Warp *w = e->w;
  WarpFrame *f = push(w);
  f->it = 0;
  f->other = w->mask;
  if (in->slot & SLOT_LANE) {
    emu_eval(&e->m, in->a, w->mask, LANES, f->min, NULL);
    emu_eval(&e->m, in->b, w->mask, LANES, f->extent, NULL);
  } else {
    e->m.pick = __builtin_ctz(w->mask);
    f->min[0].i = emu_eval_int(&e->m, in->a);
    f->n = emu_eval_int(&e->m, in->b);
  }
  if (iteration(e, in, f)) return;
  w->mask = f->saved;
  w->depth--;
  w->pc = in->target;
}

static void next_for(Emu *e, const Instr *in) {
  Warp *w = e->w;
  WarpFrame *f = &w->frame[w->depth - 1];
  f->it++;
  if (iteration(e, in, f)) {
    w->pc = in->target;
  } else {
    w->mask = f->saved;
    w->depth--;
  }
}

/* ops */

static void barrier(Emu *e, const Instr *in) {
  Warp *w = e->w;
  w->state = WARP_AT_BARRIER;
  if (w->mask == w->full || !e->checks) return;
  EMU_FAIL(&e->m, in, DIAG_EMU_DIVERGENT, in->span, emu_lane_list(e, w, w->full & ~w->mask),
           w->number);
}

static void commit(Warp *w) {
  for (int i = 0; i < LANES; i++) w->committed[i] += w->mask >> i & 1;
}

static void wait(Warp *w, int64_t pending) {
  for (int i = 0; i < LANES; i++) {
    if (!(w->mask >> i & 1) || w->committed[i] < pending) continue;
    uint32_t done = w->committed[i] - (uint32_t)pending;
    if (done > w->complete[i]) w->complete[i] = done;
  }
}

// Do all threads of `full` reach the op together?
static bool together(Emu *e, const Instr *in, uint32_t full) {
  if (e->w->mask == full) {
    hb_together(e);
    return true;
  }
  EMU_FAIL(&e->m, in, DIAG_EMU_COLLECTIVE, in->span, op_info(in->op)->name, e->w->number,
           __builtin_popcount(e->w->mask));
  return false;
}

static void run_op(Emu *e, const Instr *in) {
  switch (in->op) {
  case OP_SYNC: barrier(e, in); break;
  case OP_ASYNC_COMMIT:
    if (e->hb) hb_cp_commit(e, e->w->mask);
    else commit(e->w);
    break;
  case OP_ASYNC_WAIT:
    if (e->hb) hb_cp_wait(e, e->w->mask, in->i[0]);
    else wait(e->w, in->i[0]);
    break;
  case OP_VMOV: warp_vmov(e, in); break;
  case OP_CP_ASYNC: warp_cp_async(e, in); break;
  case OP_ATOMIC: warp_atomic(e, in); break;
  case OP_VATOMIC: warp_vatomic(e, in); break;
  case OP_LDMATRIX:
    if (together(e, in, ALL_LANES)) warp_ldmatrix(e, in);
    break;
  case OP_SHUFFLE:
    if (together(e, in, e->w->full)) warp_shuffle(e, in);
    break;
  case OP_VOTE:
    if (together(e, in, e->w->full)) warp_vote(e, in);
    break;
  case OP_BLOCK_VOTE:
    barrier(e, in);
    warp_block_vote(e, in);
    break;
  case OP_ATOMIC_LOAD: warp_atomic_load(e, in); break;
  case OP_MATCH:
    if (together(e, in, e->w->full)) warp_match(e, in);
    break;
  case OP_FIND_BIT: warp_find_bit(e, in); break;
  case OP_PHILOX: warp_philox(e, in); break;
  case OP_PRINT: warp_print(e, in); break;
  case OP_ASSERT: warp_assert(e, in); break;
  case OP_EXTERN: EMU_FAIL(&e->m, in, DIAG_EMU_EXTERN, in->span, in->text); break;
  case OP_BYTE_PERM: warp_byte_perm(e, in); break;
  case OP_UNPACK: warp_unpack(e, in); break;
  case OP_MMA:
    if (together(e, in, ALL_LANES)) warp_mma(e, in);
    break;
  case OP_STMATRIX:
    if (together(e, in, ALL_LANES)) warp_stmatrix(e, in);
    break;
  case OP_WGMMA_DESC:
  case OP_WGMMA:
  case OP_WGMMA_FENCE:
  case OP_WGMMA_COMMIT:
  case OP_WGMMA_WAIT:
    if (together(e, in, ALL_LANES)) wgmma_op(e, in);
    break;
  default: warp_sm90(e, in);
  }
}

static void step(Emu *e, const Instr *in) {
  Warp *w = e->w;
  switch (in->code) {
  case IN_LET: set_let(e, in); break;
  case IN_STORE: warp_store(e, in); break;
  case IN_IF: begin_if(e, in); break;
  case IN_ELSE: begin_else(w, in); break;
  case IN_ENDIF:
    w->mask = w->frame[w->depth - 1].saved;
    w->depth--;
    break;
  case IN_FOR: begin_for(e, in); break;
  case IN_NEXT: next_for(e, in); break;
  case IN_ASSUME:
    if (emu_eval_mask(&e->m, in->a, w->mask) != w->mask)
      EMU_FAIL(&e->m, in, DIAG_EMU_ASSUME, in->span);
    break;
  case IN_OP:
    e->m.pick = __builtin_ctz(w->mask);
    run_op(e, in);
    break;
  case IN_END:
    w->state = WARP_DONE;
    wgmma_end(e);
    break;
  }
}

void warp_run(Emu *e, int quantum) {
  Warp *w = e->w;
  const Instr *code = e->k->code;
  while (quantum-- > 0 && w->state == WARP_READY) {
    const Instr *in = &code[w->pc++];
    e->at = in;
    e->report->steps++;
    step(e, in);
  }
}
