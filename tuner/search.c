// The search: one loop that starts compilers, hands what they built to the runner, and keeps what
// it answers. Nothing in it waits for one thing alone.
// SPDX-License-Identifier: MIT
#include "tuner/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/internal.h"

enum { DEFAULT_LIMIT_S = 100, SETUP_S = 600, SLACK_S = 2, DEFAULT_WARMUP = 25, DEFAULT_REP = 100 };
#define HOPELESS 2.0 // times the best: not worth more launches
#define DECLARED(text, otherwise) ((text) ? atof(text) : (otherwise))

double tn_limit(const TnSpace *s) {
  double own = s->options->tune.timeout;
  return own > 0 ? own : DECLARED(s->timeout, DEFAULT_LIMIT_S);
}

static void decide_text(TnSearch *s, TnItem *i, const char *verb, const char *text, bool keep) {
  TnMessage m = {.verb = verb};
  vec_push(s->space->arena, &m.fields, (TnField){"text", text});
  tn_decide(s, i, &m, keep);
}

// The next for the runner; NULL: none is built.
static TnItem *next_ready(const TnSearch *s) {
  if (s->ahead && s->ahead->phase == TN_READY) return s->ahead;
  for (int k = 0; k < s->n; k++)
    if (s->items[k].phase == TN_READY) return &s->items[k];
  return NULL;
}

void tn_account(TnSearch *s) {
  double now = clock_seconds();
  bool ours = s->running || s->stage == TN_ROUNDS || (s->stage == TN_SINGLE && next_ready(s));
  if (s->clock) *s->clock += now - s->at;
  s->at = now;
  s->clock = NULL;
  if (s->waits) s->clock = &s->found->waited_s;
  else if (!ours && tn_pool_running(s->w->pool)) s->clock = &s->found->nvcc_s;
}

double tn_overhead(const TnFound *f) {
  double rest = f->seconds - f->nvcc_s - f->waited_s - f->spent.kernel - f->spent.rest;
  return rest > 0 ? rest : 0;
}

/* ------------------------------------------------------------------ building */

// The compiler's command for a candidate, or its result where the cache of builds has it.
static RtStatus plan(TnSearch *s, TnItem *i, Buf *why) {
  static const char *const flags[] = {"-Xptxas", "-v", NULL}; // says registers and spills
  TnProgram p = {0};
  Arena *a = arena_new();
  Buf own = {0}, text = {0};
  RtStatus r = RT_FAILED;
  if (tn_need_text(s->space, i->c, why) && tn_program_open(&p, s->space, i->c, why)) {
    RtSource source = tn_program_source(&p, a);
    if (i->shared) tn_shared_text(i->c, &own);
    else buf_add(&own, i->c->text, i->c->len);
    source.build = (RtBuild){.name = source.symbol, .text = own.data, .len = own.len};
    rt_kernel_text(&source, &text);
    source.build.text = text.data;
    source.build.len = text.len;
    source.build.arch = s->w->arch;
    source.build.kind = RT_SHARED;
    source.build.flags = flags;
    r = rt_build_plan(s->space->arena, &source.build, &i->plan, why);
  }
  tn_program_close(&p);
  buf_free(&own);
  buf_free(&text);
  arena_free(a);
  return r;
}

// Has another tuner found it out meanwhile?
static bool recall_again(TnSearch *s, TnItem *i) {
  TnItem old = *i;
  if (!s->rival || i->c->state == TN_MEASURED) return false;
  if (tn_recall(s, i)) return true;
  *i = old;
  return false;
}

// Its library is there.
static void made(TnSearch *s, TnItem *i) {
  i->lib = i->plan.path;
  i->phase = TN_READY;
  if (i->shared) i->shared->lib = i->lib;
  recall_again(s, i);
}

