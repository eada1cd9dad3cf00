// What the files of the layout, lower and vector passes share.
// SPDX-License-Identifier: MIT
#ifndef TLC_LOWER_H
#define TLC_LOWER_H

#include "ir/layout.h"
#include "passes/internal.h"
#include "passes/crew.h"

enum { LOOP_MAX_DIMS = 8, LOOP_MAX_DIGITS = 24 };

/* frag.c: fragment accesses of a parallel loop against layouts */

// An access frag[idx...] inside a parallel loop: dim[d] is the loop variable that is index d, or
// -1; plain: every index is a distinct loop variable or the constant 0 of a dimension of extent 1.
typedef struct {
  Buffer *buf;
  bool write, plain;
  bool update; // of a reducer: a thread changes its own copy, whatever threads run the iteration
  int dim[LOOP_MAX_DIMS];
  Expr **idx;
} FragUse;

typedef VEC(FragUse) FragUses;

FragUses frag_uses(Arena *a, Stmt *loop);
// The layout that a free fragment gets from a loop's layout, or a loop from a fragment's; NULL when
// the use does not determine one.
Layout *frag_from_loop(Arena *a, const FragUse *u, const Layout *loop);
Layout *frag_to_loop(Arena *a, const FragUse *u, const Stmt *loop);
// The layout of a loop that reads a part of a fragment where the fragment's own threads hold it.
Layout *frag_part(Arena *a, const FragUse *u, const Stmt *loop);
// Registers of the fragment as sum of coeff[i] * (i-th register digit of the loop) + base, in
// elements, and the proof that every iteration runs on a thread that holds its element (and, for a
// write, on all of them).
bool frag_fit(Arena *a, const FragUse *u, const Layout *frag, Stmt *loop, int64_t *coeff,
              int64_t *base);

/* width.c: how wide an access can be */

typedef struct {
  Arena *arena;
  Facts *facts;
  const Target *target;
} Widths;

// Elements of a type that one atomic addition to global memory can update.
int width_atomic(const Target *t, DType type);

// The width of a parallel loop along its last variable: what all accesses along it can do.
int width_loop(Widths *w, Stmt *loop, int most);
Expr *width_stride(Arena *a, const Buffer *b,
                   int d); // of a row-major or strided buffer, in elements
// A condition without the lane variable (0 <= lane < width) where the bound cannot fall inside a
// run; other conjuncts stay.
Expr *width_drop_lane(Arena *a, Facts *f, Expr *cond, const Var *lane, int width);

/* layout_tile.c: tile ops as parallel loops */

bool tile_is_loop(const Stmt *s); // a copy (not async), fill or atomic_tile
// Before: the loop's variables and their place. A copy with a local side, or inside a parallel
// loop, becomes a nest of unrolled loops.
Stmt *tile_to_loop(Arena *a, Stmt *s, bool per_thread);
Stmt *tile_copy_loop(Arena *a, Region *src, Region *dst, Span span);

/* layout_shared.c */

void layout_shared_tiles(PassCtx *c, Kernel *k);
Buffer *layout_temp(Arena *a, Kernel *k, const Buffer *like, const char *suffix, Scope scope);

/* layout_parts.c */

void layout_parts(PassCtx *c, Kernel *k); // loops over parts of fragments, at constant offsets

/* layout_convert.c: demands that differ */

void layout_gemm_operands(PassCtx *c, Kernel *k);  // other layouts, or parts of fragments
void layout_stage_misfits(PassCtx *c, Kernel *k);  // accesses that no layout serves
void layout_demote_scalars(PassCtx *c, Kernel *k); // fragments accessed outside parallel loops

/* lower.c */

// A buffer's form at tile level, kept while the buffer itself is already flat.
typedef struct {
  Buffer *buf;
  Buffer tile;
} TileForm;

// Elements that the accesses of a parallel loop, or of an async copy as a loop, can move at once.
typedef struct {
  const Stmt *stmt;
  Stmt *loop;
  int width;
} LoopWidth;

typedef VEC(const Buffer *) BufferVec;

