// Candidates that become the same code, found out before all of the compiler has been over them:
// one goes on, what it becomes is what the others do. The processes that compile share the table.
// SPDX-License-Identifier: MIT
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tuner/db.h"
#include "tuner/internal.h"

enum { PATIENCE_MS = 100 };

// Of a program: whose it is.
typedef struct {
  uint64_t key; // the hash's first bytes; 0: free
  TnHash hash;
  int holder; // its candidate's number and one; 0: not written yet
} Slot;

struct TnTwins {
  int n; // a power of two, larger than twice the candidates
  Slot slot[];
};

static size_t bytes_of(int n) { return sizeof(TnTwins) + (size_t)n * sizeof(Slot); }

TnTwins *tn_twins_new(int candidates) {
  int n = 16;
  while (n <= 2 * candidates) n *= 2;
  TnTwins *t = mmap(NULL, bytes_of(n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (t == MAP_FAILED) return NULL;
  t->n = n;
  return t;
}

void tn_twins_free(TnTwins *t) {
  if (t) munmap(t, bytes_of(t->n));
}

// Flags may count in what comes: only those with the same ones are twins.
static TnHash hash_of(const Program *p, const TnCandidate *c) {
  Program own = *p;
  Buf text = {0};
  TnKey k;
  own.bindings = NULL;
  ir_print(&own, &text);
  tn_key_begin(&k);
  tn_key_text(&k, "program", buf_str(&text));
  for (int i = 0; i < c->flags.len; i++) {
    tn_key_text(&k, "flag", c->flags.data[i].name);
    tn_key_text(&k, "flag", c->flags.data[i].value);
  }
  buf_free(&text);
  return tn_key_end(&k);
}

// The candidate of a slot that is taken; -1: its process has died over it.
static int holder_of(const Slot *s) {
  for (int ms = 0; ms < PATIENCE_MS; ms++) {
    int holder = __atomic_load_n(&s->holder, __ATOMIC_ACQUIRE);
    if (holder) return holder - 1;
    usleep(1000);
  }
  return -1;
}

int tn_twin(TnTwins *t, const Program *p, const TnCandidate *c) {
  TnHash hash = hash_of(p, c);
  uint64_t key;
  memcpy(&key, hash.bytes, sizeof key);
  key |= 1;
  for (int i = (int)(key >> 8 & (uint64_t)(t->n - 1));; i = (i + 1) & (t->n - 1)) {
    Slot *s = &t->slot[i];
    uint64_t free_slot = 0;
    if (__atomic_compare_exchange_n(&s->key, &free_slot, key, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      s->hash = hash;
      __atomic_store_n(&s->holder, c->id + 1, __ATOMIC_RELEASE);
      return c->id;
    }
    if (free_slot != key) continue; // another's
    int holder = holder_of(s);
    if (holder < 0) return c->id;
    if (!memcmp(&s->hash, &hash, sizeof hash)) return holder;
  }
}
