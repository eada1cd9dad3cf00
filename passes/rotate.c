// rotate: the first loads of an iteration of a pipelined loop move before the last multiplications
// of the iteration before it. So the tensor cores have work while a warp waits for the copies, at
// the barrier and for its first fragments. Nothing is recognised but the wait at the head of the
// loop: what moves, and across what, is decided by the accesses. The waits keep their places among
// the commits, hence their counts.
// SPDX-License-Identifier: MIT
#include "passes/rotate.h"

typedef struct {
  Moves m;
  Stmt *loop, *wait;
  StmtVec fixed;         // lets that are the same in every iteration
  StmtVec head;          // moves ahead: loads, and the lets and assumptions they may need
  StmtVec names;         // these lets and assumptions, for what stays
  StmtVec passed;        // what the loads move across: copies, commits
  StmtVec rest;          // and what follows
  StmtVec tail;          // end of the rest, behind the next iteration's head
  VEC(const Var *) tied; // lets that stay: their values come from memory
  Touches loads;
} Rotation;

/* what moves */

typedef struct {
  const Rotation *r;
  bool found;
} Tied;

static void tied_node(void *ctx, Expr *x) {
  Tied *t = ctx;
  for (int i = 0; x->kind == EX_VAR && i < t->r->tied.len; i++)
    if (t->r->tied.data[i] == x->u.var) t->found = true;
}

static void tied_slot(void *ctx, Expr **slot) { ex_walk(*slot, tied_node, ctx); }

static void tied_stmt(void *ctx, Stmt *s) { st_exprs(s, tied_slot, ctx); }

static bool tied(const Rotation *r, Stmt *s) {
  Tied t = {r, false};
  st_walk(s, tied_stmt, &t);
  return t.found;
}

// Divisions that the loop's guard might protect stay inside it.
static void partial_node(void *ctx, Expr *x) {
  if (x->kind != EX_BINARY) return;
  BinOp op = x->u.bin.op;
  int64_t by;
  if (op == BIN_FLOORDIV || op == BIN_FLOORMOD || op == BIN_SHL || op == BIN_SHR)
    if (!ex_const(x->u.bin.b, &by) || !by) *(bool *)ctx = true;
}

// Of an expanded value: may it stand before the loop?
static bool fixed(Rotation *r, Expr *x) {
  bool partial = ex_uses(x, r->m.k);
  ex_walk(x, partial_node, &partial);
  return !partial;
}

static void take_let(Rotation *r, Stmt *s) {
  Moves *m = &r->m;
  if (tied(r, s) || walk_has_load(s->u.let.value)) {
    vec_push(m->a, &r->tied, s->u.let.var);
    vec_push(m->a, &r->passed, s);
  } else {
    Expr *value = subst_expr(&m->lets, s->u.let.value);
    subst_add(&m->lets, s->u.let.var, value);
    if (fixed(r, value)) vec_push(m->a, &r->fixed, s);
    else {
      vec_push(m->a, &r->head, s);
      vec_push(m->a, &r->names, s);
    }
  }
  facts_push_let(m->f, s->u.let.var, s->u.let.value);
}

static void take_assume(Rotation *r, Stmt *s) {
  Moves *m = &r->m;
  bool free = !tied(r, s) && !walk_has_load(s->u.assume);
  if (free) vec_push(m->a, &r->head, s);
  vec_push(m->a, free ? &r->names : &r->passed, s);
  facts_push_cond(m->f, s->u.assume);
}

// Loads that may stand before everything passed so far.
static bool movable(Rotation *r, Stmt *s) {
  if (!rotate_loads(&r->m, s) || tied(r, s)) return false;
  for (int i = 0; i < r->passed.len; i++)
    if (!rotate_commute(&r->m, s, r->passed.data[i])) return false;
  return true;
}

static bool take_loads(Rotation *r, Stmt *s) {
  if (!movable(r, s)) return false;
  vec_push(r->m.a, &r->head, s);
  rotate_touches(&r->m, s, &r->loads);
  return true;
}

// Once there are loads, only copies and commits are passed to find more: what computes needs these.
static bool pass(Rotation *r, Stmt *s) {
  if (rotate_has(s, OP_ASYNC_WAIT) || rotate_has(s, OP_SYNC) || rotate_has(s, OP_MMA)) return false;
  if (r->loads.len && !rotate_special(s)) return false;
  vec_push(r->m.a, &r->passed, s);
  return true;
}

