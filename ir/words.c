// The vocabulary of the text form.
// SPDX-License-Identifier: MIT
#include "ir/internal.h"

#include <string.h>

static const char *const unary_words[] = {
#define UNARY(e, name, meaning) name,
#include "ir/exprs.def"
};

static const struct {
  const char *name, *infix;
} binary_words[] = {
#define BINARY(e, name, infix, meaning) {name, infix},
#include "ir/exprs.def"
};

static const struct {
  const char *name;
  int arity;
} math_words[] = {
#define MATH(e, name, arity, meaning) {name, arity},
#include "ir/exprs.def"
};

const char *const loop_words[] = {"for", "unroll", "vectorized", "parallel", "pipelined", "while"};
const char *const scope_words[] = {"global", "shared", "fragment", "local", "map"};
const char *const role_words[] = {"in", "out", "inout"};

const char *word_unary(UnOp op) { return unary_words[op]; }
const char *word_binary(BinOp op) { return binary_words[op].name; }
const char *word_infix(BinOp op) { return binary_words[op].infix; }

const char *word_math(MathFn fn, int *arity) {
  if (arity) *arity = math_words[fn].arity;
  return math_words[fn].name;
}

int word_precedence(BinOp op) {
  switch (op) {
  case BIN_OR: return PREC_OR;
  case BIN_AND: return PREC_AND;
  case BIN_LT: case BIN_LE: case BIN_EQ: case BIN_NE: return PREC_COMPARE;
  case BIN_BITOR: return PREC_BITOR;
  case BIN_BITXOR: return PREC_BITXOR;
  case BIN_BITAND: return PREC_BITAND;
  case BIN_SHL: case BIN_SHR: return PREC_SHIFT;
  case BIN_ADD: case BIN_SUB: return PREC_SUM;
  default: return PREC_PRODUCT;
  }
}

bool word_reserved(const char *s) {
  static const char *const words[] = {
    "_", "true", "false", "inf", "nan", "and", "or", "not", "select", "if", "else", "let", "assume",
    "for", "unroll", "vectorized", "parallel", "pipelined", "in", "body", "shared", "fragment",
    "local", "global", "kernel", "size", "param", "fact", "program", "level", "grid", "threads",
    "block", "thread", "raster", "smem", "strides", "align", "safe", "layout", "offset", "stages",
    "factor", "role", "name", "device", "why", "tensor", "file", "bindings", "workspace", "while",
    "bits", "of", "map", "box", "steps", "swizzle", "l2", "cluster", "launch", "places", "to",
    "copies", "source", "async", "known",
  };
  DType t;
  OpCode op;
  if (dt_find(s, &t) || op_find(s, &op)) return true;
  for (size_t i = 0; i < LEN(words); i++) {
    if (!strcmp(words[i], s)) return true;
  }
  for (int i = 0; i < BIN_COUNT; i++) {
    if (!*binary_words[i].infix && !strcmp(binary_words[i].name, s)) return true;
  }
  for (int i = 0; i < MATH_COUNT; i++) {
    if (!strcmp(math_words[i].name, s)) return true;
  }
  return false;
}
