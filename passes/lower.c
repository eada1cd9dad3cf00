// lower: tile ops become what each thread does; buffers become flat arrays. The walk, expressions
// and control flow; accesses, loops, copies and gemms have files of their own.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

const Buffer *lower_form(Lower *l, const Buffer *b) {
  for (int i = 0; i < l->forms.len; i++)
    if (l->forms.data[i].buf == b) return &l->forms.data[i].tile;
  die("lower: buffer %s is unknown", b->name);
}

Expr *lower_simplify(Lower *l, Expr *x) { return facts_simplify(l->facts, x); }

Stmt *lower_if(Lower *l, Expr *cond, Stmt *yes, Span span) {
  if (!cond || ex_is(cond, 1)) return yes;
  return st_if(l->arena, cond, walk_block(l->arena, yes), NULL, span);
}

Var *lower_loop_var(Lower *l, const char *name) {
  return var_new(l->arena, name, DT_INDEX, VAR_LOOP, l->loop ? l->loop->span : NO_SPAN);
}

Expr *lower_let(Lower *l, Stmt *out, const char *name, Expr *value) {
  value = lower_simplify(l, value);
  if (value->kind == EX_INT || value->kind == EX_VAR) return value;
  Var *v = var_new(l->arena, name, DT_INDEX, VAR_LET, NO_SPAN);
  st_add(l->arena, out, st_let(l->arena, v, value, out->span));
  facts_push_let(l->facts, v, value);
  return ex_var(l->arena, v);
}

/* ------------------------------------------------------------------ expressions */

static Expr *lower_select(Lower *l, Expr *x) {
  Expr *cond = lower_expr(l, x->u.sel.cond);
  cond = width_drop_lane(l->arena, l->facts, cond, l->lane, l->width);
  int mark = facts_mark(l->facts);
  facts_push_cond(l->facts, cond);
  Expr *yes = lower_expr(l, x->u.sel.yes);
  facts_pop(l->facts, mark);
  facts_push_cond(l->facts, ex_un(l->arena, UN_NOT, cond));
  Expr *no = lower_expr(l, x->u.sel.no);
  facts_pop(l->facts, mark);
  return ex_select(l->arena, cond, yes, no);
}

static Expr *lower_binary(Lower *l, Expr *x) {
  BinOp op = x->u.bin.op;
  Expr *p = lower_expr(l, x->u.bin.a);
  int mark = facts_mark(l->facts);
  if (op == BIN_AND) facts_push_cond(l->facts, p);
  if (op == BIN_OR) facts_push_cond(l->facts, ex_un(l->arena, UN_NOT, p));
  Expr *q = lower_expr(l, x->u.bin.b);
  facts_pop(l->facts, mark);
  return p == x->u.bin.a && q == x->u.bin.b ? x : ex_bin(l->arena, op, p, q);
}

static Expr *lower_node(Lower *l, Expr *x) {
  Expr *arg[3], *v;
  switch (x->kind) {
  case EX_INT:
  case EX_FLOAT: return x;
  case EX_VAR: return subst_expr(&l->vars, x);
  case EX_LOAD: return lower_load(l, x);
  case EX_UNARY:
    v = lower_expr(l, x->u.un.a);
    return v == x->u.un.a ? x : ex_un(l->arena, x->u.un.op, v);
  case EX_BINARY: return lower_binary(l, x);
  case EX_CAST:
    v = lower_expr(l, x->u.cast);
    return v == x->u.cast ? x : ex_cast(l->arena, x->type, v);
  case EX_BITCAST:
    v = lower_expr(l, x->u.cast);
    return v == x->u.cast ? x : ex_bitcast(l->arena, x->type, v);
  case EX_SELECT: return lower_select(l, x);
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++) arg[i] = lower_expr(l, x->u.math.arg[i]);
    return ex_math(l->arena, x->u.math.fn, arg, x->u.math.n);
  }
  die("lower: expression kind %d", x->kind);
}

Expr *lower_expr(Lower *l, Expr *x) {
  Expr *y = ex_at(lower_node(l, x), x->span);
  return y->type == DT_INDEX && y != x ? lower_simplify(l, y) : y;
}

/* ------------------------------------------------------------------ statements */

static Stmt *lower_body(Lower *l, Stmt *s) {
  Stmt *out = st_block(l->arena, s->span);
  int mark = facts_mark(l->facts);
  lower_stmt(l, s, out);
  facts_pop(l->facts, mark);
  return out;
}

