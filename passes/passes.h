// Tile IR to thread IR: passes in the order of passes.def, walked by one loop.
// SPDX-License-Identifier: MIT
#ifndef TLC_PASSES_H
#define TLC_PASSES_H

#include "ir/ir.h"
#include "ir/target.h"

typedef struct {
  Arena *arena;
  Diags *diags;
  const Target *target;
  Map *flags;       // -f: name -> char* decimal number; NULL when none
  bool debug;       // -g: traps
  const char *dump; // -d: comma-separated pass names, or "all"; NULL none
  FILE *dump_to;
  bool time;              // --time-passes: to dump_to
  bool wants_registers;   // what cannot stay in registers is not worth the other passes
  // Asked once, of the program behind the vector pass: are the others worth it? NULL: they are.
  bool (*wanted)(void *ctx, const Program *p);
  void *wanted_ctx;
  const char *stop_after; // for tests: run only up to this pass; NULL runs all
  struct Plan *plan;      // made by the plan pass (passes/plan.h); NULL before
  struct Thrift *thrift;  // what kernels give up to fit (passes/internal.h); NULL before
} PassCtx;

// Runs the pipeline in place. False when errors were reported, or the result is not wanted. After
// each pass the verifier runs; a failure there dies.
bool passes_run(Program *p, PassCtx *c);
// Before the passes: kernels ahead of the program's that set the tensors of these names, of which
// NULL is the last, to zero.
void passes_zero(Arena *a, Program *p, const char *const *names);
// The value of -fNAME, else of the kernel's hint, else `otherwise`; -fno-NAME is 0. k: NULL is
// fine.
int64_t pass_flag(const PassCtx *c, const Kernel *k, const char *name, int64_t otherwise);

#endif
