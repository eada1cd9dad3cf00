// What threads do with one another's values: shuffles, votes, reductions over threads.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

enum { WARP = 32 };

// Iterations of a loop over elements belong to no thread in particular.
static void need_threads(Ev *ev, Call *c) {
  need_kernel(ev, c);
  for (RtBlock *r = ev->trace->rt; r; r = r->outer)
    if (r->elements) ev_fail(ev, DIAG_THREADS_IN_LOOP, c->span, c->fn->name);
}

// Only all lanes together are meant.
static void full_mask(Ev *ev, Call *c, int i) {
  if (!arg_given(c, i)) return;
  int64_t mask = arg_int(ev, c, i, -1);
  if (mask != -1 && mask != UINT32_MAX)
    ev_fail(ev, DIAG_UNSUPPORTED, c->at[i],
            arena_printf(ev->arena, "T.%s with a mask of some lanes", c->fn->name));
}

static int64_t segment(Ev *ev, Call *c, int i) {
  int64_t width = arg_int(ev, c, i, WARP);
  if (width < 1 || width > WARP || (width & (width - 1)))
    ev_fail(ev, DIAG_SHUFFLE_WIDTH, c->at[i], c->fn->name, (long long)width);
  return width;
}

static Val shuffle(Ev *ev, Call *c, int value, int lane, int width, ShuffleMode mode) {
  need_threads(ev, c);
  Expr *x = dev_expr(ev, c->arg[value], c->at[value]);
  Expr *by = dev_index(ev, c->arg[lane], c->at[lane]);
  Region *to;
  Val r = ev_result(ev, "shuffled", x->type, 1, c->span, &to);
  ev_emit(ev,
          st_op(ev->arena, OP_SHUFFLE, c->span, x, to, by, (int64_t)mode, segment(ev, c, width)));
  return r;
}

// (value, lane, width=, mask=)
Val t_shuffle(Ev *ev, Call *c) {
  static const struct {
    const char *name;
    ShuffleMode mode;
  } words[] = {{"shfl_sync", SHUFFLE_INDEX},
               {"shfl_xor", SHUFFLE_XOR},
               {"shfl_up", SHUFFLE_UP},
               {"shfl_down", SHUFFLE_DOWN}};
  full_mask(ev, c, 3);
  for (size_t i = 0; i < LEN(words); i++)
    if (!strcmp(words[i].name, c->fn->name)) return shuffle(ev, c, 0, 1, 2, words[i].mode);
  die("no shuffle %s", c->fn->name);
}

// (mask, value, lane, width, warp_size)
Val t_tvm_shuffle(Ev *ev, Call *c) {
  ShuffleMode mode = !strcmp(c->fn->name, "tvm_warp_shuffle_up")     ? SHUFFLE_UP
                     : !strcmp(c->fn->name, "tvm_warp_shuffle_down") ? SHUFFLE_DOWN
                                                                     : SHUFFLE_INDEX;
  full_mask(ev, c, 0);
  return shuffle(ev, c, 1, 2, 3, mode);
}

static Val vote(Ev *ev, Call *c, OpCode op, VoteKind kind, DType t) {
  need_threads(ev, c);
  if (!dev_ok(c->arg[0])) (void)arg_bool(ev, c, 0, false);
  Expr *cond = ev_cond(ev, c->arg[0], c->at[0]);
  Region *to;
  Val r = ev_result(ev, "vote", t, 1, c->span, &to);
  ev_emit(ev, st_op(ev->arena, op, c->span, cond, to, (int64_t)kind));
  return r;
}

Val t_vote(Ev *ev, Call *c) {
  full_mask(ev, c, 1);
  if (!strcmp(c->fn->name, "any_sync")) return vote(ev, c, OP_VOTE, VOTE_ANY, DT_I32);
  if (!strcmp(c->fn->name, "all_sync")) return vote(ev, c, OP_VOTE, VOTE_ALL, DT_I32);
  return vote(ev, c, OP_VOTE, VOTE_BALLOT, DT_U64);
}

