// --params FILE: values that were recorded for kernels, as JSON (docs/survey.md):
//   {"path.py": {"kernel": [{"M": 1024, "dtype": "float16"}, ...]}}
// JSON's values are written as Python's literals are, so the parser of programs reads them.
// SPDX-License-Identifier: MIT
#include "driver/params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/ast.h"

NORETURN static void bad(const char *path, const char *what) {
  fprintf(stderr, "tlc: --params %s: %s\n", path, what);
  exit(EXIT_USAGE);
}

static const AstExpr *object_of(const AstExpr *e, const char *path, const char *what) {
  if (!e || e->kind != AST_DICT) bad(path, what);
  for (int i = 0; i < e->dict.len; i++) {
    const AstExpr *key = e->dict.data[i].key;
    if (!key || key->kind != AST_STR) bad(path, "a key is no text");
  }
  return e;
}

Params *params_read(Arena *a, const char *path) {
  size_t len;
  char *text = file_read(a, path, &len);
  if (!text) bad(path, strerror(errno));
  Sources *sources = src_new(a);
  Diags *diags = diag_new(a, sources, (DiagOptions){0});
  AstModule *m = ast_parse(a, diags, src_add(sources, path, text, len));
  if (!m || m->body.len != 1 || m->body.data[0]->kind != AST_STMT_EXPR)
    bad(path, "not one JSON object");
  Params *p = NEW(a, Params);
  *p = (Params){a, path, object_of(m->body.data[0]->expr, path, "not a JSON object of files")};
  return p;
}

/* ------------------------------------------------------------------ values */

static void put(Buf *b, const AstExpr *e, const char *path);

static void put_text(Buf *b, const AstExpr *e) {
  bool plain = e->str.len && !strpbrk(e->str.data, ",[]() '\"");
  buf_printf(b, plain ? "%s" : "\"%s\"", e->str.data);
}

static void put_name(Buf *b, const AstExpr *e, const char *path) {
  static const char *const names[][2] = {
      {"true", "True"}, {"false", "False"}, {"null", "None"}, {"NaN", "nan"}, {"Infinity", "inf"}};
  for (size_t i = 0; i < LEN(names); i++) {
    if (strcmp(e->name, names[i][0])) continue;
    buf_puts(b, names[i][1]);
    return;
  }
  bad(path, "a name is none of true, false and null");
}

static void put(Buf *b, const AstExpr *e, const char *path) {
  switch (e->kind) {
  case AST_STR: put_text(b, e); break;
  case AST_INT:
  case AST_FLOAT: buf_puts(b, e->num.text); break;
  case AST_NAME: put_name(b, e, path); break;
  case AST_BOOL: buf_puts(b, e->boolean ? "True" : "False"); break;
  case AST_NONE: buf_puts(b, "None"); break;
  case AST_UNARY:
    if (e->unary.op != AST_OP_NEG) bad(path, "a value is no JSON");
    buf_putc(b, '-');
    put(b, e->unary.operand, path);
    break;
  case AST_LIST:
    buf_putc(b, '[');
    for (int i = 0; i < e->items.len; i++) {
      if (i) buf_putc(b, ',');
      put(b, e->items.data[i], path);
    }
    buf_putc(b, ']');
    break;
  default: bad(path, "a value is neither number, text, true, false, null nor a list of these");
  }
}

/* ------------------------------------------------------------------ looking up */

static const AstExpr *entry(const AstExpr *object, const char *key) {
  for (int i = 0; object && i < object->dict.len; i++) {
    if (!strcmp(object->dict.data[i].key->str.data, key)) return object->dict.data[i].value;
  }
  return NULL;
}

// A path's own entry, or the longest one that is its end: "gemm/a.py" of "/x/examples/gemm/a.py".
static const AstExpr *entry_of_path(const Params *p, const char *path) {
  const AstExpr *best = NULL;
  size_t n = strlen(path), most = 0;
  for (int i = 0; i < p->files->dict.len; i++) {
    const AstEntry *e = &p->files->dict.data[i];
    size_t k = e->key->str.len;
    if (k > n || strcmp(path + n - k, e->key->str.data)) continue;
    if (k < n && path[n - k - 1] != '/') continue;
    if (k < most) continue;
    most = k;
    best = object_of(e->value, p->path, "a file's entry is no object of kernels");
  }
  return best;
}

// `a.py`, from within its folder, is that file too.
static const AstExpr *file_entry(const Params *p, const char *path) {
  const AstExpr *found = entry_of_path(p, path);
  char *real = found ? NULL : realpath(path, NULL);
  if (real) found = entry_of_path(p, real);
  free(real);
  return found;
}

int params_count(const Params *p, const char *path, const char *kernel) {
  const AstExpr *list = entry(file_entry(p, path), kernel);
  if (list && list->kind != AST_LIST) bad(p->path, "a kernel's entry is no list");
  return list ? list->items.len : 0;
}

void params_bind(const Params *p, const char *path, const char *kernel, int i, Map *out) {
  const AstExpr *list = entry(file_entry(p, path), kernel);
  const AstExpr *set = object_of(list->items.data[i], p->path, "a set of values is no object");
  for (int k = 0; k < set->dict.len; k++) {
    const char *name = set->dict.data[k].key->str.data;
    Buf b = {0};
    put(&b, set->dict.data[k].value, p->path);
    map_set(out, arena_str(p->arena, name), arena_str(p->arena, buf_str(&b)));
    buf_free(&b);
  }
}
