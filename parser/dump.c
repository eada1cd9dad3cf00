// The tree as s-expressions: one line a statement, blocks indented.
// SPDX-License-Identifier: MIT
#include "parser/ast.h"


typedef struct {
  Buf *out;
  int indent;
} Dumper;

static void text(Dumper *d, const char *s) { buf_puts(d->out, s); }

static void dump(Dumper *d, const AstExpr *e);

// " e", or " ()" where there is none.
static void optional(Dumper *d, const AstExpr *e) {
  text(d, " ");
  if (e) dump(d, e);
  else text(d, "()");
}

static void all(Dumper *d, const AstExprs *v) {
  for (int i = 0; i < v->len; i++) optional(d, v->data[i]);
}

/* Expressions */

static void dump_number(Dumper *d, const AstExpr *e) {
  if (e->kind == AST_INT && e->num.big) text(d, e->num.text);
  else if (e->kind == AST_INT) buf_printf(d->out, "%llu", (unsigned long long)e->num.integer);
  else buf_printf(d->out, e->kind == AST_IMAG ? "%.17gj" : "%.17gf", e->num.real);
}

static void dump_fstring(Dumper *d, const AstExpr *e) {
  text(d, "(fstr");
  for (int i = 0; i < e->fstr.len; i++) {
    const AstFPart *part = &e->fstr.data[i];
    text(d, " ");
    if (!part->value) {
      lex_quote(d->out, part->text, '"', false);
      continue;
    }
    text(d, "(field");
    optional(d, part->value);
    if (part->conversion) buf_printf(d->out, " !%c", part->conversion);
    if (part->spec) optional(d, part->spec);
    text(d, ")");
  }
  text(d, ")");
}

static void dump_args(Dumper *d, const AstArgs *args) {
  static const char *const stars[] = {
    [AST_ARG_POSITIONAL] = " ", [AST_ARG_KEYWORD] = "", [AST_ARG_STAR] = " (* ",
    [AST_ARG_DOUBLE_STAR] = " (** "};
  for (int i = 0; i < args->len; i++) {
    const AstArg *a = &args->data[i];
    if (a->kind == AST_ARG_KEYWORD) buf_printf(d->out, " (= %s ", a->name);
    text(d, stars[a->kind]);
    dump(d, a->value);
    if (a->kind != AST_ARG_POSITIONAL) text(d, ")");
  }
}

static void dump_params(Dumper *d, const AstParams *params) {
  static const char *const marks[] = {
    [AST_PARAM_POSITIONAL_ONLY] = "/ ", [AST_PARAM_NORMAL] = "", [AST_PARAM_STAR] = "* ",
    [AST_PARAM_KEYWORD_ONLY] = "kw ", [AST_PARAM_DOUBLE_STAR] = "** "};
  text(d, "(");
  for (int i = 0; i < params->len; i++) {
    const AstParam *a = &params->data[i];
    bool plain = a->kind == AST_PARAM_NORMAL && !a->annotation && !a->value;
    if (i) text(d, " ");
    if (!plain) text(d, "(");
    text(d, marks[a->kind]);
    text(d, a->name);
    if (a->annotation) text(d, " :"), optional(d, a->annotation);
    if (a->value) text(d, " ="), optional(d, a->value);
    if (!plain) text(d, ")");
  }
  text(d, ")");
}

static void dump_comp(Dumper *d, const AstExpr *e) {
  if (e->comp.key) optional(d, e->comp.key);
  optional(d, e->comp.element);
  for (int i = 0; i < e->comp.nclauses; i++) {
    const AstClause *c = &e->comp.clauses[i];
    text(d, c->is_async ? " (async-for" : " (for");
    optional(d, c->target);
    optional(d, c->iter);
    all(d, &c->conditions);
    text(d, ")");
  }
}

