// Results of candidates: their keys, what the cache holds of them, what the runner answered.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"
#include "tuner/search.h"

// The version of what is done with a candidate: checks and timing. A change makes old results void.
static const char method[] = "4";

static int by_name(const void *a, const void *b) {
  return strcmp(((const EvBinding *)a)->name, ((const EvBinding *)b)->name);
}

void tn_key_bindings(TnKey *k, const char *what, const TnBindings *list) {
  Arena *a = arena_new();
  size_t n = (size_t)list->len;
  EvBinding *sorted = arena_copy(a, list->data, n * sizeof *sorted);
  if (n) qsort(sorted, n, sizeof *sorted, by_name);
  for (size_t i = 0; i < n; i++) {
    tn_key_text(k, what, sorted[i].name);
    tn_key_text(k, what, sorted[i].value);
  }
  arena_free(a);
}

static void add_number(TnKey *k, const char *name, double value) {
  tn_key_add(k, name, &value, sizeof value);
}

TnHash tn_item_key(const TnSearch *s, const TnCandidate *c, const TnShared *shared) {
  const Options *o = s->w->options;
  const TnSpace *space = s->space;
  TnKey k;
  tn_key_begin(&k);
  tn_key_text(&k, "method", method);
  tn_key_text(&k, "tlc", tlc_version);
  tn_key_add(&k, "code", c->sha, sizeof c->sha);
  if (shared) tn_key_add(&k, "built as", &shared->hash, sizeof shared->hash);
  tn_key_text(&k, "gpu", s->w->gpu);
  tn_key_text(&k, "arch", s->w->arch);
  add_number(&k, "driver", s->w->driver);
  tn_key_text(&k, "nvcc", s->w->nvcc);
  tn_key_bindings(&k, "size", &c->sizes);
  add_number(&k, "seed", (double)o->seed);
  add_number(&k, "integers", o->integers);
  for (int i = 0; i < o->in.len; i++) {
    tn_key_text(&k, "in", o->in.data[i].key);
    tn_key_text(&k, "in", s->w->inputs[i]);
  }
  add_number(&k, "rtol", o->rtol);
  add_number(&k, "atol", o->atol);
  tn_key_text(&k, "declared rtol", space->rtol);
  tn_key_text(&k, "declared atol", space->atol);
  tn_key_text(&k, "mismatch", space->mismatch);
  tn_key_text(&k, "reference", space->reference);
  add_number(&k, "cold", o->cold_l2);
  add_number(&k, "warmup", o->tune.warmup);
  add_number(&k, "rep", o->tune.rep);
  tn_key_text(&k, "declared warmup", space->warmup);
  tn_key_text(&k, "declared rep", space->rep);
  add_number(&k, "limit", tn_limit(s->space));
  return tn_key_end(&k);
}

/* ------------------------------------------------------------------ answers */

typedef struct {
  const char *verb;
  TnState state;
} Outcome;

static const Outcome outcomes[] = {
    {"measured", TN_MEASURED}, {"wrong", TN_WRONG}, {"failed", TN_FAULTED},
    {"fault", TN_FAULTED},     {"hung", TN_HUNG},   {"build", TN_BUILD_FAILED},
};

static const Outcome *outcome_of(const TnMessage *m) {
  for (size_t i = 0; i < LEN(outcomes); i++)
    if (!strcmp(m->verb, outcomes[i].verb)) return &outcomes[i];
  return NULL;
}

bool tn_is_answer(const TnMessage *m) { return outcome_of(m) != NULL; }

