// One child process in a group of its own, watched by a keeper: a fork of this process that kills
// the whole group, and whatever left it, when the child ends, takes too long, or we are gone.
// SPDX-License-Identifier: MIT
#include "tuner/pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  int end, code;
} Verdict;

enum { READ, WRITE };
enum { BEHIND = 5 }; // nice: compilers come behind the runner, which launches what is timed

/* ------------------------------------------------------------------ in the child */

static void limit_files(int64_t bytes) {
  struct rlimit none = {0, 0}, most = {(rlim_t)bytes, (rlim_t)bytes};
  setrlimit(RLIMIT_CORE, &none);
  if (bytes) setrlimit(RLIMIT_FSIZE, &most);
}

// Never returns. Where the program does not start, its errno goes to `failed`.
NORETURN static void run_program(const TnCommand *c, const int *in, const int *out, int failed,
                                 pid_t keeper) {
  sigset_t none;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(1);
  sigemptyset(&none);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  limit_files(c->file_limit);
  if (!c->talks) (void)!nice(BEHIND);
  int from = c->talks ? in[READ] : open("/dev/null", O_RDONLY | O_CLOEXEC);
  bool ok = dup2(from, 0) >= 0 && dup2(out[WRITE], 1) >= 0;
  if (ok && !c->talks) ok = dup2(1, 2) >= 0;
  if (ok && c->folder) ok = chdir(c->folder) == 0;
  if (ok) execv(c->argv[0], c->argv);
  int error = errno;
  (void)!write(failed, &error, sizeof error);
  _exit(127);
}

/* ------------------------------------------------------------------ in the keeper */

// Processes whose parent is this one. A child that has left the group is found here too: the
// keeper is the subreaper of all its descendants.
static void kill_children(void) {
  DIR *d = opendir("/proc");
  pid_t self = getpid();
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[64], text[512], *after;
    pid_t pid = (pid_t)atoi(e->d_name);
    if (pid <= 1) continue;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) continue;
    text[n] = 0;
    after = strrchr(text, ')'); // the name may hold anything; then " S ppid"
    if (after && strlen(after) > 4 && atoi(after + 4) == self) kill(pid, SIGKILL);
  }
  if (d) closedir(d);
}

// Until there is no descendant left.
static void reap_all(pid_t group) {
  for (;;) {
    kill(-group, SIGKILL);
    kill_children();
    pid_t got = waitpid(-1, NULL, WNOHANG);
    if (got < 0 && errno == ECHILD) return;
    if (got == 0) usleep(500);
  }
}

// Waits for the child, the time limit, or the order to stop.
static Verdict watch(pid_t child, double timeout, const sigset_t *signals) {
  double deadline = clock_seconds() + timeout;
  for (;;) {
    double left = timeout > 0 ? deadline - clock_seconds() : 3600;
    if (left <= 0) return (Verdict){TN_TIMED_OUT, 0};
    struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    int got = sigtimedwait(signals, NULL, &t);
    if (got == SIGTERM || got == SIGINT || got == SIGHUP) return (Verdict){TN_LOST, 0};
    for (int status; got == SIGCHLD;) {
      pid_t who = waitpid(-1, &status, WNOHANG);
      if (who <= 0) break;
      if (who != child) continue;
      if (WIFEXITED(status)) return (Verdict){TN_EXITED, WEXITSTATUS(status)};
      return (Verdict){TN_SIGNALLED, WTERMSIG(status)};
    }
  }
}

void tn_close_others(const int *keep, int n) {
  for (int fd = 3; fd < 1024;) {
    int next = 1024;
    for (int i = 0; i < n; i++)
      if (keep[i] >= fd && keep[i] < next) next = keep[i];
    if (next > fd) close_range((unsigned)fd, (unsigned)next - 1, 0);
    fd = next + 1;
  }
  close_range(1024, ~0u, 0);
}

