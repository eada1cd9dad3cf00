// Thread-level programs that each hold one op or one family of expressions, with inputs of random
// bits: the emitted text (under g++, and on a GPU) must give what the emulator gives.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_MICRO_H
#define TLC_TESTS_MICRO_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numeric.h"
#include "codegen/codegen.h"
#include "emu/emu.h"

enum {
  MICRO_MAX_ARGS = 32,
  MICRO_THREADS = 64,
  MICRO_BLOCKS = 4,
  MICRO_N = MICRO_THREADS * MICRO_BLOCKS
};

typedef struct {
  Program *p;
  Kernel *k;
  EmuArg arg[MICRO_MAX_ARGS];
  double rel[MICRO_MAX_ARGS]; // outputs: relative error allowed; 0: the same bits, or both NaN
  Expr *at;                   // index of this thread's element
} Micro;

typedef struct {
  Arena *a;
  uint64_t random;
  VEC(Micro *) list;
  Micro *m; // being built
} Micros;

static inline uint64_t micro_random(Micros *s) {
  s->random ^= s->random << 13;
  s->random ^= s->random >> 7;
  s->random ^= s->random << 17;
  return s->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* ------------------------------------------------------------------ building */

static inline Micro *micro_begin(Micros *s, const char *name, int threads, int blocks) {
  Micro *m = s->m = NEW(s->a, Micro);
  m->p = NEW(s->a, Program);
  m->p->symbol = arena_printf(s->a, "micro_%s", name);
  m->p->file = "micro.tl";
  m->p->bindings = "";
  Kernel *k = m->k = NEW(s->a, Kernel);
  k->name = arena_printf(s->a, "micro_%s_k0", name);
  k->threads = threads;
  k->thread = var_new(s->a, "tx", DT_INDEX, VAR_THREAD, NO_SPAN);
  k->level = LEVEL_THREAD;
  k->body = st_block(s->a, NO_SPAN);
  static const char *const names[] = {"bx", "by", "bz"};
  for (int i = 0; i < 3; i++) {
    k->grid[i] = ex_index(s->a, i ? 1 : blocks);
    k->block[i] = var_new(s->a, names[i], DT_INDEX, VAR_BLOCK, NO_SPAN);
    k->block[i]->axis = i;
  }
  vec_push(s->a, &m->p->kernels, k);
  vec_push(s->a, &s->list, m);
  Expr *bx = ex_var(s->a, k->block[0]), *tx = ex_var(s->a, k->thread);
  m->at = ex_add(s->a, ex_mul(s->a, bx, ex_index(s->a, threads)), tx);
  return m;
}

static inline Expr *micro_i(Micros *s, int64_t v) { return ex_index(s->a, v); }
static inline void micro_put(Micros *s, Stmt *st) { st_add(s->a, s->m->k->body, st); }
static inline Expr *micro_tx(Micros *s) { return ex_var(s->a, s->m->k->thread); }

static inline Buffer *micro_buffer(Micros *s, const char *name, DType t, Scope scope, int64_t n) {
  Buffer *b = buf_new(s->a, name, t, scope, (Expr *[]){micro_i(s, n)}, 1, NO_SPAN);
  if (scope != SC_GLOBAL) vec_push(s->a, &s->m->k->buffers, b);
  return b;
}

// Shared buffers one after another, 128-byte aligned.
static inline Buffer *micro_shared(Micros *s, const char *name, DType t, int64_t n) {
  Buffer *b = micro_buffer(s, name, t, SC_SHARED, n);
  b->offset = s->m->k->smem_bytes;
  s->m->k->smem_bytes += (n * dt_bytes(t) + 127) / 128 * 128;
  return b;
}

static inline Buffer *micro_param(Micros *s, const char *name, DType t, int64_t n, double rel) {
  Micro *m = s->m;
  int i = m->p->params.len;
  if (i == MICRO_MAX_ARGS) die("too many parameters in %s", m->p->symbol);
  Buffer *b = micro_buffer(s, name, t, SC_GLOBAL, n);
  m->arg[i].bytes = (size_t)(n * dt_bytes(t));
  m->arg[i].data = arena_alloc(s->a, m->arg[i].bytes);
  m->rel[i] = rel;
  vec_push(s->a, &m->p->params, (Param){.kind = PARAM_TENSOR, .name = name, .buf = b});
  return b;
}

static inline Buffer *micro_out(Micros *s, DType t, int64_t n, double rel) {
  const char *name = arena_printf(s->a, "out%d_%s", s->m->p->params.len, dt_name(t));
  return micro_param(s, name, t, n, rel);
}

/* ------------------------------------------------------------------ inputs */

static inline void micro_put_bits(void *data, DType t, int64_t i, uint64_t bits) {
  memcpy((char *)data + i * dt_bytes(t), &bits, (size_t)dt_bytes(t));
}

static inline uint64_t micro_float_bits(DType t, double v) {
  switch (t) {
  case DT_F16: return num_f16_from_f64(v);
  case DT_BF16: return num_bf16_from_f64(v);
  case DT_E4M3: return num_e4m3_from_f64(v, true);
  case DT_E5M2: return num_e5m2_from_f64(v, true);
  case DT_F64: return num_f64_bits(v);
  default: return num_f32_bits((float)v);
  }
}

// One third random bits (NaN, infinities and subnormals among them), else moderate values.
static inline void micro_fill(Micros *s, Buffer *b) {
  EmuArg *arg = NULL;
  for (int i = 0; i < s->m->p->params.len; i++) {
    if (s->m->p->params.data[i].buf == b) arg = &s->m->arg[i];
  }
  static const double special[] = {0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 65504, 1e-41, -1e-41, 3e38};
  int64_t n = buf_elems(b);
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = micro_random(s), bits = r;
    double unit = (double)(int64_t)micro_random(s) * 0x1p-63;
    if (b->dtype == DT_BOOL) bits = r >> 40 & 1;
    else if (dt_is_float(b->dtype) && r % 6 >= 2)
      bits = micro_float_bits(b->dtype, r % 6 == 2 ? special[(r >> 8) % LEN(special)]
                                                   : ldexp(unit, (int)(r >> 20) % 8 - 2));
    else if (dt_is_int(b->dtype) && r % 3 == 0) bits = (uint64_t)((int64_t)(r >> 40) % 16 - 8);
    micro_put_bits(arg->data, b->dtype, i, bits);
  }
}

