// Parallel loops that store the elements of a shared tile of 8-bit elements to another one with its
// last two dimensions exchanged (T.transpose): where rows of both are 16-byte cells, by
// ldmatrix.trans, byte_perm and stmatrix.
//
// One of each (four byte_perm) turns 32 rows by 16 columns of the source. Lane 4g + q gets four
// rows of columns 2g and 2g + 1 (gemm_bytes.c), and stores each as a part of a row of the other
// tile. Lanes with g >= 4 give the odd column first: the eight rows of a matrix are then different
// modulo 8, and meet in no bank.
// SPDX-License-Identifier: MIT
#include "passes/gemm.h"

enum { LANES = 32, COLS = 16, ROWS = 32, BYTES = 16, MOST = 4 }; // MOST: units loaded together

typedef struct {
  Lower *l;
  Stmt *loop;
  const Stmt *store;
  const Expr *load;
  Var *row, *col; // of the source
  int64_t rows, cols;
  Buffer *raw, *regs;
  Expr *lane, *pick; // pick: of the column that a lane stores first
} Turn;

static Expr *num(const Turn *t, int64_t v) { return ex_index(t->l->arena, v); }
static Expr *add(const Turn *t, Expr *x, Expr *y) { return ex_add(t->l->arena, x, y); }
static Expr *mul(const Turn *t, Expr *x, int64_t k) { return ex_mul(t->l->arena, x, num(t, k)); }
static Expr *divide(const Turn *t, Expr *x, int64_t k) {
  return ex_floordiv(t->l->arena, x, num(t, k));
}
static Expr *mod(const Turn *t, Expr *x, int64_t k) {
  return ex_floormod(t->l->arena, x, num(t, k));
}

// Does the index go with the variable, from a multiple of `step` on?
static bool follows(const Turn *t, Expr *index, const Var *v, int64_t step) {
  Lower *l = t->l;
  Expr *rest = lower_simplify(l, ex_sub(l->arena, index, ex_var(l->arena, (Var *)v)));
  if (ex_uses(rest, t->row) || ex_uses(rest, t->col)) return false;
  return facts_divisor(l->facts, lower_expr(l, rest)) % step == 0;
}

// Are idx[0 .. n) the matrix x by y and what holds it, cells along y?
static bool matrix(const Turn *t, Expr *const *idx, int n, const Var *x, const Var *y) {
  if (n < 2) return false;
  for (int i = 0; i < n - 2; i++)
    if (ex_uses(idx[i], t->row) || ex_uses(idx[i], t->col)) return false;
  return follows(t, idx[n - 2], x, 1) && follows(t, idx[n - 1], y, BYTES);
}

static bool in_cells(const Turn *t, const Buffer *b) {
  const Buffer *tile = lower_form(t->l, (Buffer *)b);
  return tile->scope == SC_SHARED && tile->layout && dt_bits(tile->dtype) == 8 &&
         layout_vector(tile->layout) % BYTES == 0 && !views_named(t->l->kernel, b);
}

static bool fits(Turn *t) {
  Lower *l = t->l;
  const Stmt *loop = t->loop;
  t->store = st_only(loop->u.loop.body);
  if (!l->c->target->bulk || l->control || l->threads % LANES || loop->u.loop.nvars != 2)
    return false;
  if (t->store->kind != ST_STORE || t->store->u.store.value->kind != EX_LOAD) return false;
  t->load = t->store->u.store.value;
  Buffer *to = t->store->u.store.buf, *from = t->load->u.load.buf;
  if (from == to || from->dtype != to->dtype || !in_cells(t, from) || !in_cells(t, to))
    return false;
  int64_t extent[2];
  for (int i = 0; i < 2; i++)
    if (!ex_is(loop->u.loop.min[i], 0) || !ex_const(loop->u.loop.extent[i], &extent[i]))
      return false;
  bool first = ex_uses(t->load->u.load.idx[t->load->u.load.n - 1], loop->u.loop.var[1]);
  t->row = loop->u.loop.var[!first], t->rows = extent[!first];
  t->col = loop->u.loop.var[first], t->cols = extent[first];
  if (t->rows % ROWS || t->cols % COLS) return false;
  return matrix(t, t->load->u.load.idx, t->load->u.load.n, t->row, t->col) &&
         matrix(t, t->store->u.store.idx, t->store->u.store.n, t->col, t->row);
}

// The 16 bytes of a tile that begin at this row and column of the source.
static Region *cell(Turn *t, Buffer *b, Expr *const *index, int n, Expr *row, Expr *col) {
  Lower *l = t->l;
  Expr *idx[LOOP_MAX_DIMS];
  int vars = l->vars.from.len;
  subst_add(&l->vars, t->row, lower_simplify(l, row));
  subst_add(&l->vars, t->col, lower_simplify(l, col));
  for (int i = 0; i < n; i++) idx[i] = lower_simplify(l, lower_expr(l, index[i]));
  Expr *where = lower_offset(l, b, idx);
  l->vars.from.len = l->vars.to.len = vars;
  return region_flat(l->arena, b, where, BYTES);
}

// Unit `unit` of the tile into part `at` of raw.
static void load(Turn *t, Expr *unit, Expr *at, Stmt *out) {
  Buffer *b = t->load->u.load.buf;
  GemmOperand o = {.l = t->l, .span = t->loop->span, .buf = b, .raw = t->raw, .lane = t->lane};
  Expr *across, *along;
  gemm_bytes_place(&o, &across, &along);
  Expr *row = add(t, mul(t, divide(t, unit, t->cols / COLS), ROWS), across);
  Expr *col = mul(t, mod(t, unit, t->cols / COLS), COLS);
  Region *from = cell(t, b, t->load->u.load.idx, t->load->u.load.n, row, col);
  st_add(t->l->arena, out, gemm_bytes_raw(&o, from->min[0], mul(t, at, BYTES)));
}

