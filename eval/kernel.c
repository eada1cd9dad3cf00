// Tracing: from a kernel function to a TILE-level program.
// SPDX-License-Identifier: MIT
#include "eval/entry.h"

#include <string.h>

Var *trace_size(Ev *ev, const char *name, Span at) {
  Var *v = map_get(ev->sizes, name);
  if (!v) {
    v = var_new(ev->arena, name, DT_INDEX, VAR_SIZE, at);
    map_set(ev->sizes, name, v);
  }
  return v;
}

/* ------------------------------------------------------------------ parameters */

static Buffer *param_buffer(Ev *ev, const char *name, const TensorType *t, Span at) {
  Expr **shape = NEWN(ev->arena, Expr *, t->ndim), **strides = NULL;
  for (int i = 0; i < t->ndim; i++) shape[i] = dev_index(ev, t->shape[i], at);
  if (t->strides) {
    strides = NEWN(ev->arena, Expr *, t->ndim);
    for (int i = 0; i < t->ndim; i++) strides[i] = dev_index(ev, t->strides[i], at);
  }
  Buffer *b = buf_new(ev->arena, name, t->dtype, SC_GLOBAL, shape, t->ndim, at);
  b->strides = strides;
  return b;
}

static bool is_pointer(Val type) {
  return type.kind == V_BUILTIN && !strcmp(type.builtin->module, "T") &&
         (!strcmp(type.builtin->name, "ptr") || !strcmp(type.builtin->name, "handle"));
}

// The parameter that `type` declares, and the value of its name.
static Param declare(Ev *ev, const char *name, Val type, Span at, Val *value) {
  Param p = {.name = name, .span = at};
  DType t;
  ev_need(ev, type);
  if (type.kind == V_OPAQUE) ev_opaque(ev, at, type.opaque->what);
  if (type.kind == V_TENSOR) {
    p.kind = PARAM_TENSOR;
    p.buf = param_buffer(ev, name, type.tensor, at);
    *value = v_buffer(p.buf);
  } else if (is_pointer(type)) {
    p.kind = PARAM_TENSOR; // T.make_tensor gives it its tensor
    *value = v_str(ev, name);
    value->kind = V_POINTER;
  } else if (val_dtype(ev, type, &t)) {
    if (dt_bits(t) < 8)
      ev_fail(ev, DIAG_UNSUPPORTED, at, arena_printf(ev->arena, "the dtype %s", dt_name(t)));
    p.kind = PARAM_SCALAR;
    p.var = var_new(ev->arena, name, t, VAR_SCALAR, at);
    *value = v_expr(ex_at(ex_var(ev->arena, p.var), at), 1);
  } else {
    ev_fail(ev, DIAG_PARAM_TYPE, at, name, v_kind(ev, type));
  }
  return p;
}

Val ev_point(Ev *ev, Call *c, const TensorType *t) {
  Val v = c->arg[0];
  if (v.kind != V_POINTER || !ev->trace)
    ev_fail(ev, DIAG_POINTER, c->at[0], c->fn->name, v_kind(ev, v));
  const char *name = v.str->data;
  Param *p = map_get(ev->trace->declared, name);
  for (int i = 0; i < ev->trace->program->params.len && !p; i++) {
    Param *q = &ev->trace->program->params.data[i];
    if (!strcmp(q->name, name)) p = q;
  }
  if (!p) die("no parameter %s", name);
  if (p->buf) ev_fail(ev, DIAG_POINTER_TWICE, c->at[0], c->fn->name, name);
  p->buf = param_buffer(ev, name, t, c->span);
  return v_buffer(p->buf);
}

void ev_declare(Ev *ev, const char *name, Val type, Span at) {
  Trace *t = ev->trace;
  const Param *first = map_get(t->declared, name);
  if (first) {
    ev_hint(ev, first->span, "%s is declared here first", name);
    ev_fail(ev, DIAG_DECLARED_TWICE, at, name);
  }
  Val v;
  Param *p = NEW(ev->arena, Param);
  *p = declare(ev, name, type, at, &v);
  map_set(t->declared, name, p);
  env_put(ev, ev->env, name, v);
}

typedef struct {
  const AstParam *param;
} Annotated;

