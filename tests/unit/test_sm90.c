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
  CHANGES(
      ring,
      // waits
      {"mbar_wait(bar=full[k % 3], parity=k // 3)", 0, "", {FLIGHT, UNWRITTEN}},
      {"mbar_wait(bar=empty[k % 3], parity=k // 3 + 1)", 0, "", {RACE, FLIGHT}},
      {"bulk_wait(pending=0, read=1)", 0, "", {SOURCE, RACE}},
      {"bulk_wait(pending=0, read=1)", 0, "bulk_wait(pending=1, read=1)", {SOURCE}},
      {"bulk_wait(pending=0, read=1)", 1, "", {DIAG_EMU_EXIT}}, {"bulk_commit()", 0, "", {SOURCE}},
      // fences and barriers
      {"fence_mbar_init()", 0, "", {DIAG_EMU_MBAR_FENCE}},
      {"fence_proxy_async(space=1)", 0, "", {DIAG_EMU_PROXY}},
      {"fence_proxy_async(space=1)", 0, "fence_proxy_async(space=2)", {DIAG_EMU_PROXY}},
      {"sync_threads()", 0, "", {DIAG_EMU_MBAR_INIT}}, {"sync_warp()", 0, "", {RACE}},
      {"bar_sync(id=1, threads=128)", 0, "", {SOURCE, RACE}},
      {"bar_sync(id=1, threads=128)", 1, "", {RACE, UNWRITTEN, SOURCE}},
      {"bar_sync(id=1, threads=128)",
       0,
       "bar_arrive(id=1, threads=128)",
       {SOURCE, RACE, DIAG_EMU_NAMED}},
      // arrivals
      {"if tx % 32 == 0 { mbar_arrive(bar=empty[k % 3]) }", 0, "", {STUCK}},
      {"mbar_arrive_tx(bar=full[k % 3], bytes=8192)", 0, "", {STUCK}},
      {"mbar_arrive_tx(bar=full[k % 3], bytes=8192)",
       0,
       "mbar_arrive(bar=full[k % 3])",
       {FLIGHT, DIAG_EMU_MBAR_TX}},
      {"bytes=8192", 0, "bytes=8176", {DIAG_EMU_MBAR_TX}}, {"bytes=8192", 0, "bytes=8208", {STUCK}},
      {"tx % 32 == 0", 0, "tx % 32 < 2", {DIAG_EMU_MBAR_ALIAS, RACE, STUCK}},
      {"count=4", 0, "count=3", {RACE, DIAG_EMU_MBAR_ALIAS}}, {"count=4", 0, "count=5", {STUCK}},
      {"count=1)", 0, "count=2)", {STUCK}},
      // phases
      {"parity=k // 3)", 0, "parity=k // 3 + 1)", {FLIGHT, UNWRITTEN, DIAG_EMU_MBAR_ALIAS}},
      {"parity=k // 3 + 1", 0, "parity=k // 3", {STUCK}},
      {"parity=k // 3)", 0, "parity=0)", {FLIGHT, STUCK, DIAG_EMU_MBAR_ALIAS}},
      {"mbar_wait(bar=full[k % 3], parity",
       0,
       "mbar_wait(bar=full[(k + 1) % 3], parity",
       {FLIGHT, UNWRITTEN, STUCK}},
      {"dst=S[k % 3 * 4096 +: 4096], bar=full[k % 3]",
       0,
       "dst=S[(k + 1) % 3 * 4096 +: 4096], bar=full[k % 3]",
       {RACE, UNWRITTEN, FLIGHT}},
      {"for k in 0 +: 8", 1, "for k in 0 +: 7", {DIAG_EMU_EXIT}},
      {"for k in 0 +: 8", 0, "for k in 0 +: 7", {STUCK}});
}
END_TEST

/* a cluster of two: each block loads one half of every tile into both, from a ring of two stages;
   both must have read a stage before either refills its half */

