/* Python's grammar (3.11, "10. Full Grammar specification") for LALR(1). Actions only build.
   What it takes too much, rules.c refuses: targets, starred places, argument and parameter order.
   SPDX-License-Identifier: MIT */
%require "3.8"
%define api.pure full
%define api.value.type union
%define api.location.type {Span}
%define api.token.prefix {T_}
%define parse.error custom
%define parse.lac full
%expect 0
%param {Parser *p}

%code requires {
#include "parser/parser.h"
}

%code {
#define yylex ast_next_token
#define YYLLOC_DEFAULT(to, rhs, n)                                                                 \
  do {                                                                                             \
    int from_ = 1; /* what is absent in front does not count */                                    \
    while (from_ < (n) && YYRHSLOC(rhs, from_).lo == YYRHSLOC(rhs, from_).hi) from_++;             \
    if (n) (to) = span_join(YYRHSLOC(rhs, from_), YYRHSLOC(rhs, n));                               \
    else (to) = (Span){YYRHSLOC(rhs, 0).file, YYRHSLOC(rhs, 0).hi, YYRHSLOC(rhs, 0).hi};           \
  } while (0)
#define PUSH(v, ...) vec_push(p->arena, &(v), __VA_ARGS__)

// The only thing left to say this way is that memory, that is the parser's stack, is exhausted.
static void yyerror(const Span *at, Parser *p, const char *text) {
  ast_too_deep(p, AST_MAX_DEPTH + 1, *at);
}
}

/* A name with a space in it describes the token, one without is what is written. */
%token END 0 "end of file"
%token NEWLINE "end of line" INDENT "an indented block" DEDENT "end of the block"
%token <const char *> NAME "a name"
%token <LexNum> INT "a number" FLOAT "a float" IMAG "an imaginary number"
%token <LexStr> STR "a string" BYTES "a bytes string"
%token FSTR_BEGIN "an f-string" FSTR_END "end of the f-string"
%token <LexStr> FSTR_TEXT "f-string text" FIELD_EQ "field =" FIELD_CONV "field conversion"
%token FIELD_BEGIN "field {" FIELD_SPEC "field :" FIELD_END "field }"
%token AND "and" AS "as" ASSERT "assert" ASYNC "async" AWAIT "await" BREAK "break" CLASS "class"
%token CONTINUE "continue" DEF "def" DEL "del" ELIF "elif" ELSE "else" EXCEPT "except"
%token FALSE "False" FINALLY "finally" FOR "for" FROM "from" GLOBAL "global" IF "if"
%token IMPORT "import" IN "in" IS "is" LAMBDA "lambda" NONE "None" NONLOCAL "nonlocal" NOT "not"
%token OR "or" PASS "pass" RAISE "raise" RETURN "return" TRUE "True" TRY "try" WHILE "while"
%token WITH "with" YIELD "yield" MATCH "match" CASE "case"
%token LPAREN "(" RPAREN ")" LBRACKET "[" RBRACKET "]" LBRACE "{" RBRACE "}"
%token COMMA "," COLON ":" SEMI ";" DOT "." DOTS "..." ARROW "->" AT "@" ASSIGN "=" WALRUS ":="
%token PLUS "+" MINUS "-" STAR "*" SLASH "/" FLOORDIV "//" PERCENT "%" POW "**" SHL "<<" SHR ">>"
%token AMP "&" CARET "^" BAR "|" TILDE "~" EQ "==" NE "!=" LT "<" LE "<=" GT ">" GE ">="
%token PLUS_EQ "+=" MINUS_EQ "-=" STAR_EQ "*=" SLASH_EQ "/=" FLOORDIV_EQ "//=" PERCENT_EQ "%="
%token AT_EQ "@=" AMP_EQ "&=" BAR_EQ "|=" CARET_EQ "^=" SHL_EQ "<<=" SHR_EQ ">>=" POW_EQ "**="

%left "|"
%left "^"
%left "&"
%left "<<" ">>"
%left "+" "-"
%left "*" "/" "//" "%" "@"

