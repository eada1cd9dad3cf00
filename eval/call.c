// Calls: operands as written, binding them to signatures, running functions.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include <string.h>

enum { MAX_CALLS = 200 };

/* ------------------------------------------------------------------ operands */

static void star_args(Ev *ev, Call *c, const AstArg *a, Val v) {
  Seq *s = ev_items(ev, v, a->span);
  for (int i = 0; i < s->len; i++) {
    vec_push(ev->arena, &c->pos, s->data[i]);
    vec_push(ev->arena, &c->pos_at, a->span);
  }
}

static void star_kwargs(Ev *ev, Call *c, const AstArg *a, Val v) {
  ev_need(ev, v);
  if (v.kind != V_DICT) ev_fail(ev, DIAG_OPERAND, a->span, "**", v_kind(ev, v), "a dict");
  for (int i = 0; i < v.dict->entries.len; i++) {
    const DictEntry *e = &v.dict->entries.data[i];
    if (e->dead) continue;
    if (e->key.kind != V_STR)
      ev_fail(ev, DIAG_OPERAND, a->span, "**", v_kind(ev, e->key), "a str key");
    vec_push(ev->arena, &c->kw, (struct KwArg){e->key.str->data, e->value, a->span, a->span});
  }
}

Val ev_call_expr(Ev *ev, const AstExpr *e) {
  Val fn = ev_expr(ev, e->call.callee);
  if (fn.kind == V_OPAQUE) {
    if (ev_emits(ev)) {
      if (!strncmp(fn.opaque->what, "tilelang.", 9) || !strncmp(fn.opaque->what, "T.", 2))
        ev_opaque(ev, e->span, fn.opaque->what);
      ev_fail(ev, DIAG_OPAQUE_CALL, e->span, fn.opaque->what);
    }
    if (!ev->hosting && !torch_shapes(fn)) return v_opaque(ev, "%s()", fn.opaque->what);
  } else if (ev_unknown(fn)) {
    return fn;
  }
  Call c = {.span = e->span};
  for (int i = 0; i < e->call.args.len; i++) {
    const AstArg *a = &e->call.args.data[i];
    Val v = ev_expr(ev, a->value);
    if (ev_unknown(v) && a->kind >= AST_ARG_STAR) return v;
    if (a->kind == AST_ARG_STAR) {
      star_args(ev, &c, a, v);
    } else if (a->kind == AST_ARG_DOUBLE_STAR) {
      star_kwargs(ev, &c, a, v);
    } else if (a->kind == AST_ARG_KEYWORD) {
      vec_push(ev->arena, &c.kw, (struct KwArg){a->name, v, a->value->span, a->name_span});
    } else {
      vec_push(ev->arena, &c.pos, v);
      vec_push(ev->arena, &c.pos_at, a->span);
    }
  }
  return ev_call(ev, fn, &c);
}

Val ev_call_args(Ev *ev, Val fn, Span at, int n, const Val *args) {
  if (ev_unknown(fn)) return fn;
  Call c = {.span = at};
  for (int i = 0; i < n; i++) {
    vec_push(ev->arena, &c.pos, args[i]);
    vec_push(ev->arena, &c.pos_at, at);
  }
  return ev_call(ev, fn, &c);
}

/* ------------------------------------------------------------------ builtins */

static const char *full_name(Ev *ev, const Builtin *b) {
  if (!*b->module) return b->name;
  return arena_printf(ev->arena, "%s.%s", b->module, b->name);
}

typedef struct {
  char name[32];
  bool optional, star;
} Slot;

// The next parameter of a signature; false at its end.
static bool next_slot(const char **s, Slot *out) {
  while (**s == ' ' || **s == ',') (*s)++;
  if (!**s) return false;
  *out = (Slot){.star = **s == '*'};
  *s += out->star;
  int n = 0;
  while (**s && **s != ',' && **s != '=') {
    if (n < 31) out->name[n++] = **s;
    (*s)++;
  }
  out->optional = **s == '=';
  while (**s && **s != ',') (*s)++;
  return true;
}

static int find_slot(const char *sig, const char *name) {
  Slot slot;
  for (int i = 0; next_slot(&sig, &slot);) {
    if (slot.star) continue;
    if (!strcmp(slot.name, name)) return i;
    i++;
  }
  return -1;
}

static const char *slot_list(Ev *ev, const char *sig) {
  SB b = {0};
  Slot slot;
  while (next_slot(&sig, &slot)) {
    if (slot.star) continue;
    if (b.len) sb_puts(ev, &b, ", ");
    sb_puts(ev, &b, slot.name);
  }
  return b.len ? b.data : "none";
}

