// What the files of the pipeline pass share.
// SPDX-License-Identifier: MIT
#ifndef TLC_PIPELINE_H
#define TLC_PIPELINE_H

#include "passes/internal.h"

/* pipeline_ring.c */

// Gives every tile that an async copy of a loop with two or more stages fills a leading dimension,
// the ring, and every access of it a slot. Runs before the loops are expanded.
void pipeline_rings(PassCtx *c, Kernel *k);

#endif
