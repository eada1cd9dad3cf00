// wgmma of the emulator: products of whole tiles with random operands, every form; and each rule of
// the checker, broken and kept.
// SPDX-License-Identifier: MIT
#include "emu_build.h"
#include "wgmma_build.h"

#include <time.h>

static double rounded(DType t, double x) {
  if (t == DT_F16) return (double)num_f16_to_f32(num_f16_from_f64(x));
  return t == DT_F32 ? (double)(float)x : x;
}

// Operands of 32 bits lose their low 13.
static double operand(DType t, const void *p, int i) {
  double x = get(t, p, i);
  if (t != DT_F32 && t != DT_TF32) return x;
  float f = (float)x;
  uint32_t u;
  memcpy(&u, &f, 4);
  u &= 0xffffe000u;
  memcpy(&f, &u, 4);
  return (double)f;
}

#define FORM(ta, tb, td, M, N, K, ...)                                                             \
  ((WgmmaForm){.a = (ta), .b = (tb), .d = (td), .m = (M), .n = (N), .k = (K), __VA_ARGS__})

static void build(const WgmmaForm *f) {
  bench_begin(2 * f->m, 1);
  Buffer *A = param("A", f->a, f->m * f->k), *B = param("B", f->b, f->n * f->k);
  Buffer *C = param("C", f->d, f->m * f->n);
  T.p->symbol = "gemm";
  for (int i = 0; i < f->m * f->k; i++) set_random(f->a, T.arg[0].data, i);
  for (int i = 0; i < f->n * f->k; i++) set_random(f->b, T.arg[1].data, i);
  for (int i = 0; i < f->m * f->n; i++) set_random(f->d, T.arg[2].data, i);
  wgmma_gemm(T.a, T.k, f, A, B, C);
}

static void verified(bool want) {
  Buf why = {0};
  for (int i = 0; i < T.p->params.len; i++) T.p->params.data[i].buf->align = 16;
  bool ok = ir_verify(T.p, &why);
  if (ok != want) fprintf(stderr, "%s", buf_str(&why));
  ck_assert(ok == want);
  buf_free(&why);
}

static double expected(const WgmmaForm *f, double c, int m, int n) {
  int step = 256 / dt_bits(f->a), sign = f->neg_a != f->neg_b ? -1 : 1;
  double acc = f->keep ? c : 0;
  for (int k = 0; k < f->k; k += step) { // rounded once an instruction
    double sum = 0;
    for (int i = k; i < k + step; i++)
      sum += operand(f->a, T.arg[0].data, f->trans_a ? i * f->m + m : m * f->k + i) *
             operand(f->b, T.arg[1].data, f->trans_b ? i * f->n + n : n * f->k + i);
    acc = rounded(f->d, acc + sign * sum);
  }
  return f->d == DT_I32 ? (double)(int32_t)(uint32_t)(int64_t)acc : acc;
}

static void check_form(WgmmaForm f) {
  build(&f);
  verified(true);
  void *before = arena_copy(T.a, T.arg[2].data, T.arg[2].bytes);
  bool ok = bench_run(random32());
  if (!ok) diag_flush(T.diags, stderr);
  ck_assert(ok);
  ck_assert_int_eq((int)T.report.mma, f.m / 16 * (f.k * dt_bits(f.a) / 256));
  for (int m = 0; m < f.m; m++) {
    for (int n = 0; n < f.n; n++) {
      double want = expected(&f, get(f.d, before, m * f.n + n), m, n);
      double got = get(f.d, T.arg[2].data, m * f.n + n);
      ck_assert_msg(got == want, "%s %s n%d C[%d,%d]: %.9g, not %.9g", dt_name(f.a), dt_name(f.b),
                    f.n, m, n, got, want);
    }
  }
}

typedef struct {
  DType a, b, d;
} Types;

static const Types types[] = {
    {DT_F16, DT_F16, DT_F32},   {DT_F16, DT_F16, DT_F16},   {DT_BF16, DT_BF16, DT_F32},
    {DT_TF32, DT_TF32, DT_F32}, {DT_F32, DT_F32, DT_F32},   {DT_E4M3, DT_E4M3, DT_F32},
    {DT_E4M3, DT_E5M2, DT_F32}, {DT_E5M2, DT_E4M3, DT_F16}, {DT_E5M2, DT_E5M2, DT_F16},
    {DT_I8, DT_I8, DT_I32},     {DT_U8, DT_I8, DT_I32},     {DT_I8, DT_U8, DT_I32},
    {DT_U8, DT_U8, DT_I32},
};

