// Times cublasLt alone, A times B transposed of N(0,1) inputs, by the method of tlc --bench.
// Usage: cublas TYPE M N K[,K...]   prints a line for each K
// Build: cc -std=c11 -O2 -D_GNU_SOURCE -I. -o build/cublas bench/cublas.c runtime/*.c base/*.c -lm
// SPDX-License-Identifier: MIT
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

static void need(RtStatus s, const Buf *err) {
  if (s == RT_OK) return;
  fprintf(stderr, "cublas: %s\n", buf_str(err));
  exit(s == RT_MISSING ? 3 : 1);
}

static void *operand(Arena *a, RtGpu *g, RtType t, int64_t count, uint64_t stream, Buf *err) {
  size_t bytes = rt_type_bytes(t, count);
  void *host = arena_alloc(a, bytes), *device;
  rt_fill(host, t, count, rt_type_is_float(t) ? RT_NORMAL : RT_BITS, 1, stream);
  need(rt_gpu_alloc(g, bytes, &device, err), err);
  need(rt_gpu_upload(g, device, host, bytes, err), err);
  return device;
}

static void measure(RtGpu *g, RtType t, int64_t m, int64_t n, int64_t k) {
  Arena *a = arena_new();
  Buf err = {0}, line = {0};
  RtType out = t == RT_I8                     ? RT_I32
               : t == RT_TF32                 ? RT_F32
               : t == RT_E4M3 || t == RT_E5M2 ? RT_BF16
                                              : t;
  RtGemm gemm = {.in = t, .out = out, .m = m, .n = n, .k = k, .trans_b = true};
  gemm.a = operand(a, g, t, m * k, 0, &err);
  gemm.b = operand(a, g, t, n * k, 1, &err);
  gemm.c = operand(a, g, out, m * n, 2, &err);
  RtBlas *blas;
  need(rt_blas_new(g, &gemm, 0.05, &blas, &err), &err);
  RtContender it = {"cublasLt", rt_blas_launch, blas};
  RtTiming time;
  need(rt_bench(g, &it, 1, &(RtBenchOptions){0}, &time, &err), &err);
  char *name = arena_printf(a, "cublasLt %s %lldx%lldx%lld", rt_type_name(t), (long long)m,
                            (long long)n, (long long)k);
  RtReport report = {.kernel = name, .gpu = rt_gpu_info(g), .time = &time};
  report.flops = 2.0 * (double)m * (double)n * (double)k;
  rt_report_text(&line, &report);
  puts(buf_str(&line));
  fflush(stdout);
  rt_blas_free(blas);
  rt_gpu_free(g, (void *)gemm.a);
  rt_gpu_free(g, (void *)gemm.b);
  rt_gpu_free(g, gemm.c);
  buf_free(&line);
  buf_free(&err);
  arena_free(a);
}

int main(int argc, char **argv) {
  RtType t;
  if (argc != 5 || !rt_type_find(argv[1], &t)) {
    fputs("usage: cublas TYPE M N K[,K...]\n", stderr);
    return 2;
  }
  RtGpu *g;
  Buf err = {0};
  need(rt_gpu_open(0, &g, &err), &err);
  for (char *k = strtok(argv[4], ","); k; k = strtok(NULL, ","))
    measure(g, t, atoll(argv[2]), atoll(argv[3]), atoll(k));
  rt_gpu_close(g);
  return 0;
}
