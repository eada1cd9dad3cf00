// Bulk and tensor copies (PTX ISA, "cp.async.bulk"). Coordinates are in elements, innermost first.
// SPDX-License-Identifier: 0BSD

// How long L2 keeps what a copy reads or writes.
// @helper evict_normal device
static constexpr uint64_t tlc_evict_normal = 0x1000000000000000;

// @helper evict_first device
static constexpr uint64_t tlc_evict_first = 0x12F0000000000000;

// @helper evict_last device
static constexpr uint64_t tlc_evict_last = 0x14F0000000000000;

// @helper tma_prefetch device
static __device__ __forceinline__ void tlc_tma_prefetch(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Copies the box at these coordinates; its bytes complete on bar.
// @helper tma_load_1d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_load_1d(void *dst, const CUtensorMap *map,
                                                       uint64_t *bar, uint64_t policy, int x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".L2::cache_hint [%0], [%1, {%4}], [%2], %3;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)), "l"(policy), "r"(x)
               : "memory");
}

// @helper tma_load_2d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_load_2d(void *dst, const CUtensorMap *map,
                                                       uint64_t *bar, uint64_t policy, int x,
                                                       int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".L2::cache_hint [%0], [%1, {%4, %5}], [%2], %3;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)), "l"(policy), "r"(x),
                 "r"(y)
               : "memory");
}

// @helper tma_load_3d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_load_3d(void *dst, const CUtensorMap *map,
                                                       uint64_t *bar, uint64_t policy, int x, int y,
                                                       int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".L2::cache_hint [%0], [%1, {%4, %5, %6}], [%2], %3;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)), "l"(policy), "r"(x),
                 "r"(y), "r"(z)
               : "memory");
}

// @helper tma_load_4d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_load_4d(void *dst, const CUtensorMap *map,
                                                       uint64_t *bar, uint64_t policy, int x, int y,
                                                       int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".L2::cache_hint [%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)), "l"(policy), "r"(x),
                 "r"(y), "r"(z), "r"(u)
               : "memory");
}

// @helper tma_load_5d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_load_5d(void *dst, const CUtensorMap *map,
                                                       uint64_t *bar, uint64_t policy, int x, int y,
                                                       int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".L2::cache_hint [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)), "l"(policy), "r"(x),
                 "r"(y), "r"(z), "r"(u), "r"(v)
               : "memory");
}

// Loads a box into each block of the cluster whose bit is set, at the same offsets.
// @helper tma_multicast_1d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_multicast_1d(void *dst, const CUtensorMap *map,
                                                            uint64_t *bar, uint32_t blocks,
                                                            uint64_t policy, int x) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster.L2::cache_hint [%0], [%1, {%5}], [%2], %3, %4;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)),
                 "h"(static_cast<uint16_t>(blocks)), "l"(policy), "r"(x)
               : "memory");
#else
  __trap();
#endif
}

// @helper tma_multicast_2d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_multicast_2d(void *dst, const CUtensorMap *map,
                                                            uint64_t *bar, uint32_t blocks,
                                                            uint64_t policy, int x, int y) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6}], [%2], %3, %4;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)),
                 "h"(static_cast<uint16_t>(blocks)), "l"(policy), "r"(x), "r"(y)
               : "memory");
#else
  __trap();
#endif
}

// @helper tma_multicast_3d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_multicast_3d(void *dst, const CUtensorMap *map,
                                                            uint64_t *bar, uint32_t blocks,
                                                            uint64_t policy, int x, int y, int z) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6, %7}], [%2], %3, %4;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)),
                 "h"(static_cast<uint16_t>(blocks)), "l"(policy), "r"(x), "r"(y), "r"(z)
               : "memory");
#else
  __trap();
#endif
}

// @helper tma_multicast_4d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_multicast_4d(void *dst, const CUtensorMap *map,
                                                            uint64_t *bar, uint32_t blocks,
                                                            uint64_t policy, int x, int y, int z,
                                                            int u) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6, %7, %8}], [%2], %3, %4;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)),
                 "h"(static_cast<uint16_t>(blocks)), "l"(policy), "r"(x), "r"(y), "r"(z), "r"(u)
               : "memory");
#else
  __trap();
#endif
}

// @helper tma_multicast_5d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_multicast_5d(void *dst, const CUtensorMap *map,
                                                            uint64_t *bar, uint32_t blocks,
                                                            uint64_t policy, int x, int y, int z,
                                                            int u, int v) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6, %7, %8, %9}], [%2], %3, %4;"
               :
               : "r"(tlc_smem_addr(dst)), "l"(map), "r"(tlc_smem_addr(bar)),
                 "h"(static_cast<uint16_t>(blocks)), "l"(policy), "r"(x), "r"(y), "r"(z), "r"(u),
                 "r"(v)
               : "memory");
#else
  __trap();
#endif
}

// Copies a box from shared memory, in this thread's open bulk group.
// @helper tma_store_1d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_store_1d(const CUtensorMap *map, const void *src,
                                                        uint64_t policy, int x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group"
               ".L2::cache_hint [%0, {%3}], [%1], %2;"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "l"(policy), "r"(x)
               : "memory");
}

// @helper tma_store_2d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_store_2d(const CUtensorMap *map, const void *src,
                                                        uint64_t policy, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
               ".L2::cache_hint [%0, {%3, %4}], [%1], %2;"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "l"(policy), "r"(x), "r"(y)
               : "memory");
}

// @helper tma_store_3d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_store_3d(const CUtensorMap *map, const void *src,
                                                        uint64_t policy, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
               ".L2::cache_hint [%0, {%3, %4, %5}], [%1], %2;"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "l"(policy), "r"(x), "r"(y), "r"(z)
               : "memory");
}

// @helper tma_store_4d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_store_4d(const CUtensorMap *map, const void *src,
                                                        uint64_t policy, int x, int y, int z,
                                                        int u) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group"
               ".L2::cache_hint [%0, {%3, %4, %5, %6}], [%1], %2;"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "l"(policy), "r"(x), "r"(y), "r"(z), "r"(u)
               : "memory");
}

// @helper tma_store_5d device needs smem_addr
static __device__ __forceinline__ void tlc_tma_store_5d(const CUtensorMap *map, const void *src,
                                                        uint64_t policy, int x, int y, int z, int u,
                                                        int v) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group"
               ".L2::cache_hint [%0, {%3, %4, %5, %6, %7}], [%1], %2;"
               :
               : "l"(map), "r"(tlc_smem_addr(src)), "l"(policy), "r"(x), "r"(y), "r"(z), "r"(u),
                 "r"(v)
               : "memory");
}
