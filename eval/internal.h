// eval's inside: compile-time values, the interpreter's state, and which file does what.
// SPDX-License-Identifier: MIT
#ifndef TLC_EVAL_INTERNAL_H
#define TLC_EVAL_INTERNAL_H

#include "eval/eval.h"
#include "ir/layout.h"
#include "parser/ast.h"

#include <setjmp.h>

/* ------------------------------------------------------------------ values */

typedef enum {
  V_UNSET,   // an argument that was not given
  V_ERROR,   // what a failed statement would have bound: reading it fails without a second message
  V_ESCAPED, // bound inside run-time control flow that has ended
  V_MISSING, // computed from a parameter without a value
  V_OPAQUE,  // something tlc does not know: an import, a class, a call of one
  V_NONE,
  V_ELLIPSIS,
  V_BOOL,
  V_INT,
  V_FLOAT,
  V_STR,
  V_TUPLE,
  V_LIST,
  V_DICT,
  V_SET,
  V_RANGE,
  V_DTYPE,
  V_POLICY, // T.GemmWarpPolicy
  V_FUNC,
  V_BUILTIN,
  V_METHOD, // a builtin with its first operand
  V_MODULE,
  V_EXC,    // an exception class (message NULL) or instance
  V_CLASS,  // a class of the user's
  V_OBJECT, // an instance of one
  V_PARSER, // argparse.ArgumentParser(...)
  V_TUNER,  // AutoTuner.from_kernel(...)
  V_TENSOR, // T.Tensor(...): the type of a parameter
  V_LOOP,   // T.Parallel(...) and its kin, for a `for` to run
  V_GRID,   // T.Kernel(...), for a `with` to run
  V_LAYOUT,
  V_EXPR, // a run-time value
  V_BUFFER,
  V_VAR, // T.alloc_var: reading the name loads, assigning stores
  V_REF, // a macro's T.Ref parameter: the same of the element that `expr` loads
  V_REGION,
  V_MAP,      // a layout from a function
  V_ADDRESS,  // T.address_of, T.access_ptr: the region that starts there
  V_POINTER,  // a T.ptr parameter, called `str`
  V_SECTION,  // T.ws: the threads for which `expr` holds
  V_COMBINER, // T.comm_reducer: i is a ReduceKind
} ValKind;

typedef struct {
  const char *data; // NUL-terminated
  int len;
} Str;

typedef struct Val Val;
typedef struct Seq Seq;
typedef struct Dict Dict;
typedef struct Func Func;
typedef struct Ev Ev;
typedef struct Env Env;
typedef struct Call Call;
typedef struct Module Module;
typedef struct Builtin Builtin;
typedef struct Method Method;
typedef struct Range Range;
typedef struct Grid Grid;
typedef struct Loop Loop;
typedef struct Class Class;
typedef struct Object Object;
typedef struct Tuner Tuner;

typedef struct {
  const char *what; // "torch.randn": how the program names it
  const Seq *shape; // of a tensor that host code makes; NULL when unknown
} Opaque;

typedef struct {
  int n;
  const char **names; // of parameters
  bool none; // one parameter, whose default is None
} Missing;

typedef struct {
  const char *type, *message; // message NULL: the class
} Exc;

typedef struct {
  int ndim;
  Val *shape, *strides; // strides NULL: row-major
  DType dtype;
} TensorType;

struct Val {
  ValKind kind;
  uint32_t size; // V_EXPR: nodes of the expression, counted as a tree; V_ADDRESS: 'r', 'w' or 'p'
  union {
    bool b;
    int64_t i; // also V_POLICY
    double f;
    DType dtype;
    const Str *str;
    Seq *seq; // tuples too
    Dict *dict;
    const Range *range;
    Func *fn;
    const Builtin *builtin;
    const Method *method;
    const Module *module;
    const Exc *exc;
    const Opaque *opaque;
    Class *cls;
    Object *object; // V_PARSER too: a dict of its arguments' defaults
    Tuner *tuner;
    const Missing *missing;
    const TensorType *tensor;
    const Loop *loop;
    const Grid *grid;
    Layout *layout;
    const IndexMap *map;
    Expr *expr;
    Buffer *buf;
    Region *region;
  };
};

