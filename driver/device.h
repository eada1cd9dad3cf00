// Where --run and --bench run: the emulator, or a GPU through runtime/.
// SPDX-License-Identifier: MIT
#ifndef TLC_DRIVER_DEVICE_H
#define TLC_DRIVER_DEVICE_H

#include "driver/data.h"

// Compares every output in `got` with --expect or the oracle, and says so. An exit status.
int run_compare(Job *j, const Options *o, const RunData *d, const EmuArg *got);
// Runs the thread-level program over `args` in place, on --device; `seed`: the emulator's schedule.
// `where` names the device.
int device_run(Job *j, const Options *o, uint64_t seed, RunData *d, EmuArg *args, Buf *where);

// A loaded launcher and what it is called with.
typedef struct {
  RtGpu *gpu;
  RtKernel *kernel;
  RtArg *args; // parameters, then sizes
  int nargs;
} DeviceKernel;

// Builds the emitted text for this machine's GPU. An exit status after a message.
int device_load(Job *j, const Options *o, const RunData *d, EmuArg *args, DeviceKernel *out);
void device_free(DeviceKernel *k);
// Only builds it, so that what loads it later need not wait: for this machine's GPU or, without
// one, for the target's name. An exit status after a message.
int device_build(Job *j, const Options *o);

// The launcher's arguments: parameters as declared, symbolic sizes, the workspace (whose bytes the
// runtime asks for). Returns how many.
int device_args(Arena *a, const RunData *d, const EmuArg *args, RtArg **out);

/* product.c */

// What cublasLt would have to compute to do the same work. Found in the tile program: its only
// gemm, whose operands are tiles of two parameters, and one 2-D output. For measuring only.
typedef struct {
  int a, b, c; // parameters
  bool trans_a, trans_b;
} Product;

bool product_find(const Program *p, Product *out);
// M, N and K, by the shapes of its parameters a, b and c: where C holds the transpose, p becomes
// that product. False: they are not those of a product.
bool product_sizes(Product *p, const int64_t *a, const int64_t *b, const int64_t *c,
                   int64_t mnk[3]);
// Its sizes, and the operands' addresses where there is a call. C may be the product's transpose,
// where that is not square. False: the tensors' shapes are not those of a product.
bool product_gemm(const RunData *d, const RtCall *call, const Product *p, RtGemm *out);

#endif
