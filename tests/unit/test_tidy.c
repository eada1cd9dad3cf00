// simplify and tidy on small programs in text: what goes and what stays.
// SPDX-License-Identifier: MIT
#include "pass_build.h"
#include "suite.h"

static const char head[] =
    "program f file \"f.tl\" bindings \"\"\n"
    "param A : tensor float32 [64] role in\nparam C : tensor float32 [64] role out\n\n"
    "kernel f_k0 {\n  level thread\n  grid [1, 1, 1]\n  threads 64\n  block [bx, by, bz]\n"
    "  thread tx\n";

static Program *read_text(const char *declarations, const char *body) {
  Buf text = {0};
  T = (Bench){.a = arena_new()};
  T.sources = src_new(T.a);
  T.diags = diag_new(T.a, T.sources, (DiagOptions){0});
  buf_printf(&text, "%s%s  body {\n%s  }\n}\n", head, declarations, body);
  uint32_t file = src_add(T.sources, "f.tir", arena_str(T.a, buf_str(&text)), text.len);
  buf_free(&text);
  Program *p = ir_read(T.a, T.diags, file);
  diag_flush(T.diags, stderr);
  ck_assert(p != NULL);
  T.c = (PassCtx){.arena = T.a, .diags = T.diags, .target = target_find("sm_80")};
  return p;
}

// The body of the only kernel after all passes of the thread level.
static void expect_body(const char *declarations, const char *body, const char *want) {
  Program *p = read_text(declarations, body);
  ck_assert(passes_run(p, &T.c));
  Buf text = {0};
  ir_print(p, &text);
  const char *got = strstr(buf_str(&text), "  body {\n");
  ck_assert(got != NULL);
  got += strlen("  body {\n");
  ck_assert_msg(!strncmp(got, want, strlen(want)) && !strcmp(got + strlen(want), "  }\n}\n"),
                "expected:\n%sgot:\n%s", want, got);
  buf_free(&text);
  arena_free(T.a);
}

START_TEST(dead_lets_and_registers) {
  expect_body("  local r : float32 [4]\n  local q : float32 [1]\n",
              "    let a = tx * 2\n    let b = a + 1\n    let used = tx\n"
              "    r[0] = A[b]\n    q[0] = 1.0\n    C[used] = q[0]\n",
              "    let used = tx\n    q[0] = 1.0\n    C[used] = q[0]\n");
}
END_TEST

START_TEST(decided_branches) {
  expect_body("", "    if tx < 64 {\n      C[tx] = 1.0\n    } else {\n      C[0] = 2.0\n    }\n"
                  "    if tx < 0 {\n      C[0] = 3.0\n    }\n"
                  "    if tx < 8 {\n      if tx < 16 {\n        C[tx] = 4.0\n      }\n    }\n",
              "    C[tx] = 1.0\n    if tx < 8 {\n      C[tx] = 4.0\n    }\n");
}
END_TEST

START_TEST(empty_loops) {
  expect_body("  local r : float32 [1]\n",
              "    C[tx] = 1.0\n    for i in 0 +: 0 {\n      C[tx] = 2.0\n    }\n"
              "    for j in 0 +: 5 {\n      r[0] = A[tx]\n    }\n"
              "    for k in 0 +: 1 {\n      C[tx] = A[tx]\n    }\n",
              "    C[tx] = 1.0\n    for k in 0 +: 1 {\n      C[tx] = A[tx]\n    }\n");
}
END_TEST

START_TEST(canonical_indices) {
  expect_body("", "    C[(tx * 4 + 3) // 4 + tx * 0] = A[(tx + 64) % 64]\n",
              "    C[tx] = A[tx]\n");
}
END_TEST

int main(void) {
  Suite *s = suite_create("tidy");
  TCase *t = tcase_create("text");
  const TTest *const tests[] = {dead_lets_and_registers, decided_branches, empty_loops,
                                canonical_indices};
  for (size_t i = 0; i < LEN(tests); i++) tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  return suite_run(s);
}
