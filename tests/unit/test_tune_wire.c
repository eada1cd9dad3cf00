// tuner/wire: messages as they are written, and read back from any bytes.
// SPDX-License-Identifier: MIT
#include "tuner/wire.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

START_TEST(written) {
  Buf b = {0};
  tn_wire_verb(&b, "try");
  tn_wire_int(&b, "id", -3);
  tn_wire_text(&b, "text", "a\tb\nc\\d=e");
  tn_wire_end(&b);
  ck_assert_str_eq(b.data, "try\tid=-3\ttext=a\\tb\\nc\\\\d=e\n");
  buf_free(&b);
}
END_TEST

START_TEST(round_trip) {
  Arena *a = arena_new();
  static const double values[] = {0.1, 1e300, -1e-300, 1.0 / 3, 0};
  Buf b = {0};
  tn_wire_verb(&b, "measured");
  tn_wire_text(&b, "text", "\\n is not \n, and\ttabs = tabs \\");
  tn_wire_text(&b, "none", "");
  char name[16];
  for (int i = 0; i < 5; i++) {
    snprintf(name, sizeof name, "r%d", i);
    tn_wire_real(&b, name, values[i]);
  }
  tn_wire_int(&b, "big", INT64_MIN);
  TnMessage m = tn_wire_parse(a, b.data, b.len);
  ck_assert_str_eq(m.verb, "measured");
  ck_assert_str_eq(tn_wire_get(&m, "text"), "\\n is not \n, and\ttabs = tabs \\");
  ck_assert_str_eq(tn_wire_get(&m, "none"), "");
  for (int i = 0; i < 5; i++) {
    snprintf(name, sizeof name, "r%d", i);
    ck_assert(tn_wire_get_real(&m, name, NAN) == values[i]);
  }
  ck_assert(tn_wire_get_int(&m, "big", 0) == INT64_MIN);
  ck_assert(tn_wire_get(&m, "other") == NULL);
  ck_assert_int_eq(tn_wire_get_int(&m, "other", 7), 7);
  buf_free(&b);
  arena_free(a);
}
END_TEST

START_TEST(any_bytes) { // whatever a broken runner says, reading it ends well
  Arena *a = arena_new();
  static const char *const lines[] = {"", "\t", "\t\t=", "x\t=\t=", "x\ty", "x\ta=\\", "=\t=x"};
  for (size_t i = 0; i < LEN(lines); i++) {
    TnMessage m = tn_wire_parse(a, lines[i], strlen(lines[i]));
    ck_assert(m.verb != NULL);
  }
  TnMessage m = tn_wire_parse(a, "x\ta=1\ta=2", 9); // the first counts
  ck_assert_str_eq(tn_wire_get(&m, "a"), "1");
  static const char odd[] = "x\tn=nan\ti=inf\tm=-3\tz=0\tt=zork\tg=2.5"; // only times are times
  m = tn_wire_parse(a, odd, strlen(odd));
  for (const char *p = "nimzto"; *p; p++)
    ck_assert(tn_wire_get_time(&m, (char[]){*p, 0}) == 0);
  ck_assert(tn_wire_get_time(&m, "g") == 2.5);
  ck_assert_str_eq(tn_plain(a, "a\033[2J\xff\n"), "a?[2J??");
  arena_free(a);
}
END_TEST

int main(void) {
  Suite *s = suite_create("tune_wire");
  TCase *t = tcase_create("tune_wire");
  tcase_add_test(t, written);
  tcase_add_test(t, round_trip);
  tcase_add_test(t, any_bytes);
  suite_add_tcase(s, t);
  return suite_run(s);
}
