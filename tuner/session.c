// The tuner's end of its runner process.
// SPDX-License-Identifier: MIT
#include "tuner/search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GENTLE_MS = 3000, DEATH_MS = 60000, DEAF_MS = 10000, MOST_IN = 256 << 10 };

// This process's own arguments after the program's name, as they were given.
static void own_arguments(Arena *a, char ***argv, int *n, int *cap) {
  FILE *f = fopen("/proc/self/cmdline", "re");
  Buf all = {0};
  char chunk[4096];
  for (size_t got; f && (got = fread(chunk, 1, sizeof chunk, f)) > 0;) buf_add(&all, chunk, got);
  if (f) fclose(f);
  for (size_t at = 0, i = 0; at < all.len; at += strlen(all.data + at) + 1, i++) {
    if (!i) continue;
    vec_reserve(a, (void **)argv, cap, *n + 1, sizeof **argv);
    (*argv)[(*n)++] = arena_str(a, all.data + at);
  }
  buf_free(&all);
}

void tn_session_new(TnSession *s, Arena *a) {
  const char *runner = getenv("TLC_TUNE_RUNNER");
  char **argv = NULL;
  int n = 0, cap = 0;
  vec_reserve(a, (void **)&argv, &cap, 2, sizeof *argv);
  argv[n++] = arena_str(a, runner && *runner ? runner : "/proc/self/exe");
  argv[n++] = arena_str(a, "--tune-runner");
  own_arguments(a, &argv, &n, &cap);
  vec_reserve(a, (void **)&argv, &cap, n + 1, sizeof *argv);
  argv[n] = NULL;
  *s = (TnSession){.arena = a, .command = {.argv = argv, .talks = true}};
}

bool tn_session_start(TnSession *s) {
  s->trials = 0;
  s->starts++;
  s->in.len = 0;
  s->alive = tn_child_start(&s->command, &s->child);
  if (s->alive) fcntl(s->child.input, F_SETFL, O_NONBLOCK);
  return s->alive;
}

void tn_session_send(TnSession *s, const Buf *line) {
  double deadline = clock_seconds() + 1e-3 * DEAF_MS;
  for (size_t at = 0; s->alive && at < line->len && !tn_interrupted;) {
    ssize_t n = write(s->child.input, line->data + at, line->len - at);
    if (n > 0) at += (size_t)n;
    if (n >= 0 || errno == EINTR) continue;
    struct pollfd f = {.fd = s->child.input, .events = POLLOUT};
    bool full = errno == EAGAIN && clock_seconds() < deadline; // else it is gone, or takes nothing
    if (!full) return;                                         // in: reading will tell
    (void)poll(&f, 1, 100);
  }
}

bool tn_session_read(TnSession *s) {
  char chunk[4096];
  ssize_t n = -1;
  while (s->alive && s->in.len < MOST_IN && (n = read(s->child.output, chunk, sizeof chunk)) > 0)
    buf_add(&s->in, chunk, (size_t)n);
  return s->alive && n < 0 && (errno == EAGAIN || errno == EINTR);
}

bool tn_session_next(TnSession *s, Arena *a, TnMessage *m) {
  const char *end = s->in.len ? memchr(s->in.data, '\n', s->in.len) : NULL;
  if (!end) return false;
  size_t n = (size_t)(end - s->in.data);
  *m = tn_wire_parse(a, s->in.data, n);
  s->in.len -= n + 1;
  memmove(s->in.data, s->in.data + n + 1, s->in.len);
  return true;
}

static bool ended_within(const TnSession *s, int ms) {
  struct pollfd f = {.fd = s->child.verdict, .events = POLLIN};
  double end = clock_seconds() + 1e-3 * ms;
  for (int left = ms; left >= 0; left = (int)(1e3 * (end - clock_seconds())))
    if (poll(&f, 1, left) > 0) return true;
  return false;
}

void tn_session_stop(TnSession *s, bool gently, Buf *how) {
  if (!s->alive) return;
  s->alive = false;
  close(s->child.input); // it reads the end of its messages
  s->child.input = -1;
  bool ended = gently && ended_within(s, GENTLE_MS);
  if (!ended) tn_child_kill(&s->child);
  if (!ended && !ended_within(s, DEATH_MS)) {
    if (how) buf_puts(how, "it does not die: the driver holds it");
    return;
  }
  int code;
  TnEnd end = tn_child_end(&s->child, &code);
  if (how) tn_end_text(end, code, 0, how);
}

bool tn_session_wait(TnSession *s, Arena *a, double deadline, TnMessage *m) {
  while (!tn_session_next(s, a, m)) {
    double left = deadline - clock_seconds();
    struct pollfd f = {.fd = s->child.output, .events = POLLIN};
    if (!s->alive || left <= 0) return false;
    if (poll(&f, 1, (int)(1e3 * left) + 1) < 0) return false; // a signal
    if (f.revents && !tn_session_read(s)) return tn_session_next(s, a, m);
  }
  return true;
}
