// Decorators, layouts, facts and hints.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/entry.h"
#include "eval/internal.h"

#include <string.h>

/* ------------------------------------------------------------------ decorators */

// A decorator written with operands: they are kept, and it is called again with the function.
static Val decorate_later(Ev *ev, Call *c, const Builtin *fn) {
  Val kept = v_seq(ev, V_LIST, CALL_MAX);
  for (int i = 0; i < CALL_MAX; i++) v_push(ev, kept.seq, c->arg[i]);
  return v_method(ev, fn, kept);
}

// Annotations are not evaluated; anywhere else these words mean nothing.
Val t_annotation(Ev *ev, Call *c) {
  ev_fail(ev, DIAG_UNSUPPORTED, c->span,
          arena_printf(ev->arena, "T.%s outside a macro's parameters", c->fn->name));
}

static Func *copy_func(Ev *ev, const Func *f) { return arena_copy(ev->arena, f, sizeof *f); }

static Val apply(Ev *ev, Call *c, const char *what) {
  Val f = c->arg[0];
  if (f.kind == V_FUNC) return (Val){.kind = V_FUNC, .fn = copy_func(ev, f.fn)};
  if (ev_unknown(f)) return f;
  ev_fail(ev, DIAG_DECORATED, c->span, what, v_kind(ev, f));
}

static Val make_prim(Ev *ev, Call *c) {
  Val f = apply(ev, c, "T.prim_func");
  if (f.kind != V_FUNC) return f;
  f.fn->prim = true;
  f.fn->closure = env_snapshot(ev, f.fn->closure); // what it means is fixed here, as in TileLang
  return f;
}

static Val make_macro(Ev *ev, Call *c) {
  Val f = apply(ev, c, "T.macro");
  if (f.kind == V_FUNC) f.fn->macro = true;
  return f;
}

static Val make_jit(Ev *ev, Call *c) {
  Val f = apply(ev, c, "tilelang.jit");
  if (f.kind != V_FUNC) return f;
  const Val *given = c->self.seq->data;
  f.fn->jit = true;
  f.fn->out_idx = given[1];
  f.fn->pass_configs = given[6];
  f.fn->compile_flags = given[8];
  f.fn->asked_at = c->span;
  return f;
}

static Val make_tuned(Ev *ev, Call *c) {
  Val f = apply(ev, c, "tilelang.autotune");
  if (f.kind != V_FUNC) return f;
  Func *base = (Func *)f.fn->base; // whatever name the function goes by
  const Val *given = c->self.seq->data;
  if (given[1].kind == V_UNSET || base->configs.kind != V_UNSET) return f;
  base->configs = given[1];
  base->tuned_at = c->span;
  base->tune[TUNE_RTOL] = given[8];
  base->tune[TUNE_ATOL] = given[9];
  base->tune[TUNE_WARMUP] = given[2];
  base->tune[TUNE_REP] = given[3];
  base->tune[TUNE_TIMEOUT] = given[4];
  base->tune[TUNE_REF] = given[6];
  base->tune[TUNE_MISMATCH] = given[10];
  for (int i = 0; i < TUNE_SETTINGS; i++) space_check(ev, i, base->tune[i], c->span);
  return f;
}

static const Builtin later_prim = {"T", "prim_func", make_prim, ANY, "f", ""};
static const Builtin later_macro = {"T", "macro", make_macro, ANY, "f", ""};
static const Builtin later_jit = {"tilelang", "jit", make_jit, ANY, "f", ""};
static const Builtin later_tuned = {"tilelang", "autotune", make_tuned, ANY, "f", ""};

static Val decorator(Ev *ev, Call *c, const Builtin *fn) {
  Val later = decorate_later(ev, c, fn);
  if (c->arg[0].kind == V_UNSET) return later;
  return ev_call_args(ev, later, c->span, 1, &c->arg[0]);
}

Val t_prim_func(Ev *ev, Call *c) { return decorator(ev, c, &later_prim); }
Val t_macro(Ev *ev, Call *c) { return decorator(ev, c, &later_macro); }
Val tl_jit(Ev *ev, Call *c) { return decorator(ev, c, &later_jit); }
Val tl_autotune(Ev *ev, Call *c) { return decorator(ev, c, &later_tuned); }

/* ------------------------------------------------------------------ layouts */

Val tl_swizzled(Ev *ev, Call *c) {
  Val v = c->arg[0];
  if (v.kind != V_BUFFER || v.buf->scope != SC_SHARED || v.buf->ndim < 2)
    ev_fail(ev, DIAG_SWIZZLE_TILE, c->at[0], v_kind(ev, v));
  int64_t shape[8];
  for (int i = 0; i < v.buf->ndim; i++) ex_const(v.buf->shape[i], &shape[i]);
  int64_t rows = shape[v.buf->ndim - 2];
  if (rows % 8)
    ev_fail(ev, DIAG_SWIZZLE_ROWS, c->at[0], v.buf->name ? v.buf->name : "the tile",
            (long long)rows);
  Layout *l = layout_swizzled_nd(ev->arena, shape, v.buf->ndim, dt_bits(v.buf->dtype));
  return (Val){.kind = V_LAYOUT, .layout = l};
}