Val t_activemask(Ev *ev, Call *c) {
  c->arg[0] = v_bool(true);
  return vote(ev, c, OP_VOTE, VOTE_BALLOT, DT_U64);
}

// An integer or float of 32 or 64 bits, as bits.
static Expr *word_of(Ev *ev, Val v, Span at) {
  Expr *x = dev_expr(ev, v, at);
  if (x->type == DT_INDEX || (dt_bits(x->type) < 32 && !dt_is_float(x->type)))
    x = ex_cast(ev->arena, DT_I32, x);
  else if (dt_bits(x->type) < 32) x = ex_cast(ev->arena, DT_F32, x);
  return ex_bitcast(ev->arena, dt_bits(x->type) == 64 ? DT_U64 : DT_U32, x);
}

Val t_match(Ev *ev, Call *c) {
  need_threads(ev, c);
  full_mask(ev, c, 1);
  Region *to;
  Val r = ev_result(ev, "same", DT_U32, 1, c->span, &to);
  int64_t all = !strcmp(c->fn->name, "match_all_sync");
  ev_emit(ev, st_op(ev->arena, OP_MATCH, c->span, word_of(ev, c->arg[0], c->at[0]), to, all));
  return r;
}

static Val find_bit(Ev *ev, Call *c, Expr *base, Expr *count) {
  Region *to;
  Val r = ev_result(ev, "bit", DT_I32, 1, c->span, &to);
  Expr *x = ex_cast(ev->arena, DT_U64, word_of(ev, c->arg[0], c->at[0]));
  ev_emit(ev, st_op(ev->arena, OP_FIND_BIT, c->span, x, to, base, count));
  return r;
}

Val t_find_first(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Arena *a = ev->arena;
  Val r = find_bit(ev, c, ex_int(a, DT_I32, 0), ex_int(a, DT_I32, 1));
  return v_expr(ex_at(ex_add(a, r.expr, ex_int(a, DT_I32, 1)), c->span), 3);
}

Val t_find_nth(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Arena *a = ev->arena;
  Expr *base = ex_cast(a, DT_I32, dev_expr(ev, c->arg[1], c->at[1]));
  Val r = find_bit(ev, c, base, ex_cast(a, DT_I32, dev_expr(ev, c->arg[2], c->at[2])));
  return v_expr(ex_at(ex_cast(a, DT_U32, r.expr), c->span), 3);
}

// The first of each `thread_extent` threads.
Val t_elect(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Arena *a = ev->arena;
  int64_t n = arg_int(ev, c, 0, 0);
  if (n < 0 || n % WARP || n > ev->trace->kernel->threads)
    ev_fail(ev, DIAG_ARGUMENT, c->at[0], "T.shuffle_elect", "thread_extent",
            "0 or a multiple of 32, at most the block's threads", v_brief(ev, c->arg[0]));
  Expr *x = ex_var(a, ev->trace->kernel->thread);
  if (n) x = ex_floormod(a, x, ex_index(a, n));
  return v_expr(ex_at(ex_bin(a, BIN_EQ, x, ex_index(a, 0)), c->span), 3);
}

// (num): known at compile time, as PTX has it.
Val t_wait_group(Ev *ev, Call *c) {
  need_kernel(ev, c);
  (void)arg_int(ev, c, 0, 0);
  return v_none();
}

Val t_nothing(Ev *ev, Call *c) {
  need_kernel(ev, c);
  return v_none();
}

Val t_block_vote(Ev *ev, Call *c) {
  const char *what = strchr(c->fn->name, '_') + 1;
  VoteKind kind = !strcmp(what, "or") ? VOTE_ANY : !strcmp(what, "and") ? VOTE_ALL : VOTE_COUNT;
  return vote(ev, c, OP_BLOCK_VOTE, kind, DT_I32);
}

Val t_sync_warp(Ev *ev, Call *c) {
  need_threads(ev, c);
  full_mask(ev, c, 0);
  ev_emit(ev, st_op(ev->arena, OP_SYNC_WARP, c->span));
  return v_none();
}