struct Seq {
  Val *data;
  int len, cap;
  int64_t born; // Ev.clock, to refuse changes from inside run-time control flow
};

typedef struct {
  Val key, value;
  uint64_t hash;
  bool dead;
} DictEntry;

struct Dict { // and set
  VEC(DictEntry) entries; // in order of insertion
  int *slots, nslots, live;
  int64_t born;
};

// One call of a kernel, or of a factory of one, that the file itself makes.
typedef struct {
  const Func *f; // as first defined
  EvConfig bindings;
  Span at;
  bool hosted; // not by the module's own statements, but by what it would do as a program
} HostCall;

struct Range {
  Val lo, hi, step; // ints or expressions
};

// What is declared beside a tuning space; names in eval/space.c (ORDER_TUNE).
enum { TUNE_RTOL, TUNE_ATOL, TUNE_WARMUP, TUNE_REP, TUNE_TIMEOUT, TUNE_MISMATCH, TUNE_REF };
enum { TUNE_SETTINGS = TUNE_REF + 1 };

struct Func {
  const char *name;
  const AstParams *params;
  const AstBlock *body; // NULL for a lambda
  const AstExpr *expr;  // lambda
  Env *closure;
  Val *defaults; // by parameter; V_UNSET
  Span span;
  bool prim, macro, jit;
  enum { BIND_SELF, BIND_STATIC, BIND_CLASS, BIND_PROPERTY } binding; // as an attribute of a class
  Val configs, tune[TUNE_SETTINGS]; // autotune; V_UNSET
  Val pass_configs, compile_flags, out_idx; // jit; V_UNSET
  Span asked_at, tuned_at; // of the decorators
  bool called, holds_known, holds; // of `base`: was it called; does it hold a kernel, once known
  const Func *base; // as first defined: the same for every decorated copy
};

struct Method {
  Val self;
  const Builtin *fn;
};

struct Module {
  const char *name; // "tilelang.language"
  Env *env;         // of a module of the user's; NULL for tlc's own
};

struct Grid {
  int n;
  Expr *extent[3];
  int threads, ndims, dims[3];
  VEC(Hint) hints;
  Span span;
};

// How the tiles of a domain are dealt out: tile number w * wave_size + index, in groups along the
// last dimension.
typedef struct {
  int n;
  Expr *domain[8], *wave_size, *index, *group;
} Decode;

struct Loop {
  LoopKind kind;
  int n;
  Expr **min, **extent;
  int64_t step; // 1 unless n == 1
  int num_stages, unroll;
  const IndexMap *map; // T.Parallel(loop_layout=)
  const Decode *decode; // T.Persistent: the one variable counts waves; else NULL
};

/* ------------------------------------------------------------------ environments */

typedef struct {
  Val v;
  int64_t bound, read; // Ev.clock when last bound and read
  Span at;             // of the name that was last assigned; no place for parameters and loops
} Cell;

struct Env {
  Map *cells;    // name -> Cell
  Env *parent;   // enclosing scope
  Map *outer;    // names declared global or nonlocal -> Env; NULL when none
  bool function; // class and comprehension scopes are not
  bool is_class; // functions defined in it do not see its names
  const AstBlock *body; // of a function or module, to find later assignments; NULL: unknown
  bool kernel;   // body of a kernel or macro: `range` is a run-time loop
  struct RtBlock *rt; // open run-time control flow when the function was entered
};

/* ------------------------------------------------------------------ builtins and vocabulary */

// What a builtin does with operands that tlc does not know.
typedef enum {
  PURE,  // opaque in, opaque out; missing in, missing out
  NEEDS, // an error
  ANY,   // the handler looks itself
} Taste;

