// The stack of facts: ranges of variables, lets and conditions that hold.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

Facts *facts_new(Arena *a, const Program *p, const Kernel *k) {
  Facts *f = NEW(a, Facts);
  f->arena = a;
  f->version = f->versions = 1;
  for (int i = 0; p && i < p->facts.len; i++) {
    if (!p->facts.data[i].on_device) facts_push_cond(f, p->facts.data[i].cond);
  }
  for (int i = 0; k && i < 3; i++) {
    if (!k->block[i]) continue;
    Expr *grid = k->grid[i] ? k->grid[i] : ex_index(a, 1);
    facts_push_loop(f, k->block[i], ex_index(a, 0), grid);
    facts_push_cond(f, ex_lt(a, ex_var(a, k->block[i]), ex_index(a, INT32_MAX)));
  }
  if (k && k->workers) {
    facts_push_loop(f, k->workers, ex_index(a, 1), ex_index(a, INT32_MAX - 1));
    facts_push_cond(f, ex_bin(a, BIN_LE, ex_index(a, 1), ex_var(a, k->workers)));
    facts_push_cond(f, ex_bin(a, BIN_LE, ex_var(a, k->workers), k->grid[0]));
  }
  if (k && k->team) facts_push_loop(f, k->team, ex_index(a, 0), ex_index(a, k->teams));
  if (k && k->thread) facts_push_loop(f, k->thread, ex_index(a, 0), ex_index(a, kernel_threads(k)));
  return f;
}

int facts_mark(const Facts *f) { return f->stack.len; }

void facts_pop(Facts *f, int mark) {
  if (mark < 0 || mark > f->stack.len) die("facts_pop to a mark of another stack");
  while (f->stack.len > mark) {
    const FactEntry *e = &f->stack.data[--f->stack.len];
    f->state = e->state;
    f->version = e->version;
    if (e->kind != FACT_RANGE) {
      for (int i = 0; e->aff && i < e->aff->n; i++) {
        Atom *term = atom_at(f, e->aff->t[i].atom);
        term->facts = term->facts->older;
      }
      continue;
    }
    Atom *a = atom_at(f, e->atom);
    a->vlo = e->lo;
    a->vhi = e->hi;
    a->let = e->aff;
  }
}

void facts_put(Facts *f, FactEntry e) {
  e.state = f->state;
  e.version = f->version;
  for (int i = 0; e.kind != FACT_RANGE && e.aff && i < e.aff->n; i++) {
    Mention *m = NEW(f->arena, Mention);
    Atom *term = atom_at(f, e.aff->t[i].atom);
    *m = (Mention){f->stack.len, term->facts, NULL};
    term->facts = m;
  }
  vec_push(f->arena, &f->stack, e);
  f->version = ++f->versions;
}

// Gives a variable a new range and value; the old ones come back when popped.
void facts_bind(Facts *f, int atom, int64_t lo, int64_t hi, Aff *let) {
  Atom *a = atom_at(f, atom);
  facts_put(
      f, (FactEntry){.kind = FACT_RANGE, .atom = atom, .lo = a->vlo, .hi = a->vhi, .aff = a->let});
  a->vlo = lo;
  a->vhi = hi;
  a->let = let;
}

static void push_ge(Facts *f, const Aff *x) {
  Aff r;
  aff_copy(&r, x);
  int64_t g = aff_gcd(&r);
  if (g > 1) { // sum of g * t >= -c: divide, and round the constant down
    for (int i = 0; i < r.n; i++) r.t[i].coeff /= g;
    r.c = floor_div64(r.c, g);
  }
  facts_put(f, (FactEntry){.kind = FACT_GE, .aff = aff_keep(f, &r)});
}

// A term +-(e % d) of an equality says what e is modulo d.
static void push_congruences(Facts *f, const Aff *x) {
  for (int i = 0; i < x->n; i++) {
    const Atom *a = atom_at(f, x->t[i].atom);
    int64_t k = x->t[i].coeff;
    if (a->kind != AT_MOD || (k != 1 && k != -1)) continue;
    Aff one = aff_atom(x->t[i].atom), r; // k * mod + rest == 0, so e + k * rest is 0 modulo d
    aff_copy(&r, x);
    if (!aff_add(&r, &one, -k) || !aff_scale(&r, k) || !aff_add(&r, a->inner, 1)) continue;
    facts_put(f, (FactEntry){.kind = FACT_CONG, .aff = aff_keep(f, &r), .d = a->d});
  }
}