%nterm <StmtVec> stmts line small_stmts block else_opt finally_opt
%nterm <AstStmt *> small compound if_stmt for_stmt while_stmt with_stmt def_stmt class_stmt try_stmt
%nterm <AstStmt *> match_stmt import_stmt decoratable async_stmt
%nterm <AstExpr *> test named or_test and_test not_test comparison expr factor power awaited primary
%nterm <AstExpr *> atom parens brackets braces yield star_elem named_elem target_elem star_tests
%nterm <AstExpr *> targets subscript subscripts right test_opt spec_opt field_value pattern_key
%nterm <AstExpr *> annotation_opt returns_opt signed_number guard_opt subject dotted_expr literal
%nterm <ExprVec> or_chain and_chain star_commas named_list named_commas target_commas target_list
%nterm <ExprVec> subscript_commas decorators assign_left conditions star_many named_many
%nterm <ExprVec> target_many subscript_many
%nterm <Chain> compare_chain
%nterm <AstCompareOp> compare_op
%nterm <AstBinaryOp> aug_op
%nterm <EntryVec> entries
%nterm <AstEntry> entry
%nterm <ArgVec> args arg_list bases_opt
%nterm <AstArg> arg
%nterm <ParamVec> params param_list lambda_params lambda_param_list
%nterm <AstParam> param lambda_param
%nterm <ClauseVec> comp_for
%nterm <AstClause> comp_clause
%nterm <PieceVec> strings
%nterm <Piece> string
%nterm <FPartVec> fparts
%nterm <LexStr> field_eq_opt field_conv_opt
%nterm <BranchVec> branches
%nterm <WithVec> with_items as_elems as_commas
%nterm <AstWithItem> with_item as_elem
%nterm <NameVec> name_list
%nterm <AstName> name dotted module_opt
%nterm <int> dots
%nterm <AliasVec> import_names from_names from_list
%nterm <AstAlias> import_name from_name
%nterm <HandlerVec> handlers
%nterm <AstHandler> handler
%nterm <CaseVec> cases
%nterm <AstCase> case
%nterm <AstPattern *> pattern patterns or_pattern closed_pattern pattern_elem
%nterm <PatternList> pattern_commas pattern_many or_patterns pattern_list mapping_items
%nterm <PatternList> mapping_list class_args class_arg_list

%%

file: stmts "end of file" { p->body = $1; };

/* Statements */

stmts:
  %empty         { $$ = (StmtVec){0}; }
| stmts line     { $$ = $1; for (int i = 0; i < $2.len; i++) PUSH($$, $2.data[i]); }
| stmts compound { $$ = $1; PUSH($$, $2); }
| stmts wrong    { $$ = $1; }
;
// One bad line, with the block it may have opened and the clauses that may follow.
wrong:
  error "end of line"                                             { yyerrok; }
| error "end of line" "an indented block" stmts "end of the block" { yyerrok; }
| wrong "elif" named ":" block
| wrong "else" ":" block
| wrong "finally" ":" block
| wrong handler
| wrong "case" patterns guard_opt ":" block
;
line: small_stmts "end of line" { $$ = $1; } | small_stmts ";" "end of line" { $$ = $1; };
small_stmts:
  small                 { $$ = (StmtVec){0}; PUSH($$, $1); }
| small_stmts ";" small { $$ = $1; PUSH($$, $3); }
;
block: line { $$ = $1; } | "end of line" "an indented block" stmts "end of the block" { $$ = $3; };

small:
  star_tests                       { $$ = ast_expr_stmt(p, @$, AST_STMT_EXPR, $1); }
| yield                            { $$ = ast_expr_stmt(p, @$, AST_STMT_EXPR, $1); }
| assign_left right                { $$ = ast_assign(p, @$, $1, $2); }
| star_tests aug_op right          { $$ = ast_aug(p, @$, $2, $1, $3); }
| star_tests ":" test              { $$ = ast_ann(p, @$, $1, $3, NULL); }
| star_tests ":" test "=" right    { $$ = ast_ann(p, @$, $1, $3, $5); }
| "pass"                           { $$ = ast_simple(p, @$, AST_STMT_PASS); }
| "break"                          { $$ = ast_simple(p, @$, AST_STMT_BREAK); }
| "continue"                       { $$ = ast_simple(p, @$, AST_STMT_CONTINUE); }
| "return"                         { $$ = ast_expr_stmt(p, @$, AST_STMT_RETURN, NULL); }
| "return" star_tests              { $$ = ast_expr_stmt(p, @$, AST_STMT_RETURN, $2); }
| "raise"                          { $$ = ast_raise(p, @$, NULL, NULL); }
| "raise" test                     { $$ = ast_raise(p, @$, $2, NULL); }
| "raise" test "from" test         { $$ = ast_raise(p, @$, $2, $4); }
| "assert" test                    { $$ = ast_assert(p, @$, $2, NULL); }
| "assert" test "," test           { $$ = ast_assert(p, @$, $2, $4); }
| "del" target_list                { $$ = ast_del(p, @$, $2); }
| "global" name_list               { $$ = ast_names(p, @$, AST_STMT_GLOBAL, $2); }
| "nonlocal" name_list             { $$ = ast_names(p, @$, AST_STMT_NONLOCAL, $2); }
| import_stmt
;
assign_left:
  star_tests "="             { $$ = (ExprVec){0}; PUSH($$, $1); }
