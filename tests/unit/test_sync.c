// smem and sync on thread-level programs: bytes shared by lifetime, barriers counted where they are
// needed and where they are not, and the emulator's race checker on the result.
// SPDX-License-Identifier: MIT
#include "pass_build.h"
#include "suite.h"

static Expr *at(Buffer *b, Expr *i) { return ex_load(T.a, b, (Expr *[]){i}, 1); }
static Stmt *store(Buffer *b, Expr *i, Expr *v) {
  return st_store(T.a, b, (Expr *[]){i}, 1, v, NO_SPAN);
}
static Stmt *when(Expr *c, Stmt *yes, Stmt *no) { return st_if(T.a, c, yes, no, NO_SPAN); }
static Stmt *commit(void) { return st_op(T.a, OP_ASYNC_COMMIT, NO_SPAN); }
static Stmt *wait_for(int n) { return st_op(T.a, OP_ASYNC_WAIT, NO_SPAN, (int64_t)n); }
static Stmt *cp_async(Buffer *src, Expr *i, Buffer *dst, Expr *j, int n) {
  return st_op(T.a, OP_CP_ASYNC, NO_SPAN, region_flat(T.a, src, i, n), region_flat(T.a, dst, j, n),
               I(n));
}
static Expr *flip(Expr *x) { return bin(BIN_BITXOR, x, I(1)); }
static Buffer *global(const char *name, DType t, int64_t n) {
  return param(name, t, 1, I(n), NULL, n);
}

// Runs smem and sync, then the emulator under several schedules; returns the number of barriers.
static int synced(bool clean) {
  pass_smem(T.p, &T.c);
  pass_sync(T.p, &T.c);
  if (diag_errors(T.diags)) return -1;
  Buf text = {0};
  ir_print(T.p, &text);
  for (uint64_t seed = 0; clean && seed < 3; seed++) {
    EmuReport report;
    EmuArg *out = &T.arg[T.p->params.len - 1];
    memset(out->data, 0, out->bytes);
    bool ok = emu_run(T.p, &(EmuCall){.sizes = T.size, .args = T.arg}, T.c.target,
                      &(EmuOptions){.seed = seed}, &report, T.diags);
    if (!ok) diag_flush(T.diags, stderr);
    ck_assert_msg(ok, "%s", buf_str(&text));
  }
  buf_free(&text);
  return count(T.k->body, OP_SYNC);
}

static bool reported(DiagId id) { // among remarks
  bool found = false;
  for (int i = 0; i < 50; i++) found = found || diag_id(T.diags, i) == (int)id;
  return found;
}

static Stmt *first_loop(void) {
  for (int i = 0; i < T.k->body->u.block.len; i++)
    if (T.k->body->u.block.data[i]->kind == ST_FOR) return T.k->body->u.block.data[i];
  ck_abort_msg("no loop");
}

/* the main loop of a pipelined kernel: out[tx] = sum over k of in[k][tx ^ 1] */

static void build_ring(int stages, int n, bool dynamic) {
  enum { THREADS = 64 };
  bench_begin(LEVEL_THREAD, THREADS, 1, 1);
  Expr *trips = dynamic ? V(size_var("n", n)) : I(n);
  Buffer *in = global("in", DT_F32, 16 * THREADS), *out = global("out", DT_F32, THREADS);
  for (int i = 0; i < 16 * THREADS; i++) ((float *)T.arg[0].data)[i] = (float)(i % 23);
  Buffer *S = flat("S", DT_F32, SC_SHARED, (int64_t)stages * THREADS);
  Buffer *acc = flat("acc", DT_F32, SC_LOCAL, 1);
  put(T.k->body, store(acc, I(0), ex_float(T.a, DT_F32, 0)));
  for (int s = 0; s < stages - 1; s++) {
    Stmt *issue = cp_async(in, add(mul(I(s), THREADS), tx()), S, add(I(s * THREADS), tx()), 1);
    put(T.k->body, when(lt(I(s), trips), issue, NULL));
    put(T.k->body, commit());
  }
  Var *k = loop_var("k");
  Stmt *body = block();
  Expr *slot = mul(rem(V(k), stages), THREADS), *ahead = add(V(k), I(stages - 1));
  if (stages >= 2) put(body, wait_for(stages - 2));
  put(body, when(lt(ahead, trips),
                 cp_async(in, add(mul(ahead, THREADS), tx()), S,
                          add(mul(rem(ahead, stages), THREADS), tx()), 1),
                 NULL));
  put(body, commit());
  if (stages < 2) put(body, wait_for(0));
  put(body, store(acc, I(0), add(at(acc, I(0)), at(S, add(slot, flip(tx()))))));
  put(T.k->body, loop(LOOP_SERIAL, k, I(0), trips, body));
  put(T.k->body, store(out, tx(), at(acc, I(0))));
}

