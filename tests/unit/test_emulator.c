// The emulator: a hand-written pipelined GEMM, every wait and barrier deleted from it, and one
// program for each checker with a clean twin.
// SPDX-License-Identifier: MIT
#include "emu_build.h"

#include <math.h>
#include <time.h>

/* C[M,N] = A[M,K] B[N,K]^T, f16 to f32: tiles 64 x 64 x 32, three stages, four warps of 32 x 32 */

enum { BM = 64, BN = 64, BK = 32, STAGES = 3 };

typedef struct {
  int m, n, k;
  int drop; // number of the wait, barrier or commit to leave out, in order of the text; -1: none
  bool linear; // no swizzle
} Gemm;

typedef struct {
  Gemm g;
  int seen;
  Buffer *a, *b, *c, *as, *bs, *ra, *rb, *acc;
  Expr *by, *bx;
} GemmParts;

static void put_sync(GemmParts *x, Stmt *to, Stmt *s) {
  if (x->seen++ != x->g.drop) put(to, s);
}

// Element offset of 16-byte chunk `chunk` of row `row` in a stage: pitch 64 bytes, XOR swizzle.
static Expr *place(const GemmParts *x, Expr *stage, Expr *row, Expr *chunk) {
  if (!x->g.linear) chunk = bin(BIN_BITXOR, chunk, rem(quo(row, 2), 4));
  return add(mul(stage, BM * BK), add(mul(row, BK), mul(chunk, 8)));
}

// Each thread copies two 16-byte chunks of either operand for k-block `kb`.
static void put_loads(const GemmParts *x, Stmt *to, Expr *kb, Expr *stage) {
  for (int i = 0; i < 2; i++) {
    Expr *id = add(tx(), I(i * 128)), *row = quo(id, 4), *chunk = rem(id, 4);
    Expr *col = add(mul(kb, BK), mul(chunk, 8));
    Expr *from_a = add(mul(add(mul(x->by, BM), row), x->g.k), col);
    Expr *from_b = add(mul(add(mul(x->bx, BN), row), x->g.k), col);
    Expr *to_at = place(x, stage, row, chunk);
    put(to, cp_async(span_of(x->a, from_a, 8), span_of(x->as, to_at, 8), I(8)));
    put(to, cp_async(span_of(x->b, from_b, 8), span_of(x->bs, to_at, 8), I(8)));
  }
}

static Stmt *ldmatrix4(Buffer *s, Expr *from, Buffer *regs, int at_reg) {
  return st_op(T.a, OP_LDMATRIX, NO_SPAN, span_of(s, from, 8), span_of(regs, I(at_reg), 8),
               (int64_t)4, (int64_t)0);
}

static Stmt *mma16816(Buffer *a, int ra, Buffer *b, int rb, Buffer *d, int rd) {
  return st_op(T.a, OP_MMA, NO_SPAN, span_of(a, I(ra), 8), span_of(b, I(rb), 4),
               span_of(d, I(rd), 4), (int64_t)16, (int64_t)8, (int64_t)16);
}

static void put_compute(const GemmParts *x, Stmt *to, Expr *stage) {
  Expr *warp = quo(tx(), 32), *lane = rem(tx(), 32), *m = quo(lane, 8), *r = rem(lane, 8);
  for (int ks = 0; ks < BK / 16; ks++) {
    for (int i = 0; i < 2; i++) {
      Expr *row = add(add(mul(rem(warp, 2), 32), I(i * 16)), add(mul(rem(m, 2), 8), r));
      put(to, ldmatrix4(x->as, place(x, stage, row, add(I(ks * 2), quo(m, 2))), x->ra, i * 8));
      row = add(add(mul(quo(warp, 2), 32), I(i * 16)), add(mul(quo(m, 2), 8), r));
      put(to, ldmatrix4(x->bs, place(x, stage, row, add(I(ks * 2), rem(m, 2))), x->rb, i * 8));
    }
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 4; j++)
        put(to, mma16816(x->ra, i * 8, x->rb, j * 4, x->acc, (i * 4 + j) * 4));
  }
}