| assign_left star_tests "=" { $$ = $1; PUSH($$, $2); }
;
right: star_tests { $$ = $1; ast_check_no_star(p, $1); } | yield;
aug_op:
  "+=" { $$ = AST_OP_ADD; } | "-=" { $$ = AST_OP_SUB; } | "*=" { $$ = AST_OP_MUL; }
| "/=" { $$ = AST_OP_DIV; } | "//=" { $$ = AST_OP_FLOORDIV; } | "%=" { $$ = AST_OP_MOD; }
| "@=" { $$ = AST_OP_MATMUL; } | "&=" { $$ = AST_OP_BITAND; } | "|=" { $$ = AST_OP_BITOR; }
| "^=" { $$ = AST_OP_BITXOR; } | "<<=" { $$ = AST_OP_SHL; } | ">>=" { $$ = AST_OP_SHR; }
| "**=" { $$ = AST_OP_POW; }
;
yield:
  "yield"             { $$ = ast_operand(p, @$, AST_YIELD, NULL); }
| "yield" star_tests  { $$ = ast_operand(p, @$, AST_YIELD, $2); }
| "yield" "from" test { $$ = ast_operand(p, @$, AST_YIELD_FROM, $3); }
;
name: NAME { $$ = (AstName){$1, @$}; };
name_list:
  name               { $$ = (NameVec){0}; PUSH($$, $1); }
| name_list "," name { $$ = $1; PUSH($$, $3); }
;

import_stmt:
  "import" import_names
  { $$ = ast_import(p, @$, AST_STMT_IMPORT, 0, (AstName){"", NO_SPAN}, $2); }
| "from" dotted "import" from_names
  { $$ = ast_import(p, @$, AST_STMT_FROM_IMPORT, 0, $2, $4); }
| "from" dots module_opt "import" from_names
  { $$ = ast_import(p, @$, AST_STMT_FROM_IMPORT, $2, $3, $5); }
;
dots:
  "." { $$ = 1; } | "..." { $$ = 3; } | dots "." { $$ = $1 + 1; } | dots "..." { $$ = $1 + 3; }
;
module_opt: %empty { $$ = (AstName){"", @$}; } | dotted;
dotted:
  name
| dotted "." NAME { $$ = (AstName){arena_printf(p->arena, "%s.%s", $1.text, $3), @$}; }
;
import_names:
  import_name                  { $$ = (AliasVec){0}; PUSH($$, $1); }
| import_names "," import_name { $$ = $1; PUSH($$, $3); }
;
import_name:
  dotted           { $$ = (AstAlias){@$, $1.text, NULL}; }
| dotted "as" NAME { $$ = (AstAlias){@$, $1.text, $3}; }
;
from_names:
  "*"                    { $$ = (AliasVec){0}; PUSH($$, (AstAlias){@1, "*", NULL}); }
| from_list
| "(" from_list ")"      { $$ = $2; }
| "(" from_list "," ")"  { $$ = $2; }
;
from_list:
  from_name               { $$ = (AliasVec){0}; PUSH($$, $1); }
| from_list "," from_name { $$ = $1; PUSH($$, $3); }
;
from_name:
  NAME           { $$ = (AstAlias){@$, $1, NULL}; }
| NAME "as" NAME { $$ = (AstAlias){@$, $1, $3}; }
;

compound:
  if_stmt | for_stmt | while_stmt | with_stmt | try_stmt | match_stmt | decoratable | async_stmt
| decorators decoratable { $$ = $2; ast_decorate(p, $$, $1); }
| decorators "async" def_stmt { $$ = $3; ast_decorate(p, $$, $1); ast_make_async($$, @2); }
;
decoratable: def_stmt | class_stmt;
async_stmt:
  "async" def_stmt  { $$ = $2; ast_make_async($$, @1); }
| "async" for_stmt  { $$ = $2; ast_make_async($$, @1); }
| "async" with_stmt { $$ = $2; ast_make_async($$, @1); }
;
decorators:
  "@" named "end of line"            { $$ = (ExprVec){0}; PUSH($$, $2); }
| decorators "@" named "end of line" { $$ = $1; PUSH($$, $3); }
;
if_stmt: branches else_opt { $$ = ast_if(p, @$, $1, $2); };
branches:
  "if" named ":" block            { $$ = (BranchVec){0}; PUSH($$, (AstBranch){$2, ast_block($4)}); }
| branches "elif" named ":" block { $$ = $1; PUSH($$, (AstBranch){$3, ast_block($5)}); }
;
else_opt: %empty { $$ = (StmtVec){0}; } | "else" ":" block { $$ = $3; };
while_stmt: "while" named ":" block else_opt { $$ = ast_while(p, @1, $2, $4, $5); };
for_stmt: "for" targets "in" star_tests ":" block else_opt { $$ = ast_for(p, @1, $2, $4, $6, $7); };
with_stmt: "with" with_items ":" block { $$ = ast_with(p, @1, $2, $4); };
with_items:
  with_item                { $$ = (WithVec){0}; PUSH($$, $1); }
