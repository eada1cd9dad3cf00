// Crews: threads of a block that do tile ops together where the others don't get.
// SPDX-License-Identifier: MIT
#ifndef TLC_CREW_H
#define TLC_CREW_H

#include "passes/internal.h"

// Threads lo .. hi - 1: whole warps, or the whole block.
typedef struct {
  int lo, hi;
  bool some; // of them: which is not known
} Crew;

Crew crew_all(const Kernel *k);
bool crew_is_all(const Kernel *k, Crew t);
bool crew_within(Crew x, Crew y); // is x a part of y?

// Those of `around` that get past cond. They are known (not just some) where they are known at
// compile time, whole warps, and in one run. What in cond does not depend on the thread lets all of
// them pass, or none.
Crew crew_under(Arena *a, const Kernel *k, const Uniform *u, Expr *cond, Crew around);

// Who does what in a kernel at tile level.
typedef struct Crews Crews;
Crews *crews_new(Arena *a, Kernel *k);
Crew crews_at(const Crews *t, const Stmt *s);   // a loop or an op
Crew crews_of(const Crews *t, const Buffer *b); // who has a fragment
// Where others than those who have a fragment use it; NULL: nowhere.
const Stmt *crews_strange(const Crews *t, const Buffer *b);
bool crews_any(const Crews *t); // does one do tile ops?

// An op that all threads who get there do together. A copy or fill of a per-thread array is none.
bool crew_op(const Stmt *s);

#endif
