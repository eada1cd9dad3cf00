// Enumeration: which thread touches which bits, by running an address over the threads and the
// private variables of an access. Kept by the shape of the address, which loops and guards leave
// alone.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

enum { ENUM_LIMIT = 1 << 17 };

typedef struct {
  const Var *var[16];
  int64_t value[16];
  int n;
} Env;

// Evaluates an integer expression; false when it needs something outside the environment.
static bool eval(const Env *e, const Expr *x, int64_t *out);

static bool divide(BinOp op, int64_t p, int64_t q, int64_t *out) {
  if (!q) return false;
  int64_t m = p % q;
  bool adjust = m != 0 && (m < 0) != (q < 0);
  *out = op == BIN_FLOORDIV ? p / q - adjust : adjust ? m + q : m;
  return true;
}

static bool shift(BinOp op, int64_t p, int64_t q, int64_t *out) {
  if (q < 0 || q > 40) return false;
  *out = op == BIN_SHL ? p * ((int64_t)1 << q) : p >> q;
  return true;
}

static bool eval_bin(const Env *e, const Expr *x, int64_t *out) {
  int64_t p, q;
  BinOp op = x->u.bin.op;
  if (!eval(e, x->u.bin.a, &p)) return false;
  if (op == BIN_AND && !p) return *out = 0, true;
  if (op == BIN_OR && p) return *out = 1, true;
  if (!eval(e, x->u.bin.b, &q)) return false;
  switch (op) {
  case BIN_ADD: *out = p + q; return true;
  case BIN_SUB: *out = p - q; return true;
  case BIN_MUL: *out = p * q; return true;
  case BIN_FLOORDIV:
  case BIN_FLOORMOD: return divide(op, p, q, out);
  case BIN_MIN: *out = p < q ? p : q; return true;
  case BIN_MAX: *out = p > q ? p : q; return true;
  case BIN_LT: *out = p < q; return true;
  case BIN_LE: *out = p <= q; return true;
  case BIN_EQ: *out = p == q; return true;
  case BIN_NE: *out = p != q; return true;
  case BIN_AND:
  case BIN_OR: *out = q != 0; return true;
  case BIN_BITAND: *out = p & q; return true;
  case BIN_BITOR: *out = p | q; return true;
  case BIN_BITXOR: *out = p ^ q; return true;
  case BIN_SHL:
  case BIN_SHR: return shift(op, p, q, out);
  default: return false;
  }
}

static bool fits(DType t, int64_t v) {
  int bits = dt_bits(t);
  if (t == DT_INDEX || bits >= 64) return true;
  if (t == DT_BOOL) return v == 0 || v == 1;
  return dt_is_signed(t) ? v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1)
                         : v >= 0 && v < (int64_t)1 << bits;
}

static bool eval(const Env *e, const Expr *x, int64_t *out) {
  int64_t p;
  switch (x->kind) {
  case EX_INT: *out = x->u.i; return true;
  case EX_VAR:
    for (int i = 0; i < e->n; i++)
      if (e->var[i] == x->u.var) return *out = e->value[i], true;
    return false;
  case EX_BINARY: return eval_bin(e, x, out) && fits(x->type, *out); // a wrap: not followed
  case EX_UNARY:
    if (!eval(e, x->u.un.a, &p)) return false;
    *out = x->u.un.op == UN_NEG ? -p : x->u.un.op == UN_NOT ? !p : ~p;
    return fits(x->type, *out);
  case EX_CAST:
    if (dt_is_float(x->type) || !eval(e, x->u.cast, &p)) return false;
    *out = x->type == DT_BOOL ? p != 0 : p;
    return fits(x->type, *out);
  case EX_SELECT:
    if (!eval(e, x->u.sel.cond, &p)) return false;
    return eval(e, p ? x->u.sel.yes : x->u.sel.no, out);
  default: return false;
  }
}

typedef struct {
  Sync *s;
  const Pending *acc;
  Shape *shape;
  Env env;
} Run;

static bool enabled(const Run *r) {
  int64_t v;
  for (int i = 0; i < r->acc->at.conds.len; i++)
    if (eval(&r->env, r->acc->at.conds.data[i], &v) && !v) return false;
  return true;
}

static void hit(Run *r) {
  Shape *p = r->shape;
  int64_t v, width = dt_bits(r->acc->buf->dtype);
  if (!enabled(r)) return;
  if (!eval(&r->env, p->rest, &v) || v > (INT64_MAX >> 12) || v < -(INT64_MAX >> 12)) {
    p->exact = false;
    return;
  }
  int64_t from = v * width, to = from + width * r->acc->count;
  if (!p->hits.len || from < p->lo) p->lo = from;
  if (!p->hits.len || to > p->hi) p->hi = to;
  vec_push(r->s->a, &p->hits, ((Hit){from, (int)r->env.value[0]}));
}

static bool counts(const Shape *p, const Private *v) { return ex_uses(p->rest, v->var); }

static void enumerate(Run *r, int depth) {
  const Privates *vars = &r->acc->at.privates;
  while (depth < vars->len && !counts(r->shape, &vars->data[depth])) depth++; // at most in guards
  if (depth == vars->len) {
    hit(r);
    return;
  }
  int64_t min = 0, extent = 0;
  ex_const(vars->data[depth].min, &min);
  ex_const(vars->data[depth].extent, &extent);
  int at = r->env.n++;
  r->env.var[at] = vars->data[depth].var;
  for (int64_t i = 0; i < extent && r->shape->exact; i++) {
    r->env.value[at] = min + i;
    enumerate(r, depth + 1);
  }
  r->env.n--;
}