static const char pair[] =
    "program pair\n"
    "param A : tensor uint16 [32768] role in\n"
    "param C : tensor uint16 [65536] role out\n"
    "kernel pair_k0 {\n"
    "  level thread\n  grid [4, 1, 1]\n  threads 128\n  block [bx, _, _]\n  thread tx\n"
    "  cluster [2, 1, 1]\n  launch 160\n  smem 16416\n"
    "  map Am : uint16 [512, 64] of A box [32, 64] swizzle 128\n"
    "  shared S : uint16 [8192] offset 0\n"
    "  shared full : uint64 [2] offset 16384\n"
    "  shared empty : uint64 [2] offset 16400\n"
    "  local e : bool [1]\n"
    "  local r : uint16 [8]\n"
    "  body {\n"
    "    if tx == 0 {\n"
    "      for i in 0 +: 2 {\n"
    "        mbar_init(bar=full[i], count=1)\n"
    "        mbar_init(bar=empty[i], count=8)\n"
    "      }\n"
    "      fence_mbar_init()\n"
    "    }\n"
    "    cluster_arrive()\n"
    "    cluster_wait()\n"
    "    if tx // 32 == 4 {\n"
    "      elect(dst=e[0])\n"
    "      if e[0] {\n"
    "        for k in 0 +: 4 {\n"
    "          mbar_wait(bar=empty[k % 2], parity=k // 2 + 1)\n"
    "          mbar_arrive_tx(bar=full[k % 2], bytes=8192)\n"
    "          tma_load(src=Am[bx // 2 * 256 + k * 64 + bx % 2 * 32 +: 32, 0 +: 64],"
    " dst=S[k % 2 * 4096 + bx % 2 * 2048 +: 2048], bar=full[k % 2], blocks=3)\n"
    "        }\n"
    "      }\n"
    "    } else {\n"
    "      for k in 0 +: 4 {\n"
    "        mbar_wait(bar=full[k % 2], parity=k // 2)\n"
    "        for j in 0 +: 4 {\n"
    "          vmov(src=S[k % 2 * 4096 + (j * 128 + tx) * 8 +: 8], dst=r[0 +: 8])\n"
    "          vmov(src=r[0 +: 8], dst=C[bx * 16384 + k * 4096 + (j * 128 + tx) * 8 +: 8])\n"
    "        }\n"
    "        sync_warp()\n"
    "        if tx % 32 < 2 { mbar_arrive_remote(bar=empty[k % 2], rank=tx % 32) }\n"
    "      }\n"
    "    }\n"
    "    sync_warp()\n"
    "    cluster_arrive()\n"
    "    cluster_wait()\n"
    "  }\n"
    "}\n";

// The 128-byte swizzle by its definition: chunk c of row r lies at chunk c ^ r % 8.
static void expect_pair(void) {
  for (int block = 0; block < 4; block++) {
    for (int k = 0; k < 4; k++) {
      for (int i = 0; i < 4096; i++) {
        int row = i / 64, chunk = i / 8 % 8 ^ row % 8;
        int from = (block / 2 * 256 + k * 64 + row) * 64 + chunk * 8 + i % 8;
        ck_assert_int_eq(u16(1)[block * 16384 + k * 4096 + i], u16(0)[from]);
      }
    }
  }
}

START_TEST(pair_is_right_and_clean) {
  text_begin();
  text_program(pair);
  count_up(0);
  expect_clean();
  expect_pair();
}
END_TEST

#define REMOTE "if tx % 32 < 2 { mbar_arrive_remote(bar=empty[k % 2], rank=tx % 32) }"
#define SYNC "cluster_arrive()\n    cluster_wait()"

START_TEST(pair_changes) {
  CHANGES(pair, {SYNC, 0, "sync_threads()", {DIAG_EMU_MBAR_INIT}}, {SYNC, 1, "", {DIAG_EMU_EXIT}},
          {SYNC, 1, "cluster_arrive()", {DIAG_EMU_EXIT}},
          {"    cluster_wait()\n    if", 0, "    if", {DIAG_EMU_MBAR_INIT, DIAG_EMU_CLUSTER}},
          {"fence_mbar_init()", 0, "", {DIAG_EMU_MBAR_FENCE}},
          {"fence_mbar_init()", 0, "fence_proxy_async(space=0)", {DIAG_EMU_MBAR_FENCE}},
          {REMOTE, 0, "if tx % 32 < 1 { mbar_arrive(bar=empty[k % 2]) }", {STUCK}},
          {REMOTE, 0, "", {STUCK}}, {"rank=tx % 32", 0, "rank=tx % 32 + 1", {DIAG_EMU_RANK}},
          {"rank=tx % 32", 0, "rank=tx % 32, wgmma=1", {RACE}},
          {"sync_warp()", 1, "", {DIAG_EMU_CLUSTER}}, {"sync_warp()", 0, "", {RACE}},
          {"blocks=3", 0, "blocks=1", {STUCK, DIAG_EMU_MBAR_TX}},
          {"blocks=3", 0, "blocks=4", {DIAG_EMU_RANK}},
          {"bytes=8192", 0, "bytes=4096", {DIAG_EMU_MBAR_TX, FLIGHT}},
          {"count=8", 0, "count=4", {RACE, DIAG_EMU_MBAR_ALIAS, STUCK}},
          {"mbar_wait(bar=empty[k % 2], parity=k // 2 + 1)", 0, "", {RACE, FLIGHT}},
          {"mbar_wait(bar=full[k % 2], parity=k // 2)", 0, "", {FLIGHT, UNWRITTEN}},
          {"4096 + bx % 2 * 2048 +: 2048]", 0, "4096 +: 2048]", {FLIGHT, UNWRITTEN}});
}
END_TEST

