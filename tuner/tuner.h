// tuner: candidates of a kernel's tuning space, what keeps them from being built, a model of their
// time, builds, runs, results. It reaches the compiler through driver/'s compile functions.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_H
#define TLC_TUNER_H

#include "base/base.h"
#include "eval/eval.h"
#include "ir/ir.h"
#include "ir/target.h"

struct Options; // driver/driver.h
struct Job;
struct TnDb; // tuner/db.h

typedef VEC(EvBinding) TnBindings; // name -> text, as -p (or -f: a decimal number) takes it

/* ------------------------------------------------------------------ options */

enum { TN_MOST_FINALISTS = 32 };

typedef struct {
  // space.c
  TnBindings axes;     // --space NAME=V,V: values with commas between; given twice: both count
  const char *configs; // --configs FILE; NULL: what the program declares
  const char *flags;   // --space-flags NAME,NAME=V:V: compiler options to cross with; or NULL
  // model and roller
  const char *figures; // --gpu: whose figures the model takes
  bool roller;         // --roller: tiles by the model instead of a space
  int topk;            // --topk; 0: all; -1: 10 with --roller, 20 with --no-run, else all
  // what is done
  bool no_run;      // --no-run: rank by the model and what the assembler says
  const char *save; // --save FILE
  // build, run, cache, sweep, report
  int jobs;        // --jobs; 0: TLC_JOBS, else one a core
  double timeout;  // --tune-timeout, seconds a candidate; 0: as declared, else 100
  int finalists;   // --finalists; 0: as many as are near the best, at most 10
  int warmup, rep; // --warmup, --rep; -1: as declared, else 25 and 100
  bool no_cache, clear_cache, strict;
  int64_t cache_limit; // bytes; 0: default
  const char *sweep;   // --sweep NAME=V,V
  const char *report;  // --report FILE
  const char *tuned;   // --tuned FILE
  bool runner;         // --tune-runner: this is the process that runs candidates
} TnOptions;

/* ------------------------------------------------------------------ candidates */

typedef enum {
  TN_QUEUED,    // legal: to be built
  TN_PRUNED,    // the compiler refuses it, or the target has not the room
  TN_DUPLICATE, // another candidate has the same text
  TN_BUILT,
  TN_BUILD_FAILED, // nvcc failed, or ran out of time
  TN_WRONG,        // its results are not the expected ones
  TN_FAULTED,      // the GPU reported an error, or it wrote beside its tensors
  TN_HUNG,
  TN_MEASURED,
  TN_STATES
} TnState;

// What the assembler says of a kernel (of the worst one, where there are several); -1: not known.
typedef struct {
  int registers, spills, shared, stack; // a thread, bytes a thread, bytes static, bytes a thread
} TnAsm;

// What the model says, per launch.
typedef struct {
  double us; // predicted time; 0: not modelled
  double tensor_us, smem_us, l2_us, hbm_us, issue_us, epilogue_us, launch_us; // parts of it
  double flops, hbm_bytes, l2_bytes, smem_bytes;
  int64_t blocks;
  int occupancy; // blocks a multiprocessor
  double waves;
  const char *bound; // the part that decides: "tensor", "smem", "l2", "hbm", "issue", "latency"
} TnModel;

// A number of a text that can be an argument. exact: the machine code is then the same.
typedef struct {
  int64_t value;
  bool exact;
} TnNumber;

typedef struct {
  int id;              // position in the space, from 0
  TnBindings bindings; // the tuned parameters, without locked ones
  TnBindings flags;    // options of the compiler that this candidate adds
  TnBindings sizes;    // what -p (and --sweep) gave: locked parameters and the problem's size
  const char *entry;   // as --entry takes it
  TnState state;
  const char *reason; // of every state but queued, built and measured; else NULL
  const char *code;   // id of the diagnostic that refused it ("E410"); NULL
  int same_as;        // TN_DUPLICATE: id of the candidate that has the text; else -1
  const char *symbol; // C symbol of the launcher
  uint8_t sha[32];    // SHA-256 of the code: of the text without what names file and parameters
  uint8_t rest[32];   // SHA-256 of the code without the numbers that a build may take as arguments
  TnNumber *numbers;  // these
  int nnumbers;
  struct TnShared *shared; // its build for several sizes; NULL: it has none
  bool rough;              // its own machine code is another than that one's
  bool by_shared;          // measured by that one
  const char *text;        // the .cu; NULL: pruned, a duplicate, or of the cache (tn_need_text)
  size_t len;
  int threads;  // of a block, producers included
  int64_t smem; // bytes of shared memory of a block
  int stages;   // of the deepest pipelined loop
  int tile[3];  // M, N and K of its largest product; 0: it has none
  int warps[2]; // that share its rows, and its columns
  int panel;    // of T.use_swizzle; 0: none
  TnAsm as;
  TnModel model;
  double median_us, mean_us, min_us;   // measured; 0: not
  bool early;                          // given up after a few launches: only known to be slow
  double final_us, final_lo, final_hi; // of the final round; 0: took no part
} TnCandidate;

typedef VEC(TnCandidate) TnCandidates;

