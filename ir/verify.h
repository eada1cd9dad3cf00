// The inside of the verifier: one walk, a table of checks. Only ir/verify*.c include this.
// SPDX-License-Identifier: MIT
#ifndef TLC_IR_VERIFY_H
#define TLC_IR_VERIFY_H

#include "ir/internal.h"

typedef struct {
  const Program *program;
  const Kernel *kernel; // NULL in program checks
  const Stmt *stmt;     // the statement looked at
  const char *check;    // the name of the running check
  Arena *arena;
  Buf *why;
  int failures;
  // Kept by the walk:
  PtrMap *scope;   // Var -> Var while it is bound
  PtrMap *known;   // buffers of the program and the kernel
  PtrMap *steady;  // variables that are constants once loops are unrolled
  PtrMap *varying; // variables whose value depends on the thread
  int loops;       // enclosing loops up to the innermost parallel one: what a jump may leave
  int parallel;    // enclosing parallel loops
  int divergent;   // enclosing branches and loops that depend on the thread
  PtrMap *splitting; // variables whose value may differ within a warpgroup
  int split;         // enclosing branches and loops that may split one
} Verify;

typedef struct {
  const char *name;
  unsigned level;   // Level bits where it applies
  const char *needs; // a check that must have passed; NULL none
  void (*program)(Verify *v);
  void (*kernel)(Verify *v);
  void (*stmt)(Verify *v, Stmt *s);
  void (*expr)(Verify *v, Expr *x); // every node of every expression of a statement
} VerifyCheck;

void verify_fail(Verify *v, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool verify_varies(Verify *v, Expr *x); // depends on the thread, as far as variables tell
bool verify_steady(Verify *v, Expr *x); // constant once loops are unrolled

/* verify_checks.c */

void check_structure(Verify *v, Stmt *s);
void check_structure_expr(Verify *v, Expr *x);
void check_structure_kernel(Verify *v);
void check_program(Verify *v);
void check_types(Verify *v, Stmt *s);
void check_type_expr(Verify *v, Expr *x);
void check_names(Verify *v, Stmt *s);
void check_name_expr(Verify *v, Expr *x);

/* verify_tile.c */

void check_tile_ops(Verify *v, Stmt *s);

/* verify_grid.c */

void check_grid_wait(Verify *v);

/* verify_channels.c */

void check_channels(Verify *v);

/* verify_turns.c */

// Do the producer and the consumers of a channel take as many turns?
void verify_turns(Verify *v, Stmt *roles, const Buffer *full, const Buffer *empty);

/* verify_thread.c */

void check_levels(Verify *v, Stmt *s);
void check_tiles(Verify *v);
void check_flat(Verify *v);
void check_operands(Verify *v, Stmt *s);
void check_commits(Verify *v, Stmt *s);
void check_fragments(Verify *v, Stmt *s);
void check_shared_memory(Verify *v);

/* verify_sm90.c */

void verify_sm90_operands(Verify *v, Stmt *s);
void check_launch(Verify *v);
void check_maps(Verify *v);
void check_barriers(Verify *v);

/* verify_wgmma.c */

void verify_wgmma_operands(Verify *v, Stmt *s);
void check_warpgroups(Verify *v, Stmt *s);
bool verify_splits(Verify *v, Expr *x); // may differ within a warpgroup, as far as variables tell

#endif
