// Values as text: Python's str() and repr().
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, MAX_DEPTH = 30 };

void sb_putn(Ev *ev, SB *b, const char *s, int n) {
  vec_reserve(ev->arena, (void **)&b->data, &b->cap, b->len + n + 1, 1);
  memcpy(b->data + b->len, s, (size_t)n);
  b->len += n;
  b->data[b->len] = 0;
}

void sb_puts(Ev *ev, SB *b, const char *s) { sb_putn(ev, b, s, (int)strlen(s)); }

void sb_printf(Ev *ev, SB *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  sb_puts(ev, b, arena_vprintf(ev->arena, fmt, ap));
  va_end(ap);
}

Val sb_val(Ev *ev, const SB *b) { return v_strn(ev, b->len ? b->data : "", b->len); }

// The shortest digits that read back as the same double, laid out as Python does.
static void put_float(Ev *ev, SB *b, double f) {
  if (isnan(f) || isinf(f)) {
    sb_puts(ev, b, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
    return;
  }
  char text[40];
  int digits = 1;
  for (; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, f);
    if (strtod(text, NULL) == f) break;
  }
  int exponent = atoi(strchr(text, 'e') + 1);
  if (exponent < -4 || exponent >= 16) {
    snprintf(text, sizeof text, "%.*e", digits - 1, f);
    sb_puts(ev, b, text);
    return;
  }
  int places = digits - 1 - exponent;
  sb_printf(ev, b, "%.*f", places > 0 ? places : 1, f);
}

static void put_quoted(Ev *ev, SB *b, const Str *s) {
  char quote =
      memchr(s->data, '\'', (size_t)s->len) && !memchr(s->data, '"', (size_t)s->len) ? '"' : '\'';
  sb_putn(ev, b, &quote, 1);
  for (int i = 0; i < s->len; i++) {
    char c = s->data[i];
    if (c == quote || c == '\\') sb_printf(ev, b, "\\%c", c);
    else if (c == '\n') sb_puts(ev, b, "\\n");
    else if (c == '\t') sb_puts(ev, b, "\\t");
    else if ((unsigned char)c < 0x20 || c == 0x7f) sb_printf(ev, b, "\\x%02x", (unsigned char)c);
    else sb_putn(ev, b, &c, 1);
  }
  sb_putn(ev, b, &quote, 1);
}

static void put(Ev *ev, SB *b, Val v, int depth);

static void put_seq(Ev *ev, SB *b, Val v, int depth) {
  sb_puts(ev, b, v.kind == V_TUPLE ? "(" : "[");
  for (int i = 0; i < v.seq->len && b->len < MAX_TEXT; i++) {
    if (i) sb_puts(ev, b, ", ");
    put(ev, b, v.seq->data[i], depth + 1);
  }
  if (v.kind == V_TUPLE && v.seq->len == 1) sb_puts(ev, b, ",");
  sb_puts(ev, b, v.kind == V_TUPLE ? ")" : "]");
}

static void put_dict(Ev *ev, SB *b, Val v, int depth) {
  if (v.kind == V_SET && !v.dict->live) {
    sb_puts(ev, b, "set()");
    return;
  }
  sb_puts(ev, b, "{");
  bool first = true;
  for (int i = 0; i < v.dict->entries.len && b->len < MAX_TEXT; i++) {
    const DictEntry *e = &v.dict->entries.data[i];
    if (e->dead) continue;
    if (!first) sb_puts(ev, b, ", ");
    first = false;
    put(ev, b, e->key, depth + 1);
    if (v.kind == V_SET) continue;
    sb_puts(ev, b, ": ");
    put(ev, b, e->value, depth + 1);
  }
  sb_puts(ev, b, "}");
}

static void put_range(Ev *ev, SB *b, const Range *r, int depth) {
  sb_puts(ev, b, "range(");
  put(ev, b, r->lo, depth + 1);
  sb_puts(ev, b, ", ");
  put(ev, b, r->hi, depth + 1);
  if (!v_equal(ev, r->step, v_int(1))) {
    sb_puts(ev, b, ", ");
    put(ev, b, r->step, depth + 1);
  }
  sb_puts(ev, b, ")");
}

