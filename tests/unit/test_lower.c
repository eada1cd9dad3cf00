// Lowered gemms against the oracle: shapes, types, transposes, policies, epilogues, operands in
// registers.
// SPDX-License-Identifier: MIT
#include "lower_bench.h"
#include "suite.h"

START_TEST(gemm_plain) {
  Gemm g = plain;
  g.tb = _i & 1;
  g.stage_c = _i >> 1;
  gemm_program(&g);
  expect_lowered();
  ck_assert_int_eq(report.mma, 4 * 3 * 2 * 32); // warps, k tiles, k steps, tiles of a warp
  ck_assert_int_eq(report.bank_conflicts, 0);
  if (g.stage_c) ck_assert_int_eq(report.global_sectors, report.global_min);
}
END_TEST

START_TEST(gemm_ragged) {
  static const int shapes[][3] = {{1, 1, 1},     {16, 104, 64},   {100, 72, 50},
                                  {65, 129, 33}, {128, 192, 160}, {64, 64, 0}};
  Gemm g = plain;
  g.M = shapes[_i][0], g.N = shapes[_i][1], g.K = shapes[_i][2];
  g.bm = g.bn = 64;
  for (int stages = 0; stages < 4; stages++)
    for (int t = 0; t < 4; t++) {
      if (!g.K && t) continue;
      g.stages = stages, g.ta = t & 1, g.tb = t >> 1, g.stage_c = stages & 1;
      gemm_program(&g);
      expect_lowered();
    }
}
END_TEST

START_TEST(gemm_types) {
  static const DType types[][2] = {{DT_F16, DT_F32}, {DT_BF16, DT_F32}, {DT_F16, DT_F16},
                                   {DT_F32, DT_F32}, {DT_I8, DT_I32},   {DT_U8, DT_I32}};
  Gemm g = plain;
  g.ab = types[_i][0], g.c = types[_i][1];
  g.bm = 64, g.bn = 48, g.N = 96, g.threads = 64, g.K = 64;
  for (int t = 0; t < 4; t++) {
    g.ta = t & 1, g.tb = t >> 1;
    gemm_program(&g);
    expect_lowered();
  }
}
END_TEST

START_TEST(gemm_block_k) {
  static const int bk[] = {8, 16, 20, 24, 40, 48, 64, 96};
  Gemm g = plain;
  g.bk = bk[_i], g.K = 3 * bk[_i];
  g.M = g.N = g.bm = g.bn = 64;
  for (int t = 0; t < 4; t++) {
    g.ta = t & 1, g.tb = t >> 1;
    g.ab = DT_F16, g.c = DT_F32;
    gemm_program(&g);
    expect_lowered();
    g.ab = DT_I8, g.c = DT_I32;
    gemm_program(&g);
    expect_lowered();
  }
}
END_TEST

START_TEST(gemm_warps) {
  static const int threads[] = {32, 64, 128, 256, 96};
  Gemm g = plain;
  g.threads = threads[_i / 3];
  g.policy = (GemmPolicy)(_i % 3);
  g.bm = g.threads == 96 ? 96 : 128;
  g.bn = g.threads == 96 ? 48 : 128;
  g.M = 200, g.N = 136, g.K = 64;
  for (int t = 0; t < 4; t++) {
    g.ta = t & 1, g.tb = t >> 1, g.dynamic = t & 1, g.stage_c = t >> 1;
    gemm_program(&g);
    expect_lowered();
  }
}
END_TEST

