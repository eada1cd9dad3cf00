// runtime on a GPU: memory, launches, errors, guards, hangs, timing, cuBLAS. Skips without one.
// SPDX-License-Identifier: MIT
#include "runtime/runtime.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Arena *arena;
static Buf err;
static RtGpu *gpu; // NULL: the test skips

static void setup(void) {
  arena = arena_new();
  if (rt_gpu_open(0, &gpu, &err) != RT_OK) gpu = NULL;
}

static void teardown(void) {
  rt_gpu_close(gpu);
  buf_free(&err);
  arena_free(arena);
}

static bool skipped(const char *test) {
  if (gpu) return false;
  printf("SKIPPED %s: %s\n", test, buf_str(&err));
  return true;
}

#define EXPECT_OK(call) ck_assert_msg((call) == RT_OK, "%s", buf_str(&err))

START_TEST(says_what_is_missing) {
  if (gpu) return;
  ck_assert_int_eq(rt_gpu_open(0, &gpu, &err), RT_MISSING);
  ck_assert(strstr(buf_str(&err), "no GPU"));
  ck_assert(gpu == NULL);
}
END_TEST

START_TEST(device_facts) {
  if (skipped("device_facts")) return;
  const RtGpuInfo *d = rt_gpu_info(gpu);
  printf("%s: %s, %d SMs, L2 %lld, shared %lld of %lld, driver %d\n", d->name, d->arch, d->sms,
         (long long)d->l2, (long long)d->smem_block, (long long)d->smem_sm, d->driver);
  ck_assert(d->sm >= 80 && d->sms > 0 && d->warp == 32 && d->l2 > 0 && d->smem_block > 48 << 10);
  RtGpu *none;
  ck_assert_int_eq(rt_gpu_open(1000, &none, &err), RT_MISSING);
}
END_TEST

// y = s x + y on n elements; with `past`, also on the elements before and behind; with `spin`,
// after some seconds.
static const char axpy_cu[] =
    "#include <stdint.h>\n"
    "__global__ void axpy_k0(const float *x, float *y, float s, int64_t n, int past, int spin) {\n"
    "  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  long long start = clock64();\n  while (spin && clock64() - start < 4000000000) {}\n"
    "  if (i < n) y[i] += s * x[i];\n"
    "  if (i == 0 && past > 0) y[n - 1 + past] = 1;\n"
    "  if (i == 0 && past < 0) y[past] = 1;\n"
    "}\n"
    "extern \"C\" cudaError_t axpy(const void *x, void *y, float s, int64_t n, int32_t past, "
    "int32_t spin,\n"
    "    cudaStream_t stream) {\n"
    "  if (n < 0) return cudaErrorInvalidValue;\n"
    "  axpy_k0<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>((const float *)x, (float *)y, s, "
    "n, past, spin);\n"
    "  return cudaPeekAtLastError();\n}\n";

typedef struct {
  RtKernel *kernel;
  RtCall *call;
  float *x, *y;
  int64_t n;
} Axpy;

static Axpy axpy(int64_t n, int past, int spin) {
  static const RtParam params[] = {{RT_F32, true},  {RT_F32, true},  {RT_F32, false},
                                   {RT_I64, false}, {RT_I32, false}, {RT_I32, false}};
  RtSource s = {.symbol = "axpy",
                .params = params,
                .n = LEN(params),
                .build = {.text = axpy_cu,
                          .len = sizeof axpy_cu - 1,
                          .arch = rt_gpu_info(gpu)->arch}};
  Axpy a = {.x = NEWN(arena, float, n), .y = NEWN(arena, float, n), .n = n};
  size_t bytes = (size_t)n * 4;
  rt_fill(a.x, RT_F32, n, RT_INTEGERS, 1, 0);
  rt_fill(a.y, RT_F32, n, RT_INTEGERS, 1, 1);
  RtArg args[] = {{params[0], a.x, bytes, {0}},
                  {params[1], a.y, bytes, {0}},
                  {.param = params[2], .scalar = {.f = 3}},
                  {.param = params[3], .scalar = {.i = n}},
                  {.param = params[4], .scalar = {.i = past}},
                  {.param = params[5], .scalar = {.i = spin}}};
  EXPECT_OK(rt_kernel_load(&s, &a.kernel, &err));
  EXPECT_OK(rt_call_new(gpu, a.kernel, args, LEN(args), &a.call, &err));
  return a;
}

