// Order of candidates, and what people see of them.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tuner/internal.h"

/* ------------------------------------------------------------------ order */

// Those of the final round first, other measured ones, what was given up early, then by the model;
// what spills after what does not come on top of the model.
static double key_of(const TnCandidate *c, int *class) {
  *class = c->final_us > 0 ? 0 : c->state == TN_MEASURED ? 1 + c->early : c->model.us > 0 ? 3 : 4;
  return *class == 0 ? c->final_us : *class < 3 ? c->median_us : c->model.us;
}

static bool ranks(const TnCandidate *c) {
  return c->state == TN_QUEUED || c->state == TN_BUILT || c->state == TN_MEASURED;
}

static int by_key(const void *pa, const void *pb) {
  const TnCandidate *a = *(const TnCandidate *const *)pa, *b = *(const TnCandidate *const *)pb;
  int class_a, class_b;
  double x = key_of(a, &class_a), y = key_of(b, &class_b);
  if (class_a != class_b) return class_a - class_b;
  return x < y ? -1 : x > y ? 1 : a->id - b->id;
}

int tn_rank(const TnSpace *s, int *order) {
  const TnCandidate **list = NEWN(s->arena, const TnCandidate *, s->all.len + 1);
  int n = 0;
  for (int i = 0; i < s->all.len; i++) {
    if (ranks(&s->all.data[i])) list[n++] = &s->all.data[i];
  }
  qsort(list, (size_t)n, sizeof *list, by_key);
  for (int i = 0; i < n; i++) order[i] = (int)(list[i] - s->all.data);
  return n;
}

/* ------------------------------------------------------------------ table */

static void put_us(Buf *b, double us) {
  if (us <= 0) buf_puts(b, "        -");
  else buf_printf(b, us < 100 ? "%9.2f" : "%9.1f", us);
}

static void put_as(Buf *b, const TnAsm *as) {
  if (as->registers < 0) buf_puts(b, "    -      -");
  else buf_printf(b, "%5d %6d", as->registers, as->spills);
}

static void row(Buf *b, const TnCandidate *c, int rank, bool measured) {
  Buf text = {0};
  double us = measured && c->state == TN_MEASURED ? c->median_us : c->model.us;
  tn_label(c, &text);
  buf_printf(b, "%4d ", rank);
  put_us(b, c->model.us);
  if (measured) put_us(b, c->median_us);
  if (us > 0 && c->model.flops > 0) buf_printf(b, " %7.1f", c->model.flops / us * 1e-6);
  else buf_puts(b, "       -");
  buf_printf(b, "  %-7s %3d %7.2f %6.1f ", c->model.bound ? c->model.bound : "-",
             c->model.occupancy, c->model.waves, (double)c->smem / 1024);
  put_as(b, &c->as);
  buf_printf(b, "  %s\n", buf_str(&text));
  buf_free(&text);
}

void tn_table(const TnSpace *s, int most, FILE *to) {
  int *order = NEWN(s->arena, int, s->all.len + 1), n = tn_rank(s, order);
  bool measured = false;
  for (int i = 0; i < n; i++) measured |= s->all.data[order[i]].state == TN_MEASURED;
  Buf b = {0};
  buf_printf(&b, "rank  model us%s TFLOP/s  bound   blk   waves smemKB  regs spills  candidate\n",
             measured ? "       us" : "");
  for (int i = 0; i < n && (!most || i < most); i++)
    row(&b, &s->all.data[order[i]], i + 1, measured);
  fputs(buf_str(&b), to);
  buf_free(&b);
}

static void json_bindings(Buf *b, const char *name, const TnBindings *list) {
  buf_printf(b, "\"%s\": ", name);
  drv_json_bindings(list->data, list->len, true, b);
}

