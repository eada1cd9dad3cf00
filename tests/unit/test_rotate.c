// rotate: which pipelined loops turn, what stays as it was (waits, their counts, one barrier an
// iteration), and the sums that come out.
// SPDX-License-Identifier: MIT
#include "pass_build.h"
#include "suite.h"

enum { THREADS = 64, MAX_TRIPS = 12 };

// out[tx] = sum over k < trips and steps s of (s + 1) * in[k][s][tx ^ 1], through a ring of shared
// tiles and two registers that steps take in turn.
typedef struct {
  int stages, steps, trips;
  bool dynamic;
  enum {
    RIGHT,
    OVERWRITES, // the copies fill the slot being read
    READS_RING, // the iteration ends with a load from the ring
    READS_HEAD, // ... with the register that the first step loads
    SYNCS,      // ... with the program's own barrier
    OWN_LOCAL,  // the first load's address comes from a register that the end writes
    SUMS,       // the iteration begins with a sum over the ring, which is no mere load
  } form;
} Ring;

static Expr *at(Buffer *b, Expr *i) { return ex_load(T.a, b, (Expr *[]){i}, 1); }
static Stmt *store(Buffer *b, Expr *i, Expr *v) {
  return st_store(T.a, b, (Expr *[]){i}, 1, v, NO_SPAN);
}
static Expr *number(double v) { return ex_float(T.a, DT_F32, v); }
static Expr *partner(void) { return bin(BIN_BITXOR, tx(), I(1)); }

static Buffer *in, *S, *frag, *acc, *own;

static void issue(const Ring *r, Expr *k, Expr *slot, Expr *cond, Stmt *out) {
  Var *s = loop_var("s");
  int tile = r->steps * THREADS;
  Expr *from = add(mul(k, tile), add(mul(V(s), THREADS), tx()));
  Expr *to = add(mul(slot, tile), add(mul(V(s), THREADS), tx()));
  Stmt *copy_one = st_op(T.a, OP_CP_ASYNC, NO_SPAN, region_flat(T.a, in, from, 1),
                         region_flat(T.a, S, to, 1), I(1));
  Stmt *all = loop(LOOP_UNROLL, s, I(0), I(r->steps), copy_one);
  put(out, st_if(T.a, cond, all, NULL, NO_SPAN));
  put(out, st_op(T.a, OP_ASYNC_COMMIT, NO_SPAN));
}

static Stmt *load_step(Expr *base, Expr *step) {
  return store(frag, rem(step, 2), at(S, add(base, add(mul(step, THREADS), partner()))));
}

static Stmt *multiply(Expr *x, Expr *by) {
  return store(acc, I(0), add(at(acc, I(0)), bin(BIN_MUL, x, ex_cast(T.a, DT_F32, by))));
}

static Stmt *iteration(const Ring *r, Expr *k, Expr *trips) {
  Stmt *body = block(), *step = block();
  Var *base = var_new(T.a, "base", DT_INDEX, VAR_LET, NO_SPAN), *ks = loop_var("ks");
  Expr *ahead = add(k, I(r->stages - 1)), *next = add(V(ks), I(1));
  put(body, st_op(T.a, OP_ASYNC_WAIT, NO_SPAN, (int64_t)r->stages - 2));
  issue(r, ahead, rem(r->form == OVERWRITES ? k : ahead, r->stages), lt(ahead, trips), body);
  put(body, st_let(T.a, base, mul(rem(k, r->stages), r->steps * THREADS), NO_SPAN));
  Expr *first = V(base);
  if (r->form == OWN_LOCAL) first = add(first, ex_cast(T.a, DT_INDEX, at(own, I(0))));
  if (r->form == SUMS) put(body, multiply(at(S, add(V(base), tx())), I(0)));
  put(body, load_step(first, I(0)));
  put(step, st_if(T.a, lt(next, I(r->steps)), load_step(V(base), next), NULL, NO_SPAN));
  put(step, multiply(at(frag, rem(V(ks), 2)), next));
  put(body, loop(LOOP_UNROLL, ks, I(0), I(r->steps), step));
  if (r->form == READS_RING) put(body, multiply(at(S, add(V(base), tx())), I(0)));
  if (r->form == READS_HEAD) put(body, multiply(at(frag, I(0)), I(0)));
  if (r->form == SYNCS) put(body, st_op(T.a, OP_SYNC, NO_SPAN));
  if (r->form == OWN_LOCAL) put(body, store(own, I(0), ex_int(T.a, DT_I32, 0)));
  return body;
}

