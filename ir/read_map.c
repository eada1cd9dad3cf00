// Tensor maps of the text form.
// SPDX-License-Identifier: MIT
#include "ir/read.h"

int read_ints(Reader *r, int *out, int most, int lo, int hi) {
  int n = 0;
  Span at = read_here(r);
  read_expect(r, "[");
  while (!read_is(r, "]") && !r->failed) {
    int v = (int)read_int(r, lo, hi);
    if (n < most) out[n] = v;
    n++;
    if (!read_accept(r, ",")) break;
  }
  read_expect(r, "]");
  if (n > most)
    read_fail(r, DIAG_IR_COUNT, at, "[]",
              arena_printf(r->arena, "has %d entries, at most %d", n, most));
  return n < most ? n : most;
}

static void one_each(Reader *r, const Buffer *b, int *out, int most) {
  Span at = read_here(r);
  int n = read_ints(r, out, MAP_RANK, 1, most);
  if (n != b->ndim && !r->failed)
    read_fail(r, DIAG_IR_COUNT, at, b->name,
              arena_printf(r->arena, "has %d dimensions, but %d are given here", b->ndim, n));
}

void read_map(Reader *r, Buffer *b) {
  b->map = NEW(r->arena, TensorMap);
  for (int i = 0; i < MAP_RANK; i++) b->map->box[i] = b->map->step[i] = 1;
  if (b->ndim < 1 || b->ndim > MAP_RANK) {
    read_fail(r, DIAG_IR_COUNT, read_here(r), b->name,
              arena_printf(r->arena, "has %d dimensions; a map has 1 to %d", b->ndim, MAP_RANK));
    b->ndim = 1;
  }
  if (read_accept(r, "strides")) {
    int n;
    Span at = read_here(r);
    b->strides = read_list(r, &n);
    for (int i = 0; i < n; i++) b->strides[i] = ex_cast(r->arena, DT_INDEX, b->strides[i]);
    if (n != b->ndim)
      read_fail(r, DIAG_IR_COUNT, at, b->name,
                arena_printf(r->arena, "has %d dimensions, but %d strides", b->ndim, n));
  }
  read_expect(r, "of");
  b->map->of = read_buffer_name(r);
  read_expect(r, "box");
  one_each(r, b, b->map->box, 1 << 20);
}

bool read_map_word(Reader *r, Buffer *b) {
  TensorMap *m = b->map;
  if (read_accept(r, "steps")) one_each(r, b, m->step, 1 << 20);
  else if (read_accept(r, "swizzle")) m->swizzle = (int)read_int(r, 0, 1024);
  else if (read_accept(r, "l2")) m->l2 = (int)read_int(r, 0, 1024);
  else if (read_accept(r, "nan")) m->nan = true;
  else return false;
  return !r->failed;
}
