// The tuner's model against counts by hand, its parts against brute force, and spaces.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/model.h"
#include "suite.h"

static Arena *arena;

static void setup(void) { arena = arena_new(); }
static void teardown(void) { arena_free(arena); }

/* ------------------------------------------------------------------ lanes */

static double fronts(int stride, int bytes) {
  int64_t at[MW_LANES];
  for (int i = 0; i < MW_LANES; i++) at[i] = (int64_t)i * stride;
  return mw_wavefronts(at, MW_LANES, bytes);
}

START_TEST(wavefronts) {
  ck_assert_double_eq(fronts(4, 4), 1);    // a word of each bank
  ck_assert_double_eq(fronts(0, 4), 1);    // one word for all
  ck_assert_double_eq(fronts(8, 4), 2);    // two words of every second bank
  ck_assert_double_eq(fronts(128, 4), 32); // 32 words of one bank
  ck_assert_double_eq(fronts(16, 16), 4);  // 512 bytes at 128 a clock
  ck_assert_double_eq(fronts(8, 8), 2);
  ck_assert_double_eq(fronts(128, 16), 32); // rows of 128 bytes without a swizzle: 8 ways, 4 times
  ck_assert_double_eq(fronts(2, 2), 1);
  int64_t at[MW_LANES]; // each eight lanes meet in banks of their own
  for (int i = 0; i < MW_LANES; i++) at[i] = i % 8 * 128 + i / 8 * 16;
  ck_assert_double_eq(mw_wavefronts(at, MW_LANES, 16), 32);
}
END_TEST

START_TEST(sectors) {
  int64_t at[MW_LANES];
  for (int i = 0; i < MW_LANES; i++) at[i] = (int64_t)i * 4;
  ck_assert_int_eq(mw_sectors(at, MW_LANES, 4), 4);
  for (int i = 0; i < MW_LANES; i++) at[i] = (int64_t)i * 256 + 30;
  ck_assert_int_eq(mw_sectors(at, MW_LANES, 2), 32);
  ck_assert_int_eq(mw_sectors(at, MW_LANES, 4), 64); // across a boundary
  ck_assert_int_eq(mw_sectors(at, 1, 2), 1);
}
END_TEST

/* ------------------------------------------------------------------ values */

// Every value of a random expression over two variables lies in its interval; of points it is
// exact.
static Expr *random_expr(Var *const v[2], int depth) {
  static const BinOp ops[] = {BIN_ADD, BIN_SUB, BIN_MUL,    BIN_FLOORDIV, BIN_FLOORMOD,
                              BIN_MIN, BIN_MAX, BIN_BITXOR, BIN_SHR,      BIN_BITAND};
  if (!depth) return rand() % 3 ? ex_var(arena, v[rand() % 2]) : ex_index(arena, 1 + rand() % 9);
  BinOp op = ops[(size_t)rand() % LEN(ops)];
  Expr *a = random_expr(v, depth - 1), *b = random_expr(v, depth - 1);
  if (op == BIN_FLOORDIV || op == BIN_FLOORMOD || op == BIN_SHR)
    b = ex_index(arena, 1 + rand() % 5);
  if (op == BIN_BITXOR || op == BIN_BITAND || op == BIN_SHR) a = ex_var(arena, v[0]);
  if (op == BIN_BITXOR || op == BIN_BITAND) b = ex_index(arena, rand() % 16);
  return ex_bin(arena, op, a, b);
}

static int64_t value(const Expr *x, Var *const v[2], const int64_t at[2]) {
  if (x->kind == EX_INT) return x->u.i;
  if (x->kind == EX_VAR) return at[x->u.var == v[1]];
  ck_assert_int_eq(x->kind, EX_BINARY);
  int64_t a = value(x->u.bin.a, v, at), b = value(x->u.bin.b, v, at), m;
  switch (x->u.bin.op) {
  case BIN_ADD: return a + b;
  case BIN_SUB: return a - b;
  case BIN_MUL: return a * b;
  case BIN_MIN: return a < b ? a : b;
  case BIN_MAX: return a > b ? a : b;
  case BIN_BITXOR: return a ^ b;
  case BIN_BITAND: return a & b;
  case BIN_SHR: return a >> b;
  default: m = (a % b + b) % b; return x->u.bin.op == BIN_FLOORMOD ? m : (a - m) / b;
  }
}

