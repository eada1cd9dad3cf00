// Fragments of more registers than a thread has, alone or as what a loop's products add to: right,
// but slow.
// SPDX-License-Identifier: MIT
#include "passes/check.h"

static int64_t registers(const Check *k, const Buffer *b) {
  return buf_elems(b) * dt_bits(b->dtype) / 32 / k->kernel->threads;
}

/* accumulators */

typedef struct {
  Check *k;
  Stmt *loop;
  VEC(const Buffer *) all;
  const char *names;
  int64_t kept, most; // registers: of those that an iteration finds; the most of another one
} Sum;

static void find_fill(void *ctx, Stmt *s) {
  const Buffer **b = ctx;
  if (s->kind == ST_OP && s->u.op.op == OP_FILL && s->u.op.arg[0].region->buf == *b) *b = NULL;
}

static void add(void *ctx, Stmt *s) {
  Sum *x = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return;
  const Buffer *b = buf_root(s->u.op.arg[2].region->buf), *kept = b;
  if (b->scope != SC_FRAGMENT) return;
  for (int i = 0; i < x->all.len; i++)
    if (x->all.data[i] == b) return;
  vec_push(x->k->c->arena, &x->all, b);
  int64_t n = registers(x->k, b);
  st_walk(x->loop->u.loop.body, find_fill, &kept);
  const Expr *clear = s->u.op.arg[op_arg(OP_GEMM, "clear")].expr;
  if (kept && !(clear && ex_is(clear, 1))) x->kept += n;
  else if (n > x->most) x->most = n;
  x->names = arena_printf(x->k->c->arena, "%s%s%s", x->names, *x->names ? " and " : "", b->name);
}

static void check_loop(void *ctx, Stmt *s) {
  Check *k = ctx;
  int limit = target_thread_regs(k->c->target, k->kernel->threads);
  if (s->kind != ST_FOR || s->u.loop.loop == LOOP_PARALLEL) return;
  Sum x = {.k = k, .loop = s, .names = ""};
  st_walk(s->u.loop.body, add, &x);
  bool one = x.all.len < 2 || x.most >= limit; // that is said of the fragment
  for (int i = 0; i < x.all.len; i++) one = one || registers(k, x.all.data[i]) >= limit;
  if (one || x.kept + x.most < limit) return;
  diag_report(k->c->diags, DIAG_ACCUMULATORS, s->span, x.names, (long long)(x.kept + x.most),
              k->c->target->name, limit);
}

void check_registers(Check *k) {
  int limit = target_thread_regs(k->c->target, k->kernel->threads);
  if (diag_errors(k->c->diags)) return;
  for (int i = 0; i < k->kernel->buffers.len; i++) {
    const Buffer *b = k->kernel->buffers.data[i];
    if (b->scope != SC_FRAGMENT || registers(k, b) < limit) continue;
    diag_report(k->c->diags, DIAG_REGISTERS, b->span, b->name, (long long)registers(k, b),
                k->c->target->name, limit);
    note_buffer(k->c, k->program, b);
  }
  st_walk(k->kernel->body, check_loop, k);
}
