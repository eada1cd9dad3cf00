// What the grammar's actions share with the C around them. Private to parser/.
// SPDX-License-Identifier: MIT
#ifndef TLC_PARSER_H
#define TLC_PARSER_H

#include "lexer/lex.h"
#include "parser/ast.h"

typedef VEC(AstExpr *) ExprVec;
typedef VEC(AstStmt *) StmtVec;
typedef VEC(AstPattern *) PatternVec;
typedef VEC(AstName) NameVec;
typedef VEC(AstEntry) EntryVec;
typedef VEC(AstArg) ArgVec;
typedef VEC(AstParam) ParamVec;
typedef VEC(AstClause) ClauseVec;
typedef VEC(AstFPart) FPartVec;
typedef VEC(AstBranch) BranchVec;
typedef VEC(AstWithItem) WithVec;
typedef VEC(AstAlias) AliasVec;
typedef VEC(AstHandler) HandlerVec;
typedef VEC(AstCase) CaseVec;

// a < b <= c on its way to a node
typedef struct {
  ExprVec operands;
  VEC(AstCompareOp) ops;
} Chain;

// One of several adjacent string literals.
typedef struct {
  TokenKind kind; // TOK_STR, TOK_BYTES, TOK_FSTR_BEGIN
  LexStr text;
  FPartVec parts;
  Span span;
} Piece;
typedef VEC(Piece) PieceVec;

// Keys and names go with items one by one.
typedef struct {
  PatternVec items;
  ExprVec keys;
  NameVec names;
  const char *rest; // **rest
} PatternList;

// A parenthesised list with `as` in it, which only a with statement can use.
typedef struct {
  const AstExpr *tuple;
  WithVec items;
  Span as; // of the first `as`
} AsList;

typedef struct {
  Arena *arena;
  Diags *diags;
  uint32_t file;
  Tokens tokens;
  int read, next; // indices of the token read last, and of the one to be read next
  StmtVec body;
  bool too_deep; // said once
  VEC(AsList) as_lists;
} Parser;

/* grammar.y */

int ast_grammar(Parser *p); // 0, unless it could not go on

/* parse.c */

// Bison's yylex; YYSTYPE is known where grammar.h is.
union YYSTYPE;
int ast_next_token(union YYSTYPE *value, Span *at, Parser *p);

/* build.c: nodes, each with its depth checked */

AstExpr *ast_leaf(Parser *p, Span at, AstExprKind kind);
AstExpr *ast_name(Parser *p, Span at, const char *name);
AstExpr *ast_number(Parser *p, Span at, AstExprKind kind, LexNum num);
AstExpr *ast_boolean(Parser *p, Span at, bool value);
AstExpr *ast_items(Parser *p, Span at, AstExprKind kind, ExprVec items);
AstExpr *ast_dict(Parser *p, Span at, EntryVec entries);
AstExpr *ast_operand(Parser *p, Span at, AstExprKind kind, AstExpr *operand);
AstExpr *ast_attr(Parser *p, Span at, AstExpr *value, AstName name);
AstExpr *ast_index(Parser *p, Span at, AstExpr *value, AstExpr *index);
AstExpr *ast_slice(Parser *p, Span at, AstExpr *lo, AstExpr *hi, AstExpr *step);
AstExpr *ast_call(Parser *p, Span at, AstExpr *callee, ArgVec args);
AstExpr *ast_unary(Parser *p, Span at, AstUnaryOp op, AstExpr *operand);
AstExpr *ast_binary(Parser *p, Span at, AstBinaryOp op, AstExpr *left, AstExpr *right);
AstExpr *ast_compare(Parser *p, Span at, Chain chain);
AstExpr *ast_ternary(Parser *p, Span at, AstExpr *cond, AstExpr *then, AstExpr *otherwise);
AstExpr *ast_lambda(Parser *p, Span at, ParamVec params, AstExpr *body);
AstExpr *ast_walrus(Parser *p, Span at, AstName name, AstExpr *value);
AstExpr *ast_comp(Parser *p, Span at, AstExprKind kind, AstExpr *key, AstExpr *element,
                  ClauseVec clauses);
