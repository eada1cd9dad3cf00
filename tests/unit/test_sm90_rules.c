// Each rule of the emulator and the verifier on sm_90a's thread level: a program that keeps it and
// one that does not; and where the bytes of boxes go, by their definition.
// SPDX-License-Identifier: MIT
#include <math.h>

#include "emu_text.h"

// One kernel: lines before its body, and the body.
static const char *kernel(const char *lines, const char *body) {
  return arena_printf(
      T.a,
      "program p\nsize M\nparam A : tensor int32 [1024] role in\n"
      "param C : tensor int32 [1024] role inout\n"
      "kernel p_k0 {\n  level thread\n  block [bx, _, _]\n  thread tx\n  smem 8192\n"
      "  shared S : int32 [1024] offset 0\n  shared Q : int32 [512] offset 4096\n"
      "  shared bar : uint64 [4] offset 8000\n  local n : int32 [1]\n"
      "  map Am : int32 [32, 32] of A box [8, 32]\n"
      "  map Cm : int32 [32, 32] of C box [8, 32]\n%s\n  body {\n%s\n  }\n}\n",
      lines, body);
}

static int64_t size_m;

static bool run_text(const char *text, uint64_t seed) {
  text_program(text);
  T.diags = diag_new(T.a, T.sources, (DiagOptions){0});
  EmuOptions o = {.seed = seed};
  return emu_run(T.p, &(EmuCall){.sizes = &size_m, .args = T.arg}, NULL, &o, &T.report, T.diags);
}

static void clean(const char *lines, const char *body) {
  for (uint64_t seed = 0; seed < 3; seed++) {
    text_begin();
    bool ok = run_text(kernel(lines, body), seed);
    if (!ok) diag_flush(T.diags, stderr);
    ck_assert_msg(ok, "%s", body);
  }
}

static void said(DiagId id, const char *lines, const char *body) {
  for (uint64_t seed = 0; seed < 3; seed++) {
    text_begin();
    bool ok = run_text(kernel(lines, body), seed), found = text_said(id);
    if (!found) diag_flush(T.diags, stderr);
    ck_assert_msg(!ok && found, "%s not said of: %s", diag_code(id), body);
  }
}

#define ONE "  threads 32"
#define INIT(count) "if tx == 0 { mbar_init(bar=bar[0], count=" #count ") fence_mbar_init() }"
#define LOAD "tma_load(src=Am[0 +: 8, 0 +: 32], dst=S[0 +: 256], bar=bar[0])"
#define LOADED                                                                                     \
  INIT(1)                                                                                          \
  " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) " LOAD                                     \
  " } sync_threads() mbar_wait(bar=bar[0], parity=0)"

/* mbarriers */

START_TEST(arrivals_beyond_the_count) {
  clean(ONE, INIT(2) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) " LOAD
                     " mbar_arrive(bar=bar[0]) } sync_threads() mbar_wait(bar=bar[0], parity=0)");
  said(DIAG_EMU_MBAR_COUNT, ONE,
       INIT(1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) mbar_arrive(bar=bar[0]) }");
}
END_TEST

START_TEST(bytes_expected) {
  said(DIAG_EMU_MBAR_TX, ONE, INIT(2) " if tx == 0 { mbar_expect_tx(bar=bar[0], bytes=1048576) }");
  said(DIAG_EMU_MBAR_TX, ONE,
       INIT(1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1008) " LOAD
               " } sync_threads() mbar_wait(bar=bar[0], parity=0)");
  clean(ONE, INIT(1) " if tx == 0 { " LOAD " mbar_arrive_tx(bar=bar[0], bytes=1024) }"
                     " sync_threads() mbar_wait(bar=bar[0], parity=0)"); // in either order
}
END_TEST

START_TEST(barriers_before_their_use) {
  said(DIAG_EMU_MBAR_INIT, ONE, "mbar_wait(bar=bar[0], parity=1)");
  clean(ONE, INIT(1) " sync_warp() mbar_wait(bar=bar[0], parity=1)");
  said(DIAG_EMU_MBAR_INIT, ONE, INIT(1) " mbar_wait(bar=bar[0], parity=1)");
  said(DIAG_EMU_RANGE, ONE, INIT(1) " sync_warp() mbar_wait(bar=bar[4 + tx // 32], parity=1)");
}
END_TEST

