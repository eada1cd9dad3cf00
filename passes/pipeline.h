// What the files of the roles and pipeline passes share.
// SPDX-License-Identifier: MIT
#ifndef TLC_PIPELINE_H
#define TLC_PIPELINE_H

#include "passes/internal.h"

/* pipeline_ring.c */

// A tile that a loop keeps several versions of, and the version that its accesses in there mean.
typedef struct {
  Buffer *buf;
  const Stmt *loop;
  int stages;
  Expr *slot;
} Ring;

typedef VEC(Ring) RingVec; // one for each (loop, tile)

// Gives the tiles a leading dimension, and every access of them a slot: that of the innermost loop
// around with a ring of the tile, 0 outside.
void rings_apply(PassCtx *c, Kernel *k, const RingVec *rings);
// Rings of every tile that an async copy of a loop with two or more stages fills. Runs before the
// loops are expanded.
void pipeline_rings(PassCtx *c, Kernel *k);

/* cluster.c */

// The dimensions, of the tensor and of the tile, whose rows the blocks of a cluster share out;
// false: there are none.
bool cluster_rows(const Region *src, const Region *dst, int *src_dim, int *dst_dim);

// Is what wgmma reads from shared memory all that reads the tiles of channel `channel` - 1, in each
// iteration? Those reads are complete for the whole warp when a slot is released: nothing has to be
// released with it to another block, and no lane waits for the others first.
bool channel_multiplied(PassCtx *c, const Stmt *body, int channel);

typedef struct {
  Var *rank;     // of the block in its cluster, which cluster_close binds; NULL: there are none
  Stmt *present; // an if around all that blocks with a tile do; NULL: every block has one
} Cluster;

// The kernel's grid becomes one of clusters, in the order of T.use_swizzle. A block without a tile
// has the indices of the last one.
Cluster cluster_open(PassCtx *c, Kernel *k, const PlanRoles *roles);
// The first axis of the grid, of whatever it counts now, becomes one of blocks: those of a cluster
// stand one after the other.
void cluster_close(Arena *a, Kernel *k, int blocks, Var *rank);

/* fold_clear.c */

void fold_clears(PassCtx *c, const Program *p, Kernel *k); // before the loops are taken apart

/* roles_store.c */

// In place: what stands for a statement stays at its position, by which a channel knows it.
Stmt *roles_store(PassCtx *c, Stmt *body);

/* roles_once.c */

// What the plan knows as statements becomes positions, which stay while statements are replaced.
void once_locate(const Kernel *k, PlanRoles *plan);
// A loop of one iteration goes around the block's statements; NULL: it has no channels.
Stmt *once_open(PassCtx *c, const Kernel *k, PlanRoles *plan);

/* overlap.c */

// What a consumer does about one channel's tiles in an iteration: statements in blocks.
typedef struct {
  Stmt *take, *wait, *give; // the slot; for its bytes; the slot back, and on to the next
} OverlapTurn;

// The loop, whose body still holds its copies, with the last product of each iteration behind the
// first of the next one. turn: by channel.
Stmt *overlap_loop(PassCtx *c, const Kernel *k, Stmt *loop, const OverlapTurn *turn);
// What of the block follows such a loop, its child `at`, and does not need the last product `gemm`
// goes ahead of its end.
void overlap_sink(PassCtx *c, const PlanLoop *plan, const Stmt *gemm, Stmt *block, int at);

/* persist.c */

typedef struct {
  Var *block[3];
  Expr *grid[3], *total;
  Expr *each; // workers that have a tile of the former grid together, one after the other
} Tiles;

// The kernel becomes one of workers, `each` to a tile; its former grid and block indices are the
// result's.
Tiles persist_open(Arena *a, Kernel *k, int each);
// body for every former block that is this worker's: tile = worker, worker + workers, ..., in units
// of `each`. In a kernel of teams each has a turn, and `skip` is for the others' tiles; else it is
// NULL.
Stmt *persist_tiles(Arena *a, const Kernel *k, const Tiles *t, Stmt *body, Stmt *skip);

#endif
