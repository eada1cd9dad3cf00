// Compile-time values: constructors, equality, and their names in messages.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include <math.h>
#include <string.h>

Val v_none(void) { return (Val){.kind = V_NONE}; }
Val v_bool(bool b) { return (Val){.kind = V_BOOL, .b = b}; }
Val v_int(int64_t i) { return (Val){.kind = V_INT, .i = i}; }
Val v_float(double f) { return (Val){.kind = V_FLOAT, .f = f}; }
Val v_dtype(DType t) { return (Val){.kind = V_DTYPE, .dtype = t}; }
Val v_buffer(Buffer *b) { return (Val){.kind = V_BUFFER, .buf = b}; }

Val v_expr(Expr *x, uint32_t size) { return (Val){.kind = V_EXPR, .size = size, .expr = x}; }

Val v_strn(Ev *ev, const char *s, int n) {
  Str *str = NEW(ev->arena, Str);
  *str = (Str){arena_strn(ev->arena, s, (size_t)n), n};
  return (Val){.kind = V_STR, .str = str};
}

Val v_str(Ev *ev, const char *s) { return v_strn(ev, s, (int)strlen(s)); }

Val v_seq(Ev *ev, ValKind kind, int cap) {
  Seq *s = NEW(ev->arena, Seq);
  if (cap > 0) {
    s->data = NEWN(ev->arena, Val, cap);
    s->cap = cap;
  }
  s->born = ev->clock;
  return (Val){.kind = kind, .seq = s};
}

void v_push(Ev *ev, Seq *s, Val v) { vec_push(ev->arena, s, v); }

Val v_pair(Ev *ev, Val a, Val b) {
  Val t = v_seq(ev, V_TUPLE, 2);
  v_push(ev, t.seq, a);
  v_push(ev, t.seq, b);
  return t;
}

Val v_opaque(Ev *ev, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  Opaque *o = NEW(ev->arena, Opaque);
  o->what = arena_vprintf(ev->arena, fmt, ap);
  va_end(ap);
  if (strlen(o->what) > 60) o->what = arena_printf(ev->arena, "%.57s...", o->what);
  return (Val){.kind = V_OPAQUE, .opaque = o};
}

Val v_missing(Ev *ev, const char *name, bool none) {
  Missing *m = NEW(ev->arena, Missing);
  m->n = 1;
  m->names = arena_copy(ev->arena, &name, sizeof name);
  m->none = none;
  return (Val){.kind = V_MISSING, .missing = m};
}

static bool has_name(const Missing *m, const char *name) {
  for (int i = 0; i < m->n; i++) {
    if (!strcmp(m->names[i], name)) return true;
  }
  return false;
}

Val v_missing_join(Ev *ev, Val a, Val b) {
  Missing *m = NEW(ev->arena, Missing);
  int n = (a.kind == V_MISSING ? a.missing->n : 0) + (b.kind == V_MISSING ? b.missing->n : 0);
  m->names = NEWN(ev->arena, const char *, n);
  Val both[2] = {a, b};
  for (int k = 0; k < 2; k++) {
    for (int i = 0; both[k].kind == V_MISSING && i < both[k].missing->n; i++) {
      if (!has_name(m, both[k].missing->names[i]))
        m->names[m->n++] = both[k].missing->names[i];
    }
  }
  return (Val){.kind = V_MISSING, .missing = m};
}

Val v_method(Ev *ev, const Builtin *fn, Val self) {
  Method *m = NEW(ev->arena, Method);
  *m = (Method){self, fn};
  return (Val){.kind = V_METHOD, .method = m};
}

bool v_is_seq(Val v) { return v.kind == V_TUPLE || v.kind == V_LIST; }
bool v_is_int(Val v) { return v.kind == V_INT || v.kind == V_BOOL; }
bool v_is_num(Val v) { return v_is_int(v) || v.kind == V_FLOAT; }
int64_t v_as_int(Val v) { return v.kind == V_BOOL ? v.b : v.i; }
double v_as_float(Val v) { return v.kind == V_FLOAT ? v.f : (double)v_as_int(v); }

static bool equal(Ev *ev, Val a, Val b, int depth);

static bool dict_equal(Ev *ev, const Dict *a, const Dict *b, int depth) {
  if (a->live != b->live) return false;
  for (int i = 0; i < a->entries.len; i++) {
    const DictEntry *e = &a->entries.data[i];
    if (e->dead) continue;
    const Val *other = dict_peek(ev, b, e);
    if (!other || !equal(ev, e->value, *other, depth + 1)) return false;
  }
  return true;
}

static bool dtype_is(Val t, Val name) {
  DType found;
  return dt_find(name.str->data, &found) && found == t.dtype;
}

static bool number_equal(Val a, Val b) {
  if (v_is_int(a) && v_is_int(b)) return v_as_int(a) == v_as_int(b);
  return v_as_float(a) == v_as_float(b);
}

static bool str_equal(const Str *a, const Str *b) {
  return a->len == b->len && !memcmp(a->data, b->data, (size_t)a->len);
}

static bool seq_equal(Ev *ev, const Seq *a, const Seq *b, int depth) {
  if (a == b) return true;
  if (a->len != b->len) return false;
  for (int i = 0; i < a->len; i++) {
    if (!equal(ev, a->data[i], b->data[i], depth + 1)) return false;
  }
  return true;
}

