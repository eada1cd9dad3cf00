// --tune on a GPU: one search for each size asked for, then what was found.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/internal.h"
#include "tuner/results.h"

enum { SHOWN = 20 };

typedef struct {
  const char *name; // of --sweep's parameter; NULL: no sweep
  const char *rest; // its values that are left
} Sweep;

static Sweep sweep_of(Arena *a, const Options *o) {
  EvBinding axis = {0};
  if (o->tune.sweep) tn_axis(a, "--sweep", o->tune.sweep, &axis);
  if (axis.value && strchr(axis.value, '=')) {
    fprintf(stderr, "tlc: --sweep %s: it is of one size; -p gives others\n", o->tune.sweep);
    exit(EXIT_USAGE);
  }
  return (Sweep){axis.name, axis.value};
}

static void print_json(const TnResult *r) {
  const TnFound *f = &r->found;
  Buf run = {0}, b = {0};
  buf_puts(&run, ", \"gpu\": ");
  rt_json_string(&run, r->gpu);
  if (f->reference_us > 0) buf_printf(&run, ", \"reference_us\": %.6g", f->reference_us);
  buf_printf(&run, ", \"best\": %d, \"seconds\": %.4g, \"nvcc_s\": %.4g, \"waited_s\": %.4g",
             f->best, f->seconds, f->nvcc_s, f->waited_s);
  buf_printf(&run,
             ", \"overhead_s\": %.4g, \"prepare_s\": %.4g, \"final_s\": %.4g, \"build_s\": %.4g",
             tn_overhead(f), f->prepare_s, f->final_s, f->build_s);
  tn_spent_json(&f->spent, &run);
  buf_printf(&run, ", \"builds\": %d, \"shared\": %d", f->builds, tn_count_shared(r));
  tn_json(r->space, buf_str(&run), &b);
  fputs(buf_str(&b), stdout);
  buf_free(&b);
  buf_free(&run);
}

// One value of a sweep, or what -p says.
typedef struct {
  const char *value; // NULL: no sweep
  TnSpace *space;
  int status; // of its preparation
} Size;

typedef VEC(Size) Sizes;

static int search_one(TnWorkshop *w, const Size *size, const Size *next, TnResults *list) {
  TnSpace *s = size->space;
  TnResult r = {.space = s, .swept = size->value, .gpu = w->gpu, .found = {.best = -1}};
  int status = tn_say_space(s, size->status);
  if (status && tn_interrupted) return tn_say_interrupted(s);
  if (!status) status = tn_search(w, s, next && !next->status ? next->space : NULL, &r.found);
  if (status == EXIT_WRONG_PROGRAM && s->all.len) vec_push(w->arena, list, r); // a row of the sweep
  if (status) return status;
  if (w->options->json) {
    print_json(&r);
  } else {
    tn_failures(s, stdout);
    tn_table(s, w->options->tune.topk > 0 ? w->options->tune.topk : SHOWN, stdout);
    tn_print_result(&r);
  }
  fflush(stdout);
  vec_push(w->arena, list, r);
  return EXIT_OK;
}

// Is the swept parameter none of the kernel's? Then no other value is worth a try.
static bool unknown_name(const TnSpace *s) {
  const char *code = diag_code(DIAG_NO_PARAM);
  for (int i = 0; i < s->all.len; i++)
    if (!s->all.data[i].code || strcmp(s->all.data[i].code, code)) return false;
  return true;
}

// The seconds since the last call.
static double lap(TnWorkshop *w) {
  double before = w->mark;
  return (w->mark = clock_seconds()) - before;
}

// The sizes of a sweep, or the one that -p says. The compiler is at work on the later ones while
// the first are searched.
typedef struct {
  TnWorkshop *w;
  Sizes all;
  int ready; // prepared to the end, the first ones
  TnSharing *sharing;
} Queue;

// Does it make sense to go on with the next size?
static bool goes_on(const Size *size) {
  return !tn_interrupted && (!size->status || (size->space->empty && !unknown_name(size->space)));
}

// Up to this one all are prepared to the end, or it makes no sense to go on before that.
static void need(Queue *q, int k) {
  for (; q->ready <= k && q->ready < q->all.len; q->ready++) {
    Size *size = &q->all.data[q->ready];
    tn_prepare_end(q->w->later, size->space, &size->status);
    if (!goes_on(size)) q->all.len = q->ready + 1;
    if (!size->status) tn_sharing_add(q->sharing, size->space);
  }
}

