// lexer: layout, literals and soft keywords as tokens; places; what it keeps going after an error.
// SPDX-License-Identifier: MIT
#include "lexer/lex.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static Arena *arena;
static Sources *sources;
static Diags *diags;

static void setup(void) {
  arena = arena_new();
  sources = src_new(arena);
  diags = diag_new(arena, sources, (DiagOptions){0});
}

static void teardown(void) { arena_free(arena); }

static Tokens lex_bytes(const char *text, size_t len) {
  return lex_file(arena, diags, src_add(sources, "t.tl", text, len));
}

static Tokens lex(const char *text) { return lex_bytes(text, strlen(text)); }

// Kinds of all tokens, separated by spaces; names, numbers and strings with their values.
static const char *kinds(const Tokens *t) {
  Buf b = {0};
  for (int i = 0; i < t->len; i++) {
    const Token *k = &t->data[i];
    if (i) buf_putc(&b, ' ');
    if (k->kind == TOK_NAME) buf_puts(&b, k->name);
    else if (k->kind == TOK_INT) buf_puts(&b, k->num.text);
    else if (k->kind == TOK_STR || k->kind == TOK_FSTR_TEXT || k->kind == TOK_FIELD_EQ)
      lex_quote(&b, k->str, '\'', false);
    else buf_puts(&b, lex_token_name(k->kind));
  }
  const char *kept = arena_str(arena, buf_str(&b));
  buf_free(&b);
  return kept;
}

static const struct {
  const char *text, *want;
} layouts[] = {
  {"", "end"},
  {"\n\n  # comment\n\t\n", "end"},
  {"a\n", "a newline end"},
  {"a", "a newline end"},
  {"if a:\n  b\nc\n", "if a : newline indent b newline dedent c newline end"},
  {"if a:\n  b", "if a : newline indent b newline dedent end"},
  {"if a:\n  if b:\n    c\n\n  # x\n    # y\nd\n",
   "if a : newline indent if b : newline indent c newline dedent dedent d newline end"},
  {"if a:\n\tb\n\tc\n", "if a : newline indent b newline c newline dedent end"},
  {"if a:\n \f  b\n  c\n", "if a : newline indent b newline c newline dedent end"},
  {"if a: b; c\n", "if a : b ; c newline end"},
  {"x = (1,\n2\n  # c\n)\n", "x = ( 1 , 2 ) newline end"},
  {"x = [\n\n]\n", "x = [ ] newline end"},
  {"x = 1 + \\\n   2\n", "x = 1 + 2 newline end"},
  {"if a:\n  b\n  \\\n\nc\n", "if a : newline indent b newline dedent c newline end"},
  {"a\r\nb\r\n", "a newline b newline end"},
  {"\xef\xbb\xbf" "a\n", "a newline end"},
  {"a**=b//=c->d:=e...f<<=g!=h", "a **= b //= c -> d := e ... f <<= g != h newline end"},
  {"ifx = is_not", "ifx = is_not newline end"},
  {"match = case\nmatch(x)\n", "match = case newline match ( x ) newline end"},
  {"match x:\n  case 1:\n    case = 2\n",
   "match x : newline indent case 1 : newline indent case = 2 newline dedent dedent end"},
  {"f'a{b!r:>{w}}{{c}}'", "fstr-begin 'a' field-begin b field-conv field-spec '>' field-begin w "
                        "field-end field-end '{' 'c' '}' fstr-end newline end"},
  {"f'{ a = }'", "fstr-begin field-begin a ' a = ' field-end fstr-end newline end"},
  {"f'{a!=b}{c==d}{e:=f}'",
   "fstr-begin field-begin a != b field-end field-begin c == d field-end field-begin e field-spec "
   "'=f' field-end fstr-end newline end"},
  {"f'''a'b''{c\n}d'''", "fstr-begin 'a' '\\'' 'b' '\\'\\'' field-begin c field-end 'd' fstr-end "
                         "newline end"},
  {"rf'\\d{a}\\{b}'", "fstr-begin '\\\\d' field-begin a field-end '\\\\' field-begin b field-end "
                     "fstr-end newline end"},
  {"f'' ''", "fstr-begin fstr-end '' newline end"},
  {"f'{\"x\"}' f'{f\"{a}\"}'",
   "fstr-begin field-begin 'x' field-end fstr-end fstr-begin field-begin fstr-begin field-begin a "
   "field-end fstr-end field-end fstr-end newline end"},
};

START_TEST(layout) {
  Tokens t = lex(layouts[_i].text);
  ck_assert_str_eq(kinds(&t), layouts[_i].want);
  ck_assert_int_eq(diag_errors(diags), 0);
}
END_TEST

