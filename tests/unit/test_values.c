// Element values through the emulator and the oracle: copies keep every bit pattern's meaning, and
// 64-bit arithmetic wraps at its edges.
// SPDX-License-Identifier: MIT
#include "tests/unit/emu_build.h"

static const uint8_t patterns[] = {0x7c, 0xfc, 0x7b, 0xfb, 0x00, 0x80, 0x01, 0x3c};

static void expect_patterns(const void *copy) {
  ck_assert_mem_eq(copy, patterns, sizeof patterns);
}

// 0x7c and 0xfc are e5m2's infinities (OCP FP8): only a conversion saturates them.
START_TEST(thread_copies_keep_infinities) {
  bench_begin(32, 1);
  int n = (int)sizeof patterns;
  Buffer *from = param("A", DT_E5M2, n), *one = param("B", DT_E5M2, n);
  Buffer *run = param("C", DT_E5M2, n), *regs = buffer("r", DT_E5M2, SC_LOCAL, n);
  memcpy(T.arg[0].data, patterns, sizeof patterns);
  put(T.k->body, when(lt(tx(), I(n)), store(one, tx(), at(from, tx())), NULL));
  Stmt *moves = block();
  put(moves, vmov(span_of(from, I(0), n), span_of(regs, I(0), n)));
  put(moves, vmov(span_of(regs, I(0), n), span_of(run, I(0), n)));
  put(T.k->body, when(bin(BIN_EQ, tx(), I(0)), moves, NULL));
  expect_clean();
  expect_patterns(T.arg[1].data);
  expect_patterns(T.arg[2].data);
}
END_TEST

START_TEST(tile_copies_keep_infinities) {
  bench_begin(32, 1);
  T.k->level = LEVEL_TILE;
  int n = (int)sizeof patterns;
  Buffer *from = param("A", DT_E5M2, n), *to = param("B", DT_E5M2, n);
  memcpy(T.arg[0].data, patterns, sizeof patterns);
  put(T.k->body, st_op(T.a, OP_COPY, NO_SPAN, region_whole(T.a, from), region_whole(T.a, to),
                       (int64_t)0));
  ck_assert(oracle_run(T.p, &(EmuCall){.args = T.arg}, T.diags));
  expect_patterns(T.arg[1].data);
}
END_TEST

START_TEST(conversions_to_e5m2_saturate) {
  bench_begin(32, 1);
  Buffer *from = param("A", DT_F32, 3), *to = param("B", DT_E5M2, 3);
  memcpy(T.arg[0].data, (float[]){(float)INFINITY, -1e30f, 1}, 3 * sizeof(float));
  Expr *narrow = ex_cast(T.a, DT_E5M2, at(from, tx()));
  put(T.k->body, when(lt(tx(), I(3)), store(to, tx(), narrow), NULL));
  expect_clean();
  ck_assert_mem_eq(T.arg[1].data, ((uint8_t[]){0x7b, 0xfb, 0x3c}), 3);
}
END_TEST

// Python's a % b and a // b, and products modulo 2^64.
START_TEST(int64_at_its_edges) {
  static const int64_t a[] = {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  static const int64_t b[] = {3, INT64_MAX, -3, INT64_MIN, -1, INT64_MIN};
  static const int64_t mod[] = {1, INT64_MAX - 1, -2, -1, 0, INT64_MIN + 1};
  static const int64_t quo[] = {-3074457345618258603, -2, -3074457345618258603, -1, INT64_MIN, 0};
  static const int64_t product[] = {INT64_MIN, INT64_MIN, INT64_MIN + 3, INT64_MIN, INT64_MIN,
                                    INT64_MIN};
  bench_begin(32, 1);
  int n = (int)LEN(a);
  Buffer *x = param("A", DT_I64, n), *y = param("B", DT_I64, n);
  static const BinOp ops[] = {BIN_FLOORMOD, BIN_FLOORDIV, BIN_MUL};
  Stmt *body = block();
  for (size_t i = 0; i < LEN(ops); i++)
    put(body, store(param("C", DT_I64, n), tx(), bin(ops[i], at(x, tx()), at(y, tx()))));
  memcpy(T.arg[0].data, a, sizeof a);
  memcpy(T.arg[1].data, b, sizeof b);
  put(T.k->body, when(lt(tx(), I(n)), body, NULL));
  expect_clean();
  ck_assert_mem_eq(T.arg[2].data, mod, sizeof mod);
  ck_assert_mem_eq(T.arg[3].data, quo, sizeof quo);
  ck_assert_mem_eq(T.arg[4].data, product, sizeof product);
}
END_TEST

int main(void) {
  const TTest *tests[] = {thread_copies_keep_infinities, tile_copies_keep_infinities,
                          conversions_to_e5m2_saturate, int64_at_its_edges};
  return run_suite("values", tests, LEN(tests));
}
