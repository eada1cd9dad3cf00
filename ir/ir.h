// The intermediate representation: one set of nodes, two levels (DESIGN.md section 5).
// Expressions are immutable and shared freely; statements form a tree that passes rewrite.
// SPDX-License-Identifier: MIT
#ifndef TLC_IR_H
#define TLC_IR_H

#include "base/base.h"

/* ------------------------------------------------------------------ types (dtypes.def) */

typedef enum {
#define DTYPE(e, name, bits, kind, cuda, abi) e,
#include "ir/dtypes.def"
#undef DTYPE
  DT_COUNT
} DType;

int dt_bits(DType t);
int dt_bytes(DType t); // bits / 8; dies on sub-byte types
const char *dt_name(DType t);
const char *dt_cuda(DType t);
const char *dt_abi(DType t);
bool dt_is_float(DType t);
bool dt_is_int(DType t); // signed, unsigned or index; not bool
bool dt_is_signed(DType t);
// By TileLang name or alias ("float16", "half", "float", "int", ...); false when unknown.
bool dt_find(const char *name, DType *out);
// Is it an element type of TileLang that tlc does not have: vectors (float16x2), formats of GPUs
// that are not NVIDIA's?
bool dt_foreign(const char *name);
bool dt_vector(const char *name, DType *of, int *lanes); // "float16x8"
// The type of a binary operation's result and operands (LANGUAGE.md 6.1: floats win over integers,
// more bits win, index acts as int32 beside a fixed-width integer and stays index beside index).
DType dt_promote(DType a, DType b);

/* ------------------------------------------------------------------ expressions (exprs.def) */

typedef enum {
#define UNARY(e, name, meaning) e,
#include "ir/exprs.def"
  UN_COUNT
} UnOp;

typedef enum {
#define BINARY(e, name, infix, meaning) e,
#include "ir/exprs.def"
  BIN_COUNT
} BinOp;

typedef enum {
#define MATH(e, name, arity, meaning) e,
#include "ir/exprs.def"
  MATH_COUNT
} MathFn;

typedef struct Expr Expr;
typedef struct Var Var;
typedef struct Buffer Buffer;
typedef struct Stmt Stmt;
typedef struct Layout Layout; // ir/layout.h

typedef enum {
  VAR_BLOCK,   // hardware block index along `axis`
  VAR_WORKERS, // number of blocks of a persistent kernel
  VAR_TEAM,    // number of a team of consumers (Kernel.teams), between the roles and teams passes
  VAR_THREAD,  // linear thread index in the block, 0 .. threads-1
  VAR_LOOP,
  VAR_LET,
  VAR_SIZE,   // symbolic tensor size (T.dynamic): int64_t in the ABI, >= 0
  VAR_SCALAR, // scalar kernel parameter
} VarKind;

struct Var {
  const char *name; // as in the source; unique names are the printer's and emitter's business
  DType type;
  VarKind kind;
  int axis; // VAR_BLOCK: 0, 1, 2
  Span span;
};

typedef enum {
  EX_INT, // any integer type, index or bool
  EX_FLOAT,
  EX_VAR,
  EX_LOAD, // one element; global loads out of bounds are the buffer's safe value at TILE level,
           // and an error at THREAD level
  EX_UNARY,
  EX_BINARY,
  EX_CAST,   // value conversion: float->int truncates and saturates; float->narrower float rounds
             // to nearest even (fp8: saturates to finite); int->int wraps; anything->bool is != 0
  EX_SELECT, // only the taken side is evaluated
  EX_MATH,
  EX_BITCAST, // u.cast: the same bits as a type of equal width
} ExprKind;

struct Expr {
  ExprKind kind;
  DType type;
  Span span;
  union {
    int64_t i;
    double f;
    Var *var;
    struct {
      Buffer *buf;
      int n; // == buf->ndim
      Expr **idx;
    } load;
    struct {
      UnOp op;
      Expr *a;
    } un;
    struct {
      BinOp op;
      Expr *a, *b; // of one type (shifts, and/or included)
    } bin;
    Expr *cast; // BITCAST too
    struct {
      Expr *cond, *yes, *no;
    } sel;
    struct {
      MathFn fn;
      int n;
      Expr *arg[3];
    } math;
  } u;
};

/* expr.c: constructors fold constants and apply cheap identities (x+0, x*1, x*0 on ints, ...) */

