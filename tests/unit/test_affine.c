// ir/affine: claims about random integer expressions against exhaustive evaluation, and the proofs
// that kernels need.
// SPDX-License-Identifier: MIT
#include "ir_eval.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>

static Arena *arena;
static uint64_t seed;

static uint32_t rnd(uint32_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % n;
}

/* random worlds: three variables with ranges, a let, conditions */

typedef struct {
  Var *v[3], *let;
  int64_t lo[3], n[3];
  bool symbolic; // v[2] runs up to an expression of v[0]
  Expr *end;
  Expr *let_value;
  int nconds;
  Expr *cond[3];
} World;

static World w;

static Expr *gen(int depth, DType t);

static Expr *gen_leaf(DType t) {
  static const int64_t some[] = {0,  1,  2,  3,  4,  5,  7, 8,   12, 16,
                                 32, -1, -2, -3, -4, -8, 6, 127, 128};
  int pick = (int)rnd(5);
  if (t == DT_BOOL)
    return ex_bin(arena, (BinOp)(BIN_LT + (int)rnd(4)), gen(0, DT_INDEX), gen(0, DT_INDEX));
  if (pick < 3 && t == DT_INDEX) return ex_var(arena, w.v[pick]);
  if (pick == 3 && t == DT_INDEX && w.let_value) return ex_var(arena, w.let);
  if (pick < 4 && t != DT_INDEX) return ex_cast(arena, t, ex_var(arena, w.v[rnd(3)]));
  return ex_int(arena, t, some[rnd(LEN(some))]);
}

static Expr *positive(DType t) {
  static const int64_t some[] = {1, 2, 3, 4, 5, 8, 12, 16, 32};
  return ex_int(arena, t, some[rnd(LEN(some))]);
}

static Expr *gen_int(int depth, DType t) {
  static const BinOp any[] = {BIN_ADD,      BIN_SUB,      BIN_MUL,    BIN_MIN,   BIN_MAX,
                              BIN_FLOORDIV, BIN_FLOORMOD, BIN_BITAND, BIN_BITOR, BIN_BITXOR};
  Expr *x = gen(depth - 1, t), *arg;
  switch (rnd(16)) {
  case 0: case 1: case 2: return ex_add(arena, x, gen(depth - 1, t));
  case 3: return ex_sub(arena, x, gen(depth - 1, t));
  case 4: case 5: return ex_mul(arena, x, positive(t));
  case 6: case 7: return ex_floordiv(arena, x, positive(t));
  case 8: case 9: return ex_floormod(arena, x, positive(t));
  case 10: return ex_bin(arena, rnd(2) ? BIN_SHR : BIN_SHL, x, ex_int(arena, t, rnd(4)));
  case 11: return ex_bin(arena, BIN_BITAND, x, ex_int(arena, t, (1 << rnd(5)) - 1));
  case 12: return ex_select(arena, gen(depth - 1, DT_BOOL), x, gen(depth - 1, t));
  case 13:
    arg = x;
    return rnd(2) ? ex_math(arena, MATH_ABS, &arg, 1)
                  : ex_un(arena, rnd(2) ? UN_NEG : UN_BITNOT, x);
  case 14: return ex_cast(arena, t, gen(depth - 1, rnd(2) ? DT_I8 : DT_INDEX));
  default: return ex_bin(arena, any[rnd(LEN(any))], x, gen(depth - 1, t));
  }
}

static Expr *gen(int depth, DType t) {
  if (depth <= 0 || rnd(8) == 0) return gen_leaf(t);
  if (t != DT_BOOL) return gen_int(depth, t);
  switch (rnd(6)) {
  case 0: return ex_and(arena, gen(depth - 1, t), gen(depth - 1, t));
  case 1: return ex_bin(arena, BIN_OR, gen(depth - 1, t), gen(depth - 1, t));
  case 2: return ex_un(arena, UN_NOT, gen(depth - 1, t));
  default: {
    DType side = rnd(6) ? DT_INDEX : DT_I8;
    return ex_bin(arena, (BinOp)(BIN_LT + (int)rnd(4)), gen(depth - 1, side), gen(depth - 1, side));
  }
  }
}

