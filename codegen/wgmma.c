// wgmma as calls of device helpers, one for each shape and types, whose text is made here: there
// are 32 widths of 20 products, and their registers are listed one by one.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

// One instruction, as its helper needs it.
typedef struct {
  DType a, b, d;
  int n, k;
  bool rs; // a in registers
} Shape;

/* ------------------------------------------------------------------ the helper's text */

static bool is_tf32(DType t) { return t == DT_F32 || t == DT_TF32; }

static const char *short_name(DType t) { return is_tf32(t) ? "tf32" : cg_short(t); }

// As PTX writes it.
static const char *ptx_name(DType t) {
  return t == DT_I8 ? "s8" : t == DT_I32 ? "s32" : short_name(t);
}

static const char *accumulator_name(DType t) { return t == DT_F32 ? "f32" : ptx_name(t); }

static const char *helper_name(Arena *a, const Shape *s) {
  return arena_printf(a, "wgmma_m64n%dk%d_%s_%s_%s%s", s->n, s->k,
                      s->d == DT_F32 ? "f32" : cg_short(s->d), short_name(s->a), short_name(s->b),
                      s->rs ? "_rs" : "");
}

// 32-bit registers of the accumulators.
static int registers(const Shape *s) { return s->n / 2 * dt_bits(s->d) / 32; }

static bool has_signs(const Shape *s) { return s->d != DT_I32; }
static bool has_trans(const Shape *s) { return dt_bits(s->a) == 16; }

// A list of n items made from their numbers, broken every `per` of them.
static void list(Buf *out, int n, int per, const char *item, const char *between) {
  for (int i = 0; i < n; i++) {
    buf_printf(out, item, i);
    if (i + 1 < n) buf_puts(out, (i + 1) % per ? ", " : between);
  }
}

static void head(const Shape *s, const char *name, Buf *out) {
  buf_printf(out,
             "// d = (scale ? d : 0) + a * b, 64 x %d x %d of one warpgroup, asynchronously.\n",
             s->n, s->k);
  buf_printf(out, "template <%suint32_t HiB", s->rs ? "" : "uint32_t HiA, ");
  if (has_signs(s)) buf_puts(out, ", int SignA = 1, int SignB = 1");
  if (has_trans(s)) buf_puts(out, s->rs ? ", int TransB = 0" : ", int TransA = 0, int TransB = 0");
  buf_printf(out, ">\nstatic __device__ __forceinline__ void tlc_%s(\n", name);
  if (s->rs) buf_printf(out, "    %s *d, const %s *a, ", cg_type(s->d), cg_type(s->a));
  else buf_printf(out, "    %s *d, uint32_t a, ", cg_type(s->d));
  buf_puts(out, "uint32_t b, bool scale) {\n#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n");
  if (s->d == DT_F16)
    buf_printf(out, "  uint32_t r[%d];\n  memcpy(r, d, sizeof r);\n", registers(s));
  if (s->rs) buf_puts(out, "  uint32_t ra[4];\n  memcpy(ra, a, 16);\n");
}

// The instruction, with the words of descriptors and the predicate made from operands.
static void instruction(const Shape *s, Buf *out) {
  int at = registers(s), a = at, immediates = 2 * has_signs(s) + has_trans(s) * (s->rs ? 1 : 2);
  at += s->rs ? 4 : 2;
  buf_printf(out, "  asm volatile(\n      \"{ .reg .pred p; .reg .b64 %sb; \"\n      \"",
             s->rs ? "" : "a, ");
  if (!s->rs) buf_printf(out, "mov.b64 a, {%%%d, %%%d}; ", a, a + 1);
  buf_printf(out, "mov.b64 b, {%%%d, %%%d}; setp.ne.b32 p, %%%d, 0; \"\n", at, at + 1, at + 2);
  buf_printf(out, "      \"wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s \"\n      \"{", s->n,
             s->k, accumulator_name(s->d), ptx_name(s->a), ptx_name(s->b));
  list(out, registers(s), 12, "%%%d", ", \"\n      \"");
  buf_puts(out, "}, \"\n      \"");
  if (s->rs) buf_printf(out, "{%%%d, %%%d, %%%d, %%%d}, b, p", a, a + 1, a + 2, a + 3);
  else buf_puts(out, "a, b, p");
  for (int i = 0; i < immediates; i++) buf_printf(out, ", %%%d", at + 3 + i);
  buf_puts(out, "; }\"\n");
}

static void operands(const Shape *s, Buf *out) {
  const char *item = s->d == DT_F16   ? "\"+r\"(r[%d])"
                     : s->d == DT_I32 ? "\"+r\"(d[%d])"
                                      : "\"+f\"(d[%d])";
  buf_puts(out, "      : ");
  list(out, registers(s), 6, item, ",\n        ");
  buf_puts(out, "\n      : ");
  if (s->rs) buf_puts(out, "\"r\"(ra[0]), \"r\"(ra[1]), \"r\"(ra[2]), \"r\"(ra[3]), ");
  else buf_puts(out, "\"r\"(a), \"n\"(HiA), ");
  buf_puts(out, "\"r\"(b), \"n\"(HiB), \"r\"(int(scale))");
  if (has_signs(s)) buf_puts(out, ",\n        \"n\"(SignA), \"n\"(SignB)");
  if (has_trans(s)) buf_puts(out, s->rs ? ", \"n\"(TransB)" : ", \"n\"(TransA), \"n\"(TransB)");
  buf_puts(out, ");\n");
}