static void json_candidate(Buf *b, const TnCandidate *c) {
  const TnModel *m = &c->model;
  buf_printf(b, "{\"id\": %d, \"state\": \"%s\", ", c->id, tn_state_name(c->state));
  json_bindings(b, "config", &c->bindings);
  buf_puts(b, ", ");
  json_bindings(b, "flags", &c->flags);
  if (c->code) buf_printf(b, ", \"code\": \"%s\"", c->code);
  if (c->reason) buf_puts(b, ", \"reason\": ");
  if (c->reason) rt_json_string(b, c->reason);
  if (c->same_as >= 0) buf_printf(b, ", \"same_as\": %d", c->same_as);
  if (ranks(c)) {
    buf_printf(b, ", \"model_us\": %.4g, \"bound\": \"%s\"", m->us, m->bound ? m->bound : "");
    buf_printf(b, ", \"tensor_us\": %.4g, \"smem_us\": %.4g, \"issue_us\": %.4g, ", m->tensor_us,
               m->smem_us, m->issue_us);
    buf_printf(b, "\"l2_us\": %.4g, \"hbm_us\": %.4g, \"epilogue_us\": %.4g, ", m->l2_us, m->hbm_us,
               m->epilogue_us);
    buf_printf(b, "\"flops\": %.6g, \"hbm_bytes\": %.6g, \"l2_bytes\": %.6g, ", m->flops,
               m->hbm_bytes, m->l2_bytes);
    buf_printf(b, "\"blocks\": %lld, \"occupancy\": %d, \"waves\": %.3f, ", (long long)m->blocks,
               m->occupancy, m->waves);
    buf_printf(b, "\"threads\": %d, \"smem\": %lld, \"stages\": %d, ", c->threads,
               (long long)c->smem, c->stages);
    buf_printf(b, "\"tile\": [%d, %d, %d], \"warps\": [%d, %d], \"raster\": %d", c->tile[0],
               c->tile[1], c->tile[2], c->warps[0], c->warps[1], c->panel);
  }
  if (c->as.registers >= 0)
    buf_printf(b, ", \"registers\": %d, \"spills\": %d, \"stack\": %d", c->as.registers,
               c->as.spills, c->as.stack);
  if (c->state == TN_MEASURED)
    buf_printf(b, ", \"us\": %.6g, \"mean_us\": %.6g, \"min_us\": %.6g", c->median_us, c->mean_us,
               c->min_us);
  if (c->early) buf_puts(b, ", \"early\": true");
  if (c->by_shared) buf_puts(b, ", \"shared\": true");
  if (c->final_us > 0)
    buf_printf(b, ", \"final_us\": %.6g, \"final_lo\": %.6g, \"final_hi\": %.6g", c->final_us,
               c->final_lo, c->final_hi);
  buf_putc(b, '}');
}

void tn_json(const TnSpace *s, const char *run, Buf *b) {
  int *order = NEWN(s->arena, int, s->all.len + 1), n = tn_rank(s, order), written = 0;
  buf_puts(b, "{\"kernel\": ");
  rt_json_string(b, s->entry ? s->entry : "");
  buf_printf(b, ", \"arch\": \"%s\", ", s->target->name);
  json_bindings(b, "sizes", &s->sizes);
  buf_printf(b, "%s, \"candidates\": [", run);
  for (int i = 0; i < n; i++) {
    buf_puts(b, written++ ? ",\n " : "\n ");
    json_candidate(b, &s->all.data[order[i]]);
  }
  for (int i = 0; i < s->all.len; i++) {
    if (ranks(&s->all.data[i])) continue;
    buf_puts(b, written++ ? ",\n " : "\n ");
    json_candidate(b, &s->all.data[i]);
  }
  buf_puts(b, "]}\n");
}

/* ------------------------------------------------------------------ what does not rank */

typedef struct {
  TnState state;
  const char *code;
  const TnCandidate *example;
  int n;
} Reason;

static bool same_reason(const Reason *r, const TnCandidate *c) {
  if (r->state != c->state) return false;
  if (c->state == TN_DUPLICATE) return true;
  if (r->code && c->code) return !strcmp(r->code, c->code);
  return r->code == c->code &&
         !strcmp(r->example->reason ? r->example->reason : "", c->reason ? c->reason : "");
}

void tn_failures(const TnSpace *s, FILE *to) {
  VEC(Reason) list = {0};
  for (int i = 0; i < s->all.len; i++) {
    const TnCandidate *c = &s->all.data[i];
    if (ranks(c)) continue;
    int k = 0;
    while (k < list.len && !same_reason(&list.data[k], c)) k++;
    if (k == list.len) vec_push(s->arena, &list, (Reason){c->state, c->code, c, 0});
    list.data[k].n++;
  }
  for (int i = 0; i < list.len; i++) {
    const Reason *r = &list.data[i];
    Buf text = {0};
    if (r->example->bindings.len || r->example->flags.len) tn_label(r->example, &text);
    fprintf(to, "%5d %s%s%s: %s\n", r->n, tn_state_name(r->state), r->code ? " " : "",
            r->code ? r->code : "", r->example->reason ? r->example->reason : "");
    if (text.len) fprintf(to, "      such as %s\n", buf_str(&text));
    buf_free(&text);
  }
}
