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

// Where no producer fills the loop's tiles.
void plan_loop_remarks(PassCtx *c, const Stmt *loop, const PlanLoop *plan);

// Why the copy at position `at` of the loop's body must not run ahead of its iteration; NULL: it
// may.
const char *plan_in_order_why(PassCtx *c, Kernel *k, Stmt *loop, int at);

/* plan_tma.c */

// Why no TMA box carries the copy; NULL: it can. The copy must be planned.
const char *plan_tma_why(PassCtx *c, Facts *f, const Kernel *k, const Stmt *copy);
// The same of a copy or an atomic_tile from a shared tile to a tensor.
const char *plan_tma_store_why(PassCtx *c, Facts *f, Kernel *k, const Stmt *s);

/* plan_slabs.c */

// Decides PlanCopy.slabs in a kernel with a producer.
void plan_slabs(PassCtx *c, Kernel *k);

/* plan_wgmma.c */

// Makes the planned gemm one of wgmma, where the target has it and the operands allow. Gives why
// not; NULL: it is one, or the target has none.
const char *plan_wgmma(PassCtx *c, const Kernel *k, const Stmt *s, PlanGemm *g);

// Is it one of wgmma whose instructions fit where as many threads stand beside a producer?
bool plan_wgmma_fits(const Target *t, const PlanGemm *g, int threads);

enum { PLAN_OTHER_REGS = 30 }; // registers of a thread beside accumulators and operands
int plan_gemm_regs(const PlanGemm *g); // that a thread has to have for a product by wgmma

/* plan_overlap.c */

// Decides PlanLoop.overlap of a loop with channels.
void plan_overlap(PassCtx *c, Facts *f, Kernel *k, Stmt *loop, PlanLoop *plan);

/* cluster.c */

// Decides PlanRoles.cluster, PlanCopy.parts and PlanChannel.shared.
void plan_cluster(PassCtx *c, Facts *f, Kernel *k);

/* plan_roles.c */

// Registers that a thread of a block of `threads` threads may have beside a producer.
int plan_consumer_regs(const Target *t, int threads);
void plan_roles(PassCtx *c, Facts *f, Program *p, Kernel *k);

#endif
