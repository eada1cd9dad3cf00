// Statement nodes: the constructors that the grammar's actions call.
// SPDX-License-Identifier: MIT
#include "parser/parser.h"

static AstStmt *node(Parser *p, Span at, AstStmtKind kind) {
  AstStmt *s = NEW(p->arena, AstStmt);
  s->kind = kind;
  s->depth = 1;
  s->span = at;
  return s;
}

static void above(AstStmt *s, int depth) {
  if (s->depth <= depth) s->depth = depth + 1;
}

static void above_expr(AstStmt *s, const AstExpr *e) {
  if (e) above(s, e->depth);
}

static void above_exprs(AstStmt *s, const AstExprs *v) {
  for (int i = 0; i < v->len; i++) above_expr(s, v->data[i]);
}

static void above_args(AstStmt *s, const AstArgs *args) {
  for (int i = 0; i < args->len; i++) above_expr(s, args->data[i].value);
}

// Also stretches the span to the block's end.
static void above_block(AstStmt *s, const AstBlock *b) {
  for (int i = 0; i < b->len; i++) above(s, b->data[i]->depth);
  if (b->len) s->span = span_join(s->span, b->data[b->len - 1]->span);
}

// A tree that got too deep is cut: nothing in tlc has to walk it.
static AstStmt *done(Parser *p, AstStmt *s) {
  return ast_too_deep(p, s->depth, s->span) ? node(p, s->span, AST_STMT_PASS) : s;
}

static AstExprs exprs(ExprVec v) { return (AstExprs){v.data, v.len}; }

AstBlock ast_block(StmtVec v) { return (AstBlock){v.data, v.len}; }

static Span through(Span from, StmtVec body) {
  return body.len ? span_join(from, body.data[body.len - 1]->span) : from;
}

/* Simple statements */

AstStmt *ast_simple(Parser *p, Span at, AstStmtKind kind) { return node(p, at, kind); }

AstStmt *ast_expr_stmt(Parser *p, Span at, AstStmtKind kind, AstExpr *e) {
  if (e) ast_check_no_star(p, e);
  AstStmt *s = node(p, at, kind);
  s->expr = e;
  above_expr(s, e);
  return done(p, s);
}

AstStmt *ast_assign(Parser *p, Span at, ExprVec targets, AstExpr *value) {
  for (int i = 0; i < targets.len; i++) ast_check_target(p, targets.data[i]);
  AstStmt *s = node(p, at, AST_STMT_ASSIGN);
  s->assign.targets = exprs(targets);
  s->assign.value = value;
  above_exprs(s, &s->assign.targets);
  above_expr(s, value);
  return done(p, s);
}

AstStmt *ast_aug(Parser *p, Span at, AstBinaryOp op, AstExpr *target, AstExpr *value) {
  ast_check_single_target(p, target, "an operator with '='");
  AstStmt *s = node(p, at, AST_STMT_AUG_ASSIGN);
  s->aug.op = op;
  s->aug.target = target;
  s->aug.value = value;
  above_expr(s, target);
  above_expr(s, value);
  return done(p, s);
}

AstStmt *ast_ann(Parser *p, Span at, AstExpr *target, AstExpr *annotation, AstExpr *value) {
  ast_check_single_target(p, target, "a type after ':'");
  AstStmt *s = node(p, at, AST_STMT_ANN_ASSIGN);
  s->ann.target = target;
  s->ann.annotation = annotation;
  s->ann.value = value;
  above_expr(s, target);
  above_expr(s, annotation);
  above_expr(s, value);
  return done(p, s);
}

AstStmt *ast_del(Parser *p, Span at, ExprVec targets) {
  for (int i = 0; i < targets.len; i++) ast_check_del(p, targets.data[i]);
  AstStmt *s = node(p, at, AST_STMT_DEL);
  s->del = exprs(targets);
  above_exprs(s, &s->del);
  return done(p, s);
}

