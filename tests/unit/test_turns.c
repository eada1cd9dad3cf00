// runtime/turns: rests and rounds, on GPUs that are made up: they throttle never, until rested, or
// always.
// SPDX-License-Identifier: MIT
#include "runtime/runtime.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { N = 5, ROUNDS = 7 };

typedef struct {
  double cool[N], hot[N]; // ms a launch
  double load, most;      // seconds of load; beyond which it throttles
  double cools;           // seconds of load that a second of rest takes away
  double noise;           // of a launch, relative
  double burst_s, idle_s, heat_s;
  int bursts, rests;
  double busy_s;
} Gpu;

static RtStatus burst(void *ctx, int who, double *ms, double *busy_s, Buf *err) {
  Gpu *g = ctx;
  bool throttles = g->load > g->most;
  double wave = sin(12.9898 * ++g->bursts); // between -1 and 1, the same each time
  *ms = (throttles ? g->hot : g->cool)[who] * (1 + g->noise * wave);
  *busy_s = g->burst_s;
  g->load += *busy_s;
  g->busy_s += *busy_s;
  return RT_OK;
}

static void rest(void *ctx, double seconds) {
  Gpu *g = ctx;
  g->rests++;
  g->load = fmax(0, g->load - g->cools * seconds);
}

// The second is the best on a GPU that is cool, the third on one that throttles.
static const Gpu gpu = {
    .cool = {1.02, 1.00, 1.015, 1.2, 0.9}, .hot = {1.12, 1.14, 1.10, 1.5, 1.0}, .noise = 0.004};
static const bool stays[N] = {[4] = true}; // cuBLAS

typedef struct {
  double us[N], rested_s;
  int rounds[N];
  int slow; // samples of a GPU that throttled
} Result;

static Result play(Gpu *g, bool narrows) {
  double samples[N][ROUNDS], *ms[N], lo, hi;
  Buf err = {0};
  Result r;
  for (int i = 0; i < N; i++) ms[i] = samples[i];
  RtTurns o = {N, ROUNDS, narrows, stays, g->idle_s, g->heat_s, burst, rest, g};
  RtTurnsResult out = {ms, r.rounds, 0};
  ck_assert(rt_turns_play(&o, &out, &err) == RT_OK);
  r.slow = 0;
  for (int i = 0; i < N; i++) {
    r.us[i] = rt_median(ms[i], r.rounds[i], &lo, &hi);
    for (int k = 0; k < r.rounds[i]; k++) r.slow += ms[i][k] > 1.03 * gpu.cool[i];
  }
  r.rested_s = out.rested_s;
  return r;
}

START_TEST(no_rests_where_none_are_needed) {
  Gpu g = gpu;
  g.most = INFINITY;
  Result r = play(&g, false);
  ck_assert_int_eq(g.rests, 1); // the one before the first round
  ck_assert_int_eq(g.bursts, N * ROUNDS);
  for (int i = 0; i < N; i++) ck_assert_int_eq(r.rounds[i], ROUNDS);
  ck_assert(r.rested_s == 0.1);
  g.idle_s = 0.06; // part of a rest
  g.heat_s = 0.02;
  ck_assert(fabs(play(&g, false).rested_s - 0.04) < 1e-9);
  g.heat_s = 0.04; // and load after it
  ck_assert(play(&g, false).rested_s == 0.1);
  g.heat_s = 0;
  g.idle_s = 2;
  ck_assert(play(&g, false).rested_s == 0);
}
END_TEST

// Loads of 20 to 100 ms until it throttles; rests that take away as much, or four times as much. A
// round is 20 ms of load.
START_TEST(the_ranking_is_that_of_a_cool_gpu) {
  Gpu g = gpu;
  g.most = 0.02 * (1 + _i / 2);
  g.cools = _i % 2 ? 4 : 1;
  g.load = g.most + 0.02; // what ran before
  Result r = play(&g, false);
  for (int i = 0; i < N; i++) ck_assert_msg(fabs(r.us[i] / gpu.cool[i] - 1) < 0.01, "%g", r.us[i]);
  ck_assert(r.us[1] < r.us[2] && r.us[2] < r.us[0]);
  ck_assert_msg(r.slow <= ROUNDS, "%d", r.slow); // one a round may go unseen
  ck_assert_msg(r.rested_s < 2.5, "%g s", r.rested_s);
  for (int i = 0; i < N; i++) ck_assert_int_eq(r.rounds[i], ROUNDS);
}
END_TEST

START_TEST(long_bursts_have_rests_between_them) { // a round is 60 ms of load, 30 ms throttle
  Gpu g = gpu;
  g.burst_s = 12e-3;
  g.most = 0.03;
  g.cools = 1;
  Result r = play(&g, false);
  ck_assert_msg(r.slow <= ROUNDS, "%d", r.slow);
  for (int i = 0; i < N; i++) ck_assert_msg(fabs(r.us[i] / gpu.cool[i] - 1) < 0.01, "%g", r.us[i]);
}
END_TEST

START_TEST(an_end_where_rests_do_not_help) {
  Gpu g = gpu;
  g.noise = 0.1;
  Result r = play(&g, false);
  ck_assert_int_le(g.bursts, N * (ROUNDS + 3));
  ck_assert_msg(r.rested_s < 2, "%g s", r.rested_s);
}
END_TEST

START_TEST(who_is_behind_sits_out) {
  Gpu g = gpu;
  g.most = INFINITY;
  Result r = play(&g, true);
  static const int want[N] = {ROUNDS, ROUNDS, ROUNDS, 2, ROUNDS};
  ck_assert(!memcmp(r.rounds, want, sizeof want));
  ck_assert_int_eq(g.bursts, N * 2 + (N - 1) * (ROUNDS - 2));
}
END_TEST

START_TEST(each_is_first_once) { // and none always follows the same one
  bool first[N] = {false}, after[N][N] = {{false}};
  for (int round = 0; round < 2 * N; round++) {
    int seen = 0, before = -1;
    for (int k = 0; k < N; k++) {
      int i = rt_turn(round, k, N);
      seen |= 1 << i;
      if (before >= 0) after[before][i] = true;
      before = i;
    }
    ck_assert_int_eq(seen, (1 << N) - 1);
    first[rt_turn(round, 0, N)] = true;
  }
  for (int i = 0; i < N; i++) ck_assert(first[i] && after[i][(i + 1) % N] && after[(i + 1) % N][i]);
}
END_TEST

int main(void) {
  Suite *s = suite_create("turns");
  TCase *t = tcase_create("turns");
  tcase_add_test(t, no_rests_where_none_are_needed);
  tcase_add_loop_test(t, the_ranking_is_that_of_a_cool_gpu, 0, 10);
  tcase_add_test(t, long_bursts_have_rests_between_them);
  tcase_add_test(t, an_end_where_rests_do_not_help);
  tcase_add_test(t, who_is_behind_sits_out);
  tcase_add_test(t, each_is_first_once);
  suite_add_tcase(s, t);
  return suite_run(s);
}
