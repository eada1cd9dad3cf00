// simplify: not written yet.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

void pass_simplify(Program *p, PassCtx *c) {}