// One kernel's space for one problem size.
typedef struct {
  Arena *arena;
  const struct Options *options;
  const Target *target;
  const struct TnFigures *figures; // of --gpu; NULL: not asked for yet
  const char *entry;
  TnBindings sizes; // as TnCandidate.sizes
  TnCandidates all; // in order of the space
  const char *from; // where the space is from: "@tilelang.autotune", a file's name, "--space"
  const char *rtol, *atol; // declared beside the space; NULL: none
  const char *warmup, *rep, *timeout, *mismatch;
  const char *reference;       // as EvEntry.reference
  bool empty;                  // prepared, and no candidate is left
  int locked;                  // tuned parameters that -p fixed
  struct TnDb *db;             // results of the compiler are kept there; NULL: nowhere
  struct TnCompiled *compiled; // those of this space; NULL: none are kept
  const char *source;          // text of the program instead of the options' file; NULL: that
  bool quick;                  // candidates get an estimate from their tiles alone, and no text
  double seconds;              // that its preparation took
  int part;                    // of tn_prepare_start's compilation; -1: none
  struct TnTwins *twins;       // while they are compiled; NULL: each goes all the way
} TnSpace;

/* space.c: which candidates there are */

// The candidates of the entry, bound and crossed, none compiled. `override`: sizes over those of -p
// (--sweep; NULL: none). Returns an exit status; other than 0: the reason has been printed.
int tn_space(Arena *a, const struct Options *o, const TnBindings *override, TnSpace *out);
const char *tn_state_name(TnState s);
// "block_M=128,block_N=256 -fstages=3", as the command takes it.
void tn_text(const TnCandidate *c, Buf *out);
void tn_label(const TnCandidate *c, Buf *out); // the same for people, to whom nothing says nothing
void tn_tame(Buf *out, size_t from); // no control characters: they would spoil a terminal

/* compile.c: one candidate through the compiler, many through worker processes */

// Compiles into a job of its own; diagnostics go to the job. `a` is to outlive the job. Fills
// symbol, text, hash, threads, smem, stages, model. False: c has become TN_PRUNED with a reason, or
// TN_DUPLICATE (TnSpace.twins).
bool tn_compile(Arena *a, const TnSpace *s, TnCandidate *c, struct Job *j);
// All of them, `jobs` at a time; then duplicates are marked. progress may be NULL.
// n > 0 spaces.
void tn_compile_all(TnSpace *const *spaces, int n, int jobs,
                    void (*progress)(void *ctx, int done, int of), void *ctx);

// The same while the caller does other things. The first `urgent` of the spaces are waited for, and
// what progress hears of; the others come behind all other processes.
typedef struct TnCompile TnCompile;
TnCompile *tn_compile_start(TnSpace *const *spaces, int n, int urgent, int jobs,
                            void (*progress)(void *ctx, int done, int of), void *ctx);
struct pollfd;
int tn_compile_polled(const TnCompile *p, struct pollfd *fds, int most); // descriptors to wait for
// Takes what comes within the time. How many of the spaces, the first ones, are done.
int tn_compile_step(TnCompile *p, int ms);
void tn_compile_end(TnCompile *p); // kills what still runs; NULL is fine

/* figures.c: what a GPU can do */

typedef struct TnFigures {
  const char *name;   // "H200"
  const char *target; // the newest of tlc's targets that it runs
#define FIGURE(member, meaning) double member;
#include "tuner/figures.def"
#undef FIGURE
} TnFigures;

// `text`: the name of a GPU, figures as NAME=VALUE, or both with commas between; NULL: the target's
// first GPU in gpus.def. False: it is none of these; printed.
bool tn_figures(const Target *t, const char *text, TnFigures *out);

/* model.c: time of a program by its own accesses and instructions; needs no GPU and no assembler */

// `tile`: as evaluated; `thread`: after all passes; `as`: NULL, or what the assembler says;
enum { TN_GUESSED_SIZE = 4096 };
// `sizes`: values of the program's symbolic sizes; NULL: none. The others are TN_GUESSED_SIZE.
TnModel tn_model(const Program *tile, const Program *thread, const Target *t, const TnFigures *f,
                 const TnAsm *as, const TnBindings *sizes);

/* roller.c: candidates that the model makes up, the best first */

// s: of tn_space with --roller: its entry and sizes. Fills s->all with compiled candidates, at most
// `most` (0: all) of them queued. Returns an exit status; other than 0: the reason has been
// printed. progress may be NULL.
int tn_roller(TnSpace *s, int most, int jobs, void (*progress)(void *ctx, int done, int of),
              void *ctx);
// EvOptions.hints; ctx: the run's Options.
int tn_hints(void *ctx, const EvMatmul *m, EvHint *out, int most);

/* rank.c: --tune: order, table, what was pruned and why */

// Indices of candidates that rank: measured ones by median, then by the model. Returns how many.
int tn_rank(const TnSpace *s, int *order);
void tn_table(const TnSpace *s, int most, FILE *to); // most 0: all
// One object: ranked ones first, in order. run: more members, each after a comma.
void tn_json(const TnSpace *s, const char *run, Buf *out);
void tn_failures(const TnSpace *s, FILE *to); // counts by reason, with an example each

/* tune.c: the mode; an exit status */

int tn_tune(const struct Options *o);

/* lock.c */

// Waits until no other tlc measures on this GPU; it is ours until this process ends.
void tn_gpu_claim(Arena *a);

/* measure.c: --clear-cache; runner.c: --tune-runner; use.c: --tuned FILE, what it says is bound */

int tn_clear_cache(void); // --clear-cache; 0, or -1 with errno set
int tn_runner(const struct Options *o);
int tn_use(struct Options *o, struct Job *j);

#endif
