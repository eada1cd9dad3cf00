// Scopes: names and their cells, and what may be rebound where run-time control flow is open.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <string.h>

enum { MAX_RT_DEPTH = 100 };

Env *env_new(Ev *ev, Env *parent) {
  Env *e = NEW(ev->arena, Env);
  e->cells = map_new(ev->arena);
  e->parent = parent;
  e->function = true;
  e->kernel = false;
  return e;
}

Cell *env_find(Env *env, const char *name) {
  for (; env; env = env->parent) {
    if (env->outer) {
      Env *home = map_get(env->outer, name);
      if (home) env = home;
    }
    Cell *c = map_get(env->cells, name);
    if (c && c->v.kind != V_UNSET) return c;
  }
  return NULL;
}

Env *env_home(Env *env, const char *name) {
  Env *home = env->outer ? map_get(env->outer, name) : NULL;
  return home ? home : env;
}

static Cell *own_cell(Ev *ev, Env *env, const char *name) {
  Cell *c = map_get(env->cells, name);
  if (!c) {
    c = NEW(ev->arena, Cell);
    c->bound = -1;
    map_set(env->cells, name, c);
  }
  return c;
}

void env_put(Ev *ev, Env *env, const char *name, Val v) {
  Cell *c = own_cell(ev, env, name);
  c->v = v;
  c->bound = ++ev->clock;
}

void env_set(Ev *ev, const char *name, Val v, Span at) {
  Env *home = env_home(ev->env, name);
  Cell *c = own_cell(ev, home, name);
  bool live = c->v.kind != V_UNSET && c->v.kind != V_ESCAPED && c->v.kind != V_ERROR;
  for (RtBlock *r = ev->trace ? ev->trace->rt : NULL; r; r = r->outer) {
    if (c->bound > r->start) break; // bound inside r already
    if (r->loop && live && c->read > r->start) ev_fail(ev, DIAG_CARRIED, at, name, name);
    vec_push(ev->arena, &r->undo, (Undo){c, c->v, c->bound});
  }
  c->v = v;
  c->at = at;
  c->bound = ++ev->clock;
}

static const char *near_cell(Ev *ev, const char *name) {
  VEC(const char *) names = {0};
  for (Env *e = ev->env; e; e = e->parent) {
    for (int i = 0; i < map_len(e->cells) && names.len < 2000; i++) {
      const Cell *c = map_value(e->cells, i);
      if (c->v.kind != V_UNSET) vec_push(ev->arena, &names, map_key(e->cells, i));
    }
  }
  vec_push(ev->arena, &names, NULL);
  return near_name(name, names.data);
}

// The opaque module whose `import *` may have brought the name.
static Cell *star_import(Env *env) {
  for (; env; env = env->parent) {
    Cell *c = map_get(env->cells, "*");
    if (c) return c;
  }
  return NULL;
}

static Val not_found(Ev *ev, const char *name, Span at) {
  if (star_import(ev->env)) return v_opaque(ev, "%s", name);
  if (!strcmp(name, "T") || !strcmp(name, "tilelang"))
    ev_fail(ev, DIAG_NAME, at, name,
            *name == 'T' ? "; write 'import tilelang.language as T'" : "; write 'import tilelang'");
  if (!strcmp(name, "math"))
    ev_fail(ev, DIAG_NAME, at, name,
            "; write 'import math', or take T.exp and its like for values of run time");
  ev_not_yet(ev, name, at);
  ev_fail(ev, DIAG_NAME, at, name, ev_meant(ev, at, near_cell(ev, name), ""));
}

static Val load_var(Ev *ev, Buffer *b, Span at) {
  Expr *zero = ex_index(ev->arena, 0);
  return v_expr(ex_at(ex_load(ev->arena, b, &zero, 1), at), 2);
}

Val env_read(Ev *ev, const char *name, Span at) {
  Cell *c = env_find(ev->env, name);
  if (!c) return not_found(ev, name, at);
  c->read = ++ev->clock;
  switch (c->v.kind) {
  case V_ESCAPED: ev_fail(ev, DIAG_ESCAPED, at, name, name);
  case V_VAR: return load_var(ev, c->v.buf, at);
  case V_REF: return (Val){.kind = V_EXPR, .size = c->v.size, .expr = c->v.expr};
  default: break;
  }
  return c->v;
}

Env *env_snapshot(Ev *ev, Env *env) {
  if (!env || env == ev->builtins) return env;
  Env *copy = NEW(ev->arena, Env);
  *copy = *env;
  copy->cells = map_new(ev->arena);
  copy->parent = env_snapshot(ev, env->parent);
  for (int i = 0; i < map_len(env->cells); i++) {
    Cell *c = NEW(ev->arena, Cell);
    *c = *(Cell *)map_value(env->cells, i);
    map_set(copy->cells, map_key(env->cells, i), c);
  }
  return copy;
}

void rt_enter(Ev *ev, RtBlock *b, bool loop, bool elements, Span at) {
  RtBlock *outer = ev->trace->rt;
  *b = (RtBlock){.outer = outer, .loop = loop, .elements = elements, .start = ++ev->clock};
  b->depth = outer ? outer->depth + 1 : 1;
  if (b->depth > MAX_RT_DEPTH) ev_fail(ev, DIAG_RT_DEPTH, at, MAX_RT_DEPTH);
  ev->trace->rt = b;
}

void rt_restore(Ev *ev, RtBlock *b) {
  for (int i = b->undo.len - 1; i >= 0; i--) {
    b->undo.data[i].cell->v = b->undo.data[i].old;
    b->undo.data[i].cell->bound = b->undo.data[i].bound;
  }
}

void rt_leave(Ev *ev, RtBlock *b) {
  ev->trace->rt = b->outer;
  for (int i = 0; i < b->undo.len; i++) {
    Cell *c = b->undo.data[i].cell;
    if (c->v.kind != V_ERROR) c->v = (Val){.kind = V_ESCAPED};
    c->bound = ++ev->clock;
  }
}

void rt_mutate(Ev *ev, int64_t born, Span at) {
  for (RtBlock *r = ev->trace ? ev->trace->rt : NULL; r; r = r->outer) {
    if (born < r->start) ev_fail(ev, DIAG_RT_MUTATE, at, r->loop ? "loop" : "branch");
  }
}
