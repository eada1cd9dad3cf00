// A Hopper GEMM as passes should make it: C (256 x 128) = A (256 x 256) * B^T, blocks of 128 rows,
// a producer warp that loads a ring of two stages by TMA, two warpgroups that multiply.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_HOPPER_GEMM_H
#define TLC_TESTS_HOPPER_GEMM_H

#define HOPPER_STEP(words, scale)                                                                  \
  "        wgmma(a=A_s[tx // 128 * 4096 + k % 2 * 8192 +: 4096], b=B_s[k % 2 * 8192 +: 8192],\n"   \
  "          d=acc[0 +: 64], a_lo=a[0] + uint32(k % 2 * 1024 + " words "), a_hi=uint32(1073741888" \
  "),\n          b_lo=b[0] + uint32(k % 2 * 1024 + " words "), b_hi=uint32(1073741888),\n"        \
  "          scale_d=" scale ", n=128)\n"

static const char hopper_gemm[] =
    "program gemm\n"
    "param A : tensor float16 [65536] role in\nparam B : tensor float16 [32768] role in\n"
    "param C : tensor float32 [32768] role out\n"
    "kernel gemm_k0 {\n  level thread\n  grid [2, 1, 1]\n  threads 256\n  block [bx, _, _]\n"
    "  thread tx\n  launch 288\n  smem 65568\n"
    "  map Am : float16 [256, 256] of A box [128, 64] swizzle 128\n"
    "  map Bm : float16 [128, 256] of B box [128, 64] swizzle 128\n"
    "  shared A_s : float16 [16384] offset 0\n  shared B_s : float16 [16384] offset 32768\n"
    "  shared full : uint64 [2] offset 65536\n  shared empty : uint64 [2] offset 65552\n"
    "  local acc : float32 [64]\n  local a : uint32 [1]\n  local b : uint32 [1]\n"
    "  local e : bool [1]\n  body {\n"
    "    if tx == 0 {\n      for i in 0 +: 2 {\n        mbar_init(bar=full[i], count=1)\n"
    "        mbar_init(bar=empty[i], count=8)\n      }\n      fence_mbar_init()\n    }\n"
    "    sync_threads()\n"
    "    if 256 <= tx {\n      elect(dst=e[0])\n      if e[0] {\n        for k in 0 +: 4 {\n"
    "          mbar_wait(bar=empty[k % 2], parity=k // 2 + 1)\n"
    "          mbar_arrive_tx(bar=full[k % 2], bytes=32768)\n"
    "          tma_load(src=Am[bx * 128 +: 128, k * 64 +: 64], dst=A_s[k % 2 * 8192 +: 8192],\n"
    "            bar=full[k % 2])\n"
    "          tma_load(src=Bm[0 +: 128, k * 64 +: 64], dst=B_s[k % 2 * 8192 +: 8192],\n"
    "            bar=full[k % 2])\n"
    "        }\n      }\n    } else {\n"
    "      wgmma_desc(tile=A_s[tx // 128 * 4096], dst=a[0], lbo=16)\n"
    "      wgmma_desc(tile=B_s[0], dst=b[0], lbo=16)\n"
    "      for k in 0 +: 4 {\n        mbar_wait(bar=full[k % 2], parity=k // 2)\n"
    "        wgmma_fence()\n"
    HOPPER_STEP("0", "k != 0") HOPPER_STEP("2", "true")
    HOPPER_STEP("4", "true") HOPPER_STEP("6", "true")
    "        wgmma_commit()\n        wgmma_wait(pending=0)\n"
    "        if tx % 32 == 0 { mbar_arrive(bar=empty[k % 2]) }\n      }\n"
    "      wgmma_wait(d=acc[0 +: 64], pending=0)\n"
    "      unroll r in 0 +: 64 {\n"
    "        C[(bx * 128 + tx // 32 * 16 + tx % 32 // 4 + r % 4 // 2 * 8) * 128 + r // 4 * 8\n"
    "          + tx % 4 * 2 + r % 2] = acc[r]\n      }\n    }\n  }\n}\n";

#endif
