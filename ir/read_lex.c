// Tokens of the text form.
// SPDX-License-Identifier: MIT
#include "ir/read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool name_char(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

static bool at_line_start(const Reader *r, uint32_t pos) {
  while (pos > 0 && (r->text[pos - 1] == ' ' || r->text[pos - 1] == '\t')) pos--;
  return pos == 0 || r->text[pos - 1] == '\n';
}

// A comment is # to the end of the line, or // where nothing but blanks precede it.
static void skip_blanks(Reader *r) {
  while (r->pos < r->len) {
    const char *s = r->text + r->pos;
    bool comment = *s == '#' || (s[0] == '/' && s[1] == '/' && at_line_start(r, r->pos));
    if (comment) {
      while (r->pos < r->len && r->text[r->pos] != '\n') r->pos++;
    } else if (isspace((unsigned char)*s)) {
      r->pos++;
    } else {
      return;
    }
  }
}

static void number(Reader *r) {
  const char *start = r->text + r->pos, *p = start;
  bool real = false;
  while (isdigit((unsigned char)*p)) p++;
  if (*p == '.' && isdigit((unsigned char)p[1])) {
    real = true;
    for (p++; isdigit((unsigned char)*p);) p++;
  }
  const char *e = p + (*p == 'e' || *p == 'E');
  if (e > p && (*e == '+' || *e == '-')) e++;
  if (e > p && isdigit((unsigned char)*e)) {
    real = true;
    for (p = e; isdigit((unsigned char)*p);) p++;
  }
  const char *text = arena_strn(r->arena, start, (size_t)(p - start));
  r->pos += (uint32_t)(p - start);
  r->tok.kind = real ? TOK_FLOAT : TOK_INT;
  r->tok.text = text;
  r->tok.f = strtod(text, NULL);
  errno = 0;
  if (!real) r->tok.i = strtoull(text, NULL, 10);
  if (errno) read_fail(r, DIAG_IR_NUMBER, (Span){r->file, r->tok.lo, r->pos}, text, "64 bits");
}

static void string(Reader *r) {
  char *out = arena_alloc(r->arena, r->len - r->pos + 1);
  size_t n = 0;
  for (r->pos++; r->pos < r->len && r->text[r->pos] != '"'; r->pos++) {
    char c = r->text[r->pos];
    if (c == '\n') break;
    if (c == '\\' && r->pos + 1 < r->len) {
      c = r->text[++r->pos];
      if (c == 'n') c = '\n';
    }
    out[n++] = c;
  }
  if (r->pos >= r->len || r->text[r->pos] != '"') {
    read_fail(r, DIAG_IR_SYNTAX, (Span){r->file, r->tok.lo, r->pos}, "'\"'", "the end of the line");
    return;
  }
  r->pos++;
  r->tok.kind = TOK_STRING;
  r->tok.text = out;
}

static void punctuation(Reader *r) {
  static const char *const two[] = {"//", "<=", "==", "!=", "<<", ">>", "+:"};
  size_t n = 1;
  for (size_t i = 0; i < LEN(two); i++) {
    if (!strncmp(r->text + r->pos, two[i], 2)) n = 2;
  }
  r->tok.kind = TOK_PUNCT;
  r->tok.text = arena_strn(r->arena, r->text + r->pos, n);
  r->pos += (uint32_t)n;
}

void read_next(Reader *r) {
  r->last = r->tok.hi;
  r->tok = (Token){.kind = TOK_END, .lo = r->pos, .hi = r->pos, .text = "the end"};
  if (r->failed) return;
  skip_blanks(r);
  r->tok.lo = r->pos;
  if (r->pos < r->len) {
    char c = r->text[r->pos];
    if (isdigit((unsigned char)c)) {
      number(r);
    } else if (c == '"') {
      string(r);
    } else if (name_char(c)) {
      uint32_t end = r->pos;
      while (end < r->len && name_char(r->text[end])) end++;
      r->tok.kind = TOK_NAME;
      r->tok.text = arena_strn(r->arena, r->text + r->pos, end - r->pos);
      r->pos = end;
    } else {
      punctuation(r);
    }
  }
  r->tok.hi = r->pos;
  if (r->tok.kind == TOK_END) r->tok.lo = r->tok.hi = r->last; // where something is missing
  if (r->failed) r->tok.kind = TOK_END;
}

