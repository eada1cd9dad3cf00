// lexer: source text to tokens, with Python's indentation and brackets resolved.
// SPDX-License-Identifier: MIT
#ifndef TLC_LEX_H
#define TLC_LEX_H

#include "base/base.h"

typedef enum {
#define TOKEN(kind, name) TOK_##kind,
#define KEYWORD(kind, name) TOK_##kind,
#define PUNCT(kind, name) TOK_##kind,
#include "lexer/tokens.def"
#undef TOKEN
#undef KEYWORD
#undef PUNCT
  TOK_COUNT
} TokenKind;

// The value of a number literal. A literal is never negative: -1 is a minus and a 1.
typedef struct {
  const char *text; // as written, with underscores and base prefix
  uint64_t integer; // TOK_INT, valid unless big
  double real; // TOK_FLOAT, and the imaginary part of TOK_IMAG
  bool big; // TOK_INT: does not fit 64 unsigned bits
} LexNum;

// Decoded text. A str is UTF-8 (a lone surrogate as three bytes); bytes are what they are.
typedef struct {
  const char *data; // NUL-terminated, and may hold NULs
  uint32_t len;
} LexStr;

typedef struct {
  TokenKind kind;
  bool first; // the first token on its physical line
  int bracket; // index of the innermost bracket around it, or -1
  Span span;
  union { // tokens.def says which
    const char *name; // interned: same name, same pointer
    LexNum num;
    LexStr str;
  };
} Token;

typedef struct {
  Token *data; // ends with TOK_END; every logical line ends with TOK_NEWLINE
  int len;
  // Where a bracket was never closed: from it to where the lexer gave up. What a parser has to say
  // about tokens in there is noise.
  Span *broken;
  int nbroken;
} Tokens;

/* lex.c */

// Reads a whole file. Errors go to `d`; the tokens are good enough to parse on for more errors.
Tokens lex_file(Arena *a, Diags *d, uint32_t file);
// One token a line: "3:5-3:9 name copy". Layout tokens have no text.
void lex_dump(const Tokens *t, const Sources *s, Buf *out);
const char *lex_token_name(TokenKind kind); // "name", "if", "<<="
bool lex_is_keyword(TokenKind kind);
bool lex_opens_block(TokenKind kind); // the first token of a line that ends in ':'

/* string.c */

// Appends `s` as a literal of Python between `quote`s ('"' or '\''), on one line; UTF-8 stays as it
// is. With `bytes`, everything outside ASCII is written \xhh.
void lex_quote(Buf *out, LexStr s, char quote, bool bytes);
// A piece of an f-string, without the quotes around it: braces are doubled, or, in a format spec,
// where that is not possible, escaped.
void lex_quote_piece(Buf *out, LexStr s, char quote, bool spec);

#endif
