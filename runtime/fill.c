// Deterministic array contents: element i depends on seed, stream and i alone.
// SPDX-License-Identifier: MIT
#include "runtime.h"

#include "base/numeric.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

// The counter-based generator of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
// Generators" (OOPSLA 2014), SplitMix64: a mixed counter in steps of the golden ratio.
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static uint64_t draw(uint64_t key, uint64_t counter) { return mix(key + (counter + 1) * GOLDEN); }

// The 16 bits of element i, four elements to a draw.
static unsigned draw16(uint64_t key, int64_t i) {
  return (unsigned)(draw(key, (uint64_t)i / 4) >> (i % 4 * 16)) & 0xffff;
}

/* N(0,1) by inverting the distribution: quantile[i] is the point with i / CELLS of the mass below
   it. A cell is drawn, and a point within it; a 16-bit or smaller type takes the cell's middle (by
   mass). */

enum { CELLS = 1 << 16 };

static double quantile[CELLS + 1];
static float middle[CELLS];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

// The x <= 0 with `mass` below it, by Newton's method from a starting point at or left of it: the
// distribution is convex there, so the first step overshoots and the rest come back monotonically.
static double invert(double mass, double x) {
  const double scale = 0.39894228040143267794; // 1 / sqrt(2 pi)
  for (int i = 0; i < 50; i++) {
    double step = (0.5 * erfc(-x * 0.70710678118654752440) - mass) / (scale * exp(-0.5 * x * x));
    x -= step;
    if (fabs(step) < 1e-13) break;
  }
  return x < 0 ? x : 0;
}

static void make_tables(void) {
  double x = invert(1.0 / CELLS / 32, -5); // where the outermost cell is cut off
  for (int i = 0; i < CELLS / 2; i++) {
    quantile[i] = x;
    quantile[CELLS - i] = -x;
    x = invert((i + 0.5) / CELLS, x);
    middle[i] = (float)x;
    middle[CELLS - 1 - i] = (float)-x;
    x = invert((i + 1.0) / CELLS, x);
  }
}

static double normal(uint64_t key, int64_t i) {
  uint64_t bits = draw(key, (uint64_t)i);
  const double *q = &quantile[bits >> 48];
  double within = (double)(bits & ((UINT64_C(1) << 48) - 1)) * 0x1p-48;
  return q[0] + (q[1] - q[0]) * within;
}

/* The ways to fill */

static void fill_normal(void *data, RtType type, int64_t lo, int64_t hi, uint64_t key) {
  pthread_once(&tables_once, make_tables);
  if (rt_type_bits(type) > 16) {
    for (int64_t i = lo; i < hi; i++) rt_set(type, data, i, normal(key, i));
    return;
  }
  if (hi - lo < CELLS || rt_type_bits(type) < 8) { // not worth rounding the whole table
    for (int64_t i = lo; i < hi; i++) rt_set(type, data, i, (double)middle[draw16(key, i)]);
    return;
  }
  uint16_t rounded[CELLS];
  for (int i = 0; i < CELLS; i++) {
    rounded[i] = 0;
    rt_set(type, &rounded[i], 0, (double)middle[i]);
  }
  if (rt_type_bits(type) == 16) {
    uint16_t *out = data;
    for (int64_t i = lo; i < hi; i++) out[i] = rounded[draw16(key, i)];
  } else {
    uint8_t *out = data;
    for (int64_t i = lo; i < hi; i++) out[i] = (uint8_t)rounded[draw16(key, i)];
  }
}

// Values lo..hi, each as likely as the others to within 1 / 65536.
static void fill_integers(void *data, RtType type, int64_t lo, int64_t hi, uint64_t key) {
  bool has_sign = rt_type_is_float(type) || type == RT_I4 || type == RT_I8 || type == RT_I16 ||
                  type == RT_I32 || type == RT_I64;
  int least = has_sign ? -4 : 0, values = type == RT_BOOL ? 2 : 5 - least;
  uint64_t bits[9];
  for (int v = 0; v < values; v++) {
    bits[v] = 0;
    rt_set(type, &bits[v], 0, least + v);
  }
  size_t size = (size_t)rt_type_bits(type) / 8;
  for (int64_t i = lo; i < hi; i++) {
    unsigned v = draw16(key, i) * (unsigned)values >> 16;
    if (size) memcpy((char *)data + (size_t)i * size, &bits[v], size);
    else rt_set(type, data, i, least + (int)v);
  }
}

static void fill_bits(void *data, RtType type, int64_t count, uint64_t key) {
  size_t bytes = rt_type_bytes(type, count);
  for (size_t at = 0; at < bytes; at += 8) {
    uint64_t u = draw(key, at / 8);
    if (type == RT_BOOL) u &= UINT64_C(0x0101010101010101);
    memcpy((char *)data + at, &u, bytes - at < 8 ? bytes - at : 8);
  }
}

// 0xff bytes are a NaN in every float format.
static void fill_poison(void *data, RtType type, int64_t count) {
  size_t bytes = rt_type_bytes(type, count);
  if (bytes) memset(data, rt_type_is_float(type) ? 0xff : 0xcd, bytes);
}

/* The two that take time are done by several threads: a thread's elements begin at whole bytes */

enum { MOST_THREADS = 16, A_THREADS = 1 << 20 /* elements that are worth one */ };

typedef struct {
  void (*fill)(void *data, RtType type, int64_t lo, int64_t hi, uint64_t key);
  void *data;
  RtType type;
  int64_t lo, hi;
  uint64_t key;
} Part;

static void *fill_part(void *ctx) {
  const Part *p = ctx;
  p->fill(p->data, p->type, p->lo, p->hi, p->key);
  return NULL;
}

static void fill_parts(const Part *all, int64_t count) {
  pthread_t thread[MOST_THREADS];
  Part part[MOST_THREADS];
  int64_t n = processor_count();
  if (n > MOST_THREADS) n = MOST_THREADS;
  if (n > count / A_THREADS) n = count / A_THREADS + 1;
  int started = 0;
  for (int64_t i = 0, lo = 0; i < n; i++, lo = part[i - 1].hi) {
    part[i] = *all;
    part[i].lo = lo;
    part[i].hi = i + 1 == n ? count : (lo + count / n) & ~(int64_t)63;
    bool runs = i + 1 < n && !pthread_create(&thread[started], NULL, fill_part, &part[i]);
    if (runs) started++;
    else fill_part(&part[i]);
  }
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

void rt_fill(void *data, RtType type, int64_t count, RtFill how, uint64_t seed, uint64_t stream) {
  uint64_t key = mix(mix(seed + GOLDEN) + stream * GOLDEN);
  bool normal_floats = how == RT_NORMAL && rt_type_is_float(type);
  if (normal_floats) fill_parts(&(Part){fill_normal, data, type, 0, 0, key}, count);
  else if (how == RT_NORMAL || how == RT_INTEGERS)
    fill_parts(&(Part){fill_integers, data, type, 0, 0, key}, count);
  else if (how == RT_BITS) fill_bits(data, type, count, key);
  else if (how == RT_POISON) fill_poison(data, type, count);
  else if (count > 0) memset(data, 0, rt_type_bytes(type, count));
}