static bool apply(TnSearch *s, TnItem *i, const TnMessage *m) {
  const Outcome *o = outcome_of(m);
  const char *text = tn_wire_get(m, "text");
  if (!o) return false;
  TnCandidate *c = i->c;
  c->state = o->state;
  c->by_shared = i->shared != NULL;
  c->reason = o->state == TN_MEASURED ? NULL : tn_plain(s->space->arena, text ? text : m->verb);
  c->median_us = tn_wire_get_time(m, "median");
  c->mean_us = tn_wire_get_time(m, "mean");
  c->min_us = tn_wire_get_time(m, "min");
  c->early = tn_wire_get_int(m, "early", 0) != 0;
  if (c->as.registers < 0) {
    c->as.registers = (int)tn_wire_get_int(m, "registers", -1);
    c->as.spills = (int)tn_wire_get_int(m, "spills", -1);
  }
  if (o->state == TN_MEASURED && !(c->median_us > 0)) return false;
  i->phase = TN_DONE;
  s->done++;
  s->found->failed += o->state != TN_MEASURED;
  double most = c->by_shared && c->rough ? TN_ROUGH * c->median_us : c->median_us;
  if (o->state == TN_MEASURED && !c->early && (s->best_us == 0 || most < s->best_us))
    s->best_us = most;
  return true;
}

static bool recall(TnSearch *s, TnItem *i) {
  Buf b = {0};
  i->key = tn_item_key(s, i->c, i->shared);
  bool found = tn_db_get(s->w->db, &i->key, &b);
  if (found) {
    TnMessage m = tn_wire_parse(s->space->arena, b.data, b.len);
    found = apply(s, i, &m);
    s->found->cached += found;
    i->recalled = found;
  }
  buf_free(&b);
  return found;
}

void tn_alone(const TnSearch *s, TnItem *i) {
  i->shared = NULL;
  i->lib = NULL;
  i->phase = TN_WAITING;
  i->key = tn_item_key(s, i->c, NULL);
}

// Its own build's result counts more than that of the one that sizes share.
bool tn_recall(TnSearch *s, TnItem *i) {
  i->shared = NULL;
  if (recall(s, i)) return true;
  i->shared = i->c->shared;
  if (i->shared && recall(s, i)) return true;
  if (i->shared && i->shared->unused) tn_alone(s, i);
  return false;
}

static void store(TnSearch *s, const TnItem *i, const TnMessage *m) {
  Buf b = {0};
  tn_wire_verb(&b, m->verb);
  for (int k = 0; k < m->fields.len; k++)
    tn_wire_text(&b, m->fields.data[k].name, m->fields.data[k].value);
  if (i->c->as.registers >= 0) {
    tn_wire_int(&b, "registers", i->c->as.registers);
    tn_wire_int(&b, "spills", i->c->as.spills);
  }
  tn_db_put(s->w->db, &i->key, b.data, b.len);
  buf_free(&b);
}

void tn_decide(TnSearch *s, TnItem *i, const TnMessage *m, bool keep) {
  if (i->shared && strcmp(m->verb, "measured")) { // what is never shipped has not the last word
    i->shared->unused = true;
    tn_alone(s, i);
    return;
  }
  s->found->tried++;
  if (!apply(s, i, m)) {
    TnMessage odd = {.verb = "fault"};
    vec_push(s->space->arena, &odd.fields, (TnField){"text", "the runner's answer is none"});
    apply(s, i, &odd);
    return;
  }
  if (!keep) return;
  if (s->w->session.alive) tn_run_next(s); // the runner need not wait until this is written
  store(s, i, m);
}

void tn_reject(TnSearch *s, TnItem *i, const TnMessage *m) {
  TnMessage odd = {.verb = "fault"};
  Arena *a = s->space->arena;
  const char *text = tn_wire_get(m, "text");
  bool known = tn_is_answer(m) && strcmp(m->verb, "measured") != 0;
  if (known) odd.verb = m->verb;
  if (!text) text = known ? "it does not end" : "the runner's answer is none";
  text = arena_printf(a, "in the final round: %s", tn_plain(a, text));
  vec_push(a, &odd.fields, (TnField){"text", text});
  s->done--;
  apply(s, i, &odd);
  store(s, i, &odd);
}
