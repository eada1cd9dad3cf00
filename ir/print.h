// The printer's inner interface: names and expressions. Only ir/print*.c include this.
// SPDX-License-Identifier: MIT
#ifndef TLC_IR_PRINT_H
#define TLC_IR_PRINT_H

#include "ir/internal.h"

typedef struct {
  Buf *out;
  Arena *arena;             // names
  PtrMap *names;            // Var or Buffer -> its name in the text
  Map *taken;               // names that are taken, non-NULL while they are
  Map *next;                // name -> n where all of name_1 ... name_n are taken
  VEC(const char *) active; // those of the open scopes
  PtrMap *pinned;           // variables that facts on the device mention: their names stay taken
  bool spans;
  bool plain; // for people: conversions to exact integers are not said
} Printer;

/* print_expr.c */

Printer printer_new(Buf *out);
void printer_free(Printer *p);
// A free name for a variable or buffer: its own where possible, else with a number after it.
const char *printer_declare(Printer *p, const void *what, const char *name);
void printer_pop(Printer *p, int mark); // the scopes since p->active was as long end
const char *printer_name(Printer *p, const void *what, const char *name); // declares when new
void print_expr(Printer *p, const Expr *x, int outer); // (x) when it binds less than outer
void print_list(Printer *p, Expr *const *list, int n); // [a, b]
void print_region(Printer *p, const Region *r);
void print_places(Printer *p, const IndexMap *m); // " places [i] to [e]"
void print_string(Buf *out, const char *s);       // quoted, escaped

/* print_stmt.c */

void print_stmt(Printer *p, const Stmt *s, int indent);
void print_block(Printer *p, const Stmt *s, int indent); // " {", the statements, "}"
void print_indent(Printer *p, int indent);

#endif
