// The conflict test. Addresses are affine: a part uniform over the block and a part of the thread and
// private variables. Uniform parts are compared symbolically, the rest by its range and, when that does
// not decide, by enumerating which thread touches which bits.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

#include <string.h>

enum { ENUM_LIMIT = 1 << 17, MAP_LIMIT = 1 << 20 };

typedef enum { KIND_CONST, KIND_UNIFORM, KIND_PRIVATE, KIND_UNKNOWN } Kind;

typedef struct {
  Sync *s;
  const Pending *acc;
  bool uniform, private, unknown;
} Classify;

static bool is_private(const Pending *p, const Var *v) {
  for (int i = 0; i < p->at.privates.len; i++)
    if (p->at.privates.data[i].var == v) return true;
  return false;
}

static void classify_node(void *ctx, Expr *x) {
  Classify *c = ctx;
  if (x->kind == EX_LOAD) c->unknown = true;
  if (x->kind != EX_VAR) return;
  const Var *v = x->u.var;
  for (int i = 0; i < c->s->unknown.len; i++)
    if (c->s->unknown.data[i] == v) c->unknown = true;
  if (v == c->s->other || v == c->s->kernel->thread || is_private(c->acc, v)) c->private = true;
  else c->uniform = true;
}

static Kind classify(Sync *s, const Pending *acc, Expr *x) {
  Classify c = {s, acc, false, false, false};
  ex_walk(x, classify_node, &c);
  if (c.unknown || (c.uniform && c.private)) return KIND_UNKNOWN;
  return c.private ? KIND_PRIVATE : c.uniform ? KIND_UNIFORM : KIND_CONST;
}

// An address in bits: sum of base terms, a ring term slot * pitch where there is one, and `rest`, which
// depends on the thread and private variables only.
typedef struct {
  bool split;       // false: the parts could not be told apart; only lo and hi hold
  Expr *base;       // uniform, the ring term left out
  Expr *slot;       // floormod of something uniform; NULL: none
  int64_t pitch;
  Expr *rest;
  int64_t lo, hi;   // bits touched by rest (split), or by the whole address: [lo, hi)
  int64_t bits;     // width of one access
} Address;

static bool is_slot(const Expr *x) {
  int64_t m;
  return x->kind == EX_BINARY && x->u.bin.op == BIN_FLOORMOD && ex_const(x->u.bin.b, &m);
}

static void push_ranges(Sync *s, const Pending *p) {
  for (int i = 0; i < p->at.privates.len; i++)
    facts_push_loop(s->facts, p->at.privates.data[i].var, p->at.privates.data[i].min,
                    p->at.privates.data[i].extent);
  for (int i = 0; i < p->at.conds.len; i++) facts_push_cond(s->facts, p->at.conds.data[i]);
}

static int64_t buffer_bits(const Buffer *b) {
  int64_t n = 1, v;
  for (int i = 0; i < b->ndim; i++) {
    if (!ex_const(b->shape[i], &v)) return INT64_MAX / 4;
    if (__builtin_mul_overflow(n, v, &n)) return INT64_MAX / 4;
  }
  return n > INT64_MAX / 512 ? INT64_MAX / 4 : n * dt_bits(b->dtype);
}

static int64_t start_bits(const Buffer *b) { return b->scope == SC_SHARED ? b->offset * 8 : 0; }

// The range of x times width, clipped to the buffer, which no access leaves.
static void clip(Sync *s, Expr *x, int64_t width, const Pending *acc, Address *out) {
  int64_t lo, hi, size = buffer_bits(acc->buf), start = start_bits(acc->buf);
  facts_bounds(s->facts, x, &lo, &hi);
  out->lo = lo < 0 ? start : start + lo * width;
  out->hi = hi > (size - out->bits) / width ? start + size : start + hi * width + out->bits;
}

