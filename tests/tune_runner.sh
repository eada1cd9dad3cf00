#!/bin/bash
# Cases of suite tune with tlc's own runner, on a libcuda that is made up and kernels that g++ built from the
# emitted text.
# SPDX-License-Identifier: MIT
host_gpu() { # the machine; HOST_NVCC's rules
  for part in host_prelude libcuda.so.1; do
    [ -e "$BUILD/tests/$part" ] || { echo "make check builds $BUILD/tests/$part"; exit 77; }
  done
  export HOST_NVCC=$1 CUDACXX=$D/host/nvcc LD_LIBRARY_PATH=$BUILD/tests
  unset TLC_TUNE_RUNNER
  mkdir -p "$D/host"
  cp tests/tune/host_nvcc.sh "$D/host/nvcc"
  "$BUILD/tests/host_prelude" > "$D/host/host.h"
  printf 'static const char *%s(cudaError_t) { return "made up"; }\n' cudaGetErrorName cudaGetErrorString \
    > "$D/host/cuda_runtime_api.h"
  echo 'struct cudaFuncAttributes {};
static int cudaFuncGetAttributes(cudaFuncAttributes *, const void *) { return 0; }' >> "$D/host/cuda_runtime_api.h"
}
host() { # HOST_NVCC's rules, then options
  host_gpu "$1"
  shift
  "$TLC" --tune --arch sm_80 "${FILE-samples/gemm_nt.tl}" -p M=32,N=64,K=32,num_stages=1,thread_num=128 \
    --warmup 3 --rep 3 "$@" > "$D/out" 2> "$D/err"
}
case_own_runner() {
  host '' --space block_M=16,32 --space block_N=16,32 || fail "$(cat "$D/err")"
  has "$D/out" '3 candidates on CPU: 3 tried now, 0 from the cache; 0 failed'
  has "$D/out" '^Best config'
  host '' --space block_M=16,32 --space block_N=16,32 -p M=48 --integers || fail "$(cat "$D/err")"
  has "$D/out" '0 failed'
}
case_own_runner_beside_cublas() { # its algorithm is chosen before there are candidates
  gcc -shared -fPIC -w -o "$D/libcublasLt.so" tests/tune/fake_cublas.c || fail "no fake cublasLt"
  export TLC_CUBLASLT=$D/libcublasLt.so FAKE_CUBLAS=$D/products
  host '' --space block_M=16,32 --sweep K=32,64 || fail "$(cat "$D/err")"
  times "$D/out" '^Reference latency \(ms\): 0\.[0-9]+ \(cuBLAS\)' 2
  awk '{ n[$1]++; last = $1 } END { exit !(n[0] > 0 && n[2] > 0 && n[1] > n[0] + n[2] && last == 1) }' "$D/products" ||
    fail "$(sort "$D/products" | uniq -c)"
}
case_own_runner_leaves_the_gpu() { # to another tuner: nor does cuBLAS run meanwhile
  gcc -shared -fPIC -w -o "$D/libcublasLt.so" tests/tune/fake_cublas.c || fail "no fake cublasLt"
  export TLC_CUBLASLT=$D/libcublasLt.so FAKE_CUBLAS=$D/products
  (exec 9>> "$TLC_GPU_LOCK"; flock 9; touch "$D/held"
    for _ in $(seq 300); do grep -qs waiting "$D/err" && break; sleep 0.1; done
    sleep 0.5; [ ! -s "$D/products" ] || touch "$D/early") &
  until [ -e "$D/held" ]; do sleep 0.05; done
  host '' --space block_M=16,32 || fail "$(cat "$D/err")"
  has "$D/err" 'another tlc has the GPU'
  [ ! -e "$D/early" ] || fail "cuBLAS ran beside another tuner"
  has "$D/out" '^Reference latency'
}
case_own_runner_faults() {
  rules="over:block_M=64, block_N=16;wrong:block_M=16, block_N=32;nan:block_M=16, block_N=64"
  rules+=";input:block_M=32, block_N=16;crash:block_M=32, block_N=32;hang:block_M=32, block_N=64"
  host "$rules" --space block_M=16,32,64 --space block_N=16,32,64 --tune-timeout 30 || fail "$(cat "$D/err")"
  has "$D/out" '1 faulted: the kernel wrote outside argument 2: byte 1 before its start'
  has "$D/out" '1 wrong: C: 1 of 2048 elements differ; first at \[0, 5\]: got [-0-9]'
  has "$D/out" '1 wrong: C: 1 of 2048 elements differ; first at \[0, 5\]: got nan'
  has "$D/out" '1 wrong: C: .*; the first launch was right, one after others is not'
  has "$D/out" '1 faulted: the runner ended: signal 11'
  has "$D/out" '1 hung: no end within 30 s'
  has "$D/out" '8 candidates on CPU: 8 tried now, 0 from the cache; 6 failed'
  has "$D/out" "^Best config: \{'block_M': 64,"
  no_orphans
}

