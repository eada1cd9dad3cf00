// Values of 4-bit types: int4 is held sign-extended in an int8_t, uint4 in a uint8_t, float4_e2m1fn
// as its bits in the low half of a uint8_t.
// SPDX-License-Identifier: 0BSD

// @helper i4
static __device__ __forceinline__ int8_t tlc_i4(int x) {
  return static_cast<int8_t>(((x & 15) ^ 8) - 8);
}

// @helper u4
static __device__ __forceinline__ uint8_t tlc_u4(int x) {
  return static_cast<uint8_t>(x & 15);
}

// @helper i4_sat
static __device__ __forceinline__ int8_t tlc_i4_sat(int8_t x) {
  return static_cast<int8_t>(x < -8 ? -8 : x > 7 ? 7 : x);
}

// @helper u4_sat
static __device__ __forceinline__ uint8_t tlc_u4_sat(uint8_t x) {
  return static_cast<uint8_t>(x > 15 ? 15 : x);
}

// The small integer stands in the last bits of 1024 + 8 + x.
// @helper f16_from_i4
static __device__ __forceinline__ __half tlc_f16_i4(int8_t x) {
  const uint16_t bits = static_cast<uint16_t>(0x6400 | ((x & 15) ^ 8));
  return __hsub_rn(__ushort_as_half(bits), __ushort_as_half(0x6408));
}

// @helper f16_from_u4
static __device__ __forceinline__ __half tlc_f16_u4(uint8_t x) {
  const uint16_t bits = static_cast<uint16_t>(0x6400 | x);
  return __hsub_rn(__ushort_as_half(bits), __ushort_as_half(0x6400));
}

// Of 128 + 8 + x.
// @helper bf16_from_i4
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16_i4(int8_t x) {
  const uint16_t bits = static_cast<uint16_t>(0x4300 | ((x & 15) ^ 8));
  return __hsub_rn(__ushort_as_bfloat16(bits), __ushort_as_bfloat16(0x4308));
}

// @helper bf16_from_u4
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16_u4(uint8_t x) {
  const uint16_t bits = static_cast<uint16_t>(0x4300 | x);
  return __hsub_rn(__ushort_as_bfloat16(bits), __ushort_as_bfloat16(0x4300));
}

// Its exponent and mantissa are the first bits of a float16's; 2^14 is between their biases.
// @helper f16_from_e2m1
static __device__ __forceinline__ __half tlc_f16_e2m1(uint8_t x) {
  const uint16_t bits = static_cast<uint16_t>((x & 8) << 12 | (x & 7) << 9);
  return __hmul_rn(__ushort_as_half(bits), __ushort_as_half(0x7400));
}

// 2^126 is between their biases.
// @helper bf16_from_e2m1
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16_e2m1(uint8_t x) {
  const uint16_t bits = static_cast<uint16_t>((x & 8) << 12 | (x & 7) << 6);
  return __hmul_rn(__ushort_as_bfloat16(bits), __ushort_as_bfloat16(0x7e80));
}

// @helper f32_from_e2m1 needs f16_from_e2m1
static __device__ __forceinline__ float tlc_f32_e2m1(uint8_t x) {
  return __half2float(tlc_f16_e2m1(x));
}

// To the nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6, ties to even bits; NaN to 6.
// @helper e2m1_from_float
template <typename T>
static __device__ __forceinline__ uint8_t tlc_e2m1_of(T a, bool negative) {
  const int m = (a > T(0.25)) + (a >= T(0.75)) + (a > T(1.25)) + (a >= T(1.75)) + (a > T(2.5)) +
                (a >= T(3.5)) + (a > T(5));
  return static_cast<uint8_t>(a != a ? 7 : m | (negative ? 8 : 0));
}

// @helper e2m1_from_f32 needs e2m1_from_float
static __device__ __forceinline__ uint8_t tlc_e2m1(float x) {
  return tlc_e2m1_of(fabsf(x), (__float_as_uint(x) >> 31) != 0);
}

// @helper e2m1_from_f64 needs e2m1_from_float
static __device__ __forceinline__ uint8_t tlc_e2m1(double x) {
  return tlc_e2m1_of(fabs(x), signbit(x));
}

