// Conversions between types: floats round once, to nearest even; floats to integers truncate and
// saturate, NaN to 0; fp8 saturates to its largest finite value.
// SPDX-License-Identifier: 0BSD

// @helper f32_from_f16
static __device__ __forceinline__ float tlc_f32(__half x) {
  return __half2float(x);
}

// @helper f32_from_bf16
static __device__ __forceinline__ float tlc_f32(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

// @helper f32_from_f64 device
static __device__ __forceinline__ float tlc_f32(double x) {
  float d;
  asm("cvt.rn.f32.f64 %0, %1;" : "=f"(d) : "d"(x));
  return d;
}

// @helper f32_from_e4m3
static __device__ __forceinline__ float tlc_f32(__nv_fp8_e4m3 x) {
  return static_cast<float>(x);
}

// @helper f32_from_e5m2
static __device__ __forceinline__ float tlc_f32(__nv_fp8_e5m2 x) {
  return static_cast<float>(x);
}

// @helper f64_from_f32 device
static __device__ __forceinline__ double tlc_f64(float x) {
  double d;
  asm("cvt.f64.f32 %0, %1;" : "=d"(d) : "f"(x));
  return d;
}

// @helper f16_from_f32
static __device__ __forceinline__ __half tlc_f16(float x) {
  return __float2half_rn(x);
}

// @helper f16_from_f64
static __device__ __forceinline__ __half tlc_f16(double x) {
  return __double2half(x);
}

// @helper f16_from_i32
static __device__ __forceinline__ __half tlc_f16(int32_t x) {
  return __int2half_rn(x);
}

// @helper f16_from_u32
static __device__ __forceinline__ __half tlc_f16(uint32_t x) {
  return __uint2half_rn(x);
}

// @helper f16_from_i64
static __device__ __forceinline__ __half tlc_f16(int64_t x) {
  return __ll2half_rn(x);
}

// @helper f16_from_u64
static __device__ __forceinline__ __half tlc_f16(uint64_t x) {
  return __ull2half_rn(x);
}

// @helper bf16_from_f32
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16(float x) {
  return __float2bfloat16_rn(x);
}

// @helper bf16_from_f64
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16(double x) {
  return __double2bfloat16(x);
}

// @helper bf16_from_i32
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16(int32_t x) {
  return __int2bfloat16_rn(x);
}

// @helper bf16_from_u32
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16(uint32_t x) {
  return __uint2bfloat16_rn(x);
}

// @helper bf16_from_i64
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16(int64_t x) {
  return __ll2bfloat16_rn(x);
}

// @helper bf16_from_u64
static __device__ __forceinline__ __nv_bfloat16 tlc_bf16(uint64_t x) {
  return __ull2bfloat16_rn(x);
}

// Nearest, ties away from zero.
// @helper tf32_from_f32 device
static __device__ __forceinline__ float tlc_tf32(float x) {
  uint32_t d;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(x));
  return __uint_as_float(d);
}

// @helper e4m3_from_f32
static __device__ __forceinline__ __nv_fp8_e4m3 tlc_e4m3(float x) {
  __nv_fp8_e4m3 d;
  d.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  return d;
}

// @helper e4m3_from_f64
static __device__ __forceinline__ __nv_fp8_e4m3 tlc_e4m3(double x) {
  __nv_fp8_e4m3 d;
  d.__x = __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  return d;
}

// @helper e5m2_from_f32
static __device__ __forceinline__ __nv_fp8_e5m2 tlc_e5m2(float x) {
  __nv_fp8_e5m2 d;
  d.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  return d;
}

// @helper e5m2_from_f64
static __device__ __forceinline__ __nv_fp8_e5m2 tlc_e5m2(double x) {
  __nv_fp8_e5m2 d;
  d.__x = __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  return d;
}

// @helper i8_from_f32
static __device__ __forceinline__ int8_t tlc_i8(float x) {
  const int i = __float2int_rz(x);
  return static_cast<int8_t>(i < -128 ? -128 : i > 127 ? 127 : i);
}

// @helper i8_from_f64
static __device__ __forceinline__ int8_t tlc_i8(double x) {
  const int i = x != x ? 0 : __double2int_rz(x);
  return static_cast<int8_t>(i < -128 ? -128 : i > 127 ? 127 : i);
}

// @helper i16_from_f32
static __device__ __forceinline__ int16_t tlc_i16(float x) {
  const int i = __float2int_rz(x);
  return static_cast<int16_t>(i < -32768 ? -32768 : i > 32767 ? 32767 : i);
}

// @helper i16_from_f64
static __device__ __forceinline__ int16_t tlc_i16(double x) {
  const int i = x != x ? 0 : __double2int_rz(x);
  return static_cast<int16_t>(i < -32768 ? -32768 : i > 32767 ? 32767 : i);
}

// @helper u8_from_f32
static __device__ __forceinline__ uint8_t tlc_u8(float x) {
  const uint32_t i = __float2uint_rz(x);
  return static_cast<uint8_t>(i > 255u ? 255u : i);
}

// @helper u8_from_f64
static __device__ __forceinline__ uint8_t tlc_u8(double x) {
  const uint32_t i = x != x ? 0 : __double2uint_rz(x);
  return static_cast<uint8_t>(i > 255u ? 255u : i);
}

// @helper u16_from_f32
static __device__ __forceinline__ uint16_t tlc_u16(float x) {
  const uint32_t i = __float2uint_rz(x);
  return static_cast<uint16_t>(i > 65535u ? 65535u : i);
}

// @helper u16_from_f64
static __device__ __forceinline__ uint16_t tlc_u16(double x) {
  const uint32_t i = x != x ? 0 : __double2uint_rz(x);
  return static_cast<uint16_t>(i > 65535u ? 65535u : i);
}

// @helper i32_from_f32
static __device__ __forceinline__ int32_t tlc_i32(float x) {
  return __float2int_rz(x);
}

// @helper i32_from_f64
static __device__ __forceinline__ int32_t tlc_i32(double x) {
  return x != x ? 0 : __double2int_rz(x);
}

// @helper u32_from_f32
static __device__ __forceinline__ uint32_t tlc_u32(float x) {
  return __float2uint_rz(x);
}

// @helper u32_from_f64
static __device__ __forceinline__ uint32_t tlc_u32(double x) {
  return x != x ? 0 : __double2uint_rz(x);
}

// @helper i64_from_f32
static __device__ __forceinline__ int64_t tlc_i64(float x) {
  return x != x ? 0 : __float2ll_rz(x);
}

// @helper i64_from_f64
static __device__ __forceinline__ int64_t tlc_i64(double x) {
  return x != x ? 0 : __double2ll_rz(x);
}

// @helper u64_from_f32
static __device__ __forceinline__ uint64_t tlc_u64(float x) {
  return x != x ? 0 : __float2ull_rz(x);
}

// @helper u64_from_f64
static __device__ __forceinline__ uint64_t tlc_u64(double x) {
  return x != x ? 0 : __double2ull_rz(x);
}