Expr *ex_int(Arena *a, DType t, int64_t value);
Expr *ex_index(Arena *a, int64_t value); // an index constant
Expr *ex_bool(Arena *a, bool value);
Expr *ex_float(Arena *a, DType t, double value); // rounded to t
Expr *ex_var(Arena *a, Var *v);
Expr *ex_load(Arena *a, Buffer *b, Expr **idx, int n);
Expr *ex_un(Arena *a, UnOp op, Expr *x);
Expr *ex_bin(Arena *a, BinOp op, Expr *x, Expr *y); // inserts casts to dt_promote when types differ
Expr *ex_cast(Arena *a, DType t, Expr *x);
Expr *ex_bitcast(Arena *a, DType t, Expr *x); // of equal width, or a bug
Expr *ex_select(Arena *a, Expr *cond, Expr *yes, Expr *no);
Expr *ex_math(Arena *a, MathFn fn, Expr **args, int n);
Expr *ex_add(Arena *a, Expr *x, Expr *y);
Expr *ex_sub(Arena *a, Expr *x, Expr *y);
Expr *ex_mul(Arena *a, Expr *x, Expr *y);
Expr *ex_floordiv(Arena *a, Expr *x, Expr *y);
Expr *ex_floormod(Arena *a, Expr *x, Expr *y);
Expr *ex_and(Arena *a, Expr *x, Expr *y); // NULL stands for true on either side
Expr *ex_lt(Arena *a, Expr *x, Expr *y);
Expr *ex_at(Expr *x, Span span);              // sets the span when it has none; returns x
bool ex_const(const Expr *x, int64_t *value); // an integer or bool constant?
bool ex_is(const Expr *x, int64_t value);     // is it this integer constant?
bool ex_equal(const Expr *x, const Expr *y);  // same structure
uint64_t ex_hash(uint64_t h, Expr *x);        // the same where ex_equal
// Replaces variables: map(ctx, var) gives the replacement or NULL to keep.
Expr *ex_replace(Arena *a, Expr *x, Expr *(*map)(void *ctx, Var *v), void *ctx);
Expr *ex_subst(Arena *a, Expr *x, Var *v, Expr *by);
// const_at.c: is x a constant where the variables (each an index) have these values?
bool ex_const_at(Arena *a, Expr *x, Var *const *var, const int64_t *at, int n, int64_t *value);
bool ex_uses(const Expr *x, const Var *v);
void ex_walk(Expr *x, void (*f)(void *ctx, Expr *x), void *ctx); // pre-order, every node

/* ------------------------------------------------------------------ buffers and regions */

typedef enum { SC_GLOBAL, SC_SHARED, SC_FRAGMENT, SC_LOCAL, SC_MAP } Scope;

typedef struct TensorMap TensorMap;

// Where the program wants elements, by a function of their indices: kept as written.
typedef struct {
  int n; // variables: one a dimension, and one for the replica where there are several
  Var **var;
  int m;
  Expr **to; // indices into another shape; of a fragment: the thread, then the register
  bool fragment;
  int replicate; // copies of a fragment; 1 where there is one
} IndexMap;

struct Buffer {
  const char *name;
  DType dtype;
  Scope scope; // FRAGMENT: a tile spread over the block's threads; LOCAL: an array of each thread
  int ndim;
  Expr **shape;   // index expressions; constants unless global
  Expr **strides; // global: in elements, NULL when row-major contiguous
  Span span;      // where it was declared
  Expr *safe;     // value of out-of-bounds global reads; NULL is zero
  int align;      // global: bytes the base address is a multiple of (16 unless declared otherwise)
  Layout *layout; // fixed by annotation or by the layout pass; NULL while free
  Span layout_at; // of the annotation
  int64_t offset; // shared: byte offset in the block's shared memory, by the smem pass; -1 before
  const IndexMap *places; // T.annotate_layout with a function; NULL without
  Buffer *base;   // whose storage this one names too, from its start on, perhaps as another dtype;
                  // NULL: storage of its own. A base has none itself
  TensorMap *map; // SC_MAP only
};

// A view of a tensor by which TMA instructions copy boxes of it: what the launcher encodes as a
// CUtensorMap. The buffer that holds it has the view's extents and strides (in elements,
// expressions over sizes and scalars), outermost first; the innermost stride is 1. Boxes are stored
// densely in shared memory, the innermost dimension first.
enum { MAP_RANK = 5 };
struct TensorMap {
  Buffer *of;         // the tensor or workspace, of elements as wide
  int box[MAP_RANK];  // elements a copy spans in each dimension, 1 .. 256
  int step[MAP_RANK]; // takes every step-th element of them, 1 .. 8: ceil(box / step) are copied
  int swizzle;        // 0, 32, 64 or 128: the span in bytes in which 16-byte chunks are permuted
  int l2;             // 0, 64, 128 or 256: bytes that L2 fetches together
  bool nan;           // elements out of bounds read as NaN, not 0
};
int64_t map_elems(const TensorMap *m, int rank); // elements that one copy writes

