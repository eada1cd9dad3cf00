// Which expressions have one value for all threads of a block, or for all that differ in some
// digits of their number only: a fixpoint over what the thread index, per-thread arrays and
// control that depends on them can reach.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

enum { MAX_CUTS = 16 };

typedef struct {
  const Var *var;
  uint32_t digits;
} VaryingVar;

typedef struct {
  const Buffer *buf;
  uint32_t digits;
} VaryingBuf;

struct Uniform {
  Arena *arena;
  Kernel *kernel;
  // Digit i of a thread's number is (number // cut[i]) % (cut[i + 1] // cut[i]).
  int64_t cut[MAX_CUTS];
  int cuts;
  VEC(VaryingVar) vars; // loop and let variables
  VEC(VaryingBuf) bufs; // local and fragment buffers; global buffers the kernel writes
  uint32_t control;     // digits on which it depends who gets here
  bool numbers;         // of what depends on the thread's number itself: see uniform_numbers
  bool changed;
};

uint32_t uniform_all(const Uniform *u) { return (2u << (u->cuts - 1)) - 1; }

static uint32_t var_digits(const Uniform *u, const Var *v) {
  if (v->kind == VAR_THREAD) return uniform_all(u);
  for (int i = 0; i < u->vars.len; i++)
    if (u->vars.data[i].var == v) return u->vars.data[i].digits;
  return 0;
}

static uint32_t buf_digits(const Uniform *u, const Buffer *b) {
  b = buf_root(b);
  for (int i = 0; i < u->bufs.len; i++)
    if (u->bufs.data[i].buf == b) return u->bufs.data[i].digits;
  return 0;
}

static void mark_var(Uniform *u, const Var *v, uint32_t digits) {
  uint32_t old = var_digits(u, v);
  if (!(digits & ~old)) return;
  u->changed = true;
  for (int i = 0; i < u->vars.len; i++)
    if (u->vars.data[i].var == v) u->vars.data[i].digits |= digits;
  if (!old) vec_push(u->arena, &u->vars, (VaryingVar){v, digits});
}

static void mark_buf(Uniform *u, const Buffer *b, uint32_t digits) {
  uint32_t old = buf_digits(u, b);
  if (!(digits & ~old)) return;
  u->changed = true;
  for (int i = 0; i < u->bufs.len; i++)
    if (u->bufs.data[i].buf == buf_root(b)) u->bufs.data[i].digits |= digits;
  if (!old) vec_push(u->arena, &u->bufs, (VaryingBuf){buf_root(b), digits});
}

// Is x (thread // *lo) % (*hi // *lo)? *hi is 0 where nothing is cut off above.
static bool thread_part(const Expr *x, int64_t *lo, int64_t *hi) {
  *lo = 1, *hi = 0;
  if (x->kind == EX_VAR) return x->u.var->kind == VAR_THREAD;
  int64_t by;
  if (x->kind != EX_BINARY || !ex_const(x->u.bin.b, &by) || by < 1 || by > 1024) return false;
  bool div = x->u.bin.op == BIN_FLOORDIV;
  if (!div && x->u.bin.op != BIN_FLOORMOD) return false;
  if (!thread_part(x->u.bin.a, lo, hi)) return false;
  if (*lo > 1024 || (*hi && *hi % (*lo * by))) return false;
  if (div) *lo *= by;
  else *hi = *lo * by;
  return true;
}

// The digits that make up (thread // lo) % (hi // lo), hi as above; 0 where it ends inside of one.
static uint32_t part_digits(const Uniform *u, int64_t lo, int64_t hi) {
  uint32_t mask = 0;
  if (hi >= u->kernel->threads) hi = 0;
  bool starts = false, ends = !hi;
  for (int i = 0; i < u->cuts; i++) {
    if (u->cut[i] >= lo && (!hi || u->cut[i] < hi)) mask |= 1u << i;
    starts = starts || u->cut[i] == lo;
    ends = ends || u->cut[i] == hi;
  }
  return starts && ends ? mask : 0;
}

typedef struct {
  const Uniform *u;
  uint32_t digits;
  bool inside; // of a part of the thread's number, before the number itself
} Query;

