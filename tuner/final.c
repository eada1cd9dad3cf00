// The final round: the best few take turns on the same buffers, several times, so that neither the
// GPU's temperature nor noise chooses the winner.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tuner/search.h"

enum { ROUNDS = 7, KEEP_S = 600, FINAL_S = 600 };
#define NEAR 1.10 // times the best: farther ones cannot win

static int choose(TnSearch *s, TnItem **out) {
  TnItem **all = NEWN(s->space->arena, TnItem *, s->n + 1);
  int n = 0, chosen = 0, wanted = s->w->options->tune.finalists,
      most = wanted ? wanted : TN_FINALISTS;
  for (int k = 0; k < s->n; k++)
    if (s->items[k].c->state == TN_MEASURED && !s->items[k].c->early) all[n++] = &s->items[k];
  qsort(all, (size_t)n, sizeof *all, tn_by_median);
  for (; chosen < n && chosen < most; chosen++) {
    if (!wanted && all[chosen]->c->median_us > NEAR * all[0]->c->median_us) break;
    out[chosen] = all[chosen];
  }
  return chosen;
}

/* ------------------------------------------------------------------ the cache */

static TnHash final_key(const TnSearch *s, TnItem *const *list, int n) {
  TnKey k;
  int rounds = ROUNDS, narrows = s->w->options->tune.finalists == 0;
  tn_key_begin(&k);
  tn_key_add(&k, "final, with rests", &rounds, sizeof rounds);
  tn_key_add(&k, "narrows", &narrows, sizeof narrows);
  for (int i = 0; i < n; i++) tn_key_add(&k, "of", &list[i]->key, sizeof list[i]->key);
  return tn_key_end(&k);
}

// A line "time id= median= lo= hi=", where id counts the finalists.
static void apply_time(TnSearch *s, TnItem *const *list, int n, const TnMessage *m) {
  int at = (int)tn_wire_get_int(m, "at", -2);
  double us = tn_wire_get_time(m, "median"), lo = tn_wire_get_time(m, "lo");
  double hi = tn_wire_get_time(m, "hi");
  if (at == -1) s->found->reference_us = us;
  if (at < 0 || at >= n || !(us > 0)) return;
  list[at]->c->final_us = us;
  list[at]->c->final_lo = lo > 0 ? lo : us;
  list[at]->c->final_hi = hi > 0 ? hi : us;
}

static void apply_lines(TnSearch *s, TnItem *const *list, int n, const Buf *lines) {
  const char *p = buf_str(lines);
  for (size_t len; *p; p += len + (p[len] == '\n')) {
    len = strcspn(p, "\n");
    TnMessage m = tn_wire_parse(s->space->arena, p, len);
    apply_time(s, list, n, &m);
  }
}

/* ------------------------------------------------------------------ the round */

static void need_builds(TnSearch *s, TnItem *const *list, int n) {
  s->stage = TN_FINALISTS_BUILT;
  for (int k = 0; k < n; k++) {
    if (list[k]->shared) tn_alone(s, list[k]); // the last word is about what will be written
    if (!list[k]->lib) tn_build_one(s, list[k]);
    tn_account(s);
  }
  if (tn_pool_load(s->w->pool)) tn_prepare_next(s);
  while (tn_pool_load(s->w->pool) && !tn_interrupted && !s->trouble) {
    tn_account(s);
    (void)tn_workshop_wait(s->w, NULL, NULL, 500);
    tn_take_builds(s);
  }
  tn_take_builds(s);
  s->stage = TN_ROUNDS;
  tn_account(s);
}

static bool need_lock(TnSearch *s) {
  while (!tn_take_gpu(s)) {
    tn_account(s);
    if (tn_interrupted) return false;
    (void)poll(NULL, 0, 100);
  }
  tn_account(s);
  return true;
}

// The next message but notes; false when none came in time, or the runner is gone.
static bool next_answer(TnSearch *s, double seconds, TnMessage *m) {
  double deadline = clock_seconds() + seconds;
  while (tn_session_wait(&s->w->session, s->space->arena, deadline, m)) {
    tn_spent_add(&s->found->spent, m);
    if (strcmp(m->verb, "note") && strcmp(m->verb, "started")) return true;
    if (!strcmp(m->verb, "started")) deadline = clock_seconds() + tn_limit(s->space) + 10;
  }
  return false;
}

static bool send_and_hear(TnSearch *s, Buf *b, double seconds, TnMessage *m) {
  tn_session_send(&s->w->session, b);
  b->len = 0;
  return next_answer(s, seconds, m);
}

// The finalists, and those of them that still play.
typedef struct {
  TnItem *all[TN_MOST_FINALISTS], *list[TN_MOST_FINALISTS];
  int nall, n;
  TnItem *bad; // whom the runner did not keep; NULL: none
  TnMessage why;
} Round;

static int index_of(const Round *r, int64_t id) {
  for (int k = 0; k < r->nall; k++)
    if (r->all[k]->c->id == id) return k;
  return id == -1 ? -1 : -2;
}