// A box of a buffer: per dimension [min, min + extent).
typedef struct {
  Buffer *buf;
  int n; // == buf->ndim
  Expr **min;
  Expr **extent;
} Region;

/* ------------------------------------------------------------------ ops (ops.def) */

typedef enum {
#define OP(e, name, level, sync, operands, meaning) e,
#include "ir/ops.def"
#undef OP
  OP_COUNT
} OpCode;

typedef enum { LEVEL_TILE = 1, LEVEL_THREAD = 2, LEVEL_BOTH = 3 } Level;
typedef enum {
  SYNC_NONE,
  SYNC_WARP,
  SYNC_BLOCK,
  SYNC_COMMIT,
  SYNC_WAIT,
  SYNC_WARPGROUP,
} SyncClass;
typedef enum {
  ARG_READ,
  ARG_WRITE,
  ARG_UPDATE,
  ARG_ATOMIC,
  ARG_ASYNC,
  ARG_PLACE,
  ARG_EXPR,
  ARG_INT,
  ARG_TEXT
} ArgKind;

enum { OP_MAX_ARGS = 16 };

typedef struct {
  const char *name;
  Level level;
  SyncClass sync;
  int nargs;
  struct {
    ArgKind kind;
    bool optional;
    const char *name;
  } arg[OP_MAX_ARGS];
  const char *meaning;
} OpInfo;

const OpInfo *op_info(OpCode op); // parsed from ops.def
bool op_find(const char *name, OpCode *out);
int op_arg(OpCode op, const char *name); // position of an operand by name; dies when absent
bool arg_is_region(ArgKind kind);

typedef union {
  Region *region;
  Expr *expr;
  int64_t i;
  const char *text;
} Arg;

typedef enum { POLICY_SQUARE, POLICY_FULL_ROW, POLICY_FULL_COL } GemmPolicy;
typedef enum {
  ATOMIC_ADD,
  ATOMIC_MAX,
  ATOMIC_MIN,
  ATOMIC_AND,
  ATOMIC_OR,
  ATOMIC_XOR,
  ATOMIC_SET
} AtomicFn;
bool op_reduces(AtomicFn fn, DType t); // do bulk and tensor copies combine elements of t so?
typedef enum {
  ORDER_RELAXED,
  ORDER_CONSUME,
  ORDER_ACQUIRE,
  ORDER_RELEASE,
  ORDER_ACQ_REL,
  ORDER_SEQ_CST
} MemoryOrder;
// How values are combined; on floats a number wins over a NaN unless the op says nan.
typedef enum {
  RED_SUM,
  RED_ABSSUM, // of absolute values
  RED_MAX,
  RED_MIN,
  RED_ABSMAX,
  RED_BITAND,
  RED_BITOR,
  RED_BITXOR
} ReduceKind;
typedef enum { SHUFFLE_INDEX, SHUFFLE_XOR, SHUFFLE_UP, SHUFFLE_DOWN } ShuffleMode;
typedef enum { VOTE_ANY, VOTE_ALL, VOTE_BALLOT, VOTE_COUNT } VoteKind;

/* ------------------------------------------------------------------ statements */

typedef enum {
  ST_BLOCK,
  ST_FOR,
  ST_IF,
  ST_LET,   // binds var for the rest of the enclosing block
  ST_STORE, // buf[idx...] = cast(value); out-of-bounds global stores are skipped at TILE level
  ST_OP,
  ST_ASSUME, // a fact; no effect
} StmtKind;

typedef enum {
  LOOP_SERIAL,
  LOOP_UNROLL,
  LOOP_VECTORIZED, // iterations touch consecutive elements; order irrelevant
  LOOP_PARALLEL,   // several variables; iterations independent; spread over the threads (TILE)
  LOOP_PIPELINED,  // serial meaning; num_stages asks for overlap (TILE, before `pipeline`)
  LOOP_WHILE,      // no variables: while cond holds, each thread for itself
} LoopKind;

// The extent of a loop that only its condition ends.
#define LOOP_ENDLESS (INT64_C(1) << 61)

