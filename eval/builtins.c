// Python's builtin functions.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include "eval/handlers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 1000000 };

static Val list_of(Seq *s, ValKind kind) { return (Val){.kind = kind, .seq = s}; }

Val b_len(Ev *ev, Call *c) {
  Val v = c->arg[0];
  switch (v.kind) {
  case V_STR: {
    int n = 0;
    for (int i = 0; i < v.str->len; i++) n += ((unsigned char)v.str->data[i] & 0xc0) != 0x80;
    return v_int(n);
  }
  case V_TUPLE:
  case V_LIST: return v_int(v.seq->len);
  case V_DICT:
  case V_SET: return v_int(v.dict->live);
  case V_RANGE: return v_int(ev_items(ev, v, c->at[0])->len);
  default: ev_fail(ev, DIAG_OPERAND, c->at[0], "len", v_kind(ev, v), "a sequence, dict or set");
  }
}

Val b_range(Ev *ev, Call *c) {
  bool one = c->arg[1].kind == V_UNSET;
  Range *r = NEW(ev->arena, Range);
  r->lo = one ? v_int(0) : c->arg[0];
  r->hi = one ? c->arg[0] : c->arg[1];
  r->step = c->arg[2].kind == V_UNSET ? v_int(1) : c->arg[2];
  for (int i = 0; i < 3; i++) {
    if (ev_unknown(c->arg[i])) return c->arg[i];
    if (c->arg[i].kind != V_UNSET) (void)dev_index(ev, c->arg[i], c->at[i]);
  }
  if (v_is_int(r->step) && v_as_int(r->step) == 0)
    ev_fail(ev, DIAG_ZERO_DIVISION, c->at[2], "a range step of 0");
  return (Val){.kind = V_RANGE, .range = r};
}

// min and max: of the operands, or of the only one's items.
static Val extreme(Ev *ev, Call *c, bool max) {
  Seq *items = c->rest;
  if (items->len == 1) {
    if (ev_unknown(items->data[0])) return items->data[0];
    items = ev_items(ev, items->data[0], c->span);
  }
  if (!items->len) {
    if (c->arg[1].kind != V_UNSET) return c->arg[1];
    ev_fail(ev, DIAG_EMPTY, c->span, max ? "max" : "min");
  }
  Val best = items->data[0], best_key = best;
  bool keyed = c->arg[0].kind != V_UNSET && c->arg[0].kind != V_NONE;
  if (keyed) best_key = ev_call_args(ev, c->arg[0], c->span, 1, &best);
  for (int i = 1; i < items->len; i++) {
    Val v = items->data[i], key = keyed ? ev_call_args(ev, c->arg[0], c->span, 1, &v) : v;
    if (ev_unknown(key)) return key;
    if (dev_ok(key) && dev_ok(best_key) && (key.kind == V_EXPR || best_key.kind == V_EXPR)) {
      Expr *x, *y;
      dev_pair(ev, best, v, &x, &y, c->span);
      best = best_key = dev_wrap(ev, ex_bin(ev->arena, max ? BIN_MAX : BIN_MIN, x, y), c->span,
                                 best, v, v_none());
      continue;
    }
    Val less = max ? ev_compare(ev, AST_OP_LT, best_key, key, c->span)
                   : ev_compare(ev, AST_OP_LT, key, best_key, c->span);
    if (ev_unknown(less)) return less;
    if (!ev_truth(ev, less, c->span)) continue;
    best = v;
    best_key = key;
  }
  return best;
}

Val b_min(Ev *ev, Call *c) { return extreme(ev, c, false); }
Val b_max(Ev *ev, Call *c) { return extreme(ev, c, true); }

Val b_sum(Ev *ev, Call *c) {
  Seq *items = ev_items(ev, c->arg[0], c->at[0]);
  Val acc = c->arg[1].kind == V_UNSET ? v_int(0) : c->arg[1];
  for (int i = 0; i < items->len; i++)
    acc = ev_binary(ev, AST_OP_ADD, acc, items->data[i], c->span);
  return acc;
}

Val b_abs(Ev *ev, Call *c) {
  Val v = c->arg[0];
  if (v.kind == V_FLOAT) return v_float(fabs(v.f));
  if (v_is_int(v))
    return v_as_int(v) < 0 ? ev_unary(ev, AST_OP_NEG, v, c->span) : v_int(v_as_int(v));
  Expr *x = dev_expr(ev, v, c->at[0]);
  return dev_wrap(ev, ex_math(ev->arena, MATH_ABS, &x, 1), c->span, v, v_none(), v_none());
}

