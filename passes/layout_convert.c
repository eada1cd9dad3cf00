// Where demands on a fragment differ: copies into a fragment of the wanted layout, and accesses
// that no layout serves, staged through shared memory.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"

typedef struct {
  PassCtx *c;
  Kernel *kernel;
  bool inside, accumulators;
  bool *scalar; // by position in kernel->buffers: accessed outside parallel loops
  bool *pinned; // is a gemm's accumulator
} Conv;

/* ------------------------------------------------------------------ gemm operands */

static Layout *layout_operand(Arena *a, const PlanGemm *g, const Stmt *s, int arg) {
  const Buffer *b = s->u.op.arg[arg].region->buf;
  int bits = dt_bits(b->dtype), wm = g->warps_m, wn = g->warps_n;
  if (g->wgmma && arg == 0) return layout_wgmma_a(a, g->M, g->K, bits, false, wm, wn);
  if (g->wgmma && arg == 2)
    return layout_wgmma_c(a, g->M, g->N, bits, wm, wn, g->loaded, dt_bits(g->ab));
  if (arg == 0)
    return layout_mma_a(a, g->M, g->K, bits, s->u.op.arg[op_arg(OP_GEMM, "transa")].i, wm, wn);
  if (arg == 1)
    return layout_mma_b(a, g->N, g->K, bits, s->u.op.arg[op_arg(OP_GEMM, "transb")].i, wm, wn);
  return layout_mma_c(a, g->M, g->N, bits, wm, wn, g->pair_m, g->pair_n);
}

static bool is_whole(const Region *r) {
  if (r->n != 2) return false;
  for (int d = 0; d < r->n; d++)
    if (!ex_is(r->min[d], 0) || !ex_equal(r->extent[d], r->buf->shape[d])) return false;
  return true;
}

// Makes argument `arg` a whole fragment of the wanted layout; copies before and after go into out.
static void convert_operand(Conv *v, Stmt *s, int arg, Stmt *before, Stmt *after) {
  Arena *a = v->c->arena;
  Region *r = s->u.op.arg[arg].region;
  if (r->buf->scope != SC_FRAGMENT) return;
  Layout *want = layout_operand(a, plan_gemm(v->c->plan, s), s, arg);
  if (is_whole(r)) {
    if (!r->buf->layout) r->buf->layout = want;
    if (layout_equal(r->buf->layout, want)) return;
  }
  Expr *shape[2] = {r->extent[r->n - 2], r->extent[r->n - 1]};
  Buffer *f = buf_new(a, arena_printf(a, "%s_mma", r->buf->name), r->buf->dtype, SC_FRAGMENT, shape,
                      2, r->buf->span);
  vec_push(a, &v->kernel->buffers, f);
  f->layout = want;
  diag_remark(v->c->diags, s->span, "layout",
              "%s is converted to the layout of this gemm's operand", r->buf->name);
  st_add(a, before, tile_copy_loop(a, r, region_whole(a, f), s->span));
  if (arg == 2) st_add(a, after, tile_copy_loop(a, region_whole(a, f), r, s->span));
  s->u.op.arg[arg].region = region_whole(a, f);
}

static Stmt *convert_gemm(void *ctx, Stmt *s) {
  Conv *v = ctx;
  if (s->kind != ST_OP || s->u.op.op != OP_GEMM) return s;
  Arena *a = v->c->arena;
  Stmt *out = st_block(a, s->span), *after = st_block(a, s->span);
  if (v->accumulators) {
    convert_operand(v, s, 2, out, after);
  } else {
    convert_operand(v, s, 0, out, after);
    convert_operand(v, s, 1, out, after);
  }
  if (!out->u.block.len && !after->u.block.len) return s;
  st_add(a, out, s);
  st_add(a, out, after);
  return out;
}

void layout_gemm_operands(PassCtx *c, Kernel *k) {
  Conv v = {.c = c, .kernel = k, .accumulators = true};
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, convert_gemm, &v));
  v.accumulators = false;
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, convert_gemm, &v));
}

/* ------------------------------------------------------------------ staging */