typedef VEC(Stmt *) StmtVec;

struct Stmt {
  StmtKind kind;
  bool known; // ST_ASSUME: holds by what a pass made, and is no fact of the source, which -g traps
  Span span;
  union {
    StmtVec block;
    struct {
      LoopKind loop;
      int nvars; // 1 unless LOOP_PARALLEL, LOOP_WHILE
      Var **var;
      Expr **min, **extent; // extent <= 0: no iterations
      Expr *cond; // LOOP_WHILE; of other loops that go on only while it holds, asked before each
                  // iteration (at tile level after `check`); else NULL
      Stmt *body;
      int num_stages;         // LOOP_PIPELINED
      int unroll;             // LOOP_UNROLL: 0 fully, else the factor
      bool async;             // LOOP_PARALLEL: the pipeline asks for cp.async, as of an OP_COPY
      Layout *layout;         // LOOP_PARALLEL: thread mapping, by annotation or the layout pass
      const IndexMap *places; // the same as a function, by annotation
    } loop;
    struct {
      Expr *cond;
      Stmt *yes, *no; // no may be NULL
      bool roles;     // yes: the consumers, threads below Kernel.threads; no: the producers behind
                      // Both go on at once; a barrier of all threads in `yes` is over the consumers
    } branch;
    struct {
      Var *var;
      Expr *value;
    } let;
    struct {
      Buffer *buf;
      int n;
      Expr **idx;
      Expr *value;
    } store;
    struct {
      OpCode op;
      Arg arg[OP_MAX_ARGS];
    } op;
    Expr *assume;
  } u;
};

/* stmt.c: constructors (span from the last argument) and walks */

Stmt *st_block(Arena *a, Span span);
void st_add(Arena *a, Stmt *block, Stmt *s); // appends; a nested plain block is spliced
Stmt *st_for(Arena *a, LoopKind kind, Var *v, Expr *min, Expr *extent, Stmt *body, Span span);
// A loop of several variables (LOOP_PARALLEL); the arrays are copied.
Stmt *st_for_n(Arena *a, LoopKind kind, int nvars, Var **v, Expr **min, Expr **extent, Stmt *body,
               Span span);
Stmt *st_if(Arena *a, Expr *cond, Stmt *yes, Stmt *no, Span span);
// A branch of roles: consumers where cond holds.
Stmt *st_roles(Arena *a, Expr *cond, Stmt *consumers, Stmt *producers, Span span);
Stmt *st_let(Arena *a, Var *v, Expr *value, Span span);
Stmt *st_store(Arena *a, Buffer *b, Expr **idx, int n, Expr *value, Span span);
Stmt *st_while(Arena *a, Expr *cond, Stmt *body, Span span);
// The operands in table order: Region*, Expr*, int64_t, const char*.
Stmt *st_op(Arena *a, OpCode op, Span span, ...);
Stmt *st_atomic(Arena *a, Span span, Region *dst, Expr *value, int64_t fn); // relaxed
Stmt *st_assume(Arena *a, Expr *cond, Span span);
Stmt *st_known(Arena *a, Expr *cond, Span span); // an assume that holds by what a pass made
Var *var_new(Arena *a, const char *name, DType type, VarKind kind, Span span);
Buffer *buf_new(Arena *a, const char *name, DType type, Scope scope, Expr **shape, int n,
                Span span);
Region *region_new(Arena *a, Buffer *b, Expr **min, Expr **extent); // copies the n pointers
Region *region_whole(Arena *a, Buffer *b);
Region *region_flat(Arena *a, Buffer *b, Expr *offset, int count); // THREAD level: one dimension
bool region_is_whole(const Region *r);                             // all of its buffer
const Buffer *buf_root(const Buffer *b); // whose storage it names: its tensor, its base, or itself
int64_t buf_elems(const Buffer *b);      // product of constant extents; dies when symbolic
int64_t buf_bytes(const Buffer *b);      // that they fill, rounded up
// Calls f on every statement, parents first; on_expr on every root expression of each.
void st_walk(Stmt *s, void (*f)(void *ctx, Stmt *s), void *ctx);
bool st_is_op(const Stmt *s, OpCode op);
bool st_has_op(Stmt *s, OpCode op);                                   // in the tree s
int st_count_op(Stmt *s, OpCode op);                                  // in the tree s
void st_exprs(Stmt *s, void (*f)(void *ctx, Expr **slot), void *ctx); // of s itself only
bool st_uses(Stmt *s, const Var *v);                                  // anywhere in the tree
Stmt *st_only(const Stmt *s); // what blocks of one statement hold; s itself where it is none
// Rebuilds a tree bottom-up: f gets each statement after its children and returns what replaces it
// (NULL: nothing).
Stmt *st_rewrite(Arena *a, Stmt *s, Stmt *(*f)(void *ctx, Stmt *s), void *ctx);
// Replaces variables in every expression of the tree (loop and let bindings themselves are kept).
void st_replace(Arena *a, Stmt *s, Expr *(*map)(void *ctx, Var *v), void *ctx);

