// Operands of mma.sync from shared memory: ldmatrix where rows are 16-byte cells, else element by
// element. Fragment layouts: PTX ISA, "Matrix Fragments for mma.m16n8k*".
// SPDX-License-Identifier: MIT
#include "passes/gemm.h"

static Expr *num(GemmOperand *o, int64_t v) { return ex_index(o->l->arena, v); }

static Expr *add(GemmOperand *o, Expr *x, Expr *y) { return ex_add(o->l->arena, x, y); }
static Expr *mul(GemmOperand *o, Expr *x, int64_t k) { return ex_mul(o->l->arena, x, num(o, k)); }
static Expr *mod(GemmOperand *o, Expr *x, int64_t k) {
  return ex_floormod(o->l->arena, x, num(o, k));
}
static Expr *divide(GemmOperand *o, Expr *x, int64_t k) {
  return ex_floordiv(o->l->arena, x, num(o, k));
}

static int cell(const GemmOperand *o) { return 128 / o->bits; } // elements of a 16-byte cell

static Stmt *unrolled(GemmOperand *o, Var *v, int64_t n, Stmt *body) {
  return st_for(o->l->arena, LOOP_UNROLL, v, num(o, 0), num(o, n), body, o->span);
}

// Row and column of the buffer's last two dimensions, from outer and k indices.
static Expr *element_offset(GemmOperand *o, Expr *outer, Expr *k) {
  Expr *idx[LOOP_MAX_DIMS];
  int n = o->region->n;
  for (int i = 0; i < n - 2; i++) idx[i] = lower_expr(o->l, o->region->min[i]);
  idx[n - 2] = o->kmajor ? outer : k;
  idx[n - 1] = o->kmajor ? k : outer;
  return lower_offset(o->l, o->buf, idx);
}

// ldmatrix wants 16-byte aligned cells, of c elements: pitch and panel must allow it.
static bool in_cells(const LayoutMatrix *m, int64_t c) {
  if (m->pitch % c || m->panel % c || (m->panel && m->width % c)) return false;
  return !m->swizzle || (m->chunk % c == 0 && 8 % (m->repeat << m->swizzle) == 0);
}

// Transposed loads move 16-bit cells, or pairs of 8; other widths need K-major storage.
static bool can_ldmatrix(GemmOperand *o) {
  if (!o->form->layout || !layout_matrix(o->form->layout, &o->rows)) return false;
  if (!o->kmajor && o->bits != 16 && !o->pair) return false;
  Expr *along = o->kmajor ? o->k0 : o->outer;
  return in_cells(&o->rows, cell(o)) && facts_divisor(o->l->facts, along) % cell(o) == 0;
}

bool gemm_bytes_lie(const Layout *tile, int64_t at) {
  LayoutMatrix m;
  return layout_matrix(tile, &m) && in_cells(&m, 16) && at % 16 == 0;
}

// The lane's place in the 8x8 matrices of one ldmatrix: `*across` along the storage rows, `*along`
// (cells) along the storage columns.
static void lane_place(GemmOperand *o, Expr **across, Expr **along) {
  Expr *low8 = mod(o, o->lane, 8), *bit3 = mod(o, divide(o, o->lane, 8), 2);
  Expr *bit4 = divide(o, o->lane, 16);
  bool rows_first = o->is_b != o->kmajor; // matrices 0, 1 follow one another along the rows
  *across = add(o, low8, mul(o, rows_first ? bit3 : bit4, 8));
  *along = rows_first ? bit4 : bit3;
}

void gemm_operand_start(GemmOperand *o, Stmt *out) {
  Arena *a = o->l->arena;
  if (o->in_regs) {
    o->frag = o->buf;
    return;
  }
  Expr *size = num(o, (int64_t)o->halves * o->tiles * o->per);
  const char *name = arena_printf(a, "%s_frag", o->buf->name);
  o->frag = buf_new(a, name, o->buf->dtype, SC_LOCAL, &size, 1, o->span);
  vec_push(a, &o->l->kernel->buffers, o->frag);
  gemm_operand_place(o, out);
}

void gemm_operand_place(GemmOperand *o, Stmt *out) {
  o->matrix = o->K >= 2 * cell(o) && can_ldmatrix(o);
  if (!o->matrix) return;
  Expr *across, *along;
  if (o->pair) gemm_bytes_place(o, &across, &along);
  else lane_place(o, &across, &along);
  Expr *row = add(o, o->kmajor ? o->outer : o->k0, across);
  Expr *col = add(o, o->kmajor ? o->k0 : o->outer, mul(o, along, cell(o)));
  o->row = lower_let(o->l, out, o->is_b ? "b_row" : "a_row", lower_simplify(o->l, row));
  o->col = lower_simplify(o->l, col);
  if (o->pair) gemm_bytes_start(o, out);
  const LayoutMatrix *m = &o->rows;
  if (!m->swizzle) return;
  Expr *key = mul(o, mod(o, divide(o, row, m->repeat), (int64_t)1 << m->swizzle), m->chunk);
  o->key = lower_let(o->l, out, o->is_b ? "b_key" : "a_key", lower_simplify(o->l, key));
}