// A phase that is one too many ahead: its waiter may find the next but one, or none.
START_TEST(phases_of_one_parity) {
  said(DIAG_EMU_MBAR_ALIAS, ONE,
       INIT(1) " sync_threads() if tx == 0 { mbar_arrive(bar=bar[0]) mbar_arrive(bar=bar[0]) }"
               " if tx == 1 { mbar_wait(bar=bar[0], parity=1) }");
  clean(ONE, INIT(1) " sync_threads() if tx == 0 { mbar_arrive(bar=bar[0]) }"
                     " mbar_wait(bar=bar[0], parity=0) sync_threads()"
                     " if tx == 0 { mbar_arrive(bar=bar[0]) } mbar_wait(bar=bar[0], parity=1)");
}
END_TEST

/* copies */

START_TEST(destinations_in_flight) {
  clean(ONE, LOADED " n[0] = S[tx]");
  said(DIAG_EMU_IN_FLIGHT, ONE,
       INIT(1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) " LOAD
               " } sync_threads() n[0] = S[tx]");
  said(DIAG_EMU_IN_FLIGHT, ONE,
       INIT(1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) " LOAD
               " } sync_threads() S[tx] = int32(1) mbar_wait(bar=bar[0], parity=0)");
  said(DIAG_EMU_EXIT, ONE,
       INIT(1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) " LOAD " }");
  // plain writes before a copy over them need a fence; reads need none
  said(DIAG_EMU_PROXY, ONE, "S[tx] = int32(1) sync_threads() " LOADED);
  clean(ONE, "S[tx] = int32(1) fence_proxy_async(space=1) sync_threads() n[0] = S[31 - tx]"
             " sync_threads() " LOADED);
  said(DIAG_EMU_PROXY, ONE, // by the one who writes
       "S[tx] = int32(1) sync_threads() fence_proxy_async(space=1) " LOADED);
  said(DIAG_EMU_RACE, ONE, "S[tx] = int32(1) fence_proxy_async(space=1) " LOADED);
}
END_TEST

START_TEST(sources_in_flight) {
#define FILLED                                                                                     \
  "S[tx * 2] = int32(1) S[tx * 2 + 1] = int32(2) fence_proxy_async(space=1) sync_threads()"
#define STORE "bulk_store(src=S[0 +: 64], dst=C[0 +: 64]) bulk_commit()"
#define WAITED(n, read) " bulk_wait(pending=" #n ", read=" #read ") "
  clean(ONE, FILLED " if tx == 0 { " STORE WAITED(0, 1) "} sync_threads() S[tx] = int32(3)");
  said(DIAG_EMU_SOURCE, ONE, FILLED " if tx == 0 { " STORE " S[0] = int32(3)" WAITED(0, 1) "}");
  said(DIAG_EMU_SOURCE, ONE,
       FILLED " if tx == 0 { " STORE STORE WAITED(1, 1) " S[0] = int32(3)" WAITED(0, 1) "}");
  said(DIAG_EMU_SOURCE, ONE, FILLED " if tx == 0 { " STORE WAITED(0, 1) "} S[tx] = int32(3)");
  said(DIAG_EMU_EXIT, ONE, FILLED " if tx == 0 { " STORE " }");
  said(DIAG_EMU_EXIT, ONE, FILLED " if tx == 0 { bulk_store(src=S[0 +: 64], dst=C[0 +: 64]) }");
  said(DIAG_EMU_SOURCE, ONE, // groups are a thread's own
       FILLED " if tx == 0 { " STORE " } sync_threads() if tx == 1 {" WAITED(
           0, 1) "S[0] = int32(3) } sync_threads() if tx == 0 {" WAITED(0, 1) "}");
  said(DIAG_EMU_UNWRITTEN, ONE, "if tx == 0 { " STORE WAITED(0, 1) "}");
  // what was stored can be read once it is there, not only once it is read
  clean(ONE, FILLED " if tx == 0 { " STORE WAITED(0, 0) "} sync_threads() n[0] = C[tx]");
  said(DIAG_EMU_IN_FLIGHT, ONE,
       FILLED " if tx == 0 { " STORE WAITED(0, 1) "} sync_threads() n[0] = C[tx]");
}
END_TEST