void read_seek(Reader *r, uint32_t pos) {
  r->pos = pos;
  r->tok.hi = pos;
  read_next(r);
}

Span read_here(const Reader *r) { return (Span){r->file, r->tok.lo, r->tok.hi}; }

Span read_since(const Reader *r, uint32_t lo) {
  return (Span){r->file, lo, r->last > lo ? r->last : lo};
}

void read_fail(Reader *r, DiagId id, Span at, ...) {
  if (r->failed) return;
  r->failed = true;
  r->tok.kind = TOK_END;
  va_list ap;
  va_start(ap, at);
  const char *x = va_arg(ap, const char *), *y = va_arg(ap, const char *);
  va_end(ap);
  diag_report(r->diags, id, at, x, y);
}

void read_expected(Reader *r, const char *what) {
  const char *text = r->tok.kind == TOK_END ? "the end" : r->tok.text;
  const char *found = r->tok.kind == TOK_END      ? text
                      : r->tok.kind == TOK_STRING ? "a string"
                                                  : arena_printf(r->arena, "'%.40s'", text);
  read_fail(r, DIAG_IR_SYNTAX, read_here(r), what, found);
}

bool read_is(const Reader *r, const char *text) {
  return (r->tok.kind == TOK_NAME || r->tok.kind == TOK_PUNCT) && !strcmp(r->tok.text, text);
}

bool read_accept(Reader *r, const char *text) {
  if (!read_is(r, text)) return false;
  read_next(r);
  return true;
}

void read_expect(Reader *r, const char *text) {
  if (!read_accept(r, text)) read_expected(r, arena_printf(r->arena, "'%s'", text));
}

const char *read_name(Reader *r, const char *what) {
  const char *name = r->tok.text;
  if (r->tok.kind == TOK_NAME) read_next(r);
  else read_expected(r, what);
  return r->failed ? "_" : name;
}

const char *read_string(Reader *r) {
  const char *s = r->tok.text;
  if (r->tok.kind == TOK_STRING) read_next(r);
  else read_expected(r, "a string");
  return s;
}

int64_t read_int(Reader *r, int64_t lo, int64_t hi) {
  uint32_t start = r->tok.lo;
  bool minus = read_accept(r, "-");
  if (r->tok.kind != TOK_INT) {
    read_expected(r, "an integer");
    return lo;
  }
  uint64_t v = r->tok.i;
  bool fits = minus ? v <= (uint64_t)INT64_MAX + 1 : v <= (uint64_t)INT64_MAX;
  int64_t value = minus ? (int64_t)-v : (int64_t)v;
  const char *text = r->tok.text;
  read_next(r);
  if (fits && value >= lo && value <= hi) return value;
  read_fail(r, DIAG_IR_NUMBER, read_since(r, start), text,
            arena_printf(r->arena, "%lld..%lld", (long long)lo, (long long)hi));
  return lo;
}

DType read_type(Reader *r) {
  DType t = DT_F32;
  if (r->tok.kind != TOK_NAME) read_expected(r, "an element type");
  else if (!dt_find(r->tok.text, &t)) read_fail(r, DIAG_IR_TYPE, read_here(r), r->tok.text, "");
  else read_next(r);
  return t;
}

bool read_enter(Reader *r) {
  if (r->depth >= READ_DEPTH) {
    read_fail(r, DIAG_IR_DEPTH, read_here(r), arena_printf(r->arena, "%d levels", READ_DEPTH), "");
    return false;
  }
  r->depth++;
  return !r->failed;
}
