#!/bin/sh
# make bench: the programs of bench/table.txt on this GPU, one row each, beside cuBLAS where the program
# is a matrix product. The ratio is the figure (DESIGN.md section 8); rates depend on the card's state.
# Usage: bench/bench.sh [PATTERN [OPTION...]]   rows that match an extended regular expression; more
# options for tlc, say --arch sm_80. Needs a GPU and nvcc; without one exits with tlc's status 3.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
tlc=${TLC:-${BUILD:-build}/tlc}
pattern=${1:-.}
[ $# -gt 0 ] && shift
json=$(mktemp) && said=$(mktemp) || exit 1
trap 'rm -f "$json" "$said"' EXIT INT TERM

# A row from one line of tlc --bench --json, whose keys are in a fixed order.
row() {
  awk -v what="$1" '
    function after(key,  s) { # the number after the first "key":
      if (!(i = index($0, "\"" key "\": "))) return ""
      s = substr($0, i + length(key) + 4)
      sub(/^\[/, "", s)
      return s + 0
    }
    function upper(key,  s) { # the second number of an interval
      s = substr($0, index($0, "\"" key "\": ["))
      sub(/^[^,]*, /, "", s)
      return s + 0
    }
    {
      tflops = after("tflops"); gbytes = after("gbytes"); ratio = after("ratio")
      printf "%-52s %11.2f %9s %9s", what, after("us"),
        tflops == "" ? "-" : sprintf("%.1f", tflops), gbytes == "" ? "-" : sprintf("%.0f", gbytes)
      if (ratio != "")
        printf "   %.3f (%.3f to %.3f)", ratio, after("ratio_interval"), upper("ratio_interval")
      print ""
    }' "$json"
}

failed=0
printf '%-52s %11s %9s %9s   %s\n' program us TFLOP/s GB/s 'of cuBLAS (95 % interval)'
while read -r file bindings options; do
  case $file in '#'* | '') continue ;; esac
  what="$(basename "$file" .tl) $bindings $options"
  printf '%s\n' "$what" | grep -Eq -- "$pattern" || continue
  # shellcheck disable=SC2086 # options are words
  "$tlc" --bench --json --arch native -p "$bindings" $options "$@" "$file" >"$json" 2>"$said" </dev/null
  status=$?
  if [ $status = 3 ]; then
    echo "SKIPPED bench: $(tail -n 1 "$said")"
    exit 3
  fi
  if [ $status != 0 ]; then
    printf '%-52s failed: %s\n' "$what" "$(head -n 1 "$said")"
    failed=1
  else
    row "$what"
  fi
done <bench/table.txt
exit $failed
