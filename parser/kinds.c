// Spellings of operators, and the names of kinds in dumps.
// SPDX-License-Identifier: MIT
#include "parser/ast.h"

#define X(name, text) text,
static const char *const unary_texts[] = {AST_UNARY_OPS(X)};
static const char *const binary_texts[] = {AST_BINARY_OPS(X)};
static const char *const compare_texts[] = {AST_COMPARE_OPS(X)};
static const char *const expr_names[] = {AST_EXPR_KINDS(X)};
static const char *const stmt_names[] = {AST_STMT_KINDS(X)};
#undef X

const char *ast_unary_text(AstUnaryOp op) { return unary_texts[op]; }
const char *ast_binary_text(AstBinaryOp op) { return binary_texts[op]; }
const char *ast_compare_text(AstCompareOp op) { return compare_texts[op]; }
const char *ast_expr_name(AstExprKind kind) { return expr_names[kind]; }
const char *ast_stmt_name(AstStmtKind kind) { return stmt_names[kind]; }
