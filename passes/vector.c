// vector: vectorized loops become vector moves, vector atomics and unrolled scalar code. The loop
// is distributed over the statements of its body (its iterations do not depend on one another);
// loads of consecutive elements go through a register array, results leave from one.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

typedef struct {
  PassCtx *c;
  Arena *arena;
  Kernel *kernel;
  Facts *facts;
  // of the loop being replaced:
  Var *v;
  int width;
  Span span;
} Vector;

static void vector_stmt(Vector *x, Stmt *s, Stmt *out); // of the vectorized body

/* ------------------------------------------------------------------ small tools */

static Expr *at(Vector *x, int64_t v) { return ex_index(x->arena, v); }

static Expr *run_base(Vector *x, Expr *e);

// e - v where v is in one term, base + v ^ mask, and keeps to the low bits that base and mask
// leave zero; NULL otherwise.
static Expr *swizzled_base(Vector *x, Expr *e) {
  Affine sum = ex_affine(x->arena, e);
  int in = -1;
  for (int i = 0; i < sum.n; i++) {
    if (!ex_uses(sum.term[i], x->v)) continue;
    if (in >= 0 || sum.coeff[i] != 1) return NULL;
    in = i;
  }
  Expr *t = in < 0 ? NULL : sum.term[in];
  if (!t || t->kind != EX_BINARY || t->u.bin.op != BIN_BITXOR || x->width & (x->width - 1))
    return NULL;
  bool left = ex_uses(t->u.bin.a, x->v);
  Expr *mask = left ? t->u.bin.b : t->u.bin.a, *base;
  if (ex_uses(mask, x->v) || facts_divisor(x->facts, mask) % x->width) return NULL;
  base = run_base(x, left ? t->u.bin.a : t->u.bin.b);
  if (!base || facts_divisor(x->facts, base) % x->width) return NULL;
  sum.term[in] = ex_bin(x->arena, BIN_BITXOR, base, mask);
  return ex_from_affine(x->arena, &sum);
}

// e - v when e is v plus something without v; NULL otherwise.
static Expr *run_base(Vector *x, Expr *e) {
  e = facts_simplify(x->facts, e);
  Expr *base = facts_simplify(x->facts, ex_subst(x->arena, e, x->v, at(x, 0)));
  Expr *slope = facts_simplify(x->facts, ex_sub(x->arena, e, base));
  return slope->kind == EX_VAR && slope->u.var == x->v ? base : swizzled_base(x, e);
}

// The start of e where each element serves `steps` lanes: e is that plus v // steps; else NULL.
static Expr *slow_base(Vector *x, Expr *e, int steps) {
  Expr *base = facts_simplify(x->facts, ex_subst(x->arena, e, x->v, at(x, 0)));
  Expr *slope = facts_simplify(x->facts, ex_sub(x->arena, e, base));
  Expr *want = ex_floordiv(x->arena, ex_var(x->arena, x->v), at(x, steps));
  return ex_equal(slope, facts_simplify(x->facts, want)) ? base : NULL;
}

// Elements of a run of n, base, base + 1, ..., that one access can move; 1: no vector.
static int part_width(Vector *x, const Buffer *b, Expr *base, int n) {
  int w = 1, bytes = dt_bytes(b->dtype);
  while (n % (w * 2) == 0 && w * 2 * bytes <= 16) w *= 2;
  int64_t d = facts_divisor(x->facts, base);
  while (w > 1 && (d % w || (b->scope == SC_GLOBAL && b->align % (w * bytes)))) w /= 2;
  return w;
}

static int run_width(Vector *x, const Buffer *b, Expr *base) {
  return part_width(x, b, base, x->width);
}

static void remark_scalar(Vector *x, const Buffer *b, Expr *base) {
  diag_remark(x->c->diags, x->span, "vector",
              "scalar accesses to %s: not proved: %s is a multiple of 2", b->name,
              ir_expr_str(x->arena, base));
}

static Buffer *temp(Vector *x, const char *name, DType t) {
  Expr *n = at(x, x->width);
  Buffer *b = buf_new(x->arena, name, t, SC_LOCAL, &n, 1, x->span);
  vec_push(x->arena, &x->kernel->buffers, b);
  return b;
}

static Expr *lane(Vector *x) { return ex_var(x->arena, x->v); }

