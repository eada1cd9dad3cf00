// The parser's entry: tokens in, a module out.
// SPDX-License-Identifier: MIT
#include "parser/grammar.h"
#include "parser/parser.h"

static const int grammar_kinds[TOK_COUNT] = {
#define TOKEN(kind, name) [TOK_##kind] = T_##kind,
#define KEYWORD(kind, name) [TOK_##kind] = T_##kind,
#define PUNCT(kind, name) [TOK_##kind] = T_##kind,
// Bison starts to recover from an error at this one, and reports nothing.
#define T_ERROR T_YYerror
#include "lexer/tokens.def"
#undef T_ERROR
#undef TOKEN
#undef KEYWORD
#undef PUNCT
};

int ast_next_token(YYSTYPE *value, Span *at, Parser *p) {
  const Token *t = &p->tokens.data[p->read = p->next];
  if (p->next + 1 < p->tokens.len) p->next++;
  *at = t->span;
  switch (t->kind) {
  case TOK_NAME: value->T_NAME = t->name; break;
  case TOK_INT: value->T_INT = t->num; break;
  case TOK_FLOAT: value->T_FLOAT = t->num; break;
  case TOK_IMAG: value->T_IMAG = t->num; break;
  case TOK_STR: value->T_STR = t->str; break;
  case TOK_BYTES: value->T_BYTES = t->str; break;
  case TOK_FSTR_TEXT: value->T_FSTR_TEXT = t->str; break;
  case TOK_FIELD_EQ: value->T_FIELD_EQ = t->str; break;
  case TOK_FIELD_CONV: value->T_FIELD_CONV = t->str; break;
  default: break;
  }
  return grammar_kinds[t->kind];
}

AstModule *ast_parse(Arena *a, Diags *d, uint32_t file) {
  int before = diag_errors(d);
  Parser p = {.arena = a, .diags = d, .file = file};
  p.tokens = lex_file(a, d, file);
  int gave_up = ast_grammar(&p);
  if (gave_up && !diag_errors(d)) die("the grammar failed without saying why");
  for (int i = 0; i < p.as_lists.len; i++)
    if (p.as_lists.data[i].tuple) diag_report(d, DIAG_STRAY_AS, p.as_lists.data[i].as);
  AstModule *m = NEW(a, AstModule);
  m->file = file;
  m->body = ast_block(p.body);
  ast_check_places(&p, m->body);
  return diag_errors(d) == before ? m : NULL;
}
