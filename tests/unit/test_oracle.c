// The oracle against plain loops: gemm with ragged edges, lockstep scalars, atomics, diagnostics.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/numeric.h"
#include "emu/emu.h"
#include "suite.h"

static Arena *A;
static Sources *sources;
static Diags *diags;

static void setup(void) {
  A = arena_new();
  sources = src_new(A);
  diags = diag_new(A, sources, (DiagOptions){0});
}

static void teardown(void) { arena_free(A); }

/* building blocks */

static Expr *I(int64_t v) { return ex_index(A, v); }
static Expr *V(Var *v) { return ex_var(A, v); }
static Var *loop_var(const char *name) { return var_new(A, name, DT_INDEX, VAR_LOOP, NO_SPAN); }

static Buffer *buffer(const char *name, DType t, Scope scope, int n, Expr *d0, Expr *d1) {
  Expr *shape[2] = {d0, d1};
  return buf_new(A, name, t, scope, shape, n, NO_SPAN);
}

static Region *box(Buffer *b, Expr *m0, Expr *m1, Expr *e0, Expr *e1) {
  return region_new(A, b, (Expr *[]){m0, m1}, (Expr *[]){e0, e1});
}

static Expr *load1(Buffer *b, Expr *i) { return ex_load(A, b, (Expr *[]){i}, 1); }
static Stmt *store1(Buffer *b, Expr *i, Expr *v) {
  return st_store(A, b, (Expr *[]){i}, 1, v, NO_SPAN);
}

static Kernel *kernel_in(Program *p, int threads) {
  Kernel *k = NEW(A, Kernel);
  k->name = "k0";
  for (int i = 0; i < 3; i++) {
    k->grid[i] = I(1);
    k->block[i] = var_new(A, "b", DT_INDEX, VAR_BLOCK, NO_SPAN);
    k->block[i]->axis = i;
  }
  k->threads = threads;
  k->thread = var_new(A, "tx", DT_INDEX, VAR_THREAD, NO_SPAN);
  k->level = LEVEL_TILE;
  k->body = st_block(A, NO_SPAN);
  vec_push(A, &p->kernels, k);
  return k;
}

static Buffer *param(Program *p, const char *name, DType t, int n, Expr *d0, Expr *d1) {
  Param q = {.kind = PARAM_TENSOR, .name = name};
  q.buf = buffer(name, t, SC_GLOBAL, n, d0, d1);
  vec_push(A, &p->params, q);
  return q.buf;
}

static Buffer *tile(Kernel *k, const char *name, DType t, Scope s, int n, int d0, int d1) {
  Buffer *b = buffer(name, t, s, n, I(d0), I(d1));
  vec_push(A, &k->buffers, b);
  return b;
}

static uint32_t state = 1;
static double normal_ish(void) {
  double x = 0;
  for (int i = 0; i < 4; i++) {
    state = state * 1664525u + 1013904223u;
    x += (double)(state >> 8) / (1 << 24) - 0.5;
  }
  return x;
}

/* gemm */

typedef struct {
  int M, N, K, BM, BN, BK;
  DType in, acc;
  bool ta, tb;
} Shape;