static void new_world(void) {
  static const char *const names[] = {"i", "j", "k"};
  w = (World){0};
  for (int i = 0; i < 3; i++) {
    w.v[i] = var_new(arena, names[i], DT_INDEX, VAR_LOOP, NO_SPAN);
    w.lo[i] = rnd(3) ? 0 : (int64_t)rnd(9) - 4;
    w.n[i] = (int64_t)(1 << rnd(4)) + (rnd(3) ? 0 : rnd(4));
  }
  w.symbolic = rnd(3) == 0;
  if (w.symbolic)
    w.end = ex_floordiv(arena, ex_add(arena, ex_var(arena, w.v[0]), ex_index(arena, rnd(8))),
                        positive(DT_INDEX));
  w.let = var_new(arena, "x", DT_INDEX, VAR_LET, NO_SPAN);
  if (rnd(2)) w.let_value = gen(2, DT_INDEX);
  if (w.let_value && w.let_value->type != DT_INDEX) w.let_value = NULL;
  w.nconds = (int)rnd(3);
  for (int i = 0; i < w.nconds; i++) w.cond[i] = gen(2, DT_BOOL);
}

static Facts *push_world(void) {
  Facts *f = facts_new(arena, NULL, NULL);
  for (int i = 0; i < 2; i++)
    facts_push_loop(f, w.v[i], ex_index(arena, w.lo[i]), ex_index(arena, w.n[i]));
  facts_push_loop(f, w.v[2], ex_index(arena, w.symbolic ? 0 : w.lo[2]),
                  w.symbolic ? w.end : ex_index(arena, w.n[2]));
  if (w.let_value) facts_push_let(f, w.let, w.let_value);
  for (int i = 0; i < w.nconds; i++) facts_push_cond(f, w.cond[i]);
  return f;
}

// Calls f at every assignment that the world allows.
static int each_point(void (*f)(const Env *env, void *ctx), void *ctx) {
  Env env = {.n = 4, .var = {w.v[0], w.v[1], w.v[2], w.let}};
  int points = 0;
  for (int64_t i = 0; i < w.n[0]; i++) {
    for (int64_t j = 0; j < w.n[1]; j++) {
      env.value[0] = w.lo[0] + i;
      env.value[1] = w.lo[1] + j;
      bool ok = true;
      int64_t lo = w.symbolic ? 0 : w.lo[2], n = w.symbolic ? eval_int(&env, w.end, &ok) : w.n[2];
      for (int64_t k = 0; k < n; k++) {
        env.value[2] = lo + k;
        ok = true;
        env.value[3] = w.let_value ? eval_int(&env, w.let_value, &ok) : 0;
        for (int c = 0; c < w.nconds && ok; c++) ok = eval_int(&env, w.cond[c], &ok) && ok;
        if (!ok) continue;
        points++;
        f(&env, ctx);
      }
    }
  }
  return points;
}

typedef struct {
  Expr *x, *y;
  int64_t lo, hi, divisor; // claims
  int64_t min, max;        // seen
  bool prove, refute, distinct;
  const char *wrong;
  Env at;
} Claim;

static void fail_at(Claim *c, const Env *env, const char *what) {
  if (!c->wrong) c->at = *env;
  c->wrong = what;
}

static void check_int(const Env *env, void *ctx) {
  Claim *c = ctx;
  bool ok = true;
  int64_t v = eval_int(env, c->x, &ok);
  if (!ok) return;
  if (v < c->min) c->min = v;
  if (v > c->max) c->max = v;
  int64_t known;
  if (ex_const_at(arena, c->x, env->var, env->value, env->n, &known) && known != v)
    fail_at(c, env, "value at a point");
  if (v < c->lo || v > c->hi) fail_at(c, env, "bounds");
  if (c->divisor == 0 ? v != 0 : v % c->divisor != 0) fail_at(c, env, "divisor");
  if (!c->y) return;
  int64_t u = eval_int(env, c->y, &ok);
  if (!ok) fail_at(c, env, "simplified to something undefined");
  if (ok && u != v) fail_at(c, env, "simplify");
}

static void check_bool(const Env *env, void *ctx) {
  Claim *c = ctx;
  bool ok = true;
  int64_t v = eval_int(env, c->x, &ok);
  if (!ok) return;
  int64_t known;
  if (ex_const_at(arena, c->x, env->var, env->value, env->n, &known) && known != v)
    fail_at(c, env, "value at a point");
  if (c->prove && !v) fail_at(c, env, "prove");
  if (c->refute && v) fail_at(c, env, "prove not");
  int64_t u = eval_int(env, c->y, &ok);
  if (!ok || u != v) fail_at(c, env, "simplify of a condition");
}

