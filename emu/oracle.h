// Inside the oracle: buffers at run time, compiled statements, the frame that a statement runs in.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_ORACLE_H
#define TLC_EMU_ORACLE_H

#include "emu/emu.h"
#include "emu/machine.h"

enum { MAX_GROUPS = 32 }; // groups of 32 threads in a block

typedef struct Watch Watch;

// One buffer's storage. Global: the caller's bytes. On chip: one Val an element; LOCAL: `elems` for
// each thread, thread after thread.
typedef struct {
  const Buffer *buf;
  DType type;
  int nd;
  Node **shape_of, **stride_of; // global, else NULL
  int64_t *shape, *stride;      // in elements
  int64_t elems;
  int copies; // LOCAL: threads
  uint8_t *raw;
  Val *v;
  float *err;      // deviation allowed, by element; NULL: not tracked
  float *mag;      // global: sum of |value| of atomic additions
  uint32_t *count; // and their number
  uint8_t *written;
  Node *safe;
  int *var_of; // of a placing function: its variables' slots and results; NULL: row-major
  Node **place_of;
  int64_t *place;                   // by element: where the caller has it; NULL: in order
  uint8_t *placed, *placed_written; // the caller's arrays then
  Watch *watch;    // by element, while a loop runs whose iterations might disturb one another
  Watch *watch_of; // its room
  int64_t watch_room;
} Mem;

typedef struct {
  Mem *mem;
  int n;
  Node **min, **extent;
} ORegion;

typedef struct OStmt OStmt;
struct OStmt {
  StmtKind kind;
  Span span;
  int n;         // BLOCK: children; FOR: variables; STORE: indices
  OStmt **child; // BLOCK
  LoopKind loop;
  int *slot;            // FOR, LET: variables
  Mem **watched;        // FOR of the outermost parallel loop
  int nwatched;
  Node **min, **extent; // FOR
  OStmt *body, *other;  // FOR, IF
  Node *cond;           // IF, ASSUME
  Mem *mem;             // STORE
  Node **idx;
  Node *value; // STORE, LET
  OpCode op;
  union {
    ORegion *r;
    Node *e;
    int64_t i;
    const char *s;
  } arg[OP_MAX_ARGS];
};

// Groups of 32 lanes that run a statement in lockstep: the block's threads, or 32 iterations of a
// parallel loop (one group).
typedef struct {
  int ngroups;
  bool parallel; // inside a parallel loop
  const uint32_t *mask;
  LaneVals *lane; // nlane rows for each group
  LaneErrs *err;
} Frame;

// Which threads have left the innermost loop, or only its current iteration.
typedef struct OLoop OLoop;
struct OLoop {
  OLoop *outer;
  uint32_t left[MAX_GROUPS], skipped[MAX_GROUPS];
  bool jumped; // any bit set
};

typedef struct {
  Machine m; // first: m.load casts back
  Compiler c;
  Mem *mem; // by buffer slot
  int nmem;
  int threads;   // of the block
  bool nest;     // a parallel loop's body is compiled
  int group;     // whose lanes m.lane points to
  int64_t block; // its number
  bool track;
  bool wgmma; // EmuCall.wgmma
  OLoop *loop; // the innermost that jumps may leave; NULL where none was left
  uint64_t runs;            // of parallel loops with something to watch
  int64_t total, iteration; // of the one that runs: iterations, and that of lane 0
  int64_t inner;            // of the parallel loops in it
} Oracle;

/* oracle_compile.c */
OStmt *oracle_compile(Oracle *o, const Stmt *s);

/* oracle_exec.c */
void oracle_exec(Oracle *o, const OStmt *s, const Frame *f);
void oracle_group(Oracle *o, const Frame *f, int g); // makes group g's lanes current
// Offsets of n lanes in m at idx; the lanes that are in bounds.
uint32_t oracle_locate(Oracle *o, const Mem *m, Node **idx, const void *key, Span span,
                       uint32_t mask, int n, int64_t *at);
void oracle_load(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err);

/* oracle_watch.c */

typedef struct {
  Arena *arena;
  VEC(Buffer *) all;
} BufferList;

void oracle_compile_watch(Oracle *o, OStmt *d, const Stmt *loop); // finds what has to be watched
void watch_begin(Oracle *o, const OStmt *s, int64_t total);
void watch_end(const OStmt *s);
int64_t watch_inner(const Oracle *o, int64_t it); // Oracle.inner of a parallel loop's iteration
// Lane `lane` of n touches element `at` of what is watched; n 1: all lanes do.
void watch_read(Oracle *o, const Mem *m, int64_t at, int lane, int n, const Node *x);
void watch_write(Oracle *o, const OStmt *s, int64_t at, int lane, int n, Val v);

/* oracle_mem.c: `at` is an element offset (LOCAL: the thread's part included) */
void mem_get(const Mem *m, int64_t at, int64_t stride, int n, Val *v, double *err);
void mem_put(Mem *m, int64_t at, int64_t stride, int n, const Val *v, const double *err);
void mem_atomic(Mem *m, int64_t at, AtomicFn fn, Val v, double err);
void mem_reset(Mem *m); // on chip: poison, as at the start of a block

/* oracle_places.c */

void oracle_define_places(Oracle *o, Mem *m);
bool oracle_from_places(Oracle *o, Mem *m); // false after reporting
void oracle_to_places(Mem *m);              // what was written

/* oracle_ops.c: collective ops; per thread where a side is local */
void oracle_tile_op(Oracle *o, const OStmt *s, const Frame *f);
// A region at run time, with the dimensions of extent > 1 in order.
typedef struct {
  Mem *mem;
  int nd;
  bool inside;                        // the dimensions of extent <= 1 are in bounds
  int64_t base;                       // offset of the region's first element
  int64_t *extent, *stride, *lo, *hi; // of those dimensions; [lo, hi): iterations in bounds
  int64_t total;                      // product of all extents; 0 when one is not positive
} Box;
Box oracle_box(Oracle *o, const OStmt *s, const ORegion *r);

/* oracle_reduce.c: reduce, scan, test, im2col, dp4a */
void oracle_reduce(Oracle *o, const OStmt *s);
void oracle_scan(Oracle *o, const OStmt *s);
void oracle_finalize(Oracle *o, const OStmt *s);
void oracle_test(Oracle *o, const OStmt *s);
void oracle_im2col(Oracle *o, const OStmt *s);
void oracle_dp4a(Oracle *o, const OStmt *s);
Val reduce_start(ReduceKind kind, DType t); // the kind's neutral value
Val reduce_step(ReduceKind kind, DType t, bool nan, Val acc, Val v);
// The deviation of acc after v was added: err, ev: of both; *mag: the sum of magnitudes so far.
double reduce_err(ReduceKind kind, DType t, double err, Val v, double ev, double *mag);

/* oracle_warp.c: what threads do with one another's values, each its own statement */
bool oracle_exchange(Oracle *o, const OStmt *s, const Frame *f); // false: no such op

/* oracle_gemm.c */
void oracle_gemm(Oracle *o, const OStmt *s);
void oracle_gemm_sp(Oracle *o, const OStmt *s);

#endif
