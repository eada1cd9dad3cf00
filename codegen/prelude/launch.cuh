// Host code of launchers.
// SPDX-License-Identifier: 0BSD

// A call's result. A failed one leaves no error behind where the caller had none pending.
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

// Where the next part of a workspace starts, or all end: a multiple of 256 bytes; negative where 64
// bits do not hold it.
// @helper after
static inline int64_t tlc_after(int64_t at, int64_t bytes) {
  if (at < 0 || bytes < 0 || bytes > INT64_MAX - 255 - at) return -1;
  return (at + bytes + 255) / 256 * 256;
}

// @helper part
template <typename T>
static inline T *tlc_part(void *workspace, int64_t at) {
  return reinterpret_cast<T *>(static_cast<char *>(workspace) + at);
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

// Lets a kernel have `bytes` of dynamic shared memory on the current device. Asked of the driver:
// cudaFuncSetAttribute would clear the caller's last error.
// @helper opt_in device
static inline cudaError_t tlc_opt_in(const void *kernel, int bytes) {
  void *set = nullptr;
  cudaFunction_t function;
#if CUDART_VERSION >= 12050
  cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuFuncSetAttribute", &set, 12000, cudaEnableDefault);
#else
  cudaError_t error = cudaGetDriverEntryPoint("cuFuncSetAttribute", &set, cudaEnableDefault);
#endif
  if (error == cudaSuccess) error = cudaGetFuncBySymbol(&function, kernel);
  if (error != cudaSuccess) return error;
  const int max_dynamic_shared_size_bytes = 8;
  return static_cast<cudaError_t>(reinterpret_cast<int (*)(cudaFunction_t, int, int)>(set)(
      function, max_dynamic_shared_size_bytes, bytes));
}

// Does the code that is loaded for the present device hold this kernel's body, of so many threads?
// @helper has_body device
template <typename F> static inline bool tlc_has_body(F *kernel, int threads) {
  cudaFuncAttributes a;
  const cudaError_t pending = cudaPeekAtLastError();
  if (cudaFuncGetAttributes(&a, kernel) == cudaSuccess) return a.maxThreadsPerBlock >= threads;
  if (pending == cudaSuccess) (void)cudaGetLastError();
  return false;
}

// Blocks of a persistent kernel: one for each multiprocessor of the device, whole clusters, and no
// more than there are tiles.
// @helper workers device
static inline unsigned tlc_workers(int64_t tiles, int cluster) {
  int device = 0, sms = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    sms = cluster;
  const int64_t most = sms < cluster ? cluster : sms / cluster * cluster;
  return static_cast<unsigned>(tiles < most ? tiles : most);
}

// Of the clusters of a persistent kernel, those that run at once: another one would begin when the
// others end, with as many tiles to do. Not all multiprocessors are neighbours of enough others.
// @helper resident device
template <typename K>
static inline cudaError_t tlc_resident(cudaLaunchConfig_t *config, K *kernel, int cluster) {
  int clusters = 0;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, kernel, config);
  const unsigned most = static_cast<unsigned>(clusters > 0 ? clusters * cluster : cluster);
  if (error == cudaSuccess && config->gridDim.x > most) config->gridDim.x = most;
  return error;
}

// @helper bad_pitch
static inline bool tlc_bad_pitch(int64_t bytes) {
  return bytes < 0 || bytes % 16 != 0 || bytes >= INT64_C(1) << 40;
}

// Describes a tensor to TMA: extents and steps in elements, strides in bytes, innermost first. Of
// an empty tensor a load finds zeros and a store leaves nothing: one element elsewhere stands for
// it.
// @helper tensor_map device
static __device__ uint4 tlc_nothing[2]; // read, written
static inline cudaError_t
tlc_tensor_map(CUtensorMap *map, CUtensorMapDataType type, const void *data, bool written,
               std::initializer_list<int64_t> shape, std::initializer_list<int64_t> strides,
               std::initializer_list<int> box, CUtensorMapSwizzle swizzle,
               CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill,
               std::initializer_list<int> steps = {1, 1, 1, 1, 1}) {
  typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                             const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                             const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  cuuint64_t extent[5], pitch[5] = {};
  cuuint32_t size[5], step[5];
  void *encode = nullptr;
  int n = 0, strided = 0, boxed = 0, stepped = 0;
  bool empty = false;
  *map = {};
  for (const int64_t x : shape) {
    empty = empty || x <= 0;
    extent[n++] = static_cast<cuuint64_t>(x);
  }
  for (const int64_t x : strides) pitch[strided++] = static_cast<cuuint64_t>(x);
  for (const int x : box) size[boxed++] = static_cast<cuuint32_t>(x);
  for (const int x : steps) step[stepped++] = static_cast<cuuint32_t>(x);
  if (empty) {
    void *nothing = nullptr;
    const cudaError_t found = cudaGetSymbolAddress(&nothing, tlc_nothing);
    if (found != cudaSuccess) return found;
    data = static_cast<uint4 *>(nothing) + written;
    for (int i = 0; i < n; i++) {
      extent[i] = 1;
      pitch[i] = 16;
    }
  }
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault);
#endif
  if (error != cudaSuccess) return error;
  if (!encode) return cudaErrorNotSupported;
  const CUresult result = reinterpret_cast<Encode>(encode)(
      map, type, static_cast<cuuint32_t>(n), const_cast<void *>(data), extent, pitch, size, step,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, l2, fill);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}
