// What the files of the rotate pass share: what statements touch, whether they may change places,
// and iterations of unrolled loops taken out.
// SPDX-License-Identifier: MIT
#ifndef TLC_ROTATE_H
#define TLC_ROTATE_H

#include "passes/internal.h"

typedef struct {
  int64_t lo, hi; // both included
} Range;

// Elements of a buffer over all threads and all values of the variables around: within `all`, and
// at slot * pitch + rest. The slot is a term of the rotated loop's variable; NULL: there is none.
typedef struct {
  AccessMode mode;
  const Buffer *buf;
  Range all, rest;
  Expr *slot;
  int64_t pitch;
} Touch;

typedef VEC(Touch) Touches;

typedef struct {
  Arena *a;
  Facts *f; // what holds in the loop's body
  const Uniform *uniform;
  Var *k; // the loop's variable
  Subst lets;
} Moves;

/* rotate_move.c */

// Appends all accesses of the tree s.
void rotate_touches(Moves *m, Stmt *s, Touches *out);
// Does no access of x meet one of y, in any two iterations, one writing?
bool rotate_apart(const Touches *x, const Touches *y);
// May x and y change places, being in the same iteration?
bool rotate_commute(Moves *m, Stmt *x, Stmt *y);
// Only moves from shared memory into registers?
bool rotate_loads(Moves *m, Stmt *s);
bool rotate_has(Stmt *s, OpCode op);
bool rotate_special(Stmt *s); // does it issue, count or await copies, or wait for other threads?
// A fully unrolled loop of known bounds, of more than one iteration?
bool rotate_peelable(const Stmt *s);
Stmt *rotate_first(Arena *a, const Stmt *loop); // its first iteration, a block
Stmt *rotate_last(Arena *a, const Stmt *loop);
// What is left when `first` and `last` iterations are taken out at either end.
Stmt *rotate_rest(Arena *a, const Stmt *loop, int first, int last);

#endif
