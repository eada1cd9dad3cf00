// eval: programs as text against what they must become, written down by hand.
// SPDX-License-Identifier: MIT
#include "eval/eval.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  Arena *arena;
  Diags *diags;
  Map *bindings;
  EvOptions options;
  EvResult result;
  bool ok;
} Run;

static Run *start(void) {
  Arena *a = arena_new();
  Run *r = NEW(a, Run);
  r->arena = a;
  r->diags = diag_new(a, src_new(a), (DiagOptions){0});
  r->bindings = map_new(a);
  r->options = (EvOptions){.arena = a, .diags = r->diags, .bindings = r->bindings};
  return r;
}

static void compile(Run *r, const char *path, const char *text) {
  r->options.file = src_add(diag_sources(r->diags), path, text, strlen(text));
  r->ok = ev_compile(&r->options, &r->result);
  ck_assert_int_eq(r->ok, diag_errors(r->diags) == 0);
  for (int i = 0; i < r->result.programs.len; i++) {
    Buf why = {0};
    ck_assert_msg(ir_verify(r->result.programs.data[i], &why), "%s", buf_str(&why));
    buf_free(&why);
  }
}

static void compile_file(Run *r, const char *path) {
  size_t len;
  char *text = file_read(r->arena, path, &len);
  ck_assert_msg(text != NULL, "cannot read %s", path);
  compile(r, path, text);
}

static void finish(Run *r) { arena_free(r->arena); }

static const char *code(Run *r, int i) {
  int id = diag_id(r->diags, i);
  return id < 0 ? "none" : diag_code((DiagId)id);
}

// The body of a kernel with the given statements, as text: one line a statement, blanks cut.
static const char *body(Run *r, const char *statements) {
  Buf text = {0};
  buf_puts(&text,
           "import tilelang\nimport tilelang.language as T\n"
           "def twice(x):\n    y = x + x\n    return y\n"
           "@T.prim_func\n"
           "def k(A: T.Tensor((64, 32), T.float16), B: T.Tensor((T.dynamic('m'), 32), T.float16),\n"
           "      V: T.Tensor((64,), T.float32), I: T.Tensor((64,), T.int32), n: T.int32, f: "
           "T.float32):\n"
           "    with T.Kernel(4, 8, threads=(32, 4)) as (bx, by):\n"
           "        S = T.alloc_shared((16, 32), T.float16)\n"
           "        D = T.alloc_shared((2, 16, 32), T.float16)\n"
           "        F = T.alloc_fragment((16, 32), T.float32)\n"
           "        R = T.alloc_fragment((32,), T.float32)\n");
  for (const char *s = statements; *s;) {
    size_t n = strcspn(s, "\n");
    buf_printf(&text, "        %.*s\n", (int)n, s);
    s += n + (s[n] == '\n');
  }
  compile(r, "k.tl", buf_str(&text));
  buf_free(&text);
  if (!r->ok) {
    diag_flush(r->diags, stderr);
    return "(errors)";
  }
  Buf out = {0};
  ir_print_stmt(r->result.programs.data[0]->kernels.data[0]->body, 0, &out);
  char *flat = arena_alloc(r->arena, out.len + 1), *to = flat;
  for (const char *p = buf_str(&out); *p; p++) {
    if (*p == '\n') {
      while (p[1] == ' ') p++;
      if (p[1] && to > flat) *to++ = ';';
    } else {
      *to++ = *p;
    }
  }
  buf_free(&out);
  size_t len = strlen(flat), head = strlen("block {;"), tail = strlen(";}");
  return len < head + tail ? "" : arena_strn(r->arena, flat + head, len - head - tail);
}

static void check_body(const char *statements, const char *want) {
  Run *r = start();
  const char *got = body(r, statements);
  ck_assert_msg(!strcmp(got, want), "%s\n  gives %s\n  not   %s", statements, got, want);
  finish(r);
}

typedef struct {
  const char *in, *out;
} Case;

#define EACH(cases, before, after)                                                                 \
  for (size_t i = 0; i < LEN(cases); i++) {                                                        \
    char want[600];                                                                                \
    snprintf(want, sizeof want, before "%s" after, (cases)[i].out);                                \
    check_body((cases)[i].in, want);                                                               \
  }