static Expr *fresh_lane(void *ctx, Var *v) {
  void **c = ctx;
  return v == c[0] ? c[1] : NULL;
}

// The body once for each lane: an unrolled loop over a variable of its own.
static void each_lane(Vector *x, Stmt *body, Stmt *out) {
  Var *v = var_new(x->arena, x->v->name, DT_INDEX, VAR_LOOP, x->v->span);
  void *ctx[2] = {x->v, ex_var(x->arena, v)};
  body = walk_clone(x->arena, body, NULL);
  st_replace(x->arena, body, fresh_lane, ctx);
  st_add(x->arena, out,
         st_for(x->arena, LOOP_UNROLL, v, at(x, 0), at(x, x->width), walk_block(x->arena, body),
                x->span));
}

// Moves a run of n elements between memory and a register array in accesses of w of them.
static void moves(Vector *x, Buffer *from, Expr *fbase, Buffer *to, Expr *tbase, int n, int w,
                  Stmt *out) {
  for (int i = 0; i < n; i += w) {
    Expr *f = facts_simplify(x->facts, ex_add(x->arena, fbase, at(x, i)));
    Expr *t = facts_simplify(x->facts, ex_add(x->arena, tbase, at(x, i)));
    st_add(x->arena, out,
           st_op(x->arena, OP_VMOV, x->span, region_flat(x->arena, from, f, w),
                 region_flat(x->arena, to, t, w)));
  }
}

/* ------------------------------------------------------------------ loads */

static Expr *vector_expr(Vector *x, Expr *e, Stmt *out);

static Expr *vector_load(Vector *x, Expr *e, Stmt *out) {
  Buffer *b = e->u.load.buf;
  if (b->scope == SC_LOCAL) return e;
  int steps = 1;
  Expr *base = run_base(x, e->u.load.idx[0]);
  while (!base && (steps *= 2) < x->width && x->width % steps == 0)
    base = slow_base(x, e->u.load.idx[0], steps);
  if (!base || walk_has_load(base)) return e;
  int n = x->width / steps, w = part_width(x, b, base, n);
  if (w == 1) {
    if (steps == 1) remark_scalar(x, b, base);
    return e;
  }
  Buffer *t = temp(x, arena_printf(x->arena, "%s_v", b->name), b->dtype);
  t->shape[0] = at(x, n);
  moves(x, b, base, t, at(x, 0), n, w, out);
  Expr *v = ex_floordiv(x->arena, lane(x), at(x, steps));
  return ex_load(x->arena, t, &v, 1);
}

// The byte whose halves are lanes 2i and 2i + 1 of x, and what its 4 bits are; NULL of others.
static Expr *halves(Vector *x, Expr *e, int *kind) {
  *kind = e->type == DT_I4 ? 0 : e->type == DT_U4 ? 1 : 2;
  if (dt_bits(e->type) != 4 || e->kind != (*kind == 2 ? EX_BITCAST : EX_CAST)) return NULL;
  e = e->u.cast;
  if (*kind == 2 && e->type == DT_U4 && e->kind == EX_CAST) e = e->u.cast;
  if (e->type != DT_U8 || e->kind != EX_BINARY || e->u.bin.op != BIN_SHR) return NULL;
  Expr *two = at(x, 2), *by = ex_floormod(x->arena, ex_var(x->arena, x->v), two);
  by = ex_cast(x->arena, DT_U8, ex_mul(x->arena, by, at(x, 4)));
  return e->u.bin.a->kind == EX_LOAD && ex_equal(e->u.bin.b, by) ? e->u.bin.a : NULL;
}

// Casts of 4-bit elements that lie side by side, eight at a time; NULL where e is something else.
static Expr *vector_unpack(Vector *x, Expr *e, Stmt *out) {
  int kind;
  Expr *byte = e->type == DT_F16 || e->type == DT_BF16 ? halves(x, e->u.cast, &kind) : NULL;
  if (!byte || x->width % 8) return NULL;
  byte = vector_load(x, byte, out);
  Buffer *b = byte->u.load.buf;
  Expr *from = byte->kind == EX_LOAD ? slow_base(x, byte->u.load.idx[0], 2) : NULL;
  if (!from || b->scope != SC_LOCAL || facts_divisor(x->facts, from) % 4) return NULL;
  Buffer *t = temp(x, arena_printf(x->arena, "%s_u", b->name), e->type);
  for (int i = 0; i < x->width; i += 8) {
    Expr *pos = facts_simplify(x->facts, ex_add(x->arena, from, at(x, i / 2)));
    st_add(x->arena, out,
           st_op(x->arena, OP_UNPACK, x->span, region_flat(x->arena, b, pos, 4),
                 region_flat(x->arena, t, at(x, i), 8), (int64_t)kind));
  }
  Expr *v = lane(x);
  return ex_load(x->arena, t, &v, 1);
}

