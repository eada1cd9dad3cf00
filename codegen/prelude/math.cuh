// Math functions. float ones are built from PTX without .ftz, or go through double where rare,
// so that nvcc's --use_fast_math changes nothing.
// SPDX-License-Identifier: 0BSD

// @helper fma_f32 device
static __device__ __forceinline__ float tlc_fma(float a, float b, float c) {
  float d;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}

// @helper fma_f64
static __device__ __forceinline__ double tlc_fma(double a, double b, double c) {
  return __fma_rn(a, b, c);
}

// @helper fma_f16
static __device__ __forceinline__ __half tlc_fma(__half a, __half b, __half c) {
  return __hfma(a, b, c);
}

// @helper fma_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_fma(__nv_bfloat16 a, __nv_bfloat16 b,
                                                        __nv_bfloat16 c) {
  return __hfma(a, b, c);
}

// @helper exp2_f32 device
static __device__ __forceinline__ float tlc_exp2(float a) {
  float d;
  asm("ex2.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// Without the steps that results below the smallest normal number need.
// @helper exp2_flush_f32 device
static __device__ __forceinline__ float tlc_exp2_flush(float a) {
  float d;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// e^a = 2^n e^r with n = round(a / ln 2) and ln 2 in two parts.
// @helper exp_f32 needs exp2_flush_f32,fma_f32,mul_f32
static __device__ __forceinline__ float tlc_exp(float a) {
  const float x = a > 90.0f ? 90.0f : a < -105.0f ? -105.0f : a;
  const int n = __float2int_rn(tlc_mul(x, 1.44269504f));
  float r = tlc_fma(float(n), -0.693359375f, x);  // 9 bits of ln 2: exact
  r = tlc_fma(float(n), 2.12194440e-4f, r);
  const float y = tlc_exp2_flush(tlc_mul(r, 1.44269504f));
  const int half = n / 2;  // 2^n in two steps: each is a normal number
  return tlc_mul(tlc_mul(y, __uint_as_float(static_cast<uint32_t>(half + 127) << 23)),
                 __uint_as_float(static_cast<uint32_t>(n - half + 127) << 23));
}

// @helper sigmoid_f32 needs exp_f32,div_f32,add_f32,neg_f32
static __device__ __forceinline__ float tlc_sigmoid(float a) {
  return tlc_div(1.0f, tlc_add(1.0f, tlc_exp(tlc_neg(a))));
}

// @helper sqrt_f32 device
static __device__ __forceinline__ float tlc_sqrt(float a) {
  float d;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// @helper rsqrt_f32 device
static __device__ __forceinline__ float tlc_rsqrt(float a) {
  float d;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// @helper log_f32 needs f32_from_f64,f64_from_f32
static __device__ __forceinline__ float tlc_log(float a) {
  return tlc_f32(log(tlc_f64(a)));
}

// @helper log2_f32 needs f32_from_f64,f64_from_f32
static __device__ __forceinline__ float tlc_log2(float a) {
  return tlc_f32(log2(tlc_f64(a)));
}

// @helper sin_f32 needs f32_from_f64,f64_from_f32
static __device__ __forceinline__ float tlc_sin(float a) {
  return tlc_f32(sin(tlc_f64(a)));
}

// @helper cos_f32 needs f32_from_f64,f64_from_f32
static __device__ __forceinline__ float tlc_cos(float a) {
  return tlc_f32(cos(tlc_f64(a)));
}

// @helper tanh_f32 needs f32_from_f64,f64_from_f32
static __device__ __forceinline__ float tlc_tanh(float a) {
  return tlc_f32(tanh(tlc_f64(a)));
}

// @helper erf_f32 needs f32_from_f64,f64_from_f32
static __device__ __forceinline__ float tlc_erf(float a) {
  return tlc_f32(erf(tlc_f64(a)));
}

// @helper pow_f32 needs f32_from_f64,f64_from_f32
static __device__ __forceinline__ float tlc_pow(float a, float b) {
  return tlc_f32(pow(tlc_f64(a), tlc_f64(b)));
}

// @helper floor_f32 device
static __device__ __forceinline__ float tlc_floor(float a) {
  float d;
  asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// @helper ceil_f32 device
static __device__ __forceinline__ float tlc_ceil(float a) {
  float d;
  asm("cvt.rpi.f32.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// Ties to even.
// @helper round_f32 device
static __device__ __forceinline__ float tlc_round(float a) {
  float d;
  asm("cvt.rni.f32.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// @helper exp_f64
static __device__ __forceinline__ double tlc_exp(double a) {
  return exp(a);
}

// @helper exp2_f64
static __device__ __forceinline__ double tlc_exp2(double a) {
  return exp2(a);
}

// @helper exp2_flush_f64
static __device__ __forceinline__ double tlc_exp2_flush(double a) {
  const double d = exp2(a);
  return d < 0x1p-126 ? 0.0 : d;
}

// @helper log_f64
static __device__ __forceinline__ double tlc_log(double a) {
  return log(a);
}

// @helper log2_f64
static __device__ __forceinline__ double tlc_log2(double a) {
  return log2(a);
}

// @helper sin_f64
static __device__ __forceinline__ double tlc_sin(double a) {
  return sin(a);
}

// @helper cos_f64
static __device__ __forceinline__ double tlc_cos(double a) {
  return cos(a);
}

// @helper tanh_f64
static __device__ __forceinline__ double tlc_tanh(double a) {
  return tanh(a);
}

// @helper erf_f64
static __device__ __forceinline__ double tlc_erf(double a) {
  return erf(a);
}

// @helper sqrt_f64
static __device__ __forceinline__ double tlc_sqrt(double a) {
  return __dsqrt_rn(a);
}

// @helper rsqrt_f64
static __device__ __forceinline__ double tlc_rsqrt(double a) {
  return __ddiv_rn(1.0, __dsqrt_rn(a));
}

// @helper floor_f64
static __device__ __forceinline__ double tlc_floor(double a) {
  return floor(a);
}

// @helper ceil_f64
static __device__ __forceinline__ double tlc_ceil(double a) {
  return ceil(a);
}

// Ties to even.
// @helper round_f64
static __device__ __forceinline__ double tlc_round(double a) {
  return rint(a);
}

// @helper pow_f64
static __device__ __forceinline__ double tlc_pow(double a, double b) {
  return pow(a, b);
}

// @helper sigmoid_f64
static __device__ __forceinline__ double tlc_sigmoid(double a) {
  return __ddiv_rn(1.0, __dadd_rn(1.0, exp(-a)));
}

// @helper isnan_f32
static __device__ __forceinline__ bool tlc_isnan(float a) {
  return (__float_as_uint(a) & 0x7fffffffu) > 0x7f800000u;
}

// @helper isinf_f32
static __device__ __forceinline__ bool tlc_isinf(float a) {
  return (__float_as_uint(a) & 0x7fffffffu) == 0x7f800000u;
}

// @helper isnan_f64
static __device__ __forceinline__ bool tlc_isnan(double a) {
  return a != a;
}

// @helper isinf_f64
static __device__ __forceinline__ bool tlc_isinf(double a) {
  return a == a && a - a != a - a;
}