static const struct {
  const char *text, *value;
  uint32_t len;
} strings[] = {
  {"'a'", "a", 1},
  {"\"a'b\"", "a'b", 3},
  {"'''a\nb''c'''", "a\nb''c", 6},
  {"'''a\r\nb'''", "a\nb", 3},
  {"'\\\\\\'\\\"\\a\\b\\f\\n\\r\\t\\v'", "\\'\"\a\b\f\n\r\t\v", 10},
  {"'\\0\\12\\101x\\x41'", "\0\nAxA", 5},
  {"'\\777'", "\xc7\xbf", 2}, // U+01FF
  {"'\\xe9\\u20ac\\U0001F600'", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9},
  {"'\\ud800'", "\xed\xa0\x80", 3},
  {"'a\\\nb'", "ab", 2},
  {"'a\\\r\nb'", "ab", 2},
  {"r'\\n\\''", "\\n\\'", 4},
  {"b'\\xff\\u12'", "\xff\\u12", 5},
  {"Rb'\\x'", "\\x", 2},
  {"u'\xc3\xa9'", "\xc3\xa9", 2},
};

START_TEST(string_values) {
  Tokens t = lex(strings[_i].text);
  ck_assert(t.data[0].kind == TOK_STR || t.data[0].kind == TOK_BYTES);
  ck_assert_uint_eq(t.data[0].str.len, strings[_i].len);
  ck_assert_mem_eq(t.data[0].str.data, strings[_i].value, strings[_i].len);
  ck_assert_int_eq(t.data[0].str.data[strings[_i].len], 0);
  ck_assert_int_eq(diag_errors(diags), 0);
}
END_TEST

// What lex_quote writes reads back as the same text, whatever bytes there are.
START_TEST(quote_round_trip) {
  char all[512];
  LexStr s = {all, 0};
  for (int i = 0; i < 256; i++) all[s.len++] = (char)i;
  Buf b = {0};
  buf_puts(&b, "b");
  lex_quote(&b, s, '"', true);
  s.len = 0;
  for (int i = 0; i < 128; i++) all[s.len++] = (char)i;
  memcpy(all + s.len, "\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80", 9);
  s.len += 9;
  buf_putc(&b, ',');
  lex_quote(&b, s, '\'', false);
  Tokens t = lex_bytes(b.data, b.len);
  ck_assert_int_eq(diag_errors(diags), 0);
  ck_assert_uint_eq(t.data[0].str.len, 256);
  for (int i = 0; i < 256; i++) ck_assert_int_eq((unsigned char)t.data[0].str.data[i], i);
  ck_assert_uint_eq(t.data[2].str.len, s.len);
  ck_assert_mem_eq(t.data[2].str.data, all, s.len);
  buf_free(&b);
}
END_TEST

static const struct {
  const char *text;
  TokenKind kind;
  uint64_t integer;
  double real;
  bool big;
} numbers[] = {
  {"0", TOK_INT, 0, 0, false},
  {"00_0", TOK_INT, 0, 0, false},
  {"1_000", TOK_INT, 1000, 0, false},
  {"0xFf_0", TOK_INT, 0xff0, 0, false},
  {"0o17", TOK_INT, 15, 0, false},
  {"0B0100", TOK_INT, 4, 0, false},
  {"18446744073709551615", TOK_INT, UINT64_MAX, 0, false},
  {"0xFFFFFFFFFFFFFFFF", TOK_INT, UINT64_MAX, 0, false},
  {"18446744073709551616", TOK_INT, 0, 0, true},
  {"99999999999999999999999999", TOK_INT, 0, 0, true},
  {"1.", TOK_FLOAT, 0, 1, false},
  {".5", TOK_FLOAT, 0, .5, false},
  {"1e-10", TOK_FLOAT, 0, 1e-10, false},
  {"1_0.2_5E+1_0", TOK_FLOAT, 0, 10.25e10, false},
  {"012.5", TOK_FLOAT, 0, 12.5, false},
  {"2j", TOK_IMAG, 0, 2, false},
  {"01J", TOK_IMAG, 0, 1, false},
  {"1.5e3j", TOK_IMAG, 0, 1500, false},
};

START_TEST(number_values) {
  Tokens t = lex(numbers[_i].text);
  const Token *n = &t.data[0];
  ck_assert_int_eq(n->kind, numbers[_i].kind);
  ck_assert_int_eq(t.data[1].kind, TOK_NEWLINE);
  ck_assert_str_eq(n->num.text, numbers[_i].text);
  ck_assert_int_eq(n->num.big, numbers[_i].big);
  if (n->kind == TOK_INT && !n->num.big) ck_assert(n->num.integer == numbers[_i].integer);
  if (n->kind != TOK_INT) ck_assert_double_eq(n->num.real, numbers[_i].real);
}
END_TEST

