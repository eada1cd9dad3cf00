// Tile passes against the oracle: what they produce computes what the program did before; counts of
// what the pipeline makes; the raster formula; partitions against their definition.
// SPDX-License-Identifier: MIT
#include "pass_build.h"
#include "suite.h"

static void ints(int arg, DType t, int64_t n, int modulus) {
  for (int64_t i = 0; i < n; i++) {
    int v = (int)((i * 7 + i / 13 + arg) % modulus) - modulus / 2;
    if (t == DT_F16) ((uint16_t *)T.arg[arg].data)[i] = (uint16_t)num_f16_from_f32((float)v);
    else ((float *)T.arg[arg].data)[i] = (float)v;
  }
}

/* gemm: any stages, trip counts, static and symbolic K */

typedef struct {
  int M, N, K, bm, bn, bk, stages;
  bool dynamic;
  int first; // the loop counts from here
} Gemm;

static void build_gemm(Gemm g) {
  bench_begin(LEVEL_TILE, 128, (g.N + g.bn - 1) / g.bn, (g.M + g.bm - 1) / g.bm);
  Expr *K = g.dynamic ? V(size_var("K", g.K)) : I(g.K);
  Buffer *A = param("A", DT_F16, 2, I(g.M), K, g.M * g.K);
  Buffer *B = param("B", DT_F16, 2, K, I(g.N), g.K * g.N);
  Buffer *C = param("C", DT_F32, 2, I(g.M), I(g.N), g.M * g.N);
  ints(0, DT_F16, g.M * g.K, 5);
  ints(1, DT_F16, g.K * g.N, 7);
  Buffer *As = buffer("A_shared", DT_F16, SC_SHARED, 2, I(g.bm), I(g.bk));
  Buffer *Bs = buffer("B_shared", DT_F16, SC_SHARED, 2, I(g.bk), I(g.bn));
  Buffer *Cl = buffer("C_local", DT_F32, SC_FRAGMENT, 2, I(g.bm), I(g.bn));
  Expr *by = mul(V(T.k->block[1]), g.bm), *bx = mul(V(T.k->block[0]), g.bn);
  Var *k = loop_var("k");
  Expr *ko = mul(sub(V(k), I(g.first)), g.bk);
  Stmt *body = block();
  put(body, copy(box(A, by, ko, g.bm, g.bk), whole(As)));
  put(body, copy(box(B, ko, bx, g.bk, g.bn), whole(Bs)));
  put(body, gemm(whole(As), whole(Bs), Cl, 0, 0, POLICY_SQUARE));
  Expr *n = ex_floordiv(T.a, add(K, I(g.bk - 1)), I(g.bk));
  put(T.k->body, fill(Cl, 0));
  put(T.k->body, pipelined(k, I(g.first), n, g.stages, body));
  put(T.k->body, copy(whole(Cl), box(C, by, bx, g.bm, g.bn)));
}

static void check_pending(void *ctx, Stmt *s) {
  if (s->kind == ST_OP && s->u.op.op == OP_ASYNC_WAIT)
    ck_assert_int_eq(s->u.op.arg[0].i, *(int *)ctx);
}

START_TEST(gemm_stages) {
  static const int Ks[] = {0, 16, 32, 48, 100, 160};
  for (size_t i = 0; i < LEN(Ks); i++) {
    for (int stages = 0; stages <= 5; stages++) {
      for (int form = 0; form < 4; form++) {
        build_gemm((Gemm){40, 24, Ks[i], 32, 16, 16, stages, form & 1, form & 2 ? 3 : 0});
        expect_same();
        int waits = count(T.k->body, OP_ASYNC_WAIT), commits = count(T.k->body, OP_ASYNC_COMMIT);
        int trips = (Ks[i] + 15) / 16, s = form & 1 || trips > stages ? stages : trips;
        // Rows of A are K halves long: a symbolic K proves 2 bytes only, but B's rows are 24 long.
        ck_assert_int_eq(waits, s >= 1);
        st_walk(T.k->body, check_pending, &(int){s > 2 ? s - 2 : 0});
        ck_assert_int_eq(commits, s == 0 ? 0 : s);
        arena_free(T.a);
      }
    }
  }
}
END_TEST

