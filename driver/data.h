// Argument data of one run: sizes, arrays for every parameter, filled or read from files.
// SPDX-License-Identifier: MIT
#ifndef TLC_DRIVER_DATA_H
#define TLC_DRIVER_DATA_H

#include "driver/driver.h"
#include "runtime/runtime.h"

// `program` is the TILE-level one: its tensors have the shapes that were declared.
typedef struct {
  const Program *program;
  int64_t *sizes;    // values of Program.sizes
  int64_t *scalar_i; // per parameter
  double *scalar_f;
  RtArray *array; // per parameter; data NULL for scalars
  size_t *bytes;
  bool *zeroed;      // per parameter: named by --zero; poison unless --in gives something
  bool zero_kernels; // which the program's own kernels see to, else whoever runs it
  bool wgmma;        // for EmuCall.wgmma, by whoever runs it on a GPU
} RunData;

// Value of an index expression over sizes and scalar parameters.
int64_t data_index(const RunData *d, Expr *x);
// Sizes from -p and --in, arrays from --in or by seed. EXIT_OK, or an exit status after a message.
int data_make(RunData *d, const Program *p, const Options *o);
// Do the sizes and scalars keep what the launcher checks? Reports each fact that does not hold.
bool data_check(const RunData *d, const Program *lowered, Diags *diags);
// A tensor at `at`, laid out as declared, in row-major order.
void *data_rows(const RunData *d, Arena *a, int i, const void *at);
// A copy of the arrays' data, in the form the oracle and the emulator take. With `bounds`, for the
// oracle, outputs of float type get a bound array, and inputs are the arrays themselves; `written`
// arrays are made for outputs. What --zero names is zero, but for a program that sees to it.
EmuArg *data_args(const RunData *d, Arena *a, bool bounds);
RtType data_type(DType t);
bool data_is_output(const Program *p, int i);

/* sample.c */

enum { SAMPLE_SECONDS = 10, BENCH_SAMPLE_SECONDS = 1 }; // where none is measured meanwhile

int64_t sample_grid(const RunData *d, const Kernel *k); // blocks of a kernel's grid

typedef struct {
  int64_t *block;  // by number; NULL: all
  int n, together; // so many, one after the other, write the same elements, and no others do
} Sample;
// Picks blocks of kernel 0 by the seed where the oracle would take over `limit` seconds for all,
// and it is known which of them write the same elements: all those, by sums of tiles.
Sample sample_choose(const RunData *d, uint64_t seed, double limit, Arena *a);

#endif
