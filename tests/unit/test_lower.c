// Layout, lower and vector: tile programs run by the oracle, their lowered form by the emulator
// with its checks. Integer-valued inputs, so that results are exact. SPDX-License-Identifier: MIT
#include "pass_build.h"

static EmuReport report;

static void set(Buffer *b, void *data, int64_t i, double v) {
  switch (b->dtype) {
  case DT_F32: ((float *)data)[i] = (float)v; break;
  case DT_F16: ((uint16_t *)data)[i] = num_f16_from_f32((float)v); break;
  case DT_BF16: ((uint16_t *)data)[i] = num_bf16_from_f32((float)v); break;
  case DT_I8: ((int8_t *)data)[i] = (int8_t)v; break;
  case DT_U8: ((uint8_t *)data)[i] = (uint8_t)(v < 0 ? -v : v); break;
  default: ((int32_t *)data)[i] = (int32_t)v; break;
  }
}

static void random_args(void) {
  uint64_t s = 88172645463325252u;
  for (int p = 0; p < T.p->params.len; p++) {
    Buffer *b = T.p->params.data[p].buf;
    int64_t n = (int64_t)T.arg[p].bytes * 8 / dt_bits(b->dtype);
    for (int64_t i = 0; i < n; i++) {
      s ^= s << 13, s ^= s >> 7, s ^= s << 17;
      set(b, T.arg[p].data, i, (double)(int)(s % 7) - 3);
    }
  }
}

static void show(const Program *p) {
  if (!getenv("SHOW")) return;
  Buf text = {0};
  ir_print(p, &text);
  fputs(buf_str(&text), stderr);
  buf_free(&text);
}

static void all_passes(Program *p) {
  static void (*const run[])(Program *, PassCtx *) = {
      pass_check, pass_simplify, pass_plan, pass_raster, pass_pipeline, pass_layout,
      pass_lower, pass_vector,   pass_smem, pass_sync,   pass_tidy};
  for (size_t i = 0; i < LEN(run); i++) {
    if (getenv("BEFORE") && (int)i == atoi(getenv("BEFORE"))) show(p);
    run[i](p, &T.c);
    if (diag_errors(T.diags)) diag_flush(T.diags, stderr);
    ck_assert_int_eq(diag_errors(T.diags), 0);
    Buf why = {0};
    bool ok = ir_verify(p, &why);
    if (!ok) ir_print(p, &why);
    ck_assert_msg(ok, "after pass %zu: %s", i, buf_str(&why));
    buf_free(&why);
  }
}

// Every argument after the emulator's run equals the oracle's.
static void expect_lowered(void) {
  random_args();
  void *first[8], *want[8];
  int n = T.p->params.len;
  for (int i = 0; i < n; i++) first[i] = arena_copy(T.a, T.arg[i].data, T.arg[i].bytes);
  Program *before = ir_clone(T.a, T.p);
  bool ok = oracle_run(before, &(EmuCall){.sizes = T.size, .args = T.arg}, T.diags);
  if (!ok) diag_flush(T.diags, stderr);
  ck_assert(ok);
  for (int i = 0; i < n; i++) {
    want[i] = arena_copy(T.a, T.arg[i].data, T.arg[i].bytes);
    memcpy(T.arg[i].data, first[i], T.arg[i].bytes);
  }
  all_passes(T.p);
  show(T.p);
  report = (EmuReport){0};
  ok = emu_run(T.p, &(EmuCall){.sizes = T.size, .args = T.arg}, T.c.target,
               &(EmuOptions){.seed = 1}, &report, T.diags);
  if (!ok) diag_flush(T.diags, stderr);
  ck_assert(ok);
  for (int i = 0; i < n; i++)
    for (size_t at = 0; at < T.arg[i].bytes; at++)
      if (((uint8_t *)want[i])[at] != ((uint8_t *)T.arg[i].data)[at])
        ck_abort_msg("argument %s differs from byte %zu of %zu on", T.p->params.data[i].name, at,
                     T.arg[i].bytes);
}

/* ------------------------------------------------------------------ gemm */

typedef struct {
  int M, N, K, bm, bn, bk, stages, threads;
  DType ab, c;
  int ta, tb;
  GemmPolicy policy;
  bool stage_c; // through shared memory
  int dynamic;  // M is a run-time size
} Gemm;

static int up(int x, int y) { return (x + y - 1) / y; }

