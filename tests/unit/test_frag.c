// Does a loop's mapping serve a fragment access? Where elements are held several times, a read
// needs one of the copies on its own thread, a write must reach all of them.
// SPDX-License-Identifier: MIT
#include "pass_build.h"
#include "passes/lower.h"
#include "suite.h"

static bool fits(const Layout *frag, Layout *loop_layout, Expr *index, Var *j, bool write) {
  Buffer *f = flat("f", DT_F32, SC_FRAGMENT, 64);
  Expr **idx = NEW(T.a, Expr *);
  idx[0] = index;
  Stmt *loop = st_for(T.a, LOOP_PARALLEL, j, I(0), I(64), block(), NO_SPAN);
  loop->u.loop.layout = loop_layout;
  bool plain = index->kind == EX_VAR;
  FragUse u = {.buf = f, .write = write, .plain = plain, .dim = {plain ? 0 : -1}, .idx = idx};
  int64_t coeff[LOOP_MAX_DIGITS], base;
  return frag_fit(T.a, &u, frag, loop, coeff, &base);
}

static Layout *once(int bits) {
  return layout_coalesced(T.a, (int64_t[]){64}, 1, bits, 128, 1);
}

// Threads t and t + 64 hold element t.
static Layout *twice(int bits) {
  Layout *both = layout_coalesced(T.a, (int64_t[]){2, 64}, 2, bits, 128, 1);
  return layout_with_bits(T.a, layout_drop(T.a, both, 0), bits);
}

START_TEST(copies) {
  bench_begin(LEVEL_TILE, 128, 1, 1);
  Var *j = var_new(T.a, "j", DT_INDEX, VAR_LOOP, NO_SPAN);
  for (int write = 0; write < 2; write++) {
    ck_assert(fits(once(32), once(1), V(j), j, write));
    ck_assert(fits(twice(32), twice(1), V(j), j, write));
    ck_assert(!fits(once(32), twice(1), V(j), j, write)); // threads 64.. hold nothing
  }
  ck_assert(fits(twice(32), once(1), V(j), j, false));
  ck_assert(!fits(twice(32), once(1), V(j), j, true));
  arena_free(T.a);
}
END_TEST

START_TEST(other_elements) {
  bench_begin(LEVEL_TILE, 128, 1, 1);
  Var *j = var_new(T.a, "j", DT_INDEX, VAR_LOOP, NO_SPAN);
  for (int write = 0; write < 2; write++) {
    ck_assert(!fits(once(32), once(1), rem(add(V(j), I(1)), 64), j, write)); // a neighbour's
    ck_assert(!fits(once(32), once(1), add(V(j), I(1)), j, write));          // past the end
  }
  ck_assert(fits(once(32), once(1), rem(add(V(j), I(64)), 64), j, false)); // its own after all
  arena_free(T.a);
}
END_TEST

int main(void) {
  Suite *s = suite_create("frag");
  TCase *t = tcase_create("fit");
  tcase_add_test(t, copies);
  tcase_add_test(t, other_elements);
  suite_add_tcase(s, t);
  return suite_run(s);
}
