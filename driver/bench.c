// --bench: a checked kernel timed on the GPU, beside cublasLt where the program is one matrix
// product. SPDX-License-Identifier: MIT
#include "driver/device.h"

typedef struct {
  RtTiming time[2];
  int n; // 2 with cuBLAS
  double flops, bytes;
} Result;

static RtStatus time_all(const Options *o, DeviceKernel *k, RtCall *call, const RunData *d,
                         const Product *product, Result *out, Buf *err) {
  RtContender list[2];
  RtBlas *blas = NULL;
  void *c = NULL;
  int n = 0;
  RtStatus s = RT_OK;
  if (product) {
    RtGemm g = product_gemm(d, call, product);
    out->flops = 2.0 * (double)g.m * (double)g.n * (double)g.k;
    s = rt_gpu_alloc(k->gpu, d->bytes[product->c], &c, err);
    g.c = c;
    Buf why = {0};
    if (s == RT_OK && rt_blas_new(k->gpu, &g, &blas, &why) == RT_OK)
      list[n++] = (RtContender){"cublasLt", rt_blas_launch, blas};
    else if (why.len) fprintf(stderr, "tlc: no cuBLAS beside it: %s\n", buf_str(&why));
    buf_free(&why);
  }
  list[n++] = (RtContender){d->program->symbol, rt_call_launch, call};
  RtBenchOptions options = {.rounds = n == 2 ? 15 : 7, .cold_l2 = o->cold_l2};
  if (s == RT_OK) s = rt_bench(k->gpu, list, n, &options, out->time, err);
  out->n = n;
  rt_blas_free(blas);
  if (c) rt_gpu_free(k->gpu, c);
  return s;
}

static void report(const Options *o, const RunData *d, const DeviceKernel *k, const Result *r) {
  RtReport text = {.kernel = d->program->symbol,
                   .gpu = rt_gpu_info(k->gpu),
                   .time = &r->time[r->n - 1],
                   .reference = r->n == 2 ? &r->time[0] : NULL,
                   .flops = r->flops,
                   .bytes = r->bytes,
                   .cold_l2 = o->cold_l2};
  Buf b = {0};
  if (o->json) rt_report_json(&b, &text);
  else rt_report_text(&b, &text);
  fputs(buf_str(&b), stdout);
  if (b.len && b.data[b.len - 1] != '\n') putchar('\n');
  buf_free(&b);
}

// One launch, compared like --run's, before anything is timed.
static int check_first(Job *j, const Options *o, const RunData *d, DeviceKernel *k, RtCall *call,
                       EmuArg *args) {
  Buf err = {0};
  RtStatus s = rt_call_launch(call, rt_gpu_stream(k->gpu), &err);
  if (s == RT_OK) s = rt_gpu_sync(k->gpu, &err);
  for (int i = 0; i < d->program->params.len && s == RT_OK; i++)
    if (data_is_output(d->program, i)) s = rt_call_fetch(call, i, args[i].data, &err);
  if (s == RT_OK) s = rt_call_guards(call, &err);
  if (s != RT_OK) fprintf(stderr, "tlc: %s\n", buf_str(&err));
  buf_free(&err);
  return s == RT_OK ? run_compare(j, o, d, args) : EXIT_WRONG_PROGRAM;
}

int drv_bench(Job *j, const Options *o) {
  if (!job_front(j, o) || !job_lower(j, o)) return EXIT_WRONG_PROGRAM;
  if (j->thread.len != 1) {
    fprintf(stderr, "tlc: --bench times one kernel; choose with --entry\n");
    return EXIT_USAGE;
  }
  RunData d;
  int status = data_make(&d, j->tile.data[0], o);
  if (status) return status;
  EmuArg *args = data_args(&d, o->arena, false);
  DeviceKernel k;
  status = device_load(j, o, &d, args, &k);
  if (status) return status;
  Product product;
  bool is_product = product_find(j->tile.data[0], &product);
  Result result = {0};
  for (int i = 0; i < j->thread.data[0]->params.len; i++) result.bytes += (double)d.bytes[i];
  Buf err = {0};
  RtCall *call = NULL;
  RtStatus s = rt_call_new(k.gpu, k.kernel, k.args, k.nargs, &call, &err);
  int checked = s == RT_OK ? check_first(j, o, &d, &k, call, args) : EXIT_OK;
  if (s == RT_OK && !checked)
    s = time_all(o, &k, call, &d, is_product ? &product : NULL, &result, &err);
  if (s == RT_OK && !checked) report(o, &d, &k, &result);
  if (s != RT_OK) fprintf(stderr, "tlc: %s\n", buf_str(&err));
  buf_free(&err);
  rt_call_free(call);
  device_free(&k);
  return s == RT_OK ? checked : s == RT_MISSING ? EXIT_MACHINE : EXIT_WRONG_PROGRAM;
}
