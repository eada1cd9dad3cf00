#!/bin/bash
# Suite golden: tests/golden/NAME.KIND.txt is what a sample or tests/golden/NAME.tl prints for
# --emit KIND. `make golden` rewrites them; review the diff.
# SPDX-License-Identifier: MIT
emit() {
  local base name kind
  base=$(basename "$1" .txt)
  name=${base%.*} kind=${base##*.}
  local src=tests/golden/$name.tl
  [ -f "$src" ] || src=samples/$name.tl
  "$TLC" "$src" --emit="$kind" -o -
}
case $1 in
  list) ls tests/golden/*.txt 2>/dev/null ;;
  run) diff "$2" <(emit "$2") ;;
  update) for f in tests/golden/*.txt; do emit "$f" > "$f.new" && mv "$f.new" "$f"; done ;;
esac