START_TEST(intervals) {
  srand(7);
  for (int i = 0; i < 2000; i++) {
    Var *v[2] = {var_new(arena, "x", DT_INDEX, VAR_LOOP, NO_SPAN),
                 var_new(arena, "y", DT_INDEX, VAR_LOOP, NO_SPAN)};
    Expr *x = random_expr(v, 3);
    MvEnv e = {.arena = arena};
    mv_set(&e, v[0], (MvRange){3, 3}, (MvRange){0, 7});
    mv_set(&e, v[1], (MvRange){5, 5}, (MvRange){2, 6});
    int64_t mid[2] = {3, 5};
    MvRange point = mv_eval(&e, x);
    ck_assert_int_eq(point.lo, value(x, v, mid));
    ck_assert_int_eq(point.hi, point.lo);
    e.sweep = true;
    MvRange all = mv_eval(&e, x);
    for (int64_t a = 0; a <= 7; a++) {
      for (int64_t b = 2; b <= 6; b++) {
        int64_t is = value(x, v, (int64_t[]){a, b});
        ck_assert_msg(all.lo <= is && is <= all.hi, "%s: %lld is not in %lld..%lld",
                      ir_expr_str(arena, x), (long long)is, (long long)all.lo, (long long)all.hi);
      }
    }
  }
}
END_TEST

START_TEST(lets_follow) { // a let has the value that its variables have now
  Var *x = var_new(arena, "x", DT_INDEX, VAR_LOOP, NO_SPAN);
  Var *y = var_new(arena, "y", DT_INDEX, VAR_LET, NO_SPAN);
  MvEnv e = {.arena = arena};
  mv_set(&e, x, (MvRange){2, 2}, (MvRange){2, 2});
  mv_let(&e, y, ex_mul(arena, ex_var(arena, x), ex_index(arena, 10)));
  ck_assert_int_eq(mv_point(&e, ex_var(arena, y)), 20);
  mv_set(&e, x, (MvRange){3, 3}, (MvRange){3, 3});
  ck_assert_int_eq(mv_point(&e, ex_var(arena, y)), 30);
  ck_assert(!e.guessed);
  Var *unknown = var_new(arena, "z", DT_INDEX, VAR_LET, NO_SPAN);
  (void)mv_eval(&e, ex_var(arena, unknown));
  ck_assert(e.guessed);
}
END_TEST

/* ------------------------------------------------------------------ programs */

static TnCandidate model_of(const char *source, const char *arch, const char *gpu) {
  Options *o = NEW(arena, Options);
  *o = (Options){.arena = arena, .bindings = map_new(arena), .flags = map_new(arena), .arch = arch};
  o->tune.figures = gpu;
  TnSpace s = {.arena = arena, .options = o, .target = target_find(arch), .source = source};
  TnCandidate c = {.same_as = -1, .as = {-1, -1, -1, -1}};
  Job j;
  ck_assert_msg(tn_compile(arena, &s, &c, &j), "%s", c.reason);
  return c;
}

#define GEMM(M, N, K, bm, bn, bk, stages, threads)                                                 \
  "import tilelang.language as T\n"                                                                \
  "@T.prim_func\n"                                                                                 \
  "def kern(A: T.Tensor((" M ", " K "), 'float16'), B: T.Tensor((" N ", " K "), 'float16'), "      \
  "C: T.Tensor((" M ", " N "), 'float16')):\n"                                                     \
  "    with T.Kernel(T.ceildiv(" N ", " bn "), T.ceildiv(" M ", " bm "), threads=" threads         \
  ") as (bx, by):\n"                                                                               \
  "        A_s = T.alloc_shared((" bm ", " bk "), 'float16')\n"                                    \
  "        B_s = T.alloc_shared((" bn ", " bk "), 'float16')\n"                                    \
  "        C_l = T.alloc_fragment((" bm ", " bn "), 'float32')\n"                                  \
  "        T.clear(C_l)\n"                                                                         \
  "        for k in T.Pipelined(T.ceildiv(" K ", " bk "), num_stages=" stages "):\n"               \
  "            T.copy(A[by * " bm ", k * " bk "], A_s)\n"                                          \
  "            T.copy(B[bx * " bn ", k * " bk "], B_s)\n"                                          \
  "            T.gemm(A_s, B_s, C_l, transpose_B=True)\n"                                          \
  "        T.copy(C_l, C[by * " bm ", bx * " bn "])\n"

