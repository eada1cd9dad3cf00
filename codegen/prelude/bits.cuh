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
