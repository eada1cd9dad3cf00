// Rules of Python's syntax that the grammar leaves open, so that breaking one gets a clear message.
// SPDX-License-Identifier: MIT
#include "parser/parser.h"

#include <string.h>

/* Targets */

// What an expression is, for "cannot assign to ...".
static const char *describe(const AstExpr *e) {
  switch (e->kind) {
  case AST_INT:
  case AST_FLOAT:
  case AST_IMAG: return "a number";
  case AST_STR:
  case AST_BYTES:
  case AST_FSTR: return "a string";
  case AST_BOOL: return e->boolean ? "True" : "False";
  case AST_NONE: return "None";
  case AST_ELLIPSIS: return "'...'";
  case AST_SET: return "a set";
  case AST_DICT: return "a dict";
  case AST_TUPLE: return "a tuple";
  case AST_LIST: return "a list";
  case AST_STARRED: return "a starred expression";
  case AST_CALL: return "the result of a call";
  case AST_COMPARE: return "a comparison";
  case AST_TERNARY: return "a conditional expression";
  case AST_LAMBDA: return "a lambda";
  case AST_WALRUS: return "a ':=' expression";
  case AST_YIELD:
  case AST_YIELD_FROM: return "a yield";
  case AST_AWAIT: return "an await";
  case AST_LIST_COMP:
  case AST_SET_COMP:
  case AST_DICT_COMP: return "a comprehension";
  case AST_GENERATOR: return "a generator";
  default: return "the result of an operator";
  }
}

static bool is_place(const AstExpr *e) {
  return e->kind == AST_NAME || e->kind == AST_ATTR || e->kind == AST_INDEX;
}

static bool is_sequence(const AstExpr *e) { return e->kind == AST_TUPLE || e->kind == AST_LIST; }

static void check_sequence_target(Parser *p, const AstExpr *e) {
  const AstExpr *starred = NULL;
  for (int i = 0; i < e->items.len; i++) {
    const AstExpr *item = e->items.data[i];
    if (item->kind != AST_STARRED) {
      ast_check_target(p, item);
      continue;
    }
    if (starred) diag_report(p->diags, DIAG_TWO_STARS, item->span);
    starred = item;
    ast_check_target(p, item->operand);
  }
}

void ast_check_target(Parser *p, const AstExpr *e) {
  if (is_place(e)) return;
  if (is_sequence(e)) check_sequence_target(p, e);
  else if (e->kind == AST_STARRED) ast_check_no_star(p, e);
  else diag_report(p->diags, DIAG_BAD_TARGET, e->span, "assign to", describe(e));
}

void ast_check_del(Parser *p, const AstExpr *e) {
  if (is_place(e)) return;
  if (!is_sequence(e)) {
    diag_report(p->diags, DIAG_BAD_TARGET, e->span, "delete", describe(e));
    return;
  }
  for (int i = 0; i < e->items.len; i++) ast_check_del(p, e->items.data[i]);
}

void ast_check_single_target(Parser *p, const AstExpr *e, const char *what) {
  if (!is_place(e)) diag_report(p->diags, DIAG_SINGLE_TARGET, e->span, what, describe(e));
}

void ast_check_no_star(Parser *p, const AstExpr *e) {
  if (e->kind == AST_STARRED) diag_report(p->diags, DIAG_BAD_STAR, e->span);
}

/* Arguments */

void ast_check_args(Parser *p, const ArgVec *args) {
  bool keyword = false, unpacked = false;
  int disorder = 0;
  Map *seen = map_new(p->arena);
  for (int i = 0; i < args->len; i++) {
    const AstArg *a = &args->data[i];
    if (a->kind == AST_ARG_KEYWORD) {
      if (map_has(seen, a->name))
        diag_report(p->diags, DIAG_REPEATED_ARGUMENT, a->name_span, a->name);
      map_set(seen, a->name, p);
    }
    if (a->kind == AST_ARG_POSITIONAL && (keyword || unpacked) && !disorder++)
      diag_report(p->diags, DIAG_ARGUMENT_ORDER, a->span, "a positional argument",
                  unpacked ? "**" : "keyword arguments");
    if (a->kind == AST_ARG_STAR && unpacked)
      diag_report(p->diags, DIAG_ARGUMENT_ORDER, a->span, "an argument with '*'", "**");
    const AstExpr *v = a->value;
    if (v->kind == AST_GENERATOR && !v->parens && a->kind == AST_ARG_POSITIONAL && args->len > 1)
      diag_report(p->diags, DIAG_BARE_GENERATOR, v->span);
    keyword |= a->kind == AST_ARG_KEYWORD;
    unpacked |= a->kind == AST_ARG_DOUBLE_STAR;
  }
}

/* Parameters */

typedef struct {
  Parser *p;
  ParamVec out;
  bool slash, star, double_star, default_seen;
  const AstParam *bare; // a `*` that still needs a parameter after it
} Settling;

