// C names for variables and buffers: as in the source, made legal and unique among those visible.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <ctype.h>
#include <string.h>

// Words that no declaration may use: keywords of C and C++, CUDA's built-in names, and macros that
// the headers of an emitted file, or gcc's default mode, define.
static const char reserved[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t"
    " char32_t char8_t class co_await co_return co_yield compl concept const const_cast"
    " consteval constexpr constinit continue decltype default delete do double"
    " dynamic_cast else enum explicit export extern false float for friend goto if inline"
    " int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private"
    " protected public register reinterpret_cast requires restrict return short signed"
    " sizeof static static_assert static_cast struct switch template this thread_local"
    " throw true try typedef typeid typename typeof union unsigned using virtual void"
    " volatile wchar_t while xor xor_eq int8_t int16_t int32_t int64_t uint8_t uint16_t"
    " uint32_t uint64_t size_t uintptr_t memcpy threadIdx blockIdx blockDim gridDim"
    " warpSize dim3 uint2 uint4 half half2 cudaStream_t cudaError_t cudaSuccess linux unix"
    " i386 NULL EOF NAN INFINITY HUGE_VAL errno assert stdin stdout stderr offsetof isnan"
    " isinf signbit stream msg msg_size error main std"
    " ";

static bool is_keyword(const char *word) {
  size_t len = strlen(word);
  for (const char *s = reserved; (s = strstr(s, word)); s += len) {
    if (s[-1] == ' ' && s[len] == ' ') return len > 0;
  }
  return false;
}

static bool is_reserved(const char *word) {
  return is_keyword(word) || !strncmp(word, "tlc_", 4) || !strncmp(word, "cuda", 4) ||
         !strncmp(word, "cu_", 3) || !strncmp(word, "TLC_", 4) || strstr(word, "__") ||
         (word[0] == '_' && isupper(word[1]));
}

bool cg_reserved(const char *word) {
  if (!isalpha((unsigned char)word[0]) && word[0] != '_') return true;
  for (const char *s = word; *s; s++) {
    if (!isalnum((unsigned char)*s) && *s != '_') return true;
  }
  return is_reserved(word) || word[0] == '_';
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
  if (is_keyword(s)) return arena_printf(a, "%s_", s);
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
