// check: not written yet.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

void pass_check(Program *p, PassCtx *c) {}
