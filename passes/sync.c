// sync: not written yet.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

void pass_sync(Program *p, PassCtx *c) {}
