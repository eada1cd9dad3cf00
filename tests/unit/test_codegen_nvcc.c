// Generated files under nvcc: no warning from it or the host compiler, several in one program (also
// with relocatable device code), their launchers called from C through the headers. No GPU is
// needed. Results are kept by content under build/tests/nvcc. Without nvcc the tests are skipped.
// SPDX-License-Identifier: MIT
#include "emu_build.h"
#include "micro_sm90.h"
#include "text_host.h"
#include "suite.h"

static const char *nvcc;
static char folder[256];

static int shell(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  Arena *a = arena_new();
  char *command = arena_vprintf(a, fmt, ap);
  va_end(ap);
  int status = system(command);
  arena_free(a);
  return status;
}

// Runs nvcc with these flags over a text unless the same was done before; the result is `*out`.
static bool compile(const Buf *text, const char *flags, char *out, size_t n) {
  uint64_t h = hash_bytes(buf_str(text), text->len, hash_bytes(flags, strlen(flags), 0));
  char cu[400], temporary[400];
  snprintf(out, n, "%s/%016llx.o", folder, (unsigned long long)h);
  snprintf(cu, sizeof cu, "%s/%016llx.cu", folder, (unsigned long long)h);
  snprintf(temporary, sizeof temporary, "%s/%016llx.%d.o", folder, (unsigned long long)h,
           (int)getpid());
  if (access(out, R_OK) == 0) return true;
  if (text_write(cu, text)) return false;
  return shell("%s -std=c++17 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror %s -c -o %s %s "
               "&& mv %s %s",
               nvcc, flags, temporary, cu, temporary, out) == 0;
}

// A small program of its own: C[i] = scale * A[i] for i < M.
static void small_program(const char *symbol) {
  bench_begin(64, 2);
  T.p->symbol = symbol;
  T.p->file = "small.tl";
  T.k->name = arena_printf(T.a, "%s_k0", symbol);
  Var *M = var_new(T.a, "M", DT_INDEX, VAR_SIZE, NO_SPAN);
  Var *scale = var_new(T.a, "scale", DT_F16, VAR_SCALAR, NO_SPAN);
  vec_push(T.a, &T.p->sizes, M);
  T.k->grid[0] = quo(add(V(M), I(63)), 64);
  Buffer *S = buffer("S", DT_F16, SC_SHARED, 30000);
  S->offset = 0;
  T.k->smem_bytes = 60000;
  Expr *shape[] = {V(M)};
  static const char *const names[] = {"A", "C"};
  Buffer *b[2];
  for (int i = 0; i < 2; i++) {
    b[i] = buf_new(T.a, names[i], DT_F16, SC_GLOBAL, shape, 1, NO_SPAN);
    b[i]->align = 16;
    vec_push(T.a, &T.p->params, (Param){.kind = PARAM_TENSOR, .name = names[i], .buf = b[i]});
  }
  vec_push(T.a, &T.p->params, (Param){.kind = PARAM_SCALAR, .name = "scale", .var = scale});
  Expr *i = add(mul(V(T.k->block[0]), 64), tx());
  Stmt *yes = block();
  put(yes, store(S, tx(), bin(BIN_MUL, at(b[0], i), V(scale))));
  put(yes, store(b[1], i, at(S, tx())));
  put(T.k->body, when(lt(i, V(M)), yes, NULL));
  ir_roles(T.p);
}

static CgOptions named(const char *out) {
  return (CgOptions){.target = target_find("sm_80"), .out_name = out};
}

START_TEST(every_helper_compiles) {
  Micros s;
  char out[400];
  Arena *a = arena_new();
  micro_all(&s, a);
  int n = s.list.len;
  const Program **p = NEWN(a, const Program *, n);
  CgOptions *o = NEWN(a, CgOptions, n);
  for (int i = 0; i < n; i++) {
    p[i] = s.list.data[i]->p;
    o[i] = named("micro.cu");
    o[i].debug = i % 2;
  }
  Buf text = {0};
  cg_cuda_all(p, o, n, &text);
  ck_assert(compile(&text, "-arch=sm_80", out, sizeof out));
  ck_assert(compile(&text,
                    "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90", out,
                    sizeof out));
  buf_free(&text);
  arena_free(a);
}
END_TEST

