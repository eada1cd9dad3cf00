// Expression nodes: the constructors that the grammar's actions call.
// SPDX-License-Identifier: MIT
#include "parser/parser.h"

bool ast_too_deep(Parser *p, int depth, Span at) {
  if (depth <= AST_MAX_DEPTH) return false;
  if (!p->too_deep) diag_report(p->diags, DIAG_TOO_DEEP, at, AST_MAX_DEPTH);
  p->too_deep = true;
  return true;
}

static AstExpr *node(Parser *p, Span at, AstExprKind kind) {
  AstExpr *e = NEW(p->arena, AstExpr);
  e->kind = kind;
  e->depth = 1;
  e->span = at;
  return e;
}

static void above(AstExpr *e, const AstExpr *child) {
  if (child && e->depth <= child->depth) e->depth = child->depth + 1;
}

static void above_all(AstExpr *e, const AstExprs *children) {
  for (int i = 0; i < children->len; i++) above(e, children->data[i]);
}

// A tree that got too deep is cut: nothing in tlc has to walk it.
static AstExpr *done(Parser *p, AstExpr *e) {
  if (!ast_too_deep(p, e->depth, e->span)) return e;
  return ast_name(p, e->span, "_");
}

static AstExprs exprs(ExprVec v) { return (AstExprs){v.data, v.len}; }

AstExpr *ast_leaf(Parser *p, Span at, AstExprKind kind) { return node(p, at, kind); }

AstExpr *ast_name(Parser *p, Span at, const char *name) {
  AstExpr *e = node(p, at, AST_NAME);
  e->name = name;
  return e;
}

AstExpr *ast_number(Parser *p, Span at, AstExprKind kind, LexNum num) {
  AstExpr *e = node(p, at, kind);
  e->num = num;
  return e;
}

AstExpr *ast_boolean(Parser *p, Span at, bool value) {
  AstExpr *e = node(p, at, AST_BOOL);
  e->boolean = value;
  return e;
}

AstExpr *ast_items(Parser *p, Span at, AstExprKind kind, ExprVec items) {
  AstExpr *e = node(p, at, kind);
  e->items = exprs(items);
  above_all(e, &e->items);
  return done(p, e);
}

AstExpr *ast_dict(Parser *p, Span at, EntryVec entries) {
  AstExpr *e = node(p, at, AST_DICT);
  e->dict = (AstEntries){entries.data, entries.len};
  for (int i = 0; i < entries.len; i++) {
    above(e, entries.data[i].key);
    above(e, entries.data[i].value);
  }
  return done(p, e);
}

AstExpr *ast_operand(Parser *p, Span at, AstExprKind kind, AstExpr *operand) {
  AstExpr *e = node(p, at, kind);
  e->operand = operand;
  above(e, operand);
  return done(p, e);
}

AstExpr *ast_attr(Parser *p, Span at, AstExpr *value, AstName name) {
  AstExpr *e = node(p, at, AST_ATTR);
  e->attr.value = value;
  e->attr.name = name;
  above(e, value);
  return done(p, e);
}

AstExpr *ast_index(Parser *p, Span at, AstExpr *value, AstExpr *index) {
  AstExpr *e = node(p, at, AST_INDEX);
  e->index.value = value;
  e->index.index = index;
  above(e, value);
  above(e, index);
  return done(p, e);
}

AstExpr *ast_slice(Parser *p, Span at, AstExpr *lo, AstExpr *hi, AstExpr *step) {
  AstExpr *e = node(p, at, AST_SLICE);
  e->slice.lo = lo;
  e->slice.hi = hi;
  e->slice.step = step;
  above(e, lo);
  above(e, hi);
  above(e, step);
  return done(p, e);
}

AstExpr *ast_call(Parser *p, Span at, AstExpr *callee, ArgVec args) {
  ast_check_args(p, &args);
  AstExpr *e = node(p, at, AST_CALL);
  e->call.callee = callee;
  e->call.args = (AstArgs){args.data, args.len};
  above(e, callee);
  for (int i = 0; i < args.len; i++) above(e, args.data[i].value);
  return done(p, e);
}