/* access.c: the one access model: which elements a statement reads and writes itself */

typedef enum { ACC_READ, ACC_WRITE, ACC_ATOMIC } AccessMode;

typedef struct {
  AccessMode mode;
  bool async;    // completes at a later async_wait
  Region region; // element loads and stores appear as regions of extent 1
  Span span;
} Access;

// Every access of statement s itself, operands and loads inside its expressions included, not those
// of statements nested in it.
void st_accesses(Arena *a, Stmt *s, void (*f)(void *ctx, const Access *access), void *ctx);

/* ------------------------------------------------------------------ programs */

enum { WARPGROUP = 128, NAMED_BARRIERS = 16 }; // threads; of a block, its own one included

typedef enum { PARAM_TENSOR, PARAM_SCALAR } ParamKind;
typedef enum { ROLE_IN, ROLE_OUT, ROLE_INOUT } ParamRole; // INOUT: read or accumulated into as well

typedef struct {
  ParamKind kind;
  const char *name;
  Buffer *buf; // PARAM_TENSOR
  Var *var;    // PARAM_SCALAR
  ParamRole role;
  Span span;
} Param;

typedef struct {
  Expr *cond;
  Span span;
  bool on_device;  // uses block or loop variables: cannot be checked by the launcher
  const char *why; // what relies on it, for <symbol>_check; NULL for a user's T.assume
} Fact;

// A decision that the program asks for: what -fNAME=VALUE says of all kernels. 0 to HINT_MOST.
enum { HINT_MOST = 65535 };

typedef struct {
  const char *name;
  int64_t value;
} Hint;

typedef struct {
  const char *name; // <symbol>_k0
  Expr *grid[3];    // index expressions over sizes; 1 where unused
  int threads;
  Var *block[3]; // hardware block indices
  Var *workers;  // not NULL: persistent, with as many blocks as run at once, at most grid[0]:
                 // this is their number, and grid[1] and grid[2] are 1
  Var *thread;
  VEC(Buffer *) buffers; // shared, fragment and local ones, and views; in order of declaration
  Stmt *body;            // ST_BLOCK
  Level level;
  int teams;        // of consumers, `threads` each, that take turns at tiles; 0: one
  Var *team;        // whose the body is, while it stands for every team's; NULL: the threads are
                    // numbered across teams
  VEC(Hint) hints;  // of T.Kernel(...), each name once
  int raster_panel; // T.use_swizzle: 0 none; consumed by the raster pass
  bool raster_column;
  int64_t columns, narrow; // tiles along the first axis, which overlap, and the columns of each but
                           // the last that are its own (columns.c); 0: they do not
  int64_t smem_bytes;      // by the smem pass
  // THREAD level: how it is launched.
  int cluster[3];     // blocks of a cluster by axis; 0 is 1
  int launch_threads; // hardware threads of a block, which `thread` counts; 0: `threads`
  int min_blocks;     // that an SM must be able to hold; 0: no demand
  Span span;
} Kernel;

// A compile-time parameter, for messages.
typedef struct {
  const char *name, *value; // value in the syntax of -p
  bool given;               // by -p; else its default
} Bound;

typedef struct {
  const char *symbol;        // C name of the launcher
  const char *file;          // source path as given, base name only
  const char *bindings;      // "M=128, N=128" as bound, for the head comment
  VEC(Bound) bound;          // the same one by one; not in the text form
  VEC(Param) params;         // tensors and scalars as declared, eager results last
  VEC(Var *) sizes;          // symbolic sizes by first appearance
  VEC(const char *) sources; // T.import_source: CUDA text that T.call_extern's functions are in
  // T.alloc_global: global buffers of the caller's one `void *workspace`, shapes over sizes only;
  // they hold nothing before the first kernel.
  VEC(Buffer *) workspaces;
  VEC(Kernel *) kernels; // launched in this order on one stream: each sees what those before wrote
  VEC(Fact) facts;       // what proofs may use, and the launcher checks
} Program;

