// plan and simplify by themselves: widths, guards and async decisions for copies whose answer is
// derived by hand; what simplify drops and what it must keep.
// SPDX-License-Identifier: MIT
#include "pass_build.h"
#include "suite.h"

/* plan: copies of a 64 x 32 tile from A[M, N] (f16) at (row, column) */

typedef struct {
  int64_t M, N; // 0: symbolic
  int row, column;
  int multiple; // symbolic N is known to be a multiple of it; 0: nothing is known
  int align;    // of A
  int bytes;
  uint32_t guard;
  bool able;
} Width;

static const Width widths[] = {
    {128, 128, 0, 0, 0, 16, 16, 0, true},  {128, 128, 64, 32, 0, 16, 16, 0, true},
    {128, 128, 64, 4, 0, 16, 8, 0, true},  {128, 128, 1, 2, 0, 16, 4, 0, true},
    {128, 128, 0, 1, 0, 16, 2, 0, false},  {128, 100, 0, 0, 0, 16, 8, 0, true}, // rows of 200 bytes
    {128, 50, 0, 0, 0, 16, 4, 0, true},    {128, 33, 0, 0, 0, 16, 2, 0, false},
    {128, 128, 0, 0, 0, 4, 4, 0, true},    {128, 128, 0, 0, 0, 2, 2, 0, false},
    {100, 128, 64, 0, 0, 16, 16, 1, true}, // rows 64 .. 127 of 100
    {128, 40, 0, 32, 0, 16, 16, 2, true},  // columns 32 .. 63 of 40
    {100, 40, 64, 32, 0, 16, 16, 3, true}, {128, 128, -8, 0, 0, 16, 16, 1, true},
    {128, 0, 0, 0, 0, 16, 2, 2, false},    {128, 0, 0, 0, 4, 16, 8, 2, true},
    {128, 0, 0, 0, 8, 16, 16, 2, true},    {0, 128, 0, 0, 0, 16, 16, 1, true},
};

START_TEST(copy_widths) {
  for (size_t i = 0; i < LEN(widths); i++) {
    const Width *w = &widths[i];
    bench_begin(LEVEL_TILE, 128, 1, 1);
    Expr *M = w->M ? I(w->M) : V(size_var("M", 64)), *N = w->N ? I(w->N) : V(size_var("N", 64));
    Buffer *A = param("A", DT_F16, 2, M, N, 1);
    A->align = w->align;
    if (w->multiple) {
      Expr *rest = ex_floormod(T.a, N, I(w->multiple));
      vec_push(T.a, &T.p->facts, ((Fact){.cond = bin(BIN_EQ, rest, I(0))}));
    }
    Buffer *S = buffer("S", DT_F16, SC_SHARED, 2, I(64), I(32));
    Stmt *s = copy(box(A, I(w->row), I(w->column), 64, 32), whole(S));
    put(T.k->body, s);
    pass_plan(T.p, &T.c);
    PlanCopy *p = plan_copy(T.c.plan, s);
    ck_assert_msg(p->vec_bytes == w->bytes, "row %d: %d bytes", (int)i, p->vec_bytes);
    ck_assert_msg(p->guard == w->guard, "row %d: guard %x", (int)i, p->guard);
    ck_assert_msg(p->async_able == w->able, "row %d", (int)i);
    arena_free(T.a);
  }
}
END_TEST

START_TEST(copy_not_async) { // other types, a safe value, another direction
  for (int form = 0; form < 4; form++) {
    bench_begin(LEVEL_TILE, 128, 1, 1);
    Buffer *A = param("A", DT_F16, 2, I(64), I(32), 1);
    Buffer *S = buffer("S", form == 1 ? DT_F32 : DT_F16, SC_SHARED, 2, I(64), I(32));
    if (form == 2) A->safe = ex_float(T.a, DT_F16, -99);
    Stmt *s = form == 3 ? copy(whole(S), whole(A)) : copy(whole(A), whole(S));
    put(T.k->body, s);
    pass_plan(T.p, &T.c);
    ck_assert_int_eq(plan_copy(T.c.plan, s)->async_able, form == 0);
    arena_free(T.a);
  }
}
END_TEST

// A loop that refreshes half of a tile and reads all of it: the other half must stay in sight.
START_TEST(partial_copy) {
  for (int stages = 0; stages <= 3; stages++) {
    bench_begin(LEVEL_TILE, 32, 1, 1);
    Buffer *src = param("src", DT_F32, 2, I(8), I(16), 128);
    Buffer *out = param("out", DT_F32, 2, I(1), I(32), 32);
    for (int i = 0; i < 128; i++) ((float *)T.arg[0].data)[i] = (float)(i % 19);
    Buffer *S = buffer("S", DT_F32, SC_SHARED, 2, I(1), I(32));
    Buffer *acc = buffer("acc", DT_F32, SC_FRAGMENT, 2, I(1), I(32));
    Var *k = loop_var("k"), *i = loop_var("i");
    Expr *at[] = {I(0), V(i)};
    Stmt *body = block();
    Expr *sum = add(ex_load(T.a, acc, at, 2), ex_load(T.a, S, at, 2));
    put(body, copy(box(src, V(k), I(0), 1, 16), box(S, I(0), I(0), 1, 16)));
    put(body, loop(LOOP_PARALLEL, i, I(0), I(32), st_store(T.a, acc, at, 2, sum, NO_SPAN)));
    put(T.k->body, fill(S, 5));
    put(T.k->body, fill(acc, 0));
    put(T.k->body, pipelined(k, I(0), I(8), stages, body));
    put(T.k->body, copy(whole(acc), whole(out)));
    expect_same();
    ck_assert(((float *)T.arg[1].data)[20] == 40);
    arena_free(T.a);
  }
}
END_TEST

