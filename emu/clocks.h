// Kernels with mbarriers, bulk copies, named barriers or clusters: who has seen what, by vector
// clocks. Other kernels need block barriers only, and keep to the epochs of shadow.c.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_CLOCKS_H
#define TLC_EMU_CLOCKS_H

#include "emu/emulator.h"

/* clocks.c. Actors are the hardware threads of a cluster (warp index * 32 + lane) and its
   mbarriers. Time is a counter of each warp that advances when one of its lanes releases something.
   A thread's clock holds, in this order,
     by thread:   the time up to which its accesses happened before this thread's next one;
     by thread:   the same of what it fenced for asynchronous copies, in shared memory;
     by thread:   the same in global memory;
     by mbarrier: the number of its phases whose completion was seen;
     by warp:     the time up to which it has run before this thread, whatever memory it shows.
   A lane knows how far the others are from where they met last; what they have waited for since, it
   does not. */

enum { FENCE_ALL, FENCE_SHARED, FENCE_GLOBAL }; // the spaces of fence_proxy_async

typedef enum {
  ASYNC_NONE,
  ASYNC_LOAD,  // into shared memory, completed by phase `number` of mbarrier `bar`
  ASYNC_BULK,  // from shared memory, in bulk group `number` of the thread
  ASYNC_CP,    // cp_async number `number` of the thread
  ASYNC_WGMMA, // wgmma group `number` of the warp whose first thread it is
} AsyncKind;

typedef struct {
  AsyncKind kind;
  int thread; // that issued it
  int bar;
  uint32_t number;
  int at; // statement
} AsyncOp;

// What waits of a thread have shown to be complete: numbers up to `upto`, seen at `time`; or, with
// a bar, by whoever saw phase `time` of it complete.
typedef struct {
  uint32_t upto, time;
  int bar; // -1: none
} Progress;

typedef enum { DONE_CP, DONE_CP_BAR, DONE_BULK_READ, DONE_BULK, DONE_WGMMA, DONE_KINDS } DoneKind;

typedef struct {
  Progress *data;
  int len, cap;
} ProgressList;

// A read or an atomic update of a cell, by lanes of one warp or by an asynchronous operation.
typedef struct {
  uint32_t next, time, mask, op;
  uint16_t warp, at;
  bool atomic;
} Seen;

struct HCell {
  uint32_t run; // of the cluster that all but `before` speaks of
  uint32_t time, op;
  uint32_t seen; // reads and atomics since the last plain write; 0: none
  uint16_t writer, at;
  bool written;        // plainly, in this run
  uint8_t now, before; // BEFORE_*: of `seen` in this run, and of earlier ones
};

enum {
  BEFORE_WROTE = 1, // by an earlier cluster of this kernel
  BEFORE_ATOMIC = 2,
  BEFORE_READ = 4,
  BEFORE_EVER = 8, // written by anyone at any time
};

struct Hb {
  int nthreads, nbars, width;
  uint32_t *clock;          // nthreads * width
  uint32_t *now, *met;      // by warp; met: when its lanes last executed an op together
  uint32_t *join;           // scratch
  uint32_t *meet;                 // what all lanes of a warp have seen: hb_meet
  uint32_t run, kernel_run; // numbers of the running cluster, and of the kernel's first one
  VEC(AsyncOp) ops;
  VEC(Seen) seen;
  uint32_t seen_free;
  uint32_t *issued[DONE_KINDS];   // by thread: the number that the next operation gets
  ProgressList *done[DONE_KINDS]; // by thread
  ProgressList *groups;           // by thread: the last cp_async number of each committed group
  uint32_t *bulk_last;            // by thread: number of its last group that reads shared memory
  uint16_t *bulk_at;
  // By block and thread: when the thread last touched that other block's memory; 0 never.
  uint32_t *remote;
  uint16_t *remote_at;
};

void hb_begin_kernel(Emu *e);
void hb_begin_cluster(Emu *e);
uint32_t *hb_clock(const Emu *e, int thread);
int hb_thread(const Emu *e, int lane); // of the current warp
uint32_t hb_now(const Emu *e);         // of the current warp
uint32_t *hb_new_clock(Emu *e);
// What lanes of the current warp did becomes part of `into`; then their time advances.
void hb_release(Emu *e, uint32_t mask, uint32_t *into);
void hb_release_steps(Emu *e, uint32_t mask, uint32_t *into); // that they ran, not what they did
// And which phases they saw complete: enough for what asynchronous operations have done.
void hb_release_done(Emu *e, uint32_t mask, uint32_t *into);
uint32_t hb_step(const Emu *e, const uint32_t *clock, int warp); // how far the warp has run
void hb_acquire(Emu *e, uint32_t mask, const uint32_t *from);
void hb_barrier(Emu *e, int first_warp, int nwarps); // all threads of these warps
void hb_warp_barrier(Emu *e, uint32_t mask);
void hb_together(Emu *e); // all lanes of the warp execute the op: each knows of the others
void hb_meet(Emu *e); // makes `meet` the current warp's
void hb_tick(Emu *e); // the current warp's time advances
void hb_fence(Emu *e, uint32_t mask, int space);
bool hb_ordered(const Emu *e, int thread, uint32_t time, int before); // that access, before's next

uint32_t hb_op(Emu *e, AsyncOp op); // its handle, never 0
void hb_progress(Emu *e, DoneKind kind, int thread, uint32_t upto);
void hb_progress_bar(Emu *e, int thread, uint32_t upto, int bar, uint32_t phases);
// Has `by` seen it complete? shared: reading shared memory only, of a bulk store.
bool hb_op_done(const Emu *e, uint32_t op, int by, bool shared);
// When `thread` itself waited for it; false where it has not.
bool hb_done_at(const Emu *e, DoneKind kind, int thread, uint32_t number, uint32_t *time);

// Groups of cp_async of lanes of the current warp.
void hb_cp_commit(Emu *e, uint32_t mask);
void hb_cp_wait(Emu *e, uint32_t mask, int64_t pending);
void hb_remote(Emu *e, const Block *in, int lane); // the lane touches that block's memory

/* cells.c: elements [at, at + count) of a buffer, touched by a lane of the current warp */

void hb_touch(Emu *e, const EBuf *b, int64_t at, int count, int lane, Touch touch);
void hb_touch_warp(Emu *e, const EBuf *b, int64_t at, int count); // read by all lanes together
// The same by an asynchronous operation that the lane issues.
void hb_async(Emu *e, const EBuf *b, int64_t at, int count, int lane, uint32_t op, Touch touch);
// Read by one that the whole warp issues, whose hb_meet this is.
void hb_async_warp(Emu *e, const EBuf *b, int64_t at, int count, uint32_t op);
// Shared memory of another block of the cluster.
void hb_async_in(Emu *e, const Block *in, const EBuf *b, int64_t at, int count, int lane,
                 uint32_t op, Touch touch);
void hb_cp_async(Emu *e, const EBuf *b, int64_t at, int count, int lane, bool source);

#endif
