// Integer arithmetic: Python's division, operations that wrap where C++ leaves them undefined.
// SPDX-License-Identifier: 0BSD

// Rounds down; the most negative value over -1 wraps.
// @helper floordiv
template <typename T>
static __host__ __device__ __forceinline__ T tlc_floordiv(T a, T b) {
  if (b == static_cast<T>(-1) && b < T(1)) return static_cast<T>(0ULL - static_cast<uint64_t>(a));
  const T q = static_cast<T>(a / b);
  return static_cast<T>(a - q * b != 0 && (a < 0) != (b < 0) ? q - 1 : q);
}

// Has the sign of the divisor.
// @helper floormod
template <typename T>
static __host__ __device__ __forceinline__ T tlc_floormod(T a, T b) {
  if (b == static_cast<T>(-1) && b < T(1)) return T(0);
  const T r = static_cast<T>(a % b);
  return static_cast<T>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

// a + b modulo the type's width.
// @helper add_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_add(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// a - b modulo the type's width.
// @helper sub_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_sub(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// a * b modulo the type's width.
// @helper mul_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_mul(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// -a modulo the type's width.
// @helper neg_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_neg(T a) {
  return static_cast<T>(0ULL - static_cast<uint64_t>(a));
}

// a shifted left by 0 .. width - 1.
// @helper shl_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_shl(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) << b);
}

// |a|; the most negative value wraps to itself.
// @helper abs_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_abs(T a) {
  return a < 0 ? static_cast<T>(0ULL - static_cast<uint64_t>(a)) : a;
}

// @helper min_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_min(T a, T b) {
  return b < a ? b : a;
}

// @helper max_int
template <typename T>
static __host__ __device__ __forceinline__ T tlc_max(T a, T b) {
  return a < b ? b : a;
}
