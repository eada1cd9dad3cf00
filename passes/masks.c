// Masks: conditions of elements in a parallel loop that hold for all of them in some iterations of
// the loop around, as of attention's tiles below the diagonal. They are decided once for the tile:
//   parallel i, j { S[i, j] = select(k * n + j <= x + i, 0, -inf) }   becomes
//   if k * n + n - 1 <= x { fill(S, 0) } else { the loop }
// A condition of sums of indices is worst at the ends of the parallel loop's ranges. Between two
// products that may overlap (plan_overlap.c) a tile is left out or done, but not done in two ways:
// ptxas runs wgmma one by one where two branches write registers beside it.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

enum { MAX_VARS = 8 };

typedef struct {
  PassCtx *c;
  Arena *a;
  Facts *f;
  Uniform *uniform;
  Program *program;
  Kernel *k;
  bool overlaps;           // the loop at hand is one of those
  VEC(const Var *) around; // variables of the loops around that are not parallel
  bool branch;             // between the innermost of them and here is a condition
  bool beside;             // a product of the iteration before may run beside this
  bool changed;
} Masks;

// A parallel loop, and one condition in it.
typedef struct {
  Masks *m;
  Stmt *loop;
  int64_t lo[MAX_VARS], hi[MAX_VARS]; // of its variables
  Expr *cond;
  bool value; // what the condition is replaced by
} Mask;

static int own_var(const Mask *k, const Expr *x) {
  for (int i = 0; x->kind == EX_VAR && i < k->loop->u.loop.nvars; i++)
    if (k->loop->u.loop.var[i] == x->u.var) return i;
  return -1;
}

static bool uses_own(const Mask *k, Expr *x) {
  for (int i = 0; i < k->loop->u.loop.nvars; i++)
    if (ex_uses(x, k->loop->u.loop.var[i])) return true;
  return false;
}

// The least value that x has in the loop, as an expression of what is around it; NULL: unknown.
static Expr *least(const Mask *k, Expr *x) {
  Arena *a = k->m->a;
  Affine s = ex_affine(a, x);
  int n = 0;
  for (int i = 0; i < s.n; i++) {
    int v = own_var(k, s.term[i]);
    if (v < 0 && uses_own(k, s.term[i])) return NULL;
    if (v >= 0) {
      s.constant += s.coeff[i] * (s.coeff[i] > 0 ? k->lo[v] : k->hi[v]);
      continue;
    }
    s.term[n] = s.term[i];
    s.coeff[n++] = s.coeff[i];
  }
  s.n = n;
  return ex_from_affine(a, &s);
}

static Expr *decided(const Mask *k, Expr *cond, bool as);

// Both, or where one is enough either, of what is known.
static Expr *decided_pair(const Mask *k, Expr *x, bool as, bool both) {
  Expr *p = decided(k, x->u.bin.a, as), *q = decided(k, x->u.bin.b, as);
  if (both) return p && q ? ex_and(k->m->a, p, q) : NULL;
  return p && q ? ex_bin(k->m->a, BIN_OR, p, q) : p ? p : q;
}

// What implies that cond is `as` for all elements; NULL: that cannot be said.
static Expr *decided(const Mask *k, Expr *cond, bool as) {
  Arena *a = k->m->a;
  if (!uses_own(k, cond)) return as ? cond : ex_un(a, UN_NOT, cond);
  if (cond->kind == EX_UNARY && cond->u.un.op == UN_NOT) return decided(k, cond->u.un.a, !as);
  if (cond->kind != EX_BINARY) return NULL;
  BinOp op = cond->u.bin.op;
  if (op == BIN_AND || op == BIN_OR) return decided_pair(k, cond, as, as == (op == BIN_AND));
  if ((op != BIN_LE && op != BIN_LT) || cond->u.bin.a->type != DT_INDEX) return NULL;
  Expr *x = cond->u.bin.a, *y = cond->u.bin.b; // x <= y, or not: y < x
  Expr *apart = least(k, as ? ex_sub(a, y, x) : ex_sub(a, x, y));
  bool equal = as == (op == BIN_LE);
  return apart ? ex_bin(a, equal ? BIN_LE : BIN_LT, ex_index(a, 0), apart) : NULL;
}

/* the condition in the loop */

