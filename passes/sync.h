// What the files of the sync pass share: accesses that no barrier has separated yet, and the
// question whether two of them conflict.
// SPDX-License-Identifier: MIT
#ifndef TLC_SYNC_H
#define TLC_SYNC_H

#include "passes/crew.h"

typedef enum { CONFLICT_NONE, CONFLICT_BARRIER, CONFLICT_WAIT } Conflict;

// A variable that an access ranges over by itself: of a loop that was left or not looked into.
typedef struct {
  Var *var;
  Expr *min, *extent;
} Private;

typedef VEC(Private) Privates;
typedef VEC(Expr *) Exprs;

typedef struct {
  const Stmt *block; // of a branch
  Crew crew;         // who enters it
} Entered;

// Where an access lies: elements [index, index + count) of the buffer, by each thread that the
// guards let through, for all values of the private variables.
typedef struct {
  Expr *index;
  Exprs conds;
  Privates privates;
} Place;

typedef struct {
  AccessMode mode;
  bool async;  // of an asynchronous copy
  bool bulk;   // async: thread 0's, a TMA store's of its tile, until a bulk_wait
  bool warp;   // of a warp together: who gives an address is not who gets what is there
  bool waited; // async: complete for its own thread, not yet visible to others
  Crew crew;   // who makes it
  Crew seen;   // threads that a barrier of theirs has ordered after it; of none where empty
  int commits; // async, and bulk in its own groups: closed since it was issued, its own included
  Buffer *buf;
  int64_t count;
  Place at;
  Stmt **path; // statements around it, outermost first, itself last
  int npath;
  int depth;        // path entries of which the same instance still runs (cut at back edges)
  const Stmt *loop; // whose back edge it crossed last
  int shifts;       // how often
  Place first;      // where it was before that
  Span span;
} Pending;

typedef VEC(Pending *) State;

// What an address adds to its uniform base: bits [from, from + width of the access) by a thread.
typedef struct {
  int64_t from;
  int thread;
} Hit;

typedef struct Shape Shape;
struct Shape {
  const Pending *acc; // its guards and private variables
  Expr *rest;         // of these and the thread alone
  bool exact;         // enumerated; else only facts bound it
  int threads;        // how many of them
  VEC(Hit) hits;
  int64_t lo, hi; // all bits touched lie in [lo, hi)
  bool counted, twice; // of the hits: have they been looked through, is some bit in two of them?
  Shape *next;    // of its bucket
};

// An answer of sync_overlap, kept: walks ask again and again.
typedef struct Overlap Overlap;
struct Overlap {
  const Shape *x, *y;
  int64_t shift;
  bool any, answer;
  Overlap *next;
};

typedef struct {
  const Buffer *buf;
  bool constant; // the kernel does not write it
} Tensor;

enum { SYNC_BUCKETS = 256 };

typedef struct {
  PassCtx *c;
  Arena *a;
  Program *program;
  Kernel *kernel;
  Uniform *uniform;
  Facts *facts;
  Var *other;               // the thread of a pending access
  VEC(const Var *) unknown; // lets whose values come from memory that the kernel writes
  VEC(Tensor) tensors;      // those asked about
  VEC(const Var *) fixed;   // lets of one value in the whole block: kept as they are
  Subst lets;               // lets of the path, expanded
  Subst exact;              // loop variables whose value is fixed during an exact pass
  Subst twins;              // loop variable -> its stand-in in pending accesses
  Crew crew;                // who gets to the statement at hand, as far as that is known
  VEC(Entered) entered;     // branches seen
  Exprs conds;              // guards around the statement at hand
  VEC(Stmt *) path;
  Privates around; // loops around whose iterations are taken all at once
  State state;
  State *collect; // when set: accesses go here and are not checked
  Shape *shapes[SYNC_BUCKETS];
  Overlap *overlaps[SYNC_BUCKETS];
  void *scratch; // of sync_enum.c
  size_t scratch_bytes;
  bool waits;               // the kernel waits at mbarriers
  bool fences;              // wgmma or TMA reads what cp.async wrote: a fence follows its waits
  int max_wait;             // largest pending count of an async_wait in the kernel
  const Pending *from, *to; // the first conflict found, which ends the walk
  int loops;                // loops around whose bodies are being walked repeatedly
  Stmt *resume_block;       // where the walk goes on once a conflict was separated
  int resume_index;
  VEC(Stmt *) placed; // barriers put in; NULL where one was taken out
  int steps, max_steps;
  bool failed;
  Conflict kind;
} Sync;

