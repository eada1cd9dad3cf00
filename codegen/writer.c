// The writer: one statement a line, blocks, line breaking, and the marks that name source lines.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

enum { COLUMNS = 100 };

void cg_begin(Cg *c) {
  c->line_start = c->out->len;
  buf_printf(c->out, "%*s", 2 * c->indent, "");
}

// Where a line over the limit is best broken: behind the last comma, or before the last operator,
// at the least bracket depth that leaves a first part within the limit; else behind a bracket. 0:
// nowhere.
static size_t break_at(const char *s, size_t from, size_t len) {
  size_t best = 0, bracket = 0;
  int depth = 0, best_rank = 1 << 30; // twice the depth; one more before an operator
  bool quoted = false;
  for (size_t i = from; i < len && i <= COLUMNS; i++) {
    if (s[i] == '"' && s[i - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (s[i] == '/' && s[i + 1] == '/') break;
    if (s[i] == '(' && i < COLUMNS && s[i + 1] != ')') bracket = i + 1;
    if (strchr("([{", s[i])) depth++;
    if (strchr(")]}", s[i])) depth--;
    if (s[i] != ' ' || i == from) continue;
    bool comma = s[i - 1] == ',' || s[i - 1] == ';', op_next = strchr("&|?:+", s[i + 1]) != NULL;
    int rank = 2 * depth + !comma;
    if ((comma || op_next) && rank <= best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return best ? best : bracket;
}

void cg_end(Cg *c) {
  size_t from = (size_t)(2 * c->indent);
  for (;;) {
    size_t len = c->out->len - c->line_start;
    const char *line = c->out->data + c->line_start;
    if (len <= COLUMNS || line[from] == '#' || line[from] == '/') break;
    size_t at = break_at(line, from, len);
    if (!at) break;
    const char *rest = arena_str(c->arena, line + at + (line[at] == ' '));
    c->out->len = c->line_start + at;
    buf_putc(c->out, '\n');
    c->line_start = c->out->len;
    from = (size_t)(2 * c->indent + 4);
    buf_printf(c->out, "%*s%s", (int)from, "", rest);
  }
  buf_putc(c->out, '\n');
}

void cg_text(Cg *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  buf_vprintf(c->out, fmt, ap);
  va_end(ap);
}

static void line(Cg *c, const char *fmt, va_list ap) {
  cg_begin(c);
  buf_vprintf(c->out, fmt, ap);
  cg_end(c);
}

void cg_line(Cg *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  line(c, fmt, ap);
  va_end(ap);
}

void cg_open(Cg *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  line(c, fmt, ap);
  va_end(ap);
  c->indent++;
}

void cg_close(Cg *c, const char *text) {
  c->indent--;
  cg_line(c, "%s", text);
}

void cg_blank(Cg *c) {
  buf_putc(c->out, '\n');
}

const char *cg_base_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

const char *cg_comment(Arena *a, const char *s) {
  char *t = arena_str(a, s ? s : "");
  for (char *c = t; *c; c++) {
    if ((unsigned char)*c < ' ' || *c == '\\' || (*c == '/' && c > t && c[-1] == '*')) *c = ' ';
  }
  return t;
}

// As a C string's inside.
const char *cg_escape(Arena *a, const char *s) {
  Buf b = {0};
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') buf_putc(&b, '\\');
    buf_putc(&b, (unsigned char)*s < ' ' ? ' ' : *s);
  }
  const char *t = arena_str(a, buf_str(&b));
  buf_free(&b);
  return t;
}

static int line_of(const Cg *c, Span at) {
  int l, column;
  src_place(c->o->sources, at.file, at.lo, &l, &column);
  return l;
}

const char *cg_place(const Cg *c, Span at) {
  if (!c->o->sources || !at.file) return NULL;
  const char *path = src_get(c->o->sources, at.file)->path;
  return arena_printf(c->arena, "%s:%d", cg_escape(c->arena, cg_base_name(path)), line_of(c, at));
}

void cg_mark(Cg *c, Span at) {
  if (!c->o->sources || !at.file) return;
  int l = line_of(c, at);
  const char *path = src_get(c->o->sources, at.file)->path;
  if (c->o->lines) {
    buf_printf(c->out, "#line %d \"%s\"\n", l, cg_escape(c->arena, path));
  } else if (c->mark.file != at.file || c->mark_line != l) {
    cg_line(c, "// %s:%d", cg_comment(c->arena, cg_base_name(path)), l);
  }
  c->mark = at;
  c->mark_line = l;
}
