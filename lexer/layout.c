// Indentation to INDENT and DEDENT, line ends to NEWLINE, and the stack of what is open.
// SPDX-License-Identifier: MIT
#include "lexer/scanner.h"

#include <ctype.h>
#include <string.h>

static Span span_of(const Scanner *x, uint32_t lo, uint32_t hi) { return (Span){x->file, lo, hi}; }

/* Indentation, by the rules of "2.1.8 Indentation" in Python's reference */

static Level *top_level(Scanner *x) { return &x->levels[x->nlevels]; }

static void measure(const char *space, int len, Level *out) {
  for (int i = 0; i < len; i++) {
    if (space[i] == '\f') out->column = out->alt = 0;
    else if (space[i] == '\t') out->column = out->column / 8 * 8 + 8, out->alt++;
    else out->column++, out->alt++;
  }
}

// Is the line before one that a deeper block follows, or would with its ':'?
static bool block_may_follow(const Scanner *x) {
  const Token *t = x->tokens.data;
  int last = x->tokens.len - 2; // before the NEWLINE
  if (last < 0) return false;
  if (t[last].kind == TOK_COLON) return true;
  int first = last;
  while (first > 0 && !lex_is_layout(t[first - 1].kind)) first--;
  return lex_opens_block(t[first].kind);
}

static void deeper(Scanner *x, Level level, Span at) {
  if (x->nlevels == LEX_MAX_INDENT) {
    diag_report(x->diags, DIAG_DEEP_INDENT, at, LEX_MAX_INDENT);
    vec_push(x->arena, &x->broken, span_of(x, at.lo, x->len + 1));
    x->stop = true;
    return;
  }
  if (!block_may_follow(x)) {
    level.phantom = true;
    int last = x->tokens.len - 2;
    if (last < 0 || x->tokens.data[last].kind != TOK_ERROR)
      diag_report(x->diags, DIAG_UNEXPECTED_INDENT, at, level.column, top_level(x)->column);
  }
  x->levels[++x->nlevels] = level;
  x->owes_indent = !level.phantom;
}

static void shallower(Scanner *x, const Level *level, Span at) {
  int above = top_level(x)->column;
  while (top_level(x)->column > level->column) {
    above = top_level(x)->column;
    x->dedents += !top_level(x)->phantom;
    x->nlevels--;
  }
  if (top_level(x)->column == level->column) return;
  diag_report(x->diags, DIAG_DEDENT_MISMATCH, at, level->column, top_level(x)->column, above);
  // The line is more likely meant for the block it is nearer to.
  if (above - level->column >= level->column - top_level(x)->column) return;
  x->nlevels++;
  x->dedents -= !top_level(x)->phantom;
}

void lex_indent(Scanner *x, const char *space, int len, Span at) {
  Level level = {.line = at.lo};
  measure(space, len, &level);
  Level outer = *top_level(x);
  x->first = true;
  x->forgiven = 0;
  Span shown = at.hi > at.lo ? at : span_of(x, at.lo, at.lo + 1);
  int order = (level.column > outer.column) - (level.column < outer.column);
  int alt_order = (level.alt > outer.alt) - (level.alt < outer.alt);
  if (order > 0) deeper(x, level, shown);
  else if (order < 0) shallower(x, &level, shown);
  const Level *same = top_level(x);
  if (order == alt_order && (same->column != level.column || same->alt == level.alt)) return;
  int line, column;
  src_place(diag_sources(x->diags), x->file, outer.line, &line, &column);
  if (x->tab_mix) return; // later lines are compared with this one
  x->tab_mix = true;
  diag_report(x->diags, DIAG_TAB_MIX, shown, line);
}

TokenKind lex_owed(Scanner *x, uint32_t at, LexValue *out) {
  out->span = span_of(x, at, at);
  if (x->owes_newline) {
    x->owes_newline = false;
    return TOK_NEWLINE;
  }
  if (x->dedents > 0) {
    x->dedents--;
    return TOK_DEDENT;
  }
  if (!x->owes_indent) return TOK_END;
  x->owes_indent = false;
  return TOK_INDENT;
}

TokenKind lex_finish(Scanner *x, LexValue *out) {
  int last = x->tokens.len - 1;
  x->stop = true;
  out->span = span_of(x, x->len, x->len);
  if (x->nbrackets) {
    lex_drop_brackets(x, 0, x->len);
    return TOK_ERROR;
  }
  TokenKind kind = last >= 0 ? x->tokens.data[last].kind : TOK_NEWLINE;
  if (!lex_is_layout(kind)) return TOK_NEWLINE;
  for (; x->nlevels; x->nlevels--) x->dedents += !top_level(x)->phantom;
  return lex_owed(x, x->len, out);
}

/* Brackets */

char lex_top(const Scanner *x) { return x->nbrackets ? x->brackets[x->nbrackets - 1].kind : 0; }

Bracket *lex_fstring(Scanner *x) {
  for (int i = x->nbrackets; i--;)
    if (x->brackets[i].kind == 'f') return &x->brackets[i];
  die("f-string text outside an f-string");
}

