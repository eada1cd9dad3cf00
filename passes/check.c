// check: reports what the program asks for and no kernel of this target could do. After it, later
// passes may take shapes, types and limits for granted.
// SPDX-License-Identifier: MIT
#include "passes/check.h"
#include "passes/crew.h"

typedef struct {
  Check *k;
  const char *divergent; // what depends on the thread around here: "condition", "loop bound"; NULL
  bool parallel;         // inside T.Parallel
  Crew crew;             // who gets here, where nothing is divergent
} Place;

static void visit(Place p, Stmt *s);

static const char *op_words(OpCode op) {
  switch (op) {
  case OP_COPY: return "T.copy";
  case OP_FILL: return "T.fill";
  case OP_GEMM: return "T.gemm";
  case OP_ATOMIC_TILE: return "T.atomic_add of a tile";
  case OP_REDUCE: return "a reduction";
  case OP_SCAN: return "a scan";
  case OP_TEST: return "T.any_of or T.all_of of a fragment";
  case OP_REDUCER_FINALIZE: return "T.finalize_reducer";
  case OP_IM2COL: return "T.im2col";
  case OP_SYNC: return "T.sync_threads";
  default: return op_info(op)->name;
  }
}

static void want_uniform(Check *k, const char *what, Expr *x, Span span) {
  if (!uniform_expr(k->uniform, x))
    diag_report(k->c->diags, DIAG_TILE_VARYING, span, what, ir_expr_str(k->c->arena, x));
}

// What all threads do together takes the same operands from each of them.
static void check_operands(Check *k, Stmt *s) {
  OpCode op = s->u.op.op;
  const OpInfo *info = op_info(op);
  for (int i = 0; i < info->nargs; i++) {
    const Region *r = s->u.op.arg[i].region;
    if (info->arg[i].kind == ARG_INT || info->arg[i].kind == ARG_TEXT) continue;
    if (info->arg[i].kind == ARG_EXPR) {
      want_uniform(k, op_words(op), s->u.op.arg[i].expr, s->span);
      continue;
    }
    for (int d = 0; r && d < r->n; d++) {
      want_uniform(k, op_words(op), r->min[d], s->span);
      want_uniform(k, op_words(op), r->extent[d], s->span);
    }
  }
}

// What the threads of a crew cannot do without the others.
static bool whole_only(const Stmt *s) {
  OpCode op = s->u.op.op;
  return op == OP_SYNC || op == OP_IM2COL || op == OP_ALLREDUCE || op == OP_BLOCK_VOTE;
}

static void report_divergent(Place p, const char *what, Span span) {
  diag_report(p.k->c->diags, DIAG_TILE_DIVERGENT, span, what, p.divergent);
  if (!p.crew.some) return;
  diag_note(p.k->c->diags, span,
            "whole warps in one run of threads can do it together, under a condition that tells "
            "which of them before the program runs, as T.ws(0) or `32 <= tx and tx < 128`");
}

// A barrier over some threads is lowered where those that get there are as many.
static void visit_sync_some(Place p, Stmt *s) {
  int64_t count = s->u.op.arg[1].i;
  int threads = p.crew.hi - p.crew.lo;
  if (p.divergent) report_divergent(p, "T.sync_threads", s->span);
  else if (count != threads)
    diag_report(p.k->c->diags, DIAG_SYNC_COUNT, s->span, (long long)count, threads);
  else *s = *st_op(p.k->c->arena, OP_SYNC, s->span);
}

static void visit_op(Place p, Stmt *s) {
  Check *k = p.k;
  if (s->u.op.op == OP_SYNC_SOME) {
    visit_sync_some(p, s);
    return;
  }
  OpCode op = s->u.op.op;
  const OpInfo *info = op_info(op);
  for (int i = 0; i < info->nargs; i++)
    if (arg_is_region(info->arg[i].kind) && s->u.op.arg[i].region)
      check_region(k, s->u.op.arg[i].region, s->span);
  if (crew_op(s) && p.parallel)
    diag_report(k->c->diags, DIAG_TILE_IN_PARALLEL, s->span, op_words(op));
  else if (crew_op(s) && p.divergent) report_divergent(p, op_words(op), s->span);
  else if (!crew_is_all(k->kernel, p.crew) && whole_only(s))
    diag_report(k->c->diags, DIAG_TILE_DIVERGENT, s->span, op_words(op), "condition");
  else if (crew_op(s)) check_operands(k, s);
  k->threads = p.crew.hi - p.crew.lo;
  if (op == OP_GEMM) check_gemm(k, s);
  if (op == OP_COPY || op == OP_ATOMIC_TILE) check_copy(k, s);
  if (op == OP_ATOMIC || op == OP_ATOMIC_TILE) check_atomic(k, s);
}

