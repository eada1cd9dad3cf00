// Tensors whose elements a function of their indices places (T.annotate_layout): the oracle runs on
// a row-major copy, and what it wrote goes back to where the function says.
// SPDX-License-Identifier: MIT
#include "emu/oracle.h"

#include <string.h>

void oracle_define_places(Oracle *o, Mem *m) {
  const IndexMap *map = m->buf->places;
  if (!map) return;
  m->var_of = NEWN(o->c.arena, int, map->n + 1);
  m->place_of = NEWN(o->c.arena, Node *, map->m + 1);
  for (int i = 0; i < map->n; i++) m->var_of[i] = emu_bind(&o->c, map->var[i], true) >> 1;
  for (int k = 0; k < map->m; k++) m->place_of[k] = emu_compile(&o->c, map->to[k]);
}

// Coordinates of the e-th element in the shape that the function maps into.
static void coordinates(Oracle *o, const Mem *m, int64_t e, int64_t *out) {
  for (int d = m->nd - 1; d >= 0; d--) {
    o->m.uni[m->var_of[d]].i = e % m->shape[d];
    e /= m->shape[d];
  }
  for (int k = 0; k < m->buf->places->m; k++) out[k] = emu_eval_int(&o->m, m->place_of[k]);
}

// Fills m->place; false where two elements share a place, or one has none.
static bool find_places(Oracle *o, Mem *m) {
  Arena *a = o->c.arena;
  int n = m->buf->places->m;
  int64_t *at = NEWN(a, int64_t, n + 1), *extent = NEWN(a, int64_t, n + 1);
  for (int64_t e = 0; e < m->elems; e++) {
    coordinates(o, m, e, at);
    for (int k = 0; k < n; k++) {
      if (at[k] < 0) return false;
      extent[k] = at[k] >= extent[k] ? at[k] + 1 : extent[k];
    }
  }
  m->place = NEWN(a, int64_t, m->elems + 1);
  bool *taken = NEWN(a, bool, m->elems + 1);
  for (int64_t e = 0; e < m->elems; e++) {
    int64_t place = 0;
    coordinates(o, m, e, at);
    for (int k = 0; k < n; k++) place = place * extent[k] + at[k];
    if (place >= m->elems || taken[place]) return false;
    taken[place] = true;
    m->place[e] = place;
  }
  return true;
}

bool oracle_from_places(Oracle *o, Mem *m) {
  const IndexMap *map = m->buf->places;
  if (!map) return true;
  if (map->fragment || map->n != m->nd || m->stride_of || !find_places(o, m)) {
    EMU_FAIL(&o->m, m->buf, DIAG_EMU_PLACES, m->buf->span, m->buf->name);
    return false;
  }
  m->placed = m->raw;
  m->placed_written = m->written;
  m->raw = arena_alloc(o->c.arena, (size_t)(m->elems * dt_bits(m->type) + 7) / 8 + 16);
  m->written = m->written ? NEWN(o->c.arena, uint8_t, m->elems + 1) : NULL;
  for (int64_t e = 0; e < m->elems; e++)
    emu_write(m->type, m->raw, e, emu_read(m->type, m->placed, m->place[e]));
  return true;
}

void oracle_to_places(Mem *m) {
  for (int64_t e = 0; m->place && e < m->elems; e++) {
    emu_write(m->type, m->placed, m->place[e], emu_read(m->type, m->raw, e));
    if (m->written && m->written[e]) m->placed_written[m->place[e]] = 1;
  }
}