static void prim_param(Ev *ev, void *arg) {
  const AstParam *a = ((Annotated *)arg)->param;
  if (!a->annotation) ev_fail(ev, DIAG_PARAM_UNTYPED, a->name_span, a->name, a->name, a->name);
  if (a->kind == AST_PARAM_STAR || a->kind == AST_PARAM_DOUBLE_STAR)
    ev_fail(ev, DIAG_PARAM_UNTYPED, a->name_span, a->name, a->name, a->name);
  Val v, type = ev_expr(ev, a->annotation);
  vec_push(ev->arena, &ev->trace->program->params, declare(ev, a->name, type, a->name_span, &v));
  env_put(ev, ev->env, a->name, v);
}

/* ------------------------------------------------------------------ sizes */

typedef struct {
  Ev *ev;
  Program *p;
} Sizes;

static void see_size(void *ctx, Expr *x) {
  Sizes *s = ctx;
  if (x->kind != EX_VAR || x->u.var->kind != VAR_SIZE) return;
  for (int i = 0; i < s->p->sizes.len; i++) {
    if (s->p->sizes.data[i] == x->u.var) return;
  }
  vec_push(s->ev->arena, &s->p->sizes, x->u.var);
}

static void see_slot(void *ctx, Expr **slot) { ex_walk(*slot, see_size, ctx); }
static void see_stmt(void *ctx, Stmt *s) { st_exprs(s, see_slot, ctx); }

static void collect_sizes(Ev *ev, Program *p) {
  Sizes s = {ev, p};
  for (int i = 0; i < p->params.len; i++) {
    const Buffer *b = p->params.data[i].buf;
    for (int d = 0; b && d < b->ndim; d++) {
      ex_walk(b->shape[d], see_size, &s);
      if (b->strides) ex_walk(b->strides[d], see_size, &s);
    }
  }
  for (int i = 0; i < p->workspaces.len; i++) {
    const Buffer *b = p->workspaces.data[i];
    for (int d = 0; d < b->ndim; d++) ex_walk(b->shape[d], see_size, &s);
  }
  for (int i = 0; i < p->facts.len; i++) ex_walk(p->facts.data[i].cond, see_size, &s);
  for (int i = 0; i < p->kernels.len; i++) {
    for (int k = 0; k < 3; k++) ex_walk(p->kernels.data[i]->grid[k], see_size, &s);
    st_walk(p->kernels.data[i]->body, see_stmt, &s);
  }
}

/* ------------------------------------------------------------------ tracing */

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void trace_start(Ev *ev, Trace *t, const Func *f, const char *symbol, bool eager) {
  *t = (Trace){.combiner = -1, .fn = f, .eager = eager, .symbol = symbol};
  t->program = NEW(ev->arena, Program);
  t->program->symbol = symbol;
  t->program->file = base_name(src_get(ev->sources, f->span.file)->path);
  t->declared = map_new(ev->arena);
  ev->trace = t;
}

static void run_body(Ev *ev, void *arg) {
  const Func *f = arg;
  ev->ret = v_none();
  if (ev_block(ev, f->body) != FLOW_RETURN) ev->ret = v_none();
}

static bool all_described(Ev *ev, const Program *p) {
  bool ok = true;
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (q->kind != PARAM_TENSOR || q->buf) continue;
    diag_report(ev->diags, DIAG_POINTER_UNUSED, q->span, q->name, q->name, q->name);
    ok = false;
  }
  return ok;
}

static Program *trace_end(Ev *ev, int errors) {
  Program *p = ev->trace->program;
  Span at = ev->trace->fn->span;
  const char *name = ev->trace->fn->name;
  ev->trace = NULL;
  if (ev->needed.len || diag_errors(ev->diags) > errors) return NULL;
  if (!p->kernels.len) {
    diag_report(ev->diags, DIAG_NO_T_KERNEL, at, name);
    return NULL;
  }
  if (!all_described(ev, p)) return NULL;
  for (int i = 0; i < p->workspaces.len; i++) {
    Buffer *b = p->workspaces.data[i];
    if (!b->name) b->name = arena_printf(ev->arena, "workspace_%d", i);
  }
  for (int i = 0; i < p->kernels.len; i++) ir_private(ev->arena, p->kernels.data[i]);
  collect_sizes(ev, p);
  ir_roles(p);
  return p;
}

static Env *body_env(Ev *ev, Env *closure) {
  Env *env = env_new(ev, closure);
  env->kernel = true;
  return env;
}

