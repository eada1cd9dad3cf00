// What is asked of the compiler beside a kernel: pass_configs, compile_flags, out_idx, attributes.
// SPDX-License-Identifier: MIT
#include "eval/attrs.h"
#include "eval/handlers.h"
#include "eval/object.h"

#include <string.h>

typedef enum { HONOURED, IGNORED, KEPT, REFUSED } Verdict;

static const struct {
  const char *name, *key;
  Verdict verdict;
  const char *what;
} table[] = {
#define PASS_CONFIG(name, key, verdict, what) {name, key, verdict, what},
#include "eval/pass_configs.def"
#undef PASS_CONFIG
};

Val pass_key(Ev *ev, const char *name, Span at) {
  static const Class keys = {.name = "PassConfigKey", .is_enum = true};
  const char *names[LEN(table) + 1];
  for (size_t i = 0; i < LEN(table); i++) {
    if (!strcmp(table[i].name, name)) {
      Val v = obj_new(ev, &keys);
      obj_set(ev, v, "name", v_str(ev, name), at);
      obj_set(ev, v, "value", v_str(ev, table[i].key), at);
      return v;
    }
    names[i] = table[i].name;
  }
  names[LEN(table)] = NULL;
  const char *near = near_name(name, names);
  ev_fail(ev, DIAG_NO_PASS_KEY, at, "PassConfigKey.", name,
          near ? arena_printf(ev->arena, "; did you mean PassConfigKey.%s?", near) : "");
}

static bool is_off(Val v) {
  return v.kind == V_NONE || v.kind == V_UNSET || (v_is_int(v) && !v_as_int(v)) ||
         ((v.kind == V_DICT || v.kind == V_SET) && !v.dict->live) || (v_is_seq(v) && !v.seq->len);
}

static void config(Ev *ev, const char *key, Val value, Span at) {
  const char *keys[LEN(table) + 1];
  for (size_t i = 0; i < LEN(table); i++) {
    keys[i] = table[i].key;
    if (strcmp(table[i].key, key)) continue;
    if (!strcmp(key, "tl.enable_fast_math")) ev->fast_math = !is_off(value);
    if (is_off(value) || table[i].verdict == HONOURED) return;
    if (table[i].verdict == REFUSED) ev_fail(ev, DIAG_PASS_REFUSED, at, key, table[i].what);
    if (table[i].verdict == KEPT) diag_report(ev->diags, DIAG_PASS_KEPT, at, key, table[i].what);
    else diag_remark(ev->diags, at, "pass config", "%s has no effect: %s", key, table[i].what);
    return;
  }
  keys[LEN(table)] = NULL;
  const char *near = near_name(key, keys);
  ev_fail(ev, DIAG_NO_PASS_KEY, at, "", key,
          near ? arena_printf(ev->arena, "; did you mean '%s'?", near) : "");
}

static void configs(Ev *ev, Val v, Span at) {
  if (v.kind == V_UNSET || v.kind == V_NONE || ev_unknown(v)) return;
  if (v.kind != V_DICT)
    ev_fail(ev, DIAG_OPERAND, at, "pass_configs", v_kind(ev, v), "a dict of options");
  for (int i = 0; i < v.dict->entries.len; i++) {
    const DictEntry *d = &v.dict->entries.data[i];
    if (d->dead || ev_unknown(d->key)) continue;
    Val key = d->key.kind == V_OBJECT ? ev_attr(ev, d->key, "value", at) : d->key;
    if (key.kind != V_STR)
      ev_fail(ev, DIAG_OPERAND, at, "pass_configs", v_kind(ev, key), "names of options");
    config(ev, key.str->data, d->value, at);
  }
}

static void flags(Ev *ev, Val v, Span at) {
  if (is_off(v) || ev_unknown(v)) return;
  diag_remark(ev->diags, at, "compile flags", "%s: options of nvcc belong into the build",
              v_brief(ev, v));
}

static void outputs(Ev *ev, const Func *f, int params, Span at) {
  Val v = f->out_idx;
  if (v.kind == V_UNSET || v.kind == V_NONE || ev_unknown(v)) return;
  if (params < 0) ev_fail(ev, DIAG_OUT_IDX_EAGER, at, f->name);
  Seq *all = v_is_seq(v) ? v.seq : NULL;
  for (int i = 0; i < (all ? all->len : 1); i++) {
    Val one = all ? all->data[i] : v;
    if (!v_is_int(one) || v_as_int(one) < -params || v_as_int(one) >= params)
      ev_fail(ev, DIAG_OUT_IDX, at, v_brief(ev, one), params, params, params - 1);
  }
}

typedef struct {
  const Func *f;
  int params;
} Attrs;

static void report(Ev *ev, void *arg) {
  Attrs *a = arg;
  ev->fast_math = false;
  Span at = a->f->asked_at.file ? a->f->asked_at : a->f->span;
  configs(ev, a->f->pass_configs, at);
  flags(ev, a->f->compile_flags, at);
  outputs(ev, a->f, a->params, at);
}

void attrs_report(Ev *ev, const Func *f, int params) {
  Attrs a = {f, params};
  if (f->jit) (void)ev_protect(ev, report, &a);
}

/* ------------------------------------------------------------------ T.annotate_*, T.func_attr */

Val t_pass_configs(Ev *ev, Call *c) {
  configs(ev, c->arg[0], c->at[0]);
  return v_none();
}

Val t_compile_flags(Ev *ev, Call *c) {
  flags(ev, c->arg[0], c->at[0]);
  return v_none();
}

Val t_func_attr(Ev *ev, Call *c) {
  if (c->arg[0].kind != V_DICT)
    ev_fail(ev, DIAG_ARGUMENT, c->at[0], "T.func_attr", "attrs", "a dict", v_brief(ev, c->arg[0]));
  const Dict *d = c->arg[0].dict;
  for (int i = 0; i < d->entries.len; i++) {
    if (!d->entries.data[i].dead)
      diag_remark(ev->diags, c->at[0], "attribute", "%s has no effect",
                  v_brief(ev, d->entries.data[i].key));
  }
  return v_none();
}

Val t_min_blocks(Ev *ev, Call *c) {
  int64_t n = arg_int(ev, c, 0, 0);
  diag_remark(ev->diags, c->span, "hint", "-fmin-blocks=%lld asks for as many blocks on an SM",
              (long long)n);
  return v_none();
}
