// The emulator's happens-before checks: races, unwritten reads, copies in flight; each program has
// a clean twin.
// SPDX-License-Identifier: MIT
#include "emu_build.h"

/* races within a block */

// Thread t writes S[t] and reads S[t ^ with], a barrier between or not.
static void exchange(int with, bool barrier) {
  bench_begin(64, 1);
  Buffer *out = param("out", DT_F32, 64), *s = buffer("S", DT_F32, SC_SHARED, 64);
  put(T.k->body, store(s, tx(), ex_cast(T.a, DT_F32, tx())));
  if (barrier) put(T.k->body, sync_threads());
  put(T.k->body, store(out, tx(), at(s, bin(BIN_BITXOR, tx(), I(with)))));
}

START_TEST(race_between_threads) {
  exchange(1, true), expect_clean();
  ck_assert_float_eq(((float *)T.arg[0].data)[6], 7);
  exchange(0, false), expect_clean();
  exchange(1, false), expect_report(DIAG_EMU_RACE); // lanes of one warp are unordered too
  exchange(32, false);
  ck_assert(!bench_run(0)); // an unwritten read or a race, as the schedule has it
}
END_TEST

START_TEST(race_of_two_writers) {
  for (int same = 0; same < 2; same++) {
    bench_begin(64, 1);
    Buffer *s = buffer("S", DT_F32, SC_SHARED, 64);
    put(T.k->body, store(s, same ? I(0) : tx(), F(1)));
    if (same) expect_report(DIAG_EMU_RACE);
    else expect_clean();
  }
}
END_TEST

// Read first, overwritten by a neighbour later: the reader must be ordered before.
START_TEST(race_write_after_read) {
  for (int barrier = 0; barrier < 2; barrier++) {
    bench_begin(32, 1);
    Buffer *s = buffer("S", DT_F32, SC_SHARED, 64), *v = buffer("v", DT_F32, SC_LOCAL, 1);
    put(T.k->body, store(s, tx(), F(1)));
    put(T.k->body, sync_threads());
    put(T.k->body, store(v, I(0), at(s, tx())));
    if (barrier) put(T.k->body, sync_threads());
    put(T.k->body, store(s, bin(BIN_BITXOR, tx(), I(1)), F(2)));
    if (barrier) expect_clean();
    else expect_report(DIAG_EMU_RACE);
  }
}
END_TEST

static Stmt *atomic_add(Buffer *b, Expr *i, Expr *v) {
  return st_atomic(T.a, NO_SPAN, span_of(b, i, 1), v, (int64_t)ATOMIC_ADD);
}

// All lanes read S[0], then the one that read first (or last) writes it.
START_TEST(race_of_many_readers_with_one_of_them) {
  for (int lane = 0; lane < 32; lane += 31) {
    bench_begin(32, 1);
    Buffer *s = buffer("S", DT_F32, SC_SHARED, 1), *v = buffer("v", DT_F32, SC_LOCAL, 1);
    Expr *one = bin(BIN_EQ, tx(), I(lane));
    put(T.k->body, when(one, store(s, I(0), F(1)), NULL));
    put(T.k->body, sync_threads());
    put(T.k->body, store(v, I(0), at(s, I(0))));
    put(T.k->body, when(one, store(s, I(0), F(2)), NULL));
    expect_report(DIAG_EMU_RACE);
  }
}
END_TEST

// A plain write, then atomics by all, the writer included, with no barrier.
START_TEST(race_of_a_plain_write_with_atomics) {
  for (int lane = 0; lane < 32; lane += 31) {
    bench_begin(32, 1);
    Buffer *s = buffer("S", DT_F32, SC_SHARED, 1);
    put(T.k->body, when(bin(BIN_EQ, tx(), I(lane)), store(s, I(0), F(1)), NULL));
    put(T.k->body, atomic_add(s, I(0), F(2)));
    expect_report(DIAG_EMU_RACE);
  }
}
END_TEST

