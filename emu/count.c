// Shared-memory bank conflicts and global-memory sectors of one warp-level access.
// SPDX-License-Identifier: MIT
#include "emu/emulator.h"

enum { BANKS = 32, BANK_BYTES = 4, SECTOR = 32 };

// Cycles that one phase (at most 32 lanes of at most 4 bytes, 16 of 8, 8 of 16) takes: the largest
// number of different words asked of one bank.
static int phase_cycles(const int64_t *byte, uint32_t mask, int bytes) {
  int64_t words[BANKS][LANES];
  int count[BANKS] = {0}, worst = 0;
  for (; mask; mask &= mask - 1) {
    int64_t first = byte[__builtin_ctz(mask)];
    for (int64_t word = first / BANK_BYTES; word <= (first + bytes - 1) / BANK_BYTES; word++) {
      int bank = (int)(word % BANKS), i = 0;
      while (i < count[bank] && words[bank][i] != word) i++;
      if (i < count[bank]) continue; // the same word: one fetch serves all
      words[bank][count[bank]++] = word;
      if (count[bank] > worst) worst = count[bank];
    }
  }
  return worst;
}

// True when no two lanes meet in a bank (or unit of several banks): the common case, without a
// table.
static bool all_apart(const int64_t *byte, uint32_t mask, int bytes) {
  int shift = bytes == 16 ? 4 : bytes == 8 ? 3 : 2, units = BANKS * BANK_BYTES >> shift;
  uint32_t seen = 0;
  for (; mask; mask &= mask - 1) {
    uint32_t bit = UINT32_C(1) << ((byte[__builtin_ctz(mask)] >> shift) & (units - 1));
    if (seen & bit) return false;
    seen |= bit;
  }
  return true;
}

void count_shared(Emu *e, const int64_t *byte, uint32_t mask, int bytes) {
  int lanes = bytes > 8 ? 8 : bytes > 4 ? 16 : 32; // a phase: 16-byte accesses by quarter warps
  if (!mask) return;
  e->report->shared_accesses++;
  for (int first = 0; first < LANES; first += lanes) {
    uint32_t part = lanes == 32 ? mask : mask & ((UINT32_C(1) << lanes) - 1) << first;
    if (!part || all_apart(byte, part, bytes)) continue;
    e->report->bank_conflicts += (uint64_t)phase_cycles(byte, part, bytes) - 1;
  }
}

void count_global(Emu *e, const int64_t *byte, uint32_t mask, int bytes) {
  int64_t sector[LANES];
  int n = 0, lanes = 0, same = 0;
  int64_t before = -1;
  for (; mask; mask &= mask - 1, lanes++) {
    int64_t at = byte[__builtin_ctz(mask)], s = at / SECTOR;
    same += at == before;
    before = at;
    int i = n - 1;
    while (i >= 0 && sector[i] != s) i--;
    if (i < 0) sector[n++] = s;
  }
  if (!lanes) return;
  int64_t need = ((int64_t)(lanes - same) * bytes + SECTOR - 1) / SECTOR;
  e->report->global_sectors += (uint64_t)n;
  e->report->global_min += (uint64_t)(need < n ? need : n);
}
