// Inside tuner: the parts of the model: values of expressions, what a block does, what comes from
// memory.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_MODEL_H
#define TLC_TUNER_MODEL_H

#include "tuner/internal.h"

/* value.c: integer expressions by interval, where variables have values */

typedef struct {
  int64_t lo, hi;
} MvRange;

typedef struct {
  const Var *var;
  Expr *let;     // its value, evaluated where it is asked for; NULL: the ranges below
  MvRange point; // one representative value (lo == hi), or what a parallel loop covers at once
  MvRange sweep; // all values it takes
  MvRange memo;  // of a let
  bool guess;    // was something guessed for it
  int64_t fresh; // MvEnv.time at which memo was made
} MvCell;

typedef struct {
  Arena *arena;
  VEC(MvCell) cells;
  bool sweep;   // which of the two ranges counts
  bool guessed; // something that no compiler knows was asked for: it counted as 0
  int64_t time; // changes with every value
} MvEnv;

void mv_set(MvEnv *e, const Var *v, MvRange point, MvRange sweep);
void mv_let(MvEnv *e, const Var *v, Expr *value);
void mv_pop(MvEnv *e, int mark); // forgets all but the first `mark`
MvRange mv_eval(MvEnv *e, const Expr *x);
int64_t mv_point(MvEnv *e, const Expr *x); // the middle of its range
// Is the condition true (1), false (0), or either (-1)?
int mv_truth(MvEnv *e, const Expr *cond);

/* work.c: what one block of a THREAD-level kernel does, by executions of its statements */

// What happens in the iterations of one loop, outside of loops within it; unrolled ones are no
// loops. Clocks are those that the unit of one multiprocessor is busy for this block.
typedef struct {
  const Stmt *loop;                    // NULL: outside of loops
  bool producer;                       // done by the producer's threads
  double trips;                        // iterations, all in all
  double tensor, smem, issue, special; // clocks
  double flops;
  double smem_bytes;
  double load, store; // bytes between the multiprocessor and L2, by sectors of 32
  double bulk;        // of the stores, those that no thread carries out
  bool by_parts;      // work goes on while parts of them are on their way
  double barriers;    // barriers and waits for others
  double round_trips; // to memory, each waited for before the next
  double drains;      // waits for an empty tensor pipe
  double ahead;       // iterations between a copy's issue and its use; < 0: no asynchronous ones
  double overlap;     // and clocks of work between them, if both are in one iteration
  double commits, commit_at; // of an iteration so far; clocks of work before the last of them
} MwPhase;

typedef struct {
  VEC(MwPhase) phases;
  int threads, warps; // consumers
  bool mma_sync;      // products by mma.sync
  int registers;      // a thread needs at least, by what it keeps
} MwBlock;

typedef struct {
  const TnFigures *figures;
  const Program *program;
  const TnBindings *sizes; // values of symbolic sizes
  int64_t block[3];        // which block
  int64_t workers;         // of a persistent kernel
} MwWhere;

// Symbolic sizes that are not among `sizes` are TN_GUESSED_SIZE.
void mv_sizes(MvEnv *e, const Program *p, const TnBindings *sizes); // and scalars, which are 1
void mw_block(Arena *a, const Kernel *k, const MwWhere *where, MwBlock *out);
double mw_tensor_rate(const TnFigures *f, DType t); // FLOP/s of the whole GPU

/* lanes.c: what a warp's access costs, by the addresses of its lanes */

enum { MW_LANES = 32 };

// Clocks of shared memory for lanes that each access `bytes` at these addresses.
double mw_wavefronts(const int64_t *address, int lanes, int bytes);
int mw_sectors(const int64_t *address, int lanes, int bytes); // of 32 bytes that they touch

/* traffic.c: what comes from HBM, by the boxes of tensors that the blocks of a wave share */

typedef struct {
  double first, next; // bytes of the first wave, and of one after it
  double tensors;     // bytes of all that the kernel touches at least once, as far as it is known
} MtTraffic;

// k: of p, at TILE level, blocks in their order of launch; `wave`: blocks that run at once.
MtTraffic mt_traffic(Arena *a, const Program *p, const Kernel *k, const TnBindings *sizes,
                     int64_t wave, double l2_bytes);

#endif
