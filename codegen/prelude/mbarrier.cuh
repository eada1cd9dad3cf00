// mbarriers in shared memory (PTX ISA, "mbarrier"): a phase is complete when no arrival and no byte
// is pending.
// SPDX-License-Identifier: 0BSD

// Each phase takes `count` arrivals.
// @helper mbar_init device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_init(uint64_t *bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(tlc_smem_addr(bar)), "r"(count)
               : "memory");
}

// @helper mbar_arrive device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_arrive(uint64_t *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(tlc_smem_addr(bar)) : "memory");
}

// Expects `bytes` more in this phase, and arrives.
// @helper mbar_arrive_tx device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_arrive_tx(uint64_t *bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(tlc_smem_addr(bar)), "r"(bytes)
               : "memory");
}

// @helper mbar_expect_tx device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_expect_tx(uint64_t *bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :
               : "r"(tlc_smem_addr(bar)), "r"(bytes)
               : "memory");
}

// Arrives at the same barrier of another block of the cluster.
// @helper mbar_arrive_remote device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_arrive_remote(uint64_t *bar, uint32_t rank) {
  asm volatile("{\n.reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}"
               :
               : "r"(tlc_smem_addr(bar)), "r"(rank)
               : "memory");
}

// Arrives at the same barrier of another block of the cluster, behind wgmma that have been waited
// for: their reads are complete, not only issued, so that nothing has to be released to the block
// that refills what they read. A release at the cluster would be a fence of all memory.
// @helper mbar_arrive_remote_wgmma device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_arrive_remote_wgmma(uint64_t *bar, uint32_t rank) {
  asm volatile("{\n.reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [remote];\n}"
               :
               : "r"(tlc_smem_addr(bar)), "r"(rank)
               : "memory");
}

// Arrives once this thread's cp.async so far are done; the arrival is one of the count.
// @helper mbar_arrive_copies device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_arrive_copies(uint64_t *bar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
               :
               : "r"(tlc_smem_addr(bar))
               : "memory");
}

// Waits until the phase of this parity (0 for the first) is complete.
// @helper mbar_wait device needs smem_addr
static __device__ __forceinline__ void tlc_mbar_wait(uint64_t *bar, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(tlc_smem_addr(bar)), "r"(parity & 1)
                 : "memory");
  } while (!done);
}

// Shows this thread's mbarrier.init to the cluster and to asynchronous copies.
// @helper fence_mbar_init device
static __device__ __forceinline__ void tlc_fence_mbar_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Shows this thread's plain accesses to asynchronous copies and wgmma.
// @helper fence_proxy_async device
static __device__ __forceinline__ void tlc_fence_proxy_async() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

// Shows this thread's plain accesses of shared memory to asynchronous copies and wgmma.
// @helper fence_proxy_async_shared device
static __device__ __forceinline__ void tlc_fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Shows this thread's plain accesses of global memory to asynchronous copies.
// @helper fence_proxy_async_global device
static __device__ __forceinline__ void tlc_fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
