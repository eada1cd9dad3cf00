// ldmatrix and mma, from the PTX ISA ("Warp Level Matrix Load Instruction: ldmatrix", "Matrix
// Fragments for mma.m16n8k8", ".m16n8k16", ".m16n8k32").
//
// In all of mma's shapes a 32-bit register holds e = 32 / bits consecutive elements along k, lane
// 4g + q. Register r of A is row g + 8 (r % (m/8)), columns qe + 4e (r / (m/8)) onward; register r
// of B is column g, rows qe + 4er onward; accumulator i is row g + 8 (i / 2), column 2q + i % 2.
//
// Products are exact and summed in double, then added to the accumulator and rounded to nearest.
// A GPU adds in an unspecified order, aligning to the largest term and truncating: it may differ by
// an ulp or so of the largest partial sum for each addition. Operands of tf32 lose their low 13
// bits.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/numeric.h"
#include "emu/emulator.h"

enum { ROW_BYTES = 16, CELLS = 8 };

/* ldmatrix */

static void give_cells(uint8_t *dst, int size, int matrix, const uint16_t cell[CELLS][CELLS],
                       bool trans) {
  int per = 4 / size; // elements of a register; 2 of 16 bits, say
  for (int lane = 0; lane < LANES; lane++) {
    int g = lane / 4, q = lane % 4;
    uint16_t pair[2] = {trans ? cell[2 * q][g] : cell[g][2 * q],
                        trans ? cell[2 * q + 1][g] : cell[g][2 * q + 1]};
    for (int i = 0; i < per; i++)
      memcpy(dst + ((matrix * per + i) * LANES + lane) * size, (char *)pair + i * size,
             (size_t)size);
  }
}

void warp_ldmatrix(Emu *e, const Instr *in) {
  const ERegion *src = &in->r[0], *dst = &in->r[1];
  int num = (int)in->i[0];
  LaneVals v;
  int64_t at[LANES], byte[LANES];
  uint32_t used = num == 4 ? ALL_LANES : (UINT32_C(1) << (num * 8)) - 1;
  uint8_t *out = mem_registers(e, dst, num * 4 / dst->buf->size);
  emu_eval(&e->m, src->min, used, LANES, v, NULL);
  for (int i = 0; i < LANES; i++) at[i] = v[i].i;
  int per_row = ROW_BYTES / src->buf->size;
  uint32_t ok = mem_in_range(e, src->buf, at, per_row, used);
  ok &= mem_aligned(e, src->buf, at, ROW_BYTES, ok);
  for (int i = 0; i < LANES; i++) byte[i] = src->buf->base + at[i] * src->buf->size;
  for (int m = 0; m < num; m++) {
    uint16_t cell[CELLS][CELLS];
    for (int row = 0; row < CELLS; row++) {
      int lane = m * CELLS + row;
      if (!(ok >> lane & 1)) continue;
      if (e->checks) shadow_read_warp(e, src->buf, at[lane], per_row, e->w->number * LANES + lane);
      memcpy(cell[row], src->buf->raw + at[lane] * src->buf->size, ROW_BYTES);
    }
    count_shared(e, byte, ok & UINT32_C(0xff) << (m * CELLS), ROW_BYTES);
    if (out) give_cells(out, dst->buf->size, m, cell, in->i[1]);
  }
}

/* stmatrix: each row is written by the lane that gives its address */

static void take_cells(const uint8_t *src, int size, int matrix, uint16_t cell[CELLS][CELLS],
                       bool trans) {
  int per = 4 / size;
  for (int lane = 0; lane < LANES; lane++) {
    int g = lane / 4, q = lane % 4;
    uint16_t pair[2];
    for (int i = 0; i < per; i++)
      memcpy((char *)pair + i * size, src + ((matrix * per + i) * LANES + lane) * size,
             (size_t)size);
    *(trans ? &cell[2 * q][g] : &cell[g][2 * q]) = pair[0];
    *(trans ? &cell[2 * q + 1][g] : &cell[g][2 * q + 1]) = pair[1];
  }
}

void warp_stmatrix(Emu *e, const Instr *in) {
  const ERegion *src = &in->r[0], *dst = &in->r[1];
  int num = (int)in->i[0];
  int64_t at[LANES], byte[LANES];
  uint32_t used = num == 4 ? ALL_LANES : (UINT32_C(1) << (num * 8)) - 1;
  const uint8_t *regs = mem_registers(e, src, num * 4 / src->buf->size);
  mem_lanes(e, dst->min, used, at);
  int per_row = ROW_BYTES / dst->buf->size;
  uint32_t ok = mem_in_range(e, dst->buf, at, per_row, used);
  ok &= mem_aligned(e, dst->buf, at, ROW_BYTES, ok);
  for (int i = 0; i < LANES; i++) byte[i] = dst->buf->base + at[i] * dst->buf->size;
  for (int m = 0; m < num && regs; m++) {
    uint16_t cell[CELLS][CELLS];
    take_cells(regs, src->buf->size, m, cell, in->i[1]);
    for (int row = 0; row < CELLS; row++) {
      int lane = m * CELLS + row;
      if (!(ok >> lane & 1)) continue;
      if (e->checks)
        shadow_touch(e, dst->buf, at[lane], per_row, e->w->number * LANES + lane, TOUCH_WRITE);
      memcpy(dst->buf->raw + at[lane] * dst->buf->size, cell[row], ROW_BYTES);
    }
    count_shared(e, byte, ok & UINT32_C(0xff) << (m * CELLS), ROW_BYTES);
  }
}

