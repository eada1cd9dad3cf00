// What the files of the plan pass share.
// SPDX-License-Identifier: MIT
#ifndef TLC_PLAN_INTERNAL_H
#define TLC_PLAN_INTERNAL_H

#include "passes/internal.h"

/* plan_copy.c */

Expr *plan_stride(Arena *a, const Buffer *b, int d); // of dimension d, in elements
// widest aligned access along the inner extent
int plan_vec_bytes(Arena *a, Facts *f, const Region *r);
uint32_t plan_guards(Arena *a, Facts *f, const Region *r); // dimensions that may leave the tensor
PlanCopy *plan_one_copy(Plan *p, Arena *a, Facts *f, Stmt *s);
void plan_copy_remarks(PassCtx *c, Facts *f, const Stmt *s, const PlanCopy *plan);

/* plan_loop.c */

// Decides the depth of a Pipelined loop and which of its copies run ahead; needs the copies
// planned.
void plan_one_loop(PassCtx *c, const Kernel *k, Facts *f, Stmt *loop);

#endif
