// codegen: THREAD-level IR to CUDA C++ text, the launcher, the C header and the manifest.
// SPDX-License-Identifier: MIT
#ifndef TLC_CODEGEN_H
#define TLC_CODEGEN_H

#include "ir/ir.h"
#include "ir/target.h"

enum { CG_ABI = 1, CG_MANIFEST_SCHEMA = 1 };

typedef struct {
  const Target *target;
  const char *out_name; // base name of the .cu, for the head comment and the header's include guard
  bool debug;           // -g: keep names and traps, emit #line
  bool lines;           // --line=tl
  const char *const *zero; // --zero names, NULL-terminated; NULL none
  bool zero_kernels;       // the program's own first kernels see to these
  uint64_t hash;           // of the evaluated kernel
  const Sources *sources;  // for "// gemm.tl:21" marks and #line; NULL: none
  const Program *source;   // the same program at TILE level, for the shapes of its tensors; NULL: p
  const char *api; // this program is one of those among which the launcher of this symbol chooses;
                   // NULL: its own symbol is the launcher
  const Target *const *targets; // of the file, oldest first, NULL-terminated; NULL: target alone
} CgOptions;

/* module.c: several programs of one file (--entry all) share one text; options go with programs.
   Programs of one `api` follow one another, oldest target first.
   Byte for byte a function of its arguments. */

void cg_cuda(const Program *p, const CgOptions *o, Buf *out); // the whole .cu
void cg_cuda_all(const Program *const *p, const CgOptions *o, int n, Buf *out);

/* header.c */

void cg_header(const Program *p, const CgOptions *o, Buf *out); // accepted by C and C++
void cg_header_all(const Program *const *p, const CgOptions *o, int n, Buf *out);

/* manifest.c: one JSON object; "kernels" holds one entry a program */

void cg_manifest(const Program *p, const CgOptions *o, Buf *out);
void cg_manifest_all(const Program *const *p, const CgOptions *o, int n, Buf *out);

/* numbers.c: one build for several sizes */

// A number of an emitted text that a build may as well take at run time. Exact: with the same
// machine code but for it: the length of a long loop, what its variable is compared with, what a
// variable is more than another, an argument in the launcher. Others cost or save some registers
// and instructions: factors of addresses, lengths of loops that nvcc unrolls as a whole.
typedef struct {
  size_t at, len; // in the text
  int64_t value;
  int kernel; // whose body it is in; -1: the launcher's
  bool exact;
} CgNumber;

typedef struct {
  VEC(CgNumber) list; // in the text's order
} CgNumbers;

// Of a text of cg_cuda for one program, of this symbol.
void cg_numbers(Arena *a, const char *text, const char *symbol, CgNumbers *out);
// The text that takes numbers of slot[i] >= 0 (of `slots`) as arguments, which
// `void tlc_take_numbers(const int64_t *)` gives to later calls of the launcher.
void cg_numbers_text(const char *text, const char *symbol, const CgNumbers *numbers,
                     const int *slot, int slots, Buf *out);

/* prelude.c */

// The host prelude: what g++ -std=c++17 -DTLC_HOST='"FILE"' needs to compile and run an emitted
// .cu.
void cg_host_prelude(Buf *out);

#endif
