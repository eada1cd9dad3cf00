// Inside the emulator: compiled thread-level code, warps, memory and its shadow.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_EMULATOR_H
#define TLC_EMU_EMULATOR_H

#include "emu/emu.h"
#include "emu/machine.h"

enum { MAX_THREADS = 1024, MAX_DEPTH = 64 };

/* shadow.c: who touched each cell of memory last. A cell is one element of a global buffer, or a
   few bytes of shared memory (the smallest element size in use).

   Happens-before. Only two things order the threads of a block: program order within a thread, and
   block barriers. So time is counted in epochs: the intervals between block barriers, numbered
   upwards through blocks and kernels. Two accesses of different threads conflict when they meet in
   one epoch, one of them writes and not both are atomic. Lanes of one warp are no exception:
   ldmatrix and mma gather lanes but order none of their memory. Accesses of different blocks of a
   kernel are never ordered; kernels are. */

typedef struct {
  uint32_t write_epoch, read_epoch; // 0: never
  uint16_t writer, reader;          // thread number and the flags below
  uint16_t write_at, read_at;       // statement numbers in the kernel
} Cell;

enum {
  WHO = 0x03ff,
  PLAIN = 0x0400,   // writer only: an atomic, after a plain write in the same block
  ASYNC = 0x1000,   // by an asynchronous copy: see Shadow.group
  ATOMIC = 0x2000,  // writer only
  FOREIGN = 0x4000, // an earlier block of this kernel too
  MANY = 0x8000,    // several threads in that epoch
};

typedef struct HCell HCell; // clocks.h
typedef struct Hb Hb;
typedef struct MBar MBar; // mbarrier.c
typedef struct EMap EMap; // tma.h

typedef struct {
  Cell *cell;      // NULL: not tracked, or by hcell
  HCell *hcell;    // where vector clocks order threads
  uint32_t *group; // of an ASYNC writer (shared) or reader (global): its group number
  int64_t n;
} Shadow;

typedef struct {
  const Buffer *buf;
  DType type;
  DType stored; // type of a local element in its register: 4-bit ones take a byte
  Scope scope;
  int size; // bytes of an element; 0 for 4-bit types in memory
  int64_t elems;
  Node *elems_of; // global
  uint8_t *raw;   // global: the caller's memory; shared: inside the block's
  int64_t base;   // shared: byte offset in the block's memory; local: in a warp's registers
  Shadow *shadow; // shared: the block's; global: its own
  Shadow own;
  uint8_t *written;
  bool poison;  // global: holds nothing until the program writes it
  bool changed; // written, updated or an asynchronous destination somewhere
  int bar_base; // mbarriers: slot of the first one among the block's; -1: data
  EMap *map;    // SC_MAP
  int64_t wgmma; // local: 1 + first of a warp's WgReg; 0: no operand of wgmma
} EBuf;

static inline bool shadow_tracked(const EBuf *b) { return b->shadow->cell || b->shadow->hcell; }

typedef struct {
  EBuf *buf; // NULL: not given
  Node *min;
  int count;
  ArgKind kind;
  Node **coord; // SC_MAP: by dimension, innermost first
} ERegion;

enum { INSTR_REGIONS = 5, INSTR_VALUES = 8 };

typedef enum {
  IN_LET,
  IN_STORE,
  IN_IF,    // push; lanes where cond holds; target: the IN_ELSE
  IN_ELSE,  // the other lanes; target: the IN_ENDIF
  IN_ENDIF, // pop
  IN_FOR,   // push; target: after the IN_NEXT
  IN_NEXT,  // target: the body
  IN_ASSUME,
  IN_OP,
  IN_END,
} InstrCode;

typedef struct {
  InstrCode code;
  OpCode op;
  Span span;
  int target;
  int slot;                 // LET, FOR
  Node *a, *b;              // LET, IF, ASSUME, STORE: a; FOR: min, extent
  ERegion r[INSTR_REGIONS]; // region operands by position among regions; STORE: r[0]
  const char *text;
  Node *e[INSTR_VALUES];    // expression operands in order; NULL: not given
  int64_t i[INSTR_VALUES];  // integer operands in order
} Instr;

