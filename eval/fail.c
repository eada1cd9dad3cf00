// Errors: reporting, recovery points, and the limits that keep evaluation finite.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <string.h>

enum {
  MAX_STACK = 4 << 20,     // bytes of the C stack
  MAX_MEMORY = 256 << 20,  // bytes taken from the arena
  MAX_TRAIL = 4,           // calls named under an error
  MAX_ERRORS = 1000,       // then nothing more is looked at
};

// What an error is called in Python, for `except`.
static const struct {
  DiagId id;
  const char *type;
} python_names[] = {
  {DIAG_NAME, "NameError"},          {DIAG_ZERO_DIVISION, "ZeroDivisionError"},
  {DIAG_OVERFLOW, "OverflowError"},  {DIAG_KEY, "KeyError"},
  {DIAG_INDEX, "IndexError"},        {DIAG_ATTRIBUTE, "AttributeError"},
  {DIAG_ASSERT, "AssertionError"},   {DIAG_ASSERT_TEXT, "AssertionError"},
  {DIAG_OPERANDS, "TypeError"},      {DIAG_UNPACK, "ValueError"},
  {DIAG_CONVERT, "ValueError"},      {DIAG_NOT_CALLABLE, "TypeError"},
  {DIAG_NOT_ITERABLE, "TypeError"},  {DIAG_MATH_DOMAIN, "ValueError"},
  {DIAG_UNHASHABLE, "TypeError"},    {DIAG_ARG_MISSING, "TypeError"},
  {DIAG_ARG_UNKNOWN, "TypeError"},   {DIAG_ARG_MANY, "TypeError"},
  {DIAG_ARG_TWICE, "TypeError"},     {DIAG_OPERAND, "TypeError"},
};

static const char *const lookup_errors[] = {"KeyError", "IndexError"};
static const char *const arithmetic_errors[] = {"ZeroDivisionError", "OverflowError"};

static bool is_one_of(const char *type, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(type, names[i])) return true;
  }
  return false;
}

bool ev_matches(const Val *handler, const char *type) {
  switch (handler->kind) {
  case V_UNSET:
  case V_OPAQUE: return true; // bare, or a class that tlc cannot judge
  case V_TUPLE:
    for (int i = 0; i < handler->seq->len; i++) {
      if (ev_matches(&handler->seq->data[i], type)) return true;
    }
    return false;
  case V_EXC: {
    const char *h = handler->exc->type;
    if (!strcmp(h, type) || !strcmp(h, "Exception") || !strcmp(h, "BaseException")) return true;
    if (!strcmp(h, "LookupError")) return is_one_of(type, lookup_errors, LEN(lookup_errors));
    if (!strcmp(h, "ArithmeticError"))
      return is_one_of(type, arithmetic_errors, LEN(arithmetic_errors));
    return !strcmp(h, "ImportError") && !strcmp(type, "ModuleNotFoundError");
  }
  default: return false;
  }
}

static const char *python_name(const Ev *ev, DiagId id) {
  if (id == DIAG_RAISED && ev->raised.type) return ev->raised.type;
  for (size_t i = 0; i < LEN(python_names); i++) {
    if (python_names[i].id == id) return python_names[i].type;
  }
  return NULL;
}

static void to_boundary(Ev *ev) {
  while (ev->jump && ev->jump->handlers) ev->jump = ev->jump->outer;
  if (!ev->jump) die("an error outside any recovery point");
}

bool ev_caught(Ev *ev, DiagId id) {
  const char *type = python_name(ev, id);
  for (Jump *j = ev->jump; type && j && j->handlers; j = j->outer) {
    for (int i = 0; i < j->nhandlers; i++) {
      if (!ev_matches(&j->handlers[i], type)) continue;
      ev->jump = j;
      if (id != DIAG_RAISED) ev->raised = (Exc){type, ""};
      return true;
    }
  }
  to_boundary(ev);
  return false;
}

bool ev_unfollowed(const Ev *ev) { return ev->skips && !ev->trace && !ev->entry; }

void ev_opaque(Ev *ev, Span at, const char *what) {
  if (!strncmp(what, "T.", 2)) {
    what += 2;
    ev_no_word(ev, arena_strn(ev->arena, what, strcspn(what, ".([")), at);
  }
  if (!strncmp(what, "tilelang.", 9)) ev_fail(ev, DIAG_UNSUPPORTED, at, what);
  ev_fail(ev, DIAG_OPAQUE, at, what);
}

void ev_unwind(Ev *ev) {
  ev->hints.len = 0;
  ev->blame = (Val){.kind = V_UNSET};
  if (diag_errors(ev->diags) > MAX_ERRORS) ev->stopped = true;
  if (ev->stopped) to_boundary(ev);
  longjmp(ev->jump->buf, 1);
}