bool lex_open(Scanner *x, char kind, Span at) {
  if (x->nbrackets == LEX_MAX_BRACKETS) {
    diag_report(x->diags, DIAG_DEEP_BRACKETS, at, LEX_MAX_BRACKETS);
    for (int i = 0; i < x->nbrackets; i++) x->brackets[i].quiet = true;
    x->stop = true;
    return false;
  }
  x->brackets[x->nbrackets++] = (Bracket){.kind = kind, .token = x->tokens.len, .span = at};
  return true;
}

static char closer_of(char kind) { return kind == '(' ? ')' : kind == '[' ? ']' : '}'; }

static const char *shown(char kind) {
  return kind == '(' ? "(" : kind == '[' ? "[" : kind == 'f' ? "f-string" : "{";
}

static void mismatch(Scanner *x, char closer, Span at) {
  const Bracket *b = &x->brackets[x->nbrackets - 1];
  if (b->quiet) return;
  diag_report(x->diags, DIAG_WRONG_CLOSER, at, closer, shown(b->kind), closer_of(b->kind));
  diag_note(x->diags, b->span, "'%s' opened here", shown(b->kind));
  diag_fix(x->diags, at, (char[]){closer_of(b->kind), 0});
}

TokenKind lex_close(Scanner *x, char closer, TokenKind kind, Span at) {
  if (!x->nbrackets && x->forgiven) {
    x->forgiven--;
    vec_push(x->arena, &x->broken, span_of(x, at.lo, at.hi));
    return TOK_ERROR;
  }
  if (!x->nbrackets) {
    diag_report(x->diags, DIAG_UNMATCHED_CLOSER, at, closer);
    return TOK_ERROR;
  }
  if (closer == 'f') {
    int i = x->nbrackets - 1;
    while (x->brackets[i].kind != 'f') i--;
    lex_drop_brackets(x, i + 1, at.hi);
    x->nbrackets--;
    return kind;
  }
  char open = lex_top(x);
  if (open == closer || (strchr("([{F", open) && closer_of(open) == closer)) {
    x->nbrackets--;
    return kind;
  }
  mismatch(x, closer, at);
  // Where an outer one fits, the inner ones were forgotten. Else this was meant to close the inner
  // one, unless what does close it is still to come.
  for (int i = x->nbrackets; i-- && x->brackets[i].kind != 'f';)
    if (closer_of(x->brackets[i].kind) == closer) {
      for (int j = i; j < x->nbrackets; j++) x->brackets[j].quiet = true;
      x->forgiven = i ? 0 : x->nbrackets - 1; // it may have stood for one of those all the same
      lex_drop_brackets(x, i, at.hi);
      return TOK_ERROR;
    }
  const char *rest = x->text + at.hi;
  if (!memchr(rest, closer_of(open), strcspn(rest, "\n"))) x->nbrackets--;
  return TOK_ERROR;
}

void lex_drop_brackets(Scanner *x, int keep, uint32_t end) {
  if (x->nbrackets <= keep) return;
  const Bracket *inner = &x->brackets[x->nbrackets - 1];
  for (const Bracket *b = inner; b > x->brackets && b->kind == ':'; b--) inner = b - 1;
  if (!inner->quiet) {
    if (inner->kind == 'F') diag_report(x->diags, DIAG_OPEN_FIELD, inner->span);
    else if (inner->kind == 'f') diag_report(x->diags, DIAG_OPEN_STRING, inner->span, "f-string");
    else
      diag_report(x->diags, DIAG_OPEN_BRACKET, inner->span, inner->kind, closer_of(inner->kind));
  }
  vec_push(x->arena, &x->broken, span_of(x, x->brackets[keep].span.lo, end));
  x->nbrackets = keep;
}

// Keywords that begin a statement and can stand nowhere inside brackets.
static bool starts_statement(TokenKind kind) {
  switch (kind) {
  case TOK_ASSERT:
  case TOK_BREAK:
  case TOK_CLASS:
  case TOK_CONTINUE:
  case TOK_DEF:
  case TOK_DEL:
  case TOK_ELIF:
  case TOK_EXCEPT:
  case TOK_FINALLY:
  case TOK_GLOBAL:
  case TOK_IMPORT:
  case TOK_NONLOCAL:
  case TOK_PASS:
  case TOK_RAISE:
  case TOK_RETURN:
  case TOK_TRY:
  case TOK_WHILE:
  case TOK_WITH: return true;
  default: return false;
  }
}

bool lex_line_in_brackets(Scanner *x, Span at) {
  const char *p = x->text + at.hi;
  x->first = true;
  p += strspn(p, " \t\f");
  int len = 0;
  while (isalnum((unsigned char)p[len]) || p[len] == '_' || p[len] & 0x80) len++;
  if (!starts_statement(lex_keyword(p, len))) return false;
  lex_drop_brackets(x, 0, at.hi);
  x->owes_newline = true;
  return true;
}