static void check_distinct(const Env *env, void *ctx) {
  Claim *c = ctx;
  bool ok = true;
  int64_t v = eval_int(env, c->x, &ok), u = eval_int(env, c->y, &ok);
  if (ok && c->distinct && v == u) fail_at(c, env, "distinct");
}

static void report(const Claim *c, uint64_t at) {
  if (!c->wrong) return;
  Buf b = {0};
  buf_printf(&b, "seed %llu: %s is wrong for x = %s", (unsigned long long)at, c->wrong,
             ir_expr_str(arena, c->x));
  if (c->y) buf_printf(&b, "\n y = %s", ir_expr_str(arena, c->y));
  buf_printf(&b, "\n bounds %lld..%lld divisor %lld\n at i=%lld j=%lld k=%lld x=%lld",
             (long long)c->lo, (long long)c->hi, (long long)c->divisor, (long long)c->at.value[0],
             (long long)c->at.value[1], (long long)c->at.value[2], (long long)c->at.value[3]);
  if (w.let_value) buf_printf(&b, "\n let x = %s", ir_expr_str(arena, w.let_value));
  if (w.symbolic) buf_printf(&b, "\n k < %s", ir_expr_str(arena, w.end));
  for (int i = 0; i < w.nconds; i++) buf_printf(&b, "\n cond %s", ir_expr_str(arena, w.cond[i]));
  ck_abort_msg("%s", buf_str(&b));
}

static struct {
  int unstable; // simplified twice gives something else than once
  int ints, tight_lo, tight_hi, bools, decided, true_everywhere;
} score;

// What is asked under another condition leaves nothing behind that is taken for known later.
static void ask_elsewhere(Facts *f, Expr *x) {
  int64_t lo, hi;
  int mark = facts_mark(f);
  facts_push_cond(f, gen(2, DT_BOOL));
  facts_bounds(f, x, &lo, &hi);
  facts_bounds(f, ex_var(arena, w.let), &lo, &hi);
  facts_simplify(f, x);
  facts_pop(f, mark);
}

static void one_round(uint64_t at) {
  arena = arena_new();
  seed = at * 0x9e3779b97f4a7c15u + 12345;
  new_world();
  Facts *f = push_world();
  Claim c = {.x = gen(1 + (int)rnd(4), DT_INDEX), .min = INT64_MAX, .max = INT64_MIN};
  if (rnd(2)) ask_elsewhere(f, c.x);
  facts_bounds(f, c.x, &c.lo, &c.hi);
  c.divisor = facts_divisor(f, c.x);
  c.y = facts_simplify(f, c.x);
  score.unstable += !ex_equal(facts_simplify(f, c.y), c.y);
  if (each_point(check_int, &c) && c.min <= c.max) {
    score.ints++;
    score.tight_lo += c.lo == c.min;
    score.tight_hi += c.hi == c.max;
  }
  report(&c, at);
  c = (Claim){.x = gen(1 + (int)rnd(3), DT_BOOL), .min = INT64_MAX, .max = INT64_MIN};
  if (rnd(2)) ask_elsewhere(f, c.x);
  c.prove = facts_prove(f, c.x);
  c.refute = facts_prove(f, ex_un(arena, UN_NOT, c.x));
  c.y = facts_simplify(f, c.x);
  each_point(check_bool, &c);
  report(&c, at);
  c = (Claim){.x = c.x, .hi = INT64_MAX, .lo = INT64_MIN, .divisor = 1, .min = 2, .max = -1};
  each_point(check_int, &c);
  score.bools += c.min <= c.max;
  score.true_everywhere += c.min == c.max;
  score.decided +=
      c.min == c.max && (facts_prove(f, c.x) || facts_prove(f, ex_un(arena, UN_NOT, c.x)));
  c = (Claim){.x = gen(2, DT_INDEX), .y = gen(2, DT_INDEX)};
  c.distinct = facts_distinct(f, c.x, c.y);
  each_point(check_distinct, &c);
  report(&c, at);
  arena_free(arena);
}

static int rounds(void) {
  const char *s = getenv("TLC_AFFINE_ROUNDS");
  return s ? atoi(s) : 20000;
}