START_TEST(python_rules) {
  static const char *const files[] = {"tests/eval/python.tl", "tests/eval/classes.tl"};
  for (size_t i = 0; i < LEN(files); i++) {
    Run *r = start();
    compile_file(r, files[i]);            // CPython passes it too
    ck_assert_str_eq(code(r, 0), "E801"); // it holds no kernel, and nothing else is wrong
    ck_assert_int_eq(diag_id(r->diags, 1), -1);
    finish(r);
  }
}
END_TEST

START_TEST(samples) {
  static const char *const names[] = {
      "gemm",      "gemm_nt",   "gemm_bias_relu", "gemm_symbolic_m", "gemm_bf16",
      "gemm_int8", "gemm_tf32", "splitk",         "vector_add",      "splitk_tile",
      "splitk_workspace"};
  for (size_t i = 0; i < LEN(names); i++) {
    Run *r = start();
    compile_file(r, arena_printf(r->arena, "samples/%s.tl", names[i]));
    ck_assert_msg(r->ok && r->result.programs.len == 1, "%s", names[i]);
    finish(r);
  }
}
END_TEST

// LANGUAGE.md 6.3.1, form by form.
START_TEST(copy_forms) {
  static const Case cases[] = {
      {"T.copy(A[bx * 16, 0], S)", "src=A[bx * 16 +: 16, 0 +: 32], dst=S[0 +: 16, 0 +: 32]"},
      {"T.copy(S, A[bx * 16, 0])", "src=S[0 +: 16, 0 +: 32], dst=A[bx * 16 +: 16, 0 +: 32]"},
      {"T.copy(A[bx * 16:(bx + 1) * 16, :], S)",
       "src=A[bx * 16 +: 16, 0 +: 32], dst=S[0 +: 16, 0 +: 32]"},
      {"T.copy(S, F)", "src=S[0 +: 16, 0 +: 32], dst=F[0 +: 16, 0 +: 32]"},
      {"T.copy(D[1, 0, 0], S)", "src=D[1, 0 +: 16, 0 +: 32], dst=S[0 +: 16, 0 +: 32]"},
      {"T.copy(D[bx % 2, :, :], S)", "src=D[bx % 2, 0 +: 16, 0 +: 32], dst=S[0 +: 16, 0 +: 32]"},
      {"T.copy(S[3, :], R)", "src=S[3, 0 +: 32], dst=R[0 +: 32]"},
      {"T.copy(S[3, 0], R)", "src=S[3, 0 +: 32], dst=R[0 +: 32]"},
      {"T.copy(D[:, 2, 0:8], D[:, 4, 8:16])", "src=D[0 +: 2, 2, 0 +: 8], dst=D[0 +: 2, 4, 8 +: 8]"},
      {"T.copy(A[0:16, :2], A[16:32, :3])", "src=A[0 +: 16, 0 +: 2], dst=A[16 +: 16, 0 +: 2]"},
      {"T.copy(B[by, 0], S)", "src=B[by +: 16, 0 +: 32], dst=S[0 +: 16, 0 +: 32]"},
      {"T.copy(B[0:n, :], A[0:n, :])",
       "src=B[0 +: index(n), 0 +: 32], dst=A[0 +: index(n), 0 +: 32]"},
      {"T.copy(A[-16:, :], S)", "src=A[48 +: 16, 0 +: 32], dst=S[0 +: 16, 0 +: 32]"},
      {"T.copy(A[..., 0], V)", "src=A[0 +: 64, 0], dst=V[0 +: 64]"},
  };
  EACH(cases, "copy(", ", async=0)");
  check_body("T.copy(V[bx], V[by])", "V[by] = V[bx]");
  check_body("T.copy(V[bx], A[by, 1])", "A[by, 1] = float16(V[bx])");
}
END_TEST