bool tn_build_one(TnSearch *s, TnItem *i) {
  Buf why = {0};
  if (i->shared && i->shared->lib && !access(i->shared->lib, R_OK)) { // made for another size
    i->lib = i->shared->lib;
    i->phase = TN_READY;
    return true;
  }
  RtStatus r = plan(s, i, &why);
  if (r == RT_MISSING) s->trouble = arena_str(s->space->arena, buf_str(&why));
  else if (r != RT_OK) decide_text(s, i, "build", arena_str(s->space->arena, buf_str(&why)), false);
  buf_free(&why);
  if (r != RT_OK) return false;
  if (i->plan.aside && !s->w->aside)
    fprintf(stderr, "tlc: what nvcc makes goes to %s: %s\n", i->plan.root, i->plan.aside);
  s->w->aside |= i->plan.aside != NULL;
  i->phase = TN_BUILDING;
  if (i->plan.path) made(s, i);
  if (i->phase != TN_BUILDING) return true;
  TnCommand c = {.argv = i->plan.argv,
                 .folder = i->plan.folder,
                 .timeout = tn_limit(s->space),
                 .file_limit = TN_FILE_LIMIT};
  tn_pool_add(s->w->pool, &c, (int)(i - s->items));
  return true;
}

static void built(TnSearch *s, TnItem *i, const TnJobResult *r) {
  Arena *a = s->space->arena;
  Buf why = {0};
  bool good = r->end == TN_EXITED && r->code == 0;
  s->found->build_s += r->seconds;
  s->found->builds++;
  if (rt_build_done(a, &i->plan, good, &why) == RT_OK) {
    tn_read_ptxas(buf_str(&r->said), &i->c->as);
    made(s, i);
    return;
  }
  if (!good) {
    buf_puts(&why, "nvcc: ");
    tn_end_text(r->end, r->code, tn_limit(s->space), &why);
    if (r->said.len) buf_printf(&why, ": %s", tn_error_of(a, &r->said));
  }
  // A full disk or a killed process says nothing of the candidate: only its own end is kept.
  bool own = (r->end == TN_EXITED && r->code && !strstr(buf_str(&r->said), "No space left")) ||
             r->end == TN_TIMED_OUT;
  decide_text(s, i, "build", arena_str(a, buf_str(&why)), own && !good);
  buf_free(&why);
}

void tn_take_builds(TnSearch *s) {
  TnJobResult r;
  while (tn_pool_take(s->w->pool, &r)) {
    built(s, &s->items[r.tag], &r);
    buf_free(&r.said);
  }
}

static void start_builds(TnSearch *s) {
  int most = 2 * tn_pool_jobs(s->w->options->tune.jobs);
  for (int k = 0; k < s->n && !s->trouble; k++) {
    if (tn_pool_load(s->w->pool) >= most) return;
    if (s->items[k].phase != TN_WAITING) continue;
    tn_build_one(s, &s->items[k]);
    tn_account(s);
  }
}

/* ------------------------------------------------------------------ running */

static void put_bindings(Buf *b, char kind, const TnBindings *list) {
  Buf name = {0};
  for (int i = 0; i < list->len; i++) {
    name.len = 0;
    buf_printf(&name, "%c.%s", kind, list->data[i].name);
    tn_wire_text(b, buf_str(&name), list->data[i].value);
  }
  buf_free(&name);
}

static void put_arguments(const TnCandidate *c, Buf *b) {
  Buf list = {0};
  tn_put_arguments(c, &list);
  tn_wire_text(b, "numbers", buf_str(&list));
  buf_free(&list);
}

static void put_candidate(const TnSearch *s, const TnItem *i, const char *verb, Buf *b) {
  const TnOptions *o = &s->w->options->tune;
  const TnSpace *space = s->space;
  tn_wire_verb(b, verb);
  tn_wire_int(b, "id", i->c->id);
  if (i->lib) tn_wire_text(b, "lib", i->lib);
  if (i->shared) put_arguments(i->c, b);
  tn_wire_text(b, "entry", space->entry);
  tn_wire_text(b, "arch", space->target->name);
  tn_wire_real(b, "limit", tn_limit(s->space));
  tn_wire_int(b, "warmup",
              o->warmup >= 0 ? o->warmup : (int)DECLARED(space->warmup, DEFAULT_WARMUP));
  tn_wire_int(b, "rep", o->rep >= 0 ? o->rep : (int)DECLARED(space->rep, DEFAULT_REP));
  if (space->rtol) tn_wire_text(b, "rtol", space->rtol);
  if (space->atol) tn_wire_text(b, "atol", space->atol);
  if (space->mismatch) tn_wire_text(b, "mismatch", space->mismatch);
  if (space->reference) tn_wire_text(b, "reference", space->reference);
  if (s->best_us > 0) tn_wire_real(b, "stop", HOPELESS * s->best_us);
  put_bindings(b, 's', &i->c->sizes);
  put_bindings(b, 'b', &i->c->bindings);
  put_bindings(b, 'f', &i->c->flags);
}