static void lower_for(Lower *l, Stmt *s, Stmt *out) {
  Expr *min = lower_expr(l, s->u.loop.min[0]), *extent = lower_expr(l, s->u.loop.extent[0]);
  Expr *cond = s->u.loop.cond ? lower_expr(l, s->u.loop.cond) : NULL;
  uint32_t outside = l->control;
  l->control |= uniform_digits(l->uniform, s->u.loop.min[0]) |
                uniform_digits(l->uniform, s->u.loop.extent[0]) |
                uniform_digits(l->uniform, s->u.loop.cond);
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, s->u.loop.var[0], min, extent);
  Stmt *body = lower_body(l, s->u.loop.body);
  l->control = outside;
  facts_pop(l->facts, mark);
  LoopKind kind = s->u.loop.loop == LOOP_PIPELINED ? LOOP_SERIAL : s->u.loop.loop;
  Stmt *loop = st_for(l->arena, kind, s->u.loop.var[0], min, extent, body, s->span);
  loop->u.loop.unroll = s->u.loop.unroll;
  loop->u.loop.cond = cond;
  st_add(l->arena, out, loop);
}

// What multiplies and stores, the consumers' branch or the whole kernel: descriptors before it, and
// no block ends while its tiles are read.
static Stmt *framed(Lower *l, Stmt *body) {
  Stmt *all = st_block(l->arena, body->span);
  st_add(l->arena, all, l->prologue);
  st_add(l->arena, all, body);
  lower_proxy_end(l, body->span, all);
  l->prologue = st_block(l->arena, body->span);
  l->stores = false;
  return all;
}

// A branch that only the crew gets to: threads are numbered within it.
static Stmt *lower_side(Lower *l, Stmt *s, Expr *cond, bool roles) {
  Arena *a = l->arena;
  Expr *thread = l->thread;
  Crew around = l->crew;
  int threads = l->threads;
  if (!roles) l->crew = crew_under(a, l->kernel, l->uniform, cond, around);
  Stmt *out = st_block(a, s->span);
  if (l->crew.some || (l->crew.lo == around.lo && l->crew.hi == around.hi)) {
    out = lower_body(l, s);
    l->crew = around;
    return out;
  }
  int mark = facts_mark(l->facts);
  Expr *zero = ex_index(a, 0), *number = ex_var(a, l->kernel->thread);
  l->threads = l->crew.hi - l->crew.lo;
  l->thread = number;
  if (l->crew.lo)
    l->thread = lower_let(l, out, "member", ex_sub(a, number, ex_index(a, l->crew.lo)));
  facts_push_cond(l->facts, ex_bin(a, BIN_LE, zero, l->thread));
  facts_push_cond(l->facts, ex_lt(a, l->thread, ex_index(a, l->threads)));
  lower_stmt(l, s, out);
  facts_pop(l->facts, mark);
  l->thread = thread;
  l->crew = around;
  l->threads = threads;
  return out;
}

static void lower_branch(Lower *l, Stmt *s, Stmt *out) {
  Expr *cond = lower_expr(l, s->u.branch.cond);
  uint32_t outside = l->control;
  if (!s->u.branch.roles) l->control |= uniform_digits(l->uniform, s->u.branch.cond);
  cond = width_drop_lane(l->arena, l->facts, cond, l->lane, l->width);
  int mark = facts_mark(l->facts);
  facts_push_cond(l->facts, cond);
  Expr *tile = s->u.branch.cond;
  Stmt *yes = lower_side(l, s->u.branch.yes, tile, s->u.branch.roles), *no = NULL;
  if (s->u.branch.roles) yes = framed(l, yes);
  facts_pop(l->facts, mark);
  if (s->u.branch.no) {
    facts_push_cond(l->facts, ex_un(l->arena, UN_NOT, cond));
    no = lower_side(l, s->u.branch.no, ex_un(l->arena, UN_NOT, tile), s->u.branch.roles);
    facts_pop(l->facts, mark);
  }
  l->control = outside;
  Stmt *both = st_if(l->arena, cond, yes, no, s->span);
  both->u.branch.roles = s->u.branch.roles;
  st_add(l->arena, out, both);
}

// An op of both levels: its regions become flat.
static void lower_plain(Lower *l, Stmt *s, Stmt *out) {
  const OpInfo *info = op_info(s->u.op.op);
  Stmt *x = arena_copy(l->arena, s, sizeof *s);
  for (int i = 0; i < info->nargs; i++) {
    Arg *arg = &x->u.op.arg[i];
    if (info->arg[i].kind == ARG_EXPR && arg->expr) arg->expr = lower_expr(l, arg->expr);
    if (!arg_is_region(info->arg[i].kind) || !arg->region) continue;
    const Region *r = arg->region;
    Expr *idx[LOOP_MAX_DIMS * 2];
    int64_t n, count = 1;
    for (int d = 0; d < r->n; d++) {
      if (!ex_const(r->extent[d], &n)) die("lower: %s of run-time extent", info->name);
      count *= n;
      idx[d] = lower_expr(l, r->min[d]);
    }
    arg->region = region_flat(l->arena, r->buf, lower_offset(l, r->buf, idx), (int)count);
  }
  st_add(l->arena, out, x);
}

