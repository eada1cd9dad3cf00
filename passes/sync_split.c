// Divergent branches that need a barrier inside are split around it: `if c { a; b }` becomes `let p
// = c; if p { a }; <barrier>; if p { b }`. Lets that b needs are computed outside, behind a select
// that evaluates them only where p holds. Loops and branches within are entered the same way.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

typedef struct {
  Sync *s;
  Stmt *out;   // what replaces the statement
  Stmt *group; // statements waiting to be put under `when`
  Expr *when;
} Split;

static void flush(Split *p) {
  if (p->group->u.block.len)
    st_add(p->s->a, p->out, st_if(p->s->a, p->when, p->group, NULL, p->group->span));
  p->group = st_block(p->s->a, p->out->span);
}

static Expr *named(Split *p, const char *name, Expr *value) {
  Arena *a = p->s->a;
  if (value->kind == EX_VAR || value->kind == EX_INT) return value;
  Var *v = var_new(a, name, value->type, VAR_LET, p->out->span);
  st_add(a, p->out, st_let(a, v, value, p->out->span));
  return ex_var(a, v);
}

static Expr *zero(Arena *a, DType t) {
  return dt_is_float(t) ? ex_float(a, t, 0) : ex_int(a, t, 0);
}

static void add_let(Split *p, Stmt *let) {
  Arena *a = p->s->a;
  flush(p);
  let->u.let.value = ex_select(a, p->when, let->u.let.value, zero(a, let->u.let.var->type));
  st_add(a, p->out, let);
}

// y holds both accesses: what is around it moves into it.
static bool enter(Split *p, Stmt *y) {
  Arena *a = p->s->a;
  flush(p);
  if (y->kind == ST_FOR) {
    Expr *min = y->u.loop.min[0], *extent = y->u.loop.extent[0];
    if (walk_has_load(min) || walk_has_load(extent)) return false;
    if (!uniform_expr(p->s->uniform, y->u.loop.cond)) return false;
    if (!uniform_expr(p->s->uniform, min) || !uniform_expr(p->s->uniform, extent)) return false;
    Stmt *body = st_block(a, y->span);
    st_add(a, body, st_if(a, p->when, y->u.loop.body, NULL, y->span));
    y->u.loop.body = body;
    st_add(a, p->out, y);
    return true;
  }
  if (y->kind != ST_IF) return false;
  Expr *no = ex_bool(a, false), *c = y->u.branch.cond;
  Expr *both = named(p, "both", ex_select(a, p->when, c, no));
  st_add(a, p->out, st_if(a, both, y->u.branch.yes, NULL, y->span));
  if (y->u.branch.no) {
    Expr *other = ex_and(a, p->when, ex_un(a, UN_NOT, both));
    st_add(a, p->out, st_if(a, named(p, "other", other), y->u.branch.no, NULL, y->span));
  }
  return true;
}

// `block` under p->when, open before statement x, which when `deep` holds both accesses.
static bool open_block(Split *p, Stmt *block, const Stmt *x, bool deep) {
  p->group = st_block(p->s->a, p->out->span);
  for (int i = 0; i < block->u.block.len; i++) {
    Stmt *y = block->u.block.data[i];
    if (y == x && !deep) flush(p);
    if (y == x && deep) {
      if (!enter(p, y)) return false;
    } else if (y->kind == ST_LET) {
      add_let(p, y);
    } else {
      vec_push(p->s->a, &p->group->u.block, y);
    }
  }
  flush(p);
  return true;
}

static bool refuse(Sync *s, const char *what) {
  diag_report(s->c->diags, DIAG_SYNC_DIVERGENT, s->to->span, s->to->buf->name, what);
  diag_note(s->c->diags, s->from->span, "the other access");
  return false;
}

