// 8-bit operands stored along their outer dimension: ldmatrix.trans moves pairs of outer indices,
// byte_perm takes the pairs apart. A pair's indices 2g and 2g + 1 go to row g of the two halves of
// A's tile, or of two neighbouring tiles of B: the accumulator's layout says the same
// (layout_mma_c, pair_m and pair_n; layout_wgmma_c, whose loaded operand is A here).
//
// One ldmatrix.x4 covers 16 outer indices and 32 k. Of its matrices X0 Y0 X1 Y1, those numbered h
// hold k from 16h. Lane 4g + q gets the pair g of two k from each: of its four, 4q .. 4q + 3, X has
// the lower two where q < 2 and the upper two else, so that the eight rows of a matrix have
// different k modulo 8, and meet in no bank.
// SPDX-License-Identifier: MIT
#include "passes/gemm.h"

enum { GROUP = 16 }; // outer indices, and bytes a lane gets, of one ldmatrix.x4

static Expr *num(GemmOperand *o, int64_t v) { return ex_index(o->l->arena, v); }
static Expr *add(GemmOperand *o, Expr *x, Expr *y) { return ex_add(o->l->arena, x, y); }
static Expr *mul(GemmOperand *o, Expr *x, int64_t k) { return ex_mul(o->l->arena, x, num(o, k)); }
static Expr *bit(GemmOperand *o, Expr *x, int64_t of) { // x / of % 2
  Arena *a = o->l->arena;
  return ex_floormod(a, ex_floordiv(a, x, num(o, of)), num(o, 2));
}

void gemm_bytes_place(GemmOperand *o, Expr **across, Expr **along) {
  Arena *a = o->l->arena;
  Expr *l = o->lane, *q = ex_floordiv(a, ex_floormod(a, l, num(o, 8)), num(o, 2));
  Expr *upper = ex_bin(a, BIN_BITXOR, bit(o, l, 8), bit(o, l, 4));
  *across = add(o, mul(o, ex_floordiv(a, l, num(o, 16)), 16), mul(o, q, 4));
  *across = add(o, *across, add(o, mul(o, upper, 2), bit(o, l, 1)));
  *along = num(o, 0);
}

void gemm_bytes_start(GemmOperand *o, Stmt *out) {
  Arena *a = o->l->arena;
  int groups = o->tiles / (o->is_b ? 2 : 1);
  Expr *size = num(o, (int64_t)groups * GROUP);
  o->raw = buf_new(a, arena_printf(a, "%s_raw", o->buf->name), o->buf->dtype, SC_LOCAL, &size, 1,
                   o->span);
  vec_push(a, &o->l->kernel->buffers, o->raw);
  // Bytes 0 2 4 6, or 4 6 0 2 where X has the upper two k; one more for the odd index.
  Expr *swapped = ex_bin(a, BIN_EQ, bit(o, o->lane, 2), num(o, 1));
  Expr *pick = ex_select(a, swapped, num(o, 0x2064), num(o, 0x6420));
  o->pick = lower_let(o->l, out, o->is_b ? "b_pick" : "a_pick", lower_simplify(o->l, pick));
}

Stmt *gemm_bytes_raw(GemmOperand *o, Expr *cell, Expr *raw) {
  Arena *a = o->l->arena;
  return st_op(a, OP_LDMATRIX, o->span, region_flat(a, o->buf, cell, 16),
               region_flat(a, o->raw, raw, GROUP), (int64_t)4, (int64_t)1);
}

Stmt *gemm_bytes_pick(GemmOperand *o, Expr *raw, int h, int odd, Expr *to) {
  Arena *a = o->l->arena;
  Expr *from = add(o, raw, num(o, 8 * h));
  return st_op(a, OP_BYTE_PERM, o->span, region_flat(a, o->raw, from, 8),
               region_flat(a, o->frag, to, 4), add(o, o->pick, num(o, 0x1111 * odd)));
}

void gemm_bytes_load(GemmOperand *o, Expr *step, Expr *half, Stmt *out) {
  Arena *a = o->l->arena;
  int tiles = o->is_b ? 2 : 1, groups = o->tiles / tiles; // of a group
  Var *v = lower_loop_var(o->l, o->is_b ? "tn" : "tm");
  int mark = facts_mark(o->l->facts);
  facts_push_loop(o->l->facts, v, num(o, 0), num(o, groups));
  Stmt *body = st_block(a, o->span);
  Expr *first = mul(o, ex_var(a, v), tiles), *raw = mul(o, ex_var(a, v), GROUP);
  st_add(a, body, gemm_bytes_raw(o, gemm_operand_cell(o, first, step), raw));
  for (int h = 0; h < 2; h++)
    for (int odd = 0; odd < 2; odd++) {
      Expr *tile = o->is_b ? add(o, first, num(o, odd)) : first;
      Expr *to = mul(o, add(o, mul(o, half, o->tiles), tile), o->per);
      to = add(o, to, num(o, 4 * (o->is_b ? h : 2 * h + odd)));
      st_add(a, body, gemm_bytes_pick(o, raw, h, odd, to));
    }
  facts_pop(o->l->facts, mark);
  st_add(a, out, st_for(a, LOOP_UNROLL, v, num(o, 0), num(o, groups), body, o->span));
}