// A row vector beside an accumulator: bias, relu, and a column vector.
START_TEST(gemm_epilogue) {
  Gemm g = plain;
  g.M = 100, g.N = 72 + _i, g.K = 64;
  g.bm = g.bn = 64;
  gemm_program(&g);
  Buffer *bias = param("bias", DT_F16, 1, I(g.N), NULL, g.N), *acc = NULL,
         *C = T.p->params.data[2].buf;
  for (int i = 0; i < T.k->buffers.len; i++)
    if (T.k->buffers.data[i]->scope == SC_FRAGMENT) acc = T.k->buffers.data[i];
  Buffer *row = buffer("row", DT_F32, SC_FRAGMENT, 1, I(64), NULL);
  Buffer *col = buffer("col", DT_F32, SC_FRAGMENT, 1, I(64), NULL);
  Expr *n0 = mul(V(T.k->block[0]), 64);
  Stmt *b = T.k->body, *last = b->u.block.data[--b->u.block.len], *first = b->u.block.data[0];
  put(b, copy(region_new(T.a, bias, &n0, (Expr *[]){I(64)}), whole(row)));
  Var *r = loop_var("r");
  put(b, parallel(1, &r, (Expr *[]){I(64)}, to1(col, V(r), ex_cast(T.a, DT_F32, V(r)))));
  Var *v[2] = {loop_var("i"), loop_var("j")};
  Expr *sum = add(add(at2(acc, V(v[0]), V(v[1])), at1(row, V(v[1]))), at1(col, V(v[0])));
  put(b, parallel(2, v, (Expr *[]){I(64), I(64)},
                  to2(acc, V(v[0]), V(v[1]), bin(BIN_MAX, sum, ex_float(T.a, DT_F32, 0)))));
  put(b, last);
  (void)first;
  (void)C;
  expect_lowered();
}
END_TEST

// Operands in registers, block_K of several atoms and not a multiple of one, accumulator pre-filled
// and cleared by a constant and by an expression; the operand is copied out as well.
START_TEST(gemm_fragments) {
  static const int bk[] = {32, 24, 20, 64};
  for (int which = 1; which < 4; which++)
    for (int clear = 0; clear < 3; clear++)
      for (int t = 0; t < 4; t++) {
        int K = bk[_i], ta = t & 1, tb = t >> 1;
        lower_begin(128, 1, 1);
        Buffer *A = param("A", DT_F16, 2, I(ta ? K : 64), I(ta ? 64 : K), 64 * K);
        Buffer *B = param("B", DT_F16, 2, I(tb ? 48 : K), I(tb ? K : 48), 48 * K);
        Buffer *O = param("O", DT_F16, 2, A->shape[0], A->shape[1], 64 * K);
        Buffer *C = param("C", DT_F32, 2, I(64), I(48), 64 * 48);
        Buffer *X =
            buffer("X", DT_F16, which & 1 ? SC_FRAGMENT : SC_SHARED, 2, A->shape[0], A->shape[1]);
        Buffer *Y =
            buffer("Y", DT_F16, which & 2 ? SC_FRAGMENT : SC_SHARED, 2, B->shape[0], B->shape[1]);
        Buffer *S = buffer("S", DT_F16, SC_SHARED, 2, A->shape[0], A->shape[1]);
        Buffer *acc = buffer("acc", DT_F32, SC_FRAGMENT, 2, I(64), I(48));
        Var *k = loop_var("k");
        Stmt *b = T.k->body, *body = block();
        put(b, copy(whole(A), whole(X)));
        put(b, copy(whole(B), whole(Y)));
        put(b, fill(acc, 5));
        Expr *c = clear == 2 ? bin(BIN_EQ, V(k), I(1)) : ex_bool(T.a, clear);
        put(body, st_op(T.a, OP_GEMM, NO_SPAN, whole(X), whole(Y), whole(acc), (int64_t)ta,
                        (int64_t)tb, (int64_t)0, c));
        put(b, loop(LOOP_SERIAL, k, I(0), I(3), body));
        put(b, copy(whole(X), whole(S)));
        put(b, copy(whole(S), whole(O)));
        put(b, copy(whole(acc), whole(C)));
        expect_lowered();
      }
}
END_TEST

int main(void) {
  Suite *s = suite_create("lower");
  TCase *c = tcase_create("lower");
  tcase_set_timeout(c, 120);
  tcase_add_checked_fixture(c, NULL, bench_end);
  tcase_add_loop_test(c, gemm_plain, 0, 4);
  tcase_add_loop_test(c, gemm_ragged, 0, 6);
  tcase_add_loop_test(c, gemm_types, 0, 6);
  tcase_add_loop_test(c, gemm_block_k, 0, 8);
  tcase_add_loop_test(c, gemm_warps, 0, 15);
  tcase_add_loop_test(c, gemm_epilogue, 0, 2);
  tcase_add_loop_test(c, gemm_fragments, 0, 4);
  suite_add_tcase(s, c);
  return suite_run(s);
}
