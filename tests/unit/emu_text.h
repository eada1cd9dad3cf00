// Thread-level programs as text for the emulator's tests, and changes to them that it must report.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_EMU_TEXT_H
#define TLC_TESTS_EMU_TEXT_H

#include "emu_build.h"

// Puts `to` for occurrence number `nth` (from 0) of `from`, which must be there.
static inline const char *text_with(const char *text, const char *from, int nth, const char *to) {
  const char *at = strstr(text, from);
  while (at && nth-- > 0) at = strstr(at + 1, from);
  ck_assert_msg(at != NULL, "'%s' is not in the program", from);
  return arena_printf(T.a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static inline void text_begin(void) {
  bench_end();
  T = (Bench){.a = arena_new()};
  T.sources = src_new(T.a);
  T.diags = diag_new(T.a, T.sources, (DiagOptions){0});
}

// Reads and verifies; every tensor gets zeroed memory.
static inline void text_program(const char *text) {
  Buf why = {0};
  uint32_t file = src_add(T.sources, "test.tir", text, strlen(text));
  T.p = ir_read(T.a, T.diags, file);
  if (!T.p) diag_flush(T.diags, stderr);
  ck_assert(T.p != NULL);
  ck_assert_msg(ir_verify(T.p, &why), "%s", buf_str(&why));
  for (int i = 0; i < T.p->params.len; i++) {
    const Buffer *b = T.p->params.data[i].buf;
    EmuArg *arg = &T.arg[i];
    *arg = (EmuArg){.bytes = (size_t)(buf_elems(b) * dt_bits(b->dtype) + 7) / 8};
    arg->data = arena_alloc(T.a, arg->bytes + 1);
  }
}

// What the verifier says of a text; "" where it is content.
static inline const char *text_judged(const char *text) {
  Buf why = {0};
  uint32_t file = src_add(T.sources, "test.tir", text, strlen(text));
  Program *p = ir_read(T.a, T.diags, file);
  if (!p) diag_flush(T.diags, stderr);
  ck_assert(p != NULL);
  ir_verify(p, &why);
  const char *said = arena_str(T.a, buf_str(&why));
  buf_free(&why);
  return said;
}

static inline bool text_said(DiagId id) {
  for (int i = 0; diag_id(T.diags, i) >= 0; i++)
    if (diag_id(T.diags, i) == (int)id) return true;
  return false;
}

typedef struct {
  const char *from;
  int nth;
  const char *to;
  DiagId id[3]; // one of these must be said, whatever the schedule; 0 ends
} Change;

static inline void expect_change_reported(const char *text, const Change *c) {
  for (uint64_t seed = 0; seed < 4; seed++) {
    text_begin();
    text_program(text_with(text, c->from, c->nth, c->to));
    bool clean = bench_run(seed), found = false;
    ck_assert_msg(!clean, "'%s' (%d) -> '%s' goes unnoticed", c->from, c->nth, c->to);
    for (int i = 0; i < 3 && c->id[i]; i++) found |= text_said(c->id[i]);
    if (!found) diag_flush(T.diags, stderr);
    ck_assert_msg(found, "'%s' (%d) -> '%s': not %s", c->from, c->nth, c->to,
                  diag_code(c->id[0]));
  }
}

#define CHANGES(text, ...)                                                                         \
  do {                                                                                             \
    static const Change changes[] = {__VA_ARGS__};                                                 \
    for (size_t i = 0; i < LEN(changes); i++) expect_change_reported(text, &changes[i]);           \
  } while (0)

#endif
