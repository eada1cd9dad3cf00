// Ops of sm_90a alone: each program has nothing to report under the emulator, and the instruction
// of each helper is spelled as the PTX ISA's chapters have it, operands and order included.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <ctype.h>

#include "micro_sm90.h"
#include "suite.h"

static Micros micros;
static char *text; // of all programs, without quotes and blanks

static void emit_all(void) {
  int n = micros.list.len, out = 0;
  const Program **p = NEWN(micros.a, const Program *, n);
  CgOptions *o = NEWN(micros.a, CgOptions, n);
  for (int i = 0; i < n; i++) {
    p[i] = micros.list.data[i]->p;
    o[i] = (CgOptions){.target = target_find("sm_90a"), .out_name = "micro.cu"};
  }
  Buf all = {0};
  cg_cuda_all(p, o, n, &all);
  text = arena_alloc(micros.a, all.len + 1);
  for (const char *c = buf_str(&all); *c; c++)
    if (!isspace((unsigned char)*c) && *c != '"') text[out++] = *c;
  text[out] = 0;
  buf_free(&all);
}

START_TEST(program_is_clean) {
  const Micro *m = micros.list.data[_i];
  for (uint64_t seed = 0; seed < 3; seed++) {
    Diags *d = diag_new(micros.a, src_new(micros.a), (DiagOptions){0});
    EmuReport report;
    EmuCall call = {.args = (EmuArg *)m->arg};
    bool clean =
        emu_run(m->p, &call, target_find("sm_90a"), &(EmuOptions){.seed = seed}, &report, d);
    diag_flush(d, stderr);
    ck_assert_msg(clean, "%s", m->p->symbol);
  }
}
END_TEST

// The text of helper `name` has this asm statement, and the helper is there once.
static void expect_asm(const char *name, const char *want) {
  const char *head = arena_printf(micros.a, "tlc_%s(", name), *at = text;
  static const char begin[] = "__forceinline__";
  for (;; at++) { // the definition, not a call
    at = strstr(at, head);
    ck_assert_msg(at != NULL, "%s is not in the text", name);
    const char *line = at;
    while (line > text && strncmp(line, begin, strlen(begin)) && at - line < 30) line--;
    if (!strncmp(line, begin, strlen(begin))) break;
  }
  const char *s = strstr(at, "asmvolatile(");
  ck_assert_msg(s != NULL, "%s has no asm", name);
  s += strlen("asmvolatile(");
  ck_assert_msg(!strncmp(s, want, strlen(want)) && !strncmp(s + strlen(want), ");", 2),
                "%s: expected %s, the text is %.300s", name, want, s);
}

static const char *numbered(int from, int n) { // {%4,%5}
  const char *s = "{";
  for (int i = 0; i < n; i++)
    s = arena_printf(micros.a, "%s%%%d%s", s, from + i, i < n - 1 ? "," : "}");
  return s;
}

static const char *inputs(int n) { // r(x),r(y)
  const char *s = "";
  for (int i = 0; i < n; i++) s = arena_printf(micros.a, "%s%sr(%c)", s, i ? "," : "", "xyzuv"[i]);
  return s;
}

START_TEST(tensor_copies) {
  Arena *a = micros.a;
  for (int n = 1; n <= 5; n++) {
    expect_asm(
        arena_printf(a, "tma_load_%dd", n),
        arena_printf(a,
                     "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::"
                     "complete_tx::bytes.L2::cache_hint[%%0],[%%1,%s],[%%2],%%3;::"
                     "r(tlc_smem_addr(dst)),l(map),r(tlc_smem_addr(bar)),l(policy),%s:memory",
                     n, numbered(4, n), inputs(n)));
    expect_asm(arena_printf(a, "tma_store_%dd", n),
               arena_printf(a,
                            "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group.L2::"
                            "cache_hint[%%0,%s],[%%1],%%2;::l(map),r(tlc_smem_addr(src)),l(policy),"
                            "%s:memory",
                            n, numbered(3, n), inputs(n)));
  }
  expect_asm(
      "tma_multicast_2d",
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
      "multicast::cluster.L2::cache_hint[%0],[%1,{%5,%6}],[%2],%3,%4;::r(tlc_smem_addr(dst)),"
      "l(map),r(tlc_smem_addr(bar)),h(static_cast<uint16_t>(blocks)),l(policy),r(x),r(y):"
      "memory");
  static const char *const fns[] = {"add", "max", "min"};
  for (size_t f = 0; f < LEN(fns); f++)
    expect_asm(arena_printf(a, "tma_%s_2d", fns[f]),
               arena_printf(a,
                            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.%s.tile.bulk_group"
                            "[%%0,{%%2,%%3}],[%%1];::l(map),r(tlc_smem_addr(src)),r(x),r(y):memory",
                            fns[f]));
  expect_asm("tma_prefetch", "prefetch.tensormap[%0];::l(map):memory");
}
END_TEST