static bool find_head(Rotation *r) {
  const StmtVec *b = &r->loop->u.loop.body->u.block;
  int i = 1;
  for (; i < b->len; i++) {
    Stmt *s = b->data[i];
    if (s->kind == ST_LET) take_let(r, s);
    else if (s->kind == ST_ASSUME) take_assume(r, s);
    else if (!take_loads(r, s) && !pass(r, s)) break;
  }
  for (; i < b->len; i++) vec_push(r->m.a, &r->rest, b->data[i]);
  return r->loads.len > 0;
}

/* across what it moves */

// Tiles that the loop fills are out of bounds for the tail: what it read behind the barrier of the
// next iteration would need a barrier of its own before the copies that follow.
static bool fits(Rotation *r, Stmt *s) {
  if (s->kind == ST_LET || s->kind == ST_ASSUME || rotate_special(s)) return false;
  Touches t = {0};
  rotate_touches(&r->m, s, &t);
  for (int i = 0; i < t.len; i++)
    if (t.data[i].buf->scope == SC_SHARED && walk_touches(r->m.a, r->loop, t.data[i].buf, true))
      return false;
  return rotate_apart(&r->loads, &t);
}

// How many statements at the end of v the next iteration's loads may precede, up to the first that
// multiplies: that is time enough, and registers loaded sooner are held longer.
static int fitting(Rotation *r, const StmtVec *v, bool *enough) {
  int n = 0;
  *enough = false;
  while (!*enough && n < v->len && fits(r, v->data[v->len - 1 - n]))
    *enough = rotate_has(v->data[v->len - 1 - n++], OP_MMA);
  return n;
}

static void append(Arena *a, StmtVec *to, const StmtVec *from, int first, int end) {
  for (int i = first; i < end; i++) vec_push(a, to, from->data[i]);
}

// v[at] becomes the statements of `by`.
static void splice(Arena *a, StmtVec *v, int at, const StmtVec *by) {
  StmtVec n = {0};
  append(a, &n, v, 0, at);
  append(a, &n, by, 0, by->len);
  append(a, &n, v, at + 1, v->len);
  *v = n;
}

// Takes iterations that fit off the end of the last loop that does not fit as a whole.
static int open_tail(Rotation *r) {
  Arena *a = r->m.a;
  for (;;) {
    bool enough;
    int n = fitting(r, &r->rest, &enough), at = r->rest.len - 1 - n;
    if (enough || at < 0 || !rotate_peelable(r->rest.data[at])) return n;
    Stmt *loop = r->rest.data[at], *last = rotate_last(a, loop);
    if (!fitting(r, &last->u.block, &enough)) return n;
    StmtVec by = {0};
    Stmt *before = walk_block(a, rotate_rest(a, loop, 0, 1));
    append(a, &by, &before->u.block, 0, before->u.block.len);
    append(a, &by, &last->u.block, 0, last->u.block.len);
    splice(a, &r->rest, at, &by);
  }
}

static bool find_tail(Rotation *r) {
  int n = open_tail(r), from = r->rest.len - n;
  append(r->m.a, &r->tail, &r->rest, from, r->rest.len);
  r->rest.len = from;
  return n > 0;
}

/* the copies of a later stage behind the loads that the multiplications wait for */

static int preceding(Rotation *r, const StmtVec *v) {
  int n = 0;
  while (n < v->len && movable(r, v->data[n])) n++;
  return n;
}

static void sink_copies(Rotation *r) {
  Arena *a = r->m.a;
  if (r->rest.len && rotate_peelable(r->rest.data[0]) && !preceding(r, &r->rest)) {
    Stmt *loop = r->rest.data[0], *first = rotate_first(a, loop);
    if (preceding(r, &first->u.block)) {
      st_add(a, first, rotate_rest(a, loop, 1, 0));
      splice(a, &r->rest, 0, &first->u.block);
    }
  }
  StmtVec rest = {0};
  int n = preceding(r, &r->rest);
  append(a, &rest, &r->rest, 0, n);
  append(a, &rest, &r->passed, 0, r->passed.len);
  append(a, &rest, &r->rest, n, r->rest.len);
  r->rest = rest;
}

/* the new loop */