typedef struct {
  uint32_t saved, other;
  int64_t it, n; // uniform loop
  LaneVals min, extent;
} WarpFrame;

typedef struct WgWarp WgWarp; // wgmma.h

// Beyond WARP_AT_BARRIER: waits of clocked kernels. Those that retry have their instruction at pc.
typedef enum {
  WARP_READY,
  WARP_AT_BARRIER,
  WARP_DONE,
  WARP_AT_NAMED,
  WARP_AT_MBAR,    // retries
  WARP_AT_CLUSTER, // retries
  WARP_AT_REGS,    // retries
} WarpState;

typedef struct {
  int number;       // in its block
  int index, block; // in the cluster
  uint32_t full;    // its threads
  uint32_t mask;
  int pc, depth;
  WarpState state;
  WarpFrame *frame;
  Val *uni;
  LaneVals *lane;
  uint8_t *regs;
  // Groups of asynchronous copies, by lane: committed so far; complete; complete at the last
  // barrier.
  uint32_t committed[LANES], complete[LANES], settled[LANES];
  // Clocked kernels: what it waits for, or did last.
  int waits_bar, named;
  uint32_t waits_parity, cluster_phase;
  bool cluster_arrived;
  bool apart;                // some lanes waited without the others, and no sync_warp came since
  uint32_t waited;           // lanes that waited at mbarriers since all of them met
  int max_regs, reg_changes; // registers a thread may use
  WgWarp *wg; // NULL until its first wgmma op
} Warp;

// A named barrier of a block.
typedef struct {
  int threads, arrived; // expected (0: nobody is here) and here, in threads
  uint64_t warps;       // that arrived, by number in the block
  const Instr *first;   // where the first one did
  uint32_t *clock;
} Named;

// One of the blocks that run together.
typedef struct {
  int rank;       // in its cluster
  int64_t number; // in the grid
  int first_warp;
  uint8_t *smem;
  Shadow shared;
  MBar *bars;
  Named named[NAMED_BARRIERS];
  int64_t free_regs;
  int votes, voters; // of the threads that have reached a vote of the block
} Block;

typedef struct {
  uint32_t *clock, *done; // released into the running phase, and by the last one
  uint32_t phase;
  int arrived; // warps
} ClusterBarrier;

typedef struct {
  const Kernel *kernel;
  Instr *code;
  int ncode;
  Node *grid[3];
  int block_slot[3], thread_slot, workers_slot; // -1: none
  int64_t smem_bytes, reg_bytes;  // reg_bytes: local arrays of a warp
  int cell_bytes;                 // of shared memory
  int threads, nwarps, nblocks;   // of a block; blocks of a cluster
  int cluster[3];
  int nbars; // mbarriers of a block
  VEC(EBuf *) shared;
  int64_t wgmma_regs;             // elements that wgmma uses
} EKernel;

typedef struct {
  Machine m; // first
  Compiler c;
  EBuf *buf;
  const EmuOptions *options;
  EmuReport *report;
  bool checks;
  uint64_t random;
  // the block that runs
  const EKernel *k;
  Warp *warps, *w;
  int nwarps; // of the cluster
  Block *blocks;
  int nblocks;
  const Instr *at;
  Shadow shared; // of the running block
  int64_t block; // its number in the grid
  bool clocked;  // threads are ordered by more than block barriers
  Hb *hb;        // clocked and checked, else NULL
  ClusterBarrier cluster;
  uint32_t epoch, block_base, kernel_base;
} Emu;

/* emulator_compile.c */
void emu_compile_kernel(Emu *e, EKernel *k, const Kernel *source);
EMap *emu_compile_map(Emu *e, const Buffer *b); // tma.c

/* schedule.c */
void emu_run_kernel(Emu *e, const EKernel *k);
const char *emu_lane_list(Emu *e, const Warp *w, uint32_t lanes); // "0-3, 7": threads of the block
Block *emu_block(const Emu *e);                                   // of the current warp

