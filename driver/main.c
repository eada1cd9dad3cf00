// main: options, one job, its messages, its exit status.
// SPDX-License-Identifier: MIT
#include "driver/driver.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

static bool use_color(const char *when) {
  return !strcmp(when, "always") || (!strcmp(when, "auto") && isatty(STDERR_FILENO));
}

// Arenas come and go with the passes: what one gives back the next one asks for.
static void keep_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  mallopt(M_TOP_PAD, 1 << 20);
}

int main(int argc, char **argv) {
  keep_memory();
  Arena *arena = arena_new();
  Options o = {.arena = arena};
  int status = opt_parse(&o, argc, argv);
  if (status < 0) {
    Job j = {.arena = arena, .sources = src_new(arena)};
    DiagOptions d = {.format = o.diag_format,
                     .color = use_color(o.color),
                     .werror = o.werror,
                     .max_errors = o.max_errors,
                     .remarks = o.remarks};
    j.diags = diag_new(arena, j.sources, d);
    if (o.mode == MODE_TUNE) {
      status = o.tune.runner ? tn_runner(&o) : tn_tune(&o);
    } else if (o.mode == MODE_SURVEY) {
      status = drv_survey(&o);
    } else if (!job_open(&j, &o)) {
      fprintf(stderr, "tlc: cannot read %s: %s\n", o.input, strerror(errno));
      status = EXIT_USAGE;
    } else if (!o.tune.tuned || !(status = tn_use(&o, &j))) {
      status = o.mode == MODE_RUN       ? drv_run(&j, &o)
               : o.mode == MODE_BENCH   ? drv_bench(&j, &o)
               : o.mode == MODE_CONFIGS ? drv_configs(&j, &o)
                                        : drv_emit(&j, &o);
      diag_flush(j.diags, stderr);
      if (diag_errors(j.diags) && !status) status = EXIT_WRONG_PROGRAM;
    }
  }
  if (fflush(stdout) || ferror(stdout)) {
    fprintf(stderr, "tlc: stdout does not take all of it: %s\n", strerror(errno));
    if (!status) status = EXIT_MACHINE;
  }
  arena_free(arena);
  return status;
}
