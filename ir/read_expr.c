// Expressions, regions and names of the text form.
// SPDX-License-Identifier: MIT
#include "ir/read.h"

#include "ir/layout.h"

#include <math.h>
#include <string.h>

/* names */

const Binding *read_lookup(Reader *r, const char *name) {
  for (int i = r->scope.len; i-- > 0;) {
    if (!strcmp(r->scope.data[i].name, name)) return &r->scope.data[i];
  }
  return NULL;
}

void read_declare(Reader *r, Span at, const char *name, Var *v, Buffer *b) {
  if (r->failed) return;
  if (word_reserved(name)) {
    read_fail(r, DIAG_IR_NAME, at, name, "is a word of the text form and cannot be declared");
    return;
  }
  if (read_lookup(r, name)) {
    read_fail(r, DIAG_IR_NAME, at, name, "is already declared here");
    return;
  }
  vec_push(r->arena, &r->scope, (Binding){name, v, b});
  Binding *keep = NEW(r->arena, Binding);
  *keep = (Binding){name, v, b};
  map_set(r->ever, name, keep);
}

Buffer *read_buffer_name(Reader *r) {
  static Expr *no_shape[1];
  Span at = read_here(r);
  const char *name = read_name(r, "a buffer");
  const Binding *b = r->failed ? NULL : read_lookup(r, name);
  if (b && b->buf) return b->buf;
  read_fail(r, DIAG_IR_NAME, at, name, b ? "is a variable, not a buffer" : "names no buffer here");
  return buf_new(r->arena, "_", DT_F32, SC_LOCAL, no_shape, 0, NO_SPAN);
}

Layout *read_layout(Reader *r) {
  const char *s = r->text + r->tok.lo;
  Span at = read_here(r);
  Layout *l = layout_parse(r->arena, &s);
  if (l) read_seek(r, (uint32_t)(s - r->text));
  else read_fail(r, DIAG_IR_LAYOUT, at, "", "");
  return l;
}

enum { MAP_VARS = 17 };

const IndexMap *read_places(Reader *r) {
  IndexMap *m = NEW(r->arena, IndexMap);
  int mark = r->scope.len;
  m->var = NEWN(r->arena, Var *, MAP_VARS);
  m->replicate = 1;
  read_expect(r, "[");
  while (!read_is(r, "]") && !r->failed && m->n < MAP_VARS) {
    Span at = read_here(r);
    const char *name = read_name(r, "a name");
    m->var[m->n] = var_new(r->arena, name, DT_INDEX, VAR_LOOP, at);
    read_declare(r, at, name, m->var[m->n++], NULL);
    if (!read_accept(r, ",")) break;
  }
  read_expect(r, "]");
  read_expect(r, "to");
  m->to = read_list(r, &m->m);
  m->fragment = read_accept(r, "copies");
  if (m->fragment) m->replicate = (int)read_int(r, 1, 1024);
  r->scope.len = mark;
  return m;
}

/* lists and regions */

typedef VEC(Expr *) ExprVec;

Expr **read_list(Reader *r, int *n) {
  ExprVec list = {0};
  read_expect(r, "[");
  while (!read_is(r, "]") && !r->failed) {
    vec_push(r->arena, &list, read_expr(r, 0));
    if (!read_accept(r, ",")) break;
  }
  read_expect(r, "]");
  *n = list.len;
  return list.data;
}

static bool count_fits(Reader *r, Span at, const Buffer *b, int n) {
  if (n == b->ndim || r->failed) return !r->failed;
  read_fail(r, DIAG_IR_COUNT, at, b->name,
            arena_printf(r->arena, "has %d dimensions, but %d are given here", b->ndim, n));
  return false;
}

