// Operands of handlers as what they must be.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <string.h>

static const char *word_name(Ev *ev, const Call *c) {
  return *c->fn->module ? arena_printf(ev->arena, "%s.%s", c->fn->module, c->fn->name)
                        : c->fn->name;
}

const char *arg_name(Ev *ev, const Call *c, int i) {
  const char *s = c->fn->signature;
  for (int k = 0; *s;) {
    while (*s == ' ' || *s == ',') s++;
    size_t n = strcspn(s, ",=");
    if (*s != '*' && k++ == i) return arena_strn(ev->arena, s, n);
    s += strcspn(s, ",");
  }
  return NULL;
}

NORETURN static void bad(Ev *ev, Call *c, int i, const char *wanted) {
  ev_need(ev, c->arg[i]);
  if (c->arg[i].kind == V_OPAQUE) ev_opaque(ev, c->at[i], c->arg[i].opaque->what);
  ev_blame(ev, c->arg[i]);
  ev_fail(ev, DIAG_ARGUMENT, c->at[i], word_name(ev, c), arg_name(ev, c, i), wanted,
          v_brief(ev, c->arg[i]));
}

bool arg_given(const Call *c, int i) {
  return c->arg[i].kind != V_UNSET && c->arg[i].kind != V_NONE;
}

bool arg_bool(Ev *ev, Call *c, int i, bool otherwise) {
  if (!arg_given(c, i)) return otherwise;
  if (ev_is_rt(c->arg[i]) || !dev_ok(c->arg[i])) bad(ev, c, i, "True or False");
  return ev_truth(ev, c->arg[i], c->at[i]);
}

int64_t arg_int(Ev *ev, Call *c, int i, int64_t otherwise) {
  if (!arg_given(c, i)) return otherwise;
  int64_t k;
  if (v_is_int(c->arg[i])) return v_as_int(c->arg[i]);
  if (c->arg[i].kind == V_EXPR && ex_const(c->arg[i].expr, &k)) return k;
  bad(ev, c, i, "an int known at compile time");
}

const char *arg_str(Ev *ev, Call *c, int i, const char *otherwise) {
  if (!arg_given(c, i)) return otherwise;
  if (c->arg[i].kind == V_DTYPE) return dt_name(c->arg[i].dtype);
  if (c->arg[i].kind != V_STR) bad(ev, c, i, "a str");
  return c->arg[i].str->data;
}

// The dtype that a name was meant for: spelt nearly so, or as elsewhere.
static const char *dtype_near(const char *name) {
  static const char *const names[] = {
      "float16", "bfloat16",      "float32",     "float64",  "int8",   "int16",
      "int32",   "int64",         "uint8",       "uint16",   "uint32", "uint64",
      "bool",    "float8_e4m3fn", "float8_e5m2", "tfloat32", NULL};
  static const char *const elsewhere[][2] = {
      {"fp16", "float16"},       {"f16", "float16"},      {"bf16", "bfloat16"},
      {"fp32", "float32"},       {"f32", "float32"},      {"fp64", "float64"},
      {"f64", "float64"},        {"tf32", "tfloat32"},    {"fp8", "float8_e4m3fn"},
      {"e4m3", "float8_e4m3fn"}, {"e5m2", "float8_e5m2"}, {"i8", "int8"},
      {"i32", "int32"},          {"s32", "int32"},        {"u8", "uint8"},
      {"u32", "uint32"}};
  for (size_t i = 0; i < LEN(elsewhere); i++)
    if (!strcmp(name, elsewhere[i][0])) return elsewhere[i][1];
  return near_name(name, names);
}

bool val_dtype(Ev *ev, Val v, DType *out) {
  if (v.kind == V_DTYPE) return *out = v.dtype, true;
  if (v.kind == V_STR) return dt_find(v.str->data, out) && *out != DT_INDEX;
  if (v.kind != V_BUILTIN || *v.builtin->module) return false;
  static const struct {
    const char *name;
    DType type;
  } python[] = {{"float", DT_F32}, {"int", DT_I32}, {"bool", DT_BOOL}};
  for (size_t i = 0; i < LEN(python); i++) {
    if (!strcmp(python[i].name, v.builtin->name)) return *out = python[i].type, true;
  }
  return false;
}

DType arg_dtype(Ev *ev, Call *c, int i, DType otherwise) {
  DType t;
  if (!arg_given(c, i)) return otherwise;
  if (c->arg[i].kind == V_STR && !val_dtype(ev, c->arg[i], &t)) {
    const char *name = c->arg[i].str->data, *near = dtype_near(name);
    ev_blame(ev, c->arg[i]);
    if (dt_foreign(name))
      ev_fail(ev, DIAG_UNSUPPORTED, c->at[i], arena_printf(ev->arena, "the dtype %s", name));
    ev_fail(ev, DIAG_DTYPE, c->at[i], word_name(ev, c), name,
            near ? arena_printf(ev->arena, "; did you mean '%s'?", near) : "");
  }
  Val v = c->arg[i];
  if (v.kind == V_BUILTIN && !strcmp(v.builtin->module, "T") && !strcmp(v.builtin->name, "ptr"))
    ev_fail(ev, DIAG_UNSUPPORTED, c->at[i], "a table of T.ptr");
  if (!val_dtype(ev, c->arg[i], &t)) bad(ev, c, i, "a dtype such as T.float16 or \"float16\"");
  return t;
}

void arg_refuse(Ev *ev, Call *c, int i, const char *feature) {
  if (arg_given(c, i)) ev_fail(ev, DIAG_UNSUPPORTED, c->at[i], feature);
}

void need_kernel(Ev *ev, Call *c) {
  if (!ev_emits(ev)) ev_outside(ev, word_name(ev, c), c->span);
}

void shape_of(Ev *ev, Val v, Span at, int *n, Val **out) {
  if (v_is_seq(v)) {
    *n = v.seq->len;
    *out = v.seq->data;
  } else {
    *n = 1;
    *out = arena_copy(ev->arena, &v, sizeof v);
  }
  if (*n < 1 || *n > 8) ev_fail(ev, DIAG_SHAPE_RANK, at, *n);
}
