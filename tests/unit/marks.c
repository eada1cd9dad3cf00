// Check notes each assertion that held, by a write to a file, to say where a crash came after. Here
// only the first of each line is noted: loops over millions of them spent their time on that.
// SPDX-License-Identifier: MIT
#include <stdbool.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line); // the linker's --wrap

void __wrap__mark_point(const char *file, int line) {
  static bool noted[1 << 12]; // tests run each in a process of its own
  if (noted[line & ((1 << 12) - 1)]) return;
  noted[line & ((1 << 12) - 1)] = true;
  __real__mark_point(file, line);
}
