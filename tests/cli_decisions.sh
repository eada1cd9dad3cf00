#!/bin/bash
# Cases of suite cli that ask what the passes decided, where no value tells: by remarks.
# SPDX-License-Identifier: MIT
case_shared_memory_saved() { # what a kernel gives up whose tiles do not fit, unless it was asked for
  tight() {
    "$TLC" --arch=sm_90a --remarks -p M=128,N=256,K=328 "$@" tests/cases/roles_tight.tl -o "$D/x.cu" 2>&1 |
      grep -oE 'done without .*: with|persistent: each|E520' | tr '\n' ' '
  }
  same "$(tight -p early=0,scale=0)" "persistent: each "
  same "$(tight -p early=0,scale=0 -fno-persistent)" ""
  same "$(tight -p early=0,scale=1)" "done without persistent blocks: with "
  same "$(tight -p early=0,scale=1 -fpersistent)" "done without a producer: with "
  same "$(tight -p early=1,scale=0)" "done without a producer: with "
  same "$(tight -p early=1,scale=0 -fwarp-specialize)" "done without persistent blocks: with E520 "
  "$TLC" --arch=sm_90a --remarks -p M=200 tests/cases/roles_two_loops.tl -o "$D/x.cu" 2>&1 |
    grep -q 'As: a channel of 7 slots' || fail "the producer's ring leaves no room to the other loop's"
}
case_wgmma() { # of every type; of 8 and 32 bits one operand may lie across K
  for s in gemm gemm_bf16 gemm_int8 gemm_fp8 gemm_tf32; do
    "$TLC" --arch=sm_90a --remarks samples/$s.tl -o "$D/x.cu" 2>&1 | grep -q 'wgmma m64n128' || fail "$s"
  done
  form() { # threads load the operand across K: B's are the rows of the transposed product
    "$TLC" --arch=sm_90a --remarks tests/cases/gemm_forms.tl -p "dtype=float32,$1" -o "$D/x.cu" 2>&1 |
      grep -oE "threads load .*|wgmma m64.*"
  }
  same "$(form tb=0,bm=48,bn=128,threads=256)" "$(printf '%s\n' \
    'threads load Bs, and the product is that of the transposes' \
    'wgmma m64n48k8 tfloat32 -> float32 on 1 x 2 warpgroups, each 48 x 64')"
  same "$(form ta=1,tb=1,bm=128,bn=48,threads=256)" "$(printf '%s\n' 'threads load As' \
    'wgmma m64n48k8 tfloat32 -> float32 on 2 x 1 warpgroups, each 64 x 48')"
  same "$(form dtype=int8,acc=int32,ta=1,tb=1,bm=128,bn=48,threads=256)" "$(printf '%s\n' 'threads load As' \
    'wgmma m64n48k32 int8 -> int32 on 2 x 1 warpgroups, each 64 x 48')"
}
case_turned() { # where both lie across K the smaller one is turned, where there is memory for it
  turned() {
    "$TLC" --arch=sm_90a --remarks tests/cases/gemm_forms.tl -p "dtype=int8,acc=int32,$1" -o "$D/x.cu" 2>&1 |
      grep -oE 'for wgmma .*|no operand is turned|not by wgmma.*|threads load [A-Z]s|turned by ldm.*' |
      sort | tr '\n' '|'
  }
  by='turned by ldmatrix.trans and stmatrix to'
  same "$(turned ta=1,tb=0,bm=128)" "for wgmma Bs is turned in shared memory first|threads load As|$by Bs_turned|"
  same "$(turned ta=1,tb=0,bn=128)" "for wgmma As is turned in shared memory first|threads load Bs|$by As_turned|"
  same "$(turned ta=1,tb=0,bn=96)" "for wgmma Bs is turned in shared memory first|threads load As|$by Bs_turned|"
  same "$(turned ta=0,tb=0)" "threads load Bs|"
  same "$(turned ta=0,tb=0,af=1)" "for wgmma Bs is turned in shared memory first|$by Bs_turned|"
  same "$(turned ta=1,tb=0,bm=256,bn=128,bk=192,K=768,threads=256,stages=3)" \
    "no operand is turned|not by wgmma: Bs of 8 bits lies not along K|"
  "$TLC" --arch=sm_90a --remarks bench/gemm_forms.tl -p M=8192,N=8192,block_K=128,trans_A=True,dtype=int8 \
    -p out_dtype=int32,accum_dtype=int32 -fno-slabs -o "$D/x.cu" 2>&1 |
    grep -oE "done without [a-z ]*|for wgmma [AB]" > "$D/out"
  same "$(sort -u "$D/out")" "$(printf '%s\n' 'done without persistent blocks' 'for wgmma A')"
}
case_tile_barriers() { # none between stores of a persistent block's tiles, nor within those of one with far rows
  "$TLC" --arch=sm_90a samples/gemm_tf32.tl -p M=8192,N=8192,K=64,block_M=256,threads=256 -o "$D/x.cu" || fail emit
  same "$(grep -c 'tlc_bar_sync<256>(1);' "$D/x.cu")" 0
}
case_not_wgmma() { # the reason why a product is none, and why a copy is no TMA's
  why() { "$TLC" --arch=sm_90a --remarks "$@" -o "$D/x.cu" 2>&1 | grep -oE 'not by wgmma: .*'; }
  across="tests/cases/gemm_forms.tl -p dtype=float32,M=64,N=64,K=64"
  same "$(why samples/gemm_tf32.tl -p block_M=192)" \
    "not by wgmma: 192 accumulators and 62 others are more than 240 registers"
  same "$(why $across,ta=1,tb=0)" "not by wgmma: Bs of 32 bits lies not along K"
  same "$(why $across,ta=1,tb=0,dtype=int8,acc=int32,bf=1)" "not by wgmma: Bf of 8 bits lies not along K"
  same "$(why $across,ta=0,tb=0,af=1)" "not by wgmma: Bs of 32 bits lies not along K"
  same "$(why $across,ta=0,tb=0,bn=96)" "not by wgmma: 96 x 64 has no whole parts of 64 x 8 for 1 warpgroup"
  same "$(why samples/gemm_nt.tl -fno-wgmma)" "not by wgmma: -fno-wgmma"
  same "$(why samples/gemm_nt.tl -p thread_num=64)" "not by wgmma: the threads are no whole warpgroups, of 128 each"
  same "$(why samples/gemm_nt.tl -p block_K=24)" "not by wgmma: K = 24 is no multiple of 16"
  same "$(why samples/gemm_nt.tl -p block_M=32)" "not by wgmma: 32 x 256 has no whole parts of 64 x 8 for 2 warpgroups"
  same "$(why samples/gemm_nt.tl -p block_M=192,thread_num=512)" \
    "not by wgmma: 96 accumulators and 30 others are more than 112 registers"
  same "$(why samples/gemm_nt.tl)" ""
  "$TLC" --arch=sm_90a --remarks samples/gemm.tl -p M=100 -o "$D/x.cu" 2>&1 |
    grep -oE '(copy|guard|pipeline): .*' | sort -u > "$D/out"
  same "$(cat "$D/out")" "$(printf '%s\n' 'copy: 16-byte accesses' 'copy: by TMA' \
    'guard: dimension 0 of C: not proved: 128 <= 100' 'guard: none: TMA reads zeros outside of A')"
}
case_tight_registers() { # a kernel that may spill says that one block is enough: ptxas would take 32 registers
  bounds() { "$TLC" samples/gemm_nt.tl -p "$1" -o - 2> "$D/log" | grep -oE '__launch_bounds__\([0-9, ]*\)'; }
  same "$(bounds block_M=192,thread_num=512,num_stages=2)" "__launch_bounds__(512, 1)" # 96 accumulators of 128
  same "$(bounds block_N=128,thread_num=512)" "__launch_bounds__(512)"
  same "$(bounds block_M=256,block_K=32,num_stages=2)" "__launch_bounds__(256)" # 255 is all that there is
}
case_teams() { # even where asked for, only with registers for all that a team multiplies
  teams() { "$TLC" --arch=sm_90a --remarks "$@" -o "$D/x.cu" 2>&1 | grep -oE '[0-9] teams of [0-9]+'; }
  same "$(teams samples/gemm_nt.tl -p block_N=192,thread_num=128)" "2 teams of 128" # 96 of 208
  same "$(teams samples/gemm_nt.tl -p block_N=128 -fping-pong)" "2 teams of 256" # 64 of 112
  same "$(teams samples/flash_attention.tl -p block_N=64 -fping-pong)" "" # O, S and P: 64, 32 and 16 of 112
}
case_late_registers() { # what is in registers beside the products counts: of 232, 36 are for the rest
  late() {
    "$TLC" --arch=sm_90a --remarks -p M=1024,N=1536,K=128,bm=128,"$@" tests/cases/late_conditions.tl -o "$D/x.cu" 2>&1 |
      grep -oE "a tile's stores, [0-9].*"
  }
  says() { same "$(late "$1")" "a tile's stores, $2, run beside the next tile's products, from $3 registers"; }
  says bn=256,how=0 4 64 # 128 accumulators
  says bn=192,how=3 3 48 # 96, and 48 of the row
  same "$(late bn=256,how=3)" "" # 128, 64 and 64
}
case_late_waits() { # products that fly: of 4 peeled iterations the first has none before it to wait for
  "$TLC" --arch=sm_90a -p M=8192,N=8192,K=256 -flate-stores -fwgmma-ahead samples/gemm_nt.tl -o "$D/x.cu" || fail emit
  same "$(grep -c 'tlc_wgmma_commit();' "$D/x.cu") $(grep -c 'tlc_wgmma_wait<1>();' "$D/x.cu")" "4 3"
}
case_protocol() { # of channels, explained once a file that has some
  told() { grep -c '^// A channel is a ring' "$D/x.cu"; }
  "$TLC" --arch=sm_90a samples/linear_attention.tl -o "$D/x.cu" || fail emit
  same "$(grep -c '_full = ' "$D/x.cu") $(told)" "3 1"
  "$TLC" --arch=sm_80,sm_90a samples/gemm.tl -o "$D/x.cu" || fail emit
  same "$(told)" 1
  "$TLC" --arch=sm_90a -fno-warp-specialize samples/gemm.tl -o "$D/x.cu" || fail emit
  same "$(told)" 0
}
case_traps() { # -g traps facts of the source, not those that the passes made: branches would serialise wgmma
  traps() { "$TLC" -g --arch=sm_90a "$@" -o "$D/x.cu" && grep -c 'tlc_trap();$' "$D/x.cu"; }
  same "$(traps samples/gemm_nt.tl -fcluster=2 -flate-stores)" 0
  same "$(traps samples/gemm.tl -fno-persistent -fraster=2)" 0
  sed 's/^            T.clear(C_local)/            T.assume(bx < 7)\n&/' samples/gemm.tl > "$D/fact.tl"
  same "$(traps "$D/fact.tl")" 1
}
case_starved() { # a product that has registers enough only without a producer gets none, unless it is forced
  starved() {
    "$TLC" --arch=sm_90a --remarks tests/cases/gemm_forms.tl ${2-} \
      -p M=256,N=256,K=256,af=1,threads=512,bm=128,bn=256,bk="$1" -o "$D/x.cu" 2>&1 |
      grep -oE 'no producer: .*|: a channel of'
  }
  same "$(starved 64)" "$(printf '%s\n' ': a channel of' ': a channel of')"
  same "$(starved 128)" "no producer: this takes about 126 registers of a thread, which has 128, and 112 beside one"
  same "$(starved 128 -fwarp-specialize)" "$(printf '%s\n' ': a channel of' ': a channel of')"
}
case_copies_in_flight() { # wgmma waits for the step's own copies by cp.async, not for those of later steps
  "$TLC" --arch=sm_90a -fno-warp-specialize -p num_stages=4 samples/gemm.tl -o "$D/x.cu" || fail emit
  same "$(grep -o 'tlc_cp_async_wait<[0-9]*>();' "$D/x.cu" | sort | uniq -c | tr -s ' ')" \
    " 1 tlc_cp_async_wait<2>();"
  same "$(grep -A1 'tlc_cp_async_wait<2>();' "$D/x.cu" | tail -n 1)" "    tlc_fence_proxy_async_shared();"
}
case_slabs() { # stores by slabs where every warpgroup has all columns, not where half would wait
  slabs() {
    "$TLC" --arch=sm_90a --remarks -p M=264,N=512,K=136,block_N=256 "$@" samples/gemm_nt.tl -o "$D/x.cu" 2>&1 |
      grep -oE '[0-9] x [0-9] warpgroups|slabs of' | tr '\n' ' '
  }
  same "$(slabs)" "2 x 1 warpgroups slabs of "
  same "$(slabs -p block_M=64,thread_num=256)" "1 x 2 warpgroups "
  "$TLC" --arch=sm_90a --remarks -p block_M=256,block_N=128,block_K=32,dtype=float32,out_dtype=float32 \
    bench/gemm_forms.tl -o "$D/x.cu" 2>&1 | grep -q '8 slabs of 32 rows' || fail "rows of the product of the transposes"
}
case_reductions() { # by TMA, from slabs whose pairs of elements are stored together, but for what TMA cannot
  reductions() {
    "$TLC" --arch=sm_90a --remarks "$@" -o "$D/x.cu" > "$D/out" 2>&1 || echo failed
    grep -oE 'by TMA, whole|slabs of' "$D/out" | tr '\n' ' '
  }
  same "$(reductions -p split_k=2,out_dtype=float32,trans_B=True bench/gemm_forms.tl)" "slabs of by TMA, whole "
  [ "$(grep -c 'tlc_store_8(&C_shared' "$D/x.cu")" = 8 ] || fail "stores of single elements"
  for form in 0 4; do
    same "$(reductions tests/cases/tma_reduce.tl -p DT=int32,form=$form)" "by TMA, whole "
  done
  for form in 1 2 3 5; do same "$(reductions tests/cases/tma_reduce.tl -p DT=int32,form=$form)" ""; done
}
case_box_loops() { # loops over the elements of boxes go out as boxes
  for form in 0 1 2 3 4 5 6 7 8; do
    "$TLC" --arch=sm_90a tests/cases/box_loops.tl -p form=$form -o "$D/x.cu" || fail "form $form"
    same "$form: $(grep -c 'tlc_tma_[a-z]*_[12]d(&C' "$D/x.cu")" "$form: $((form < 3 ? 2 : 0))"
  done
  for form in 0 1 2; do
    "$TLC" --arch=sm_90a tests/cases/box_loads.tl -p form=$form -o "$D/x.cu" || fail "loads, form $form"
    same "$form: $(grep -c 'tlc_tma_load_2d(&' "$D/x.cu")" "$form: $((form == 1 ? 0 : 2))"
  done
}
case_slots() { # a slot that wgmma multiplies comes from one lane, in loops that do nothing else
  lanes() { "$TLC" --arch=sm_90a "$@" -o "$D/x.cu" && grep -cE '_slot[a-z_0-9]* = tlc_shuffle_index' "$D/x.cu"; }
  same "$(lanes samples/gemm_nt.tl -fno-late-stores)" 1
  same "$(lanes samples/gemm_nt.tl -p block_N=192,thread_num=128)" 1
  same "$(lanes samples/gemm_nt.tl)" 0
  same "$(lanes samples/flash_attention.tl)" 0
  same "$(lanes samples/gemm_nt.tl -fno-wgmma)" 0
  cat > "$D/counts.tl" << 'END' # and no other counter does
import tilelang.language as T


@T.prim_func
def counts(A: T.Tensor((256, 512), T.float16), B: T.Tensor((256, 512), T.float16),
           C: T.Tensor((256, 256), T.float32), D: T.Tensor((4,), T.int32)):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        As = T.alloc_shared((128, 64), T.float16)
        Bs = T.alloc_shared((128, 64), T.float16)
        Cl = T.alloc_fragment((128, 128), T.float32)
        n = T.alloc_var(T.int32, init=0)
        T.clear(Cl)
        for k in T.Pipelined(8, num_stages=3):
            T.copy(A[by * 128, k * 64], As)
            T.copy(B[bx * 128, k * 64], Bs)
            T.gemm(As, Bs, Cl, transpose_B=True)
            seen: T.int32 = n
            if seen < 5:
                n = seen + 2
        T.copy(Cl, C[by * 128, bx * 128])
        D[by * 2 + bx] = n
END
  same "$(lanes "$D/counts.tl")" 1
  same "$(grep -c ' = tlc_shuffle_index' "$D/x.cu")" 1
}
case_late_columns() { # what is evened out, and when not
  says() { "$TLC" tests/cases/columns.tl --arch=sm_90a --remarks -p "$@" -o "$D/x.cu" 2>&1 | grep 'columns:'; }
  of=M=264,N=512,K=136,bn=128
  says $of,form=0 -fcolumns=7 | grep -q '7 tiles of 64 columns, the last one of 128' || fail "not evened out"
  says $of,form=0 -fcolumns=6 | grep -q 'no such number' || fail "an odd step"
  says $of,form=3 -fcolumns=7 | grep -q 'depend on its place' || fail "a bias"
  says $of,form=2 -fcolumns=7 | grep -q 'are for late stores' || fail "no late stores"
}
case_neighbours() { # rows that no wide access fits: neighbouring threads have neighbouring elements
  "$TLC" --remarks -p off=1,W=72 tests/cases/case15_unaligned_async.tl -o "$D/x.cu" > "$D/out" 2>&1 || fail emit
  ! grep 'scalar accesses' "$D/out" || fail "elements one by one"
}
case_clusters() { # what is shared along which axis, and why not
  says() {
    "$TLC" "$1" --arch=sm_90a --remarks "${@:3}" -o "$D/x.cu" 2>&1 | grep -q "$2" || fail "$* does not say: $2"
  }
  c=tests/cases/cluster.tl
  says $c 'of 2 blocks along axis z' -fcluster=2 -p batch=2,M=64,N=64,K=64
  says $c 'no clusters: axis x: no tile for wgmma' -fcluster=4 -p batch=1,M=64,N=200,K=40,plain=1
  says $c 'along axis z, the last perhaps with fewer tiles' -fcluster=2 -p batch=3,M=64,N=64,K=40
  says $c 'axis x: it has too few blocks; y: .*; z: it has too few' -fcluster=4 -p batch=3,M=64,N=64,K=40
  says $c 'axis x: the bounds of a loop differ' -fcluster=2 -p batch=1,M=64,N=128,K=40,bounds=1
  says samples/gemm_nt.tl 'of 2 blocks along axis y' -fcluster=2
  grep -q 'tlc_tma_multicast_2d(' "$D/x.cu" || fail "no multicast"
  says samples/gemm_nt.tl 'blocks loads a part of B_shared' -fcluster=4
  grep -q 'attribute\[0\].val.clusterDim.x = 4;' "$D/x.cu" || fail "no cluster of 4 is launched"
  grep -q 'tlc_resident(&config, matmul_nt_k0, 4);' "$D/x.cu" || fail "more clusters than run at once"
  # Of the larger operand's tiles, unless too many blocks were without one.
  tiles() { says samples/gemm_nt.tl "$1" -fcluster=2 -p K=256,thread_num=128,block_M="$2",block_N="$3",M="$4",N="$5"; }
  tiles 'of 2 blocks along axis y$' 128 192 8192 8192
  tiles 'of 2 blocks along axis x$' 192 128 8192 8192
  tiles 'of 2 blocks along axis y, the last' 64 192 4160 4096
  tiles 'of 2 blocks along axis x$' 128 192 384 384
  [ "$(grep -c 'tlc_bar_arrive<' "$D/x.cu")" = 1 ] || fail "how often the teams take turns"
  tiles 'of 2 blocks along axis x, the last' 192 128 192 384
  [ "$(grep -c 'tlc_bar_arrive<' "$D/x.cu")" = 2 ] || fail "teams take turns only behind a tile that is there"
  says samples/flash_attention.tl 'no clusters: axis x: no tile .*y: the bounds of a loop' -fcluster=2 -p causal=True
  says samples/flash_attention.tl 'blocks loads a part of V_shared' -fcluster=2
  says samples/softmax.tl 'no clusters: no producer' -fcluster=2
}
case_raster() { # panels: the program's, one's own, none
  panels() { "$TLC" --remarks samples/gemm_nt.tl -o "$D/x.cu" "$@" 2>&1 | grep -oE 'panels of .*'; }
  same "$(panels)" "panels of 10 blocks"
  same "$(panels -fraster=16)" "panels of 16 blocks"
  same "$(panels -fno-raster)" ""
  same "$(panels -fraster=7 --arch sm_90a -fcluster=2 -p M=4096,N=4096)" "panels of 7 blocks"
}
case_stream_stores() { # stores of what the L2 cache cannot keep, and is not read, leave it first
  first() {
    "$TLC" --arch=sm_90a -fno-late-stores "$@" -o "$D/x.cu" && grep -cE 'tma_store_.*tlc_evict_first' "$D/x.cu"
  }
  same "$(first samples/gemm_nt.tl -p M=4096,N=4096)" 4
  same "$(first samples/gemm_nt.tl -p M=3072,N=4096)" 0 # 24 of 50 MiB
  same "$(first samples/gemm_nt.tl -p M=3072,N=4096 -fstream-stores)" 4
  same "$(first samples/gemm_nt.tl -p M=4096,N=4096 -fno-stream-stores)" 0
  same "$(first samples/gemm_symbolic_m.tl -p N=4096)" 0 # nobody knows
}
case_pdl() { # kernels wait for those before them on the stream, behind what sets up their barriers
  local wanted='^  tlc_grid_wait\(\);|ProgrammaticStreamSerialization;'
  waits() { "$TLC" --arch=sm_90a "$@" -o "$D/x.cu" && grep -cE "$wanted" "$D/x.cu"; }
  same "$(waits samples/softmax.tl)" 2
  same "$(waits samples/splitk_workspace.tl)" 4
  same "$(waits samples/gemm_nt.tl -fcluster=2)" 2
  grep -q 'config.numAttrs = 2;' "$D/x.cu" || fail "no cluster beside it"
  grep -B 1 '^  tlc_grid_wait' "$D/x.cu" | grep -q cluster_wait || fail "it does not stand behind the barriers"
  same "$(waits samples/gemm_nt.tl -fno-pdl)" 0
  same "$("$TLC" samples/softmax.tl -o - | grep -c grid_wait)" 0 # sm_80
}
case_pdl_beside() { # a producer that has nothing to do with the kernel before it does not wait for that
  local case=tests/cases/kernels_beside.tl form=bench/gemm_forms.tl split=trans_B=True,split_k=3,out_dtype=float32
  said() { "$TLC" --arch=sm_90a "$@" -o "$D/x.cu" && grep -oE 'tlc_grid_(wait|trigger)\(\);' "$D/x.cu" | xargs; }
  same "$(said $case)" 'tlc_grid_wait(); tlc_grid_trigger(); tlc_grid_wait(); tlc_grid_wait();'
  grep -B 1 'tlc_grid_wait' "$D/x.cu" | grep -q bar_sync || fail "it does not wait right before it adds"
  same "$(grep -c 'SerializationAllowed = 1' "$D/x.cu")" 2
  says $case 'starts beside the kernel before it'
  same "$(said $case -p form=1)" 'tlc_grid_wait(); tlc_grid_wait();'
  same "$(said $case -fno-warp-specialize)" 'tlc_grid_wait(); tlc_grid_wait();'
  same "$(said $case -fno-pdl)" ''
  same "$(said $form --zero C -p $split)" 'tlc_grid_wait(); tlc_grid_trigger(); tlc_grid_wait(); tlc_grid_wait();'
  grep -q cudaMemset "$D/x.cu" && fail "a memset beside the kernel"
  "$TLC" --arch=sm_80,sm_90a $form --zero C -p $split -o "$D/x.cu" && same "$(grep -c cudaMemsetAsync "$D/x.cu")" 1
  sed 's/N=264/N=T.dynamic("N")/' $case > "$D/n.tl"
  said "$D/n.tl" > "$D/log" && grep -q 'SerializationAllowed = .*N.* > 0;' "$D/x.cu" || fail "beside no kernel"
}
case_tma_maps() { # fetched at the start, once each; how much L2 fetches for a copy is one's own to say
  maps() {
    "$TLC" --arch=sm_90a samples/gemm_nt.tl -o "$D/x.cu" "$@" && grep -oE "$wanted" "$D/x.cu" | sort | uniq -c | xargs
  }
  local wanted='tma_prefetch\(&[ABC]_map'
  same "$(maps)" "1 tma_prefetch(&A_map 1 tma_prefetch(&B_map 1 tma_prefetch(&C_map"
  wanted='PROMOTION_(NONE|L2_[0-9]+B)'
  same "$(maps)" "3 PROMOTION_L2_256B"
  same "$(maps -fl2-fetch=128)" "3 PROMOTION_L2_128B"
  same "$(maps -fno-l2-fetch)" "3 PROMOTION_NONE"
}
case_single_steps() { # k-steps of 8-bit floats one by one where two do not fit a thread's registers
  step() {
    "$TLC" --arch=sm_90a --remarks -fno-wgmma tests/cases/gemm_forms.tl \
      -p M=256,N=256,K=256,bk=64,dtype=float8_e4m3 "$@" -o "$D/x.cu" > "$D/out" 2>&1 || fail "$(cat "$D/out")"
    if grep -q 'k-steps one by one: with two in registers a thread takes about 262, and has 240' "$D/out"; then
      grep -A1 '#pragma unroll 1$' "$D/x.cu" | grep -q 'for (int ks = 0' || fail "$* unrolls the steps"
      echo one
    fi
  }
  same "$(step -p bm=128,bn=128)" one
  "$TLC" --arch=sm_90a --remarks -fno-wgmma tests/cases/gemm_forms.tl -fno-warp-specialize -o "$D/x.cu" \
    -p M=256,N=256,K=256,bk=64,dtype=float8_e4m3,bm=128,bn=128 2>&1 | grep -q 'has 255' ||
    fail "the consumers' registers"
  same "$(step -p bm=128,bn=64)" ''
  same "$(step -p bm=128,bn=128,dtype=int8,acc=int32)" ''
  same "$(step -p bm=128,bn=128,af=1)" '' # registers of a fragment have no run-time index
}
case_flag_values() { # a value that a flag has not is refused, with the nearest that it has
  refused() { # -fNAME[=VALUE], what is said
    "$TLC" samples/gemm.tl "$1" -o "$D/x.cu" 2> "$D/err" && fail "$1 is taken"
    grep -qF -- "$2" "$D/err" || fail "$1: $(cat "$D/err")"
  }
  refused -fcluster=3 '-fcluster=3: it takes 0 or one of 2|4|8; the nearest is 2'
  refused -fcluster=1 'the nearest is 0'
  refused -fcluster=16 'the nearest is 8'
  refused -fcluster '-fcluster wants one of 2|4|8'
  refused -fl2-fetch=100 '-fl2-fetch=100: it takes 0 or one of 64|128|256; the nearest is 128'
  refused -fstages=65 '-fstages=65: it takes 0..64; the nearest is 64'
  refused -fmin-blocks=99 '-fmin-blocks=99: it takes 0..32; the nearest is 32'
  refused -fpersistent=5 '-fpersistent=5: a switch is 0 or 1; the nearest is 1'
  for f in -fcluster=8 -fcluster=0 -fno-cluster -fl2-fetch=256 -fpersistent=1 -fno-l2-fetch; do
    "$TLC" samples/gemm.tl $f -o "$D/x.cu" || fail "$f"
  done
}
# A chain of thousands of values that each need the one before: no pass walks it once a value.
case_long_chain() {
  cat > "$D/chain.tl" << 'END'
import tilelang.language as T


def grown(x, n):
    for _ in range(n):
        x = x + 1.0
    return x


@T.prim_func
def chain(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            C[i] = grown(A[i], 6000)
END
  (ulimit -t 20 && "$TLC" "$D/chain.tl" -o "$D/chain.cu") || fail "more than 20 s of a processor"
  grep -q ', x5999);' "$D/chain.cu" || fail "$(tail -n 80 "$D/chain.cu" | head -n 5)"
}
case_numbers_again() { # the number after a name is free where the name's scope has ended
  cat > "$D/again.tl" << 'END'
import tilelang.language as T


@T.prim_func
def again(C: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.serial(2):
            for i in T.serial(3):
                C[i] = 0
        for i in T.serial(4):
            for i in T.serial(5):
                C[i] = 1
END
  same "$("$TLC" --emit=tile "$D/again.tl" -o - | grep -oE 'for i[_0-9]*' | tr '\n' ' ')" "for i for i_1 for i for i_1 "
}
# A tree of conditions that ask memory: what guards nobody can follow tell no two accesses apart.
case_tree_of_conditions() {
  cat > "$D/tree.tl" << 'END'
import tilelang.language as T


def tree(A, n, i):
    if n == 0:
        A[i] = 1
    elif A[i] > n:
        tree(A, n - 1, i)
    else:
        tree(A, n - 1, i)


@T.prim_func
def conditions(A: T.Tensor((64,), "int32")):
    with T.Kernel(1, threads=64):
        tree(A, 8, T.get_thread_binding())
END
  (ulimit -t 6 && "$TLC" "$D/tree.tl" -o "$D/tree.cu") || fail "more than 6 s of a processor"
}
case_kept() { # what only wgmma reads from iteration to iteration is read once more behind the loop
  kept() { "$TLC" --arch=sm_90a "$@" -o "$D/x.cu" && grep -o 'tlc_wgmma_keep<[0-9]*>(.*)' "$D/x.cu" | tr '\n' ' '; }
  for form in 0 2; do
    same "$(kept tests/cases/wgmma_kept.tl -p L=320,M=100,form=$form)" "tlc_wgmma_keep<32>(A) "
  done
  same "$(kept tests/cases/wgmma_kept.tl -p L=320,M=100,form=1)" "" # rewritten through shared memory
  same "$(kept tests/cases/overlap_refused.tl -p L=320,M=200,mode=4)" "tlc_wgmma_keep<32>(A) "
  same "$(kept tests/cases/overlap_refused.tl -p L=320,M=200,mode=2)" ""
  same "$(kept samples/flash_attention.tl)" ""
}
case_barriers_told() { # whose they are: those between threads and a producer are not the program's
  told() { "$TLC" --remarks "$@" -o "$D/x.cu" 2>&1 | grep -o 'sync: [0-9]* barr.*'; }
  same "$(told samples/gemm.tl)" "sync: 1 barrier, 0 of them the program's"
  same "$(told samples/gemm.tl --arch sm_90a)" "sync: 1 barrier, 0 of them the program's"
  printf '%s\n' 'import tilelang.language as T' '@T.prim_func' 'def k(A: T.Tensor((64,), "float32")):' \
    '    with T.Kernel(1, threads=64):' '        A[0] = 1' '        T.sync_threads()' '        A[1] = 2' \
    '        T.sync_threads()' '        A[2] = 2' > "$D/k.tl"
  same "$(told "$D/k.tl")" "sync: 2 barriers, 2 of them the program's"
}
case_depth_told() { # a ring of another depth than the program asks for
  told() { "$TLC" --arch sm_90a --remarks samples/gemm.tl "$@" -o "$D/x.cu" 2>&1 | grep -o 'a channel of .*'; }
  same "$(told)" "a channel of 8 slots where num_stages asks for 3, 16384 bytes each, by TMA"
  same "$(told -fstages=4)" "a channel of 4 slots where num_stages asks for 3, 16384 bytes each, by TMA"
  same "$(told -fstages=3)" "a channel of 3 slots, 16384 bytes each, by TMA"
  "$TLC" --arch sm_90a --remarks samples/flash_attention.tl -o "$D/x.cu" 2>&1 |
    grep -q 'Q_shared: a channel of 2 slots, 32768' || fail "a tile outside of loops has no num_stages"
}
case_installed() { # with the documents that --help points to, and those that they point to
  make -s install BUILD="$BUILD" PREFIX="$D/p" > "$D/log" 2>&1 || fail "$(cat "$D/log")"
  [ -x "$D/p/bin/tlc" ] && [ -s "$D/p/share/man/man1/tlc.1" ] || fail "no tlc, or no man page"
  for f in $("$TLC" --help | grep -o 'docs/[a-z.-]*\.md'); do
    cmp -s "$f" "$D/p/share/doc/tlc/${f#docs/}" || fail "$f"
  done
}
case_guard() { # what the text says that it is for
  for arch in sm_80 sm_90a; do
    "$TLC" samples/gemm.tl --arch $arch -o "$D/$arch.cu"
  done
  grep -q '^#error "this file is for sm_80 and newer GPUs"$' "$D/sm_80.cu" || fail sm_80
  grep -q '^#error "this file is for sm_90a"$' "$D/sm_90a.cu" || fail "wgmma is of sm_90a alone"
}