static void gemm_program(const Gemm *g) {
  bench_begin(LEVEL_TILE, g->threads, up(g->N, g->bn), up(g->M, g->bm));
  Expr *M = g->dynamic ? V(size_var("M", g->M)) : I(g->M), *K = I(g->K), *N = I(g->N);
  Buffer *A =
      g->ta ? param("A", g->ab, 2, K, M, g->M * g->K) : param("A", g->ab, 2, M, K, g->M * g->K);
  Buffer *B =
      g->tb ? param("B", g->ab, 2, N, K, g->N * g->K) : param("B", g->ab, 2, K, N, g->N * g->K);
  DType out = g->c == DT_F32 && g->ab != DT_F32 ? g->ab : g->c;
  Buffer *C = param("C", out, 2, M, N, g->M * g->N);
  Buffer *As =
      buffer("A_shared", g->ab, SC_SHARED, 2, I(g->ta ? g->bk : g->bm), I(g->ta ? g->bm : g->bk));
  Buffer *Bs =
      buffer("B_shared", g->ab, SC_SHARED, 2, I(g->tb ? g->bn : g->bk), I(g->tb ? g->bk : g->bn));
  Buffer *acc = buffer("C_local", g->c, SC_FRAGMENT, 2, I(g->bm), I(g->bn));
  Stmt *b = T.k->body, *body = block();
  Var *k = loop_var("k");
  Expr *m0 = mul(V(T.k->block[1]), g->bm), *n0 = mul(V(T.k->block[0]), g->bn),
       *k0 = mul(V(k), g->bk);
  put(b, fill(acc, 0));
  put(body, copy(g->ta ? box(A, k0, m0, g->bk, g->bm) : box(A, m0, k0, g->bm, g->bk), whole(As)));
  put(body, copy(g->tb ? box(B, n0, k0, g->bn, g->bk) : box(B, k0, n0, g->bk, g->bn), whole(Bs)));
  put(body, st_op(T.a, OP_GEMM, NO_SPAN, whole(As), whole(Bs), whole(acc), (int64_t)g->ta,
                  (int64_t)g->tb, (int64_t)g->policy, ex_bool(T.a, false)));
  put(b, pipelined(k, I(0), I(up(g->K, g->bk)), g->stages, body));
  if (g->stage_c) {
    Buffer *Cs = buffer("C_shared", out, SC_SHARED, 2, I(g->bm), I(g->bn));
    put(b, copy(whole(acc), whole(Cs)));
    put(b, copy(whole(Cs), box(C, m0, n0, g->bm, g->bn)));
  } else {
    put(b, copy(whole(acc), box(C, m0, n0, g->bm, g->bn)));
  }
}

static const Gemm plain = {128,    128,    96, 128, 128,           32,    3, 128,
                           DT_F16, DT_F32, 0,  0,   POLICY_SQUARE, false, 0};

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

/* ------------------------------------------------------------------ copies and parallel loops */

static Stmt *parallel(int n, Var **v, Expr **extent, Stmt *body) {
  Expr *min[3] = {I(0), I(0), I(0)};
  return st_for_n(T.a, LOOP_PARALLEL, n, v, min, extent, body, NO_SPAN);
}

static Expr *at1(Buffer *b, Expr *i) { return ex_load(T.a, b, (Expr *[]){i}, 1); }
static Expr *at2(Buffer *b, Expr *i, Expr *j) { return ex_load(T.a, b, (Expr *[]){i, j}, 2); }
static Stmt *to1(Buffer *b, Expr *i, Expr *v) {
  return st_store(T.a, b, (Expr *[]){i}, 1, v, NO_SPAN);
}
static Stmt *to2(Buffer *b, Expr *i, Expr *j, Expr *v) {
  return st_store(T.a, b, (Expr *[]){i, j}, 2, v, NO_SPAN);
}

static const int some_threads[] = {33, 48, 96, 128, 384};
static const int some_widths[] = {1, 7, 63, 80, 192, 229, 1024};

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

static Buffer *accumulator(void) {
  for (int i = 0; i < T.k->buffers.len; i++)
    if (T.k->buffers.data[i]->scope == SC_FRAGMENT) return T.k->buffers.data[i];
  return NULL;
}

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

// Operands in registers, block_K of several atoms and not a multiple of one, accumulator pre-filled
// and cleared by a constant and by an expression; the operand is copied out as well.
START_TEST(gemm_fragments) {
  static const int bk[] = {32, 24, 20, 64};
  for (int which = 1; which < 4; which++)
    for (int clear = 0; clear < 3; clear++)
      for (int t = 0; t < 4; t++) {
        int K = bk[_i], ta = t & 1, tb = t >> 1;
        bench_begin(LEVEL_TILE, 128, 1, 1);
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
  Suite *s = suite_create("lower");
  TCase *c = tcase_create("gemm");
  tcase_set_timeout(c, 120);
  tcase_add_loop_test(c, gemm_plain, 0, 4);
  tcase_add_loop_test(c, gemm_ragged, 0, 6);
  tcase_add_loop_test(c, gemm_types, 0, 6);
  tcase_add_loop_test(c, gemm_block_k, 0, 8);
  tcase_add_loop_test(c, gemm_warps, 0, 15);
  tcase_add_loop_test(c, gemm_epilogue, 0, 2);
  tcase_add_loop_test(c, gemm_fragments, 0, 4);
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