START_TEST(global_memory_between_proxies) {
#define AGAIN                                                                                      \
  "sync_threads() " INIT(                                                                          \
      1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=128)"                                     \
         " bulk_load(src=C[0 +: 32], dst=S[0 +: 32], bar=bar[0]) } sync_threads()"                 \
         " mbar_wait(bar=bar[0], parity=0)"
  clean(ONE, "C[tx] = int32(1) fence_proxy_async(space=2) " AGAIN);
  clean(ONE, "C[tx] = int32(1) fence_proxy_async(space=0) " AGAIN);
  said(DIAG_EMU_PROXY, ONE, "C[tx] = int32(1) fence_proxy_async(space=1) " AGAIN);
  said(DIAG_EMU_RACE, ONE, "C[tx] = int32(1) fence_proxy_async(space=2) " AGAIN " C[0] = int32(2)");
}
END_TEST

START_TEST(blocks_that_store_to_one_place) {
#define TWO ONE "\n  grid [2, 1, 1]"
#define REDUCE(op, attributes)                                                                     \
  FILLED " if tx == 0 { " op "(src=S[0 +: 64], dst=C[0 +: 64]" attributes                          \
         ") bulk_commit()" WAITED(0, 1) "}"
  clean(TWO, REDUCE("bulk_reduce", ", fn=0"));
  said(DIAG_EMU_RACE_BLOCKS, TWO, REDUCE("bulk_store", ""));
  said(DIAG_EMU_RACE_BLOCKS, TWO, REDUCE("bulk_reduce", ", fn=0") " n[0] = C[0]");
}
END_TEST

START_TEST(copies_by_cp_async) {
#define COPIED INIT(32) " sync_threads() cp_async(src=A[tx * 4 +: 4], dst=S[tx * 4 +: 4], valid=4)"
  clean(ONE, COPIED
        " mbar_arrive_copies(bar=bar[0]) mbar_wait(bar=bar[0], parity=0) n[0] = S[127 - tx]");
  said(DIAG_EMU_IN_FLIGHT, ONE,
       COPIED " mbar_arrive(bar=bar[0]) mbar_wait(bar=bar[0], parity=0) n[0] = S[127 - tx]");
  clean(ONE, COPIED " async_commit() async_wait(pending=0) mbar_arrive(bar=bar[0])"
                    " mbar_wait(bar=bar[0], parity=0) n[0] = S[127 - tx]");
  said(DIAG_EMU_RACE, ONE, COPIED " async_commit() async_wait(pending=0) n[0] = S[127 - tx]");
  said(DIAG_EMU_IN_FLIGHT, ONE,
       COPIED " mbar_arrive_copies(bar=bar[0]) cp_async(src=A[tx * 4 +: 4], dst=Q[tx * 4 +: 4],"
              " valid=4) mbar_wait(bar=bar[0], parity=0) n[0] = Q[tx * 4]");
  // such an arrival shows the copies only
  said(DIAG_EMU_RACE, ONE,
       COPIED " Q[tx] = int32(1) mbar_arrive_copies(bar=bar[0]) mbar_wait(bar=bar[0], parity=0)"
              " n[0] = Q[31 - tx]");
  // an operation may read what was copied once it is fenced after the wait
  clean(ONE,
        COPIED " async_commit() async_wait(pending=0) fence_proxy_async(space=1) sync_threads()"
               " if tx == 0 { " STORE WAITED(0, 1) "}");
  said(DIAG_EMU_PROXY, ONE,
       COPIED " async_commit() fence_proxy_async(space=1) async_wait(pending=0) sync_threads()"
              " if tx == 0 { " STORE WAITED(0, 1) "}");
}
END_TEST

