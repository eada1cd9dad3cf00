// The operand of wgmma that threads load into registers.
// SPDX-License-Identifier: MIT
#ifndef TLC_GEMM_LOADS_H
#define TLC_GEMM_LOADS_H

#include "passes/lower.h"

typedef struct GemmLoads GemmLoads;

// Binds, at the head of the kernel, where each thread's elements begin, and in out where the
// region's version of the tile does. share: the number of the warpgroup's part of the rows.
GemmLoads *gemm_loads_open(Lower *l, Stmt *gemm, const PlanGemm *g, Expr *share, Stmt *out);
// The gemm's steps of K are issued in so many groups; group i begins at step gemm_loads_step(i).
int gemm_loads_groups(const GemmLoads *x);
int gemm_loads_step(const GemmLoads *x, int group);
void gemm_loads_group(GemmLoads *x, int group, Stmt *out); // loads what the group multiplies
Region *gemm_loads_half(GemmLoads *x, int group);          // all registers that it has
Region *gemm_loads_at(GemmLoads *x, int block, int step);  // of 64 rows at a step

#endif
