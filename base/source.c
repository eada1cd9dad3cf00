// Source files by number; byte offsets to lines and columns.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <ctype.h>
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

static bool starts_name(char c) { return isalpha((unsigned char)c) || c == '_' || (c & 0x80); }
static bool in_name(char c) { return starts_name(c) || isdigit((unsigned char)c); }

// Past a string or comment at p; a field of an f-string is entered instead.
static const char *skip_text(const char *p, const char *end, bool *field) {
  char quote = *p++;
  if (quote == '#') {
    while (p < end && *p != '\n') p++;
    return p;
  }
  for (; p < end && *p != quote && *p != '\n'; p++) {
    if (*p == '\\') p++;
    else if (*field && *p == '{') return p + 1;
  }
  *field = false;
  return p < end ? p + 1 : end;
}

static int add_name(Arena *a, const char *p, size_t len, const char **out, int n, int max) {
  for (int i = 0; i < n; i++)
    if (strlen(out[i]) == len && !strncmp(out[i], p, len)) return n;
  if (n < max) out[n++] = arena_strn(a, p, len);
  return n;
}

int src_names(const Sources *s, Arena *a, Span at, const char **out, int max) {
  const Source *src = src_get(s, at.file);
  uint32_t hi = at.hi < src->len ? at.hi : src->len;
  const char *end = src->text + hi;
  int n = 0;
  bool field = false; // in a field of an f-string
  for (const char *p = src->text + (at.lo < hi ? at.lo : hi); p < end;) {
    if (*p == '"' || *p == '\'' || *p == '#' || (field && *p == '}')) {
      p = skip_text(p, end, &field);
      continue;
    }
    const char *from = p;
    while (p < end && in_name(*p)) p++;
    if (p == from) {
      p++;
      continue;
    }
    bool attribute = from > src->text && from[-1] == '.',
         prefix = p < end && (*p == '"' || *p == '\'');
    const char *next = p + strspn(p, " ");
    bool keyword = next[0] == '=' && next[1] != '=';
    field = field || (prefix && memchr("fF", *from, 2) && p - from == 1);
    if (starts_name(*from) && !attribute && !keyword && !prefix)
      n = add_name(a, from, (size_t)(p - from), out, n, max);
  }
  return n;
}

Span span_join(Span a, Span b) {
  if (!a.file) return b;
  if (!b.file || a.file != b.file) return a;
  return (Span){a.file, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}