Region *read_region(Reader *r) {
  ExprVec min = {0}, extent = {0};
  Span at = read_here(r);
  Buffer *b = read_buffer_name(r);
  read_expect(r, "[");
  while (!read_is(r, "]") && !r->failed) {
    vec_push(r->arena, &min, read_expr(r, 0));
    vec_push(r->arena, &extent, read_accept(r, "+:") ? read_expr(r, 0) : ex_index(r->arena, 1));
    if (!read_accept(r, ",")) break;
  }
  read_expect(r, "]");
  if (!count_fits(r, at, b, min.len)) return region_whole(r->arena, b);
  return region_new(r->arena, b, min.data, extent.data);
}

/* expressions */

static Expr *nothing(Reader *r) { return ex_index(r->arena, 0); }

static Expr *float_of(Reader *r, DType t, double v) {
  return ex_cast(r->arena, t, ex_float(r->arena, dt_is_float(t) ? t : DT_F64, v));
}

// A literal, with its sign, of the given type; DT_COUNT: index, bool or float32, by its form.
static Expr *literal(Reader *r, bool minus, DType t) {
  Token tok = r->tok;
  Expr *x;
  double sign = minus ? -1 : 1;
  if (tok.kind == TOK_INT && (t == DT_COUNT || !dt_is_float(t))) {
    if (tok.i > (uint64_t)INT64_MAX + minus && t != DT_U64)
      read_fail(r, DIAG_IR_NUMBER, read_here(r), tok.text, "64 bits");
    x = ex_int(r->arena, t == DT_COUNT ? DT_INDEX : t, (int64_t)(minus ? -tok.i : tok.i));
  } else if (tok.kind == TOK_INT || tok.kind == TOK_FLOAT) {
    x = float_of(r, t == DT_COUNT ? DT_F32 : t, sign * tok.f);
  } else {
    double v = read_is(r, "inf") ? INFINITY : NAN;
    x = float_of(r, t == DT_COUNT ? DT_F32 : t, copysign(v, sign));
  }
  read_next(r);
  return x;
}

static bool is_literal(const Reader *r) {
  return r->tok.kind == TOK_INT || r->tok.kind == TOK_FLOAT || read_is(r, "inf") ||
         read_is(r, "nan");
}

// The operands of a call, `(` already read. At least `want` of them, the others being NULL.
static int arguments(Reader *r, Expr **arg, int want) {
  int n = 0;
  do {
    Expr *x = read_expr(r, 0);
    if (n < want) arg[n] = x;
    n++;
  } while (read_accept(r, ",") && !r->failed);
  if (n != want && !r->failed)
    read_fail(r, DIAG_IR_SYNTAX, read_here(r), arena_printf(r->arena, "%d operands", want),
              arena_printf(r->arena, "%d", n));
  read_expect(r, ")");
  for (int i = 0; i < want; i++) {
    if (!arg[i] || r->failed) arg[i] = nothing(r);
  }
  return want;
}

static Expr *type_call(Reader *r, DType t) {
  bool minus = false;
  uint32_t start = r->tok.lo;
  if (read_is(r, "-")) {
    read_next(r);
    minus = is_literal(r);
    if (!minus) read_seek(r, start); // -x as an expression
  }
  if (is_literal(r)) {
    uint32_t at = r->tok.lo;
    Expr *x = literal(r, minus, t);
    if (read_accept(r, ")") || r->failed) return x;
    read_seek(r, minus ? start : at); // a longer expression that starts with a literal
  }
  Expr *x;
  arguments(r, &x, 1);
  return ex_cast(r->arena, t, x);
}

// bits(TYPE, x)
static Expr *bits_call(Reader *r, Span at) {
  DType t = read_type(r);
  read_expect(r, ",");
  Expr *x = read_expr(r, 0);
  read_expect(r, ")");
  if (r->failed) return nothing(r);
  if (dt_bits(t) == dt_bits(x->type)) return ex_bitcast(r->arena, t, x);
  read_fail(r, DIAG_IR_TYPE, at, dt_name(t));
  return nothing(r);
}

