// Parallel loops that store 16-bit elements of fragments to a shared tile by stmatrix: where a
// warp's lanes hold 8 x 8 matrices as PTX lays them out, and a row of a matrix (a column, by
// .trans) is 16 bytes of the tile.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

enum { CELLS = 8, LANES = 32, MOST = 4 };

typedef struct {
  Lower *l;
  Stmt *loop, *store;
  const Layout *lay;
  int pair, row; // the dimensions of a matrix: two elements of a lane; one of eight lanes' groups
  bool trans;    // rows of the tile run along `row`
  Digit reg[LOOP_MAX_DIGITS];
  int nreg, pair_digit;
  int bits[LOOP_MAX_DIGITS]; // 2: the digit's lowest bit tells matrices of one instruction apart
  int num;                   // of these
} Matrix;

static Expr *num(const Matrix *m, int64_t v) { return ex_index(m->l->arena, v); }

static const DigitGroup *group_of(const Layout *l, int dim) {
  for (int i = 0; i < l->ngroups; i++)
    if (l->group[i].first == dim && l->group[i].n == 1) return &l->group[i];
  return NULL;
}

static bool is(const DigitGroup *g, int at, int64_t extent, DigitOwner owner, int64_t stride) {
  if (at >= g->ndigits) return false;
  const Digit *d = &g->digit[at];
  return d->extent == extent && d->owner == owner && (!stride || d->stride == stride);
}

// The lanes of a warp are two digits: four along `pair`, each with two elements, and eight along
// `row`.
static bool find_dims(Matrix *m) {
  const Layout *l = m->lay;
  m->pair = m->row = -1;
  for (int d = 0; d < l->ndims; d++) {
    const DigitGroup *g = group_of(l, d);
    if (!g) return false;
    bool pairs = is(g, 0, 2, OWN_REG, 0) && is(g, 1, 4, OWN_THREAD, 1);
    bool rows = is(g, 0, CELLS, OWN_THREAD, 4);
    if (pairs) m->pair = d;
    if (rows) m->row = d;
    for (int i = pairs ? 2 : rows ? 1 : 0; i < g->ndigits; i++)
      if (g->digit[i].owner == OWN_THREAD && g->digit[i].stride % LANES) return false;
  }
  return m->pair >= 0 && m->row >= 0;
}

static bool uses(const Matrix *m, Expr *x, int dim) { return ex_uses(x, m->loop->u.loop.var[dim]); }

// Eight elements along `dim` are 16 bytes of the tile in a row.
static bool runs_along(const Matrix *m, int dim, int other) {
  Lower *l = m->l;
  int n = m->store->u.store.n;
  for (int i = 0; i < n - 1; i++)
    if (uses(m, m->store->u.store.idx[i], dim)) return false;
  Expr *last = m->store->u.store.idx[n - 1];
  Expr *rest =
      lower_simplify(l, ex_sub(l->arena, last, ex_var(l->arena, m->loop->u.loop.var[dim])));
  if (uses(m, rest, dim) || uses(m, rest, other)) return false;
  int mark = facts_mark(l->facts);
  for (int i = 0; i < m->loop->u.loop.nvars; i++)
    facts_push_loop(l->facts, m->loop->u.loop.var[i], m->loop->u.loop.min[i],
                    m->loop->u.loop.extent[i]);
  bool aligned = facts_divisor(l->facts, lower_expr(l, rest)) % CELLS == 0;
  facts_pop(l->facts, mark);
  return aligned;
}

static bool starts_at_zero(const Stmt *loop) {
  for (int i = 0; i < loop->u.loop.nvars; i++)
    if (!ex_is(loop->u.loop.min[i], 0)) return false;
  return true;
}

