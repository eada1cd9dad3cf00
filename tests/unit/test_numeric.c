// base/numeric: every narrow value, and roundings against a search for the nearest neighbour.
// SPDX-License-Identifier: MIT
#include "base/numeric.h"
#include "suite.h"

#include <check.h>
#include <math.h>

// Expectations come from the formats' definition, sign * frac * 2^exp through ldexp, and from a
// search for the nearest of all values; neither looks at the conversion code.
typedef struct {
  const char *name;
  int bits, mant, bias;
  uint32_t max; // bits of the largest finite value
  bool has_inf;
  uint32_t (*from64)(double);
  uint32_t (*from32)(float);
  float (*to32)(uint32_t);
} Format;

static uint32_t f16_64(double x) { return num_f16_from_f64(x); }
static uint32_t f16_32(float x) { return num_f16_from_f32(x); }
static float f16_to(uint32_t b) { return num_f16_to_f32((uint16_t)b); }
static uint32_t bf16_64(double x) { return num_bf16_from_f64(x); }
static uint32_t bf16_32(float x) { return num_bf16_from_f32(x); }
static float bf16_to(uint32_t b) { return num_bf16_to_f32((uint16_t)b); }
static uint32_t e4m3_64(double x) { return num_e4m3_from_f64(x, false); }
static uint32_t e4m3_32(float x) { return num_e4m3_from_f32(x, false); }
static float e4m3_to(uint32_t b) { return num_e4m3_to_f32((uint8_t)b); }
static uint32_t e5m2_64(double x) { return num_e5m2_from_f64(x, false); }
static uint32_t e5m2_32(float x) { return num_e5m2_from_f32(x, false); }
static float e5m2_to(uint32_t b) { return num_e5m2_to_f32((uint8_t)b); }

