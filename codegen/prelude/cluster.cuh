// Clusters, named barriers, registers of warpgroups, stmatrix (PTX ISA).
// SPDX-License-Identifier: 0BSD

// Waits for the kernels before this one on its stream, and sees what they wrote.
// @helper grid_wait device
static __device__ __forceinline__ void tlc_grid_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets the kernel behind this one on its stream start, once all blocks say so or have ended.
// @helper grid_trigger device
static __device__ __forceinline__ void tlc_grid_trigger() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// @helper cluster_arrive device
static __device__ __forceinline__ void tlc_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// @helper cluster_wait device
static __device__ __forceinline__ void tlc_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// This block's number in its cluster.
// @helper cluster_rank device
static __device__ __forceinline__ int tlc_cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Barrier `id` of the block, over N threads: whole warps that wait or only arrive.
// @helper bar_sync device
template <int N> static __device__ __forceinline__ void tlc_bar_sync(int id) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "n"(N) : "memory");
}

// @helper bar_arrive device
template <int N> static __device__ __forceinline__ void tlc_bar_arrive(int id) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "n"(N) : "memory");
}

// Waits for registers, N a thread, for this warpgroup.
// @helper setmaxnreg_inc device
template <int N> static __device__ __forceinline__ void tlc_setmaxnreg_inc() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
#else
  __trap();
#endif
}

// Gives registers of this warpgroup back.
// @helper setmaxnreg_dec device
template <int N> static __device__ __forceinline__ void tlc_setmaxnreg_dec() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // of sm_90a, not of compute_90
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
#else
  __trap();
#endif
}

// True in one thread of the warp.
// @helper elect device
static __device__ __forceinline__ bool tlc_elect() {
  uint32_t one;
  asm volatile("{\n.reg .pred p;\n"
               "elect.sync _|p, 0xffffffff;\n"
               "selp.u32 %0, 1, 0, p;\n}"
               : "=r"(one));
  return one != 0;
}

// 8x8 matrices of 16-bit cells; lane l gives the address of row l % 8 of matrix l / 8.
// @helper stmatrix_x1 device needs smem_addr
static __device__ __forceinline__ void tlc_stmatrix_x1(void *smem, const void *reg) {
  uint32_t r[1];
  memcpy(r, reg, 4);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               :
               : "r"(tlc_smem_addr(smem)), "r"(r[0])
               : "memory");
}

// @helper stmatrix_x2 device needs smem_addr
static __device__ __forceinline__ void tlc_stmatrix_x2(void *smem, const void *reg) {
  uint32_t r[2];
  memcpy(r, reg, 8);
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :
               : "r"(tlc_smem_addr(smem)), "r"(r[0]), "r"(r[1])
               : "memory");
}

// @helper stmatrix_x4 device needs smem_addr
static __device__ __forceinline__ void tlc_stmatrix_x4(void *smem, const void *reg) {
  uint32_t r[4];
  memcpy(r, reg, 16);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(tlc_smem_addr(smem)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// Each matrix is stored transposed.
// @helper stmatrix_trans_x1 device needs smem_addr
static __device__ __forceinline__ void tlc_stmatrix_trans_x1(void *smem, const void *reg) {
  uint32_t r[1];
  memcpy(r, reg, 4);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               :
               : "r"(tlc_smem_addr(smem)), "r"(r[0])
               : "memory");
}

// @helper stmatrix_trans_x2 device needs smem_addr
static __device__ __forceinline__ void tlc_stmatrix_trans_x2(void *smem, const void *reg) {
  uint32_t r[2];
  memcpy(r, reg, 8);
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               :
               : "r"(tlc_smem_addr(smem)), "r"(r[0]), "r"(r[1])
               : "memory");
}

// @helper stmatrix_trans_x4 device needs smem_addr
static __device__ __forceinline__ void tlc_stmatrix_trans_x4(void *smem, const void *reg) {
  uint32_t r[4];
  memcpy(r, reg, 16);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(tlc_smem_addr(smem)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}
