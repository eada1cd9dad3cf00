// Entries: which functions are kernels, binding their parameters, evaluating each.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include "eval/attrs.h"
#include "eval/entry.h"

#include <string.h>

/* ------------------------------------------------------------------ symbols */

static const char *c_name(Ev *ev, const char *name) {
  char *s = arena_printf(ev->arena, "%s%s", *name >= '0' && *name <= '9' ? "_" : "", name);
  for (char *p = s; *p; p++) {
    bool letter = (*p | 32) >= 'a' && (*p | 32) <= 'z';
    if (!letter && *p != '_' && !(*p >= '0' && *p <= '9')) *p = '_';
  }
  return *s ? s : "kernel";
}

static bool symbol_ok(Ev *ev, const char *name, Span at) {
  if (!sym_identifier(name)) diag_report(ev->diags, DIAG_SYMBOL, at, name, c_name(ev, name));
  else if (sym_taken(name)) diag_report(ev->diags, DIAG_SYMBOL_TAKEN, at, name, name);
  else return true;
  return false;
}

/* ------------------------------------------------------------------ parameters */

static const char *given(const Ev *ev, const char *name) {
  const EvOptions *o = ev->options;
  const char *text = o->bindings ? map_get(o->bindings, name) : NULL;
  return text || !o->recorded ? text : map_get(o->recorded, name);
}

static void note_used(Ev *ev, const char *name) { map_set(ev->used, name, (void *)1); }

static Val bind_one(Ev *ev, Func *f, int i, EvParamInfo *info) {
  const AstParam *p = &f->params->data[i];
  const char *text = given(ev, p->name);
  if (!text) text = host_value(ev, f, p->name);
  Val v = text ? bind_parse(ev, text) : f->defaults[i];
  *info = (EvParamInfo){.name = p->name, .given = given(ev, p->name) != NULL, .span = p->name_span};
  note_used(ev, p->name);
  if (v.kind == V_UNSET) return v_missing(ev, p->name, false);
  if (v.kind == V_NONE) return v_missing(ev, p->name, true);
  info->value = bind_text(ev, v);
  return v;
}

Env *entry_bind(Ev *ev, Func *f, EvEntry *e) {
  Env *env = env_new(ev, f->closure);
  for (int i = 0; i < f->params->len; i++) {
    const AstParam *p = &f->params->data[i];
    if (p->kind == AST_PARAM_STAR) {
      env_put(ev, env, p->name, v_seq(ev, V_TUPLE, 0));
    } else if (p->kind == AST_PARAM_DOUBLE_STAR) {
      env_put(ev, env, p->name, v_dict(ev, V_DICT));
    } else {
      EvParamInfo info;
      env_put(ev, env, p->name, bind_one(ev, f, i, &info));
      vec_push(ev->arena, &e->params, info);
    }
  }
  return env;
}

Val ev_const(Ev *ev, const char *name, Span at) {
  const char *text = given(ev, name);
  note_used(ev, name);
  Val v = text ? bind_parse(ev, text) : v_missing(ev, name, false);
  if (text && v.kind != V_INT) ev_fail(ev, DIAG_CONST_VALUE, at, name, text);
  EvParamInfo info = {
      .name = name, .value = text ? bind_text(ev, v) : NULL, .given = text != NULL, .span = at};
  if (ev->entry) vec_push(ev->arena, &ev->entry->params, info);
  return v;
}

static bool is_needed(const Ev *ev, const char *name) {
  for (int i = 0; i < ev->needed.len; i++) {
    if (!strcmp(ev->needed.data[i], name)) return true;
  }
  return false;
}

// While a tuning space is asked for, what each of its configurations binds is not wanting.
static bool space_binds(const Ev *ev, const EvEntry *e) {
  if (!e->configs.len) return false;
  const EvConfig *c = &e->configs.data[0];
  for (int i = 0; i < ev->needed.len; i++) {
    bool bound = false;
    for (int k = 0; k < c->bindings.len; k++)
      bound |= !strcmp(c->bindings.data[k].name, ev->needed.data[i]);
    if (!bound) return false;
  }
  return true;
}