void tn_candidate_message(const TnSearch *s, const TnItem *i, const char *verb, Buf *b) {
  put_candidate(s, i, verb, b);
  tn_wire_end(b);
}

bool tn_take_gpu(TnSearch *s) {
  bool taken = tn_lock_try(&s->w->lock);
  if (!taken && !s->waits) tn_lock_say(&s->w->lock);
  s->waits = !taken;
  return taken;
}

// False: the GPU was another's, and the candidate that was to run may be known by now.
static bool take_gpu(TnSearch *s) {
  bool waited = s->waits;
  if (!tn_take_gpu(s)) return false;
  if (!waited) return true;
  s->rival = true;
  for (int k = 0; k < s->n; k++)
    if (s->items[k].phase == TN_WAITING || s->items[k].phase == TN_READY)
      recall_again(s, &s->items[k]);
  return false;
}

// The runner loads the next one while kernels of this one run. Not beside the first of a process:
// what that does counts against it alone.
static void load_ahead(TnSearch *s) {
  if (s->ahead || s->w->session.trials <= 1 || !(s->ahead = next_ready(s))) return;
  Buf b = {0};
  tn_candidate_message(s, s->ahead, "ahead", &b);
  tn_session_send(&s->w->session, &b);
  buf_free(&b);
}

void tn_run_next(TnSearch *s) {
  if (s->stage != TN_SINGLE) return;
  if (s->running) {
    load_ahead(s);
    return;
  }
  TnItem *next = next_ready(s);
  if (!next || !take_gpu(s)) return;
  if (!s->w->session.alive && !tn_workshop_restart(s->w)) {
    s->trouble = "the runner does not start again";
    return;
  }
  Buf b = {0};
  tn_candidate_message(s, next, "try", &b);
  tn_session_send(&s->w->session, &b);
  buf_free(&b);
  s->w->session.trials++;
  s->running = next;
  s->started = false;
  next->phase = TN_RUNNING;
  s->deadline = clock_seconds() + SETUP_S;
  s->ahead = NULL;
  load_ahead(s);
}

// What a runner says of a candidate beside times and hangs is believed of one that has had no
// other: an earlier one might have written into the inputs, or broken the context.
static bool try_afresh(TnSearch *s) {
  if (!s->running || s->w->session.trials <= 1) return false;
  s->running->phase = TN_READY;
  s->ahead = s->running;
  s->running = NULL;
  tn_session_stop(&s->w->session, true, NULL);
  return true;
}

static void answered(TnSearch *s, const TnMessage *m) {
  bool hung = !strcmp(m->verb, "hung");
  bool lost = hung || !strcmp(m->verb, "fault") || !tn_is_answer(m); // who knows what comes next
  TnItem *i = s->running;
  tn_spent_add(&s->found->spent, m);
  if (!hung && strcmp(m->verb, "measured") && try_afresh(s)) return;
  s->running = NULL;
  if (lost) tn_session_stop(&s->w->session, true, NULL);
  tn_decide(s, i, m, true);
}

static void runner_died(TnSearch *s) {
  Buf how = {0};
  TnItem *i = s->running;
  if (try_afresh(s)) return;
  tn_session_stop(&s->w->session, true, &how);
  if (i) {
    s->running = NULL;
    const char *text = arena_printf(s->space->arena, "the runner ended: %s", buf_str(&how));
    decide_text(s, i, "fault", text, true);
  }
  buf_free(&how);
}

