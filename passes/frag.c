// Fragment accesses of parallel loops: which layouts they ask for, and whether a layout serves
// them.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ collecting */

typedef struct {
  Arena *arena;
  Stmt *loop;
  FragUses uses;
  bool write;
} Collect;

static int loop_var(const Stmt *loop, const Expr *x) {
  for (int i = 0; i < loop->u.loop.nvars; i++)
    if (x->kind == EX_VAR && x->u.var == loop->u.loop.var[i]) return i;
  return -1;
}

static void add_use(Collect *c, Buffer *b, Expr **idx, bool write) {
  FragUse u = {.buf = b, .write = write, .plain = true, .idx = idx};
  uint32_t seen = 0;
  for (int d = 0; d < b->ndim; d++) {
    int v = u.dim[d] = loop_var(c->loop, idx[d]);
    if (v < 0) u.plain = u.plain && ex_is(idx[d], 0) && ex_is(b->shape[d], 1);
    else if (seen >> v & 1) u.plain = false;
    if (v >= 0) seen |= 1u << v;
  }
  vec_push(c->arena, &c->uses, u);
}

static void collect_load(void *ctx, Expr *x) {
  Collect *c = ctx;
  if (x->kind == EX_LOAD && x->u.load.buf->scope == SC_FRAGMENT)
    add_use(c, x->u.load.buf, x->u.load.idx, false);
}

static void collect_expr(void *ctx, Expr **slot) {
  if (*slot) ex_walk(*slot, collect_load, ctx);
}

static void collect_stmt(void *ctx, Stmt *s) {
  Collect *c = ctx;
  st_exprs(s, collect_expr, c);
  if (s->kind == ST_STORE && s->u.store.buf->scope == SC_FRAGMENT)
    add_use(c, s->u.store.buf, s->u.store.idx, true);
  if (s->kind == ST_OP && s->u.op.op == OP_ATOMIC &&
      s->u.op.arg[0].region->buf->scope == SC_FRAGMENT)
    add_use(c, s->u.op.arg[0].region->buf, s->u.op.arg[0].region->min, true);
  if (s->kind == ST_OP && s->u.op.op == OP_REDUCER_UPDATE &&
      s->u.op.arg[0].region->buf->scope == SC_FRAGMENT) {
    add_use(c, s->u.op.arg[0].region->buf, s->u.op.arg[0].region->min, false);
    c->uses.data[c->uses.len - 1].update = true;
  }
}

FragUses frag_uses(Arena *a, Stmt *loop) {
  Collect c = {.arena = a, .loop = loop};
  st_walk(loop->u.loop.body, collect_stmt, &c);
  return c.uses;
}

/* ------------------------------------------------------------------ propagation */

// l with a dimension of extent 1 before dimension `at`.
static Layout *insert_dim(Arena *a, const Layout *l, int at) {
  Layout *r = arena_copy(a, l, sizeof *l);
  r->ndims = l->ndims + 1;
  r->shape = NEWN(a, int64_t, r->ndims);
  for (int i = 0; i < r->ndims; i++)
    r->shape[i] = i < at ? l->shape[i] : i == at ? 1 : l->shape[i - 1];
  r->group = NEWN(a, DigitGroup, l->ngroups + 1);
  r->ngroups = 0;
  bool inside = false;
  for (int i = 0; i < l->ngroups; i++) {
    DigitGroup g = l->group[i];
    if (g.first >= at) {
      if (!inside) r->group[r->ngroups++] = (DigitGroup){.first = at, .n = 1};
      inside = true;
      g.first++;
    } else if (g.first + g.n > at) { // within a fused group: the fused index does not change
      g.n++;
      inside = true;
    }
    r->group[r->ngroups++] = g;
  }
  if (!inside) r->group[r->ngroups++] = (DigitGroup){.first = at, .n = 1};
  return r;
}