// One error names every parameter that is wanting, in the order of the signature.
static void report_missing(Ev *ev, EvEntry *e) {
  SB names = {0}, usage = {0};
  for (int i = 0; i < e->params.len; i++) {
    EvParamInfo *p = &e->params.data[i];
    if (!is_needed(ev, p->name)) continue;
    p->missing = true;
    sb_printf(ev, &names, "%s%s", names.len ? ", " : "", p->name);
    sb_printf(ev, &usage, "%s%s=...", usage.len ? "," : "", p->name);
  }
  diag_report(ev->diags, DIAG_MISSING_PARAMS, e->span, e->name, names.len ? names.data : "",
              usage.len ? usage.data : "");
}

static const char *bindings_text(Ev *ev, const EvEntry *e) {
  SB b = {0};
  for (int i = 0; i < e->params.len; i++) {
    const EvParamInfo *p = &e->params.data[i];
    if (p->value) sb_printf(ev, &b, "%s%s=%s", b.len ? ", " : "", p->name, p->value);
  }
  return b.len ? b.data : "";
}

/* ------------------------------------------------------------------ evaluation */

enum { MAX_FACTORIES = 8 };

typedef struct {
  Func *f;
  EvEntry *e;
  Env *env;
  Val result;
} Factory;

static void run_factory(Ev *ev, void *arg) {
  Factory *f = arg;
  ev->env = f->env;
  ev->env->body = f->f->body;
  f->result = v_none();
  if (ev_block(ev, f->f->body) == FLOW_RETURN) f->result = ev->ret;
}

Val entry_factory(Ev *ev, Func *f, EvEntry *e) {
  Env *saved = ev->env;
  Factory run = {f, e, entry_bind(ev, f, e), {.kind = V_ERROR}};
  bool ok = ev_protect(ev, run_factory, &run);
  ev->env = saved;
  ev->calls = NULL;
  return ok ? run.result : (Val){.kind = V_ERROR};
}

// The function that a factory made: returned, alone or beside other things, or given to a tuner or
// the compiler.
static Val made_by(Ev *ev, Val r, int tuners) {
  if (r.kind == V_FUNC || r.kind == V_ERROR || r.kind == V_MISSING) return r;
  Val f = {.kind = V_UNSET};
  int found = 0;
  for (int i = 0; v_is_seq(r) && i < r.seq->len; i++) {
    if (r.seq->data[i].kind == V_FUNC && r.seq->data[i].fn->prim && ++found) f = r.seq->data[i];
  }
  if (found) return found == 1 ? f : r;
  if (ev->tuners.len > tuners) return ev->tuners.data[tuners]->kernel;
  return ev->compiled.kind == V_FUNC ? ev->compiled : r;
}

static Program *eval_lazy(Ev *ev, Func *f, EvEntry *e, const char *symbol) {
  Val r = {.kind = V_FUNC, .fn = f};
  for (int depth = 0; depth < MAX_FACTORIES; depth++) { // a factory may make a factory
    if (fn_is_eager(r.fn) && (!depth || r.fn->jit)) {
      attrs_report(ev, r.fn, -1);
      return trace_kernel(ev, r.fn, symbol, e);
    }
    const Func *factory_fn = r.fn;
    int tuners = ev->tuners.len;
    ev->compiled = v_none();
    r = made_by(ev, entry_factory(ev, r.fn, e), tuners);
    if (r.kind == V_ERROR) return NULL;
    if (r.kind == V_FUNC && r.fn->prim) {
      attrs_report(ev, factory_fn, r.fn->params->len);
      return trace_kernel(ev, r.fn, symbol, e);
    }
    bool factory =
        r.kind == V_FUNC && r.fn->body && !r.fn->macro && (r.fn->jit || fn_holds_kernel(r.fn));
    if (!factory) break;
  }
  if (r.kind == V_MISSING) ev_note_missing(ev, r);
  if (!ev->needed.len && r.kind != V_ERROR) entry_no_kernel(ev, f, r);
  return NULL;
}