static Expr *call(Reader *r, Span at, const char *name) {
  Expr *arg[3] = {0};
  DType t;
  if (dt_find(name, &t)) return type_call(r, t);
  if (!strcmp(name, "bits")) return bits_call(r, at);
  if (!strcmp(name, "select")) {
    arguments(r, arg, 3);
    return ex_select(r->arena, arg[0], arg[1], arg[2]);
  }
  for (int op = 0; op < BIN_COUNT; op++) {
    if (*word_infix((BinOp)op) || strcmp(word_binary((BinOp)op), name)) continue;
    arguments(r, arg, 2);
    return ex_bin(r->arena, (BinOp)op, arg[0], arg[1]);
  }
  for (int fn = 0; fn < MATH_COUNT; fn++) {
    int arity;
    if (strcmp(word_math((MathFn)fn, &arity), name)) continue;
    arguments(r, arg, arity);
    return ex_math(r->arena, (MathFn)fn, arg, arity);
  }
  read_fail(r, DIAG_IR_NAME, at, name, "is no function or type");
  return nothing(r);
}

static Expr *load(Reader *r, Span at, Buffer *b) {
  int n;
  Expr **idx = read_list(r, &n);
  if (!count_fits(r, at, b, n)) return nothing(r);
  return ex_load(r->arena, b, idx, n);
}

static Expr *name_expr(Reader *r) {
  Span at = read_here(r);
  const char *name = r->tok.text;
  read_next(r);
  if (!strcmp(name, "true") || !strcmp(name, "false")) return ex_bool(r->arena, *name == 't');
  if (read_accept(r, "(")) return call(r, at, name);
  const Binding *b = read_lookup(r, name);
  if (!b) {
    read_fail(r, DIAG_IR_NAME, at, name, "names nothing here");
    return nothing(r);
  }
  if (b->buf) return load(r, at, b->buf);
  return ex_var(r->arena, b->var);
}

static Expr *primary(Reader *r) {
  if (is_literal(r)) return literal(r, false, DT_COUNT);
  if (r->tok.kind == TOK_NAME) return name_expr(r);
  if (!read_accept(r, "(")) {
    read_expected(r, "an expression");
    return nothing(r);
  }
  Expr *x = read_expr(r, 0);
  read_expect(r, ")");
  return x;
}

static Expr *unary(Reader *r) {
  if (read_accept(r, "not")) return ex_un(r->arena, UN_NOT, read_expr(r, PREC_NOT));
  if (read_accept(r, "~")) return ex_un(r->arena, UN_BITNOT, read_expr(r, PREC_UNARY));
  if (!read_accept(r, "-")) return primary(r);
  if (is_literal(r)) return literal(r, true, DT_COUNT);
  return ex_un(r->arena, UN_NEG, read_expr(r, PREC_UNARY));
}

static bool binary_op(const Reader *r, BinOp *op) {
  for (int i = 0; i < BIN_COUNT; i++) {
    const char *infix = word_infix((BinOp)i);
    if (*infix && read_is(r, infix)) return *op = (BinOp)i, true;
  }
  return false;
}

Expr *read_expr(Reader *r, int min_prec) {
  if (!read_enter(r)) return nothing(r);
  if (r->exprs++ == 0) r->nodes = 0;
  uint32_t start = r->tok.lo;
  Expr *x = unary(r);
  BinOp op;
  while (!r->failed && binary_op(r, &op) && word_precedence(op) >= min_prec) {
    if (++r->nodes > READ_NODES)
      read_fail(r, DIAG_IR_DEPTH, read_here(r), arena_printf(r->arena, "%d operations", READ_NODES),
                "");
    read_next(r);
    Expr *y = read_expr(r, word_precedence(op) + 1);
    x = ex_bin(r->arena, op, x, y);
  }
  r->depth--;
  r->exprs--;
  if (x->kind != EX_VAR && !r->failed) ex_at(x, read_since(r, start));
  return x;
}
