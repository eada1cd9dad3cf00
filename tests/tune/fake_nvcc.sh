#!/bin/bash
# An nvcc for tests of the tuner: writes a file and says so. FAKE_NVCC: what it does where the text
# holds FAKE_NVCC_AT (default: everywhere): crash, hang, disk, error, big, ok. FAKE_LOG: a line for each
# build. FAKE_NVCC_SLEEP: seconds that one takes.
# SPDX-License-Identifier: MIT
[ "$1" = --version ] && { echo "Cuda compilation tools"; echo "Build fake.${FAKE_NVCC_VERSION-1}"; exit 0; }
while [ $# -gt 0 ]; do
  case $1 in -o) out=$2; shift ;; *.cu) in=$1 ;; esac
  shift
done
[ -n "${FAKE_LOG-}" ] && echo "build $(sed -n 's/^\/\/ .*parameters*: //p' "$in" | head -1)" >> "$FAKE_LOG"
sleep "${FAKE_NVCC_SLEEP-0}"
what=${FAKE_NVCC-ok}
grep -qE -- "${FAKE_NVCC_AT-.}" "$in" || what=ok
case $what in
  crash) kill -SEGV $$ ;;
  hang) setsid sleep 1000 & echo "$!" >> "${FAKE_PIDS-/dev/null}"; sleep 1000 ;;
  disk) echo "fatal: error writing $out: No space left on device" >&2; exit 1 ;;
  big) exec head -c 4000000000 /dev/zero > "$out" ;;
  error) echo "$in(12): error: identifier \"x\" is undefined" >&2; exit 2 ;;
esac
echo "a library" > "$out"
