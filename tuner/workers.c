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
#include <time.h>
#include <unistd.h>

#include "tuner/internal.h"

enum { MAX_WORKERS = 256, COMPILE_SECONDS = 120 };

// What a worker says of a candidate; the texts follow.
typedef struct {
  bool started; // it begins with the candidate; nothing else is set
  int id;
  TnState state;
  uint64_t hash;
  int threads, stages, tile[3], warps[2], panel;
  int64_t smem;
  TnModel model; // `bound` names a constant: workers are copies of this process
  uint32_t reason, code, symbol, text; // bytes, with the final NUL; 0: NULL
} Record;

typedef struct {
  pid_t pid;
  int fd;
  int id; // being compiled; -1: none
  double since;
  Buf in;
} Worker;

typedef struct {
  TnSpace *space;
  int *next; // shared: the candidate that nobody has taken yet
  Worker worker[MAX_WORKERS];
  int done;
  Map *texts; // hash -> candidate that has it
  void (*progress)(void *ctx, int done, int of);
  void *ctx;
} Pool;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

static void put_text(Buf *b, const char *s, uint32_t *size) {
  *size = s ? (uint32_t)strlen(s) + 1 : 0;
  if (s) buf_add(b, s, *size);
}

static void tell(int fd, const TnCandidate *c) {
  Record r;
  memset(&r, 0, sizeof r);
  r.id = c->id;
  r.state = c->state;
  r.hash = c->hash;
  r.threads = c->threads;
  r.stages = c->stages;
  memcpy(r.tile, c->tile, sizeof r.tile);
  memcpy(r.warps, c->warps, sizeof r.warps);
  r.panel = c->panel;
  r.smem = c->smem;
  r.model = c->model;
  Buf texts = {0};
  put_text(&texts, c->reason, &r.reason);
  put_text(&texts, c->code, &r.code);
  put_text(&texts, c->symbol, &r.symbol);
  put_text(&texts, c->text, &r.text);
  write_all(fd, &r, sizeof r);
  write_all(fd, texts.data, texts.len);
  buf_free(&texts);
}

NORETURN static void work(const TnSpace *s, int *next, int fd) {
  for (int i; (i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < s->all.len;) {
    Record r;
    memset(&r, 0, sizeof r);
    r.started = true;
    r.id = i;
    write_all(fd, &r, sizeof r);
    Arena *a = arena_new();
    TnCandidate c = s->all.data[i];
    Job j;
    if (s->quick) (void)tn_quick(a, s, &c);
    else (void)tn_compile(a, s, &c, &j);
    tell(fd, &c);
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
    close(fds[0]);
    work(p->space, p->next, fds[1]);
  }
  close(fds[1]);
  *w = (Worker){.pid = pid, .fd = fds[0], .id = -1};
  if (pid < 0) close(fds[0]);
  return pid > 0;
}

static const char *take_text(Arena *a, const char **at, uint32_t n) {
  const char *s = n ? arena_strn(a, *at, n - 1) : NULL;
  *at += n;
  return s;
}

static void finish(Pool *p) {
  p->done++;
  if (p->progress) p->progress(p->ctx, p->done, p->space->all.len);
}

// The candidate of the record; its text only where no other has it.
static void take(Pool *p, Worker *w, const Record *r, const char *texts) {
  Arena *a = p->space->arena;
  TnCandidate *c = &p->space->all.data[r->id];
  c->state = r->state;
  c->hash = r->hash;
  c->threads = r->threads;
  c->stages = r->stages;
  memcpy(c->tile, r->tile, sizeof c->tile);
  memcpy(c->warps, r->warps, sizeof c->warps);
  c->panel = r->panel;
  c->smem = r->smem;
  c->model = r->model;
  c->reason = take_text(a, &texts, r->reason);
  c->code = take_text(a, &texts, r->code);
  c->symbol = take_text(a, &texts, r->symbol);
  char key[32];
  snprintf(key, sizeof key, "%llx", (unsigned long long)r->hash);
  if (r->text && !map_has(p->texts, key)) {
    map_set(p->texts, key, c);
    c->text = take_text(a, &texts, r->text);
    c->len = r->text - 1;
  }
  w->id = -1;
  finish(p);
}

static void read_records(Pool *p, Worker *w) {
  size_t at = 0;
  while (w->in.len - at >= sizeof(Record)) {
    Record r;
    memcpy(&r, w->in.data + at, sizeof r);
    size_t size = sizeof r + r.reason + r.code + r.symbol + r.text;
    if (w->in.len - at < size) break;
    if (r.started) {
      w->id = r.id;
      w->since = now();
    } else {
      take(p, w, &r, w->in.data + at + sizeof r);
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
  bool more = w->id >= 0;
  if (more) {
    TnCandidate *c = &p->space->all.data[w->id];
    c->state = TN_PRUNED;
    c->code = NULL;
    c->reason =
        hung ? arena_printf(p->space->arena, "tlc took over %d s over it: a bug", COMPILE_SECONDS)
        : WIFSIGNALED(status)
            ? arena_printf(p->space->arena, "tlc ended by signal %d: a bug", WTERMSIG(status))
            : arena_printf(p->space->arena, "tlc ended with status %d: a bug", WEXITSTATUS(status));
    finish(p);
  }
  w->pid = 0;
  if (more) (void)start(p, w);
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
    (void)poll(fds, (nfds_t)live, 1000);
    for (int i = 0; i < live; i++) {
      Worker *w = &p->worker[who[i]];
      char chunk[65536];
      bool late = w->id >= 0 && now() - w->since > COMPILE_SECONDS;
      if (!fds[i].revents && !late) continue;
      ssize_t k = fds[i].revents ? read(w->fd, chunk, sizeof chunk) : 0;
      if (k < 0 && errno == EINTR) continue;
      if (k > 0) buf_add(&w->in, chunk, (size_t)k);
      if (k > 0) read_records(p, w);
      else ended(p, w, late);
    }
  }
}

static void mark_duplicates(Pool *p) {
  TnSpace *s = p->space;
  Map *first = map_new(s->arena);
  for (int i = 0; i < s->all.len; i++) {
    TnCandidate *c = &s->all.data[i];
    if (c->state != TN_QUEUED) continue;
    char key[32];
    snprintf(key, sizeof key, "%llx", (unsigned long long)c->hash);
    TnCandidate *same = map_get(first, key);
    if (!same) {
      TnCandidate *holder = map_get(p->texts, key); // the first to be compiled
      map_set(first, key, c);
      if (holder == c) continue;
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

void tn_compile_all(TnSpace *s, int jobs, void (*progress)(void *ctx, int done, int of),
                    void *ctx) {
  Pool p = {.space = s, .texts = map_new(s->arena), .progress = progress, .ctx = ctx};
  p.next = mmap(NULL, sizeof *p.next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p.next == MAP_FAILED) fatal("share memory with workers:");
  int n = jobs < 1 ? 1 : jobs > MAX_WORKERS ? MAX_WORKERS : jobs;
  if (n > s->all.len) n = s->all.len;
  for (int i = 0; i < n; i++) {
    if (!start(&p, &p.worker[i])) p.worker[i].pid = 0;
  }
  serve(&p, n);
  if (p.done < s->all.len) fatal("start a process:");
  munmap(p.next, sizeof *p.next);
  if (!s->quick) mark_duplicates(&p);
}