bool sync_split(Sync *s, int at) {
  const Pending *to = s->to;
  Stmt *x = to->path[at], *parent = to->path[at - 1];
  if (x->kind != ST_IF) return refuse(s, "loop");
  int common = sync_common(s->from, to);
  Split p = {.s = s, .out = st_block(s->a, x->span)};
  Expr *cond = named(&p, "taken", x->u.branch.cond);
  Stmt *yes = x->u.branch.yes, *no = x->u.branch.no;
  bool in_yes = to->path[at + 1] == yes, across = common == at + 1;
  Expr *other = ex_un(s->a, UN_NOT, cond);
  const Stmt *child = across ? NULL : to->path[at + 2];
  bool deep = common > at + 2;
  if (in_yes && no) {
    p.when = cond;
    if (!open_block(&p, yes, child, deep)) return refuse(s, "loop");
    st_add(s->a, p.out, st_if(s->a, other, no, NULL, x->span));
  } else if (in_yes) {
    p.when = cond;
    if (!open_block(&p, yes, child, deep)) return refuse(s, "loop");
  } else {
    st_add(s->a, p.out, st_if(s->a, cond, yes, NULL, x->span));
    p.when = named(&p, "other", other);
    if (!open_block(&p, no, child, deep)) return refuse(s, "loop");
  }
  for (int i = 0; i < p.out->u.block.len; i++) sync_insert(s->a, parent, x, p.out->u.block.data[i]);
  sync_remove(parent, x);
  return true;
}

typedef struct {
  Sync *s;
  Stmt *parent, *leaf;
  const Buffer *buf; // whose loads move
} Loads;

static Expr *hoist(Loads *l, Expr *x, Expr *when);

// The loads of x become lets, made only where `when` holds (NULL: always).
static void hoist_all(Loads *l, Expr **x, int n, Expr *when) {
  for (int i = 0; i < n; i++) x[i] = hoist(l, x[i], when);
}

static Expr *hoist_load(Loads *l, Expr *x, Expr *when) {
  Arena *a = l->s->a;
  Expr **idx = arena_copy(a, x->u.load.idx, sizeof(Expr *) * (size_t)x->u.load.n);
  hoist_all(l, idx, x->u.load.n, when);
  Expr *load = ex_at(ex_load(a, x->u.load.buf, idx, x->u.load.n), x->span);
  if (x->u.load.buf != l->buf) return load;
  Expr *value = when ? ex_select(a, when, load, zero(a, x->type)) : load;
  Var *v = var_new(a, x->u.load.buf->name, x->type, VAR_LET, l->leaf->span);
  sync_insert(a, l->parent, l->leaf, st_let(a, v, value, l->leaf->span));
  return ex_var(a, v);
}

static Expr *hoist_logical(Loads *l, Expr *x, Expr *when) {
  Arena *a = l->s->a;
  Expr *p = hoist(l, x->u.bin.a, when);
  Expr *needed = x->u.bin.op == BIN_AND ? p : ex_un(a, UN_NOT, p);
  return ex_bin(a, x->u.bin.op, p, hoist(l, x->u.bin.b, ex_and(a, when, needed)));
}

static Expr *hoist(Loads *l, Expr *x, Expr *when) {
  Arena *a = l->s->a;
  Expr *p, *q, *arg[3];
  if (!walk_has_load(x)) return x;
  switch (x->kind) {
  case EX_LOAD: return hoist_load(l, x, when);
  case EX_UNARY: return ex_un(a, x->u.un.op, hoist(l, x->u.un.a, when));
  case EX_CAST: return ex_cast(a, x->type, hoist(l, x->u.cast, when));
  case EX_BITCAST: return ex_bitcast(a, x->type, hoist(l, x->u.cast, when));
  case EX_BINARY:
    if (x->u.bin.op == BIN_AND || x->u.bin.op == BIN_OR) return hoist_logical(l, x, when);
    p = hoist(l, x->u.bin.a, when);
    return ex_bin(a, x->u.bin.op, p, hoist(l, x->u.bin.b, when));
  case EX_SELECT:
    p = hoist(l, x->u.sel.cond, when);
    q = hoist(l, x->u.sel.yes, ex_and(a, when, p));
    return ex_select(a, p, q, hoist(l, x->u.sel.no, ex_and(a, when, ex_un(a, UN_NOT, p))));
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++) arg[i] = hoist(l, x->u.math.arg[i], when);
    return ex_math(a, x->u.math.fn, arg, x->u.math.n);
  default: return x;
  }
}

static void hoist_slot(void *ctx, Expr **slot) { *slot = hoist(ctx, *slot, NULL); }

void sync_split_leaf(Sync *s) {
  const Pending *to = s->to;
  Loads l = {s, to->path[to->npath - 2], to->path[to->npath - 1], s->from->buf};
  st_exprs(l.leaf, hoist_slot, &l);
}
