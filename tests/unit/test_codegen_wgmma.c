// wgmma as text: every helper assembles for sm_90a, and ptxas neither spills nor serialises a
// pipelined kernel, whose values the emulator gives. Without nvcc the assembling is skipped.
// SPDX-License-Identifier: MIT
#include "emu_build.h"
#include "hopper_gemm.h"
#include "micro_wgmma.h"
#include "text_host.h"

#include <unistd.h>

static const char *nvcc;
static char folder[256];

// What nvcc says to the text; kept by content. NULL where it fails.
static const char *assemble(Arena *a, const Buf *text) {
  const char *stem = arena_printf(a, "%s/%016llx", folder,
                                  (unsigned long long)hash_bytes(buf_str(text), text->len, 90));
  const char *cu = arena_printf(a, "%s.cu", stem), *log = arena_printf(a, "%s.log", stem);
  if (access(log, R_OK)) {
    ck_assert_int_eq(text_write(cu, text), 0);
    int status = system(arena_printf(
        a,
        "%s -std=c++17 -arch=sm_90a -Xptxas -v -Xcompiler -Wall,-Wextra -cubin -o %s.cubin %s "
        "> %s.tmp 2>&1 && mv %s.tmp %s",
        nvcc, stem, cu, stem, stem, log));
    if (status) return file_read(a, arena_printf(a, "%s.tmp", stem), &(size_t){0});
  }
  return file_read(a, log, &(size_t){0});
}

static void expect_good(Arena *a, const Buf *text, int kernels) {
  if (!nvcc) return;
  const char *said = assemble(a, text);
  int stores = 0, none = 0;
  ck_assert_ptr_nonnull(said);
  for (const char *s = said; (s = strstr(s, "spill stores")); s++) stores++;
  for (const char *s = said; (s = strstr(s, " 0 bytes spill stores, 0 bytes spill loads")); s++)
    none++;
  bool clean = !strstr(said, "C75") && !strstr(said, "warning") && !strstr(said, "error");
  ck_assert_msg(clean && stores == kernels && none == kernels, "%.3000s", said);
}

static void emit(Arena *a, const Program *const *p, int n, Buf *text) {
  CgOptions *o = NEWN(a, CgOptions, n);
  for (int i = 0; i < n; i++) o[i] = (CgOptions){.target = target_find("sm_90a")};
  cg_cuda_all(p, o, n, text);
}

static void check_list(void (*make)(Micros *s)) {
  Arena *a = arena_new();
  Micros s = {.a = a, .random = UINT64_C(0x9e3779b97f4a7c15)};
  Buf text = {0}, why = {0};
  make(&s);
  const Program **p = NEWN(a, const Program *, s.list.len);
  for (int i = 0; i < s.list.len; i++) {
    p[i] = s.list.data[i]->p;
    ck_assert_msg(ir_verify(p[i], &why), "%s", buf_str(&why));
  }
  emit(a, p, s.list.len, &text);
  expect_good(a, &text, s.list.len);
  buf_free(&text);
  buf_free(&why);
  arena_free(a);
}

START_TEST(types_assemble) { check_list(micro_wgmma_types); }
END_TEST
START_TEST(majors_assemble) { check_list(micro_wgmma_majors); }
END_TEST
START_TEST(tiles_assemble) { check_list(micro_wgmma_tiles); }
END_TEST

// The emulator has nothing to say about any of them.
START_TEST(micros_are_clean) {
  Arena *a = arena_new();
  Micros s = {.a = a, .random = UINT64_C(0x9e3779b97f4a7c15)};
  micro_wgmma_all(&s);
  micro_wgmma_widths(&s);
  for (int i = 0; i < s.list.len; i++) {
    Micro *m = s.list.data[i];
    Diags *d = diag_new(a, src_new(a), (DiagOptions){0});
    bool ok = emu_run(m->p, &(EmuCall){.args = m->arg}, NULL, &(EmuOptions){.seed = 1}, NULL, d);
    diag_flush(d, stderr);
    ck_assert_msg(ok, "%s", m->p->symbol);
  }
  arena_free(a);
}
END_TEST

