// --tune: from a space to a ranking.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"
#include "tuner/pool.h"
#include "tuner/results.h"

enum { TOP_NO_RUN = 20, TOP_ROLLER = 10, ROUNDS = 4 };

typedef struct {
  const char *what;
} Progress;

static void show(void *ctx, int done, int of) {
  Progress *p = ctx;
  if (!tn_terminal()) return;
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

static void print_json(const TnSpace *s) {
  Buf b = {0};
  tn_json(s, "", &b);
  fwrite(buf_str(&b), 1, b.len, stdout);
  buf_free(&b);
}

// A hint of the model in words.
static void say_hint(const TnCandidate *c, int rank) {
  printf("%4d  %.2f us", rank, c->model.us);
  if (c->tile[0])
    printf(", tile %dx%dx%d, warps %dx%d", c->tile[0], c->tile[1], c->tile[2], c->warps[0],
           c->warps[1]);
  printf(", %d threads, %d stages", c->threads, c->stages);
  if (c->panel) printf(", raster %d", c->panel);
  putchar('\n');
}

static void say_hints(const TnSpace *s) {
  printf("%s on %s, by the model of %s:\n", s->entry, s->target->name, s->figures->name);
  for (int i = 0; i < s->all.len; i++) say_hint(&s->all.data[i], i + 1);
}

int tn_say_interrupted(const TnSpace *s) {
  if (tn_terminal()) fputs("\r\033[K", stderr); // what progress has left there
  fprintf(stderr, "tlc: interrupted%s\n",
          tn_db_works(s->db) ? ": the same command goes on from there" : "");
  return 128 + tn_interrupted;
}

// The hints of the model, each through the compiler. An exit status.
static int find_hints(TnSpace *s) {
  const Options *o = s->options;
  Progress p = {"compiling"};
  return tn_roller(s, o->tune.topk < 0 ? TOP_ROLLER : o->tune.topk, tn_pool_jobs(o->tune.jobs),
                   show, &p);
}

static int open_space(const Options *o, const TnBindings *sizes, struct TnDb *db, TnSpace *s) {
  TnFigures *figures = NEW(o->arena, TnFigures);
  int status = tn_space(o->arena, o, sizes, s);
  if (status) return status;
  if (!tn_figures(s->target, o->tune.figures, figures)) return EXIT_USAGE;
  s->figures = figures;
  s->db = db;
  if (s->locked && s->all.len == 1 && !s->all.data[0].bindings.len && !s->all.data[0].flags.len)
    fprintf(stderr, "tlc: --tune: every tuned parameter is given: nothing is searched\n");
  return o->tune.roller ? find_hints(s) : EXIT_OK;
}

// Of a space whose candidates have been through the compiler.
static int status_of(TnSpace *s) {
  s->empty = !tn_rank(s, NEWN(s->arena, int, s->all.len + 1));
  return s->empty ? EXIT_WRONG_PROGRAM : EXIT_OK;
}

static Progress compiling = {"compiling"};

TnCompile *tn_prepare_start(const Options *o, const TnBindings *sizes, int n, int urgent,
                            struct TnDb *db, TnSpace *s, int *status) {
  TnSpace **good = NEWN(o->arena, TnSpace *, n + 1);
  int m = 0, first = 0;
  for (int i = 0; i < n && !tn_interrupted; i++) {
    status[i] = open_space(o, sizes ? &sizes[i] : NULL, db, &s[i]);
    s[i].part = -1;
    if (status[0]) break; // what is wrong with it may be so with all
    if (status[i] || o->tune.roller) continue;
    s[i].part = m;
    good[m++] = &s[i];
    first += i < urgent;
  }
  if (!m || tn_interrupted) return NULL;
  return tn_compile_start(good, m, first, tn_pool_jobs(o->tune.jobs), show, &compiling);
}

void tn_prepare_end(TnCompile *c, TnSpace *s, int *status) {
  while (c && s->part >= 0 && !tn_interrupted && tn_compile_step(c, 1000) <= s->part) {}
  if (tn_interrupted && !*status) *status = 128 + tn_interrupted;
  else if (!*status) *status = status_of(s);
}

// The one space that -p says. An exit status.
static int prepare(const Options *o, struct TnDb *db, TnSpace *s) {
  int status = EXIT_OK;
  TnCompile *c = tn_prepare_start(o, NULL, 1, 1, db, s, &status);
  tn_prepare_end(c, s, &status);
  tn_compile_end(c);
  if (tn_interrupted) (void)tn_say_interrupted(s);
  return status;
}

int tn_say_space(const TnSpace *s, int status) {
  if (s->empty) return nothing_left(s);
  if (status || s->options->json) return status;
  if (s->options->tune.roller) say_hints(s);
  else say_counts(s);
  return status;
}

// Has the assembler spoken of the best `top`? Knowing more, the model may prefer others: these in
// turn.
static void ask_assembler(TnSpace *s, int *order, int top) {
  Progress p = {"assembling"};
  for (int round = 0; round < ROUNDS; round++) {
    int n = tn_rank(s, order), open = 0;
    if (top > n) top = n;
    for (int i = 0; i < top; i++) open += s->all.data[order[i]].as.registers < 0;
    if (!open || tn_assemble(s, order, top, show, &p) || tn_interrupted)
      return; // without nvcc the model alone ranks
  }
}

static int write_best(const Options *o, TnSpace *s, int best) {
  TnResult r = {.space = s, .found = {.best = best}};
  TnResults list = {&r, 1, 1};
  int status = o->tune.save ? tn_save(&list, o->tune.save) : EXIT_OK;
  if (!status && o->tune.report) status = tn_report(&list, o->tune.report, NULL);
  return status || !o->output ? status : tn_write_winner(&r, o->output);
}

// The sizes of run time that nothing gives, and what the model takes for them.
static void say_guessed(const TnSpace *s, TnCandidate best) {
  Options o;
  Job j;
  if (!tn_front(s->arena, s, &best, &j, &o)) return;
  for (int i = 0; i < j.tile.len; i++) {
    const Program *p = j.tile.data[i];
    for (int k = 0; k < p->sizes.len; k++)
      if (!tn_binds(&best.sizes, p->sizes.data[k]->name))
        fprintf(s->options->json ? stderr : stdout,
                "%s is taken to be %d: it is a size of run time, which -p %s=VALUE gives\n",
                p->sizes.data[k]->name, TN_GUESSED_SIZE, p->sizes.data[k]->name);
  }
}

// --no-run: by the model, and by what the assembler says of the best.
static int rank(const Options *o, struct TnDb *db) {
  TnSpace s = {0};
  int status = tn_say_space(&s, prepare(o, db, &s));
  if (status) return status;
  int *order = NEWN(o->arena, int, s.all.len + 1), n = tn_rank(&s, order);
  int top = o->tune.topk < 0 ? TOP_NO_RUN : o->tune.topk ? o->tune.topk : n;
  ask_assembler(&s, order, top);
  if (tn_interrupted) return tn_say_interrupted(&s);
  n = tn_rank(&s, order);
  if (!n) return nothing_left(&s);
  say_guessed(&s, s.all.data[order[0]]);
  if (o->json) {
    print_json(&s);
  } else {
    tn_failures(&s, stdout);
    tn_table(&s, top, stdout);
  }
  return write_best(o, &s, order[0]);
}

static int rank_only(const Options *o) {
  tn_check_outputs(o);
  tn_catch_signals();
  if (o->tune.clear_cache && tn_clear_cache())
    fprintf(stderr, "tlc: the tuning cache cannot be removed\n");
  TnDb *db = NULL;
  if (!o->tune.no_cache) db = tn_db_open(&(TnDbOptions){.limit = o->tune.cache_limit});
  int status = rank(o, db);
  tn_db_close(db);
  return status;
}

int tn_tune(const Options *o) { return o->tune.no_run ? rank_only(o) : tn_measure(o); }
