// The ops of sm_90a in the emulator.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_SM90_H
#define TLC_EMU_SM90_H

#include "emu/mbarrier.h"

bool sm90_clocked(const Kernel *k); // must vector clocks order its threads?
void sm90_end_block(Emu *e, const Block *b);

#endif
