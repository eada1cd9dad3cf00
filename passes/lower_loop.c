// Parallel loops: each thread runs the iterations that the loop's layout gives it.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

enum { UNROLL_MOST = 32 }; // iterations of a loop without fragments that are unrolled

typedef struct {
  Var *var[LOOP_MAX_DIGITS + 1]; // innermost first
  int64_t extent[LOOP_MAX_DIGITS + 1];
  LoopKind kind[LOOP_MAX_DIGITS + 1];
  int n;
} Nest;

static const char *const digit_names[] = {"r", "s", "u", "w"};

static Expr *add_loop(Lower *l, Nest *n, const char *name, int64_t extent, LoopKind kind) {
  if (extent == 1) return ex_index(l->arena, 0);
  Var *v = lower_loop_var(l, name);
  n->var[n->n] = v;
  n->extent[n->n] = extent;
  n->kind[n->n++] = kind;
  facts_push_loop(l->facts, v, ex_index(l->arena, 0), ex_index(l->arena, extent));
  return ex_var(l->arena, v);
}

static bool has_fragments(Lower *l, Stmt *s) {
  for (int i = 0; i < l->forms.len; i++)
    if (l->forms.data[i].tile.scope == SC_FRAGMENT || l->forms.data[i].tile.scope == SC_LOCAL)
      if (walk_touches(l->arena, s, l->forms.data[i].buf, false)) return true;
  return false;
}

// One loop for each register digit; the fastest is cut to the width of a vector.
static void digit_loops(Lower *l, Stmt *s, int width, Nest *nest) {
  Digit reg[LOOP_MAX_DIGITS];
  int n = layout_reg_digits(s->u.loop.layout, reg, LOOP_MAX_DIGITS);
  int64_t runs = 1;
  for (int i = 0; i < n; i++) runs *= reg[i].extent;
  bool unroll = runs / width <= UNROLL_MOST || has_fragments(l, s->u.loop.body);
  Expr *lane = NULL;
  if (width > 1) {
    lane = add_loop(l, nest, "v", width, LOOP_VECTORIZED);
    l->lane = lane->u.var;
    l->width = width;
    reg[0].extent /= width;
  }
  for (int i = 0; i < n; i++) {
    const char *name = digit_names[i < (int)LEN(digit_names) ? i : (int)LEN(digit_names) - 1];
    bool last = i == n - 1;
    l->digit[i] =
        add_loop(l, nest, name, reg[i].extent, unroll || !last ? LOOP_UNROLL : LOOP_SERIAL);
    if (i == 0 && lane)
      l->digit[0] =
          ex_add(l->arena, ex_mul(l->arena, l->digit[0], ex_index(l->arena, width)), lane);
  }
}

static Stmt *wrap(Lower *l, const Nest *nest, int from, Stmt *body, Span span) {
  for (int i = from; i < nest->n; i++)
    body = walk_block(l->arena, st_for(l->arena, nest->kind[i], nest->var[i], ex_index(l->arena, 0),
                                       ex_index(l->arena, nest->extent[i]), body, span));
  return body;
}

// async: the body's store as one cp.async for all lanes; false when that is not possible.
static bool mapped(Lower *l, Stmt *s, bool async, Stmt *out) {
  LoopWidth *w = lower_width(l, s);
  Nest nest = {.n = 0};
  int mark = facts_mark(l->facts);
  digit_loops(l, s, w ? w->width : 1, &nest);
  Expr *coord[LOOP_MAX_DIMS], *valid;
  layout_inverse(l->arena, l->facts, s->u.loop.layout, l->thread, l->digit, coord, &valid);
  valid = width_drop_lane(l->arena, l->facts, valid, l->lane, l->width);
  for (int i = 0; i < s->u.loop.nvars; i++) subst_add(&l->vars, s->u.loop.var[i], coord[i]);
  l->first_copy = layout_first_copy(l->arena, s->u.loop.layout, l->thread);
  if (valid) facts_push_cond(l->facts, valid);
  Stmt *body = st_block(l->arena, s->span);
  bool ok = true;
  GatherLoop g;
  if (async)
    ok = gather_parts(s, &g) && lower_issue(l, &g, body) &&
         !(valid && l->lane && ex_uses(valid, l->lane));
  else lower_stmt(l, s->u.loop.body, body);
  body = walk_block(l->arena, lower_if(l, valid, body, s->span));
  body = wrap(l, &nest, async && l->lane, body, s->span);
  facts_pop(l->facts, mark);
  if (ok) st_add(l->arena, out, body);
  return ok;
}

// Run-time extents: threads stride over the row-major iterations.
static void strided(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  int n = s->u.loop.nvars;
  Expr *extent[LOOP_MAX_DIMS], *total = ex_index(a, 1), *threads = ex_index(a, l->threads);
  for (int i = 0; i < n; i++) {
    extent[i] = lower_expr(l, s->u.loop.extent[i]);
    total = ex_mul(a, total, extent[i]);
  }
  total = lower_let(l, out, "total", total);
  int mark = facts_mark(l->facts);
  Var *it = lower_loop_var(l, "it");
  Expr *rounds = ex_floordiv(a, ex_add(a, total, ex_sub(a, threads, ex_index(a, 1))), threads);
  facts_push_loop(l->facts, it, ex_index(a, 0), rounds);
  Expr *f = ex_add(a, ex_mul(a, ex_var(a, it), threads), l->thread), *inside = ex_lt(a, f, total);
  facts_push_cond(l->facts, inside);
  Stmt *body = st_block(a, s->span);
  for (int i = n - 1; i >= 0; i--) {
    Expr *v = i ? ex_floormod(a, f, extent[i]) : f;
    if (i) f = ex_floordiv(a, f, extent[i]);
    Expr *bound = lower_let(l, body, s->u.loop.var[i]->name, v);
    facts_push_cond(l->facts, ex_lt(a, bound, extent[i])); // f < total bounds every digit
    facts_push_cond(l->facts, ex_bin(a, BIN_LE, ex_index(a, 0), bound));
    subst_add(&l->vars, s->u.loop.var[i], bound);
  }
  lower_stmt(l, s->u.loop.body, body);
  facts_pop(l->facts, mark);
  body = walk_block(a, st_if(a, inside, body, NULL, s->span));
  st_add(a, out, st_for(a, LOOP_SERIAL, it, ex_index(a, 0), rounds, body, s->span));
}

static bool enter(Lower *l, Stmt *s, bool async, Stmt *out) {
  if (l->loop) die("lower: nested parallel loops");
  int vars = l->vars.from.len;
  bool ok = true;
  l->loop = s;
  l->first_copy = NULL;
  l->lane = NULL;
  l->width = 1;
  if (!async && (lower_matrices(l, s, out) || lower_turn(l, s, out))) ok = true;
  else if (s->u.loop.layout) ok = mapped(l, s, async, out);
  else strided(l, s, out);
  l->vars.from.len = l->vars.to.len = vars;
  l->loop = NULL;
  l->lane = NULL;
  l->width = 1;
  l->first_copy = NULL;
  return ok;
}

void lower_parallel(Lower *l, Stmt *s, Stmt *out) { enter(l, s, false, out); }

bool lower_parallel_async(Lower *l, Stmt *s, Stmt *out) { return enter(l, s, true, out); }
