// Lowered copies and loops against the oracle: widths, threads, conflicts of layouts, scalars and
// atomics.
// SPDX-License-Identifier: MIT
#include "lower_bench.h"

#include "ir/layout.h"
#include "suite.h"

// C = A + B over tiles of 256; N as a constant and as a size.
START_TEST(vector_add) {
  for (size_t w = 0; w < LEN(some_widths); w++)
    for (int dynamic = 0; dynamic < 2; dynamic++) {
      int n = some_widths[w], threads = some_threads[_i];
      lower_begin(threads, up(n, 256), 1);
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
      lower_begin(threads, 1, 1);
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
      lower_begin(64, 1, 1);
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
  lower_begin(128, 1, 1);
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
  lower_begin(64, 2, 1);
  Buffer *C = param("C", DT_I32, 1, I(300), NULL, 300);
  Buffer *f = buffer("f", DT_I32, SC_FRAGMENT, 1, I(4), NULL);
  Expr *bx = V(T.k->block[0]);
  put(T.k->body, st_op(T.a, OP_FILL, NO_SPAN, whole(f), ex_int(T.a, DT_I32, 7)));
  put(T.k->body, to1(f, I(2), ex_int(T.a, DT_I32, 9)));
  put(T.k->body, to1(C, add(mul(bx, 128), I(64)), at1(f, I(2))));
  put(T.k->body, to1(C, add(mul(bx, 128), tx()), ex_cast(T.a, DT_I32, tx())));
  put(T.k->body,
      st_atomic(T.a, NO_SPAN, region_new(T.a, C, (Expr *[]){I(299)}, (Expr *[]){I(1)}),
            ex_int(T.a, DT_I32, 1), (int64_t)ATOMIC_ADD));
  expect_lowered();
}
END_TEST

// Tile-wise and element-wise atomics, vectorised for 16-bit types.
START_TEST(atomics) {
  static const DType types[] = {DT_F32, DT_F16, DT_BF16, DT_I32};
  lower_begin(128, 1, 1);
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
               st_atomic(T.a, NO_SPAN, one, at2(S, V(w[0]), V(w[1])), (int64_t)ATOMIC_ADD)));
  expect_lowered();
  int vectors = count(T.k->body, OP_VATOMIC);
  ck_assert_int_eq(vectors, (t == DT_F16 || t == DT_BF16) && n == 32 ? 2 : 0);
}
END_TEST

// Run-time extents: bounded by facts (a mapping with a guard) and not at all.
START_TEST(dynamic_extents) {
  for (int n = 0; n < 300; n += 37) {
    lower_begin(96, up(n, 64) + 1, 1);
    Expr *N = V(size_var("N", n));
    Buffer *A = param("A", DT_F32, 1, N, NULL, n + 1), *C = param("C", DT_F32, 1, N, NULL, n + 1);
    Buffer *f = buffer("f", DT_F32, SC_SHARED, 1, I(64), NULL);
    Var *i = loop_var("i"), *j = loop_var("j"), *k[2] = {loop_var("k"), loop_var("l")};
    Expr *base = mul(V(T.k->block[0]), 64), *left = bin(BIN_MIN, I(64), sub(N, base));
    put(T.k->body, st_op(T.a, OP_FILL, NO_SPAN, whole(f), ex_float(T.a, DT_F32, 1)));
    put(T.k->body, parallel(1, &i, &left, to1(f, V(i), at1(A, add(base, V(i))))));
    put(T.k->body, parallel(1, &j, &left, to1(C, add(base, V(j)), at1(f, V(j)))));
    Expr *e[2] = {quo(N, 3), I(3)}, *at = add(mul(V(k[0]), 3), V(k[1]));
    Buffer *D = param("D", DT_F32, 1, N, NULL, n + 1);
    Stmt *all = parallel(2, k, e, to1(D, at, add(at1(A, at), at1(A, at))));
    Expr *once = bin(BIN_EQ, V(T.k->block[0]), I(up(n, 64)));
    put(T.k->body, st_if(T.a, once, all, NULL, NO_SPAN));
    expect_lowered();
  }
}
END_TEST

