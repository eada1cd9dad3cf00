// Thread-level programs that each try ops of sm_90a, as text, with inputs of random bits: on a GPU
// they must give what the emulator gives, which must have nothing to report.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_MICRO_SM90_H
#define TLC_TESTS_MICRO_SM90_H

#include "micro.h"

static inline Program *micro_read(Micros *s, const char *text) {
  Sources *sources = src_new(s->a);
  Diags *d = diag_new(s->a, sources, (DiagOptions){0});
  Buf why = {0};
  Program *p = ir_read(s->a, d, src_add(sources, "micro.tir", text, strlen(text)));
  diag_flush(d, stderr);
  if (!p || !ir_verify(p, &why)) die("micro program:\n%s\n%s", text, buf_str(&why));
  buf_free(&why);
  return p;
}

// Outputs start as zeros, everything else as moderate or, for integers, random values.
static inline void micro_text(Micros *s, const char *text) {
  Micro *m = s->m = NEW(s->a, Micro);
  m->p = micro_read(s, text);
  m->k = m->p->kernels.data[0];
  m->p->file = "micro.tir";
  m->p->bindings = "";
  vec_push(s->a, &s->list, m);
  for (int i = 0; i < m->p->params.len; i++) {
    const Param *q = &m->p->params.data[i];
    int64_t n = buf_elems(q->buf);
    m->arg[i].bytes = (size_t)(n * dt_bytes(q->buf->dtype));
    m->arg[i].data = arena_alloc(s->a, m->arg[i].bytes);
    if (q->role != ROLE_OUT) micro_fill_small(s, m->arg[i].data, q->buf->dtype, n);
  }
}

#define MICRO_HEAD(name, threads, smem)                                                            \
  "kernel micro_" name "_k0 {\n  level thread\n  threads " threads "\n  block [bx, _, _]\n"        \
  "  thread tx\n  smem " smem "\n"

/* ------------------------------------------------------------------ TMA loads and stores */

// A box at a place of a tensor of `rank` dimensions of extent 24 or so, partly outside: its bytes
// as they lie in shared memory go to C; stored to D, a tensor of the same shape, at `stored`, as no
// store starts below 0 or, innermost, at no multiple of 16 bytes.
static inline void micro_tma(Micros *s, const char *type, int rank, const char *shape,
                             const char *box, const char *coords, const char *stored,
                             const char *attributes, int n, int bytes, int total) {
  static int serial;
  Arena *a = s->a;
  const char *name = arena_printf(a, "tma_%dd_%s_%d", rank, type, serial++);
  const char *sizes = arena_printf(a, "[%d]", total);
  micro_text(
      s, arena_printf(a,
                      "program micro_%s\nparam A : tensor %s %s role in\n"
                      "param C : tensor %s [%d] role out\nparam D : tensor %s %s role inout\n"
                      "kernel micro_%s_k0 {\n  level thread\n  threads 64\n  thread tx\n"
                      "  smem %d\n  map Am : %s [%s] of A box [%s] %s\n"
                      "  map Dm : %s [%s] of D box [%s] %s\n  shared S : %s [%d] offset 0\n"
                      "  shared bar : uint64 [1] offset %d\n  body {\n"
                      "    if tx == 0 {\n      tma_prefetch(map=Am[%s])\n"
                      "      mbar_init(bar=bar[0], count=1)\n      fence_mbar_init()\n"
                      "      mbar_arrive_tx(bar=bar[0], bytes=%d)\n"
                      "      tma_load(src=Am[%s], dst=S[0 +: %d], bar=bar[0])\n    }\n"
                      "    sync_threads()\n    mbar_wait(bar=bar[0], parity=0)\n"
                      "    for i in 0 +: %d { C[i * 64 + tx] = S[i * 64 + tx] }\n"
                      "    if tx == 0 {\n      tma_store(src=S[0 +: %d], dst=Dm[%s], hint=2)\n"
                      "      bulk_commit()\n      bulk_wait(pending=0, read=0)\n    }\n  }\n}\n",
                      name, type, sizes, type, n, type, sizes, name, (bytes + 127) / 128 * 128 + 8,
                      type, shape, box, attributes, type, shape, box, attributes, type, n,
                      (bytes + 127) / 128 * 128, coords, bytes, coords, n, n / 64, n, stored));
}

