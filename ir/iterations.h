// Iterations of a parallel loop that depend on one another.
// SPDX-License-Identifier: MIT
#ifndef TLC_IR_ITERATIONS_H
#define TLC_IR_ITERATIONS_H

#include "ir/ir.h"

typedef enum {
  ITERATIONS_APART, // none touches what another one writes, but for writes of one value
  ITERATIONS_OPEN,  // it depends on data or sizes
  ITERATIONS_MEET,  // two of them do, whatever the data
} IterationsKind;

enum { ITERATION_VARS = 12 };

// Two iterations that meet: the first writes an element at `at`, the second touches it at `other`.
typedef struct {
  const Buffer *buf;
  Span at, other;
  bool writes; // the second one writes another value, else it reads
  int nvars;   // of the nest of parallel loops, and what they are in either
  const Var *var[ITERATION_VARS];
  int64_t first[ITERATION_VARS], second[ITERATION_VARS];
} Meeting;

// Of the outermost parallel loop of a nest, with elements of buf, or (NULL) of any buffer but
// arrays of the threads' own. Atomic updates and elements of views do not count. *m is set where
// they meet.
IterationsKind iterations_of(Arena *a, const Stmt *loop, const Buffer *buf, Meeting *m);

#endif
