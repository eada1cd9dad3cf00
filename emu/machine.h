// What oracle and emulator share: values, compiled expressions and their evaluation over lanes.
// SPDX-License-Identifier: MIT
#ifndef TLC_EMU_MACHINE_H
#define TLC_EMU_MACHINE_H

#include "ir/ir.h"

enum { LANES = 32 };
#define ALL_LANES UINT32_C(0xffffffff)

/* value.c: a value of any type. Floats of every width are held as the double that they equal,
   integers, index and bool as int64_t (uint64: the same bits). */

typedef union {
  int64_t i;
  double f;
} Val;

typedef Val LaneVals[LANES];
typedef double LaneErrs[LANES];

Val emu_int(int64_t i);
Val emu_float(double f);
Val emu_cast(DType to, DType from, Val v); // EX_CAST's meaning
Val emu_bits(DType to, DType from, Val v); // EX_BITCAST's
double emu_round(DType t, double x);       // to nearest even in float type t
int64_t emu_wrap(DType t, int64_t x);      // modulo 2^bits, into t's range
double emu_ulp(DType t, double x);         // distance of neighbours of type t around x
double emu_eps(DType t);                   // 2^-(fraction bits): one ulp at 1
// Element i of an array of t; sub-byte types are packed, low nibble first.
Val emu_read(DType t, const void *base, int64_t i);
void emu_write(DType t, void *base, int64_t i, Val v);
void emu_read_run(DType t, const void *base, int n, Val *out); // n consecutive, whole-byte types
void emu_write_run(DType t, void *base, int n, const Val *v);
Val emu_poison(DType t); // what unwritten memory holds: NaN, or a large odd integer
Val emu_atomic(DType t, AtomicFn fn, Val old, Val v); // rounded or wrapped to t

/* compile.c: expressions with variables and buffers resolved to slots */

typedef struct Node Node;
struct Node {
  uint8_t kind; // ExprKind
  uint8_t op;   // UnOp, BinOp or MathFn
  bool uniform; // one value for all lanes (of the warp, or of the block for the oracle)
  DType type;
  DType from; // operand type of unary, binary, cast and math
  int slot;   // EX_VAR: variable; EX_LOAD: buffer
  int n;      // EX_LOAD: number of indices
  Val k;      // EX_INT, EX_FLOAT
  Node *a, *b, *c;
  Node **idx;
  Span span;
};

typedef struct SlotMap SlotMap; // pointer -> int, grows in its arena
SlotMap *slotmap_new(Arena *a);
int *slotmap_at(SlotMap *m, const void *key, bool *fresh); // *fresh: just added, value 0

typedef struct {
  Arena *arena;
  SlotMap *vars, *buffers;
  int nuniform, nlane, nbuffers;
  bool loads_uniform; // a load at a uniform index gives all lanes one value (lockstep: oracle)
} Compiler;

// Variable numbers: slot * 2 + (1 when it is per lane).
enum { SLOT_LANE = 1 };
int emu_bind(Compiler *c, const Var *v, bool uniform); // at its binding place, before its uses
int emu_buffer(Compiler *c, const Buffer *b);          // slot of a buffer, by first appearance
Node *emu_compile(Compiler *c, const Expr *x);

/* eval.c: evaluation over lanes */

typedef struct Machine Machine;
struct Machine {
  Diags *diags;
  Val *uni;        // uniform variables by slot
  LaneVals *lane;  // per-lane variables by slot
  double *uni_err; // the same, bounds on the device's deviation; NULL: not tracked
  LaneErrs *lane_err;
  int pick; // the lane that a scalar evaluation of a per-lane value takes
  // Loads n (1 or LANES) values; evaluates the indices itself.
  void (*load)(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err);
  int reports, max_reports;
  SlotMap *seen; // (statement or node) -> bits of diagnostics already made there
  bool failed;
  Arena *arena;
};

// Values of lanes in mask (n == LANES), or one value (n == 1: uniform, or lane `pick`). err: as
// many absolute deviations, or NULL.
void emu_eval(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err);
Val emu_eval1(Machine *m, const Node *x);
int64_t emu_eval_int(Machine *m, const Node *x);
uint32_t emu_eval_mask(Machine *m, const Node *cond, uint32_t mask); // lanes of mask where it holds

// True the first time this kind of failure is met at `key`, while reports are left.
bool emu_first(Machine *m, const void *key, int kind);
// EMU_FAIL(machine, key, id, span, arguments of the diagnostic...)
#define EMU_FAIL(m, key, id, ...)                                                                  \
  (emu_first((m), (key), (int)(id)-EMU_FIRST_DIAG) ? diag_report((m)->diags, (id), __VA_ARGS__)    \
                                                   : (void)0)
#define EMU_FIRST_DIAG ((int)DIAG_EMU_BOUNDS)

/* bound.c: how far a device that computes x op y from deviating operands may be off */

double bound_binary(const Node *x, Val r, Val a, Val b, double ea, double eb);
double bound_cast(DType to, DType from, Val r, double ea);
double bound_math(const Node *x, Val r, const Val *arg, const double *err);

/* bits.c: from the CUDA programming guide ("Warp Match Functions") and the math API (__fns) */
// The lanes of mask that have the bits of lane i's value; with `all`, mask or 0.
uint32_t match_lanes(const Val *v, DType t, uint32_t mask, int i, bool all);
int find_bit(uint64_t x, int64_t base, int64_t count); // -1: there is none

/* philox.c: four random words of a counter (block, seq) and a key */
void philox(uint64_t block, uint64_t seq, uint64_t seed, uint32_t out[4]);

#endif