START_TEST(every_sm90_helper_compiles) {
  Micros s;
  char out[400];
  Arena *a = arena_new();
  micro_sm90_all(&s, a);
  int n = s.list.len;
  const Program **p = NEWN(a, const Program *, n);
  CgOptions *o = NEWN(a, CgOptions, n);
  for (int i = 0; i < n; i++) {
    p[i] = s.list.data[i]->p;
    o[i] = (CgOptions){.target = target_find("sm_90a"), .out_name = "micro.cu"};
  }
  Buf text = {0};
  cg_cuda_all(p, o, n, &text);
  ck_assert(compile(&text, "-arch=sm_90a", out, sizeof out));
  buf_free(&text);
  arena_free(a);
}
END_TEST

static const char mapped[] =
    "program mapped\nsize M\nsize K\nparam A : tensor float16 [M * K] role in\n"
    "kernel mapped_k0 {\n  level thread\n  threads 32\n  grid [M, 1, 1]\n  cluster [2, 1, 1]\n"
    "  thread tx\n  block [bx, _, _]\n  smem 1152\n  map Am : float16 [M, K] of A box [8, 64]\n"
    "  shared S : float16 [512] offset 0\n  shared b : uint64 [1] offset 1024\n  body {\n"
    "    if tx == 0 { tma_load(src=Am[bx +: 8, 0 +: 64], dst=S[0 +: 512], bar=b[0]) }\n  }\n}\n";

// What TMA cannot address is refused before anything is launched; an empty grid launches nothing.
START_TEST(maps_are_judged_by_the_launcher) {
  Micros s = {.a = arena_new()};
  const Program *p = micro_read(&s, mapped);
  Buf text = {0};
  CgOptions o = {.target = target_find("sm_90a"), .out_name = "mapped.cu"};
  char out[400], why[200];
  cg_cuda(p, &o, &text);
  text_entry(p, &text);
  ck_assert(compile(&text, "-arch=sm_90a -Xcompiler -fPIC", out, sizeof out));
  ck_assert_int_eq(shell("%s -shared -o %s.so %s", nvcc, out, out), 0);
  strcat(out, ".so");
  void *lib = dlopen(out, RTLD_NOW);
  ck_assert_msg(lib != NULL, "%s", dlerror());
  int (*check)(void *const *, char *, size_t) =
      (int (*)(void *const *, char *, size_t))dlsym(lib, "text_check_mapped");
  int (*call)(void *const *) = (int (*)(void *const *))dlsym(lib, "text_call_mapped");
  static const struct {
    int64_t m, k;
    const char *why;
  } cases[] = {{4, 64, ""},
               {0, 64, ""},
               {4, 60, "A must have strides that are multiples of 16 bytes, below 2^40"},
               {3, 64, "the grid of mapped_k0 must be a multiple of 2 blocks along x"}};
  void *data = arena_alloc(s.a, 1024);
  for (size_t i = 0; i < LEN(cases); i++) {
    int64_t sizes[2] = {cases[i].m, cases[i].k};
    void *args[] = {data, &sizes[0], &sizes[1]};
    int error = check(args, why, sizeof why);
    ck_assert_str_eq(why, cases[i].why);
    ck_assert_int_eq(error, *cases[i].why ? 1 : 0); // cudaErrorInvalidValue
    if (*cases[i].why || cases[i].m == 0) ck_assert_int_eq(call(args), error);
  }
  buf_free(&text);
  arena_free(s.a);
}
END_TEST

static const char caller[] =
    "#include <stdio.h>\n#include <string.h>\n#include \"one.h\"\n#include \"two.h\"\n"
    "int main(void) {\n  char msg[200];\n  static float data[64];\n  char *p = (char *)data;\n"
    "  p += 64 - (size_t)p % 64;\n"
    "  const cudaError_t pending = cudaPeekAtLastError();\n"
    "  if (one(p + 2, p + 128, 0x3c00, 8, 0) != cudaErrorInvalidValue) return 1;\n"
    "  if (two_check(p + 2, p + 128, 0, 8, msg, sizeof msg) != cudaErrorInvalidValue) return 2;\n"
    "  if (strcmp(msg, \"A must be aligned to 16 bytes\")) return 3;\n"
    "  if (two_check(p, p + 128, 0, 8, msg, sizeof msg) != cudaSuccess || *msg) return 4;\n"
    "  if (one(p, p + 128, 0x3c00, 0, 0) != cudaSuccess) return 5;\n"
    "  if (cudaPeekAtLastError() != pending) return 6;\n"
    "  return 0;\n}\n";

