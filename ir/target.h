// Targets as structs of limits: no architecture number is compared anywhere else.
// SPDX-License-Identifier: MIT
#ifndef TLC_TARGET_H
#define TLC_TARGET_H

#include "ir/ir.h"

typedef struct {
  const char *name;    // "sm_80"
  int sm;              // 80: for #if guards in the text and the nvcc line only
  const char *feature; // macro of device code that has its own instructions; NULL: none are
  int sms;             // of the largest GPU of that kind, for grids that a program sizes by it
  int max_threads;     // per block
  int regs_per_sm;     // 32-bit registers
  int threads_per_sm, blocks_per_sm;
  int max_regs_per_thread;
  int64_t max_smem_block; // bytes of dynamic shared memory a block may opt in to
  int64_t smem_per_sm;
  int64_t max_grid[3];
  int max_param_bytes; // of a kernel, from CUDA 12.1 on
  int64_t l2;          // bytes of the L2 cache
  bool fp8_mma;        // mma.sync with e4m3/e5m2 operands
  bool fp8_widens;     // which ptxas makes 16-bit products of
  bool red_vec_f32;    // red.global.add.v2/v4.f32
  bool atomic_bf16;    // native bf16 atomics
  bool bulk;           // mbarriers, TMA and bulk copies, clusters, setmaxnreg, wgmma
  int max_cluster;     // blocks of a cluster that every GPU of the target can have; 0: none
} Target;

const Target *target_find(const char *name); // NULL when unknown
const Target *target_at(int i);              // NULL past the end
int target_thread_regs(const Target *t, int threads); // a thread of so many has at most

// The first THREAD-level op that the target has no instruction for; NULL where it has all.
const Stmt *target_lacks(const Target *t, const Program *p);

#endif
