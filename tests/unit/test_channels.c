// The channels between a producer and its consumers, as the verifier knows them: a program that
// keeps the rules in every form that the roles pass makes, and what breaks each of them.
// SPDX-License-Identifier: MIT
#include "emu_text.h"

#define TAKE(name) "      let " name "_at = index(" name "_slot[0])\n"
#define WAIT(name) "      mbar_wait(bar=" name "_full[" name "_at], parity=" name "_phase[0])\n"
#define FREE(name, at) "if tx % 32 == 0 { mbar_arrive(bar=" name "_empty[" at "]) }\n"
// The counters of a side, behind its turn: "" the consumers, "_next" the producer.
#define STEP(name, side, at)                                                                       \
  "      " name "_slot" side "[0] = int32(select(" at " == 1, 0, " at " + 1))\n      " name        \
  "_phase" side "[0] = " name "_phase" side "[0] ^ int32(select(" at " == 1, 1, 0))\n"
#define STEP_BY(name, end)                                                                         \
  "      " name "_slot[0] = int32(" end " % 2)\n      " name "_phase[0] = " name                   \
  "_phase[0] ^ int32(" end " // 2 % 2)\n"
#define START(name, side)                                                                          \
  "      " name "_slot" side "[0] = int32(0)\n      " name "_phase" side "[0] = int32(0)\n"
#define FILL(name, bytes)                                                                          \
  "      let " name "_in = index(" name "_slot_next[0])\n"                                         \
  "      mbar_wait(bar=" name "_empty[" name "_in], parity=" name "_phase_next[0] ^ int32(1))\n"   \
  "      mbar_arrive_tx(bar=" name "_full[" name "_in], bytes=" bytes ")\n"
#define LOAD(tile, name)                                                                           \
  "      tile_load(src=A[0 +: 64, 0 +: 64], dst=" tile "[" name                                    \
  "_in, 0 +: 64, 0 +: 64], bar=" name "_full[" name "_in])\n"
#define FILLED(name) STEP(name, "_next", name "_in")
#define RING(name)                                                                                 \
  "  shared " name "_full : uint64 [2]\n  shared " name "_empty : uint64 [2]\n"                    \
  "  local " name "_slot : int32 [1]\n  local " name "_phase : int32 [1]\n"                        \
  "  local " name "_slot_next : int32 [1]\n  local " name "_phase_next : int32 [1]\n"
#define MADE(name, arrivals)                                                                       \
  "      unroll s" name " in 0 +: 2 {\n      mbar_init(bar=" name "_full[s" name "], count=1)\n"   \
  "      mbar_init(bar=" name "_empty[s" name "], count=" arrivals ")\n      }\n"
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
    "kernel p_k0 {\n  level tile\n  grid [8]\n  threads 128\n  block [bx, _, _]\n  thread tx\n"
    "  launch 256 blocks 1\n  shared W_full : uint64 [2]\n"
    TILE("X1") TILE("X2") TILE("Y1") TILE("Z1") RING("X") RING("Y") RING("Z")
    "  fragment C : float32 [64, 64]\n  fragment P : float16 [64, 64]\n"
    "  fragment s : float32 [64]\n"
    "  body {\n    if tx == 0 {\n" MADE("X", "4") MADE("Y", "4") MADE("Z", "4")
    "      }\n      sync_threads()\n      roles tx < 128 {\n"
    START("X", "") START("Y", "") START("Z", "")
    "      for k in 0 +: 4 {\n"
    TAKE("X") TAKE("Y") WAIT("X") GEMM(SLOT("X1", "X_at"), SLOT("X2", "X_at"))
    "      parallel i, j in 0 +: 64, 0 +: 64 { P[i, j] = X1[X_at, i, j] }\n"
    "      sync_warp()\n      " FREE("X", "X_at") STEP("X", "", "X_at") WAIT("Y")
    "      if k % 2 == 0 {\n" GEMM("P[0 +: 64, 0 +: 64]", SLOT("Y1", "Y_at"))
    "      }\n      " FREE("Y", "Y_at") STEP("Y", "", "Y_at")
    "      }\n      for k in 0 +: bx {\n"
    TAKE("Z") WAIT("Z") GEMM(SLOT("Z1", "Z_at"), SLOT("Z1", "Z_at"))
    "      if k != 0 {\n        sync_warp()\n        " FREE("Z", "1 - Z_at")
    "      }\n" STEP("Z", "", "Z_at") "      }\n      if 0 < bx {\n        "
    FREE("Z", "1 - index(Z_slot[0])")
    "      }\n    } else {\n"
    "      if tx == 128 {\n" START("X", "_next") START("Y", "_next") START("Z", "_next")
    "      for k in 0 +: 4 {\n"
    FILL("X", "16384") LOAD("X1", "X") LOAD("X2", "X") FILLED("X")
    FILL("Y", "8192") LOAD("Y1", "Y") FILLED("Y")
    "      }\n      for k in 0 +: bx {\n" FILL("Z", "8192") LOAD("Z1", "Z") FILLED("Z")
    "      }\n      }\n    }\n  }\n}\n";

