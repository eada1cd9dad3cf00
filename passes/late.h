// Stores of a finished tile that go out beside the next tile's products: what late_find.c found and
// late.c rewrites.
// SPDX-License-Identifier: MIT
#ifndef TLC_LATE_H
#define TLC_LATE_H

#include "passes/internal.h"

typedef struct {
  PassCtx *c;
  Arena *a;
  Kernel *k;
  Stmt *around;      // block of the consumers that holds the loop over tiles
  int at;            // its place there
  Stmt *tiles;       // the loop over tiles
  StmtVec *body;     // its statements
  int products;      // place of the loop that multiplies
  int hook;          // place in that loop's body, behind what it issues
  int64_t trips;     // its iterations
  int from;          // place of the first statement that goes late
  int accumulators;  // 32-bit registers of a thread that products add to
  int64_t kept;      // and those that hold a finished tile,
  int64_t others;    // or what the products leave as it is
  Expr *last;        // is the tile in the last column, where others are narrower? NULL: none are
} Late;

// Is there a loop over tiles whose last statements may run beside the next tile's products?
bool late_find(Late *l);

// Where tiles overlap: stores of each one's own columns, and two copies of the products.
void narrow_stores(Late *l);
Stmt *narrow_products(Late *l, Stmt *products);

// Makes the stores of a tile those of each warpgroup alone, where each fills whole rows.
void late_groups(Late *l);

// A nest of unrolled loops, inside of which lane-private `scratch` is filled and stored by one
// stmatrix.
typedef struct {
  Stmt *fills; // block that ends with the stmatrix
  Buffer *scratch;
  int64_t count; // times it runs
} LateNest;

bool late_nest(const Late *l, Stmt *s, LateNest *nest);

#endif
