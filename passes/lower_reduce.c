// Reducers: each thread keeps partial results in its copy of the elements; finalizing combines the
// copies, by butterflies of shuffles within a warp and through shared memory across.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

void lower_update(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  Buffer *b = s->u.op.arg[0].region->buf;
  Expr *reg = lower_register(l, b, s->u.op.arg[0].region->min, false, s->span);
  Expr *value = ex_cast(a, b->dtype, lower_expr(l, s->u.op.arg[1].expr));
  ReduceKind kind = (ReduceKind)s->u.op.arg[2].i;
  Expr *all = reduce_combine(a, kind, s->u.op.arg[3].i, ex_load(a, b, &reg, 1), value);
  st_add(a, out, lower_if(l, l->first_copy, st_store(a, b, &reg, 1, all, s->span), s->span));
}

/* ------------------------------------------------------------------ who holds the copies */

enum { MAX_PARTS = 16, SHUFFLED_MOST = 32, UNROLL_MOST = 32 };

// The threads that hold copies of one element differ in digits (t / stride) % extent. Within a warp
// the low bits of a digit are combined by butterflies; what is left of it, through shared memory.
typedef struct {
  int64_t extent, stride;
} Part;

typedef struct {
  Part flip[MAX_PARTS], rest[MAX_PARTS];
  int nflips, nrests;
  int64_t span; // threads from here on hold nothing
  bool gaps;    // nor do some below
} Copies;

static int64_t low_bit(int64_t x) { return x & -x; }

// Do the other digits keep out of the bits of a part? Those below stay below, those above are
// multiples of it.
static bool own_bits(const Part *all, int n, int self, int64_t extent) {
  int64_t below = 1, stride = all[self].stride;
  for (int i = 0; i < n; i++) {
    if (i == self || all[i].extent == 1) continue;
    if (all[i].stride < stride) below += (all[i].extent - 1) * all[i].stride;
    else if (all[i].stride % (stride * extent)) return false;
  }
  return below <= stride;
}

// Splits digit `self` into what butterflies and what shared memory combine.
static void add_digit(Copies *c, const Part *all, int n, int self) {
  int64_t extent = all[self].extent, stride = all[self].stride, f = low_bit(extent);
  while (f > 1 && stride * f > SHUFFLED_MOST) f /= 2;
  if (stride & (stride - 1) || !own_bits(all, n, self, f)) f = 1;
  if (f > 1) c->flip[c->nflips++] = (Part){f, stride};
  if (extent / f > 1) c->rest[c->nrests++] = (Part){extent / f, stride * f};
}

static Copies copies_of(const Layout *l) {
  Copies c = {.span = 1};
  Part all[LOOP_MAX_DIGITS + MAX_PARTS];
  int n = 0, digits;
  if (l->nreplicas > MAX_PARTS) die("a reducer with %d replicas", l->nreplicas);
  for (int i = 0; i < l->nreplicas; i++)
    all[n++] = (Part){l->replica[i].extent, l->replica[i].stride};
  for (int i = 0; i < l->ngroups; i++) {
    const DigitGroup *g = &l->group[i];
    for (int j = 0; j < g->ndigits && n < (int)LEN(all); j++)
      if (g->digit[j].owner == OWN_THREAD)
        all[n++] = (Part){g->digit[j].extent, g->digit[j].stride};
  }
  digits = n;
  int64_t held = 1;
  for (int i = 0; i < digits; i++) {
    c.span += (all[i].extent - 1) * all[i].stride;
    held *= all[i].extent;
  }
  c.gaps = held != c.span;
  for (int i = 0; i < l->nreplicas; i++) add_digit(&c, all, digits, i);
  return c;
}

/* ------------------------------------------------------------------ combining the copies */

typedef struct {
  Lower *l;
  Stmt *s;
  Buffer *part;
  int64_t regs;
  ReduceKind kind;
  bool nan;
  Copies c;
} Finalize;

static Expr *num(Finalize *f, int64_t v) { return ex_index(f->l->arena, v); }

static Expr *combined(Finalize *f, Expr *x, Expr *y) {
  return reduce_combine(f->l->arena, f->kind, f->nan, x, y);
}

static Stmt *each_register(Finalize *f, Var *r, Stmt *body) {
  if (f->regs == 1) {
    Subst one = {.arena = f->l->arena};
    subst_add(&one, r, num(f, 0));
    subst_stmt(&one, body);
    return body;
  }
  return st_for(f->l->arena, LOOP_UNROLL, r, num(f, 0), num(f, f->regs), body, f->s->span);
}