static bool range_equal(Ev *ev, const Range *a, const Range *b, int depth) {
  return equal(ev, a->lo, b->lo, depth + 1) && equal(ev, a->hi, b->hi, depth + 1) &&
         equal(ev, a->step, b->step, depth + 1);
}

static bool equal(Ev *ev, Val a, Val b, int depth) {
  if (depth > 100) return false; // a list may hold itself
  ev_charge(ev, depth > 0);
  if (v_is_num(a) && v_is_num(b)) return number_equal(a, b);
  if (a.kind == V_DTYPE && b.kind == V_STR) return dtype_is(a, b);
  if (a.kind == V_STR && b.kind == V_DTYPE) return dtype_is(b, a);
  if (a.kind != b.kind) return false;
  switch (a.kind) {
  case V_STR: ev_charge(ev, a.str->len / 64); return str_equal(a.str, b.str);
  case V_TUPLE:
  case V_LIST: return seq_equal(ev, a.seq, b.seq, depth);
  case V_DICT:
  case V_SET: return dict_equal(ev, a.dict, b.dict, depth);
  case V_EXC: return !strcmp(a.exc->type, b.exc->type) && a.exc->message == b.exc->message;
  case V_FUNC: return a.fn->base == b.fn->base;
  case V_RANGE: return range_equal(ev, a.range, b.range, depth);
  default: return v_same(a, b);
  }
}

bool v_equal(Ev *ev, Val a, Val b) { return equal(ev, a, b, 0); }

bool v_same(Val a, Val b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
  case V_NONE:
  case V_ELLIPSIS: return true;
  case V_BOOL: return a.b == b.b;
  case V_INT:
  case V_POLICY: return a.i == b.i;
  case V_FLOAT: return a.f == b.f;
  case V_DTYPE: return a.dtype == b.dtype;
  case V_STR: return str_equal(a.str, b.str); // short strings are one object in Python
  case V_MODULE: return !strcmp(a.module->name, b.module->name) && a.module->env == b.module->env;
  default: return a.seq == b.seq; // any pointer of the union
  }
}

static const char *expr_kind(Ev *ev, Expr *x) {
  if (x->type == DT_INDEX) return "a run-time integer";
  return arena_printf(ev->arena, "a run-time %s value", dt_name(x->type));
}

static const char *buffer_kind(Ev *ev, const Buffer *b) {
  static const char *const scopes[] = {"global tensor", "shared tile", "fragment", "local array"};
  return arena_printf(ev->arena, "the %s %s", scopes[b->scope], b->name ? b->name : "(unnamed)");
}

const char *v_kind(Ev *ev, Val v) {
  switch (v.kind) {
  case V_NONE: return "None";
  case V_ELLIPSIS: return "...";
  case V_BOOL: return "a bool";
  case V_INT: return "an int";
  case V_FLOAT: return "a float";
  case V_STR: return "a str";
  case V_TUPLE: return "a tuple";
  case V_LIST: return "a list";
  case V_DICT: return "a dict";
  case V_SET: return "a set";
  case V_RANGE: return "a range";
  case V_DTYPE: return "a dtype";
  case V_POLICY: return "a gemm policy";
  case V_FUNC: return "a function";
  case V_BUILTIN:
  case V_METHOD: return "a built-in function";
  case V_MODULE: return "a module";
  case V_EXC: return "an exception";
  case V_CLASS: return arena_printf(ev->arena, "the class %s", v.cls->name);
  case V_OBJECT:
    return v.object->cls ? arena_printf(ev->arena, "an instance of %s", v.object->cls->name)
                         : "an object";
  case V_PARSER: return "a parser of arguments";
  case V_TUNER: return "a tuner";
  case V_TENSOR: return "a tensor type";
  case V_POINTER: return "a T.ptr parameter";
  case V_LOOP: return "a loop";
  case V_GRID: return "a T.Kernel";
  case V_MAP:
  case V_LAYOUT: return "a layout";
  case V_EXPR:
  case V_REF: return expr_kind(ev, v.expr);
  case V_BUFFER:
  case V_VAR: return buffer_kind(ev, v.buf);
  case V_REGION:
    return arena_printf(ev->arena, "a region of %s", buffer_kind(ev, v.region->buf) + 4);
  default: return "an unknown value";
  }
}

static bool find(Ev *ev, Val v, ValKind kind, Val *out, int depth) {
  if (v.kind == kind) return *out = v, true;
  if (depth > 20) return false;
  ev_charge(ev, depth > 0);
  if (v_is_seq(v)) {
    for (int i = 0; i < v.seq->len; i++) {
      if (find(ev, v.seq->data[i], kind, out, depth + 1)) return true;
    }
  } else if (v.kind == V_DICT || v.kind == V_SET) {
    for (int i = 0; i < v.dict->entries.len; i++) {
      const DictEntry *e = &v.dict->entries.data[i];
      if (!e->dead && (find(ev, e->key, kind, out, depth + 1) ||
                       find(ev, e->value, kind, out, depth + 1)))
        return true;
    }
  } else if (v.kind == V_RANGE) {
    return find(ev, v.range->lo, kind, out, depth + 1) ||
           find(ev, v.range->hi, kind, out, depth + 1);
  }
  return false;
}

bool v_find(Ev *ev, Val v, ValKind kind, Val *out) { return find(ev, v, kind, out, 0); }