static inline void micro_tma_all(Micros *s) {
  // 2-D: every swizzle, negative and far coordinates
  micro_tma(s, "float16", 2, "40, 72", "16, 64", "30 +: 16, -8 +: 64", "30 +: 16, 8 +: 64",
            "swizzle 128 l2 128", 1024, 2048, 2880);
  micro_tma(s, "float16", 2, "40, 72", "16, 32", "-3 +: 16, 56 +: 32", "3 +: 16, 56 +: 32",
            "swizzle 64", 512, 1024, 2880);
  micro_tma(s, "float16", 2, "40, 72", "32, 16", "9 +: 32, 64 +: 16", "9 +: 32, 64 +: 16",
            "swizzle 32", 512, 1024, 2880);
  micro_tma(s, "float32", 2, "40, 72", "8, 32", "35 +: 8, 60 +: 32", "35 +: 8, 52 +: 32",
            "swizzle 128 nan", 256, 1024, 2880);
  micro_tma(s, "bfloat16", 2, "40, 72", "16, 40", "30 +: 16, -8 +: 40", "30 +: 16, 40 +: 40",
            "nan l2 256", 640, 1280, 2880);
  micro_tma(s, "uint8", 2, "40, 80", "16, 128", "-3 +: 16, -16 +: 128", "3 +: 16, 16 +: 128",
            "swizzle 128", 2048, 2048, 3200);
  micro_tma(s, "float64", 2, "40, 16", "16, 8", "30 +: 16, -2 +: 8", "30 +: 16, 10 +: 8",
            "swizzle 64", 128, 1024, 640);
  micro_tma(s, "int32", 1, "640", "64", "600 +: 64", "604 +: 64", "l2 64", 64, 256, 640);
  micro_tma(s, "float16", 3, "6, 10, 24", "2, 4, 16", "5 +: 2, -1 +: 4, 8 +: 16",
            "5 +: 2, 8 +: 4, 16 +: 16", "", 128, 256, 1440);
  micro_tma(s, "float16", 3, "6, 10, 72", "2, 16, 64", "1 +: 2, 3 +: 16, 16 +: 64",
            "1 +: 2, 3 +: 16, 16 +: 64", "swizzle 128", 2048, 4096, 4320);
  micro_tma(s, "float16", 4, "3, 6, 10, 24", "2, 2, 4, 8", "2 +: 2, 0 +: 2, 7 +: 4, -8 +: 8",
            "2 +: 2, 0 +: 2, 7 +: 4, 16 +: 8", "", 128, 256, 4320);
  micro_tma(s, "float32", 5, "2, 3, 4, 5, 8", "2, 2, 2, 2, 4",
            "1 +: 2, 0 +: 2, 3 +: 2, 4 +: 2, -4 +: 4", "1 +: 2, 0 +: 2, 3 +: 2, 4 +: 2, 4 +: 4", "",
            64, 256, 960);
  micro_tma(s, "float16", 2, "40, 72", "16, 64", "30 +: 16, -8 +: 64", "30 +: 16, 8 +: 64",
            "steps [2, 1]", 512, 1024, 2880);
}

// Both hints, and a reduction into every element twice.
static inline void micro_tma_reduce(Micros *s, const char *type, int fn, int size) {
  static const char *const names[] = {"add", "max", "min"};
  Arena *a = s->a;
  const char *name = arena_printf(a, "tma_%s_%s", names[fn], type);
  int row = 128 / size, bytes = 8 * 128;
  micro_text(s, arena_printf(
                    a,
                    "program micro_%s\nparam A : tensor %s [%d] role in\n"
                    "param C : tensor %s [%d] role inout\nkernel micro_%s_k0 {\n"
                    "  level thread\n  threads 32\n  thread tx\n  smem %d\n"
                    "  map Am : %s [16, %d] of A box [8, %d]\n"
                    "  map Cm : %s [10, %d] of C box [8, %d]\n  shared S : %s [%d] offset 0\n"
                    "  shared bar : uint64 [1] offset %d\n  body {\n    if tx == 0 {\n"
                    "      mbar_init(bar=bar[0], count=1)\n      fence_mbar_init()\n"
                    "      for k in 0 +: 2 {\n"
                    "        mbar_arrive_tx(bar=bar[0], bytes=%d)\n"
                    "        tma_load(src=Am[k * 8 +: 8, 0 +: %d], dst=S[0 +: %d], bar=bar[0], "
                    "hint=1)\n"
                    "        mbar_wait(bar=bar[0], parity=k)\n"
                    "        tma_reduce(src=S[0 +: %d], dst=Cm[k * 4 +: 8, 0 +: %d], fn=%d)\n"
                    "        bulk_commit()\n        bulk_wait(pending=0, read=1)\n      }\n    }\n"
                    "  }\n}\n",
                    name, type, 16 * row, type, 10 * row, name, bytes + 128, type, row, row, type,
                    row, row, type, 8 * row, bytes, bytes, row, 8 * row, 8 * row, row, fn));
}

/* ------------------------------------------------------------------ bulk copies */

