// parser: Python's syntax as a tree, how to get one from a source file, and how to print it.
// SPDX-License-Identifier: MIT
#ifndef TLC_AST_H
#define TLC_AST_H

#include "base/base.h"
#include "lexer/lex.h"

// Nodes live in the arena given to ast_parse and are never changed afterwards. Names are interned
// within one module (same name, same pointer) and are NUL-terminated. Lists are in source order.
// A span covers exactly the node's own text: parentheses around an expression are outside its span,
// except around a tuple, where they belong to it, and a generator, which owns its own.

typedef struct AstExpr AstExpr;
typedef struct AstStmt AstStmt;
typedef struct AstPattern AstPattern;

typedef struct {
  AstExpr **data;
  int len;
} AstExprs;

typedef struct {
  AstStmt **data;
  int len; // at least 1, except an empty module, and an absent `else` or `finally`
} AstBlock;

typedef struct {
  const char *text;
  Span span;
} AstName;

typedef struct {
  AstName *data;
  int len;
} AstNames;

// No node is nested deeper than this; a visitor may recurse.
#define AST_MAX_DEPTH 1000

/* kinds.c: operators */

#define AST_UNARY_OPS(X) X(POS, "+") X(NEG, "-") X(INVERT, "~") X(NOT, "not")
#define AST_BINARY_OPS(X)                                                                          \
  X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(FLOORDIV, "//") X(MOD, "%") X(POW, "**")       \
  X(MATMUL, "@") X(SHL, "<<") X(SHR, ">>") X(BITAND, "&") X(BITXOR, "^") X(BITOR, "|")
#define AST_COMPARE_OPS(X)                                                                         \
  X(EQ, "==") X(NE, "!=") X(LT, "<") X(LE, "<=") X(GT, ">") X(GE, ">=") X(IN, "in")                \
  X(NOT_IN, "not in") X(IS, "is") X(IS_NOT, "is not")

typedef enum {
#define X(name, text) AST_OP_##name,
  AST_UNARY_OPS(X)
#undef X
} AstUnaryOp;

typedef enum {
#define X(name, text) AST_OP_##name,
  AST_BINARY_OPS(X)
#undef X
} AstBinaryOp;

typedef enum {
#define X(name, text) AST_OP_##name,
  AST_COMPARE_OPS(X)
#undef X
} AstCompareOp;

const char *ast_unary_text(AstUnaryOp op); // as written in Python: "not"
const char *ast_binary_text(AstBinaryOp op);
const char *ast_compare_text(AstCompareOp op);

/* Expressions */

// Kind and its name in ast_dump; the comment says which member of the union holds the rest.
#define AST_EXPR_KINDS(X)                                                                          \
  X(NAME, "name") /* name */                                                                       \
  X(INT, "int") /* num */                                                                          \
  X(FLOAT, "float") /* num */                                                                      \
  X(IMAG, "imag") /* num: the 2j of 1+2j */                                                        \
  X(STR, "str") /* str: adjacent literals already joined, escapes decoded, UTF-8 */                \
  X(BYTES, "bytes") /* str: raw bytes */                                                           \
  X(FSTR, "fstr") /* fstr */                                                                       \
  X(BOOL, "bool") /* boolean */                                                                    \
  X(NONE, "none")                                                                                  \
  X(ELLIPSIS, "ellipsis")                                                                          \
  X(TUPLE, "tuple") /* items; with or without parentheses */                                       \
  X(LIST, "list") /* items */                                                                      \
  X(SET, "set") /* items */                                                                        \
  X(DICT, "dict") /* dict */                                                                       \
  X(ATTR, "attr") /* attr: value.name */                                                           \
  X(INDEX, "index") /* index: value[index]; x[i, j:k] has a tuple holding a slice as its index */  \
  X(SLICE, "slice") /* slice: only directly in an index, or in its tuple */                        \
  X(CALL, "call") /* call */                                                                       \
  X(STARRED, "starred") /* operand: *x in a display, a subscript or a target */                    \
  X(UNARY, "unary") /* unary */                                                                    \
  X(BINARY, "binary") /* binary */                                                                 \
  X(AND, "and") /* items: a and b and c is one node */                                             \
  X(OR, "or") /* items */                                                                          \
  X(COMPARE, "compare") /* compare: a < b <= c is one node */                                      \
  X(TERNARY, "ternary") /* ternary */                                                              \
  X(LAMBDA, "lambda") /* lambda */                                                                 \
  X(WALRUS, "walrus") /* walrus */                                                                 \
  X(LIST_COMP, "list-comp") /* comp */                                                             \
  X(SET_COMP, "set-comp") /* comp */                                                               \
  X(DICT_COMP, "dict-comp") /* comp */                                                             \
  X(GENERATOR, "generator") /* comp */                                                             \
  X(AWAIT, "await") /* operand */                                                                  \
  X(YIELD, "yield") /* operand, NULL for a bare yield */                                           \
  X(YIELD_FROM, "yield-from") /* operand */

