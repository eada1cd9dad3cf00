// Values of every element type: reading, writing, rounding, wrapping, conversion.
// SPDX-License-Identifier: MIT
#include "emu/machine.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/numeric.h"

Val emu_int(int64_t i) { return (Val){.i = i}; }
Val emu_float(double f) { return (Val){.f = f}; }

static float f32_of(double x) { return (float)x; }

double emu_round(DType t, double x) {
  switch (t) {
  case DT_F32: return (double)(float)x;
  case DT_F16: return (double)num_f16_to_f32(num_f16_from_f64(x));
  case DT_BF16: return (double)num_bf16_to_f32(num_bf16_from_f64(x));
  case DT_TF32: return (double)num_tf32_from_f32(f32_of(x));
  case DT_E4M3: return (double)num_e4m3_to_f32(num_e4m3_from_f64(x, true));
  case DT_E5M2: return (double)num_e5m2_to_f32(num_e5m2_from_f64(x, true));
  case DT_E2M1: return (double)num_e2m1_to_f32(num_e2m1_from_f64(x));
  default: return x;
  }
}

int64_t emu_wrap(DType t, int64_t x) {
  switch (t) {
  case DT_BOOL: return x != 0;
  case DT_I4: return (int64_t)((uint64_t)x << 60) >> 60;
  case DT_U4: return x & 15;
  case DT_I8: return (int8_t)x;
  case DT_U8: return (uint8_t)x;
  case DT_I16: return (int16_t)x;
  case DT_U16: return (uint16_t)x;
  case DT_I32: return (int32_t)x;
  case DT_U32: return (uint32_t)x;
  default: return x;
  }
}

static int fraction_bits(DType t) {
  switch (t) {
  case DT_F64: return 52;
  case DT_F32: return 23;
  case DT_F16:
  case DT_TF32: return 10;
  case DT_BF16: return 7;
  case DT_E4M3: return 3;
  case DT_E5M2: return 2;
  case DT_E2M1: return 1;
  default: return 0;
  }
}

static int min_exponent(DType t) {
  switch (t) {
  case DT_F64: return -1022;
  case DT_F16: return -14;
  case DT_E4M3: return -6;
  case DT_E5M2: return -14;
  case DT_E2M1: return 0;
  default: return -126;
  }
}

double emu_eps(DType t) {
  return dt_is_float(t) ? ldexp(1, -fraction_bits(t)) : 0;
}

double emu_ulp(DType t, double x) {
  if (!dt_is_float(t) || isnan(x) || isinf(x)) return 0;
  int e = x == 0 ? min_exponent(t) : ilogb(x);
  if (e < min_exponent(t)) e = min_exponent(t);
  return ldexp(1, e - fraction_bits(t));
}

// Toward zero, saturating at t's limits; NaN becomes 0 (PTX cvt.rzi).
static int64_t int_from_float(DType t, double x) {
  if (isnan(x)) return 0;
  int bits = dt_bits(t);
  if (dt_is_signed(t) || t == DT_INDEX) {
    double limit = ldexp(1, bits - 1);
    if (x >= limit) return bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
    if (x <= -limit) return bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
    return (int64_t)x;
  }
  if (x <= 0) return 0;
  if (x >= ldexp(1, bits)) return bits == 64 ? -1 : (INT64_C(1) << bits) - 1;
  return bits == 64 ? (int64_t)(uint64_t)x : (int64_t)x;
}

static double float_from_int(DType to, DType from, int64_t i) {
  if (to == DT_F32) return from == DT_U64 ? (double)(float)(uint64_t)i : (double)(float)i;
  return emu_round(to, from == DT_U64 ? (double)(uint64_t)i : (double)i);
}

Val emu_cast(DType to, DType from, Val v) {
  if (to == from) return v;
  if (dt_is_float(from)) {
    if (dt_is_float(to)) return emu_float(emu_round(to, v.f));
    if (to == DT_BOOL) return emu_int(v.f != 0);
    return emu_int(int_from_float(to, v.f));
  }
  if (dt_is_float(to)) return emu_float(float_from_int(to, from, v.i));
  return emu_int(emu_wrap(to, v.i));
}

Val emu_poison(DType t) {
  if (t == DT_E2M1) return emu_float(6);
  if (dt_is_float(t)) return emu_float(t == DT_E4M3 || t == DT_E5M2 ? 240 : (double)NAN);
  return emu_int(emu_wrap(t, 0x5bad5bad5bad5bad));
}