static const char *near_slot(Ev *ev, const char *sig, const char *name) {
  VEC(const char *) names = {0};
  Slot slot;
  while (next_slot(&sig, &slot))
    if (!slot.star) vec_push(ev->arena, &names, arena_str(ev->arena, slot.name));
  vec_push(ev->arena, &names, NULL);
  return near_name(name, names.data);
}

static void bind_positional(Ev *ev, Call *c) {
  const char *sig = c->fn->signature;
  Slot slot;
  int used = 0, i = 0;
  while (used < c->pos.len && next_slot(&sig, &slot)) {
    if (!slot.star) {
      c->arg[i] = c->pos.data[used];
      c->at[i++] = c->pos_at.data[used++];
      continue;
    }
    if (!slot.name[0] || slot.name[0] == '*') break; // keyword-only ones follow
    Val rest = v_seq(ev, V_LIST, c->pos.len - used);
    while (used < c->pos.len) v_push(ev, rest.seq, c->pos.data[used++]);
    c->rest = rest.seq;
  }
  if (used < c->pos.len)
    ev_fail(ev, DIAG_ARG_MANY, c->pos_at.data[used], full_name(ev, c->fn), c->pos.len, used,
            slot_list(ev, c->fn->signature));
  if (!c->rest) c->rest = v_seq(ev, V_LIST, 0).seq;
}

static void check_slots(const Builtin *fn) {
  const char *sig = fn->signature;
  Slot slot;
  int n = 0;
  while (next_slot(&sig, &slot)) n += !slot.star;
  if (n > CALL_MAX) die("%s has more than %d parameters", fn->name, CALL_MAX);
}

bool ev_bind(Ev *ev, Call *c) {
  check_slots(c->fn);
  for (int i = 0; i < CALL_MAX; i++) {
    c->arg[i] = (Val){.kind = V_UNSET};
    c->at[i] = c->span;
  }
  bind_positional(ev, c);
  const char *sig = c->fn->signature;
  for (int k = 0; k < c->kw.len; k++) {
    const struct KwArg *kw = &c->kw.data[k];
    int i = find_slot(sig, kw->name);
    if (i < 0 && strstr(sig, "**")) continue; // the handler takes them as they are
    if (i < 0)
      ev_fail(ev, DIAG_ARG_UNKNOWN, kw->name_at, full_name(ev, c->fn), kw->name, slot_list(ev, sig),
              ev_meant(ev, kw->name_at, near_slot(ev, sig, kw->name), ""));
    if (c->arg[i].kind != V_UNSET)
      ev_fail(ev, DIAG_ARG_TWICE, kw->name_at, full_name(ev, c->fn), kw->name);
    c->arg[i] = kw->v;
    c->at[i] = kw->at;
  }
  Slot slot;
  for (int i = 0; next_slot(&sig, &slot);) {
    if (slot.star) continue;
    if (!slot.optional && c->arg[i].kind == V_UNSET)
      ev_fail(ev, DIAG_ARG_MISSING, c->span, full_name(ev, c->fn), slot.name,
              slot_list(ev, c->fn->signature));
    i++;
  }
  return true;
}

// What looking at all of an operand costs, in steps.
static int64_t weight(Val v) {
  if (v.kind == V_STR) return v.str->len / 64;
  if (v_is_seq(v)) return v.seq->len / 16;
  return v.kind == V_DICT || v.kind == V_SET ? v.dict->entries.len / 16 : 0;
}

// Judges operands by the builtin's taste; true when *out is the result already.
static bool judge(Ev *ev, Call *c, Val *out) {
  bool missing = false;
  *out = (Val){.kind = V_UNSET};
  Val all = v_seq(ev, V_LIST, CALL_MAX + c->rest->len + 1);
  v_push(ev, all.seq, c->self);
  for (int i = 0; i < CALL_MAX; i++) v_push(ev, all.seq, c->arg[i]);
  for (int i = 0; i < c->rest->len; i++) v_push(ev, all.seq, c->rest->data[i]);
  if (c->fn->taste == NEEDS) ev_need(ev, all);
  for (int i = 0; i < all.seq->len; i++) {
    Val v = all.seq->data[i];
    ev_charge(ev, weight(v));
    if (v.kind == V_ERROR && !missing) *out = v;
    if (v.kind == V_MISSING) {
      *out = missing ? v_missing_join(ev, *out, v) : v;
      missing = true;
    }
    if (v.kind != V_OPAQUE) continue;
    if (c->fn->taste == NEEDS) {
      Span at = i >= 1 && i <= CALL_MAX ? c->at[i - 1] : c->span;
      ev_opaque(ev, at, v.opaque->what);
    }
    if (!missing) *out = v;
  }
  return out->kind != V_UNSET;
}

