// emu: runs IR on the CPU. The oracle runs TILE-level programs in the obvious way; the emulator
// runs THREAD-level programs as a GPU would, and checks them.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_H
#define TLC_EMU_H

#include "ir/ir.h"
#include "ir/target.h"

// One argument of a program, in the order of Program.params. Sub-byte types are packed, low nibble
// first. The caller owns the memory.
typedef struct {
  void *data;       // tensors: row-major elements of the buffer's dtype (strided: as laid out)
  size_t bytes;     // size of data, checked against the shape
  int64_t i;        // scalar parameters of integer or bool type
  double f;         // scalar parameters of float type
  float *bound;     // oracle, output tensors of float type, optional: per element, the absolute
                    // error allowed: 2 ulp of the output type plus eps(acc) * n * sum |terms|
  uint8_t *written; // optional, one byte an element: set to 1 where the program wrote
} EmuArg;

typedef struct {
  const int64_t *sizes; // values of Program.sizes, in order
  EmuArg *args;         // one per Program.params entry
  bool wgmma;           // the bounds are for a device that multiplies 8-bit floats by wgmma
} EmuCall;

/* oracle.c */

// Runs a TILE-level program (as written, or after any tile-level pass): kernels in order, blocks in
// order; scalar statements in lockstep over the block's threads where they depend on the thread.
// False after reporting on d (out-of-bounds shared access, division by zero, ...).
bool oracle_run(const Program *p, const EmuCall *call, Diags *d);
// The same for some blocks only: `blocks` linear indices (x fastest) of kernel 0.
bool oracle_run_blocks(const Program *p, const EmuCall *call, const int64_t *blocks, int n,
                       Diags *d);

/* emulator.c */

enum { EMU_SMS = 4 }; // few, so that blocks of persistent kernels have several tiles

typedef struct {
  uint64_t seed;      // warp schedule
  bool no_checks;     // values only: faster
  int max_reports;    // 0: 20
  uint64_t max_steps; // 0: no limit; else stop with a report (runaway loops)
  int sms;            // blocks of a persistent kernel; 0: EMU_SMS
} EmuOptions;

typedef struct {
  int errors;               // reports made
  uint64_t shared_accesses; // warp-level shared accesses (ldmatrix counts 1 per 8x8 matrix)
  uint64_t bank_conflicts;  // extra shared cycles beyond the minimum for the bytes moved
  uint64_t global_sectors;  // 32-byte sectors touched by warp-level global accesses
  uint64_t global_min;      // sectors that the bytes would need if perfectly packed
  uint64_t mma;             // warp-level mma instructions
  uint64_t barriers;        // block barriers, each once a block
  uint64_t steps;           // warp-level statements executed
} EmuReport;

// Runs a THREAD-level program on every block. Problems (races, reads in flight, unwritten reads,
// out of bounds, misaligned, divergent barriers, deadlock) are reported on d with the statement's
// span. False when any was reported.
bool emu_run(const Program *p, const EmuCall *call, const Target *t, const EmuOptions *o,
             EmuReport *report, Diags *d);

#endif