static void hear(TnSearch *s, bool readable) {
  TnMessage m;
  bool open = !readable || tn_session_read(&s->w->session);
  while (s->w->session.alive && tn_session_next(&s->w->session, s->space->arena, &m)) {
    if (!s->running || !strcmp(m.verb, "note")) continue;
    if (!strcmp(m.verb, "started")) {
      s->started = true;
      s->deadline = clock_seconds() + tn_limit(s->space) + SLACK_S;
    } else {
      answered(s, &m);
    }
  }
  if (s->w->session.alive && !open) runner_died(s);
}

static void check_deadline(TnSearch *s) {
  if (!s->running || clock_seconds() < s->deadline) return;
  TnItem *i = s->running;
  s->running = NULL;
  tn_session_stop(&s->w->session, false, NULL);
  const char *text = s->started
                         ? arena_printf(s->space->arena, "no end within %g s", tn_limit(s->space))
                         : arena_printf(s->space->arena, "not started within %d s", SETUP_S);
  decide_text(s, i, "hung", text, true);
}

/* ------------------------------------------------------------------ the loop */

static void step(TnSearch *s) {
  tn_account(s);
  tn_run_next(s);
  tn_account(s);
  start_builds(s);
  tn_run_next(s);
  // While there is nothing but a compiler to wait for: later it might hold up what is ready.
  if (!s->running && !next_ready(s) && tn_pool_running(s->w->pool)) tn_prepare_next(s);
  tn_account(s);
  struct pollfd f = {.fd = s->w->session.alive ? s->w->session.child.output : -1, .events = POLLIN};
  int ms = s->waits ? 100 : 500;
  double left = s->running ? s->deadline - clock_seconds() : 1;
  if (left < 1e-3 * ms) ms = left > 0 ? (int)(1e3 * left) + 1 : 0;
  if (!s->running && !s->waits && next_ready(s)) ms = 0;
  bool heard;
  if (!tn_workshop_wait(s->w, &f, &heard, ms) && errno != EINTR)
    fatal("waiting for the compilers:");
  tn_take_builds(s);
  hear(s, heard);
  check_deadline(s);
  tn_progress(s, false);
}

static void gather(TnSearch *s) {
  int *order = NEWN(s->space->arena, int, s->space->all.len + 1);
  int n = tn_rank(s->space, order), most = s->w->options->tune.topk;
  if (most > 0 && most < n) n = most;
  s->items = NEWN(s->space->arena, TnItem, n + 1);
  for (int k = 0; k < n; k++) {
    TnCandidate *c = &s->space->all.data[order[k]];
    if (c->state != TN_QUEUED) continue;
    TnItem *i = &s->items[s->n++];
    *i = (TnItem){.c = c};
  }
  for (int k = 0; k < s->n; k++) tn_recall(s, &s->items[k]);
}

// Drafts of builds that were under way.
static void drop_builds(TnSearch *s) {
  tn_pool_free(s->w->pool);
  s->w->pool = NULL;
  for (int k = 0; k < s->n; k++) {
    if (s->items[k].phase != TN_BUILDING) continue;
    Buf none = {0};
    rt_build_done(s->space->arena, &s->items[k].plan, false, &none);
    buf_free(&none);
  }
}

int tn_by_median(const void *pa, const void *pb) {
  const TnItem *a = *(TnItem *const *)pa, *b = *(TnItem *const *)pb;
  double x = a->c->median_us, y = b->c->median_us;
  return x < y ? -1 : x > y ? 1 : a->c->id - b->c->id;
}

// Is it good enough for a build of its own, and was not measured by one?
static bool is_rough(const TnSearch *s, const TnItem *i) {
  const TnCandidate *c = i->c;
  return i->phase == TN_DONE && i->shared && c->rough && c->state == TN_MEASURED &&
         c->median_us <= TN_ROUGH * s->best_us;
}

