// Do iterations of a parallel loop depend on one another: does one write an element that another
// reads, or writes with another value? Decided for each buffer from the indices: by their form, or
// by listing the iterations; of a large loop a part, which can only show that they meet.
// SPDX-License-Identifier: MIT
#include "ir/iterations.h"

#include "ir/internal.h"

#include <stdlib.h>

enum {
  VARS = ITERATION_VARS, // around an access
  LETS = 64,             // expanded in indices
  LET_NODES = 64,        // of a let that is expanded
  DIMS = 4,              // compared by enumeration,
  DIM_SPAN = 1 << 15,    // of so many values
  INSTANCES = 1 << 14    // of an access that are compared
};

typedef struct {
  const Var *var;
  Expr *min, *extent;
  bool parallel;
} Around;

typedef VEC(Expr *) Conds;

typedef struct {
  const Buffer *buf;
  Expr **idx, *value; // value: what is written, NULL of a read
  int n, nbounds;
  const Around *bound; // around it, the parallel loop's first
  Conds conds;
  Span span;
} Use;

typedef struct {
  Arena *a;
  VEC(Around) bound;
  VEC(const Var *) let;
  VEC(Expr *) let_value; // NULL: not known
  Conds conds;
  VEC(Use) uses;
  const Stmt *s; // visited
} Loop;

/* accesses */

static void count_node(void *ctx, Expr *x) {
  (void)x;
  ++*(int *)ctx;
}

static Expr *let_of(void *ctx, Var *v) {
  Loop *l = ctx;
  for (int i = l->let.len - 1; i >= 0; i--)
    if (l->let.data[i] == v) return l->let_value.data[i];
  return NULL;
}

static Expr *expanded(Loop *l, Expr *x) { return ex_replace(l->a, x, let_of, l); }

static void add_use(Loop *l, Buffer *b, Expr **idx, int n, Expr *value, Span span) {
  if (b->scope == SC_LOCAL || b->scope == SC_MAP) return;
  Use u = {.buf = b, .n = n, .nbounds = l->bound.len, .span = span};
  u.bound = arena_copy(l->a, l->bound.data, sizeof(Around) * (size_t)l->bound.len);
  u.idx = NEWN(l->a, Expr *, n);
  for (int i = 0; i < n; i++) u.idx[i] = expanded(l, idx[i]);
  u.value = value ? expanded(l, value) : NULL;
  for (int i = 0; i < l->conds.len; i++) vec_push(l->a, &u.conds, l->conds.data[i]);
  vec_push(l->a, &l->uses, u);
}

static void read_expr(Loop *l, Expr *x);

static void push_cond(Loop *l, Expr *cond, bool holds) {
  Expr *c = expanded(l, cond);
  vec_push(l->a, &l->conds, holds ? c : ex_un(l->a, UN_NOT, c));
}

static void read_select(Loop *l, Expr *x) {
  int n = l->conds.len;
  read_expr(l, x->u.sel.cond);
  for (int yes = 1; yes >= 0; yes--) {
    push_cond(l, x->u.sel.cond, yes);
    read_expr(l, yes ? x->u.sel.yes : x->u.sel.no);
    l->conds.len = n;
  }
}

static void read_expr(Loop *l, Expr *x) {
  if (!x) return;
  switch (x->kind) {
  case EX_LOAD:
    for (int i = 0; i < x->u.load.n; i++) read_expr(l, x->u.load.idx[i]);
    add_use(l, x->u.load.buf, x->u.load.idx, x->u.load.n, NULL,
            x->span.file ? x->span : l->s->span);
    return;
  case EX_UNARY: read_expr(l, x->u.un.a); return;
  case EX_BINARY: read_expr(l, x->u.bin.a), read_expr(l, x->u.bin.b); return;
  case EX_CAST:
  case EX_BITCAST: read_expr(l, x->u.cast); return;
  case EX_SELECT: read_select(l, x); return;
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++) read_expr(l, x->u.math.arg[i]);
    return;
  default: return;
  }
}

static void read_slot(void *ctx, Expr **slot) { read_expr(ctx, *slot); }

static void push_let(Loop *l, const Stmt *s) {
  int nodes = 0;
  Expr *value = l->let.len < LETS ? expanded(l, s->u.let.value) : NULL;
  if (value) ex_walk(value, count_node, &nodes);
  vec_push(l->a, &l->let, s->u.let.var);
  vec_push(l->a, &l->let_value, nodes && nodes <= LET_NODES ? value : NULL);
}

