// runtime on any machine: inputs, comparison, medians, JSON, nvcc, the cache, loaded launchers.
// SPDX-License-Identifier: MIT
#include "base/numeric.h"
#include "runtime/runtime.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Arena *arena;
static Buf err;

static void setup(void) { arena = arena_new(); }

static void teardown(void) {
  buf_free(&err);
  arena_free(arena);
}

static bool skipped(const char *test) {
  if (rt_nvcc(arena, &err)) return false;
  printf("SKIPPED %s: %s\n", test, buf_str(&err));
  return true;
}

#define EXPECT_OK(call) ck_assert_msg((call) == RT_OK, "%s", buf_str(&err))

/* fill */

static const RtType float_types[] = {RT_F16, RT_BF16, RT_E4M3, RT_E5M2, RT_TF32, RT_F32, RT_F64};

// Mean, variance and fourth moment of N(0,1) are 0, 1 and 3. With n = 2^18 their standard errors
// are 0.002, 0.003 and 0.02; five of them, and fp8's own rounding, are allowed.
START_TEST(normal_moments) {
  RtType t = float_types[_i];
  enum { N = 1 << 18 };
  char *data = arena_alloc(arena, N * 8);
  double mean = 0, square = 0, fourth = 0, lag = 0, last = 0;
  rt_fill(data, t, N, RT_NORMAL, 7, 3);
  for (int i = 0; i < N; i++) {
    double x = rt_get(t, data, i);
    mean += x / N;
    square += x * x / N;
    fourth += x * x * x * x / N;
    lag += x * last / N;
    last = x;
  }
  double rough = t == RT_E5M2 ? 0.03 : t == RT_E4M3 ? 0.01 : 0;
  ck_assert_double_le(fabs(mean), 0.01);
  ck_assert_double_le(fabs(lag), 0.01);
  ck_assert_double_le(fabs(square - 1), 0.015 + rough);
  ck_assert_double_le(fabs(fourth - 3), 0.1 + 4 * rough);
}
END_TEST

// Every sixteenth of the distribution gets its share; all its bits are used in wide types.
START_TEST(normal_shape) {
  enum { N = 1 << 16 };
  static double x[N];
  // Quartiles and deciles of N(0,1), from tables.
  static const struct {
    double at, mass;
  } points[] = {
      {-1.2815516, 0.1}, {-0.6744898, 0.25}, {0, 0.5}, {0.6744898, 0.75}, {1.9599640, 0.975}};
  rt_fill(x, RT_F64, N, RT_NORMAL, 1, 0);
  int distinct_low = 0;
  for (size_t p = 0; p < LEN(points); p++) {
    int below = 0;
    for (int i = 0; i < N; i++) below += x[i] < points[p].at;
    ck_assert_double_le(fabs((double)below / N - points[p].mass), 0.01);
  }
  for (int i = 1; i < N; i++)
    distinct_low += (num_f64_bits(x[i]) & 0xff) != (num_f64_bits(x[i - 1]) & 0xff);
  ck_assert_int_gt(distinct_low, N * 9 / 10);
}
END_TEST

START_TEST(fill_is_a_function_of_seed_stream_and_index) {
  uint16_t *big = arena_alloc(arena, 2 << 17), *again = arena_alloc(arena, 2 << 17);
  uint16_t small[100];
  rt_fill(big, RT_F16, 1 << 17, RT_NORMAL, 1, 2);
  rt_fill(again, RT_F16, 1 << 17, RT_NORMAL, 1, 2);
  rt_fill(small, RT_F16, 100, RT_NORMAL, 1, 2); // the short way gives the same values
  ck_assert_mem_eq(big, again, 2 << 17);
  ck_assert_mem_eq(big, small, sizeof small);
  rt_fill(again, RT_F16, 100, RT_NORMAL, 1, 3);
  ck_assert_mem_ne(again, small, sizeof small);
  rt_fill(again, RT_F16, 100, RT_NORMAL, 2, 2);
  ck_assert_mem_ne(again, small, sizeof small);
}
END_TEST

