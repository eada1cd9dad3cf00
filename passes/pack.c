// pack: memory of 4-bit elements becomes memory of bytes, each of which holds two neighbours of the
// last dimension, the even one in the low half. Later passes see bytes alone; values of 4-bit types
// remain in expressions. Before simplify and plan, so that these decide about bytes.
// SPDX-License-Identifier: MIT
#include "passes/pack.h"

Buffer *pack_bytes(const Pack *p, const Buffer *b) {
  for (int i = 0; i < p->packed.len; i++)
    if (p->packed.data[i].was == b) return p->packed.data[i].now;
  return NULL;
}

bool pack_even(Pack *p, Expr *x) { return facts_divisor(p->facts, x) % 2 == 0; }

Expr *pack_half(Pack *p, Expr *x) {
  return facts_simplify(p->facts, ex_floordiv(p->arena, x, ex_index(p->arena, 2)));
}

/* ------------------------------------------------------------------ values */

Expr *pack_nibble(Arena *a, DType elem, Expr *value) {
  value = ex_cast(a, elem, value);
  if (elem == DT_E2M1) value = ex_bitcast(a, DT_U4, value);
  return ex_cast(a, DT_U8, ex_cast(a, DT_U4, value)); // integers wrap
}

// Where values of a 4-bit type are computed.
static DType wide(DType t) { return t == DT_I4 ? DT_I8 : t == DT_U4 ? DT_U8 : DT_F32; }

static bool narrow(const Expr *x) { return dt_bits(x->type) < 8; }

static Expr *widened(Arena *a, Expr *x) { return narrow(x) ? ex_cast(a, wide(x->type), x) : x; }

static Expr *element(Pack *p, Expr *x) {
  Arena *a = p->arena;
  int last = x->u.load.n - 1;
  Expr **idx = arena_copy(a, x->u.load.idx, sizeof *idx * (size_t)(last + 1)), *at = idx[last];
  idx[last] = pack_half(p, at);
  Expr *odd = facts_simplify(p->facts, ex_floormod(a, at, ex_index(a, 2)));
  Expr *by = ex_cast(a, DT_U8, ex_mul(a, odd, ex_index(a, 4)));
  Expr *byte = ex_load(a, pack_bytes(p, x->u.load.buf), idx, last + 1);
  Expr *low = ex_bin(a, BIN_SHR, byte, by);
  if (x->type == DT_E2M1) return ex_bitcast(a, DT_E2M1, ex_cast(a, DT_U4, low));
  return ex_cast(a, x->type, low);
}

static Expr *node(void *ctx, Expr *x) {
  Pack *p = ctx;
  Arena *a = p->arena;
  switch (x->kind) {
  case EX_LOAD: return narrow(x) ? ex_at(element(p, x), x->span) : x;
  case EX_UNARY:
    if (!narrow(x->u.un.a) || x->u.un.op == UN_NOT) return x;
    return ex_cast(a, x->type, ex_un(a, x->u.un.op, widened(a, x->u.un.a)));
  case EX_BINARY:
    if (!narrow(x->u.bin.a)) return x;
    return ex_cast(a, x->type,
                   ex_bin(a, x->u.bin.op, widened(a, x->u.bin.a), widened(a, x->u.bin.b)));
  case EX_MATH: {
    Expr *arg[3];
    if (!narrow(x->u.math.arg[0])) return x;
    for (int i = 0; i < x->u.math.n; i++) arg[i] = widened(a, x->u.math.arg[i]);
    return ex_cast(a, x->type, ex_math(a, x->u.math.fn, arg, x->u.math.n));
  }
  default: return x;
  }
}

Expr *pack_expr(Pack *p, Expr *x) { return walk_expr(p->arena, x, node, p); }

static void slot(void *ctx, Expr **x) {
  if (*x) *x = pack_expr(ctx, *x);
}

/* ------------------------------------------------------------------ statements */

// The bytes of a region whose last dimension begins and ends between bytes; NULL of others.
static Region *bytes_of(Pack *p, const Region *r) {
  int last = r->n - 1;
  if (!pack_even(p, r->min[last]) || !pack_even(p, r->extent[last])) return NULL;
  Region *n = walk_region(p->arena, r);
  n->buf = pack_bytes(p, r->buf);
  n->min[last] = pack_half(p, n->min[last]);
  n->extent[last] = pack_half(p, n->extent[last]);
  return n;
}