struct Builtin {
  const char *module, *name;
  Val (*fn)(Ev *, Call *); // NULL: known and not supported
  Taste taste;
  const char *signature; // "a, b=, *rest, *, key=": '=' marks optional ones
  const char *meaning;
};

enum { CALL_MAX = 32, EV_MAX_STEPS = 5000000 };

struct Call {
  const Builtin *fn;
  Span span;
  Val self; // of a method
  // as written
  VEC(Val) pos;
  VEC(Span) pos_at;
  VEC(struct KwArg {
    const char *name;
    Val v;
    Span at;
    Span name_at;
  }) kw;
  // bound to the signature
  Val arg[CALL_MAX];
  Span at[CALL_MAX];
  Seq *rest; // operands under *rest
};

/* ------------------------------------------------------------------ tracing */

typedef struct {
  Cell *cell;
  Val old;
  int64_t bound;
} Undo;

// One open run-time branch or loop body.
typedef struct RtBlock RtBlock;
struct RtBlock {
  RtBlock *outer;
  bool loop;
  bool elements; // a loop whose body works on single elements: no tile operations
  int64_t start; // Ev.clock at entry
  int depth;
  VEC(Undo) undo;
};

typedef struct {
  const Buffer *buf;
  ReduceKind kind;
} ReducerInfo;

// T.sync_grid before the at-th statement of the kernel.
typedef struct {
  int at;
  Span span;
} GridCut;

typedef struct {
  Program *program;
  Kernel *kernel; // NULL outside T.Kernel
  Stmt *block;    // where statements go
  RtBlock *rt;
  const Func *fn;
  bool eager;
  Map *declared;        // parameter -> Param, eager
  VEC(Buffer *) empties; // T.empty
  int ndims, dims[3];   // threads as given
  const char *symbol;
  VEC(ReducerInfo) reducers; // T.alloc_reducer
  bool outside; // something outside T.Kernel was reported
  int combiner; // ReduceKind of the T.attr around, -1 outside
  VEC(Buffer *) barriers; // T.alloc_barrier
  VEC(GridCut) cuts; // T.sync_grid
  struct Random *random; // of the kernel, since T.rng_init; v_random.c
} Trace;

/* ------------------------------------------------------------------ the interpreter */

// The loop that a jump would leave.
typedef enum { IN_NONE, IN_UNROLLED, IN_RUN_TIME, IN_ELEMENTS } InLoop;

typedef enum { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN } Flow;

// A place to come back to after an error.
typedef struct Jump Jump;
struct Jump {
  Jump *outer;
  jmp_buf buf;
  const Val *handlers; // try: what its except clauses catch; NULL: a reporting boundary
  int nhandlers;
};

typedef struct CallSite CallSite;
struct CallSite {
  CallSite *outer;
  const char *name;
  Span at;
  const Func *f;
};

// A kernel that is defined while a function of host code runs.
typedef struct {
  const char *name; // "test_add.main"
  Func *f;
} Nested;

struct Ev {
  Arena *arena;
  Diags *diags;
  Sources *sources;
  const Target *target;
  const EvOptions *options;
  EvResult *result;
  Jump *jump;
  Env *env;      // current scope
  Env *builtins; // outermost
  Trace *trace;  // NULL at pure compile time
  CallSite *calls;
  Val ret;       // of FLOW_RETURN
  Span ret_at;   // of the return statement
  int depth;     // of calls
  InLoop in_loop;
  int64_t steps, clock;
  Span at; // of the last step
  const char *stack; // address near the bottom of the C stack
  size_t arena_start;
  Map *modules;   // path -> Module, of imported files
  Map *own;       // name -> Module, of tilelang's and tvm's
  const char *folder; // of the file being run
  VEC(const char *) needed; // parameters without a value that something needed
  Exc raised;     // the exception being handled
  Map *sizes;     // T.dynamic names -> Var
  Map *used;      // names that -p may bind
  EvEntry *entry; // being evaluated
  VEC(HostCall) made;
  VEC(Tuner *) tuners;
  VEC(Nested) nested;
  Val compiled; // the function that tilelang.compile was given last
  bool hosting;   // host code is run for what it calls: errors end their statements only
  const AstBlock *body; // of the file
  int skips;      // conditions and loops of the module that were unknown
  VEC(struct Hint { // what the site of an error adds to it: a note, or a fix for editors
    Span at;
    const char *text;
    bool fix;
  }) hints;
  Val blame;       // the value that it is about; V_UNSET: none
  bool fast_math; // asked for by the kernel's pass_configs
  bool stopped;   // a limit was hit: nothing more is evaluated
};

