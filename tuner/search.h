// tuner/search: candidates built by the pool, then checked and timed by the runner, one by one.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_SEARCH_H
#define TLC_TUNER_SEARCH_H

#include <signal.h>

#include "driver/driver.h"
#include "runtime/runtime.h"
#include "tuner/db.h"
#include "tuner/session.h"
#include "tuner/tuner.h"

/* workshop.c: what all searches of one run share */

typedef struct {
  Arena *arena;
  const Options *options;
  TnDb *db; // NULL: --no-cache
  TnPool *pool;
  TnSession session;
  TnCompile *later; // the compiler, at work on sizes that come later; NULL: on none
  TnLock lock;
  const char *gpu, *arch; // "NVIDIA H200", "sm_90a"
  int sm, driver;
  const char *nvcc;    // its last line of --version
  const char **inputs; // hashes of the files of --in, in order
  bool greeted;        // the runner can use the GPU
  bool aside;          // it was said that the cache's folder takes no builds
  double mark;         // until when it is known where the time went
} TnWorkshop;

// Opens cache, pool and runner. An exit status, after a message where it is not 0.
int tn_workshop_open(TnWorkshop *w, const Options *o, Arena *a);
void tn_workshop_close(TnWorkshop *w);
// Waits for a runner that was opening the GPU meanwhile. False after a message.
bool tn_workshop_ready(TnWorkshop *w);
// tn_pool_wait, while what compiles later sizes is heard, too.
bool tn_workshop_wait(TnWorkshop *w, const struct pollfd *session, bool *heard, int ms);
// Starts the runner anew and greets it. False after a message.
bool tn_workshop_restart(TnWorkshop *w);

extern volatile sig_atomic_t tn_interrupted; // a SIGINT, SIGTERM or SIGHUP came
void tn_catch_signals(void);                 // from now on

/* share.c: builds that the sizes of a sweep share */

typedef struct TnShared {
  int *slot;       // of each number of the text: the argument that it is, from 0; -1: it stays
  int slots;       // arguments
  TnHash hash;     // of the text
  const char *lib; // NULL: not built in this run
  bool unused;     // each size has its own build: it saves none, was none, or was not right
} TnShared;

// Finds them among the queued candidates of the sizes that are known, one after another: of `sizes`
// in all. `finalists`: how many of each are built once more as they will be written.
typedef struct TnSharing TnSharing;
TnSharing *tn_sharing_new(Arena *a, int sizes, int finalists);
void tn_sharing_add(TnSharing *t, TnSpace *s);
void tn_sharing_decide(TnSharing *t); // what of those that were added have no build yet
void tn_shared_text(const TnCandidate *c, Buf *out);   // c has a text and shares
void tn_put_arguments(const TnCandidate *c, Buf *out); // "8,1024"

/* search.c */

double tn_limit(const TnSpace *s);       // seconds for a candidate's build, and for its runs
#define TN_FILE_LIMIT ((int64_t)2 << 30) // bytes of one file that a compiler writes

typedef enum { TN_WAITING, TN_BUILDING, TN_READY, TN_RUNNING, TN_DONE } TnPhase;

typedef struct {
  TnCandidate *c;
  TnHash key;
  TnPhase phase;
  RtPlan plan;
  const char *lib;  // NULL: not built in this run
  TnShared *shared; // built for other sizes, too; NULL: alone, as it will be written
  bool recalled;
} TnItem;

typedef struct {
  int best;                  // id; -1: none
  double reference_us;       // cuBLAS's; 0: none
  int cached, tried, failed; // candidates: of the cache, of this run; of both
  int builds;                // that a compiler made in this run
  double build_s;            // of all nvcc processes together
  // Wall time: the whole, with what came before the search; that; while nothing but nvcc was waited
  // for; while another tuner had the GPU; from the end of the single runs on.
  double seconds, prepare_s, nvcc_s, waited_s, final_s;
  TnSpent spent; // where the runner's went
  bool interrupted;
} TnFound;

// One by one; the finalists' own builds, which are played when all are there; their rounds.
typedef enum { TN_SINGLE, TN_FINALISTS_BUILT, TN_ROUNDS } TnStage;

typedef struct {
  TnWorkshop *w;
  TnSpace *space, *next; // next: that of the search after this one; NULL: none
  TnItem *items;         // in the order in which they are built: the model's
  int n, done;
  TnItem *running, *ahead; // ahead: the next, which the runner has loaded or is to have alone
  bool started;
  double deadline;
  double at, *clock; // since when time goes to whose account; NULL: tlc's own
  TnStage stage;
  double best_us;  // what the best takes at most; 0: none yet
  bool waits;      // for the lock, and has said so
  bool asked_next; // the runner was told to make what the next search needs
  bool rival;      // it has waited: another tuner may have kept results
  double begin, last_line, shown_us;
  int drawn;           // lines of the table that is on the terminal
  const char *trouble; // ends the search: this machine lacks something
  TnFound *found;
} TnSearch;

// Measures every queued candidate of the space; `next` is that of the search after this one, or
// NULL. An exit status, after a message where it is not 0.
int tn_search(TnWorkshop *w, TnSpace *s, TnSpace *next, TnFound *out);
void tn_prepare_next(TnSearch *s);         // has the runner make the next search's inputs, once
bool tn_build_one(TnSearch *s, TnItem *i); // plans and queues; or decides it
void tn_take_builds(TnSearch *s);
int tn_by_median(const void *a, const void *b); // orders TnItem *
void tn_candidate_message(const TnSearch *s, const TnItem *i, const char *verb, Buf *b);
void tn_run_next(TnSearch *s); // sends the runner what is ready, where it has nothing to do
bool tn_take_gpu(TnSearch *s); // false: another tuner has it, which is said once
// Wall time until now goes to who had it, and from now on to who has it: call it where that may
// change. nvcc has it while a compiler runs and no candidate is with the runner or ready for it.
void tn_account(TnSearch *s);
// Of the whole what neither nvcc alone, nor kernels and the GPU's rests, nor another tuner took.
double tn_overhead(const TnFound *f);

/* item.c: results as they are kept */

void tn_key_bindings(TnKey *k, const char *what, const TnBindings *list); // in any order

// Of the candidate as it is written, or of the build that sizes share.
TnHash tn_item_key(const TnSearch *s, const TnCandidate *c, const TnShared *shared);
bool tn_recall(TnSearch *s, TnItem *i);      // sets the key; from the cache
void tn_alone(const TnSearch *s, TnItem *i); // it is to be built as it will be written
// The most that a candidate takes which was measured by a build that is not quite its own.
#define TN_ROUGH 1.5
void tn_decide(TnSearch *s, TnItem *i, const TnMessage *m, bool keep); // a runner's answer
// One that was measured is not to win: what the runner said of it in the final round.
void tn_reject(TnSearch *s, TnItem *i, const TnMessage *m);
bool tn_is_answer(const TnMessage *m); // is it one that decides about a candidate?

/* final.c: the best few in turns, so that noise does not choose the winner */

enum { TN_FINALISTS = 10 }; // at most, unless --finalists says
void tn_final(TnSearch *s);

/* progress.c */

void tn_progress(TnSearch *s, bool last);

#endif