AstExpr *ast_subscript(Parser *p, Span at, AstExpr *item); // what stands alone in x[...]
// ( ... ): a tuple when there were commas. With an `as` in it, it waits for ast_with.
AstExpr *ast_group(Parser *p, Span at, WithVec items, bool commas);
AstExpr *ast_parens(Parser *p, AstExpr *e);
// Reports a tree that got too deep, once. True when it did.
bool ast_too_deep(Parser *p, int depth, Span at);

/* strings.c */

AstExpr *ast_strings(Parser *p, PieceVec pieces); // adjacent literals
void ast_fstring_text(Parser *p, FPartVec *parts, LexStr text, Span at);
void ast_field(Parser *p, FPartVec *parts, Span at, AstExpr *value, LexStr debug, LexStr conversion,
               AstExpr *spec);
AstExpr *ast_spec(Parser *p, Span at, FPartVec parts);

/* rules.c: what the grammar takes and Python does not */

void ast_check_target(Parser *p, const AstExpr *e);
void ast_check_del(Parser *p, const AstExpr *e);
// `what` needs a name, an attribute or a subscript in front of it.
void ast_check_single_target(Parser *p, const AstExpr *e, const char *what);
void ast_check_no_star(Parser *p, const AstExpr *e);
void ast_check_args(Parser *p, const ArgVec *args);
void ast_check_handlers(Parser *p, const AstStmt *s); // of a try
// Gives every parameter its kind. Bare `*` and `/` come as STAR and POSITIONAL_ONLY without a name,
// and are dropped.
AstParams ast_settle_params(Parser *p, ParamVec params);
// Statements that stand where they mean nothing: return, break, continue.
void ast_check_places(Parser *p, AstBlock body);

/* statements.c */

AstStmt *ast_simple(Parser *p, Span at, AstStmtKind kind);
AstStmt *ast_expr_stmt(Parser *p, Span at, AstStmtKind kind, AstExpr *e);
AstStmt *ast_assign(Parser *p, Span at, ExprVec targets, AstExpr *value);
AstStmt *ast_aug(Parser *p, Span at, AstBinaryOp op, AstExpr *target, AstExpr *value);
AstStmt *ast_ann(Parser *p, Span at, AstExpr *target, AstExpr *annotation, AstExpr *value);
AstStmt *ast_del(Parser *p, Span at, ExprVec targets);
AstStmt *ast_names(Parser *p, Span at, AstStmtKind kind, NameVec names);
AstStmt *ast_import(Parser *p, Span at, AstStmtKind kind, int level, AstName module,
                    AliasVec names);
AstStmt *ast_raise(Parser *p, Span at, AstExpr *value, AstExpr *cause);
AstStmt *ast_assert(Parser *p, Span at, AstExpr *cond, AstExpr *message);
AstStmt *ast_if(Parser *p, Span at, BranchVec branches, StmtVec orelse);
AstStmt *ast_for(Parser *p, Span at, AstExpr *target, AstExpr *iter, StmtVec body, StmtVec orelse);
AstStmt *ast_while(Parser *p, Span at, AstExpr *cond, StmtVec body, StmtVec orelse);
AstStmt *ast_with(Parser *p, Span at, WithVec items, StmtVec body);
AstStmt *ast_def(Parser *p, Span at, AstName name, ParamVec params, AstExpr *returns, StmtVec body);
AstStmt *ast_class(Parser *p, Span at, AstName name, ArgVec bases, StmtVec body);
AstStmt *ast_try(Parser *p, Span at, StmtVec body, HandlerVec handlers, StmtVec orelse,
                 StmtVec finally);
AstStmt *ast_match(Parser *p, Span at, AstExpr *subject, CaseVec cases);
void ast_decorate(Parser *p, AstStmt *s, ExprVec decorators);
void ast_make_async(AstStmt *s, Span at);
AstHandler ast_handler(Span at, AstExpr *type, const char *name, StmtVec body, bool star);
AstCase ast_case(Span at, AstPattern *pattern, AstExpr *guard, StmtVec body);
AstBlock ast_block(StmtVec v);

/* patterns.c */

AstPattern *ast_pattern(Parser *p, Span at, AstPatternKind kind, const char *name, AstExpr *value);
AstPattern *ast_pattern_list(Parser *p, Span at, AstPatternKind kind, AstExpr *value,
                             PatternList list);

/* report.c */

// The next token cannot stand where it does; `expected` names what could (grammar symbols).
void ast_syntax_error(Parser *p, const char *const *expected, int n);

#endif
