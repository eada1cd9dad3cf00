// The one access model: which elements a statement itself reads and writes.
// SPDX-License-Identifier: MIT
#include "ir/ir.h"

typedef struct {
  Arena *arena;
  void (*f)(void *ctx, const Access *access);
  void *ctx;
  Span span; // of the statement
} Visit;

static void emit(Visit *v, AccessMode mode, bool async, Region region, Span span) {
  Access access = {mode, async, region, span.file ? span : v->span};
  v->f(v->ctx, &access);
}

static Region element(Arena *a, Buffer *b, Expr **idx, int n) {
  Region r = {b, n, idx, NEWN(a, Expr *, n)};
  for (int i = 0; i < n; i++) r.extent[i] = ex_index(a, 1);
  return r;
}

static void load_access(void *ctx, Expr *x) {
  Visit *v = ctx;
  if (x->kind != EX_LOAD) return;
  Region r = element(v->arena, x->u.load.buf, x->u.load.idx, x->u.load.n);
  emit(v, ACC_READ, false, r, x->span);
}

static void loads_in_slot(void *ctx, Expr **slot) { ex_walk(*slot, load_access, ctx); }

// Does the op overwrite its `update` operand without reading it? (gemm with a constant true clear)
static bool overwrites(const Stmt *s) {
  OpCode op = s->u.op.op;
  if (op != OP_GEMM && op != OP_GEMM_SP && op != OP_REDUCE) return false;
  int64_t clear;
  Expr *x = s->u.op.arg[op_arg(op, "clear")].expr;
  return x && ex_const(x, &clear) && clear;
}

static bool reads_late(const Stmt *s, int arg) { // source of an asynchronous copy
  switch (s->u.op.op) {
  case OP_CP_ASYNC:
  case OP_TMA_LOAD:
  case OP_TMA_STORE:
  case OP_TMA_REDUCE:
  case OP_BULK_LOAD:
  case OP_BULK_STORE:
  case OP_BULK_REDUCE: return op_info(s->u.op.op)->arg[arg].kind == ARG_READ;
  case OP_COPY: return s->u.op.arg[op_arg(OP_COPY, "async")].i;
  default: return false;
  }
}

// What a foreign function may do through the addresses it gets: any element, in the ways it says.
static void extern_accesses(Visit *v, Stmt *s) {
  const Arg *arg = s->u.op.arg;
  int next = op_arg(OP_EXTERN, "p0");
  for (const char *o = arg[1].text; o && *o; o++) {
    if (*o == 'e') continue;
    Region r = *region_whole(v->arena, arg[next++].region->buf);
    if (*o != 'w') emit(v, ACC_READ, false, r, NO_SPAN);
    if (*o != 'r') emit(v, ACC_WRITE, false, r, NO_SPAN);
  }
  const Region *result = arg[op_arg(OP_EXTERN, "result")].region;
  if (result) emit(v, ACC_WRITE, false, *result, NO_SPAN);
}

static void op_accesses(Visit *v, Stmt *s) {
  if (s->u.op.op == OP_EXTERN) {
    extern_accesses(v, s);
    return;
  }
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    if (!arg_is_region(kind) || !s->u.op.arg[i].region) continue;
    Region r = *s->u.op.arg[i].region;
    bool late = reads_late(s, i);
    switch (kind) {
    case ARG_READ: emit(v, ACC_READ, late, r, NO_SPAN); break;
    case ARG_WRITE: emit(v, ACC_WRITE, late, r, NO_SPAN); break;
    case ARG_ASYNC: emit(v, ACC_WRITE, true, r, NO_SPAN); break;
    case ARG_PLACE: break;
    case ARG_ATOMIC: emit(v, ACC_ATOMIC, false, r, NO_SPAN); break;
    default:
      if (!overwrites(s)) emit(v, ACC_READ, false, r, NO_SPAN);
      emit(v, ACC_WRITE, false, r, NO_SPAN);
    }
  }
}

void st_accesses(Arena *a, Stmt *s, void (*f)(void *ctx, const Access *access), void *ctx) {
  if (s->kind == ST_ASSUME) return; // never executed
  Visit v = {a, f, ctx, s->span};
  st_exprs(s, loads_in_slot, &v);
  if (s->kind == ST_OP) op_accesses(&v, s);
  if (s->kind != ST_STORE) return;
  emit(&v, ACC_WRITE, false, element(a, s->u.store.buf, s->u.store.idx, s->u.store.n), NO_SPAN);
}
