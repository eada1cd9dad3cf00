// TMA, mbarriers and wgmma together: the kernel of hopper_gemm.h is right and clean in the
// emulator, and every change to what orders its copies and products is reported.
// SPDX-License-Identifier: MIT
#include "emu_text.h"
#include "hopper_gemm.h"

START_TEST(right_and_clean) {
  text_begin();
  text_program(hopper_gemm);
  uint16_t *A = T.arg[0].data, *B = T.arg[1].data;
  const float *C = T.arg[2].data;
  for (int i = 0; i < 65536; i++) A[i] = num_f16_from_f64((i * 37 + i / 256) % 101 % 7 - 3);
  for (int i = 0; i < 32768; i++) B[i] = num_f16_from_f64((i * 53 + i / 256) % 103 % 9 - 4);
  expect_clean();
  for (int m = 0; m < 256; m++) {
    for (int n = 0; n < 128; n++) {
      float want = 0;
      for (int k = 0; k < 256; k++)
        want += num_f16_to_f32(A[m * 256 + k]) * num_f16_to_f32(B[n * 256 + k]);
      if (C[m * 128 + n] != want) ck_abort_msg("C[%d,%d]", m, n);
    }
  }
}
END_TEST

#define FLIGHT DIAG_EMU_IN_FLIGHT
#define RACE DIAG_EMU_RACE
#define UNWRITTEN DIAG_EMU_UNWRITTEN
#define SOURCE DIAG_EMU_SOURCE
#define STUCK DIAG_EMU_STUCK
#define ALIAS DIAG_EMU_MBAR_ALIAS
#define ACC DIAG_EMU_WGMMA_FLIGHT
#define ARRIVE "if tx % 32 == 0 { mbar_arrive(bar=empty[k % 2]) }"

START_TEST(each_change_is_reported) {
  CHANGES(hopper_gemm,
          // of wgmma
          {"wgmma_wait(pending=0)", 0, "", {SOURCE}},
          {"wgmma_wait(pending=0)", 0, "wgmma_wait(pending=1)", {SOURCE}},
          {"wgmma_commit()", 0, "", {SOURCE, ACC}},
          {"wgmma_fence()", 0, "", {DIAG_EMU_WGMMA_FENCE}},
          {"wgmma_fence()", 0, "wgmma_fence() acc[0] = float32(1)", {DIAG_EMU_WGMMA_FENCE}},
          {"a_lo=a[0] + uint32(k % 2 * 1024 + 4)",
           0,
           "a_lo=a[0] + uint32(k % 2 * 1024 + 512)",
           {DIAG_EMU_WGMMA_RANGE}},
          {"b_lo=b[0] + uint32(k % 2 * 1024 + 6)",
           0,
           "b_lo=b[0] + uint32((k + 1) % 2 * 1024 + 6)",
           {DIAG_EMU_WGMMA_RANGE}},
          {"wgmma_fence()", 0, "acc[0] = float32(1) wgmma_fence()", {DIAG_EMU_WGMMA_FENCE}},
          {"wgmma_wait(d=acc[0 +: 64], pending=0)", 0, "", {DIAG_EMU_WGMMA_NAMED}},
          {"wgmma_wait(d=acc[0 +: 64], pending=0)",
           0,
           "wgmma_wait(d=acc[0 +: 63], pending=0)",
           {DIAG_EMU_WGMMA_NAMED}},
          // of the ring
          {"mbar_wait(bar=full[k % 2], parity=k // 2)", 0, "", {FLIGHT, UNWRITTEN}},
          {"mbar_wait(bar=empty[k % 2], parity=k // 2 + 1)", 0, "", {SOURCE, RACE, FLIGHT}},
          {"mbar_wait(bar=full[k % 2], parity=k // 2)",
           0,
           "if tx % 32 == 0 { mbar_wait(bar=full[k % 2], parity=k // 2) }",
           {FLIGHT}},
          {ARRIVE, 0, "", {STUCK}}, {"count=8", 0, "count=2", {SOURCE, ALIAS}},
          {"parity=k // 2)", 0, "parity=k // 2 + 1)", {FLIGHT, UNWRITTEN, ALIAS}},
          {"bytes=32768", 0, "bytes=16384", {DIAG_EMU_MBAR_TX, FLIGHT}});
}
END_TEST

// Reading, too, needs a fence after it.
START_TEST(read_between) {
  text_begin();
  const char *named = text_with(hopper_gemm, "wgmma_wait(pending=0)", 0,
                                "wgmma_wait(d=acc[0 +: 64], pending=0) x[0] = acc[0]");
  char *text = strdup(text_with(named, "  local e :", 0, "  local x : float32 [1]\n  local e :"));
  CHANGES(text, {"wgmma_fence()", 0, "if k == 0 { wgmma_fence() }", {DIAG_EMU_WGMMA_FENCE}});
  text_begin();
  text_program(text);
  expect_clean();
  free(text);
}
END_TEST

// One arrival for a warpgroup relies on what PTX does not say: that a warp's wait is for all four.
START_TEST(one_arrival_a_warpgroup) {
  CHANGES(hopper_gemm, {ARRIVE,
                        0,
                        "if tx % 128 == 0 { mbar_arrive(bar=empty[k % 2]) "
                        "mbar_arrive(bar=empty[k % 2]) mbar_arrive(bar=empty[k % 2]) "
                        "mbar_arrive(bar=empty[k % 2]) }",
                        {SOURCE}});
}
END_TEST

int main(void) {
  const TTest *tests[] = {right_and_clean, each_change_is_reported, read_between,
                          one_arrival_a_warpgroup};
  return run_suite("hopper_gemm", tests, LEN(tests));
}
