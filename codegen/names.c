// C names for variables and buffers: as in the source, made legal and unique among those visible.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <ctype.h>
#include <string.h>

static bool is_reserved(const char *word) {
  return sym_keyword(word) || !strncmp(word, "tlc_", 4) || !strncmp(word, "cuda", 4) ||
         !strncmp(word, "cu_", 3) || !strncmp(word, "TLC_", 4) || strstr(word, "__") ||
         (word[0] == '_' && isupper((unsigned char)word[1]));
}

typedef struct {
  const void *key;
  Name *name;
} Slot;

struct Names {
  Arena *arena;
  Slot *slots;
  size_t cap, len;
  Map *visible; // name -> non-NULL while visible
  VEC(const char *) stack;
};

Names *names_new(Arena *a) {
  Names *n = NEW(a, Names);
  n->arena = a;
  n->cap = 256;
  n->slots = NEWN(a, Slot, n->cap);
  n->visible = map_new(a);
  return n;
}

static Slot *find(const Names *n, const void *key) {
  uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  for (size_t i = h >> 32;; i++) {
    Slot *s = &n->slots[i & (n->cap - 1)];
    if (!s->key || s->key == key) return s;
  }
}

static void grow(Names *n) {
  Names old = *n;
  n->cap *= 2;
  n->slots = NEWN(n->arena, Slot, n->cap);
  for (size_t i = 0; i < old.cap; i++) {
    if (old.slots[i].key) *find(n, old.slots[i].key) = old.slots[i];
  }
}

Name *names_of(Names *n, const void *object) {
  if (n->len * 2 >= n->cap) grow(n);
  Slot *s = find(n, object);
  if (!s->key) {
    *s = (Slot){object, NEW(n->arena, Name)};
    n->len++;
  }
  return s->name;
}

// The wish with every byte that C does not take replaced; Python's names may be any letters.
static char *legal(Arena *a, const char *wish) {
  char *s = arena_printf(a, "%s%s", !wish || !*wish || isdigit((unsigned char)*wish) ? "v" : "",
                         wish ? wish : "");
  for (char *c = s; *c; c++) {
    if (!isalnum((unsigned char)*c) || (unsigned char)*c > 127) *c = '_';
  }
  while (strstr(s, "__")) memmove(strstr(s, "__"), strstr(s, "__") + 1, strlen(strstr(s, "__")));
  if (sym_keyword(s)) return arena_printf(a, "%s_", s);
  if (is_reserved(s) || s[0] == '_') return arena_printf(a, "v%s%s", s[0] == '_' ? "" : "_", s);
  return s;
}

void names_reserve(Names *n, const char *word) {
  map_set(n->visible, word, n);
  vec_push(n->arena, &n->stack, word);
}

const char *names_declare(Names *n, const void *object, const char *wish) {
  const char *base = legal(n->arena, wish), *name = base;
  bool digit_end = isdigit((unsigned char)base[strlen(base) - 1]);
  for (int i = 1; map_get(n->visible, name); i++)
    name = arena_printf(n->arena, digit_end ? "%s_%d" : "%s%d", base, i);
  names_reserve(n, name);
  return names_of(n, object)->text = name;
}

int names_mark(const Names *n) {
  return n->stack.len;
}

void names_pop(Names *n, int mark) {
  while (n->stack.len > mark) map_set(n->visible, n->stack.data[--n->stack.len], NULL);
}