static void collect(Loop *l, Stmt *s);

static void collect_for(Loop *l, Stmt *s) {
  int n = l->bound.len;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    Around b = {s->u.loop.var[i], s->u.loop.min[i], s->u.loop.extent[i],
                s->u.loop.loop == LOOP_PARALLEL};
    vec_push(l->a, &l->bound, b);
  }
  if (s->u.loop.cond) vec_push(l->a, &l->conds, s->u.loop.cond);
  collect(l, s->u.loop.body);
  if (s->u.loop.cond) l->conds.len--;
  l->bound.len = n;
}

static void collect(Loop *l, Stmt *s) {
  if (!s) return;
  l->s = s;
  st_exprs(s, read_slot, l);
  int n = l->conds.len;
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) collect(l, s->u.block.data[i]);
    return;
  case ST_FOR: collect_for(l, s); return;
  case ST_IF:
    push_cond(l, s->u.branch.cond, true);
    collect(l, s->u.branch.yes);
    l->conds.len = n;
    push_cond(l, s->u.branch.cond, false);
    collect(l, s->u.branch.no);
    l->conds.len = n;
    return;
  case ST_LET: push_let(l, s); return;
  case ST_STORE:
    add_use(l, s->u.store.buf, s->u.store.idx, s->u.store.n, s->u.store.value, s->span);
    return;
  default: return;
  }
}

/* values at one iteration */

typedef struct {
  const Var *var[VARS];
  int64_t at[VARS];
  int n;
} Env;

static bool value_of(const Env *e, const Expr *x, int64_t *v);

static bool compare(BinOp op, int64_t x, int64_t y, int64_t *v) {
  switch (op) {
  case BIN_LT: *v = x < y; return true;
  case BIN_LE: *v = x <= y; return true;
  case BIN_EQ: *v = x == y; return true;
  case BIN_NE: *v = x != y; return true;
  default: return false;
  }
}

static bool binary_of(const Env *e, const Expr *x, int64_t *v) {
  int64_t p, q;
  bool left = value_of(e, x->u.bin.a, &p), right = value_of(e, x->u.bin.b, &q);
  bool and = x->u.bin.op == BIN_AND, or = x->u.bin.op == BIN_OR;
  // One side may decide.
  if ((and || or) && ((left && (p != 0) == or) || (right && (q != 0) == or))) return *v = or, true;
  if (!left || !right) return false;
  if (and || or) return *v = and, true;
  if (!dt_is_int(x->u.bin.a->type) && x->u.bin.a->type != DT_BOOL) return false;
  if (bin_is_compare(x->u.bin.op)) return compare(x->u.bin.op, p, q, v);
  return fold_int(x->u.bin.op, x->type, p, q, v);
}

// Of an integer expression; false: it is not known here.
static bool value_of(const Env *e, const Expr *x, int64_t *v) {
  int64_t c;
  switch (x->kind) {
  case EX_INT: return *v = x->u.i, true;
  case EX_VAR:
    for (int i = 0; i < e->n; i++)
      if (e->var[i] == x->u.var) return *v = e->at[i], true;
    return false;
  case EX_UNARY:
    if (x->u.un.op == UN_NOT && x->type == DT_BOOL)
      return value_of(e, x->u.un.a, &c) && (*v = !c, true);
    return x->u.un.op == UN_NEG && dt_is_int(x->type) && value_of(e, x->u.un.a, &c) &&
           (*v = fold_wrap(x->type, -c), true);
  case EX_BINARY: return binary_of(e, x, v);
  case EX_CAST:
    if (!dt_is_int(x->type) || !(dt_is_int(x->u.cast->type) || x->u.cast->type == DT_BOOL))
      return false;
    return value_of(e, x->u.cast, &c) && (*v = fold_wrap(x->type, c), true);
  case EX_SELECT:
    return value_of(e, x->u.sel.cond, &c) && value_of(e, c ? x->u.sel.yes : x->u.sel.no, v);
  default: return false;
  }
}

