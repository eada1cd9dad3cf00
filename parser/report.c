// Syntax errors: from a token and what could have stood there to a message that helps.
// SPDX-License-Identifier: MIT
#include "parser/parser.h"

#include <string.h>

#define MAX_EXPECTED 4

typedef struct {
  const char *const *names;
  int n;
} Expected;

static bool has(Expected e, const char *name) {
  for (int i = 0; i < e.n; i++)
    if (!strcmp(e.names[i], name)) return true;
  return false;
}

static bool is_one_of(const char *name, const char *const *list) {
  for (; *list; list++)
    if (!strcmp(name, *list)) return true;
  return false;
}

/* What was found */

static const char *found(Parser *p, const Token *t) {
  switch (t->kind) {
  case TOK_END: return "end of file";
  case TOK_NEWLINE: return "end of line";
  case TOK_INDENT: return "indentation";
  case TOK_DEDENT: return "end of the block";
  case TOK_NAME: return arena_printf(p->arena, "name '%s'", t->name);
  case TOK_INT:
  case TOK_FLOAT:
  case TOK_IMAG: return arena_printf(p->arena, "number %.40s", t->num.text);
  case TOK_STR: return "string";
  case TOK_BYTES: return "bytes string";
  case TOK_FSTR_BEGIN: return "f-string";
  case TOK_FSTR_TEXT: return "text in the f-string";
  case TOK_FSTR_END: return "end of the f-string";
  case TOK_FIELD_BEGIN: return "'{'";
  case TOK_FIELD_EQ: return "'='";
  case TOK_FIELD_CONV: return "conversion";
  case TOK_FIELD_SPEC: return "':'";
  case TOK_FIELD_END: return "'}'";
  default: return arena_printf(p->arena, "'%s'", lex_token_name(t->kind));
  }
}

/* What could have been there instead */

// Of everything that continues an expression or starts one, nothing is named one by one.
static const char *const continuations[] = {
  "+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "^", "|", "==", "!=", "<", "<=",
  ">", ">=", "is", "not", "in", "and", "or", "if", "for", "async", ".", "(", "[", ":=", "+=", "-=",
  "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", "<<=", ">>=", "**=", "field =",
  "field conversion", NULL};
static const char *const starters[] = {
  "a name", "a number", "a float", "an imaginary number", "a string", "a bytes string",
  "an f-string", "True", "False", "None", "lambda", "not", "await", "yield", "(", "[", "{", "...",
  "+", "-", "~", "*", "**", NULL};
static const char *const strings[] = {"a string", "a bytes string", "an f-string", NULL};
// Where the line could end, that is what was most likely meant.
static const char *const beside_line_end[] = {",", ";", ":", "=", ".", "as", "from", NULL};

static bool worth_naming(Expected e, const char *name) {
  bool starts = has(e, "a number"), follows = has(e, "**") && has(e, "<<");
  if (starts && is_one_of(name, starters)) return false;
  if (follows && !strcmp(name, "in") && !has(e, "<")) return true; // for x in
  if (follows && (is_one_of(name, continuations) || is_one_of(name, strings))) return false;
  if (!strcmp(name, "as") && has(e, ")")) return false;
  return !(has(e, "end of line") && is_one_of(name, beside_line_end));
}

static const char *shown(const char *name) {
  return !strncmp(name, "field ", 6) ? name + 6 : name;
}

static const char *join_expected(Parser *p, const char *const *names, int n) {
  Buf text = {0};
  buf_puts(&text, "; expected ");
  for (int i = 0; i < n; i++) {
    if (i) buf_puts(&text, i + 1 < n ? ", " : " or ");
    bool phrase = strchr(names[i], ' ') && strncmp(names[i], "field ", 6) != 0;
    buf_printf(&text, phrase ? "%s" : "'%s'", shown(names[i]));
  }
  const char *kept = arena_str(p->arena, buf_str(&text));
  buf_free(&text);
  return kept;
}

