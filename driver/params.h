// Recorded parameters of kernels (--params).
// SPDX-License-Identifier: MIT
#ifndef TLC_PARAMS_H
#define TLC_PARAMS_H

#include "driver/json.h"

typedef struct {
  Arena *arena;
  Json json; // an object of files
} Params;

// Reads a file; ends the run with a usage error where it is not of the form.
Params *params_read(Arena *a, const char *path);
// How many sets of values there are for a kernel of a file.
int params_count(const Params *p, const char *path, const char *kernel);
// The i-th set into `out`, name -> text of -p.
void params_bind(const Params *p, const char *path, const char *kernel, int i, Map *out);

#endif
