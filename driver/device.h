// Where --run and --bench run: the emulator, or a GPU through runtime/.
// SPDX-License-Identifier: MIT
#ifndef TLC_DRIVER_DEVICE_H
#define TLC_DRIVER_DEVICE_H

#include "driver/data.h"

double run_seconds(void); // a monotonic clock
// Compares every output in `got` with --expect or the oracle, and says so. An exit status.
int run_compare(Job *j, const Options *o, const RunData *d, const EmuArg *got);
// Runs the thread-level program over `args` in place, on --device. `where` names the device.
int device_run(Job *j, const Options *o, const RunData *d, EmuArg *args, Buf *where);

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

#endif
