// Lowered copies and loops against the oracle: widths, threads, conflicts of layouts, scalars, atomics.
// SPDX-License-Identifier: MIT
#include "lower_bench.h"

// C = A + B over tiles of 256; N as a constant and as a size.
START_TEST(vector_add) {
  for (size_t w = 0; w < LEN(some_widths); w++)
    for (int dynamic = 0; dynamic < 2; dynamic++) {
      int n = some_widths[w], threads = some_threads[_i];
      bench_begin(LEVEL_TILE, threads, up(n, 256), 1);
      Expr *N = dynamic ? V(size_var("N", n)) : I(n);
      Buffer *A = param("A", DT_F32, 1, N, NULL, n), *B = param("B", DT_F16, 1, N, NULL, n);
      Buffer *C = param("C", DT_F32, 1, N, NULL, n);
      Var *i = loop_var("i");
      Expr *x = add(mul(V(T.k->block[0]), 256), V(i));
      put(T.k->body, parallel(1, &i, (Expr *[]){I(256)},
                              to1(C, x, add(at1(A, x), ex_cast(T.a, DT_F32, at1(B, x))))));
      expect_lowered();
      if (threads == 128 && n == 1024 && !dynamic)
        ck_assert_int_eq(report.global_sectors, report.global_min);
    }
}
END_TEST

// Global -> shared -> fragment -> global, with a type change and any width.
START_TEST(copy_round) {
  for (size_t w = 0; w < LEN(some_widths); w++)
    for (int rows = 1; rows <= 60; rows += 59) {
      int n = some_widths[w], threads = some_threads[_i];
      bench_begin(LEVEL_TILE, threads, 1, 1);
      Buffer *A = param("A", DT_F16, 2, I(rows), I(n), rows * n);
      Buffer *C = param("C", DT_F32, 2, I(rows), I(n), rows * n);
      Buffer *S = buffer("S", DT_F16, SC_SHARED, 2, I(64), I(n));
      Buffer *f = buffer("f", DT_F16, SC_FRAGMENT, 2, I(64), I(n));
      Buffer *g = buffer("g", DT_F32, SC_FRAGMENT, 2, I(64), I(n));
      A->safe = ex_float(T.a, DT_F16, -99);
      put(T.k->body, copy(box(A, I(0), I(0), 64, n), whole(S)));
      put(T.k->body, copy(whole(S), whole(f)));
      put(T.k->body, copy(whole(f), whole(g)));
      put(T.k->body, copy(whole(g), box(C, I(0), I(0), 64, n)));
      if (n * 64 * 2 > 60000) continue;
      expect_lowered();
    }
}
END_TEST

// Unaligned copies: column offsets, odd lengths, views that start anywhere.
START_TEST(copy_unaligned) {
  for (int off = 0; off < 9; off++)
    for (int async = 0; async < 2; async++) {
      int n = 63 + off;
      bench_begin(LEVEL_TILE, 64, 1, 1);
      Buffer *A = param("A", _i ? DT_F16 : DT_F32, 2, I(5), I(n), 5 * n);
      Buffer *C = param("C", _i ? DT_F16 : DT_F32, 2, I(5), I(n), 5 * n);
      Buffer *S = buffer("S", A->dtype, SC_SHARED, 2, I(4), I(32));
      Var *k = loop_var("k");
      Stmt *body = block();
      put(body, copy(box(A, V(k), add(mul(V(k), 16), I(off)), 4, 32), whole(S)));
      put(body, copy(whole(S), box(C, V(k), add(mul(V(k), 16), I(off)), 4, 32)));
      put(T.k->body,
          async ? pipelined(k, I(0), I(3), 2, body) : loop(LOOP_SERIAL, k, I(0), I(3), body));
      expect_lowered();
    }
}
END_TEST