static Val call_builtin(Ev *ev, const Builtin *fn, Call *c) {
  c->fn = fn;
  if (!fn->fn) ev_fail(ev, DIAG_UNSUPPORTED, c->span, full_name(ev, fn));
  ev_bind(ev, c);
  Val out;
  if (fn->taste != ANY && judge(ev, c, &out)) return out;
  return fn->fn(ev, c);
}

/* ------------------------------------------------------------------ functions */

static bool is_ref(const AstParam *p) {
  const AstExpr *a = p->annotation;
  if (!a) return false;
  const char *name = a->kind == AST_ATTR ? a->attr.name.text : a->kind == AST_NAME ? a->name : "";
  return !strcmp(name, "Ref") || !strcmp(name, "Var");
}

// The element that an operand loads, at the place that its index has now.
static Val reference(Ev *ev, const AstParam *p, Val v, Span at) {
  if (v.kind == V_BUFFER || v.kind == V_REGION || ev_unknown(v)) return v;
  if (v.kind != V_EXPR || v.expr->kind != EX_LOAD)
    ev_fail(ev, DIAG_REF, at, p->name, v_kind(ev, v));
  const Expr *x = v.expr;
  Expr **idx = NEWN(ev->arena, Expr *, x->u.load.n);
  for (int i = 0; i < x->u.load.n; i++) {
    Val k = {.kind = V_EXPR, .size = v.size, .expr = x->u.load.idx[i]};
    idx[i] = dev_let(ev, "at", k, at).expr;
  }
  Expr *load = ex_at(ex_load(ev->arena, x->u.load.buf, idx, x->u.load.n), at);
  return (Val){.kind = V_REF, .size = v.size, .expr = load};
}

// What an operand or a result is now, whatever is stored later.
static Val snapshot(Ev *ev, const char *name, Val v, Span at) {
  if (v.kind != V_TUPLE) return dev_let(ev, name, v, at);
  Val out = v_seq(ev, v.kind, v.seq->len);
  for (int i = 0; i < v.seq->len; i++) v_push(ev, out.seq, snapshot(ev, name, v.seq->data[i], at));
  return out;
}

// A macro's operand is a value, unless annotated T.Ref.
static Val macro_operand(Ev *ev, const AstParam *p, Val v, Span at) {
  return is_ref(p) ? reference(ev, p, v, at) : snapshot(ev, p->name, v, p->name_span);
}

static const char *param_list(Ev *ev, const Func *f) {
  SB b = {0};
  for (int i = 0; i < f->params->len; i++) {
    const AstParam *p = &f->params->data[i];
    const char *star = p->kind == AST_PARAM_STAR          ? "*"
                       : p->kind == AST_PARAM_DOUBLE_STAR ? "**"
                                                          : "";
    sb_printf(ev, &b, "%s%s%s%s", i ? ", " : "", star, p->name, p->value ? "=" : "");
  }
  return b.len ? b.data : "";
}

static void defined_here(Ev *ev, const Func *f) {
  ev_hint(ev, f->span, "%s is defined here", f->name);
}

// Every keyword names a parameter: said before what else is wrong, which it often explains.
static void check_keywords(Ev *ev, const Func *f, const Call *c) {
  VEC(const char *) names = {0};
  for (int i = 0; i < f->params->len; i++) {
    const AstParam *p = &f->params->data[i];
    if (p->kind == AST_PARAM_DOUBLE_STAR) return;
    if (p->kind == AST_PARAM_STAR || p->kind == AST_PARAM_POSITIONAL_ONLY) continue;
    vec_push(ev->arena, &names, p->name);
  }
  vec_push(ev->arena, &names, NULL);
  for (int k = 0; k < c->kw.len; k++) {
    const struct KwArg *kw = &c->kw.data[k];
    bool found = false;
    for (int i = 0; names.data[i]; i++) found |= !strcmp(names.data[i], kw->name);
    if (found) continue;
    defined_here(ev, f);
    ev_fail(ev, DIAG_ARG_UNKNOWN, kw->name_at, f->name, kw->name, param_list(ev, f),
            ev_meant(ev, kw->name_at, near_name(kw->name, names.data), ""));
  }
}