// Atomics by all, then a plain read by one of them.
START_TEST(race_of_atomics_with_a_plain_read) {
  for (int lane = 0; lane < 32; lane += 31) {
    bench_begin(32, 1);
    Buffer *s = buffer("S", DT_F32, SC_SHARED, 1), *v = buffer("v", DT_F32, SC_LOCAL, 1);
    Expr *one = bin(BIN_EQ, tx(), I(lane));
    put(T.k->body, when(one, store(s, I(0), F(1)), NULL));
    put(T.k->body, sync_threads());
    put(T.k->body, atomic_add(s, I(0), F(2)));
    put(T.k->body, when(one, store(v, I(0), at(s, I(0))), NULL));
    expect_report(DIAG_EMU_RACE);
  }
}
END_TEST

// S[0] = 0; barrier; all add; (barrier;) one reads.
START_TEST(atomics_race_with_plain_accesses_only) {
  for (int barrier = 0; barrier < 2; barrier++) {
    bench_begin(64, 1);
    Buffer *out = param("out", DT_F32, 1), *s = buffer("S", DT_F32, SC_SHARED, 1);
    Expr *first = bin(BIN_EQ, tx(), I(0));
    put(T.k->body, when(first, store(s, I(0), F(0)), NULL));
    put(T.k->body, sync_threads());
    put(T.k->body, atomic_add(s, I(0), F(2)));
    if (barrier) put(T.k->body, sync_threads());
    put(T.k->body, when(first, store(out, I(0), at(s, I(0))), NULL));
    if (!barrier) {
      expect_report(DIAG_EMU_RACE);
      continue;
    }
    expect_clean();
    ck_assert_float_eq(*(float *)T.arg[0].data, 128);
  }
}
END_TEST

START_TEST(race_of_nibbles_in_one_byte) {
  for (int whole = 0; whole < 2; whole++) {
    bench_begin(64, 1);
    Buffer *s = buffer("S", DT_I4, SC_SHARED, 64);
    Expr *own = lt(tx(), I(32)), *at_i = mul(tx(), 2);
    Stmt *both = block();
    put(both, store(s, at_i, ex_int(T.a, DT_I4, 3)));
    put(both, store(s, add(at_i, I(1)), ex_int(T.a, DT_I4, 4)));
    if (whole) put(T.k->body, when(own, both, NULL));
    else put(T.k->body, store(s, tx(), ex_int(T.a, DT_I4, 3)));
    if (whole) expect_clean();
    else expect_report(DIAG_EMU_RACE);
  }
}
END_TEST

/* races between blocks */

static void blocks_write(bool apart, bool atomic) {
  bench_begin(32, 4);
  Buffer *out = param("out", DT_F32, 128);
  Expr *i = apart ? add(mul(V(T.k->block[0]), 32), tx()) : tx();
  put(T.k->body, atomic ? atomic_add(out, i, F(1)) : store(out, i, F(1)));
}

START_TEST(race_between_blocks) {
  blocks_write(true, false), expect_clean();
  blocks_write(false, true), expect_clean();
  blocks_write(false, false), expect_report(DIAG_EMU_RACE_BLOCKS);
}
END_TEST

// Split-K zeroing in one block (CASES 8): plain store in block 0, atomics in the others.
START_TEST(race_of_zeroing_with_atomics) {
  bench_begin(32, 4);
  Buffer *out = param("out", DT_F32, 32);
  put(T.k->body, when(bin(BIN_EQ, V(T.k->block[0]), I(3)), store(out, tx(), F(0)),
                      atomic_add(out, tx(), F(1))));
  expect_report(DIAG_EMU_RACE_BLOCKS);
}
END_TEST

