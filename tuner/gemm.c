// The largest product of a candidate, and how warps share it: for people.
// SPDX-License-Identifier: MIT
#include "passes/plan.h"
#include "tuner/internal.h"

typedef struct {
  TnCandidate *c;
  int threads;
  int64_t n; // of a wgmma
} Look;

static void tile_op(void *ctx, Stmt *s) {
  Look *l = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return;
  int64_t m, n, k;
  plan_gemm_dims(s, &m, &n, &k);
  int *tile = l->c->tile;
  if (m * n * k <= (int64_t)tile[0] * tile[1] * tile[2]) return;
  tile[0] = (int)m;
  tile[1] = (int)n;
  tile[2] = (int)k;
  GemmPolicy policy = (GemmPolicy)s->u.op.arg[op_arg(OP_GEMM, "policy")].i;
  if (!plan_partition(policy, tile[0], tile[1], l->threads / 32, &l->c->warps[0], &l->c->warps[1]))
    l->c->warps[0] = l->c->warps[1] = 0;
}

static void thread_op(void *ctx, Stmt *s) {
  Look *l = ctx;
  if (s->kind == ST_OP && s->u.op.op == OP_WGMMA) l->n = s->u.op.arg[op_arg(OP_WGMMA, "n")].i;
}

void tn_note_gemm(const Job *j, TnCandidate *c) {
  c->tile[0] = c->tile[1] = c->tile[2] = c->warps[0] = c->warps[1] = c->panel = 0;
  for (int i = 0; i < j->tile.len; i++) {
    const Program *p = j->tile.data[i];
    for (int k = 0; k < p->kernels.len; k++) {
      Kernel *kernel = p->kernels.data[k];
      Look l = {c, kernel->threads, 0};
      st_walk(kernel->body, tile_op, &l);
      if (kernel->raster_panel > c->panel) c->panel = kernel->raster_panel;
      if (k < j->thread.data[i]->kernels.len)
        st_walk(j->thread.data[i]->kernels.data[k]->body, thread_op, &l);
      if (!l.n || !c->tile[0] || c->tile[1] < l.n) continue; // warpgroups share by their columns
      c->warps[1] = (int)(c->tile[1] / l.n);
      if (c->warps[1] > kernel->threads / 128) c->warps[1] = 1;
      c->warps[0] = kernel->threads / 32 / c->warps[1];
    }
  }
}
