// codegen: names, widths, marks, statements, the launcher and its refusals, header and manifest.
// Expected values are worked out by hand.
// SPDX-License-Identifier: MIT
#include "emu_build.h"
#include "text_host.h"
#include "suite.h"

static CgOptions options;
static Buf text;

static void setup(void) {
  bench_begin(64, 2);
  T.p->symbol = "probe";
  T.p->file = "dir/probe.tl";
  T.p->bindings = "N=128";
  T.k->name = "probe_k0";
  T.k->block[0]->name = "bx";
  options = (CgOptions){.target = target_find("sm_80"), .out_name = "out/probe.cu", .hash = 0xabc};
}

static void teardown(void) {
  buf_free(&text);
  bench_end();
}

static const char *emitted(void) {
  ir_roles(T.p);
  text.len = 0;
  cg_cuda(T.p, &options, &text);
  return buf_str(&text);
}

static void has(const char *part) {
  ck_assert_msg(strstr(buf_str(&text), part) != NULL, "no \"%s\" in:\n%s", part, buf_str(&text));
}

static void has_not(const char *part) {
  ck_assert_msg(!strstr(buf_str(&text), part), "\"%s\" in:\n%s", part, buf_str(&text));
}

static TextKernel loaded(void) {
  TextKernel k;
  ir_roles(T.p);
  ck_assert(text_load(T.p, &options, &k));
  return k;
}

static void body(Stmt *s) {
  put(T.k->body, s);
}
static Expr *element(void) {
  return add(mul(V(T.k->block[0]), 64), tx());
}

static Var *size_param(const char *name) {
  Var *v = var_new(T.a, name, DT_INDEX, VAR_SIZE, NO_SPAN);
  vec_push(T.a, &T.p->sizes, v);
  return v;
}

static Var *scalar_param(const char *name, DType t) {
  Var *v = var_new(T.a, name, t, VAR_SCALAR, NO_SPAN);
  vec_push(T.a, &T.p->params, (Param){.kind = PARAM_SCALAR, .name = name, .var = v});
  return v;
}

/* ------------------------------------------------------------------ names */

// C and CUDA words, the prelude's prefix, letters that C lacks, and one name for several things.
START_TEST(names) {
  Buffer *in = param("float", DT_F32, 128), *out = param("tlc_out", DT_F32, 128);
  Buffer *sh = buffer("float", DT_F32, SC_SHARED, 64),
         *r = buffer("gr\xc3\xb6\xc3\x9f", DT_F32, SC_LOCAL, 2);
  sh->offset = 0;
  T.k->smem_bytes = 256;
  T.k->thread->name = "threadIdx";
  Var *i = loop_var("i"), *j = loop_var("i"), *x = var_new(T.a, "i", DT_INDEX, VAR_LET, NO_SPAN);
  body(st_let(T.a, x, element(), NO_SPAN));
  body(store(sh, tx(), at(in, V(x))));
  Stmt *inner = block();
  put(inner, store(r, V(j), bin(BIN_ADD, at(sh, tx()), F(1))));
  Stmt *outer = block();
  put(outer, loop(j, add(V(i), I(1)), inner));
  body(loop(i, I(2), outer));
  body(store(out, V(x), at(r, I(1))));
  emitted();
  has("float *__restrict__ v_tlc_out");
  has("float_[");
  has("threadIdx_ = threadIdx.x");
  has("for (int i2 = 0; i2 < i1 + 1; ++i2)");
  TextKernel k = loaded();
  float *a = T.arg[0].data, *b = T.arg[1].data;
  for (int e = 0; e < 128; e++) a[e] = (float)e;
  ck_assert_int_eq(k.call((void *[]){a, b}), 0);
  for (int e = 0; e < 128; e++) ck_assert_float_eq(b[e], (float)e + 1);
}
END_TEST

/* ------------------------------------------------------------------ widths */

static void copy_at(Buffer *in, Buffer *out, Expr *i) {
  Var *v = var_new(T.a, "i", DT_INDEX, VAR_LET, NO_SPAN);
  body(st_let(T.a, v, i, NO_SPAN));
  body(store(out, V(v), at(in, V(v))));
}

