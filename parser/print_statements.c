// A module back to Python text.
// SPDX-License-Identifier: MIT
#include "parser/printer.h"

static void text(Printer *p, const char *s) { buf_puts(p->out, s); }

static void line(Printer *p) { buf_printf(p->out, "%*s", p->indent * 4, ""); }

static void put_statement(Printer *p, const AstStmt *s);

static void put_block(Printer *p, const AstBlock *b) {
  text(p, ":\n");
  p->indent++;
  for (int i = 0; i < b->len; i++) put_statement(p, b->data[i]);
  p->indent--;
}

static void put_else(Printer *p, const AstBlock *b, const char *keyword) {
  if (!b->len) return;
  line(p);
  text(p, keyword);
  put_block(p, b);
}

static void put_after(Printer *p, const char *before, const AstExpr *e) {
  if (!e) return;
  text(p, before);
  ast_put(p, e, PREC_TEST);
}

/* Patterns */

static void put_pattern(Printer *p, const AstPattern *t, bool nested);

static void put_patterns(Printer *p, const AstPattern *t, const char *between) {
  for (int i = 0; i < t->len; i++) {
    if (i) text(p, between);
    if (t->keys) {
      ast_put(p, t->keys[i], PREC_SUM);
      text(p, ": ");
    }
    if (t->names && t->names[i].text) buf_printf(p->out, "%s=", t->names[i].text);
    put_pattern(p, t->items[i], t->kind == AST_PAT_OR || t->kind == AST_PAT_AS);
  }
}

static void put_mapping(Printer *p, const AstPattern *t) {
  text(p, "{");
  put_patterns(p, t, ", ");
  if (t->name) buf_printf(p->out, t->len ? ", **%s" : "**%s", t->name);
  text(p, "}");
}

// `nested`: under `|` or `as`, where one of the two needs parentheses.
static void put_pattern(Printer *p, const AstPattern *t, bool nested) {
  bool parens = nested && (t->kind == AST_PAT_AS || t->kind == AST_PAT_OR);
  if (parens) text(p, "(");
  switch (t->kind) {
  case AST_PAT_WILDCARD: text(p, "_"); break;
  case AST_PAT_CAPTURE: text(p, t->name); break;
  case AST_PAT_VALUE: ast_put(p, t->value, PREC_SUM); break;
  case AST_PAT_AS:
    put_patterns(p, t, "");
    buf_printf(p->out, " as %s", t->name);
    break;
  case AST_PAT_OR: put_patterns(p, t, " | "); break;
  case AST_PAT_SEQUENCE:
    text(p, "[");
    put_patterns(p, t, ", ");
    text(p, "]");
    break;
  case AST_PAT_STAR: buf_printf(p->out, "*%s", t->name ? t->name : "_"); break;
  case AST_PAT_MAPPING: put_mapping(p, t); break;
  case AST_PAT_CLASS:
    ast_put(p, t->value, PREC_PRIMARY);
    text(p, "(");
    put_patterns(p, t, ", ");
    text(p, ")");
    break;
  }
  if (parens) text(p, ")");
}

/* Simple statements */

static void put_assign(Printer *p, const AstStmt *s) {
  for (int i = 0; i < s->assign.targets.len; i++) {
    ast_put_bare(p, s->assign.targets.data[i], PREC_TEST);
    text(p, " = ");
  }
  ast_put_bare(p, s->assign.value, PREC_YIELD);
}

// Parentheses around the name of `(x): int` mean that it is no declaration.
static void put_annotated(Printer *p, const AstStmt *s) {
  bool parens = s->ann.target->kind == AST_NAME && s->ann.target->parens;
  text(p, parens ? "(" : "");
  ast_put(p, s->ann.target, PREC_PRIMARY);
  text(p, parens ? "): " : ": ");
  ast_put(p, s->ann.annotation, PREC_TEST);
  if (!s->ann.value) return;
  text(p, " = ");
  ast_put_bare(p, s->ann.value, PREC_YIELD);
}

static void put_names(Printer *p, const char *keyword, const AstNames *names) {
  text(p, keyword);
  for (int i = 0; i < names->len; i++)
    buf_printf(p->out, i ? ", %s" : " %s", names->data[i].text);
}

static void put_import(Printer *p, const AstStmt *s) {
  if (s->kind == AST_STMT_FROM_IMPORT) {
    text(p, "from ");
    for (int i = 0; i < s->import.level; i++) text(p, ".");
    buf_printf(p->out, "%s ", s->import.module.text);
  }
  for (int i = 0; i < s->import.nnames; i++) {
    const AstAlias *a = &s->import.names[i];
    buf_printf(p->out, i ? ", %s" : "import %s", a->name);
    if (a->alias) buf_printf(p->out, " as %s", a->alias);
  }
}

static void put_del(Printer *p, const AstExprs *targets) {
  text(p, "del ");
  for (int i = 0; i < targets->len; i++) {
    if (i) text(p, ", ");
    ast_put(p, targets->data[i], PREC_PRIMARY);
  }
}