// Pairs of floats whose last bits are elements i and i + 4: word >> 4 * i under a mask. Then their
// bias goes, and halves of equal rank are put side by side.
// @helper unpack_pairs device
static __device__ __forceinline__ void tlc_unpack_pairs(void *dst, const uint32_t *pair) {
  uint4 d;
  d.x = __byte_perm(pair[0], pair[1], 0x5410);
  d.y = __byte_perm(pair[2], pair[3], 0x5410);
  d.z = __byte_perm(pair[0], pair[1], 0x7632);
  d.w = __byte_perm(pair[2], pair[3], 0x7632);
  memcpy(dst, &d, 16);
}

// @helper unpack_i4_f16 device needs unpack_pairs
static __device__ __forceinline__ void tlc_unpack_i4_f16(void *dst, const void *src) {
  uint32_t word, pair[4];
  memcpy(&word, src, 4);
  word ^= 0x88888888u; // as 8 more
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = (word >> 4 * i & 0x000f000fu) | 0x64006400u;
    __half2 x;
    memcpy(&x, &bits, 4);
    x = __hsub2_rn(x, __half2(__ushort_as_half(0x6408), __ushort_as_half(0x6408)));
    memcpy(&pair[i], &x, 4);
  }
  tlc_unpack_pairs(dst, pair);
}

// @helper unpack_u4_f16 device needs unpack_pairs
static __device__ __forceinline__ void tlc_unpack_u4_f16(void *dst, const void *src) {
  uint32_t word, pair[4];
  memcpy(&word, src, 4);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = (word >> 4 * i & 0x000f000fu) | 0x64006400u;
    __half2 x;
    memcpy(&x, &bits, 4);
    x = __hsub2_rn(x, __half2(__ushort_as_half(0x6400), __ushort_as_half(0x6400)));
    memcpy(&pair[i], &x, 4);
  }
  tlc_unpack_pairs(dst, pair);
}

// @helper unpack_e2m1_f16 device needs unpack_pairs
static __device__ __forceinline__ void tlc_unpack_e2m1_f16(void *dst, const void *src) {
  uint32_t word, pair[4];
  memcpy(&word, src, 4);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t low = word >> 4 * i & 0x000f000fu;
    const uint32_t bits = (low << 9 & 0x0e000e00u) | (low << 12 & 0x80008000u);
    __half2 x;
    memcpy(&x, &bits, 4);
    x = __hmul2_rn(x, __half2(__ushort_as_half(0x7400), __ushort_as_half(0x7400)));
    memcpy(&pair[i], &x, 4);
  }
  tlc_unpack_pairs(dst, pair);
}

// @helper unpack_i4_bf16 device needs unpack_pairs
static __device__ __forceinline__ void tlc_unpack_i4_bf16(void *dst, const void *src) {
  uint32_t word, pair[4];
  memcpy(&word, src, 4);
  word ^= 0x88888888u; // as 8 more
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = (word >> 4 * i & 0x000f000fu) | 0x43004300u;
    __nv_bfloat162 x;
    memcpy(&x, &bits, 4);
    x = __hsub2_rn(x, __nv_bfloat162(__ushort_as_bfloat16(0x4308), __ushort_as_bfloat16(0x4308)));
    memcpy(&pair[i], &x, 4);
  }
  tlc_unpack_pairs(dst, pair);
}

// @helper unpack_u4_bf16 device needs unpack_pairs
static __device__ __forceinline__ void tlc_unpack_u4_bf16(void *dst, const void *src) {
  uint32_t word, pair[4];
  memcpy(&word, src, 4);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = (word >> 4 * i & 0x000f000fu) | 0x43004300u;
    __nv_bfloat162 x;
    memcpy(&x, &bits, 4);
    x = __hsub2_rn(x, __nv_bfloat162(__ushort_as_bfloat16(0x4300), __ushort_as_bfloat16(0x4300)));
    memcpy(&pair[i], &x, 4);
  }
  tlc_unpack_pairs(dst, pair);
}

// @helper unpack_e2m1_bf16 device needs unpack_pairs
static __device__ __forceinline__ void tlc_unpack_e2m1_bf16(void *dst, const void *src) {
  uint32_t word, pair[4];
  memcpy(&word, src, 4);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t low = word >> 4 * i & 0x000f000fu;
    const uint32_t bits = (low << 6 & 0x01c001c0u) | (low << 12 & 0x80008000u);
    __nv_bfloat162 x;
    memcpy(&x, &bits, 4);
    x = __hmul2_rn(x, __nv_bfloat162(__ushort_as_bfloat16(0x7e80), __ushort_as_bfloat16(0x7e80)));
    memcpy(&pair[i], &x, 4);
  }
  tlc_unpack_pairs(dst, pair);
}
