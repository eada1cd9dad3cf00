// Expressions back to Python text, with the parentheses that they need.
// SPDX-License-Identifier: MIT
#include "parser/printer.h"

static void text(Printer *p, const char *s) { buf_puts(p->out, s); }

static Prec binary_prec(AstBinaryOp op) {
  switch (op) {
  case AST_OP_BITOR: return PREC_BITOR;
  case AST_OP_BITXOR: return PREC_BITXOR;
  case AST_OP_BITAND: return PREC_BITAND;
  case AST_OP_SHL:
  case AST_OP_SHR: return PREC_SHIFT;
  case AST_OP_ADD:
  case AST_OP_SUB: return PREC_SUM;
  case AST_OP_POW: return PREC_POWER;
  default: return PREC_PRODUCT;
  }
}

static Prec prec_of(const AstExpr *e) {
  switch (e->kind) {
  case AST_WALRUS: return PREC_NAMED;
  case AST_YIELD:
  case AST_YIELD_FROM: return PREC_YIELD;
  case AST_LAMBDA:
  case AST_TERNARY: return PREC_TEST;
  case AST_OR: return PREC_OR;
  case AST_AND: return PREC_AND;
  case AST_COMPARE: return PREC_COMPARE;
  case AST_UNARY: return e->unary.op == AST_OP_NOT ? PREC_NOT : PREC_UNARY;
  case AST_BINARY: return binary_prec(e->binary.op);
  case AST_AWAIT: return PREC_AWAIT;
  default: return PREC_PRIMARY;
  }
}

static void list(Printer *p, const AstExprs *items) {
  for (int i = 0; i < items->len; i++) {
    if (i) text(p, ", ");
    ast_put(p, items->data[i], PREC_TEST);
  }
}

static void put_bare_tuple(Printer *p, const AstExprs *items) {
  list(p, items);
  if (items->len == 1) text(p, ",");
}

void ast_put_bare(Printer *p, const AstExpr *e, Prec at_least) {
  if (e->kind == AST_TUPLE && e->items.len) put_bare_tuple(p, &e->items);
  else ast_put(p, e, at_least);
}

static void put_chain(Printer *p, const AstExprs *items, const char *op, Prec prec) {
  for (int i = 0; i < items->len; i++) {
    if (i) text(p, op);
    ast_put(p, items->data[i], prec + 1);
  }
}

static void put_compare(Printer *p, const AstExpr *e) {
  for (int i = 0; i < e->compare.operands.len; i++) {
    if (i) buf_printf(p->out, " %s ", ast_compare_text(e->compare.ops[i - 1]));
    ast_put(p, e->compare.operands.data[i], PREC_BITOR);
  }
}

static void put_unary(Printer *p, const AstExpr *e) {
  bool is_not = e->unary.op == AST_OP_NOT;
  buf_printf(p->out, is_not ? "%s " : "%s", ast_unary_text(e->unary.op));
  ast_put(p, e->unary.operand, is_not ? PREC_NOT : PREC_UNARY);
}

static void put_binary(Printer *p, const AstExpr *e) {
  bool pow = e->binary.op == AST_OP_POW;
  Prec prec = binary_prec(e->binary.op);
  ast_put(p, e->binary.left, pow ? PREC_AWAIT : prec);
  buf_printf(p->out, pow ? "%s" : " %s ", ast_binary_text(e->binary.op));
  ast_put(p, e->binary.right, pow ? PREC_UNARY : prec + 1);
}

static void put_ternary(Printer *p, const AstExpr *e) {
  ast_put(p, e->ternary.then, PREC_OR);
  text(p, " if ");
  ast_put(p, e->ternary.cond, PREC_OR);
  text(p, " else ");
  ast_put(p, e->ternary.otherwise, PREC_TEST);
}

static void put_lambda(Printer *p, const AstExpr *e) {
  text(p, e->lambda.params.len ? "lambda " : "lambda");
  ast_put_params(p, &e->lambda.params);
  text(p, ": ");
  ast_put(p, e->lambda.body, PREC_TEST);
}

/* Displays, comprehensions, subscripts and calls */

static void put_dict(Printer *p, const AstEntries *entries) {
  text(p, "{");
  for (int i = 0; i < entries->len; i++) {
    const AstEntry *entry = &entries->data[i];
    if (i) text(p, ", ");
    if (entry->key) {
      ast_put(p, entry->key, PREC_TEST);
      text(p, ": ");
      ast_put(p, entry->value, PREC_TEST);
    } else {
      text(p, "**");
      ast_put(p, entry->value, PREC_BITOR);
    }
  }
  text(p, "}");
}

