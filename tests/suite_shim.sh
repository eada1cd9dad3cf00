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
      'run test_nested' 'refused wrong' 'bindings' 'checks' \
      'runs' 'merge' ;;
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
      runs) # a document of two runs, and whether docs/compatibility.md says what tests/compat/gpu holds
        at=$WORK/shim/runs
        printf '# 2026-01-02, G, sm_90a, tlc x\npassed\texamples/a.py\t3\t1\t2/2\t\n' > "$at.1"
        printf 'wrong\texamples/b.py\t3\t4\t0/1\texamples/b.py:7:1: error: no | yes\n' >> "$at.1"
        printf '# 2026-01-03, G, sm_80, tlc x\n# a note\npassed\texamples/b.py\t3\t5\t6/6\t\n' > "$at.2"
        printf "# C\n\n## Run on a GPU\n\nold\n\n## TileLang's tests: x\n\nrest\n" > "$at.md"
        python3 tools/compat_runs.py "$at.md" "$at.1" "$at.2" &&
          sed 's#(../../docs/#(#' tests/shim/runs.md | diff - "$at.md" || exit 1 # as in docs/
        cp docs/compatibility.md "$at.md"
        python3 tools/compat_runs.py "$at.md" && diff docs/compatibility.md "$at.md" ;;
      merge)
        python3 tools/shim/merge.py "$WORK/shim/merged.json" tests/compat/params.json tests/compat/by_hand.json &&
          diff tests/compat/params.json "$WORK/shim/merged.json" ;;
    esac ;;
esac