// Of the four matrices, numbered 2h + odd, lane l gives the address of row l % 8 of matrix l / 8.
static void store(Turn *t, Expr *unit, Expr *at, Stmt *out) {
  Arena *a = t->l->arena;
  Expr *raw = mul(t, at, BYTES);
  for (int h = 0; h < 2; h++)
    for (int odd = 0; odd < 2; odd++) {
      Expr *pick = ex_bin(a, BIN_BITXOR, t->pick, num(t, 0x1111 * odd));
      st_add(a, out,
             st_op(a, OP_BYTE_PERM, t->loop->span,
                   region_flat(a, t->raw, add(t, raw, num(t, 8 * h)), 8),
                   region_flat(a, t->regs, add(t, raw, num(t, 4 * (2 * h + odd))), 4), pick));
    }
  Expr *l = t->lane;
  Expr *second = ex_bin(a, BIN_BITXOR, mod(t, divide(t, l, 8), 2), mod(t, divide(t, l, 4), 2));
  Expr *row = mul(t, divide(t, unit, t->cols / COLS), ROWS);
  Expr *col = mul(t, mod(t, unit, t->cols / COLS), COLS);
  row = add(t, row, mul(t, divide(t, l, 16), BYTES));
  col = add(t, col, add(t, mul(t, mod(t, l, 8), 2), second));
  Buffer *b = t->store->u.store.buf;
  Region *to = cell(t, b, t->store->u.store.idx, t->store->u.store.n, row, col);
  st_add(a, out,
         st_op(a, OP_STMATRIX, t->loop->span, region_flat(a, t->regs, raw, BYTES), to, (int64_t)4,
               (int64_t)0));
}

static Buffer *registers(Turn *t, const char *suffix, int64_t bytes) {
  Lower *l = t->l;
  const Buffer *b = t->load->u.load.buf;
  Expr *size = num(t, bytes);
  const char *name = arena_printf(l->arena, "%s_%s", b->name, suffix);
  Buffer *regs = buf_new(l->arena, name, b->dtype, SC_LOCAL, &size, 1, t->loop->span);
  vec_push(l->arena, &l->kernel->buffers, regs);
  return regs;
}

// Binds the lane and its selector of bytes: 0 2 4 6, or 4 6 0 2 where the first matrix has the
// upper two rows; of the odd column first one more.
static void bind(Turn *t, Stmt *out) {
  Lower *l = t->l;
  Arena *a = l->arena;
  t->lane = lower_let(l, out, "lane", lower_simplify(l, mod(t, l->thread, LANES)));
  Expr *swapped = ex_bin(a, BIN_EQ, mod(t, divide(t, t->lane, 2), 2), num(t, 1));
  Expr *pick = ex_select(a, swapped, num(t, 0x2064), num(t, 0x6420));
  pick = add(t, pick, mul(t, divide(t, t->lane, 16), 0x1111));
  t->pick = lower_let(l, out, "pick", lower_simplify(l, pick));
}

typedef void (*Part)(Turn *t, Expr *unit, Expr *at, Stmt *out);

static void parts(Turn *t, Part part, Expr *first, int64_t warps, int64_t n, Stmt *out) {
  Lower *l = t->l;
  Var *v = lower_loop_var(l, "j");
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, v, num(t, 0), num(t, n));
  Expr *j = ex_var(l->arena, v);
  Stmt *body = st_block(l->arena, t->loop->span);
  part(t, add(t, first, mul(t, j, warps)), j, body);
  facts_pop(l->facts, mark);
  st_add(l->arena, out,
         st_for(l->arena, LOOP_UNROLL, v, num(t, 0), num(t, n), body, t->loop->span));
}

bool lower_turn(Lower *l, Stmt *loop, Stmt *out) {
  Turn t = {.l = l, .loop = loop};
  if (!fits(&t)) return false;
  Arena *a = l->arena;
  int64_t warps = l->threads / LANES, units = t.rows / ROWS * (t.cols / COLS), n = MOST;
  int64_t rounds = (units + warps - 1) / warps;
  bool ragged = units % warps != 0;
  while (rounds % n || (ragged && n > 1)) n--;
  t.raw = registers(&t, "raw", n * BYTES);
  t.regs = registers(&t, "turned", n * BYTES);
  bind(&t, out);
  Var *v = lower_loop_var(l, "u");
  int mark = facts_mark(l->facts);
  facts_push_loop(l->facts, v, num(&t, 0), num(&t, rounds / n));
  Expr *first = add(&t, mul(&t, ex_var(a, v), n * warps), divide(&t, l->thread, LANES));
  Expr *inside = ex_lt(a, first, num(&t, units));
  if (ragged) facts_push_cond(l->facts, inside);
  Stmt *body = st_block(a, loop->span);
  parts(&t, load, first, warps, n, body);
  parts(&t, store, first, warps, n, body);
  facts_pop(l->facts, mark);
  if (ragged) body = walk_block(a, st_if(a, inside, body, NULL, loop->span));
  st_add(a, out, st_for(a, LOOP_UNROLL, v, num(&t, 0), num(&t, rounds / n), body, loop->span));
  diag_remark(l->c->diags, loop->span, "copy", "turned by ldmatrix.trans and stmatrix to %s",
              t.store->u.store.buf->name);
  return true;
}