// The innermost calls; one place that is called over and over is named once.
void ev_trail(Ev *ev) {
  int n = 0;
  for (CallSite *c = ev->calls; c && n < MAX_TRAIL; n++) {
    int more = 0;
    CallSite *next = c->outer;
    for (; next && next->at.file == c->at.file && next->at.lo == c->at.lo; next = next->outer)
      more++;
    if (more) diag_note(ev->diags, c->at, "in this call of %s, and %d more of it", c->name, more);
    else diag_note(ev->diags, c->at, "in this call of %s", c->name);
    c = next;
  }
}

static bool run_under(Ev *ev, Jump *j, void (*f)(Ev *, void *), void *arg) {
  Env *env = ev->env;
  CallSite *calls = ev->calls;
  int depth = ev->depth;
  InLoop in_loop = ev->in_loop;
  Trace *trace = ev->trace;
  Trace saved = {0};
  if (trace) saved = *trace;
  j->outer = ev->jump;
  ev->jump = j;
  if (!setjmp(j->buf)) {
    f(ev, arg);
    ev->jump = j->outer;
    return true;
  }
  ev->jump = j->outer;
  ev->env = env;
  ev->calls = calls;
  ev->depth = depth;
  ev->in_loop = in_loop;
  ev->trace = trace;
  if (trace) {
    trace->kernel = saved.kernel;
    trace->block = saved.block;
    trace->rt = saved.rt;
  }
  return false;
}

bool ev_protect(Ev *ev, void (*f)(Ev *, void *), void *arg) {
  Jump j = {0};
  return run_under(ev, &j, f, arg);
}

bool ev_try(Ev *ev, const Val *handlers, int n, void (*f)(Ev *, void *), void *arg) {
  Jump j = {.handlers = handlers, .nhandlers = n};
  return run_under(ev, &j, f, arg);
}

void ev_outside(Ev *ev, const char *what, Span at) {
  if (ev->trace && ev->trace->outside) {
    to_boundary(ev);
    ev_unwind(ev);
  }
  if (ev->trace) ev->trace->outside = true;
  for (int i = 0; i < map_len(ev->env->cells); i++) {
    const Cell *c = map_value(ev->env->cells, i);
    if (c->v.kind == V_GRID) ev_fail(ev, DIAG_NO_WITH, c->v.grid->span);
  }
  ev_fail(ev, DIAG_OUTSIDE_KERNEL, at, what);
}

static void need_name(Ev *ev, const char *name) {
  for (int i = 0; i < ev->needed.len; i++) {
    if (!strcmp(ev->needed.data[i], name)) return;
  }
  vec_push(ev->arena, &ev->needed, name);
}

void ev_missing(Ev *ev, Val v) {
  for (int i = 0; i < v.missing->n; i++) need_name(ev, v.missing->names[i]);
  to_boundary(ev);
  ev_unwind(ev);
}

void ev_note_missing(Ev *ev, Val v) {
  for (int i = 0; v.kind == V_MISSING && i < v.missing->n; i++) need_name(ev, v.missing->names[i]);
}

// Every parameter that v was computed from.
static void need_all(Ev *ev, Val v, bool *found, int depth) {
  ev_charge(ev, depth > 0);
  if (v.kind == V_MISSING) {
    *found = true;
    for (int i = 0; i < v.missing->n; i++) need_name(ev, v.missing->names[i]);
  } else if (v_is_seq(v) && depth < 20) {
    for (int i = 0; i < v.seq->len; i++) need_all(ev, v.seq->data[i], found, depth + 1);
  }
}

void ev_need(Ev *ev, Val v) {
  Val bad;
  bool found = false;
  need_all(ev, v, &found, 0);
  if (found || v_find(ev, v, V_ERROR, &bad)) {
    to_boundary(ev);
    ev_unwind(ev);
  }
}

NORETURN static void stop(Ev *ev, DiagId id, Span at, int limit) {
  to_boundary(ev);
  diag_report(ev->diags, id, at, limit);
  ev_trail(ev);
  ev->stopped = true;
  ev_unwind(ev);
}

void ev_charge(Ev *ev, int64_t work) {
  if (ev->stopped) ev_unwind(ev);
  ev->steps += work;
  if (ev->steps > EV_MAX_STEPS) stop(ev, DIAG_STEPS, ev->at, EV_MAX_STEPS);
  if (arena_bytes(ev->arena) - ev->arena_start > MAX_MEMORY)
    stop(ev, DIAG_MEMORY, ev->at, MAX_MEMORY >> 20);
}

void ev_step(Ev *ev, Span at) {
  ev->at = at;
  ev->clock++;
  ev_charge(ev, 1);
  const char *here = __builtin_frame_address(0);
  if ((here < ev->stack ? ev->stack - here : here - ev->stack) > MAX_STACK) {
    if (!ev_caught(ev, DIAG_NESTING)) {
      diag_report(ev->diags, DIAG_NESTING, ev->calls ? ev->calls->at : at);
      ev_trail(ev);
    }
    ev_unwind(ev);
  }
}