// Is it small enough, its ranges known?
static bool feasible(const Sync *s, const Pending *acc, const Shape *p) {
  int64_t n = s->kernel->threads, min, extent;
  int used = 1;
  for (int i = 0; i < acc->at.privates.len; i++) {
    const Private *v = &acc->at.privates.data[i];
    if (!counts(p, v)) continue;
    if (++used > 15 || !ex_const(v->min, &min) || !ex_const(v->extent, &extent)) return false;
    if (__builtin_mul_overflow(n, extent, &n)) return false;
  }
  return n <= ENUM_LIMIT;
}

static bool same_shape(const Shape *p, const Pending *acc, const Expr *rest) {
  const Pending *q = p->acc;
  if (q->buf->dtype != acc->buf->dtype || q->count != acc->count || !ex_equal(p->rest, rest))
    return false;
  if (q->at.conds.len != acc->at.conds.len || q->at.privates.len != acc->at.privates.len)
    return false;
  for (int i = 0; i < acc->at.conds.len; i++)
    if (!ex_equal(q->at.conds.data[i], acc->at.conds.data[i])) return false;
  for (int i = 0; i < acc->at.privates.len; i++) {
    const Private *v = &q->at.privates.data[i], *w = &acc->at.privates.data[i];
    if (v->var != w->var || !ex_equal(v->min, w->min) || !ex_equal(v->extent, w->extent))
      return false;
  }
  return true;
}

const Shape *sync_shape(Sync *s, const Pending *acc, Expr *rest, const Var *thread) {
  for (int i = 0; i < s->shapes.len; i++)
    if (same_shape(s->shapes.data[i], acc, rest)) return s->shapes.data[i];
  Shape *p = NEW(s->a, Shape);
  *p = (Shape){.acc = acc, .rest = rest};
  vec_push(s->a, &s->shapes, p);
  p->exact = feasible(s, acc, p);
  Run r = {s, acc, p, {.var = {thread}, .n = 1}};
  for (int t = 0; t < s->kernel->threads && p->exact; t++) {
    r.env.value[0] = t;
    enumerate(&r, 0);
  }
  return p;
}

static int64_t gcd(int64_t x, int64_t y) { return y ? gcd(y, x % y) : x; }
static int64_t mag(int64_t x) { return x < 0 ? -x : x; }

bool sync_overlap(Sync *s, const Shape *x, const Shape *y, int64_t shift, bool any) {
  enum { MAP_LIMIT = 1 << 20, NONE = -1, SEVERAL = -2 };
  int64_t wx = dt_bits(x->acc->buf->dtype) * x->acc->count,
          wy = dt_bits(y->acc->buf->dtype) * y->acc->count;
  int64_t unit = gcd(gcd(dt_bits(x->acc->buf->dtype), dt_bits(y->acc->buf->dtype)), mag(shift));
  int64_t n = (x->hi - x->lo) / unit;
  if (unit < 4 || n > MAP_LIMIT) return true;
  int16_t *owner = NEWN(s->a, int16_t, n);
  for (int64_t i = 0; i < n; i++) owner[i] = NONE;
  for (int i = 0; i < x->hits.len; i++) {
    const Hit *h = &x->hits.data[i];
    int16_t *o = &owner[(h->from - x->lo) / unit];
    for (int64_t u = 0; u < wx / unit; u++)
      o[u] = (int16_t)(o[u] == NONE || o[u] == h->thread ? h->thread : SEVERAL);
  }
  for (int i = 0; i < y->hits.len; i++) {
    const Hit *h = &y->hits.data[i];
    int64_t at = (h->from + shift - x->lo) / unit;
    if (h->from + shift < x->lo) at = -1 - (x->lo - h->from - shift - 1) / unit;
    for (int64_t u = at < 0 ? 0 : at; u < at + wy / unit && u < n; u++)
      if (owner[u] != NONE && (any || owner[u] != h->thread)) return true;
  }
  return false;
}

bool sync_repeats(Sync *s, const Pending *b) {
  Parts part;
  int64_t one;
  if (!sync_parts(s, b, subst_expr(&s->exact, b->at.index), &part)) return true;
  const Shape *p = sync_shape(s, b, part.rest, s->kernel->thread);
  if (!p->exact) return true;
  for (int i = 0; i < b->at.privates.len; i++) {
    const Private *v = &b->at.privates.data[i];
    if (!counts(p, v) && (!ex_const(v->extent, &one) || one > 1)) return true;
  }
  int64_t width = dt_bits(b->buf->dtype) * b->count, n = (p->hi - p->lo) / 4 + 1;
  if (n > 1 << 22) return true;
  bool *seen = NEWN(s->a, bool, n);
  for (int i = 0; i < p->hits.len; i++) {
    int64_t at = (p->hits.data[i].from - p->lo) / 4;
    for (int64_t u = 0; u < width / 4; u++) {
      if (seen[at + u]) return true;
      seen[at + u] = true;
    }
  }
  return false;
}