static const char *helper(Cg *c, const Shape *s) {
  const char *name = helper_name(c->arena, s);
  Buf text = {0};
  head(s, name, &text);
  instruction(s, &text);
  operands(s, &text);
  if (s->d == DT_F16) buf_puts(&text, "  memcpy(d, r, sizeof r);\n");
  buf_puts(&text, "#else\n  __trap(); // built for another target than sm_90a\n#endif\n}\n");
  needs_text(c->needs, name, buf_str(&text));
  buf_free(&text);
  return name;
}

/* ------------------------------------------------------------------ calls */

static const Arg *arg(const Stmt *s, const char *name) {
  return &s->u.op.arg[op_arg(s->u.op.op, name)];
}

static uint32_t constant(const Expr *x) {
  int64_t v;
  if (!ex_const(x, &v)) die("a descriptor's high word is no constant");
  return (uint32_t)v;
}

// Template arguments: high words, then signs and transpositions up to the last that is not usual.
static void immediates(Cg *c, const Stmt *s, const Shape *x) {
  int value[4], n = 0, needed = 0;
  if (has_signs(x)) {
    value[n++] = arg(s, "neg_a")->i ? -1 : 1;
    value[n++] = arg(s, "neg_b")->i ? -1 : 1;
  }
  if (has_trans(x) && !x->rs) value[n++] = (int)arg(s, "trans_a")->i;
  if (has_trans(x)) value[n++] = (int)arg(s, "trans_b")->i;
  for (int i = 0; i < n; i++)
    if (value[i] != (i < 2)) needed = i + 1;
  cg_text(c, "<");
  if (!x->rs) cg_text(c, "0x%08x, ", constant(arg(s, "a_hi")->expr));
  cg_text(c, "0x%08x", constant(arg(s, "b_hi")->expr));
  for (int i = 0; i < needed; i++) cg_text(c, ", %d", value[i]);
  cg_text(c, ">");
}

static void wgmma(Cg *c, const Stmt *s) {
  const Region *a = arg(s, "a")->region, *d = arg(s, "d")->region;
  Shape x = {.a = a->buf->dtype, .d = d->buf->dtype, .rs = a->buf->scope == SC_LOCAL};
  x.b = arg(s, "b")->region->buf->dtype;
  x.n = (int)arg(s, "n")->i;
  x.k = 256 / dt_bits(x.a);
  cg_begin(c);
  cg_text(c, "tlc_%s", helper(c, &x));
  immediates(c, s, &x);
  cg_text(c, "(");
  cg_address(c, d);
  cg_text(c, ", ");
  if (x.rs) cg_address(c, a);
  else cg_value(c, arg(s, "a_lo")->expr, DT_U32, P_TERNARY);
  cg_text(c, ", ");
  cg_value(c, arg(s, "b_lo")->expr, DT_U32, P_TERNARY);
  cg_text(c, ", ");
  cg_expr(c, arg(s, "scale_d")->expr, P_TERNARY);
  cg_text(c, ");");
  cg_end(c);
}

static void descriptor(Cg *c, const Stmt *s) {
  const Region *dst = arg(s, "dst")->region;
  needs_add(c->needs, "wgmma_desc");
  cg_begin(c);
  cg_expr(c, ex_load(c->arena, dst->buf, dst->min, 1), P_POSTFIX);
  cg_text(c, " = tlc_wgmma_desc(");
  cg_address(c, arg(s, "tile")->region);
  cg_text(c, ", %d);", (int)arg(s, "lbo")->i);
  cg_end(c);
}

static void pin(Cg *c, const Region *r) {
  if (!r) return;
  needs_add(c->needs, "wgmma_pin");
  cg_begin(c);
  cg_text(c, "tlc_wgmma_pin<%d>(", cg_count(r));
  cg_address(c, r);
  cg_text(c, ");");
  cg_end(c);
}

bool cg_wgmma_op(Cg *c, const Stmt *s) {
  switch (s->u.op.op) {
  case OP_WGMMA_DESC: descriptor(c, s); return true;
  case OP_WGMMA: wgmma(c, s); return true;
  case OP_WGMMA_FENCE:
    pin(c, arg(s, "d")->region);
    pin(c, arg(s, "a")->region);
    needs_add(c->needs, "wgmma_fence");
    cg_line(c, "tlc_wgmma_fence();");
    return true;
  case OP_WGMMA_COMMIT:
    needs_add(c->needs, "wgmma_commit");
    cg_line(c, "tlc_wgmma_commit();");
    return true;
  case OP_WGMMA_KEEP:
    needs_add(c->needs, "wgmma_keep");
    cg_begin(c);
    cg_text(c, "tlc_wgmma_keep<%d>(", cg_count(arg(s, "a")->region));
    cg_address(c, arg(s, "a")->region);
    cg_text(c, ");");
    cg_end(c);
    return true;
  case OP_WGMMA_WAIT:
    needs_add(c->needs, "wgmma_wait");
    cg_line(c, "tlc_wgmma_wait<%d>();", (int)arg(s, "pending")->i);
    pin(c, arg(s, "d")->region);
    pin(c, arg(s, "a")->region);
    return true;
  default: return false;
  }
}
