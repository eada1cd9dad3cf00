// The channels between a producer and its consumers, as the verifier knows them: a program that
// keeps the rules in every form that the roles pass makes, and what breaks each of them.
// SPDX-License-Identifier: MIT
#include "emu_text.h"

#define TAKE(name) "      let " name "_at = index(" name "_slot[0])\n"
#define WAIT(name) "      mbar_wait(bar=" name "_full[" name "_at], parity=" name "_phase[0])\n"
#define FREE(name, at) "if tx % 32 == 0 { mbar_arrive(bar=" name "_empty[" at "]) }\n"
#define FILL(name, bytes)                                                                          \
  "      let " name "_in = index(" name "_slot[0])\n"                                              \
  "      mbar_wait(bar=" name "_empty[" name "_in], parity=" name "_phase[0] ^ int32(1))\n"        \
  "      mbar_arrive_tx(bar=" name "_full[" name "_in], bytes=" bytes ")\n"
#define LOAD(tile, name)                                                                           \
  "      tile_load(src=A[0 +: 64, 0 +: 64], dst=" tile "[" name                                    \
  "_in, 0 +: 64, 0 +: 64], bar=" name "_full[" name "_in])\n"
#define RING(name)                                                                                 \
  "  shared " name "_full : uint64 [2]\n  shared " name "_empty : uint64 [2]\n"                    \
  "  local " name "_slot : int32 [1]\n  local " name "_phase : int32 [1]\n"
#define TILE(name) "  shared " name " : float16 [2, 64, 64]\n"
#define GEMM(a, b)                                                                                 \
  "      gemm(a=" a ", b=" b ", c=C[0 +: 64, 0 +: 64], transa=0, transb=1, policy=0, "             \
  "clear=false)\n"
#define SLOT(tile, at) tile "[" at ", 0 +: 64, 0 +: 64]"

// X: two tiles, used by two statements. Y: fed by X's; its slot is taken in another place. Z: an
// iteration keeps its slot for the next one.
// clang-format off
static const char whole[] =
    "program p\nparam A : tensor float16 [64, 64] role in\n"
    "kernel p_k0 {\n  level tile\n  threads 128\n  block [bx, _, _]\n  thread tx\n"
    "  launch 256 blocks 1\n  shared W_full : uint64 [2]\n"
    TILE("X1") TILE("X2") TILE("Y1") TILE("Z1") RING("X") RING("Y") RING("Z")
    "  fragment C : float32 [64, 64]\n  fragment P : float16 [64, 64]\n"
    "  fragment s : float32 [64]\n"
    "  body {\n    roles tx < 128 {\n"
    "      for k in 0 +: 4 {\n"
    TAKE("X") TAKE("Y") WAIT("X") GEMM(SLOT("X1", "X_at"), SLOT("X2", "X_at"))
    "      parallel i, j in 0 +: 64, 0 +: 64 { P[i, j] = X1[X_at, i, j] }\n"
    "      sync_warp()\n      " FREE("X", "X_at") WAIT("Y")
    "      if k % 2 == 0 {\n" GEMM("P[0 +: 64, 0 +: 64]", SLOT("Y1", "Y_at"))
    "      }\n      " FREE("Y", "Y_at")
    "      }\n      for k in 0 +: bx {\n"
    TAKE("Z") WAIT("Z") GEMM(SLOT("Z1", "Z_at"), SLOT("Z1", "Z_at"))
    "      if k != 0 {\n        sync_warp()\n        " FREE("Z", "1 - Z_at")
    "      }\n      }\n      if 0 < bx {\n        " FREE("Z", "1 - index(Z_slot[0])")
    "      }\n    } else {\n"
    "      if tx == 128 {\n      for k in 0 +: 4 {\n"
    FILL("X", "16384") LOAD("X1", "X") LOAD("X2", "X") FILL("Y", "8192") LOAD("Y1", "Y")
    "      }\n      for k in 0 +: bx {\n" FILL("Z", "8192") LOAD("Z1", "Z")
    "      }\n      }\n    }\n  }\n}\n";
// clang-format on

