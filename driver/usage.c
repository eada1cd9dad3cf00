// Which options go with what is done: one that would be ignored is an error.
// SPDX-License-Identifier: MIT
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define IN(mode) (1u << (mode))

// Modes that an option has a meaning in; options that are not here go with all.
static const struct {
  const char *name;
  unsigned modes;
} meanings[] = {
    {"--no-run", IN(MODE_TUNE) | IN(MODE_BENCH)},
    {"--space", IN(MODE_TUNE)},
    {"--configs", IN(MODE_TUNE)},
    {"--space-flags", IN(MODE_TUNE)},
    {"--roller", IN(MODE_TUNE)},
    {"--topk", IN(MODE_TUNE)},
    {"--gpu", IN(MODE_TUNE) | IN(MODE_CONFIGS)}, // hints in a configuration function
    {"--jobs", IN(MODE_TUNE) | IN(MODE_CONFIGS)},
    {"-j", IN(MODE_TUNE) | IN(MODE_CONFIGS)},
    {"--tune-timeout", IN(MODE_TUNE)},
    {"--warmup", IN(MODE_TUNE)},
    {"--rep", IN(MODE_TUNE)},
    {"--rounds", IN(MODE_BENCH)},
    {"--finalists", IN(MODE_TUNE)},
    {"--sweep", IN(MODE_TUNE)},
    {"--save", IN(MODE_TUNE)},
    {"--report", IN(MODE_TUNE)},
    {"--no-cache", IN(MODE_TUNE)},
    {"--clear-cache", IN(MODE_TUNE)},
    {"--cache-limit", IN(MODE_TUNE)},
    {"--tuned", IN(MODE_EMIT) | IN(MODE_RUN) | IN(MODE_BENCH)},
    {"--strict", IN(MODE_EMIT) | IN(MODE_RUN) | IN(MODE_BENCH)},
    {"--emit", ~IN(MODE_TUNE)},
    {"--header", ~IN(MODE_TUNE)},
    {"--manifest", ~IN(MODE_TUNE)},
    {"-MD", ~IN(MODE_TUNE)},
    {"-MF", ~IN(MODE_TUNE)},
    {"-MT", ~IN(MODE_TUNE)},
    {"--device", ~IN(MODE_TUNE)},
    {"--out", ~IN(MODE_TUNE)},
    {"--expect", ~IN(MODE_TUNE)},
    {"--remarks", ~IN(MODE_TUNE)},
    {"-d", ~IN(MODE_TUNE)},
    {"--time-passes", ~IN(MODE_TUNE)},
    {"--emu-seed", ~IN(MODE_TUNE)},
};

// What decides about a search's runs alone.
static const char *const of_runs[] = {
    "--in", "--seed", "--integers", "--rtol", "--atol", "--warmup", "--rep", "--finalists", "--l2",
};

static const char *const modes[] = {
    [MODE_RUN] = "--run",       [MODE_BENCH] = "--bench", [MODE_CONFIGS] = "--list-configs",
    [MODE_SURVEY] = "--survey", [MODE_TUNE] = "--tune",
};

void opt_usage(const char *fmt, ...) {
  va_list ap;
  fputs("tlc: ", stderr);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputs("\nTry 'tlc --help'.\n", stderr);
  exit(EXIT_USAGE);
}

static void check_meaning(const Options *o, const char *given) {
  for (size_t i = 0; i < LEN(meanings); i++) {
    if (strcmp(meanings[i].name, given) || meanings[i].modes & IN(o->mode)) continue;
    if (o->mode != MODE_EMIT) opt_usage("%s has no meaning with %s", given, modes[o->mode]);
    bool tunes = meanings[i].modes & IN(MODE_TUNE); // all others have a meaning in a build
    opt_usage("%s goes with %s", given, modes[tunes ? MODE_TUNE : MODE_BENCH]);
  }
}

static void check_ranking(const char *given) {
  for (size_t i = 0; i < LEN(of_runs); i++)
    if (!strcmp(of_runs[i], given)) opt_usage("%s has no meaning with --tune --no-run", given);
}

static void check_pair(const char *const *given, int n, const char *a, const char *b) {
  bool has[2] = {false, false};
  for (int i = 0; i < n; i++) {
    has[0] |= !strcmp(given[i], a);
    has[1] |= !strcmp(given[i], b);
  }
  if (has[0] && has[1]) opt_usage("%s and %s exclude each other", a, b);
}

typedef struct {
  const char *option, *path; // path NULL: it is not given
  bool read;                 // else written
} NamedFile;

// By whatever names; a device takes more than one text.
static bool is_same_file(const char *a, const char *b) {
  struct stat x, y;
  bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
  if (!has_a || !has_b) return !has_a && !has_b && !strcmp(a, b);
  return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// What is written would be lost, or what is read.
static void check_files(const Options *o) {
  const NamedFile list[] = {{"the program", o->input, true},
                            {"--tuned", o->tune.tuned, true},
                            {"--configs", o->tune.configs, true},
                            {"-o", o->output, false},
                            {"--header", o->header, false},
                            {"--manifest", o->manifest, false},
                            {"-MF", o->dep_file, false},
                            {"--save", o->tune.save, false},
                            {"--report", o->tune.report, false}};
  for (size_t i = 0; i < LEN(list); i++)
    for (size_t k = 0; k < i && list[i].path && !list[i].read; k++)
      if (list[k].path && strcmp(list[i].path, "-") && is_same_file(list[i].path, list[k].path))
        opt_usage("%s and %s are one file: %s", list[k].option, list[i].option, list[i].path);
}

void opt_check(const Options *o, const char *const *given, int n) {
  static const char *const pairs[][2] = {
      {"--space", "--configs"},        {"--space", "--roller"}, {"--configs", "--roller"},
      {"--space-flags", "--roller"},   {"--sweep", "--no-run"}, {"--clear-cache", "--no-cache"},
      {"--cache-limit", "--no-cache"},
  };
  for (size_t a = 0; a < LEN(modes); a++)
    for (size_t b = a + 1; b < LEN(modes); b++)
      if (modes[a] && modes[b]) check_pair(given, n, modes[a], modes[b]);
  for (int i = 0; i < n; i++) check_meaning(o, given[i]);
  for (int i = 0; i < n && o->mode == MODE_TUNE && o->tune.no_run; i++) check_ranking(given[i]);
  for (size_t i = 0; i < LEN(pairs); i++) check_pair(given, n, pairs[i][0], pairs[i][1]);
  size_t n_input = strlen(o->input);
  bool is_ir = n_input > 4 && !strcmp(o->input + n_input - 4, ".tir");
  const char *open = o->tune.tuned ? "--tuned" : o->mode == MODE_TUNE ? "--tune" : "--list-configs";
  if (is_ir && (o->tune.tuned || o->mode == MODE_TUNE || o->mode == MODE_CONFIGS))
    opt_usage("%s %s: printed IR has no open parameters; name the program", open, o->input);
  check_files(o);
  if (o->tune.strict && !o->tune.tuned) opt_usage("--strict is of --tuned FILE");
  if (o->mode == MODE_TUNE && o->output && !strcmp(o->output, "-"))
    opt_usage("-o -: the ranking is on stdout: name a file");
  if (o->mode == MODE_TUNE && o->entry && !strcmp(o->entry, "all"))
    opt_usage("--entry all: a search is of one kernel: name it");
}
