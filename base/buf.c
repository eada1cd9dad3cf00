// Growing byte strings.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <stdlib.h>
#include <string.h>

static void grow(Buf *b, size_t more) {
  if (b->len + more + 1 <= b->cap) return;
  size_t cap = b->cap ? b->cap * 2 : 256;
  if (cap < b->len + more + 1) cap = b->len + more + 1;
  b->data = realloc(b->data, cap);
  if (!b->data) fatal("out of memory");
  b->cap = cap;
}

void buf_add(Buf *b, const char *s, size_t n) {
  grow(b, n);
  if (n) memcpy(b->data + b->len, s, n);
  b->len += n;
  b->data[b->len] = 0;
}

void buf_puts(Buf *b, const char *s) { buf_add(b, s, strlen(s)); }
void buf_putc(Buf *b, char c) { buf_add(b, &c, 1); }

void buf_vprintf(Buf *b, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  grow(b, (size_t)n);
  vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
  va_end(again);
  b->len += (size_t)n;
}

void buf_printf(Buf *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  buf_vprintf(b, fmt, ap);
  va_end(ap);
}

void buf_free(Buf *b) {
  free(b->data);
  *b = (Buf){0};
}

const char *buf_str(const Buf *b) { return b->data ? b->data : ""; }
