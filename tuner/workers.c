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
#include "tuner/search.h"

enum { MAX_WORKERS = 256, COMPILE_SECONDS = 120 };

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
} Part;

typedef struct {
  Part *part;
  int parts, all; // all candidates
  int *next;      // shared: the candidate that nobody has taken yet
  Worker worker[MAX_WORKERS];
  int done;
  void (*progress)(void *ctx, int done, int of);
  void *ctx;
} Pool;

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
  for (int i; (i = __atomic_fetch_add(p->next, 1, __ATOMIC_RELAXED)) < p->all;) {
    const Part *part = part_of(p, i);
    const TnSpace *s = part->space;
    Head h;
    if (part->known[i - part->first]) continue;
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
    close(fds[0]);
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

static void finish(Pool *p) {
  p->done++;
  if (p->progress) p->progress(p->ctx, p->done, p->all);
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
    finish(p);
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
  finish(p);
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
    const Part *part = part_of(p, w->number);
    Arena *a = part->space->arena;
    TnCandidate *c = &part->space->all.data[w->number - part->first];
    c->state = TN_PRUNED;
    c->code = NULL;
    c->reason = hung ? arena_printf(a, "tlc took over %d s over it: a bug", COMPILE_SECONDS)
                : WIFSIGNALED(status)
                    ? arena_printf(a, "tlc ended by signal %d: a bug", WTERMSIG(status))
                    : arena_printf(a, "tlc ended with status %d: a bug", WEXITSTATUS(status));
    finish(p);
  }
  w->pid = 0;
  if (more) (void)start(p, w);
}

// What is not compiled yet stays so.
static void stop(Pool *p, int n) {
  for (int i = 0; i < n; i++) {
    Worker *w = &p->worker[i];
    if (w->pid <= 0) continue;
    w->number = -1;
    ended(p, w, true);
  }
}

static void serve(Pool *p, int n) {
  for (;;) {
    struct pollfd fds[MAX_WORKERS];
    int live = 0, who[MAX_WORKERS];
    for (int i = 0; i < n; i++) {
      if (p->worker[i].pid <= 0) continue;
      fds[live] = (struct pollfd){.fd = p->worker[i].fd, .events = POLLIN};
      who[live++] = i;
    }
    if (!live) return;
    if (tn_interrupted) {
      stop(p, n);
      return;
    }
    (void)poll(fds, (nfds_t)live, 1000);
    for (int i = 0; i < live; i++) {
      Worker *w = &p->worker[who[i]];
      char chunk[65536];
      bool late = w->number >= 0 && clock_seconds() - w->since > COMPILE_SECONDS;
      if (!fds[i].revents && !late) continue;
      ssize_t k = fds[i].revents ? read(w->fd, chunk, sizeof chunk) : 0;
      if (k < 0 && errno == EINTR) continue;
      if (k > 0) buf_add(&w->in, chunk, (size_t)k);
      if (k > 0) read_records(p, w);
      else ended(p, w, late);
    }
  }
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
  for (int i = 0; i < n; i++) p.known[i] = tn_compiled_get(p.kept, &s->all.data[i]);
  return p;
}

static void compile_left(Pool *p, int jobs) {
  int left = p->all - p->done, n = jobs < 1 ? 1 : jobs;
  if (n > MAX_WORKERS) n = MAX_WORKERS;
  if (n > left) n = left;
  *p->next = 0;
  for (int i = 0; i < n; i++) {
    if (!start(p, &p->worker[i])) p->worker[i].pid = 0;
  }
  serve(p, n);
}

void tn_compile_all(TnSpace *const *spaces, int n, int jobs,
                    void (*progress)(void *ctx, int done, int of), void *ctx) {
  Pool p = {.parts = n, .progress = progress, .ctx = ctx};
  p.part = NEWN(spaces[0]->arena, Part, n);
  p.next = mmap(NULL, sizeof *p.next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p.next == MAP_FAILED) fatal("share memory with workers:");
  for (int k = 0; k < n; k++) {
    p.part[k] = part_new(spaces[k], p.all);
    p.all += spaces[k]->all.len;
    for (int i = 0; i < spaces[k]->all.len; i++) p.done += p.part[k].known[i];
  }
  compile_left(&p, jobs);
  for (int k = 0; k < n; k++) {
    tn_twins_free(spaces[k]->twins);
    spaces[k]->twins = NULL;
    if (!tn_interrupted && !spaces[k]->quick) p.done -= resolve_twins(&p.part[k]);
  }
  if (!tn_interrupted && p.done < p.all) compile_left(&p, jobs);
  munmap(p.next, sizeof *p.next);
  if (tn_interrupted) return;
  if (p.done < p.all) fatal("start a process:");
  for (int k = 0; k < n; k++)
    if (!spaces[k]->quick) mark_duplicates(&p.part[k]);
}
