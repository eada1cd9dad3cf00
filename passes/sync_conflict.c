// The conflict test. Addresses are affine: a part uniform over the block and a part of the thread
// and private variables. Uniform parts are compared symbolically, the rest by its range and, when
// that does not decide, by enumerating which thread touches which bits.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

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

// A tensor that the kernel does not write: its elements are functions of their indices.
static bool constant(Sync *s, const Buffer *b) {
  if (b->scope != SC_GLOBAL) return false;
  for (int i = 0; i < s->tensors.len; i++)
    if (s->tensors.data[i].buf == b) return s->tensors.data[i].constant;
  bool written = walk_touches(s->a, s->kernel->body, b, true);
  vec_push(s->a, &s->tensors, (Tensor){b, !written});
  return !written;
}

static void classify_node(void *ctx, Expr *x) {
  Classify *c = ctx;
  if (x->kind == EX_LOAD) *(constant(c->s, x->u.load.buf) ? &c->uniform : &c->unknown) = true;
  if (x->kind != EX_VAR) return;
  const Var *v = x->u.var;
  for (int i = 0; i < c->s->unknown.len; i++)
    if (c->s->unknown.data[i] == v) c->unknown = true;
  if (v == c->s->other || v == c->s->kernel->thread || (c->acc && is_private(c->acc, v)))
    c->private = true;
  else c->uniform = true;
}

bool sync_reads_memory(Sync *s, Expr *x) {
  Classify c = {s, NULL, false, false, false};
  ex_walk(x, classify_node, &c);
  return c.unknown;
}

static Kind classify(Sync *s, const Pending *acc, Expr *x) {
  Classify c = {s, acc, false, false, false};
  ex_walk(x, classify_node, &c);
  if (c.unknown || (c.uniform && c.private)) return KIND_UNKNOWN;
  return c.private ? KIND_PRIVATE : c.uniform ? KIND_UNIFORM : KIND_CONST;
}

// An address in bits.
typedef struct {
  bool split;         // false: the parts could not be told apart; only lo and hi hold
  bool wraps;         // off by multiples of 2^32 elements: see unwrapped
  Parts part;         // pitch in bits
  const Shape *shape; // of part.rest
  int64_t lo, hi;     // bits touched by the rest (split), or by the whole address: [lo, hi)
  int64_t bits;       // width of one access
} Address;

static bool is_slot(const Expr *x) {
  int64_t m;
  return x->kind == EX_BINARY && x->u.bin.op == BIN_FLOORMOD && ex_const(x->u.bin.b, &m);
}

static void push_ranges(Sync *s, const Pending *p) {
  for (int i = 0; i < p->at.privates.len; i++)
    facts_push_loop(s->facts, p->at.privates.data[i].var, p->at.privates.data[i].min,
                    p->at.privates.data[i].extent);
  // Memory may have changed between the two accesses: guards that read it are no common ground.
  for (int i = 0; i < p->at.conds.len; i++)
    if (!sync_reads_memory(s, p->at.conds.data[i])) facts_push_cond(s->facts, p->at.conds.data[i]);
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
  out->lo = lo < 0 || lo > size / width ? start : start + lo * width;
  out->hi = hi > (size - out->bits) / width ? start + size : start + hi * width + out->bits;
}

bool sync_parts(Sync *s, const Pending *acc, Expr *x, Parts *out) {
  Affine f = ex_affine(s->a, x);
  Affine base = {0, NEWN(s->a, Expr *, f.n), NEWN(s->a, int64_t, f.n), 0}, rest = base;
  rest.term = NEWN(s->a, Expr *, f.n);
  rest.coeff = NEWN(s->a, int64_t, f.n);
  *out = (Parts){0};
  for (int i = 0; i < f.n; i++) {
    Kind kind = classify(s, acc, f.term[i]);
    if (kind == KIND_UNKNOWN) return false;
    if (kind == KIND_UNIFORM && !out->slot && is_slot(f.term[i])) {
      out->slot = f.term[i];
      out->pitch = f.coeff[i];
      continue;
    }
    Affine *part = kind == KIND_PRIVATE ? &rest : &base;
    part->term[part->n] = f.term[i];
    part->coeff[part->n++] = f.coeff[i];
  }
  rest.constant = f.constant;
  out->base = ex_from_affine(s->a, &base);
  out->rest = ex_from_affine(s->a, &rest);
  return true;
}

