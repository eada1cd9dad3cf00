// The parts of math, itertools, functools and operator that kernels and their tuning spaces use.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include "eval/handlers.h"

#include <math.h>

enum { MAX_ITEMS = 1000000 };

static double real(Ev *ev, Call *c, int i) {
  Val v = c->arg[i];
  if (v_is_num(v)) return v_as_float(v);
  ev_need(ev, v);
  if (v.kind == V_EXPR && v.expr->kind == EX_FLOAT) return v.expr->u.f;
  int64_t k;
  if (v.kind == V_EXPR && ex_const(v.expr, &k)) return (double)k;
  ev_fail(ev, DIAG_OPERAND, c->at[i], c->fn->name, v_kind(ev, v),
          v.kind == V_EXPR ? "a compile-time number; the T.* functions take run-time values"
                           : "a number");
}

static Val to_int(Ev *ev, Call *c, double f) {
  if (isnan(f) || fabs(f) >= 9.2e18)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, c->arg[0]), "an int");
  return v_int((int64_t)f);
}

Val m_ceil(Ev *ev, Call *c) {
  return v_is_int(c->arg[0]) ? v_int(v_as_int(c->arg[0])) : to_int(ev, c, ceil(real(ev, c, 0)));
}

Val m_floor(Ev *ev, Call *c) {
  return v_is_int(c->arg[0]) ? v_int(v_as_int(c->arg[0])) : to_int(ev, c, floor(real(ev, c, 0)));
}

static double domain(Ev *ev, Call *c, double x, bool ok, const char *rule) {
  if (!ok) ev_fail(ev, DIAG_MATH_DOMAIN, c->at[0], c->fn->name, v_brief(ev, c->arg[0]), rule);
  return x;
}

Val m_sqrt(Ev *ev, Call *c) {
  double x = real(ev, c, 0);
  return v_float(sqrt(domain(ev, c, x, !(x < 0), "its operand must be at least 0")));
}

Val m_isqrt(Ev *ev, Call *c) {
  int64_t n = arg_int(ev, c, 0, 0);
  if (n < 0) domain(ev, c, 0, false, "its operand must be at least 0");
  int64_t r = (int64_t)sqrt((double)n);
  while (r > 0 && r > n / r) r--;
  while (r + 1 <= n / (r + 1)) r++;
  return v_int(r);
}

static double positive(Ev *ev, Call *c) {
  double x = real(ev, c, 0);
  return domain(ev, c, x, !(x <= 0), "its operand must be above 0");
}

Val m_log(Ev *ev, Call *c) {
  double x = positive(ev, c);
  if (c->arg[1].kind == V_UNSET) return v_float(log(x));
  double base = real(ev, c, 1);
  if (!(base > 0) || base == 1)
    ev_fail(ev, DIAG_MATH_DOMAIN, c->at[1], c->fn->name, v_brief(ev, c->arg[0]),
            "its base must be above 0 and not 1");
  return v_float(log(x) / log(base));
}

Val m_log2(Ev *ev, Call *c) { return v_float(log2(positive(ev, c))); }
Val m_log10(Ev *ev, Call *c) { return v_float(log10(positive(ev, c))); }

static Val in_range(Ev *ev, Call *c, double r) {
  if (isinf(r) && !isinf(real(ev, c, 0)))
    ev_fail(ev, DIAG_OVERFLOW, c->span, arena_printf(ev->arena, "%s()", c->fn->name));
  return v_float(r);
}

Val m_exp(Ev *ev, Call *c) { return in_range(ev, c, exp(real(ev, c, 0))); }
Val m_exp2(Ev *ev, Call *c) { return in_range(ev, c, exp2(real(ev, c, 0))); }
Val m_sin(Ev *ev, Call *c) { return v_float(sin(real(ev, c, 0))); }
Val m_cos(Ev *ev, Call *c) { return v_float(cos(real(ev, c, 0))); }
Val m_tanh(Ev *ev, Call *c) { return v_float(tanh(real(ev, c, 0))); }
Val m_fabs(Ev *ev, Call *c) { return v_float(fabs(real(ev, c, 0))); }
Val m_isnan(Ev *ev, Call *c) { return v_bool(isnan(real(ev, c, 0))); }
Val m_isinf(Ev *ev, Call *c) { return v_bool(isinf(real(ev, c, 0))); }

