// Inside eval: errors, and what they say beside their messages. Included by internal.h.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_CONTEXT_H
#define TLC_EVAL_CONTEXT_H

/* fail.c: errors */

NORETURN void ev_unwind(Ev *ev);
// Does an enclosing `try` catch what this error is in Python? Then nothing is reported.
bool ev_caught(Ev *ev, DiagId id);
// Is what went wrong no error of the program, since host code before it could not be followed?
bool ev_unfollowed(const Ev *ev);
NORETURN void ev_no_word(Ev *ev, const char *name, Span at); // there is no T.name
NORETURN void ev_opaque(Ev *ev, Span at, const char *what); // something unknown is needed
void ev_trail(Ev *ev); // notes of the calls that led here
// Runs f under a recovery point; false when it failed (and was reported). Interpreter state other
// than values is as before.
bool ev_protect(Ev *ev, void (*f)(Ev *, void *), void *arg);
// As a try statement: *caught when one of the handlers applies, else the failure goes on outwards.
bool ev_try(Ev *ev, const Val *handlers, int n, void (*f)(Ev *, void *), void *arg);
bool ev_matches(const Val *handler, const char *type); // does `except handler` catch it?
// Fails silently: records parameters without values, lets poison pass.
void ev_need(Ev *ev, Val v);             // returns when v holds neither
NORETURN void ev_missing(Ev *ev, Val v); // v is V_MISSING
void ev_note_missing(Ev *ev, Val v);     // records only
// One unit of work at a place: bounds steps, memory and the C stack.
void ev_step(Ev *ev, Span at);
void ev_charge(Ev *ev, int64_t work); // the work of as many steps, where the last step was

// Fails: what belongs inside T.Kernel is outside. Said once a kernel.
NORETURN void ev_outside(Ev *ev, const char *what, Span at);

#define FIRST_OF(a, ...) (a)
#define ev_fail(ev, id, ...)                                                                       \
  do {                                                                                             \
    if (!ev_caught((ev), (id)) && !ev_unfollowed(ev)) {                                            \
      diag_report((ev)->diags, (id), __VA_ARGS__);                                                 \
      ev_context((ev), (id), FIRST_OF(__VA_ARGS__, 0));                                            \
    }                                                                                              \
    ev_unwind(ev);                                                                                 \
  } while (0)

/* context.c: what an error says beside its message. Called just before ev_fail. */

void ev_hint(Ev *ev, Span at, const char *fmt, ...) PRINTF_LIKE(3, 4); // a note
// "; did you mean 'PREFIXnear'?", and a fix that writes near at the place; "" where near is NULL.
const char *ev_meant(Ev *ev, Span at, const char *near, const char *prefix);
Span ev_tail(const Ev *ev, Span at, const char *name); // the name last in a place, else all of it
// The error is about this value: a name in its place that holds it is poisoned.
void ev_blame(Ev *ev, Val v);
NORETURN void ev_no_key(Ev *ev, const Dict *d, Val key, Span at); // d has no such entry
const char *ev_source(Ev *ev, Span at);      // the text of a place, cut for messages
void ev_context(Ev *ev, DiagId id, Span at); // notes, fixes, poison and the calls that led here

/* methods.c */

const char *method_near(Ev *ev, Val v, const char *name); // a method nearly called so, or NULL

/* later.c */

// Fails where the name is assigned somewhere in an open scope; else returns.
void ev_not_yet(Ev *ev, const char *name, Span at);

#endif
