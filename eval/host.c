// What a file's own host code says of its kernels: the calls of them, and the tuners of them.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include "eval/entry.h"
#include "eval/handlers.h"

#include <string.h>

enum { HOST_STEPS = 200000, MAX_CALLS_KEPT = 1000 };

/* ------------------------------------------------------------------ calls of kernels */

static void put(Ev *ev, HostCall *h, const char *name, const char *text) {
  for (int i = 0; i < h->bindings.bindings.len; i++) {
    if (!strcmp(h->bindings.bindings.data[i].name, name)) return;
  }
  if (text) vec_push(ev->arena, &h->bindings.bindings, (EvBinding){name, text});
}

// The shape in T.Tensor((M, N), dtype) or T.Tensor[[M, N], dtype].
static const AstExprs *declared_shape(const AstExpr *type) {
  const AstExpr *shape = NULL;
  if (type && type->kind == AST_CALL && type->call.args.len) shape = type->call.args.data[0].value;
  if (type && type->kind == AST_INDEX) {
    shape = type->index.index;
    if (shape->kind == AST_TUPLE && shape->items.len) shape = shape->items.data[0];
  }
  return shape && (shape->kind == AST_TUPLE || shape->kind == AST_LIST) ? &shape->items : NULL;
}

// An eager kernel's T.const sizes are those of the tensors that it is called with.
static void put_sizes(Ev *ev, HostCall *h, const Func *f, const char *param, const Seq *shape) {
  for (int i = -1; i < f->body->len; i++) {
    const AstExpr *type = NULL;
    if (i >= 0) {
      const AstStmt *s = f->body->data[i];
      if (s->kind == AST_STMT_ANN_ASSIGN && s->ann.target->kind == AST_NAME &&
          !strcmp(s->ann.target->name, param))
        type = s->ann.annotation;
    }
    for (int k = 0; i < 0 && k < f->params->len; k++) {
      if (!strcmp(f->params->data[k].name, param)) type = f->params->data[k].annotation;
    }
    const AstExprs *names = declared_shape(type);
    for (int d = 0; names && d < names->len && d < shape->len; d++) {
      if (names->data[d]->kind == AST_NAME && v_is_int(shape->data[d]))
        put(ev, h, names->data[d]->name, bind_text(ev, shape->data[d]));
    }
  }
}

static void put_arg(Ev *ev, HostCall *h, const Func *f, const char *name, Val v) {
  if (v.kind == V_OPAQUE && v.opaque->shape) put_sizes(ev, h, f, name, v.opaque->shape);
  else put(ev, h, name, bind_text(ev, v));
}

void host_call(Ev *ev, const Func *f, const Call *c) {
  if (ev->entry || ev->made.len >= MAX_CALLS_KEPT) return;
  HostCall h = {.f = f->base, .at = c->span, .hosted = ev->hosting};
  int used = 0;
  for (int i = 0; i < f->params->len; i++) {
    const AstParam *p = &f->params->data[i];
    if (p->kind == AST_PARAM_STAR || p->kind == AST_PARAM_DOUBLE_STAR) continue;
    if (p->kind != AST_PARAM_KEYWORD_ONLY && used < c->pos.len)
      put_arg(ev, &h, f, p->name, c->pos.data[used++]);
  }
  for (int k = 0; k < c->kw.len; k++) put_arg(ev, &h, f, c->kw.data[k].name, c->kw.data[k].v);
  vec_push(ev->arena, &ev->made, h);
}

const char *host_value(const Ev *ev, const Func *f, const char *name) {
  const char *found = NULL;
  for (int i = 0; i < ev->made.len; i++) {
    const HostCall *h = &ev->made.data[i];
    if (h->f != f->base || h->hosted) continue;
    const char *here = NULL;
    for (int k = 0; k < h->bindings.bindings.len; k++) {
      if (!strcmp(h->bindings.bindings.data[k].name, name))
        here = h->bindings.bindings.data[k].value;
    }
    if (!here || (found && strcmp(found, here))) return NULL; // no value that all calls agree on
    found = here;
  }
  return found;
}

void host_defined(Ev *ev, Func *f) {
  const CallSite *site = ev->calls;
  if (!(f->prim || f->jit) || !site || site->f->jit || fn_makes_kernel(site->f)) return;
  const char *name = arena_printf(ev->arena, "%s.%s", site->name, f->name);
  for (int i = 0; i < ev->nested.len; i++) {
    if (!strcmp(ev->nested.data[i].name, name)) return;
  }
  if (ev->nested.len < MAX_CALLS_KEPT) vec_push(ev->arena, &ev->nested, (Nested){name, f});
}

/* ------------------------------------------------------------------ f.compile(...),
 * tilelang.compile */

Val fn_compile(Ev *ev, Call *c) {
  if (c->self.fn->jit) host_call(ev, c->self.fn, c);
  return v_opaque(ev, "%s.compile()", c->self.fn->name);
}