typedef enum {
#define X(name, text) AST_##name,
  AST_EXPR_KINDS(X)
#undef X
} AstExprKind;

typedef LexNum AstNum; // integer, real, big, and text as written
typedef LexStr AstStr; // data, len

// One part of an f-string: literal text (value NULL) or a replacement field {value!c:spec}.
typedef struct {
  Span span;
  AstStr text;
  AstExpr *value;
  AstExpr *spec; // AST_FSTR, or NULL
  char conversion; // 'r', 's', 'a' or 0. {x=} has become the literal "x=" and {x!r}
} AstFPart;

typedef struct {
  AstFPart *data;
  int len;
} AstFParts;

typedef struct {
  AstExpr *key; // NULL: **value
  AstExpr *value;
} AstEntry;

typedef struct {
  AstEntry *data;
  int len;
} AstEntries;

typedef enum { AST_ARG_POSITIONAL, AST_ARG_KEYWORD, AST_ARG_STAR, AST_ARG_DOUBLE_STAR } AstArgKind;

typedef struct {
  AstArgKind kind;
  Span span; // of the whole argument
  Span name_span; // AST_ARG_KEYWORD
  const char *name; // AST_ARG_KEYWORD
  AstExpr *value;
} AstArg;

typedef struct {
  AstArg *data; // as written; Python's order rules are checked
  int len;
} AstArgs;

typedef enum {
  AST_PARAM_POSITIONAL_ONLY,
  AST_PARAM_NORMAL,
  AST_PARAM_STAR, // *args
  AST_PARAM_KEYWORD_ONLY, // after *args or a bare *
  AST_PARAM_DOUBLE_STAR // **kwargs
} AstParamKind;

typedef struct {
  AstParamKind kind;
  Span span; // with annotation and default
  Span name_span;
  const char *name; // without stars
  AstExpr *annotation; // or NULL; always NULL in a lambda
  AstExpr *value; // default, or NULL
} AstParam;

typedef struct {
  AstParam *data; // in the order of AstParamKind, as Python demands; names are distinct
  int len;
} AstParams;

// `for target in iter if cond if cond ...`
typedef struct {
  AstExpr *target, *iter;
  AstExprs conditions;
  bool is_async;
} AstClause;

struct AstExpr {
  AstExprKind kind;
  int depth; // 1 + the deepest child's
  Span span;
  uint8_t parens; // pairs of parentheses around it, as written; a tuple's own ones count
  union {
    const char *name;
    AstNum num;
    AstStr str;
    AstFParts fstr;
    bool boolean;
    AstExprs items;
    AstEntries dict;
    AstExpr *operand;
    struct {
      AstExpr *value;
      AstName name;
    } attr;
    struct {
      AstExpr *value, *index;
    } index;
    struct {
      AstExpr *lo, *hi, *step; // each may be NULL
    } slice;
    struct {
      AstExpr *callee;
      AstArgs args;
    } call;
    struct {
      AstUnaryOp op;
      AstExpr *operand;
    } unary;
    struct {
      AstBinaryOp op;
      AstExpr *left, *right;
    } binary;
    struct {
      AstExprs operands; // at least 2
      AstCompareOp *ops; // operands.len - 1; ops[i] is between operands i and i + 1
    } compare;
    struct {
      AstExpr *cond, *then, *otherwise; // then if cond else otherwise
    } ternary;
    struct {
      AstParams params;
      AstExpr *body;
    } lambda;
    struct {
      AstName name;
      AstExpr *value;
    } walrus;
    struct {
      AstExpr *key; // AST_DICT_COMP, else NULL
      AstExpr *element;
      AstClause *clauses; // outermost first, at least 1
      int nclauses;
    } comp;
  };
};

/* Patterns of `match` */

typedef enum {
  AST_PAT_WILDCARD, // _
  AST_PAT_CAPTURE, // name
  AST_PAT_VALUE, // value: a literal, or a dotted name
  AST_PAT_AS, // items[0] as name
  AST_PAT_OR, // items
  AST_PAT_SEQUENCE, // items; [a, b] and (a, b)
  AST_PAT_STAR, // *name in a sequence; name NULL for *_
  AST_PAT_MAPPING, // keys[i]: items[i]; **name, or NULL
  AST_PAT_CLASS // value(items...): the last ones under names[i], where names[i].text is not NULL
} AstPatternKind;

struct AstPattern {
  AstPatternKind kind;
  int depth;
  Span span;
  const char *name;
  AstExpr *value;
  AstExpr **keys;
  AstName *names;
  AstPattern **items;
  int len;
};

/* Statements */