AstExpr *ast_unary(Parser *p, Span at, AstUnaryOp op, AstExpr *operand) {
  AstExpr *e = node(p, at, AST_UNARY);
  e->unary.op = op;
  e->unary.operand = operand;
  above(e, operand);
  return done(p, e);
}

AstExpr *ast_binary(Parser *p, Span at, AstBinaryOp op, AstExpr *left, AstExpr *right) {
  AstExpr *e = node(p, at, AST_BINARY);
  e->binary.op = op;
  e->binary.left = left;
  e->binary.right = right;
  above(e, left);
  above(e, right);
  return done(p, e);
}

AstExpr *ast_compare(Parser *p, Span at, Chain chain) {
  AstExpr *e = node(p, at, AST_COMPARE);
  e->compare.operands = exprs(chain.operands);
  e->compare.ops = chain.ops.data;
  above_all(e, &e->compare.operands);
  return done(p, e);
}

AstExpr *ast_ternary(Parser *p, Span at, AstExpr *cond, AstExpr *then, AstExpr *otherwise) {
  AstExpr *e = node(p, at, AST_TERNARY);
  e->ternary.cond = cond;
  e->ternary.then = then;
  e->ternary.otherwise = otherwise;
  above(e, cond);
  above(e, then);
  above(e, otherwise);
  return done(p, e);
}

AstExpr *ast_lambda(Parser *p, Span at, ParamVec params, AstExpr *body) {
  AstExpr *e = node(p, at, AST_LAMBDA);
  e->lambda.params = ast_settle_params(p, params);
  e->lambda.body = body;
  for (int i = 0; i < e->lambda.params.len; i++) above(e, e->lambda.params.data[i].value);
  above(e, body);
  return done(p, e);
}

AstExpr *ast_walrus(Parser *p, Span at, AstName name, AstExpr *value) {
  AstExpr *e = node(p, at, AST_WALRUS);
  e->walrus.name = name;
  e->walrus.value = value;
  above(e, value);
  return done(p, e);
}

AstExpr *ast_comp(Parser *p, Span at, AstExprKind kind, AstExpr *key, AstExpr *element,
                  ClauseVec clauses) {
  if (kind != AST_DICT_COMP) ast_check_no_star(p, element);
  AstExpr *e = node(p, at, kind);
  e->comp.key = key;
  e->comp.element = element;
  e->comp.clauses = clauses.data;
  e->comp.nclauses = clauses.len;
  above(e, key);
  above(e, element);
  for (int i = 0; i < clauses.len; i++) {
    above(e, clauses.data[i].target);
    above(e, clauses.data[i].iter);
    above_all(e, &clauses.data[i].conditions);
  }
  return done(p, e);
}

AstExpr *ast_subscript(Parser *p, Span at, AstExpr *item) {
  if (item->kind != AST_STARRED) return item;
  ExprVec one = {0};
  vec_push(p->arena, &one, item);
  return ast_items(p, at, AST_TUPLE, one);
}

AstExpr *ast_parens(Parser *p, AstExpr *e) {
  ast_check_no_star(p, e);
  if (e->parens < UINT8_MAX) e->parens++;
  return e;
}

AstExpr *ast_group(Parser *p, Span at, WithVec items, bool commas) {
  ExprVec all = {0};
  const AstExpr *as = NULL;
  for (int i = 0; i < items.len; i++) {
    vec_push(p->arena, &all, items.data[i].context);
    if (!as) as = items.data[i].target;
  }
  if (!commas && !as) return ast_parens(p, all.data[0]);
  AstExpr *e = ast_items(p, at, AST_TUPLE, all);
  e->parens = 1;
  if (as) vec_push(p->arena, &p->as_lists, (AsList){e, items, as->span});
  return e;
}