START_TEST(small_index_is_int) {
  Buffer *A = param("A", DT_F32, 1 << 20);
  copy_at(A, param("C", DT_F32, 1 << 20), element());
  emitted();
  has("const int i = bx * 64 + tx;");
  has_not("int64_t(");
}
END_TEST

START_TEST(large_constant_index_is_64_bit) {
  Buffer *A = buf_new(T.a, "A", DT_U8, SC_GLOBAL, (Expr *[]){I(INT64_C(1) << 33)}, 1, NO_SPAN);
  vec_push(T.a, &T.p->params, (Param){.kind = PARAM_TENSOR, .name = "A", .buf = A});
  body(store(A, add(mul(V(T.k->block[0]), INT64_C(1) << 32), tx()), ex_int(T.a, DT_U8, 7)));
  emitted();
  has("A[bx * 4294967296LL + tx] = 7;");
}
END_TEST

// (tx * 16384 - 2^20) * (bx * 4000) reaches -2^20 * 4000, at tx = 0 and bx = 1.
START_TEST(product_of_mixed_signs_is_64_bit) {
  Buffer *A = param("A", DT_I64, 128);
  Expr *a = add(mul(tx(), 16384), I(-(1 << 20)));
  Expr *product = ex_mul(T.a, a, mul(V(T.k->block[0]), 4000));
  body(store(A, element(), ex_cast(T.a, DT_I64, product)));
  TextKernel k = loaded();
  int64_t *out = T.arg[0].data;
  ck_assert_int_eq(k.call((void *[]){out}), 0);
  ck_assert_int_eq(out[64], INT64_C(-4194304000));
  ck_assert_int_eq(out[64 + 63], -16384 * 4000);
}
END_TEST

// The product of two sizes may pass 2^31, one size may not: the launcher refuses larger ones.
START_TEST(symbolic_product_is_64_bit) {
  Var *M = size_param("M"), *N = size_param("N");
  Expr *total = ex_mul(T.a, V(M), V(N));
  Buffer *A = buf_new(T.a, "A", DT_F32, SC_GLOBAL, (Expr *[]){total}, 1, NO_SPAN);
  vec_push(T.a, &T.p->params, (Param){.kind = PARAM_TENSOR, .name = "A", .buf = A});
  T.k->grid[0] = V(M);
  Expr *i = add(ex_mul(T.a, V(T.k->block[0]), V(N)), tx());
  body(when(lt(i, total), store(A, i, F(1)), NULL));
  emitted();
  has("int64_t(bx) * N + tx < int64_t(M) * N");
  has("int M, int N");
}
END_TEST

// int32 wraps in the IR, and is undefined in C++ where it leaves the range.
START_TEST(int32_is_infix_only_where_it_fits) {
  Buffer *A = param("A", DT_I32, 128);
  Expr *t = ex_cast(T.a, DT_I32, tx()), *unknown = at(A, element());
  body(store(A, element(), bin(BIN_ADD, bin(BIN_MUL, t, ex_int(T.a, DT_I32, 5)), t)));
  body(store(A, element(), bin(BIN_MUL, unknown, t)));
  emitted();
  has("] = tx * 5 + tx;");
  has("] = tlc_mul(A[bx * 64 + tx], tx);");
}
END_TEST

/* ------------------------------------------------------------------ statements */