// Is x the same at both, whatever memory holds?
static bool same_at(const Env *p, const Env *q, const Expr *x) {
  int64_t a, b;
  bool known = value_of(p, x, &a);
  if (known && value_of(q, x, &b)) return a == b;
  switch (x->kind) {
  case EX_VAR: return !known;
  case EX_LOAD:
    for (int i = 0; i < x->u.load.n; i++)
      if (!same_at(p, q, x->u.load.idx[i])) return false;
    return true;
  case EX_UNARY: return same_at(p, q, x->u.un.a);
  case EX_BINARY: return same_at(p, q, x->u.bin.a) && same_at(p, q, x->u.bin.b);
  case EX_CAST:
  case EX_BITCAST: return same_at(p, q, x->u.cast);
  case EX_SELECT:
    return same_at(p, q, x->u.sel.cond) && same_at(p, q, x->u.sel.yes) &&
           same_at(p, q, x->u.sel.no);
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++)
      if (!same_at(p, q, x->u.math.arg[i])) return false;
    return true;
  default: return true;
  }
}

/* pairs of accesses by their indices */

// The parallel loops that are around both: their variables make an iteration.
static int common(const Use *w, const Use *x) {
  int n = 0;
  while (n < w->nbounds && n < x->nbounds && w->bound[n].parallel &&
         w->bound[n].var == x->bound[n].var)
    n++;
  return n;
}

static bool varies(const Loop *l, const Use *u, const Expr *x) {
  for (int i = 0; i < u->nbounds; i++)
    if (ex_uses(x, u->bound[i].var)) return true;
  for (int i = 0; i < l->let.len; i++)
    if (ex_uses(x, l->let.data[i])) return true;
  return false;
}

static int place_of(const Use *u, const Expr *x) {
  for (int i = 0; x->kind == EX_VAR && i < u->nbounds; i++)
    if (u->bound[i].var == x->u.var) return i;
  return -1;
}

// Of equal indices: which variables of the iteration does the dimension's value determine? Those of
// coefficients that are, by size, each more than what those below can make up.
static void pin(const Loop *l, const Use *u, int iteration, Expr *idx, bool *pinned) {
  Affine f = ex_affine(l->a, idx);
  int64_t reach = 0, n;
  for (int i = 0; i < f.n; i++) {
    int at = place_of(u, f.term[i]);
    if (at >= iteration || (at < 0 && varies(l, u, f.term[i]))) return;
    if (at < 0) f.coeff[i] = 0;
  }
  for (;;) {
    int low = -1;
    for (int i = 0; i < f.n; i++)
      if (f.coeff[i] && (low < 0 || llabs(f.coeff[i]) < llabs(f.coeff[low]))) low = i;
    if (low < 0) return;
    int at = place_of(u, f.term[low]);
    int64_t c = llabs(f.coeff[low]);
    f.coeff[low] = 0;
    if (c <= reach) return;
    pinned[at] = true;
    if (!ex_const(u->bound[at].extent, &n) || n > INT32_MAX || c > INT32_MAX) return;
    reach += c * (n - 1);
  }
}

static bool tells_apart(const Loop *l, const Use *w, const Use *x) {
  bool pinned[VARS] = {false};
  int iteration = common(w, x);
  int64_t n;
  for (int d = 0; d < w->n; d++)
    if (ex_equal(w->idx[d], x->idx[d])) pin(l, w, iteration, w->idx[d], pinned);
  for (int i = 0; i < iteration; i++)
    if (!pinned[i] && !(ex_const(w->bound[i].extent, &n) && n <= 1)) return false;
  return true;
}

// Values of a dimension lie in [lo, hi]; false: not known.
static bool range(const Use *u, const Affine *f, int64_t *lo, int64_t *hi) {
  *lo = *hi = f->constant;
  for (int i = 0; i < f->n; i++) {
    int at = place_of(u, f->term[i]);
    int64_t min, n, c = f->coeff[i];
    if (at < 0 || !ex_const(u->bound[at].min, &min) || !ex_const(u->bound[at].extent, &n))
      return false;
    if (llabs(c) > INT32_MAX || llabs(min) > INT32_MAX || n > INT32_MAX || n < 1) return false;
    *lo += c * (c > 0 ? min : min + n - 1);
    *hi += c * (c > 0 ? min + n - 1 : min);
  }
  return true;
}

/* pairs of accesses by enumeration */

// An index's dimensions without what is the same in all iterations.
typedef struct {
  Expr *idx[DIMS];
  bool whole[DIMS]; // nothing was left out
} Rest;