// Both sides' control flow around turns at one channel, W, of tile B.
#define TURN TAKE("W") WAIT("W") GEMM(SLOT("B", "W_at"), SLOT("B", "W_at")) FREE("W", "W_at")     \
    STEP("W", "", "W_at")
#define LATE(v) "let " v " = index(W_slot[0])\n mbar_wait(bar=W_full[" v "], parity=W_phase[0])\n" \
    GEMM(SLOT("B", v), SLOT("B", v)) FREE("W", v) STEP("W", "", v)
#define FETCH FILL("W", "8192") LOAD("B", "W") FILLED("W")
#define PASS(n) "let here = index(W_slot[0])\nlet end = here + " n "\n" STEP_BY("W", "end")
#define SIDES(head, consumers, producer)                                                           \
    "program p\nsize M\nsize N\nparam A : tensor float16 [64, 64] role in\n"                       \
    "param L : tensor int32 [M] role in\nparam flag : int32\n"                                     \
    "kernel p_k0 {\n  level tile\n grid [M, 1, 1] threads 128\n  block [bx, _, _]\n  thread tx\n" \
    "  launch 256 blocks 1\n" head TILE("B") RING("W") "  fragment C : float32 [64, 64]\n"         \
    "  body {\n if tx == 0 {\n" MADE("W", "4") "}\n sync_threads()\n roles tx < 128 {\n"          \
    START("W", "") consumers "} else {\n if tx == 128 {\n" START("W", "_next") producer            \
    "      }\n    }\n  }\n}\n"
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
    {"tx % 32 == 0 { mbar_arrive(bar=X", 0, "tx == 0 { mbar_arrive(bar=X", "not each warp"},
    {"tx % 32 == 0 { mbar_arrive(bar=Z", 0, "tx % 16 == 0 { mbar_arrive(bar=Z", "not each warp"},
    {"count=4", 1, "count=3", "3 arrivals end a phase of Y_empty, and 4 come"},
    {"count=1", 1, "count=2", "2 arrivals end a phase of Y_full"},
    {MADE("Z", "4"), 0, "", "-1 arrivals end a phase of Z_empty"},
    {STEP("X", "", "X_at"), 0, "", "a turn at X_full does not end"},
    {STEP("Y", "", "Y_at"), 0, STEP("Y", "", "Y_at") STEP("Y", "", "Y_at"), "is passed over"},
    {STEP("Z", "", "Z_at"), 0, STEP("Y", "", "Z_at"), "a turn at Z_full does not end"},
    {"select(X_at == 1, 0, X_at + 1)", 0, "select(X_at == 1, 1, X_at + 1)",
     "the slot that follows"},
    {"select(X_at == 1, 1, 0)", 0, "select(X_at == 0, 1, 0)",
     "the phase that follows one of X_full"},
    {"Y_phase[0] ^ int32(select(Y_at", 0, "X_phase[0] ^ int32(select(Y_at",
     "the phase that follows"},
    {"parity=X_phase[0])", 0, "parity=Y_phase[0])", "the phase that follows one of X_full"},
    {"let X_at = index(X_slot[0])", 0, "let X_at = index(Y_slot[0])",
     "the phase that follows one of X_full"},
    // the producer
    {"if tx == 128", 0, "if 128 <= tx", "several threads fill a slot of X_full"},
    {FILLED("Y"), 0, "", "a turn at Y_empty does not end"},
    {"parity=Z_phase_next[0] ^ int32(1)", 0, "parity=Z_phase_next[0]",
     "nobody counts the turns at Z_empty"},
    {"bytes=16384", 0, "bytes=8192", "8192 bytes are expected, and 16384 come"},
    {LOAD("X2", "X"), 0, "", "16384 bytes are expected, and 8192 come"},
    {LOAD("Y1", "Y"), 0, LOAD("X1", "Y"), "X1 is a tile of Y_full and of X_full"},
    {"mbar_wait(bar=Y_empty[Y_in], parity=Y_phase_next[0] ^ int32(1))", 0, "", "without a wait"},
    {"mbar_wait(bar=Y_empty[Y_in]", 0, "mbar_wait(bar=Y_empty[1 - Y_in]", "without a wait"},
    {"dst=Y1[Y_in", 0, "dst=Y1[1 - Y_in", "a load to another slot"},
    {"bar=Y_full[Y_in])", 0, "bar=X_full[X_in])", "a phase of X_full that expects no bytes"},
    {FILL("Z", "8192"), 0,
     FILL("Z", "8192") LOAD("Z1", "Z") FILL("Y", "8192") LOAD("Z1", "Y") "      let w = 0\n",
     "Z1 is a tile of"},
    {"mbar_wait(bar=Z_empty[Z_in]", 0, "mbar_wait(bar=Y_empty[Z_in]", "never"},
};