// The block that zeroes adds as well, after a barrier: to the others it is still the one that set.
START_TEST(race_of_zeroing_then_adding_with_atomics) {
  for (int sets = 0; sets < 2; sets++) {
    bench_begin(32, 4);
    Buffer *out = param("out", DT_F32, 32);
    Expr *first = bin(BIN_EQ, V(T.k->block[0]), I(0));
    if (sets) put(T.k->body, when(first, store(out, tx(), F(0)), NULL));
    put(T.k->body, sync_threads());
    put(T.k->body, atomic_add(out, tx(), F(1)));
    if (sets) expect_report(DIAG_EMU_RACE_BLOCKS);
    else expect_clean();
  }
}
END_TEST

// One block reads what a later one writes; the later one may have read it itself in between.
START_TEST(race_of_a_reader_with_a_later_block) {
  for (int reads_too = 0; reads_too < 2; reads_too++) {
    bench_begin(32, 2);
    Buffer *io = param("io", DT_F32, 32), *v = buffer("v", DT_F32, SC_LOCAL, 1);
    Expr *last = bin(BIN_EQ, V(T.k->block[0]), I(1));
    Stmt *read = store(v, I(0), at(io, tx()));
    put(T.k->body, reads_too ? read : when(last, block(), read));
    put(T.k->body, when(last, store(io, tx(), F(0)), NULL));
    expect_report(DIAG_EMU_RACE_BLOCKS);
  }
}
END_TEST

// Both blocks add atomically; the second then reads its own sum: the first one's is not ordered.
START_TEST(race_of_a_plain_read_with_foreign_atomics) {
  bench_begin(32, 2);
  Buffer *io = param("io", DT_F32, 32), *v = buffer("v", DT_F32, SC_LOCAL, 1);
  put(T.k->body, atomic_add(io, tx(), F(1)));
  put(T.k->body, when(bin(BIN_EQ, V(T.k->block[0]), I(1)), store(v, I(0), at(io, tx())), NULL));
  expect_report(DIAG_EMU_RACE_BLOCKS);
}
END_TEST

// Kernels follow one another: what the first wrote, any block of the second may touch.
START_TEST(kernels_are_ordered) {
  bench_begin(32, 2);
  Buffer *io = param("io", DT_F32, 64), *out = param("out", DT_F32, 64);
  Expr *here = add(mul(V(T.k->block[0]), 32), tx());
  put(T.k->body, store(io, here, F(5)));
  Kernel *second = NEW(T.a, Kernel);
  *second = *T.k;
  second->body = block();
  put(second->body, store(out, here, at(io, bin(BIN_SUB, I(63), here))));
  put(second->body, sync_threads());
  vec_push(T.a, &T.p->kernels, second);
  expect_clean();
  ck_assert_float_eq(((float *)T.arg[1].data)[40], 5);
}
END_TEST

/* unwritten memory */

START_TEST(unwritten_shared_memory) {
  for (int all = 0; all < 2; all++) {
    bench_begin(64, 2); // the second block must not see the first one's writes as its own
    Buffer *out = param("out", DT_F32, 128), *s = buffer("S", DT_F32, SC_SHARED, 64);
    Expr *first = bin(BIN_EQ, V(T.k->block[0]), I(0));
    Stmt *write = store(s, tx(), F(1));
    put(T.k->body, all ? write : when(first, write, NULL));
    put(T.k->body, sync_threads());
    put(T.k->body, store(out, add(mul(V(T.k->block[0]), 64), tx()), at(s, tx())));
    if (all) expect_clean();
    else expect_report(DIAG_EMU_UNWRITTEN);
  }
}
END_TEST

START_TEST(unwritten_output) {
  for (int written = 0; written < 2; written++) {
    bench_begin(32, 1);
    Buffer *out = param("out", DT_F32, 32);
    T.p->params.data[0].role = ROLE_OUT;
    if (written) put(T.k->body, store(out, tx(), F(1)));
    put(T.k->body, store(out, tx(), ex_add(T.a, at(out, tx()), F(1))));
    if (written) expect_clean();
    else expect_report(DIAG_EMU_UNWRITTEN);
  }
}
END_TEST

/* asynchronous copies */

typedef enum { FINE, NO_WAIT, WAIT_TOO_FEW, NO_BARRIER, OVERWRITE, SOURCE_WRITTEN } AsyncFault;

