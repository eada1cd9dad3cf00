// All candidates through the compiler, in worker processes: one that dies or hangs costs its
// candidate only.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/db.h"
#include "tuner/internal.h"
#include "tuner/pool.h"
#include "tuner/search.h"

enum { MAX_WORKERS = 256, COMPILE_SECONDS = 120, PATIENT = 19 /* nice: nobody waits for it yet */ };

// What a worker says of a candidate; its record, its inputs and its text follow.
typedef struct {
  bool started;                  // it begins with the candidate; nothing else is set
  int number;                    // among those of all spaces
  int twin;                      // TN_DUPLICATE: id of that candidate
  uint32_t record, inputs, text; // bytes, the texts with their final NUL; 0: none
} Head;

typedef struct {
  pid_t pid;
  int fd;
  int number; // being compiled; -1: none
  double since;
  Buf in;
} Worker;

// A space; its candidates have numbers from `first` on among those of all.
typedef struct {
  TnSpace *space;
  int first;
  TnCompiled *kept;
  bool *known;         // candidates that are not to be compiled: the database had them
  const char **inputs; // of twins
  Map *texts;          // hash -> candidate that has it
  int done;
} Part;

struct TnCompile {
  Part *part;
  int parts, all; // all candidates
  int urgent;     // parts that somebody waits for; the others have patience
  int finished;   // parts, the first ones
  int *next;      // shared: the candidate that nobody has taken yet
  Worker worker[MAX_WORKERS];
  int workers, jobs, done;
  void (*progress)(void *ctx, int done, int of);
  void *ctx;
};
typedef struct TnCompile Pool;

static Part *part_of(const Pool *p, int number) {
  int k = p->parts - 1;
  while (number < p->part[k].first) k--;
  return &p->part[k];
}

/* ------------------------------------------------------------------ the worker */

static void write_all(int fd, const void *data, size_t n) {
  for (const char *p = data; n;) {
    ssize_t k = write(fd, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) _exit(1); // nobody listens any more
    p += k;
    n -= (size_t)k;
  }
}

static void tell(int fd, int number, const TnCandidate *c, const Job *j) {
  Head h;
  Buf record = {0}, inputs = {0};
  memset(&h, 0, sizeof h);
  tn_record_put(c, &record);
  if (j) tn_compiled_inputs(j, &inputs);
  buf_putc(&inputs, 0);
  h.number = number;
  h.twin = c->same_as;
  h.record = (uint32_t)record.len;
  h.inputs = (uint32_t)inputs.len;
  h.text = c->text ? (uint32_t)c->len + 1 : 0;
  write_all(fd, &h, sizeof h);
  write_all(fd, record.data, record.len);
  write_all(fd, inputs.data, inputs.len);
  if (c->text) write_all(fd, c->text, h.text);
  buf_free(&record);
  buf_free(&inputs);
}

NORETURN static void work(const Pool *p, int fd) {
  bool patient = false;
  for (int i; (i = __atomic_fetch_add(p->next, 1, __ATOMIC_RELAXED)) < p->all;) {
    const Part *part = part_of(p, i);
    const TnSpace *s = part->space;
    Head h;
    if (part->known[i - part->first]) continue;
    if (!patient && part - p->part >= p->urgent) {
      patient = true;
      (void)!nice(PATIENT);
    }
    memset(&h, 0, sizeof h);
    h.started = true;
    h.number = i;
    write_all(fd, &h, sizeof h);
    Arena *a = arena_new();
    TnCandidate c = s->all.data[i - part->first];
    Job j;
    if (s->quick) (void)tn_quick(a, s, &c);
    else (void)tn_compile(a, s, &c, &j);
    tell(fd, i, &c, s->quick ? NULL : &j);
    arena_free(a);
  }
  _exit(0);
}

/* ------------------------------------------------------------------ the pool */

static bool start(Pool *p, Worker *w) {
  int fds[2];
  if (pipe(fds)) return false;
  fflush(stdout);
  fflush(stderr);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (!pid) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    signal(SIGINT, SIG_DFL); // the tuner's handlers are not for this process
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    tn_close_others(&fds[1], 1); // the runner's stdin, which is to end when the tuner closes it
    work(p, fds[1]);
  }
  close(fds[1]);
  *w = (Worker){.pid = pid, .fd = fds[0], .number = -1};
  if (pid < 0) close(fds[0]);
  return pid > 0;
}

static void code_key(const TnCandidate *c, char out[65]) {
  TnHash h;
  memcpy(h.bytes, c->sha, sizeof h.bytes);
  tn_hash_text(&h, out);
}

static void finish(Pool *p, Part *part) {
  p->done++;
  part->done++;
  if (p->progress && part - p->part < p->urgent)
    p->progress(p->ctx, part->done, part->space->all.len);
}

