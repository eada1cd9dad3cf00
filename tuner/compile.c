// One candidate through the compiler: its text, or what keeps it from being built.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "tuner/db.h"
#include "tuner/internal.h"

Options tn_options(Arena *a, const TnSpace *s, const TnCandidate *c) {
  Options o = *s->options;
  o.arena = a;
  o.entry = s->entry;
  if (s->source) {
    o.input = "template.tl";
    o.params = NULL;
    o.zero.len = 0;
  }
  o.bindings = map_new(a);
  o.flags = map_new(a);
  const TnBindings *all[] = {&c->sizes, &c->bindings};
  for (size_t k = 0; k < LEN(all); k++) {
    for (int i = 0; i < all[k]->len; i++)
      map_set(o.bindings, all[k]->data[i].name, (void *)(uintptr_t)all[k]->data[i].value);
  }
  for (int i = 0; i < map_len(s->options->flags); i++)
    map_set(o.flags, map_key(s->options->flags, i), map_value(s->options->flags, i));
  for (int i = 0; i < c->flags.len; i++)
    map_set(o.flags, c->flags.data[i].name, (void *)(uintptr_t)c->flags.data[i].value);
  return o;
}

static bool refuse(Arena *a, TnCandidate *c, const char *code, const char *reason) {
  c->state = TN_PRUNED;
  c->code = code;
  c->reason = arena_str(a, reason);
  return false;
}

static bool refuse_by(Arena *a, TnCandidate *c, const Job *j) {
  Span at = NO_SPAN;
  const char *text = diag_first(j->diags, &at);
  if (!text) return refuse(a, c, NULL, "the compiler refuses it");
  return refuse(a, c, diag_code((DiagId)diag_first_id(j->diags)), text);
}

// Warnings after which nothing fast can come: registers that cannot be had.
static const char *hopeless(const Job *j) {
  for (int i = 0; diag_text(j->diags, i); i++) {
    if (diag_id(j->diags, i) == DIAG_REGISTERS) return diag_text(j->diags, i);
  }
  return NULL;
}

const char *tn_code(const char *text) {
  while (!strncmp(text, "//", 2) || *text == '\n') {
    const char *end = strchr(text, '\n');
    if (!end) break;
    text = end + 1;
  }
  return text;
}

static void hash_code(const char *text, uint8_t out[32]) {
  TnKey k;
  tn_key_begin(&k);
  tn_key_text(&k, "code", tn_code(text));
  TnHash h = tn_key_end(&k);
  memcpy(out, h.bytes, sizeof h.bytes);
}

static void look(void *ctx, Stmt *s) {
  TnCandidate *c = ctx;
  if (s->kind == ST_FOR && s->u.loop.loop == LOOP_PIPELINED && s->u.loop.num_stages > c->stages)
    c->stages = s->u.loop.num_stages;
}

static void note_shape(const Job *j, TnCandidate *c) {
  c->threads = 0;
  c->smem = 0;
  tn_note_gemm(j, c);
  for (int i = 0; i < j->thread.len; i++) {
    const Program *p = j->thread.data[i];
    for (int k = 0; k < p->kernels.len; k++) {
      const Kernel *kernel = p->kernels.data[k];
      if (kernel_threads(kernel) > c->threads) c->threads = kernel_threads(kernel);
      if (kernel->smem_bytes > c->smem) c->smem = kernel->smem_bytes;
    }
  }
}

static void note_stages(const Job *j, TnCandidate *c) {
  c->stages = 0;
  for (int i = 0; i < j->tile.len; i++)
    for (int k = 0; k < j->tile.data[i]->kernels.len; k++)
      st_walk(j->tile.data[i]->kernels.data[k]->body, look, c);
}

// Of a candidate in the midst of its passes: is it the first of its kind?
typedef struct {
  TnTwins *twins;
  TnCandidate *c;
} Wanted;

static bool is_first(void *ctx, const Program *p) {
  const Wanted *w = ctx;
  int first = tn_twin(w->twins, p, w->c);
  if (first == w->c->id) return true;
  w->c->state = TN_DUPLICATE;
  w->c->same_as = first;
  return false;
}

bool tn_front(Arena *a, const TnSpace *s, TnCandidate *c, Job *j, Options *o) {
  *o = tn_options(a, s, c);
  *j = (Job){.arena = a, .sources = src_new(a)};
  j->diags = diag_new(a, j->sources, (DiagOptions){0});
  if (s->source) j->file = src_add(j->sources, o->input, s->source, strlen(s->source));
  else if (!job_open(j, o)) return refuse(a, c, NULL, "the file cannot be read any more");
  return job_front(j, o) || refuse_by(a, c, j);
}

bool tn_quick(Arena *a, const TnSpace *s, TnCandidate *c) {
  Options *o = NEW(a, Options);
  TnFigures f;
  Job j;
  if (!tn_front(a, s, c, &j, o)) return false;
  if (!tn_figures(s->target, s->options->tune.figures, &f)) return false;
  c->model.us = 0;
  for (int i = 0; i < j.tile.len; i++) {
    double us = tn_estimate(a, j.tile.data[i], s->target, &f, &c->sizes);
    if (us <= 0) return refuse(a, c, NULL, "its tiles have no room");
    c->model.us += us;
  }
  return true;
}

bool tn_compile(Arena *a, const TnSpace *s, TnCandidate *c, Job *j) {
  Options *o = NEW(a, Options);
  if (!tn_front(a, s, c, j, o)) return false;
  note_stages(j, c);
  Wanted wanted = {s->twins, c};
  if (s->twins && j->tile.len == 1) {
    j->wanted = is_first;
    j->wanted_ctx = &wanted;
  }
  bool ok = job_lower(j, o);
  if (!ok && c->state == TN_DUPLICATE) return false;
  const char *why = hopeless(j);
  if (why) return refuse(a, c, diag_code(DIAG_REGISTERS), why);
  if (!ok) return refuse_by(a, c, j);
  Buf text = {0};
  drv_text(j, o, EMIT_CU, &text);
  c->symbol = arena_str(a, j->thread.data[0]->symbol);
  c->text = arena_str(a, buf_str(&text));
  c->len = text.len;
  hash_code(c->text, c->sha);
  buf_free(&text);
  note_shape(j, c);
  tn_note_numbers(a, c);
  tn_model_job(s, j, c);
  c->state = TN_QUEUED;
  return true;
}

bool tn_need_text(const TnSpace *s, TnCandidate *c, Buf *why) {
  if (c->text) return true;
  Arena *a = arena_new();
  TnCandidate again = *c;
  Job j;
  bool same = tn_compile(a, s, &again, &j) && !memcmp(again.sha, c->sha, sizeof c->sha);
  if (same) {
    c->text = arena_str(s->arena, again.text);
    c->len = again.len;
  } else {
    buf_puts(why, "the program has changed since the search began");
  }
  arena_free(a);
  return same;
}