// Finite values whose products and sums stay finite.
static inline void micro_fill_small(Micros *s, void *data, DType t, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double unit = (double)(int64_t)micro_random(s) * 0x1p-63;
    micro_put_bits(data, t, i, dt_is_float(t) ? micro_float_bits(t, 2 * unit) : micro_random(s));
  }
}

static inline Expr *micro_load(Micros *s, Buffer *b, Expr *i) {
  return ex_load(s->a, b, (Expr *[]){i}, 1);
}

static inline void micro_store(Micros *s, Buffer *b, Expr *i, Expr *v) {
  micro_put(s, st_store(s->a, b, (Expr *[]){i}, 1, v, NO_SPAN));
}

static inline void micro_result(Micros *s, Expr *v, double rel) {
  micro_store(s, micro_out(s, v->type, MICRO_N, rel), s->m->at, v);
}

/* ------------------------------------------------------------------ expressions */

static const DType micro_floats[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
static const DType micro_ints[] = {DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};

// `b` as a shift count, and as a divisor that is not zero.
static inline Expr *micro_count(Micros *s, Expr *b) {
  return ex_bin(s->a, BIN_BITAND, b, ex_int(s->a, b->type, dt_bits(b->type) - 1));
}

static inline Expr *micro_divisor(Micros *s, Expr *b) {
  return ex_bin(s->a, BIN_BITOR, b, ex_int(s->a, b->type, 1));
}

static inline void micro_binary(Micros *s, DType t) {
  micro_begin(s, arena_printf(s->a, "binary_%s", dt_name(t)), MICRO_THREADS, MICRO_BLOCKS);
  Buffer *A = micro_param(s, "A", t, MICRO_N, 0), *B = micro_param(s, "B", t, MICRO_N, 0);
  micro_fill(s, A);
  micro_fill(s, B);
  Expr *a = micro_load(s, A, s->m->at), *b = micro_load(s, B, s->m->at);
  for (int op = 0; op < BIN_COUNT; op++) {
    bool for_float = op <= BIN_DIV || (op >= BIN_MIN && op <= BIN_NE);
    bool for_int = op != BIN_DIV && op != BIN_AND && op != BIN_OR;
    if (!(dt_is_float(t) ? for_float : for_int)) continue;
    Expr *y = op == BIN_SHL || op == BIN_SHR             ? micro_count(s, b)
              : op == BIN_FLOORDIV || op == BIN_FLOORMOD ? micro_divisor(s, b)
                                                         : b;
    micro_result(s, ex_bin(s->a, (BinOp)op, a, y), 0);
  }
  micro_result(s, ex_un(s->a, UN_NEG, a), 0);
  if (!dt_is_float(t)) micro_result(s, ex_un(s->a, UN_BITNOT, a), 0);
  Expr *less = ex_lt(s->a, a, b), *same = ex_bin(s->a, BIN_EQ, a, b);
  micro_result(s, ex_select(s->a, less, b, a), 0);
  micro_result(s, ex_bin(s->a, BIN_OR, less, ex_un(s->a, UN_NOT, same)), 0);
}

static inline double micro_math_error(MathFn fn, DType t) {
  bool exact = fn == MATH_SQRT || (fn >= MATH_ABS && fn <= MATH_ROUND) || fn >= MATH_FMA;
  if (exact) return 0;
  return t == DT_F64 ? 0x1p-48 : t == DT_F32 ? 0x1p-20 : t == DT_F16 ? 0x1p-9 : 0x1p-6;
}

static inline void micro_math(Micros *s, DType t) {
  micro_begin(s, arena_printf(s->a, "math_%s", dt_name(t)), MICRO_THREADS, MICRO_BLOCKS);
  Buffer *A = micro_param(s, "A", t, MICRO_N, 0), *B = micro_param(s, "B", t, MICRO_N, 0);
  micro_fill(s, A);
  micro_fill(s, B);
  Expr *a = micro_load(s, A, s->m->at), *b = micro_load(s, B, s->m->at);
  for (int fn = 0; fn < MATH_COUNT; fn++) {
    int n = fn == MATH_POW ? 2 : fn == MATH_FMA ? 3 : 1;
    Expr *args[] = {a, b, a};
    micro_result(s, ex_math(s->a, (MathFn)fn, args, n), micro_math_error((MathFn)fn, t));
  }
}

static inline void micro_casts(Micros *s, DType t) {
  static const DType to[] = {DT_BOOL, DT_I8,   DT_U8,   DT_I16, DT_U16,  DT_I32,  DT_U32, DT_I64,
                             DT_U64,  DT_E4M3, DT_E5M2, DT_F16, DT_BF16, DT_TF32, DT_F32, DT_F64};
  micro_begin(s, arena_printf(s->a, "cast_%s", dt_name(t)), MICRO_THREADS, MICRO_BLOCKS);
  Buffer *A = micro_param(s, "A", t, MICRO_N, 0);
  micro_fill(s, A);
  for (size_t i = 0; i < LEN(to); i++) {
    if (to[i] != t) micro_result(s, ex_cast(s->a, to[i], micro_load(s, A, s->m->at)), 0);
  }
}

// Exact index arithmetic on values of both signs.
static inline void micro_index(Micros *s) {
  micro_begin(s, "index", MICRO_THREADS, MICRO_BLOCKS);
  Buffer *A = micro_param(s, "A", DT_I32, MICRO_N, 0);
  micro_fill(s, A);
  Arena *a = s->a;
  Expr *x = ex_cast(a, DT_INDEX, micro_load(s, A, s->m->at)), *i = s->m->at;
  static const int64_t divisors[] = {1, 2, 3, 8, 48, -1, -5, 64};
  for (size_t d = 0; d < LEN(divisors); d++) {
    Expr *n = micro_i(s, divisors[d]), *y = d % 2 ? x : ex_sub(a, i, micro_i(s, 100));
    micro_result(s, ex_cast(a, DT_I64, ex_floordiv(a, y, n)), 0);
    micro_result(s, ex_cast(a, DT_I64, ex_floormod(a, y, n)), 0);
  }
  Expr *big = ex_mul(a, x, ex_mul(a, x, micro_i(s, 2)));
  micro_result(s, ex_cast(a, DT_I64, big), 0);
  micro_result(s, ex_cast(a, DT_I64, ex_bin(a, BIN_MIN, x, micro_i(s, INT64_C(1) << 40))), 0);
  micro_result(s, ex_cast(a, DT_F32, ex_bin(a, BIN_MAX, i, micro_i(s, 77))), 0);
  micro_result(s, ex_cast(a, DT_F16, ex_sub(a, x, i)), 0);
  micro_result(s, ex_cast(a, DT_I64, ex_bin(a, BIN_BITXOR, i, micro_i(s, 21))), 0);
  micro_result(s, ex_cast(a, DT_I64, ex_un(a, UN_NEG, x)), 0);
}

/* ------------------------------------------------------------------ memory */

static inline Region *micro_region(Micros *s, Buffer *b, Expr *at, int n) {
  return region_flat(s->a, b, at, n);
}

// Through registers and shared memory, in accesses of every width.
static inline void micro_vmov(Micros *s) {
  micro_begin(s, "vmov", MICRO_THREADS, MICRO_BLOCKS);
  Arena *a = s->a;
  Buffer *sh = micro_shared(s, "S", DT_U8, 16 * MICRO_THREADS);
  for (int w = 1; w <= 16; w *= 2) {
    Buffer *A = micro_param(s, arena_printf(a, "A%d", w), DT_U8, MICRO_N * w, 0);
    Buffer *C = micro_out(s, DT_U8, MICRO_N * w, 0);
    Buffer *R = micro_buffer(s, "R", DT_U8, SC_LOCAL, w),
           *Q = micro_buffer(s, "R", DT_U8, SC_LOCAL, w);
    micro_fill(s, A);
    Expr *g = ex_mul(a, s->m->at, micro_i(s, w)), *t = micro_tx(s);
    Expr *mirror = ex_sub(a, micro_i(s, MICRO_THREADS - 1), t);
    Expr *to = ex_mul(a, mirror, micro_i(s, w)), *from = ex_mul(a, t, micro_i(s, w));
    Expr *zero = micro_i(s, 0);
    micro_put(s, st_op(a, OP_VMOV, NO_SPAN, micro_region(s, A, g, w), micro_region(s, R, zero, w)));
    micro_put(s,
              st_op(a, OP_VMOV, NO_SPAN, micro_region(s, R, zero, w), micro_region(s, sh, to, w)));
    micro_put(s, st_op(a, OP_SYNC, NO_SPAN));
    micro_put(
        s, st_op(a, OP_VMOV, NO_SPAN, micro_region(s, sh, from, w), micro_region(s, Q, zero, w)));
    micro_put(s, st_op(a, OP_SYNC, NO_SPAN));
    micro_put(s, st_op(a, OP_VMOV, NO_SPAN, micro_region(s, Q, zero, w), micro_region(s, C, g, w)));
  }
}

typedef enum { COPY_WHOLE, COPY_SOME, COPY_OR_NOT } MicroCopy;

// How many of n elements this thread copies: all; every number; all or none.
static inline Expr *micro_valid(Micros *s, MicroCopy how, int n) {
  Arena *a = s->a;
  if (how == COPY_WHOLE) return micro_i(s, n);
  if (how == COPY_SOME) return ex_floormod(a, micro_tx(s), micro_i(s, n + 1));
  return ex_select(a, ex_lt(a, micro_tx(s), micro_i(s, 20)), micro_i(s, n), micro_i(s, 0));
}

// Copies of w bytes, as elements of t.
static inline void micro_cp_async(Micros *s, DType t, int w, MicroCopy how) {
  micro_begin(s, arena_printf(s->a, "cp_async%d_%s_%d", how, dt_name(t), w), MICRO_THREADS,
              MICRO_BLOCKS);
  Arena *a = s->a;
  int n = w / dt_bytes(t);
  Buffer *sh = micro_shared(s, "S", t, n * MICRO_THREADS);
  Buffer *A = micro_param(s, "A", t, MICRO_N * n, 0), *C = micro_out(s, t, MICRO_N * n, 0);
  micro_fill(s, A);
  Expr *g = ex_mul(a, s->m->at, micro_i(s, n)), *to = ex_mul(a, micro_tx(s), micro_i(s, n));
  micro_put(s, st_op(a, OP_CP_ASYNC, NO_SPAN, micro_region(s, A, g, n), micro_region(s, sh, to, n),
                     micro_valid(s, how, n)));
  micro_put(s, st_op(a, OP_ASYNC_COMMIT, NO_SPAN));
  micro_put(s, st_op(a, OP_ASYNC_COMMIT, NO_SPAN));
  micro_put(s, st_op(a, OP_ASYNC_WAIT, NO_SPAN, (int64_t)1));
  for (int i = 0; i < n; i++) {
    Expr *at = ex_add(a, to, micro_i(s, i));
    micro_store(s, C, ex_add(a, g, micro_i(s, i)), micro_load(s, sh, at));
  }
}

static inline void micro_ldmatrix(Micros *s, int num, int trans) {
  micro_begin(s, arena_printf(s->a, "ldmatrix%s_x%d", trans ? "_trans" : "", num), 32, 1);
  Arena *a = s->a;
  Buffer *sh = micro_shared(s, "S", DT_U16, 32 * 8), *A = micro_param(s, "A", DT_U16, 32 * 8, 0);
  Buffer *C = micro_out(s, DT_U16, 32 * 2 * num, 0), *R = micro_buffer(s, "R", DT_U16, SC_LOCAL, 8);
  micro_fill(s, A);
  Expr *t = micro_tx(s), *row = ex_mul(a, t, micro_i(s, 8));
  for (int i = 0; i < 8; i++) {
    Expr *at = ex_add(a, row, micro_i(s, i));
    micro_store(s, sh, at, micro_load(s, A, at));
  }
  micro_put(s, st_op(a, OP_SYNC, NO_SPAN));
  micro_put(s, st_op(a, OP_LDMATRIX, NO_SPAN, micro_region(s, sh, row, 8),
                     micro_region(s, R, micro_i(s, 0), 2 * num), (int64_t)num, (int64_t)trans));
  for (int i = 0; i < 2 * num; i++)
    micro_store(s, C, ex_add(a, ex_mul(a, t, micro_i(s, 2 * num)), micro_i(s, i)),
                micro_load(s, R, micro_i(s, i)));
}

// Every lane another selector; its upper bits are not zero.
static inline void micro_byte_perm(Micros *s) {
  micro_begin(s, "byte_perm", 32, 1);
  Arena *a = s->a;
  Buffer *A = micro_param(s, "A", DT_U8, 32 * 8, 0), *C = micro_out(s, DT_U8, 32 * 4, 0);
  Buffer *R = micro_buffer(s, "R", DT_U8, SC_LOCAL, 8),
         *D = micro_buffer(s, "D", DT_U8, SC_LOCAL, 4);
  micro_fill(s, A);
  Expr *t = micro_tx(s), *zero = micro_i(s, 0);
  micro_put(s, st_op(a, OP_VMOV, NO_SPAN, micro_region(s, A, ex_mul(a, t, micro_i(s, 8)), 8),
                     micro_region(s, R, zero, 8)));
  Expr *sel = ex_floormod(a, ex_mul(a, t, micro_i(s, 0x1357)), micro_i(s, 8192));
  sel = ex_add(a, sel, ex_mul(a, ex_floormod(a, t, micro_i(s, 8)), micro_i(s, 4096)));
  for (int i = 0; i < 4; i++) // a selector's digits are below 8
    sel =
        ex_sub(a, sel,
               ex_mul(a, ex_floormod(a, ex_floordiv(a, sel, micro_i(s, 8 << 4 * i)), micro_i(s, 2)),
                      micro_i(s, 8 << 4 * i)));
  micro_put(s, st_op(a, OP_BYTE_PERM, NO_SPAN, micro_region(s, R, zero, 8),
                     micro_region(s, D, zero, 4), sel));
  micro_put(s, st_op(a, OP_VMOV, NO_SPAN, micro_region(s, D, zero, 4),
                     micro_region(s, C, ex_mul(a, t, micro_i(s, 4)), 4)));
}

// Random bytes, from the second register on.
static inline void micro_unpack(Micros *s, int kind, DType to) {
  micro_begin(s, arena_printf(s->a, "unpack_%d_%s", kind, dt_name(to)), 64, 1);
  Arena *a = s->a;
  Buffer *A = micro_param(s, "A", DT_U8, 64 * 8, 0), *C = micro_out(s, to, 64 * 8, 0);
  Buffer *R = micro_buffer(s, "R", DT_U8, SC_LOCAL, 8), *D = micro_buffer(s, "D", to, SC_LOCAL, 8);
  micro_fill(s, A);
  Expr *at = ex_mul(a, micro_tx(s), micro_i(s, 8)), *zero = micro_i(s, 0);
  micro_put(s, st_op(a, OP_VMOV, NO_SPAN, micro_region(s, A, at, 8), micro_region(s, R, zero, 8)));
  micro_put(s, st_op(a, OP_UNPACK, NO_SPAN, micro_region(s, R, micro_i(s, 4), 4),
                     micro_region(s, D, zero, 8), (int64_t)kind));
  micro_put(s, st_op(a, OP_VMOV, NO_SPAN, micro_region(s, D, zero, 8), micro_region(s, C, at, 8)));
}

/* ------------------------------------------------------------------ mma */

static inline Buffer *micro_operand(Micros *s, const char *name, DType t, int n,
                                    Buffer **registers) {
  Buffer *g = micro_param(s, name, t, 32 * n, 0);
  micro_fill_small(s, s->m->arg[s->m->p->params.len - 1].data, t, 32 * n);
  *registers = micro_buffer(s, arena_printf(s->a, "%s_local", name), t, SC_LOCAL, n);
  for (int i = 0; i < n; i++) {
    Expr *at = ex_add(s->a, ex_mul(s->a, micro_tx(s), micro_i(s, n)), micro_i(s, i));
    micro_store(s, *registers, micro_i(s, i), micro_load(s, g, at));
  }
  return g;
}

static inline void micro_mma(Micros *s, DType ta, DType tb, DType td, int k) {
  micro_begin(s, arena_printf(s->a, "mma_%s_%s_%s", dt_name(td), dt_name(ta), dt_name(tb)), 32, 1);
  Arena *a = s->a;
  Buffer *ra, *rb, *rd;
  int n = 16 * k / 32;
  micro_operand(s, "A", ta, n, &ra);
  micro_operand(s, "B", tb, n / 2, &rb);
  micro_operand(s, "D", td, 4, &rd);
  s->m->rel[2] = td == DT_I32 ? 0 : td == DT_F16 ? -0.02 : -2e-5; // negative: absolute
  micro_put(s, st_op(a, OP_MMA, NO_SPAN, micro_region(s, ra, micro_i(s, 0), n),
                     micro_region(s, rb, micro_i(s, 0), n / 2),
                     micro_region(s, rd, micro_i(s, 0), 4), (int64_t)16, (int64_t)8, (int64_t)k));
  Buffer *D = s->m->p->params.data[2].buf;
  for (int i = 0; i < 4; i++)
    micro_store(s, D, ex_add(a, ex_mul(a, micro_tx(s), micro_i(s, 4)), micro_i(s, i)),
                micro_load(s, rd, micro_i(s, i)));
}

/* ------------------------------------------------------------------ atomics */

// Integer-valued, so that the order of additions does not show; eight threads an element.
static inline void micro_atomic(Micros *s, DType t, AtomicFn fn) {
  static const char *const names[] = {"add", "max", "min"};
  micro_begin(s, arena_printf(s->a, "atomic_%s_%s", names[fn], dt_name(t)), MICRO_THREADS,
              MICRO_BLOCKS);
  Arena *a = s->a;
  Buffer *A = micro_param(s, "A", t, MICRO_N, 0), *C = micro_out(s, t, 16, 0);
  for (int i = 0; i < MICRO_N; i++) {
    int64_t v = (int64_t)(micro_random(s) >> 40) % 7;
    micro_put_bits(s->m->arg[0].data, t, i,
                   dt_is_float(t) ? micro_float_bits(t, (double)v) : (uint64_t)v);
  }
  Expr *cell = ex_floormod(a, micro_tx(s), micro_i(s, 16));
  micro_put(s, st_atomic(a, NO_SPAN, micro_region(s, C, cell, 1), micro_load(s, A, s->m->at),
                         (int64_t)fn));
}

static inline void micro_vatomic(Micros *s, DType t, int n) {
  micro_begin(s, arena_printf(s->a, "vatomic_%s_x%d", dt_name(t), n), MICRO_THREADS, MICRO_BLOCKS);
  Arena *a = s->a;
  Buffer *A = micro_param(s, "A", t, MICRO_N * n, 0), *C = micro_out(s, t, 8 * n, 0);
  Buffer *R = micro_buffer(s, "R", t, SC_LOCAL, n);
  for (int i = 0; i < MICRO_N * n; i++)
    micro_put_bits(s->m->arg[0].data, t, i,
                   micro_float_bits(t, (double)(micro_random(s) >> 40 & 3)));
  for (int i = 0; i < n; i++) {
    Expr *at = ex_add(a, ex_mul(a, s->m->at, micro_i(s, n)), micro_i(s, i));
    micro_store(s, R, micro_i(s, i), micro_load(s, A, at));
  }
  Expr *cell = ex_mul(a, ex_floormod(a, micro_tx(s), micro_i(s, 8)), micro_i(s, n));
  micro_put(s, st_op(a, OP_VATOMIC, NO_SPAN, micro_region(s, C, cell, n),
                     micro_region(s, R, micro_i(s, 0), n), (int64_t)ATOMIC_ADD));
}

/* ------------------------------------------------------------------ all of them */

static inline void micro_memory_all(Micros *s) {
  micro_vmov(s);
  for (int w = 4; w <= 16; w *= 2) {
    for (int how = COPY_WHOLE; how <= COPY_OR_NOT; how++) {
      micro_cp_async(s, DT_U8, w, (MicroCopy)how);
      micro_cp_async(s, w == 8 ? DT_F32 : DT_F16, w, (MicroCopy)how);
    }
  }
  for (int num = 1; num <= 4; num *= 2) {
    micro_ldmatrix(s, num, 0);
    micro_ldmatrix(s, num, 1);
  }
  micro_byte_perm(s);
  for (int i = 0; i < 6; i++) micro_unpack(s, i / 2, i % 2 ? DT_F16 : DT_BF16);
  micro_mma(s, DT_F16, DT_F16, DT_F32, 16);
  micro_mma(s, DT_BF16, DT_BF16, DT_F32, 16);
  micro_mma(s, DT_F16, DT_F16, DT_F16, 16);
  micro_mma(s, DT_TF32, DT_TF32, DT_F32, 8);
  for (int i = 0; i < 4; i++)
    micro_mma(s, i & 1 ? DT_U8 : DT_I8, i & 2 ? DT_U8 : DT_I8, DT_I32, 32);
  for (int fn = ATOMIC_ADD; fn <= ATOMIC_MIN; fn++) {
    for (size_t i = 0; i < LEN(micro_floats); i++) micro_atomic(s, micro_floats[i], (AtomicFn)fn);
    for (size_t i = 0; i < LEN(micro_ints); i++) micro_atomic(s, micro_ints[i], (AtomicFn)fn);
  }
  for (int n = 2; n <= 4; n *= 2) {
    micro_vatomic(s, DT_F32, n);
    micro_vatomic(s, DT_F16, n);
    micro_vatomic(s, DT_BF16, n);
  }
}

static inline void micro_all(Micros *s, Arena *a) {
  *s = (Micros){.a = a, .random = UINT64_C(0x9e3779b97f4a7c15)};
  static const DType sources[] = {DT_BOOL, DT_I8,  DT_U8,   DT_I16, DT_U16,
                                  DT_I32,  DT_U32, DT_I64,  DT_U64, DT_E4M3,
                                  DT_E5M2, DT_F16, DT_BF16, DT_F32, DT_F64};
  for (size_t i = 0; i < LEN(micro_floats); i++) micro_binary(s, micro_floats[i]);
  for (size_t i = 0; i < LEN(micro_ints); i++) micro_binary(s, micro_ints[i]);
  for (size_t i = 0; i < LEN(micro_floats); i++) micro_math(s, micro_floats[i]);
  for (size_t i = 0; i < LEN(sources); i++) micro_casts(s, sources[i]);
  micro_index(s);
  micro_memory_all(s);
  for (int i = 0; i < s->list.len; i++) ir_roles(s->list.data[i]->p);
}

/* ------------------------------------------------------------------ comparing */

static inline double micro_value(DType t, const void *data, int64_t i) {
  const char *p = (const char *)data + i * dt_bytes(t);
  uint64_t u = 0;
  memcpy(&u, p, (size_t)dt_bytes(t));
  switch (t) {
  case DT_F16: return num_f16_to_f32((uint16_t)u);
  case DT_BF16: return num_bf16_to_f32((uint16_t)u);
  case DT_E4M3: return num_e4m3_to_f32((uint8_t)u);
  case DT_E5M2: return num_e5m2_to_f32((uint8_t)u);
  case DT_F32:
  case DT_TF32: return num_f32_of_bits((uint32_t)u);
  case DT_F64: return num_f64_of_bits(u);
  default: return (double)(int64_t)u;
  }
}

static inline bool micro_close(DType t, double got, double want, double rel) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (rel == 0 || isinf(want)) return got == want && (want != 0 || signbit(got) == signbit(want));
  double tiny = t == DT_F16 ? 0x1p-23 : t == DT_F64 ? 0x1p-1060 : 0x1p-125;
  return fabs(got - want) <= (rel < 0 ? -rel : rel * fabs(want) + tiny);
}

// Elements of one tensor that differ; says where the first one is.
static inline int micro_compare(const Micro *m, int i, const void *got, const void *want) {
  const Buffer *b = m->p->params.data[i].buf;
  int64_t n = buf_elems(b), size = dt_bytes(b->dtype);
  int bad = 0;
  for (int64_t e = 0; e < n; e++) {
    bool same = dt_is_float(b->dtype) ? micro_close(b->dtype, micro_value(b->dtype, got, e),
                                                    micro_value(b->dtype, want, e), m->rel[i])
                                      : !memcmp((const char *)got + e * size,
                                                (const char *)want + e * size, (size_t)size);
    if (!same && bad++ == 0)
      fprintf(stderr, "%s: %s[%lld] = %.17g, want %.17g\n", m->p->symbol, m->p->params.data[i].name,
              (long long)e, micro_value(b->dtype, got, e), micro_value(b->dtype, want, e));
  }
  return bad;
}

#endif