static bool fits(Matrix *m) {
  Lower *l = m->l;
  m->lay = m->loop->u.loop.layout;
  m->store = st_only(m->loop->u.loop.body);
  if (!l->c->target->bulk || l->control || !m->lay || m->store->kind != ST_STORE) return false;
  if (m->lay->nreplicas || l->threads % LANES || !starts_at_zero(m->loop)) return false;
  Buffer *b = m->store->u.store.buf;
  const Buffer *tile = lower_form(l, b);
  if (tile->scope != SC_SHARED || !tile->layout || dt_bits(tile->dtype) != 16) return false;
  if (layout_vector(tile->layout) % CELLS || views_named(l->kernel, b)) return false;
  bool reads = false;
  for (int i = 0; i < l->forms.len && !reads; i++)
    reads = l->forms.data[i].tile.scope == SC_SHARED &&
            walk_reads(l->arena, m->store, l->forms.data[i].buf);
  if (reads || !find_dims(m)) return false;
  m->trans = !runs_along(m, m->pair, m->row);
  return !m->trans || runs_along(m, m->row, m->pair);
}

// Which register digits count the matrices of an instruction.
static void choose(Matrix *m) {
  const DigitGroup *g = group_of(m->lay, m->pair);
  m->nreg = layout_reg_digits(m->lay, m->reg, LOOP_MAX_DIGITS);
  m->num = 1;
  for (int i = 0; i < m->nreg; i++) {
    m->bits[i] = 1;
    if (m->reg[i].stride == g->digit[0].stride) m->pair_digit = i;
    else if (m->num < MOST && m->reg[i].extent % 2 == 0) m->num *= m->bits[i] = 2;
  }
}

// Binds the loop's variables for this thread and these digits; the caller takes them out again.
static bool bind(Matrix *m, Expr *thread, Expr **digit) {
  Lower *l = m->l;
  Expr *coord[LOOP_MAX_DIMS], *valid = NULL;
  layout_inverse(l->arena, l->facts, m->lay, thread, digit, coord, &valid);
  for (int i = 0; i < m->loop->u.loop.nvars; i++)
    subst_add(&l->vars, m->loop->u.loop.var[i], coord[i]);
  return !valid || ex_is(valid, 1);
}

// The address that this lane gives: row lane % 8 of matrix lane / 8.
static Region *address(Matrix *m, Expr **outer) {
  Lower *l = m->l;
  Arena *a = l->arena;
  int vars = l->vars.from.len, n = m->store->u.store.n;
  Expr *lane = ex_floormod(a, l->thread, num(m, LANES)), *at = ex_floordiv(a, lane, num(m, CELLS));
  Expr *cell = ex_floormod(a, l->thread, num(m, CELLS)), *digit[LOOP_MAX_DIGITS],
       *idx[LOOP_MAX_DIMS];
  Expr *warp = ex_mul(a, ex_floordiv(a, l->thread, num(m, LANES)), num(m, LANES)), *first;
  for (int i = 0; i < m->nreg; i++) {
    digit[i] = outer[i];
    if (m->bits[i] == 1) continue;
    Expr *bit = ex_floormod(a, at, num(m, 2));
    digit[i] = ex_add(a, ex_mul(a, outer[i], num(m, 2)), bit);
    at = ex_floordiv(a, at, num(m, 2));
  }
  if (m->trans) first = ex_add(a, warp, ex_floordiv(a, cell, num(m, 2)));
  else first = ex_add(a, warp, ex_mul(a, cell, num(m, 4)));
  digit[m->pair_digit] = m->trans ? ex_floormod(a, cell, num(m, 2)) : num(m, 0);
  bind(m, lower_simplify(l, first), digit);
  for (int i = 0; i < n; i++) idx[i] = lower_simplify(l, lower_expr(l, m->store->u.store.idx[i]));
  Expr *where = lower_offset(l, m->store->u.store.buf, idx);
  l->vars.from.len = l->vars.to.len = vars;
  return region_flat(a, m->store->u.store.buf, where, CELLS);
}

typedef struct {
  Var *var[2 * LOOP_MAX_DIGITS];
  int64_t extent[2 * LOOP_MAX_DIGITS];
  int n;
} Loops;

static Expr *add_loop(Matrix *m, Loops *loops, const char *name, int64_t extent) {
  if (extent == 1) return num(m, 0);
  Var *v = lower_loop_var(m->l, name);
  facts_push_loop(m->l->facts, v, num(m, 0), num(m, extent));
  loops->var[loops->n] = v;
  loops->extent[loops->n++] = extent;
  return ex_var(m->l->arena, v);
}