case_own_runner_picks() { # of an output that is written in part, the part alone is fetched, and compared
  cat > "$D/part.tl" << 'END'
import tilelang
import tilelang.language as T


@tilelang.jit
def part(N=4096, block=64, dt="float16"):
    @T.prim_func
    def main(A: T.Tensor((N,), dt), B: T.Tensor((N,), dt), C: T.Tensor((4 * N,), dt)):
        with T.Kernel(T.ceildiv(N, block), threads=64) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return main
END
  picks() { # HOST_NVCC's rules, the type
    host_gpu "$1"
    "$TLC" --tune --arch sm_80 "$D/part.tl" -p "dt=$2" --space block=64,128 --warmup 1 --rep 3 --no-cache \
      > "$D/out" 2> "$D/err"
  }
  for dt in float16 float32 int8 float64; do
    picks '' $dt || fail "$(cat "$D/err")"
    has "$D/out" '2 tried now, 0 from the cache; 0 failed'
  done
  picks 'wrong:block=64' float16 || fail "$(cat "$D/err")"
  has "$D/out" '1 wrong: C: 1 of 4096 elements differ; first at \[5\]'
  has "$D/out" '2 tried now, 0 from the cache; 1 failed'
}

case_own_runner_meanings() { # of a parameter that decides the results alone each value has its own reference
  cat > "$D/plus.tl" << 'END'
import tilelang
import tilelang.language as T


@tilelang.jit
def plus(N=4096, more=1, block=64):
    @T.prim_func
    def main(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(T.ceildiv(N, block), threads=64) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] + more

    return main
END
  host_gpu ''
  printf '#!/bin/bash\necho start >> "%s"\nexec "%s" "$@"\n' "$D/starts" "$PWD/$TLC" > "$D/own"
  chmod +x "$D/own"
  TLC_TUNE_RUNNER=$D/own "$TLC" --tune --arch sm_80 "$D/plus.tl" --space block=64,128 \
    --sweep more=1,2,3 --warmup 1 --rep 3 > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  times "$D/out" '2 tried now, 0 from the cache; 0 failed' 3
  times "$D/starts" start 1 # none was wrong in a runner that had others
}