// The whole pipeline: one barrier an iteration for two and more stages, two for fewer.
START_TEST(gemm_barriers) {
  for (int stages = 0; stages <= 4; stages++) {
    for (int dynamic = 0; dynamic < 2; dynamic++) {
      build_gemm((Gemm){128, 128, 512, 64, 64, 32, stages, dynamic, 0});
      if (dynamic) { // rows of A are 16-byte aligned, says the program
        Expr *mod = ex_floormod(T.a, V(T.p->sizes.data[0]), I(8));
        vec_push(T.a, &T.p->facts, ((Fact){.cond = bin(BIN_EQ, mod, I(0))}));
      }
      T.c.plan = NULL;
      ck_assert(passes_run(T.p, &T.c));
      int inside = 0, loops = 0;
      for (int i = 0; i < T.k->body->u.block.len; i++) {
        Stmt *s = T.k->body->u.block.data[i];
        if (s->kind != ST_FOR || !count(s, OP_MMA)) continue;
        inside += count(s, OP_SYNC);
        loops++;
      }
      ck_assert_int_eq(loops, 1);
      ck_assert_int_eq(inside, stages >= 2 ? 1 : 2);
      arena_free(T.a);
    }
  }
}
END_TEST

/* CASES 1: read, then overwritten in the iteration */

START_TEST(read_then_overwrite) {
  for (int stages = 0; stages <= 3; stages++) {
    bench_begin(LEVEL_TILE, 32, 1, 1);
    Buffer *src = param("src", DT_F32, 2, I(8), I(32), 256);
    Buffer *out = param("out", DT_F32, 2, I(1), I(32), 32);
    ints(0, DT_F32, 256, 11);
    Buffer *S = buffer("S", DT_F32, SC_SHARED, 2, I(1), I(32));
    Buffer *acc = buffer("acc", DT_F32, SC_FRAGMENT, 2, I(1), I(32));
    Var *k = loop_var("k"), *i = loop_var("i");
    Expr *at[] = {I(0), V(i)};
    Stmt *sum =
        st_store(T.a, acc, at, 2, add(ex_load(T.a, acc, at, 2), ex_load(T.a, S, at, 2)), NO_SPAN);
    Stmt *body = block();
    put(body, loop(LOOP_PARALLEL, i, I(0), I(32), sum));
    put(body, copy(box(src, V(k), I(0), 1, 32), whole(S)));
    put(T.k->body, fill(S, 3));
    put(T.k->body, fill(acc, 0));
    put(T.k->body, pipelined(k, I(0), I(8), stages, body));
    put(T.k->body, copy(whole(acc), whole(out)));
    expect_same();
    const float *in = T.arg[0].data, *got = T.arg[1].data;
    for (int j = 0; j < 32; j++) {
      float want = 3;
      for (int r = 0; r < 7; r++) want += in[r * 32 + j];
      ck_assert(got[j] == want);
    }
    ck_assert_int_eq(buf_elems(S), 32); // no ring
    arena_free(T.a);
  }
}
END_TEST

/* CASES 3 and 5: tiles that live outside their pipeline */

