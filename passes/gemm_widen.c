// Gemms of narrow types where the target has no instruction for them: a wider type holds each of
// their values, so the operands are converted to tiles of that, and the products are the same.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

typedef struct {
  PassCtx *c;
  Kernel *kernel;
} Widen;

// Types that hold all values of t, the best first; how many. Tensor cores add products of 8-bit
// floats with fewer bits than those of float16: only beside such an operand is fp4 made one.
static int holders(DType t, DType other, DType out[2]) {
  bool fp8 = other == DT_E4M3 || other == DT_E5M2;
  switch (t) {
  case DT_I4: out[0] = DT_I8; return 1;
  case DT_U4: out[0] = DT_U8; return 1;
  case DT_E2M1: out[0] = fp8 ? DT_E4M3 : DT_F16, out[1] = DT_F16; return 2;
  case DT_E4M3:
  case DT_E5M2: out[0] = DT_F16; return 1;
  default: return 0;
  }
}

// The operand's matrix as a tile of another type; the conversion goes to `out`.
static Region *widened(Widen *w, Region *r, DType t, Span span, Stmt *out) {
  Arena *a = w->c->arena;
  if (r->buf->dtype == t || r->n < 2) return r;
  Expr *shape[2] = {r->extent[r->n - 2], r->extent[r->n - 1]};
  static const char *const suffix[DT_COUNT] = {
      [DT_F16] = "f16", [DT_E4M3] = "e4m3", [DT_I8] = "i8", [DT_U8] = "u8"};
  const char *name = arena_printf(a, "%s_%s", r->buf->name, suffix[t]);
  Buffer *b = buf_new(a, name, t, r->buf->scope, shape, 2, r->buf->span);
  b->offset = -1;
  vec_push(a, &w->kernel->buffers, b);
  Region *whole = region_whole(a, b);
  st_add(a, out, st_op(a, OP_COPY, span, r, whole, (int64_t)0));
  return whole;
}

// Is there an instruction once the operands, of types p and q, are of types that hold theirs?
static bool choose(const Target *t, DType p, DType q, DType acc, DType to[2]) {
  DType ps[3] = {p}, qs[3] = {q};
  int np = 1 + holders(p, q, ps + 1), nq = 1 + holders(q, p, qs + 1), m, n, k;
  if (np == 1 || nq == 1) return false;
  for (int i = 0; i < np; i++)
    for (int j = 0; j < nq; j++) {
      to[0] = ps[i], to[1] = qs[j];
      if (plan_mma(t, to[0], to[1], acc, &m, &n, &k)) return true;
    }
  return false;
}

static Stmt *widen(void *ctx, Stmt *s) {
  Widen *w = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return s;
  Arg *arg = s->u.op.arg;
  DType p = arg[0].region->buf->dtype, q = arg[1].region->buf->dtype;
  DType acc = arg[2].region->buf->dtype;
  DType to[2];
  if (!choose(w->c->target, p, q, acc, to) || (to[0] == p && to[1] == q)) return s;
  Stmt *out = st_block(w->c->arena, s->span);
  for (int i = 0; i < 2; i++) arg[i].region = widened(w, arg[i].region, to[i], s->span, out);
  diag_remark(w->c->diags, s->span, "gemm", "%s has no instruction for %s: multiplied as %s",
              w->c->target->name, dt_name(to[0] == p ? q : p), dt_name(to[0] == p ? to[1] : to[0]));
  st_add(w->c->arena, out, s);
  return out;
}

void gemm_widen(PassCtx *c, Kernel *k) {
  Widen w = {c, k};
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, widen, &w));
}
