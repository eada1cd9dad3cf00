// Philox4x32-10 from its paper: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC11), section 3.3: ten rounds of two 32 x 32 multiplications, keys bumped by Weyl
// sequences.
// SPDX-License-Identifier: MIT
#include "emu/machine.h"

void philox(uint64_t block, uint64_t seq, uint64_t seed, uint32_t out[4]) {
  uint32_t x[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)seq, (uint32_t)(seq >> 32)};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  for (int round = 0; round < 10; round++) {
    uint64_t left = UINT64_C(0xD2511F53) * x[0], right = UINT64_C(0xCD9E8D57) * x[2];
    uint32_t next[4] = {(uint32_t)(right >> 32) ^ x[1] ^ key[0], (uint32_t)right,
                        (uint32_t)(left >> 32) ^ x[3] ^ key[1], (uint32_t)left};
    for (int i = 0; i < 4; i++) x[i] = next[i];
    key[0] += 0x9E3779B9; // the golden ratio
    key[1] += 0xBB67AE85; // sqrt(3) - 1
  }
  for (int i = 0; i < 4; i++) out[i] = x[i];
}
