// Plans of copies: how wide an access the facts prove, which edges need guards, whether cp.async
// can carry it.
// SPDX-License-Identifier: MIT
#include "passes/plan_internal.h"

Expr *plan_stride(Arena *a, const Buffer *b, int d) {
  if (b->strides) return b->strides[d];
  Expr *s = ex_index(a, 1);
  for (int i = d + 1; i < b->ndim; i++) s = ex_mul(a, s, b->shape[i]);
  return s;
}

static bool divides(Facts *f, Expr *x, int64_t w) { return facts_divisor(f, x) % w == 0; }

// The last dimension that the copy walks; -1 when it moves one element.
static int inner_dim(const Region *r) {
  for (int d = r->n - 1; d >= 0; d--)
    if (!ex_is(r->extent[d], 1)) return d;
  return -1;
}

// Does every group of w elements along dimension `inner` start at a multiple of w elements?
static bool aligned(Arena *a, Facts *f, const Region *r, int inner, int64_t w) {
  for (int d = 0; d < r->n; d++) {
    Expr *stride = plan_stride(a, r->buf, d);
    if (d == inner) {
      if (!ex_is(facts_simplify(f, stride), 1)) return false;
      if (!divides(f, r->min[d], w) || !divides(f, r->extent[d], w)) return false;
    } else if (ex_is(r->extent[d], 1)) {
      if (!divides(f, ex_mul(a, r->min[d], stride), w)) return false;
    } else if (!divides(f, stride, w)) {
      return false;
    }
  }
  return true;
}

int plan_vec_bytes(Arena *a, Facts *f, const Region *r) {
  int bits = dt_bits(r->buf->dtype), inner = inner_dim(r);
  int least = bits < 8 ? 8 : bits;
  if (inner < 0) return least / 8;
  for (int bytes = 16; bytes * 8 > least; bytes /= 2) {
    if (r->buf->scope == SC_GLOBAL && r->buf->align % bytes) continue;
    if (aligned(a, f, r, inner, bytes * 8 / bits)) return bytes;
  }
  return least / 8;
}

uint32_t plan_guards(Arena *a, Facts *f, const Region *r) {
  uint32_t mask = 0;
  for (int d = 0; d < r->n && d < 32; d++) {
    Expr *end = ex_add(a, r->min[d], r->extent[d]);
    Expr *low = ex_bin(a, BIN_LE, ex_index(a, 0), r->min[d]);
    Expr *high = ex_bin(a, BIN_LE, end, r->buf->shape[d]);
    if (!facts_prove(f, low) || !facts_prove(f, high)) mask |= 1u << d;
  }
  return mask;
}

bool plan_zero_safe(const Buffer *b) {
  if (!b->safe) return true;
  if (b->safe->kind == EX_FLOAT) return b->safe->u.f == 0 && !__builtin_signbit(b->safe->u.f);
  return ex_is(b->safe, 0);
}

const char *plan_bytes_why(const Region *src, const Region *dst) {
  if (src->buf->scope != SC_GLOBAL || dst->buf->scope != SC_SHARED)
    return "it does not go from global to shared memory";
  if (src->buf->dtype != dst->buf->dtype) return "it converts the element type";
  if (!plan_zero_safe(src->buf)) return "out-of-bounds elements read as a value other than zero";
  return NULL;
}

static bool matters(const Region *r) {
  return r->buf->scope == SC_GLOBAL || r->buf->scope == SC_SHARED;
}

PlanCopy *plan_one_copy(Plan *p, Arena *a, Facts *f, Stmt *s) {
  Region *src = s->u.op.arg[op_arg(OP_COPY, "src")].region;
  Region *dst = s->u.op.arg[op_arg(OP_COPY, "dst")].region;
  PlanCopy *c = NEW(a, PlanCopy);
  int wide = 16;
  if (matters(src)) wide = plan_vec_bytes(a, f, src);
  if (matters(dst)) {
    int w = plan_vec_bytes(a, f, dst);
    wide = w < wide ? w : wide;
  }
  c->vec_bytes = wide;
  if (src->buf->scope == SC_GLOBAL) c->guard = plan_guards(a, f, src);
  else if (dst->buf->scope == SC_GLOBAL) c->guard = plan_guards(a, f, dst);
  c->why = plan_bytes_why(src, dst);
  if (!c->why && c->vec_bytes < 4) c->why = "accesses of at least 4 bytes are not proved aligned";
  c->async_able = !c->why;
  plan_set(p, s, c);
  return c;
}