START_TEST(claims_hold_everywhere) {
  const char *s = getenv("TLC_AFFINE_SEED");
  uint64_t first = s ? strtoull(s, NULL, 0) : 1;
  for (int i = 0; i < rounds(); i++) one_round(first + (uint64_t)i);
  ck_assert_msg(score.unstable * 100 <= rounds(), "%d of %d sums are not canonical at once",
                score.unstable, rounds());
  if (getenv("TLC_AFFINE_SCORE"))
    printf("bounds: %d, exact low %d, exact high %d; conditions: %d, constant %d, decided %d\n",
           score.ints, score.tight_lo, score.tight_hi, score.bools, score.true_everywhere,
           score.decided);
}
END_TEST

/* what kernels need */

static Expr *ix(int64_t v) { return ex_index(arena, v); }
static Expr *va(Var *v) { return ex_var(arena, v); }
static Expr *add(Expr *x, Expr *y) { return ex_add(arena, x, y); }
static Expr *mul(Expr *x, int64_t k) { return ex_mul(arena, x, ix(k)); }
static Expr *quo(Expr *x, int64_t k) { return ex_floordiv(arena, x, ix(k)); }
static Expr *mod(Expr *x, int64_t k) { return ex_floormod(arena, x, ix(k)); }
static Expr *lt(Expr *x, Expr *y) { return ex_lt(arena, x, y); }
static Expr *cmp(BinOp op, Expr *x, Expr *y) { return ex_bin(arena, op, x, y); }
static Expr *ceildiv(Expr *x, int64_t k) { return quo(add(x, ix(k - 1)), k); }

static Facts *F;
static Var *by, *bx, *i, *j, *k, *M, *N, *K, *tx;

static Var *var(const char *name, VarKind kind) {
  return var_new(arena, name, DT_INDEX, kind, NO_SPAN);
}

static void setup(void) {
  arena = arena_new();
  F = facts_new(arena, NULL, NULL);
  by = var("by", VAR_BLOCK), bx = var("bx", VAR_BLOCK), tx = var("tx", VAR_THREAD);
  i = var("i", VAR_LOOP), j = var("j", VAR_LOOP), k = var("k", VAR_LOOP);
  M = var("M", VAR_SIZE), N = var("N", VAR_SIZE), K = var("K", VAR_SIZE);
}

static void teardown(void) { arena_free(arena); }

static void loop(Var *v, Expr *extent) { facts_push_loop(F, v, ix(0), extent); }
#define YES(c) ck_assert_msg(facts_prove(F, (c)), "not proved: %s", ir_expr_str(arena, (c)))
#define NOT_PROVED(c) ck_assert_msg(!facts_prove(F, (c)), "proved: %s", ir_expr_str(arena, (c)))
#define SIMP(x, text) ck_assert_str_eq(ir_expr_str(arena, facts_simplify(F, (x))), (text))

START_TEST(constant_tiles) {
  loop(k, ix(128));
  loop(j, ix(32));
  YES(lt(add(mul(va(k), 32), va(j)), ix(4096)));
  NOT_PROVED(lt(add(mul(va(k), 32), va(j)), ix(4095)));
  YES(cmp(BIN_LE, ix(0), add(mul(va(k), 32), va(j))));
  YES(cmp(BIN_NE, add(mul(va(k), 32), va(j)), ix(-1)));
}
END_TEST

START_TEST(pushed_guard) {
  loop(i, ix(128));
  Expr *row = add(mul(va(by), 128), va(i));
  NOT_PROVED(lt(row, va(M)));
  int mark = facts_mark(F);
  facts_push_cond(F, lt(row, va(M)));
  YES(lt(row, va(M)));
  YES(lt(mul(va(by), 128), va(M)));
  YES(cmp(BIN_LE, add(row, ix(1)), va(M)));
  facts_pop(F, mark);
  NOT_PROVED(lt(row, va(M)));
  facts_push_cond(F, lt(mul(va(k), 8), add(mul(va(N), 8), ix(3)))); // so k <= N
  YES(cmp(BIN_LE, va(k), va(N)));
  NOT_PROVED(lt(va(k), va(N)));
}
END_TEST

