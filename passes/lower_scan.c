// Scans of shared tiles: a warp goes along a line 32 elements at a time, its lanes combining theirs
// by shuffles; where lines are many or short, a thread goes along a line by itself.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

enum { LANES = 32, SHORT_LINE = 16 };

typedef struct {
  Lower *l;
  Stmt *s;
  Region *src, *dst;
  Buffer *value, *other, *carry; // of a lane
  ReduceKind kind;
  int dim;
  bool reverse;
  Expr *lines, *length; // how many lines, and elements of each
} Scan;

static Expr *num(Scan *c, int64_t v) { return ex_index(c->l->arena, v); }

static Buffer *local(Scan *c, const char *suffix) {
  Arena *a = c->l->arena;
  Expr *one = num(c, 1);
  Buffer *b = buf_new(a, arena_printf(a, "%s_%s", c->dst->buf->name, suffix), c->dst->buf->dtype,
                      SC_LOCAL, &one, 1, c->s->span);
  vec_push(a, &c->l->kernel->buffers, b);
  return b;
}

static Expr *get(Scan *c, Buffer *b) {
  Expr *zero = num(c, 0);
  return ex_load(c->l->arena, b, &zero, 1);
}

static Stmt *set(Scan *c, Buffer *b, Expr *value) {
  Expr *zero = num(c, 0);
  return st_store(c->l->arena, b, &zero, 1, value, c->s->span);
}

// Offset in the region's tile of element k of a line.
static Expr *offset(Scan *c, const Region *r, Expr *line, Expr *k) {
  Arena *a = c->l->arena;
  Expr *idx[LOOP_MAX_DIMS * 2];
  if (r->n > (int)LEN(idx)) die("a scan over %d dimensions", r->n);
  int dim = c->dim + r->n - c->src->n; // counted from the last
  if (c->reverse) k = ex_sub(a, ex_sub(a, c->length, num(c, 1)), k);
  for (int d = r->n - 1; d >= 0; d--) {
    Expr *at = k;
    if (d != dim) {
      Expr *extent = lower_expr(c->l, r->extent[d]);
      at = ex_floormod(a, line, extent);
      line = ex_floordiv(a, line, extent);
    }
    idx[d] = lower_simplify(c->l, ex_add(a, lower_expr(c->l, r->min[d]), at));
  }
  return lower_offset(c->l, r->buf, idx);
}

static Expr *loaded(Scan *c, Expr *line, Expr *k) {
  Expr *at = offset(c, c->src, line, k);
  return ex_cast(c->l->arena, c->dst->buf->dtype, ex_load(c->l->arena, c->src->buf, &at, 1));
}

static Stmt *stored(Scan *c, Expr *line, Expr *k, Expr *value) {
  Expr *at = offset(c, c->dst, line, k);
  return st_store(c->l->arena, c->dst->buf, &at, 1, value, c->s->span);
}

static Expr *combined(Scan *c, Expr *x, Expr *y) {
  return reduce_combine(c->l->arena, c->kind, false, x, y);
}

static Stmt *loop(Scan *c, Var *v, Expr *n, Stmt *body) {
  return st_for(c->l->arena, LOOP_SERIAL, v, num(c, 0), n, walk_block(c->l->arena, body),
                c->s->span);
}

static Expr *rounds(Scan *c, Expr *n, int64_t each) {
  Arena *a = c->l->arena;
  return lower_simplify(c->l, ex_floordiv(a, ex_add(a, n, num(c, each - 1)), num(c, each)));
}

// A line for each thread.
static void by_threads(Scan *c, Stmt *out) {
  Arena *a = c->l->arena;
  Lower *l = c->l;
  Var *it = lower_loop_var(l, "it"), *kv = lower_loop_var(l, "k");
  Expr *line = ex_add(a, ex_mul(a, ex_var(a, it), num(c, l->threads)), l->thread);
  Expr *k = ex_var(a, kv), *times = rounds(c, c->lines, l->threads);
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, it, num(c, 0), times);
  facts_push_loop(l->facts, kv, num(c, 0), c->length);
  Expr *in = lower_simplify(l, ex_lt(a, line, c->lines));
  facts_push_cond(l->facts, in);
  Stmt *body = st_block(a, c->s->span);
  Expr *value = loaded(c, line, k), *first = ex_bin(a, BIN_EQ, k, num(c, 0));
  st_add(a, body, set(c, c->value, value));
  Expr *sum = combined(c, get(c, c->carry), get(c, c->value));
  st_add(a, body, set(c, c->carry, ex_select(a, first, get(c, c->value), sum)));
  st_add(a, body, stored(c, line, k, get(c, c->carry)));
  Stmt *all = lower_if(l, in, loop(c, kv, c->length, body), c->s->span);
  facts_pop(l->facts, mark);
  st_add(a, out, loop(c, it, times, all));
}