static void put_result(const GemmParts *x, Stmt *to) {
  Expr *warp = quo(tx(), 32), *lane = rem(tx(), 32);
  for (int i = 0; i < 16; i++) {
    Expr *row = add(mul(rem(warp, 2), 32), add(I(i / 8 * 16 + i % 2 * 8), quo(lane, 4)));
    Expr *col = add(mul(quo(warp, 2), 32), add(I(i / 2 % 4 * 8), mul(rem(lane, 4), 2)));
    Expr *to_at = add(mul(add(mul(x->by, BM), row), x->g.n), add(mul(x->bx, BN), col));
    int reg = (i / 8 * 4 + i / 2 % 4) * 4 + i % 2 * 2;
    put(to, vmov(span_of(x->acc, I(reg), 2), span_of(x->c, to_at, 2)));
  }
}

// Returns how many waits, barriers and commits the text has.
static int build_gemm(Gemm g) {
  bench_begin(128, (g.m / BM) * (g.n / BN));
  GemmParts x = {.g = g};
  x.a = param("A", DT_F16, g.m * g.k), x.b = param("B", DT_F16, g.n * g.k);
  x.c = param("C", DT_F32, g.m * g.n);
  x.as = buffer("As", DT_F16, SC_SHARED, STAGES * BM * BK);
  x.bs = buffer("Bs", DT_F16, SC_SHARED, STAGES * BN * BK);
  x.ra = buffer("ra", DT_F16, SC_LOCAL, 16), x.rb = buffer("rb", DT_F16, SC_LOCAL, 16);
  x.acc = buffer("acc", DT_F32, SC_LOCAL, 32);
  Expr *b = V(T.k->block[0]);
  x.by = quo(b, g.n / BN), x.bx = rem(b, g.n / BN);
  Var *z = loop_var("z"), *k = loop_var("k");
  put(T.k->body, loop(z, I(32), store(x.acc, V(z), F(0))));
  int steps = g.k / BK;
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < steps) put_loads(&x, T.k->body, I(s), I(s));
    put_sync(&x, T.k->body, commit());
  }
  Stmt *body = block(), *more = block();
  put_sync(&x, body, wait_for(STAGES - 2));
  put_sync(&x, body, sync_threads());
  Expr *next = add(V(k), I(STAGES - 1));
  put_loads(&x, more, next, rem(next, STAGES));
  put(body, when(lt(next, I(steps)), more, NULL));
  put_sync(&x, body, commit());
  put_compute(&x, body, rem(V(k), STAGES));
  put(T.k->body, loop(k, I(steps), body));
  put_result(&x, T.k->body);
  return x.seen;
}

static uint32_t state = 99;
static void fill_f16(EmuArg *arg) {
  for (size_t i = 0; i < arg->bytes / 2; i++) {
    state = state * 1664525u + 1013904223u;
    ((uint16_t *)arg->data)[i] = num_f16_from_f64((int)(state >> 28) - 8);
  }
}

static void check_product(Gemm g) {
  const uint16_t *a = T.arg[0].data, *b = T.arg[1].data;
  for (int i = 0; i < g.m; i++) {
    for (int j = 0; j < g.n; j++) {
      float sum = 0; // small integers: exact
      for (int k = 0; k < g.k; k++)
        sum += num_f16_to_f32(a[i * g.k + k]) * num_f16_to_f32(b[j * g.k + k]);
      ck_assert_float_eq(((float *)T.arg[2].data)[i * g.n + j], sum);
    }
  }
}

START_TEST(pipelined_gemm_is_right_and_clean) {
  static const int k[] = {32, 64, 96, 160};
  for (int i = 0; i < 4; i++) {
    Gemm g = {128, 64, k[i], -1, false};
    build_gemm(g);
    fill_f16(&T.arg[0]);
    fill_f16(&T.arg[1]);
    expect_clean();
    check_product(g);
    ck_assert_int_eq((int)T.report.bank_conflicts, 0);
    ck_assert_int_eq((int)T.report.barriers, 2 * k[i] / BK);
    ck_assert_int_eq((int)T.report.mma, 2 * 128 * 64 * k[i] / (2 * 16 * 8 * 16));
  }
}
END_TEST

START_TEST(every_dropped_wait_barrier_and_commit_is_caught) {
  Gemm g = {64, 64, 256, -1, false};
  int n = build_gemm(g);
  ck_assert_int_eq(n, STAGES - 1 + 3);
  for (g.drop = 0; g.drop < n; g.drop++) {
    build_gemm(g);
    ck_assert_msg(!bench_run(1), "number %d can go unnoticed", g.drop);
    int id = diag_id(T.diags, 0);
    // Without the barrier a warp may also meet what another has not yet asked for.
    bool barrier = g.drop == STAGES;
    ck_assert(id == (int)DIAG_EMU_IN_FLIGHT ||
              (barrier && (id == (int)DIAG_EMU_RACE || id == (int)DIAG_EMU_UNWRITTEN)));
  }
}
END_TEST