/* value.c */

Val v_none(void);
Val v_bool(bool b);
Val v_int(int64_t i);
Val v_float(double f);
Val v_str(Ev *ev, const char *s);
Val v_strn(Ev *ev, const char *s, int n);
Val v_dtype(DType t);
Val v_expr(Expr *x, uint32_t size);
Val v_seq(Ev *ev, ValKind kind, int cap); // an empty tuple or list
void v_push(Ev *ev, Seq *s, Val v);
Val v_pair(Ev *ev, Val a, Val b);
Val v_opaque(Ev *ev, const char *fmt, ...) PRINTF_LIKE(2, 3);
Val v_missing(Ev *ev, const char *name, bool none);
Val v_missing_join(Ev *ev, Val a, Val b);
Val v_method(Ev *ev, const Builtin *fn, Val self);
Val v_buffer(Buffer *b);
bool v_is_seq(Val v); // tuple or list
bool v_is_num(Val v); // bool, int or float
bool v_is_int(Val v); // bool or int
int64_t v_as_int(Val v);
double v_as_float(Val v);
bool v_equal(Ev *ev, Val a, Val b); // Python's ==, compile-time values only
bool v_same(Val a, Val b);          // Python's is
const char *v_kind(Ev *ev, Val v); // for messages: "a list", "a run-time int32 value"
bool v_find(Ev *ev, Val v, ValKind kind,
            Val *out); // v or something inside tuples, lists, dicts and ranges

/* dict.c */

Val v_dict(Ev *ev, ValKind kind);
// Fails where the key is not hashable.
void dict_set(Ev *ev, Dict *d, Val key, Val value, Span at);
const Val *dict_peek(Ev *ev, const Dict *d, const DictEntry *like); // under an entry's key; NULL
const Val *dict_get(Ev *ev, const Dict *d, Val key, Span at); // NULL when absent
bool dict_del(Ev *ev, Dict *d, Val key, Span at);

/* text.c */

typedef VEC(char) SB;
void sb_puts(Ev *ev, SB *b, const char *s);
void sb_putn(Ev *ev, SB *b, const char *s, int n);
void sb_printf(Ev *ev, SB *b, const char *fmt, ...) PRINTF_LIKE(3, 4);
Val sb_val(Ev *ev, const SB *b);
const char *v_repr(Ev *ev, Val v);
const char *v_text(Ev *ev, Val v); // Python's str()
const char *v_brief(Ev *ev, Val v); // repr, cut for messages

/* format.c */

Val ev_format(Ev *ev, Val v, const char *spec, Span at); // format(v, spec)
Val ev_percent(Ev *ev, const Str *fmt, Val args, Span at);

/* binding.c: -p texts */

Val bind_parse(Ev *ev, const char *text);
const char *bind_text(Ev *ev, Val v); // the inverse; NULL for values that have no such text

/* env.c */

Env *env_new(Ev *ev, Env *parent);
Cell *env_find(Env *env, const char *name); // through the enclosing scopes; NULL
Env *env_home(Env *env, const char *name); // where an assignment goes
void env_set(Ev *ev, const char *name, Val v,
             Span at); // Python's assignment, kernel rules included