START_TEST(one_barrier_an_iteration) {
  static const int trips[] = {1, 2, 3, 9};
  for (int stages = 1; stages <= 5; stages++) {
    for (size_t t = 0; t < LEN(trips); t++) {
      for (int dynamic = 0; dynamic < 2; dynamic++) {
        build_ring(stages, trips[t], dynamic);
        int n = synced(true);
        ck_assert_int_eq(n, stages == 1 && (dynamic || trips[t] > 1) ? 2 : 1);
        ck_assert_int_eq(count(first_loop(), OP_SYNC), n);
        ck_assert_int_eq(count(T.k->body, OP_ASYNC_WAIT), 1);
        for (int i = 0; i < 64; i++) {
          float want = 0;
          for (int k = 0; k < trips[t]; k++) want += (float)((k * 64 + (i ^ 1)) % 23);
          ck_assert(((float *)T.arg[1].data)[i] == want);
        }
        arena_free(T.a);
      }
    }
  }
}
END_TEST

// The same with the waits left out: each read finds its copy in flight, and a wait is put there.
START_TEST(missing_wait) {
  for (int stages = 1; stages <= 3; stages++) {
    build_ring(stages, 5, false);
    Stmt *body = first_loop()->u.loop.body;
    StmtVec old = body->u.block;
    body->u.block = (StmtVec){0};
    for (int i = 0; i < old.len; i++)
      if (old.data[i]->kind != ST_OP || old.data[i]->u.op.op != OP_ASYNC_WAIT)
        put(body, old.data[i]);
    ck_assert_int_ge(synced(true), 1);
    ck_assert_int_ge(count(first_loop(), OP_ASYNC_WAIT), 1);
    arena_free(T.a);
  }
}
END_TEST

// Waits that let one group too many be in flight.
START_TEST(weak_wait) {
  for (int stages = 2; stages <= 4; stages++) {
    build_ring(stages, 9, false);
    StmtVec *body = &first_loop()->u.loop.body->u.block;
    for (int i = 0; i < body->len; i++) {
      Stmt *s = body->data[i];
      if (s->kind == ST_OP && s->u.op.op == OP_ASYNC_WAIT) s->u.op.arg[0].i++;
    }
    ck_assert_int_ge(synced(true), 1);
    ck_assert_int_ge(count(T.k->body, OP_ASYNC_WAIT), 2);
    arena_free(T.a);
  }
}
END_TEST

/* CASES 6 */

// if tx % 2 == 0: a = S[tx]; S[tx ^ 1] = a
START_TEST(divergent_apart) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64), *S = flat("S", DT_I32, SC_SHARED, 64);
  Var *a = var_new(T.a, "a", DT_I32, VAR_LET, NO_SPAN);
  Stmt *yes = block();
  put(T.k->body, store(S, tx(), tx()));
  put(yes, st_let(T.a, a, at(S, tx()), NO_SPAN));
  put(yes, store(S, flip(tx()), V(a)));
  put(T.k->body, when(bin(BIN_EQ, rem(tx(), 2), I(0)), yes, NULL));
  put(T.k->body, store(out, tx(), at(S, tx())));
  // One before the exchange (S[tx^1] was written by its owner), one before the owner reads it.
  ck_assert_int_eq(synced(true), 2);
  ck_assert_int_eq(T.k->body->u.block.data[2]->kind, ST_IF);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(((int32_t *)T.arg[0].data)[i], i & ~1);
  arena_free(T.a);
}
END_TEST