START_TEST(linear_layout_conflicts_in_banks) {
  Gemm g = {64, 64, 64, -1, true};
  build_gemm(g);
  ck_assert(bench_run(0));
  // Pitch 64 bytes: rows r and r + 2 meet, so 8 rows take 4 cycles: 3 more per 8x8 matrix.
  ck_assert_int_eq((int)T.report.bank_conflicts, 3 * 4 * 4 * 2 * 2 * 2 * (64 / BK));
}
END_TEST

START_TEST(gemm_is_fast) {
  Gemm g = {256, 256, 256, -1, false};
  build_gemm(g);
  fill_f16(&T.arg[0]);
  fill_f16(&T.arg[1]);
  clock_t start = clock();
  ck_assert(bench_run(0));
  double t = (double)(clock() - start) / CLOCKS_PER_SEC, macs = 256.0 * 256 * 256;
  fprintf(stderr, "emulator: %.0f M multiply-adds/s\n", macs / t / 1e6);
  ck_assert(t < 30);
}
END_TEST

START_TEST(seeds_change_the_schedule_only) {
  Gemm g = {64, 64, 96, -1, false};
  build_gemm(g);
  fill_f16(&T.arg[0]);
  fill_f16(&T.arg[1]);
  expect_clean();
  EmuReport first = T.report;
  ck_assert(bench_run(77));
  ck_assert(!memcmp(&first, &T.report, sizeof first));
}
END_TEST

/* addresses */

static void access_at(int first, int elems) {
  bench_begin(32, 1);
  Buffer *in = param("in", DT_F32, elems), *v = buffer("v", DT_F32, SC_LOCAL, 4);
  put(T.k->body, vmov(span_of(in, add(mul(tx(), 4), I(first)), 4), span_of(v, I(0), 4)));
}

START_TEST(out_of_bounds) {
  access_at(0, 128), expect_clean();
  access_at(0, 127), expect_report(DIAG_EMU_RANGE);
  access_at(-4, 128), expect_report(DIAG_EMU_RANGE);
}
END_TEST

// Past the end of S but inside the block's shared memory.
START_TEST(out_of_bounds_into_a_neighbour) {
  bench_begin(64, 1);
  Buffer *s = buffer("S", DT_F32, SC_SHARED, 63);
  buffer("next", DT_F32, SC_SHARED, 64);
  put(T.k->body, store(s, tx(), F(0)));
  expect_report(DIAG_EMU_RANGE);
}
END_TEST

START_TEST(misaligned) {
  access_at(4, 132), expect_clean();
  access_at(2, 132), expect_report(DIAG_EMU_ALIGN);
  access_at(0, 128);
  T.p->params.data[0].buf->align = 8;
  expect_report(DIAG_EMU_ALIGN); // the base itself is not known to be a multiple of 16
}
END_TEST

START_TEST(register_out_of_bounds) {
  for (int n = 3; n <= 4; n++) {
    bench_begin(32, 1);
    Buffer *v = buffer("v", DT_F32, SC_LOCAL, n);
    Var *i = loop_var("i");
    put(T.k->body, loop(i, I(4), store(v, V(i), F(0))));
    if (n == 4) expect_clean();
    else expect_report(DIAG_EMU_REGISTER);
  }
}
END_TEST

/* control */

START_TEST(barrier_in_divergent_code) {
  for (int limit = 32; limit <= 64; limit += 16) {
    bench_begin(64, 1);
    put(T.k->body, when(lt(tx(), I(limit)), sync_threads(), NULL));
    if (limit == 64) expect_clean();
    else expect_report(limit == 48 ? DIAG_EMU_DIVERGENT : DIAG_EMU_DEADLOCK);
  }
}
END_TEST

START_TEST(different_barriers) {
  bench_begin(64, 1);
  put(T.k->body, when(lt(tx(), I(32)), sync_threads(), sync_threads()));
  expect_report(DIAG_EMU_BARRIERS);
}
END_TEST

START_TEST(collective_in_divergent_code) {
  for (int limit = 31; limit <= 32; limit++) {
    bench_begin(32, 1);
    Buffer *a = buffer("a", DT_F16, SC_LOCAL, 8), *b = buffer("b", DT_F16, SC_LOCAL, 4);
    Buffer *d = buffer("d", DT_F32, SC_LOCAL, 4);
    put(T.k->body, when(lt(tx(), I(limit)), mma16816(a, 0, b, 0, d, 0), NULL));
    if (limit == 32) expect_clean();
    else expect_report(DIAG_EMU_COLLECTIVE);
  }
}
END_TEST

