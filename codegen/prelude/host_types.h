// CUDA's small float types and scalar intrinsics, for g++.
// SPDX-License-Identifier: 0BSD
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

/* ---------------------------------------------------------------- bits */

template <typename To, typename From>
static inline To tlc_host_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To y;
  memcpy(&y, &x, sizeof(To));
  return y;
}

static inline float __uint_as_float(uint32_t u) { return tlc_host_bits<float>(u); }
static inline uint32_t __float_as_uint(float f) { return tlc_host_bits<uint32_t>(f); }
static inline double __longlong_as_double(long long i) { return tlc_host_bits<double>(i); }

// |x| to the nearest value, ties to even, of a format with `mant` fraction bits and least normal
// exponent `emin`; exponents are not bounded above. Exact scaling: x is a double or wider.
static inline long double tlc_host_round(long double x, int mant, int emin) {
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  const int e = std::ilogb(x) < emin ? emin : std::ilogb(x);
  return std::ldexp(std::nearbyint(std::ldexp(x, mant - e)), e - mant);
}

// Bits of a rounded finite magnitude: exponent field above `mant` fraction bits.
static inline uint32_t tlc_host_encode(long double x, int mant, int emin) {
  if (x == 0) return 0;
  const int e = std::ilogb(x);
  const uint32_t m = static_cast<uint32_t>(std::ldexp(x, mant - (e < emin ? emin : e)));
  return e < emin ? m : (static_cast<uint32_t>(e - emin + 1) << mant) + m - (1u << mant);
}

static inline float tlc_host_decode(uint32_t u, int mant, int emin) {
  const uint32_t e = u >> mant, m = u & ((1u << mant) - 1);
  return e ? std::ldexp(float(m + (1u << mant)), int(e) - 1 + emin - mant)
           : std::ldexp(float(m), emin - mant);
}

/* ---------------------------------------------------------------- __half, __nv_bfloat16 */

struct __half_raw { unsigned short x; };
struct __half {
  unsigned short bits;
  __half() = default;
  __half(__half_raw r) : bits(r.x) {}
  explicit operator float() const;
};
struct __half2 { __half x, y; };
struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(__nv_bfloat16_raw r) : bits(r.x) {}
  explicit operator float() const;
};
struct __nv_bfloat162 { __nv_bfloat16 x, y; };

static inline __half __ushort_as_half(unsigned short u) { return __half(__half_raw{u}); }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short u) {
  return __nv_bfloat16(__nv_bfloat16_raw{u});
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }

static inline __half tlc_host_half(long double x) {
  const uint32_t sign = std::signbit(x) ? 0x8000u : 0;
  if (std::isnan(x)) return __ushort_as_half(0x7fff);
  const long double r = tlc_host_round(std::fabs(x), 10, -14);
  return __ushort_as_half(static_cast<uint16_t>(
      sign | (r > 65504.0L ? 0x7c00u : tlc_host_encode(r, 10, -14))));
}

static inline __nv_bfloat16 tlc_host_bfloat16(long double x) {
  const uint32_t sign = std::signbit(x) ? 0x8000u : 0;
  if (std::isnan(x)) return __ushort_as_bfloat16(0x7fff);
  const long double r = tlc_host_round(std::fabs(x), 7, -126);
  return __ushort_as_bfloat16(static_cast<uint16_t>(
      sign | (r > 0x1.fep127L ? 0x7f80u : tlc_host_encode(r, 7, -126))));
}

static inline float __half2float(__half h) {
  const uint32_t sign = (h.bits & 0x8000u) << 16, u = h.bits & 0x7fffu;
  if (u >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (u & 0x3ffu) << 13);
  return __uint_as_float(sign | __float_as_uint(tlc_host_decode(u, 10, -14)));
}
static inline float __bfloat162float(__nv_bfloat16 h) {
  return __uint_as_float(static_cast<uint32_t>(h.bits) << 16);
}
inline __half::operator float() const { return __half2float(*this); }
inline __nv_bfloat16::operator float() const { return __bfloat162float(*this); }

static inline __half __float2half_rn(float x) { return tlc_host_half(x); }
static inline __half __double2half(double x) { return tlc_host_half(x); }
static inline __half __int2half_rn(int x) { return tlc_host_half(x); }
static inline __half __uint2half_rn(unsigned x) { return tlc_host_half(x); }
static inline __half __ll2half_rn(long long x) { return tlc_host_half(x); }
static inline __half __ull2half_rn(unsigned long long x) { return tlc_host_half(x); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return tlc_host_bfloat16(x); }
static inline __nv_bfloat16 __double2bfloat16(double x) { return tlc_host_bfloat16(x); }
static inline __nv_bfloat16 __int2bfloat16_rn(int x) { return tlc_host_bfloat16(x); }
static inline __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return tlc_host_bfloat16(x); }
static inline __nv_bfloat16 __ll2bfloat16_rn(long long x) { return tlc_host_bfloat16(x); }
static inline __nv_bfloat16 __ull2bfloat16_rn(unsigned long long x) { return tlc_host_bfloat16(x); }

