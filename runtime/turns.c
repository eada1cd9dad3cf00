// Contenders in turns on a GPU that throttles under load: rounds of short bursts, and rests between
// them where, and as long as, the times ask for it.
// SPDX-License-Identifier: MIT
#include "private.h"

#include <math.h>
#include <stdlib.h>

#define COOL_S 0.1        // without load before the first round
#define FIRST_REST_S 0.04 // then twice as long each time, up to
#define MOST_REST_S 0.16
#define HEAT_S 0.03    // kernels may run so long from one rest to the next
#define THROTTLED 1.02 // times a contender's least
#define BEHIND 1.03    // times the best: farther ones sit out, after
enum { ROUNDS_OF_ALL = 2 };

typedef struct {
  const RtTurns *o;
  RtTurnsResult *out;
  double *now, *least; // ms a launch: of this round, of all rounds
  bool *out_of_it;
  double rest_s, heat_s;
} Play;

static void rest(Play *p, double seconds) {
  if (seconds <= 0) return;
  p->o->rest(p->o->ctx, seconds);
  p->out->rested_s += seconds;
  p->heat_s = 0;
}

static RtStatus play_round(Play *p, int round, Buf *err) {
  const RtTurns *o = p->o;
  RtStatus s = RT_OK;
  double cool = COOL_S - (o->heat_s < HEAT_S ? o->idle_s : 0);
  rest(p, round || p->rest_s > 0 ? p->rest_s : cool);
  for (int k = 0; k < o->n && s == RT_OK; k++) {
    int i = rt_turn(round, k, o->n);
    double busy_s = 0;
    if (p->out_of_it[i]) continue;
    if (p->rest_s > 0 && p->heat_s >= HEAT_S) rest(p, p->rest_s);
    s = o->burst(o->ctx, i, &p->now[i], &busy_s, err);
    p->heat_s += busy_s;
  }
  return s;
}

// Two contenders, where there are as many, are slower than they can be: one alone may be noise.
static bool throttled(Play *p) {
  int slow = 0, playing = 0;
  for (int i = 0; i < p->o->n; i++) {
    if (p->out_of_it[i]) continue;
    p->least[i] = fmin(p->least[i], p->now[i]);
    slow += p->now[i] > THROTTLED * p->least[i];
    playing++;
  }
  return slow >= (playing > 1 ? 2 : 1);
}

static void send_out(Play *p) {
  double best = INFINITY;
  for (int i = 0; i < p->o->n; i++)
    if (!p->o->stays || !p->o->stays[i]) best = fmin(best, p->least[i]);
  for (int i = 0; i < p->o->n; i++)
    p->out_of_it[i] = !(p->o->stays && p->o->stays[i]) && p->least[i] > BEHIND * best;
}

RtStatus rt_turns_play(const RtTurns *o, RtTurnsResult *out, Buf *err) {
  Arena *a = arena_new();
  Play p = {.o = o, .out = out, .now = NEWN(a, double, o->n), .least = NEWN(a, double, o->n)};
  RtStatus s = RT_OK;
  p.out_of_it = NEWN(a, bool, o->n);
  out->rested_s = 0;
  p.heat_s = o->heat_s;
  for (int i = 0; i < o->n; i++) {
    p.least[i] = INFINITY;
    out->rounds[i] = 0;
  }
  for (int round = 0; round < o->rounds && s == RT_OK;) {
    s = play_round(&p, round, err);
    if (s == RT_OK && throttled(&p) && p.rest_s < MOST_REST_S) {
      p.rest_s = p.rest_s > 0 ? 2 * p.rest_s : FIRST_REST_S;
      continue; // it does not count
    }
    for (int i = 0; i < o->n && s == RT_OK; i++)
      if (!p.out_of_it[i]) out->ms[i][out->rounds[i]++] = p.now[i];
    if (++round == ROUNDS_OF_ALL && o->narrows) send_out(&p);
  }
  arena_free(a);
  return s;
}