// part[r] = part[r] combined with the same of the thread whose number differs in the bits `mask`.
static void butterfly(Finalize *f, Buffer *other, int64_t mask, Stmt *out) {
  Arena *a = f->l->arena;
  Var *v = lower_loop_var(f->l, "r");
  Expr *r = ex_var(a, v), *zero = num(f, 0), *mine = ex_load(a, f->part, &r, 1), *by = num(f, mask);
  int threads = f->l->threads;
  if (threads % 32 && f->c.span < threads) // an idle thread's partner may not exist
    by = ex_select(a, ex_lt(a, f->l->thread, num(f, f->c.span)), by, zero);
  Stmt *body = st_block(a, f->s->span);
  st_add(a, body,
         st_op(a, OP_SHUFFLE, f->s->span, mine, region_flat(a, other, zero, 1), by,
               (int64_t)SHUFFLE_XOR, (int64_t)SHUFFLED_MOST));
  Expr *both = combined(f, mine, ex_load(a, other, &zero, 1));
  st_add(a, body, st_store(a, f->part, &r, 1, both, f->s->span));
  st_add(a, out, each_register(f, v, body));
}

// The thread's number without the digits that butterflies have settled, highest first.
static Expr *squeezed(Finalize *f, Expr *t) {
  Arena *a = f->l->arena;
  bool done[MAX_PARTS] = {false};
  for (int i = 0; i < f->c.nflips; i++) {
    int top = -1;
    for (int k = 0; k < f->c.nflips; k++)
      if (!done[k] && (top < 0 || f->c.flip[k].stride > f->c.flip[top].stride)) top = k;
    done[top] = true;
    Part p = f->c.flip[top];
    Expr *high = ex_floordiv(a, t, num(f, p.extent * p.stride));
    t = ex_add(a, ex_mul(a, high, num(f, p.stride)), ex_floormod(a, t, num(f, p.stride)));
  }
  return lower_simplify(f->l, t);
}

static int64_t squeezed_stride(const Finalize *f, int64_t stride) {
  int64_t s = stride;
  for (int i = 0; i < f->c.nflips; i++)
    if (f->c.flip[i].stride < stride) s /= f->c.flip[i].extent;
  return s;
}

static Expr *digit(Finalize *f, Part p) {
  Arena *a = f->l->arena;
  return ex_floormod(a, ex_floordiv(a, f->l->thread, num(f, p.stride)), num(f, p.extent));
}

// One thread of each settled group leaves its registers in shared memory; all read what the others
// left, in one order, so that every copy gets the same bits.
static void across(Finalize *f, Stmt *out) {
  Arena *a = f->l->arena;
  Lower *l = f->l;
  Span span = f->s->span;
  Expr *slot = squeezed(f, l->thread), *base = slot, *writer = NULL, *holder = NULL;
  int64_t width = squeezed_stride(f, f->c.span - 1) + 1, runs = 1;
  for (int i = 0; i < f->c.nflips; i++)
    writer = ex_and(a, writer, ex_bin(a, BIN_EQ, digit(f, f->c.flip[i]), num(f, 0)));
  Var *kv = lower_loop_var(l, "k"), *v = lower_loop_var(l, "r"), *w = lower_loop_var(l, "r");
  Expr *k = ex_var(a, kv), *at = num(f, 0), *rest = k;
  for (int i = 0; i < f->c.nrests; i++) {
    Part p = f->c.rest[i];
    int64_t step = squeezed_stride(f, p.stride);
    base = ex_sub(a, base, ex_mul(a, digit(f, p), num(f, step)));
    at = ex_add(a, at, ex_mul(a, ex_floormod(a, rest, num(f, p.extent)), num(f, step)));
    rest = ex_floordiv(a, rest, num(f, p.extent));
    runs *= p.extent;
    if (f->c.gaps) width += (p.extent - 1) * step; // threads in a gap may look beyond
  }
  if (f->c.span < l->threads) holder = ex_lt(a, l->thread, num(f, f->c.span));
  Expr *count = num(f, f->regs * width), *r = ex_var(a, v), *q = ex_var(a, w);
  Buffer *tile = buf_new(a, arena_printf(a, "%s_all", f->part->name), f->part->dtype, SC_SHARED,
                         &count, 1, span);
  tile->offset = -1;
  vec_push(a, &l->kernel->buffers, tile);
  Expr *to = ex_add(a, ex_mul(a, r, num(f, width)), slot);
  Stmt *put = st_store(a, tile, &to, 1, ex_load(a, f->part, &r, 1), span);
  Expr *who = ex_and(a, holder, writer);
  st_add(a, out,
         lower_if(l, who ? lower_simplify(l, who) : NULL, each_register(f, v, walk_block(a, put)),
                  span));
  Stmt *get = st_block(a, span), *more = st_block(a, span);
  base = lower_let(l, get, "slot", base);
  Expr *from = ex_add(a, ex_mul(a, q, num(f, width)), base), *next = ex_add(a, from, at);
  Expr *mine = ex_load(a, f->part, &q, 1);
  Stmt *one = st_block(a, span);
  st_add(a, one, st_store(a, f->part, &q, 1, ex_load(a, tile, &from, 1), span));
  st_add(a, more, st_store(a, f->part, &q, 1, combined(f, mine, ex_load(a, tile, &next, 1)), span));
  st_add(a, one,
         st_for(a, runs <= UNROLL_MOST ? LOOP_UNROLL : LOOP_SERIAL, kv, num(f, 1), num(f, runs - 1),
                more, span));
  st_add(a, get, each_register(f, w, one));
  st_add(a, out, lower_if(l, holder, get, span));
}

