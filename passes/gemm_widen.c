// Gemms of 8-bit floats where the target has no instruction for them: float16 holds each of their
// values, so the operands are converted to tiles of that, and the products are the same.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

typedef struct {
  PassCtx *c;
  Kernel *kernel;
} Widen;

static bool is_fp8(DType t) { return t == DT_E4M3 || t == DT_E5M2; }

// The operand's matrix as a tile of float16; the conversion goes to `out`.
static Region *widened(Widen *w, Region *r, Span span, Stmt *out) {
  Arena *a = w->c->arena;
  if (!is_fp8(r->buf->dtype) || r->n < 2) return r;
  Expr *shape[2] = {r->extent[r->n - 2], r->extent[r->n - 1]};
  const char *name = arena_printf(a, "%s_f16", r->buf->name);
  Buffer *b = buf_new(a, name, DT_F16, r->buf->scope, shape, 2, r->buf->span);
  b->offset = -1;
  vec_push(a, &w->kernel->buffers, b);
  Region *whole = region_whole(a, b);
  st_add(a, out, st_op(a, OP_COPY, span, r, whole, (int64_t)0));
  return whole;
}

static Stmt *widen(void *ctx, Stmt *s) {
  Widen *w = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return s;
  Arg *arg = s->u.op.arg;
  DType p = arg[0].region->buf->dtype, q = arg[1].region->buf->dtype;
  DType acc = arg[2].region->buf->dtype;
  int m, n, k;
  if (!is_fp8(p) || !is_fp8(q) || plan_mma(w->c->target, p, q, acc, &m, &n, &k)) return s;
  if (!plan_mma(w->c->target, DT_F16, DT_F16, acc, &m, &n, &k)) return s;
  Stmt *out = st_block(w->c->arena, s->span);
  for (int i = 0; i < 2; i++) arg[i].region = widened(w, arg[i].region, s->span, out);
  diag_remark(w->c->diags, s->span, "gemm", "%s has no instruction for %s: multiplied as float16",
              w->c->target->name, dt_name(p));
  st_add(w->c->arena, out, s);
  return out;
}

void gemm_widen(PassCtx *c, Kernel *k) {
  Widen w = {c, k};
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, widen, &w));
}
