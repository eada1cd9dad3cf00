// tidy: what lowering left behind goes: decided conditions, unused lets, registers nothing reads.
// Index arithmetic stays exact: the emitter asks facts_bounds for its width, 32 bits where that is
// proved.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

void pass_tidy(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *k = p->kernels.data[i];
    slots_kernel(k, c);
    simplify_kernel(p, k, c);
    keep_operands(c, k);
    pdl_kernel(k, c);
    int64_t blocks = pass_flag(c, k, "min-blocks", 0);
    if (!k->min_blocks && blocks <= HINT_MOST) k->min_blocks = (int)blocks;
  }
}