// Has those measured once more, by builds of their own: the best first, after which others may be
// too slow. False: there are none.
static bool confirm(TnSearch *s) {
  TnItem **list = NEWN(s->space->arena, TnItem *, s->n + 1);
  int n = 0, most = tn_pool_jobs(s->w->options->tune.jobs);
  for (int k = 0; k < s->n; k++)
    if (is_rough(s, &s->items[k])) list[n++] = &s->items[k];
  qsort(list, (size_t)n, sizeof *list, tn_by_median);
  for (int k = 0; k < n && k < most; k++) {
    if (list[k]->recalled) s->found->cached--;
    else s->found->tried--;
    tn_alone(s, list[k]);
    list[k]->recalled = false;
    s->done--;
  }
  return n > 0;
}

static void send_prepare(TnSearch *s, TnCandidate *c, bool ahead) {
  TnItem item = {.c = c};
  Buf b = {0};
  put_candidate(s, &item, ahead ? "prepare ahead" : "prepare", &b);
  if (tn_lock_try(&s->w->lock)) tn_wire_int(&b, "gpu", 1);
  tn_wire_end(&b);
  tn_session_send(&s->w->session, &b);
  buf_free(&b);
}

// Of two candidates, the one whose reference takes less: the oracle is at work on whole blocks.
static TnCandidate *smaller(TnCandidate *a, TnCandidate *b) {
  int64_t x = a ? (int64_t)a->tile[0] * a->tile[1] : 0, y = (int64_t)b->tile[0] * b->tile[1];
  return !a || (y > 0 && y < x) ? b : a;
}

// Inputs and reference are made while the first library is.
static void prepare_first(TnSearch *s) {
  TnCandidate *c = NULL;
  for (int k = 0; k < s->n; k++)
    if (s->items[k].phase == TN_WAITING) c = smaller(c, s->items[k].c);
  if (c && s->w->session.alive) send_prepare(s, c, false);
}

// Is its result kept?
static bool is_known(const TnSearch *s, const TnCandidate *c) {
  TnHash own = tn_item_key(s, c, NULL), shared = tn_item_key(s, c, c->shared);
  Buf b = {0};
  bool known = tn_db_get(s->w->db, &own, &b) || (c->shared && tn_db_get(s->w->db, &shared, &b));
  buf_free(&b);
  return known;
}

void tn_prepare_next(TnSearch *s) {
  if (!s->next || s->asked_next || !s->w->session.alive) return;
  s->asked_next = true;
  TnSearch next = {.w = s->w, .space = s->next};
  int *order = NEWN(s->space->arena, int, s->next->all.len + 1);
  int n = tn_rank(s->next, order), most = s->w->options->tune.topk, known = 0;
  TnCandidate *all = s->next->all.data, *c = NULL;
  if (most > 0 && most < n) n = most;
  while (known < n && is_known(&next, &all[order[known]])) known++;
  for (int k = known; k < n; k++) c = smaller(c, &all[order[k]]);
  if (c) send_prepare(&next, c, true);
}

static void search(TnSearch *s) {
  do {
    while (s->done < s->n && !s->trouble && !tn_interrupted) step(s);
  } while (!s->trouble && !tn_interrupted && confirm(s));
}

int tn_search(TnWorkshop *w, TnSpace *space, TnSpace *next, TnFound *out) {
  *out = (TnFound){.best = -1, .prepare_s = space->seconds};
  TnSearch s = {.w = w, .space = space, .next = next, .found = out, .begin = clock_seconds()};
  s.at = s.begin;
  gather(&s);
  prepare_first(&s);
  search(&s);
  tn_progress(&s, true);
  double searched = clock_seconds();
  if (!s.trouble && !tn_interrupted) tn_final(&s);
  out->final_s = clock_seconds() - searched;
  tn_account(&s);
  if (tn_interrupted || s.trouble) drop_builds(&s);
  out->interrupted = tn_interrupted != 0;
  out->seconds = clock_seconds() - s.begin + out->prepare_s;
  if (tn_interrupted) {
    fprintf(stderr, "tlc: interrupted: %d of %d candidates are known%s\n", s.done, s.n,
            tn_db_keeps(w->db) ? "; the same command goes on from there" : "");
    return 128 + tn_interrupted;
  }
  if (s.trouble) fprintf(stderr, "tlc: %s\n", s.trouble);
  return s.trouble ? EXIT_MACHINE : EXIT_OK;
}
