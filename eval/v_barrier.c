// Threads that order themselves by hand: mbarriers, and warpgroups that do different things. Copies
// and products that the program would have in flight are complete when they return, so that what
// waits for them has nothing to do.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"
#include "eval/runs.h"

static Region *barrier_at(Ev *ev, Buffer *b, Expr *i) {
  Expr *one = ex_index(ev->arena, 1);
  return region_new(ev->arena, b, &i, &one);
}

// An mbarrier: an element of what T.alloc_barrier gave, or all of it where it is one.
static Region *barrier(Ev *ev, Call *c, int i) {
  Val v = c->arg[i];
  Buffer *b = v.kind == V_BUFFER ? v.buf : NULL;
  Expr *at = ex_index(ev->arena, 0);
  if (v.kind == V_EXPR && v.expr->kind == EX_LOAD) {
    b = v.expr->u.load.buf;
    at = v.expr->u.load.idx[0];
  }
  bool known = false;
  for (int k = 0; b && k < ev->trace->barriers.len; k++) known |= ev->trace->barriers.data[k] == b;
  if (!known || (v.kind == V_BUFFER && buf_elems(b) != 1))
    ev_fail(ev, DIAG_BARRIER_OPERAND, c->at[i], c->fn->name,
            known ? arena_printf(ev->arena, "all %lld of %s", (long long)buf_elems(b),
                                 b->name ? b->name : "them")
                  : v_kind(ev, v));
  return barrier_at(ev, b, at);
}

// (arrive_count): an int, or one for each of several.
Val t_alloc_barrier(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Arena *a = ev->arena;
  int n;
  Val *counts;
  Seq *list = v_is_seq(c->arg[0]) ? c->arg[0].seq : NULL;
  n = list ? list->len : 1;
  counts = list ? list->data : &c->arg[0];
  if (n < 1 || n > 1024) ev_fail(ev, DIAG_BARRIER_COUNT, c->at[0], v_brief(ev, c->arg[0]));
  Expr *extent = ex_index(a, n);
  Buffer *b = buf_new(a, "barrier", DT_U64, SC_SHARED, &extent, 1, c->span);
  b->name = NULL;
  vec_push(a, &ev->trace->kernel->buffers, b);
  vec_push(a, &ev->trace->barriers, b);
  Stmt *init = st_block(a, c->span);
  for (int i = 0; i < n; i++) {
    int64_t count = v_is_int(counts[i]) ? v_as_int(counts[i]) : 0;
    if (count < 1 || count >= 1 << 20)
      ev_fail(ev, DIAG_BARRIER_COUNT, c->at[0], v_brief(ev, counts[i]));
    st_add(a, init, st_op(a, OP_MBAR_INIT, c->span, barrier_at(ev, b, ex_index(a, i)), count));
  }
  st_add(a, init, st_op(a, OP_FENCE_MBAR_INIT, c->span));
  Expr *first = ex_bin(a, BIN_EQ, ex_var(a, ev->trace->kernel->thread), ex_index(a, 0));
  ev_emit(ev, st_if(a, first, init, NULL, c->span));
  ev_emit(ev, st_op(a, OP_SYNC, c->span));
  return v_buffer(b);
}

// (mbarrier[, cta_id])
Val t_barrier_arrive(Ev *ev, Call *c) {
  need_kernel(ev, c);
  arg_refuse(ev, c, 1, arena_printf(ev->arena, "T.%s(cta_id=)", c->fn->name));
  ev_emit(ev, st_op(ev->arena, OP_MBAR_ARRIVE, c->span, barrier(ev, c, 0)));
  return v_none();
}

Val t_barrier_wait(Ev *ev, Call *c) {
  need_kernel(ev, c);
  ev_emit(ev, st_op(ev->arena, OP_MBAR_WAIT, c->span, barrier(ev, c, 0),
                    dev_index(ev, c->arg[1], c->at[1])));
  return v_none();
}

// Copies by T.ptx_cp_async are complete when they return: what is left is the arrival.
Val t_barrier_copies(Ev *ev, Call *c) { return t_barrier_arrive(ev, c); }

/* ------------------------------------------------------------------ warpgroups */

// with T.ws(0, 2): the threads of these warpgroups
Val t_ws(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Arena *a = ev->arena;
  int threads = ev->trace->kernel->threads;
  Expr *thread = ex_var(a, ev->trace->kernel->thread), *any = NULL;
  if (!c->rest->len) ev_fail(ev, DIAG_WARPGROUP, c->span, "none", threads);
  for (int i = 0; i < c->rest->len; i++) {
    Val v = c->rest->data[i];
    int64_t g = v_is_int(v) ? v_as_int(v) : -1;
    if (g < 0 || (g + 1) * WARPGROUP > threads)
      ev_fail(ev, DIAG_WARPGROUP, c->pos_at.data[i], v_brief(ev, v), threads);
    Expr *from = ex_bin(a, BIN_LE, ex_index(a, g * WARPGROUP), thread);
    Expr *one = ex_and(a, g ? from : NULL, ex_lt(a, thread, ex_index(a, (g + 1) * WARPGROUP)));
    any = any ? ex_bin(a, BIN_OR, any, one) : one;
  }
  return (Val){.kind = V_SECTION, .expr = ex_at(any, c->span)};
}

/* ------------------------------------------------------------------ copies */

// (src, dst, barrier=): complete when it returns, so that the barrier has only arrivals to wait
// for.
Val t_tma_copy(Ev *ev, Call *c) {
  need_kernel(ev, c);
  need_tile_place(ev, c);
  Side src, dst;
  Region *rs, *rd;
  arg_refuse(ev, c, 3, "T.tma_copy(cluster_mask=)");
  if (!side_of(ev, c->arg[0], c->at[0], &src) || !side_of(ev, c->arg[1], c->at[1], &dst))
    ev_fail(ev, DIAG_COPY_OPERAND, c->at[0], "operand", v_kind(ev, c->arg[0]));
  copy_legalize(ev, &src, &dst, c->span, &rs, &rd);
  bool load = rs->buf->scope == SC_GLOBAL && rd->buf->scope == SC_SHARED;
  bool store = rs->buf->scope == SC_SHARED && rd->buf->scope == SC_GLOBAL;
  if ((!load && !store) || (load && !arg_given(c, 2)) || rs->buf->dtype != rd->buf->dtype)
    ev_fail(ev, DIAG_TMA_COPY, c->span);
  if (load) (void)barrier(ev, c, 2);
  ev_emit(ev, st_op(ev->arena, OP_COPY, c->span, rs, rd, (int64_t)0));
  return v_none();
}

// (dst, src, num_elems, predicate=): a run of each thread, complete at once.
Val t_ptx_cp_async(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Val dst = c->arg[0], src = c->arg[1];
  int64_t n = arg_int(ev, c, 2, 1);
  if (dst.kind != V_ADDRESS || src.kind != V_ADDRESS || dst.region->buf->scope != SC_SHARED ||
      src.region->buf->scope != SC_GLOBAL || dst.region->buf->dtype != src.region->buf->dtype)
    ev_fail(ev, DIAG_CP_ASYNC, c->span);
  if (n < 1 || n > 128)
    ev_fail(ev, DIAG_ARGUMENT, c->at[2], "T.ptx_cp_async", "num_elems", "an int from 1 to 128",
            v_brief(ev, c->arg[2]));
  Expr *pred = arg_given(c, 3) ? ev_cond(ev, c->arg[3], c->at[3]) : NULL;
  ev_copy_run(ev, dst.region, src.region, n, pred, c->span);
  return v_none();
}
