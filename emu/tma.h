// Tensor maps and boxes in the emulator.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_TMA_H
#define TLC_EMU_TMA_H

#include "emu/mbarrier.h"

// By dimension, innermost first.
struct EMap {
  const Buffer *buf;
  EBuf *of;
  int rank, swizzle;
  bool nan, ok;                                      // ok: the launcher would accept it
  Node *shape[MAP_RANK], *stride[MAP_RANK];          // stride NULL: dense
  int box[MAP_RANK], step[MAP_RANK], tile[MAP_RANK]; // tile: elements copied of a box
  int64_t dim[MAP_RANK], pitch[MAP_RANK];            // elements
};

// The blocks of the cluster that a load writes to, as a mask; 0 after a report.
uint32_t tma_targets(Emu *e, const Instr *in, int lane, int64_t blocks);
// Begins a load of `bytes` by the lane into (block, barrier): its operation. False after a report.
bool tma_begin_load(Emu *e, const Block *to, const Instr *in, int64_t bar_at, int lane, MBar **bar,
                    uint32_t *op);
uint32_t tma_begin_store(Emu *e, int lane); // joins the lane's open bulk group

#endif
