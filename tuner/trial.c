// Candidates on the GPU: loaded, run once and checked, then timed. The inputs are made and uploaded
// once; every candidate gets the same ones, and outputs that start as NaN.
// SPDX-License-Identifier: MIT
#include "tuner/runner.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

#define TIMED_SECONDS 1.0 // at most, of one candidate's timed launches

// One candidate, loaded.
typedef struct {
  TnProgram of;
  int id;
  const char *sizes; // what was given by -p and --sweep, one a line
  const char *lib;
  RtKernel *kernel;
  RtCall *call;
} Loaded;

struct TnTrials {
  const Options *options;
  RtGpu *gpu;
  TnWatcher watcher;
  TnInputs now;  // of the candidates that are tried
  Loaded base;   // the candidate whose call holds their tensors
  TnInputs next; // of those that come after them
  Loaded ahead;  // the library and program of a candidate that may be the next; no call yet
  Loaded left;   // of one that was, to be unloaded while kernels run
  Loaded kept[TN_MOST_KEPT];
  int nkept;
  TnSpent spent; // since it was last asked for
  double at;     // until when it is known where the time went
  double busy;   // rt_gpu_busy at the last question
  int checks;    // launches that were compared, and whose time does not count yet
};

TnTrials *tn_trials_new(const Options *o, RtGpu *gpu, const TnWatcher *watcher) {
  TnTrials *t = NEW(o->arena, TnTrials);
  t->options = o;
  t->gpu = gpu;
  t->watcher = *watcher;
  return t;
}

// What was done since the last lap is `part`.
static void lap(TnTrials *t, double *part) {
  double now = clock_seconds();
  *part += now - t->at;
  t->at = now;
}

static void begin(TnTrials *t) { t->at = clock_seconds(); }

TnSpent tn_trials_spent(TnTrials *t) {
  TnSpent s = t->spent;
  s.kernel += rt_gpu_busy(t->gpu) - t->busy;
  t->busy = rt_gpu_busy(t->gpu);
  t->spent = (TnSpent){0};
  return s;
}

static void unload(Loaded *c) {
  rt_call_free(c->call);
  rt_kernel_free(c->kernel);
  tn_program_close(&c->of);
  *c = (Loaded){0};
}

/* ------------------------------------------------------------------ loading */

// Fields "s.NAME", "b.NAME" and "f.NAME": sizes, parameters and flags of the compiler.
static TnCandidate candidate_of(Arena *a, const TnMessage *m) {
  TnCandidate c = {.id = (int)tn_wire_get_int(m, "id", 0)};
  for (int i = 0; i < m->fields.len; i++) {
    const TnField *f = &m->fields.data[i];
    if (!f->name[0] || f->name[1] != '.') continue;
    EvBinding b = {f->name + 2, f->value};
    if (f->name[0] == 's') vec_push(a, &c.sizes, b);
    if (f->name[0] == 'b') vec_push(a, &c.bindings, b);
    if (f->name[0] == 'f') vec_push(a, &c.flags, b);
  }
  return c;
}

static const char *sizes_text(Arena *a, const TnCandidate *c) {
  const char *text = "";
  for (int i = 0; i < c->sizes.len; i++)
    text = arena_printf(a, "%s%s=%s\n", text, c->sizes.data[i].name, c->sizes.data[i].value);
  return text;
}

// The program of a message's candidate, for the target that it names.
static bool open_program(Loaded *c, const Options *o, const TnMessage *m, Buf *why) {
  Arena *a = arena_new();
  Options own = *o;
  TnCandidate candidate = candidate_of(a, m);
  TnSpace space = {.arena = a, .options = &own, .entry = tn_wire_get(m, "entry")};
  if (tn_wire_get(m, "arch")) own.arch = tn_wire_get(m, "arch");
  c->id = candidate.id;
  bool ok = tn_program_open(&c->of, &space, &candidate, why);
  c->sizes = sizes_text(c->of.arena, &candidate);
  arena_free(a);
  return ok;
}

