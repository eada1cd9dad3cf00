#!/bin/bash
# make mutate: plants one fault at a time in a copy of the tree and asks that the tests catch it.
# tests/mutants.txt: blocks of
#   == NAME: SUITE[,SUITE...] [FILTER] [VARIABLE=VALUE]
#   FILE
#   -old text (one line, must occur exactly once in FILE)
#   +new text
# FILTER picks cases by regular expression, as in tests/run.sh. A mutant survives when the named
# suites pass; it is broken when its text is not found, or does not compile. First the same cases
# must pass without a fault. `tests/mutate.sh NAME...` runs only those. JOBS trees are used at once.
# `tests/mutate.sh check` (make style): each block applies, each pass has 4 whose names begin with its.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
export build=${BUILD:-build} JOBS=${JOBS:-$(nproc)} OMP_NUM_THREADS=1 # nproc in here: 1
export TREES=$build/mutant SLOT=0
unset MAKEFLAGS MAKEOVERRIDES MFLAGS

tree() { # a copy of the sources and objects; the objects are as new as the sources
  local t=$TREES/$1
  mkdir -p "$t/build"
  git ls-files -z -c -o --exclude-standard | while IFS= read -r -d '' f; do
    [ ! -e "$f" ] || printf '%s\0' "$f"
  done | xargs -0 cp --parents -t "$t"
  for d in "$build"/*; do
    case ${d##*/} in tests | san | mutant | bench | gpu-check | fuzz) continue ;; esac
    cp -r "$d" "$t/build/"
  done
  find "$t/build" -exec touch {} +
}

plant() { # FILE OLD NEW
  python3 - "$@" <<'PY'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f"'{old}' occurs {text.count(old)} times in {path}")
open(path, "w").write(text.replace(old, new))
PY
}

# Builds what the suites need; only those unit tests that the filter picks.
build_for() { # TREE SUITES FILTER
  local goals=all t
  case ,$2, in *,text,*) goals+=" build/tests/text_run" ;; esac
  case ,$2, in *,tune,*) goals+=" build/tests/libcuda.so.1 build/tests/host_prelude" ;; esac
  case ,$2, in *,unit,*)
    for t in $(cd "$1" && bash tests/suite_unit.sh list | grep -E -- "${3:-.}"); do
      goals+=" build/unit/$t"
    done ;;
  esac
  # shellcheck disable=SC2086
  make -C "$1" -s BUILD=build $goals > "$1/log" 2>&1
}

cases() { # TREE SUITES FILTER SETTING
  # shellcheck disable=SC2086
  (cd "$1" && export $4 BUILD=build TLC=build/tlc FILTER=$3 && timeout 240 tests/run.sh ${2//,/ }) \
    > "$1/log" 2>&1
}

# The cases of one "SUITES FILTER SETTING" line without a fault: some, and all pass.
sound() {
  local t=$TREES/$SLOT suites=$1 filter=$2 setting=$3
  build_for "$t" "$suites" "$filter" && cases "$t" "$suites" "$filter" "$setting" &&
    ! tail -n 1 "$t/log" | grep -q '^0 passed' && return
  echo "BROKEN without a fault: $suites $filter $setting"; grep -A 5 -m 1 FAIL "$t/log"
}

try() { # NAME SUITES FILTER SETTING FILE OLD NEW
  local name=$1 t=$TREES/$SLOT suites=$2 filter=$3 file=$5 object said status start=$SECONDS
  [ -f "$t/$file" ] || { echo "BROKEN $name: no $file"; return; }
  object=$t/build/${file%.c}.o
  cp -p "$t/$file" "$t/original"
  [[ $file != *.c ]] || cp -p "$object" "$t/original.o"
  if ! said=$(plant "$t/$file" "$6" "$7" 2>&1); then
    echo "BROKEN $name: $said"
  elif ! build_for "$t" "$suites" "$filter"; then
    echo "BROKEN $name: does not compile"; tail -n 5 "$t/log"
  else
    cases "$t" "$suites" "$filter" "$4"; status=$?
    case $status in
      0) echo "SURVIVED $name" ;;
      124) echo "caught $name: no end within 240 s" ;;
      *) echo "caught $name ($((SECONDS - start)) s): $(grep -m 1 FAIL "$t/log")" ;;
    esac
  fi
  mv "$t/original" "$t/$file"; touch "$t/$file"
  [[ $file != *.c ]] || { mv "$t/original.o" "$object"; touch "$object"; }
}

# mutants.txt as NUL-separated fields: NAME SUITES FILTER SETTING FILE OLD NEW
fields() {
  local head file old new name suites filter setting
  while IFS= read -r head; do
    [[ $head == "== "* ]] || continue
    IFS= read -r file; IFS= read -r old; IFS= read -r new
    name=${head#== }; name=${name%%:*}
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
    read -r suites filter setting <<< "${head#*: }"
    printf '%s\0' "$name" "$suites" "$filter" "$setting" "$file" "${old#-}" "${new#+}"
  done < tests/mutants.txt
}

check() {
  fields | python3 -c '
import collections, re, sys
flat = sys.stdin.read().split("\0")[:-1]
blocks = [flat[i:i + 7] for i in range(0, len(flat), 7)]
faults, bad = collections.Counter(), []
for name, _, _, _, path, old, new in blocks:
    faults[name.split("-")[0]] += 1
    try:
        n = open(path).read().count(old) if old else 0
    except OSError:
        n = 0
    if n != 1 or old == new:
        bad.append(f"{name}: its text occurs {n} times in {path}: {old}")
names = collections.Counter(b[0] for b in blocks)
bad += [f"{name}: {n} blocks have this name" for name, n in names.items() if n > 1]
for p in re.findall(r"^PASS\(\w+, \"(\w+)\"", open("passes/passes.def").read(), re.M):
    if faults[p] < 4:
        bad.append(f"pass {p} has {faults[p]} faults (at least 4)")
for b in bad:
    print("tests/mutants.txt:", b)
sys.exit(bool(bad))'
}
[ "$*" != check ] || { check; exit; }

export -f plant build_for cases sound try
queue() { xargs -0 -r -n "$2" -P "$JOBS" --process-slot-var=SLOT bash -c "$1 \"\$@\"" "$1"; }

rm -rf "$TREES"; mkdir -p "$TREES"
for ((i = 0; i < JOBS; i++)); do tree "$i"; done
fields "$@" > "$TREES/mutants"
[ -s "$TREES/mutants" ] || { echo "no such mutant: $*"; exit 1; }
xargs -0 -n 7 bash -c 'printf "%s\t%s\t%s\n" "$2" "$3" "$4"' _ < "$TREES/mutants" | sort -u |
  tr '\t\n' '\0\0' | queue sound 3 | tee "$TREES/results"
if [ ! -s "$TREES/results" ]; then
  queue try 7 < "$TREES/mutants" | tee "$TREES/results"
fi
caught=$(grep -c '^caught' "$TREES/results") survived=$(grep -c '^SURVIVED' "$TREES/results")
broken=$(grep -c '^BROKEN' "$TREES/results")
echo "$caught caught, $survived survived, $broken broken, $SECONDS s"
[ "$survived" = 0 ] && [ "$broken" = 0 ]
