// Checks of gemms: types, shapes and a split over warps, each with the nearest legal value.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

typedef struct {
  const char *name;
  const Region *r;
  int64_t rows, cols;
} Matrix;

static Matrix matrix(const char *name, const Region *r) {
  Matrix m = {name, r, -1, -1};
  if (r->n < 2) return m;
  if (!ex_const(r->extent[r->n - 2], &m.rows)) m.rows = -1;
  if (!ex_const(r->extent[r->n - 1], &m.cols)) m.cols = -1;
  return m;
}

static const char *scope_words(Scope s) {
  static const char *const words[] = {"a global tensor", "a shared tile", "a fragment",
                                      "a local array"};
  return words[s];
}

static bool operand_ok(Check *k, const Stmt *s, const Matrix *m) {
  const Buffer *b = m->r->buf;
  bool is_c = m->name[0] == 'C';
  const char *must = is_c ? "a whole fragment" : "a tile in shared memory or a fragment";
  const char *is = scope_words(b->scope);
  if (m->rows < 0 || m->cols < 0) {
    must = "a matrix of constant extents";
    is = m->r->n < 2 ? "of one dimension" : "of run-time extents";
  } else if (is_c && b->scope == SC_FRAGMENT) {
    if (region_is_whole(m->r)) return true;
    is = "a part of a fragment";
  } else if (b->scope == SC_SHARED && !is_c) {
    int64_t one;
    for (int d = 0; d < m->r->n - 2; d++)
      if (!ex_const(m->r->extent[d], &one) || one != 1) goto bad;
    return true;
  } else if (b->scope == SC_FRAGMENT) {
    if (region_is_whole(m->r)) return true;
    is = "a part of a fragment";
    must = "a whole fragment or a tile in shared memory";
  }
bad:
  diag_report(k->c->diags, DIAG_GEMM_OPERAND, s->span, b->name, is, m->name, must);
  note_buffer(k->c, k->program, b);
  return false;
}

static bool shape_ok(Check *k, const Stmt *s, const Matrix *m, int64_t rows, int64_t cols,
                     const Matrix *by) {
  if (m->rows == rows && m->cols == cols) return true;
  diag_report(k->c->diags, DIAG_GEMM_SHAPE, s->span, m->r->buf->name, (long long)m->rows,
              (long long)m->cols, by->r->buf->name, (long long)by->rows, (long long)by->cols,
              (long long)rows, (long long)cols);
  note_buffer(k->c, k->program, m->r->buf);
  note_buffer(k->c, k->program, by->r->buf);
  return false;
}

// Types that gemm_widen makes others of.
static bool four_bits(DType t) { return t == DT_I4 || t == DT_U4 || t == DT_E2M1; }

static const char *legal_types(Arena *arena, const Target *t, DType a) {
  int m, n, k;
  if (four_bits(a))
    return a == DT_E2M1 ? "float4_e2m1fn operands accumulate into float32 or float16"
                        : "int4 and uint4 operands, mixed at will, accumulate into int32";
  if (plan_mma(t, a, a, DT_I32, &m, &n, &k))
    return "int8 and uint8 operands, mixed at will, accumulate into int32";
  bool f32 = plan_mma(t, a, a, DT_F32, &m, &n, &k), f16 = plan_mma(t, a, a, DT_F16, &m, &n, &k);
  if (!f32) return "operands can be float16, bfloat16, float32 (as tfloat32), int8 and uint8";
  return arena_printf(arena, "two %s operands accumulate into %s", dt_name(a),
                      f16 ? "float32 or float16" : "float32");
}

static bool has_instruction(const Target *t, DType a, DType b) {
  static const DType into[] = {DT_F32, DT_F16, DT_I32, DT_F64};
  int m, n, k;
  for (size_t i = 0; i < LEN(into); i++)
    if (plan_mma(t, a, b, into[i], &m, &n, &k)) return true;
  return false;
}

// The first target with an instruction for these operands; NULL: none has one.
static const Target *with_instruction(DType a, DType b) {
  for (int i = 0; target_at(i); i++)
    if (has_instruction(target_at(i), a, b)) return target_at(i);
  return NULL;
}

