// ldmatrix and mma of the emulator against matrices, random bits, fragments as PTX tabulates them.
// SPDX-License-Identifier: MIT
#include "emu_build.h"

#include <math.h>

/* ldmatrix: matrix j, row r is the 16 bytes whose address lane 8j + r gives */

static void check_ldmatrix(int num, bool trans, DType t) {
  int size = dt_bytes(t), rows = num * 8, per = 16 / size;
  bench_begin(32, 1);
  Buffer *in = param("in", t, rows * per * 2);
  Buffer *raw = buffer("raw", t, SC_LOCAL, 4 * num / size);
  Buffer *s = buffer("s", t, SC_SHARED, rows * per * 2);
  Buffer *v = buffer("v", t, SC_LOCAL, per);
  uint8_t *bytes = T.arg[0].data;
  for (int i = 0; i < rows * 32; i++) bytes[i] = (uint8_t)random32();
  for (int i = 0; i < rows * 2 / 32 + 1; i++) {
    Expr *chunk = add(tx(), I(i * 32));
    Stmt *copy = block();
    put(copy, vmov(span_of(in, mul(chunk, per), per), span_of(v, I(0), per)));
    put(copy, vmov(span_of(v, I(0), per), span_of(s, mul(chunk, per), per)));
    put(T.k->body, when(lt(chunk, I(rows * 2)), copy, NULL));
  }
  put(T.k->body, sync_threads());
  // Row of lane l: chunk 5l+1 modulo the number of chunks, to tell addresses from lanes.
  Expr *row = rem(add(mul(tx(), 5), I(1)), rows * 2);
  put(T.k->body, st_op(T.a, OP_LDMATRIX, NO_SPAN, span_of(s, mul(row, per), per),
                       span_of(raw, I(0), 4 * num / size), (int64_t)num, (int64_t)trans));
  // Registers come out byte by byte through a buffer of t: element e of lane l at e * 32 + l.
  Buffer *dump = param("dump", t, 32 * (4 * num / size));
  for (int e = 0; e < 4 * num / size; e++)
    put(T.k->body, vmov(span_of(raw, I(e), 1), span_of(dump, add(tx(), I(e * 32)), 1)));
  expect_clean();
  for (int lane = 0; lane < 32; lane++) {
    for (int j = 0; j < num; j++) {
      uint16_t want[2], got[2];
      for (int h = 0; h < 2; h++) {
        int r = trans ? 2 * (lane % 4) + h : lane / 4, c = trans ? lane / 4 : 2 * (lane % 4) + h;
        int chunk = ((j * 8 + r) * 5 + 1) % (rows * 2);
        memcpy(&want[h], bytes + chunk * 16 + c * 2, 2);
      }
      for (int b = 0; b < 4 / size; b++)
        memcpy((char *)got + b * size,
               (char *)T.arg[1].data + ((j * (4 / size) + b) * 32 + lane) * size, (size_t)size);
      ck_assert_int_eq(got[0], want[0]);
      ck_assert_int_eq(got[1], want[1]);
    }
  }
  ck_assert_int_eq((int)T.report.mma, 0);
}

START_TEST(ldmatrix_moves_bits) {
  const DType types[] = {DT_F16, DT_BF16, DT_I8, DT_F32};
  for (int t = 0; t < 4; t++)
    for (int num = 1; num <= 4; num *= 2)
      for (int trans = 0; trans < 2; trans++) check_ldmatrix(num, trans, types[t]);
}
END_TEST

/* byte_perm: PTX prmt.b32 in its default mode, selector digits below 8 */

START_TEST(byte_perm_picks_bytes) {
  for (int round = 0; round < 20; round++) {
    uint32_t sel = random32() & 0x7777;
    bench_begin(32, 1);
    Buffer *in = param("in", DT_U8, 32 * 8), *out = param("out", DT_U8, 32 * 4);
    Buffer *v = buffer("v", DT_U8, SC_LOCAL, 8), *d = buffer("d", DT_U8, SC_LOCAL, 4);
    uint8_t *bytes = T.arg[0].data, *got = T.arg[1].data;
    for (int i = 0; i < 32 * 8; i++) bytes[i] = (uint8_t)random32();
    put(T.k->body, vmov(span_of(in, mul(tx(), 8), 8), span_of(v, I(0), 8)));
    put(T.k->body, st_op(T.a, OP_BYTE_PERM, NO_SPAN, span_of(v, I(0), 8), span_of(d, I(0), 4),
                         I((int64_t)sel)));
    put(T.k->body, vmov(span_of(d, I(0), 4), span_of(out, mul(tx(), 4), 4)));
    expect_clean();
    for (int lane = 0; lane < 32; lane++)
      for (int i = 0; i < 4; i++)
        ck_assert_int_eq(got[lane * 4 + i], bytes[lane * 8 + (sel >> 4 * i) % 16]);
  }
}
END_TEST

