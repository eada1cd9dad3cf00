// What the files of the pack pass share.
// SPDX-License-Identifier: MIT
#ifndef TLC_PACK_H
#define TLC_PACK_H

#include "passes/lower.h"

// A buffer of 4-bit elements, and the one of bytes that takes its place.
typedef struct {
  Buffer *was, *now;
} Packed;

typedef struct {
  PassCtx *c;
  Arena *arena;
  Program *program;
  Facts *facts;
  Uniform *uniform;
  VEC(Packed) packed;
  VEC(Var *) stepped; // of loops around, half of what counted elements
  int parallel;       // T.Parallel loops around
} Pack;

/* pack.c */

Buffer *pack_bytes(const Pack *p, const Buffer *b); // in its place; NULL of wider elements
Expr *pack_expr(Pack *p, Expr *x); // with bytes in place of the 4-bit elements that it loads
Stmt *pack_stmt(Pack *p, Stmt *s);
bool pack_even(Pack *p, Expr *x); // proved
Expr *pack_half(Pack *p, Expr *x);
// The bits of a value as an element of the type, in the low half of a byte.
Expr *pack_nibble(Arena *a, DType elem, Expr *value);

/* pack_store.c */

// The statement a store becomes; the value is an expression of elements still.
Stmt *pack_store(Pack *p, Stmt *s);
// A loop over neighbours that share bytes and are stored: it takes two steps at once, so that one
// iteration writes both. Its body is packed too; false, and nothing done, of other loops.
bool pack_loop(Pack *p, Stmt *s);

#endif
