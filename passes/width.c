// How wide an access along a loop variable can be, from what is proved about strides, bases and
// bounds.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

Expr *width_stride(Arena *a, const Buffer *b, int d) {
  if (b->strides) return b->strides[d];
  Expr *s = ex_index(a, 1);
  for (int i = d + 1; i < b->ndim; i++) s = ex_mul(a, s, b->shape[i]);
  return s;
}

static bool divides(Facts *f, Expr *x, int64_t w) { return facts_divisor(f, x) % w == 0; }

// x - j when x is j plus something without j; NULL otherwise.
static Expr *without(Arena *a, Expr *x, const Var *j) {
  Affine s = ex_affine(a, x);
  bool found = false;
  for (int i = 0; i < s.n; i++) {
    if (s.term[i]->kind == EX_VAR && s.term[i]->u.var == j) {
      if (s.coeff[i] != 1) return NULL;
      s.coeff[i] = 0;
      found = true;
    } else if (ex_uses(s.term[i], j)) {
      return NULL;
    }
  }
  return found ? ex_from_affine(a, &s) : NULL;
}

static bool in_bounds(Widths *w, Expr *x, Expr *extent) {
  Arena *a = w->arena;
  return facts_prove(w->facts, ex_bin(a, BIN_LE, ex_index(a, 0), x)) &&
         facts_prove(w->facts, ex_lt(a, x, extent));
}

static bool aligned(Widths *w, const Buffer *b, Expr **idx, int n, Expr *rest, int v) {
  Arena *a = w->arena;
  Expr *flat = rest;
  if (b->scope == SC_SHARED && b->layout) {
    if (layout_vector(b->layout) % v) return false;
  } else {
    for (int d = 0; d < n - 1; d++)
      flat = ex_add(a, flat, ex_mul(a, idx[d], width_stride(a, b, d)));
  }
  if (!divides(w->facts, flat, v)) return false;
  if (b->scope != SC_GLOBAL) return true;
  return in_bounds(w, idx[n - 1], b->shape[n - 1]) ||
         (divides(w->facts, rest, v) && divides(w->facts, b->shape[n - 1], v));
}

// Elements (a power of two, at most `most`) that an access can move at once along loop variable j,
// whose values come in runs that start at multiples of the width. 0: j is not its innermost index.
static int width_access(Widths *w, const Buffer *b, Expr **idx, int n, const Var *j, int most) {
  if (!n || dt_bits(b->dtype) < 8 || (b->scope == SC_GLOBAL && b->places)) return 0;
  for (int d = 0; d < n - 1; d++)
    if (ex_uses(idx[d], j)) return 0;
  Expr *rest = without(w->arena, idx[n - 1], j);
  if (!rest || !ex_is(facts_simplify(w->facts, width_stride(w->arena, b, n - 1)), 1)) return 0;
  int bytes = dt_bytes(b->dtype), v = 1;
  while (v * 2 <= most && v * 2 * bytes <= 16) v *= 2;
  for (; v > 1; v /= 2) {
    if (b->scope == SC_GLOBAL && b->align % (v * bytes)) continue;
    if (aligned(w, b, idx, n, rest, v)) return v;
  }
  return 1;
}

int width_atomic(const Target *t, DType type) {
  if (type == DT_F16 || type == DT_BF16) return 2;
  return type == DT_F32 && t->red_vec_f32 ? 4 : 1;
}

typedef struct {
  Widths *w;
  const Var *j;
  int width;
  bool any;
} Scan;

static void scan_access(void *ctx, const Access *acc) {
  Scan *s = ctx;
  const Region *r = &acc->region;
  if (r->buf->scope != SC_GLOBAL && r->buf->scope != SC_SHARED) return;
  int most = s->width, cap = width_atomic(s->w->target, r->buf->dtype);
  if (acc->mode == ACC_ATOMIC && cap < most) most = cap;
  int v = width_access(s->w, r->buf, r->min, r->n, s->j, most);
  if (!v) return;
  s->any = true;
  if (v < s->width) s->width = v;
}

static void scan_stmt(void *ctx, Stmt *x) {
  Scan *s = ctx;
  st_accesses(s->w->arena, x, scan_access, s);
}

int width_loop(Widths *w, Stmt *loop, int most) {
  int last = loop->u.loop.nvars - 1;
  while (most > 1 && !divides(w->facts, loop->u.loop.min[last], most)) most /= 2;
  int mark = facts_mark(w->facts);
  for (int i = 0; i <= last; i++)
    facts_push_loop(w->facts, loop->u.loop.var[i], loop->u.loop.min[i], loop->u.loop.extent[i]);
  Scan s = {w, loop->u.loop.var[last], most, false};
  walk_facts(w->arena, w->facts, loop->u.loop.body, scan_stmt, &s);
  facts_pop(w->facts, mark);
  return s.any ? s.width : 1;
}

/* ------------------------------------------------------------------ lanes of guards */

// x with lane := 0, when x is lane + a multiple of width.
static Expr *base_of(Arena *a, Facts *f, Expr *x, const Var *lane, int width) {
  Expr *rest = without(a, facts_simplify(f, x), lane);
  return rest && divides(f, rest, width) ? facts_simplify(f, rest) : NULL;
}

Expr *width_drop_lane(Arena *a, Facts *f, Expr *cond, const Var *lane, int width) {
  if (!cond || !lane || !ex_uses(cond, lane) || cond->kind != EX_BINARY) return cond;
  BinOp op = cond->u.bin.op;
  Expr *x = cond->u.bin.a, *y = cond->u.bin.b;
  if (op == BIN_AND)
    return ex_and(a, width_drop_lane(a, f, x, lane, width), width_drop_lane(a, f, y, lane, width));
  if (x->type != DT_INDEX || y->type != DT_INDEX) return cond;
  if (op == BIN_LT && !ex_uses(y, lane)) { // base + lane < y, y a multiple of the width
    Expr *b = base_of(a, f, x, lane, width);
    if (b && divides(f, y, width)) return ex_lt(a, b, y);
  }
  if (op == BIN_LE && !ex_uses(x, lane)) { // x <= base + lane
    Expr *b = base_of(a, f, y, lane, width);
    if (b && divides(f, x, width)) return ex_bin(a, BIN_LE, x, b);
  }
  if (op == BIN_LE && !ex_uses(y, lane)) { // base + lane <= y, y + 1 a multiple of the width
    Expr *b = base_of(a, f, x, lane, width), *next = ex_add(a, y, ex_index(a, 1));
    if (b && divides(f, next, width)) return ex_lt(a, b, next);
  }
  return cond;
}
