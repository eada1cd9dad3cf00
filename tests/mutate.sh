#!/bin/bash
# make mutate: plants one fault at a time in a copy of the tree and asks that the tests catch it.
# tests/mutants.txt: blocks of
#   == NAME: SUITE[,SUITE...] [CASE FILTER]
#   FILE
#   -old text (one line, must occur exactly once in FILE)
#   +new text
# A mutant survives when the named suites pass. `tests/mutate.sh NAME...` runs only those.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
tree=$build/mutant
rm -rf "$tree" && mkdir -p "$tree"
git ls-files -z | xargs -0 cp --parents -t "$tree"
cp -r "$build" "$tree/build.tmp" 2> /dev/null; rm -rf "$tree/build.tmp/mutant"
mv "$tree/build.tmp" "$tree/build"
find "$tree/build" -exec touch {} + # the objects are as new as the sources just copied
caught=0 survived=0 broken=0

plant() { # FILE OLD NEW
  python3 - "$@" <<'PY'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f"{path}: '{old}' occurs {text.count(old)} times")
open(path, "w").write(text.replace(old, new))
PY
}

try() { # NAME SUITES FILTER FILE OLD NEW
  local name=$1 suites=$2 filter=$3 file=$4
  cp "$tree/$file" "$tree/$file.orig"
  if ! plant "$tree/$file" "$5" "$6"; then
    broken=$((broken + 1)); echo "BROKEN $name"
  elif ! make -C "$tree" -j"$(nproc)" -s all > "$tree/log" 2>&1; then
    broken=$((broken + 1)); echo "BROKEN $name: does not compile"; tail -n 5 "$tree/log"
  else
    case ,$suites, in *,unit,*) make -C "$tree" -j"$(nproc)" -k -s unit-build > /dev/null 2>&1 ;; esac
    # shellcheck disable=SC2086
    if (cd "$tree" && BUILD=build TLC=build/tlc FILTER=$filter timeout 600 tests/run.sh ${suites//,/ }) \
      > "$tree/log" 2>&1; then
      survived=$((survived + 1)); echo "SURVIVED $name"
    else
      caught=$((caught + 1)); echo "caught $name: $(grep -m1 FAIL "$tree/log")"
    fi
  fi
  mv "$tree/$file.orig" "$tree/$file"; touch "$tree/$file"
}

while IFS= read -r head; do
  [[ $head == "== "* ]] || continue
  IFS= read -r file; IFS= read -r old; IFS= read -r new
  name=${head#== }; name=${name%%:*}
  rest=${head#*: }; suites=${rest%% *}; filter=
  [ "$rest" = "$suites" ] || filter=${rest#* }
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  try "$name" "$suites" "$filter" "$file" "${old#-}" "${new#+}"
done < tests/mutants.txt
echo "$caught caught, $survived survived, $broken broken"
[ "$survived" = 0 ] && [ "$broken" = 0 ]
