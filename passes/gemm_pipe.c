// The main loop of a pipelined gemm, rotated: the first fragments of the next stage are loaded
// before the last multiplications of this one, and the copies ahead are issued behind the first
// loads. So the tensor cores have work while a warp waits at the barrier and while addresses are
// formed.
// SPDX-License-Identifier: MIT
#include "passes/gemm.h"

// for k { wait; copies of a later stage, maybe under a condition; commit; gemm }
typedef struct {
  Stmt *loop, *wait, *copies, *commit, *gemm;
  Var *k;
} Ring;

static bool is_op(const Stmt *s, OpCode op) { return s->kind == ST_OP && s->u.op.op == op; }

static bool uses(const Expr *x, const Var *v) { return ex_uses(x, v); }

// One element of a ring's slots: are the copy's and the gemm's slot never the same?
static bool apart(Lower *l, const Region *dst, const Region *operand) {
  if (dst->buf != operand->buf) return true;
  for (int d = 0; d < dst->n; d++)
    if (ex_is(dst->extent[d], 1) && ex_is(operand->extent[d], 1) &&
        facts_distinct(l->facts, dst->min[d], operand->min[d]))
      return true;
  return false;
}

// Only async copies into slots that the gemm does not read.
static bool copies_apart(Lower *l, const Ring *r, const Stmt *s) {
  const Arg *arg = r->gemm->u.op.arg;
  if (s->kind == ST_BLOCK) {
    for (int i = 0; i < s->u.block.len; i++)
      if (!copies_apart(l, r, s->u.block.data[i])) return false;
    return true;
  }
  if (s->kind == ST_IF)
    return !s->u.branch.no && !walk_has_load(s->u.branch.cond) &&
           copies_apart(l, r, s->u.branch.yes);
  if (!is_op(s, OP_COPY) || !s->u.op.arg[op_arg(OP_COPY, "async")].i) return false;
  const Region *dst = s->u.op.arg[op_arg(OP_COPY, "dst")].region;
  return apart(l, dst, arg[0].region) && apart(l, dst, arg[1].region);
}

// Operands in shared memory whose place in the tile does not change with k.
static bool operand_fits(Lower *l, const Ring *r, const Region *o) {
  if (lower_form(l, o->buf)->scope != SC_SHARED) return false;
  for (int d = 0; d < o->n; d++)
    if (walk_has_load(o->min[d]) || (d >= o->n - 2 && uses(o->min[d], r->k))) return false;
  return true;
}

static bool match(Lower *l, Stmt *s, Ring *r) {
  *r = (Ring){.loop = s, .k = s->u.loop.var[0]};
  const Stmt *b = s->u.loop.body;
  if (s->u.loop.loop != LOOP_SERIAL || b->kind != ST_BLOCK || b->u.block.len < 4) return false;
  int n = b->u.block.len;
  r->wait = b->u.block.data[0];
  r->commit = b->u.block.data[n - 2];
  r->gemm = b->u.block.data[n - 1];
  if (!is_op(r->wait, OP_ASYNC_WAIT) || !is_op(r->commit, OP_ASYNC_COMMIT) ||
      !is_op(r->gemm, OP_GEMM))
    return false;
  const PlanGemm *p = plan_gemm(l->c->plan, r->gemm);
  if (p->K % (2 * p->k) || !p->K) return false; // the halves of the registers must alternate
  const Arg *arg = r->gemm->u.op.arg;
  if (!operand_fits(l, r, arg[0].region) || !operand_fits(l, r, arg[1].region)) return false;
  r->copies = st_block(l->arena, s->span);
  for (int i = 1; i < n - 2; i++) vec_push(l->arena, &r->copies->u.block, b->u.block.data[i]);
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, r->k, s->u.loop.min[0], s->u.loop.extent[0]);
  bool ok = copies_apart(l, r, r->copies);
  facts_pop(l->facts, mark);
  return ok;
}

// wait, and where there is such an iteration, the first fragments of the stage that iteration `at`
// multiplies. The wait is not conditional: what follows the loop relies on it too.
static void first_fragments(Gemm *g, const Ring *r, Expr *at, Expr *cond, Stmt *out) {
  Lower *l = g->l;
  Arena *a = l->arena;
  int vars = l->vars.from.len, mark = facts_mark(l->facts);
  bool sure = facts_prove(l->facts, cond);
  st_add(a, out, st_op(a, OP_ASYNC_WAIT, r->wait->span, r->wait->u.op.arg[0].i));
  subst_add(&l->vars, r->k, at);
  facts_push_cond(l->facts, cond);
  Stmt *body = st_block(a, g->s->span);
  gemm_leads(g, body);
  gemm_load_step(g, ex_index(a, 0), false, body);
  facts_pop(l->facts, mark);
  l->vars.from.len = l->vars.to.len = vars;
  st_add(a, out, sure ? body : st_if(a, cond, body, NULL, g->s->span));
}

static void iteration(Gemm *g, const Ring *r, Expr *end, Stmt *out) {
  Lower *l = g->l;
  Arena *a = l->arena;
  Expr *k = ex_var(a, r->k), *one = ex_index(a, 1), *next = ex_add(a, k, one);
  gemm_leads(g, out);
  gemm_clear(g, out);
  gemm_load_step(g, one, false, out);
  lower_stmt(l, r->copies, out);
  st_add(a, out, r->commit);
  gemm_multiply(g, ex_index(a, 0), out);
  if (g->steps > 2) {
    Var *v = lower_loop_var(l, "ks");
    int mark = facts_mark(l->facts);
    facts_push_loop(l->facts, v, one, ex_index(a, g->steps - 2));
    Stmt *body = st_block(a, g->s->span);
    gemm_load_step(g, ex_add(a, ex_var(a, v), one), false, body);
    gemm_multiply(g, ex_var(a, v), body);
    facts_pop(l->facts, mark);
    st_add(a, out, st_for(a, LOOP_UNROLL, v, one, ex_index(a, g->steps - 2), body, g->s->span));
  }
  first_fragments(g, r, next, ex_lt(a, next, end), out);
  gemm_multiply(g, ex_index(a, g->steps - 1), out);
}

bool gemm_pipeline(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  Ring r;
  if (!pass_flag(l->c, "prefetch", 1) || !match(l, s, &r)) return false;
  Expr *min = lower_expr(l, s->u.loop.min[0]), *extent = lower_expr(l, s->u.loop.extent[0]);
  Expr *end = lower_simplify(l, ex_add(a, min, extent)), *some = ex_lt(a, ex_index(a, 0), extent);
  Gemm g;
  gemm_open(&g, l, r.gemm, out);
  Stmt *body = st_block(a, s->span);
  first_fragments(&g, &r, min, some, out);
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, r.k, min, extent);
  iteration(&g, &r, end, body);
  facts_pop(l->facts, mark);
  st_add(a, out, st_for(a, LOOP_SERIAL, r.k, min, extent, body, s->span));
  diag_remark(l->c->diags, s->span, "gemm", "fragments of the next stage are loaded ahead");
  return true;
}