START_TEST(fills_and_atomics) {
  check_body("T.clear(S)", "fill(dst=S[0 +: 16, 0 +: 32], value=float16(0.0))");
  check_body("T.fill(S[4:8, :], 1)", "fill(dst=S[4 +: 4, 0 +: 32], value=float16(1.0))");
  check_body("T.clear(V[3])", "V[3] = 0.0");
  check_body("T.atomic_add(V[bx], f)", "atomic(dst=V[bx], value=f, fn=0)");
  check_body("T.atomic_max(I[bx], 3)", "atomic(dst=I[bx], value=int32(3), fn=1)");
  check_body("T.atomic_min(I[0], n)", "atomic(dst=I[0], value=n, fn=2)");
  check_body("T.atomic_add(V[bx * 32], R)",
             "atomic_tile(dst=V[bx * 32 +: 32], src=R[0 +: 32], fn=0)");
  check_body("T.atomic_add(V[0:8], 2)",
             "parallel i0 in 0 +: 8 {;atomic(dst=V[i0], value=2.0, fn=0);}");
}
END_TEST

// Section 6.1: literals, promotion, index arithmetic, bools.
START_TEST(typing) {
  static const Case cases[] = {
    {"V[0] = A[0, 0] * 0.5", "float32(A[0, 0]) * 0.5"},
    {"V[0] = A[0, 0] + 1", "float32(A[0, 0] + float16(1.0))"},
    {"V[0] = A[0, 0] + f", "float32(A[0, 0]) + f"},
    {"V[0] = n / 2.0", "float32(n) / 2.0"},
    {"V[0] = bx // 3 % 2", "float32(bx // 3 % 2)"},
    {"V[0] = bx + n", "float32(int32(bx) + n)"},
    {"V[0] = -n", "float32(-n)"},
    {"V[0] = f ** 2", "f * f"},
    {"V[0] = 1 if n > 3 else f", "select(int32(3) < n, 1.0, f)"},
    {"V[0] = T.if_then_else(bx < 2 and n == 1, f, 0)", "select(bx < 2 and n == int32(1), f, 0.0)"},
    {"V[0] = f if True and n else 0", "select(bool(n), f, 0.0)"},
    {"V[0] = T.max(f, 0)", "max(f, 0.0)"},
    {"V[0] = max(f, 1, 2)", "max(max(f, 1.0), 2.0)"},
    {"V[0] = T.exp2(f * 2)", "exp2(f * 2.0)"},
    {"V[0] = T.cast(I[bx], 'float32')", "float32(I[bx])"},
    {"V[0] = T.Cast(T.float32, I[0])", "float32(I[0])"},
    {"V[0] = I[0].astype(T.float16)", "float32(float16(I[0]))"},
    {"V[0] = T.ceildiv(n, 4)", "float32((n + int32(4) - int32(1)) // int32(4))"},
    {"V[0] = T.get_thread_binding(1)", "float32(tx // 32)"},
    {"V[0] = B.shape[0]", "float32(m)"},
    {"V[0] = A.shape[1] + T.float16.bits", "48.0"},
    {"V[0] = tilelang.math.next_power_of_2(33) + tilelang.cdiv(7, 2)", "68.0"},
    {"V[0] = -T.infinity('float32')", "-inf"},
  };
  EACH(cases, "V[0] = ", "");
}
END_TEST

