#!/bin/sh
# make fuzz: mutated programs through the front end under the sanitizers, then random tile programs
# through all of tlc, the emulator against the oracle and against NumPy, then for sm_90a;
# FUZZ_SECONDS (60) each.
# The front end (lexer, parser, eval) with clang's libFuzzer where there is one, else with the
# harness's own mutations. FUZZ_FIRST: the seed of the first tile program (default: the day's).
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} seconds=${FUZZ_SECONDS:-60} out=$BUILD/fuzz
make -s "BUILD=$BUILD" "$BUILD/lexer/scan.c" "$BUILD/parser/grammar.c"
sources="tests/fuzz/fuzz_front.c $(echo base/*.c lexer/*.c parser/*.c eval/*.c ir/*.c)"
sources="$sources $BUILD/lexer/scan.c $BUILD/parser/grammar.c"
flags="-std=c11 -D_GNU_SOURCE -O1 -g -I. -I$BUILD"
mkdir -p "$out/corpus"

front() {
  # shellcheck disable=SC2086
  if clang $flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
       -o "$out/front" $sources -lm 2> "$out/clang.log"; then
    "$out/front" -max_total_time="$seconds" -max_len=4096 -timeout=15 -rss_limit_mb=1024 \
      -dict=tests/fuzz/tl.dict -artifact_prefix="$out/" \
      "$out/corpus" samples tests/parser tests/cases tests/diag tests/eval tests/wrong
    return
  fi
  echo "fuzz: no libFuzzer ($out/clang.log), so the harness's own mutations"
  # shellcheck disable=SC2086
  ${CC:-cc} $flags -DFUZZ_MAIN -fsanitize=address,undefined -fno-sanitize-recover=all \
    -o "$out/front" $sources -lm || return 1
  FUZZ_KEEP=$out/input "$out/front" "$seconds" samples/*.tl tests/parser/*.tl tests/cases/*.tl \
    tests/diag/*.tl tests/eval/*.tl tests/wrong/*.tl || { echo "fuzz: the input is $out/input"; return 1; }
}

status=0
front || status=1
make -s "BUILD=$BUILD" all
for mode in "" --reference "--arch sm_90a"; do
  # shellcheck disable=SC2086
  TLC=$BUILD/tlc python3 tests/fuzz/programs.py $mode --seconds "$seconds" --out "$out/programs" \
    --first "${FUZZ_FIRST:-$(date +%Y%m%d)0000}" || status=1
done
exit $status
