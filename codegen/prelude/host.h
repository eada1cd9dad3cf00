// Runs an emitted .cu on a CPU, one block after another: what the text needs of CUDA's runtime, and
// a fiber for each thread of a block. Compile with g++ -std=c++17 -fno-strict-aliasing -x c++
// -DTLC_HOST='"host.h"'. Shared memory starts as NaN bits; an asynchronous copy happens at the wait
// that covers it (or at once with TLC_HOST_EAGER set), so that a missing wait shows.
// SPDX-License-Identifier: 0BSD
#include "host_types.h"

#include <csetjmp>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <tuple>
#include <ucontext.h>
#include <utility>
#include <vector>

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorInvalidConfiguration = 9 };
typedef struct CUstream_st *cudaStream_t;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  void *attrs;
  unsigned numAttrs;
};

static dim3 threadIdx, blockIdx, blockDim, gridDim;

enum { TLC_HOST_SMEM = 227 * 1024, TLC_HOST_STACK = 128 * 1024 };
alignas(1024) static unsigned char tlc_smem[TLC_HOST_SMEM];

/* ---------------------------------------------------------------- fibers */

struct tlc_host_copy {
  void *to;
  const void *from;
  int size, bytes;
  long group;
};

struct tlc_host_fiber {
  enum State { ready, at_barrier, at_warp, done } state;
  std::vector<unsigned char> stack;
  ucontext_t start;
  jmp_buf at;
  bool started;
  std::vector<tlc_host_copy> copies;
  long group; // of the next asynchronous copy
};

typedef void (*tlc_host_warp_op)(void *const *lanes);

struct tlc_host_warp {
  void *lane[32];
  tlc_host_warp_op op;
  int arrived;
};

struct tlc_host_block {
  std::vector<tlc_host_fiber> fiber;
  std::vector<tlc_host_warp> warp;
  std::function<void()> body;
  jmp_buf scheduler;
  int current;
};

static tlc_host_block tlc_host;

[[noreturn]] static inline void tlc_host_fail(const char *what) {
  fprintf(stderr, "host prelude: %s (block %u,%u,%u thread %d)\n", what, blockIdx.x, blockIdx.y,
          blockIdx.z, tlc_host.current);
  abort();
}

static inline void tlc_host_yield(tlc_host_fiber::State state) {
  tlc_host_fiber &f = tlc_host.fiber[tlc_host.current];
  f.state = state;
  if (!_setjmp(f.at)) _longjmp(tlc_host.scheduler, 1);
}

static void tlc_host_entry() {
  tlc_host.body();
  tlc_host.fiber[tlc_host.current].state = tlc_host_fiber::done;
  _longjmp(tlc_host.scheduler, 1);
}

static void tlc_host_resume(int i) {
  tlc_host_fiber &f = tlc_host.fiber[i];
  tlc_host.current = i;
  threadIdx = dim3(unsigned(i), 0, 0);
  if (_setjmp(tlc_host.scheduler)) return;
  if (f.started) _longjmp(f.at, 1);
  f.started = true;
  getcontext(&f.start);
  f.start.uc_stack.ss_sp = f.stack.data();
  f.start.uc_stack.ss_size = f.stack.size();
  f.start.uc_link = nullptr;
  makecontext(&f.start, tlc_host_entry, 0);
  setcontext(&f.start);
}

// Runs every fiber that can run; then, when all that are left wait at the barrier, lets them pass.
static void tlc_host_run_block() {
  const int n = int(tlc_host.fiber.size());
  for (;;) {
    bool ran = false, left = false;
    for (int i = 0; i < n; i++) {
      if (tlc_host.fiber[i].state != tlc_host_fiber::ready) continue;
      tlc_host_resume(i);
      ran = true;
    }
    if (ran) continue;
    for (tlc_host_fiber &f : tlc_host.fiber) {
      if (f.state == tlc_host_fiber::at_warp) tlc_host_fail("a warp operation under divergence");
      if (f.state == tlc_host_fiber::at_barrier) {
        f.state = tlc_host_fiber::ready;
        left = true;
      }
    }
    if (!left) return;
  }
}

static inline void __syncthreads() {
  tlc_host_yield(tlc_host_fiber::at_barrier);
}

// Of the warp of the fiber that runs: 32, or what is left of the block.
static inline int tlc_host_lanes() {
  const int left = int(tlc_host.fiber.size()) - (tlc_host.current & ~31);
  return left < 32 ? left : 32;
}

// All lanes meet here; the last one to arrive does the work of the warp.
static inline void tlc_host_collective(tlc_host_warp_op op, void *mine) {
  const int self = tlc_host.current, first = self & ~31;
  tlc_host_warp &w = tlc_host.warp[self / 32];
  if (w.arrived && w.op != op) tlc_host_fail("lanes of a warp at different operations");
  w.op = op;
  w.lane[self & 31] = mine;
  if (++w.arrived < tlc_host_lanes()) return tlc_host_yield(tlc_host_fiber::at_warp);
  w.arrived = 0;
  op(w.lane);
  for (int i = tlc_host_lanes() - 1; i >= 0; i--)
    tlc_host.fiber[first + i].state = tlc_host_fiber::ready;
}