// 2 x 2 blocks of 128 x 128: each loads (128 + 128) x 512 halves and stores 128 x 128, a lane two
// neighbours of a row and the four lanes beside it as many: half a sector. What the blocks touch
// together is A, B and C once.
static void check_gemm(const char *arch) {
  TnCandidate c = model_of(GEMM("256", "256", "512", "128", "128", "64", "3", "128"), arch, NULL);
  ck_assert_double_eq(c.model.flops, 2.0 * 256 * 256 * 512);
  ck_assert_double_eq(c.model.l2_bytes, 4.0 * (2 * 128 * 512 + 2 * 128 * 128) * 2);
  ck_assert_double_eq(c.model.hbm_bytes, (2.0 * 256 * 512 + 256 * 256) * 2);
  ck_assert_int_eq(c.model.blocks, 4);
  ck_assert_int_eq(c.tile[0], 128);
  ck_assert_int_eq(c.tile[2], 64);
  ck_assert_int_eq(c.warps[0] * c.warps[1], 4);
  ck_assert(c.model.us > c.model.tensor_us && c.model.us > c.model.hbm_us);
}

START_TEST(gemm_counts) {
  check_gemm("sm_80");
  check_gemm("sm_90a");
}
END_TEST

// 2 M N K, whatever tiles reach beyond the matrices and however the grid is sampled; of a program
// that computes less than that what it executes.
START_TEST(useful_flops) {
  TnCandidate c =
      model_of(GEMM("4096", "4096", "4096", "128", "192", "64", "3", "256"), "sm_90a", NULL);
  ck_assert_double_eq(c.model.flops, 2.0 * 4096 * 4096 * 4096);
  c = model_of(GEMM("100", "200", "300", "64", "64", "32", "2", "128"), "sm_80", NULL);
  ck_assert_double_eq(c.model.flops, 2.0 * 100 * 200 * 300);
  c = model_of("import tilelang.language as T\n"
               "@T.prim_func\n"
               "def kern(A: T.Tensor((512, 64), 'float16'), B: T.Tensor((64, 256), 'float16'), "
               "C: T.Tensor((256, 512), 'float32')):\n"
               "    with T.Kernel(8, 4, threads=128) as (bx, by):\n"
               "        A_s = T.alloc_shared((64, 64), 'float16')\n"
               "        B_s = T.alloc_shared((64, 64), 'float16')\n"
               "        C_l = T.alloc_fragment((64, 64), 'float32')\n"
               "        T.clear(C_l)\n"
               "        if bx < 4:\n" // half of it
               "            T.copy(A[bx * 64, 0], A_s)\n"
               "            T.copy(B[0, by * 64], B_s)\n"
               "            T.gemm(B_s, A_s, C_l, transpose_A=True, transpose_B=True)\n"
               "        T.copy(C_l, C[by * 64, bx * 64])\n",
               "sm_80", NULL);
  ck_assert_double_le(c.model.flops, 2.0 * 512 * 256 * 64 * 0.75);
}
END_TEST

START_TEST(vector_counts) {
  TnCandidate c = model_of("import tilelang.language as T\n"
                           "@T.prim_func\n"
                           "def kern(A: T.Tensor((1 << 24,), 'float32'), C: T.Tensor((1 << 24,), "
                           "'float32')):\n"
                           "    with T.Kernel(1 << 14, threads=128) as bx:\n"
                           "        for i in T.Parallel(1024):\n"
                           "            C[bx * 1024 + i] = A[bx * 1024 + i] + 1.0\n",
                           "sm_80", "H200,hbm=4000");
  ck_assert_double_eq(c.model.hbm_bytes, 2.0 * 4 * (1 << 24));
  ck_assert_double_eq(c.model.l2_bytes, 2.0 * 4 * (1 << 24));
  ck_assert_str_eq(c.model.bound, "hbm");
  ck_assert_double_eq_tol(c.model.hbm_us, 2.0 * 4 * (1 << 24) / 4e12 * 1e6, 0.01);
}
END_TEST