static void lower_op(Lower *l, Stmt *s, Stmt *out) {
  switch (s->u.op.op) {
  case OP_COPY: lower_async_copy(l, s, out); break;
  case OP_GEMM:
    if (plan_gemm(l->c->plan, s)->wgmma) wgmma_lower(l, s, out);
    else gemm_lower(l, s, out);
    break;
  case OP_WGMMA_FENCE:
  case OP_WGMMA_WAIT: wgmma_lower_order(l, s, out); break;
  case OP_ATOMIC: lower_atomic(l, s, out); break;
  case OP_REDUCER_UPDATE: lower_update(l, s, out); break;
  case OP_SCAN: lower_scan(l, s, out); break;
  case OP_SHUFFLE: lower_shuffle(l, s, out); break;
  case OP_VOTE:
  case OP_BLOCK_VOTE: lower_vote(l, s, out); break;
  case OP_ALLREDUCE: lower_allreduce(l, s, out); break;
  case OP_ATOMIC_LOAD: lower_atomic_load(l, s, out); break;
  case OP_ATOMIC_VEC: lower_atomic_vec(l, s, out); break;
  case OP_PRINT: lower_print(l, s, out); break;
  case OP_ASSERT: lower_assert(l, s, out); break;
  case OP_EXTERN: lower_extern(l, s, out); break;
  case OP_REDUCER_FINALIZE: lower_finalize(l, s, out); break;
  case OP_SYNC:
  case OP_SYNC_WARP:
  case OP_ASYNC_COMMIT:
  case OP_ASYNC_WAIT: st_add(l->arena, out, s); break;
  case OP_BAR_SYNC:
  case OP_BAR_ARRIVE:
  case OP_MBAR_INIT:
  case OP_MBAR_ARRIVE:
  case OP_MBAR_ARRIVE_REMOTE:
  case OP_CLUSTER_ARRIVE:
  case OP_CLUSTER_WAIT:
  case OP_MBAR_ARRIVE_TX:
  case OP_MBAR_WAIT:
  case OP_FENCE_MBAR_INIT:
  case OP_PHILOX:
  case OP_MATCH:
  case OP_FIND_BIT:
  case OP_SETMAXNREG: lower_plain(l, s, out); break;
  case OP_TILE_STORE:
  case OP_TILE_REDUCE: lower_tile_store(l, s, out); break;
  case OP_TILE_LOAD: lower_tile_load(l, s, out); break;
  default: die("lower: op %s", op_info(s->u.op.op)->name);
  }
}

static void lower_one(Lower *l, Stmt *s, Stmt *out) {
  switch (s->kind) {
  case ST_BLOCK: {
    for (int i = 0; i < s->u.block.len; i++) lower_stmt(l, s->u.block.data[i], out);
    break;
  }
  case ST_FOR:
    if (s->u.loop.async) lower_async_copy(l, s, out);
    else if (s->u.loop.loop == LOOP_PARALLEL) lower_parallel(l, s, out);
    else lower_for(l, s, out);
    break;
  case ST_IF: lower_branch(l, s, out); break;
  case ST_LET: {
    Expr *v = lower_expr(l, s->u.let.value);
    st_add(l->arena, out, st_let(l->arena, s->u.let.var, v, s->span));
    facts_push_let(l->facts, s->u.let.var, v);
    break;
  }
  case ST_STORE: lower_store(l, s, out); break;
  case ST_OP: lower_op(l, s, out); break;
  case ST_ASSUME: {
    Expr *cond = lower_expr(l, s->u.assume);
    st_add(l->arena, out, (s->known ? st_known : st_assume)(l->arena, cond, s->span));
    facts_push_cond(l->facts, cond);
    break;
  }
  }
}

void lower_stmt(Lower *l, Stmt *s, Stmt *out) {
  int from = out->u.block.len;
  lower_one(l, s, out);
  lower_proxy_after(l, s, out, from);
}

/* ------------------------------------------------------------------ widths, decided on tile form
 */

