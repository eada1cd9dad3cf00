// eval: runs the compile-time half of a module and traces its kernels into TILE-level programs.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_H
#define TLC_EVAL_H

#include "base/base.h"
#include "ir/ir.h"
#include "ir/target.h"

// A product of matrices for which a program asks tile sizes (tilelang.carver), and one answer.
typedef struct {
  int64_t m, n, k;
  const char *in, *out, *accum; // dtypes
  bool trans_a, trans_b;
} EvMatmul;

typedef struct {
  int block_m, block_n, block_k, stages;
  int warp_m, warp_n; // of the block's tile, what a warp computes
  int panel;          // T.use_swizzle; 0: none
  double us;          // predicted
} EvHint;

typedef struct {
  Arena *arena;
  Diags *diags; // its Sources hold the file, and get the modules that it imports
  uint32_t file;
  const Target *target;       // limits that errors speak of; NULL: sm_80
  const Map *bindings;        // -p: name -> text (const char *); NULL: none
  const Map *recorded;        // the same, for what they leave open; names that nothing has are fine
  const char *entry;          // --entry: a function, or "all"; NULL: the only one
  const char *name;           // --name: the C symbol; NULL: the outermost function's name
  const char *const *include; // -I, after the importing file's own folder
  int ninclude;
  // May T.Kernel ask for this value of the flag of that name? If not, `why`. NULL: any.
  bool (*hint_takes)(const char *name, int64_t value, Buf *why);
  // The best hints for a product, at most `most`; returns how many. NULL: there are none.
  int (*hints)(void *ctx, const EvMatmul *m, EvHint *out, int most);
  void *hints_ctx;
  bool configs; // evaluate the entries' tuning spaces too
  bool list;    // only say which entries there are: no kernel is evaluated
} EvOptions;

// One parameter of an entry: of the factory, or a T.const name of an eager kernel.
typedef struct {
  const char *name;
  const char *value; // as bound (given, else default) in the syntax of -p; NULL when there is none
  bool given;        // by -p
  bool missing;      // needed, and no value known
  Span span;
} EvParamInfo;

typedef struct {
  const char *name, *value; // value in the syntax of -p
} EvBinding;

typedef struct {
  VEC(EvBinding) bindings;
} EvConfig;

typedef struct {
  const char *name; // as --entry takes it
  Program *program; // NULL when its evaluation failed
  VEC(EvParamInfo) params;
  VEC(EvConfig) configs;   // the declared tuning space, in order; empty without EvOptions.configs
  bool spaced;             // one is declared, be it empty; false without EvOptions.configs
  Span spaced_at;          // where
  // Parameters without a value that kept its space from being known: "M, N"; NULL: none did.
  const char *wanting;
  const char *rtol, *atol; // declared beside it; NULL: not
  const char *warmup, *rep, *timeout; // launches, launches (or milliseconds), seconds
  const char *mismatch; // share of elements that may be beyond rtol and atol; NULL: not declared
  // The reference program, a module: a tuple of its parameters' names, assignments, and at last the
  // result. NULL: none is declared, or it does more than that.
  const char *reference;
  VEC(EvConfig) calls;        // what the file's own code calls it with; filled for EvOptions.list
  // Names of the function's own parameters; with EvOptions.list also those of the kernel in it that
  // a tuner has.
  VEC(const char *) operands;
  Span span;
} EvEntry;

typedef struct {
  VEC(Program *) programs;  // of the selected entries, in order of the file
  VEC(EvEntry) entries;     // the selected entries
  VEC(const char *) files;  // imported files that were read, as opened
  VEC(const char *) missed; // those that were looked for before, in vain
} EvResult;

// Parses and runs o->file. False when errors were reported; r then still holds what is known
// (entries with their parameters among it). Never aborts, whatever the input.
bool ev_compile(const EvOptions *o, EvResult *r);

/* vocab.c: the table of the T.* vocabulary, for documentation and completion */

typedef struct {
  const char *name, *signature, *meaning;
  bool supported;
} EvWord;

const EvWord *ev_word(int i); // NULL past the end

#endif
