// runtime: what --run, --bench and --tune need of a machine: arrays in files, inputs, comparison,
// nvcc, the GPU through libcuda, timing, and cuBLAS to compare with. No compiler headers.
// SPDX-License-Identifier: MIT
#ifndef TLC_RUNTIME_H
#define TLC_RUNTIME_H

#include "base/base.h"

// How a call that depends on the world ended. Every function that takes `Buf *err` appends one
// sentence without a newline where it does not return RT_OK: what, its value, the rule it broke.
typedef enum {
  RT_OK,
  RT_FAILED,  // wrong input, a failed check, a failed compilation or launch
  RT_MISSING, // this machine lacks something: no GPU, no nvcc, no cuBLAS (exit status 3)
} RtStatus;

/* array.c: element types and arrays */

typedef enum {
#define RT_TYPE(e, name, bits, kind, npy) e,
#include "runtime/types.def"
#undef RT_TYPE
  RT_TYPE_COUNT
} RtType;

bool rt_type_find(const char *name, RtType *out); // "float16", "float8_e4m3fn", "bool", "int4", ...
const char *rt_type_name(RtType t);
int rt_type_bits(RtType t);
bool rt_type_is_float(RtType t);
size_t rt_type_bytes(RtType t, int64_t count); // of `count` elements packed, rounded up

enum { RT_MAX_RANK = 32 };

typedef struct {
  RtType type;
  int rank;
  int64_t shape[RT_MAX_RANK];
  void *data; // row-major, little endian; sub-byte types packed, low bits first
} RtArray;

int64_t rt_count(const RtArray *a); // elements; 1 for rank 0
// Element i as a double: exact but for 64-bit integers of more than 53 significant bits.
double rt_get(RtType t, const void *data, int64_t i);
// Rounds once to the type, as base/numeric.h does; integers are cut toward zero and wrap.
void rt_set(RtType t, void *data, int64_t i, double value);

/* npy.c: NumPy's .npy format, versions 1 to 3 (numpy.lib.format). bf16 and fp8 travel as raw bits
   in uint16 and uint8; int4 as uint8 pairs with half the last dimension. */

// Reads a file of any supported type into `a`; Fortran order is transposed to row-major.
RtStatus rt_npy_read(Arena *a, const char *path, RtArray *out, Buf *err);
// Reads a file into an array of known type and shape, whose data the caller owns; the file must
// agree. `name` is what the array is called in messages.
RtStatus rt_npy_load(const char *path, const char *name, const RtArray *into, Buf *err);
RtStatus rt_npy_write(const char *path, const RtArray *array, Buf *err);
// Where the data starts and what it is, from the file's first `n` bytes; `fortran` says the order.
bool rt_npy_header(const void *bytes, size_t n, RtArray *out, bool *fortran, size_t *data_at,
                   Buf *err);

/* fill.c: inputs that depend on the seed alone, not on the machine's threads or on libc's rand */

typedef enum {
  RT_NORMAL,   // floats N(0,1); integers as RT_INTEGERS
  RT_INTEGERS, // -4..4, unsigned 0..4, bool 0 and 1, also as integer-valued floats
  RT_ZEROS,
  RT_BITS,   // any bit pattern, NaN included; bool 0 and 1. To time integers: small ones run faster
  RT_POISON, // floats NaN, other types bytes of 0xcd: for what a kernel must write
} RtFill;

// `stream` tells apart the arrays of one run, say by parameter number.
void rt_fill(void *data, RtType type, int64_t count, RtFill how, uint64_t seed, uint64_t stream);

/* compare.c */

typedef struct {
  const float *bound;  // per element, the absolute error allowed; NULL: rtol and atol
  double rtol, atol;   // |got - want| <= atol + rtol * |want|; both 0: exact
  const uint8_t *mask; // one byte an element, 0: do not look; NULL: look at all
} RtTolerance;

typedef struct {
  int64_t checked, wrong;
  int64_t first;             // index of the first wrong element, -1: none
  double got, want, allowed; // there
  double max_abs, max_rel;   // over finite pairs; relative to |want|, where that is not 0
} RtDiff;

// Compares every element. NaN equals only NaN, an infinity only itself, -0 equals 0.
RtDiff rt_compare(RtType type, int64_t count, const void *got, const void *want,
                  const RtTolerance *tolerance);
// "3 of 4096 elements differ; first at [1, 17]: got 0.5, want 0.25, allowed 0.001; ..."
void rt_diff_text(Buf *out, const RtDiff *diff, const RtArray *shape);

/* build.c: nvcc, with a cache of its results in $XDG_CACHE_HOME/tlc or ~/.cache/tlc */

typedef enum { RT_SHARED, RT_CUBIN, RT_PTX, RT_EXE } RtBuildKind;

