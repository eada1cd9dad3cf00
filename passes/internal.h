// What the passes share: their entry points, and analyses more than one of them asks.
// SPDX-License-Identifier: MIT
#ifndef TLC_PASSES_INTERNAL_H
#define TLC_PASSES_INTERNAL_H

#include "passes/passes.h"
#include "passes/plan.h"

#define PASS(fn, name, needs, gives, breaks, claim) void pass_##fn(Program *p, PassCtx *c);
#include "passes/passes.def"
#undef PASS

/* simplify.c */

void simplify_kernel(Program *p, Kernel *k, PassCtx *c); // at either level

/* masks.c */

bool masks_split(PassCtx *c, Program *p, Kernel *k); // was something decided for a whole tile?

/* pdl.c */

void pdl_kernels(Program *p, PassCtx *c); // programmatic dependent launch of lowered kernels

/* keep.c */

// Of a lowered kernel: ops that read what wgmma reads iteration after iteration.
void keep_operands(PassCtx *c, Kernel *k);

/* gemm_loads.c */

// Registers of a thread for what it loads of an operand, of which its warpgroup has `rows` rows.
int wgmma_loaded_regs(int rows, int K, int bits);

/* gemm_load.c */

// Can ldmatrix move the shared tile of 8-bit elements, from index `at` of its last dimension on?
bool gemm_bytes_lie(const Layout *tile, int64_t at);

/* slots.c */

void slots_kernel(Kernel *k, PassCtx *c); // a ring's slot comes from one lane, where wgmma uses it

/* raster.c */

void raster_kernel(Kernel *k, PassCtx *c); // T.use_swizzle of one kernel

/* jumps.c */

void jumps_expand(Arena *a, Kernel *k); // while, break and continue become conditions and flags

/* box_loops.c */

void box_loops(PassCtx *c, const Program *p, Kernel *k); // those that TMA can store, as one op each

/* gemm_widen.c */

void gemm_widen(PassCtx *c, Kernel *k); // narrow types as wider ones where there is no instruction

/* persist.c */

// Is it a persistent block's loop over the tiles that were blocks?
bool persist_walks(const Kernel *k, const Stmt *loop);

/* gemm_turn.c */

void gemm_turn(PassCtx *c, const Program *p, Kernel *k); // tiles that wgmma needs along K

/* views.c */

void views_replace(PassCtx *c, Kernel *k); // of a lowered kernel
// Has its storage more than one name, or does a foreign function get its address?
bool views_named(const Kernel *k, const Buffer *b);

/* thrift.c: what a kernel gives up when its tiles do not fit in shared memory */

typedef struct Thrift Thrift; // PassCtx.thrift

Thrift *thrift_new(Arena *a, const Program *p);
bool thrift_persistent(const PassCtx *c, const Program *p, const Kernel *k); // may blocks persist?
bool thrift_producer(const PassCtx *c, const Program *p, const Kernel *k);   // may one fill tiles?
bool thrift_columns(const PassCtx *c, const Program *p, const Kernel *k);  // may tiles move?
void thrift_no_columns(PassCtx *c, const Program *p, const Kernel *k); // the passes run again
bool thrift_turns(const PassCtx *c, const Program *p, const Kernel *k); // may operands be turned?
void thrift_turned(PassCtx *c, const Program *p, const Kernel *k);      // one was
// Is there something left to give up for a kernel that takes `bytes`? Then the passes run again.
bool thrift_more(PassCtx *c, const Program *p, const Kernel *k, int64_t bytes);
bool thrift_again(Thrift *t); // was something given up since the last call?
void thrift_remark(PassCtx *c, const Program *p);

/* teams.c: consumers that take turns at tiles */

enum { TEAMS_BARRIERS = 1 }; // the number of the first team's own; behind the last one's: the order

// Does each team have a version of the shared buffer? Not of what passes between roles.
bool teams_own(Arena *a, const Kernel *k, const Buffer *b);
int64_t teams_pitch(const Buffer *b); // bytes from one team's to the next one's

/* uniform.c: which expressions have one value for all threads of a block, or for some of them */

typedef struct Uniform Uniform;