// What both sides do around their turns; where they differ the verifier says so.
#define LOOP(v, n, body) "for " v " in 0 +: " n " {\n" body "}\n"
#define WHERE(cond, body) "if " cond " {\n" body "}\n"
#define EITHER(cond, yes, no) "if " cond " {\n" yes "} else {\n" no "}\n"
#define LET(v, value) "let " v " = " value "\n"
#define ROUNDS(mine, others) LOOP("r", "M", EITHER("r % 2 == team", mine, others))
#define TEAMS "  team team of 2\n"
#define PEELED LATE("first") "for k in 1 +: N - 1 {\n" TURN "}\n"
#define BY_ONE LET("at", "1") "mbar_wait(bar=W_full[at], parity=W_phase[0])\n"

static const char *const alike[] = {
    SIDES("", LOOP("k", "N", TURN), LOOP("k", "N", FETCH)),
    SIDES("", LOOP("k", "N", LOOP("i", "M", TURN)), LOOP("k", "M", LOOP("i", "N", FETCH))),
    SIDES("", LOOP("k", "N", TURN LATE("again")), LOOP("k", "2 * N", FETCH)),
    SIDES("", LOOP("k", "N", LOOP("i", "k + bx", TURN)),
          LOOP("k", "N", LOOP("i", "k + bx", FETCH))),
    // conditions of the data, trip counts of the data
    SIDES("", LOOP("k", "M", WHERE("L[k] != 0", TURN)), LOOP("k", "M", WHERE("L[k] != 0", FETCH))),
    SIDES("", LET("n", "L[bx]") LOOP("k", "n", TURN), LET("x", "L[bx]") LOOP("k", "x", FETCH)),
    SIDES("", WHERE("flag != 0", LOOP("k", "N", TURN)), WHERE("flag != 0", LOOP("k", "N", FETCH))),
    // one side's condition changes nothing
    SIDES("", EITHER("bx < N", LOOP("k", "N", TURN), LOOP("k", "N", TURN)), LOOP("k", "N", FETCH)),
    SIDES("", LOOP("r", "M", EITHER("L[r] < N", LOOP("k", "r", TURN), LOOP("k", "r", TURN))),
          LOOP("r", "M", LOOP("k", "r", FETCH))),
    // the first iteration is apart
    SIDES("", WHERE("0 < N", PEELED), LOOP("k", "N", FETCH)),
    SIDES("", LET("x", "L[bx]") WHERE("0 < x", LATE("first") "for k in 1 +: x - 1 {\n" TURN "}\n"),
          LET("n", "L[bx]") LOOP("k", "n", FETCH)),
    SIDES("",
          WHERE("0 < index(L[bx])", LATE("first") "for k in 1 +: index(L[bx]) - 1 {\n" TURN "}\n"),
          LOOP("k", "index(L[bx])", FETCH)),
    SIDES("", "assume 1 <= N\n" PEELED, LOOP("k", "N", FETCH)),
    SIDES("", LOOP("r", "M", WHERE("0 < N", PEELED)), LOOP("r", "M", LOOP("k", "N", FETCH))),
    // teams
    SIDES(TEAMS, ROUNDS(LOOP("k", "N", TURN), PASS("max(N, 0)")),
          LOOP("r", "M", LOOP("k", "N", FETCH))),
    SIDES(TEAMS,
          ROUNDS(LOOP("k", "M", WHERE("L[k] < r", TURN)),
                 LOOP("k", "M", WHERE("L[k] < r", PASS("1")))),
          LOOP("r", "M", LOOP("k", "M", WHERE("L[k] < r", FETCH)))),
};