START_TEST(branches_and_loops) {
  Buffer *A = param("A", DT_I32, 128), *n = param("n", DT_I32, 1);
  Var *u = loop_var("u"), *k = loop_var("k");
  Stmt *low = block(), *middle = block(), *high = block(), *round = block();
  put(low, store(A, element(), ex_int(T.a, DT_I32, 1)));
  put(middle, store(A, element(), ex_int(T.a, DT_I32, 2)));
  put(high, store(A, element(), ex_int(T.a, DT_I32, 3)));
  body(when(lt(tx(), I(8)), low, when(lt(tx(), I(16)), middle, high)));
  Expr *count = ex_cast(T.a, DT_INDEX, at(n, I(0)));
  put(round, store(A, element(), bin(BIN_ADD, at(A, element()), ex_int(T.a, DT_I32, 10))));
  Stmt *inner = block();
  put(inner, st_for(T.a, LOOP_UNROLL, u, I(0), I(2), round, NO_SPAN));
  body(loop(k, count, inner));
  emitted();
  has("} else if (tx < 16) {");
  has("#pragma unroll\n");
  has("const int k_end = n[0];"); // evaluated once
  TextKernel kernel = loaded();
  int32_t *a = T.arg[0].data, three = 3;
  ck_assert_int_eq(kernel.call((void *[]){a, &(struct { _Alignas(16) int32_t v; }){three}.v}), 0);
  for (int e = 0; e < 128; e++) ck_assert_int_eq(a[e], (e % 64 < 8 ? 1 : e % 64 < 16 ? 2 : 3) + 60);
}
END_TEST

START_TEST(assume_traps_only_under_g) {
  Buffer *A = param("A", DT_I32, 128);
  body(st_assume(T.a, lt(tx(), I(32)), NO_SPAN));
  body(store(A, element(), ex_int(T.a, DT_I32, 1)));
  emitted();
  has_not("tlc_trap");
  options.debug = true;
  emitted();
  has("if (!(tx < 32)) tlc_trap();");
}
END_TEST

static Span line_span(uint32_t file, const char *source, int line) {
  uint32_t at = 0;
  for (int l = 1; l < line; at++) l += source[at] == '\n';
  return (Span){file, at, at + 1};
}

START_TEST(marks) {
  static const char source[] = "one\ntwo\nthree\n";
  uint32_t f = src_add(T.sources, "some/where/probe.tl", source, strlen(source));
  Buffer *A = param("A", DT_I32, 128);
  options.sources = T.sources;
  for (int line = 2; line <= 3; line++) {
    for (int i = 0; i < 2; i++) {
      Stmt *s = store(A, element(), ex_int(T.a, DT_I32, line));
      s->span = line_span(f, source, line);
      body(s);
    }
  }
  const char *t = emitted();
  const char *two = strstr(t, "  // probe.tl:2\n"), *three = strstr(t, "  // probe.tl:3\n");
  ck_assert(two && three && two < three);
  ck_assert(!strstr(two + 6, "probe.tl:2")); // once for both statements
  has_not("some/where");
  options.debug = options.lines = true;
  emitted();
  has("#line 2 \"some/where/probe.tl\"\n  A[");
  has("#line 3 \"some/where/probe.tl\"\n  A[");
  // After the kernel, the .cu's own line numbers.
  int line = 1;
  for (const char *s = buf_str(&text); *s; s++) {
    int n, end = 0;
    if (*s != '\n') continue;
    line++;
    sscanf(s + 1, "#line %d \"probe.cu\"%n", &n, &end);
    if (end) ck_assert_int_eq(n, line + 1);
  }
  has("\"probe.cu\"\n");
}
END_TEST

/* ------------------------------------------------------------------ the launcher */

static void check_says(TextKernel k, void *const *args, const char *part) {
  char msg[200];
  ck_assert_int_eq(k.check(args, msg, sizeof msg), 1);
  ck_assert_int_eq(k.call(args), 1); // cudaErrorInvalidValue
  ck_assert_msg(strstr(msg, part), "\"%s\" lacks \"%s\"", msg, part);
}