// body in the loops, the last one outermost.
static Stmt *nest(Matrix *m, const Loops *loops, Stmt *body) {
  Arena *a = m->l->arena;
  for (int i = 0; i < loops->n; i++)
    body = walk_block(a, st_for(a, LOOP_UNROLL, loops->var[i], num(m, 0), num(m, loops->extent[i]),
                                body, m->loop->span));
  return body;
}

// The registers of one instruction: two elements of each matrix.
static void gather(Matrix *m, Buffer *regs, Expr **outer, Stmt *out) {
  Lower *l = m->l;
  Arena *a = l->arena;
  Loops loops = {.n = 0};
  int vars = l->vars.from.len, step = 2, mark = facts_mark(l->facts);
  Expr *at = l->digit[m->pair_digit] = add_loop(m, &loops, "e", 2);
  for (int i = 0; i < m->nreg; i++) {
    if (i == m->pair_digit) continue;
    l->digit[i] = outer[i];
    if (m->bits[i] == 1) continue;
    Expr *bit = add_loop(m, &loops, "m", 2);
    l->digit[i] = ex_add(a, ex_mul(a, outer[i], num(m, 2)), bit);
    at = ex_add(a, at, ex_mul(a, bit, num(m, step)));
    step *= 2;
  }
  bind(m, l->thread, l->digit);
  Expr *value = ex_cast(a, regs->dtype, lower_expr(l, m->store->u.store.value));
  Stmt *body = st_block(a, m->loop->span);
  st_add(a, body, st_store(a, regs, &at, 1, value, m->store->span));
  st_add(a, out, nest(m, &loops, body));
  l->vars.from.len = l->vars.to.len = vars;
  facts_pop(l->facts, mark);
}

// Has every thread an element of the tile in each of its registers?
static bool every_thread(Matrix *m) {
  Lower *l = m->l;
  Expr *digit[LOOP_MAX_DIGITS];
  int vars = l->vars.from.len, mark = facts_mark(l->facts);
  for (int i = 0; i < m->nreg; i++) {
    Var *v = var_new(l->arena, "d", DT_INDEX, VAR_LOOP, m->loop->span);
    facts_push_loop(l->facts, v, num(m, 0), num(m, m->reg[i].extent));
    digit[i] = ex_var(l->arena, v);
  }
  bool all = bind(m, l->thread, digit);
  facts_pop(l->facts, mark);
  l->vars.from.len = l->vars.to.len = vars;
  return all && layout_covers(m->lay);
}

bool lower_matrices(Lower *l, Stmt *loop, Stmt *out) {
  Matrix m = {.l = l, .loop = loop};
  if (!fits(&m)) return false;
  Arena *a = l->arena;
  choose(&m);
  if (!every_thread(&m)) return false;
  Loops loops = {.n = 0};
  Expr *outer[LOOP_MAX_DIGITS];
  int mark = facts_mark(l->facts);
  for (int i = 0; i < m.nreg; i++) {
    bool pair = i == m.pair_digit;
    outer[i] = add_loop(&m, &loops, "u", pair ? 1 : m.reg[i].extent / m.bits[i]);
  }
  Buffer *tile = m.store->u.store.buf;
  Expr *count = num(&m, 2 * m.num);
  Buffer *regs =
      buf_new(a, arena_printf(a, "%s_m", tile->name), tile->dtype, SC_LOCAL, &count, 1, loop->span);
  vec_push(a, &l->kernel->buffers, regs);
  Stmt *body = st_block(a, loop->span);
  gather(&m, regs, outer, body);
  st_add(a, body,
         st_op(a, OP_STMATRIX, loop->span, region_flat(a, regs, num(&m, 0), 2 * m.num),
               address(&m, outer), (int64_t)m.num, (int64_t)m.trans));
  st_add(a, out, nest(&m, &loops, body));
  facts_pop(l->facts, mark);
  diag_remark(l->c->diags, loop->span, "copy", "stmatrix%s x%d to %s", m.trans ? ".trans" : "",
              m.num, tile->name);
  return true;
}
