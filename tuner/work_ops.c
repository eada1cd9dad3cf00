// What the ops of thread level cost.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "tuner/work.h"

enum { SMEM_BYTES = 128 /* a clock */ };

static Region *region(const Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].region;
}

static int64_t integer(const Stmt *s, const char *name) {
  return s->u.op.arg[op_arg(s->u.op.op, name)].i;
}

// Elements of the box.
static int64_t elems(MwWalk *w, const Region *r) {
  int64_t n = 1;
  for (int i = 0; i < r->n; i++) n *= mv_point(&w->env, r->extent[i]);
  return n;
}

static double bytes_of(MwWalk *w, const Region *r) {
  return (double)elems(w, r) * dt_bits(r->buf->dtype) / 8;
}

static void side(MwWalk *w, const Region *r, bool write) {
  if (r->buf->scope == SC_SHARED || r->buf->scope == SC_GLOBAL)
    mw_access(w, r->buf, r->min[0], elems(w, r), write);
}

/* ------------------------------------------------------------------ products */

double mw_tensor_rate(const TnFigures *f, DType t) {
  switch (dt_bits(t)) {
  case 8: return 1e12 * (dt_is_float(t) ? f->f8 : f->i8);
  case 64: return 1e12 * f->f64;
  case 32: return 1e12 * f->tf32;
  case 4: return 1e12 * f->i8;
  default: return 1e12 * f->f16;
  }
}

static void product(MwWalk *w, double flops, DType t, double share) {
  const TnFigures *f = w->figures;
  MwPhase *p = mw_phase(w);
  double each = mw_tensor_rate(f, t) / (f->sms * f->clock * 1e9) * share; // FLOP a clock
  p->flops += flops;
  p->tensor += flops / each;
}

static void mma(MwWalk *w, const Stmt *s) {
  double flops = 2.0 * (double)(integer(s, "m") * integer(s, "n") * integer(s, "k"));
  mw_issue(w, 1);
  w->out->mma_sync = true;
  product(w, flops * w->times * w->warps, region(s, "a")->buf->dtype, w->figures->mma_share);
}

static void wgmma(MwWalk *w, const Stmt *s) {
  DType t = region(s, "b")->buf->dtype;
  double n = (double)integer(s, "n"), k = 256.0 / dt_bits(t);
  double groups = (double)w->threads / WARPGROUP;
  bool a_shared = region(s, "a")->buf->scope == SC_SHARED;
  double read = (n + (a_shared ? 64 : 0)) * 32; // k elements are 32 bytes
  mw_issue(w, 1);
  product(w, 2 * 64 * n * k * w->times * groups, t, 1);
  mw_phase(w)->smem += read * w->times * groups / SMEM_BYTES;
  mw_phase(w)->smem_bytes += read * w->times * groups;
}

/* ------------------------------------------------------------------ copies */

// Each block of a cluster asks for its part, and all of them get it.
static double receivers(MwWalk *w, const Stmt *s) {
  return s->u.op.arg[op_arg(s->u.op.op, "blocks")].expr ? kernel_cluster(w->kernel) : 1;
}

static void bulk(MwWalk *w, const Stmt *s, bool load) {
  MwPhase *p = mw_phase(w);
  double n = bytes_of(w, region(s, load ? "dst" : "src")) * w->times * w->threads;
  if (load) p->load += n;
  else p->store += n;
  if (!load) p->bulk += n;
  if (load) n *= receivers(w, s);
  p->smem += n / SMEM_BYTES;
  p->smem_bytes += n;
}

static double work_so_far(const MwPhase *p) {
  return p->trips ? (p->tensor + p->issue + p->special) / p->trips : 0;
}

static void commit(MwWalk *w) {
  MwPhase *p = mw_phase(w);
  p->commits++;
  p->commit_at = work_so_far(p);
}

