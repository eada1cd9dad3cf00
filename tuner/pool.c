// Jobs in a queue, some of them running, as many as the processors and the memory bear.
// SPDX-License-Identifier: MIT
#include "tuner/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SAID = 64 << 10, MOST_READS = 64, MEMORY_MS = 200 };
#define DEFAULT_MEMORY ((int64_t)1 << 30)

typedef struct {
  TnCommand command;
  int tag;
  TnChild child;
  bool running, done;
  double start;
  TnJobResult result;
} Job;

struct TnPool {
  Arena *arena;
  TnPoolOptions o;
  VEC(Job) jobs; // in order; those before `first` have been taken
  int first, running;
  bool starved; // the last look at the memory forbade a start
};

int tn_pool_jobs(int wanted) {
  const char *env = getenv("TLC_JOBS");
  if (wanted <= 0 && env) wanted = atoi(env);
  if (wanted <= 0) wanted = processor_count();
  return wanted < 1 ? 1 : wanted > 256 ? 256 : wanted;
}

TnPool *tn_pool_new(const TnPoolOptions *o) {
  Arena *a = arena_new();
  TnPool *p = NEW(a, TnPool);
  p->arena = a;
  p->o = *o;
  p->o.jobs = tn_pool_jobs(o->jobs);
  if (!p->o.memory) p->o.memory = DEFAULT_MEMORY;
  if (!p->o.meminfo) p->o.meminfo = "/proc/meminfo";
  return p;
}

void tn_pool_free(TnPool *p) {
  if (!p) return;
  for (int i = p->first; i < p->jobs.len; i++)
    if (p->jobs.data[i].running) tn_child_kill(&p->jobs.data[i].child);
  for (int i = p->first; i < p->jobs.len; i++) {
    Job *j = &p->jobs.data[i];
    if (j->running) tn_child_end(&j->child, &j->result.code);
    buf_free(&j->result.said);
  }
  arena_free(p->arena);
}

int tn_pool_running(const TnPool *p) { return p->running; }

int tn_pool_load(const TnPool *p) {
  int n = 0;
  for (int i = p->first; i < p->jobs.len; i++) n += !p->jobs.data[i].done;
  return n;
}

/* ------------------------------------------------------------------ starting */

// One job may always run; others need memory.
static bool may_start(TnPool *p) {
  p->starved = false;
  if (p->running >= p->o.jobs) return false;
  if (!p->running) return true;
  FILE *f = fopen(p->o.meminfo, "re");
  if (!f) return true;
  char line[256];
  long long kib = -1;
  while (kib < 0 && fgets(line, sizeof line, f)) (void)!sscanf(line, "MemAvailable: %lld", &kib);
  fclose(f);
  p->starved = kib >= 0 && kib * 1024 < p->o.memory;
  return !p->starved;
}

static void start_jobs(TnPool *p) {
  for (int i = p->first; i < p->jobs.len; i++) {
    Job *j = &p->jobs.data[i];
    if (j->running || j->done) continue;
    if (!may_start(p)) return;
    j->start = clock_seconds();
    j->running = tn_child_start(&j->command, &j->child);
    p->running += j->running;
    if (j->running) continue;
    if ((errno == EAGAIN || errno == ENOMEM) && p->running) return; // later, when others are done
    j->done = true;
    j->result.end = TN_NOT_STARTED;
    j->result.code = errno;
  }
}

void tn_pool_add(TnPool *p, const TnCommand *c, int tag) {
  vec_push(p->arena, &p->jobs, (Job){.command = *c, .tag = tag, .result = {.tag = tag}});
  start_jobs(p);
}

/* ------------------------------------------------------------------ waiting */

static void read_output(Job *j) {
  char chunk[4096];
  ssize_t n = 0;
  // Who writes without end has not this process for itself.
  for (int k = 0; k < MOST_READS && (n = read(j->child.output, chunk, sizeof chunk)) > 0; k++) {
    size_t room = MOST_SAID - j->result.said.len;
    buf_add(&j->result.said, chunk, (size_t)n < room ? (size_t)n : room);
  }
  if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) return;
  close(j->child.output);
  j->child.output = -1;
}

static void finish(TnPool *p, Job *j) {
  if (j->child.output >= 0) read_output(j);
  j->result.end = tn_child_end(&j->child, &j->result.code);
  j->result.seconds = clock_seconds() - j->start;
  j->running = false;
  j->done = true;
  p->running--;
}

bool tn_pool_wait(TnPool *p, struct pollfd *more, int n, int ms) {
  start_jobs(p);
  for (int i = p->first; i < p->jobs.len; i++) // did one end without running?
    if (p->jobs.data[i].done) ms = 0;
  int most = n + 2 * p->running, used = 0;
  struct pollfd *fds = calloc((size_t)most + 1, sizeof *fds);
  int *of = calloc((size_t)most + 1, sizeof *of);
  if (!fds || !of) fatal("out of memory");
  for (; used < n; used++) fds[used] = more[used];
  for (int i = p->first; i < p->jobs.len; i++) {
    const Job *j = &p->jobs.data[i];
    if (!j->running) continue;
    of[used] = i;
    fds[used++] = (struct pollfd){.fd = j->child.verdict, .events = POLLIN};
    of[used] = i;
    fds[used++] = (struct pollfd){.fd = j->child.output, .events = POLLIN}; // -1: ignored
  }
  if (p->starved && (ms < 0 || ms > MEMORY_MS)) ms = MEMORY_MS;
  bool ok = poll(fds, (nfds_t)used, ms) >= 0;
  int error = errno;
  for (int i = 0; i < n; i++) more[i].revents = ok ? fds[i].revents : 0;
  for (int i = n; ok && i < used; i += 2) {
    Job *j = &p->jobs.data[of[i]];
    if (fds[i + 1].revents && j->child.output >= 0) read_output(j);
    if (fds[i].revents) finish(p, j);
  }
  free(fds);
  free(of);
  errno = error;
  return ok;
}

bool tn_pool_take(TnPool *p, TnJobResult *out) {
  for (int i = p->first; i < p->jobs.len; i++) {
    Job *j = &p->jobs.data[i];
    if (!j->done) continue;
    *out = j->result;
    Job taken = *j; // those before it move up: the order of the others stays
    for (int k = i; k > p->first; k--) p->jobs.data[k] = p->jobs.data[k - 1];
    p->jobs.data[p->first] = taken;
    p->first++;
    return true;
  }
  return false;
}