static void put_simple(Printer *p, const AstStmt *s) {
  switch (s->kind) {
  case AST_STMT_EXPR: ast_put_bare(p, s->expr, PREC_YIELD); break;
  case AST_STMT_ASSIGN: put_assign(p, s); break;
  case AST_STMT_AUG_ASSIGN:
    ast_put(p, s->aug.target, PREC_PRIMARY);
    buf_printf(p->out, " %s= ", ast_binary_text(s->aug.op));
    ast_put_bare(p, s->aug.value, PREC_YIELD);
    break;
  case AST_STMT_ANN_ASSIGN: put_annotated(p, s); break;
  case AST_STMT_RETURN:
    text(p, s->expr ? "return " : "return");
    if (s->expr) ast_put_bare(p, s->expr, PREC_TEST);
    break;
  case AST_STMT_IMPORT:
  case AST_STMT_FROM_IMPORT: put_import(p, s); break;
  case AST_STMT_GLOBAL: put_names(p, "global", &s->names); break;
  case AST_STMT_NONLOCAL: put_names(p, "nonlocal", &s->names); break;
  case AST_STMT_DEL: put_del(p, &s->del); break;
  case AST_STMT_RAISE:
    text(p, "raise");
    put_after(p, " ", s->raise.value);
    put_after(p, " from ", s->raise.cause);
    break;
  case AST_STMT_ASSERT:
    put_after(p, "assert ", s->assert_.cond);
    put_after(p, ", ", s->assert_.message);
    break;
  default: text(p, ast_stmt_name(s->kind)); break; // pass, break, continue
  }
  text(p, "\n");
}

/* Compound statements */

static void put_if(Printer *p, const AstStmt *s) {
  for (int i = 0; i < s->if_.nbranches; i++) {
    if (i) line(p);
    put_after(p, i ? "elif " : "if ", s->if_.branches[i].cond);
    put_block(p, &s->if_.branches[i].body);
  }
  put_else(p, &s->if_.orelse, "else");
}

static void put_for(Printer *p, const AstStmt *s) {
  text(p, s->for_.is_async ? "async for " : "for ");
  ast_put_bare(p, s->for_.target, PREC_TEST);
  text(p, " in ");
  ast_put_bare(p, s->for_.iter, PREC_TEST);
  put_block(p, &s->for_.body);
  put_else(p, &s->for_.orelse, "else");
}

static void put_with(Printer *p, const AstStmt *s) {
  const AstWithItem *items = s->with.items;
  text(p, s->with.is_async ? "async with " : "with ");
  // A lone tuple in one pair of parentheses would be read as the items.
  bool lone = s->with.nitems == 1 && !items[0].target && items[0].context->kind == AST_TUPLE;
  if (lone) text(p, "(");
  for (int i = 0; i < s->with.nitems; i++) {
    put_after(p, i ? ", " : "", items[i].context);
    if (items[i].target) put_after(p, " as ", items[i].target);
  }
  if (lone) text(p, ")");
  put_block(p, &s->with.body);
}

static void put_decorators(Printer *p, const AstExprs *decorators) {
  for (int i = 0; i < decorators->len; i++) {
    put_after(p, "@", decorators->data[i]);
    text(p, "\n");
    line(p);
  }
}

static void put_def(Printer *p, const AstStmt *s) {
  put_decorators(p, &s->def.decorators);
  buf_printf(p->out, s->def.is_async ? "async def %s(" : "def %s(", s->def.name.text);
  ast_put_params(p, &s->def.params);
  text(p, ")");
  put_after(p, " -> ", s->def.returns);
  put_block(p, &s->def.body);
}

static void put_class(Printer *p, const AstStmt *s) {
  put_decorators(p, &s->class_.decorators);
  buf_printf(p->out, "class %s", s->class_.name.text);
  if (s->class_.bases.len) {
    text(p, "(");
    ast_put_args(p, &s->class_.bases);
    text(p, ")");
  }
  put_block(p, &s->class_.body);
}

static void put_try(Printer *p, const AstStmt *s) {
  text(p, "try");
  put_block(p, &s->try_.body);
  for (int i = 0; i < s->try_.nhandlers; i++) {
    const AstHandler *h = &s->try_.handlers[i];
    line(p);
    text(p, h->is_star ? "except*" : "except");
    put_after(p, " ", h->type);
    if (h->name) buf_printf(p->out, " as %s", h->name);
    put_block(p, &h->body);
  }
  put_else(p, &s->try_.orelse, "else");
  put_else(p, &s->try_.finally, "finally");
}

static void put_match(Printer *p, const AstStmt *s) {
  text(p, "match ");
  ast_put_bare(p, s->match.subject, PREC_TEST);
  text(p, ":\n");
  p->indent++;
  for (int i = 0; i < s->match.ncases; i++) {
    line(p);
    text(p, "case ");
    put_pattern(p, s->match.cases[i].pattern, false);
    put_after(p, " if ", s->match.cases[i].guard);
    put_block(p, &s->match.cases[i].body);
  }
  p->indent--;
}

static void put_statement(Printer *p, const AstStmt *s) {
  line(p);
  switch (s->kind) {
  case AST_STMT_IF: put_if(p, s); break;
  case AST_STMT_FOR: put_for(p, s); break;
  case AST_STMT_WHILE:
    put_after(p, "while ", s->while_.cond);
    put_block(p, &s->while_.body);
    put_else(p, &s->while_.orelse, "else");
    break;
  case AST_STMT_WITH: put_with(p, s); break;
  case AST_STMT_DEF: put_def(p, s); break;
  case AST_STMT_CLASS: put_class(p, s); break;
  case AST_STMT_TRY: put_try(p, s); break;
  case AST_STMT_MATCH: put_match(p, s); break;
  default: put_simple(p, s); break;
  }
}

void ast_print(const AstModule *m, Buf *out) {
  Printer p = {.out = out};
  for (int i = 0; i < m->body.len; i++) put_statement(&p, m->body.data[i]);
}
