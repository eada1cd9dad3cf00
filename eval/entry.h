// Inside eval: the entries of a module.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_ENTRY_H
#define TLC_EVAL_ENTRY_H

#include "eval/internal.h"

typedef struct {
  const char *name;
  Func *f;
} Candidate;

typedef VEC(Candidate) Entries;

// Functions of the module that are kernels: decorated ones of this file; else plain factories of
// this file; else decorated ones that it imports.
void entry_candidates(Ev *ev, Env *module, Entries *out);
void entry_run(Ev *ev, Env *module); // evaluates what --entry selects into ev->result

#endif
