// Float arithmetic, one rounding an operation. float goes through PTX without .ftz and with its
// rounding spelled out, so that nvcc's --use_fast_math, -ftz and -fmad change nothing.
// SPDX-License-Identifier: 0BSD

// @helper add_f32 device
static __device__ __forceinline__ float tlc_add(float a, float b) {
  float d;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// @helper sub_f32 device
static __device__ __forceinline__ float tlc_sub(float a, float b) {
  float d;
  asm("sub.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// @helper mul_f32 device
static __device__ __forceinline__ float tlc_mul(float a, float b) {
  float d;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// @helper div_f32 device
static __device__ __forceinline__ float tlc_div(float a, float b) {
  float d;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// @helper add_f64
static __device__ __forceinline__ double tlc_add(double a, double b) {
  return __dadd_rn(a, b);
}

// @helper sub_f64
static __device__ __forceinline__ double tlc_sub(double a, double b) {
  return __dsub_rn(a, b);
}

// @helper mul_f64
static __device__ __forceinline__ double tlc_mul(double a, double b) {
  return __dmul_rn(a, b);
}

// @helper div_f64
static __device__ __forceinline__ double tlc_div(double a, double b) {
  return __ddiv_rn(a, b);
}

// @helper add_f16
static __device__ __forceinline__ __half tlc_add(__half a, __half b) {
  return __hadd_rn(a, b);
}

// @helper add_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_add(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hadd_rn(a, b);
}

// @helper sub_f16
static __device__ __forceinline__ __half tlc_sub(__half a, __half b) {
  return __hsub_rn(a, b);
}

// @helper sub_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_sub(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hsub_rn(a, b);
}

// @helper mul_f16
static __device__ __forceinline__ __half tlc_mul(__half a, __half b) {
  return __hmul_rn(a, b);
}

// @helper mul_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_mul(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hmul_rn(a, b);
}

// The quotient of two floats of 11 bits rounds once: 24 bits are enough to make it exact.
// @helper div_f16 needs div_f32
static __device__ __forceinline__ __half tlc_div(__half a, __half b) {
  return __float2half_rn(tlc_div(__half2float(a), __half2float(b)));
}

// @helper div_bf16 needs div_f32
static __device__ __forceinline__ __nv_bfloat16 tlc_div(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __float2bfloat16_rn(tlc_div(__bfloat162float(a), __bfloat162float(b)));
}

// @helper neg_f32
static __device__ __forceinline__ float tlc_neg(float a) {
  return __uint_as_float(__float_as_uint(a) ^ 0x80000000u);
}

// @helper neg_f64
static __device__ __forceinline__ double tlc_neg(double a) {
  return -a;
}

// @helper neg_f16
static __device__ __forceinline__ __half tlc_neg(__half a) {
  return __ushort_as_half(__half_as_ushort(a) ^ 0x8000u);
}

// @helper neg_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_neg(__nv_bfloat16 a) {
  return __ushort_as_bfloat16(__bfloat16_as_ushort(a) ^ 0x8000u);
}

// @helper abs_f32
static __device__ __forceinline__ float tlc_abs(float a) {
  return __uint_as_float(__float_as_uint(a) & 0x7fffffffu);
}

// @helper abs_f64
static __device__ __forceinline__ double tlc_abs(double a) {
  return fabs(a);
}

// @helper abs_f16
static __device__ __forceinline__ __half tlc_abs(__half a) {
  return __ushort_as_half(__half_as_ushort(a) & 0x7fffu);
}

// @helper abs_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_abs(__nv_bfloat16 a) {
  return __ushort_as_bfloat16(__bfloat16_as_ushort(a) & 0x7fffu);
}

// The smaller; a number wins over a NaN.
// @helper min_f32 device
static __device__ __forceinline__ float tlc_min(float a, float b) {
  float d;
  asm("min.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// @helper min_f64
static __device__ __forceinline__ double tlc_min(double a, double b) {
  return fmin(a, b);
}

// @helper min_f16
static __device__ __forceinline__ __half tlc_min(__half a, __half b) {
  return __hmin(a, b);
}

// @helper min_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_min(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hmin(a, b);
}

// The larger; a number wins over a NaN.
// @helper max_f32 device
static __device__ __forceinline__ float tlc_max(float a, float b) {
  float d;
  asm("max.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}

// @helper max_f64
static __device__ __forceinline__ double tlc_max(double a, double b) {
  return fmax(a, b);
}

// @helper max_f16
static __device__ __forceinline__ __half tlc_max(__half a, __half b) {
  return __hmax(a, b);
}

// @helper max_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_max(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hmax(a, b);
}

// @helper lt_f32 device
static __device__ __forceinline__ bool tlc_lt(float a, float b) {
  int d;
  asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }"
      : "=r"(d)
      : "f"(a), "f"(b));
  return d != 0;
}

// @helper lt_f16
static __device__ __forceinline__ bool tlc_lt(__half a, __half b) {
  return __hlt(a, b);
}

// @helper lt_bf16
static __device__ __forceinline__ bool tlc_lt(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hlt(a, b);
}

// @helper le_f32 device
static __device__ __forceinline__ bool tlc_le(float a, float b) {
  int d;
  asm("{ .reg .pred p; setp.le.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }"
      : "=r"(d)
      : "f"(a), "f"(b));
  return d != 0;
}

// @helper le_f16
static __device__ __forceinline__ bool tlc_le(__half a, __half b) {
  return __hle(a, b);
}

// @helper le_bf16
static __device__ __forceinline__ bool tlc_le(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hle(a, b);
}

// @helper eq_f32 device
static __device__ __forceinline__ bool tlc_eq(float a, float b) {
  int d;
  asm("{ .reg .pred p; setp.eq.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }"
      : "=r"(d)
      : "f"(a), "f"(b));
  return d != 0;
}

// @helper eq_f16
static __device__ __forceinline__ bool tlc_eq(__half a, __half b) {
  return __heq(a, b);
}

// @helper eq_bf16
static __device__ __forceinline__ bool tlc_eq(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __heq(a, b);
}

// @helper ne_f32 device
static __device__ __forceinline__ bool tlc_ne(float a, float b) {
  int d;
  asm("{ .reg .pred p; setp.neu.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }"
      : "=r"(d)
      : "f"(a), "f"(b));
  return d != 0;
}

// @helper ne_f16
static __device__ __forceinline__ bool tlc_ne(__half a, __half b) {
  return __hneu(a, b);
}

// @helper ne_bf16
static __device__ __forceinline__ bool tlc_ne(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hneu(a, b);
}