static Address address_of(Sync *s, const Pending *acc, Expr *index) {
  int64_t width = dt_bits(acc->buf->dtype);
  Address out = {.bits = width * acc->count};
  out.split = sync_parts(s, acc, index, &out.part);
  if (!out.split) {
    clip(s, index, width, acc, &out);
    return out;
  }
  out.part.pitch *= width;
  return out;
}

// The range of an address that was split.
static void measure(Sync *s, const Pending *acc, const Var *thread, Address *out) {
  int64_t lo, hi, width = dt_bits(acc->buf->dtype), start = start_bits(acc->buf);
  out->shape = sync_shape(s, acc, out->part.rest, thread, s->kernel->threads);
  if (out->shape->exact) {
    out->lo = start + out->shape->lo;
    out->hi = start + out->shape->hi;
    return;
  }
  facts_bounds(s->facts, out->part.rest, &lo, &hi);
  bool wide = lo < -(INT64_MAX >> 12) || hi > INT64_MAX >> 12;
  out->lo = wide ? -(INT64_MAX / 4) : start + lo * width;
  out->hi = wide ? INT64_MAX / 4 : start + hi * width + out->bits;
}

// x, an int32, as an exact integer that is the same modulo 2^32.
static Expr *unwrapped(Arena *a, Expr *x) {
  int64_t by;
  if (x->kind == EX_CAST && x->u.cast->type == DT_INDEX) return x->u.cast;
  BinOp op = x->kind == EX_BINARY ? x->u.bin.op : BIN_DIV;
  bool scaled = op == BIN_MUL && (ex_const(x->u.bin.a, &by) || ex_const(x->u.bin.b, &by));
  if (op == BIN_ADD || op == BIN_SUB || scaled)
    return ex_bin(a, op, unwrapped(a, x->u.bin.a), unwrapped(a, x->u.bin.b));
  return ex_cast(a, DT_INDEX, x);
}

static Expr *unwrap_node(void *ctx, Expr *x) {
  bool narrow = x->kind == EX_CAST && x->type == DT_INDEX && x->u.cast->type == DT_I32;
  return narrow ? unwrapped(ctx, x->u.cast) : x;
}

// An address that grows with every sum of int32 by a multiple of 2^32 elements where it wraps: two
// of them that differ, by less than that, differ as the true ones do.
static Expr *without_wraps(Arena *a, Expr *index) {
  const Affine f = ex_affine(a, index);
  Affine g = {f.n, NEWN(a, Expr *, f.n), f.coeff, f.constant};
  for (int i = 0; i < f.n; i++) g.term[i] = unwrap_node(a, f.term[i]);
  return ex_from_affine(a, &g);
}

// As written first: under a guard like k + 2 < 4 a ring term (k + 2) % 3 would become k + 2.
static Address address(Sync *s, const Pending *acc) {
  Expr *index = subst_expr(&s->exact, acc->at.index);
  Address out = address_of(s, acc, index);
  if (out.split) return out;
  out = address_of(s, acc, facts_simplify(s->facts, index));
  if (out.split) return out;
  out = address_of(s, acc, without_wraps(s->a, index));
  out.wraps = true;
  return out;
}

static bool apart(int64_t alo, int64_t ahi, int64_t blo, int64_t bhi) {
  return ahi <= blo || bhi <= alo;
}

// Both in rings of the same pitch, neither leaving its slot?
static bool same_ring(const Address *a, const Address *b, int64_t shift) {
  if (!a->part.slot || !b->part.slot || a->part.pitch != b->part.pitch || a->part.pitch <= 0)
    return false;
  int64_t lo = a->lo < b->lo + shift ? a->lo : b->lo + shift;
  int64_t hi = a->hi > b->hi + shift ? a->hi : b->hi + shift;
  return hi - lo <= a->part.pitch;
}

// Do the first few threads already meet? Most conflicts show there.
static bool sample(Sync *s, const Pending *a, const Address *x, const Pending *b, const Address *y,
                   int64_t shift, bool any) {
  enum { FEW = 8 };
  if (s->kernel->threads < 4 * FEW) return false;
  const Shape *p = sync_shape(s, a, x->part.rest, s->other, FEW);
  const Shape *q = sync_shape(s, b, y->part.rest, s->kernel->thread, FEW);
  return p->exact && q->exact && sync_overlap(s, p, q, shift, any);
}

