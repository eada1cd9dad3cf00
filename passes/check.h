// What the files of the check pass share.
// SPDX-License-Identifier: MIT
#ifndef TLC_CHECK_H
#define TLC_CHECK_H

#include "passes/internal.h"

typedef struct {
  Program *program;
  Kernel *kernel;
  PassCtx *c;
  Facts *facts;
  Uniform *uniform, *numbers; // numbers: as check_threads needs it, NULL before
  int threads;                // that do the statement visited
  // From whole_from on: variables that take every value of a constant range, in all combinations,
  // at the statement visited. A condition around it hides those of the loops around the condition.
  VEC(Var *) whole;
  int whole_from;
} Check;

/* check_lowered.c */

bool check_lowered(Check *k); // false, after reporting, where something is not lowered yet

/* check_gemm.c */

void check_gemm(Check *k, const Stmt *s);

/* check_access.c: indices and regions that leave their buffers, copies */

void check_exprs(Check *k, Stmt *s); // loads in the statement's expressions
void check_store(Check *k, const Stmt *s);
void check_region(Check *k, const Region *r, Span span);
void check_copy(Check *k, const Stmt *s); // copy and atomic_tile
void check_atomic(Check *k, const Stmt *s);

/* check_threads.c */

void check_threads(Check *k, Stmt *loop); // the outermost T.Parallel of its nest
void check_fragment_store(Check *k, const Stmt *s); // outside of parallel loops

/* check_iterations.c */

void check_iterations(Check *k, Stmt *loop); // the same

/* check_reducers.c */

void check_reducers(Check *k); // none is read before it is finalized

/* check_registers.c */

void check_registers(Check *k);

/* check_unwritten.c */

void check_unwritten(Check *k);

/* check_blocks.c */

void check_blocks(Check *k);

#endif
