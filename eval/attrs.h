// Inside eval: what is asked of the compiler beside a kernel.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_ATTRS_H
#define TLC_EVAL_ATTRS_H

#include "eval/internal.h"

Val pass_key(Ev *ev, const char *name, Span at); // PassConfigKey.NAME, as the key it stands for
// Says what becomes of a jitted function's operands. params: of its kernel; -1 for an eager one.
void attrs_report(Ev *ev, const Func *f, int params);

#endif
