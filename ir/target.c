// The targets that tlc knows, as limits (CUDA C++ Programming Guide, "Compute Capabilities").
// SPDX-License-Identifier: MIT
#include "ir/target.h"

#include <string.h>

#define COMMON                                                                                     \
  .max_threads = 1024, .regs_per_sm = 65536, .max_regs_per_thread = 255,                           \
  .max_grid = {2147483647, 65535, 65535}, .max_param_bytes = 32764

static const Target targets[] = {
    {.name = "sm_80",
     .sm = 80,
     .sms = 108,
     .threads_per_sm = 2048,
     .blocks_per_sm = 32,
     .max_smem_block = 166912,
     .smem_per_sm = 167936,
     COMMON},
    {.name = "sm_86",
     .sm = 86,
     .sms = 84,
     .threads_per_sm = 1536,
     .blocks_per_sm = 16,
     .max_smem_block = 101376,
     .smem_per_sm = 102400,
     COMMON},
    {.name = "sm_87",
     .sm = 87,
     .sms = 16,
     .threads_per_sm = 1536,
     .blocks_per_sm = 16,
     .max_smem_block = 166912,
     .smem_per_sm = 167936,
     COMMON},
    {.name = "sm_89",
     .sm = 89,
     .sms = 142,
     .threads_per_sm = 1536,
     .blocks_per_sm = 24,
     .max_smem_block = 101376,
     .smem_per_sm = 102400,
     .fp8_mma = true,
     COMMON},
    {.name = "sm_90a",
     .sm = 90,
     .feature = "__CUDA_ARCH_FEAT_SM90_ALL",
     .sms = 132,
     .threads_per_sm = 2048,
     .blocks_per_sm = 32,
     .max_smem_block = 232448,
     .smem_per_sm = 233472,
     .l2 = (int64_t)50 << 20,
     .fp8_mma = true,
     .fp8_widens = true,
     .red_vec_f32 = true,
     .atomic_bf16 = true,
     .bulk = true,
     .max_cluster = 8,
     COMMON},
};

const Target *target_find(const char *name) {
  for (size_t i = 0; i < LEN(targets); i++) {
    if (!strcmp(targets[i].name, name)) return &targets[i];
  }
  return NULL;
}

const Target *target_at(int i) { return i >= 0 && i < (int)LEN(targets) ? &targets[i] : NULL; }

int target_thread_regs(const Target *t, int threads) {
  int most = t->regs_per_sm / threads / 8 * 8;
  return most < t->max_regs_per_thread ? most : t->max_regs_per_thread;
}

typedef struct {
  const Target *target;
  const Stmt *lacks;
} Fit;

static bool has(const Target *t, OpCode op) {
  bool sm90 = (op >= OP_MBAR_INIT && op <= OP_STMATRIX) || // ORDER_SM90
              (op >= OP_WGMMA && op <= OP_WGMMA_WAIT);
  bool named = op == OP_BAR_SYNC || op == OP_BAR_ARRIVE;
  return t->bulk || named || !sm90;
}

static void look(void *ctx, Stmt *s) {
  Fit *f = ctx;
  if (s->kind == ST_OP && !f->lacks && !has(f->target, s->u.op.op)) f->lacks = s;
}

const Stmt *target_lacks(const Target *t, const Program *p) {
  Fit f = {t, NULL};
  for (int i = 0; i < p->kernels.len; i++) st_walk(p->kernels.data[i]->body, look, &f);
  return f.lacks;
}
