// --roller: the model makes candidates up. All tiles and thread counts get a rough time; the best
// of them, with each depth and raster, are compiled for the model proper.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"
#include "tuner/pool.h"

enum { WORTH_COMPILING = 24, MOST_ROUGH = 6000 };

// Every combination of the knobs, of the kinds that `wanted` has bits of, over what is there.
static void cross(Arena *a, TnCandidates *list, const TnKnobs *knobs, unsigned wanted) {
  for (int i = 0; i < knobs->len; i++) {
    const TnKnob *k = &knobs->data[i];
    TnCandidates out = {0};
    if (!(wanted & 1u << k->kind) || (int64_t)list->len * k->values.len > MOST_ROUGH) continue;
    for (int c = 0; c < list->len; c++) {
      for (int v = 0; v < k->values.len; v++) {
        TnCandidate one = list->data[c];
        one.bindings = (TnBindings){0};
        for (int b = 0; b < list->data[c].bindings.len; b++)
          vec_push(a, &one.bindings, list->data[c].bindings.data[b]);
        vec_push(a, &one.bindings, (EvBinding){k->name, k->values.data[v]});
        vec_push(a, &out, one);
      }
    }
    *list = out;
  }
}

static void number(TnCandidates *list) {
  for (int i = 0; i < list->len; i++) list->data[i].id = i;
}

// What a declared space gives to parameters that are no knobs, after its first configuration.
static TnBindings other_bindings(Arena *a, const TnSpace *s, const TnKnobs *knobs) {
  TnBindings rest = {0};
  for (int i = 0; s->all.len && i < s->all.data[0].bindings.len; i++) {
    const EvBinding *b = &s->all.data[0].bindings.data[i];
    bool knob = false;
    for (int k = 0; k < knobs->len; k++) knob |= !strcmp(knobs->data[k].name, b->name);
    if (!knob) vec_push(a, &rest, *b);
  }
  return rest;
}

// The program's own tiles and threads have a place among the best: they may be well chosen.
static void add_own(Arena *a, TnCandidates *list, TnCandidate own, const TnKnobs *knobs) {
  for (int i = 0; i < knobs->len; i++) {
    const TnKnob *k = &knobs->data[i];
    bool shape = k->kind == TN_KNOB_TILE || k->kind == TN_KNOB_THREADS;
    if (shape) vec_push(a, &own.bindings, (EvBinding){k->name, k->values.data[0]});
  }
  vec_push(a, list, own);
}

static TnCandidates best(TnSpace *s, int most) {
  int *order = NEWN(s->arena, int, s->all.len + 1), n = tn_rank(s, order);
  TnCandidates out = {0};
  for (int i = 0; i < n && i < most; i++) vec_push(s->arena, &out, s->all.data[order[i]]);
  number(&out);
  return out;
}

int tn_roller(TnSpace *s, int most, int jobs, void (*progress)(void *ctx, int done, int of),
              void *ctx) {
  Arena *a = s->arena;
  TnKnobs knobs = {0};
  int kernels;
  if (!tn_knobs(a, s, &knobs, &kernels)) return EXIT_WRONG_PROGRAM;
  if (!knobs.len) {
    fprintf(stderr,
            "tlc: --roller: no open parameter of %s shapes its tiles, threads, stages or "
            "raster\n",
            s->entry ? s->entry : "the kernel");
    return EXIT_USAGE;
  }
  TnCandidate first = {.entry = s->entry, .sizes = s->sizes, .same_as = -1};
  first.as = (TnAsm){-1, -1, -1, -1};
  first.bindings = other_bindings(a, s, &knobs);
  s->all = (TnCandidates){0};
  vec_push(a, &s->all, first);
  cross(a, &s->all, &knobs, 1u << TN_KNOB_TILE | 1u << TN_KNOB_THREADS);
  number(&s->all);
  s->quick = true;
  tn_compile_all(&s, 1, jobs, progress, ctx);
  s->quick = false;
  s->all = best(s, kernels > 1 ? 2 * WORTH_COMPILING : WORTH_COMPILING);
  add_own(a, &s->all, first, &knobs);
  cross(a, &s->all, &knobs, 1u << TN_KNOB_STAGES | 1u << TN_KNOB_RASTER);
  number(&s->all);
  for (int i = 0; i < s->all.len; i++) s->all.data[i].model = (TnModel){0};
  tn_compile_all(&s, 1, jobs, progress, ctx);
  s->from = "the model";
  s->all = best(s, most ? most : s->all.len);
  return EXIT_OK;
}

