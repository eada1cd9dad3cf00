// Samples of a grid: which blocks are chosen, and that the oracle gives what they write the values
// that all blocks give it.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <string.h>

#include "driver/device.h"
#include "suite.h"

static Arena *arena;

static void setup(void) { arena = arena_new(); }
static void teardown(void) { arena_free(arena); }

// The data of a run of this command line: a file and its parameters.
static RunData data_of(char *file, char *params) {
  Options *o = NEW(arena, Options);
  o->arena = arena;
  char *argv[] = {"tlc", "--run", file, "-p", params, NULL};
  ck_assert_int_eq(opt_parse(o, 5, argv), -1);
  Job *j = NEW(arena, Job);
  *j = (Job){.arena = arena, .sources = src_new(arena)};
  j->diags = diag_new(arena, j->sources, (DiagOptions){0});
  ck_assert(job_open(j, o) && job_front(j, o));
  RunData d;
  ck_assert_int_eq(data_make(&d, j->tile.data[0], o), EXIT_OK);
  return d;
}

// Of both runs the same bits wherever the sample writes. Returns how many elements that is.
static int compared(const RunData *d, const Sample *s) {
  EmuArg *all = data_args(d, arena, true), *some = data_args(d, arena, true);
  EmuCall whole = {.sizes = d->sizes, .args = all}, part = {.sizes = d->sizes, .args = some};
  Diags *diags = diag_new(arena, src_new(arena), (DiagOptions){0});
  ck_assert(oracle_run(d->program, &whole, diags));
  ck_assert(oracle_run_blocks(d->program, &part, s->block, s->n, diags));
  int n = 0;
  for (int i = 0; i < d->program->params.len; i++) {
    if (!data_is_output(d->program, i)) continue;
    size_t size = (size_t)rt_type_bits(d->array[i].type) / 8;
    for (size_t at = 0; at < d->bytes[i] / size; at++) {
      if (!some[i].written[at]) continue;
      n++;
      const char *x = all[i].data, *y = some[i].data;
      ck_assert_mem_eq(x + at * size, y + at * size, size);
      ck_assert_float_eq(all[i].bound[at], some[i].bound[at]);
    }
  }
  return n;
}

// The product that a program computes, whichever way round its result is stored.
static void is_product(char *file, char *params, RtGemm want) {
  RunData d = data_of(file, params);
  Product p;
  RtGemm g;
  ck_assert(product_find(d.program, &p));
  ck_assert(product_gemm(&d, NULL, &p, &g));
  ck_assert(g.m == want.m && g.n == want.n && g.k == want.k);
  ck_assert(g.trans_a == want.trans_a && g.trans_b == want.trans_b);
}

START_TEST(products_and_their_transposes) {
  RtGemm plain = {.m = 16, .n = 200, .k = 32};
  RtGemm a = {.m = 16, .n = 200, .k = 32, .trans_a = true};
  RtGemm b = {.m = 16, .n = 200, .k = 32, .trans_b = true};
  is_product("samples/gemm.tl", "M=16,N=200,K=32", plain);
  is_product("bench/gemm_forms.tl", "M=16,N=200,K=32,trans_A=True", a);
  is_product("samples/gemm_nt.tl", "M=16,N=200,K=32", b);
  is_product("bench/gemm_skinny.tl", "M=16,N=200,K=32", b);
}
END_TEST

START_TEST(blocks_of_their_own) {
  RunData d = data_of("samples/gemm_nt.tl", "M=100,N=200,K=32,block_M=32,block_N=32");
  Sample s = sample_choose(&d, 1, 2e-9, arena);
  ck_assert_int_eq(s.n, 2);
  ck_assert_int_eq(s.together, 1);
  ck_assert_int_eq(s.block[0], 0);
  ck_assert_int_eq(s.block[1], 4 * 7 - 1);
  ck_assert_int_eq(compared(&d, &s), 32 * 32 + 4 * 8);
  ck_assert_ptr_null(sample_choose(&d, 1, 1, arena).block); // all takes less than a second
}
END_TEST

START_TEST(sums) { // three blocks add to a tile: all of them, or none
  RunData d = data_of("bench/gemm_forms.tl",
                      "M=100,N=200,K=96,block_M=32,block_N=32,block_K=32,split_k=3,"
                      "out_dtype=float32");
  Sample s = sample_choose(&d, 1, 2e-9, arena);
  static const int64_t want[] = {0, 28, 56, 27, 55, 83};
  ck_assert_int_eq(s.n, 6);
  ck_assert_int_eq(s.together, 3);
  for (int i = 0; i < 6; i++) ck_assert_int_eq(s.block[i], want[i]);
  ck_assert_int_eq(compared(&d, &s), 32 * 32 + 4 * 8);
}
END_TEST

START_TEST(no_group_twice) {
  RunData d = data_of("bench/gemm_forms.tl",
                      "M=64,N=96,K=64,block_M=32,block_N=32,block_K=32,split_k=2,"
                      "out_dtype=float32");
  for (uint64_t seed = 1; seed < 20; seed++) {
    Sample s = sample_choose(&d, seed, 0.002, arena); // of 6 tiles 5
    bool seen[12] = {false};
    ck_assert_int_le(s.n, 10);
    for (int i = 0; i < s.n; i++) {
      ck_assert(!seen[s.block[i]]);
      seen[s.block[i]] = true;
    }
    compared(&d, &s);
  }
}
END_TEST

START_TEST(unknown) { // sums by elements; tiles that overlap; the result is read
  static char *const programs[][2] = {
      {"samples/splitk.tl", "M=64,N=64,K=64,block_M=32,block_N=32,block_K=32"},
      {"tests/cases/tma_reduce.tl", "form=0"},
      {"tests/cases/tma_reduce.tl", "form=2"},
  };
  for (size_t i = 0; i < LEN(programs); i++) {
    RunData d = data_of(programs[i][0], programs[i][1]);
    ck_assert_ptr_null(sample_choose(&d, 1, 1e-9, arena).block);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("sample");
  TCase *t = tcase_create("sample");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, products_and_their_transposes);
  tcase_add_test(t, blocks_of_their_own);
  tcase_add_test(t, sums);
  tcase_add_test(t, no_group_twice);
  tcase_add_test(t, unknown);
  suite_add_tcase(s, t);
  return suite_run(s);
}
