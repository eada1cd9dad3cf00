// What gemm.c, gemm_load.c and gemm_loads.c share: one operand of a gemm on its way into registers.
// SPDX-License-Identifier: MIT
#ifndef TLC_GEMM_H
#define TLC_GEMM_H

#include "passes/lower.h"

// Operand A (M x K) or B (K x N). `outer` is the dimension that is not K.
typedef struct {
  Lower *l;
  Span span;
  bool is_b;
  bool kmajor;        // stored with K as the last dimension
  Buffer *buf;        // flat
  const Buffer *form; // as at tile level
  Region *region;
  int K;        // of the gemm
  int bits;     // of an element
  int tiles;    // mma tiles of this warp along outer: of 16 (A) or 8 (B)
  int per;      // elements a thread holds of one tile and k-step: 128 or 64 bits
  Expr *lane;   // 0..31
  Expr *outer;  // index of this warp's first row (column) in the buffer
  Expr *k0;     // index of the gemm's first k in the buffer
  int halves;   // k-steps of loaded tiles that frag holds
  Buffer *frag; // registers: the operand itself, or its loaded tiles
  bool in_regs; // the operand is a fragment: nothing to load
  bool matrix;  // ldmatrix can serve the whole k-steps
  bool pair;    // outer indices go to the tiles in pairs (PlanGemm.pair_m, pair_n)
  LayoutMatrix rows;
  Expr *lead;      // element offset of the leading indices
  Expr *row, *key; // ldmatrix: this lane's first row, and its XOR key
  Expr *col;       // this lane's first column
  Buffer *raw;     // pair: what ldmatrix loaded, before its bytes are picked
  Expr *pick;      // pair: byte_perm's selector of the even outer index
} GemmOperand;

// Decides how the operand is loaded, and binds this lane's row, column and key.
void gemm_operand_start(GemmOperand *o, Stmt *out);
// The part of that which binds, where ldmatrix serves (matrix).
void gemm_operand_place(GemmOperand *o, Stmt *out);
// Binds the offset of the region's leading indices, as the loop variables around are now.
void gemm_operand_lead(GemmOperand *o, Stmt *out);
// Loads k-step `step` into half `half` (0 or 1) of the registers. With a tail, elements past K are
// zero.
void gemm_operand_load(GemmOperand *o, Expr *step, Expr *half, bool tail, Stmt *out);
// Where tile `tile` of k-step `step` is in frag.
Region *gemm_operand_tile(GemmOperand *o, Expr *tile, Expr *step, Expr *half);

// ldmatrix of the lane's cell in the matrices `tile` tiles and `step` k-steps from its first.
Expr *gemm_operand_cell(GemmOperand *o, Expr *tile, Expr *step);

/* gemm_bytes.c: 8-bit operands stored along their outer dimension */

// The lane's place in the matrices: storage rows (k) and columns.
void gemm_bytes_place(GemmOperand *o, Expr **across, Expr **along);
void gemm_bytes_start(GemmOperand *o, Stmt *out);
void gemm_bytes_load(GemmOperand *o, Expr *step, Expr *half, Stmt *out);
// What gemm_bytes_load is made of: ldmatrix of the group at `cell` to `raw`, and from there the
// register (four bytes of frag, from `to` on) of k from 16h and the even or odd outer index.
Stmt *gemm_bytes_raw(GemmOperand *o, Expr *cell, Expr *raw);
Stmt *gemm_bytes_pick(GemmOperand *o, Expr *raw, int h, int odd, Expr *to);

typedef struct {
  Lower *l;
  Stmt *s;
  const PlanGemm *plan;
  GemmOperand a, b;
  Buffer *c;
  int tiles_m, tiles_n, steps;
  bool tail;   // the last step is partial
  bool single; // registers hold one k-step at a time
} Gemm;

/* gemm.c */


#endif
