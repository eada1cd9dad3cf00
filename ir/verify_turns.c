// Turns at a channel: a wait for its slot and a step to the next one. The producer and the
// consumers must take as many, whatever the program's sizes and data are: each side's control flow
// around them is compared as an iteration space, symbolically. Each side counts (slot, phase) by a
// pair of counters; a turn steps them by one, and n turns that another team takes, by n. Teams
// divide the turns: of those at a tile one team takes all, and the others pass over as many.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

typedef enum { IT_LET, IT_KNOWN, IT_LOOP, IT_IF, IT_TURNS } ItemKind;

typedef struct Item Item;
typedef VEC(Item) Items;

// What is left of a statement that has turns in it, or that expressions of such a one depend on.
struct Item {
  ItemKind kind;
  Stmt *s;       // but for IT_TURNS
  Expr *n;       // of IT_TURNS: how many
  Items yes, no; // a loop's body is `yes`
};

// Whose turns a statement is in, where consumers are teams: every team's, this one's, the others'.
typedef enum { ALL, OURS, OTHERS } Whose;

typedef struct {
  Verify *v;
  bool consumers;
  const Buffer *bar; // waited for
  const Buffer *slot, *phase;
  int64_t depth;
  PtrMap *let; // Var -> its let
  int loops;   // around
  Whose whose;
} Side;

/* counters */

static void note_let(void *ctx, Stmt *s) {
  if (s->kind == ST_LET) ptrmap_set(((Side *)ctx)->let, s->u.let.var, s);
}

static Expr *let_value(const Side *d, const Expr *x) {
  const Stmt *s = x->kind == EX_VAR ? ptrmap_get(d->let, x->u.var) : NULL;
  return s ? s->u.let.value : NULL;
}

// The buffer whose element 0 x is, converted or not.
static const Buffer *counter(const Expr *x) {
  while (x && x->kind == EX_CAST) x = x->u.cast;
  return x && x->kind == EX_LOAD && x->u.load.n == 1 && ex_is(x->u.load.idx[0], 0) ? x->u.load.buf
                                                                                   : NULL;
}

// Is x the slot at hand?
static bool is_slot(const Side *d, const Expr *x) {
  const Expr *value = let_value(d, x);
  return value && (d->depth == 1 ? ex_is(value, 0) : d->slot && counter(value) == d->slot);
}

static const Region *waited(const Side *d, const Stmt *s) {
  if (s->kind != ST_OP || s->u.op.op != OP_MBAR_WAIT) return NULL;
  const Region *r = s->u.op.arg[op_arg(OP_MBAR_WAIT, "bar")].region;
  return r->buf == d->bar ? r : NULL;
}

static const Expr *phase_of(const Side *d, const Stmt *wait) {
  const Expr *x = wait->u.op.arg[op_arg(OP_MBAR_WAIT, "parity")].expr;
  if (d->consumers) return x;
  bool behind = x->kind == EX_BINARY && x->u.bin.op == BIN_BITXOR && ex_is(x->u.bin.b, 1);
  return behind ? x->u.bin.a : NULL;
}

static void find_counters(void *ctx, Stmt *s) {
  Side *d = ctx;
  const Region *bar = waited(d, s);
  if (!bar || d->phase) return;
  d->phase = counter(phase_of(d, s));
  if (d->depth > 1) d->slot = counter(let_value(d, bar->min[0]));
}

typedef struct {
  const Var *but;
  Var *other; // the one variable beside `but`
  int n;
} OneVar;

static void note_var(void *ctx, Expr *x) {
  OneVar *o = ctx;
  if (x->kind != EX_VAR || x->u.var == o->but || x->u.var == o->other) return;
  o->other = x->u.var;
  o->n++;
}

// The one variable of x beside `but`; NULL: there is none, or there are several.
static Var *var_of(Expr *x, const Var *but) {
  OneVar o = {.but = but};
  ex_walk(x, note_var, &o);
  return o.n == 1 ? o.other : NULL;
}

static int64_t value_at(Side *d, Expr *x, Var *v, int64_t i) {
  int64_t value;
  return ex_const_at(d->v->arena, x, &v, &i, 1, &value) ? value : INT64_MIN;
}