/* unpack: the even element of a byte is its low half */

START_TEST(unpack_in_order) {
  for (int kind = 0; kind < 3; kind++) {
    bench_begin(32, 1);
    Buffer *in = param("in", DT_U8, 32 * 4), *out = param("out", DT_F16, 32 * 8);
    Buffer *v = buffer("v", DT_U8, SC_LOCAL, 4), *d = buffer("d", DT_F16, SC_LOCAL, 8);
    uint8_t *bytes = T.arg[0].data;
    uint16_t *got = T.arg[1].data;
    for (int i = 0; i < 32 * 4; i++) bytes[i] = (uint8_t)random32();
    put(T.k->body, vmov(span_of(in, mul(tx(), 4), 4), span_of(v, I(0), 4)));
    put(T.k->body,
        st_op(T.a, OP_UNPACK, NO_SPAN, span_of(v, I(0), 4), span_of(d, I(0), 8), (int64_t)kind));
    put(T.k->body, vmov(span_of(d, I(0), 8), span_of(out, mul(tx(), 8), 8)));
    expect_clean();
    for (int i = 0; i < 32 * 8; i++) {
      static const float size[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
      int n = bytes[i / 2] >> i % 2 * 4 & 15;
      float want = kind == 2 ? (n > 7 ? -size[n & 7] : size[n]) : kind == 0 && n > 7 ? n - 16 : n;
      ck_assert_float_eq(num_f16_to_f32(got[i]), want);
    }
  }
}
END_TEST

/* mma: fragments by PTX's tables, one row for each register (narrow types hold several k in one) */

typedef struct {
  int m, n, k, per; // per: elements of a register
  DType in, acc;
  int a_row[4], a_col[4], a_regs; // + g, + q * per
  int b_row[2], b_regs;           // + q * per
} Form;

static const Form forms[] = {
    {16, 8, 16, 2, DT_F16, DT_F32, {0, 8, 0, 8}, {0, 0, 8, 8}, 4, {0, 8}, 2},
    {16, 8, 16, 2, DT_F16, DT_F16, {0, 8, 0, 8}, {0, 0, 8, 8}, 4, {0, 8}, 2},
    {16, 8, 16, 2, DT_BF16, DT_F32, {0, 8, 0, 8}, {0, 0, 8, 8}, 4, {0, 8}, 2},
    {16, 8, 8, 2, DT_F16, DT_F32, {0, 8}, {0, 0}, 2, {0}, 1},
    {16, 8, 8, 1, DT_F32, DT_F32, {0, 8, 0, 8}, {0, 0, 4, 4}, 4, {0, 4}, 2},
    {16, 8, 32, 4, DT_I8, DT_I32, {0, 8, 0, 8}, {0, 0, 16, 16}, 4, {0, 16}, 2},
    {16, 8, 32, 4, DT_U8, DT_I32, {0, 8, 0, 8}, {0, 0, 16, 16}, 4, {0, 16}, 2},
    {16, 8, 32, 4, DT_E4M3, DT_F32, {0, 8, 0, 8}, {0, 0, 16, 16}, 4, {0, 16}, 2},
    {16, 8, 32, 4, DT_E5M2, DT_F32, {0, 8, 0, 8}, {0, 0, 16, 16}, 4, {0, 16}, 2},
};

// Fragments from and to global memory, element by element, by the table.
static void build_mma(const Form *f) {
  Buffer *a = param("A", f->in, f->m * f->k), *b = param("B", f->in, f->k * f->n);
  Buffer *c = param("C", f->acc, f->m * f->n);
  Buffer *ra = buffer("ra", f->in, SC_LOCAL, f->a_regs * f->per);
  Buffer *rb = buffer("rb", f->in, SC_LOCAL, f->b_regs * f->per);
  Buffer *rc = buffer("rc", f->acc, SC_LOCAL, 4);
  Expr *g = quo(tx(), 4), *q = rem(tx(), 4), *at_c[4];
  for (int r = 0; r < f->a_regs; r++) {
    for (int i = 0; i < f->per; i++) {
      Expr *row = add(g, I(f->a_row[r])), *col = add(mul(q, f->per), I(f->a_col[r] + i));
      put(T.k->body, store(ra, I(r * f->per + i), at(a, add(mul(row, f->k), col))));
    }
  }
  for (int r = 0; r < f->b_regs; r++) {
    for (int i = 0; i < f->per; i++) {
      Expr *row = add(mul(q, f->per), I(f->b_row[r] + i));
      put(T.k->body, store(rb, I(r * f->per + i), at(b, add(mul(row, f->n), g))));
    }
  }
  for (int i = 0; i < 4; i++) {
    at_c[i] = add(mul(add(g, I(i / 2 * 8)), f->n), add(mul(q, 2), I(i % 2)));
    put(T.k->body, store(rc, I(i), at(c, at_c[i])));
  }
  put(T.k->body, st_op(T.a, OP_MMA, NO_SPAN, span_of(ra, I(0), f->a_regs * f->per),
                       span_of(rb, I(0), f->b_regs * f->per), span_of(rc, I(0), 4), (int64_t)f->m,
                       (int64_t)f->n, (int64_t)f->k));
  for (int i = 0; i < 4; i++) put(T.k->body, store(c, at_c[i], at(rc, I(i))));
}

static double truncated(DType t, double x) {
  if (t != DT_F32) return x;
  float f = (float)x;
  uint32_t u;
  memcpy(&u, &f, 4);
  u &= 0xffffe000u;
  memcpy(&f, &u, 4);
  return (double)f;
}

static void check_form(const Form *f) {
  bench_begin(32, 1);
  build_mma(f);
  for (int i = 0; i < f->m * f->k; i++) set_random(f->in, T.arg[0].data, i);
  for (int i = 0; i < f->k * f->n; i++) set_random(f->in, T.arg[1].data, i);
  for (int i = 0; i < f->m * f->n; i++) set_random(f->acc, T.arg[2].data, i);
  void *before = arena_copy(T.a, T.arg[2].data, T.arg[2].bytes);
  ck_assert(bench_run(7));
  ck_assert_int_eq((int)T.report.mma, 1);
  for (int i = 0; i < f->m; i++) {
    for (int j = 0; j < f->n; j++) {
      double sum = 0, c = get(f->acc, before, i * f->n + j);
      for (int k = 0; k < f->k; k++)
        sum += truncated(f->in, get(f->in, T.arg[0].data, i * f->k + k)) *
               truncated(f->in, get(f->in, T.arg[1].data, k * f->n + j));
      double want = c + sum, got = get(f->acc, T.arg[2].data, i * f->n + j);
      if (f->acc == DT_F32) want = (double)(float)want;
      if (f->acc == DT_F16) want = (double)num_f16_to_f32(num_f16_from_f64(want));
      ck_assert_msg(got == want, "%s C[%d,%d]: %.9g, not %.9g", dt_name(f->in), i, j, got, want);
    }
  }
}

START_TEST(mma_by_the_tables) {
  for (size_t i = 0; i < LEN(forms); i++)
    for (int round = 0; round < 10; round++) check_form(&forms[i]);
}
END_TEST

// int32 accumulators wrap.
START_TEST(integer_accumulators_wrap) {
  bench_begin(32, 1);
  build_mma(&forms[5]);
  memset(T.arg[0].data, 127, T.arg[0].bytes);
  memset(T.arg[1].data, 127, T.arg[1].bytes);
  for (int i = 0; i < 128; i++) ((int32_t *)T.arg[2].data)[i] = INT32_MAX;
  ck_assert(bench_run(0));
  for (int i = 0; i < 128; i++)
    ck_assert_int_eq(((int32_t *)T.arg[2].data)[i],
                     (int32_t)((uint32_t)INT32_MAX + 32u * 127u * 127u));
}
END_TEST

START_TEST(infinity_and_nan_spread) {
  bench_begin(32, 1);
  build_mma(&forms[0]);
  ((uint16_t *)T.arg[0].data)[0] = 0x7c00; // A[0,0] = inf
  for (int i = 0; i < 128; i++) ((uint16_t *)T.arg[1].data)[i] = 0x3c00;
  ((uint16_t *)T.arg[1].data)[3] = 0; // B[0,3] = 0
  ck_assert(bench_run(0));
  const float *c = T.arg[2].data;
  ck_assert(isinf(c[0]) && isnan(c[3]) && c[8] == 0);
}
END_TEST

int main(void) {
  const TTest *tests[] = {ldmatrix_moves_bits, byte_perm_picks_bytes,     unpack_in_order,
                          mma_by_the_tables,   integer_accumulators_wrap, infinity_and_nan_spread};
  return run_suite("mma", tests, LEN(tests));
}