static Queue open_queue(TnWorkshop *w, const Sweep *sweep) {
  Queue q = {.w = w};
  Arena *a = w->arena;
  const char *rest = sweep->rest, *value;
  VEC(TnBindings) of = {0};
  if (!sweep->name) vec_push(a, &q.all, (Size){0});
  while (sweep->name && (value = tn_next_value(a, &rest, ','))) {
    TnBindings sizes = {0};
    vec_push(a, &sizes, (EvBinding){sweep->name, value});
    vec_push(a, &of, sizes);
    vec_push(a, &q.all, (Size){.value = value});
  }
  int n = q.all.len, finalists = w->options->tune.finalists, *status = NEWN(a, int, n);
  TnSpace *space = NEWN(a, TnSpace, n);
  for (int i = 0; i < n; i++) q.all.data[i].space = &space[i];
  q.sharing = tn_sharing_new(a, n, finalists ? finalists : TN_FINALISTS);
  w->later = tn_prepare_start(w->options, of.data, n, 2, w->db, space, status);
  for (int i = 0; i < n; i++) q.all.data[i].status = status[i];
  return q;
}

static int search_all(TnWorkshop *w, const Sweep *sweep, TnResults *list) {
  Queue q = open_queue(w, sweep);
  int end = EXIT_OK; // of the whole: a size without a legal candidate is no reason to stop
  for (int i = 0; i < q.all.len; i++) {
    if (i > 0) (void)lap(w); // else since tlc began
    need(&q, i + 1);         // what is built for this one is to serve the next one
    tn_sharing_decide(q.sharing);
    if (!tn_interrupted && !tn_workshop_ready(w) && !tn_interrupted) return EXIT_MACHINE;
    const Size *size = &q.all.data[i], *next = i + 1 < q.all.len ? size + 1 : NULL;
    size->space->seconds += lap(w);
    if (sweep->name && !w->options->json) printf("\n%s = %s\n", sweep->name, size->value);
    int before = list->len, status = search_one(w, size, next, list);
    bool more = status == EXIT_WRONG_PROGRAM && list->len > before;
    if (more) more = !unknown_name(size->space);
    if (status && (!more || !sweep->name)) return status;
    if (status) end = status;
  }
  if (sweep->name && !w->options->json) tn_print_sweep(list, sweep->name);
  return end;
}

// What of it goes into files. Also what an interrupted or failed sweep had found so far.
static int write_all(const Options *o, const TnResults *list, const Sweep *sweep, int status) {
  if (list->len && o->tune.save) {
    int saved = tn_save(list, o->tune.save);
    if (!status) status = saved;
  }
  if (list->len && o->tune.report) {
    int reported = tn_report(list, o->tune.report, sweep->name);
    if (!status) status = reported;
  }
  if (status || !list->len) return status;
  const TnResult *last = &list->data[list->len - 1];
  if (!tn_best(last)) {
    fprintf(stderr, "tlc: --tune: no candidate could be measured\n");
    return EXIT_WRONG_PROGRAM;
  }
  return o->output ? tn_write_winner(last, o->output) : EXIT_OK;
}

static bool can_read(const Options *o) { // else it would be found out after the builds
  for (int i = 0; i < o->in.len; i++) {
    if (!access(o->in.data[i].value, R_OK)) continue;
    fprintf(stderr, "tlc: --in %s=%s: %s\n", o->in.data[i].key, o->in.data[i].value,
            strerror(errno));
    return false;
  }
  return true;
}

int tn_clear_cache(void) { return tn_db_clear(&(TnDbOptions){0}); }

int tn_measure(const Options *given) {
  Options copy = *given, *o = &copy;
  TnWorkshop w;
  double begin = clock_seconds();
  TnResults list = {0};
  Sweep sweep = sweep_of(o->arena, o);
  if (sweep.name && o->output) {
    fprintf(stderr, "tlc: -o holds one winner, --sweep finds several: --save keeps them all\n");
    return EXIT_USAGE;
  }
  tn_check_outputs(o);
  if (!can_read(o)) return EXIT_MACHINE;
  if (o->tune.clear_cache && tn_clear_cache())
    fprintf(stderr, "tlc: the tuning cache cannot be removed\n");
  int status = tn_workshop_open(&w, o, o->arena);
  if (status) {
    tn_workshop_close(&w);
    return status;
  }
  if (!strcmp(o->arch, "native")) o->arch = job_newest_target(w.sm)->name;
  w.mark = begin;
  status = search_all(&w, &sweep, &list);
  status = write_all(o, &list, &sweep, status);
  tn_workshop_close(&w);
  return status;
}