/* two consumer warpgroups, 128 x 256 x 64 a block of K, four wgmma each, one group in flight */

#define WGMMA(step, scale)                                                                         \
  "      wgmma(a=A_s[tx // 128 * 4096 +: 4096], b=B_s[0 +: 16384], d=acc[0 +: 128],\n"             \
  "        a_lo=a_desc[0] + uint32(" step "), a_hi=uint32(1073741888),\n"                          \
  "        b_lo=b_desc[0] + uint32(" step "), b_hi=uint32(1073741888), scale_d=" scale             \
  ", n=256)\n"
#define CHUNKS(tile, from, n)                                                                      \
  "      unroll i in 0 +: " n " {\n"                                                               \
  "        vmov(src=" from "[(i * 32 + tx // 8) * 256 + k * 64 + tx % 8 * 8 +: 8], dst=v[0 +: "    \
  "8])\n"                                                                                          \
  "        vmov(src=v[0 +: 8], dst=" tile "[(i * 32 + tx // 8) * 64 + (tx % 8 ^ tx // 8 % 8) * 8 " \
  "+: 8])\n      }\n"

static const char pipeline[] =
    "program gemm\n"
    "param A : tensor float16 [32768] role in\nparam B : tensor float16 [65536] role in\n"
    "param C : tensor float32 [32768] role out\n"
    "kernel gemm_k0 {\n  level thread\n  threads 256\n  thread tx\n  smem 49152\n"
    "  shared A_s : float16 [8192] offset 0\n  shared B_s : float16 [16384] offset 16384\n"
    "  local acc : float32 [128]\n  local v : float16 [8]\n"
    "  local a_desc : uint32 [1]\n  local b_desc : uint32 [1]\n  body {\n"
    "    wgmma_desc(tile=A_s[tx // 128 * 4096], dst=a_desc[0], lbo=16)\n"
    "    wgmma_desc(tile=B_s[0], dst=b_desc[0], lbo=16)\n"
    "    for k in 0 +: 4 {\n" CHUNKS("A_s", "A", "4")
        CHUNKS("B_s", "B",
               "8") "      fence_proxy_async(space=1)\n      sync_threads()\n"
                    "      wgmma_fence()\n" WGMMA("0", "k != 0") WGMMA("2", "true")
                        WGMMA("4", "true")
                            WGMMA("6", "true") "      wgmma_commit()\n      wgmma_wait(d=acc[0 +: "
                                               "128], pending=0)\n      sync_threads()\n"
                                               "    }\n"
                                               "    unroll r in 0 +: 128 {\n"
                                               "      C[(tx // 32 * 16 + tx % 32 // 4 + r % 4 // 2 "
                                               "* 8) * 256 + r // 4 * 8 + tx % 4 * 2 + "
                                               "r % 2] = acc[r]\n    }\n  }\n}\n";

static Program *read_text(Arena *a, const char *text) {
  Sources *sources = src_new(a);
  Diags *d = diag_new(a, sources, (DiagOptions){0});
  Buf why = {0};
  Program *p = ir_read(a, d, src_add(sources, "gemm.tir", text, strlen(text)));
  diag_flush(d, stderr);
  ck_assert_ptr_nonnull(p);
  ck_assert_msg(ir_verify(p, &why), "%s", buf_str(&why));
  buf_free(&why);
  p->file = "gemm.tir";
  p->bindings = "";
  return p;
}

static void run_clean(Arena *a, const Program *p, EmuArg *args) {
  for (uint64_t seed = 0; seed < 2; seed++) {
    Diags *d = diag_new(a, src_new(a), (DiagOptions){0});
    bool ok = emu_run(p, &(EmuCall){.args = args}, NULL, &(EmuOptions){.seed = seed}, NULL, d);
    diag_flush(d, stderr);
    ck_assert(ok);
  }
}