// The exchange alone needs no barrier: even and odd slots never meet.
START_TEST(divergent_alone) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  global("out", DT_I32, 64);
  Buffer *S = flat("S", DT_I32, SC_SHARED, 64);
  Var *a = var_new(T.a, "a", DT_I32, VAR_LET, NO_SPAN);
  Stmt *yes = block();
  put(yes, st_let(T.a, a, at(S, tx()), NO_SPAN));
  put(yes, store(S, flip(tx()), V(a)));
  put(T.k->body, when(bin(BIN_EQ, rem(tx(), 2), I(0)), yes, NULL));
  ck_assert_int_eq(synced(false), 0);
  arena_free(T.a);
}
END_TEST

// Write, then read a neighbour's, both inside `else` (depth 1), inside a loop or branch within it.
static void build_inside(int form) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64), *S = flat("S", DT_I32, SC_SHARED, 64);
  Var *x = var_new(T.a, "x", DT_I32, VAR_LET, NO_SPAN), *r = loop_var("r");
  Stmt *no = block(), *yes = block(), *in = block();
  put(yes, store(out, tx(), I(-1)));
  put(in,
      st_let(T.a, x, bin(BIN_MUL, ex_cast(T.a, DT_I32, tx()), ex_int(T.a, DT_I32, 3)), NO_SPAN));
  put(in, store(S, tx(), V(x)));
  Expr *got = bin(BIN_ADD, at(S, flip(tx())), V(x));
  put(in, store(out, tx(), got));
  if (form == 0) put(no, in);
  if (form == 1) put(no, loop(LOOP_SERIAL, r, I(0), I(3), in));
  if (form == 2) put(no, when(lt(tx(), I(60)), in, NULL));
  put(T.k->body, when(lt(tx(), I(8)), yes, no));
}

START_TEST(divergent_split) {
  for (int form = 0; form < 3; form++) {
    build_inside(form);
    ck_assert_int_eq(synced(true), form == 1 ? 2 : 1);
    for (int i = 0; i < 64; i++) {
      int want = i < 8 ? -1 : form == 2 && i >= 60 ? 0 : 3 * (i ^ 1) + 3 * i;
      ck_assert_int_eq(((int32_t *)T.arg[0].data)[i], want);
    }
    arena_free(T.a);
  }
}
END_TEST

START_TEST(divergent_loop) { // as many rounds as the thread's number: no barrier can stand inside
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64), *S = flat("S", DT_I32, SC_SHARED, 64);
  Stmt *body = block();
  put(body, store(S, tx(), tx()));
  put(body, store(out, tx(), at(S, flip(tx()))));
  put(T.k->body, loop(LOOP_SERIAL, loop_var("r"), I(0), tx(), body));
  ck_assert_int_eq(synced(false), -1);
  ck_assert(reported(DIAG_SYNC_DIVERGENT));
  arena_free(T.a);
}
END_TEST

/* CASES 7: S[tx^1] = 0; atomic_add(S[tx], 1); out[tx] = S[tx^1] */

START_TEST(atomic_neighbour) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64), *S = flat("S", DT_I32, SC_SHARED, 64);
  put(T.k->body, store(S, flip(tx()), I(0)));
  put(T.k->body, st_atomic(T.a, NO_SPAN, region_flat(T.a, S, tx(), 1),
                       ex_int(T.a, DT_I32, 1), (int64_t)ATOMIC_ADD));
  put(T.k->body, store(out, tx(), at(S, flip(tx()))));
  ck_assert_int_eq(synced(true), 2);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(((int32_t *)T.arg[0].data)[i], 1);
  arena_free(T.a);
}
END_TEST

/* one statement that reads what other threads write in it */

START_TEST(rotate_in_place) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64), *S = flat("S", DT_I32, SC_SHARED, 64);
  put(T.k->body, store(S, tx(), tx()));
  put(T.k->body, store(S, tx(), at(S, rem(add(tx(), I(1)), 64))));
  put(T.k->body, store(out, tx(), at(S, tx())));
  ck_assert_int_eq(synced(true), 2);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(((int32_t *)T.arg[0].data)[i], (i + 1) % 64);
  arena_free(T.a);
}
END_TEST

/* where none is needed */