void gemm_operand_lead(GemmOperand *o, Stmt *out) {
  if (!o->matrix) return;
  Expr *zero[LOOP_MAX_DIMS];
  int n = o->region->n;
  for (int i = 0; i < n; i++) zero[i] = i < n - 2 ? lower_expr(o->l, o->region->min[i]) : num(o, 0);
  o->lead = lower_let(o->l, out, o->is_b ? "b_base" : "a_base", lower_offset(o->l, o->buf, zero));
}

// Element offset of the lane's cell in the matrices `rows` rows (a multiple of 8) and `cols`
// columns away from its first: the XOR key depends on the row modulo 8 alone.
static Expr *cell_offset(GemmOperand *o, Expr *rows, Expr *cols) {
  Arena *a = o->l->arena;
  const LayoutMatrix *m = &o->rows;
  Expr *col = lower_simplify(o->l, add(o, o->col, cols));
  Expr *panel = NULL, *in = col;
  if (m->panel) {
    panel = mul(o, lower_simplify(o->l, divide(o, col, m->width)), m->panel);
    in = lower_simplify(o->l, mod(o, col, m->width));
  }
  if (o->key) in = ex_bin(a, BIN_BITXOR, in, o->key);
  Expr *offset = add(o, o->lead, mul(o, add(o, o->row, rows), m->pitch));
  if (panel) offset = add(o, offset, panel);
  return add(o, offset, in);
}

Expr *gemm_operand_cell(GemmOperand *o, Expr *tile, Expr *step) {
  Expr *outer = mul(o, tile, o->is_b ? 8 : 16), *k = mul(o, step, 2 * cell(o));
  return o->kmajor ? cell_offset(o, outer, k) : cell_offset(o, k, outer);
}

// One ldmatrix of `num` 8x8 matrices for tile `tile` of the k-step.
static Stmt *ldmatrix(GemmOperand *o, Expr *tile, int matrices, Expr *step, Expr *half) {
  Arena *a = o->l->arena;
  int c = cell(o), count = matrices * 32 / o->bits;
  Expr *from = gemm_operand_cell(o, tile, step);
  Expr *to = mul(o, add(o, mul(o, half, o->tiles), tile), o->per);
  return st_op(a, OP_LDMATRIX, o->span, region_flat(a, o->buf, from, c),
               region_flat(a, o->frag, to, count), (int64_t)matrices, (int64_t)!o->kmajor);
}

static void load_matrices(GemmOperand *o, Expr *step, Expr *half, Stmt *out) {
  Arena *a = o->l->arena;
  int group = o->is_b ? 2 : 1; // tiles that one ldmatrix.x4 fills
  int n = o->tiles / group;
  if (n) {
    Var *v = lower_loop_var(o->l, o->is_b ? "tn" : "tm");
    int mark = facts_mark(o->l->facts);
    facts_push_loop(o->l->facts, v, num(o, 0), num(o, n));
    Stmt *body = st_block(a, o->span);
    st_add(a, body, ldmatrix(o, mul(o, ex_var(a, v), group), 4, step, half));
    facts_pop(o->l->facts, mark);
    st_add(a, out, unrolled(o, v, n, body));
  }
  if (o->tiles % group) // an odd tile of B: x2 takes the addresses of lanes 0 to 15
    st_add(a, out, ldmatrix(o, num(o, o->tiles - 1), 2, step, half));
}

// Where row g (A: of half `upper`) of tile t is along the outer dimension.
static Expr *outer_index(GemmOperand *o, Expr *t, Expr *g, Expr *upper) {
  if (!o->pair) return add(o, mul(o, t, o->is_b ? 8 : 16), add(o, g, mul(o, upper, 8)));
  Expr *odd = o->is_b ? mod(o, t, 2) : upper, *pair = o->is_b ? divide(o, t, 2) : t;
  return add(o, mul(o, pair, 16), add(o, mul(o, g, 2), odd));
}

