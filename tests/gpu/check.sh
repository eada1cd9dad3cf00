#!/bin/bash
# make gpu-check: on a machine with a GPU, the emitted text itself against the oracle over the shape
# matrix, NumPy, and a few kernels under compute-sanitizer. Prints one line a case that fails.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build} TLC=${TLC:-${BUILD:-build}/tlc} TLC_DEVICE=gpu
export WORK=$BUILD/gpu-check
mkdir -p "$WORK"
passed=0 failed=0 skipped=0
jobs=${JOBS:-$(nproc)}

one() { # runs one matrix line on the GPU
  # shellcheck disable=SC2086
  out=$("$TLC" --run --device=gpu --color=never $1 2>&1) || { printf 'FAIL %s\n' "$1"; echo "$out" | head -n 5; }
}
case_one() { # a program of tests/cases against NumPy
  out=$(python3 tests/cases.py run "$1" 2>&1) || { printf 'FAIL %s\n' "$1"; tail -n 5 <<< "$out"; }
}
export -f one case_one
python3 tests/cases.py list > "$WORK/cases.list"
bash tests/suite_matrix.sh list > "$WORK/list"
tr '\n' '\0' < "$WORK/list" | xargs -0 -n 1 -P "$jobs" bash -c 'one "$0"' > "$WORK/matrix.out"
failed=$(grep -c '^FAIL' "$WORK/matrix.out")
passed=$(($(wc -l < "$WORK/list") - failed))
cat "$WORK/matrix.out"

python3 tests/numpy_cases.py list | while IFS= read -r case; do
  python3 tests/numpy_cases.py run "$case" > "$WORK/numpy.log" 2>&1 ||
    { echo "FAIL numpy $case"; head -n 5 "$WORK/numpy.log"; }
done > "$WORK/numpy.out"
bad=$(grep -c '^FAIL' "$WORK/numpy.out")
failed=$((failed + bad)) passed=$((passed + $(python3 tests/numpy_cases.py list | wc -l) - bad))
cat "$WORK/numpy.out"

if command -v compute-sanitizer > /dev/null; then
  while IFS= read -r line; do
    for tool in memcheck racecheck synccheck; do
      # shellcheck disable=SC2086
      if compute-sanitizer --tool "$tool" --error-exitcode 9 "$TLC" --run --device=gpu $line \
        > "$WORK/san.log" 2>&1; then
        passed=$((passed + 1))
      else
        if grep -q 'Device not supported' "$WORK/san.log"; then
          echo "SKIPPED $tool $line: the tool refuses this device"; skipped=$((skipped + 1))
        else
          echo "FAIL $tool $line"; grep -E '=========|tlc:|oracle' "$WORK/san.log" | head -n 12
          failed=$((failed + 1))
        fi
      fi
    done
  done < <(grep -vE '^ *(#|$)' tests/gpu/sanitize.txt)
else
  echo "SKIPPED compute-sanitizer: not installed"; skipped=$((skipped + 1))
fi
if [ -x tests/gpu/ops.sh ]; then
  if tests/gpu/ops.sh > "$WORK/ops.out" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)); tail -n 20 "$WORK/ops.out"
  fi
fi
tr '\n' '\0' < "$WORK/cases.list" | xargs -0 -n 1 -P "$jobs" bash -c 'case_one "$0"' > "$WORK/cases.out"
bad=$(grep -c '^FAIL' "$WORK/cases.out")
failed=$((failed + bad)) passed=$((passed + $(wc -l < "$WORK/cases.list") - bad))
cat "$WORK/cases.out"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
