// --report: what a search found as one HTML page that needs nothing beside it: the ranking, latency
// over each parameter, the roofline, failures by reason.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/chart.h"
#include "tuner/internal.h"
#include "tuner/results.h"

enum { SHOWN = 100, MOST_MARKS = 24 };

static const char style[] =
    "<style>body{font:14px/1.4 sans-serif;margin:2em auto;max-width:70em;padding:0 1em}"
    "table{border-collapse:collapse}td,th{padding:.15em .7em;text-align:right}"
    "td:last-child,th:last-child{text-align:left}tr:nth-child(even){background:#f3f3f3}"
    "tr.best{font-weight:bold}svg text{font-size:11px;fill:#444}svg .r{text-anchor:end}"
    "svg .m{text-anchor:middle}svg .g{stroke:#ddd}svg .f{stroke:#a33;fill:none;stroke-width:1.5}"
    "svg .p{fill:#36c;fill-opacity:.5}svg .s{fill:#c30}</style>\n";

static const char *text_of(Arena *a, const TnCandidate *c) {
  Buf b = {0};
  tn_label(c, &b);
  const char *text = arena_str(a, buf_str(&b));
  buf_free(&b);
  return text;
}

/* ------------------------------------------------------------------ tables */

static void row(Buf *b, Arena *a, const TnCandidate *c, int rank, bool best) {
  double us = tn_best_us(c);
  buf_printf(b, "<tr%s><td>%d<td>%.4f<td>", best ? " class=best" : "", rank, 1e-3 * us);
  if (c->final_us > 0) buf_printf(b, "%.4f &ndash; %.4f", 1e-3 * c->final_lo, 1e-3 * c->final_hi);
  buf_puts(b, "<td>");
  if (c->model.flops > 0 && us > 0) buf_printf(b, "%.1f", c->model.flops / us * 1e-6);
  buf_printf(b, "<td>%.4f<td>%s<td>%d<td>%.2f<td>%.1f<td>%s<td>", 1e-3 * c->model.us,
             c->model.bound ? c->model.bound : "", c->model.occupancy, c->model.waves,
             (double)c->smem / 1024, c->early ? "given up early" : "");
  tn_put_html(b, text_of(a, c));
  buf_putc(b, '\n');
}

static void ranking(Buf *b, const TnResult *r) {
  const TnSpace *s = r->space;
  int *order = NEWN(s->arena, int, s->all.len + 1), n = tn_rank(s, order);
  buf_puts(b, "<h3>Ranking</h3>\n<table><tr><th><th>ms<th>95 % (final round)<th>TFLOP/s"
              "<th>model ms<th>bound<th>blocks an SM<th>waves<th>smem KB<th><th>candidate\n");
  for (int i = 0; i < n && i < SHOWN; i++) {
    const TnCandidate *c = &s->all.data[order[i]];
    row(b, s->arena, c, i + 1, c->id == r->found.best);
  }
  buf_puts(b, "</table>\n");
  if (n > SHOWN) buf_printf(b, "<p>%d more</p>\n", n - SHOWN);
}

static void failures(Buf *b, const TnSpace *s) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  if (!f) return;
  tn_failures(s, f);
  fclose(f);
  if (n) {
    buf_puts(b, "<h3>What does not rank, by reason</h3>\n<pre>");
    tn_put_html(b, text);
    buf_puts(b, "</pre>\n");
  }
  free(text);
}

/* ------------------------------------------------------------------ charts */

static bool charted(const TnResult *r, const TnCandidate *c) {
  return tn_best_us(c) > 0 && (r->gpu ? c->state == TN_MEASURED : c->state <= TN_BUILT) &&
         c->state != TN_PRUNED && c->state != TN_DUPLICATE;
}

static const char *value_of(const TnCandidate *c, const char *name) {
  const TnBindings *lists[] = {&c->bindings, &c->flags};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < lists[k]->len; i++)
      if (!strcmp(lists[k]->data[i].name, name)) return lists[k]->data[i].value;
  return NULL;
}

// The number of a value among the marks, in order of their appearance in the space.
static int mark_of(const char **marks, int *n, const char *value) {
  for (int i = 0; i < *n; i++)
    if (!strcmp(marks[i], value)) return i;
  if (*n == MOST_MARKS) return -1;
  marks[*n] = value;
  return (*n)++;
}

static void chart_of(Buf *b, const TnResult *r, const char *name) {
  const TnSpace *s = r->space;
  const char *marks[MOST_MARKS];
  TnPoint *points = NEWN(s->arena, TnPoint, s->all.len + 1);
  int nmarks = 0, n = 0;
  for (int i = 0; i < s->all.len; i++) {
    const TnCandidate *c = &s->all.data[i];
    const char *value = value_of(c, name);
    int at = charted(r, c) && value ? mark_of(marks, &nmarks, value) : -1;
    if (at < 0) continue;
    double ms = 1e-3 * tn_best_us(c);
    points[n++] = (TnPoint){at, ms, arena_printf(s->arena, "%.4f ms: %s", ms, text_of(s->arena, c)),
                            c->id == r->found.best};
  }
  if (nmarks < 2) return;
  TnChart chart = {
      .x_name = name, .y_name = "ms", .x_mark = marks, .nmarks = nmarks, .points = points, .n = n};
  tn_chart(&chart, b);
}