typedef struct {
  const Buffer *fragment;
  Arena *arena;
} Uses;

static void note_fragment(void *ctx, const Access *acc) {
  Uses *u = ctx;
  if (acc->region.buf->scope == SC_FRAGMENT) u->fragment = acc->region.buf;
}

static void note_stmt(void *ctx, Stmt *s) {
  Uses *u = ctx;
  st_accesses(u->arena, s, note_fragment, u);
}

static void check_parallel(Check *k, Stmt *s) {
  Uses u = {NULL, k->c->arena};
  st_walk(s->u.loop.body, note_stmt, &u);
  int64_t n;
  for (int i = 0; u.fragment && i < s->u.loop.nvars; i++)
    if (!ex_const(facts_simplify(k->facts, s->u.loop.extent[i]), &n))
      diag_report(k->c->diags, DIAG_PARALLEL_EXTENT, s->span,
                  ir_expr_str(k->c->arena, s->u.loop.extent[i]), u.fragment->name);
}

static void visit_for(Place p, Stmt *s) {
  Check *k = p.k;
  check_exprs(k, s);
  bool par = s->u.loop.loop == LOOP_PARALLEL;
  if (par) {
    check_parallel(k, s);
    if (p.divergent && !p.parallel) report_divergent(p, "a Parallel loop", s->span);
    else if (!p.parallel) check_threads(k, s), check_iterations(k, s);
  }
  int mark = facts_mark(k->facts);
  for (int i = 0; par && !p.parallel && i < s->u.loop.nvars; i++) {
    want_uniform(k, "T.Parallel", s->u.loop.min[i], s->span);
    want_uniform(k, "T.Parallel", s->u.loop.extent[i], s->span);
  }
  for (int i = 0; i < s->u.loop.nvars; i++) {
    int64_t lo, hi;
    facts_bounds(k->facts, s->u.loop.extent[i], &lo, &hi);
    if (hi <= 0) return; // never runs
    if (!par && !p.divergent &&
        !(uniform_expr(k->uniform, s->u.loop.min[i]) &&
          uniform_expr(k->uniform, s->u.loop.extent[i])))
      p.divergent = "loop bound";
    facts_push_loop(k->facts, s->u.loop.var[i], s->u.loop.min[i], s->u.loop.extent[i]);
  }
  if (s->u.loop.cond && !p.divergent && !uniform_expr(k->uniform, s->u.loop.cond))
    p.divergent = "loop condition";
  int whole = k->whole.len;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    int64_t n;
    if (ex_const(s->u.loop.min[i], &n) && ex_const(s->u.loop.extent[i], &n))
      vec_push(k->c->arena, &k->whole, s->u.loop.var[i]);
  }
  p.parallel = p.parallel || par;
  visit(p, s->u.loop.body);
  k->whole.len = whole;
  facts_pop(k->facts, mark);
}

// A branch that is never taken is not judged: what is wrong there does not happen.
static void visit_branch(Place p, Expr *cond, Stmt *body) {
  Check *k = p.k;
  p.crew = crew_under(k->c->arena, k->kernel, k->uniform, cond, p.crew);
  if (!p.divergent && p.crew.some) p.divergent = "condition";
  if (!body || facts_prove(k->facts, ex_un(k->c->arena, UN_NOT, cond))) return;
  int mark = facts_mark(k->facts), from = k->whole_from;
  facts_push_cond(k->facts, cond);
  k->whole_from = k->whole.len;
  visit(p, body);
  k->whole_from = from;
  facts_pop(k->facts, mark);
}

static void visit_if(Place p, Stmt *s) {
  Check *k = p.k;
  Expr *cond = s->u.branch.cond;
  check_exprs(k, s);
  visit_branch(p, cond, s->u.branch.yes);
  visit_branch(p, ex_un(k->c->arena, UN_NOT, cond), s->u.branch.no);
}

static void visit(Place p, Stmt *s) {
  Check *k = p.k;
  int mark = facts_mark(k->facts);
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) visit(p, s->u.block.data[i]);
    facts_pop(k->facts, mark);
    return;
  case ST_FOR: visit_for(p, s); return;
  case ST_IF: visit_if(p, s); return;
  case ST_LET:
    check_exprs(k, s);
    facts_push_let(k->facts, s->u.let.var, s->u.let.value);
    return;
  case ST_STORE:
    check_exprs(k, s);
    check_store(k, s);
    if (!p.parallel) check_fragment_store(k, s);
    return;
  case ST_OP:
    check_exprs(k, s);
    visit_op(p, s);
    return;
  case ST_ASSUME: facts_push_cond(k->facts, s->u.assume); return;
  }
}