Val m_pow(Ev *ev, Call *c) {
  return ev_pow(ev, v_float(real(ev, c, 0)), v_float(real(ev, c, 1)), c->span);
}

static int64_t rest_int(Ev *ev, Call *c, int i) {
  Val v = c->rest->data[i];
  ev_need(ev, v);
  if (!v_is_int(v)) ev_fail(ev, DIAG_OPERAND, c->span, c->fn->name, v_kind(ev, v), "ints");
  int64_t x = v_as_int(v);
  if (x == INT64_MIN)
    ev_fail(ev, DIAG_OVERFLOW, c->span, arena_printf(ev->arena, "%s()", c->fn->name));
  return x < 0 ? -x : x;
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

Val m_gcd(Ev *ev, Call *c) {
  int64_t g = 0;
  for (int i = 0; i < c->rest->len; i++) g = gcd(g, rest_int(ev, c, i));
  return v_int(g);
}

Val m_lcm(Ev *ev, Call *c) {
  Val l = v_int(1);
  for (int i = 0; i < c->rest->len; i++) {
    int64_t x = rest_int(ev, c, i);
    if (!x) return v_int(0);
    l = ev_binary(ev, AST_OP_MUL, l, v_int(x / gcd(l.i, x)), c->span);
  }
  return l;
}

static Val fold(Ev *ev, Call *c, Val acc, AstBinaryOp op) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  for (int i = 0; i < s->len; i++) acc = ev_binary(ev, op, acc, s->data[i], c->span);
  return acc;
}

Val m_prod(Ev *ev, Call *c) {
  return fold(ev, c, c->arg[1].kind == V_UNSET ? v_int(1) : c->arg[1], AST_OP_MUL);
}

/* ------------------------------------------------------------------ itertools */

Val i_product(Ev *ev, Call *c) {
  int64_t repeat = arg_int(ev, c, 0, 1), total = 1;
  int n = c->rest->len;
  if (repeat < 0 || repeat * n > 64) ev_fail(ev, DIAG_TOO_LONG, c->span, (long long)repeat, 64);
  int m = n * (int)repeat;
  Seq *s[64];
  int at[64] = {0};
  for (int i = 0; i < m; i++) {
    s[i] = i < n ? ev_items(ev, c->rest->data[i], c->span) : s[i - n];
    if (__builtin_mul_overflow(total, (int64_t)s[i]->len, &total) || total > MAX_ITEMS)
      ev_fail(ev, DIAG_TOO_LONG, c->span, (long long)total, MAX_ITEMS);
  }
  Val out = v_seq(ev, V_LIST, (int)total);
  for (int64_t k = 0; k < total; k++) {
    ev_step(ev, c->span);
    Val t = v_seq(ev, V_TUPLE, m);
    for (int i = 0; i < m; i++) v_push(ev, t.seq, s[i]->data[at[i]]);
    v_push(ev, out.seq, t);
    for (int i = m - 1; i >= 0 && ++at[i] == s[i]->len; i--) at[i] = 0;
  }
  return out;
}

Val i_chain(Ev *ev, Call *c) {
  Val out = v_seq(ev, V_LIST, 0);
  for (int i = 0; i < c->rest->len; i++) {
    Seq *s = ev_items(ev, c->rest->data[i], c->span);
    for (int j = 0; j < s->len; j++) v_push(ev, out.seq, s->data[j]);
  }
  return out;
}

Val i_repeat(Ev *ev, Call *c) {
  Val one = v_seq(ev, V_LIST, 1);
  v_push(ev, one.seq, c->arg[0]);
  return ev_binary(ev, AST_OP_MUL, one, v_int(arg_int(ev, c, 1, 0)), c->span);
}

static void combine(Ev *ev, Call *c, const Seq *s, int from, Seq *taken, int n, Seq *out) {
  ev_step(ev, c->span);
  if (taken->len == n) {
    Val t = v_seq(ev, V_TUPLE, n);
    for (int i = 0; i < n; i++) v_push(ev, t.seq, taken->data[i]);
    v_push(ev, out, t);
    return;
  }
  for (int i = from; i < s->len; i++) {
    v_push(ev, taken, s->data[i]);
    combine(ev, c, s, i + 1, taken, n, out);
    taken->len--;
  }
}