START_TEST(refusals) {
  static const char source[] = "x\ny\nassume\n";
  uint32_t f = src_add(T.sources, "probe.tl", source, strlen(source));
  options.sources = T.sources;
  Var *M = size_param("M");
  Buffer *A = buf_new(T.a, "A", DT_F32, SC_GLOBAL, (Expr *[]){V(M)}, 1, NO_SPAN);
  Buffer *C = buf_new(T.a, "C", DT_F32, SC_GLOBAL, (Expr *[]){V(M)}, 1, NO_SPAN);
  A->align = 16;
  C->align = 32;
  vec_push(T.a, &T.p->params, (Param){.kind = PARAM_TENSOR, .name = "A", .buf = A});
  vec_push(T.a, &T.p->params, (Param){.kind = PARAM_TENSOR, .name = "C", .buf = C});
  Expr *multiple = bin(BIN_EQ, rem(V(M), 8), I(0));
  vec_push(T.a, &T.p->facts,
           (Fact){.cond = multiple, .why = "the copy of \"A\"", .span = line_span(f, source, 3)});
  T.k->grid[0] = quo(add(V(M), I(63)), 64);
  T.k->grid[1] = quo(V(M), 2);
  Expr *i = add(mul(V(T.k->block[0]), 64), tx());
  body(when(lt(i, V(M)), store(C, i, at(A, i)), NULL));
  TextKernel k = loaded();
  float *a = arena_alloc(T.a, 4096), *c = a + 512;
  while ((uintptr_t)c % 32) c += 4;
  int64_t m = 64;
  char msg[200] = "old", tiny[4];
  a[63] = 5;
  ck_assert_int_eq(k.check((void *[]){a, c, &m}, msg, sizeof msg), 0);
  ck_assert_str_eq(msg, "");
  ck_assert_int_eq(k.call((void *[]){a, c, &m}), 0);
  ck_assert_float_eq(c[63], 5);
  check_says(k, (void *[]){NULL, c, &m}, "A is a null pointer");
  check_says(k, (void *[]){a + 1, c, &m}, "A must be aligned to 16 bytes");
  check_says(k, (void *[]){a, c + 4, &m}, "C must be aligned to 32 bytes");
  check_says(k, (void *[]){c - 60, c, &m}, "A and C must not overlap");
  check_says(k, (void *[]){c + 60, c, &m}, "A and C must not overlap");
  check_says(k, (void *[]){a, c, &(int64_t){60}}, "the copy of \"A\", probe.tl:3");
  check_says(k, (void *[]){a, c, &(int64_t){-8}}, "M must be in 0 .. 2147483647");
  check_says(k, (void *[]){a, c, &(int64_t){INT64_C(1) << 31}}, "M must be in 0 .. 2147483647");
  check_says(k, (void *[]){a, (char *)c + (INT64_C(1) << 40), &(int64_t){160000}}, "along y");
  ck_assert_int_eq(k.check((void *[]){NULL, c, &m}, tiny, sizeof tiny), 1);
  ck_assert_str_eq(tiny, "A i");
  ck_assert_int_eq(k.check((void *[]){NULL, c, &m}, NULL, 0), 1);
  ck_assert_int_eq(k.call((void *[]){NULL, NULL, &(int64_t){0}}), 0); // an empty grid
}
END_TEST

START_TEST(more_bytes_than_64_bits_count) {
  Var *n = size_param("n");
  Buffer *C = buf_new(T.a, "C", DT_F32, SC_GLOBAL, (Expr *[]){V(n), V(n), V(n)}, 3, NO_SPAN);
  C->align = 16;
  vec_push(T.a, &T.p->params, (Param){.kind = PARAM_TENSOR, .name = "C", .buf = C});
  T.k->grid[0] = I(1);
  TextKernel k = loaded();
  float *c = arena_alloc(T.a, 64);
  check_says(k, (void *[]){c, &(int64_t){INT32_MAX}}, "C has more bytes than 64 bits count");
}
END_TEST

START_TEST(scalars_by_abi_type) {
  static const DType types[] = {DT_BOOL, DT_I8, DT_U16, DT_I64, DT_F16, DT_BF16, DT_F32, DT_F64};
  Buffer *out = param("out", DT_F64, 8);
  Var *v[LEN(types)];
  for (size_t i = 0; i < LEN(types); i++) {
    v[i] = scalar_param(arena_printf(T.a, "s%zu", i), types[i]);
    body(when(bin(BIN_EQ, tx(), I((int64_t)i)),
              store(out, I((int64_t)i), ex_cast(T.a, DT_F64, V(v[i]))), NULL));
  }
  emitted();
  has("extern \"C\" cudaError_t probe(void *out, bool s0, int8_t s1, uint16_t s2, int64_t s3, "
      "uint16_t s4,\n    uint16_t s5, float s6, double s7, cudaStream_t stream)");
  TextKernel k = loaded();
  double *o = T.arg[0].data;
  bool s0 = true;
  int8_t s1 = -3;
  uint16_t s2 = 65535, s4 = num_f16_from_f32(1.5f), s5 = num_bf16_from_f32(-0.75f);
  int64_t s3 = -(INT64_C(1) << 40);
  float s6 = 2.5f;
  double s7 = 1e300;
  ck_assert_int_eq(k.call((void *[]){o, &s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7}), 0);
  double want[] = {1, -3, 65535, -0x1p40, 1.5, -0.75, 2.5, 1e300};
  for (size_t i = 0; i < LEN(want); i++) ck_assert_double_eq(o[i], want[i]);
}
END_TEST