static const struct {
  const char *from;
  int nth;
  const char *to, *why;
} refused[] = {
    // the consumers
    {WAIT("X"), 0, "", "X1 is used outside of wait and arrival"},
    {WAIT("X"), 0, "", "the consumers never wait for X_full"},
    {WAIT("Y"), 0, "", "Y1 is used outside of wait and arrival"},
    {WAIT("Y"), 0, WAIT("X"), "the consumers never wait for Y_full"},
    {WAIT("X"), 0, WAIT("X") WAIT("X"), "a second wait for X_full"},
    {WAIT("Z"), 0, WAIT("Z") WAIT("Z"), "a second wait for Z_full"},
    {WAIT("Y"), 0, WAIT("Y") "      mbar_wait(bar=W_full[0], parity=0)\n", "which nobody fills"},
    {FREE("X", "X_at"), 0, "", "a slot of X_full is kept"},
    {FREE("X", "X_at"), 0, "", "the consumers never arrive at X_empty"},
    {FREE("X", "X_at"), 0, FREE("X", "X_at") "      " FREE("X", "X_at"), "where nobody took it"},
    {FREE("X", "X_at"), 0, FREE("X", "1 - X_at"), "another slot of X_empty is let go"},
    {FREE("X", "X_at"), 0, "if 1 < k { " FREE("X", "X_at") " }", "X_empty is let go where nobody"},
    {FREE("X", "X_at"), 0, "mbar_arrive(bar=X_empty[X_at])\n", "let go by each thread"},
    {FREE("Y", "Y_at"), 0, FREE("Y", "Y_at") GEMM("P[0 +: 64, 0 +: 64]", SLOT("Y1", "Y_at")),
     "Y1 is used outside"},
    {"X1[X_at, i, j]", 0, "X1[1 - X_at, i, j]", "another slot of X1 is used"},
    {"X1[X_at, i, j]", 0, "Y1[X_at, i, j]", "Y1 is used outside"},
    {"X1[X_at, i, j] }", 0, "s[i] }\n X1[Y_at, 0, 0] = 0.0\n", "another slot of X1 is used"},
    {"if 0 < bx {\n        " FREE("Z", "1 - index(Z_slot[0])") "      }\n", 0, "",
     "the last slot of Z_full is kept"},
    {"if k != 0", 0, "if k != 1", "Z_empty is let go where nobody"},
    {"if k != 0", 0, "if k == 0", "Z_empty is let go where nobody"},
    // the producer
    {"bytes=16384", 0, "bytes=8192", "8192 bytes are expected, and 16384 come"},
    {LOAD("X2", "X"), 0, "", "16384 bytes are expected, and 8192 come"},
    {LOAD("Y1", "Y"), 0, LOAD("X1", "Y"), "X1 is a tile of Y_full and of X_full"},
    {"mbar_wait(bar=Y_empty[Y_in], parity=Y_phase[0] ^ int32(1))", 0, "", "without a wait"},
    {"mbar_wait(bar=Y_empty[Y_in]", 0, "mbar_wait(bar=Y_empty[1 - Y_in]", "without a wait"},
    {"dst=Y1[Y_in", 0, "dst=Y1[1 - Y_in", "a load to another slot"},
    {"bar=Y_full[Y_in])", 0, "bar=X_full[X_in])", "a phase of X_full that expects no bytes"},
    {FILL("Z", "8192"), 0,
     FILL("Z", "8192") LOAD("Z1", "Z") FILL("Y", "8192") LOAD("Z1", "Y") "      let w = 0\n",
     "Z1 is a tile of"},
    {"mbar_wait(bar=Z_empty[Z_in]", 0, "mbar_wait(bar=Y_empty[Z_in]", "never"},
};

START_TEST(channels) {
  text_begin();
  ck_assert_str_eq(text_judged(whole), "");
  for (size_t i = 0; i < LEN(refused); i++) {
    text_begin();
    const char *said =
        text_judged(text_with(whole, refused[i].from, refused[i].nth, refused[i].to));
    ck_assert_msg(strstr(said, refused[i].why) != NULL, "'%s' -> '%s': expected '%s', said '%s'",
                  refused[i].from, refused[i].to, refused[i].why, said);
  }
}
END_TEST

int main(void) {
  const TTest *tests[] = {channels};
  return run_suite("channels", tests, LEN(tests));
}
