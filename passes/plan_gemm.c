// Plans of gemms: the mma.sync shape for the operand types and the split of C over warps.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

static bool valid_split(int M, int N, int m, int n) {
  return m >= 1 && n >= 1 && M % (16 * m) == 0 && N % (8 * n) == 0;
}

// Square minimises (M/N) * |n / (2m) - 1| (TileLang's ComputeDefaultWarpPartition): compared as
// |n - 2m| / m by cross multiplication; m ascending, a later split wins only when strictly better.
static bool square(int M, int N, int warps, int *wm, int *wn) {
  bool found = false;
  for (int m = 1; m <= warps; m++) {
    if (warps % m || !valid_split(M, N, m, warps / m)) continue;
    int n = warps / m, best_n = found ? *wn : 0, best_m = found ? *wm : 1;
    int64_t d = n > 2 * m ? n - 2 * m : 2 * m - n;
    int64_t best = best_n > 2 * best_m ? best_n - 2 * best_m : 2 * best_m - best_n;
    if (found && d * best_m >= best * m) continue;
    *wm = m;
    *wn = n;
    found = true;
  }
  return found;
}

bool plan_partition(GemmPolicy policy, int M, int N, int warps, int *wm, int *wn) {
  if (warps < 1 || M % 16 || N % 8) return false;
  if (policy == POLICY_SQUARE) return square(M, N, warps, wm, wn);
  for (int major = warps; major >= 1; major--) { // as many as possible along the policy's axis
    if (warps % major) continue;
    int m = policy == POLICY_FULL_ROW ? major : warps / major, n = warps / m;
    if (!valid_split(M, N, m, n)) continue;
    *wm = m;
    *wn = n;
    return true;
  }
  return false;
}

static bool is_int8(DType t) { return t == DT_I8 || t == DT_U8; }
static bool is_fp8(DType t) { return t == DT_E4M3 || t == DT_E5M2; }
static bool is_tf32(DType t) { return t == DT_F32 || t == DT_TF32; }

bool plan_mma(const Target *t, DType a, DType b, DType c, int *m, int *n, int *k) {
  *m = 16;
  *n = 8;
  if (a == DT_F16 && b == DT_F16 && (c == DT_F16 || c == DT_F32)) *k = 16;
  else if (a == DT_BF16 && b == DT_BF16 && c == DT_F32) *k = 16;
  else if (is_tf32(a) && is_tf32(b) && c == DT_F32) *k = 8;
  else if (is_int8(a) && is_int8(b) && c == DT_I32) *k = 32;
  else if (is_fp8(a) && is_fp8(b) && c == DT_F32 && t->fp8_mma) *k = 32;
  else return false;
  return true;
}

static int64_t last_extent(const Region *r, int from_end) {
  int64_t v = -1;
  if (r->n < from_end || !ex_const(r->extent[r->n - from_end], &v)) return -1;
  return v;
}

void plan_gemm_dims(const Stmt *s, int64_t *M, int64_t *N, int64_t *K) {
  const Arg *arg = s->u.op.arg;
  const Region *a = arg[op_arg(OP_GEMM, "a")].region, *c = arg[op_arg(OP_GEMM, "c")].region;
  *M = last_extent(c, 2);
  *N = last_extent(c, 1);
  *K = last_extent(a, arg[op_arg(OP_GEMM, "transa")].i ? 2 : 1);
}

const Buffer *plan_loaded(const Plan *p, const Stmt *s) {
  const PlanGemm *g = plan_gemm(p, s);
  if (!g->wgmma || !g->loaded) return NULL;
  return s->u.op.arg[g->loaded == WGMMA_B_LOADED].region->buf;
}
