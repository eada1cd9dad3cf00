// The plan: what each copy, gemm, shared tile and pipelined loop will become. Made by the plan
// pass, realised by pipeline, layout and lower. Keyed by statement or buffer identity: passes that
// rewrite keep the Stmt and Buffer objects, or call plan_clone for a copy they make.
// SPDX-License-Identifier: MIT
#ifndef TLC_PLAN_H
#define TLC_PLAN_H

#include "ir/layout.h"
#include "passes/passes.h"

typedef struct {
  bool async;      // cp.async: the pipeline issues it ahead of its use (or with S = 1, in place)
  bool async_able; // global -> shared, same type, zero safe value, at least 4 bytes an access
  int vec_bytes;   // widest access that facts prove for the region on the global side (and for the
                   // last dimension of the shared side): 16, 8, 4, 2 or 1
  uint32_t guard;  // bit d: dimension d of the global region may leave the tensor
  const char *why; // why not async, for remarks; NULL when async
  bool store;      // from a shared tile to a tensor by TMA; of an atomic_tile, too
  int slabs;       // of a fragment to a tile that the next copy stores: parts; 0: whole
  int slab_dim;    // they divide the tile's columns (1) or rows (0)
  int parts;       // blocks of a cluster that each load a part of the tile for all; 0: its own
  int channel;     // the producer's, by TMA: PlanLoop.channel[channel - 1]; 0: the block's own
} PlanCopy;

// One gemm as a grid of warps over mma.sync tiles. Warp w: row w % warps_m, column w / warps_m.
// With warps_m * warps_n == threads / 32. A warp's C block is M / warps_m by N / warps_n.
typedef struct {
  bool wgmma;  // by warpgroups: warps_m and warps_n count those
  bool flies;  // wgmma: still runs when the next statement begins; the roles pass waits for it
  bool open;   // wgmma: lowered without any wait; the roles pass waits for it
  int m, n, k; // PTX shape of one mma: 16, 8 and 16 | 8 | 32; of one wgmma: 64, 8..256 and the same
  int M, N, K; // the whole gemm; K need not be a multiple of k
  int sums;    // wgmma: registers of a thread for its part of C,
  int held;    // and of the operand that is in registers
  WgmmaLoaded loaded; // wgmma: the operand that threads load into registers (gemm_loads.c)
  int warps_m, warps_n;
  DType ab, c; // operand type as multiplied (float32 becomes tfloat32) and accumulator's
  DType b;     // B's type where it differs from A's (int8 by uint8)
  // C's rows (columns) go to micro tiles in pairs, as layout_mma_c says: 8-bit operands stored
  // along that dimension come out of ldmatrix so
  bool pair_m, pair_n;
} PlanGemm;

typedef struct {
  int swizzle;       // XOR swizzle over rows of 128, 64 or 32 bytes; 0: none
  int ring;          // versions that pipelined loops keep (the leading dimension); 0: no ring
  bool gemm_operand; // read by ldmatrix or as an mma operand
} PlanBuffer;

enum { PLAN_CHANNELS = 8 };

// Tiles of a loop that a producer fills together: positions in the loop's body of the statements
// that use them first and last.
typedef struct {
  int first, last;
  bool shared; // the blocks of a cluster load parts of some of its tiles for each other
} PlanChannel;

// A loop of two products, of which the last one runs an iteration late, beside all that follows the
// first one of the next: positions in the loop's body.
typedef struct {
  int first, last; // the gemms; last 0: the loop runs as written
  int land;        // of the statement before which the last product must be complete
  int turns;       // warpgroups that issue one after the other; 0: each when it likes
  bool enters;     // the loop has an iteration, always
} PlanOverlap;

typedef struct {
  int stages;          // depth of the rings; 0 or 1: no ring
  int copies;          // how many copies are async
  int channels, depth; // between producer and consumers, each a ring of `depth`; 0: none
  PlanChannel channel[PLAN_CHANNELS];
  Stmt *ahead; // the gemm whose products overlap those of the iteration before; NULL: none
  PlanOverlap overlap;
} PlanLoop;

// Tiles that the producer fills outside of loops, once for each block that there was: the block of
// statements with their copies (NULL: the kernel's body) as the body of a loop of one iteration.
typedef struct {
  PlanLoop plan;                                            // its channels: 0 where there are none
  Stmt *block, *first[PLAN_CHANNELS], *last[PLAN_CHANNELS]; // the channels' statements
} PlanOnce;

// Of a kernel with a producer warpgroup behind its own threads: registers of a thread of either.
typedef struct {
  PlanOnce once;
  int producer_regs, consumer_regs;
  int teams;         // of consumers, which take turns at tiles; 1: all work on one
  int cluster, axis; // blocks of a cluster along this axis of the grid; 0: none
  bool ragged;       // the last cluster may have blocks without a tile
} PlanRoles;

typedef struct Plan Plan; // PassCtx.plan

Plan *plan_new(Arena *a);
// Of a copy, or of a gather (gather.c); NULL when not planned.
PlanCopy *plan_copy(const Plan *p, const Stmt *copy);
bool plan_stores(const Plan *p, const Stmt *s); // a copy or an atomic_tile with PlanCopy.store
bool plan_async(const Plan *p, const Stmt *s);  // is it a copy or gather that the pipeline issues?
// never NULL for a gemm that check passed
PlanGemm *plan_gemm(const Plan *p, const Stmt *gemm);
PlanBuffer *plan_buffer(const Plan *p, const Buffer *buf); // NULL when not planned
PlanLoop *plan_loop(const Plan *p, const Stmt *s);         // NULL: no loop, or not planned
// The block whose copies a pipelined loop may run ahead: its body or, where that is one condition
// behind lets, what the condition lets through; *cond: the condition, or NULL.
Stmt **plan_loop_body(Stmt *loop, Expr **cond);
PlanRoles *plan_of_roles(const Plan *p, const Kernel *k);   // NULL: all threads do the same
void plan_set(Plan *p, const void *key, void *value);       // adds or replaces
void plan_clone(Plan *p, const Stmt *from, const Stmt *to); // same plan for a copied statement

/* plan_copy.c */

bool plan_zero_safe(const Buffer *b); // do reads out of its bounds give (positive) zero?
// Why a copy does not bring a tensor's bytes, or zeros, into shared memory; NULL where it does.
const char *plan_bytes_why(const Region *src, const Region *dst);

/* plan_slabs.c */

enum { SLAB_SLOTS = 2 }; // slabs of a tile that are in shared memory at once

/* plan_tma.c */

// The dense layout of a shared tile that TMA boxes fill: swizzled where its rows allow.
Layout *plan_tma_layout(Arena *a, const Buffer *b);
// Rows of a box, where a tile has `rows`: all, or the most that divide them and are a multiple of
// the swizzle's eight.
int64_t plan_tma_rows(int64_t rows);

/* plan_gemm.c: used by check too */

// Warp partition (LANGUAGE.md 6.4) of an M x N gemm over `warps` warps; false when there is none.
bool plan_partition(GemmPolicy policy, int M, int N, int warps, int *wm, int *wn);
// The mma.sync shape for operand types a, b accumulated in c on a target; false when it has none.
bool plan_mma(const Target *t, DType a, DType b, DType c, int *m, int *n, int *k);
// M, N, K of a gemm statement from C's region and A's (constant extents of the last two
// dimensions).
void plan_gemm_dims(const Stmt *gemm, int64_t *M, int64_t *N, int64_t *K);
// The tile that threads load for a gemm of wgmma; NULL: all it multiplies is read by descriptors.
const Buffer *plan_loaded(const Plan *p, const Stmt *gemm);

#endif
