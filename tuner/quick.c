// A rough time from tiles alone: products, bytes from L2, shared memory for operands, waves. It
// chooses what is worth compiling.
// SPDX-License-Identifier: MIT
#include <math.h>

#include "tuner/model.h"

// Not all tiles are needed at once: up to so many times the room may fit, but comes behind what
// does.
#define MOST_CROWD 4
#define BEHIND_ALL 1e6

typedef struct {
  MvEnv env;
  Arena *arena;
  const Kernel *kernel;
  const Target *target;
  const TnFigures *f;
  double times, flops, tensor, loaded, smem; // of a block; tensor: seconds of the whole GPU
  double fragments;                          // registers of the block
  double shared;                             // bytes
  double again;                              // of these, those that a pipelined loop has twice
  VEC(const Buffer *) twice;                 // these
  int pipelined;                             // loops around
  double crowd; // the share that its tiles take of what there is, were all of them needed at once
  bool bad;
} Quick;

static void note_twice(Quick *q, const Buffer *b) {
  for (int i = 0; i < q->twice.len; i++)
    if (q->twice.data[i] == b) return;
  vec_push(q->arena, &q->twice, b);
  q->again += (double)buf_elems(b) * dt_bits(b->dtype) / 8;
}

static void access(void *ctx, const Access *a) {
  Quick *q = ctx;
  const Buffer *b = a->region.buf;
  if (b->scope == SC_SHARED && q->pipelined && a->mode != ACC_READ) note_twice(q, b);
  if (b->scope != SC_GLOBAL) return;
  double bytes = dt_bits(a->region.buf->dtype) / 8.0;
  for (int i = 0; i < a->region.n; i++) {
    MvRange at = mv_eval(&q->env, a->region.min[i]), n = mv_eval(&q->env, a->region.extent[i]);
    bytes *= (double)(at.hi - at.lo + n.hi);
  }
  q->loaded += q->times * bytes;
}

static void gemm(Quick *q, const Stmt *s) {
  JobGemm g;
  if (!job_gemm(s, q->kernel->threads, &g)) {
    q->bad = true;
    return;
  }
  DType t = s->u.op.arg[op_arg(OP_GEMM, "a")].region->buf->dtype;
  bool groups = q->target->bulk && g.m % 64 == 0 && q->kernel->threads % 128 == 0;
  double flops = 2.0 * (double)(g.m * g.n * g.k), bytes = dt_bits(t) / 8.0;
  double share = groups ? 1 : q->f->mma_share;
  double rows = groups ? ceil((double)g.m / 64) : g.warps_m; // times that B is read
  q->flops += q->times * flops;
  q->tensor += q->times * flops / (mw_tensor_rate(q->f, t) * share);
  double columns = groups ? 1 : g.warps_n; // and A
  q->smem += q->times * bytes * (double)g.k * ((double)g.n * rows + (double)g.m * columns);
}

static void visit(Quick *q, Stmt *s) {
  int mark = q->env.cells.len;
  double times = q->times;
  if (s->kind != ST_BLOCK) st_accesses(q->arena, s, access, q);
  if (s->kind == ST_OP && s->u.op.op == OP_GEMM) gemm(q, s);
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) visit(q, s->u.block.data[i]);
    break;
  case ST_FOR:
    for (int i = 0; i < s->u.loop.nvars; i++) {
      int64_t lo = mv_point(&q->env, s->u.loop.min[i]), n = mv_point(&q->env, s->u.loop.extent[i]);
      bool whole = s->u.loop.loop == LOOP_PARALLEL;
      if (n > LOOP_ENDLESS / 2) n = 1;
      if (!whole) q->times *= n > 0 ? (double)n : 0;
      MvRange at = whole ? (MvRange){lo, lo + n - 1} : (MvRange){lo + n / 2, lo + n / 2};
      vec_push(q->arena, &q->env.cells, (MvCell){.var = s->u.loop.var[i]});
      mv_set(&q->env, s->u.loop.var[i], at, at);
    }
    q->pipelined += s->u.loop.loop == LOOP_PIPELINED;
    if (q->times > 0) visit(q, s->u.loop.body);
    q->pipelined -= s->u.loop.loop == LOOP_PIPELINED;
    break;
  case ST_IF:
    if (mv_truth(&q->env, s->u.branch.cond)) visit(q, s->u.branch.yes);
    else if (s->u.branch.no) visit(q, s->u.branch.no);
    break;
  case ST_LET: mv_let(&q->env, s->u.let.var, s->u.let.value); return;
  default: break;
  }
  q->times = times;
  mv_pop(&q->env, mark);
}

static void room(Quick *q) {
  for (int i = 0; i < q->kernel->buffers.len; i++) {
    const Buffer *b = q->kernel->buffers.data[i];
    if (b->base || b->scope == SC_LOCAL) continue;
    double bytes = (double)buf_elems(b) * dt_bits(b->dtype) / 8;
    if (b->scope == SC_SHARED) q->shared += bytes;
    else q->fragments += bytes / 4;
  }
  double threads = q->kernel->threads;
  double most = q->target->max_regs_per_thread - 24, all = q->target->regs_per_sm - 24 * threads;
  double shared = fmax(q->shared, 2 * q->again); // others may have the place of these
  q->crowd = fmax(q->fragments / threads / most, shared / (double)q->target->max_smem_block);
  q->crowd = fmax(q->crowd, q->fragments / fmax(all, 1));
  q->bad |= q->crowd > MOST_CROWD;
}

static double kernel_us(Quick *q) {
  double blocks = 1;
  for (int d = 0; d < 3; d++) {
    int64_t n = mv_point(&q->env, q->kernel->grid[d]);
    MvRange at = {n / 2, n / 2};
    if (q->kernel->block[d]) mv_set(&q->env, q->kernel->block[d], at, at);
    blocks *= n > 0 ? (double)n : 1;
  }
  MvRange threads = {0, q->kernel->threads - 1};
  mv_set(&q->env, q->kernel->thread, threads, threads);
  visit(q, q->kernel->body);
  room(q);
  if (q->bad) return 0;
  double sms = q->f->sms, fit = floor((double)q->target->smem_per_sm / (2 * q->shared + 1024));
  double by_regs = floor(q->target->regs_per_sm / (q->fragments + 32.0 * q->kernel->threads));
  if (fit > by_regs) fit = by_regs;
  double slots = sms * (fit < 1 ? 1 : fit > 4 ? 4 : fit);
  double waves = ceil(blocks / slots) * slots / blocks; // of work that idle ones could have done
  double tensor = blocks * q->tensor * waves, l2 = blocks * q->loaded / (q->f->l2 * 1e9);
  double smem = waves * blocks * q->smem / (sms * 128 * q->f->clock * 1e9);
  double most = fmax(tensor, fmax(l2, smem));
  double us = 1e6 * (most + 0.1 * (tensor + l2 + smem)) + q->f->launch;
  return q->crowd > 1 ? BEHIND_ALL * q->crowd * us : us;
}

double tn_estimate(Arena *a, const Program *tile, const Target *t, const TnFigures *f,
                   const TnBindings *sizes) {
  double us = 0;
  for (int i = 0; i < tile->kernels.len; i++) {
    Quick q = {.env.arena = a,
               .arena = a,
               .kernel = tile->kernels.data[i],
               .target = t,
               .f = f,
               .times = 1};
    mv_sizes(&q.env, tile, sizes);
    double one = kernel_us(&q);
    if (one <= 0) return 0;
    us += one;
  }
  return us;
}
