// wgmma, from the PTX ISA ("Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions":
// register fragments, shared memory matrix layouts, matrix descriptor). Each warp does its 16 rows.
//
// A K step is 32 bytes; a 32-bit register holds e = 32 / bits consecutive elements along K, lane
// 4g + q of warp w: register r of A is row 16w + g + 8 (r % 2), columns qe + 4e (r / 2) onward;
// accumulator i is row 16w + g + 8 (i / 2 % 2), column 8 (i / 4) + 2q + i % 2.
//
// Numbers as in mma.c: exact products summed in double, then added and rounded once. A GPU
// truncates while it aligns; of fp8 products it keeps about 14 bits: the oracle's tolerance covers
// that.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/numeric.h"
#include "emu/wgmma.h"

enum { ROWS = 16, MAX_N = 256, MAX_K = 32, CHUNK = 16, BLOCK = 8 };

/* descriptors */

typedef struct {
  uint64_t bits;
  int64_t start, lbo, sbo;
  int base, row; // row: bytes of a row of the swizzle pattern; 16: none
  uint32_t mask; // of the row number, into the chunk number
} Descriptor;

// "Matrix Descriptor Format". NULL, or what is wrong with it.
static const char *decode(uint64_t bits, Descriptor *d) {
  static const int rows[] = {16, 128, 64, 32}, masks[] = {0, 7, 3, 1};
  int mode = (int)(bits >> 62);
  *d = (Descriptor){.bits = bits, .row = rows[mode], .mask = (uint32_t)masks[mode]};
  d->start = (int64_t)(bits & 0x3fff) * 16;
  d->lbo = (int64_t)(bits >> 16 & 0x3fff) * 16;
  d->sbo = (int64_t)(bits >> 32 & 0x3fff) * 16;
  d->base = (int)(bits >> 49 & 7);
  if (bits & UINT64_C(0x3ff1c000c000c000)) return "bits that must be 0 are set";
  if ((d->start >> 7 & d->mask) != ((uint32_t)d->base & d->mask))
    return "it starts inside the swizzle pattern, which repeats every 8 rows of the pattern, and "
           "the base offset does not say so";
  return NULL;
}

// Byte address of the 16-byte chunk `c` of row `r`: K-major, r counts M or N and c chunks of K;
// else r counts K and c chunks of M or N. "Strides", "Leading/stride dimension byte offset".
static int64_t chunk_at(const Descriptor *d, bool trans, int r, int c) {
  int per = d->row / CHUNK;
  int64_t at = d->start + r % 8 * d->row;
  if (!trans) at += r / 8 * d->sbo + (per > 1 ? c * CHUNK : c * d->lbo);
  else if (per > 1) at += r / 8 * d->sbo + c / per * d->lbo + c % per * CHUNK;
  else at += r / 8 * d->lbo + c * d->sbo;
  return at ^ (((at >> 7) - d->base) & d->mask) << 4;
}

/* operands */

typedef struct {
  int n, k;
  double a[ROWS][MAX_K], b[MAX_K][MAX_N];
  double d[ROWS][MAX_N];
} Tile;

static double number(DType t, Val v) {
  if (t == DT_F32 || t == DT_TF32) return (double)num_tf32_trunc((float)v.f);
  return dt_is_float(t) ? v.f : (double)v.i;
}

typedef struct {
  Emu *e;
  const char *name; // "a", "b"
  const EBuf *buf;
  int64_t min; // of the region, in elements
  int count;
  DType type;
  Descriptor desc;
  bool trans;
  uint32_t op; // of the checker; 0 none
} Operand;

// The elements of one chunk; zeros after a report.
static void read_chunk(const Operand *o, int r, int c, double *out) {
  Val v[CHUNK];
  const EBuf *b = o->buf;
  int per = CHUNK / b->size;
  int64_t byte = chunk_at(&o->desc, o->trans, r, c), at = (byte - b->base) / b->size;
  memset(out, 0, sizeof *out * (size_t)per);
  if (byte < b->base || at < o->min || at + per > o->min + o->count || at + per > b->elems) {
    int64_t first = b->base + o->min * b->size;
    EMU_FAIL(&o->e->m, o->e->at, DIAG_EMU_WGMMA_RANGE, o->e->at->span, o->name, (long long)byte,
             b->buf->name, (long long)first, (long long)(first + (int64_t)o->count * b->size - 1));
    return;
  }
  if (o->op) hb_async_warp(o->e, b, at, per, o->op);
  emu_read_run(o->type, b->raw + at * b->size, per, v);
  for (int i = 0; i < per; i++) out[i] = number(o->type, v[i]);
}