AstStmt *ast_names(Parser *p, Span at, AstStmtKind kind, NameVec names) {
  AstStmt *s = node(p, at, kind);
  s->names = (AstNames){names.data, names.len};
  return s;
}

AstStmt *ast_import(Parser *p, Span at, AstStmtKind kind, int level, AstName module,
                    AliasVec names) {
  AstStmt *s = node(p, at, kind);
  s->import.module = module;
  s->import.level = level;
  s->import.names = names.data;
  s->import.nnames = names.len;
  return s;
}

AstStmt *ast_raise(Parser *p, Span at, AstExpr *value, AstExpr *cause) {
  AstStmt *s = node(p, at, AST_STMT_RAISE);
  s->raise.value = value;
  s->raise.cause = cause;
  above_expr(s, value);
  above_expr(s, cause);
  return done(p, s);
}

AstStmt *ast_assert(Parser *p, Span at, AstExpr *cond, AstExpr *message) {
  AstStmt *s = node(p, at, AST_STMT_ASSERT);
  s->assert_.cond = cond;
  s->assert_.message = message;
  above_expr(s, cond);
  above_expr(s, message);
  return done(p, s);
}

/* Compound statements: `at` is where they start */

AstStmt *ast_if(Parser *p, Span at, BranchVec branches, StmtVec orelse) {
  AstStmt *s = node(p, branches.data[0].cond->span, AST_STMT_IF);
  s->span.lo = at.lo;
  s->if_.branches = branches.data;
  s->if_.nbranches = branches.len;
  s->if_.orelse = ast_block(orelse);
  for (int i = 0; i < branches.len; i++) {
    above_expr(s, branches.data[i].cond);
    above_block(s, &branches.data[i].body);
  }
  above_block(s, &s->if_.orelse);
  return done(p, s);
}

AstStmt *ast_for(Parser *p, Span at, AstExpr *target, AstExpr *iter, StmtVec body,
                 StmtVec orelse) {
  ast_check_no_star(p, iter);
  AstStmt *s = node(p, at, AST_STMT_FOR);
  s->for_.target = target;
  s->for_.iter = iter;
  s->for_.body = ast_block(body);
  s->for_.orelse = ast_block(orelse);
  above_expr(s, target);
  above_expr(s, iter);
  above_block(s, &s->for_.body);
  above_block(s, &s->for_.orelse);
  return done(p, s);
}

AstStmt *ast_while(Parser *p, Span at, AstExpr *cond, StmtVec body, StmtVec orelse) {
  AstStmt *s = node(p, at, AST_STMT_WHILE);
  s->while_.cond = cond;
  s->while_.body = ast_block(body);
  s->while_.orelse = ast_block(orelse);
  above_expr(s, cond);
  above_block(s, &s->while_.body);
  above_block(s, &s->while_.orelse);
  return done(p, s);
}

static bool has_star(const AstExpr *tuple) {
  for (int i = 0; i < tuple->items.len; i++)
    if (tuple->items.data[i]->kind == AST_STARRED) return true;
  return false;
}

// `with (a, b):` and `with (a as x, b):` mean the items, not a tuple.
static WithVec in_parens(Parser *p, WithVec items) {
  if (items.len != 1 || items.data[0].target) return items;
  const AstExpr *e = items.data[0].context;
  for (int i = 0; i < p->as_lists.len; i++) {
    AsList *l = &p->as_lists.data[i];
    if (l->tuple != e || e->parens != 1) continue;
    l->tuple = NULL;
    return l->items;
  }
  if (e->kind != AST_TUPLE || e->parens != 1 || !e->items.len || has_star(e)) return items;
  WithVec each = {0};
  for (int i = 0; i < e->items.len; i++)
    vec_push(p->arena, &each, (AstWithItem){e->items.data[i], NULL});
  return each;
}

