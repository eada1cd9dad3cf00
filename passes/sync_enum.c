// Enumeration: which thread touches which bits, by running an address over the threads and the
// private variables of an access. Kept by the shape of the address, which loops and guards leave
// alone.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

#include <stdlib.h>
#include <string.h>

enum { ENUM_LIMIT = 1 << 17 };

typedef struct {
  Sync *s;
  const Pending *acc;
  Shape *shape;
  Tape tape;
  int rest;        // its operation
  VEC(int) guards; // operations of the guards that can be followed
} Run;

static void hit(Run *r) {
  Shape *p = r->shape;
  int64_t width = dt_bits(r->acc->buf->dtype), v = r->tape.value[r->rest];
  for (int i = 0; i < r->guards.len; i++) {
    int g = r->guards.data[i];
    if (r->tape.ok[g] && !r->tape.value[g]) return;
  }
  if (!r->tape.ok[r->rest] || v > (INT64_MAX >> 12) || v < -(INT64_MAX >> 12)) {
    p->exact = false;
    return;
  }
  int64_t from = v * width, to = from + width * r->acc->count;
  if (!p->hits.len || from < p->lo) p->lo = from;
  if (!p->hits.len || to > p->hi) p->hi = to;
  vec_push(r->s->a, &p->hits, ((Hit){from, (int)r->tape.in[0]}));
}

static bool counts(const Shape *p, const Private *v) { return ex_uses(p->rest, v->var); }

static const Private *private_of(const Run *r, int i) { // of the tape's variable i >= 1
  const Privates *vars = &r->acc->at.privates;
  for (int j = 0; j < vars->len; j++)
    if (vars->data[j].var == r->tape.var[i]) return &vars->data[j];
  die("sync: a variable of no access");
}

static void enumerate(Run *r, int depth) {
  if (depth == r->tape.nvars) {
    hit(r);
    return;
  }
  const Private *v = private_of(r, depth);
  int64_t min = 0, extent = 0;
  ex_const(v->min, &min);
  ex_const(v->extent, &extent);
  for (int64_t i = 0; i < extent && r->shape->exact; i++) {
    r->tape.in[depth] = min + i;
    tape_run(&r->tape, depth);
    enumerate(r, depth + 1);
  }
}

// How many accesses it is by all threads; 0: too many, or not known.
static int64_t feasible(const Sync *s, const Pending *acc, const Shape *p) {
  int64_t n = s->kernel->threads, min, extent;
  int used = 1;
  for (int i = 0; i < acc->at.privates.len; i++) {
    const Private *v = &acc->at.privates.data[i];
    if (!counts(p, v)) continue;
    if (++used > 15 || !ex_const(v->min, &min) || !ex_const(v->extent, &extent)) return 0;
    if (__builtin_mul_overflow(n, extent, &n)) return 0;
  }
  return n <= ENUM_LIMIT ? n : 0;
}

// The next of an access's guards from i on of which some part may be followed: none that asks
// memory.
static int next_guard(const Pending *acc, int i) {
  const Exprs *all = &acc->at.conds;
  while (i < all->len && all->data[i]->type == DT_BOOL && walk_has_load(all->data[i]) &&
         !(all->data[i]->kind == EX_BINARY && all->data[i]->u.bin.op == BIN_AND))
    i++;
  return i;
}

static bool same_guards(const Pending *p, const Pending *q) {
  int i = next_guard(p, 0), j = next_guard(q, 0);
  while (i < p->at.conds.len && j < q->at.conds.len) {
    if (!ex_equal(p->at.conds.data[i], q->at.conds.data[j])) return false;
    i = next_guard(p, i + 1), j = next_guard(q, j + 1);
  }
  return i == p->at.conds.len && j == q->at.conds.len;
}

static bool same_shape(const Shape *p, const Pending *acc, const Expr *rest, int threads) {
  const Pending *q = p->acc;
  if (p->threads != threads) return false;
  if (q->buf->dtype != acc->buf->dtype || q->count != acc->count || !ex_equal(p->rest, rest))
    return false;
  if (q->at.privates.len != acc->at.privates.len || !same_guards(q, acc)) return false;
  for (int i = 0; i < acc->at.privates.len; i++) {
    const Private *v = &q->at.privates.data[i], *w = &acc->at.privates.data[i];
    if (v->var != w->var || !ex_equal(v->min, w->min) || !ex_equal(v->extent, w->extent))
      return false;
  }
  return true;
}

// Each part of a guard that can be followed.
static void add_guard(Run *r, Expr *cond) {
  if (cond->kind == EX_BINARY && cond->u.bin.op == BIN_AND) {
    add_guard(r, cond->u.bin.a);
    add_guard(r, cond->u.bin.b);
    return;
  }
  int g = tape_compile(&r->tape, cond);
  if (g >= 0) vec_push(r->s->a, &r->guards, g);
}

