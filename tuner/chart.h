// tuner/chart: points in a coordinate system, as SVG within a page.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_CHART_H
#define TLC_TUNER_CHART_H

#include "base/base.h"

typedef struct {
  double x, y;      // y: greater than 0
  const char *name; // shown where the pointer rests
  bool strong;
} TnPoint;

typedef struct {
  const char *x_name, *y_name;
  bool log_x;                // else x counts the marks
  const char *const *x_mark; // names of x = 0, 1, ...; NULL: numbers
  int nmarks;
  const TnPoint *points;
  int n;
  double roof_y, slope; // with roof_y > 0: the line min(roof_y, slope * x)
} TnChart;

void tn_chart(const TnChart *c, Buf *out);
void tn_put_html(Buf *out, const char *s); // escaped

#endif
