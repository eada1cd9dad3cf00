// Matrix multiply-add of one warp: d += a * b with the register layouts of PTX mma.sync.
// SPDX-License-Identifier: 0BSD

// @helper mma_m16n8k16_f32_f16_f16 device
static __device__ __forceinline__ void tlc_mma_m16n8k16(float *d, const __half *a,
                                                        const __half *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k16_f32_bf16_bf16 device
static __device__ __forceinline__ void tlc_mma_m16n8k16(float *d, const __nv_bfloat16 *a,
                                                        const __nv_bfloat16 *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k16_f16_f16_f16 device
static __device__ __forceinline__ void tlc_mma_m16n8k16(__half *d, const __half *a,
                                                        const __half *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  uint32_t rd[2];
  memcpy(rd, d, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
      "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(rd[0]), "+r"(rd[1])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  memcpy(d, rd, 8);
}

// @helper mma_m16n8k8_f32_tf32_tf32 device
static __device__ __forceinline__ void tlc_mma_m16n8k8(float *d, const float *a,
                                                       const float *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_i32_i8_i8 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(int32_t *d, const int8_t *a,
                                                        const int8_t *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_i32_i8_u8 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(int32_t *d, const int8_t *a,
                                                        const uint8_t *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_i32_u8_i8 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(int32_t *d, const uint8_t *a,
                                                        const int8_t *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_i32_u8_u8 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(int32_t *d, const uint8_t *a,
                                                        const uint8_t *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_f32_e4m3_e4m3 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(float *d, const __nv_fp8_e4m3 *a,
                                                        const __nv_fp8_e4m3 *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_f32_e4m3_e5m2 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(float *d, const __nv_fp8_e4m3 *a,
                                                        const __nv_fp8_e5m2 *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_f32_e5m2_e4m3 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(float *d, const __nv_fp8_e5m2 *a,
                                                        const __nv_fp8_e4m3 *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

// @helper mma_m16n8k32_f32_e5m2_e5m2 device
static __device__ __forceinline__ void tlc_mma_m16n8k32(float *d, const __nv_fp8_e5m2 *a,
                                                        const __nv_fp8_e5m2 *b) {
  uint32_t ra[4], rb[2];
  memcpy(ra, a, 16);
  memcpy(rb, b, 8);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}
