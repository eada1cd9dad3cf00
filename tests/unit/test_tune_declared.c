// tuner/declared: a reference program's elements against their values by hand, rounded as torch
// does.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "driver/data.h"
#include "suite.h"
#include "tuner/internal.h"
#include "tuner/runner.h"

static const char source[] =
    "import tilelang.language as T\n"
    "@T.prim_func\n"
    "def kern(A: T.Tensor((4, 6), 'float16'), I: T.Tensor((4, 6), 'int32'), X: T.Tensor((2, 3, 4), "
    "'float16'), O: T.Tensor((4, 6), 'float32')):\n"
    "    with T.Kernel(1, threads=32):\n"
    "        for i, j in T.Parallel(4, 6):\n"
    "            O[i, j] = A[i, j] + T.cast(I[i, j], 'float16') + X[0, 0, 0]\n";

static Arena *arena;
static TnProgram program;
static RunData data;

static void setup(void) {
  arena = arena_new();
  Options *o = NEW(arena, Options);
  *o = (Options){
      .arena = arena, .bindings = map_new(arena), .flags = map_new(arena), .arch = "sm_80"};
  o->seed = 7;
  TnSpace s = {.arena = arena, .options = o, .target = target_find("sm_80"), .source = source};
  TnCandidate c = {.same_as = -1};
  Buf why = {0};
  ck_assert_msg(tn_program_open(&program, &s, &c, &why), "%s", buf_str(&why));
  ck_assert_int_eq(data_make(&data, program.program, o), EXIT_OK);
  buf_free(&why);
}

static void teardown(void) {
  tn_program_close(&program);
  arena_free(arena);
}

static double half(double x) {
  char at[8];
  rt_set(RT_F16, at, 0, x);
  return rt_get(RT_F16, at, 0);
}

static double by_four(double a, double i) { return i / 4; }
static double by_two_and_more(double a, double i) { return i * 2.5; }
static double whole(double a, double i) { return trunc(half(a * 10)); }
static double third(double a, double i) { return half(a * (1.0 / 3)); }
static double minus_half(double a, double i) { return half(a * -0.5); }
static double sum(double a, double i) { return half(a + i); }
static double root(double a, double i) { return (double)(float)sqrt(fabs(i)); }
static double doubled(double a, double i) { return i * 2; }

static const struct {
  const char *text;
  double (*want)(double a, double i);
} programs[] = {{"I / 4", by_four},
                {"I * 2.5", by_two_and_more},
                {"(A * 10).int()", whole},
                {"A * (1.0 / 3.0)", third},
                {"A * -(1.0 / 2)", minus_half},
                {"A + I", sum},
                {"I + A", sum},
                {"torch.sqrt(I.abs())", root},
                {"2 * I", doubled}};

START_TEST(by_hand) {
  char text[200];
  TnReference r;
  Buf why = {0};
  snprintf(text, sizeof text, "(A, I, X, )\n%s\n", programs[_i].text);
  ck_assert_msg(tn_declared(arena, text, &data, 1, &r, &why), "%s", buf_str(&why));
  ck_assert_int_eq(r.outputs.len, 1);
  const TnSamples *s = &r.outputs.data[0];
  ck_assert_int_eq(s->n, 24);
  bool varied = false;
  for (int64_t k = 0; k < s->n; k++) {
    double a = rt_get(RT_F16, data.array[0].data, s->at[k]);
    double i = rt_get(RT_I32, data.array[1].data, s->at[k]);
    double got = rt_get(RT_F32, s->want, k), want = (double)(float)programs[_i].want(a, i);
    ck_assert_msg(got == want, "%s: a=%g, i=%g: %.9g, not %.9g", programs[_i].text, a, i, got,
                  want);
    varied |= want != 0;
  }
  ck_assert(varied);
}
END_TEST

// What torch does otherwise, or not at all, is not guessed.
START_TEST(refused) {
  static const char *const texts[] = {"X.T",      "X.t()",      "A + X", "A // 2", "A[0]",
                                      "A.sum(0)", "unknown(A)", "A @ A", "B",      "(A, A)"};
  for (size_t k = 0; k < LEN(texts); k++) {
    char text[200];
    TnReference r;
    Buf why = {0};
    snprintf(text, sizeof text, "(A, I, X, )\n%s\n", texts[k]);
    bool ok = tn_declared(arena, text, &data, 1, &r, &why);
    ck_assert_msg(!ok && why.len, "%s", texts[k]);
    buf_free(&why);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("tune_declared");
  TCase *t = tcase_create("tune_declared");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, by_hand, 0, LEN(programs));
  tcase_add_test(t, refused);
  suite_add_tcase(s, t);
  return suite_run(s);
}
