// --tune: from a space to a ranking.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/internal.h"
#include "tuner/pool.h"

enum { TOP_NO_RUN = 20 };

typedef struct {
  const char *what;
} Progress;

static void show(void *ctx, int done, int of) {
  Progress *p = ctx;
  if (!isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\r%s %d of %d", p->what, done, of);
  if (done == of) fputs("\r\033[K", stderr);
  fflush(stderr);
}

static void say_counts(const TnSpace *s) {
  int n[TN_STATES] = {0};
  for (int i = 0; i < s->all.len; i++) n[s->all.data[i].state]++;
  printf(
      "%s on %s, space from %s: %d candidates, %d pruned, %d the same code as another, %d left\n",
      s->entry, s->target->name, s->from, s->all.len, n[TN_PRUNED], n[TN_DUPLICATE],
      n[TN_QUEUED] + n[TN_BUILT] + n[TN_MEASURED]);
}

static int nothing_left(const TnSpace *s) {
  fprintf(stderr, "tlc: --tune: no candidate of %s can be built\n", s->entry);
  tn_failures(s, stderr);
  return EXIT_WRONG_PROGRAM;
}

int tn_prepare(const Options *o, const TnBindings *sizes, TnSpace *s) {
  TnFigures figures;
  int status = tn_space(o->arena, o, sizes, s);
  if (status) return status;
  if (!tn_figures(s->target, o->tune.figures, &figures)) return EXIT_USAGE;
  if (s->locked && s->all.len == 1 && !s->all.data[0].bindings.len && !s->all.data[0].flags.len)
    fprintf(stderr, "tlc: --tune: -p gives every tuned parameter: nothing is searched\n");
  Progress p = {"compiling"};
  tn_compile_all(s, tn_pool_jobs(o->tune.jobs), show, &p);
  int *order = NEWN(o->arena, int, s->all.len + 1);
  if (!tn_rank(s, order)) return nothing_left(s);
  say_counts(s);
  return EXIT_OK;
}

int tn_tune(const Options *o) {
  if (!o->tune.no_run) return tn_measure(o);
  TnSpace s;
  int status = tn_prepare(o, NULL, &s);
  if (status) return status;
  tn_failures(&s, stdout);
  tn_table(&s, o->tune.topk < 0 ? TOP_NO_RUN : o->tune.topk, stdout);
  return EXIT_OK;
}