// Parts of fragments, both ways, and a fragment whose elements a serial loop inside reads.
START_TEST(fragment_parts) {
  lower_begin(some_threads[_i], 1, 1);
  Buffer *A = param("A", DT_F16, 2, I(40), I(48), 40 * 48),
         *C = param("C", DT_F16, 2, I(40), I(48), 40 * 48);
  Buffer *R = param("R", DT_F32, 1, I(40), NULL, 40);
  Buffer *f = buffer("f", DT_F16, SC_FRAGMENT, 2, I(40), I(48));
  Buffer *r = buffer("r", DT_F32, SC_FRAGMENT, 1, I(40), NULL);
  put(T.k->body, copy(whole(A), whole(f)));
  put(T.k->body, copy(box(A, I(3), I(8), 20, 16), box(f, I(10), I(24), 20, 16)));
  put(T.k->body, copy(box(f, I(1), I(7), 30, 33), box(C, I(5), I(0), 30, 33)));
  put(T.k->body, fill(r, 2));
  Var *i = loop_var("i"), *k = loop_var("k");
  Stmt *sum = to1(r, V(i), add(at1(r, V(i)), ex_cast(T.a, DT_F32, at2(f, V(i), V(k)))));
  put(T.k->body, parallel(1, &i, (Expr *[]){I(40)}, loop(LOOP_SERIAL, k, I(0), I(48), sum)));
  put(T.k->body, copy(whole(r), whole(R)));
  expect_lowered();
}
END_TEST

// Two fragments of different known layouts written in one loop; one read where it is a row vector.
START_TEST(two_vectors) {
  Gemm g = plain;
  g.M = g.N = g.bm = g.bn = 64;
  g.threads = _i ? 64 : 128;
  gemm_program(&g);
  Buffer *R = param("R", DT_F32, 2, I(64), I(64), 64 * 64), *acc = accumulator();
  Buffer *row = buffer("row", DT_F32, SC_FRAGMENT, 1, I(64), NULL);
  Buffer *col = buffer("col", DT_F32, SC_FRAGMENT, 2, I(64), I(1));
  Var *i = loop_var("i"), *v[2] = {loop_var("i"), loop_var("j")};
  Stmt *both = block();
  put(both, to1(row, V(i), ex_cast(T.a, DT_F32, V(i))));
  put(both, to2(col, V(i), I(0), ex_cast(T.a, DT_F32, mul(V(i), 3))));
  put(T.k->body, parallel(1, &i, (Expr *[]){I(64)}, both));
  Expr *sum = add(add(at2(acc, V(v[0]), V(v[1])), at1(row, V(v[1]))), at2(col, V(v[0]), I(0)));
  put(T.k->body, parallel(2, v, (Expr *[]){I(64), I(64)}, to2(R, V(v[0]), V(v[1]), sum)));
  expect_lowered();
}
END_TEST

// acc = A B; P = f16(acc); out = P V: the accumulator becomes an operand of the next gemm.
START_TEST(chained_gemms) {
  lower_begin(128, 1, 1);
  GemmPolicy policy = _i ? POLICY_SQUARE : POLICY_FULL_ROW;
  Buffer *A = param("A", DT_F16, 2, I(64), I(32), 64 * 32),
         *B = param("B", DT_F16, 2, I(48), I(32), 48 * 32);
  Buffer *W = param("W", DT_F16, 2, I(48), I(40), 48 * 40),
         *C = param("C", DT_F32, 2, I(64), I(40), 64 * 40);
  Buffer *As = buffer("As", DT_F16, SC_SHARED, 2, I(64), I(32)),
         *Bs = buffer("Bs", DT_F16, SC_SHARED, 2, I(48), I(32));
  Buffer *Ws = buffer("Ws", DT_F16, SC_SHARED, 2, I(48), I(40));
  Buffer *acc = buffer("acc", DT_F32, SC_FRAGMENT, 2, I(64), I(48));
  Buffer *P = buffer("P", DT_F16, SC_FRAGMENT, 2, I(64), I(48)),
         *out = buffer("out", DT_F32, SC_FRAGMENT, 2, I(64), I(40));
  Stmt *b = T.k->body;
  put(b, copy(whole(A), whole(As)));
  put(b, copy(whole(B), whole(Bs)));
  put(b, copy(whole(W), whole(Ws)));
  put(b, fill(out, 0));
  put(b, st_op(T.a, OP_GEMM, NO_SPAN, whole(As), whole(Bs), whole(acc), (int64_t)0, (int64_t)1,
               (int64_t)policy, ex_bool(T.a, true)));
  put(b, copy(whole(acc), whole(P)));
  put(b, st_op(T.a, OP_GEMM, NO_SPAN, whole(P), whole(Ws), whole(out), (int64_t)0, (int64_t)0,
               (int64_t)policy, ex_bool(T.a, false)));
  // The same accumulator under another policy.
  put(b, st_op(T.a, OP_GEMM, NO_SPAN, whole(P), whole(Ws), whole(out), (int64_t)0, (int64_t)0,
               (int64_t)POLICY_FULL_ROW, ex_bool(T.a, false)));
  put(b, copy(whole(out), whole(C)));
  expect_lowered();
}
END_TEST

