// tidy: not written yet.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

void pass_tidy(Program *p, PassCtx *c) {}