static bool fits(const Layout *l, const Buffer *b) {
  if (l->ndims != b->ndim || l->bits != dt_bits(b->dtype)) return false;
  for (int i = 0; i < b->ndim; i++) {
    int64_t n;
    if (!ex_const(b->shape[i], &n) || n != l->shape[i]) return false;
  }
  return true;
}

NORETURN static void wrong_shape(Ev *ev, Call *c, const Layout *l, const Buffer *b) {
  SB of = {0}, is = {0};
  for (int i = 0; i < l->ndims; i++)
    sb_printf(ev, &of, "%s%lld", i ? " x " : "", (long long)l->shape[i]);
  for (int i = 0; i < b->ndim; i++)
    sb_printf(ev, &is, "%s%s", i ? " x " : "", ir_expr_str(ev->arena, b->shape[i]));
  ev_fail(ev, DIAG_LAYOUT_SHAPE, c->at[0], of.data, l->bits, b->name ? b->name : "the tile",
          is.data, dt_bits(b->dtype));
}

static const Dict *table(Ev *ev, Call *c) {
  need_kernel(ev, c);
  if (c->arg[0].kind != V_DICT)
    ev_fail(ev, DIAG_ARGUMENT, c->at[0], arena_printf(ev->arena, "T.%s", c->fn->name),
            "its operand", "a dict", v_brief(ev, c->arg[0]));
  return c->arg[0].dict;
}

// A layout from a function, or a function itself; false: something else.
static bool by_function(Ev *ev, Call *c, Buffer *b, Val v) {
  if (v.kind == V_FUNC || v.kind == V_METHOD)
    v = (Val){.kind = V_MAP, .map = map_of_function(ev, v, b->ndim, c->at[0])};
  if (v.kind != V_MAP) return false;
  int dims = v.map->n - (v.map->replicate > 1);
  bool fragment = b->scope == SC_FRAGMENT;
  if (dims != b->ndim || v.map->fragment != fragment)
    ev_fail(ev, DIAG_LAYOUT_MAP, c->at[0], b->name ? b->name : "the buffer",
            fragment ? "T.Fragment" : "T.Layout", b->ndim);
  b->places = v.map;
  return true;
}

Val t_annotate_layout(Ev *ev, Call *c) {
  const Dict *d = table(ev, c);
  for (int i = 0; i < d->entries.len; i++) {
    const DictEntry *e = &d->entries.data[i];
    if (e->key.kind == V_BUFFER && by_function(ev, c, e->key.buf, e->value)) continue;
    if (e->key.kind != V_BUFFER || e->value.kind != V_LAYOUT)
      ev_fail(ev, DIAG_LAYOUT, c->at[0], v_kind(ev, e->key), v_kind(ev, e->value));
    if (!fits(e->value.layout, e->key.buf)) wrong_shape(ev, c, e->value.layout, e->key.buf);
    if (e->key.buf->layout) {
      ev_hint(ev, e->key.buf->layout_at, "its layout is given here first");
      ev_fail(ev, DIAG_LAYOUT_TWICE, c->at[0], e->key.buf->name ? e->key.buf->name : "the tile");
    }
    e->key.buf->layout_at = c->at[0];
    e->key.buf->layout = e->value.layout;
  }
  return v_none();
}

Val t_annotate_safe(Ev *ev, Call *c) {
  const Dict *d = table(ev, c);
  for (int i = 0; i < d->entries.len; i++) {
    const DictEntry *e = &d->entries.data[i];
    if (e->key.kind != V_BUFFER || e->key.buf->scope != SC_GLOBAL)
      ev_fail(ev, DIAG_SAFE_VALUE, c->at[0], v_kind(ev, e->key));
    Buffer *b = e->key.buf;
    Expr *x = ex_cast(ev->arena, b->dtype, dev_expr(ev, e->value, c->at[0]));
    if (x->kind != EX_INT && x->kind != EX_FLOAT)
      ev_fail(ev, DIAG_SAFE_CONST, c->at[0], v_brief(ev, e->value));
    b->safe = ex_at(x, c->at[0]);
  }
  return v_none();
}

/* ------------------------------------------------------------------ facts and hints */

static void see_device(void *ctx, Expr *x) {
  bool argument = x->kind == EX_VAR && (x->u.var->kind == VAR_SIZE || x->u.var->kind == VAR_SCALAR);
  if (x->kind == EX_LOAD || (x->kind == EX_VAR && !argument)) *(bool *)ctx = true;
}

Val t_assume(Ev *ev, Call *c) {
  Val v = c->arg[0];
  if (!dev_ok(v)) (void)arg_bool(ev, c, 0, false);
  if (!ev->trace) ev_fail(ev, DIAG_NO_PRIM, c->span);
  if (!ev_is_rt(v)) {
    if (!ev_truth(ev, v, c->at[0])) ev_fail(ev, DIAG_ASSUME, c->span);
    return v_none();
  }
  Expr *cond = ev_cond(ev, v, c->at[0]);
  bool device = false;
  ex_walk(cond, see_device, &device);
  if (device || ev->trace->rt) {
    need_kernel(ev, c);
    ev_emit(ev, st_assume(ev->arena, cond, c->span));
  } else {
    vec_push(ev->arena, &ev->trace->program->facts, (Fact){cond, c->span, false, NULL});
  }
  return v_none();
}

Val t_hint(Ev *ev, Call *c) {
  diag_remark(ev->diags, c->span, "hint", "T.%s has no effect on this target", c->fn->name);
  return v_none();
}