static Val int_of_text(Ev *ev, Call *c) {
  const char *s = c->arg[0].str->data;
  int base = c->arg[1].kind == V_UNSET ? 10 : (int)arg_int(ev, c, 1, 10);
  char *end;
  long long v =
      base == 0 || (base >= 2 && base <= 36) ? strtoll(s, &end, base) : (end = (char *)s, 0);
  while (*end == ' ') end++;
  if (end == s || *end || v == INT64_MAX || v == INT64_MIN)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, c->arg[0]), "an int");
  return v_int(v);
}

Val b_int(Ev *ev, Call *c) {
  Val v = c->arg[0];
  int64_t k;
  if (v.kind == V_UNSET) return v_int(0);
  if (v.kind == V_STR) return int_of_text(ev, c);
  if (v_is_int(v)) return v_int(v_as_int(v));
  if (v.kind == V_EXPR && ex_const(v.expr, &k)) return v_int(k);
  if (v.kind == V_EXPR)
    ev_fail(ev, DIAG_RT_CONTEXT, c->span, "int()", "cast with T.cast(x, T.int32)");
  if (v.kind != V_FLOAT || isnan(v.f) || fabs(v.f) >= 9.2e18)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, v), "an int");
  return v_int((int64_t)v.f);
}

Val b_float(Ev *ev, Call *c) {
  Val v = c->arg[0];
  if (v.kind == V_UNSET) return v_float(0);
  if (v_is_num(v)) return v_float(v_as_float(v));
  if (v.kind == V_EXPR && v.expr->kind == EX_FLOAT) return v_float(v.expr->u.f);
  if (v.kind == V_EXPR)
    ev_fail(ev, DIAG_RT_CONTEXT, c->span, "float()", "cast with T.cast(x, T.float32)");
  char *end = NULL;
  double f = v.kind == V_STR ? strtod(v.str->data, &end) : 0;
  if (v.kind != V_STR || end == v.str->data || *end)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, v), "a float");
  return v_float(f);
}

Val b_bool(Ev *ev, Call *c) {
  if (c->arg[0].kind == V_UNSET) return v_bool(false);
  if (ev_is_rt(c->arg[0])) return v_expr(ev_cond(ev, c->arg[0], c->span), c->arg[0].size);
  return v_bool(ev_truth(ev, c->arg[0], c->at[0]));
}

Val b_str(Ev *ev, Call *c) {
  return v_str(ev, c->arg[0].kind == V_UNSET ? "" : v_text(ev, c->arg[0]));
}

Val b_repr(Ev *ev, Call *c) { return v_str(ev, v_repr(ev, c->arg[0])); }

static Seq *items_or_none(Ev *ev, Call *c) {
  if (c->arg[0].kind == V_UNSET) return v_seq(ev, V_LIST, 0).seq;
  return ev_items(ev, c->arg[0], c->at[0]);
}

Val b_list(Ev *ev, Call *c) { return list_of(items_or_none(ev, c), V_LIST); }
Val b_tuple(Ev *ev, Call *c) { return list_of(items_or_none(ev, c), V_TUPLE); }

Val b_set(Ev *ev, Call *c) {
  Seq *s = items_or_none(ev, c);
  Val d = v_dict(ev, V_SET);
  for (int i = 0; i < s->len; i++) dict_set(ev, d.dict, s->data[i], v_none(), c->span);
  return d;
}

static void dict_add(Ev *ev, Dict *d, Val x, Span at) {
  if (x.kind == V_DICT) {
    for (int i = 0; i < x.dict->entries.len; i++) {
      const DictEntry *e = &x.dict->entries.data[i];
      if (!e->dead) dict_set(ev, d, e->key, e->value, at);
    }
    return;
  }
  Seq *s = ev_items(ev, x, at);
  for (int i = 0; i < s->len; i++) {
    Seq *pair = ev_items(ev, s->data[i], at);
    if (pair->len != 2) ev_fail(ev, DIAG_UNPACK, at, pair->len, 2);
    dict_set(ev, d, pair->data[0], pair->data[1], at);
  }
}

