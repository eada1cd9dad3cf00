// sm_90a's thread level as text: read, printed, copied; and what the verifier refuses of it.
// SPDX-License-Identifier: MIT
#include "emu_text.h"
#include "ir/target.h"

static const char whole[] =
    "program whole\n"
    "size M\n"
    "param A : tensor float16 [M * 128] role in\n"
    "param C : tensor float16 [M * 128] role inout\n"
    "\n"
    "kernel whole_k0 {\n"
    "  level thread\n"
    "  grid [M // 64, 1, 1]\n"
    "  threads 256\n"
    "  block [bx, _, _]\n"
    "  thread tx\n"
    "  cluster [2, 1, 1]\n"
    "  launch 384 blocks 1\n"
    "  smem 16448\n"
    "  map Am : float16 [M, 128] strides [128, 1] of A box [64, 64] swizzle 128 l2 256 nan\n"
    "  map Cm : float16 [M, 128] of C box [64, 64] swizzle 128\n"
    "  map Em : float16 [M, 128] of A box [8, 64] steps [2, 1]\n"
    "  shared S : float16 [8192] offset 0\n"
    "  shared bar : uint64 [2] offset 16384\n"
    "  local e : bool [1]\n"
    "  local rank : int32 [1]\n"
    "  local r : float16 [8]\n"
    "  body {\n"
    "    tma_prefetch(map=Am[0, 0])\n"
    "    mbar_init(bar=bar[0], count=1)\n"
    "    fence_mbar_init()\n"
    "    cluster_arrive()\n"
    "    cluster_wait()\n"
    "    grid_wait()\n"
    "    cluster_rank(dst=rank[0])\n"
    "    elect(dst=e[0])\n"
    "    setmaxnreg(regs=240, inc=1)\n"
    "    mbar_arrive_tx(bar=bar[0], bytes=8192)\n"
    "    mbar_expect_tx(bar=bar[1], bytes=16)\n"
    "    tma_load(src=Am[bx * 64 +: 64, 0 +: 64], dst=S[0 +: 4096], bar=bar[0], blocks=3, hint=1)\n"
    "    tma_load(src=Em[bx * 64 +: 8, 0 +: 64], dst=S[0 +: 256], bar=bar[0])\n"
    "    bulk_load(src=A[0 +: 8], dst=S[0 +: 8], bar=bar[1])\n"
    "    mbar_wait(bar=bar[0], parity=0)\n"
    "    mbar_arrive(bar=bar[0])\n"
    "    mbar_arrive_remote(bar=bar[0], rank=1)\n"
    "    mbar_arrive_copies(bar=bar[0])\n"
    "    stmatrix(src=r[0 +: 8], dst=S[tx % 32 * 8 +: 8], num=4, trans=1)\n"
    "    fence_proxy_async(space=1)\n"
    "    bar_sync(id=1, threads=128)\n"
    "    bar_arrive(id=2, threads=256)\n"
    "    tma_store(src=S[0 +: 4096], dst=Cm[bx * 64 +: 64, 64 +: 64], hint=2)\n"
    "    tma_reduce(src=S[0 +: 4096], dst=Cm[bx * 64 +: 64, 64 +: 64], fn=0)\n"
    "    bulk_store(src=S[0 +: 8], dst=C[0 +: 8])\n"
    "    bulk_reduce(src=S[0 +: 8], dst=C[0 +: 8], fn=1)\n"
    "    bulk_commit()\n"
    "    bulk_wait(pending=0, read=1)\n"
    "    sync_warp()\n"
    "  }\n"
    "}\n";

static Program *read_text(const char *text) {
  Program *p = ir_read(T.a, T.diags, src_add(T.sources, "w.tir", text, strlen(text)));
  if (!p) diag_flush(T.diags, stderr);
  ck_assert(p != NULL);
  p->file = NULL;
  return p;
}

static void expect_text(const Program *p) {
  Buf out = {0};
  ir_print(p, &out);
  ck_assert_str_eq(buf_str(&out), whole);
  buf_free(&out);
}