// A push from a stack that was there before is not converted again; the same one from another is.
START_TEST(pushed_again) {
  Expr *guard = lt(va(j), ex_bin(arena, BIN_MAX, va(i), ix(8))); // 8 where i < 8
  for (int turn = 0; turn < 3; turn++) {
    int mark = facts_mark(F);
    for (int n = 8; n <= 16; n += 8) { // i < n, then i < n / 2 while that holds
      loop(i, ix(n));
      facts_push_cond(F, guard);
      YES(lt(va(j), ix(n == 8 ? 8 : 15)));
      NOT_PROVED(lt(va(j), ix(n == 8 ? 7 : 14)));
      int inner = facts_mark(F);
      facts_push_let(F, k, add(va(i), ix(n)));
      facts_push_cond(F, lt(va(k), ix(n + n / 2)));
      YES(lt(va(i), ix(n / 2)));
      YES(cmp(BIN_EQ, va(k), add(va(i), ix(n))));
      facts_pop(F, inner);
      NOT_PROVED(lt(va(i), ix(n / 2)));
      NOT_PROVED(lt(va(k), ix(n + n / 2)));
      facts_pop(F, mark);
    }
    NOT_PROVED(lt(va(i), ix(16)));
  }
}
END_TEST

// What is kept of an atom or a fact is not taken for what it was under other facts.
START_TEST(kept_of_other_facts) {
  loop(i, ix(16));
  loop(j, ix(4));
  Expr *part = ex_floordiv(arena, va(i), ix(4));
  Expr *digit = ex_sub(arena, va(i), ex_mul(arena, part, ix(4)));
  for (int turn = 0; turn < 3; turn++) {
    int mark = facts_mark(F);
    facts_push_cond(F, lt(va(i), ix(2)));
    for (int again = 0; again < 3; again++) { // i // 4 goes with i itself while i < 2
      NOT_PROVED(lt(va(j), part));
      YES(lt(digit, ix(2)));
    }
    facts_pop(F, mark);
    for (int again = 0; again < 3; again++) { // and with i % 4 again
      NOT_PROVED(lt(part, ix(1)));
      NOT_PROVED(lt(digit, ix(3)));
      YES(lt(digit, ix(4)));
    }
  }
}
END_TEST

// One fact times the factors of several products.
START_TEST(products_of_a_fact) {
  facts_push_cond(F, cmp(BIN_LE, ix(0), va(k)));
  facts_push_cond(F, cmp(BIN_LE, va(k), va(M)));
  for (int again = 0; again < 2; again++) {
    YES(cmp(BIN_LE, ex_mul(arena, va(k), va(N)), ex_mul(arena, va(M), va(N))));
    NOT_PROVED(lt(ex_mul(arena, va(k), va(N)), ex_mul(arena, va(M), va(N))));
    YES(cmp(BIN_LE, ex_mul(arena, va(k), va(by)), ex_mul(arena, va(M), va(by))));
  }
}
END_TEST

START_TEST(grid_of_ceildiv) {
  loop(by, ceildiv(va(M), 128));
  YES(lt(mul(va(by), 128), va(M)));
  NOT_PROVED(lt(add(mul(va(by), 128), ix(1)), va(M)));
  loop(i, ix(128));
  NOT_PROVED(lt(add(mul(va(by), 128), va(i)), va(M)));
  facts_push_cond(F, cmp(BIN_EQ, mod(va(M), 128), ix(0)));
  YES(lt(add(mul(va(by), 128), va(i)), va(M)));
}
END_TEST

START_TEST(last_iteration_peeled) {
  facts_push_loop(F, k, ix(0), ex_sub(arena, ceildiv(va(K), 32), ix(1)));
  loop(j, ix(32));
  YES(lt(add(mul(va(k), 32), va(j)), va(K)));
}
END_TEST

START_TEST(flat_global_index) { // (by*128 + i) * N + bx*64 + j within M * N
  loop(i, ix(128));
  loop(j, ix(64));
  Expr *row = add(mul(va(by), 128), va(i)), *col = add(mul(va(bx), 64), va(j));
  facts_push_cond(F, ex_and(arena, lt(row, va(M)), lt(col, va(N))));
  Expr *flat = add(ex_mul(arena, row, va(N)), col);
  YES(lt(flat, ex_mul(arena, va(M), va(N))));
  YES(cmp(BIN_LE, ix(0), flat));
  NOT_PROVED(lt(add(flat, ix(1)), ex_mul(arena, va(M), va(N))));
}
END_TEST