START_TEST(ldmatrix_does_not_order_lanes) {
  for (int barrier = 0; barrier < 2; barrier++) {
    bench_begin(32, 1);
    Buffer *s = buffer("S", DT_F16, SC_SHARED, 256), *r = buffer("r", DT_F16, SC_LOCAL, 8);
    Buffer *v = buffer("v", DT_F16, SC_LOCAL, 8);
    put(T.k->body, vmov(span_of(v, I(0), 8), span_of(s, mul(tx(), 8), 8)));
    if (barrier) put(T.k->body, sync_threads());
    put(T.k->body, st_op(T.a, OP_LDMATRIX, NO_SPAN, span_of(s, mul(tx(), 8), 8),
                         span_of(r, I(0), 8), (int64_t)4, (int64_t)0));
    if (barrier) expect_clean();
    else expect_report(DIAG_EMU_RACE);
  }
}
END_TEST

START_TEST(runaway_loop_stops) {
  bench_begin(32, 1);
  Var *i = loop_var("i");
  Buffer *v = buffer("v", DT_I32, SC_LOCAL, 1);
  put(T.k->body, loop(i, I(1000000000), store(v, I(0), ex_int(T.a, DT_I32, 1))));
  EmuOptions o = {.max_steps = 10000};
  ck_assert(!emu_run(T.p, &(EmuCall){.args = T.arg}, NULL, &o, &T.report, T.diags));
  ck_assert_int_eq(diag_id(T.diags, 0), (int)DIAG_EMU_STEPS);
}
END_TEST

// Loops and branches whose bounds differ by lane: out[t] = sum of i < t, i odd or t even.
START_TEST(divergent_loops) {
  bench_begin(96, 1);
  Buffer *out = param("out", DT_I32, 96), *v = buffer("v", DT_I32, SC_LOCAL, 1);
  Var *i = loop_var("i");
  Expr *take = bin(BIN_OR, bin(BIN_EQ, rem(V(i), 2), I(1)), bin(BIN_EQ, rem(tx(), 2), I(0)));
  Expr *sum = ex_add(T.a, at(v, I(0)), ex_cast(T.a, DT_I32, V(i)));
  put(T.k->body, store(v, I(0), ex_int(T.a, DT_I32, 0)));
  put(T.k->body, loop(i, tx(), when(take, store(v, I(0), sum), NULL)));
  put(T.k->body, store(out, tx(), at(v, I(0))));
  expect_clean();
  for (int t = 0; t < 96; t++) {
    int want = 0;
    for (int k = 0; k < t; k++) want += k % 2 || t % 2 == 0 ? k : 0;
    ck_assert_int_eq(((int32_t *)T.arg[0].data)[t], want);
  }
}
END_TEST

/* counts */

START_TEST(bank_conflicts_and_sectors) {
  for (int stride = 1; stride <= 32; stride *= 2) {
    bench_begin(32, 1);
    Buffer *out = param("out", DT_F32, 32 * 32), *s = buffer("S", DT_F32, SC_SHARED, 32 * 32);
    put(T.k->body, store(s, mul(tx(), stride), F(0)));
    put(T.k->body, store(out, mul(tx(), stride), F(0)));
    expect_clean();
    ck_assert_int_eq((int)T.report.shared_accesses, 1);
    ck_assert_int_eq((int)T.report.bank_conflicts, stride - 1);
    ck_assert_int_eq((int)T.report.global_sectors, stride < 8 ? 4 * stride : 32);
    ck_assert_int_eq((int)T.report.global_min, 4);
  }
}
END_TEST

int main(void) {
  const TTest *tests[] = {
      pipelined_gemm_is_right_and_clean, every_dropped_wait_barrier_and_commit_is_caught,
      linear_layout_conflicts_in_banks, gemm_is_fast, seeds_change_the_schedule_only, out_of_bounds,
      out_of_bounds_into_a_neighbour, misaligned, register_out_of_bounds, barrier_in_divergent_code,
      different_barriers, collective_in_divergent_code, ldmatrix_does_not_order_lanes,
      runaway_loop_stops, divergent_loops, bank_conflicts_and_sectors};
  return run_suite("emulator", tests, LEN(tests));
}