// C[M,N] = op(A) op(B), one tile a block, K in steps of BK.
static Program *gemm_program(Shape s) {
  Program *p = NEW(A, Program);
  Buffer *a = param(p, "A", s.in, 2, I(s.ta ? s.K : s.M), I(s.ta ? s.M : s.K));
  Buffer *b = param(p, "B", s.in, 2, I(s.tb ? s.N : s.K), I(s.tb ? s.K : s.N));
  Buffer *c = param(p, "C", s.acc, 2, I(s.M), I(s.N));
  Kernel *k = kernel_in(p, 128);
  k->grid[0] = I((s.N + s.BN - 1) / s.BN);
  k->grid[1] = I((s.M + s.BM - 1) / s.BM);
  int a0 = s.ta ? s.BK : s.BM, a1 = s.ta ? s.BM : s.BK;
  int b0 = s.tb ? s.BN : s.BK, b1 = s.tb ? s.BK : s.BN;
  Buffer *as = tile(k, "As", s.in, SC_SHARED, 2, a0, a1);
  Buffer *bs = tile(k, "Bs", s.in, SC_SHARED, 2, b0, b1);
  Buffer *cf = tile(k, "Cf", s.acc, SC_FRAGMENT, 2, s.BM, s.BN);
  Var *ko = loop_var("ko");
  Expr *row = ex_mul(A, V(k->block[1]), I(s.BM)), *col = ex_mul(A, V(k->block[0]), I(s.BN));
  Expr *at = ex_mul(A, V(ko), I(s.BK));
  Stmt *body = st_block(A, NO_SPAN);
  Region *ra = s.ta ? box(a, at, row, I(a0), I(a1)) : box(a, row, at, I(a0), I(a1));
  Region *rb = s.tb ? box(b, col, at, I(b0), I(b1)) : box(b, at, col, I(b0), I(b1));
  st_add(A, body, st_op(A, OP_COPY, NO_SPAN, ra, region_whole(A, as), (int64_t)0));
  st_add(A, body, st_op(A, OP_COPY, NO_SPAN, rb, region_whole(A, bs), (int64_t)0));
  Expr *clear = ex_bin(A, BIN_EQ, V(ko), I(0));
  st_add(A, body,
         st_op(A, OP_GEMM, NO_SPAN, region_whole(A, as), region_whole(A, bs), region_whole(A, cf),
               (int64_t)s.ta, (int64_t)s.tb, (int64_t)0, clear));
  Stmt *loop = st_for(A, LOOP_PIPELINED, ko, I(0), I((s.K + s.BK - 1) / s.BK), body, NO_SPAN);
  st_add(A, k->body, loop);
  st_add(A, k->body, st_op(A, OP_COPY, NO_SPAN, region_whole(A, cf),
                           box(c, row, col, I(s.BM), I(s.BN)), (int64_t)0));
  return p;
}

static double element(DType t, const void *p, int64_t i) {
  switch (t) {
  case DT_F16: return (double)num_f16_to_f32(((const uint16_t *)p)[i]);
  case DT_BF16: return (double)num_bf16_to_f32(((const uint16_t *)p)[i]);
  case DT_E4M3: return (double)num_e4m3_to_f32(((const uint8_t *)p)[i]);
  case DT_I8: return ((const int8_t *)p)[i];
  case DT_I32: return ((const int32_t *)p)[i];
  default: return (double)((const float *)p)[i];
  }
}

static void set_element(DType t, void *p, int64_t i, double x) {
  switch (t) {
  case DT_F16: ((uint16_t *)p)[i] = num_f16_from_f64(x); break;
  case DT_BF16: ((uint16_t *)p)[i] = num_bf16_from_f64(x); break;
  case DT_E4M3: ((uint8_t *)p)[i] = num_e4m3_from_f64(x, true); break;
  case DT_I8: ((int8_t *)p)[i] = (int8_t)x; break;
  case DT_I32: ((int32_t *)p)[i] = (int32_t)x; break;
  default: ((float *)p)[i] = (float)x;
  }
}

static EmuArg tensor(DType t, int64_t n, bool integers) {
  EmuArg a = {.bytes = (size_t)n * (size_t)dt_bytes(t)};
  a.data = arena_alloc(A, a.bytes + 1);
  a.written = arena_alloc(A, (size_t)n + 1);
  for (int64_t i = 0; i < n; i++)
    set_element(t, a.data, i, integers ? rint(normal_ish() * 8) : normal_ish());
  return a;
}

static double exact(Shape s, const EmuArg *arg, int i, int j) {
  double sum = 0;
  for (int k = 0; k < s.K; k++)
    sum += element(s.in, arg[0].data, s.ta ? k * s.M + i : i * s.K + k) *
           element(s.in, arg[1].data, s.tb ? j * s.K + k : k * s.N + j);
  return sum;
}

