// Shared-memory wavefronts and memory sectors of a warp's access.
// SPDX-License-Identifier: MIT
#include "tuner/model.h"

enum { BANKS = 32, SECTOR = 32 };

// Lanes first .. first+n: the most different words that one bank has to give.
static int pass_clocks(const int64_t *address, int first, int n, int bytes) {
  int64_t word[BANKS][MW_LANES];
  int count[BANKS] = {0}, most = 0;
  for (int i = first; i < first + n; i++) {
    int64_t from = address[i] / 4, to = (address[i] + bytes - 1) / 4;
    for (int64_t w = from; w <= to; w++) {
      int bank = (int)(w % BANKS), k = 0;
      while (k < count[bank] && word[bank][k] != w) k++;
      if (k == count[bank] && k < MW_LANES) word[bank][count[bank]++] = w;
      if (count[bank] > most) most = count[bank];
    }
  }
  return most;
}

double mw_wavefronts(const int64_t *address, int lanes, int bytes) {
  int per = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8; // 128 bytes at a time
  double clocks = 0;
  for (int i = 0; i < lanes; i += per)
    clocks += pass_clocks(address, i, lanes - i < per ? lanes - i : per, bytes > 16 ? 16 : bytes);
  return clocks;
}

int mw_sectors(const int64_t *address, int lanes, int bytes) {
  int64_t seen[MW_LANES * 2];
  int n = 0;
  for (int i = 0; i < lanes; i++) {
    for (int64_t s = address[i] / SECTOR; s <= (address[i] + bytes - 1) / SECTOR; s++) {
      int k = 0;
      while (k < n && seen[k] != s) k++;
      if (k == n && n < MW_LANES * 2) seen[n++] = s;
    }
  }
  return n;
}
