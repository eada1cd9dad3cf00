// The thread level of sm_90a in the emulator: pipelines through mbarriers and TMA that must run
// clean and right, and changes to each of their waits, fences, arrivals and phases that must be
// reported under every schedule.
// SPDX-License-Identifier: MIT
#include "emu_text.h"

static uint16_t *u16(int i) { return T.arg[i].data; }

static void count_up(int arg) {
  for (size_t i = 0; i < T.arg[arg].bytes / 2; i++) u16(arg)[i] = (uint16_t)(i * 7 + 1);
}

/* C = A, tile by tile: one producer warp, four consumer warps, a ring of three stages, stores by
   TMA from a staging tile whose wait is left to the next tile */

static const char ring[] =
    "program ring\n"
    "param A : tensor uint16 [65536] role in\n"
    "param C : tensor uint16 [65536] role out\n"
    "kernel ring_k0 {\n"
    "  level thread\n  grid [2, 1, 1]\n  threads 128\n  block [bx, _, _]\n  thread tx\n"
    "  launch 160\n  smem 32912\n"
    "  map Am : uint16 [512, 128] of A box [64, 64] swizzle 128 l2 256\n"
    "  map Cm : uint16 [512, 128] of C box [64, 64] swizzle 128\n"
    "  shared S : uint16 [12288] offset 0\n"
    "  shared D : uint16 [4096] offset 24576\n"
    "  shared full : uint64 [3] offset 32768\n"
    "  shared empty : uint64 [3] offset 32792\n"
    "  local e : bool [1]\n"
    "  local r : uint16 [8]\n"
    "  body {\n"
    "    if tx == 0 {\n"
    "      for i in 0 +: 3 {\n"
    "        mbar_init(bar=full[i], count=1)\n"
    "        mbar_init(bar=empty[i], count=4)\n"
    "      }\n"
    "      fence_mbar_init()\n"
    "    }\n"
    "    sync_threads()\n"
    "    if tx // 32 == 4 {\n"
    "      elect(dst=e[0])\n"
    "      if e[0] {\n"
    "        for k in 0 +: 8 {\n"
    "          mbar_wait(bar=empty[k % 3], parity=k // 3 + 1)\n"
    "          mbar_arrive_tx(bar=full[k % 3], bytes=8192)\n"
    "          tma_load(src=Am[bx * 256 + k // 2 * 64 +: 64, k % 2 * 64 +: 64],"
    " dst=S[k % 3 * 4096 +: 4096], bar=full[k % 3])\n"
    "        }\n"
    "      }\n"
    "    } else {\n"
    "      for k in 0 +: 8 {\n"
    "        mbar_wait(bar=full[k % 3], parity=k // 3)\n"
    "        if tx == 0 { bulk_wait(pending=0, read=1) }\n"
    "        bar_sync(id=1, threads=128)\n"
    "        for j in 0 +: 4 {\n"
    "          vmov(src=S[k % 3 * 4096 + (j * 128 + tx) * 8 +: 8], dst=r[0 +: 8])\n"
    "          vmov(src=r[0 +: 8], dst=D[(j * 128 + tx) * 8 +: 8])\n"
    "        }\n"
    "        fence_proxy_async(space=1)\n"
    "        sync_warp()\n"
    "        if tx % 32 == 0 { mbar_arrive(bar=empty[k % 3]) }\n"
    "        bar_sync(id=1, threads=128)\n"
    "        if tx == 0 {\n"
    "          tma_store(src=D[0 +: 4096],"
    " dst=Cm[bx * 256 + k // 2 * 64 +: 64, k % 2 * 64 +: 64])\n"
    "          bulk_commit()\n"
    "        }\n"
    "      }\n"
    "      if tx == 0 { bulk_wait(pending=0, read=1) } else { }\n"
    "    }\n"
    "  }\n"
    "}\n";

START_TEST(ring_is_right_and_clean) {
  text_begin();
  text_program(ring);
  count_up(0);
  expect_clean();
  ck_assert(!memcmp(u16(0), u16(1), T.arg[0].bytes));
  ck_assert_int_eq((int)T.report.bank_conflicts, 0);
}
END_TEST