void env_put(Ev *ev, Env *env, const char *name, Val v); // without kernel rules
Val env_read(Ev *ev, const char *name, Span at);
Env *env_snapshot(Ev *ev, Env *env);
void rt_enter(Ev *ev, RtBlock *b, bool loop, bool elements, Span at);
void rt_restore(Ev *ev, RtBlock *b); // names back to what they were; entries stay
void rt_leave(Ev *ev, RtBlock *b);   // names bound inside become unreadable
void rt_mutate(Ev *ev, int64_t born, Span at); // a container of that age is about to change

/* expr.c, slice.c, comp.c: expressions */

Val ev_expr(Ev *ev, const AstExpr *e);
bool ev_truth(Ev *ev, Val v, Span at); // compile-time truth; fails on run-time values
bool ev_is_rt(Val v); // a run-time value that is no constant
Expr *ev_cond(Ev *ev, Val v, Span at); // run-time truth
Val ev_index(Ev *ev, Val v, const AstExpr *index, Span at);
Val ev_getitem(Ev *ev, Val v, Val index, Span at);
Val ev_comp(Ev *ev, const AstExpr *e);
Val ev_attr(Ev *ev, Val v, const char *name, Span at);
// An eager kernel's tensor that is indexed before its declaration: an error.
void ev_undeclared(Ev *ev, Val v, Span at);
bool buf_index(Ev *ev, Val v, const AstExpr *index, Region **region, Expr ***idx, Span at);
// The elements of an iterable as a list (a copy for lists); fails when v is none.
Seq *ev_items(Ev *ev, Val v, Span at);
bool ev_unknown(Val v);   // opaque, missing or poisoned
bool ev_undecided(Val v); // has no truth value at compile time: unknown, unless it would be None

/* arith.c: Python's operators on compile-time values */

Val ev_binary(Ev *ev, AstBinaryOp op, Val a, Val b, Span at);
Val ev_unary(Ev *ev, AstUnaryOp op, Val v, Span at);
Val ev_compare(Ev *ev, AstCompareOp op, Val a, Val b, Span at);
int64_t ev_floordiv(int64_t a, int64_t b);
Val ev_pow(Ev *ev, Val a, Val b, Span at);

/* device.c: run-time values */

Val dev_binary(Ev *ev, AstBinaryOp op, Val a, Val b, Span at);
Val dev_compare(Ev *ev, AstCompareOp op, Val a, Val b, Span at);
Val dev_wrap(Ev *ev, Expr *x, Span at, Val a, Val b, Val c); // x, sized by its operands
bool dev_ok(Val v); // has a run-time form: numbers, expressions
Expr *dev_expr(Ev *ev, Val v, Span at); // numbers become int32/index-free literals: see the .c
Expr *dev_like(Ev *ev, Val v, DType t, Span at); // a literal takes type t where 6.1 says so
Expr *dev_index(Ev *ev, Val v, Span at); // an integer expression of type index
void dev_pair(Ev *ev, Val a, Val b, Expr **x, Expr **y, Span at); // for two operands of one op
Expr *dev_diff(Ev *ev, Expr *hi, Expr *lo); // hi - lo, simplified
bool dev_has_load(Expr *x);
Val dev_let(Ev *ev, const char *name, Val v, Span at); // binds a value for the rest of the block

/* stmt.c, control.c, assign.c: statements */

Flow ev_block(Ev *ev, const AstBlock *b);
Flow ev_stmt(Ev *ev, const AstStmt *s);
Flow ev_if(Ev *ev, const AstStmt *s);
Flow ev_for(Ev *ev, const AstStmt *s);
Flow ev_while(Ev *ev, const AstStmt *s);
Flow ev_with(Ev *ev, const AstStmt *s);
Flow ev_try_stmt(Ev *ev, const AstStmt *s);
void ev_assign(Ev *ev, const AstExpr *target, Val v, Span at);
void ev_aug(Ev *ev, const AstStmt *s);
void ev_ann(Ev *ev, const AstStmt *s);
void ev_poison(Ev *ev, const AstStmt *s); // what a failed or undecided statement would have bound
void ev_poison_target(Ev *ev, const AstExpr *target, Val with);
void ev_poison_block(Ev *ev, const AstBlock *b, Val with);
void ev_store(Ev *ev, Buffer *b, Expr **idx, Val v, Span at);
bool ev_emits(const Ev *ev); // inside T.Kernel
void ev_emit(Ev *ev, Stmt *s);

