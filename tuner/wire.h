// tuner/wire: what the tuner and its runner process say to each other.
// SPDX-License-Identifier: MIT
// One message a line:
//   verb TAB name=value TAB name=value ...
// with \t, \n and \\ for those bytes in values. A runner answers each message of the tuner:
//
//   hello                          -> gpu name= arch= sm= driver= busy=  |  missing text=
//   try id= lib= limit= ...        -> [note text=] [started]
//                                     measured median= mean= min= max= launches= early= ..._s=  |
//                                     wrong text=  |  failed text=  |  fault text=  |  hung text=
//   keep id= lib= ...              -> kept  |  failed text=  |  fault text=
//   final rounds=                  -> time id= median= lo= hi= (each; id -1 is cuBLAS) ... end
//                                     |  fault text=
// numbers=8,1024: what a library that several sizes share is to take for its arguments.
// Times are in microseconds. After `fault` and `hung` the runner ends: its GPU context is lost.
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

#endif
