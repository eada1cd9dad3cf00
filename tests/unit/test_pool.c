// tuner/pool: ends, output, limits of jobs; no process outlives its job or the tuner.
// SPDX-License-Identifier: MIT
#include "tuner/pool.h"
#include "suite.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tlc-pool-XXXXXX";

static void setup(void) {
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  ck_assert(mkdtemp(folder));
}

static void teardown(void) {
  char line[128];
  snprintf(line, sizeof line, "rm -rf %s", folder);
  ck_assert_int_eq(system(line), 0);
}

static TnCommand shell(Arena *a, const char *script) {
  char **argv = NEWN(a, char *, 4);
  argv[0] = arena_str(a, "/bin/sh");
  argv[1] = arena_str(a, "-c");
  argv[2] = arena_str(a, script);
  return (TnCommand){.argv = argv, .folder = folder};
}

static TnJobResult wait_one(TnPool *p) {
  TnJobResult r;
  while (!tn_pool_take(p, &r)) tn_pool_wait(p, NULL, 0, 1000);
  return r;
}

static TnJobResult run_script(const char *script, double timeout, int64_t file_limit) {
  Arena *a = arena_new();
  TnPool *p = tn_pool_new(&(TnPoolOptions){.jobs = 1});
  TnCommand c = shell(a, script);
  c.timeout = timeout;
  c.file_limit = file_limit;
  tn_pool_add(p, &c, 7);
  TnJobResult r = wait_one(p);
  tn_pool_free(p);
  arena_free(a);
  return r;
}

static bool alive(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

static pid_t pid_in(const char *name) {
  char path[64];
  for (int i = 0; i < 500; i++, usleep(10000)) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    int pid = 0, n = f ? fscanf(f, "%d", &pid) : 0;
    if (f) fclose(f);
    if (n == 1) return pid;
  }
  ck_abort_msg("%s was not written", name);
}

// Dead within 20 seconds: what has been killed may still be a zombie of a stranger for a moment.
static bool dies(pid_t pid) {
  for (int i = 0; i < 2000; i++, usleep(10000))
    if (!alive(pid)) return true;
  return false;
}

START_TEST(ends) {
  TnJobResult r = run_script("echo out; echo err >&2; exit 3", 0, 0);
  ck_assert_int_eq(r.tag, 7);
  ck_assert_int_eq(r.end, TN_EXITED);
  ck_assert_int_eq(r.code, 3);
  ck_assert_str_eq(r.said.data, "out\nerr\n");
  buf_free(&r.said);
  r = run_script("kill -SEGV $$", 0, 0);
  ck_assert_int_eq(r.end, TN_SIGNALLED);
  ck_assert_int_eq(r.code, SIGSEGV);
  char *none[] = {"/no/such/program", NULL};
  TnPool *p = tn_pool_new(&(TnPoolOptions){.jobs = 1});
  tn_pool_add(p, &(TnCommand){.argv = none}, 1);
  r = wait_one(p);
  ck_assert_int_eq(r.end, TN_NOT_STARTED);
  ck_assert_int_eq(r.code, ENOENT);
  tn_pool_free(p);
}
END_TEST

START_TEST(processors) { // those that this process may use, not those of the machine
  cpu_set_t set, one;
  ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
  unsetenv("TLC_JOBS");
  ck_assert_int_eq(tn_pool_jobs(0), CPU_COUNT(&set));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
    if (CPU_ISSET(i, &set)) CPU_SET(i, &one);
  ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
  ck_assert_int_eq(tn_pool_jobs(0), 1);
  ck_assert_int_eq(tn_pool_jobs(7), 7);
  setenv("TLC_JOBS", "3", 1);
  ck_assert_int_eq(tn_pool_jobs(0), 3);
  unsetenv("TLC_JOBS");
  ck_assert_int_eq(sched_setaffinity(0, sizeof set, &set), 0);
}
END_TEST

START_TEST(much_output) { // more than a pipe holds: the job does not hang, what is kept is bounded
  TnJobResult r = run_script("yes | head -c 1000000; exit 0", 20, 0);
  ck_assert_int_eq(r.end, TN_EXITED);
  ck_assert_int_eq(r.said.len, 64 << 10);
  buf_free(&r.said);
}
END_TEST

START_TEST(endless_output) { // it keeps nobody else waiting
  Arena *a = arena_new();
  TnPool *p = tn_pool_new(&(TnPoolOptions){.jobs = 1});
  TnCommand c = shell(a, "for i in 1 2 3 4 5 6 7 8; do yes & done; wait");
  c.timeout = 8;
  tn_pool_add(p, &c, 1);
  double begin = clock_seconds();
  for (int i = 0; i < 20; i++) tn_pool_wait(p, NULL, 0, 100);
  ck_assert(clock_seconds() - begin < 6);
  tn_pool_free(p);
  arena_free(a);
}
END_TEST

START_TEST(timeout_kills_all) { // a grandchild, and one that has left for a session of its own
  TnJobResult r = run_script("sleep 100 & echo $! > a; setsid sleep 100 & echo $! > b; "
                             "(setsid sh -c 'sleep 100 & echo $! > c; wait') & wait",
                             1, 0);
  ck_assert_int_eq(r.end, TN_TIMED_OUT);
  ck_assert(!alive(pid_in("a")) && !alive(pid_in("b")) && !alive(pid_in("c")));
}
END_TEST

START_TEST(left_overs) { // what a program leaves behind when it ends is ended too
  TnJobResult r = run_script("setsid sleep 100 & echo $! > a; exit 0", 0, 0);
  ck_assert_int_eq(r.end, TN_EXITED);
  ck_assert(!alive(pid_in("a")));
}
END_TEST