// What several threads fill is what one does.
START_TEST(fill_by_threads) {
  enum { N = (5 << 20) + 78 }; // by two: odd
  static const RtFill how[] = {RT_NORMAL, RT_INTEGERS};
  RtType t = (RtType)_i;
  size_t bytes = rt_type_bytes(t, N);
  char *many = arena_alloc(arena, bytes), *one = arena_alloc(arena, bytes);
  cpu_set_t all, first;
  ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&first);
  for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&first); i++)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &first);
  for (size_t k = 0; k < LEN(how); k++) {
    rt_fill(many, t, N, how[k], 5, 6);
    ck_assert_int_eq(sched_setaffinity(0, sizeof first, &first), 0);
    rt_fill(one, t, N, how[k], 5, 6);
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
    ck_assert_mem_eq(many, one, bytes);
  }
}
END_TEST

START_TEST(small_integers) {
  RtType t = (RtType)_i;
  enum { N = 4096 };
  char data[N * 8 + 1];
  int seen[9] = {0};
  memset(data, 0x77, sizeof data);
  rt_fill(data, t, N, RT_INTEGERS, 5, 0);
  for (int i = 0; i < N; i++) {
    double x = rt_get(t, data, i);
    ck_assert(x == floor(x) && x >= -4 && x <= 4);
    seen[(int)x + 4]++;
  }
  bool has_sign = rt_type_is_float(t) || strncmp(rt_type_name(t), "int", 3) == 0;
  int lo = has_sign ? 0 : 4, hi = t == RT_BOOL ? 5 : 8, values = hi - lo + 1;
  for (int v = 0; v < 9; v++)
    ck_assert(v < lo || v > hi ? seen[v] == 0 : seen[v] > N / values * 3 / 4);
  ck_assert_int_eq(data[rt_type_bytes(t, N)], 0x77); // and not one byte further
}
END_TEST

START_TEST(poison_zeros_bits) {
  for (int t = 0; t < RT_TYPE_COUNT; t++) {
    unsigned char data[64];
    rt_fill(data, (RtType)t, 4, RT_POISON, 0, 0);
    if (t == RT_E2M1) ck_assert(rt_get(RT_E2M1, data, 3) != 0); // it has no NaN
    else if (rt_type_is_float((RtType)t)) ck_assert(isnan(rt_get((RtType)t, data, 3)));
    else ck_assert_int_eq(data[0], 0xcd);
    rt_fill(data, (RtType)t, 4, RT_ZEROS, 0, 0);
    ck_assert(rt_get((RtType)t, data, 3) == 0);
  }
  uint8_t bits[1 << 12];
  unsigned ones = 0;
  rt_fill(bits, RT_I8, sizeof bits, RT_BITS, 1, 1);
  for (size_t i = 0; i < sizeof bits; i++) ones += (unsigned)__builtin_popcount(bits[i]);
  ck_assert(ones > 4 * sizeof bits - 500 && ones < 4 * sizeof bits + 500);
  rt_fill(bits, RT_BOOL, sizeof bits, RT_BITS, 1, 1);
  for (size_t i = 0; i < sizeof bits; i++) ck_assert_int_le(bits[i], 1);
}
END_TEST

/* elements and comparison */

START_TEST(elements) {
  uint8_t nibbles[2] = {0};
  rt_set(RT_I4, nibbles, 0, -3);
  rt_set(RT_I4, nibbles, 1, 7);
  rt_set(RT_I4, nibbles, 2, -8);
  ck_assert_int_eq(nibbles[0], 0x7d); // low nibble first
  ck_assert_int_eq(nibbles[1], 0x08);
  ck_assert(rt_get(RT_I4, nibbles, 0) == -3 && rt_get(RT_I4, nibbles, 2) == -8);
  ck_assert(rt_get(RT_U4, nibbles, 2) == 8);
  uint64_t u;
  rt_set(RT_U64, &u, 0, 0x1p63);
  ck_assert(u == UINT64_C(1) << 63 && rt_get(RT_U64, &u, 0) == 0x1p63);
  int8_t byte;
  rt_set(RT_I8, &byte, 0, -129.9);
  ck_assert_int_eq(byte, 127);
  RtType t;
  ck_assert(rt_type_find("bfloat16", &t) && t == RT_BF16 && !rt_type_find("half", &t));
}
END_TEST

