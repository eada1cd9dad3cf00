// raster: T.use_swizzle becomes arithmetic on the block indices (LANGUAGE.md 6.8): blocks are
// walked in panels of rows (or columns), back and forth, so that neighbours in time share tiles in
// the L2 cache. A permutation of the x-y grid for any panel and grid; z is untouched.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

typedef struct {
  Arena *a;
  Stmt *out;
  Span span;
} Raster;

static Expr *name(Raster *r, const char *text, Expr *value) {
  int64_t known;
  if (ex_const(value, &known)) return value;
  Var *v = var_new(r->a, text, DT_INDEX, VAR_LET, r->span);
  st_add(r->a, r->out, st_let(r->a, v, value, r->span));
  return ex_var(r->a, v);
}

// In terms of a row panel: `along` is the extent that panels run along, of `across` panels are cut.
static void remap(Raster *r, Expr *x, Expr *y, Expr *gx, Expr *gy, int panel, bool column,
                  Expr **across, Expr **along) {
  Arena *a = r->a;
  Expr *g = column ? gy : gx; // blocks along a panel
  Expr *size = ex_index(a, panel), *one = ex_index(a, 1);
  Expr *block = name(r, "raster_block", ex_add(a, x, ex_mul(a, y, gx)));
  Expr *grid = name(r, "raster_grid", ex_mul(a, gx, gy));
  Expr *per = name(r, "raster_panel", ex_mul(a, size, g));
  Expr *p = name(r, "raster_p", ex_floordiv(a, block, per));
  Expr *off = name(r, "raster_off", ex_floormod(a, block, per));
  Expr *total = ex_floordiv(a, ex_sub(a, ex_add(a, grid, per), one), per);
  Expr *rest = ex_floordiv(a, ex_sub(a, grid, ex_mul(a, p, per)), g);
  Expr *full = ex_lt(a, ex_add(a, p, one), total);
  Expr *stride = name(r, "raster_rows", ex_select(a, full, size, rest));
  Expr *step = ex_floordiv(a, off, stride);
  Expr *odd = ex_bin(a, BIN_EQ, ex_floormod(a, p, ex_index(a, 2)), one);
  *along = ex_select(a, odd, ex_sub(a, ex_sub(a, g, one), step), step);
  *across = ex_add(a, ex_floormod(a, off, stride), ex_mul(a, p, size));
}

void raster_kernel(Kernel *k, PassCtx *c) {
  Arena *a = c->arena;
  int panel = (int)pass_flag(c, k, "raster", k->raster_panel);
  k->raster_panel = 0;
  if (panel <= 0 || !k->block[0] || !k->block[1]) return;
  if (ex_is(k->grid[0], 1) && ex_is(k->grid[1], 1)) return;
  Raster r = {a, st_block(a, k->span), k->span};
  Expr *x = ex_var(a, k->block[0]), *y = ex_var(a, k->block[1]), *across, *along;
  remap(&r, x, y, k->grid[0], k->grid[1], panel, k->raster_column, &across, &along);
  Var *nx = var_new(a, k->block[0]->name, DT_INDEX, VAR_LET, k->block[0]->span);
  Var *ny = var_new(a, k->block[1]->name, DT_INDEX, VAR_LET, k->block[1]->span);
  Subst s = {.arena = a};
  subst_add(&s, k->block[0], ex_var(a, nx));
  subst_add(&s, k->block[1], ex_var(a, ny));
  subst_stmt(&s, k->body);
  st_add(a, r.out, st_let(a, nx, k->raster_column ? across : along, k->span));
  st_add(a, r.out, st_let(a, ny, k->raster_column ? along : across, k->span));
  // What is known of block indices holds for their permutation too.
  Expr *zero = ex_index(a, 0);
  Var *v[] = {nx, ny};
  for (int i = 0; i < 2; i++) {
    Expr *in =
        ex_and(a, ex_bin(a, BIN_LE, zero, ex_var(a, v[i])), ex_lt(a, ex_var(a, v[i]), k->grid[i]));
    st_add(a, r.out, st_known(a, in, k->span));
  }
  st_add(a, r.out, k->body);
  k->body = r.out;
  diag_remark(c->diags, k->span, "raster", "%s panels of %d blocks",
              k->raster_column ? "column" : "row", panel);
}

// In clusters it is them that walk so (cluster.c).
void pass_raster(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    const PlanRoles *roles = plan_of_roles(c->plan, p->kernels.data[i]);
    if (!roles || !roles->cluster) raster_kernel(p->kernels.data[i], c);
  }
}
