#!/bin/sh
# make style: the budgets and the folder dependencies that keep the house in order.
#   lines a file <= 600, lines a function <= 60, columns <= 100 (scripts 120), an SPDX line and a purpose in every
#   file, includes only along the arrows of docs/internals.md, faults of tests/mutants.txt that still apply.
# Exceptions with their reasons: tools/style-exceptions (path: rule).
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
fail=0
say() { echo "style: $*"; fail=1; }
excused() { grep -q "^$1: $2" tools/style-exceptions 2>/dev/null; }

columns() {
  awk -v f="$1" -v most="$2" 'length($0) > most && !/^ *(\/\/|#).*https?:/ {
    printf "style: %s:%d: %d columns (at most %d)\n", f, NR, length($0), most; bad = 1 }
    END { exit bad }' "$1" || excused "$1" columns || fail=1
}

files=$(git ls-files '*.c' '*.h' '*.l' '*.y' '*.cuh' '*.def' '*.sh' '*.mk' Makefile)
for f in $files; do
  [ -f "$f" ] || continue
  n=$(wc -l < "$f")
  [ "$n" -le 600 ] || excused "$f" lines || say "$f: $n lines (at most 600)"
  head -n 12 "$f" | grep -q '^\W*SPDX-License-Identifier: [A-Z0-9]' || say "$f: no SPDX line"
  case $f in
    *.def) ;; # tables: one entry a line
    *.sh|*.mk|Makefile) columns "$f" 120 ;;
    *) columns "$f" 100 ;;
  esac
  case $f in
    *.c|*.h|*.cuh) awk -v f="$f" '
      /^[A-Za-z_].*\{$/ && !/^(struct|enum|union|typedef|extern|namespace)/ { start = NR; name = $0 }
      /^\}/ && start { if (NR - start + 1 > 60) {
          printf "style: %s:%d: function of %d lines (at most 60)\n", f, start, NR - start + 1; bad = 1 }
        start = 0 }
      END { exit bad }' "$f" || excused "$f" functions || fail=1 ;;
  esac
done

# Who may include whom (DESIGN: base <- lexer <- parser <- eval -> ir; ir <- passes <- codegen; ...).
allowed() {
  case $1 in
    base) echo base ;;
    lexer) echo base lexer parser ;; # the token values are the grammar's
    parser) echo base lexer parser ;;
    ir) echo base ir ;;
    eval) echo base parser ir eval ;;
    passes) echo base ir passes ;;
    codegen) echo base ir passes codegen ;;
    emu) echo base ir emu ;;
    runtime) echo base runtime ;;
    tuner) echo base parser eval ir runtime driver tuner ;; # passes, codegen and emu through driver/
    *) echo base lexer parser eval ir passes codegen emu runtime tuner driver ;;
  esac
}
for room in base lexer parser eval ir passes codegen emu runtime tuner; do
  ok=$(allowed $room)
  for f in $(git ls-files "$room/*.c" "$room/*.h" "$room/*.l" "$room/*.y"); do
    [ -f "$f" ] || continue
    for inc in $(sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "$f" | sort -u); do
      case " $ok " in *" $inc "*) ;; *) say "$f: includes $inc/ ($room may include: $ok)" ;; esac
    done
  done
done
if git grep -nE '(target|t)->sm *[<>=]' -- '*.c' | grep -v '^codegen/'; then
  say "architecture numbers are compared outside the target structs"
fi
if git grep -nE '\b(TODO|FIXME|XXX)\b' -- '*.c' '*.h' '*.l' '*.y' '*.cuh'; then say "unfinished marks"; fi
tests/mutate.sh check || fail=1
[ $fail = 0 ] && echo "style: clean"
exit $fail
