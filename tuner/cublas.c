// cuBLAS beside the candidates of one problem size: its algorithm is chosen with operands of its
// own, while a compiler is waited for; it is timed with those of the candidates.
// SPDX-License-Identifier: MIT
#include "tuner/runner.h"

static bool find(const TnInputs *in, Product *p, RtGemm *g) {
  const RtArray *array = in->data.array;
  int64_t mnk[3];
  return product_find(in->owner.program, p) &&
         product_sizes(p, array[p->a].shape, array[p->b].shape, array[p->c].shape, mnk) &&
         product_gemm(&in->data, NULL, p, g);
}

static RtStatus copy_of(const TnInputs *in, RtGpu *gpu, int i, void **out, Buf *err) {
  RtStatus s = rt_gpu_alloc(gpu, in->data.bytes[i], out, err);
  return s == RT_OK ? rt_gpu_upload(gpu, *out, in->data.array[i].data, in->data.bytes[i], err) : s;
}

void tn_cublas_choose(TnInputs *in, RtGpu *gpu) {
  Product p;
  RtGemm g;
  Buf none = {0};
  void *a = NULL, *b = NULL;
  if (in->blas || !find(in, &p, &g)) return;
  RtStatus s = copy_of(in, gpu, p.a, &a, &none);
  if (s == RT_OK) s = copy_of(in, gpu, p.b, &b, &none);
  if (s == RT_OK && !in->c) s = rt_gpu_alloc(gpu, in->data.bytes[p.c], &in->c, &none);
  g.a = a;
  g.b = b;
  g.c = in->c;
  if (s == RT_OK) (void)rt_blas_new(gpu, &g, -1, &in->blas, &none);
  rt_gpu_free(gpu, a);
  rt_gpu_free(gpu, b);
  buf_free(&none);
}

bool tn_cublas_with(TnInputs *in, RtGpu *gpu, const RtCall *call, RtContender *out) {
  Product p;
  RtGemm g;
  tn_cublas_choose(in, gpu); // should that have had no time
  if (!in->blas || !find(in, &p, &g)) return false;
  rt_blas_operands(in->blas, rt_call_device(call, p.a), rt_call_device(call, p.b));
  *out = (RtContender){"cublasLt", rt_blas_launch, in->blas};
  return true;
}

void tn_cublas_drop(TnInputs *in, RtGpu *gpu) {
  rt_blas_free(in->blas);
  if (in->c) rt_gpu_free(gpu, in->c);
  in->blas = NULL;
  in->c = NULL;
}
