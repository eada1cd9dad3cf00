// Which lanes agree, which bits are set.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/machine.h"

uint32_t match_lanes(const Val *v, DType t, uint32_t mask, int i, bool all) {
  uint32_t same = 0;
  for (int k = 0; k < LANES; k++) {
    uint8_t mine[8] = {0}, other[8] = {0};
    emu_write(t, mine, 0, v[i]);
    emu_write(t, other, 0, v[k]);
    if (mask >> k & 1 && !memcmp(mine, other, sizeof mine)) same |= UINT32_C(1) << k;
  }
  return !all ? same : same == mask ? mask : 0;
}

int find_bit(uint64_t x, int64_t base, int64_t count) {
  int step = count < 0 ? -1 : 1;
  int64_t left = count < 0 ? -count : count;
  if (count == 0) return base >= 0 && base < 64 && x >> base & 1 ? (int)base : -1;
  for (int64_t i = base; i >= 0 && i < 64; i += step)
    if (x >> i & 1 && --left == 0) return (int)i;
  return -1;
}
