// Run-time loops traced into the kernel, and the jumps that leave them.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/rt_loop.h"

void rt_jump(Ev *ev, Flow flow, Span at) {
  if (flow == FLOW_NEXT) return;
  if (flow == FLOW_RETURN) ev_fail(ev, DIAG_RT_RETURN, at);
  const char *word = flow == FLOW_BREAK ? "break" : "continue";
  if (ev->in_loop == IN_NONE) ev_fail(ev, DIAG_NO_LOOP, at, word);
  if (ev->in_loop != IN_RUN_TIME)
    ev_fail(ev, DIAG_RT_JUMP, at, word,
            ev->in_loop == IN_ELEMENTS
                ? "over independent elements; put the rest of its body under an 'if'"
                : "unrolled at compile time; write it as T.serial(...)");
  ev_emit(ev, st_op(ev->arena, flow == FLOW_BREAK ? OP_BREAK : OP_CONTINUE, at));
}

// The names of the loop variables, one an extent.
static void loop_names(Ev *ev, const AstExpr *t, int n, const char **names) {
  AstExprs one = {(AstExpr *[]){(AstExpr *)t}, 1};
  const AstExprs *items = t->kind == AST_TUPLE || t->kind == AST_LIST ? &t->items : &one;
  if (items->len != n) ev_fail(ev, DIAG_LOOP_VARS, t->span, n, items->len);
  for (int i = 0; i < n; i++) {
    if (items->data[i]->kind != AST_NAME) ev_fail(ev, DIAG_LOOP_TARGET, items->data[i]->span);
    names[i] = items->data[i]->name;
  }
}

// The loop of the IR; several serial variables are loops in one another.
static Stmt *loop_stmt(Ev *ev, const Loop *l, Var **var, Stmt *body, Span at) {
  if (l->kind == LOOP_PARALLEL) {
    Stmt *s = st_for_n(ev->arena, l->kind, l->n, var, l->min, l->extent, body, at);
    s->u.loop.places = l->map;
    return s;
  }
  for (int i = l->n - 1;; i--) {
    Stmt *s = st_for(ev->arena, l->kind, var[i], l->min[i], l->extent[i], body, at);
    s->u.loop.num_stages = l->num_stages;
    s->u.loop.unroll = l->unroll;
    if (!i) return s;
    body = st_block(ev->arena, at);
    st_add(ev->arena, body, s);
  }
}

// Variables of the loop, and names bound to what they stand for.
static void bind_vars(Ev *ev, const AstStmt *s, const Loop *l, Loop *shape, Var **var) {
  Arena *a = ev->arena;
  const AstExpr *target = s->for_.target;
  const char **names = NEWN(a, const char *, l->n);
  if (!l->decode) loop_names(ev, target, l->n, names);
  for (int i = 0; i < l->n; i++) {
    var[i] = var_new(a, l->decode ? "w" : names[i], DT_INDEX, VAR_LOOP, target->span);
    Expr *x = ex_var(a, var[i]);
    if (l->step != 1) {
      x = ex_add(a, l->min[0], ex_mul(a, x, ex_index(a, l->step)));
      shape->min = NEW(a, Expr *);
      shape->min[0] = ex_index(a, 0);
    }
    if (!l->decode)
      env_set(ev, names[i], v_expr(ex_at(x, target->span), l->step == 1 ? 1 : 8), target->span);
  }
}

// The coordinates of this block's tile in its wave; where they exist, the rest of the body runs.
static Stmt *bind_coordinates(Ev *ev, const AstStmt *s, const Decode *d, Var *wave) {
  Arena *a = ev->arena;
  Span at = s->for_.target->span;
  int last = d->n - 1;
  const char **names = NEWN(a, const char *, d->n);
  Expr *rest = ex_add(a, ex_mul(a, ex_var(a, wave), d->wave_size), d->index), *coord[8];
  loop_names(ev, s->for_.target, d->n, names);
  Expr *within = ex_floormod(a, rest, d->group);
  rest = ex_floordiv(a, rest, d->group);
  for (int i = last - 1; i >= 0; i--) {
    coord[i] = ex_floormod(a, rest, d->domain[i]);
    rest = ex_floordiv(a, rest, d->domain[i]);
  }
  coord[last] = ex_add(a, ex_mul(a, rest, d->group), within);
  for (int i = 0; i <= last; i++) {
    Var *v = var_new(a, names[i], DT_INDEX, VAR_LET, at);
    ev_emit(ev, st_let(a, v, coord[i], at));
    coord[i] = ex_at(ex_var(a, v), at);
    env_set(ev, names[i], v_expr(coord[i], 1), at);
  }
  Stmt *inner = st_block(a, s->span);
  ev_emit(ev, st_if(a, ex_lt(a, coord[last], d->domain[last]), inner, NULL, s->span));
  return inner;
}