Program *trace_prim(Ev *ev, Func *f, const char *symbol) {
  if (entry_nested_prim(ev, f)) return NULL;
  Trace t;
  int errors = diag_errors(ev->diags);
  Env *saved = ev->env;
  trace_start(ev, &t, f, symbol, false);
  ev->env = body_env(ev, f->closure);
  ev->env->body = f->body;
  for (int i = 0; i < f->params->len; i++) {
    Annotated a = {&f->params->data[i]};
    if (!ev_protect(ev, prim_param, &a))
      env_put(ev, ev->env, a.param->name, (Val){.kind = V_ERROR});
  }
  bool ok = ev_protect(ev, run_body, f);
  if (ok && ev->ret.kind != V_NONE && diag_errors(ev->diags) == errors && !ev->needed.len)
    diag_report(ev->diags, DIAG_PRIM_RETURN, ev->ret_at, f->name, v_kind(ev, ev->ret));
  ev->env = saved;
  return trace_end(ev, errors);
}

/* ------------------------------------------------------------------ eager kernels */

static void add_result(Ev *ev, Val v, Span at) {
  Trace *t = ev->trace;
  if (v.kind != V_BUFFER) ev_fail(ev, DIAG_EAGER_RETURN, at, v_kind(ev, v));
  for (int i = 0; i < t->empties.len; i++) {
    if (t->empties.data[i] != v.buf) continue;
    if (!v.buf->name) v.buf->name = arena_printf(ev->arena, "out%d", i);
    for (int k = 0; k < t->program->params.len; k++) {
      if (t->program->params.data[k].buf == v.buf) ev_fail(ev, DIAG_EAGER_TWICE, at, v.buf->name);
    }
    vec_push(ev->arena, &t->program->params,
             (Param){.kind = PARAM_TENSOR, .name = v.buf->name, .buf = v.buf, .span = v.buf->span});
    return;
  }
  bool param = v.buf->scope == SC_GLOBAL; // returning an argument adds nothing to the interface
  if (!param) ev_fail(ev, DIAG_EAGER_RETURN, at, v_kind(ev, v));
}

typedef struct {
  Val result;
  Span at;
} Result;

// Declared parameters in the order of the signature, then the results in the order of `return`.
static void finish_eager(Ev *ev, void *arg) {
  Result *r = arg;
  Trace *t = ev->trace;
  for (int i = 0; i < t->fn->params->len; i++) {
    const Param *p = map_get(t->declared, t->fn->params->data[i].name);
    if (p) vec_push(ev->arena, &t->program->params, *p);
  }
  if (v_is_seq(r->result)) {
    for (int i = 0; i < r->result.seq->len; i++) add_result(ev, r->result.seq->data[i], r->at);
  } else if (r->result.kind != V_NONE) {
    add_result(ev, r->result, r->at);
  }
  for (int i = 0; i < t->empties.len; i++) {
    bool found = false;
    for (int k = 0; k < t->program->params.len; k++)
      found |= t->program->params.data[k].buf == t->empties.data[i];
    const char *name = t->empties.data[i]->name;
    if (!found) ev_fail(ev, DIAG_EMPTY_LOST, t->empties.data[i]->span, name ? name : "the tensor");
  }
}

// Annotations of the signature: T.Tensor and dtypes declare, Python's types are remarks.
static void eager_param(Ev *ev, void *arg) {
  const AstParam *a = ((Annotated *)arg)->param;
  Val type = ev_expr(ev, a->annotation);
  if (type.kind == V_TENSOR || type.kind == V_DTYPE || is_pointer(type))
    ev_declare(ev, a->name, type, a->name_span);
}

Program *trace_eager(Ev *ev, Func *f, const char *symbol, Env *params) {
  Trace t;
  int errors = diag_errors(ev->diags);
  Env *saved = ev->env;
  trace_start(ev, &t, f, symbol, true);
  ev->env = params;
  params->kernel = true;
  params->body = f->body;
  for (int i = 0; i < f->params->len; i++) {
    Annotated a = {&f->params->data[i]};
    const Cell *c = map_get(params->cells, a.param->name);
    if (!a.param->annotation || !c || c->v.kind != V_MISSING) continue;
    if (!ev_protect(ev, eager_param, &a))
      env_put(ev, params, a.param->name, (Val){.kind = V_ERROR});
  }
  Result r = {v_none(), f->span};
  if (ev_protect(ev, run_body, f)) {
    r.result = ev->ret;
    if (r.result.kind != V_NONE) r.at = ev->ret_at;
  }
  if (!ev->needed.len && diag_errors(ev->diags) == errors) (void)ev_protect(ev, finish_eager, &r);
  ev->env = saved;
  return trace_end(ev, errors);
}

