// Integer expressions as sums of terms, without any facts.
// SPDX-License-Identifier: MIT
#include "ir/ir.h"

typedef struct {
  Arena *arena;
  Affine out;
  int cap;
  bool overflow;
} Sum;

static void add_term(Sum *s, Expr *x, int64_t k) {
  for (int i = 0; i < s->out.n; i++) {
    if (!ex_equal(s->out.term[i], x)) continue;
    s->overflow |= __builtin_add_overflow(s->out.coeff[i], k, &s->out.coeff[i]);
    return;
  }
  if (s->out.n == s->cap) {
    int cap = s->cap ? s->cap * 2 : 4;
    Expr **term = NEWN(s->arena, Expr *, cap);
    int64_t *coeff = NEWN(s->arena, int64_t, cap);
    for (int i = 0; i < s->out.n; i++) {
      term[i] = s->out.term[i];
      coeff[i] = s->out.coeff[i];
    }
    s->out.term = term;
    s->out.coeff = coeff;
    s->cap = cap;
  }
  s->out.term[s->out.n] = x;
  s->out.coeff[s->out.n++] = k;
}

static void add_expr(Sum *s, Expr *x, int64_t k) {
  int64_t c, p;
  bool sum = x->type == DT_INDEX && x->kind == EX_BINARY;
  if (ex_const(x, &c) && x->type == DT_INDEX) {
    s->overflow |= __builtin_mul_overflow(c, k, &p) ||
                   __builtin_add_overflow(s->out.constant, p, &s->out.constant);
  } else if (x->type == DT_INDEX && x->kind == EX_UNARY && x->u.un.op == UN_NEG && k != INT64_MIN) {
    add_expr(s, x->u.un.a, -k);
  } else if (sum && (x->u.bin.op == BIN_ADD || (x->u.bin.op == BIN_SUB && k != INT64_MIN))) {
    add_expr(s, x->u.bin.a, k);
    add_expr(s, x->u.bin.b, x->u.bin.op == BIN_ADD ? k : -k);
  } else if (sum && x->u.bin.op == BIN_MUL && ex_const(x->u.bin.b, &c)) {
    s->overflow |= __builtin_mul_overflow(c, k, &p);
    add_expr(s, x->u.bin.a, p);
  } else if (sum && x->u.bin.op == BIN_SHL && ex_const(x->u.bin.b, &c) && c >= 0 && c < 62) {
    s->overflow |= __builtin_mul_overflow((int64_t)1 << c, k, &p);
    add_expr(s, x->u.bin.a, p);
  } else {
    add_term(s, x, k);
  }
}

Affine ex_affine(Arena *a, Expr *x) {
  Sum s = {.arena = a};
  add_expr(&s, x, 1);
  if (s.overflow) { // nothing is known of the sum but itself
    s = (Sum){.arena = a};
    add_term(&s, x, 1);
  }
  Affine r = s.out;
  r.n = 0;
  for (int i = 0; i < s.out.n; i++) {
    if (!s.out.coeff[i]) continue;
    r.term[r.n] = s.out.term[i];
    r.coeff[r.n++] = s.out.coeff[i];
  }
  return r;
}

Expr *ex_from_affine(Arena *a, const Affine *x) {
  Expr *r = NULL;
  for (int i = 0; i < x->n; i++) {
    int64_t c = x->coeff[i];
    bool minus = r && c < 0 && c != INT64_MIN;
    Expr *t = ex_mul(a, ex_cast(a, DT_INDEX, x->term[i]), ex_index(a, minus ? -c : c));
    r = !r ? t : minus ? ex_sub(a, r, t) : ex_add(a, r, t);
  }
  Expr *c = ex_index(a, x->constant);
  return r ? ex_add(a, r, c) : c;
}
