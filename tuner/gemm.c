// The largest product of a candidate, and how warps share it: for people.
// SPDX-License-Identifier: MIT
#include "tuner/internal.h"

typedef struct {
  TnCandidate *c;
  int threads;
  int64_t n; // of a wgmma
} Look;

static void tile_op(void *ctx, Stmt *s) {
  Look *l = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return;
  JobGemm g;
  (void)job_gemm(s, l->threads, &g);
  int *tile = l->c->tile;
  if (g.m * g.n * g.k <= (int64_t)tile[0] * tile[1] * tile[2]) return;
  tile[0] = (int)g.m;
  tile[1] = (int)g.n;
  tile[2] = (int)g.k;
  l->c->warps[0] = g.warps_m;
  l->c->warps[1] = g.warps_n;
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
