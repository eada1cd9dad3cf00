// The runner process: reads messages, has them carried out, answers. Its stdout is the tuner's;
// what libraries and kernels print goes to stderr.
// SPDX-License-Identifier: MIT
#include "tuner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  FILE *to;
  RtGpu *gpu;
  TnTrials *trials;
  Buf in; // lines that have come
} Runner;

// False: none has come, and with `wait` none will.
static bool read_lines(Runner *r, bool wait) {
  struct pollfd f = {.fd = STDIN_FILENO, .events = POLLIN};
  char chunk[4096];
  if (!wait && poll(&f, 1, 0) <= 0) return false;
  ssize_t n;
  while ((n = read(STDIN_FILENO, chunk, sizeof chunk)) < 0 && errno == EINTR) {}
  if (n > 0) buf_add(&r->in, chunk, (size_t)n);
  return n > 0;
}

// Bytes of the first line; -1: it is not whole.
static ssize_t line_length(const Runner *r) {
  const char *end = r->in.len ? memchr(r->in.data, '\n', r->in.len) : NULL;
  return end ? end - r->in.data : -1;
}

static TnMessage take_line(Runner *r, Arena *a, size_t n) {
  TnMessage m = tn_wire_parse(a, r->in.data, n);
  r->in.len -= n + 1;
  memmove(r->in.data, r->in.data + n + 1, r->in.len);
  return m;
}

static void answer(Runner *r, Buf *b) {
  tn_wire_end(b);
  fwrite(b->data, 1, b->len, r->to);
  fflush(r->to);
  buf_free(b);
}

static void answer_text(Runner *r, const char *verb, const char *text) {
  Buf b = {0};
  tn_wire_verb(&b, verb);
  if (text) tn_wire_text(&b, "text", text);
  answer(r, &b);
}

static void put_spent(Runner *r, Buf *b) {
  TnSpent spent = tn_trials_spent(r->trials);
  tn_wire_spent(b, &spent);
}

static void answer_spent(Runner *r, const char *verb) {
  Buf b = {0};
  tn_wire_verb(&b, verb);
  put_spent(r, &b);
  answer(r, &b);
}

static void started(void *ctx) { answer_text(ctx, "started", NULL); }

// The next candidate is loaded, should the tuner have named it.
static void meanwhile(void *ctx) {
  Runner *r = ctx;
  static const char verb[] = "ahead\t";
  while (read_lines(r, false)) {}
  ssize_t n = line_length(r);
  if (n < 0 || strncmp(r->in.data, verb, sizeof verb - 1) != 0) return;
  Arena *a = arena_new();
  TnMessage m = take_line(r, a, (size_t)n);
  tn_load_ahead(r->trials, &m);
  arena_free(a);
}

// After a fault the context is lost: nothing may wait for the GPU again, exit handlers neither.
static void answer_verdict(Runner *r, TnVerdict v, const Buf *why) {
  static const char *const verbs[] = {"ok", "wrong", "failed", "fault", "hung"};
  Buf b = {0};
  tn_wire_verb(&b, verbs[v]);
  tn_wire_text(&b, "text", buf_str(why));
  put_spent(r, &b);
  answer(r, &b);
  if (v == TN_TRIAL_FAULT || v == TN_TRIAL_HUNG) _exit(0);
}

// "found" says what the GPU is, "gpu" that it can be used, which takes its time.
static void answer_gpu(Runner *r, const char *verb, const char *busy) {
  const RtGpuInfo *i = rt_gpu_info(r->gpu);
  Buf b = {0};
  tn_wire_verb(&b, verb);
  tn_wire_text(&b, "name", i->name);
  tn_wire_text(&b, "arch", i->arch);
  tn_wire_int(&b, "sm", i->sm);
  tn_wire_int(&b, "driver", i->driver);
  if (busy) tn_wire_text(&b, "busy", busy);
  answer(r, &b);
}

