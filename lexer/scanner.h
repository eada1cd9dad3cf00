// What the rules in scan.l and the C around them share. Private to lexer/.
// SPDX-License-Identifier: MIT
#ifndef TLC_SCANNER_H
#define TLC_SCANNER_H

#include "lexer/lex.h"

// As many as CPython takes.
#define LEX_MAX_INDENT 100
#define LEX_MAX_BRACKETS 200

typedef Token LexValue; // Flex's YYSTYPE; its location is token.span

typedef struct {
  int column, alt; // width with a tab to the next multiple of 8, and with a tab as one column
  bool phantom; // an unexpected indent: no INDENT was given, so no DEDENT is due
  uint32_t line; // offset of the line that opened it
} Level;

// Something open: ( [ { or, of an f-string, its text 'f', a field 'F' or a field's format spec ':'.
typedef struct {
  char kind;
  bool raw, triple; // 'f'
  char quote; // 'f'
  bool quiet; // a string around here has no end, so it is no news that this has none
  int token;
  Span span;
} Bracket;

typedef struct {
  Arena *arena;
  Arena *scratch; // lives as long as the scanner: tokens before they are settled
  Diags *diags;
  uint32_t file;
  const char *text;
  uint32_t len;
  Map *names;
  VEC(Token) tokens;
  VEC(Span) broken;

  Level levels[LEX_MAX_INDENT + 1];
  int nlevels;
  Bracket brackets[LEX_MAX_BRACKETS];
  int nbrackets;

  int dedents; // still to be given
  bool owes_indent, owes_newline;
  bool started;
  bool first; // no token on this line yet
  bool tab_mix; // was reported
  int forgiven; // closers still to come on this line that a wrong one may have left over
  bool stop; // nothing sensible can follow; end the file here
} Scanner;

/* lex.c */

bool lex_is_layout(TokenKind kind); // NEWLINE, INDENT, DEDENT, END

/* layout.c: indentation and brackets */

// Takes the white space a line starts with; afterwards lex_owed gives the layout tokens due.
void lex_indent(Scanner *x, const char *space, int len, Span at);
// The next layout token due, at the empty place `at`, or TOK_END when none is.
TokenKind lex_owed(Scanner *x, uint32_t at, LexValue *out);
// The end of the file: closes what is open. TOK_END when all is done.
TokenKind lex_finish(Scanner *x, LexValue *out);
// Forgets the brackets above `keep`, with a complaint unless it is quiet; their text is broken.
void lex_drop_brackets(Scanner *x, int keep, uint32_t end);
// A line end inside brackets. True when the next line holds a statement, so that the brackets
// must have been left open: they are dropped, and a NEWLINE is due.
bool lex_line_in_brackets(Scanner *x, Span at);
bool lex_open(Scanner *x, char kind, Span at); // false: too many are open
// Closes the innermost bracket; the kind to give is TOK_ERROR when `closer` closes nothing.
TokenKind lex_close(Scanner *x, char closer, TokenKind kind, Span at);
// The innermost thing open, or 0.
char lex_top(const Scanner *x);
// The innermost f-string that is open.
Bracket *lex_fstring(Scanner *x);

/* number.c */

TokenKind lex_number(Scanner *x, const char *text, int len, TokenKind kind, LexValue *out);
void lex_bad_number(Scanner *x, const char *text, int len, Span at);

/* string.c */

// A whole string literal with prefix and quotes.
TokenKind lex_string(Scanner *x, const char *text, int len, LexValue *out);
// A string literal that does not end: reports it and closes the brackets that it swallowed.
void lex_unterminated(Scanner *x, const char *text, int len, Span at);
void lex_fstring_begin(Scanner *x, const char *text, int len, Span at);
// A piece of f-string text.
TokenKind lex_piece(Scanner *x, const char *text, int len, LexValue *out);
// Quotes inside an f-string: how many of them to take, and whether they end it.
int lex_fstring_quotes(Scanner *x, const char *text, int len, bool *ends);
TokenKind lex_field_eq(Scanner *x, LexValue *out);
TokenKind lex_field_conversion(Scanner *x, const char *text, int len, LexValue *out);

/* name.c */

// The keyword that `text` spells, or TOK_NAME.
TokenKind lex_keyword(const char *text, int len);

// A keyword, a name, or TOK_ERROR where it holds a character that no name may have.
TokenKind lex_name(Scanner *x, const char *text, int len, LexValue *out);
void lex_bad_character(Scanner *x, const char *text, Span at);
// Offset of the first byte that is not UTF-8, or len.
uint32_t lex_utf8_valid(const char *text, uint32_t len);
// One code point of valid UTF-8; *size gets its bytes.
uint32_t lex_utf8_get(const char *text, int *size);
int lex_utf8_put(char *to, uint32_t code); // number of bytes, at most 4

#endif