// Elements of whole-byte types: one list for reading and writing, single and in runs. A value to be
// written is one of the type (emu_cast has saturated it), so that a copy keeps e5m2's infinities.
#define ELEMENT_TYPES(X)                                                                           \
  X(DT_BOOL, uint8_t, i, (r != 0), (uint8_t)(v.i != 0))                                            \
  X(DT_INDEX, int64_t, i, r, v.i)                                                                  \
  X(DT_I8, int8_t, i, r, (int8_t)v.i)                                                              \
  X(DT_U8, uint8_t, i, r, (uint8_t)v.i)                                                            \
  X(DT_I16, int16_t, i, r, (int16_t)v.i)                                                           \
  X(DT_U16, uint16_t, i, r, (uint16_t)v.i)                                                         \
  X(DT_I32, int32_t, i, r, (int32_t)v.i)                                                           \
  X(DT_U32, uint32_t, i, r, (uint32_t)v.i)                                                         \
  X(DT_I64, int64_t, i, r, v.i)                                                                    \
  X(DT_U64, uint64_t, i, (int64_t)r, (uint64_t)v.i)                                                \
  X(DT_E4M3, uint8_t, f, (double)num_e4m3_to_f32(r), num_e4m3_from_f64(v.f, true))                 \
  X(DT_E5M2, uint8_t, f, (double)num_e5m2_to_f32(r), num_e5m2_from_f64(v.f, false))                \
  X(DT_F16, uint16_t, f, (double)num_f16_to_f32(r), num_f16_from_f64(v.f))                         \
  X(DT_BF16, uint16_t, f, (double)num_bf16_to_f32(r), num_bf16_from_f64(v.f))                      \
  X(DT_TF32, float, f, (double)r, (float)v.f)                                                      \
  X(DT_F32, float, f, (double)r, (float)v.f)                                                       \
  X(DT_F64, double, f, r, v.f)

void emu_read_run(DType t, const void *base, int n, Val *out) {
  switch (t) {
#define X(dt, ctype, member, from_raw, to_raw)                                                     \
  case dt:                                                                                         \
    for (int j = 0; j < n; j++) {                                                                  \
      ctype r;                                                                                     \
      memcpy(&r, (const char *)base + (size_t)j * sizeof r, sizeof r);                             \
      out[j].member = from_raw;                                                                    \
    }                                                                                              \
    return;
    ELEMENT_TYPES(X)
#undef X
  default: die("no memory form of type %s", dt_name(t));
  }
}

void emu_write_run(DType t, void *base, int n, const Val *values) {
  switch (t) {
#define X(dt, ctype, member, from_raw, to_raw)                                                     \
  case dt:                                                                                         \
    for (int j = 0; j < n; j++) {                                                                  \
      Val v = values[j];                                                                           \
      ctype r = to_raw;                                                                            \
      memcpy((char *)base + (size_t)j * sizeof r, &r, sizeof r);                                   \
    }                                                                                              \
    return;
    ELEMENT_TYPES(X)
#undef X
  default: die("no memory form of type %s", dt_name(t));
  }
}

Val emu_read(DType t, const void *base, int64_t i) {
  if (dt_bits(t) == 4) {
    int nibble = ((const uint8_t *)base)[i / 2] >> (i % 2 * 4) & 15;
    if (t == DT_E2M1) return emu_float((double)num_e2m1_to_f32((uint8_t)nibble));
    return emu_int(emu_wrap(t, nibble));
  }
  Val v;
  emu_read_run(t, (const char *)base + i * (dt_bits(t) / 8), 1, &v);
  return v;
}

void emu_write(DType t, void *base, int64_t i, Val v) {
  if (dt_bits(t) == 4) {
    uint8_t *p = (uint8_t *)base + i / 2;
    int shift = (int)(i % 2 * 4);
    int nibble = t == DT_E2M1 ? num_e2m1_from_f64(v.f) : (int)(v.i & 15);
    *p = (uint8_t)((*p & ~(15 << shift)) | nibble << shift);
    return;
  }
  emu_write_run(t, (char *)base + i * (dt_bits(t) / 8), 1, &v);
}

Val emu_bits(DType to, DType from, Val v) {
  uint8_t raw[8] = {0};
  emu_write(from, raw, 0, v);
  return emu_read(to, raw, 0);
}

static Val float_atomic(DType t, AtomicFn fn, Val old, Val v) {
  switch (fn) {
  case ATOMIC_ADD: return emu_float(emu_round(t, old.f + v.f));
  case ATOMIC_MAX: return emu_float(fmax(old.f, v.f));
  case ATOMIC_MIN: return emu_float(fmin(old.f, v.f));
  case ATOMIC_SET: return v;
  default: die("atomic function %d of floats", (int)fn);
  }
}

Val emu_atomic(DType t, AtomicFn fn, Val old, Val v) {
  if (dt_is_float(t)) return float_atomic(t, fn, old, v);
  bool less = t == DT_U64 ? (uint64_t)old.i < (uint64_t)v.i : old.i < v.i;
  switch (fn) {
  case ATOMIC_ADD: return emu_int(emu_wrap(t, (int64_t)((uint64_t)old.i + (uint64_t)v.i)));
  case ATOMIC_MAX: return less ? v : old;
  case ATOMIC_MIN: return less ? old : v;
  case ATOMIC_AND: return emu_int(old.i & v.i);
  case ATOMIC_OR: return emu_int(old.i | v.i);
  case ATOMIC_XOR: return emu_int(old.i ^ v.i);
  case ATOMIC_SET: return v;
  }
  die("unknown atomic function %d", (int)fn);
}