// The head of iteration `at`; lets that are constant there have no need of a name.
static Stmt *head_at(Rotation *r, Expr *at) {
  Arena *a = r->m.a;
  Stmt *head = st_block(a, r->loop->span), *out = st_block(a, r->loop->span);
  for (int i = 0; i < r->head.len; i++) st_add(a, head, r->head.data[i]);
  head = walk_clone(a, head, NULL);
  Subst by = {.arena = a};
  subst_add(&by, r->m.k, at);
  for (int i = 0; i < head->u.block.len; i++) {
    Stmt *s = head->u.block.data[i];
    subst_stmt(&by, s);
    Expr *value = s->kind == ST_LET ? facts_simplify(r->m.f, s->u.let.value) : NULL;
    if (value && value->kind == EX_INT) subst_add(&by, s->u.let.var, value);
    else st_add(a, out, s);
  }
  return out;
}

// The wait, and under `cond` the head of iteration `at`. The wait has no condition: what follows
// the loop relies on it, and a barrier stands behind it on every path.
static void ahead(Rotation *r, Expr *at, Expr *cond, Stmt *out) {
  Arena *a = r->m.a;
  Stmt *head = head_at(r, at);
  st_add(a, out, walk_clone(a, r->wait, NULL));
  st_add(a, out, ex_is(cond, 1) ? head : st_if(a, cond, head, NULL, r->loop->span));
}

static Stmt *rebuild(Rotation *r) {
  Arena *a = r->m.a;
  Stmt *loop = r->loop, *out = st_block(a, loop->span), *body = st_block(a, loop->span);
  Expr *min = loop->u.loop.min[0], *n = loop->u.loop.extent[0], *zero = ex_index(a, 0);
  Expr *next = ex_add(a, ex_var(a, r->m.k), ex_index(a, 1));
  for (int i = 0; i < r->fixed.len; i++) st_add(a, out, r->fixed.data[i]);
  ahead(r, min, ex_lt(a, zero, n), out);
  for (int i = 0; i < r->names.len; i++) st_add(a, body, r->names.data[i]);
  for (int i = 0; i < r->rest.len; i++) st_add(a, body, r->rest.data[i]);
  ahead(r, next, ex_lt(a, next, ex_add(a, min, n)), body);
  for (int i = 0; i < r->tail.len; i++) st_add(a, body, r->tail.data[i]);
  loop->u.loop.body = body;
  st_add(a, out, loop);
  return out;
}

/* whether to */

typedef struct {
  Arena *arena;
  VEC(const Buffer *) bufs;
} Used;

static void use_access(void *ctx, const Access *acc) {
  Used *u = ctx;
  for (int i = 0; i < u->bufs.len; i++)
    if (u->bufs.data[i] == acc->region.buf) return;
  vec_push(u->arena, &u->bufs, acc->region.buf);
}

static void use_stmt(void *ctx, Stmt *s) { st_accesses(((Used *)ctx)->arena, s, use_access, ctx); }

// Registers of a thread for what is used, with about 40 that hold addresses.
static int64_t registers(const Used *u) {
  int64_t regs = 40;
  for (int i = 0; i < u->bufs.len; i++) {
    const Buffer *b = u->bufs.data[i];
    if (b->scope == SC_LOCAL) regs += (buf_elems(b) * dt_bits(b->dtype) + 31) / 32;
  }
  return regs;
}

// Blocks that an SM holds at once, by what the loop keeps in registers and shared memory.
static int64_t blocks_per_sm(const PassCtx *c, const Kernel *k, Stmt *loop) {
  Used u = {.arena = c->arena};
  st_walk(loop, use_stmt, &u);
  int64_t regs = registers(&u), smem = 1024; // the system's own share of a block
  for (int i = 0; i < u.bufs.len; i++) {
    const Buffer *b = u.bufs.data[i];
    if (b->scope == SC_SHARED) smem += buf_bytes(b);
  }
  if (regs > c->target->max_regs_per_thread) regs = c->target->max_regs_per_thread;
  int64_t by_regs = c->target->regs_per_sm / (regs * k->threads);
  int64_t by_smem = c->target->smem_per_sm / smem;
  return by_regs < by_smem ? by_regs : by_smem;
}

// Where several blocks share an SM, they hide each other's waits, and the registers that live on
// across the back edge buy nothing.
static bool wanted(const PassCtx *c, const Kernel *k, Stmt *loop) {
  int64_t forced = pass_flag(c, k, "rotate", -1);
  return forced >= 0 ? forced != 0 : blocks_per_sm(c, k, loop) <= 1;
}

