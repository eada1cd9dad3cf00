// Names that have no value yet: where the function or module would assign them.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <string.h>

static bool in_target(const AstExpr *t, const char *name, Span *at) {
  if (!t) return false;
  if (t->kind == AST_NAME && !strcmp(t->name, name)) return *at = t->span, true;
  if (t->kind == AST_STARRED) return in_target(t->operand, name, at);
  if (t->kind != AST_TUPLE && t->kind != AST_LIST) return false;
  for (int i = 0; i < t->items.len; i++)
    if (in_target(t->items.data[i], name, at)) return true;
  return false;
}

static bool in_block(const AstBlock *b, const char *name, Span *at);

static bool in_nested(const AstStmt *s, const char *name, Span *at) {
  switch (s->kind) {
  case AST_STMT_IF:
    for (int i = 0; i < s->if_.nbranches; i++)
      if (in_block(&s->if_.branches[i].body, name, at)) return true;
    return in_block(&s->if_.orelse, name, at);
  case AST_STMT_FOR:
    return in_target(s->for_.target, name, at) || in_block(&s->for_.body, name, at);
  case AST_STMT_WHILE: return in_block(&s->while_.body, name, at);
  case AST_STMT_WITH:
    for (int i = 0; i < s->with.nitems; i++)
      if (in_target(s->with.items[i].target, name, at)) return true;
    return in_block(&s->with.body, name, at);
  case AST_STMT_TRY: return in_block(&s->try_.body, name, at);
  default: return false;
  }
}

static bool in_stmt(const AstStmt *s, const char *name, Span *at) {
  switch (s->kind) {
  case AST_STMT_ASSIGN:
    for (int i = 0; i < s->assign.targets.len; i++)
      if (in_target(s->assign.targets.data[i], name, at)) return true;
    return false;
  case AST_STMT_ANN_ASSIGN: return in_target(s->ann.target, name, at);
  case AST_STMT_DEF: *at = s->def.name.span; return !strcmp(s->def.name.text, name);
  case AST_STMT_CLASS: *at = s->class_.name.span; return !strcmp(s->class_.name.text, name);
  default: return in_nested(s, name, at);
  }
}

static bool in_block(const AstBlock *b, const char *name, Span *at) {
  for (int i = 0; b && i < b->len; i++)
    if (in_stmt(b->data[i], name, at)) return true;
  return false;
}

void ev_not_yet(Ev *ev, const char *name, Span at) {
  for (const Env *e = ev->env; e; e = e->parent) {
    Span where;
    if (!in_block(e->body, name, &where)) continue;
    if (where.lo > at.lo && e == ev->env) {
      ev_hint(ev, where, "%s is assigned here, further down", name);
      ev_fail(ev, DIAG_UNASSIGNED, at, name);
    }
    ev_hint(ev, where, "%s would get its value here", name);
    ev_fail(ev, DIAG_NOT_RUN, at, name);
  }
}