static void dump_compare(Dumper *d, const AstExpr *e) {
  for (int i = 0; i < e->compare.operands.len; i++) {
    if (i) buf_printf(d->out, " %s", ast_compare_text(e->compare.ops[i - 1]));
    optional(d, e->compare.operands.data[i]);
  }
}

static void dump_dict(Dumper *d, const AstEntries *entries) {
  for (int i = 0; i < entries->len; i++) {
    text(d, " (");
    if (entries->data[i].key) dump(d, entries->data[i].key);
    else text(d, "**");
    optional(d, entries->data[i].value);
    text(d, ")");
  }
}

// What is written without parentheses. False: nothing was.
static bool dump_atom(Dumper *d, const AstExpr *e) {
  switch (e->kind) {
  case AST_NAME: text(d, e->name); return true;
  case AST_INT:
  case AST_FLOAT:
  case AST_IMAG: dump_number(d, e); return true;
  case AST_STR: lex_quote(d->out, e->str, '"', false); return true;
  case AST_BYTES:
    text(d, "b");
    lex_quote(d->out, e->str, '"', true);
    return true;
  case AST_FSTR: dump_fstring(d, e); return true;
  case AST_BOOL: text(d, e->boolean ? "True" : "False"); return true;
  case AST_NONE: text(d, "None"); return true;
  case AST_ELLIPSIS: text(d, "..."); return true;
  default: return false;
  }
}

static const char *head(const AstExpr *e) {
  if (e->kind == AST_UNARY) return ast_unary_text(e->unary.op);
  if (e->kind == AST_BINARY) return ast_binary_text(e->binary.op);
  return ast_expr_name(e->kind);
}

static void dump_rest(Dumper *d, const AstExpr *e) {
  switch (e->kind) {
  case AST_TUPLE:
  case AST_LIST:
  case AST_SET:
  case AST_AND:
  case AST_OR: all(d, &e->items); break;
  case AST_DICT: dump_dict(d, &e->dict); break;
  case AST_ATTR:
    optional(d, e->attr.value);
    buf_printf(d->out, " %s", e->attr.name.text);
    break;
  case AST_INDEX:
    optional(d, e->index.value);
    optional(d, e->index.index);
    break;
  case AST_SLICE:
    optional(d, e->slice.lo);
    optional(d, e->slice.hi);
    if (e->slice.step) optional(d, e->slice.step);
    break;
  case AST_CALL:
    optional(d, e->call.callee);
    dump_args(d, &e->call.args);
    break;
  case AST_UNARY: optional(d, e->unary.operand); break;
  case AST_BINARY:
    optional(d, e->binary.left);
    optional(d, e->binary.right);
    break;
  case AST_COMPARE: dump_compare(d, e); break;
  case AST_TERNARY:
    optional(d, e->ternary.cond);
    optional(d, e->ternary.then);
    optional(d, e->ternary.otherwise);
    break;
  case AST_LAMBDA:
    text(d, " ");
    dump_params(d, &e->lambda.params);
    optional(d, e->lambda.body);
    break;
  case AST_WALRUS:
    buf_printf(d->out, " %s", e->walrus.name.text);
    optional(d, e->walrus.value);
    break;
  case AST_LIST_COMP:
  case AST_SET_COMP:
  case AST_DICT_COMP:
  case AST_GENERATOR: dump_comp(d, e); break;
  default: optional(d, e->operand); break; // starred, await, yield
  }
}

static void dump(Dumper *d, const AstExpr *e) {
  if (dump_atom(d, e)) return;
  buf_printf(d->out, "(%s", head(e));
  dump_rest(d, e);
  text(d, ")");
}

/* Patterns */

