// Which device helpers a program uses, and their text, from the sections of codegen/prelude/*.cuh.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

typedef struct {
  const char *name;
  bool device;       // has a host twin in host.h: compiled by nvcc only
  const char *needs; // "a,b"
  const char *text;
} Section;

static const Section sections[] = {
#include "codegen/prelude_data.inc"
};

static const char *const host_text[] = {
#include "codegen/prelude_host.inc"
};

typedef struct {
  const char *name, *text;
} Made;

struct Needs {
  Arena *arena;
  bool used[LEN(sections)];
  VEC(Made) made; // for this program; nvcc's only
};

Needs *needs_new(Arena *a) {
  Needs *n = NEW(a, Needs);
  n->arena = a;
  return n;
}

void needs_text(Needs *n, const char *name, const char *text) {
  for (int i = 0; i < n->made.len; i++)
    if (!strcmp(n->made.data[i].name, name)) return;
  vec_push(n->arena, &n->made, (Made){arena_str(n->arena, name), arena_str(n->arena, text)});
}

static size_t section(const char *name, size_t len) {
  for (size_t i = 0; i < LEN(sections); i++) {
    if (!strncmp(sections[i].name, name, len) && !sections[i].name[len]) return i;
  }
  die("no device helper '%.*s'", (int)len, name);
}

static void use(Needs *n, const char *name, size_t len) {
  size_t i = section(name, len);
  if (n->used[i]) return;
  n->used[i] = true;
  for (const char *s = sections[i].needs; *s;) {
    size_t k = strcspn(s, ",");
    use(n, s, k);
    s += k + (s[k] == ',');
  }
}

void needs_add(Needs *n, const char *fmt, ...) {
  char name[64];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(name, sizeof name, fmt, ap);
  va_end(ap);
  use(n, name, strlen(name));
}

// Is `word` one of the name's parts between underscores?
static bool has_part(const char *name, const char *word) {
  size_t len = strlen(word);
  for (const char *s = name; *s; s += strcspn(s, "_"), s += *s == '_') {
    if (!strncmp(s, word, len) && (s[len] == '_' || !s[len])) return true;
  }
  return false;
}

bool needs_any(const Needs *n, const char *part) {
  for (size_t i = 0; i < LEN(sections); i++) {
    if (n->used[i] && has_part(sections[i].name, part)) return true;
  }
  for (int i = 0; i < n->made.len; i++) {
    if (has_part(n->made.data[i].name, part)) return true;
  }
  return false;
}

typedef struct {
  const Needs *needs;
  bool done[LEN(sections)];
  bool device;
  Buf *out;
} Writing;

// A section after those that it needs.
static void write_section(Writing *w, size_t i) {
  if (w->done[i] || !w->needs->used[i]) return;
  w->done[i] = true;
  for (const char *s = sections[i].needs; *s;) {
    size_t k = strcspn(s, ",");
    write_section(w, section(s, k));
    s += k + (s[k] == ',');
  }
  if (sections[i].device == w->device) buf_printf(w->out, "\n%s", sections[i].text);
}

void needs_write(const Needs *n, bool device, Buf *out) {
  Writing w = {.needs = n, .device = device, .out = out};
  for (size_t i = 0; i < LEN(sections); i++) write_section(&w, i);
  for (int i = 0; device && i < n->made.len; i++) buf_printf(out, "\n%s", n->made.data[i].text);
}

void cg_host_prelude(Buf *out) {
  for (size_t i = 0; i < LEN(host_text); i++) buf_puts(out, host_text[i]);
}