Val b_zip(Ev *ev, Call *c) {
  int n = c->rest->len, len = 0;
  Seq **s = NEWN(ev->arena, Seq *, n);
  for (int i = 0; i < n; i++) {
    s[i] = ev_items(ev, c->rest->data[i], c->span);
    if (!i || s[i]->len < len) len = s[i]->len;
  }
  Val out = v_seq(ev, V_LIST, len);
  for (int k = 0; k < len; k++) {
    Val t = v_seq(ev, V_TUPLE, n);
    for (int i = 0; i < n; i++) v_push(ev, t.seq, s[i]->data[k]);
    v_push(ev, out.seq, t);
  }
  return out;
}

Val b_dict(Ev *ev, Call *c) {
  Val d = v_dict(ev, V_DICT);
  if (ev_unknown(c->arg[0])) return c->arg[0];
  if (c->arg[0].kind != V_UNSET) dict_add(ev, d.dict, c->arg[0], c->at[0]);
  for (int i = 0; i < c->kw.len; i++)
    dict_set(ev, d.dict, v_str(ev, c->kw.data[i].name), c->kw.data[i].v, c->kw.data[i].at);
  return d;
}

Val b_enumerate(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  int64_t start = arg_int(ev, c, 1, 0);
  Val out = v_seq(ev, V_LIST, s->len);
  for (int i = 0; i < s->len; i++) v_push(ev, out.seq, v_pair(ev, v_int(start + i), s->data[i]));
  return out;
}

Val b_reversed(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  Val out = v_seq(ev, V_LIST, s->len);
  for (int i = s->len - 1; i >= 0; i--) v_push(ev, out.seq, s->data[i]);
  return out;
}

// Merge sort on (key, value) pairs: stable, as Python's.
static void merge_sort(Ev *ev, Val *v, Val *tmp, int n, bool down, Span at) {
  if (n < 2) return;
  int half = n / 2;
  merge_sort(ev, v, tmp, half, down, at);
  merge_sort(ev, v + half, tmp, n - half, down, at);
  memcpy(tmp, v, sizeof *v * (size_t)half);
  int i = 0, j = half, k = 0;
  while (i < half && j < n) {
    ev_step(ev, at);
    Val a = tmp[i].seq->data[0], b = v[j].seq->data[0];
    Val first = down ? ev_compare(ev, AST_OP_LT, a, b, at) : ev_compare(ev, AST_OP_LT, b, a, at);
    v[k++] = ev_truth(ev, first, at) ? v[j++] : tmp[i++];
  }
  while (i < half) v[k++] = tmp[i++];
}

Val b_sorted(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  bool keyed = c->arg[1].kind != V_UNSET && c->arg[1].kind != V_NONE;
  for (int i = 0; i < s->len; i++) {
    Val key = keyed ? ev_call_args(ev, c->arg[1], c->span, 1, &s->data[i]) : s->data[i];
    if (ev_unknown(key)) return key;
    s->data[i] = v_pair(ev, key, s->data[i]);
  }
  merge_sort(ev, s->data, NEWN(ev->arena, Val, s->len), s->len, arg_bool(ev, c, 2, false), c->span);
  for (int i = 0; i < s->len; i++) s->data[i] = s->data[i].seq->data[1];
  return list_of(s, V_LIST);
}

Val b_map(Ev *ev, Call *c) {
  Val f = c->arg[0];
  Val rows = b_zip(ev, c);
  for (int i = 0; i < rows.seq->len; i++) {
    Seq *row = rows.seq->data[i].seq;
    rows.seq->data[i] = ev_call_args(ev, f, c->span, row->len, row->data);
  }
  return rows;
}

Val b_filter(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[1], c->at[1]);
  Val out = v_seq(ev, V_LIST, 0);
  for (int i = 0; i < s->len; i++) {
    Val keep = c->arg[0].kind == V_NONE ? s->data[i]
                                        : ev_call_args(ev, c->arg[0], c->span, 1, &s->data[i]);
    if (ev_unknown(keep)) return keep;
    if (ev_truth(ev, keep, c->span)) v_push(ev, out.seq, s->data[i]);
  }
  return out;
}

static Val quantify(Ev *ev, Call *c, bool stop) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  for (int i = 0; i < s->len; i++) {
    if (ev_unknown(s->data[i])) return s->data[i];
    if (ev_truth(ev, s->data[i], c->at[0]) == stop) return v_bool(stop);
  }
  return v_bool(!stop);
}

Val b_any(Ev *ev, Call *c) { return quantify(ev, c, true); }
Val b_all(Ev *ev, Call *c) { return quantify(ev, c, false); }
