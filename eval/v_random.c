// T.rng_*: random numbers of each thread, those of curand's Philox4_32_10 generator. Its state is
// in variables of the thread; only the words come from an op.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

typedef struct Random Random;
struct Random {
  Buffer *seed, *seq, *at;    // at: number of the next word in the sequence
  Buffer *word[4];            // of the block of four that the next word is in
  Buffer *held[2], *extra[2]; // normal float32, float64: is there a second one, and which?
};

static Buffer *variable(Ev *ev, const char *name, DType t, Span at) {
  Region *r;
  (void)ev_result(ev, name, t, 1, at, &r);
  return r->buf;
}

static Expr *get(Ev *ev, Buffer *b) {
  Expr *zero = ex_index(ev->arena, 0);
  return ex_load(ev->arena, b, &zero, 1);
}

static void put(Ev *ev, Buffer *b, Expr *x, Span at) {
  Expr *zero = ex_index(ev->arena, 0);
  ev_emit(ev, st_store(ev->arena, b, &zero, 1, ex_cast(ev->arena, b->dtype, x), at));
}

static Expr *number(Ev *ev, DType t, int64_t v) { return ex_int(ev->arena, t, v); }
static Expr *real(Ev *ev, DType t, double v) { return ex_float(ev->arena, t, v); }

// Is the iteration's thread known, and the order of its words?
static void own_thread(Ev *ev, Call *c) {
  need_kernel(ev, c);
  int threads = ev->trace->kernel->threads;
  for (RtBlock *r = ev->trace->rt; r; r = r->outer)
    if (r->elements && threads > 1) ev_fail(ev, DIAG_RANDOM_LOOP, c->span, c->fn->name, threads);
}

static Random *state(Ev *ev, Call *c) {
  own_thread(ev, c);
  if (!ev->trace->random) ev_fail(ev, DIAG_RANDOM_START, c->span, c->fn->name);
  return ev->trace->random;
}

static Region *whole(Ev *ev, Buffer *b) { return region_whole(ev->arena, b); }

// The block of four words that the next one is in.
static void fetch(Ev *ev, const Random *r, Span at) {
  Arena *a = ev->arena;
  Expr *block = ex_bin(a, BIN_SHR, get(ev, r->at), number(ev, DT_U64, 2));
  ev_emit(ev, st_op(a, OP_PHILOX, at, whole(ev, r->word[0]), whole(ev, r->word[1]),
                    whole(ev, r->word[2]), whole(ev, r->word[3]), block, get(ev, r->seq),
                    get(ev, r->seed)));
}

static Random *declare(Ev *ev, Span at) {
  static const char *const words[] = {"rng_w0", "rng_w1", "rng_w2", "rng_w3"};
  Random *r = NEW(ev->arena, Random);
  r->seed = variable(ev, "rng_seed", DT_U64, at);
  r->seq = variable(ev, "rng_seq", DT_U64, at);
  r->at = variable(ev, "rng_at", DT_U64, at);
  for (int i = 0; i < 4; i++) r->word[i] = variable(ev, words[i], DT_U32, at);
  for (int i = 0; i < 2; i++) {
    r->held[i] = variable(ev, "rng_held", DT_BOOL, at);
    r->extra[i] = variable(ev, "rng_extra", i ? DT_F64 : DT_F32, at);
  }
  return r;
}

// (seed, seq=, off=, generator=)
Val t_rng_init(Ev *ev, Call *c) {
  own_thread(ev, c);
  Trace *t = ev->trace;
  Arena *a = ev->arena;
  const char *generator = arg_str(ev, c, 3, "curandStatePhilox4_32_10_t");
  if (strcmp(generator, "curandStatePhilox4_32_10_t") != 0)
    ev_fail(ev, DIAG_UNSUPPORTED, c->at[3],
            arena_printf(a, "T.rng_init(generator=\"%s\")", generator));
  if (!t->random) t->random = declare(ev, c->span);
  Random *r = t->random;
  Expr *seq;
  if (arg_given(c, 1)) seq = dev_expr(ev, c->arg[1], c->at[1]);
  else {
    Expr *block = ex_mul(a, ex_var(a, t->kernel->block[0]), ex_index(a, t->dims[0]));
    Val own = thread_axis(ev, 0, c->span);
    seq = ex_add(a, block, dev_index(ev, own, c->span));
  }
  Expr *off = arg_given(c, 2) ? dev_expr(ev, c->arg[2], c->at[2]) : number(ev, DT_U64, 0);
  put(ev, r->seed, dev_expr(ev, c->arg[0], c->at[0]), c->span);
  put(ev, r->seq, seq, c->span);
  put(ev, r->at, off, c->span);
  for (int i = 0; i < 2; i++) put(ev, r->held[i], ex_bool(a, false), c->span);
  fetch(ev, r, c->span);
  return v_none();
}