// Linear thread index, by the warp: of the lane, of the warp, of the group of warps.
Val t_lane(Ev *ev, Call *c) {
  need_kernel(ev, c);
  for (int i = 0; i < 2; i++) { // None, a factory's default too, leaves the choice to us
    Val *v = &c->arg[i];
    if (v->kind == V_MISSING && v->missing->none) v->kind = V_NONE;
    ev_need(ev, *v);
    if (v->kind == V_OPAQUE) ev_opaque(ev, c->at[i], v->opaque->what);
  }
  int64_t size = arg_int(ev, c, 0, WARP), group = arg_int(ev, c, 1, 4);
  if (size < 1 || group < 1 || size * group > 1024)
    ev_fail(ev, DIAG_ZERO_DIVISION, c->span, "a warp of no threads");
  Arena *a = ev->arena;
  Expr *x = ex_var(a, ev->trace->kernel->thread);
  if (!strcmp(c->fn->name, "get_lane_idx")) x = ex_floormod(a, x, ex_index(a, size));
  else if (!strcmp(c->fn->name, "get_warp_group_idx"))
    x = ex_floordiv(a, x, ex_index(a, size * group));
  else x = ex_floordiv(a, x, ex_index(a, size));
  return v_expr(ex_at(x, c->span), 3);
}

/* ------------------------------------------------------------------ reductions over threads */

static Val allreduce(Ev *ev, Call *c, Expr *x, ReduceKind kind, int64_t stride, int64_t extent,
                     Region *to) {
  Val r = v_none();
  if (!to) r = ev_result(ev, "reduced", x->type, 1, c->span, &to);
  ev_emit(ev, st_op(ev->arena, OP_ALLREDUCE, c->span, x, to, (int64_t)kind, stride, extent));
  return r;
}

Val t_warp_reduce(Ev *ev, Call *c) {
  static const struct {
    const char *name;
    ReduceKind kind;
  } words[] = {{"warp_reduce_sum", RED_SUM},
               {"warp_reduce_max", RED_MAX},
               {"warp_reduce_min", RED_MIN},
               {"warp_reduce_bitand", RED_BITAND},
               {"warp_reduce_bitor", RED_BITOR}};
  need_threads(ev, c);
  Expr *x = dev_expr(ev, c->arg[0], c->at[0]);
  ReduceKind kind = RED_SUM;
  for (size_t i = 0; i < LEN(words); i++)
    if (!strcmp(words[i].name, c->fn->name)) kind = words[i].kind;
  if (kind >= RED_BITAND && dt_is_float(x->type))
    ev_fail(ev, DIAG_REDUCE_BITS, c->at[0], c->fn->name, dt_name(x->type));
  if (ev->trace->kernel->threads % WARP)
    ev_fail(ev, DIAG_WHOLE_WARPS, c->span, c->fn->name, ev->trace->kernel->threads);
  return allreduce(ev, c, x, kind, 1, WARP, NULL);
}

// What a combiner of two values does: x + y, max(x, y), ... of its own operands.
static bool combiner(const Expr *x, const Var *a, const Var *b, ReduceKind *out) {
  static const struct {
    BinOp op;
    ReduceKind kind;
  } known[] = {{BIN_ADD, RED_SUM},       {BIN_MAX, RED_MAX},     {BIN_MIN, RED_MIN},
               {BIN_BITAND, RED_BITAND}, {BIN_BITOR, RED_BITOR}, {BIN_BITXOR, RED_BITXOR}};
  if (x->kind != EX_BINARY || x->u.bin.a->kind != EX_VAR || x->u.bin.b->kind != EX_VAR)
    return false;
  const Var *p = x->u.bin.a->u.var, *q = x->u.bin.b->u.var;
  if (!((p == a && q == b) || (p == b && q == a))) return false;
  for (size_t i = 0; i < LEN(known); i++)
    if (known[i].op == x->u.bin.op) return *out = known[i].kind, true;
  return false;
}

