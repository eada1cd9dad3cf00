// What the sizes of a sweep share: one build of a configuration where its texts differ in nothing
// but numbers that are as good as arguments.
// SPDX-License-Identifier: MIT
#include <string.h>
#include <unistd.h>

#include "tuner/internal.h"
#include "tuner/search.h"

// Changes with what becomes of a text that is shared.
static const char form[] = "1";

void tn_note_numbers(Arena *a, TnCandidate *c) {
  const char *code = tn_code(c->text), *from = code;
  CgNumbers n;
  Buf rest = {0};
  TnKey k;
  cg_numbers(a, code, c->symbol, &n);
  c->numbers = NEWN(a, TnNumber, n.list.len + 1);
  c->nnumbers = n.list.len;
  for (int i = 0; i < n.list.len; i++) {
    const CgNumber *x = &n.list.data[i];
    c->numbers[i] = (TnNumber){x->value, x->exact};
    buf_add(&rest, from, (size_t)(code + x->at - from));
    buf_puts(&rest, x->kernel < 0 ? "#host" : "#");
    from = code + x->at + x->len;
  }
  buf_puts(&rest, from);
  tn_key_begin(&k);
  tn_key_text(&k, "rest", buf_str(&rest));
  TnHash h = tn_key_end(&k);
  memcpy(c->rest, h.bytes, sizeof c->rest);
  buf_free(&rest);
}

/* ------------------------------------------------------------------ groups */

// One configuration at several sizes.
typedef struct {
  VEC(TnCandidate *) of;
  VEC(int) size;    // theirs, counted
  TnShared *shared; // NULL: not yet
  int last;         // size
} Group;

// Numbers that are the same at all sizes stay; others are arguments, one where they go together.
static void find_slots(Arena *a, const Group *g, TnShared *s) {
  int n = g->of.data[0]->nnumbers;
  s->slot = NEWN(a, int, n + 1);
  for (int i = 0; i < n; i++) {
    bool varies = false;
    s->slot[i] = -1;
    for (int m = 1; m < g->of.len; m++)
      varies |= g->of.data[m]->numbers[i].value != g->of.data[0]->numbers[i].value;
    for (int k = 0; k < i && varies && s->slot[i] < 0; k++) {
      bool together = s->slot[k] >= 0;
      for (int m = 0; m < g->of.len; m++)
        together = together && g->of.data[m]->numbers[i].value == g->of.data[m]->numbers[k].value;
      if (together) s->slot[i] = s->slot[k];
    }
    if (varies && s->slot[i] < 0) s->slot[i] = s->slots++;
  }
}

// Of the text that is shared: it is these.
static TnHash hash_of(const TnCandidate *c, const TnShared *s) {
  TnKey k;
  tn_key_begin(&k);
  tn_key_text(&k, "shared", form);
  tn_key_add(&k, "rest", c->rest, sizeof c->rest);
  for (int i = 0; i < c->nnumbers; i++) {
    int64_t value = c->numbers[i].value;
    if (s->slot[i] < 0) tn_key_add(&k, "number", &value, sizeof value);
    else tn_key_add(&k, "argument", &s->slot[i], sizeof s->slot[i]);
  }
  return tn_key_end(&k);
}

static void use_shared(TnCandidate *c, TnShared *s) {
  c->shared = s;
  for (int k = 0; k < c->nnumbers; k++) c->rough |= s->slot[k] >= 0 && !c->numbers[k].exact;
}

// Nothing is to be shared by one, nor by texts that are the same: nvcc's results are kept by them.
static void share(Arena *a, Group *g, bool worth) {
  TnShared *s = NEW(a, TnShared);
  if (g->of.len < 2) return;
  find_slots(a, g, s);
  if (!s->slots) return;
  s->hash = hash_of(g->of.data[0], s);
  s->unused = !worth;
  g->shared = s;
  for (int i = 0; i < g->of.len; i++) use_shared(g->of.data[i], s);
}