static void expect_assembled(Arena *a, const Program *p) {
  Buf text = {0};
  emit(a, &p, 1, &text);
  expect_good(a, &text, 1);
  buf_free(&text);
}

START_TEST(pipelined_kernel) {
  Arena *a = arena_new();
  Program *p = read_text(a, pipeline);
  uint16_t *A = NEWN(a, uint16_t, 32768), *B = NEWN(a, uint16_t, 65536);
  float *C = NEWN(a, float, 32768);
  for (int i = 0; i < 32768; i++) A[i] = num_f16_from_f64(i * 37 % 101 % 7 - 3);
  for (int i = 0; i < 65536; i++) B[i] = num_f16_from_f64(i * 53 % 103 % 9 - 4);
  EmuArg args[] = {
      {.data = A, .bytes = 65536}, {.data = B, .bytes = 131072}, {.data = C, .bytes = 131072}};
  run_clean(a, p, args);
  for (int m = 0; m < 128; m++) {
    for (int n = 0; n < 256; n++) {
      float want = 0;
      for (int k = 0; k < 256; k++)
        want += num_f16_to_f32(A[m * 256 + k]) * num_f16_to_f32(B[n * 256 + k]);
      ck_assert_msg(C[m * 256 + n] == want, "C[%d,%d]", m, n);
    }
  }
  expect_assembled(a, p);
  arena_free(a);
}
END_TEST

/* two products in a chain, as in attention: S = Q K^T of the next block while O += P V runs, P
   being S of this one, converted in registers */

#define CHAIN_ROWS(tile, from, n)                                                                  \
  "    unroll i in 0 +: " n " {\n"                                                                 \
  "      vmov(src=" from "[(i * 16 + tx // 8) * 64 + tx % 8 * 8 +: 8], dst=v[0 +: 8])\n"           \
  "      vmov(src=v[0 +: 8], dst=" tile "[(i * 16 + tx // 8) * 64 + (tx % 8 ^ tx // 8 % 8) * 8 "   \
  "+: 8])\n    }\n"
#define CHAIN_S(step, block)                                                                       \
  "wgmma(a=Q_s[0 +: 4096], b=K_s[0 +: 16384], d=S[0 +: 32], a_lo=q[0] + uint32(" step "),\n"       \
  "  a_hi=uint32(1073741888), b_lo=k[0] + uint32(" step ") + uint32(" block "),\n"                 \
  "  b_hi=uint32(1073741888), scale_d=" step " != 0, n=64)\n"
#define CHAIN_O(at, step, block, scale)                                                            \
  "wgmma(a=P[" at " +: 8], b=V_s[0 +: 16384], d=O[0 +: 32],\n"                                     \
  "  b_lo=w[0] + uint32(" step ") + uint32(" block "), b_hi=uint32(1073741888), scale_d=" scale    \
  ", n=64, trans_b=1)\n"
#define CHAIN_SS(block)                                                                            \
  CHAIN_S("0", block) CHAIN_S("2", block) CHAIN_S("4", block) CHAIN_S("6", block)
#define CHAIN_OO(block, first)                                                                     \
  CHAIN_O("0", "0", block, first)                                                                  \
  CHAIN_O("8", "128", block, "true")                                                               \
  CHAIN_O("16", "256", block, "true")                                                              \
  CHAIN_O("24", "384", block, "true")