| with_items "," with_item { $$ = $1; PUSH($$, $3); }
;
with_item:
  test              { $$ = (AstWithItem){$1, NULL}; }
| test "as" primary { $$ = (AstWithItem){$1, $3}; ast_check_target(p, $3); }
;
def_stmt: "def" name "(" params ")" returns_opt ":" block { $$ = ast_def(p, @1, $2, $4, $6, $8); };
returns_opt: %empty { $$ = NULL; } | "->" test { $$ = $2; };
class_stmt: "class" name bases_opt ":" block { $$ = ast_class(p, @1, $2, $3, $5); };
bases_opt: %empty { $$ = (ArgVec){0}; } | "(" args ")" { $$ = $2; };
try_stmt:
  "try" ":" block handlers else_opt finally_opt { $$ = ast_try(p, @1, $3, $4, $5, $6); }
| "try" ":" block "finally" ":" block
  { $$ = ast_try(p, @1, $3, (HandlerVec){0}, (StmtVec){0}, $6); }
;
finally_opt: %empty { $$ = (StmtVec){0}; } | "finally" ":" block { $$ = $3; };
handlers:
  handler          { $$ = (HandlerVec){0}; PUSH($$, $1); }
| handlers handler { $$ = $1; PUSH($$, $2); }
;
handler:
  "except" ":" block                      { $$ = ast_handler(@1, NULL, NULL, $3, false); }
| "except" test ":" block                 { $$ = ast_handler(@1, $2, NULL, $4, false); }
| "except" test "as" NAME ":" block       { $$ = ast_handler(@1, $2, $4, $6, false); }
| "except" "*" test ":" block             { $$ = ast_handler(@1, $3, NULL, $5, true); }
| "except" "*" test "as" NAME ":" block   { $$ = ast_handler(@1, $3, $5, $7, true); }
;

params: %empty { $$ = (ParamVec){0}; } | param_list | param_list "," { $$ = $1; };
param_list:
  param                { $$ = (ParamVec){0}; PUSH($$, $1); }
| param_list "," param { $$ = $1; PUSH($$, $3); }
;
param:
  name annotation_opt { $$ = (AstParam){AST_PARAM_NORMAL, @$, $1.span, $1.text, $2, NULL}; }
| name annotation_opt "=" test { $$ = (AstParam){AST_PARAM_NORMAL, @$, $1.span, $1.text, $2, $4}; }
| "*" { $$ = (AstParam){AST_PARAM_STAR, @$, @$, NULL, NULL, NULL}; }
| "*" name annotation_opt { $$ = (AstParam){AST_PARAM_STAR, @$, $2.span, $2.text, $3, NULL}; }
| "*" name ":" "*" expr
  { $$ = (AstParam){AST_PARAM_STAR, @$, $2.span, $2.text,
                    ast_operand(p, span_join(@4, @5), AST_STARRED, $5), NULL}; }
| "**" name annotation_opt
  { $$ = (AstParam){AST_PARAM_DOUBLE_STAR, @$, $2.span, $2.text, $3, NULL}; }
| "/" { $$ = (AstParam){AST_PARAM_POSITIONAL_ONLY, @$, @$, NULL, NULL, NULL}; }
;
annotation_opt: %empty { $$ = NULL; } | ":" test { $$ = $2; };
lambda_params:
  %empty { $$ = (ParamVec){0}; } | lambda_param_list | lambda_param_list "," { $$ = $1; }
;
lambda_param_list:
  lambda_param                       { $$ = (ParamVec){0}; PUSH($$, $1); }
| lambda_param_list "," lambda_param { $$ = $1; PUSH($$, $3); }
;
lambda_param:
  name          { $$ = (AstParam){AST_PARAM_NORMAL, @$, $1.span, $1.text, NULL, NULL}; }
| name "=" test { $$ = (AstParam){AST_PARAM_NORMAL, @$, $1.span, $1.text, NULL, $3}; }
| "*"           { $$ = (AstParam){AST_PARAM_STAR, @$, @$, NULL, NULL, NULL}; }
| "*" name      { $$ = (AstParam){AST_PARAM_STAR, @$, $2.span, $2.text, NULL, NULL}; }
| "**" name     { $$ = (AstParam){AST_PARAM_DOUBLE_STAR, @$, $2.span, $2.text, NULL, NULL}; }
| "/"           { $$ = (AstParam){AST_PARAM_POSITIONAL_ONLY, @$, @$, NULL, NULL, NULL}; }
;

/* Lists of expressions, with and without commas */

star_elem: test | "*" expr { $$ = ast_operand(p, @$, AST_STARRED, $2); };
star_commas:
  star_elem ","             { $$ = (ExprVec){0}; PUSH($$, $1); }
