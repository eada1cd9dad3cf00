// What the files of ir/ share among themselves; nothing outside the folder includes this.
// SPDX-License-Identifier: MIT
#ifndef TLC_IR_INTERNAL_H
#define TLC_IR_INTERNAL_H

#include "ir/ir.h"

/* ptrmap.c: pointer -> pointer, by identity */

typedef struct PtrMap PtrMap;

PtrMap *ptrmap_new(Arena *a);
void *ptrmap_get(const PtrMap *m, const void *key); // NULL when absent
void ptrmap_set(PtrMap *m, const void *key, void *value);

/* fold.c: arithmetic on constants; false where the result is not to be folded */

int64_t fold_wrap(DType t, int64_t v);    // into the range of t; index and 64-bit types are unchanged
double fold_round(DType t, double v);     // to the nearest value of float type t
bool fold_int(BinOp op, DType t, int64_t x, int64_t y, int64_t *out);
bool fold_float(BinOp op, DType t, double x, double y, double *out); // arithmetic only
bool fold_compare(BinOp op, DType t, const Expr *x, const Expr *y, bool *out);
int64_t fold_to_int(DType to, double v);  // truncates and saturates; NaN is 0
double fold_to_float(DType to, DType from, int64_t v);

/* expr.c */

bool bin_is_compare(BinOp op); // lt, le, eq, ne

#endif
