// --survey: for each kernel under a folder, whether it compiles to tile IR, or what keeps it.
// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/driver.h"
#include "driver/params.h"
#include "eval/eval.h"

enum { MAX_SETS = 4, MAX_DEPTH = 40 };

typedef VEC(const char *) Paths;

typedef struct {
  const Options *o;
  const Params *params; // NULL: none
  int kernels, ok;
} Survey;

/* ------------------------------------------------------------------ files */

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_program(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && (!strcmp(dot, ".py") || !strcmp(dot, ".tl"));
}

static void find_files(Arena *a, const char *path, Paths *out, int depth) {
  struct stat st;
  if (depth > MAX_DEPTH || lstat(path, &st)) return;
  if (!S_ISDIR(st.st_mode)) {
    if (is_program(path) || !depth) vec_push(a, out, path);
    return;
  }
  DIR *d = opendir(path);
  if (!d) return;
  Paths names = {0};
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] != '.') vec_push(a, &names, arena_printf(a, "%s/%s", path, e->d_name));
  }
  closedir(d);
  if (names.len) qsort(names.data, (size_t)names.len, sizeof *names.data, by_name);
  for (int i = 0; i < names.len; i++) find_files(a, names.data[i], out, depth + 1);
}

/* ------------------------------------------------------------------ one kernel */

typedef struct {
  const char *status; // "OK", or what is wrong
  const char *at;     // "file:line:column" of that, or NULL
  bool reached;
} Outcome;

static const char *place_text(Arena *a, const Sources *s, Span at) {
  int line, column;
  if (!at.file) return NULL;
  src_place(s, at.file, at.lo, &line, &column);
  return arena_printf(a, "%s:%d:%d", src_get(s, at.file)->path, line, column);
}

static bool open_job(Job *j, const Options *o, Arena *a, const char *path) {
  *j = (Job){.arena = a, .sources = src_new(a)};
  j->diags = diag_new(a, j->sources, (DiagOptions){0});
  Options one = *o;
  one.input = path;
  job_target(j, o);
  return job_open(j, &one);
}

static Outcome evaluate(const Survey *s, Arena *a, const char *path, const char *name, Map *set) {
  Job j;
  if (!open_job(&j, s->o, a, path)) return (Outcome){strerror(errno), NULL, false};
  EvOptions e = job_eval(&j, s->o);
  EvResult r = {0};
  e.entry = name;
  e.recorded = set;
  e.name = "kernel"; // the launcher's own name is no matter here
  bool ok = ev_compile(&e, &r);
  Span at = NO_SPAN;
  const char *text = diag_first(j.diags, &at);
  if (ok && r.programs.len) return (Outcome){"OK", NULL, true};
  Buf missing = {0};
  for (int i = 0; r.entries.len && i < r.entries.data[0].params.len; i++) {
    const EvParamInfo *p = &r.entries.data[0].params.data[i];
    if (p->missing) buf_printf(&missing, "%s%s", missing.len ? ", " : "needs values: ", p->name);
  }
  Outcome out = {text ? text : "nothing was evaluated", place_text(a, j.sources, at), false};
  if (missing.len) out = (Outcome){arena_str(a, buf_str(&missing)), NULL, false};
  buf_free(&missing);
  return out;
}

static void add_config(Map *to, const EvConfig *c) {
  for (int i = 0; i < c->bindings.len; i++) {
    if (!map_has(to, c->bindings.data[i].name))
      map_set(to, c->bindings.data[i].name, (void *)(uintptr_t)c->bindings.data[i].value);
  }
}

// With each of the recorded sets of values, else with what the file's own code calls it with.
static Outcome survey_entry(const Survey *s, Arena *a, const char *path, const EvEntry *e) {
  int recorded = s->params ? params_count(s->params, path, e->name) : 0;
  int n = recorded ? recorded : e->calls.len;
  Outcome out = {0};
  for (int i = 0; i < (n > MAX_SETS ? MAX_SETS : n ? n : 1); i++) {
    Map *set = map_new(a);
    if (recorded) params_bind(s->params, path, e->name, i, set);
    else if (n) add_config(set, &e->calls.data[i]);
    if (e->configs.len) add_config(set, &e->configs.data[0]);
    Outcome one = evaluate(s, a, path, e->name, set);
    if (!i || !one.reached) out = one;
    if (!one.reached) break;
  }
  return out;
}

/* ------------------------------------------------------------------ reports */

static void report(Survey *s, const char *path, int line, const char *name, const Outcome *o) {
  s->kernels++;
  s->ok += o->reached;
  printf("%s:%d %s: %s", path, line, name, o->status);
  if (o->at) printf(" (%s)", o->at);
  putchar('\n');
}

static void survey_file(Survey *s, const char *path) {
  Arena *a = arena_new();
  Job j;
  EvResult r = {0};
  if (!open_job(&j, s->o, a, path)) {
    report(s, path, 0, "(file)", &(Outcome){strerror(errno), NULL, false});
  } else {
    EvOptions e = job_eval(&j, s->o);
    e.configs = e.list = true;
    bool parsed = ev_compile(&e, &r) || r.entries.len;
    Span at = NO_SPAN;
    const char *text = diag_first(j.diags, &at);
    if (!parsed && text && diag_first_id(j.diags) != DIAG_NO_KERNEL)
      report(s, path, 0, "(file)", &(Outcome){text, place_text(a, j.sources, at), false});
  }
  for (int i = 0; i < r.entries.len; i++) {
    const EvEntry *e = &r.entries.data[i];
    int line, column;
    src_place(j.sources, e->span.file, e->span.lo, &line, &column);
    Outcome o = survey_entry(s, a, path, e);
    report(s, path, line, e->name, &o);
  }
  arena_free(a);
}

int drv_survey(const Options *o) {
  Survey s = {.o = o, .params = o->params ? params_read(o->arena, o->params) : NULL};
  struct stat st;
  if (stat(o->input, &st)) {
    fprintf(stderr, "tlc: cannot read %s: %s\n", o->input, strerror(errno));
    return EXIT_USAGE;
  }
  Paths files = {0};
  size_t n = strlen(o->input);
  while (n > 1 && o->input[n - 1] == '/') n--;
  find_files(o->arena, arena_strn(o->arena, o->input, n), &files, 0);
  for (int i = 0; i < files.len; i++) survey_file(&s, files.data[i]);
  fprintf(stderr, "%d of %d kernels reach tile IR, in %d files\n", s.ok, s.kernels, files.len);
  return EXIT_OK;
}