static void check_gemm(Shape s) {
  Program *p = gemm_program(s);
  EmuArg arg[3] = {tensor(s.in, s.M * s.K, true), tensor(s.in, s.K * s.N, true),
                   tensor(s.acc, s.M * s.N, true)};
  arg[2].bound = NEWN(A, float, s.M * s.N);
  ck_assert(oracle_run(p, &(EmuCall){.args = arg}, diags));
  for (int i = 0; i < s.M; i++) {
    for (int j = 0; j < s.N; j++) {
      double want = exact(s, arg, i, j), got = element(s.acc, arg[2].data, i * s.N + j);
      ck_assert_msg(want == got, "C[%d,%d]: %g, not %g", i, j, got, want);
      ck_assert(arg[2].written[i * s.N + j]);
    }
  }
}

START_TEST(gemm_is_exact_on_integers) {
  static const int sizes[][3] = {{1, 1, 1}, {64, 64, 64}, {65, 129, 33}, {16, 104, 64}};
  for (int i = 0; i < 4; i++) {
    for (int t = 0; t < 4; t++) {
      Shape s = {sizes[i][0], sizes[i][1], sizes[i][2], 64, 32, 32, DT_F16, DT_F32, t & 1, t & 2};
      check_gemm(s);
      s.in = DT_I8, s.acc = DT_I32;
      check_gemm(s);
    }
  }
}
END_TEST

// Round-off of another order (float, one product at a time) must lie within the bound, and the
// bound must not be so wide that an error of one product passes.
START_TEST(gemm_bound_covers_reordering) {
  Shape s = {48, 40, 300, 64, 64, 32, DT_F16, DT_F32, false, false};
  Program *p = gemm_program(s);
  EmuArg arg[3] = {tensor(s.in, s.M * s.K, false), tensor(s.in, s.K * s.N, false),
                   tensor(s.acc, s.M * s.N, false)};
  arg[2].bound = NEWN(A, float, s.M * s.N);
  ck_assert(oracle_run(p, &(EmuCall){.args = arg}, diags));
  for (int i = 0; i < s.M; i++) {
    for (int j = 0; j < s.N; j++) {
      float sum = 0;
      for (int k = s.K - 1; k >= 0; k--)
        sum += (float)element(s.in, arg[0].data, i * s.K + k) *
               (float)element(s.in, arg[1].data, k * s.N + j);
      float got = ((float *)arg[2].data)[i * s.N + j], bound = arg[2].bound[i * s.N + j];
      ck_assert(fabsf(got - sum) <= bound);
      ck_assert(bound > 0 && bound < 0.02f);
    }
  }
}
END_TEST

// x without what lies below 13 bits behind the first one of `most`.
static double cut(double x, double most) {
  int e;
  frexp(most, &e);
  return most == 0 ? 0 : ldexp(trunc(ldexp(x, 14 - e)), e - 14);
}

// 32 products and the sum before are shifted to the largest one's exponent, cut and added.
static double short_sum(Shape s, const EmuArg *arg, int i, int j) {
  double sum = 0;
  for (int from = 0; from < s.K; from += 32) {
    double term[33] = {sum}, most = fabs(sum);
    for (int k = 0; k < 32; k++) {
      term[k + 1] = element(s.in, arg[0].data, i * s.K + from + k) *
                    element(s.in, arg[1].data, (from + k) * s.N + j);
      most = fmax(most, fabs(term[k + 1]));
    }
    sum = 0;
    for (int k = 0; k <= 32; k++) sum += cut(term[k], most);
  }
  return sum;
}