static void note_width(void *ctx, Stmt *s) {
  Lower *l = ctx;
  Widths w = {l->arena, l->facts, l->c->target};
  LoopWidth lw = {.stmt = s, .loop = s, .width = 1};
  int most = 16;
  if (s->kind == ST_OP && s->u.op.op == OP_COPY) {
    lw.loop = tile_copy_loop(l->arena, s->u.op.arg[0].region, s->u.op.arg[1].region, s->span);
  } else if (s->kind == ST_FOR && s->u.loop.async) {
    lw.loop = arena_copy(l->arena, s, sizeof *s); // gets another layout
  } else if (s->kind == ST_FOR && s->u.loop.loop == LOOP_PARALLEL) {
    const Layout *lay = s->u.loop.layout;
    if (!lay) return;
    const DigitGroup *g = &lay->group[lay->ngroups - 1];
    if (!g->ndigits || g->digit[0].owner != OWN_REG || g->digit[0].stride != 1) return;
    int64_t last = lay->shape[lay->ndims - 1];
    while (most > 1 && (g->digit[0].extent % most || last % most)) most /= 2;
  } else {
    return;
  }
  lw.width = width_loop(&w, lw.loop, most);
  vec_push(l->arena, &l->widths, lw);
}

LoopWidth *lower_width(Lower *l, const Stmt *s) {
  for (int i = 0; i < l->widths.len; i++)
    if (l->widths.data[i].stmt == s) return &l->widths.data[i];
  return NULL;
}

/* ------------------------------------------------------------------ buffers */

static void keep_form(Lower *l, Buffer *b) {
  TileForm f = {b, *b};
  vec_push(l->arena, &l->forms, f);
}

static Expr *total(Arena *a, const Buffer *b) {
  Expr *n = ex_index(a, 1);
  if (!b->strides) {
    for (int d = 0; d < b->ndim; d++) n = ex_mul(a, n, b->shape[d]);
    return n;
  }
  for (int d = 0; d < b->ndim; d++)
    n = ex_add(a, n, ex_mul(a, ex_sub(a, b->shape[d], ex_index(a, 1)), b->strides[d]));
  return n;
}

// The buffer itself becomes one flat array; its tile form was kept.
static void flatten(Arena *a, Buffer *b) {
  Expr *n = total(a, b);
  int bits = dt_bits(b->dtype);
  if (b->scope == SC_SHARED && b->layout) n = ex_index(a, layout_bytes(b->layout) * 8 / bits);
  if (b->scope == SC_FRAGMENT) {
    n = ex_index(a, layout_regs(b->layout));
    b->scope = SC_LOCAL;
  }
  b->ndim = 1;
  b->shape = NEW(a, Expr *);
  b->shape[0] = n;
  b->strides = NULL;
  b->layout = NULL;
}

static void lower_kernel(Program *p, PassCtx *c, Kernel *k, const Lower *globals) {
  Lower l = {.program = p, .kernel = k, .c = c, .arena = c->arena, .vars = {.arena = c->arena}};
  l.forms.data =
      arena_copy(c->arena, globals->forms.data, sizeof(TileForm) * (size_t)globals->forms.len);
  l.forms.len = l.forms.cap = globals->forms.len;
  l.widths = globals->widths;
  l.facts = facts_new(c->arena, p, k);
  l.uniform = uniform_new(c->arena, k);
  l.thread = ex_var(c->arena, k->thread);
  l.crew = crew_all(k);
  l.threads = k->threads;
  for (int i = 0; i < k->buffers.len; i++) {
    keep_form(&l, k->buffers.data[i]);
    flatten(c->arena, k->buffers.data[i]);
  }
  Stmt *body = st_block(c->arena, k->span);
  l.prologue = st_block(c->arena, k->span);
  lower_proxy_scan(&l, k->body);
  lower_stmt(&l, k->body, body);
  k->body = lower_fetch_maps(&l, framed(&l, body));
  k->level = LEVEL_THREAD;
  views_replace(c, k);
}

static void lower_global(Lower *l, Buffer *b) {
  keep_form(l, b);
  flatten(l->arena, b);
}

void pass_lower(Program *p, PassCtx *c) {
  Lower l = {.program = p, .c = c, .arena = c->arena};
  for (int i = 0; i < p->kernels.len; i++) {
    l.facts = facts_new(c->arena, p, p->kernels.data[i]);
    walk_facts(c->arena, l.facts, p->kernels.data[i]->body, note_width, &l);
  }
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_TENSOR) lower_global(&l, p->params.data[i].buf);
  for (int i = 0; i < p->workspaces.len; i++) lower_global(&l, p->workspaces.data[i]);
  for (int i = 0; i < p->kernels.len; i++) lower_kernel(p, c, p->kernels.data[i], &l);
}