// Does a thread have registers for what the last products of an iteration use and, at the same
// time, what the next one's first loads fill?
static bool holds(const PassCtx *c, const Kernel *k, const Rotation *r) {
  Used u = {.arena = c->arena};
  for (int i = 0; i < r->head.len; i++) st_walk(r->head.data[i], use_stmt, &u);
  for (int i = 0; i < r->tail.len; i++) st_walk(r->tail.data[i], use_stmt, &u);
  return pass_flag(c, k, "rotate", 0) || registers(&u) <= c->target->max_regs_per_thread;
}

/* the walk */

typedef struct {
  PassCtx *c;
  Kernel *kernel;
  Facts *facts;
  Uniform *uniform;
} Walk;

static bool starts_with_wait(const Stmt *s) {
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_SERIAL || s->u.loop.cond ||
      s->u.loop.body->kind != ST_BLOCK)
    return false;
  const StmtVec *b = &s->u.loop.body->u.block;
  return b->len && b->data[0]->kind == ST_OP && b->data[0]->u.op.op == OP_ASYNC_WAIT;
}

typedef struct {
  Arena *arena;
  bool all;
} Flat;

static void flat_access(void *ctx, const Access *acc) {
  int64_t count;
  if (acc->region.n != 1 || !ex_const(acc->region.extent[0], &count)) ((Flat *)ctx)->all = false;
}

static void flat_stmt(void *ctx, Stmt *s) {
  st_accesses(((Flat *)ctx)->arena, s, flat_access, ctx);
}

// Is each access one run of a known length? Boxes of tensor maps are none: where one is, nothing
// changes places.
static bool accesses_runs(Arena *a, Stmt *loop) {
  Flat flat = {a, true};
  st_walk(loop, flat_stmt, &flat);
  return flat.all;
}

static Stmt *rotate_loop(Walk *w, Stmt *s) {
  Arena *a = w->c->arena;
  if (!starts_with_wait(s) || !uniform_expr(w->uniform, s->u.loop.min[0]) ||
      !uniform_expr(w->uniform, s->u.loop.extent[0]) || !wanted(w->c, w->kernel, s) ||
      !accesses_runs(a, s))
    return s;
  Rotation r = {.m = {a, w->facts, w->uniform, s->u.loop.var[0], {.arena = a}},
                .loop = s,
                .wait = s->u.loop.body->u.block.data[0]};
  int mark = facts_mark(w->facts);
  facts_push_loop(w->facts, r.m.k, s->u.loop.min[0], s->u.loop.extent[0]);
  bool found = find_head(&r) && find_tail(&r), ok = found && holds(w->c, w->kernel, &r);
  if (ok) sink_copies(&r);
  facts_pop(w->facts, mark);
  diag_remark(w->c->diags, s->span, "rotate", "%s",
              ok      ? "the first loads of the next iteration are issued ahead"
              : found ? "no registers are left to issue loads of the next iteration ahead"
                      : "no loads could be issued ahead of the end of an iteration");
  return ok ? rebuild(&r) : s;
}

static Stmt *visit(Walk *w, Stmt *s) {
  int mark = facts_mark(w->facts);
  switch (s->kind) {
  case ST_BLOCK: {
    StmtVec old = s->u.block;
    s->u.block = (StmtVec){0};
    for (int i = 0; i < old.len; i++) st_add(w->c->arena, s, visit(w, old.data[i]));
    facts_pop(w->facts, mark);
    return s;
  }
  case ST_FOR:
    if (starts_with_wait(s)) return rotate_loop(w, s);
    facts_push_loop(w->facts, s->u.loop.var[0], s->u.loop.min[0], s->u.loop.extent[0]);
    s->u.loop.body = walk_block(w->c->arena, visit(w, s->u.loop.body));
    facts_pop(w->facts, mark);
    return s;
  case ST_IF:
    facts_push_cond(w->facts, s->u.branch.cond);
    s->u.branch.yes = visit(w, s->u.branch.yes);
    facts_pop(w->facts, mark);
    facts_push_cond(w->facts, ex_un(w->c->arena, UN_NOT, s->u.branch.cond));
    if (s->u.branch.no) s->u.branch.no = visit(w, s->u.branch.no);
    facts_pop(w->facts, mark);
    return s;
  case ST_LET: facts_push_let(w->facts, s->u.let.var, s->u.let.value); return s;
  case ST_ASSUME: facts_push_cond(w->facts, s->u.assume); return s;
  default: return s;
  }
}

void pass_rotate(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *k = p->kernels.data[i];
    Walk w = {c, k, facts_new(c->arena, p, k), uniform_new(c->arena, k)};
    k->body = walk_block(c->arena, visit(&w, k->body));
  }
}
