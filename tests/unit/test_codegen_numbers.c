// codegen/numbers: which numbers of an emitted text a build may take at run time, and its text.
// SPDX-License-Identifier: MIT
#include "codegen/codegen.h"
#include "suite.h"

#include <check.h>
#include <string.h>

static const char kernel[] = "\nstatic __global__ void __launch_bounds__(128,\n"
                             "    1) f_k0(const int *__restrict__ A, int *__restrict__ B) {\n"
                             "  alignas(16) float x[64];\n";
static const char host[] = "}\n\n"
                           "static const char *f_refuses(const void *A, void *B) {\n"
                           "  if (tlc_overlap(A, 5000000000LL, B, 4)) return \"must be 7, (8)\";\n"
                           "}\n\n"
                           "extern \"C\" cudaError_t f(const void *A, void *B) {\n"
                           "  config.dynamicSmemBytes = 99;\n"
                           "  error = cudaLaunchKernelEx(&config,\n      f_k0, A, B);\n"
                           "}\n";

// What is found in the body of a kernel: "value" or "value~" where not exact, with blanks between.
static const char *in_body(Arena *a, const char *body) {
  Buf b = {0};
  CgNumbers n;
  const char *text = arena_printf(a, "int g() { return 1 + 2; }%s%s\n%s", kernel, body, host);
  cg_numbers(a, text, "f", &n);
  for (int i = 0; i < n.list.len; i++) {
    const CgNumber *x = &n.list.data[i];
    if (x->kernel == 0)
      buf_printf(&b, "%s%d%s", b.len ? " " : "", (int)x->value, x->exact ? "" : "~");
    ck_assert(!strncmp(text + x->at, arena_printf(a, "%lld", (long long)x->value), x->len) ||
              x->value == 5000000000);
  }
  const char *list = arena_str(a, buf_str(&b));
  buf_free(&b);
  return list;
}

#define FOUND(body, list) ck_assert_str_eq(in_body(a, body), list)

START_TEST(loops) {
  Arena *a = arena_new();
  FOUND("for (int k = 0; k < 32; ++k) {\n  }", "32");
  FOUND("for (int k = 0; k < 31; ++k) {\n  }", "31~");
  FOUND("for (int64_t k = 3; k < 35; ++k) {\n  }", "35");
  FOUND("for (int k = 3; k < 34; ++k) {\n  }", "34~");
  FOUND("#pragma unroll\nfor (int k = 0; k < 32; ++k) {\n  }", "");
  FOUND("for (int k = 0; k < 32 && x; ++k) {\n  }", "32~");
  FOUND("for (int k = n; k < 64; ++k) {\n  }", "");
  arena_free(a);
}
END_TEST

START_TEST(comparisons) { // of a loop's variable, inside of the loop
  Arena *a = arena_new();
  FOUND("for (int k = 0; k < 64; ++k) {\nif (k < 62) {\n  } y = k == 3 ? 1 : 0;\n  }", "64 62 3");
  FOUND("for (int k = 0; k < 8; ++k) {\nif (k < 6) {\n  }\n  }", "8~ 6~");
  FOUND("for (int k = 0; k < 64; ++k) {\n  }\nif (k < 62) {\n  }", "64 62~");
  FOUND("for (int k = 0; k < 64; ++k) {\nif (k / 4 < 6) {\n  }\n  }", "64 6~");
  FOUND("if (tx < 256) {\n  }", "256~");
  arena_free(a);
}
END_TEST

START_TEST(operands) {
  Arena *a = arena_new();
  FOUND("A[by * 4096 + s * 64 + (tx >> 3) * 8 + 128] = 1;", "4096~ 64~ 8~ 128~");
  FOUND("const int end = slot + 64;", "64");
  FOUND("const int end = slot + 64 * n;", "64~");
  FOUND("y = b / 640 + b % 640 + (b & 63) + (b << 3);", ""); // others as variables
  FOUND("tlc_wait<1>();\ntlc_mma<64, 32>(x);\nx[3] = 5;", "");
  FOUND("y = tile * 3 / 4;", "");
  FOUND("y = a * 0x40 + b * 2.5f + c * 3000000000 + \"* 5)\"; // z * 7;", "");
  arena_free(a);
}
END_TEST

START_TEST(launchers) { // whole arguments; nothing in texts, nothing assigned
  Arena *a = arena_new();
  CgNumbers n;
  cg_numbers(a, arena_printf(a, "%s\n%s", kernel, host), "f", &n);
  ck_assert_int_eq(n.list.len, 2);
  ck_assert_int_eq(n.list.data[0].value, 5000000000);
  ck_assert_int_eq(n.list.data[0].len, 12);
  ck_assert_int_eq(n.list.data[1].value, 4);
  ck_assert(n.list.data[0].kernel < 0 && n.list.data[0].exact);
  cg_numbers(a, arena_printf(a, "%s\n%s", kernel, host), "g", &n); // of another program
  ck_assert_int_eq(n.list.len, 0);
  arena_free(a);
}
END_TEST

START_TEST(whole_text) {
  Arena *a = arena_new();
  Buf b = {0};
  CgNumbers n;
  const char *body = "  for (int k = 0; k < 64; ++k) {\n    y = A[k * 8 + 5];\n  }\n";
  const char *given = arena_printf(a, "int z;\n%s%s%s", kernel, body, host);
  static const int slot[] = {1, 0, -1, 2, 1}; // 64, 8, 5; 5000000000, 4
  cg_numbers(a, given, "f", &n);
  ck_assert_int_eq(n.list.len, LEN(slot));
  cg_numbers_text(given, "f", &n, slot, 3, &b);
  const char *rest = buf_str(&b);
  const char *const parts[] = {
      "int z;\n\nstatic int64_t tlc_numbers[3];\nextern \"C\" void tlc_take_numbers(const int64_t "
      "*",
      " f_k0(const int tlc_n0, const int tlc_n1, const int *__restrict__ A, int *__restrict__ B) "
      "{\n",
      "  for (int k = 0; k < tlc_n1; ++k) {\n    y = A[k * tlc_n0 + 5];\n  }\n}\n",
      "tlc_overlap(A, tlc_numbers[2], B, tlc_numbers[1])",
      "f_k0, static_cast<int>(tlc_numbers[0]), static_cast<int>(tlc_numbers[1]), A, B);\n}\n",
  };
  for (size_t i = 0; i < LEN(parts); i++) {
    ck_assert_msg(strstr(rest, parts[i]) != NULL, "no '%s' in\n%s", parts[i], buf_str(&b));
    rest = strstr(rest, parts[i]) + 1;
  }
  buf_free(&b);
  arena_free(a);
}
END_TEST

int main(void) {
  Suite *s = suite_create("codegen numbers");
  TCase *c = tcase_create("all");
  tcase_add_test(c, loops);
  tcase_add_test(c, comparisons);
  tcase_add_test(c, operands);
  tcase_add_test(c, launchers);
  tcase_add_test(c, whole_text);
  suite_add_tcase(s, c);
  return suite_run(s);
}