START_TEST(file_limit) {
  TnJobResult r = run_script("exec head -c 200000 /dev/zero > big", 0, 100000);
  ck_assert(r.end == TN_SIGNALLED && r.code == SIGXFSZ);
  struct stat st;
  char path[64];
  snprintf(path, sizeof path, "%s/big", folder);
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_le(st.st_size, 100000);
}
END_TEST

static int most_at_once(const TnPoolOptions *o) {
  Arena *a = arena_new();
  TnPool *p = tn_pool_new(o);
  TnCommand c = shell(a, "sleep 0.1");
  for (int i = 0; i < 6; i++) tn_pool_add(p, &c, i);
  int most = 0, seen = 0;
  TnJobResult r;
  while (seen < 6) {
    tn_pool_wait(p, NULL, 0, 20);
    if (tn_pool_running(p) > most) most = tn_pool_running(p);
    while (tn_pool_take(p, &r)) seen++, buf_free(&r.said);
  }
  ck_assert_int_eq(tn_pool_load(p), 0);
  tn_pool_free(p);
  arena_free(a);
  return most;
}

START_TEST(bounded) {
  ck_assert_int_eq(most_at_once(&(TnPoolOptions){.jobs = 1}), 1);
  ck_assert_int_eq(most_at_once(&(TnPoolOptions){.jobs = 3}), 3);
  char path[64];
  snprintf(path, sizeof path, "%s/meminfo", folder);
  const char low[] = "MemTotal: 9999999 kB\nMemAvailable:  1000 kB\n";
  ck_assert_int_eq(file_write(path, low, strlen(low)), 0);
  TnPoolOptions o = {.jobs = 3, .memory = 1024001, .meminfo = path};
  ck_assert_int_eq(most_at_once(&o), 1);
  o.memory = 1024000;
  ck_assert_int_eq(most_at_once(&o), 3);
}
END_TEST

// A tuner that is killed takes its jobs with it, those in sessions of their own too.
START_TEST(killed_tuner) {
  for (int hard = 0; hard < 2; hard++) {
    pid_t tuner = fork();
    if (tuner == 0) {
      signal(SIGTERM, SIG_DFL); // not the test runner's
      Arena *a = arena_new();
      TnPool *p = tn_pool_new(&(TnPoolOptions){.jobs = 2});
      TnCommand c = shell(a, "echo $$ > a; setsid sleep 100 & echo $! > b; wait");
      tn_pool_add(p, &c, 0);
      for (;;) tn_pool_wait(p, NULL, 0, 1000);
    }
    pid_t x = pid_in("a"), y = pid_in("b");
    ck_assert(alive(x) && alive(y));
    kill(tuner, hard ? SIGKILL : SIGTERM);
    waitpid(tuner, NULL, 0);
    ck_assert(dies(x) && dies(y));
    teardown();
    setup();
  }
}
END_TEST

START_TEST(killed_keeper) { // somebody else kills it: its child's group goes too
  Arena *a = arena_new();
  TnCommand c = shell(a, "sleep 100 & echo $! > a; wait");
  TnChild child;
  int code;
  ck_assert(tn_child_start(&c, &child));
  pid_t grandchild = pid_in("a");
  kill(child.keeper, SIGKILL);
  ck_assert_int_eq(tn_child_end(&child, &code), TN_LOST);
  ck_assert(dies(grandchild));
  arena_free(a);
}
END_TEST

START_TEST(freed_pool) { // jobs in the queue never start, running ones end
  Arena *a = arena_new();
  TnPool *p = tn_pool_new(&(TnPoolOptions){.jobs = 1});
  TnCommand c = shell(a, "echo $$ > a; sleep 100"), d = shell(a, "echo $$ > b");
  tn_pool_add(p, &c, 0);
  tn_pool_add(p, &d, 1);
  tn_pool_wait(p, NULL, 0, 10);
  pid_t x = pid_in("a");
  tn_pool_free(p);
  ck_assert(!alive(x));
  char path[64];
  snprintf(path, sizeof path, "%s/b", folder);
  ck_assert_int_ne(access(path, F_OK), 0);
  arena_free(a);
}
END_TEST

START_TEST(talk) { // a child with a pipe to its stdin
  Arena *a = arena_new();
  TnCommand c = shell(a, "read x; echo got $x");
  c.talks = true;
  TnChild child;
  ck_assert(tn_child_start(&c, &child));
  ck_assert_int_eq(write(child.input, "abc\n", 4), 4);
  struct pollfd f = {.fd = child.output, .events = POLLIN};
  ck_assert_int_eq(poll(&f, 1, 5000), 1);
  char text[16] = "";
  ck_assert_int_eq(read(child.output, text, 15), 8);
  ck_assert_str_eq(text, "got abc\n");
  int code;
  ck_assert_int_eq(tn_child_end(&child, &code), TN_EXITED);
  ck_assert_int_eq(code, 0);
  arena_free(a);
}
END_TEST

int main(void) {
  signal(SIGCHLD, SIG_DFL);
  Suite *s = suite_create("pool");
  TCase *t = tcase_create("pool");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, ends);
  tcase_add_test(t, processors);
  tcase_add_test(t, much_output);
  tcase_add_test(t, endless_output);
  tcase_add_test(t, timeout_kills_all);
  tcase_add_test(t, left_overs);
  tcase_add_test(t, file_limit);
  tcase_add_test(t, bounded);
  tcase_add_test(t, killed_tuner);
  tcase_add_test(t, killed_keeper);
  tcase_add_test(t, freed_pool);
  tcase_add_test(t, talk);
  suite_add_tcase(s, t);
  return suite_run(s);
}
