// tuner/session: the tuner's end of its runner process, and the lock that keeps the GPU to one
// tuner.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_SESSION_H
#define TLC_TUNER_SESSION_H

#include "tuner/pool.h"
#include "tuner/wire.h"

/* session.c */

typedef struct {
  Arena *arena;
  TnCommand command;
  TnChild child;
  bool alive;
  Buf in;     // what has come and was not taken yet
  int trials; // candidates that this process has had
  int starts;
} TnSession;

// The runner is this program with --tune-runner before its own arguments, or $TLC_TUNE_RUNNER.
void tn_session_new(TnSession *s, Arena *a);
bool tn_session_start(TnSession *s); // false with errno set
void tn_session_send(TnSession *s, const Buf *line);
// Takes in what has come without waiting. False when the process has closed its end, or says more
// at once than any answer is.
bool tn_session_read(TnSession *s);
bool tn_session_next(TnSession *s, Arena *a, TnMessage *m); // the next whole line
// Ends the process; `how`, if wanted, gets how it ended. gently: it may end by itself first.
void tn_session_stop(TnSession *s, bool gently, Buf *how);
// Waits for a line until the deadline, by clock_seconds. False: none came, the process is gone, or
// a signal arrived.
bool tn_session_wait(TnSession *s, Arena *a, double deadline, TnMessage *m);

/* lock.c */

typedef struct {
  int fd; // -1: none
  bool held;
  const char *path;
} TnLock;

// $TLC_GPU_LOCK, else a file in /tmp that all users of the machine share.
void tn_lock_open(TnLock *l, Arena *a);
// True once it is held. Without a file nothing is locked, and it is true.
bool tn_lock_try(TnLock *l);
void tn_lock_say(const TnLock *l); // that another has it
void tn_lock_close(TnLock *l);

#endif