// The turns that a counter is stepped by: of the slot, or how often the phase changes (x is what it
// is combined with). NULL: it counts something else.
static Expr *steps(Side *d, Expr *x, bool phase) {
  Var *v = var_of(x, NULL);
  const Expr *sum = v ? let_value(d, ex_var(d->v->arena, v)) : NULL;
  if (!sum) return NULL;
  bool one = is_slot(d, ex_var(d->v->arena, v));
  if (!one && (sum->kind != EX_BINARY || sum->u.bin.op != BIN_ADD || !is_slot(d, sum->u.bin.a)))
    return NULL;
  for (int64_t i = 0; i < (one ? 1 : 3) * d->depth; i++) {
    int64_t end = i + one;
    if (value_at(d, x, v, i) != (phase ? end / d->depth % 2 : end % d->depth)) return NULL;
  }
  return one ? ex_index(d->v->arena, 1) : sum->u.bin.b;
}

static Expr *phase_steps(Side *d, const Expr *x) {
  if (x->kind != EX_BINARY || x->u.bin.op != BIN_BITXOR || counter(x->u.bin.a) != d->phase)
    return NULL;
  return steps(d, x->u.bin.b, true);
}

/* the turns of one side */

typedef struct {
  bool waits;    // a turn has begun
  Expr *stepped; // by what the slot's counter is, and the phase's is not
} Turn;

static void add_turns(Side *d, Turn *t, Expr *n, Items *out) {
  Verify *v = d->v;
  if (t->waits && !ex_is(n, 1)) verify_fail(v, "a turn of several slots of %s", d->bar->name);
  if (!t->waits && d->whose != OTHERS)
    verify_fail(v, "a slot of %s is passed over, and no other team takes it", d->bar->name);
  vec_push(v->arena, out, (Item){.kind = IT_TURNS, .n = n});
  *t = (Turn){0};
}

static void store(Side *d, Turn *t, const Stmt *s, Items *out) {
  Expr *x = s->u.store.value, *n;
  bool first = !d->loops && !t->waits && ex_is(x, 0);
  if (first) return;
  if (s->u.store.buf == d->slot) {
    n = steps(d, x, false);
    if (!n || t->stepped)
      verify_fail(d->v, "the slot that follows one of %s is another", d->bar->name);
    t->stepped = n;
    return;
  }
  n = phase_steps(d, x);
  if (!n || (d->depth > 1 && (!t->stepped || !ex_equal(n, t->stepped)))) {
    verify_fail(d->v, "the phase that follows one of %s is another", d->bar->name);
    n = ex_index(d->v->arena, 1);
  }
  add_turns(d, t, n, out);
}

static void begin(Side *d, Turn *t, const Stmt *wait) {
  const Region *bar = waited(d, wait);
  if (t->waits) verify_fail(d->v, "two waits for %s in one turn", d->bar->name);
  if (!d->phase || counter(phase_of(d, wait)) != d->phase || !is_slot(d, bar->min[0]))
    verify_fail(d->v, "a wait for %s by other counters", d->bar->name);
  if (d->consumers && d->v->kernel->team && d->whose != OURS)
    verify_fail(d->v, "a slot of %s is taken by more than one team", d->bar->name);
  t->waits = true;
}

// Does `cond` hold for one team in each round?
static bool picks_team(const Side *d, Expr *cond) {
  const Kernel *k = d->v->kernel;
  Var *round = var_of(cond, k->team);
  for (int i = 0; round && i < 2 * k->teams; i++) {
    Expr *x = ex_subst(d->v->arena, cond, round, ex_index(d->v->arena, i));
    int teams = 0;
    for (int t = 0; t < k->teams; t++)
      teams += ex_is(ex_subst(d->v->arena, x, k->team, ex_index(d->v->arena, t)), 1);
    if (teams != 1) return false;
  }
  return round;
}

static bool has_turns(const Items *x) {
  for (int i = 0; i < x->len; i++)
    if (x->data[i].kind >= IT_LOOP) return true;
  return false;
}

static void collect(Side *d, Stmt *s, Items *out);