// a * b + c with the error of the sum folded into its last bit, so that rounding again is right.
static inline double tlc_host_fma(double a, double b, double c) {
  const double p = a * b, s = p + c; // p is exact: two factors of 11 bits
  if (!std::isfinite(s)) return s;
  const double q = s - p, lost = (p - (s - q)) + (c - q);
  uint64_t u = tlc_host_bits<uint64_t>(s);
  if (lost != 0 && !(u & 1)) u += (lost > 0) == (s > 0) ? 1 : UINT64_MAX;
  return tlc_host_bits<double>(u);
}

// The smaller (less) or larger of two; a number wins over a NaN, -0 is under 0.
static inline float tlc_host_pick(float a, float b, bool less) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) == less ? a : b;
  return (a < b) == less ? a : b;
}

#define TLC_HOST_HALF(T, to, from)                                                               \
  static inline T __hadd_rn(T a, T b) { return from(to(a) + to(b)); }                            \
  static inline T __hsub_rn(T a, T b) { return from(to(a) - to(b)); }                            \
  static inline T __hmul_rn(T a, T b) { return from(to(a) * to(b)); }                            \
  static inline T __hfma(T a, T b, T c) { return from(tlc_host_fma(to(a), to(b), to(c))); }      \
  static inline T __hmin(T a, T b) { return from(tlc_host_pick(to(a), to(b), true)); }           \
  static inline T __hmax(T a, T b) { return from(tlc_host_pick(to(a), to(b), false)); }          \
  static inline bool __hlt(T a, T b) { return to(a) < to(b); }                                   \
  static inline bool __hle(T a, T b) { return to(a) <= to(b); }                                  \
  static inline bool __heq(T a, T b) { return to(a) == to(b); }                                  \
  static inline bool __hneu(T a, T b) { return to(a) != to(b); }
TLC_HOST_HALF(__half, __half2float, tlc_host_half)
TLC_HOST_HALF(__nv_bfloat16, __bfloat162float, tlc_host_bfloat16)

/* ---------------------------------------------------------------- fp8 */

struct __nv_fp8_e4m3 {
  uint8_t __x;
  explicit operator float() const {
    const uint32_t u = __x & 0x7fu;
    const float f = u == 0x7fu ? __uint_as_float(0x7fffffffu) : tlc_host_decode(u, 3, -6);
    return __x & 0x80u ? -f : f;
  }
};
struct __nv_fp8_e5m2 {
  uint8_t __x;
  explicit operator float() const {
    return __half2float(__ushort_as_half(static_cast<uint16_t>(__x << 8)));
  }
};
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

static inline uint8_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t,
                                             __nv_fp8_interpretation_t kind) {
  const bool e4m3 = kind == __NV_E4M3;
  const uint32_t sign = std::signbit(x) ? 0x80u : 0, most = e4m3 ? 0x7eu : 0x7bu;
  if (std::isnan(x)) return e4m3 ? 0x7f : 0x7f;
  if (std::isinf(x)) return static_cast<uint8_t>(sign | most);
  const int mant = e4m3 ? 3 : 2, emin = e4m3 ? -6 : -14;
  const long double r = tlc_host_round(std::fabs(x), mant, emin);
  const bool over = r > (e4m3 ? 448.0L : 57344.0L);
  return static_cast<uint8_t>(sign | (over ? most : tlc_host_encode(r, mant, emin)));
}
static inline uint8_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t s,
                                            __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(x, s, kind);
}

/* ---------------------------------------------------------------- float and double */

static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return std::sqrt(a); }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }

// Toward zero, saturating; NaN is 0 (on the GPU too, for float to 32 bits; callers test otherwise).
template <typename I>
static inline I tlc_host_to_int(double x, double lo, double past) {
  if (std::isnan(x)) return 0;
  if (x <= lo) return static_cast<I>(lo);
  if (x >= past) return static_cast<I>(~(I(1) << (sizeof(I) * 8 - 1)) | I(lo == 0 ? ~I(0) : 0));
  return static_cast<I>(x);
}
static inline int __double2int_rz(double x) {
  return tlc_host_to_int<int>(x, -0x1p31, 0x1p31);
}
static inline unsigned __double2uint_rz(double x) {
  return tlc_host_to_int<unsigned>(x, 0, 0x1p32);
}
static inline long long __double2ll_rz(double x) {
  return tlc_host_to_int<long long>(x, -0x1p63, 0x1p63);
}
static inline unsigned long long __double2ull_rz(double x) {
  return tlc_host_to_int<unsigned long long>(x, 0, 0x1p64);
}
static inline int __float2int_rz(float x) { return __double2int_rz(x); }
static inline unsigned __float2uint_rz(float x) { return __double2uint_rz(x); }
static inline long long __float2ll_rz(float x) { return __double2ll_rz(x); }
static inline unsigned long long __float2ull_rz(float x) { return __double2ull_rz(x); }
static inline int __float2int_rn(float x) { return __double2int_rz(std::nearbyint(x)); }