START_TEST(thread_private) {
  bench_begin(LEVEL_THREAD, 96, 1, 1);
  Buffer *out = global("out", DT_I32, 96 * 4), *S = flat("S", DT_I32, SC_SHARED, 96 * 4);
  Var *i = loop_var("i"), *j = loop_var("j"), *r = loop_var("r");
  Stmt *round = block();
  // Elements tx, tx + 96, ... by two orders of the same loop: always the owner's.
  put(round, loop(LOOP_UNROLL, i, I(0), I(4), store(S, add(mul(V(i), 96), tx()), add(tx(), V(i)))));
  Expr *back = sub(I(3), V(j));
  put(round, loop(LOOP_UNROLL, j, I(0), I(4),
                  store(out, add(mul(back, 96), tx()), at(S, add(mul(back, 96), tx())))));
  put(T.k->body, loop(LOOP_SERIAL, r, I(0), I(3), round));
  ck_assert_int_eq(synced(true), 0);
  arena_free(T.a);
}
END_TEST

START_TEST(global_memory) { // read-modify-write of one's own elements, then a neighbour's
  for (int neighbour = 0; neighbour < 2; neighbour++) {
    bench_begin(LEVEL_THREAD, 64, 2, 1);
    Buffer *C = global("C", DT_I32, 128);
    Expr *i = add(mul(V(T.k->block[0]), 64), tx());
    put(T.k->body, store(C, i, bin(BIN_ADD, at(C, i), ex_int(T.a, DT_I32, 1))));
    Expr *from = neighbour ? add(mul(V(T.k->block[0]), 64), flip(tx())) : i;
    put(T.k->body, store(C, i, bin(BIN_ADD, at(C, from), ex_int(T.a, DT_I32, 1))));
    ck_assert_int_eq(synced(true), neighbour ? 2 : 0);
    arena_free(T.a);
  }
}
END_TEST

// C[row, column] of a matrix of symbolic shape, under its guards: one's own element, then another
// row's or column's.
START_TEST(symbolic_rows) {
  for (int form = 0; form < 4; form++) {
    bench_begin(LEVEL_THREAD, 64, 1, 1);
    Expr *M = V(size_var("M", 7)), *N = V(size_var("N", 5));
    Buffer *C = param("C", DT_I32, 1, ex_mul(T.a, M, N), NULL, 35);
    Var *r = loop_var("r");
    Expr *row = quo(tx(), 8), *column = rem(tx(), 8);
    // Form 3: without its guard a column falls into the next row.
    Expr *inside = form == 3 ? lt(row, M) : ex_and(T.a, lt(row, M), lt(column, N));
    Expr *own = add(ex_mul(T.a, row, N), column);
    // The last thread's guard is the first's: columns 5..7 would fall into the next row without it.
    Expr *other = form % 3 == 0
                      ? own
                      : add(ex_mul(T.a, row, N), form == 1 ? I(0) : rem(add(column, I(1)), 8));
    Expr *guard = ex_and(T.a, lt(row, M), lt(form == 2 ? rem(add(column, I(1)), 8) : column, N));
    Expr *got = ex_select(T.a, guard, at(C, other), ex_int(T.a, DT_I32, 0));
    Stmt *add_one = store(C, own, bin(BIN_ADD, at(C, own), ex_int(T.a, DT_I32, 1)));
    put(T.k->body, loop(LOOP_UNROLL, r, I(0), I(3), when(inside, add_one, NULL)));
    Buffer *out = param("out", DT_I32, 1, I(64), NULL, 64);
    put(T.k->body, store(out, tx(), got));
    int n = synced(false);
    if (form == 3) ck_assert_int_ge(n, 1);
    else ck_assert_int_eq(n, form > 0);
    arena_free(T.a);
  }
}
END_TEST

/* random programs: whatever the passes decide, the race checker must agree */

static uint32_t seed;
static int pick(int n) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (uint32_t)n);
}

enum { RTHREADS = 64, RTILES = 3, RSIZE = 256 };
static Buffer *rtile[RTILES], *rout, *rin, *racc;
static bool rcopies; // asynchronous copies too: the oracle, which has none, cannot follow
static VEC(Var *) rloops;