START_TEST(compare_floats) {
  const float got[] = {1, 2.001f, NAN, NAN, INFINITY, -0.0f, 5, INFINITY};
  const float want[] = {1, 2, NAN, 1, INFINITY, 0, NAN, -INFINITY};
  RtDiff d = rt_compare(RT_F32, 8, got, want, NULL);
  ck_assert(d.checked == 8 && d.wrong == 4 && d.first == 1);
  d = rt_compare(RT_F32, 8, got, want, &(RtTolerance){.rtol = 1e-2});
  ck_assert(d.wrong == 3 && d.first == 3);
  ck_assert(isnan(d.got) && d.want == 1);
  ck_assert_double_eq_tol(d.max_abs, 0.001, 1e-6);
  ck_assert_double_eq_tol(d.max_rel, 0.0005, 1e-6);
  d = rt_compare(RT_F32, 2, got, want, &(RtTolerance){.atol = 0.0005});
  ck_assert(d.wrong == 1);
  const float bound[] = {0, 0.002f};
  d = rt_compare(RT_F32, 2, got, want, &(RtTolerance){.bound = bound});
  ck_assert(d.wrong == 0);
  const uint8_t mask[] = {1, 0, 1, 0, 1, 1, 0, 0};
  d = rt_compare(RT_F32, 8, got, want, &(RtTolerance){.mask = mask});
  ck_assert(d.checked == 4 && d.wrong == 0);
}
END_TEST

START_TEST(compare_integers) {
  const int64_t got[] = {(INT64_C(1) << 53) + 1, -5}, want[] = {INT64_C(1) << 53, -5};
  RtDiff d = rt_compare(RT_I64, 2, got, want, NULL);
  ck_assert(d.wrong == 1 && d.first == 0); // equal as doubles, not as integers
  const uint8_t a[] = {0x21, 0x43}, b[] = {0x21, 0x53};
  d = rt_compare(RT_U4, 4, a, b, NULL);
  ck_assert(d.wrong == 1 && d.first == 3 && d.got == 4 && d.want == 5);
}
END_TEST

START_TEST(difference_in_words) {
  float got[6] = {0, 0, 0, 0, 0.5f, 0}, want[6] = {0, 0, 0, 0, 0.25f, 0};
  RtArray shape = {RT_F32, 2, {2, 3}, got};
  RtDiff d = rt_compare(RT_F32, 6, got, want, NULL);
  rt_diff_text(&err, &d, &shape);
  ck_assert_str_eq(buf_str(&err), "1 of 6 elements differ; first at [1, 1]: got 0.5, want 0.25, "
                                  "allowed 0; largest error 0.25 absolute, 1 relative");
  err.len = 0;
  d = rt_compare(RT_F32, 6, got, got, NULL);
  rt_diff_text(&err, &d, &shape);
  ck_assert_str_eq(buf_str(&err), "all 6 elements match");
}
END_TEST

/* figures */

// Ranks from the tables of the sign test: n = 15 leaves out 3 a side, n = 7 and 6 none, 9 one.
START_TEST(median_interval) {
  static const struct {
    int n;
    double median, lo, hi;
  } rows[] = {{15, 8, 4, 12}, {7, 4, 1, 7}, {6, 3.5, 1, 6},
              {9, 5, 2, 8},   {1, 1, 1, 1}, {2, 1.5, 1, 2}};
  for (size_t r = 0; r < LEN(rows); r++) {
    double v[15], lo, hi;
    for (int i = 0; i < rows[r].n; i++) v[i] = rows[r].n - i;
    ck_assert(rt_median(v, rows[r].n, &lo, &hi) == rows[r].median);
    ck_assert(lo == rows[r].lo && hi == rows[r].hi);
  }
}
END_TEST

