#!/bin/bash
# make demo: the whole trip for samples/gemm.tl, in words.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
tlc=${BUILD:-build}/tlc
out=${BUILD:-build}/demo
mkdir -p "$out"
echo "1. $tlc samples/gemm.tl -o $out/gemm.cu --header $out/gemm.h"
"$tlc" samples/gemm.tl -o "$out/gemm.cu" --header "$out/gemm.h"
echo "   a tile program of $(wc -l < samples/gemm.tl) lines became $(wc -l < "$out/gemm.cu") lines of CUDA:"
grep -m1 'extern "C" cudaError_t' "$out/gemm.cu" | sed 's/^/   /'
echo "2. how it was lowered (tlc --remarks):"
"$tlc" --remarks samples/gemm.tl -o "$out/gemm.cu" 2>&1 | sed 's/^/   /'
if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  PATH=$PATH:/usr/local/cuda/bin
  echo "3. nvcc -std=c++17 -arch=sm_80 -cubin (what ptxas says):"
  nvcc -std=c++17 -arch=sm_80 -Xptxas -v -cubin -o "$out/gemm.cubin" "$out/gemm.cu" 2>&1 |
    grep -E 'registers|spill' | sed 's/^ptxas info *: */   /'
else
  echo "3. no nvcc here: the .cu is not assembled"
fi
echo "4. tlc --run (a GPU if there is one, else the emulator), every element against the oracle:"
"$tlc" --run samples/gemm.tl -p M=256,N=256,K=256 | sed 's/^/   /'
"$tlc" --run samples/gemm.tl -p M=100,N=72,K=50 | sed 's/^/   /'
