// Statements of the text form.
// SPDX-License-Identifier: MIT
#include "ir/read.h"

#include <string.h>

Span read_span(Reader *r, Span otherwise) {
  if (!read_accept(r, "@")) return otherwise;
  Span s;
  s.file = (uint32_t)read_int(r, 0, INT32_MAX);
  read_expect(r, ":");
  s.lo = (uint32_t)read_int(r, 0, INT32_MAX);
  read_expect(r, "-");
  s.hi = (uint32_t)read_int(r, 0, INT32_MAX);
  const Sources *files = diag_sources(r->diags);
  bool real = s.file >= 1 && (int)s.file <= src_count(files) && s.lo <= s.hi &&
              s.hi <= src_get(files, s.file)->len;
  return real ? s : otherwise; // of a file that was not read this time: the text's own place
}

static Var *binder(Reader *r, VarKind kind, Span *at, const char **name) {
  *at = read_here(r);
  *name = read_name(r, "a name");
  DType t = read_accept(r, ":") ? read_type(r) : DT_INDEX;
  return var_new(r->arena, *name, t, kind, *at);
}

enum { LOOP_VARS = 16 };

static Stmt *loop(Reader *r, LoopKind kind, uint32_t lo) {
  Var *v[LOOP_VARS];
  Span at[LOOP_VARS];
  const char *name[LOOP_VARS];
  Expr *min[LOOP_VARS], *extent[LOOP_VARS];
  int n = 0, mark = r->scope.len;
  do {
    v[n] = binder(r, VAR_LOOP, &at[n], &name[n]);
    n++;
  } while (n < LOOP_VARS && read_accept(r, ","));
  read_expect(r, "in");
  for (int i = 0; i < n; i++) {
    if (i) read_expect(r, ",");
    min[i] = read_expr(r, 0);
    read_expect(r, "+:");
    extent[i] = read_expr(r, 0);
  }
  int stages = read_accept(r, "stages") ? (int)read_int(r, 0, 1000) : 0;
  int factor = read_accept(r, "factor") ? (int)read_int(r, 0, 1000000) : 0;
  bool async = read_accept(r, "async");
  Layout *layout = read_is(r, "layout") ? read_layout(r) : NULL;
  const IndexMap *map = read_accept(r, "places") ? read_places(r) : NULL;
  Expr *cond = read_accept(r, "while") ? read_expr(r, 0) : NULL;
  Span span = read_since(r, lo);
  for (int i = 0; i < n; i++) read_declare(r, at[i], name[i], v[i], NULL);
  Stmt *body = read_block(r);
  r->scope.len = mark;
  Stmt *s = st_for_n(r->arena, kind, n, v, min, extent, body, read_span(r, span));
  s->u.loop.num_stages = stages;
  s->u.loop.unroll = factor;
  s->u.loop.async = async;
  s->u.loop.layout = layout;
  s->u.loop.places = map;
  s->u.loop.cond = cond;
  return s;
}

static Stmt *branch(Reader *r, uint32_t lo, bool roles) {
  Expr *cond = read_expr(r, 0);
  Span span = read_since(r, lo);
  Stmt *yes = read_block(r);
  Stmt *no = read_accept(r, "else") ? read_block(r) : NULL;
  Stmt *s = st_if(r->arena, cond, yes, no, read_span(r, span));
  s->u.branch.roles = roles;
  return s;
}

static Stmt *while_loop(Reader *r, uint32_t lo) {
  Expr *cond = read_expr(r, 0);
  Span span = read_since(r, lo);
  Stmt *body = read_block(r);
  return st_while(r->arena, cond, body, read_span(r, span));
}

static Stmt *let(Reader *r, uint32_t lo) {
  Span at;
  const char *name;
  Var *v = binder(r, VAR_LET, &at, &name);
  read_expect(r, "=");
  Expr *value = read_expr(r, 0);
  Span span = read_span(r, read_since(r, lo));
  read_declare(r, at, name, v, NULL);
  return st_let(r->arena, v, value, span);
}

