// Which gemms wgmma can do, and how warpgroups and instructions divide them. M is split first: the
// rows of a warpgroup are whole blocks of 64, and B is read by each.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "passes/plan_internal.h"

enum { ROWS = 64 };
enum { ADDRESSES = 26 }; // registers of an instruction beside its accumulators: ptxas, C7602

static bool types(DType a, DType b, DType c) {
  bool narrow = dt_bits(a) == 8 && dt_bits(b) == 8 && dt_is_float(a) == dt_is_float(b);
  if (a != b && !narrow) return false;
  if (a == DT_I8 || a == DT_U8) return c == DT_I32;
  if (a == DT_F16 || a == DT_E4M3 || a == DT_E5M2) return c == DT_F32 || c == DT_F16;
  return (a == DT_BF16 || a == DT_F32 || a == DT_TF32) && c == DT_F32;
}

// ptxas compiles an instruction within the registers that a thread starts with.
static int most_columns(const Target *t, int threads) {
  int all = threads + 128 <= t->max_threads ? threads + 128 : threads;
  int start = t->regs_per_sm / all / 8 * 8;
  int n = (start - ADDRESSES) * 2 / 8 * 8;
  return n < 256 ? n : 256;
}

// The widest instruction whose columns divide n; 0: none.
static int columns(int n, int most, bool integer) {
  for (int w = n < most ? n : most; w >= 8; w -= 8)
    if (n % w == 0 && layout_wgmma_n(w, integer)) return w;
  return 0;
}

// As many warpgroups as can share the rows.
static int share_rows(int groups, int rows) {
  int w = groups;
  while (w > 1 && (groups % w || rows % (ROWS * w))) w--;
  return w;
}

static const char *no_parts(PassCtx *c, int groups, int rows, int cols) {
  return arena_printf(c->arena, "%d x %d has no whole parts of 64 x 8 for %d warpgroup%s", rows,
                      cols, groups, groups == 1 ? "" : "s");
}

// Do equal shares of the outer dimension start at equal distances, and every instruction within the
// tile?
static bool starts(const WgmmaTile *t, int64_t mn, int64_t k, int shares, int share, int extent,
                   int K) {
  int step = 256 / t->bits;
  int64_t first = layout_wgmma_start(t, mn, k, extent);
  for (int g = 0; g < shares; g++)
    for (int i = 0; i < share; i += extent)
      for (int j = 0; j < K; j += step) {
        int64_t at = layout_wgmma_start(t, mn + g * share + i, k + j, extent);
        int64_t like = layout_wgmma_start(t, mn + i, k + j, extent);
        int64_t next = layout_wgmma_start(t, mn + (shares > 1 ? share : 0), k, extent);
        if (at < 0 || at - like != g * (next - first)) return false;
      }
  return true;
}

// The layout of a shared tile that is dense, and where the region starts in its last two
// dimensions; NULL: it is laid out otherwise, or starts at no one place.
static const Layout *dense(Arena *a, const Kernel *kernel, const Region *r, int64_t *at) {
  if (r->buf->scope != SC_SHARED) return NULL;
  const Layout *l = plan_tma_layout(a, r->buf);
  if (views_named(kernel, r->buf)) return NULL; // row-major, for all its names
  if (r->buf->layout && !layout_equal(r->buf->layout, l)) return NULL;
  for (int d = 0; d < 2; d++)
    if (!ex_const(r->min[r->n - 2 + d], &at[d])) return NULL;
  return l;
}

static bool operand(PassCtx *c, const Kernel *kernel, const Region *r, bool along, int shares,
                    int share, int extent, int K) {
  WgmmaTile t;
  int64_t at[2];
  const Layout *l = dense(c->arena, kernel, r, at);
  if (!l || !layout_wgmma_tile(l, along, &t)) return false;
  return starts(&t, at[along], at[!along], shares, share, extent, K);
}

// Of a thread's accumulators; wgmma wants them all in registers.
static int registers(const Kernel *k, const PlanGemm *g) {
  return (int)((int64_t)g->M * g->N * dt_bits(g->c) / 32 / k->threads);
}

bool plan_wgmma_fits(const Target *t, const PlanGemm *g, int threads) {
  return g->wgmma && g->n <= most_columns(t, threads);
}

// What the types say.
static const char *types_why(PassCtx *c, const Kernel *k, const Stmt *s, const PlanGemm *g) {
  const Arg *arg = s->u.op.arg;
  const Buffer *a = arg[0].region->buf, *b = arg[1].region->buf;
  bool ta = arg[op_arg(OP_GEMM, "transa")].i, tb = arg[op_arg(OP_GEMM, "transb")].i;
  int bits = dt_bits(a->dtype), step = 256 / bits;
  if (!pass_flag(c, k, "wgmma", 1)) return "-fno-wgmma";
  if (k->threads % WARPGROUP) return "the threads are no whole warpgroups, of 128 each";
  if (!types(a->dtype, b->dtype, g->c))
    return arena_printf(c->arena, "it multiplies no %s by %s into %s", dt_name(a->dtype),
                        dt_name(b->dtype), dt_name(g->c));
  if (g->K % step) return arena_printf(c->arena, "K = %d is no multiple of %d", g->K, step);
  if (ta && a->scope == SC_FRAGMENT) return "a fragment is not transposed";
  if (bits == 16 || (tb && !ta)) return NULL;
  // By descriptors along K only: one operand that does not lie so may be loaded.
  const Buffer *across = tb ? a : b, *other = tb ? b : a;
  if (across->scope == SC_SHARED && other->scope == SC_SHARED && (tb || !ta)) return NULL;
  return arena_printf(c->arena, "%s of %d bits lies not along K", across->name, bits);
}