START_TEST(flow) {
  check_body("x = V[0]\nV[0] = V[1]\nV[1] = x", "let x : float32 = V[0];V[0] = V[1];V[1] = x");
  check_body("V[0], V[1] = V[1], V[0]",
             "let value : float32 = V[1];let value_1 : float32 = V[0];V[0] = value;V[1] = value_1");
  check_body("c = T.alloc_var(T.int32, 5)\nc = c + 1\nc += n\nI[c] = c",
             "c[0] = int32(5);c[0] = c[0] + int32(1);c[0] = c[0] + n;I[index(c[0])] = c[0]");
  check_body("for i in range(4):\n    V[i] = 1", "for i in 0 +: 4 {;V[i] = 1.0;}");
  check_body("for i in range(2, n, 3):\n    V[i] = 1",
             "for i in 0 +: index(n) // 3 {;V[i * 3 + 2] = 1.0;}");
  check_body("for i in [1, 2]:\n    V[i] = i", "V[1] = 1.0;V[2] = 2.0");
  check_body(
      "for i, j in T.Parallel(4, 8):\n    if i > j:\n        F[i, j] = 1\n    else:\n        F[i, "
      "j] = 2",
      "parallel i, j in 0 +: 4, 0 +: 8 {;if j < i {;F[i, j] = 1.0;} else {;F[i, j] = 2.0;};}");
  check_body("for i in T.Pipelined(1, n, num_stages=2):\n    V[i] = 0",
             "pipelined i in 1 +: index(n) - 1 stages 2 {;V[i] = 0.0;}");
  check_body("if 3 > 2:\n    x = 1\nelse:\n    x = unknown\nV[0] = x", "V[0] = 1.0");
  check_body("V[0] = twice(V[1])", "let y : float32 = V[1] + V[1];V[0] = y");
  check_body("x = 1\nif n > 0:\n    x = 2\n    V[0] = x\nelse:\n    V[1] = x",
             "if int32(0) < n {;V[0] = 2.0;} else {;V[1] = 1.0;}");
  check_body("T.use_swizzle(4)\nT.sync_threads()", "sync_threads()");
  check_body(
      "T.gemm(S[0:16, 0:16], D[1, :, :], F, False, False, T.GemmWarpPolicy.FullCol, bx == 0)",
      "gemm(a=S[0 +: 16, 0 +: 16], b=D[1, 0 +: 16, 0 +: 32], c=F[0 +: 16, 0 +: 32], transa=0, "
      "transb=0, policy=2, clear=bx == 0)");
}
END_TEST

static const char factory[] =
  "import tilelang\nimport tilelang.language as T\n"
  "@tilelang.jit\n"
  "def f(M, unread, dtype='float16', tiles=(8, 4), block=None, flag=False):\n"
  "    m = T.dynamic('m')\n"
  "    @T.prim_func\n"
  "    def main(A: T.Tensor((m, M), dtype)):\n"
  "        with T.Kernel(T.ceildiv(m, block)) as bx:\n"
  "            for i in T.Parallel(tiles[0] if not flag else tiles[1]):\n"
  "                A[bx, i] = 1\n"
  "    return main\n";

START_TEST(bindings) {
  Run *r = start();
  map_set(r->bindings, "M", "0x40");
  map_set(r->bindings, "block", "16");
  map_set(r->bindings, "dtype", "T.bfloat16");
  map_set(r->bindings, "tiles", "[ 2, 6 ]");
  map_set(r->bindings, "flag", "True");
  map_set(r->bindings, "m", "77"); // a run-time size: taken, and never specialises
  compile(r, "f.tl", factory);
  ck_assert(r->ok);
  const Program *p = r->result.programs.data[0];
  ck_assert_str_eq(p->symbol, "f");
  ck_assert_str_eq(p->bindings, "M=64, dtype=bfloat16, tiles=[2,6], block=16, flag=True");
  ck_assert_int_eq(p->params.data[0].buf->dtype, DT_BF16);
  ck_assert_int_eq(p->sizes.len, 1);
  ck_assert_str_eq(p->sizes.data[0]->name, "m");
  ck_assert_str_eq(p->kernels.data[0]->name, "f_k0");
  const Stmt *loop = p->kernels.data[0]->body->u.block.data[0];
  ck_assert(ex_is(loop->u.loop.extent[0], 6));
  finish(r);
}
END_TEST

START_TEST(wanting_all) {
  Run *r = start();
  compile(r, "f.tl", factory);
  ck_assert_str_eq(code(r, 0), "E339");
  ck_assert_int_eq(diag_id(r->diags, 1), -1); // one error for all
  const EvEntry *e = &r->result.entries.data[0];
  ck_assert_int_eq(e->params.len, 6);
  static const bool wanting[] = {true, false, false, false, true, false};
  for (int i = 0; i < 6; i++) ck_assert_int_eq(e->params.data[i].missing, wanting[i]);
  finish(r);
}
END_TEST