START_TEST(
    trips_by_block) { // block b of 12 multiplies b + 1 times: samples 2, 6 and 10 are the mean's
  TnCandidate c =
      model_of("import tilelang.language as T\n"
               "@T.prim_func\n"
               "def kern(A: T.Tensor((12 * 64, 64), 'float16'), C: T.Tensor((12 * 64, 64), "
               "'float32')):\n"
               "    with T.Kernel(12, threads=128) as bx:\n"
               "        A_s = T.alloc_shared((64, 64), 'float16')\n"
               "        C_l = T.alloc_fragment((64, 64), 'float32')\n"
               "        T.clear(C_l)\n"
               "        for k in range(bx + 1):\n"
               "            T.copy(A[k * 64, 0], A_s)\n"
               "            T.gemm(A_s, A_s, C_l, transpose_B=True)\n"
               "        T.copy(C_l, C[bx * 64, 0])\n",
               "sm_80", NULL);
  ck_assert_double_eq_tol(c.model.flops, 2.0 * 64 * 64 * 64 * (3 + 7 + 11) / 3 * 12, 1);
}
END_TEST

// What anybody who writes such kernels expects, at 8192 x 8192 x 8192 on a Hopper GPU.
START_TEST(sensible_order) {
  const char *source[] = {
      GEMM("8192", "8192", "8192", "128", "256", "64", "3", "256"),
      GEMM("8192", "8192", "8192", "128", "128", "64", "3", "256"),
      GEMM("8192", "8192", "8192", "128", "128", "32", "0", "256"),
      GEMM("8192", "8192", "8192", "64", "64", "32", "0", "256"),
  };
  double before = 0;
  for (size_t i = 0; i < LEN(source); i++) {
    double us = model_of(source[i], "sm_90a", NULL).model.us;
    ck_assert_msg(us > 1.05 * before, "%zu: %g us after %g us", i, us, before);
    before = us;
  }
}
END_TEST

// Times that docs/performance.md gives: within a fifth.
START_TEST(measured) {
  static const struct {
    const char *source, *arch;
    double us;
  } known[] = {
      {GEMM("8192", "8192", "8192", "128", "256", "64", "3", "256"), "sm_80", 2267},
      {GEMM("8192", "8192", "8192", "128", "128", "32", "3", "128"), "sm_80", 2521},
      {GEMM("8192", "8192", "8192", "128", "256", "64", "3", "256"), "sm_90a", 1390},
      {GEMM("8192", "8192", "1024", "128", "256", "64", "3", "256"), "sm_90a", 192},
      {GEMM("8192", "8192", "256", "128", "256", "64", "3", "256"), "sm_90a", 72},
  };
  for (size_t i = 0; i < LEN(known); i++) {
    double us = model_of(known[i].source, known[i].arch, "H200").model.us;
    ck_assert_msg(us > known[i].us / 1.2 && us < known[i].us * 1.2, "%zu: %g us, measured %g", i,
                  us, known[i].us);
  }
}
END_TEST

START_TEST(refused) {
  Options o = {
      .arena = arena, .bindings = map_new(arena), .flags = map_new(arena), .arch = "sm_80"};
  TnSpace s = {.arena = arena,
               .options = &o,
               .target = target_find("sm_80"),
               .source = GEMM("256", "256", "512", "256", "256", "128", "3", "256")};
  TnCandidate c = {.same_as = -1, .as = {-1, -1, -1, -1}};
  Job j;
  ck_assert(!tn_compile(arena, &s, &c, &j));
  ck_assert_int_eq(c.state, TN_PRUNED);
  ck_assert_ptr_nonnull(c.code);
}
END_TEST

