// Iteration over compile-time values: iterables as lists, and comprehensions.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

enum { MAX_ITEMS = 1000000 };

static Seq *range_items(Ev *ev, const Range *r, Span at) {
  Val parts[3] = {r->lo, r->hi, r->step};
  int64_t n[3];
  for (int i = 0; i < 3; i++) {
    ev_need(ev, parts[i]);
    if (parts[i].kind == V_EXPR && ex_const(parts[i].expr, &n[i])) continue;
    if (!v_is_int(parts[i]))
      ev_fail(ev, DIAG_RT_CONTEXT, at, "a range", "loop over it in a kernel with T.serial");
    n[i] = v_as_int(parts[i]);
  }
  Val out = v_seq(ev, V_LIST, 0);
  for (int64_t i = n[0]; n[2] > 0 ? i < n[1] : i > n[1];) {
    if (out.seq->len >= MAX_ITEMS)
      ev_fail(ev, DIAG_TOO_LONG, at, (long long)MAX_ITEMS + 1, MAX_ITEMS);
    v_push(ev, out.seq, v_int(i));
    if (__builtin_add_overflow(i, n[2], &i)) break;
  }
  ev_charge(ev, out.seq->len / 4);
  return out.seq;
}

static Seq *str_items(Ev *ev, const Str *s) {
  Val out = v_seq(ev, V_LIST, s->len);
  for (int i = 0; i < s->len;) {
    int n = 1; // one UTF-8 character
    while (i + n < s->len && ((unsigned char)s->data[i + n] & 0xc0) == 0x80) n++;
    v_push(ev, out.seq, v_strn(ev, s->data + i, n));
    i += n;
  }
  return out.seq;
}

Seq *ev_items(Ev *ev, Val v, Span at) {
  ev_need(ev, v);
  Val out;
  switch (v.kind) {
  case V_TUPLE:
  case V_LIST:
    out = v_seq(ev, V_LIST, v.seq->len);
    for (int i = 0; i < v.seq->len; i++) v_push(ev, out.seq, v.seq->data[i]);
    ev_charge(ev, v.seq->len / 4);
    return out.seq;
  case V_DICT:
  case V_SET:
    out = v_seq(ev, V_LIST, v.dict->live);
    for (int i = 0; i < v.dict->entries.len; i++) {
      if (!v.dict->entries.data[i].dead) v_push(ev, out.seq, v.dict->entries.data[i].key);
    }
    return out.seq;
  case V_RANGE: return range_items(ev, v.range, at);
  case V_CLASS:
    if (v.cls->is_enum) return obj_members(ev, v.cls);
    ev_fail(ev, DIAG_NOT_ITERABLE, at, v_brief(ev, v), v_kind(ev, v));
  case V_DTYPE: return str_items(ev, v_str(ev, dt_name(v.dtype)).str);
  case V_STR: return str_items(ev, v.str);
  case V_OPAQUE: ev_opaque(ev, at, v.opaque->what);
  case V_EXPR: ev_fail(ev, DIAG_RT_CONTEXT, at, "iteration", "loop with T.serial(n)");
  default: ev_fail(ev, DIAG_NOT_ITERABLE, at, v_brief(ev, v), v_kind(ev, v));
  }
}

typedef struct {
  const AstExpr *e;
  Val out;     // list, set or dict
  Val unknown; // V_UNSET, or what made the whole unknown
} Comp;

static void element(Ev *ev, Comp *c) {
  Val v = ev_expr(ev, c->e->comp.element);
  switch (c->e->kind) {
  case AST_DICT_COMP:
    dict_set(ev, c->out.dict, ev_expr(ev, c->e->comp.key), v, c->e->span);
    break;
  case AST_SET_COMP: dict_set(ev, c->out.dict, v, v_none(), c->e->span); break;
  default: v_push(ev, c->out.seq, v); break;
  }
}

static void clause(Ev *ev, Comp *c, int k) {
  if (k == c->e->comp.nclauses) {
    element(ev, c);
    return;
  }
  const AstClause *cl = &c->e->comp.clauses[k];
  Val iter = ev_expr(ev, cl->iter);
  if (ev_unknown(iter)) {
    c->unknown = iter;
    return;
  }
  Seq *items = ev_items(ev, iter, cl->iter->span);
  for (int i = 0; i < items->len && c->unknown.kind == V_UNSET; i++) {
    ev_step(ev, cl->target->span);
    ev_assign(ev, cl->target, items->data[i], cl->target->span);
    bool keep = true;
    for (int j = 0; j < cl->conditions.len && keep; j++) {
      Val cond = ev_expr(ev, cl->conditions.data[j]);
      if (ev_unknown(cond)) {
        c->unknown = cond;
        return;
      }
      keep = ev_truth(ev, cond, cl->conditions.data[j]->span);
    }
    if (keep) clause(ev, c, k + 1);
  }
}

Val ev_comp(Ev *ev, const AstExpr *e) {
  Comp c = {.e = e};
  c.out = e->kind == AST_DICT_COMP  ? v_dict(ev, V_DICT)
          : e->kind == AST_SET_COMP ? v_dict(ev, V_SET)
                                    : v_seq(ev, V_LIST, 0);
  Env *outer = ev->env;
  ev->env = env_new(ev, outer);
  ev->env->function = false;
  clause(ev, &c, 0);
  ev->env = outer;
  return c.unknown.kind == V_UNSET ? c.out : c.unknown;
}
