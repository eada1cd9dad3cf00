// Text form of layouts, as the header shows it: owners are t(hread), r(egister), o(ffset).
// SPDX-License-Identifier: MIT
#include "ir/layout.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char owner_letter[] = "tro"; // by DigitOwner

void layout_print(const Layout *l, Buf *out) {
  buf_puts(out, "layout(");
  for (int i = 0; i < l->ndims; i++)
    buf_printf(out, "%s%lld", i ? "x" : "", (long long)l->shape[i]);
  buf_printf(out, ": %d bits, %d threads", l->bits, l->threads);
  for (int i = 0; i < l->ngroups; i++) {
    const DigitGroup *g = &l->group[i];
    buf_printf(out, "; %d", g->first);
    if (g->n > 1) buf_printf(out, "..%d", g->first + g->n - 1);
    buf_puts(out, ":");
    for (int j = 0; j < g->ndigits; j++)
      buf_printf(out, " %lld%c%lld", (long long)g->digit[j].extent, owner_letter[g->digit[j].owner],
                 (long long)g->digit[j].stride);
  }
  for (int i = 0; i < l->nreplicas; i++)
    buf_printf(out, "; rep %lldt%lld", (long long)l->replica[i].extent,
               (long long)l->replica[i].stride);
  if (l->swizzle) buf_printf(out, "; xor %d", l->swizzle);
  buf_puts(out, ")");
}

/* ------------------------------------------------------------------ reading */

static void blanks(const char **s) {
  while (isspace((unsigned char)**s)) (*s)++;
}

static bool word(const char **s, const char *w) {
  blanks(s);
  size_t n = strlen(w);
  if (strncmp(*s, w, n)) return false;
  *s += n;
  return true;
}

static bool number(const char **s, int64_t *v) {
  blanks(s);
  if (!isdigit((unsigned char)**s)) return false;
  char *end;
  *v = strtoll(*s, &end, 10);
  *s = end;
  return true;
}

static bool read_digit(const char **s, Digit *d) {
  if (!number(s, &d->extent)) return false;
  const char *o = **s ? strchr(owner_letter, **s) : NULL;
  if (!o) return false;
  d->owner = (DigitOwner)(o - owner_letter);
  (*s)++;
  return number(s, &d->stride) && d->extent > 0 && d->stride > 0;
}

static bool read_shape(Arena *a, const char **s, Layout *l) {
  int64_t shape[16], v, bits, threads;
  while (number(s, &v)) {
    if (l->ndims == 16 || v < 1) return false;
    shape[l->ndims++] = v;
    if (!word(s, "x")) break;
  }
  l->shape = arena_copy(a, shape, sizeof(int64_t) * (size_t)(l->ndims + !l->ndims));
  if (!word(s, ":") || !number(s, &bits) || !word(s, "bits") || !word(s, ",")) return false;
  if (!number(s, &threads) || !word(s, "threads") || bits < 1 || bits > 128) return false;
  l->bits = (int)bits;
  l->threads = (int)threads;
  l->group = NEWN(a, DigitGroup, 17);
  l->replica = NEWN(a, Replica, 9);
  return threads >= 0 && threads <= 1024;
}

static bool read_group(Arena *a, const char **s, Layout *l, int64_t first) {
  int64_t last = first;
  if (word(s, "..") && !number(s, &last)) return false;
  if (!word(s, ":") || l->ngroups == 16 || last < first || last >= l->ndims) return false;
  DigitGroup *g = &l->group[l->ngroups++];
  *g = (DigitGroup){.first = (int)first, .n = (int)(last - first + 1), .digit = NEWN(a, Digit, 25)};
  for (;;) {
    blanks(s);
    if (!isdigit((unsigned char)**s)) return true;
    if (g->ndigits == 24 || !read_digit(s, &g->digit[g->ndigits++])) return false;
  }
}

static bool read_part(Arena *a, const char **s, Layout *l) {
  int64_t v;
  if (word(s, "rep")) {
    Digit d;
    if (l->nreplicas == 8 || !read_digit(s, &d)) return false;
    l->replica[l->nreplicas++] = (Replica){d.extent, d.stride};
    return true;
  }
  if (word(s, "xor")) {
    if (!number(s, &v) || v > 3) return false;
    l->swizzle = (int)v;
    return true;
  }
  return number(s, &v) && read_group(a, s, l, v);
}

Layout *layout_parse(Arena *a, const char **text) {
  Layout *l = NEW(a, Layout);
  if (!word(text, "layout") || !word(text, "(") || !read_shape(a, text, l)) return NULL;
  while (word(text, ";"))
    if (!read_part(a, text, l)) return NULL;
  if (!word(text, ")")) return NULL;
  int next = 0;
  for (int i = 0; i < l->ngroups; i++) {
    if (l->group[i].first != next) return NULL;
    next += l->group[i].n;
  }
  return next == l->ndims ? l : NULL;
}
