#!/bin/bash
# An nvcc that has g++ and the host prelude (beside this script, as host.h) build the text for the CPU.
# Faults to plant, where the text holds the pattern: HOST_NVCC="KIND:PATTERN[;...]"; KIND is wrong (a
# result one off), over (a store past a tensor), hang, crash, nan, input (an input is overwritten).
# SPDX-License-Identifier: MIT
here=$(dirname "$0")
[ "$1" = --version ] && { echo "Build host"; exit 0; }
while [ $# -gt 0 ]; do
  case $1 in -o) out=$2; shift ;; *.cu) in=$1 ;; esac
  shift
done
fault=
IFS=';' read -ra rules <<< "${HOST_NVCC-}"
for rule in "${rules[@]}"; do
  grep -qE -- "${rule#*:}" "$in" && fault=${rule%%:*}
done
# The caller that the runtime appended calls the launcher: after it C's first element, of 16 bits, is
# ours. The tensors are arguments 0, 1 and 2.
c='((unsigned short *)*(void **)(a + 16))'
case $fault in
  wrong) act="$c[5] ^= 0x4000;" ;;
  nan) act="$c[5] = 0x7fff;" ;;
  over) act="$c[-1] = 1;" ;;
  input) act="((unsigned short *)*(void **)a)[3] = 0x7800;" ;;
  hang) act="for (volatile int x = 1; x;) {}" ;;
  crash) act="*(volatile int *)8 = 1;" ;;
  *) act= ;;
esac
sed -E "s/^  return \(int\)([a-z_0-9]+)(\(.*\(cudaStream_t\)stream\);)/  int r = (int)\1\2\n  $act\n  return r;/" \
  "$in" > "$out.cu"
exec g++ -std=c++17 -O1 -w -fno-strict-aliasing -ffp-contract=off -shared -fPIC -x c++ -I "$here" \
  -DTLC_HOST='"host.h"' -o "$out" "$out.cu"