/* simplify */

static Buffer *Out;

static Stmt *put_at(int64_t i, int64_t v) {
  return st_store(T.a, Out, (Expr *[]){I(i)}, 1, ex_int(T.a, DT_I32, v), NO_SPAN);
}

START_TEST(dead_code) {
  bench_begin(LEVEL_TILE, 32, 2, 1);
  Out = param("out", DT_I32, 1, I(64), NULL, 64);
  Buffer *unused = flat("unused", DT_I32, SC_SHARED, 8);
  Expr *bx = V(T.k->block[0]);
  Var *dead = var_new(T.a, "dead", DT_INDEX, VAR_LET, NO_SPAN);
  Var *used = var_new(T.a, "used", DT_INDEX, VAR_LET, NO_SPAN);
  Var *i = loop_var("i"), *j = loop_var("j");
  put(T.k->body, st_let(T.a, dead, mul(bx, 3), NO_SPAN));
  put(T.k->body, st_let(T.a, used, add(bx, I(1)), NO_SPAN));
  put(T.k->body, st_if(T.a, lt(bx, I(2)), put_at(0, 1), put_at(0, 2), NO_SPAN));      // always
  put(T.k->body, st_if(T.a, lt(I(5), bx), put_at(1, 1), NULL, NO_SPAN));              // never
  put(T.k->body, st_if(T.a, lt(V(used), I(1)), put_at(2, 1), put_at(2, 2), NO_SPAN)); // never
  put(T.k->body, st_if(T.a, lt(bx, I(1)), block(), put_at(3, 7), NO_SPAN)); // empty first branch
  put(T.k->body, loop(LOOP_SERIAL, i, I(0), sub(bx, I(1)), put_at(4, 1)));  // never
  put(T.k->body, loop(LOOP_SERIAL, j, I(0), bx, put_at(5, 9)));             // once, in block 1
  Program *before = ir_clone(T.a, T.p);
  int32_t *want = oracle_out(before);
  pass_simplify(T.p, &T.c);
  int32_t *got = oracle_out(T.p);
  ck_assert(!memcmp(want, got, T.arg[0].bytes));
  ck_assert_int_eq(got[0], 1);
  ck_assert_int_eq(got[2], 2);
  ck_assert_int_eq(got[3], 7);
  ck_assert_int_eq(got[5], 9);
  int lets = 0, ifs = 0, loops = 0;
  for (int n = 0; n < T.k->body->u.block.len; n++) {
    lets += T.k->body->u.block.data[n]->kind == ST_LET;
    ifs += T.k->body->u.block.data[n]->kind == ST_IF;
    loops += T.k->body->u.block.data[n]->kind == ST_FOR;
  }
  ck_assert_int_eq(lets, 0);
  ck_assert_int_eq(ifs, 1);
  ck_assert_int_eq(loops, 1);
  ck_assert_int_eq(T.k->buffers.len, 0);
  (void)unused;
  arena_free(T.a);
}
END_TEST

// Statements may share a region: what holds at one of them must not reach the other.
START_TEST(shared_regions) {
  bench_begin(LEVEL_TILE, 32, 2, 1);
  Buffer *src = param("src", DT_I32, 1, I(64), NULL, 64);
  Out = param("out", DT_I32, 1, I(64), NULL, 64);
  for (int i = 0; i < 64; i++) ((int32_t *)T.arg[0].data)[i] = i;
  Expr *bx = V(T.k->block[0]);
  Region *from = region_new(T.a, src, (Expr *[]){mul(bx, 32)}, (Expr *[]){I(32)});
  Region *to = region_new(T.a, Out, (Expr *[]){mul(bx, 32)}, (Expr *[]){I(32)});
  put(T.k->body, st_if(T.a, bin(BIN_EQ, bx, I(0)), copy(from, to), NULL, NO_SPAN));
  put(T.k->body, copy(from, to));
  pass_simplify(T.p, &T.c);
  int32_t *got = oracle_out(T.p);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(got[i], i);
  arena_free(T.a);
}
END_TEST

int main(void) {
  Suite *s = suite_create("plan");
  TCase *t = tcase_create("all");
  tcase_set_timeout(t, 120);
  const TTest *const tests[] = {copy_widths, copy_not_async, partial_copy, dead_code,
                                shared_regions};
  for (size_t i = 0; i < LEN(tests); i++) tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  return suite_run(s);
}
