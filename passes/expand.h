// Tile ops that become other tile ops and parallel loops before layouts are chosen: what their
// files share.
// SPDX-License-Identifier: MIT
#ifndef TLC_EXPAND_H
#define TLC_EXPAND_H

#include "passes/reduce.h"

enum { MAX_DIMS = LOOP_MAX_DIMS };

typedef struct {
  Arena *arena;
  Kernel *kernel;
  Span span;
  Var *var[MAX_DIMS]; // one for each walked dimension
  int n;
} Nest;

/* expand.c */

// The dimensions of a region that its loop walks: extents other than 1, and `keep` (-1: none).
int nest_walked(const Region *r, int keep, int *dim);
void nest_vars(Nest *x, int n);
// Indices of the region with variable v[i] added in dimension dim[i].
Expr **nest_indices(Arena *a, const Region *r, const int *dim, int n, Var **v);
// One parallel loop over all variables, or a nest of others.
Stmt *nest_loop(Nest *x, LoopKind kind, Expr **extent, Stmt *body);
// A new tile of the n extents (none: one element).
Buffer *nest_temp(Nest *x, const char *name, const char *suffix, DType t, Scope scope, Expr **shape,
                  int n);
Region *nest_element(Arena *a, Buffer *b, Expr **idx);
Stmt *nest_copy(Arena *a, Region *src, Region *dst, Span span);
Stmt *nest_fill(Arena *a, Region *dst, Expr *value, Span span);

/* expand_reduce.c */

Stmt *expand_reduce(Arena *a, Kernel *k, const Stmt *s);

/* expand_scan.c */

Stmt *expand_scan(Arena *a, Kernel *k, Stmt *s);

/* expand_forms.c */

Stmt *expand_test(Arena *a, Kernel *k, const Stmt *s);
Stmt *expand_im2col(Arena *a, Kernel *k, const Stmt *s);
Stmt *expand_dp4a(Arena *a, const Stmt *s);

/* expand_reducer.c */

void expand_reducers(Arena *a, Kernel *k);

#endif
