// gemm on wgmma: each warpgroup owns a block of C in registers, operands come from shared memory by
// descriptors (A also from registers). All products of the gemm are one group, complete before the
// next statement, or (PlanGemm.flies) when the next gemm's are issued, or (open) when others say.
// SPDX-License-Identifier: MIT
#include "passes/lower.h"


typedef struct {
  Lower *l;
  Stmt *s;
  const PlanGemm *plan;
  Expr *share; // of this warpgroup along the operand's outer dimension
  const Region *region;
  bool is_b, regs;
  WgmmaTile tile;
  int64_t mn, k; // where the region starts in the tile
  int per;       // outer indices of a share
  Buffer *desc;  // low word at the share's first matrix, of the tile's first version
  Expr *lead;    // what the leading indices add, in units of 16 bytes
} Operand;

static Expr *num(Operand *o, int64_t v) { return ex_index(o->l->arena, v); }

static Operand operand(Lower *l, Stmt *s, const PlanGemm *g, bool is_b, Expr *share) {
  Operand o = {.l = l, .s = s, .plan = g, .share = share, .is_b = is_b};
  o.region = s->u.op.arg[is_b].region;
  bool trans = s->u.op.arg[op_arg(OP_GEMM, is_b ? "transb" : "transa")].i;
  bool along = is_b ? !trans : trans;
  const Buffer *form = lower_form(l, o.region->buf);
  o.per = is_b ? g->N / g->warps_n : g->M / g->warps_m;
  o.regs = form->scope == SC_FRAGMENT;
  if (o.regs) return o;
  if (!layout_wgmma_tile(form->layout, along, &o.tile)) die("wgmma: a tile of no descriptor");
  int64_t at[2];
  for (int d = 0; d < 2; d++)
    if (!ex_const(o.region->min[o.region->n - 2 + d], &at[d])) die("wgmma: a moving region");
  o.mn = at[along];
  o.k = at[!along];
  return o;
}

static int64_t start(const Operand *o, int64_t mn, int64_t k) {
  int extent = o->is_b ? o->plan->n : o->plan->m;
  int64_t at = layout_wgmma_start(&o->tile, o->mn + mn, o->k + k, extent);
  if (at < 0) die("wgmma: a matrix outside its tile");
  return at;
}

// The descriptor of the share's first matrix, made once at the head of the kernel.
static void open_descriptor(Operand *o) {
  if (o->regs) return;
  Lower *l = o->l;
  Arena *a = l->arena;
  int bits = o->tile.bits, n = o->region->n;
  Expr *one = num(o, 1), *zero = num(o, 0), *idx[LOOP_MAX_DIMS * 2];
  o->desc = buf_new(a, arena_printf(a, "%s_desc", o->region->buf->name), DT_U32, SC_LOCAL, &one, 1,
                    o->s->span);
  vec_push(a, &l->kernel->buffers, o->desc);
  int shares = o->is_b ? o->plan->warps_n : o->plan->warps_m;
  int64_t step = shares > 1 ? start(o, o->per, 0) - start(o, 0, 0) : 0;
  Expr *first =
      ex_add(a, num(o, start(o, 0, 0) * 8 / bits), ex_mul(a, o->share, num(o, step * 8 / bits)));
  Region *place = region_flat(a, o->region->buf, lower_simplify(l, first), 1);
  st_add(a, l->prologue,
         st_op(a, OP_WGMMA_DESC, o->s->span, place, region_flat(a, o->desc, zero, 1), o->tile.lbo));
  for (int i = 0; i < n; i++) idx[i] = i < n - 2 ? lower_expr(l, o->region->min[i]) : zero;
  Expr *bytes = ex_mul(a, lower_offset(l, o->region->buf, idx), num(o, bits / 8));
  o->lead = lower_simplify(l, ex_floordiv(a, bytes, num(o, 16)));
}

static Expr *low_word(Operand *o, int64_t mn, int64_t k) {
  Arena *a = o->l->arena;
  Expr *zero = num(o, 0), *base = ex_load(a, o->desc, &zero, 1);
  int64_t by = (start(o, mn, k) - start(o, 0, 0)) / 16;
  Expr *more = lower_simplify(o->l, ex_add(a, o->lead, num(o, by)));
  return ex_is(more, 0) ? base : ex_bin(a, BIN_ADD, base, ex_cast(a, DT_U32, more));
}

