// Dicts and sets: open addressing over entries kept in order of insertion.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <math.h>
#include <string.h>

Val v_dict(Ev *ev, ValKind kind) {
  Dict *d = NEW(ev->arena, Dict);
  d->born = ev->clock;
  return (Val){.kind = kind, .dict = d};
}

static uint64_t mix(uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u; }

// Equal keys have equal hashes: 1, 1.0 and True; a dtype and its name.
static uint64_t hash(Ev *ev, Val v, Span at) {
  switch (v.kind) {
  case V_NONE:
  case V_ELLIPSIS: return mix(3, v.kind);
  case V_BOOL:
  case V_INT: return mix(1, (uint64_t)v_as_int(v));
  case V_FLOAT:
    if (v.f == floor(v.f) && fabs(v.f) < 9e18) return mix(1, (uint64_t)(int64_t)v.f);
    return hash_bytes(&v.f, sizeof v.f, 2);
  case V_STR: {
    DType t;
    ev_charge(ev, v.str->len / 64);
    const char *s = dt_find(v.str->data, &t) ? dt_name(t) : v.str->data;
    return hash_bytes(s, strlen(s), 0);
  }
  case V_DTYPE: return hash_bytes(dt_name(v.dtype), strlen(dt_name(v.dtype)), 0);
  case V_POLICY: return mix(4, (uint64_t)v.i);
  case V_TUPLE: {
    uint64_t h = 5;
    ev_step(ev, at);
    for (int i = 0; i < v.seq->len; i++) h = mix(h, hash(ev, v.seq->data[i], at));
    return h;
  }
  case V_FUNC: return mix(6, (uint64_t)(uintptr_t)v.fn->base);
  case V_EXC:
  case V_RANGE: return mix(7, v.kind);
  case V_MODULE: return hash_bytes(v.module->name, strlen(v.module->name), 8);
  case V_LIST:
  case V_DICT:
  case V_SET: ev_fail(ev, DIAG_UNHASHABLE, at, v_kind(ev, v));
  default: return mix(9, (uint64_t)(uintptr_t)v.seq);
  }
}

// The slot of a key: of its entry + 1, or of the free place where it would go.
static int *slot_of(Ev *ev, const Dict *d, Val key, uint64_t h) {
  for (int i = (int)((h >> 7) & (uint64_t)(d->nslots - 1));; i = (i + 1) & (d->nslots - 1)) {
    int *slot = &d->slots[i];
    if (!*slot) return slot;
    const DictEntry *e = &d->entries.data[*slot - 1];
    if (!e->dead && e->hash == h && v_equal(ev, e->key, key)) return slot;
  }
}

static void grow(Ev *ev, Dict *d) {
  d->nslots = d->nslots ? d->nslots * 2 : 8;
  d->slots = NEWN(ev->arena, int, d->nslots);
  for (int i = 0; i < d->entries.len; i++) {
    if (!d->entries.data[i].dead)
      *slot_of(ev, d, d->entries.data[i].key, d->entries.data[i].hash) = i + 1;
  }
}

void dict_set(Ev *ev, Dict *d, Val key, Val value, Span at) {
  if (d->entries.len * 2 >= d->nslots) grow(ev, d);
  uint64_t h = hash(ev, key, at);
  int *slot = slot_of(ev, d, key, h);
  if (*slot) {
    d->entries.data[*slot - 1].value = value;
    return;
  }
  vec_push(ev->arena, &d->entries, (DictEntry){key, value, h, false});
  d->live++;
  *slot = d->entries.len;
}

const Val *dict_peek(Ev *ev, const Dict *d, const DictEntry *like) {
  int slot = d->nslots ? *slot_of(ev, d, like->key, like->hash) : 0;
  return slot ? &d->entries.data[slot - 1].value : NULL;
}

const Val *dict_get(Ev *ev, const Dict *d, Val key, Span at) {
  uint64_t h = hash(ev, key, at);
  if (!d->nslots) return NULL;
  int slot = *slot_of(ev, d, key, h);
  return slot ? &d->entries.data[slot - 1].value : NULL;
}

bool dict_del(Ev *ev, Dict *d, Val key, Span at) {
  uint64_t h = hash(ev, key, at);
  if (!d->nslots) return false;
  int slot = *slot_of(ev, d, key, h);
  if (!slot) return false;
  d->entries.data[slot - 1].dead = true; // its slot stays taken, so that probing goes on past it
  d->live--;
  return true;
}
