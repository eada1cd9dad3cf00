// What the files of codegen/ share among themselves; nothing outside the folder includes this.
// SPDX-License-Identifier: MIT
#ifndef TLC_CODEGEN_INTERNAL_H
#define TLC_CODEGEN_INTERNAL_H

#include "codegen/codegen.h"

typedef struct Names Names;
typedef struct Needs Needs;

// How a variable or a buffer appears in the text.
typedef struct {
  const char *text; // its C name; NULL before it is declared
  int bits;         // index variables: 32 or 64
  bool scalar;      // a LOCAL buffer of one element, declared without []
  bool used, written;
} Name;

// The writer and what it knows at the place it has reached. One a kernel or host function.
typedef struct {
  Arena *arena;
  const Program *p;
  const CgOptions *o;
  const Kernel *k; // NULL in host code, where index arithmetic is 64-bit
  Facts *facts;    // NULL in host code
  Names *names;
  Needs *needs;
  Buf *out;
  int indent;
  size_t line_start; // of the line being written
  Span mark;         // last place named in a "// file:line" comment
  int mark_line;
} Cg;

/* writer.c: lines, blocks, marks */

void cg_begin(Cg *c); // starts a line at the present indent
void cg_end(Cg *c);   // ends it, breaking it where it is over 100 columns
void cg_text(Cg *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
void cg_line(Cg *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
void cg_open(Cg *c, const char *fmt, ...) PRINTF_LIKE(2, 3); // a line, then one deeper
void cg_close(Cg *c, const char *text);
void cg_blank(Cg *c);
// Names the source line of what follows, when it differs from the last one named; #line under -g.
void cg_mark(Cg *c, Span at);
// "gemm.tl:21", or NULL where the place is unknown.
const char *cg_place(const Cg *c, Span at);
const char *cg_base_name(const char *path);      // NULL stays NULL
const char *cg_comment(Arena *a, const char *s); // s as it may stand in a comment of either form
const char *cg_escape(Arena *a, const char *s);  // s as the inside of a C string

/* names.c: C names, unique among those visible */

Names *names_new(Arena *a);
Name *names_of(Names *n, const void *object); // a Var or a Buffer; made on first use
// Gives the object a C name near its own, distinct from every visible one.
const char *names_declare(Names *n, const void *object, const char *wish);
void names_reserve(Names *n, const char *word); // visible from here on
int names_mark(const Names *n);
void names_pop(Names *n, int mark); // names declared since are free again

/* prelude.c: the device helpers */

Needs *needs_new(Arena *a);
void needs_add(Needs *n, const char *fmt, ...) PRINTF_LIKE(2, 3); // a section; dies when unknown
// A device helper made for this program, by its name; the first text counts.
void needs_text(Needs *n, const char *name, const char *text);
void needs_write(const Needs *n, bool device, Buf *out); // those with or without a host twin
bool needs_any(const Needs *n, const char *part); // is a section used whose name has this part?

/* range.c: what values index and integer expressions can have, and how wide they are in the text */

void cg_range(Cg *c, Expr *x, int64_t *lo, int64_t *hi);
bool cg_fits32(int64_t lo, int64_t hi);
int cg_bits(Cg *c, Expr *x); // of an index expression: 32 or 64

/* expr.c, cast.c: expressions */

enum {
  P_TERNARY,
  P_OR,
  P_AND,
  P_BITOR,
  P_BITXOR,
  P_BITAND,
  P_EQUAL,
  P_LESS,
  P_SHIFT,
  P_SUM,
  P_PRODUCT,
  P_UNARY,
  P_POSTFIX
};

const char *cg_short(DType t);          // "f16", as in helper names
const char *cg_type(DType t);           // C++ type of a value or an element; index: int64_t
void cg_expr(Cg *c, Expr *x, int prec); // parenthesised when it binds looser than prec
void cg_value(Cg *c, Expr *x, DType t, int prec); // converted to t where its type differs
void cg_cast(Cg *c, Expr *x, DType to, int prec);
void cg_bitcast(Cg *c, Expr *x, int prec);
void cg_constant(Cg *c, const Expr *x, int prec);
void cg_exact(Cg *c, Expr *x, int bits);  // an index expression in exactly this width
const char *cg_expr_text(Cg *c, Expr *x); // the expression alone, in the arena

/* stmt.c, ops.c: statements */

void cg_stmt(Cg *c, const Stmt *s);
void cg_op(Cg *c, const Stmt *s);

/* ops_sm90.c, tensormap.c */

bool cg_sm90_op(Cg *c, const Stmt *s); // false: not one of its ops
void cg_map_params(Cg *c, bool *first);  // of a kernel
void cg_map_arguments(Cg *c, const Kernel *k); // ", Am"
void cg_maps(Cg *c, const Kernel *k);          // lines of the launcher that encode them
void cg_refuse_maps(Cg *c, const Kernel *k);
bool cg_has_maps(const Program *p);

/* wgmma.c */

bool cg_wgmma_op(Cg *c, const Stmt *s); // false: not one of its ops

/* targets.c: files with bodies for several targets */

// Of several programs, the first of each launcher; *p then has the launcher's symbol.
bool cg_first_of_api(const Program *const *list, const CgOptions *o, int i, Program *p);
const char *cg_target_names(Arena *a, const CgOptions *o);  // "sm_80 and sm_90a"
const char *cg_target_flags(Arena *a, const CgOptions *o);  // nvcc's
// Lines that say which body device code holds, or refuse to build. own: newer GPUs lack something.
void cg_target_guard(const CgOptions *o, bool own, Buf *out);
// What a kernel's threads are in __launch_bounds__, "384".
const char *cg_bound_threads(Cg *c, const Kernel *k);
void cg_open_body(Cg *c);  // #if, where the body is not in all device code
void cg_close_body(Cg *c); // #endif
// The launcher and the check of the n programs of one api.
void cg_choose(Arena *a, const Program *const *list, const CgOptions *o, int n, Needs *needs,
               Buf *out);

/* module.c */

const char *cg_file_name(Arena *a, const CgOptions *o, const Program *p); // of the .cu, no folder

/* kernel.c, launch.c */

void cg_uses(Cg *c, const Kernel *k); // fills used and written of every name
void cg_kernel(Cg *c, const Kernel *k);
void cg_launcher(Cg *c); // with its check, unless another launcher chooses it
void cg_open_launcher(Cg *c, const char *linkage); // its head; what follows is its body
void cg_open_check(Cg *c);                         // of <symbol>_check; the body names `why`
void cg_close_check(Cg *c);
void cg_arguments(Cg *c); // the launcher's own parameters, handed on: "A, C, M" (no stream)
// The launcher's parameters: "const void *A, void *C, int64_t M" (no stream).
void cg_params(Cg *c);
// Where a parameter or a workspace lies, in host code.
void cg_tensor_pointer(Cg *c, const Buffer *b);
bool cg_is_written(const Param *p);
bool cg_is_zeroed(const CgOptions *o, const Param *p);
int cg_align(const Buffer *b);                  // bytes that a tensor's address is a multiple of
const Buffer *cg_shape(const Cg *c, int param); // the tensor as the source declares it
void cg_buffer_bytes(Cg *c, const Buffer *b);   // the same of a buffer with its declared shape
bool cg_constant_bytes(const Buffer *b, int64_t *bytes);
void cg_declare_params(Cg *c);                  // names for every parameter of the launcher
bool cg_has_params(const Cg *c);                // any before the stream?
const char *cg_param_name(Cg *c, const Param *p);

/* refuse.c */

void cg_refuses(Cg *c); // the function <symbol>_refuses
// Divisions by zero, of workspace shapes; with `why` of everything the launcher computes, named.
void cg_refuse_divisors(Cg *c, bool why);

/* ops.c */

void cg_address(Cg *c, const Region *r); // of a region's first element
void cg_element(Cg *c, const Region *r); // the one element of a register array, to be assigned
int cg_count(const Region *r);           // elements of a flat region

/* ops_exchange.c: what threads do with one another's values, and what they say */

const char *cg_atomic_name(AtomicFn fn); // "atomic_add"
void cg_atomic(Cg *c, const Stmt *s);
void cg_atomic_load(Cg *c, const Stmt *s);
void cg_shuffle(Cg *c, const Stmt *s);
void cg_vote(Cg *c, const Stmt *s);
void cg_print(Cg *c, const Stmt *s);
void cg_assert(Cg *c, const Stmt *s);
void cg_match(Cg *c, const Stmt *s);
void cg_find_bit(Cg *c, const Stmt *s);
void cg_extern(Cg *c, const Stmt *s);

/* workspace.c: T.alloc_global's buffers, parts of the caller's one block of memory */

bool cg_has_workspace(const Cg *c);
void cg_declare_workspace(Cg *c);
const char *cg_workspace_name(const Cg *c); // of the launcher's parameter
void cg_places(Cg *c, bool total); // lines that name where parts start; with `total` all bytes too
void cg_refuse_workspace(Cg *c);   // declares the places
void cg_refuse_workspace_overlap(Cg *c, const char *tensor, const char *bytes);
void cg_workspace_argument(Cg *c, int part, bool written); // the pointer that a kernel gets
void cg_workspace_prototype(Cg *c, bool cxx);              // of <symbol>_workspace, without ';'
void cg_workspace_query(Cg *c);                            // its definition
const char *cg_workspace_bytes_text(Cg *c);                // "4096 bytes", "f_workspace(M) bytes"
bool cg_workspace_constant(const Cg *c, int64_t *bytes);   // false where sizes decide
const Buffer *cg_workspace_part(const Cg *c, int part);    // as the source declares it

#endif
