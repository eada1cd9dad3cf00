// Charts of the report: axes, marks, points, a roof. Measures are in SVG's units.
// SPDX-License-Identifier: MIT
#include "tuner/chart.h"

#include <math.h>

enum { WIDTH = 420, HEIGHT = 260, LEFT = 58, RIGHT = 12, TOP = 12, BOTTOM = 42 };

typedef struct {
  const TnChart *c;
  double x0, x1, y0, y1; // shown, in the axes' own scale (logarithms where they are)
} Frame;

void tn_put_html(Buf *out, const char *s) {
  for (; *s; s++) {
    switch (*s) {
    case '<': buf_puts(out, "&lt;"); break;
    case '>': buf_puts(out, "&gt;"); break;
    case '&': buf_puts(out, "&amp;"); break;
    case '"': buf_puts(out, "&quot;"); break;
    default: buf_putc(out, *s);
    }
  }
}

static double scaled_x(const TnChart *c, double x) { return c->log_x ? log10(x) : x; }

static double at_x(const Frame *f, double x) {
  double share = (scaled_x(f->c, x) - f->x0) / (f->x1 - f->x0);
  return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double at_y(const Frame *f, double y) {
  return HEIGHT - BOTTOM - (log10(y) - f->y0) / (f->y1 - f->y0) * (HEIGHT - TOP - BOTTOM);
}

static void widen(double v, double *lo, double *hi) {
  *lo = fmin(*lo, v);
  *hi = fmax(*hi, v);
}

static Frame frame_of(const TnChart *c) {
  Frame f = {c, INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (int i = 0; i < c->n; i++) {
    widen(scaled_x(c, c->points[i].x), &f.x0, &f.x1);
    widen(log10(c->points[i].y), &f.y0, &f.y1);
  }
  if (c->roof_y > 0) {
    widen(log10(c->roof_y), &f.y0, &f.y1);
    widen(scaled_x(c, c->roof_y / c->slope), &f.x0, &f.x1);
  }
  if (!c->log_x) f = (Frame){c, -0.5, c->nmarks - 0.5, f.y0, f.y1};
  double dx = c->log_x ? 0.1 * (f.x1 - f.x0) + 0.05 : 0, dy = 0.06 * (f.y1 - f.y0) + 0.01;
  return (Frame){c, f.x0 - dx, f.x1 + dx, f.y0 - dy, f.y1 + dy};
}

// 1, 2 and 5 times powers of ten within a logarithmic range; only powers where there are many.
static int log_marks(double lo, double hi, double *out, int most) {
  static const double steps[] = {1, 2, 5};
  int n = 0, every = hi - lo > 2.5 ? 3 : 1;
  for (int e = (int)floor(lo); e <= (int)ceil(hi); e++)
    for (int k = 0; k < 3; k += every) {
      double v = steps[k] * pow(10, e);
      if (log10(v) >= lo && log10(v) <= hi && n < most) out[n++] = v;
    }
  if (n < 2) {
    out[0] = pow(10, lo + 0.1 * (hi - lo));
    out[1] = pow(10, hi - 0.1 * (hi - lo));
    n = 2;
  }
  return n;
}

static void axes(const Frame *f, Buf *out) {
  double marks[64];
  int n = log_marks(f->y0, f->y1, marks, 64);
  for (int i = 0; i < n; i++) {
    double y = at_y(f, marks[i]);
    buf_printf(out, "<line class=g x1=%d x2=%d y1=%.1f y2=%.1f />", LEFT, WIDTH - RIGHT, y, y);
    buf_printf(out, "<text class=r x=%d y=%.1f>%.3g</text>", LEFT - 6, y + 4, marks[i]);
  }
  n = f->c->log_x ? log_marks(f->x0, f->x1, marks, 64) : f->c->nmarks;
  for (int i = 0; i < n; i++) {
    double x = at_x(f, f->c->log_x ? marks[i] : i);
    buf_printf(out, "<text class=m x=%.1f y=%d>", x, HEIGHT - BOTTOM + 16);
    if (f->c->log_x) buf_printf(out, "%.3g", marks[i]);
    else tn_put_html(out, f->c->x_mark[i]);
    buf_puts(out, "</text>");
  }
  buf_printf(out, "<text class=m x=%d y=%d>", (LEFT + WIDTH) / 2, HEIGHT - 6);
  tn_put_html(out, f->c->x_name);
  buf_printf(out, "</text><text class=m transform='translate(12 %d) rotate(-90)'>", HEIGHT / 2);
  tn_put_html(out, f->c->y_name);
  buf_puts(out, "</text>");
}

static void roof(const Frame *f, Buf *out) {
  double knee = f->c->roof_y / f->c->slope, left = pow(10, f->x0), right = pow(10, f->x1);
  double low = fmax(f->c->slope * left, pow(10, f->y0));
  buf_printf(out, "<polyline class=f points='%.1f,%.1f %.1f,%.1f %.1f,%.1f' />",
             at_x(f, low / f->c->slope), at_y(f, low), at_x(f, knee), at_y(f, f->c->roof_y),
             at_x(f, right), at_y(f, f->c->roof_y));
}

void tn_chart(const TnChart *c, Buf *out) {
  if (!c->n) return;
  Frame f = frame_of(c);
  buf_printf(out, "<svg viewBox='0 0 %d %d' width=%d height=%d>", WIDTH, HEIGHT, WIDTH, HEIGHT);
  axes(&f, out);
  if (c->roof_y > 0) roof(&f, out);
  for (int i = 0; i < c->n; i++) {
    const TnPoint *p = &c->points[i];
    // Points of one mark side by side, by their number, so that they do not hide one another.
    double shift = c->log_x ? 0 : (i * 37 % 17 - 8) * 0.9;
    buf_printf(out, "<circle class=%s cx=%.1f cy=%.1f r=%s><title>", p->strong ? "s" : "p",
               at_x(&f, p->x) + shift, at_y(&f, p->y), p->strong ? "5" : "3");
    tn_put_html(out, p->name);
    buf_puts(out, "</title></circle>");
  }
  buf_puts(out, "</svg>\n");
}