// The candidate that the record is of; its text only where no other has it.
static void take(Pool *p, Worker *w, const Head *h, const char *data) {
  Part *part = part_of(p, h->number);
  Arena *a = part->space->arena;
  TnCandidate *c = &part->space->all.data[h->number - part->first];
  if (!tn_record_take(a, data, h->record, c)) die("a worker's record is none");
  w->number = -1;
  if (c->state == TN_DUPLICATE) {
    c->same_as = h->twin;
    part->inputs[c->id] = arena_str(a, data + h->record);
    finish(p, part);
    return;
  }
  tn_compiled_put(part->kept, c, data + h->record);
  char key[65];
  code_key(c, key);
  if (h->text && !map_has(part->texts, key)) {
    map_set(part->texts, key, c);
    c->text = arena_strn(a, data + h->record + h->inputs, h->text - 1);
    c->len = h->text - 1;
  }
  finish(p, part);
}

static void read_records(Pool *p, Worker *w) {
  size_t at = 0;
  while (w->in.len - at >= sizeof(Head)) {
    Head h;
    memcpy(&h, w->in.data + at, sizeof h);
    size_t size = sizeof h + h.record + h.inputs + h.text;
    if (w->in.len - at < size) break;
    if (h.started) {
      w->number = h.number;
      w->since = clock_seconds();
    } else {
      take(p, w, &h, w->in.data + at + sizeof h);
    }
    at += size;
  }
  if (at) memmove(w->in.data, w->in.data + at, w->in.len - at);
  w->in.len -= at;
}

// The worker has ended: with a candidate unfinished, that one's end is the compiler's fault.
static void ended(Pool *p, Worker *w, bool hung) {
  int status = 0;
  if (hung) kill(w->pid, SIGKILL);
  while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {}
  close(w->fd);
  buf_free(&w->in);
  bool more = w->number >= 0;
  if (more) {
    Part *part = part_of(p, w->number);
    Arena *a = part->space->arena;
    TnCandidate *c = &part->space->all.data[w->number - part->first];
    c->state = TN_PRUNED;
    c->code = NULL;
    c->reason = hung ? arena_printf(a, "tlc took over %d s over it: a bug", COMPILE_SECONDS)
                : WIFSIGNALED(status)
                    ? arena_printf(a, "tlc ended by signal %d: a bug", WTERMSIG(status))
                    : arena_printf(a, "tlc ended with status %d: a bug", WEXITSTATUS(status));
    finish(p, part);
  }
  w->pid = 0;
  if (more) (void)start(p, w);
}

// What is not compiled yet stays so.
static void stop(Pool *p) {
  for (int i = 0; i < p->workers; i++) {
    Worker *w = &p->worker[i];
    if (w->pid <= 0) continue;
    w->number = -1;
    ended(p, w, true);
  }
}

static void hear(Pool *p, Worker *w, bool readable) {
  char chunk[65536];
  bool late = w->number >= 0 && clock_seconds() - w->since > COMPILE_SECONDS;
  if (!readable && !late) return;
  ssize_t k = readable ? read(w->fd, chunk, sizeof chunk) : 0;
  if (k < 0 && errno == EINTR) return;
  if (k > 0) buf_add(&w->in, chunk, (size_t)k);
  if (k > 0) read_records(p, w);
  else ended(p, w, late);
}

// Those that are at work; who[i]: which.
static int live(const Pool *p, struct pollfd *fds, int *who) {
  int n = 0;
  for (int i = 0; i < p->workers; i++) {
    if (p->worker[i].pid <= 0) continue;
    fds[n] = (struct pollfd){.fd = p->worker[i].fd, .events = POLLIN};
    who[n++] = i;
  }
  return n;
}

// What they say within the time. False: there are none.
static bool serve(Pool *p, int ms) {
  struct pollfd fds[MAX_WORKERS];
  int who[MAX_WORKERS], n = live(p, fds, who);
  if (!n) return false;
  if (tn_interrupted) {
    stop(p);
    return false;
  }
  if (poll(fds, (nfds_t)n, ms) < 0) return true;
  for (int i = 0; i < n; i++) hear(p, &p->worker[who[i]], fds[i].revents != 0);
  return true;
}

// A twin is what the first of its kind has become, where that is code. Returns how many are to be
// compiled after all.
static int resolve_twins(Part *p) {
  TnSpace *s = p->space;
  int left = 0;
  for (int i = 0; i < s->all.len; i++) {
    TnCandidate *c = &s->all.data[i], own = *c;
    p->known[i] = c->state != TN_DUPLICATE;
    if (p->known[i]) continue;
    *c = s->all.data[c->same_as];
    bool code = c->state == TN_QUEUED;
    if (!code) *c = own;
    c->state = TN_QUEUED;
    c->id = own.id;
    c->bindings = own.bindings;
    c->flags = own.flags;
    c->stages = own.stages;
    c->same_as = -1;
    c->text = NULL;
    c->len = 0;
    p->known[i] = code;
    if (code) tn_compiled_put(p->kept, c, p->inputs[i]);
    left += !code;
  }
  return left;
}

