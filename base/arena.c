// Arenas: bump allocation in chunks, released as a whole.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct Chunk Chunk;
struct Chunk {
  Chunk *next;
  size_t used, size;
  bool zero; // is what has not been given out yet: pages that nobody touches cost nothing
};

enum {
  CHUNK_HEADER = (sizeof(Chunk) + 15) & ~15,
  CHUNK_SIZE = 64 << 10,
  LARGE_PAGE = 2 << 20,
  MANY_PAGES = 4 * LARGE_PAGE, // from here on they are worth it
};

struct Arena {
  Chunk *head;
  size_t total;
};

// In large pages memory is faster to come by, and to fork with. A wish: it may be refused.
static void want_large_pages(void *memory, size_t size) {
  uintptr_t from = ((uintptr_t)memory + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
  uintptr_t to = ((uintptr_t)memory + size) & ~(uintptr_t)(LARGE_PAGE - 1);
  (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

static Chunk *chunk_new(Arena *a, size_t payload) {
  size_t size = payload > CHUNK_SIZE ? payload : CHUNK_SIZE;
  bool zero = payload > CHUNK_SIZE;
  Chunk *c = zero ? calloc(1, CHUNK_HEADER + size) : malloc(CHUNK_HEADER + size);
  if (!c) fatal("out of memory");
  if (size >= MANY_PAGES) want_large_pages(c, CHUNK_HEADER + size);
  *c = (Chunk){a->head, 0, size, zero};
  a->head = c;
  a->total += CHUNK_HEADER + size;
  return c;
}

Arena *arena_new(void) {
  Arena *a = calloc(1, sizeof *a);
  if (!a) fatal("out of memory");
  return a;
}

void arena_free(Arena *a) {
  if (!a) return;
  for (Chunk *c = a->head, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(a);
}

void *arena_alloc(Arena *a, size_t size) {
  size = (size + 15) & ~(size_t)15;
  Chunk *c = a->head;
  if (!c || c->size - c->used < size) c = chunk_new(a, size);
  void *p = (char *)c + CHUNK_HEADER + c->used;
  c->used += size;
  return c->zero ? p : memset(p, 0, size);
}

void *arena_copy(Arena *a, const void *data, size_t size) {
  void *p = arena_alloc(a, size);
  return size ? memcpy(p, data, size) : p;
}

char *arena_strn(Arena *a, const char *s, size_t n) {
  char *p = arena_alloc(a, n + 1);
  memcpy(p, s, n);
  return p;
}

char *arena_str(Arena *a, const char *s) { return arena_strn(a, s, strlen(s)); }

char *arena_vprintf(Arena *a, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  char *p = arena_alloc(a, (size_t)n + 1);
  vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *p = arena_vprintf(a, fmt, ap);
  va_end(ap);
  return p;
}

size_t arena_bytes(const Arena *a) { return a->total; }

void vec_reserve(Arena *a, void **data, int *cap, int need, size_t item) {
  if (need <= *cap) return;
  int wanted = *cap ? *cap * 2 : 4;
  if (wanted < need) wanted = need;
  void *p = arena_alloc(a, (size_t)wanted * item);
  if (*cap) memcpy(p, *data, (size_t)*cap * item);
  *data = p;
  *cap = wanted;
}