// False: the runner does not keep it; r->bad, r->why.
static bool keep_one(TnSearch *s, Round *r, TnItem *i) {
  Buf b = {0};
  TnMessage m = {0};
  tn_candidate_message(s, i, "keep", &b);
  bool heard = send_and_hear(s, &b, KEEP_S, &m), kept = heard && !strcmp(m.verb, "kept");
  buf_free(&b);
  if (kept) return true;
  r->bad = i;
  r->why = heard ? m : (TnMessage){.verb = "hung"};
  return false;
}

// Lines of times into `lines`. False: the runner lost its GPU, or hangs, or did not keep r->bad.
static bool play(TnSearch *s, Round *r, Buf *lines) {
  Buf b = {0};
  TnMessage m = {0};
  bool ok = true;
  r->bad = NULL;
  for (int k = 0; k < r->n && ok; k++) ok = keep_one(s, r, r->list[k]);
  if (ok) {
    tn_wire_verb(&b, "final");
    tn_wire_int(&b, "rounds", ROUNDS);
    tn_wire_int(&b, "narrows", s->w->options->tune.finalists == 0);
    tn_wire_end(&b);
    ok = send_and_hear(s, &b, FINAL_S, &m);
  }
  while (ok && !strcmp(m.verb, "time")) {
    tn_wire_verb(lines, "time");
    tn_wire_int(lines, "at", index_of(r, tn_wire_get_int(&m, "id", -2)));
    tn_wire_real(lines, "median", tn_wire_get_time(&m, "median"));
    tn_wire_real(lines, "lo", tn_wire_get_time(&m, "lo"));
    tn_wire_real(lines, "hi", tn_wire_get_time(&m, "hi"));
    tn_wire_end(lines);
    ok = next_answer(s, FINAL_S, &m);
  }
  buf_free(&b);
  return ok && !strcmp(m.verb, "end");
}

static void leave_out(Round *r, const TnItem *bad) {
  int m = 0;
  for (int k = 0; k < r->n; k++)
    if (r->list[k] != bad && r->list[k]->lib) r->list[m++] = r->list[k];
  r->n = m;
}

static bool restart(TnWorkshop *w) {
  tn_session_stop(&w->session, true, NULL);
  return tn_workshop_restart(w);
}

// One that is not kept is believed to be bad if a runner that has had no other keeps it neither.
// `fresh`: this one was new.
static void accuse(TnSearch *s, Round *r, bool fresh) {
  TnItem *bad = r->bad;
  if (bad == r->list[0] && !fresh) return; // the next runner says so
  bool sure = bad == r->list[0] || (restart(s->w) && !keep_one(s, r, bad));
  if (sure && !tn_interrupted) tn_reject(s, bad, &r->why);
  leave_out(r, bad);
}

static void play_all(TnSearch *s, Round *r, Buf *lines) {
  int attempts = 0;
  need_builds(s, r->list, r->n);
  leave_out(r, NULL);
  for (bool again = false; attempts < 3 && r->n && !tn_interrupted && !s->trouble; again = true) {
    if (!need_lock(s)) return;
    // A runner that lives has the data; after trouble a new one is to say whose it was.
    bool fresh = again || !s->w->session.alive;
    if (fresh && !restart(s->w)) return;
    lines->len = 0;
    if (play(s, r, lines)) return;
    lines->len = 0;
    if (tn_interrupted) return;
    if (r->bad) accuse(s, r, fresh);
    else attempts++;
  }
  if (!tn_interrupted && attempts)
    fprintf(stderr, "tlc: the final round failed: the ranking is that of the single runs\n");
}

static void choose_best(TnSearch *s) {
  const TnCandidate *best = NULL;
  for (int k = 0; k < s->n; k++) {
    const TnCandidate *c = s->items[k].c;
    if (c->state != TN_MEASURED || c->early) continue;
    bool better =
        !best || (c->final_us > 0 && (best->final_us == 0 || c->final_us < best->final_us));
    if (best && !best->final_us && !c->final_us) better = c->median_us < best->median_us;
    if (better) best = c;
  }
  s->found->best = best ? best->id : -1;
}

// False: there is nobody left of those that were chosen.
static bool play_once(TnSearch *s) {
  Round r = {0};
  r.n = r.nall = choose(s, r.all);
  TnHash key = final_key(s, r.all, r.nall);
  Buf lines = {0};
  memcpy(r.list, r.all, sizeof r.all);
  bool known = r.n && tn_db_get(s->w->db, &key, &lines);
  if (r.n && !known) play_all(s, &r, &lines);
  if (lines.len && !known && r.n == r.nall) tn_db_put(s->w->db, &key, lines.data, lines.len);
  apply_lines(s, r.all, r.nall, &lines);
  bool none = !known && r.nall && !r.n && !s->trouble && !tn_interrupted;
  buf_free(&lines);
  return !none;
}

void tn_final(TnSearch *s) {
  while (!play_once(s)) {}
  choose_best(s);
}
