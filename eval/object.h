// Inside eval: classes and instances, and what host code says of kernels.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_OBJECT_H
#define TLC_EVAL_OBJECT_H

#include "eval/internal.h"

struct Class {
  const char *name;
  Env *env; // attributes and methods
  const Class *base;
  const AstBlock *body;
  bool is_enum, is_data;
  Span span;
};

struct Object {
  const Class *cls;
  Map *attrs; // name -> Val *
  int64_t born;
};

// A space, and what goes with it, that a program declares by AutoTuner.from_kernel.
struct Tuner {
  Val kernel, configs, tune[TUNE_SETTINGS];
  Span at; // of the configurations
};

/* object.c */

void ev_class(Ev *ev, const AstStmt *s);
Val obj_new(Ev *ev, const Class *c);
Val obj_create(Ev *ev, Class *c, Call *call); // calls the class
void obj_set(Ev *ev, Val box, const char *name, Val v, Span at); // of an instance or a class
Val obj_attr(Ev *ev, Val v, const char *name, Span at); // V_UNSET when there is none
Val obj_item(Ev *ev, Val v, Val index, Span at);
bool obj_is(Val v, const Class *c); // isinstance
Seq *obj_members(Ev *ev, const Class *c); // of an enum

/* host.c, torch.c */

void host_call(Ev *ev, const Func *f, const Call *c);
// The value that the module's own statements call f with; NULL where they do not, or differ.
const char *host_value(const Ev *ev, const Func *f, const char *name);
// Is the decorator one of a test's? It leaves f as it is, and parametrize gives f its first values.
bool host_decorates(Ev *ev, const char *decorator, const AstExpr *e, Func *f);
// f was defined while host code runs: a kernel is one that the file has, too.
void host_defined(Ev *ev, Func *f);
// Runs what the file does as a program, silently, into ev->made and ev->tuners.
void host_run(Ev *ev, Env *module, const AstBlock *body);
bool torch_shapes(Val fn); // may a call of it have a known shape?
Val torch_call(Ev *ev, Val fn, const Call *c); // a call of something unknown
Val torch_attr(Ev *ev, Val v, const char *name); // of a value of known shape

#endif