// Loads under a condition that is the same for all lanes are made under that condition.
static Expr *vector_select(Vector *x, Expr *e, Stmt *out) {
  Expr *cond = e->u.sel.cond;
  if (ex_uses(cond, x->v)) return e;
  cond = vector_expr(x, cond, out);
  Stmt *yes = st_block(x->arena, x->span), *no = st_block(x->arena, x->span);
  int mark = facts_mark(x->facts);
  facts_push_cond(x->facts, cond);
  Expr *p = vector_expr(x, e->u.sel.yes, yes);
  facts_pop(x->facts, mark);
  Expr *q = vector_expr(x, e->u.sel.no, no);
  Stmt *other = no->u.block.len ? no : NULL;
  if (yes->u.block.len || other) st_add(x->arena, out, st_if(x->arena, cond, yes, other, x->span));
  return ex_select(x->arena, cond, p, q);
}

static Expr *vector_expr(Vector *x, Expr *e, Stmt *out) {
  Expr *arg[3], *a, *b;
  if (!walk_has_load(e)) return e;
  if (e->kind == EX_CAST && (a = vector_unpack(x, e, out)) != NULL) return ex_at(a, e->span);
  switch (e->kind) {
  case EX_LOAD: return ex_at(vector_load(x, e, out), e->span);
  case EX_SELECT: return ex_at(vector_select(x, e, out), e->span);
  case EX_UNARY: return ex_un(x->arena, e->u.un.op, vector_expr(x, e->u.un.a, out));
  case EX_CAST: return ex_cast(x->arena, e->type, vector_expr(x, e->u.cast, out));
  case EX_BITCAST: return ex_bitcast(x->arena, e->type, vector_expr(x, e->u.cast, out));
  case EX_BINARY:
    a = vector_expr(x, e->u.bin.a, out);
    if (e->u.bin.op == BIN_AND || e->u.bin.op == BIN_OR) b = e->u.bin.b; // evaluated on demand
    else b = vector_expr(x, e->u.bin.b, out);
    return ex_at(ex_bin(x->arena, e->u.bin.op, a, b), e->span);
  case EX_MATH:
    for (int i = 0; i < e->u.math.n; i++) arg[i] = vector_expr(x, e->u.math.arg[i], out);
    return ex_at(ex_math(x->arena, e->u.math.fn, arg, e->u.math.n), e->span);
  default: return e;
  }
}

/* ------------------------------------------------------------------ stores and atomics */

// The register array that already holds value at consecutive places, and where; else a new one,
// filled.
static Buffer *in_registers(Vector *x, const char *name, DType type, Expr *value, int w,
                            Expr **base, Stmt *out) {
  if (value->kind == EX_LOAD && value->u.load.buf->scope == SC_LOCAL && value->type == type) {
    *base = run_base(x, value->u.load.idx[0]);
    if (*base && facts_divisor(x->facts, *base) % w == 0) return value->u.load.buf;
  }
  Buffer *t = temp(x, arena_printf(x->arena, "%s_v", name), type);
  Expr *v = lane(x);
  each_lane(x, st_store(x->arena, t, &v, 1, value, x->span), out);
  *base = at(x, 0);
  return t;
}

