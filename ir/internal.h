// What the files of ir/ share among themselves; nothing outside the folder includes this.
// SPDX-License-Identifier: MIT
#ifndef TLC_IR_INTERNAL_H
#define TLC_IR_INTERNAL_H

#include "ir/ir.h"
#include "ir/layout.h"

/* ptrmap.c: pointer -> pointer, by identity */

typedef struct PtrMap PtrMap;

PtrMap *ptrmap_new(Arena *a);
void ptrmap_clear(PtrMap *m);
void *ptrmap_get(const PtrMap *m, const void *key); // NULL when absent
void ptrmap_set(PtrMap *m, const void *key, void *value);

/* fold.c: arithmetic on constants; false where the result is not to be folded */

int64_t fold_wrap(DType t, int64_t v); // into the range of t; index and 64-bit types are unchanged
double fold_round(DType t, double v);     // to the nearest value of float type t
bool fold_int(BinOp op, DType t, int64_t x, int64_t y, int64_t *out);
bool fold_float(BinOp op, DType t, double x, double y, double *out); // arithmetic only
bool fold_compare(BinOp op, DType t, const Expr *x, const Expr *y, bool *out);
int64_t fold_to_int(DType to, double v);  // truncates and saturates; NaN is 0
double fold_to_float(DType to, DType from, int64_t v);

/* layout_mma.c: fragments of two dimensions, each of digits, least significant first */

Layout *layout_two_dims(Arena *a, int64_t d0, int64_t d1, int bits, int threads);
// Digits of extent 1 are dropped.
void layout_set_dim(Arena *a, Layout *l, int dim, const Digit *d, int n);

/* expr.c */

bool bin_is_compare(BinOp op); // lt, le, eq, ne

/* expr_walk.c */

uint64_t hash_mix(uint64_t h, uint64_t v);

/* words.c: the vocabulary of the text form, shared by print.c and read.c */

int word_precedence(BinOp op); // of an infix operator; higher binds tighter
enum { PREC_OR = 1, PREC_AND, PREC_NOT, PREC_COMPARE, PREC_BITOR, PREC_BITXOR, PREC_BITAND,
       PREC_SHIFT, PREC_SUM, PREC_PRODUCT, PREC_UNARY, PREC_PRIMARY };
bool word_reserved(const char *s); // may not name a variable or a buffer
const char *word_unary(UnOp op);   // name
const char *word_binary(BinOp op); // name
const char *word_infix(BinOp op);  // "" when written as a call
const char *word_math(MathFn fn, int *arity);
extern const char *const loop_words[];  // by LoopKind
extern const char *const scope_words[]; // by Scope
extern const char *const role_words[];  // by ParamRole

#endif