// Between the issue of what is waited for here and now: whole iterations, and clocks of this one,
// which mw_block's reader divides by the clocks of all.
static void async_wait(MwWalk *w, const Stmt *s) {
  MwPhase *p = mw_phase(w);
  p->barriers += w->times;
  if (!p->loop) return;
  p->ahead = (double)integer(s, "pending") + 1 - p->commits;
  if (p->commits) p->overlap = work_so_far(p) - p->commit_at;
  if (p->ahead < 0) p->ahead = 0;
}

static void mbar_wait(MwWalk *w, const Stmt *s) {
  MwPhase *p = mw_phase(w);
  p->barriers += w->times;
  if (!p->loop || w->producer) return;
  double slots = (double)buf_elems(region(s, "bar")->buf);
  if (p->ahead < 0 || slots - 1 < p->ahead) p->ahead = slots - 1;
}

/* ------------------------------------------------------------------ all */

static void matrices(MwWalk *w, const Stmt *s, bool load) {
  const Region *r = region(s, load ? "src" : "dst");
  int num = (int)integer(s, "num");
  bool active[MW_LANES * 2];
  int warp = w->first / MW_LANES * MW_LANES;
  memcpy(active, w->active + warp, sizeof active / 2);
  for (int i = num * 8; i < MW_LANES; i++) w->active[warp + i] = false; // give no address
  mw_access(w, r->buf, r->min[0], elems(w, r), !load);
  memcpy(w->active + warp, active, sizeof active / 2);
}

static void atomic(MwWalk *w, const Stmt *s) {
  const Region *r = region(s, "dst");
  MwPhase *p = mw_phase(w);
  double before = p->store;
  side(w, r, true);
  p->store += 2 * (p->store - before); // L2 reads, adds and writes a sector
  for (int i = 0; i < op_info(s->u.op.op)->nargs; i++) {
    if (op_info(s->u.op.op)->arg[i].kind == ARG_EXPR && s->u.op.arg[i].expr)
      mw_expr(w, s->u.op.arg[i].expr);
  }
}

static void other(MwWalk *w, const Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  mw_issue(w, 1);
  if (s->u.op.op == OP_SHUFFLE) mw_phase(w)->smem += w->times * w->warps;
  for (int i = 0; i < info->nargs; i++) {
    if (info->arg[i].kind == ARG_EXPR && s->u.op.arg[i].expr) mw_expr(w, s->u.op.arg[i].expr);
  }
}

void mw_op(MwWalk *w, Stmt *s) {
  switch (s->u.op.op) {
  case OP_VMOV:
    side(w, region(s, "src"), false);
    side(w, region(s, "dst"), true);
    break;
  case OP_CP_ASYNC: {
    double trips = mw_phase(w)->round_trips;
    side(w, region(s, "src"), false);
    mw_phase(w)->round_trips = trips; // nothing waits for it here
    side(w, region(s, "dst"), true);
    break;
  }
  case OP_LDMATRIX: matrices(w, s, true); break;
  case OP_STMATRIX: matrices(w, s, false); break;
  case OP_MMA: mma(w, s); break;
  case OP_WGMMA: wgmma(w, s); break;
  case OP_WGMMA_WAIT:
    if (!integer(s, "pending")) mw_phase(w)->drains += w->times;
    break;
  case OP_TMA_LOAD:
  case OP_BULK_LOAD: bulk(w, s, true); break;
  case OP_TMA_STORE:
  case OP_TMA_REDUCE:
  case OP_BULK_STORE:
  case OP_BULK_REDUCE: bulk(w, s, false); break;
  case OP_BULK_WAIT: mw_phase(w)->by_parts |= integer(s, "pending") > 0; break;
  case OP_ASYNC_COMMIT: commit(w); break;
  case OP_ASYNC_WAIT: async_wait(w, s); break;
  case OP_MBAR_WAIT: mbar_wait(w, s); break;
  case OP_SYNC:
  case OP_BAR_SYNC:
  case OP_BLOCK_VOTE: mw_phase(w)->barriers += w->times; break;
  case OP_ATOMIC:
  case OP_VATOMIC: atomic(w, s); break;
  default: other(w, s); break;
  }
}