/* sync_conflict.c */

// May the value of x change while its variables stay as they are?
bool sync_reads_memory(Sync *s, Expr *x);

// May threads x (of a) and y (of b), x != y, touch a common bit, one of them writing? For an `a` in
// flight: may any thread? Then a wait is needed as well.
Conflict sync_conflict(Sync *s, const Pending *a, const Pending *b);

// x = base + slot * pitch + rest: base is uniform, slot a uniform ring term e % S (NULL: none),
// rest of the thread and private variables only.
typedef struct {
  Expr *base, *slot, *rest;
  int64_t pitch;
} Parts;

// False when some term mixes them or comes from memory.
bool sync_parts(Sync *s, const Pending *acc, Expr *x, Parts *out);

/* sync_rows.c */

// Are two accesses of a matrix of symbolic row length never at one place (of two threads, or
// `any`)?
bool sync_rows_apart(Sync *s, const Pending *a, const Pending *b, bool any);
// Guards that a load stands under inside its own statement (selects, and, or) join conds.
void sync_load_guards(Sync *s, Stmt *x, Expr **idx, Exprs *conds);

/* sync_tape.c */

enum { TAPE_MAX = 512, TAPE_VARS = 16 };

typedef struct {
  Expr *expr;
  int arg[3]; // earlier operations; of a variable: its number
  int level;  // the last variable it depends on
} TapeOp;

typedef struct {
  Arena *arena;
  const Var *var[TAPE_VARS]; // the thread, then private variables
  int nvars;
  int64_t in[TAPE_VARS]; // their values
  VEC(TapeOp) ops;
  VEC(int) run[TAPE_VARS]; // operations by level, in order
  int64_t value[TAPE_MAX];
  bool ok[TAPE_MAX]; // defined, and no fixed-width operation wrapped
} Tape;

// The number of x's operation; -1 when it needs other variables, memory or floats.
int tape_compile(Tape *p, Expr *x);
void tape_run(Tape *p, int level); // what changes with variable `level`, and not with later ones

/* sync_enum.c */

// Over the first `threads` threads.
Shape *sync_shape(Sync *s, const Pending *acc, Expr *rest, const Var *thread, int threads);
// With y moved by `shift` bits: is some bit touched by x and by another thread (`any`: or the same)
// of y? True where that cannot be told.
bool sync_overlap(Sync *s, const Shape *x, const Shape *y, int64_t shift, bool any);

// Does one access, over all threads and iterations, touch some bit twice? True where unknown.
bool sync_repeats(Sync *s, const Pending *b);

/* sync_crew.c */

// The branch `block` with condition cond begins: who gets there?
Crew sync_enter(Sync *s, const Stmt *block, Expr *cond);
const Entered *sync_entered(const Sync *s, const Stmt *block); // NULL: not seen
void sync_crew_barrier(Sync *s);                               // among s->crew
// Barriers that not all threads of a block reach get numbers.
Stmt *sync_name_barriers(Sync *s);

/* sync_flow.c */

// Walks the kernel and has every conflict separated. False after reporting one that cannot be.
bool sync_run(Sync *s);

/* sync.c */

// Separates the two accesses of the conflict found, or makes the tree such that the next walk can:
// the walk goes on at s->resume_block, child s->resume_index. False after reporting that it cannot
// be done.
bool sync_separate(Sync *s);

/* sync_place.c */

// How many path entries the two accesses of the conflict share in one instance.
int sync_common(const Pending *from, const Pending *to);
// Puts `s` before the statement x, a child of the block `parent`; at its end when x is NULL.
void sync_insert(Arena *a, Stmt *parent, const Stmt *x, Stmt *s);
// The statement after x; NULL when x is the last.
Stmt *sync_next(const Stmt *parent, const Stmt *x);
void sync_remove(Stmt *parent, const Stmt *s);
int sync_index(const Stmt *parent, const Stmt *x);
// the block under root that x is a child of; NULL: none
Stmt *sync_parent(Stmt *root, const Stmt *x);
// Of threads apart, in branches where each waits at mbarriers? A barrier between would keep the
// ones from what the others wait for; the program orders such accesses, and the emulator checks.
bool sync_by_hand(Sync *s, const Pending *a, const Pending *b);

/* sync_split.c */

// Rewrites the divergent statement path[at] of the conflict s->to so that a barrier can stand
// between the two accesses. False after reporting that it cannot be done.
bool sync_split(Sync *s, int at);
// The two accesses belong to one statement: its loads become lets before it.
void sync_split_leaf(Sync *s);

#endif
