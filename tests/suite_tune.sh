#!/bin/bash
# Suite tune: --tune with fake compilers and fake runners (tests/tune/): what is found, kept, written
# and read back, and that no fault of a candidate, a tool or the machine costs more than itself.
# SPDX-License-Identifier: MIT
fail() { echo "$*"; exit 1; }
same() { [ "$1" = "$2" ] || fail "expected '$2', got '$1'"; }
has() { grep -qE -- "$2" "$1" || fail "no '$2' in: $(tail -n 30 "$1")"; }
lacks() { ! grep -qE -- "$2" "$1" || fail "'$2' in: $(grep -E -m3 -- "$2" "$1")"; }
times() { same "$(grep -cE -- "$2" "$1")" "$3"; } # how often a line is in a file

SIZES="M=512,N=512,K=2048"
space=(--space block_M=64,128 --space block_N=64,128 --space "num_stages=2,3") # 8, all different
tune() { "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p "$SIZES" "${space[@]}" -j 2 "$@" > "$D/out" 2> "$D/err"; }
alive() { kill -0 "$1" 2> /dev/null && ! grep -q ') Z' "/proc/$1/stat" 2> /dev/null; }
no_orphans() { # of the fakes, which name their pids, and of anything that runs from this folder
  for _ in $(seq 50); do
    left=
    while read -r pid; do alive "$pid" && left="$left $pid"; done < <(cat "$D/pids" 2> /dev/null; pgrep -f "$D/")
    [ -z "$left" ] && return
    sleep 0.1
  done
  fail "left behind: $(ps -o pid,args -p "${left# }" 2> /dev/null)"
}

case_finds_best() {
  tune --save "$D/g.tune.json" -o "$D/g.cu" || fail "$(cat "$D/err")"
  has "$D/out" '8 candidates, 0 pruned, 0 the same code'
  has "$D/out" '^Best latency \(ms\): 0\.3048$' # 100 + K / 10: fake_runner.py
  has "$D/out" "^Best config: \{'block_M': 128, 'block_N': 128, 'num_stages': 3\}"
  has "$D/out" '^Best TFlops: [0-9.]+$'
  has "$D/out" '^Reference latency \(ms\): 0\.0950 \(cuBLAS\)'
  has "$D/g.cu" 'block_M=128, block_N=128, block_K=64, num_stages=3'
  times "$D/log" '^build' 8
  times "$D/log" '^try' 8
  times "$D/log" '^final' 1
}
case_loads_ahead() { # the next one while one runs, but not beside the first of a runner
  FAKE_RUNNER=sick:block_M=64,block_N=64,num_stages=2 FAKE_SLEEP=0.3 tune -j 1 || fail "$(cat "$D/err")"
  python3 - "$D/log" << 'END' || fail "$(grep -E '^(try|ahead|start)' "$D/log")"
import sys
told, tries, before = None, [], []
for line in open(sys.argv[1]):
    verb, _, what = line.strip().partition(" ")
    if verb == "try" and told: assert what == told, (what, told)
    if verb == "try": tries.append(what); told = None
    if verb == "ahead": told = what; before.append(len(tries))
again = [i for i in range(len(tries)) if tries[i] in tries[:i]]
assert len(tries) == 9 and len(again) == 1, tries # in the second runner: it is the first there
assert before and before[0] >= 2 and again[0] + 1 not in before, (before, again)
END
}
case_topk_json() { # the model's best only; one object a size
  tune --topk 3 --sweep K=1024,2048 --json || fail "$(cat "$D/err")"
  times "$D/log" '^try' 6
  python3 - "$D/out" << 'END' || fail "$(cat "$D/out")"
import json, sys
text, states = open(sys.argv[1]).read(), []
while text.strip():
    one, end = json.JSONDecoder().raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    states.append([c["state"] for c in one["candidates"]])
    assert one["gpu"] == "Fake GPU" and one["reference_us"] == 95 and one["seconds"] > 0, one
    best = one["candidates"][0]
    assert one["best"] == best["id"] and best["final_lo"] < best["final_us"] < best["final_hi"], best
assert states == [["measured"] * 3 + ["queued"] * 5] * 2, states
END
}
case_cached() {
  tune && tune || fail "$(cat "$D/err")"
  has "$D/out" '8 candidates on Fake GPU: 0 tried now, 8 from the cache; 0 failed'
  has "$D/out" '^Best latency \(ms\): 0\.3048'
  times "$D/log" '^build' 8
  times "$D/log" '^final' 1
  tune --seed 2; times "$D/log" '^try' 16 # each of these decides
  tune --rep 7; times "$D/log" '^try' 24
  tune -p M=640; times "$D/log" '^try' 32
  FAKE_NVCC_VERSION=2 tune; times "$D/log" '^try' 40
  tune --no-cache; times "$D/log" '^try' 48
  mkdir "$D/other"
  for f in "$D/A.npy" "$D/other/A.npy"; do echo one > "$f"; done
  tune --in A="$D/A.npy"; times "$D/log" '^try' 56 # the fake runner does not read it
  tune --in A="$D/other/A.npy"; times "$D/log" '^try' 56 # what is in it counts
  echo two > "$D/A.npy"
  tune --in A="$D/A.npy"; times "$D/log" '^try' 64
  tune; times "$D/log" '^try' 64
  tune --clear-cache; times "$D/log" '^try' 72
  "$TLC" --clear-cache || fail "--clear-cache alone"
  [ ! -e "$XDG_CACHE_HOME/tlc/tune.db" ] || fail "it is still there"
}
case_candidates_fail() { # each costs itself only
  export FAKE_RUNNER="hang:block_M=64,block_N=64,num_stages=2;fault:block_M=64,block_N=64,num_stages=3"
  FAKE_RUNNER+=";nan:block_M=64,block_N=128,num_stages=2;wrong:block_M=64,block_N=128,num_stages=3"
  FAKE_RUNNER+=";die:block_M=128,block_N=64,num_stages=2;hung:block_M=128,block_N=64,num_stages=3"
  FAKE_RUNNER+=";garbage:block_M=128,block_N=128,num_stages=2"
  tune --tune-timeout 2 || fail "$(cat "$D/err")"
  has "$D/out" "^Best config: \{'block_M': 128, 'block_N': 128, 'num_stages': 3\}"
  has "$D/out" '1 hung: no end within 2 s'
  has "$D/out" '1 faulted: CUDA_ERROR_ILLEGAL_ADDRESS'
  has "$D/out" '1 faulted: the runner ended: signal 11'
  has "$D/out" '1 wrong: C: 4096 of 4096 elements differ; got nan'
  has "$D/out" '1 wrong: C: 1 of 4096'
  has "$D/out" '1 hung: it hangs'
  has "$D/out" "1 faulted: the runner's answer is none"
  has "$D/out" '8 candidates on Fake GPU: 8 tried now, 0 from the cache; 7 failed'
  no_orphans
  tune --tune-timeout 2; has "$D/out" '1 tried now, 7 from the cache; 7 failed' # failures are results, but for nonsense
}
case_all_fail() {
  FAKE_RUNNER=wrong: tune; same $? 1
  has "$D/err" 'no candidate could be measured'
}
case_dirty_runner() { # a wrong result after other candidates is not believed, in a fresh process it is
  FAKE_RUNNER="dirty:block_M=128,block_N=128,num_stages=3" tune || fail "$(cat "$D/err")"
  has "$D/out" "^Best config: \{'block_M': 128, 'block_N': 128, 'num_stages': 3\}"
  lacks "$D/out" 'wrong'
}
case_sick_runner() { # a fault, too: an earlier candidate may have broken the context
  FAKE_RUNNER="sick:block_M=128,block_N=128,num_stages=3;sick:block_M=64" tune || fail "$(cat "$D/err")"
  has "$D/out" "^Best config: \{'block_M': 128, 'block_N': 128, 'num_stages': 3\}"
  has "$D/out" '8 tried now, 0 from the cache; 0 failed'
}
case_finalists() { # as many as asked for, however slow; else those near the best
  tune --finalists 3 && times "$D/log" '^keep' 3 || fail "$(cat "$D/err")"
  SIZES="M=512,N=512,K=512" tune && times "$D/log" '^keep' $((3 + 7)) || fail "$(cat "$D/out")"
  tune --finalists 33; same $? 2
}
case_final_round_fails() { # what is wrong there does not win; the others have their own times
  FAKE_RUNNER="late:block_M=128,block_N=128,num_stages=3" tune || fail "$(cat "$D/err")"
  has "$D/out" '1 wrong: in the final round: C: 1 of 4096'
  has "$D/out" '8 tried now, 0 from the cache; 1 failed'
  has "$D/out" "^Best config: \{'block_M': 128, 'block_N': 128, 'num_stages': 2\}"
  has "$D/out" '^Best latency \(ms\): 0\.3089$'
  lacks "$D/err" 'the final round failed'
  tune; has "$D/out" '0 tried now, 8 from the cache; 1 failed'
  has "$D/out" '^Best latency \(ms\): 0\.3089$'
  FAKE_RUNNER="late:" tune --no-cache; same $? 1 # nobody is left, however often others are chosen
  has "$D/err" 'no candidate could be measured'
}
case_odd_words() { # a runner that says what is no answer, or without end
  FAKE_RUNNER="flood:block_M=64,block_N=64;babble:block_M=64,block_N=128,num_stages=2"
  FAKE_RUNNER+=";paint:block_M=64,block_N=128,num_stages=3;inf:block_M=128,block_N=64,num_stages=2"
  export FAKE_RUNNER
  (ulimit -v 4000000; tune) || fail "$(cat "$D/err")"
  has "$D/out" '2 faulted: the runner ended: '
  has "$D/out" "2 faulted: the runner's answer is none"
  has "$D/out" '1 wrong: C:\?\[2J\?x{400,500}\.\.\.$'
  has "$D/out" '8 candidates on Fake GPU: 8 tried now, 0 from the cache; 5 failed'
  has "$D/out" "^Best config: \{'block_M': 128, 'block_N': 128, 'num_stages': 3\}"
  tune --json && python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$D/out" || fail "no JSON"
  no_orphans
}
case_nvcc_fails() {
  for what in crash:'signal 11' error:'exit status 2.*identifier "x" is undefined' disk:'No space left' \
    big:'signal 25'; do
    rm -rf "$XDG_CACHE_HOME"; : > "$D/log"
    FAKE_NVCC=${what%%:*} FAKE_NVCC_AT='block_M=64, block_N=64' tune || fail "$what: $(cat "$D/err")"
    has "$D/out" "2 build failed.*${what#*:}|1 build failed.*${what#*:}"
    has "$D/out" '8 candidates on .*; 2 failed'
    [ "$(du -sm "$XDG_CACHE_HOME" | cut -f1)" -lt 50 ] || fail "$what: what failed is still in the cache"
  done
  tune; has "$D/out" '2 tried now, 6 from the cache' # a file that grew too large was no result: tried again
}
case_nvcc_hangs() {
  FAKE_NVCC=hang FAKE_NVCC_AT='block_M=64, block_N=64' tune --tune-timeout 2 || fail "$(cat "$D/err")"
  has "$D/out" 'build failed: nvcc: no end within 2 s'
  has "$D/out" '8 candidates on .*; 2 failed'
  [ -s "$D/pids" ] || fail "the fake did not hang"
  no_orphans
}
case_lacks() {
  FAKE_GPU=none tune; same $? 3
  has "$D/err" 'no GPU: the driver sees none'
  has "$D/err" 'no-run ranks without a GPU$'
  FAKE_GPU=none tune --sweep K=64,128; same $? 3
  has "$D/err" 'no-run ranks without a GPU, one size at a time: give it by -p instead of --sweep$'
  FAKE_GPU=silent tune; same $? 3
  has "$D/err" 'the runner does not answer: exit status 1'
  FAKE_GPU=late tune; same $? 3
  has "$D/err" 'opening the GPU: CUDA_ERROR_DEVICE_UNAVAILABLE'
  lacks "$D/log" '^(try|build)'
  tune --in A=/no/A.npy; same $? 3
  has "$D/err" '^tlc: --in A=/no/A.npy: No such file or directory$'
  lacks "$D/log" '^build'
  CUDACXX=/no/nvcc tune; same $? 3
  has "$D/err" "CUDACXX is '/no/nvcc'"
  FAKE_GPU=busy tune; same $? 0
  has "$D/err" 'Fake GPU is in use by others \(processes 42\)'
}
case_odd_machine() { # what the environment says wrongly is said
  TLC_GPU_LOCK=$D/no/lock tune; same $? 0
  has "$D/err" "cannot open $D/no/lock: No such file or directory: nothing keeps others from the GPU"
  TLC_JOBS=two tune; same $? 2
  has "$D/err" "TLC_JOBS wants a whole number of at least 0, got 'two'"
}
case_cache_broken() {
  tune; same $? 0
  head -c 300000 /dev/urandom > "$XDG_CACHE_HOME/tlc/tune.db"
  tune || fail "$(cat "$D/err")"
  has "$D/err" 'the tuning cache was damaged: it is now .*tune.db.damaged-'
  has "$D/out" '8 tried now, 0 from the cache'
  tune; has "$D/out" '0 tried now, 8 from the cache'
  rm -rf "$XDG_CACHE_HOME/tlc/tune.db"* && mkdir "$XDG_CACHE_HOME/tlc/tune.db" # cannot be opened
  tune || fail "$(cat "$D/err")"
  has "$D/err" 'goes on without its cache'
  has "$D/out" '8 tried now, 0 from the cache'
}
case_cache_fixed() { # read-only: what is known counts, what is built goes elsewhere; a full disk
  if [ -z "${INSIDE-}" ]; then
    unshare -rm mount -t tmpfs none "$D" 2> /dev/null || { echo "no name spaces"; exit 77; }
    INSIDE=1 unshare -rm bash "$0" run cache_fixed
    exit
  fi
  trap 'umount "$D/cache" 2> /dev/null; rm -rf "$D"' EXIT
  export TMPDIR=$D/tmp
  mkdir "$D/tmp" "$D/cache" && mount -t tmpfs -o size=20m none "$D/cache" || fail "no mount"
  tune || fail "$(cat "$D/err")"
  mount -o remount,ro "$D/cache"
  tune -p K=2048 || fail "$(cat "$D/err")"
  has "$D/err" 'the tuning cache .*/cache/tlc/tune.db is read, and not written to: '
  has "$D/out" '0 tried now, 8 from the cache'
  tune -p K=1024 --seed 2 || fail "$(cat "$D/err")"
  has "$D/out" '8 tried now, 0 from the cache; 0 failed'
  times "$D/err" "^tlc: what nvcc makes goes to $D/tmp/tlc-0: cannot " 1
  mount -o remount,rw "$D/cache" && rm -r "$D/cache/tlc" "$D/tmp/tlc-0" && mount -o remount,ro "$D/cache"
  tune || fail "$(cat "$D/err")"
  has "$D/err" 'goes on without its cache .*: unable to open'
  has "$D/out" '8 tried now, 0 from the cache; 0 failed'
  umount "$D/cache" && mount -t tmpfs -o size=64k none "$D/cache" || fail "no mount"
  tune || fail "$(cat "$D/err")"
  has "$D/err" 'goes on without its cache .*: database or disk is full'
  has "$D/out" '8 tried now, 0 from the cache; 0 failed'
}
case_cache_altered() { # a value that is not as it was written counts for nothing; other tables are no cache
  change() {
    python3 - "$XDG_CACHE_HOME/tlc/tune.db" "$1" << 'END' || fail "$1"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for statement in sys.argv[2].split(";"):
    db.execute(statement)
db.commit()
END
  }
  tune; same $? 0
  for how in "value=substr(value,1,length(value)/2)" "value=x''" "value=value||'1'" "value=x'00'||substr(value,2)"; do
    tune; same $? 0
    change "UPDATE result SET $how"
    tune; has "$D/out" '8 tried now, 0 from the cache'
    has "$D/out" '^Best latency \(ms\): 0\.3048$'
    tune; has "$D/out" '0 tried now, 8 from the cache'
  done
  change "DROP TABLE result;CREATE TABLE result(a, b)"
  tune; has "$D/err" 'the tuning cache was damaged: it is now'
  tune; has "$D/out" '0 tried now, 8 from the cache'
}
case_interrupted() { # Ctrl-C: what is known is kept, nothing is left behind
  export FAKE_SLEEP=0.4
  "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p "$SIZES" "${space[@]}" -j 2 > "$D/out" 2> "$D/err" &
  pid=$!
  for _ in $(seq 100); do [ "$(grep -c '^measured' "$D/log")" -ge 2 ] && break; sleep 0.1; done
  kill -INT $pid; wait $pid; same $? 130
  has "$D/err" 'interrupted: [2-7] of 8 candidates are known; the same command goes on from there'
  no_orphans
  known=$(sed -n 's/.*interrupted: \([0-9]*\) of.*/\1/p' "$D/err")
  tune; has "$D/out" "$((8 - known)) tried now, $known from the cache"
}
case_interrupted_early() { # while nothing is built yet, and before there is a GPU
  stopped() { # a signal and its status; when: a file that grows
    : > "$3"
    "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p "$SIZES" "${space[@]}" -j 2 > "$D/out" 2> "$D/err" &
    pid=$!
    for _ in $(seq 200); do [ -s "$3" ] && break; sleep 0.05; done
    sleep 0.2
    kill "-$1" $pid; wait $pid; same $? "$2"
    no_orphans
  }
  FAKE_NVCC=hang stopped TERM 143 "$D/pids"
  has "$D/err" 'interrupted: 0 of 8 candidates are known'
  same "$(find "$XDG_CACHE_HOME/tlc" -name 'draft-*')" ''
  FAKE_GPU=deaf stopped HUP 129 "$D/log"
  has "$D/err" '^tlc: interrupted$'
}
case_kills() { # 100 kills at any moment lose no finished result, and leave no process behind
  export FAKE_SLEEP=0.02
  sizes=0
  for i in $(seq 100); do
    [ $((i % 10)) = 1 ] && sizes=$((sizes + 1)) && : > "$D/log"
    SIZES="M=512,N=512,K=$((2048 * sizes))"
    "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p "$SIZES" "${space[@]}" -j 2 > "$D/out" 2> "$D/err" &
    pid=$!
    sleep "0.$((RANDOM % 30 + 10))"
    kill -KILL $pid 2> /dev/null; wait $pid 2> /dev/null
    # A kill can come between a trial's answer and its commit, so it may cost one trial, not two.
    again=$(grep '^measured' "$D/log" | sort | uniq -c | awk '{ n += $1 - 1 } END { print n + 0 }')
    [ "$again" -le $(((i - 1) % 10 + 1)) ] || fail "kill $i: $again trials were made again"
  done
  no_orphans
  tune || fail "$(cat "$D/err")"
  has "$D/out" '^Best config'
  tune; has "$D/out" '0 tried now, 8 from the cache'
  lacks "$D/err" 'damaged'
}
case_two_tuners() { # on one database and one GPU
  export FAKE_SLEEP=0.1
  "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p "$SIZES" "${space[@]}" -j 1 > "$D/out2" 2> "$D/err2" &
  pid=$!
  tune; same $? 0
  wait $pid || fail "$(cat "$D/err2")"
  cat "$D/err" "$D/err2" > "$D/both"
  has "$D/both" 'another tlc has the GPU .*: waiting'
  has "$D/out" '^Best latency \(ms\): 0\.3048'
  has "$D/out2" '^Best latency \(ms\): 0\.3048'
  times "$D/log" '^try' 8 # what one has found out the other does not try
  tune; has "$D/out" '0 tried now, 8 from the cache'
}
case_sweep() {
  tune --sweep K=1024,2048,4096 --save "$D/g.json" || fail "$(cat "$D/err")"
  has "$D/out" '^ +1024 +0\.2024 '
  has "$D/out" '^ +2048 +0\.3048 '
  has "$D/out" '^ +4096 +0\.5096 '
  times "$D/g.json" '"kernel": "matmul_nt", "arch": "sm_80"' 3
  tune --sweep K=1024,2048,4096; times "$D/log" '^try' 24
  tune --sweep K=4096,1024 --sweep K=2048; times "$D/log" '^try' 24 # given twice: both count
  has "$D/out" 'built 0 for 24 candidates'
  tune --sweep K=1024 -o "$D/x.cu"; same $? 2
  tune --sweep K=1024,x,2048 --save "$D/h.json" --report "$D/r.html"; same $? 1 # the others count
  has "$D/err" "8 pruned E336: 'x' is a str"
  has "$D/out" '^ +x +no candidate could be measured'
  has "$D/out" '^ +2048 +0\.3048 '
  times "$D/h.json" '"kernel": "matmul_nt", "arch": "sm_80"' 2
  times "$D/r.html" '<h2>K = ' 3
  tune --sweep Q=1,2; same $? 1
  times "$D/err" '8 pruned E340: -p Q' 1
}
case_sweep_of_one() { # has the results of the same size by -p, in whatever order
  tune -p K=4096 || fail "$(cat "$D/err")"
  tune --sweep K=4096; has "$D/out" '0 tried now, 8 from the cache'
  "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p K=4096,N=512,M=512 "${space[@]}" > "$D/out" 2> "$D/err"
  has "$D/out" '0 tried now, 8 from the cache'
}
case_sweep_goes_on_ahead() { # what the next size needs is made ahead also where its best are known, not where all are
  tune --sweep K=4096 --topk 3 || fail "$(cat "$D/err")"
  FAKE_NVCC_SLEEP=0.3 tune --sweep K=2048,4096 || fail "$(cat "$D/err")"
  times "$D/log" '^prepare ahead K=4096' 1
  FAKE_NVCC_SLEEP=0.3 tune --sweep K=1024,4096 || fail "$(cat "$D/err")"
  times "$D/log" '^prepare ahead K=4096' 1
}
case_sweep_dynamic() { # a size known at run time only: each configuration is built once for all values
  "$TLC" --tune --arch sm_80 samples/gemm_symbolic_m.tl -p N=512,K=512 --space block_M=64,128 \
    --space num_stages=2,3 --sweep M=100,1000,4000 -j 2 > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  times "$D/log" '^build' 4
  times "$D/log" '^try' 12
}
shares() { # the target, then options: four configurations at three sizes
  "$TLC" --tune --arch "$1" samples/gemm_nt.tl -p M=512,N=512 --space block_M=64,128 --space block_N=64,128 \
    --sweep "K=${VALUES-8192,16384,32768}" --finalists 1 -j 2 "${@:2}" > "$D/out" 2> "$D/err"
}
case_sweep_shares() { # one build of a configuration for all sizes; the winners are built as they will be written
  shares sm_90a || fail "$(cat "$D/err")"
  has "$D/out" '^nvcc built 7 for 12 candidates: 12 of these shared a build with other sizes'
  times "$D/log" '^build' 7
  times "$D/log" '^try' 12
  # Inputs and references of a size are made while the finalists of the one before are built.
  same "$(grep -E '^(prepare ahead|final)' "$D/log" | tr '\n' ' ')" \
    'prepare ahead K=16384 final prepare ahead K=32768 final final '
  shares sm_90a; has "$D/out" '^nvcc built 0 for 12 candidates: 12 of these' # known
  times "$D/log" '^try' 12
  "$TLC" --tune --arch sm_90a samples/gemm_nt.tl -p M=512,N=512,K=16384 --space block_M=64,128 \
    --space block_N=64,128 -j 2 > "$D/out" 2> "$D/err" || fail "$(cat "$D/err")"
  has "$D/out" '4 tried now, 0 from the cache' # as they are written
  VALUES=512,8192,16384,32768 shares sm_90a --no-cache # a short loop is unrolled: near the best it is built alone
  has "$D/out" '^nvcc built 4 for 16 candidates: 12 of these shared'
  shares sm_90a --finalists 4 --no-cache; has "$D/out" 'for 12 candidates: 0 of these' # it would save nothing
}
case_sweep_kills() { # a sweep that was killed at any moment goes on, and ends as one that was not
  export FAKE_SLEEP=0.08 FAKE_NVCC_SLEEP=0.05 VALUES=512,8192,16384,32768
  ends() { sed -n '/^ *K  latency/,/^nvcc built/p' "$D/out" | sed 's/^nvcc built [0-9]* //'; }
  for _ in $(seq 20); do
    (shares sm_90a) 2> /dev/null &
    pid=$!
    sleep "0.$((RANDOM % 60 + 20))"
    pkill -KILL -P $pid 2> /dev/null; kill -KILL $pid 2> /dev/null; wait $pid 2> /dev/null
  done
  no_orphans
  # Those of the short loop are measured twice: by the shared build, and alone.
  again=$(grep '^measured' "$D/log" | sort | uniq -c | awk '{ n += $1 - ($0 ~ / K=512,/ ? 2 : 1) } END { print n + 0 }')
  [ "$again" -le 20 ] || fail "$again trials were made again"
  shares sm_90a || fail "$(cat "$D/err")"
  before=$(ends)
  shares sm_90a; has "$D/out" '^nvcc built 0 for'
  shares sm_90a --no-cache
  same "$(ends)" "$before"
}
case_sweep_shares_roughly() { # where the code is another: what is near the best has a build of its own
  FAKE_RUNNER=slow:block_M=64,shared=1 shares sm_80 || fail "$(cat "$D/err")"
  has "$D/out" '^nvcc built 10 for 12 candidates: 6 of these shared a build with other sizes'
  lacks "$D/out" 'block_M=64.*0\.[0-9]'
  times "$D/log" '^try' 18
  shares sm_80; times "$D/log" '^try' 18
  has "$D/out" '^nvcc built 0 for 12 candidates: 6 of these'
}
case_sweep_shares_in_vain() { # what is no build, or not right, is tried alone before it counts
  FAKE_NVCC=error FAKE_NVCC_AT='one build for several' shares sm_90a || fail "$(cat "$D/err")"
  has "$D/out" '^nvcc built 16 for 12 candidates: 0 of these'
  lacks "$D/out" '[1-9] failed'
  FAKE_RUNNER=wrong:block_M=64,shared=1 shares sm_90a --no-cache || fail "$(cat "$D/err")"
  has "$D/out" 'for 12 candidates: 6 of these shared'
  lacks "$D/out" '[1-9] failed'
  FAKE_RUNNER=wrong:block_M=64 shares sm_90a --no-cache; same $? 0
  has "$D/out" '2 failed'
}
case_where_time_goes() { # nvcc 3 s at once, eight trials of 2 s, a final round of 4 s; then half of it kernels
  export FAKE_NVCC_SLEEP=3 FAKE_SLEEP=2 FAKE_FINAL=4
  parts() { # the share of kernels, a condition on the parts
    local begin end
    rm -rf "$XDG_CACHE_HOME"
    begin=$(date +%s.%N)
    FAKE_KERNEL=$1 tune -j 8 --no-cache --json "${@:3}" || fail "$(cat "$D/err")"
    end=$(date +%s.%N)
    python3 - "$D/out" "$begin" "$end" "$2" << 'END'
import json, sys
d, wall = json.load(open(sys.argv[1])), float(sys.argv[3]) - float(sys.argv[2])
all, nvcc, kernels, over, rest = (d[k + "_s"] if k != "seconds" else d[k] for k in
                                  ("seconds", "nvcc", "kernel", "overhead", "rest"))
ok = wall - 3 < all <= wall and abs(nvcc + d["waited_s"] + kernels + over + rest - all) < 0.01
sys.exit(0 if ok and eval(sys.argv[4]) else f"{sys.argv[4]}: {nvcc} + {kernels} + {over} = {all}, wall {wall}")
END
  }
  few='2.9 < nvcc < 4 and abs(kernels - 8 * 2 - 4) < 0.01 and over < 0.05 * all'
  for _ in 1 2 3; do parts 1 "$few" && break; done || fail "never: $few" # others may have the processors
  # One build after another, trials beside them: half of a trial is no kernel.
  export FAKE_NVCC_SLEEP=0.6 FAKE_SLEEP=0.3 FAKE_FINAL=0
  parts 0.5 'nvcc > 0.6 and abs(kernels - 8 * 0.15) < 0.01 and over > 8 * 0.15' -j 1 || fail "half of it"
  FAKE_SLEEP=0.1 FAKE_FINAL=1.6 FAKE_NVCC_SLEEP=0 tune || fail "$(cat "$D/err")"
  has "$D/out" '^[0-9.]+ s: [0-9.]+ s for nvcc alone, kernels 2\.4 s, overhead [0-9.]+ s \([0-9.]+ %\)$'
  FAKE_REST=1.3 FAKE_FINAL=0.2 FAKE_SLEEP=0 FAKE_NVCC_SLEEP=0 parts 1 'rest == 1.3 and over < all - 1.4'
  FAKE_REST=1.3 FAKE_NVCC_SLEEP=0 FAKE_SLEEP=0 FAKE_FINAL=0 tune --no-cache || fail "$(cat "$D/err")"
  has "$D/out" 'kernels 0\.0 s, rests 1\.3 s, overhead '
}
case_terminal() { # the table: as much goes up as was written down, also where lines are too long or too many
  need='import pty'; python3 -c "$need" || exit 77
  cat > "$D/term.py" << 'END'
import fcntl, os, pty, re, struct, sys, termios
rows, columns = int(sys.argv[1]), int(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execvp(sys.argv[3], sys.argv[3:])
text = b""
try:
    while data := os.read(fd, 65536):
        text += data
except OSError:
    pass
assert os.waitpid(pid, 0)[1] == 0, text
text = text.decode(errors="replace")
if os.environ["TERM"] == "dumb":
    assert "\033" not in text and re.search(r"^tlc: \d of 8, best 0\.3\d+ ms: block_M=", text, re.M), text
    sys.exit()
lines = re.split(r"[\r\n]+(?:\033\[[JK])?", re.sub(r"\033\[\d+A", "", text))
assert max(map(len, lines)) == min(columns - 1, 49), [columns, max(map(len, lines)), text]
assert re.search(r"\d of 8, about 0:\d\d left\r?\n  0\.3\d+ ms: block_M=", text), text
ups = [int(n) for n in re.findall(r"\033\[(\d+)A", text)]
assert max(ups) == min(rows - 2, 5), [rows, text]
row = 0
for m in re.finditer(r"\n|\033\[(\d+)A", text):
    row += 1 if m[0] == "\n" else -int(m[1])
    assert row >= 0
END
  term() {
    FAKE_SLEEP=0.3 python3 "$D/term.py" "$@" "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p "$SIZES" "${space[@]}" \
      --no-cache 2> "$D/err" || fail "$* $(cat "$D/err")"
  }
  export TERM=xterm
  term 24 80
  term 5 30
  TERM=dumb term 24 80
}
. tests/tune_runner.sh
. tests/tune_files.sh

case ${1-} in
  list) declare -F | sed -n 's/^declare -f case_//p' ;;
  run)
    D=$(mktemp -d /tmp/tlc-tune-XXXXXX)
    trap 'rm -rf "$D"' EXIT
    cp tests/tune/fake_nvcc.sh "$D/nvcc"
    touch "$D/log"
    export CUDACXX=$D/nvcc XDG_CACHE_HOME=$D/cache TLC_TUNE_RUNNER=$D/runner TLC_GPU_LOCK=$D/lock
    export FAKE_LOG=$D/log FAKE_PIDS=$D/pids
    cp tests/tune/fake_runner.py "$D/runner"
    "case_$2"
    ;;
esac
