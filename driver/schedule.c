// What the passes make of a program before they lower it, for who chooses among programs.
// SPDX-License-Identifier: MIT
#include "driver/driver.h"
#include "passes/plan.h"

Program *job_in_launch_order(Arena *a, const Program *tile, const Target *t) {
  Program *p = ir_clone(a, tile);
  PassCtx c = {.arena = a, .target = t, .stop_after = "raster", .flags = map_new(a)};
  c.diags = diag_new(a, src_new(a), (DiagOptions){0});
  return passes_run(p, &c) ? p : NULL;
}

bool job_gemm(const Stmt *gemm, int threads, JobGemm *out) {
  GemmPolicy policy = (GemmPolicy)gemm->u.op.arg[op_arg(OP_GEMM, "policy")].i;
  *out = (JobGemm){0};
  plan_gemm_dims(gemm, &out->m, &out->n, &out->k);
  return plan_partition(policy, (int)out->m, (int)out->n, threads / 32, &out->warps_m,
                        &out->warps_n);
}
