// Bulk reductions, one-dimensional bulk copies and bulk groups (PTX ISA, "cp.async.bulk",
// "cp.reduce.async.bulk").
// SPDX-License-Identifier: 0BSD

// Each element of a box by add, atomically, in this thread's open bulk group.
// @helper tma_add_1d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_add_1d(const CUtensorMap *map, const void *src,
                                                      int x) {
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group"
               " [%0, {%2}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x)
               : "memory");
}

// @helper tma_add_2d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_add_2d(const CUtensorMap *map, const void *src,
                                                      int x, int y) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
               " [%0, {%2, %3}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y)
               : "memory");
}

// @helper tma_add_3d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_add_3d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group"
               " [%0, {%2, %3, %4}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z)
               : "memory");
}

// @helper tma_add_4d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_add_4d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z, int u) {
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group"
               " [%0, {%2, %3, %4, %5}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z), "r"(u)
               : "memory");
}

// @helper tma_add_5d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_add_5d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z, int u, int v) {
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.tile.bulk_group"
               " [%0, {%2, %3, %4, %5, %6}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
               : "memory");
}

// Each element of a box by max, atomically, in this thread's open bulk group.
// @helper tma_max_1d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_max_1d(const CUtensorMap *map, const void *src,
                                                      int x) {
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.tile.bulk_group"
               " [%0, {%2}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x)
               : "memory");
}

// @helper tma_max_2d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_max_2d(const CUtensorMap *map, const void *src,
                                                      int x, int y) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group"
               " [%0, {%2, %3}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y)
               : "memory");
}

// @helper tma_max_3d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_max_3d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.max.tile.bulk_group"
               " [%0, {%2, %3, %4}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z)
               : "memory");
}

// @helper tma_max_4d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_max_4d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z, int u) {
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.max.tile.bulk_group"
               " [%0, {%2, %3, %4, %5}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z), "r"(u)
               : "memory");
}

// @helper tma_max_5d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_max_5d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z, int u, int v) {
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.max.tile.bulk_group"
               " [%0, {%2, %3, %4, %5, %6}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
               : "memory");
}

// Each element of a box by min, atomically, in this thread's open bulk group.
// @helper tma_min_1d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_min_1d(const CUtensorMap *map, const void *src,
                                                      int x) {
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile.bulk_group"
               " [%0, {%2}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x)
               : "memory");
}

// @helper tma_min_2d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_min_2d(const CUtensorMap *map, const void *src,
                                                      int x, int y) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group"
               " [%0, {%2, %3}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y)
               : "memory");
}

// @helper tma_min_3d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_min_3d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.min.tile.bulk_group"
               " [%0, {%2, %3, %4}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z)
               : "memory");
}

// @helper tma_min_4d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_min_4d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z, int u) {
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.min.tile.bulk_group"
               " [%0, {%2, %3, %4, %5}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z), "r"(u)
               : "memory");
}

// @helper tma_min_5d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_min_5d(const CUtensorMap *map, const void *src,
                                                      int x, int y, int z, int u, int v) {
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.min.tile.bulk_group"
               " [%0, {%2, %3, %4, %5, %6}], [%1];"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
               : "memory");
}

// Copies `bytes`, a multiple of 16, which complete on bar.
// @helper bulk_load device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_load(void *dst, const void *src, uint32_t bytes,
                                                     uint64_t *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1], %2, [%3];"
               :
               : "r"(tlc_smem_addr(dst)), "l"(src), "r"(bytes), "r"(tlc_smem_addr(bar))
               : "memory");
}

// Copies `bytes`, a multiple of 16, into each block of the cluster whose bit is set.
// @helper bulk_multicast device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_multicast(void *dst, const void *src,
                                                          uint32_t bytes, uint64_t *bar,
                                                          uint32_t blocks) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1], %2, [%3], %4;"
      :
      : "r"(tlc_smem_addr(dst)), "l"(src), "r"(bytes), "r"(tlc_smem_addr(bar)),
        "h"(static_cast<uint16_t>(blocks))
      : "memory");
#else
  __trap();
#endif
}

// Copies `bytes`, a multiple of 16, in this thread's open bulk group.
// @helper bulk_store device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_store(void *dst, const void *src, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// Each element by an operation, atomically, in this thread's open bulk group.
// @helper bulk_add_f32 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_add_f32(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_add_f64 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_add_f64(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_add_i32 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_add_i32(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_add_u32 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_add_u32(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_add_u64 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_add_u64(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_add_f16 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_add_f16(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_add_bf16 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_add_bf16(void *dst, const void *src,
                                                         uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_max_i32 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_max_i32(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_max_u32 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_max_u32(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_max_i64 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_max_i64(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_max_u64 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_max_u64(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u64 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_max_f16 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_max_f16(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.f16 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_max_bf16 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_max_bf16(void *dst, const void *src,
                                                         uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.bf16 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_min_i32 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_min_i32(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_min_u32 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_min_u32(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_min_i64 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_min_i64(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_min_u64 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_min_u64(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u64 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_min_f16 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_min_f16(void *dst, const void *src,
                                                        uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_min_bf16 device needs smem_addr
static __device__ __forceinline__ void tlc_bulk_min_bf16(void *dst, const void *src,
                                                         uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.bf16 [%0], [%1], %2;"
               :
               : "l"(dst), "r"(tlc_smem_addr(src)), "r"(bytes)
               : "memory");
}

// @helper bulk_commit device
static __device__ __forceinline__ void tlc_bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most N of this thread's newest bulk groups are running.
// @helper bulk_wait device
template <int N> static __device__ __forceinline__ void tlc_bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

// Waits until at most N of them still read shared memory.
// @helper bulk_wait_read device
template <int N> static __device__ __forceinline__ void tlc_bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
