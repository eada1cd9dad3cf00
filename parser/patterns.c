// Nodes of `match` patterns.
// SPDX-License-Identifier: MIT
#include "parser/parser.h"

#include <string.h>

AstPattern *ast_pattern(Parser *p, Span at, AstPatternKind kind, const char *name,
                        AstExpr *value) {
  AstPattern *t = NEW(p->arena, AstPattern);
  t->kind = kind;
  t->span = at;
  t->name = name;
  t->value = value;
  t->depth = value ? value->depth + 1 : 1;
  bool anything = name && !strcmp(name, "_");
  if (anything && kind == AST_PAT_CAPTURE) t->kind = AST_PAT_WILDCARD;
  if (anything && (kind == AST_PAT_CAPTURE || kind == AST_PAT_STAR)) t->name = NULL;
  return t;
}

AstPattern *ast_pattern_list(Parser *p, Span at, AstPatternKind kind, AstExpr *value,
                             PatternList list) {
  AstPattern *t = ast_pattern(p, at, kind, list.rest, value);
  t->keys = list.keys.data;
  t->names = list.names.data;
  t->items = list.items.data;
  t->len = list.items.len;
  for (int i = 0; i < t->len; i++) {
    int key = t->keys ? t->keys[i]->depth : 0, item = t->items[i]->depth;
    int deepest = key > item ? key : item;
    if (t->depth <= deepest) t->depth = deepest + 1;
  }
  return ast_too_deep(p, t->depth, at) ? ast_pattern(p, at, AST_PAT_WILDCARD, NULL, NULL) : t;
}