START_TEST(every_type) {
  for (size_t i = 0; i < LEN(types); i++) {
    int k = 1024 / dt_bits(types[i].a); // 128 bytes
    for (int rs = 0; rs < 2; rs++)
      check_form(FORM(types[i].a, types[i].b, types[i].d, 64, 64, k, .rs = rs, .keep = rs));
  }
}
END_TEST

START_TEST(every_n) {
  for (int n = 8; n <= 256; n += 8) {
    check_form(FORM(DT_F16, DT_F16, DT_F32, 64, n, 16, .keep = n % 16));
    if (layout_wgmma_n(n, true)) check_form(FORM(DT_I8, DT_U8, DT_I32, 64, n, 32, .rs = true));
  }
}
END_TEST

START_TEST(majors) {
  static const int n[] = {16, 32, 64, 128, 192, 256};
  for (size_t i = 0; i < LEN(n); i++) {
    for (int both = 0; both < 4; both++) {
      WgmmaForm f =
          FORM(DT_F16, DT_F16, DT_F32, 64, n[i], 32, .trans_a = both & 1, .trans_b = both & 2);
      check_form(f);
      f.a = f.b = DT_BF16;
      f.k = 64;
      check_form(f);
      f.rs = true;
      f.trans_a = false;
      check_form(f);
    }
  }
}
END_TEST

START_TEST(panels_and_warpgroups) {
  check_form(FORM(DT_F16, DT_F16, DT_F32, 128, 96, 256, .rs = false));
  check_form(FORM(DT_BF16, DT_BF16, DT_F32, 192, 24, 48, .rs = false));
  check_form(FORM(DT_E4M3, DT_E4M3, DT_F32, 128, 40, 192, .rs = false));
  check_form(FORM(DT_F16, DT_F16, DT_F16, 256, 64, 64, .trans_a = true, .trans_b = true));
  check_form(FORM(DT_I8, DT_I8, DT_I32, 128, 112, 512, .rs = true));
}
END_TEST

START_TEST(signs) {
  for (int i = 1; i < 4; i++)
    check_form(FORM(DT_F16, DT_F16, DT_F32, 64, 16, 32, .rs = i & 1, .neg_a = i & 1, .neg_b = i & 2,
                    .keep = true));
}
END_TEST

static bool reported(DiagId id) {
  for (int i = 0; diag_id(T.diags, i) >= 0; i++)
    if (diag_id(T.diags, i) == (int)id) return true;
  return false;
}

static void expect_either(DiagId one, DiagId two) {
  for (uint64_t seed = 0; seed < 6; seed++) {
    T.diags = diag_new(T.a, T.sources, (DiagOptions){0});
    ck_assert(!bench_run(seed));
    ck_assert(reported(one) || reported(two));
  }
}

static void check_fault(WgmmaForm f, WgmmaFault fault, DiagId id) {
  f.fault = FAULT_NONE;
  build(&f);
  verified(true);
  expect_clean();
  f.fault = fault;
  build(&f);
  if (fault == FAULT_OVERWRITE_SOON) expect_either(id, DIAG_EMU_RACE);
  else expect_report(id);
}

START_TEST(faults_in_flight) {
  WgmmaForm ss = FORM(DT_F16, DT_F16, DT_F32, 64, 32, 64, .keep = true), rs = ss;
  rs.rs = true;
  check_fault(ss, FAULT_NO_FENCE, DIAG_EMU_WGMMA_FENCE);
  check_fault(rs, FAULT_NO_FENCE, DIAG_EMU_WGMMA_FENCE);
  check_fault(ss, FAULT_TOUCH, DIAG_EMU_WGMMA_FENCE);
  check_fault(ss, FAULT_NO_COMMIT, DIAG_EMU_WGMMA_FLIGHT);
  check_fault(ss, FAULT_NO_WAIT, DIAG_EMU_WGMMA_FLIGHT);
  check_fault(ss, FAULT_PENDING, DIAG_EMU_WGMMA_FLIGHT);
  check_fault(rs, FAULT_TOUCH_A, DIAG_EMU_WGMMA_FLIGHT);
  check_fault(ss, FAULT_PINNED, DIAG_EMU_WGMMA_FLIGHT);
  check_fault(ss, FAULT_SHAPE, DIAG_EMU_WGMMA_SHAPE);
  check_fault(ss, FAULT_NO_SYNC, DIAG_EMU_RACE);
  check_fault(ss, FAULT_NO_PROXY, DIAG_EMU_PROXY);
  check_fault(ss, FAULT_OVERWRITE, DIAG_EMU_SOURCE);
  check_fault(rs, FAULT_OVERWRITE, DIAG_EMU_SOURCE);
  check_fault(ss, FAULT_OVERWRITE_LAST, DIAG_EMU_SOURCE);
  check_fault(ss, FAULT_OVERWRITE_SOON, DIAG_EMU_SOURCE); // or a race with a read still to come
}
END_TEST