static void note_cond(Mask *k, Expr *cond) {
  bool moves = false;
  for (int i = 0; i < k->m->around.len; i++) moves |= ex_uses(cond, k->m->around.data[i]);
  if (!moves || !uses_own(k, cond) || walk_has_load(cond)) return;
  k->cond = cond; // of several one is decided
}

static void note_node(void *ctx, Expr *x) {
  if (x->kind == EX_SELECT) note_cond(ctx, x->u.sel.cond);
}

static void note_slot(void *ctx, Expr **slot) {
  if (*slot) ex_walk(*slot, note_node, ctx);
}

static void note_stmt(void *ctx, Stmt *s) {
  st_exprs(s, note_slot, ctx);
  if (s->kind == ST_IF) note_cond(ctx, s->u.branch.cond);
}

static Expr *replace_node(void *ctx, Expr *x) {
  const Mask *k = ctx;
  if (x->kind != EX_SELECT || !ex_equal(x->u.sel.cond, k->cond)) return x;
  return k->value ? x->u.sel.yes : x->u.sel.no;
}

static void replace_slot(void *ctx, Expr **slot) {
  const Mask *k = ctx;
  if (*slot) *slot = walk_expr(k->m->a, *slot, replace_node, ctx);
}

static bool same_place(const Stmt *s, const Expr *x) {
  if (x->kind != EX_LOAD || x->u.load.buf != s->u.store.buf) return false;
  for (int i = 0; i < s->u.store.n; i++)
    if (!ex_equal(x->u.load.idx[i], s->u.store.idx[i])) return false;
  return true;
}

static Stmt *replace_stmt(void *ctx, Stmt *s) {
  Mask *k = ctx;
  if (s->kind == ST_IF && ex_equal(s->u.branch.cond, k->cond))
    return k->value ? s->u.branch.yes : s->u.branch.no;
  st_exprs(s, replace_slot, k);
  return s->kind == ST_STORE && same_place(s, s->u.store.value) ? NULL : s;
}

// A loop that writes one value to all of a fragment is a fill.
static Stmt *as_fill(Masks *m, Stmt *loop) {
  const Stmt *s = st_only(loop->u.loop.body);
  if (s->kind != ST_STORE || s->u.store.buf->scope != SC_FRAGMENT) return loop;
  const Expr *v = s->u.store.value;
  Buffer *b = s->u.store.buf;
  if ((v->kind != EX_FLOAT && v->kind != EX_INT) || s->u.store.n != loop->u.loop.nvars) return loop;
  for (int i = 0; i < s->u.store.n; i++) {
    bool own = s->u.store.idx[i]->kind == EX_VAR &&
               s->u.store.idx[i]->u.var == loop->u.loop.var[i] && ex_is(loop->u.loop.min[i], 0);
    if (!own || !ex_equal(loop->u.loop.extent[i], b->shape[i])) return loop;
  }
  return st_op(m->a, OP_FILL, loop->span, region_whole(m->a, b), s->u.store.value);
}

// The loop where the condition is `value` for all elements.
static Stmt *plain(Mask *k, bool value) {
  Masks *m = k->m;
  Mask in = *k;
  in.loop = walk_clone(m->a, k->loop, NULL);
  in.value = value;
  Subst s = {.arena = m->a};
  for (int i = 0; i < k->loop->u.loop.nvars; i++)
    subst_add(&s, k->loop->u.loop.var[i], ex_var(m->a, in.loop->u.loop.var[i]));
  in.cond = subst_expr(&s, k->cond);
  Stmt *body = st_rewrite(m->a, in.loop->u.loop.body, replace_stmt, &in);
  if (!body || (body->kind == ST_BLOCK && !body->u.block.len)) return st_block(m->a, k->loop->span);
  in.loop->u.loop.body = walk_block(m->a, body);
  return as_fill(m, in.loop);
}

// `when`, simplified; NULL: it never holds, or differs between threads.
static Expr *usable(Masks *m, Expr *when) {
  if (!when) return NULL;
  when = facts_simplify(m->f, when);
  if (facts_prove(m->f, ex_un(m->a, UN_NOT, when))) return NULL;
  return uniform_expr(m->uniform, when) ? when : NULL;
}

