// The same bits as another type.
// SPDX-License-Identifier: 0BSD

// @helper bits
template <typename To, typename From>
static __device__ __forceinline__ To tlc_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "types of different widths");
  To y;
  memcpy(&y, &x, sizeof(To));
  return y;
}

// The number of the lowest set bit; -1 where none is.
// @helper find_first
static __device__ __forceinline__ int tlc_find_first(uint64_t x) {
#ifdef TLC_HOST
  return __builtin_ffsll(int64_t(x)) - 1;
#else
  return __ffsll(int64_t(x)) - 1;
#endif
}

// The number of the count-th set bit at or above `base`, at or below it where count is negative.
// @helper find_bit
static __device__ __forceinline__ int tlc_find_bit(uint64_t x, int base, int count) {
  if (base < 0 || base > 63) return -1;
  if (count == 0) return x >> base & 1 ? base : -1;
  const int step = count < 0 ? -1 : 1;
  for (int i = base; i >= 0 && i < 64; i += step) {
    if (x >> i & 1 && (count -= step) == 0) return i;
  }
  return -1;
}
