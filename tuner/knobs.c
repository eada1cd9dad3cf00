// Which parameters of a kernel shape its schedule: found by changing each and looking at what of
// the program changes, not by their names.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

typedef struct {
  bool ok;
  const Program *p;
} Seen;

static Seen see(Arena *a, const TnSpace *s, const char *name, const char *value) {
  TnCandidate c = {.sizes = s->sizes};
  Job *j = NEW(a, Job);
  Options *o = NEW(a, Options);
  for (int i = 0; i < s->all.len && i < 1; i++) { // the first of a declared space
    for (int k = 0; k < s->all.data[i].bindings.len; k++) {
      if (!name || strcmp(s->all.data[i].bindings.data[k].name, name))
        vec_push(a, &c.bindings, s->all.data[i].bindings.data[k]);
    }
  }
  if (name) vec_push(a, &c.bindings, (EvBinding){name, value});
  bool ok = tn_front(a, s, &c, j, o) && j->tile.len == 1 && j->tile.data[0]->kernels.len;
  if (!ok && !name) {
    fprintf(stderr, "tlc: --roller: the kernel cannot be evaluated as it is\n");
    diag_flush(j->diags, stderr);
  }
  return (Seen){ok, ok ? j->tile.data[0] : NULL};
}

static bool same_shape(const Buffer *a, const Buffer *b) {
  if (a->ndim != b->ndim || a->dtype != b->dtype) return false;
  for (int i = 0; i < a->ndim; i++) {
    int64_t x, y;
    bool known = ex_const(a->shape[i], &x);
    if (known != ex_const(b->shape[i], &y) || (known && x != y)) return false;
  }
  return true;
}

static bool same_tensors(const Program *a, const Program *b) {
  if (a->params.len != b->params.len) return false;
  for (int i = 0; i < a->params.len; i++) {
    const Param *x = &a->params.data[i], *y = &b->params.data[i];
    if (x->kind != y->kind) return false;
    if (x->kind == PARAM_TENSOR && !same_shape(x->buf, y->buf)) return false;
  }
  return true;
}

static bool same_tiles(const Kernel *a, const Kernel *b) {
  if (a->buffers.len != b->buffers.len) return false;
  for (int i = 0; i < a->buffers.len; i++) {
    if (!same_shape(a->buffers.data[i], b->buffers.data[i])) return false;
  }
  return true;
}

static bool same_threads(const Kernel *a, const Kernel *b) { return a->threads == b->threads; }

static void look(void *ctx, Stmt *s) {
  int *most = ctx;
  if (s->kind == ST_FOR && s->u.loop.loop == LOOP_PIPELINED && s->u.loop.num_stages > *most)
    *most = s->u.loop.num_stages;
}

static int stages(const Kernel *k) {
  int most = -1;
  st_walk(k->body, look, &most);
  return most;
}

static bool same_stages(const Kernel *a, const Kernel *b) { return stages(a) == stages(b); }

static bool same_raster(const Kernel *a, const Kernel *b) {
  return a->raster_panel == b->raster_panel;
}

static bool kind_of(const Program *a, const Program *b, TnKnobKind *out) {
  static const struct {
    bool (*same)(const Kernel *a, const Kernel *b);
    TnKnobKind kind;
  } order[] = {{same_tiles, TN_KNOB_TILE},
               {same_threads, TN_KNOB_THREADS},
               {same_stages, TN_KNOB_STAGES},
               {same_raster, TN_KNOB_RASTER}};
  if (!same_tensors(a, b) || a->kernels.len != b->kernels.len) return false; // a size, a type
  for (size_t i = 0; i < LEN(order); i++) {
    for (int k = 0; k < a->kernels.len; k++) {
      if (order[i].same(a->kernels.data[k], b->kernels.data[k])) continue;
      *out = order[i].kind;
      return true;
    }
  }
  return false;
}

static void add_value(Arena *a, TnKnob *k, int64_t v) {
  const char *text = arena_printf(a, "%lld", (long long)v);
  for (int i = 0; i < k->values.len; i++) {
    if (!strcmp(k->values.data[i], text)) return;
  }
  vec_push(a, &k->values, text);
}

static void add_values(Arena *a, TnKnob *k, int64_t now) {
  static const int tiles[] = {16, 32, 64, 96, 128, 192, 256}, threads[] = {128, 256, 384},
                   depths[] = {2, 3, 4};
  add_value(a, k, now);
  for (size_t i = 0; k->kind == TN_KNOB_TILE && i < LEN(tiles); i++) add_value(a, k, tiles[i]);
  for (size_t i = 0; k->kind == TN_KNOB_THREADS && i < LEN(threads); i++)
    add_value(a, k, threads[i]);
  for (size_t i = 0; k->kind == TN_KNOB_STAGES && i < LEN(depths); i++) add_value(a, k, depths[i]);
  if (k->kind == TN_KNOB_TILE && now > 256) add_value(a, k, now * 2);
  if (k->kind == TN_KNOB_TILE && now > 256) add_value(a, k, now / 2);
}

static void probe(Arena *a, const TnSpace *s, const Program *base, const Bound *b, TnKnobs *out) {
  TnKnob k = {.name = b->name};
  bool truth = !strcmp(b->value, "True") || !strcmp(b->value, "False");
  char *end;
  long long now = strtoll(b->value, &end, 10);
  if (tn_binds(&s->sizes, b->name) || (!truth && (*end || end == b->value || now < 0))) return;
  const char *other = !truth             ? arena_printf(a, "%lld", now >= 8 ? now * 2 : now + 1)
                      : *b->value == 'T' ? "False"
                                         : "True";
  Seen seen = see(a, s, b->name, other);
  if (!seen.ok || !kind_of(base, seen.p, &k.kind)) return;
  if (truth) {
    vec_push(a, &k.values, b->value);
    vec_push(a, &k.values, other);
  } else {
    add_values(a, &k, now);
  }
  vec_push(a, out, k);
}

bool tn_knobs(Arena *a, const TnSpace *s, TnKnobs *out, int *kernels) {
  Seen base = see(a, s, NULL, NULL);
  if (!base.ok) return false;
  *kernels = base.p->kernels.len;
  for (int i = 0; i < base.p->bound.len; i++) probe(a, s, base.p, &base.p->bound.data[i], out);
  return true;
}
