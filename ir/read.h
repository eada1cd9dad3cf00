// The inside of the reader of the text form. Only ir/read*.c include this.
// SPDX-License-Identifier: MIT
#ifndef TLC_IR_READ_H
#define TLC_IR_READ_H

#include "ir/internal.h"

typedef enum { TOK_END, TOK_NAME, TOK_INT, TOK_FLOAT, TOK_STRING, TOK_PUNCT } TokenKind;

typedef struct {
  TokenKind kind;
  uint32_t lo, hi;
  const char *text; // NAME, PUNCT: as written; STRING: decoded
  uint64_t i;       // INT
  double f;         // INT, FLOAT
} Token;

typedef struct {
  const char *name;
  Var *var; // one of the two
  Buffer *buf;
} Binding;

typedef struct {
  Arena *arena;
  Diags *diags;
  uint32_t file;
  const char *text;
  uint32_t len, pos; // pos: after the token
  Token tok;
  uint32_t last; // end of the token before
  bool failed;   // after the first error every token is TOK_END
  int depth, exprs, nodes; // nesting; of expressions; operations of the outermost expression
  VEC(Binding) scope;
  Map *ever; // name -> Binding declared last: for facts on the device
} Reader;

enum { READ_DEPTH = 200, READ_NODES = 4000 }; // nesting, and operations of one expression

/* read_lex.c */

void read_next(Reader *r);
void read_seek(Reader *r, uint32_t pos); // goes on from there
Span read_here(const Reader *r);         // of the token
Span read_since(const Reader *r, uint32_t lo);
void read_fail(Reader *r, DiagId id, Span at, ...); // reports the first error only
void read_expected(Reader *r, const char *what);
bool read_is(const Reader *r, const char *text); // this name or punctuation?
bool read_accept(Reader *r, const char *text);
void read_expect(Reader *r, const char *text);
const char *read_name(Reader *r, const char *what);
const char *read_string(Reader *r);
int64_t read_int(Reader *r, int64_t lo, int64_t hi); // with a sign
DType read_type(Reader *r);
bool read_enter(Reader *r); // one level deeper; false and an error past the limit

/* read_expr.c */

Expr *read_expr(Reader *r, int min_prec); // never NULL
Expr **read_list(Reader *r, int *n);      // [a, b]
Region *read_region(Reader *r);
const Binding *read_lookup(Reader *r, const char *name);
void read_declare(Reader *r, Span at, const char *name, Var *v, Buffer *b);
Buffer *read_buffer_name(Reader *r);
const IndexMap *read_places(Reader *r); // after the word `places`
Layout *read_layout(Reader *r); // at the word `layout`

/* read_map.c */

int read_ints(Reader *r, int *out, int most, int lo, int hi); // [1, 2]; how many were given
void read_map(Reader *r, Buffer *b);      // " of TENSOR box [...]" of a map just read
bool read_map_word(Reader *r, Buffer *b); // one of its attributes, where there is one

/* read_stmt.c */

Stmt *read_block(Reader *r); // { statements }
Span read_span(Reader *r, Span otherwise); // @file:lo-hi

#endif