| star_commas star_elem "," { $$ = $1; PUSH($$, $2); }
;
star_many: star_commas | star_commas star_elem { $$ = $1; PUSH($$, $2); };
star_tests: star_elem | star_many { $$ = ast_items(p, @$, AST_TUPLE, $1); };
named_elem: named | "*" expr { $$ = ast_operand(p, @$, AST_STARRED, $2); };
named_commas:
  named_elem ","              { $$ = (ExprVec){0}; PUSH($$, $1); }
| named_commas named_elem "," { $$ = $1; PUSH($$, $2); }
;
named_many: named_commas | named_commas named_elem { $$ = $1; PUSH($$, $2); };
named_list: named_elem { $$ = (ExprVec){0}; PUSH($$, $1); } | named_many;
target_elem: expr | "*" expr { $$ = ast_operand(p, @$, AST_STARRED, $2); };
target_commas:
  target_elem ","               { $$ = (ExprVec){0}; PUSH($$, $1); }
| target_commas target_elem "," { $$ = $1; PUSH($$, $2); }
;
target_many: target_commas | target_commas target_elem { $$ = $1; PUSH($$, $2); };
target_list: target_elem { $$ = (ExprVec){0}; PUSH($$, $1); } | target_many;
targets:
  target_elem { $$ = $1; ast_check_target(p, $$); }
| target_many { $$ = ast_items(p, @$, AST_TUPLE, $1); ast_check_target(p, $$); }
;

/* Expressions, loosest first */

named: test | name ":=" test { $$ = ast_walrus(p, @$, $1, $3); };
test:
  or_test
| or_test "if" or_test "else" test   { $$ = ast_ternary(p, @$, $3, $1, $5); }
| "lambda" lambda_params ":" test { $$ = ast_lambda(p, @$, $2, $4); }
;
test_opt: %empty { $$ = NULL; } | test;
or_test: and_test | or_chain { $$ = ast_items(p, @$, AST_OR, $1); };
or_chain:
  and_test "or" and_test { $$ = (ExprVec){0}; PUSH($$, $1); PUSH($$, $3); }
| or_chain "or" and_test { $$ = $1; PUSH($$, $3); }
;
and_test: not_test | and_chain { $$ = ast_items(p, @$, AST_AND, $1); };
and_chain:
  not_test "and" not_test  { $$ = (ExprVec){0}; PUSH($$, $1); PUSH($$, $3); }
| and_chain "and" not_test { $$ = $1; PUSH($$, $3); }
;
not_test: comparison | "not" not_test { $$ = ast_unary(p, @$, AST_OP_NOT, $2); };
comparison: expr | compare_chain { $$ = ast_compare(p, @$, $1); };
compare_chain:
  expr compare_op expr
  { $$ = (Chain){0}; PUSH($$.operands, $1); PUSH($$.ops, $2); PUSH($$.operands, $3); }
| compare_chain compare_op expr { $$ = $1; PUSH($$.ops, $2); PUSH($$.operands, $3); }
;
compare_op:
  "==" { $$ = AST_OP_EQ; } | "!=" { $$ = AST_OP_NE; } | "<" { $$ = AST_OP_LT; }
| "<=" { $$ = AST_OP_LE; } | ">" { $$ = AST_OP_GT; } | ">=" { $$ = AST_OP_GE; }
| "in" { $$ = AST_OP_IN; } | "not" "in" { $$ = AST_OP_NOT_IN; }
| "is" { $$ = AST_OP_IS; } | "is" "not" { $$ = AST_OP_IS_NOT; }
;
expr:
  factor
| expr "|" expr  { $$ = ast_binary(p, @$, AST_OP_BITOR, $1, $3); }
| expr "^" expr  { $$ = ast_binary(p, @$, AST_OP_BITXOR, $1, $3); }
| expr "&" expr  { $$ = ast_binary(p, @$, AST_OP_BITAND, $1, $3); }
| expr "<<" expr { $$ = ast_binary(p, @$, AST_OP_SHL, $1, $3); }
| expr ">>" expr { $$ = ast_binary(p, @$, AST_OP_SHR, $1, $3); }
| expr "+" expr  { $$ = ast_binary(p, @$, AST_OP_ADD, $1, $3); }
| expr "-" expr  { $$ = ast_binary(p, @$, AST_OP_SUB, $1, $3); }
| expr "*" expr  { $$ = ast_binary(p, @$, AST_OP_MUL, $1, $3); }
| expr "/" expr  { $$ = ast_binary(p, @$, AST_OP_DIV, $1, $3); }
| expr "//" expr { $$ = ast_binary(p, @$, AST_OP_FLOORDIV, $1, $3); }
| expr "%" expr  { $$ = ast_binary(p, @$, AST_OP_MOD, $1, $3); }
| expr "@" expr  { $$ = ast_binary(p, @$, AST_OP_MATMUL, $1, $3); }
;
factor:
  power
