#!/bin/bash
# Cases of suite tune about the files of a search: saved, taken by a build, from Make and CMake, reported.
# SPDX-License-Identifier: MIT
case_tuned() { # a build by the file: no GPU, no nvcc, nothing searched
  tune --sweep K=1024,4096 --save "$D/g.json" || fail "$(cat "$D/err")"
  sed -i 's/\("K": 4096},\)/\1/; /"K": 4096/{n;s/"block_M": 128/"block_M": 64/}' "$D/g.json"
  export CUDACXX=/no/nvcc
  build() { "$TLC" samples/gemm_nt.tl --tuned "$D/g.json" -o "$D/x.cu" "$@" 2> "$D/err"; }
  build -p M=512,N=512,K=1024 || fail "$(cat "$D/err")"
  has "$D/x.cu" 'block_M=128, block_N=128, block_K=64, num_stages=3'
  [ ! -s "$D/err" ] || fail "$(cat "$D/err")"
  build -p M=512,N=512,K=2049; has "$D/x.cu" 'block_M=64,' # nearest by the logarithm: 4096, not 1024
  build -p M=512,N=512,K=2047; has "$D/x.cu" 'block_M=128,'
  build -p M=512,N=512,K=4096,block_M=32; has "$D/x.cu" 'block_M=32, block_N=128' # -p counts more
  sed '/"K": 1024/s/"enable_rasteration": true/"enable_rasteration": false/' "$D/g.json" > "$D/d.json"
  build --tuned "$D/d.json" -p M=512,N=512,K=1024; has "$D/x.cu" 'block_M=64,' # defaults count
  build -p M=512,N=512,K=1024 -MD -MF "$D/x.d"; has "$D/x.d" "samples/gemm_nt.tl $D/g.json"
  build --arch sm_90a; same $? 0
  has "$D/err" 'warning: --tuned .*: no entry for matmul_nt on sm_90a fits; there are some for sm_80'
  build --arch sm_90a --strict; same $? 1
  build --strict -p M=512,N=512,K=1024 || fail "$(cat "$D/err")"
  sed 's/T.clear(C_local)/T.fill(C_local, 0)/' samples/gemm_nt.tl > "$D/gemm_nt.tl"
  "$TLC" "$D/gemm_nt.tl" --tuned "$D/g.json" -o "$D/x.cu" 2> "$D/err" || fail "$(cat "$D/err")"
  has "$D/err" 'warning: --tuned .*has changed since it was tuned'
  "$TLC" "$D/gemm_nt.tl" --tuned "$D/g.json" -o "$D/x.cu" --strict 2> "$D/err"; same $? 1
  (echo "# a comment"; cat samples/gemm_nt.tl) > "$D/gemm_nt.tl"
  "$TLC" "$D/gemm_nt.tl" --tuned "$D/g.json" -o "$D/x.cu" --strict || fail "a comment makes it stale"
  echo '[1' > "$D/g.json"; build; same $? 2
  has "$D/err" '--tuned'
  build --tuned "$D/none.json"; same $? 2
}
case_tuned_entry() { # a file of several kernels, a list of targets
  tune --save "$D/g.json" || fail "$(cat "$D/err")"
  cat samples/gemm_nt.tl <(sed -n '/^@tilelang.jit/,$p' samples/gemm.tl) > "$D/two.tl"
  "$TLC" "$D/two.tl" --entry all --tuned "$D/g.json" -o "$D/x.cu" > "$D/out" 2>&1
  has "$D/out" 'warning: --tuned .*: it is for one kernel: name it by --entry'
  "$TLC" samples/gemm_nt.tl --arch sm_80,sm_90a --tuned "$D/g.json" -o "$D/x.cu" > "$D/out" 2>&1
  has "$D/out" 'warning: --tuned .*: an entry is for one target, and --arch names several'
}
case_save() { # entries of other sizes and kernels stay, those of the same are replaced
  tune --save "$D/g.json" -p K=1024 && tune --save "$D/g.json" -p K=512 || fail "$(cat "$D/err")"
  cp "$D/g.json" "$D/before"
  tune --save "$D/g.json" -p K=512 && cmp "$D/g.json" "$D/before" || fail "$(diff "$D/g.json" "$D/before")"
  times "$D/g.json" '"kernel"' 2
  mkdir "$D/at" && mv "$D/g.json" "$D/at/" && ln -s at/g.json "$D/g.json"
  tune --save "$D/g.json" -p K=4096 || fail "$(cat "$D/err")" # through the link
  [ -L "$D/g.json" ] && times "$D/at/g.json" '"kernel"' 3 || fail "the link is no more"
  sed -n '/"kernel"/s/.*"K": //p' "$D/g.json" | head -1 | grep -q '^512' || fail "not in order"
  python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$D/g.json" || fail "no JSON"
  chmod 640 "$D/at/g.json"
  tune --save "$D/g.json" -p K=8192; same "$(stat -c %a "$D/at/g.json")" 640
  echo '{"x": 1}' > "$D/other.json"; tune --save "$D/other.json"; same $? 2
  same "$(cat "$D/other.json")" '{"x": 1}'
  tune --save "$D/no/such/g.json"; same $? 3
}
case_save_together() { # who adds to a file waits for another who does, and loses nothing of it
  cat > "$D/other.py" << 'END'
import fcntl, os, subprocess, sys, time
folder = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)
fcntl.flock(folder, fcntl.LOCK_EX)
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
while "block_M=64" not in p.stdout.readline(): # the table, just before the file
    pass