Layout *frag_from_loop(Arena *a, const FragUse *u, const Layout *loop) {
  if (!u->plain) return NULL;
  const Layout *l = loop;
  int var[LOOP_MAX_DIMS], order[LOOP_MAX_DIMS], n = loop->ndims, used = 0;
  for (int i = 0; i < n; i++) var[i] = i;
  for (int v = loop->ndims - 1; v >= 0; v--) {
    bool needed = false;
    for (int d = 0; d < u->buf->ndim; d++) needed = needed || u->dim[d] == v;
    if (needed) continue;
    if ((u->write && loop->shape[v] > 1) || !(l = layout_drop(a, l, v))) return NULL;
    for (int i = v; i < n - 1; i++) var[i] = var[i + 1];
    n--;
  }
  for (int d = 0; d < u->buf->ndim; d++)
    for (int i = 0; i < n; i++)
      if (u->dim[d] == var[i]) order[used++] = i;
  if (!(l = layout_permute(a, l, order))) return NULL;
  for (int d = 0; d < u->buf->ndim; d++)
    if (u->dim[d] < 0) l = insert_dim(a, l, d);
  for (int d = 0; d < u->buf->ndim; d++)
    if (!ex_is(u->buf->shape[d], l->shape[d])) return NULL;
  return layout_with_bits(a, l, dt_bits(u->buf->dtype));
}

Layout *frag_to_loop(Arena *a, const FragUse *u, const Stmt *loop) {
  if (!u->plain || !u->buf->layout) return NULL;
  const Layout *l = u->buf->layout;
  int nvars = loop->u.loop.nvars, order[LOOP_MAX_DIMS], n = 0;
  int var[LOOP_MAX_DIMS], index[LOOP_MAX_DIMS]; // of the dimensions left; which one a variable is
  for (int d = u->buf->ndim - 1; d >= 0; d--)
    if (u->dim[d] < 0 && !(l = layout_drop(a, l, d))) return NULL;
  for (int v = 0; v < nvars; v++) index[v] = -1;
  for (int d = 0; d < u->buf->ndim; d++)
    if (u->dim[d] >= 0) var[n++] = u->dim[d];
  for (int i = 0; i < n; i++) index[var[i]] = i;
  n = 0;
  for (int v = 0; v < nvars; v++)
    if (index[v] >= 0) order[n++] = index[v];
  if (!(l = layout_permute(a, l, order))) return NULL;
  for (int v = 0; v < nvars; v++) {
    if (index[v] >= 0) continue;
    if (!ex_is(loop->u.loop.extent[v], 1)) return NULL; // it is not an index
    l = insert_dim(a, l, v);
  }
  return layout_with_bits(a, l, 1);
}

Layout *frag_part(Arena *a, const FragUse *u, const Stmt *loop) {
  int64_t shape[LOOP_MAX_DIMS];
  if (u->write || u->update || !u->buf->layout || u->buf->ndim != loop->u.loop.nvars) return NULL;
  for (int d = 0; d < u->buf->ndim; d++) {
    Expr *x = ex_sub(a, u->idx[d], ex_var(a, loop->u.loop.var[d]));
    Affine rest = ex_affine(a, x);
    if (rest.n || !ex_const(loop->u.loop.extent[d], &shape[d]) || shape[d] < 1) return NULL;
    if (rest.constant % shape[d] || rest.constant + shape[d] > u->buf->layout->shape[d])
      return NULL;
  }
  Layout *l = layout_part(a, u->buf->layout, shape);
  return l ? layout_with_bits(a, l, 1) : NULL;
}

/* ------------------------------------------------------------------ fitting */

