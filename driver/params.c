// --params FILE: values that were recorded for kernels, as JSON (docs/survey.md):
//   {"path.py": {"kernel": [{"M": 1024, "dtype": "float16"}, ...]}}
// SPDX-License-Identifier: MIT
#include "driver/params.h"

#include <stdlib.h>
#include <string.h>

Params *params_read(Arena *a, const char *path) {
  Params *p = NEW(a, Params);
  *p = (Params){a, json_read(a, "--params", path)};
  (void)json_object(&p->json, p->json.root, "this is no object of files");
  return p;
}

// A path's own entry, or the longest one that is its end: "gemm/a.py" of "/x/examples/gemm/a.py".
static const AstExpr *entry_of_path(const Params *p, const char *path) {
  const AstExpr *best = NULL;
  size_t n = strlen(path), most = 0;
  for (int i = 0; i < p->json.root->dict.len; i++) {
    const AstEntry *e = &p->json.root->dict.data[i];
    size_t k = e->key->str.len;
    if (k > n || strcmp(path + n - k, e->key->str.data)) continue;
    if (k < n && path[n - k - 1] != '/') continue;
    if (k < most) continue;
    most = k;
    best = json_object(&p->json, e->value, "a file's entry is no object of kernels");
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
  const AstExpr *list = json_member(file_entry(p, path), kernel);
  if (list && list->kind != AST_LIST) json_bad(&p->json, list, "a kernel's entry is a list");
  return list ? list->items.len : 0;
}

void params_bind(const Params *p, const char *path, const char *kernel, int i, Map *out) {
  const AstExpr *list = json_member(file_entry(p, path), kernel);
  const AstExpr *set = json_object(&p->json, list->items.data[i], "a set of values is no object");
  for (int k = 0; k < set->dict.len; k++) {
    const char *name = set->dict.data[k].key->str.data;
    Buf b = {0};
    json_put(&b, set->dict.data[k].value, &p->json);
    map_set(out, arena_str(p->arena, name), arena_str(p->arena, buf_str(&b)));
    buf_free(&b);
  }
}
