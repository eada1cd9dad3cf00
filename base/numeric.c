// Conversions of f16, bf16, fp8 and tf32, in integer arithmetic.
// SPDX-License-Identifier: MIT
#include "numeric.h"

#include <string.h>

uint32_t num_f32_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

float num_f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

uint64_t num_f64_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

double num_f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// m / 2^shift to the nearest integer, ties to even; 1 <= shift <= 63.
static uint64_t shift_round(uint64_t m, int shift) {
  uint64_t q = m >> shift, rest = m & ((UINT64_C(1) << shift) - 1);
  uint64_t half = UINT64_C(1) << (shift - 1);
  return q + (rest > half || (rest == half && (q & 1)));
}

// Exponent and fraction fields of the magnitude `u` (bits of a non-negative, non-NaN double) in a
// format of `mant` fraction bits, as if exponents went on without bound: the caller compares the
// result with the format's largest finite one. A carry out of the fraction raises the exponent.
static uint32_t round_magnitude(uint64_t u, int mant, int bias) {
  int exp = (int)(u >> 52) - 1023, min_exp = 1 - bias;
  if (exp < min_exp - mant - 1) return 0; // under half of the least subnormal
  if (exp > bias + 2) exp = bias + 2;     // past every format's range, infinity included
  uint64_t m = (u & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  if (exp < min_exp) return (uint32_t)shift_round(m, 52 - mant + min_exp - exp);
  return ((uint32_t)(exp - min_exp) << mant) + (uint32_t)shift_round(m, 52 - mant);
}

static bool is_nan64(uint64_t magnitude) { return magnitude > UINT64_C(0x7ff0000000000000); }

// Formats with an infinity: its bits are `inf`; NaN is all ones.
static uint32_t narrow(double x, int mant, int bias, uint32_t inf, uint32_t nan) {
  uint64_t u = num_f64_bits(x), magnitude = u & ~(UINT64_C(1) << 63);
  if (is_nan64(magnitude)) return nan;
  uint32_t bits = round_magnitude(magnitude, mant, bias);
  return (bits < inf ? bits : inf) | (u >> 63 ? nan + 1 : 0);
}

// Fields to float: `mant` fraction bits under an exponent field of bias `bias`, finite values only.
static float widen(uint32_t bits, int mant, int bias) {
  uint32_t exp = bits >> mant, frac = bits & ((1u << mant) - 1);
  if (exp) return num_f32_of_bits((exp + 127 - (uint32_t)bias) << 23 | frac << (23 - mant));
  // A subnormal is frac * 2^(1 - bias - mant); both factors and the product are exact floats.
  return (float)frac * num_f32_of_bits((uint32_t)(127 + 1 - bias - mant) << 23);
}

static float with_sign(float magnitude, uint32_t negative) {
  return num_f32_of_bits(num_f32_bits(magnitude) | (negative ? 0x80000000u : 0));
}

/* f16 */

uint16_t num_f16_from_f64(double x) { return (uint16_t)narrow(x, 10, 15, 0x7c00, 0x7fff); }

uint16_t num_f16_from_f32(float x) {
  uint32_t u = num_f32_bits(x), a = u & 0x7fffffff;
  if (a < 0x38800000 || a >= 0x47800000) return num_f16_from_f64(x); // not in [2^-14, 2^16)
  uint32_t rounded = a - (112u << 23) + 0xfff + (a >> 13 & 1);
  return (uint16_t)(rounded >> 13 | (u >> 16 & 0x8000));
}

float num_f16_to_f32(uint16_t h) {
  uint32_t a = h & 0x7fff;
  if (a < 0x7c00) return with_sign(widen(a, 10, 15), h & 0x8000);
  return num_f32_of_bits(0x7f800000 | (a & 0x3ff) << 13 | (uint32_t)(h & 0x8000) << 16);
}

/* bf16 */

uint16_t num_bf16_from_f64(double x) { return (uint16_t)narrow(x, 7, 127, 0x7f80, 0x7fff); }

uint16_t num_bf16_from_f32(float x) {
  uint32_t u = num_f32_bits(x);
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float num_bf16_to_f32(uint16_t h) { return num_f32_of_bits((uint32_t)h << 16); }

/* fp8 */

uint8_t num_e4m3_from_f64(double x, bool satfinite) {
  uint64_t u = num_f64_bits(x), magnitude = u & ~(UINT64_C(1) << 63);
  if (is_nan64(magnitude)) return 0x7f;
  uint32_t bits = round_magnitude(magnitude, 3, 7);
  if (bits > 0x7e) bits = satfinite ? 0x7e : 0x7f;
  return (uint8_t)(bits == 0x7f ? bits : bits | (u >> 63) << 7);
}

uint8_t num_e4m3_from_f32(float x, bool satfinite) { return num_e4m3_from_f64(x, satfinite); }

float num_e4m3_to_f32(uint8_t b) {
  uint32_t a = b & 0x7f;
  return with_sign(a == 0x7f ? num_f32_of_bits(0x7fc00000) : widen(a, 3, 7), b & 0x80);
}

uint8_t num_e5m2_from_f64(double x, bool satfinite) {
  uint8_t b = (uint8_t)narrow(x, 2, 15, 0x7c, 0x7f);
  return satfinite && (b & 0x7f) == 0x7c ? (uint8_t)(b - 1) : b;
}

uint8_t num_e5m2_from_f32(float x, bool satfinite) { return num_e5m2_from_f64(x, satfinite); }

float num_e5m2_to_f32(uint8_t b) { return num_f16_to_f32((uint16_t)(b << 8)); }

/* fp4 */

uint8_t num_e2m1_from_f64(double x) {
  uint64_t u = num_f64_bits(x), magnitude = u & ~(UINT64_C(1) << 63);
  if (is_nan64(magnitude)) return 7;
  uint32_t bits = round_magnitude(magnitude, 1, 1);
  return (uint8_t)((bits < 7 ? bits : 7) | (u >> 63) << 3);
}

float num_e2m1_to_f32(uint8_t b) { return with_sign(widen(b & 7, 1, 1), b & 8); }

/* tf32 */

float num_tf32_from_f32(float x) {
  uint32_t u = num_f32_bits(x);
  if ((u & 0x7fffffff) > 0x7f800000) return num_f32_of_bits(0x7fffffff);
  return num_f32_of_bits((u + 0x1000) & ~0x1fffu);
}

float num_tf32_trunc(float x) {
  uint32_t u = num_f32_bits(x), kept = u & ~0x1fffu;
  bool nan = (u & 0x7fffffff) > 0x7f800000;
  return num_f32_of_bits(nan ? kept | 0x400000 : kept);
}