static void dump_pattern(Dumper *d, const AstPattern *t) {
  static const char *const names[] = {
    [AST_PAT_WILDCARD] = "_",   [AST_PAT_CAPTURE] = "capture", [AST_PAT_VALUE] = "value",
    [AST_PAT_AS] = "as",        [AST_PAT_OR] = "|",            [AST_PAT_SEQUENCE] = "sequence",
    [AST_PAT_STAR] = "star",    [AST_PAT_MAPPING] = "mapping", [AST_PAT_CLASS] = "class"};
  buf_printf(d->out, "(%s", names[t->kind]);
  if (t->value) optional(d, t->value);
  for (int i = 0; i < t->len; i++) {
    const char *name = t->names ? t->names[i].text : NULL;
    if (name) buf_printf(d->out, " (= %s", name);
    if (t->keys) text(d, " ("), dump(d, t->keys[i]);
    text(d, " ");
    dump_pattern(d, t->items[i]);
    if (t->keys || name) text(d, ")");
  }
  if (t->name) buf_printf(d->out, " %s", t->name);
  text(d, ")");
}

/* Statements */

static void dump_statement(Dumper *d, const AstStmt *s);

static void line(Dumper *d) { buf_printf(d->out, "\n%*s", d->indent * 2, ""); }

static void dump_block(Dumper *d, const AstBlock *b) {
  d->indent++;
  for (int i = 0; i < b->len; i++) dump_statement(d, b->data[i]);
  d->indent--;
}

// A clause of a compound statement: `(else` and its block on lines of their own.
static void dump_clause(Dumper *d, const char *name, const AstBlock *b) {
  if (!b->len) return;
  d->indent++;
  line(d);
  buf_printf(d->out, "(%s", name);
  dump_block(d, b);
  text(d, ")");
  d->indent--;
}

static void dump_import(Dumper *d, const AstStmt *s) {
  if (s->kind == AST_STMT_FROM_IMPORT) {
    text(d, " ");
    for (int i = 0; i < s->import.level; i++) text(d, ".");
    text(d, s->import.module.text);
  }
  for (int i = 0; i < s->import.nnames; i++) {
    const AstAlias *a = &s->import.names[i];
    if (a->alias) buf_printf(d->out, " (as %s %s)", a->name, a->alias);
    else buf_printf(d->out, " %s", a->name);
  }
}

static void dump_simple(Dumper *d, const AstStmt *s) {
  switch (s->kind) {
  case AST_STMT_EXPR:
  case AST_STMT_RETURN:
    if (s->expr) optional(d, s->expr);
    break;
  case AST_STMT_ASSIGN:
    all(d, &s->assign.targets);
    optional(d, s->assign.value);
    break;
  case AST_STMT_AUG_ASSIGN:
    buf_printf(d->out, " %s", ast_binary_text(s->aug.op));
    optional(d, s->aug.target);
    optional(d, s->aug.value);
    break;
  case AST_STMT_ANN_ASSIGN:
    optional(d, s->ann.target);
    optional(d, s->ann.annotation);
    if (s->ann.value) optional(d, s->ann.value);
    break;
  case AST_STMT_IMPORT:
  case AST_STMT_FROM_IMPORT: dump_import(d, s); break;
  case AST_STMT_GLOBAL:
  case AST_STMT_NONLOCAL:
    for (int i = 0; i < s->names.len; i++) buf_printf(d->out, " %s", s->names.data[i].text);
    break;
  case AST_STMT_DEL: all(d, &s->del); break;
  case AST_STMT_RAISE:
    if (s->raise.value) optional(d, s->raise.value);
    if (s->raise.cause) optional(d, s->raise.cause);
    break;
  case AST_STMT_ASSERT:
    optional(d, s->assert_.cond);
    if (s->assert_.message) optional(d, s->assert_.message);
    break;
  default: break;
  }
}

static void dump_if(Dumper *d, const AstStmt *s) {
  for (int i = 0; i < s->if_.nbranches; i++) {
    if (i) {
      d->indent++;
      line(d);
      text(d, "(elif");
    }
    optional(d, s->if_.branches[i].cond);
    dump_block(d, &s->if_.branches[i].body);
    if (i) text(d, ")"), d->indent--;
  }
  dump_clause(d, "else", &s->if_.orelse);
}

