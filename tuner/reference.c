// What a candidate's outputs are compared with: elements that the oracle computed.
// SPDX-License-Identifier: MIT
#include "tuner/runner.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/pool.h"

enum { MOST_SAMPLES = 1 << 18, MOST_WORKERS = 64 }; // of one output; processes of the oracle

/* ------------------------------------------------------------------ several processes */

static size_t aligned(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

// What the processes find out of one output, where all of them see it.
typedef struct {
  char *at;                  // NULL: it is none, or there is no memory
  size_t size, count, bytes; // of an element, elements, of all
  char *data;
  uint8_t *written;
  float *bound; // NULL: exact
} Shared;

// False: elements are parts of a byte, or there is no memory.
static bool share_output(const RunData *d, int i, const EmuArg *arg, Shared *out) {
  size_t bits = (size_t)rt_type_bits(d->array[i].type), count = d->bytes[i] * 8 / bits;
  size_t data = aligned(d->bytes[i]), written = aligned(count);
  size_t bytes = data + written + (arg->bound ? count * sizeof *arg->bound : 0);
  char *p = MAP_FAILED;
  if (bits % 8 == 0 && bytes)
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  float *bound = arg->bound ? (float *)(void *)(p + data + written) : NULL;
  *out = (Shared){p, bits / 8, count, bytes, p, (uint8_t *)p + data, bound};
  return true;
}

// The elements that this process has written.
static void give(const Shared *s, const EmuArg *mine) {
  const uint8_t *end = mine->written + s->count;
  for (const uint8_t *p = mine->written; (p = memchr(p, 1, (size_t)(end - p))); p++) {
    size_t i = (size_t)(p - mine->written);
    memcpy(s->data + i * s->size, (const char *)mine->data + i * s->size, s->size);
    if (s->bound) s->bound[i] = mine->bound[i];
    s->written[i] = 1;
  }
}

// Every step-th of the blocks, or of those that write together, from `first` on, in a process of
// its own. -1: it does not start.
static pid_t start_part(const RunData *d, EmuArg *args, const Shared *shared, const Sample *s,
                        int first, int step) {
  pid_t parent = getpid(), pid = fork();
  if (pid) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  Arena *a = arena_new();
  Diags *diags = diag_new(a, src_new(a), (DiagOptions){0});
  int64_t *own = NEWN(a, int64_t, s->n);
  EmuCall call = {d->sizes, args, d->wgmma};
  int mine = 0;
  for (int i = 0; i < s->n; i++)
    if (i / s->together % step == first) own[mine++] = s->block[i];
  if (!oracle_run_blocks(d->program, &call, own, mine, diags)) _exit(1);
  for (int i = 0; i < d->program->params.len; i++)
    if (shared[i].at) give(&shared[i], &args[i]);
  _exit(0);
}

// False: some part failed, and why is not known here.
static bool run_parts(const RunData *d, EmuArg *args, const Shared *shared, const Sample *s,
                      int parts) {
  pid_t pids[MOST_WORKERS];
  bool ok = true;
  for (int i = 0; i < parts; i++) pids[i] = start_part(d, args, shared, s, i, parts);
  for (int i = 0; i < parts; i++) {
    int status = 1;
    while (pids[i] > 0 && waitpid(pids[i], &status, 0) < 0 && errno == EINTR) {}
    ok &= pids[i] > 0 && status == 0;
  }
  for (int i = 0; ok && i < d->program->params.len; i++) {
    if (!shared[i].at) continue;
    args[i].data = shared[i].data;
    args[i].written = shared[i].written;
    args[i].bound = shared[i].bound;
  }
  return ok;
}

/* ------------------------------------------------------------------ samples */

void tn_pack(RtType t, void *to, const void *from, const int64_t *at, int64_t n) {
  size_t bytes = (size_t)rt_type_bits(t) / 8;
  for (int64_t i = 0; i < n; i++) {
    if (bytes)
      memcpy((char *)to + (size_t)i * bytes, (const char *)from + at[i] * (int64_t)bytes, bytes);
    else rt_set(t, to, i, rt_get(t, from, at[i]));
  }
}

// The first element from k on that was written; count: none.
static int64_t next_written(const EmuArg *want, int64_t k, int64_t count) {
  if (k < count && want->written[k]) return k; // most often
  const uint8_t *p = k < count ? memchr(want->written + k, 1, (size_t)(count - k)) : NULL;
  return p ? p - want->written : count;
}

// The elements that the oracle wrote, thinned out evenly where they are very many.
static TnSamples samples_of(Arena *a, const RunData *d, int i, const EmuArg *want) {
  RtType type = d->array[i].type;
  int64_t count = (int64_t)(d->bytes[i] * 8) / rt_type_bits(type), written = 0, seen = 0;
  for (int64_t k = next_written(want, 0, count); k < count; k = next_written(want, k + 1, count))
    written++;
  int64_t step = written / MOST_SAMPLES + 1;
  if (step > 1 && step % 2 == 0) step++; // odd: no column of a matrix is left out
  TnSamples s = {.param = i, .at = NEWN(a, int64_t, written / step + 2)};
  for (int64_t k = next_written(want, 0, count); k < count; k = next_written(want, k + 1, count))
    if (seen++ % step == 0) s.at[s.n++] = k;
  void *values = arena_alloc(a, rt_type_bytes(type, s.n) + 16);
  tn_pack(type, values, want->data, s.at, s.n);
  s.want = values;
  if (want->bound) {
    float *bound = NEWN(a, float, s.n + 1);
    for (int64_t k = 0; k < s.n; k++) bound[k] = want->bound[s.at[k]];
    s.bound = bound;
  }
  return s;
}

// The outputs of these blocks into `args`.
static bool run_oracle(const RunData *d, EmuArg *args, const Sample *s, int jobs, Shared *shared,
                       Diags *diags) {
  const Program *p = d->program;
  EmuCall call = {d->sizes, args, d->wgmma};
  int groups = s->block ? s->n / s->together : 0, parts = groups < jobs ? groups : jobs;
  bool split = parts > 1;
  for (int i = 0; i < p->params.len && split; i++)
    if (data_is_output(p, i)) split = share_output(d, i, &args[i], &shared[i]);
  if (split && run_parts(d, args, shared, s, parts)) return true;
  return s->block ? oracle_run_blocks(p, &call, s->block, s->n, diags)
                  : oracle_run(p, &call, diags);
}

bool tn_reference(Arena *a, const RunData *data, uint64_t seed, double limit, int jobs, Diags *d,
                  TnReference *out) {
  Arena *own = arena_new(); // the whole outputs, only until the samples are taken
  const Program *p = data->program;
  double start = clock_seconds();
  Sample sample = sample_choose(data, seed, limit, own);
  Shared *shared = NEWN(own, Shared, p->params.len + 1);
  EmuArg *want = data_args(data, own, true);
  jobs = tn_pool_jobs(jobs);
  *out = (TnReference){0};
  if (jobs > MOST_WORKERS) jobs = MOST_WORKERS;
  bool ok = run_oracle(data, want, &sample, jobs, shared, d);
  for (int i = 0; i < p->params.len && ok; i++)
    if (data_is_output(p, i)) vec_push(a, &out->outputs, samples_of(a, data, i, &want[i]));
  out->seconds = clock_seconds() - start;
  for (int i = 0; i < p->params.len; i++)
    if (shared[i].at) munmap(shared[i].at, shared[i].bytes);
  arena_free(own);
  return ok;
}

bool tn_agrees(const TnSamples *s, const RtArray *shape, const void *got, const TnTolerance *t,
               Buf *why) {
  RtTolerance tolerance = {.bound = s->bound};
  if (t->rtol >= 0 || t->atol >= 0)
    tolerance = (RtTolerance){.rtol = t->rtol < 0 ? 0 : t->rtol, .atol = t->atol < 0 ? 0 : t->atol};
  RtDiff diff = rt_compare(shape->type, s->n, got, s->want, &tolerance);
  bool ok = (double)diff.wrong <= t->mismatch * (double)diff.checked;
  if (diff.first >= 0) diff.first = s->at[diff.first];
  if (!ok) rt_diff_text(why, &diff, shape);
  return ok;
}