START_TEST(bulk_copies) {
  static const char *const types[][2] = {
      {"add_f32", "add.f32"},   {"add_f64", "add.f64"},         {"add_i32", "add.s32"},
      {"add_u32", "add.u32"},   {"add_u64", "add.u64"},         {"add_f16", "add.noftz.f16"},
      {"max_f16", "max.f16"},   {"min_f16", "min.f16"},         {"max_i32", "max.s32"},
      {"min_u32", "min.u32"},   {"max_i64", "max.s64"},         {"min_u64", "min.u64"},
      {"max_bf16", "max.bf16"}, {"add_bf16", "add.noftz.bf16"}, {"min_i32", "min.s32"}};
  for (size_t i = 0; i < LEN(types); i++)
    expect_asm(arena_printf(micros.a, "bulk_%s", types[i][0]),
               arena_printf(micros.a,
                            "cp.reduce.async.bulk.global.shared::cta.bulk_group.%s[%%0],[%%1],%%2;"
                            "::l(dst),r(tlc_smem_addr(src)),r(bytes):memory",
                            types[i][1]));
  expect_asm("bulk_load", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes[%0],"
                          "[%1],%2,[%3];::r(tlc_smem_addr(dst)),l(src),r(bytes),"
                          "r(tlc_smem_addr(bar)):memory");
  expect_asm("bulk_multicast",
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
             "[%0],[%1],%2,[%3],%4;::r(tlc_smem_addr(dst)),l(src),r(bytes),r(tlc_smem_addr(bar)),"
             "h(static_cast<uint16_t>(blocks)):memory");
  expect_asm("bulk_store", "cp.async.bulk.global.shared::cta.bulk_group[%0],[%1],%2;::l(dst),"
                           "r(tlc_smem_addr(src)),r(bytes):memory");
  expect_asm("bulk_commit", "cp.async.bulk.commit_group;:::memory");
  expect_asm("bulk_wait", "cp.async.bulk.wait_group%0;::n(N):memory");
  expect_asm("bulk_wait_read", "cp.async.bulk.wait_group.read%0;::n(N):memory");
}
END_TEST

#define BAR "r(tlc_smem_addr(bar))"

START_TEST(barriers) {
  expect_asm("mbar_init", "mbarrier.init.shared::cta.b64[%0],%1;::" BAR ",r(count):memory");
  expect_asm("mbar_arrive", "mbarrier.arrive.shared::cta.b64_,[%0];::" BAR ":memory");
  expect_asm("mbar_arrive_tx",
             "mbarrier.arrive.expect_tx.shared::cta.b64_,[%0],%1;::" BAR ",r(bytes):memory");
  expect_asm("mbar_expect_tx",
             "mbarrier.expect_tx.relaxed.cta.shared::cta.b64[%0],%1;::" BAR ",r(bytes):memory");
  expect_asm(
      "mbar_arrive_remote",
      "{\\n.reg.b32remote;\\nmapa.shared::cluster.u32remote,%0,%1;\\nmbarrier.arrive.release."
      "cluster.shared::cluster.b64_,[remote];\\n}::" BAR ",r(rank):memory");
  expect_asm(
      "mbar_arrive_remote_wgmma",
      "{\\n.reg.b32remote;\\nmapa.shared::cluster.u32remote,%0,%1;\\nmbarrier.arrive.relaxed."
      "cluster.shared::cluster.b64_,[remote];\\n}::" BAR ",r(rank):memory");
  expect_asm("mbar_arrive_copies",
             "cp.async.mbarrier.arrive.noinc.shared::cta.b64[%0];::" BAR ":memory");
  expect_asm("mbar_wait", "{\\n.reg.predp;\\nmbarrier.try_wait.parity.shared::cta.b64p,[%1],%2;\\n"
                          "selp.u32%0,1,0,p;\\n}:=r(done):" BAR ",r(parity&1):memory");
  expect_asm("fence_mbar_init", "fence.mbarrier_init.release.cluster;:::memory");
  expect_asm("fence_proxy_async", "fence.proxy.async;:::memory");
  expect_asm("fence_proxy_async_global", "fence.proxy.async.global;:::memory");
  expect_asm("cluster_arrive", "barrier.cluster.arrive.release.aligned;:::memory");
  expect_asm("cluster_wait", "barrier.cluster.wait.acquire.aligned;:::memory");
  expect_asm("cluster_rank", "mov.u32%0,%%cluster_ctarank;:=r(rank)");
  expect_asm("bar_sync", "barrier.cta.sync.aligned%0,%1;::r(id),n(N):memory");
  expect_asm("bar_arrive", "barrier.cta.arrive.aligned%0,%1;::r(id),n(N):memory");
  expect_asm("setmaxnreg_inc", "setmaxnreg.inc.sync.aligned.u32%0;::n(N)");
  expect_asm("setmaxnreg_dec", "setmaxnreg.dec.sync.aligned.u32%0;::n(N)");
}
END_TEST