static bool types_ok(Check *k, const Stmt *s, const Buffer *A, const Buffer *B, DType c) {
  int m, n, kk;
  const Target *t = k->c->target;
  DType a = A->dtype, b = B->dtype;
  if (plan_mma(t, a, b, c, &m, &n, &kk)) return true;
  const Target *other = with_instruction(a, b);
  bool known = (four_bits(a) || with_instruction(a, a)) && (four_bits(b) || with_instruction(b, b));
  bool alike = four_bits(a) && four_bits(b) && (a == DT_E2M1) == (b == DT_E2M1);
  if (!other && known && !alike) {
    diag_report(k->c->diags, DIAG_GEMM_MIXED, s->span, A->name, dt_name(a), B->name, dt_name(b));
    note_buffer(k->c, k->program, A);
    note_buffer(k->c, k->program, B);
    return false;
  }
  if (!other && !known)
    diag_report(k->c->diags, DIAG_GEMM_NO_TYPE, s->span, dt_name(with_instruction(a, a) ? b : a));
  else if (other && !has_instruction(t, a, b))
    diag_report(k->c->diags, DIAG_GEMM_ARCH, s->span, t->name, dt_name(a), other->name);
  else
    diag_report(k->c->diags, DIAG_GEMM_TYPES, s->span, t->name, dt_name(a), dt_name(b), dt_name(c),
                legal_types(k->c->arena, t, a));
  note_buffer(k->c, k->program, A);
  return false;
}

static int64_t nearest(int64_t x, int64_t to) {
  int64_t down = x / to * to, up = down + to;
  return down > 0 && x - down < up - x ? down : up;
}

static bool tile_ok(Check *k, const Stmt *s, const Buffer *c, int64_t M, int64_t N) {
  bool ok = true;
  struct {
    char axis;
    int64_t extent;
    int of;
  } rule[] = {{'M', M, 16}, {'N', N, 8}};
  for (int i = 0; i < 2; i++) {
    if (rule[i].extent > 0 && rule[i].extent % rule[i].of == 0) continue;
    diag_report(k->c->diags, DIAG_GEMM_TILE, s->span, rule[i].axis, (long long)rule[i].extent,
                rule[i].of, (long long)nearest(rule[i].extent, rule[i].of));
    note_buffer(k->c, k->program, c);
    ok = false;
  }
  return ok;
}

static void split_ok(Check *k, const Stmt *s, int64_t M, int64_t N) {
  int warps = k->threads / 32, wm, wn;
  GemmPolicy policy = (GemmPolicy)s->u.op.arg[op_arg(OP_GEMM, "policy")].i;
  if (plan_partition(policy, (int)M, (int)N, warps, &wm, &wn)) return;
  const char *advice = "no number of threads fits: use a larger tile";
  for (int away = 1; away < 32; away++) {
    int less = warps - away, more = warps + away, fit = 0;
    if (plan_partition(policy, (int)M, (int)N, less, &wm, &wn)) fit = less;
    else if (more <= 32 && plan_partition(policy, (int)M, (int)N, more, &wm, &wn)) fit = more;
    if (!fit) continue;
    advice = arena_printf(k->c->arena, "threads=%d fits", fit * 32);
    break;
  }
  diag_report(k->c->diags, DIAG_GEMM_SPLIT, s->span, (long long)M, (long long)N, warps, advice);
  note_launch(k->c, k->program, k->kernel);
}

void check_gemm(Check *k, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  bool ta = arg[op_arg(OP_GEMM, "transa")].i, tb = arg[op_arg(OP_GEMM, "transb")].i;
  Matrix a = matrix("A", arg[0].region), b = matrix("B", arg[1].region),
         c = matrix("C", arg[2].region);
  int threads = k->threads;
  if (threads % 32) {
    diag_report(k->c->diags, DIAG_GEMM_THREADS, s->span, threads, (int)nearest(threads, 32));
    note_launch(k->c, k->program, k->kernel);
  }
  bool ok = operand_ok(k, s, &a);
  ok = operand_ok(k, s, &b) && ok;
  ok = operand_ok(k, s, &c) && ok;
  const Matrix *operands[] = {&a, &b};
  for (int i = 0; i < 2; i++)
    if (operands[i]->r->buf == c.r->buf) {
      diag_report(k->c->diags, DIAG_GEMM_ALIAS, s->span, c.r->buf->name, operands[i]->name);
      ok = false;
    }
  if (!ok) return;
  int64_t K = ta ? a.rows : a.cols;
  ok = shape_ok(k, s, &a, ta ? K : c.rows, ta ? c.rows : K, &c);
  ok = ok && shape_ok(k, s, &b, tb ? c.cols : K, tb ? K : c.cols,
                      (tb ? b.rows : b.cols) != c.cols ? &c : &a);
  ok = types_ok(k, s, a.r->buf, b.r->buf, c.r->buf->dtype) && ok;
  if (ok && tile_ok(k, s, c.r->buf, c.rows, c.cols) && threads % 32 == 0)
    split_ok(k, s, c.rows, c.cols);
}