static void vector_store(Vector *x, Stmt *s, Stmt *out) {
  Buffer *b = s->u.store.buf;
  Expr *value = s->u.store.value;
  if (value->kind == EX_SELECT && !ex_uses(value->u.sel.cond, x->v) && b->scope == SC_LOCAL) {
    Stmt *yes = st_store(x->arena, b, s->u.store.idx, 1, value->u.sel.yes, s->span);
    Stmt *no = st_store(x->arena, b, s->u.store.idx, 1, value->u.sel.no, s->span);
    vector_stmt(x, st_if(x->arena, value->u.sel.cond, yes, no, s->span), out);
    return;
  }
  Expr *base = run_base(x, s->u.store.idx[0]);
  int w = base ? run_width(x, b, base) : 1;
  if (b->scope == SC_LOCAL && w > 1 && value->kind == EX_LOAD && value->type == b->dtype &&
      value->u.load.buf->scope != SC_LOCAL) { // straight into the array
    Buffer *src = value->u.load.buf;
    Expr *sbase = run_base(x, value->u.load.idx[0]);
    int sw = sbase && !walk_has_load(sbase) ? run_width(x, src, sbase) : 1;
    if (sw > 1) {
      moves(x, src, sbase, b, base, x->width, sw < w ? sw : w, out);
      return;
    }
  }
  value = vector_expr(x, value, out);
  if (b->scope == SC_LOCAL || w == 1) {
    if (b->scope != SC_LOCAL && base) remark_scalar(x, b, base);
    each_lane(x, st_store(x->arena, b, s->u.store.idx, 1, value, s->span), out);
    return;
  }
  Expr *from;
  Buffer *t = in_registers(x, b->name, b->dtype, value, w, &from, out);
  moves(x, t, from, b, base, x->width, w, out);
}

static void vector_atomic(Vector *x, Stmt *s, Stmt *out) {
  if (s->u.op.arg[3].i || s->u.op.arg[4].region) {
    each_lane(x, s, out);
    return;
  }
  Region *r = s->u.op.arg[0].region;
  int64_t fn = s->u.op.arg[2].i;
  Expr *base = run_base(x, r->min[0]), *from;
  int w = base ? run_width(x, r->buf, base) : 1, most = width_atomic(x->c->target, r->buf->dtype);
  if (w > most) w = most;
  Expr *value = vector_expr(x, s->u.op.arg[1].expr, out);
  if (w == 1 || fn != ATOMIC_ADD || r->buf->scope != SC_GLOBAL) {
    each_lane(x, st_atomic(x->arena, s->span, r, value, fn), out);
    return;
  }
  value = ex_cast(x->arena, r->buf->dtype, value);
  Buffer *t = in_registers(x, r->buf->name, r->buf->dtype, value, w, &from, out);
  for (int i = 0; i < x->width; i += w)
    st_add(x->arena, out,
           st_op(x->arena, OP_VATOMIC, s->span,
                 region_flat(x->arena, r->buf,
                             facts_simplify(x->facts, ex_add(x->arena, base, at(x, i))), w),
                 region_flat(x->arena, t,
                             facts_simplify(x->facts, ex_add(x->arena, from, at(x, i))), w),
                 fn));
}

/* ------------------------------------------------------------------ the body */

static void vector_branch(Vector *x, Stmt *s, Stmt *out) {
  if (ex_uses(s->u.branch.cond, x->v)) {
    each_lane(x, s, out);
    return;
  }
  Stmt *yes = st_block(x->arena, s->span), *no = NULL;
  int mark = facts_mark(x->facts);
  facts_push_cond(x->facts, s->u.branch.cond);
  vector_stmt(x, s->u.branch.yes, yes);
  facts_pop(x->facts, mark);
  if (s->u.branch.no) vector_stmt(x, s->u.branch.no, no = st_block(x->arena, s->span));
  st_add(x->arena, out, st_if(x->arena, s->u.branch.cond, yes, no, s->span));
}

// A let that differs by lane becomes an array, or its value where it is plain arithmetic.
static void vector_let(Vector *x, Stmt *s, Stmt *rest, Stmt *out) {
  Var *var = s->u.let.var;
  Expr *value = s->u.let.value, *by = value, *v = lane(x);
  if (!ex_uses(value, x->v) && !walk_has_load(value)) {
    st_add(x->arena, out, s);
    facts_push_let(x->facts, var, value);
    return;
  }
  if (walk_has_load(value)) {
    value = vector_expr(x, value, out);
    Buffer *t = temp(x, var->name, var->type);
    each_lane(x, st_store(x->arena, t, &v, 1, value, s->span), out);
    by = ex_load(x->arena, t, &v, 1);
  }
  Subst sub = {.arena = x->arena};
  subst_add(&sub, var, by);
  subst_stmt(&sub, rest);
}