static void query_node(void *ctx, Expr *x) {
  Query *q = ctx;
  int64_t lo, hi;
  if (x->kind == EX_LOAD) q->digits |= buf_digits(q->u, x->u.load.buf);
  if (x->kind == EX_VAR && x->u.var->kind != VAR_THREAD) q->digits |= var_digits(q->u, x->u.var);
  if (!q->inside && thread_part(x, &lo, &hi)) {
    q->inside = true;
    uint32_t part = part_digits(q->u, lo, hi);
    q->digits |= part ? part : uniform_all(q->u);
  }
  if (x->kind == EX_VAR && x->u.var->kind == VAR_THREAD) q->inside = false;
}

uint32_t uniform_digits(const Uniform *u, const Expr *x) {
  Query q = {u, 0, false};
  if (x) ex_walk((Expr *)x, query_node, &q);
  return q.digits;
}

bool uniform_expr(const Uniform *u, const Expr *x) { return !uniform_digits(u, x); }

bool uniform_buffer(const Uniform *u, const Buffer *b) { return !buf_digits(u, b); }

// The number that digits i to end - 1 make up.
static Expr *digits_value(const Uniform *u, Expr *thread, int i, int end) {
  Expr *part = thread;
  if (end < u->cuts) part = ex_bin(u->arena, BIN_FLOORMOD, part, ex_index(u->arena, u->cut[end]));
  return i ? ex_bin(u->arena, BIN_FLOORDIV, part, ex_index(u->arena, u->cut[i])) : part;
}

// Where the run of digits ends that, as digit i, are or are not among `digits`.
static int run_end(const Uniform *u, uint32_t digits, int i) {
  int end = i + 1;
  while (end < u->cuts && (digits >> i & 1) == (digits >> end & 1)) end++;
  return end;
}

bool uniform_pinned(const Uniform *u, Facts *f, Expr *thread, uint32_t digits) {
  for (int i = 0, end; i < u->cuts; i = end) {
    int64_t lo, hi;
    end = run_end(u, digits, i);
    if (!(digits >> i & 1)) continue;
    facts_bounds(f, facts_simplify(f, digits_value(u, thread, i, end)), &lo, &hi);
    if (lo != hi) return false;
  }
  return true;
}

Expr *uniform_first(const Uniform *u, Expr *thread, uint32_t digits) {
  Expr *cond = NULL, *zero = ex_index(u->arena, 0);
  for (int i = 0, end; i < u->cuts; i = end) {
    end = run_end(u, digits, i);
    if (digits >> i & 1) continue;
    cond = ex_and(u->arena, cond, ex_bin(u->arena, BIN_EQ, digits_value(u, thread, i, end), zero));
  }
  return cond;
}

static uint32_t region_digits(const Uniform *u, const Region *r) {
  uint32_t digits = buf_digits(u, r->buf);
  for (int i = 0; i < r->n; i++)
    digits |= uniform_digits(u, r->min[i]) | uniform_digits(u, r->extent[i]);
  return digits;
}

static void visit(Uniform *u, Stmt *s);

static void visit_loop(Uniform *u, Stmt *s) {
  uint32_t outside = u->control, digits = 0;
  if (s->u.loop.loop == LOOP_PARALLEL) digits = uniform_all(u);
  for (int i = 0; i < s->u.loop.nvars; i++)
    digits |= uniform_digits(u, s->u.loop.min[i]) | uniform_digits(u, s->u.loop.extent[i]);
  if (s->u.loop.cond) digits |= uniform_digits(u, s->u.loop.cond);
  for (int i = 0; i < s->u.loop.nvars; i++) mark_var(u, s->u.loop.var[i], digits);
  u->control |= digits;
  visit(u, s->u.loop.body);
  u->control = outside;
}

// The digits of all that an op reads.
static uint32_t operand_digits(const Uniform *u, const Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  uint32_t digits = u->control;
  for (int i = 0; i < info->nargs; i++) {
    const Arg *arg = &s->u.op.arg[i];
    if (info->arg[i].kind == ARG_EXPR) digits |= uniform_digits(u, arg->expr);
    else if (info->arg[i].kind == ARG_READ && arg->region) digits |= region_digits(u, arg->region);
  }
  return digits;
}

