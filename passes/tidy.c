// tidy: what lowering left behind goes: decided conditions, unused lets, registers nothing reads.
// Index arithmetic stays exact: the emitter asks facts_bounds for its width, 32 bits where that is
// proved.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

void pass_tidy(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) simplify_kernel(p, p->kernels.data[i], c);
}