START_TEST(ring_slots) {
  loop(k, va(K));
  Expr *k2 = add(va(k), ix(2));
  ck_assert(facts_distinct(F, mod(k2, 3), mod(va(k), 3)));
  ck_assert(facts_distinct(F, mod(add(va(k), ix(1)), 2), mod(va(k), 2)));
  ck_assert(!facts_distinct(F, mod(add(va(k), ix(3)), 3), mod(va(k), 3)));
  ck_assert(
      facts_distinct(F, add(mul(mod(k2, 3), 4096), va(tx)), add(mul(mod(va(k), 3), 4096), va(tx))));
  facts_push_let(F, j, k2);
  ck_assert(facts_distinct(F, mod(va(j), 3), mod(va(k), 3)));
  ck_assert(!facts_distinct(F, mod(va(j), 3), mod(va(i), 3)));
  facts_push_cond(F, cmp(BIN_EQ, va(i), va(k)));
  ck_assert(facts_distinct(F, mod(va(j), 3), mod(va(i), 3)));
  ck_assert(facts_distinct(F, mod(k2, 4), mod(va(i), 4)));
}
END_TEST

START_TEST(disjoint_slices) {
  loop(i, ix(4));
  ck_assert(facts_distinct(F, mul(va(tx), 8), add(mul(va(by), 8), add(va(i), ix(1)))));
  ck_assert(facts_distinct(F, va(i), ix(4)));
  ck_assert(!facts_distinct(F, va(i), ix(3)));
  facts_push_cond(F, cmp(BIN_NE, va(i), va(j)));
  ck_assert(facts_distinct(F, mul(va(j), 16), mul(va(i), 16)));
}
END_TEST

START_TEST(divisors) {
  loop(i, ix(16));
  ck_assert_int_eq(facts_divisor(F, add(mul(va(by), 128), mul(va(i), 8))), 8);
  ck_assert_int_eq(facts_divisor(F, add(mul(va(by), 128), va(i))), 1);
  ck_assert_int_eq(facts_divisor(F, ix(0)), 0);
  ck_assert_int_eq(facts_divisor(F, ix(-12)), 12);
  ck_assert_int_eq(facts_divisor(F, mod(mul(va(by), 24), 16)), 8);
  Expr *xors = cmp(BIN_BITXOR, mul(va(i), 8), mul(mod(va(tx), 8), 16));
  ck_assert_int_eq(facts_divisor(F, xors), 8);
  ck_assert_int_eq(facts_divisor(F, va(N)), 1);
  facts_push_cond(F, cmp(BIN_EQ, mod(va(N), 8), ix(0)));
  ck_assert_int_eq(facts_divisor(F, va(N)), 8);
  ck_assert_int_eq(facts_divisor(F, add(ex_mul(arena, va(i), va(N)), mul(va(bx), 64))), 8);
  facts_push_cond(F, cmp(BIN_EQ, mod(va(N), 12), ix(0)));
  ck_assert_int_eq(facts_divisor(F, va(N)), 24);
  facts_push_cond(F, cmp(BIN_EQ, va(M), mul(va(K), 32)));
  ck_assert_int_eq(facts_divisor(F, va(M)), 32);
  facts_push_cond(F, cmp(BIN_EQ, quo(va(K), 4), mul(va(bx), 2)));
  ck_assert_int_eq(facts_divisor(F, quo(va(K), 4)), 2);
}
END_TEST

START_TEST(canonical_sums) {
  loop(i, ix(8));
  loop(j, ix(8));
  SIMP(quo(add(mul(va(k), 8), va(i)), 8), "k");
  SIMP(mod(add(mul(va(k), 8), va(i)), 8), "i");
  SIMP(mod(va(i), 8), "i");
  SIMP(mod(mod(va(k), 32), 8), "k % 8");
  SIMP(quo(quo(va(k), 4), 8), "k // 32");
  SIMP(add(mul(quo(va(k), 4), 4), mod(va(k), 4)), "k");
  SIMP(add(mul(mod(quo(va(k), 4), 8), 4), mod(va(k), 4)), "k % 32");
  SIMP(quo(add(mul(va(k), 32), add(mul(va(i), 4), ix(2))), 8), "k * 4 + i // 2");
  SIMP(mod(add(mul(va(k), 8), add(va(i), ix(64))), 16), "k % 2 * 8 + i");
  SIMP(add(va(i), add(va(j), ex_sub(arena, mul(va(i), 3), va(j)))), "i * 4");
  SIMP(add(ex_mul(arena, va(by), va(N)), ex_mul(arena, va(i), va(N))), "(i + by) * N");
  SIMP(cmp(BIN_MIN, va(i), ix(7)), "i");
  SIMP(cmp(BIN_MIN, va(i), ix(6)), "min(i, 6)");
  SIMP(cmp(BIN_MAX, va(i), ix(-1)), "i");
  SIMP(quo(ex_sub(arena, va(i), ix(8)), 8), "-1");
}
END_TEST