static void collect_loop(Side *d, Stmt *s, Items *out) {
  Item loop = {.kind = IT_LOOP, .s = s};
  d->loops++;
  collect(d, s->u.loop.body, &loop.yes);
  d->loops--;
  d->v->stmt = s;
  if (!has_turns(&loop.yes)) return;
  if (s->u.loop.cond || s->u.loop.nvars != 1)
    verify_fail(d->v, "turns at %s in a loop that nothing counts", d->bar->name);
  else vec_push(d->v->arena, out, loop);
}

static void collect_if(Side *d, Stmt *s, Items *out) {
  Item branch = {.kind = IT_IF, .s = s};
  Expr *cond = s->u.branch.cond;
  const Whose before = d->whose;
  if (!d->consumers && ex_uses(cond, d->v->kernel->thread)) { // the one thread that produces
    collect(d, s->u.branch.yes, out);
    return;
  }
  bool teams = d->consumers && d->v->kernel->team && before == ALL &&
               ex_uses(cond, d->v->kernel->team) && picks_team(d, cond);
  if (teams) d->whose = OURS;
  collect(d, s->u.branch.yes, &branch.yes);
  if (teams) d->whose = OTHERS;
  if (s->u.branch.no) collect(d, s->u.branch.no, &branch.no);
  d->whose = before;
  if (has_turns(&branch.yes) || has_turns(&branch.no)) vec_push(d->v->arena, out, branch);
}

static void collect_block(Side *d, Stmt *s, Items *out) {
  Turn t = {0};
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *x = s->u.block.data[i];
    d->v->stmt = x;
    if (waited(d, x)) begin(d, &t, x);
    else if (x->kind == ST_STORE && (x->u.store.buf == d->slot || x->u.store.buf == d->phase))
      store(d, &t, x, out);
    else collect(d, x, out);
  }
  d->v->stmt = s;
  if (t.waits || t.stepped) verify_fail(d->v, "a turn at %s does not end", d->bar->name);
}

static void collect(Side *d, Stmt *s, Items *out) {
  if (s->kind == ST_BLOCK) collect_block(d, s, out);
  if (s->kind == ST_FOR) collect_loop(d, s, out);
  if (s->kind == ST_IF) collect_if(d, s, out);
  if (s->kind == ST_LET) vec_push(d->v->arena, out, (Item){.kind = IT_LET, .s = s});
  if (s->kind == ST_ASSUME) vec_push(d->v->arena, out, (Item){.kind = IT_KNOWN, .s = s});
}

static Items turns(Verify *v, Stmt *body, const Buffer *bar, bool consumers) {
  Side d = {.v = v, .consumers = consumers, .bar = bar, .let = ptrmap_new(v->arena)};
  Items out = {0};
  d.depth = buf_elems(bar);
  st_walk(body, note_let, &d);
  st_walk(body, find_counters, &d);
  v->stmt = NULL;
  if (d.phase) collect(&d, body, &out);
  else verify_fail(v, "nobody counts the turns at %s", bar->name);
  return out;
}

/* comparison: of variables that mean the same, the consumers' among them, one stands for all */

enum { SPLITS = 6 }; // conditions of one side that are looked at one inside of the other

typedef struct {
  Var *var;
  Expr *value;
} Known;

typedef struct {
  Arena *a;
  Facts *facts;
  PtrMap *as;       // Var -> Expr that stands for it; NULL: itself
  VEC(Known) known; // lets that stand for themselves
  // Conditions 0 < x of the cases at hand, of which facts keep none where x reads memory.
  VEC(Expr *) some, none;
  int splits;
} Match;

typedef VEC(const Item *) Parts; // without lets

static Expr *rename_var(void *ctx, Var *v) { return ptrmap_get(((Match *)ctx)->as, v); }

static Expr *renamed(Match *m, Expr *x) { return ex_replace(m->a, x, rename_var, m); }

static void note_mutable(void *ctx, Expr *x) {
  if (x->kind == EX_LOAD && x->u.load.buf->scope != SC_GLOBAL) *(bool *)ctx = true;
}

static void enter_let(Match *m, const Stmt *s) {
  bool changes = false; // what one let reads is not what the next one does
  ex_walk(s->u.let.value, note_mutable, &changes);
  Var *v = s->u.let.var;
  Expr *value = renamed(m, s->u.let.value);
  for (int i = m->known.len - 1; i >= 0; i--)
    if (m->known.data[i].var != v && ex_equal(m->known.data[i].value, value)) {
      ptrmap_set(m->as, v, ex_var(m->a, m->known.data[i].var));
      return;
    }
  ptrmap_set(m->as, v, NULL);
  facts_push_let(m->facts, v, value);
  if (!changes) vec_push(m->a, &m->known, (Known){v, value});
}