static Expr *random_index(void) {
  static const int steps[] = {0, 1, 1, 1, 1, 2, 3, 64};
  Expr *x = mul(tx(), steps[pick((int)LEN(steps))]);
  if (pick(3) == 0) x = bin(BIN_BITXOR, x, I(1 << pick(6)));
  if (pick(3) == 0) x = add(x, I(pick(4) * 64 + (pick(3) ? 0 : pick(64))));
  if (rloops.len && pick(2)) {
    Expr *k = V(rloops.data[pick(rloops.len)]);
    x = add(x, mul(rem(add(k, I(pick(3))), 1 + pick(4)), 64));
  }
  return pick(4) ? rem(x, RSIZE) : rem(add(x, quo(tx(), 2)), RSIZE);
}

static Stmt *random_leaf(void) {
  int dst = pick(RTILES), src = pick(RTILES);
  if (!rcopies && src == dst) src = (dst + 1) % RTILES;
  Buffer *b = rtile[dst];
  Expr *value = ex_cast(T.a, DT_I32, add(mul(tx(), 3), I(pick(100))));
  if (pick(2)) value = bin(BIN_ADD, value, at(rtile[src], random_index()));
  int kind = pick(6);
  switch (kind == 2 && !rcopies ? 3 : kind) {
  case 0:
    return st_atomic(T.a, NO_SPAN, region_flat(T.a, b, random_index(), 1), value,
                 (int64_t)ATOMIC_ADD);
  case 1: return store(racc, I(0), bin(BIN_ADD, at(racc, I(0)), at(b, random_index())));
  case 2: return cp_async(rin, random_index(), b, random_index(), 1);
  default: {
    // Threads that share a slot write one value: no race of the program's own.
    Expr *i = random_index();
    return store(b, i, pick(3) ? ex_cast(T.a, DT_I32, add(i, I(pick(9)))) : value);
  }
  }
}

static bool injective(Stmt *s) { // a store (or copy) whose threads never share a slot
  int seen[RSIZE] = {0};
  Expr *i = s->kind == ST_STORE         ? s->u.store.idx[0]
            : s->u.op.op == OP_CP_ASYNC ? s->u.op.arg[1].region->min[0]
                                        : NULL;
  if (!i || (s->kind == ST_STORE && s->u.store.buf == racc)) return true;
  Facts *f = facts_new(T.a, T.p, T.k);
  for (int t = 0; t < RTHREADS; t++) {
    Expr *x = ex_subst(T.a, i, T.k->thread, I(t));
    for (int j = 0; j < rloops.len; j++) x = ex_subst(T.a, x, rloops.data[j], I(0));
    int64_t v;
    ck_assert(ex_const(facts_simplify(f, x), &v));
    if (seen[v]++) return false;
  }
  return true;
}

static Stmt *random_block(int depth);

static Stmt *random_stmt(int depth) {
  int kind = depth ? pick(8) : 0;
  if (kind == 1) {
    Var *k = loop_var("k");
    vec_push(T.a, &rloops, k);
    Stmt *body = random_block(depth - 1);
    rloops.len--;
    return loop(pick(2) ? LOOP_SERIAL : LOOP_UNROLL, k, I(pick(2)), I(pick(4)), body);
  }
  if (kind == 2) return when(lt(tx(), I(pick(64))), random_block(depth - 1), NULL);
  if (kind == 3)
    return when(bin(BIN_EQ, rem(tx(), 2), I(0)), random_block(depth - 1), random_block(depth - 1));
  if (kind == 4 && rloops.len)
    return when(lt(V(rloops.data[pick(rloops.len)]), I(pick(3))), random_block(depth - 1), NULL);
  for (;;) {
    Stmt *s = random_leaf();
    if (injective(s)) return s;
  }
}

static Stmt *random_block(int depth) {
  Stmt *b = block();
  for (int n = 1 + pick(4); n > 0; n--) put(b, random_stmt(depth));
  return b;
}

