// ir: types, constant folding against plain evaluation, walks, ops, accesses, targets, the
// verifier.
// SPDX-License-Identifier: MIT
#include "ir_eval.h"

#include "ir/target.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

static Arena *arena;
static void setup(void) { arena = arena_new(); }
static void teardown(void) { arena_free(arena); }

static Var *var(const char *name, DType t, VarKind kind) {
  return var_new(arena, name, t, kind, NO_SPAN);
}
static Expr *ix(int64_t v) { return ex_index(arena, v); }

START_TEST(types) {
  DType t;
  ck_assert(dt_find("half", &t) && t == DT_F16);
  ck_assert(dt_find("float8_e4m3", &t) && t == DT_E4M3);
  ck_assert(!dt_find("float17", &t));
  ck_assert_int_eq(dt_bytes(DT_BF16), 2);
  ck_assert(dt_is_int(DT_INDEX) && !dt_is_int(DT_BOOL) && dt_is_signed(DT_INDEX) &&
            !dt_is_signed(DT_U8));
  static const struct {
    DType a, b, want;
  } pairs[] = {
    {DT_F16, DT_F32, DT_F32}, {DT_I32, DT_F16, DT_F16},     {DT_INDEX, DT_INDEX, DT_INDEX},
    {DT_INDEX, DT_I8, DT_I32}, {DT_INDEX, DT_I64, DT_I64},  {DT_INDEX, DT_BOOL, DT_INDEX},
    {DT_U8, DT_I8, DT_I8},    {DT_U32, DT_I8, DT_I32},      {DT_U16, DT_U32, DT_U32},
    {DT_F16, DT_BF16, DT_F32}, {DT_INDEX, DT_F16, DT_F16},  {DT_TF32, DT_F32, DT_F32},
  };
  for (size_t i = 0; i < LEN(pairs); i++) {
    ck_assert_int_eq(dt_promote(pairs[i].a, pairs[i].b), pairs[i].want);
    ck_assert_int_eq(dt_promote(pairs[i].b, pairs[i].a), pairs[i].want);
  }
}
END_TEST

static DType bin_type(BinOp op, DType t) {
  return op == BIN_LT || op == BIN_LE || op == BIN_EQ || op == BIN_NE ? DT_BOOL : t;
}

