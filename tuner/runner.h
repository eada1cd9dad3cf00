// tuner/runner: the process that loads, checks and times candidates (protocol: wire.h). A fault or
// a hang of a candidate is this process's end, not the tuner's.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_RUNNER_H
#define TLC_TUNER_RUNNER_H

#include "driver/device.h"
#include "tuner/internal.h"
#include "tuner/tuner.h"
#include "tuner/wire.h"

/* reference.c: what outputs are compared with */

// Some elements of one output.
typedef struct {
  int param;
  int64_t n;
  int64_t *at;        // their indices
  const void *want;   // n elements of the output's type, packed
  const float *bound; // n, absolute errors allowed; NULL for types that are exact
  RtPick *pick;       // gathers them on the GPU; NULL: the output is copied as a whole
  void *packed;       // room for them, where they are not picked
  bool ready;         // either is there
} TnSamples;

typedef struct {
  VEC(TnSamples) outputs;
  double seconds; // that it took
} TnReference;

// By the oracle, of all blocks or of some (about `limit` seconds of one processor, in `jobs`
// processes). False after messages to `d`.
bool tn_reference(Arena *a, const RunData *data, uint64_t seed, double limit, int jobs, Diags *d,
                  TnReference *out);

typedef struct {
  double rtol, atol; // < 0: the reference's bounds
  double mismatch;   // share of the elements that may be beyond them
} TnTolerance;

// Compares the samples of one output with what was got of them, packed; false: `why` says where
// they differ.
bool tn_agrees(const TnSamples *s, const RtArray *shape, const void *got, const TnTolerance *t,
               Buf *why);
// Elements at[n] of an array, packed.
void tn_pack(RtType t, void *to, const void *from, const int64_t *at, int64_t n);

/* declared.c */

// By the program that is declared beside the space (EvEntry.reference). False, and why: it uses
// what is not evaluated here.
bool tn_declared(Arena *a, const char *text, const RunData *data, uint64_t seed, TnReference *out,
                 Buf *why);

/* inputs.c: what the candidates of one problem size share */

typedef struct {
  Arena *arena;      // NULL: there are none
  TnProgram owner;   // whose arguments they are
  const char *sizes; // and for which values of what is not tuned
  RunData data;
  void **got; // per parameter, room for an output
  bool *pinned;
  RtBlas *blas; // cuBLAS for the same product, NULL: not chosen, or there is none
  void *c;      // its output
  TnReference reference, declared; // by the oracle; by the program's own reference
  bool tried_declared;
} TnInputs;

// For the program `owner`, which is theirs from now on. False, and why: they cannot be made.
bool tn_inputs_make(TnInputs *in, TnProgram *owner, const char *sizes, Buf *why);
void tn_inputs_drop(TnInputs *in, RtGpu *gpu); // gpu: may be NULL where it has seen none of them
// Does the program take tensors of the same types and shapes, with the same roles, and is it for
// the same sizes? Of none: no.
bool tn_inputs_fit(const TnInputs *in, const Program *p, const char *sizes);
// The arguments of the launcher of `p`. Returns how many.
int tn_inputs_args(const TnInputs *in, Arena *a, const Program *p, RtArg **out);
// By the candidate `of`, once. declared: EvEntry.reference, or NULL. False, and why.
bool tn_inputs_reference(TnInputs *in, const Options *o, TnProgram *of, const char *declared,
                         Buf *why);

/* cublas.c: the product of the inputs by cuBLAS */

void tn_cublas_choose(TnInputs *in, RtGpu *gpu); // its algorithm
// With the call's operands; chosen now, if it was not. False: there is none.
bool tn_cublas_with(TnInputs *in, RtGpu *gpu, const RtCall *call, RtContender *out);
void tn_cublas_drop(TnInputs *in, RtGpu *gpu);

/* trial.c: candidates on the GPU, with one set of inputs for all */

typedef struct TnTrials TnTrials;

typedef struct {
  void (*started)(void *ctx);   // before a candidate's first launch
  void (*meanwhile)(void *ctx); // kernels run that nothing has to be done for: it may tn_load_ahead
  void *ctx;
} TnWatcher;

typedef enum {
  TN_TRIAL_OK,
  TN_TRIAL_WRONG,
  TN_TRIAL_FAILED,
  TN_TRIAL_FAULT,
  TN_TRIAL_HUNG
} TnVerdict;

TnTrials *tn_trials_new(const Options *o, RtGpu *gpu, const TnWatcher *watcher);
// Where the time since the last call of this went.
TnSpent tn_trials_spent(TnTrials *t);
// Inputs and reference for the candidate of a `prepare` and those of its size, where they can be
// made; else its trial says why not.
void tn_prepare_trials(TnTrials *t, const TnMessage *m);
// Loads the candidate of an `ahead`, which may be the next to be tried.
void tn_load_ahead(TnTrials *t, const TnMessage *m);
// Loads the candidate of a `try` or `keep`, checks its results, times it (try) or keeps it (keep).
TnVerdict tn_trial(TnTrials *t, const TnMessage *m, bool keep, RtSamples *out, Buf *why);
// The kept ones and cuBLAS, where it does the same, in turns. ids[k]: -1 for cuBLAS. *n of them.
// narrows: those that are clearly behind take part in the first rounds alone.
TnVerdict tn_trial_final(TnTrials *t, int rounds, bool narrows, int *ids, RtTiming *time, int *n,
                         Buf *why);
enum { TN_MOST_KEPT = TN_MOST_FINALISTS };

/* busy.c */

// What else uses the GPU, as NVIDIA's management library tells; false: nothing, or not known.
bool tn_gpu_busy(Buf *out);

#endif