START_TEST(random_programs) {
  int clean = 0, refused = 0;
  for (int i = 0; i < 400; i++) {
    seed = (uint32_t)(i * 7919 + 1);
    rcopies = i % 2;
    bench_begin(LEVEL_THREAD, RTHREADS, 1, 1);
    rloops.len = rloops.cap = 0;
    rloops.data = NULL;
    rin = global("in", DT_I32, RSIZE);
    for (int j = 0; j < RTILES; j++) rtile[j] = flat("S", DT_I32, SC_SHARED, RSIZE);
    racc = flat("acc", DT_I32, SC_LOCAL, 1);
    rout = global("out", DT_I32, RTHREADS);
    Var *z = loop_var("z");
    put(T.k->body, store(racc, I(0), ex_int(T.a, DT_I32, 0)));
    for (int j = 0; j < RTILES; j++)
      put(T.k->body, loop(LOOP_UNROLL, z, I(0), I(RSIZE / RTHREADS),
                          store(rtile[j], add(mul(V(z), RTHREADS), tx()), ex_int(T.a, DT_I32, j))));
    put(T.k->body, random_block(3));
    put(T.k->body, store(rout, tx(), at(racc, I(0))));
    void *want = NULL;
    Buf before = {0};
    ir_print(T.p, &before);
    if (!rcopies) { // every statement by all threads before the next: the meaning of the tile level
      T.k->level = LEVEL_TILE;
      want = oracle_out(T.p);
      T.k->level = LEVEL_THREAD;
    }
    if (synced(true) < 0) refused++;
    else clean++;
    if (want && memcmp(want, T.arg[1].data, T.arg[1].bytes)) {
      ir_print(T.p, &before);
      fprintf(stderr, "%s", buf_str(&before));
      ck_abort_msg("program %d computes something else after sync", i);
    }
    buf_free(&before);
    arena_free(T.a);
  }
  ck_assert_int_ge(clean, 300);
  (void)refused;
}
END_TEST

// S and R are double buffers: one barrier between the first and the second statement serves both,
// but the first conflict met asks for one before the third.
START_TEST(superfluous) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64);
  Buffer *S = flat("S", DT_I32, SC_SHARED, 128), *R = flat("R", DT_I32, SC_SHARED, 128);
  Buffer *acc = flat("acc", DT_I32, SC_LOCAL, 1);
  Var *k = loop_var("k");
  Expr *now = mul(rem(V(k), 2), 64), *next = mul(rem(add(V(k), I(1)), 2), 64);
  Stmt *body = block();
  put(body, store(S, add(now, tx()), add(tx(), V(k))));
  put(body, store(acc, I(0), bin(BIN_ADD, at(acc, I(0)), at(R, add(now, flip(tx()))))));
  put(body, store(R, add(next, tx()), at(S, add(now, flip(tx())))));
  put(T.k->body, store(acc, I(0), ex_int(T.a, DT_I32, 0)));
  put(T.k->body, store(R, tx(), ex_int(T.a, DT_I32, 5)));
  put(T.k->body, loop(LOOP_SERIAL, k, I(0), I(9), body));
  put(T.k->body, store(out, tx(), at(acc, I(0))));
  synced(true);
  ck_assert_int_eq(count(first_loop(), OP_SYNC), 1);
  arena_free(T.a);
}
END_TEST

// Two stores, each thread's at a row behind a loaded start, in wrapping int32, `pitch` rows apart.
static int loaded_rows(int64_t pitch) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *start = global("start", DT_I32, 4), *out = global("out", DT_I32, 4096);
  for (int i = 0; i < 2; i++) {
    Expr *row = bin(BIN_ADD, at(start, I(0)), ex_cast(T.a, DT_I32, add(I(i * pitch), tx())));
    put(T.k->body, store(out, ex_cast(T.a, DT_INDEX, row), tx()));
  }
  int barriers = synced(false);
  arena_free(T.a);
  return barriers;
}

START_TEST(loaded_starts) {
  ck_assert_int_eq(loaded_rows(64), 0);
  ck_assert_int_eq(loaded_rows(63), 1);
  ck_assert_int_eq(loaded_rows(((int64_t)1 << 32) + 1), 1);
}
END_TEST

/* smem */