static void axpy_free(Axpy *a) {
  rt_call_free(a->call);
  rt_kernel_free(a->kernel);
}

START_TEST(launch_and_fetch) {
  if (skipped("launch_and_fetch")) return;
  Axpy a = axpy(100003, 0, 0);
  float *got = NEWN(arena, float, a.n);
  for (int times = 1; times <= 2; times++) {
    EXPECT_OK(rt_call_launch(a.call, rt_gpu_stream(gpu), &err));
    EXPECT_OK(rt_call_fetch(a.call, 1, got, &err));
    for (int64_t i = 0; i < a.n; i++) ck_assert(got[i] == a.y[i] + 3 * (float)times * a.x[i]);
  }
  EXPECT_OK(rt_call_upload(a.call, &err));
  EXPECT_OK(rt_call_fetch(a.call, 1, got, &err));
  ck_assert_mem_eq(got, a.y, (size_t)a.n * 4);
  EXPECT_OK(rt_call_guards(a.call, &err));
  axpy_free(&a);
}
END_TEST

// The float 1 is the bytes 00 00 80 3f, none of which is the guard's.
START_TEST(stray_writes) {
  if (!gpu && _i > 0) return;
  if (skipped("stray_writes")) return;
  static const int pasts[] = {1, 1024, -1};
  static const char *const words[] = {"argument 1: byte 1 past its end",
                                      "argument 1: byte 4093 past its end",
                                      "argument 1: byte 1 before its start"};
  Axpy a = axpy(999, pasts[_i], 0);
  EXPECT_OK(rt_call_launch(a.call, rt_gpu_stream(gpu), &err));
  ck_assert_int_eq(rt_call_guards(a.call, &err), RT_FAILED);
  ck_assert_msg(strstr(buf_str(&err), words[_i]), "%s", buf_str(&err));
  axpy_free(&a);
}
END_TEST

START_TEST(errors_by_name) {
  if (skipped("errors_by_name")) return;
  Axpy a = axpy(64, 1 << 30, 0); // 4 GiB past the end: not mapped
  EXPECT_OK(rt_call_launch(a.call, rt_gpu_stream(gpu), &err));
  ck_assert_int_eq(rt_gpu_sync(gpu, &err), RT_FAILED);
  ck_assert_msg(strstr(buf_str(&err), "CUDA_ERROR_ILLEGAL_ADDRESS"), "%s", buf_str(&err));
  err.len = 0;
  void *p;
  ck_assert_int_eq(rt_gpu_alloc(gpu, (size_t)1 << 50, &p, &err), RT_FAILED);
  _exit(0); // the context is lost
}
END_TEST

START_TEST(hangs_end) {
  if (skipped("hangs_end")) return;
  Axpy a = axpy(64, 0, 1);
  rt_gpu_limit(gpu, 0.2);
  EXPECT_OK(rt_call_launch(a.call, rt_gpu_stream(gpu), &err));
  ck_assert_int_eq(rt_gpu_sync(gpu, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "did not finish within 0.2 s"));
  _exit(0);
}
END_TEST

// Twice the work takes about twice the time, warm or cold; cold is not faster.
START_TEST(timing) {
  if (skipped("timing")) return;
  Axpy one = axpy(20 << 20, 0, 0), two = axpy(40 << 20, 0, 0), tiny = axpy(1 << 10, 0, 0);
  RtContender list[] = {{"one", rt_call_launch, one.call},
                        {"two", rt_call_launch, two.call},
                        {"tiny", rt_call_launch, tiny.call}};
  RtTiming t[3], cold[3];
  RtBenchOptions o = {.idle_s = 0.02};
  EXPECT_OK(rt_bench(gpu, list, 3, &o, t, &err));
  o.cold_l2 = true;
  EXPECT_OK(rt_bench(gpu, list, 3, &o, cold, &err));
  for (int i = 0; i < 3; i++)
    printf("axpy %-5s warm %8.2f us (%.2f to %.2f, %d launches), cold %8.2f us\n", t[i].name,
           t[i].us, t[i].us_lo, t[i].us_hi, t[i].launches, cold[i].us);
  ck_assert(t[0].ratio == 1 && t[1].ratio > 0.4 && t[1].ratio < 0.65);
  ck_assert(cold[1].ratio > 0.4 && cold[1].ratio < 0.65);
  ck_assert(t[2].us < 10 && t[2].us <= cold[2].us);
  ck_assert(t[0].us_lo <= t[0].us && t[0].us <= t[0].us_hi);
  axpy_free(&one);
  axpy_free(&two);
  axpy_free(&tiny);
}
END_TEST

