// --bench: a checked kernel timed on the GPU, beside cublasLt where the program is one matrix
// product, else beside a copy of as many bytes.
// SPDX-License-Identifier: MIT
#include "driver/device.h"

enum { LEAST_COPY = 4096 }; // bytes: a copy of fewer says nothing

typedef struct {
  RtTiming time[2];
  int n; // 2 with a reference
  double flops, bytes;
} Result;

// What the kernel is timed beside.
typedef struct {
  RtContender it; // launch NULL: nothing
  RtBlas *blas;
  RtCopy *copy;
  void *c; // cuBLAS's result
} Reference;

static RtStatus blas_reference(const DeviceKernel *k, RtGemm g, size_t bytes, Reference *r,
                               Buf *err) {
  RtStatus s = rt_gpu_alloc(k->gpu, bytes, &r->c, err);
  if (s != RT_OK) return s;
  g.c = r->c;
  Buf why = {0};
  if (rt_blas_new(k->gpu, &g, 0.05, &r->blas, &why) == RT_OK)
    r->it = (RtContender){"cublasLt", rt_blas_launch, r->blas};
  else fprintf(stderr, "tlc: no cuBLAS beside it: %s\n", buf_str(&why));
  buf_free(&why);
  return RT_OK;
}

static RtStatus time_all(const Options *o, DeviceKernel *k, RtCall *call, const RunData *d,
                         const Product *product, Result *out, Buf *err) {
  RtContender list[2];
  Reference r = {0};
  int n = 0;
  RtStatus s = RT_OK;
  RtGemm g;
  if (product && product_gemm(d, call, product, &g)) {
    out->flops = 2.0 * (double)g.m * (double)g.n * (double)g.k;
    s = blas_reference(k, g, d->bytes[product->c], &r, err);
  } else if (out->bytes >= LEAST_COPY) {
    s = rt_copy_new(k->gpu, k->args, k->nargs, &r.copy, err);
    r.it = (RtContender){"copy", rt_copy_launch, r.copy};
  }
  if (r.it.launch) list[n++] = r.it;
  list[n++] = (RtContender){d->program->symbol, rt_call_launch, call};
  RtBenchOptions options = {.rounds = o->rounds ? o->rounds
                                      : n == 2  ? 15
                                                : 7,
                            .cold_l2 = o->cold_l2};
  if (s == RT_OK) s = rt_bench(k->gpu, list, n, &options, out->time, err);
  out->n = n;
  rt_blas_free(r.blas);
  rt_copy_free(r.copy);
  rt_gpu_free(k->gpu, r.c);
  return s;
}

static void report(const Options *o, const char *arch, const RunData *d, const DeviceKernel *k,
                   const Result *r) {
  RtReport text = {.kernel = d->program->symbol,
                   .gpu = rt_gpu_info(k->gpu),
                   .time = &r->time[r->n - 1],
                   .reference = r->n == 2 ? &r->time[0] : NULL,
                   .flops = r->flops,
                   .bytes = r->bytes,
                   .cold_l2 = o->cold_l2,
                   .arch = arch,
                   .bindings = d->program->bindings};
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
  if (o->tune.no_run) return device_build(j, o);
  RunData d;
  int status = data_make(&d, j->tile.data[0], o);
  if (status) return status;
  d.wgmma = j->target->bulk;
  EmuArg *args = data_args(&d, o->arena, false);
  DeviceKernel k;
  status = device_load(j, o, &d, args, &k);
  if (status) return status;
  tn_gpu_claim(o->arena);
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
  if (s == RT_OK && !checked) report(o, j->target->name, &d, &k, &result);
  if (s != RT_OK) fprintf(stderr, "tlc: %s\n", buf_str(&err));
  buf_free(&err);
  rt_call_free(call);
  device_free(&k);
  return s == RT_OK ? checked : s == RT_MISSING ? EXIT_MACHINE : EXIT_WRONG_PROGRAM;
}
