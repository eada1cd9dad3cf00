// Inside eval: runs of consecutive elements. v_run.c
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_RUNS_H
#define TLC_EVAL_RUNS_H

#include "eval/internal.h"

bool ev_store_run(Ev *ev, Region *to, Val v, Span at); // a slice = a run; false: v is none
// n elements from the start of each; zeros where `pred` does not hold (NULL: it does).
void ev_copy_run(Ev *ev, Region *to, Region *from, int64_t n, Expr *pred, Span at);
bool ev_reinterpret_run(Ev *ev, Val v, Val type, Span at, Val *out); // false: v is no run

#endif