static void parameters(Buf *b, const TnResult *r) {
  const TnSpace *s = r->space;
  Map *names = map_new(s->arena);
  for (int i = 0; i < s->all.len; i++) {
    const TnBindings *lists[] = {&s->all.data[i].bindings, &s->all.data[i].flags};
    for (int k = 0; k < 2; k++)
      for (int m = 0; m < lists[k]->len; m++) map_set(names, lists[k]->data[m].name, (void *)s);
  }
  buf_puts(b, "<h3>Latency over each parameter</h3>\n");
  for (int i = 0; i < map_len(names); i++) chart_of(b, r, map_key(names, i));
}

static void roofline(Buf *b, const TnResult *r) {
  const TnSpace *s = r->space;
  TnFigures f;
  TnPoint *points = NEWN(s->arena, TnPoint, s->all.len + 1);
  int n = 0;
  double roof = 0; // of the tensor cores, for the types and instructions of these products
  for (int i = 0; i < s->all.len; i++) {
    const TnCandidate *c = &s->all.data[i];
    if (!charted(r, c) || !(c->model.flops > 0) || !(c->model.hbm_bytes > 0)) continue;
    if (c->model.tensor_us > 0) roof = fmax(roof, c->model.flops / c->model.tensor_us * 1e-6);
    double rate = c->model.flops / tn_best_us(c) * 1e-6;
    points[n++] = (TnPoint){c->model.flops / c->model.hbm_bytes, rate,
                            arena_printf(s->arena, "%.1f TFLOP/s: %s", rate, text_of(s->arena, c)),
                            c->id == r->found.best};
  }
  if (!n || !roof || !tn_figures(s->target, s->options->tune.figures, &f)) return;
  TnChart chart = {.x_name = "FLOP a byte of the GPU's memory, as the model counts them",
                   .y_name = "TFLOP/s",
                   .log_x = true,
                   .points = points,
                   .n = n,
                   .roof_y = roof,
                   .slope = 1e-3 * f.hbm};
  buf_printf(b, "<h3>Roofline (%s: %.0f TFLOP/s of these products, %.0f GB/s)</h3>\n", f.name, roof,
             f.hbm);
  tn_chart(&chart, b);
}

/* ------------------------------------------------------------------ the page */

static void section(Buf *b, const TnResult *r, const char *sweep) {
  const TnCandidate *best = tn_best(r);
  if (sweep) {
    buf_printf(b, "<h2>%s = ", sweep);
    tn_put_html(b, r->swept);
    buf_puts(b, "</h2>\n");
  }
  buf_printf(b, "<p>%d candidates, from ", r->space->all.len);
  tn_put_html(b, r->space->from);
  buf_printf(b, "; %d failed.", r->found.failed);
  if (best) {
    buf_printf(b, " Best latency: %.4f ms: ", 1e-3 * tn_best_us(best));
    tn_put_html(b, text_of(r->space->arena, best));
    buf_putc(b, '.');
  }
  if (r->found.reference_us > 0) buf_printf(b, " cuBLAS: %.4f ms.", 1e-3 * r->found.reference_us);
  buf_puts(b, "</p>\n");
  ranking(b, r);
  parameters(b, r);
  roofline(b, r);
  failures(b, r->space);
}

int tn_report(const TnResults *list, const char *path, const char *sweep) {
  const TnResult *first = &list->data[0];
  Buf b = {0};
  buf_puts(&b, "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>");
  tn_put_html(&b, first->space->entry);
  buf_printf(&b, "</title>\n%s</head><body>\n<h1>", style);
  tn_put_html(&b, first->space->entry);
  buf_puts(&b, " on ");
  tn_put_html(&b, first->gpu ? first->gpu : "no GPU: the model's times");
  buf_printf(&b, " (%s)</h1>\n<p>Given:", first->space->target->name);
  for (int i = 0; i < first->space->sizes.len; i++) {
    const EvBinding *v = &first->space->sizes.data[i];
    if (sweep && !strcmp(v->name, sweep)) continue;
    buf_printf(&b, " %s=", v->name);
    tn_put_html(&b, v->value);
  }
  buf_printf(&b, ". tlc %s.</p>\n", tlc_version);
  for (int i = 0; i < list->len; i++) section(&b, &list->data[i], sweep);
  buf_puts(&b, "</body></html>\n");
  int status = EXIT_OK;
  if (file_write(path, b.data, b.len)) {
    fprintf(stderr, "tlc: cannot write %s: %s\n", path, strerror(errno));
    status = EXIT_MACHINE;
  }
  buf_free(&b);
  return status;
}