/* call.c */

Val ev_call_expr(Ev *ev, const AstExpr *e);
Val ev_call(Ev *ev, Val fn, Call *c);
Val ev_call_func(Ev *ev, Func *f, Call *c);
Val ev_call_args(Ev *ev, Val fn, Span at, int n, const Val *args);
Func *ev_func(Ev *ev, const AstStmt *def);
Val ev_decorate(Ev *ev, const AstStmt *def);
bool ev_bind(Ev *ev, Call *c); // operands to the builtin's signature

// f with its first operand given.
Val v_bound(Ev *ev, Val f, Val self);

/* modules.c */

Val mod_attr(Ev *ev, const Module *m, const char *name, Span at);
void ev_import(Ev *ev, const AstStmt *s);
bool carver_is(const char *name); // carver.c: is it tilelang.carver, or a part of it
Val carver_module(Ev *ev, const char *name);
Val mod_builtin(Ev *ev, const char *name); // "tilelang": V_UNSET when not tlc's own
bool ev_run_file(Ev *ev, uint32_t file, Env *env);

/* builtins.c, lib.c, methods.c */

const Builtin *lib_find(const char *module, const char *name);
const Builtin *lib_at(int i); // NULL past the end
bool lib_has(const char *module); // it, or a module inside it
void lib_install(Ev *ev, Env *env); // Python's builtins
Val method_attr(Ev *ev, Val v, const char *name, Span at); // V_UNSET when there is none

/* vocab.c */

const Builtin *vocab_find(const char *name);
const char *vocab_near(Ev *ev, const char *name);

/* v_*.c: helpers that handlers share */

// The i-th operand's name in the signature; NULL: there are fewer.
const char *arg_name(Ev *ev, const Call *c, int i);
bool arg_given(const Call *c, int i);
bool arg_bool(Ev *ev, Call *c, int i, bool otherwise);
int64_t arg_int(Ev *ev, Call *c, int i, int64_t otherwise);
const char *arg_str(Ev *ev, Call *c, int i, const char *otherwise);
DType arg_dtype(Ev *ev, Call *c, int i, DType otherwise);
bool val_dtype(Ev *ev, Val v, DType *out); // dtypes, their names, torch's, Python's types
void arg_refuse(Ev *ev, Call *c, int i, const char *feature); // an operand that must stay away
void need_kernel(Ev *ev, Call *c); // inside T.Kernel, or an error
// `r[i] = r[i] op x` of a reducer in a loop over elements becomes an update; false: a plain store.
bool ev_reducer_store(Ev *ev, Buffer *b, Expr **idx, Expr *value, Span at);
void kernel_enter(Ev *ev, const Grid *g, const AstExpr *target, Span at);
void kernel_leave(Ev *ev);
void shape_of(Ev *ev, Val v, Span at, int *n, Val **out);

/* kernel.c, entry.c */

Program *trace_prim(Ev *ev, Func *f, const char *symbol);
Program *trace_eager(Ev *ev, Func *f, const char *symbol, Env *params);
bool fn_is_eager(const Func *f);
bool fn_holds_kernel(const Func *f);
bool fn_makes_kernel(const Func *f); // holds one and returns something: a factory
void ev_declare(Ev *ev, const char *name, Val type, Span at);
Var *trace_size(Ev *ev, const char *name, Span at);
Val ev_const(Ev *ev, const char *name, Span at);

#include "eval/context.h"

#endif
