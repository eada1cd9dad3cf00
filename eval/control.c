// Control flow: decided at compile time where the condition is known, else traced into the kernel.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/rt_loop.h"
#include "eval/object.h"

#include <string.h>

// Host code is looked through for calls of kernels, whatever way it would take.
static void try_both(Ev *ev, const AstStmt *s, Val v) {
  if (s->kind == AST_STMT_IF) {
    for (int i = 0; i < s->if_.nbranches; i++) (void)ev_block(ev, &s->if_.branches[i].body);
    (void)ev_block(ev, &s->if_.orelse);
  } else if (s->kind == AST_STMT_FOR) {
    ev_poison_target(ev, s->for_.target, v);
    (void)ev_block(ev, &s->for_.body);
  }
}

// What an unknown condition or iterable controls is skipped; names it would bind become unknown.
static void skip(Ev *ev, const AstStmt *s, Val v, Span at) {
  if (v.kind == V_OPAQUE && ev_emits(ev)) ev_opaque(ev, at, v.opaque->what);
  if (ev->hosting) {
    try_both(ev, s, v);
    return;
  }
  ev->skips += v.kind == V_OPAQUE;
  ev_note_missing(ev, v);
  if (s->kind == AST_STMT_IF) {
    for (int i = 0; i < s->if_.nbranches; i++) ev_poison_block(ev, &s->if_.branches[i].body, v);
    ev_poison_block(ev, &s->if_.orelse, v);
  } else if (s->kind == AST_STMT_FOR) {
    ev_poison_target(ev, s->for_.target, v);
    ev_poison_block(ev, &s->for_.body, v);
  } else {
    ev_poison_block(ev, &s->while_.body, v);
  }
}

static Flow if_from(Ev *ev, const AstStmt *s, int i);

static void rt_if(Ev *ev, const AstStmt *s, int i, Val cond) {
  const AstBranch *br = &s->if_.branches[i];
  Expr *c = ev_cond(ev, cond, br->cond->span);
  if (!ev_emits(ev)) ev_fail(ev, DIAG_RT_TRUTH, br->cond->span, ir_expr_str(ev->arena, c));
  Stmt *outer = ev->trace->block, *yes = st_block(ev->arena, s->span), *no = NULL;
  RtBlock rt;
  rt_enter(ev, &rt, false, false, br->cond->span);
  ev->trace->block = yes;
  rt_jump(ev, ev_block(ev, &br->body), br->body.data[0]->span);
  rt_restore(ev, &rt);
  if (i + 1 < s->if_.nbranches || s->if_.orelse.len) {
    no = ev->trace->block = st_block(ev->arena, s->span);
    rt_jump(ev, if_from(ev, s, i + 1), s->span);
  }
  rt_leave(ev, &rt);
  ev->trace->block = outer;
  if (no && !no->u.block.len) no = NULL;
  ev_emit(ev, st_if(ev->arena, c, yes, no, s->span));
}

static Flow if_from(Ev *ev, const AstStmt *s, int i) {
  for (; i < s->if_.nbranches; i++) {
    const AstBranch *br = &s->if_.branches[i];
    Val cond = ev_expr(ev, br->cond);
    if (ev_undecided(cond)) {
      skip(ev, s, cond, br->cond->span);
      return FLOW_NEXT;
    }
    if (ev_is_rt(cond)) {
      rt_if(ev, s, i, cond);
      return FLOW_NEXT;
    }
    if (ev_truth(ev, cond, br->cond->span)) return ev_block(ev, &br->body);
  }
  return ev_block(ev, &s->if_.orelse);
}

Flow ev_if(Ev *ev, const AstStmt *s) { return if_from(ev, s, 0); }

/* ------------------------------------------------------------------ for */

static Flow over_items(Ev *ev, const AstStmt *s, const Seq *items) {
  for (int i = 0; i < items->len; i++) {
    ev_step(ev, s->for_.target->span);
    ev_assign(ev, s->for_.target, items->data[i], s->for_.target->span);
    InLoop outer = ev->in_loop;
    ev->in_loop = IN_UNROLLED;
    Flow flow = ev_block(ev, &s->for_.body);
    ev->in_loop = outer;
    if (flow == FLOW_BREAK) return FLOW_NEXT;
    if (flow == FLOW_RETURN) return flow;
  }
  return ev_block(ev, &s->for_.orelse);
}

