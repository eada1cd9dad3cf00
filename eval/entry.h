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
// A scope with f's parameters bound as -p says, else to their defaults; e->params says how.
Env *entry_bind(Ev *ev, Func *f, EvEntry *e);
Program *trace_kernel(Ev *ev, Func *f, const char *symbol, EvEntry *e); // under prim_func, or eager
// Runs a factory for what it does; its result.
Val entry_factory(Ev *ev, Func *f, EvEntry *e);

// T.make_tensor: the tensor that a T.ptr parameter is the address of. kernel.c
Val ev_point(Ev *ev, Call *c, const TensorType *t);

/* none.c: a file or a factory without a kernel, and what it may have meant */

void entry_none(Ev *ev, const Env *module);
void entry_no_kernel(Ev *ev, const Func *f, Val returned);
bool entry_nested_prim(Ev *ev, const Func *f); // f holds a kernel and is marked as one: reported

/* entry.c */

void entry_run(Ev *ev, Env *module); // evaluates what --entry selects into ev->result

/* space.c */

int space_setting(const char *name); // TUNE_..., or -1
// Fails where the value of a setting is none that it takes; one that nobody knows is let pass.
void space_check(Ev *ev, int setting, Val v, Span at);

// Tolerances, launches, a reference that are declared beside the tuning space of f.
void space_declared(Ev *ev, const Func *f, EvEntry *e);
// Evaluates the tuning space that f declares, or a tuner of f does, into e->configs.
void space_of(Ev *ev, Func *f, EvEntry *e);
// The same for a tuner that the i-th entry makes when evaluated, or that host code makes of it.
void space_tuned(Ev *ev, const Entries *all, int i, EvEntry *e);

#endif