// What wgmma makes of 8-bit floats lies within the bound, and 32 products that are left out do not;
// without EmuCall.wgmma the bound is that of float.
START_TEST(gemm_bound_of_short_sums) {
  Shape s = {16, 16, 1024, 16, 16, 128, DT_E4M3, DT_F32, false, false};
  Program *p = gemm_program(s);
  EmuArg arg[3] = {tensor(s.in, s.M * s.K, false), tensor(s.in, s.K * s.N, false),
                   tensor(s.acc, s.M * s.N, false)};
  float *wide = NEWN(A, float, s.M * s.N), off = 0;
  arg[2].bound = wide;
  ck_assert(oracle_run(p, &(EmuCall){.args = arg, .wgmma = true}, diags));
  arg[2].bound = NEWN(A, float, s.M * s.N);
  ck_assert(oracle_run(p, &(EmuCall){.args = arg}, diags));
  for (int i = 0; i < s.M; i++) {
    for (int j = 0; j < s.N; j++) {
      int at = i * s.N + j;
      float error = fabsf(((float *)arg[2].data)[at] - (float)short_sum(s, arg, i, j));
      ck_assert(error <= wide[at]);
      ck_assert(wide[at] < 0.5f && arg[2].bound[at] < 0.02f);
      off = fmaxf(off, error / arg[2].bound[at]);
    }
  }
  ck_assert(off > 1); // the wider bound is needed
}
END_TEST

START_TEST(gemm_is_fast) {
  Shape s = {512, 512, 512, 128, 128, 32, DT_F16, DT_F32, false, true};
  Program *p = gemm_program(s);
  EmuArg arg[3] = {tensor(s.in, s.M * s.K, false), tensor(s.in, s.K * s.N, false),
                   tensor(s.acc, s.M * s.N, false)};
  for (int bounds = 0; bounds < 2; bounds++) {
    if (bounds) arg[2].bound = NEWN(A, float, s.M * s.N);
    clock_t start = clock();
    ck_assert(oracle_run(p, &(EmuCall){.args = arg}, diags));
    double t = (double)(clock() - start) / CLOCKS_PER_SEC;
    fprintf(stderr, "oracle 512^3%s: %.3f s\n", bounds ? " with bounds" : "", t);
    ck_assert(t < 20);
  }
}
END_TEST

START_TEST(sampled_blocks_only) {
  Shape s = {64, 64, 32, 32, 32, 32, DT_F16, DT_F32, false, false};
  Program *p = gemm_program(s);
  EmuArg arg[3] = {tensor(s.in, s.M * s.K, true), tensor(s.in, s.K * s.N, true),
                   tensor(s.acc, s.M * s.N, true)};
  int64_t block = 1;
  ck_assert(oracle_run_blocks(p, &(EmuCall){.args = arg}, &block, 1, diags));
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++)
      ck_assert_int_eq(arg[2].written[i * 64 + j], i < 32 && j >= 32);
}
END_TEST

/* scalars */

// if tx % 2 == 0: v = S[tx]; S[tx ^ 1] = v + 100 -- lockstep, with a thread-private variable.
START_TEST(threads_run_in_lockstep) {
  Program *p = NEW(A, Program);
  Buffer *out = param(p, "out", DT_I32, 1, I(64), NULL);
  Kernel *k = kernel_in(p, 64);
  Buffer *s = tile(k, "S", DT_I32, SC_SHARED, 1, 64, 0);
  Buffer *v = tile(k, "v", DT_I32, SC_LOCAL, 1, 1, 0);
  Expr *tx = V(k->thread);
  Stmt *then = st_block(A, NO_SPAN);
  st_add(A, k->body, store1(s, tx, ex_cast(A, DT_I32, tx)));
  st_add(A, k->body, store1(s, tx, load1(s, ex_bin(A, BIN_BITXOR, tx, I(1))))); // swap
  st_add(A, then, store1(v, I(0), load1(s, tx)));
  st_add(A, then, store1(s, ex_bin(A, BIN_BITXOR, tx, I(1)),
                         ex_add(A, load1(v, I(0)), ex_int(A, DT_I32, 100))));
  st_add(A, k->body, st_if(A, ex_bin(A, BIN_EQ, ex_floormod(A, tx, I(2)), I(0)), then, NULL,
                           NO_SPAN));
  st_add(A, k->body, store1(out, tx, load1(s, tx)));
  EmuArg arg = tensor(DT_I32, 64, true);
  ck_assert(oracle_run(p, &(EmuCall){.args = &arg}, diags));
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq(((int32_t *)arg.data)[i], i % 2 ? i + 100 : i + 1);
}
END_TEST

