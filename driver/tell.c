// --run's outcome as text or JSON.
// SPDX-License-Identifier: MIT
#include "driver/tell.h"

#include <string.h>

#include "runtime/runtime.h"

void tell_output(Tell *t, const char *name, const char *against, const char *verdict,
                 const char *text) {
  bool failed = !strcmp(verdict, "failed"), compared = strcmp(verdict, "not compared") != 0;
  if (failed || !t->json) {
    FILE *to = failed ? stderr : stdout;
    if (compared) fprintf(to, "%s: against %s: %s\n", name, against, text);
    else fprintf(to, "%s: not compared: %s\n", name, text);
  }
  if (!t->json) return;
  Buf *b = &t->outputs;
  buf_puts(b, b->len ? ",{\"name\":" : "{\"name\":");
  rt_json_string(b, name);
  buf_puts(b, ",\"result\":");
  rt_json_string(b, verdict);
  if (compared) {
    buf_puts(b, ",\"against\":");
    rt_json_string(b, against);
  }
  buf_puts(b, ",\"text\":");
  rt_json_string(b, text);
  buf_putc(b, '}');
}

static void tensors(const RunData *d, Buf *b) {
  const Program *p = d->program;
  bool first = true;
  for (int i = 0; i < p->params.len; i++) {
    if (p->params.data[i].kind != PARAM_TENSOR) continue;
    buf_puts(b, first ? "{\"name\":" : ",{\"name\":");
    first = false;
    rt_json_string(b, p->params.data[i].name);
    buf_puts(b, ",\"shape\":[");
    for (int k = 0; k < d->array[i].rank; k++)
      buf_printf(b, "%s%lld", k ? "," : "", (long long)d->array[i].shape[k]);
    buf_puts(b, "]}");
  }
}

void tell_run(const Tell *t, const RunData *d, const char *where, double seconds, int64_t blocks,
              int64_t of, bool passed) {
  Buf b = {0};
  buf_puts(&b, "{\"kernel\":");
  rt_json_string(&b, d->program->symbol);
  buf_puts(&b, ",\"device\":");
  rt_json_string(&b, where);
  buf_printf(&b, ",\"seconds\":%.6f,\"tensors\":[", seconds);
  tensors(d, &b);
  buf_printf(&b, "],\"outputs\":[%s]", buf_str(&t->outputs));
  if (blocks >= 0)
    buf_printf(&b, ",\"blocks\":{\"checked\":%lld,\"of\":%lld}", (long long)blocks, (long long)of);
  buf_printf(&b, ",\"passed\":%s}\n", passed ? "true" : "false");
  fputs(buf_str(&b), stdout);
  buf_free(&b);
}