START_TEST(text_round_trip) {
  text_begin();
  ck_assert_str_eq(text_judged(whole), "");
  Program *p = read_text(whole);
  expect_text(p);
  Program *copy = ir_clone(T.a, p);
  const Buffer *from = p->kernels.data[0]->buffers.data[0];
  const Buffer *to = copy->kernels.data[0]->buffers.data[0];
  ck_assert(from->map != to->map && from->map->of != to->map->of);
  ck_assert(to->map->of == copy->params.data[0].buf);
  expect_text(copy);
}
END_TEST

// A map's accesses are its tensor's.
START_TEST(roles_through_maps) {
  text_begin();
  Program *p =
      read_text(text_with(text_with(whole, "    bulk_store(src=S[0 +: 8], dst=C[0 +: 8])\n", 0, ""),
                          "    bulk_reduce(src=S[0 +: 8], dst=C[0 +: 8], fn=1)\n", 0, ""));
  p->params.data[0].role = p->params.data[1].role = ROLE_OUT;
  ir_roles(p);
  ck_assert_int_eq(p->params.data[0].role, ROLE_IN);
  ck_assert_int_eq(p->params.data[1].role, ROLE_INOUT); // tma_reduce updates
}
END_TEST

START_TEST(targets) {
  text_begin();
  Program *p = read_text(whole);
  ck_assert(target_lacks(target_find("sm_90a"), p) == NULL);
  const Stmt *lacks = target_lacks(target_find("sm_89"), p);
  ck_assert(lacks && lacks->u.op.op == OP_TMA_PREFETCH);
}
END_TEST