START_TEST(atomics_by_every_thread_and_tile) {
  Program *p = NEW(A, Program);
  Buffer *out = param(p, "out", DT_F32, 1, I(40), NULL);
  Kernel *k = kernel_in(p, 96);
  k->grid[0] = I(3);
  Buffer *f = tile(k, "f", DT_F32, SC_FRAGMENT, 1, 64, 0);
  Region *one = region_new(A, out, (Expr *[]){I(39)}, (Expr *[]){I(1)});
  st_add(A, k->body,
         st_atomic(A, NO_SPAN, one, ex_float(A, DT_F32, 1), (int64_t)ATOMIC_ADD));
  st_add(A, k->body, st_op(A, OP_FILL, NO_SPAN, region_whole(A, f), ex_float(A, DT_F32, 2)));
  Region *all = region_new(A, out, (Expr *[]){I(0)}, (Expr *[]){I(64)}); // 24 past the end
  st_add(A, k->body,
         st_op(A, OP_ATOMIC_TILE, NO_SPAN, all, region_whole(A, f), (int64_t)ATOMIC_ADD));
  EmuArg arg = tensor(DT_F32, 40, true);
  memset(arg.data, 0, arg.bytes);
  ck_assert(oracle_run(p, &(EmuCall){.args = &arg}, diags));
  for (int i = 0; i < 39; i++) ck_assert(((float *)arg.data)[i] == 6);
  ck_assert(((float *)arg.data)[39] == 3 * 96 + 6);
}
END_TEST

// A parallel loop over 7 x 9 with a guarded, converted element each; f16 rounds at every operation.
START_TEST(parallel_rounds_as_typed) {
  Program *p = NEW(A, Program);
  Buffer *x = param(p, "x", DT_F16, 2, I(7), I(9));
  Buffer *y = param(p, "y", DT_F32, 2, I(7), I(9));
  Kernel *k = kernel_in(p, 32);
  Stmt *loop = NEW(A, Stmt);
  Var *i = loop_var("i"), *j = loop_var("j");
  Expr *at[2] = {V(i), V(j)};
  Expr *v = ex_load(A, x, at, 2);
  Expr *w = ex_bin(A, BIN_MUL, ex_bin(A, BIN_ADD, v, v), ex_bin(A, BIN_MUL, v, v));
  loop->kind = ST_FOR;
  loop->u.loop.loop = LOOP_PARALLEL;
  loop->u.loop.nvars = 2;
  loop->u.loop.var = NEWN(A, Var *, 2);
  loop->u.loop.min = NEWN(A, Expr *, 2);
  loop->u.loop.extent = NEWN(A, Expr *, 2);
  loop->u.loop.var[0] = i, loop->u.loop.var[1] = j;
  loop->u.loop.min[0] = loop->u.loop.min[1] = I(0);
  loop->u.loop.extent[0] = I(7), loop->u.loop.extent[1] = I(10); // one column past the end
  loop->u.loop.body = st_block(A, NO_SPAN);
  st_add(A, loop->u.loop.body, st_store(A, y, at, 2, w, NO_SPAN));
  st_add(A, k->body, loop);
  EmuArg arg[2] = {tensor(DT_F16, 63, false), tensor(DT_F32, 63, false)};
  ck_assert(oracle_run(p, &(EmuCall){.args = arg}, diags));
  for (int e = 0; e < 63; e++) {
    double a = element(DT_F16, arg[0].data, e);
    double sum = (double)num_f16_to_f32(num_f16_from_f64(a + a));
    double square = (double)num_f16_to_f32(num_f16_from_f64(a * a));
    double want = (double)num_f16_to_f32(num_f16_from_f64(sum * square));
    ck_assert(element(DT_F32, arg[1].data, e) == want);
  }
}
END_TEST