// A parallel loop, mapped as the fragment is, that moves all of it to or from a tile of its shape.
static Stmt *move_all(Arena *a, Buffer *frag, Buffer *tile, bool out, Span span) {
  static const char *const names[LOOP_MAX_DIMS] = {"i", "j", "k", "l", "m", "n", "p", "q"};
  Var *var[LOOP_MAX_DIMS];
  Expr *min[LOOP_MAX_DIMS], *idx[LOOP_MAX_DIMS];
  int n = frag->ndim;
  if (n > LOOP_MAX_DIMS) die("a fragment of %d dimensions", n);
  for (int d = 0; d < n; d++) {
    var[d] = var_new(a, names[d], DT_INDEX, VAR_LOOP, span);
    min[d] = ex_index(a, 0);
    idx[d] = ex_var(a, var[d]);
  }
  Stmt *body = st_block(a, span);
  Buffer *from = out ? frag : tile, *to = out ? tile : frag;
  st_add(a, body, st_store(a, to, idx, n, ex_load(a, from, idx, n), span));
  Stmt *s = st_for_n(a, LOOP_PARALLEL, n, var, min, frag->shape, body, span);
  s->u.loop.layout = layout_with_bits(a, frag->layout, 1);
  return s;
}

typedef struct {
  Arena *arena;
  Buffer *from, *to;
  Expr **only; // the index list to replace; NULL: all
} Swap;

static Expr *swap_load(void *ctx, Expr *x) {
  const Swap *w = ctx;
  if (x->kind != EX_LOAD || x->u.load.buf != w->from) return x;
  return ex_at(ex_load(w->arena, w->to, x->u.load.idx, x->u.load.n), x->span);
}

static void swap_slot(void *ctx, Expr **slot) {
  Swap *w = ctx;
  if (*slot) *slot = walk_expr(w->arena, *slot, swap_load, w);
}

static void swap_stmt(void *ctx, Stmt *s) {
  Swap *w = ctx;
  st_exprs(s, swap_slot, w);
  if (s->kind == ST_STORE && s->u.store.buf == w->from) s->u.store.buf = w->to;
  if (s->kind != ST_OP) return;
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    Region *r = arg_is_region(info->arg[i].kind) ? s->u.op.arg[i].region : NULL;
    if (r && r->buf == w->from) r->buf = w->to;
  }
}

// s with every access of `frag` made to a shared copy of it.
static Stmt *staged(Conv *v, Stmt *s, Buffer *frag, bool written) {
  Arena *a = v->c->arena;
  Buffer *tile = layout_temp(a, v->kernel, frag, "staged", SC_SHARED);
  Stmt *out = st_block(a, s->span);
  diag_remark(v->c->diags, s->span, "layout",
              "%s goes through shared memory here: its elements are on other threads", frag->name);
  st_add(a, out, move_all(a, frag, tile, true, s->span));
  Swap w = {a, frag, tile, NULL};
  st_walk(s, swap_stmt, &w);
  st_add(a, out, s);
  if (written) st_add(a, out, move_all(a, frag, tile, false, s->span));
  return out;
}

static Stmt *stage_loop(void *ctx, Stmt *s) {
  Conv *v = ctx;
  Arena *a = v->c->arena;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PARALLEL) return s;
  FragUses uses = frag_uses(a, s);
  for (int i = 0; i < uses.len; i++) {
    const FragUse *u = &uses.data[i];
    int64_t coeff[LOOP_MAX_DIGITS], base;
    if (s->u.loop.layout && frag_fit(a, u, u->buf->layout, s, coeff, &base)) continue;
    Stmt *last = NULL, *out = u->update ? layout_own_reducer(v->c, v->kernel, s, u, &last)
                                        : staged(v, s, u->buf, walk_touches(a, s, u->buf, true));
    if (!out) return NULL;
    // The remaining fragments of the loop: its position in the block is the middle.
    for (int k = 0; k < out->u.block.len; k++)
      if (out->u.block.data[k] == s || out->u.block.data[k] == last)
        out->u.block.data[k] = stage_loop(v, out->u.block.data[k]);
    return out;
  }
  return s;
}

void layout_stage_misfits(PassCtx *c, Kernel *k) {
  Conv v = {.c = c, .kernel = k};
  k->body = walk_block(c->arena, st_rewrite(c->arena, k->body, stage_loop, &v));
}

/* ------------------------------------------------------------------ scalar accesses */

static int position(const Kernel *k, const Buffer *b) {
  for (int i = 0; i < k->buffers.len; i++)
    if (k->buffers.data[i] == b) return i;
  return -1;
}

