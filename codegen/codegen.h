// codegen: THREAD-level IR to CUDA C++ text, the launcher, the C header and the manifest.
// SPDX-License-Identifier: MIT
#ifndef TLC_CODEGEN_H
#define TLC_CODEGEN_H

#include "ir/ir.h"
#include "ir/target.h"

typedef struct {
  const Target *target;
  const char *out_name; // base name of the .cu, for the head comment and the header's include guard
  bool debug;           // -g: keep names and traps, emit #line
  bool lines;           // --line=tl
  const char *const *zero; // --zero names, NULL-terminated; NULL none
  uint64_t hash;        // of the evaluated kernel
} CgOptions;

void cg_cuda(const Program *p, const CgOptions *o, Buf *out);     // the whole .cu
void cg_header(const Program *p, const CgOptions *o, Buf *out);   // accepted by C and C++
void cg_manifest(const Program *p, const CgOptions *o, Buf *out); // JSON

#endif