static void put_comp(Printer *p, const AstExpr *e) {
  if (e->comp.key) {
    ast_put(p, e->comp.key, PREC_TEST);
    text(p, ": ");
  }
  ast_put(p, e->comp.element, PREC_TEST);
  for (int i = 0; i < e->comp.nclauses; i++) {
    const AstClause *c = &e->comp.clauses[i];
    text(p, c->is_async ? " async for " : " for ");
    ast_put_bare(p, c->target, PREC_TEST);
    text(p, " in ");
    ast_put(p, c->iter, PREC_OR);
    for (int j = 0; j < c->conditions.len; j++) {
      text(p, " if ");
      ast_put(p, c->conditions.data[j], PREC_OR);
    }
  }
}

static void put_slice(Printer *p, const AstExpr *e) {
  if (e->slice.lo) ast_put(p, e->slice.lo, PREC_TEST);
  text(p, ":");
  if (e->slice.hi) ast_put(p, e->slice.hi, PREC_TEST);
  if (!e->slice.step) return;
  text(p, ":");
  ast_put(p, e->slice.step, PREC_TEST);
}

static void put_index(Printer *p, const AstExpr *e) {
  ast_put(p, e->index.value, PREC_PRIMARY);
  text(p, "[");
  ast_put_bare(p, e->index.index, PREC_TEST);
  text(p, "]");
}

static void put_attr(Printer *p, const AstExpr *e) {
  const AstExpr *value = e->attr.value;
  bool number = value->kind == AST_INT || value->kind == AST_FLOAT || value->kind == AST_IMAG;
  if (number) text(p, "(");
  ast_put(p, value, PREC_PRIMARY);
  buf_printf(p->out, number ? ").%s" : ".%s", e->attr.name.text);
}

void ast_put_args(Printer *p, const AstArgs *args) {
  static const char *const stars[] = {
    [AST_ARG_POSITIONAL] = "", [AST_ARG_KEYWORD] = "", [AST_ARG_STAR] = "*",
    [AST_ARG_DOUBLE_STAR] = "**"};
  if (args->len == 1 && args->data[0].kind == AST_ARG_POSITIONAL &&
      args->data[0].value->kind == AST_GENERATOR) {
    put_comp(p, args->data[0].value);
    return;
  }
  for (int i = 0; i < args->len; i++) {
    const AstArg *a = &args->data[i];
    if (i) text(p, ", ");
    if (a->kind == AST_ARG_KEYWORD) buf_printf(p->out, "%s=", a->name);
    text(p, stars[a->kind]);
    ast_put(p, a->value, PREC_TEST);
  }
}

static void put_param(Printer *p, const AstParam *a) {
  if (a->kind == AST_PARAM_STAR) text(p, "*");
  if (a->kind == AST_PARAM_DOUBLE_STAR) text(p, "**");
  text(p, a->name);
  if (a->annotation) {
    text(p, ": ");
    ast_put(p, a->annotation, PREC_TEST);
  }
  if (a->value) {
    text(p, a->annotation ? " = " : "=");
    ast_put(p, a->value, PREC_TEST);
  }
}

void ast_put_params(Printer *p, const AstParams *params) {
  AstParamKind last = AST_PARAM_NORMAL;
  for (int i = 0; i < params->len; i++) {
    const AstParam *a = &params->data[i];
    bool star = last == AST_PARAM_STAR || last == AST_PARAM_KEYWORD_ONLY;
    if (i) text(p, ", ");
    if (last == AST_PARAM_POSITIONAL_ONLY && a->kind != last) text(p, "/, ");
    if (a->kind == AST_PARAM_KEYWORD_ONLY && !star) text(p, "*, ");
    put_param(p, a);
    last = a->kind;
  }
  if (last == AST_PARAM_POSITIONAL_ONLY) text(p, ", /");
}

/* f-strings */

static void put_parts(Printer *p, const AstFParts *parts, bool spec);

// Python before 3.12 wants other quotes inside a field than around it.
static char quote_of(const Printer *p) { return p->fields % 2 ? '\'' : '"'; }

static bool starts_with_brace(const AstExpr *e) {
  for (;;) {
    switch (e->kind) {
    case AST_SET:
    case AST_DICT:
    case AST_SET_COMP:
    case AST_DICT_COMP: return true;
    case AST_ATTR: e = e->attr.value; break;
    case AST_INDEX: e = e->index.value; break;
    case AST_CALL: e = e->call.callee; break;
    case AST_BINARY: e = e->binary.left; break;
    case AST_COMPARE: e = e->compare.operands.data[0]; break;
    case AST_TERNARY: e = e->ternary.then; break;
    case AST_TUPLE:
    case AST_AND:
    case AST_OR:
      if (!e->items.len) return false;
      e = e->items.data[0];
      break;
    default: return false;
    }
  }
}

static void put_field(Printer *p, const AstFPart *part) {
  text(p, starts_with_brace(part->value) ? "{ " : "{"); // "{{" would be a brace
  p->fields++;
  ast_put_bare(p, part->value, PREC_YIELD);
  p->fields--;
  if (part->conversion) buf_printf(p->out, "!%c", part->conversion);
  if (part->spec) {
    text(p, ":");
    put_parts(p, &part->spec->fstr, true);
  }
  text(p, "}");
}

