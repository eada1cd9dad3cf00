// What is seen while the search runs: a line that is renewed on a terminal, else new bests only.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>

#include "tuner/search.h"

static const TnItem *best_item(const TnSearch *s) {
  for (int k = 0; k < s->n; k++) {
    const TnCandidate *c = s->items[k].c;
    if (c->state == TN_MEASURED && !c->early && c->median_us == s->best_us) return &s->items[k];
  }
  return NULL;
}

// By what the candidates so far took; the cached ones took nothing.
static void put_left(const TnSearch *s, Buf *b) {
  int made = s->done - s->found->cached, left = s->n - s->done;
  if (!made || !left) return;
  int seconds = (int)((tn_now() - s->begin) / made * left + 0.5);
  buf_printf(b, ", about %d:%02d left", seconds / 60, seconds % 60);
}

static void put_best(const TnSearch *s, Buf *b) {
  const TnItem *best = best_item(s);
  if (!best) return;
  Buf text = {0};
  tn_text(best->c, &text);
  buf_printf(b, ", best %.4f ms (%s)", 1e-3 * s->best_us, buf_str(&text));
  buf_free(&text);
}

void tn_progress(TnSearch *s, bool last) {
  bool terminal = isatty(STDERR_FILENO);
  double now = tn_now();
  if (terminal && last) fputs("\r\033[K", stderr);
  if (last || !s->n) return;
  if (terminal ? now - s->last_line < 0.2 : s->best_us == s->shown_us) return;
  s->last_line = now;
  s->shown_us = s->best_us;
  Buf b = {0};
  buf_printf(&b, "%d of %d", s->done, s->n);
  if (s->found->failed) buf_printf(&b, ", %d failed", s->found->failed);
  if (terminal) put_left(s, &b);
  put_best(s, &b);
  if (terminal) fprintf(stderr, "\r\033[K%.*s", 200, buf_str(&b));
  else fprintf(stderr, "tlc: %s\n", buf_str(&b));
  fflush(stderr);
  buf_free(&b);
}
