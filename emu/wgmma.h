// The emulator's wgmma: what is in flight, and the instruction itself.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_WGMMA_H
#define TLC_EMU_WGMMA_H

#include "emu/clocks.h"

// One register element that wgmma uses somewhere, of one warp.
typedef struct {
  uint32_t writer, reader; // group of the last wgmma that has it as D, as A; 0: none
  uint32_t touched;        // fences so far + 1 at the last ordinary access
  uint32_t shape;          // of the writer
  // What the compiler of the text does not know until a fence or a wait names the register: an
  // ordinary write must come before wgmma, and wgmma's before ordinary code.
  bool written, result;
} WgReg;

// What must be the same in all warps of a warpgroup.
typedef struct {
  int at; // statement
  uint32_t a_lo, b_lo;
  bool scale;
} WgStep;

struct WgWarp {
  const EKernel *kernel; // that this belongs to, and the block's number
  int64_t block;
  uint32_t fences, committed, complete; // groups are numbered from 1
  int steps;                            // warpgroup ops executed
  VEC(WgStep) log;                      // of the whole warpgroup; in its first warp
  WgReg *reg;
};

/* wgmma.c */

void wgmma_op(Emu *e, const Instr *in); // by a whole warp

/* wgmma_state.c */

void wgmma_compile(EKernel *k); // finds the registers to watch
WgWarp *wgmma_warp(Emu *e);     // of the current warp
void wgmma_touch(Emu *e, const EBuf *b, int64_t at, int count, bool write); // by ordinary code
// The registers that a fence or a wait names: nothing of them may be in flight.
void wgmma_settled(Emu *e, const ERegion *r);
// The first of the registers that the running wgmma has as D (write) or A; NULL after a report.
uint8_t *wgmma_use(Emu *e, const ERegion *r, int count, bool write, uint32_t shape);
void wgmma_step(Emu *e, WgStep step); // must be what the other warps of the warpgroup did there
void wgmma_end(Emu *e);               // of the current warp
void wgmma_wait(Emu *e, int64_t pending);
// The running wgmma as an asynchronous operation that reads shared memory; 0 without checks.
uint32_t wgmma_issue(Emu *e);

#endif