/* symbol.c: names of C */

bool sym_keyword(const char *word); // a keyword or macro of C, C++ or CUDA: no name may be one
// May no launcher be called so: also functions of C's and CUDA's libraries, and reserved prefixes.
bool sym_taken(const char *word);
bool sym_identifier(const char *word); // letters, digits and _, no digit first

int kernel_threads(const Kernel *k); // that a block is launched with
int kernel_cluster(const Kernel *k); // blocks of a cluster

/* grid.c: kernels that start before those ahead of them on the stream have ended */

typedef struct Traffic Traffic; // the tensors and workspaces that a kernel reads and writes

Traffic *traffic_new(Arena *a, const Kernel *k);
// Does s itself, not what is nested in it, read what k writes, or write what k reads or writes?
bool traffic_meets(const Traffic *t, Stmt *s);
bool traffic_writes(const Traffic *t, const Buffer *b); // does k?
bool traffic_meets_any(const Traffic *t, Stmt *s);      // s, or what is nested in it
// Does k start beside the program's kernel before it, and wait for that one only before what meets
// it, and at its end? (A kernel's blocks let the next one start when they have waited, so that all
// before those two is complete.)
bool kernel_waits_late(const Kernel *k);

Program *ir_clone(Arena *a, const Program *p); // deep copy with fresh variables and buffers
// A copy of one of its kernels, with fresh variables and buffers but those of the program.
Kernel *ir_clone_kernel(Arena *a, const Program *p, const Kernel *k);
void ir_private(Arena *a, Kernel *k); // fragments that nothing spreads become local
void ir_roles(Program *p);            // computes every Param.role from the accesses
// Does the first kernel that touches b only write it? Then later ones read what that one wrote.
bool ir_written_first(const Program *p, const Buffer *b);

// Every part of the workspace starts at a multiple of this many bytes.
enum { WORKSPACE_ALIGN = 256 };

/* print.c, read.c: the text form. Printing then reading gives an equal program; printing again
   gives the same bytes. */

void ir_print(const Program *p, Buf *out);
void ir_print_spans(const Program *p, Buf *out); // and the place of each statement: @file:lo-hi
void ir_print_stmt(const Stmt *s, int indent, Buf *out); // for dumps and remarks
void ir_print_expr(const Expr *x, Buf *out);
const char *ir_expr_str(Arena *a, const Expr *x);
Program *ir_read(Arena *a, Diags *d, uint32_t file); // NULL after reporting errors

/* verify.c */

// Checks every rule of the IR at its level; reports each failure as text into *why (all of them,
// with the statement). True when there is none. A failure after a pass is our bug.
bool ir_verify(const Program *p, Buf *why);

/* ------------------------------------------------------------------ affine facts (affine.c) */

// What is known at a place: ranges of variables and conditions that hold. Passes push what they
// walk into and pop back to a mark.
typedef struct Facts Facts;

Facts *facts_new(Arena *a, const Program *p, const Kernel *k); // sizes >= 0, block < grid, thread,
                                                               // and the program's facts
int facts_mark(const Facts *f);
void facts_pop(Facts *f, int mark);
void facts_push_loop(Facts *f, Var *v, Expr *min, Expr *extent);
void facts_push_let(Facts *f, Var *v, Expr *value);
void facts_push_cond(Facts *f, Expr *cond); // holds from here (conjunctions are split)
// Constant bounds of an integer expression; INT64_MIN / INT64_MAX where unbounded.
void facts_bounds(Facts *f, Expr *x, int64_t *lo, int64_t *hi);
bool facts_prove(Facts *f, Expr *cond);          // true only when cond holds wherever the facts do
bool facts_distinct(Facts *f, Expr *x, Expr *y); // x != y always? (ring slots: (k+2)%3 against k%3)
int64_t facts_divisor(Facts *f, Expr *x); // largest known d with x % d == 0; 0 for the constant 0
Expr *facts_simplify(Facts *f, Expr *x);  // same value wherever the facts hold; canonical sums,
                                          // (a*8+b)//8, (x%m)%m, decided comparisons, min and max

// x as sum of coeff[i] * term[i] + constant, terms being non-affine subexpressions or variables.
typedef struct {
  int n;
  Expr **term;
  int64_t *coeff;
  int64_t constant;
} Affine;
Affine ex_affine(Arena *a, Expr *x);
Expr *ex_from_affine(Arena *a, const Affine *x);

#endif