// An index expression at given values of the loop variables; false when it depends on anything
// else.
static bool value_at(const Expr *x, const Stmt *loop, const int64_t *at, int64_t *out) {
  int64_t p, q;
  if (ex_const(x, out)) return true;
  if (x->kind == EX_VAR) {
    int v = loop_var(loop, x);
    if (v >= 0) *out = at[v];
    return v >= 0;
  }
  if (x->kind == EX_CAST && x->type == DT_INDEX) return value_at(x->u.cast, loop, at, out);
  if (x->kind != EX_BINARY || x->type != DT_INDEX) return false;
  if (!value_at(x->u.bin.a, loop, at, &p) || !value_at(x->u.bin.b, loop, at, &q)) return false;
  bool div = x->u.bin.op == BIN_FLOORDIV || x->u.bin.op == BIN_FLOORMOD;
  if (div && (q <= 0 || p < 0)) return false;
  switch (x->u.bin.op) {
  case BIN_ADD: *out = p + q; return true;
  case BIN_SUB: *out = p - q; return true;
  case BIN_MUL: *out = p * q; return true;
  case BIN_FLOORDIV: *out = p / q; return true;
  case BIN_FLOORMOD: *out = p % q; return true;
  default: return false;
  }
}

static bool same_group(const DigitGroup *g, const DigitGroup *h) {
  if (g->ndigits != h->ndigits) return false;
  for (int j = 0; j < g->ndigits; j++) {
    const Digit *d = &g->digit[j], *e = &h->digit[j];
    if (d->extent != e->extent || d->owner != e->owner) return false;
    if (d->owner == OWN_THREAD && d->stride != e->stride) return false;
  }
  return true;
}

// Which digit of the loop's sorted register digits has this stride.
static int digit_at(const Digit *reg, int n, int64_t stride) {
  for (int i = 0; i < n; i++)
    if (reg[i].stride == stride) return i;
  die("layout: a register digit is missing");
}

static bool take_replica(Replica *r, int n, int64_t extent, int64_t stride) {
  for (int i = 0; i < n; i++)
    if (r[i].extent == extent && r[i].stride == stride) {
      r[i].extent = 0;
      return true;
    }
  return false;
}

// The usual case, by comparing digits: the fragment has the loop's digits, and its replicas are the
// loop's replicas and the thread digits of the variables that do not index it.
static bool fit_digits(const FragUse *u, const Layout *frag, const Layout *loop, int64_t *coeff) {
  Digit reg[LOOP_MAX_DIGITS];
  int n = layout_reg_digits(loop, reg, LOOP_MAX_DIGITS), copies = frag->nreplicas;
  if (copies > 16 || !u->plain) return false;
  Replica rep[16];
  for (int i = 0; i < copies; i++) rep[i] = frag->replica[i];
  for (int i = 0; i < frag->nreplicas; i++) copies -= frag->replica[i].extent <= 1;
  for (int i = 0; i < loop->ngroups; i++) {
    const DigitGroup *g = &loop->group[i], *h = NULL;
    bool used = false;
    for (int d = 0; d < u->buf->ndim; d++) {
      if (u->dim[d] < g->first || u->dim[d] >= g->first + g->n) continue;
      used = true;
      for (int k = 0; k < frag->ngroups; k++)
        if (frag->group[k].first == d && frag->group[k].n == g->n && u->dim[d] == g->first)
          h = &frag->group[k];
    }
    if (!used && !u->write) {
      for (int j = 0; j < g->ndigits; j++)
        if (g->digit[j].owner == OWN_THREAD &&
            !take_replica(rep, frag->nreplicas, g->digit[j].extent, g->digit[j].stride))
          return false;
        else copies -= g->digit[j].owner == OWN_THREAD;
      continue;
    }
    if (!h || !same_group(g, h)) return false;
    for (int k = 0; k < g->n; k++) // a fused group: the same dimensions in the same order
      if (u->dim[h->first + k] != g->first + k ||
          frag->shape[h->first + k] != loop->shape[g->first + k])
        return false;
    for (int j = 0; j < g->ndigits; j++)
      if (g->digit[j].owner == OWN_REG)
        coeff[digit_at(reg, n, g->digit[j].stride)] = h->digit[j].stride / frag->bits;
  }
  for (int i = 0; i < loop->nreplicas; i++) {
    if (loop->replica[i].extent <= 1) continue;
    if (!take_replica(rep, frag->nreplicas, loop->replica[i].extent, loop->replica[i].stride))
      return false;
    copies--;
  }
  return copies == 0;
}