static const char other[] = "the producer takes other turns at W_full";
static const struct {
  const char *text, *why;
} unlike[] = {
    {SIDES("", LOOP("k", "N", TURN), LOOP("k", "N + 1", FETCH)), other},
    {SIDES("", LOOP("k", "N - 1", TURN), LOOP("k", "N", FETCH)), other},
    {SIDES("", LOOP("k", "N", TURN), LOOP("k", "M", FETCH)), other},
    {SIDES("", LOOP("k", "N", TURN LATE("again")), LOOP("k", "N", FETCH)), other},
    {SIDES("", LOOP("k", "N", TURN), LOOP("k", "N", LOOP("i", "k", FETCH))), other},
    {SIDES("", LOOP("k", "N", LOOP("i", "k", TURN)), LOOP("k", "N", LOOP("i", "k + 1", FETCH))),
     other},
    {SIDES("", LOOP("k", "M", TURN), LOOP("k", "M", WHERE("L[k] != 0", FETCH))), other},
    {SIDES("", LOOP("k", "M", WHERE("L[k] != 0", TURN)), LOOP("k", "M", WHERE("L[k] != 1", FETCH))),
     other},
    {SIDES("", LOOP("k", "M", WHERE("L[k] != 0", TURN)),
           LOOP("k", "M", EITHER("L[k] != 0", "", FETCH))),
     other},
    {SIDES("", LET("n", "L[bx]") LOOP("k", "n", TURN), LET("x", "L[0]") LOOP("k", "x", FETCH)),
     other},
    {SIDES("", EITHER("flag != 0", TURN, LOOP("k", "N", TURN)),
           EITHER("flag != 0", FETCH, LOOP("k", "M", FETCH))),
     other},
    {SIDES("", EITHER("bx < N", LOOP("k", "N", TURN), ""), LOOP("k", "N", FETCH)), other},
    {SIDES("", PEELED, LOOP("k", "N", FETCH)), other}, // of N = 0
    {SIDES("",
           WHERE("0 < index(L[bx])", LATE("first") "for k in 1 +: index(L[0]) - 1 {\n" TURN "}\n"),
           LOOP("k", "index(L[bx])", FETCH)),
     other},
    {SIDES("", WHERE("0 < N", "for k in 1 +: N - 1 {\n" TURN "}\n"), LOOP("k", "N", FETCH)), other},
    {SIDES("", "for k in 0 +: N while flag != 0 {\n" TURN "}\n", LOOP("k", "N", FETCH)),
     "a loop that nothing counts"},
    {SIDES("", LOOP("k", "N", TURN PASS("1")), LOOP("k", "N", FETCH)), "is passed over"},
    {SIDES("", LOOP("k", "N", TURN BY_ONE), LOOP("k", "N", FETCH)),
     "a wait for W_full by other counters"},
    {SIDES(TEAMS, ROUNDS(LOOP("k", "N", TURN), PASS("N + 1")),
           LOOP("r", "M", LOOP("k", "N", FETCH))),
     other},
    {SIDES(TEAMS, ROUNDS(LOOP("k", "N", TURN), ""), LOOP("r", "M", LOOP("k", "N", FETCH))), other},
    {SIDES(TEAMS, LOOP("k", "N", TURN), LOOP("k", "N", FETCH)), "by more than one team"},
    {SIDES(TEAMS, LOOP("r", "M", EITHER("r % 3 == team", TURN, PASS("1"))), LOOP("r", "M", FETCH)),
     "by more than one team"},
    {SIDES(TEAMS,
           ROUNDS(TURN, "let end = index(W_slot[0]) + 1\n W_phase[0] = W_phase[0] ^ "
                        "int32(end // 2 % 2)\n"),
           LOOP("r", "M", FETCH)),
     "the phase that follows"},
    {SIDES(TEAMS, ROUNDS(TURN, TAKE("W") "let end = W_at + 1\n W_slot[0] = int32(end % 2)\n"),
           LOOP("r", "M", FETCH)),
     "a turn at W_full does not end"},
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

START_TEST(turns) {
  for (size_t i = 0; i < LEN(alike); i++) {
    text_begin();
    const char *said = text_judged(alike[i]);
    ck_assert_msg(!*said, "%s\n%s", said, alike[i]);
  }
  for (size_t i = 0; i < LEN(unlike); i++) {
    text_begin();
    const char *said = text_judged(unlike[i].text);
    ck_assert_msg(strstr(said, unlike[i].why) != NULL, "expected '%s', said '%s' of\n%s",
                  unlike[i].why, said, unlike[i].text);
  }
}
END_TEST

int main(void) {
  const TTest *tests[] = {channels, turns};
  return run_suite("channels", tests, LEN(tests));
}
