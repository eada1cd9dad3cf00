// What is seen while the search runs: on a terminal a table that is renewed, else new bests only.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>

#include "tuner/search.h"

enum { SHOWN = 5 };

static const TnItem *best_item(const TnSearch *s) {
  const TnItem *best = NULL;
  for (int k = 0; k < s->n; k++) {
    const TnCandidate *c = s->items[k].c;
    if (c->state != TN_MEASURED || c->early) continue;
    if (!best || c->median_us < best->c->median_us) best = &s->items[k];
  }
  return best;
}

// By what the candidates so far took; the cached ones took nothing.
static void put_left(const TnSearch *s, Buf *b) {
  int made = s->done - s->found->cached, left = s->n - s->done;
  if (!made || !left) return;
  int seconds = (int)((clock_seconds() - s->begin) / made * left + 0.5);
  buf_printf(b, ", about %d:%02d left", seconds / 60, seconds % 60);
}

static void put_line(Buf *b, const TnCandidate *c) {
  Buf text = {0};
  tn_label(c, &text);
  buf_printf(b, "%.4f ms: %.150s", 1e-3 * c->median_us, buf_str(&text));
  buf_free(&text);
}

// The best few so far, one a line.
static int put_table(const TnSearch *s, Buf *b) {
  const TnCandidate *top[SHOWN];
  int n = 0;
  for (int k = 0; k < s->n; k++) {
    const TnCandidate *c = s->items[k].c;
    if (c->state != TN_MEASURED || c->early) continue;
    int at = n < SHOWN ? n++ : SHOWN;
    for (; at > 0 && c->median_us < top[at - 1]->median_us; at--)
      if (at < SHOWN) top[at] = top[at - 1];
    if (at < SHOWN) top[at] = c;
  }
  for (int i = 0; i < n; i++) {
    buf_puts(b, "\n  ");
    put_line(b, top[i]);
  }
  return n;
}

// On a terminal: written over what was there before, `drawn` lines above the cursor's.
static void draw(TnSearch *s, const Buf *text, int lines) {
  if (s->drawn) fprintf(stderr, "\033[%dA", s->drawn);
  fprintf(stderr, "\r\033[J%s", buf_str(text));
  s->drawn = lines;
}

void tn_progress(TnSearch *s, bool last) {
  bool terminal = isatty(STDERR_FILENO);
  double now = clock_seconds();
  Buf b = {0};
  if (terminal && last) draw(s, &b, 0);
  if (last || !s->n) return;
  if (terminal ? now - s->last_line < 0.2 : s->best_us == s->shown_us) return;
  s->last_line = now;
  s->shown_us = s->best_us;
  const TnItem *best = best_item(s);
  buf_printf(&b, "%d of %d", s->done, s->n);
  if (s->found->failed) buf_printf(&b, ", %d failed", s->found->failed);
  if (terminal) {
    put_left(s, &b);
    int lines = put_table(s, &b);
    draw(s, &b, lines);
  } else {
    if (best) buf_puts(&b, ", best ");
    if (best) put_line(&b, best->c);
    fprintf(stderr, "tlc: %s\n", buf_str(&b));
  }
  fflush(stderr);
  buf_free(&b);
}
