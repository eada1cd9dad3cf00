// Expressions: evaluation of every kind of node.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <string.h>

bool ev_unknown(Val v) { return v.kind == V_OPAQUE || v.kind == V_MISSING || v.kind == V_ERROR; }

bool ev_undecided(Val v) { return ev_unknown(v) && !(v.kind == V_MISSING && v.missing->none); }

bool ev_is_rt(Val v) {
  return v.kind == V_EXPR && v.expr->kind != EX_INT && v.expr->kind != EX_FLOAT;
}

bool ev_truth(Ev *ev, Val v, Span at) {
  switch (v.kind) {
  case V_NONE: return false;
  case V_BOOL: return v.b;
  case V_INT: return v.i != 0;
  case V_FLOAT: return v.f != 0;
  case V_STR: return v.str->len != 0;
  case V_TUPLE:
  case V_LIST: return v.seq->len != 0;
  case V_DICT:
  case V_SET: return v.dict->live != 0;
  case V_RANGE: return ev_items(ev, v, at)->len != 0;
  case V_EXPR:
    if (v.expr->kind == EX_INT) return v.expr->u.i != 0;
    if (v.expr->kind == EX_FLOAT) return v.expr->u.f != 0;
    ev_fail(ev, DIAG_RT_TRUTH, at, ir_expr_str(ev->arena, v.expr));
  case V_MISSING:
    if (v.missing->none) return false;
    ev_missing(ev, v);
  case V_ERROR: ev_need(ev, v); return false;
  case V_OPAQUE: ev_opaque(ev, at, v.opaque->what);
  default: return true;
  }
}

Expr *ev_cond(Ev *ev, Val v, Span at) {
  return ex_at(ex_cast(ev->arena, DT_BOOL, dev_expr(ev, v, at)), at);
}

static Val name_or_literal(Ev *ev, const AstExpr *e) {
  switch (e->kind) {
  case AST_NAME: return env_read(ev, e->name, e->span);
  case AST_INT:
    if (e->num.big || e->num.integer > INT64_MAX)
      ev_fail(ev, DIAG_INT_LITERAL, e->span, e->num.text);
    return v_int((int64_t)e->num.integer);
  case AST_FLOAT: return v_float(e->num.real);
  case AST_STR: return v_strn(ev, e->str.data, (int)e->str.len);
  case AST_BOOL: return v_bool(e->boolean);
  case AST_NONE: return v_none();
  case AST_ELLIPSIS: return (Val){.kind = V_ELLIPSIS};
  default: return v_opaque(ev, "a %s literal", ast_expr_name(e->kind));
  }
}

static Val fstring(Ev *ev, const AstExpr *e) {
  SB b = {0};
  for (int i = 0; i < e->fstr.len; i++) {
    const AstFPart *p = &e->fstr.data[i];
    if (!p->value) {
      sb_putn(ev, &b, p->text.data, (int)p->text.len);
      continue;
    }
    Val v = ev_expr(ev, p->value);
    if (ev_unknown(v)) return v;
    Val spec = p->spec ? ev_expr(ev, p->spec) : v_str(ev, "");
    if (ev_unknown(spec)) return spec;
    if (p->conversion) v = v_str(ev, p->conversion == 's' ? v_text(ev, v) : v_repr(ev, v));
    v = ev_format(ev, v, v_text(ev, spec), p->span);
    sb_putn(ev, &b, v.str->data, v.str->len);
  }
  return sb_val(ev, &b);
}

// Appends the items of a display, starred ones spread; false with *unknown set when one is unknown.
static bool display(Ev *ev, const AstExprs *items, Seq *out, Val *unknown) {
  for (int i = 0; i < items->len; i++) {
    const AstExpr *e = items->data[i];
    if (e->kind != AST_STARRED) {
      v_push(ev, out, ev_expr(ev, e));
      continue;
    }
    Val v = ev_expr(ev, e->operand);
    if (ev_unknown(v)) return *unknown = v, false;
    Seq *s = ev_items(ev, v, e->span);
    for (int j = 0; j < s->len; j++) v_push(ev, out, s->data[j]);
  }
  return true;
}

static Val seq_display(Ev *ev, const AstExpr *e) {
  Val unknown, v = v_seq(ev, e->kind == AST_LIST ? V_LIST : V_TUPLE, e->items.len);
  if (!display(ev, &e->items, v.seq, &unknown)) return unknown;
  if (e->kind != AST_SET) return v;
  Val set = v_dict(ev, V_SET);
  for (int i = 0; i < v.seq->len; i++) dict_set(ev, set.dict, v.seq->data[i], v_none(), e->span);
  return set;
}

static Val dict_display(Ev *ev, const AstExpr *e) {
  Val d = v_dict(ev, V_DICT);
  for (int i = 0; i < e->dict.len; i++) {
    const AstEntry *entry = &e->dict.data[i];
    if (entry->key) {
      Val key = ev_expr(ev, entry->key);
      dict_set(ev, d.dict, key, ev_expr(ev, entry->value), entry->key->span);
      continue;
    }
    Val more = ev_expr(ev, entry->value);
    if (ev_unknown(more)) return more;
    if (more.kind != V_DICT)
      ev_fail(ev, DIAG_OPERAND, entry->value->span, "**", v_kind(ev, more), "a dict");
    for (int j = 0; j < more.dict->entries.len; j++) {
      const DictEntry *m = &more.dict->entries.data[j];
      if (!m->dead) dict_set(ev, d.dict, m->key, m->value, entry->value->span);
    }
  }
  return d;
}

