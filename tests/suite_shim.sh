#!/bin/bash
# Suite shim: programs written for TileLang, unmodified, against the stand-in of tools/shim: what it records, and what
# their own checks say when the emitted text runs on the CPU. Needs Python and NumPy only (a fake torch stands in).
# SPDX-License-Identifier: MIT
export PYTHONPATH=$PWD/tools/shim TLC_SHIM_FAKE_TORCH=1 TLC_SHIM_DEVICE=cpu TLC_SHIM_CACHE=$WORK/shim
export TLC=$PWD/$BUILD/tlc PYTHONDONTWRITEBYTECODE=1
[ "${BUILD#/}" = "$BUILD" ] || TLC=$BUILD/tlc
case $1 in
  list)
    printf '%s\n' 'record lazy_gemm' 'record eager' 'record test_nested' 'record wrong' 'run lazy_gemm' 'run eager' \
      'run test_nested' 'refused wrong' 'bindings' 'checks' 'merge' ;;
  run)
    set -- $2
    mkdir -p "$WORK/shim"
    case $1 in
      record)
        out=$WORK/shim/$2.json
        rm -f "$out"
        TLC_SHIM=record TLC_SHIM_RECORD=$out TLC_SHIM_ROOT=$PWD python3 "tests/shim/$2.py" > /dev/null 2>&1
        diff "tests/shim/$2.json" "$out" ;;
      run) TLC_SHIM=compile python3 "tests/shim/$2.py" ;;
      refused)
        got=$(TLC_SHIM=compile python3 "tests/shim/$2.py")
        want="*wrong.py:12:22: error: there is no T.Paralel; *[E430]*parameter fn is a function, which -p cannot say*"
        # shellcheck disable=SC2053
        [[ $got == $want ]] || { echo "$got"; exit 1; } ;;
      bindings) python3 tests/shim/check_bindings.py ;;
      checks)
        rm -f "$WORK/shim/checks"
        TLC_SHIM_CHECKS=$WORK/shim/checks python3 tests/shim/checks.py && diff - "$WORK/shim/checks" <<< '3 3' ;;
      merge)
        python3 tools/shim/merge.py "$WORK/shim/merged.json" tests/compat/params.json tests/compat/by_hand.json &&
          diff tests/compat/params.json "$WORK/shim/merged.json" ;;
    esac ;;
esac
