// Ops of sm_90a as calls of device helpers.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

static const Arg *arg(const Stmt *s, const char *name) {
  return &s->u.op.arg[op_arg(s->u.op.op, name)];
}

// "tlc_NAME(" of a helper that the text then needs.
static void call(Cg *c, const char *name) {
  needs_add(c->needs, "%s", name);
  cg_begin(c);
  cg_text(c, "tlc_%s(", name);
}

static void end(Cg *c) {
  cg_text(c, ");");
  cg_end(c);
}

static void bare(Cg *c, const char *name) {
  call(c, name);
  end(c);
}

// "tlc_NAME<N>("
static void call_of(Cg *c, const char *name, int64_t n) {
  needs_add(c->needs, "%s", name);
  cg_begin(c);
  cg_text(c, "tlc_%s<%lld>(", name, (long long)n);
}

// An integer argument of 32 bits: the counts that instructions take.
static void number(Cg *c, Expr *x) {
  cg_text(c, ", ");
  cg_value(c, x, DT_I32, P_TERNARY);
}

/* mbarriers */

static void place(Cg *c, const Region *r) {
  int64_t at;
  const char *name = names_of(c->names, r->buf)->text;
  if (!name) die("buffer %s is not declared", r->buf->name);
  if (ex_const(r->min[0], &at) && at == 0) cg_text(c, "%s", name);
  else cg_address(c, r);
}

static void mbar(Cg *c, const Stmt *s) {
  OpCode op = s->u.op.op;
  bool done = op == OP_MBAR_ARRIVE_REMOTE && arg(s, "wgmma")->i;
  call(c, done ? "mbar_arrive_remote_wgmma" : op_info(op)->name);
  place(c, arg(s, "bar")->region);
  if (op == OP_MBAR_INIT) cg_text(c, ", %lld", (long long)arg(s, "count")->i);
  if (op == OP_MBAR_ARRIVE_TX || op == OP_MBAR_EXPECT_TX) number(c, arg(s, "bytes")->expr);
  if (op == OP_MBAR_ARRIVE_REMOTE) number(c, arg(s, "rank")->expr);
  if (op == OP_MBAR_WAIT) number(c, arg(s, "parity")->expr);
  end(c);
}

static void fence(Cg *c, const Stmt *s) {
  static const char *const names[] = {"fence_proxy_async", "fence_proxy_async_shared",
                                      "fence_proxy_async_global"};
  bare(c, names[arg(s, "space")->i]);
}

/* copies */

static void policy(Cg *c, int64_t hint) {
  static const char *const names[] = {"evict_normal", "evict_first", "evict_last"};
  needs_add(c->needs, "%s", names[hint]);
  cg_text(c, ", tlc_%s", names[hint]);
}

static const char *map_name(Cg *c, const Region *r) {
  const char *name = names_of(c->names, r->buf)->text;
  if (!name) die("map %s is not declared", r->buf->name);
  return name;
}

// The coordinates, innermost first.
static void coordinates(Cg *c, const Region *r) {
  for (int i = r->n; i-- > 0;) number(c, r->min[i]);
}

static const char *ranked(Cg *c, const char *name, const Region *box) {
  return arena_printf(c->arena, "%s_%dd", name, box->n);
}

static void tma_load(Cg *c, const Stmt *s) {
  const Region *box = arg(s, "src")->region;
  Expr *blocks = arg(s, "blocks")->expr;
  call(c, ranked(c, blocks ? "tma_multicast" : "tma_load", box));
  cg_address(c, arg(s, "dst")->region);
  cg_text(c, ", &%s, ", map_name(c, box));
  place(c, arg(s, "bar")->region);
  if (blocks) number(c, blocks);
  policy(c, arg(s, "hint")->i);
  coordinates(c, box);
  end(c);
}

static void tma_store(Cg *c, const Stmt *s) {
  const Region *box = arg(s, "dst")->region;
  call(c, ranked(c, "tma_store", box));
  cg_text(c, "&%s, ", map_name(c, box));
  cg_address(c, arg(s, "src")->region);
  policy(c, arg(s, "hint")->i);
  coordinates(c, box);
  end(c);
}

static const char *const fn_names[] = {
    [ATOMIC_ADD] = "add", [ATOMIC_MAX] = "max", [ATOMIC_MIN] = "min"};

static void tma_reduce(Cg *c, const Stmt *s) {
  const Region *box = arg(s, "dst")->region;
  call(c, ranked(c, arena_printf(c->arena, "tma_%s", fn_names[arg(s, "fn")->i]), box));
  cg_text(c, "&%s, ", map_name(c, box));
  cg_address(c, arg(s, "src")->region);
  coordinates(c, box);
  end(c);
}