/* ------------------------------------------------------------------ products */

static const char template[] =
    "import tilelang\n"
    "import tilelang.language as T\n"
    "@tilelang.jit\n"
    "def matmul(block_M=128, block_N=128, block_K=32, num_stages=2, threads=128, raster=True):\n"
    "    @T.prim_func\n"
    "    def main(A: T.Tensor((%s), '%s'), B: T.Tensor((%s), '%s'), C: T.Tensor((%lld, %lld), "
    "'%s')):\n"
    "        with T.Kernel(T.ceildiv(%lld, block_N), T.ceildiv(%lld, block_M), threads=threads) as "
    "(bx, by):\n"
    "            A_s = T.alloc_shared((%s), '%s')\n"
    "            B_s = T.alloc_shared((%s), '%s')\n"
    "            C_l = T.alloc_fragment((block_M, block_N), '%s')\n"
    "            T.use_swizzle(panel_size=10, enable=raster)\n"
    "            T.clear(C_l)\n"
    "            for k in T.Pipelined(T.ceildiv(%lld, block_K), num_stages=num_stages):\n"
    "                T.copy(A[%s], A_s)\n"
    "                T.copy(B[%s], B_s)\n"
    "                T.gemm(A_s, B_s, C_l, transpose_A=%s, transpose_B=%s)\n"
    "            T.copy(C_l, C[by * block_M, bx * block_N])\n"
    "    return main\n";

static const char *matmul_source(Arena *a, const EvMatmul *m) {
  long long M = m->m, N = m->n, K = m->k;
  const char *rows = arena_printf(a, "%lld, %lld", m->trans_a ? K : M, m->trans_a ? M : K);
  const char *cols = arena_printf(a, "%lld, %lld", m->trans_b ? N : K, m->trans_b ? K : N);
  return arena_printf(a, template, rows, m->in, cols, m->in, M, N, m->out, N, M,
                      m->trans_a ? "block_K, block_M" : "block_M, block_K", m->in,
                      m->trans_b ? "block_N, block_K" : "block_K, block_N", m->in, m->accum, K,
                      m->trans_a ? "k * block_K, by * block_M" : "by * block_M, k * block_K",
                      m->trans_b ? "bx * block_N, k * block_K" : "k * block_K, bx * block_N",
                      m->trans_a ? "True" : "False", m->trans_b ? "True" : "False");
}

int tn_hints(void *ctx, const EvMatmul *m, EvHint *out, int most) {
  const Options *o = ctx;
  Arena *a = arena_new();
  Job j = {.arena = a};
  job_target(&j, o);
  TnSpace s = {.arena = a, .options = o, .target = j.target, .source = matmul_source(a, m)};
  int n = tn_roller(&s, most, tn_pool_jobs(o->tune.jobs), NULL, NULL) ? 0 : s.all.len;
  for (int i = 0; i < n; i++) {
    const TnCandidate *c = &s.all.data[i];
    out[i] = (EvHint){c->tile[0], c->tile[1], c->tile[2], c->stages, 0, 0, c->panel, c->model.us};
    out[i].warp_m = c->warps[0] ? c->tile[0] / c->warps[0] : c->tile[0];
    out[i].warp_n = c->warps[1] ? c->tile[1] / c->warps[1] : c->tile[1];
  }
  arena_free(a);
  return n;
}