START_TEST(zero_before_launch) {
  static const char *const zero[] = {"C", NULL};
  Buffer *C = param("C", DT_F32, 4);
  body(st_atomic(T.a, NO_SPAN, span_of(C, I(0), 1), F(1), (int64_t)ATOMIC_ADD));
  options.zero = zero;
  TextKernel k = loaded();
  float *c = T.arg[0].data;
  c[0] = c[3] = 9;
  ck_assert_int_eq(k.call((void *[]){c}), 0);
  ck_assert_float_eq(c[0], 128); // two blocks of 64 threads
  ck_assert_float_eq(c[3], 0);
}
END_TEST

static void with_shared(int64_t bytes) {
  Buffer *S = buffer("S", DT_U8, SC_SHARED, bytes), *C = param("C", DT_U8, 128);
  S->offset = 0;
  T.k->smem_bytes = bytes;
  body(store(S, tx(), ex_int(T.a, DT_U8, 3)));
  body(store(C, element(), at(S, tx())));
  emitted();
}

START_TEST(shared_memory_opt_in_from_need) {
  with_shared(48 * 1024);
  has("config.dynamicSmemBytes = 49152;");
  has_not("tlc_opt_in");
}
END_TEST

START_TEST(shared_memory_opt_in_above_48_kb) {
  with_shared(48 * 1024 + 16);
  has("tlc_opt_in(reinterpret_cast<const void *>(probe_k0), 49168)");
  TextKernel k = loaded();
  uint8_t *c = T.arg[0].data;
  ck_assert_int_eq(k.call((void *[]){c}), 0);
  ck_assert_int_eq(c[127], 3);
}
END_TEST

START_TEST(same_input_same_bytes) {
  with_shared(64);
  char *first = arena_str(T.a, buf_str(&text));
  void *spread = arena_alloc(T.a, 100000); // other addresses for what follows
  ck_assert_ptr_nonnull(spread);
  emitted();
  ck_assert_str_eq(buf_str(&text), first);
  has_not(getenv("PWD") ? getenv("PWD") : "/work");
}
END_TEST

/* ------------------------------------------------------------------ header and manifest */

static void sample_program(void) {
  Var *M = size_param("M");
  Buffer *A = param("A", DT_F16, 128), *C = param("C", DT_F32, 128);
  scalar_param("alpha", DT_F32);
  T.k->grid[0] = quo(add(V(M), I(63)), 64);
  body(st_atomic(T.a, NO_SPAN, span_of(C, element(), 1), at(A, element()),
             (int64_t)ATOMIC_ADD));
  T.p->bindings = "note=*/ \\\n#error";
  ir_roles(T.p);
}

static int shell(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *command = arena_vprintf(T.a, fmt, ap);
  va_end(ap);
  return system(command);
}