static void put_parts(Printer *p, const AstFParts *parts, bool spec) {
  for (int i = 0; i < parts->len; i++) {
    if (parts->data[i].value) put_field(p, &parts->data[i]);
    else lex_quote_piece(p->out, parts->data[i].text, quote_of(p), spec);
  }
}

static void put_fstring(Printer *p, const AstExpr *e) {
  char quote = quote_of(p);
  buf_printf(p->out, "f%c", quote);
  put_parts(p, &e->fstr, false);
  buf_putc(p->out, quote);
}

/* All kinds */

static void put_enclosed(Printer *p, const char *open, const AstExpr *e, const char *close) {
  text(p, open);
  put_comp(p, e);
  text(p, close);
}

static void put_items(Printer *p, const char *open, const AstExpr *e, const char *close) {
  text(p, open);
  if (e->kind == AST_TUPLE) put_bare_tuple(p, &e->items);
  else list(p, &e->items);
  text(p, close);
}

static void put_prefixed(Printer *p, const char *prefix, const AstExpr *operand, Prec prec) {
  text(p, prefix);
  if (operand) ast_put(p, operand, prec);
}

static void put_walrus(Printer *p, const AstExpr *e) {
  buf_printf(p->out, "%s := ", e->walrus.name.text);
  ast_put(p, e->walrus.value, PREC_TEST);
}

static void put_call(Printer *p, const AstExpr *e) {
  ast_put(p, e->call.callee, PREC_PRIMARY);
  text(p, "(");
  ast_put_args(p, &e->call.args);
  text(p, ")");
}

static void put_yield(Printer *p, const AstExpr *e) {
  text(p, e->operand ? "yield " : "yield");
  if (e->operand) ast_put_bare(p, e->operand, PREC_TEST);
}

static void put_string(Printer *p, const AstExpr *e) {
  if (e->kind == AST_BYTES) text(p, "b");
  lex_quote(p->out, e->str, quote_of(p), e->kind == AST_BYTES);
}

static void put(Printer *p, const AstExpr *e) {
  switch (e->kind) {
  case AST_NAME: text(p, e->name); break;
  case AST_INT:
  case AST_FLOAT:
  case AST_IMAG: text(p, e->num.text); break;
  case AST_STR:
  case AST_BYTES: put_string(p, e); break;
  case AST_FSTR: put_fstring(p, e); break;
  case AST_BOOL: text(p, e->boolean ? "True" : "False"); break;
  case AST_NONE: text(p, "None"); break;
  case AST_ELLIPSIS: text(p, "..."); break;
  case AST_TUPLE: put_items(p, "(", e, ")"); break;
  case AST_LIST: put_items(p, "[", e, "]"); break;
  case AST_SET: put_items(p, "{", e, "}"); break;
  case AST_DICT: put_dict(p, &e->dict); break;
  case AST_ATTR: put_attr(p, e); break;
  case AST_INDEX: put_index(p, e); break;
  case AST_SLICE: put_slice(p, e); break;
  case AST_CALL: put_call(p, e); break;
  case AST_STARRED: put_prefixed(p, "*", e->operand, PREC_BITOR); break;
  case AST_UNARY: put_unary(p, e); break;
  case AST_BINARY: put_binary(p, e); break;
  case AST_AND: put_chain(p, &e->items, " and ", PREC_AND); break;
  case AST_OR: put_chain(p, &e->items, " or ", PREC_OR); break;
  case AST_COMPARE: put_compare(p, e); break;
  case AST_TERNARY: put_ternary(p, e); break;
  case AST_LAMBDA: put_lambda(p, e); break;
  case AST_WALRUS: put_walrus(p, e); break;
  case AST_LIST_COMP: put_enclosed(p, "[", e, "]"); break;
  case AST_SET_COMP:
  case AST_DICT_COMP: put_enclosed(p, "{", e, "}"); break;
  case AST_GENERATOR: put_enclosed(p, "(", e, ")"); break;
  case AST_AWAIT: put_prefixed(p, "await ", e->operand, PREC_PRIMARY); break;
  case AST_YIELD: put_yield(p, e); break;
  case AST_YIELD_FROM: put_prefixed(p, "yield from ", e->operand, PREC_TEST); break;
  }
}

void ast_put(Printer *p, const AstExpr *e, Prec at_least) {
  bool colon = p->fields && e->kind == AST_LAMBDA; // would begin the format spec
  bool parens = prec_of(e) < at_least || e->kind == AST_WALRUS || colon;
  if (parens) text(p, "(");
  put(p, e);
  if (parens) text(p, ")");
}

void ast_print_expr(const AstExpr *e, Buf *out) {
  Printer p = {.out = out};
  ast_put_bare(&p, e, PREC_YIELD);
}
