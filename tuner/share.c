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

typedef VEC(TnCandidate *) Group; // one configuration at several sizes

// Numbers that are the same at all sizes stay; others are arguments, one where they go together.
static void find_slots(Arena *a, const Group *g, TnShared *s) {
  int n = g->data[0]->nnumbers;
  s->slot = NEWN(a, int, n + 1);
  for (int i = 0; i < n; i++) {
    bool varies = false;
    s->slot[i] = -1;
    for (int m = 1; m < g->len; m++)
      varies |= g->data[m]->numbers[i].value != g->data[0]->numbers[i].value;
    for (int k = 0; k < i && varies && s->slot[i] < 0; k++) {
      bool together = s->slot[k] >= 0;
      for (int m = 0; m < g->len; m++)
        together = together && g->data[m]->numbers[i].value == g->data[m]->numbers[k].value;
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

// False: there is nothing to share, or the texts are the same: nvcc's results are kept by them.
static bool share(Arena *a, const Group *g) {
  TnShared *s = NEW(a, TnShared);
  if (g->len < 2) return false;
  find_slots(a, g, s);
  if (!s->slots) return false;
  s->hash = hash_of(g->data[0], s);
  for (int i = 0; i < g->len; i++) {
    TnCandidate *c = g->data[i];
    c->shared = s;
    for (int k = 0; k < c->nnumbers; k++) c->rough |= s->slot[k] >= 0 && !c->numbers[k].exact;
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

// How many of them the final round has built once more.
static int rebuilt(const TnSpace *s, int finalists) {
  int shares = 0;
  for (int k = 0; k < s->all.len; k++) shares += s->all.data[k].shared != NULL;
  return shares < finalists ? shares : finalists;
}

static Map *groups_of(Arena *a, TnSpace *const *spaces, int n) {
  Map *groups = map_new(a);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < spaces[i]->all.len; k++) {
      TnCandidate *c = &spaces[i]->all.data[k];
      if (c->state != TN_QUEUED || !c->nnumbers) continue;
      const char *name = name_of(a, c);
      if (!map_has(groups, name)) map_set(groups, name, NEW(a, Group));
      vec_push(a, (Group *)map_get(groups, name), c);
    }
  }
  return groups;
}

void tn_share(Arena *a, TnSpace *const *spaces, int n, int finalists) {
  Map *groups = groups_of(a, spaces, n);
  int saved = 0; // builds
  for (int i = 0; i < map_len(groups); i++) {
    const Group *g = map_value(groups, i);
    if (share(a, g)) saved += g->len - 1;
  }
  for (int i = 0; i < n; i++) saved -= rebuilt(spaces[i], finalists);
  for (int i = 0; i < map_len(groups); i++) {
    const Group *g = map_value(groups, i);
    if (g->data[0]->shared) g->data[0]->shared->unused = saved <= 0;
  }
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
