// Context of an error: notes on the names in its place, and poison for the one to blame, so that a
// wrong value is reported where it is first used and nowhere else.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <string.h>

enum {
  MAX_NAMES = 24,
  MAX_NOTES = 4,
  ERROR_STEPS = 5000, // what an error counts as: a loop that fails over and over ends
};

/* ------------------------------------------------------------------ hints of the site that fails
 */

void ev_hint(Ev *ev, Span at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vec_push(ev->arena, &ev->hints, (struct Hint){at, arena_vprintf(ev->arena, fmt, ap), false});
  va_end(ap);
}

// A place that is one word, which a fix can stand for.
static bool is_word(const Ev *ev, Span at) {
  const char *text = src_get(ev->sources, at.file)->text;
  for (uint32_t i = at.lo; i < at.hi; i++)
    if (strchr(" .,()[]{}\n", text[i])) return false;
  return true;
}

const char *ev_meant(Ev *ev, Span at, const char *near, const char *prefix) {
  if (!near) return "";
  if (at.file && is_word(ev, at)) vec_push(ev->arena, &ev->hints, (struct Hint){at, near, true});
  return arena_printf(ev->arena, "; did you mean '%s%s'?", prefix, near);
}

Span ev_tail(const Ev *ev, Span at, const char *name) {
  if (!at.file) return at;
  const char *text = src_get(ev->sources, at.file)->text;
  uint32_t n = (uint32_t)strlen(name);
  for (uint32_t i = at.hi; i-- > at.lo;)
    if (i + n <= at.hi && !strncmp(text + i, name, n)) return (Span){at.file, i, i + n};
  return at;
}

void ev_blame(Ev *ev, Val v) { ev->blame = v; }

/* ------------------------------------------------------------------ which errors want which notes
 */

typedef enum { CTX_VALUES = 1, CTX_BUFFERS = 2 } Wants;

static Wants wants(DiagId id) {
  switch (id) {
#define CTX(id, what)                                                                              \
  case id:                                                                                         \
    return what;
#include "eval/context.def"
#undef CTX
  default: return 0;
  }
}

/* ------------------------------------------------------------------ notes */

static const EvParamInfo *parameter(const Ev *ev, const char *name) {
  for (int i = 0; ev->entry && i < ev->entry->params.len; i++) {
    const EvParamInfo *p = &ev->entry->params.data[i];
    if (!strcmp(p->name, name)) return p;
  }
  return NULL;
}

static bool is_plain(Val v) {
  return v.kind == V_BOOL || v.kind == V_INT || v.kind == V_FLOAT || v.kind == V_STR ||
         v.kind == V_DTYPE || v.kind == V_NONE;
}

static bool inside(Span in, Span at) {
  return in.file == at.file && in.lo >= at.lo && in.hi <= at.hi;
}

// "block_M = 100, block_K = 32": the parameters that a place names.
static const char *parameters_in(Ev *ev, Span at) {
  const char *names[MAX_NAMES];
  int n = src_names(ev->sources, ev->arena, at, names, MAX_NAMES);
  SB b = {0};
  for (int i = 0; i < n; i++) {
    const EvParamInfo *p = parameter(ev, names[i]);
    DType t;
    if (!p || !p->value || dt_find(p->value, &t)) continue; // the dtype is in the text already
    sb_printf(ev, &b, "%s%s = %s%s", b.len ? ", " : "", p->name, p->value,
              p->given ? " (from -p)" : "");
  }
  return b.len ? b.data : NULL;
}

static void note_buffer(Ev *ev, const char *name, const Buffer *b) {
  SB shape = {0};
  for (int i = 0; i < b->ndim; i++)
    sb_printf(ev, &shape, "%s%s", i ? " x " : "", ir_expr_str(ev->arena, b->shape[i]));
  const char *with = parameters_in(ev, b->span);
  diag_note(ev->diags, b->span, "%s is declared here: %s %s%s%s", name, shape.data,
            dt_name(b->dtype), with ? "; " : "", with ? with : "");
}