typedef struct {
  const FragUse *u;
  const Layout *frag, *loop;
  Stmt *stmt;
  Digit reg[LOOP_MAX_DIGITS];
  int nregs;
} Fit;

// Coordinates of the fragment element that (thread, register digits) of the loop accesses: 1
// inside, 0 idle, -1 not a function of the loop variables or outside the tile.
static int element_of(const Fit *f, int64_t t, const int64_t *v, int64_t *coord) {
  int64_t at[LOOP_MAX_DIMS], r = 0;
  for (int i = 0; i < f->nregs; i++) r += v[i] * f->reg[i].stride;
  if (!layout_coord(f->loop, t, r, at)) return 0;
  for (int d = 0; d < f->u->buf->ndim; d++)
    if (!value_at(f->u->idx[d], f->stmt, at, &coord[d]) || coord[d] < 0 ||
        coord[d] >= f->frag->shape[d])
      return -1;
  return 1;
}

static bool same_element(const Fit *f, int64_t t, int64_t reg, const int64_t *want) {
  int64_t got[LOOP_MAX_DIMS];
  return layout_coord(f->frag, t, reg, got) &&
         !memcmp(got, want, sizeof(int64_t) * (size_t)f->frag->ndims);
}

static int64_t register_of(const Layout *l, const int64_t *coord) {
  int64_t t, w;
  layout_at(l, coord, &t, &w);
  return w / l->bits;
}

// Reads the coefficients off thread 0, then checks every iteration of every thread.
static bool fit_by_count(const Fit *f, int64_t *coeff, int64_t *base) {
  int64_t v[LOOP_MAX_DIGITS] = {0}, coord[LOOP_MAX_DIMS], runs = 0, held = 0;
  if (element_of(f, 0, v, coord) != 1) return false;
  *base = register_of(f->frag, coord);
  for (int i = 0; i < f->nregs; i++) {
    v[i] = 1;
    if (element_of(f, 0, v, coord) == 1) coeff[i] = register_of(f->frag, coord) - *base;
    v[i] = 0;
  }
  for (int t = 0; t < f->loop->threads; t++) {
    memset(v, 0, sizeof v);
    for (int i = 0; i < f->nregs || !i;) {
      int in = element_of(f, t, v, coord);
      int64_t reg = *base;
      for (int k = 0; k < f->nregs; k++) reg += coeff[k] * v[k];
      if (in < 0 || (in && !same_element(f, t, reg, coord))) return false;
      runs += in;
      for (i = 0; i < f->nregs && ++v[i] == f->reg[i].extent; i++) v[i] = 0;
      if (!f->nregs) break;
    }
  }
  if (!f->u->write) return true;
  // A write must reach every copy: as many iterations as places (the index map is one to one).
  if (!f->u->plain) return false;
  for (int t = 0; t < f->frag->threads; t++)
    for (int64_t r = 0; r < layout_regs(f->frag); r++) held += layout_coord(f->frag, t, r, coord);
  return runs == held;
}

bool frag_fit(Arena *a, const FragUse *u, const Layout *frag, Stmt *loop, int64_t *coeff,
              int64_t *base) {
  Fit f = {.u = u, .frag = frag, .loop = loop->u.loop.layout, .stmt = loop};
  memset(coeff, 0, sizeof *coeff * LOOP_MAX_DIGITS);
  *base = 0;
  if (!f.loop || frag->threads != f.loop->threads) return false;
  if (fit_digits(u, frag, f.loop, coeff)) return true;
  memset(coeff, 0, sizeof *coeff * LOOP_MAX_DIGITS);
  f.nregs = layout_reg_digits(f.loop, f.reg, LOOP_MAX_DIGITS);
  return fit_by_count(&f, coeff, base);
}
