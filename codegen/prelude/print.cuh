// What threads say: T.print and T.device_assert.
// SPDX-License-Identifier: 0BSD

// @helper print_text
static __device__ inline void tlc_print(const char *text) {
  printf("%s\n", text);
}

// @helper print_f64
static __device__ inline void tlc_print(const char *text, double v) {
  if (text) printf("%s: %.9g\n", text, v);
  else printf("%.9g\n", v);
}

// @helper print_i64
static __device__ inline void tlc_print(const char *text, int64_t v) {
  if (text) printf("%s: %lld\n", text, static_cast<long long>(v));
  else printf("%lld\n", static_cast<long long>(v));
}

// @helper print_u64
static __device__ inline void tlc_print(const char *text, uint64_t v) {
  if (text) printf("%s: %llu\n", text, static_cast<unsigned long long>(v));
  else printf("%llu\n", static_cast<unsigned long long>(v));
}

// @helper assert device
static __device__ inline void tlc_assert(const char *text) {
  printf("block (%u, %u, %u), thread %u: %s does not hold\n", blockIdx.x, blockIdx.y, blockIdx.z,
         threadIdx.x, text);
  __trap();
}