static bool make_inputs(TnTrials *t, const TnMessage *m, TnInputs *out, Buf *why) {
  Loaded owner = {0};
  bool ok = open_program(&owner, t->options, m, why);
  if (ok) ok = tn_inputs_make(out, &owner.of, owner.sizes, why);
  else unload(&owner);
  lap(t, &t->spent.data);
  return ok;
}

static bool need_reference(TnTrials *t, const TnMessage *m, Loaded *c, TnInputs *in, Buf *why) {
  const char *declared = tn_wire_get(m, "reference");
  bool ok = tn_inputs_reference(in, t->options, &c->of, declared, why);
  lap(t, &t->spent.reference);
  return ok;
}

static TnVerdict fault(RtStatus s, const Buf *why) {
  if (s == RT_OK) return TN_TRIAL_OK;
  return strstr(buf_str(why), "did not finish within") ? TN_TRIAL_HUNG : TN_TRIAL_FAULT;
}

// To a library that several sizes share: "8,1024".
static bool give_numbers(const Loaded *c, const char *text, Buf *why) {
  VEC(int64_t) list = {0};
  if (!text) return true;
  for (char *end; *text; text = end + (*end == ',')) {
    vec_push(c->of.arena, &list, strtoll(text, &end, 10));
    if (end == text) break;
  }
  return rt_kernel_take_numbers(c->kernel, list.data, why) == RT_OK;
}

static bool fits(const TnInputs *in, const Loaded *c) {
  return tn_inputs_fit(in, c->of.program, c->sizes);
}

// Other inputs for candidates to come; false, and why: they cannot be made.
static bool change_inputs(TnTrials *t, const TnMessage *m, const Loaded *c, Buf *why) {
  if (t->nkept) {
    buf_puts(why, "its arguments have other shapes than those of the others");
    return false;
  }
  unload(&t->left);
  unload(&t->base);
  if (t->now.arena) tn_inputs_drop(&t->now, t->gpu);
  bool made = fits(&t->next, c);
  if (!made) return make_inputs(t, m, &t->now, why);
  t->now = t->next;
  t->next = (TnInputs){0};
  return true;
}

static bool open_library(Loaded *c, const TnMessage *m, Buf *why) {
  RtSource source = tn_program_source(&c->of, c->of.arena);
  const char *lib = tn_wire_get(m, "lib");
  c->lib = arena_str(c->of.arena, lib ? lib : "");
  return rt_kernel_open(&source, c->lib, &c->kernel, why) == RT_OK;
}

// Is the message's candidate the one that was loaded ahead? Then it is `c` from now on.
static bool take_ahead(TnTrials *t, const TnMessage *m, Loaded *c) {
  const char *lib = tn_wire_get(m, "lib");
  Arena *a = arena_new();
  TnCandidate candidate = candidate_of(a, m);
  bool same = t->ahead.kernel && lib && !strcmp(lib, t->ahead.lib) && candidate.id == t->ahead.id &&
              !strcmp(sizes_text(a, &candidate), t->ahead.sizes);
  arena_free(a);
  if (!same) return false;
  *c = t->ahead;
  t->ahead = (Loaded){0};
  return true;
}

void tn_load_ahead(TnTrials *t, const TnMessage *m) {
  Buf none = {0};
  Loaded *c = &t->ahead;
  unload(c);
  bool ok = open_program(c, t->options, m, &none) && open_library(c, m, &none);
  if (ok) rt_kernel_ready(c->kernel);
  else unload(c); // its trial will say why
  buf_free(&none);
}

// The candidate's program, and inputs that fit it.
static TnVerdict prepare(TnTrials *t, const TnMessage *m, Loaded *c, Buf *why) {
  bool ok = take_ahead(t, m, c) || open_program(c, t->options, m, why);
  lap(t, &t->spent.load);
  if (ok && !fits(&t->now, c)) ok = change_inputs(t, m, c, why);
  lap(t, &t->spent.data);
  if (ok) ok = need_reference(t, m, c, &t->now, why);
  return ok ? TN_TRIAL_OK : TN_TRIAL_FAILED;
}