START_TEST(ptxas) {
  TnAsm as;
  tn_read_ptxas(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Function properties for a_k0\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 2 barriers, 16 bytes cumulative stack size, "
      "4096 bytes smem\n"
      "ptxas info    : Function properties for a_k1\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers\n",
      &as);
  ck_assert_int_eq(as.registers, 168);
  ck_assert_int_eq(as.spills, 8);
  ck_assert_int_eq(as.stack, 16);
  ck_assert_int_eq(as.shared, 4096);
  tn_read_ptxas("nothing of the kind\n", &as);
  ck_assert_int_eq(as.registers, -1);
}
END_TEST

START_TEST(knobs) { // found by what they do, whatever they are called
  Options o = {
      .arena = arena, .bindings = map_new(arena), .flags = map_new(arena), .arch = "sm_80"};
  TnSpace s = {.arena = arena, .options = &o, .target = target_find("sm_80")};
  s.source =
      "import tilelang\nimport tilelang.language as T\n"
      "@tilelang.jit\n"
      "def f(size=512, wide=64, depth=2, folks=128, walk=True, unused=3, head=64, dt='float16'):\n"
      "    @T.prim_func\n"
      "    def main(A: T.Tensor((size, size), dt), C: T.Tensor((size, size), dt), D: "
      "T.Tensor((head,), dt)):\n"
      "        with T.Kernel(T.ceildiv(size, wide), size // 64, threads=folks) as (x, y):\n"
      "            S = T.alloc_shared((64, wide), dt)\n"
      "            E = T.alloc_shared((head,), dt)\n"
      "            T.copy(D, E)\n"
      "            T.copy(E, D)\n"
      "            T.use_swizzle(4, enable=walk)\n"
      "            for k in T.Pipelined(2, num_stages=depth):\n"
      "                T.copy(A[y * 64, x * wide], S)\n"
      "                T.copy(S, C[y * 64, x * wide])\n"
      "    return main\n";
  TnKnobs found = {0};
  int kernels;
  ck_assert(tn_knobs(arena, &s, &found, &kernels));
  ck_assert_int_eq(kernels, 1);
  static const struct {
    const char *name;
    TnKnobKind kind;
  } want[] = {{"wide", TN_KNOB_TILE},
              {"depth", TN_KNOB_STAGES},
              {"folks", TN_KNOB_THREADS},
              {"walk", TN_KNOB_RASTER}};
  ck_assert_int_eq(found.len, (int)LEN(want));
  for (size_t i = 0; i < LEN(want); i++) {
    ck_assert_str_eq(found.data[i].name, want[i].name);
    ck_assert_int_eq(found.data[i].kind, want[i].kind);
  }
}
END_TEST

START_TEST(hints) {
  Options o = {
      .arena = arena, .bindings = map_new(arena), .flags = map_new(arena), .arch = "sm_90a"};
  EvMatmul m = {1024, 1024, 512, "float16", "float16", "float32", false, true};
  EvHint hint[5];
  int n = tn_hints(&o, &m, hint, 5);
  ck_assert_int_eq(n, 5);
  for (int i = 0; i < n; i++) {
    ck_assert_int_eq(hint[i].block_m % hint[i].warp_m, 0);
    ck_assert_int_eq(hint[i].block_n % hint[i].warp_n, 0);
    ck_assert_int_ge(hint[i].stages, 1);
    if (i) ck_assert_double_ge(hint[i].us, hint[i - 1].us);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("tune_model");
  TCase *t = tcase_create("all");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 120);
  tcase_add_test(t, wavefronts);
  tcase_add_test(t, sectors);
  tcase_add_test(t, intervals);
  tcase_add_test(t, lets_follow);
  tcase_add_test(t, gemm_counts);
  tcase_add_test(t, useful_flops);
  tcase_add_test(t, vector_counts);
  tcase_add_test(t, trips_by_block);
  tcase_add_test(t, sensible_order);
  tcase_add_test(t, measured);
  tcase_add_test(t, refused);
  tcase_add_test(t, ptxas);
  tcase_add_test(t, knobs);
  tcase_add_test(t, hints);
  suite_add_tcase(s, t);
  return suite_run(s);
}