START_TEST(decided_conditions) {
  loop(i, ix(8));
  SIMP(lt(va(i), ix(8)), "true");
  SIMP(lt(va(i), ix(0)), "false");
  SIMP(lt(add(va(i), va(k)), add(va(k), ix(4))), "i < 4");
  SIMP(lt(mul(va(k), 8), add(mul(va(M), 8), ix(3))), "k <= M");
  SIMP(cmp(BIN_EQ, mul(va(k), 8), add(mul(va(M), 8), ix(3))), "false");
  SIMP(lt(quo(va(k), 4), ix(3)), "k < 12");
  SIMP(cmp(BIN_LE, ix(3), quo(va(k), 4)), "12 <= k");
  SIMP(ex_select(arena, lt(va(i), ix(9)), va(k), va(j)), "k");
  SIMP(ex_select(arena, lt(va(k), va(M)), cmp(BIN_MIN, va(k), va(M)), va(j)),
       "select(k < M, k, j)");
  SIMP(ex_and(arena, lt(va(k), ix(4)), lt(va(k), ix(9))), "k < 4");
}
END_TEST

START_TEST(overflow_is_unknown) {
  int64_t lo, hi;
  loop(i, ix(INT64_MAX));
  facts_bounds(F, ex_mul(arena, va(i), va(i)), &lo, &hi);
  ck_assert(hi == INT64_MAX && lo <= 0);
  facts_bounds(F, mul(va(i), INT64_MAX / 2), &lo, &hi);
  ck_assert(hi == INT64_MAX && lo <= 0);
  facts_bounds(F, add(mul(va(i), INT64_MAX), mul(va(k), INT64_MAX)), &lo, &hi);
  ck_assert(lo == INT64_MIN && hi == INT64_MAX);
  NOT_PROVED(lt(mul(va(i), 4), ix(INT64_MAX)));
  facts_bounds(F, ix(INT64_MIN), &lo, &hi);
  ck_assert(lo == INT64_MIN);
}
END_TEST

START_TEST(affine_without_facts) {
  Expr *x = add(mul(add(va(i), mul(va(j), 2)), 4), ex_sub(arena, ix(7), va(i)));
  Affine s = ex_affine(arena, x);
  ck_assert_int_eq(s.n, 2);
  ck_assert_int_eq(s.constant, 7);
  ck_assert(s.term[0]->u.var == i && s.coeff[0] == 3);
  ck_assert(s.term[1]->u.var == j && s.coeff[1] == 8);
  ck_assert_str_eq(ir_expr_str(arena, ex_from_affine(arena, &s)), "i * 3 + j * 8 + 7");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("affine");
  TCase *tc = tcase_create("kernels");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, constant_tiles);
  tcase_add_test(tc, pushed_guard);
  tcase_add_test(tc, pushed_again);
  tcase_add_test(tc, kept_of_other_facts);
  tcase_add_test(tc, products_of_a_fact);
  tcase_add_test(tc, grid_of_ceildiv);
  tcase_add_test(tc, last_iteration_peeled);
  tcase_add_test(tc, flat_global_index);
  tcase_add_test(tc, ring_slots);
  tcase_add_test(tc, disjoint_slices);
  tcase_add_test(tc, divisors);
  tcase_add_test(tc, canonical_sums);
  tcase_add_test(tc, decided_conditions);
  tcase_add_test(tc, overflow_is_unknown);
  tcase_add_test(tc, affine_without_facts);
  suite_add_tcase(suite, tc);
  TCase *random = tcase_create("random");
  tcase_set_timeout(random, 600);
  tcase_add_test(random, claims_hold_everywhere);
  suite_add_tcase(suite, random);
  return suite_run(suite);
}
