#!/bin/bash
# compat-gpu.sh CHECKOUT [OUT.tsv]: runs the in-scope examples of a TileLang checkout (tests/compat/examples.txt) and
# their test files, unmodified, through tools/shim on this machine's GPU; one line each: outcome, file, seconds,
# kernels, comparisons of tensors (HELD/ALL), detail. JOBS (4) at a time, TIMEOUT (300) seconds each, LIMIT seconds in
# all; PYTHON (python3) must have torch. LIST=FILE runs other files. A line is written as its file ends: a limit or a
# signal keeps those. COMMIT names tlc in the first line (default: git's name for this tree).
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
  local status=$1 log=$2 line last
  last=$(grep -E '^(E +)?([A-Za-z_]+\.)*[A-Za-z]*(Error|Exception)\b' "$log" | tail -n 1 | sed -E 's/^E +//')
  line=$(grep -m 1 -E '(: |^)error: ' "$log" | sed 's/^.*tlc_shim.build.Refused: //')
  if [ "$status" = 0 ]; then
    [ -s "$3" ] || printf 'nothing\tno kernel was called'
    [ ! -s "$3" ] || printf 'passed\t%s' "$(grep -m 1 -oE 'shim: .* refuses it, so sm_[0-9a]*' "$log")"
  elif [ "$status" = 124 ] || [ "$status" = 137 ]; then printf 'timeout\t%s s' "$TIMEOUT"
  elif grep -q 'tlc_shim.build.Refused' "$log"; then printf 'refused\t%s' "${line#"$checkout"/}"
  else
    case $last in
      ModuleNotFoundError* | ImportError*) printf 'missing\t%s' "$last" ;;
      AssertionError*) printf 'wrong\t%s' "$last $(grep -m 1 -E '^(E +)?Mismatched elements' "$log")" ;;
      *) printf 'error\t%s' "${last:-$(grep -v '^ *$' "$log" | tail -n 1)}" ;;
    esac
  fi
}

one() {
  local file=$1 stem start=$SECONDS status kernels checks why
  stem=$WORK/logs/${file//\//__}
  mkdir -p "$WORK/cwd/$file" && cd "$WORK/cwd/$file" || exit 1
  rm -f "$stem.json" "$stem.checks"
  TLC_SHIM_RECORD=$stem.json TLC_SHIM_CHECKS=$stem.checks timeout -k 10 "$TIMEOUT" \
    "$PYTHON" "$checkout/$file" > "$stem.log" 2>&1 < /dev/null
  status=$?
  kernels=$(grep -c '^      {' "$stem.json" 2> /dev/null)
  checks=$(cat "$stem.checks" 2> /dev/null | awk '{held += $1; all += $1 + $2} END {print held + 0 "/" all + 0}')
  why=$(outcome $status "$stem.log" "$stem.json" | tr '\n' ' ' | cut -c 1-300)
  printf '%s\t%s\t%d\t%s\t%s\t%s\n' "${why%%$'\t'*}" "$file" $((SECONDS - start)) "${kernels:-0}" "$checks" \
    "${why#*$'\t'}"
}
export -f one outcome

# "# DATE, GPU, torch, TARGET, tlc": what docs/compatibility.md says of a run.
heading() {
  "$PYTHON" -c 'import time, torch
from tlc_shim import settings
gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
print("# " + time.strftime("%Y-%m-%d"), gpu, "torch " + torch.__version__, settings.arch(), sep=", ", end=", ")'
  echo "tlc ${COMMIT:-$(git -C "$tree" describe --always --dirty 2> /dev/null || "$TLC" --version)}"
}

if [ -n "${LIST:-}" ]; then cat "$LIST"; else
  cat "$tree/tests/compat/examples.txt"
  (cd "$checkout" && sed 's|/[^/]*$||' "$tree/tests/compat/examples.txt" | sort -u |
    xargs -I{} find {} -maxdepth 1 -name 'test_*.py' | sort)
fi | tr '\n' '\0' | timeout "${LIMIT:-0}" xargs -0 -n 1 -P "${JOBS:-4}" bash -c 'one "$0"' > "$out"
sort -t "$(printf '\t')" -k 2 -o "$out" "$out"
cut -f 1 "$out" | sort | uniq -c | sort -rn
[ "$TLC_SHIM" = build ] || { heading && cat "$out"; } > "$out.$$" && mv "$out.$$" "$out"