static void hello(Runner *r, const Options *o) {
  Buf err = {0}, others = {0};
  RtStatus s = r->gpu ? RT_OK : rt_gpu_find(0, &r->gpu, &err);
  bool first = !r->trials, busy = false;
  if (s == RT_OK && first) {
    answer_gpu(r, "found", NULL);
    busy = tn_gpu_busy(&others); // before this process has a context itself
    s = rt_gpu_start(r->gpu, &err);
  }
  if (s == RT_OK) {
    if (first) r->trials = tn_trials_new(o, r->gpu, &(TnWatcher){started, meanwhile, r});
    answer_gpu(r, "gpu", busy ? buf_str(&others) : NULL);
  } else {
    answer_text(r, "missing", buf_str(&err));
  }
  buf_free(&err);
  buf_free(&others);
}

static void try_one(Runner *r, const TnMessage *m, bool keep) {
  Buf why = {0}, b = {0};
  RtSamples s = {0};
  TnVerdict v = tn_trial(r->trials, m, keep, &s, &why);
  if (v != TN_TRIAL_OK) {
    answer_verdict(r, v, &why);
  } else if (keep) {
    answer_spent(r, "kept");
  } else {
    tn_wire_verb(&b, "measured");
    tn_wire_real(&b, "median", s.median_us);
    tn_wire_real(&b, "mean", s.mean_us);
    tn_wire_real(&b, "min", s.min_us);
    tn_wire_real(&b, "max", s.max_us);
    tn_wire_int(&b, "launches", s.launches);
    tn_wire_int(&b, "early", s.early);
    put_spent(r, &b);
    answer(r, &b);
  }
  buf_free(&why);
}

static void final_round(Runner *r, const TnMessage *m) {
  int ids[TN_MOST_KEPT + 1], n;
  RtTiming time[TN_MOST_KEPT + 1];
  Buf why = {0};
  int rounds = (int)tn_wire_get_int(m, "rounds", 7);
  bool narrows = tn_wire_get_int(m, "narrows", 0) != 0;
  TnVerdict v = tn_trial_final(r->trials, rounds, narrows, ids, time, &n, &why);
  for (int i = 0; i < n && v == TN_TRIAL_OK; i++) {
    Buf b = {0};
    tn_wire_verb(&b, "time");
    tn_wire_int(&b, "id", ids[i]);
    tn_wire_real(&b, "median", time[i].us);
    tn_wire_real(&b, "lo", time[i].us_lo);
    tn_wire_real(&b, "hi", time[i].us_hi);
    answer(r, &b);
  }
  if (v == TN_TRIAL_OK) answer_spent(r, "end");
  else answer_verdict(r, v, &why);
  buf_free(&why);
}

static void obey(Runner *r, const TnMessage *m, const Options *o) {
  if (!strcmp(m->verb, "hello")) hello(r, o);
  else if (!r->trials) answer_text(r, "failed", "no GPU was opened");
  else if (!strncmp(m->verb, "prepare", 7)) tn_prepare_trials(r->trials, m);
  else if (!strcmp(m->verb, "ahead")) tn_load_ahead(r->trials, m);
  else if (!strcmp(m->verb, "try")) try_one(r, m, false);
  else if (!strcmp(m->verb, "keep")) try_one(r, m, true);
  else if (!strcmp(m->verb, "final")) final_round(r, m);
  else answer_text(r, "failed", "unknown message");
}

int tn_runner(const Options *o) {
  Runner r = {0};
  int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd < 0 || !(r.to = fdopen(fd, "w")) || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    fatal("the runner's stdout:");
  for (;;) {
    ssize_t n = line_length(&r);
    if (n < 0 && read_lines(&r, true)) continue;
    if (n < 0) break;
    Arena *a = arena_new();
    TnMessage m = take_line(&r, a, (size_t)n);
    obey(&r, &m, o);
    arena_free(a);
  }
  _exit(0); // candidates' libraries may have exit handlers of their own
}