/* cuBLAS: every type and transpose, rectangular, against sums of integers, exact in every type */

static const struct {
  RtType in, out;
  bool only_nt; // the library has these types for A B' alone
} products[] = {
    {RT_F16, RT_F16, false},  {RT_F16, RT_F32, false},  {RT_BF16, RT_BF16, false},
    {RT_BF16, RT_F32, false}, {RT_TF32, RT_F32, false}, {RT_F32, RT_F32, false},
    {RT_F64, RT_F64, false},  {RT_I8, RT_I32, true},    {RT_E4M3, RT_F16, true},
    {RT_E4M3, RT_F32, true},
};
enum { PRODUCTS = sizeof products / sizeof products[0], M = 48, N = 80, K = 112 };

static double expected(const char *a, const char *b, RtType t, bool ta, bool tb, int i, int j) {
  double sum = 0;
  for (int k = 0; k < K; k++)
    sum += rt_get(t, a, ta ? k * M + i : i * K + k) * rt_get(t, b, tb ? j * K + k : k * N + j);
  return sum;
}

START_TEST(cublas_products) {
  if (!gpu && _i > 0) return; // the first one says it
  if (skipped("cublas_products")) return;
  RtType in = products[_i / 4].in, out = products[_i / 4].out;
  bool ta = _i & 1, tb = _i & 2;
  size_t an = rt_type_bytes(in, M * K), bn = rt_type_bytes(in, K * N),
         cn = rt_type_bytes(out, M * N);
  char *a = arena_alloc(arena, an), *b = arena_alloc(arena, bn), *c = arena_alloc(arena, cn);
  void *da, *db, *dc;
  rt_fill(a, in, M * K, RT_INTEGERS, 3, 0);
  rt_fill(b, in, K * N, RT_INTEGERS, 3, 1);
  EXPECT_OK(rt_gpu_alloc(gpu, an, &da, &err));
  EXPECT_OK(rt_gpu_alloc(gpu, bn, &db, &err));
  EXPECT_OK(rt_gpu_alloc(gpu, cn, &dc, &err));
  EXPECT_OK(rt_gpu_upload(gpu, da, a, an, &err));
  EXPECT_OK(rt_gpu_upload(gpu, db, b, bn, &err));
  RtGemm g = {in, out, M, N, K, ta, tb, da, db, dc};
  RtBlas *blas;
  RtStatus s = rt_blas_new(gpu, &g, 0.05, &blas, &err);
  if (s == RT_MISSING) {
    bool no_library = strstr(buf_str(&err), "not found");
    if (no_library) printf("SKIPPED cublas_products: %s\n", buf_str(&err));
    ck_assert_msg(no_library || (products[_i / 4].only_nt && !(!ta && tb)), "%s", buf_str(&err));
  } else {
    EXPECT_OK(s);
    EXPECT_OK(rt_gpu_memset(gpu, dc, 0xff, cn, &err));
    EXPECT_OK(rt_blas_launch(blas, rt_gpu_stream(gpu), &err));
    EXPECT_OK(rt_gpu_sync(gpu, &err));
    EXPECT_OK(rt_gpu_download(gpu, c, dc, cn, &err));
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        uint64_t want = 0; // rounded to the output type, which bf16 needs past 256
        rt_set(out, &want, 0, expected(a, b, in, ta, tb, i, j));
        ck_assert_msg(rt_get(out, c, i * N + j) == rt_get(out, &want, 0),
                      "%s [%d, %d]: %g, want %g", rt_type_name(in), i, j, rt_get(out, c, i * N + j),
                      rt_get(out, &want, 0));
      }
    rt_blas_free(blas);
  }
  rt_gpu_free(gpu, da);
  rt_gpu_free(gpu, db);
  rt_gpu_free(gpu, dc);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("gpu");
  TCase *tc = tcase_create("gpu");
  tcase_set_timeout(tc, 120);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, says_what_is_missing);
  tcase_add_test(tc, device_facts);
  tcase_add_test(tc, launch_and_fetch);
  tcase_add_loop_test(tc, stray_writes, 0, 3);
  tcase_add_test(tc, errors_by_name);
  tcase_add_test(tc, hangs_end);
  tcase_add_test(tc, timing);
  tcase_add_loop_test(tc, cublas_products, 0, 4 * PRODUCTS);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
