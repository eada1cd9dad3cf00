// Timing of single launches, for a search among many kernels.
// SPDX-License-Identifier: MIT
#include "cuda.h"
#include "private.h"

#include <math.h>

enum { FIRST = 3 /* launches that say whether to go on */, MOST_LAUNCHES = 1000 };

typedef struct {
  RtGpu *gpu;
  const Driver *cu;
  const RtContender *who;
  const Handle *events; // two a launch: before it, and behind
  void *flush; // device memory that, written, leaves nothing else in the L2 cache; NULL: warm
  size_t flush_bytes;
} Timer;

static RtStatus mark(const Timer *t, Handle event, Buf *err) {
  int result = t->cu->event_record(event, rt_gpu_stream(t->gpu));
  return gpu_result(t->gpu, result, "timing", err);
}

static RtStatus one_launch(const Timer *t, Buf *err) {
  return t->who->launch(t->who->ctx, rt_gpu_stream(t->gpu), err);
}

// n launches, all in the stream before any is waited for; us[n].
static RtStatus launches(Timer *t, int n, const RtTimeOptions *o, double *us, Buf *err) {
  RtStatus s = gpu_events(t->gpu, 2 * n, &t->events, err);
  for (int i = 0; i < n && s == RT_OK; i++) {
    if (t->flush) s = rt_gpu_memset(t->gpu, t->flush, i, t->flush_bytes, err);
    if (s == RT_OK) s = mark(t, t->events[2 * i], err);
    if (s == RT_OK) s = one_launch(t, err);
    if (s == RT_OK) s = mark(t, t->events[2 * i + 1], err);
  }
  if (s == RT_OK && n > FIRST && o->meanwhile) o->meanwhile(o->ctx);
  if (s == RT_OK) s = rt_gpu_sync(t->gpu, err);
  for (int i = 0; i < n && s == RT_OK; i++) {
    float ms = 0;
    int result = t->cu->event_elapsed(&ms, t->events[2 * i], t->events[2 * i + 1]);
    s = gpu_result(t->gpu, result, "timing", err);
    us[i] = 1e3 * (double)ms;
    gpu_was_busy(t->gpu, 1e-6 * us[i]);
  }
  return s;
}

static void summarise(double *us, int n, bool early, RtSamples *out) {
  double lo, hi, sum = 0;
  for (int i = 0; i < n; i++) sum += us[i];
  *out = (RtSamples){.mean_us = sum / n, .launches = n, .early = early};
  out->median_us = rt_median(us, n, &lo, &hi); // sorts
  out->min_us = us[0];
  out->max_us = us[n - 1];
}

static RtStatus measure(Timer *t, const RtTimeOptions *o, RtSamples *out, Buf *err) {
  double us[MOST_LAUNCHES];
  RtStatus s = launches(t, FIRST, o, us, err);
  double least = fmin(us[0], fmin(us[1], us[2]));
  if (s != RT_OK) return s;
  if (o->stop_us > 0 && least > o->stop_us) {
    summarise(us, FIRST, true, out);
    return RT_OK;
  }
  double most = o->most_s > 0 ? o->most_s * 1e6 / fmax(least, 0.1) : MOST_LAUNCHES;
  int rep = o->rep < FIRST ? FIRST : o->rep > MOST_LAUNCHES ? MOST_LAUNCHES : o->rep;
  if (rep > most) rep = most < FIRST ? FIRST : (int)most;
  int warmup = o->warmup > most ? (int)most : o->warmup;
  for (int i = FIRST; i < warmup && s == RT_OK; i++) s = one_launch(t, err);
  if (s == RT_OK) s = launches(t, rep, o, us, err);
  if (s != RT_OK) return s;
  summarise(us, rep, false, out);
  if (warmup > FIRST) gpu_was_busy(t->gpu, 1e-6 * out->median_us * (warmup - FIRST));
  return RT_OK;
}

RtStatus rt_time(RtGpu *g, const RtContender *who, const RtTimeOptions *o, RtSamples *out,
                 Buf *err) {
  Arena *a = arena_new();
  Timer *t = NEW(a, Timer);
  t->gpu = g;
  t->cu = gpu_driver(g);
  t->who = who;
  gpu_enter(g);
  RtStatus s = RT_OK;
  if (o->cold_l2) {
    t->flush_bytes = (size_t)rt_gpu_info(g)->l2 * 2;
    s = rt_gpu_alloc(g, t->flush_bytes, &t->flush, err);
  }
  if (s == RT_OK) s = measure(t, o, out, err);
  rt_gpu_free(g, t->flush);
  arena_free(a);
  return s;
}