static const struct {
  const char *from, *to, *why;
} refused[] = {
    {"count=1", "count=0", "count is 0"},
    {"count=1", "count=1048576", "count is 1048576"},
    {"mbar_init(bar=bar[0]", "mbar_init(bar=S[0]", "no mbarrier"},
    {"mbar_init(bar=bar[0]", "mbar_init(bar=r[0]", "local, not shared"},
    {"parity=0", "parity=0.5", "no integer"},
    {"dst=S[0 +: 4096], bar", "dst=S[0 +: 4095], bar", "4095 elements of S for a box of 4096"},
    {"src=Am[bx * 64 +: 64", "src=Am[bx * 64 +: 32", "not that of the box"},
    {"src=Am[bx * 64 +: 64, 0 +: 64]", "src=A[0 +: 4096]", "global, not map"},
    {"blocks=3, hint=1", "blocks=3, hint=3", "hint is 3"},
    {"fn=1)", "fn=3)", "no reduction"},
    {"param C : tensor float16", "param C : tensor float32", "float16 over float32"},
    {"src=A[0 +: 8], dst=S[0 +: 8]", "src=A[0 +: 4], dst=S[0 +: 4]", "no multiple of 16 bytes"},
    {"src=A[0 +: 8], dst=S[0 +: 8]", "src=A[0 +: 8], dst=S[0 +: 16]", "differ"},
    {"num=4", "num=3", "3 matrices"},
    {"num=4", "num=2", "not the bits of 2 registers"},
    {"dst=S[tx % 32 * 8 +: 8]", "dst=S[tx % 32 * 8 +: 4]", "a row is not 16 bytes"},
    {"space=1", "space=3", "space is 3"},
    {"id=1, threads=128", "id=1, threads=100", "100 threads"},
    {"id=1, threads=128", "id=16, threads=128", "id is 16"},
    {"id=1, threads=128", "id=0, threads=128", "id is 0"},
    {"regs=240", "regs=241", "no multiple of 8"},
    {"regs=240", "regs=264", "regs is 264"},
    {"launch 384", "launch 352", "no whole warpgroups"},
    {"launch 384 blocks 1", "launch 384", "launch names no blocks"},
    {"launch 384", "launch 128", "launch is 128"},
    {"launch 384", "launch 2048", "launch is 2048"},
    {"cluster [2, 1, 1]", "cluster [4, 4, 1]", "blocks in a cluster is 16"},
    {"grid [M // 64, 1, 1]", "grid [3, 1, 1]", "a grid of 3 in clusters of 2"},
    {"pending=0", "pending=-1", "pending is -1"},
    {"elect(dst=e[0])", "elect(dst=rank[0])", "one bool"},
    {"cluster_rank(dst=rank[0])", "cluster_rank(dst=e[0])", "one int32"},
    // maps
    {"strides [128, 1]", "strides [128, 2]", "innermost stride"},
    {"strides [128, 1]", "strides [bx * 128, 1]", "more than sizes"},
    {"[M, 128] of C", "[A[0], 128] of C", "more than sizes"},
    {"of C box [64, 64]", "of C box [257, 64]", "extent is 257"},
    {"steps [2, 1]", "steps [9, 1]", "step is 9"},
    {"steps [2, 1]", "steps [1, 2]", "innermost step"},
    {"of C box [64, 64] swizzle 128", "of C box [64, 64] swizzle 96", "swizzle 96"},
    {"of C box [64, 64] swizzle 128", "of C box [64, 32] swizzle 128", "rows of 64 bytes"},
    {"of C box [64, 64] swizzle 128", "of C box [64, 12]", "rows of 24 bytes, not 16"},
    {"l2 256", "l2 100", "l2 100"},
    {"of C box", "of Am box", "of no tensor"},
    {"role inout", "align 8 role inout", "aligned to 8"},
    {"Cm : float16", "Cm : float32", "float32 over float16"},
    {"sync_warp()", "r[0] = Am[0, 0]", "read like data"},
    {"sync_warp()", "Am[0, 0] = r[0]", "written like data"},
    {"sync_warp()", "atomic(dst=Cm[0, 0], value=float16(1.0), fn=0)", "used like data"},
    {"map Am",
     "global V : float16 [M * 128] of A\n  map Vm : float16 [M, 128] of V box [64, 64]\n"
     "  map Am",
     "of no tensor"},
    // barriers
    {"sync_warp()", "bar[0] = uint64(0)", "written like data"},
    {"sync_warp()", "if bar[0] == uint64(0) { sync_warp() }", "read like data"},
    {"offset 16384", "offset 16376", "lies on"},
    // grid_wait
    {"fence_mbar_init()", "r[0] = A[0]", "touched before grid_wait"},
    {"fence_mbar_init()", "C[0] = r[0]", "touched before grid_wait"},
    {"fence_mbar_init()", "if tx == 0 { bulk_load(src=A[0 +: 8], dst=S[0 +: 8], bar=bar[1]) }",
     "touched before grid_wait"},
    {"fence_mbar_init()", "tma_load(src=Em[0 +: 8, 0 +: 64], dst=S[0 +: 256], bar=bar[0])",
     "touched before grid_wait"},
    {"    grid_wait()", "    if tx == 0 { grid_wait() }", "no statement of its own"},
    {"sync_warp()", "grid_wait()", "more than once"},
    {"local e", "shared Z : uint8 [4] offset 16392\n  local e", "lies on"},
};

START_TEST(refusals) {
  for (size_t i = 0; i < LEN(refused); i++) {
    text_begin();
    const char *said = text_judged(text_with(whole, refused[i].from, 0, refused[i].to));
    ck_assert_msg(strstr(said, refused[i].why) != NULL, "'%s' -> '%s': expected '%s', said '%s'",
                  refused[i].from, refused[i].to, refused[i].why, said);
  }
}
END_TEST