// Of the registers f->part: all copies combined in each of them.
static void combine_copies(Finalize *f, Stmt *out) {
  Arena *a = f->l->arena;
  if (f->c.nflips) {
    Expr *one = ex_index(a, 1);
    Buffer *other = buf_new(a, arena_printf(a, "%s_other", f->part->name), f->part->dtype, SC_LOCAL,
                            &one, 1, f->s->span);
    vec_push(a, &f->l->kernel->buffers, other);
    for (int i = 0; i < f->c.nflips; i++)
      for (int64_t m = f->c.flip[i].extent / 2; m >= 1; m /= 2)
        butterfly(f, other, m * f->c.flip[i].stride, out);
  }
  if (f->c.nrests) across(f, out);
}

void lower_finalize(Lower *l, Stmt *s, Stmt *out) {
  Buffer *part = s->u.op.arg[0].region->buf;
  const Buffer *form = lower_form(l, part);
  Finalize f = {.l = l,
                .s = s,
                .part = part,
                .regs = layout_regs(form->layout),
                .kind = (ReduceKind)s->u.op.arg[2].i,
                .nan = s->u.op.arg[3].i,
                .c = copies_of(form->layout)};
  Stmt *body = st_block(l->arena, s->span);
  combine_copies(&f, body);
  st_add(l->arena, out, body);
}

// The digit (t / stride) % extent of all threads; more significant ones tell groups apart.
static Copies copies_among(int threads, int64_t stride, int64_t extent) {
  int64_t groups = threads / (stride * extent);
  Part all[3] = {{extent, stride}, {stride, 1}, {groups ? groups : 1, stride * extent}};
  Copies c = {.span = threads};
  add_digit(&c, all, 3, 0);
  return c;
}

void lower_allreduce(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const Arg *arg = s->u.op.arg;
  Expr *one = ex_index(a, 1), *zero = ex_index(a, 0), *idx[LOOP_MAX_DIMS * 2];
  Region *dst = arg[1].region;
  Finalize f = {.l = l,
                .s = s,
                .part = buf_new(a, "part", arg[0].expr->type, SC_LOCAL, &one, 1, s->span),
                .regs = 1,
                .kind = reduce_base((ReduceKind)arg[2].i),
                .c = copies_among(l->threads, arg[3].i, arg[4].i)};
  vec_push(a, &l->kernel->buffers, f.part);
  Expr *value = lower_expr(l, arg[0].expr),
       *start = reduce_neutral(a, (ReduceKind)arg[2].i, value->type);
  if (f.kind != (ReduceKind)arg[2].i)
    value = reduce_combine(a, (ReduceKind)arg[2].i, false, start, value);
  st_add(a, out, st_store(a, f.part, &zero, 1, value, s->span));
  combine_copies(&f, out);
  for (int i = 0; i < dst->n; i++) idx[i] = lower_simplify(l, lower_expr(l, dst->min[i]));
  Expr *off = lower_offset(l, dst->buf, idx);
  st_add(a, out, st_store(a, dst->buf, &off, 1, ex_load(a, f.part, &zero, 1), s->span));
}