START_TEST(reports) {
  RtGpuInfo gpu = {.name = "A \"GPU\"", .sm = 90};
  RtTiming blas = {"cublasLt", 100, 99, 101, 1, 1, 1, 15, 10};
  RtTiming time = {"gemm", 80, 79, 81, 1.25, 1.2, 1.3, 15, 10};
  RtReport r = {"gemm", &gpu, &time, &blas, 80e6, 0, false, "sm_90a", "M=1"};
  rt_report_json(&err, &r);
  ck_assert_str_eq(
      buf_str(&err),
      "{\"kernel\": \"gemm\", \"gpu\": \"A \\\"GPU\\\"\", \"sm\": 90, \"l2\": \"warm\", "
      "\"arch\": \"sm_90a\", \"bindings\": \"M=1\", \"time\": "
      "{\"name\": \"gemm\", \"us\": 80, \"us_interval\": [79, 81], \"rounds\": 15, \"launches\": "
      "10}, "
      "\"tflops\": 1, \"reference\": {\"name\": \"cublasLt\", \"us\": 100, \"us_interval\": [99, "
      "101], "
      "\"rounds\": 15, \"launches\": 10}, \"ratio\": 1.25, \"ratio_interval\": [1.2, 1.3]}");
  err.len = 0;
  rt_report_text(&err, &r);
  ck_assert(strstr(buf_str(&err), "80.00 us") && strstr(buf_str(&err), "1.0 TFLOP/s"));
  ck_assert(strstr(buf_str(&err), "1.250 of cublasLt (1.200 to 1.300)"));
}
END_TEST

/* nvcc and loaded launchers. The launchers here run on the CPU, so that no GPU is needed. */

#define TEXT(s) .text = s, .len = sizeof s - 1

static const char mixed_cu[] =
    "#include <stdint.h>\n#include <stdio.h>\n"
    "extern \"C\" cudaError_t mixed(const void *A, const void *B, double d, void *C, bool flag, "
    "int8_t i8,\n"
    "    uint16_t half, float f, int64_t M, int64_t N, void *workspace, cudaStream_t stream) {\n"
    "  double *out = (double *)C;\n"
    "  const double in[] = {*(const double *)A, *(const double *)B, d, (double)flag, (double)i8,\n"
    "    (double)half, (double)f, (double)M, (double)N, *(double *)workspace, "
    "(double)(size_t)stream};\n"
    "  for (int i = 0; i < 11; i++) out[i] = in[i];\n"
    "  return M > 0 ? cudaSuccess : cudaErrorInvalidValue;\n}\n"
    "extern \"C\" cudaError_t mixed_check(const void *A, const void *B, double d, void *C, bool "
    "flag,\n"
    "    int8_t i8, uint16_t half, float f, int64_t M, int64_t N, void *workspace, char *msg,\n"
    "    size_t n) {\n"
    "  if (M > 0 && *(double *)workspace == 33) return cudaSuccess;\n"
    "  snprintf(msg, n, \"M is %d; it must be positive\", (int)M);\n  return "
    "cudaErrorInvalidValue;\n}\n"
    "extern \"C\" size_t mixed_workspace(int64_t M, int64_t N) { return (size_t)(M * 1000 + N); "
    "}\n";

static const RtParam mixed_params[] = {
    {RT_F32, true},   {RT_F32, true},  {RT_F64, false}, {RT_F32, true},
    {RT_BOOL, false}, {RT_I8, false},  {RT_F16, false}, {RT_F32, false},
    {RT_I64, false},  {RT_I64, false}, {RT_U8, true},
};