// The second kernel starts beside the first, which writes C and reads D.
static const char beside[] = "program beside\n"
                             "param A : tensor float32 [64] role in\n"
                             "param C : tensor float32 [64] role inout\n"
                             "param D : tensor float32 [64] role inout\n"
                             "kernel first {\n"
                             "  level thread\n"
                             "  grid [1, 1, 1]\n"
                             "  threads 64\n"
                             "  block [_, _, _]\n"
                             "  thread tx\n"
                             "  body {\n"
                             "    grid_wait()\n"
                             "    grid_trigger()\n"
                             "    C[tx] = D[tx]\n"
                             "  }\n"
                             "}\n"
                             "kernel second {\n"
                             "  level thread\n"
                             "  grid [1, 1, 1]\n"
                             "  threads 64\n"
                             "  block [_, _, _]\n"
                             "  thread tx\n"
                             "  local r : float32 [1]\n"
                             "  body {\n"
                             "    r[0] = A[tx]\n"
                             "    for i in 0 +: 2 {\n"
                             "      if tx < 32 { grid_wait() } else { grid_wait() sync_warp() }\n"
                             "      C[tx] = r[0]\n"
                             "    }\n"
                             "    grid_wait()\n"
                             "    D[tx] = A[tx]\n"
                             "    grid_wait()\n"
                             "  }\n"
                             "}\n";

START_TEST(kernels_beside) {
  static const char touched[] = "to do with is touched before grid_wait";
  static const struct {
    const char *from;
    int nth;
    const char *to, *why; // NULL: nothing is wrong
  } texts[] = {
      {"sync_warp()", 0, "", NULL},
      {"{ grid_wait() sync_warp() }", 0, "{ sync_warp() }", touched}, // some threads only
      {" else { grid_wait() sync_warp() }", 0, "", touched},
      {"r[0] = A[tx]", 0, "r[0] = C[tx]", touched}, // read after write
      {"r[0] = A[tx]", 0, "r[0] = D[tx]", NULL},    // read after read
      {"r[0] = A[tx]", 0, "C[tx] = r[0]", touched}, // write after write
      {"r[0] = A[tx]", 0, "D[tx] = r[0]", touched}, // write after read
      {"r[0] = A[tx]", 0, "if C[tx] < r[0] { sync_warp() }", touched},
      {"    grid_wait()\n    D", 0, "    D", touched}, // the loop may take no turn
      {"A[tx]\n    grid_wait()", 0, "A[tx]", "touched before grid_wait"}, // no longer at the end
      {"    grid_wait()\n    grid_trigger()", 0, "    grid_trigger()\n    grid_wait()",
       "grid_trigger stands before grid_wait"},
      {"    grid_wait()\n    grid_trigger()", 0, "    grid_trigger()",
       "grid_trigger stands before grid_wait"},
  };
  for (size_t i = 0; i < LEN(texts); i++) {
    text_begin();
    const char *said = text_judged(text_with(beside, texts[i].from, texts[i].nth, texts[i].to));
    ck_assert_msg(texts[i].why ? strstr(said, texts[i].why) != NULL : !*said,
                  "'%s' -> '%s': expected '%s', said '%s'", texts[i].from, texts[i].to,
                  texts[i].why ? texts[i].why : "", said);
  }
}
END_TEST

START_TEST(malformed_maps) {
  static const char *const texts[][2] = {
      {"box [64, 64] swizzle 128 l2", "box [64] swizzle 128 l2"},
      {"box [64, 64] swizzle 128 l2", "swizzle 128 l2"},
      {" of C box", " box"},
      {"strides [128, 1]", "strides [1]"},
      {"float16 [M, 128] of C", "float16 [1, 1, 1, 1, M, 128] of C"},
      {"cluster [2, 1, 1]", "cluster [2, 1, 1, 1]"},
      {"cluster [2, 1, 1]", "cluster [0, 1, 1]"}};
  for (size_t i = 0; i < LEN(texts); i++) {
    text_begin();
    const char *text = text_with(whole, texts[i][0], 0, texts[i][1]);
    ck_assert_msg(!ir_read(T.a, T.diags, src_add(T.sources, "w.tir", text, strlen(text))), "%s",
                  texts[i][1]);
    ck_assert_int_eq(diag_errors(T.diags), 1);
  }
}
END_TEST

int main(void) {
  const TTest *tests[] = {text_round_trip, roles_through_maps, targets,
                          refusals,        kernels_beside,     malformed_maps};
  return run_suite("sm90_ir", tests, LEN(tests));
}