#define AST_STMT_KINDS(X)                                                                          \
  X(EXPR, "expr") /* expr */                                                                       \
  X(ASSIGN, "assign") /* assign: a = b = value */                                                  \
  X(AUG_ASSIGN, "aug-assign") /* aug */                                                            \
  X(ANN_ASSIGN, "ann-assign") /* ann */                                                            \
  X(IF, "if") /* if_ */                                                                            \
  X(FOR, "for") /* for_ */                                                                         \
  X(WHILE, "while") /* while_ */                                                                   \
  X(WITH, "with") /* with */                                                                       \
  X(DEF, "def") /* def */                                                                          \
  X(CLASS, "class") /* class_ */                                                                   \
  X(RETURN, "return") /* expr, or NULL */                                                          \
  X(IMPORT, "import") /* import */                                                                 \
  X(FROM_IMPORT, "from-import") /* import */                                                       \
  X(GLOBAL, "global") /* names */                                                                  \
  X(NONLOCAL, "nonlocal") /* names */                                                              \
  X(DEL, "del") /* del */                                                                          \
  X(PASS, "pass")                                                                                  \
  X(BREAK, "break")                                                                                \
  X(CONTINUE, "continue")                                                                          \
  X(RAISE, "raise") /* raise */                                                                    \
  X(ASSERT, "assert") /* assert_ */                                                                \
  X(TRY, "try") /* try_ */                                                                         \
  X(MATCH, "match") /* match */

typedef enum {
#define X(name, text) AST_STMT_##name,
  AST_STMT_KINDS(X)
#undef X
} AstStmtKind;

// One `if cond:` or `elif cond:` with its body.
typedef struct {
  AstExpr *cond;
  AstBlock body;
} AstBranch;

typedef struct {
  AstExpr *context;
  AstExpr *target; // after `as`, or NULL
} AstWithItem;

// `import a.b as c` has name "a.b", alias "c"; `from m import *` has name "*".
typedef struct {
  Span span;
  const char *name;
  const char *alias; // or NULL
} AstAlias;

typedef struct {
  Span span;
  AstExpr *type; // or NULL: catches everything
  const char *name; // after `as`, or NULL
  AstBlock body;
  bool is_star; // except*: all handlers of a try or none
} AstHandler;

typedef struct {
  Span span;
  AstPattern *pattern;
  AstExpr *guard; // after `if`, or NULL
  AstBlock body;
} AstCase;

// Targets (of assignments, for, with, del, comprehensions) are names, attributes, subscripts, and
// tuples, lists and starred forms of these; nothing else gets through the parser.
struct AstStmt {
  AstStmtKind kind;
  int depth;
  Span span; // without decorators; a compound statement's reaches to the end of its last block
  union {
    AstExpr *expr;
    AstNames names;
    struct {
      AstExprs targets; // left to right, at least 1
      AstExpr *value;
    } assign;
    struct {
      AstBinaryOp op;
      AstExpr *target, *value; // the target is a name, attribute or subscript
    } aug;
    struct {
      AstExpr *target, *annotation; // the target is a name, attribute or subscript
      AstExpr *value; // or NULL
    } ann;
    struct {
      AstBranch *branches; // `if`, then each `elif`
      int nbranches;
      AstBlock orelse;
    } if_;
    struct {
      AstExpr *target, *iter;
      AstBlock body, orelse;
      bool is_async;
    } for_;
    struct {
      AstExpr *cond;
      AstBlock body, orelse;
    } while_;
    struct {
      AstWithItem *items;
      int nitems;
      AstBlock body;
      bool is_async;
    } with;
    struct {
      AstName name;
      AstExprs decorators; // as written, top first
      AstParams params;
      AstExpr *returns; // annotation, or NULL
      AstBlock body;
      bool is_async;
    } def;
    struct {
      AstName name;
      AstExprs decorators;
      AstArgs bases;
      AstBlock body;
    } class_;
    struct {
      AstName module; // AST_STMT_FROM_IMPORT: "a.b", or "" in `from . import x`
      int level; // AST_STMT_FROM_IMPORT: number of leading dots
      AstAlias *names;
      int nnames;
    } import;
    AstExprs del; // targets
    struct {
      AstExpr *value, *cause; // each may be NULL
    } raise;
    struct {
      AstExpr *cond;
      AstExpr *message; // or NULL
    } assert_;
    struct {
      AstBlock body;
      AstHandler *handlers;
      int nhandlers;
      AstBlock orelse, finally;
    } try_;
    struct {
      AstExpr *subject;
      AstCase *cases;
      int ncases;
    } match;
  };
};

typedef struct {
  uint32_t file;
  AstBlock body; // may be empty
} AstModule;

/* parse.c */

// Parses a whole source file. Reports every syntax error found and then returns NULL; a module is
// returned only when this file had none. A file is to be parsed once.
AstModule *ast_parse(Arena *a, Diags *d, uint32_t file);

/* print_statements.c, print.c */

// Prints a module back as Python text that parses to the same tree. Comments and layout are lost;
// numbers keep their spelling, strings get double quotes.
void ast_print(const AstModule *m, Buf *out);
void ast_print_expr(const AstExpr *e, Buf *out); // on one line

/* dump.c */

// An s-expression a statement, indented by nesting: the golden form (--emit ast). Two modules with
// the same dump mean the same; spans are left out.
void ast_dump(const AstModule *m, Buf *out);

/* kinds.c */

const char *ast_expr_name(AstExprKind kind); // "call"
const char *ast_stmt_name(AstStmtKind kind); // "for"

#endif
