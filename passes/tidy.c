// tidy: what lowering left behind goes: decided conditions, unused lets, registers nothing reads.
// Index arithmetic stays exact: the emitter asks facts_bounds for its width, 32 bits where that is
// proved.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

// Where a thread's registers, fewer than the 255 it could name, do not suffice, ptxas of CUDA 13.0
// takes 32 of them unless told that one block is enough.
static bool is_tight(const Kernel *k, const Target *t) {
  int64_t most = t->regs_per_sm / kernel_threads(k), bits = 0;
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    if (b->scope == SC_LOCAL) bits += buf_elems(b) * dt_bits(b->dtype);
  }
  return most < 255 && bits / 32 > most * 7 / 8;
}

// -fmin-blocks, but for a kernel whose registers are divided already: for one block.
static void ask_blocks(Kernel *k, PassCtx *c) {
  const Target *t = c->target;
  int64_t blocks = pass_flag(c, k, "min-blocks", 0), threads = kernel_threads(k);
  int64_t most = t->threads_per_sm / threads;
  if (most > t->blocks_per_sm) most = t->blocks_per_sm;
  if (blocks > most)
    diag_report(c->diags, DIAG_MIN_BLOCKS, k->span, (long long)blocks, (long long)threads, t->name,
                t->threads_per_sm, t->blocks_per_sm, (long long)most);
  else if (!k->min_blocks) k->min_blocks = (int)blocks;
  else if (blocks > 1)
    diag_remark(c->diags, k->span, "registers",
                "with a producer they are divided for one block, not for %lld", (long long)blocks);
}

void pass_tidy(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *k = p->kernels.data[i];
    slots_kernel(k, c);
    simplify_kernel(p, k, c);
    keep_operands(c, k);
    ask_blocks(k, c);
    if (!k->min_blocks && is_tight(k, c->target)) k->min_blocks = 1;
  }
  pdl_kernels(p, c);
}
