// driver: options, the one compile function, and what each mode does with a compiled program.
// SPDX-License-Identifier: MIT
#ifndef TLC_DRIVER_H
#define TLC_DRIVER_H

#include "codegen/codegen.h"
#include "emu/emu.h"
#include "eval/eval.h"
#include "ir/ir.h"
#include "passes/passes.h"
#include "tuner/tuner.h"

enum { EXIT_OK, EXIT_WRONG_PROGRAM, EXIT_USAGE, EXIT_MACHINE, EXIT_BUG = 70 };

typedef enum {
  EMIT_CU,
  EMIT_HEADER,
  EMIT_MANIFEST,
  EMIT_TOKENS,
  EMIT_AST,
  EMIT_TILE,
  EMIT_IR,
  EMIT_PTX,
  EMIT_CUBIN,
  EMIT_EXE,
} EmitKind;

typedef struct {
  const char *key, *value;
} Pair;

typedef VEC(Pair) PairVec;

typedef enum { MODE_EMIT, MODE_RUN, MODE_BENCH, MODE_CONFIGS, MODE_SURVEY, MODE_TUNE } Mode;

typedef struct Options {
  Arena *arena;
  const char *input, *output; // output NULL: default; "-": stdout
  Map *bindings;              // -p
  const char *entry, *name, *arch, *params;
  EmitKind emit;
  const char *header, *manifest; // --header, --manifest files
  Mode mode;
  const char *device;      // auto, emu, gpu
  PairVec in, out, expect; // NAME=FILE
  uint64_t seed;
  bool integers;     // --integers: integer-valued float inputs
  double rtol, atol; // < 0: default
  bool cold_l2, json;
  int rounds; // --rounds; 0: by itself
  bool remarks, debug, time_passes, deps, werror;
  const char *lines;         // --line: "tl", "none"; NULL: as -g
  Map *flags;                // -f
  const char *dump;          // -d
  VEC(const char *) include; // -I
  VEC(const char *) zero;    // --zero
  const char *dep_file, *dep_target;
  DiagFormat diag_format;
  const char *color;
  int max_errors;
  VEC(uint64_t) emu_seeds; // none: 0 alone
  TnOptions tune;
} Options;

/* options.c */

// Parses the command line. Returns -1 to go on, else the exit status (after --help, --version or a
// usage error, which it has printed).
int opt_parse(Options *o, int argc, char **argv);

// The -f options; ended by one without a name.
typedef struct {
  const char *name, *value; // value: "" for a switch
} OptFlag;

extern const OptFlag opt_flags[];

// False, with the rule and the nearest legal value in `why`: the flag has no such value.
bool opt_flag_takes(const OptFlag *f, uint64_t value, Buf *why);
bool opt_hint_takes(const char *name, int64_t value, Buf *why); // the same of T.Kernel's operands

/* usage.c */

// Ends the run where one of the options given (by their names) would be ignored.
void opt_check(const Options *o, const char *const *given, int n);
// Says what is wrong with the command line, and ends the run.
NORETURN void opt_usage(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* compile.c: the trip from a file to a program */

typedef struct Job {
  Arena *arena;
  Sources *sources;
  Diags *diags;
  const Target *target;         // of a list the oldest
  const Target *const *targets; // --arch's list, oldest first, NULL-terminated; NULL: target alone
  uint32_t file;
  VEC(const char *) read;   // every file read, for depfiles
  VEC(const char *) missed; // modules looked for where they are not
  VEC(Program *) tile;      // as evaluated
  VEC(Program *) thread;    // after all passes; empty until lowered
  VEC(uint64_t) hash;       // of each evaluated kernel
  // Of a list of targets, for each program; both empty where there is one target.
  VEC(const Target *) of;
  VEC(const char *) api; // symbol of the launcher that chooses
  bool (*wanted)(void *ctx, const Program *p); // as PassCtx.wanted
  void *wanted_ctx;
} Job;

// Opens the input and registers it. False with errno set.
bool job_open(Job *j, const Options *o);
const Target *job_newest_target(int sm);   // that a GPU runs; sm: 10 * major + minor
void job_target(Job *j, const Options *o); // finds --arch if that is still open, or ends the run
EvOptions job_eval(const Job *j, const Options *o); // what the options say about evaluation
// Source text (or .tir) to TILE-level programs. False when errors were reported.
bool job_front(Job *j, const Options *o);
// All passes over copies of the programs. False when errors were reported.
bool job_lower(Job *j, const Options *o);
// Does a program set the tensors of --zero to zero by kernels of its own? It does where kernels
// start beside one another, else its launcher does.
bool job_zeroes_itself(const Program *p, const Target *t);
CgOptions job_codegen(const Job *j, const Options *o, int program);

/* targets.c */

// Both of these steps for each target of --arch. Programs of one launcher follow one another,
// oldest target first. False when errors were reported.
bool job_compile(Job *j, const Options *o);

/* schedule.c */

// A copy whose blocks are numbered as they are launched (T.use_swizzle applied); NULL: the passes
// refuse the program.
Program *job_in_launch_order(Arena *a, const Program *tile, const Target *t);

typedef struct {
  int64_t m, n, k;
  int warps_m, warps_n; // warps that share its rows, and its columns; 0: not so many can
} JobGemm;

// Of a gemm at TILE level in a block of so many threads. False: its warps cannot share it.
bool job_gemm(const Stmt *gemm, int threads, JobGemm *out);

/* emit.c */

// What the .cu is called in the texts: as -o says, else after the input.
const char *drv_cu_name(const Options *o);
// The text of all programs in one of the forms from EMIT_CU to EMIT_IR.
void drv_text(const Job *j, const Options *o, EmitKind kind, Buf *out);
// Writes the .cu to a temporary folder and has nvcc make the ptx, cubin or executable.
int drv_nvcc(Job *j, const Options *o, const char *output);
int drv_emit(Job *j, const Options *o); // writes what --emit asks for; an exit status

/* configs.c, survey.c */

int drv_configs(Job *j, const Options *o);  // --list-configs
// Names and values as an object. text: values as -p takes them, as strings; else what they are.
void drv_json_bindings(const EvBinding *list, int n, bool text, Buf *b);
// Says of all entries that none has a configuration: that no space is declared, or an empty one.
// flags: --space-flags is given.
void drv_no_space(Job *j, const EvResult *r, bool flags);
int drv_survey(const Options *o); // --survey: the input is a folder

/* run.c */

int drv_run(Job *j, const Options *o);   // --run: oracle against --device
int drv_bench(Job *j, const Options *o); // --bench

#endif