void rt_for(Ev *ev, const AstStmt *s, const Loop *l) {
  if (!ev_emits(ev)) ev_outside(ev, "a run-time loop", s->for_.iter->span);
  if (s->for_.orelse.len) ev_fail(ev, DIAG_NO_SYNTAX, s->span, "else of a run-time loop");
  Stmt *outer = ev->trace->block, *body = st_block(ev->arena, s->span);
  InLoop around = ev->in_loop;
  RtBlock rt;
  Loop shape = *l;
  Var **var = NEWN(ev->arena, Var *, l->n);
  bool elements = l->kind == LOOP_PARALLEL || l->kind == LOOP_VECTORIZED;
  rt_enter(ev, &rt, true, elements, s->span);
  bind_vars(ev, s, l, &shape, var);
  ev->trace->block = body;
  if (l->decode) ev->trace->block = bind_coordinates(ev, s, l->decode, var[0]);
  ev->in_loop = elements ? IN_ELEMENTS : IN_RUN_TIME;
  Flow flow = ev_block(ev, &s->for_.body);
  if (flow != FLOW_CONTINUE) rt_jump(ev, flow, s->span);
  ev->in_loop = around;
  rt_leave(ev, &rt);
  ev->trace->block = outer;
  ev_emit(ev, loop_stmt(ev, &shape, var, body, s->span));
}

static void see_thread(void *ctx, Expr *x) {
  if (x->kind == EX_VAR && x->u.var->kind == VAR_THREAD) *(bool *)ctx = true;
}

bool rt_for_threads(Ev *ev, const AstStmt *s, Val iter) {
  bool thread = false;
  if (iter.kind != V_EXPR || !ev_emits(ev) || s->for_.target->kind != AST_NAME) return false;
  ex_walk(iter.expr, see_thread, &thread);
  if (!thread) return false;
  InLoop around = ev->in_loop;
  ev->in_loop = IN_UNROLLED;
  env_set(ev, s->for_.target->name, iter, s->for_.target->span);
  Flow flow = ev_block(ev, &s->for_.body);
  ev->in_loop = around;
  if (flow == FLOW_RETURN) ev_fail(ev, DIAG_RT_RETURN, s->span);
  return true;
}

/* ------------------------------------------------------------------ while */

Val rt_condition(Ev *ev, const AstExpr *cond, Stmt **before) {
  if (!ev_emits(ev)) return ev_expr(ev, cond);
  Stmt *outer = ev->trace->block;
  *before = ev->trace->block = st_block(ev->arena, cond->span);
  Val v = ev_expr(ev, cond);
  ev->trace->block = outer;
  if (!ev_is_rt(v)) st_add(ev->arena, outer, *before);
  return v;
}

// Statements that the condition needs run in each round: then it is tested after them.
// Does a break in the statement leave the loop around it?
static bool leaves(const Stmt *s) {
  bool any = false;
  if (!s) return false;
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len && !any; i++) any = leaves(s->u.block.data[i]);
    return any;
  case ST_IF: return leaves(s->u.branch.yes) || leaves(s->u.branch.no);
  case ST_FOR: return s->u.loop.loop == LOOP_PARALLEL && leaves(s->u.loop.body);
  case ST_OP: return s->u.op.op == OP_BREAK;
  default: return false;
  }
}

void rt_while(Ev *ev, const AstStmt *s, Val cond, Stmt *before) {
  Arena *a = ev->arena;
  int errors = diag_errors(ev->diags);
  if (s->while_.orelse.len) ev_fail(ev, DIAG_NO_SYNTAX, s->span, "else of a run-time loop");
  Expr *c = ev_is_rt(cond) ? ev_cond(ev, cond, s->while_.cond->span) : ex_bool(a, true);
  Stmt *outer = ev->trace->block, *body = st_block(a, s->span);
  InLoop around = ev->in_loop;
  RtBlock rt;
  rt_enter(ev, &rt, true, false, s->span);
  ev->trace->block = body;
  if (before->u.block.len) {
    Stmt *leave = st_block(a, s->span);
    st_add(a, body, before);
    st_add(a, leave, st_op(a, OP_BREAK, s->while_.cond->span));
    ev_emit(ev, st_if(a, ex_un(a, UN_NOT, c), leave, NULL, s->while_.cond->span));
    c = ex_bool(a, true);
  }
  ev->in_loop = IN_RUN_TIME;
  Flow flow = ev_block(ev, &s->while_.body);
  if (flow != FLOW_CONTINUE) rt_jump(ev, flow, s->span);
  ev->in_loop = around;
  rt_leave(ev, &rt);
  ev->trace->block = outer;
  if (!ev_is_rt(cond) && !leaves(body) && diag_errors(ev->diags) == errors)
    ev_fail(ev, DIAG_ENDLESS, s->while_.cond->span);
  ev_emit(ev, st_while(a, c, body, s->span));
}

/* ------------------------------------------------------------------ range */

// range(lo, hi, step) as a serial loop.
Loop *rt_range(Ev *ev, const Range *r, Span at) {
  Loop *l = NEW(ev->arena, Loop);
  Expr *lo = dev_index(ev, r->lo, at), *hi = dev_index(ev, r->hi, at),
       *step = dev_index(ev, r->step, at);
  if (!ex_const(step, &l->step)) ev_fail(ev, DIAG_RT_STEP, at, ir_expr_str(ev->arena, step));
  if (l->step == 0 || l->step == INT64_MIN)
    ev_fail(ev, DIAG_ZERO_DIVISION, at, "a range step of 0");
  Expr *span = l->step > 0 ? dev_diff(ev, hi, lo) : dev_diff(ev, lo, hi);
  int64_t by = l->step > 0 ? l->step : -l->step;
  Expr *n = ex_floordiv(ev->arena, ex_add(ev->arena, span, ex_index(ev->arena, by - 1)),
                        ex_index(ev->arena, by));
  l->kind = LOOP_SERIAL;
  l->n = 1;
  l->min = arena_copy(ev->arena, &lo, sizeof lo);
  l->extent = arena_copy(ev->arena, &n, sizeof n);
  return l;
}
