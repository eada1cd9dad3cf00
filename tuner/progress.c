// What is seen while the search runs: on a terminal a table that is renewed, else new bests only.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tuner/internal.h"
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

// Of the terminal; what does not say its size is a small one.
static void size_of(int *rows, int *columns) {
  struct winsize w = {0};
  (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &w);
  *rows = w.ws_row ? w.ws_row : 24;
  *columns = w.ws_col ? w.ws_col : 80;
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
  buf_printf(b, "%.4f ms: %s", 1e-3 * c->median_us, buf_str(&text));
  buf_free(&text);
}

// The best few so far, at most so many, one a line.
static int put_table(const TnSearch *s, int most, Buf *b) {
  const TnCandidate *top[SHOWN];
  int n = 0;
  for (int k = 0; k < s->n; k++) {
    const TnCandidate *c = s->items[k].c;
    if (c->state != TN_MEASURED || c->early) continue;
    int at = n < most ? n++ : most;
    for (; at > 0 && c->median_us < top[at - 1]->median_us; at--)
      if (at < most) top[at] = top[at - 1];
    if (at < most) top[at] = c;
  }
  for (int i = 0; i < n; i++) {
    buf_puts(b, "\n  ");
    put_line(b, top[i]);
  }
  return n;
}

// On a terminal: written over what was there before, `drawn` lines above the cursor's. A line that
// went on in the next one would not be counted: it is cut.
static void draw(TnSearch *s, const Buf *text, int lines, int columns) {
  const char *p = buf_str(text);
  Buf out = {0}; // written at once: stderr has no buffer
  if (s->drawn) buf_printf(&out, "\033[%dA", s->drawn);
  buf_puts(&out, "\r\033[J");
  for (int at = 0; *p; p++) {
    bool first = ((unsigned char)*p & 0xc0) != 0x80; // of a character
    at = *p == '\n' ? 0 : at + first;
    if (at < columns) buf_putc(&out, *p);
  }
  fputs(buf_str(&out), stderr);
  buf_free(&out);
  s->drawn = lines;
}

bool tn_terminal(void) {
  const char *kind = getenv("TERM");
  return kind && strcmp(kind, "dumb") != 0 && isatty(STDERR_FILENO);
}

void tn_progress(TnSearch *s, bool last) {
  bool terminal = tn_terminal();
  double now = clock_seconds();
  Buf b = {0};
  if (terminal && last) draw(s, &b, 0, 0);
  if (last || !s->n) return;
  if (terminal ? now - s->last_line < 0.2 : s->best_us == s->shown_us) return;
  s->last_line = now;
  s->shown_us = s->best_us;
  const TnItem *best = best_item(s);
  buf_printf(&b, "%d of %d", s->done, s->n);
  if (s->found->failed) buf_printf(&b, ", %d failed", s->found->failed);
  if (terminal) {
    int rows, columns;
    size_of(&rows, &columns);
    put_left(s, &b);
    int lines = rows > 2 ? put_table(s, rows - 2 < SHOWN ? rows - 2 : SHOWN, &b) : 0;
    draw(s, &b, lines, columns);
  } else {
    if (best) buf_puts(&b, ", best ");
    if (best) put_line(&b, best->c);
    fprintf(stderr, "tlc: %s\n", buf_str(&b));
  }
  fflush(stderr);
  buf_free(&b);
}
