// Host code of launchers.
// SPDX-License-Identifier: 0BSD

// A call's result. Where it failed and the caller had no error pending, none is left behind.
// @helper result
static inline cudaError_t tlc_result(cudaError_t pending, cudaError_t error) {
  if (error != cudaSuccess && pending == cudaSuccess) (void)cudaGetLastError();
  return error;
}

// Bytes of a dense tensor; -1 where 64 bits do not hold them.
// @helper bytes
static inline int64_t tlc_bytes(int64_t element, std::initializer_list<int64_t> shape) {
  for (const int64_t extent : shape) {
    if (extent <= 0) return 0;
  }
  int64_t bytes = element;
  for (const int64_t extent : shape) {
    if (bytes > INT64_MAX / extent) return -1;
    bytes *= extent;
  }
  return bytes;
}

// @helper overlap
static inline bool tlc_overlap(const void *a, int64_t a_bytes, const void *b, int64_t b_bytes) {
  const uintptr_t x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  if (a_bytes <= 0 || b_bytes <= 0) return false;
  return x < y ? y - x < static_cast<uint64_t>(a_bytes) : x - y < static_cast<uint64_t>(b_bytes);
}

// @helper misaligned
static inline bool tlc_misaligned(const void *p, uintptr_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % bytes != 0;
}

// @helper say
static inline void tlc_say(char *to, size_t size, const char *text) {
  if (!to || size == 0) return;
  for (; size > 1 && *text; --size) *to++ = *text++;
  *to = '\0';
}