// a and b with a known only at run time; a compile-time b decides or drops out.
static Val rt_logic(Ev *ev, bool is_and, Val a, Val b, Span at) {
  if (!ev_is_rt(b) && dev_ok(b)) {
    if (ev_truth(ev, b, at) != is_and) return v_bool(!is_and);
    return v_expr(ev_cond(ev, a, at), a.size);
  }
  Expr *x = ev_cond(ev, a, at), *y = ev_cond(ev, b, at);
  return dev_wrap(ev, ex_bin(ev->arena, is_and ? BIN_AND : BIN_OR, x, y), at, a, b, v_none());
}

static Val logic(Ev *ev, const AstExpr *e) {
  bool is_and = e->kind == AST_AND;
  Val acc = ev_expr(ev, e->items.data[0]);
  for (int i = 1; i < e->items.len; i++) {
    if (ev_undecided(acc)) return acc;
    if (ev_is_rt(acc)) {
      acc = rt_logic(ev, is_and, acc, ev_expr(ev, e->items.data[i]), e->span);
      continue;
    }
    if (ev_truth(ev, acc, e->span) != is_and) return acc;
    acc = ev_expr(ev, e->items.data[i]);
  }
  return acc;
}

static Val compare(Ev *ev, const AstExpr *e) {
  Val left = ev_expr(ev, e->compare.operands.data[0]), acc = v_bool(true);
  for (int i = 1; i < e->compare.operands.len; i++) {
    Val right = ev_expr(ev, e->compare.operands.data[i]);
    Val r = ev_compare(ev, e->compare.ops[i - 1], left, right, e->span);
    if (ev_unknown(r)) return r;
    if (ev_is_rt(acc)) acc = rt_logic(ev, true, acc, r, e->span);
    else acc = r;
    if (!ev_is_rt(acc) && !ev_truth(ev, acc, e->span)) return v_bool(false);
    left = right;
  }
  return acc;
}

static Val ternary(Ev *ev, const AstExpr *e) {
  Val cond = ev_expr(ev, e->ternary.cond);
  if (ev_undecided(cond)) return cond;
  if (!ev_is_rt(cond))
    return ev_expr(ev, ev_truth(ev, cond, e->span) ? e->ternary.then : e->ternary.otherwise);
  Val a = ev_expr(ev, e->ternary.then), b = ev_expr(ev, e->ternary.otherwise);
  ev_need(ev, a);
  ev_need(ev, b);
  Expr *x, *y;
  if (!dev_ok(a)) (void)dev_expr(ev, a, e->ternary.then->span);
  if (!dev_ok(b)) (void)dev_expr(ev, b, e->ternary.otherwise->span);
  dev_pair(ev, a, b, &x, &y, e->span);
  return dev_wrap(ev, ex_select(ev->arena, ev_cond(ev, cond, e->span), x, y), e->span, cond, a, b);
}

static Val binary(Ev *ev, const AstExpr *e) {
  Val a = ev_expr(ev, e->binary.left), b = ev_expr(ev, e->binary.right);
  return ev_binary(ev, e->binary.op, a, b, e->span);
}

static Val lambda(Ev *ev, const AstExpr *e) {
  Func *f = NEW(ev->arena, Func);
  f->name = "<lambda>";
  f->params = &e->lambda.params;
  f->expr = e->lambda.body;
  f->closure = ev->env;
  f->span = e->span;
  f->base = f;
  f->defaults = NEWN(ev->arena, Val, f->params->len);
  for (int i = 0; i < f->params->len; i++) {
    if (f->params->data[i].value) f->defaults[i] = ev_expr(ev, f->params->data[i].value);
  }
  return (Val){.kind = V_FUNC, .fn = f};
}

static Val walrus(Ev *ev, const AstExpr *e) {
  Val v = dev_let(ev, e->walrus.name.text, ev_expr(ev, e->walrus.value), e->span);
  env_set(ev, e->walrus.name.text, v, e->walrus.name.span);
  return v;
}

Val ev_expr(Ev *ev, const AstExpr *e) {
  ev_step(ev, e->span);
  switch (e->kind) {
  case AST_FSTR: return fstring(ev, e);
  case AST_TUPLE:
  case AST_LIST:
  case AST_SET: return seq_display(ev, e);
  case AST_DICT: return dict_display(ev, e);
  case AST_ATTR: return ev_attr(ev, ev_expr(ev, e->attr.value), e->attr.name.text, e->span);
  case AST_INDEX: return ev_index(ev, ev_expr(ev, e->index.value), e->index.index, e->span);
  case AST_CALL: return ev_call_expr(ev, e);
  case AST_UNARY: return ev_unary(ev, e->unary.op, ev_expr(ev, e->unary.operand), e->span);
  case AST_BINARY: return binary(ev, e);
  case AST_AND:
  case AST_OR: return logic(ev, e);
  case AST_COMPARE: return compare(ev, e);
  case AST_TERNARY: return ternary(ev, e);
  case AST_LAMBDA: return lambda(ev, e);
  case AST_WALRUS: return walrus(ev, e);
  case AST_LIST_COMP:
  case AST_SET_COMP:
  case AST_DICT_COMP:
  case AST_GENERATOR: return ev_comp(ev, e);
  case AST_AWAIT:
  case AST_YIELD:
  case AST_YIELD_FROM:
  case AST_STARRED:
  case AST_SLICE: ev_fail(ev, DIAG_NO_SYNTAX, e->span, ast_expr_name(e->kind));
  default: return name_or_literal(ev, e);
  }
}