START_TEST(launcher_of_mixed_arguments) {
  if (skipped("launcher_of_mixed_arguments")) return;
  RtSource s = {.symbol = "mixed",
                .params = mixed_params,
                .n = LEN(mixed_params),
                .has_check = true,
                .sizes = 2,
                .has_workspace = true,
                .build = {.name = "mixed", TEXT(mixed_cu), .arch = "sm_80"}};
  RtKernel *k;
  EXPECT_OK(rt_kernel_load(&s, &k, &err));
  double a = 11, b = 22, out[11] = {0}, work = 33;
  RtValue v[] = {{.p = &a},     {.p = &b},    {.d = 1.5},      {.p = out}, {.i = 1},    {.i = -7},
                 {.i = 0xfedc}, {.f = 0.25f}, {.i = 1l << 40}, {.i = -3},  {.p = &work}};
  EXPECT_OK(rt_kernel_launch(k, v, (void *)64, &err));
  const double want[] = {11, 22, 1.5, 1, -7, 0xfedc, 0.25, 0x1p40, -3, 33, 64};
  for (int i = 0; i < 11; i++) ck_assert_double_eq(out[i], want[i]);
  ck_assert_int_eq(rt_kernel_workspace(k, v), (INT64_C(1) << 40) * 1000 - 3);
  EXPECT_OK(rt_kernel_check(k, v, &err));
  v[8].i = -1;
  ck_assert_int_eq(rt_kernel_check(k, v, &err), RT_FAILED);
  ck_assert_str_eq(buf_str(&err), "mixed: M is -1; it must be positive");
  err.len = 0;
  ck_assert_int_eq(rt_kernel_launch(k, v, NULL, &err), RT_FAILED);
  ck_assert_str_eq(buf_str(&err), "mixed returned cudaErrorInvalidValue (invalid argument)");
  rt_kernel_free(k);
}
END_TEST

// More arguments than any calling convention keeps in registers.
START_TEST(launcher_of_many_arguments) {
  if (skipped("launcher_of_many_arguments")) return;
  enum { N = 40 };
  RtParam params[N + 1] = {{RT_F64, true}};
  RtValue v[N + 1];
  double out[N];
  Buf text = {0};
  buf_puts(&text, "#include <stdint.h>\nextern \"C\" cudaError_t many(void *out");
  for (int i = 0; i < N; i++) buf_printf(&text, ", %s x%d", i % 3 ? "int32_t" : "float", i);
  buf_puts(&text, ", cudaStream_t) {\n");
  for (int i = 0; i < N; i++) buf_printf(&text, "  ((double *)out)[%d] = x%d;\n", i, i);
  buf_puts(&text, "  return cudaSuccess;\n}\n");
  v[0].p = out;
  for (int i = 0; i < N; i++) {
    params[i + 1] = (RtParam){i % 3 ? RT_I32 : RT_F32, false};
    if (i % 3) v[i + 1].i = -i;
    else v[i + 1].f = (float)i / 2;
  }
  RtSource s = {.symbol = "many",
                .params = params,
                .n = N + 1,
                .build = {.text = buf_str(&text), .len = text.len, .arch = "sm_80"}};
  RtKernel *k;
  EXPECT_OK(rt_kernel_load(&s, &k, &err));
  EXPECT_OK(rt_kernel_launch(k, v, NULL, &err));
  for (int i = 0; i < N; i++) ck_assert_double_eq(out[i], i % 3 ? -i : i / 2.0);
  EXPECT_OK(rt_kernel_check(k, v, &err)); // none: nothing to complain about
  ck_assert_int_eq(rt_kernel_workspace(k, v), 0);
  rt_kernel_free(k);
  buf_free(&text);
}
END_TEST

START_TEST(nvcc_says_what_is_wrong) {
  if (skipped("nvcc_says_what_is_wrong")) return;
  RtBuild b = {"wrong", TEXT("__global__ void k() { undeclared(); }\n"), "sm_80", RT_PTX, NULL};
  const char *path;
  ck_assert_int_eq(rt_build(arena, &b, &path, NULL, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "nvcc failed with exit status"));
  ck_assert(strstr(buf_str(&err), "wrong.cu(1)") && strstr(buf_str(&err), "undeclared"));
}
END_TEST