#define FLIGHT DIAG_EMU_IN_FLIGHT
#define RACE DIAG_EMU_RACE
#define UNWRITTEN DIAG_EMU_UNWRITTEN
#define SOURCE DIAG_EMU_SOURCE
#define STUCK DIAG_EMU_STUCK

START_TEST(ring_changes) {
  CHANGES(ring,
          // waits
          {"mbar_wait(bar=full[k % 3], parity=k // 3)", 0, "", {FLIGHT, UNWRITTEN}},
          {"mbar_wait(bar=empty[k % 3], parity=k // 3 + 1)", 0, "", {RACE, FLIGHT}},
          {"bulk_wait(pending=0, read=1)", 0, "", {SOURCE, RACE}},
          {"bulk_wait(pending=0, read=1)", 0, "bulk_wait(pending=1, read=1)", {SOURCE}},
          {"bulk_wait(pending=0, read=1)", 1, "", {DIAG_EMU_EXIT}},
          {"bulk_commit()", 0, "", {SOURCE}},
          // fences and barriers
          {"fence_mbar_init()", 0, "", {DIAG_EMU_MBAR_FENCE}},
          {"fence_proxy_async(space=1)", 0, "", {DIAG_EMU_PROXY}},
          {"fence_proxy_async(space=1)", 0, "fence_proxy_async(space=2)", {DIAG_EMU_PROXY}},
          {"sync_threads()", 0, "", {DIAG_EMU_MBAR_INIT}},
          {"sync_warp()", 0, "", {RACE}},
          {"bar_sync(id=1, threads=128)", 0, "", {SOURCE, RACE}},
          {"bar_sync(id=1, threads=128)", 1, "", {RACE, UNWRITTEN, SOURCE}},
          {"bar_sync(id=1, threads=128)", 0, "bar_arrive(id=1, threads=128)",
           {SOURCE, RACE, DIAG_EMU_NAMED}},
          // arrivals
          {"if tx % 32 == 0 { mbar_arrive(bar=empty[k % 3]) }", 0, "", {STUCK}},
          {"mbar_arrive_tx(bar=full[k % 3], bytes=8192)", 0, "", {STUCK}},
          {"mbar_arrive_tx(bar=full[k % 3], bytes=8192)", 0, "mbar_arrive(bar=full[k % 3])",
           {FLIGHT, DIAG_EMU_MBAR_TX}},
          {"bytes=8192", 0, "bytes=8176", {DIAG_EMU_MBAR_TX}},
          {"bytes=8192", 0, "bytes=8208", {STUCK}},
          {"tx % 32 == 0", 0, "tx % 32 < 2", {DIAG_EMU_MBAR_ALIAS, RACE}},
          {"count=4", 0, "count=3", {RACE, DIAG_EMU_MBAR_ALIAS}},
          {"count=4", 0, "count=5", {STUCK}},
          {"count=1)", 0, "count=2)", {STUCK}},
          // phases
          {"parity=k // 3)", 0, "parity=k // 3 + 1)", {FLIGHT, UNWRITTEN, DIAG_EMU_MBAR_ALIAS}},
          {"parity=k // 3 + 1", 0, "parity=k // 3", {STUCK}},
          {"parity=k // 3)", 0, "parity=0)", {FLIGHT, STUCK, DIAG_EMU_MBAR_ALIAS}},
          {"mbar_wait(bar=full[k % 3], parity", 0, "mbar_wait(bar=full[(k + 1) % 3], parity",
           {FLIGHT, UNWRITTEN, STUCK}},
          {"dst=S[k % 3 * 4096 +: 4096], bar=full[k % 3]", 0,
           "dst=S[(k + 1) % 3 * 4096 +: 4096], bar=full[k % 3]", {RACE, UNWRITTEN, FLIGHT}},
          {"for k in 0 +: 8", 1, "for k in 0 +: 7", {DIAG_EMU_EXIT}},
          {"for k in 0 +: 8", 0, "for k in 0 +: 7", {STUCK}});
}
END_TEST

int main(void) {
  const TTest *tests[] = {ring_is_right_and_clean, ring_changes};
  return run_suite("sm90", tests, LEN(tests));
}
