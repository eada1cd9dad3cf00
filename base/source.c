// Source files by number; byte offsets to lines and columns.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <string.h>

typedef struct {
  Source source;
  uint32_t *lines; // offset of each line's first byte
  int nlines;
} File;

struct Sources {
  Arena *arena;
  VEC(File) files;
};

Sources *src_new(Arena *a) {
  Sources *s = NEW(a, Sources);
  s->arena = a;
  return s;
}

uint32_t src_add(Sources *s, const char *path, const char *text, size_t len) {
  bool ends = len && text[len - 1] == '\n';
  char *copy = arena_alloc(s->arena, len + 2);
  if (len) memcpy(copy, text, len);
  if (!ends) copy[len++] = '\n'; // the scanner relies on a final newline
  File f = {{arena_str(s->arena, path), copy, (uint32_t)len}, NULL, 0};
  int count = 1;
  for (size_t i = 0; i < len; i++) count += copy[i] == '\n';
  f.lines = NEWN(s->arena, uint32_t, count);
  f.nlines = 1;
  for (size_t i = 0; i + 1 < len; i++)
    if (copy[i] == '\n') f.lines[f.nlines++] = (uint32_t)i + 1;
  vec_push(s->arena, &s->files, f);
  return (uint32_t)s->files.len;
}

static const File *file_of(const Sources *s, uint32_t file) {
  if (file < 1 || (int)file > s->files.len) die("no source file number %u", file);
  return &s->files.data[file - 1];
}

const Source *src_get(const Sources *s, uint32_t file) { return &file_of(s, file)->source; }
int src_count(const Sources *s) { return s->files.len; }

void src_place(const Sources *s, uint32_t file, uint32_t offset, int *line, int *column) {
  const File *f = file_of(s, file);
  int lo = 0, hi = f->nlines;
  while (hi - lo > 1) {
    int mid = (lo + hi) / 2;
    if (f->lines[mid] <= offset) lo = mid;
    else hi = mid;
  }
  *line = lo + 1;
  *column = (int)(offset - f->lines[lo]) + 1;
}

const char *src_line(const Sources *s, uint32_t file, int line, int *len) {
  const File *f = file_of(s, file);
  uint32_t start = f->lines[line - 1], end = start;
  while (end < f->source.len && f->source.text[end] != '\n') end++;
  *len = (int)(end - start);
  return f->source.text + start;
}

Span span_join(Span a, Span b) {
  if (!a.file) return b;
  if (!b.file || a.file != b.file) return a;
  return (Span){a.file, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}
