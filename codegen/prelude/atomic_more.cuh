// Atomic updates that give the old value, bitwise ones, single loads and stores, and fences.
// SPDX-License-Identifier: 0BSD

// What this thread wrote before is seen by others before what it writes after.
// @helper fence device
static __device__ __forceinline__ void tlc_fence() {
  __threadfence();
}

// An integer of 8 bytes, which CUDA's functions know by other names.
// @helper is_long
template <typename T>
constexpr bool tlc_is_long = false;
template <>
constexpr bool tlc_is_long<int64_t> = true;
template <>
constexpr bool tlc_is_long<uint64_t> = true;

// @helper atomic_fetch_add needs is_long
template <typename T>
static __device__ __forceinline__ T tlc_atomic_fetch_add(T *p, T v) {
  typedef unsigned long long Word;
  if constexpr (tlc_is_long<T>)
    return static_cast<T>(atomicAdd(reinterpret_cast<Word *>(p), static_cast<Word>(v)));
  else return atomicAdd(p, v);
}

// @helper atomic_fetch_max needs is_long
template <typename T>
static __device__ __forceinline__ T tlc_atomic_fetch_max(T *p, T v) {
  typedef unsigned long long Word;
  if constexpr (tlc_is_long<T> && T(-1) < T(0))
    return static_cast<T>(atomicMax(reinterpret_cast<long long *>(p), static_cast<long long>(v)));
  else if constexpr (tlc_is_long<T>)
    return static_cast<T>(atomicMax(reinterpret_cast<Word *>(p), static_cast<Word>(v)));
  else return atomicMax(p, v);
}

// @like atomic_fetch_max max=min Max=Min

// @helper atomic_fetch_max_f16 needs atomic_word,max_f16
static __device__ __forceinline__ __half tlc_atomic_fetch_max(__half *p, __half v) {
  __half old;
  tlc_atomic_update(p, [v, &old](__half x) { return tlc_max(old = x, v); });
  return old;
}

// @helper atomic_fetch_max_bf16 needs atomic_word,max_bf16
static __device__ __forceinline__ __nv_bfloat16 tlc_atomic_fetch_max(__nv_bfloat16 *p,
                                                                     __nv_bfloat16 v) {
  __nv_bfloat16 old;
  tlc_atomic_update(p, [v, &old](__nv_bfloat16 x) { return tlc_max(old = x, v); });
  return old;
}

// @like atomic_fetch_max_f16 f16=f32 __half=float

// @helper atomic_fetch_max_f64 needs atomic_long,max_f64
static __device__ __forceinline__ double tlc_atomic_fetch_max(double *p, double v) {
  double old;
  tlc_atomic_update_long(p, [v, &old](double x) { return tlc_max(old = x, v); });
  return old;
}

// @like atomic_fetch_max_f16 max=min
// @like atomic_fetch_max_bf16 max=min
// @like atomic_fetch_min_f16 f16=f32 __half=float
// @like atomic_fetch_max_f64 max=min
// @like atomic_fetch_add add=and Add=And
// @like atomic_fetch_and And=Or and=or
// @like atomic_fetch_and And=Xor and=xor

// Of 4 or 8 bytes.
// @helper atomic_fetch_set
template <typename T>
static __device__ __forceinline__ T tlc_atomic_fetch_set(T *p, T v) {
  if constexpr (sizeof(T) == 8) {
    unsigned long long word;
    memcpy(&word, &v, 8);
    word = atomicExch(reinterpret_cast<unsigned long long *>(p), word);
    memcpy(&v, &word, 8);
  } else {
    static_assert(sizeof(T) == 4, "no atomic exchange of this width");
    unsigned word;
    memcpy(&word, &v, 4);
    word = atomicExch(reinterpret_cast<unsigned *>(p), word);
    memcpy(&v, &word, 4);
  }
  return v;
}

// @helper atomic_and needs atomic_fetch_and
template <typename T>
static __device__ __forceinline__ void tlc_atomic_and(T *p, T v) {
  tlc_atomic_fetch_and<T>(p, v);
}

// @like atomic_and And=Or and=or
// @like atomic_and And=Xor and=xor

// An integer as wide as a T.
// @helper word_of
template <int N>
struct tlc_word_of;
template <>
struct tlc_word_of<1> { typedef uint8_t type; };
template <>
struct tlc_word_of<2> { typedef uint16_t type; };
template <>
struct tlc_word_of<4> { typedef uint32_t type; };
template <>
struct tlc_word_of<8> { typedef uint64_t type; };

// One store, which is not torn.
// @helper atomic_set needs word_of
template <typename T>
static __device__ __forceinline__ void tlc_atomic_set(T *p, T v) {
  typename tlc_word_of<sizeof(T)>::type word;
  memcpy(&word, &v, sizeof(T));
  *reinterpret_cast<volatile decltype(word) *>(p) = word;
}

// One load, which is not torn.
// @helper atomic_get needs word_of
template <typename T>
static __device__ __forceinline__ T tlc_atomic_get(const T *p) {
  typedef typename tlc_word_of<sizeof(T)>::type Word;
  const Word word = *reinterpret_cast<const volatile Word *>(p);
  T v;
  memcpy(&v, &word, sizeof(T));
  return v;
}
