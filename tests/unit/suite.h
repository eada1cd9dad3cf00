// The end of a Check program.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_SUITE_H
#define TLC_TESTS_SUITE_H

#include <check.h>

// Runs all tests of a suite, as verbosely as CK_VERBOSITY says; the exit status.
static inline int suite_run(Suite *s) {
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}

#endif