| "+" factor { $$ = ast_unary(p, @$, AST_OP_POS, $2); }
| "-" factor { $$ = ast_unary(p, @$, AST_OP_NEG, $2); }
| "~" factor { $$ = ast_unary(p, @$, AST_OP_INVERT, $2); }
;
power: awaited | awaited "**" factor { $$ = ast_binary(p, @$, AST_OP_POW, $1, $3); };
awaited: primary | "await" primary { $$ = ast_operand(p, @$, AST_AWAIT, $2); };
primary:
  atom
| primary "." name           { $$ = ast_attr(p, @$, $1, $3); }
| primary "(" args ")"       { $$ = ast_call(p, @$, $1, $3); }
| primary "[" subscripts "]" { $$ = ast_index(p, @$, $1, $3); }
;
atom:
  NAME    { $$ = ast_name(p, @$, $1); }
| INT     { $$ = ast_number(p, @$, AST_INT, $1); }
| FLOAT   { $$ = ast_number(p, @$, AST_FLOAT, $1); }
| IMAG    { $$ = ast_number(p, @$, AST_IMAG, $1); }
| strings { $$ = ast_strings(p, $1); }
| "True"  { $$ = ast_boolean(p, @$, true); }
| "False" { $$ = ast_boolean(p, @$, false); }
| "None"  { $$ = ast_leaf(p, @$, AST_NONE); }
| "..."   { $$ = ast_leaf(p, @$, AST_ELLIPSIS); }
| parens | brackets | braces
;
parens:
  "(" ")"               { $$ = ast_items(p, @$, AST_TUPLE, (ExprVec){0}); $$->parens = 1; }
| "(" yield ")"         { $$ = ast_parens(p, $2); }
| "(" as_elem ")"       { WithVec v = {0}; PUSH(v, $2); $$ = ast_group(p, @$, v, false); }
| "(" as_elems ")"      { $$ = ast_group(p, @$, $2, true); }
| "(" named comp_for ")"
  { $$ = ast_comp(p, @$, AST_GENERATOR, NULL, $2, $3); $$->parens = 1; }
;
// The items of a with statement in parentheses look like any list but for their `as`.
as_elem:
  named_elem        { $$ = (AstWithItem){$1, NULL}; }
| test "as" primary { $$ = (AstWithItem){$1, $3}; ast_check_target(p, $3); }
;
as_commas:
  as_elem ","           { $$ = (WithVec){0}; PUSH($$, $1); }
| as_commas as_elem "," { $$ = $1; PUSH($$, $2); }
;
as_elems: as_commas | as_commas as_elem { $$ = $1; PUSH($$, $2); };
brackets:
  "[" "]"                { $$ = ast_items(p, @$, AST_LIST, (ExprVec){0}); }
| "[" named_list "]"     { $$ = ast_items(p, @$, AST_LIST, $2); }
| "[" named comp_for "]" { $$ = ast_comp(p, @$, AST_LIST_COMP, NULL, $2, $3); }
;
braces:
  "{" "}"                { $$ = ast_dict(p, @$, (EntryVec){0}); }
| "{" named_list "}"     { $$ = ast_items(p, @$, AST_SET, $2); }
| "{" named comp_for "}" { $$ = ast_comp(p, @$, AST_SET_COMP, NULL, $2, $3); }
| "{" entries "}"        { $$ = ast_dict(p, @$, $2); }
| "{" entries "," "}"    { $$ = ast_dict(p, @$, $2); }
| "{" test ":" test comp_for "}" { $$ = ast_comp(p, @$, AST_DICT_COMP, $2, $4, $5); }
;
entries: entry { $$ = (EntryVec){0}; PUSH($$, $1); } | entries "," entry { $$ = $1; PUSH($$, $3); };
entry: test ":" test { $$ = (AstEntry){$1, $3}; } | "**" expr { $$ = (AstEntry){NULL, $2}; };
comp_for:
  comp_clause          { $$ = (ClauseVec){0}; PUSH($$, $1); }
| comp_for comp_clause { $$ = $1; PUSH($$, $2); }
;
comp_clause:
  "for" targets "in" or_test conditions
  { $$ = (AstClause){$2, $4, {$5.data, $5.len}, false}; }
| "async" "for" targets "in" or_test conditions
  { $$ = (AstClause){$3, $5, {$6.data, $6.len}, true}; }
;
conditions: %empty { $$ = (ExprVec){0}; } | conditions "if" or_test { $$ = $1; PUSH($$, $3); };
subscript_many: subscript_commas | subscript_commas subscript { $$ = $1; PUSH($$, $2); };
subscripts:
  subscript      { $$ = ast_subscript(p, @$, $1); }
