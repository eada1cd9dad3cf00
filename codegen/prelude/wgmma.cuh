// What goes around wgmma; the instructions themselves are written by codegen/wgmma.c.
// SPDX-License-Identifier: 0BSD

// The low word of a matrix descriptor: its address in the block's shared memory, of which a pointer
// has the block's rank in the cluster above bit 23, and the leading dimension's stride in bytes.
// It is lane 0's in all lanes, which keeps it in uniform registers; adding bytes / 16 moves it.
// @helper wgmma_desc device needs smem_addr
static __device__ __forceinline__ uint32_t tlc_wgmma_desc(const void *p, uint32_t lbo) {
  return __shfl_sync(0xffffffffu, (tlc_smem_addr(p) & 0x3ffff) >> 4 | lbo >> 4 << 16, 0);
}

// Accesses of these registers stay on their side of this place.
// @helper wgmma_pin device
template <int N>
static __device__ __forceinline__ void tlc_wgmma_pin(float *r) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(r[i])::"memory");
}
template <int N, typename T>
static __device__ __forceinline__ void tlc_wgmma_pin(T *r) {
#pragma unroll
  for (int i = 0; i < N * int(sizeof(T)) / 4; i++) {
    uint32_t word;
    memcpy(&word, reinterpret_cast<char *>(r) + 4 * i, 4);
    asm volatile("" : "+r"(word)::"memory");
    memcpy(reinterpret_cast<char *>(r) + 4 * i, &word, 4);
  }
}

// A reading of these registers that never happens, behind a loop in which only wgmma reads them:
// ptxas of CUDA 13.0 gives such registers to others after their last use in the loop's text.
// @helper wgmma_keep device
template <int N, typename T>
static __device__ __forceinline__ void tlc_wgmma_keep(const T *r) {
  uint32_t bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  if (bytes != 1) return;
#pragma unroll
  for (int i = 0; i < N * int(sizeof(T)) / 4; i++) {
    uint32_t word;
    memcpy(&word, reinterpret_cast<const char *>(r) + 4 * i, 4);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(4 * i), "r"(word) : "memory");
  }
}

// @helper wgmma_fence device
static __device__ __forceinline__ void tlc_wgmma_fence() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

// @helper wgmma_commit device
static __device__ __forceinline__ void tlc_wgmma_commit() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Until at most N of the newest groups are in flight.
// @helper wgmma_wait device
template <int N>
static __device__ __forceinline__ void tlc_wgmma_wait() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
}
