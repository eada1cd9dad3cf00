// check on programs that no .tl file can say, because eval refuses them first: .tir files can.
// SPDX-License-Identifier: MIT
#include "pass_build.h"
#include "suite.h"

static Buffer *S, *F, *A;

static void begin(int threads, int gx, int gy) {
  bench_begin(LEVEL_TILE, threads, gx, gy);
  A = param("A", DT_F16, 2, I(64), I(64), 64 * 64);
  S = buffer("S", DT_F16, SC_SHARED, 2, I(64), I(64));
  F = buffer("F", DT_F32, SC_FRAGMENT, 2, I(64), I(64));
}

static void expect(DiagId id) {
  Buf why = {0};
  ck_assert_msg(ir_verify(T.p, &why), "%s", buf_str(&why)); // well formed, all the same
  buf_free(&why);
  pass_check(T.p, &T.c);
  ck_assert_int_ge(diag_errors(T.diags), 1);
  bool found = false;
  for (int i = 0; i < diag_errors(T.diags); i++) found = found || diag_id(T.diags, i) == (int)id;
  ck_assert_msg(found, "%s not reported", diag_code(id));
  arena_free(T.a);
}

START_TEST(threads) {
  begin(2048, 1, 1);
  expect(DIAG_THREADS);
}
END_TEST

START_TEST(grid) {
  begin(128, 1, 65536);
  expect(DIAG_GRID_LIMIT);
}
END_TEST

START_TEST(gemm_shape) {
  begin(128, 1, 1);
  put(T.k->body, gemm(box(S, I(0), I(0), 64, 32), whole(S), F, 0, 0, POLICY_SQUARE));
  expect(DIAG_GEMM_SHAPE);
}
END_TEST

START_TEST(gemm_operand) {
  begin(128, 1, 1);
  put(T.k->body, gemm(whole(A), whole(S), F, 0, 0, POLICY_SQUARE));
  expect(DIAG_GEMM_OPERAND);
}
END_TEST

START_TEST(copy_extents) {
  begin(128, 1, 1);
  put(T.k->body, copy(box(A, I(0), I(0), 32, 64), box(S, I(0), I(0), 64, 32)));
  expect(DIAG_COPY_EXTENTS);
}
END_TEST

START_TEST(tile_in_parallel) {
  begin(128, 1, 1);
  Stmt *body = block();
  put(body, copy(whole(A), whole(S)));
  put(T.k->body, loop(LOOP_PARALLEL, loop_var("i"), I(0), I(64), body));
  expect(DIAG_TILE_IN_PARALLEL);
}
END_TEST

START_TEST(atomic_type) {
  begin(128, 1, 1);
  Buffer *Q = param("Q", DT_I8, 1, I(64), NULL, 64);
  Region *one = region_new(T.a, Q, (Expr *[]){I(0)}, (Expr *[]){I(1)});
  put(T.k->body, st_atomic(T.a, NO_SPAN, one, ex_int(T.a, DT_I8, 1), (int64_t)ATOMIC_ADD));
  expect(DIAG_ATOMIC_TYPE);
}
END_TEST

int main(void) {
  Suite *s = suite_create("check");
  TCase *t = tcase_create("tir");
  const TTest *const tests[] = {
      threads, grid, gemm_shape, gemm_operand, copy_extents, tile_in_parallel, atomic_type};
  for (size_t i = 0; i < LEN(tests); i++) tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  return suite_run(s);
}