START_TEST(addresses) {
#define AT(byte)                                                                                   \
  INIT(1)                                                                                          \
  " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) tma_load(src=Am[0 +: 8, 0 +: 32],"         \
  " dst=S[" byte " +: 256], bar=bar[0]) } sync_threads() mbar_wait(bar=bar[0], parity=0)"
  clean(ONE, AT("32"));
  said(DIAG_EMU_ALIGN, ONE, AT("16"));
  said(DIAG_EMU_RANGE, ONE, AT("800"));
  said(DIAG_EMU_ALIGN, ONE, FILLED " if tx == 0 { bulk_store(src=S[0 +: 4], dst=C[2 +: 4]) }");
}
END_TEST

START_TEST(maps) {
  static const char *const lines = ONE "\n  map R : int32 [8, 32] strides [M, 1] of A box [8, 32]";
  static const char *const body = INIT(
      1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024) tma_load(src=R[0 +: 8, 0 +: 32],"
         " dst=S[0 +: 256], bar=bar[0]) } sync_threads() mbar_wait(bar=bar[0], parity=0)";
  size_m = 64, clean(lines, body);
  size_m = 66, said(DIAG_EMU_MAP, lines, body);  // 264 bytes
  size_m = 160, said(DIAG_EMU_MAP, lines, body); // beyond the tensor
}
END_TEST

/* warps and blocks together */

START_TEST(named_barriers) {
#define FOUR "  threads 128"
#define SWAP(sync, wait)                                                                           \
  "if tx < 64 { S[tx] = int32(1) " sync " } else { " wait " n[0] = S[tx - 64] }"
  clean(FOUR, SWAP("bar_arrive(id=1, threads=128)", "bar_sync(id=1, threads=128)"));
  clean(FOUR, SWAP("bar_sync(id=3, threads=128)", "bar_sync(id=3, threads=128)"));
  said(DIAG_EMU_STUCK, FOUR, SWAP("bar_arrive(id=2, threads=128)", "bar_sync(id=1, threads=128)"));
  said(DIAG_EMU_NAMED, FOUR, SWAP("bar_arrive(id=1, threads=96)", "bar_sync(id=1, threads=128)"));
  said(DIAG_EMU_NAMED, FOUR, "bar_sync(id=tx // 128, threads=128)"); // 0 is sync_threads' own
  said(DIAG_EMU_NAMED, FOUR,
       "if tx < 32 { bar_arrive(id=1, threads=64) bar_arrive(id=1, threads=64)"
       " } else { if tx < 64 { bar_sync(id=1, threads=64) } }");
  said(DIAG_EMU_NAMED, FOUR, "if tx < 32 { bar_arrive(id=1, threads=128) }");
  said(DIAG_EMU_COLLECTIVE, FOUR, "if tx < 16 { bar_arrive(id=1, threads=32) }");
  // who only arrives has seen nothing
  said(DIAG_EMU_RACE, "  threads 64",
       "if tx < 32 { bar_sync(id=2, threads=64) for i in 0 +: 500 { n[0] = int32(i) }"
       " bar_arrive(id=1, threads=64) n[0] = S[tx] }"
       " else { bar_arrive(id=2, threads=64) S[tx - 32] = int32(1) bar_sync(id=1, threads=64) }");
  text_begin();
  bool ok = run_text(kernel(FOUR, SWAP("bar_sync(id=1, threads=64)", "")), 1);
  ck_assert(!ok && (text_said(DIAG_EMU_RACE) || text_said(DIAG_EMU_UNWRITTEN)));
}
END_TEST

START_TEST(clusters) {
#define PAIR ONE "\n  grid [2, 1, 1]\n  cluster [2, 1, 1]"
  clean(PAIR, "cluster_arrive() cluster_wait() cluster_arrive() cluster_wait()");
  said(DIAG_EMU_CLUSTER, PAIR, "cluster_wait()");
  said(DIAG_EMU_CLUSTER, PAIR, "cluster_arrive() cluster_arrive() cluster_wait()");
  said(DIAG_EMU_COLLECTIVE, PAIR, "if tx < 3 { cluster_arrive() }");
  clean(PAIR, "if bx == 0 { cluster_arrive() cluster_wait() }"); // who has ended is not waited for
  said(DIAG_EMU_STUCK, PAIR,
       INIT(1) " cluster_arrive() cluster_wait() if bx == 0 { mbar_wait(bar=bar[0], parity=0) }"
               " cluster_arrive() cluster_wait()");
  size_m = 3;
  said(DIAG_EMU_GRID, ONE "\n  grid [M, 1, 1]\n  cluster [2, 1, 1]", "sync_threads()");
  clean(PAIR, "cluster_rank(dst=n[0]) C[bx * 32 + tx] = n[0]");
  ck_assert_int_eq(((int32_t *)T.arg[1].data)[31], 0);
  ck_assert_int_eq(((int32_t *)T.arg[1].data)[32], 1);
}
END_TEST

START_TEST(registers) {
#define WS "  threads 256\n  launch 384 blocks 1"
#define SPLIT(less, more)                                                                          \
  "if tx // 128 == 2 { setmaxnreg(regs=" #less ", inc=0) }"                                        \
  " else { setmaxnreg(regs=" #more ", inc=1) }"
  clean(WS, SPLIT(24, 240));
  clean(WS, SPLIT(40, 232));
  said(DIAG_EMU_STUCK, WS, SPLIT(40, 240)); // 40 + 2 * 240 > 3 * 168
  said(DIAG_EMU_REGS, WS, "if tx // 128 == 2 { setmaxnreg(regs=176, inc=0) }");
  said(DIAG_EMU_REGS, WS, "setmaxnreg(regs=160, inc=1)");
  said(DIAG_EMU_REGS, WS, "if tx // 32 == 9 { setmaxnreg(regs=24, inc=0) }");
}
END_TEST

START_TEST(lanes_of_a_warp) {
  clean(ONE, "S[tx] = int32(1) sync_warp() n[0] = S[31 - tx]");
  said(DIAG_EMU_RACE, ONE, INIT(1) " S[tx] = int32(1) n[0] = S[31 - tx]");
  clean("  threads 64", "S[tx] = int32(1) sync_warp() n[0] = S[tx // 32 * 32 + 31 - tx % 32]");
  text_begin();
  bool ok = run_text(kernel("  threads 64", "S[tx] = int32(1) sync_warp() n[0] = S[63 - tx]"), 0);
  ck_assert(!ok);
}
END_TEST

/* where the bytes go */

// A box of [4, cols] 16-bit elements at (row, col) of a tensor [8, 72], as it lies in shared
// memory.
static void expect_box(int swizzle, int row, int col, int base) {
  int cols = swizzle ? swizzle / 2 : 24, n = 16 * cols;
  text_begin();
  text_program(arena_printf(
      T.a,
      "program box\nparam A : tensor uint16 [1440] role in\n"
      "param C : tensor uint16 [%d] role out\nkernel box_k0 {\n  level thread\n  threads 32\n"
      "  thread tx\n  smem 4096\n  map Am : uint16 [20, 72] of A box [16, %d] swizzle %d\n"
      "  shared S : uint16 [%d] offset %d\n  shared bar : uint64 [1] offset 4000\n  body {\n"
      "    if tx == 0 {\n      mbar_init(bar=bar[0], count=1)\n      fence_mbar_init()\n"
      "      mbar_arrive_tx(bar=bar[0], bytes=%d)\n"
      "      tma_load(src=Am[%d +: 16, %d +: %d], dst=S[0 +: %d], bar=bar[0])\n    }\n"
      "    sync_threads()\n    mbar_wait(bar=bar[0], parity=0)\n"
      "    for i in 0 +: %d { C[i * 32 + tx] = S[i * 32 + tx] }\n  }\n}\n",
      n, cols, swizzle, n, base, n * 2, row, col, cols, n, n / 32));
  uint16_t *a = T.arg[0].data, *c = T.arg[1].data;
  for (int i = 0; i < 1440; i++) a[i] = (uint16_t)(i + 1);
  expect_clean();
  for (int i = 0; i < 16; i++) {
    for (int j = 0; j < cols; j++) {
      int y = row + i, x = col + j, chunk = j / 8;
      int line = (base + (i * cols + j) * 2) / 128; // of 128 bytes, in the block's memory
      if (swizzle == 128) chunk ^= line % 8;
      if (swizzle == 64) chunk ^= line % 4;
      if (swizzle == 32) chunk ^= line % 2;
      bool inside = y >= 0 && y < 20 && x >= 0 && x < 72;
      ck_assert_int_eq(c[i * cols + chunk * 8 + j % 8], inside ? y * 72 + x + 1 : 0);
    }
  }
}

START_TEST(boxes) {
  static const int swizzles[] = {0, 32, 64, 128};
  for (size_t i = 0; i < LEN(swizzles); i++) {
    expect_box(swizzles[i], 2, 0, 0);
    expect_box(swizzles[i], -3, -8, 0);
    expect_box(swizzles[i], 10, 56, 1024);
    expect_box(swizzles[i], 10, 56, 128); // the pattern is the address's, not the tile's
    expect_box(swizzles[i], 0, 0, 640);
  }
}
END_TEST

// Tiles of ones stored, and then added, at (row, col) of a tensor [20, 72] of sevens.
static void expect_stored(const char *op, int times, int row, int col) {
  text_begin();
  text_program(arena_printf(
      T.a,
      "program st\nparam C : tensor int32 [1440] role inout\nkernel st_k0 {\n  level thread\n"
      "  threads 32\n  thread tx\n  smem 2048\n  map Cm : int32 [20, 72] of C box [16, 32] swizzle "
      "128\n"
      "  shared S : int32 [512] offset 0\n  body {\n"
      "    for i in 0 +: 16 { S[i * 32 + tx] = int32(1) }\n"
      "    fence_proxy_async(space=1)\n    sync_warp()\n    if tx == 0 {\n      for k in 0 +: %d "
      "{\n"
      "        %s(src=S[0 +: 512], dst=Cm[%d +: 16, %d +: 32]%s)\n      }\n"
      "      bulk_commit()\n      bulk_wait(pending=0, read=1)\n    }\n  }\n}\n",
      times, op, row, col, times > 1 ? ", fn=0" : ""));
  int32_t *c = T.arg[0].data;
  for (int seed = 0; seed < 2; seed++) {
    for (int i = 0; i < 1440; i++) c[i] = 7;
    bool ok = bench_run((uint64_t)seed);
    if (!ok) diag_flush(T.diags, stderr);
    ck_assert(ok);
    for (int i = 0; i < 1440; i++) {
      int y = i / 72 - row, x = i % 72 - col;
      bool inside = y >= 0 && y < 16 && x >= 0 && x < 32;
      ck_assert_int_eq(c[i], !inside ? 7 : times > 1 ? 7 + times : 1);
    }
  }
}

START_TEST(stored_boxes) {
  static const int at[][2] = {{0, 0}, {5, 48}, {10, 8}, {19, 68}, {4, 40}, {20, 0}};
  for (size_t i = 0; i < LEN(at); i++) {
    expect_stored("tma_store", 1, at[i][0], at[i][1]);
    expect_stored("tma_reduce", 3, at[i][0], at[i][1]);
  }
}
END_TEST

// No box starts innermost at anything but a multiple of 16 bytes, nor one of a store below 0.
START_TEST(starts) {
#define BELOW(op, row, col, more)                                                                  \
  "if tx == 0 { " op "(src=S[0 +: 256], dst=Cm[" row " +: 8, " col " +: 32]" more                  \
  ") bulk_commit() bulk_wait(pending=0, read=1) }"
#define ONES "for i in 0 +: 8 { S[i * 32 + tx] = int32(1) } fence_proxy_async(space=1) sync_warp() "
  clean(ONE, ONES BELOW("tma_store", "0", "28", ""));
  said(DIAG_EMU_TMA_START, ONE, ONES BELOW("tma_store", "0", "-1", ""));
  said(DIAG_EMU_TMA_START, ONE, ONES BELOW("tma_store", "0", "-4", ""));
  said(DIAG_EMU_TMA_START, ONE, ONES BELOW("tma_store", "-8", "0", "")); // wholly outside
  said(DIAG_EMU_TMA_START, ONE, ONES BELOW("tma_reduce", "-1", "0", ", fn=0"));
  said(DIAG_EMU_TMA_START, ONE, ONES BELOW("tma_store", "0", "30", "")); // 120 bytes
  said(DIAG_EMU_TMA_START, ONE, ONES BELOW("tma_reduce", "0", "1", ", fn=0"));
#define LOAD_AT(col)                                                                               \
  INIT(1) " if tx == 0 { mbar_arrive_tx(bar=bar[0], bytes=1024)"                                   \
          " tma_load(src=Am[-1 +: 8, " col " +: 32], dst=S[0 +: 256], bar=bar[0])"                 \
          " } sync_threads() mbar_wait(bar=bar[0], parity=0)"
  clean(ONE, LOAD_AT("-8"));
  said(DIAG_EMU_TMA_START, ONE, LOAD_AT("-9"));
  said(DIAG_EMU_TMA_START, ONE, LOAD_AT("2"));
}
END_TEST

// Reads and updates of several threads: those of one kind are in no order, others need one.
START_TEST(updates_and_reads) {
#define ZERO INIT(1) " if tx == 0 { S[0] = int32(0) } sync_threads() "
#define ADD "atomic(dst=S[0], value=int32(1), fn=0) "
  clean(ONE, ZERO ADD ADD "sync_threads() n[0] = S[0]");
  clean(ONE, ZERO "n[0] = S[0] n[0] = S[0] sync_threads() " ADD);
  said(DIAG_EMU_RACE, ONE, ZERO ADD "n[0] = S[0]");
  said(DIAG_EMU_RACE, ONE, ZERO "n[0] = S[0] " ADD);
  said(DIAG_EMU_RACE, ONE, ZERO ADD "if tx == 0 { S[0] = int32(2) }");
  said(DIAG_EMU_RACE, ONE, ZERO "n[0] = S[0] if tx == 0 { S[0] = int32(2) }");
}
END_TEST

// Register pair r of lane l is row l / 4, columns 2 * (l % 4) of matrix r, or the transpose of it.
START_TEST(stored_matrices) {
  for (int trans = 0; trans < 2; trans++) {
    text_begin();
    text_program(arena_printf(
        T.a,
        "program st\nparam C : tensor uint16 [256] role out\nkernel st_k0 {\n  level thread\n"
        "  threads 32\n  thread tx\n  smem 512\n  shared S : uint16 [256] offset 0\n"
        "  local r : uint16 [8]\n  body {\n"
        "    unroll i in 0 +: 8 { r[i] = uint16(tx * 8 + i) }\n"
        "    stmatrix(src=r[0 +: 8], dst=S[tx * 8 +: 8], num=4, trans=%d)\n    sync_warp()\n"
        "    for i in 0 +: 8 { C[tx * 8 + i] = S[tx * 8 + i] }\n  }\n}\n",
        trans));
    expect_clean();
    const uint16_t *c = T.arg[0].data;
    for (int m = 0; m < 4; m++)
      for (int row = 0; row < 8; row++)
        for (int col = 0; col < 8; col++) {
          int g = trans ? col : row, k = trans ? row : col;
          ck_assert_int_eq(c[m * 64 + row * 8 + col], (g * 4 + k / 2) * 8 + m * 2 + k % 2);
        }
  }
}
END_TEST

int main(void) {
  const TTest *tests[] = {arrivals_beyond_the_count,
                          bytes_expected,
                          barriers_before_their_use,
                          phases_of_one_parity,
                          destinations_in_flight,
                          sources_in_flight,
                          global_memory_between_proxies,
                          blocks_that_store_to_one_place,
                          copies_by_cp_async,
                          addresses,
                          maps,
                          named_barriers,
                          clusters,
                          registers,
                          lanes_of_a_warp,
                          boxes,
                          stored_boxes,
                          starts,
                          updates_and_reads,
                          stored_matrices};
  return run_suite("sm90_rules", tests, LEN(tests));
}