static void put_exc(Ev *ev, SB *b, const Exc *e) {
  if (!e->message) sb_printf(ev, b, "<class '%s'>", e->type);
  else sb_printf(ev, b, "%s('%s')", e->type, e->message);
}

static void put_policy(Ev *ev, SB *b, int64_t i) {
  static const char *const names[] = {"Square", "FullRow", "FullCol"};
  sb_printf(ev, b, "T.GemmWarpPolicy.%s", names[i]);
}

// Color.RED; Tile(m=1, n=2)
static void put_object(Ev *ev, SB *b, Val v, int depth) {
  const Object *o = v.object;
  sb_puts(ev, b, o->cls ? o->cls->name : "Namespace");
  const Val *name = map_get(o->attrs, "name");
  if (o->cls && o->cls->is_enum && name) {
    sb_printf(ev, b, ".%s", v_text(ev, *name));
    return;
  }
  sb_puts(ev, b, "(");
  for (int i = 0; i < map_len(o->attrs) && b->len < MAX_TEXT; i++) {
    sb_printf(ev, b, "%s%s=", i ? ", " : "", map_key(o->attrs, i));
    put(ev, b, *(Val *)map_value(o->attrs, i), depth + 1);
  }
  sb_puts(ev, b, ")");
}

static void put(Ev *ev, SB *b, Val v, int depth) {
  if (depth > MAX_DEPTH || b->len > MAX_TEXT) {
    sb_puts(ev, b, "...");
    return;
  }
  switch (v.kind) {
  case V_NONE: sb_puts(ev, b, "None"); break;
  case V_ELLIPSIS: sb_puts(ev, b, "Ellipsis"); break;
  case V_BOOL: sb_puts(ev, b, v.b ? "True" : "False"); break;
  case V_INT: sb_printf(ev, b, "%lld", (long long)v.i); break;
  case V_FLOAT: put_float(ev, b, v.f); break;
  case V_STR: put_quoted(ev, b, v.str); break;
  case V_TUPLE:
  case V_LIST: put_seq(ev, b, v, depth); break;
  case V_DICT:
  case V_SET: put_dict(ev, b, v, depth); break;
  case V_RANGE: put_range(ev, b, v.range, depth); break;
  case V_DTYPE: sb_puts(ev, b, dt_name(v.dtype)); break;
  case V_POLICY: put_policy(ev, b, v.i); break;
  case V_FUNC: sb_printf(ev, b, "<function %s>", v.fn->name); break;
  case V_BUILTIN: sb_printf(ev, b, "<built-in function %s>", v.builtin->name); break;
  case V_METHOD: sb_printf(ev, b, "<built-in method %s>", v.method->fn->name); break;
  case V_MODULE: sb_printf(ev, b, "<module '%s'>", v.module->name); break;
  case V_EXC: put_exc(ev, b, v.exc); break;
  case V_CLASS: sb_printf(ev, b, "<class '%s'>", v.cls->name); break;
  case V_OBJECT: put_object(ev, b, v, depth); break;
  case V_EXPR: sb_puts(ev, b, v.size < 200 ? ir_expr_str(ev->arena, v.expr) : "..."); break;
  case V_OPAQUE: sb_puts(ev, b, v.opaque->what); break;
  default: sb_printf(ev, b, "<%s>", v_kind(ev, v)); break;
  }
}

const char *v_repr(Ev *ev, Val v) {
  SB b = {0};
  put(ev, &b, v, 0);
  ev_charge(ev, b.len / 16);
  return b.len ? b.data : "";
}

const char *v_text(Ev *ev, Val v) {
  if (v.kind == V_STR) return v.str->data;
  if (v.kind == V_EXC && v.exc->message) return v.exc->message;
  return v_repr(ev, v);
}

const char *v_brief(Ev *ev, Val v) {
  const char *s = v_repr(ev, v);
  return strlen(s) > 60 ? arena_printf(ev->arena, "%.57s...", s) : s;
}