START_TEST(places) {
  Tokens t = lex("if ab:\n  cd(12, 'é')\n");
  Buf b = {0};
  lex_dump(&t, sources, &b);
  ck_assert_str_eq(buf_str(&b), "1:1-1:3 if\n"
                                "1:4-1:6 name ab\n"
                                "1:6-1:7 :\n"
                                "1:7-2:1 newline\n"
                                "2:3-2:3 indent\n"
                                "2:3-2:5 name cd\n"
                                "2:5-2:6 (\n"
                                "2:6-2:8 int 12\n"
                                "2:8-2:9 ,\n"
                                "2:10-2:14 str \"é\"\n"
                                "2:14-2:15 )\n"
                                "2:15-2:16 newline\n"
                                "2:16-2:16 dedent\n"
                                "2:16-2:16 end\n");
  buf_free(&b);
}
END_TEST

START_TEST(brackets_and_names) {
  Tokens t = lex("f(a,\n  [b]) + a\n");
  // f ( a , [ b ] ) + a
  static const int around[] = {-1, -1, 1, 1, 1, 4, 1, -1, -1, -1};
  for (size_t i = 0; i < LEN(around); i++) ck_assert_int_eq(t.data[i].bracket, around[i]);
  for (int i = 0; i < t.len; i++) ck_assert_int_eq(t.data[i].first, i == 0 || i == 4);
  ck_assert_ptr_eq(t.data[2].name, t.data[9].name);
}
END_TEST

// After an error the rest is still read, and there is no second error in its wake.
static const struct {
  const char *text;
  DiagId id;
  const char *want;
} wrong[] = {
  {"x = 'a\ny\n", DIAG_OPEN_STRING, "x = error newline y newline end"},
  {"f('a)\ny\n", DIAG_OPEN_STRING, "f ( error newline y newline end"},
  {"f('a,\n  b)\ny\n", DIAG_OPEN_STRING, "f ( error b ) newline y newline end"},
  {"f(a\ndef g(): pass\n", DIAG_OPEN_BRACKET,
   "f ( a error newline def g ( ) : pass newline end"},
  {"if a:\n  f(a\n  return\n", DIAG_OPEN_BRACKET,
   "if a : newline indent f ( a error newline return newline dedent end"},
  {"f(a\nclassic)\n", DIAG_COUNT, "f ( a classic ) newline end"},
  {"(a]\nb\n", DIAG_WRONG_CLOSER, "( a error newline b newline end"},
  {"a)\nb\n", DIAG_UNMATCHED_CLOSER, "a error newline b newline end"},
  {"if a:\nb\n", DIAG_NO_BLOCK, "if a : newline indent pass newline dedent b newline end"},
  {"if a:", DIAG_NO_BLOCK, "if a : newline indent pass newline dedent end"},
  {"a\n  b\n  c\nd\n", DIAG_UNEXPECTED_INDENT, "a newline b newline c newline d newline end"},
  {"if a:\n    b\n  c\n", DIAG_DEDENT_MISMATCH,
   "if a : newline indent b newline dedent c newline end"},
  {"if a:\n    b\n   c\n", DIAG_DEDENT_MISMATCH,
   "if a : newline indent b newline c newline dedent end"},
  {"x = f'{a'\ny\n", DIAG_OPEN_FIELD,
   "x = fstr-begin field-begin a error newline y newline end"},
  {"a \xc3\x97 b\n", DIAG_BAD_CHARACTER, "a error b newline end"},
  {"a = '''b\nc\n", DIAG_OPEN_STRING, "a = error newline end"},
};

START_TEST(recovery) {
  Tokens t = lex(wrong[_i].text);
  ck_assert_str_eq(kinds(&t), wrong[_i].want);
  ck_assert_int_eq(diag_errors(diags), wrong[_i].id != DIAG_COUNT);
  if (wrong[_i].id != DIAG_COUNT) ck_assert_int_eq(diag_id(diags, 0), wrong[_i].id);
}
END_TEST

START_TEST(long_file) {
  size_t len = (16u << 20) + 1;
  char *text = malloc(len);
  memset(text, '\n', len);
  Tokens t = lex_bytes(text, len);
  ck_assert_int_eq(t.data[0].kind, TOK_END);
  ck_assert_int_eq(diag_id(diags, 0), DIAG_LONG_FILE);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("lexer");
  TCase *tc = tcase_create("tokens");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, layout, 0, LEN(layouts));
  tcase_add_loop_test(tc, string_values, 0, LEN(strings));
  tcase_add_test(tc, quote_round_trip);
  tcase_add_loop_test(tc, number_values, 0, LEN(numbers));
  tcase_add_test(tc, places);
  tcase_add_test(tc, brackets_and_names);
  tcase_add_loop_test(tc, recovery, 0, LEN(wrong));
  tcase_add_test(tc, long_file);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