/* operands that threads load */

// Can the threads of `groups` warpgroups load the operand by pairs, the same way in each step, or
// by ldmatrix?
static bool loads(PassCtx *c, const Kernel *kernel, const Region *r, int groups, int rows, int K) {
  int64_t at[2];
  WgmmaLoads loads;
  const Layout *l = dense(c->arena, kernel, r, at);
  if (l && dt_bits(r->buf->dtype) == 8) return gemm_bytes_lie(l, at[1]);
  return l && layout_wgmma_loads(c->arena, l, at[0], at[1], K, rows, groups, &loads);
}

// Plans a gemm of which one operand is loaded; why not: NULL, it is one.
static const char *plan_loads(PassCtx *c, const Kernel *k, const Stmt *s, PlanGemm *g,
                              WgmmaLoaded loaded) {
  const Arg *arg = s->u.op.arg;
  bool turned = loaded == WGMMA_B_LOADED;
  const Region *mine = arg[turned].region, *other = arg[!turned].region;
  int rows = turned ? g->N : g->M, cols = turned ? g->M : g->N, groups = k->threads / WARPGROUP;
  int wr = share_rows(groups, rows), wc = groups / wr, bits = dt_bits(mine->buf->dtype);
  if (rows % (ROWS * wr) || cols % (8 * wc)) return no_parts(c, groups, rows, cols);
  int n = columns(cols / wc, most_columns(c->target, k->threads), g->c == DT_I32);
  int regs = plan_consumer_regs(c->target, k->threads);
  g->sums = registers(k, g);
  g->held = wgmma_loaded_regs(rows / wr, g->K, bits);
  if (!n || g->sums + g->held + PLAN_OTHER_REGS > regs)
    return arena_printf(c->arena, "%d accumulators and %d others are more than %d registers",
                        g->sums, g->held + PLAN_OTHER_REGS, regs);
  if (!operand(c, k, other, false, wc, cols / wc, n, g->K))
    return arena_printf(c->arena, "no descriptor says how %s lies", other->buf->name);
  if (!loads(c, k, mine, wr, rows, g->K))
    return arena_printf(c->arena, "%s lies not in rows of %s", mine->buf->name,
                        bits == 8 ? "16-byte cells" : "pairs");
  g->wgmma = true;
  g->loaded = loaded;
  g->pair_m = g->pair_n = false;
  g->warps_m = turned ? wc : wr;
  g->warps_n = turned ? wr : wc;
  g->m = ROWS;
  g->n = n;
  g->k = 256 / bits;
  return NULL;
}

const char *plan_wgmma(PassCtx *c, const Kernel *k, const Stmt *s, PlanGemm *g) {
  const Arg *arg = s->u.op.arg;
  const Region *a = arg[0].region, *b = arg[1].region;
  bool ta = arg[op_arg(OP_GEMM, "transa")].i, tb = arg[op_arg(OP_GEMM, "transb")].i;
  int groups = k->threads / WARPGROUP;
  if (!c->target->bulk) return NULL;
  const char *why = types_why(c, k, s, g);
  if (why) return why;
  if (dt_bits(a->buf->dtype) != 16 && (ta || !tb))
    return plan_loads(c, k, s, g, ta ? WGMMA_A_LOADED : WGMMA_B_LOADED);
  int wm = share_rows(groups, g->M), wn = groups / wm;
  if (g->M % (ROWS * wm) || g->N % (8 * wn)) return no_parts(c, groups, g->M, g->N);
  int n = columns(g->N / wn, most_columns(c->target, k->threads), g->c == DT_I32);
  int regs = plan_consumer_regs(c->target, k->threads);
  g->sums = registers(k, g);
  if (!n || g->sums + PLAN_OTHER_REGS > regs)
    return arena_printf(c->arena, "%d accumulators and %d others are more than %d registers",
                        g->sums, PLAN_OTHER_REGS, regs);
  if (a->buf->scope != SC_FRAGMENT && !operand(c, k, a, ta, wm, g->M / wm, ROWS, g->K))
    return arena_printf(c->arena, "no descriptor says how %s lies", a->buf->name);
  if (!operand(c, k, b, !tb, wn, g->N / wn, n, g->K))
    return arena_printf(c->arena, "no descriptor says how %s lies", b->buf->name);
  g->wgmma = true;
  g->pair_m = g->pair_n = false;
  g->warps_m = wm;
  g->warps_n = wn;
  g->m = ROWS;
  g->n = n;
  g->k = 256 / dt_bits(a->buf->dtype);
  if (a->buf->scope == SC_FRAGMENT)
    g->held = g->M / wm * g->K * dt_bits(a->buf->dtype) / 32 / WARPGROUP;
  return NULL;
}
