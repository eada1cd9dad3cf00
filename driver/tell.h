// What --run says of its outputs: a line of text each, or members of one JSON object (--json).
// SPDX-License-Identifier: MIT
#ifndef TLC_DRIVER_TELL_H
#define TLC_DRIVER_TELL_H

#include "driver/data.h"

typedef struct {
  bool json;
  Buf outputs; // JSON objects so far, with commas between
} Tell;

// verdict: "passed", "failed" or "not compared"; text: how near it is, or why it was not compared.
void tell_output(Tell *t, const char *name, const char *against, const char *verdict,
                 const char *text);
// The whole object; blocks < 0: every one of the grid was checked.
void tell_run(const Tell *t, const RunData *d, const char *where, double seconds, int64_t blocks,
              int64_t of, bool passed);

#endif