static inline void micro_bulk(Micros *s, const char *type, int fn, int size) {
  static const char *const names[] = {"add", "max", "min", "store"};
  Arena *a = s->a;
  const char *name = arena_printf(a, "bulk_%s_%s", names[fn], type);
  int n = 512 / size;
  const char *op = fn == 3 ? "bulk_store" : "bulk_reduce";
  const char *attribute = fn == 3 ? "" : arena_printf(a, ", fn=%d", fn);
  micro_text(s, arena_printf(a,
                             "program micro_%s\nparam A : tensor %s [%d] role in\n"
                             "param C : tensor %s [%d] role inout\nkernel micro_%s_k0 {\n"
                             "  level thread\n  threads 32\n  thread tx\n  smem 640\n"
                             "  shared S : %s [%d] offset 0\n  shared bar : uint64 [1] offset 512\n"
                             "  body {\n    if tx == 0 {\n      mbar_init(bar=bar[0], count=2)\n"
                             "      fence_proxy_async(space=0)\n"
                             "      mbar_expect_tx(bar=bar[0], bytes=512)\n"
                             "      bulk_load(src=A[0 +: %d], dst=S[0 +: %d], bar=bar[0])\n"
                             "      mbar_arrive(bar=bar[0])\n      mbar_arrive(bar=bar[0])\n"
                             "      mbar_wait(bar=bar[0], parity=0)\n"
                             "      %s(src=S[0 +: %d], dst=C[%d +: %d]%s)\n      bulk_commit()\n"
                             "      bulk_wait(pending=0, read=1)\n    }\n  }\n}\n",
                             name, type, n, type, 2 * n, name, type, n, n, n, op, n, n / 2, n,
                             attribute));
}

/* ------------------------------------------------------------------ stmatrix */

static inline void micro_stmatrix(Micros *s, int num, int trans) {
  Arena *a = s->a;
  const char *name = arena_printf(a, "stmatrix%s_x%d", trans ? "_trans" : "", num);
  micro_text(
      s, arena_printf(a,
                      "program micro_%s\nparam A : tensor uint16 [%d] role in\n"
                      "param C : tensor uint16 [%d] role out\nkernel micro_%s_k0 {\n"
                      "  level thread\n  threads 32\n  thread tx\n  smem 512\n"
                      "  shared S : uint16 [256] offset 0\n  local r : uint16 [%d]\n  body {\n"
                      "    unroll i in 0 +: %d { r[i] = A[tx * %d + i] }\n"
                      "    stmatrix(src=r[0 +: %d], dst=S[(tx * 5 %% 32) * 8 +: 8], num=%d, "
                      "trans=%d)\n    sync_warp()\n"
                      "    for i in 0 +: 8 {\n      if tx < %d {\n"
                      "        C[tx * 8 + i] = S[(tx * 5 %% 32) * 8 + i]\n      }\n    }\n  }\n}\n",
                      name, 64 * num, 64 * num, name, 2 * num, 2 * num, 2 * num, 2 * num, num,
                      trans, 8 * num));
}

/* ------------------------------------------------------------------ roles and clusters */

// Two blocks each load half of a tile into both; each also sends the other its rank.
static const char micro_cluster[] =
    "program micro_cluster\nparam A : tensor float32 [1024] role in\n"
    "param C : tensor float32 [2048] role out\nparam R : tensor int32 [4] role out\n"
    "kernel micro_cluster_k0 {\n  level thread\n  grid [4, 1, 1]\n  threads 64\n"
    "  block [bx, _, _]\n  thread tx\n  cluster [2, 1, 1]\n  smem 2176\n"
    "  map Am : float32 [32, 32] of A box [8, 32]\n"
    "  shared S : float32 [512] offset 0\n  shared full : uint64 [1] offset 2048\n"
    "  shared empty : uint64 [1] offset 2056\n  local rank : int32 [1]\n  body {\n"
    "    cluster_rank(dst=rank[0])\n"
    "    if tx == 0 {\n      R[bx] = rank[0]\n      mbar_init(bar=full[0], count=1)\n"
    "      mbar_init(bar=empty[0], count=5)\n      fence_mbar_init()\n    }\n"
    "    cluster_arrive()\n    cluster_wait()\n"
    "    if tx == 0 {\n      mbar_arrive_tx(bar=full[0], bytes=2048)\n"
    "      tma_load(src=Am[bx * 8 +: 8, 0 +: 32], dst=S[bx % 2 * 256 +: 256], bar=full[0],"
    " blocks=3)\n    }\n"
    "    mbar_wait(bar=full[0], parity=0)\n"
    "    for i in 0 +: 8 { C[bx * 512 + i * 64 + tx] = S[i * 64 + tx] }\n"
    "    sync_warp()\n"
    "    if tx % 32 < 2 { mbar_arrive_remote(bar=empty[0], rank=tx % 32) }\n"
    "    if tx == 0 { mbar_arrive_remote(bar=empty[0], rank=1 - rank[0], wgmma=1) }\n"
    "    mbar_wait(bar=empty[0], parity=0)\n"
    "    if tx == 0 {\n      mbar_arrive_tx(bar=full[0], bytes=1024)\n"
    "      bulk_load(src=A[bx // 2 * 512 + bx % 2 * 128 +: 128], dst=S[bx % 2 * 128 +: 128],"
    " bar=full[0], blocks=3)\n    }\n"
    "    mbar_wait(bar=full[0], parity=1)\n"
    "    C[bx * 512 + tx] = S[tx * 4]\n"
    "    cluster_arrive()\n    cluster_wait()\n  }\n}\n";

