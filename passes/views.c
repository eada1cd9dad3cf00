// Views, buffers that name another's storage: their accesses become accesses of that storage, once
// everything is flat. A view's element is element for element the base's where the types are as
// wide; else a part of one, or several.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"

typedef struct {
  Arena *arena;
  PassCtx *c;
} Views;

static DType word(DType t) {
  switch (dt_bits(t)) {
  case 8: return DT_U8;
  case 16: return DT_U16;
  case 32: return DT_U32;
  case 64: return DT_U64;
  default: die("no integer as wide as %s", dt_name(t));
  }
}

static Expr *bits_of(Arena *a, Expr *x) { return ex_bitcast(a, word(x->type), x); }

static Expr *shifted(Arena *a, BinOp op, Expr *x, Expr *by) {
  return ex_bin(a, op, x, ex_cast(a, x->type, by));
}

// The view's element at `at`, read from the base.
static Expr *read_view(Arena *a, const Buffer *v, Expr *at) {
  Buffer *b = v->base;
  int64_t vb = dt_bits(v->dtype), bb = dt_bits(b->dtype);
  if (vb == bb) return ex_bitcast(a, v->dtype, ex_load(a, b, &at, 1));
  if (vb < bb) { // a part of one
    Expr *ratio = ex_index(a, bb / vb), *of = ex_floordiv(a, at, ratio);
    Expr *from = ex_mul(a, ex_floormod(a, at, ratio), ex_index(a, vb));
    Expr *x = shifted(a, BIN_SHR, bits_of(a, ex_load(a, b, &of, 1)), from);
    return ex_bitcast(a, v->dtype, ex_cast(a, word(v->dtype), x));
  }
  Expr *all = NULL;
  for (int64_t i = 0; i < vb / bb; i++) {
    Expr *of = ex_add(a, ex_mul(a, at, ex_index(a, vb / bb)), ex_index(a, i));
    Expr *x = ex_cast(a, word(v->dtype), bits_of(a, ex_load(a, b, &of, 1)));
    x = shifted(a, BIN_SHL, x, ex_index(a, i * bb));
    all = all ? ex_bin(a, BIN_BITOR, all, x) : x;
  }
  return ex_bitcast(a, v->dtype, all);
}

static Expr *load(void *ctx, Expr *x) {
  Views *w = ctx;
  if (x->kind != EX_LOAD || !x->u.load.buf->base) return x;
  return ex_at(read_view(w->arena, x->u.load.buf, x->u.load.idx[0]), x->span);
}

static void slot(void *ctx, Expr **x) {
  Views *w = ctx;
  if (*x) *x = walk_expr(w->arena, *x, load, w);
}

static void refuse(Views *w, const Buffer *v, const char *what, Span at) {
  const char *text = arena_printf(w->arena, "%s %s, which names %s of type %s,", what, v->name,
                                  v->base->name, dt_name(v->base->dtype));
  diag_report(w->c->diags, DIAG_NOT_LOWERED, at, text, w->c->target->name);
}

static Stmt *store(Views *w, Stmt *s) {
  Arena *a = w->arena;
  Buffer *v = s->u.store.buf, *b = v->base;
  int64_t vb = dt_bits(v->dtype), bb = dt_bits(b->dtype);
  Expr *value = ex_cast(a, v->dtype, s->u.store.value), *at = s->u.store.idx[0];
  if (vb < bb) {
    refuse(w, v, "a store to", s->span);
    return s;
  }
  if (vb == bb) return st_store(a, b, &at, 1, ex_bitcast(a, b->dtype, value), s->span);
  Expr *bits = bits_of(a, value);
  Stmt *out = st_block(a, s->span);
  Var *x = var_new(a, "bits", bits->type, VAR_LET, s->span);
  st_add(a, out, st_let(a, x, bits, s->span));
  for (int64_t i = 0; i < vb / bb; i++) {
    Expr *of = ex_add(a, ex_mul(a, at, ex_index(a, vb / bb)), ex_index(a, i));
    Expr *part = shifted(a, BIN_SHR, ex_var(a, x), ex_index(a, i * bb));
    part = ex_bitcast(a, b->dtype, ex_cast(a, word(b->dtype), part));
    st_add(a, out, st_store(a, b, &of, 1, part, s->span));
  }
  return out;
}

static Stmt *replace(void *ctx, Stmt *s) {
  Views *w = ctx;
  st_exprs(s, slot, w);
  if (s->kind == ST_STORE && s->u.store.buf->base) return store(w, s);
  if (s->kind != ST_OP) return s;
  walk_own(w->arena, s);
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    Region *r = arg_is_region(info->arg[i].kind) ? s->u.op.arg[i].region : NULL;
    if (!r || !r->buf->base) continue;
    if (r->buf->dtype != r->buf->base->dtype) refuse(w, r->buf, "an access to", s->span);
    r->buf = r->buf->base;
  }
  return s;
}

void views_replace(PassCtx *c, Kernel *k) {
  Views w = {c->arena, c};
  int n = 0;
  for (int i = 0; i < k->buffers.len; i++) n += k->buffers.data[i]->base != NULL;
  if (!n) return;
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, replace, &w));
  n = 0;
  for (int i = 0; i < k->buffers.len; i++)
    if (!k->buffers.data[i]->base) k->buffers.data[n++] = k->buffers.data[i];
  k->buffers.len = n;
}

typedef struct {
  const Buffer *buf;
  bool found;
} Given;

static void find_given(void *ctx, Stmt *s) {
  Given *g = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_EXTERN) return;
  for (int i = op_arg(OP_EXTERN, "p0"); i <= op_arg(OP_EXTERN, "p3"); i++)
    g->found |= s->u.op.arg[i].region && s->u.op.arg[i].region->buf == g->buf;
}

bool views_named(const Kernel *k, const Buffer *b) {
  if (b->base) return true;
  Given g = {b, false};
  st_walk(k->body, find_given, &g);
  if (g.found) return true;
  for (int i = 0; i < k->buffers.len; i++)
    if (k->buffers.data[i]->base == b) return true;
  return false;
}