// Every operator on every pair of awkward values: the constructor's folding against the evaluator.
START_TEST(folding) {
  static const int64_t values[] = {
      0,   1,   -1,    2,      3,     -3,        7,         -8,         127,       128,      -128,
      255, 256, 32767, -32768, 65535, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
  static const DType ints[] = {DT_INDEX, DT_I8, DT_U8, DT_I16, DT_I32, DT_U32};
  Env none = {0};
  for (size_t t = 0; t < LEN(ints); t++) {
    for (size_t i = 0; i < LEN(values); i++) {
      for (size_t j = 0; j < LEN(values); j++) {
        for (int op = 0; op < BIN_COUNT; op++) {
          if (op == BIN_DIV || op == BIN_AND || op == BIN_OR) continue;
          Expr *x = ex_int(arena, ints[t], values[i]), *y = ex_int(arena, ints[t], values[j]);
          Expr raw = {
              .kind = EX_BINARY, .type = bin_type((BinOp)op, ints[t]), .u.bin = {(BinOp)op, x, y}};
          bool ok = true;
          int64_t want = eval_int(&none, &raw, &ok), got;
          Expr *r = ex_bin(arena, (BinOp)op, x, y);
          if (!ok) continue; // undefined, or beyond 64 bits
          ck_assert_msg(ex_const(r, &got) && got == want && r->type == raw.type,
                        "%s(%lld, %lld) of %s is %s", ir_expr_str(arena, &raw),
                        (long long)values[i], (long long)values[j], dt_name(ints[t]),
                        ir_expr_str(arena, r));
        }
      }
    }
  }
}
END_TEST

START_TEST(folding_never_overflows) {
  Expr *max = ix(INT64_MAX), *r = ex_add(arena, max, ix(1));
  ck_assert(r->kind == EX_BINARY); // exact integers do not wrap: left alone
  ck_assert(ex_mul(arena, max, ix(2))->kind == EX_BINARY);
  ck_assert(ex_floordiv(arena, ix(INT64_MIN), ix(-1))->kind == EX_BINARY);
  ck_assert(ex_bin(arena, BIN_SHL, max, ix(2))->kind == EX_BINARY);
  ck_assert(ex_floordiv(arena, ix(5), ix(0))->kind == EX_BINARY);
  Expr *wrapped = ex_add(arena, ex_int(arena, DT_I32, INT32_MAX), ex_int(arena, DT_I32, 1));
  ck_assert(ex_is(wrapped, INT32_MIN));
}
END_TEST

START_TEST(identities) {
  Var *v = var("x", DT_INDEX, VAR_LOOP);
  Expr *x = ex_var(arena, v);
  ck_assert(ex_add(arena, x, ix(0)) == x && ex_mul(arena, ix(1), x) == x);
  ck_assert(ex_is(ex_mul(arena, x, ix(0)), 0) && ex_is(ex_sub(arena, x, x), 0));
  ck_assert(ex_floordiv(arena, x, ix(1)) == x && ex_is(ex_floormod(arena, x, ix(1)), 0));
  ck_assert_str_eq(ir_expr_str(arena, ex_add(arena, ix(3), ex_add(arena, x, ix(4)))), "x + 7");
  ck_assert_str_eq(ir_expr_str(arena, ex_sub(arena, ex_add(arena, x, ix(4)), ix(6))), "x - 2");
  ck_assert_str_eq(ir_expr_str(arena, ex_mul(arena, ex_mul(arena, x, ix(4)), ix(6))), "x * 24");
  ck_assert(ex_is(ex_bin(arena, BIN_LE, x, x), 1));
  ck_assert_str_eq(ir_expr_str(arena, ex_un(arena, UN_NOT, ex_lt(arena, x, ix(4)))), "4 <= x");
  Var *fv = var("f", DT_F32, VAR_SCALAR);
  Expr *f = ex_var(arena, fv), *zero = ex_float(arena, DT_F32, 0);
  ck_assert(ex_add(arena, f, zero) != f); // -0 + 0 is 0
  ck_assert(ex_sub(arena, f, zero) == f && ex_mul(arena, f, ex_float(arena, DT_F32, 1)) == f);
  ck_assert_str_eq(ir_expr_str(arena, ex_un(arena, UN_NOT, ex_lt(arena, f, zero))), "not f < 0.0");
  ck_assert(ex_and(arena, NULL, x) == x && ex_and(arena, NULL, NULL) == NULL);
}
END_TEST

START_TEST(casts) {
  ck_assert(ex_is(ex_cast(arena, DT_I8, ix(200)), -56));
  ck_assert(ex_is(ex_cast(arena, DT_I8, ex_float(arena, DT_F32, 200.7)), 127)); // saturates
  ck_assert(ex_is(ex_cast(arena, DT_U8, ex_float(arena, DT_F32, -3)), 0));
  ck_assert(ex_is(ex_cast(arena, DT_I32, ex_float(arena, DT_F32, NAN)), 0));
  ck_assert(ex_is(ex_cast(arena, DT_I32, ex_float(arena, DT_F64, -2.9)), -2));
  ck_assert(ex_is(ex_cast(arena, DT_BOOL, ex_float(arena, DT_F32, 0.25)), 1));
  ck_assert(ex_cast(arena, DT_F16, ix(2049))->u.f == 2048);
  ck_assert(ex_cast(arena, DT_F32, ix(16777217))->u.f == 16777216);
  // 2^61 + 2^53 + 1 is above the middle of two bfloat16 neighbours; rounding to double first loses
  // that.
  int64_t v = ((int64_t)1 << 61) + ((int64_t)1 << 53) + 1;
  ck_assert(ex_cast(arena, DT_BF16, ix(v))->u.f == ldexp(1, 61) + ldexp(1, 54));
  ck_assert(ex_float(arena, DT_E4M3, 1e9)->u.f == 448);
  Expr *h = ex_var(arena, var("h", DT_F16, VAR_SCALAR)),
       *f = ex_var(arena, var("f", DT_F32, VAR_SCALAR));
  ck_assert(ex_cast(arena, DT_F16, ex_cast(arena, DT_F32, h)) == h);
  ck_assert(ex_cast(arena, DT_F32, ex_cast(arena, DT_F16, f)) != f);
}
END_TEST

typedef struct {
  Var *from;
  Expr *to;
} Subst;

static Expr *substitute(void *ctx, Var *v) {
  Subst *s = ctx;
  return v == s->from ? s->to : NULL;
}

START_TEST(replacing) {
  Var *a = var("a", DT_INDEX, VAR_LOOP), *b = var("b", DT_INDEX, VAR_LOOP);
  Expr *x = ex_add(arena, ex_mul(arena, ex_var(arena, a), ix(8)), ex_var(arena, b));
  ck_assert(ex_uses(x, a) && ex_uses(x, b));
  Expr *r = ex_subst(arena, x, a, ix(2));
  ck_assert_str_eq(ir_expr_str(arena, r), "b + 16");
  ck_assert(!ex_uses(r, a) && ex_subst(arena, r, a, ix(5)) == r);
  Expr *shape = ix(64);
  Buffer *buf = buf_new(arena, "A", DT_F16, SC_GLOBAL, &shape, 1, NO_SPAN);
  Region *shared_region = region_new(arena, buf, (Expr *[]){ex_var(arena, a)}, (Expr *[]){ix(4)});
  Stmt *block = st_block(arena, NO_SPAN);
  for (int i = 0; i < 2; i++)
    st_add(arena, block, st_op(arena, OP_FILL, NO_SPAN, shared_region, ex_float(arena, DT_F32, 0)));
  Expr *next = ex_add(arena, ex_var(arena, a), ix(1));
  Subst ctx = {a, next};
  st_replace(arena, block, substitute, &ctx);
  for (int i = 0; i < 2; i++)
    ck_assert_str_eq(ir_expr_str(arena, block->u.block.data[i]->u.op.arg[0].region->min[0]),
                     "a + 1");
}
END_TEST

static Stmt *drop_assumes(void *ctx, Stmt *s) {
  ++*(int *)ctx;
  return s->kind == ST_ASSUME ? NULL : s;
}

static void count(void *ctx, Stmt *s) { ++*(int *)ctx; }

START_TEST(rewriting) {
  Stmt *inner = st_block(arena, NO_SPAN), *outer = st_block(arena, NO_SPAN);
  Var *v = var("i", DT_INDEX, VAR_LOOP);
  st_add(arena, inner, st_assume(arena, ex_lt(arena, ex_var(arena, v), ix(3)), NO_SPAN));
  st_add(arena, inner, st_op(arena, OP_SYNC, NO_SPAN));
  st_add(arena, outer, st_for(arena, LOOP_SERIAL, v, ix(0), ix(4), inner, NO_SPAN));
  st_add(arena, outer, st_if(arena, ex_lt(arena, ix(0), ex_var(arena, v)),
                             st_assume(arena, ex_bool(arena, true), NO_SPAN), NULL, NO_SPAN));
  int n = 0, calls = 0;
  st_walk(outer, count, &n);
  ck_assert_int_eq(n, 7);
  outer = st_rewrite(arena, outer, drop_assumes, &calls);
  ck_assert_int_eq(calls, 7);
  n = 0;
  st_walk(outer, count, &n);
  ck_assert_int_eq(n, 6); // the branch keeps an empty block
  ck_assert_int_eq(inner->u.block.len, 1);
}
END_TEST

START_TEST(op_table) {
  const OpInfo *mma = op_info(OP_MMA);
  OpCode op;
  ck_assert(op_find("cp_async", &op) && op == OP_CP_ASYNC && !op_find("copyy", &op));
  ck_assert_int_eq(mma->nargs, 6);
  ck_assert(mma->arg[2].kind == ARG_UPDATE && mma->arg[3].kind == ARG_INT);
  ck_assert(mma->sync == SYNC_WARP && mma->level == LEVEL_THREAD);
  ck_assert_int_eq(op_arg(OP_GEMM, "clear"), 6);
  ck_assert(op_info(OP_CP_ASYNC)->arg[1].kind == ARG_ASYNC);
}
END_TEST

static void note_access(void *ctx, const Access *a) {
  static const char modes[] = "rwx";
  buf_printf(ctx, "%c%s%s ", modes[a->mode], a->async ? "~" : "", a->region.buf->name);
}

static const char *accesses(Stmt *s) {
  Buf b = {0};
  st_accesses(arena, s, note_access, &b);
  const char *text = arena_str(arena, buf_str(&b));
  buf_free(&b);
  return text;
}

START_TEST(access_model) {
  Expr *shape = ix(64);
  Buffer *A = buf_new(arena, "A", DT_F16, SC_GLOBAL, &shape, 1, NO_SPAN);
  Buffer *S = buf_new(arena, "S", DT_F16, SC_SHARED, &shape, 1, NO_SPAN);
  Buffer *I = buf_new(arena, "I", DT_I32, SC_GLOBAL, &shape, 1, NO_SPAN);
  Expr *at = ex_load(arena, I, (Expr *[]){ix(3)}, 1);
  Expr *value = ex_load(arena, A, &at, 1);
  ck_assert_str_eq(accesses(st_store(arena, S, (Expr *[]){ix(1)}, 1, value, NO_SPAN)), "rA rI wS ");
  Region *a = region_flat(arena, A, ix(0), 8), *s = region_flat(arena, S, ix(8), 8);
  ck_assert_str_eq(accesses(st_op(arena, OP_CP_ASYNC, NO_SPAN, a, s, ix(8))), "r~A w~S ");
  ck_assert_str_eq(accesses(st_op(arena, OP_COPY, NO_SPAN, a, s, (int64_t)0)), "rA wS ");
  ck_assert_str_eq(accesses(st_op(arena, OP_COPY, NO_SPAN, a, s, (int64_t)1)), "r~A w~S ");
  Expr *clear = ex_bool(arena, true), *keep = ex_bool(arena, false);
  ck_assert_str_eq(
      accesses(st_op(arena, OP_GEMM, NO_SPAN, a, a, s, (int64_t)0, (int64_t)0, (int64_t)0, clear)),
      "rA rA wS ");
  ck_assert_str_eq(
      accesses(st_op(arena, OP_GEMM, NO_SPAN, a, a, s, (int64_t)0, (int64_t)0, (int64_t)0, keep)),
      "rA rA rS wS ");
  ck_assert_str_eq(
      accesses(st_atomic(arena, NO_SPAN, region_flat(arena, A, at, 1), value, (int64_t)0)),
      "rI rA rI xA ");
}
END_TEST

START_TEST(target_table) {
  static const struct {
    const char *name;
    int64_t smem;
    bool fp8, vec;
  } want[] = {{"sm_80", 166912, false, false}, {"sm_86", 101376, false, false},
              {"sm_87", 166912, false, false}, {"sm_89", 101376, true, false},
              {"sm_90a", 232448, true, true}};
  for (size_t i = 0; i < LEN(want); i++) {
    const Target *t = target_find(want[i].name);
    ck_assert(t && t == target_at((int)i) && t->max_smem_block == want[i].smem);
    ck_assert(t->fp8_mma == want[i].fp8 && t->red_vec_f32 == want[i].vec &&
              t->regs_per_sm == 65536);
  }
  ck_assert(!target_at(LEN(want)) && !target_at(-1) && !target_find("sm_70"));
}
END_TEST

/* the verifier: one program, spoiled in one way at a time */

#define HEAD                                                                                       \
  "program p\nsize N\nparam A : tensor float16 [4096] role in\nparam C : tensor float32 [4096] "   \
  "role out\n"                                                                                     \
  "kernel k {\n  level thread\n  grid [1, 1, 1]\n  threads 128\n  block [bx, by, bz]\n  thread "   \
  "tx\n"                                                                                           \
  "  smem 8192\n  shared S : float16 [4096] offset 0\n  local a : float16 [8]\n"                   \
  "  local b : float16 [8]\n  local d : float32 [4]\n  local r : uint8 [8]\n  body {\n"
#define TAIL "  }\n}\n"

static void verdict(const char *body, const char *complaint) {
  Sources *s = src_new(arena);
  Diags *diags = diag_new(arena, s, (DiagOptions){0});
  const char *text = arena_printf(arena, "%s%s%s", HEAD, body, TAIL);
  Program *p = ir_read(arena, diags, src_add(s, "t.tir", text, strlen(text)));
  if (!p) diag_flush(diags, stderr);
  ck_assert_msg(p != NULL, "does not read: %s", body);
  Buf why = {0};
  bool ok = ir_verify(p, &why);
  if (!complaint) ck_assert_msg(ok, "%s\n%s", body, buf_str(&why));
  else
    ck_assert_msg(!ok && strstr(buf_str(&why), complaint), "no '%s' for %s\n%s", complaint, body,
                  buf_str(&why));
  buf_free(&why);
}

START_TEST(verifier) {
  verdict(
      "cp_async(src=A[tx * 8 +: 8], dst=S[tx * 8 +: 8], "
      "valid=8)\nasync_commit()\nasync_wait(pending=0)\n"
      "sync_threads()\nldmatrix(src=S[tx * 8 +: 8], dst=a[0 +: 8], num=4, trans=0)\n"
      "unroll i in 0 +: 2 {\nmma(a=a[0 +: 8], b=b[i * 4 +: 4], d=d[0 +: 4], m=16, n=8, k=16)\n}\n"
      "vmov(src=d[0 +: 4], dst=C[tx * 4 +: 4])\nif tx < 4 {\nC[tx] = 1.0\n}\n",
      NULL);
  verdict("cp_async(src=A[tx +: 1], dst=S[tx +: 1], valid=1)\n", "4, 8 or 16 bytes");
  verdict("cp_async(src=A[0 +: 8], dst=a[0 +: 8], valid=8)\n", "local, not shared");
  verdict("vmov(src=A[0 +: 8], dst=S[0 +: 8])\n", "neither side is local");
  verdict("vmov(src=A[0 +: 6], dst=a[0 +: 6])\n", "96 bits");
  verdict("vmov(src=A[0 +: 4], dst=d[0 +: 4])\n", "from float16 to float32");
  verdict("ldmatrix(src=S[0 +: 8], dst=a[0 +: 4], num=4, trans=0)\n", "64 bits for 4 registers");
  verdict("byte_perm(src=a[0 +: 4], dst=a[4 +: 2], sel=tx)\n", NULL);
  verdict("byte_perm(src=a[0 +: 2], dst=a[4 +: 2], sel=tx)\n", "32 bits picked from 32");
  verdict("byte_perm(src=S[0 +: 4], dst=a[4 +: 2], sel=tx)\n", "shared, not local");
  verdict("byte_perm(src=a[0 +: 4], dst=a[7 +: 2], sel=tx)\n", "2 registers from 7");
  verdict("unpack(src=r[0 +: 4], dst=a[0 +: 8], kind=2)\n", NULL);
  verdict("unpack(src=r[0 +: 4], dst=a[0 +: 8], kind=3)\n", "elements of kind 3");
  verdict("unpack(src=r[0 +: 8], dst=a[0 +: 8], kind=0)\n", "128 bits unpacked from 64");
  verdict("unpack(src=a[0 +: 2], dst=a[0 +: 8], kind=0)\n", "float16 unpacked from float16");
  verdict("unpack(src=r[0 +: 4], dst=S[0 +: 8], kind=0)\n", "shared, not local");
  verdict("mma(a=a[0 +: 8], b=b[0 +: 4], d=d[0 +: 4], m=16, n=8, k=32)\n", "no m16n8k32");
  verdict("mma(a=a[0 +: 4], b=b[0 +: 4], d=d[0 +: 4], m=16, n=8, k=16)\n", "not 8, 4, 4");
  verdict("for i in 0 +: 2 {\nmma(a=a[0 +: 8], b=b[i * 4 +: 4], d=d[0 +: 4], m=16, n=8, k=16)\n}\n",
          "run-time index");
  verdict("mma(a=a[4 +: 8], b=b[0 +: 4], d=d[0 +: 4], m=16, n=8, k=16)\n", "8 registers from 4");
  verdict("if tx < 32 {\nasync_commit()\n}\n", "only some threads");
  verdict("let w = tx // 32\nif w == 0 {\nasync_commit()\n}\n", "only some threads");
  verdict("if bx < 32 {\nasync_commit()\n}\n", NULL);
  verdict("parallel i in 0 +: 4 {\n}\n", "parallel loop");
  verdict("copy(src=A[0 +: 4], dst=S[0 +: 4], async=0)\n", "copy at thread level");
  verdict("atomic(dst=C[0 +: 2], value=1.0, fn=0)\n", "2 elements");
  verdict("atomic(dst=C[0 +: 1], value=1.0, fn=7)\n", "fn is 7, not one of 0..6");
  verdict("ldmatrix(src=S[0 +: 8], dst=a[0 +: 8], num=4, trans=-1)\n", "trans is -1");
  verdict("let q = 5 / 3\n", "div is not defined on index");
  verdict("if tx {\n}\n", NULL); // a condition is cast
  verdict("let q : float32 = exp(float32(tx))\nC[0] = q & q\n", "bitand is not defined on float32");
  verdict("let q = abs(tx) + floor(tx)\n", "floor of index");
}
END_TEST

static Program *verified(void) {
  static const char *text = HEAD "for i in 0 +: 4 {\nlet x = i + 1\nC[x] = 0.0\n}\n" TAIL;
  Sources *s = src_new(arena);
  return ir_read(arena, diag_new(arena, s, (DiagOptions){0}),
                 src_add(s, "t.tir", text, strlen(text)));
}

static void complains(Program *p, const char *complaint) {
  Buf why = {0};
  ck_assert_msg(!ir_verify(p, &why) && strstr(buf_str(&why), complaint), "no '%s': %s", complaint,
                buf_str(&why));
  buf_free(&why);
}

START_TEST(verifier_of_trees) { // what no text can say
  Buf why = {0};
  ck_assert(ir_verify(verified(), &why));
  Program *p = verified();
  Stmt *loop = p->kernels.data[0]->body->u.block.data[0];
  StmtVec *body = &loop->u.loop.body->u.block;
  Stmt *let = body->data[0], *store = body->data[1];
  body->data[0] = store;
  body->data[1] = let;
  complains(p, "x is used where it is not bound");
  body->data[1] = NULL;
  complains(p, "missing statement");
  body->data[0] = let;
  body->data[1] = st_for(arena, LOOP_SERIAL, loop->u.loop.var[0], ix(0), ix(2), NULL, NO_SPAN);
  complains(p, "bound inside its own scope");
  p = verified();
  p->kernels.data[0]->buffers.len = 0;
  p->kernels.data[0]->body->u.block.data[0]->u.loop.body->u.block.data[1]->u.store.value =
      ex_float(arena, DT_F16, 0);
  complains(p, "the value is float16, not float32");
  p = verified();
  Expr *shape[2] = {ix(4), ix(4)};
  vec_push(arena, &p->kernels.data[0]->buffers,
           buf_new(arena, "F", DT_F32, SC_FRAGMENT, shape, 2, NO_SPAN));
  complains(p, "F is a fragment");
  p = verified();
  Buffer *alien = buf_new(arena, "alien", DT_F32, SC_SHARED, shape, 1, NO_SPAN);
  st_add(arena, p->kernels.data[0]->body,
         st_store(arena, alien, shape, 1, ex_float(arena, DT_F32, 0), NO_SPAN));
  complains(p, "alien is not declared here");
  p = verified();
  p->kernels.data[0]->buffers.data[0]->offset = 4096;
  complains(p, "S ends at byte 12288 of 8192");
  p = verified();
  vec_push(arena, &p->facts,
           (Fact){.cond = ex_lt(arena, ex_var(arena, p->kernels.data[0]->thread), ix(4))});
  complains(p, "only the kernel knows");
}
END_TEST

START_TEST(names_of_c) {
  static const char *const taken[] = {"main",  "int",      "restrict",   "threadIdx", "exp",
                                      "sqrtf", "read",     "cudaMalloc", "std",       "tlc_x",
                                      "max",   "float4",   "make_int2",  "__x",       "_X"};
  for (size_t i = 0; i < LEN(taken); i++) ck_assert_msg(sym_taken(taken[i]), "%s", taken[i]);
  static const char *const free_[] = {"matmul", "main2",     "x",      "gemm_nt", "integer", "in",
                                      "exps",   "cuda_gemm", "float5", "relu",    "f",       "l"};
  for (size_t i = 0; i < LEN(free_); i++) ck_assert_msg(!sym_taken(free_[i]), "%s", free_[i]);
  ck_assert(sym_keyword("class") && sym_keyword("stream") && !sym_keyword("exp"));
  ck_assert(!sym_keyword("") && !sym_keyword(" "));
  ck_assert(sym_identifier("a_1") && !sym_identifier("") && !sym_identifier("2x") &&
            !sym_identifier("a-b"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("ir");
  TCase *tc = tcase_create("ir");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, types);
  tcase_add_test(tc, folding);
  tcase_add_test(tc, folding_never_overflows);
  tcase_add_test(tc, identities);
  tcase_add_test(tc, casts);
  tcase_add_test(tc, replacing);
  tcase_add_test(tc, rewriting);
  tcase_add_test(tc, op_table);
  tcase_add_test(tc, access_model);
  tcase_add_test(tc, target_table);
  tcase_add_test(tc, verifier);
  tcase_add_test(tc, verifier_of_trees);
  tcase_add_test(tc, names_of_c);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
