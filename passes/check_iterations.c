// Iterations of T.Parallel that provably depend on one another. Where it depends on data the oracle
// sees it.
// SPDX-License-Identifier: MIT
#include "ir/iterations.h"
#include "passes/check.h"

// "i = 0, j = 3"
static const char *told(Arena *a, const Meeting *m, const int64_t *at) {
  const char *text = "";
  for (int i = 0; i < m->nvars; i++)
    text = arena_printf(a, "%s%s%s = %lld", text, i ? ", " : "", m->var[i]->name, (long long)at[i]);
  return text;
}

void check_iterations(Check *k, Stmt *loop) {
  Meeting m;
  if (k->kernel->threads == 1) return; // which does them one after the other
  Arena *scratch = arena_new();
  if (iterations_of(scratch, loop, NULL, &m) == ITERATIONS_MEET) {
    const char *first = told(scratch, &m, m.first), *second = told(scratch, &m, m.second);
    diag_report(k->c->diags, DIAG_ITERATIONS, m.other, second,
                m.writes ? "gives another value to" : "reads", m.buf->name, first);
    note_buffer(k->c, k->program, m.buf);
  }
  arena_free(scratch);
}
