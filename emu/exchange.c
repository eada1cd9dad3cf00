// Shuffles, from the CUDA programming guide ("Warp Shuffle Functions"): each lane of a segment of
// `width` lanes takes the value of a lane that it names.
// SPDX-License-Identifier: MIT
#include "emu/emulator.h"

// The lane that lane i names; itself where it names none of its segment.
static int source_lane(ShuffleMode mode, int i, int64_t by, int width) {
  int first = i / width * width;
  int64_t from = mode == SHUFFLE_INDEX ? first + (by & (width - 1))
                 : mode == SHUFFLE_XOR ? i ^ by
                 : mode == SHUFFLE_UP  ? i - by
                                       : i + by;
  return from < first || from >= first + width ? i : (int)from;
}

void warp_shuffle(Emu *e, const Instr *in) {
  LaneVals value, by, got;
  const ERegion *dst = &in->r[0];
  uint8_t *to = mem_registers(e, dst, 1);
  uint32_t mask = e->w->mask;
  emu_eval(&e->m, in->e[0], mask, LANES, value, NULL);
  emu_eval(&e->m, in->e[1], mask, LANES, by, NULL);
  if (!to) return;
  for (int i = 0; i < LANES; i++) {
    if (!(mask >> i & 1)) continue;
    int from = source_lane((ShuffleMode)in->i[0], i, by[i].i, (int)in->i[1]);
    if (!(mask >> from & 1)) {
      int first = e->w->number * LANES;
      EMU_FAIL(&e->m, in, DIAG_EMU_INACTIVE, in->span, first + i, first + from);
      from = i;
    }
    got[i] = emu_cast(dst->buf->type, in->e[0]->type, value[from]);
  }
  for (int i = 0; i < LANES; i++)
    if (mask >> i & 1) emu_write(dst->buf->stored, to, i, got[i]);
}