static void write_header(const char *stem) {
  Buf h = {0};
  char path[400];
  CgOptions o = named(arena_printf(T.a, "%s.cu", stem));
  cg_header(T.p, &o, &h);
  snprintf(path, sizeof path, "%s/%s.h", folder, stem);
  ck_assert_int_eq(text_write(path, &h), 0);
  buf_free(&h);
}

// Two generated files and a C caller as one program.
static void link_two(const char *flags, const char *link) {
  char object[2][400], path[400];
  static const char *const symbols[] = {"one", "two"};
  for (int i = 0; i < 2; i++) {
    small_program(symbols[i]);
    CgOptions o = named("small.cu");
    Buf text = {0};
    cg_cuda(T.p, &o, &text);
    ck_assert(compile(&text, flags, object[i], sizeof object[i]));
    write_header(symbols[i]);
    buf_free(&text);
    bench_end();
  }
  Buf main_c = {0};
  buf_puts(&main_c, caller);
  snprintf(path, sizeof path, "%s/caller.c", folder);
  ck_assert_int_eq(text_write(path, &main_c), 0);
  buf_free(&main_c);
  const char *slash = strrchr(nvcc, '/');
  int root = slash ? (int)(slash - nvcc) : 0;
  ck_assert_int_eq(shell("cc -std=c99 -Wall -Wextra -Werror -isystem %.*s/../include -I%s -c -o "
                         "%s/caller.o %s/caller.c",
                         root, nvcc, folder, folder, folder),
                   0);
  ck_assert_int_eq(shell("%s %s -o %s/caller %s/caller.o %s %s && %s/caller", nvcc, link, folder,
                         folder, object[0], object[1], folder),
                   0);
}

START_TEST(two_files_link) {
  link_two("-arch=sm_80", "-arch=sm_80");
}
END_TEST

START_TEST(two_files_link_relocatable) {
  link_two("-arch=sm_80 -rdc=true", "-arch=sm_80 -rdc=true");
}
END_TEST

START_TEST(clang_is_a_host) {
  char out[400];
  if (shell("command -v clang++ > /dev/null")) return;
  small_program("one");
  CgOptions o = named("small.cu");
  Buf text = {0};
  cg_cuda(T.p, &o, &text);
  ck_assert(compile(&text, "-arch=sm_80 -ccbin clang++ -Xcompiler -Wno-unused-function", out,
                    sizeof out));
  buf_free(&text);
  bench_end();
}
END_TEST

static const char *find_nvcc(void) {
  if (!shell("command -v nvcc > /dev/null 2>&1")) {
    static char path[400];
    FILE *f = popen("command -v nvcc", "r");
    if (f && fgets(path, sizeof path, f)) path[strcspn(path, "\n")] = 0;
    if (f) pclose(f);
    return path;
  }
  return access("/usr/local/cuda/bin/nvcc", X_OK) ? NULL : "/usr/local/cuda/bin/nvcc";
}

int main(void) {
  nvcc = find_nvcc();
  if (!nvcc) {
    puts("SKIPPED test_codegen_nvcc: no nvcc");
    return getenv("TLC_CI") != NULL;
  }
  text_folder(folder, sizeof folder);
  strcat(folder, "/../nvcc");
  mkdir(folder, 0777);
  Suite *s = suite_create("codegen_nvcc");
  TCase *t = tcase_create("nvcc");
  tcase_set_timeout(t, 300);
  tcase_add_test(t, every_helper_compiles);
  tcase_add_test(t, every_sm90_helper_compiles);
  tcase_add_test(t, maps_are_judged_by_the_launcher);
  tcase_add_test(t, two_files_link);
  tcase_add_test(t, two_files_link_relocatable);
  tcase_add_test(t, clang_is_a_host);
  suite_add_tcase(s, t);
  return suite_run(s);
}