START_TEST(lifetimes) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64);
  Buffer *A = flat("A", DT_I32, SC_SHARED, 64), *B = flat("B", DT_I32, SC_SHARED, 64);
  Buffer *C = flat("C", DT_I32, SC_SHARED, 64);
  put(T.k->body, store(A, tx(), tx()));
  put(T.k->body, store(B, tx(), at(A, flip(tx()))));
  put(T.k->body, store(C, tx(), at(B, flip(tx()))));
  put(T.k->body, store(out, tx(), at(C, flip(tx()))));
  int n = synced(true);
  ck_assert_int_eq(T.k->smem_bytes, 512); // C takes A's place
  ck_assert_int_eq(A->offset, C->offset);
  ck_assert_int_ne(A->offset, B->offset);
  ck_assert_int_eq(n, 3);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(((int32_t *)T.arg[0].data)[i], i ^ 1);
  arena_free(T.a);
}
END_TEST

START_TEST(lifetimes_in_loops) { // what a loop leaves may be read in its next iteration
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64);
  Buffer *A = flat("A", DT_I32, SC_SHARED, 64), *B = flat("B", DT_I32, SC_SHARED, 64);
  Stmt *body = block();
  put(T.k->body, store(A, tx(), tx()));
  put(body, store(B, tx(), at(A, flip(tx()))));
  put(body, store(A, tx(), bin(BIN_ADD, at(B, flip(tx())), ex_int(T.a, DT_I32, 1))));
  put(T.k->body, loop(LOOP_SERIAL, loop_var("r"), I(0), I(5), body));
  put(T.k->body, store(out, tx(), at(A, tx())));
  synced(true);
  ck_assert_int_eq(T.k->smem_bytes, 512);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(((int32_t *)T.arg[0].data)[i], i + 5);
  arena_free(T.a);
}
END_TEST

// B is written in one iteration and read at the start of the next; C lives in between.
START_TEST(lifetimes_across_iterations) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64);
  Buffer *B = flat("B", DT_I32, SC_SHARED, 64), *C = flat("C", DT_I32, SC_SHARED, 64);
  Buffer *acc = flat("acc", DT_I32, SC_LOCAL, 1);
  Var *r = loop_var("r");
  Stmt *body = block();
  put(T.k->body, store(acc, I(0), ex_int(T.a, DT_I32, 0)));
  put(body,
      when(lt(I(0), V(r)), store(acc, I(0), bin(BIN_ADD, at(acc, I(0)), at(B, flip(tx())))), NULL));
  put(body, store(B, tx(), add(tx(), V(r))));
  put(body, store(C, tx(), I(77)));
  put(body, store(acc, I(0), bin(BIN_ADD, at(acc, I(0)), at(C, flip(tx())))));
  put(T.k->body, loop(LOOP_SERIAL, r, I(0), I(3), body));
  put(T.k->body, store(out, tx(), at(acc, I(0))));
  synced(true);
  ck_assert_int_eq(T.k->smem_bytes, 512);
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq(((int32_t *)T.arg[0].data)[i], 3 * 77 + 2 * (i ^ 1) + 1);
  arena_free(T.a);
}
END_TEST

START_TEST(smem_limit) {
  bench_begin(LEVEL_THREAD, 64, 1, 1);
  Buffer *out = global("out", DT_I32, 64);
  Buffer *A = flat("A", DT_I32, SC_SHARED, 30000), *B = flat("B", DT_I32, SC_SHARED, 30000);
  put(T.k->body, store(A, tx(), tx()));
  put(T.k->body, store(B, tx(), tx()));
  put(T.k->body, store(out, tx(), bin(BIN_ADD, at(A, tx()), at(B, tx()))));
  pass_smem(T.p, &T.c);
  ck_assert(reported(DIAG_SMEM_LIMIT));
  arena_free(T.a);
}
END_TEST

int main(void) {
  Suite *s = suite_create("sync");
  TCase *t = tcase_create("thread");
  tcase_set_timeout(t, 300);
  const TTest *const tests[] = {one_barrier_an_iteration,
                                missing_wait,
                                weak_wait,
                                divergent_apart,
                                divergent_alone,
                                divergent_split,
                                divergent_loop,
                                atomic_neighbour,
                                rotate_in_place,
                                thread_private,
                                global_memory,
                                symbolic_rows,
                                superfluous,
                                loaded_starts,
                                random_programs,
                                lifetimes,
                                lifetimes_in_loops,
                                lifetimes_across_iterations,
                                smem_limit};
  for (size_t i = 0; i < LEN(tests); i++) tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  return suite_run(s);
}