Val i_combinations(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  int64_t n = arg_int(ev, c, 1, 0);
  Val out = v_seq(ev, V_LIST, 0), taken = v_seq(ev, V_LIST, 0);
  if (n >= 0 && n <= s->len) combine(ev, c, s, 0, taken.seq, (int)n, out.seq);
  return out;
}

Val i_accumulate(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  for (int i = 1; i < s->len; i++)
    s->data[i] = ev_binary(ev, AST_OP_ADD, s->data[i - 1], s->data[i], c->span);
  return (Val){.kind = V_LIST, .seq = s};
}

/* ------------------------------------------------------------------ functools, operator */

static Val partial_call(Ev *ev, Call *c) {
  Seq *held = c->self.seq; // function, positional operands, keyword operands
  Call inner = {.span = c->span};
  Seq *pos = held->data[1].seq;
  Dict *kw = held->data[2].dict;
  for (int i = 0; i < pos->len + c->pos.len; i++) {
    vec_push(ev->arena, &inner.pos, i < pos->len ? pos->data[i] : c->pos.data[i - pos->len]);
    vec_push(ev->arena, &inner.pos_at, c->span);
  }
  for (int i = 0; i < kw->entries.len; i++) {
    const DictEntry *e = &kw->entries.data[i];
    vec_push(ev->arena, &inner.kw, (struct KwArg){e->key.str->data, e->value, c->span, c->span});
  }
  for (int i = 0; i < c->kw.len; i++) vec_push(ev->arena, &inner.kw, c->kw.data[i]);
  return ev_call(ev, held->data[0], &inner);
}

static const Builtin partial = {"functools", "partial", partial_call, ANY, "*rest, **", ""};

Val v_bound(Ev *ev, Val f, Val self) {
  Val pos = v_seq(ev, V_LIST, 1), held = v_seq(ev, V_LIST, 3);
  v_push(ev, pos.seq, self);
  v_push(ev, held.seq, f);
  v_push(ev, held.seq, pos);
  v_push(ev, held.seq, v_dict(ev, V_DICT));
  return v_method(ev, &partial, held);
}

Val f_partial(Ev *ev, Call *c) {
  if (!c->rest->len)
    ev_fail(ev, DIAG_ARG_MISSING, c->span, "functools.partial", "func", "func, *args, **keywords");
  Val pos = v_seq(ev, V_LIST, 0), held = v_seq(ev, V_LIST, 3);
  for (int i = 1; i < c->rest->len; i++) v_push(ev, pos.seq, c->rest->data[i]);
  v_push(ev, held.seq, c->rest->data[0]);
  v_push(ev, held.seq, pos);
  Val kw = v_dict(ev, V_DICT);
  for (int i = 0; i < c->kw.len; i++)
    dict_set(ev, kw.dict, v_str(ev, c->kw.data[i].name), c->kw.data[i].v, c->span);
  v_push(ev, held.seq, kw);
  return v_method(ev, &partial, held);
}

Val f_reduce(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[1], c->at[1]);
  bool start = c->arg[2].kind != V_UNSET;
  if (!s->len && !start) ev_fail(ev, DIAG_EMPTY, c->span, "reduce");
  Val acc = start ? c->arg[2] : s->data[0];
  for (int i = !start; i < s->len; i++)
    acc = ev_call_args(ev, c->arg[0], c->span, 2, (Val[]){acc, s->data[i]});
  return acc;
}

static Val identity(Ev *ev, Call *c) { return c->arg[0]; }

static Val passes_through(Ev *ev) {
  static const Builtin same = {"", "decorator", identity, ANY, "f", ""};
  return (Val){.kind = V_BUILTIN, .builtin = &same};
}

Val f_cache(Ev *ev, Call *c) {
  return c->arg[0].kind == V_FUNC || c->arg[0].kind == V_OPAQUE ? c->arg[0] : passes_through(ev);
}

Val f_wraps(Ev *ev, Call *c) { return passes_through(ev); }

Val o_add(Ev *ev, Call *c) { return ev_binary(ev, AST_OP_ADD, c->arg[0], c->arg[1], c->span); }
Val o_mul(Ev *ev, Call *c) { return ev_binary(ev, AST_OP_MUL, c->arg[0], c->arg[1], c->span); }