static void push_eq(Facts *f, const Aff *x) {
  facts_put(f, (FactEntry){.kind = FACT_EQ, .aff = aff_keep(f, x)});
  push_congruences(f, x);
}

static void push_ne(Facts *f, const Aff *x) {
  Aff r;
  aff_copy(&r, x);
  if (aff_lower(f, x, 0, 1) == 0) { // from 0 up but not 0: from 1
    r.c--;
    push_ge(f, &r);
  } else if (aff_upper(f, x, 1) == 0 && aff_scale(&r, -1)) {
    r.c--;
    push_ge(f, &r);
  } else {
    facts_put(f, (FactEntry){.kind = FACT_NE, .aff = aff_keep(f, x)});
  }
}

static void push_compare(Facts *f, BinOp op, Expr *x, Expr *y) {
  Aff a, b, d;
  if (!to_aff(f, x, &a) || !to_aff(f, y, &b) || !aff_sub(&d, &b, &a)) return;
  Aff minus_one = aff_const(-1);
  switch (op) {
  case BIN_LT:
    if (!aff_add(&d, &minus_one, 1)) return;
    push_ge(f, &d);
    break;
  case BIN_LE: push_ge(f, &d); break;
  case BIN_EQ: push_eq(f, &d); break;
  default: push_ne(f, &d); break;
  }
}

static void push_cond(Facts *f, Expr *cond);

static void push_bool_let(Facts *f, Expr *x) {
  for (int i = f->stack.len; i-- > 0;) {
    const FactEntry e = f->stack.data[i];
    if (e.kind != FACT_LET || e.expr->u.var != x->u.var) continue;
    push_cond(f, e.raw);
    return;
  }
}

static void push_parts(Facts *f, Expr *c) {
  Arena *a = f->arena;
  if (c->kind == EX_CAST && dt_is_int(c->u.cast->type)) {
    push_cond(f, ex_bin(a, BIN_NE, c->u.cast, ex_int(a, c->u.cast->type, 0)));
  } else if (c->kind == EX_VAR) {
    push_bool_let(f, c);
  } else if (c->kind == EX_UNARY && c->u.un.op == UN_NOT && c->u.un.a->kind == EX_BINARY &&
             c->u.un.a->u.bin.op == BIN_OR) {
    push_cond(f, ex_un(a, UN_NOT, c->u.un.a->u.bin.a));
    push_cond(f, ex_un(a, UN_NOT, c->u.un.a->u.bin.b));
  } else if (c->kind == EX_BINARY && bin_is_compare(c->u.bin.op)) {
    push_compare(f, c->u.bin.op, c->u.bin.a, c->u.bin.b);
  }
}

static void push_cond(Facts *f, Expr *cond) {
  if (!cond || cond->kind == EX_INT || cond->type != DT_BOOL) return;
  bool both =
      cond->kind == EX_BINARY && (cond->u.bin.op == BIN_AND || cond->u.bin.op == BIN_BITAND);
  if (both) {
    push_cond(f, cond->u.bin.a);
    push_cond(f, cond->u.bin.b);
    return;
  }
  if (has_load(cond)) return; // memory may change while the fact is on the stack
  bool simplifying = f->simplifying;
  f->simplifying = false;
  push_parts(f, cond);
  facts_put(f, (FactEntry){.kind = FACT_RAW, .raw = cond});
  f->simplifying = simplifying;
}

void facts_push_cond(Facts *f, Expr *cond) {
  Push p = {.kind = PUSH_COND, .x = cond};
  if (recall_push(f, &p)) return;
  push_cond(f, cond);
  recall_keep(f, &p);
}