// fill(S); [outer x times] loop 1 over n1 (S read), loop 2 over n2; S is written out after each.
static void build_outliving(int n1, int s1, int n2, int s2, int outer, bool dynamic) {
  bench_begin(LEVEL_TILE, 32, 1, 1);
  Expr *N1 = dynamic ? V(size_var("n1", n1)) : I(n1), *N2 = dynamic ? V(size_var("n2", n2)) : I(n2);
  Buffer *src = param("src", DT_F32, 2, I(16), I(32), 512);
  Buffer *out = param("out", DT_F32, 2, I(64), I(32), 64 * 32);
  ints(0, DT_F32, 512, 17);
  Buffer *S = buffer("S", DT_F32, SC_SHARED, 2, I(1), I(32));
  Buffer *acc = buffer("acc", DT_F32, SC_FRAGMENT, 2, I(1), I(32));
  Var *o = loop_var("o");
  Stmt *all = block();
  put(all, copy(whole(S), box(out, add(mul(V(o), 4), I(3)), I(0), 1, 32))); // from the round before
  Expr *n[] = {N1, N2};
  int stages[] = {s1, s2};
  for (int j = 0; j < 2; j++) {
    Var *k = loop_var("k"), *i = loop_var("i");
    Expr *at[] = {I(0), V(i)};
    Stmt *sum =
        st_store(T.a, acc, at, 2, add(ex_load(T.a, acc, at, 2), ex_load(T.a, S, at, 2)), NO_SPAN);
    Stmt *body = block();
    put(body, copy(box(src, add(V(k), V(o)), I(0), 1, 32), whole(S)));
    put(body, loop(LOOP_PARALLEL, i, I(0), I(32), sum));
    put(all, pipelined(k, I(j), n[j], stages[j], body));
    put(all, copy(whole(S), box(out, add(mul(V(o), 4), I(j)), I(0), 1, 32)));
  }
  put(all, copy(whole(acc), box(out, add(mul(V(o), 4), I(2)), I(0), 1, 32)));
  put(T.k->body, fill(S, 9));
  put(T.k->body, fill(acc, 0));
  put(T.k->body, loop(LOOP_SERIAL, o, I(0), I(outer), all));
}

START_TEST(outliving) {
  static const int trips[][2] = {{0, 0}, {0, 3}, {1, 0}, {1, 1}, {2, 5}, {7, 6}};
  static const int stages[][2] = {{0, 0}, {1, 2}, {2, 4}, {3, 3}, {4, 2}};
  for (size_t t = 0; t < LEN(trips); t++) {
    for (size_t s = 0; s < LEN(stages); s++) {
      for (int form = 0; form < 4; form++) {
        build_outliving(trips[t][0], stages[s][0], trips[t][1], stages[s][1], form & 1 ? 3 : 1,
                        form & 2);
        expect_same();
        arena_free(T.a);
      }
    }
  }
}
END_TEST

// A pipelined loop inside a pipelined loop, both with copies.
START_TEST(nested) {
  for (int form = 0; form < 36; form++) {
    int s1 = form % 3 + 1, s2 = form / 3 % 4, n2 = form / 12 * 2;
    bench_begin(LEVEL_TILE, 32, 1, 1);
    Buffer *P = param("P", DT_F32, 2, I(8), I(32), 256),
           *Q = param("Q", DT_F32, 2, I(16), I(32), 512);
    Buffer *out = param("out", DT_F32, 2, I(1), I(32), 32);
    ints(0, DT_F32, 256, 9);
    ints(1, DT_F32, 512, 5);
    Buffer *Ps = buffer("Ps", DT_F32, SC_SHARED, 2, I(1), I(32));
    Buffer *Qs = buffer("Qs", DT_F32, SC_SHARED, 2, I(1), I(32));
    Buffer *acc = buffer("acc", DT_F32, SC_FRAGMENT, 2, I(1), I(32));
    Var *k = loop_var("k"), *j = loop_var("j"), *i = loop_var("i");
    Expr *at[] = {I(0), V(i)};
    Expr *prod = bin(BIN_MUL, ex_load(T.a, Ps, at, 2), ex_load(T.a, Qs, at, 2));
    Stmt *sum = st_store(T.a, acc, at, 2, add(ex_load(T.a, acc, at, 2), prod), NO_SPAN);
    Stmt *inner = block(), *body = block();
    put(inner, copy(box(Q, add(V(j), V(k)), I(0), 1, 32), whole(Qs)));
    put(inner, loop(LOOP_PARALLEL, i, I(0), I(32), sum));
    put(body, copy(box(P, V(k), I(0), 1, 32), whole(Ps)));
    put(body, pipelined(j, I(0), I(n2), s2, inner));
    put(T.k->body, fill(acc, 0));
    put(T.k->body, pipelined(k, I(0), I(6), s1, body));
    put(T.k->body, copy(whole(acc), whole(out)));
    expect_same();
    arena_free(T.a);
  }
}
END_TEST

