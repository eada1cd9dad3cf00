// Inside the model: the walk over a block's statements.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_WORK_H
#define TLC_TUNER_WORK_H

#include "tuner/model.h"

enum { MW_MAX_THREADS = 2048 };

typedef struct {
  MvEnv env;
  const Kernel *kernel;
  const TnFigures *figures;
  MwBlock *out;
  int phase;
  double times; // how often a thread executes the statement
  bool active[MW_MAX_THREADS];
  int threads, first; // active ones, and the first of them
  MvRange all;        // the thread index over them
  double warps;       // with an active thread
  bool producer;
} MwWalk;

MwPhase *mw_phase(MwWalk *w);
// n instructions of each active warp.
void mw_issue(MwWalk *w, double n);

/* work_access.c */

// An access of n elements from the flat index on, by each active thread.
void mw_access(MwWalk *w, const Buffer *b, const Expr *index, int64_t n, bool write);
// The instructions, loads and special functions of an expression.
void mw_expr(MwWalk *w, Expr *x);

/* work_ops.c */

void mw_op(MwWalk *w, Stmt *s);

#endif