static const Format formats[] = {
    {"f16", 16, 10, 15, 0x7bff, true, f16_64, f16_32, f16_to},
    {"bf16", 16, 7, 127, 0x7f7f, true, bf16_64, bf16_32, bf16_to},
    {"e4m3", 8, 3, 7, 0x7e, false, e4m3_64, e4m3_32, e4m3_to},
    {"e5m2", 8, 2, 15, 0x7b, true, e5m2_64, e5m2_32, e5m2_to},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

// The value of a finite magnitude, or of the next one past the largest as if exponents went on.
static double defined_value(const Format *f, uint32_t bits) {
  int exp = (int)(bits >> f->mant);
  double frac = (double)(bits & ((1u << f->mant) - 1));
  if (exp == 0) return ldexp(frac, 1 - f->bias - f->mant);
  return ldexp(frac + (double)(1u << f->mant), exp - f->bias - f->mant);
}

// Bits of the finite magnitude nearest to x >= 0 (ties to even), by bisection; max + 1 past all.
static uint32_t nearest(const Format *f, double x) {
  uint32_t lo = 0, hi = f->max + 1;
  if (x >= defined_value(f, hi)) return hi;
  while (hi - lo > 1) {
    uint32_t mid = (lo + hi) / 2;
    if (defined_value(f, mid) <= x) lo = mid;
    else hi = mid;
  }
  // Both differences are exact: the three numbers lie within a factor of two, or are few units.
  double below = x - defined_value(f, lo), above = defined_value(f, hi) - x;
  if (below != above) return below < above ? lo : hi;
  return lo % 2 ? hi : lo;
}

static uint32_t overflow_bits(const Format *f) { return f->has_inf ? f->max + 1 : 0x7f; }

static uint32_t sign_of(const Format *f) { return 1u << (f->bits - 1); }

static void expect_rounding(const Format *f, double x) {
  uint32_t want = nearest(f, fabs(x));
  if (want > f->max) want = overflow_bits(f);
  bool nan = want == 0x7f && !f->has_inf;
  if (signbit(x) && !nan) want |= sign_of(f);
  uint32_t got = f->from64(x);
  if (got != want) ck_abort_msg("%s: %a -> %#x, want %#x", f->name, x, got, want);
  if ((double)(float)x != x) return;
  got = f->from32((float)x);
  if (got != want) ck_abort_msg("%s: float %a -> %#x, want %#x", f->name, x, got, want);
}

START_TEST(every_value) {
  const Format *f = &formats[_i];
  for (uint32_t b = 0; b <= f->max; b++) {
    double v = defined_value(f, b);
    ck_assert(f->to32(b) == v && !signbit(f->to32(b)));
    ck_assert(f->to32(b | sign_of(f)) == -v && signbit(f->to32(b | sign_of(f))));
    ck_assert_uint_eq(f->from64(v), b);
    ck_assert_uint_eq(f->from32((float)-v), b | sign_of(f));
  }
}
END_TEST

// Half-way points between all neighbours, and the numbers just beside them: one rounding only.
START_TEST(every_midpoint) {
  const Format *f = &formats[_i];
  for (uint32_t b = 0; b <= f->max; b++) {
    double middle = (defined_value(f, b) + defined_value(f, b + 1)) / 2;
    for (int sign = -1; sign <= 1; sign += 2) {
      expect_rounding(f, sign * middle);
      expect_rounding(f, sign * nextafter(middle, 0));
      expect_rounding(f, sign * nextafter(middle, INFINITY));
      expect_rounding(f, sign * (double)nextafterf((float)middle, 0));
      expect_rounding(f, sign * (double)nextafterf((float)middle, INFINITY));
    }
  }
}
END_TEST

START_TEST(random_values) {
  const Format *f = &formats[_i];
  uint64_t s = 12345;
  for (int i = 0; i < 500000; i++) {
    s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int exp = (int)(s >> 53) % (2 * f->bias + 24) - f->bias - 20;
    double x = ldexp(1 + (double)(s >> 5 & 0xffffffffffff) / 281474976710656.0, exp);
    expect_rounding(f, s >> 52 & 1 ? x : -x);
    expect_rounding(f, (double)(float)x);
  }
}
END_TEST

START_TEST(special_values) {
  const Format *f = &formats[_i];
  uint32_t sign = sign_of(f), nan = f->has_inf ? sign - 1 : 0x7f;
  ck_assert_uint_eq(f->from64((double)NAN), nan);
  ck_assert_uint_eq(f->from64(-(double)NAN), nan);
  ck_assert_uint_eq(f->from32(NAN), nan);
  ck_assert_uint_eq(f->from32(num_f32_of_bits(0xff800001)), nan);
  ck_assert(isnan(f->to32(nan)) && isnan(f->to32(nan | sign)));
  const double huge[] = {(double)INFINITY, 1e300, 0x1p1023};
  for (int i = 0; i < 3; i++) {
    ck_assert_uint_eq(f->from64(huge[i]), overflow_bits(f));
    ck_assert_uint_eq(f->from64(-huge[i]), f->has_inf ? overflow_bits(f) | sign : 0x7f);
  }
  ck_assert_uint_eq(f->from32(INFINITY), overflow_bits(f));
  if (f->has_inf) ck_assert(f->to32(f->max + 1) == INFINITY);
  if (f->has_inf) ck_assert(f->to32((f->max + 1) | sign) == -INFINITY);
  ck_assert_uint_eq(f->from64(0x1p-1074), 0);
  ck_assert_uint_eq(f->from64(-0x1p-1074), sign);
  ck_assert_uint_eq(f->from32(-0.0f), sign);
}
END_TEST

START_TEST(nan_patterns) {
  const Format *f = &formats[_i];
  for (uint32_t b = overflow_bits(f) + f->has_inf; b < sign_of(f); b++) {
    ck_assert(isnan(f->to32(b)) && !signbit(f->to32(b)));
    ck_assert(isnan(f->to32(b | sign_of(f))) && signbit(f->to32(b | sign_of(f))));
  }
}
END_TEST

// By hand, from the OCP FP8 specification and PTX cvt: S.1111.110 is 448; half-way to 480 is 464.
START_TEST(fp8_saturation) {
  ck_assert_uint_eq(num_e4m3_from_f32(448, false), 0x7e);
  ck_assert_uint_eq(num_e4m3_from_f32(464, false), 0x7e);
  ck_assert_uint_eq(num_e4m3_from_f32(464.1f, false), 0x7f);
  ck_assert_uint_eq(num_e4m3_from_f32(464.1f, true), 0x7e);
  ck_assert_uint_eq(num_e4m3_from_f32(-1e30f, true), 0xfe);
  ck_assert_uint_eq(num_e4m3_from_f32(-INFINITY, true), 0xfe);
  ck_assert_uint_eq(num_e4m3_from_f32(NAN, true), 0x7f);
  ck_assert_uint_eq(num_e5m2_from_f32(57344, false), 0x7b);
  ck_assert_uint_eq(num_e5m2_from_f32(61439, false), 0x7b);
  ck_assert_uint_eq(num_e5m2_from_f32(61440, false), 0x7c);
  ck_assert_uint_eq(num_e5m2_from_f32(61440, true), 0x7b);
  ck_assert_uint_eq(num_e5m2_from_f32(-INFINITY, true), 0xfb);
  ck_assert_uint_eq(num_e5m2_from_f32(NAN, true), 0x7f);
  ck_assert_uint_eq(num_e5m2_from_f64(-1e300, true), 0xfb);
}
END_TEST

// A double just over a half-way point: rounded to float first it would be a tie and go to even.
START_TEST(single_rounding) {
  ck_assert_uint_eq(num_f16_from_f64(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  ck_assert_uint_eq(num_f16_from_f32((float)(1 + 0x1p-11 + 0x1p-40)), 0x3c00);
  ck_assert_uint_eq(num_bf16_from_f64(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  ck_assert_uint_eq(num_e4m3_from_f64(1 + 0x1p-4 + 0x1p-40, false), 0x39);
}
END_TEST

START_TEST(tf32) {
  const float ulp = 0x1p-10f;
  ck_assert(num_tf32_from_f32(1 + ulp) == 1 + ulp);
  ck_assert(num_tf32_from_f32(1 + ulp / 2) == 1 + ulp);
  ck_assert(num_tf32_from_f32(-1 - ulp / 2) == -1 - ulp);
  ck_assert(num_tf32_from_f32(1 + ulp / 2 - 0x1p-23f) == 1);
  ck_assert(num_tf32_from_f32(0x1.fffffep127f) == INFINITY);
  ck_assert(num_tf32_from_f32(-INFINITY) == -INFINITY);
  ck_assert(num_tf32_from_f32(0x1p-137f) == 0x1p-136f); // subnormals too: a tie, away from zero
  ck_assert_uint_eq(num_f32_bits(num_tf32_from_f32(num_f32_of_bits(0xff800001))), 0x7fffffff);
  ck_assert(num_tf32_trunc(1 + ulp - 0x1p-23f) == 1);
  ck_assert(num_tf32_trunc(-2 - 3 * ulp) == -2 - 2 * ulp);
  ck_assert(num_tf32_trunc(INFINITY) == INFINITY);
  ck_assert(isnan(num_tf32_trunc(num_f32_of_bits(0x7f800001))));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("numeric");
  TCase *tc = tcase_create("formats");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, every_value, 0, FORMATS);
  tcase_add_loop_test(tc, every_midpoint, 0, FORMATS);
  tcase_add_loop_test(tc, random_values, 0, FORMATS);
  tcase_add_loop_test(tc, special_values, 0, FORMATS);
  tcase_add_loop_test(tc, nan_patterns, 0, FORMATS);
  tcase_add_test(tc, fp8_saturation);
  tcase_add_test(tc, single_rounding);
  tcase_add_test(tc, tf32);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
