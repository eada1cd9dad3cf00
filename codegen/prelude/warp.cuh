// Values that the lanes of a warp take from one another.
// SPDX-License-Identifier: 0BSD

// The lanes of this thread's warp that exist, in a block of N threads.
// @helper warp_lanes
template <int N>
static __device__ __forceinline__ uint32_t tlc_warp_lanes() {
  return int(threadIdx.x) / 32 == N / 32 ? (1u << N % 32) - 1 : 0xffffffffu;
}

// @helper warp_any device
static __device__ __forceinline__ bool tlc_warp_any(uint32_t lanes, bool x) {
  return __any_sync(lanes, x);
}

// @helper warp_all device
static __device__ __forceinline__ bool tlc_warp_all(uint32_t lanes, bool x) {
  return __all_sync(lanes, x);
}

// @helper warp_ballot device
static __device__ __forceinline__ uint32_t tlc_warp_ballot(uint32_t lanes, bool x) {
  return __ballot_sync(lanes, x);
}

// @helper warp_count device
static __device__ __forceinline__ int tlc_warp_count(uint32_t lanes, bool x) {
  return __popc(__ballot_sync(lanes, x));
}

// Votes of the block are barriers of it.
// @helper block_any device
static __device__ __forceinline__ bool tlc_block_any(bool x) {
  return __syncthreads_or(x);
}

// @helper block_all device
static __device__ __forceinline__ bool tlc_block_all(bool x) {
  return __syncthreads_and(x);
}

// @helper block_count device
static __device__ __forceinline__ int tlc_block_count(bool x) {
  return __syncthreads_count(x);
}

// f for every 32-bit word of v; values of 8 and 16 bits take a word.
// @helper shuffle_words device
template <typename T, typename F>
static __device__ __forceinline__ T tlc_shuffle_words(T v, F f) {
  uint32_t word[(sizeof(T) + 3) / 4] = {};
  memcpy(word, &v, sizeof(T));
#pragma unroll
  for (uint32_t &w : word) w = f(w);
  memcpy(&v, word, sizeof(T));
  return v;
}

// @helper shuffle_index device needs shuffle_words
template <typename T>
static __device__ __forceinline__ T tlc_shuffle_index(uint32_t lanes, T v, int lane, int width) {
  return tlc_shuffle_words(
      v, [=](uint32_t w) { return __shfl_sync(lanes, w, lane, width); });
}

// @helper shuffle_xor device needs shuffle_words
template <typename T>
static __device__ __forceinline__ T tlc_shuffle_xor(uint32_t lanes, T v, int bits, int width) {
  return tlc_shuffle_words(
      v, [=](uint32_t w) { return __shfl_xor_sync(lanes, w, bits, width); });
}

// @helper shuffle_up device needs shuffle_words
template <typename T>
static __device__ __forceinline__ T tlc_shuffle_up(uint32_t lanes, T v, int by, int width) {
  return tlc_shuffle_words(
      v, [=](uint32_t w) { return __shfl_up_sync(lanes, w, unsigned(by), width); });
}

// @helper shuffle_down device needs shuffle_words
template <typename T>
static __device__ __forceinline__ T tlc_shuffle_down(uint32_t lanes, T v, int by, int width) {
  return tlc_shuffle_words(
      v, [=](uint32_t w) { return __shfl_down_sync(lanes, w, unsigned(by), width); });
}

// @helper match_any device
template <typename T>
static __device__ __forceinline__ uint32_t tlc_match_any(uint32_t lanes, T x) {
  return __match_any_sync(lanes, x);
}

// @helper match_all device
template <typename T>
static __device__ __forceinline__ uint32_t tlc_match_all(uint32_t lanes, T x) {
  int all;
  return __match_all_sync(lanes, x, &all);
}
