// What all searches of one run share: the cache, the compiler processes, the runner, the GPU's
// lock.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tuner/internal.h"
#include "tuner/search.h"

enum { HELLO_S = 60, VERSION_S = 20, MOST_POLLED = 256 };

volatile sig_atomic_t tn_interrupted;

static void interrupt(int signal) { tn_interrupted = signal; }

void tn_catch_signals(void) {
  struct sigaction s = {.sa_handler = interrupt}; // no SA_RESTART: poll is to return
  sigaction(SIGINT, &s, NULL);
  sigaction(SIGTERM, &s, NULL);
  sigaction(SIGHUP, &s, NULL);
  signal(SIGCHLD, SIG_DFL);
}

// The last line of `nvcc --version`, which names the build, and the file's size and time.
static const char *nvcc_version(Arena *a, const char *path) {
  char *argv[] = {arena_str(a, path), arena_str(a, "--version"), NULL};
  TnPool *p = tn_pool_new(&(TnPoolOptions){.jobs = 1});
  TnCommand c = {.argv = argv, .timeout = VERSION_S};
  TnJobResult r;
  struct stat st = {0};
  stat(path, &st);
  tn_pool_add(p, &c, 0);
  while (!tn_pool_take(p, &r) && !tn_interrupted) tn_pool_wait(p, NULL, 0, 1000);
  if (tn_interrupted) r = (TnJobResult){0};
  tn_pool_free(p);
  while (r.said.len && r.said.data[r.said.len - 1] == '\n') r.said.data[--r.said.len] = 0;
  const char *text = buf_str(&r.said), *last = strrchr(text, '\n');
  text = arena_printf(a, "%s; %lld bytes, %lld", last ? last + 1 : text, (long long)st.st_size,
                      (long long)st.st_mtime);
  buf_free(&r.said);
  return text;
}

static bool greet(TnWorkshop *w) {
  Buf b = {0};
  tn_session_stop(&w->session, false, NULL);
  if (!tn_session_start(&w->session)) {
    fprintf(stderr, "tlc: the runner does not start: %s\n", strerror(errno));
    return false;
  }
  tn_wire_verb(&b, "hello");
  tn_wire_end(&b);
  tn_session_send(&w->session, &b);
  buf_free(&b);
  return true;
}

static void note_gpu(TnWorkshop *w, const TnMessage *m) {
  const char *name = tn_wire_get(m, "name"), *arch = tn_wire_get(m, "arch");
  const char *busy = tn_wire_get(m, "busy");
  w->gpu = name ? tn_plain(w->arena, name) : "a GPU";
  w->arch = arch ? tn_plain(w->arena, arch) : "sm_80";
  w->sm = (int)tn_wire_get_int(m, "sm", 80);
  w->driver = (int)tn_wire_get_int(m, "driver", 0);
  if (busy && w->session.starts == 1)
    fprintf(stderr, "tlc: %s is in use by others (%s): times will be too long\n", w->gpu,
            tn_plain(w->arena, busy));
}

// found: what the GPU is will do. False after a message.
static bool hear_greeting(TnWorkshop *w, bool found) {
  Buf how = {0};
  TnMessage m = {0};
  bool answered;
  double deadline = clock_seconds() + HELLO_S;
  do answered = tn_session_wait(&w->session, w->arena, deadline, &m);
  while (answered && !found && !strcmp(m.verb, "found"));
  w->greeted = answered && !strcmp(m.verb, "gpu");
  if (w->greeted || (answered && !strcmp(m.verb, "found"))) {
    note_gpu(w, &m);
    return true;
  }
  if (tn_interrupted) return false;
  if (answered && !strcmp(m.verb, "missing")) {
    const char *text = tn_wire_get(&m, "text");
    fprintf(stderr, "tlc: %s\ntlc: --tune --no-run ranks without a GPU%s\n",
            tn_plain(w->arena, text ? text : "no GPU"),
            w->options->tune.sweep ? ", one size at a time: give it by -p instead of --sweep" : "");
    return false;
  }
  tn_session_stop(&w->session, true, &how);
  fprintf(stderr, "tlc: the runner does not answer: %s\n", buf_str(&how));
  buf_free(&how);
  return false;
}

bool tn_workshop_ready(TnWorkshop *w) { return w->greeted || hear_greeting(w, false); }

bool tn_workshop_restart(TnWorkshop *w) { return greet(w) && hear_greeting(w, false); }

int tn_workshop_open(TnWorkshop *w, const Options *o, Arena *a) {
  Buf err = {0};
  *w = (TnWorkshop){.arena = a, .options = o};
  tn_catch_signals();
  signal(SIGPIPE, SIG_IGN);         // a runner that is gone shows as the end of its output
  prctl(PR_SET_CHILD_SUBREAPER, 1); // should a keeper be killed, its children come to us
  const char *nvcc = rt_nvcc(a, &err);
  if (!nvcc) {
    fprintf(stderr, "tlc: %s\n", buf_str(&err));
    buf_free(&err);
    return EXIT_MACHINE;
  }
  tn_session_new(&w->session, a);
  if (!greet(w)) return EXIT_MACHINE;
  w->nvcc = nvcc_version(a, nvcc); // while the runner opens the GPU
  w->inputs = NEWN(a, const char *, o->in.len + 1);
  for (int i = 0; i < o->in.len; i++) w->inputs[i] = tn_hash_file(a, o->in.data[i].value);
  bool heard = hear_greeting(w, true);
  if (tn_interrupted) fputs("tlc: interrupted\n", stderr);
  if (tn_interrupted) return 128 + tn_interrupted;
  if (!heard) return EXIT_MACHINE;
  if (!o->tune.no_cache) w->db = tn_db_open(&(TnDbOptions){.limit = o->tune.cache_limit});
  w->pool = tn_pool_new(&(TnPoolOptions){.jobs = o->tune.jobs});
  tn_lock_open(&w->lock, a);
  return EXIT_OK;
}

bool tn_workshop_wait(TnWorkshop *w, const struct pollfd *session, bool *heard, int ms) {
  struct pollfd fds[1 + MOST_POLLED];
  int n = 0, first = session != NULL;
  if (session) fds[n++] = *session;
  if (w->later) n += tn_compile_polled(w->later, fds + n, MOST_POLLED);
  bool ok = tn_pool_wait(w->pool, fds, n, ms);
  if (heard) *heard = first && fds[0].revents;
  if (n > first) (void)tn_compile_step(w->later, 0);
  return ok;
}

void tn_workshop_close(TnWorkshop *w) {
  tn_compile_end(w->later);
  tn_session_stop(&w->session, !tn_interrupted, NULL);
  buf_free(&w->session.in);
  tn_pool_free(w->pool);
  tn_db_close(w->db);
  tn_lock_close(&w->lock);
}
