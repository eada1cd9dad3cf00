// Modules: tlc's own, the user's files, and those that stay opaque.
// SPDX-License-Identifier: MIT
#include "eval/attrs.h"

#include <math.h>
#include <string.h>

enum { MAX_MODULES = 200, MAX_FILE = 8 << 20 };

static const Module own[] = {
    {"T", NULL},    {"GemmWarpPolicy", NULL}, {"PassConfigKey", NULL}, {"tilelang", NULL},
    {"math", NULL}, {"itertools", NULL},      {"functools", NULL},     {"operator", NULL},
    {"tvm", NULL},  {"dataclasses", NULL},    {"enum", NULL},          {"argparse", NULL},
};

// A module of tilelang's or tvm's of which eval/lib.def has a part.
static Val known_module(Ev *ev, const char *name) {
  if ((strncmp(name, "tilelang.", 9) && strncmp(name, "tvm.", 4)) || !lib_has(name))
    return (Val){.kind = V_UNSET};
  Module *m = map_get(ev->own, name);
  if (!m) {
    m = NEW(ev->arena, Module);
    *m = (Module){arena_str(ev->arena, name), NULL};
    map_set(ev->own, name, m);
  }
  return (Val){.kind = V_MODULE, .module = m};
}

static Val module(const char *name) {
  for (size_t i = 0; i < LEN(own); i++) {
    if (!strcmp(own[i].name, name)) return (Val){.kind = V_MODULE, .module = &own[i]};
  }
  return (Val){.kind = V_UNSET};
}

Val mod_builtin(Ev *ev, const char *name) {
  if (!strcmp(name, "tilelang.language") || !strcmp(name, "tilelang.language.v2"))
    return module("T");
  if (!strcmp(name, "tilelang.jit") || !strcmp(name, "tilelang.autotuner"))
    return module("tilelang");
  if (!strcmp(name, "tilelang.tvm")) return module("tvm");
  if (!strcmp(name, "tvm.tir")) return known_module(ev, "tvm.tirx");
  if (!strcmp(name, "T") || !strcmp(name, "GemmWarpPolicy") || !strcmp(name, "PassConfigKey"))
    return (Val){.kind = V_UNSET};
  if (carver_is(name)) return carver_module(ev, name);
  Val m = module(name);
  return m.kind != V_UNSET ? m : known_module(ev, name);
}

/* ------------------------------------------------------------------ attributes */

static Val vocab_attr(Ev *ev, const char *name, Span at) {
  DType t;
  int lanes;
  const Builtin *b = vocab_find(name);
  if (b) return (Val){.kind = V_BUILTIN, .builtin = b};
  if (!strcmp(name, "GemmWarpPolicy")) return module(name);
  if (dt_find(name, &t) && t != DT_INDEX) return v_dtype(t);
  if (ev->trace && dt_vector(name, &t, &lanes)) return v_str(ev, name);
  if (!ev->trace && !ev->entry) return v_opaque(ev, "T.%s", name); // host code may never need it
  ev_no_word(ev, name, at);
}

void ev_no_word(Ev *ev, const char *name, Span at) {
  if (dt_foreign(name))
    ev_fail(ev, DIAG_UNSUPPORTED, at, arena_printf(ev->arena, "the dtype %s", name));
  if (!strcmp(name, "inf"))
    ev_fail(ev, DIAG_NO_WORD, at, name, "; did you mean 'T.infinity(dtype)'?");
  const char *near = vocab_near(ev, name);
  ev_fail(ev, DIAG_NO_WORD, at, name, ev_meant(ev, ev_tail(ev, at, name), near, "T."));
}

static Val policy_attr(Ev *ev, const char *name, Span at) {
  static const char *const names[] = {"Square", "FullRow", "FullCol"};
  for (int i = 0; i < 3; i++) {
    if (!strcmp(name, names[i])) return (Val){.kind = V_POLICY, .i = i};
  }
  static const char *const all[] = {"Square", "FullRow", "FullCol", NULL};
  const char *near = near_name(name, all);
  ev_fail(ev, DIAG_NO_POLICY, at, name, ev_meant(ev, ev_tail(ev, at, name), near, ""));
}

