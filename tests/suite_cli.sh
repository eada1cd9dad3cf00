#!/bin/bash
# Suite cli: the command, its files and exit statuses, and what links with what. Each function
# case_NAME is a case; it fails by `fail`.
# SPDX-License-Identifier: MIT
fail() { echo "$*"; exit 1; }
same() { [ "$1" = "$2" ] || fail "expected '$2', got '$1'"; }
need() { # a tool: skipped without it, failed in CI
  PATH=$PATH:/usr/local/cuda/bin
  command -v "$1" > /dev/null && return
  [ -n "${TLC_CI-}" ] && fail "$1 is missing"
  echo "no $1"; exit 77
}

case_same_bytes() {
  for f in samples/*.tl; do
    "$TLC" "$f" -o "$D/a.cu" && "$TLC" "$f" -o "$D/b.cu" || fail "$f"
    sed 's/b\.cu/a.cu/g' "$D/b.cu" | cmp - "$D/a.cu" || fail "$f: two runs differ"
    "$TLC" "$f" -o - > "$D/c.cu" || fail "$f: stdout"
  done
}
case_keeps_time() {
  "$TLC" samples/gemm.tl -o "$D/a.cu" && touch -d '2001-01-01' "$D/a.cu"
  "$TLC" samples/gemm.tl -o "$D/a.cu"
  same "$(date -r "$D/a.cu" +%Y)" 2001
}
case_default_output() {
  (cd "$D" && "$TOP/$TLC" "$TOP/samples/gemm.tl" && [ -f gemm.cu ]) || fail "no gemm.cu"
  (cd "$D" && "$TOP/$TLC" "$TOP/samples/gemm.tl" --emit=header && [ -f gemm.h ]) || fail "no gemm.h"
}
case_no_paths() {
  cp samples/gemm.tl "$D/gemm.tl"
  (cd "$D" && "$TOP/$TLC" "$D/gemm.tl" -o "$D/x.cu")
  ! grep -n "$D" "$D/x.cu" || fail "an absolute path is in the text"
}
case_status() {
  "$TLC" > /dev/null 2>&1; same $? 2
  "$TLC" --bogus x.tl > /dev/null 2>&1; same $? 2
  "$TLC" "$D/missing.tl" > /dev/null 2>&1; same $? 2
  "$TLC" samples/gemm.tl -o "$D/no/such/folder/x.cu" > /dev/null 2>&1; same $? 3
  "$TLC" samples/gemm.tl --arch=sm_20 > /dev/null 2>&1; same $? 2
  echo 'def f(:' > "$D/bad.tl"
  "$TLC" "$D/bad.tl" > /dev/null 2>&1; same $? 1
  "$TLC" --version > /dev/null || fail version
  "$TLC" --help | grep -q -- --run || fail help
}
case_suggestions() {
  for f in 010 0xa 10; do # one reading of numbers, wherever a flag is used
    "$TLC" samples/gemm.tl -fmin-blocks=$f -o "$D/flag.cu"
    grep -o '__launch_bounds__([0-9, ]*)' "$D/flag.cu" > "$D/flag$f"
  done
  cmp -s "$D/flag0xa" "$D/flag10" || fail "-fmin-blocks=0xa is not 10"
  grep -q ', 8)' "$D/flag010" || fail "-fmin-blocks=010 is not 8"
  "$TLC" --emmit=cu x.tl 2>&1 | grep -q "did you mean '--emit'" || fail "no suggestion for --emmit"
  "$TLC" -d lowre x.tl 2>&1 | grep -q "did you mean 'lower'" || fail "no suggestion for -d lowre"
  "$TLC" -fmin-blocks=4294967295 x.tl 2>&1 | grep -q 'too large' || fail "a count of blocks that no int holds"
  "$TLC" --emit=manifesto x.tl 2>&1 | grep -q "did you mean 'manifest'" || fail "no suggestion"
}
case_argfile() {
  printf '%s\n' '# arguments' -p M=256 --emit=manifest -o - > "$D/args"
  "$TLC" samples/gemm.tl "@$D/args" | grep -q 256 || fail "the argument file was not read"
}
case_depfile() {
  "$TLC" samples/gemm.tl -o "$D/gemm.cu" -MD || fail "-MD"
  grep -q 'gemm.cu: samples/gemm.tl' "$D/gemm.d" || fail "$(cat "$D/gemm.d")"
  "$TLC" samples/gemm.tl -o "$D/gemm.cu" -MD -MF "$D/x.d" -MT thing || fail "-MF"
  grep -q '^thing: samples/gemm.tl' "$D/x.d" || fail "$(cat "$D/x.d")"
}
case_tir_refused() { # whatever a .tir holds, tlc says what is wrong with it
  "$TLC" samples/vector_add.tl --emit=ir -o "$D/a.tir" || fail "no IR"
  "$TLC" --run --device=emu "$D/a.tir" | grep -q "not compared" || fail "a thread-level program does not run"
  sed 's/^program [a-z_]* /program exp /' "$D/a.tir" > "$D/b.tir"
  "$TLC" "$D/b.tir" -o - 2>&1 | grep -q "'exp' is no name" || fail "a launcher called exp"
  sed 's/^  body {/&\n    vectorized q in 0 +: 1 { assume q < 2 }/' "$D/a.tir" > "$D/c.tir"
  "$TLC" "$D/c.tir" -o /dev/null || fail "a vectorized loop"
  sed 's/^  body {/&\n    fence_mbar_init()/' "$D/a.tir" > "$D/f.tir"
  "$TLC" "$D/f.tir" -o - 2>&1 | grep -q "fence_mbar_init has no instruction on sm_80.*E805" || fail "an op of sm_90a"
  "$TLC" "$D/f.tir" --arch=sm_90a -o - | grep -q "  tlc_fence_mbar_init();" || fail "an op of sm_90a on sm_90a"
  printf 'program f\n' > "$D/d.tir"
  "$TLC" "$D/d.tir" -o /dev/null > "$D/log" 2>&1; [ $? -le 1 ] || fail "no kernel: $(cat "$D/log")"
  "$TLC" samples/gemm.tl --emit=tile -o - | sed 's/\(copy(src=C_local.*\)async=0/\1async=1/' > "$D/e.tir"
  "$TLC" "$D/e.tir" -o - 2>&1 | grep -q 'an asynchronous copy goes' || fail "an asynchronous copy of a fragment"
}
case_targets() { # bodies for several targets in one file, one launcher
  "$TLC" samples/gemm.tl --arch sm_90a,sm_80 -p M=256,N=256,K=256 -o "$D/two.cu" \
    --header "$D/two.h" --manifest "$D/two.json" || fail "a list"
  [ "$(grep -c 'extern "C" cudaError_t matmul(' "$D/two.cu")" = 1 ] || fail "one launcher"
  [ "$(grep -c '^extern "C"' "$D/two.cu")" = 2 ] || fail "what is exported: $(grep extern "$D/two.cu")"
  grep -q 'if (tlc_has_body(matmul_sm_90a_k0, 384)) return matmul_sm_90a(A, B, C, stream);' \
    <(tr -s ' \n' ' ' < "$D/two.cu") || fail "the newest comes first: $(grep -A9 'C" cudaError_t matmul(' "$D/two.cu")"
  "$TLC" samples/gemm.tl --arch sm_80 -p M=256,N=256,K=256 --emit header -o "$D/one.h"
  diff <(grep -v HASH "$D/two.h" | sed s/two/one/g) <(grep -v HASH "$D/one.h") > /dev/null &&
    fail "the header's file name"
  diff <(grep '^cudaError_t' "$D/two.h") <(grep '^cudaError_t' "$D/one.h") || fail "another interface"
  grep -c '"arch": "sm_' "$D/two.json" | grep -qx 2 || fail "the manifest: $(cat "$D/two.json")"
  "$TLC" samples/gemm.tl --arch sm_80,sm_80 -o - > "$D/log" 2>&1 && fail "twice"
  grep -q 'sm_80 stands twice' "$D/log" || fail "$(cat "$D/log")"
  "$TLC" samples/gemm.tl --arch sm_80,sm_91 -o - > "$D/log" 2>&1 && fail "sm_91"
  grep -q "'sm_91' is none of" "$D/log" || fail "$(cat "$D/log")"
  "$TLC" samples/gemm.tl --arch sm_80,sm_90a --run > "$D/log" 2>&1 && fail "--run of a list"
  grep -q 'name one target here' "$D/log" || fail "$(cat "$D/log")"
}
case_readme() { # the first kernel of README.md and its commands, word for word
  (
    awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' README.md > "$D/gemm.tl"
    PATH=$TOP/$(dirname "$TLC"):$PATH
    commands=$(grep '^    tlc ' README.md | grep -v -- --bench | sed 's/#.*//')
    cd "$D" || exit 1
    [ "$(echo "$commands" | wc -l)" = 7 ] || fail "README.md shows other commands: $commands"
    while read -r line; do $line > log 2>&1 || fail "$line: $(cat log)"; done <<< "$commands"
    grep -q 'cudaError_t matmul(const void \*A, const void \*B, void \*C, cudaStream_t stream);' gemm.h
  ) || fail "README.md"
}
case_names_in_texts() { # the texts call the .cu as -o does, or after the input
  cp samples/gemm.tl "$D/one.tl"
  (
    cd "$D" || exit 1
    tlc=$TOP/$TLC
    "$tlc" one.tl --header one.h && head -1 one.cu | grep -q '^// one\.cu:' || fail "default"
    grep -q 'ifndef TLC_ONE_MATMUL_H' one.h || fail "header guard: $(grep ifndef one.h)"
    "$tlc" one.tl -o - | head -1 | grep -q '^// one\.cu:' || fail "stdout"
    "$tlc" one.tl --emit=header -o x.h && head -1 x.h | grep -q 'x\.h: C interface of x\.cu' || fail "-o x.h"
    "$tlc" one.tl -o two.cu && head -1 two.cu | grep -q '^// two\.cu:' || fail "-o two.cu"
  ) || fail "names"
}
case_scalars() { # run-time scalars come from -p, and must fit their type
  cat > "$D/s.tl" << 'END'
import tilelang.language as T
@T.prim_func
def axpy(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32"), a: T.float32, n: T.int8):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            Y[i] = a * X[i] + n
END
  "$TLC" --run --device=emu "$D/s.tl" -p a=2.5,n=-3 > "$D/log" || fail "-p a=2.5,n=-3"
  for bad in a=2.5 a=x,n=1 a=1,n=128 a=1,n=1.5; do
    "$TLC" --run "$D/s.tl" -p $bad > /dev/null 2> "$D/log"; same $? 2
    grep -q 'give -p n=VALUE\|is no' "$D/log" || fail "$bad: $(cat "$D/log")"
  done
}
case_empty_grids() { # of sizes that are known to be zero
  for args in "samples/gemm_nt.tl -p M=0" "samples/gemm.tl -p N=0 -fcluster=2" "samples/gemm.tl -p K=0" \
    "samples/flash_attention.tl -p batch=0" "samples/splitk_tile.tl -p M=0"; do
    # shellcheck disable=SC2086
    "$TLC" $args --arch sm_90a -o "$D/e.cu" > "$D/log" 2>&1 || fail "$args: $(cat "$D/log")"
  done
}
case_facts_in_run() { # what the launcher refuses, --run refuses; and no launcher divides by zero
  cat > "$D/f.tl" << 'END'
import tilelang.language as T
m, n = T.dynamic("m, n")
@T.prim_func
def f(Y: T.Tensor((m,), "float32")):
    T.assume(m % 8 == 0)
    with T.Kernel(T.ceildiv(m, n), threads=32) as bx:
        for i in T.Parallel(32):
            Y[bx * 32 + i] = 1
END
  "$TLC" --run --device=emu "$D/f.tl" -p m=64,n=32 > "$D/log" || fail "m=64"
  "$TLC" --run --device=emu "$D/f.tl" -p m=60,n=32 > "$D/log" 2>&1; same $? 1
  grep -q 'f.tl:5:5: error: m % 8 == 0 does not hold in this run, where m=60;' "$D/log" ||
    fail "$(cat "$D/log")"
  "$TLC" "$D/f.tl" -o - | grep -q 'if (n == 0) return "n must not be 0";' || fail "a divisor is not checked"
}
case_wrong_names() { # names that are none, and what there is
  "$TLC" --run samples/vector_add.tl --expect Q=q.npy 2>&1 |
    grep -q "no tensor written by vector_add: " || fail "--expect Q"
  "$TLC" --run samples/vector_add.tl --in Q=q.npy 2>&1 |
    grep -q "no tensor of vector_add: " || fail "--in Q"
  "$TLC" samples/gemm.tl --arch native -o - 2>&1 | grep -q 'native is for --run' || fail "--arch native"
}
case_tir_round_trip() { # printed IR reads back, runs, and prints the same
  for kind in tile ir; do
    "$TLC" samples/gemm.tl -p M=64,N=64,K=64,block_M=64,block_N=64 --emit=$kind -o "$D/a.tir" || fail emit
    "$TLC" "$D/a.tir" --emit=$kind -o "$D/b.tir" || fail "reading $kind"
    diff "$D/a.tir" "$D/b.tir" > "$D/diff" || fail "$kind: $(head -n 5 "$D/diff")"
  done
  "$TLC" samples/gemm.tl -p M=64,N=64,K=64,block_M=64,block_N=64 --emit=tile -o "$D/a.tir"
  "$TLC" --run --device=emu "$D/a.tir" || fail "running the tile IR"
}
case_dumps() {
  "$TLC" samples/gemm.tl -d all -o "$D/x.cu" 2> "$D/dump" || fail "-d all"
  for pass in simplify pipeline layout lower sync; do
    grep -q "$pass" "$D/dump" || fail "no dump of $pass"
  done
  "$TLC" samples/gemm.tl --time-passes -o "$D/x.cu" 2>&1 | grep -q pipeline || fail "--time-passes"
  "$TLC" samples/gemm.tl --remarks -o "$D/x.cu" 2>&1 | grep -q 'samples/gemm.tl:[0-9]*:[0-9]*: remark' ||
    fail "no remarks"
}
# Renaming every symbol, swapping commutative operands or adding an unused buffer changes no remark.
case_no_special_cases() {
  for f in samples/*.tl; do
    base=$(basename "$f" .tl)
    "$TLC" "$f" --remarks -o "$D/x.cu" 2> "$D/a" || fail "$f"
    sed -E 's/\b(A|B|C)_shared\b/Q_zhared/g; s/\bC_local\b/Z_zocal/g' "$f" > /dev/null
    python3 tests/rename.py "$f" > "$D/$base.tl"
    "$TLC" "$D/$base.tl" --remarks -o "$D/y.cu" 2> "$D/b" || fail "$f renamed: $(cat "$D/b")"
    diff <(sed 's/^[^:]*:[0-9]*:[0-9]*: //' "$D/a" | python3 tests/rename.py --words) \
      <(sed 's/^[^:]*:[0-9]*:[0-9]*: //' "$D/b" | python3 tests/rename.py --words) > "$D/diff" ||
      fail "$f: remarks depend on names: $(head -n 6 "$D/diff")"
  done
}
# What no result shows: groups in flight as deep as asked, one barrier an iteration, no two lanes of
# an access in one bank.
case_pipeline_depth() {
  for s in 2 3 4; do
    "$TLC" samples/gemm.tl -p K=512 -p num_stages=$s -o "$D/x.cu" || fail emit
    same "$(grep -o 'wait<[0-9]*>' "$D/x.cu" | sort -u)" "wait<$((s - 2))>"
    same "$(grep -c '^ *tlc_cp_async_commit' "$D/x.cu")" "$s"
    "$TLC" --run --device=emu --remarks samples/gemm.tl -p M=128,N=128,K=512,num_stages=$s \
      > "$D/out" 2>&1 || fail "$(cat "$D/out")"
    n=$(sed -n 's/^emulator: .* \([0-9]*\) barriers.*/\1/p' "$D/out")
    [ "$n" -ge 16 ] && [ "$n" -le 18 ] || fail "$n barriers in 16 iterations of $s stages"
  done
}
case_bank_conflicts() {
  one() { # MOST ARGS...: of two operands read as they lie, or across their rows
    local most=$1; shift
    "$TLC" --run --device=emu --remarks "$@" > "$D/out" 2>&1 || fail "$* $(cat "$D/out")"
    n=$(sed -n 's/^emulator: .* \([0-9]*\) bank conflicts.*/\1/p' "$D/out")
    [ "$n" -le "$most" ] || fail "$n bank conflicts: $*"
  }
  for f in gemm gemm_nt gemm_bf16 gemm_tf32 gemm_int8 gemm_bias_relu splitk splitk_tile splitk_workspace; do
    one 0 samples/$f.tl -p M=128,N=128,K=128
  done
  for t in ta={0,1},tb={0,1}; do
    one 0 tests/cases/gemm_forms.tl -p "$t"
    one 0 tests/cases/gemm_forms.tl -p "$t,dtype=float32"
    one 0 tests/cases/gemm_forms.tl -p "$t,dtype=int8,acc=int32"
  done
}
case_c_caller() { # a C program calls the launcher through the emitted header
  need nvcc
  "$TLC" samples/vector_add.tl -o "$D/v.cu" --header "$D/v.h" || fail emit
  cat > "$D/main.c" <<'C'
#include "v.h"
int main(void) { char m[256]; return vector_add_check(0, 0, 0, m, sizeof m) == 0; }
C
  gcc -std=c99 -Wall -Wextra -Werror -pedantic -I"$D" -c "$D/main.c" -o "$D/main.o" || fail "gcc"
  g++ -std=c++17 -Wall -Werror -I"$D" -x c++ -c "$D/main.c" -o "$D/main2.o" || fail "g++"
  nvcc -std=c++17 -arch=sm_80 -c "$D/v.cu" -o "$D/v.o" || fail "nvcc"
  nvcc -arch=sm_80 "$D/main.o" "$D/v.o" -o "$D/prog" || fail "link"
  "$D/prog" || fail "a null pointer passed the launcher's check"
}
case_workspace() { # a C program asks how much, and hears why a workspace is refused
  need nvcc
  f=tests/cases/kernels_three.tl
  "$TLC" $f -o "$D/t.cu" --header "$D/t.h" --manifest "$D/t.json" || fail emit
  grep -q '^//   workspace   three: three_workspace(M, N) bytes$' "$D/t.cu" || fail "the head comment"
  python3 - "$D/t.json" <<'PY' || fail "the manifest"
import json, sys
w = json.load(open(sys.argv[1]))["kernels"][0]["workspace"]
assert w["align"] == 256 and w["bytes"] is None, w
assert w["parts"][1] == {"name": "sums", "dtype": "int32", "shape": ["M"]}, w
PY
  "$TLC" samples/splitk_workspace.tl -p M=64,N=64,K=64 --emit=manifest -o - | grep -q '"bytes": 65536' || fail bytes
  "$TLC" samples/gemm.tl --emit=manifest -o - | grep -q '"workspace": null' || fail "a workspace of gemm"
  cat > "$D/main.c" <<'C'
#include <string.h>
#include "t.h"
int main(void) { /* 100 * 48, 400 and 306 bytes, each rounded up to 256 */
  char m[256], *device = (char *)4096;
  if (three_workspace(100, 48) != 4864 + 512 + 512 || three_workspace(0, 48) != 256) return 1;
  if (three_workspace(-1, 48) != 0) return 2;
  if (!three_check(device, device + 65536, device + 131072, 100, 48, 0, m, sizeof m)) return 3;
  if (strcmp(m, "workspace is a null pointer")) return 4;
  if (!three_check(device, device + 65536, device + 131072, 100, 48, device + 65536, m, sizeof m)) return 5;
  if (strcmp(m, "out and workspace must not overlap")) return 6;
  return three_check(device, device + 65536, device + 131072, 100, 48, device + 8192, m, sizeof m);
}
C
  gcc -std=c99 -Wall -Wextra -Werror -pedantic -I"$D" -c "$D/main.c" -o "$D/main.o" || fail gcc
  nvcc -std=c++17 -arch=sm_80 -Xcompiler -Wall,-Wextra,-Werror -c "$D/t.cu" -o "$D/t.o" || fail "nvcc"
  nvcc -arch=sm_80 "$D/main.o" "$D/t.o" -o "$D/prog" || fail "link"
  "$D/prog"; same $? 0
  "$TLC" $f --emit exe -o "$D/exe" || fail "--emit exe"
}
case_entries() { # several kernels in one file: one of them, or each, workspaces included
  cat > "$D/two.tl" << 'END'
import tilelang
import tilelang.language as T

@tilelang.jit
def scaled(N=64, by=2):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        W = T.alloc_global((N,), "float32")
        with T.Kernel(N, threads=32) as i:
            W[i] = A[i] * by
        with T.Kernel(N, threads=32) as i:
            B[i] = W[i]
    return main

m = T.dynamic("m")

@T.prim_func
def reversed_rows(A: T.Tensor((m, 8), "float16"), B: T.Tensor((m, 8), "float16")):
    W = T.alloc_global((m, 8), "float16")
    with T.Kernel(m, threads=32) as i:
        for j in T.Parallel(8):
            W[i, j] = A[i, j]
    with T.Kernel(m, threads=32) as i:
        for j in T.Parallel(8):
            B[i, j] = W[m - 1 - i, j]
END
  "$TLC" "$D/two.tl" -o "$D/x.cu" > "$D/log" 2>&1; same $? 1
  "$TLC" --run --device=emu "$D/two.tl" --entry scaled -p N=33 > /dev/null || fail "--entry scaled"
  "$TLC" --run --device=emu "$D/two.tl" --entry reversed_rows -p m=5 > /dev/null || fail "--entry reversed_rows"
  "$TLC" "$D/two.tl" --entry all -o "$D/two.cu" --header "$D/two.h" --manifest "$D/two.json" || fail "--entry all"
  same "$(grep -c '^size_t' "$D/two.h")" 2
  same "$(sed -n 's/.*"symbol": "\(.*\)",/\1/p' "$D/two.json" | tr '\n' ' ')" "scaled reversed_rows "
  need nvcc
  nvcc -std=c++17 -arch=sm_80 -Xcompiler -Wall,-Wextra,-Werror -c "$D/two.cu" -o "$D/two.o" || fail nvcc
}
case_header_roles() { # what a tensor holds before the call matters only where it does
  "$TLC" tests/cases/kernels_param.tl --emit=header -o "$D/h" || fail emit
  grep -q '^   M: .*; written, then read by later' "$D/h" ||
    fail "a tensor between two kernels: $(grep '^   M' "$D/h")"
  "$TLC" samples/splitk.tl --emit=header -o - | grep -q '^   C: .*; read and updated' || fail "an accumulated tensor"
}
case_link_together() {
  need nvcc
  "$TLC" samples/gemm.tl -o "$D/a.cu" && "$TLC" samples/gemm.tl --name other -o "$D/b.cu" || fail emit
  nvcc -std=c++17 -arch=sm_80 -rdc=true -shared -Xcompiler -fPIC "$D/a.cu" "$D/b.cu" -o "$D/ab.so" ||
    fail "two generated files do not link"
}
case_reserved_name() {
  "$TLC" samples/gemm.tl --name main -o "$D/x.cu" > /dev/null 2>&1; same $? 1
  "$TLC" samples/gemm.tl --name 'a b' -o "$D/x.cu" > /dev/null 2>&1; same $? 1
}
case_speed() { # 20 ms and 50 MB for the whole process: processor time, best of 9
  [ -z "${TLC_SAN-}" ] || { echo "sanitizer build"; exit 77; }
  python3 - "$TLC" samples/gemm.tl -o "$D/x.cu" <<'PY' || fail "samples/gemm.tl is too slow or too big"
import resource, subprocess, sys
best, before = 1e9, 0
for _ in range(9):
    subprocess.run(sys.argv[1:], check=True)
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    now = use.ru_utime + use.ru_stime
    best, before = min(best, now - before), now
print(f"{best * 1000:.1f} ms, {use.ru_maxrss} KiB")
sys.exit(best >= 0.020 or use.ru_maxrss >= 51200)
PY
}
case_flags() {
  "$TLC" samples/gemm.tl -fstagez=2 -o "$D/x.cu" 2>&1 | grep -q "did you mean 'stages'" || fail "unknown flag"
  "$TLC" samples/gemm.tl -fstages=2 -o "$D/x.cu" || fail "-fstages"
  grep -q 'tlc_cp_async_wait<0>' "$D/x.cu" || fail "-fstages=2 left more stages"
}
case_zero() {
  "$TLC" samples/splitk.tl --zero C -o "$D/x.cu" && grep -q cudaMemsetAsync "$D/x.cu" || fail "--zero"
  "$TLC" samples/splitk.tl --arch sm_90a --zero C -o "$D/x.cu" && grep -q memset "$D/x.cu" && fail "--zero by memset"
  for a in sm_80 sm_90a; do
    "$TLC" samples/splitk.tl --arch $a --zero C --manifest "$D/x.json" -o "$D/x.cu" || fail "--manifest"
    grep -q '"zeroed": true' "$D/x.json" || fail "zeroed is not in the manifest"
  done
  "$TLC" samples/splitk.tl --zero A -o "$D/x.cu" > /dev/null 2>&1; same $? 2
}
case_line_marks() {
  "$TLC" samples/gemm.tl -g -o "$D/x.cu" && grep -q '^#line' "$D/x.cu" || fail "-g has no #line"
  "$TLC" samples/gemm.tl -g --line=none -o "$D/x.cu" && ! grep -q '^#line' "$D/x.cu" || fail "--line"
}
case_expect() {
  "$TLC" --run --device=emu samples/vector_add.tl -p N=100 --out "C=$D/c.npy" > /dev/null || fail run
  "$TLC" --run --device=emu samples/vector_add.tl -p N=100 --expect "C=$D/c.npy" --rtol 0 --atol 0 ||
    fail "its own output was not as expected"
  "$TLC" --run --device=emu samples/vector_add.tl -p N=100 --seed 2 --expect "C=$D/c.npy" \
    > /dev/null 2>&1; same $? 1
  "$TLC" --run --device=emu samples/vector_add.tl -p N=99 --expect "C=$D/c.npy" > /dev/null 2>&1
  same $? 2
}
case_emu_seeds() { # a list of schedules: each is compared, the last one's results are written
  cat > "$D/s.tl" << 'END'
import tilelang.language as T
@T.prim_func
def f(N: T.Tensor((1,), "float32"), Y: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding(0)
        Y[tx] = T.atomic_add(N[0], 1.0, return_prev=True)
END
  for s in 0 7 0,7 7,0; do
    "$TLC" --run --device=emu --emu-seed=$s "$D/s.tl" --atol 1000 --out "Y=$D/$s.npy" > /dev/null || fail "$s"
  done
  ! cmp -s "$D/0.npy" "$D/7.npy" || fail "both schedules give the same"
  cmp "$D/0,7.npy" "$D/7.npy" && cmp "$D/7,0.npy" "$D/0.npy" || fail "the last one's results"
  "$TLC" --run --device=emu --emu-seed=7 "$D/s.tl" --expect "Y=$D/0.npy" --rtol 0 > /dev/null 2>&1; same $? 1
  "$TLC" --run --device=emu --emu-seed=7,0 "$D/s.tl" --expect "Y=$D/0.npy" --rtol 0 > /dev/null 2>&1; same $? 1
}
case_exe() {
  need nvcc
  "$TLC" samples/gemm_symbolic_m.tl --emit exe -o "$D/prog" || fail "--emit exe"
  "$D/prog" > /dev/null 2>&1; same $? 2
}
case_docs_current() { # the tables, and a place in docs/language.md for every word (the whole: suite docs)
  tools/gen-docs.sh check && python3 tests/docs.py run words && python3 tests/docs.py run builtins
}
case_emulator_speed() { # 50 million multiply-adds a second, checks on
  [ -z "${TLC_SAN-}" ] || { echo "sanitizer build"; exit 77; }
  s=$("$TLC" --run --device=emu samples/gemm.tl -p M=512,N=512,K=512 | sed -n 's/.*, \([0-9.]*\) s$/\1/p')
  awk -v s="$s" 'BEGIN { exit !(s > 0 && 512 * 512 * 512 / s > 50e6) }' || fail "512^3 took $s s"
}
case_list_configs() { # as CPython runs the same function; a tuner in host code; crossed lists
  python3 - tests/eval/tuned.tl > "$D/want" <<'PY' || fail "CPython"
import ast, itertools, sys
f = next(s for s in ast.parse(open(sys.argv[1]).read()).body if getattr(s, "name", "") == "space")
names = {"itertools": itertools}
exec(ast.unparse(f), names)
for c in names["space"](256, 512, 96):
    print(",".join(f"{k}={v}" for k, v in c.items()))
PY
  "$TLC" --list-configs --entry scale tests/eval/tuned.tl -p M=256,N=512,K=96 > "$D/got" || fail "scale"
  [ "$(wc -l < "$D/got")" -gt 8 ] && diff "$D/want" "$D/got" || fail "scale's space"
  "$TLC" --list-configs --entry scale_tuned tests/eval/tuned.tl -p M=256,N=512,K=96 | diff "$D/want" - ||
    fail "the space of a wrapped function"
  "$TLC" tests/eval/tuned.tl --entry scale -p M=64,N=64,K=64 -p "$(tail -1 "$D/want")" -o "$D/x" || fail "-p LINE"
  "$TLC" --list-configs --entry nested tests/eval/tuned.tl -p M=64,N=8 > "$D/got" || fail "nested"
  printf 'block=%s,fast=%s\n' 16 True 16 False 8 True 8 False | diff - "$D/got" || fail "a tuner's space"
  "$TLC" --emit tile --entry nested tests/eval/tuned.tl -p M=64,N=8,block=8,fast=False -o - > "$D/x" ||
    fail "nested kernel"
  grep -q 'grid \[8, 1, 1\]' "$D/x" || fail "$(cat "$D/x")"
  "$TLC" --list-configs tests/eval/tuned.tl -p M=256,N=512,K=96 --json | python3 -c '
import json, sys
d = {x["kernel"]: x for x in json.load(sys.stdin)}
assert d["scale"]["rtol"] == 0.01 and d["scale"]["atol"] == 0.5 and d["nested"]["rtol"] == 0.001, d
assert [list(c.values()) for c in d["crossed"]["configs"]] == [
    [a, b, "float16"] for a in (1, 2) for b in (3, 4)], d["crossed"]
assert {"block": 32, "fast": True} in d["nested"]["configs"], d["nested"]' || fail "--json"
  "$TLC" --list-configs samples/gemm_nt.tl | sort -u | wc -l | grep -qx 288 || fail "288 configurations"
}
case_machine() { # what programs ask of the GPU is answered from --arch; a factory may make another
  cat > "$D/m.py" <<'END'
import torch
from tilelang.autotuner import *
from tilelang.carver.arch import driver
from tilelang.language.fp8 import determine_fp8_type
import tilelang, tilelang.language as T
from tvm import tirx

def blocks():
    major, minor = torch.cuda.get_device_capability()
    if torch.cuda.get_device_properties(0).major != major: raise ValueError("two answers")
    return {80: 7, 90: 9}[major * 10 + minor] if torch.cuda.is_available() and torch.version.hip is None else 0

def outer(n):
    assert "float8" in determine_fp8_type() and determine_fp8_type("e5m2") == T.float8_e5m2
    assert "".join(c for c in T.int8 if c.isdigit()) == "8" and T.float16[:5] == "float"
    @autotune(configs=[])
    @tilelang.jit(pass_configs={"tl.disable_wgmma": True})
    def inner(extra=2):
        @T.prim_func
        def main(A: T.Tensor((n,), T.uint8)):
            T.func_attr({"global_symbol": "main"})
            with T.Kernel(blocks() + extra, driver.get_num_sms()):
                A[0] = tirx.const(3, "uint8") & T.uint8(1)
        return main
    return inner
END
  one() {
    "$TLC" "$D/m.py" --arch "$1" -p n=8,extra=1 --emit tile -o "$D/out" --remarks 2> "$D/log" || fail "$(cat "$D/log")"
  }
  one sm_80; grep -q 'grid \[8, 108, 1\]' "$D/out" || fail "sm_80: $(cat "$D/out")"
  grep -q 'remark: pass config: tl.disable_wgmma has no effect' "$D/log" || fail "$(cat "$D/log")"
  one sm_90a; grep -q 'grid \[10, 132, 1\]' "$D/out" || fail "sm_90a: $(cat "$D/out")"
}
case_module_call() { # a module that calls its factory gives its parameters; -p wins; two calls that differ give none
  cat > "$D/c.py" <<'END'
import tilelang, tilelang.language as T
def make(n, block=8):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=32) as bx:
            A[bx] = 1
    return main
program = make(100, block=10)
kernel = tilelang.compile(program, out_idx=-1)
print(kernel.get_kernel_source())
END
  "$TLC" "$D/c.py" --emit tile -o - | grep -q 'grid \[10, 1, 1\]' || fail "a call in the module"
  "$TLC" "$D/c.py" --emit tile -o - -p n=70 | grep -q 'grid \[7, 1, 1\]' || fail "-p n"
  echo 'other = make(50, block=10)' >> "$D/c.py"
  "$TLC" "$D/c.py" -o "$D/x.cu" 2>&1 | grep -q 'make needs values for: n;' || fail "two calls"
}
case_survey() { # what is said of kernels, with whose values
  mkdir -p "$D/s/sub"
  cp tests/eval/tuned.tl "$D/s/tuned.py"
  cp samples/gemm.tl samples/vector_add.tl "$D/s/sub"
  cat > "$D/s/odd.py" <<'END'
import pytest, torch, tilelang, tilelang.language as T
@tilelang.jit
def first(A, n, block=32):
    M, K = T.const("M, K")
    A: T.Tensor[[M, K], T.float16]
    with T.Kernel(T.ceildiv(M, block), threads=n) as bx:
        T.launch_rocket(A)
@tilelang.jit
def second(M):
    @T.prim_func
    def main(A: T.Tensor((M,), "float32")):
        with T.Kernel(1):
            A[0] = 1
    return main
@pytest.mark.parametrize("n, ignored", [(4, None)])
def test_it(n, ignored):
    a = torch.randn(64, 128, device="cuda").t().half()
    first(a, n=96)
    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(2):
            A[1] = n
    check(tilelang.compile(main))
END
  echo 'def f(:' > "$D/s/wrong.tl"
  "$TLC" --survey "$D/s" > "$D/got" 2> "$D/err" || fail "--survey"
  sed "s#$D/##g" "$D/got" > "$D/short"
  cat > "$D/want" <<'END'
s/odd.py:3 first: there is no T.launch_rocket (s/odd.py:7:9)
s/odd.py:9 second: needs values: M
s/odd.py:20 test_it.main: OK
s/sub/gemm.tl:8 matmul: OK
s/sub/vector_add.tl:8 vector_add: OK
END
  grep -v 'tuned\|wrong' "$D/short" | diff "$D/want" - || fail "lines"
  grep -q '^s/tuned.py:[0-9]* nested: OK$' "$D/short" || fail "host code's values: $(cat "$D/short")"
  grep -q '^s/tuned.py:[0-9]* crossed: OK$' "$D/short" || fail "a space's values: $(cat "$D/short")"
  grep -q '^s/wrong.tl:0 (file): .*(s/wrong.tl:1:6)$' "$D/short" || fail "a file that is no program"
  echo '{"odd.py": {"second": [{"M": 8}, {"M": -1}], "third": []}, "x/odd.py": {}}' > "$D/p.json"
  "$TLC" --survey "$D/s" --params "$D/p.json" 2> /dev/null | grep -q 'second: an extent of -1' || fail "each set counts"
  second() { "$TLC" --entry second "$D/s/odd.py" --params "$D/p.json" --emit tile -o - "$@"; }
  "$TLC" --entry test_it.main "$D/s/odd.py" -o - | grep -q 'cudaError_t test_it(' || fail "a kernel in a function"
  second | grep -q 'float32 \[8\]' || fail "--params"
  printf '{"s/odd.py": {"second": [{"M": 8}]}}' > "$D/key.json"
  (cd "$D/s" && "$OLDPWD/$TLC" --entry second odd.py --params "$D/key.json" --emit tile -o -) 2> /dev/null |
    grep -q 'float32 \[8\]' || fail "--params from within the folder"
  second -p M=9 | grep -q 'float32 \[9\]' || fail "-p wins"
  echo '[1]' > "$D/bad.json"
  "$TLC" --survey "$D/s" --params "$D/bad.json" > /dev/null 2>&1; same $? 2
}
case_bench() { # make bench on a tlc and peers that are made up: table, merged JSON, chart, document
  python3 tests/bench/check.py "$D" || fail "tests/bench/check.py"
}
case_failed_run_keeps_output() {
  echo old > "$D/x.cu"
  "$TLC" "$D/missing.tl" -o "$D/x.cu" > /dev/null 2>&1
  echo 'import tilelang.language as T
x = 1 +' > "$D/bad.tl"
  "$TLC" "$D/bad.tl" -o "$D/x.cu" > /dev/null 2>&1
  same "$(cat "$D/x.cu")" old
}
case_json() {
  echo 'def f(:' > "$D/bad.tl"
  "$TLC" "$D/bad.tl" --diagnostics=json 2>&1 | python3 -c '
import json, sys
d = json.loads(sys.stdin.readline())
assert d["severity"] == "error" and d["range"]["start"]["line"] == 1 and d["id"].startswith("E"), d' || fail "JSON"
  "$TLC" samples/gemm.tl -p M=128,N=128,K=64 --run --device=emu --json | python3 -c '
import json, sys
d, = map(json.loads, sys.stdin)
assert d["passed"] is True and d["kernel"] == "matmul" and d["seconds"] > 0, d
assert d["tensors"][0] == {"name": "A", "shape": [128, 64]}, d
assert d["outputs"][0]["result"] == "passed", d' || fail "run JSON"
  "$TLC" samples/gemm.tl --emit=manifest -o - | python3 -m json.tool > /dev/null || fail manifest
}
case_hints() { # T.Kernel(NAME=VALUE) is -fNAME=VALUE for that kernel, and the flag wins
  ir() { "$TLC" --emit=ir --arch=sm_90a -o - "$@" | grep -vE '^( *hint|program) '; }
  sed 's/threads=thread_num/&, HINT/' samples/gemm_nt.tl > "$D/hint.tl"
  ir samples/gemm_nt.tl > "$D/plain"
  for p in stages=2/stages=2 persistent=False/no-persistent warp_specialize=False/no-warp-specialize \
    wgmma=False/no-wgmma wgmma_ahead=True/wgmma-ahead tma_store=False/no-tma-store slabs=False/no-slabs \
    raster=3/raster=3; do
    sed "s/HINT/${p%/*}/" "$D/hint.tl" > "$D/gemm_nt.tl"
    ir "$D/gemm_nt.tl" > "$D/hint" && ir samples/gemm_nt.tl "-f${p#*/}" > "$D/flag" || fail "$p"
    cmp -s "$D/hint" "$D/flag" || fail "T.Kernel(${p%/*}) is not -f${p#*/}"
    cmp -s "$D/hint" "$D/plain" && fail "T.Kernel(${p%/*}) changes nothing"
    flag=${p#*/}
    case $flag in no-*) flag=${flag#no-} ;; *=*) flag=${flag%=*}=1 ;; *) flag=no-$flag ;; esac
    ir samples/gemm_nt.tl "-f$flag" > "$D/flag"
    ir "$D/gemm_nt.tl" "-f$flag" | cmp -s - "$D/flag" || fail "-f$flag does not win over T.Kernel(${p%/*})"
  done
  sed 's/HINT/persistent=None/' "$D/hint.tl" > "$D/gemm_nt.tl"
  ir "$D/gemm_nt.tl" | cmp -s - "$D/plain" || fail "None is a hint"
  sed 's/HINT/min_blocks=2/' "$D/hint.tl" > "$D/gemm_nt.tl"
  "$TLC" "$D/gemm_nt.tl" -o - | grep -q '__launch_bounds__(256, 2)' || fail "T.Kernel(min_blocks=2)"
  "$TLC" "$D/gemm_nt.tl" -fmin-blocks=0 -o - | grep -q '__launch_bounds__(256)' || fail "-fmin-blocks does not win"
}

. tests/cli_decisions.sh

case $1 in
  list) declare -F | sed -n 's/^declare -f case_//p' ;;
  run)
    TOP=$PWD
    D=$(mktemp -d) && trap 'rm -rf "$D"' EXIT
    "case_$2" ;;
esac
