// Products of 8-bit operands that wgmma could multiply but for one that does not lie along K, where
// the other one cannot be in shared memory along K: the operand is turned into a tile of its own
// first. What that takes is little beside what mma.sync takes more.
// SPDX-License-Identifier: MIT
#include "passes/crew.h"
#include "passes/plan_internal.h"

typedef struct {
  PassCtx *c;
  const Program *program;
  Kernel *kernel;
  Crews *crews; // made for the first product that asks
} Turns;

// The product that it would be with operand i (0: A) in a tile that lies along K; the tile is new.
static Stmt *turned(const Turns *t, const Stmt *s, int i) {
  Arena *a = t->c->arena;
  Stmt *x = arena_copy(a, s, sizeof *s);
  const Region *r = s->u.op.arg[i].region;
  Expr *shape[2] = {r->extent[r->n - 1], r->extent[r->n - 2]};
  Buffer *b = buf_new(a, arena_printf(a, "%s_turned", r->buf->name), r->buf->dtype, SC_SHARED,
                      shape, 2, r->buf->span);
  b->offset = -1;
  x->u.op.arg[i].region = region_whole(a, b);
  x->u.op.arg[op_arg(OP_GEMM, i ? "transb" : "transa")].i = i;
  return x;
}

static bool by_wgmma(const Turns *t, const Stmt *s) {
  PlanGemm g = {.c = s->u.op.arg[2].region->buf->dtype};
  int64_t M, N, K;
  plan_gemm_dims(s, &M, &N, &K);
  g.M = (int)M, g.N = (int)N, g.K = (int)K;
  return !plan_wgmma(t->c, t->kernel, s, &g) && g.wgmma;
}

// dst[j, i] = src[i, j]
static Stmt *turn(Arena *a, const Region *src, const Region *dst, Span span) {
  Var *var[2];
  Expr *zero[2], *to[2], **from = arena_copy(a, src->min, sizeof *from * (size_t)src->n);
  for (int i = 0; i < 2; i++) {
    var[i] = var_new(a, i ? "j" : "i", DT_INDEX, VAR_LOOP, span);
    zero[i] = ex_index(a, 0);
    Expr **index = &from[src->n - 2 + i];
    *index = ex_add(a, *index, ex_var(a, var[i]));
    to[1 - i] = ex_var(a, var[i]);
  }
  Stmt *body = st_block(a, span);
  st_add(a, body, st_store(a, dst->buf, to, 2, ex_load(a, src->buf, from, src->n), span));
  return st_for_n(a, LOOP_PARALLEL, 2, var, zero, src->extent + src->n - 2, body, span);
}

static Stmt *replace(void *ctx, Stmt *s) {
  Turns *t = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return s;
  const Arg *arg = s->u.op.arg;
  const Region *x[2] = {arg[0].region, arg[1].region};
  bool ta = arg[op_arg(OP_GEMM, "transa")].i, tb = arg[op_arg(OP_GEMM, "transb")].i;
  bool a_shared = x[0]->buf->scope == SC_SHARED, b_shared = x[1]->buf->scope == SC_SHARED;
  for (int i = 0; i < 2; i++)
    if (dt_bits(x[i]->buf->dtype) != 8) return s;
  if (tb || !b_shared || ta != a_shared) return s; // one across K may be loaded
  if (!t->crews) t->crews = crews_new(t->c->arena, t->kernel);
  if (!crew_is_all(t->kernel, crews_at(t->crews, s))) return s;
  int64_t M, N, K;
  plan_gemm_dims(s, &M, &N, &K);
  bool a_first = ta && M < N; // the smaller one
  int order[] = {!a_first, a_first};
  for (int n = 0; n < (ta ? 2 : 1); n++) {
    int i = order[n];
    Stmt *with = turned(t, s, i);
    if (!by_wgmma(t, with)) continue;
    Arena *a = t->c->arena;
    Region *tile = with->u.op.arg[i].region;
    vec_push(a, &t->kernel->buffers, tile->buf);
    Stmt *out = st_block(a, s->span);
    st_add(a, out, turn(a, x[i], tile, s->span));
    st_add(a, out, with);
    diag_remark(t->c->diags, s->span, "gemm", "for wgmma %s is turned in shared memory first",
                x[i]->buf->name);
    thrift_turned(t->c, t->program, t->kernel);
    return out;
  }
  return s;
}

void gemm_turn(PassCtx *c, const Program *p, Kernel *k) {
  Turns t = {c, p, k, NULL};
  if (!c->target->bulk || !thrift_turns(c, p, k)) return;
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, replace, &t));
}