START_TEST(matrices) {
  for (int trans = 0; trans < 2; trans++) {
    for (int n = 1; n <= 4; n *= 2) {
      const char *regs = "";
      for (int i = 0; i < n; i++) regs = arena_printf(micros.a, "%s,r(r[%d])", regs, i);
      expect_asm(arena_printf(micros.a, "stmatrix%s_x%d", trans ? "_trans" : "", n),
                 arena_printf(micros.a,
                              "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16[%%0],%s;::"
                              "r(tlc_smem_addr(smem))%s:memory",
                              n, trans ? ".trans" : "", numbered(1, n), regs));
    }
  }
}
END_TEST

// The launcher describes the tensor innermost first, and refuses what TMA cannot address.
START_TEST(launcher) {
  static const char *const parts[] = {
      "tlc_tensor_map(&Am,CU_TENSOR_MAP_DATA_TYPE_FLOAT16,A,false,{24,10,6},{48,480},{16,4,2},"
      "CU_TENSOR_MAP_SWIZZLE_NONE,CU_TENSOR_MAP_L2_PROMOTION_NONE,CU_TENSOR_MAP_FLOAT_OOB_FILL_"
      "NONE",
      "{72,40},{144},{64,16},CU_TENSOR_MAP_SWIZZLE_NONE,CU_TENSOR_MAP_L2_PROMOTION_NONE,"
      "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,{1,2})",
      "CU_TENSOR_MAP_SWIZZLE_128B,CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
      "tlc_tma_load_3d(S,&Am,bar,tlc_evict_normal,8,-1,5);",
      "tlc_tma_store_3d(&Dm,S,tlc_evict_last,16,8,5);",
      "attribute[0].val.clusterDim.x=2;",
      "config.attrs=attribute;",
      "__launch_bounds__(384,1)",
      "config.blockDim=dim3(384);",
      "const__grid_constant__CUtensorMapAm"};
  for (size_t i = 0; i < LEN(parts); i++)
    ck_assert_msg(strstr(text, parts[i]) != NULL, "'%s' is not in the text", parts[i]);
}
END_TEST

START_TEST(run_time_strides_are_refused) {
  Program *p = micro_read(
      &micros, "program runtime\nsize M\nsize K\n"
               "param A : tensor float16 [M * K] role in\n"
               "kernel runtime_k0 {\n  level thread\n  threads 32\n  grid [M, 1, 1]\n"
               "  cluster [2, 1, 1]\n  thread tx\n  block [bx, _, _]\n  smem 1152\n"
               "  map Am : float16 [M, K] of A box [8, 64]\n"
               "  shared S : float16 [512] offset 0\n  shared b : uint64 [1] offset 1024\n"
               "  body { if tx == 0 { tma_load(src=Am[bx +: 8, 0 +: 64], dst=S[0 +: 512],"
               " bar=b[0]) } }\n}\n");
  Buf out = {0};
  CgOptions o = {.target = target_find("sm_90a"), .out_name = "runtime.cu"};
  cg_cuda(p, &o, &out);
  static const char *const parts[] = {
      "if (tlc_bad_pitch(K * 2)) return \"A must have strides that are multiples of 16 bytes",
      "if (M % 2) return \"the grid of runtime_k0 must be a multiple of 2 blocks along x\";",
      "if (K > 4294967296)"};
  for (size_t i = 0; i < LEN(parts); i++)
    ck_assert_msg(strstr(buf_str(&out), parts[i]) != NULL, "'%s' is not in\n%s", parts[i],
                  strstr(buf_str(&out), "// NULL where"));
  buf_free(&out);
}
END_TEST

int main(void) {
  Arena *a = arena_new();
  micro_sm90_all(&micros, a);
  emit_all();
  Suite *s = suite_create("codegen_sm90");
  TCase *t = tcase_create("all");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, program_is_clean, 0, micros.list.len);
  tcase_add_test(t, tensor_copies);
  tcase_add_test(t, bulk_copies);
  tcase_add_test(t, barriers);
  tcase_add_test(t, matrices);
  tcase_add_test(t, launcher);
  tcase_add_test(t, run_time_strides_are_refused);
  suite_add_tcase(s, t);
  int failed = suite_run(s);
  arena_free(a);
  return failed;
}
