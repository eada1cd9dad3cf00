// Figures of GPUs, by name or one by one.
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

static const TnFigures gpus[] = {
#define GPU(name, target, ...) {name, target, __VA_ARGS__},
#include "tuner/gpus.def"
#undef GPU
};

static const struct {
  const char *name;
  size_t at;
} figures[] = {
#define FIGURE(member, meaning) {#member, offsetof(TnFigures, member)},
#include "tuner/figures.def"
#undef FIGURE
};

static bool set_figure(TnFigures *f, const char *name, const char *value) {
  for (size_t i = 0; i < LEN(figures); i++) {
    char *end;
    if (strcmp(figures[i].name, name)) continue;
    double v = strtod(value, &end);
    if (end == value || *end || !(v > 0) || !isfinite(v)) {
      fprintf(stderr, "tlc: --gpu: %s wants a number above 0, got '%s'\n", name, value);
      return false;
    }
    *(double *)((char *)f + figures[i].at) = v;
    return true;
  }
  fprintf(stderr, "tlc: --gpu: '%s' is none of", name);
  for (size_t i = 0; i < LEN(figures); i++) fprintf(stderr, "%s %s", i ? "," : "", figures[i].name);
  fputc('\n', stderr);
  return false;
}

static bool set_gpu(TnFigures *f, const char *name) {
  for (size_t i = 0; i < LEN(gpus); i++) {
    if (strcasecmp(gpus[i].name, name)) continue;
    *f = gpus[i];
    return true;
  }
  fprintf(stderr, "tlc: --gpu: '%s' is none of", name);
  for (size_t i = 0; i < LEN(gpus); i++) fprintf(stderr, "%s %s", i ? "," : "", gpus[i].name);
  fputs("; a figure is NAME=VALUE\n", stderr);
  return false;
}

bool tn_figures(const Target *t, const char *text, TnFigures *out) {
  *out = gpus[0];
  for (size_t i = LEN(gpus); i-- > 0;) {
    if (!strcmp(gpus[i].target, t->name)) *out = gpus[i];
  }
  Arena *a = arena_new();
  const char *rest = text, *item;
  bool ok = true;
  if (text) tn_check_list(a, "--gpu", text, ',');
  for (int i = 0; ok && rest && (item = tn_next_value(a, &rest, ',')); i++) {
    const char *eq = strchr(item, '=');
    ok = eq || !i;
    if (!ok)
      fprintf(stderr, "tlc: --gpu: '%s' would undo what is before it: it comes first\n", item);
    else if (!eq) ok = set_gpu(out, item);
    else ok = set_figure(out, arena_strn(a, item, (size_t)(eq - item)), eq + 1);
  }
  arena_free(a);
  return ok;
}