// Registers one element at a time: register r of a tile holds 32-bit cell r, whose element e is
// outer g (+ 8), k (32 / bits) * q + e (+ half the step).
static void load_elements(GemmOperand *o, Expr *step, Expr *half, bool tail, Stmt *out) {
  Arena *a = o->l->arena;
  int e32 = 32 / o->bits;
  Var *tv = lower_loop_var(o->l, o->is_b ? "tn" : "tm"), *rv = lower_loop_var(o->l, "r");
  Var *ev = lower_loop_var(o->l, "e");
  int mark = facts_mark(o->l->facts);
  facts_push_loop(o->l->facts, tv, num(o, 0), num(o, o->tiles));
  facts_push_loop(o->l->facts, rv, num(o, 0), num(o, o->per / e32));
  facts_push_loop(o->l->facts, ev, num(o, 0), num(o, e32));
  Expr *t = ex_var(a, tv), *r = ex_var(a, rv), *e = ex_var(a, ev);
  Expr *g = divide(o, o->lane, 4), *q = mod(o, o->lane, 4);
  Expr *upper = o->is_b ? num(o, 0) : mod(o, r, 2), *late = o->is_b ? r : divide(o, r, 2);
  Expr *outer = add(o, o->outer, outer_index(o, t, g, upper));
  Expr *k = add(o, mul(o, step, 2 * cell(o)), add(o, mul(o, q, e32), e));
  k = lower_simplify(o->l, add(o, k, mul(o, late, cell(o))));
  Expr *from = lower_simplify(o->l, element_offset(o, outer, add(o, o->k0, k)));
  Expr *value = ex_load(a, o->buf, &from, 1);
  Expr *zero = ex_cast(a, o->buf->dtype, num(o, 0));
  if (tail) value = ex_select(a, ex_lt(a, k, num(o, o->K)), value, zero);
  Expr *to = add(o, mul(o, add(o, mul(o, half, o->tiles), t), o->per), add(o, mul(o, r, e32), e));
  facts_pop(o->l->facts, mark);
  Stmt *body = st_block(a, o->span);
  st_add(a, body, st_store(a, o->frag, &to, 1, value, o->span));
  Stmt *cells = unrolled(o, ev, e32, body);
  st_add(a, out, unrolled(o, tv, o->tiles, unrolled(o, rv, o->per / e32, cells)));
}

// A fragment operand's registers past K are whatever they were: make them zero.
static void clear_tail(GemmOperand *o, Expr *step, Stmt *out) {
  Arena *a = o->l->arena;
  int e32 = 32 / o->bits, regs = o->per / e32;
  Var *tv = lower_loop_var(o->l, o->is_b ? "tn" : "tm"), *rv = lower_loop_var(o->l, "r");
  Var *ev = lower_loop_var(o->l, "e");
  Expr *t = ex_var(a, tv), *r = ex_var(a, rv), *e = ex_var(a, ev);
  Expr *late = o->is_b ? r : divide(o, r, 2);
  Expr *k = add(o, mul(o, step, 2 * cell(o)), add(o, mul(o, mod(o, o->lane, 4), e32), e));
  k = add(o, k, mul(o, late, cell(o)));
  int steps = (o->K + 2 * cell(o) - 1) / (2 * cell(o));
  Expr *to = add(o, mul(o, add(o, mul(o, t, steps), step), o->per), add(o, mul(o, r, e32), e));
  Stmt *body = st_block(a, o->span), *zero = st_block(a, o->span);
  st_add(a, zero, st_store(a, o->frag, &to, 1, ex_cast(a, o->buf->dtype, num(o, 0)), o->span));
  st_add(a, body, st_if(a, ex_bin(a, BIN_LE, num(o, o->K), k), zero, NULL, o->span));
  Stmt *cells = unrolled(o, ev, e32, body);
  st_add(a, out, unrolled(o, tv, o->tiles, unrolled(o, rv, regs, cells)));
}

void gemm_operand_load(GemmOperand *o, Expr *step, Expr *half, bool tail, Stmt *out) {
  if (o->in_regs) {
    if (tail) clear_tail(o, step, out);
  } else if (o->matrix && o->pair && !tail) {
    gemm_bytes_load(o, step, half, out);
  } else if (o->matrix && !tail) {
    load_matrices(o, step, half, out);
  } else {
    load_elements(o, step, half, tail, out);
  }
}

Region *gemm_operand_tile(GemmOperand *o, Expr *tile, Expr *step, Expr *half) {
  Expr *index;
  if (o->in_regs) {
    int steps = (o->K + 2 * cell(o) - 1) / (2 * cell(o));
    index = add(o, mul(o, tile, steps), step);
  } else {
    index = add(o, mul(o, half, o->tiles), tile);
  }
  return region_flat(o->l->arena, o->frag, mul(o, index, o->per), o->per);
}