static bool math_constant(const char *name, double *out) {
  static const struct {
    const char *name;
    double value;
  } constants[] = {{"pi", 3.141592653589793},
                   {"e", 2.718281828459045},
                   {"tau", 6.283185307179586},
                   {"inf", INFINITY},
                   {"nan", NAN}};
  for (size_t i = 0; i < LEN(constants); i++) {
    if (!strcmp(name, constants[i].name)) return *out = constants[i].value, true;
  }
  return false;
}

Val mod_attr(Ev *ev, const Module *m, const char *name, Span at) {
  if (m->env) {
    Cell *c = map_get(m->env->cells, name);
    if (c && c->v.kind != V_UNSET) return c->v;
    Val sub = carver_is(m->name) ? mod_builtin(ev, arena_printf(ev->arena, "%s.%s", m->name, name))
                                 : (Val){.kind = V_UNSET};
    if (sub.kind != V_UNSET) return sub;
    return v_opaque(ev, "%s.%s", m->name, name);
  }
  double constant;
  if (!strcmp(m->name, "T")) return vocab_attr(ev, name, at);
  if (!strcmp(m->name, "GemmWarpPolicy") && !lib_find(m->name, name))
    return policy_attr(ev, name, at);
  if (!strcmp(m->name, "math") && math_constant(name, &constant)) return v_float(constant);
  const Builtin *b = lib_find(m->name, name);
  if (b) return (Val){.kind = V_BUILTIN, .builtin = b};
  if (!strcmp(m->name, "PassConfigKey")) return pass_key(ev, name, at);
  if (!strncmp(m->name, "tilelang", 8) &&
      (!strcmp(name, "PassConfigKey") || !strcmp(name, "GemmWarpPolicy")))
    return module(name);
  if (!strcmp(m->name, "tvm.tirx") && vocab_find(name)) return vocab_attr(ev, name, at);
  Val sub = mod_builtin(ev, arena_printf(ev->arena, "%s.%s", m->name, name));
  return sub.kind != V_UNSET ? sub : v_opaque(ev, "%s.%s", m->name, name);
}

/* ------------------------------------------------------------------ the user's files */

static void run_body(Ev *ev, void *arg) { (void)ev_block(ev, arg); }

bool ev_run_file(Ev *ev, uint32_t file, Env *env) {
  AstModule *m = ast_parse(ev->arena, ev->diags, file);
  if (!m) return false;
  if (file == ev->options->file) ev->body = &m->body;
  const char *path = src_get(ev->sources, file)->path, *slash = strrchr(path, '/');
  const char *folder = ev->folder;
  Env *saved = ev->env;
  Trace *trace = ev->trace;
  ev->folder = slash ? arena_strn(ev->arena, path, (size_t)(slash - path)) : ".";
  ev->env = env;
  env->body = &m->body;
  ev->trace = NULL;
  bool ok = ev_protect(ev, run_body, &m->body);
  ev->trace = trace;
  ev->env = saved;
  ev->folder = folder;
  return ok;
}

static Module *load(Ev *ev, const char *path, const char *name, bool *is_new) {
  Module *m = map_get(ev->modules, path);
  *is_new = !m;
  if (m) return m;
  size_t len;
  char *text = map_len(ev->modules) < MAX_MODULES ? file_read(ev->arena, path, &len) : NULL;
  if (!text || len > MAX_FILE) {
    vec_push(ev->arena, &ev->result->missed, arena_str(ev->arena, path));
    return NULL;
  }
  m = NEW(ev->arena, Module);
  m->name = arena_str(ev->arena, name);
  m->env = env_new(ev, ev->builtins);
  map_set(ev->modules, path, m);
  vec_push(ev->arena, &ev->result->files, arena_str(ev->arena, path));
  env_put(ev, m->env, "__name__", v_str(ev, name));
  ev_run_file(ev, src_add(ev->sources, path, text, len), m->env);
  return m;
}