static void vector_block(Vector *x, Stmt *s, Stmt *out) {
  int mark = facts_mark(x->facts);
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *one = s->u.block.data[i];
    if (one->kind != ST_LET) {
      vector_stmt(x, one, out);
      continue;
    }
    Stmt *rest = st_block(x->arena, s->span);
    for (int k = i + 1; k < s->u.block.len; k++)
      vec_push(x->arena, &rest->u.block, s->u.block.data[k]);
    vector_let(x, one, rest, out);
  }
  facts_pop(x->facts, mark);
}

static void vector_stmt(Vector *x, Stmt *s, Stmt *out) {
  switch (s->kind) {
  case ST_BLOCK: vector_block(x, s, out); break;
  case ST_IF: vector_branch(x, s, out); break;
  case ST_STORE: vector_store(x, s, out); break;
  case ST_OP:
    if (s->u.op.op == OP_ATOMIC) vector_atomic(x, s, out);
    else each_lane(x, s, out);
    break;
  default: each_lane(x, s, out); break;
  }
}

/* ------------------------------------------------------------------ the walk */

typedef struct {
  Vector *x;
  bool found;
} Shared;

static void lane_shares(void *ctx, const Access *acc) {
  Shared *q = ctx;
  const Region *r = &acc->region;
  if (acc->mode == ACC_READ || r->buf->scope != SC_LOCAL) return;
  q->found = q->found || r->n != 1 || !run_base(q->x, r->min[0]);
}

static void stmt_shares(void *ctx, Stmt *s) {
  Shared *q = ctx;
  st_accesses(q->x->arena, s, lane_shares, q);
}

// Do lanes write one register (a scalar of the thread)? Then they run one by one.
static bool lanes_share(Vector *x, Stmt *body) {
  Shared q = {x, false};
  st_walk(body, stmt_shares, &q);
  return q.found;
}

static Stmt *vector_walk(Vector *x, Stmt *s);

static Stmt *vector_loop(Vector *x, Stmt *s) {
  int64_t width, lo;
  bool fixed = ex_const(s->u.loop.extent[0], &width) && ex_const(s->u.loop.min[0], &lo);
  if (s->u.loop.loop != LOOP_VECTORIZED || !fixed || lo || width < 2 || width > 64) {
    int mark = facts_mark(x->facts);
    facts_push_loop(x->facts, s->u.loop.var[0], s->u.loop.min[0], s->u.loop.extent[0]);
    s->u.loop.body = walk_block(x->arena, vector_walk(x, s->u.loop.body));
    facts_pop(x->facts, mark);
    if (s->u.loop.loop == LOOP_VECTORIZED) s->u.loop.loop = fixed ? LOOP_UNROLL : LOOP_SERIAL;
    return s;
  }
  Stmt *out = st_block(x->arena, s->span);
  int mark = facts_mark(x->facts);
  x->v = s->u.loop.var[0];
  x->width = (int)width;
  x->span = s->span;
  facts_push_loop(x->facts, x->v, s->u.loop.min[0], s->u.loop.extent[0]);
  if (lanes_share(x, s->u.loop.body)) each_lane(x, s->u.loop.body, out);
  else vector_stmt(x, s->u.loop.body, out);
  facts_pop(x->facts, mark);
  return out;
}

static Stmt *vector_walk(Vector *x, Stmt *s) {
  int mark = facts_mark(x->facts);
  if (s->kind == ST_FOR) return vector_loop(x, s);
  if (s->kind == ST_IF) {
    facts_push_cond(x->facts, s->u.branch.cond);
    s->u.branch.yes = vector_walk(x, s->u.branch.yes);
    facts_pop(x->facts, mark);
    if (s->u.branch.no) s->u.branch.no = vector_walk(x, s->u.branch.no);
  }
  if (s->kind != ST_BLOCK) return s;
  Stmt *out = st_block(x->arena, s->span);
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *one = s->u.block.data[i];
    st_add(x->arena, out, vector_walk(x, one));
    if (one->kind == ST_LET) facts_push_let(x->facts, one->u.let.var, one->u.let.value);
    if (one->kind == ST_ASSUME) facts_push_cond(x->facts, one->u.assume);
  }
  facts_pop(x->facts, mark);
  s->u.block = out->u.block;
  return s;
}

void pass_vector(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *k = p->kernels.data[i];
    Vector x = {.c = c, .arena = c->arena, .kernel = k, .facts = facts_new(c->arena, p, k)};
    k->body = walk_block(c->arena, vector_walk(&x, k->body));
  }
}
