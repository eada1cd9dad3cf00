// JSON files of the command: written as Python's literals are, so the parser of programs reads
// them.
// SPDX-License-Identifier: MIT
#include "driver/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void json_bad(const Json *j, const AstExpr *at, const char *fmt, ...) {
  Buf what = {0};
  va_list ap;
  va_start(ap, fmt);
  buf_vprintf(&what, fmt, ap);
  va_end(ap);
  if (!at) at = j->root;
  if (at) diag_report(j->diags, DIAG_JSON_FILE, at->span, j->option, buf_str(&what));
  diag_flush(j->diags, stderr);
  if (!at) fprintf(stderr, "tlc: %s %s: %s\n", j->option, j->path, buf_str(&what));
  exit(EXIT_USAGE);
}

Json json_read(Arena *a, const char *option, const char *path) {
  size_t len;
  Sources *sources = src_new(a);
  Json j = {option, path, NULL, diag_new(a, sources, (DiagOptions){.max_errors = 1})};
  char *text = file_read(a, path, &len);
  if (!text) json_bad(&j, NULL, "%s", strerror(errno));
  AstModule *m = ast_parse(a, j.diags, src_add(sources, path, text, len));
  if (m && m->body.len == 1 && m->body.data[0]->kind == AST_STMT_EXPR)
    j.root = m->body.data[0]->expr;
  if (!j.root) json_bad(&j, NULL, m && !m->body.len ? "it is empty" : "it is no JSON");
  return j;
}

const AstExpr *json_object(const Json *j, const AstExpr *e, const char *what) {
  if (!e || e->kind != AST_DICT) json_bad(j, e, "%s", what);
  for (int i = 0; i < e->dict.len; i++) {
    const AstExpr *key = e->dict.data[i].key;
    if (!key || key->kind != AST_STR) json_bad(j, key ? key : e, "a name is text in quotes");
    for (int k = 0; k < i; k++)
      if (!strcmp(e->dict.data[k].key->str.data, key->str.data))
        json_bad(j, key, "\"%s\" is there twice", key->str.data);
  }
  return e;
}

const AstExpr *json_member(const AstExpr *object, const char *key) {
  for (int i = 0; object && i < object->dict.len; i++) {
    if (!strcmp(object->dict.data[i].key->str.data, key)) return object->dict.data[i].value;
  }
  return NULL;
}

// Is it what a list, a tuple or a text in quotes is for -p, which JSON has as text?
static bool is_wrapped(const char *s, size_t n) {
  static const char open[] = "[(\"'", close[] = "])\"'";
  const char *at = n > 1 ? strchr(open, *s) : NULL;
  return at && *at && s[n - 1] == close[at - open];
}

static void put_text(Buf *b, const AstExpr *e, const Json *j) {
  if (strlen(e->str.data) != e->str.len) json_bad(j, e, "a text holds no NUL");
  bool plain = e->str.len && !strpbrk(e->str.data, ",[]() '\"");
  plain |= is_wrapped(e->str.data, e->str.len);
  buf_printf(b, plain ? "%s" : "\"%s\"", e->str.data);
}

static void put_name(Buf *b, const AstExpr *e, const Json *j) {
  static const char *const names[][2] = {
      {"true", "True"}, {"false", "False"}, {"null", "None"}, {"NaN", "nan"}, {"Infinity", "inf"}};
  for (size_t i = 0; i < LEN(names); i++) {
    if (strcmp(e->name, names[i][0])) continue;
    buf_puts(b, names[i][1]);
    return;
  }
  json_bad(j, e, "%s is none of true, false and null", e->name);
}

void json_put(Buf *b, const AstExpr *e, const Json *j) {
  switch (e->kind) {
  case AST_STR: put_text(b, e, j); break;
  case AST_INT:
  case AST_FLOAT: buf_puts(b, e->num.text); break;
  case AST_NAME: put_name(b, e, j); break;
  case AST_BOOL: buf_puts(b, e->boolean ? "True" : "False"); break;
  case AST_NONE: buf_puts(b, "None"); break;
  case AST_UNARY:
    if (e->unary.op != AST_OP_NEG) json_bad(j, e, "this is no JSON value");
    buf_putc(b, '-');
    json_put(b, e->unary.operand, j);
    break;
  case AST_LIST:
    buf_putc(b, '[');
    for (int i = 0; i < e->items.len; i++) {
      if (i) buf_putc(b, ',');
      json_put(b, e->items.data[i], j);
    }
    buf_putc(b, ']');
    break;
  default: json_bad(j, e, "a value is a number, text, true, false, null or a list of these");
  }
}