static bool steady_in(const Loop *l, const Use *u, const Affine *f, const Affine *g) {
  for (int i = 0; i < f->n; i++) {
    bool met = varies(l, u, f->term[i]);
    for (int j = 0; !met && j < g->n; j++)
      met = f->coeff[i] == g->coeff[j] && ex_equal(f->term[i], g->term[j]);
    if (!met) return false;
  }
  return true;
}

static Expr *varying(const Loop *l, const Use *u, Affine f, bool *whole) {
  int n = 0;
  for (int i = 0; i < f.n; i++) {
    if (!varies(l, u, f.term[i])) continue;
    f.term[n] = f.term[i];
    f.coeff[n++] = f.coeff[i];
  }
  *whole = n == f.n;
  f.n = n;
  return ex_from_affine(l->a, &f);
}

typedef enum { OVERLAP, DISJOINT, UNKNOWN } Ranges;

static Ranges split(const Loop *l, const Use *w, const Use *x, Rest *rw, Rest *rx) {
  if (w->n != x->n || w->n > DIMS) return UNKNOWN;
  bool known = true;
  for (int d = 0; d < w->n; d++) {
    Affine f = ex_affine(l->a, w->idx[d]), g = ex_affine(l->a, x->idx[d]);
    int64_t lo, hi, from, to;
    if (!steady_in(l, w, &f, &g) || !steady_in(l, x, &g, &f)) {
      known = false;
      continue;
    }
    rw->idx[d] = varying(l, w, f, &rw->whole[d]);
    rx->idx[d] = varying(l, x, g, &rx->whole[d]);
    f = ex_affine(l->a, rw->idx[d]);
    g = ex_affine(l->a, rx->idx[d]);
    if (range(w, &f, &lo, &hi) && range(x, &g, &from, &to) && (hi < from || to < lo))
      return DISJOINT;
  }
  return known ? OVERLAP : UNKNOWN;
}

typedef struct {
  int64_t key; // the element
  bool certain;
  int32_t at[VARS];
} Instance;

typedef struct {
  const Loop *l;
  const Use *u;
  const Rest *rest;
  Env env;
  int64_t most[VARS]; // iterations of each loop that are looked at
  bool cut;           // there are more
  VEC(Instance) all;
} Listing;

// The element that is accessed; false: its index is not known. *none: it is outside of the tensor.
static bool element(const Listing *g, int64_t *key, bool *none) {
  int64_t v, extent;
  *key = 0;
  for (int d = 0; d < g->u->n; d++) {
    if (!value_of(&g->env, g->rest->idx[d], &v) || llabs(v) >= DIM_SPAN / 2) return false;
    bool inside = v >= 0 && (!ex_const(g->u->buf->shape[d], &extent) || v < extent);
    if (g->rest->whole[d] && !inside) *none = true;
    *key = *key * DIM_SPAN + v;
  }
  return true;
}

static bool add_instance(Listing *g) {
  Instance x = {.certain = true};
  bool none = false;
  if (!element(g, &x.key, &none)) return false;
  for (int i = 0; i < g->u->conds.len && !none; i++) {
    int64_t v;
    bool known = value_of(&g->env, g->u->conds.data[i], &v);
    x.certain &= known;
    none = known && !v;
  }
  for (int i = 0; i < g->env.n; i++) {
    if (llabs(g->env.at[i]) > INT32_MAX) return false;
    x.at[i] = (int32_t)g->env.at[i];
  }
  if (!none) vec_push(g->l->a, &g->all, x);
  return true;
}

static bool list(Listing *g, int depth) {
  if (depth == g->u->nbounds) return add_instance(g);
  const Around *b = &g->u->bound[depth];
  int64_t min, n;
  if (!value_of(&g->env, b->min, &min) || !value_of(&g->env, b->extent, &n)) return false;
  if (n > g->most[depth]) g->cut = true;
  for (int64_t i = 0; i < n && i < g->most[depth]; i++) {
    g->env.n = depth + 1;
    g->env.var[depth] = b->var;
    g->env.at[depth] = min + i;
    if (!list(g, depth + 1)) return false;
  }
  g->env.n = depth;
  return true;
}

