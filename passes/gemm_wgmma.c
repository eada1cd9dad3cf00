// gemm on wgmma: each warpgroup owns a block of C in registers, operands come from shared memory by
// descriptors (A also from registers). All products of the gemm are one group, complete before the
// next statement, or (PlanGemm.flies) when the next gemm's are issued, or (open) when others say.
// SPDX-License-Identifier: MIT
#include "passes/gemm_loads.h"

typedef struct {
  Lower *l;
  Stmt *s;
  const PlanGemm *plan;
  Expr *share; // of this warpgroup along the operand's outer dimension
  const Region *region;
  bool is_b, regs;
  int extent; // outer indices of an instruction
  WgmmaTile tile;
  int64_t mn, k; // where the region starts in the tile
  int per;       // outer indices of a share
  Buffer *desc;  // low word at the share's first matrix, of the tile's first version
  Expr *from;    // the first element of the version that the leading indices name
  Expr *lead;    // the same in units of 16 bytes
} Operand;

static Expr *num(Operand *o, int64_t v) { return ex_index(o->l->arena, v); }

static Operand operand(Lower *l, Stmt *s, const PlanGemm *g, bool is_b, Expr *share) {
  Operand o = {.l = l, .s = s, .plan = g, .share = share, .is_b = is_b};
  o.region = s->u.op.arg[is_b].region;
  bool trans = s->u.op.arg[op_arg(OP_GEMM, is_b ? "transb" : "transa")].i;
  bool along = is_b ? !trans : trans;
  const Buffer *form = lower_form(l, o.region->buf);
  o.per = is_b ? g->N / g->warps_n : g->M / g->warps_m;
  o.extent = is_b != (g->loaded == WGMMA_B_LOADED) ? g->n : g->m;
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
  int64_t at = layout_wgmma_start(&o->tile, o->mn + mn, o->k + k, o->extent);
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
  o->from = lower_offset(l, o->region->buf, idx);
  Expr *bytes = ex_mul(a, o->from, num(o, bits / 8));
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

// All of the version that the descriptors point into.
static Region *in_shared(Operand *o) {
  const Buffer *form = lower_form(o->l, o->region->buf);
  int64_t elems = layout_bytes(form->layout) * 8 / o->tile.bits;
  for (int d = 0; d < form->ndim - 2; d++) elems /= form->shape[d]->u.i;
  return region_flat(o->l->arena, o->region->buf, lower_simplify(o->l, o->from), (int)elems);
}

typedef struct {
  Operand rows, columns; // of the instructions
  GemmLoads *loads;      // of the rows' operand; NULL: it is not loaded
  Buffer *c;
  Expr *first; // is c kept by the first products?
  int steps, blocks, runs;
} Products;

static Region *row_registers(Products *p, int tm, int ks) {
  return p->loads ? gemm_loads_at(p->loads, tm, ks) : in_registers(&p->rows, tm, ks);
}

// c = (clear ? 0 : c) + a * b of one block of 64 rows, run of n columns and k-step.
static Stmt *product(Products *p, int tm, int tn, int ks) {
  Operand *a = &p->rows, *b = &p->columns;
  Arena *ar = a->l->arena;
  const PlanGemm *g = a->plan;
  int run = g->n / 2;
  bool regs = a->regs || p->loads;
  Region *d = region_flat(ar, p->c, num(a, (int64_t)(tm * p->runs + tn) * run), run);
  int64_t mn = (int64_t)tm * g->m, k = (int64_t)ks * g->k;
  Region *ra = regs ? row_registers(p, tm, ks) : in_shared(a);
  return st_op(ar, OP_WGMMA, a->s->span, ra, in_shared(b), d, regs ? NULL : low_word(a, mn, k),
               regs ? NULL : high_word(a), low_word(b, (int64_t)tn * g->n, k), high_word(b),
               ks ? ex_bool(ar, true) : p->first, (int64_t)g->n, (int64_t)0, (int64_t)0,
               (int64_t)(!regs && a->tile.mn_major), (int64_t)b->tile.mn_major);
}

// One group of k-steps from `from` to `to`.
static void products(Products *p, int from, int to, Stmt *out) {
  Arena *a = p->rows.l->arena;
  for (int ks = from; ks < to; ks++)
    for (int tm = 0; tm < p->blocks; tm++)
      for (int tn = 0; tn < p->runs; tn++) st_add(a, out, product(p, tm, tn, ks));
  st_add(a, out, st_op(a, OP_WGMMA_COMMIT, p->rows.s->span));
}

// The registers of two groups take turns: those of one are loaded while the other multiplies.
static void loaded_products(Products *p, Region *all, Stmt *out) {
  const PlanGemm *g = p->rows.plan;
  Arena *a = p->rows.l->arena;
  Span span = p->rows.s->span;
  int groups = gemm_loads_groups(p->loads);
  bool busy = g->flies || g->open; // are products of the gemm before in flight?
  for (int i = 0; i < groups; i++) {
    Region *regs = gemm_loads_half(p->loads, i);
    int64_t others = i || groups % 2 == 0;
    if (busy || i > 1) st_add(a, out, st_op(a, OP_WGMMA_WAIT, span, NULL, others, regs));
    gemm_loads_group(p->loads, i, out);
    st_add(a, out, st_op(a, OP_WGMMA_FENCE, span, i ? NULL : all, regs));
    products(p, gemm_loads_step(p->loads, i), gemm_loads_step(p->loads, i + 1), out);
  }
}

void wgmma_lower_order(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const OpInfo *info = op_info(s->u.op.op);
  Stmt *x = arena_copy(a, s, sizeof *s);
  for (int i = 0; i < info->nargs; i++) {
    const Region *r = arg_is_region(info->arg[i].kind) ? s->u.op.arg[i].region : NULL;
    if (r) x->u.op.arg[i].region = region_flat(a, r->buf, ex_index(a, 0), (int)buf_elems(r->buf));
  }
  // The assembler must not take them for free before the products are complete.
  int held = op_arg(OP_WGMMA_WAIT, "a");
  bool last = s->u.op.op == OP_WGMMA_WAIT && !s->u.op.arg[op_arg(OP_WGMMA_WAIT, "pending")].i;
  if (last && l->loaded && !x->u.op.arg[held].region)
    x->u.op.arg[held].region = region_flat(a, l->loaded, ex_index(a, 0), (int)buf_elems(l->loaded));
  st_add(a, out, x);
}

// The operands, and their descriptors at the head of the kernel.
static void open_products(Products *p, Lower *l, Stmt *s, const PlanGemm *g, Stmt *out) {
  Arena *a = l->arena;
  Expr *group = ex_floordiv(a, l->thread, ex_index(a, WARPGROUP));
  Expr *wm = lower_simplify(l, ex_floormod(a, group, ex_index(a, g->warps_m)));
  Expr *wn = lower_simplify(l, ex_floordiv(a, group, ex_index(a, g->warps_m)));
  bool turned = g->loaded == WGMMA_B_LOADED;
  *p = (Products){.c = s->u.op.arg[2].region->buf};
  if (g->loaded) {
    p->rows = (Operand){.l = l, .s = s, .plan = g, .region = s->u.op.arg[turned].region};
    p->rows.per = turned ? g->N / g->warps_n : g->M / g->warps_m;
    p->loads = gemm_loads_open(l, s, g, turned ? wn : wm, out);
  } else {
    p->rows = operand(l, s, g, false, wm);
    open_descriptor(&p->rows);
  }
  p->columns = operand(l, s, g, !turned, turned ? wm : wn);
  open_descriptor(&p->columns);
  p->steps = g->K / g->k;
  p->blocks = p->rows.per / g->m;
  p->runs = p->columns.per / g->n;
}

void wgmma_lower(Lower *l, Stmt *s, Stmt *out) {
  Arena *a = l->arena;
  const PlanGemm *g = plan_gemm(l->c->plan, s);
  Products p;
  open_products(&p, l, s, g, out);
  Expr *clear = s->u.op.arg[op_arg(OP_GEMM, "clear")].expr;
  p.first = ex_bool(a, true);
  if (clear) p.first = lower_simplify(l, ex_un(a, UN_NOT, lower_expr(l, clear)));
  Region *all = region_flat(a, p.c, ex_index(a, 0), (int)buf_elems(p.c)), *regs = NULL;
  Buffer *held = p.rows.region->buf;
  if (p.rows.regs) regs = region_flat(a, held, ex_index(a, 0), (int)buf_elems(held));
  if (g->flies) all = NULL; // who changes or reads C fences and waits itself
  if (p.loads) {
    loaded_products(&p, all, out);
    if (g->flies || g->open) l->loaded = gemm_loads_half(p.loads, 0)->buf;
    if (g->flies) return;
  } else {
    st_add(a, out, st_op(a, OP_WGMMA_FENCE, s->span, all, regs));
    products(&p, 0, p.steps, out);
  }
  if (g->open) return;
  st_add(a, out, st_op(a, OP_WGMMA_WAIT, s->span, all, (int64_t)g->flies, NULL));
}