// T.comm_reducer(lambda x, y: x + y, [identity])
Val t_comm_reducer(Ev *ev, Call *c) {
  Val v[2], identity = c->arg[1];
  Var *var[2];
  if (v_is_seq(identity) && identity.seq->len == 1) identity = identity.seq->data[0];
  DType t = dev_ok(identity) ? dev_expr(ev, identity, c->at[1])->type : DT_F32;
  for (int i = 0; i < 2; i++) {
    var[i] = var_new(ev->arena, i ? "y" : "x", t, VAR_LET, c->span);
    v[i] = v_expr(ex_var(ev->arena, var[i]), 1);
  }
  Val r = ev_call_args(ev, c->arg[0], c->at[0], 2, v);
  ReduceKind kind;
  if (r.kind != V_EXPR || !combiner(r.expr, var[0], var[1], &kind))
    ev_fail(ev, DIAG_COMBINER, c->at[0]);
  return (Val){.kind = V_COMBINER, .i = kind};
}

// with T.attr(T.comm_reducer(...), "reduce_scope", ...): what T.tvm_thread_allreduce in it does.
Val t_attr(Ev *ev, Call *c) {
  if (c->arg[0].kind == V_COMBINER && !strcmp(arg_str(ev, c, 1, ""), "reduce_scope"))
    return c->arg[0];
  ev_fail(ev, DIAG_UNSUPPORTED, c->span,
          arena_printf(ev->arena, "T.attr of \"%s\"", arg_str(ev, c, 1, "")));
}

// Threads that differ only along this axis: thread // stride % extent is its index.
static bool axis_of(Ev *ev, const Expr *x, int64_t *stride, int64_t *extent) {
  int64_t n = ev->trace->kernel->threads;
  *stride = 1;
  *extent = 0;
  if (x->kind == EX_CAST) x = x->u.cast;
  if (x->kind == EX_BINARY && x->u.bin.op == BIN_FLOORMOD) {
    if (!ex_const(x->u.bin.b, extent)) return false;
    x = x->u.bin.a;
  }
  if (x->kind == EX_BINARY && x->u.bin.op == BIN_FLOORDIV) {
    if (!ex_const(x->u.bin.b, stride)) return false;
    x = x->u.bin.a;
  }
  if (!*extent && *stride) *extent = n / *stride;
  return x->kind == EX_VAR && x->u.var->kind == VAR_THREAD && *stride > 0 && *extent > 0 &&
         n % (*stride * *extent) == 0;
}

// (size, value, cond, destination, axis)
Val t_thread_allreduce(Ev *ev, Call *c) {
  need_threads(ev, c);
  if (ev->trace->combiner < 0) ev_fail(ev, DIAG_NO_COMBINER, c->span);
  if (c->rest->len != 5) ev_fail(ev, DIAG_ALLREDUCE_ARGS, c->span, c->rest->len);
  Val *arg = c->rest->data, dst = arg[3];
  Span *at = c->pos_at.data;
  Expr *x = dev_expr(ev, arg[1], at[1]);
  if (ev_is_rt(arg[2]) || !dev_ok(arg[2]) || !ev_truth(ev, arg[2], at[2]))
    ev_fail(ev, DIAG_UNSUPPORTED, at[2], "T.tvm_thread_allreduce under a condition");
  Side s;
  if (!side_of(ev, dst, at[3], &s) || s.buf->scope != SC_LOCAL)
    ev_fail(ev, DIAG_COPY_OPERAND, at[3], "destination", v_kind(ev, dst));
  s.extent = NULL;
  int64_t stride, extent, known;
  if (dev_ok(arg[4]) && ex_const(dev_expr(ev, arg[4], at[4]), &known)) stride = extent = 1;
  else if (arg[4].kind != V_EXPR || !axis_of(ev, arg[4].expr, &stride, &extent))
    ev_fail(ev, DIAG_ALLREDUCE_AXIS, at[4]);
  (void)allreduce(ev, c, x, (ReduceKind)ev->trace->combiner, stride, extent,
                  side_region(ev, &s, at[3]));
  return v_none();
}
