// Moves between global memory, shared memory and registers: vector moves, cp.async, ldmatrix.
// SPDX-License-Identifier: 0BSD
// Sections start at "@helper NAME [device] [needs A,B]"; tlc copies those that a program uses into
// its .cu. "device" marks a section whose host twin is in host.h.

// @helper smem device
extern __shared__ __align__(1024) unsigned char tlc_smem[];

// @helper load_1
static __device__ __forceinline__ void tlc_load_1(void *reg, const void *mem) {
  const uint8_t v = *static_cast<const uint8_t *>(mem);
  memcpy(reg, &v, 1);
}

// @helper load_2
static __device__ __forceinline__ void tlc_load_2(void *reg, const void *mem) {
  const uint16_t v = *static_cast<const uint16_t *>(mem);
  memcpy(reg, &v, 2);
}

// @helper load_4
static __device__ __forceinline__ void tlc_load_4(void *reg, const void *mem) {
  const uint32_t v = *static_cast<const uint32_t *>(mem);
  memcpy(reg, &v, 4);
}

// @helper load_8
static __device__ __forceinline__ void tlc_load_8(void *reg, const void *mem) {
  const uint2 v = *static_cast<const uint2 *>(mem);
  memcpy(reg, &v, 8);
}

// @helper load_16
static __device__ __forceinline__ void tlc_load_16(void *reg, const void *mem) {
  const uint4 v = *static_cast<const uint4 *>(mem);
  memcpy(reg, &v, 16);
}

// @helper store_1
static __device__ __forceinline__ void tlc_store_1(void *mem, const void *reg) {
  uint8_t v;
  memcpy(&v, reg, 1);
  *static_cast<uint8_t *>(mem) = v;
}

// @helper store_2
static __device__ __forceinline__ void tlc_store_2(void *mem, const void *reg) {
  uint16_t v;
  memcpy(&v, reg, 2);
  *static_cast<uint16_t *>(mem) = v;
}

// @helper store_4
static __device__ __forceinline__ void tlc_store_4(void *mem, const void *reg) {
  uint32_t v;
  memcpy(&v, reg, 4);
  *static_cast<uint32_t *>(mem) = v;
}

// @helper store_8
static __device__ __forceinline__ void tlc_store_8(void *mem, const void *reg) {
  uint2 v;
  memcpy(&v, reg, 8);
  *static_cast<uint2 *>(mem) = v;
}

// @helper store_16
static __device__ __forceinline__ void tlc_store_16(void *mem, const void *reg) {
  uint4 v;
  memcpy(&v, reg, 16);
  *static_cast<uint4 *>(mem) = v;
}

// @helper smem_addr device
static __device__ __forceinline__ uint32_t tlc_smem_addr(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// @helper cp_async_4 device needs smem_addr
static __device__ __forceinline__ void tlc_cp_async_4(void *smem, const void *global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(tlc_smem_addr(smem)), "l"(global)
               : "memory");
}

// @helper cp_async_8 device needs smem_addr
static __device__ __forceinline__ void tlc_cp_async_8(void *smem, const void *global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(tlc_smem_addr(smem)), "l"(global)
               : "memory");
}

// @helper cp_async_16 device needs smem_addr
static __device__ __forceinline__ void tlc_cp_async_16(void *smem, const void *global) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(tlc_smem_addr(smem)),
               "l"(global)
               : "memory");
}

// Reads `bytes` (0 .. 4) and fills the rest with zeros; reads nothing at 0.
// @helper cp_async_zfill_4 device needs smem_addr
static __device__ __forceinline__ void tlc_cp_async_zfill_4(void *smem, const void *global,
                                                            int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(tlc_smem_addr(smem)),
               "l"(global), "r"(bytes)
               : "memory");
}

// Reads `bytes` (0 .. 8) and fills the rest with zeros; reads nothing at 0.
// @helper cp_async_zfill_8 device needs smem_addr
static __device__ __forceinline__ void tlc_cp_async_zfill_8(void *smem, const void *global,
                                                            int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(tlc_smem_addr(smem)),
               "l"(global), "r"(bytes)
               : "memory");
}

// Reads `bytes` (0 .. 16) and fills the rest with zeros; reads nothing at 0.
// @helper cp_async_zfill_16 device needs smem_addr
static __device__ __forceinline__ void tlc_cp_async_zfill_16(void *smem, const void *global,
                                                             int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(tlc_smem_addr(smem)),
               "l"(global), "r"(bytes)
               : "memory");
}

// @helper cp_async_commit device
static __device__ __forceinline__ void tlc_cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most N of this thread's newest groups are in flight.
// @helper cp_async_wait device
template <int N>
static __device__ __forceinline__ void tlc_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// 8x8 matrices of 16-bit cells; lane l gives the address of row l % 8 of matrix l / 8.
// Byte i of *dst is byte (sel >> 4 * i) & 7 of the eight at src.
// @helper byte_perm device
static __device__ __forceinline__ void tlc_byte_perm(void *dst, const void *src, uint32_t sel) {
  uint32_t v[2];
  memcpy(v, src, 8);
  v[0] = __byte_perm(v[0], v[1], sel);
  memcpy(dst, v, 4);
}

// @helper ldmatrix_x1 device needs smem_addr
static __device__ __forceinline__ void tlc_ldmatrix_x1(void *reg, const void *smem) {
  uint32_t r0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r0)
               : "r"(tlc_smem_addr(smem))
               : "memory");
  memcpy(reg, &r0, 4);
}

// 8x8 matrices of 16-bit cells; lane l gives the address of row l % 8 of matrix l / 8.
// @helper ldmatrix_x2 device needs smem_addr
static __device__ __forceinline__ void tlc_ldmatrix_x2(void *reg, const void *smem) {
  uint2 r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r.x), "=r"(r.y)
               : "r"(tlc_smem_addr(smem))
               : "memory");
  memcpy(reg, &r, 8);
}

// 8x8 matrices of 16-bit cells; lane l gives the address of row l % 8 of matrix l / 8.
// @helper ldmatrix_x4 device needs smem_addr
static __device__ __forceinline__ void tlc_ldmatrix_x4(void *reg, const void *smem) {
  uint4 r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
               : "r"(tlc_smem_addr(smem))
               : "memory");
  memcpy(reg, &r, 16);
}

// As tlc_ldmatrix_x1, each matrix transposed.
// @helper ldmatrix_trans_x1 device needs smem_addr
static __device__ __forceinline__ void tlc_ldmatrix_trans_x1(void *reg, const void *smem) {
  uint32_t r0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r0)
               : "r"(tlc_smem_addr(smem))
               : "memory");
  memcpy(reg, &r0, 4);
}

// As tlc_ldmatrix_x2, each matrix transposed.
// @helper ldmatrix_trans_x2 device needs smem_addr
static __device__ __forceinline__ void tlc_ldmatrix_trans_x2(void *reg, const void *smem) {
  uint2 r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r.x), "=r"(r.y)
               : "r"(tlc_smem_addr(smem))
               : "memory");
  memcpy(reg, &r, 8);
}

// As tlc_ldmatrix_x4, each matrix transposed.
// @helper ldmatrix_trans_x4 device needs smem_addr
static __device__ __forceinline__ void tlc_ldmatrix_trans_x4(void *reg, const void *smem) {
  uint4 r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
               : "r"(tlc_smem_addr(smem))
               : "memory");
  memcpy(reg, &r, 16);
}

// A fact of the source that does not hold here (-g).
// @helper trap device
static __device__ __forceinline__ void tlc_trap() {
  asm volatile("trap;");
}