// Can it have the build that others share? It differs from them in arguments alone.
static bool fits(const Group *g, const TnCandidate *c) {
  const TnCandidate *other = g->of.data[0];
  const TnShared *s = g->shared;
  for (int i = 0; i < c->nnumbers; i++) {
    if (s->slot[i] < 0 && c->numbers[i].value != other->numbers[i].value) return false;
    for (int k = 0; k < i && s->slot[i] >= 0; k++)
      if (s->slot[k] == s->slot[i] && c->numbers[k].value != c->numbers[i].value) return false;
  }
  return true;
}

static const char *name_of(Arena *a, const TnCandidate *c) {
  TnHash h;
  char text[65];
  Buf b = {0};
  memcpy(h.bytes, c->rest, sizeof h.bytes);
  tn_hash_text(&h, text);
  tn_text(c, &b);
  const char *name = arena_printf(a, "%s %s", text, buf_str(&b));
  buf_free(&b);
  return name;
}

struct TnSharing {
  Arena *arena;
  Map *groups; // name -> the Group that further ones of this name may join
  VEC(Group *) all;
  int sizes, known, finalists; // known: of the sizes
  bool worth;                  // builds are saved
};

TnSharing *tn_sharing_new(Arena *a, int sizes, int finalists) {
  TnSharing *t = NEW(a, TnSharing);
  *t = (TnSharing){.arena = a, .groups = map_new(a), .sizes = sizes, .finalists = finalists};
  return t;
}

void tn_sharing_add(TnSharing *t, TnSpace *s) {
  for (int k = 0; k < s->all.len; k++) {
    TnCandidate *c = &s->all.data[k];
    if (c->state != TN_QUEUED || !c->nnumbers) continue;
    const char *name = name_of(t->arena, c);
    Group *g = map_get(t->groups, name);
    if (!g || (g->shared && !fits(g, c))) {
      g = NEW(t->arena, Group);
      map_set(t->groups, name, g);
      vec_push(t->arena, &t->all, g);
    }
    vec_push(t->arena, &g->of, c);
    vec_push(t->arena, &g->size, t->known);
    g->last = t->known;
    if (g->shared) use_shared(c, g->shared);
  }
  t->known++;
}

// Builds that are saved by all sizes, should those to come be as the last one that is known.
static int saved(const TnSharing *t) {
  int n = 0, last = 0, more = t->sizes - t->known;
  int *shares = NEWN(t->arena, int, t->known + 1);
  for (int i = 0; i < t->all.len; i++) {
    const Group *g = t->all.data[i];
    bool goes_on = g->last == t->known - 1;
    if (!g->shared) continue;
    n += g->of.len - 1 + (goes_on ? more : 0);
    last += goes_on;
    for (int k = 0; k < g->of.len; k++) shares[g->size.data[k]]++;
  }
  for (int k = 0; k < t->known; k++) n -= shares[k] < t->finalists ? shares[k] : t->finalists;
  return n - more * (last < t->finalists ? last : t->finalists);
}

void tn_sharing_decide(TnSharing *t) {
  for (int i = 0; i < t->all.len; i++)
    if (!t->all.data[i]->shared) share(t->arena, t->all.data[i], t->worth);
  if (t->worth || saved(t) <= 0) return;
  t->worth = true; // and none has been built yet, so that none was found unfit
  for (int i = 0; i < t->all.len; i++)
    if (t->all.data[i]->shared) t->all.data[i]->shared->unused = false;
}

/* ------------------------------------------------------------------ builds */

void tn_shared_text(const TnCandidate *c, Buf *out) {
  const char *code = tn_code(c->text);
  CgNumbers n;
  Buf name = {0};
  Arena *a = arena_new();
  cg_numbers(a, code, c->symbol, &n);
  tn_text(c, &name);
  buf_printf(out, "// one build for several sizes\n//   parameters  %s\n\n", buf_str(&name));
  cg_numbers_text(code, c->symbol, &n, c->shared->slot, c->shared->slots, out);
  buf_free(&name);
  arena_free(a);
}

void tn_put_arguments(const TnCandidate *c, Buf *out) {
  for (int s = 0; s < c->shared->slots; s++) {
    int i = 0;
    while (c->shared->slot[i] != s) i++;
    buf_printf(out, "%s%lld", s ? "," : "", (long long)c->numbers[i].value);
  }
}