/* byte_perm */

// Byte i of a run of registers that hold elements of `size` bytes.
static uint8_t *byte_of(uint8_t *run, int size, int i, int lane) {
  return run + (i / size * LANES + lane) * size + i % size;
}

void warp_byte_perm(Emu *e, const Instr *in) {
  const ERegion *src = &in->r[0], *dst = &in->r[1];
  LaneVals sel;
  uint8_t *from = mem_registers(e, src, src->count), *to = mem_registers(e, dst, dst->count);
  emu_eval(&e->m, in->e[0], e->w->mask, LANES, sel, NULL);
  if (!from || !to) return;
  for (int lane = 0; lane < LANES; lane++) {
    uint8_t out[4];
    if (!(e->w->mask >> lane & 1)) continue;
    for (int i = 0; i < 4; i++)
      out[i] = *byte_of(from, src->buf->size, (int)(sel[lane].i >> 4 * i & 7), lane);
    for (int i = 0; i < 4; i++) *byte_of(to, dst->buf->size, i, lane) = out[i];
  }
}

/* unpack */

void warp_unpack(Emu *e, const Instr *in) {
  static const DType kinds[] = {DT_I4, DT_U4, DT_E2M1};
  const ERegion *src = &in->r[0], *dst = &in->r[1];
  uint8_t *from = mem_registers(e, src, src->count), *to = mem_registers(e, dst, dst->count);
  if (!from || !to) return;
  for (int lane = 0; lane < LANES; lane++) {
    uint8_t bytes[4];
    if (!(e->w->mask >> lane & 1)) continue;
    for (int i = 0; i < 4; i++) bytes[i] = *byte_of(from, 1, i, lane);
    for (int i = 0; i < 8; i++) {
      Val v = emu_read(kinds[in->i[0]], bytes, i);
      if (in->i[0] != 2) v = emu_float((double)v.i);
      emu_write(dst->buf->type, to, i * LANES + lane, v);
    }
  }
}

/* mma */

enum { MAX_M = 16, MAX_N = 8, MAX_K = 32 };

typedef struct {
  int m, n, k;
  double a[MAX_M][MAX_K], b[MAX_K][MAX_N], d[MAX_M][MAX_N];
} Tile;

static double number(DType t, Val v) {
  if (t == DT_F32 || t == DT_TF32) return (double)num_tf32_trunc((float)v.f);
  return dt_is_float(t) ? v.f : (double)v.i;
}

static void gather_a(Tile *t, DType type, const uint8_t *regs) {
  int bits = dt_bits(type), e = bits < 32 ? 32 / bits : 1, rows = t->m / 8;
  for (int i = 0; i < t->m * t->k / LANES; i++) {
    LaneVals v;
    emu_read_run(type, regs + i * LANES * bits / 8, LANES, v);
    int r = i / e, row = 8 * (r % rows), col = i % e + 4 * e * (r / rows);
    for (int lane = 0; lane < LANES; lane++)
      t->a[row + lane / 4][col + lane % 4 * e] = number(type, v[lane]);
  }
}

static void gather_b(Tile *t, DType type, const uint8_t *regs) {
  int bits = dt_bits(type), e = bits < 32 ? 32 / bits : 1;
  for (int i = 0; i < t->k * t->n / LANES; i++) {
    LaneVals v;
    emu_read_run(type, regs + i * LANES * bits / 8, LANES, v);
    int row = i % e + 4 * e * (i / e);
    for (int lane = 0; lane < LANES; lane++)
      t->b[row + lane % 4 * e][lane / 4] = number(type, v[lane]);
  }
}

static void product(Tile *t) {
  for (int i = 0; i < t->m; i++) {
    double acc[MAX_N] = {0};
    for (int k = 0; k < t->k; k++)
      for (int j = 0; j < MAX_N; j++) acc[j] += t->a[i][k] * t->b[k][j];
    memcpy(t->d[i], acc, sizeof acc);
  }
}

static void accumulate(const Tile *t, DType type, uint8_t *regs) {
  for (int i = 0; i < t->m * t->n / LANES; i++) {
    LaneVals v;
    uint8_t *at = regs + i * LANES * dt_bytes(type);
    emu_read_run(type, at, LANES, v);
    for (int lane = 0; lane < LANES; lane++) {
      double sum = t->d[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2];
      if (dt_is_float(type)) v[lane].f += sum;
      else v[lane].i = emu_wrap(type, v[lane].i + (int64_t)sum);
    }
    emu_write_run(type, at, LANES, v); // rounds floats, once
  }
}

void warp_mma(Emu *e, const Instr *in) {
  Tile t = {.m = (int)in->i[0], .n = (int)in->i[1], .k = (int)in->i[2]};
  if (t.m > MAX_M || t.n != MAX_N || t.k > MAX_K) die("mma m%dn%dk%d", t.m, t.n, t.k);
  const uint8_t *a = mem_registers(e, &in->r[0], t.m * t.k / LANES);
  const uint8_t *b = mem_registers(e, &in->r[1], t.k * t.n / LANES);
  uint8_t *d = mem_registers(e, &in->r[2], t.m * t.n / LANES);
  e->report->mma++;
  if (!a || !b || !d) return;
  gather_a(&t, in->r[0].buf->type, a);
  gather_b(&t, in->r[1].buf->type, b);
  product(&t);
  accumulate(&t, in->r[2].buf->type, d);
}