static const char chain[] =
    "program chain\n"
    "param Q : tensor float16 [4096] role in\nparam K : tensor float16 [16384] role in\n"
    "param V : tensor float16 [16384] role in\nparam C : tensor float32 [4096] role out\n"
    "kernel chain_k0 {\n  level thread\n  threads 128\n  thread tx\n  smem 73728\n"
    "  shared Q_s : float16 [4096] offset 0\n  shared K_s : float16 [16384] offset 8192\n"
    "  shared V_s : float16 [16384] offset 40960\n"
    "  local S : float32 [32]\n  local O : float32 [32]\n  local P : float16 [32]\n"
    "  local N : float16 [32]\n  local v : float16 [8]\n"
    "  local q : uint32 [1]\n  local k : uint32 [1]\n  local w : uint32 [1]\n  body {\n" CHAIN_ROWS(
        "Q_s", "Q", "4") CHAIN_ROWS("K_s", "K", "16")
        CHAIN_ROWS("V_s", "V",
                   "16") "    fence_proxy_async(space=1)\n    sync_threads()\n"
                         "    wgmma_desc(tile=Q_s[0], dst=q[0], lbo=16)\n"
                         "    wgmma_desc(tile=K_s[0], dst=k[0], lbo=16)\n"
                         "    wgmma_desc(tile=V_s[0], dst=w[0], lbo=16)\n"
                         "    wgmma_fence()\n" CHAIN_SS(
                             "0") "wgmma_commit()\nwgmma_wait(d=S[0 +: 32], pending=0)\n"
                                  "    unroll i in 0 +: 32 { P[i] = float16(S[i]) }\n"
                                  "    for j in 0 +: 3 {\n      wgmma_fence(a=P[0 +: "
                                  "32])\n" CHAIN_SS("(j + 1) * 512") "wgmma_commit()\n" CHAIN_OO(
                                      "j * 512",
                                      "j != 0") "wgmma_commit()\n"
                                                "      wgmma_wait(d=S[0 +: 32], pending=1)\n"
                                                "      unroll i in 0 +: 32 { N[i] = float16(S[i]) "
                                                "}\n"
                                                "      wgmma_wait(d=O[0 +: 32], pending=0)\n"
                                                "      unroll i in 0 +: 32 { P[i] = N[i] }\n    }\n"
                                                "    wgmma_fence(a=P[0 +: 32])\n" CHAIN_OO(
                                                    "1536",
                                                    "true") "    wgmma_commit()\n    "
                                                            "wgmma_wait(d=O[0 +: 32], pending=0)\n"
                                                            "    unroll r in 0 +: 32 {\n"
                                                            "      C[(tx // 32 * 16 + tx % 32 // 4 "
                                                            "+ r % 4 // 2 * 8) * 64 + r // 4 * 8 + "
                                                            "tx % 4 * 2 + r % "
                                                            "2] = O[r]\n    }\n  }\n}\n";

START_TEST(chained_products) {
  Arena *a = arena_new();
  Program *p = read_text(a, chain);
  uint16_t *t[3];
  float *C = NEWN(a, float, 4096);
  EmuArg args[4] = {[3] = {.data = C, .bytes = 16384}};
  for (int i = 0; i < 3; i++) {
    int n = i ? 16384 : 4096;
    args[i] = (EmuArg){.data = t[i] = NEWN(a, uint16_t, n), .bytes = (size_t)n * 2};
    for (int x = 0; x < n; x++) t[i][x] = num_f16_from_f64((x * 37 + x / 64 * 5 + i) % 101 % 5 - 2);
  }
  run_clean(a, p, args);
  for (int m = 0; m < 64; m++) {
    for (int d = 0; d < 64; d++) {
      float want = 0;
      for (int n = 0; n < 256; n++) {
        float s = 0;
        for (int x = 0; x < 64; x++)
          s += num_f16_to_f32(t[0][m * 64 + x]) * num_f16_to_f32(t[1][n * 64 + x]);
        want += s * num_f16_to_f32(t[2][n * 64 + d]); // |s| <= 256: exact in float16
      }
      ck_assert_msg(C[m * 64 + d] == want, "C[%d,%d]", m, d);
    }
  }
  expect_assembled(a, p);
  arena_free(a);
}
END_TEST

// With TMA, mbarriers and a producer warp.
START_TEST(specialised_kernel) {
  Arena *a = arena_new();
  expect_assembled(a, read_text(a, hopper_gemm));
  arena_free(a);
}
END_TEST

/* the instructions as PTX's chapters on wgmma spell them: no machine without a GPU runs them */

// Without quotes and blanks.
static void squeeze(Buf *out, const char *s) {
  for (; *s; s++)
    if (!strchr("\" \n", *s)) buf_putc(out, *s);
}