/* ------------------------------------------------------------------ what kind of function */

typedef bool (*StmtTest)(const AstStmt *s);

static bool any_stmt(const AstBlock *b, StmtTest test) {
  for (int i = 0; i < b->len; i++) {
    const AstStmt *s = b->data[i];
    if (test(s)) return true;
    switch (s->kind) {
    case AST_STMT_IF:
      for (int k = 0; k < s->if_.nbranches; k++) {
        if (any_stmt(&s->if_.branches[k].body, test)) return true;
      }
      if (any_stmt(&s->if_.orelse, test)) return true;
      break;
    case AST_STMT_FOR:
      if (any_stmt(&s->for_.body, test)) return true;
      break;
    case AST_STMT_WITH:
      if (any_stmt(&s->with.body, test)) return true;
      break;
    case AST_STMT_TRY:
      if (any_stmt(&s->try_.body, test)) return true;
      break;
    default: break;
    }
  }
  return false;
}

static bool is_called(const AstExpr *e, const char *name) {
  if (e && e->kind == AST_CALL) e = e->call.callee;
  if (!e) return false;
  if (e->kind == AST_ATTR) return !strcmp(e->attr.name.text, name);
  return e->kind == AST_NAME && !strcmp(e->name, name);
}

// T.Tensor((M, N), dtype), T.Tensor[[M, N], dtype]
static bool is_tensor(const AstExpr *e) {
  if (e && e->kind == AST_INDEX) e = e->index.value;
  return is_called(e, "Tensor") || is_called(e, "StridedTensor") || is_called(e, "Buffer");
}

static bool launches(const AstStmt *s) {
  if (s->kind == AST_STMT_ANN_ASSIGN) return !s->ann.value && is_tensor(s->ann.annotation);
  if (s->kind == AST_STMT_ASSIGN)
    return is_called(s->assign.value, "const") || is_called(s->assign.value, "empty");
  for (int i = 0; s->kind == AST_STMT_WITH && i < s->with.nitems; i++) {
    if (is_called(s->with.items[i].context, "Kernel")) return true;
  }
  return false;
}

static bool defines_prim(const AstStmt *s) {
  if (s->kind != AST_STMT_DEF) return false;
  for (int i = 0; i < s->def.decorators.len; i++) {
    if (is_called(s->def.decorators.data[i], "prim_func")) return true;
  }
  return any_stmt(&s->def.body, defines_prim);
}

// Its own launch or tensors say so: what it calls may launch, or return a kernel.
// A parameter whose type its body says: A: T.Tensor((M, N), dtype).
static bool declares(const Func *f) {
  for (int i = 0; i < f->body->len; i++) {
    const AstStmt *s = f->body->data[i];
    if (s->kind != AST_STMT_ANN_ASSIGN || s->ann.value || s->ann.target->kind != AST_NAME) continue;
    for (int k = 0; k < f->params->len; k++) {
      const AstParam *p = &f->params->data[k];
      if (!p->annotation && !strcmp(p->name, s->ann.target->name)) return true;
    }
  }
  return false;
}

Program *trace_kernel(Ev *ev, Func *f, const char *symbol, EvEntry *e) {
  if (f->prim && !declares(f)) return trace_prim(ev, f, symbol);
  return trace_eager(ev, f, symbol, entry_bind(ev, f, e));
}

bool fn_is_eager(const Func *f) {
  if (!f->body || f->prim) return false;
  for (int i = 0; i < f->params->len; i++) {
    if (is_tensor(f->params->data[i].annotation)) return true;
  }
  return any_stmt(f->body, launches);
}

static bool gives_value(const AstStmt *s) { return s->kind == AST_STMT_RETURN && s->expr; }

bool fn_makes_kernel(const Func *f) { return fn_holds_kernel(f) && any_stmt(f->body, gives_value); }

bool fn_holds_kernel(const Func *f) {
  Func *base = (Func *)f->base;
  if (!base->holds_known) base->holds = f->body && any_stmt(f->body, defines_prim);
  base->holds_known = true;
  return base->holds;
}