// What the list's expressions depend on becomes known; what is left are loops, ifs and turns.
static void enter(Match *m, const Items *x, Parts *out) {
  for (int i = 0; i < x->len; i++) {
    const Item *it = &x->data[i];
    if (it->kind == IT_LET) enter_let(m, it->s);
    else if (it->kind == IT_KNOWN) facts_push_cond(m->facts, renamed(m, it->s->u.assume));
    else vec_push(m->a, out, it);
  }
}

// Is x - y the same number always?
static bool differ_by(Match *m, Expr *x, Expr *y, int64_t *by) {
  Affine d = ex_affine(m->a, ex_sub(m->a, x, y));
  *by = d.constant;
  return d.n == 0;
}

static bool equal(Match *m, Expr *x, Expr *y) {
  int64_t by;
  return ex_equal(x, y) || (differ_by(m, x, y, &by) && by == 0) ||
         facts_prove(m->facts, ex_bin(m->a, BIN_EQ, x, y));
}

static Expr *count(Match *m, const Parts *x);

// Iterations of a loop: its extent, or none.
static Expr *trips(Match *m, Expr *extent) {
  Expr *zero = ex_index(m->a, 0);
  int64_t by;
  for (int i = 0; i < m->some.len; i++)
    if (differ_by(m, extent, m->some.data[i], &by) && by >= -1) return extent;
  for (int i = 0; i < m->none.len; i++)
    if (differ_by(m, extent, m->none.data[i], &by) && by <= 0) return zero;
  if (facts_prove(m->facts, ex_bin(m->a, BIN_LE, zero, extent))) return extent;
  if (facts_prove(m->facts, ex_bin(m->a, BIN_LE, extent, zero))) return zero;
  return ex_bin(m->a, BIN_MAX, extent, zero);
}

static Expr *count_item(Match *m, const Item *it) {
  if (it->kind == IT_TURNS) return renamed(m, it->n);
  Parts yes = {0}, no = {0};
  enter(m, &it->yes, &yes);
  Expr *n = count(m, &yes);
  if (it->kind == IT_LOOP) return ex_mul(m->a, trips(m, renamed(m, it->s->u.loop.extent[0])), n);
  enter(m, &it->no, &no);
  return ex_select(m->a, renamed(m, it->s->u.branch.cond), n, count(m, &no));
}

// How many turns they are. A loop of which each iteration has another number stands there as what
// it would be if all had that of one: sums are compared that have a term for each, and only loops
// over the same range share a variable.
static Expr *count(Match *m, const Parts *x) {
  Expr *sum = ex_index(m->a, 0);
  for (int i = 0; i < x->len; i++) sum = ex_add(m->a, sum, count_item(m, x->data[i]));
  return sum;
}

static bool same(Match *m, const Items *p, const Items *c);
static bool same_parts(Match *m, Parts p, Parts c);

static bool same_under(Match *m, Expr *cond, bool holds, const Items *p, const Items *c) {
  int mark = facts_mark(m->facts);
  facts_push_cond(m->facts, holds ? cond : ex_un(m->a, UN_NOT, cond));
  bool ok = same(m, p, c);
  facts_pop(m->facts, mark);
  return ok;
}

static bool same_loop(Match *m, const Item *p, const Item *c) {
  const Stmt *x = p->s, *y = c->s;
  Var *v = x->u.loop.var[0];
  Expr *min = renamed(m, x->u.loop.min[0]), *extent = renamed(m, x->u.loop.extent[0]);
  if (!equal(m, min, renamed(m, y->u.loop.min[0]))) return false;
  if (!equal(m, extent, renamed(m, y->u.loop.extent[0]))) return false;
  int mark = facts_mark(m->facts);
  ptrmap_set(m->as, y->u.loop.var[0], ex_var(m->a, v));
  facts_push_loop(m->facts, v, min, extent);
  bool ok = same(m, &p->yes, &c->yes);
  facts_pop(m->facts, mark);
  return ok;
}