static const char *expectation(Parser *p, Expected e) {
  if (has(e, "pass")) return "; expected a statement";
  const char *names[MAX_EXPECTED];
  int n = 0;
  if (has(e, "a number")) names[n++] = "an expression";
  for (int i = 0; i < e.n; i++) {
    if (!worth_naming(e, e.names[i])) continue;
    if (n == MAX_EXPECTED) return "";
    names[n++] = e.names[i];
  }
  return n ? join_expected(p, names, n) : "";
}

/* Common slips */

static bool in_broken_text(const Parser *p, Span at) {
  for (int i = 0; i < p->tokens.nbroken; i++) {
    Span b = p->tokens.broken[i];
    if (at.lo >= b.lo && at.lo < b.hi) return true;
  }
  return false;
}

// The first token of the logical line that token `i` is on.
static int line_start(const Parser *p, int i) {
  const Token *t = p->tokens.data;
  while (i > 0 && t[i - 1].kind != TOK_NEWLINE && t[i - 1].kind != TOK_INDENT &&
         t[i - 1].kind != TOK_DEDENT)
    i--;
  return i;
}

static int column_of(const Parser *p, const Token *t) {
  int line, column;
  src_place(diag_sources(p->diags), p->file, t->span.lo, &line, &column);
  return column;
}

// A line inside brackets that starts no deeper than the statement did: it is likely another one,
// and the bracket was left open, although something closes it further on.
static bool open_bracket(Parser *p, int i) {
  const Token *t = &p->tokens.data[i];
  if (!t->first || t->bracket < 0) return false;
  const Token *bracket = &p->tokens.data[t->bracket];
  const Token *start = &p->tokens.data[line_start(p, t->bracket)];
  if (column_of(p, t) > column_of(p, start)) return false;
  if (t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET || t->kind == TOK_RBRACE) return false;
  char open = lex_token_name(bracket->kind)[0];
  if (bracket->kind != TOK_LPAREN && bracket->kind != TOK_LBRACKET && bracket->kind != TOK_LBRACE)
    return false;
  diag_report(p->diags, DIAG_OPEN_BRACKET, bracket->span, open,
              open == '(' ? ')' : open == '[' ? ']' : '}');
  diag_note(p->diags, t->span, "%s is read as more of what is in it", found(p, t));
  return true;
}

static bool keyword_as_name(Parser *p, int i, Expected e) {
  const Token *t = &p->tokens.data[i];
  bool here = lex_is_keyword(t->kind) && has(e, "a name") &&
              (e.n == 1 || t[1].kind == TOK_ASSIGN || !has(e, "a number"));
  bool before = i > 0 && t->kind == TOK_ASSIGN && lex_is_keyword(t[-1].kind) &&
                t[-1].kind != TOK_RETURN && t[-1].kind != TOK_YIELD;
  if (!here && !before) return false;
  if (!here) t--;
  const char *name = lex_token_name(t->kind);
  diag_report(p->diags, DIAG_KEYWORD_NAME, t->span, name, name);
  diag_fix(p->diags, t->span, arena_printf(p->arena, "%s_", name));
  return true;
}

static bool assignment_in_condition(Parser *p, int i) {
  const Token *t = &p->tokens.data[i];
  TokenKind first = p->tokens.data[line_start(p, i)].kind;
  if (t->kind != TOK_ASSIGN || t->bracket >= 0) return false;
  if (first != TOK_IF && first != TOK_ELIF && first != TOK_WHILE && first != TOK_ASSERT)
    return false;
  diag_report(p->diags, DIAG_ASSIGN_IN_CONDITION, t->span);
  diag_fix(p->diags, t->span, "==");
  return true;
}

static bool else_if(Parser *p, int i) {
  const Token *t = &p->tokens.data[i];
  if (t->kind != TOK_IF || i == 0 || t[-1].kind != TOK_ELSE || line_start(p, i) != i - 1)
    return false;
  diag_report(p->diags, DIAG_ELSE_IF, span_join(t[-1].span, t->span));
  diag_fix(p->diags, span_join(t[-1].span, t->span), "elif");
  return true;
}

