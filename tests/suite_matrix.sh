#!/bin/bash
# Suite matrix: oracle == emulator. Each line of tests/matrix.txt is a sample and tlc's arguments,
# with {a,b} braces expanded, every combination one run under two warp schedules (one under sanitizers, for which
# the other is the same code).
# SPDX-License-Identifier: MIT
case $1 in
  list)
    grep -vE '^ *(#|$)' tests/matrix.txt | while IFS= read -r line; do
      eval "printf '%s\n' $(sed 's/ /\\ /g' <<< "$line")"
    done ;;
  run)
    seeds=0,7
    [ -z "${TLC_SAN-}" ] || seeds=7
    # shellcheck disable=SC2086
    "$TLC" --run --device=emu --emu-seed=$seeds --color=never $2 ;;
esac