// 32 threads copy 4 floats each; then each reads a neighbour's.
static void async_program(AsyncFault fault) {
  bench_begin(32, 1);
  Buffer *in = param("in", DT_F32, 128), *out = param("out", DT_F32, 128);
  Buffer *s = buffer("S", DT_F32, SC_SHARED, 128), *v = buffer("v", DT_F32, SC_LOCAL, 4);
  for (int i = 0; i < 128; i++) ((float *)T.arg[0].data)[i] = (float)i;
  Expr *own = mul(tx(), 4), *other = mul(bin(BIN_BITXOR, tx(), I(1)), 4);
  put(T.k->body, cp_async(span_of(in, own, 4), span_of(s, own, 4), I(3)));
  put(T.k->body, commit());
  if (fault == OVERWRITE) put(T.k->body, store(s, own, F(0)));
  if (fault == SOURCE_WRITTEN) put(T.k->body, store(in, own, F(0)));
  if (fault != NO_WAIT) put(T.k->body, wait_for(fault == WAIT_TOO_FEW));
  if (fault != NO_BARRIER) put(T.k->body, sync_threads());
  put(T.k->body, vmov(span_of(s, other, 4), span_of(v, I(0), 4)));
  put(T.k->body, vmov(span_of(v, I(0), 4), span_of(out, other, 4)));
}

START_TEST(asynchronous_copies) {
  async_program(FINE), expect_clean();
  for (int i = 0; i < 128; i++)
    ck_assert_float_eq(((float *)T.arg[1].data)[i], i % 4 == 3 ? 0 : (float)i); // zero-filled
  async_program(NO_WAIT), expect_report(DIAG_EMU_IN_FLIGHT);
  async_program(WAIT_TOO_FEW), expect_report(DIAG_EMU_IN_FLIGHT);
  async_program(NO_BARRIER), expect_report(DIAG_EMU_RACE);
  async_program(OVERWRITE), expect_report(DIAG_EMU_IN_FLIGHT);
  async_program(SOURCE_WRITTEN), expect_report(DIAG_EMU_SOURCE);
}
END_TEST

START_TEST(valid_count_out_of_range) {
  for (int valid = 4; valid < 6; valid++) {
    bench_begin(32, 1);
    Buffer *in = param("in", DT_F32, 128), *s = buffer("S", DT_F32, SC_SHARED, 128);
    Expr *own = mul(tx(), 4);
    put(T.k->body, cp_async(span_of(in, own, 4), span_of(s, own, 4), I(valid)));
    if (valid == 4) expect_clean();
    else expect_report(DIAG_EMU_VALID);
  }
}
END_TEST

// Nothing is read where valid is 0, whatever the address.
START_TEST(no_read_without_valid_elements) {
  bench_begin(32, 1);
  Buffer *in = param("in", DT_F32, 4), *s = buffer("S", DT_F32, SC_SHARED, 128);
  put(T.k->body, cp_async(span_of(in, add(mul(tx(), 4), I(1000)), 4), span_of(s, mul(tx(), 4), 4),
                          I(0)));
  expect_clean();
}
END_TEST

int main(void) {
  const TTest *tests[] = {
      race_between_threads, race_of_two_writers, race_write_after_read,
      race_of_many_readers_with_one_of_them, race_of_a_plain_write_with_atomics,
      race_of_atomics_with_a_plain_read, atomics_race_with_plain_accesses_only,
      race_of_nibbles_in_one_byte, race_between_blocks, race_of_zeroing_with_atomics,
      race_of_zeroing_then_adding_with_atomics,
      race_of_a_reader_with_a_later_block, race_of_a_plain_read_with_foreign_atomics,
      kernels_are_ordered, unwritten_shared_memory, unwritten_output, asynchronous_copies,
      valid_count_out_of_range, no_read_without_valid_elements};
  return run_suite("race", tests, LEN(tests));
}