static void marker(Settling *s, const AstParam *a) {
  if (a->kind == AST_PARAM_POSITIONAL_ONLY) {
    const char *why = s->slash ? "there is only one '/'" : s->star ? "'/' goes before '*'"
                      : "'/' goes after the parameters that it makes positional";
    if (s->slash || s->star || !s->out.len)
      diag_report(s->p->diags, DIAG_PARAMETER_ORDER, a->span, why);
    for (int i = 0; i < s->out.len && !s->star; i++)
      s->out.data[i].kind = AST_PARAM_POSITIONAL_ONLY;
    s->slash = true;
    return;
  }
  if (s->star) diag_report(s->p->diags, DIAG_PARAMETER_ORDER, a->span, "there is only one '*'");
  s->star = true;
  s->bare = a->name ? NULL : a;
}

static void plain(Settling *s, AstParam *a) {
  if (s->star) a->kind = AST_PARAM_KEYWORD_ONLY;
  else if (!a->value && s->default_seen)
    diag_report(s->p->diags, DIAG_DEFAULT_ORDER, a->span, a->name);
  s->default_seen = a->value || (s->default_seen && s->star); // said once for those in a row
  s->bare = NULL;
}

AstParams ast_settle_params(Parser *p, ParamVec params) {
  Settling s = {.p = p};
  Map *seen = map_new(p->arena);
  for (int i = 0; i < params.len; i++) {
    AstParam a = params.data[i];
    if (s.double_star)
      diag_report(p->diags, DIAG_PARAMETER_ORDER, a.span, "nothing goes after '**'");
    if (a.kind == AST_PARAM_NORMAL) plain(&s, &a);
    else if (a.kind == AST_PARAM_DOUBLE_STAR) s.double_star = true;
    else marker(&s, &params.data[i]);
    if (!a.name) continue;
    if (map_has(seen, a.name)) diag_report(p->diags, DIAG_REPEATED_PARAMETER, a.name_span, a.name);
    map_set(seen, a.name, p);
    vec_push(p->arena, &s.out, a);
  }
  if (s.bare)
    diag_report(p->diags, DIAG_PARAMETER_ORDER, s.bare->span,
                "a bare '*' needs a keyword parameter after it");
  return (AstParams){s.out.data, s.out.len};
}

/* Handlers */

void ast_check_handlers(Parser *p, const AstStmt *s) {
  for (int i = 0; i < s->try_.nhandlers; i++) {
    const AstHandler *h = &s->try_.handlers[i];
    if (!h->type && i + 1 < s->try_.nhandlers)
      diag_report(p->diags, DIAG_HANDLERS, h->span, "'except:' catches all, so it comes last");
    if (h->is_star != s->try_.handlers[0].is_star)
      diag_report(p->diags, DIAG_HANDLERS, h->span, "one try has 'except' or 'except*', not both");
  }
}

/* Places */

typedef struct {
  bool in_function, in_loop;
} Place;

static void check_block(Parser *p, const AstBlock *b, Place at);

static void check_statement(Parser *p, const AstStmt *s, Place at) {
  Place loop = {at.in_function, true};
  switch (s->kind) {
  case AST_STMT_RETURN:
    if (!at.in_function) diag_report(p->diags, DIAG_MISPLACED, s->span, "return", "a function");
    break;
  case AST_STMT_BREAK:
    if (!at.in_loop) diag_report(p->diags, DIAG_MISPLACED, s->span, "break", "a loop");
    break;
  case AST_STMT_CONTINUE:
    if (!at.in_loop) diag_report(p->diags, DIAG_MISPLACED, s->span, "continue", "a loop");
    break;
  case AST_STMT_IF:
    for (int i = 0; i < s->if_.nbranches; i++) check_block(p, &s->if_.branches[i].body, at);
    check_block(p, &s->if_.orelse, at);
    break;
  case AST_STMT_FOR:
    check_block(p, &s->for_.body, loop);
    check_block(p, &s->for_.orelse, at);
    break;
  case AST_STMT_WHILE:
    check_block(p, &s->while_.body, loop);
    check_block(p, &s->while_.orelse, at);
    break;
  case AST_STMT_WITH: check_block(p, &s->with.body, at); break;
  case AST_STMT_DEF: check_block(p, &s->def.body, (Place){true, false}); break;
  case AST_STMT_CLASS: check_block(p, &s->class_.body, (Place){false, false}); break;
  case AST_STMT_TRY:
    check_block(p, &s->try_.body, at);
    for (int i = 0; i < s->try_.nhandlers; i++) check_block(p, &s->try_.handlers[i].body, at);
    check_block(p, &s->try_.orelse, at);
    check_block(p, &s->try_.finally, at);
    break;
  case AST_STMT_MATCH:
    for (int i = 0; i < s->match.ncases; i++) check_block(p, &s->match.cases[i].body, at);
    break;
  default: break;
  }
}

static void check_block(Parser *p, const AstBlock *b, Place at) {
  for (int i = 0; i < b->len; i++) check_statement(p, b->data[i], at);
}

void ast_check_places(Parser *p, AstBlock body) { check_block(p, &body, (Place){false, false}); }