static Stmt *copy(Pack *p, Stmt *s) {
  Arg *arg = s->u.op.arg;
  DType from = arg[0].region->buf->dtype, to = arg[1].region->buf->dtype;
  if (dt_bits(from) >= 8 && dt_bits(to) >= 8) return s;
  Region *x = from == to ? bytes_of(p, arg[0].region) : NULL;
  Region *y = from == to ? bytes_of(p, arg[1].region) : NULL;
  if (!x || !y) return pack_stmt(p, tile_to_loop(p->arena, s, false));
  arg[0].region = x;
  arg[1].region = y;
  return s;
}

static Stmt *fill(Pack *p, Stmt *s) {
  Arena *a = p->arena;
  Arg *arg = s->u.op.arg;
  DType elem = arg[0].region->buf->dtype;
  if (dt_bits(elem) >= 8) return s;
  Region *r = bytes_of(p, arg[0].region);
  if (!r) return pack_stmt(p, tile_to_loop(a, s, false));
  arg[0].region = r;
  arg[1].expr = ex_bin(a, BIN_MUL, pack_nibble(a, elem, arg[1].expr), ex_int(a, DT_U8, 17));
  return s;
}

static Stmt *op(Pack *p, Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  walk_own(p->arena, s);
  if (s->u.op.op == OP_COPY) s = copy(p, s);
  else if (s->u.op.op == OP_FILL) s = fill(p, s);
  if (s->kind != ST_OP) return s;
  st_exprs(s, slot, p);
  for (int i = 0; i < info->nargs; i++) {
    Arg *arg = &s->u.op.arg[i];
    if (info->arg[i].kind == ARG_EXPR && arg->expr) arg->expr = widened(p->arena, arg->expr);
    if (!arg_is_region(info->arg[i].kind) || !arg->region) continue;
    DType elem = arg->region->buf->dtype;
    if (dt_bits(elem) >= 8) continue;
    diag_report(p->c->diags, DIAG_PACK_OP, s->span, info->name, arg->region->buf->name,
                dt_name(elem), dt_name(wide(elem)));
  }
  return s;
}

static Stmt *loop(Pack *p, Stmt *s) {
  st_exprs(s, slot, p);
  int mark = facts_mark(p->facts), n = s->u.loop.nvars;
  bool par = s->u.loop.loop == LOOP_PARALLEL;
  for (int i = 0; i < n; i++)
    facts_push_loop(p->facts, s->u.loop.var[i], s->u.loop.min[i], s->u.loop.extent[i]);
  p->parallel += par;
  if (!pack_loop(p, s)) s->u.loop.body = walk_block(p->arena, pack_stmt(p, s->u.loop.body));
  p->parallel -= par;
  facts_pop(p->facts, mark);
  return s;
}

static Stmt *block(Pack *p, Stmt *s) {
  Stmt *out = st_block(p->arena, s->span);
  int mark = facts_mark(p->facts);
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *one = pack_stmt(p, s->u.block.data[i]);
    st_add(p->arena, out, one);
    if (one->kind == ST_LET) facts_push_let(p->facts, one->u.let.var, one->u.let.value);
    if (one->kind == ST_ASSUME) facts_push_cond(p->facts, one->u.assume);
  }
  facts_pop(p->facts, mark);
  return out;
}

static Stmt *branch(Pack *p, Stmt *s) {
  int mark = facts_mark(p->facts);
  Expr *cond = s->u.branch.cond;
  st_exprs(s, slot, p);
  facts_push_cond(p->facts, cond);
  s->u.branch.yes = walk_block(p->arena, pack_stmt(p, s->u.branch.yes));
  facts_pop(p->facts, mark);
  if (!s->u.branch.no) return s;
  facts_push_cond(p->facts, ex_un(p->arena, UN_NOT, cond));
  s->u.branch.no = walk_block(p->arena, pack_stmt(p, s->u.branch.no));
  facts_pop(p->facts, mark);
  return s;
}

Stmt *pack_stmt(Pack *p, Stmt *s) {
  switch (s->kind) {
  case ST_BLOCK: return block(p, s);
  case ST_FOR: return loop(p, s);
  case ST_IF: return branch(p, s);
  case ST_OP: return op(p, s);
  case ST_STORE:
    st_exprs(s, slot, p);
    return dt_bits(s->u.store.buf->dtype) < 8 ? pack_store(p, s) : s;
  default: st_exprs(s, slot, p); return s;
  }
}

/* ------------------------------------------------------------------ buffers */