Shape *sync_shape(Sync *s, const Pending *acc, Expr *rest, const Var *thread, int threads) {
  Shape **bucket = &s->shapes[ex_hash((uint64_t)acc->count, rest) % SYNC_BUCKETS];
  for (Shape *q = *bucket; q; q = q->next)
    if (same_shape(q, acc, rest, threads)) return q;
  Shape *p = NEW(s->a, Shape);
  *p = (Shape){.acc = acc, .rest = rest, .threads = threads, .next = *bucket};
  *bucket = p;
  int64_t n = feasible(s, acc, p);
  p->exact = n > 0;
  if (!n) return p;
  n = n / s->kernel->threads * threads;
  vec_reserve(s->a, (void **)&p->hits.data, &p->hits.cap, (int)n, sizeof *p->hits.data);
  Run of = {.s = s, .acc = acc, .shape = p}, *r = &of;
  r->tape.arena = s->a;
  r->tape.var[r->tape.nvars++] = thread;
  for (int i = 0; i < acc->at.privates.len; i++) // those at most in guards: taken to pass
    if (counts(p, &acc->at.privates.data[i]))
      r->tape.var[r->tape.nvars++] = acc->at.privates.data[i].var;
  r->rest = tape_compile(&r->tape, rest);
  p->exact = r->rest >= 0;
  for (int i = 0; i < acc->at.conds.len; i++) add_guard(r, acc->at.conds.data[i]);
  for (int t = 0; t < threads && p->exact; t++) {
    r->tape.in[0] = t;
    tape_run(&r->tape, 0);
    enumerate(r, 1);
  }
  return p;
}

// Memory until the next call.
static void *scratch(Sync *s, size_t bytes) {
  if (bytes > s->scratch_bytes) {
    s->scratch_bytes = bytes * 2;
    s->scratch = arena_alloc(s->a, s->scratch_bytes);
  }
  return s->scratch;
}

static int64_t gcd(int64_t x, int64_t y) { return y ? gcd(y, x % y) : x; }
static int64_t mag(int64_t x) { return x < 0 ? -x : x; }

static int by_place(const void *x, const void *y) {
  int64_t p = ((const Hit *)x)->from, q = ((const Hit *)y)->from;
  return (p > q) - (p < q);
}

// Where a map of all bits would be too large: worth its time where a block stores tile after tile.
static bool overlap_far(Sync *s, const Shape *x, const Shape *y, int64_t shift, bool any) {
  int64_t wx = dt_bits(x->acc->buf->dtype) * x->acc->count,
          wy = dt_bits(y->acc->buf->dtype) * y->acc->count;
  int n = x->hits.len;
  Hit *hits = scratch(s, (size_t)n * sizeof *hits);
  memcpy(hits, x->hits.data, (size_t)n * sizeof *hits);
  qsort(hits, (size_t)n, sizeof *hits, by_place);
  for (int i = 0; i < y->hits.len; i++) {
    const Hit *h = &y->hits.data[i];
    int64_t from = h->from + shift;
    int lo = 0, hi = n; // the first that ends behind it
    while (lo < hi) {
      int mid = lo + (hi - lo) / 2;
      if (hits[mid].from + wx > from) hi = mid;
      else lo = mid + 1;
    }
    for (; lo < n && hits[lo].from < from + wy; lo++)
      if (any || hits[lo].thread != h->thread) return true;
  }
  return false;
}

static bool overlap(Sync *s, const Shape *x, const Shape *y, int64_t shift, bool any) {
  enum { MAP_LIMIT = 1 << 20, NONE = -1, SEVERAL = -2 };
  int64_t wx = dt_bits(x->acc->buf->dtype) * x->acc->count,
          wy = dt_bits(y->acc->buf->dtype) * y->acc->count;
  int64_t unit = gcd(gcd(dt_bits(x->acc->buf->dtype), dt_bits(y->acc->buf->dtype)), mag(shift));
  int64_t n = (x->hi - x->lo) / unit;
  if (unit < 4) return true;
  if (n > MAP_LIMIT) return !s->kernel->workers || overlap_far(s, x, y, shift, any);
  int16_t *owner = scratch(s, (size_t)n * sizeof *owner);
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

bool sync_overlap(Sync *s, const Shape *x, const Shape *y, int64_t shift, bool any) {
  uint64_t h = (uint64_t)(uintptr_t)x * 3 ^ (uint64_t)(uintptr_t)y ^ (uint64_t)shift << 4;
  h *= UINT64_C(0x9e3779b97f4a7c15);
  Overlap **bucket = &s->overlaps[h >> 32 & (SYNC_BUCKETS - 1)];
  for (const Overlap *o = *bucket; o; o = o->next)
    if (o->x == x && o->y == y && o->shift == shift && o->any == any) return o->answer;
  Overlap *o = NEW(s->a, Overlap);
  *o = (Overlap){x, y, shift, any, overlap(s, x, y, shift, any), *bucket};
  *bucket = o;
  return o->answer;
}

// Is some bit in two hits? True where unknown.
static bool hit_twice(Sync *s, const Shape *p) {
  int64_t width = dt_bits(p->acc->buf->dtype) * p->acc->count, n = (p->hi - p->lo) / 4 + 1;
  if (n > 1 << 22) return true;
  bool *seen = scratch(s, (size_t)n * sizeof *seen);
  memset(seen, 0, (size_t)n * sizeof *seen);
  for (int i = 0; i < p->hits.len; i++) {
    int64_t at = (p->hits.data[i].from - p->lo) / 4;
    for (int64_t u = 0; u < width / 4; u++) {
      if (seen[at + u]) return true;
      seen[at + u] = true;
    }
  }
  return false;
}

bool sync_repeats(Sync *s, const Pending *b) {
  Parts part;
  int64_t one;
  if (!sync_parts(s, b, subst_expr(&s->exact, b->at.index), &part)) return true;
  Shape *p = sync_shape(s, b, part.rest, s->kernel->thread, s->kernel->threads);
  if (!p->exact) return true;
  for (int i = 0; i < b->at.privates.len; i++) {
    const Private *v = &b->at.privates.data[i];
    if (!counts(p, v) && (!ex_const(v->extent, &one) || one > 1)) return true;
  }
  if (!p->counted) p->twice = hit_twice(s, p);
  p->counted = true;
  return p->twice;
}