// Per-thread arrays, vectorized loops of any width, nested parallel loops.
START_TEST(local_arrays) {
  lower_begin(32, 1, 1);
  Buffer *A = param("A", DT_F16, 2, I(32), I(12), 32 * 12),
         *C = param("C", DT_F32, 2, I(32), I(12), 32 * 12);
  Buffer *S = buffer("S", DT_F16, SC_SHARED, 2, I(32), I(12)),
         *r = buffer("r", DT_F16, SC_LOCAL, 1, I(12), NULL);
  put(T.k->body, copy(whole(A), whole(S)));
  Region *mine = region_new(T.a, S, (Expr *[]){tx(), I(0)}, (Expr *[]){I(1), I(12)});
  put(T.k->body, copy(mine, whole(r)));
  Var *v = loop_var("v"), *i = loop_var("i"), *j = loop_var("j");
  int width = 2 + 2 * _i;
  put(T.k->body, loop(LOOP_VECTORIZED, v, I(0), I(width),
                      to2(C, tx(), V(v), ex_cast(T.a, DT_F32, at1(r, V(v))))));
  Expr *x = ex_cast(T.a, DT_F32, at2(S, V(i), add(V(j), I(width))));
  Stmt *inner = parallel(1, &j, (Expr *[]){I(12 - width)}, to2(C, V(i), add(V(j), I(width)), x));
  put(T.k->body, parallel(1, &i, (Expr *[]){I(32)}, inner));
  expect_lowered();
}
END_TEST

// A swizzle by annotation, on a tile that becomes a ring and on one that a loop transposes.
START_TEST(annotated) {
  Gemm g = plain;
  g.stages = _i;
  g.tb = 1;
  g.stage_c = true;
  gemm_program(&g);
  for (int i = 0; i < T.k->buffers.len; i++) {
    Buffer *b = T.k->buffers.data[i];
    if (b->scope != SC_SHARED) continue;
    b->layout =
        layout_swizzled(T.a, (int)b->shape[0]->u.i, (int)b->shape[1]->u.i, dt_bits(b->dtype));
  }
  expect_lowered();
  ck_assert_int_eq(report.bank_conflicts, 0);
}
END_TEST

int main(void) {
  Suite *s = suite_create("lower loops");
  TCase *c = tcase_create("lower loops");
  tcase_set_timeout(c, 120);
  tcase_add_checked_fixture(c, NULL, bench_end);
  tcase_add_loop_test(c, vector_add, 0, 5);
  tcase_add_loop_test(c, copy_round, 0, 5);
  tcase_add_loop_test(c, copy_unaligned, 0, 2);
  tcase_add_loop_test(c, fragment_conflicts, 0, 6);
  tcase_add_test(c, scalar_statements);
  tcase_add_loop_test(c, atomics, 0, 8);
  tcase_add_test(c, dynamic_extents);
  tcase_add_loop_test(c, fragment_parts, 0, 5);
  tcase_add_loop_test(c, two_vectors, 0, 2);
  tcase_add_loop_test(c, chained_gemms, 0, 2);
  tcase_add_loop_test(c, local_arrays, 0, 4);
  tcase_add_loop_test(c, annotated, 0, 4);
  suite_add_tcase(s, c);
  return suite_run(s);
}