// What an op's written registers depend on: what it moves, for those that move; the threads that
// do not take part, for those that ask others.
static uint32_t op_digits(Uniform *u, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  if (u->numbers && s->u.op.op != OP_ATOMIC && s->u.op.op != OP_ATOMIC_VEC)
    return operand_digits(u, s) &
           ~(s->u.op.op == OP_ALLREDUCE ? part_digits(u, arg[3].i, arg[3].i * arg[4].i) : 0);
  uint32_t all = uniform_all(u);
  switch (s->u.op.op) {
  case OP_BLOCK_VOTE: return u->control;
  case OP_FILL: return u->control | uniform_digits(u, arg[1].expr);
  case OP_COPY:
  case OP_TEST: return u->control | region_digits(u, arg[0].region);
  case OP_VMOV:
    return u->control | region_digits(u, arg[0].region) | region_digits(u, arg[1].region);
  case OP_ALLREDUCE: return u->control | (all & ~part_digits(u, arg[3].i, arg[3].i * arg[4].i));
  default: return all;
  }
}

static void visit_op(Uniform *u, Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  uint32_t digits = op_digits(u, s);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    if (kind == ARG_READ || kind >= ARG_PLACE || !s->u.op.arg[i].region) continue;
    Buffer *b = s->u.op.arg[i].region->buf;
    if (b->scope == SC_GLOBAL && !u->numbers) mark_buf(u, b, uniform_all(u));
    if (b->scope == SC_LOCAL) mark_buf(u, b, digits);
  }
}

static void visit_store(Uniform *u, Stmt *s) {
  Buffer *b = s->u.store.buf;
  uint32_t digits = u->control | uniform_digits(u, s->u.store.value);
  for (int i = 0; i < s->u.store.n; i++) digits |= uniform_digits(u, s->u.store.idx[i]);
  if (b->scope == SC_GLOBAL && !u->numbers) mark_buf(u, b, uniform_all(u));
  if (b->scope == SC_LOCAL) mark_buf(u, b, digits);
}

static void visit(Uniform *u, Stmt *s) {
  if (!s) return;
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) visit(u, s->u.block.data[i]);
    break;
  case ST_FOR: visit_loop(u, s); break;
  case ST_IF: {
    uint32_t outside = u->control;
    if (!s->u.branch.roles) u->control |= uniform_digits(u, s->u.branch.cond);
    visit(u, s->u.branch.yes);
    visit(u, s->u.branch.no);
    u->control = outside;
    break;
  }
  case ST_LET: mark_var(u, s->u.let.var, uniform_digits(u, s->u.let.value)); break;
  case ST_STORE: visit_store(u, s); break;
  case ST_OP: visit_op(u, s); break;
  case ST_ASSUME: break;
  }
}

/* digits: where the kernel itself cuts the number of a thread */

static void add_cut(Uniform *u, int64_t at) {
  int i = 0;
  while (i < u->cuts && u->cut[i] < at) i++;
  if (at < 1 || at >= u->kernel->threads || u->cuts == MAX_CUTS) return;
  if ((i < u->cuts && (u->cut[i] == at || u->cut[i] % at)) || (i && at % u->cut[i - 1])) return;
  for (int j = u->cuts++; j > i; j--) u->cut[j] = u->cut[j - 1];
  u->cut[i] = at;
}

static void cut_node(void *ctx, Expr *x) {
  int64_t lo, hi;
  if (!thread_part(x, &lo, &hi)) return;
  add_cut(ctx, lo);
  add_cut(ctx, hi);
}

static void cut_slot(void *ctx, Expr **slot) { ex_walk(*slot, cut_node, ctx); }

static void cut_stmt(void *ctx, Stmt *s) {
  Uniform *u = ctx;
  st_exprs(s, cut_slot, u);
  if (s->kind != ST_OP || s->u.op.op != OP_ALLREDUCE) return;
  add_cut(u, s->u.op.arg[3].i);
  add_cut(u, s->u.op.arg[3].i * s->u.op.arg[4].i);
}

void uniform_add(Uniform *u, Stmt *s) {
  do {
    u->changed = false;
    visit(u, s);
  } while (u->changed);
}

static Uniform *start(Arena *a, Kernel *k, bool numbers) {
  Uniform *u = NEW(a, Uniform);
  u->arena = a;
  u->kernel = k;
  u->numbers = numbers;
  u->cut[u->cuts++] = 1;
  st_walk(k->body, cut_stmt, u);
  uniform_add(u, k->body);
  return u;
}

Uniform *uniform_new(Arena *a, Kernel *k) { return start(a, k, false); }

Uniform *uniform_numbers(Arena *a, Kernel *k) { return start(a, k, true); }