typedef struct {
  const char *name; // stem for the temporary .cu, seen in nvcc's messages; NULL: "kernel"
  const char *text;
  size_t len;
  const char *arch; // "sm_80", "sm_90a"; NULL: `flags` say it
  RtBuildKind kind;
  const char *const *flags; // more of nvcc's, NULL-terminated; NULL: none
} RtBuild;

// Path of nvcc, or NULL: $CUDACXX, $CUDA_HOME/bin, $PATH, /usr/local/cuda/bin, in this order.
const char *rt_nvcc(Arena *a, Buf *err);
// Compiles; *path (in `a`) names the result, which the cache owns. On failure err holds what nvcc
// said. *log, if wanted, gets its text of a successful run, and nothing when the cache had it.
RtStatus rt_build(Arena *a, const RtBuild *b, const char **path, Buf *log, Buf *err);

// The same in two steps, for who runs nvcc in its own way.
typedef struct {
  const char *path;   // the result; at first NULL unless the cache has it
  char **argv;        // else to be run, NULL-terminated, argv[0] a path ...
  const char *folder; // ... in this folder
  const char *root, *out;
  const char *aside; // why this is in $TMPDIR or /tmp; NULL: it is in the cache's folder
  uint64_t key[2];
} RtPlan;

RtStatus rt_build_plan(Arena *a, const RtBuild *b, RtPlan *out, Buf *err);
// After it ran (good: exit status 0), or shall not: sets `path`, or fails and the folder is gone.
RtStatus rt_build_done(Arena *a, RtPlan *p, bool good, Buf *err);

/* kernel.c: a generated .cu as a loaded library. A caller for the launcher's exact signature is
   appended to the text, so the C++ compiler, not a guess at the ABI, passes the arguments. */

typedef struct {
  RtType type;
  bool pointer; // a tensor or a workspace; else a scalar of the type (16-bit floats as their bits)
} RtParam;

typedef union {
  void *p;
  int64_t i; // bool and every integer type; the bits of a 16-bit float
  float f;
  double d;
} RtValue;

typedef struct {
  const char *symbol; // extern "C" cudaError_t symbol(params..., cudaStream_t)
  const RtParam *params;
  int n;
  bool has_check;     // cudaError_t symbol_check(params..., char *, size_t)
  int sizes;          // how many params are symbolic sizes: the last ones before the workspace
  bool has_workspace; // the last param; size_t symbol_workspace(sizes...) gives its bytes
  RtBuild build;      // kind is taken as RT_SHARED
} RtSource;

typedef struct RtKernel RtKernel;

RtStatus rt_kernel_load(const RtSource *source, RtKernel **out, Buf *err);
// Its first half: the library that nvcc makes, by path.
RtStatus rt_kernel_build(Arena *a, const RtSource *source, const char **path, Buf *err);
// The two halves of it: the text that is to be built, and a library built from that text.
void rt_kernel_text(const RtSource *source, Buf *out);
RtStatus rt_kernel_open(const RtSource *source, const char *path, RtKernel **out, Buf *err);
// Has the CUDA runtime load its kernels now, which else happens at the first launch.
void rt_kernel_ready(RtKernel *k);
void rt_kernel_free(RtKernel *k); // NULL is fine
// To a text of cg_numbers_text, as many as it takes.
RtStatus rt_kernel_take_numbers(RtKernel *k, const int64_t *numbers, Buf *err);
// Calls the launcher. A cudaError_t other than 0 becomes its name in err.
RtStatus rt_kernel_launch(RtKernel *k, const RtValue *args, void *stream, Buf *err);
// Calls <symbol>_check: RT_FAILED and its message when an assumption of the code does not hold.
RtStatus rt_kernel_check(RtKernel *k, const RtValue *args, Buf *err);
int64_t rt_kernel_workspace(RtKernel *k, const RtValue *args); // bytes; 0 where none is needed
// The launcher's parameters without the stream; returns how many.
int rt_kernel_params(const RtKernel *k, const RtParam **params, bool *has_workspace);

/* gpu.c: one device through libcuda (opened at run time), its primary context and a stream */

typedef struct RtGpu RtGpu;

typedef struct {
  char name[96];
  int sm;             // 10 * major + minor of the compute capability
  char arch[16];      // nvcc's name of its own code: "sm_80", "sm_90a"
  int sms;            // multiprocessors
  int64_t memory;     // bytes
  int64_t l2;         // bytes
  int64_t smem_block; // bytes a block may opt in to
  int64_t smem_sm;    // bytes of a multiprocessor
  int regs_sm, threads_sm, warp;
  int driver; // CUDA version of the driver: 13000
} RtGpuInfo;