static void dump_with(Dumper *d, const AstStmt *s) {
  for (int i = 0; i < s->with.nitems; i++) {
    const AstWithItem *item = &s->with.items[i];
    text(d, item->target ? " (as" : "");
    optional(d, item->context);
    if (!item->target) continue;
    optional(d, item->target);
    text(d, ")");
  }
  dump_block(d, &s->with.body);
}

static void dump_decorators(Dumper *d, const AstExprs *decorators) {
  for (int i = 0; i < decorators->len; i++) {
    text(d, " (@");
    optional(d, decorators->data[i]);
    text(d, ")");
  }
}

static void dump_def(Dumper *d, const AstStmt *s) {
  buf_printf(d->out, " %s ", s->def.name.text);
  dump_params(d, &s->def.params);
  if (s->def.returns) text(d, " ->"), optional(d, s->def.returns);
  dump_decorators(d, &s->def.decorators);
  dump_block(d, &s->def.body);
}

static void dump_class(Dumper *d, const AstStmt *s) {
  buf_printf(d->out, " %s", s->class_.name.text);
  dump_args(d, &s->class_.bases);
  dump_decorators(d, &s->class_.decorators);
  dump_block(d, &s->class_.body);
}

static void dump_try(Dumper *d, const AstStmt *s) {
  dump_block(d, &s->try_.body);
  d->indent++;
  for (int i = 0; i < s->try_.nhandlers; i++) {
    const AstHandler *h = &s->try_.handlers[i];
    line(d);
    text(d, h->is_star ? "(except*" : "(except");
    if (h->type) optional(d, h->type);
    if (h->name) buf_printf(d->out, " %s", h->name);
    dump_block(d, &h->body);
    text(d, ")");
  }
  d->indent--;
  dump_clause(d, "else", &s->try_.orelse);
  dump_clause(d, "finally", &s->try_.finally);
}

static void dump_match(Dumper *d, const AstStmt *s) {
  optional(d, s->match.subject);
  d->indent++;
  for (int i = 0; i < s->match.ncases; i++) {
    const AstCase *c = &s->match.cases[i];
    line(d);
    text(d, "(case ");
    dump_pattern(d, c->pattern);
    if (c->guard) text(d, " if"), optional(d, c->guard);
    dump_block(d, &c->body);
    text(d, ")");
  }
  d->indent--;
}

static bool is_async(const AstStmt *s) {
  return (s->kind == AST_STMT_DEF && s->def.is_async) ||
         (s->kind == AST_STMT_FOR && s->for_.is_async) ||
         (s->kind == AST_STMT_WITH && s->with.is_async);
}

static void dump_statement(Dumper *d, const AstStmt *s) {
  line(d);
  buf_printf(d->out, is_async(s) ? "(async-%s" : "(%s", ast_stmt_name(s->kind));
  switch (s->kind) {
  case AST_STMT_IF: dump_if(d, s); break;
  case AST_STMT_FOR:
    optional(d, s->for_.target);
    optional(d, s->for_.iter);
    dump_block(d, &s->for_.body);
    dump_clause(d, "else", &s->for_.orelse);
    break;
  case AST_STMT_WHILE:
    optional(d, s->while_.cond);
    dump_block(d, &s->while_.body);
    dump_clause(d, "else", &s->while_.orelse);
    break;
  case AST_STMT_WITH: dump_with(d, s); break;
  case AST_STMT_DEF: dump_def(d, s); break;
  case AST_STMT_CLASS: dump_class(d, s); break;
  case AST_STMT_TRY: dump_try(d, s); break;
  case AST_STMT_MATCH: dump_match(d, s); break;
  default: dump_simple(d, s); break;
  }
  text(d, ")");
}

void ast_dump(const AstModule *m, Buf *out) {
  Dumper d = {.out = out};
  text(&d, "(module");
  dump_block(&d, &m->body);
  text(&d, ")\n");
}