static void build(const Ring *r) {
  bench_begin(LEVEL_THREAD, THREADS, 1, 1);
  T.c.flags = map_new(T.a);
  map_set(T.c.flags, "rotate", (void *)"1");
  Expr *trips = r->dynamic ? V(size_var("n", r->trips)) : I(r->trips);
  int64_t n = MAX_TRIPS * r->steps * THREADS;
  in = param("in", DT_F32, 1, I(n), NULL, n);
  for (int i = 0; i < n; i++) ((float *)T.arg[0].data)[i] = (float)(i % 23);
  Buffer *out = param("out", DT_F32, 1, I(THREADS), NULL, THREADS);
  S = flat("S", DT_F32, SC_SHARED, (int64_t)r->stages * r->steps * THREADS);
  frag = flat("frag", DT_F32, SC_LOCAL, 2);
  acc = flat("acc", DT_F32, SC_LOCAL, 1);
  own = flat("own", DT_I32, SC_LOCAL, 1);
  put(T.k->body, store(acc, I(0), number(0)));
  put(T.k->body, store(own, I(0), ex_int(T.a, DT_I32, 0)));
  for (int s = 0; s < r->stages - 1; s++) issue(r, I(s), I(s), lt(I(s), trips), T.k->body);
  Var *k = loop_var("k");
  Stmt *body = iteration(r, V(k), trips);
  put(T.k->body, loop(LOOP_SERIAL, k, I(0), trips, body));
  put(T.k->body, store(out, tx(), at(acc, I(0))));
}

static Stmt *main_loop(void) {
  for (int i = 0; i < T.k->body->u.block.len; i++)
    if (T.k->body->u.block.data[i]->kind == ST_FOR) return T.k->body->u.block.data[i];
  ck_abort_msg("no loop");
}

static bool is(const Stmt *s, OpCode op) { return s->kind == ST_OP && s->u.op.op == op; }

static bool turned(void) { return !is(main_loop()->u.loop.body->u.block.data[0], OP_ASYNC_WAIT); }

// One wait an iteration, for the same number of groups, and behind the commit once the loop turned.
static void expect_waits(const Ring *r) {
  const StmtVec *b = &main_loop()->u.loop.body->u.block;
  int waits = 0, commits = 0;
  for (int i = 0; i < b->len; i++) {
    if (is(b->data[i], OP_ASYNC_COMMIT)) commits++;
    if (!is(b->data[i], OP_ASYNC_WAIT)) continue;
    waits++;
    ck_assert_int_eq(b->data[i]->u.op.arg[0].i, r->stages - 2);
    ck_assert_int_eq(commits, turned());
  }
  ck_assert_int_eq(waits, 1);
  ck_assert_int_eq(commits, 1);
  ck_assert_int_eq(count(T.k->body, OP_ASYNC_WAIT), turned() ? 2 : 1);
}

static void expect_sums(const Ring *r) {
  Buf text = {0};
  ir_print(T.p, &text);
  for (uint64_t seed = 0; seed < 3; seed++) {
    EmuReport report;
    memset(T.arg[1].data, 0, T.arg[1].bytes);
    bool ok = emu_run(T.p, &(EmuCall){.sizes = T.size, .args = T.arg}, T.c.target,
                      &(EmuOptions){.seed = seed}, &report, T.diags);
    if (!ok) diag_flush(T.diags, stderr);
    ck_assert_msg(ok, "%s", buf_str(&text));
    for (int t = 0; t < THREADS; t++) {
      float want = 0;
      for (int k = 0; k < r->trips; k++)
        for (int s = 0; s < r->steps; s++)
          want += (float)((s + 1) * (((k * r->steps + s) * THREADS + (t ^ 1)) % 23));
      ck_assert_msg(((float *)T.arg[1].data)[t] == want, "%s", buf_str(&text));
    }
  }
  buf_free(&text);
}