static bool same_item(Match *m, const Item *p, const Item *c) {
  if (p->kind != c->kind) return false;
  if (p->kind == IT_LOOP) return same_loop(m, p, c);
  if (p->kind == IT_TURNS) return equal(m, renamed(m, p->n), renamed(m, c->n));
  Expr *cond = renamed(m, p->s->u.branch.cond);
  return ex_equal(cond, renamed(m, c->s->u.branch.cond)) &&
         same_under(m, cond, true, &p->yes, &c->yes) && same_under(m, cond, false, &p->no, &c->no);
}

// Where p[i] is an if: the same in either case?
static bool same_split(Match *m, const Parts *p, int i, const Parts *c, bool swapped) {
  const Item *it = p->data[i];
  Expr *cond = renamed(m, it->s->u.branch.cond);
  bool ok = ++m->splits <= SPLITS;
  for (int yes = 1; ok && yes >= 0; yes--) {
    int mark = facts_mark(m->facts), known = m->known.len, some = m->some.len, none = m->none.len;
    Parts all = {0};
    facts_push_cond(m->facts, yes ? cond : ex_un(m->a, UN_NOT, cond));
    bool positive = cond->kind == EX_BINARY && cond->u.bin.op == BIN_LT && ex_is(cond->u.bin.a, 0);
    if (positive && yes) vec_push(m->a, &m->some, cond->u.bin.b);
    if (positive && !yes) vec_push(m->a, &m->none, cond->u.bin.b);
    enter(m, yes ? &it->yes : &it->no, &all);
    for (int k = 0; k < p->len; k++)
      if (k != i) vec_push(m->a, &all, p->data[k]);
    ok = swapped ? same_parts(m, *c, all) : same_parts(m, all, *c);
    m->known.len = known;
    m->some.len = some;
    m->none.len = none;
    facts_pop(m->facts, mark);
  }
  m->splits--;
  return ok;
}

static int first_if(const Parts *x) {
  for (int i = 0; i < x->len; i++)
    if (x->data[i]->kind == IT_IF) return i;
  return -1;
}

// Takes the pairs that are the same out of both.
static void cancel(Match *m, Parts *p, Parts *c) {
  for (int i = 0; i < p->len; i++)
    for (int k = 0; k < c->len; k++) {
      if (!same_item(m, p->data[i], c->data[k])) continue;
      p->data[i--] = p->data[--p->len];
      c->data[k] = c->data[--c->len];
      break;
    }
}

static Parts copy_of(Match *m, const Parts *x) {
  Parts out = {0};
  for (int i = 0; i < x->len; i++) vec_push(m->a, &out, x->data[i]);
  return out;
}

static bool same_parts(Match *m, Parts all_p, Parts all_c) {
  Parts p = copy_of(m, &all_p), c = copy_of(m, &all_c);
  cancel(m, &p, &c);
  int mark = facts_mark(m->facts), known = m->known.len;
  Expr *x = count(m, &p), *y = count(m, &c);
  bool ok = equal(m, x, y);
  m->known.len = known;
  facts_pop(m->facts, mark);
  if (ok) return true;
  int at = first_if(&c);
  if (at >= 0) return same_split(m, &c, at, &p, true);
  at = first_if(&p);
  return at >= 0 && same_split(m, &p, at, &c, false);
}

static bool same(Match *m, const Items *p, const Items *c) {
  int mark = facts_mark(m->facts), known = m->known.len;
  Parts left = {0}, right = {0};
  enter(m, p, &left);
  enter(m, c, &right);
  bool ok = same_parts(m, left, right);
  m->known.len = known;
  facts_pop(m->facts, mark);
  return ok;
}

void verify_turns(Verify *v, Stmt *roles, const Buffer *full, const Buffer *empty) {
  Items p = turns(v, roles->u.branch.no, empty, false);
  Items c = turns(v, roles->u.branch.yes, full, true);
  Match m = {.a = v->arena, .as = ptrmap_new(v->arena)};
  m.facts = facts_new(v->arena, v->program, v->kernel);
  v->stmt = NULL;
  if (!same(&m, &p, &c))
    verify_fail(v, "the producer takes other turns at %s than the consumers", full->name);
}