// Of the largest loops only a part, where all together have too many iterations.
static void limit(Listing *g) {
  for (int i = 0; i < g->u->nbounds; i++)
    if (!ex_const(g->u->bound[i].extent, &g->most[i]) || g->most[i] > INSTANCES)
      g->most[i] = INSTANCES;
  for (;;) {
    int64_t all = 1;
    int largest = 0;
    for (int i = 0; i < g->u->nbounds; i++) {
      all *= g->most[i] > 0 && all <= INSTANCES ? g->most[i] : 1;
      if (g->most[i] > g->most[largest]) largest = i;
    }
    if (all <= INSTANCES) return;
    g->most[largest] /= 2;
  }
}

static bool enumerate(Listing *g, const Loop *l, const Use *u, const Rest *rest) {
  *g = (Listing){.l = l, .u = u, .rest = rest};
  limit(g);
  return list(g, 0);
}

static int by_key(const void *x, const void *y) {
  const Instance *p = x, *q = y;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  for (int i = 0; i < VARS; i++)
    if (p->at[i] != q->at[i]) return p->at[i] < q->at[i] ? -1 : 1;
  return 0;
}

static int first_of(const Listing *g, int64_t key) {
  int lo = 0, hi = g->all.len;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (g->all.data[mid].key < key) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static Env env_of(const Use *u, const Instance *x) {
  Env e = {.n = u->nbounds};
  for (int i = 0; i < e.n; i++) {
    e.var[i] = u->bound[i].var;
    e.at[i] = x->at[i];
  }
  return e;
}

// Do they disturb one another, being of different iterations?
static bool disturbs(const Use *w, const Instance *p, const Use *x, const Instance *q,
                     int iteration) {
  bool other = false;
  for (int i = 0; i < iteration; i++) other |= p->at[i] != q->at[i];
  if (!other || !x->value) return other;
  Env a = env_of(w, p), b = env_of(x, q);
  return w->value == x->value ? !same_at(&a, &b, w->value)
                              : !(ex_equal(w->value, x->value) && same_at(&a, &b, w->value));
}

static IterationsKind compare_all(const Loop *l, const Use *w, const Use *x, Meeting *m) {
  Rest rw, rx;
  Ranges ranges = split(l, w, x, &rw, &rx);
  Listing gw, gx;
  if (ranges != OVERLAP) return ranges == DISJOINT ? ITERATIONS_APART : ITERATIONS_OPEN;
  if (!enumerate(&gw, l, w, &rw) || !enumerate(&gx, l, x, &rx)) return ITERATIONS_OPEN;
  if (gw.all.len) qsort(gw.all.data, (size_t)gw.all.len, sizeof *gw.all.data, by_key);
  int iteration = common(w, x);
  bool open = gw.cut || gx.cut;
  for (int i = 0; i < gx.all.len; i++) {
    const Instance *q = &gx.all.data[i];
    for (int k = first_of(&gw, q->key); k < gw.all.len && gw.all.data[k].key == q->key; k++) {
      const Instance *p = &gw.all.data[k];
      if (!disturbs(w, p, x, q, iteration)) continue;
      open = true;
      if (!p->certain || !q->certain) continue;
      *m = (Meeting){.buf = w->buf, .at = w->span, .other = x->span, .nvars = iteration};
      m->writes = x->value != NULL;
      for (int v = 0; v < iteration; v++) {
        m->var[v] = w->bound[v].var;
        m->first[v] = p->at[v];
        m->second[v] = q->at[v];
      }
      return ITERATIONS_MEET;
    }
  }
  return open ? ITERATIONS_OPEN : ITERATIONS_APART;
}

/* loops */

IterationsKind iterations_of(Arena *a, const Stmt *loop, const Buffer *buf, Meeting *m) {
  Loop l = {.a = a};
  IterationsKind kind = ITERATIONS_APART;
  Stmt outermost = *loop;
  collect(&l, &outermost);
  for (int i = 0; i < l.uses.len; i++) {
    const Use *w = &l.uses.data[i];
    if (!w->value || (buf && w->buf != buf)) continue;
    for (int k = 0; k < l.uses.len; k++) {
      const Use *x = &l.uses.data[k];
      if (x->buf != w->buf || (x->value && k < i)) continue;
      if (w->nbounds > VARS || x->nbounds > VARS) {
        kind = ITERATIONS_OPEN;
        continue;
      }
      if (tells_apart(&l, w, x)) continue;
      IterationsKind one = compare_all(&l, w, x, m);
      if (one == ITERATIONS_MEET) return one;
      if (one == ITERATIONS_OPEN) kind = one;
    }
  }
  return kind;
}
