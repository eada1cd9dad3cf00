// Pointer-keyed hash table (open addressing) in an arena.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

#include <string.h>

typedef struct {
  const void *key;
  void *value;
} Slot;

struct PtrMap {
  Arena *arena;
  Slot *slots;
  size_t cap, len;
};

PtrMap *ptrmap_new(Arena *a) {
  PtrMap *m = NEW(a, PtrMap);
  m->arena = a;
  m->cap = 64;
  m->slots = NEWN(a, Slot, m->cap);
  return m;
}

void ptrmap_clear(PtrMap *m) {
  memset(m->slots, 0, sizeof *m->slots * m->cap);
  m->len = 0;
}

static Slot *find(const PtrMap *m, const void *key) {
  uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
  for (size_t i = h >> 32;; i++) {
    Slot *s = &m->slots[i & (m->cap - 1)];
    if (!s->key || s->key == key) return s;
  }
}

void *ptrmap_get(const PtrMap *m, const void *key) { return find(m, key)->value; }

void ptrmap_set(PtrMap *m, const void *key, void *value) {
  if (m->len * 2 >= m->cap) {
    PtrMap old = *m;
    m->cap *= 2;
    m->slots = NEWN(m->arena, Slot, m->cap);
    for (size_t i = 0; i < old.cap; i++) {
      if (old.slots[i].key) *find(m, old.slots[i].key) = old.slots[i];
    }
  }
  Slot *s = find(m, key);
  if (!s->key) m->len++;
  *s = (Slot){key, value};
}