START_TEST(spaces) {
  Run *r = start();
  r->options.configs = true;
  compile_file(r, "samples/gemm_nt.tl");
  const EvEntry *e = &r->result.entries.data[0];
  ck_assert_int_eq(e->configs.len, 3 * 3 * 2 * 4 * 2 * 2);
  const EvConfig *c = &e->configs.data[1];
  ck_assert_int_eq(c->bindings.len, 7);
  static const Case want[] = {{"block_M", "64"},
                              {"block_N", "64"},
                              {"block_K", "32"},
                              {"num_stages", "0"},
                              {"thread_num", "128"},
                              {"policy", "T.GemmWarpPolicy.Square"},
                              {"enable_rasteration", "False"}};
  for (int i = 0; i < 7; i++) {
    ck_assert_str_eq(c->bindings.data[i].name, want[i].in);
    ck_assert_str_eq(c->bindings.data[i].value, want[i].out);
  }
  finish(r);
  static const Case bad[] = {{"[3]", "E347"}, {"[{'a': print}]", "E348"}};
  for (size_t i = 0; i < LEN(bad); i++) {
    r = start();
    r->options.configs = true;
    compile(r, "g.tl",
            arena_printf(
                r->arena,
                "import tilelang\nimport tilelang.language as T\n"
                "@tilelang.autotune(configs=%s)\n@tilelang.jit\ndef f(a=1):\n    @T.prim_func\n"
                "    def main(A: T.Tensor((4,), T.float32)):\n        with T.Kernel(1):\n"
                "            A[0] = 1\n    return main\n",
                bad[i].in));
    ck_assert_str_eq(code(r, 0), bad[i].out);
    finish(r);
  }
}
END_TEST

START_TEST(eager) {
  static const char text[] =
    "import tilelang\nimport tilelang.language as T\n"
    "@tilelang.jit\n"
    "def g(B, s: T.float32, A, block=32):\n"
    "    M, N = T.const('M N')\n"
    "    A: T.Tensor[[M, N], 'float32']\n"
    "    B: T.Tensor((N,), T.int32)\n"
    "    C = T.empty((M, N), T.float16)\n"
    "    D = T.empty((M,), 'int32')\n"
    "    with T.Kernel(T.ceildiv(M, block), threads=64) as bx:\n"
    "        for i in T.Parallel(block):\n"
    "            C[bx, i] = A[bx, i] * s\n"
    "            D[i] = B[i]\n"
    "    return D, C\n";
  Run *r = start();
  map_set(r->bindings, "M", "64");
  map_set(r->bindings, "N", "16");
  compile(r, "g.tl", text);
  ck_assert(r->ok);
  const Program *p = r->result.programs.data[0];
  static const char *const names[] = {"B", "s", "A", "D", "C"};
  ck_assert_int_eq(p->params.len, 5);
  for (int i = 0; i < 5; i++) ck_assert_str_eq(p->params.data[i].name, names[i]);
  ck_assert_int_eq(p->params.data[0].role, ROLE_IN);
  ck_assert_int_eq(p->params.data[4].role, ROLE_OUT);
  finish(r);
  r = start();
  compile(r, "g.tl", text);
  ck_assert_str_eq(code(r, 0), "E339");
  finish(r);
}
END_TEST

START_TEST(entries) {
  static const char text[] =
      "import tilelang\nimport tilelang.language as T\nfrom common import add, bump, BLOCK\n"
      "def plain(n=BLOCK):\n    @T.prim_func\n    def main(A: T.Tensor((n,), T.float32)):\n"
      "        with T.Kernel(2) as bx:\n            c = T.alloc_var(T.int32, 0)\n            "
      "add(A, bx)\n"
      "            bump(c)\n    return main\n"
      "tuned = tilelang.jit(plain)\n"
      "also = tuned\n";
  Run *r = start();
  static const char *const include[] = {"tests/eval"};
  r->options.include = include;
  r->options.ninclude = 1;
  compile(r, "e.tl", text);
  ck_assert(r->ok);
  ck_assert_int_eq(r->result.programs.len, 1); // one function, whatever its names
  ck_assert_str_eq(r->result.programs.data[0]->symbol, "plain");
  ck_assert_int_eq(r->result.files.len, 1);
  ck_assert_str_eq(r->result.files.data[0], "tests/eval/common.tl");
  ck_assert_int_eq(r->result.programs.data[0]->kernels.data[0]->body->u.block.len, 3);
  finish(r);
}
END_TEST

