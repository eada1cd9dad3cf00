// Programs that are one matrix product, so that cuBLAS can be timed beside them.
// SPDX-License-Identifier: MIT
#include "driver/device.h"

typedef struct {
  const Program *program;
  const Stmt *gemm;
  int ngemms;
  Buffer *tile[2];
  int source[2];
} Search;

static int param_of(const Program *p, const Buffer *b) {
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].buf == b) return i;
  return -1;
}

static void find_gemm(void *ctx, Stmt *s) {
  Search *f = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return;
  f->gemm = s;
  f->ngemms++;
}

static void find_sources(void *ctx, Stmt *s) {
  Search *f = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_COPY) return;
  int source = param_of(f->program, s->u.op.arg[0].region->buf);
  for (int i = 0; i < 2 && source >= 0; i++)
    if (s->u.op.arg[1].region->buf == f->tile[i]) f->source[i] = source;
}

bool product_find(const Program *p, Product *out) {
  Search f = {.program = p, .source = {-1, -1}};
  for (int i = 0; i < p->kernels.len; i++) st_walk(p->kernels.data[i]->body, find_gemm, &f);
  if (f.ngemms != 1) return false;
  for (int i = 0; i < 2; i++) f.tile[i] = f.gemm->u.op.arg[i].region->buf;
  for (int i = 0; i < p->kernels.len; i++) st_walk(p->kernels.data[i]->body, find_sources, &f);
  *out = (Product){f.source[0], f.source[1], -1, f.gemm->u.op.arg[3].i != 0,
                   f.gemm->u.op.arg[4].i != 0};
  int outputs = 0;
  for (int i = 0; i < p->params.len; i++)
    if (data_is_output(p, i)) out->c = i, outputs++;
  return outputs == 1 && out->a >= 0 && out->b >= 0 && p->params.data[out->a].buf->ndim == 2 &&
         p->params.data[out->b].buf->ndim == 2 && p->params.data[out->c].buf->ndim == 2;
}

// Where C holds the product's transpose: C = (op(A) op(B))' = op(B)' op(A)'.
static Product transposed(const Product *p) {
  return (Product){p->b, p->a, p->c, !p->trans_b, !p->trans_a};
}

static bool agree(const Product *p, const int64_t *a, const int64_t *b, const int64_t *c) {
  return a[p->trans_a] == c[0] && b[!p->trans_b] == c[1] && a[!p->trans_a] == b[p->trans_b];
}

bool product_sizes(Product *p, const int64_t *a, const int64_t *b, const int64_t *c,
                   int64_t mnk[3]) {
  if (!agree(p, a, b, c)) {
    const int64_t *other = a;
    *p = transposed(p);
    a = b;
    b = other;
    if (!agree(p, a, b, c)) return false;
  }
  mnk[0] = c[0];
  mnk[1] = c[1];
  mnk[2] = a[!p->trans_a];
  return true;
}

bool product_gemm(const RunData *d, const RtCall *call, const Product *product, RtGemm *out) {
  Product p = *product;
  const RtArray *a = &d->array[p.a], *b = &d->array[p.b], *c = &d->array[p.c];
  int64_t mnk[3];
  if (!product_sizes(&p, a->shape, b->shape, c->shape, mnk)) return false;
  a = &d->array[p.a];
  *out = (RtGemm){.in = a->type,
                  .out = c->type,
                  .m = mnk[0],
                  .n = mnk[1],
                  .k = mnk[2],
                  .trans_a = p.trans_a,
                  .trans_b = p.trans_b};
  if (call) out->a = rt_call_device(call, p.a), out->b = rt_call_device(call, p.b);
  if (out->in == data_type(DT_F32)) out->in = data_type(DT_TF32);
  return true;
}
