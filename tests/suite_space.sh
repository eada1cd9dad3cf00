#!/bin/bash
# Suite space: tuning spaces, what is pruned, the model and --roller; nothing here needs a GPU or nvcc.
# SPDX-License-Identifier: MIT
fail() { echo "$*"; exit 1; }
same() { [ "$1" = "$2" ] || fail "expected '$2', got '$1'"; }
has() { grep -qE -- "$2" "$1" || fail "no '$2' in: $(tail -n 30 "$1")"; }

rank() { "$TLC" --tune --no-run "$@" > "$D/out" 2> "$D/err"; }
json() { # a Python expression over the object that --json prints
  python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); c = d["candidates"]
live = [x for x in c if x["state"] in ("queued", "built")]
print(eval(sys.argv[2]))' "$D/out" "$1"
}
SIZES=(-p M=512,N=512,K=512)

case_default_space() { # 3 x 3 x 2 x 4 x 2 x 1 x 2, each with an end
  rank samples/gemm_nt.tl "${SIZES[@]}" --json --topk 1 || fail "$(cat "$D/err")"
  same "$(json 'len(c)')" 288
  same "$(json 'len({json.dumps(x["config"]) for x in c})')" 288
  same "$(json '[x["model_us"] for x in live] == sorted(x["model_us"] for x in live)')" True
  same "$(json 'all(x["model_us"] > 0 for x in live)')" True
  same "$(json 'all(x["reason"] for x in c if x not in live)')" True
  same "$(json '{y["state"] for x in c if "same_as" in x for y in c if y["id"] == x["same_as"]} <= {"queued"}')" True
}
case_pruned() { # by the compiler's own rules, counted by reason
  rank samples/gemm_nt.tl "${SIZES[@]}" -p num_stages=2 --topk 1 --space block_M=128,256 --space block_N=256 \
    --space thread_num=128,256 --space block_K=32,64 || fail "$(cat "$D/err")"
  has "$D/out" '8 candidates, 6 pruned, 0 the same code as another, 2 left'
  has "$D/out" '^ +6 pruned W564: C_local takes (256|512) registers'
  has "$D/out" 'such as block_M=128,block_N=256,thread_num=128,block_K=32'
  rank samples/gemm_nt.tl "${SIZES[@]}" --arch sm_86 --topk 1 --space block_K=64,128 --space block_N=128 ||
    fail "$(cat "$D/err")"
  has "$D/out" '1 pruned E520: the block needs [0-9]+ bytes of shared memory'
  rank samples/gemm_nt.tl "${SIZES[@]}" -p num_stages=2 --space block_M=256 --space thread_num=128; same $? 1
  has "$D/err" 'no candidate of matmul_nt can be built'
  has "$D/err" '1 pruned W564'
}
case_duplicates() { # one block: the raster changes nothing
  rank samples/gemm_nt.tl -p M=64,N=64,K=256 --space block_M=64 --space block_N=64 --space thread_num=128 \
    --space enable_rasteration=True,False --json || fail "$(cat "$D/err")"
  same "$(json '[x["state"] for x in c]')" "['queued', 'duplicate']"
  same "$(json 'c[1]["same_as"]')" 0
}
case_locked() {
  rank samples/gemm_nt.tl "${SIZES[@]}" -p block_M=128 --json --topk 1 || fail "$(cat "$D/err")"
  same "$(json 'len(c)')" 96
  same "$(json 'any("block_M" in x["config"] for x in c)')" False
  all=block_M=128,block_N=128,block_K=32,num_stages=2,thread_num=128,policy=T.GemmWarpPolicy.Square
  rank samples/gemm_nt.tl "${SIZES[@]}" -p $all,enable_rasteration=True || fail "$(cat "$D/err")"
  has "$D/err" 'every tuned parameter is given: nothing is searched'
  has "$D/out" '1 candidates, 0 pruned'
}
case_axes() { # --space, the same parameter twice; without the declared space
  rank samples/gemm_nt.tl "${SIZES[@]}" --space block_M=64 --space num_stages=2,3 --space block_M=128 --json ||
    fail "$(cat "$D/err")"
  same "$(json 'sorted((x["config"]["block_M"], x["config"]["num_stages"]) for x in c)')" \
    "[('128', '2'), ('128', '3'), ('64', '2'), ('64', '3')]"
  rank samples/gemm_nt.tl --space block_M; same $? 2
  rank samples/gemm_nt.tl "${SIZES[@]}" --space block_L=1; same $? 2
  has "$D/err" "no parameter 'block_L'; did you mean 'block_[MNK]'"
}
case_files() {
  echo '[{"block_M": 64, "block_K": 32}, {"block_M": 128, "block_K": 64}]' > "$D/list.json"
  rank samples/gemm_nt.tl "${SIZES[@]}" --configs "$D/list.json" --json || fail "$(cat "$D/err")"
  same "$(json 'sorted(x["config"]["block_M"] + x["config"]["block_K"] for x in c)')" "['12864', '6432']"
  echo '{"block_M": [64, 128], "num_stages": [1, 2, 3], "enable_rasteration": [true]}' > "$D/axes.json"
  rank samples/gemm_nt.tl "${SIZES[@]}" --configs "$D/axes.json" --json || fail "$(cat "$D/err")"
  same "$(json 'len(c), c[0]["config"]["enable_rasteration"]')" "(6, 'True')"
  "$TLC" --list-configs --json samples/gemm_nt.tl > "$D/all.json"
  rank samples/gemm_nt.tl "${SIZES[@]}" --configs "$D/all.json" --json --topk 1 || fail "$(cat "$D/err")"
  same "$(json 'len(c)')" 288
  sed 's/matmul_nt/other/' "$D/all.json" > "$D/none.json"
  rank samples/gemm_nt.tl --configs "$D/none.json"; same $? 2
  has "$D/err" "no configurations for the kernel 'matmul_nt'"
  echo '[{"block_M": 64, "other": 1}, {"block_M": 64, "other": 2}]' > "$D/more.json" # one is left
  rank samples/gemm_nt.tl "${SIZES[@]}" --configs "$D/more.json" --json || fail "$(cat "$D/err")"
  same "$(json '[x["config"] for x in c]')" "[{'block_M': '64'}]"
  same "$(grep -c "matmul_nt has no parameter 'other'" "$D/err")" 1
  echo '{"block_M": 3}' > "$D/bad.json"
  rank samples/gemm_nt.tl --configs "$D/bad.json"; same $? 2
  rank samples/gemm_nt.tl --configs "$D/missing.json"; same $? 2
}
case_texts() { # values that are text, whatever is in it; on a terminal no control characters
  printf '%s\n' '{"s": ["a\",b", "it'"'"'s", "c,d", "x\ny\u001b[2J"], "b": [32]}' > "$D/c.json"
  kernels
  rank "$D/two.tl" --entry scale --configs "$D/c.json" --json || fail "$(cat "$D/err")"
  same "$(json '[x["config"]["s"].strip("\"") for x in sorted(c, key=lambda x: x["id"])]')" \
    "['a\",b', \"it's\", 'c,d', 'x\\ny\\x1b[2J']"
  echo '[{"s": "x\ny\u001b[2J", "b": 32}]' > "$D/c.json"
  rank "$D/two.tl" --entry scale --configs "$D/c.json" || fail "$(cat "$D/err")"
  has "$D/out" '  s=.?x\?y\?\[2J.?,b=32$'
}
case_flags() {
  flags=(--arch sm_90a --space block_M=128 --space-flags "persistent,stages=2:3" --json)
  rank samples/gemm_nt.tl "${SIZES[@]}" "${flags[@]}" || fail "$(cat "$D/err")"
  same "$(json 'sorted(x["flags"]["persistent"] + x["flags"]["stages"] for x in c)')" "['02', '03', '12', '13']"
  rank samples/gemm_nt.tl "${SIZES[@]}" "${flags[@]}" -fstages=2
  same "$(json 'len(c)')" 2
  rank samples/gemm.tl --space-flags stages; same $? 1
  has "$D/err" 'no tuning space is declared here'
  has "$D/err" 'note: --space-flags crosses such a space'
  rank samples/gemm_nt.tl --space-flags persistant; same $? 2
  has "$D/err" "did you mean 'persistent'"
  rank samples/gemm_nt.tl --space-flags stages=x; same $? 2
  for bad in '' , persistent, persistent,persistent stages=2::3; do
    rank samples/gemm_nt.tl --space block_M=64 --space-flags "$bad"; same $? 2
  done
  rank samples/gemm_nt.tl "${SIZES[@]}" --arch sm_90a --space block_M=128 --space-flags l2-fetch,cluster --json ||
    fail "$(cat "$D/err")" # without values: those of use
  same "$(json 'sorted({x["flags"]["l2-fetch"] for x in c}), sorted({x["flags"]["cluster"] for x in c})')" \
    "(['128', '256', '64'], ['2', '4', '8'])"
  for f in $(sed -n 's/^FLAG("\([^"]*\)".*/\1/p' passes/flags.def); do all+=,$f; done
  rank samples/gemm_nt.tl --space block_M=64 --space-flags "${all#,}"; same $? 2 # not all of them at once
  has "$D/err" 'more than 10000 combinations of flags'
}
case_programmatic() { # AutoTuner.from_kernel
  rank tests/eval/tuned.tl --entry scale -p M=256,N=512,K=96 --json || fail "$(cat "$D/err")"
  "$TLC" --list-configs --entry scale tests/eval/tuned.tl -p M=256,N=512,K=96 > "$D/want"
  same "$(json 'len(c)')" "$(wc -l < "$D/want")"
  # A kernel within the function that has the tuner: its parameters are what is tuned.
  rank tests/eval/tuned.tl --entry nested -p M=256,N=64 --json || fail "$(cat "$D/err")"
  same "$(json 'sorted((int(x["config"]["block"]), x["config"]["fast"], x["state"]) for x in c)')" \
    "[(16, 'False', 'queued'), (16, 'True', 'queued'), (32, 'False', 'queued'), (32, 'True', 'queued')]"
  rank tests/eval/tuned.tl --entry nested -p M=256,N=64,fast=True --space block=8,16,64 --json || fail "$(cat "$D/err")"
  same "$(json 'sorted(x["config"]["block"] for x in live)')" "['16', '64', '8']"
  rank tests/eval/tuned.tl --entry nested -p M=256,N=64 --space blok=8; same $? 2
  has "$D/err" "no parameter 'blok'; did you mean 'block'"
  sed '/^def main/,$d' tests/eval/tuned.tl > "$D/nested.tl"
  rank "$D/nested.tl" --entry nested -p N=64; same $? 1
  has "$D/err" 'note: whether nested declares one is not known without values for: M; give them with -p'
  rank tests/eval/tuned.tl -p M=256,N=512,K=96; same $? 2
  has "$D/err" 'name one kernel by --entry: .*scale'
  rank samples/vector_add.tl; same $? 1
  has "$D/err" 'E804'
}
case_assembler() { # what ptxas says counts: a candidate that spills falls behind
  cat > "$D/nvcc" << 'END'
#!/bin/bash
[ "$1" = --version ] && { echo fake; exit; }
while [ $# -gt 0 ]; do case $1 in -o) out=$2 ;; *.cu) in=$1 ;; esac; shift; done
grep -q 'block_M=128' "$in" && spill=800 || spill=0
echo "    $spill bytes stack frame, $spill bytes spill stores, 8 bytes spill loads"
echo "ptxas info    : Used 77 registers, used 1 barriers"
echo x > "$out"
END
  chmod +x "$D/nvcc"
  for round in 1 2; do # the second from the cache
    CUDACXX=$D/nvcc rank samples/gemm_nt.tl -p M=4096,N=4096,K=4096 --space block_M=64,128 --json ||
      fail "$(cat "$D/err")"
    same "$(json '[(x["config"]["block_M"], x["registers"], x["spills"]) for x in live]')" \
      "[('64', 77, 0), ('128', 77, 800)]"
  done
  rank samples/gemm_nt.tl -p M=4096,N=4096,K=4096 --space block_M=64,128 --json || fail "$(cat "$D/err")"
  same "$(json '[x["config"]["block_M"] for x in live]')" "['128', '64']"
}
case_gpu_figures() {
  rank samples/gemm_nt.tl "${SIZES[@]}" --space block_M=128 --json --gpu A100 || fail "$(cat "$D/err")"
  a100=$(json 'c[0]["model_us"]')
  rank samples/gemm_nt.tl "${SIZES[@]}" --space block_M=128 --json || fail "$(cat "$D/err")"
  same "$(json 'c[0]["model_us"]')" "$a100" # the default of sm_80
  rank samples/gemm_nt.tl "${SIZES[@]}" --space block_M=128 --json --gpu h200,launch=500 || fail "$(cat "$D/err")"
  same "$(json 'c[0]["model_us"] > 500')" True
  for bad in B52 l2=x l2=-1 l2=inf nothing=1 '' l2=1, l2=9000,H100; do
    rank samples/gemm_nt.tl --space block_M=128 --gpu "$bad"; same $? 2
  done
}
case_roller() {
  rank samples/gemm_nt.tl "${SIZES[@]}" --arch sm_90a --roller --topk 3 || fail "$(cat "$D/err")"
  n=[0-9]+
  same "$(grep -cE "^ +[123]  [0-9.]+ us, tile ${n}x${n}x$n, warps ${n}x$n, $n threads, $n stages" "$D/out")" 3
  rank samples/layer_norm.tl --roller --topk 2 || fail "$(cat "$D/err")"
  rank samples/gemm_nt.tl "${SIZES[@]}" --roller --topk 4 --json || fail "$(cat "$D/err")"
  same "$(json 'len(c), c[0]["model_us"] <= c[3]["model_us"]')" "(4, True)"
}
case_roller_crowded() { # tiles that have no room all at once, and never are there all at once
  rank samples/flash_attention_bwd.tl -p seq_len=256,heads=2,batch=1 --arch sm_90a --roller --topk 2 --json ||
    fail "$(cat "$D/err")"
  same "$(json 'len(live)')" 2
  same "$(json '"block_M" in c[0]["config"]')" True # of the second of its kernels
}
case_roller_own() { # what the program has is among what is compiled
  rank samples/gemv.tl --roller --topk 1 --json || fail "$(cat "$D/err")"
  best=$(json 'live[0]["model_us"]')
  rank samples/gemv.tl --space threads=256 --json || fail "$(cat "$D/err")"
  same "$(json "$best <= min(x['model_us'] for x in live)")" True
}
case_hints() { # MatmulTemplate(...).recommend_hints in a configuration function
  "$TLC" --list-configs tests/eval/roller.tl -p M=512,N=512,K=256 > "$D/got" || fail "no list"
  same "$(wc -l < "$D/got")" 5
  n=[0-9]+
  line="^block_M=$n,block_N=$n,block_K=$n,num_stages=$n,threads=$n,policy=T.GemmWarpPolicy.(Square|FullRow|FullCol)"
  same "$(grep -cE "$line,raster=(True|False)\$" "$D/got")" 5
  rank --arch sm_90a tests/eval/roller.tl -p M=512,N=512,K=256 --json || fail "$(cat "$D/err")"
  same "$(json '[x for x in c if x["state"] == "pruned"], len(live) > 0')" '([], True)'
  "$TLC" --list-configs tests/eval/roller.tl -p M=0 2>&1 | grep -q 'a size of MatmulTemplate' || fail "no size"
}
case_worker_dies() { # a compiler process that ends costs its candidate only; none outlives the tuner
  tlc() { "$TLC" --tune --no-run samples/gemm_nt.tl "${SIZES[@]}" -j 2 --no-cache --json > "$D/out" 2> "$D/err" & }
  child() { for _ in $(seq 200); do pgrep -P "$1" | head -n 1 | grep . && return; sleep 0.02; done; }
  for _ in 1 2 3 4 5 6 7 8; do # until it was killed at work: one that waits for work loses nothing
    tlc; pid=$!
    kill -KILL "$(child $pid)"; wait $pid || fail "$(cat "$D/err")"
    same "$(json 'len(c)')" 288
    grep -q signal "$D/out" && break
  done
  same "$(json '[x["reason"] for x in c if "signal" in x.get("reason", "")]')" "['tlc ended by signal 9: a bug']"
  tlc; pid=$!
  one=$(child $pid)
  [ "$one" ] || fail "no worker"
  kill -KILL $pid; wait $pid
  for _ in $(seq 50); do kill -0 "$one" 2> /dev/null || return 0; sleep 0.1; done
  fail "a worker is left"
}
case_names_do_not_matter() { # the same kernel with other names has the same times
  sed 's/block_M/alpha/g; s/block_N/beta/g; s/thread_num/gamma/g; s/num_stages=num_stages/num_stages=depth/
    s/num_stages=3,/depth=3,/; s/"num_stages"/"depth"/; s/matmul_nt/zeta/; s/A_shared/S/g; s/C_local/L/g' \
    samples/gemm_nt.tl > "$D/other.tl"
  rank samples/gemm_nt.tl "${SIZES[@]}" --space block_M=64,128 --space block_N=128 --json || fail "$(cat "$D/err")"
  want=$(json '[x["model_us"] for x in c]')
  rank "$D/other.tl" "${SIZES[@]}" --space alpha=64,128 --space beta=128 --json || fail "$(cat "$D/err")"
  same "$(json '[x["model_us"] for x in c]')" "$want"
}
case_written() { # without a GPU, too
  rank samples/gemm_nt.tl "${SIZES[@]}" --space block_M=64,128 --save "$D/g.json" -o "$D/g.cu" || fail "$(cat "$D/err")"
  has "$D/g.json" '"predicted_ms"'
  "$TLC" samples/gemm_nt.tl "${SIZES[@]}" --tuned "$D/g.json" --strict -o "$D/h.cu" || fail "not usable"
  sed 's/h\.cu/g.cu/g' "$D/h.cu" | cmp - "$D/g.cu" || fail "another text"
  rank samples/gemm_nt.tl --sweep K=1,2; same $? 2
}

case_guessed() { # a size of run time that nothing gives: what is taken for it
  told() {
    rank samples/gemm_symbolic_m.tl -p N=512,K=512 --topk 1 "$@" || fail "$(cat "$D/err")"
    grep -o '^. is taken to be [0-9]*' "$D/out"
  }
  same "$(told --roller)" "M is taken to be 4096"
  same "$(told --space block_M=64)" "M is taken to be 4096"
  same "$(told --space block_M=64 -p M=512)" ""
  told --space block_M=64 --json
  has "$D/err" 'M is taken to be 4096: .* -p M=VALUE gives'
}
case_usage() { # what would be ignored, or is found out late, is refused before anything is done
  wrong() { # what is said; options
    want=$1
    shift
    "$TLC" samples/gemm_nt.tl "${SIZES[@]}" "$@" > "$D/out" 2> "$D/err"; same "$?" "${STATUS-2}"
    has "$D/err" "$want"
    [ ! -s "$D/out" ] || fail "$* printed $(head -n 3 "$D/out")"
  }
  axis=(--tune --no-run --space block_M=64)
  for o in --no-run --roller --no-cache --clear-cache '--space block_M=1' '--configs x' '--topk 1' '--save x' \
    '--report x' '--sweep K=1' '--warmup 1' '--rep 1' '-j 1' '--space-flags stages' '--gpu H100'; do
    wrong "tlc: ${o%% *} goes with --tune\$" $o -o "$D/x.cu"
  done
  wrong 'tlc: --rounds goes with --bench$' --rounds 3 -o "$D/x.cu"
  for o in --integers '--seed 1' '--rtol 1' '--in A=x' '--warmup 1' '--finalists 2' '--l2 cold'; do
    # shellcheck disable=SC2086
    wrong "tlc: ${o%% *} has no meaning with --tune --no-run\$" "${axis[@]}" $o
  done
  for o in --remarks --time-passes '-d all' '--emu-seed 1'; do
    # shellcheck disable=SC2086
    wrong "tlc: ${o%% *} has no meaning with --tune\$" "${axis[@]}" $o
  done
  "$TLC" samples/gemm_nt.tl --emit tile -o "$D/g.tir" || fail "no IR"
  echo '{"entries": []}' > "$D/t.json"
  for o in '--tune --no-run --space a=1' --list-configs "--tuned $D/t.json"; do
    # shellcheck disable=SC2086
    "$TLC" "$D/g.tir" $o > "$D/out" 2> "$D/err"; same $? 2
    has "$D/err" "tlc: ${o%% *} .*g.tir: printed IR has no open parameters"
  done
  wrong 'entry all: a search is of one kernel' "${axis[@]}" --entry all
  wrong "cache-limit wants at least 1, got '0'" "${axis[@]}" --cache-limit 0
  wrong 'cache-limit and --no-cache exclude each other' "${axis[@]}" --cache-limit 1 --no-cache
  wrong "--sweep M=1 and --sweep K=2: a search sweeps one size" --tune --sweep M=1 --sweep K=2
  wrong "tlc: --rounds wants at least 1, got '0'" --bench --rounds 0
  wrong "tlc: --rep wants at least 1, got '0'" --tune --rep 0
  wrong "tlc: --jobs wants at least 1, got '0'" --tune --jobs 0
  wrong "tlc: --jobs wants at least 1, got '0'" --tune -j 0
  TLC_JOBS=0 wrong "tlc: TLC_JOBS wants at least 1, got '0'" "${axis[@]}"
  [ ! -e "$D/x.cu" ] || fail "it was compiled"
  for o in --header --emit=ptx -MD --device=emu --out=C=x --tuned=x --strict; do
    n=${o%%=*}
    [ "$n" = --header ] && o+=" x"
    wrong "^tlc: $n has no meaning with --tune" $o "${axis[@]}"
  done
  for o in --run --bench --list-configs; do wrong "^tlc: $o and --tune exclude each other" "${axis[@]}" $o; done
  wrong '--space and --configs exclude each other' "${axis[@]}" --configs x
  wrong '--space and --roller exclude each other' "${axis[@]}" --roller
  wrong '--space-flags and --roller exclude' --tune --no-run --roller --space-flags stages
  wrong '--sweep and --no-run exclude' "${axis[@]}" --sweep K=1
  wrong '--strict is of --tuned FILE' --strict
  wrong 'the ranking is on stdout' "${axis[@]}" -o -
  for o in 64,,128 64, ,; do wrong "--space: a value of '$o' is empty" --tune --no-run --space "block_M=$o"; done
  wrong "--space-flags: a value of '2:' is empty" "${axis[@]}" --space-flags stages=2:
  wrong "--space-flags: a value of '' is empty" "${axis[@]}" --space-flags stages=
  wrong 'persistent=7: a switch is 0 or 1' "${axis[@]}" --space-flags persistent=7
  for o in --save --report; do
    wrong "tlc: $o -: stdout is for the ranking: name a file" "${axis[@]}" $o -
    wrong "tlc: $o : a file needs a name" "${axis[@]}" $o ''
    cp samples/gemm_nt.tl "$D/p.tl"
    "$TLC" "$D/p.tl" "${axis[@]}" $o "$D/../${D##*/}/p.tl" > "$D/out" 2> "$D/err"; same $? 2
    has "$D/err" "tlc: the program and $o are one file: "
    cmp -s samples/gemm_nt.tl "$D/p.tl" || fail "$o: the program is gone"
  done
  wrong 'tlc: --save /dev/null: it is read, too: name a regular file' "${axis[@]}" --save /dev/null
  wrong "tlc: --save and --report are one file: $D/x" "${axis[@]}" --save "$D/x" --report "$D/x"
  wrong "tlc: -o and --save are one file: $D/x" "${axis[@]}" --save "$D/x" -o "$D/x"
  wrong "tlc: -o and --header are one file: $D/x" -o "$D/x" --header "$D/x"
  for o in --save --report -o; do
    STATUS=3 wrong "tlc: $o /no/such: No such file" "${axis[@]}" $o /no/such
    STATUS=3 wrong "tlc: $o $D: Is a directory" "${axis[@]}" $o "$D"
  done
}
case_compiled_once() { # what the compiler said is kept, by all that decides
  mkdir -p "$D/a" "$D/b"
  sed 's/^import tilelang$/import tilelang\nfrom depth import DEPTH/; s/num_stages=3,/num_stages=DEPTH,/' \
    samples/gemm_nt.tl > "$D/a/g.tl"
  echo 'DEPTH = 2' > "$D/b/depth.py"
  stages() { # what the model says of the only legal one, and of why the other is pruned
    rank "$D/a/g.tl" -I "$D/b" "${SIZES[@]}" --space block_K=32,0 --json "$@" || fail "$(cat "$D/err")"
    json '[x["stages"] for x in live], c[1]["reason"].split(";")[0]'
  }
  same "$(stages)" "([2], 'a tile of shape (128, 0)')"
  python3 - "$XDG_CACHE_HOME/tlc/tune.db" << 'END'
import hashlib, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for key, value in db.execute("SELECT key, value FROM result").fetchall():
    value = value[:-8].replace(b"a tile of", b"o tile of")
    db.execute("UPDATE result SET value=? WHERE key=?", (value + hashlib.sha256(key + value).digest()[:8], key))
db.commit()
END
  same "$(stages)" "([2], 'o tile of shape (128, 0)')" # the kept one
  same "$(stages --no-cache)" "([2], 'a tile of shape (128, 0)')"
  same "$(stages -fstages=4)" "([2], 'a tile of shape (128, 0)')"
  same "$(stages -p K=1024)" "([2], 'a tile of shape (128, 0)')"
  same "$(stages --gpu launch=9)" "([2], 'a tile of shape (128, 0)')"
  echo 'DEPTH = 3' > "$D/b/depth.py"
  same "$(stages)" "([3], 'a tile of shape (128, 0)')"
  echo 'DEPTH = 4' > "$D/a/depth.py" # found before the other one
  same "$(stages)" "([4], 'a tile of shape (128, 0)')"
  rm "$D/a/depth.py"
  echo 'DEPTH = 2' > "$D/b/depth.py"
  same "$(stages)" "([2], 'a tile of shape (128, 0)')" # the last one compiled is the one kept
  same "$(stages --clear-cache)" "([2], 'a tile of shape (128, 0)')"
}

kernels() { # two in one file; what one has beside its size are values of every kind
  cat > "$D/two.tl" << 'END'
import tilelang
import tilelang.language as T

@tilelang.jit
def scale(N=1024, b=64, by=2, dt="float16", shape=(2, 3), names=["a", "b c"], s="a,b", up=True):
    @T.prim_func
    def main(A: T.Tensor((N,), dt)):
        with T.Kernel(T.ceildiv(N, b), threads=b) as x:
            for i in T.Parallel(b):
                A[x * b + i] = A[x * b + i] * by
    return main

@tilelang.jit
def other(N=64):
    @T.prim_func
    def main(A: T.Tensor((N,), "float16")):
        with T.Kernel(1, threads=N):
            A[T.get_thread_binding()] = 1.0
    return main
END
}
case_saved_sizes() { # what it was tuned for: all other parameters, by -p or by default, of this kernel
  kernels
  rank "$D/two.tl" --entry scale --space b=32 --save "$D/s.json" || fail "$(cat "$D/err")"
  rank "$D/two.tl" --entry scale --space b=128 -p N=65536 --save "$D/s.json" || fail "$(cat "$D/err")"
  rank "$D/two.tl" --entry scale --space b=64,' 256' --space 'names=["x"]' -p N=0x100000 --save "$D/s.json" ||
    fail "$(cat "$D/err")"
  python3 - "$D/s.json" << 'END' || fail "$(cat "$D/s.json")"
import json, sys
e = {str(x["sizes"]["N"]): x for x in json.load(open(sys.argv[1]))["entries"]}
assert sorted(e) == ["1024", "1048576", "65536"], e
assert e["1024"]["sizes"] == {"N": 1024, "by": 2, "dt": "float16", "shape": "(2,3)", "names": '[a,"b c"]',
                              "s": '"a,b"', "up": True}, e
assert e["1024"]["config"] == {"b": 32} and e["65536"]["config"] == {"b": 128}, e
assert e["1048576"]["config"]["b"] in (64, 256), e
END
  build() { "$TLC" "$D/two.tl" --entry scale --tuned "$D/s.json" --strict -o "$D/x.cu" "$@" 2> "$D/err"; }
  build || fail "$(cat "$D/err")"
  has "$D/x.cu" '__launch_bounds__\(32'
  build -p N=32768 || fail "$(cat "$D/err")" # nearer to 65536
  has "$D/x.cu" '__launch_bounds__\(128'
  build -p N=2048 || fail "$(cat "$D/err")"
  has "$D/x.cu" '__launch_bounds__\(32'
  build -p 'shape=(2,4)'; same $? 1
  build -p 'N=2097152,names=["x"]'; same $? 0 # a list is a list when it is read back
}
case_tuned_modules() { # an imported module is a part of the program
  kernels
  sed 's/by=2/by=BY/; 1i from factor import BY' "$D/two.tl" > "$D/three.tl"
  echo 'BY = 2' > "$D/factor.py"
  rank "$D/three.tl" --entry scale --space b=32 --save "$D/s.json" || fail "$(cat "$D/err")"
  build() { "$TLC" "$D/three.tl" --entry scale -p N=2048,by=2 --tuned "$D/s.json" --strict -o "$D/x.cu" 2> "$D/err"; }
  build || fail "$(cat "$D/err")"
  echo 'BY = 2 # twice' > "$D/factor.py"
  build || fail "a comment: $(cat "$D/err")"
  echo 'BY = 3' > "$D/factor.py"
  build; same $? 1
  has "$D/err" 'the program has changed since it was tuned'
}
case_tuned_wrong() { # what is wrong with a tuning file is said with its place, and is never ignored
  kernels
  sizes='"kernel": "scale", "arch": "sm_80", "sizes": {"N": 1024}'
  wrong() { # place and message; the entry's other members; status
    echo '{"format": "tlc tuning 1", "entries": [' > "$D/t.json"
    echo " {$sizes$2}]}" >> "$D/t.json"
    "$TLC" "$D/two.tl" --entry scale --tuned "$D/t.json" -o "$D/x.cu" > "$D/out" 2> "$D/err"; same $? 2
    has "$D/err" "t\.json:$1"
    [ ! -e "$D/x.cu" ] || fail "it was built"
  }
  wrong '2:2: error: --tuned: an entry has an object "config" \[E807\]' ''
  wrong '2:71: error: --tuned: an entry has an object "config" \[E807\]' ', "config": [32]'
  wrong "2:72: error: --tuned: scale has no parameter 'bb'; did you mean 'b'\?" ', "config": {"bb": 32}'
  wrong '2:81: error: --tuned: "b" is there twice' ', "config": {"b": 32, "b": 64}'
  wrong "2:92: error: --tuned: 'persistant' is none of .*did you mean 'persistent'" \
    ', "config": {"b": 32}, "flags": {"persistant": 1}'
  wrong '2:92: error: --tuned: persistent=2: a switch is 0 or 1' ', "config": {"b": 32}, "flags": {"persistent": 2}'
  wrong '2:92: error: --tuned: stages=True: a value is a whole number' \
    ', "config": {"b": 32}, "flags": {"stages": true}'
  sizes='"kernel": "scale", "arch": "sm_80"' wrong '2:2: error: --tuned: an entry has an object "sizes"' ''
  echo '{"format": "tlc tuning 2", "entries": []}' > "$D/u.json"
  for o in "--tuned $D/u.json -o $D/x.cu" "--tune --no-run --space b=32 --save $D/u.json"; do
    # shellcheck disable=SC2086
    "$TLC" "$D/two.tl" --entry scale $o > "$D/out" 2> "$D/err"; same $? 2
    has "$D/err" 'u\.json:1:12: error: --(tuned|save): this tlc reads files of the format "tlc tuning 1"'
  done
  echo "{\"entries\": [{$sizes, \"config\": {\"b\": 32}, \"source\": \"0\"}]}" > "$D/t.json"
  for o in --strict --werror; do
    "$TLC" "$D/two.tl" --entry scale --tuned "$D/t.json" -o "$D/x.cu" $o 2> "$D/err"; same $? 1
    has "$D/err" '^tlc: error: --tuned .*the program has changed'
    "$TLC" "$D/two.tl" --entry scale --arch sm_90a --tuned "$D/t.json" -o "$D/x.cu" $o 2> "$D/err"; same $? 1
    has "$D/err" '^tlc: error: --tuned .*no entry for scale on sm_90a fits; there are some for sm_80$'
  done
}
case_configs_wrong() { # so with a space
  wrong() { # place and message; the file
    printf '%s' "$2" > "$D/c.json"
    rank samples/gemm_nt.tl "${SIZES[@]}" --configs "$D/c.json"; same $? 2
    has "$D/err" "$1"
  }
  wrong 'c\.json:1:1: error: --configs: a space is a list of configurations or an object of lists' 'null'
  wrong 'c\.json:2:2: error: --configs: a configuration is an object' $'[{"block_M": 64},\n 3]'
  wrong "c\\.json:1:13: error: --configs: a parameter's values are a list" '{"block_M": 64}'
  wrong 'c\.json:1:17: error: --configs: "block_M" is there twice' '[{"block_M": 1, "block_M": 2}]'
  wrong 'c\.json:1:3: error: --configs: a name is text in quotes' '[{block_M: 1}]'
  wrong 'c\.json:1:1: error: .*\[E106\]' '[{"block_M": 64}'
  wrong 'c\.json:1:1: error: --configs: no configurations for the kernel .matmul_nt.' \
    '[{"kernel": "x", "configs": []}]'
  wrong 'c\.json: it is empty' ''
  wrong 'c\.json: the space has no configuration' '[]'
  wrong 'c\.json:1:13: error: --configs: "block_M" has no value' '{"block_M": []}'
  wrong 'c\.json:1:14: error: --configs: a text holds no NUL' '[{"block_M": "\u0000"}]'
  rank samples/gemm_nt.tl --configs /dev/zero; same $? 2
  has "$D/err" '--configs /dev/zero: File too large'
  echo '[{"block_m": 64}]' > "$D/c.json"
  rank samples/gemm_nt.tl "${SIZES[@]}" --configs "$D/c.json" || fail "$(cat "$D/err")"
  has "$D/err" "no parameter 'block_m' that the space gives: left out; did you mean 'block_M'"
}

nvcc_that() { # a compiler of this body
  printf '#!/bin/bash\n[ "$1" = --version ] && exit\n%s\n' "$1" > "$D/nvcc"
  chmod +x "$D/nvcc"
  export CUDACXX=$D/nvcc
}
case_assembler_fails() { # its time, its files and its words have bounds
  axis=(samples/gemm_nt.tl "${SIZES[@]}" --space block_M=64 --no-cache)
  nvcc_that 'sleep 1000'
  SECONDS=0
  rank "${axis[@]}" --tune-timeout 1; same $? 1
  has "$D/err" '1 build failed: nvcc: no end within 1 s'
  [ "$SECONDS" -lt 15 ] || fail "it took $SECONDS s"
  nvcc_that 'while [ "$1" != -o ]; do shift; done; exec head -c 4000000000 /dev/zero > "$2"'
  rank "${axis[@]}"; same $? 1
  has "$D/err" '1 build failed: nvcc: signal 25'
  nvcc_that 'echo "k.cu(1): warning: odd"; printf "k.cu(9): error: bad \001\377 thing\n"; exit 2'
  rank "${axis[@]}" --json; same $? 1
  has "$D/err" '1 build failed: nvcc: exit status 2: k\.cu\(9\): error: bad \?\? thing$'
}
case_ranking_interrupted() { # by a signal, while it compiles or while nvcc runs: soon, and nothing is left
  nvcc_that "echo \$\$ >> '$D/pids'; sleep 1000"
  cat > "$D/stop.py" << 'END'
import signal, subprocess, sys, time
what, seconds = sys.argv[1], float(sys.argv[2])
p = subprocess.Popen(sys.argv[3:], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(seconds)
p.send_signal(getattr(signal, what))
begin = time.time()
said = p.communicate()[1].decode()
assert p.returncode == 128 + getattr(signal, what), (p.returncode, said)
assert "tlc: interrupted: the same command goes on from there" in said and "a bug" not in said, said
assert time.time() - begin < 10, "it went on"
END
  stop() { python3 "$D/stop.py" "$@" > "$D/out" 2>&1 || fail "$(cat "$D/out")"; }
  stop SIGINT 0.5 "$TLC" --tune --no-run samples/gemm_nt.tl -p M=512,N=512 -j 2 # seconds of work
  python3 - "$XDG_CACHE_HOME/tlc/tune.db" << 'END' || fail "all of it was compiled"
import sqlite3, sys
assert sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM result").fetchone()[0] < 288
END
  stop SIGTERM 0.5 "$TLC" --tune --no-run samples/gemm_nt.tl --roller -j 2
  [ ! -e "$D/pids" ] || fail "nvcc ran: it was too late"
  stop SIGINT 3 "$TLC" --tune --no-run samples/gemm_nt.tl "${SIZES[@]}" --space block_M=64,128 -j 2
  same "$(wc -l < "$D/pids")" 2
  for p in $(cat "$D/pids"); do ! kill -0 "$p" 2> /dev/null || fail "nvcc is left"; done
  same "$(find "$XDG_CACHE_HOME/tlc" -name 'draft-*')" ''
}
case_stdout_full() { # what cannot be printed is no success
  for o in "--tune --no-run --space block_M=64" "--tune --no-run --space block_M=64 --json" --list-configs; do
    # shellcheck disable=SC2086
    "$TLC" samples/gemm_nt.tl "${SIZES[@]}" $o > /dev/full 2> "$D/err"; same $? 3
    has "$D/err" 'tlc: stdout does not take all of it: No space left'
  done
}
case_roofline() { # of the program's own types: tuner/gpus.def
  while read -r file arch want; do
    rank "samples/$file.tl" --arch "$arch" --space block_M=64,128 --report "$D/r.html" || fail "$(cat "$D/err")"
    has "$D/r.html" "Roofline \\($want GB/s\\)"
  done << 'END'
gemm_nt sm_80 A100: 265 TFLOP/s of these products, 1400
gemm_int8 sm_80 A100: 530 TFLOP/s of these products, 1400
gemm_fp8 sm_90a H200: 1550 TFLOP/s of these products, 4200
END
}
case_native() { # a ranking has no emulator to fall back to
  command -v nvidia-smi > /dev/null && exit 77
  rank samples/gemm_nt.tl --space block_M=64 --arch native; same $? 3
  has "$D/err" '--arch native: no GPU.*: name a target'
}

case ${1-} in
  list) declare -F | sed -n 's/^declare -f case_//p' ;;
  run)
    D=$(mktemp -d /tmp/tlc-space-XXXXXX)
    trap 'rm -rf "$D"' EXIT
    export XDG_CACHE_HOME=$D/cache CUDACXX=/no/nvcc
    "case_$2"
    ;;
esac