START_TEST(header_in_c_and_cxx) {
  char folder[256];
  Buf h = {0}, user = {0}, stub = {0};
  sample_program();
  cg_header(T.p, &options, &h);
  text_folder(folder, sizeof folder);
  buf_puts(&stub, "typedef enum cudaError { cudaSuccess } cudaError_t;\ntypedef struct CUstream_st "
                  "*cudaStream_t;\n");
  buf_puts(&user,
           "#include \"probe.h\"\n#include \"probe.h\"\n#if PROBE_ABI != 1\n#error abi\n#endif\n"
           "cudaError_t use(void *c, char *m);\ncudaError_t use(void *c, char *m) {\n"
           "  if (PROBE_HASH != 0xabcull) return probe_check(c, c, 1.0f, 64, m, 9);\n"
           "  return probe(c, c, 1.0f, 64, (cudaStream_t)0);\n}\n");
  text_write(arena_printf(T.a, "%s/probe.h", folder), &h);
  text_write(arena_printf(T.a, "%s/cuda_runtime_api.h", folder), &stub);
  text_write(arena_printf(T.a, "%s/user.c", folder), &user);
  const char *flags = "-Wall -Wextra -Wstrict-prototypes -pedantic -Werror -fsyntax-only";
  ck_assert_int_eq(shell("cc -std=c99 -I%s %s %s/user.c", folder, flags, folder), 0);
  ck_assert_int_eq(shell("c++ -std=c++17 -x c++ -I%s -Wall -Wextra -Werror -fsyntax-only %s/user.c",
                         folder, folder),
                   0);
  ck_assert(
      strstr(buf_str(&h), "C: float32 [128], row-major, aligned to 16 bytes; read and updated"));
  buf_free(&h), buf_free(&user), buf_free(&stub);
}
END_TEST

START_TEST(manifest_is_json) {
  char folder[256];
  Buf m = {0};
  sample_program();
  vec_push(T.a, &T.p->facts,
           (Fact){.cond = bin(BIN_EQ, rem(V(T.p->sizes.data[0]), 8), I(0)), .why = "a \"why\""});
  cg_manifest(T.p, &options, &m);
  text_folder(folder, sizeof folder);
  text_write(arena_printf(T.a, "%s/probe.json", folder), &m);
  buf_free(&m);
  ck_assert_int_eq(
      shell(
          "python3 -c \"\nimport json\nm = json.load(open('%s/probe.json'))\nassert m['schema'] == "
          "1\n"
          "k = m['kernels'][0]\nassert k['symbol'] == 'probe' and k['arch'] == 'sm_80'\n"
          "assert [p['name'] for p in k['params']] == ['A', 'C', 'alpha'] and k['sizes'] == ['M']\n"
          "assert k['params'][0]['shape'] == [128] and k['params'][0]['dtype'] == 'float16'\n"
          "assert k['params'][1]['accumulates'] and not k['params'][0]['accumulates']\n"
          "assert k['launches'] == [{'name': 'probe_k0', 'grid': ['(M + 63) / 64', 1, 1], "
          "'threads': 64, 'smem': 0}]\n"
          "assert k['facts'][0]['why'] == 'a \\\"why\\\"' and m['file'] == 'probe.cu'\n\"",
          folder),
      0);
}
END_TEST

START_TEST(comments_hold_anything) {
  sample_program();
  emitted();
  has_not("\n#error\n");
  TextKernel k = loaded();
  ck_assert_ptr_nonnull(k.call);
}
END_TEST

static void add_tests(TCase *t) {
  tcase_add_test(t, names);
  tcase_add_test(t, small_index_is_int);
  tcase_add_test(t, large_constant_index_is_64_bit);
  tcase_add_test(t, product_of_mixed_signs_is_64_bit);
  tcase_add_test(t, symbolic_product_is_64_bit);
  tcase_add_test(t, int32_is_infix_only_where_it_fits);
  tcase_add_test(t, branches_and_loops);
  tcase_add_test(t, assume_traps_only_under_g);
  tcase_add_test(t, marks);
  tcase_add_test(t, refusals);
  tcase_add_test(t, more_bytes_than_64_bits_count);
  tcase_add_test(t, scalars_by_abi_type);
  tcase_add_test(t, zero_before_launch);
  tcase_add_test(t, shared_memory_opt_in_from_need);
  tcase_add_test(t, shared_memory_opt_in_above_48_kb);
  tcase_add_test(t, same_input_same_bytes);
  tcase_add_test(t, header_in_c_and_cxx);
  tcase_add_test(t, manifest_is_json);
  tcase_add_test(t, comments_hold_anything);
}

int main(void) {
  Suite *s = suite_create("codegen");
  TCase *t = tcase_create("codegen");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 60);
  add_tests(t);
  suite_add_tcase(s, t);
  return suite_run(s);
}