// May unwrapped addresses, whose slots cancel out, be as far apart as a wrap?
static bool far(const Address *x, const Address *y, int64_t shift, int64_t width) {
  int64_t lo = x->lo < y->lo + shift ? x->lo : y->lo + shift;
  int64_t hi = x->hi > y->hi + shift ? x->hi : y->hi + shift;
  return hi - lo >= width << 31;
}

static bool may_meet(Sync *s, const Pending *a, const Pending *b, bool any) {
  Address x = address(s, a), y = address(s, b);
  if (!x.split || !y.split) {
    Address *p[] = {&x, &y};
    const Pending *acc[] = {a, b};
    for (int i = 0; i < 2; i++) // whole ranges
      if (p[i]->split)
        clip(s, subst_expr(&s->exact, acc[i]->at.index), dt_bits(acc[i]->buf->dtype), acc[i], p[i]);
    return !apart(x.lo, x.hi, y.lo, y.hi) && !sync_rows_apart(s, a, b, any);
  }
  int64_t wa = dt_bits(a->buf->dtype), wb = dt_bits(b->buf->dtype), shift = 0;
  bool level = wa == wb && ex_equal(x.part.base, y.part.base);
  Expr *diff = level ? ex_index(s->a, 0) : NULL;
  if (!level)
    diff = facts_simplify(s->facts, ex_sub(s->a, ex_mul(s->a, y.part.base, ex_index(s->a, wb)),
                                           ex_mul(s->a, x.part.base, ex_index(s->a, wa))));
  if (!ex_const(diff, &shift)) return true;
  bool equal = x.part.slot && y.part.slot
                   ? x.part.pitch == y.part.pitch && ex_equal(x.part.slot, y.part.slot)
                   : !x.part.slot && !y.part.slot;
  int64_t moved = start_bits(b->buf) - start_bits(a->buf) + shift;
  if (equal && sample(s, a, &x, b, &y, moved, any)) return true;
  measure(s, a, s->other, &x);
  measure(s, b, s->kernel->thread, &y);
  bool wraps = x.wraps || y.wraps;
  if (wraps && (!equal || far(&x, &y, shift, wa < wb ? wa : wb))) return true;
  if (!equal) {
    if (!same_ring(&x, &y, shift)) return true;
    if (facts_distinct(s->facts, x.part.slot, y.part.slot)) return false;
  }
  if (apart(x.lo, x.hi, y.lo + shift, y.hi + shift)) return false;
  if (!x.shape->exact || !y.shape->exact) return true;
  return sync_overlap(s, x.shape, y.shape, moved, any);
}

Conflict sync_conflict(Sync *s, const Pending *a, const Pending *b) {
  if (a->mode == ACC_READ && b->mode == ACC_READ) return CONFLICT_NONE;
  bool flying = a->async && !a->waited;
  if (a->mode == ACC_ATOMIC && b->mode == ACC_ATOMIC) return CONFLICT_NONE;
  if (a->buf->scope != b->buf->scope) return CONFLICT_NONE;
  if (!flying && a->seen.lo < a->seen.hi && crew_within(b->crew, a->seen)) return CONFLICT_NONE;
  if (a->buf->scope == SC_GLOBAL && a->buf != b->buf) return CONFLICT_NONE;
  if (a->buf->scope == SC_SHARED) {
    int64_t x = start_bits(a->buf), y = start_bits(b->buf);
    if (apart(x, x + buffer_bits(a->buf), y, y + buffer_bits(b->buf))) return CONFLICT_NONE;
  }
  int mark = facts_mark(s->facts);
  facts_push_loop(s->facts, s->other, ex_index(s->a, 0), ex_index(s->a, s->kernel->threads));
  push_ranges(s, a);
  push_ranges(s, b);
  bool meet = may_meet(s, a, b, flying || a->warp || b->warp);
  facts_pop(s->facts, mark);
  return !meet ? CONFLICT_NONE : flying ? CONFLICT_WAIT : CONFLICT_BARRIER;
}