// Loads the library and binds it to the data.
static TnVerdict load(TnTrials *t, const TnMessage *m, Loaded *c, Buf *why) {
  RtArg *args;
  int n = tn_inputs_args(&t->now, c->of.arena, c->of.program, &args);
  if (!c->kernel && !open_library(c, m, why)) return TN_TRIAL_FAILED;
  if (!give_numbers(c, tn_wire_get(m, "numbers"), why)) return TN_TRIAL_FAILED;
  lap(t, &t->spent.load);
  RtStatus s = t->base.call ? rt_call_like(t->base.call, c->kernel, &c->call, why)
                            : rt_call_new(t->gpu, c->kernel, args, n, &c->call, why);
  lap(t, &t->spent.bind);
  return s == RT_OK ? TN_TRIAL_OK : TN_TRIAL_FAILED;
}

/* ------------------------------------------------------------------ checking */

// The oracle bounds each element. The declared reference is another program, which rounds
// elsewhere: what is declared for it counts, or TileLang's defaults.
static TnTolerance tolerance_of(const Options *o, const TnMessage *m, bool declared) {
  double otherwise = declared ? 1e-2 : -1;
  TnTolerance t = {o->rtol, o->atol, 0};
  if (t.rtol < 0) t.rtol = tn_wire_get_real(m, "rtol", otherwise);
  if (t.atol < 0) t.atol = tn_wire_get_real(m, "atol", otherwise);
  if (declared || t.rtol >= 0 || t.atol >= 0)
    t.mismatch = tn_wire_get_real(m, "mismatch", declared ? 1e-2 : 0);
  return t;
}

// Few elements of a large output are picked; else it is copied, and they from it.
static void need_ready(TnTrials *t, TnInputs *in, TnSamples *s) {
  RtType type = in->data.array[s->param].type;
  int64_t bits = rt_type_bits(type), count = (int64_t)in->data.bytes[s->param] * 8 / bits;
  Buf none = {0};
  if (s->ready) return;
  s->ready = true;
  if (bits % 8 == 0 && s->n > 0 && s->n < count / 2)
    (void)rt_pick_new(t->gpu, s->at, s->n, (size_t)bits / 8, &s->pick, &none);
  if (!s->pick) s->packed = arena_alloc(in->arena, rt_type_bytes(type, s->n) + 16);
  buf_free(&none);
}

// What the inputs of a `prepare` need on the GPU beside tensors. The time of kernels that run here
// is part of that, and of no candidate's.
static void need_all_ready(TnTrials *t, TnInputs *in, const TnMessage *m) {
  TnReference *all[] = {&in->reference, &in->declared};
  for (size_t k = 0; k < LEN(all); k++)
    for (int i = 0; i < all[k]->outputs.len; i++) need_ready(t, in, &all[k]->outputs.data[i]);
  if (tn_wire_get_int(m, "gpu", 0)) tn_cublas_choose(in, t->gpu);
  t->busy = rt_gpu_busy(t->gpu);
}

// What the GPU has of the samples.
static RtStatus get_samples(TnTrials *t, const Loaded *c, TnSamples *s, const void **got,
                            Buf *why) {
  int i = s->param;
  need_ready(t, &t->now, s);
  if (s->pick) return rt_pick_fetch(s->pick, rt_call_device(c->call, i), got, why);
  if (!t->now.got[i]) {
    t->now.got[i] = arena_alloc(t->now.arena, t->now.data.bytes[i] + 16);
    t->now.pinned[i] = rt_gpu_pin(t->gpu, t->now.got[i], t->now.data.bytes[i]);
  }
  RtStatus status = rt_call_fetch(c->call, i, t->now.got[i], why);
  if (status == RT_OK) tn_pack(t->now.data.array[i].type, s->packed, t->now.got[i], s->at, s->n);
  *got = s->packed;
  return status;
}