static Stmt *shuffle(Scan *c, Buffer *from, Buffer *to, Expr *lane, ShuffleMode mode) {
  Arena *a = c->l->arena;
  return st_op(a, OP_SHUFFLE, c->s->span, get(c, from), region_flat(a, to, num(c, 0), 1), lane,
               (int64_t)mode, (int64_t)LANES);
}

// Each lane's value becomes the combination of its own and those of the lanes below.
static void scan_lanes(Scan *c, Expr *lane, Stmt *out) {
  Arena *a = c->l->arena;
  for (int64_t d = 1; d < LANES; d *= 2) {
    st_add(a, out, shuffle(c, c->value, c->other, num(c, d), SHUFFLE_UP));
    Stmt *take = set(c, c->value, combined(c, get(c, c->other), get(c, c->value)));
    Expr *above = ex_bin(a, BIN_LE, num(c, d), lane);
    st_add(a, out, st_if(a, above, walk_block(a, take), NULL, c->s->span));
  }
}

// A line for each warp.
static void by_warps(Scan *c, int warps, Stmt *out) {
  Arena *a = c->l->arena;
  Lower *l = c->l;
  Span span = c->s->span;
  Expr *lane = lower_let(l, out, "lane", ex_floormod(a, l->thread, num(c, LANES)));
  Expr *warp = lower_let(l, out, "warp", ex_floordiv(a, l->thread, num(c, LANES)));
  Var *it = lower_loop_var(l, "it"), *cv = lower_loop_var(l, "c");
  Expr *times = rounds(c, c->lines, warps), *chunks = rounds(c, c->length, LANES);
  Expr *line = ex_add(a, ex_mul(a, ex_var(a, it), num(c, warps)), warp), *chunk = ex_var(a, cv);
  Expr *k = ex_add(a, ex_mul(a, chunk, num(c, LANES)), lane);
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, it, num(c, 0), times);
  facts_push_loop(l->facts, cv, num(c, 0), chunks);
  Expr *in = ex_and(a, ex_lt(a, line, c->lines), ex_lt(a, k, c->length));
  Expr *last = num(c, LANES - 1);
  if (l->threads > warps * LANES) { // the last warp has fewer lanes, and no line
    Expr *whole = ex_lt(a, warp, num(c, warps));
    in = ex_and(a, whole, in);
    last = ex_select(a, whole, last, num(c, 0));
  }
  in = lower_simplify(l, in);
  Stmt *body = st_block(a, span);
  facts_push_cond(l->facts, in);
  st_add(a, body, lower_if(l, in, set(c, c->value, loaded(c, line, k)), span));
  scan_lanes(c, lane, body);
  Stmt *more = set(c, c->value, combined(c, get(c, c->carry), get(c, c->value)));
  if (!ex_is(chunks, 1)) {
    st_add(a, body, st_if(a, ex_lt(a, num(c, 0), chunk), walk_block(a, more), NULL, span));
    st_add(a, body, shuffle(c, c->value, c->carry, last, SHUFFLE_INDEX));
  }
  st_add(a, body, lower_if(l, in, stored(c, line, k, get(c, c->value)), span));
  facts_pop(l->facts, mark);
  st_add(a, out, loop(c, it, times, loop(c, cv, chunks, body)));
}

void lower_scan(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const Arg *arg = s->u.op.arg;
  Scan c = {.l = l,
            .s = s,
            .src = arg[0].region,
            .dst = arg[1].region,
            .kind = (ReduceKind)arg[2].i,
            .dim = (int)arg[3].i,
            .reverse = arg[4].i};
  c.lines = ex_index(a, 1);
  for (int d = 0; d < c.src->n; d++) {
    Expr *extent = lower_expr(l, c.src->extent[d]);
    if (d == c.dim) c.length = extent;
    else c.lines = ex_mul(a, c.lines, extent);
  }
  c.lines = lower_simplify(l, c.lines);
  c.value = local(&c, "v");
  c.carry = local(&c, "carry");
  int warps = l->threads / LANES;
  int64_t lines = 0, length = LANES;
  ex_const(c.lines, &lines);
  ex_const(c.length, &length);
  Stmt *body = st_block(a, s->span);
  if (!warps || lines >= l->threads || length <= SHORT_LINE) {
    by_threads(&c, body);
  } else {
    c.other = local(&c, "other");
    by_warps(&c, warps, body);
  }
  st_add(a, out, body);
}