static void expect_text(DType ta, DType tb, DType td, bool rs, bool flags,
                        const char *const *want) {
  Arena *a = arena_new();
  Micros s = {.a = a, .random = 1};
  Buf text = {0}, plain = {0};
  micro_wgmma(&s, (WgmmaForm){.a = ta,
                              .b = tb,
                              .d = td,
                              .m = 64,
                              .n = 8,
                              .k = 512 / dt_bits(ta),
                              .rs = rs,
                              .neg_b = flags});
  emit(a, &(const Program *){s.m->p}, 1, &text);
  squeeze(&plain, buf_str(&text));
  for (int i = 0; want[i]; i++)
    ck_assert_msg(strstr(buf_str(&plain), want[i]), "no %s in\n%s", want[i], buf_str(&text));
  buf_free(&text);
  buf_free(&plain);
  arena_free(a);
}

#define GUARD "#ifdef__CUDA_ARCH_FEAT_SM90_ALL"
#define OP(types) "wgmma.mma_async.sync.aligned.m64n8" types

START_TEST(spelling) {
  expect_text(
      DT_F16, DT_F16, DT_F32, false, true,
      (const char *const[]){
          "tlc_wgmma_m64n8k16_f32_f16_f16(float*d,uint32_ta,uint32_tb,boolscale){" GUARD
          "asmvolatile({.reg.predp;.reg.b64a,b;mov.b64a,{%4,%5};mov.b64b,{%6,%7};"
          "setp.ne.b32p,%8,0;" OP(
              "k16.f32.f16.f16") "{%0,%1,%2,%3},a,b,p,%9,%10,%11,%12;}"
                                 ":+f(d[0]),+f(d[1]),+f(d[2]),+f(d[3]):r(a),n(HiA),r(b),n(HiB),r("
                                 "int(scale)),"
                                 "n(SignA),n(SignB),n(TransA),n(TransB));#else__trap();",
          "tlc_wgmma_m64n8k16_f32_f16_f16<0x80000020,0x80000020,1,-1>(acc,a_desc,b_desc,false);",
          "<0x80000020,0x80000020,1,-1>(acc,a_desc+2u,b_desc+2u,true);",
          "a_desc=tlc_wgmma_desc(A_s,16);",
          "__shfl_sync(0xffffffffu,(tlc_smem_addr(p)&0x3ffff)>>4|lbo>>4<<16,0)",
          GUARD "asmvolatile(wgmma.fence.sync.aligned;:::memory);",
          GUARD "asmvolatile(wgmma.commit_group.sync.aligned;:::memory);",
          GUARD "asmvolatile(wgmma.wait_group.sync.aligned%0;::n(N):memory);",
          "tlc_wgmma_commit();tlc_wgmma_wait<0>();tlc_wgmma_pin<4>(acc);", NULL});
  expect_text(
      DT_BF16, DT_BF16, DT_F32, true, true,
      (const char *const[]){"uint32_tra[4];memcpy(ra,a,16);asmvolatile({.reg.predp;.reg.b64b;"
                            "mov.b64b,{%8,%9};setp.ne.b32p,%10,0;" OP(
                                "k16.f32.bf16.bf16") "{%0,%1,%2,%3},{%4,%5,%6,%7},b,p,%11,%12,%13;}"
                                                     ":+f(d[0]),+f(d[1]),+f(d[2]),"
                                                     "+f(d[3]):r(ra[0]),r(ra[1]),r(ra[2]),r(ra[3]),"
                                                     "r(b),n(HiB),r(int(scale)),"
                                                     "n(SignA),n(SignB),n(TransB));",
                            "_rs<0x80000020,1,-1>(acc,A_r,b_desc,false);",
                            "tlc_wgmma_pin<16>(A_r);tlc_wgmma_fence();",
                            "(acc,&A_r[8],b_desc+2u,true);", NULL});
  expect_text(DT_F32, DT_F32, DT_F32, false, false,
              (const char *const[]){OP("k8.f32.tf32.tf32") "{%0,%1,%2,%3},a,b,p,%9,%10;}", NULL});
  expect_text(DT_E5M2, DT_E4M3, DT_F16, false, false,
              (const char *const[]){"uint32_tr[2];memcpy(r,d,sizeofr);asm",
                                    "mov.b64a,{%2,%3};mov.b64b,{%4,%5};setp.ne.b32p,%6,0;" OP(
                                        "k32.f16.e5m2.e4m3") "{%0,%1},a,b,p,%7,%8;}",
                                    "+r(r[0]),+r(r[1]):", "memcpy(d,r,sizeofr);#else", NULL});
  expect_text(DT_U8, DT_I8, DT_I32, true, false,
              (const char *const[]){
                  OP("k32.s32.u8.s8") "{%0,%1,%2,%3},{%4,%5,%6,%7},b,p;}:+r(d[0]),+r(d[1])", NULL});
}
END_TEST

