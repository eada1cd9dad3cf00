#!/bin/bash
# Suite wrong: each tests/wrong/NAME.tl is a program with one realistic mistake, and what tlc says of
# it: all of the text, in lines that start with '#>' and are no part of the program. Heads:
#   #! args: -p M=1     tlc's arguments       #! errors: 3     more than one mistake: as many errors
# `make golden` rewrites the '#>' lines; review the diff. The last cases judge the corpus as a whole.
# SPDX-License-Identifier: MIT
program() { # FILE: the text that tlc gets, under the file's own name
  grep -v '^#>' "$1" > "$D/$(basename "$1")"
}
said() { # FILE
  local args
  args=$(sed -n 's/^#! args: //p' "$1")
  # shellcheck disable=SC2086
  (cd "$D" && timeout 20 "$TOP/$TLC" "$(basename "$1")" $args -o out.cu --color=never 2>&1
   status=$?; [ $status = 1 ] || echo "[exit status $status]")
}
TOP=$PWD D=$WORK/wrong
mkdir -p "$D"
case $TLC in /*) TOP= ;; esac

case $1 in
  list) ls tests/wrong/*.tl; echo corpus; echo json ;;
  run)
    case $2 in
      corpus) python3 tests/wrong.py corpus tests/wrong/*.tl ;;
      json)
        for f in tests/wrong/*.tl; do program "$f"; done
        python3 tests/wrong.py json "$TOP/$TLC" "$D" tests/wrong/*.tl ;;
      *)
        program "$2"
        diff <(sed -n 's/^#> \{0,1\}//p' "$2") <(said "$2") || { echo "(< expected, > said)"; exit 1; } ;;
    esac ;;
  update)
    for f in tests/wrong/*.tl; do
      program "$f"
      { cat "$D/$(basename "$f")"; said "$f" | sed 's/^/#> /; s/ *$//'; } > "$f.new"
      cmp -s "$f.new" "$f" && rm "$f.new" || mv "$f.new" "$f"
    done ;;
esac