time.sleep(1)
assert p.poll() is None and not os.path.exists(sys.argv[1]), "it did not wait"
with open(sys.argv[1], "w") as f:
    f.write('{"entries": [{"kernel": "other", "arch": "sm_80", "sizes": {}, "config": {}}]}')
os.close(folder)
assert p.wait() == 0
END
  # Its lines come as they are printed.
  python3 "$D/other.py" "$D/g.json" stdbuf -oL "$TLC" --tune --no-run samples/gemm_nt.tl -p M=512,N=512,K=512 \
    --space block_M=64 --save "$D/g.json" > "$D/out" 2>&1 || fail "$(cat "$D/out")"
  times "$D/g.json" '"kernel"' 2
}
snippet() { awk -v m="file=$1" '/^```/ { on = index($0, m) > 0; next } on' docs/tuning.md; } # of a document
project() { # the document's project in $D/p, with README's gemm.tl
  mkdir -p "$D/p" "$D/bin"
  ln -sf "$PWD/$TLC" "$D/bin/tlc"
  export PATH=$D/bin:$PATH
  unset TLC # the Makefile's own
  awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' README.md > "$D/p/gemm.tl"
  for f in gemm.tune.json Makefile CMakeLists.txt; do snippet $f > "$D/p/$f"; done
}
case_make() { # what docs/tuning.md shows: built by the file, rebuilt when it changes, renewed by `make tune`
  project
  make -s -C "$D/p" > "$D/out" 2>&1 || fail "$(cat "$D/out")"
  has "$D/p/gemm.cu" 'block_M=64, block_N=128, block_K=32, num_stages=3'
  make -C "$D/p" > "$D/out"; has "$D/out" 'up to date'
  sed -i 's/"block_N": 128/"block_N": 64/' "$D/p/gemm.tune.json"
  make -s -C "$D/p"; has "$D/p/gemm.cu" 'block_M=64, block_N=64'
  sed -i 's/^@tilelang.jit$/@tilelang.autotune(configs={"block_M": [64], "block_N": [128, 64]})\n&/' "$D/p/gemm.tl"
  make -s -C "$D/p" tune > "$D/out" 2>&1 || fail "$(cat "$D/out" "$D/p/gemm.tl")"
  has "$D/p/gemm.tune.json" '"block_M": 64, "block_N": 128'
  make -s -C "$D/p" > "$D/out" 2>&1; has "$D/p/gemm.cu" 'block_M=64, block_N=128'
  [ ! -s "$D/out" ] || fail "$(cat "$D/out")"
}
case_commands() { # each command of the document does what it says, in its order
  project
  space=$(snippet space.py) awk '/^@tilelang.jit$/ { print ENVIRON["space"] } 1' "$D/p/gemm.tl" > "$D/gemm.tl"
  mv "$D/gemm.tl" "$D/p/gemm.tl"
  cd "$D/p" || fail "no project"
  n=0
  while read -r command; do
    bash -c "$command" > "$D/out" 2> "$D/err" || fail "$command: $(cat "$D/out" "$D/err")"
    [ -z "$(cat "$D/err")" ] || [ -z "${command##*--tune *}" ] || fail "$command says: $(cat "$D/err")"
    n=$((n + 1))
  done < <(sed -n 's/^    \(tlc .*\)/\1/p' "$OLDPWD/docs/tuning.md")
  same "$n" 5
  has gemm.cu 'block_M=128, block_N=128, block_K=64' # fake_runner.py's best
}
case_cmake() {
  for t in cmake ninja nvcc; do
    PATH=$PATH:/usr/local/cuda/bin command -v $t > /dev/null || { echo "no $t"; exit 77; }
  done
  project
  unset CUDACXX
  PATH=$PATH:/usr/local/cuda/bin
  (cmake -G Ninja -S "$D/p" -B "$D/b" && cmake --build "$D/b") > "$D/out" 2>&1 || fail "$(tail "$D/out")"
  has "$D/b/gemm.cu" 'block_M=64, block_N=128'
  cmake --build "$D/b" > "$D/out"; has "$D/out" 'no work to do'
  sed -i 's/"block_N": 128/"block_N": 64/' "$D/p/gemm.tune.json"
  cmake --build "$D/b" > "$D/out" 2>&1 || fail "$(tail "$D/out")"
  has "$D/b/gemm.cu" 'block_M=64, block_N=64'
}
case_report_names() { # what people wrote is no markup
  echo '{"block_M": [64], "num_stages": [2, "<3>"]}' > "$D/<b>.json"
  "$TLC" --tune --arch=sm_80 samples/gemm_nt.tl -p M=512,N=512 --configs "$D/<b>.json" --sweep 'K=<i>,2048' \
    --report "$D/r.html" > "$D/out" 2> "$D/err"; same $? 1
  has "$D/r.html" '<h2>K = &lt;i&gt;</h2>'
  has "$D/r.html" '1 wrong|block_M=64,num_stages=&lt;3&gt;'
  has "$D/r.html" 'from [^<]*/&lt;b&gt;.json'
  lacks "$D/r.html" '<i>|<b>|<3>'
}
case_report() { # one page that needs nothing else
  FAKE_RUNNER='wrong:block_M=64,block_N=64' tune --sweep K=1024,2048 --report "$D/r.html" || fail "$(cat "$D/err")"
  times "$D/r.html" '<h2>K = ' 2
  same "$(grep -o '<svg' "$D/r.html" | wc -l)" 8 # three parameters and the roofline, twice
  same "$(grep -o '<circle' "$D/r.html" | wc -l)" 48 # six candidates in each
  has "$D/r.html" 'class=best><td>1<td>0.2024<td>0.2019 &ndash; 0.2029'
  has "$D/r.html" '2 wrong: C: 1 of 4096 elements differs'
  lacks "$D/r.html" 'src=|href=|http'
  python3 - "$D/r.html" << 'END' || fail "ill-formed"
import sys
from html.parser import HTMLParser
class Check(HTMLParser):
    stack = []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "tr", "td", "th"): self.stack.append(tag)
    def handle_startendtag(self, tag, attrs): pass
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
Check().feed(open(sys.argv[1]).read())
assert not Check.stack
END
}