static Stmt *split(Masks *m, Stmt *loop) {
  Mask k = {.m = m, .loop = loop};
  if (m->branch || !m->around.len || loop->u.loop.nvars > MAX_VARS || loop->u.loop.layout)
    return loop;
  for (int i = 0; i < loop->u.loop.nvars; i++) {
    int64_t n;
    if (!ex_const(loop->u.loop.min[i], &k.lo[i]) || !ex_const(loop->u.loop.extent[i], &n))
      return loop;
    k.hi[i] = k.lo[i] + n - 1;
    if (n < 1) return loop;
  }
  st_walk(loop->u.loop.body, note_stmt, &k);
  if (!k.cond) return loop;
  Stmt *out = loop;
  for (int value = 0; value < 2; value++) {
    Expr *when = usable(m, decided(&k, k.cond, value));
    if (!when) continue;
    Stmt *yes = plain(&k, value);
    bool nothing = yes->kind == ST_BLOCK, always = facts_prove(m->f, when);
    if (m->beside && !nothing && !always) continue;
    m->changed = true;
    if (always) return yes;
    diag_remark(m->c->diags, loop->span, "masks", "decided for the whole tile where %s",
                ir_expr_str(m->a, when));
    out = nothing ? st_if(m->a, ex_un(m->a, UN_NOT, when), walk_block(m->a, out), NULL, loop->span)
                  : st_if(m->a, when, walk_block(m->a, yes), walk_block(m->a, out), loop->span);
  }
  return out;
}

/* the walk */

static Stmt *visit(Masks *m, Stmt *s);

static Stmt *visit_for(Masks *m, Stmt *s) {
  if (s->u.loop.loop == LOOP_PARALLEL) return split(m, s);
  int mark = facts_mark(m->f), n = m->around.len;
  bool branch = m->branch;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    facts_push_loop(m->f, s->u.loop.var[i], s->u.loop.min[i], s->u.loop.extent[i]);
    vec_push(m->a, &m->around, s->u.loop.var[i]);
  }
  bool overlaps = m->overlaps, bulk = m->c->target->bulk && m->k->threads % WARPGROUP == 0;
  m->branch = false;
  m->overlaps = bulk && s->u.loop.loop == LOOP_PIPELINED && pass_flag(m->c, m->k, "overlap", 1);
  s->u.loop.body = visit(m, s->u.loop.body);
  m->branch = branch;
  m->overlaps = overlaps;
  m->around.len = n;
  facts_pop(m->f, mark);
  return s;
}

static Stmt *visit_if(Masks *m, Stmt *s) {
  int mark = facts_mark(m->f);
  bool branch = m->branch;
  m->branch = true;
  facts_push_cond(m->f, s->u.branch.cond);
  s->u.branch.yes = visit(m, s->u.branch.yes);
  facts_pop(m->f, mark);
  facts_push_cond(m->f, ex_un(m->a, UN_NOT, s->u.branch.cond));
  if (s->u.branch.no) s->u.branch.no = visit(m, s->u.branch.no);
  facts_pop(m->f, mark);
  m->branch = branch;
  return s;
}

static void visit_block(Masks *m, Stmt *s) {
  bool beside = m->beside;
  int gemms = st_count_op(s, OP_GEMM), seen = 0;
  for (int i = 0; i < s->u.block.len; i++) {
    seen += st_count_op(s->u.block.data[i], OP_GEMM);
    m->beside = m->overlaps && gemms == 2 && seen == 1;
    s->u.block.data[i] = visit(m, s->u.block.data[i]);
  }
  m->beside = beside;
}

static Stmt *visit(Masks *m, Stmt *s) {
  int mark = facts_mark(m->f);
  switch (s->kind) {
  case ST_BLOCK:
    visit_block(m, s);
    facts_pop(m->f, mark);
    return s;
  case ST_FOR: return visit_for(m, s);
  case ST_IF: return visit_if(m, s);
  case ST_LET: facts_push_let(m->f, s->u.let.var, s->u.let.value); return s;
  case ST_ASSUME: facts_push_cond(m->f, s->u.assume); return s;
  default: return s;
  }
}

bool masks_split(PassCtx *c, Program *p, Kernel *k) {
  if (!pass_flag(c, k, "split-masks", 1)) return false;
  Masks m = {.c = c, .a = c->arena, .f = facts_new(c->arena, p, k), .k = k};
  m.uniform = uniform_new(c->arena, k);
  k->body = walk_block(c->arena, visit(&m, k->body));
  return m.changed;
}