Val tl_compile(Ev *ev, Call *c) {
  if (c->arg[0].kind != V_FUNC) return v_opaque(ev, "tilelang.compile()");
  ev->compiled = c->arg[0];
  return c->arg[0];
}

/* ------------------------------------------------------------------ tuners */

Val tn_from_kernel(Ev *ev, Call *c) {
  Tuner *t = NEW(ev->arena, Tuner);
  *t = (Tuner){.kernel = c->arg[0], .configs = c->arg[1], .at = c->at[1]};
  vec_push(ev->arena, &ev->tuners, t);
  return (Val){.kind = V_TUNER, .tuner = t};
}

Val tn_set(Ev *ev, Call *c) {
  for (int i = 0; i < c->kw.len; i++) {
    int setting = space_setting(c->kw.data[i].name);
    if (setting < 0) continue;
    space_check(ev, setting, c->kw.data[i].v, c->span);
    c->self.tuner->tune[setting] = c->kw.data[i].v;
  }
  return c->self;
}

Val tn_run(Ev *ev, Call *c) { return v_opaque(ev, "AutoTuner.run()"); }

/* ------------------------------------------------------------------ running host code */

static bool asks_main(const AstExpr *cond) {
  if (cond->kind != AST_COMPARE || cond->compare.operands.len != 2) return false;
  const AstExpr *a = cond->compare.operands.data[0];
  return a->kind == AST_NAME && !strcmp(a->name, "__name__");
}

static void run_main(Ev *ev, void *arg) {
  const AstBlock *body = arg;
  for (int i = 0; i < body->len; i++) {
    const AstStmt *s = body->data[i];
    if (s->kind == AST_STMT_IF && asks_main(s->if_.branches[0].cond))
      (void)ev_block(ev, &s->if_.branches[0].body);
  }
}

typedef struct {
  Val f;
} Runs;

static void run_function(Ev *ev, void *arg) {
  Runs *r = arg;
  (void)ev_call_args(ev, r->f, r->f.fn->span, 0, NULL);
}

static bool runnable(const Ev *ev, const Func *f) {
  if (!f->body || f->prim || f->jit || f->macro || f->span.file != ev->options->file) return false;
  for (int i = 0; i < f->params->len; i++) {
    AstParamKind kind = f->params->data[i].kind;
    bool star = kind == AST_PARAM_STAR || kind == AST_PARAM_DOUBLE_STAR;
    if (!star && f->defaults[i].kind == V_UNSET) return false;
  }
  return true;
}

// @pytest.mark.parametrize("a, b", [(1, 2), ...])
static void parametrize(Ev *ev, const AstExpr *e, Func *f) {
  if (e->kind != AST_CALL || e->call.args.len < 2) return;
  Val names = ev_expr(ev, e->call.args.data[0].value),
      sets = ev_expr(ev, e->call.args.data[1].value);
  if (names.kind != V_STR || !v_is_seq(sets) || !sets.seq->len) return;
  Val first = sets.seq->data[0];
  const char *s = names.str->data;
  for (int k = 0; *(s += strspn(s, ", ")); k++) {
    size_t n = strcspn(s, ", ");
    Val v = v_is_seq(first) && strcspn(names.str->data, ",") < strlen(names.str->data)
                ? (k < first.seq->len ? first.seq->data[k] : (Val){.kind = V_UNSET})
                : first;
    for (int i = 0; i < f->params->len; i++) {
      if (strlen(f->params->data[i].name) == n && !strncmp(f->params->data[i].name, s, n))
        f->defaults[i] = v;
    }
    s += n;
  }
}

bool host_decorates(Ev *ev, const char *decorator, const AstExpr *e, Func *f) {
  if (strncmp(decorator, "pytest.", 7) && strncmp(decorator, "tilelang.testing", 16)) return false;
  if (strstr(decorator, "parametrize")) parametrize(ev, e, f);
  return true;
}

static void budget(Ev *ev, int64_t steps) {
  ev->steps = EV_MAX_STEPS - steps;
  ev->stopped = false;
}

void host_run(Ev *ev, Env *module, const AstBlock *body) {
  Diags *diags = ev->diags; // what host code gets wrong here is no matter of the kernels
  ev->diags = diag_new(ev->arena, ev->sources, (DiagOptions){0});
  ev->hosting = true;
  ev->env = module;
  budget(ev, HOST_STEPS);
  (void)ev_protect(ev, run_main, (void *)body);
  for (int i = 0; i < map_len(module->cells); i++) {
    Runs r = {((Cell *)map_value(module->cells, i))->v};
    if (r.f.kind != V_FUNC || !runnable(ev, r.f.fn) || r.f.fn->base->called) continue;
    budget(ev, HOST_STEPS / 4);
    ev->env = module;
    (void)ev_protect(ev, run_function, &r);
  }
  budget(ev, EV_MAX_STEPS);
  ev->hosting = false;
  ev->needed.len = 0;
  ev->calls = NULL;
  ev->depth = 0;
  ev->diags = diags;
}