// "A is not known to be a multiple of 8 elements": the first reason that keeps the width below 16.
static const char *width_reason(Arena *a, Facts *f, const Region *r, int got) {
  int bits = dt_bits(r->buf->dtype), inner = inner_dim(r), want = got * 2;
  int64_t w = want * 8 / bits;
  if (inner < 0 || want > 16) return NULL;
  if (r->buf->scope == SC_GLOBAL && r->buf->align % want)
    return arena_printf(a, "%s is declared aligned to %d bytes", r->buf->name, r->buf->align);
  for (int d = 0; d < r->n; d++) {
    Expr *stride = plan_stride(a, r->buf, d);
    if (d == inner && !ex_is(facts_simplify(f, stride), 1))
      return arena_printf(a, "the innermost extent of %s is not contiguous", r->buf->name);
    Expr *need = d != inner ? stride : divides(f, r->min[d], w) ? r->extent[d] : r->min[d];
    if (d != inner && ex_is(r->extent[d], 1)) need = ex_mul(a, r->min[d], stride);
    if (!divides(f, need, w))
      return arena_printf(a, "not proved: %s is a multiple of %lld", ir_expr_str(a, need),
                          (long long)w);
  }
  return NULL;
}

// TMA leaves out what is outside of the tensor.
static void remark_tma(PassCtx *c, const Stmt *s, const PlanCopy *plan) {
  diag_remark(c->diags, s->span, "copy", "by TMA");
  if (plan->guard)
    diag_remark(c->diags, s->span, "guard", "none: TMA %s outside of %s",
                plan->store ? "stores nothing" : "reads zeros",
                s->u.op.arg[plan->store].region->buf->name);
}

static void remark_width(PassCtx *c, Facts *f, const Stmt *s, const PlanCopy *plan) {
  const char *why = NULL;
  for (int i = 0; i < 2 && !why; i++) {
    const Region *r = s->u.op.arg[i].region;
    if (matters(r) && plan_vec_bytes(c->arena, f, r) == plan->vec_bytes)
      why = width_reason(c->arena, f, r, plan->vec_bytes);
  }
  const char *how = plan->async ? "cp.async" : "accesses";
  if (plan->vec_bytes < 16 && why)
    diag_remark(c->diags, s->span, "copy", "%d-byte %s; %s", plan->vec_bytes, how, why);
  else diag_remark(c->diags, s->span, "copy", "%d-byte %s", plan->vec_bytes, how);
}

void plan_copy_remarks(PassCtx *c, Facts *f, const Stmt *s, const PlanCopy *plan) {
  const Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  if (plan->channel || plan->store) {
    remark_tma(c, s, plan);
    return;
  }
  if (matters(src) || matters(dst)) remark_width(c, f, s, plan);
  const Region *r = src->buf->scope == SC_GLOBAL ? src : dst;
  if (r->buf->scope != SC_GLOBAL) return;
  if (!plan->guard)
    diag_remark(c->diags, s->span, "guard", "none: %s is inside its tensor", r->buf->name);
  for (int d = 0; d < r->n; d++) {
    if (!(plan->guard >> d & 1)) continue;
    Expr *end = facts_simplify(f, ex_add(c->arena, r->min[d], r->extent[d]));
    bool low = facts_prove(f, ex_bin(c->arena, BIN_LE, ex_index(c->arena, 0), r->min[d]));
    if (low)
      diag_remark(c->diags, s->span, "guard", "dimension %d of %s: not proved: %s <= %s", d,
                  r->buf->name, ir_expr_str(c->arena, end),
                  ir_expr_str(c->arena, r->buf->shape[d]));
    else
      diag_remark(c->diags, s->span, "guard", "dimension %d of %s: not proved: 0 <= %s", d,
                  r->buf->name, ir_expr_str(c->arena, r->min[d]));
  }
}
