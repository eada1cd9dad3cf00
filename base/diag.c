// Diagnostics: collected, sorted by place, printed as text or JSON lines.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  Span at;
  const char *text;
} Note;

typedef struct {
  Span at;
  const char *text; // what to write there instead
} Fix;

typedef struct {
  int id; // DiagId, or -1 for a remark
  Severity severity;
  Span at;
  const char *topic; // remarks
  const char *text;
  VEC(Note) notes;
  VEC(Fix) fixes;
  int order;
} Item;

struct Diags {
  Arena *arena;
  Sources *sources;
  DiagOptions options;
  VEC(Item) items;
  bool repeated; // the last report said again what was said: its notes are dropped
  int printed, errors, shown_errors;
};

static const struct {
  const char *code;
  Severity severity;
  const char *format;
} table[] = {
#define DIAG(id, code, severity, format) {code, severity, format},
#include "diags.def"
#undef DIAG
};

static const char *const severity_names[] = {"error", "warning", "note", "remark"};
static const char *const severity_colors[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[36m"};

Diags *diag_new(Arena *a, Sources *s, DiagOptions options) {
  Diags *d = NEW(a, Diags);
  d->arena = a;
  d->sources = s;
  d->options = options;
  if (!d->options.max_errors) d->options.max_errors = 20;
  return d;
}

Sources *diag_sources(Diags *d) { return d->sources; }
const char *diag_code(DiagId id) { return table[id].code; }

void diag_report(Diags *d, DiagId id, Span at, ...) {
  va_list ap;
  va_start(ap, at);
  Severity severity = table[id].severity;
  if (severity == SEV_WARNING && d->options.werror) severity = SEV_ERROR;
  Item item = {.id = (int)id, .severity = severity, .at = at, .order = d->items.len};
  item.text = arena_vprintf(d->arena, table[id].format, ap);
  va_end(ap);
  for (int i = d->printed; i < d->items.len; i++) { // the same thing said twice is said once
    const Item *old = &d->items.data[i];
    if (old->id == item.id && old->at.file == at.file && old->at.lo == at.lo &&
        !strcmp(old->text, item.text)) {
      d->repeated = true;
      return;
    }
  }
  d->repeated = false;
  d->errors += severity == SEV_ERROR;
  vec_push(d->arena, &d->items, item);
}

void diag_note(Diags *d, Span at, const char *fmt, ...) {
  if (!d->items.len || d->repeated) return;
  Item *last = &d->items.data[d->items.len - 1];
  va_list ap;
  va_start(ap, fmt);
  vec_push(d->arena, &last->notes, (Note){at, arena_vprintf(d->arena, fmt, ap)});
  va_end(ap);
}

void diag_fix(Diags *d, Span at, const char *text) {
  if (!d->items.len || d->repeated || !at.file) return;
  vec_push(d->arena, &d->items.data[d->items.len - 1].fixes, (Fix){at, arena_str(d->arena, text)});
}

void diag_remark(Diags *d, Span at, const char *topic, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  Item item = {.id = -1, .severity = SEV_REMARK, .at = at, .order = d->items.len};
  item.topic = topic;
  item.text = arena_vprintf(d->arena, fmt, ap);
  va_end(ap);
  vec_push(d->arena, &d->items, item);
}

int diag_mark(const Diags *d) { return d->items.len; }

void diag_rewind(Diags *d, int mark) {
  for (; d->items.len > mark; d->items.len--)
    d->errors -= d->items.data[d->items.len - 1].severity == SEV_ERROR;
}

int diag_errors(const Diags *d) { return d->errors; }
int diag_id(const Diags *d, int i) { return i < d->items.len ? d->items.data[i].id : -1; }

const char *diag_text(const Diags *d, int i) {
  return i < d->items.len ? d->items.data[i].text : NULL;
}

static const Item *first_error(const Diags *d) {
  for (int i = 0; i < d->items.len; i++) {
    if (d->items.data[i].severity == SEV_ERROR) return &d->items.data[i];
  }
  return NULL;
}

const char *diag_first(const Diags *d, Span *at) {
  const Item *it = first_error(d);
  if (it) *at = it->at;
  return it ? it->text : NULL;
}

int diag_first_id(const Diags *d) {
  const Item *it = first_error(d);
  return it ? it->id : -1;
}

static int by_place(const void *pa, const void *pb) {
  const Item *a = pa, *b = pb;
  if (a->at.file != b->at.file) return a->at.file < b->at.file ? -1 : 1;
  if (a->at.lo != b->at.lo) return a->at.lo < b->at.lo ? -1 : 1;
  return a->order - b->order;
}

// Columns on a screen of n bytes: continuation bytes of UTF-8 take none.
static int screen_width(const char *text, int n) {
  int width = 0;
  for (int i = 0; i < n; i++) width += ((unsigned char)text[i] & 0xc0) != 0x80;
  return width;
}

static void print_caret(const Diags *d, Span at, FILE *to) {
  int line, column, len;
  src_place(d->sources, at.file, at.lo, &line, &column);
  const char *text = src_line(d->sources, at.file, line, &len);
  fprintf(to, "%5d | %.*s\n      | ", line, len, text);
  int before = column - 1 < len ? column - 1 : len, bytes = (int)(at.hi - at.lo);
  for (int i = 0; i < before; i++)
    if (text[i] == '\t') fputc('\t', to);
    else if (((unsigned char)text[i] & 0xc0) != 0x80) fputc(' ', to);
  if (bytes > len - before) bytes = len - before;
  int width = bytes > 0 ? screen_width(text + before, bytes) : 1;
  while (width-- > 0) fputc('^', to);
  fputc('\n', to);
}

static void print_line(const Diags *d, Span at, Severity s, const char *text, const char *code,
                       FILE *to) {
  if (at.file) {
    int line, column;
    src_place(d->sources, at.file, at.lo, &line, &column);
    fprintf(to, "%s:%d:%d: ", src_get(d->sources, at.file)->path, line, column);
  } else {
    fprintf(to, "tlc: ");
  }
  if (d->options.color) fputs(severity_colors[s], to);
  fprintf(to, "%s:", severity_names[s]);
  if (d->options.color) fputs("\033[0m", to);
  fprintf(to, " %s", text);
  if (code) fprintf(to, " [%s]", code);
  fputc('\n', to);
}

static void json_string(const char *s, FILE *to) {
  fputc('"', to);
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') fprintf(to, "\\%c", c);
    else if (c < 0x20) fprintf(to, "\\u%04x", c);
    else fputc(c, to);
  }
  fputc('"', to);
}

// "file" and "range", or nothing where there is no place.
static void json_place(const Diags *d, Span at, FILE *to) {
  if (!at.file) return;
  int line, column, end_line, end_column;
  src_place(d->sources, at.file, at.lo, &line, &column);
  src_place(d->sources, at.file, at.hi > at.lo ? at.hi : at.lo + 1, &end_line, &end_column);
  fputs(",\"file\":", to);
  json_string(src_get(d->sources, at.file)->path, to);
  fprintf(to,
          ",\"range\":{\"start\":{\"line\":%d,\"column\":%d},\"end\":{\"line\":%d,\"column\":%d}}",
          line, column, end_line, end_column);
}

static void print_json(const Diags *d, const Item *it, FILE *to) {
  fprintf(to, "{\"severity\":\"%s\"", severity_names[it->severity]);
  if (it->id >= 0) fprintf(to, ",\"id\":\"%s\"", table[it->id].code);
  if (it->topic) {
    fputs(",\"topic\":", to);
    json_string(it->topic, to);
  }
  fputs(",\"message\":", to);
  json_string(it->text, to);
  json_place(d, it->at, to);
  fputs(",\"notes\":[", to);
  for (int i = 0; i < it->notes.len; i++) {
    fputs(i ? ",{\"message\":" : "{\"message\":", to);
    json_string(it->notes.data[i].text, to);
    json_place(d, it->notes.data[i].at, to);
    fputc('}', to);
  }
  fputs("],\"fixes\":[", to);
  for (int i = 0; i < it->fixes.len; i++) {
    fputs(i ? ",{\"replacement\":" : "{\"replacement\":", to);
    json_string(it->fixes.data[i].text, to);
    json_place(d, it->fixes.data[i].at, to);
    fputc('}', to);
  }
  fputs("]}\n", to);
}

static void print_text(const Diags *d, const Item *it, FILE *to) {
  if (it->topic) {
    Buf text = {0};
    buf_printf(&text, "%s: %s", it->topic, it->text);
    print_line(d, it->at, it->severity, text.data, NULL, to);
    buf_free(&text);
    return;
  }
  print_line(d, it->at, it->severity, it->text, table[it->id].code, to);
  if (it->at.file) print_caret(d, it->at, to);
  for (int i = 0; i < it->notes.len; i++) {
    const Note *n = &it->notes.data[i];
    print_line(d, n->at, SEV_NOTE, n->text, NULL, to);
    if (n->at.file) print_caret(d, n->at, to);
  }
}

void diag_flush(Diags *d, FILE *to) {
  int n = d->items.len - d->printed;
  if (n > 1) qsort(d->items.data + d->printed, (size_t)n, sizeof(Item), by_place);
  int dropped = 0;
  for (; d->printed < d->items.len; d->printed++) {
    const Item *it = &d->items.data[d->printed];
    if (it->severity == SEV_REMARK && !d->options.remarks) continue;
    if (it->severity == SEV_ERROR && d->shown_errors++ >= d->options.max_errors) {
      dropped++;
      continue;
    }
    if (d->options.format == DIAG_JSON) print_json(d, it, to);
    else print_text(d, it, to);
  }
  d->repeated = false;
  if (dropped && d->options.format == DIAG_TEXT)
    fprintf(to, "tlc: %d more errors not shown (--max-errors=N)\n", dropped);
}
