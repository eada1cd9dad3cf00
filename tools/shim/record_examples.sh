#!/bin/bash
# record_examples.sh CHECKOUT OUT.json: runs the in-scope examples of a TileLang checkout (tests/compat/examples.txt) in
# record mode, each on its own, and merges what their kernels are called with. LOGS=DIR keeps each file's output. Where
# PYTHON (python3) has pytest, TileLang's own tests of the folders in TESTS are run too.
# SPDX-License-Identifier: MIT
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
checkout=$(cd "$1" && pwd) out=$(realpath -m "$2")
logs=${LOGS:-$(mktemp -d)}
mkdir -p "$logs"
export PYTHON=${PYTHON:-python3} PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$here TLC_SHIM=record TLC_SHIM_FAKE_TORCH=1 TLC_SHIM_ROOT=$checkout

# A run is "FILE ARGS..." or "FILE::CALL", a call of one of its functions.
one() {
  local run=$1 logs=$2 stem file
  stem=$logs/$(tr -c 'A-Za-z0-9._\n' _ <<< "$run")
  rm -f "$stem.json"
  file=${run%% *} file=${file%%::*}
  cd "$TLC_SHIM_ROOT/$(dirname "$file")" || exit 1
  file=$(basename "$file")
  export TLC_SHIM_RECORD=$stem.json
  if [[ $run == *::* ]]; then
    timeout "${TIMEOUT:-60}" "$PYTHON" -c "import sys; sys.path.insert(0, '.'); from ${file%.py} import *; ${run#*::}"
  else
    eval "set -- ${run#"${run%% *}"}"
    [[ $run != testing/* ]] || set -- -m pytest -q -p no:cacheprovider --tb=line "$file"
    [[ $run == testing/* ]] || set -- "$file" "$@"
    timeout "${TIMEOUT:-60}" "$PYTHON" "$@"
  fi > "$stem.log" 2>&1
  local status=$?
  [ $status = 0 ] || [[ $run == testing/* ]] || echo "$run: exit $status: $(tail -n 1 "$stem.log" | cut -c 1-160)"
}
export -f one

list=$tree/tests/compat
TESTS=${TESTS-testing/python/issue testing/python/language testing/python/kernel testing/python/tilelibrary}
env -u PYTHONPATH "$PYTHON" -c 'import pytest' 2> /dev/null || TESTS=
{
  cat "$list/examples.txt"
  grep -v '^#' "$list/runs.txt"
  (cd "$checkout" && sed 's|/[^/]*$||' "$list/examples.txt" | sort -u |
    xargs -I{} find {} -maxdepth 1 -name 'test_*.py' | sort
    for folder in $TESTS; do find "$folder" -name 'test_*.py' | sort; done)
} | tr '\n' '\0' | xargs -0 -n 1 -P "${JOBS:-2}" bash -c 'one "$1" "$0"' "$logs"
python3 "$here/merge.py" "$out" "$logs"/*.json "$list/by_hand.json"
python3 "$here/coverage.py" "$checkout" "$out" "$list/examples.txt"
