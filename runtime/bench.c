// Timing: bursts of launches between two events, contenders taking turns. The numbers are from
// DESIGN.md section 8: GPUs throttle under sustained load, so bursts are short and rests long.
// SPDX-License-Identifier: MIT
#include "cuda.h"
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum {
  WARM_UPS = 2,
  MIN_LAUNCHES = 10,
  MAX_LAUNCHES = 4000,
  GRAPH_LAUNCHES = 20, // of a launch so short that the host could not keep up
  DEFAULT_ROUNDS = 7,
  BRIEF_WARM_UPS = 1, // in a hurry
  BRIEF_LAUNCHES = 2,
};
#define DEFAULT_IDLE_S 0.3
#define DEFAULT_BURST_MS 10.0
#define LONGEST_BURST_MS 200.0 // fewer than MIN_LAUNCHES of a very slow kernel do, and heat less
#define SHORT_LAUNCH_MS 0.03
#define BRIEF_BURST_MS 3.0

typedef struct {
  const RtContender *who;
  Handle exec;           // a graph of GRAPH_LAUNCHES launches, or NULL
  int launches, replays; // launches in a burst; replays of exec in a burst
  double *samples;       // ms a launch, one a round
} Runner;

typedef struct {
  RtGpu *gpu;
  const Driver *cu;
  Handle from, to; // events
  bool cold;
  double burst_ms, idle_s;
  int warm_ups, least; // launches that are not timed; that are
  void *flush;         // device memory that, written, leaves nothing else in the L2 cache
  size_t flush_bytes;
} Bench;

static void rest(double seconds) {
  if (seconds <= 0) return;
  struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
  nanosleep(&t, NULL);
}

static RtStatus launch(const Bench *b, const Runner *r, int n, Buf *err) {
  RtStatus s = RT_OK;
  for (int i = 0; i < n && s == RT_OK; i++)
    s = r->who->launch(r->who->ctx, rt_gpu_stream(b->gpu), err);
  return s;
}

static RtStatus mark(const Bench *b, Handle event, Buf *err) {
  int result = b->cu->event_record(event, rt_gpu_stream(b->gpu));
  return gpu_result(b->gpu, result, "timing", err);
}

// Milliseconds between the two events, after waiting for all.
static RtStatus elapsed(const Bench *b, double *ms, Buf *err) {
  float value = 0;
  RtStatus s = rt_gpu_sync(b->gpu, err);
  if (s == RT_OK)
    s = gpu_result(b->gpu, b->cu->event_elapsed(&value, b->from, b->to), "timing", err);
  *ms = (double)value;
  return s;
}

static RtStatus replay(const Bench *b, const Runner *r, Buf *err) {
  int result = CU_SUCCESS;
  for (int i = 0; i < r->replays && result == CU_SUCCESS; i++)
    result = b->cu->graph_launch(r->exec, rt_gpu_stream(b->gpu));
  return gpu_result(b->gpu, result, "replaying a graph of launches", err);
}

/* One burst; each gives ms a launch */

static void count(const Bench *b, const Runner *r, double ms) {
  gpu_was_busy(b->gpu, 1e-3 * ms * (r->launches + b->warm_ups));
}

static RtStatus warm_burst(const Bench *b, const Runner *r, double *ms, Buf *err) {
  RtStatus s = launch(b, r, b->warm_ups, err);
  if (s == RT_OK) s = mark(b, b->from, err);
  if (s == RT_OK) s = r->exec ? replay(b, r, err) : launch(b, r, r->launches, err);
  if (s == RT_OK) s = mark(b, b->to, err);
  if (s == RT_OK) s = elapsed(b, ms, err);
  *ms /= r->exec ? r->replays * GRAPH_LAUNCHES : r->launches;
  if (s == RT_OK) count(b, r, *ms);
  return s;
}

// Every launch alone behind a flush. The mean, as in the warm burst.
static RtStatus cold_burst(const Bench *b, const Runner *r, double *ms, Buf *err) {
  RtStatus s = launch(b, r, b->warm_ups, err);
  double sum = 0, one = 0;
  for (int i = 0; i < r->launches && s == RT_OK; i++) {
    s = rt_gpu_memset(b->gpu, b->flush, i, b->flush_bytes, err);
    if (s == RT_OK) s = mark(b, b->from, err);
    if (s == RT_OK) s = launch(b, r, 1, err);
    if (s == RT_OK) s = mark(b, b->to, err);
    if (s == RT_OK) s = elapsed(b, &one, err);
    sum += one;
  }
  *ms = sum / r->launches;
  if (s == RT_OK) count(b, r, *ms);
  return s;
}