AstStmt *ast_with(Parser *p, Span at, WithVec items, StmtVec body) {
  items = in_parens(p, items);
  AstStmt *s = node(p, at, AST_STMT_WITH);
  s->with.items = items.data;
  s->with.nitems = items.len;
  s->with.body = ast_block(body);
  for (int i = 0; i < items.len; i++) {
    ast_check_no_star(p, items.data[i].context);
    above_expr(s, items.data[i].context);
    above_expr(s, items.data[i].target);
  }
  above_block(s, &s->with.body);
  return done(p, s);
}

AstStmt *ast_def(Parser *p, Span at, AstName name, ParamVec params, AstExpr *returns,
                 StmtVec body) {
  AstStmt *s = node(p, at, AST_STMT_DEF);
  s->def.name = name;
  s->def.params = ast_settle_params(p, params);
  s->def.returns = returns;
  s->def.body = ast_block(body);
  for (int i = 0; i < s->def.params.len; i++) {
    above_expr(s, s->def.params.data[i].annotation);
    above_expr(s, s->def.params.data[i].value);
  }
  above_expr(s, returns);
  above_block(s, &s->def.body);
  return done(p, s);
}

AstStmt *ast_class(Parser *p, Span at, AstName name, ArgVec bases, StmtVec body) {
  ast_check_args(p, &bases);
  AstStmt *s = node(p, at, AST_STMT_CLASS);
  s->class_.name = name;
  s->class_.bases = (AstArgs){bases.data, bases.len};
  s->class_.body = ast_block(body);
  above_args(s, &s->class_.bases);
  above_block(s, &s->class_.body);
  return done(p, s);
}

AstHandler ast_handler(Span at, AstExpr *type, const char *name, StmtVec body, bool star) {
  return (AstHandler){through(at, body), type, name, ast_block(body), star};
}

AstStmt *ast_try(Parser *p, Span at, StmtVec body, HandlerVec handlers, StmtVec orelse,
                 StmtVec finally) {
  AstStmt *s = node(p, at, AST_STMT_TRY);
  s->try_.body = ast_block(body);
  s->try_.handlers = handlers.data;
  s->try_.nhandlers = handlers.len;
  s->try_.orelse = ast_block(orelse);
  s->try_.finally = ast_block(finally);
  above_block(s, &s->try_.body);
  for (int i = 0; i < handlers.len; i++) {
    above_expr(s, handlers.data[i].type);
    above_block(s, &handlers.data[i].body);
  }
  above_block(s, &s->try_.orelse);
  above_block(s, &s->try_.finally);
  ast_check_handlers(p, s);
  return done(p, s);
}

AstCase ast_case(Span at, AstPattern *pattern, AstExpr *guard, StmtVec body) {
  return (AstCase){through(at, body), pattern, guard, ast_block(body)};
}

AstStmt *ast_match(Parser *p, Span at, AstExpr *subject, CaseVec cases) {
  AstStmt *s = node(p, at, AST_STMT_MATCH);
  s->match.subject = subject;
  s->match.cases = cases.data;
  s->match.ncases = cases.len;
  above_expr(s, subject);
  for (int i = 0; i < cases.len; i++) {
    above(s, cases.data[i].pattern->depth);
    above_expr(s, cases.data[i].guard);
    above_block(s, &cases.data[i].body);
  }
  return done(p, s);
}

void ast_decorate(Parser *p, AstStmt *s, ExprVec decorators) {
  AstExprs v = exprs(decorators);
  if (s->kind == AST_STMT_DEF) s->def.decorators = v;
  else if (s->kind == AST_STMT_CLASS) s->class_.decorators = v;
  above_exprs(s, &v);
  if (ast_too_deep(p, s->depth, s->span)) s->kind = AST_STMT_PASS;
}

void ast_make_async(AstStmt *s, Span at) {
  s->span.lo = at.lo;
  if (s->kind == AST_STMT_DEF) s->def.is_async = true;
  else if (s->kind == AST_STMT_FOR) s->for_.is_async = true;
  else if (s->kind == AST_STMT_WITH) s->with.is_async = true;
}