NORETURN static void keep(const TnCommand *c, const int *in, const int *out, int verdict,
                          pid_t *group, pid_t tuner) {
  sigset_t signals;
  int failed[2], error = 0;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != tuner) _exit(1);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_SETMASK, &signals, NULL);
  signal(SIGCHLD, SIG_DFL);
  const int mine[] = {in[READ], out[WRITE], verdict};
  tn_close_others(mine, 3);
  Verdict v = {TN_NOT_STARTED, 0};
  pid_t self = getpid(), child = pipe2(failed, O_CLOEXEC) ? -1 : fork();
  if (child == 0) run_program(c, in, out, failed[WRITE], self);
  v.code = errno;
  if (child > 0) {
    setpgid(child, child);
    *group = child;
    close(failed[WRITE]);
    close(out[WRITE]);
    if (in[READ] >= 0) close(in[READ]);
    if (read(failed[READ], &error, sizeof error) == sizeof error) v.code = error;
    else v = watch(child, c->timeout, &signals);
    reap_all(child);
  }
  (void)!write(verdict, &v, sizeof v);
  _exit(0);
}

/* ------------------------------------------------------------------ in the tuner */

static void close_pair(const int *p) {
  if (p[READ] >= 0) close(p[READ]);
  if (p[WRITE] >= 0) close(p[WRITE]);
}

bool tn_child_start(const TnCommand *c, TnChild *out) {
  int in[2] = {-1, -1}, said[2] = {-1, -1}, verdict[2] = {-1, -1};
  pid_t self = getpid(), keeper = -1;
  pid_t *group =
      mmap(NULL, sizeof *group, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (group == MAP_FAILED) return false;
  if ((!c->talks || !pipe2(in, O_CLOEXEC)) && !pipe2(said, O_CLOEXEC) &&
      !pipe2(verdict, O_CLOEXEC)) {
    fflush(NULL); // else the child would hold, and might write, our buffers again
    keeper = fork();
  }
  if (keeper == 0) keep(c, in, said, verdict[WRITE], group, self);
  if (keeper < 0) {
    int error = errno;
    close_pair(in);
    close_pair(said);
    close_pair(verdict);
    munmap(group, sizeof *group);
    errno = error;
    return false;
  }
  if (in[READ] >= 0) close(in[READ]);
  close(said[WRITE]);
  close(verdict[WRITE]);
  fcntl(said[READ], F_SETFL, O_NONBLOCK);
  *out = (TnChild){keeper, said[READ], in[WRITE], verdict[READ], group};
  return true;
}

void tn_child_kill(const TnChild *c) { kill(c->keeper, SIGTERM); }

TnEnd tn_child_end(TnChild *c, int *code) {
  Verdict v = {TN_LOST, 0};
  ssize_t n;
  while ((n = read(c->verdict, &v, sizeof v)) < 0 && errno == EINTR) {}
  bool killed = n != sizeof v;
  if (killed) v = (Verdict){TN_LOST, 0};
  while (waitpid(c->keeper, NULL, 0) < 0 && errno == EINTR) {}
  if (killed && *c->group) kill(-*c->group, SIGKILL); // whom nobody keeps any more
  munmap(c->group, sizeof *c->group);
  close(c->verdict);
  if (c->output >= 0) close(c->output);
  if (c->input >= 0) close(c->input);
  *code = v.code;
  return (TnEnd)v.end;
}

void tn_end_text(TnEnd end, int code, double timeout, Buf *out) {
  switch (end) {
  case TN_EXITED: buf_printf(out, "exit status %d", code); break;
  case TN_SIGNALLED: buf_printf(out, "signal %d (%s)", code, strsignal(code)); break;
  case TN_TIMED_OUT: buf_printf(out, "no end within %g s", timeout); break;
  case TN_NOT_STARTED: buf_printf(out, "it did not start: %s", strerror(code)); break;
  case TN_LOST: buf_puts(out, "it was killed"); break;
  }
}
