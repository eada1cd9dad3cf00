// What a candidate's outputs are compared with: elements that the oracle computed.
// SPDX-License-Identifier: MIT
#include "tuner/runner.h"

#include <string.h>

enum { MOST_SAMPLES = 1 << 22 }; // of one output

static void copy_elements(RtType t, void *to, const void *from, const int64_t *at, int64_t n) {
  size_t bytes = (size_t)rt_type_bits(t) / 8;
  for (int64_t i = 0; i < n; i++) {
    if (bytes)
      memcpy((char *)to + (size_t)i * bytes, (const char *)from + at[i] * (int64_t)bytes, bytes);
    else rt_set(t, to, i, rt_get(t, from, at[i]));
  }
}

// The elements that the oracle wrote, thinned out evenly where they are very many.
static TnSamples samples_of(Arena *a, const RunData *d, int i, const EmuArg *want) {
  RtType type = d->array[i].type;
  int64_t count = (int64_t)(d->bytes[i] * 8) / rt_type_bits(type), written = 0, seen = 0;
  for (int64_t k = 0; k < count; k++) written += want->written[k] != 0;
  int64_t step = written / MOST_SAMPLES + 1;
  if (step > 1 && step % 2 == 0) step++; // odd: no column of a matrix is left out
  TnSamples s = {.param = i, .at = NEWN(a, int64_t, written / step + 2)};
  for (int64_t k = 0; k < count; k++)
    if (want->written[k] && seen++ % step == 0) s.at[s.n++] = k;
  void *values = arena_alloc(a, rt_type_bytes(type, s.n) + 16);
  copy_elements(type, values, want->data, s.at, s.n);
  s.want = values;
  if (want->bound) {
    float *bound = NEWN(a, float, s.n + 1);
    for (int64_t k = 0; k < s.n; k++) bound[k] = want->bound[s.at[k]];
    s.bound = bound;
  }
  return s;
}

bool tn_reference(Arena *a, const RunData *data, uint64_t seed, double limit, Diags *d,
                  TnReference *out) {
  Arena *own = arena_new(); // the whole outputs, only until the samples are taken
  const Program *p = data->program;
  double start = clock_seconds();
  int64_t *blocks;
  int n = sample_choose(data, seed, limit, own, &blocks);
  EmuArg *want = data_args(data, own, true);
  EmuCall call = {data->sizes, want};
  *out = (TnReference){0};
  bool ok = n ? oracle_run_blocks(p, &call, blocks, n, d) : oracle_run(p, &call, d);
  for (int i = 0; i < p->params.len && ok; i++)
    if (data_is_output(p, i)) vec_push(a, &out->outputs, samples_of(a, data, i, &want[i]));
  out->seconds = clock_seconds() - start;
  arena_free(own);
  return ok;
}

bool tn_agrees(const TnSamples *s, const RtArray *shape, const void *got, const TnTolerance *t,
               Buf *why) {
  Arena *a = arena_new();
  void *mine = arena_alloc(a, rt_type_bytes(shape->type, s->n) + 16);
  copy_elements(shape->type, mine, got, s->at, s->n);
  RtTolerance tolerance = {.bound = s->bound};
  if (t->rtol >= 0 || t->atol >= 0)
    tolerance = (RtTolerance){.rtol = t->rtol < 0 ? 0 : t->rtol, .atol = t->atol < 0 ? 0 : t->atol};
  RtDiff diff = rt_compare(shape->type, s->n, mine, s->want, &tolerance);
  bool ok = (double)diff.wrong <= t->mismatch * (double)diff.checked;
  if (diff.first >= 0) diff.first = s->at[diff.first];
  if (!ok) rt_diff_text(why, &diff, shape);
  arena_free(a);
  return ok;
}
