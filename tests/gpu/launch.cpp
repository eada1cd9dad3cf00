// What a launcher promises, on a GPU: captured in a graph at its first call, more than 48 KB of
// shared memory, the caller's last error untouched, many threads at once, refusals.
// Then the same of two kernels with a workspace.
// Built by tests/gpu/ops.sh with gemm.cu of samples/gemm.tl and splitk.cu of
// samples/splitk_workspace.tl, both at 256 x 256 x 256.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <thread>
#include <vector>

#include "gemm.h"
#include "splitk.h"

static const int n = 256;
static int failures;

static void expect(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "launch: %s\n", what);
  failures++;
}

struct Tensors {
  void *a, *b, *c;
  Tensors() {
    const std::vector<uint16_t> ones(n * n, 0x3c00);
    for (void **p : {&a, &b, &c}) cudaMalloc(p, n * n * 2);
    cudaMemcpy(a, ones.data(), n * n * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(b, ones.data(), n * n * 2, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, n * n * 2);
  }
  // Every element is 256, 0x5c00 as a half.
  bool right() const {
    std::vector<uint16_t> got(n * n);
    if (cudaMemcpy(got.data(), c, n * n * 2, cudaMemcpyDeviceToHost)) return false;
    for (const uint16_t x : got) {
      if (x != 0x5c00) return false;
    }
    return true;
  }
};

static void first_call_in_a_graph(const Tensors &t) {
  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  expect(!cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), "no capture");
  expect(!matmul(t.a, t.b, t.c, s), "the first call fails under capture");
  expect(!cudaStreamEndCapture(s, &graph), "the capture was broken");
  expect(!cudaGraphInstantiate(&exec, graph, 0), "the graph is no good");
  expect(!cudaGraphLaunch(exec, s) && !cudaStreamSynchronize(s), "the graph does not run");
  expect(t.right(), "wrong values from the graph");
}

static void last_error(const Tensors &t) {
  char *odd = static_cast<char *>(t.a) + 2;
  expect(matmul(odd, t.b, t.c, 0) == cudaErrorInvalidValue, "a misaligned tensor is taken");
  expect(cudaPeekAtLastError() == cudaSuccess, "a refusal leaves an error");
  (void)cudaSetDevice(12345);
  const cudaError_t pending = cudaPeekAtLastError();
  expect(pending != cudaSuccess, "no error to keep");
  expect(!matmul(t.a, t.b, t.c, 0), "fails while an error is pending");
  expect(cudaPeekAtLastError() == pending, "the pending error is lost");
  (void)cudaGetLastError();
  expect(!cudaDeviceSynchronize() && t.right(), "wrong values");
}

static void many_threads() {
  std::vector<Tensors> t(8);
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; i++) {
    workers.emplace_back([&t, i] {
      for (int k = 0; k < 50; k++)
        expect(!matmul(t[i].a, t[i].b, t[i].c, cudaStreamPerThread), "fails beside other threads");
    });
  }
  for (std::thread &w : workers) w.join();
  expect(!cudaDeviceSynchronize(), "an error from many threads");
  for (const Tensors &x : t) expect(x.right(), "wrong values from many threads");
}

// Two launches and a workspace: captured, on two streams at once, refused where it is missing.
static void workspaces() {
  const size_t bytes = matmul_splitk_workspace_workspace();
  expect(bytes == 4 * n * n * sizeof(float), "a workspace of another size");
  const Tensors t, u;
  char *w[2];
  cudaStream_t s[2];
  for (int i = 0; i < 2; i++) {
    cudaMalloc(reinterpret_cast<void **>(&w[i]), bytes);
    cudaMemset(w[i], 0xff, bytes);
    cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
  }
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  expect(!cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal), "no capture");
  expect(!matmul_splitk_workspace(t.a, t.b, t.c, w[0], s[0]), "two launches fail under capture");
  expect(!cudaStreamEndCapture(s[0], &graph), "the capture was broken");
  expect(!cudaGraphInstantiate(&exec, graph, 0), "the graph is no good");
  for (int i = 0; i < 50; i++) {
    expect(!cudaGraphLaunch(exec, s[0]), "the graph does not run");
    expect(!matmul_splitk_workspace(u.a, u.b, u.c, w[1], s[1]), "fails beside the graph");
  }
  expect(!cudaDeviceSynchronize() && t.right() && u.right(), "wrong values through a workspace");
  char why[100];
  const cudaError_t invalid = cudaErrorInvalidValue;
  expect(matmul_splitk_workspace(t.a, t.b, t.c, nullptr, 0) == invalid, "no workspace is taken");
  expect(matmul_splitk_workspace(t.a, t.b, t.c, w[0] + 16, 0) == invalid, "a misaligned one is");
  expect(matmul_splitk_workspace(t.a, t.b, w[0] + 512, w[0], 0) == invalid, "a shared one is");
  expect(matmul_splitk_workspace_check(t.a, t.b, t.c, w[0], why, sizeof why) == cudaSuccess, why);
  expect(cudaPeekAtLastError() == cudaSuccess, "a refusal leaves an error");
}

int main() {
  const Tensors t;
  first_call_in_a_graph(t);
  last_error(t);
  many_threads();
  workspaces();
  printf("launch: %d failures\n", failures);
  return failures != 0;
}
