// Random numbers by counting: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC11), in the order of curand's Philox4_32_10.
// SPDX-License-Identifier: 0BSD

// @helper philox
static __device__ __forceinline__ void tlc_philox(uint32_t *w0, uint32_t *w1, uint32_t *w2,
    uint32_t *w3, uint64_t block, uint64_t seq, uint64_t seed) {
  uint32_t c0 = uint32_t(block), c1 = uint32_t(block >> 32);
  uint32_t c2 = uint32_t(seq), c3 = uint32_t(seq >> 32);
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
#pragma unroll
  for (int i = 0; i < 10; ++i) {
    const uint64_t p = uint64_t(0xd2511f53u) * c0, q = uint64_t(0xcd9e8d57u) * c2;
    c0 = uint32_t(q >> 32) ^ c1 ^ k0;
    c2 = uint32_t(p >> 32) ^ c3 ^ k1;
    c1 = uint32_t(q);
    c3 = uint32_t(p);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  *w0 = c0, *w1 = c1, *w2 = c2, *w3 = c3;
}