// Tiles of f32 lose their low 13 bits in gemm; f16 accumulators round after each gemm.
START_TEST(operand_and_accumulator_types) {
  Shape s = {16, 8, 8, 16, 8, 8, DT_F32, DT_F32, false, false};
  Program *p = gemm_program(s);
  EmuArg arg[3] = {tensor(s.in, 128, true), tensor(s.in, 64, true), tensor(s.acc, 128, true)};
  ((float *)arg[0].data)[0] = 1 + 0x1p-10f + 0x1p-11f; // 1 + 2^-10 after truncation
  ((float *)arg[0].data)[1] = 0;
  for (int k = 0; k < 8; k++) ((float *)arg[1].data)[k * 8] = k == 0;
  ck_assert(oracle_run(p, &(EmuCall){.args = arg}, diags));
  ck_assert(((float *)arg[2].data)[0] == 1 + 0x1p-10f);

  s = (Shape){16, 8, 32, 16, 8, 16, DT_F16, DT_F16, false, true}; // two gemms of k = 16
  p = gemm_program(s);
  EmuArg half[3] = {tensor(s.in, 512, true), tensor(s.in, 256, true), tensor(s.acc, 128, true)};
  for (int k = 0; k < 32; k++) {
    ((uint16_t *)half[0].data)[k] = num_f16_from_f64(k < 16 ? 128 : 0.0625);
    ((uint16_t *)half[1].data)[k] = 0x3c00;
  }
  ck_assert(oracle_run(p, &(EmuCall){.args = half}, diags));
  // 2048 then + 1: half way between 2048 and 2050 goes to the even one.
  ck_assert(element(DT_F16, half[2].data, 0) == 2048);
}
END_TEST

// Each thread copies its own piece through a local array; the grid and the tensor are symbolic.
START_TEST(local_copies_and_symbolic_sizes) {
  Program *p = NEW(A, Program);
  Var *n = var_new(A, "n", DT_INDEX, VAR_SIZE, NO_SPAN);
  vec_push(A, &p->sizes, n);
  Buffer *x = param(p, "x", DT_F32, 1, V(n), NULL), *y = param(p, "y", DT_F16, 1, V(n), NULL);
  x->safe = ex_float(A, DT_F32, -99);
  Kernel *k = kernel_in(p, 32);
  k->grid[0] = ex_floordiv(A, ex_add(A, V(n), I(127)), I(128));
  Buffer *v = tile(k, "v", DT_F32, SC_LOCAL, 1, 4, 0);
  Expr *at = ex_add(A, ex_mul(A, V(k->block[0]), I(128)), ex_mul(A, V(k->thread), I(4)));
  Region *from = region_new(A, x, (Expr *[]){ex_add(A, at, I(1))}, (Expr *[]){I(4)});
  Region *to = region_new(A, y, &at, (Expr *[]){I(4)});
  st_add(A, k->body, st_op(A, OP_COPY, NO_SPAN, from, region_whole(A, v), (int64_t)0));
  st_add(A, k->body, st_op(A, OP_COPY, NO_SPAN, region_whole(A, v), to, (int64_t)0));
  int64_t size = 301;
  EmuArg arg[2] = {tensor(DT_F32, size, false), tensor(DT_F16, size, false)};
  ck_assert(oracle_run(p, &(EmuCall){.sizes = &size, .args = arg}, diags));
  for (int i = 0; i < size; i++) {
    float want = i + 1 < size ? ((float *)arg[0].data)[i + 1] : -99;
    ck_assert(((uint16_t *)arg[1].data)[i] == num_f16_from_f32(want));
  }
}
END_TEST