static void shared_a(const Operand *o, Tile *t) {
  double x[CHUNK];
  int per = CHUNK / o->buf->size, first = o->e->w->number % 4 * ROWS;
  for (int r = 0; r < ROWS && !o->trans; r++)
    for (int c = 0; c < 2; c++) read_chunk(o, first + r, c, &t->a[r][c * per]);
  for (int k = 0; k < t->k && o->trans; k++) {
    for (int c = 0; c < ROWS / per; c++) {
      read_chunk(o, k, first / per + c, x);
      for (int i = 0; i < per; i++) t->a[c * per + i][k] = x[i];
    }
  }
}

static void shared_b(const Operand *o, Tile *t) {
  double x[CHUNK];
  int per = CHUNK / o->buf->size;
  for (int n = 0; n < t->n && !o->trans; n++) {
    for (int c = 0; c < 2; c++) {
      read_chunk(o, n, c, x);
      for (int i = 0; i < per; i++) t->b[c * per + i][n] = x[i];
    }
  }
  for (int k = 0; k < t->k && o->trans; k++)
    for (int c = 0; c < t->n / per; c++) read_chunk(o, k, c, &t->b[k][c * per]);
}

static void register_a(Tile *t, DType type, const uint8_t *regs) {
  int bits = dt_bits(type), e = 32 / bits;
  for (int i = 0; i < 4 * e; i++) {
    LaneVals v;
    emu_read_run(type, regs + i * LANES * bits / 8, LANES, v);
    int r = i / e, row = 8 * (r % 2), col = i % e + 4 * e * (r / 2);
    for (int lane = 0; lane < LANES; lane++)
      t->a[row + lane / 4][col + lane % 4 * e] = number(type, v[lane]);
  }
}

/* the product */

static void product(Tile *t) {
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < t->n; j += BLOCK) {
      double acc[BLOCK] = {0};
      for (int k = 0; k < t->k; k++)
        for (int x = 0; x < BLOCK; x++) acc[x] += t->a[i][k] * t->b[k][j + x];
      memcpy(&t->d[i][j], acc, sizeof acc);
    }
  }
}

static void accumulate(const Tile *t, DType type, double sign, bool scale, uint8_t *regs) {
  for (int i = 0; i < t->n / 2; i++) {
    LaneVals v = {{0}};
    uint8_t *at = regs + i * LANES * dt_bytes(type);
    if (scale) emu_read_run(type, at, LANES, v);
    else if (dt_is_float(type))
      for (int lane = 0; lane < LANES; lane++) v[lane].f = 0;
    int row = i / 2 % 2 * 8, col = i / 4 * 8 + i % 2;
    for (int lane = 0; lane < LANES; lane++) {
      double sum = sign * t->d[row + lane / 4][col + lane % 4 * 2];
      if (dt_is_float(type)) v[lane].f += sum;
      else v[lane].i = emu_wrap(type, v[lane].i + (int64_t)sum);
    }
    emu_write_run(type, at, LANES, v); // rounds floats, once
  }
}

/* the op: operands in the order of ops.def */

enum { R_A, R_B, R_D };
enum { E_A_LO, E_A_HI, E_B_LO, E_B_HI, E_SCALE };
enum { I_N, I_NEG_A, I_NEG_B, I_TRANS_A, I_TRANS_B };

// A value that must be the same in all lanes.
static uint64_t uniform(Emu *e, const Node *x, const char *what) {
  LaneVals v;
  if (!x) return 0;
  emu_eval(&e->m, x, ALL_LANES, LANES, v, NULL);
  for (int i = 1; i < LANES; i++) {
    if (v[i].i == v[0].i) continue;
    EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_UNIFORM, e->at->span, what, "lanes of a warp");
    break;
  }
  return (uint64_t)v[0].i & 0xffffffff;
}

