// tuner/wire: what the tuner and its runner process say to each other.
// SPDX-License-Identifier: MIT
// One message a line:
//   verb TAB name=value TAB name=value ...
// with \t, \n and \\ for those bytes in values. A runner answers each message of the tuner:
//
//   hello                          -> [found name= arch= sm= driver=]
//                                     gpu name= arch= sm= driver= busy=  |  missing text=
//   prepare id= ...                -> nothing: inputs and reference of the candidates to come;
//                                     "prepare ahead": of those after them; gpu=1: kernels may run,
//                                     for no other tuner has the GPU
//   ahead id= lib= ...             -> nothing: the candidate that is likely to be tried next, to be
//                                     loaded while kernels run
//   try id= lib= limit= ...        -> [note text=] [started]
//                                     measured median= mean= min= max= launches= early= ..._s=  |
//                                     wrong text=  |  failed text=  |  fault text=  |  hung text=
//   keep id= lib= ...              -> kept ..._s=  |  failed text=  |  fault text=
//   final rounds= narrows=         -> time id= median= lo= hi= (each; id -1 is cuBLAS) ...
//                                     end ..._s=  |  fault text=
// numbers=8,1024: what a library that several sizes share is to take for its arguments.
// Times are in microseconds, but ..._s: where the runner's time since its last answer went
// (TN_PARTS), in seconds. After `fault` and `hung` the runner ends: its GPU context is lost.
#ifndef TLC_TUNER_WIRE_H
#define TLC_TUNER_WIRE_H

#include "base/base.h"

typedef struct {
  const char *name, *value;
} TnField;

typedef struct {
  const char *verb;
  VEC(TnField) fields;
} TnMessage;

void tn_wire_verb(Buf *b, const char *verb);
void tn_wire_text(Buf *b, const char *name, const char *value);
void tn_wire_int(Buf *b, const char *name, int64_t value);
void tn_wire_real(Buf *b, const char *name, double value); // reads back as the same double
void tn_wire_end(Buf *b);

// A line without its newline.
TnMessage tn_wire_parse(Arena *a, const char *line, size_t n);
const char *tn_wire_get(const TnMessage *m, const char *name); // NULL: not there
int64_t tn_wire_get_int(const TnMessage *m, const char *name, int64_t otherwise);
double tn_wire_get_real(const TnMessage *m, const char *name, double otherwise);
double tn_wire_get_time(const TnMessage *m, const char *name); // finite; 0: it has none
// Of somebody else's words what spoils no terminal, and no JSON: printable, and short.
const char *tn_plain(Arena *a, const char *s);

// Where the time of a runner went, in seconds. `kernel` is the GPU's, within the others.
#define TN_PARTS(P)                                                                                \
  P(kernel)    /* kernels that ran */                                                              \
  P(data)      /* inputs */                                                                        \
  P(reference) /* what outputs are compared with */                                                \
  P(load)      /* the program again, its library */                                                \
  P(bind)      /* tensors on the GPU */                                                            \
  P(check)     /* a launch, its guards */                                                          \
  P(compare)   /* its results */                                                                   \
  P(timed)     /* launches that are timed, and those before them */                                \
  P(unload)                                                                                        \
  P(cublas) /* its choice */                                                                       \
  P(rounds) /* the final round's */                                                                \
  P(rest)   /* of the GPU, within these */

typedef struct {
#define PART(name) double name;
  TN_PARTS(PART)
#undef PART
} TnSpent;

void tn_wire_spent(Buf *b, const TnSpent *s);      // fields kernel_s= and so on
void tn_spent_add(TnSpent *s, const TnMessage *m); // what a message says
void tn_spent_json(const TnSpent *s, Buf *out);    // members, each after a comma

#endif
