// JSON files of the command. What is wrong with one ends the run with a usage error.
// SPDX-License-Identifier: MIT
#ifndef TLC_DRIVER_JSON_H
#define TLC_DRIVER_JSON_H

#include "driver/driver.h"
#include "parser/ast.h"

typedef struct {
  const char *option, *path; // that named the file; for messages
  const AstExpr *root;
  Diags *diags; // of this file
} Json;

Json json_read(Arena *a, const char *option, const char *path);
// Points at `at`; NULL: at the whole file.
NORETURN void json_bad(const Json *j, const AstExpr *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
// e, which must be an object with keys of text, each once; `what` says so where it is none.
const AstExpr *json_object(const Json *j, const AstExpr *e, const char *what);
const AstExpr *json_member(const AstExpr *object, const char *key); // NULL: there is none
void json_put(Buf *b, const AstExpr *e, const Json *j);             // a value as -p takes it

#endif