static bool operand(Emu *e, const ERegion *r, uint64_t bits, bool trans, const char *name,
                    uint32_t op, Operand *o) {
  *o = (Operand){
      .e = e, .name = name, .buf = r->buf, .type = r->buf->type, .trans = trans, .op = op};
  o->min = emu_eval_int(&e->m, r->min);
  o->count = r->count;
  const char *wrong = decode(bits, &o->desc);
  if (!wrong) return true;
  EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_DESC, e->at->span, (unsigned long long)bits, name, wrong);
  return false;
}

static void multiply(Emu *e, const Instr *in) {
  Tile t = {.n = (int)in->i[I_N], .k = 256 / dt_bits(in->r[R_B].buf->type)};
  const ERegion *a = &in->r[R_A], *d = &in->r[R_D];
  Operand oa, ob;
  bool memory = a->buf->scope == SC_SHARED;
  WgStep step = {.a_lo = (uint32_t)uniform(e, in->e[E_A_LO], "a descriptor"),
                 .b_lo = (uint32_t)uniform(e, in->e[E_B_LO], "a descriptor"),
                 .scale = uniform(e, in->e[E_SCALE], "scale_d") != 0};
  uint64_t a_hi = uniform(e, in->e[E_A_HI], "a descriptor");
  uint64_t b_hi = uniform(e, in->e[E_B_HI], "a descriptor");
  wgmma_step(e, step);
  uint32_t op = wgmma_issue(e);
  e->report->mma++;
  uint32_t shape = (uint32_t)t.n << 8 | (uint32_t)in->r[R_B].buf->type;
  uint8_t *ra = memory ? NULL : wgmma_use(e, a, 128 / dt_bits(a->buf->type), false, shape);
  uint8_t *rd = wgmma_use(e, d, t.n / 2, true, shape);
  if (!rd || (!memory && !ra)) return;
  if (memory) {
    if (!operand(e, a, a_hi << 32 | step.a_lo, in->i[I_TRANS_A], "a", op, &oa)) return;
    shared_a(&oa, &t);
  } else {
    register_a(&t, a->buf->type, ra);
  }
  if (!operand(e, &in->r[R_B], b_hi << 32 | step.b_lo, in->i[I_TRANS_B], "b", op, &ob)) return;
  shared_b(&ob, &t);
  product(&t);
  accumulate(&t, d->buf->type, in->i[I_NEG_A] != in->i[I_NEG_B] ? -1 : 1, step.scale, rd);
}

static void descriptor(Emu *e, const Instr *in) {
  const ERegion *tile = &in->r[0], *dst = &in->r[1];
  const EBuf *b = tile->buf;
  LaneVals v;
  int64_t at[LANES];
  emu_eval(&e->m, tile->min, ALL_LANES, LANES, v, NULL);
  uint8_t *to = mem_registers(e, dst, 1);
  for (int i = 0; i < LANES; i++) at[i] = v[i].i;
  uint32_t ok = mem_in_range(e, b, at, 1, ALL_LANES);
  if (!to || !mem_aligned(e, b, at, CHUNK, ok)) return;
  for (int i = 0; i < LANES; i++) {
    if (at[i] != at[0])
      EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_UNIFORM, e->at->span, "a descriptor",
               "lanes of a warp");
    v[i].i = (b->base + at[0] * b->size) >> 4 | in->i[0] >> 4 << 16;
  }
  emu_write_run(DT_U32, to, LANES, v);
}

void wgmma_op(Emu *e, const Instr *in) {
  WgWarp *s = wgmma_warp(e);
  if (in->op == OP_WGMMA_DESC) {
    descriptor(e, in);
    return;
  }
  if (in->op == OP_WGMMA) {
    multiply(e, in);
    return;
  }
  wgmma_step(e, (WgStep){0});
  if (in->op == OP_WGMMA_COMMIT) s->committed++;
  if (in->op == OP_WGMMA_WAIT) wgmma_wait(e, in->i[0]);
  wgmma_settled(e, &in->r[0]);
  wgmma_settled(e, &in->r[1]);
  if (in->op == OP_WGMMA_FENCE) s->fences++;
}