static Address address_of(Sync *s, const Pending *acc, Expr *index) {
  Arena *a = s->a;
  int64_t width = dt_bits(acc->buf->dtype);
  Address out = {.split = true, .bits = width * acc->count};
  Affine f = ex_affine(a, index);
  Affine base = {0, NEWN(a, Expr *, f.n), NEWN(a, int64_t, f.n), 0}, rest = base;
  rest.term = NEWN(a, Expr *, f.n);
  rest.coeff = NEWN(a, int64_t, f.n);
  for (int i = 0; i < f.n; i++) {
    Kind kind = classify(s, acc, f.term[i]);
    if (kind == KIND_UNKNOWN) out.split = false;
    if (kind == KIND_UNIFORM && !out.slot && is_slot(f.term[i])) {
      out.slot = f.term[i];
      out.pitch = f.coeff[i] * width;
      continue;
    }
    Affine *part = kind == KIND_PRIVATE ? &rest : &base;
    part->term[part->n] = f.term[i];
    part->coeff[part->n++] = f.coeff[i];
  }
  if (!out.split) {
    clip(s, index, width, acc, &out);
    return out;
  }
  rest.constant = f.constant;
  out.base = ex_from_affine(a, &base);
  out.rest = ex_from_affine(a, &rest);
  int64_t lo, hi;
  facts_bounds(s->facts, out.rest, &lo, &hi);
  bool wide = lo < -(INT64_MAX >> 12) || hi > INT64_MAX >> 12;
  out.lo = wide ? -(INT64_MAX / 4) : start_bits(acc->buf) + lo * width;
  out.hi = wide ? INT64_MAX / 4 : start_bits(acc->buf) + hi * width + out.bits;
  return out;
}

// As written first: under a guard like k + 2 < 4 a ring term (k + 2) % 3 would become k + 2.
static Address address(Sync *s, const Pending *acc) {
  Expr *index = subst_expr(&s->exact, acc->at.index);
  Address out = address_of(s, acc, index);
  return out.split ? out : address_of(s, acc, facts_simplify(s->facts, index));
}

/* enumeration */

typedef struct {
  const Var *var[16];
  int64_t value[16];
  int n;
} Env;

// Evaluates an integer expression; false when it needs something outside the environment.
static bool eval(const Env *e, const Expr *x, int64_t *out);

static bool eval_bin(const Env *e, const Expr *x, int64_t *out) {
  int64_t p, q;
  BinOp op = x->u.bin.op;
  if (!eval(e, x->u.bin.a, &p)) return false;
  if (op == BIN_AND && !p) return *out = 0, true;
  if (op == BIN_OR && p) return *out = 1, true;
  if (!eval(e, x->u.bin.b, &q)) return false;
  int64_t m = q ? p % q : 0;
  bool adjust = q && m != 0 && (m < 0) != (q < 0);
  switch (op) {
  case BIN_ADD: *out = p + q; break;
  case BIN_SUB: *out = p - q; break;
  case BIN_MUL: *out = p * q; break;
  case BIN_FLOORDIV:
    if (!q) return false;
    *out = p / q - adjust;
    break;
  case BIN_FLOORMOD:
    if (!q) return false;
    *out = adjust ? m + q : m;
    break;
  case BIN_MIN: *out = p < q ? p : q; break;
  case BIN_MAX: *out = p > q ? p : q; break;
  case BIN_LT: *out = p < q; break;
  case BIN_LE: *out = p <= q; break;
  case BIN_EQ: *out = p == q; break;
  case BIN_NE: *out = p != q; break;
  case BIN_AND: *out = q != 0; break;
  case BIN_OR: *out = q != 0; break;
  case BIN_BITAND: *out = p & q; break;
  case BIN_BITOR: *out = p | q; break;
  case BIN_BITXOR: *out = p ^ q; break;
  case BIN_SHL:
    if (q < 0 || q > 40) return false;
    *out = p * ((int64_t)1 << q);
    break;
  case BIN_SHR:
    if (q < 0 || q > 63) return false;
    *out = p >> q;
    break;
  default: return false;
  }
  return true;
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
  if (dt_is_float(x->type)) return false;
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
    if (!eval(e, x->u.cast, &p)) return false;
    *out = x->type == DT_BOOL ? p != 0 : p;
    return fits(x->type, *out);
  case EX_SELECT:
    if (!eval(e, x->u.sel.cond, &p)) return false;
    return eval(e, p ? x->u.sel.yes : x->u.sel.no, out);
  default: return false;
  }
}