// A warpgroup that gives registers to two others, and what they say to each other.
static const char micro_roles[] =
    "program micro_roles\nparam A : tensor int32 [256] role in\n"
    "param C : tensor int32 [256] role out\n"
    "kernel micro_roles_k0 {\n  level thread\n  threads 256\n  thread tx\n  launch 384 blocks 1\n"
    "  smem 1024\n  shared S : int32 [256] offset 0\n  body {\n"
    "    if tx // 128 == 2 {\n      setmaxnreg(regs=40, inc=0)\n"
    "      for i in 0 +: 2 { S[i * 128 + tx - 256] = A[i * 128 + tx - 256] }\n"
    "      bar_arrive(id=2, threads=256)\n      bar_arrive(id=3, threads=256)\n"
    "    } else {\n      setmaxnreg(regs=232, inc=1)\n"
    "      bar_sync(id=2 + tx // 128, threads=256)\n      C[tx] = S[255 - tx]\n"
    "      bar_sync(id=1, threads=256)\n    }\n  }\n}\n";

// cp.async through an mbarrier; a plain store before a bulk copy in global memory.
static const char micro_copies[] =
    "program micro_copies\nparam A : tensor int32 [256] role in\n"
    "param C : tensor int32 [256] role out\nparam G : tensor int32 [64] role inout\n"
    "kernel micro_copies_k0 {\n  level thread\n  threads 64\n  thread tx\n  smem 1408\n"
    "  shared S : int32 [256] offset 0\n  shared Q : int32 [64] offset 1024\n"
    "  shared bar : uint64 [2] offset 1280\n  body {\n"
    "    if tx == 0 {\n      mbar_init(bar=bar[0], count=64)\n      mbar_init(bar=bar[1], "
    "count=1)\n"
    "      fence_mbar_init()\n    }\n    sync_threads()\n"
    "    cp_async(src=A[tx * 4 +: 4], dst=S[tx * 4 +: 4], valid=4)\n"
    "    mbar_arrive_copies(bar=bar[0])\n    mbar_wait(bar=bar[0], parity=0)\n"
    "    for i in 0 +: 4 { C[i * 64 + tx] = S[i * 64 + 63 - tx] }\n"
    "    G[tx] = S[tx] + int32(1)\n    fence_proxy_async(space=2)\n    sync_threads()\n"
    "    if tx == 0 {\n      mbar_arrive_tx(bar=bar[1], bytes=256)\n"
    "      bulk_load(src=G[0 +: 64], dst=Q[0 +: 64], bar=bar[1])\n    }\n"
    "    mbar_wait(bar=bar[1], parity=0)\n    C[tx] = Q[63 - tx]\n  }\n}\n";

static inline void micro_sm90_all(Micros *s, Arena *a) {
  *s = (Micros){.a = a, .random = UINT64_C(0x9e3779b97f4a7c15)};
  static const struct {
    const char *type;
    int size, first, last; // of add, max, min
  } reductions[] = {{"float32", 4, 0, 0},  {"float64", 8, 0, 0}, {"float16", 2, 0, 2},
                    {"bfloat16", 2, 0, 2}, {"int32", 4, 0, 2},   {"uint32", 4, 0, 2},
                    {"int64", 8, 1, 2},    {"uint64", 8, 0, 2}};
  micro_tma_all(s);
  for (size_t i = 0; i < LEN(reductions); i++) {
    for (int fn = reductions[i].first; fn <= reductions[i].last; fn++) {
      micro_bulk(s, reductions[i].type, fn, reductions[i].size);
      micro_tma_reduce(s, reductions[i].type, fn, reductions[i].size);
    }
  }
  micro_bulk(s, "uint8", 3, 1);
  micro_bulk(s, "float16", 3, 2);
  for (int num = 1; num <= 4; num *= 2) {
    micro_stmatrix(s, num, 0);
    micro_stmatrix(s, num, 1);
  }
  micro_text(s, micro_cluster);
  micro_text(s, micro_roles);
  micro_text(s, micro_copies);
}

#endif