static void rotate(void) {
  pass_rotate(T.p, &T.c);
  Buf why = {0};
  bool ok = ir_verify(T.p, &why);
  ck_assert_msg(ok, "%s", buf_str(&why));
  buf_free(&why);
}

START_TEST(even_steps_turn) {
  static const int trips[] = {0, 1, 2, 3, 4, 9};
  for (int steps = 1; steps <= 6; steps++) {
    for (int i = 0; i < (int)LEN(trips) * 6; i++) {
      Ring r = {2 + i % 3, steps, trips[i / 6], i / 3 % 2, RIGHT};
      if (!r.trips && !r.dynamic) continue; // gone by now
      build(&r);
      rotate();
      // With an odd number the last step multiplies what the next iteration's first load replaces.
      ck_assert_int_eq(turned(), steps % 2 == 0);
      expect_waits(&r);
      pass_smem(T.p, &T.c);
      pass_sync(T.p, &T.c);
      ck_assert_int_eq(diag_errors(T.diags), 0);
      if (r.dynamic || r.trips > r.stages) {
        ck_assert_int_eq(count(main_loop(), OP_SYNC), 1);
        ck_assert_int_eq(count(main_loop(), OP_ASYNC_WAIT), 1);
      }
      expect_sums(&r);
      arena_free(T.a);
    }
  }
}
END_TEST

START_TEST(others_stay) {
  static const int forms[] = {OVERWRITES, READS_RING, READS_HEAD, SYNCS, OWN_LOCAL};
  for (size_t i = 0; i < LEN(forms); i++) {
    build(&(Ring){3, 4, 9, false, forms[i]});
    Buf before = {0}, after = {0};
    ir_print(T.p, &before);
    rotate();
    ir_print(T.p, &after);
    ck_assert_str_eq(buf_str(&before), buf_str(&after));
    buf_free(&before);
    buf_free(&after);
    arena_free(T.a);
  }
}
END_TEST

START_TEST(sums_stay) {
  Ring r = {3, 4, 9, false, SUMS};
  build(&r);
  rotate();
  ck_assert(turned());
  expect_waits(&r);
  pass_smem(T.p, &T.c);
  pass_sync(T.p, &T.c);
  expect_sums(&r);
  arena_free(T.a);
}
END_TEST

START_TEST(turns_once) {
  build(&(Ring){3, 4, 9, false, RIGHT});
  rotate();
  Buf once = {0}, twice = {0};
  ir_print(T.p, &once);
  rotate();
  ir_print(T.p, &twice);
  ck_assert_str_eq(buf_str(&once), buf_str(&twice));
  buf_free(&once);
  buf_free(&twice);
  arena_free(T.a);
}
END_TEST

// Unasked, loops turn where one block fills an SM: by shared memory here.
// Where one block fills an SM, its threads have registers for it, and nothing forbids it.
START_TEST(decision) {
  for (int form = 0; form < 8; form++) {
    bool large = form & 1, forbidden = form & 2, crowded = form & 4;
    build(&(Ring){4, 4, 9, false, RIGHT});
    for (int i = 0; crowded && i < T.k->buffers.len; i++)
      if (T.k->buffers.data[i]->scope == SC_LOCAL && T.k->buffers.data[i]->dtype == DT_F32)
        T.k->buffers.data[i]->shape[0] = ex_index(T.a, 216);
    T.c.flags = map_new(T.a);
    if (forbidden) map_set(T.c.flags, "rotate", (void *)"0");
    if (large) {
      Buffer *rest = flat("rest", DT_F32, SC_SHARED, T.c.target->smem_per_sm / 8);
      put(T.k->body, store(rest, tx(), number(0)));
      ck_assert_int_eq(turned(), false);
      Stmt **copies = &main_loop()->u.loop.body->u.block.data[1]->u.branch.yes;
      *copies = st_block(T.a, NO_SPAN);
      put(*copies, store(rest, tx(), number(0)));
    }
    rotate();
    ck_assert_int_eq(turned(), large && !forbidden && !crowded);
    arena_free(T.a);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("rotate");
  TCase *t = tcase_create("rotate");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, even_steps_turn);
  tcase_add_test(t, others_stay);
  tcase_add_test(t, sums_stay);
  tcase_add_test(t, turns_once);
  tcase_add_test(t, decision);
  suite_add_tcase(s, t);
  return suite_run(s);
}