static void check_launch(Check *k) {
  const Target *t = k->c->target;
  Kernel *kernel = k->kernel;
  if (kernel->threads < 1 || kernel->threads > t->max_threads)
    diag_report(k->c->diags, DIAG_THREADS, kernel->span, kernel->threads, t->max_threads, t->name);
  int64_t n;
  for (int i = 0; i < 3; i++)
    if (kernel->grid[i] && ex_const(kernel->grid[i], &n) && (n < 0 || n > t->max_grid[i]))
      diag_report(k->c->diags, DIAG_GRID_LIMIT, kernel->span, "xyz"[i], (long long)n,
                  (long long)t -> max_grid[i], t -> name);
}

static void check_params(Check *k) {
  const Program *p = k->program;
  int64_t bytes = 8 * (int64_t)p->sizes.len;
  for (int i = 0; i < p->params.len; i++) {
    const Param *a = &p->params.data[i];
    int64_t size = a->kind == PARAM_TENSOR ? 8 : dt_bits(a->var->type) / 8;
    if (size > 0) bytes = (bytes + size - 1) / size * size + size;
  }
  const Target *t = k->c->target;
  if (bytes > t->max_param_bytes)
    diag_report(k->c->diags, DIAG_PARAM_BYTES, k->kernel->span, (long long)bytes,
                t->max_param_bytes, t->name);
}

// Tiles too large by themselves; the sum over shared memory is the smem pass's to judge.
static void check_tiles(Check *k) {
  enum { LOCAL_BYTES = 512 * 1024 }; // local memory of a thread
  const Target *t = k->c->target;
  int threads = k->kernel->threads > 0 ? k->kernel->threads : 1;
  for (int i = 0; i < k->kernel->buffers.len; i++) {
    const Buffer *b = k->kernel->buffers.data[i];
    if (b->scope == SC_GLOBAL) continue;
    int64_t bits = dt_bits(b->dtype), n;
    bool over = false;
    for (int d = 0; d < b->ndim; d++)
      over = over || (ex_const(b->shape[d], &n) && __builtin_mul_overflow(bits, n, &bits));
    int64_t bytes = over ? INT64_MAX : bits / 8, limit = LOCAL_BYTES;
    if (b->scope == SC_SHARED) limit = t->max_smem_block;
    if (b->scope == SC_FRAGMENT && !over) bytes /= threads;
    if (bytes > limit)
      diag_report(k->c->diags, DIAG_TILE_SIZE, b->span, b->name, (long long)bytes,
                  b->scope == SC_SHARED ? "" : " in each thread", (long long)limit,
                  b->scope == SC_SHARED ? t->name : "a thread");
    if (bytes > limit) note_buffer(k->c, k->program, b);
  }
}

// A fragment lies in the registers of those who work on it.
static void check_crews(Check *k) {
  const Crews *t = crews_new(k->c->arena, k->kernel);
  for (int i = 0; i < k->kernel->buffers.len && crews_any(t); i++) {
    const Buffer *b = k->kernel->buffers.data[i];
    const Stmt *at = b->scope == SC_FRAGMENT && !b->base ? crews_strange(t, b) : NULL;
    if (!at) continue;
    diag_report(k->c->diags, DIAG_CREW_FRAGMENT, at->span, b->name);
    note_buffer(k->c, k->program, b);
  }
}

static void start_whole(Check *k) {
  const Kernel *kernel = k->kernel;
  int64_t n;
  for (int d = 0; d < 3; d++)
    if (kernel->block[d] && ex_const(kernel->grid[d], &n))
      vec_push(k->c->arena, &k->whole, kernel->block[d]);
  vec_push(k->c->arena, &k->whole, kernel->thread);
}

void pass_check(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *kernel = p->kernels.data[i];
    jumps_expand(c->arena, kernel);
    gemm_widen(c, kernel);
    Check k = {.program = p,
               .kernel = kernel,
               .c = c,
               .facts = facts_new(c->arena, p, kernel),
               .uniform = uniform_new(c->arena, kernel)};
    if (!check_lowered(&k)) continue;
    start_whole(&k);
    check_launch(&k);
    check_params(&k);
    check_tiles(&k);
    Place place = {.k = &k, .crew = crew_all(kernel)};
    visit(place, kernel->body);
    check_crews(&k);
    check_blocks(&k);
    check_reducers(&k);
    check_registers(&k);
    if (!diag_errors(c->diags)) check_unwritten(&k);
    if (diag_errors(c->diags)) continue;
    expand_gathers(c->arena, kernel);
    box_loops(c, p, kernel);
    gemm_turn(c, p, kernel);
  }
}