static RtStatus burst(const Bench *b, const Runner *r, double *ms, Buf *err) {
  return b->cold ? cold_burst(b, r, ms, err) : warm_burst(b, r, ms, err);
}

/* Before the first round */

// Captures launches into a graph, so that launch gaps do not count.
static RtStatus make_graph(const Bench *b, Runner *r, Buf *err) {
  Handle stream = rt_gpu_stream(b->gpu), graph = NULL;
  int result = b->cu->capture(stream, CU_CAPTURE_THREAD_LOCAL);
  if (result != CU_SUCCESS) return gpu_result(b->gpu, result, "capturing launches", err);
  RtStatus s = launch(b, r, GRAPH_LAUNCHES, err);
  result = b->cu->capture_end(stream, &graph); // also after a failed launch: it ends the capture
  if (s == RT_OK) s = gpu_result(b->gpu, result, "capturing launches", err);
  if (s == RT_OK) {
    result = b->cu->graph_build(&r->exec, graph, 0);
    s = gpu_result(b->gpu, result, "building a graph of launches", err);
  }
  if (graph) b->cu->graph_free(graph);
  return s;
}

// Chooses the burst's length from a first, untimed one.
static RtStatus prepare(const Bench *b, Runner *r, Buf *err) {
  double ms = 0;
  r->launches = 3;
  RtStatus s = burst(b, r, &ms, err);
  if (s != RT_OK) return s;
  double n = ceil(b->burst_ms / fmax(ms, 1e-4));
  if (n < b->least) n = fmax(n, fmin(b->least, floor(LONGEST_BURST_MS / ms)));
  r->launches = (int)fmin(n, MAX_LAUNCHES);
  if (b->cold) r->launches = MIN_LAUNCHES;
  if (b->cold || ms > SHORT_LAUNCH_MS) return RT_OK;
  r->replays = (r->launches + GRAPH_LAUNCHES - 1) / GRAPH_LAUNCHES;
  r->launches = r->replays * GRAPH_LAUNCHES;
  return make_graph(b, r, err);
}

static RtStatus start(Bench *b, Buf *err) {
  RtStatus s = gpu_result(b->gpu, b->cu->event_new(&b->from, 0), "making an event", err);
  if (s == RT_OK) s = gpu_result(b->gpu, b->cu->event_new(&b->to, 0), "making an event", err);
  if (s != RT_OK || !b->cold) return s;
  b->flush_bytes = (size_t)rt_gpu_info(b->gpu)->l2 * 2;
  return rt_gpu_alloc(b->gpu, b->flush_bytes, &b->flush, err);
}

static void stop(const Bench *b, const Runner *list, int n) {
  for (int i = 0; i < n; i++)
    if (list[i].exec) b->cu->exec_free(list[i].exec);
  if (b->from) b->cu->event_free(b->from);
  if (b->to) b->cu->event_free(b->to);
  rt_gpu_free(b->gpu, b->flush);
}

/* Rounds and what they say */

int rt_turn(int round, int k, int n) { return (round + (round % 2 ? n - k : k)) % n; }