case_own_runner_shares() { # the numbers arrive in kernels and launchers
  cat > "$D/repeat.tl" << 'END'
import tilelang
import tilelang.language as T


@tilelang.jit
def repeat(N=256, R=64, block=64, threads=64):
    @T.prim_func
    def main(A: T.Tensor((N, R), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(T.ceildiv(N, block), threads=threads) as bx:
            x = T.alloc_fragment((block,), "int32")
            T.clear(x)
            for r in T.serial(R):
                for i in T.Parallel(block):
                    x[i] = x[i] * 3 + A[bx * block + i, r] + r
            T.copy(x, B[bx * block])

    return main
END
  host_gpu ''
  for sizes in R=40,64,96 R=200,100; do
    "$TLC" --tune --arch sm_80 "$D/repeat.tl" --space block=32,64,128 --sweep $sizes --finalists 1 \
      --warmup 1 --rep 3 --json > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
    lacks "$D/out" '"state": "(wrong|faulted|build failed|hung|queued)"'
    has "$D/out" '"shared": true'
    [ "$(grep -c '"state": "measured"' "$D/out")" -ge 6 ] || fail "$(cat "$D/out")"
  done
}

case_own_runner_shares_no_more() { # numbers that went together at the first two sizes, and do not at the third
  cat > "$D/twice.tl" << 'END'
import tilelang
import tilelang.language as T


@tilelang.jit
def twice(N=256, R=64, block=64):
    S = min(R, 128)

    @T.prim_func
    def main(A: T.Tensor((N, 256), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(T.ceildiv(N, block), threads=64) as bx:
            x = T.alloc_fragment((block,), "int32")
            T.clear(x)
            for r in T.serial(R):
                for i in T.Parallel(block):
                    x[i] = x[i] * 3 + A[bx * block + i, r] + r
            for s in T.serial(S):
                for i in T.Parallel(block):
                    x[i] = x[i] * 5 + A[bx * block + i, s]
            T.copy(x, B[bx * block])

    return main
END
  host_gpu ''
  printf '#!/bin/bash\necho start >> "%s"\nexec "%s" "$@"\n' "$D/starts" "$PWD/$TLC" > "$D/own"
  chmod +x "$D/own"
  TLC_TUNE_RUNNER=$D/own "$TLC" --tune --arch sm_80 "$D/twice.tl" --space block=32,64,128 --sweep R=64,96,200 \
    --finalists 1 --warmup 1 --rep 3 --json > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  lacks "$D/out" '"state": "(wrong|faulted|build failed|hung|queued)"'
  same "$(grep -oE '"shared": [0-9]+' "$D/out" | xargs)" 'shared: 3 shared: 3 shared: 0'
  times "$D/starts" start 1 # none was wrong
}

case_bench_waits() { # for a tuner, or another one, to end
  host_gpu ''
  (exec 9>> "$TLC_GPU_LOCK"; flock 9; touch "$D/held"
    for _ in $(seq 300); do grep -qs waiting "$D/err" && break; sleep 0.1; done; touch "$D/freed") &
  until [ -e "$D/held" ]; do sleep 0.05; done
  "$TLC" --bench --arch native samples/vector_add.tl -p N=8192 > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  has "$D/err" "another tlc has the GPU \($TLC_GPU_LOCK\): waiting"
  [ -e "$D/freed" ] || fail "it did not wait"
}
case_bench_ahead() { # --no-run only builds, and what comes after it builds nothing
  host_gpu ''
  ahead=(--arch native samples/vector_add.tl)
  "$TLC" --bench --no-run "${ahead[@]}" -p N=8192 > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  [ ! -s "$D/out" ] || fail "it ran: $(cat "$D/out")"
  rm "$D/host/host.h" # without it nothing can be built
  "$TLC" --bench "${ahead[@]}" -p N=8192 > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  "$TLC" --bench "${ahead[@]}" -p N=4096 > "$D/out" 2> "$D/err"; same $? 1
}
case_bench_beside_a_copy() { # --bench of what is no product: checked, timed, beside a copy of as many bytes
  host_gpu ''
  "$TLC" --bench --json --arch native samples/vector_add.tl -p N=8192 > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  has "$D/out" '"gpu": "CPU", "sm": 80, "l2": "warm", "arch": "sm_80", "bindings": "N=8192, block_N=1024, '
  has "$D/out" '"time": \{"name": "vector_add", .*"rounds": 15.*"gbytes": .*"reference": \{"name": "copy", "us": [0-9]'
  has "$D/out" '"ratio": [0-9.e-]+, "ratio_interval": \['
  host_gpu 'over:vector_add'
  "$TLC" --bench --arch native samples/vector_add.tl -p N=4096 > "$D/out" 2> "$D/err"; same $? 1
  has "$D/err" 'the kernel wrote outside argument 2: byte 1 before its start'
  lacks "$D/out" 'us '
}

case_declared_reference() {
  FILE=$D/gemm_nt.tl
  ref() { # the reference; what must be said of it
    sed "s/warmup=3, rep=20/ref_prog=$1/" samples/gemm_nt.tl > "$FILE"
    host '' --space block_M=32 --space block_N=32
    status=$?
    cat "$D/err" >> "$D/out"
    has "$D/out" "$2"
  }
  right='1 tried now, 0 from the cache; 0 failed'
  wrong='1 wrong: C, against the declared reference: [0-9]+ of 2048 elements differ'
  ref 'lambda a, b: a @ b.T' "$right"
  ref 'lambda x, y: (x.float() @ y.float().T).to(x.dtype)' "$right"
  ref 'lambda a, b: torch.relu(-torch.matmul(a, b.transpose(0, -1))) * -1 + torch.relu(a @ b.t())' "$right"
  ref 'lambda a, b: (a @ b.T + a @ b.T) \/ 2.0 - 0' "$right"
  lacks "$D/out" 'the oracle alone'
  ref 'lambda a, b: a @ b.T * 1.5' "$wrong"; same $status 1
  ref 'lambda a, b: b @ a.T' "result has another shape: the oracle alone checks"
  ref 'lambda a, b: a @ b' "'a @ b', which tlc does not evaluate: the oracle alone checks"
  ref 'lambda a: a' 'parameters are not the kernel.s inputs'
  ref 'lambda a, b: torch.cumsum(a)' "uses 'torch.cumsum\(a\)', which"
  has "$D/out" "$right"
  ref 'lambda a, b: a @ b.T * 1.005, rtol=1e-3, atol=1e-3' "$wrong"
  ref 'lambda a, b: a @ b.T * 1.005, rtol=1e-3, atol=1e-3, max_mismatched_ratio=1.0' "$right"
  awk '/^@tilelang.autotune/ { printf "def ref(a, b):\n    \"what\"\n    import torch\n" \
    "    c = a.float() @ b.T.float()\n    return c.half()\n\n\n" } { sub("warmup=3, rep=20", "ref_prog=ref") } 1' \
    samples/gemm_nt.tl > "$FILE"
  host '' --space block_M=32 --space block_N=32 || fail "$(cat "$D/err")"
  has "$D/out" "$right"
  lacks "$D/err" 'the oracle alone'
}