START_TEST(faults_of_warpgroups) {
  WgmmaForm f = FORM(DT_F16, DT_F16, DT_F32, 64, 32, 64, .rs = false);
  check_fault(f, FAULT_SOME_WARPS, DIAG_EMU_WGMMA_ORDER);
  verified(false);
  check_fault(f, FAULT_EXTRA, DIAG_EMU_WGMMA_ORDER);
  check_fault(f, FAULT_SOME_LANES, DIAG_EMU_COLLECTIVE);
  verified(false);
  check_fault(f, FAULT_WARP_SCALE, DIAG_EMU_WGMMA_UNIFORM);
  check_fault(f, FAULT_LANE_SCALE, DIAG_EMU_WGMMA_UNIFORM);
  check_fault(f, FAULT_WARP_DESC, DIAG_EMU_WGMMA_UNIFORM);
  check_fault(f, FAULT_LANE_DESC, DIAG_EMU_WGMMA_UNIFORM);
}
END_TEST

START_TEST(faults_of_descriptors) {
  WgmmaForm f = FORM(DT_F16, DT_F16, DT_F32, 64, 32, 64, .rs = false), rs = f;
  rs.rs = true;
  check_fault(f, FAULT_REGION, DIAG_EMU_WGMMA_RANGE);
  check_fault(f, FAULT_BEYOND, DIAG_EMU_WGMMA_RANGE);
  check_fault(rs, FAULT_BEYOND, DIAG_EMU_WGMMA_RANGE);
  check_fault(f, FAULT_UNALIGNED, DIAG_EMU_WGMMA_DESC);
  check_fault(f, FAULT_RESERVED, DIAG_EMU_WGMMA_DESC);
}
END_TEST

/* the verifier */

static bool accepted(const char *head, const char *body) {
  Arena *a = arena_new();
  Sources *sources = src_new(a);
  Diags *d = diag_new(a, sources, (DiagOptions){0});
  Buf why = {0};
  const char *text =
      arena_printf(a,
                   "program p\nkernel k {\n level thread\n threads 384\n thread tx\n smem 65536\n"
                   " shared A : float16 [4096] offset 0\n shared B : float16 [4096] offset 8192\n"
                   " shared A8 : int8 [4096] offset 16384\n"
                   " shared F8 : float8_e4m3 [4096] offset 20480\n"
                   " local d : float32 [32]\n local i : int32 [32]\n local r : float16 [8]\n"
                   " local w : uint32 [1]\n body {\n%s%s\n}\n}\n",
                   head, body);
  Program *p = ir_read(a, d, src_add(sources, "t.tir", text, strlen(text)));
  diag_flush(d, stderr);
  ck_assert_ptr_nonnull(p);
  bool ok = ir_verify(p, &why);
  buf_free(&why);
  arena_free(a);
  return ok;
}

START_TEST(whole_warpgroups) {
  static const struct {
    const char *cond;
    bool whole;
  } cases[] = {{"tx < 128", true},
               {"tx < 256", true},
               {"tx < 129", false},
               {"tx <= 127", true},
               {"tx <= 128", false},
               {"127 < tx", true},
               {"128 < tx", false},
               {"128 <= tx", true},
               {"tx // 128 == 1", true},
               {"tx // 64 == 2", false},
               {"tx % 128 == 0", false},
               {"tx - 128 < 128", true},
               {"tx - 64 < 128", false},
               {"(tx - 128) // 128 == 0", true},
               {"(tx - 64) // 128 == 0", false},
               {"tx // 256 * 2 + 1 == 3", true},
               {"tx // 128 == 0 or tx == 5", false}};
  for (size_t i = 0; i < LEN(cases); i++) {
    char head[100];
    snprintf(head, sizeof head, "if %s { wgmma_commit() }", cases[i].cond);
    ck_assert_msg(accepted("", head) == cases[i].whole, "%s", cases[i].cond);
  }
  ck_assert(accepted("let g = tx // 128\n", "if g == 1 { wgmma_fence() }"));
  ck_assert(!accepted("let g = tx // 32\n", "if g == 1 { wgmma_fence() }"));
  ck_assert(accepted("", "for j in 0 +: tx // 128 { wgmma_wait(pending=0) }"));
  ck_assert(!accepted("", "for j in 0 +: tx // 32 { wgmma_wait(pending=0) }"));
}
END_TEST