static Stmt *store(Reader *r, uint32_t lo) {
  int n;
  Span at = read_here(r);
  Buffer *b = read_buffer_name(r);
  Expr **idx = read_list(r, &n);
  if (n != b->ndim)
    read_fail(r, DIAG_IR_COUNT, at, b->name,
              arena_printf(r->arena, "has %d dimensions, but %d are given here", b->ndim, n));
  read_expect(r, "=");
  Expr *value = read_expr(r, 0);
  Span span = read_span(r, read_since(r, lo));
  if (r->failed) return st_block(r->arena, span);
  return st_store(r->arena, b, idx, n, value, span);
}

static void operands_error(Reader *r, const OpInfo *info, Span at) {
  Buf list = {0};
  for (int i = 0; i < info->nargs; i++)
    buf_printf(&list, "%s%s%s", i ? ", " : "", info->arg[i].name, info->arg[i].optional ? "?" : "");
  read_fail(r, DIAG_IR_OPERANDS, at, info->name,
            arena_printf(r->arena, "%s", info->nargs ? buf_str(&list) : "nothing"));
  buf_free(&list);
}

static void operand(Reader *r, ArgKind kind, Arg *arg) {
  read_next(r);
  read_expect(r, "=");
  if (kind == ARG_INT) arg->i = read_int(r, INT32_MIN, INT32_MAX);
  else if (kind == ARG_EXPR) arg->expr = read_expr(r, 0);
  else if (kind == ARG_TEXT) arg->text = read_string(r);
  else arg->region = read_region(r);
}

static Stmt *op(Reader *r, OpCode code, uint32_t lo) {
  const OpInfo *info = op_info(code);
  Stmt *s = NEW(r->arena, Stmt);
  s->kind = ST_OP;
  s->u.op.op = code;
  Span at = read_here(r);
  read_next(r);
  read_expect(r, "(");
  bool first = true;
  for (int i = 0; i < info->nargs && !r->failed; i++) {
    uint32_t before = r->tok.lo;
    bool comma = first || read_accept(r, ",");
    if (comma && read_is(r, info->arg[i].name)) {
      operand(r, info->arg[i].kind, &s->u.op.arg[i]);
      first = false;
    } else {
      if (!info->arg[i].optional) operands_error(r, info, at);
      if (comma && !first) read_seek(r, before); // the comma is the next operand's
    }
  }
  if (!r->failed && !read_is(r, ")")) operands_error(r, info, read_here(r));
  read_expect(r, ")");
  s->span = read_span(r, read_since(r, lo));
  return s;
}

static Stmt *statement(Reader *r) {
  uint32_t lo = r->tok.lo;
  OpCode code;
  for (int k = LOOP_SERIAL; k <= LOOP_PIPELINED; k++) {
    if (read_accept(r, loop_words[k])) return loop(r, (LoopKind)k, lo);
  }
  if (read_accept(r, "while")) return while_loop(r, lo);
  if (read_accept(r, "if")) return branch(r, lo, false);
  if (read_accept(r, "roles")) return branch(r, lo, true);
  if (read_accept(r, "let")) return let(r, lo);
  if (read_accept(r, "block")) {
    Stmt *s = read_block(r);
    s->span = read_span(r, s->span);
    return s;
  }
  bool known = read_accept(r, "known");
  if (known || read_accept(r, "assume")) {
    Expr *cond = read_expr(r, 0);
    Span span = read_span(r, read_since(r, lo));
    return known ? st_known(r->arena, cond, span) : st_assume(r->arena, cond, span);
  }
  if (r->tok.kind == TOK_NAME && op_find(r->tok.text, &code)) return op(r, code, lo);
  if (r->tok.kind == TOK_NAME) return store(r, lo);
  read_expected(r, "a statement");
  return st_block(r->arena, NO_SPAN);
}

Stmt *read_block(Reader *r) {
  int mark = r->scope.len;
  Stmt *block = st_block(r->arena, read_here(r));
  read_expect(r, "{");
  if (!read_enter(r)) return block;
  while (!r->failed && !read_is(r, "}")) vec_push(r->arena, &block->u.block, statement(r));
  r->depth--;
  read_expect(r, "}");
  r->scope.len = mark;
  return block;
}
