// The text of every tile-level op: read, verified, printed and cloned without a change.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "suite.h"

static const char text[] =
  "program every file \"every.tl\"\n"
  "size M\n"
  "param A : tensor float32 [M, 64] role in\n"
  "param B : tensor int32 [64] role inout\n"
  "param X : tensor float16 [2, 8, 8, 16] role in\n"
  "source \"int f(int *p, int i);\\n\"\n"
  "\n"
  "kernel every_k0 {\n"
  "  level tile\n"
  "  grid [1, 1, 1]\n"
  "  threads 64\n"
  "  block [bx, by, bz]\n"
  "  thread tx\n"
  "  global flat : float32 [M * 64] of A\n"
  "  shared s : float32 [64, 64]\n"
  "  shared bits_1 : uint16 [64, 128] of s\n"
  "  shared col : float16 [64, 32]\n"
  "  fragment f : float32 [64, 64]\n"
  "  fragment r : float32 [64] places [i, rep] to [i, rep] copies 2\n"
  "  shared q : int4 [64, 64] places [i, j] to [j, i]\n"
  "  local l : int32 [4]\n"
  "  local n : int8 [4]\n"
  "  local ok : bool [1]\n"
  "  body {\n"
  "    reduce(src=f[0 +: 64, 0 +: 64], dst=r[0 +: 64], kind=2, dim=1, clear=bx == 0, nan=1)\n"
  "    reduce(src=s[0 +: 64, 0 +: 64], dst=r[0 +: 64], kind=0, dim=0, clear=true)\n"
  "    scan(src=s[0 +: 64, 0 +: 64], dst=s[0 +: 64, 0 +: 64], kind=0, dim=1, reverse=1)\n"
  "    parallel i, j in 0 +: 64, 0 +: 64 {\n"
  "      reducer_update(dst=r[i], value=f[i, j], kind=0)\n"
  "    }\n"
  "    reducer_finalize(src=r[0 +: 64], dst=r[0 +: 64], kind=0)\n"
  "    test(src=B[0 +: 64], dst=ok[0], all=1)\n"
  "    im2col(src=X[0 +: 2, 0 +: 8, 0 +: 8, 0 +: 16], dst=col[0 +: 64, 0 +: 32], row=bx * 64, "
  "col=0, kernel=3, stride=1, dilation=1, pad=1)\n"
  "    dp4a(a=n[0 +: 4], b=n[0 +: 4], c=l[0])\n"
  "    atomic_vec(dst=B[tx * 2 +: 2], src=l[0 +: 2], fn=0, prev=l[2 +: 2])\n"
  "    atomic_load(src=B[0], dst=l[0], order=2)\n"
  "    atomic(dst=B[tx], value=int32(1), fn=4, order=5, prev=l[0])\n"
  "    shuffle(value=l[0], dst=l[1], lane=1, mode=1, width=32)\n"
  "    vote(cond=l[0] == int32(0), dst=l[1], kind=2)\n"
  "    block_vote(cond=l[0] == int32(0), dst=l[1], kind=3)\n"
  "    allreduce(value=l[0], dst=l[1], kind=0, stride=1, extent=32)\n"
  "    sync_warp()\n"
  "    extern(name=\"f\", order=\"pe\", p0=l[0 +: 2], e0=tx)\n"
  "    sync_some(id=1, count=32)\n"
  "    gemm_sp(a=s[0 +: 64, 0 +: 32], e=bits_1[0 +: 64, 0 +: 4], b=s[0 +: 64, 0 +: 64], "
  "c=f[0 +: 64, 0 +: 64], transa=0, transe=0, transb=0, policy=0, clear=false)\n"
  "    print(text=\"a \\\"b\\\"\", value=l[0])\n"
  "    print(src=r[0 +: 64])\n"
  "    assert(cond=l[0] < int32(9), text=\"small\")\n"
  "    while l[0] < int32(4) {\n"
  "      if l[0] == int32(3) {\n"
  "        break()\n"
  "      } else {\n"
  "        continue()\n"
  "      }\n"
  "    }\n"
  "    l[0] = bits(int32, flat[tx])\n"
  "  }\n"
  "}\n";

START_TEST(round_trip) {
  Arena *a = arena_new();
  Sources *sources = src_new(a);
  Diags *d = diag_new(a, sources, (DiagOptions){0});
  Program *p = ir_read(a, d, src_add(sources, "every.tir", text, strlen(text)));
  if (!p) diag_flush(d, stderr);
  ck_assert_ptr_nonnull(p);
  Buf why = {0}, out = {0}, copy = {0};
  ck_assert_msg(ir_verify(p, &why), "%s", buf_str(&why));
  ir_print(p, &out);
  ck_assert_str_eq(buf_str(&out), text);
  Program *clone = ir_clone(a, p);
  ck_assert_msg(ir_verify(clone, &why), "%s", buf_str(&why));
  ir_print(clone, &copy);
  ck_assert_str_eq(buf_str(&copy), text);
  ck_assert_ptr_ne(clone->kernels.data[0]->buffers.data[2]->base,
                   p->kernels.data[0]->buffers.data[2]->base);
  buf_free(&why);
  buf_free(&out);
  buf_free(&copy);
  arena_free(a);
}
END_TEST

int main(void) {
  Suite *s = suite_create("ir_tile");
  TCase *tc = tcase_create("text");
  tcase_add_test(tc, round_trip);
  suite_add_tcase(s, tc);
  return suite_run(s);
}
