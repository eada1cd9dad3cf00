// mbarriers as the PTX ISA's "mbarrier" chapter has them, with full phase numbers.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_MBARRIER_H
#define TLC_EMU_MBARRIER_H

#include "emu/clocks.h"

struct MBar {
  bool live;
  int index; // among those of the cluster
  int count, pending; // arrivals of a phase, and those still missing
  int64_t tx;         // bytes expected and not yet complete
  uint32_t phase;     // number of the running phase
  const EBuf *buf;    // its name: element `at` of buf
  int64_t at;
  // Checked kernels. Time 0: never.
  uint32_t *clock, *done; // released into the running phase, and into the last complete one
  int by;                 // the thread that initialised it,
  uint32_t since, fenced, proxied; // when, and when it executed fence_mbar_init, fence_proxy_async
  uint32_t *waited, *waited_time;  // by warp: phases complete at its last wait, and when that was
  uint32_t loads;                  // phases up to the last that an asynchronous copy counts in
  int loads_at;                    // where that was issued
};

// mbarriers named by a region for a lane of the current warp, in block `in`; NULL after a report.
MBar *mbar_of(Emu *e, const Block *in, const ERegion *r, int64_t at, int lane);
// May an asynchronous copy that the lane issues complete on it? Reports why not.
bool mbar_ready(Emu *e, MBar *bar, int lane, bool async, bool remote);
void mbar_complete_tx(Emu *e, MBar *bar, int64_t bytes);
void mbar_begin_kernel(Emu *e, Block *b);
void mbar_begin_block(Emu *e, Block *b);
void mbar_fenced(Emu *e, uint32_t mask, bool init); // by fence_mbar_init, or fence_proxy_async

void warp_mbar(Emu *e, const Instr *in);           // all mbar_* ops
const char *mbar_waits_for(Emu *e, const Warp *w); // what a stuck warp misses

#endif