// Demands that differ: shifted and transposed reads of a fragment, a fragment of a gemm read both
// ways.
START_TEST(fragment_conflicts) {
  int n = some_widths[_i % 6];
  bench_begin(LEVEL_TILE, 128, 1, 1);
  Buffer *A = param("A", DT_F32, 1, I(n), NULL, n), *C = param("C", DT_F32, 1, I(n), NULL, n);
  Buffer *f = buffer("f", DT_F32, SC_FRAGMENT, 1, I(n), NULL);
  put(T.k->body, copy(whole(A), whole(f)));
  Var *i = loop_var("i");
  Expr *next = rem(add(V(i), I(1)), n);
  put(T.k->body, parallel(1, &i, (Expr *[]){I(n)}, to1(C, V(i), add(at1(f, V(i)), at1(f, next)))));
  expect_lowered();

  Gemm g = plain;
  g.M = g.N = g.bm = g.bn = 64;
  gemm_program(&g);
  Buffer *acc = accumulator(), *t = buffer("t", DT_F32, SC_FRAGMENT, 2, I(64), I(64));
  Stmt *last = T.k->body->u.block.data[--T.k->body->u.block.len];
  Var *v[2] = {loop_var("i"), loop_var("j")};
  put(T.k->body, parallel(2, v, (Expr *[]){I(64), I(64)},
                          to2(t, V(v[0]), V(v[1]), at2(acc, V(v[1]), V(v[0])))));
  Var *w[2] = {loop_var("i"), loop_var("j")};
  put(T.k->body, parallel(2, w, (Expr *[]){I(64), I(64)},
                          to2(acc, V(w[0]), V(w[1]),
                              add(at2(acc, V(w[0]), V(w[1])), at2(t, V(w[0]), V(w[1]))))));
  put(T.k->body, last);
  expect_lowered();
}
END_TEST

// Scalar statements: a store that the block does once, one that each thread does, a fragment
// element.
START_TEST(scalar_statements) {
  bench_begin(LEVEL_TILE, 64, 2, 1);
  Buffer *C = param("C", DT_I32, 1, I(300), NULL, 300);
  Buffer *f = buffer("f", DT_I32, SC_FRAGMENT, 1, I(4), NULL);
  Expr *bx = V(T.k->block[0]);
  put(T.k->body, st_op(T.a, OP_FILL, NO_SPAN, whole(f), ex_int(T.a, DT_I32, 7)));
  put(T.k->body, to1(f, I(2), ex_int(T.a, DT_I32, 9)));
  put(T.k->body, to1(C, add(mul(bx, 128), I(64)), at1(f, I(2))));
  put(T.k->body, to1(C, add(mul(bx, 128), tx()), ex_cast(T.a, DT_I32, tx())));
  put(T.k->body,
      st_op(T.a, OP_ATOMIC, NO_SPAN, region_new(T.a, C, (Expr *[]){I(299)}, (Expr *[]){I(1)}),
            ex_int(T.a, DT_I32, 1), (int64_t)ATOMIC_ADD));
  expect_lowered();
}
END_TEST

// Tile-wise and element-wise atomics, vectorised for 16-bit types.
START_TEST(atomics) {
  static const DType types[] = {DT_F32, DT_F16, DT_BF16, DT_I32};
  bench_begin(LEVEL_TILE, 128, 1, 1);
  DType t = types[_i / 2];
  int n = _i % 2 ? 32 : 31;
  Buffer *C = param("C", t, 2, I(20), I(n), 20 * n);
  Buffer *S = buffer("S", t, SC_SHARED, 2, I(16), I(32));
  Var *v[2] = {loop_var("i"), loop_var("j")};
  put(T.k->body, parallel(2, v, (Expr *[]){I(16), I(32)},
                          to2(S, V(v[0]), V(v[1]), ex_cast(T.a, t, add(V(v[0]), V(v[1]))))));
  put(T.k->body, st_op(T.a, OP_ATOMIC_TILE, NO_SPAN, box(C, I(8), I(0), 16, 32), whole(S),
                       (int64_t)ATOMIC_ADD));
  Var *w[2] = {loop_var("i"), loop_var("j")};
  Region *one = region_new(T.a, C, (Expr *[]){V(w[0]), V(w[1])}, (Expr *[]){I(1), I(1)});
  put(T.k->body,
      parallel(2, w, (Expr *[]){I(16), I(32)},
               st_op(T.a, OP_ATOMIC, NO_SPAN, one, at2(S, V(w[0]), V(w[1])), (int64_t)ATOMIC_ADD)));
  expect_lowered();
  int vectors = count(T.k->body, OP_VATOMIC);
  ck_assert_int_eq(vectors, (t == DT_F16 || t == DT_BF16) && n == 32 ? 2 : 0);
}
END_TEST

int main(void) {
  Suite *s = suite_create("lower loops");
  TCase *c = tcase_create("lower loops");
  tcase_set_timeout(c, 120);
  tcase_add_loop_test(c, vector_add, 0, 5);
  tcase_add_loop_test(c, copy_round, 0, 5);
  tcase_add_loop_test(c, copy_unaligned, 0, 2);
  tcase_add_loop_test(c, fragment_conflicts, 0, 6);
  tcase_add_test(c, scalar_statements);
  tcase_add_loop_test(c, atomics, 0, 8);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
