// Run-time loops: what control.c traces into the kernel.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_RT_LOOP_H
#define TLC_EVAL_RT_LOOP_H

#include "eval/internal.h"

void rt_jump(Ev *ev, Flow flow, Span at); // a break or continue under a run-time condition
void rt_for(Ev *ev, const AstStmt *s, const Loop *l);
bool rt_for_threads(Ev *ev, const AstStmt *s, Val iter); // for x in T.thread_binding(...)
Loop *rt_range(Ev *ev, const Range *r, Span at); // range(...) as a serial loop
Val rt_condition(Ev *ev, const AstExpr *cond, Stmt **before); // and the statements it needs
void rt_while(Ev *ev, const AstStmt *s, Val cond, Stmt *before);

#endif
