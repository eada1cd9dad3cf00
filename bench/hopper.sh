#!/bin/bash
# The ways that sm_90a's GEMM can be built, beside cuBLAS on this GPU: first each is checked against the
# oracle on small, ragged shapes, then timed at M = N = 8192, the best of them for K from 256 to 16384.
# Stops when its time is over and names what it did not come to.
# Usage: bench/hopper.sh [SECONDS [FOLDER]]   time for all of it (default 450); results as JSON go to FOLDER.
# Needs a GPU and nvcc; without one exits with tlc's status 3.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
export TLC=${TLC:-${BUILD:-build}/tlc}
limit=${1:-450}
export out=${2:-${BUILD:-build}/bench/hopper}
mkdir -p "$out"

# NAME PARAMETERS OPTIONS
variants() {
  cat <<'EOF'
pp128x192 block_N=192,thread_num=128
coop128x256 block_N=256,thread_num=256
coop128x256-ahead block_N=256,thread_num=256 -fwgmma-ahead
pp128x128 block_N=128,thread_num=128
coop128x256-whole block_N=256,thread_num=256 -fno-slabs
pp128x192-noahead block_N=192,thread_num=128 -fno-wgmma-ahead
pp64x256 block_M=64,block_N=256,thread_num=128
coop256x128 block_M=256,block_N=128,thread_num=256
alone128x192 block_N=192,thread_num=128 -fno-ping-pong
pp128x192-pair block_N=192,thread_num=128 -fcluster=2
pp128x128-pair block_N=128,thread_num=128 -fcluster=2
pp64x256-pair block_M=64,block_N=256,thread_num=128 -fcluster=2
coop128x256-pair block_N=256,thread_num=256 -fcluster=2
EOF
}

check() { # NAME PARAMETERS,SIZES OPTIONS: the emitted text on the GPU against the oracle
  local name=$1 params=$2 said status
  shift 2
  said=$("$TLC" --run --device=gpu --arch sm_90a --integers --color=never samples/gemm_nt.tl -p "$params" "$@" 2>&1)
  status=$?
  [ $status = 0 ] && return
  [ $status = 3 ] && { echo "SKIPPED $name: $(tail -n 1 <<< "$said")"; return; }
  printf 'FAIL %s %s\n' "$name" "$params"
  head -n 5 <<< "$said"
}
export -f check

variants | while read -r name params options; do
  for sizes in M=264,N=520,K=136 M=2000,N=3000,K=1000 M=128,N=192,K=64; do
    echo "check $name $params,$sizes $options"
  done
done | timeout 120 xargs -P "$(nproc)" -d '\n' -n 1 bash -c '$0' > "$out/check.txt" 2>&1
grep -m 1 '^SKIPPED' "$out/check.txt" && exit 3
cat "$out/check.txt"
failed=0
[ -s "$out/check.txt" ] && failed=1
printf 'checked: %s after %d s\n' "$([ $failed = 0 ] && echo all right || echo WRONG)" "$SECONDS"

# A figure of the kernel's own: cuBLAS has its own `us` behind "reference".
number() { sed -n "s/.*\"$1\": \[*\([-0-9.e+]*\).*/\1/p" <<< "$(sed 's/"reference": {[^}]*}, //' "$2")" | head -n 1; }

ahead() { # K...: builds the variants on stdin, on all processors: nothing else runs while something is timed
  local k name params options
  while read -r name params options; do
    for k in "$@"; do echo "samples/gemm_nt.tl -p M=8192,N=8192,K=$k,$params $options"; done
  done | timeout 120 xargs -P "$(nproc)" -d '\n' -n 1 bash -c '"$TLC" --bench --no-run --arch sm_90a $0' \
    > "$out/build.txt" 2>&1
  printf 'built after %d s\n' "$SECONDS"
}

printf '%-20s %6s %10s %9s %7s\n' variant K us TFLOP/s ratio
row() { # K NAME PARAMETERS OPTIONS
  local k=$1 name=$2 params=$3 json=$out/$2-$1.json left=$((limit - SECONDS))
  shift 3
  if [ $left -lt 12 ]; then
    echo "left out: $name K=$k"
  elif timeout $left "$TLC" --bench --json --arch sm_90a samples/gemm_nt.tl -p "M=8192,N=8192,K=$k,$params" \
    "$@" > "$json" 2> "$json.said" < /dev/null; then
    printf '%-20s %6d %10s %9s %7s\n' "$name" "$k" "$(number us "$json")" "$(number tflops "$json")" \
      "$(number ratio "$json")"
    echo "$k $(number ratio "$json") $name $params $*" >> "$out/ratios.txt"
  else
    printf '%-20s %6d failed: %s\n' "$name" "$k" "$(head -n 1 "$json.said")"
    failed=1
  fi
}

# All of them at a short and at a long K, then at every K what was best there.
: > "$out/ratios.txt"
variants | ahead 256 8192
for k in 256 8192; do
  while read -r name params options; do
    # shellcheck disable=SC2086 # options are words
    row $k "$name" "$params" $options
  done < <(variants)
done
for k in 256 8192; do
  awk -v k=$k '$1 == k' "$out/ratios.txt" | sort -k 2 -n -r | head -n 2 | cut -d ' ' -f 3-
done | awk '!seen[$1]++' > "$out/best.txt"
ahead 1024 512 4096 2048 16384 < "$out/best.txt"
for k in 1024 512 4096 2048 16384; do
  while read -r name params options; do
    # shellcheck disable=SC2086
    row $k "$name" "$params" $options
  done < "$out/best.txt"
done
exit $failed