START_TEST(builds_are_cached_by_content) {
  if (skipped("builds_are_cached_by_content")) return;
  char folder[] = "/tmp/tlc-cache-XXXXXX";
  ck_assert(mkdtemp(folder));
  setenv("XDG_CACHE_HOME", folder, 1);
  RtBuild b = {"k", TEXT("__global__ void k(int *p) { *p = 1; }\n"), "sm_80", RT_PTX, NULL};
  const char *first, *second, *third;
  EXPECT_OK(rt_build(arena, &b, &first, NULL, &err));
  ck_assert(strstr(file_read(arena, first, NULL), ".target sm_80"));
  // A result put in the entry's place is what the next call gives: nvcc did not run again.
  ck_assert_int_eq(file_write(first, "mark", 4), 0);
  EXPECT_OK(rt_build(arena, &b, &second, NULL, &err));
  ck_assert_str_eq(first, second);
  ck_assert_str_eq(file_read(arena, second, NULL), "mark");
  b.arch = "sm_90a";
  EXPECT_OK(rt_build(arena, &b, &third, NULL, &err));
  ck_assert_str_ne(first, third);
  ck_assert(strstr(file_read(arena, third, NULL), ".target sm_90a"));
  ck_assert_int_eq(system(arena_printf(arena, "rm -r %s", folder)), 0);
}
END_TEST

START_TEST(no_nvcc) {
  setenv("CUDACXX", "/nowhere/nvcc", 1);
  ck_assert(rt_nvcc(arena, &err) == NULL);
  ck_assert_str_eq(buf_str(&err), "CUDACXX is '/nowhere/nvcc', which is not a program");
  RtBuild b = {"k", TEXT(""), "sm_80", RT_PTX, NULL};
  const char *path;
  ck_assert_int_eq(rt_build(arena, &b, &path, NULL, &err), RT_MISSING);
}
END_TEST

START_TEST(unsafe_cache_is_refused) {
  if (skipped("unsafe_cache_is_refused")) return;
  char folder[] = "/tmp/tlc-cache-XXXXXX";
  ck_assert(mkdtemp(folder));
  setenv("XDG_CACHE_HOME", folder, 1);
  ck_assert_int_eq(
      system(arena_printf(arena, "mkdir -m 777 %s/tlc; chmod 777 %s/tlc", folder, folder)), 0);
  RtBuild b = {"k", TEXT(""), "sm_80", RT_PTX, NULL};
  const char *path;
  ck_assert_int_eq(rt_build(arena, &b, &path, NULL, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "only you can write to"));
  ck_assert_int_eq(system(arena_printf(arena, "rm -r %s", folder)), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("runtime");
  TCase *tc = tcase_create("runtime");
  tcase_set_timeout(tc, 120);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, normal_moments, 0, LEN(float_types));
  tcase_add_test(tc, normal_shape);
  tcase_add_test(tc, fill_is_a_function_of_seed_stream_and_index);
  tcase_add_loop_test(tc, fill_by_threads, 0, RT_TYPE_COUNT);
  tcase_add_loop_test(tc, small_integers, 0, RT_TYPE_COUNT);
  tcase_add_test(tc, poison_zeros_bits);
  tcase_add_test(tc, elements);
  tcase_add_test(tc, compare_floats);
  tcase_add_test(tc, compare_integers);
  tcase_add_test(tc, difference_in_words);
  tcase_add_test(tc, median_interval);
  tcase_add_test(tc, reports);
  tcase_add_test(tc, launcher_of_mixed_arguments);
  tcase_add_test(tc, launcher_of_many_arguments);
  tcase_add_test(tc, nvcc_says_what_is_wrong);
  tcase_add_test(tc, builds_are_cached_by_content);
  tcase_add_test(tc, unsafe_cache_is_refused);
  tcase_add_test(tc, no_nvcc);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
