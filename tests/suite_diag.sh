#!/bin/bash
# Suite diag: each tests/diag/*.tl holds a wrong program, tlc's arguments and the messages expected:
#   #! args: -p M=1            (optional)
#   #! status: 2              (optional; default: 1)
#   #! expect: 3:7: error: text [E301]
# Every expected line must appear, no other error may, the exit status is as said, and an older output
# file stays as it was.
# SPDX-License-Identifier: MIT
case $1 in
  list) ls tests/diag/*.tl ;;
  run)
    f=$2 out=$WORK/diag.$(basename "$2").cu
    echo "older output" > "$out"
    args=$(sed -n 's/^#! args: //p' "$f")
    # shellcheck disable=SC2086
    got=$($TLC $args "$f" -o "$out" --color=never 2>&1)
    status=$?
    want=$(sed -n 's/^#! status: //p' "$f")
    [ $status = "${want:-1}" ] || { echo "exit status $status, expected ${want:-1}"; echo "$got"; exit 1; }
    [ "$(cat "$out")" = "older output" ] || { echo "the older output was touched"; exit 1; }
    rm -f "$out"
    sed -n 's/^#! expect: //p' "$f" | sort > "$out.want"
    echo "$got" | sed -n "s#^[^:]*\.\(tl\|py\|tir\|json\):\([0-9]*:[0-9]*: \(error\|warning\): .*\)#\2#p;
                         s#^tlc: \(error: .*\)#\1#p" | sort > "$out.got"
    diff "$out.want" "$out.got" || { echo "(< expected, > said)"; exit 1; }
    code=$(basename "$f" | sed 's/^\([EW][0-9]*\).*/\1/')
    grep -q "\[$code\]" "$out.got" || { echo "the file's own code $code was not said"; exit 1; }
    rm -f "$out.want" "$out.got" ;;
esac