static void bind_rest(Ev *ev, Func *f, Call *c, int used, bool *kw_used, Env *env) {
  Val args = v_seq(ev, V_TUPLE, 0), kwargs = v_dict(ev, V_DICT);
  const char *star = NULL, *double_star = NULL;
  for (int i = 0; i < f->params->len; i++) {
    const AstParam *p = &f->params->data[i];
    if (p->kind == AST_PARAM_STAR) star = p->name;
    if (p->kind == AST_PARAM_DOUBLE_STAR) double_star = p->name;
  }
  if (used < c->pos.len && !star) {
    defined_here(ev, f);
    ev_fail(ev, DIAG_ARG_MANY, c->pos_at.data[used], f->name, c->pos.len, used, param_list(ev, f));
  }
  for (; used < c->pos.len; used++) v_push(ev, args.seq, c->pos.data[used]);
  for (int k = 0; k < c->kw.len; k++) {
    if (kw_used[k]) continue;
    const struct KwArg *kw = &c->kw.data[k];
    dict_set(ev, kwargs.dict, v_str(ev, kw->name), kw->v, kw->at);
  }
  if (star) env_put(ev, env, star, args);
  if (double_star) env_put(ev, env, double_star, kwargs);
}

static void bind_params(Ev *ev, Func *f, Call *c, Env *env) {
  bool *kw_used = NEWN(ev->arena, bool, c->kw.len);
  int used = 0;
  check_keywords(ev, f, c);
  for (int i = 0; i < f->params->len; i++) {
    const AstParam *p = &f->params->data[i];
    if (p->kind == AST_PARAM_STAR || p->kind == AST_PARAM_DOUBLE_STAR) continue;
    Val v = {.kind = V_UNSET};
    Span at = c->span;
    bool positional = p->kind != AST_PARAM_KEYWORD_ONLY && used < c->pos.len;
    if (positional) at = c->pos_at.data[used], v = c->pos.data[used++];
    for (int k = 0; p->kind != AST_PARAM_POSITIONAL_ONLY && k < c->kw.len; k++) {
      if (strcmp(c->kw.data[k].name, p->name)) continue;
      if (positional || kw_used[k])
        ev_fail(ev, DIAG_ARG_TWICE, c->kw.data[k].name_at, f->name, p->name);
      kw_used[k] = true;
      v = c->kw.data[k].v;
      at = c->kw.data[k].at;
    }
    if (v.kind == V_UNSET) v = f->defaults[i];
    if (v.kind == V_UNSET) {
      defined_here(ev, f);
      ev_fail(ev, DIAG_ARG_MISSING, c->span, f->name, p->name, param_list(ev, f));
    }
    env_put(ev, env, p->name, f->macro ? macro_operand(ev, p, v, at) : v);
  }
  bind_rest(ev, f, c, used, kw_used, env);
}

Val ev_call_func(Ev *ev, Func *f, Call *c) {
  ev_step(ev, c->span);
  if (ev->depth >= MAX_CALLS) ev_fail(ev, DIAG_RECURSION, c->span, f->name, MAX_CALLS);
  if (f->macro && !ev->trace) ev_fail(ev, DIAG_NO_PRIM, c->span);
  Env *env = env_new(ev, f->closure), *saved = ev->env;
  env->kernel = f->macro;
  env->body = f->body;
  env->rt = ev->trace ? ev->trace->rt : NULL;
  bind_params(ev, f, c, env);
  CallSite site = {ev->calls, f->name, c->span, f};
  ev->calls = &site;
  ev->depth++;
  ev->env = env;
  InLoop in_loop = ev->in_loop;
  ev->in_loop = IN_NONE;
  Val result = v_none();
  if (f->expr) {
    result = ev_expr(ev, f->expr);
  } else if (ev_block(ev, f->body) == FLOW_RETURN) {
    result = ev->ret;
  }
  if (f->macro) result = snapshot(ev, f->name, result, c->span);
  ev->env = saved;
  ev->in_loop = in_loop;
  ev->depth--;
  ev->calls = site.outer;
  return result;
}

static Val cast_call(Ev *ev, DType t, Call *c) {
  if (c->pos.len != 1 || c->kw.len)
    ev_fail(ev, DIAG_CAST_ARGS, c->span, dt_name(t), c->pos.len + c->kw.len);
  Val v = c->pos.data[0];
  ev_need(ev, v);
  if (v.kind == V_OPAQUE) return v;
  Expr *x = dev_like(ev, v, t, c->pos_at.data[0]);
  return dev_wrap(ev, ex_cast(ev->arena, t, x), c->span, v, v_none(), v_none());
}