// The next word, in a variable of its own.
static Expr *next(Ev *ev, const Random *r, Span at) {
  Arena *a = ev->arena;
  Buffer *out = variable(ev, "rng_word", DT_U32, at);
  Expr *which = ex_bin(a, BIN_BITAND, get(ev, r->at), number(ev, DT_U64, 3));
  Expr *x = get(ev, r->word[3]);
  for (int i = 2; i >= 0; i--)
    x = ex_select(a, ex_bin(a, BIN_EQ, which, number(ev, DT_U64, i)), get(ev, r->word[i]), x);
  put(ev, out, x, at);
  put(ev, r->at, ex_add(a, get(ev, r->at), number(ev, DT_U64, 1)), at);
  Stmt *outer = ev->trace->block, *more = st_block(a, at);
  ev->trace->block = more;
  fetch(ev, r, at);
  ev->trace->block = outer;
  ev_emit(ev, st_if(a, ex_bin(a, BIN_EQ, which, number(ev, DT_U64, 0)), more, NULL, at));
  return get(ev, out);
}

Val t_rng_rand(Ev *ev, Call *c) {
  return v_expr(ex_at(next(ev, state(ev, c), c->span), c->span), 2);
}

// x * scale + shift, as curand writes it: the product is exact.
static Expr *scaled(Ev *ev, DType t, Expr *x, double scale, double shift) {
  Arena *a = ev->arena;
  return ex_add(a, ex_mul(a, ex_cast(a, t, x), real(ev, t, scale)), real(ev, t, shift));
}

// 53 bits of two words.
static Expr *wide(Ev *ev, Expr *low, Expr *high) {
  Arena *a = ev->arena;
  Expr *up = ex_bin(a, BIN_SHL, ex_cast(a, DT_U64, high), number(ev, DT_U64, 21));
  return ex_bin(a, BIN_BITXOR, ex_cast(a, DT_U64, low), up);
}

static Expr *function(Ev *ev, MathFn fn, Expr *x) { return ex_math(ev->arena, fn, &x, 1); }

// Two normal numbers of two uniform ones, by Box and Muller: the sine's to `out`, the cosine's
// kept.
static void box_muller(Ev *ev, const Random *r, bool f64, Buffer *out, Span at) {
  static const double pi = 3.14159265358979323846;
  Arena *a = ev->arena;
  DType t = f64 ? DT_F64 : DT_F32;
  Expr *w[4], *u, *v;
  for (int i = 0; i < (f64 ? 4 : 2); i++) w[i] = next(ev, r, at);
  if (f64) {
    u = scaled(ev, t, wide(ev, w[0], w[1]), 0x1p-53, 0x1p-54);
    v = ex_mul(a, scaled(ev, t, wide(ev, w[2], w[3]), 0x1p-52, 0x1p-53), real(ev, t, pi));
  } else {
    u = scaled(ev, t, w[0], 0x1p-32, 0x1p-33);
    v = scaled(ev, t, w[1], 0x1p-31 * pi, 0x1p-32 * pi);
  }
  Buffer *angle = variable(ev, "rng_angle", t, at), *far = variable(ev, "rng_far", t, at);
  put(ev, angle, v, at);
  Expr *square = ex_mul(a, function(ev, MATH_LOG, u), real(ev, t, -2));
  put(ev, far, function(ev, MATH_SQRT, square), at);
  put(ev, out, ex_mul(a, function(ev, MATH_SIN, get(ev, angle)), get(ev, far)), at);
  put(ev, r->extra[f64], ex_mul(a, function(ev, MATH_COS, get(ev, angle)), get(ev, far)), at);
  put(ev, r->held[f64], ex_bool(a, true), at);
}

static Expr *normal(Ev *ev, const Random *r, bool f64, Span at) {
  Arena *a = ev->arena;
  Buffer *out = variable(ev, "rng_normal", f64 ? DT_F64 : DT_F32, at);
  Stmt *outer = ev->trace->block, *kept = st_block(a, at), *fresh = st_block(a, at);
  ev->trace->block = fresh;
  box_muller(ev, r, f64, out, at);
  ev->trace->block = kept;
  put(ev, out, get(ev, r->extra[f64]), at);
  put(ev, r->held[f64], ex_bool(a, false), at);
  ev->trace->block = outer;
  Buffer *held = variable(ev, "rng_had", DT_BOOL, at); // the branches change the flag itself
  put(ev, held, get(ev, r->held[f64]), at);
  ev_emit(ev, st_if(a, get(ev, held), kept, fresh, at));
  return get(ev, out);
}

// (bit=32, dist="uniform")
Val t_rng_rand_float(Ev *ev, Call *c) {
  const Random *r = state(ev, c);
  int64_t bit = arg_int(ev, c, 0, 32);
  const char *dist = arg_str(ev, c, 1, "uniform");
  if (bit != 32 && bit != 64)
    ev_fail(ev, DIAG_ARGUMENT, c->at[0], "T.rng_rand_float", "bit", "32 or 64",
            v_brief(ev, c->arg[0]));
  Expr *x;
  if (!strcmp(dist, "normal")) x = normal(ev, r, bit == 64, c->span);
  else if (strcmp(dist, "uniform") != 0)
    ev_fail(ev, DIAG_ARGUMENT, c->at[1], "T.rng_rand_float", "dist", "\"uniform\" or \"normal\"",
            v_brief(ev, c->arg[1]));
  else if (bit == 64) x = scaled(ev, DT_F64, next(ev, r, c->span), 0x1p-32, 0x1p-32);
  else x = scaled(ev, DT_F32, next(ev, r, c->span), 0x1p-32, 0x1p-33);
  return v_expr(ex_at(x, c->span), 5);
}
