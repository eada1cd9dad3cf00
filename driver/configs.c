// --list-configs: the tuning spaces that a file declares, one configuration a line.
// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "eval/eval.h"
#include "runtime/runtime.h"

// A value in the syntax of -p as JSON: numbers, booleans and None as such, the rest as text.
static const char *digits(const char *s) { return s + strspn(s, "0123456789"); }

// A number as JSON writes it: no 0x10, 010, 1_000, .5 and -inf.
static bool is_json_number(const char *s) {
  s += *s == '-';
  const char *p = digits(s);
  if (p == s || (*s == '0' && p > s + 1)) return false;
  if (*p == '.') {
    const char *fraction = p + 1;
    if ((p = digits(fraction)) == fraction) return false;
  }
  if (*p == 'e' || *p == 'E') {
    const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
    if ((p = digits(exponent)) == exponent) return false;
  }
  return !*p;
}

static void put_value(const char *s, Buf *b) {
  if (is_json_number(s)) buf_puts(b, s);
  else if (!strcmp(s, "True") || !strcmp(s, "False")) buf_puts(b, *s == 'T' ? "true" : "false");
  else if (!strcmp(s, "None")) buf_puts(b, "null");
  else rt_json_string(b, s);
}

void drv_json_bindings(const EvBinding *list, int n, bool text, Buf *b) {
  buf_putc(b, '{');
  for (int i = 0; i < n; i++) {
    if (i) buf_puts(b, ", ");
    rt_json_string(b, list[i].name);
    buf_puts(b, ": ");
    if (text) rt_json_string(b, list[i].value);
    else put_value(list[i].value, b);
  }
  buf_putc(b, '}');
}

static void print_json(const EvResult *r, Buf *b) {
  bool first = true;
  buf_puts(b, "[");
  for (int i = 0; i < r->entries.len; i++) {
    const EvEntry *e = &r->entries.data[i];
    if (!e->configs.len) continue;
    buf_puts(b, first ? "{\"kernel\": " : ",\n {\"kernel\": ");
    first = false;
    rt_json_string(b, e->name);
    if (e->rtol) buf_printf(b, ", \"rtol\": %s", e->rtol);
    if (e->atol) buf_printf(b, ", \"atol\": %s", e->atol);
    buf_puts(b, ", \"configs\": [");
    for (int k = 0; k < e->configs.len; k++) {
      const EvConfig *c = &e->configs.data[k];
      buf_puts(b, k ? ",\n  " : "\n  ");
      drv_json_bindings(c->bindings.data, c->bindings.len, false, b);
    }
    buf_puts(b, "]}");
  }
  buf_puts(b, "]\n");
}

static void print_lines(const EvResult *r, Buf *b) {
  int spaces = 0;
  for (int i = 0; i < r->entries.len; i++) spaces += r->entries.data[i].configs.len > 0;
  for (int i = 0; i < r->entries.len; i++) {
    const EvEntry *e = &r->entries.data[i];
    if (spaces > 1 && e->configs.len) buf_printf(b, "# %s\n", e->name);
    for (int k = 0; k < e->configs.len; k++) {
      const EvConfig *c = &e->configs.data[k];
      for (int j = 0; j < c->bindings.len; j++)
        buf_printf(b, "%s%s=%s", j ? "," : "", c->bindings.data[j].name, c->bindings.data[j].value);
      buf_putc(b, '\n');
    }
  }
}

// "M=...,N=..." of "M, N".
static const char *usage_of(Arena *a, const char *names) {
  Buf b = {0};
  for (const char *p = names; *p; p += strspn(p, ", ")) {
    size_t n = strcspn(p, ",");
    buf_printf(&b, "%s%.*s=...", b.len ? "," : "", (int)n, p);
    p += n;
  }
  const char *text = arena_str(a, buf_str(&b));
  buf_free(&b);
  return text;
}

void drv_no_space(Job *j, const EvResult *r, bool flags) {
  const EvEntry *found = r->entries.len == 1 ? &r->entries.data[0] : NULL;
  for (int i = 0; i < r->entries.len; i++)
    if (r->entries.data[i].spaced) found = &r->entries.data[i];
  bool empty = found && found->spaced;
  if (empty && found->wanting) {
    diag_report(j->diags, DIAG_MISSING_PARAMS, found->span, found->name, found->wanting,
                usage_of(j->arena, found->wanting));
    return;
  }
  Span at = empty ? found->spaced_at : found ? found->span : NO_SPAN;
  diag_report(j->diags, empty ? DIAG_EMPTY_SPACE : DIAG_NO_SPACE, at);
  if (flags && !empty)
    diag_note(j->diags, at, "--space-flags crosses such a space with -f options; it is none alone");
  for (int i = 0; i < r->entries.len && !empty; i++) {
    const EvEntry *e = &r->entries.data[i];
    if (e->wanting)
      diag_note(j->diags, e->span,
                "whether %s declares one is not known without values for: %s; give them with -p",
                e->name, e->wanting);
  }
}

int drv_configs(Job *j, const Options *o) {
  EvResult r = {0};
  job_target(j, o);
  EvOptions e = job_eval(j, o);
  e.configs = e.list = true;
  if (!ev_compile(&e, &r)) return EXIT_WRONG_PROGRAM;
  int n = 0;
  for (int i = 0; i < r.entries.len; i++) n += r.entries.data[i].configs.len;
  if (!n) {
    drv_no_space(j, &r, false);
    return EXIT_WRONG_PROGRAM;
  }
  Buf b = {0};
  if (o->json) print_json(&r, &b);
  else print_lines(&r, &b);
  fwrite(buf_str(&b), 1, b.len, stdout);
  buf_free(&b);
  return EXIT_OK;
}
