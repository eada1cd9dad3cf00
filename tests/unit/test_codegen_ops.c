// The emitted text of every thread-level op and operator, compiled with g++ and run, against the
// emulator, whose semantics are written apart from codegen's.
// SPDX-License-Identifier: MIT
#include <check.h>

#include "micro.h"
#include "text_host.h"
#include "suite.h"

static Micros micros;
static void *library;

static void compare(const Micro *m) {
  TextKernel text = text_kernel(library, m->p->symbol);
  ck_assert(text.call);
  void *before[MICRO_MAX_ARGS], *args[MICRO_MAX_ARGS];
  int n = m->p->params.len;
  for (int i = 0; i < n; i++) {
    before[i] = arena_copy(micros.a, m->arg[i].data, m->arg[i].bytes);
    args[i] = arena_copy(micros.a, m->arg[i].data, m->arg[i].bytes);
  }
  Sources *sources = src_new(micros.a);
  Diags *d = diag_new(micros.a, sources, (DiagOptions){0});
  EmuReport report;
  EmuCall call = {.args = (EmuArg *)m->arg};
  bool ran = emu_run(m->p, &call, target_find("sm_80"), &(EmuOptions){.seed = 1}, &report, d);
  diag_flush(d, stderr);
  ck_assert_msg(ran, "%s: the emulator objects", m->p->symbol);
  ck_assert_int_eq(text.call(args), 0);
  int bad = 0;
  for (int i = 0; i < n; i++) bad += micro_compare(m, i, args[i], m->arg[i].data);
  for (int i = 0; i < n; i++) memcpy(m->arg[i].data, before[i], m->arg[i].bytes);
  ck_assert_msg(bad == 0, "%s: %d elements differ", m->p->symbol, bad);
}

START_TEST(op) {
  compare(micros.list.data[_i]);
}
END_TEST

// TLC_MICRO: only the programs whose name holds this (for tests/mutate.sh).
static void keep_named(const char *part) {
  int n = 0;
  for (int i = 0; part && i < micros.list.len; i++)
    if (strstr(micros.list.data[i]->p->symbol, part)) micros.list.data[n++] = micros.list.data[i];
  if (part) micros.list.len = n;
}

static void *open_all(Arena *a) {
  int n = micros.list.len;
  const Program **p = NEWN(a, const Program *, n);
  CgOptions *o = NEWN(a, CgOptions, n);
  for (int i = 0; i < n; i++) {
    p[i] = micros.list.data[i]->p;
    o[i] = (CgOptions){.target = target_find("sm_80"), .out_name = "micro.cu"};
  }
  return text_open(p, o, n);
}

int main(void) {
  Arena *a = arena_new();
  micro_all(&micros, a);
  keep_named(getenv("TLC_MICRO"));
  library = open_all(a);
  if (!library) return 1;
  Suite *s = suite_create("codegen_ops");
  TCase *t = tcase_create("text against the emulator");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, op, 0, micros.list.len);
  suite_add_tcase(s, t);
  int failed = suite_run(s);
  arena_free(a);
  return failed;
}