// An address from memory moves with its copy; one that the loop changes keeps the copy in order.
START_TEST(address_lets) {
  for (int form = 0; form < 8; form++) {
    int stages = form % 4;
    bool changed = form / 4;
    bench_begin(LEVEL_TILE, 32, 1, 1);
    Buffer *src = param("src", DT_F32, 2, I(8), I(32), 256),
           *table = param("table", DT_I32, 1, I(8), NULL, 8);
    Buffer *out = param("out", DT_F32, 2, I(1), I(32), 32);
    ints(0, DT_F32, 256, 9);
    for (int r = 0; r < 8; r++) ((int32_t *)T.arg[1].data)[r] = (r * 5 + 3) % 8;
    Buffer *S = buffer("S", DT_F32, SC_SHARED, 2, I(1), I(32));
    Buffer *acc = buffer("acc", DT_F32, SC_FRAGMENT, 2, I(1), I(32));
    Buffer *pos = buffer("pos", DT_INDEX, SC_LOCAL, 1, I(1), NULL);
    Var *k = loop_var("k"), *i = loop_var("i"),
        *row = var_new(T.a, "row", DT_INDEX, VAR_LET, NO_SPAN);
    Expr *at[] = {I(0), V(i)}, *zero[] = {I(0)}, *kk[] = {V(k)};
    Stmt *sum = st_store(T.a, acc, at, 2,
                         add(mul(ex_load(T.a, acc, at, 2), 2), ex_load(T.a, S, at, 2)), NO_SPAN);
    Stmt *body = block();
    Expr *value =
        changed ? ex_load(T.a, pos, zero, 1) : ex_cast(T.a, DT_INDEX, ex_load(T.a, table, kk, 1));
    put(body, st_let(T.a, row, value, NO_SPAN));
    put(body, copy(box(src, V(row), I(0), 1, 32), whole(S)));
    put(body, loop(LOOP_PARALLEL, i, I(0), I(32), sum));
    if (changed) put(body, st_store(T.a, pos, zero, 1, rem(add(mul(V(row), 3), I(1)), 8), NO_SPAN));
    put(T.k->body, st_store(T.a, pos, zero, 1, I(2), NO_SPAN));
    put(T.k->body, fill(acc, 0));
    put(T.k->body, pipelined(k, I(0), I(8), stages, body));
    put(T.k->body, copy(whole(acc), whole(out)));
    expect_same();
    ck_assert_int_eq(S->ndim, stages >= 2 && !changed ? 3 : 2);
    arena_free(T.a);
  }
}
END_TEST

/* raster */

// LANGUAGE.md 6.8, transcribed.
static void raster_formula(int bx, int by, int gx, int gy, int panel, bool column, int *row,
                           int *col) {
  int block_idx = bx + by * gx, grid = gx * gy, P = panel * (column ? gy : gx);
  int off = block_idx % P, p = block_idx / P, total = (grid + P - 1) / P;
  int g = column ? gy : gx, stride = p + 1 < total ? panel : (grid - p * P) / g;
  int along = p & 1 ? g - 1 - off / stride : off / stride, across = off % stride + p * panel;
  *row = column ? along : across;
  *col = column ? across : along;
}