// Loops whose bounds differ by thread, with early lanes idle: out[t] = sum of i in [t, 2 t).
START_TEST(loops_of_each_thread) {
  Program *p = NEW(A, Program);
  Buffer *out = param(p, "out", DT_I32, 1, I(70), NULL);
  Kernel *k = kernel_in(p, 70);
  Buffer *v = tile(k, "v", DT_I32, SC_LOCAL, 1, 1, 0);
  Var *i = loop_var("i");
  st_add(A, k->body, store1(v, I(0), ex_int(A, DT_I32, 0)));
  Stmt *add = store1(v, I(0), ex_add(A, load1(v, I(0)), ex_cast(A, DT_I32, V(i))));
  st_add(A, k->body, st_for(A, LOOP_SERIAL, i, V(k->thread), V(k->thread), add, NO_SPAN));
  st_add(A, k->body, store1(out, V(k->thread), load1(v, I(0))));
  EmuArg arg = tensor(DT_I32, 70, true);
  ck_assert(oracle_run(p, &(EmuCall){.args = &arg}, diags));
  for (int t = 0; t < 70; t++)
    ck_assert_int_eq(((int32_t *)arg.data)[t], t * t + t * (t - 1) / 2);
}
END_TEST

// A deviation grows through casts and products, and exact work has none beyond two ulp.
START_TEST(bounds_are_carried) {
  Shape s = {16, 8, 64, 16, 8, 64, DT_F16, DT_F32, false, false};
  Program *p = gemm_program(s);
  Buffer *d = param(p, "D", DT_F16, 2, I(16), I(8)), *e = param(p, "E", DT_F32, 1, I(32), NULL);
  Kernel *k = p->kernels.data[0];
  Buffer *cf = k->buffers.data[2];
  Buffer *h = tile(k, "h", DT_F16, SC_SHARED, 2, 16, 8);
  st_add(A, k->body,
         st_op(A, OP_COPY, NO_SPAN, region_whole(A, cf), region_whole(A, h), (int64_t)0));
  st_add(A, k->body,
         st_op(A, OP_COPY, NO_SPAN, region_whole(A, h), region_whole(A, d), (int64_t)0));
  st_add(A, k->body, st_if(A, ex_lt(A, V(k->thread), I(32)),
                           store1(e, V(k->thread), ex_float(A, DT_F32, 3)), NULL, NO_SPAN));
  EmuArg arg[5] = {tensor(s.in, 1024, false), tensor(s.in, 512, false), tensor(DT_F32, 128, false),
                   tensor(DT_F16, 128, false), tensor(DT_F32, 32, false)};
  for (int i = 2; i < 5; i++) arg[i].bound = NEWN(A, float, 128);
  ck_assert(oracle_run(p, &(EmuCall){.args = arg}, diags));
  for (int i = 0; i < 128; i++) {
    double c = element(DT_F32, arg[2].data, i), ulp = ldexp(1, c == 0 ? -24 : ilogb(c) - 10);
    double half = element(DT_F16, arg[3].data, i);
    ck_assert(fabs(half - c) <= ulp);
    ck_assert(arg[3].bound[i] > arg[2].bound[i] && (double)arg[3].bound[i] <= 8 * ulp + 1e-3);
  }
  ck_assert(arg[4].bound[5] >= 0x1p-21f && arg[4].bound[5] < 0x1.1p-21f); // 2 ulp of 3
}
END_TEST

/* diagnostics */

static void expect_failure(Program *p, EmuArg *arg, DiagId id) {
  ck_assert(!oracle_run(p, &(EmuCall){.args = arg}, diags));
  ck_assert_int_eq(diag_id(diags, 0), (int)id);
}

START_TEST(shared_out_of_bounds) {
  Program *p = NEW(A, Program);
  Kernel *k = kernel_in(p, 64);
  Buffer *s = tile(k, "S", DT_F32, SC_SHARED, 1, 63, 0);
  st_add(A, k->body, store1(s, V(k->thread), ex_float(A, DT_F32, 0)));
  expect_failure(p, NULL, DIAG_EMU_BOUNDS);
}
END_TEST

