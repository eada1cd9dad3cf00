// Reading and writing the oracle's buffers, deviations carried along.
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "emu/oracle.h"

static void get_values(const Mem *m, int64_t at, int64_t stride, int n, Val *v) {
  if (m->v) {
    if (stride == 1) memcpy(v, m->v + at, sizeof *v * (size_t)n);
    else
      for (int i = 0; i < n; i++) v[i] = m->v[at + i * stride];
  } else if (stride == 1 && dt_bits(m->type) >= 8) {
    emu_read_run(m->type, m->raw + at * dt_bytes(m->type), n, v);
  } else {
    for (int i = 0; i < n; i++) v[i] = emu_read(m->type, m->raw, at + i * stride);
  }
}

void mem_get(const Mem *m, int64_t at, int64_t stride, int n, Val *v, double *err) {
  get_values(m, at, stride, n, v);
  if (!err) return;
  for (int i = 0; i < n; i++) {
    int64_t from = at + i * stride;
    err[i] = m->err ? (double)m->err[from] : 0;
    if (m->count && m->count[from]) // sums whose order the device chose
      err[i] += emu_eps(m->type) * (double)m->count[from] * (double)m->mag[from];
  }
}

void mem_put(Mem *m, int64_t at, int64_t stride, int n, const Val *v, const double *err) {
  for (int i = 0; i < n; i++) {
    int64_t to = at + i * stride;
    if (m->v) m->v[to] = v[i];
    else if (stride != 1 || dt_bits(m->type) < 8) emu_write(m->type, m->raw, to, v[i]);
    if (m->err) m->err[to] = err ? nextafterf((float)err[i], err[i] > 0 ? INFINITY : 0) : 0;
    if (m->written) m->written[to] = 1;
    if (m->count && m->count[to]) m->count[to] = 0, m->mag[to] = 0;
  }
  if (!m->v && stride == 1 && dt_bits(m->type) >= 8)
    emu_write_run(m->type, m->raw + at * dt_bytes(m->type), n, v);
}

// Additions reach the device's memory in any order: every partial sum lies within the sum of the
// magnitudes, and each of the roundings within half an ulp of it; the oracle's own order rounds as
// often. The final bound adds eps * count * mag.
void mem_atomic(Mem *m, int64_t at, AtomicFn fn, Val v, double err) {
  Val old, sum;
  mem_get(m, at, 1, 1, &old, NULL);
  sum = emu_atomic(m->type, fn, old, v);
  double e = m->err ? (double)m->err[at] : 0;
  if (fn == ATOMIC_ADD) e += err;
  else e = fmax(e, err);
  float mag = m->mag ? m->mag[at] : 0;
  uint32_t count = m->count ? m->count[at] : 0;
  mem_put(m, at, 1, 1, &sum, &e);
  if (!m->mag || fn != ATOMIC_ADD || !dt_is_float(m->type)) return;
  if (!count) mag = (float)fabs(old.f);
  m->mag[at] = mag + (float)fabs(v.f);
  m->count[at] = count + 1;
}

void mem_reset(Mem *m) {
  Val poison = emu_poison(m->type);
  int64_t n = m->elems * m->copies;
  for (int64_t i = 0; i < n; i++)
    if (m->v) m->v[i] = poison;
    else emu_write(m->type, m->raw, i, poison);
  if (m->err) memset(m->err, 0, sizeof *m->err * (size_t)n);
}
