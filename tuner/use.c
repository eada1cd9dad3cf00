// --tuned FILE: a build takes the parameters that were found best for its sizes. It never tunes.
// The entry is that of the kernel and the target whose sizes are nearest: the sum over the sizes of
// |log2(wanted / tuned)| is least, the first of those in the file. Sizes that are no numbers must
// be equal.
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/json.h"
#include "tuner/internal.h"
#include "tuner/results.h"

typedef struct {
  Json json;
  const Options *o;
  const EvEntry *kernel;
  const char *arch;
  uint64_t source;
} Use;

static const char *value_text(const Use *u, const AstExpr *e) {
  Buf b = {0};
  json_put(&b, e, &u->json);
  const char *text = arena_str(u->o->arena, buf_str(&b));
  buf_free(&b);
  return text;
}

// What this build gives a parameter: by -p, else its default; NULL: nothing.
static const char *wanted(const Use *u, const char *name) {
  const char *given = map_get(u->o->bindings, name);
  for (int i = 0; !given && i < u->kernel->params.len; i++)
    if (!strcmp(u->kernel->params.data[i].name, name)) given = u->kernel->params.data[i].value;
  return given;
}

// Infinite where it does not fit at all.
static double distance(const Use *u, const AstExpr *sizes) {
  double sum = 0;
  for (int i = 0; i < sizes->dict.len; i++) {
    const char *tuned = value_text(u, sizes->dict.data[i].value);
    const char *mine = wanted(u, sizes->dict.data[i].key->str.data);
    char *end1, *end2;
    if (!mine || !strcmp(mine, tuned)) continue;
    double x = strtod(mine, &end1), y = strtod(tuned, &end2);
    if (*end1 || *end2 || x <= 0 || y <= 0) return INFINITY;
    sum += fabs(log2(x / y));
  }
  return sum;
}

static bool is_text(const AstExpr *e, const char *text) {
  return e && e->kind == AST_STR && !strcmp(e->str.data, text);
}

// A member that is an object.
static const AstExpr *member(const Use *u, const AstExpr *e, const char *name) {
  const AstExpr *m = json_member(e, name);
  if (!m || m->kind != AST_DICT)
    json_bad(&u->json, m ? m : e, "an entry has an object \"%s\"", name);
  return json_object(&u->json, m, "");
}

// The nearest entry, or NULL; *others: archs that have entries of the kernel.
static const AstExpr *nearest(const Use *u, double *far, Buf *others) {
  const AstExpr *list = tn_tuning_entries(&u->json), *best = NULL;
  *far = INFINITY;
  for (int i = 0; i < list->items.len; i++) {
    const AstExpr *e = list->items.data[i];
    const AstExpr *arch = json_member(e, "arch");
    if (!is_text(json_member(e, "kernel"), u->kernel->name)) continue;
    if (!is_text(arch, u->arch)) {
      if (arch && arch->kind == AST_STR && !strstr(buf_str(others), arch->str.data))
        buf_printf(others, "%s%s", others->len ? ", " : "", arch->str.data);
      continue;
    }
    double d = distance(u, member(u, e, "sizes"));
    if (d < *far) {
      *far = d;
      best = e;
    }
  }
  return best;
}

static void check_parameter(const Use *u, const AstEntry *e) {
  int n = u->kernel->params.len;
  const char *name = e->key->str.data, **names = NEWN(u->o->arena, const char *, n + 1);
  for (int i = 0; i < n; i++) {
    names[i] = u->kernel->params.data[i].name;
    if (!strcmp(names[i], name)) return;
  }
  json_bad(&u->json, e->key, "%s has no parameter '%s'%s", u->kernel->name, name,
           tn_near(u->o->arena, name, names, n));
}

static void check_flag(const Use *u, const AstEntry *e) {
  Buf why = {0};
  if (!tn_check_flag(u->o->arena, e->key->str.data, value_text(u, e->value), &why))
    json_bad(&u->json, e->key, "%s", buf_str(&why));
  buf_free(&why);
}

typedef void Check(const Use *u, const AstEntry *e);

static void bind(const Use *u, const AstExpr *set, Check *check, Map *into) {
  for (int i = 0; i < set->dict.len; i++) {
    const AstEntry *e = &set->dict.data[i];
    const char *name = e->key->str.data;
    check(u, e);
    if (!map_has(into, name)) // what the command says counts more
      map_set(into, name, (void *)(uintptr_t)value_text(u, e->value));
  }
}

static bool is_stale(const Use *u, const AstExpr *e) {
  char hash[20];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)u->source);
  const AstExpr *was = json_member(e, "source");
  return was && !is_text(was, hash);
}

// `instead`: what happens where it is no error.
static int complain(const Options *o, const char *what, const char *instead) {
  bool error = o->tune.strict || o->werror;
  fprintf(stderr, "tlc: %s: --tuned %s: %s%s\n", error ? "error" : "warning", o->tune.tuned, what,
          error ? "" : instead);
  return error ? EXIT_WRONG_PROGRAM : EXIT_OK;
}

// Parameters and options of the chosen entry, over what the command left open.
static int take_entry(const Use *u, const AstExpr *e, double far, Options *o) {
  bind(u, member(u, e, "config"), check_parameter, o->bindings);
  if (json_member(e, "flags")) bind(u, member(u, e, "flags"), check_flag, o->flags);
  if (o->remarks) {
    const char *sizes = far > 0 ? "the nearest sizes, " : "these sizes, ";
    Buf b = {0};
    ast_print_expr(json_member(e, "sizes"), &b);
    fprintf(stderr, "tlc: --tuned %s: %s%s\n", o->tune.tuned, sizes, buf_str(&b));
    buf_free(&b);
  }
  if (!is_stale(u, e)) return EXIT_OK;
  return complain(o, "the program has changed since it was tuned: tune it anew", "");
}

// The kernel with its parameters as this build binds them; a list of kernels knows none.
static const EvEntry *bound(EvOptions *ev, const EvEntry *kernel) {
  EvResult r = {0};
  ev->list = false;
  ev->entry = kernel->name;
  (void)ev_compile(ev, &r); // what is wrong with the program the build itself will say
  return r.entries.len == 1 ? &r.entries.data[0] : kernel;
}

int tn_use(Options *o, Job *j) {
  static const char defaults[] = ": defaults are used";
  EvResult r = {0};
  job_target(j, o);
  EvOptions ev = job_eval(j, o);
  ev.diags = diag_new(j->arena, j->sources, (DiagOptions){0});
  ev.list = true;
  vec_push(j->arena, &j->read, o->tune.tuned);
  (void)ev_compile(&ev, &r);
  if (strchr(o->arch, ','))
    return complain(o, "an entry is for one target, and --arch names several", defaults);
  if (r.entries.len > 1) return complain(o, "it is for one kernel: name it by --entry", defaults);
  if (!r.entries.len) return EXIT_OK;
  Use u = {json_read(o->arena, "--tuned", o->tune.tuned), o, NULL, j->target->name,
           tn_source_hash(j, &r)};
  u.kernel = bound(&ev, &r.entries.data[0]);
  Buf others = {0};
  double far;
  const AstExpr *e = nearest(&u, &far, &others);
  int status;
  if (e) {
    status = take_entry(&u, e, far, o);
  } else {
    const char *there =
        others.len ? arena_printf(o->arena, "; there are some for %s", buf_str(&others)) : "";
    status = complain(
        o, arena_printf(o->arena, "no entry for %s on %s fits%s", u.kernel->name, u.arch, there),
        defaults);
  }
  buf_free(&others);
  return status;
}
