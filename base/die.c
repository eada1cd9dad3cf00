// The two ways out that are not the user's program's fault.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *tlc_version = "0.1.0";

NORETURN void die_at(const char *file, int line, const char *fmt, ...) {
  va_list ap;
  fflush(stdout);
  fprintf(stderr, "tlc %s: internal error at %s:%d: ", tlc_version, file, line);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fprintf(stderr, "\ntlc: this is a bug in tlc; please report it with the input file\n");
  exit(70);
}

NORETURN void fatal(const char *fmt, ...) {
  int saved = errno;
  va_list ap;
  fflush(stdout);
  fprintf(stderr, "tlc: ");
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  size_t n = strlen(fmt);
  if (n && fmt[n - 1] == ':') fprintf(stderr, " %s", strerror(saved));
  fputc('\n', stderr);
  exit(3);
}