// The definition of a helper in the text.
static const char *helper(Arena *a, const char *text, const char *name) {
  const char *at = strstr(text, name), *end = at ? strstr(at, "\n}\n") : NULL;
  ck_assert_msg(end, "no %s", name);
  while (at[-1] != '\n') at--;
  return arena_strn(a, at, (size_t)(end + 3 - at));
}

// In a cluster a shared address has the block's rank above bit 23, and a descriptor must not.
START_TEST(descriptor_of_rank) {
  Arena *a = arena_new();
  Micros s = {.a = a, .random = 3};
  Buf text = {0}, cpp = {0};
  micro_wgmma(&s, (WgmmaForm){.a = DT_F16, .b = DT_F16, .d = DT_F32, .m = 64, .n = 8, .k = 32});
  emit(a, &(const Program *){s.m->p}, 1, &text);
  buf_puts(&cpp, "#include <cstdint>\n#define __device__\n#define __forceinline__ inline\n"
                 "static uint32_t rank;\n"
                 "static uint64_t __cvta_generic_to_shared(const void *p) {\n"
                 "  return rank << 24 | uint32_t(uintptr_t(p));\n}\n"
                 "static uint32_t __shfl_sync(unsigned, uint32_t x, int) { return x; }\n");
  buf_puts(&cpp, helper(a, buf_str(&text), "tlc_smem_addr("));
  buf_puts(&cpp, helper(a, buf_str(&text), "tlc_wgmma_desc("));
  buf_puts(&cpp, "int main() {\n  for (rank = 0; rank < 16; rank++)\n"
                 "    if (tlc_wgmma_desc((void *)0x38c00, 4096) != 0x10038c0) return 1;\n}\n");
  const char *to = arena_printf(a, "%s/desc", folder);
  ck_assert_int_eq(text_write(arena_printf(a, "%s.cpp", to), &cpp), 0);
  ck_assert_int_eq(
      system(arena_printf(a, "c++ -std=c++17 -o %s.tmp %s.cpp && %s.tmp", to, to, to)), 0);
  buf_free(&text);
  buf_free(&cpp);
  arena_free(a);
}
END_TEST

int main(void) {
  const TTest *tests[] = {types_assemble,   majors_assemble,  tiles_assemble,     micros_are_clean,
                          pipelined_kernel, chained_products, specialised_kernel, spelling,
                          descriptor_of_rank};
  const char *build = getenv("BUILD");
  char make[300];
  snprintf(folder, sizeof folder, "%s/tests/nvcc", build ? build : "build");
  snprintf(make, sizeof make, "mkdir -p %s", folder);
  if (system(make)) return EXIT_FAILURE;
  if (system("command -v nvcc > /dev/null 2>&1") == 0) nvcc = "nvcc";
  else if (access("/usr/local/cuda/bin/nvcc", X_OK) == 0) nvcc = "/usr/local/cuda/bin/nvcc";
  else fprintf(stderr, "no nvcc: nothing is assembled\n");
  return run_suite("codegen_wgmma", tests, LEN(tests));
}