static Expr *high_word(Operand *o) {
  return ex_int(o->l->arena, DT_U32, layout_wgmma_hi(&o->tile));
}

// Where A's registers of 64-row block tm and k-step ks are.
static Region *in_registers(Operand *o, int tm, int ks) {
  int bits = dt_bits(o->region->buf->dtype), per = 128 / bits, steps = o->plan->K / o->plan->k;
  return region_flat(o->l->arena, o->region->buf, num(o, (int64_t)(tm * steps + ks) * per), per);
}

static Region *in_shared(Operand *o) {
  Buffer *b = o->region->buf;
  return region_flat(o->l->arena, b, num(o, 0), (int)buf_elems(b));
}

// c = (clear ? 0 : c) + a * b of one block of 64 rows, run of n columns and k-step.
static Stmt *product(Operand *a, Operand *b, Buffer *c, int tm, int tn, int ks, Expr *keep) {
  Arena *ar = a->l->arena;
  const PlanGemm *g = a->plan;
  int run = g->n / 2, runs = g->N / g->warps_n / g->n;
  Region *d = region_flat(ar, c, num(a, (int64_t)(tm * runs + tn) * run), run);
  int64_t mn = (int64_t)tm * g->m, k = (int64_t)ks * g->k;
  Region *ra = a->regs ? in_registers(a, tm, ks) : in_shared(a);
  return st_op(ar, OP_WGMMA, a->s->span, ra, in_shared(b), d, a->regs ? NULL : low_word(a, mn, k),
               a->regs ? NULL : high_word(a), low_word(b, (int64_t)tn * g->n, k), high_word(b),
               keep, (int64_t)g->n, (int64_t)0, (int64_t)0, (int64_t)(!a->regs && a->tile.mn_major),
               (int64_t)b->tile.mn_major);
}

void wgmma_lower_order(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const OpInfo *info = op_info(s->u.op.op);
  Stmt *x = arena_copy(a, s, sizeof *s);
  for (int i = 0; i < info->nargs; i++) {
    const Region *r = arg_is_region(info->arg[i].kind) ? s->u.op.arg[i].region : NULL;
    if (r) x->u.op.arg[i].region = region_flat(a, r->buf, ex_index(a, 0), (int)buf_elems(r->buf));
  }
  st_add(a, out, x);
}

void wgmma_lower(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const PlanGemm *g = plan_gemm(l->c->plan, s);
  Expr *group = ex_floordiv(a, l->thread, ex_index(a, WARPGROUP));
  Expr *wm = ex_floormod(a, group, ex_index(a, g->warps_m));
  Expr *wn = ex_floordiv(a, group, ex_index(a, g->warps_m));
  Operand x = operand(l, s, g, false, lower_simplify(l, wm));
  Operand y = operand(l, s, g, true, lower_simplify(l, wn));
  Buffer *c = s->u.op.arg[2].region->buf;
  open_descriptor(&x);
  open_descriptor(&y);
  Expr *clear = s->u.op.arg[op_arg(OP_GEMM, "clear")].expr;
  Expr *keep = ex_bool(a, true), *first = keep;
  if (clear) first = lower_simplify(l, ex_un(a, UN_NOT, lower_expr(l, clear)));
  Region *all = region_flat(a, c, ex_index(a, 0), (int)buf_elems(c)), *regs = NULL;
  if (x.regs) regs = region_flat(a, x.region->buf, ex_index(a, 0), (int)buf_elems(x.region->buf));
  if (g->flies) all = NULL; // who changes or reads C fences and waits itself
  st_add(a, out, st_op(a, OP_WGMMA_FENCE, s->span, all, regs));
  int steps = g->K / g->k, rows = g->M / g->warps_m / g->m, runs = g->N / g->warps_n / g->n;
  for (int ks = 0; ks < steps; ks++)
    for (int tm = 0; tm < rows; tm++)
      for (int tn = 0; tn < runs; tn++)
        st_add(a, out, product(&x, &y, c, tm, tn, ks, ks ? keep : first));
  st_add(a, out, st_op(a, OP_WGMMA_COMMIT, s->span));
  if (g->open) return;
  st_add(a, out, st_op(a, OP_WGMMA_WAIT, s->span, all, (int64_t)g->flies, NULL));
}