static bool orphan_clause(Parser *p, int i, Expected e) {
  const Token *t = &p->tokens.data[i];
  if (!has(e, "pass") || line_start(p, i) != i) return false;
  const char *owner = t->kind == TOK_ELIF                                ? "'if'"
                      : t->kind == TOK_ELSE                              ? "'if', loop or 'try'"
                      : t->kind == TOK_EXCEPT || t->kind == TOK_FINALLY ? "'try'"
                                                                         : NULL;
  if (owner)
    diag_report(p->diags, DIAG_ORPHAN_CLAUSE, t->span, lex_token_name(t->kind), owner);
  return owner != NULL;
}

static bool old_print(Parser *p, int i) {
  const Token *t = &p->tokens.data[i];
  if (i == 0 || t[-1].kind != TOK_NAME || line_start(p, i) != i - 1) return false;
  const char *name = t[-1].name;
  if (strcmp(name, "print") && strcmp(name, "exec")) return false;
  if (t->kind != TOK_STR && t->kind != TOK_NAME && t->kind != TOK_INT && t->kind != TOK_FSTR_BEGIN)
    return false;
  diag_report(p->diags, DIAG_PRINT, t[-1].span, name, name);
  return true;
}

static bool no_colon(Parser *p, int i, Expected e) {
  const Token *t = &p->tokens.data[i], *first = &p->tokens.data[line_start(p, i)];
  if (t->kind != TOK_NEWLINE || !has(e, ":") || !lex_opens_block(first->kind)) return false;
  diag_report(p->diags, DIAG_NO_COLON, t->span, lex_token_name(first->kind));
  diag_fix(p->diags, (Span){t->span.file, t->span.lo, t->span.lo}, ":");
  return true;
}

static bool increment(Parser *p, int i) {
  const Token *t = &p->tokens.data[i];
  if (t->kind != TOK_NEWLINE || i < 3 || t[-1].kind != t[-2].kind) return false;
  if ((t[-1].kind != TOK_PLUS && t[-1].kind != TOK_MINUS) || t[-1].span.lo != t[-2].span.hi)
    return false;
  char op = t[-1].kind == TOK_PLUS ? '+' : '-';
  Span both = span_join(t[-2].span, t[-1].span);
  char twice[] = {op, op, 0}, meant[] = {op, '=', ' ', '1', 0};
  diag_report(p->diags, DIAG_C_OPERATOR, both, twice, meant);
  diag_fix(p->diags, both, meant);
  return true;
}

static bool ends_expression(TokenKind kind) {
  return kind == TOK_NAME || kind == TOK_INT || kind == TOK_FLOAT || kind == TOK_STR ||
         kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE;
}

static bool no_comma(Parser *p, int i, Expected e) {
  const Token *t = &p->tokens.data[i];
  if (i == 0 || t->bracket < 0 || !has(e, ",") || !ends_expression(t[-1].kind)) return false;
  if (t->kind != TOK_NAME && t->kind != TOK_INT && t->kind != TOK_FLOAT && t->kind != TOK_STR)
    return false;
  diag_report(p->diags, DIAG_NO_COMMA, t->span, found(p, t), found(p, &t[-1]));
  diag_fix(p->diags, (Span){t->span.file, t[-1].span.hi, t[-1].span.hi}, ",");
  return true;
}

void ast_syntax_error(Parser *p, const char *const *expected, int n) {
  int i = p->read;
  Expected e = {expected, n};
  const Token *t = &p->tokens.data[i];
  if (in_broken_text(p, t->span)) return;
  if (open_bracket(p, i) || keyword_as_name(p, i, e) || assignment_in_condition(p, i) ||
      else_if(p, i) || orphan_clause(p, i, e) || old_print(p, i) || no_colon(p, i, e) ||
      increment(p, i) || no_comma(p, i, e))
    return;
  diag_report(p->diags, DIAG_UNEXPECTED, t->span, found(p, t), expectation(p, e));
}