static void mark_duplicates(const Part *p) {
  TnSpace *s = p->space;
  Map *first = map_new(s->arena);
  for (int i = 0; i < s->all.len; i++) {
    TnCandidate *c = &s->all.data[i];
    if (c->state != TN_QUEUED) continue;
    char key[65];
    code_key(c, key);
    TnCandidate *same = map_get(first, key);
    if (!same) {
      TnCandidate *holder = map_get(p->texts, key); // the first to be compiled
      map_set(first, key, c);
      if (!holder || holder == c) continue;
      c->text = holder->text;
      c->len = holder->len;
      holder->text = NULL;
      continue;
    }
    c->state = TN_DUPLICATE;
    c->same_as = same->id;
    c->reason = arena_printf(s->arena, "the same code as candidate %d", same->id);
  }
}

static Part part_new(TnSpace *s, int first) {
  int n = s->all.len;
  Part p = {.space = s, .first = first, .texts = map_new(s->arena)};
  if (!s->quick && !s->compiled) s->compiled = tn_compiled_new(s);
  if (!s->quick) p.kept = s->compiled;
  if (!s->quick) s->twins = tn_twins_new(n);
  p.known = NEWN(s->arena, bool, n + 1);
  p.inputs = NEWN(s->arena, const char *, n + 1);
  for (int i = 0; i < n; i++) {
    p.known[i] = tn_compiled_get(p.kept, &s->all.data[i]);
    p.done += p.known[i];
  }
  return p;
}

static void start_workers(Pool *p) {
  int left = p->all - p->done, n = p->jobs < 1 ? 1 : p->jobs;
  if (n > MAX_WORKERS) n = MAX_WORKERS;
  if (n > left) n = left;
  p->workers = n;
  for (int i = 0; i < n; i++) {
    if (!start(p, &p->worker[i])) p->worker[i].pid = 0;
  }
}

static int *shared_counter(void) {
  int *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) fatal("share memory with workers:");
  return at;
}

// Those of a part whose twins came to nothing, by workers of their own.
static void compile_rest(const Pool *p, Part *part) {
  Part own = *part;
  Pool rest = {.part = &own, .parts = 1, .all = part->space->all.len, .urgent = 1};
  own.first = 0;
  rest.jobs = p->jobs;
  rest.done = own.done;
  rest.next = shared_counter();
  start_workers(&rest);
  while (serve(&rest, 1000)) {}
  munmap(rest.next, sizeof *rest.next);
  part->done = own.done;
}

// Each candidate of the part has been over the compiler.
static void finish_part(Pool *p, Part *part) {
  TnSpace *s = part->space;
  tn_twins_free(s->twins);
  s->twins = NULL;
  if (s->quick) return;
  part->done -= resolve_twins(part);
  if (part->done < s->all.len) compile_rest(p, part);
  if (tn_interrupted) return;
  if (part->done < s->all.len) fatal("start a process:");
  mark_duplicates(part);
}

TnCompile *tn_compile_start(TnSpace *const *spaces, int n, int urgent, int jobs,
                            void (*progress)(void *ctx, int done, int of), void *ctx) {
  Arena *a = spaces[0]->arena;
  Pool *p = NEW(a, Pool);
  *p = (Pool){.parts = n, .urgent = urgent, .jobs = jobs, .progress = progress, .ctx = ctx};
  p->part = NEWN(a, Part, n);
  p->next = shared_counter();
  for (int k = 0; k < n; k++) {
    p->part[k] = part_new(spaces[k], p->all);
    p->all += spaces[k]->all.len;
    p->done += p->part[k].done;
  }
  start_workers(p);
  return p;
}

int tn_compile_polled(const TnCompile *p, struct pollfd *fds, int most) {
  struct pollfd all[MAX_WORKERS];
  int who[MAX_WORKERS], n = live(p, all, who);
  if (n > most) n = most;
  memcpy(fds, all, (size_t)n * sizeof *fds);
  return n;
}

int tn_compile_step(TnCompile *p, int ms) {
  bool any = serve(p, ms);
  while (!tn_interrupted && p->finished < p->parts) {
    Part *part = &p->part[p->finished];
    if (part->done < part->space->all.len) break;
    finish_part(p, part);
    p->finished++;
  }
  if (!any && !tn_interrupted && p->finished < p->parts) fatal("start a process:");
  return p->finished;
}

void tn_compile_end(TnCompile *p) {
  if (!p) return;
  stop(p);
  for (int k = p->finished; k < p->parts; k++) {
    tn_twins_free(p->part[k].space->twins);
    p->part[k].space->twins = NULL;
  }
  munmap(p->next, sizeof *p->next);
}

void tn_compile_all(TnSpace *const *spaces, int n, int jobs,
                    void (*progress)(void *ctx, int done, int of), void *ctx) {
  TnCompile *p = tn_compile_start(spaces, n, n, jobs, progress, ctx);
  while (!tn_interrupted && tn_compile_step(p, 1000) < n) {}
  tn_compile_end(p);
}