#define HI "uint32(1073741888)"
#define A16 "wgmma(a=A[0 +: 4096], b=B[0 +: 4096], "
#define RS16 "wgmma(a=r[0 +: 8], b=B[0 +: 4096], "
#define A8 "wgmma(a=A8[0 +: 4096], b=A8[0 +: 4096], "
#define F8 "wgmma(a=F8[0 +: 4096], b="
#define WORDS_A ", a_lo=w[0], a_hi=" HI
#define WORDS_B ", b_lo=w[0], b_hi=" HI ", scale_d=true, n="

START_TEST(operands_by_the_tables) {
  static const struct {
    const char *op;
    bool legal;
  } cases[] = {
      {A16 "d=d[0 +: 32]" WORDS_A WORDS_B "64)", true},
      {A16 "d=d[0 +: 32]" WORDS_A WORDS_B "64, neg_a=1, trans_a=1, trans_b=1)", true},
      {A16 "d=d[0 +: 32]" WORDS_A WORDS_B "64, neg_a=2)", false},
      {A16 "d=d[0 +: 32]" WORDS_A WORDS_B "68)", false},
      {A16 "d=d[0 +: 16]" WORDS_A WORDS_B "64)", false},
      {A16 "d=i[0 +: 32]" WORDS_A WORDS_B "64)", false},
      {A16 "d=d[0 +: 32]" WORDS_B "64)", false},
      {RS16 "d=d[0 +: 32]" WORDS_B "64)", true},
      {RS16 "d=d[0 +: 32]" WORDS_A WORDS_B "64)", false},
      {RS16 "d=d[0 +: 32]" WORDS_B "64, trans_a=1)", false},
      {RS16 "d=d[0 +: 32], b_lo=w[0], b_hi=w[0], scale_d=true, n=64)", false},
      {"wgmma(a=r[0 +: 4], b=B[0 +: 4096], d=d[0 +: 32]" WORDS_B "64)", false},
      {"wgmma(a=r[0 +: 8], b=A8[0 +: 4096], d=d[0 +: 32]" WORDS_B "64)", false},
      {A8 "d=i[0 +: 24]" WORDS_A WORDS_B "48)", true},
      {A8 "d=i[0 +: 20]" WORDS_A WORDS_B "40)", false},
      {A8 "d=i[0 +: 32]" WORDS_A WORDS_B "64, trans_b=1)", false},
      {A8 "d=i[0 +: 32]" WORDS_A WORDS_B "64, neg_b=1)", false},
      {F8 "F8[0 +: 4096], d=d[0 +: 32]" WORDS_A WORDS_B "64, neg_a=1)", true},
      {F8 "F8[0 +: 4096], d=d[0 +: 32]" WORDS_A WORDS_B "64, trans_a=1)", false},
      {F8 "F8[0 +: 4096], d=d[0 +: 32]" WORDS_A WORDS_B "64, trans_b=1)", false},
      {F8 "A8[0 +: 4096], d=d[0 +: 32]" WORDS_A WORDS_B "64)", false},
      {"wgmma_desc(tile=A[0], dst=w[0], lbo=1024)", true},
      {"wgmma_desc(tile=A[0], dst=w[0], lbo=8)", false},
      {"wgmma_desc(tile=r[0], dst=w[0], lbo=16)", false},
      {"wgmma_desc(tile=A[0], dst=i[0], lbo=16)", false},
      {"wgmma_wait(pending=7)", true},
      {"wgmma_wait(pending=8)", false},
      {"wgmma_fence(d=d[0 +: 4])", true},
      {"wgmma_fence(d=A[0 +: 4])", false},
  };
  for (size_t i = 0; i < LEN(cases); i++)
    ck_assert_msg(accepted("", cases[i].op) == cases[i].legal, "%s", cases[i].op);
}
END_TEST

START_TEST(fast_enough) { // 50 million multiply-adds a second, with room for a busy machine
  WgmmaForm f = FORM(DT_F16, DT_F16, DT_F32, 64, 256, 256, .rs = false);
  build(&f);
  clock_t from = clock();
  ck_assert(bench_run(1));
  double seconds = (double)(clock() - from) / CLOCKS_PER_SEC, macs = 64.0 * 256 * 256;
  if (!getenv("TLC_SAN")) ck_assert_msg(macs / seconds > 2e7, "%.0f a second", macs / seconds);
}
END_TEST

int main(void) {
  random_state = 2463534242u;
  const TTest *tests[] = {every_type,
                          every_n,
                          majors,
                          panels_and_warpgroups,
                          signs,
                          faults_in_flight,
                          faults_of_warpgroups,
                          faults_of_descriptors,
                          whole_warpgroups,
                          operands_by_the_tables,
                          fast_enough};
  return run_suite("wgmma", tests, LEN(tests));
}
