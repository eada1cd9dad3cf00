#!/bin/bash
# Every thread-level op alone, random bits, the emitted text on the GPU against the emulator: as
# sm_80 code, as the GPU's own, and under the flags of nvcc that must change nothing. Then what the
# launcher promises, by tests/gpu/launch.cpp.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
folder=$BUILD/gpu-check/ops
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null)
[ -n "$nvcc" ] || { echo "SKIPPED ops: no nvcc"; exit 77; }
mkdir -p "$folder"
"$BUILD/tests/ops" gen "$folder" || exit 1
failed=0
for flags in "-arch=sm_80" "-arch=native" "-arch=native --use_fast_math" "-arch=sm_80 -G"; do
  # shellcheck disable=SC2086
  "$nvcc" -std=c++17 $flags -o "$folder/ops" "$folder/ops.cu" &&
    "$folder/ops" "$folder/ops.in" "$folder/ops.out" && "$BUILD/tests/ops" check "$folder" ||
    { echo "FAIL ops $flags"; failed=1; }
done
case $(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1) in
  9.0)
    "$BUILD/tests/ops" gen "$folder" sm_90a || exit 1
    for flags in "-arch=sm_90a" "-arch=sm_90a -G"; do
      # shellcheck disable=SC2086
      "$nvcc" -std=c++17 $flags -o "$folder/ops" "$folder/ops.cu" &&
        "$folder/ops" "$folder/ops.in" "$folder/ops.out" && "$BUILD/tests/ops" check "$folder" sm_90a ||
        { echo "FAIL ops $flags"; failed=1; }
    done ;;
  *) echo "SKIPPED ops sm_90a: no GPU of that architecture" ;;
esac
"$BUILD/tlc" samples/gemm.tl -p M=256,N=256,K=256 -p block_K=64,num_stages=3 \
  -o "$folder/gemm.cu" --header "$folder/gemm.h" &&
  "$BUILD/tlc" samples/splitk_workspace.tl -p M=256,N=256,K=256 \
    -o "$folder/splitk.cu" --header "$folder/splitk.h" &&
  "$nvcc" -std=c++17 -arch=sm_80 -I"$folder" -o "$folder/launch" tests/gpu/launch.cpp \
    "$folder/gemm.cu" "$folder/splitk.cu" &&
  "$folder/launch" || { echo "FAIL launch"; failed=1; }
# The same with bodies for two targets, built for either, both, and a newer one than the oldest.
for flags in "-arch=sm_80" "-arch=native" "-gencode arch=compute_80,code=compute_80" \
  "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a"; do
  "$BUILD/tlc" --arch sm_80,sm_90a samples/gemm.tl -p M=256,N=256,K=256 -p block_K=64 \
    -o "$folder/gemm.cu" --header "$folder/gemm.h" &&
    "$BUILD/tlc" --arch sm_80,sm_90a samples/splitk_workspace.tl -p M=256,N=256,K=256 \
      -o "$folder/splitk.cu" --header "$folder/splitk.h" || exit 1
  # shellcheck disable=SC2086
  "$nvcc" -std=c++17 $flags -I"$folder" -o "$folder/launch" tests/gpu/launch.cpp \
    "$folder/gemm.cu" "$folder/splitk.cu" && "$folder/launch" ||
    { echo "FAIL launch of two targets, $flags"; failed=1; }
done
exit $failed