| subscript_many { $$ = ast_items(p, @$, AST_TUPLE, $1); }
;
subscript_commas:
  subscript ","                  { $$ = (ExprVec){0}; PUSH($$, $1); }
| subscript_commas subscript "," { $$ = $1; PUSH($$, $2); }
;
subscript:
  named_elem
| test_opt ":" test_opt              { $$ = ast_slice(p, @$, $1, $3, NULL); }
| test_opt ":" test_opt ":" test_opt { $$ = ast_slice(p, @$, $1, $3, $5); }
;
args: %empty { $$ = (ArgVec){0}; } | arg_list | arg_list "," { $$ = $1; };
arg_list: arg { $$ = (ArgVec){0}; PUSH($$, $1); } | arg_list "," arg { $$ = $1; PUSH($$, $3); };
arg:
  named           { $$ = (AstArg){AST_ARG_POSITIONAL, @$, NO_SPAN, NULL, $1}; }
| named comp_for
  { $$ = (AstArg){AST_ARG_POSITIONAL, @$, NO_SPAN, NULL,
                  ast_comp(p, @$, AST_GENERATOR, NULL, $1, $2)}; }
| name "=" test   { $$ = (AstArg){AST_ARG_KEYWORD, @$, @1, $1.text, $3}; }
| "*" test        { $$ = (AstArg){AST_ARG_STAR, @$, NO_SPAN, NULL, $2}; }
| "**" test       { $$ = (AstArg){AST_ARG_DOUBLE_STAR, @$, NO_SPAN, NULL, $2}; }
;
strings: string { $$ = (PieceVec){0}; PUSH($$, $1); } | strings string { $$ = $1; PUSH($$, $2); };
string:
  STR   { $$ = (Piece){TOK_STR, $1, {0}, @$}; }
| BYTES { $$ = (Piece){TOK_BYTES, $1, {0}, @$}; }
| FSTR_BEGIN fparts FSTR_END { $$ = (Piece){TOK_FSTR_BEGIN, {"", 0}, $2, @$}; }
;
fparts:
  %empty           { $$ = (FPartVec){0}; }
| fparts FSTR_TEXT { $$ = $1; ast_fstring_text(p, &$$, $2, @2); }
| fparts FIELD_BEGIN field_value field_eq_opt field_conv_opt spec_opt FIELD_END
  { $$ = $1; ast_field(p, &$$, span_join(@2, @7), $3, $4, $5, $6); }
;
field_value: star_tests { $$ = $1; ast_check_no_star(p, $1); } | yield;
field_eq_opt: %empty { $$ = (LexStr){NULL, 0}; } | FIELD_EQ;
field_conv_opt: %empty { $$ = (LexStr){NULL, 0}; } | FIELD_CONV;
spec_opt: %empty { $$ = NULL; } | FIELD_SPEC fparts { $$ = ast_spec(p, @2, $2); };

/* Patterns */

match_stmt:
  "match" subject ":" "end of line" "an indented block" cases "end of the block"
  { $$ = ast_match(p, @1, $2, $6); }
;
subject:
  named_elem { $$ = $1; ast_check_no_star(p, $1); }
| named_many { $$ = ast_items(p, @$, AST_TUPLE, $1); }
;
cases: case { $$ = (CaseVec){0}; PUSH($$, $1); } | cases case { $$ = $1; PUSH($$, $2); };
case: "case" patterns guard_opt ":" block { $$ = ast_case(@1, $2, $3, $5); };
guard_opt: %empty { $$ = NULL; } | "if" named { $$ = $2; };
patterns: pattern_elem | pattern_many { $$ = ast_pattern_list(p, @$, AST_PAT_SEQUENCE, NULL, $1); };
pattern_elem: pattern | "*" NAME { $$ = ast_pattern(p, @$, AST_PAT_STAR, $2, NULL); };
pattern_commas:
  pattern_elem ","                { $$ = (PatternList){0}; PUSH($$.items, $1); }
| pattern_commas pattern_elem "," { $$ = $1; PUSH($$.items, $2); }
;
pattern_many: pattern_commas | pattern_commas pattern_elem { $$ = $1; PUSH($$.items, $2); };
pattern_list:
  %empty       { $$ = (PatternList){0}; }
| pattern_elem { $$ = (PatternList){0}; PUSH($$.items, $1); }
| pattern_many
;
pattern:
  or_pattern
| or_pattern "as" NAME
  { PatternList l = {0}; PUSH(l.items, $1); $$ = ast_pattern_list(p, @$, AST_PAT_AS, NULL, l);
    $$->name = $3; }
;
or_pattern: closed_pattern | or_patterns { $$ = ast_pattern_list(p, @$, AST_PAT_OR, NULL, $1); };
or_patterns:
  closed_pattern "|" closed_pattern
  { $$ = (PatternList){0}; PUSH($$.items, $1); PUSH($$.items, $3); }