typedef struct {
  const AstStmt *s;
  Val iter;
} ForHead;

static void for_head(Ev *ev, void *arg) {
  ForHead *h = arg;
  h->iter = ev_expr(ev, h->s->for_.iter);
  ev_need(ev, h->iter.kind == V_RANGE && ev->env->kernel ? h->iter : v_none());
}

Flow ev_for(Ev *ev, const AstStmt *s) {
  if (s->for_.is_async) ev_fail(ev, DIAG_NO_SYNTAX, s->span, "async for");
  ForHead h = {s, v_none()};
  if (!ev_emits(ev)) {
    for_head(ev, &h);
  } else if (!ev_protect(ev, for_head, &h)) { // look at the body all the same
    ev_poison_target(ev, s->for_.target, (Val){.kind = V_ERROR});
    RtBlock rt;
    rt_enter(ev, &rt, true, false, s->span);
    (void)ev_block(ev, &s->for_.body);
    rt_leave(ev, &rt);
    return FLOW_NEXT;
  }
  if (ev_unknown(h.iter)) {
    skip(ev, s, h.iter, s->for_.iter->span);
    return FLOW_NEXT;
  }
  Val bound;
  if (h.iter.kind == V_RANGE && ev_emits(ev) &&
      (ev->env->kernel || v_find(ev, h.iter, V_EXPR, &bound)))
    h.iter = (Val){.kind = V_LOOP, .loop = rt_range(ev, h.iter.range, s->for_.iter->span)};
  if (rt_for_threads(ev, s, h.iter)) return FLOW_NEXT;
  if (h.iter.kind != V_LOOP) return over_items(ev, s, ev_items(ev, h.iter, s->for_.iter->span));
  rt_for(ev, s, h.iter.loop);
  return FLOW_NEXT;
}

static bool endless(const AstExpr *cond) { return cond->kind == AST_BOOL && cond->boolean; }

Flow ev_while(Ev *ev, const AstStmt *s) {
  InLoop outer = ev->in_loop;
  if (ev_emits(ev) && endless(s->while_.cond)) {
    rt_while(ev, s, v_bool(true), st_block(ev->arena, s->span));
    return FLOW_NEXT;
  }
  for (;;) {
    ev_step(ev, s->span);
    Stmt *before = NULL;
    Val cond = rt_condition(ev, s->while_.cond, &before);
    if (ev_undecided(cond)) {
      skip(ev, s, cond, s->while_.cond->span);
      return FLOW_NEXT;
    }
    if (ev_is_rt(cond)) {
      rt_while(ev, s, cond, before);
      return FLOW_NEXT;
    }
    if (!ev_truth(ev, cond, s->while_.cond->span)) break;
    ev->in_loop = IN_UNROLLED;
    Flow flow = ev_block(ev, &s->while_.body);
    ev->in_loop = outer;
    if (flow == FLOW_BREAK) return FLOW_NEXT;
    if (flow == FLOW_RETURN) return flow;
  }
  return ev_block(ev, &s->while_.orelse);
}

/* ------------------------------------------------------------------ with */

typedef struct {
  const AstWithItem *item;
  Val v;
} WithHead;

static void with_head(Ev *ev, void *arg) {
  WithHead *h = arg;
  h->v = ev_expr(ev, h->item->context);
  ev_need(ev, h->v);
}

// A grid to go on with after T.Kernel's operands were wrong.
static Val dummy_grid(Ev *ev, Span at) {
  Grid *g = NEW(ev->arena, Grid);
  *g = (Grid){.n = 1, .threads = 128, .span = at};
  for (int i = 0; i < 3; i++) g->extent[i] = ex_index(ev->arena, 1);
  return (Val){.kind = V_GRID, .grid = g};
}

static bool names_kernel(const AstExpr *e) {
  return e->kind == AST_CALL && e->call.callee->kind == AST_ATTR &&
         !strcmp(e->call.callee->attr.name.text, "Kernel");
}

