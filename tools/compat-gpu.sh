#!/bin/bash
# compat-gpu.sh CHECKOUT [OUT.tsv]: runs the in-scope examples of a TileLang checkout (tests/compat/examples.txt) and
# their test files, unmodified, through tools/shim on this machine's GPU; one line each: outcome, file, seconds,
# kernels, detail. JOBS (4) at a time, TIMEOUT (300) seconds each, LIMIT seconds in all; PYTHON (python3) must have
# torch. LIST=FILE runs other files. A line is written as its file ends: a limit or a signal keeps those.
# Everything built or cached lies under WORK, a temporary folder; WORK=DIR keeps it, with each file's output.
# TLC_SHIM=build runs nothing: it fills TLC_SHIM_CACHE with what these runs build, on a machine with nvcc alone.
# SPDX-License-Identifier: MIT
set -u
tree=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] && [ -d "$1" ] || { echo "usage: $0 CHECKOUT [OUT.tsv]" >&2; exit 2; }
checkout=$(cd "$1" && pwd)
out=$(realpath -m "${2:-compat-gpu.tsv}")
if [ -z "${WORK:-}" ]; then
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
fi
mkdir -p "$WORK/logs" "$WORK/cwd"
WORK=$(cd "$WORK" && pwd)
export WORK checkout PYTHON=${PYTHON:-python3} TIMEOUT=${TIMEOUT:-300}
export TLC=${TLC:-$tree/build/tlc} PYTHONPATH=$tree/tools/shim${PYTHONPATH:+:$PYTHONPATH} TLC_SHIM=${TLC_SHIM:-compile}
export TLC_SHIM_CACHE=${TLC_SHIM_CACHE:-$WORK/cache} TLC_SHIM_ROOT=$checkout PYTHONDONTWRITEBYTECODE=1
export PYTEST_ADDOPTS="-p no:cacheprovider -q"
export TRITON_CACHE_DIR=$WORK/triton TORCHINDUCTOR_CACHE_DIR=$WORK/inductor TORCH_EXTENSIONS_DIR=$WORK/extensions
export XDG_CACHE_HOME=$WORK/xdg TILELANG_CACHE_DIR=$WORK/tilelang

# Why it ended so, from its output: "OUTCOME<tab>DETAIL".
outcome() {
  local status=$1 log=$2 line
  line=$(grep -m 1 -E '(: |^)error: ' "$log" | sed 's/^.*tlc_shim.build.Refused: //')
  if [ "$status" = 0 ]; then
    [ -s "$3" ] || printf 'nothing\tno kernel was called'
    [ ! -s "$3" ] || printf 'passed\t%s' "$(grep -m 1 -oE 'shim: .* refuses it, so sm_[0-9a]*' "$log")"
  elif [ "$status" = 124 ] || [ "$status" = 137 ]; then printf 'timeout\t%s s' "$TIMEOUT"
  elif grep -q 'tlc_shim.build.Refused' "$log"; then printf 'refused\t%s' "${line#"$checkout"/}"
  elif grep -qE '^(E +)?(ModuleNotFoundError|ImportError)' "$log"; then
    printf 'missing\t%s' "$(grep -m 1 -oE '(ModuleNotFoundError|ImportError).*' "$log")"
  elif grep -qE '^(E +)?AssertionError|Tensor-likes are not' "$log"; then
    printf 'wrong\t%s' "$(grep -m 1 -E '^(E +)?AssertionError' "$log")"
  else printf 'error\t%s' "$(grep -v '^ *$' "$log" | tail -n 1)"
  fi
}

one() {
  local file=$1 stem start=$SECONDS status kernels why
  stem=$WORK/logs/${file//\//__}
  mkdir -p "$WORK/cwd/$file" && cd "$WORK/cwd/$file" || exit 1
  TLC_SHIM_RECORD=$stem.json timeout -k 10 "$TIMEOUT" "$PYTHON" "$checkout/$file" > "$stem.log" 2>&1 < /dev/null
  status=$?
  kernels=$(grep -c '^      {' "$stem.json" 2> /dev/null)
  why=$(outcome $status "$stem.log" "$stem.json" | tr '\n' ' ' | cut -c 1-300)
  printf '%s\t%s\t%d\t%s\t%s\n' "${why%%$'\t'*}" "$file" $((SECONDS - start)) "${kernels:-0}" "${why#*$'\t'}"
}
export -f one outcome

if [ -n "${LIST:-}" ]; then cat "$LIST"; else
  cat "$tree/tests/compat/examples.txt"
  (cd "$checkout" && sed 's|/[^/]*$||' "$tree/tests/compat/examples.txt" | sort -u |
    xargs -I{} find {} -maxdepth 1 -name 'test_*.py' | sort)
fi | tr '\n' '\0' | timeout "${LIMIT:-0}" xargs -0 -n 1 -P "${JOBS:-4}" bash -c 'one "$0"' > "$out"
sort -t "$(printf '\t')" -k 2 -o "$out" "$out"
cut -f 1 "$out" | sort | uniq -c | sort -rn
