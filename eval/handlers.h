// Every handler of the eval tables, declared from them, and what those of T.* share.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_HANDLERS_H
#define TLC_EVAL_HANDLERS_H

#include "eval/internal.h"

#define LIB(module, name, fn, taste, signature, meaning) Val fn(Ev *ev, Call *c);
#include "eval/lib.def"
#undef LIB
#define METHOD(kind, name, fn, signature, meaning) Val fn(Ev *ev, Call *c);
#include "eval/methods.def"
#undef METHOD
#define VOCAB(name, fn, taste, signature, meaning) Val fn(Ev *ev, Call *c);
#define NOT_YET(name, meaning)
#include "eval/vocab.def"
#undef VOCAB
#undef NOT_YET

/* what handlers of T.* share */

// One side of a copy: how much of it is meant is settled later.
typedef struct {
  Buffer *buf;
  int n;
  Expr **min, **extent; // extent NULL: an element address
  bool whole;
} Side;
bool side_of(Ev *ev, Val v, Span at, Side *out); // false: v names no storage
// LANGUAGE.md 6.3.1: the two sides with equal extents over their dimensions of extent > 1.
void copy_legalize(Ev *ev, Side *src, Side *dst, Span at, Region **rs, Region **rd);
Region *side_region(Ev *ev, Side *s, Span at);       // all of it; an element for an address
void region_check(Ev *ev, const Region *r, Span at); // constants within a local tile
Val thread_axis(Ev *ev, int dim, Span at); // this thread's index along an axis of the block
void need_tile_place(Ev *ev, Call *c);     // not in a loop over elements, or an error
Buffer *ev_alloc(Ev *ev, Call *c, Scope scope, DType t, Val shape, Span at);
// An array of n elements of each thread, for the result of a statement; its first element.
Val ev_result(Ev *ev, const char *name, DType t, int n, Span at, Region **out);
void ev_split_grid(Ev *ev); // at the end of T.Kernel: kernels of the parts between T.sync_grid
void ev_add_source(Ev *ev, const char *text); // CUDA text for in front of the kernels
Val view_tensor(Ev *ev, Call *c, DType t);                 // T.Tensor over existing storage
Expr *type_edge(Ev *ev, DType t, bool max, bool infinite); // largest or smallest value of a type
// A function of n indices as a layout.
const IndexMap *map_of_function(Ev *ev, Val fn, int n, Span at);

#endif