static void push_loop(Facts *f, Var *v, Expr *min, Expr *extent) {
  bool simplifying = f->simplifying;
  f->simplifying = false;
  int atom = atom_expr(f, ex_var(f->arena, v));
  Aff lo, hi, var = aff_atom(atom), minus_one = aff_const(-1);
  bool known_lo = to_aff(f, min, &lo);
  bool known_hi =
      known_lo && to_aff(f, extent, &hi) && aff_add(&hi, &lo, 1) && aff_add(&hi, &minus_one, 1);
  int64_t least, most;
  type_range(v->type, &least, &most);
  int64_t l = known_lo ? aff_lower(f, &lo, NO_HI, 2) : NO_LO;
  int64_t h = known_hi ? aff_upper(f, &hi, 2) : NO_HI;
  if (l != NO_LO) least = l;
  if (h != NO_HI) most = h;
  facts_bind(f, atom, least, most, NULL);
  // The bounds were evaluated before the loop: what they loaded may have changed since.
  if (known_lo && lo.n && !has_load(min) && !aff_coeff(&lo, atom)) {
    Aff d;
    if (aff_sub(&d, &var, &lo)) push_ge(f, &d);
  }
  if (known_hi && hi.n && !has_load(min) && !has_load(extent) && !aff_coeff(&hi, atom)) {
    Aff d;
    if (aff_sub(&d, &hi, &var)) push_ge(f, &d);
  }
  f->simplifying = simplifying;
}

void facts_push_loop(Facts *f, Var *v, Expr *min, Expr *extent) {
  Push p = {.kind = PUSH_LOOP, .var = v, .x = min, .y = extent};
  if (recall_push(f, &p)) return;
  push_loop(f, v, min, extent);
  recall_keep(f, &p);
}

static void push_let(Facts *f, Var *v, Expr *value) {
  bool simplifying = f->simplifying;
  f->simplifying = false;
  bool pure = !has_load(value);
  if (v->type == DT_BOOL) {
    if (pure) {
      Expr *name = ex_var(f->arena, v);
      facts_put(f, (FactEntry){.kind = FACT_LET, .expr = name, .raw = value});
    }
  } else if (dt_is_int(v->type)) {
    Aff x;
    int64_t lo, hi;
    int atom = atom_expr(f, ex_var(f->arena, v));
    bool known = to_aff(f, value, &x) && value->type == v->type;
    type_range(v->type, &lo, &hi);
    if (known) {
      int64_t l = aff_lower(f, &x, NO_HI, 2), h = aff_upper(f, &x, 2);
      if (lo == NO_LO || l > lo) lo = l;
      if (hi == NO_HI || h < hi) hi = h;
    }
    bool usable = known && pure && !aff_coeff(&x, atom);
    facts_bind(f, atom, lo, hi, usable ? aff_keep(f, &x) : NULL);
  }
  f->simplifying = simplifying;
}

void facts_push_let(Facts *f, Var *v, Expr *value) {
  Push p = {.kind = PUSH_LET, .var = v, .x = value};
  if (recall_push(f, &p)) return;
  push_let(f, v, value);
  recall_keep(f, &p);
}

static void bounds(Facts *f, Expr *x, int64_t *lo, int64_t *hi) {
  Aff a;
  expr_bounds(f, x, lo, hi);
  if (!to_aff(f, x, &a)) return;
  int64_t l = aff_lower(f, &a, NO_HI, 3), h = aff_upper(f, &a, 3);
  if (l > *lo) *lo = l;
  if (h < *hi) *hi = h;
}

void facts_bounds(Facts *f, Expr *x, int64_t *lo, int64_t *hi) {
  *lo = NO_LO;
  *hi = NO_HI;
  if (dt_is_float(x->type)) return;
  bool plain = x->kind == EX_VAR && facts_idle(f) && !f->simplifying;
  Atom *a = plain ? atom_at(f, atom_expr(f, x)) : NULL;
  if (a && a->asked == f->version) {
    *lo = a->least;
    *hi = a->most;
    return;
  }
  uint32_t version = f->version, missed = f->missed;
  bounds(f, x, lo, hi);
  if (!a || version != f->version || missed != f->missed) return;
  a->asked = version;
  a->least = *lo;
  a->most = *hi;
}

int64_t facts_divisor(Facts *f, Expr *x) {
  Aff a;
  if (!to_aff(f, x, &a) || !aff_expand(f, &a)) return ex_is(x, 0) ? 0 : 1;
  int64_t lo = aff_lower(f, &a, NO_HI, 1), hi = aff_upper(f, &a, 1);
  if (lo == hi && lo != NO_LO && lo != NO_HI) return lo < 0 ? -lo : lo;
  return aff_divisor(f, &a, 3);
}
