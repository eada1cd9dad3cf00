// Inside tuner: what its files share beside the types of tuner.h.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_INTERNAL_H
#define TLC_TUNER_INTERNAL_H

#include "driver/driver.h"
#include "runtime/runtime.h"

/* space.c */

// Does the list name it?
bool tn_binds(const TnBindings *list, const char *name);
// Splits "NAME=V,V" (commas within brackets and quotes do not count) for an option.
void tn_axis(Arena *a, const char *option, const char *text, EvBinding *out);
// The next value of such a list; NULL after the last.
const char *tn_next_value(Arena *a, const char **list, char separator);

// "; did you mean 'block_M'?" where one of the names is near, else nothing.
const char *tn_near(Arena *a, const char *name, const char *const *names, int n);

// Ends the run where a value of such a list is empty.
void tn_check_list(Arena *a, const char *option, const char *list, char separator);

/* flags.c */

// Every combination of the options that --space-flags names, at least the empty one. Ends the run
// where a name is unknown.
typedef VEC(TnBindings) TnFlagSets;
TnFlagSets tn_flag_sets(Arena *a, const struct Options *o);
// Does the compiler have such an option, with such a value? Else why not.
bool tn_check_flag(Arena *a, const char *name, const char *value, Buf *why);

/* compile.c */

// The text without what names the file and its parameters: from the first line of code on.
const char *tn_code(const char *text);

// The options that compile a candidate.
struct Options tn_options(Arena *a, const TnSpace *s, const TnCandidate *c);

// Evaluates a candidate to tile IR. False: c has become TN_PRUNED.
bool tn_front(Arena *a, const TnSpace *s, TnCandidate *c, struct Job *j, struct Options *o);
bool tn_quick(Arena *a, const TnSpace *s, TnCandidate *c); // the estimate alone, into c->model.us
// Fills `text` where it is not there. False, and why: the program has changed meanwhile.
bool tn_need_text(const TnSpace *s, TnCandidate *c, Buf *why);

/* twins.c: candidates that become the same code */

typedef struct TnTwins TnTwins;

TnTwins *tn_twins_new(int candidates); // NULL: there is no memory for it
void tn_twins_free(TnTwins *t);        // NULL is fine
// The candidate that came first with this program, which may be c itself; of the same space.
int tn_twin(TnTwins *t, const Program *p, const TnCandidate *c);

/* compiled.c: what the compiler said of candidates, kept in the database by all that decides */

// Of a candidate what the compiler and the model said, without its text. False: n is not its size.
void tn_record_put(const TnCandidate *c, Buf *out);
bool tn_record_take(Arena *a, const char *data, size_t n, TnCandidate *c);

// SHA-256 of a file as text, or "-" where it cannot be read.
const char *tn_hash_file(Arena *a, const char *path);

typedef struct TnCompiled TnCompiled;

// For the candidates of one space. NULL: nothing is kept.
TnCompiled *tn_compiled_new(const TnSpace *s);
// What a candidate's result depends on: files read, with their hashes, and files looked for in
// vain. Empty: it cannot be told.
void tn_compiled_inputs(const struct Job *j, Buf *out);
const Source *tn_source_at(const Job *j, const char *path); // NULL: the job has not read it
// The candidate as it was, without its text. False: it is to be compiled. NULL fine for t.
bool tn_compiled_get(TnCompiled *t, TnCandidate *c);
void tn_compiled_put(TnCompiled *t, const TnCandidate *c, const char *inputs);

/* share.c */

void tn_note_numbers(Arena *a, TnCandidate *c); // of its text

/* program.c: a candidate's program at TILE level */

typedef struct {
  Arena *arena; // holds the program
  Options options;
  Job job;
  const Program *program;
} TnProgram;

// False, and why: it cannot be evaluated, or is not one program.
bool tn_program_open(TnProgram *p, const TnSpace *s, const TnCandidate *c, Buf *why);
void tn_program_close(TnProgram *p);
// The launcher as runtime/ takes it; `build` is left to the caller.
RtSource tn_program_source(const TnProgram *p, Arena *a);

/* gemm.c */

void tn_note_gemm(const struct Job *j, TnCandidate *c); // tile, warps and panel

/* quick.c */

// A rough time in us from tiles, without lowering, far more where they might not fit. 0: they do
// not.
double tn_estimate(Arena *a, const Program *tile, const Target *t, const TnFigures *f,
                   const TnBindings *sizes);

/* knobs.c */

// The parameters of a kernel that shape its tiles, and values worth a try.
typedef enum { TN_KNOB_TILE, TN_KNOB_THREADS, TN_KNOB_STAGES, TN_KNOB_RASTER } TnKnobKind;

typedef struct {
  const char *name;
  TnKnobKind kind;
  VEC(const char *) values;
} TnKnob;

typedef VEC(TnKnob) TnKnobs;

// By what of the program changes when a parameter does. False: it cannot be evaluated; printed.
// kernels: how many it has.
bool tn_knobs(Arena *a, const TnSpace *s, TnKnobs *out, int *kernels);

/* assemble.c */

// nvcc's -Xptxas -v of n candidates into their `as`, and the model's time by it. EXIT_MACHINE,
// after a message, where there is no nvcc.
int tn_assemble(TnSpace *s, const int *order, int n, void (*progress)(void *, int, int), void *ctx);
void tn_read_ptxas(const char *said, TnAsm *out); // the worst of its kernels

// The line of a compiler's words that names an error, else the last one; printable, and short.
const char *tn_error_of(Arena *a, const Buf *said);

/* model.c */

// The model's time of all programs of a compiled job, into c->model.
void tn_model_job(const TnSpace *s, const struct Job *j, TnCandidate *c);

/* tune.c */

// The spaces of n sizes (NULL: one, as -p says), compiled, duplicates marked, in parts: the spaces
// are opened, and the compiler is at work on them, the first `urgent` before all others. NULL:
// there is nothing to compile. Then each to its end, in order. An exit status of each, after a
// message where it is not 0, but for a space of which nothing is left.
TnCompile *tn_prepare_start(const struct Options *o, const TnBindings *sizes, int n, int urgent,
                            struct TnDb *db, TnSpace *s, int *status);
void tn_prepare_end(TnCompile *c, TnSpace *s, int *status);
int tn_say_interrupted(const TnSpace *s); // the exit status of it
// What is said of a space that is prepared, and of one where nothing is left. Returns its status.
int tn_say_space(const TnSpace *s, int status);

/* progress.c */

bool tn_terminal(void); // is stderr one that takes the cursor back?

/* measure.c: --tune with a GPU; an exit status */

int tn_measure(const struct Options *o);

#endif