static void note_access(void *ctx, const Access *acc) {
  Conv *v = ctx;
  if (acc->region.buf->scope == SC_FRAGMENT) v->scalar[position(v->kernel, acc->region.buf)] = true;
}

// An op that takes fragments as such.
static bool whole_tiles(const Stmt *s) {
  const OpInfo *info = s->kind == ST_OP ? op_info(s->u.op.op) : NULL;
  return info && (info->level == LEVEL_TILE || info->sync == SYNC_WARPGROUP);
}

static void find_scalars(Conv *v, Stmt *s) {
  if (!s) return;
  if (s->kind == ST_OP && s->u.op.op == OP_GEMM)
    v->pinned[position(v->kernel, s->u.op.arg[2].region->buf)] = true;
  if (s->kind == ST_FOR && s->u.loop.loop == LOOP_PARALLEL) return;
  if (!whole_tiles(s)) st_accesses(v->c->arena, s, note_access, v);
  if (s->kind == ST_BLOCK)
    for (int i = 0; i < s->u.block.len; i++) find_scalars(v, s->u.block.data[i]);
  if (s->kind == ST_FOR) find_scalars(v, s->u.loop.body);
  if (s->kind == ST_IF) {
    find_scalars(v, s->u.branch.yes);
    find_scalars(v, s->u.branch.no);
  }
}

typedef struct {
  Conv *v;
  Buffer *frag;
} Scalar;

static Stmt *stage_scalar(void *ctx, Stmt *s) {
  Scalar *x = ctx;
  if (s->kind != ST_STORE && s->kind != ST_LET && s->kind != ST_OP) return s;
  if (whole_tiles(s)) return s;
  if (!walk_touches(x->v->c->arena, s, x->frag, false)) return s;
  Arena *a = x->v->c->arena;
  bool written = walk_touches(a, s, x->frag, true);
  Buffer *tile = layout_temp(a, x->v->kernel, x->frag, "scalar", SC_SHARED);
  Stmt *out = st_block(a, s->span);
  st_add(a, out, tile_copy_loop(a, region_whole(a, x->frag), region_whole(a, tile), s->span));
  Swap w = {a, x->frag, tile, NULL};
  swap_stmt(&w, s);
  st_add(a, out, s);
  if (written)
    st_add(a, out, tile_copy_loop(a, region_whole(a, tile), region_whole(a, x->frag), s->span));
  return out;
}

// Skips parallel loops, whose bodies are not scalar statements.
static Stmt *rewrite_scalars(Scalar *x, Stmt *s) {
  if (!s || (s->kind == ST_FOR && s->u.loop.loop == LOOP_PARALLEL)) return s;
  if (s->kind == ST_BLOCK) {
    Stmt *out = st_block(x->v->c->arena, s->span);
    for (int i = 0; i < s->u.block.len; i++)
      st_add(x->v->c->arena, out, rewrite_scalars(x, s->u.block.data[i]));
    s->u.block = out->u.block;
  } else if (s->kind == ST_FOR) {
    s->u.loop.body = walk_block(x->v->c->arena, rewrite_scalars(x, s->u.loop.body));
  } else if (s->kind == ST_IF) {
    s->u.branch.yes = rewrite_scalars(x, s->u.branch.yes);
    s->u.branch.no = rewrite_scalars(x, s->u.branch.no);
  } else {
    return stage_scalar(x, s);
  }
  return s;
}

void layout_demote_scalars(PassCtx *c, Kernel *k) {
  Conv v = {.c = c, .kernel = k};
  int n = k->buffers.len;
  v.scalar = NEWN(c->arena, bool, n + 1);
  v.pinned = NEWN(c->arena, bool, n + 1);
  find_scalars(&v, k->body);
  for (int i = 0; i < n; i++) // what names one storage lives in one place
    for (int m = 0; m < n; m++)
      if (buf_root(k->buffers.data[i]) == buf_root(k->buffers.data[m]) && v.scalar[m])
        v.scalar[i] = true;
  for (int i = 0; i < n; i++) {
    Buffer *b = k->buffers.data[i];
    if (!v.scalar[i]) continue;
    if (v.pinned[i]) {
      Scalar x = {&v, b};
      k->body = walk_block(c->arena, rewrite_scalars(&x, k->body));
      continue;
    }
    b->scope = SC_SHARED;
    b->layout = NULL;
    diag_remark(c->diags, b->span, "layout",
                "%s lives in shared memory: it is accessed outside parallel loops", b->name);
  }
}