typedef struct {
  Program *program;
  Kernel *kernel;
  PassCtx *c;
  Arena *arena;
  Facts *facts;
  Uniform *uniform;
  VEC(TileForm) forms;
  VEC(LoopWidth) widths;
  Subst vars;   // tile-level loop variables to thread-level expressions
  Expr *thread; // its number in the crew (crew.h) that gets here, the block but for branches
  int threads;  // of the crew
  Crew crew;
  BufferVec fenced;  // shared tiles that the async proxy reads
  bool stores;       // some of them to tensors
  bool fenced_async; // some of them are written by cp.async
  Stmt *prologue;    // what goes before the body of the threads that multiply
  Buffer *loaded;    // registers that products which fly read (gemm_loads.c); NULL: none
  uint32_t control;  // digits of a thread's number (uniform.c) that decide who gets here
  // inside a parallel loop:
  Stmt *loop;
  Expr *digit[LOOP_MAX_DIGITS];
  Expr *first_copy; // NULL: no replicas
  Var *lane;        // of the vectorized digit, NULL when there is none
  int width;
} Lower;

const Buffer *lower_form(Lower *l, const Buffer *b);
LoopWidth *lower_width(Lower *l, const Stmt *s); // NULL: not a loop with a lane
void lower_stmt(Lower *l, Stmt *s, Stmt *out);
Expr *lower_expr(Lower *l, Expr *x);
Expr *lower_simplify(Lower *l, Expr *x);
Expr *lower_let(Lower *l, Stmt *out, const char *name, Expr *value); // a variable bound to it
Stmt *lower_if(Lower *l, Expr *cond, Stmt *yes, Span span);          // yes itself when cond is NULL
Var *lower_loop_var(Lower *l, const char *name);

/* lower_access.c */

// Flat element offset of lowered tile-level indices.
Expr *lower_offset(Lower *l, const Buffer *b, Expr **idx);
// The condition under which a global element exists; NULL when proved.
Expr *lower_guard(Lower *l, const Buffer *b, Expr **idx);
// The register of a fragment access inside the current parallel loop.
Expr *lower_register(Lower *l, Buffer *b, Expr **idx, bool write, Span span);
Expr *lower_load(Lower *l, Expr *load);
void lower_store(Lower *l, Stmt *s, Stmt *out);
void lower_atomic(Lower *l, Stmt *s, Stmt *out);

/* places.c: tensors with a function for a layout */

bool places_fill(Arena *a, const Buffer *b); // of constant shape, as many places as elements?
Expr *places_offset(Lower *l, const Buffer *b, Expr **idx);

/* lower_loop.c */

void lower_parallel(Lower *l, Stmt *loop, Stmt *out);
// A loop that copies global to shared memory, by cp.async of one vector a time; false (and nothing
// emitted) when a guard needs more than a count of valid elements.
bool lower_parallel_async(Lower *l, Stmt *loop, Stmt *out);

/* lower_matrix.c */

// A loop that stmatrix can do; false (and nothing emitted): it cannot.
bool lower_matrices(Lower *l, Stmt *loop, Stmt *out);

/* lower_turn.c */

// A parallel loop that exchanges the last two dimensions of a shared tile of 8-bit elements, where
// it can go by matrices.
bool lower_turn(Lower *l, Stmt *loop, Stmt *out);

/* lower_async.c */

void lower_async_copy(Lower *l, Stmt *s, Stmt *out);
bool lower_issue(Lower *l, const GatherLoop *g, Stmt *out); // one cp.async for all lanes

/* lower_tma.c */

void lower_tile_load(Lower *l, Stmt *s, Stmt *out);
void lower_tile_store(Lower *l, Stmt *s, Stmt *out);
// The kernel's body behind thread 0's fetching of all maps: the first copies need not wait for
// them.
Stmt *lower_fetch_maps(Lower *l, Stmt *body);

/* lower_proxy.c */

void lower_proxy_scan(Lower *l, Stmt *body); // of a kernel at tile level
// What goes behind a statement that writes what the async proxy reads.
void lower_proxy_after(Lower *l, Stmt *s, Stmt *out, int from); // from: what s became in out
void lower_proxy_end(Lower *l, Span span, Stmt *out); // of all that stores

/* gemm.c */

void gemm_lower(Lower *l, Stmt *s, Stmt *out);

/* gemm_wgmma.c */

void wgmma_lower(Lower *l, Stmt *s, Stmt *out);
void wgmma_lower_order(Lower *l, Stmt *s, Stmt *out); // a fence of an accumulator or a wait for it

#endif