// Which thread touches each unit of [lo, hi): -1 none, -2 several.
typedef struct {
  int64_t lo, n, unit;
  int16_t *owner;
  bool failed;
} Owners;

static void own(Owners *o, int64_t from, int64_t to, int thread) {
  int64_t first = (from - o->lo) / o->unit, last = (to - 1 - o->lo) / o->unit;
  if (from < o->lo || last >= o->n) {
    o->failed = true;
    return;
  }
  for (int64_t i = first; i <= last; i++) {
    int16_t *w = &o->owner[i];
    *w = (int16_t)(*w == -1 || *w == thread ? thread : -2);
  }
}

static bool enabled(const Env *e, const Pending *acc) {
  int64_t v;
  for (int i = 0; i < acc->at.conds.len; i++)
    if (eval(e, acc->at.conds.data[i], &v) && !v) return false;
  return true;
}

static void enumerate(Sync *s, const Pending *acc, const Address *at, Env *e, int depth, Owners *o) {
  if (o->failed) return;
  if (depth == acc->at.privates.len) {
    int64_t v, width = dt_bits(acc->buf->dtype);
    if (!enabled(e, acc)) return;
    if (!eval(e, at->rest, &v)) {
      o->failed = true;
      return;
    }
    int64_t from = start_bits(acc->buf) + v * width;
    own(o, from, from + at->bits, (int)e->value[0]);
    return;
  }
  const Private *p = &acc->at.privates.data[depth];
  int64_t min, extent;
  if (!ex_uses(at->rest, p->var)) { // only a guard could ask for it: taken as true
    enumerate(s, acc, at, e, depth + 1, o);
    return;
  }
  if (!ex_const(p->min, &min) || !ex_const(p->extent, &extent) || e->n >= 15) {
    o->failed = true;
    return;
  }
  e->var[e->n++] = p->var;
  for (int64_t i = 0; i < extent; i++) {
    e->value[e->n - 1] = min + i;
    enumerate(s, acc, at, e, depth + 1, o);
  }
  e->n--;
}

static int64_t work(Sync *s, const Pending *acc, const Address *at) {
  int64_t n = s->kernel->threads, extent;
  for (int i = 0; i < acc->at.privates.len; i++) {
    const Private *p = &acc->at.privates.data[i];
    if (!ex_uses(at->rest, p->var)) continue;
    if (!ex_const(p->extent, &extent) || __builtin_mul_overflow(n, extent, &n)) return INT64_MAX;
  }
  return n;
}

static bool owners(Sync *s, const Pending *acc, const Address *at, Var *thread, Owners *o) {
  if (work(s, acc, at) > ENUM_LIMIT) return false;
  o->n = (at->hi - at->lo + o->unit - 1) / o->unit;
  o->lo = at->lo;
  if (o->n <= 0 || o->n > MAP_LIMIT) return false;
  o->owner = NEWN(s->a, int16_t, o->n);
  memset(o->owner, 0xff, sizeof(int16_t) * (size_t)o->n);
  Env e = {.var = {thread}, .n = 1};
  for (int t = 0; t < s->kernel->threads && !o->failed; t++) {
    e.value[0] = t;
    enumerate(s, acc, at, &e, 0, o);
  }
  return !o->failed;
}

static int64_t gcd(int64_t x, int64_t y) { return y ? gcd(y, x % y) : x; }

