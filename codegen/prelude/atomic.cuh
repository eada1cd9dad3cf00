// Relaxed atomic updates of memory that other threads see.
// "@like NAME OLD=NEW" is a copy of the section NAME (tools/prelude.awk).
// SPDX-License-Identifier: 0BSD

// *p = f(*p) for types of 1, 2 and 4 bytes, by compare and swap of the 32-bit word around it.
// @helper atomic_word
template <typename T, typename F>
static __device__ __forceinline__ void tlc_atomic_update(T *p, F f) {
  const uint32_t shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p) % 4 * 8);
  uint32_t *word = reinterpret_cast<uint32_t *>(reinterpret_cast<unsigned char *>(p) - shift / 8);
  const uint32_t mask = (0xffffffffu >> (32 - 8 * sizeof(T))) << shift;
  uint32_t old = *static_cast<volatile uint32_t *>(word), seen;
  do {
    seen = old;
    const uint32_t before = seen >> shift;
    T x;
    memcpy(&x, &before, sizeof(T));
    x = f(x);
    uint32_t after = 0;
    memcpy(&after, &x, sizeof(T));
    old = atomicCAS(word, seen, (seen & ~mask) | (after << shift));
  } while (old != seen);
}

// *p = f(*p) for types of 8 bytes.
// @helper atomic_long
template <typename T, typename F>
static __device__ __forceinline__ void tlc_atomic_update_long(T *p, F f) {
  unsigned long long *word = reinterpret_cast<unsigned long long *>(p);
  unsigned long long old = *static_cast<volatile unsigned long long *>(word), seen;
  do {
    seen = old;
    T x;
    memcpy(&x, &seen, sizeof(T));
    x = f(x);
    unsigned long long after;
    memcpy(&after, &x, sizeof(T));
    old = atomicCAS(word, seen, after);
  } while (old != seen);
}

// @helper atomic_add_f16
static __device__ __forceinline__ void tlc_atomic_add(__half *p, __half v) {
  atomicAdd(p, v);
}

// @like atomic_add_f16 f16=bf16 __half=__nv_bfloat16
// @like atomic_add_f16 f16=f32 __half=float
// @like atomic_add_f32 f32=f64 float=double

// @helper atomic_add_i32
static __device__ __forceinline__ void tlc_atomic_add(int32_t *p, int32_t v) {
  atomicAdd(p, v);
}

// @like atomic_add_i32 i32=u32 int32_t=uint32_t

// @helper atomic_add_i64
static __device__ __forceinline__ void tlc_atomic_add(int64_t *p, int64_t v) {
  atomicAdd(reinterpret_cast<unsigned long long *>(p), static_cast<unsigned long long>(v));
}

// @like atomic_add_i64 i64=u64 int64_t=uint64_t

// @helper atomic_add_i8 needs atomic_word
static __device__ __forceinline__ void tlc_atomic_add(int8_t *p, int8_t v) {
  tlc_atomic_update(p, [v](int8_t x) { return static_cast<int8_t>(x + v); });
}

// @like atomic_add_i8 i8=u8 int8_t=uint8_t
// @like atomic_add_i8 i8=i16 int8_t=int16_t
// @like atomic_add_i8 i8=u16 int8_t=uint16_t

// @helper atomic_max_i32
static __device__ __forceinline__ void tlc_atomic_max(int32_t *p, int32_t v) {
  atomicMax(p, v);
}

// @like atomic_max_i32 i32=u32 int32_t=uint32_t

// @helper atomic_max_i64
static __device__ __forceinline__ void tlc_atomic_max(int64_t *p, int64_t v) {
  atomicMax(reinterpret_cast<long long *>(p), static_cast<long long>(v));
}

// @helper atomic_max_u64
static __device__ __forceinline__ void tlc_atomic_max(uint64_t *p, uint64_t v) {
  atomicMax(reinterpret_cast<unsigned long long *>(p), static_cast<unsigned long long>(v));
}

// @helper atomic_max_i8 needs atomic_word
static __device__ __forceinline__ void tlc_atomic_max(int8_t *p, int8_t v) {
  tlc_atomic_update(p, [v](int8_t x) { return x < v ? v : x; });
}

// @like atomic_max_i8 i8=u8 int8_t=uint8_t
// @like atomic_max_i8 i8=i16 int8_t=int16_t
// @like atomic_max_i8 i8=u16 int8_t=uint16_t

// @helper atomic_max_f16 needs atomic_word,max_f16
static __device__ __forceinline__ void tlc_atomic_max(__half *p, __half v) {
  tlc_atomic_update(p, [v](__half x) { return tlc_max(x, v); });
}

// @like atomic_max_f16 f16=bf16 __half=__nv_bfloat16
// @like atomic_max_f16 f16=f32 __half=float

// @helper atomic_max_f64 needs atomic_long,max_f64
static __device__ __forceinline__ void tlc_atomic_max(double *p, double v) {
  tlc_atomic_update_long(p, [v](double x) { return tlc_max(x, v); });
}

// @like atomic_max_i32 max=min Max=Min
// @like atomic_min_i32 i32=u32 int32_t=uint32_t
// @like atomic_max_i64 max=min Max=Min
// @like atomic_max_u64 max=min Max=Min

// @helper atomic_min_i8 needs atomic_word
static __device__ __forceinline__ void tlc_atomic_min(int8_t *p, int8_t v) {
  tlc_atomic_update(p, [v](int8_t x) { return v < x ? v : x; });
}

// @like atomic_min_i8 i8=u8 int8_t=uint8_t
// @like atomic_min_i8 i8=i16 int8_t=int16_t
// @like atomic_min_i8 i8=u16 int8_t=uint16_t
// @like atomic_max_f16 max=min
// @like atomic_min_f16 f16=bf16 __half=__nv_bfloat16
// @like atomic_min_f16 f16=f32 __half=float
// @like atomic_max_f64 max=min

// Two neighbours, each atomic; p is 4-byte aligned global memory.
// @helper atomic_add_x2_f16
static __device__ __forceinline__ void tlc_atomic_add_x2(__half *p, const __half *v) {
  __half2 pair;
  memcpy(&pair, v, 4);
  atomicAdd(reinterpret_cast<__half2 *>(p), pair);
}

// @like atomic_add_x2_f16 f16=bf16 __half=__nv_bfloat16

// Two neighbours, each atomic; p is 8-byte aligned global memory.
// @helper atomic_add_x2_f32
static __device__ __forceinline__ void tlc_atomic_add_x2(float *p, const float *v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(
                   __cvta_generic_to_global(p)),
               "f"(v[0]), "f"(v[1])
               : "memory");
#else
  atomicAdd(p, v[0]);
  atomicAdd(p + 1, v[1]);
#endif
}

// Four neighbours, each atomic; p is 16-byte aligned global memory.
// @helper atomic_add_x4_f32
static __device__ __forceinline__ void tlc_atomic_add_x4(float *p, const float *v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(
                   __cvta_generic_to_global(p)),
               "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
               : "memory");
#else
  atomicAdd(p, v[0]);
  atomicAdd(p + 1, v[1]);
  atomicAdd(p + 2, v[2]);
  atomicAdd(p + 3, v[3]);
#endif
}