static bool note_value(Ev *ev, const char *name, const Cell *c, Span at) {
  const EvParamInfo *p = parameter(ev, name);
  if (p && is_plain(c->v)) {
    diag_note(ev->diags, p->span, "%s = %s (%s)", name, v_brief(ev, c->v),
              p->given ? "from -p" : "its default");
    return true;
  }
  if (!c->at.file || inside(c->at, at) || inside(at, c->at)) return false;
  if (c->v.kind == V_OPAQUE)
    diag_note(ev->diags, c->at, "%s gets its value here, from %s", name, c->v.opaque->what);
  else if (is_plain(c->v))
    diag_note(ev->diags, c->at, "%s = %s, assigned here", name, v_brief(ev, c->v));
  else return false;
  return true;
}

// Is it the value that the error is about? That of DIAG_OPAQUE is any unknown one.
static bool is_blamed(const Ev *ev, Val v) {
  return ev->blame.kind == V_UNSET ? v.kind == V_OPAQUE : v_same(v, ev->blame);
}

// With `blamed`, of values only the one that the error is about. Returns the number of notes.
static int note_names(Ev *ev, Wants want, Span at, bool blamed) {
  const char *names[MAX_NAMES];
  int n = src_names(ev->sources, ev->arena, at, names, MAX_NAMES), notes = 0;
  for (int i = 0; i < n && notes < MAX_NOTES; i++) {
    const Cell *c = env_find(ev->env, names[i]);
    if (!c) continue;
    if (c->v.kind == V_BUFFER && (want & CTX_BUFFERS) && !inside(c->v.buf->span, at)) {
      note_buffer(ev, names[i], c->v.buf);
      notes++;
    } else if ((want & CTX_VALUES) && (!blamed || is_blamed(ev, c->v))) {
      notes += note_value(ev, names[i], c, at);
    }
  }
  return notes;
}

static void poison_names(Ev *ev, Span at) {
  const char *names[MAX_NAMES];
  int n = src_names(ev->sources, ev->arena, at, names, MAX_NAMES);
  for (int i = 0; i < n; i++) {
    Cell *c = env_find(ev->env, names[i]);
    if (c && is_blamed(ev, c->v)) c->v = (Val){.kind = V_ERROR};
  }
}

const char *ev_source(Ev *ev, Span at) {
  enum { MOST = 40 };
  const char *text = src_get(ev->sources, at.file)->text + at.lo;
  size_t n = at.hi - at.lo, line = strcspn(text, "\n");
  bool cut = n > MOST || line < n;
  n = n > MOST ? MOST : n;
  return arena_printf(ev->arena, "%.*s%s", (int)(line < n ? line : n), text, cut ? "..." : "");
}

void ev_no_key(Ev *ev, const Dict *d, Val key, Span at) {
  enum { MAX_KEYS = 8 };
  VEC(const char *) names = {0};
  SB list = {0};
  for (int i = 0; i < d->entries.len; i++) {
    const DictEntry *e = &d->entries.data[i];
    if (e->dead) continue;
    if (names.len < MAX_KEYS)
      sb_printf(ev, &list, "%s%s", list.len ? ", " : "", v_brief(ev, e->key));
    vec_push(ev->arena, &names, e->key.kind == V_STR ? e->key.str->data : v_brief(ev, e->key));
  }
  const char *more = names.len > MAX_KEYS ? ", ..." : "";
  vec_push(ev->arena, &names, NULL);
  const char *near = key.kind == V_STR ? near_name(key.str->data, names.data) : NULL;
  const char *has =
      list.len ? arena_printf(ev->arena, "it has %s%s", list.data, more) : "it is empty";
  const char *meant = near ? arena_printf(ev->arena, "; did you mean '%s'?", near) : "";
  ev_fail(ev, DIAG_KEY, at, v_brief(ev, key), has, meant);
}

void ev_context(Ev *ev, DiagId id, Span at) {
  ev->steps += ERROR_STEPS;
  for (int i = 0; i < ev->hints.len; i++) {
    const struct Hint *h = &ev->hints.data[i];
    if (h->fix) diag_fix(ev->diags, h->at, h->text);
    else diag_note(ev->diags, h->at, "%s", h->text);
  }
  bool blamed = ev->blame.kind != V_UNSET || id == DIAG_OPAQUE;
  if (at.file && wants(id) && !note_names(ev, wants(id), at, blamed) && blamed)
    note_names(ev, wants(id), at, false);
  if (at.file && blamed) poison_names(ev, at);
  ev_trail(ev);
}