RtStatus rt_gpu_open(int ordinal, RtGpu **out, Buf *err);
// Its two halves: what it is, in no time; then it can be used.
RtStatus rt_gpu_find(int ordinal, RtGpu **out, Buf *err);
RtStatus rt_gpu_start(RtGpu *g, Buf *err);
void rt_gpu_close(RtGpu *g); // NULL is fine
const RtGpuInfo *rt_gpu_info(const RtGpu *g);
void *rt_gpu_stream(const RtGpu *g);                                 // a cudaStream_t
RtStatus rt_gpu_alloc(RtGpu *g, size_t bytes, void **out, Buf *err); // 256-byte aligned
void rt_gpu_free(RtGpu *g, void *device);
// Copies to and from host memory are several times faster while it is pinned. False: it is not.
bool rt_gpu_pin(RtGpu *g, void *host, size_t bytes);
void rt_gpu_unpin(RtGpu *g, void *host); // before it is freed
RtStatus rt_gpu_upload(RtGpu *g, void *device, const void *host, size_t bytes, Buf *err);
RtStatus rt_gpu_download(RtGpu *g, void *host, const void *device, size_t bytes, Buf *err);
RtStatus rt_gpu_memset(RtGpu *g, void *device, int byte, size_t bytes, Buf *err); // on the stream
// Waits for the stream. Errors of earlier launches appear here, by name. After a fault, or when the
// time limit has passed (a hang), the context is lost: end the process with _exit.
RtStatus rt_gpu_sync(RtGpu *g, Buf *err);
void rt_gpu_limit(RtGpu *g, double seconds); // for each wait from now on; 0, as at first: no limit
// Seconds that kernels have run so far, by the GPU's clock, of those that time.c and bench.c
// launch; what they launch to warm up counts as much as what follows it.
double rt_gpu_busy(const RtGpu *g);

/* call.c: a kernel bound to its arguments in device memory */

typedef struct {
  RtParam param;
  void *host; // tensors: what to upload; NULL: they start as bytes of 0xff, as a workspace does
  size_t bytes;
  RtValue scalar; // the others
} RtArg;

typedef struct RtCall RtCall;

// Checks the arguments, allocates (with guard bands around each tensor) and uploads.
RtStatus rt_call_new(RtGpu *g, RtKernel *k, const RtArg *args, int n, RtCall **out, Buf *err);
// Another kernel on the tensors of `of`, which has to outlive it; a workspace is its own.
RtStatus rt_call_like(const RtCall *of, RtKernel *k, RtCall **out, Buf *err);
void rt_call_free(RtCall *c); // NULL is fine
// The tensors' host bytes again; a workspace becomes NaN and -1 again.
RtStatus rt_call_upload(RtCall *c, Buf *err);
RtStatus rt_call_reset(RtCall *c, int i, Buf *err);          // the same of one of them
RtStatus rt_call_launch(void *call, void *stream, Buf *err); // fits RtContender.launch
// Waits, then copies tensor `i` back to `host`.
RtStatus rt_call_fetch(RtCall *c, int i, void *host, Buf *err);
// Fails when the kernel wrote into a guard band, naming the argument's number and the side.
RtStatus rt_call_guards(RtCall *c, Buf *err);
void *rt_call_device(const RtCall *c, int i); // device address of tensor i

/* pick.c: chosen elements of tensors that are large */

typedef struct RtPick RtPick;

// Elements at[n], n > 0, of `bytes` (1, 2, 4 or 8) each.
RtStatus rt_pick_new(RtGpu *g, const int64_t *at, int64_t n, size_t bytes, RtPick **out, Buf *err);
// Waits, then copies those of a tensor to the host, where they stay until the next call.
RtStatus rt_pick_fetch(RtPick *p, const void *device, const void **values, Buf *err);
void rt_pick_free(RtPick *p); // NULL is fine

/* bench.c: bursts of launches, contenders interleaved (DESIGN.md section 8) */

typedef struct {
  const char *name;
  RtStatus (*launch)(void *ctx, void *stream, Buf *err);
  void *ctx;
} RtContender;

typedef struct {
  int rounds;      // 0: 7; where a ratio decides, 15
  double idle_s;   // rest before a burst; 0: 0.3; negative: none
  double burst_ms; // least length of a burst; 0: 10
  bool cold_l2;    // empty the L2 cache before every launch, timing each alone
  bool brief;      // two launches will do
} RtBenchOptions;

typedef struct {
  const char *name;
  double us;                 // median of the rounds, one launch
  double us_lo, us_hi;       // 95 % interval of that median
  double ratio;              // median over rounds of (contender 0's time / this one's)
  double ratio_lo, ratio_hi; // 95 % interval
  int rounds, launches;      // launches in a burst
} RtTiming;

// Times n contenders; out[n]. Ratios are relative to contender 0, whose own is 1.
RtStatus rt_bench(RtGpu *g, const RtContender *list, int n, const RtBenchOptions *o, RtTiming *out,
                  Buf *err);