START_TEST(fill_out_of_bounds) {
  Program *p = NEW(A, Program);
  Kernel *k = kernel_in(p, 64);
  Buffer *s = tile(k, "S", DT_F32, SC_SHARED, 1, 8, 0);
  Region *r = region_new(A, s, (Expr *[]){I(6)}, (Expr *[]){I(6)});
  st_add(A, k->body, st_op(A, OP_FILL, NO_SPAN, r, ex_float(A, DT_F32, 0)));
  expect_failure(p, NULL, DIAG_EMU_BOUNDS);
}
END_TEST

static Program *operator_program(BinOp op, int64_t limit) {
  Program *p = NEW(A, Program);
  Buffer *out = param(p, "out", DT_I32, 1, I(64), NULL);
  Kernel *k = kernel_in(p, 64);
  Expr *tx = ex_cast(A, DT_I32, V(k->thread));
  Expr *by = ex_sub(A, tx, ex_int(A, DT_I32, limit));
  st_add(A, k->body, store1(out, V(k->thread), ex_bin(A, op, tx, by)));
  return p;
}

START_TEST(division_by_zero) {
  EmuArg arg = tensor(DT_I32, 64, true);
  expect_failure(operator_program(BIN_FLOORDIV, 63), &arg, DIAG_EMU_DIV_ZERO);
}
END_TEST

START_TEST(division_by_negatives_floors) {
  EmuArg arg = tensor(DT_I32, 64, true);
  ck_assert(oracle_run(operator_program(BIN_FLOORMOD, 64), &(EmuCall){.args = &arg}, diags));
  for (int i = 0; i < 64; i++) {
    int d = i - 64, r = i % -d;
    ck_assert_int_eq(((int32_t *)arg.data)[i], r ? r + d : 0);
  }
}
END_TEST

START_TEST(shift_out_of_range) {
  EmuArg arg = tensor(DT_I32, 64, true);
  expect_failure(operator_program(BIN_SHL, 31), &arg, DIAG_EMU_SHIFT);
}
END_TEST

START_TEST(argument_too_small) {
  EmuArg arg = tensor(DT_I32, 63, true);
  expect_failure(operator_program(BIN_ADD, 1), &arg, DIAG_EMU_ARG_SIZE);
}
END_TEST

START_TEST(false_assumption) {
  Program *p = NEW(A, Program);
  Kernel *k = kernel_in(p, 64);
  st_add(A, k->body, st_assume(A, ex_lt(A, V(k->thread), I(63)), NO_SPAN));
  expect_failure(p, NULL, DIAG_EMU_ASSUME);
}
END_TEST

START_TEST(extents_that_differ) {
  Program *p = NEW(A, Program);
  Kernel *k = kernel_in(p, 64);
  Buffer *s = tile(k, "S", DT_F32, SC_SHARED, 1, 8, 0);
  Buffer *t = tile(k, "T", DT_F32, SC_SHARED, 1, 9, 0);
  st_add(A, k->body,
         st_op(A, OP_COPY, NO_SPAN, region_whole(A, s), region_whole(A, t), (int64_t)0));
  expect_failure(p, NULL, DIAG_EMU_SHAPES);
}
END_TEST

int main(void) {
  Suite *s = suite_create("oracle");
  TCase *t = tcase_create("all");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  const TTest *tests[] = {
      gemm_is_exact_on_integers, gemm_bound_covers_reordering, gemm_bound_of_short_sums,
      gemm_is_fast, sampled_blocks_only, threads_run_in_lockstep,
      atomics_by_every_thread_and_tile, parallel_rounds_as_typed,
      operand_and_accumulator_types, local_copies_and_symbolic_sizes, loops_of_each_thread,
      bounds_are_carried,
      shared_out_of_bounds, fill_out_of_bounds, division_by_zero, division_by_negatives_floors,
      shift_out_of_range, argument_too_small, false_assumption, extents_that_differ};
  for (size_t i = 0; i < LEN(tests); i++) tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  return suite_run(s);
}