static TnVerdict compare_with(TnTrials *t, const Loaded *c, TnReference *r, const TnTolerance *by,
                              const char *who, Buf *why) {
  for (int i = 0; i < r->outputs.len; i++) {
    TnSamples *s = &r->outputs.data[i];
    const void *got;
    RtStatus status = get_samples(t, c, s, &got, why);
    if (status != RT_OK) return fault(status, why);
    buf_printf(why, "%s%s: ", c->of.program->params.data[s->param].name, who);
    if (!tn_agrees(s, &t->now.data.array[s->param], got, by, why)) return TN_TRIAL_WRONG;
    why->len = 0;
  }
  return TN_TRIAL_OK;
}

static TnVerdict compare(TnTrials *t, const Loaded *c, const TnMessage *m, Buf *why) {
  TnTolerance by = tolerance_of(t->options, m, false);
  TnVerdict v = compare_with(t, c, &t->now.reference, &by, "", why);
  if (v != TN_TRIAL_OK) return v;
  by = tolerance_of(t->options, m, true);
  return compare_with(t, c, &t->now.declared, &by, ", against the declared reference", why);
}

// One launch with fresh outputs, its guards, its results.
static TnVerdict check(TnTrials *t, Loaded *c, const TnMessage *m, Buf *why) {
  const Program *p = c->of.program;
  RtStatus s = RT_OK;
  for (int i = 0; i < p->params.len && s == RT_OK; i++)
    if (data_is_output(p, i)) s = rt_call_reset(c->call, i, why);
  if (s == RT_OK) s = rt_call_launch(c->call, rt_gpu_stream(t->gpu), why);
  if (s == RT_OK) s = rt_gpu_sync(t->gpu, why);
  if (s == RT_OK) s = rt_call_guards(c->call, why);
  t->checks++;
  lap(t, &t->spent.check);
  if (s != RT_OK) return fault(s, why);
  TnVerdict v = compare(t, c, m, why);
  lap(t, &t->spent.compare);
  return v;
}

/* ------------------------------------------------------------------ timing */

// Kernels run, and nothing is left to do for this candidate but to wait for them.
static void meanwhile(void *ctx) {
  TnTrials *t = ctx;
  t->watcher.meanwhile(t->watcher.ctx);
  unload(&t->left);
}

static TnVerdict time_one(TnTrials *t, const Loaded *c, const TnMessage *m, RtSamples *out,
                          Buf *why) {
  RtContender who = {c->of.program->symbol, rt_call_launch, c->call};
  RtTimeOptions o = {.warmup = (int)tn_wire_get_int(m, "warmup", 25),
                     .rep = (int)tn_wire_get_int(m, "rep", 100),
                     .cold_l2 = t->options->cold_l2,
                     .stop_us = tn_wire_get_real(m, "stop", 0),
                     .most_s = TIMED_SECONDS,
                     .meanwhile = meanwhile,
                     .ctx = t};
  RtStatus s = rt_time(t->gpu, &who, &o, out, why);
  if (s == RT_OK) s = rt_call_guards(c->call, why); // what it did in all these launches
  return fault(s, why);
}

// A kernel that is right once may have written into its inputs: only a later launch shows it.
static TnVerdict check_again(TnTrials *t, Loaded *c, const TnMessage *m, Buf *why) {
  TnVerdict v = check(t, c, m, why);
  if (v == TN_TRIAL_WRONG) buf_puts(why, "; the first launch was right, one after others is not");
  return v;
}

// A loaded candidate: its launches, compared and timed.
static TnVerdict run(TnTrials *t, Loaded *c, const TnMessage *m, bool keep, RtSamples *out,
                     Buf *why) {
  rt_gpu_limit(t->gpu, tn_wire_get_real(m, "limit", 30));
  t->checks = 0;
  TnVerdict v = check(t, c, m, why);
  if (keep || v != TN_TRIAL_OK) return v;
  v = time_one(t, c, m, out, why);
  lap(t, &t->spent.timed);
  if (v == TN_TRIAL_OK && !out->early) v = check_again(t, c, m, why);
  // A launch that loads its module has no time of its own: it took what the others take.
  t->spent.kernel += 1e-6 * out->median_us * t->checks;
  return v;
}

