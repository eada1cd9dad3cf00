// Messages between the tuner and its runner, and entries of the cache: lines of named fields.
// SPDX-License-Identifier: MIT
#include "tuner/wire.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_escaped(Buf *b, const char *s) {
  for (; *s; s++) {
    if (*s == '\t') buf_puts(b, "\\t");
    else if (*s == '\n') buf_puts(b, "\\n");
    else if (*s == '\\') buf_puts(b, "\\\\");
    else buf_putc(b, *s);
  }
}

void tn_wire_verb(Buf *b, const char *verb) { buf_puts(b, verb); }

void tn_wire_text(Buf *b, const char *name, const char *value) {
  buf_printf(b, "\t%s=", name);
  put_escaped(b, value);
}

void tn_wire_int(Buf *b, const char *name, int64_t value) {
  buf_printf(b, "\t%s=%lld", name, (long long)value);
}

void tn_wire_real(Buf *b, const char *name, double value) {
  buf_printf(b, "\t%s=%.17g", name, value);
}

void tn_wire_end(Buf *b) { buf_putc(b, '\n'); }

static const char *unescaped(Arena *a, const char *s, size_t n) {
  char *out = arena_strn(a, s, n), *to = out;
  for (const char *p = out; *p; p++) {
    if (*p == '\\' && p[1]) {
      p++;
      *to++ = *p == 't' ? '\t' : *p == 'n' ? '\n' : *p;
    } else {
      *to++ = *p;
    }
  }
  *to = 0;
  return out;
}

TnMessage tn_wire_parse(Arena *a, const char *line, size_t n) {
  TnMessage m = {0};
  const char *p = line, *end = line + n;
  while (p <= end) {
    const char *tab = memchr(p, '\t', (size_t)(end - p));
    size_t len = (size_t)((tab ? tab : end) - p);
    const char *eq = memchr(p, '=', len);
    if (!m.verb) m.verb = arena_strn(a, p, len);
    else if (eq)
      vec_push(a, &m.fields,
               (TnField){arena_strn(a, p, (size_t)(eq - p)),
                         unescaped(a, eq + 1, len - (size_t)(eq + 1 - p))});
    p += len + 1;
  }
  return m;
}

const char *tn_wire_get(const TnMessage *m, const char *name) {
  for (int i = 0; i < m->fields.len; i++)
    if (!strcmp(m->fields.data[i].name, name)) return m->fields.data[i].value;
  return NULL;
}

int64_t tn_wire_get_int(const TnMessage *m, const char *name, int64_t otherwise) {
  const char *s = tn_wire_get(m, name);
  return s ? strtoll(s, NULL, 10) : otherwise;
}

double tn_wire_get_real(const TnMessage *m, const char *name, double otherwise) {
  const char *s = tn_wire_get(m, name);
  return s ? strtod(s, NULL) : otherwise;
}

double tn_wire_get_time(const TnMessage *m, const char *name) {
  double value = tn_wire_get_real(m, name, 0);
  return isfinite(value) && value > 0 ? value : 0;
}

const char *tn_plain(Arena *a, const char *s) {
  enum { MOST = 500 };
  size_t n = strlen(s);
  char *text = n > MOST ? arena_printf(a, "%.*s...", MOST, s) : arena_strn(a, s, n);
  for (char *p = text; *p; p++)
    if (!isprint((unsigned char)*p)) *p = '?';
  return text;
}

void tn_wire_spent(Buf *b, const TnSpent *s) {
#define PART(name) tn_wire_real(b, #name "_s", s->name);
  TN_PARTS(PART)
#undef PART
}

void tn_spent_add(TnSpent *s, const TnMessage *m) {
#define PART(name) s->name += tn_wire_get_time(m, #name "_s");
  TN_PARTS(PART)
#undef PART
}

void tn_spent_json(const TnSpent *s, Buf *out) {
#define PART(name) buf_printf(out, ", \"" #name "_s\": %.4g", s->name);
  TN_PARTS(PART)
#undef PART
}
