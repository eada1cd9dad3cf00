#!/bin/bash
# The test runner: tests/run.sh [SUITE...]; suites: unit diag wrong golden docs matrix cases numpy
# cli space tune text shim zoo nvcc.
# Every case prints one line when it fails; the last line is "N passed, N failed, N skipped".
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build} TLC=${TLC:-${BUILD:-build}/tlc}
export WORK=$BUILD/tests
mkdir -p "$WORK"
results=$WORK/results
: > "$results"

# Each suite is tests/suite_NAME.sh: `list` prints one case a line, `run CASE` exits 0 (passed),
# 77 (skipped, reason on stdout) or else (failed, story on stdout). Where it also has `many CASE...`,
# that prints run_case's lines itself, without a process for each case.
run_case() {
  local suite=$1 case=$2 out status
  out=$(bash "tests/suite_$suite.sh" run "$case" 2>&1)
  status=$?
  case $status in
    0) echo "pass $suite $case" ;;
    77) echo "skip $suite $case: $out" ;;
    *) printf 'FAIL %s %s\n' "$suite" "$case"; sed 's/^/    /' <<< "$out" | head -n 40 ;;
  esac
}
export -f run_case

suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(unit diag wrong golden docs matrix cases numpy cli space tune text shim zoo nvcc)
for suite in "${suites[@]}"; do
  [ -f "tests/suite_$suite.sh" ] || { echo "FAIL $suite: no such suite" >> "$results"; continue; }
  start=$SECONDS jobs=$(nproc)
  [ "$suite" != tune ] || jobs=$((2 * jobs)) # most of its time it waits
  bash "tests/suite_$suite.sh" list | grep -E -- "${FILTER:-.}" > "$WORK/$suite.list"
  one=(-n 1 bash -c 'run_case "$0" "$1"' "$suite")
  ! grep -q '^  many)' "tests/suite_$suite.sh" || one=(-n 40 bash "tests/suite_$suite.sh" many)
  tr '\n' '\0' < "$WORK/$suite.list" | xargs -0 -r -P "$jobs" "${one[@]}" > "$WORK/$suite.out"
  told=$(grep -cE '^(pass|skip|FAIL) ' "$WORK/$suite.out") listed=$(wc -l < "$WORK/$suite.list")
  [ "$told" = "$listed" ] || echo "FAIL $suite: $told of $listed cases have a result" >> "$WORK/$suite.out"
  cat "$WORK/$suite.out" >> "$results"
  grep -vE '^pass ' "$WORK/$suite.out"
  printf '%-8s %5d passed %4d failed %4d skipped  %4d s\n' "$suite" \
    "$(grep -c '^pass ' "$WORK/$suite.out")" "$(grep -c '^FAIL ' "$WORK/$suite.out")" \
    "$(grep -c '^skip ' "$WORK/$suite.out")" $((SECONDS - start))
done
failed=$(grep -c '^FAIL ' "$results")
echo "$(grep -c '^pass ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped"
[ "$failed" = 0 ]
