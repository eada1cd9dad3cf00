// Element types of arrays, and single elements as doubles.
// SPDX-License-Identifier: MIT
#include "runtime.h"

#include "base/numeric.h"

#include <string.h>

typedef enum { KIND_B, KIND_U, KIND_S, KIND_F } Kind;

static const struct {
  const char *name;
  int bits;
  Kind kind;
} types[RT_TYPE_COUNT] = {
#define RT_TYPE(e, name, bits, kind, npy) [e] = {name, bits, KIND_##kind},
#include "types.def"
#undef RT_TYPE
};

bool rt_type_find(const char *name, RtType *out) {
  for (int t = 0; t < RT_TYPE_COUNT; t++) {
    if (strcmp(types[t].name, name)) continue;
    *out = (RtType)t;
    return true;
  }
  return false;
}

const char *rt_type_name(RtType t) { return types[t].name; }
int rt_type_bits(RtType t) { return types[t].bits; }
bool rt_type_is_float(RtType t) { return types[t].kind == KIND_F; }

size_t rt_type_bytes(RtType t, int64_t count) {
  return ((size_t)count * (size_t)types[t].bits + 7) / 8;
}

int64_t rt_count(const RtArray *a) {
  int64_t count = 1;
  for (int i = 0; i < a->rank; i++) // first, as the other extents may be too large to multiply
    if (a->shape[i] == 0) return 0;
  for (int i = 0; i < a->rank; i++) count *= a->shape[i];
  return count;
}

// Little-endian bytes of element i, sign-extended for signed types.
static int64_t get_int(RtType t, const void *data, int64_t i) {
  int bits = types[t].bits;
  uint64_t u = 0;
  if (bits == 4) u = ((const uint8_t *)data)[i / 2] >> (i % 2 * 4) & 15;
  else memcpy(&u, (const char *)data + i * (bits / 8), (size_t)bits / 8);
  if (types[t].kind != KIND_S || bits == 64) return (int64_t)u;
  uint64_t sign = UINT64_C(1) << (bits - 1);
  return (int64_t)((u ^ sign) - sign);
}

static float get_f32(const void *data, int64_t i) {
  float x;
  memcpy(&x, (const char *)data + i * 4, sizeof x);
  return x;
}

double rt_get(RtType t, const void *data, int64_t i) {
  double d;
  switch (t) {
  case RT_F16: return (double)num_f16_to_f32((uint16_t)get_int(RT_U16, data, i));
  case RT_BF16: return (double)num_bf16_to_f32((uint16_t)get_int(RT_U16, data, i));
  case RT_E4M3: return (double)num_e4m3_to_f32((uint8_t)get_int(RT_U8, data, i));
  case RT_E2M1: return (double)num_e2m1_to_f32((uint8_t)get_int(RT_U4, data, i));
  case RT_E5M2: return (double)num_e5m2_to_f32((uint8_t)get_int(RT_U8, data, i));
  case RT_TF32:
  case RT_F32: return (double)get_f32(data, i);
  case RT_F64: memcpy(&d, (const char *)data + i * 8, sizeof d); return d;
  case RT_U64: return (double)(uint64_t)get_int(t, data, i);
  case RT_BOOL: return get_int(t, data, i) != 0;
  default: return (double)get_int(t, data, i);
  }
}

static uint64_t int_of_double(RtType t, double value) {
  if (t == RT_BOOL) return value != 0;
  if (value != value) return 0;
  if (t == RT_U64 && value >= 0x1p63) return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
  if (value >= 0x1p63) return INT64_MAX;
  return value > -0x1p63 ? (uint64_t)(int64_t)value : (uint64_t)INT64_MIN;
}

static uint64_t bits_of_double(RtType t, double value) {
  switch (t) {
  case RT_F16: return num_f16_from_f64(value);
  case RT_BF16: return num_bf16_from_f64(value);
  case RT_E4M3: return num_e4m3_from_f64(value, true);
  case RT_E2M1: return num_e2m1_from_f64(value);
  case RT_E5M2: return num_e5m2_from_f64(value, true);
  case RT_TF32: return num_f32_bits(num_tf32_from_f32((float)value));
  case RT_F32: return num_f32_bits((float)value);
  case RT_F64: return num_f64_bits(value);
  default: return int_of_double(t, value);
  }
}

void rt_set(RtType t, void *data, int64_t i, double value) {
  uint64_t u = bits_of_double(t, value);
  int bits = types[t].bits;
  if (bits >= 8) {
    memcpy((char *)data + i * (bits / 8), &u, (size_t)bits / 8);
    return;
  }
  uint8_t *byte = (uint8_t *)data + i / 2;
  int shift = (int)(i % 2) * 4;
  *byte = (uint8_t)((*byte & ~(15 << shift)) | (int)(u & 15) << shift);
}