// Tries FOLDER/a/b.tl, .py and FOLDER/a/b/__init__.py.
static Module *load_from(Ev *ev, const char *folder, const char *name) {
  static const char *const endings[] = {".tl", ".py", "/__init__.tl", "/__init__.py"};
  char *rel = arena_str(ev->arena, name);
  for (char *p = rel; *p; p++) {
    if (*p == '.') *p = '/';
  }
  for (size_t i = 0; i < LEN(endings); i++) {
    bool is_new;
    const char *path = !strcmp(folder, ".")
                           ? arena_printf(ev->arena, "%s%s", rel, endings[i])
                           : arena_printf(ev->arena, "%s/%s%s", folder, rel, endings[i]);
    Module *m = load(ev, path, name, &is_new);
    if (m) return m;
  }
  return NULL;
}

static Module *find_module(Ev *ev, const char *name, int level) {
  const char *folder = ev->folder;
  for (int i = 1; i < level; i++) folder = arena_printf(ev->arena, "%s/..", folder);
  if (!*name) return NULL;
  Module *m = load_from(ev, folder, name);
  for (int i = 0; !m && !level && i < ev->options->ninclude; i++)
    m = load_from(ev, ev->options->include[i], name);
  return m;
}

static Val module_value(Ev *ev, const char *name, int level) {
  Val v = level ? (Val){.kind = V_UNSET} : mod_builtin(ev, name);
  if (v.kind != V_UNSET) return v;
  Module *m = find_module(ev, name, level);
  if (m) return (Val){.kind = V_MODULE, .module = m};
  return v_opaque(ev, "%s", name);
}

static void import_star(Ev *ev, Val m, Span at) {
  if (m.kind == V_OPAQUE) {
    env_put(ev, ev->env, "*", m);
  } else if (m.module->env) {
    Map *cells = m.module->env->cells;
    for (int i = 0; i < map_len(cells); i++) {
      const char *name = map_key(cells, i);
      const Cell *c = map_value(cells, i);
      if (*name != '_') env_set(ev, arena_str(ev->arena, name), c->v, at);
    }
  } else if (!strcmp(m.module->name, "T")) {
    for (int i = 0; ev_word(i); i++)
      env_set(ev, ev_word(i)->name, vocab_attr(ev, ev_word(i)->name, at), at);
  } else {
    for (int i = 0; lib_at(i); i++) {
      const Builtin *b = lib_at(i);
      if (!strcmp(b->module, m.module->name))
        env_set(ev, b->name, (Val){.kind = V_BUILTIN, .builtin = b}, at);
    }
    env_put(ev, ev->env, "*", v_opaque(ev, "%s", m.module->name));
  }
}

static void import_names(Ev *ev, const AstStmt *s) {
  const char *name = s->import.module.text;
  if (!strcmp(name, "__future__")) return;
  Val m = module_value(ev, name, s->import.level);
  for (int i = 0; i < s->import.nnames; i++) {
    const AstAlias *a = &s->import.names[i];
    if (!strcmp(a->name, "*")) {
      import_star(ev, m, a->span);
      continue;
    }
    Val v = m.kind == V_OPAQUE ? ev_attr(ev, m, a->name, a->span)
                               : mod_attr(ev, m.module, a->name, a->span);
    if (v.kind == V_OPAQUE) { // perhaps a module of its own
      const char *full = *name ? arena_printf(ev->arena, "%s.%s", name, a->name) : a->name;
      Val sub = module_value(ev, full, s->import.level);
      if (sub.kind == V_MODULE) v = sub;
    }
    env_set(ev, a->alias ? a->alias : a->name, v, a->span);
  }
}

void ev_import(Ev *ev, const AstStmt *s) {
  if (s->kind == AST_STMT_FROM_IMPORT) {
    import_names(ev, s);
    return;
  }
  for (int i = 0; i < s->import.nnames; i++) {
    const AstAlias *a = &s->import.names[i];
    const char *dot = strchr(a->name, '.');
    if (a->alias || !dot) {
      env_set(ev, a->alias ? a->alias : a->name, module_value(ev, a->name, 0), a->span);
      continue;
    }
    const char *top = arena_strn(ev->arena, a->name, (size_t)(dot - a->name));
    env_set(ev, top, module_value(ev, top, 0), a->span);
  }
}
