// What print.c (expressions) and print_statements.c share. Private to parser/.
// SPDX-License-Identifier: MIT
#ifndef TLC_PRINTER_H
#define TLC_PRINTER_H

#include "parser/ast.h"

// How tightly an expression binds. In a place that asks for a level, a looser one gets parentheses.
typedef enum {
  PREC_NAMED, // walrus: in parentheses everywhere
  PREC_YIELD, // bare only where it is a whole statement, or on the right of `=`
  PREC_TEST, // lambda, conditional
  PREC_OR,
  PREC_AND,
  PREC_NOT,
  PREC_COMPARE,
  PREC_BITOR,
  PREC_BITXOR,
  PREC_BITAND,
  PREC_SHIFT,
  PREC_SUM,
  PREC_PRODUCT,
  PREC_UNARY,
  PREC_POWER,
  PREC_AWAIT,
  PREC_PRIMARY
} Prec;

typedef struct {
  Buf *out;
  int indent;
  int fields; // how many fields of f-strings are open: alternates quotes, and `:` is special
} Printer;

void ast_put(Printer *p, const AstExpr *e, Prec at_least);
// As ast_put, but a tuple goes without parentheses.
void ast_put_bare(Printer *p, const AstExpr *e, Prec at_least);
void ast_put_params(Printer *p, const AstParams *params);
void ast_put_args(Printer *p, const AstArgs *args);

#endif
