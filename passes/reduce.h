// What the passes know of reductions.
// SPDX-License-Identifier: MIT
#ifndef TLC_REDUCE_H
#define TLC_REDUCE_H

#include "passes/lower.h"

/* reduce.c */

ReduceKind reduce_base(ReduceKind kind); // what combines partial results: sum of abssum
Expr *reduce_neutral(Arena *a, ReduceKind kind, DType t);
// kind over acc and one more value of its type; nan: a NaN wins in max and min.
Expr *reduce_combine(Arena *a, ReduceKind kind, bool nan, Expr *acc, Expr *x);

/* expand.c */

void expand_tiles(Arena *a, Kernel *k); // reductions, scans, reducers, tests, im2col, dp4a

/* layout_reducer.c */

// `loop` updates u->buf where its threads do not hold the elements: what replaces it. *last: a loop
// in it that reads the loop's own reducer. NULL after reporting that this cannot be done.
Stmt *layout_own_reducer(PassCtx *c, Kernel *k, Stmt *loop, const FragUse *u, Stmt **last);

/* layout_sums.c */

void layout_carry_sums(PassCtx *c, Kernel *k); // sums in loops stay partial until after them

/* lower_reduce.c */

void lower_update(Lower *l, Stmt *s, Stmt *out);
void lower_finalize(Lower *l, Stmt *s, Stmt *out);
void lower_allreduce(Lower *l, Stmt *s, Stmt *out);

/* lower_scan.c */

void lower_scan(Lower *l, Stmt *s, Stmt *out);

/* lower_exchange.c */

void lower_shuffle(Lower *l, Stmt *s, Stmt *out);
void lower_vote(Lower *l, Stmt *s, Stmt *out);
void lower_print(Lower *l, Stmt *s, Stmt *out);
void lower_assert(Lower *l, Stmt *s, Stmt *out);
void lower_extern(Lower *l, Stmt *s, Stmt *out);
void lower_atomic_load(Lower *l, Stmt *s, Stmt *out);
void lower_atomic_vec(Lower *l, Stmt *s, Stmt *out);

#endif
