#!/bin/bash
# Suite zoo: the 126 kernels of tests/zoo.txt compile for a target, each to a text of its own, in little time: one
# process after the other, user and system time together, of which this machine's load takes no part.
#   ZOO_SECONDS=2 bash tests/suite_zoo.sh run sm_80      (make zoo: both targets against 2 s)
# SPDX-License-Identifier: MIT
most=${ZOO_SECONDS:-6}
case $1 in
  list) printf 'sm_80\nsm_90a\n' ;;
  run)
    dir=$WORK/zoo.$2 n=0
    rm -rf "$dir" && mkdir -p "$dir" || exit 1
    mapfile -t kernels < <(grep -vE '^ *(#|$)' tests/zoo.txt | while IFS= read -r line; do
      eval "printf '%s\n' $(sed 's/ /\\ /g' <<< "$line")"
    done)
    [ ${#kernels[@]} = 126 ] || { echo "${#kernels[@]} kernels"; exit 1; }
    before=$(awk '{ print $16 + $17 }' /proc/$$/stat) # of the processes that have ended
    for kernel in "${kernels[@]}"; do
      n=$((n + 1))
      # shellcheck disable=SC2086
      "$TLC" --arch "$2" $kernel -o "$dir/$n.cu" 2> "$dir/log" || { echo "$kernel"; cat "$dir/log"; exit 1; }
    done
    after=$(awk '{ print $16 + $17 }' /proc/$$/stat)
    spent=$(((after - before) * 1000 / $(getconf CLK_TCK)))
    texts=$(for f in "$dir"/*.cu; do sed 1d "$f" | sha256sum; done | sort -u | wc -l)
    [ "$texts" = 126 ] || { echo "only $texts of 126 texts differ"; exit 1; }
    echo "126 kernels for $2 in $spent ms"
    rm -rf "$dir"
    [ "$spent" -le $((most * 1000)) ] || { echo "at most $most s"; exit 1; } ;;
esac