// A prim_func means what its names meant where it was decorated.
START_TEST(closure_is_fixed_at_decoration) {
  Run *r = start();
  compile(
      r, "c.tl",
      "import tilelang.language as T\nn = 4\n@T.prim_func\ndef k(A: T.Tensor((n,), T.float32)):\n"
      "    with T.Kernel(n) as bx:\n        A[bx] = n\nn = 5\n");
  ck_assert(r->ok);
  ck_assert(ex_is(r->result.programs.data[0]->kernels.data[0]->grid[0], 4));
  finish(r);
}
END_TEST

START_TEST(facts_and_layouts) {
  Run *r = start();
  (void)body(r, "T.annotate_layout({S: tilelang.layout.make_swizzled_layout(S)})\n"
                "T.annotate_safe_value({A: -99})\nT.assume(n > 0)\nT.assume(bx < "
                "n)\nT.use_swizzle(7, 'column')");
  ck_assert(r->ok);
  const Program *p = r->result.programs.data[0];
  const Kernel *k = p->kernels.data[0];
  ck_assert_int_eq(p->facts.len, 1);
  ck_assert_int_eq(k->body->u.block.len, 1);
  ck_assert_int_eq(k->body->u.block.data[0]->kind, ST_ASSUME);
  ck_assert(k->buffers.data[0]->layout && !k->buffers.data[1]->layout);
  ck_assert(p->params.data[0].buf->safe->u.f == -99);
  ck_assert_int_eq(k->raster_panel, 7);
  ck_assert(k->raster_column);
  ck_assert_int_eq(k->threads, 128);
  finish(r);
}
END_TEST

// Several errors of one kernel are all found, and what they poison stays silent.
START_TEST(recovery) {
  Run *r = start();
  const char *got =
      body(r, "X = T.alloc_shared((0, 4), T.float16)\nT.copy(X, S)\nT.clear(X)\nT.gem(S)\n"
              "for i in T.serial(1.5):\n    T.clear(missing)\n    T.clear(i)");
  ck_assert_str_eq(got, "(errors)");
  static const char *const want[] = {"E451", "E430", "E336", "E301", "none"};
  for (size_t i = 0; i < LEN(want); i++) ck_assert_str_eq(code(r, (int)i), want[i]);
  finish(r);
}
END_TEST

// Every decision that a flag takes, T.Kernel's words take too.
START_TEST(hints) {
  static const char *const flags[] = {
#define FLAG(name, value, meaning) name,
#include "passes/flags.def"
#undef FLAG
  };
  for (size_t i = 0; i < LEN(flags); i++) {
    Run *r = start();
    char *word = arena_str(r->arena, flags[i]);
    for (char *p = word; *p; p++)
      if (*p == '-') *p = '_';
    compile(r, "hint.tl",
            arena_printf(r->arena,
                         "import tilelang.language as T\n@T.prim_func\n"
                         "def f(A: T.Tensor((64,), T.float32)):\n"
                         "    with T.Kernel(1, threads=32, %s=1):\n        A[0] = 1\n",
                         word));
    ck_assert_msg(r->ok, "T.Kernel does not take %s", word);
    const Kernel *k = r->result.programs.data[0]->kernels.data[0];
    ck_assert_int_eq(k->hints.len, 1);
    ck_assert_str_eq(k->hints.data[0].name, flags[i]);
    ck_assert_int_eq(k->hints.data[0].value, 1);
    finish(r);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("eval");
  TCase *t = tcase_create("eval");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, python_rules);
  tcase_add_test(t, samples);
  tcase_add_test(t, copy_forms);
  tcase_add_test(t, fills_and_atomics);
  tcase_add_test(t, typing);
  tcase_add_test(t, flow);
  tcase_add_test(t, bindings);
  tcase_add_test(t, wanting_all);
  tcase_add_test(t, spaces);
  tcase_add_test(t, hints);
  tcase_add_test(t, eager);
  tcase_add_test(t, entries);
  tcase_add_test(t, closure_is_fixed_at_decoration);
  tcase_add_test(t, facts_and_layouts);
  tcase_add_test(t, recovery);
  suite_add_tcase(s, t);
  return suite_run(s);
}