static RtStatus play(const Bench *b, Runner *list, int n, int rounds, Buf *err) {
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < n; i++) {
      Runner *r = &list[rt_turn(round, i, n)];
      rest(b->idle_s);
      RtStatus s = burst(b, r, &r->samples[round], err);
      if (s != RT_OK) return s;
    }
  }
  return RT_OK;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double rt_median(double *samples, int n, double *lo, double *hi) {
  qsort(samples, (size_t)n, sizeof *samples, by_value);
  // Each sample lies below the population's median with probability 1/2: leave out `cut` order
  // statistics at each end while the binomial mass beyond stays within 2.5 % a side.
  int cut = 0;
  double choose = 1, below = pow(0.5, n);
  for (int k = 1; k < n; k++) {
    choose = choose * (n - k + 1) / k;
    double mass = below + choose * pow(0.5, n);
    if (mass > 0.025) break;
    cut = k;
    below = mass;
  }
  *lo = samples[cut];
  *hi = samples[n - 1 - cut];
  return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

static void summarise(Arena *a, const Runner *list, int n, int rounds, RtTiming *out) {
  for (int i = 0; i < n; i++) { // ratios first: they pair the rounds, and medians sort
    double *ratio = NEWN(a, double, rounds);
    for (int k = 0; k < rounds; k++) ratio[k] = list[0].samples[k] / list[i].samples[k];
    out[i] = (RtTiming){.name = list[i].who->name, .rounds = rounds, .launches = list[i].launches};
    out[i].ratio = rt_median(ratio, rounds, &out[i].ratio_lo, &out[i].ratio_hi);
  }
  for (int i = 0; i < n; i++) {
    out[i].us = 1e3 * rt_median(list[i].samples, rounds, &out[i].us_lo, &out[i].us_hi);
    out[i].us_lo *= 1e3;
    out[i].us_hi *= 1e3;
  }
}

static Bench bench_of(RtGpu *g, bool brief) {
  return (Bench){.gpu = g,
                 .cu = gpu_driver(g),
                 .warm_ups = brief ? BRIEF_WARM_UPS : WARM_UPS,
                 .least = brief ? BRIEF_LAUNCHES : MIN_LAUNCHES};
}

RtStatus rt_bench(RtGpu *g, const RtContender *list, int n, const RtBenchOptions *o, RtTiming *out,
                  Buf *err) {
  Arena *a = arena_new();
  int rounds = o->rounds > 0 ? o->rounds : DEFAULT_ROUNDS;
  Bench b = bench_of(g, o->brief);
  b.cold = o->cold_l2;
  b.burst_ms = o->burst_ms > 0 ? o->burst_ms : DEFAULT_BURST_MS;
  b.idle_s = o->idle_s == 0 ? DEFAULT_IDLE_S : o->idle_s;
  Runner *runners = NEWN(a, Runner, n);
  gpu_enter(g);
  RtStatus s = start(&b, err);
  for (int i = 0; i < n && s == RT_OK; i++) {
    runners[i].who = &list[i];
    runners[i].samples = NEWN(a, double, rounds);
    s = prepare(&b, &runners[i], err);
  }
  if (s == RT_OK) s = play(&b, runners, n, rounds, err);
  if (s == RT_OK) summarise(a, runners, n, rounds, out);
  stop(&b, runners, n);
  arena_free(a);
  return s;
}

/* The same in a hurry */

typedef struct {
  Bench bench;
  const Runner *runners;
} Turns;

static RtStatus take_turn(void *ctx, int who, double *ms, double *busy_s, Buf *err) {
  const Turns *t = ctx;
  double before = rt_gpu_busy(t->bench.gpu);
  RtStatus s = burst(&t->bench, &t->runners[who], ms, err);
  *busy_s = rt_gpu_busy(t->bench.gpu) - before;
  return s;
}

static void rest_turn(void *ctx, double seconds) { rest(seconds); }

RtStatus rt_turns(RtGpu *g, const RtContender *list, int n, int rounds, bool narrows,
                  const bool *stays, RtTiming *out, double *rested_s, Buf *err) {
  Arena *a = arena_new();
  Runner *runners = NEWN(a, Runner, n);
  Turns t = {bench_of(g, true), runners};
  t.bench.burst_ms = BRIEF_BURST_MS;
  RtTurns o = {n, rounds, narrows, stays, gpu_idle(g), 0, take_turn, rest_turn, &t};
  RtTurnsResult r = {.ms = NEWN(a, double *, n), .rounds = NEWN(a, int, n)};
  double busy = rt_gpu_busy(g);
  gpu_enter(g);
  RtStatus s = start(&t.bench, err);
  for (int i = 0; i < n && s == RT_OK; i++) {
    runners[i].who = &list[i];
    r.ms[i] = NEWN(a, double, rounds);
    s = prepare(&t.bench, &runners[i], err);
  }
  o.heat_s = rt_gpu_busy(g) - busy;
  if (s == RT_OK) s = rt_turns_play(&o, &r, err);
  for (int i = 0; i < n && s == RT_OK; i++) {
    out[i] = (RtTiming){list[i].name, .rounds = r.rounds[i], .launches = runners[i].launches};
    out[i].us = 1e3 * rt_median(r.ms[i], r.rounds[i], &out[i].us_lo, &out[i].us_hi);
    out[i].us_lo *= 1e3;
    out[i].us_hi *= 1e3;
  }
  *rested_s = r.rested_s;
  stop(&t.bench, runners, n);
  arena_free(a);
  return s;
}