static void eval_entry(Ev *ev, Func *f, EvEntry *e) {
  const char *dot = strchr(e->name, '.'); // a kernel inside a function goes by that one's name
  const char *own = dot ? arena_strn(ev->arena, e->name, (size_t)(dot - e->name)) : f->name;
  const char *symbol = ev->options->name ? ev->options->name : own;
  ev->entry = e;
  bool ok = symbol_ok(ev, symbol, ev->options->name ? NO_SPAN : f->span);
  Program *p = NULL;
  if (f->prim) p = trace_kernel(ev, f, symbol, e);
  else p = eval_lazy(ev, f, e, symbol);
  if (ev->needed.len && !space_binds(ev, e)) report_missing(ev, e);
  ev->entry = NULL;
  if (!p || !ok) return;
  for (int i = 0; i < p->sizes.len; i++) note_used(ev, p->sizes.data[i]->name);
  for (int i = 0; i < p->params.len; i++) {
    if (p->params.data[i].kind == PARAM_SCALAR) note_used(ev, p->params.data[i].name);
  }
  p->bindings = bindings_text(ev, e);
  for (int i = 0; i < e->params.len; i++) {
    const EvParamInfo *b = &e->params.data[i];
    if (b->value) vec_push(ev->arena, &p->bound, (Bound){b->name, b->value, b->given});
  }
  e->program = p;
  vec_push(ev->arena, &ev->result->programs, p);
}

/* ------------------------------------------------------------------ choosing */

// Made by a factory: what it stands for is the factory, with the operands of that call.
static bool is_made(const Ev *ev, const Func *f) {
  return f->prim && f->closure && f->closure->parent != ev->builtins;
}

static void add_entry(Ev *ev, Entries *out, const char *name, Func *f) {
  for (int i = 0; i < out->len; i++) {
    if (out->data[i].f->base == f->base) return;
  }
  vec_push(ev->arena, out, (Candidate){name, f});
}

void entry_candidates(Ev *ev, Env *module, Entries *out) {
  bool list = ev->options->list; // then plain factories beside decorated ones, too
  for (int pass = 0; pass < 3 && (!out->len || (list && pass == 1)); pass++) {
    for (int i = 0; i < map_len(module->cells); i++) {
      Val v = ((Cell *)map_value(module->cells, i))->v;
      if (v.kind != V_FUNC) continue;
      bool here = v.fn->span.file == ev->options->file;
      bool kernel = (v.fn->prim || v.fn->jit) && !is_made(ev, v.fn);
      bool wanted = pass == 0   ? here && kernel
                    : pass == 1 ? here && !kernel && fn_makes_kernel(v.fn)
                                : kernel;
      if (wanted) add_entry(ev, out, v.fn->name, v.fn);
    }
  }
}

static const char *entry_names(Ev *ev, const Entries *all) {
  SB b = {0};
  for (int i = 0; i < all->len; i++) sb_printf(ev, &b, "%s%s", i ? ", " : "", all->data[i].name);
  return b.len ? b.data : "none";
}

// The entries that --entry selects, moved to the front of `all`; false after an error.
static bool choose(Ev *ev, Env *module, Entries *all) {
  const char *want = ev->options->entry;
  if (want && !strcmp(want, "all")) return true;
  if (want) {
    for (int i = 0; i < all->len; i++) {
      if (strcmp(all->data[i].name, want)) continue;
      all->data[0] = all->data[i];
      all->len = 1;
      return true;
    }
    const Cell *c = map_get(module->cells, want);
    if (c && c->v.kind == V_FUNC && c->v.fn->body) {
      all->len = 0;
      add_entry(ev, all, want, c->v.fn);
      return true;
    }
    VEC(const char *) names = {0};
    for (int i = 0; i < all->len; i++) vec_push(ev->arena, &names, all->data[i].name);
    vec_push(ev->arena, &names, NULL);
    const char *near = near_name(want, names.data);
    diag_report(ev->diags, DIAG_NO_ENTRY, NO_SPAN, want, entry_names(ev, all),
                near ? arena_printf(ev->arena, "; did you mean '%s'?", near) : "");
    return false;
  }
  if (all->len > 1) {
    diag_report(ev->diags, DIAG_MANY_ENTRIES, NO_SPAN, all->len, entry_names(ev, all));
    return false;
  }
  return true;
}

// A -p that nothing took is a spelling error.
static void check_bindings(Ev *ev, const Env *module) {
  const Map *b = ev->options->bindings;
  VEC(const char *) names = {0};
  for (int i = 0; i < map_len(ev->used); i++) vec_push(ev->arena, &names, map_key(ev->used, i));
  vec_push(ev->arena, &names, NULL);
  for (int i = 0; b && i < map_len(b); i++) {
    const char *name = map_key(b, i);
    if (map_has(ev->used, name) || map_has(ev->sizes, name)) continue;
    const char *near = near_name(name, names.data);
    SB list = {0};
    for (int k = 0; k + 1 < names.len; k++)
      sb_printf(ev, &list, "%s%s", k ? ", " : "", names.data[k]);
    diag_report(ev->diags, DIAG_NO_PARAM, NO_SPAN, name, list.len ? list.data : "none",
                near ? arena_printf(ev->arena, "; did you mean '%s'?", near) : "");
    if (map_has(module->cells, name))
      diag_note(ev->diags, NO_SPAN,
                "%s is a name of the module: -p gives values to the kernel's own parameters", name);
  }
}

