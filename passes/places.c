// Tensors whose elements the program places by a function of their indices (T.annotate_layout): the
// offset of an element, and whether the function fills the tensor.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

enum { MAX_PLACES = 1 << 24 }; // elements that are counted one by one

// Extents of the shape that the function maps into, from the bounds of its indices; false where one
// is not known.
static bool extents(Arena *a, const Buffer *b, int64_t *extent) {
  const IndexMap *m = b->places;
  static const Kernel none;
  static const Program nothing;
  Facts *f = facts_new(a, &nothing, &none);
  for (int i = 0; i < m->n && i < b->ndim; i++)
    facts_push_loop(f, m->var[i], ex_index(a, 0), b->shape[i]);
  for (int k = 0; k < m->m; k++) {
    int64_t lo, hi;
    facts_bounds(f, ex_cast(a, DT_INDEX, m->to[k]), &lo, &hi);
    if (lo != 0 || hi >= MAX_PLACES) return false;
    extent[k] = hi + 1;
  }
  return true;
}

bool places_fill(Arena *a, const Buffer *b) {
  int64_t extent[LOOP_MAX_DIMS * 2], total = 1, n = 1, size;
  const IndexMap *m = b->places;
  if (m->fragment || m->n != b->ndim || m->m > (int)LEN(extent)) return false;
  for (int d = 0; d < b->ndim; d++) {
    if (!ex_const(b->shape[d], &size) || __builtin_mul_overflow(n, size, &n)) return false;
  }
  if (b->strides || !extents(a, b, extent)) return false;
  for (int k = 0; k < m->m; k++)
    if (__builtin_mul_overflow(total, extent[k], &total)) return false;
  return total == n;
}

Expr *places_offset(Lower *l, const Buffer *b, Expr **idx) {
  Arena *a = l->arena;
  const IndexMap *m = b->places;
  int64_t extent[LOOP_MAX_DIMS * 2];
  if (!extents(a, b, extent)) die("places of %s", b->name);
  Subst sub = {.arena = a};
  for (int i = 0; i < m->n; i++) subst_add(&sub, m->var[i], idx[i]);
  Expr *off = ex_index(a, 0);
  for (int k = 0; k < m->m; k++)
    off = ex_add(a, ex_mul(a, off, ex_index(a, extent[k])),
                 ex_cast(a, DT_INDEX, subst_expr(&sub, m->to[k])));
  return lower_simplify(l, off);
}