| or_patterns "|" closed_pattern { $$ = $1; PUSH($$.items, $3); }
;
closed_pattern:
  NAME                  { $$ = ast_pattern(p, @$, AST_PAT_CAPTURE, $1, NULL); }
| pattern_key           { $$ = ast_pattern(p, @$, AST_PAT_VALUE, NULL, $1); }
| "(" pattern ")"       { $$ = $2; }
| "(" ")"
  { $$ = ast_pattern_list(p, @$, AST_PAT_SEQUENCE, NULL, (PatternList){0}); }
| "(" pattern_many ")"   { $$ = ast_pattern_list(p, @$, AST_PAT_SEQUENCE, NULL, $2); }
| "[" pattern_list "]"   { $$ = ast_pattern_list(p, @$, AST_PAT_SEQUENCE, NULL, $2); }
| "{" mapping_items "}"  { $$ = ast_pattern_list(p, @$, AST_PAT_MAPPING, NULL, $2); }
| NAME "(" class_args ")"
  { $$ = ast_pattern_list(p, @$, AST_PAT_CLASS, ast_name(p, @1, $1), $3); }
| dotted_expr "(" class_args ")" { $$ = ast_pattern_list(p, @$, AST_PAT_CLASS, $1, $3); }
;
dotted_expr:
  NAME "." name        { $$ = ast_attr(p, @$, ast_name(p, @1, $1), $3); }
| dotted_expr "." name { $$ = ast_attr(p, @$, $1, $3); }
;
signed_number:
  INT       { $$ = ast_number(p, @$, AST_INT, $1); }
| FLOAT     { $$ = ast_number(p, @$, AST_FLOAT, $1); }
| IMAG      { $$ = ast_number(p, @$, AST_IMAG, $1); }
| "-" INT   { $$ = ast_unary(p, @$, AST_OP_NEG, ast_number(p, @2, AST_INT, $2)); }
| "-" FLOAT { $$ = ast_unary(p, @$, AST_OP_NEG, ast_number(p, @2, AST_FLOAT, $2)); }
| "-" IMAG  { $$ = ast_unary(p, @$, AST_OP_NEG, ast_number(p, @2, AST_IMAG, $2)); }
;
pattern_key:
  dotted_expr | signed_number | literal
| signed_number "+" IMAG
  { $$ = ast_binary(p, @$, AST_OP_ADD, $1, ast_number(p, @3, AST_IMAG, $3)); }
| signed_number "-" IMAG
  { $$ = ast_binary(p, @$, AST_OP_SUB, $1, ast_number(p, @3, AST_IMAG, $3)); }
;
literal:
  strings { $$ = ast_strings(p, $1); }
| "None"  { $$ = ast_leaf(p, @$, AST_NONE); }
| "True"  { $$ = ast_boolean(p, @$, true); }
| "False" { $$ = ast_boolean(p, @$, false); }
;
mapping_items:
  %empty { $$ = (PatternList){0}; } | mapping_list | mapping_list "," { $$ = $1; }
;
mapping_list:
  pattern_key ":" pattern { $$ = (PatternList){0}; PUSH($$.keys, $1); PUSH($$.items, $3); }
| "**" NAME               { $$ = (PatternList){0}; $$.rest = $2; }
| mapping_list "," pattern_key ":" pattern { $$ = $1; PUSH($$.keys, $3); PUSH($$.items, $5); }
| mapping_list "," "**" NAME               { $$ = $1; $$.rest = $4; }
;
class_args: %empty { $$ = (PatternList){0}; } | class_arg_list | class_arg_list "," { $$ = $1; };
class_arg_list:
  pattern
  { $$ = (PatternList){0}; PUSH($$.items, $1); PUSH($$.names, (AstName){NULL, NO_SPAN}); }
| name "=" pattern { $$ = (PatternList){0}; PUSH($$.items, $3); PUSH($$.names, $1); }
| class_arg_list "," pattern
  { $$ = $1; PUSH($$.items, $3); PUSH($$.names, (AstName){NULL, NO_SPAN}); }
| class_arg_list "," name "=" pattern { $$ = $1; PUSH($$.items, $5); PUSH($$.names, $3); }
;

%%

static int yyreport_syntax_error(const yypcontext_t *context, Parser *p) {
  yysymbol_kind_t symbols[YYNTOKENS];
  const char *names[YYNTOKENS];
  int n = yypcontext_expected_tokens(context, symbols, YYNTOKENS);
  for (int i = 0; i < n; i++) names[i] = yysymbol_name(symbols[i]);
  ast_syntax_error(p, names, n);
  return 0;
}

int ast_grammar(Parser *p) { return yyparse(p); }
