#!/bin/bash
# Suite text: the emitted .cu itself, compiled with g++ and the host prelude and run on small
# shapes, against the oracle. Asynchronous copies land at the wait that covers them, then (second
# run) at once: a pipeline must give the same either way.
# SPDX-License-Identifier: MIT
case $1 in
  list)
    grep -vE '^ *(#|$)' tests/text.txt | while IFS= read -r line; do
      eval "printf '%s\n' $(sed 's/ /\\ /g' <<< "$line")"
    done ;;
  run)
    # shellcheck disable=SC2086
    "$BUILD/tests/text_run" $2 && TLC_HOST_EAGER=1 "$BUILD/tests/text_run" $2 ;;
esac