TnVerdict tn_trial(TnTrials *t, const TnMessage *m, bool keep, RtSamples *out, Buf *why) {
  Loaded c = {0};
  begin(t);
  rt_gpu_limit(t->gpu, 0);
  TnVerdict v = prepare(t, m, &c, why);
  if (v == TN_TRIAL_OK) v = load(t, m, &c, why);
  if (v == TN_TRIAL_OK && keep && t->nkept == TN_MOST_KEPT) v = TN_TRIAL_FAILED;
  if (v == TN_TRIAL_OK) {
    t->watcher.started(t->watcher.ctx);
    v = run(t, &c, m, keep, out, why);
  }
  if (v == TN_TRIAL_FAULT || v == TN_TRIAL_HUNG) return v; // the process ends: nothing to free
  rt_gpu_limit(t->gpu, 0);
  if (!t->base.call && c.call && v == TN_TRIAL_OK) {
    t->base = c; // its tensors are everybody's; a kept one is loaded once more
    if (keep) return tn_trial(t, m, keep, out, why);
  } else if (keep && v == TN_TRIAL_OK) {
    t->kept[t->nkept++] = c;
  } else {
    unload(&t->left);
    t->left = c;
    lap(t, &t->spent.unload);
  }
  return v;
}

// The inputs that come after those in use.
static void prepare_next(TnTrials *t, const TnMessage *m, Loaded *c, Buf *why) {
  if (!open_program(c, t->options, m, why) || fits(&t->now, c)) return;
  if (t->next.arena) tn_inputs_drop(&t->next, t->gpu);
  if (make_inputs(t, m, &t->next, why) && need_reference(t, m, c, &t->next, why))
    need_all_ready(t, &t->next, m);
}

void tn_prepare_trials(TnTrials *t, const TnMessage *m) {
  Loaded c = {0};
  Buf why = {0};
  begin(t);
  if (!strcmp(m->verb, "prepare ahead")) prepare_next(t, m, &c, &why);
  else if (prepare(t, m, &c, &why) == TN_TRIAL_OK) need_all_ready(t, &t->now, m);
  lap(t, &t->spent.reference);
  unload(&c);
  buf_free(&why);
}

TnVerdict tn_trial_final(TnTrials *t, int rounds, bool narrows, int *ids, RtTiming *time, int *n,
                         Buf *why) {
  RtContender list[TN_MOST_KEPT + 1];
  RtStatus s = RT_OK;
  *n = 0;
  begin(t);
  for (int i = 0; i < t->nkept; i++) {
    ids[*n] = t->kept[i].id;
    list[(*n)++] = (RtContender){t->kept[i].of.program->symbol, rt_call_launch, t->kept[i].call};
  }
  if (t->nkept && tn_cublas_with(&t->now, t->gpu, t->kept[0].call, &list[*n])) ids[(*n)++] = -1;
  lap(t, &t->spent.cublas);
  bool stays[TN_MOST_KEPT + 1] = {0};
  double rested = 0;
  for (int i = 0; i < *n; i++) stays[i] = ids[i] < 0;
  s = *n ? rt_turns(t->gpu, list, *n, rounds, narrows, stays, time, &rested, why) : RT_OK;
  t->spent.rest += rested;
  for (int i = 0; i < t->nkept && s == RT_OK; i++) s = rt_call_guards(t->kept[i].call, why);
  lap(t, &t->spent.rounds);
  if (s != RT_OK) return fault(s, why);
  for (int i = 0; i < t->nkept; i++) unload(&t->kept[i]);
  t->nkept = 0;
  lap(t, &t->spent.unload);
  return TN_TRIAL_OK;
}