// As rt_bench, for a search that is in a hurry: short bursts and few rests (turns.c), of rested_s
// seconds. `stays` may be NULL. Without ratios.
RtStatus rt_turns(RtGpu *g, const RtContender *list, int n, int rounds, bool narrows,
                  const bool *stays, RtTiming *out, double *rested_s, Buf *err);
// The contender that is the k-th of n in a round: each round begins with another one, and every
// other round goes backwards, so that none always follows the same one.
int rt_turn(int round, int k, int n);
// Median of n > 0 samples, and the order statistics that hold the population's median with at least
// 95 % confidence (the extremes where n < 6). Sorts the samples.
double rt_median(double *samples, int n, double *lo, double *hi);

/* turns.c: when a GPU that throttles rests, and who takes part how long */

typedef struct {
  int n, rounds;
  bool narrows;          // contenders that are clearly behind sit out after two rounds
  const bool *stays;     // n, those that never do, nor are the best; NULL: none
  double idle_s, heat_s; // how long nothing ran before, and kernels after that
  // Plays contender `who`: ms a launch, and how long kernels ran.
  RtStatus (*burst)(void *ctx, int who, double *ms, double *busy_s, Buf *err);
  void (*rest)(void *ctx, double seconds);
  void *ctx;
} RtTurns;

typedef struct {
  double **ms; // n lists of `rounds`: those that count
  int *rounds; // n, how many do
  double rested_s;
} RtTurnsResult;

// Rounds of all contenders. The GPU has a rest before the first. A round in which contenders
// were slower than they had been is of a GPU that throttles: it does not count, and from then on
// the GPU rests before each round, and between bursts, twice as long each time this happens.
RtStatus rt_turns_play(const RtTurns *o, RtTurnsResult *out, Buf *err);

/* time.c: single launches, for a search among many kernels */

typedef struct {
  int warmup, rep; // launches
  bool cold_l2;    // empty the L2 cache before each launch, outside of what is timed
  double stop_us;  // give up early where the first launches all take longer; 0: never
  double most_s;   // of timed launches; fewer than `rep` are done where they would take longer
  void (*meanwhile)(void *ctx); // called once all are in the stream; NULL: nothing
  void *ctx;
} RtTimeOptions;

typedef struct {
  double median_us, mean_us, min_us, max_us;
  int launches;
  bool early; // given up: the figures are of the first launches
} RtSamples;

// Times single launches one after another, each between two events. Quick; for who needs to know a
// few percent there is rt_bench.
RtStatus rt_time(RtGpu *g, const RtContender *who, const RtTimeOptions *o, RtSamples *out,
                 Buf *err);

/* blas.c: cublasLt as a contender */

typedef struct {
  RtType in, out; // f16, bf16, tf32, f32, f64, int8, fp8; sums in f32, of int8 int32, of f64 f64
  int64_t m, n, k;
  bool trans_a, trans_b; // C[m,n] = op(A) op(B), row-major; trans_a: A is [k,m]; trans_b: B [n,k]
  const void *a, *b;     // device
  void *c;
} RtGemm;

typedef struct RtBlas RtBlas;

// Times the library's first 8 heuristics (64 MiB workspace) and keeps the best; this and every
// launch overwrite c. idle_s: as RtBenchOptions has it. RT_MISSING where the library, or an
// algorithm for the types, is not there.
RtStatus rt_blas_new(RtGpu *g, const RtGemm *gemm, double idle_s, RtBlas **out, Buf *err);
// Its operands from now on, aligned as those that it was made with.
void rt_blas_operands(RtBlas *b, const void *a, const void *operand_b);
void rt_blas_free(RtBlas *b);
RtStatus rt_blas_launch(void *blas, void *stream, Buf *err); // fits RtContender.launch

/* copy.c: the bandwidth of device memory as a contender */

typedef struct RtCopy RtCopy;

// A copy of half of each tensor's bytes, from their host contents: as many are read and written
// together as the tensors hold.
RtStatus rt_copy_new(RtGpu *g, const RtArg *args, int n, RtCopy **out, Buf *err);
void rt_copy_free(RtCopy *c);                                // NULL is fine
RtStatus rt_copy_launch(void *copy, void *stream, Buf *err); // fits RtContender.launch

/* report.c */

typedef struct {
  const char *kernel; // what was timed
  const RtGpuInfo *gpu;
  const RtTiming *time;
  const RtTiming *reference; // NULL: none; the ratio is then not shown
  double flops, bytes;       // of one launch; 0: unknown
  bool cold_l2;
  const char *arch, *bindings; // what it was compiled for and with; NULL: not said
} RtReport;

void rt_report_text(Buf *out, const RtReport *r); // one line
void rt_report_json(Buf *out, const RtReport *r); // one object, one line
void rt_json_string(Buf *out, const char *s);     // quoted and escaped

#endif