Val ev_call(Ev *ev, Val fn, Call *c) {
  switch (fn.kind) {
  case V_BUILTIN: return call_builtin(ev, fn.builtin, c);
  case V_METHOD:
    c->self = fn.method->self;
    return call_builtin(ev, fn.method->fn, c);
  case V_FUNC:
    ((Func *)fn.fn->base)->called = true;
    if (!ev->trace && (fn.fn->jit || fn_holds_kernel(fn.fn))) host_call(ev, fn.fn, c);
    if (!fn.fn->prim && !fn.fn->jit) return ev_call_func(ev, fn.fn, c);
    if (ev->trace) ev_fail(ev, DIAG_CALL_KERNEL, c->span, fn.fn->name);
    if (ev->entry && !fn.fn->prim && !fn_is_eager(fn.fn)) return ev_call_func(ev, fn.fn, c);
    return v_opaque(ev, "%s()", fn.fn->name); // compiling and running are not ours to do here
  case V_CLASS: return obj_create(ev, fn.cls, c);
  case V_OBJECT: {
    Val call = obj_attr(ev, fn, "__call__", c->span);
    if (call.kind == V_UNSET) ev_fail(ev, DIAG_NOT_CALLABLE, c->span, v_kind(ev, fn));
    return ev_call(ev, call, c);
  }
  case V_DTYPE: return cast_call(ev, fn.dtype, c);
  case V_EXC: {
    Exc *x = NEW(ev->arena, Exc);
    x->type = fn.exc->type;
    x->message = c->pos.len ? v_text(ev, c->pos.data[0]) : "";
    return (Val){.kind = V_EXC, .exc = x};
  }
  case V_OPAQUE:
    for (int i = 0; ev->hosting && i < c->pos.len; i++) { // do_bench(lambda: kernel(a, b))
      Val f = c->pos.data[i];
      if (f.kind == V_FUNC && f.fn->expr && !f.fn->params->len)
        (void)ev_call_args(ev, f, c->span, 0, NULL);
    }
    return torch_call(ev, fn, c);
  default: ev_fail(ev, DIAG_NOT_CALLABLE, c->span, v_kind(ev, fn));
  }
}

/* ------------------------------------------------------------------ definitions */

Func *ev_func(Ev *ev, const AstStmt *def) {
  Func *f = NEW(ev->arena, Func);
  f->name = def->def.name.text;
  f->params = &def->def.params;
  f->body = &def->def.body;
  f->closure = ev->env->is_class ? ev->env->parent : ev->env;
  f->span = def->def.name.span;
  f->base = f;
  f->defaults = NEWN(ev->arena, Val, f->params->len);
  for (int i = 0; i < f->params->len; i++) {
    if (f->params->data[i].value) f->defaults[i] = ev_expr(ev, f->params->data[i].value);
  }
  return f;
}

// A decorator of tilelang's that tlc does not know, spelt nearly as one that it does.
static void check_decorator(Ev *ev, const char *name, const char *what, const AstExpr *e) {
  static const char *const known[] = {"jit", "autotune", NULL};
  if (e->kind == AST_CALL) e = e->call.callee;
  if (e->kind != AST_ATTR || strncmp(what, "tilelang.", 9)) return;
  const char *near = near_name(e->attr.name.text, known);
  if (!near) return;
  ev_fail(ev, DIAG_DECORATOR, e->span, arena_printf(ev->arena, "@tilelang.%s", e->attr.name.text),
          name, ev_meant(ev, ev_tail(ev, e->span, e->attr.name.text), near, "@tilelang."));
}

Val ev_decorate(Ev *ev, const AstStmt *def) {
  Val v = {.kind = V_FUNC, .fn = ev_func(ev, def)};
  for (int i = def->def.decorators.len - 1; i >= 0; i--) {
    const AstExpr *e = def->def.decorators.data[i];
    Val d = ev_expr(ev, e);
    if (d.kind == V_OPAQUE && !strncmp(d.opaque->what, "T.", 2))
      ev_opaque(ev, e->span, d.opaque->what);
    if (d.kind == V_OPAQUE) check_decorator(ev, def->def.name.text, d.opaque->what, e);
    if (d.kind == V_OPAQUE && host_decorates(ev, d.opaque->what, e, v.fn)) continue;
    if (d.kind == V_OPAQUE)
      return v_opaque(ev, "%s, decorated by %s", def->def.name.text, d.opaque->what);
    v = ev_call_args(ev, d, e->span, 1, &v);
  }
  if (ev->hosting && v.kind == V_FUNC) host_defined(ev, v.fn);
  return v;
}