// Analyses a kernel at either level: what the thread index, per-thread arrays and memory written by
// the kernel can reach is varying; shared loads at a uniform index are uniform (the sync pass
// orders them), and so are loads of global tensors that the kernel does not write, and of
// fragments, which are tiles of the block.
Uniform *uniform_new(Arena *a, Kernel *k);
// The same, but only what depends on the numbers of threads varies: a tensor that the kernel writes
// and what threads give one another holds one value for all who ask with the same operands.
Uniform *uniform_numbers(Arena *a, Kernel *k);
bool uniform_expr(const Uniform *u, const Expr *x);
bool uniform_buffer(const Uniform *u, const Buffer *b); // what it holds
// The same by digits of the thread's number, which the kernel's own `thread // c` and `thread % c`
// cut it into: a bit for each on which x may depend.
uint32_t uniform_digits(const Uniform *u, const Expr *x);
uint32_t uniform_all(const Uniform *u); // all digits there are
// Takes in a statement that a pass made of the kernel's: its variables are new.
void uniform_add(Uniform *u, Stmt *s);
// Are the digits beside these zero? So for one of the threads that differ in them only. NULL: there
// are none beside these.
Expr *uniform_first(const Uniform *u, Expr *thread, uint32_t digits);
// Does only one of the threads that differ in these digits get to where these facts hold?
bool uniform_pinned(const Uniform *u, Facts *f, Expr *thread, uint32_t digits);

/* expand.c */

void expand_gathers(Arena *a, Kernel *k); // T.im2col as the loops that the plan knows

/* gather.c: parallel loops that fill a shared tile from a tensor */

typedef struct {
  Stmt *store;       // dst[...] = cond ? load : 0
  Expr *load, *cond; // cond is NULL where there is none
  Buffer *src, *dst;
} GatherLoop;

// Is it a loop of one such store, of whatever elements? A select's other side must be (positive) 0.
bool gather_parts(const Stmt *loop, GatherLoop *g);
// The plan of a loop that fills a whole shared tile from a tensor; NULL: it is none.
PlanCopy *gather_plan(Arena *a, Facts *f, const Stmt *loop);

/* notes.c: secondary lines of the diagnostic reported last */

// "; block_M = 64 (from -p), block_N = 128": the parameters that a place names; "" for none
const char *note_values(PassCtx *c, const Program *p, Span at);
// "A is declared here: 64 x 32 float16; block_M = 64 (from -p)"
void note_buffer(PassCtx *c, const Program *p, const Buffer *b);
void note_launch(PassCtx *c, const Program *p, const Kernel *k); // where it names parameters

/* walk.c: small tools over trees */

// Replaces variables by a table; chains of lets are the caller's business.
typedef struct {
  Arena *arena;
  VEC(Var *) from;
  VEC(Expr *) to;
} Subst;
void subst_add(Subst *s, Var *from, Expr *to);
Expr *subst_expr(const Subst *s, Expr *x);
void subst_stmt(const Subst *s, Stmt *x); // in place, every expression of the tree

// Deep copy with the same buffers; lets and loops in it get fresh variables. plan: NULL is fine.
Stmt *walk_clone(Arena *a, const Stmt *s, Plan *plan);
Region *walk_region(Arena *a, const Region *r); // a copy that may be changed
// Calls on for every statement, parents first, with what holds there pushed on f (loops, lets,
// conditions, assumptions).
void walk_facts(Arena *a, Facts *f, Stmt *s, void (*on)(void *ctx, Stmt *s), void *ctx);
// Rebuilds an expression bottom-up: f gets each node after its children and returns what replaces
// it.
typedef Expr *(*ExprMap)(void *ctx, Expr *x);
Expr *walk_expr(Arena *a, Expr *x, ExprMap f, void *ctx);
Stmt *walk_block(Arena *a, Stmt *s); // s itself when a block, else a block that holds it
void walk_own(Arena *a, Stmt *s);    // an op's regions become its own: they may be shared
bool walk_has_load(const Expr *x);
bool walk_reads(Arena *a, Stmt *s, const Buffer *b); // loads, not atomic updates
bool walk_touches(Arena *a, Stmt *s, const Buffer *b, bool writes_only); // tree s accesses b?
bool walk_touches_beside(Arena *a, Stmt *s, const Stmt *skip, const Buffer *b); // outside `skip`?
Stmt *walk_roles(const Kernel *k); // consumers and producer; NULL: no producer

#endif
