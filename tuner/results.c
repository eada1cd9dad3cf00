// What a search found, on stdout and as a .cu.
// SPDX-License-Identifier: MIT
#include "tuner/results.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const TnCandidate *tn_best(const TnResult *r) {
  return r->found.best < 0 ? NULL : &r->space->all.data[r->found.best];
}

int tn_count_shared(const TnResult *r) {
  int n = 0;
  for (int i = 0; i < r->space->all.len; i++) n += r->space->all.data[i].by_shared;
  return n;
}

double tn_best_us(const TnCandidate *c) {
  if (c->final_us > 0) return c->final_us;
  return c->state == TN_MEASURED ? c->median_us : c->model.us;
}

static double tflops(const TnCandidate *c, double us) {
  return us > 0 ? c->model.flops / us * 1e-6 : 0;
}

static void put_value(Buf *out, const char *s) {
  char *end;
  (void)strtod(s, &end);
  bool bare = (*s && !*end) || !strcmp(s, "True") || !strcmp(s, "False") || !strcmp(s, "None") ||
              strchr("[({\"'", *s);
  buf_printf(out, bare ? "%s" : "'%s'", s);
}

void tn_put_config(const TnCandidate *c, Buf *out) {
  size_t before = out->len;
  buf_putc(out, '{');
  for (int i = 0; i < c->bindings.len; i++) {
    buf_printf(out, "%s'%s': ", i ? ", " : "", c->bindings.data[i].name);
    put_value(out, c->bindings.data[i].value);
  }
  buf_putc(out, '}');
  for (int i = 0; i < c->flags.len; i++)
    buf_printf(out, " -f%s=%s", c->flags.data[i].name, c->flags.data[i].value);
  tn_tame(out, before);
}

static void print_finalists(const TnResult *r) {
  const TnSpace *s = r->space;
  int n = 0;
  for (int i = 0; i < s->all.len; i++) n += s->all.data[i].final_us > 0;
  if (!n) return;
  printf("final round, in turns (median and its 95 %% interval, ms):\n");
  int *order = NEWN(s->arena, int, s->all.len + 1), ranked = tn_rank(s, order);
  for (int i = 0; i < ranked; i++) {
    const TnCandidate *c = &s->all.data[order[i]];
    if (!(c->final_us > 0)) continue;
    Buf text = {0};
    tn_label(c, &text);
    printf("  %8.4f  [%.4f, %.4f]  %s\n", 1e-3 * c->final_us, 1e-3 * c->final_lo,
           1e-3 * c->final_hi, buf_str(&text));
    buf_free(&text);
  }
}

// Where the wall time went.
static void print_time(const TnFound *f, const char *of) {
  double own = f->seconds - f->waited_s, over = tn_overhead(f);
  printf("%s%.1f s: %.1f s for nvcc alone, kernels %.1f s, ", of, f->seconds, f->nvcc_s,
         f->spent.kernel);
  if (f->spent.rest > 0) printf("rests %.1f s, ", f->spent.rest);
  printf("overhead %.1f s (%.1f %%)", over, own > 0 ? 100 * over / own : 0);
  if (f->waited_s > 0) printf(", another tuner had the GPU for %.1f s", f->waited_s);
  putchar('\n');
}

void tn_print_result(const TnResult *r) {
  const TnCandidate *c = tn_best(r);
  const TnFound *f = &r->found;
  print_finalists(r);
  printf("%d candidates on %s: %d tried now, %d from the cache; %d failed\n", f->tried + f->cached,
         r->gpu ? r->gpu : "no GPU", f->tried, f->cached, f->failed);
  print_time(f, "");
  int shared = tn_count_shared(r);
  if (shared)
    printf(
        "nvcc built %d; %d were measured by a build that sizes share, the final round is of builds "
        "of their own\n",
        f->builds, shared);
  if (!c) return;
  double us = tn_best_us(c);
  Buf text = {0};
  tn_put_config(c, &text);
  printf("Best latency (ms): %.4f\n", 1e-3 * us);
  if (c->model.flops > 0) printf("Best TFlops: %.3f\n", tflops(c, us));
  printf("Best config: %s\n", buf_str(&text));
  if (f->reference_us > 0) {
    printf("Reference latency (ms): %.4f (cuBLAS)\n", 1e-3 * f->reference_us);
    if (c->model.flops > 0) printf("Reference TFlops: %.3f\n", tflops(c, f->reference_us));
  } else if (r->space->reference) {
    printf("Reference latency (ms): not measured: cuBLAS takes its place, for products\n");
  }
  buf_free(&text);
}

static void print_sums(const TnResults *list) {
  int builds = 0, shared = 0, known = 0;
  TnFound all = {0};
  for (int i = 0; i < list->len; i++) {
    const TnFound *f = &list->data[i].found;
    all.seconds += f->seconds;
    all.nvcc_s += f->nvcc_s;
    all.waited_s += f->waited_s;
    all.spent.kernel += f->spent.kernel;
    all.spent.rest += f->spent.rest;
    builds += f->builds;
    shared += tn_count_shared(&list->data[i]);
    known += f->tried + f->cached;
  }
  printf("nvcc built %d for %d candidates: %d of these shared a build with other sizes\n", builds,
         known, shared);
  print_time(&all, "all: ");
}

void tn_print_sweep(const TnResults *list, const char *name) {
  printf("\n%8s  latency (ms)    TFlops  cuBLAS TFlops  config\n", name);
  for (int i = 0; i < list->len; i++) {
    const TnResult *r = &list->data[i];
    const TnCandidate *c = tn_best(r);
    if (!c) {
      printf("%8s  no candidate could be measured\n", r->swept);
      continue;
    }
    double us = tn_best_us(c);
    Buf text = {0};
    tn_put_config(c, &text);
    printf("%8s  %12.4f  %8.1f", r->swept, 1e-3 * us, tflops(c, us));
    if (r->found.reference_us > 0) printf("  %13.1f", tflops(c, r->found.reference_us));
    else printf("  %13s", "-");
    printf("  %s\n", buf_str(&text));
    buf_free(&text);
  }
  print_sums(list);
}

int tn_write_winner(const TnResult *r, const char *path) {
  const TnCandidate *c = tn_best(r);
  Arena *a = arena_new();
  Job j;
  TnCandidate again = *c; // with this output's name in its head
  bool ok = tn_compile(a, r->space, &again, &j) && !memcmp(again.sha, c->sha, sizeof c->sha);
  int status = EXIT_OK;
  if (!ok) { // the file is another by now
    fprintf(stderr, "tlc: %s has changed since the search began: nothing is written to %s\n",
            r->space->options->input, path);
    status = EXIT_WRONG_PROGRAM;
  } else if (!strcmp(path, "-")) {
    fwrite(again.text, 1, again.len, stdout);
  } else if (file_write(path, again.text, again.len)) {
    fprintf(stderr, "tlc: cannot write %s: %s\n", path, strerror(errno));
    status = EXIT_MACHINE;
  }
  arena_free(a);
  return status;
}