// With b's addresses moved by `shift` relative to a's: does a unit have two different threads (or,
// when `any`, two accesses at all)? True when that cannot be told.
static bool overlap(Sync *s, const Pending *a, const Address *pa, const Pending *b, const Address *pb,
                    int64_t shift, bool any) {
  int64_t unit = gcd(gcd(dt_bits(a->buf->dtype), dt_bits(b->buf->dtype)), shift < 0 ? -shift : shift);
  unit = gcd(unit, gcd(pa->lo < 0 ? -pa->lo : pa->lo, pb->lo < 0 ? -pb->lo : pb->lo));
  if (unit < 4) return true;
  Owners x = {.unit = unit}, y = {.unit = unit};
  if (!owners(s, a, pa, s->other, &x) || !owners(s, b, pb, s->kernel->thread, &y)) return true;
  for (int64_t i = 0; i < x.n; i++) {
    int64_t j = (x.lo + i * unit - shift - y.lo) / unit;
    if (j < 0 || j >= y.n || x.owner[i] == -1 || y.owner[j] == -1) continue;
    if (any || x.owner[i] == -2 || y.owner[j] == -2 || x.owner[i] != y.owner[j]) return true;
  }
  return false;
}

static bool apart(int64_t alo, int64_t ahi, int64_t blo, int64_t bhi) { return ahi <= blo || bhi <= alo; }

// Both in rings of the same pitch, neither leaving its slot?
static bool same_ring(const Address *a, const Address *b, int64_t shift) {
  if (!a->slot || !b->slot || a->pitch != b->pitch || a->pitch <= 0) return false;
  int64_t lo = a->lo < b->lo + shift ? a->lo : b->lo + shift;
  int64_t hi = a->hi > b->hi + shift ? a->hi : b->hi + shift;
  return hi - lo <= a->pitch;
}

static bool may_meet(Sync *s, const Pending *a, const Pending *b, bool any) {
  Address x = address(s, a), y = address(s, b);
  if (!x.split || !y.split) {
    Address *p[] = {&x, &y};
    const Pending *acc[] = {a, b};
    for (int i = 0; i < 2; i++) // whole ranges
      if (p[i]->split) clip(s, subst_expr(&s->exact, acc[i]->at.index), dt_bits(acc[i]->buf->dtype), acc[i], p[i]);
    return !apart(x.lo, x.hi, y.lo, y.hi);
  }
  int64_t wa = dt_bits(a->buf->dtype), wb = dt_bits(b->buf->dtype), shift;
  Expr *diff = facts_simplify(s->facts, ex_sub(s->a, ex_mul(s->a, y.base, ex_index(s->a, wb)),
                                               ex_mul(s->a, x.base, ex_index(s->a, wa))));
  if (!ex_const(diff, &shift)) return true;
  bool equal = x.slot == y.slot || (x.slot && y.slot && x.pitch == y.pitch && ex_equal(x.slot, y.slot));
  if (!equal) {
    if (!same_ring(&x, &y, shift)) return true;
    if (facts_distinct(s->facts, x.slot, y.slot)) return false;
  }
  if (apart(x.lo, x.hi, y.lo + shift, y.hi + shift)) return false;
  return overlap(s, a, &x, b, &y, shift, any);
}

Conflict sync_conflict(Sync *s, const Pending *a, const Pending *b) {
  if (a->mode == ACC_READ && b->mode == ACC_READ) return CONFLICT_NONE;
  bool flying = a->async && !a->waited;
  if (a->mode == ACC_ATOMIC && b->mode == ACC_ATOMIC) return CONFLICT_NONE;
  if (a->buf->scope != b->buf->scope) return CONFLICT_NONE;
  if (a->buf->scope == SC_GLOBAL && a->buf != b->buf) return CONFLICT_NONE;
  if (a->buf->scope == SC_SHARED) {
    int64_t x = start_bits(a->buf), y = start_bits(b->buf);
    if (apart(x, x + buffer_bits(a->buf), y, y + buffer_bits(b->buf))) return CONFLICT_NONE;
  }
  int mark = facts_mark(s->facts);
  facts_push_loop(s->facts, s->other, ex_index(s->a, 0), ex_index(s->a, s->kernel->threads));
  push_ranges(s, a);
  push_ranges(s, b);
  bool meet = may_meet(s, a, b, flying);
  facts_pop(s->facts, mark);
  return !meet ? CONFLICT_NONE : flying ? CONFLICT_WAIT : CONFLICT_BARRIER;
}