static void list_calls(Ev *ev, const Func *f, EvEntry *e) {
  for (int i = 0; i < ev->made.len; i++) {
    if (ev->made.data[i].f == f->base) vec_push(ev->arena, &e->calls, ev->made.data[i].bindings);
  }
}

static void eval_entries(Ev *ev, const Entries *all) {
  EvEntry *e = ev->result->entries.data;
  for (int i = 0; i < all->len; i++) {
    ev->needed.len = 0;
    space_declared(ev, all->data[i].f, &e[i]);
    if (ev->options->configs) space_of(ev, all->data[i].f, &e[i]);
    if (ev->options->list) list_calls(ev, all->data[i].f, &e[i]);
    else eval_entry(ev, all->data[i].f, &e[i]);
    if (ev->options->list && !(ev->options->configs && e[i].spaced))
      space_tuned(ev, all, i, &e[i]);
  }
}

// Kernels that the file defines when it runs as a program.
static void add_nested(Ev *ev, Env *module, Entries *all) {
  if (ev->body) host_run(ev, module, ev->body);
  for (int i = 0; i < ev->nested.len; i++)
    add_entry(ev, all, ev->nested.data[i].name, ev->nested.data[i].f);
}

// Every name that p defines in the .cu: its launcher's, what goes with it, its kernels'.
static void names_of(Ev *ev, const Program *p, Map *into) {
  static const char *const suffix[] = {"", "_check", "_refuses", "_workspace"};
  for (size_t i = 0; i < LEN(suffix); i++)
    map_set(into, arena_printf(ev->arena, "%s%s", p->symbol, suffix[i]), (void *)p);
  for (int i = 0; i < p->kernels.len; i++) map_set(into, p->kernels.data[i]->name, (void *)p);
}

// The entries of a run share one .cu.
static void check_clashes(Ev *ev) {
  Map *taken = map_new(ev->arena);
  for (int i = 0; i < ev->result->entries.len; i++) {
    const EvEntry *e = &ev->result->entries.data[i];
    if (!e->program) continue;
    Map *own = map_new(ev->arena);
    names_of(ev, e->program, own);
    for (int k = 0; k < map_len(own); k++) {
      const char *name = map_key(own, k);
      const Program *other = map_get(taken, name);
      if (other) {
        diag_report(ev->diags, DIAG_SYMBOL_CLASH, e->span, other->symbol, e->program->symbol, name);
        break;
      }
    }
    names_of(ev, e->program, taken);
  }
}

void entry_run(Ev *ev, Env *module) {
  Entries all = {0};
  entry_candidates(ev, module, &all);
  const char *want = ev->options->entry;
  if (ev->options->list || (want && strchr(want, '.'))) add_nested(ev, module, &all);
  if (!all.len && !(ev->options->entry && strcmp(ev->options->entry, "all"))) {
    if (!diag_errors(ev->diags)) entry_none(ev, module);
    return;
  }
  if (!(ev->options->list && !ev->options->entry) && !choose(ev, module, &all)) return;
  if (ev->options->name && all.len > 1) {
    diag_report(ev->diags, DIAG_NAME_MANY, NO_SPAN, ev->options->name, all.len);
    return;
  }
  for (int i = 0; i < all.len; i++) { // entries first: they must not move while one is evaluated
    vec_push(ev->arena, &ev->result->entries,
             (EvEntry){.name = all.data[i].name, .span = all.data[i].f->span});
    EvEntry *e = &ev->result->entries.data[i];
    for (int k = 0; k < all.data[i].f->params->len; k++)
      vec_push(ev->arena, &e->operands, all.data[i].f->params->data[k].name);
  }
  eval_entries(ev, &all);
  check_clashes(ev);
  if (!diag_errors(ev->diags) && !ev->options->list) check_bindings(ev, module);
}
