#!/bin/bash
# Suite nvcc: every sample's .cu assembles for sm_80 and sm_90a without a warning or a spill. Results are cached
# by the text's hash. Without nvcc the cases are skipped, in CI (TLC_CI) they fail.
# SPDX-License-Identifier: MIT
case $1 in
  list)
    for f in samples/*.tl; do printf '%s sm_80\n%s sm_90a\n' "$f" "$f"; done
    forms="tests/cases/gemm_forms.tl -p M=512,N=512,K=512,bk=64" # blocks of other sizes
    printf '%s sm_90a\n' "$forms,bm=192,bn=256,threads=384" "$forms,bm=128,bn=128,threads=512" \
      "$forms,bm=448,bn=64,threads=896" "$forms,bm=256,bn=128,threads=1024"
    printf '%s sm_90a\n' "samples/flash_attention.tl -p seq_len=64" "samples/gemm_nt.tl -p M=0"
    masks="tests/cases/overlap_masks.tl -p L=2640,rows_of=128,threads=256"
    printf '%s sm_90a\n' "$masks,form=0" "$masks,form=1" "$masks,form=2"
    printf '%s sm_89\n' "$forms,dtype=float8_e4m3" "$forms,dtype=float8_e5m2"
    for arch in sm_80 sm_89 sm_90 sm_90a sm_100a; do # a body for each of two targets, one is built
      printf '%s targets:%s\n' samples/gemm.tl $arch samples/splitk_workspace.tl $arch
    done ;;
  run)
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null)
    if [ -z "$nvcc" ]; then
      [ -n "${TLC_CI-}" ] && { echo "nvcc is missing"; exit 1; }
      echo "no nvcc"; exit 77
    fi
    file=${2% *} arch=${2##* }
    case $arch in
      targets:*)
        arch=${arch#*:} base=$(basename "$file" .tl)
        cu=$WORK/nvcc.$base.$arch.targets.cu
        "$TLC" --arch sm_80,sm_90a "$file" -p M=256,N=256,K=256 -o "$cu" || exit 1
        "$nvcc" -std=c++17 -arch="$arch" -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror \
          -ptx -o "$cu.ptx" "$cu" || exit 1
        there=sm_80 not=sm_90a
        [ "$arch" = sm_90a ] && there=sm_90a not=sm_80
        bounds=$(awk '/\.entry/ { name = $0 } /\.maxntid/ { print name, $2 + 0 }' "$cu.ptx")
        if grep "_${there}_k" <<< "$bounds" | grep " 1$" || grep "_${not}_k" <<< "$bounds" |
          grep -v " 1$" || [ "$(grep -c _k0 <<< "$bounds")" != 2 ]; then
          echo "$bounds"; exit 1
        fi
        exit 0 ;;
    esac
    cu=$WORK/nvcc.$(sed 's/.*\///; s/\.tl//; s/[^a-z0-9_]//g' <<< "$file").$arch.cu
    # shellcheck disable=SC2086
    "$TLC" --arch "$arch" $file -o "$cu" || exit 1
    cache=$WORK/nvcc.cache.$(sha256sum < "$cu" | cut -c1-32)
    if [ ! -f "$cache" ]; then
      "$nvcc" -std=c++17 -arch="$arch" -Xptxas -v -Werror all-warnings -cubin -o "$cu.cubin" "$cu" \
        > "$cache.tmp" 2>&1 || { cat "$cache.tmp"; exit 1; }
      mv "$cache.tmp" "$cache"
    fi
    if grep -E '[1-9][0-9]* bytes spill|warning|C75' "$cache"; then exit 1; fi
    grep -q 'registers' "$cache" || { echo "no ptxas report"; cat "$cache"; exit 1; } ;;
esac