/* ---------------------------------------------------------------- runtime calls */

static cudaError_t tlc_host_last_error = cudaSuccess;

static inline cudaError_t tlc_host_result(cudaError_t e) {
  if (e != cudaSuccess) tlc_host_last_error = e;
  return e;
}

static inline cudaError_t cudaPeekAtLastError() { return tlc_host_last_error; }

static inline cudaError_t cudaGetLastError() {
  return std::exchange(tlc_host_last_error, cudaSuccess);
}

static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t) {
  memset(p, value, bytes);
  return cudaSuccess;
}

static size_t tlc_host_opted_in = 48 * 1024;

static inline cudaError_t tlc_opt_in(const void *, int bytes) {
  if (bytes > TLC_HOST_SMEM) return tlc_host_result(cudaErrorInvalidValue);
  tlc_host_opted_in = size_t(bytes);
  return cudaSuccess;
}

// What is built here is the oldest body.
template <typename F> static inline bool tlc_has_body(F *, int) {
  return false;
}

static void tlc_host_start_block(unsigned threads) {
  memset(tlc_smem, 0xff, sizeof tlc_smem);
  for (tlc_host_fiber &f : tlc_host.fiber) {
    f.state = tlc_host_fiber::ready;
    f.started = false;
    f.copies.clear();
    f.group = 0;
    f.stack.resize(TLC_HOST_STACK);
  }
  for (tlc_host_warp &w : tlc_host.warp) w.arrived = 0;
  blockDim = dim3(threads);
}

template <typename... P, typename... A>
static cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                                      A &&...args) {
  const dim3 grid = config->gridDim;
  const unsigned threads = config->blockDim.x;
  if (!grid.x || !grid.y || !grid.z || !threads || threads > 1024)
    return tlc_host_result(cudaErrorInvalidConfiguration);
  if (config->dynamicSmemBytes > tlc_host_opted_in) return tlc_host_result(cudaErrorInvalidValue);
  const std::tuple<P...> values(std::forward<A>(args)...);
  tlc_host.fiber.resize(threads);
  tlc_host.warp.resize((threads + 31) / 32);
  tlc_host.body = [&] { std::apply(kernel, values); };
  gridDim = grid;
  for (unsigned z = 0; z < grid.z; z++) {
    for (unsigned y = 0; y < grid.y; y++) {
      for (unsigned x = 0; x < grid.x; x++) {
        blockIdx = dim3(x, y, z);
        tlc_host_start_block(threads);
        tlc_host_run_block();
      }
    }
  }
  tlc_host_opted_in = 48 * 1024;
  return cudaSuccess;
}

/* ------------------------------------------------------------ atomics: one fiber runs at a time */

template <typename T>
static inline T atomicAdd(T *p, T v) {
  const T old = *p;
  *p = static_cast<T>(old + v);
  return old;
}
static inline __half atomicAdd(__half *p, __half v) {
  const __half old = *p;
  *p = __hadd_rn(old, v);
  return old;
}
static inline __nv_bfloat16 atomicAdd(__nv_bfloat16 *p, __nv_bfloat16 v) {
  const __nv_bfloat16 old = *p;
  *p = __hadd_rn(old, v);
  return old;
}
static inline void atomicAdd(__half2 *p, __half2 v) {
  atomicAdd(&p->x, v.x);
  atomicAdd(&p->y, v.y);
}
static inline void atomicAdd(__nv_bfloat162 *p, __nv_bfloat162 v) {
  atomicAdd(&p->x, v.x);
  atomicAdd(&p->y, v.y);
}
template <typename T>
static inline T atomicMax(T *p, T v) {
  const T old = *p;
  if (old < v) *p = v;
  return old;
}
template <typename T>
static inline T atomicMin(T *p, T v) {
  const T old = *p;
  if (v < old) *p = v;
  return old;
}
template <typename T>
static inline T atomicExch(T *p, T v) { return std::exchange(*p, v); }
template <typename T>
static inline T atomicAnd(T *p, T v) { return std::exchange(*p, T(*p & v)); }
template <typename T>
static inline T atomicOr(T *p, T v) { return std::exchange(*p, T(*p | v)); }
template <typename T>
static inline T atomicXor(T *p, T v) { return std::exchange(*p, T(*p ^ v)); }
template <typename T>
static inline T atomicCAS(T *p, T expected, T v) {
  const T old = *p;
  if (old == expected) *p = v;
  return old;
}

#include "host_ops.h"
#include "host_warp.h"
