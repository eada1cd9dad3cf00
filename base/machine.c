// What of the machine this process may use.
// SPDX-License-Identifier: MIT
#include "base/base.h"

#include <sched.h>
#include <unistd.h>

int processor_count(void) {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}
