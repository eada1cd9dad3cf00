// What a timing says, as a line of text or of JSON.
// SPDX-License-Identifier: MIT
#include "runtime.h"

void rt_json_string(Buf *out, const char *s) {
  buf_putc(out, '"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') buf_printf(out, "\\%c", c);
    else if (c < 0x20) buf_printf(out, "\\u%04x", c);
    else buf_putc(out, (char)c);
  }
  buf_putc(out, '"');
}

static double per_second(double work, const RtTiming *t) { return work / (t->us * 1e-6); }

void rt_report_text(Buf *out, const RtReport *r) {
  const RtTiming *t = r->time;
  buf_printf(out, "%-32s %10.2f us", r->kernel, t->us);
  if (r->flops > 0) buf_printf(out, " %8.1f TFLOP/s", per_second(r->flops, t) * 1e-12);
  if (r->bytes > 0) buf_printf(out, " %8.1f GB/s", per_second(r->bytes, t) * 1e-9);
  if (r->reference)
    buf_printf(out, "  %.3f of %s (%.3f to %.3f)", t->ratio, r->reference->name, t->ratio_lo,
               t->ratio_hi);
  buf_printf(out, "  [%d rounds of %d%s]", t->rounds, t->launches, r->cold_l2 ? ", cold L2" : "");
}

static void timing_json(Buf *out, const RtTiming *t) {
  buf_puts(out, "{\"name\": ");
  rt_json_string(out, t->name);
  buf_printf(out,
             ", \"us\": %.6g, \"us_interval\": [%.6g, %.6g], \"rounds\": %d, \"launches\": %d}",
             t->us, t->us_lo, t->us_hi, t->rounds, t->launches);
}

static void text_json(Buf *out, const char *key, const char *value) {
  if (!value) return;
  buf_printf(out, ", \"%s\": ", key);
  rt_json_string(out, value);
}

void rt_report_json(Buf *out, const RtReport *r) {
  const RtTiming *t = r->time;
  buf_puts(out, "{\"kernel\": ");
  rt_json_string(out, r->kernel);
  buf_puts(out, ", \"gpu\": ");
  rt_json_string(out, r->gpu->name);
  buf_printf(out, ", \"sm\": %d, \"l2\": \"%s\"", r->gpu->sm, r->cold_l2 ? "cold" : "warm");
  text_json(out, "arch", r->arch);
  text_json(out, "bindings", r->bindings);
  buf_puts(out, ", \"time\": ");
  timing_json(out, t);
  if (r->flops > 0) buf_printf(out, ", \"tflops\": %.6g", per_second(r->flops, t) * 1e-12);
  if (r->bytes > 0) buf_printf(out, ", \"gbytes\": %.6g", per_second(r->bytes, t) * 1e-9);
  if (r->reference) {
    buf_puts(out, ", \"reference\": ");
    timing_json(out, r->reference);
    buf_printf(out, ", \"ratio\": %.6g, \"ratio_interval\": [%.6g, %.6g]", t->ratio, t->ratio_lo,
               t->ratio_hi);
  }
  buf_putc(out, '}');
}
