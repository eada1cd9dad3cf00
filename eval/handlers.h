// Every handler of the eval tables, declared from them.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_HANDLERS_H
#define TLC_EVAL_HANDLERS_H

#include "eval/internal.h"

#define LIB(module, name, fn, taste, signature, meaning) Val fn(Ev *ev, Call *c);
#include "eval/lib.def"
#undef LIB
#define METHOD(kind, name, fn, signature, meaning) Val fn(Ev *ev, Call *c);
#include "eval/methods.def"
#undef METHOD
#define VOCAB(name, fn, taste, signature, meaning) Val fn(Ev *ev, Call *c);
#define NOT_YET(name, meaning)
#include "eval/vocab.def"
#undef VOCAB
#undef NOT_YET

#endif