/* warp.c: runs the current warp for at most `quantum` instructions or until it waits or ends */
void warp_run(Emu *e, int quantum);
void warp_enter(Emu *e, Warp *w); // makes w current

/* memory.c */
void emu_load(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err);
void warp_store(Emu *e, const Instr *in);
void warp_vmov(Emu *e, const Instr *in);
void warp_cp_async(Emu *e, const Instr *in);
void warp_atomic(Emu *e, const Instr *in);
void warp_atomic_load(Emu *e, const Instr *in);
// A value of each lane, of type `from`, into a register of its own.
void mem_give(Emu *e, const ERegion *dst, DType from, uint32_t mask, const Val *v);
void warp_vatomic(Emu *e, const Instr *in);
// Lanes of mask whose `count` elements from at[lane] on lie in the buffer; reports the others.
uint32_t mem_in_range(Emu *e, const EBuf *b, const int64_t *at, int count, uint32_t mask);
// Lanes whose byte address is a multiple of `bytes`; reports the others.
uint32_t mem_aligned(Emu *e, const EBuf *b, const int64_t *at, int bytes, uint32_t mask);
// The values of an index expression, by lane.
void mem_lanes(Emu *e, const Node *x, uint32_t mask, int64_t *out);
// First of `count` elements of a local array at a uniform index; NULL after a report.
uint8_t *mem_registers(Emu *e, const ERegion *r, int count);

/* exchange.c: values that the lanes of a warp take from one another */
void warp_shuffle(Emu *e, const Instr *in);
void warp_vote(Emu *e, const Instr *in);
void warp_block_vote(Emu *e, const Instr *in); // counts; the warp waits at the barrier
void block_voted(Emu *e, Block *b);            // all wait: those that voted get the result
void warp_match(Emu *e, const Instr *in);
void warp_find_bit(Emu *e, const Instr *in);
void warp_philox(Emu *e, const Instr *in);
void warp_print(Emu *e, const Instr *in);
void warp_assert(Emu *e, const Instr *in);

/* tma.c, bulk.c */
void tma_begin_kernel(Emu *e); // evaluates the tensor maps, and judges them
void warp_tma(Emu *e, const Instr *in);
void warp_bulk(Emu *e, const Instr *in);
void warp_bulk_commit(Emu *e);
void warp_bulk_wait(Emu *e, const Instr *in);

/* roles.c: named barriers, clusters, registers */
void warp_named(Emu *e, const Instr *in);
void warp_cluster_arrive(Emu *e, const Instr *in);
void warp_cluster_wait(Emu *e, const Instr *in);
void cluster_warp_done(Emu *e); // a warp has ended: nobody waits for it
void warp_setmaxnreg(Emu *e, const Instr *in);
void warp_result(Emu *e, const Instr *in); // elect, cluster_rank
void roles_begin_kernel(Emu *e);
void roles_begin_block(Emu *e, Block *b);
void roles_end_block(Emu *e, const Block *b);
void warp_sm90(Emu *e, const Instr *in); // any op of sm_90a; sm90.c

/* mma.c */
void warp_ldmatrix(Emu *e, const Instr *in);
void warp_stmatrix(Emu *e, const Instr *in);
void warp_byte_perm(Emu *e, const Instr *in);
void warp_unpack(Emu *e, const Instr *in);
void warp_mma(Emu *e, const Instr *in);

/* shadow.c: elements [at, at + count) of b touched by `thread` */
typedef enum { TOUCH_READ, TOUCH_WRITE, TOUCH_ATOMIC } Touch;
void shadow_touch(Emu *e, const EBuf *b, int64_t at, int count, int thread, Touch touch);
// By all lanes of a warp together: no thread's later access is ordered after it.
void shadow_read_warp(Emu *e, const EBuf *b, int64_t at, int count, int thread);
void shadow_async(Emu *e, const EBuf *b, int64_t at, int count, int thread, bool source);

/* count.c: byte addresses of the lanes in mask */
void count_shared(Emu *e, const int64_t *byte, uint32_t mask, int bytes);
void count_global(Emu *e, const int64_t *byte, uint32_t mask, int bytes);

#endif