static void tma_prefetch(Cg *c, const Stmt *s) {
  call(c, "tma_prefetch");
  cg_text(c, "&%s", map_name(c, arg(s, "map")->region));
  end(c);
}

static void bulk(Cg *c, const Stmt *s) {
  const Region *src = arg(s, "src")->region, *dst = arg(s, "dst")->region;
  bool load = s->u.op.op == OP_BULK_LOAD;
  Expr *blocks = load ? arg(s, "blocks")->expr : NULL;
  const char *name = s->u.op.op == OP_BULK_STORE ? "bulk_store"
                     : !load  ? arena_printf(c->arena, "bulk_%s_%s", fn_names[arg(s, "fn")->i],
                                             cg_short(dst->buf->dtype))
                     : blocks ? "bulk_multicast"
                              : "bulk_load";
  call(c, name);
  cg_address(c, dst);
  cg_text(c, ", ");
  cg_address(c, src);
  cg_text(c, ", %lld", (long long)cg_count(src) * dt_bits(src->buf->dtype) / 8);
  if (load) {
    cg_text(c, ", ");
    place(c, arg(s, "bar")->region);
  }
  if (blocks) number(c, blocks);
  end(c);
}

static void bulk_wait(Cg *c, const Stmt *s) {
  call_of(c, arg(s, "read")->i ? "bulk_wait_read" : "bulk_wait", arg(s, "pending")->i);
  end(c);
}

/* warps and their roles */

static void named(Cg *c, const Stmt *s) {
  call_of(c, op_info(s->u.op.op)->name, arg(s, "threads")->i);
  cg_value(c, arg(s, "id")->expr, DT_I32, P_TERNARY);
  end(c);
}

static void setmaxnreg(Cg *c, const Stmt *s) {
  call_of(c, arg(s, "inc")->i ? "setmaxnreg_inc" : "setmaxnreg_dec", arg(s, "regs")->i);
  end(c);
}

static void result(Cg *c, const Stmt *s) {
  const char *name = op_info(s->u.op.op)->name;
  const Region *dst = arg(s, "dst")->region;
  needs_add(c->needs, "%s", name);
  cg_begin(c);
  cg_element(c, dst);
  cg_text(c, " = tlc_%s();", name);
  cg_end(c);
}

static void stmatrix(Cg *c, const Stmt *s) {
  call(c, arena_printf(c->arena, "stmatrix%s_x%d", arg(s, "trans")->i ? "_trans" : "",
                       (int)arg(s, "num")->i));
  cg_address(c, arg(s, "dst")->region);
  cg_text(c, ", ");
  cg_address(c, arg(s, "src")->region);
  end(c);
}

static void plain(Cg *c, const Stmt *s) { bare(c, op_info(s->u.op.op)->name); }

static void sync_warp(Cg *c, const Stmt *s) { cg_line(c, "__syncwarp();"); }

static void (*const emit[OP_COUNT])(Cg *c, const Stmt *s) = {
    [OP_MBAR_INIT] = mbar,
    [OP_MBAR_ARRIVE] = mbar,
    [OP_MBAR_ARRIVE_TX] = mbar,
    [OP_MBAR_EXPECT_TX] = mbar,
    [OP_MBAR_ARRIVE_REMOTE] = mbar,
    [OP_MBAR_ARRIVE_COPIES] = mbar,
    [OP_MBAR_WAIT] = mbar,
    [OP_FENCE_MBAR_INIT] = plain,
    [OP_FENCE_PROXY] = fence,
    [OP_TMA_LOAD] = tma_load,
    [OP_TMA_STORE] = tma_store,
    [OP_TMA_REDUCE] = tma_reduce,
    [OP_TMA_PREFETCH] = tma_prefetch,
    [OP_BULK_LOAD] = bulk,
    [OP_BULK_STORE] = bulk,
    [OP_BULK_REDUCE] = bulk,
    [OP_BULK_COMMIT] = plain,
    [OP_BULK_WAIT] = bulk_wait,
    [OP_BAR_SYNC] = named,
    [OP_BAR_ARRIVE] = named,
    [OP_CLUSTER_ARRIVE] = plain,
    [OP_CLUSTER_WAIT] = plain,
    [OP_CLUSTER_RANK] = result,
    [OP_GRID_WAIT] = plain,
    [OP_GRID_TRIGGER] = plain,
    [OP_SETMAXNREG] = setmaxnreg,
    [OP_ELECT] = result,
    [OP_STMATRIX] = stmatrix,
    [OP_SYNC_WARP] = sync_warp,
};

bool cg_sm90_op(Cg *c, const Stmt *s) {
  if (!emit[s->u.op.op]) return false;
  emit[s->u.op.op](c, s);
  return true;
}
