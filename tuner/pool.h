// tuner/pool: a bounded pool of child processes. No child, nor a child's child, outlives its job or
// the tuner, however either ends.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_POOL_H
#define TLC_TUNER_POOL_H

#include <poll.h>
#include <sys/types.h>

#include "base/base.h"

/* keeper.c: one child process under a keeper, a fork of this process that ends with it */

typedef enum {
  TN_EXITED,      // code: exit status
  TN_SIGNALLED,   // code: signal
  TN_TIMED_OUT,   // killed
  TN_NOT_STARTED, // code: errno
  TN_LOST,        // the keeper itself was killed
} TnEnd;

typedef struct {
  char *const *argv;  // argv[0] is a path; NULL-terminated
  const char *folder; // to run in; NULL: the current one
  double timeout;     // seconds; 0: none
  int64_t file_limit; // bytes a file may grow to; 0: none
  bool talks;         // its stdin is a pipe from us; stderr is then ours
} TnCommand;

typedef struct {
  pid_t keeper;
  int output;   // its stdout (and stderr, unless it talks), non-blocking
  int input;    // with `talks`: its stdin; else -1
  int verdict;  // readable at the end
  pid_t *group; // of the child, shared with the keeper; 0: none yet
} TnChild;

// False with errno set.
bool tn_child_start(const TnCommand *c, TnChild *out);
// In a fork of this process: all descriptors from 3 on but these.
void tn_close_others(const int *keep, int n);
void tn_child_kill(const TnChild *c); // asks for the end of it and of all that it started
// After `verdict` has become readable, or tn_child_kill: waits and closes everything.
TnEnd tn_child_end(TnChild *c, int *code);
// "exit status 1", "signal 11 (Segmentation fault)", "no end within 10 s", ...
void tn_end_text(TnEnd end, int code, double timeout, Buf *out);

/* pool.c */

typedef struct {
  int jobs;            // at a time; 0: one a processor
  int64_t memory;      // bytes that must be available to start one beside others; 0: 1 GiB
  const char *meminfo; // NULL: /proc/meminfo
} TnPoolOptions;

typedef struct {
  int tag;
  TnEnd end;
  int code;
  Buf said; // what it printed, at most 64 KiB of it
  double seconds;
} TnJobResult;

typedef struct TnPool TnPool;

TnPool *tn_pool_new(const TnPoolOptions *o);
void tn_pool_free(TnPool *p); // kills what still runs
// Queues a command, and starts it where one may start; its strings must live until the job ends.
void tn_pool_add(TnPool *p, const TnCommand *c, int tag);
int tn_pool_load(const TnPool *p); // queued and running
int tn_pool_running(const TnPool *p);
// Starts what may start, then waits until something happens to a job or to one of `more`, at most
// `ms` milliseconds. False with errno set (EINTR: a signal).
bool tn_pool_wait(TnPool *p, struct pollfd *more, int n, int ms);
// A job that has ended; the caller frees `said`.
bool tn_pool_take(TnPool *p, TnJobResult *out);
int tn_pool_jobs(int wanted); // 0: $TLC_JOBS, else one a processor

#endif