// Instead of the cluster's barrier: each producer waits until its stages are free, so that nothing
// is on its way to its block when it ends.
START_TEST(pair_drained) {
  static const char loop_end[] = "bar=full[k % 2], blocks=3)\n        }\n";
  const char *drain =
      "        for k in 4 +: 2 { mbar_wait(bar=empty[k % 2], parity=k // 2 + 1) }\n";
  for (int drained = 0; drained < 3; drained++) {
    text_begin();
    const char *text = text_with(pair, SYNC, 1, "");
    const char *end = arena_printf(T.a, "%s%s", loop_end, drained ? drain : "");
    text = text_with(text, loop_end, 0, end);
    if (drained == 2) text = text_with(text, "for k in 4 +: 2", 0, "for k in 4 +: 1");
    text_program(text);
    count_up(0);
    if (drained == 1) expect_clean();
    else expect_report(DIAG_EMU_EXIT);
    expect_pair();
  }
}
END_TEST

// Without checks there are no clocks; the values are the same.
START_TEST(values_without_checks) {
  for (int two = 0; two < 2; two++) {
    text_begin();
    text_program(two ? pair : ring);
    count_up(0);
    EmuOptions o = {.seed = 5, .no_checks = true};
    ck_assert(emu_run(T.p, &(EmuCall){.args = T.arg}, NULL, &o, &T.report, T.diags));
    if (two) expect_pair();
    else ck_assert(!memcmp(u16(0), u16(1), T.arg[0].bytes));
  }
}
END_TEST

/* the same ring filled by cp.async: 32 lanes copy, and arrive when their copies are there */

static const char copies[] =
    "program copies\n"
    "param A : tensor uint16 [2048] role in\n"
    "param C : tensor uint16 [2048] role out\n"
    "kernel copies_k0 {\n"
    "  level thread\n  threads 128\n  thread tx\n  launch 160\n  smem 1600\n"
    "  shared S : uint16 [768] offset 0\n"
    "  shared full : uint64 [3] offset 1536\n"
    "  shared empty : uint64 [3] offset 1560\n"
    "  body {\n"
    "    if tx == 0 {\n"
    "      for i in 0 +: 3 {\n"
    "        mbar_init(bar=full[i], count=32)\n"
    "        mbar_init(bar=empty[i], count=4)\n"
    "      }\n"
    "    }\n"
    "    sync_threads()\n"
    "    if tx // 32 == 4 {\n"
    "      for k in 0 +: 8 {\n"
    "        mbar_wait(bar=empty[k % 3], parity=k // 3 + 1)\n"
    "        cp_async(src=A[k * 256 + tx % 32 * 8 +: 8], dst=S[k % 3 * 256 + tx % 32 * 8 +: 8],"
    " valid=8)\n"
    "        mbar_arrive_copies(bar=full[k % 3])\n"
    "      }\n"
    "    } else {\n"
    "      for k in 0 +: 8 {\n"
    "        mbar_wait(bar=full[k % 3], parity=k // 3)\n"
    "        for j in 0 +: 2 { C[k * 256 + j * 128 + tx] = S[k % 3 * 256 + j * 128 + tx] }\n"
    "        sync_warp()\n"
    "        if tx % 32 == 0 { mbar_arrive(bar=empty[k % 3]) }\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

START_TEST(ring_of_copies) {
  text_begin();
  text_program(copies);
  count_up(0);
  expect_clean();
  ck_assert(!memcmp(u16(0), u16(1), T.arg[0].bytes));
  CHANGES(copies, {"mbar_wait(bar=empty[k % 3], parity=k // 3 + 1)", 0, "", {RACE, FLIGHT}},
          {"mbar_wait(bar=full[k % 3], parity=k // 3)", 0, "", {FLIGHT, UNWRITTEN}},
          {"mbar_arrive_copies(bar=full[k % 3])", 0, "mbar_arrive(bar=full[k % 3])", {FLIGHT}},
          {"mbar_arrive_copies(bar=full[k % 3])", 0, "", {STUCK}},
          {"count=32", 0, "count=31", {DIAG_EMU_MBAR_ALIAS, FLIGHT, UNWRITTEN}},
          {"count=32", 0, "count=64", {STUCK}}, {"sync_warp()", 0, "", {RACE}},
          {"tx % 32 == 0", 0, "tx % 32 < 2", {DIAG_EMU_MBAR_ALIAS, RACE, STUCK}},
          {"parity=k // 3)", 0, "parity=1)", {FLIGHT, STUCK, DIAG_EMU_MBAR_ALIAS}});
}
END_TEST

int main(void) {
  const TTest *tests[] = {
      ring_is_right_and_clean, ring_changes,  pair_is_right_and_clean, pair_changes, pair_drained,
      values_without_checks,   ring_of_copies};
  return run_suite("sm90", tests, LEN(tests));
}