START_TEST(raster) {
  for (int form = 0; form < 2; form++) {
    for (int gx = 1; gx <= 7; gx += 2) {
      for (int gy = 1; gy <= 9; gy += 4) {
        for (int panel = 1; panel <= 10; panel += 3) {
          bench_begin(LEVEL_TILE, 32, gx, gy);
          T.k->raster_panel = panel;
          T.k->raster_column = form;
          // What each hardware block computes for (bx, by): stored at its own place, which is also
          // the oracle's block order, through an atomic counter.
          Buffer *out = param("out", DT_I32, 2, I(gy), I(gx), gx * gy);
          Expr *b[] = {V(T.k->block[1]), V(T.k->block[0])};
          put(T.k->body, st_store(T.a, out, b, 2, I(1), NO_SPAN));
          Var *hx = T.k->block[0], *hy = T.k->block[1];
          pass_check(T.p, &T.c);
          pass_raster(T.p, &T.c);
          int32_t *all = oracle_out(T.p);
          for (int i = 0; i < gx * gy; i++) ck_assert_int_eq(all[i], 1); // a permutation
          for (int i = 0; i < gx * gy; i++) {
            int64_t one = i;
            int row, col;
            memset(T.arg[0].data, 0, T.arg[0].bytes);
            ck_assert(oracle_run_blocks(T.p, &(EmuCall){.args = T.arg}, &one, 1, T.diags));
            raster_formula(i % gx, i / gx, gx, gy, panel, form, &row, &col);
            ck_assert_int_eq(((int32_t *)T.arg[0].data)[row * gx + col], 1);
          }
          (void)hx, (void)hy;
          arena_free(T.a);
        }
      }
    }
  }
}
END_TEST

/* warp partitions */

START_TEST(partition) {
  for (int M = 16; M <= 256; M += 16) {
    for (int N = 8; N <= 256; N += 8) {
      for (int w = 1; w <= 16; w++) {
        int best[3][2] = {{0}};
        double score = 1e30;
        for (int m = 1; m <= w; m++) { // the definition, in floating point
          int n = w / m;
          if (m * n != w || M % (16 * m) || N % (8 * n)) continue;
          double s = ((double)M / (16.0 * m)) / ((double)N / (8.0 * n)) - (double)M / N;
          if (s < 0) s = -s;
          if (s < score - 1e-9) {
            score = s;
            best[POLICY_SQUARE][0] = m;
            best[POLICY_SQUARE][1] = n;
          }
          best[POLICY_FULL_ROW][0] = m; // the largest m comes last
          best[POLICY_FULL_ROW][1] = n;
          if (!best[POLICY_FULL_COL][0]) best[POLICY_FULL_COL][0] = m, best[POLICY_FULL_COL][1] = n;
        }
        for (int p = 0; p < 3; p++) {
          int wm = 0, wn = 0;
          bool ok = plan_partition((GemmPolicy)p, M, N, w, &wm, &wn);
          ck_assert_int_eq(ok, best[p][0] != 0);
          if (!ok) continue;
          ck_assert_int_eq(wm, best[p][0]);
          ck_assert_int_eq(wn, best[p][1]);
        }
      }
    }
  }
  int m, n;
  ck_assert(plan_partition(POLICY_SQUARE, 128, 128, 8, &m, &n));
  ck_assert_int_eq(m, 2);
  ck_assert_int_eq(n, 4);
}
END_TEST

int main(void) {
  Suite *s = suite_create("passes");
  TCase *t = tcase_create("tile");
  tcase_set_timeout(t, 120);
  tcase_add_test(t, gemm_stages);
  tcase_add_test(t, gemm_barriers);
  tcase_add_test(t, read_then_overwrite);
  tcase_add_test(t, outliving);
  tcase_add_test(t, nested);
  tcase_add_test(t, address_lets);
  tcase_add_test(t, raster);
  tcase_add_test(t, partition);
  suite_add_tcase(s, t);
  return suite_run(s);
}