// with T.ws(...): a branch.
static Flow section(Ev *ev, const AstStmt *s, Expr *cond) {
  Stmt *outer = ev->trace->block, *yes = st_block(ev->arena, s->span);
  RtBlock rt;
  rt_enter(ev, &rt, false, false, s->span);
  ev->trace->block = yes;
  rt_jump(ev, ev_block(ev, &s->with.body), s->span);
  rt_leave(ev, &rt);
  ev->trace->block = outer;
  ev_emit(ev, st_if(ev->arena, cond, yes, NULL, s->span));
  return FLOW_NEXT;
}

Flow ev_with(Ev *ev, const AstStmt *s) {
  bool kernel = false;
  int combiner = ev->trace ? ev->trace->combiner : -1;
  for (int i = 0; i < s->with.nitems; i++) {
    const AstWithItem *item = &s->with.items[i];
    WithHead h = {item, v_none()};
    bool ok = true;
    if (names_kernel(item->context) && ev->trace) ok = ev_protect(ev, with_head, &h);
    else h.v = ev_expr(ev, item->context);
    if (!ok) {
      h.v = dummy_grid(ev, s->span);
      kernel_enter(ev, h.v.grid, NULL, item->context->span);
      if (item->target) ev_poison_target(ev, item->target, (Val){.kind = V_ERROR});
      kernel = true;
    } else if (h.v.kind == V_GRID) {
      kernel_enter(ev, h.v.grid, item->target, item->context->span);
      kernel = true;
    } else if (h.v.kind == V_OBJECT && !ev_emits(ev)) {
      Val in = obj_attr(ev, h.v, "__enter__", item->context->span);
      if (in.kind != V_UNSET) h.v = ev_call_args(ev, in, item->context->span, 0, NULL);
      if (item->target) ev_assign(ev, item->target, h.v, item->target->span);
    } else if (h.v.kind == V_SECTION && ev->trace && s->with.nitems == 1) {
      return section(ev, s, h.v.expr);
    } else if (h.v.kind == V_COMBINER && ev->trace) {
      ev->trace->combiner = (int)h.v.i;
    } else if (!ev_unknown(h.v)) {
      ev_fail(ev, DIAG_WITH, item->context->span, v_kind(ev, h.v));
    } else if (item->target) {
      ev_poison_target(ev, item->target, h.v);
    }
  }
  Flow flow = ev_block(ev, &s->with.body);
  if (ev->trace) ev->trace->combiner = combiner;
  if (kernel) kernel_leave(ev);
  return flow;
}

/* ------------------------------------------------------------------ try */

typedef struct {
  const AstStmt *s;
  Flow flow;
} TryBody;

static void try_body(Ev *ev, void *arg) {
  TryBody *t = arg;
  t->flow = ev_block(ev, &t->s->try_.body);
}

static Flow handle(Ev *ev, const AstStmt *s, const Val *types) {
  for (int i = 0; i < s->try_.nhandlers; i++) {
    const AstHandler *h = &s->try_.handlers[i];
    if (!ev_matches(&types[i], ev->raised.type)) continue;
    Exc *x = arena_copy(ev->arena, &ev->raised, sizeof ev->raised);
    if (!x->message) x->message = "";
    if (h->name) env_set(ev, h->name, (Val){.kind = V_EXC, .exc = x}, h->span);
    return ev_block(ev, &h->body);
  }
  return FLOW_NEXT;
}

Flow ev_try_stmt(Ev *ev, const AstStmt *s) {
  Val *types = NEWN(ev->arena, Val, s->try_.nhandlers);
  for (int i = 0; i < s->try_.nhandlers; i++) {
    if (s->try_.handlers[i].type) types[i] = ev_expr(ev, s->try_.handlers[i].type);
  }
  TryBody t = {s, FLOW_NEXT};
  Flow flow;
  if (ev_try(ev, types, s->try_.nhandlers, try_body, &t)) {
    flow = t.flow;
    if (flow == FLOW_NEXT) flow = ev_block(ev, &s->try_.orelse);
  } else {
    flow = handle(ev, s, types);
  }
  if (s->try_.finally.len) {
    Val ret = ev->ret;
    Flow last = ev_block(ev, &s->try_.finally);
    if (last != FLOW_NEXT) return last;
    ev->ret = ret;
  }
  return flow;
}