// Has the program such a fact already, or is it proved? Else the launcher is to check it.
static void want(Pack *p, Facts *f, Expr *cond, Span at) {
  if (facts_prove(f, cond)) return;
  Fact fact = {.cond = cond, .span = at, .why = "4-bit elements in pairs"};
  vec_push(p->arena, &p->program->facts, fact);
}

static Expr *even(Arena *a, Expr *x) {
  return ex_bin(a, BIN_EQ, ex_floormod(a, x, ex_index(a, 2)), ex_index(a, 0));
}

// Pairs are whole bytes: rows of an even length, the last stride 1, the others even.
static bool check_rows(Pack *p, Facts *f, const Buffer *b) {
  int last = b->ndim - 1;
  int64_t n;
  bool inside = b->scope == SC_FRAGMENT || b->scope == SC_LOCAL;
  if (inside && !b->base) return true; // the last byte of a row may be half empty
  if (ex_const(b->shape[last], &n) && n % 2) {
    diag_report(p->c->diags, DIAG_PACK_ODD, b->span, b->name, (long long)n, dt_name(b->dtype),
                (long long)n + 1);
    return false;
  }
  want(p, f, even(p->arena, b->shape[last]), b->span);
  for (int d = 0; b->strides && d <= last; d++) {
    bool known = ex_const(b->strides[d], &n);
    if (d == last ? !known || n != 1 : known && n % 2) {
      diag_report(p->c->diags, DIAG_PACK_STRIDE, b->span, ir_expr_str(p->arena, b->strides[d]), d,
                  b->name, dt_name(b->dtype));
      return false;
    }
    if (d < last) want(p, f, even(p->arena, b->strides[d]), b->span);
  }
  return true;
}

// The bytes of b; b itself where its elements are wider.
static Buffer *add(Pack *p, Buffer *b) {
  Arena *a = p->arena;
  if (dt_bits(b->dtype) >= 8 || !check_rows(p, p->facts, b)) return b;
  int last = b->ndim - 1;
  Expr *two = ex_index(a, 2);
  Buffer *n = arena_copy(a, b, sizeof *b);
  vec_push(a, &p->packed, (Packed){b, n});
  n->dtype = DT_U8;
  n->shape = arena_copy(a, b->shape, sizeof *b->shape * (size_t)b->ndim);
  n->shape[last] = pack_half(p, ex_add(a, b->shape[last], ex_index(a, 1)));
  if (b->strides) n->strides = arena_copy(a, b->strides, sizeof *b->strides * (size_t)b->ndim);
  for (int d = 0; b->strides && d < last; d++) n->strides[d] = ex_floordiv(a, b->strides[d], two);
  if (b->safe)
    n->safe = ex_bin(a, BIN_MUL, pack_nibble(a, b->dtype, b->safe), ex_int(a, DT_U8, 17));
  if (b->scope == SC_GLOBAL || !(b->layout || b->places)) return n;
  diag_remark(p->c->diags, b->layout_at, "layout", "%s: a layout of 4-bit elements is not followed",
              b->name);
  n->layout = NULL;
  n->places = NULL;
  return n;
}

static void add_globals(Pack *p) {
  Program *prog = p->program;
  for (int i = 0; i < prog->params.len; i++)
    if (prog->params.data[i].kind == PARAM_TENSOR)
      prog->params.data[i].buf = add(p, prog->params.data[i].buf);
  for (int i = 0; i < prog->workspaces.len; i++)
    prog->workspaces.data[i] = add(p, prog->workspaces.data[i]);
}

static void add_tiles(Pack *p, Kernel *k) {
  for (int i = 0; i < k->buffers.len; i++) k->buffers.data[i] = add(p, k->buffers.data[i]);
  for (int i = 0; i < k->buffers.len; i++) {
    Buffer *b = k->buffers.data[i], *base = b->base ? pack_bytes(p, b->base) : NULL;
    if (base) b->base = base;
  }
}

void pass_pack(Program *prog, PassCtx *c) {
  Pack p = {.c = c, .arena = c->arena, .program = prog};
  for (int i = 0; i < prog->kernels.len && !diag_errors(c->diags); i++) {
    Kernel *k = prog->kernels.data[i];
    p.facts = facts_new(c->arena, prog, k);
    if (!i) add_globals(&p);
    add_tiles(&p, k);
    if (!p.packed.len || diag_errors(c->diags)) continue;
    p.facts = facts_new(c->arena, prog, k); // what the launcher checks
    p.uniform = uniform_new(c->arena, k);
    k->body = walk_block(c->arena, pack_stmt(&p, k->body));
  }
}
